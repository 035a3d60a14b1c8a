"""Derived numbers: dots with their intervals, and a line at 0."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ...dataclasses import dataclass, replace
from ...findings.answers import Derived, DerivedSeries
from ...findings.comparisons import ALIKE, Comparison
from ...rows.figures import within
from ...statistics.samples import How
from .bars import draw_dots, whiskers
from .base import (
    BAND,
    INNER,
    Floats,
    Panel,
    is_band,
    named,
    percent,
    said_of_population,
    text_of,
    texts_of,
    together,
)
from .keys import KeyAxis, key_axis
from .marks import Marks, draw_points, marks_of
from .scales import by_noise, number_axis
from .style import plain, setting, tidy

#: How far beyond all finite ends a whisker reaches that has none, as a share of their distance.
BEYOND = 0.15
#: How many labels a caption names.
NAMED = 6
OPEN = "Intervals that end at the edge have no end."


@dataclass(frozen=True)
class Column:
    """Numbers side by side, with the ends of their intervals."""

    values: Floats
    low: Floats
    high: Floats
    keys: KeyAxis
    unit: str
    marks: Marks
    outer: tuple[Floats, Floats] | None = None  # of intervals for the population


def panels(answer: Derived, confidence: float, how: How | None = None) -> list[Panel]:
    """A panel for each column, with intervals for the population if it is asked how."""
    found = answer._tidy_intervals(confidence)
    beyond = None if how is None else answer._tidy_intervals(confidence, how)
    titles, index = [""], pd.Index([""])
    if isinstance(answer, pd.Series):
        titles = ["" if answer.name is None else text_of(answer.name)]
        index = answer.index
    elif isinstance(answer, pd.DataFrame):
        titles, index = texts_of(answer.columns), answer.index
    keys, source = key_axis(index), f"{plain(answer._findings.source.capitalize())}."
    said = f"{percent(confidence)} intervals, {together(len(found))}; of the noise only."
    bands = is_band(len(index))
    caption = f"{BAND if bands else 'Whiskers'}: {said} {source}"
    if beyond is not None:
        thin = said_of_population(beyond["method"].tolist(), confidence, bands)
        caption = f"{INNER if bands else 'Thick bars'}: {said} {thin} {source}"
    size = (6.4, 1.7) if index.tolist() == [""] else keys.size
    made = []
    for i, title in enumerate(titles):
        of = found.iloc[i :: len(titles)]
        value, low, high = (of[name].to_numpy(dtype=float) for name in ("value", "low", "high"))
        units = {*of["unit"][of["value"].notna()]}
        marks = marks_of(of["noise_dominated"].tolist(), of["may_be_empty"].tolist())
        outer = None
        if beyond is not None:
            least, most = (beyond[name].to_numpy(dtype=float) for name in ("low", "high"))
            outer = least[i :: len(titles)], most[i :: len(titles)]
        unit = units.pop() if len(units) == 1 else ""
        column = Column(value, low, high, keys, unit, marks, outer)
        is_last = i == len(titles) - 1
        draw = partial(_draw, column=column)
        made.append(Panel(title, draw, caption if is_last else "", size, None, keys.values))
    return made


def _draw(ax: Any, column: Column) -> str:
    values, low, high, keys = column.values, column.low, column.high, column.keys
    each = np.concatenate([values, low, high, *(column.outer or ())])
    finite = each[np.isfinite(each)]
    least, most = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    room = BEYOND * (most - least or 1.0)
    is_open = bool(np.isinf(each).any())
    low, high, *outer = (
        np.clip(end, least - room, most + room) for end in (low, high, *(column.outer or ()))
    )
    thin = (outer[0], outer[1]) if outer else None
    is_alone = keys.index.tolist() == [""]
    if is_alone:
        draw_points(ax, values, [0], column.marks, zorder=4)
        whiskers(ax, np.zeros(1), low, high, True, thin)
        ax.text(0.5, 0.97, _in_words(column), transform=ax.transAxes, va="top", ha="center")
        ax.set(ylim=(-0.5, 1.0), yticks=[])
        ax.spines[["left", "top", "right"]].set_visible(False)
        ax.margins(x=0.08)
    else:
        draw_dots(ax, keys, values, column.marks)
        whiskers(ax, keys.at, low, high, keys.is_down, thin)
    is_down = keys.is_down or is_alone
    if least - room <= 0 <= most + room:
        line = ax.axvline if is_down else ax.axhline
        most_of_it = {"ymax": 0.7} if is_alone else {}  # the ends are written above
        line(0, color=setting("text.color"), linewidth=0.8, **most_of_it)
    said = "" if is_alone else keys.dress(ax)
    across, along = (ax.yaxis, ax.xaxis) if is_down else (ax.xaxis, ax.yaxis)
    number_axis(along)
    along.set_label_text(plain(column.unit))
    if not is_alone:
        across.set_label_text(named(keys.index))
        tidy(ax, grid=keys.values)
    return " ".join(filter(None, [column.marks.words, OPEN if is_open else "", said]))


def _in_words(column: Column) -> str:
    """A single number and the ends of its intervals."""
    value, low, high = (float(each[0]) for each in (column.values, column.low, column.high))
    told = within(value, low, high)
    if column.outer is None:
        return str(told)
    return by_noise(told, within(value, *(float(end[0]) for end in column.outer)))


# comparisons


def panels_of_comparison(found: Comparison) -> list[Panel]:
    """Its differences, and in words which of them may be 0."""
    difference = found._difference
    (panel,) = panels(difference, found._confidence, found._how)
    labels = list(difference.index) if isinstance(difference, DerivedSeries) else [""]
    title = panel.title if len(labels) > 1 or labels[0] != "" else text_of(found.index[0])
    ends = difference._tidy_intervals(found._confidence, found._how)[["low", "high"]].to_numpy()
    about = "in the population" if found._how is not None else "on these rows"
    caption = f"{plain(found._said)} {_concluded(labels, ends, about)} {panel.caption}"
    return [replace(panel, title=title, caption=caption)]


def _concluded(labels: list[Any], ends: Floats, about: str) -> str:
    """Which differences may be 0."""
    known = ~np.isnan(ends[:, 0])
    zero = known & (ends[:, 0] <= 0) & (ends[:, 1] >= 0)
    if len(labels) == 1:
        return f"The two {ALIKE if zero.all() else f'differ {about}'}." if known.all() else ""
    if not zero.any():
        return f"All differ {about}." if known.any() else ""
    alike = [text_of(label) for label, may_be in zip(labels, zero, strict=True) if may_be]
    more = f" and {len(alike) - NAMED} more" if len(alike) > NAMED else ""
    return f"{ALIKE.capitalize()}: {', '.join(alike[:NAMED])}{more}."
