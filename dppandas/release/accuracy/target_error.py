"""Asked by error: the least loss that keeps it.

An answer's error before its release is a function of public facts and of the loss. Among losses of
three significant digits the least is found whose error is small enough: the same for equal calls,
whatever the budget and the data are, so that an answer is given again as any other.

What is refused as hardly meant, or as too dear by ``at_most=``, is so for new charges alone: a
notebook that ran before is answered again, whatever was allowed then.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...errors import BudgetExceeded, MissingArgument, QueryError, quoted
from ...privacy.accounting.losses import (
    LARGEST,
    SMALLEST,
    Epsilon,
    Loss,
    parse_budget,
)
from ...privacy.accounting.measures import LossRequest, Measure
from ...rows.facts.kinds import Schema
from ...rows.facts.spans import Ruler
from ...rows.values import canonical
from ...statistics import Statistic
from ..query import Query
from ..session import current
from ..ways import Ways
from . import expected

#: Losses of three digits, at most 1 % above what would be enough: so many lie between a power of
#: ten and the next.
_EACH = 900
_PLACES = range(19 * _EACH)


def _decimal(place: int) -> Fraction:
    """Decimals of three digits in order: 1.00, 1.01, …, 9.99, 10.0, … times 10^-15."""
    power, digits = divmod(place, _EACH)
    return Fraction((100 + digits) * 10**power, 10**17)


def _last(most: Fraction) -> int:
    """The place of the largest of them that is no larger."""
    return bisect_right(_PLACES, most, key=_decimal) - 1


#: From which place to which is searched. For one number Gaussian noise of ρ = ε²/2 is as wide as
#: Laplace noise of ε.
_RANGE = {
    "epsilon": (_last(SMALLEST) + 1, _last(LARGEST)),
    "rho": (_last(SMALLEST**2 / 2) + 1, _last(LARGEST**2 / 2)),
}


@dataclass(frozen=True)
class TargetError:
    """The largest error that an answer may have, how surely, and over about how many rows."""

    within: float  # of times in ticks
    confidence: float
    rows: float | None
    ruler: Ruler | None = None
    at_most: Epsilon | None = None  # of the loss: no part of what is asked
    share: str = ""  # of the rows, where it was asked as one

    word: ClassVar[str] = "within"

    def solved(self, query: Callable[[LossRequest], Query], ways: Ways) -> LossRequest:
        """The least loss that keeps the error of a query, as the running session counts it.

        Where ρ is counted that is a ρ, for Gaussian noise; or an ε if the answer, or mechanism=,
        asks for Laplace noise, which is charged its own ρ.
        """
        counted = ["epsilon"]
        if current()._terms.measure is Measure.ZCDP and ways.mechanism != "laplace":
            counted = ["rho"] if ways.mechanism is not None else ["rho", "epsilon"]

        def asked(way: str, loss: Fraction) -> LossRequest:
            in_epsilon = way == "epsilon"
            epsilon, rho = (Epsilon(loss), None) if in_epsilon else (None, loss)
            return ways.priced(epsilon, rho, ways.delta)

        *others, last = counted
        for way in others:
            try:
                query(asked(way, _decimal(_RANGE[way][1]))).mechanism()
            except QueryError:
                continue
            last = way
        return self._least(lambda loss: asked(last, loss), query, last)

    def _least(
        self,
        asked: Callable[[Fraction], LossRequest],
        query: Callable[[LossRequest], Query],
        way: str,
    ) -> LossRequest:
        first, last = _RANGE[way]

        def error(place: int) -> float:
            return self._error(query(asked(_decimal(place))))

        best = error(last)
        if best > self.within:
            dearest = query(asked(_decimal(last)))
            meant = f" {self._meant(dearest)}" if self._is_tiny(dearest) else ""
            raise QueryError(
                f"{self.word}={self._said(self.within)} is less than any {way}= allows here: the "
                f"least error, at {way}={_plain(_decimal(last))}, is {self._typed(best)} with "
                f"{self.confidence:.4g} confidence.{meant}"
            )
        enough = bisect_left(range(first, last), True, key=lambda p: error(p) <= self.within)
        return asked(_decimal(first + enough))

    def _typed(self, error: float) -> Any:
        return error if self.ruler is None else self.ruler.length(error, math.ceil)

    def _said(self, error: float) -> str:
        return f"{error:.12g}" if self.ruler is None else str(self._typed(error))

    def _error(self, query: Query) -> float:
        try:
            return expected.error_before(query, self.confidence, self.rows)
        except MissingArgument:
            raise
        except QueryError as error:
            raise QueryError(
                f"within= can't be promised for {query.what}: {error.reason} Give epsilon= instead."
            ) from None

    def check(self, query: Query, loss: Loss) -> None:
        """Refuse a new charge that nobody means, or that is more than was allowed for it. Nobody
        is kept from what was answered before."""
        if self._is_tiny(query):
            raise QueryError(
                f"within={self._said(self.within)} of {query.what} is less than one: it asks for "
                f"the exact count, and would cost {loss}. {self._meant(query)} The smallest is "
                "within=1; for a more exact count give epsilon=."
            )
        price = loss.rho or loss.epsilon
        if self.at_most is not None and price > self.at_most:
            raise QueryError(
                f"within={self._said(self.within)} with {self.confidence:.4g} confidence costs "
                f"{loss}, more than at_most={self.at_most}. Allow more, or ask for less: a larger "
                "within=, or less confidence=."
            )

    def _is_tiny(self, query: Query) -> bool:
        return query.statistic.is_count(query.source.schema) and self.within < 1

    def _meant(self, query: Query) -> str:
        """What was probably meant by a small number."""
        if self.share:
            return f"It is {self.share} of {self.rows:.12g} rows."
        share = f"{100 * self.within:.4g}%"
        if not query.statistic.counts_rows(query.source.schema):
            return f"If {share} of some number is meant, give that many."
        return (
            f'If {share} of all rows is meant, write within="{share}" with expected_rows=, about '
            "how many there are; if a share is what you want to know, ask for the mean of what is "
            "True or False, or for normalize=True."
        )

    def cannot_afford(
        self, error: BudgetExceeded, query: Callable[[LossRequest], Query], asked: LossRequest
    ) -> BudgetExceeded:
        """What to say where the budget can't pay for it."""
        goal = f"within={self._said(self.within)} with {self.confidence:.4g} confidence"
        costs = f"{goal} costs more than is left: {error.args[0].split(' Lower ')[0]}"
        return BudgetExceeded(
            costs + self._enough(error.requested, error.remaining, query, asked),
            requested=error.requested,
            remaining=error.remaining,
        )

    def _enough(
        self,
        wanted: Fraction,
        left: Fraction,
        query: Callable[[LossRequest], Query],
        asked: LossRequest,
    ) -> str:
        """What error the rest of the budget would buy, if it is counted as this was asked."""
        way = "epsilon" if asked.rho is None else "rho"
        place = _last(left)
        if wanted != getattr(asked, way) or place < _RANGE[way][0]:
            return " See dp.ledger()."
        kind = type(getattr(asked, way))
        less = self._error(query(replace(asked, **{way: kind(_decimal(place))})))
        return f" What is left is enough for within={self._typed(less)}."


def parsed(ways: Ways, statistic: Statistic, what: str, schema: Schema) -> TargetError:
    """The error that a call asks for. Of times it is a duration; of their quantiles a number of
    ranks, as of any others."""
    if ways.epsilon is not None or ways.rho is not None:
        raise QueryError("within= finds the loss: leave epsilon= and rho= out.")
    said, most, wanted = ways.confidence, ways.at_most, ways.within
    ruler = None if statistic.in_ranks else statistic.layout.ruler
    rows = expected.parse_rows(ways.expected_rows)
    share = str(wanted).strip() if isinstance(wanted, str) and "%" in wanted else ""
    is_share = statistic.counts_rows(schema) or statistic.in_ranks
    return TargetError(
        goal_of(wanted, ruler, what) if not share else _share_of_rows(share, rows, what, is_share),
        expected.CONFIDENCE if said is None else expected.parse_confidence(said),
        rows,
        ruler,
        None if most is None else parse_budget(most, "at_most"),
        share,
    )


def _share_of_rows(said: str, rows: float | None, what: str, is_share: bool) -> float:
    """An error of so many percent of the rows that are expected."""
    if not is_share:
        raise QueryError(
            f"within={quoted(said)} is a share of expected_rows=, for counts of rows and for "
            f"ranks; the error of {what} is told otherwise: give a number in its unit."
        )
    if rows is None:
        raise MissingArgument(
            f"expected_rows= is needed: about how many rows within={quoted(said)} is a share of, "
            "from public knowledge."
        )
    share = parse_budget(said.removesuffix("%"), "within") / 100
    return _number(share * Fraction(float(rows)))


def goal_of(said: object, ruler: Ruler | None, what: str, word: str = "within") -> float:
    """An error as the statistic counts it."""
    is_length = isinstance(said, datetime.timedelta | np.timedelta64)
    if is_length != (ruler is not None):
        has = "no duration: give a number" if is_length else "a duration: give a pd.Timedelta"
        raise QueryError(
            f"{word}= can't be promised for {what}: its error is {has}, not {quoted(said)}."
        )
    if ruler is None:
        return _number(parse_budget(said, word))
    family, nanos = canonical(said)
    if family != "duration" or nanos <= 0:
        raise QueryError(f"{word}={quoted(said)} must be longer than nothing.")
    return float(Fraction(nanos, ruler.tick))


def _number(value: Fraction) -> float:
    """An error as floats tell it: what a result says of itself can be asked for."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _plain(value: Fraction) -> str:
    return str(Epsilon(value))
