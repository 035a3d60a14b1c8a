"""Curves of what a choice costs: a table that says what it is, and that `dppandas.plot` draws."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..rows import html_tables
from ..rows.sentences import in_lines


class Curve(pd.DataFrame):  # type: ignore[misc,unused-ignore]
    """What each of several bounds or limits costs: a DataFrame with the columns noise, bias_low,
    bias_high and total, that `dppandas.plot` draws. What pandas computes from it is a plain
    DataFrame."""

    _metadata = ["_title", "_said"]  # noqa: RUF012  (pandas' own name)

    _title: str
    _said: tuple[str, ...]  # what the columns are, each a sentence

    @classmethod
    def of(cls, table: pd.DataFrame, title: str, said: tuple[str, ...]) -> Curve:
        """A table with what is said of it."""
        made = cls(table)
        made._title, made._said = title, said
        return made

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def __repr__(self) -> str:
        return "\n".join([in_lines(self._title), self.to_string(), in_lines(*self._said)])

    def _repr_html_(self) -> str | None:
        table, feet = html_tables.of_frame(self).html(), map(html_tables.foot, self._said)
        return html_tables.card("curve", html_tables.title(self._title), table, *feet)
