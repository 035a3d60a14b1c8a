"""Which cell is running, and which number it had when it ran first."""

from __future__ import annotations

from typing import Any


class Cells:
    """The execution numbers of cells. A cell is known by its id, or without one by its text."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._running: object = None
        self._first: dict[object, int] = {}
        self._cell: dict[int, object] = {}

    def started(self, info: Any) -> None:
        """Note which cell IPython is about to run."""
        self._running = getattr(info, "cell_id", None) or hash(info.raw_cell)

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
