"""What respondents have lost by randomised responses: a list apart from every session's ledger.

The ledger counts what answers about a table cost each unit of it, and its holder is trusted. A
randomised response costs its respondent, whoever holds it; the two are never added up.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from ..errors import QueryError, hide_internals, quoted
from ..privacy.accounting.losses import Epsilon


@dataclass(frozen=True)
class LocalLoss:
    """One question: who was asked, what, how, at which loss of each, how many, and when."""

    group: str
    what: str
    design: str
    epsilon: Epsilon
    respondents: int
    when: float


_NOTED: list[LocalLoss] = []


def group_name(group: object) -> str:
    if group is None:
        return ""
    if not isinstance(group, str):
        raise QueryError(
            f'group={quoted(group)} must be a text that names the respondents, such as "students".'
        )
    return str(group)


def note(group: str, what: object, design: str, epsilon: Epsilon, respondents: int) -> None:
    """Written down before any answer is read."""
    said = "" if what is None else str(what)
    _NOTED.append(LocalLoss(group, said, design, epsilon, respondents, time.time()))


@hide_internals
def losses() -> pd.DataFrame:
    """What the respondents of this process have lost: a DataFrame, a row a question.

    Columns: ``group`` (as named by ``group=``), ``what`` (the name of the Series), ``design``,
    ``epsilon`` (the loss of each respondent), ``respondents`` (how many responded), ``total`` (what
    a respondent of this group has lost so far who answered every question put to it; losses of one
    person add up) and ``when``.

    Groups of different names are taken for different people, on the caller's word, and those
    without a name for one group. Nothing here is in ``dp.ledger()``, and nothing resets it: what
    has been said can't be taken back. It is kept in this process alone, and knows only what was
    asked here.

    *Guarantee*: ``total``-local differential privacy of each respondent of the group, for all of
    these responses together (basic composition: Dwork and Roth, Theorem 3.16).
    """
    totals: dict[str, Fraction] = {}
    rows: list[tuple[Any, ...]] = []
    for each in list(_NOTED):
        total = totals.get(each.group, Fraction(0)) + each.epsilon
        totals[each.group] = total
        when = pd.Timestamp(each.when, unit="s")
        loss = float(each.epsilon), each.respondents, float(total)
        rows.append((each.group, each.what, each.design, *loss, when))
    columns = ["group", "what", "design", "epsilon", "respondents", "total", "when"]
    types: Any = {
        "epsilon": float,
        "respondents": "int64",
        "total": float,
        "when": "datetime64[ns]",
    }
    return pd.DataFrame(rows, columns=columns).astype(types)
