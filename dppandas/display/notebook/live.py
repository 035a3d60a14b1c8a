"""A ledger that stays up to date in a notebook.

The cell that shows it has two outputs: a widget, which the kernel updates; and an HTML copy on a
display handle, which the front end saves with the notebook. While the widget lives, the copy is
hidden. In a saved notebook without a kernel, in an export or on a web page, the widget's place is
hidden and the copy shows the last state. Nothing is fetched from anywhere.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

from ...engines.progress import started
from ...errors import DPError, QueryError
from ...ledger.ledger import Ledger
from ...release.session import Session
from .view import View

#: Seconds between two updates, at least. The last state is always shown in the end.
PAUSE = 0.2

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


class Live:
    """Shows ledgers, and keeps the views of a notebook up to date from any thread."""

    def __init__(self, shell: Any) -> None:
        self.in_notebook = hasattr(shell, "kernel")
        self._views: dict[int, View] = {}
        self._watches: dict[int, Watch] = {}
        self._stale: set[int] = set()
        self._lock = threading.Lock()
        self._pushed = 0.0
        self._timer: threading.Timer | None = None
        self._panel: Any = None

    def show(self, ledger: Ledger) -> None:
        """Show a ledger here: live in a notebook, as text in a terminal."""
        if not self.in_notebook:
            print(ledger)
            return
        self._view(ledger).show()

    def show_beside(self, ledger: Ledger) -> None:
        """Show a ledger in JupyterLab's side panel, live. One panel: another takes its place."""
        try:
            from sidecar import Sidecar
        except ImportError:
            raise QueryError(
                'side=True needs the package sidecar: pip install "dppandas[side]", also where '
                "JupyterLab runs, and reload the page. dp.ledger() shows the ledger here."
            ) from None
        view = self._view(ledger)
        if self._panel is not None:
            self._panel.close()
        self._panel = Sidecar(title="Privacy ledger")
        with self._panel:
            view.show_widget()

    def _view(self, ledger: Ledger) -> View:
        """The view of a ledger, up to date from now on."""
        view = self._views.get(id(ledger))
        if view is not None:
            view.update()
            return view
        view = self._views[id(ledger)] = View(ledger)
        ledger._observe(self._changed)
        if ledger._store.identity and not ledger._closed:  # a file that others may write to
            ledger._poll()  # what is there now is shown already
            watch = Watch(ledger)
            if started(watch):
                self._watches[id(ledger)] = watch
        return view

    def show_session(self, session: Session) -> None:
        """Show its ledger, and first why its next question would be refused."""
        if session._refusal:
            print(session._refusal)
        self.show(session.ledger)

    def _changed(self, ledger: Ledger) -> None:
        with self._lock:
            self._stale.add(id(ledger))
            wait = PAUSE - (time.monotonic() - self._pushed)
            if wait > 0 and self._will_flush(wait):
                return
        self.flush()

    def _will_flush(self, wait: float) -> bool:
        """Whether a timer flushes soon. Where none can be started, each change is shown at once."""
        if self._timer is None:
            timer = threading.Timer(wait, self._flush_late)
            timer.daemon = True
            self._timer = timer if started(timer) else None
        return self._timer is not None

    def _flush_late(self) -> None:
        """Flush in the timer's thread, and close the connections that this opens in it."""
        stores = [view.ledger._store for view in list(self._views.values())]
        with suppress(DPError):
            self.flush()
        for store in stores:
            store.close()

    def flush(self, *_: object) -> None:
        """Bring every view up to date."""
        with self._lock:
            stale, self._stale = self._stale, set()
            self._pushed = time.monotonic()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        for key in stale:
            self._views[key].update()

    def stop(self) -> None:
        self.flush()
        for view in self._views.values():
            view.ledger._unobserve(self._changed)
        for watch in self._watches.values():
            watch.end()
            if watch is not threading.current_thread():
                watch.join(LOOK)
        self._views.clear()
        self._watches.clear()
        self._panel = None  # what it shows stays, as in cells

    def tell(self) -> None:
        """Tell how far the scans are, in the rows of their charges."""
        for view in list(self._views.values()):
            view.tell()
