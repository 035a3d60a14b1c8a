"""The methods that ask for a statistic, and where each is offered."""

from __future__ import annotations

from collections.abc import Callable
from enum import Flag, auto
from typing import Any

from ..dataclasses import dataclass


class Offered(Flag):
    """Where a method is offered."""

    COLUMN = auto()
    FRAME = auto()
    GROUPS = auto()  # of declared keys
    FOUND_GROUPS = auto()  # of keys that are found in the data
    AGG = auto()  # beside others, of a column, a frame or groups
    PIVOT = auto()  # a pivot table, which shows one number for each group


COLUMN, FRAME, GROUPS, FOUND_GROUPS, AGG, PIVOT = Offered
#: What has one number for each column and each group.
EVERYWHERE = COLUMN | FRAME | GROUPS | FOUND_GROUPS | AGG | PIVOT


#: Methods that ask for figures of the same sums of a column; and those of them for spreads, which
#: the two sums of a mean don't tell.
OF_SUMS, SPREADS = ("count", "sum", "mean", "var", "std", "sem"), ("var", "std", "sem")


@dataclass(frozen=True)
class Method:
    """A method that asks for a statistic.

    functions : those of Python and numpy that mean the same, and can be given to `agg`.
    words : in titles, before a column and without one. Those of methods that ledgers of older
        schemas name are in the ledger, which reads them without statistics.
    """

    name: str
    offered: Offered
    functions: tuple[Callable[..., Any], ...] = ()
    words: tuple[str, str] = ("", "")
