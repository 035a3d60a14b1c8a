"""The notebook around a question: IPython's extension, and which cell is asking, and what that pays
for each time that it runs."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable
from typing import Any
from weakref import WeakSet, ref

from ..errors import QueryError
from ..privacy.accounting.losses import Loss
from . import marimo
from .storage.store import Entry

CellFinder = Callable[[], int | None]
#: From a cell's number to the number of its first run; None if that is the same.
FirstRun = Callable[[int], int | None]

#: The shells whose users unloaded the extension: only they load it there again.
unloaded: WeakSet[Any] = WeakSet()


def load_extension() -> None:
    """Do what ``%load_ext dppandas`` does, where IPython is running and nobody unloaded it.

    By IPython itself, so that ``%unload_ext`` knows of it. In marimo it shows answers as cards.
    Without either nothing is imported.
    """
    if marimo.RUNTIME in sys.modules and marimo.cell() is not None:
        with contextlib.suppress(Exception):  # what is only shown must not cost a session
            sys.modules[__name__.partition(".")[0]]._show_in_marimo()
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else getattr(ipython, "get_ipython", lambda: None)()
    if shell is None or shell in unloaded:
        return
    try:
        shell.extension_manager.load_extension(__name__.partition(".")[0])
    except Exception as error:  # what is only shown must not cost a session
        unloaded.add(shell)
        warnings.warn(
            f"tables are shown without errors, because the extension failed to load: {error!r}. "
            "%load_ext dppandas tries again.",
            RuntimeWarning,
            stacklevel=2,
        )


#: Shows a ledger in a panel of its own; None where there is no notebook.
_show_beside: Callable[[Any], None] | None = None


def show_beside_by(show: Callable[[Any], None] | None) -> None:
    """Let the notebook extension say how a ledger is shown beside the notebook."""
    global _show_beside
    _show_beside = show


def show_beside(ledger: Any) -> None:
    """Show a ledger beside the notebook, where there is one."""
    if _show_beside is None:
        raise QueryError(
            "side=True needs a notebook in JupyterLab, and %load_ext dppandas. dp.ledger() shows "
            "the ledger here."
        )
    _show_beside(ledger)


_current_cell: CellFinder | None = None
_first_run: FirstRun | None = None


def attribute_to(finder: CellFinder | None, first_run: FirstRun | None = None) -> None:
    """Let the notebook extension say which cell is running, and which number it had when it ran
    first. None: cells are unknown, but for marimo's."""
    global _current_cell, _first_run
    _current_cell, _first_run = finder, first_run


def current_cell() -> int | None:
    """The notebook cell that is running; None if it is unknown."""
    if _current_cell is not None:
        return _current_cell()
    found = marimo.cell() if marimo.RUNTIME in sys.modules else None
    return None if found is None else found[0]


def first_run() -> FirstRun | None:
    """What knows the numbers of first runs. marimo's cells keep theirs."""
    return _first_run


def _now() -> tuple[int, object] | None:
    """The running cell by a number that it keeps, and what tells this run of it from others."""
    if _current_cell is None:
        return marimo.cell()
    number = _current_cell()
    if number is None:
        return None
    return (_first_run and _first_run(number)) or number, number


class Reruns:
    """The questions that each run of a cell pays for, because no answer to them can be kept."""

    def __init__(self) -> None:
        #: By cell and question: the latest run, how many there were, and what they paid.
        self._paid: dict[tuple[int, str, str], tuple[Callable[[], object], int, Loss]] = {}

    def paid(self, entry: Entry) -> str:
        """Note a charge. Returns what to tell the user: "" in the first run."""
        place = None if entry.lineage == "verified" else _now()
        if place is None:
            return ""
        cell, run = place
        question = cell, entry.source, entry.what.of_any_rows
        latest, runs, paid = self._paid.get(question, (lambda: None, 0, Loss()))
        is_new = latest() is not run and latest() != run
        self._paid[question] = _held(run), runs + is_new, paid + entry.loss
        if not is_new or not runs:
            return ""
        return (  # in short lines: marimo doesn't wrap them
            f"this cell ran {runs + 1} times and paid {paid + entry.loss} in all.\n"
            f"Each run draws '{entry.what}' anew, and each move of a slider is a run:\n"
            "what pandas did to a frame isn't known. Ask the frame that dp.protect(df, name=…)\n"
            "returns, by its own methods: equal questions get the same answer again, for free."
        )


def _held(run: object) -> Callable[[], object]:
    """A run, but nothing that it holds, such as outputs."""
    return (lambda: run) if isinstance(run, int) else ref(run)
