"""Releases added to an answer, look by look, until its error is small enough: ``until=``.

Whatever looking could influence is fixed before the first look: the loss of each look, how looks
are combined, and the confidence of each. So the interval holds whichever look is the last, and
whatever made the caller ask (proof: docs/proofs/combining.md, claim 6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from ...dataclasses import dataclass, fields, replace
from ...engines.base import Engine
from ...errors import BudgetExceeded, QueryError
from ...privacy.accounting.losses import LARGEST, Delta, Epsilon, Loss, Rho
from ...privacy.accounting.measures import LossRequest
from ...privacy.accuracy.combined import NoiseAtLook
from ...privacy.sampling import entropy
from ...rows.facts.units import whole_number
from ...statistics import Statistic
from ..accuracy import expected, target_error, units
from ..accuracy.target_error import TargetError
from ..answers.records import Record, registered
from ..blocks import preview
from ..pickles import register_families
from ..query import Query
from ..release import release
from ..ways import Ways

#: How many looks there are by default, and at most. Each costs as much as all before it.
LOOKS, MOST = 3, 12
#: If the answer decides its error, the first look aims at this share of the error that is asked
#: for. The plan goes by a noisy answer, and a second look doubles the cost.
AIM = 0.9


@dataclass(frozen=True)
class LookLossRequest(LossRequest):
    """The loss of one look of a series. The series is in the key, so a look is never a query that
    was asked before: its noise is independent of everything that anybody has seen."""

    canonical_name: ClassVar[str] = "Looking"

    looks: int = 1
    series: tuple[Any, ...] = ()


@dataclass(frozen=True)
class LookPlan(TargetError):
    """What is wanted of a series of looks, and the noisy integers that its plan goes by."""

    word: ClassVar[str] = "until"

    known: tuple[Any, ...] = ()
    looks: int = 1

    def _error(self, query: Query) -> float:
        law = _law([query.mechanism()], query.statistic, self.looks)
        aim = AIM if self.looks > 1 else 1
        return largest(query.statistic, self.known, law, self.confidence) / aim


def bought(
    before: Record, query: Query, engine: Engine, until: object, looks: object, ways: Ways
) -> Record:
    """The combined record of a series of looks at a query, planned from an earlier answer."""
    plan = _planned(before, query, until, looks, ways)
    first = plan.solved(lambda asked: replace(query, asked=asked), ways)
    if first.draw and _suffices(before, plan):  # unless a fresh one is asked for
        return before
    series = (plan.within, plan.confidence, *((p._query.key, p.draw) for p in before.components))
    queries = [replace(query, asked=_look(first, i, plan.looks, series)) for i in range(plan.looks)]
    price = sum((each.asked.charged(each.loss(each.mechanism())) for each in queries), Loss())
    begun: list[Record] = []

    def allowed(loss: Loss) -> None:
        most = plan.at_most
        if most is not None and (price.rho or price.epsilon) > most:
            raise QueryError(
                f"until={plan._said(plan.within)} may cost {price}, more than at_most={most}. "
                "Allow more, or ask for less: a larger until=, or fewer looks=."
            )

    def program() -> Record:
        begun.clear()
        for each in queries:
            begun.append(release(each, engine, type(before), allowed=allowed))
            found = _joined(begun, plan.looks)
            error = largest(found._statistic, found._noisy, found._law, plan.confidence)
            if not found.preview and error <= plan.within:
                break
        return found

    try:
        return preview.all_or_none(program)
    except BudgetExceeded as error:
        kept = bool(begun) and not any(each.preview for each in begun)
        raise _cannot_afford(error, plan, price, kept) from None


def _planned(before: Record, query: Query, until: object, looks: object, ways: Ways) -> LookPlan:
    """The plan that the arguments ask for."""
    statistic = query.statistic
    if statistic.layout.is_mixed:
        raise QueryError("numbers and times have no common error. Ask for each by itself.")
    number = whole_number(LOOKS if looks is None else looks, "looks", 1, MOST)
    is_public = _is_public(before._query)
    if before.preview and not is_public:
        raise QueryError(
            "the cost of until= follows from the answer that it starts from, and a preview made "
            "this one up. Release it first, outside of dp.preview()."
        )
    options = target_error.options_of(ways, statistic)
    return LookPlan(
        target_error.goal_of(until, options["ruler"], query.what, "until"),
        rows=None,
        known=before._noisy,
        looks=1 if is_public else number,
        **options,
    )


def _is_public(query: Query) -> bool:
    """Whether public facts decide the error, before any look."""
    try:
        expected.error_before(query, expected.CONFIDENCE, None)
    except QueryError:
        return False
    return True


def _suffices(before: Record, plan: LookPlan) -> bool:
    """Whether the result itself is accurate enough. If it decides its own error, it is refused:
    only the interval of looks holds whatever was seen before."""
    error = max(before._errors(plan.confidence), default=math.inf)
    if not error <= plan.within:  # NaN: the error of one number is unknown
        return False
    if _is_public(before._query):
        return True
    raise QueryError(
        f"until={plan._said(plan.within)}: the answer is within {plan._said(error)} already, with "
        f"{plan.confidence:.4g} confidence. Keep it, or give a smaller until=."
    )


def _look(first: LossRequest, place: int, looks: int, series: tuple[Any, ...]) -> LookLossRequest:
    """The loss of a look: as much as all looks before it cost together."""
    times = 2 ** max(0, place - 1)
    epsilon = None if first.epsilon is None else Epsilon(first.epsilon * times)
    if epsilon is not None and epsilon > LARGEST:
        raise QueryError(
            f"look {place + 1} of {looks} would cost ε = {epsilon}, and above {LARGEST} nothing is "
            "protected. Give fewer looks=, or a larger until=."
        )
    said = {field.name: getattr(first, field.name) for field in fields(LossRequest)}
    rho = None if first.rho is None else Rho(first.rho * times)
    return LookLossRequest(
        **{**said, "epsilon": epsilon, "rho": rho}, looks=looks, series=(place, *series)
    )


def _law(laws: Sequence[Any], statistic: Statistic, looks: int) -> NoiseAtLook:
    return NoiseAtLook.after(laws, statistic.layout.integer, statistic.size, looks)


def _joined(parts: Sequence[Record], looks: int) -> Record:
    """The record of all looks so far."""
    law = _law([part._law for part in parts], parts[0]._statistic, looks)
    return joined(parts[0], parts, law)


def joined(first: Record, parts: Sequence[Record], law: Any) -> Record:
    """The record of several releases combined, in the shape of the first."""
    latest = parts[-1]
    return registered(
        replace(
            first,
            id=entropy.identifier(),
            number=latest.number,
            mechanism=law.name,
            scale=units.scale_of(first._statistic, law),
            loss=sum((part.loss for part in parts), Loss()),
            cell=latest.cell,
            _kernel=latest._kernel,
            time=latest.time,
            draw=0,
            _law=law,
            _noisy=law.join([part._noisy for part in parts]),
            _components=tuple(parts),
            _shown=None,
            _beside=None,
            preview=any(part.preview for part in parts),
        )
    )


def largest(statistic: Statistic, noisy: Sequence[Any], law: Any, confidence: float) -> float:
    """The largest error of all numbers; infinite if one is unknown."""
    errors = statistic.errors.errors_at(noisy, law, confidence)
    return max((math.inf if error != error else error for error in errors), default=0.0)


def _cannot_afford(
    error: BudgetExceeded, plan: LookPlan, price: Loss, kept: bool
) -> BudgetExceeded:
    """The error to raise if the budget can't pay for all looks, or no longer can, because somebody
    else was charged between two of them."""
    bought = "The looks that were paid for stay, and cost nothing again." if kept else ""
    symbol, number = "ρ" if price.rho else "ε", plan.looks
    if isinstance(error.remaining, Delta):  # which the call named itself: no error costs it
        return BudgetExceeded(
            error.args[0], error.requested, error.remaining, bought=bought, earlier=error._earlier
        )
    return BudgetExceeded(
        f"until={plan._said(plan.within)} may cost {price} in {number} "
        f"{'look' if number == 1 else 'looks'}, and {symbol} = {error.remaining} is left. Give "
        f"{'' if number == 1 else 'fewer looks=, or '}a larger until=.",
        requested=error.requested,
        remaining=error.remaining,
        bought=bought,
        earlier=error._earlier,
    )


def was_stopped(part: Record) -> bool:
    """Whether answers decided how many looks its series has."""
    asked = part._query.asked
    return isinstance(asked, LookLossRequest) and asked.looks > 1


register_families(LookLossRequest)
