"""The ledger that stays live in a notebook.

Two outputs stand side by side in the cell that shows it. A widget, which the kernel updates; and
an HTML copy on a display handle, which the front end saves with the notebook. While the widget
lives, the copy is hidden; in a saved notebook without a kernel, in an export or on a web page, the
widget's place is hidden and the copy shows the last state. Nothing is fetched from anywhere.
"""

from __future__ import annotations

import threading
import time
from html import escape
from typing import Any

from IPython.display import HTML, DisplayHandle, display

from .. import views
from ..ledger import Ledger
from ..sampling import identifier

#: At most one update in this many seconds; the last state is always shown in the end.
PAUSE = 0.2

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

#: The widget's output follows the copy's. Front ends other than JupyterLab's family show both.
_EITHER_OR = """<style>
.jp-OutputArea-child:has(.dppandas-copy):has(+ .jp-OutputArea-child .dppandas-live){display:none}
.jp-OutputArea-child:has(.dppandas-copy) + .jp-OutputArea-child:not(:has(.dppandas-live))\
{display:none}
</style>"""


class View:
    """One ledger's widget and HTML copy, wherever and however often they are shown."""

    def __init__(self, ledger: Ledger) -> None:
        import ipywidgets

        self.ledger = ledger
        self._body = ipywidgets.HTML(views.html(ledger))
        self._widget = ipywidgets.VBox([self._body])
        self._widget.add_class("dppandas-live")
        self._copy = DisplayHandle(display_id=f"dppandas-{identifier()}")

    def show(self) -> None:
        self._copy.display(self._html())
        display(
            {
                WIDGET_VIEW: {
                    "version_major": 2,
                    "version_minor": 0,
                    "model_id": self._widget.model_id,
                },
                "text/html": "<span></span>",  # where widgets are unknown: nothing, not a box
                "text/plain": "",
            },
            raw=True,
        )

    def update(self) -> None:
        self._body.value = views.html(self.ledger)
        self._copy.update(self._html())

    def _html(self) -> Any:
        """HTML with a plain-text twin, as a terminal or a text export shows it."""
        content = f'{_EITHER_OR}<div class="dppandas-copy">{views.html(self.ledger)}</div>'
        return _Both.of(content, views.text(self.ledger))


class _Both(HTML):
    """HTML that is this text where HTML can't be shown."""

    _text = ""

    @classmethod
    def of(cls, html: str, text: str) -> _Both:
        both = cls(html)
        both._text = text
        return both

    def __repr__(self) -> str:
        return self._text


class Live:
    """Shows ledgers, and keeps the views of a notebook up to date from any thread."""

    def __init__(self, shell: Any) -> None:
        self.in_notebook = hasattr(shell, "kernel")
        self._views: dict[int, View] = {}
        self._stale: set[int] = set()
        self._lock = threading.Lock()
        self._pushed = 0.0
        self._timer: threading.Timer | None = None
        self._bar: DisplayHandle | None = None

    def show(self, ledger: Ledger) -> None:
        """Show a ledger here: live in a notebook, as text in a terminal."""
        if not self.in_notebook:
            print(ledger)
            return
        view = self._views.get(id(ledger))
        if view is None:
            view = self._views[id(ledger)] = View(ledger)
            ledger.observe(self._changed)
        else:
            view.update()
        view.show()

    def _changed(self, ledger: Ledger) -> None:
        with self._lock:
            self._stale.add(id(ledger))
            wait = PAUSE - (time.monotonic() - self._pushed)
            if wait > 0:
                if self._timer is None:
                    self._timer = threading.Timer(wait, self.flush)
                    self._timer.daemon = True
                    self._timer.start()
                return
        self.flush()

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
            view.ledger.unobserve(self._changed)
        self._views.clear()

    def progress(self, label: str, share: float | None) -> None:
        """Shares of work only: how many rows there are is private."""
        text = "" if share is None else f"<small>{escape(label)}: {share:.0%}</small>"
        if self._bar is None:
            self._bar = DisplayHandle()
            self._bar.display(HTML(text))
        else:
            self._bar.update(HTML(text))
        if share is None:
            self._bar = None
