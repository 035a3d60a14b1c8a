"""Numbers side by side: bars where 0 means none, else dots; both with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...release.answers.records import Record
from ...statistics import Count, Sum
from ...statistics.layout import format_number
from .base import FILL, Floats, Panel, PlotTable, label_keys, named, setting, text_of

#: With more entries than this, intervals have no caps.
CAPPED = 40


def row_of(table: PlotTable, title: str, caption: str) -> Panel:
    """Numbers side by side: bars where 0 means none, else dots."""
    number = len(table.places)
    if number == 1 and not table.is_empty and table.places.index.tolist() == [""]:
        return Panel(title, lambda ax: _alone(ax, table), caption, (6.4, 2.2))
    longest = max((len(text_of(label)) for label in table.places.index), default=0)
    size = (max(6.4, min(18.0, 0.11 * number)), 4.0 + 0.04 * max(0, longest - 8))
    if _bins(table.places.index) is not None:
        return Panel(title, lambda ax: _histogram(ax, table), caption, (6.4, 4.0))
    return Panel(title, lambda ax: _categories(ax, table), caption, size)


def is_bars(record: Record) -> bool:
    """Whether 0 means none, so that bars may begin there."""
    return record._layout.integer or isinstance(record._statistic, Count | Sum)


def whiskers(ax: Any, at: Floats, low: Floats, high: Floats) -> None:
    """Draw intervals, which may not contain the value: those of counts are cut at 0."""
    ax.errorbar(
        at, (low + high) / 2, yerr=(high - low) / 2, fmt="none", ecolor=setting("text.color"),
        elinewidth=1.2 if len(at) <= CAPPED else 0.8, capsize=3 if len(at) <= CAPPED else 0,
        zorder=3, label="_interval",
    )  # fmt: skip


def _alone(ax: Any, table: PlotTable) -> None:
    (value,), (low,), (high,) = (x.reshape(-1) for x in (table.values, *table.ends))
    if is_bars(table.record):
        ax.barh([0], [value], height=0.5, color=FILL, zorder=2)
    else:
        ax.plot([value], [0], "o", color=FILL, zorder=4)
    middle, half = (low + high) / 2, (high - low) / 2
    ink = setting("text.color")
    ax.errorbar([middle], [0], xerr=[half], fmt="none", ecolor=ink, capsize=4, zorder=3)
    said = f"{format_number(value)}, from {format_number(low)} to {format_number(high)}"
    ax.text(0.01, 0.97, said, transform=ax.transAxes, va="top", fontsize=9)
    ax.margins(x=0.08)
    ax.set(ylim=(-0.5, 0.9), yticks=[], xlabel=_quantity(table))
    tidy(ax, grid="x")


def _categories(ax: Any, table: PlotTable) -> None:
    at = np.arange(len(table.places), dtype="float64")
    if table.is_empty:
        ax.text(0.5, 0.5, "no labels were released", ha="center", transform=ax.transAxes)
        return
    values, (low, high) = table.values.reshape(-1), (e.reshape(-1) for e in table.ends)
    if is_bars(table.record):
        ax.bar(at, values, width=0.78, color=FILL, zorder=2)
        ax.axhline(0, color=setting("text.color"), linewidth=0.8)
    else:
        ax.plot(at, values, "o", color=FILL, markersize=5 if len(at) <= CAPPED else 3, zorder=4)
    whiskers(ax, at, low, high)
    label_keys(ax, [text_of(label) for label in table.places.index])
    ax.set(ylabel=_quantity(table), xlabel=named(table.places.index))
    tidy(ax)


def _bins(index: pd.Index) -> list[tuple[float, float]] | None:
    """The ends of bins of one width; None where bars as wide as the bins would mislead."""
    if not isinstance(index, pd.IntervalIndex) or not len(index):
        return None
    if not pd.api.types.is_numeric_dtype(index.dtype.subtype):  # type: ignore[union-attr]
        return None
    ends = [(float(each.left), float(each.right)) for each in index]
    widths = np.array([b - a for a, b in ends])
    finite = bool(np.isfinite(widths).all())
    return ends if finite and np.ptp(widths) <= 1e-9 * widths.max() else None


def _histogram(ax: Any, table: PlotTable) -> None:
    ends = _bins(table.places.index) or []
    left, width = np.array([a for a, _ in ends]), ends[0][1] - ends[0][0]
    values, (low, high) = table.values.reshape(-1), (e.reshape(-1) for e in table.ends)
    edge = setting("axes.facecolor")
    narrow = 0.8 if len(left) <= 60 else 0.0
    ax.bar(left, values, width=width, align="edge", color=FILL, edgecolor=edge, linewidth=narrow)
    whiskers(ax, left + width / 2, low, high)
    ax.axhline(0, color=setting("text.color"), linewidth=0.8)
    ax.set(ylabel=_quantity(table), xlabel=named(table.places.index))
    tidy(ax)


def _quantity(table: PlotTable) -> str:
    record = table.record
    if record._layout.integer:
        return "noisy count"
    if isinstance(record._statistic, Count):
        return "share"
    names = [n for n in table.places.columns if isinstance(n, str) and n]
    return text_of(names[0]) if len(names) == 1 else "noisy answer"


def tidy(ax: Any, grid: str = "y") -> None:
    ax.grid(axis=grid, alpha=0.3, zorder=0)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
