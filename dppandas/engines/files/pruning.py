"""Row groups that can't hold a row that a filter keeps, by the least and largest value that their
file says. What is skipped would have added nothing; but time then depends on the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import ge, gt, le, lt
from typing import Any

from ...rows.expressions import And, Column, Compare, Expression, Literal, Or
from .parquet import ParquetFiles, Piece

#: The range of some columns in a row group.
Range = Callable[[Any], tuple[Any, Any] | None]

#: Whether a value that compares so with a number can lie between two others.
_CAN: dict[str, Callable[[Any, Any, Any], bool]] = {
    "==": lambda low, high, x: low <= x <= high,
    "<": lambda low, high, x: lt(low, x),
    "<=": lambda low, high, x: le(low, x),
    ">": lambda low, high, x: gt(high, x),
    ">=": lambda low, high, x: ge(high, x),
}
_FLIPPED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def possible(files: ParquetFiles, pieces: Sequence[Piece], where: Expression | None) -> list[Piece]:
    """The pieces that may hold rows that the filter keeps; each of one row group."""
    from pyarrow import parquet

    if where is None:
        return list(pieces)
    found: list[Piece] = []
    metas = {piece.file: parquet.read_metadata(files.files[piece.file].path) for piece in pieces}
    for number in metas:  # what is skipped is not read, so not compared again
        files.files[number].check()
    for piece in pieces:
        first = piece.first
        for group in piece.groups:
            meta = metas[piece.file].row_group(group)
            if may_keep(where, ranges(files, meta)):
                part = replace(piece, groups=(group,), first=first, rows=meta.num_rows)
                found.append(part)
            first += meta.num_rows
    return found


def may_keep(where: Expression, of: Range) -> bool:
    """Whether a filter may keep a row whose columns lie in these ranges."""
    if type(where) is And:
        return may_keep(where.left, of) and may_keep(where.right, of)
    if type(where) is Or:
        return may_keep(where.left, of) or may_keep(where.right, of)
    if type(where) is not Compare:
        return True
    operation, column, value = where.operation, where.left, where.right
    if type(column) is Literal:
        operation, column, value = _FLIPPED.get(operation, ""), value, column
    if operation not in _CAN or type(column) is not Column or type(value) is not Literal:
        return True
    known, x = of(column.name), value.value
    if known is None or type(x) not in (int, float) or x != x:
        return True
    return _CAN[operation](*known, x)


def ranges(files: ParquetFiles, meta: Any) -> Range:
    """The ranges of columns of plain numbers. A NaN, which no comparison keeps, lies in none."""
    from pyarrow import types

    # a column `a.b` has the path of the field b of a struct a
    columns = [meta.column(i) for i in range(meta.num_columns)]
    times = Counter(column.path_in_schema for column in columns)
    by_path = {c.path_in_schema: c for c in columns if times[c.path_in_schema] == 1}

    def of(name: Any) -> tuple[Any, Any] | None:
        kind = files.types[name]
        is_plain = types.is_signed_integer(kind) or types.is_float32(kind) or types.is_float64(kind)
        if not is_plain or name not in by_path:
            return None
        facts = by_path[name].statistics
        if facts is None or not facts.has_min_max:
            return None
        low, high = facts.min, facts.max
        return (low, high) if low <= high else None

    return of
