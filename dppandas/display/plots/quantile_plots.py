"""Quantiles: dots on the distribution function, with bounds where errors in ranks become shares.

The released point v for the quantile q errs by at most r ranks: of n values, at most qn + r are
below v, and at least qn - r are at or below v. So if n is known, the distribution function F of the
values has F(x) ≥ q - r/n from v on, and F(x) ≤ q + r/n before v: a band over all x, with steps at
the released points only. Without n there are no bars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...rows.facts.bounds import Bounds
from ...statistics import Quantiles
from ...statistics.layout import format_number
from .bars import tidy
from .base import FILL, Floats, Panel, PlotTable, label_keys, made_by, percent, setting, text_of

MARKS = "osD^vP*X"
COLOURS = (FILL, "#c2571a", "#5b5fc7", "#8a6d1d", "#ad3f75", "#3f7d2e", "#5f7182", "#c04040")


@dataclass(frozen=True)
class Curve:
    """The quantiles of one column: a row for each group, a column for each quantile; NaN where a
    number isn't shown."""

    values: Floats
    ranks: Floats
    shares: list[float]
    groups: list[str]
    bounds: Bounds
    rows: float | None


def panels(statistic: Quantiles, table: PlotTable, title: str, rows: float | None) -> list[Panel]:
    """A panel for each column."""
    record = table.record
    shape = len(statistic.cells), len(statistic.quantiles), len(statistic.operands)
    kept = np.zeros(np.prod(shape), dtype=bool)
    kept[table.places.to_numpy().reshape(-1)] = True
    values = np.where(kept, statistic.estimate(record._noisy), np.nan).reshape(shape)
    ranks = np.array(record._errors_among(table.confidence))
    order = sorted(range(shape[1]), key=lambda i: statistic.quantiles[i])
    shares = [float(statistic.quantiles[i]) for i in order]
    groups, columns = _groups(table, statistic), _columns(table, statistic)
    shown = kept.reshape(shape)
    curves = []
    for i in range(shape[2]):
        cells = np.flatnonzero(shown[:, :, i].any(axis=1))
        if len(cells):
            some, off = (each[cells][:, order, i] for each in (values, ranks.reshape(shape)))
            named, known = [groups[cell] for cell in cells], rows if shape[0] == 1 else None
            curve = Curve(some, off, shares, named, statistic.bounds[i], known)
            curves.append((columns[i], curve))
    return [
        _panel(table, curve, title if len(curves) == 1 else f"{title}\n{column}", at == len(curves))
        for at, (column, curve) in enumerate(curves, 1)
    ]


def _groups(table: PlotTable, statistic: Quantiles) -> list[str]:
    index, cells = table.record._layout.index, len(statistic.cells)
    if index is None or not statistic.cells.by:
        return [""]
    levels, each = len(statistic.cells.by), len(index) // cells
    rows = [index[cell * each] for cell in range(cells)]
    return [text_of(row[:levels] if isinstance(row, tuple) else row) for row in rows]


def _columns(table: PlotTable, statistic: Quantiles) -> list[str]:
    layout, number = table.record._layout, len(statistic.operands)
    if number == 1:
        return [""]
    named = layout.index if layout.columns is None else layout.columns
    return [text_of(label) for label in named] if named is not None else [""] * number


def _panel(table: PlotTable, curve: Curve, title: str, is_last: bool) -> Panel:
    caption = _caption(table, curve) if is_last or curve.rows else ""
    if len(curve.groups) == 1 and not curve.groups[0]:
        return Panel(title, lambda ax: _draw_curve(ax, curve), caption, (6.4, 4.0))
    size = (max(6.4, min(18.0, 0.11 * len(curve.groups))), 4.0)
    return Panel(title, lambda ax: _draw_groups(ax, curve), caption, size)


def _caption(table: PlotTable, curve: Curve) -> str:
    record = table.record
    number = record._statistic.size
    most, sure = format_number(float(np.nanmax(curve.ranks))), percent(table.confidence)
    together = f", all {number} together" if number > 1 else ""
    if curve.rows:
        said = (
            f"Bars: ± {most} ranks at most ({sure}{together}), as shares of "
            f"{format_number(curve.rows)} values. Shaded: where the share of values at or below x "
            "then lies."
        )
    else:
        said = (
            f"No bars: a quantile errs in ranks, here by {most} at most ({sure}{together}); how "
            "far apart values are is private."
        )
    return f"{said} Of clipped values, and of the noise only. {made_by(record)}"


def _draw_curve(ax: Any, curve: Curve) -> None:
    values, ranks = curve.values[0], curve.ranks[0]
    shares = np.array(curve.shares)
    low, high = curve.bounds.lower, curve.bounds.upper
    if curve.rows:
        off = ranks / curve.rows
        at, least, most = band(values, shares - off, shares + off, low, high)
        ax.fill_between(at, least, most, color=FILL, alpha=0.18, linewidth=0, gid="band")
        below, above = np.clip(shares - off, 0, 1), np.clip(shares + off, 0, 1)
        ax.errorbar(
            values, (below + above) / 2, yerr=(above - below) / 2, fmt="none",
            ecolor=setting("text.color"), elinewidth=1.2, capsize=3, zorder=3,
        )  # fmt: skip
    else:
        ax.plot(values, shares, linestyle=":", color=FILL, linewidth=1, zorder=2)
    ax.plot(values, shares, "o", color=FILL, zorder=4, clip_on=False)
    room = 0.01 * (high - low)
    ax.set(xlim=(low - room, high + room), ylim=(-0.02, 1.02))
    ax.set_ylabel("share of values at or below")
    ax.set_xlabel(f"value, clipped to {format_number(low)} … {format_number(high)}")
    tidy(ax)


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


def _draw_groups(ax: Any, curve: Curve) -> None:
    at = np.arange(len(curve.groups), dtype="float64")
    if len(curve.shares) > 1:
        ax.vlines(
            at, np.nanmin(curve.values, axis=1), np.nanmax(curve.values, axis=1), color=FILL,
            linewidth=1, alpha=0.5, linestyle=":", zorder=1,
        )  # fmt: skip
    for i, share in enumerate(curve.shares):
        ax.plot(
            at, curve.values[:, i], MARKS[i % len(MARKS)], color=COLOURS[i % len(COLOURS)],
            label=f"{share:g}", zorder=3, markersize=6 if len(at) <= 40 else 4,
        )  # fmt: skip
    label_keys(ax, curve.groups)
    ax.set_ylabel("value")
    if len(curve.shares) > 1:
        ax.legend(title="quantile", fontsize=8, title_fontsize=8, loc="upper left",
                  bbox_to_anchor=(1.01, 1), frameon=False)  # fmt: skip
    tidy(ax)
