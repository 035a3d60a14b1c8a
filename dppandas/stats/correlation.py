"""Whether two columns are correlated, by a test and an interval that know the noise.

Proof: docs/proofs/significance.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from statistics import NormalDist
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from ..columns.columns import PrivateColumn
from ..dataclasses import dataclass
from ..errors import QueryError, hide_internals
from ..findings.derive import is_answer, quantities_in
from ..findings.quantities import Figure, Quantity
from ..findings.simulation import Simulation
from ..frames.series import PrivateSeries
from ..privacy.accounting.losses import ReleaseOptions, with_options_named
from ..privacy.accuracy.combined import NoiseAtLook, variance_of
from ..privacy.accuracy.student import tail
from ..privacy.accuracy.weighted_tails import bound
from ..release.answers.populations import check_rows
from ..release.unreleased import Unreleased
from ..statistics.moments.covariance_tables import CovarianceTable
from ..statistics.moments.fieller import NoisySums
from .inputs import answer_of, is_private, previewed, refuse, release_of, ways_of
from .resampling import NIL, in_percent, parse_resamples, part_beyond, resolution
from .results import SignificanceResult, one_of_several, parse_alternative, releases

Floats = npt.NDArray[np.float64]

#: What pearsonr takes.
ASK = 'p["x"].corr(p["y"], epsilon=…)'
#: The fewest rows that a correlation is simulated of; and above how many it has an interval.
FEWEST, SPARSE = 3, 3
#: What keeps a division by a variance of 0, where there is no noise; and what keeps a correlation
#: from 1 where Fisher's z would be infinite.
TINY, EDGE = 1e-150, 1 - 2.0**-52
#: How often the search for an end halves its range.
HALVED = 40


@dataclass(frozen=True, repr=False, eq=False)
class PearsonRResult(SignificanceResult):
    """The result of `pearsonr`: ``statistic, pvalue = result``, as in scipy."""

    parameter: str = "the correlation"

    @property
    def correlation(self) -> float:
        """The correlation, as ``statistic``."""
        return self.statistic


@with_options_named
@hide_internals
@previewed(PearsonRResult)
def pearsonr(
    x: Any,
    y: Any = None,
    *,
    alternative: str = "two-sided",
    n_resamples: int = 9999,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> PearsonRResult:
    """Whether two columns are correlated, as `scipy.stats.pearsonr`.

    x : a released correlation, ``p["x"].corr(p["y"], epsilon=1)``, or a single entry of a released
        table, ``table.loc[["x"], ["y"]]``. Or a private column, with y and ``epsilon=…``: their
        correlation is released first.
    y : the other private column of the same rows.
    alternative : whether a correlation "two-sided" other than 0 is to be found, or one that is
        "less" or "greater".
    n_resamples : how many draws the p-value is made of, from 99 to a million.
    epsilon, rho, within and the rest : for private columns, as in `Unreleased.release`.

    *Null hypothesis*: the columns are independent, of values clipped to their bounds. Units are
    drawn independently from a population, and have one row each. Values are normal, or so many
    that it doesn't matter.

    ``statistic`` is r, of a table that of these columns alone, before all were made to agree.
    ``pvalue`` is the part of simulated t = c/√((s²s'² - c²)/(n-2) + variance of c's noise) that are
    as large, for the covariance c and the variances s² and s'²: of independent normal values with
    the released means and variances, and noise of the exact law. ``confidence_interval()`` has all
    correlations from which sample (by Fisher's z) and noise may have led to r. Without noise all
    are scipy's. They are approximate: docs/inference.md has how often they err.

    The noise is that of nine sums, so give close bounds. Of 1,000 rows and at ε = 1 it makes two
    thirds of the variance of r if bounds are 8 deviations apart, and a tenth if they are 4 apart.

    Raises `QueryError` for other answers, and for several rows of a unit (see ``per_unit``);
    `RecordError` for plain numbers.

    *Guarantee*: post-processing of released answers, which costs nothing; with private columns
    differential privacy of the unit, as for their correlation (docs/proofs/covariances.md).
    Sources: Fisher, "On the probable error of a coefficient of correlation deduced from a small
    sample", Metron 1921; docs/proofs/significance.md.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"x": [1, 2, 3, 4] * 5000, "y": [2, 1, 4, 3] * 5000})
    >>> p = dp.protect(df, name="pairs", domain={"x": (1, 4), "y": (1, 4)})
    >>> found = dp.stats.pearsonr(p["x"].corr(p["y"], epsilon=1))
    >>> found.pvalue
    0.0001
    >>> low, high = found.confidence_interval()
    >>> 0.5 < low < high < 0.7
    True
    """
    alternative, number = parse_alternative(alternative), parse_resamples(n_resamples)
    ways = ways_of(epsilon, more)
    _check(x, y)
    given = answer_of(x, "pearsonr", ways, partial(_asked, other=y))
    return _tested(_figure(given), alternative, number)


def _tested(figure: Figure, alternative: str, number: int) -> PearsonRResult:
    record, sums = figure.record, _sums(figure)
    pair = Pair.of(sums, record._law)
    seen = np.array([float(each) / (4 * sums.share) for each in sums.all])
    what = f"pearsonr {figure.place} {alternative}"
    pvalue = float(pair.pvalue(seen, Simulation([record], what), number, alternative))
    share, r = float(pair.share_of_noise(seen)), float(record._statistic._share(sums, False))
    interval = pair.interval(seen, r, alternative)
    return PearsonRResult(
        "pearsonr", r, pvalue, False, _NULL, _noise(share, number), releases([record]),
        alternative, _interval=interval,
        notes=(
            *((_HIDDEN,) if interval.is_hidden else ()),
            *(resolution(pvalue, number) if share > NIL else ()),
            *one_of_several("pearsonr", release_of(record), what),
        ),
    )  # fmt: skip


# what is tested


def _check(x: Any, y: Any) -> None:
    """Refuse what could be released and not be used, before it is paid for."""
    if not is_private(x) and not is_answer(x):
        refuse(x, "pearsonr")
    if y is not None and not (isinstance(x, PrivateSeries) and isinstance(y, PrivateSeries)):
        raise QueryError(
            "pearsonr takes two private columns of the same rows and epsilon=…, or a released "
            f"correlation alone: {ASK}."
        )
    if not is_private(x):
        return
    if isinstance(x, Unreleased):
        statistic, table = x._statistic, x._table
        if not (isinstance(statistic, CovarianceTable) and statistic.correlation):
            raise QueryError(f"pearsonr takes a correlation: {ASK}.")
        if not statistic.pair:
            raise QueryError(f"pearsonr takes the correlation of one pair of columns: {ASK}.")
    elif isinstance(x, PrivateColumn) and y is not None:
        table = x._table
    else:
        raise QueryError(f'pearsonr takes two private columns, pearsonr(p["x"], p["y"]), or {ASK}.')
    check_rows("these columns", table.source.unit.max_rows * table.branches)


def _asked(x: PrivateSeries, *, other: PrivateSeries) -> Any:
    return x.corr(other)


def _figure(answer: Any) -> Figure:
    """The released correlation, and its place among the numbers of its release."""
    numbers = np.ravel(np.asarray(quantities_in(answer), dtype=object))
    if len(numbers) != 1:
        raise QueryError(
            f"pearsonr takes one correlation, and these are {len(numbers)}. Select one, as in "
            'table.loc[["x"], ["y"]].'
        )
    (number,) = numbers
    if not isinstance(number, Quantity) or number.figure is None:
        raise QueryError(f"pearsonr takes a correlation as it was released: {ASK}.")
    return number.figure


def _sums(figure: Figure) -> NoisySums:
    """The noisy sums of two columns that a correlation was made of."""
    record, statistic = figure.record, figure.record._statistic
    if not (isinstance(statistic, CovarianceTable) and statistic.correlation):
        raise QueryError(f"pearsonr takes a correlation, and '{record.query}' is none: {ASK}.")
    if statistic.scales_rows:
        raise QueryError(
            "norm= scales rows down as a whole, after which columns depend on each other. pearsonr "
            f"takes a correlation with bounds=: {ASK}."
        )
    if isinstance(record._law, NoiseAtLook):
        raise QueryError(
            "the noise of this answer decided how many releases it took, and pearsonr has no "
            f"p-value for that. Release it at a loss that was fixed beforehand: {ASK}."
        )
    check_rows(f"'{record.query}'", record._query.source.unit.max_rows * record._query.branches)
    entries = statistic._entries()
    cell, entry = divmod(figure.place, len(entries))
    first, last = sorted(entries[entry])
    if first == last:
        raise QueryError("the correlation of a column with itself is 1, whatever its values are.")
    return statistic.sums(statistic._by_cell(record._noisy)[cell], first, last)


# how it is said

_NULL = (
    "the columns are independent, of values within their bounds, normal or many, of independent "
    "units"
)
_HIDDEN = (
    "Too few rows: noise hides how the values of a column vary, so that the interval is all of -1 "
    "to 1. More rows, a larger epsilon or narrower bounds show more."
)


def _noise(share: float, number: int) -> str:
    if share <= NIL:
        return "Noise is too small to matter"
    return (
        f"{in_percent(share)} % of the variance of the covariance is noise, which {number:,} draws "
        "of its law allow for"
    )


# the test


class Figures(NamedTuple):
    """What noisy sums tell of two columns u and v, in terms of their bounds."""

    rows: Floats
    u: Floats  # means
    v: Floats
    uu: Floats  # variances
    uv: Floats  # covariance
    vv: Floats


@dataclass(frozen=True)
class Pair:
    """The correlation of two columns under noise of a law.

    design : how sums of 1, u, v, u², uv and v² follow from noisy ones, as rows.
    terms : how many independent noises each of these has.
    share : what a row adds to all of them.
    """

    law: Any
    design: tuple[tuple[float, ...], ...]
    terms: int
    share: int

    @classmethod
    def of(cls, sums: NoisySums, law: Any) -> Pair:
        design = zip(*sums.design, strict=True)
        return cls(law, tuple(tuple(x / 4 for x in row) for row in design), sums.terms, sums.share)

    @cached_property
    def _design(self) -> Floats:
        return np.array(self.design)

    def figures(self, sums: Floats) -> Figures:
        """Of the sums of 1, u, v, u², uv and v², in rows and at the end of an array."""
        one, u, v, uu, uv, vv = np.moveaxis(sums, -1, 0)
        rows = np.maximum(one, float(FEWEST))
        p, q = u / rows, v / rows
        spread = (np.clip(each, 0.0, 0.25) for each in (uu / rows - p * p, vv / rows - q * q))
        p_, q_ = np.clip(p, 0.0, 1.0), np.clip(q, 0.0, 1.0)
        return Figures(rows, p_, q_, next(spread), uv / rows - p * q, next(spread))

    def _noise_of(self, found: Figures, weights: Floats) -> Floats:
        """The variance of noise in the mean of a function of u and v, by its weights of 1, u, v,
        u², uv and v², which are along the first axis."""
        each = np.tensordot(weights, self._design, axes=(0, 0))
        known = variance_of(self.law) * self.terms / (self.share * found.rows) ** 2
        return np.asarray(known * (each**2).sum(axis=-1))

    def of_covariance(self, found: Figures) -> Floats:
        """The variance of its noise, to first order."""
        return self._noise_of(found, _centred_product(found))

    def _of_variances(self, found: Figures) -> tuple[Floats, Floats]:
        both = _centred_squares(found)
        return self._noise_of(found, both[0]), self._noise_of(found, both[1])

    def _of_sample(self, found: Figures) -> Floats:
        """The variance that the sample leaves of the covariance."""
        return np.maximum(found.uu * found.vv - found.uv**2, 0.0) / (found.rows - 2)

    def statistic(self, found: Figures) -> Floats:
        """Student's t of r, with the variance of the noise beside that of the sample."""
        left = np.maximum(self._of_sample(found) + self.of_covariance(found), TINY**2)
        return np.asarray(found.uv / np.sqrt(left))

    def share_of_noise(self, sums: Floats) -> Floats:
        """Which part of the variance of the covariance is noise."""
        found = self.figures(sums)
        noise = self.of_covariance(found)
        return np.asarray(noise / np.maximum(noise + self._of_sample(found), TINY**2))

    def pvalue(self, sums: Floats, simulation: Simulation, number: int, alternative: str) -> Floats:
        """By simulated columns that are uncorrelated; without noise by Student's t."""
        found, direction = self.figures(sums), _DIRECTIONS[alternative]
        seen = direction(self.statistic(found))
        if float(np.max(self.share_of_noise(sums))) <= NIL:
            sides = 2 if alternative == "two-sided" else 1
            return np.asarray(sides * np.vectorize(tail)(seen, found.rows - 2))
        columns = found._replace(rows=np.rint(found.rows), uv=np.zeros_like(found.uv))

        def simulated(size: int) -> Floats:
            return direction(self.statistic(self.figures(self.drawn(columns, simulation, size))))

        numbers_each = self._design.shape[1] * self.terms * found.rows.size
        return part_beyond(seen, simulated, number, numbers_each)

    def drawn(self, columns: Figures, simulation: Simulation, size: int) -> Floats:
        """Noisy sums of as many samples of independent normal columns with these means and
        variances."""
        rows, shape, generator = columns.rows, (size, *columns.rows.shape), simulation.generator
        u = generator.normal(columns.u, np.sqrt(columns.uu / rows), shape)
        v = generator.normal(columns.v, np.sqrt(columns.vv / rows), shape)
        # squares and products around the means: one direction of v is that of u
        along, first = generator.normal(size=shape), np.sqrt(generator.chisquare(rows - 1, shape))
        across = generator.chisquare(rows - 2, shape)
        uu, vv = columns.uu * first**2, columns.vv * (along**2 + across)
        uv = np.sqrt(columns.uu * columns.vv) * first * along
        one = np.broadcast_to(rows, shape)
        exact = one, rows * u, rows * v, uu + rows * u**2, uv + rows * u * v, vv + rows * v**2
        return np.stack(exact, axis=-1) + self.noise(simulation, shape)

    def noise(self, simulation: Simulation, shape: tuple[int, ...]) -> Floats:
        """That of the sums of 1, u, v, u², uv and v², in rows."""
        each = simulation.noise(self.law, (*shape, self._design.shape[1], self.terms)).sum(axis=-1)
        return np.asarray(each @ self._design.T / self.share)

    def interval(self, sums: Floats, shown: float, alternative: str) -> FisherInterval:
        """For the correlation of a population."""
        found = self.figures(sums)
        hidden = [
            spread <= np.sqrt(noise)
            for spread, noise in zip((found.uu, found.vv), self._of_variances(found), strict=True)
        ]
        rows = float(found.rows)
        if any(hidden) or rows <= SPARSE:
            return FisherInterval(shown, shown, rows, (), (), self, alternative, True)
        product, spread = math.sqrt(found.uu * found.vv), _centred_squares(found)
        own, others = (
            tuple((each @ self._design).tolist())
            for each in (
                _centred_product(found) / product,
                (spread[0] / found.uu + spread[1] / found.vv) / 2,
            )
        )
        seen = float(found.uv) / product
        return FisherInterval(shown, seen, rows, own, others, self, alternative, False)


def _centred_product(found: Figures) -> Floats:
    """The weights of (u - its mean)(v - its mean)."""
    p, q = found.u, found.v
    none, one = np.zeros_like(p), np.ones_like(p)
    return np.stack([p * q, -q, -p, none, one, none])


def _centred_squares(found: Figures) -> tuple[Floats, Floats]:
    """The weights of (u - its mean)² and of (v - its mean)²."""
    p, q = found.u, found.v
    none, one = np.zeros_like(p), np.ones_like(p)
    return (
        np.stack([p * p, -2 * p, none, one, none, none]),
        np.stack([q * q, none, -2 * q, none, none, one]),
    )


_DIRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "two-sided": np.abs, "less": np.negative, "greater": np.positive,
}  # fmt: skip


@dataclass(frozen=True)
class FisherInterval:
    """All correlations ρ from which sample and noise may have led to the one seen.

    c - ρ·√(s²s'²) is 0 but for the sample, by Fisher's z, and for the noise, whose weights are
    linear in ρ to first order. Both distances are squared and added.
    """

    shown: float
    seen: float  # which noise may have moved beyond 1
    rows: float
    own: tuple[float, ...]  # the weights of the noises in the covariance, over √(s²s'²)
    others: tuple[float, ...]  # and in √(s²s'²)
    pair: Pair
    alternative: str
    is_hidden: bool  # whether noise hides how values vary

    def __call__(self, confidence: float) -> tuple[float, float]:
        risk = (1 - confidence) * (1 if self.alternative == "two-sided" else 2)
        low = -1.0 if self.alternative == "less" else self._end(1, risk)
        high = 1.0 if self.alternative == "greater" else -self._end(-1, risk)
        return min(low, self.shown), max(high, self.shown)

    def _end(self, sign: int, risk: float) -> float:
        """The lower end, or with a sign of -1 that of the correlation with one column turned
        around."""
        if self.is_hidden or self.is_possible(-EDGE, risk, sign):
            return -1.0
        low, high = -EDGE, min(sign * self.seen, 1.0)
        for _ in range(HALVED):
            middle = (low + high) / 2
            low, high = (low, middle) if self.is_possible(middle, risk, sign) else (middle, high)
        return high

    def is_possible(self, correlation: float, risk: float, sign: int = 1) -> bool:
        """Whether what was seen isn't too far above what it should be, with half of the risk."""
        off = sign * self.seen - correlation
        if off <= 0:
            return True
        z = NormalDist().inv_cdf(max(1 - risk / 2, 0.5)) / math.sqrt(self.rows - SPARSE)
        sampled = math.tanh(math.atanh(correlation) + z) - correlation
        return off <= math.hypot(sampled, self._noise(correlation, risk, sign))

    def _noise(self, correlation: float, risk: float, sign: int) -> float:
        pairs = zip(self.own, self.others, strict=True)
        weights = tuple(abs(sign * own - correlation * other) for own, other in pairs)
        found = bound(self.pair.law, min(risk, 1.0), weights, self.pair.terms)
        return found / (self.pair.share * self.rows)
