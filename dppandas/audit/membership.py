"""Membership inference: from whom has a model learnt? An attack, beside what bounds all attacks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import LineageError, PrivateValueError, QueryError, hide_internals, quoted
from ..privacy.accounting.losses import Loss
from ..release.accuracy.expected import parse_confidence
from ..release.answers import results
from ..release.answers.records import Record
from ..release.private import Private
from ..release.session import running
from ..rows.facts.keys import SOURCE_ATTR
from .attacks import Attack, MembershipResult
from .blackbox import _need_scipy
from .events import Floats
from .loss_curve import ROUNDED
from .privacy_loss import _bound, privacy_loss

if TYPE_CHECKING:
    from .victims import Rows, Victim

#: Units that each of the two frames has at least: one for each half.
LEAST = 2


@hide_internals
def membership(
    model: Any,
    members: pd.DataFrame,
    others: pd.DataFrame,
    *,
    target: Any = None,
    plain: Any = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> MembershipResult:
    """Attack a fitted model of `dp.models`, and a plain one beside it: who was it trained on?

    The attack says "member" where the model errs by no more than a threshold. Half of both frames
    teaches it the best threshold, and the other half judges it. Its advantage is the share of the
    members that it finds less the share of the others that it takes for members: 0 for guessing.

    model : a fitted model of `dp.models`, or the results of `OLS`.
    members, others : plain frames with public rows or your own: those that the model has learnt
        from, and others of the same population, in the columns that it was fitted on. Rows with a
        missing value don't count. If it protects units of several rows, both need the unit's
        column, and a unit's rows are judged together.
    target : the column that the model predicts, if it predicts one.
    plain : the model to compare with, with scikit-learn's ``fit``; by default scikit-learn's of the
        same name and arguments, or numpy's least squares. It is fitted on the members' features,
        scaled to [-1, 1] by the model's bounds (for `PCA` and `OLS` in their own units).
    confidence : of each interval of an advantage: Clopper and Pearson's, for this model.
    seed : decides the halves. No noise is drawn from it.

    Returns a `MembershipResult`. Its ``bound`` limits the mean advantage of every attack, over
    noise and who takes part, if a coin of its own decides for each unit; of a fixed number of
    members, one takes another's place, and twice the bound holds. It is δ(0) of `dp.privacy_loss`,
    for pure ε at most (e^ε - 1)/(e^ε + 1). One fit is one draw of noise, and another attack may do
    better, so an advantage proves nothing below the bound, and refutes nothing above it.

    **Not private**: all figures are exact functions of the rows. Private frames, rows of a
    protected source and strict sessions are refused: fit on ``dp.protect(members.copy(), …)``.
    Nothing is charged. Raises `QueryError` for wrong arguments, and ImportError without scipy, or
    without scikit-learn where it is needed.

    Source: Yeom, Giacomelli, Fredrikson and Jha, "Privacy risk in machine learning", CSF 2018, for
    the attack; docs/proofs/membership.md for the bound.

    >>> import pandas as pd, dppandas as dp
    >>> rows = pd.DataFrame({"x": range(400), "y": [1, 2] * 200})
    >>> members, others = rows[::3].copy(), rows[1::3]
    >>> terms = {"bounds": (0, 400), "target_bounds": (0, 3)}
    >>> model = dp.models.OLS(members.dp["y"], members.dp[["x"]], epsilon=1, **terms).fit()
    >>> found = membership(model, members, others)
    >>> round(found.bound, 2), found.judged
    (0.39, (67, 67))
    """
    for frame, name in ((members, "members"), (others, "others")):
        _refuse_private(frame, name)
    if (session := running()) is not None and session.strict:
        raise LineageError(
            "this session is strict, and membership tells exact figures of plain rows, which can't "
            "be checked. Attack models on public rows in a session of their own."
        )
    sure = parse_confidence(confidence)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise QueryError(f"seed={quoted(seed)} must be a whole number.")
    _need_scipy()
    from .victims import Victim  # which imports all models, where others may only ask for a loss

    victim = Victim.of(model, target)
    both = victim.rows(members, "members"), victim.rows(others, "others")
    return _measured(victim, both, victim.counterpart(_checked(both, victim)[0], plain), sure, seed)


def _measured(
    victim: Victim, both: tuple[Rows, Rows], plain: Any, sure: float, seed: int
) -> MembershipResult:
    """The figures of the attack on the model, and on a plain one that is fitted."""
    halves = [_halves(rows.units, Random(seed + i)) for i, rows in enumerate(both)]

    def attacked(fitted: Any) -> Attack:
        scores = [rows.by_unit(victim.losses(fitted, rows)) for rows in both]
        pairs = list(zip(scores, halves, strict=True))
        threshold = _threshold(*(losses[half] for losses, (half, _) in pairs))
        members, others = (losses[half] for losses, (_, half) in pairs)
        return Attack.judged(threshold, members, others, sure)

    records = tuple(victim.model.releases_)
    return MembershipResult(
        model=victim.name,
        loss=sum((each.loss for each in records), Loss()).in_short,
        plain=repr(plain),
        _attack=attacked(victim.model),
        _on_plain=attacked(plain),
        bound=limit_of(records),
        confidence=sure,
        unit=victim.unit,
    )


def _refuse_private(frame: Any, name: str) -> None:
    if isinstance(frame, Private) or results.claimed(frame) is not None:
        raise PrivateValueError(
            f"{name} must be plain rows, public or your own: what an attack finds is exact, so it "
            "isn't computed of private frames or of answers."
        )
    if not isinstance(frame, pd.DataFrame):
        raise QueryError(f"{name} must be a DataFrame, not a {type(frame).__name__}.")
    if SOURCE_ATTR in frame.attrs:
        raise LineageError(
            f"the rows of {name} come from a protected source, and what an attack finds is exact. "
            "If they are public or your own, protect a copy, dp.protect(df.copy(), …), and give "
            "membership the frame that was copied."
        )


def _checked(both: tuple[Rows, Rows], victim: Victim) -> tuple[Rows, Rows]:
    """Refuse too few units, and some that are on both sides."""
    for rows, name in zip(both, ("members", "others"), strict=True):
        if rows.units < LEAST:
            raise QueryError(
                f"{name} has too few {'rows' if victim.unit is None else 'units'} without a "
                f"missing value: {LEAST} are needed, and far more to see anything."
            )
    if victim.unit is not None and {*both[0].who.tolist()} & {*both[1].who.tolist()}:
        raise QueryError(
            f"a unit of {quoted(victim.unit)} is in members and in others. Put all of its rows "
            "into one."
        )
    return both


def _halves(number: int, rng: Random) -> tuple[Any, Any]:
    """The places of two halves, chosen by a seed: rows may be in any order."""
    order = np.array(rng.sample(range(number), number))
    return order[: number // 2], order[number // 2 :]


def _threshold(members: Floats, others: Floats) -> float:
    """The loss up to which saying "member" has the largest advantage; -inf if it never has one."""
    tried = np.unique(np.concatenate([[-math.inf], members, others]))
    found, wrong = (
        np.searchsorted(np.sort(each), tried, side="right") / len(each)
        for each in (members, others)
    )
    return float(tried[int(np.argmax(found - wrong))])


def limit_of(records: Iterable[Record]) -> float:
    """The largest advantage that anything computed from these releases can have: their total
    variation between neighbours, rounded up.

    It is no more than δ(0) of their whole loss; than the sum of each one's; and, for ρ, than √(ρ/2)
    and √(1 - e^-ρ), because the divergence of Kullback and Leibler is at most ρ.
    """
    releases = [each for each in records if each.loss.epsilon or each.loss.delta or each.loss.rho]
    whole = sum((each.loss for each in releases), Loss())
    known = [1.0, math.fsum(privacy_loss(each).delta(0) for each in releases) * ROUNDED]
    if whole.rho and not (whole.epsilon or whole.delta):
        rho = float(whole.rho)
        known += [math.sqrt(rho / 2) * ROUNDED, math.sqrt(-math.expm1(-rho)) * ROUNDED]
    if releases and not (whole.rho and (whole.epsilon or whole.delta)):
        known.append(_bound("all releases", whole, "together").delta(0))
    return min(known)
