"""Whether the means of groups differ: one-way analysis of variance that knows the noise.

Proof: docs/proofs/significance.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass
from ..errors import QueryError, hide_internals, quoted
from ..findings.derive import quantities_in
from ..findings.quantities import Figure, Quantity
from ..findings.simulation import Simulation
from ..frames.groupby import PrivateGroupBy, UnknownGroups
from ..privacy.accounting.losses import ReleaseOptions, with_options_named
from ..privacy.accuracy.combined import NoiseAtLook, variance_of
from ..privacy.accuracy.student import f_tail
from ..release.answers.populations import samples_of
from ..release.unreleased import Unreleased
from ..statistics.moments.several import Moments
from ..statistics.samples import SampleMean, SampleShare
from ..statistics.samples_of_spreads import SampleMeanOfThree
from .inputs import Foreseen, answer_of, is_private, previewed, release_of, ways_of
from .means import FEW
from .resampling import NIL, in_percent, parse_resamples, part_beyond, resolution
from .results import SignificanceResult, one_of_several, releases

Floats = npt.NDArray[np.float64]

#: How many deviations of its noise are added to a variance that groups are drawn with.
ADDED = 0.5
#: What keeps a division by a variance of 0, where there is no noise.
TINY = 1e-150
#: What is asked for in place of what f_oneway can't use.
ASK = "p.groupby(…)[column].mean(inference=True, epsilon=…)"


@with_options_named
@hide_internals
@previewed()
def f_oneway(
    *samples: Any,
    equal_var: bool = True,
    n_resamples: int = 9999,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> SignificanceResult:
    """Whether the means of groups differ: one-way analysis of variance, as `scipy.stats.f_oneway`.

    samples : means by group that were released with ``inference=True``, whose three sums also tell
        how many values there are and how they vary: a Series, or parts of one. Or private groups of
        one column, ``p.groupby("arm")["paid"]``, with ``epsilon=…``: their means are released
        first. All groups are of one release, so that no unit is in two of them.
    equal_var : whether values vary alike in all groups (Fisher's F), or not (Welch's).
    n_resamples : how many draws the p-value is made of, from 99 to a million.
    epsilon, rho, within and the rest : for private groups, as in `Unreleased.release`.

    *Null hypothesis*: all groups have one mean, of values clipped to their bounds. Units are drawn
    independently from a population, and have one row each. Values are normal, or so many that it
    doesn't matter.

    ``statistic`` is F with the variance of the noise beside that of the sample: each group counts
    by what both leave of its mean, Σ w(m - m̄)²/(k - 1) with 1/w = s²/n + variance of the noise.
    ``pvalue`` is the part of simulated statistics that are at least as large: of groups with one
    mean, the released sizes and variances, and noise of the exact law. Without noise both are
    scipy's. It is approximate: docs/inference.md has how often it errs.

    Raises `QueryError` for means with two sums, which don't tell how values vary, for groups of
    several releases, and for several rows of a unit (see ``per_unit``); `RecordError` for plain
    numbers.

    *Guarantee*: post-processing of released answers, which costs nothing; with private groups
    differential privacy of the unit, as for their means (docs/proofs/variances.md). Sources:
    Fisher, "Statistical Methods for Research Workers", 1925; Welch, "On the comparison of several
    mean values: an alternative approach", Biometrika 1951; docs/proofs/significance.md.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"arm": ["A", "B", "C"] * 2000, "paid": [10, 12, 14, 12, 14, 16] * 1000})
    >>> p = dp.protect(df, name="three arms", domain={"arm": ["A", "B", "C"], "paid": (0, 30)})
    >>> means = p.groupby("arm")["paid"].mean(inference=True, epsilon=1)
    >>> statistic, pvalue = dp.stats.f_oneway(means)
    >>> statistic > 100, pvalue
    (True, 0.0001)
    """
    if not isinstance(equal_var, bool | np.bool_):
        raise QueryError(f"equal_var={quoted(equal_var)} must be True or False.")
    number, ways = parse_resamples(n_resamples), ways_of(epsilon, more)
    _check_private(samples)
    given = [answer_of(each, "f_oneway", ways, _means_of) for each in samples]
    return _analysed(_figures(given), bool(equal_var), number)


def _analysed(figures: Sequence[Figure], equal_var: bool, number: int) -> SignificanceResult:
    record, each = figures[0].record, _samples(figures)
    analysis = OneWay(record._law, each[0].row, equal_var)
    seen = analysis.found(np.array([one.sums for one in each], dtype=float).T / each[0].row)
    what = f"f_oneway {[figure.place for figure in figures]} {equal_var}"
    pvalue = float(analysis.pvalue(seen, Simulation([record], what), number))
    share = float(analysis.share_of_noise(seen).max())
    return SignificanceResult(
        "f_oneway", float(analysis.statistic(seen)), pvalue, False, _null(equal_var),
        _noise(share, number), releases([record]),
        notes=(
            *_hidden(seen),
            *_unequal(seen, equal_var),
            *(resolution(pvalue, number) if share > NIL else ()),
            *one_of_several("f_oneway", release_of(record), what),
        ),
    )  # fmt: skip


# what is compared


def _check_private(samples: Sequence[Any]) -> None:
    """Refuse what could be released and not be used, before it is paid for."""
    if not samples:
        raise QueryError(f"f_oneway takes means by group: {ASK}.")
    private = [each for each in samples if is_private(each)]
    if not private:
        return
    (one, *others) = samples
    if others or not isinstance(one, PrivateGroupBy | Unreleased):
        raise QueryError(
            "f_oneway takes private groups of one column, p.groupby(…)[column], and releases their "
            f"means together, so that no unit is in two of them; or answers: {ASK}."
        )
    columns, groups = _asked(one) if isinstance(one, Unreleased) else _grouped(one)
    if columns != 1 or groups < 2:
        raise QueryError(
            f"f_oneway compares one column in two groups or more, and here are {columns} columns "
            f"and {groups} groups. Select: p.groupby(…)[column]."
        )
    made = one if isinstance(one, Unreleased) else _means_of(one)
    if not Foreseen(made).samples:  # refuses times, and several rows of a unit
        raise QueryError(f"f_oneway takes means by group: {ASK}.")


def _grouped(groups: PrivateGroupBy) -> tuple[int, int]:
    """How many columns and groups there are."""
    if isinstance(groups, UnknownGroups):
        raise QueryError(
            "f_oneway needs declared keys, p.groupby(…, keys=[…])[column]: of groups found in the "
            "data only some are shown."
        )
    if groups._hold_truths():
        raise QueryError(_OF_TRUTHS)
    return len(groups._operands()), len(groups._groups)


def _asked(answer: Unreleased) -> tuple[int, int]:
    statistic = answer._statistic
    if not (isinstance(statistic, Moments) and statistic.shown == ("mean",)):
        raise QueryError(f"f_oneway needs means with inference=True: {ASK}.")
    return len(statistic.operands), len(statistic.cells)


#: How much larger the largest variance of a group may be before that is said.
UNEQUAL = 3
#: Why shares aren't compared here.
_OF_TRUTHS = (
    "f_oneway compares means of numbers. For shares of True there is dp.stats.chi2_contingency of "
    "the counts."
)


def _means_of(groups: PrivateGroupBy) -> Any:
    return groups.mean(inference=True)


def _figures(given: Iterable[Any]) -> list[Figure]:
    """The released means, in the order of their places."""
    tables = [np.ravel(np.asarray(quantities_in(answer), dtype=object)) for answer in given]
    numbers = list(itertools.chain(*tables))
    if not all(isinstance(each, Quantity) and each.figure is not None for each in numbers):
        raise QueryError(
            f"f_oneway takes means as they were released, and nothing computed from them: {ASK}."
        )
    figures: list[Figure] = [each.figure for each in numbers]
    if len({release_of(figure.record) for figure in figures}) > 1:
        raise QueryError(
            "f_oneway compares groups of one release, so that no unit is in two of them. Release "
            f"their means together: {ASK}."
        )
    if len(figures) < 2:
        raise QueryError(f"f_oneway compares two groups or more, and not {len(figures)}: {ASK}.")
    return sorted(figures, key=lambda figure: figure.place)


def _samples(figures: Sequence[Figure]) -> list[SampleMeanOfThree]:
    """What each mean says of its group. They have no unit in common."""
    record = figures[0].record
    if isinstance(record._law, NoiseAtLook):
        raise QueryError(
            "the noise of this answer decided how many releases it took, and f_oneway has no "
            f"p-value for that. Release it at a loss that was fixed beforehand: {ASK}."
        )
    known, found = samples_of(record), []
    for figure in figures:
        sample = known[figure.place]
        if isinstance(sample, SampleShare):
            raise QueryError(_OF_TRUTHS)
        if not isinstance(sample, SampleMeanOfThree):
            why = ", as two sums don't tell how values vary" * isinstance(sample, SampleMean)
            raise QueryError(f"f_oneway needs means with inference=True{why}: {ASK}.")
        found.append(sample)
    if len({sample.bounds for sample in found}) > 1:
        raise QueryError("f_oneway compares groups of one column, and these have other bounds.")
    cells = [cell for sample in found for cell in sample.cells]
    if len({*cells}) < len(cells):
        raise QueryError(
            "f_oneway compares groups that have no unit in common, and these are several means of "
            "the same group. Give one column, and each group once."
        )
    return found


# how it is said


def _null(equal_var: bool) -> str:
    spread = "with one variance" if equal_var else "each with a variance of its own"
    return (
        "all groups have one mean, of values within their bounds, normal or many, "
        f"{spread}, of independent units"
    )


def _noise(share: float, number: int) -> str:
    if share <= NIL:
        return "Noise is too small to matter"
    return (
        f"Up to {in_percent(share)} % of the variance of a mean is noise, which {number:,} draws "
        "of its law allow for"
    )


def _hidden(seen: Found) -> tuple[str, ...]:
    """A sentence where noise hides how values vary."""
    hidden = int((seen.variance <= np.sqrt(seen.of_variance)).sum())
    if not hidden:
        return ()
    return (
        f"Too few rows: noise hides how values vary in {hidden} of {seen.variance.size} groups. "
        "More rows, a larger epsilon or narrower bounds show more.",
    )


def _unequal(seen: Found, equal_var: bool) -> list[str]:
    """Sentences where groups aren't as the test takes them."""
    notes = []
    noise = 2 * np.sqrt(seen.of_variance)
    if equal_var and (seen.variance - noise).max() > UNEQUAL * (seen.variance + noise).min():
        notes.append(
            f"Variances of groups differ by more than a factor of {UNEQUAL}, and this test takes "
            "them to be equal: equal_var=False doesn't."
        )
    if float((seen.rows * seen.variance).min()) < FEW:
        notes.append(
            "Rows are few for bounds as wide as these: if values are skewed, more such tests find "
            "what isn't there than they say."
        )
    return notes


# the test


class Found(NamedTuple):
    """What noisy sums tell of each group, in terms of the bounds: arrays with groups at their
    end."""

    rows: Floats
    mean: Floats
    variance: Floats
    of_mean: Floats  # the variance of the mean's noise
    of_variance: Floats  # and of that of the variance, nearly


@dataclass(frozen=True)
class OneWay:
    """One-way analysis of variance under noise of a law.

    row : what a row adds to the three sums of its group.
    """

    law: Any
    row: int
    equal_var: bool

    def found(self, sums: Floats) -> Found:
        """What three sums tell, which are in rows and along the first axis: those at the lower
        bound, between and at the upper one."""
        rows = np.maximum(sums.sum(axis=0), 2.0)
        _, middle, high = sums  # which noise may have made negative: a cut at 0 moves means
        mean = (high + middle / 2) / rows
        p = np.clip(mean, 0.0, 1.0)
        share = np.clip(high / rows - mean**2, 0.0, 0.25)
        each = variance_of(self.law) / (self.row * rows) ** 2
        of_mean = each * (p**2 + (0.5 - p) ** 2 + (1 - p) ** 2)
        weights = p**2 - share, p**2 - p - share, (1 - p) ** 2 - share
        of_variance = each * sum(weight**2 for weight in weights)
        return Found(rows, p, share * rows / (rows - 1), of_mean, np.asarray(of_variance))

    def _variances(self, found: Found, added: float = 0.0) -> Floats:
        """Of the values of each group: its own, or that of all; with so many deviations of their
        noise added."""
        if not self.equal_var:
            return found.variance + added * np.sqrt(found.of_variance)
        parts = (found.rows - 1) / (found.rows - 1).sum(axis=-1, keepdims=True)
        pooled = (parts * found.variance).sum(axis=-1, keepdims=True)
        noise = (parts**2 * found.of_variance).sum(axis=-1, keepdims=True)
        return np.asarray(np.broadcast_to(pooled + added * np.sqrt(noise), found.rows.shape))

    def _weights(self, found: Found) -> Floats:
        """Each group counts by the variance that sample and noise leave of its mean."""
        left = self._variances(found) / found.rows + found.of_mean
        return np.asarray(1 / np.maximum(left, TINY))

    def _mean(self, found: Found) -> Floats:
        """The mean of all groups, which they have in common under the null hypothesis."""
        weights = self._weights(found)
        every = weights.sum(axis=-1, keepdims=True)
        return np.asarray((weights * found.mean).sum(axis=-1, keepdims=True) / every)

    def statistic(self, found: Found) -> Floats:
        """Fisher's F, or Welch's, with the variance of the noise beside that of the sample."""
        between = self._weights(found) * (found.mean - self._mean(found)) ** 2
        groups = found.rows.shape[-1]
        plain = between.sum(axis=-1) / (groups - 1)
        if self.equal_var:
            return np.asarray(plain)
        return np.asarray(plain / (1 + 2 * (groups - 2) / (groups**2 - 1) * self._welch(found)))

    def _welch(self, found: Found) -> Floats:
        weights = self._weights(found)
        parts = weights / weights.sum(axis=-1, keepdims=True)
        return np.asarray(((1 - parts) ** 2 / (found.rows - 1)).sum(axis=-1))

    def share_of_noise(self, found: Found) -> Floats:
        """Which part of the variance of each mean is noise."""
        return np.asarray(np.minimum(found.of_mean * self._weights(found), 1.0))

    def pvalue(self, found: Found, simulation: Simulation, number: int) -> Floats:
        """By simulated groups; without noise by the distribution of F."""
        seen = self.statistic(found)
        if float(self.share_of_noise(found).max()) <= NIL:
            return np.asarray(np.vectorize(f_tail)(seen, *self._freedom(found)))
        drawn_with = self._drawn_with(found)
        return part_beyond(
            seen, lambda size: self._simulated(drawn_with, simulation, size), number,
            3 * found.rows.size,
        )  # fmt: skip

    def _freedom(self, found: Found) -> tuple[float, Floats]:
        groups = found.rows.shape[-1]
        if self.equal_var:
            return groups - 1, np.asarray((found.rows - 1).sum(axis=-1))
        return groups - 1, np.asarray((groups**2 - 1) / (3 * self._welch(found)))

    def _drawn_with(self, found: Found) -> Found:
        """Groups of the null hypothesis: whole numbers of rows, one mean, and variances that are
        half a deviation of their noise above those seen, as too small ones err more often."""
        variances = np.minimum(self._variances(found, ADDED), 0.25)
        mean = np.broadcast_to(self._mean(found), found.rows.shape)
        return found._replace(rows=np.rint(found.rows), mean=mean, variance=variances)

    def _simulated(self, groups: Found, simulation: Simulation, size: int) -> Floats:
        return self.statistic(self.found(self.drawn(groups, simulation, size)))

    def drawn(self, groups: Found, simulation: Simulation, size: int) -> Floats:
        """Noisy sums of as many samples of normal values with these means and variances."""
        shape, generator = (size, *groups.rows.shape), simulation.generator
        mean = generator.normal(groups.mean, np.sqrt(groups.variance / groups.rows), shape)
        squares = generator.chisquare(groups.rows - 1, shape) * groups.variance
        high = squares + groups.rows * mean**2
        low = squares + groups.rows * (1 - mean) ** 2
        exact = np.stack([low, groups.rows - low - high, high])
        return exact + simulation.noise(self.law, exact.shape) / self.row
