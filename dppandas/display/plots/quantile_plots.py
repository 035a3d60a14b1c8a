"""Quantiles: dots on the distribution function, with bounds where errors in ranks become shares.

The released point v for the quantile q errs by at most r ranks: of n values, at most qn + r are
below v, and at least qn - r are at or below v. So if n is known, the distribution function F of the
values has F(x) ≥ q - r/n from v on, and F(x) ≤ q + r/n before v: a band over all x, with steps at
the released points only. Without n there are no bars.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...dataclasses import dataclass
from ...errors import QueryError
from ...rows.facts.bounds import Bounds
from ...rows.figures import format_fact
from ...statistics import Quantiles
from ...statistics.layout import format_error, format_number
from .bars import THICK, draw_thin, whiskers
from .base import (
    BAND,
    Floats,
    Panel,
    PlotTable,
    is_band,
    made_by,
    named,
    percent,
    said_of_population,
    text_of,
    texts_of,
)
from .keys import MOST_BARS, KeyAxis, key_axis
from .marks import Marks, draw_points, marks_of
from .scales import Scale, number_axis, scale_of
from .style import COLOURS, MARKS, TEAL, setting, shade, tidy


@dataclass(frozen=True)
class Curve:
    """The quantiles of one column: a row for each group, a column for each quantile; NaN where a
    number isn't shown."""

    values: Floats
    ranks: Floats
    shares: list[float]
    groups: pd.Index | None
    bounds: Bounds
    rows: float | None
    scale: Scale
    marks: Marks
    ends: Floats | None = None  # both ends of intervals, if there are any
    outer: Floats | None = None  # those for the population, if it is asked about


def panels(statistic: Quantiles, table: PlotTable, rows: float | None) -> list[Panel]:
    """A panel for each column."""
    record = table.record
    shape = len(statistic.cells), len(statistic.quantiles), len(statistic.operands)
    kept, shown_at = np.zeros(np.prod(shape), dtype=bool), table.places.to_numpy().reshape(-1)
    kept[shown_at] = True
    in_order = np.array(list(dict.fromkeys(shown_at // (shape[1] * shape[2]))), dtype=np.int64)
    values = np.where(kept, record._values(), np.nan).reshape(shape)
    ranks = np.array(record._errors_among(table.confidence)).reshape(shape)
    marks = marks_of(*record._flags()).reshape(*shape)
    ends, outer = _intervals(table, shape), _outer(table, shape)
    order = sorted(range(shape[1]), key=lambda i: statistic.quantiles[i])
    shares = [float(statistic.quantiles[i]) for i in order]
    groups, columns, shown = _groups(table, statistic), _columns(table), kept.reshape(shape)
    known = rows if shape[0] == 1 else None
    curves = {}
    for i, column in enumerate(columns):
        cells = in_order[shown[in_order, :, i].any(axis=1)]
        if len(cells):
            some, off = (each[cells][:, order, i] for each in (values, ranks))
            keys = None if groups is None else groups[cells]
            scale = scale_of(
                record, np.flatnonzero(kept.reshape(-1, shape[2])[:, i]) * shape[2] + i
            )
            own, wide = (
                None if each is None else each[:, cells][:, :, order, i] for each in (ends, outer)
            )
            marked = marks.at(cells).at((slice(None), order, i))
            curves[column] = Curve(
                some, off, shares, keys, statistic.bounds[i], known, scale, marked, own, wide
            )
    titles = [
        record._question.about(columns=None if len(curves) == 1 else [column]).title
        for column in curves
    ]  # fmt: skip
    return [
        _panel(table, curve, title, at == len(curves))
        for at, (curve, title) in enumerate(zip(curves.values(), titles, strict=True), 1)
    ]


def _intervals(table: PlotTable, shape: tuple[int, ...]) -> Floats | None:
    """The lower and upper ends of all intervals, if they were asked for."""
    if table.record._statistic.errors.no_interval:
        return None
    ends: Floats = np.array(table.record._intervals(table.confidence)).T.reshape(2, *shape)
    return ends


def _outer(table: PlotTable, shape: tuple[int, ...]) -> Floats | None:
    """The same for the population, if it is asked about and they say something of it."""
    found = table.population
    if found is None or not any(found.ways):
        return None
    if shape[0] > 1:
        raise QueryError(
            "quantiles by group are drawn without intervals. "
            'Read them off dp.intervals(answer, of="population").'
        )
    ends: Floats = np.array([found.lows, found.highs], dtype=float).reshape(2, *shape)
    return ends


def _groups(table: PlotTable, statistic: Quantiles) -> pd.Index | None:
    """The keys; None without any."""
    index, cells = table.record._layout.index, len(statistic.cells)
    if index is None or not statistic.cells.by:
        return None
    levels, each = len(statistic.cells.by), len(index) // cells
    firsts = index[::each]
    return firsts if index.nlevels == levels else firsts.droplevel(-1)  # type: ignore[arg-type]


def _columns(table: PlotTable) -> list[str]:
    layout, statistic = table.record._layout, table.record._statistic
    number = len(statistic.operands)  # type: ignore[attr-defined]
    if number == 1:
        return ["" if layout.name is None else text_of(layout.name)]
    named = layout.index if layout.columns is None else layout.columns
    return texts_of(named) if named is not None else [""] * number


def _panel(table: PlotTable, curve: Curve, title: str, is_last: bool) -> Panel:
    caption = _caption(table, curve) if is_last or curve.rows else ""
    if curve.groups is None:
        return Panel(title, lambda ax: _draw_curve(ax, curve), caption)
    keys = key_axis(curve.groups)
    return Panel(title, lambda ax: _draw_groups(ax, curve, keys), caption, keys.size)


def _caption(table: PlotTable, curve: Curve) -> str:
    record = table.record
    number = len(record._values())
    most, sure = format_error(float(np.nanmax(curve.ranks))), percent(table.confidence)
    together = f", all {number} together" if number > 1 else ""
    if curve.rows:
        said = (
            f"Whiskers: ± {most} ranks at most ({sure}{together}), as shares of "
            f"{format_number(curve.rows)} values. Shaded: where the share of values at or below x "
            "then lies."
        )
    elif curve.ends is not None:
        lines = "Lines:" if curve.outer is None else "Thick lines:"
        lines = f"{BAND}:" if curve.groups is not None and is_band(len(curve.groups)) else lines
        what = lines if _draws_intervals(curve) else "dp.intervals has"
        said = f"{what} intervals of values ({sure}{together}), by ranks off by {most} at most."
    else:
        said = (
            f"No whiskers: a quantile errs in ranks, here by {most} at most ({sure}{together}); "
            "how far apart values are is private."
        )
    said = f"{said} Of clipped values, and of the noise only."
    if table.population is not None:
        said = f"{said} {said_of_population(table.population.ways, table.confidence)}"
    return f"{said} {made_by(record)}"


def _draws_intervals(curve: Curve) -> bool:
    """Whether intervals are drawn: those of several quantiles of a group would hide each other."""
    return curve.ends is not None and (curve.groups is None or len(curve.shares) == 1)


def _draw_curve(ax: Any, curve: Curve) -> str:
    ranks, shares, scale = curve.ranks[0], np.array(curve.shares), curve.scale
    ends = curve.bounds.lower, curve.bounds.upper
    values, (low, high) = scale.positions(curve.values[0]), scale.positions(ends)
    if curve.rows:
        off = ranks / curve.rows
        at, least, most = band(values, shares - off, shares + off, low, high)
        ax.fill_between(at, least, most, **shade(TEAL), gid="band")
        below, above = np.clip(shares - off, 0, 1), np.clip(shares + off, 0, 1)
        whiskers(ax, values, below, above)
    else:
        ax.plot(values, shares, linestyle=":", color=TEAL, linewidth=1, zorder=2)
    marks = Marks(curve.marks.hollow[0], np.zeros(len(shares), dtype=bool))  # of no group
    draw_points(ax, values, shares, marks, zorder=4, clip_on=False)
    if curve.ends is not None:
        least, most = (scale.positions(each[0]) for each in curve.ends)
        thick = 2.0 if curve.outer is None else THICK
        ax.hlines(shares, least, most, color=TEAL, linewidth=thick, zorder=3, gid="intervals")
    if curve.outer is not None:
        ends_of_all = (scale.positions(each[0]) for each in curve.outer)
        draw_thin(ax, shares, *ends_of_all, is_down=True)
    room = 0.01 * (high - low)
    ax.set(xlim=(low - room, high + room), ylim=(-0.02, 1.02))
    ax.set_ylabel("share of values at or below")
    said = format_fact(curve.bounds).replace(" to ", " … ")
    ax.set_xlabel(f"{scale.label or 'value'}, clipped to {said}")
    scale.dress(ax.xaxis)
    number_axis(ax.yaxis, is_share=True)
    tidy(ax)
    return marks.words


def band(
    values: Floats, least: Floats, most: Floats, low: float, high: float
) -> tuple[Floats, Floats, Floats]:
    """The corners of the band around the distribution function, from one bound to the other.

    Between two neighbouring points the band goes from the largest `least` of the points before to
    the smallest `most` of the points after.
    """
    order = np.argsort(values, kind="stable")
    points, least, most = values[order], least[order], most[order]
    lower = np.maximum.accumulate(np.concatenate([[0.0], least]))
    upper = np.minimum.accumulate(np.concatenate([most, [1.0]])[::-1])[::-1]
    ends = np.concatenate([[low], points, [high]])
    at = np.repeat(ends, 2)[1:-1]
    return at, np.repeat(np.clip(lower, 0, 1), 2), np.repeat(np.clip(upper, 0, 1), 2)


def _draw_groups(ax: Any, curve: Curve, keys: KeyAxis) -> str:
    """Marks over the whole of the public bounds: without intervals, a cut axis would make more of
    differences than is known."""
    values, scale, few = curve.scale.positions(curve.values), curve.scale, len(keys.at) <= MOST_BARS
    low, high = scale.positions((curve.bounds.lower, curve.bounds.upper))
    if len(curve.shares) > 1:
        between = np.nanmin(values, axis=1), np.nanmax(values, axis=1)
        draw = ax.hlines if keys.is_down else ax.vlines
        draw(keys.at, *between, color=setting("text.color"), linewidth=1, zorder=1)
    if curve.ends is not None and _draws_intervals(curve):
        least, most = (scale.positions(each[:, 0]) for each in curve.ends)
        whiskers(ax, keys.at, least, most, keys.is_down)
    for i, share in enumerate(curve.shares):
        x, y = (values[:, i], keys.at) if keys.is_down else (keys.at, values[:, i])
        draw_points(
            ax, x, y, curve.marks.at((slice(None), i)), MARKS[i % len(MARKS)],
            color=COLOURS[i % len(COLOURS)], label=f"{share:.12g}", linestyle="none", zorder=3,
            markersize=6 if few else 4, clip_on=False,
        )  # fmt: skip
    said = keys.dress(ax)
    across, down = (ax.yaxis, ax.xaxis) if keys.is_down else (ax.xaxis, ax.yaxis)
    scale.dress(down)
    room = 0.02 * (high - low or 1)
    (ax.set_xlim if keys.is_down else ax.set_ylim)(low - room, high + room)
    down.set_label_text(scale.label or "value")
    across.set_label_text(named(keys.index))
    if len(curve.shares) > 1:
        handles, labels = ax.get_legend_handles_labels()
        order = slice(None) if keys.is_down else slice(None, None, -1)  # as they stand
        ax.legend(
            handles[order], labels[order], title="quantile", fontsize=9, title_fontsize=9,
            loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False,
        )  # fmt: skip
    tidy(ax, grid=keys.values)
    return " ".join(filter(None, ["The axis spans the public bounds.", curve.marks.words, said]))
