"""The releases of a ledger, ten rows a page, and a search among all of them."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ...ledger import html, words
from ...ledger.ledger import Ledger
from ...ledger.snapshot import Snapshot
from ...ledger.storage.store import Entry
from ...ledger.words import Row


class Search:
    """The words of each charge, read once."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def found(self, ledger: Snapshot, said: str) -> list[int]:
        """The numbers of the charges in whose words all that is said occurs. Oldest first."""
        new = ledger.count - len(self._texts)
        if new > 0:
            self._texts += [_words(ledger, entry) for entry in ledger.charges(new)]
        wanted = said.lower().split()
        pairs = enumerate(self._texts, 1)
        return [number for number, text in pairs if all(word in text for word in wanted)]


def _words(ledger: Snapshot, entry: Entry) -> str:
    said = (entry.what.whole, words.title(entry), entry.source, words.mark(entry))
    return " ".join((*said, words.plain_cell(ledger, entry), str(entry.program or ""))).lower()


class Pages:
    """A page of rows, a search, and buttons that lead to the others.

    The buttons are never disabled, and rows of programs are opened by a button: what is disabled,
    or drawn anew, loses the focus of a keyboard.
    """

    def __init__(self, ledger: Ledger) -> None:
        import ipywidgets

        self._ledger = ledger
        self._starts: list[int] = []  # below which numbers the pages end that were left behind
        self._next = 1  # below which number the next page ends; 1: there is none
        self._words = Search()
        self._states = words.AT_REST  # by draw, of charges that are being answered
        self._drawn: tuple[Snapshot, list[Row]] | None = None
        self._table = ipywidgets.HTML(tabbable=True)
        for name in ("dp-sheet", html.STACKS):
            self._table.add_class(name)
        self._search = ipywidgets.Text(
            description="Search", placeholder="question, source or [cell]"
        )
        self._search.style.description_width = "4.5em"
        self._search.layout.width, self._search.layout.max_width = "22em", "100%"
        self._newer = ipywidgets.Button(description="newer", tooltip="newer releases")
        self._older = ipywidgets.Button(description="older", tooltip="older releases")
        self._programs = ipywidgets.ToggleButton(
            description="open programs", tooltip="list the releases of each program"
        )
        for button in (self._newer, self._older):
            button.layout.width = "6em"
        self._programs.layout.width, self._programs.layout.display = "10em", "none"
        self._where = ipywidgets.HTML()
        self._older.on_click(lambda _: self._turn(older=True))
        self._newer.on_click(lambda _: self._turn(older=False))
        self._search.observe(self._sought, "value")
        self._programs.observe(lambda _: self._redraw(), "value")
        controls = [self._search, self._newer, self._older, self._programs, self._where]
        self._bar = ipywidgets.HBox(
            controls, layout={"flex_flow": "row wrap", "align_items": "center"}
        )
        self.box = ipywidgets.VBox([self._bar, self._table])

    def update(
        self, ledger: Snapshot, charges: list[Entry], states: Mapping[str, str] = words.AT_REST
    ) -> None:
        """Show the newest charges, read already, unless the reader is looking at others."""
        self._states = states
        before = self._starts[-1] if self._starts else None
        found = None
        if self._search.value.strip():
            found = self._words.found(ledger, self._search.value)
            rows, rest = self._page_found(ledger, found, before)
        else:
            rows = words.rows(charges if before is None else html.shown(ledger, before))
            rows, rest = rows[-html.PAGE :], len(rows) - html.PAGE
        first = rows[0].entries[0].number if rows else 1
        self._next = first if rest > 0 else 1
        self._drawn = ledger, rows
        self._draw()
        self._where.value = _status(self._told(ledger, rows, found))
        is_long = bool(self._starts or rest > 0 or found is not None)
        for each in (self._search, self._newer, self._older, self._where):
            each.layout.display = None if is_long else "none"
        opens = self._programs.value or any(len(row.entries) > 1 for row in rows)
        self._programs.layout.display = None if opens else "none"
        self._bar.layout.display = None if is_long or opens else "none"

    def tell(self, states: Mapping[str, str]) -> None:
        """Show other states of the same charges, without reading any."""
        if states != self._states:
            self._states = states
            self._draw()

    def _draw(self) -> None:
        if self._drawn is not None:
            ledger, rows = self._drawn
            drawn = html.table(ledger, rows, listed=self._programs.value, states=self._states)
            self._table.value = html.framed(html.bare(drawn))

    def _page_found(
        self, ledger: Snapshot, found: list[int], before: int | None
    ) -> tuple[list[Row], int]:
        """The newest rows found below a number, and how many there are before them."""
        numbers = [number for number in found if before is None or number < before]
        page = numbers[-html.PAGE :]
        rows = [Row((entry,)) for number in page for entry in ledger.charges(1, number + 1)]
        return rows, len(numbers) - len(page)

    def _told(self, ledger: Snapshot, rows: list[Row], found: list[int] | None) -> str:
        if not rows:
            return "nothing found"
        first, last = rows[0].entries[0].number, rows[-1].last.number
        of = f" · {len(found):,} found" if found is not None else ""
        ends = [*([] if self._starts else ["newest"]), *([] if self._next > 1 else ["oldest"])]
        place = f" · {' and '.join(ends)}" if ends and found is None else ""
        return f"releases {first:,} to {last:,} of {ledger.count:,}{place}{of}"

    def _turn(self, older: bool) -> None:
        if older and self._next > 1:
            self._starts.append(self._next)
        elif not older and self._starts:
            self._starts.pop()
        self._redraw()

    def _sought(self, change: Any) -> None:
        self._starts.clear()
        self._redraw()

    def _redraw(self) -> None:
        ledger = self._ledger._snapshot()
        self.update(ledger, html.shown(ledger), self._states)


def _status(said: str) -> str:
    return f'<span class="dp-where" role="status" style="margin-left:12px">{escape(said)}</span>'
