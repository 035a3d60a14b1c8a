"""A ledger's widget and its HTML copy, wherever and however often they are shown."""

from __future__ import annotations

from threading import RLock
from typing import Any

from IPython.display import HTML, DisplayHandle, display

from ...engines import progress
from ...ledger import charts, html, words
from ...ledger.ledger import Ledger
from ...ledger.snapshot import Snapshot
from ...ledger.storage.store import Entry
from ...privacy.accounting.losses import Loss
from ...privacy.sampling.entropy import identifier
from .pages import Pages
from .whatif import WhatIf

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

#: Where front ends put one output: JupyterLab, Notebook 7 and nbconvert; VS Code; Colab.
_SLOT = ":is(.jp-OutputArea-child,.output_container,#output-body>.display_data)"
#: The widget while its kernel lives. JupyterLab marks it once the kernel was restarted.
_LIVE = ".dppandas-live:not(.jupyter-widgets-disconnected)"

#: The widget's output follows the copy's. While the widget lives the copy's place is hidden, and
#: else the widget's. Where a sanitiser removes this rule, it has removed the widget too.
_EITHER_OR = f"""<style>
{_SLOT}:has(.dppandas-copy):has(+ {_SLOT} {_LIVE}){{display:none!important}}
{_SLOT}:has(.dppandas-copy) + {_SLOT}:not(:has({_LIVE})){{display:none!important}}
</style>"""

#: For the widget alone, which sends it once: what rows repeat, a head that stays, rows that stack
#: where it is narrow, a focus and arrows of dropdowns for every theme.
_CONTROLS = """SHEET<style>
.dppandas-live .dp-sheet{max-height:30em;overflow:auto;margin:4px 2px;outline-offset:1px!important}
.dppandas-live .widget-html-content{line-height:1.5}
.dppandas-live .widget-label{text-align:left}
.dppandas-live thead th{position:sticky;top:0;z-index:1;\
background:var(--jp-layout-color0,var(--vscode-editor-background,Canvas))!important}
.dppandas-live .dp-sheet tbody tr td{overflow-wrap:anywhere}
.dppandas-live select{appearance:auto!important;background-image:none!important}
[data-jp-theme-light="false"] .dppandas-live select{color-scheme:dark}
.dppandas-live :is(button,select,input,summary,.dp-sheet):focus-visible\
{outline:2px solid var(--jp-brand-color1,#1b7f79)!important;outline-offset:-2px}
</style>""".replace("SHEET", html.SHEET)


class View:
    """What is spent, what could be asked next, and the releases page by page."""

    def __init__(self, ledger: Ledger) -> None:
        import ipywidgets

        self.ledger = ledger
        self._steps = charts.Steps()
        self._head, self._bar, self._legend = (ipywidgets.HTML() for _ in range(3))
        self._what_if = WhatIf(ledger, self._draw_bar)
        self._pages = Pages(ledger)
        self._sheet = ipywidgets.HTML(_CONTROLS, layout={"display": "none"})
        parts = [
            self._sheet,
            self._head,
            self._bar,
            self._legend,
            self._what_if.box,
            self._pages.box,
        ]
        self._widget = ipywidgets.VBox(parts)
        self._widget.add_class("dppandas-live")
        #: Charges and scans are told by several threads.
        self._lock = RLock()
        self._copy = DisplayHandle(display_id=f"dppandas-{identifier()}")
        self._has_copy = False
        self._shown = self._drawn()

    def show(self) -> None:
        self._copy.display(self._shown)
        self._has_copy = True
        self.show_widget()

    def show_widget(self) -> None:
        """Show the widget alone: what isn't saved needs no copy."""
        model = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
        # a front end that doesn't know widgets shows nothing, not a box
        display({WIDGET_VIEW: model, "text/html": "<span></span>", "text/plain": ""}, raw=True)

    def update(self, saves: bool = True) -> None:
        """Show how the ledger is now. ``saves`` : also in the copy, which nobody sees meanwhile."""
        # One line: an interrupt between two would leave the lock behind, as in `store`.
        with self._lock: self._update(saves)  # noqa: E701  # fmt: skip
        if saves and self._has_copy:
            self._copy.update(self._shown)

    def tell(self) -> None:
        """Tell how far the scans are: in the widget, and never in what is saved."""
        with self._lock: self._pages.tell(progress.states(self.ledger))  # noqa: E701  # fmt: skip

    def _draw_bar(self, takes: Loss | None) -> None:
        ledger = self.ledger._snapshot()
        ghost = None if takes is None else ledger.terms.measure.first(takes)
        self._bar.value = html.framed(html.bar(ledger, ghost))

    def _update(self, saves: bool) -> None:
        if saves:
            self._shown = self._drawn()
        else:
            self._update_widget()

    def _drawn(self) -> Any:
        """Update the widget. Returns the copy: HTML, and plain text for text exports."""
        ledger, charges = self._update_widget()
        text = words.text(ledger, charges=charges[-html.PAGE :])
        return _Both(copy(ledger, self._steps, charges), text)

    def _update_widget(self) -> tuple[Snapshot, list[Entry]]:
        """Update the widget. Returns what it shows."""
        ledger = self.ledger._snapshot()
        charges = html.shown(ledger)
        self._head.value = html.framed(html.head(ledger, is_live=True))
        self._legend.value = html.framed(html.legend(ledger, self._steps))
        self._what_if.update()
        self._pages.update(ledger, charges, progress.states(self.ledger))
        return ledger, charges


def copy(ledger: Snapshot, steps: charts.Steps, charges: list[Entry]) -> str:
    """What is saved with the notebook, and seen where no kernel updates the ledger."""
    state = "" if ledger.closed else words.READ_ONLY
    drawn = html.still(ledger, steps, charges, state)
    return f'{_EITHER_OR}<div class="dppandas-copy">{drawn}</div>'


class _Both(HTML):
    """HTML, and a text for where HTML can't be shown."""

    def __init__(self, html: str, text: str) -> None:
        super().__init__(html)  # type: ignore[no-untyped-call]
        self._text = text

    def __repr__(self) -> str:
        return self._text
