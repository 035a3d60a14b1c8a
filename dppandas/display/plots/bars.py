"""Numbers side by side: bars where 0 means none, else dots; both with their intervals.

Bars lie down where labels are long. With many keys all numbers are dots.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...statistics import Count, Sum
from .base import Floats, Panel, PlotTable, is_band, named
from .keys import MOST_BARS, KeyAxis, key_axis
from .marks import Marks, draw_crosses, draw_points
from .scales import Scale, by_noise, scale_of
from .style import FILLED, INK, TEAL, setting, shade, tidy

#: What is said of errors first.
LARGEST = "The largest error is "
#: Points of bars of the noise, where those of the population are thin.
THICK = 5.0


def row_of(table: PlotTable, title: str, caption: str, alike: Any = None) -> Panel:
    """Numbers side by side: bars where 0 means none, else dots."""
    scale = scale_of(table.record, table.places.to_numpy().reshape(-1))
    if table.places.size == 1 and table.places.index.tolist() == [""]:
        return Panel(title, lambda ax: _alone(ax, table, scale), caption, (6.4, 1.7), alike, "x")
    keys = key_axis(table.places.index)
    return Panel(
        title, lambda ax: _draw(ax, table, keys, scale), caption, keys.size, alike, keys.values
    )


def is_bars(table: PlotTable) -> bool:
    """Whether 0 means none, so that bars begin there, and the axis isn't cut."""
    statistic, entries = table.record._statistic, table.places.to_numpy().reshape(-1)
    is_count = entries.size > 0 and statistic.says(int(entries[0])) == "number"
    return table.record._layout.integer or is_count or isinstance(statistic, Count | Sum)


def _errors(table: PlotTable, scale: Scale) -> str:
    """The largest error in words: whiskers may be too short to be seen, or to be read off."""
    said = []
    if not table.is_of_population:
        most = float(np.nanmax(table.errors, initial=0))
        if np.isfinite(most):
            said.append(scale.beside(most))
    errors = table.population_errors
    if errors is not None and np.isfinite(errors).any():
        most = float(np.nanmax(errors))
        said = [f"{each} by noise" for each in said]
        said.append(f"{scale.beside(most)} for the population")
    return f"{LARGEST}{', '.join(said)}." if said else ""


def whiskers(
    ax: Any, at: Floats, low: Floats, high: Floats, is_down: bool = False,
    outer: tuple[Floats, Floats] | None = None,
) -> None:  # fmt: skip
    """Draw intervals, which may not contain the value: those of counts are cut at 0.

    With ``outer`` ones, for the population, these are thin and have caps, and the others are thick.
    Of many numbers they are bands.
    """
    few = len(at) <= MOST_BARS
    if is_band(len(at)):
        if outer is not None:
            _band(ax, at, *outer, is_down, INK, "_population")
        _band(ax, at, low, high, is_down, TEAL, "_interval")
        return
    if outer is None:
        how = {"elinewidth": 1.6 if few else 1.1, "capsize": 3 if few else 0, "capthick": 1.6}
        _whiskers(ax, at, low, high, is_down, "_interval", **how)
        return
    _whiskers(ax, at, low, high, is_down, "_interval", elinewidth=THICK if few else 2.5, capsize=0)
    draw_thin(ax, at, *outer, is_down=is_down)


def _band(
    ax: Any, at: Floats, low: Floats, high: Floats, is_down: bool, color: str, label: str
) -> None:
    """A band with a step for each interval: nothing is said of what is between numbers."""
    middles = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([[2 * at[0] - middles[0]], middles, [2 * at[-1] - middles[-1]]])
    fill = ax.fill_betweenx if is_down else ax.fill_between
    fill(
        edges, np.append(low, low[-1]), np.append(high, high[-1]), step="post", **shade(color),
        label=label, zorder=1.5,
    )  # fmt: skip


def draw_thin(ax: Any, at: Floats, low: Floats, high: Floats, *, is_down: bool) -> None:
    """Draw intervals for the population."""
    few = len(at) <= MOST_BARS
    wide = 1.2 if few else 0.7
    caps = {"capsize": 4 if few else 1.5, "capthick": wide}
    _whiskers(ax, at, low, high, is_down, "_population", elinewidth=wide, **caps)


def _whiskers(
    ax: Any, at: Floats, low: Floats, high: Floats, is_down: bool, label: str, **how: float
) -> None:
    middle, half = (low + high) / 2, (high - low) / 2
    if np.isnan(half).all():
        return
    x, y, along = (middle, at, "xerr") if is_down else (at, middle, "yerr")
    ax.errorbar(
        x, y, **{along: half}, fmt="none", ecolor=setting("text.color"), label=label, zorder=3,
        **how,
    )  # fmt: skip


def _draw(ax: Any, table: PlotTable, keys: KeyAxis, scale: Scale) -> str:
    if table.is_empty:
        ax.text(0.5, 0.5, "no labels were released", ha="center", transform=ax.transAxes)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        return ""
    values, low, high = (
        scale.positions(each.reshape(-1)) for each in (table.values, *table.ends)
    )  # fmt: skip
    marks, stands = table.marks.reshape(-1), is_bars(table)
    if stands and (keys.is_binned or len(values) <= MOST_BARS):
        _bars(ax, keys, values, marks)
    else:
        draw_dots(ax, keys, values, marks)
    outer = _outer(table, scale)
    whiskers(ax, keys.at, low, high, keys.is_down, outer)
    if stands:
        line, limits = (ax.axvline, ax.set_xlim) if keys.is_down else (ax.axhline, ax.set_ylim)
        line(0, color=setting("text.color"), linewidth=0.8)
        if np.nanmin([*values, *low, *(() if outer is None else outer[0])]) >= 0:
            limits(0, None)
    said = keys.dress(ax)
    across, down = (ax.yaxis, ax.xaxis) if keys.is_down else (ax.xaxis, ax.yaxis)
    scale.dress(down)
    down.set_label_text(_label(table, scale))
    across.set_label_text(named(keys.index) + (f" ({keys.zone})" if keys.zone else ""))
    tidy(ax, grid=keys.values)
    return " ".join(filter(None, [_errors(table, scale), marks.words, said]))


def _outer(table: PlotTable, scale: Scale) -> tuple[Floats, Floats] | None:
    """Where intervals for the population end, if it is asked about."""
    ends = table.population_ends
    if ends is None:
        return None
    low, high = (scale.positions(each.reshape(-1)) for each in ends)
    return low, high


def _label(table: PlotTable, scale: Scale) -> str:
    return "units of the population" if table.is_of_population else scale.label


def _bars(ax: Any, keys: KeyAxis, values: Floats, marks: Marks) -> None:
    inside = [(TEAL, 0.0 if hollow else FILLED) for hollow in marks.hollow]
    line = {"edgecolor": TEAL, "linewidth": 1.2 if len(values) <= 60 else 0.6, "zorder": 2}
    if keys.is_down:
        ax.barh(keys.at, values, height=keys.width, color=inside, **line)
    else:
        ax.bar(keys.at, values, width=keys.width, color=inside, **line)
    draw_crosses(ax, *_along(keys, values), marks, **_size(values))


def _along(keys: KeyAxis, values: Floats) -> tuple[Floats, Floats]:
    return (values, keys.at) if keys.is_down else (keys.at, values)


def _size(values: Floats) -> dict[str, Any]:
    few = len(values) <= MOST_BARS
    size = 6 if few else 3 if is_band(len(values)) else 4.5
    return {"markersize": size, "markeredgewidth": 1.3 if size > 3 else 0.9, "zorder": 4}


def draw_dots(ax: Any, keys: KeyAxis, values: Floats, marks: Marks) -> None:
    """Draw numbers as dots."""
    draw_points(ax, *_along(keys, values), marks, **_size(values))


def _alone(ax: Any, table: PlotTable, scale: Scale) -> str:
    numbers = [each.reshape(-1) for each in (table.values, *table.ends)]
    at, start, end = (scale.positions(each) for each in numbers)
    hollow = table.marks.reshape(-1).hollow
    marks = Marks(hollow, np.zeros(1, dtype=bool))  # a single number is of no group
    if is_bars(table):
        inside = (TEAL, 0.0 if hollow.any() else FILLED)
        ax.barh([0], at, height=0.6, color=[inside], edgecolor=TEAL, linewidth=1.2, zorder=2)
        ax.axvline(0, ymax=0.7, color=setting("text.color"), linewidth=0.8)
    else:
        draw_points(ax, at, [0], marks, zorder=4)
    whiskers(ax, np.zeros(1), start, end, True, _outer(table, scale))
    ax.text(0.5, 0.97, _in_words(table, scale), transform=ax.transAxes, va="top", ha="center")
    ax.margins(x=0.08)
    ax.set(ylim=(-0.5, 1.0), yticks=[], xlabel=_label(table, scale))
    scale.dress(ax.xaxis)
    ax.spines[["left", "top", "right"]].set_visible(False)
    return marks.words


def _in_words(table: PlotTable, scale: Scale) -> str:
    """A number and the ends of its intervals."""
    value, low, high = (float(each.reshape(-1)[0]) for each in (table.values, *table.ends))
    ends = table.population_ends
    told = scale.within(value, low, high)
    if ends is None or np.isnan(ends[0]).all():
        return str(told)
    outer = scale.within(value, *(float(each.reshape(-1)[0]) for each in ends))
    if table.is_of_population:
        return f"{outer.value} ({outer.said[1:-1]} for the population)"
    return by_noise(told, outer)
