"""marimo shows answers as cards, too, and comparisons: its own tables leave out their errors.

Nothing here imports marimo. What it has registered for other tables goes on showing those.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ...findings.comparisons import Comparison
from ...findings.curves import Curve
from ...ledger.ledger import Ledger
from ...rows import html_tables
from ..cards import markup
from ..cards.card import PLAIN, caption_of, card_of

Formatter = Callable[[Any], tuple[str, str]]

_FORMATTING = "marimo._output.formatting"
#: Its tables of formatters: for people, and for pages without a kernel.
_REGISTRIES = ("OPINIONATED_FORMATTERS", "FORMATTERS")


def register() -> None:
    """Show answers as cards, and ledgers live, in the marimo that runs here; a second call changes
    nothing."""
    formatting: Any = sys.modules.get(_FORMATTING)
    for name in _REGISTRIES:
        registry: Any = getattr(formatting, name, None)
        for kind in PLAIN:
            before = getattr(registry, "formatters", {}).get(kind)
            if before is not None and not isinstance(before, _Cards):
                registry.add_formatter(kind, _Cards(before))
    live: Any = getattr(formatting, _REGISTRIES[0], None)
    if hasattr(live, "add_formatter"):
        live.add_formatter(Ledger, _ledger)


def _ledger(ledger: Ledger) -> tuple[str, str]:
    """A ledger that stays up to date; as it is now, where marimo can't show that."""
    try:
        from .marimo_ledger import formatted

        return formatted(ledger)
    except Exception:
        return "text/html", ledger._repr_html_()


class _Cards:
    """A formatter that shows answers, and leaves others to the one before."""

    def __init__(self, before: Formatter) -> None:
        self._before = before

    def __call__(self, value: Any) -> tuple[str, str]:
        card = card_of(value)
        if card is not None:
            return "text/html", markup.html(card)
        if isinstance(value, Comparison | Curve) and (own := value._repr_html_()):
            return "text/html", own
        kind, shown = self._before(value)
        caption = caption_of(value) if kind == "text/html" else ""
        return kind, (html_tables.title(caption) if caption else "") + shown
