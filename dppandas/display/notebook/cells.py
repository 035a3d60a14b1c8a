"""Which cell is running, and which number it had when it ran first."""

from __future__ import annotations

from typing import Any


class Cells:
    """The execution numbers of cells. A cell is known by its id, or without one by its text."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._running = self._loading()
        self._first: dict[object, int] = {}
        self._cell: dict[int, object] = {}

    def _loading(self) -> object:
        """The cell that loads the extension, which began before anybody could hear of it."""
        # what a front end asked of its kernel
        parent: dict[str, Any] = getattr(self._shell, "get_parent", dict)()
        history = getattr(self._shell, "history_manager", None)
        texts = getattr(history, "input_hist_raw", ())
        number = self._shell.displayhook.prompt_count
        text = texts[number] if 0 < number < len(texts) else None
        return parent.get("metadata", {}).get("cellId") or (text and hash(text))

    def started(self, info: Any) -> None:
        """Note which cell IPython is about to run."""
        cell_id = getattr(info, "cell_id", None)
        self._running = cell_id or hash(info.raw_cell.rstrip("\n"))  # as IPython's history has it

    def now(self) -> int:
        """The number of the cell that is running."""
        # not shell.execution_count, which newer versions of IPython increase before a cell runs
        number: int = self._shell.displayhook.prompt_count
        cell = self._cell.setdefault(number, self._running)
        self._first.setdefault(cell, number)
        return number

    def first_run(self, number: int) -> int | None:
        """The number of the same cell's first run that asked anything; None if it is this one."""
        first = self._first.get(self._cell.get(number))
        return None if first == number else first
