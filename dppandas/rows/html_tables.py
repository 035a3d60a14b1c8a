"""Facts in a table as HTML, by inline styles alone: a notebook that isn't trusted shows it, too.
One look for all that isn't an answer: frames, columns, groups, records and previews.

Text has the colour of the page around it, so that it is read on light and on dark grounds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

#: What stands back: heads and feet.
QUIET = "opacity:.75;font-size:12px"
#: Of every cell; front ends have other ideas of borders and sides.
CELL = "border:0;padding:2px 8px;vertical-align:top;"
_RULE = "border-bottom:1px solid rgba(128,128,128,.4);font-weight:normal;"
_WRAPPED = ";white-space:normal;min-width:8em"


def card(kind: str, *parts: str) -> str:
    """Parts one under the other. What is wider than the page scrolls by itself."""
    style = "line-height:1.5;max-width:1000px;overflow-x:auto"
    inside = "".join(filter(None, parts))
    return f'<div class="dppandas-{kind}" tabindex="0" style="{style}">{inside}</div>'


def title(strong: str, rest: str = "") -> str:
    """What it is, and more of it."""
    more = f" · {escape(rest)}" if rest else ""
    return f'<div style="margin:0 8px 6px"><b>{escape(strong)}</b>{more}</div>'


def foot(said: str) -> str:
    """A remark under a table; nothing without one."""
    return f'<div style="{QUIET};margin:4px 8px">{escape(said)}</div>' if said else ""


def folded(said: str, lines: Iterable[str]) -> str:
    """A remark under a table that opens more lines."""
    more = "".join(f"<div>{escape(line)}</div>" for line in lines)
    return (
        f'<details style="{QUIET};margin:4px 8px"><summary style="cursor:pointer">{escape(said)}'
        f'</summary><div style="margin:4px 0 0 14px">{more}</div></details>'
    )


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Collection[int] = (),
    wrapped: Collection[int] = (), noisy: Collection[int] = (),
) -> str:  # fmt: skip
    """A table of texts, whose first cell heads its row.

    numbers : the places of columns that stand at the right.
    wrapped : those whose lines may break; all others stay whole.
    noisy : those that are other ones in each run, marked for tests of notebooks.
    """
    sides = [f"text-align:{'right' if i in numbers else 'left'}" for i in range(len(heads))]
    breaks = [_WRAPPED if i in wrapped else "" for i in range(len(heads))]
    styles = [f"{CELL}{side}{each}" for side, each in zip(sides, breaks, strict=True)]
    head = "".join(
        _cell(text, f"{CELL}{_RULE}{QUIET};{side}", "col")
        for text, side in zip(heads, sides, strict=True)
    )
    lines = "".join(f"<tr>{_row(row, styles, noisy)}</tr>" for row in rows)
    return (
        '<table style="border-collapse:collapse;border:0;margin:0;white-space:nowrap">'
        f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    )


def whole(text: str) -> str:
    """A text whose lines don't break after "±" and "≈"."""
    return text.replace("± ", "±\N{NO-BREAK SPACE}").replace("≈ ", "≈\N{NO-BREAK SPACE}")


def _row(row: Sequence[str], styles: Sequence[str], noisy: Collection[int]) -> str:
    return "".join(
        _cell(text, style if i else f"{style};font-weight:600", "" if i else "row", i in noisy)
        for i, (text, style) in enumerate(zip(row, styles, strict=True))
    )


def _cell(text: str, style: str, scope: str, is_noisy: bool = False) -> str:
    """A cell, or a heading of a column or row if it has a text."""
    mark = ' class="dp-noisy"' if is_noisy else ""
    text = whole(text)
    if scope and text:
        return f'<th scope="{scope}"{mark} style="{style}">{escape(text)}</th>'
    return f'<td{mark} style="{style}">{escape(text)}</td>'
