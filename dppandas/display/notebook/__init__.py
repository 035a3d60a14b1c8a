"""The IPython extension: the %dp magic, the live ledger, cards of answers, and cells of charges.

Only ``%load_ext dppandas`` loads it; importing dppandas alone imports nothing from here.
"""

from __future__ import annotations

import atexit
from typing import Any

from ...engines import parallel
from ...ledger.cells import attribute_to
from ...release.session import Session
from .answers import Cards
from .cells import Cells
from .guard import Guard
from .live import Live
from .magics import DpMagics, complete

_loaded: tuple[Live, Guard, Cells, Cards] | None = None


def load(shell: Any) -> None:
    """Register everything; a second call changes nothing."""
    global _loaded
    if _loaded is not None:
        return
    _loaded = live, guard, cells, cards = Live(shell), Guard(shell), Cells(shell), Cards(shell)
    cards.on()
    shell.register_magics(DpMagics(shell, live, guard))
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
    """Undo what `load` did."""
    global _loaded
    if _loaded is None:
        return
    (live, guard, cells, cards), _loaded = _loaded, None
    cards.off()
    shell.events.unregister("pre_run_cell", cells.started)
    guard.off()
    live.stop()
    atexit.unregister(live.stop)
    shell.magics_manager.magics["line"].pop("dp", None)
    for key in ("%dp", "dp"):
        shell.strdispatchers["complete_command"].strs.pop(key, None)
    shell.display_formatter.ipython_display_formatter.pop(Session, None)
    shell.events.unregister("post_run_cell", live.flush)
    attribute_to(None)
    parallel.report_to(None)
