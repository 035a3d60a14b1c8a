"""The budget of a program of releases: exact amounts, and either all affordable or none spent."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from ...errors import BudgetExceeded, InternalError, QueryError
from ...frames.frame import PrivateFrame
from ...privacy.accounting import conversions
from ...privacy.accounting.losses import Epsilon, Loss, Rho
from ...privacy.accounting.measures import Measure
from ...release.answers.records import Record
from ...release.answers.results import record_of_one
from ...release.blocks import preview
from ...release.session import current
from ...release.ways import Ways

T = TypeVar("T")


class ProgramBudget:
    """A loss that a program spends, release by release: ε, or ρ if that was given.

    Earlier answers cost nothing, so a program that runs again is free. But before the first release
    that must be paid, the budget has to cover all that may still be spent, so that nothing is half
    charged. (Another thread that spends in the meantime can still cause a refusal.)
    """

    def __init__(self, frame: PrivateFrame, ways: Ways, records: dict[str, Record]) -> None:
        asked = ways.loss_request()
        if ways.mechanism is not None:
            raise QueryError(
                "mechanism= follows from the loss here: Laplace noise for epsilon=, Gaussian noise "
                "for rho=. Leave it out."
            )
        self.frame = frame
        self._fresh = ways.fresh
        self.by_rho = asked.rho is not None
        self.whole = Fraction(asked.rho if asked.rho is not None else asked.epsilon or 0)
        self.left = self.whole
        self.records = records  # by name, in order of release
        self._is_sure = preview.running() is not None  # a preview says itself what is missing

    @property
    def rows(self) -> int:
        """How many rows a unit may have, and so the sensitivity of a count."""
        table = self.frame._table
        return int(table.source.unit.max_rows * table.branches)

    def check(self, least: Fraction) -> None:
        """Refuse a program before any charge if its cheapest release would be refused."""
        try:
            current()._terms.asked(**self._said(least))
        except QueryError as error:
            raise QueryError(
                f"of {self.whole} the cheapest release would get {float(least):.3g}, which is too "
                f"little. Give more. {error.reason}"
            ) from None

    def spend(self, name: str, amount: Fraction, ask: Callable[..., T]) -> T:
        """The answer of a release that spends this amount. Its record is kept under a name."""
        if not 0 < amount <= self.left:
            raise InternalError(f"{amount} of {self.left} can't be spent.")
        said = self._said(amount)
        if self._fresh is not None:
            said["fresh"] = self._fresh
        self._make_sure(ask, said)
        answer = ask(**said)
        self.left -= amount
        self.records[name] = record_of_one(answer)
        return answer

    def _said(self, amount: Fraction) -> dict[str, Any]:
        return {"rho": Rho(amount)} if self.by_rho else {"epsilon": Epsilon(amount)}

    def _make_sure(self, ask: Callable[..., Any], said: dict[str, Any]) -> None:
        """Refuse a program, before anything is charged, if the budget can't pay for all of it."""
        if self._is_sure:
            return
        with preview.preview() as plan:
            ask(**said)
        if plan.loss == Loss():  # a replay
            return
        with preview.preview() as plan:
            count = self.frame.size(fresh=True, **self._said(self.left))
        wanted = plan.loss + self._beyond(record_of_one(count).loss)
        if plan.left is not None and not wanted.within(plan.left):
            raise _cannot_afford(wanted, plan.left)
        self._is_sure = True

    def _beyond(self, loss: Loss) -> Loss:
        """How much more the releases may cost than one count for all that is left. This happens
        with ε in a session that counts ρ: selections cost ε²/8, and others up to ε tanh(ε/2). Both
        divided by ε grow with ε, so no division costs more than the larger of both for the whole.
        """
        if self.by_rho or current()._terms.measure is not Measure.ZCDP:
            return Loss()
        choice, other = conversions.rho_of_selection(self.left), conversions.rho_of_pure(self.left)
        return Loss(rho=Rho(max(choice, other, loss.rho) - loss.rho))

    def noise(self, amount: Fraction) -> float:
        """An upper bound on E|Z| for the noise Z of a count that spends this amount."""
        if self.by_rho:  # σ√(2/π) with σ² = rows²/(2ρ)
            return self.rows * math.sqrt(1 / (Fraction(355, 113) * amount))
        return float(self.rows / amount)

    def deviation(self, amount: Fraction) -> float:
        """About its standard deviation."""
        return self.noise(amount) * (1.2533141373155001 if self.by_rho else 2**0.5)


def _cannot_afford(wanted: Loss, left: Loss) -> BudgetExceeded:
    by_rho = current()._terms.measure is Measure.ZCDP
    symbol, name = ("ρ", "rho") if by_rho else ("ε", "epsilon")
    asked, rest = (wanted.rho, left.rho) if by_rho else (wanted.epsilon, left.epsilon)
    return BudgetExceeded(
        f"synthetic rows ask for {symbol} = {asked} in several releases, and {rest} is left. "
        f"{f'Lower {name}= to at most {rest}' if rest else 'Nothing is left'}; dp.ledger() shows "
        "what was spent.",
        requested=asked,
        remaining=rest,
        earlier=current()._advice(),
    )
