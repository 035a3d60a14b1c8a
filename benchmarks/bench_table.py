"""Figures as a table in Markdown, which benchmarks/README.md takes as it is."""

from __future__ import annotations


def markdown(head: list[str], lines: list[list[str]]) -> str:
    """Names on the left, figures on the right."""
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(_line(cells, widths) for cells in (head, rule, *lines))


def _line(cells: list[str], widths: list[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return " | ".join(["| " + first[0].ljust(first[1]), *(c.rjust(w) for c, w in rest)]) + " |"
