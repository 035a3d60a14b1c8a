"""What rows know of their units, computed from all rows of a table before any is dropped."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from threading import RLock

import numpy as np

from ..rows.expressions import AGGREGATES, History
from ..rows.values.forms import Vector
from .blocks import RowTable, most_histories
from .readers import TableColumns
from .unit_groups import UnitGroups

#: How many orders of rows are remembered: many histories share one.
_MOST_GROUPS = 8


class UnitHistories:
    """The histories of the rows of some columns, each computed when it is first asked for."""

    def __init__(self, columns: TableColumns, key: bytes) -> None:
        self._columns, self._key = columns, key
        self._groups: OrderedDict[str, UnitGroups] = OrderedDict()
        self._made: OrderedDict[History, Vector] = OrderedDict()
        self._lock = RLock()

    @cached_property
    def _table(self) -> RowTable:
        """All rows, once a question asks what they know: most don't."""
        return RowTable(self._columns, self._key, histories=self)

    def column(self, history: History) -> Vector:
        """A history of all rows."""
        # One line: an interrupt between two would leave the lock behind, as in `store`.
        with self._lock: return self._once(history)  # noqa: E701  # fmt: skip

    def _once(self, history: History) -> Vector:
        if history not in self._made:
            with np.errstate(all="ignore"):
                self._make(history)
        return self._made[history]

    def _make(self, history: History) -> None:
        """Compute a history in all branches: they share the work."""
        groups, rows = self._grouped(history), len(self._table)
        if history.how in AGGREGATES:
            found = groups.broadcast(groups.aggregate(history.how, history.operand))
        else:
            found = groups.row_by_row(history.how, history.operand, **dict(history.options))
        for branch in range(history.rows.branches):
            part = found.take(slice(branch * rows, (branch + 1) * rows))
            self._made[history.in_branch(branch)] = part
        most = most_histories(rows)
        while len(self._made) > most and next(iter(self._made)).name != history.name:
            self._made.popitem(last=False)

    def _grouped(self, history: History) -> UnitGroups:
        name = history.rows.name
        if name not in self._groups:
            block = self._table.block(0, len(self._table))
            self._groups[name] = UnitGroups(block, history.rows)
            if len(self._groups) > _MOST_GROUPS:
                self._groups.popitem(last=False)
        return self._groups[name]
