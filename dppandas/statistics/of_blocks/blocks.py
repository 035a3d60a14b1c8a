"""Units dealt to public blocks, and what is seen of the rows of each.

A unit lies in one block, whatever its rows hold, so that it changes what is seen of one block alone
(proof: docs/proofs/blockwise.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...errors import InternalError
from ...rows.expressions import Chunk, Expression
from ...rows.facts import kinds
from ...rows.facts.kinds import Kind
from ...rows.values import hashing
from ...rows.values.families import Cell, order
from ...rows.values.vectors import Mask
from ..base import Partial, RowPass, Statistic, with_kept
from .block_tests import LABEL, NUMBER, OBJECT, TRISTATE, TRUTH, Shown

Floats = npt.NDArray[np.float64]

#: The kinds that a column may have, by the form in which it is shown.
KINDS: dict[str, frozenset[Kind]] = {
    NUMBER: kinds.NUMBERS, TRUTH: kinds.TRUTHS, TRISTATE: kinds.TRUTHS, LABEL: kinds.LABELS,
    OBJECT: kinds.ANY,
}  # fmt: skip
#: What distinguishes the hashes that choose blocks from others with the key of a source.
SALT = b"blocks"


class InBlocks(Statistic, registered=False):
    """What is computed of each block of units.

    Without a unit column each row is one, and so are the rows that it became.

    columns_shown : what is seen. by : the columns of the source that a keyed hash chooses a row's
        block by: that of the unit, or without one those that are shown. branches : how many rows
        one row of the source becomes.
    """

    columns_shown: tuple[Shown, ...]
    blocks: int
    by: tuple[Any, ...]
    is_by_unit: bool
    branches: int

    #: Whether rows that lack a value aren't seen.
    drops_missing: ClassVar[bool] = True

    monotone = False
    keyed = True

    def moved(self, rows: int) -> int:
        """How many blocks a unit changes that has or becomes so many rows."""
        return 1 if self.is_by_unit else -(-rows // self.branches)

    def l1_sensitivity(self, rows: int) -> int:
        return self.l1 * self.moved(rows)

    def linf_sensitivity(self, rows: int) -> int:
        return self.linf * self.moved(rows)

    def expressions(self) -> tuple[Expression, ...]:
        return tuple(each.expression for each in self.columns_shown)

    def needed(self) -> list[tuple[Expression, frozenset[Kind]]]:
        return [(each.expression, KINDS[each.form]) for each in self.columns_shown]

    def columns(self) -> frozenset[Any]:
        return super().columns() | {*self.by}

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        raise InternalError("a block is seen when all its rows are there: see `read`.")

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Rows:
        """The rows that are kept, with what is seen of them in each branch."""
        width, rows = len(self.columns_shown), branches[0].rows
        values = np.full((rows, len(branches), width + 1), np.nan)
        cells: list[list[Cell]] = [[] for _ in range(width)]
        for i, (chunk, keep) in enumerate(with_kept(branches, where)):
            values[:, i, width] = 1.0
            for j, column in enumerate(self.columns_shown):
                found, more = column.read(chunk)
                values[:, i, j] = found + len(cells[j]) if more else found
                cells[j] += more
            if self.drops_missing:
                values[np.isnan(values[:, i]).any(axis=1), i] = np.nan
            if keep is not None:
                values[~keep, i] = np.nan
        there = ~np.isnan(values[:, :, width]).all(axis=1)
        return Rows(branches[0].hashed(self.by, SALT)[there], values[there], cells)

    def seen(self, row_pass: RowPass) -> Iterator[list[Any]]:
        """What is seen of each block that has rows."""
        return self._seen(row_pass(self.over_branches, RowsAccumulator))

    def _seen(self, rows: Rows) -> Iterator[list[Any]]:
        numbers = np.zeros(len(rows.hashes), np.uint64) if self.is_by_unit else rows.numbered()
        mixed = hashing.several(rows.hashes, 1)[:, 0] + numbers
        number, branches, width = rows.values.shape
        flat = rows.values.reshape(number * branches, width)
        block = np.repeat((hashing.mixed(mixed) % np.uint64(self.blocks)).astype(np.intp), branches)
        there = np.flatnonzero(~np.isnan(flat[:, -1]))
        there = there[np.argsort(block[there], kind="stable")]
        edges = np.searchsorted(block[there], np.arange(self.blocks + 1))
        for first, last in pairwise(edges.tolist()):
            if last > first:
                some = flat[there[first:last]]
                yield [
                    column.shown(some[:, j], rows.cells[j])
                    for j, column in enumerate(self.columns_shown)
                ]


@dataclass
class Rows:
    """Some rows of a source, and what is seen of the rows that each becomes.

    hashes : what chooses the block of each. values : for each row, branch and column a number, NaN
        where a value is missing; and then 1, or NaN in all columns of what isn't seen. cells : what
        the numbers of a column of objects mean.
    """

    hashes: hashing.Hashes
    values: Floats
    cells: list[list[Cell]]

    def numbered(self) -> npt.NDArray[np.uint64]:
        """A number for each row among those from which nobody can tell it: 0, 1, and so on. With
        one row more or less of these, the others keep their numbers, so their blocks. These stand
        together, in rows that are in order."""
        number = len(self.hashes)
        values = self.values.reshape(number, math.prod(self.values.shape[1:]))
        seen = np.column_stack([self.hashes.view(np.int64), values.view(np.int64)])
        is_first = np.ones(number, dtype=bool)
        is_first[1:] = (seen[1:] != seen[:-1]).any(axis=1)
        starts = np.flatnonzero(is_first)
        sizes = np.diff(np.append(starts, number))
        return (np.arange(number) - np.repeat(starts, sizes)).astype(np.uint64)

    def in_order(self) -> Rows:
        """These rows in an order that follows from what they hold, however they came."""
        values = self.values.reshape(len(self.hashes), math.prod(self.values.shape[1:]))
        by = np.lexsort([*values.T, self.hashes])
        return Rows(self.hashes[by], self.values[by], self.cells)


class RowsAccumulator:
    """Puts the rows of all chunks together."""

    def __init__(self) -> None:
        self._parts: list[Rows] = []

    def add(self, partial: Rows, rows: int) -> None:
        """The rows of one more chunk."""
        self._parts.append(partial)

    def join(self, other: RowsAccumulator) -> None:
        """The rows of another accumulator."""
        self._parts += other._parts

    def result(self) -> Rows:
        """All rows, in order. A cell has one number, whichever chunks it is in."""
        if not self._parts:
            return Rows(np.empty(0, dtype=np.uint64), np.empty((0, 1, 1)), [])
        width = len(self._parts[0].cells)
        cells = [
            sorted({cell for part in self._parts for cell in part.cells[j]}, key=order)
            for j in range(width)
        ]
        places = [{cell: place for place, cell in enumerate(each)} for each in cells]
        found = [self._placed(part, places) for part in self._parts]
        hashes = np.concatenate([part.hashes for part in self._parts])
        return Rows(hashes, np.concatenate(found), cells).in_order()

    @staticmethod
    def _placed(part: Rows, places: Sequence[dict[Cell, int]]) -> Floats:
        """The values of a part, with the places that its cells have among all."""
        values = part.values.copy()
        for j, cells in enumerate(part.cells):
            if cells:
                there = ~np.isnan(values[..., j])
                known = np.array([places[j][cell] for cell in cells], dtype=np.float64)
                values[there, j] = known[values[there, j].astype(np.intp)]
        return values
