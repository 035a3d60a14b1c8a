"""What a program of releases may spend: exact amounts, and all of them affordable or none spent."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from ...errors import BudgetExceeded, InternalError, QueryError
from ...frames.frame import PrivateFrame
from ...privacy.accounting import conversions
from ...privacy.accounting.losses import Epsilon, Loss, ReleaseOptions, Rho
from ...privacy.accounting.measures import LossRequest, Measure
from ...release.blocks import preview
from ...release.records import Record
from ...release.results import record
from ...release.session import current

T = TypeVar("T")


class ProgramBudget:
    """A loss that a program spends, release after release: ε, or where it is asked for ρ.

    What was answered before costs nothing, so a program that is run again is free. But before the
    first release that must be paid, the budget has to hold all that may still be spent: nothing is
    half charged. (Another thread that spends in the meantime can still bring a refusal.)
    """

    def __init__(
        self, frame: PrivateFrame, epsilon: object, more: ReleaseOptions, records: dict[str, Record]
    ) -> None:
        asked: LossRequest = current()._terms.asked(epsilon, **more)
        if more.get("mechanism") is not None:
            raise QueryError(
                "mechanism= is decided by the loss here: Laplace noise for epsilon=, Gaussian for "
                "rho=. Leave it out."
            )
        self.frame = frame
        self._fresh = more.get("fresh")
        self.by_rho = asked.rho is not None
        self.whole = Fraction(asked.rho if asked.rho is not None else asked.epsilon or 0)
        self.left = self.whole
        self.records = records  # by name, in order: filled as they are bought
        self._is_sure = preview.running() is not None  # a preview tells by itself what is missing

    @property
    def rows(self) -> int:
        """How many rows one unit may have: what its counts may move by."""
        table = self.frame._table
        return int(table.source.unit.max_rows * table.branches)

    def check(self, least: Fraction) -> None:
        """Refuse, before anything is charged, a program whose cheapest release would be refused."""
        said = self._said(least)
        try:
            current()._terms.asked(said.pop("epsilon", None), **said)
        except QueryError as error:
            raise QueryError(
                f"of {self.whole} its cheapest release would get {float(least):.3g}, and that is "
                f"too little: ask for more. {error}"
            ) from None

    def spend(self, name: str, amount: Fraction, ask: Callable[..., T]) -> T:
        """The answer of a release for so much of what is left; its record under a name."""
        if not 0 < amount <= self.left:
            raise InternalError(f"{amount} of {self.left} can't be spent.")
        said = self._said(amount)
        if self._fresh is not None:
            said["fresh"] = self._fresh
        self._make_sure(ask, said)
        answer = ask(**said)
        self.left -= amount
        self.records[name] = record(answer)
        return answer

    def _said(self, amount: Fraction) -> dict[str, Any]:
        return {"rho": Rho(amount)} if self.by_rho else {"epsilon": Epsilon(amount)}

    def _make_sure(self, ask: Callable[..., Any], said: dict[str, Any]) -> None:
        """Refuse, before anything is charged, what the budget can't pay to the end."""
        if self._is_sure:
            return
        with preview.preview() as plan:
            ask(**said)
        if plan.loss == Loss():  # it was answered before
            return
        with preview.preview() as plan:
            count = self.frame.size(fresh=True, **self._said(self.left))
        wanted = plan.loss + self._beyond(record(count).loss)
        if plan.left is not None and not wanted.within(plan.left):
            raise _cannot_afford(wanted, plan.left)
        self._is_sure = True

    def _beyond(self, loss: Loss) -> Loss:
        """What parts of all that is left may cost more than one count for it: of an ε in a session
        that counts ρ, for choices cost ε²/8, and others up to ε tanh(ε/2). Both by ε rise with ε,
        so that no parts cost more than the larger of both for all."""
        if self.by_rho or current()._terms.measure is not Measure.ZCDP:
            return Loss()
        choice, other = conversions.rho_of_selection(self.left), conversions.rho_of_pure(self.left)
        return Loss(rho=Rho(max(choice, other, loss.rho) - loss.rho))

    def noise(self, amount: Fraction) -> float:
        """About how far noise moves a count that is bought for so much: E|Z|, from above."""
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
        f"Lower {name}= to at most {rest}, or see dp.ledger().",
        requested=asked,
        remaining=rest,
    )
