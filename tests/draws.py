"""How often intervals and errors hold: many draws of each operation's answer, against the truth.

    python tests/draws.py        prints the table, with how much more than 95 % is covered

Rows are read once for each operation and table. Then noise comes from the mechanism itself, as in
a release, and the statistic makes intervals of it: what is left out are the ledger and pandas.
"""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, get_args

import numpy as np
import operations as ops
import pandas as pd
from ledgers import anew
from operations import released as _released

import dppandas as dp
from dppandas.privacy.accounting import gaussian as normal
from dppandas.privacy.accounting.enclosures import DIGITS
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.privacy.mechanisms.quantile_ladders import LadderQuantiles
from dppandas.privacy.mechanisms.quantiles import ExponentialQuantiles
from dppandas.privacy.mechanisms.selection import Selection
from dppandas.privacy.mechanisms.smooth import AtRank
from dppandas.release.context import watching
from dppandas.release.query import Query
from dppandas.statistics import Count, Mean, NormedSum, Sum, UnitTotals, Variance, WeightedMean
from dppandas.statistics.bounded_quantiles import BoundedQuantile
from dppandas.statistics.counting.contingency import Contingency
from dppandas.statistics.counting.distinct import Distinct
from dppandas.statistics.counting.distinct_values import DistinctValues
from dppandas.statistics.counting.occurring_keys import OccurringKeys
from dppandas.statistics.counting.rows_per_unit import RowsPerUnit
from dppandas.statistics.counting.unknown_keys import Sparse, UndeclaredKeys
from dppandas.statistics.distances import Distance
from dppandas.statistics.error_model import ErrorModel
from dppandas.statistics.moments.covariance_tables import CovarianceTable
from dppandas.statistics.of_blocks.significant_blocks import SignificantBlocks
from dppandas.statistics.quantiles import Quantiles, numbers
from dppandas.statistics.suggested_bounds import CELLS, BoundsHistogram, edges

CONFIDENCE = 0.95
#: A test fails where what is seen has less probability than this.
ALARM = 1e-6
#: Pandas' floats and the public grids differ by less than this, and intervals are far wider.
NEAR = 1e-6
#: How many draws: of single integers, of ratios, of ranks, of covariances, and of large tables.
SINGLE, RATIOS, RANKS, SLOW, SLOWEST = 1000, 300, 100, 60, 15

# --- tables ---------------------------------------------------------------------------------------


DAYS = np.array(["2020-01-01", "2020-01-02T12", "NaT", "2020-01-04"], dtype="datetime64[ns]")


def _table(rows: int, numbers: Sequence[float]) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    return pd.DataFrame({
        "number": np.resize(np.asarray(numbers, dtype="float64"), rows),
        "group": np.resize(np.array(["a", "b", "a", None, "d", "a"], dtype=object), rows),
        "code": rng.choice([1, 2, 2, 3, 9], rows),
        "yes": rng.random(rows) < 0.7,
        "no": rng.random(rows) < 0.1,
        "when": pd.DatetimeIndex(np.resize(DAYS, rows)).tz_localize("UTC"),
        "owner": rng.integers(0, max(1, rows // 2), rows),
    })  # fmt: skip


@lru_cache
def tables() -> dict[str, pd.DataFrame]:
    """Ordinary rows, values that all lie on the bounds, two rows and none."""
    numbers = np.random.default_rng(7).normal(2, 4, 240)
    numbers[::9] = math.nan
    ends = _table(240, [*ops.BOUNDS, ops.BOUNDS[1]])
    ends["code"] = np.resize([1, 3], 240)
    return {
        "ordinary": _table(240, numbers), "ends": ends, "two rows": _table(2, [3.25, math.nan]),
        "none": _table(0, []),
    }  # fmt: skip


# --- what is drawn --------------------------------------------------------------------------------

EVERY = [*ops.ALL_ASKED, *ops.TOGETHER]
#: What is asked of units with several labels.
OF_SEVERAL = ("unique codes", "group mean of elements found")


@dataclass(frozen=True)
class Part:
    """One release: what was asked, by which mechanism, and what is exact."""

    query: Query
    law: Any
    exact: Any

    @property
    def statistic(self) -> Any:
        return self.query.statistic

    def gaussian(self) -> Part:
        """The same with Gaussian noise."""
        sensitivity = self.query.unit_sensitivity.l2_squared
        return Part(self.query, DiscreteGaussian.calibrate(sensitivity, Fraction(1, 2)), self.exact)

    def draws(self, number: int) -> Iterator[Any]:
        """So many answers, of fresh noise."""
        if type(self.law) not in (DiscreteLaplace, DiscreteGaussian):
            yield from (self.law.release(self.exact) for _ in range(number))
            return
        noisy = self.law.release([int(x) for x in self.exact] * number)
        size = len(self.exact)
        yield from (noisy[i * size : (i + 1) * size] for i in range(number))


def parts(name: str, table: str) -> list[Part]:
    """The releases of an operation over a table, read once."""
    anew(epsilon=1000, delta="0.01")
    dp.session(experimental=True)
    frame, found = tables()[table].copy(), list[Part]()
    of_units = name in ops.OF_UNITS or name in OF_SEVERAL
    private = dp.private(frame, unit="owner", max_rows=3) if of_units else frame.dp

    def record(query: Query, law: Any, exact: Any) -> Any:
        found.append(Part(query, law, exact))
        return law.release(exact)

    with watching(record), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ops.TOGETHER[name](private) if name in ops.TOGETHER else _released(name, private)
    dp.reset()
    return found


# --- what is true ---------------------------------------------------------------------------------


def exact_answer(part: Part, noisy: Any) -> list[float]:
    """What the answer would be without noise; of labels, of those that were told."""
    statistic, exact = part.statistic, part.exact
    if isinstance(statistic, Sparse):
        known = {repr(label): (label, integers) for label, integers in exact.values()}
        return list(statistic.estimate([known[repr(label)] for label, _ in noisy]))
    if isinstance(statistic, BoundsHistogram):
        return _bounds_answer(exact, statistic._range(noisy))
    if isinstance(statistic, RowsPerUnit) and statistic.keep is not None:
        return _limit_answer(replace(statistic, margin=0), exact, statistic.chosen(noisy))
    if isinstance(statistic, BoundedQuantile):
        (share,), (grid,) = statistic.quantiles, statistic.grids
        return list(statistic.estimate([AtRank(share).at(exact[0][0], grid.high)]))
    return list(statistic.estimate(exact))


def _limit_answer(statistic: Any, exact: Sequence[int], place: int | None) -> list[float]:
    """The least limit that keeps so many units, and what the one that was chosen cuts."""
    if not sum(exact):
        return [math.nan] * 3
    least = statistic.chosen(exact)
    limit = math.inf if least is None else statistic.limits[least]
    return [limit, *([math.nan] * 2 if place is None else statistic.shares_of(exact, place))]


def _bounds_answer(exact: Sequence[int], found: tuple[int, int] | None) -> list[float]:
    """The edges around all values, and which share of them the bounds that were found clip."""
    cells = np.flatnonzero(exact)
    if not len(cells):
        return [math.nan] * 3
    low = -math.inf if cells[0] == 0 else edges(int(cells[0]))[0]
    high = math.inf if cells[-1] == CELLS - 1 else edges(int(cells[-1]))[1]
    first, last = found or (0, CELLS)
    return [low, high, 1 - sum(exact[first : last + 1]) / sum(exact)]


def in_pandas(name: str, table: str) -> list[float] | None:
    """What pandas says, if the table knows how to ask it."""
    if name not in ops.PANDAS:
        return None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return ops.PANDAS[name](tables()[table])


# --- how often it holds ---------------------------------------------------------------------------


@dataclass
class Held:
    """Of how many draws all intervals (errors, errors told before) of an answer held."""

    name: str
    table: str
    noise: str
    confidence: float
    draws: int = 0
    intervals: int | None = None
    errors: int | None = None
    before: int | None = None
    law: float | None = None  # the exact probability, where each interval has its own integer

    @property
    def counts(self) -> list[int]:
        return [c for c in (self.intervals, self.errors, self.before) if c is not None]


#: Answers of which each number is one integer, whose interval hangs on no other.
ONE_BY_ONE = (
    Count
    | Sum
    | NormedSum
    | UnitTotals
    | Distinct
    | DistinctValues
    | OccurringKeys
    | Distance
    | Contingency
    | SignificantBlocks
)


def number_of_draws(part: Part) -> int:
    statistic, is_selection = part.statistic, isinstance(part.law, Selection)
    if isinstance(statistic, Contingency) and statistic.margins:
        return RANKS
    if type(statistic) in get_args(ONE_BY_ONE) or is_selection:
        return SINGLE
    if isinstance(statistic, CovarianceTable):
        return SLOW if statistic.size <= 64 else SLOWEST
    return RANKS if isinstance(statistic, Quantiles) else RATIOS


def held(name: str, table: str, part: Part, confidence: float, draws: int = 0) -> Held | None:
    """What many draws say of one release; None for what has neither interval nor error."""
    noise = "Gaussian" if isinstance(part.law, DiscreteGaussian) else ""
    found = Held(name, table, noise, confidence, draws or number_of_draws(part))
    if isinstance(part.law, Selection):
        return _selections(found, part)
    if isinstance(part.law, ExponentialQuantiles | LadderQuantiles):
        return _ranks(found, part)
    if part.statistic.errors.no_interval:
        return None
    return _numbers(found, part)


def _numbers(found: Held, part: Part) -> Held | None:
    statistic, law = part.statistic, part.law
    before = known_before(part, found.confidence)
    tells_errors = _tells_errors(part)
    if statistic.labels_only:
        return None  # labels alone
    others = in_pandas(found.name, found.table)
    # intervals of counts are cut at 0, and answers are not; of nothing the answer is the middle
    outright = not isinstance(statistic, ONE_BY_ONE | Sparse | BoundsHistogram)
    outright &= found.table in ("ordinary", "ends") and len(statistic.cells) == 1
    counts, told = np.zeros(3, dtype=int), 0
    for noisy in part.draws(found.draws):
        truth = exact_answer(part, noisy)
        ends = statistic.errors.intervals_at(noisy, law, found.confidence)
        inside = [_inside(*pair) for pair in zip(truth, ends, strict=True)]
        if others is not None:
            inside += [_inside(*pair) for pair in zip(others, ends, strict=True)]
        if outright:
            pairs = zip(statistic.estimate(noisy), ends, strict=True)
            assert all(_inside(*pair) for pair in pairs), "an answer outside of its interval"
        near, early = [True], [True]
        if tells_errors or before is not None:
            values = zip(statistic.estimate(noisy), truth, strict=True)
            off = [abs(value - true) for value, true in values]
        if tells_errors:
            errors = statistic.errors.errors_at(noisy, law, found.confidence)
            near = [not gap > error + NEAR for gap, error in zip(off, errors, strict=True)]
        if before is not None:
            early = [not gap > before + NEAR for gap in off]
        number = len(noisy) if statistic.errors.each else 1  # of labels told each by itself
        counts += [_all_of(each, number) for each in (inside, near, early)]
        told += number
    found.draws = told
    if not found.draws:
        return None
    found.intervals = int(counts[0])
    found.errors = int(counts[1]) if tells_errors else None
    found.before = None if before is None else int(counts[2])
    found.law = exact_law(part, found.confidence)
    return found


def _all_of(holds: Sequence[bool], number: int) -> int:
    """Of how many parts, one after the other and alike long, everything holds."""
    size = max(1, len(holds) // max(1, number))
    return sum(all(holds[i * size : (i + 1) * size]) for i in range(number))


def _tells_errors(part: Part) -> bool:
    """Whether errors are more than how far the ends of the intervals are, which needs no draws."""
    own = part.statistic.error_model.errors_at is not ErrorModel.errors_at
    return own or part.statistic.errors.error(1) is not None


def _inside(true: float, ends: tuple[float, float]) -> bool:
    """What isn't defined can't be missed."""
    near = NEAR * (1 + abs(true)) if math.isfinite(true) else 0.0
    return true != true or ends[0] - near <= true <= ends[1] + near


def known_before(part: Part, confidence: float) -> float | None:
    """The error that public facts tell before a release; of ratios over so many rows as there are,
    where these are enough for a first order to do."""
    try:
        rows = _rows(part)
        known = part.statistic.errors.error_before(
            part.law, confidence, rows if rows >= 100 else None
        )
    except dp.DPError:
        return None
    return float(known)


def _rows(part: Part) -> float:
    """Over how many rows, or which total weight, the smallest ratio is taken."""
    statistic = part.statistic
    if isinstance(statistic, UndeclaredKeys):
        return 0.0
    if isinstance(statistic, WeightedMean):
        step = statistic.weight_grid.step
        return float(min((a + b) * step for a, b, _ in statistic._sums(part.exact)))
    if isinstance(statistic, Mean):
        grids = itertools.cycle(statistic.grids)
        sums = statistic._sums(part.exact)
        return float(min((a + b) / grid.high for (a, b, _), grid in zip(sums, grids, strict=False)))
    if isinstance(statistic, Variance):
        return float(min(sum(b) / grid.high for b, _, grid in statistic._sums(part.exact)))
    return 0.0


def _selections(found: Held, part: Part) -> Held:
    """How far what was selected lies below the best that was left."""
    utility_gap = part.statistic.errors.error(
        part.law.utility_gap(found.confidence, part.statistic.size)
    )
    scores = [part.statistic.estimate([int(x)] * len(part.exact))[0] for x in part.exact]
    found.errors = 0
    for chosen in part.draws(found.draws):
        left = dict(enumerate(scores))
        off = [max(left.values()) - left.pop(place) for place in chosen]
        found.errors += max(off) <= utility_gap + NEAR
    found.before = found.errors
    return found


def _ranks(found: Held, part: Part) -> Held:
    """How many rows lie between what was chosen and the quantile; and whether the values that
    pandas' quantile lies between are in its interval, where it has one."""
    statistic, law = part.statistic, part.law
    columns, is_measured = len(statistic.operands), isinstance(law, LadderQuantiles)
    found.errors, inside = 0, 0
    for noisy in part.draws(found.draws):
        errors = statistic.errors.errors_at(noisy, law, found.confidence)
        ends = statistic.errors.intervals_at(noisy, law, found.confidence) if is_measured else []
        points, beside = noisy, []
        if is_measured:
            ladders = statistic.ladders(noisy)
            points = [ladders[block].point(place) for block, place in statistic.answers]
        holds = True
        for i, (point, error) in enumerate(zip(points, errors, strict=True)):
            cell, within = divmod(i, len(statistic.quantiles) * columns)
            ranks = part.exact[within % columns][cell]
            share = statistic.quantiles[within // columns]
            target = share * int(ranks.below[-1])
            below, up_to = ranks.mass(point, 1), ranks.mass(point + 1, 1)
            holds &= max(0, below - target, target - up_to) <= error
            if is_measured:
                beside.append(_beside(statistic, ranks, share, within % columns))
        found.errors += holds
        inside += all(
            low <= value <= high
            for (low, high), values in zip(ends, beside, strict=False)
            for value in values
        )
    if not statistic.errors.no_interval:
        found.intervals = inside
    if not is_measured:
        found.before = found.errors
    return found


def _beside(statistic: Any, ranks: Any, share: Fraction, column: int) -> list[float]:
    """The rounded values between which pandas' quantile lies; none of no rows."""
    rows, grid = int(ranks.below[-1]), statistic.grids[column]
    if not rows:
        return []
    place = (rows - 1) * share
    points = [
        int(ranks.values[np.searchsorted(ranks.below[1:], rank, "right")])
        for rank in (math.floor(place), math.ceil(place))
    ]
    found: list[float] = numbers(np.array(points), grid, statistic.bounds[column]).tolist()
    return found


# --- laws -----------------------------------------------------------------------------------------


def beyond(law: Any, width: int) -> float:
    """P[Z > width]: the law of the noise, exactly."""
    if isinstance(law, DiscreteGaussian):
        return float(normal.discrete_gaussian_tail(law.sigma2, width + 1, DIGITS).high)
    rate = 1 / float(law.scale)
    return math.exp(-rate * (width + 1)) / (1 + math.exp(-rate))


def exact_law(part: Part, confidence: float) -> float | None:
    """The probability that all intervals hold, where each is around an integer of its own: no less
    than the confidence, and less than it were they narrower by 1 on either side."""
    statistic, law = part.statistic, part.law
    additive = type(law) in (DiscreteLaplace, DiscreteGaussian)
    if type(statistic) not in get_args(ONE_BY_ONE) or not additive:
        return None
    size = len(part.exact)
    if getattr(statistic, "share_of", 0) or getattr(statistic, "share", "") or not law.scale:
        return None
    truth = statistic.estimate(part.exact)
    if len(truth) != size:  # margins
        return None
    width = law.half_width(confidence, size)
    assert (1 - 2 * beyond(law, width)) ** size >= confidence - 1e-9
    assert (1 - 2 * beyond(law, width - 1)) ** size < confidence or width == 0
    far, chance = 1000 * (width + 1), 1.0
    exact = [int(x) for x in part.exact]
    probes = (width, -width, width + 1, -width - 1, far, -far)
    answers = [
        statistic.errors.intervals_at([x + z for x in exact], law, confidence) for z in probes
    ]
    for i, true in enumerate(truth):
        right, left, over, under, above, below = (e[i][0] <= true <= e[i][1] for e in answers)
        assert right
        assert left
        assert (over, under) == (above, below)  # beyond ±w all noise misses, or none where cut
        chance *= 1 - beyond(law, width) * ((not above) + (not below))
    return chance


def log_binomial(n: int, p: float, k: int) -> float:
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    if p in (0, 1):
        return 0.0 if k == n * p else -math.inf
    return choose + k * math.log(p) + (n - k) * math.log1p(-p)


def at_most(n: int, p: float, k: int) -> float:
    """P[X ≤ k] for X binomial(n, p)."""
    return min(1.0, math.fsum(math.exp(log_binomial(n, p, i)) for i in range(k + 1)))


def at_least(n: int, p: float, k: int) -> float:
    return min(1.0, math.fsum(math.exp(log_binomial(n, p, i)) for i in range(k, n + 1)))


def all_held(name: str) -> list[Held]:
    """An operation over all tables, with both noises, and at two confidences."""
    found = []
    for table in tables():
        for part in parts(name, table):
            asked = [(part, CONFIDENCE)]
            if table == "ordinary":
                asked.append((part, 0.5))
                if type(part.law) is DiscreteLaplace:
                    asked.append((part.gaussian(), CONFIDENCE))
            found += [held(name, table, each, confidence) for each, confidence in asked]
    return [each for each in found if each is not None]


def main() -> None:
    """A line for each operation: how often at least, over tables, noises and parts at 95 %."""
    print("| operation | intervals | errors | errors told before | exact law |")
    print("|---|---|---|---|---|")
    for name in sys.argv[1:] or EVERY:
        known = [each for each in all_held(name) if each.confidence == CONFIDENCE]
        cells = [name]
        for what in ("intervals", "errors", "before", "law"):
            told = ((getattr(each, what), each.draws) for each in known)
            values = [v if what == "law" else v / draws for v, draws in told if v is not None]
            cells.append(f"{min(values):.3f} to {max(values):.3f}" if values else "")
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
