"""The IPython extension: the %dp magic, the live ledger, and cells in the ledger.

Loaded by ``%load_ext dppandas`` only; importing dppandas alone imports nothing from here.
"""

from __future__ import annotations

import atexit
from typing import Any

from ...engines import parallel
from ...ledger.ledger import attribute_to
from ...release.session import Session
from .cells import Cells
from .guard import Guard
from .live import Live
from .magics import DpMagics, complete

_live: Live | None = None
_guard: Guard | None = None
_cells: Cells | None = None


def load(shell: Any) -> None:
    """Register everything; a second call changes nothing."""
    global _live, _guard, _cells
    if _live is not None:
        return
    _live = live = Live(shell)
    _cells = cells = Cells(shell)
    _guard = Guard(shell)
    shell.register_magics(DpMagics(shell, live, _guard))
    shell.set_hook("complete_command", complete, str_key="%dp")
    shell.set_hook("complete_command", complete, str_key="dp")
    shell.display_formatter.ipython_display_formatter.for_type(
        Session, lambda session: live.show(session.ledger)
    )
    shell.events.register("post_run_cell", live.flush)
    shell.events.register("pre_run_cell", cells.started)
    attribute_to(cells.now, cells.first_run)
    atexit.register(live.stop)
    if live.in_notebook:
        parallel.report_to(live.progress)


def unload(shell: Any) -> None:
    """Take back what `load` did."""
    global _live, _guard, _cells
    if _live is None:
        return
    if _cells is not None:
        shell.events.unregister("pre_run_cell", _cells.started)
        _cells = None
    if _guard is not None:
        _guard.off()
        _guard = None
    live, _live = _live, None
    live.stop()
    atexit.unregister(live.stop)
    shell.magics_manager.magics["line"].pop("dp", None)
    for key in ("%dp", "dp"):
        shell.strdispatchers["complete_command"].strs.pop(key, None)
    shell.display_formatter.ipython_display_formatter.pop(Session, None)
    shell.events.unregister("post_run_cell", live.flush)
    attribute_to(None)
    parallel.report_to(None)
