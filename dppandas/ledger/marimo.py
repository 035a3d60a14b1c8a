"""marimo, where it runs: whether this process is its kernel, which of its cells is asking, and on
which ground it shows pictures.

Nothing here imports it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from typing import Any

#: What is imported wherever it runs a cell.
RUNTIME = "marimo._runtime.context"

#: The numbers of cells, by marimo's names of them.
_numbers: dict[str, int] = {}


def is_kernel() -> bool:
    """Whether marimo's server started this process to run a notebook. A worker that a notebook
    starts runs something else, and a fork of the kernel has another parent."""
    parent = multiprocessing.parent_process()
    runs = getattr(multiprocessing.current_process(), "_target", None)
    package = str(getattr(runs, "__module__", "")).partition(".")[0]
    return package == "marimo" and parent is not None and parent.pid == os.getppid()


def cell() -> tuple[int, object] | None:
    """The number of the cell that is running, and an object that each run has of its own."""
    try:
        context: Any = sys.modules[RUNTIME].get_context()
        run, name, names = context.execution_context, context.cell_id, list(context.graph.cells)
    except Exception:  # it isn't there, doesn't run this thread, or isn't the marimo known here
        return None
    return None if name is None else (_number(str(name), list(map(str, names))), run)


def ground() -> str | None:
    """ "light" or "dark", as its user has set; None where nobody here knows, as by "system"."""
    try:
        theme = sys.modules[RUNTIME].get_context().marimo_config["display"]["theme"]
    except Exception:  # as above
        return None
    return theme if theme in ("light", "dark") else None


def _number(name: str, names: list[str]) -> int:
    """A cell's place in the notebook, from 1, when it first asked; a free number, if another one
    had that place. So an edited cell keeps its number."""
    if name not in _numbers:
        place = names.index(name) + 1 if name in names else 1
        taken = set(_numbers.values())
        _numbers[name] = next(n for n in range(place, place + len(taken) + 1) if n not in taken)
    return _numbers[name]
