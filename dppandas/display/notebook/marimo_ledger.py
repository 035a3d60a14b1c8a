"""A ledger that stays up to date in marimo.

marimo shows no stock widget, but any that brings a script of its own. This one has the HTML of the
ledger as its only state, which the script puts in its place. marimo keeps the last state for pages
that it exports, and front ends that connect again.
"""

from __future__ import annotations

import sys
from threading import RLock
from typing import Any

import ipywidgets
from traitlets import Unicode

from ...engines import progress
from ...ledger import charts, html
from ...ledger.ledger import Ledger
from .live import Views

#: Puts the HTML in its place. What was open stays open, and has the focus if it had that.
_SCRIPT = """
const name = (each) => each.textContent.replace(/[\\d,]+/g, "")
function render({ model, el }) {
  const draw = () => {
    const all = () => [...el.querySelectorAll("summary")]
    const open = new Set(all().filter((each) => each.parentElement.open).map(name))
    const focus = el.getRootNode().activeElement
    const had = focus && el.contains(focus) ? name(focus) : null
    el.innerHTML = model.get("html")
    for (const each of all()) {
      each.parentElement.open = open.has(name(each))
      if (name(each) === had) each.focus()
    }
  }
  model.on("change:html", draw)
  draw()
  return () => model.off("change:html", draw)
}
export default { render }
"""

#: In so many places a ledger is kept up to date, the newest ones.
PLACES = 20


class Shown(ipywidgets.Widget):  # type: ignore[misc]
    """The ledger in one place."""

    _esm = Unicode(_SCRIPT).tag(sync=True)
    html = Unicode().tag(sync=True)


class MarimoView:
    """A ledger, wherever it is shown."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._steps = charts.Steps()
        self._places: list[Any] = []  # marimo's elements, each with its `Shown`
        self._lock = RLock()

    def formatted(self) -> tuple[str, str]:
        """Show the ledger in one more place: what marimo takes for that."""
        marimo: Any = sys.modules["marimo"]
        element = marimo.ui.anywidget(Shown(html=self._drawn()))
        self._places = [*self._places, element][-PLACES:]
        kind, said = element._mime_()
        return kind, said

    def update(self, saves: bool = True) -> None:
        """Show how the ledger is now."""
        # One line: an interrupt between two would leave the lock behind, as in `store`.
        with self._lock: self._show(self._drawn())  # noqa: E701  # fmt: skip

    def tell(self) -> None:
        """Tell how far the scans are."""
        self.update()

    def _show(self, drawn: str) -> None:
        # a cell that runs again, or is removed, closes what it showed
        self._places = [each for each in self._places if not _is_closed(each.widget)]
        for element in self._places:
            element.widget.html = drawn

    def _drawn(self) -> str:
        ledger = self.ledger._snapshot()
        states = progress.states(self.ledger)
        return html.still(ledger, self._steps, html.shown(ledger), states=states)


def _is_closed(widget: Shown) -> bool:
    return bool(getattr(widget.comm, "_closed", False))


#: All ledgers that are shown here.
ledgers = Views(MarimoView)


def formatted(ledger: Ledger) -> tuple[str, str]:
    """A ledger that stays up to date, as marimo takes it."""
    shown = ledgers.view(ledger).formatted()
    progress.tell_to(ledgers.tell)
    return shown
