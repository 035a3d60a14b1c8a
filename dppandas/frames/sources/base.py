"""A table that is to be protected, and the data of its source."""

from __future__ import annotations

from typing import Any, Protocol

from ...engines import truncation
from ...engines.base import Engine
from ...engines.pandas import PandasEngine, SharedEngine
from ...engines.readers import Columns, TableColumns
from ...rows.facts.kinds import Schema
from ...rows.facts.units import Unit


class Given:
    """A table that is to be protected.

    names : of its columns. times : one more that holds an index of times, or None. kinds : of all,
    by their types. ordered : the columns of ordered categories. levels : the names of the index.
    attrs : where pandas keeps the token of its source; other tables keep none.
    """

    names: list[Any]
    kinds: Schema
    ordered: frozenset[Any] = frozenset()
    times: Any = None
    levels: tuple[Any, ...] = ()

    def own(self) -> Own:
        """The data as they stay, whatever happens to what was given."""
        raise NotImplementedError

    def shared(self) -> Own:
        """The data as they are, for a frame that nobody protected."""
        raise NotImplementedError

    @property
    def attrs(self) -> dict[Any, Any]:
        return {}


class Own(Protocol):
    """Data that nobody else can change, or whose changes are noticed."""

    def fingerprint(self, key: bytes) -> str:
        """Equal for equal data."""

    def engine(self, unit: Unit, key: bytes) -> Engine:
        """What reads them."""


class InMemory:
    """Columns in memory. From the first fingerprint on all are in forms of their own."""

    def __init__(self, columns: TableColumns) -> None:
        self.columns = columns

    def fingerprint(self, key: bytes) -> str:
        found = truncation.fingerprint(self.columns, key)
        if isinstance(self.columns, Columns):
            self.columns.detach()
        return found

    def engine(self, unit: Unit, key: bytes) -> Engine:
        return PandasEngine(self.columns, unit, key)


def is_of_dask(data: Any) -> bool:
    """Whether it is a DataFrame of Dask, which isn't imported for that."""
    kind = type(data)
    return kind.__module__.partition(".")[0] == "dask" and kind.__name__ == "DataFrame"


class SharedFrame(InMemory):
    """Columns of a frame that its owner may write to."""

    columns: Columns

    def engine(self, unit: Unit, key: bytes) -> Engine:
        return SharedEngine(self.columns, unit, key)
