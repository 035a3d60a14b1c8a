"""The smallest loss that keeps an error: ``within=``.

Before a release, public facts and the loss decide its error. The search goes over losses of three
significant digits. It depends neither on the budget nor on the data, so equal calls find equal
losses, and a stored answer is found again.

Errors that are probably a mistake, and losses above ``at_most=``, are refused for new charges only.
A notebook that ran before gets its answers again.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...dataclasses import dataclass, replace
from ...errors import BudgetExceeded, MissingArgument, QueryError, quoted
from ...privacy.accounting.losses import LARGEST, SMALLEST, Delta, Epsilon, Loss, Rho, parse_budget
from ...privacy.accounting.measures import LossRequest, Measure
from ...rows.facts.kinds import Schema
from ...rows.facts.spans import Ruler
from ...rows.figures import as_target, format_exactly
from ...rows.values import canonical
from ...statistics import Statistic
from ..query import Query
from ..session import current
from ..ways import Ways
from . import expected

#: How many losses of three digits lie between one power of ten and the next. The one found is at
#: most 1 % larger than needed.
_EACH = 900
_PLACES = range(19 * _EACH)


def _decimal(place: int) -> Fraction:
    """Decimals of three digits in order: 1.00, 1.01, …, 9.99, 10.0, … times 10^-15."""
    power, digits = divmod(place, _EACH)
    return Fraction((100 + digits) * 10**power, 10**17)


def _last(most: Fraction) -> int:
    """The place of the largest such decimal up to a value."""
    return bisect_right(_PLACES, most, key=_decimal) - 1


#: The first and the last place of a search. For one number, Gaussian noise of ρ = ε²/2 is as wide
#: as Laplace noise of ε.
_RANGE = {
    "epsilon": (_last(SMALLEST) + 1, _last(LARGEST)),
    "rho": (_last(SMALLEST**2 / 2) + 1, _last(LARGEST**2 / 2)),
}


@dataclass(frozen=True)
class TargetError:
    """The largest error that an answer may have, with which confidence, over how many rows."""

    within: float  # for times in ticks
    confidence: float
    rows: float | None
    ruler: Ruler | None = None
    at_most: Epsilon | None = None  # the largest loss; the key of the query doesn't depend on it
    share: str = ""  # "5%" if within= is a share of the rows

    word: ClassVar[str] = "within"

    def solved(
        self, query: Callable[[LossRequest], Query], ways: Ways, way: str = ""
    ) -> LossRequest:
        """The smallest loss that keeps the error of a query, in what the running session counts.

        way : "epsilon" or "rho", to find that. By default a session that counts ρ finds a ρ, for
            Gaussian noise; it finds an ε if the answer or mechanism= needs Laplace noise, which is
            charged its own ρ.
        """

        def asked(way: str, place: int) -> LossRequest:
            loss = _decimal(place)
            epsilon, rho = (Epsilon(loss), None) if way == "epsilon" else (None, loss)
            return ways.priced(epsilon, rho, ways.delta)

        counts_rho = current()._terms.measure is Measure.ZCDP
        if not way:
            way = "rho" if counts_rho and ways.mechanism != "laplace" else "epsilon"
            try:
                query(asked(way, _RANGE[way][1])).mechanism()
            except QueryError:  # it is of ρ, or of a mechanism that was named
                if way == "epsilon" or ways.mechanism is not None:
                    raise
                way = "epsilon"
        first, last = _RANGE[way]

        def error(place: int) -> float:
            return self._error(query(asked(way, place)))

        best = error(last)
        if best > self.within:
            largest = query(asked(way, last))
            meant = f" {self._meant(largest)}" if self._is_tiny(largest) else ""
            raise QueryError(
                f"{self.word}={self._said(self.within)} is less than any {way}= allows here: the "
                f"least error, at {way}={Epsilon(_decimal(last))}, is {self._written(best)} with "
                f"{self.confidence:.4g} confidence.{meant}"
            )
        enough = bisect_left(range(first, last), True, key=lambda p: error(p) <= self.within)
        return asked(way, first + enough)

    @property
    def shown(self) -> Any:
        """What errors that are shown are compared with, which hold with 95 %; None for nothing."""
        return self._typed(self.within) if self.confidence == expected.CONFIDENCE else None

    def _typed(self, error: float) -> Any:
        return error if self.ruler is None else self.ruler.length(error, math.ceil)

    def _written(self, error: float) -> str:
        """An error that ``within=`` can name."""
        return as_target(self._typed(error))

    def _said(self, error: float) -> str:
        """The error as the call gave it."""
        return f"{error:.12g}" if self.ruler is None else format_exactly(self._typed(error))

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
        """Refuse a new charge that is probably a mistake, or above at_most=. Stored answers are
        never refused."""
        if self._is_tiny(query):
            raise QueryError(
                f"within={self._said(self.within)} of {query.what} is less than one. That asks for "
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
        """What a small number probably meant."""
        if self.share:
            return f"It is {self.share} of {self.rows:.12g} rows."
        share = f"{100 * self.within:.4g}%"
        if not query.statistic.errors.counts_rows(query.source.schema):
            return f"If you mean {share} of some number, give that many."
        return (
            f'If you mean {share} of all rows, write within="{share}" with expected_rows=, about '
            "how many there are. To learn a share, ask for the mean of True and False, or for "
            "normalize=True."
        )

    def cannot_afford(
        self, error: BudgetExceeded, query: Callable[[LossRequest], Query], asked: LossRequest
    ) -> BudgetExceeded:
        """The error to raise if the budget can't pay. It says which error the rest would buy, if
        the rest is counted as this was asked."""
        wanted, left = error.requested, error.remaining
        if isinstance(wanted, Delta):  # which the call named itself: no error costs it
            return error
        way, place = "epsilon" if asked.rho is None else "rho", _last(left)
        loss, advice = getattr(asked, way), "dp.ledger() shows what was spent."
        if wanted == loss and place >= _RANGE[way][0]:
            less = self._error(query(replace(asked, **{way: type(loss)(_decimal(place))})))
            advice = f"What is left is enough for within={self._written(less)}."
        symbol = "ρ" if isinstance(wanted, Rho) else "ε"
        return BudgetExceeded(
            f"within={self._said(self.within)} with {self.confidence:.4g} confidence costs "
            f"{symbol} = {wanted}, and {symbol} = {left} is left. {advice}",
            requested=wanted,
            remaining=left,
            earlier=error._earlier,
        )


def parsed(ways: Ways, statistic: Statistic, what: object, schema: Schema) -> TargetError:
    """The error that a call asks for: for times a duration, for ranks of quantiles a number."""
    if ways.epsilon is not None or ways.rho is not None:
        raise QueryError("within= finds the loss: leave epsilon= and rho= out.")
    wanted, options = ways.within, options_of(ways, statistic)
    rows = expected.parse_rows(ways.expected_rows)
    share = str(wanted).strip() if isinstance(wanted, str) and "%" in wanted else ""
    model = statistic.errors
    is_share = model.counts_rows(schema) or (model.in_ranks and not model.weighs_rows)
    if share:
        within = _share_of_rows(share, rows, what, is_share)
    else:
        within = goal_of(wanted, options["ruler"], what)
    return TargetError(within, rows=rows, share=share, **options)


def options_of(ways: Ways, statistic: Statistic) -> dict[str, Any]:
    """The confidence, the ruler of times, and the limit of the loss."""
    said, most = ways.confidence, ways.at_most
    return {
        "confidence": expected.CONFIDENCE if said is None else expected.parse_confidence(said),
        "ruler": None if statistic.errors.in_ranks else statistic.layout.ruler,
        "at_most": None if most is None else parse_budget(most, "at_most"),
    }


def _share_of_rows(said: str, rows: float | None, what: object, is_share: bool) -> float:
    """An error given as a percentage of the expected rows."""
    if not is_share:
        raise QueryError(
            f"within={quoted(said)} is a share of expected_rows=, for counts of rows and for "
            f"ranks. The error of {what} isn't counted in rows: give a number in its unit."
        )
    if rows is None:
        raise MissingArgument(
            f"expected_rows= is needed: about how many rows within={quoted(said)} is a share of, "
            "from public knowledge."
        )
    share = parse_budget(said.removesuffix("%"), "within") / 100
    return _number(share * Fraction(float(rows)))


def goal_of(said: object, ruler: Ruler | None, what: object, word: str = "within") -> float:
    """An error, in the unit of the statistic."""
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
        raise QueryError(f"{word}={quoted(said)} must be a positive duration.")
    return float(Fraction(nanos, ruler.tick))


def _number(value: Fraction) -> float:
    """An error as a float, like those that results report."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
