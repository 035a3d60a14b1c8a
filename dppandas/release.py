"""The one door. A release is one query: charged once, answered once, noised once.

Arguments were checked before a `Query` could be made. Here the mechanism is calibrated, its exact
loss is compared with what was asked, the ledger commits the charge, and only then rows are read.
"""

from __future__ import annotations

from . import results
from .engines import Engine
from .errors import InternalError, ReleaseFailed
from .ledger import draft
from .query import Query
from .results import Record
from .rows import Chunk
from .session import session
from .statistics.base import Partial


def release(query: Query, engine: Engine, row_level_declared: bool = False) -> Record:
    """The record of the answer to a query, charged to the running session's ledger."""
    running = session()
    running.admit(query.source, row_level_declared)
    mechanism = query.mechanism()
    loss = query.loss(mechanism)
    if loss > query.epsilon:
        raise InternalError(f"the mechanism would cost {loss}, more than {query.epsilon} asked.")
    expected = results.expected_error(query, mechanism)
    source = query.source
    entry = running.ledger.charge(
        draft(source.name, source.lineage, str(query), loss, mechanism.name,
              f"{float(mechanism.scale):.6g}", expected)
    )  # fmt: skip
    integers = _integers(query, engine)
    if integers is None:
        running.ledger.settle(entry, "failed")
        # Raised here and not where it failed, so that no traceback holds a frame with rows.
        raise ReleaseFailed(
            f"reading the data for '{query}' failed. Its charge of ε = {loss} stays. The cause is "
            "not shown, for it could quote data."
        )
    record = results.record_of(query, mechanism, entry, mechanism.release(integers))
    running.ledger.settle(entry, "released")
    return record


def _integers(query: Query, engine: Engine) -> list[int] | None:
    statistic, where = query.statistic, query.where

    def kernel(chunk: Chunk) -> Partial:
        return statistic.kernel(chunk, None if where is None else where.truth(chunk))

    try:
        return engine.integers(kernel, statistic.size, query.what)
    except (KeyboardInterrupt, SystemExit) as stop:
        stopped = type(stop)
    except BaseException:
        return None
    raise stopped  # anew, for the traceback of the first holds frames with rows
