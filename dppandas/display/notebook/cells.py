"""Which cell is running, and which it was when it ran first."""

from __future__ import annotations

from typing import Any


class Cells:
    """Execution numbers of cells; a cell is known by its id, and without one by its text."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._running: object = None
        self._first: dict[object, int] = {}
        self._cell: dict[int, object] = {}

    def started(self, info: Any) -> None:
        """IPython is about to run a cell."""
        self._running = getattr(info, "cell_id", None) or hash(info.raw_cell)

    def now(self) -> int:
        """The number of the cell that runs."""
        # not shell.execution_count, which newer versions of IPython count up before a cell runs
        number: int = self._shell.displayhook.prompt_count
        cell = self._cell.setdefault(number, self._running)
        self._first.setdefault(cell, number)
        return number

    def first_run(self, number: int) -> int | None:
        """The number of the first run of the same cell that asked anything, if it is another."""
        first = self._first.get(self._cell.get(number))
        return None if first == number else first
