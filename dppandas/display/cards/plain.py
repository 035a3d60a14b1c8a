"""A card as text, for terminals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap

from .card import POPULATION, Card, Cell, Row

#: Longer feet take another line.
_WIDTH = 100


def text(card: Card) -> str:
    """A line for each label, numbers and their errors aligned, and the foot."""
    names = zip(card.columns, card.has_population, strict=True)
    head = [
        card.names,
        *(part for name, has in names for part in (name, "", POPULATION if has else "")),
    ]
    decimals = card.decimals
    rows = [*[head] * any(head), *(_parts(row, decimals) for row in card.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join([*(_line(row, widths) for row in rows), *_foot(card.foot)])


def _foot(said: str) -> list[str]:
    """In lines of a terminal, that break between parts if they can."""
    lines = [""]
    for part in re.split("(?<=[;·] )", said):
        if len(lines[-1] + part.rstrip()) > _WIDTH:
            lines.append("")
        lines[-1] += part
    return [each for line in lines for each in wrap(line.strip(" ·"), _WIDTH)]


def _parts(row: Row | None, decimals: Sequence[str]) -> list[str]:
    """The label, and each number, its error, and that for the population."""
    if row is None:
        return ["…", *["…", "…", ""] * len(decimals)]
    each = zip(row.cells, decimals, strict=True)
    said = ((_aligned(cell, longest), cell.note, cell.population) for cell, longest in each)
    return [row.label, *(part for cell in said for part in cell)]


def _aligned(cell: Cell, longest: str) -> str:
    """A number with room for the decimals that others of its column have."""
    missing = 0 if cell.decimals is None else len(longest) - len(cell.decimals)
    return cell.value + " " * missing


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """A line of text: labels and errors begin alike, and numbers end alike."""
    aligned = [
        part.rjust(width) if i % 3 == 1 else part.ljust(width)
        for i, (part, width) in enumerate(zip(row, widths, strict=True))
    ]
    label, *others = aligned
    columns = zip(others[::3], others[1::3], others[2::3], strict=True)
    parts = (
        f"{value} {error}" + (f"  {population}" if population else "")
        for value, error, population in columns
    )
    return "  ".join([label, *parts]).rstrip()
