"""The privacy losses of respondents, listed apart from every session's ledger.

The ledger counts what answers about a table cost each unit of it, and whoever holds the table is
trusted. A randomised response costs its respondent, whoever holds it. The two are never added up.
"""

from __future__ import annotations

import time
from dataclasses import astuple
from fractions import Fraction
from typing import Any

import pandas as pd

from ..dataclasses import dataclass
from ..errors import QueryError, hide_internals, quoted
from ..privacy.accounting.losses import Epsilon


@dataclass(frozen=True)
class LocalLoss:
    """One question: who was asked what, how, at which loss, how many responded, and when."""

    group: str
    what: str
    design: str
    epsilon: Epsilon
    respondents: int
    when: float


_NOTED: list[LocalLoss] = []


def group_name(group: object) -> str:
    """The name of a group of respondents; "" without one."""
    if group is None:
        return ""
    if not isinstance(group, str):
        raise QueryError(f'group={quoted(group)} must be a name, such as group="students".')
    return str(group)


def note(group: str, what: object, design: str, epsilon: Epsilon, respondents: int) -> None:
    """Note a question, before any answer is read."""
    said = "" if what is None else str(what)
    _NOTED.append(LocalLoss(group, said, design, epsilon, respondents, time.time()))


@hide_internals
def losses() -> pd.DataFrame:
    """What respondents have lost in this process: a DataFrame with a row for each question.

    Columns: ``group`` (as named by ``group=``), ``what`` (the name of the Series), ``design``,
    ``epsilon`` (the loss of each respondent), ``respondents`` (how many responded), ``total`` (what
    a respondent who answered every question to this group has lost so far; the losses of one person
    add up) and ``when``.

    The caller vouches that groups of different names are different people; all questions without a
    name count as one group. Nothing here is in ``dp.ledger()``, and nothing resets it: what was
    said can't be taken back. Only this process keeps the list, and only of questions asked here.

    *Guarantee*: ``total``-local differential privacy of each respondent of the group, for all of
    these responses together (basic composition: Dwork and Roth, Theorem 3.16).
    """
    totals: dict[str, Fraction] = {}
    rows: list[tuple[Any, ...]] = []
    for each in list(_NOTED):
        totals[each.group] = total = totals.get(each.group, Fraction(0)) + each.epsilon
        rows.append((*astuple(each)[:-1], float(total), pd.Timestamp(each.when, unit="s")))
    columns = ["group", "what", "design", "epsilon", "respondents", "total", "when"]
    types: Any = {
        "epsilon": float,
        "respondents": "int64",
        "total": float,
        "when": "datetime64[ns]",
    }
    return pd.DataFrame(rows, columns=columns).astype(types)
