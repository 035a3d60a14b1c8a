"""The rows of each unit brought together on disk: which of them are kept, or all of them.

Rows are dealt to buckets by their unit's name, so that all rows of a unit lie in one, and each
bucket fits memory. A name is exact for whole numbers, and 128 bits of keyed hashes for other types
(docs/proofs/truncation.md says what that is worth).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...dataclasses import dataclass
from ...rows.values import hashing, orders, vectors
from ...rows.values.arrow import sizes
from ...rows.values.forms import Numbers, Vector, numbered
from .. import parallel
from ..arrow_types import is_nested
from ..blocks import RowTable
from ..readers import ArrowColumns
from .private_files import private_file, private_folder
from .texts import shared

T = TypeVar("T")
Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint64]

#: Records that are sorted at once. A bucket has about a quarter: these fit a processor's cache.
RECORDS = 2**20
#: The most buckets: open files.
MOST_BUCKETS = 256


@dataclass(frozen=True)
class KeptRows:
    """A bit for each row."""

    bits: npt.NDArray[np.uint8]

    def among(self, first: int, rows: int) -> npt.NDArray[np.intp] | None:
        """Which of some consecutive rows are kept; None for all."""
        start = first // 8
        bits = np.unpackbits(self.bits[start : (first + rows + 7) // 8], bitorder="little")
        kept = bits[first - 8 * start :][:rows]
        return None if kept.all() else np.flatnonzero(kept)


def _is_exact(engine: Any) -> bool:
    """Whether the unit's name is its number."""
    from pyarrow import types

    kind = engine.files.types[engine.unit.column]
    return bool(types.is_integer(kind) and not types.is_uint64(kind))


def _words(engine: Any) -> int:
    """Words of a record: of the unit's name, then the hash and the number of a row."""
    return 3 if _is_exact(engine) else 4


def _names(v: Vector, key: bytes, exact: bool) -> tuple[Words, npt.NDArray[np.bool_]]:
    """The name of each element as one or two words, and which elements have one."""
    if exact and isinstance(v, Numbers):
        return v.values.view(np.uint64)[:, None], ~v.null()
    there = ~v.null() if isinstance(v, Numbers) else vectors.codes_of(v) >= 0
    words = [hashing.of_elements(v, key + salt, equal=True) for salt in (b"unit 1", b"unit 2")]
    return np.stack(words, axis=1), there


def _buckets_of(names: Words, number: int) -> npt.NDArray[np.intp]:
    return (hashing.mixed(names[:, 0]) % np.uint64(number)).astype(np.intp)


def _buckets(rows: int) -> int:
    return min(MOST_BUCKETS, rows // RECORDS + 1)


# --- which rows are kept --------------------------------------------------------------------------


def kept_rows(engine: Any) -> KeptRows:
    """The max_rows rows of smallest hash of each unit, as `truncation.kept_rows` keeps them. Cells
    of one type that are equal are identical, so one hash orders the rows."""
    words, number = _words(engine), _buckets(4 * engine.files.rows)
    bits = np.zeros((engine.files.rows + 7) // 8, dtype=np.uint8)
    with private_folder() as folder:
        files = [os.fdopen(private_file(folder / str(b)), "w+b") for b in range(number)]
        locks, both = [Lock() for _ in files], Lock()
        pieces = parallel.Shared(engine.files.pieces)

        def deal(tell: parallel.Tell) -> None:
            for piece in pieces:
                at = piece.first
                for table in engine.tables(piece, engine.columns):
                    tell(0)  # often, so that an interrupt is heard soon
                    records = _records(table, engine, at)
                    bucket = _buckets_of(records, number)
                    for b, part in _dealt(bucket, records, number):
                        with locks[b]:
                            files[b].write(part.data)
                    at += len(table)
                    tell(0)

        def settle(tell: parallel.Tell) -> None:
            for file in buckets:
                rows = _least(file, words, engine.unit.max_rows)
                with both:
                    np.bitwise_or.at(bits, rows >> 3, (1 << (rows & 7)).astype(np.uint8))
                tell(0)

        try:
            engine.run(deal, len(engine.files.pieces))
            buckets = parallel.Shared(files)
            engine.run(settle, number)
        finally:
            for file in files:
                file.close()
    return KeptRows(bits)


def _records(table: RowTable, engine: Any, at: int) -> Words:
    """The record of each row that has a unit."""
    with np.errstate(all="ignore"):
        names, there = _names(table.column(engine.unit.column), engine.key, _is_exact(engine))
        columns = ((name, table.column(name)) for name in table.names)
        hashes = hashing.of_rows(columns, len(table), engine.key, equal=True)
        rows = np.arange(at, at + len(table), dtype=np.uint64)
        found = np.column_stack([names, hashes, rows])
        return found if there.all() else found[there]


def _dealt(
    bucket: npt.NDArray[np.intp], records: Array, number: int
) -> Iterator[tuple[int, Array]]:
    """The records, or the rows, of each bucket that has some."""
    if number == 1:
        yield 0, records
        return
    records = records.take(orders.by_codes(bucket), axis=0)
    ends = np.cumsum(np.bincount(bucket, minlength=number)).tolist()
    for b, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        if end > start:
            yield b, records[start:end]


def _least(file: Any, words: int, most: int) -> npt.NDArray[np.intp]:
    """The numbers of the rows that a bucket keeps, from some records at a time: however many rows
    one unit has, they fit memory."""
    file.flush()
    file.seek(0)
    kept = np.empty((0, words), dtype=np.uint64)
    while part := file.read(RECORDS * 8 * words):
        records = np.frombuffer(part, dtype=np.uint64).reshape(-1, words)
        kept = _first_of_units(np.concatenate([kept, records]), most)
    return kept[:, -1].astype(np.intp)


def _first_of_units(records: Words, most: int) -> Words:
    """The records of the smallest hashes of each unit; the first rows among equal ones."""
    *names, hashes, rows = records.T.astype(np.int64, order="C")
    groups = numbered(names[0])[0]
    for others in names[1:]:
        groups = numbered(groups * len(records) + numbered(others)[0])[0]
    large = orders.in_large(groups, most)
    kept = np.ones(len(records), dtype=bool)
    kept[large] = False
    least = orders.least(groups[large], hashes.view(np.uint64)[large], most, [rows[large].take])
    kept[large[least]] = True
    return records[kept]


# --- all rows of units ----------------------------------------------------------------------------


def by_unit(
    engine: Any,
    names: Collection[Any],
    kept: KeptRows | None,
    function: Callable[[RowTable, parallel.Tell], T],
) -> list[T]:
    """A function of tables, each of which holds all rows of its units that are kept, and some
    columns of them."""
    number, exact = _buckets(engine.files.rows), _is_exact(engine)
    wanted = [name for name in engine.columns if name in names or name == engine.unit.column]
    with private_folder() as folder:
        spill = _Spill(folder)
        pieces = parallel.Shared(engine.files.pieces)

        def deal(tell: parallel.Tell) -> None:
            for piece in pieces:
                at = piece.first
                for batch in engine.files.batches(piece, wanted, engine.block):
                    picked = None if kept is None else kept.among(at, batch.num_rows)
                    picked = np.arange(batch.num_rows) if picked is None else picked
                    at += batch.num_rows
                    tell(0)
                    unit = ArrowColumns(batch.select([engine.unit.column]).take(_array(picked)))
                    with np.errstate(all="ignore"):
                        name, there = _names(unit[engine.unit.column], engine.key, exact)
                        bucket = _buckets_of(name[there], number)
                    part = _Part(batch)
                    for b, rows in _dealt(bucket, picked[there], number):
                        spill.write(b, part.take(rows))
                    tell(0)

        def settle(tell: parallel.Tell) -> list[T]:
            found = []
            for b in buckets:
                found.append(function(RowTable(_Bucket(spill.read(b)), engine.key), tell))
                tell(0)
            return found

        try:
            engine.run(deal, len(engine.files.pieces))
            spill.close()
            buckets = parallel.Shared(sorted(spill.writers))
            parts = engine.run(settle, len(spill.writers))
        finally:
            spill.close()
    return [each for part in parts for each in part]


def _array(rows: npt.NDArray[np.intp]) -> Any:
    import pyarrow as pa

    return pa.array(rows)


class _Part:
    """A batch of which some rows are picked before anything is written out: rows of one unit may
    share a text, and be larger than memory without it."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self._beyond = [
            sizes.is_beyond(column) if is_nested(column.type) else np.zeros(len(column), bool)
            for column in batch.columns
        ]

    def take(self, rows: npt.NDArray[np.intp]) -> Any:
        """Some rows, with null in the place of cells that are surely beyond the limits. Each text
        is held once, and a dictionary holds only what these rows refer to: every part of a bucket
        has its own."""
        import pyarrow as pa

        pairs = zip(self._batch.columns, self._beyond, strict=True)
        columns = [shared(each.take(pa.array(rows, mask=beyond[rows]))) for each, beyond in pairs]
        return pa.RecordBatch.from_arrays(columns, names=self._batch.schema.names)


class _Bucket(ArrowColumns):
    """Columns whose texts are in dictionaries here alone: a caller's function sees texts."""

    def plain(self, names: Sequence[Any], rows: Any) -> pd.DataFrame:
        frame = super().plain(names, rows)
        for position, dtype in enumerate(frame.dtypes.tolist()):
            if isinstance(dtype, pd.CategoricalDtype):
                column: Any = frame.iloc[:, position]
                frame.isetitem(position, column.astype(dtype.categories.dtype))
        return frame


class _Spill:
    """Rows in files, one a bucket."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self.writers: dict[int, tuple[Any, Any]] = {}

    def write(self, bucket: int, batch: Any) -> None:
        import pyarrow as pa

        with self._lock:
            if bucket not in self.writers:
                file = os.fdopen(private_file(self._folder / str(bucket)), "wb")
                self.writers[bucket] = file, pa.ipc.new_stream(file, batch.schema)
            self.writers[bucket][1].write_batch(batch)

    def close(self) -> None:
        for file, writer in self.writers.values():
            if not file.closed:
                writer.close()
                file.close()

    def read(self, bucket: int) -> Any:
        import pyarrow as pa

        with pa.OSFile(str(self._folder / str(bucket)), "rb") as file:
            return pa.ipc.open_stream(file).read_all()
