"""The engine of a table whose rows are on a cluster. Kernels travel, and partial answers return."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from ...errors import QueryError
from ...rows.facts.units import Unit
from .. import per_unit as aggregates
from .. import rehearsal
from ..base import Engine, Kernel, Need, ReadError, UnitTable
from ..blocks import BLOCK
from .work import Failed, Partial, PerUnit, Work, version


class Seen:
    """What earlier scans of a source met."""

    def __init__(self) -> None:
        self.rows: int | None = None
        self.hashes: int | None = None

    def compare(self, found: Partial) -> None:
        """Refuse a scan that met other rows."""
        self.rows = found.rows if self.rows is None else self.rows
        if self.hashes is None:
            self.hashes = found.hashes
        if found.rows != self.rows or found.hashes not in (None, self.hashes):
            raise ReadError(
                "the rows aren't those that an earlier question met. Write them to files, and "
                "protect what is read from these."
            )


class ClusterEngine(ABC):
    """A table on a cluster, its rows truncated to the unit's max_rows where they are.

    Rows of one unit are brought together by the cluster's own shuffle, in each scan. checked :
    whether each scan compares the sum of row hashes with that of the first.
    """

    #: What the library is called, and what to write of a column whose type it can't handle.
    library: str
    way: str

    def __init__(
        self, rows: Any, columns: tuple[Any, ...], unit: Unit, key: bytes, checked: bool = False
    ) -> None:
        self.rows = rows
        self.source_columns = self.columns = columns
        self.source_unit = self.unit = unit
        self.key = key
        self.checked = checked
        self.block = BLOCK
        self._steps: tuple[PerUnit, ...] = ()
        self._seen = Seen()
        self._is_ready: list[bool] = []
        self._rehearsed: set[tuple[Need, ...]] = set()

    def check(self, needs: Sequence[Need]) -> None:
        if any(need.plain for need in needs) and self.leaves_process():
            raise QueryError(
                f"a function of your own isn't sent to the workers of {self.library}. Ask it of a "
                "DataFrame of pandas."
            )
        if not self._is_ready:
            self._check_workers()
            self._is_ready.append(True)
        for need in needs:
            self._rehearse(need)

    def _rehearse(self, need: Need) -> None:
        """Refuse types that the library or a worker can't handle, once for each need."""
        asked = (need, *(step.need for step in self._steps))
        if asked not in self._rehearsed:
            sent = self._columns_sent(need)
            types = dict(zip(sent, self.types_of(sent), strict=True))
            rehearsal.rehearse(self._try, need, types, self.library, self.way)
            self._rehearsed.add(asked)

    def _try(self, need: Need, columns: Collection[Any]) -> None:
        """Do what is needed with columns that hold nothing; with few of them, only the first step
        of the work, which is what meets their types."""
        work = self._work(rehearsal.kernel(need))
        whole = {*self._columns_sent(need)} <= {*columns}
        if not whole:
            work = replace(work, steps=())
        names = [n for n in self.source_columns if n in columns or n == work.unit.column]
        try:
            found = pickle.loads(self.run_with_nothing(work, names))
            if isinstance(found, Failed):
                raise ReadError(f"a worker of {self.library} failed{found}")
        except ReadError as error:
            if str(error).endswith(str(Failed(""))):  # no machine did
                raise TypeError("a type that can't be handled") from None
            raise

    def _check_workers(self) -> None:
        """Refuse workers that can't run what is sent to them, by a job of one row."""
        try:
            found = self.version_there()
        except Exception:
            raise ReadError(
                f"a job of one row fails on {self.library}. Its workers need dppandas "
                f"{version()}, with numpy, pandas and pyarrow."
            ) from None
        if found != version():
            raise ReadError(
                f"the workers of {self.library} have dppandas {found}, and this is {version()}. "
                "Install the same version there."
            )

    def accumulate_rows(self, kernel: Kernel, label: str) -> Any:
        work = self._work(kernel)
        found = pickle.loads(self.run(work, self._columns_sent(kernel.need), label))
        if isinstance(found, Failed):
            raise ReadError(f"a worker of {self.library} failed{found}")
        self._seen.compare(found)
        return found.total.result()

    def _work(self, kernel: Kernel) -> Work:
        needs = [kernel.need, *(step.need for step in self._steps)]
        truncates = self.source_unit.column is not None and not self._steps
        if self._steps:  # of a unit's rows for each label max_rows are kept
            truncates = bool(self._steps[-1].table.by)
        keyed = truncates or self.checked or any(n.keyed or n.histories for n in needs)
        key = self.key if keyed else b""
        return Work(kernel, self.source_unit, key, self._steps, self.checked, self.block)

    def _columns_sent(self, need: Need) -> list[Any]:
        """The columns of the source that the work reads, in their order; truncation reads all."""
        first = self._steps[0].need if self._steps else need
        truncates = self.source_unit.column is not None and not self._steps
        if truncates or self.checked or first.histories:
            return list(self.source_columns)
        return [name for name in self.source_columns if name in first.columns]

    def per_unit(self, table: UnitTable) -> Engine:
        args = (self.rows, self.source_columns, self.source_unit, self.key, self.checked)
        made = type(self)(*args)
        step = PerUnit(table, aggregates.needed(self, table))
        made._steps = (*self._steps, step)
        made.unit = step.unit
        made.columns = table.columns
        made.block, made._seen, made._is_ready = self.block, self._seen, self._is_ready
        made._rehearsed = self._rehearsed
        return made

    @abstractmethod
    def leaves_process(self) -> bool:
        """Whether rows are read in other processes."""

    @abstractmethod
    def version_there(self) -> str:
        """The dppandas of a worker."""

    @abstractmethod
    def types_of(self, names: list[Any]) -> list[Any]:
        """The types of some columns of the source."""

    @abstractmethod
    def run_with_nothing(self, work: Work, names: list[Any]) -> bytes:
        """As `run`, with columns of the same types that hold no value of the source."""

    @abstractmethod
    def run(self, work: Work, names: list[Any], label: str) -> bytes:
        """The joined partial answers to some columns of all partitions, each of which has all rows
        of its units. What fails for good is a `ReadError`."""
