"""Asked by error: the least loss that keeps it.

An answer's error before its release is a function of public facts and of the loss. Among losses of
three significant digits the least is found whose error is small enough: the same for equal calls,
whatever the budget and the data are, so that an answer is given again as any other.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Unpack, cast

import numpy as np

from . import results
from .accounting import NOTHING, Asked, Measure
from .budget import LARGEST, SMALLEST, Cost, Epsilon, More, parse_budget
from .errors import BudgetExceeded, MissingArgument, QueryError, shown
from .query import Query
from .session import session
from .spans import Ruler
from .statistics import Statistic
from .values import canonical

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
class Goal:
    """The largest error that an answer may have, how surely, and over about how many rows."""

    within: float  # of times in ticks
    confidence: float
    rows: float | None
    ruler: Ruler | None = None

    def solved(self, query: Callable[[Asked], Query], **more: Unpack[Cost]) -> Asked:
        """The least loss that keeps the error of a query, as the running session counts it.

        Where ρ is counted that is a ρ, for Gaussian noise; or an ε if the answer, or mechanism=,
        asks for Laplace noise, which is charged its own ρ.
        """
        terms = session().terms
        ways = ["epsilon"]
        if terms.measure is Measure.ZCDP and more.get("mechanism") != "laplace":
            ways = ["rho"] if more.get("mechanism") is not None else ["rho", "epsilon"]

        def asked(way: str, loss: Fraction) -> Asked:
            if way == "epsilon":
                return terms.asked(Epsilon(loss), **more)
            return terms.asked(None, **cast(Cost, {**more, "rho": loss}))

        *others, last = ways
        for way in others:
            try:
                query(asked(way, _decimal(_RANGE[way][1]))).mechanism()
            except QueryError:
                continue
            last = way
        return self._least(lambda loss: asked(last, loss), query, last)

    def _least(
        self, asked: Callable[[Fraction], Asked], query: Callable[[Asked], Query], way: str
    ) -> Asked:
        first, last = _RANGE[way]

        def error(place: int) -> float:
            return self._error(query(asked(_decimal(place))))

        best = error(last)
        if best > self.within:
            raise QueryError(
                f"within={self._said(self.within)} is less than any {way}= allows here: the least "
                f"error, at {way}={_plain(_decimal(last))}, is {self._told(best)} with "
                f"{self.confidence:.4g} confidence. {NOTHING}"
            )
        enough = bisect_left(range(first, last), True, key=lambda p: error(p) <= self.within)
        return asked(_decimal(first + enough))

    def _told(self, error: float) -> Any:
        return error if self.ruler is None else self.ruler.length(error, math.ceil)

    def _said(self, error: float) -> str:
        return f"{error:.12g}" if self.ruler is None else str(self._told(error))

    def _error(self, query: Query) -> float:
        try:
            return results.error_before(query, self.confidence, self.rows)
        except MissingArgument:
            raise
        except QueryError as error:
            raise QueryError(
                f"within= can't be promised for {query.what}: {error} Give epsilon= instead."
            ) from None

    def too_dear(
        self, error: BudgetExceeded, query: Callable[[Asked], Query], asked: Asked
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
        query: Callable[[Asked], Query],
        asked: Asked,
    ) -> str:
        """What error the rest of the budget would buy, if it is counted as this was asked."""
        way = "epsilon" if asked.rho is None else "rho"
        place = _last(left)
        if wanted != getattr(asked, way) or place < _RANGE[way][0]:
            return " See dp.ledger()."
        kind = type(getattr(asked, way))
        less = self._error(query(replace(asked, **{way: kind(_decimal(place))})))
        return f" What is left is enough for within={self._told(less)}."


def parsed(
    epsilon: object, more: More, statistic: Statistic, what: str
) -> tuple[Goal | None, Cost]:
    """The error that a call asks for, if it does, and what else it says. Of times it is a duration;
    of their quantiles a number of ranks, as of any others."""
    if more.get("within") is None:
        return None, more
    if epsilon is not None or more.get("rho") is not None:
        raise QueryError(f"within= finds the loss: leave epsilon= and rho= out. {NOTHING}")
    said = more.get("confidence")
    ruler = None if statistic.in_ranks else statistic.layout.ruler
    goal = Goal(
        _goal(more["within"], ruler, what),
        results.CONFIDENCE if said is None else results.parse_confidence(said),
        results.parse_rows(more.get("expected_rows")),
        ruler,
    )
    rest = {k: v for k, v in more.items() if k not in ("within", "confidence", "expected_rows")}
    return goal, cast(Cost, rest)


def _goal(said: object, ruler: Ruler | None, what: str) -> float:
    """An error as the statistic counts it."""
    is_length = isinstance(said, datetime.timedelta | np.timedelta64)
    if is_length != (ruler is not None):
        has = "no duration: give a number" if is_length else "a duration: give a pd.Timedelta"
        raise QueryError(
            f"within= can't be promised for {what}: its error is {has}, not {shown(said)}. "
            f"{NOTHING}"
        )
    if ruler is None:
        return _number(parse_budget(said, "within"))
    family, nanos = canonical(said)
    if family != "duration" or nanos <= 0:
        raise QueryError(f"within={shown(said)} must be longer than nothing. {NOTHING}")
    return float(Fraction(nanos, ruler.tick))


def _number(value: Fraction) -> float:
    """An error as floats tell it: what a result says of itself can be asked for."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _plain(value: Fraction) -> str:
    return str(Epsilon(value))
