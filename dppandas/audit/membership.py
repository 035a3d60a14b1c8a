"""Membership inference: from whom has a model learnt? An attack, beside what bounds all attacks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random
from typing import Any

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
from .loss_curve import ROUNDED
from .privacy_loss import _bound, privacy_loss
from .victims import Floats, Rows, Victim

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
    members that it finds less the share of the others that it takes for members: 0 for guessing,
    1 for all.

    model : a fitted model of `dp.models`, or the results of `OLS`.
    members, others : plain frames, whose rows are public or your own: those that the model has
        learnt from, and some that it hasn't, of the same population. Columns are called as in the
        private frame. Rows with a missing value don't count. If the model protects units of several
        rows, both need the unit's column, and a unit's rows are judged together.
    target : the column that the model predicts, if it predicts one.
    plain : the model to compare with, with scikit-learn's ``fit``; by default scikit-learn's of the
        same name and arguments, or numpy's least squares. It is fitted on the members' features,
        scaled to [-1, 1] by the model's bounds (for `PCA` and `OLS` in their own units).
    confidence : of each interval of an advantage.
    seed : decides the halves. No noise is drawn from it.

    Returns a `MembershipResult`: ``.advantage`` and ``.interval``, ``.advantage_of_plain`` and
    ``.interval_of_plain``, ``.bound``, ``.to_frame()``, ``.roc`` and ``.plot()``.

    ``bound`` limits the mean advantage of every attack, over noise and the choice of members, if a
    coin of its own decided for each unit whether it takes part. (Of members in a fixed number one
    takes another's place, which is two steps: twice the bound.) It is δ(0) of `dp.privacy_loss`,
    for pure ε at most (e^ε - 1)/(e^ε + 1). One fit is one draw of noise, and another attack may do
    better; so an advantage below the bound proves nothing, and one above it refutes nothing by
    itself. Intervals are Clopper and Pearson's, for this model and this threshold.

    **Not private**: all figures are exact functions of the rows. Private frames, rows of a
    protected source and strict sessions are refused: fit on ``dp.protect(members.copy(), …)``.
    Nothing is released or charged. Raises `QueryError` for other arguments, and ImportError without
    scipy, or without scikit-learn where it is needed.

    Source: Yeom, Giacomelli, Fredrikson and Jha, "Privacy risk in machine learning", CSF 2018
    (the attack; their bound e^ε - 1 is larger); docs/proofs/membership.md.

    >>> import pandas as pd, dppandas as dp
    >>> rows = pd.DataFrame({"x": range(400), "y": [1, 2] * 200})
    >>> members, others = rows[::2].copy(), rows[1::2].copy()
    >>> model = dp.models.OLS(members.dp["y"], members.dp[["x"]], epsilon=1,
    ...     bounds=(0, 400), target_bounds=(0, 3)).fit()
    >>> found = dp.audit.membership(model, members, others)
    >>> round(found.bound, 3), found.judged
    (0.463, (100, 100))
    """
    _need_scipy()
    for frame, name in ((members, "members"), (others, "others")):
        _refuse_private(frame, name)
    if (session := running()) is not None and session.strict:
        raise LineageError(
            "this session is strict, and membership tells exact figures of plain rows, which can't "
            "be checked. Attack models on public rows outside of it, in a session of their own."
        )
    sure = parse_confidence(confidence)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise QueryError(f"seed={quoted(seed)} must be a whole number.")
    victim = Victim.of(model, target)
    both = victim.rows(members, "members"), victim.rows(others, "others")
    _check_units(both, victim.unit)
    counterpart = victim.counterpart(both[0], plain)
    halves = [_halves(len({*rows.who.tolist()}), Random(seed + i)) for i, rows in enumerate(both)]

    def attacked(fitted: Any) -> Attack:
        scores = [rows.by_unit(victim.losses(fitted, rows)) for rows in both]
        learning, judged = zip(
            *((s[first], s[second]) for s, (first, second) in zip(scores, halves, strict=True)),
            strict=True,
        )
        return Attack.judged(_threshold(*learning), *judged, sure)

    records = tuple(model.releases_)
    return MembershipResult(
        victim.name,
        sum((each.loss for each in records), Loss()).in_short,
        repr(counterpart),
        attacked(model),
        attacked(counterpart),
        limit_of(records),
        sure,
        victim.unit,
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


def _check_units(both: tuple[Rows, Rows], unit: Any) -> None:
    """Refuse too few units, and some that are on both sides."""
    members, others = ({*rows.who.tolist()} for rows in both)
    for found, name in ((members, "members"), (others, "others")):
        if len(found) < LEAST:
            raise QueryError(
                f"{name} has too few {'rows' if unit is None else 'units'} without a missing value "
                f"to learn a threshold and judge it: it takes {LEAST}, and far more to see anything."
            )
    if unit is not None and members & others:
        raise QueryError(
            f"a unit of {quoted(unit)} is in members and in others. Put all of its rows into one."
        )


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
