"""Limits by key: of each unit few rows of a cell count, and of few cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass
from ..errors import InternalError
from ..privacy.record_parts import RecordPart
from ..rows.facts.units import MOST_ROWS, whole_number
from ..rows.values import hashing, orders
from .layout import Cells, Kept, MostRows

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class KeyLimit(RecordPart):
    """The most rows of a unit that count in each cell, and the most cells that they count in. None
    for as many as there are."""

    rows: int | None = None
    keys: int | None = None

    @classmethod
    def parse(cls, rows: object, keys: object) -> KeyLimit | None:
        """The limit that a call gives; None for none."""
        if rows is None and keys is None:
            return None
        said = {"max_rows_per_key": rows, "max_keys": keys}
        return cls(*(
            None if value is None else whole_number(value, name, 1, MOST_ROWS)
            for name, value in said.items()
        ))  # fmt: skip

    def __str__(self) -> str:
        each = ((self.rows, "row", " a key"), (self.keys, "key", ""))
        said = [f"{n:,} {what}{'s' * (n > 1)}{of}" for n, what, of in each if n is not None]
        return f"at most {' and '.join(said)} of each unit"


@dataclass(frozen=True)
class LimitedCells(Cells):
    """Cells of keys in which few rows of each unit count.

    Of the rows of a unit that a filter keeps and that lie in a cell, those count that lie in the
    ``keys`` cells of smallest keyed hash of the unit and the cell; and of these in each cell the
    ``rows`` rows of smallest keyed hash of the source's row. So which rows of a unit count follows
    from its own rows alone (proof: docs/proofs/limits_by_key.md).

    unit : the column of the unit; None if each row is one. columns : all columns of the source's
        rows, in their order.
    """

    not_asked: ClassVar[tuple[str, ...]] = ("unit", "columns")  # they follow from the source

    limit: KeyLimit = KeyLimit()
    unit: Any = None
    columns: tuple[Any, ...] = ()

    @classmethod
    def of(cls, cells: Cells, limit: KeyLimit, unit: Any, columns: Sequence[Any]) -> LimitedCells:
        """Cells with a limit."""
        return cls(cells.by, cells.keys, cells.missing_cell, limit, unit, tuple(columns))

    @property
    def unlimited(self) -> Cells:
        """The same cells without the limit."""
        return Cells(self.by, self.keys, self.missing_cell)

    @property
    def limited(self) -> str:  # type: ignore[override]
        return str(self.limit)

    @cached_property
    def read(self) -> frozenset[Any]:  # type: ignore[override]
        return frozenset(self.columns if self.unit is None else (*self.columns, self.unit))

    def most(self, rows: int) -> MostRows:
        in_one = min(rows, self.limit.rows or rows)
        cells = min(len(self), self.limit.keys or len(self))
        together = min(rows, cells * in_one)
        full, rest = divmod(together, in_one) if in_one else (0, 0)
        return MostRows(together, in_one, full * in_one**2 + rest**2, min(together, cells))

    def counted(self, branches: Sequence[Kept]) -> Sequence[Kept]:
        first = branches[0][0]
        codes = np.concatenate([self._in_cells(*each) for each in branches])
        if first.units is None:
            raise InternalError("rows are limited in a chunk that doesn't know its rows' units.")
        units = np.tile(first.units, len(branches))
        there = np.flatnonzero((codes < len(self)) & (units >= 0))
        cells, units = codes[there], units[there]
        kept = self._of_few_keys(first, units, cells, there)
        there, units, cells = there[kept], units[kept], cells[kept]
        kept = self._few_of_each(first, units * len(self) + cells, there)
        left = np.zeros(len(codes), dtype=bool)
        left[there[kept]] = True
        masks = left.reshape(len(branches), first.rows)
        return [(chunk, mask) for (chunk, _), mask in zip(branches, masks, strict=True)]

    def _in_cells(self, chunk: Any, keep: Any) -> Places:
        codes = self.codes(chunk, keep)
        if codes is None:
            raise InternalError("rows are limited by keys where there are none.")
        return codes

    def _of_few_keys(self, chunk: Any, units: Places, cells: Places, there: Places) -> Any:
        """Which rows lie in the cells of their unit that count: those of smallest hash."""
        most = self.limit.keys
        pairs, place = np.unique(units * len(self) + cells, return_inverse=True)
        owners = pairs // len(self)
        if most is None or not _is_more(owners, most):
            return slice(None)
        names = self.columns if self.unit is None else [self.unit]
        hashes = hashing.with_number(chunk.hashed(names, b"keys")[there % chunk.rows], cells)
        # A unit has one name, and each pair so one hash. Whatever it is, the least of all depends
        # on no order.
        of_pairs = np.full(len(pairs), np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(of_pairs, place, hashes)
        return first_of_each(owners, most, [of_pairs])[place]

    def _few_of_each(self, chunk: Any, pairs: Places, there: Places) -> Any:
        """Which rows count in the cell of their unit: those of smallest hash of the source's row.
        What one row becomes is in the order of its branches, as the places are."""
        most = self.limit.rows
        if most is None or not _is_more(pairs, most):
            return slice(None)
        rows = there % chunk.rows
        # equality first, as in truncation
        equal, identical = (chunk.hashed(self.columns, b"", same)[rows] for same in (True, False))
        return first_of_each(pairs, most, [identical, equal])


def _is_more(groups: Places, most: int) -> bool:
    """Whether a group has more elements than that."""
    return bool(np.unique(groups, return_counts=True)[1].max(initial=0) > most)


def first_of_each(
    groups: Places, most: int, by: Sequence[npt.NDArray[Any]]
) -> npt.NDArray[np.bool_]:
    """Which of a group's elements are among its first ones: by the last of some arrays, then by the
    one before it, and at last by their places."""
    order = np.lexsort((*by, groups))
    kept = np.zeros(len(groups), dtype=bool)
    kept[order[orders.places(groups[order]) < most]] = True
    return kept
