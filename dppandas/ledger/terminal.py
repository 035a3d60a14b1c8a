"""How text fits a terminal: lines no wider than it, aligned columns, colours where it has any."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import zip_longest
from typing import TextIO

from .. import errors
from ..rows.figures import decimals

#: Below this width errors and questions have lines of their own.
NARROW = 72
#: What stands where in a row; and the least that is left of a column.
_SOURCE, _LOSS, _ERROR, _QUESTION = 2, 3, 4, 5
LEAST = {_QUESTION: 24, _ERROR: 14, _SOURCE: 8}
#: How many lines errors and questions take in place of one.
_LINES = 2


def wrapped(said: str, most: int | None) -> list[str]:
    """A sentence, in as many lines as it takes."""
    return [said] if most is None else errors.wrapped(said, most)


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
    """Aligned columns, of which the first row is the head. In a terminal no line is longer than it
    is wide, and no number is cut: what doesn't fit takes another line, or is left out as a whole.
    """
    rows = _at_the_point(rows)
    if most is None:
        return _aligned([[row] for row in rows])
    beside = _aligned(_narrowed(rows, most))
    if most >= NARROW and max(map(len, beside)) <= most:
        return beside
    found = []
    above = _narrowed([row[:_ERROR] for row in rows], most)
    for line, row in zip(_aligned(above), rows, strict=True):
        parts = [
            part for each in row[_ERROR:] for part in errors.wrapped(f"  {each}", most, _LINES)
        ]
        found += [line, *parts]
    return found


def _at_the_point(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Losses that are numbers, one point below the other."""
    head, *others = ([*row] for row in rows)
    parts = [decimals(row[_LOSS].removeprefix("≈ ")) for row in others]
    if None not in parts:
        longest = max((len(part or "") for part in parts), default=0)
        for row, part in zip(others, parts, strict=True):
            row[_LOSS] += " " * (longest - len(part or ""))
        wide = max(len(row[_LOSS]) for row in (head, *others))
        for row in (head, *others):
            row[_LOSS] = row[_LOSS].rjust(wide)
    return [tuple(row) for row in (head, *others)]


def _aligned(rows: Sequence[Sequence[Sequence[str]]]) -> list[str]:
    """A line, or several, of each row."""
    lines = [line for row in rows for line in row]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(each.ljust(wide) for each, wide in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def _narrowed(rows: Sequence[tuple[str, ...]], most: int) -> list[list[tuple[str, ...]]]:
    """Shortened where they are widest, each in a line or two."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    words = [word for row in rows for each in row[_ERROR:][:1] for word in errors.wrapped(each, 1)]
    least = {**LEAST, _ERROR: max(LEAST[_ERROR], *map(len, words), 0)}
    while sum(widths) + 2 * (len(widths) - 1) > most:
        wide = [(widths[at], at) for at, end in least.items() if widths[at:] and widths[at] > end]
        if not wide:
            break
        widths[max(wide)[1]] -= 1
    return [_in_two(row, widths) for row in rows]


def _in_two(row: tuple[str, ...], widths: Sequence[int]) -> list[tuple[str, ...]]:
    """A row whose errors and question take a second line where the first one doesn't hold them."""
    cells = [
        errors.wrapped(each, wide, _LINES) if at >= _ERROR else [cut(each, wide)]
        for at, (each, wide) in enumerate(zip(row, widths, strict=True))
    ]
    return list(zip_longest(*cells, fillvalue=""))


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
        elif line.startswith(("release ", "  error (", "and ", "†", "by source")):
            line = _in(_FAINT, line)
        told.append(line)
    return "\n".join(told)


def _in(colour: str, said: str) -> str:
    return f"\x1b[{colour}m{said}\x1b[0m" if said else ""
