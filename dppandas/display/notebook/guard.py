"""The display guard: a notebook's outputs show the schema of a protected frame, not its rows.

It guards against accidents, not against attackers; docs/threat_model.md lists its holes.
"""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd
from IPython.display import display

from ...release.session import identities
from ...rows.facts.keys import SOURCE_ATTR


class Guard:
    """Displays frames and columns that carry a source's token in place of IPython."""

    def __init__(self, shell: Any) -> None:
        self._formatter = shell.display_formatter.ipython_display_formatter
        self._before: dict[type, Any] = {}

    @property
    def is_on(self) -> bool:
        return bool(self._before)

    def on(self) -> None:
        """Guard what is displayed from now on."""
        if not self.is_on:
            for kind in (pd.DataFrame, pd.Series):
                self._before[kind] = self._formatter.for_type(kind, show)

    def off(self) -> None:
        """Display everything again."""
        for kind, before in self._before.items():
            self._formatter.pop(kind, None)
            if before is not None:
                self._formatter.for_type(kind, before)
        self._before = {}


def show(table: Any) -> None:
    """Display the schema of a guarded table; leave any other table to IPython."""
    token = table.attrs.get(SOURCE_ATTR)
    if token is None:
        raise NotImplementedError  # IPython tries the next formatter
    known = identities.get(str(token))
    name = "a source of another process" if known is None else f"source {known.source.name!r}"
    names = list(table.columns) if isinstance(table, pd.DataFrame) else [table.name]
    public = () if known is None else known.columns  # other names may be made of rows, by a pivot
    shown = [str(name) for name in names if name in public]
    shown += ["…"] if len(shown) < len(names) else []
    kind = "frame" if isinstance(table, pd.DataFrame) else "column"
    text = (
        f"<{kind} of {name}, rows not shown: {', '.join(shown)}. Ask through .dp; "
        "%dp guard off shows it>"
    )
    display({"text/plain": text, "text/html": f"<p>{escape(text)}</p>"}, raw=True)
