"""Local Parquet files of one schema: what they hold by their footers, and their rows in batches."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from inspect import signature
from io import BytesIO
from itertools import groupby
from typing import Any

from ...dataclasses import dataclass
from ...errors import QueryError, quoted
from ...rows.values import hashing
from ...rows.values.arrow import sizes
from ..arrow_types import in_known_type, is_nested
from ..base import ReadError
from .paths import each_once, no_parquet
from .texts import shared

#: Rows that a thread reads before it takes the next: whole row groups of one file.
PIECE = 2**20

#: Encodings of which Arrow makes a dictionary.
_CODED = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}
#: Bytes of other texts that are written out at once, about.
_AT_ONCE = 2**25
#: Rows that are read at once where nothing tells how long their texts are.
_FEW = 64

_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class Piece:
    """Some consecutive row groups of one file."""

    file: int
    groups: tuple[int, ...]
    first: int  # the number of their first row, among those of all files
    rows: int


@dataclass(frozen=True)
class FileState:
    """A file as it was when it was protected. Other contents have another size, time or footer."""

    path: str
    size: int
    changed: tuple[int, int]  # its contents, and what the system notes of it, in nanoseconds
    footer: str

    @classmethod
    def of(cls, path: str) -> FileState:
        try:
            facts = os.stat(path)
            with open(path, "rb") as file:
                file.seek(max(0, facts.st_size - 8))
                length = int.from_bytes(file.read(4), "little")
                file.seek(max(0, facts.st_size - 8 - length))
                footer = file.read().hex()
        except OSError as error:
            raise ReadError(f"{path} can't be read: {error.strerror}.") from None
        return cls(
            path, facts.st_size, (facts.st_mtime_ns, facts.st_ctime_ns), hashing.digest(footer, b"")
        )

    def check(self) -> None:
        """Refuse a file that isn't as it was."""
        if FileState.of(self.path) != self:
            raise ReadError(
                f"{self.path} has changed since it was protected. Ask of the new rows in a new "
                "process, as another version= on the same store; or here under another name=, "
                "which the same budget pays for."
            )


class ParquetFiles:
    """The rows of some files, one file after the other: of all columns, or of those named."""

    def __init__(self, paths: Sequence[str], columns: Sequence[str] | None = None) -> None:
        import pyarrow as pa

        self.files = tuple(map(FileState.of, each_once(paths)))
        self.pieces: list[Piece] = []
        self.rows = 0
        self.schema: Any = pa.schema([])
        self._of_bytes: list[list[tuple[str, int]]] = []  # by file: texts and bytes, and where
        for number, state in enumerate(self.files):
            self._add(number, state.path)
        self.types = dict(zip(self.schema.names, self.schema.types, strict=True))
        named = self.schema.names if columns is None else columns
        self.names = tuple(n for n in named if n in self.types and not _UNNAMED_INDEX.fullmatch(n))
        self._left_out = () if columns is None else sorted({*self.schema.names} - {*columns})

    def _add(self, number: int, path: str) -> None:
        from pyarrow import ArrowException, parquet

        try:
            with parquet.ParquetFile(path) as file:
                meta, schema, stored = file.metadata, file.schema_arrow, file.schema
        except (OSError, ArrowException):
            raise QueryError(no_parquet(path)) from None
        columns = [(stored.column(i), i) for i in range(len(stored))]
        self._of_bytes.append([(c.path, i) for c, i in columns if c.physical_type == "BYTE_ARRAY"])
        if number == 0:
            self.schema = schema
        elif difference := _difference(self.schema, schema):
            raise QueryError(
                f"{path} has another schema than {self.files[0].path}: {difference}. All files of "
                "a source need the same columns, of the same types, in the same order."
            )
        groups: list[int] = []
        rows = 0
        for group in range(meta.num_row_groups):
            groups.append(group)
            rows += meta.row_group(group).num_rows
            if rows >= PIECE or group == meta.num_row_groups - 1:
                self.pieces.append(Piece(number, tuple(groups), self.rows, rows))
                self.rows += rows
                groups, rows = [], 0

    def fingerprint(self, key: bytes) -> str:
        """Equal while no file was written, of the same columns."""
        facts = (self.files, self._left_out) if self._left_out else self.files
        return hashing.digest(repr(facts), key)

    def has_types_of(self, schema: Any) -> bool:
        """Whether another schema has the same types, whatever numbers dictionaries have: a column
        that it alone has, or has twice, isn't one of these."""
        given = dict(zip(schema.names, schema.types, strict=True))
        if len(given) < len(schema.names):
            return False
        return all(
            name in self.types
            and _decoded(self.types[name]) == _decoded(kind)
            and getattr(self.types[name], "ordered", False) == getattr(kind, "ordered", False)
            for name, kind in given.items()
        )

    def check(self) -> None:
        for state in self.files:
            state.check()

    def without_rows(self, names: Collection[Any]) -> ParquetFiles:
        """Some of the columns, with one piece that has no rows, in the types that are read."""
        found = copy(self)
        found.names = tuple(name for name in self.names if name in names)
        found.rows, found.pieces = 0, [Piece(0, (), 0, 0)]
        return found

    def _no_rows(self, names: Sequence[str], texts: Sequence[str]) -> Any:
        """A batch without rows, as the first file's reader makes it."""
        from pyarrow import RecordBatch, nulls, parquet

        with parquet.ParquetFile(self.files[0].path, read_dictionary=texts) as file:
            schema = file.read_row_groups([], columns=list(names)).schema
        return RecordBatch.from_arrays([nulls(0, kind) for kind in schema.types], schema=schema)

    def _inner_texts(self, file: int, names: Sequence[str]) -> list[str]:
        """The paths in a file of texts and bytes that are parts of cells."""
        nested = tuple(f"{name}." for name in names if is_nested(self.types[name]))
        return [path for path, _ in self._of_bytes[file] if path.startswith(nested)]

    def batches(self, piece: Piece, names: Sequence[str], rows: int) -> Iterator[Any]:
        """The named columns of a piece, so many rows at once, or fewer. Texts come as a dictionary,
        which is the form that they are read into, and so do those inside lists, structs and maps:
        written out, one cell could be larger than memory."""
        from pyarrow import ArrowException

        state = self.files[piece.file]
        state.check()
        texts = [name for name in names if _is_text(self.types[name])]
        inner = self._inner_texts(piece.file, names)
        if not piece.groups:
            nothing = _by_name(self._no_rows(names, [*texts, *inner]), names)
            yield nothing
            yield from _together(iter([nothing, nothing]), rows)  # as others come: types are tried
            return
        number = 0
        try:
            for batch in self._stored(piece, names, rows, texts, inner):
                number += batch.num_rows
                yield batch
        except (OSError, ArrowException):
            state.check()
            raise ReadError(_damaged(state.path)) from None
        state.check()
        if number != piece.rows:
            raise ReadError(_damaged(state.path))

    def _stored(
        self,
        piece: Piece,
        names: Sequence[str],
        rows: int,
        texts: Collection[str],
        inner: Collection[str],
    ) -> Iterator[Any]:
        """The batches of a piece that has row groups. How a writer encodes a group follows from its
        rows, so each encoding is read: those of which Arrow makes no dictionary, few at once."""
        from pyarrow import parquet

        path = self.files[piece.file].path
        meta = parquet.read_metadata(path)
        wanted, typed = {*texts, *inner}, {n for n in names if _is_coded(self.types[n])}
        places = [(name, i) for name, i in self._of_bytes[piece.file] if name in wanted | typed]

        def plain(group: int) -> list[int]:
            found = (i for _, i in places)
            return [i for i in found if _encodings(meta, group, i) - _CODED]

        for others, groups in groupby(piece.groups, plain):
            odd = {name for name, i in places if i in others}
            how = {"read_dictionary": sorted(wanted - odd), "pre_buffer": False, **_wide(others)}
            apart = [name for name in names if name in typed & odd]
            some: dict[str, Any] = {"columns": [name for name in names if name not in apart]}
            with parquet.ParquetFile(path, metadata=meta, **how) as file:
                # of a text that a dictionary shares inside lists, Arrow puts together no two groups
                alone = inner or others
                for each in [[group] for group in groups] if alone else [list(groups)]:
                    most = min(rows, _rows_at_once(meta, each[0], others)) if others else rows
                    found = file.iter_batches(most, row_groups=each, use_threads=False, **some)
                    if apart:
                        found = _beside(found, _untyped(path, apart, most, each))
                    found = (_by_name(batch, names) for batch in found)
                    yield from _together(found, rows) if others else found


def _is_coded(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_dictionary(kind))


def _untyped(path: str, names: Sequence[str], rows: int, groups: Sequence[int]) -> Iterator[Any]:
    """Some columns as Parquet types them. Where the types of Arrow are stored, what was a
    dictionary is read as one, whatever its encoding is."""
    from pyarrow import parquet

    with open(path, "rb") as file:
        file.seek(-8, os.SEEK_END)
        file.seek(-8 - int.from_bytes(file.read(4), "little"), os.SEEK_END)
        footer = file.read().replace(b"ARROW:schema", b"ARROW:unused")
    meta = parquet.read_metadata(BytesIO(b"PAR1" + footer))
    with parquet.ParquetFile(path, metadata=meta, pre_buffer=False, **_wide([0])) as file:
        some = {"columns": list(names), "use_threads": False}
        yield from file.iter_batches(rows, row_groups=groups, **some)


def _beside(batches: Iterator[Any], others: Iterator[Any]) -> Iterator[Any]:
    """The columns of two readers of the same rows, wherever each of them ends a batch."""
    import pyarrow as pa

    rest = None
    for batch in batches:
        parts: list[Any] = []
        missing = batch.num_rows
        while missing:
            rest = rest if rest is not None and rest.num_rows else next(others, None)
            if rest is None:  # a damaged file, whose rows are too few
                return
            parts.append(rest.slice(0, missing))
            rest = rest.slice(parts[-1].num_rows)
            missing -= parts[-1].num_rows
        more = [pa.concat_arrays(each) for each in zip(*(p.columns for p in parts), strict=True)]
        names = [*batch.schema.names, *parts[0].schema.names]
        yield pa.RecordBatch.from_arrays([*batch.columns, *more], names=names)


def _encodings(meta: Any, group: int, column: int) -> set[str]:
    return {*meta.row_group(group).column(column).encodings}


def _wide(others: Sequence[int]) -> dict[str, Any]:
    """Read texts that come written out with offsets of 64 bits, where this version of Arrow can."""
    from pyarrow import large_binary, parquet

    knows = "binary_type" in signature(parquet.ParquetFile.__init__).parameters
    return {"binary_type": large_binary()} if others and knows else {}


def _rows_at_once(meta: Any, group: int, columns: Sequence[int]) -> int:
    """How many rows of some columns to write out at once. Most encodings hold each text as a whole,
    so a column tells how much there is; DELTA_BYTE_ARRAY holds a beginning that texts share once,
    and each may be as long as all that is held."""
    total = 0
    for column in columns:
        stored = meta.row_group(group).column(column)
        is_whole = _encodings(meta, group, column) <= _CODED | {"DELTA_LENGTH_BYTE_ARRAY"}
        total += int(stored.total_uncompressed_size) * (1 if is_whole else int(stored.num_values))
    rows = int(meta.row_group(group).num_rows)
    return max(_FEW, rows * _AT_ONCE // max(total, 1))


def _together(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """The same rows in batches of at most so many, or of so many bytes: of few rows each, reading
    would take long. What they share is held once, and a cell beyond the limits not at all."""
    import pyarrow as pa

    held: list[Any] = []
    number = size = 0

    def joined() -> Any:
        columns = [
            pa.concat_arrays(parts) for parts in zip(*(each.columns for each in held), strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, names=held[0].schema.names)

    for batch in batches:
        columns = [
            shared(sizes.within(each) if is_nested(each.type) else each) for each in batch.columns
        ]
        some = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        if held and (number + some.num_rows > rows or size + some.nbytes > _AT_ONCE):
            yield joined()
            held, number, size = [], 0, 0
        held.append(some)
        number, size = number + some.num_rows, size + some.nbytes
    if held:
        yield joined()


def _damaged(path: str) -> str:
    return (
        f"{path} can't be read: it is damaged. Mend it before you ask again, for that costs again."
    )


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _by_name(batch: Any, names: Sequence[str]) -> Any:
    """The columns in the order of their names, in types that all of Arrow's functions know."""
    from pyarrow import RecordBatch

    if not {*names} <= {*batch.schema.names}:
        raise ReadError("a column can't be read by its name. Rename columns with a dot in it.")
    columns = [in_known_type(batch.column(name)) for name in names]
    return RecordBatch.from_arrays(columns, names=list(names))


def _difference(one: Any, other: Any) -> str:
    """What differs between two schemas; "" if nothing does."""
    if one.names != other.names:
        odd = {*one.names} ^ {*other.names}
        if odd:
            return f"only one of them has {', '.join(map(quoted, sorted(odd)))}"
        return "its columns come in another order"
    for name, a, b in zip(one.names, one.types, other.types, strict=True):
        if _decoded(a) != _decoded(b):
            return f"{quoted(name)} is of another type, {b} instead of {a}"
    return ""


def _decoded(kind: Any) -> Any:
    """A type without its dictionaries, also of lists and structs: how wide a dictionary's numbers
    are says how many labels the rows have."""
    if hasattr(kind, "index_type"):
        return _decoded(kind.value_type)
    fields = [kind.field(i) for i in range(kind.num_fields)]
    if not fields:
        return kind
    size = getattr(kind, "list_size", None)
    return kind.id, size, [(each.name, each.nullable, _decoded(each.type)) for each in fields]
