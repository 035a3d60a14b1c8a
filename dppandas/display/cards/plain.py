"""A card as text, for terminals."""

from __future__ import annotations

from collections.abc import Sequence

from .card import Card, Row


def text(card: Card) -> str:
    """A line for each label, numbers and their errors aligned, and the foot."""
    head = [card.names, *(part for name in card.columns for part in (name, ""))]
    rows = [head, *(_parts(row, len(card.columns)) for row in card.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join([*(_line(row, widths) for row in rows), card.foot])


def _parts(row: Row | None, columns: int) -> list[str]:
    """The label, and each number and its error."""
    if row is None:
        return ["…"] * (1 + 2 * columns)
    return [row.label, *(part for cell in row.cells for part in (cell.value, cell.note))]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """A line of text: labels and errors begin alike, and numbers end alike."""
    aligned = [
        part.rjust(width) if i % 2 else part.ljust(width)
        for i, (part, width) in enumerate(zip(row, widths, strict=True))
    ]
    label, *others = aligned
    pairs = [f"{value} {error}" for value, error in zip(others[::2], others[1::2], strict=True)]
    return "  ".join([label, *pairs]).rstrip()
