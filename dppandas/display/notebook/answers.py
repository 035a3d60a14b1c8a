"""Released Series and DataFrames are displayed as cards, which show their errors.

All else is displayed as before, by the object's own `_repr_html_` and `repr`, or by the formatter
that somebody registered earlier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...release.answers.record_bundle import RecordBundle
from ...release.answers.records import Record
from ...rows import html_tables
from ..cards import markup, plain
from ..cards.card import PLAIN, Card, caption_of, card_of
from ..cards.provenance import argument
from .code import code_of, variables

_HTML, _TEXT = "text/html", "text/plain"


class Cards:
    """The formatters of answers."""

    def __init__(self, shell: Any) -> None:
        self._formatters = shell.display_formatter.formatters
        self._before: dict[tuple[str, type], Any] = {}

    def on(self) -> None:
        """Display answers as cards from now on."""
        for kind in PLAIN:
            for form, shown in ((_HTML, self._as_html), (_TEXT, self._as_text)):
                before = self._formatters[form].for_type(kind)
                self._before[form, kind] = before
                self._formatters[form].for_type(kind, shown(before))

    def off(self) -> None:
        """Display them as pandas does again."""
        for (form, kind), before in self._before.items():
            self._formatters[form].pop(kind, None)
            if before is not None:
                self._formatters[form].for_type(kind, before)
        self._before = {}

    @staticmethod
    def _as_html(before: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
        def shown(value: Any) -> Any:
            card = card_of(value)
            if card is not None:
                return markup.html(card, _code(card))
            if before is not None:
                found = before(value)
            else:
                own = getattr(value, "_repr_html_", None)  # a Series has none
                found = None if own is None else own()
            caption = caption_of(value)
            return found if found is None or not caption else html_tables.title(caption) + found

        return shown

    @staticmethod
    def _as_text(before: Callable[..., Any] | None) -> Callable[..., None]:
        def shown(value: Any, printer: Any, cycle: bool) -> None:
            card = card_of(value)
            if caption := caption_of(value):
                printer.text(f"{caption}\n")
            if card is not None:
                printer.text(plain.text(card))
            elif before is not None:
                before(value, printer, cycle)
            else:
                printer.text(repr(value))

        return shown


def _code(card: Card) -> str:
    """The call that asks for an answer of one release, if a variable has its frame."""
    record = card.record
    if isinstance(record, RecordBundle) and len(record.components) == 1:
        (record,) = record.components.values()
    if not isinstance(record, Record) or not (asked := argument(record.loss)):
        return ""
    return code_of(record._query, asked, variables())
