"""A card as HTML, by inline styles alone: a notebook that isn't trusted shows it, too."""

from __future__ import annotations

from html import escape

from ...ledger.colours import TEAL
from . import provenance
from .card import POPULATION, Card, Cell, Row

#: Told from white and from the dark ground by 3 : 1 at least (docs/adr/0038-cards.md).
MARK, QUIET = TEAL, "#767676"
_CELL = "border:none;padding:2px 8px;vertical-align:middle;white-space:nowrap;"
_HATCHED = (
    "background-image:linear-gradient(135deg,rgba(128,128,128,.25) 25%,transparent 25%,"
    "transparent 50%,rgba(128,128,128,.25) 50%,rgba(128,128,128,.25) 75%,transparent 75%);"
    "background-size:8px 8px;"
)
_FOOT = "opacity:.75;font-size:12px;margin:4px 8px"
_STRIP = 180  # pixels


def html(card: Card, code: str = "") -> str:
    """The card: a table, and a foot that says how the errors hold. It opens what is known of the
    release, with the code that asks for it."""
    rows = "".join(_row(row, card) for row in card.rows)
    return (
        '<div class="dppandas-card"><table style="border-collapse:collapse;border:none;margin:0">'
        f"<thead><tr>{_head(card)}</tr></thead><tbody>{rows}</tbody></table>"
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


def _head(card: Card) -> str:
    wide, columns = 1 if card.is_under else 2, zip(card.columns, card.has_population, strict=True)
    names = _named(card.names, "left", 1) + "".join(
        _named(name, "right", wide) + (_of_population(POPULATION) if has else "")
        for name, has in columns
    )
    if card.axis is None:
        return names
    low, high = map(escape, card.axis.ends)
    ends = f"<span>{low}</span><span>{high}</span>"
    return (
        f'{names}<td style="{_CELL}font-size:11px;opacity:.75"><div style="display:flex;'
        f'justify-content:space-between;width:{_STRIP}px">{ends}</div></td>'
    )


def _named(name: str, side: str, wide: int) -> str:
    """The head of a column; no heading where it has no name."""
    if not name:
        return f'<td style="{_CELL}" colspan="{wide}"></td>'
    style = f"{_CELL}text-align:{side}"
    return f'<th scope="col" style="{style}" colspan="{wide}">{escape(name)}</th>'


def _row(row: Row | None, card: Card) -> str:
    if row is None:
        each = len(card.columns) * (1 if card.is_under else 2) + sum(card.has_population)
        wide = 1 + each + (card.axis is not None)
        return f'<tr><td style="{_CELL}text-align:left" colspan="{wide}">…</td></tr>'
    write = _under if card.is_under else _beside
    cells = "".join(
        write(cell) + (_of_population(cell.population) if has else "")
        for cell, has in zip(row.cells, card.has_population, strict=True)
    )
    strip = "" if row.interval is None else _strip(row, card)
    label = f'<th scope="row" style="{_CELL}text-align:left">{escape(row.label)}</th>'
    return f"<tr>{label}{cells}{strip}</tr>"


def _beside(cell: Cell) -> str:
    """A number, and its error beside it."""
    style = _CELL + ("opacity:.75;" if cell.mark else "")
    note = escape(cell.note)
    return (
        f'<td class="dp-noisy" style="{style}text-align:right">{escape(cell.value)}</td>'
        f'<td class="dp-noisy" style="{style}text-align:left;padding-left:0">{note}</td>'
    )


def _of_population(said: str) -> str:
    """What is said of the population, in grey."""
    mark = ' class="dp-noisy"' if said != POPULATION else ""
    style = f"{_CELL}text-align:left;opacity:.75"
    return f'<td{mark} style="{style}">{escape(said)}</td>'


def _under(cell: Cell) -> str:
    """A number, and its error under it."""
    style = _CELL + (_HATCHED if cell.includes_zero else "")
    return (
        f'<td class="dp-noisy" style="{style}text-align:right">{escape(cell.value)}'
        f'<br><span style="opacity:.75;font-size:11px">{escape(cell.note)}</span></td>'
    )


def _strip(row: Row, card: Card) -> str:
    """The interval as a line, with a tick at the answer."""
    low, value, high = row.interval or (0, 0, 0)
    colour = QUIET if any(cell.mark for cell in row.cells) else MARK
    zero = card.axis.share(0) if card.axis is not None else 0
    marks = [_mark(zero, "1px", 0, 14, "rgba(128,128,128,.5)")] if 0 < zero < 100 else []
    thick = 2
    if row.population is not None:  # thin, with caps, around a thick one of the noise
        start, end = row.population
        thick = 4
        marks += [_mark(start, f"{max(end - start, 0.5):.2f}%", 6, 1, colour)]
        marks += [_mark(each, "1px", 4, 5, colour) for each in row.population]
    marks += [
        _mark(low, f"{max(high - low, 0.5):.2f}%", 7 - (thick + 1) // 2, thick, colour),
        _mark(value, "4px", 2, 10, colour),
    ]
    return (
        f'<td style="{_CELL}"><div style="position:relative;height:14px;width:{_STRIP}px">'
        f"{''.join(marks)}</div></td>"
    )


def _mark(left: float, width: str, top: int, height: int, colour: str) -> str:
    return (
        f'<div style="position:absolute;left:{left:.2f}%;width:{width};top:{top}px;'
        f'height:{height}px;background-color:{colour}"></div>'
    )
