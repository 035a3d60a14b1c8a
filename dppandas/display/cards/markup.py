"""A card as HTML: an answer's table, and a foot that says how the errors hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby, pairwise

from ...errors import unbroken
from ...ledger.colours import TEAL
from ...rows import html_tables as tables
from ...rows.html_tables import ERROR, LABEL, MUTED, NUMBER, STRIP, Across, Column, Markup
from . import provenance
from .card import POPULATION, Card, Cell, Row

#: Told from white and from the dark ground by 3 : 1 at least (docs/adr/0038-cards.md).
MARK, QUIET = TEAL, "#767676"
_HATCHED = (
    "background-image:linear-gradient(135deg,rgba(128,128,128,.25) 25%,transparent 25%,"
    "transparent 50%,rgba(128,128,128,.25) 50%,rgba(128,128,128,.25) 75%,transparent 75%);"
    "background-size:8px 8px;"
)
#: Between the ends of the axis, more on a wide page; an untrusted notebook keeps the first length.
_GAP = "word-spacing:90px;word-spacing:clamp(90px,18vw,270px)"
#: A text that doesn't break, and how long a label may be that doesn't.
_WHOLE, _LABEL = "white-space:nowrap;", 16
#: How wide the tick at an answer is, in percent of a strip, how far middles may be apart that are
#: one, and how high each band is.
_TICK, _APART, _BAND = 1.4, 0.5, " 10px no-repeat"
#: How opaque the intervals of the noise and of the population are.
_NOISE, _OUTER = "99", "59"


def html(card: Card, code: str = "") -> str:
    """The card. Its foot opens what is known of the release, with the code that asks for it."""
    table = tables.Table(list(_columns(card)), list(_rows(card)), _spanners(card), True)
    foot = tables.foot(_foot(card))
    if card.record is not None:
        facts = provenance.facts(card.record, code)
        foot = tables.folded(_foot(card), (f"{name}: {said}" for name, said in facts))
    return tables.card("card", table.html(), foot)


def _foot(card: Card) -> str:
    hatched = any(cell.includes_zero for row in card.rows if row for cell in row.cells)
    return f"{card.foot} · hatched: the interval includes 0" if hatched else card.foot


# --- columns --------------------------------------------------------------------------------------


def _columns(card: Card) -> Iterator[Column]:
    yield Column(card.names, LABEL, stacked=card.names.partition(" \\ ")[0])
    heads = [each.inner for each in card.spanned] or card.columns
    for head, has_population in zip(heads, card.has_population, strict=True):
        yield Column(head, NUMBER)
        if not card.is_under:
            yield Column("", ERROR)
        if has_population:
            yield Column(POPULATION, ERROR)
    if card.axis is not None:
        yield Column(_ends(*card.axis.ends), STRIP)


def _ends(low: str, high: str) -> Markup:
    """The ends of the axis at both ends of its column, and a gap that is no text either, which may
    break, so that it is as wide as there is room for."""
    sides = zip(("left", "right"), (low, high), strict=True)
    drawn = [
        tables.quoted(end.replace(" ", "\N{NO-BREAK SPACE}"), f"float:{side};line-height:1.5")
        for side, end in sides
    ]
    return Markup("".join([*drawn, tables.quoted("\u200b \u200b", _GAP)]))


def _spanners(card: Card) -> list[tuple[str, int]]:
    """What some names of columns have in common, and over how many cells."""
    if not card.spanned:
        return []
    widths = iter((1 if card.is_under else 2) + has for has in card.has_population)
    each = groupby(card.spanned, lambda part: part.outer)
    return [("", 1), *((outer, sum(next(widths) for _ in columns)) for outer, columns in each)]


# --- rows -----------------------------------------------------------------------------------------


def _rows(card: Card) -> Iterator[tables.Row]:
    """All rows, below what some of them have in common. What is longest in a column doesn't break,
    and so nothing else does there, as long as strips can give way."""
    longest = _longest(card)
    for outer, rows in groupby(card.rows, _outer if card.is_grouped else lambda _: ""):
        if outer:
            yield Across(outer)
        for row in rows:
            yield _left_out(card) if row is None else list(_cells(row, card, longest))


def _left_out(card: Card) -> Across:
    return Across(f"… {card.more:,} more", is_head=False)


def _outer(row: Row | None) -> str:
    return row.parts.outer if row is not None and row.parts is not None else ""


def _longest(card: Card) -> set[str]:
    """The longest label of those that aren't long, and the longest words beside numbers."""
    rows = [row for row in card.rows if row is not None]
    labels = [label for row in rows if len(label := _label(row, card)) <= _LABEL]
    notes = [
        max((row.cells[i].note for row in rows), key=len, default="")
        for i in range(len(card.columns))
    ]
    return {text for text in (max(labels, key=len, default=""), *notes) if " " in text}


def _label(row: Row, card: Card) -> str:
    return row.parts.inner if card.is_grouped and row.parts is not None else row.label


def _cells(row: Row, card: Card, longest: set[str]) -> Iterator[str | tables.Cell]:
    label = _label(row, card)
    yield tables.Cell(label, _WHOLE) if label in longest else label
    for cell, has_population in zip(row.cells, card.has_population, strict=True):
        if card.is_under:
            yield _under(cell)
        else:
            muted = MUTED if cell.mark else ""
            is_time = cell.decimals is None and cell.error.startswith("±")
            yield tables.Cell(cell.value, muted + _WHOLE * is_time)
            yield tables.Cell(
                cell.note, muted + _WHOLE * (", " in cell.note and cell.note in longest)
            )
        if has_population:
            yield tables.Cell(cell.population, MUTED)
    if card.axis is not None:
        yield tables.Cell("", _strip(row, card))


def _under(cell: Cell) -> tables.Cell:
    """A number, and its error under it."""
    error = f'<br><span style="{MUTED}font-size:11px">{escape(unbroken(cell.note))}</span>'
    return tables.Cell(Markup(escape(cell.value) + error), _HATCHED if cell.includes_zero else "")


def _strip(row: Row, card: Card) -> str:
    """The interval as a band with a tick at the answer, within that for the population."""
    if card.axis is None or row.interval is None:
        return ""
    low, value, high = row.interval
    colour = QUIET if any(cell.mark for cell in row.cells) else MARK
    tick = min(max(0.0, value - _TICK / 2), 100 - _TICK)
    bands = [(tick, tick + _TICK, colour), (low, high, colour + _NOISE)]
    if row.population is not None:
        bands.append((*row.population, colour + _OUTER))
    drawn = _around(bands) or f"{_painted(bands)}0/100%"
    zero = card.axis.share(0)
    under = f",linear-gradient(#8888 0 0){zero:.1f}%/1px{_BAND}" if 0 < zero < 100 else ""
    return f"background:{drawn}{_BAND}{under}"


Band = tuple[float, float, str]


def _around(bands: Sequence[Band]) -> str:
    """Bands around one middle, each over the next one, as a gradient that is as wide as the widest
    and says each colour once. "" if they have no middle in common."""
    middles = [(low + high) / 2 for low, high, _ in bands]
    if max(middles) - min(middles) > _APART:
        return ""
    wider: list[Band] = []  # others would be covered
    for band in bands:
        if not wider or band[1] - band[0] > wider[-1][1] - wider[-1][0]:
            wider.append(band)
    low, high, last = wider[-1]
    wide, place = high - low, 100 * low / (100 - high + low) if high - low < 100 else 0
    stops = [f"{of} 0 {100 * (end - start) / wide:.0f}%" for start, end, of in wider[:-1]]
    drawn = ",".join([*stops, *[f"{last} 0"] * (1 if stops else 2)]).replace(" 0 ", " ", 1)
    return f"radial-gradient(50% 9in,{drawn}){place:.0f}%/{wide:.0f}%"


def _painted(bands: Sequence[Band]) -> str:
    """Bands on one line, each over those after it, as one gradient."""
    ends = sorted({0.0, *(end for low, high, _ in bands for end in (low, high)), 100.0})
    stops: list[tuple[str, str]] = []
    for start, end in pairwise(ends):
        colour = next((of for low, high, of in bands if low <= start and end <= high), "#0000")
        if stops and stops[-1][0] == colour:
            stops.pop()
        stops.append((colour, f"{end:.1f}".removesuffix(".0")))
    first, *others = stops
    said = [f"{first[0]} {first[1]}%", *(f"{colour} 0 {end}%" for colour, end in others[:-1])]
    last = f"{others[-1][0]} 0" if others else first[0]
    return f"linear-gradient(90deg,{','.join([*said, last])})"
