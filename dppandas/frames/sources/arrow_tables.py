"""Tables of Arrow, and of libraries that give one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...engines.readers import ArrowColumns
from ...engines.sharing import in_shared_type, shares
from ...errors import QueryError
from ...rows.facts.kinds import Schema, of_arrow
from .base import Given, InMemory, Own


class ArrowTable(Given):
    """A table of Arrow, or of a library that gives one: its schema, and what reads it once."""

    def __init__(self, schema: Any, read: Callable[[], Any]) -> None:
        self.read = read
        self.names = list(schema.names)
        self.kinds = kinds_of(self.names, schema.types)
        self.ordered = ordered_of(self.names, schema.types)

    def own(self) -> Own:
        """A copy, for its arrays may be those of numpy."""
        import pyarrow as pa

        read = without_words(self.read, "its rows")
        columns = list(map(in_shared_type, read.columns))
        pairs = zip(self.names, read.schema.types, strict=True)
        coded = frozenset(name for name, kind in pairs if shares(kind))
        table = pa.Table.from_arrays(columns, names=self.names)
        copied = pa.BufferOutputStream()
        with pa.ipc.new_stream(copied, table.schema) as writer:
            writer.write_table(table)
        return InMemory(ArrowColumns(pa.ipc.open_stream(copied.getvalue()).read_all(), coded))


def without_words(read: Callable[[], Any], what: str) -> Any:
    """What another library reads. Its errors could quote data, so their words aren't shown."""
    try:
        return read()
    except Exception as error:
        kind = type(error).__name__
    raise QueryError(
        f"{what} can't be read ({kind}). The words of this error could quote data, so they aren't "
        "shown. Run the query by itself to see them."
    )


def kinds_of(names: Sequence[str], types: Sequence[Any]) -> Schema:
    """The kinds of a schema of Arrow, of types that can be read."""
    from pyarrow import types as tests

    for name, kind in zip(names, types, strict=True):
        if tests.is_union(kind) or tests.is_interval(kind):
            raise QueryError(
                f"column {name!r} is of Arrow's type {kind}, whose values mean nothing to "
                "dppandas. Leave it out, or convert it first."
            )
    return dict(zip(names, map(of_arrow, types), strict=True))


def ordered_of(names: Sequence[str], types: Sequence[Any]) -> frozenset[Any]:
    """The columns of ordered dictionaries, which pandas reads as ordered categories."""
    pairs = zip(names, types, strict=True)
    return frozenset(name for name, kind in pairs if getattr(kind, "ordered", False))
