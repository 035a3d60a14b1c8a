"""Derived numbers: dots with their intervals, and a line at 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ...findings.answers import Derived
from ...statistics.layout import format_number
from .bars import draw_dots, whiskers
from .base import Floats, Panel, named, percent, text_of
from .keys import KeyAxis, key_axis
from .marks import Marks, draw_points, marks_of
from .scales import number_axis, rounded
from .style import plain, setting, tidy

#: How far beyond all finite ends a whisker reaches that has none, as a share of their distance.
BEYOND = 0.15
OPEN = "Whiskers that end at the edge have no end."


@dataclass(frozen=True)
class Column:
    """Numbers side by side, with the ends of their intervals."""

    values: Floats
    low: Floats
    high: Floats
    keys: KeyAxis
    unit: str
    marks: Marks


def panels(answer: Derived, confidence: float) -> list[Panel]:
    """A panel for each column."""
    found = answer._tidy_intervals(confidence)
    titles, index = [""], pd.Index([""])
    if isinstance(answer, pd.Series):
        titles = ["" if answer.name is None else text_of(answer.name)]
        index = answer.index
    elif isinstance(answer, pd.DataFrame):
        titles, index = list(map(text_of, answer.columns)), answer.index
    number, keys = len(found), key_axis(index)
    together = f"all {number} hold simultaneously" if number > 1 else "of this one number"
    caption = (
        f"Whiskers: {percent(confidence)} intervals, {together}; of the noise only. "
        f"{plain(answer._findings.source.capitalize())}."
    )
    size = (6.4, 1.7) if index.tolist() == [""] else keys.size
    made = []
    for i, title in enumerate(titles):
        of = found.iloc[i :: len(titles)]
        value, low, high = (of[name].to_numpy(dtype=float) for name in ("value", "low", "high"))
        units = {*of["unit"][of["value"].notna()]}
        marks = marks_of(of["noise_dominated"].tolist(), of["may_be_empty"].tolist())
        column = Column(value, low, high, keys, units.pop() if len(units) == 1 else "", marks)
        is_last = i == len(titles) - 1
        draw = partial(_draw, column=column)
        made.append(Panel(title, draw, caption if is_last else "", size, None, keys.values))
    return made


def _draw(ax: Any, column: Column) -> str:
    values, low, high, keys = column.values, column.low, column.high, column.keys
    each = np.concatenate([values, low, high])
    finite = each[np.isfinite(each)]
    least, most = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    room = BEYOND * (most - least or 1.0)
    is_open = bool(np.isinf(each).any())
    low, high = (np.clip(end, least - room, most + room) for end in (low, high))
    is_alone = keys.index.tolist() == [""]
    if is_alone:
        draw_points(ax, values, [0], column.marks, zorder=4)
        whiskers(ax, np.zeros(1), low, high, is_down=True)
        told = rounded(float(values[0]), float(column.high[0] - column.low[0]) / 2)
        ends = (format_number(float(end[0])) for end in (column.low, column.high))
        ax.text(0.5, 0.97, f"{told}, from {' to '.join(ends)}", transform=ax.transAxes, va="top",
                ha="center")  # fmt: skip
        ax.set(ylim=(-0.5, 1.0), yticks=[])
        ax.spines[["left", "top", "right"]].set_visible(False)
        ax.margins(x=0.08)
    else:
        draw_dots(ax, keys, values, column.marks)
        whiskers(ax, keys.at, low, high, keys.is_down)
    is_down = keys.is_down or is_alone
    if least - room <= 0 <= most + room:
        line = ax.axvline if is_down else ax.axhline
        line(0, color=setting("text.color"), linewidth=0.8)
    said = "" if is_alone else keys.dress(ax)
    across, along = (ax.yaxis, ax.xaxis) if is_down else (ax.xaxis, ax.yaxis)
    number_axis(along)
    along.set_label_text(plain(column.unit))
    if not is_alone:
        across.set_label_text(named(keys.index))
        tidy(ax, grid=keys.values)
    return " ".join(filter(None, [column.marks.words, OPEN if is_open else "", said]))
