"""Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...engines.base import Engine, ReadError
from ...engines.files.parquet import ParquetFiles
from ...engines.files.streaming import StreamingEngine
from ...errors import QueryError
from ...rows.facts.units import Unit
from .arrow_tables import kinds_of, ordered_of
from .base import Given, Own


class Files(Given):
    """Parquet files, which stay where they are: a change is noticed, and refused."""

    def __init__(
        self, paths: Sequence[str], prune: bool, columns: Sequence[str] | None = None
    ) -> None:
        try:
            self.files = ParquetFiles(paths, columns)
        except ReadError as error:
            raise QueryError(str(error)) from None
        self.prune = prune
        self.names = list(self.files.names)
        types = [self.files.types[name] for name in self.names]
        self.kinds = kinds_of(self.names, types)
        self.ordered = ordered_of(self.names, types)

    def has_types_of(self, schema: Any) -> bool:
        """Whether these are the columns of a schema, in its types."""
        return self.files.has_types_of(schema)

    def own(self) -> Own:
        return self

    def fingerprint(self, key: bytes) -> str:
        return self.files.fingerprint(key)

    def engine(self, unit: Unit, key: bytes) -> Engine:
        return StreamingEngine(self.files, unit, key, prune=self.prune)
