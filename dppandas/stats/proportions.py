"""Tests and intervals of proportions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn, Unpack

import pandas as pd

from ..dataclasses import dataclass
from ..errors import QueryError, hide_internals, quoted
from ..findings.derive import is_answer, quantities_in
from ..findings.forms import Linear
from ..findings.populations import Populations
from ..findings.quantities import Quantity
from ..privacy.accounting.losses import ReleaseOptions, with_options_named
from ..privacy.accuracy.combined import variance_of
from ..privacy.accuracy.nearly_normal import NearlyNormal, dependent, independent
from ..release.accuracy.expected import CONFIDENCE
from ..release.answers.populations import check_units
from ..statistics.samples import SampleShare, part_of
from .inputs import (
    Foreseen,
    NotAnswered,
    answer_of,
    is_private,
    number_of,
    previewed,
    records_of,
    refuse,
    ways_of,
)
from .means import TESTS, Around, p_value
from .results import (
    SignificanceResult,
    error_with_noise,
    one_of_several,
    parse_alternative,
    releases,
)


@dataclass(frozen=True)
class Proportion:
    """A share of units, as noisy counts tell it: of a part, and of all."""

    part: float
    whole: float
    number: Quantity
    of: SampleShare | None  # the share of one release
    counts: tuple[Linear, Linear] | None = None  # else of two

    @property
    def value(self) -> float:
        return self.part / self.whole

    def error_at(self, p: float, noise_at: float | None = None) -> NearlyNormal:
        """The law of its error if the share of the population is p; the noise may be looked at as
        if it were another."""
        noise = self._noise(p if noise_at is None else noise_at)
        return noise.with_sample(p * (1 - p) / self.whole, math.inf)

    def _noise(self, p: float) -> NearlyNormal:
        """What noise adds to a share of p."""
        if self.of is not None:
            return self.of.noise(p)
        if self.counts is None:
            return NearlyNormal()
        sums = self.counts[0] + self.counts[1].times(-Fraction(p))
        return independent([
            NearlyNormal.of_noise(draw.law, [(float(weight) / self.whole, 1)])
            for draw, weight in sums.terms.items()
        ])  # fmt: skip

    @property
    def part_of_risk(self) -> float:
        """The part of a risk that is left for it: less at one look of several."""
        laws = [] if self.of is None else [self.of.law]
        for each in self.counts or ():
            laws += [draw.law for draw in each.terms]
        return min(map(part_of, laws), default=1.0)

    @property
    def share(self) -> SampleShare:
        """That of one release, whose law is known."""
        if self.of is None:
            raise QueryError(
                "this needs the share from one release, as the mean of True and False has it: "
                "p['bought'].mean()."
            )
        return self.of

    def is_apart(self, other: Proportion) -> bool:
        """Whether no unit is in both."""
        one, two = self.number.records, other.number.records
        if one != two or len(one) != 1:
            return False
        if self.of is None or other.of is None:
            return False
        return _are_other(self.of.cells, other.of.cells)


@dataclass(frozen=True)
class AroundShare(Around):
    """The interval of a proportion, or of the difference of two, towards the alternative."""

    def __call__(self, confidence: float) -> tuple[float, float]:
        least, most = self.span
        value = min(max(self.value, least), most)
        return Around(value, self.error, self.alternative, self.span, self.part)(confidence)


@dataclass(frozen=True)
class Shares:
    """Refuses a question whose answer isn't shares of units, or has too many."""

    test: str
    most: int | None = None
    needs_value: bool = False

    def __call__(self, foreseen: Foreseen) -> None:
        self.check_number(1 if foreseen.labels is None else len(foreseen.labels))
        samples = foreseen.samples
        if not samples or not all(isinstance(each, SampleShare) for each in samples):
            refuse_other(self.test)

    def check_number(self, number: int) -> None:
        if self.most is not None and number > self.most:
            raise QueryError(
                f"{self.test} compares two proportions. Select them, as rates.loc[['B', 'A']]; "
                "chi2_contingency compares several groups."
                if self.most == 2
                else f"{self.test} is about one proportion. Select it, as rates.loc[['A']]."
            )
        if number == 1 and self.needs_value:
            raise QueryError("value= is the proportion under the null hypothesis: give one, as .5.")


def refuse_other(test: str) -> NoReturn:
    raise QueryError(
        f"{test} takes shares of units: the mean of True and False, as p['bought'].mean(), or of "
        "a condition, as (p['age'] > 40).mean(); normalized counts; or counts with their numbers "
        "of rows in nobs=."
    )


def mean_of(private: Any) -> Any:
    """The question that is asked of private rows."""
    return private.mean()


@with_options_named
@hide_internals
@previewed()
def proportions_ztest(
    count: Any, nobs: Any = None, value: float | None = None, alternative: str = "two-sided",
    prop_var: float | bool = False, *, epsilon: object = None, **more: Unpack[ReleaseOptions],
) -> SignificanceResult:  # fmt: skip
    """The z-test of one proportion, or of whether two are equal, as that of statsmodels.

    count : a released share, as ``p["bought"].mean()`` of True and False; a Series of two, such as
        ``rates.loc[["B", "A"]]``; or a list of two. Or released counts, and their ``nobs``. Or
        private rows and ``epsilon=``: a column of True and False, or ``p.groupby("arm")["bought"]``
        with two groups, whose ``mean()`` is released.
    nobs : released numbers of rows, beside counts; in the shape of ``count``.
    value : the proportion under the null hypothesis; of two their difference, 0 by default. Then
        proportions are pooled; two that differ under the null hypothesis are not.
    alternative : "two-sided", "smaller" or "larger"; "less" and "greater" say the same.
    prop_var : a proportion to compute the variance of the sample from, in place of the estimate.

    Null hypothesis: units are drawn at random, and the proportion is ``value``, or two differ by
    it. The statistic is z, by the pooled proportion as in statsmodels; its variance counts sample
    and noise. Two groups of one release have different units; what else is compared may share some,
    so that deviations are added up.

    Approximate: at α = .05 measured sizes are .049 to .057 from 5 expected successes on, and .02 at
    α = .01 with one (docs/inference.md). For one proportion `binomtest` is exact.

    Raises `QueryError` for rows of units with several, and for numbers that are no shares; and
    `RecordError` for numbers without a record.

    *Guarantee*: of answers post-processing; of private rows that of their means
    (docs/proofs/significance.md).

    >>> import pandas as pd, dppandas as dp
    >>> bought = [False, True, False, False] * 1000
    >>> df = pd.DataFrame({"arm": ["A", "B"] * 2000, "bought": bought})
    >>> p = dp.protect(df, name="shop", domain={"arm": ["A", "B"]})
    >>> rates = p.groupby("arm")["bought"].mean(epsilon=1)
    >>> z, pvalue = dp.stats.proportions_ztest(rates.loc[["B", "A"]])
    >>> z > 10, pvalue < 0.001
    (True, True)
    """
    alternative = parse_alternative(alternative)
    if isinstance(value, str):
        raise QueryError(
            "labels are chosen by a list here: proportions_ztest(rates.loc[['B', 'A']])."
        )
    null = None if value is None else number_of(value, "value", -1, 1)
    given = None if prop_var is False else number_of(prop_var, "prop_var", 0, 1)
    limits = Shares("proportions_ztest", most=2, needs_value=null is None)
    each = _proportions(count, nobs, limits, ways_of(epsilon, more))
    limits.check_number(len(each))
    return _tested(each, null or 0.0, alternative, given)


def _tested(
    each: Sequence[Proportion], null: float, alternative: str, given: float | None
) -> SignificanceResult:
    said = (
        f"the proportion is {null:g}" if len(each) == 1 else "the two proportions are equal"
        if not null else f"the two proportions differ by {null:g}"
    )  # fmt: skip
    told: dict[str, Any] = {
        "test": "proportions_ztest", "exact": False, "alternative": alternative,
        "null": f"{said}; units were drawn at random",
        "source": releases(records_of([one.number for one in each])),
    }  # fmt: skip
    are_apart, span = len(each) == 1 or each[0].is_apart(each[1]), (1.0 - len(each), 1.0)
    found = compared(each, null, given, are_apart)
    if found is None:
        return SignificanceResult(
            statistic=math.nan, pvalue=1.0, noise="Noise hides whether there are any rows",
            _interval=AroundShare(0.0, NearlyNormal(math.inf), alternative, span), **told,
        )  # fmt: skip
    sampled = math.sqrt(_error(each, [found.pooled] * 2, are_apart).sampled)
    own, part = _error(each, _shares(each), are_apart), min(one.part_of_risk for one in each)
    return SignificanceResult(
        statistic=found.z,
        pvalue=p_value(found.error, found.off, alternative, part),
        noise=error_with_noise(found.error.deviation, sampled),
        notes=(*_notes(each, found.pooled, null), *one_of_several("z", found.z, null, alternative)),
        parameter="the proportion" if len(each) == 1 else "the first less the second",
        _interval=AroundShare(found.difference, own, alternative, span, part), **told,
    )  # fmt: skip


def _are_other(one: frozenset[int], two: frozenset[int]) -> bool:
    """Whether cells are known, and others."""
    return bool(one and two) and not one & two


class Compared(NamedTuple):
    """How far a proportion, or the difference of two, is from that of the null hypothesis."""

    difference: float
    off: float
    error: NearlyNormal  # under the null hypothesis
    pooled: float

    @property
    def z(self) -> float:
        return self.off / self.error.deviation


def compared(
    each: Sequence[Proportion], null: float, given: float | None, are_apart: bool
) -> Compared | None:
    """By the pooled proportion, or a given one; None if there are no rows."""
    if any(one.whole <= 0 for one in each):
        return None
    pooled = sum(one.part for one in each) / sum(one.whole for one in each)
    pooled = min(max(pooled, 0.0), 1.0) if given is None else given
    shares = [pooled] * 2
    if len(each) == 2 and null and given is None:  # which differ under the null hypothesis
        shares = _shares(each)
    error = _error(each, shares, are_apart)
    if len(each) == 1:
        error = each[0].error_at(pooled, min(max(null, 0.0), 1.0))
    if not error.variance:
        return None
    difference = each[0].value - (each[1].value if len(each) == 2 else 0.0)
    return Compared(difference, difference - null, error, pooled)


def _shares(each: Sequence[Proportion]) -> list[float]:
    return [min(max(one.value, 0.0), 1.0) for one in each]


def _error(
    each: Sequence[Proportion], shares: Sequence[float], are_apart: bool = True
) -> NearlyNormal:
    """Of the difference, if these are the shares of the population."""
    errors = [one.error_at(p) for one, p in zip(each, shares, strict=False)]
    return independent(errors) if are_apart else dependent(errors)


def _notes(each: Sequence[Proportion], pooled: float, null: float) -> list[str]:
    shares, most = ([pooled], 5) if len(each) == 2 else ([pooled, null], 20)
    expected = min(one.whole * min(p, 1 - p) for one in each for p in shares)
    if expected >= most:
        return []
    exact = "; binomtest is exact" if len(each) == 1 else ""
    return [
        f"About {max(expected, 0):.2g} successes or failures are expected in a group. Below {most} "
        "the normal distribution is rough, and such tests find what isn't there more often than "
        f"they say{exact}."
    ]


def _proportions(count: Any, nobs: Any, limits: Shares, ways: dict[str, Any]) -> list[Proportion]:
    test = limits.test
    if nobs is not None and is_private(count):
        raise QueryError(f"{test} of private rows releases shares by itself: leave nobs out.")
    parts = _numbers(count, limits, ways)
    if nobs is None:
        return [share_of(number, test) for number in parts]
    wholes = _numbers(nobs, limits, {})
    both = isinstance(count, pd.Series) and isinstance(nobs, pd.Series)
    if both and not count.index.equals(nobs.index):
        raise QueryError(
            "count and nobs must have the same labels in the same order: nobs.loc[count.index]."
        )
    if len(parts) != len(wholes):
        raise QueryError(f"{len(parts)} counts need {len(parts)} numbers of rows, in nobs.")
    return [_of_counts(*pair, test) for pair in zip(parts, wholes, strict=True)]


def _numbers(given: Any, limits: Shares, ways: dict[str, Any]) -> list[Quantity]:
    test = limits.test
    if isinstance(given, list | tuple):
        if not given or any(is_private(each) or not is_answer(each) for each in given):
            refuse(next((each for each in given if not is_answer(each)), given), test)
        return [number for each in given for number in _numbers(each, limits, {})]
    answer = answer_of(given, limits.test, ways, mean_of, limits)
    found = quantities_in(answer)
    if isinstance(found, pd.DataFrame):
        raise QueryError(f"{test} takes a number or a Series of them: select a column.")
    numbers = found.tolist() if isinstance(found, pd.Series) else [found]
    if not numbers or not all(isinstance(each, Quantity) for each in numbers):
        raise QueryError(f"{test} takes numbers, and some of these have no value.")
    return numbers


def share_of(number: Quantity, test: str) -> Proportion:
    """A share of units, from one release."""
    found = Populations(1 - CONFIDENCE, TESTS).share(number)
    if found is None:
        refuse_other(test)
    return _of_share(found, number)


def _of_share(found: SampleShare, number: Quantity) -> Proportion:
    part, rest = float(found.part / found.row), float(found.rest / found.row)
    return Proportion(part, part + rest, number, found)


def _spread(*counts: Linear) -> float:
    """A deviation of the noise of their difference, or more."""
    return sum(
        abs(float(weight)) * math.sqrt(variance_of(draw.law))
        for each in counts for draw, weight in each.terms.items()
    )  # fmt: skip


def refuse_more(count: float, nobs: float, deviation: float, test: str) -> None:
    """Refuse more successes than trials, as far as noise can't explain them: they are swapped."""
    if count - nobs > 1 + 20 * deviation:
        raise QueryError(
            f"about {count:,.0f} successes in {nobs:,.0f} trials: {test} takes the number of "
            "successes first, and then that of all."
        )


def _of_counts(count: Quantity, nobs: Quantity, test: str) -> Proportion:
    for each in (count, nobs):
        for record in each.records:
            check_units(record)
    number, one, other = count / nobs, count.form, nobs.form
    if not (isinstance(one, Linear) and isinstance(other, Linear)) or not (
        count.is_count and nobs.is_count
    ):
        raise QueryError(f"{test} takes counts of rows in count and nobs, as p.count() is.")
    refuse_more(float(one.seen), float(other.seen), _spread(one, other), test)
    found = Populations(1 - CONFIDENCE, TESTS).share_of_counts(number)
    if found is not None:
        return _of_share(found, number)
    return Proportion(float(one.seen), float(other.seen), number, None, (one, other))


@with_options_named
@hide_internals
def proportion_confint(
    count: Any, nobs: Any = None, alpha: float = 0.05, method: str = "exact", *,
    epsilon: object = None, **more: Unpack[ReleaseOptions],
) -> tuple[Any, Any]:  # fmt: skip
    """The interval of a proportion, as that of statsmodels: (lower, upper).

    count, nobs : as for `proportions_ztest`; of any number of shares. Of a Series both ends are
        Series.
    alpha : how often an interval misses, each by itself, as in statsmodels. Those of
        `dppandas.intervals` hold simultaneously.
    method : "exact": by theorem an interval misses no more often, for units drawn at random
        (docs/proofs/populations.md); of shares of one release. Or "normal": Wald's, whose variance
        counts sample and noise.

    Raises what `proportions_ztest` raises.

    *Guarantee*: of answers post-processing; of private rows that of their means.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"ill": [True, False, False, False] * 1000})
    >>> ill = dp.protect(df, name="clinic")["ill"].mean(epsilon=1)
    >>> low, high = dp.stats.proportion_confint(ill, alpha=1e-6)
    >>> 0.2 < low < 0.25 < high < 0.3
    True
    """
    alpha = number_of(alpha, "alpha", 0, 1)
    if not 0 < alpha < 1:
        raise QueryError(f"alpha={alpha:g} must be above 0 and below 1, as .05.")
    if method not in ("exact", "normal"):
        raise QueryError(f'method={quoted(method)} must be "exact" or "normal".')
    limits = Shares("proportion_confint")
    try:
        return _confint(count, nobs, alpha, method, limits, ways_of(epsilon, more))
    except NotAnswered:
        return math.nan, math.nan


def _confint(
    count: Any, nobs: Any, alpha: float, method: str, limits: Shares, ways: dict[str, Any]
) -> tuple[Any, Any]:
    if is_private(count) and nobs is None:
        count, ways = answer_of(count, limits.test, ways, mean_of, limits), {}
    each = _proportions(count, nobs, limits, ways)
    ends = [_ends(one, alpha, method) for one in each]
    if not isinstance(count, pd.Series):
        return ends[0] if len(ends) == 1 else tuple(zip(*ends, strict=True))  # type: ignore[return-value]
    return tuple(
        pd.Series([pair[i] for pair in ends], index=count.index, name=name)
        for i, name in enumerate(("lower", "upper"))
    )  # type: ignore[return-value]


def _ends(one: Proportion, alpha: float, method: str) -> tuple[float, float]:
    if method == "exact":
        low, high, _ = one.share.estimate(alpha, TESTS)
        return low, high
    if one.whole <= 0:
        return 0.0, 1.0
    error = _error([one], _shares([one]))
    low, high = Around(one.value, error, "two-sided", part=one.part_of_risk)(1 - alpha)
    return max(low, 0.0), min(high, 1.0)
