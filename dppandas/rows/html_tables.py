"""Tables as HTML: one component for answers, frames, columns, groups, records, previews, ledgers
and summaries (docs/adr/0081-one-table.md).

Styles are inline, so that a notebook that isn't trusted shows them, too. One sheet is added where a
table may be wider than its place: there its rows stack. Text has the colour of the page around it,
so that it is read on light and on dark grounds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape, unescape
from itertools import zip_longest
from zlib import crc32

import pandas as pd

from ..dataclasses import dataclass
from ..errors import unbroken
from .figures import decimals, format_value

#: What stands back: heads and feet.
MUTED = "opacity:.75;"
QUIET = f"{MUTED}font-size:12px"
#: Kinds of columns. A number has its error in a column of its own, which follows it.
LABEL, NUMBER, ERROR, TEXT, STRIP = "label", "number", "error", "text", "strip"
#: Hosts set these for each cell, so that none is inherited. Of what they leave alone nothing is
#: said: an answer may have sixty rows.
_EVEN, _NUMBER, _NEXT = "padding:2px 8px", "padding:2px 0", " 2px 12px"
_LEFT = f"{_EVEN};text-align:left"
_INNER = "padding:2px 8px 2px 24px;text-align:left;font-weight:normal"
_EMPTY = "<td></td>"
_TOP, _WHOLE, _WRAPS = "vertical-align:top", "white-space:nowrap", "min-width:{}em"
_RULE, _THIN = "border-bottom:1px solid #8888", "border-bottom:1px solid #8884"
_SPANNER = (
    "padding:2px 8px;text-align:center;font-weight:normal;"
    "background:linear-gradient(#8888 0 0)50% 100%/94% 1px no-repeat"
)

#: In em: a letter, what is around a text, and before a number beside others. Of a text that may
#: wrap so many letters are counted.
_LETTER, _AROUND, _BEFORE, _COUNTED = 0.54, 1.25, 0.95, 16
#: Tables that fit here have no sheet, and those that are wider than that scroll on a wide page.
_PHONE, _MOST = 20, 60
#: Where a table has no room: a label, and below it a line for each number, with its error.
_SHEET = """<style>.§{container-type:inline-size;min-width:18em}
@container (max-width:%dem){.§{table{display:block}tr{display:contents}
caption{display:block}thead,tr>:empty{display:none}
tbody{display:grid;grid-template-columns:fit-content(70%%) 1fr}
tr>*{grid-column:1/-1;white-space:normal!important}td{padding-left:8px!important}
th{margin-top:4px;border-top:1px solid #8884!important}
td>q{display:none}td::before,td::after{opacity:.75}td[style^=opacity]::before{opacity:1}
%s}}</style>"""


#: What begins another line in markup.
_LINES = re.compile("<br>|<div|<small")

#: Around a table that may be wider than its place.
SCROLLS = ' tabindex="0" style="font-size:13px;overflow-x:auto"'


class Markup(str):
    """A text that is markup already, such as of what somebody opens."""

    __slots__ = ()


@dataclass(frozen=True)
class Column:
    """What stands in a column, by its kind."""

    head: str = ""
    kind: str = TEXT
    wraps: bool = False  # whether its lines may break; texts and numbers else stay whole
    least: int = 8  # and how wide it is at least then, in em
    stacked: str = ""  # its head where rows stack, if another one
    mark: str = ""  # a class of its cells, for who looks for them


@dataclass(frozen=True)
class Cell:
    """A text with a style of its own, and what is told on hover."""

    text: str
    style: str = ""
    title: str = ""


@dataclass(frozen=True)
class Across:
    """A row of one text: what the rows below it have in common, or that rows are left out."""

    text: str
    is_head: bool = True


Row = Sequence[str | Cell] | Across


@dataclass(frozen=True)
class Table:
    """Columns and rows, as many cells in each; the first one heads its row.

    over : above the heads what some columns have in common, and how many of them.
    is_dense : whether rows are many and short, and as low as can be.
    is_ruled : whether a line ends each row, where rows have several lines.
    title : what is told on hover.
    caption : what stands above it, for those who hear the page, too.
    has_sheet : whether its place keeps a sheet, as a page of our own does: what all cells of a
        column have is said once there.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    over: Sequence[tuple[str, int]] = ()
    is_dense: bool = False
    is_ruled: bool = False
    title: str = ""
    caption: str = ""
    has_sheet: bool = False

    def html(self) -> str:
        """The table. Where it may be wider than its place it stacks, or, without a sheet, scrolls
        by itself."""
        styles = [""] * len(self.columns) if self.has_sheet else self.styles
        longest = self._longest()
        lines = "".join(self._line(row, styles, longest) for row in self.rows)
        said = f' title="{escape(self.title)}"' if self.title else ""
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        table = (
            f'<table{said} style="border-collapse:collapse;border:0;margin:0;font-size:13px;'
            f'text-align:right">{caption}<thead>{self._spanners()}{self._heads()}</thead>'
            f"<tbody>{lines}</tbody></table>"
        )
        needed = self._needed()
        if needed <= _PHONE and not self.has_sheet:
            return table
        name, sheet = self.sheet(min(needed, _MOST))
        named = f' role="region" aria-label="{escape(self.caption)}"' if self.caption else ""
        return f'<div class="{name}"{named}{SCROLLS}>{sheet}{table}</div>'

    @property
    def styles(self) -> list[str]:
        """Of each column what all of its cells have."""
        return [self._style(i) for i in range(len(self.columns))]

    # --- rows -------------------------------------------------------------------------------------

    def _style(self, place: int, is_head: bool = False) -> str:
        """What all cells of a column have, or its head."""
        column = self.columns[place]
        if column.kind == STRIP:
            return f"{_NUMBER};font-size:11px;line-height:0" if is_head else ""
        style = _LEFT
        if column.kind == NUMBER:
            is_followed = [each.kind for each in self.columns[place + 1 : place + 2]] == [ERROR]
            style = _NUMBER + _NEXT * self._has_several if is_followed else _EVEN
        elif column.kind == LABEL and self._is_grouped and not is_head:
            style = _INNER
        elif column.kind == ERROR and self._is_short(place):
            style = _EVEN
        if self.is_dense:
            return style
        wide = (
            f";{_WRAPS.format(column.least)}"
            if column.wraps and is_head == bool(column.head)
            else ""
        )
        if is_head:
            return style + wide
        strong = ""
        if column.kind == LABEL:  # one whose lines break is a sentence
            strong = f";font-weight:{'normal' if column.wraps else 600}"
        return f"{style}{strong};{_TOP}{wide if column.wraps else f';{_WHOLE}'}"

    def _is_short(self, place: int) -> bool:
        """Whether errors end below their head, and without one, where they begin alike, too. Words
        after them, and errors beside a number, begin alike instead."""
        if not self.is_dense:
            return False
        texts = self._texts(place)
        if self.columns[place].head:
            return not any(", " in text for text in texts)
        return len({*map(len, texts)}) == 1

    def _texts(self, place: int) -> list[str]:
        """The texts of a column."""
        return [_text(row[place]) for row in self.rows if not isinstance(row, Across)]

    @property
    def _has_several(self) -> bool:
        """Whether there are several numbers in a row."""
        return sum(column.kind == NUMBER for column in self.columns) > 1

    @property
    def _is_grouped(self) -> bool:
        return any(isinstance(row, Across) and row.is_head for row in self.rows)

    def _longest(self) -> list[str]:
        """Of each column of numbers the longest decimals."""
        return [
            max((decimals(text) or "" for text in self._texts(i)), key=len, default="")
            if column.kind == NUMBER else ""
            for i, column in enumerate(self.columns)
        ]  # fmt: skip

    def _line(self, row: Row, styles: Sequence[str], longest: Sequence[str]) -> str:
        if isinstance(row, Across):
            tag = 'th scope="rowgroup"' if row.is_head else "td"
            style = f'style="{_LEFT}" colspan="{len(self.columns)}"'
            return f"<tr><{tag} {style}>{_escaped(row.text)}</{tag[:2]}></tr>"
        each = zip(row, self.columns, styles, longest, strict=True)
        return f"<tr{self.ruled}>{''.join(self._cell(*of) for of in each)}</tr>"

    @property
    def ruled(self) -> str:
        """What each row says of itself."""
        return f' style="{_THIN}"' if self.is_ruled and not self.has_sheet else ""

    def repeated(self) -> dict[str, str]:
        """What rows and cells say again and again, by what of a table's body it is said of."""
        found = {f"tbody>tr>:nth-child({i})": style for i, style in enumerate(self.styles, 1)}
        return {"tbody>tr": _THIN * self.is_ruled} | {k: v for k, v in found.items() if v}

    def _cell(self, cell: str | Cell, column: Column, style: str, longest: str) -> str:
        """A cell. Decimals that a number lacks take their room, and are no text."""
        text, title, own = _text(cell), "", ""
        if column.kind in (NUMBER, ERROR) and not isinstance(text, Markup):
            text = unbroken(text)  # names, questions and code are copied, and stay as they are
        if isinstance(cell, Cell):
            title, own = cell.title, cell.style
        shown, found = _escaped(text), decimals(text)
        if found is not None and (missing := longest[len(found) :]):
            shown += quoted(missing, "visibility:hidden")
        mark = f' class="{column.mark}"' if column.mark else ""
        said = f' style="{own}{style}"' if own or style else ""
        said += f' title="{escape(title)}"' if title else ""
        if not text and not own:
            return _EMPTY
        if column.kind != LABEL:
            return f"<td{mark}{said}>{shown}</td>"
        # under a heading nothing else is meant
        is_meant = column.head and not style.startswith(_INNER)
        scope = "" if is_meant else ' scope="row"'
        return f"<th{scope}{mark}{said}>{shown}</th>"

    # --- heads ------------------------------------------------------------------------------------

    def _spanners(self) -> str:
        if not self.over:
            return ""
        each = (
            f'<th scope="colgroup" style="{_SPANNER}" colspan="{wide}">{_escaped(said)}'
            + _unseen("\t" * (wide - 1)) + "</th>"
            if said else _EMPTY * wide
            for said, wide in self.over
        )  # fmt: skip
        return f'<tr style="{QUIET}">{_begun("".join(each))}</tr>'

    def _heads(self) -> str:
        if not any(column.head for column in self.columns):
            return ""
        each = "".join(map(self._head, range(len(self.columns))))
        return f'<tr style="{QUIET};{_RULE}">{_begun(each)}</tr>'

    def _head(self, place: int) -> str:
        """The head of a column. An error has a cell of its own here, too: so has a copy."""
        column = self.columns[place]
        if not column.head:
            return _EMPTY
        style, shown = self._style(place, is_head=True), _escaped(column.head)
        if column.kind == ERROR:
            shown = _escaped(unbroken(column.head))
        if column.kind == STRIP:
            return f'<td style="{style}">{shown}</td>'
        return f'<th scope="col" style="{style};font-weight:normal">{shown}</th>'

    # --- where there is no room -------------------------------------------------------------------

    def _is_named(self, place: int) -> bool:
        """Whether labels have their head where rows stack. Of columns and questions it is known."""
        are_numbers = all(text.isdigit() for text in self._texts(place))
        return self.has_sheet or are_numbers or (self.is_dense and not self._is_grouped)

    def _needed(self) -> float:
        """How wide the columns are together, in em, without those that give way."""
        wide = 0.0
        for i, column in enumerate(self.columns):
            if column.kind == STRIP:
                wide += 0 if self.is_dense else column.least  # in dense ones it gives way
                continue
            texts = self._texts(i)
            most = max(map(_length, (*column.head.split(), *texts)), default=0)
            if column.wraps or (column.kind == LABEL and self.is_dense):
                most = max(min(most, _COUNTED), _whole(texts))
            least = column.least if column.wraps and not self.is_dense else 0
            wide += max(least, _LETTER * most)
            wide += _BEFORE * self._has_several if column.kind == NUMBER else _AROUND
        return wide

    def sheet(self, needed: float) -> tuple[str, str]:
        """A class and its rules: what heads said stands before each cell."""
        over = [said for said, wide in self.over for _ in range(wide)]
        rules = []
        numbers, errors = (
            ",".join(
                f"td:nth-child({i})" for i, of in enumerate(self.columns, 1) if of.kind == kind
            )
            for kind in (NUMBER, ERROR)
        )
        if numbers and not errors and any(each.kind == TEXT for each in self.columns):
            rules.append(f":is({numbers}){{text-align:left}}")  # as what stands around them
        elif numbers:
            alone = "" if errors else "max-width:30em;"
            rules.append(f":is({numbers}){{{alone}grid-column:1{'' if errors else '/-1'}}}")
            rules.append(f":is({numbers})::before{{float:left;margin-right:1em}}")
        if errors:
            rules.append(f":is({errors}){{text-align:left!important;grid-column:2}}")
        for place, (column, outer) in enumerate(zip_longest(self.columns, over), 1):
            if not column.head or column.kind == STRIP:
                continue
            if column.kind == LABEL:
                if self._is_named(place):
                    head = column.stacked or column.head
                    said = f"content:{_in_quotes(head + ' ')};opacity:.75;font-weight:normal"
                    rules.append(f"tbody th::before{{{said}}}")
                continue
            is_error, named = column.kind == ERROR, f"{outer}: " if outer else ""
            said = f" {column.head}" if is_error else f"{named}{column.head} "
            where = "after" if is_error else "before"
            rules.append(f"td:nth-child({place})::{where}{{content:{_in_quotes(said)}}}")
        sheet = _SHEET % (math.ceil(needed), "\n".join(rules))
        if self.has_sheet:
            each = (f".§ {of}{{{style}}}" for of, style in self.repeated().items())
            sheet = sheet.replace("<style>", "<style>" + "".join(each))
        name = f"dp-{crc32(sheet.encode()):x}"
        return name, sheet.replace("§", name)


def _begun(cells: str) -> str:
    """Cells of which the first one isn't empty."""
    rest = cells.removeprefix(_EMPTY)
    return cells if rest == cells else f"<td>{_unseen(' ')}</td>{rest}"


def _unseen(text: str) -> str:
    """What a copy has and nobody sees: tabs in a cell that spans several, and a space in a first
    one, since a copy leaves out an empty one."""
    style = "font-size:0;position:absolute;white-space:pre"
    return f'<span style="{style}">{text}</span>' if text else ""


def quoted(text: str, style: str) -> str:
    """What is drawn and is no text, as a quotation mark: neither copies nor programs that read
    the table have it."""
    said = escape(re.sub(r"['\\]", r"\\\g<0>", text))
    return f"<q style=\"{style};quotes:'{said}' ''\"></q>"


@lru_cache(256)  # a live ledger has the same heads in each of its updates
def _in_quotes(text: str) -> str:
    """A text within a sheet, where nothing of it can be anything else."""
    plain = (each if each.isascii() and each.isalnum() else f"\\{ord(each):x} " for each in text)
    return f"'{''.join(plain)}'"


def _length(text: str) -> int:
    """How long the longest line of a text is."""
    if not isinstance(text, Markup) or not ("<" in text or "&" in text):
        return len(text)
    return max(len(unescape(re.sub("<[^>]*>", "", line))) for line in _LINES.split(text))


def _whole(texts: Sequence[str]) -> int:
    """How long the longest part of a text is that doesn't break at a space."""
    if "\N{NO-BREAK SPACE}" not in " ".join(texts):
        return 0  # without a look at each
    parts = (part for text in texts if not isinstance(text, Markup) for part in text.split(" "))
    return max((len(part) for part in parts if "\N{NO-BREAK SPACE}" in part), default=0)


def _text(cell: str | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell


def _escaped(text: str) -> str:
    if isinstance(text, Markup):
        return text
    return escape(text)


def of_frame(frame: pd.DataFrame) -> Table:
    """Some columns of numbers, whose labels head the rows."""
    heads = [", ".join(str(name) for name in frame.index.names if name is not None)]
    columns = [Column(heads[0], LABEL), *[Column(str(name), NUMBER) for name in frame.columns]]
    rows = zip(frame.index, *(frame.iloc[:, i] for i in range(frame.shape[1])), strict=True)
    return Table(columns, [[str(label), *map(format_value, each)] for label, *each in rows])


# --- what stands around a table -------------------------------------------------------------------


def card(kind: str, *parts: str) -> str:
    """Parts one under the other."""
    inside = "".join(filter(None, parts))
    return f'<div class="dppandas-{kind}" style="line-height:1.5">{inside}</div>'


def title(strong: str, rest: str = "") -> str:
    """What it is, and more of it."""
    more = f" · {escape(rest)}" if rest else ""
    return f'<div style="margin:0 8px 6px"><b>{escape(strong)}</b>{more}</div>'


_FOOT = f"{QUIET};margin:4px 8px"


def foot(said: str) -> str:
    """A remark under a table; nothing without one."""
    return f'<div style="{_FOOT}">{escape(unbroken(said))}</div>' if said else ""


def folded(said: str, lines: Iterable[str]) -> str:
    """A remark under a table that opens more lines."""
    more = "".join(f"<div>{escape(line)}</div>" for line in lines)  # with code to copy
    return (
        f'<details style="{_FOOT}"><summary style="cursor:pointer">{escape(unbroken(said))}'
        f'</summary><div style="margin:4px 0 0 14px">{more}</div></details>'
    )


def sentences(kind: str, first: str, *more: str) -> str:
    """What is said without a table: a line, and smaller ones below it."""
    strong, _, rest = first.partition(": ")
    return card(kind, title(strong, unbroken(rest)), *map(foot, more))
