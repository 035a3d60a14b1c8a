"""What becomes of connections when the process forks, and when it ends."""

from __future__ import annotations

import atexit
import os
from contextlib import suppress

from . import connections, locks
from .locks import registry


def register() -> None:
    """From now on, close connections before a fork and at the end of the process."""
    atexit.register(_at_exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before_fork, after_in_parent=lambda: registry.release(),
            after_in_child=_in_child,
        )  # fmt: skip


def _before_fork() -> None:
    """Close every connection that is not in use at this moment: SQLite's can't be carried through
    a fork. A child that opened the file beside an inherited one would rely on locks that it doesn't
    have. Whoever needs a closed connection opens another."""
    for _ in range(connections.TRIES):
        for db in list(connections._open):
            if not db.is_closed and db.using.acquire(timeout=0.1):
                try:
                    if not db.in_transaction:
                        with registry: db._suspend()  # noqa: E701  # fmt: skip
                finally:
                    db.using.release()
        registry.acquire()
        if all(db.is_closed or db.in_transaction for db in list(connections._open)):
            return
        registry.release()
    registry.acquire()


def _in_child() -> None:
    locks.forget()
    registry.release()


def _at_exit() -> None:
    """Close every connection, of whatever thread, so that the last one tidies up. What a thread is
    using at this moment stays open, and the next to open the ledger tidies up."""
    mine = [db for db in list(connections._open) if db.process == os.getpid() and db.hold]
    for hold in {db.hold for db in mine if db.hold is not None}:
        if all(db.is_closed for db in mine if db.hold is hold):  # a fork closed them
            with suppress(Exception):
                mine.append(connections.opened(hold.path))
                mine[-1].begin()
    for db in sorted(mine, key=lambda db: not db.is_closed):
        if db.using.acquire(timeout=0.1):
            try:
                with suppress(Exception):
                    db.close()
            finally:
                db.using.release()
