"""The binomial test."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Unpack

from ..dataclasses import dataclass
from ..errors import QueryError, hide_internals, quoted
from ..findings.derive import is_answer
from ..findings.forms import Linear
from ..findings.quantities import Quantity
from ..findings.simulation import Simulation
from ..privacy.accounting.losses import ReleaseOptions, with_options_named
from ..privacy.accuracy import binomial_tests
from ..privacy.accuracy.combined import is_additive, variance_of
from ..release.answers.populations import check_units
from ..statistics.samples import SampleShare
from .inputs import answer_of, is_private, number_of, one_of, previewed, records_of, refuse, ways_of
from .proportions import Shares, mean_of, refuse_more, share_of
from .results import (
    ConfidenceInterval,
    SignificanceResult,
    one_of_several,
    parse_alternative,
    releases,
)

#: The most units of a public size.
LARGEST = 10**9
#: How often an end of an interval is halved.
HALVED = 40


@dataclass(frozen=True, repr=False, eq=False)
class BinomTestResult(SignificanceResult):
    """The result of a binomial test: `SignificanceResult` with the noisy number of successes ``k``
    and of trials ``n``, as that of scipy. The statistic is the proportion."""

    k: float = math.nan
    n: float = math.nan

    _beside: ClassVar[tuple[str, ...]] = ("k", "n")

    @hide_internals
    def proportion_ci(self, confidence_level: float = 0.95, method: str = "exact") -> Any:
        """The proportions that the test doesn't reject, as scipy names it."""
        if method != "exact":
            raise QueryError(f'method={quoted(method)} must be "exact".')
        return self.confidence_interval(confidence_level)


@with_options_named
@hide_internals
@previewed(BinomTestResult)
def binomtest(
    k: Any, n: int | None = None, p: float = 0.5, alternative: str = "two-sided", *,
    public_size: bool = False, epsilon: object = None, **more: Unpack[ReleaseOptions],
) -> BinomTestResult:  # fmt: skip
    """The exact binomial test of whether a proportion is ``p``, as that of scipy.

    k : a released share of units, as ``p["bought"].mean()`` of True and False; with ``n`` a count.
        Or a private column of True and False and ``epsilon=``, whose mean is released.
    n : None: the number of units is private, and the p-value holds whatever it is. For a count: a
        number of units that there are at most, which you vouch for; then only
        ``alternative="greater"`` can be tested. With ``public_size=True`` just so many there are.
    p : the proportion under the null hypothesis.
    alternative : "two-sided", "less" or "greater". Two-sided are numbers as far from n·p.
    public_size : whether ``n`` is a public fact, as where neighbouring tables differ in the values
        of a unit, and not in whether it is there. This is your statement; the release protects
        both.

    Null hypothesis: units are drawn at random, and each is a success with chance p. The statistic
    is the noisy proportion.

    Exact: P[pvalue ≤ α] ≤ α for each α, whatever n is. Of a private n the pivot
    (1-p)·k - p·(n-k) of noisy counts is compared with its law for all n, each with its own p-value
    for the number of units seen. With a public size the p-value of the count with a uniform number
    added is uniform, and no unbiased test of one side has more power (Awan and Slavković, NeurIPS
    2018). That number belongs to the release: an answer has one p-value.

    Raises `QueryError` for several rows of a unit and for answers of other kinds; `RecordError` for
    numbers without a record.

    *Guarantee*: post-processing; of a column that of its mean (docs/proofs/significance.md).

    >>> import pandas as pd, dppandas as dp
    >>> coins = dp.protect(pd.DataFrame({"heads": [True, True, False] * 200}), name="coins")
    >>> heads = coins["heads"].mean(epsilon=1)
    >>> found = dp.stats.binomtest(heads, p=0.5)
    >>> found.pvalue < 0.001, found.exact
    (True, True)
    """
    alternative = parse_alternative(alternative)
    p = number_of(p, "p", 0, 1)
    if not is_private(k) and not is_answer(k):
        refuse(k, "binomtest")
    size = _size(n, public_size, alternative)
    limits = Shares("binomtest", most=1)
    if size is not None and is_private(k):
        raise QueryError(
            "binomtest of a private column releases its share, which needs no n. Or release the "
            "count, p.query('bought').count(epsilon=…), and give it with n."
        )
    answer = answer_of(k, "binomtest", ways_of(epsilon, more), mean_of, limits)
    number = one_of(answer, "binomtest")
    asked: OfShare | OfCount
    if size is None:
        of = share_of(number, "binomtest")
        asked, exact = OfShare(of.share, alternative), True
        successes, trials, of_size = of.part, of.whole, "whatever number of units there is"
    else:
        asked, exact = _of_count(number, size, public_size, alternative)
        successes, trials = asked.counted, float(size)
        of_size = f"of {'at most ' * (not public_size)}{size:,} units"
    share = successes / trials if trials > 0 else math.nan
    return BinomTestResult(
        test="binomtest", statistic=share, pvalue=asked(p), exact=exact, k=successes, n=trials,
        null=f"each unit is a success with chance {p:g}, independently, {of_size}",
        noise="The p-value counts the noise by its law",
        source=releases(records_of([number])), alternative=alternative,
        notes=one_of_several("binomtest", successes, trials, p, alternative),
        parameter="the proportion",
        _interval=Inverted(asked, share if trials > 0 else 0.5, alternative),
    )  # fmt: skip


def _size(n: object, public_size: object, alternative: str) -> int | None:
    if not isinstance(public_size, bool):
        raise QueryError(f"public_size={quoted(public_size)} must be True or False.")
    if n is None:
        if public_size:
            raise QueryError("public_size=True needs n=, the number of units that all know.")
        return None
    is_whole = isinstance(n, Integral) and not isinstance(n, bool) and not is_answer(n)
    if not is_whole or not 1 <= n <= LARGEST:  # type: ignore[operator]
        raise QueryError(
            f"n={quoted(n)} must be a whole number of units, above 0, that everybody knows. A "
            "released number of rows isn't one: give the share, p['bought'].mean(), and no n."
        )
    if not public_size and alternative != "greater":
        raise QueryError(
            'where n= is only the most units there may be, ask for alternative="greater": fewer '
            "units have fewer successes. Where it is their public number, say public_size=True. "
            "Else give a share, p['bought'].mean(), and no n."
        )
    return int(n)  # type: ignore[call-overload, no-any-return]


def _of_count(
    number: Quantity, size: int, public_size: bool, alternative: str
) -> tuple[OfCount, bool]:
    form = number.form
    if not isinstance(form, Linear) or [*form.terms.values()] != [1] or not number.is_count:
        raise QueryError(
            "binomtest with n= takes a count as it was released, as p.query('bought').count(). A "
            "share needs no n."
        )
    (record,) = number.records
    check_units(record)
    (law,) = (draw.law for draw in form.terms)
    if not is_additive(law):
        raise QueryError("binomtest with n= takes the count of one release.")
    counted = float(form.seen)
    refuse_more(counted, size, math.sqrt(variance_of(law)), "binomtest")
    if not public_size:
        return OfCount(counted, size, law, alternative, is_known=False), True
    simulation = Simulation([record], f"binomtest {size} {alternative}")
    uniform = simulation.uniform() - 0.5
    return OfCount(counted + uniform, size, law, alternative), simulation.is_random


@dataclass(frozen=True)
class OfShare:
    """The p-value of a proportion, from a released share."""

    share: SampleShare
    alternative: str

    def __call__(self, p: float) -> float:
        of = self.share
        return binomial_tests.of_share(
            of.part, of.rest, of.law, p, self.alternative, of.terms, of.row
        )


@dataclass(frozen=True)
class OfCount:
    """The p-value of a proportion, from a released count of so many units."""

    counted: float
    size: int
    law: Any
    alternative: str
    is_known: bool = True

    def __call__(self, p: float) -> float:
        if self.is_known:
            return binomial_tests.of_known_size(
                self.counted, self.size, self.law, p, self.alternative
            )
        return binomial_tests.of_count(self.counted, self.size, self.law, p)


@dataclass(frozen=True)
class Inverted:
    """The interval of all proportions that a test doesn't reject."""

    pvalue: Callable[[float], float]
    middle: float
    alternative: str

    def __call__(self, confidence: float) -> ConfidenceInterval:
        middle, risk = min(max(self.middle, 0.0), 1.0), 1 - confidence
        low, high = 0.0, 1.0
        if self.alternative != "less":
            low = self._edge(middle, 0.0, risk)
        if self.alternative != "greater":
            high = self._edge(middle, 1.0, risk)
        return ConfidenceInterval(low, high)

    def _edge(self, near: float, far: float, risk: float) -> float:
        """Beyond the last proportion that isn't rejected."""
        if self.pvalue(far) > risk:
            return far
        for _ in range(HALVED):
            middle = (near + far) / 2
            near, far = (middle, far) if self.pvalue(middle) > risk else (near, middle)
        return far
