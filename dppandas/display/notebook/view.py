"""A ledger's widget and its HTML copy, wherever and however often they are shown."""

from __future__ import annotations

from typing import Any

from IPython.display import HTML, DisplayHandle, display

from ...ledger import charts
from ...ledger import html as views
from ...ledger.ledger import Ledger
from ...ledger.snapshot import Snapshot
from ...ledger.storage.store import Entry
from ...privacy.sampling.entropy import identifier
from .whatif import WhatIf

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

#: The widget's output follows the copy's. Front ends outside JupyterLab's family show both.
_EITHER_OR = """<style>
.jp-OutputArea-child:has(.dppandas-copy):has(+ .jp-OutputArea-child .dppandas-live){display:none}
.jp-OutputArea-child:has(.dppandas-copy) + .jp-OutputArea-child:not(:has(.dppandas-live))\
{display:none}
</style>"""

#: For the widget alone: the focus and the arrows of dropdowns are visible in every theme.
_CONTROLS = """<style>
.dppandas-live select{appearance:auto!important;background-image:none!important}
[data-jp-theme-light="false"] .dppandas-live select{color-scheme:dark}
.dppandas-live :is(button,select,input,.noUi-handle):focus-visible\
{outline:2px solid var(--jp-brand-color1,#1b7f79)!important;outline-offset:-2px}
</style>"""


class View:
    """The figures, what could be asked next, and the releases page by page."""

    def __init__(self, ledger: Ledger) -> None:
        import ipywidgets

        self.ledger = ledger
        self._steps = charts.Steps()
        self._head = ipywidgets.HTML()
        self._what_if = WhatIf(ledger)
        self._pages = Pages(ledger)
        self._widget = ipywidgets.VBox([self._head, self._what_if.box, self._pages.box])
        self._widget.add_class("dppandas-live")
        self._copy = DisplayHandle(display_id=f"dppandas-{identifier()}")
        self._shown = self._drawn()

    def show(self) -> None:
        self._copy.display(self._shown)
        model = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
        # a front end that doesn't know widgets shows nothing, not a box
        display({WIDGET_VIEW: model, "text/html": "<span></span>", "text/plain": ""}, raw=True)

    def update(self) -> None:
        self._shown = self._drawn()
        self._copy.update(self._shown)

    def _drawn(self) -> Any:
        """Update the widget. Returns the copy: HTML, and plain text for text exports."""
        ledger = self.ledger._snapshot()
        charges = ledger.charges(views.SHOWN)
        head, newest = views.head(ledger, self._steps), views.releases(ledger, charges)
        self._head.value = _CONTROLS + views.styled(head)
        self._what_if.update()
        self._pages.update(ledger, charges, newest)
        copy = views.still(ledger, head, newest, len(charges))
        content = f'{_EITHER_OR}<div class="dppandas-copy">{copy}</div>'
        return _Both(content, views.text(ledger, charges=charges))


class Pages:
    """The newest releases, and buttons that lead to the others."""

    def __init__(self, ledger: Ledger) -> None:
        import ipywidgets

        self._ledger = ledger
        self._end: int | None = None  # the last number shown; None follows the newest
        self._table = ipywidgets.HTML()
        self._older = ipywidgets.Button(description="older", tooltip="older releases")
        self._newer = ipywidgets.Button(description="newer", tooltip="newer releases")
        self._where = ipywidgets.HTML(layout={"margin": "0 0 0 1em"})
        self._older.on_click(lambda _: self._turn(-views.SHOWN))
        self._newer.on_click(lambda _: self._turn(views.SHOWN))
        self._bar = ipywidgets.HBox([self._older, self._newer, self._where])
        self.box = ipywidgets.VBox([self._table, self._bar])

    def update(self, ledger: Snapshot, charges: list[Entry], newest: str) -> None:
        """Show the newest releases, drawn already, unless the reader is looking at others."""
        number = ledger.count
        if self._end is not None:
            charges = ledger.charges(views.SHOWN, self._end + 1)
            newest = views.releases(ledger, charges)
        self._table.value = views.framed(newest)
        self._bar.layout.display = None if number > views.SHOWN else "none"
        if charges:
            first, last = charges[0].number, charges[-1].number
            said = f"releases {first:,} to {last:,} of {number:,}"
            self._where.value = views.framed(f'<span role="status">{said}</span>')
            self._older.disabled, self._newer.disabled = first == 1, last == number

    def _turn(self, by: int) -> None:
        ledger = self._ledger._snapshot()
        end = max((self._end or ledger.count) + by, min(views.SHOWN, ledger.count))
        self._end = None if end >= ledger.count else end
        charges = ledger.charges(views.SHOWN)
        self.update(ledger, charges, views.releases(ledger, charges))


class _Both(HTML):
    """HTML, and a text for where HTML can't be shown."""

    def __init__(self, html: str, text: str) -> None:
        super().__init__(html)  # type: ignore[no-untyped-call]
        self._text = text

    def __repr__(self) -> str:
        return self._text
