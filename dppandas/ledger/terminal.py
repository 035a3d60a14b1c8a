"""How text fits a terminal: lines no wider than it, aligned columns, colours where it has any."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TextIO

#: Below this width a question has a line of its own.
NARROW = 72
#: The least that is left of a column, by its place: of questions, errors and sources.
_QUESTION = 5
LEAST = {_QUESTION: 24, 4: 14, 2: 8}


def width() -> int | None:
    """The columns of the terminal that is written to; None for a file, a pipe or a notebook."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(said: str, most: int | None) -> list[str]:
    """A sentence, in as many lines as it takes."""
    return [said] if most is None else textwrap.wrap(said, most)


def head(said: str, most: int | None) -> list[str]:
    """In as many lines as it takes, broken between its parts."""
    lines: list[str] = []
    for part in said.split(" · "):
        if lines and (most is None or len(lines[-1]) + 3 + len(part) <= most):
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


def table(rows: Sequence[tuple[str, ...]], most: int | None) -> list[str]:
    """Aligned columns. In a terminal no line is longer than it is wide."""
    if most is None:
        return _aligned(rows)
    if most >= NARROW:
        return _aligned(_narrowed(rows, most))
    above = _aligned(_narrowed([row[:_QUESTION] for row in rows], most))
    below = [cut(f"  {row[_QUESTION]}", most) for row in rows]
    return [line for pair in zip(above, below, strict=True) for line in pair]


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(each.ljust(wide) for each, wide in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _narrowed(rows: Sequence[tuple[str, ...]], most: int) -> list[tuple[str, ...]]:
    """Shortened where they are widest."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > most:
        wide = [
            (widths[at], at) for at, least in LEAST.items() if widths[at:] and widths[at] > least
        ]
        if not wide:
            break
        widths[max(wide)[1]] -= 1
    return [tuple(map(cut, row, widths)) for row in rows]


def cut(said: str, most: int) -> str:
    """A text in at most so many characters."""
    return said if len(said) <= most else f"{said[: most - 1]}…"


# --- in colour ------------------------------------------------------------------------------------

_BOLD, _FAINT, _GREEN, _YELLOW, _RED = "1", "2", "32", "33", "31"
_STATES = {"nearly spent": _YELLOW, "spent: earlier answers stay free": _RED}


def has_colours(stream: TextIO) -> bool:
    """Whether colours are wanted (https://no-color.org) and can be shown."""
    is_old = os.name == "nt" and "WT_SESSION" not in os.environ
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not is_plain and not is_old


def coloured(said: str, state: str) -> str:
    """The text of a ledger in a terminal's own colours, which suit its ground."""
    colour, told = _STATES.get(state, _GREEN), []
    for i, line in enumerate(said.split("\n")):
        if i < 2 and " left" in line:
            before, dot, left = line.partition(" left")[0].rpartition(" · ")
            after = line.partition(" left")[2]
            line = f"{before}{dot}{_in(_BOLD, left + ' left')}{after}"
        elif line.startswith("["):
            filled = line.count("#")
            line = f"[{_in(colour, '#' * filled)}{_in(_FAINT, line[1 + filled : -1])}]"
        elif line.startswith(("release ", "and ", "†", "by source")):
            line = _in(_FAINT, line)
        told.append(line)
    return "\n".join(told)


def _in(colour: str, said: str) -> str:
    return f"\x1b[{colour}m{said}\x1b[0m" if said else ""
