"""A ledger that stays up to date in a notebook.

The cell that shows it has two outputs: a widget, which the kernel updates; and an HTML copy on a
display handle, which the front end saves with the notebook. While the widget lives, the copy is
hidden. In a saved notebook without a kernel, in an export or on a web page, the widget's place is
hidden and the copy shows the last state. Nothing is fetched from anywhere.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

from ...engines.progress import started
from ...errors import DPError, QueryError
from ...ledger.ledger import Ledger
from ...release.session import Session
from .view import View

#: Seconds between two updates, at least. A cell's end updates at once.
PAUSE = 0.2

#: The share of a processor that updates take while questions are asked, at most.
SHARE = 0.05

#: Seconds between two updates of what is saved with the notebook, which a live widget hides.
COPIES = 2.0

#: Seconds between two looks at whether another process has written to a ledger's file.
LOOK = 1.0


class Watch(threading.Thread):
    """Looks for what other processes write to the file of a ledger that is shown."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(name="dppandas watch", daemon=True)
        self._ledger = ledger
        self._over = threading.Event()

    def run(self) -> None:
        while not self._ledger._closed and not self._over.wait(LOOK):
            with suppress(DPError):  # such as a file that is gone: a release reports it
                self._ledger._poll()
        self._ledger._store.close()  # the connection of this thread

    def end(self) -> None:
        """Stop looking. It stops by itself when the session ends."""
        self._over.set()


class Updates(threading.Thread):
    """Updates a while after a change, so that many changes are shown together, and no question
    waits for that."""

    def __init__(self, update: Callable[[], None]) -> None:
        super().__init__(name="dppandas updates", daemon=True)
        self._update = update
        self._due, self._over = threading.Event(), threading.Event()

    def run(self) -> None:
        pause = PAUSE
        while self._due.wait() and not self._over.wait(pause):
            self._due.clear()
            begun = time.thread_time()
            with suppress(Exception):  # of one view: others, and later changes, are shown
                self._update()
            pause = max(PAUSE, (time.thread_time() - begun) / SHARE)

    def wake(self) -> None:
        """Update soon."""
        if not self._due.is_set():
            self._due.set()

    def end(self) -> None:
        """Update no more."""
        self._over.set()
        self._due.set()


class AnyView(Protocol):
    """What shows a ledger."""

    ledger: Ledger

    def update(self, saves: bool = True) -> None:
        """Show how the ledger is now. ``saves`` : also in what is saved."""

    def tell(self) -> None:
        """Tell how far the scans are."""


V = TypeVar("V", bound=AnyView)


class Views(Generic[V]):
    """Keeps the views of ledgers up to date, from any thread."""

    def __init__(self, view_of: Callable[[Ledger], V]) -> None:
        self._view_of = view_of
        self._views: dict[int, V] = {}
        self._watches: dict[int, Watch] = {}
        self._stale: set[int] = set()  # whose views are to be updated
        self._unsaved: set[int] = set()  # of which what is saved isn't yet
        self._saved = 0.0  # when it was
        self._updates: Updates | None = None

    def view(self, ledger: Ledger) -> V:
        """The view of a ledger, up to date from now on."""
        view = self._views.get(id(ledger))
        if view is not None:
            view.update()
            return view
        view = self._views[id(ledger)] = self._view_of(ledger)
        ledger._observe(self._changed)
        if ledger._store.identity and not ledger._closed:  # a file that others may write to
            ledger._poll()  # what is there now is shown already
            watch = Watch(ledger)
            if started(watch):
                self._watches[id(ledger)] = watch
        return view

    def _changed(self, ledger: Ledger) -> None:
        self._stale.add(id(ledger))
        if not PAUSE or not self._will_update():
            self.flush()

    def _will_update(self) -> bool:
        """Whether a thread updates soon. Without threads each change is shown at once."""
        if self._updates is None or not self._updates.is_alive():  # as after a fork
            updates = Updates(self._update_late)
            self._updates = updates if started(updates) else None
        if self._updates is not None:
            self._updates.wake()
        return self._updates is not None

    def _update_late(self) -> None:
        """Update in a thread, and close the connections that this opens in it."""
        stores = [view.ledger._store for view in list(self._views.values())]
        with suppress(DPError):
            self._update(saves=time.monotonic() >= self._saved + COPIES)
        for store in stores:
            store.close()
        if self._unsaved and self._updates is not None:
            self._updates.wake()

    def flush(self, *_: object) -> None:
        """Bring every view up to date, and what is saved of it."""
        self._update(saves=True)

    def _update(self, saves: bool) -> None:
        due = _taken(self._stale)
        if saves:
            due |= _taken(self._unsaved)
            self._saved = time.monotonic()
        else:
            self._unsaved |= due
        try:
            while due:
                if (key := next(iter(due))) in self._views:
                    self._views[key].update(saves)
                due.discard(key)
        finally:  # what couldn't be shown is shown with the next change
            self._stale |= due

    def stop(self) -> None:
        self.flush()
        if self._updates is not None:
            self._updates.end()
        for view in self._views.values():
            view.ledger._unobserve(self._changed)
        for watch in self._watches.values():
            watch.end()
            if watch is not threading.current_thread():
                watch.join(LOOK)
        self._views.clear()
        self._watches.clear()

    def tell(self) -> None:
        """Tell how far the scans are, in the rows of their charges."""
        for view in list(self._views.values()):
            view.tell()


def _taken(names: set[int]) -> set[int]:
    """All names, taken out one by one: another thread may add some meanwhile."""
    found = set()
    with suppress(KeyError):
        while True:
            found.add(names.pop())
    return found


class Live(Views[View]):
    """Shows ledgers in a notebook of Jupyter."""

    def __init__(self, shell: Any) -> None:
        super().__init__(View)
        self.in_notebook = hasattr(shell, "kernel")
        self._panel: Any = None

    def show(self, ledger: Ledger) -> None:
        """Show a ledger here: live in a notebook, as text in a terminal."""
        if not self.in_notebook:
            print(ledger)
            return
        self.view(ledger).show()

    def show_beside(self, ledger: Ledger) -> None:
        """Show a ledger in JupyterLab's side panel, live. One panel: another takes its place."""
        try:
            from sidecar import Sidecar
        except ImportError:
            raise QueryError(
                'side=True needs the package sidecar: pip install "dppandas[side]", also where '
                "JupyterLab runs, and reload the page. dp.ledger() shows the ledger here."
            ) from None
        view = self.view(ledger)
        if self._panel is not None:
            self._panel.close()
        self._panel = Sidecar(title="Privacy ledger")
        with self._panel:
            view.show_widget()

    def show_session(self, session: Session) -> None:
        """Show its ledger, and first why its next question would be refused."""
        if session._refusal:
            print(session._refusal)
        self.show(session.ledger)

    def stop(self) -> None:
        super().stop()
        self._panel = None  # what it shows stays, as in cells
