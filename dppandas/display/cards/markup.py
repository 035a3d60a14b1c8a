"""A card as HTML, by inline styles alone: a notebook that isn't trusted shows it, too."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby, pairwise

from ...ledger.colours import TEAL
from . import provenance
from .card import POPULATION, Card, Cell, Row

#: Told from white and from the dark ground by 3 : 1 at least (docs/adr/0038-cards.md).
MARK, QUIET = TEAL, "#767676"
#: Hosts set these for each cell, so that none is inherited from the table. Of what they leave alone
#: nothing is said: 60 rows are 20 kB.
_LABEL = "padding:2px 8px;text-align:left"
_INNER = "padding:2px 8px 2px 24px;text-align:left;font-weight:normal"
_SPANNER = "padding:2px 8px;text-align:center;border-bottom:1px solid #8888"
_VALUE = "padding:2px 8px"
_NOTE = "padding:2px 8px 2px 0;text-align:left"
_HATCHED = (
    "background-image:linear-gradient(135deg,rgba(128,128,128,.25) 25%,transparent 25%,"
    "transparent 50%,rgba(128,128,128,.25) 50%,rgba(128,128,128,.25) 75%,transparent 75%);"
    "background-size:8px 8px;"
)
_MUTED = "opacity:.75;"
_FOOT = f"{_MUTED}font-size:12px;margin:4px 8px"
#: Between the ends of the axis in pixels: this makes the column of strips as wide, and less wide
#: where there is no room.
_STRIP = 120
#: How wide the line at 0 and the tick at an answer are, in percent of a strip.
_ZERO, _TICK = 0.6, 2.0
#: How opaque the intervals of the noise and of the population are.
_NOISE, _OUTER = "99", "59"


def html(card: Card, code: str = "") -> str:
    """The card: a table, and a foot that says how the errors hold. It opens what is known of the
    release, with the code that asks for it."""
    return (
        '<div class="dppandas-card"><table style="border-collapse:collapse;border:none;margin:0;'
        'text-align:right">'
        f"<thead>{_spanners(card)}<tr>{_head(card)}</tr></thead><tbody>{_rows(card)}</tbody></table>"
        f"{_with_provenance(escape(_foot(card)), card, code)}</div>"
    )


def _with_provenance(foot: str, card: Card, code: str) -> str:
    """The foot, which unfolds."""
    if card.record is None:
        return f'<div style="{_FOOT}">{foot}</div>'
    told = "".join(
        f"<div>{escape(name)}: {escape(said)}</div>"
        for name, said in provenance.facts(card.record, code)
    )
    return (
        f'<details style="{_FOOT}"><summary style="cursor:pointer">{foot}</summary>'
        f'<div style="margin:4px 0 0 14px">{told}</div></details>'
    )


def _foot(card: Card) -> str:
    hatched = any(cell.includes_zero for row in card.rows if row for cell in row.cells)
    return f"{card.foot} · hatched: the interval includes 0" if hatched else card.foot


def _spanners(card: Card) -> str:
    """Above the names of columns, what some of them have in common."""
    if not card.spanned:
        return ""
    widths, said = iter(_widths(card)), ["<td></td>"]
    for outer, columns in groupby(card.spanned, lambda each: each.outer):
        wide = sum(next(widths) for _ in columns)
        said.append(_named(outer, _SPANNER, wide, "colgroup"))
    return f"<tr>{''.join(said)}</tr>"


def _widths(card: Card) -> list[int]:
    """How many cells each column has."""
    return [(1 if card.is_under else 2) + has for has in card.has_population]


def _head(card: Card) -> str:
    heads = [each.inner for each in card.spanned] or card.columns
    wide, columns = 1 if card.is_under else 2, zip(heads, card.has_population, strict=True)
    names = _named(card.names, _LABEL, 1) + "".join(
        _named(name, _VALUE, wide) + (_cell(POPULATION, _MUTED + _NOTE) if has else "")
        for name, has in columns
    )
    return names if card.axis is None else names + _ends(*card.axis.ends)


def _ends(low: str, high: str) -> str:
    """The ends of the axis, drawn as quotation marks, which copies of the table don't have."""
    style = f"quotes:'{_unbroken(low)} ' '{_unbroken(high)}';word-spacing:{_STRIP}px"
    return (
        f'<td style="{_MUTED}padding:2px 0;font-size:11px"><q style="{escape(style, False)}"></q>'
        "</td>"
    )


def _named(name: str, style: str, wide: int, scope: str = "col") -> str:
    """The head of a column; no heading where it has no name."""
    across = f' colspan="{wide}"' if wide > 1 else ""
    if not name:
        return f"<td{across}></td>"
    return f'<th scope="{scope}" style="{style}"{across}>{escape(name)}</th>'


def _rows(card: Card) -> str:
    """All rows, below what some of them have in common."""
    if not card.is_grouped:
        return "".join(_row(row, card, card.decimals) for row in card.rows)
    said, wide = [], 1 + sum(_widths(card)) + (card.axis is not None)
    for outer, rows in groupby(card.rows, _outer):
        if outer:
            said.append(f"<tr>{_named(outer, _LABEL, wide, 'rowgroup')}</tr>")
        said += [_row(row, card, card.decimals) for row in rows]
    return "".join(said)


def _outer(row: Row | None) -> str:
    return row.parts.outer if row is not None and row.parts is not None else ""


def _row(row: Row | None, card: Card, decimals: Sequence[str]) -> str:
    if row is None:
        wide = 1 + sum(_widths(card)) + (card.axis is not None)
        return f'<tr><td style="{_LABEL}" colspan="{wide}">…</td></tr>'
    write = _under if card.is_under else _beside
    cells = "".join(
        write(cell, longest) + (_cell(_error(cell.population), _MUTED + _NOTE) if has else "")
        for cell, longest, has in zip(row.cells, decimals, card.has_population, strict=True)
    )
    scope = "" if card.names else ' scope="row"'  # under a heading nothing else is meant
    label = f'<th{scope} style="{_LABEL}">{escape(row.label)}</th>'
    if card.is_grouped and row.parts is not None:
        label = f'<th scope="row" style="{_INNER}">{escape(row.parts.inner)}</th>'
    return f"<tr>{label}{cells}{_strip(row, card)}</tr>"


def _cell(said: str, style: str) -> str:
    return f'<td style="{style}">{escape(said)}</td>'


def _error(said: str) -> str:
    """What stands beside a number: an error doesn't break, words after it may."""
    first, *others = said.split(", ")
    return ", ".join([_unbroken(first) if first.startswith("±") else first, *others])


def _unbroken(said: str) -> str:
    return said.replace(" ", "\N{NO-BREAK SPACE}")


def _beside(cell: Cell, longest: str) -> str:
    """A number, and its error beside it. Decimals that it lacks take their room, and aren't
    copied."""
    muted = _MUTED if cell.mark else ""
    is_time = cell.decimals is None and cell.error.startswith("±")
    whole, value = "white-space:nowrap;" if is_time else "", escape(cell.value)
    if cell.decimals is not None and (missing := longest[len(cell.decimals) :]):
        value += f'<span style="visibility:hidden">{missing}</span>'
    number = f'<td style="{muted}{whole}{_VALUE}">{value}</td>'
    return number + _cell(_error(cell.note), muted + _NOTE)


def _under(cell: Cell, longest: str) -> str:
    """A number, and its error under it."""
    style = (_HATCHED if cell.includes_zero else "") + _VALUE
    return (
        f'<td style="{style}">{escape(cell.value)}'
        f'<br><span style="{_MUTED}font-size:11px">{escape(_error(cell.note))}</span></td>'
    )


def _strip(row: Row, card: Card) -> str:
    """The interval as a band with a tick at the answer, within that for the population."""
    if card.axis is None or row.interval is None:
        return ""
    low, value, high = row.interval
    colour = QUIET if any(cell.mark for cell in row.cells) else MARK
    tick, zero = min(max(0.0, value - _TICK / 2), 100 - _TICK), card.axis.share(0)
    bands = [(low, high, colour + _NOISE), (tick, tick + _TICK, colour)]
    if row.population is not None:
        bands.insert(0, (*row.population, colour + _OUTER))
    if 0 < zero < 100:
        bands.insert(0, (zero, zero + _ZERO, "#8888"))
    return f'<td style="background:{_painted(bands)}0/100% 10px no-repeat"></td>'


def _painted(bands: Sequence[tuple[float, float, str]]) -> str:
    """Bands on one line, each over those before it, as one gradient."""
    ends = sorted({0.0, *(end for low, high, _ in bands for end in (low, high)), 100.0})
    stops: list[tuple[str, str]] = []
    for start, end in pairwise(ends):
        over = [colour for low, high, colour in bands if low <= start and end <= high]
        colour = over[-1] if over else "#0000"
        if stops and stops[-1][0] == colour:
            stops.pop()
        stops.append((colour, f"{end:.1f}".removesuffix(".0")))
    first, *others = stops
    said = [f"{first[0]} {first[1]}%", *(f"{colour} 0 {end}%" for colour, end in others[:-1])]
    last = f"{others[-1][0]} 0" if others else first[0]
    return f"linear-gradient(90deg,{','.join([*said, last])})"
