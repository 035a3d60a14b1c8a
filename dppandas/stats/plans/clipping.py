"""What clipping to bounds does to a mean, beside the noise that the bounds cost.

Proof: docs/proofs/clipping.md.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...dataclasses import dataclass
from ...errors import MissingArgument, QueryError, hide_internals, quoted
from ...findings.answers import made_of
from ...findings.curves import Curve
from ...findings.derive import is_answer, quantities_in
from ...privacy.accounting.losses import Number
from ...release.accuracy.expected import CONFIDENCE, parse_confidence, parse_rows
from ...release.answers.results import claimed
from ...release.private import Private
from ...rows.expressions import Cut
from ...rows.facts.bounds import Bounds
from ...rows.figures import format_ends, format_exactly
from ...rows.plain_values import refuse_private
from ...statistics.layout import format_number
from .draws import FINE, Floats, Loss
from .guesses import loss_of, number, whole_number

#: How many candidates there are where no bins say which; and on how many points a distribution is
#: looked at.
CANDIDATES, POINTS = 50, 2**12
#: The most rows of a unit, and the most candidates.
ROWS, MOST = 10**6, 500
#: Of more bins some in a row are taken together: each interval looks at all of them.
BINS = 50


class Bias(NamedTuple):
    """Between which ends what a choice changes lies."""

    low: float
    high: float


class Known(ABC):
    """What is known of how values are spread between outer bounds."""

    #: How it is known, in words.
    said: str

    @abstractmethod
    def edges(self) -> list[float]:
        """Bounds that are worth to be looked at, in order."""

    @abstractmethod
    def biases(self, bounds: Sequence[Bounds], outer: Bounds, confidence: float) -> list[Bias]:
        """What clipping to each of these bounds adds to the mean of values within the outer ones:
        all hold simultaneously."""

    def rows(self) -> float | None:
        """About how many values there are, where that is known."""
        return None


@hide_internals
def clipping(
    values: Any, *, outer: Any = None, lower: float | None = None, upper: float | None = None,
    candidates: Any = None, epsilon: Number | None = None, rho: Number | None = None,
    n: float | None = None, max_rows: int = 1, confidence: float = CONFIDENCE,
) -> Curve:  # fmt: skip
    """How far clipping to bounds moves a mean, and how large its noise is, for several bounds: a
    DataFrame by bound, which ``.plot()`` and `dppandas.plot` draw.

    values : a released histogram of the column, by ``hist`` or by ``value_counts`` of bins; or what
        is public and guessed: a Series of counts by interval, a list or array of public numbers, or
        a distribution with a method ``cdf``, such as ``scipy.stats.lognorm(s=1)``.
    outer : (lower, upper), which is public: no value lies beyond. Where some may, clip them first,
        as in ``p["x"].clip(0, 1000).hist(…)``: then all of this is about the clipped values.
    lower, upper : the bound that stays as it is; the other one is looked at. By default the lower
        one is that of ``outer``.
    candidates : the bounds that are looked at, by default the edges of the bins.
    epsilon, rho : the loss of the mean that is planned.
    n : about how many values the mean is taken over; by default those of a released histogram.
    max_rows : the most rows of a unit.

    The columns: ``noise``, the half-width of the mean's noise at this confidence; ``bias_low`` and
    ``bias_high``, between which the mean of the clipped values lies away from that of the values
    themselves; and ``total``, the most that both together make. Of a released histogram all biases
    hold simultaneously with this confidence: its noise is allowed for, and a bound may be chosen by
    them. Of a guess they are what would follow from it, within the width of its bins.

    Raises `QueryError` without outer bounds, for nothing is known then: a single value, which no
    histogram shows, may move the mean by any amount. And for bins that don't reach the outer
    bounds: what is beyond them wasn't counted.

    *Guarantee*: post-processing; nothing is read or charged. Source: docs/proofs/clipping.md.

    >>> import numpy as np, pandas as pd, dppandas as dp
    >>> spent = pd.Series(np.random.default_rng(1).exponential(20, 5000), name="spent")
    >>> p = dp.protect(spent.to_frame(), name="spending")
    >>> bins = [0, 25, 50, 100, 200, 400, 800]
    >>> seen = p["spent"].clip(0, 800).hist(bins, epsilon=1)
    >>> curve = dp.stats.clipping(seen, outer=(0, 800), epsilon=0.1)
    >>> curve["total"].idxmin() in (100, 200)
    True
    >>> bool(curve.loc[50, "bias_low"] < -1.5 < curve.loc[50, "bias_high"])  # -20·e^-2.5 = -1.64
    True
    """
    level, ends = parse_confidence(confidence), _outer(outer)
    loss, rows = loss_of(epsilon, rho, "the mean that is planned"), parse_rows(n)
    k = whole_number(max_rows, 1, "max_rows", 1, ROWS)
    known = _known(values, ends)
    name, bounds = _bounds(known, ends, lower, upper, candidates)
    rows = known.rows() if rows is None else rows
    if rows is None:
        raise MissingArgument("n= is needed: about how many values the mean is taken over.")
    biases = known.biases(bounds, ends, level)
    wide = half_width(loss, k, level) / rows
    found = table(biases, [wide * (each.upper - each.lower) for each in bounds])
    ends_of = [each.upper if name == "upper" else each.lower for each in bounds]
    other = bounds[0].lower if name == "upper" else bounds[0].upper
    pair = f"({other:g}, upper)" if name == "upper" else f"(lower, {other:g})"
    return Curve.of(
        found.set_axis(pd.Index(ends_of, name=name), axis=0),
        f"A mean of about {format_number(rows)} values, clipped to {pair}",
        (
            f"bias: of clipped values less those in {ends}. {known.said}",
            f"noise: {100 * level:.10g} % half-width, {loss}. total: noise and the larger bias.",
        ),
    )


def half_width(loss: Loss, rows: int, confidence: float) -> float:
    """That of the noise in a sum of values between 0 and 1, where a unit has so many rows. Of a
    mean's two noises no more than one counts."""
    found: int = loss.law(FINE * rows).half_width(confidence)
    return found / FINE


def table(biases: Sequence[Bias], noises: Sequence[float]) -> pd.DataFrame:
    """Noise, bias, and what they make together."""
    found = pd.DataFrame({
        "noise": noises, "bias_low": [each.low + 0.0 for each in biases],
        "bias_high": [each.high + 0.0 for each in biases],
    })  # fmt: skip
    largest = np.maximum(found["bias_low"].abs(), found["bias_high"].abs())
    return found.assign(total=found["noise"] + largest)


def _outer(outer: object) -> Bounds:
    if outer is None:
        raise MissingArgument(
            "outer= is needed: (lower, upper) that no value exceeds, from public knowledge. "
            "Without it nothing can be said of the bias: one value may move the mean by any amount."
        )
    found = Bounds.parse(outer, "outer")
    if found.lower == found.upper:
        raise QueryError("outer= must have two different ends.")
    return found


def _bounds(
    known: Known, outer: Bounds, lower: object, upper: object, candidates: object
) -> tuple[str, list[Bounds]]:
    """Which bound is looked at, and all bounds that are tried."""
    if lower is not None and upper is not None:
        raise QueryError("give lower= or upper=, the bound that stays: the other is looked at.")
    low, high = outer.lower, outer.upper
    name, fixed = (
        ("upper", low) if upper is None else ("lower", number(upper, "upper", low, math.inf))
    )
    if lower is not None:
        fixed = number(lower, "lower", -math.inf, high)
    if not low <= fixed <= high:
        raise QueryError(f"{format_exactly(fixed)} lies outside of outer={outer}.")
    if candidates is None:
        each = [
            edge for edge in known.edges() if (edge > fixed if name == "upper" else edge < fixed)
        ]
    else:
        each = _candidates(candidates, fixed, outer, name)
    if not 1 <= len(each) <= MOST:
        raise QueryError(f"between 1 and {MOST} bounds are looked at. Give them as candidates=.")
    return name, [Bounds(fixed, end) if name == "upper" else Bounds(end, fixed) for end in each]


def _candidates(candidates: Any, fixed: float, outer: Bounds, name: str) -> list[float]:
    refuse_private(candidates, "candidates=")
    try:
        found = sorted({float(each) for each in candidates})
    except (TypeError, ValueError):
        raise QueryError(f"candidates={quoted(candidates)} must be a list of bounds.") from None
    low, high = (fixed, outer.upper) if name == "upper" else (outer.lower, fixed)
    if not all(low <= each <= high and each != fixed for each in found):
        raise QueryError(
            f"candidates= must lie between {format_ends(low, high, ' and ')}, and not at the other."
        )
    return found


# what is known of the values


def _known(values: Any, outer: Bounds) -> Known:
    if isinstance(values, Private):
        raise QueryError(
            "clipping is planned from released or public numbers. Release a histogram first, such "
            f"as p['x'].clip{outer}.hist(bins=20, range=…, epsilon=0.1)."
        )
    if is_answer(values):
        return Histogram.released(quantities_in(values), outer)
    if claimed(values) is not None:
        quantities_in(values)  # says what became of its record
    refuse_private(values, "the guess")
    if isinstance(values, pd.Series) and _intervals(values.index):
        return Histogram.guessed(values, outer)
    if callable(getattr(values, "cdf", None)):
        return Distribution(values.cdf, outer)
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty((0, 0))
    numbers = numbers[~np.isnan(numbers)] if numbers.ndim == 1 else numbers
    if numbers.ndim != 1 or not numbers.size:
        raise QueryError(
            "give a released histogram, or public numbers: a Series of counts by interval, a list "
            "of numbers, or a distribution with a method cdf."
        )
    return Sample(np.clip(numbers, outer.lower, outer.upper), outer)


def _intervals(index: pd.Index) -> list[Any]:
    """The bins of a histogram; none if its labels are anything else."""
    found = [each for each in index if not (isinstance(each, float) and math.isnan(each))]
    return found if all(isinstance(each, pd.Interval) for each in found) else []


def clipped(value: float, bounds: Bounds) -> float:
    """How far clipping moves a value."""
    return min(max(value, bounds.lower), bounds.upper) - value


@dataclass(frozen=True)
class Histogram(Known):
    """Counts of values in bins that follow each other, from one end of the outer bounds to the
    other."""

    ends: tuple[float, ...]  # of the bins, in order, within the outer bounds
    counts: tuple[Any, ...]  # numbers, or quantities with noise
    is_released: bool

    @classmethod
    def released(cls, counts: Any, outer: Bounds) -> Histogram:
        """From quantities by interval."""
        pairs = _by_interval(counts)
        cuts = {_cut(r) for _, count in pairs for r in getattr(count, "records", ())}
        cut = cuts.pop() if len(cuts) == 1 else None
        if cut is None or len(pairs) != len(cut.labels):
            raise QueryError(
                "give all bins of one histogram, as p['x'].hist(bins=…) or value_counts(bins=…) "
                "released them: values in other bins weren't counted."
            )
        # the labels may be rounded, as pandas writes them
        return cls._within(cut.edges, [count for _, count in pairs], outer, True, _open(cut))

    @classmethod
    def guessed(cls, counts: Any, outer: Bounds) -> Histogram:
        """From plain numbers by interval."""
        pairs = _by_interval(counts)
        edges = [pairs[0][0].left, *(each.right for each, _ in pairs)]
        if any(one.right != other.left for (one, _), (other, _) in itertools.pairwise(pairs)):
            raise QueryError("bins must follow each other: what lies in a gap isn't counted.")
        each = [number(count, "a count", -1e-300, math.inf) for _, count in pairs]
        if not sum(each) > 0:
            raise QueryError("counts that are guessed must add up to more than 0.")
        return cls._within(list(map(float, edges)), each, outer, False, (False, False))

    @classmethod
    def _within(
        cls, edges: Sequence[float], counts: list[Any], outer: Bounds, is_released: bool,
        is_open: tuple[bool, bool],
    ) -> Histogram:  # fmt: skip
        """Bins within the outer bounds. is_open : whether the first edge, and the last one, lie in
        no bin."""
        low, high = edges[0], edges[-1]
        if not (low < outer.lower or (low == outer.lower and not is_open[0])) or not (
            high > outer.upper or (high == outer.upper and not is_open[1])
        ):
            raise QueryError(
                f"these bins from {format_ends(low, high)} don't hold all values in "
                f"outer={outer}, its ends included. Count the others, too: "
                f"p['x'].clip{outer}.hist(bins=…) with these ends."
            )
        several = math.ceil(len(counts) / BINS)
        starts = range(0, len(counts), several)
        ends = (edges[i] for i in (*starts, len(counts)))
        return cls(
            tuple(min(max(edge, outer.lower), outer.upper) for edge in ends),
            tuple(sum_of(counts[i : i + several]) for i in starts), is_released,
        )  # fmt: skip

    @property
    def said(self) -> str:  # type: ignore[override]
        if self.is_released:
            return "From released counts: all hold simultaneously, whatever their noise was."
        return "From counts that were guessed: no intervals."

    def edges(self) -> list[float]:
        return sorted({*self.ends})

    def rows(self) -> float | None:
        if not self.is_released or any(each.unit == "share" for each in self.counts):
            return None
        return max(1.0, float(sum(each.value for each in self.counts)))

    def biases(self, bounds: Sequence[Bounds], outer: Bounds, confidence: float) -> list[Bias]:
        pairs = list(itertools.pairwise(self.ends))
        whole = sum_of(self.counts)
        # what clipping does falls with the value: the ends of a bin are the ends of its bias
        sides = [
            [self._mean([clipped(pair[side], each) for pair in pairs], whole) for each in bounds]
            for side in (1, 0)
        ]
        if not self.is_released:
            return [Bias(*each) for each in zip(*sides, strict=True)]
        ranges = made_of(pd.DataFrame(dict(zip(("low", "high"), sides, strict=True)), dtype=object))
        ends = ranges.interval(confidence).to_numpy()
        most = [(clipped(outer.upper, each), clipped(outer.lower, each)) for each in bounds]
        return [
            Bias(max(low, least), min(high, largest))
            for (low, _, _, high), (least, largest) in zip(ends.tolist(), most, strict=True)
        ]

    def _mean(self, weights: Sequence[float], whole: Any) -> Any:
        pairs = zip(self.counts, weights, strict=True)
        return sum_of([count * weight for count, weight in pairs]) / whole


def sum_of(terms: Sequence[Any]) -> Any:
    """That of numbers or quantities."""
    return sum(terms[1:], terms[0])


def _by_interval(counts: Any) -> list[tuple[Any, Any]]:
    """Counts by bins of numbers, in order."""
    is_series = isinstance(counts, pd.Series) and len(_intervals(counts.index))
    pairs = (
        [each for each in counts.items() if isinstance(each[0], pd.Interval)] if is_series else []
    )
    if not pairs or not isinstance(pairs[0][0].left, int | float | np.number):
        raise QueryError(
            "give counts by interval of numbers: p['x'].hist(bins=…), or value_counts(bins=…)."
        )
    return sorted(pairs, key=lambda pair: pair[0].left)


def _cut(record: Any) -> Cut | None:
    """The bins of a released histogram."""
    by = record._statistic.cells.by
    return by[0] if len(by) == 1 and isinstance(by[0], Cut) else None


def _open(cut: Cut) -> tuple[bool, bool]:
    """Whether the first and the last edge lie in no bin."""
    return (cut.right and not cut.include_lowest), not (cut.right or cut.include_highest)


@dataclass(frozen=True)
class Distribution(Known):
    """A distribution that is guessed."""

    cdf: Callable[[Any], Any]
    outer: Bounds

    said = "From a distribution that was guessed: no intervals."

    def edges(self) -> list[float]:
        found: list[float] = np.linspace(
            self.outer.lower, self.outer.upper, CANDIDATES + 1
        ).tolist()
        return found

    def biases(self, bounds: Sequence[Bounds], outer: Bounds, confidence: float) -> list[Bias]:
        """The mean of what is above a bound is the integral of the chance to be above each number
        beyond it; and so below."""
        return [
            Bias(*[self._below(outer.lower, b.lower) - self._above(b.upper, outer.upper)] * 2)
            for b in bounds
        ]

    def _below(self, low: float, high: float) -> float:
        chances = np.asarray(self.cdf(np.linspace(low, high, POINTS)), dtype=np.float64)
        return float((chances[1:] + chances[:-1]).sum() / 2 * (high - low) / (POINTS - 1))

    def _above(self, low: float, high: float) -> float:
        return high - low - self._below(low, high)


@dataclass(frozen=True)
class Sample(Known):
    """Public numbers, such as last year's."""

    numbers: Floats
    outer: Bounds

    said = "From public numbers: no intervals."

    edges = Distribution.edges

    def biases(self, bounds: Sequence[Bounds], outer: Bounds, confidence: float) -> list[Bias]:
        each = (np.clip(self.numbers, b.lower, b.upper) - self.numbers for b in bounds)
        return [Bias(*[float(moved.mean())] * 2) for moved in each]
