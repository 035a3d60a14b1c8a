"""DataFrames of Dask, on threads, processes, or a distributed cluster."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..arrow_types import frame_of_nothing
from ..base import ReadError
from ..progress import Pass
from ..readers import Columns
from ..sharing import frame_to_deal
from .cluster import ClusterEngine
from .work import Failed, Work, bucket, joined, unlogged, version

#: How many partial answers are joined at once.
JOINED = 8
#: The column that says which partition a row goes to. No column of a source has this name.
BUCKET = "__dppandas_together__"


class DaskEngine(ClusterEngine):
    """A DataFrame of Dask. Each question is a graph of its own, which the user's scheduler runs."""

    library = "Dask"
    way = (
        "Leave it out with frame.drop(columns=…) before dp.protect, or read it with another dtype."
    )
    _keeps_all = False

    def leaves_process(self) -> bool:
        import dask.local
        import dask.threaded

        return _scheduler() not in (dask.threaded.get, dask.local.get_sync)

    def version_there(self) -> str:
        from dask.delayed import delayed

        return str(delayed(version, pure=False)().compute())

    def types_of(self, names: list[Any]) -> list[Any]:
        return list(self.rows._meta[names].dtypes)

    def run_with_nothing(self, work: Work, names: list[Any]) -> bytes:
        """Two partitions of what Dask says that the rows look like."""
        import dask
        import dask.dataframe as dd

        rows = frame_of_nothing(self.rows._meta[names])
        with dask.config.set({"dataframe.convert-string": False}):
            parts = dd.from_pandas(rows, npartitions=2, sort=False)
        nothing = DaskEngine(parts, tuple(names), self.unit, self.key)
        nothing._keeps_all = True
        return nothing.run(work, names, "types")

    def run(self, work: Work, names: list[Any], label: str) -> bytes:
        from dask.delayed import delayed

        told = pickle.dumps(work)
        one = delayed(partial(_partial, told), pure=False)
        leaves = [one(part) for part in self._together(work, names).to_delayed()]
        parts = leaves
        join = delayed(joined, pure=False)
        while len(parts) > 1:
            parts = [join(parts[i : i + JOINED]) for i in range(0, len(parts), JOINED)]
        (root,) = parts
        client = getattr(_scheduler(), "__self__", None)
        try:
            if client is None:
                return _computed(root)
            return unlogged(lambda: _computed_there(client, root, leaves))
        except ReadError:
            raise
        except Exception as error:
            raise ReadError(f"the graph of Dask failed{Failed.of(error)}") from None

    def _together(self, work: Work, names: list[Any]) -> Any:
        """Some columns of all partitions, with the rows of a unit in one of them."""
        found = self.rows[names]
        if not work.whole:
            return found
        number = found.npartitions
        dealt = partial(_dealt, unit=work.unit.column, number=number, keeps_all=self._keeps_all)
        meta = dealt(found._meta)
        shuffled = found.map_partitions(dealt, meta=meta).shuffle(
            BUCKET, npartitions=number, shuffle_method=_method(meta)
        )
        return shuffled[names]


def _dealt(frame: pd.DataFrame, unit: Any, number: int, keeps_all: bool = False) -> pd.DataFrame:
    """The rows that have a unit, and where they go; with ``keeps_all`` the others go somewhere."""
    where = bucket(Columns(frame), unit, number)
    if keeps_all:
        where[:] = np.maximum(where, 0)
    # a new frame of the same columns: pandas would keep the index, whose values may be private
    found = frame_to_deal(frame).assign(**{BUCKET: where}).reset_index(drop=True)
    return found[found[BUCKET] >= 0]


def _method(meta: pd.DataFrame) -> str | None:
    """How Dask shuffles: by its own choice, but on threads without files, and without Arrow if
    cells may be anything."""
    has_objects = any(dtype.kind == "O" for dtype in meta.dtypes)
    is_far = getattr(_scheduler(), "__self__", None) is not None
    return None if is_far and not has_objects else "tasks"


def _partial(told: bytes, frame: pd.DataFrame) -> bytes:
    work: Work = pickle.loads(told)
    return work([Columns(frame)])


def _scheduler() -> Any:
    """The function that runs graphs here."""
    import dask
    from dask.base import get_scheduler

    return get_scheduler() or dask.threaded.get


def _computed(root: Any) -> bytes:
    """On this machine."""
    from dask.callbacks import Callback

    told = Pass()

    def finished(key: Any, result: Any, graph: Any, state: Any, worker: Any) -> None:
        sizes = [len(state[each]) for each in ("finished", "running", "ready", "waiting")]
        told.report(sizes[0] / max(1, sum(sizes)), sizes[0])

    with Callback(posttask=finished):
        return bytes(root.compute())


def _computed_there(client: Any, root: Any, leaves: Sequence[Any]) -> bytes:
    """On a distributed cluster. Its futures are let go as they finish, so that no partial answer
    stays on a worker."""
    from distributed import wait

    last, *futures = client.compute([root, *leaves])
    pending, told = list(futures), Pass()
    try:
        while not last.done():
            with suppress(TimeoutError):
                wait(last, timeout=0.25)
            pending = [future for future in pending if not future.done()]
            done = len(leaves) - len(pending)
            told.report(done / max(1, len(leaves)), done)
        return bytes(last.result())
    except BaseException:
        client.cancel([last, *futures])
        raise
