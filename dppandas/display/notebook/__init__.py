"""The IPython extension: the %dp magic, the live ledger, cards of answers, and cells of charges.

``%load_ext dppandas`` loads it, and so does the start of a session in IPython (`load_extension`);
importing dppandas alone imports nothing from here.
"""

from __future__ import annotations

import atexit
import threading
from typing import Any, NamedTuple

from ...engines import progress
from ...ledger.cells import attribute_to, show_beside_by, unloaded
from ...release.session import Session
from .answers import Cards
from .cells import Cells
from .guard import Guard
from .live import Live
from .magics import DpMagics, complete


class _Loaded(NamedTuple):
    """What is registered, and in which shell."""

    shell: Any
    live: Live
    guard: Guard
    cells: Cells
    cards: Cards


_loaded: _Loaded | None = None
_lock = threading.Lock()


def load(shell: Any) -> None:
    """Register everything; a second call changes nothing. It serves one shell at a time: the
    latest, such as one that ``IPython.embed()`` starts in another."""
    unloaded.discard(shell)
    with _lock:
        if _loaded is not None and _loaded.shell is not shell:
            _loaded.shell.extension_manager.loaded.discard(__name__.partition(".")[0])
            _undo(_loaded)
        if _loaded is None:
            _register(shell)


def _register(shell: Any) -> None:
    global _loaded
    _loaded = _Loaded(shell, Live(shell), Guard(shell), Cells(shell), Cards(shell))
    _, live, guard, cells, cards = _loaded
    cards.on()
    shell.register_magics(DpMagics(shell, live, guard))
    shell.set_hook("complete_command", complete, str_key="%dp")
    shell.set_hook("complete_command", complete, str_key="dp")
    shell.display_formatter.ipython_display_formatter.for_type(Session, live.show_session)
    shell.events.register("post_run_cell", live.flush)
    shell.events.register("pre_run_cell", cells.started)
    attribute_to(cells.now, cells.first_run)
    atexit.register(live.stop)
    if live.in_notebook:
        progress.tell_to(live.tell)
        show_beside_by(live.show_beside)


def unload(shell: Any) -> None:
    """Undo what `load` did, until somebody loads it again: a session doesn't."""
    unloaded.add(shell)
    with _lock:
        if _loaded is not None and _loaded.shell is shell:
            _undo(_loaded)


def _undo(loaded: _Loaded) -> None:
    global _loaded
    (shell, live, guard, cells, cards), _loaded = loaded, None
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
    progress.tell_to(None)
    show_beside_by(None)
