"""Plots of released answers, made of their records alone: values, intervals, and what they mean.

A caption below each plot says what its bars are. A record without an interval of values has no
bars: quantiles err in ranks, so the caption gives their error in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ...errors import QueryError, RecordError, hide_internals, quoted
from ...privacy.mechanisms.selection import Selection
from ...release.accuracy import expected
from ...release.accuracy.expected import CONFIDENCE
from ...release.answers import results
from ...release.answers.record_bundle import RecordBundle
from ...release.answers.records import Record
from ...release.private import Private
from ...statistics import Moments, Quantiles
from ...statistics.counting.unknown_keys import Sparse
from ...statistics.suggested_bounds import BoundsHistogram
from . import heatmaps, quantile_plots
from .bars import row_of
from .base import Panel, PlotTable, placed, pyplot, said_of, text_of, titled, write_below

#: The most panels of one plot.
MOST_PANELS = 12


@hide_internals
def plot(
    result: Any,
    *,
    ax: Any = None,
    confidence: float = CONFIDENCE,
    expected_rows: float | None = None,
) -> Any:
    """Plot a released answer together with the error that its noise may have caused.

    result : a released answer, a part of it (``head``, a column, sorted), or its `Record`. Answers
        of ``agg`` and ``describe`` have a panel for each record.
    ax : matplotlib Axes to draw on, as many as there are panels; else a new figure.
    confidence : of the intervals, which hold together for all numbers of one record; for labels
        released under a δ, for each label by itself.
    expected_rows : for quantiles, about how many values there are, from public knowledge: then
        errors in ranks become shares, and the distribution function has bounds.

    Returns the Axes, or an array of them if there are several panels. Counts and sums are bars,
    means and the like are dots, both with their intervals; bars of histograms are as wide as the
    bins; tables and correlations are heat maps, with the noise level on the colour bar, and with
    cells hatched whose interval includes 0. A quantile errs in ranks, so it has no bar along its
    value. The caption says what the bars are: their confidence, how many hold together, that they
    cover the noise only, the mechanism, its loss, and whom it protects.

    Raises `RecordError` for an object without a record, or whose numbers have no error to draw,
    and `QueryError` for other arguments. Needs matplotlib: ``pip install dppandas[plots]``.

    *Guarantee*: post-processing. Only the record is used: no row is read, and nothing is charged.

    >>> import pandas as pd, dppandas as dp
    >>> import matplotlib; matplotlib.use("Agg")
    >>> df = pd.DataFrame({"g": ["a", "b"] * 99})
    >>> axes = dp.plot(df.dp["g"].value_counts(sort=False, keys=["a", "b"], epsilon=1))
    >>> len(axes.patches), [text.get_text() for text in axes.get_xticklabels()]
    (2, ['a', 'b'])
    """
    confidence = expected.parse_confidence(confidence)
    rows = expected.parse_rows(expected_rows)
    panels = [p for piece in _pieces(result) for p in _panels(*piece, confidence, rows)]
    if len(panels) > MOST_PANELS:
        raise RecordError(
            f"this takes {len(panels)} panels, and a plot has {MOST_PANELS} at most. Draw fewer "
            "columns, as dp.plot(result[['a', 'b']]), or one of dp.record(result).components."
        )
    axes = _axes(ax, panels)
    for panel, each in zip(panels, axes, strict=True):
        panel.draw(each)
        each.set_title(panel.title, fontsize="medium")
        write_below(each, panel.caption)
    return axes[0] if len(panels) == 1 else np.array(axes, dtype=object)


def _pieces(result: Any) -> list[tuple[str, Record, Any]]:
    """What to draw: a name if there are several, a record, and the part of it (None for all)."""
    if isinstance(result, Private):
        raise RecordError(
            "this is not released yet. Plot the result of a release, as .release(epsilon=0.1)."
            if result._is_answer
            else f"a {type(result).__name__} shows no rows, so it has no plot. Plot an answer, "
            "such as .value_counts(epsilon=0.1)."
        )
    if isinstance(result, Record):
        return [("", result, None)]
    record = result if isinstance(result, RecordBundle) else results.record(result)
    if isinstance(record, RecordBundle):
        return [(name, each, None) for name, each in record.components.items()]
    return [("", record, result if isinstance(result, pd.Series | pd.DataFrame) else None)]


def _panels(
    name: str, record: Record, part: Any, confidence: float, rows: float | None
) -> list[Panel]:
    _refuse_what_has_no_bars(record)
    statistic = record._statistic
    if rows is not None and not isinstance(statistic, Quantiles):
        raise QueryError("expected_rows= is for quantiles, which err in ranks. Leave it out.")
    table = PlotTable(record, placed(record, part), confidence)
    title, caption = titled(name, record), said_of(record, confidence)
    if isinstance(statistic, Quantiles):
        return quantile_plots.panels(statistic, table, title, rows)
    columns = record._layout.columns
    if isinstance(statistic, Moments):
        return _by_figure(table, title, caption)
    if columns is None or table.is_empty:
        return [row_of(table, title, caption)]
    if not isinstance(statistic, Sparse) and heatmaps.is_table(record):
        draw, size, more = heatmaps.drawn(table)
        return [Panel(title, draw, f"{said_of(record, confidence, '± and marks')} {more}", size)]
    number = len(table.places.columns)
    return [
        row_of(table.part(slice(None), [i]), f"{title}\n{text_of(column)}" if number > 1
                else title, caption if i == number - 1 else "")
        for i, column in enumerate(table.places.columns)
    ]  # fmt: skip


def _refuse_what_has_no_bars(record: Record) -> None:
    statistic = record._statistic
    if record.preview:
        raise RecordError("a preview has no answer to draw. Leave the preview, and release it.")
    if isinstance(record._law, Selection):
        raise RecordError(
            "a selected label has no plot, because no number was released. .error() says how far "
            "its score may be below the best. Released counts by key can be plotted."
        )
    if statistic.layout.rulers:
        raise RecordError(
            "times and durations have no plot: bars begin at zero, and times have no zero. Use "
            "dp.record(result).intervals() for their intervals, or plot counts by .hist()."
        )
    if isinstance(statistic, BoundsHistogram):
        raise RecordError(
            "suggested bounds have no plot: two ends and a share aren't on one scale. Use "
            "dp.record(result).intervals() for the interval of each."
        )
    if statistic.no_interval and type(statistic) is not Quantiles:
        raise RecordError(f"a plot without errors would mislead. {statistic.no_interval}")


def _by_figure(table: PlotTable, title: str, caption: str) -> list[Panel]:
    """A panel for each figure of each column: counts, means and deviations share no scale."""
    labels = [text_of(row[-1] if isinstance(row, tuple) else row) for row in table.places.index]
    columns, panels = len(table.places.columns), []
    for column, of in enumerate(table.places.columns):
        for figure in dict.fromkeys(labels):
            part = table.part([i for i, label in enumerate(labels) if label == figure], [column])
            index = part.places.index
            keys = index.droplevel(-1) if index.nlevels > 1 else pd.Index([""])  # type: ignore[arg-type]
            places = part.places.set_axis(keys, axis=0).set_axis([figure], axis=1)
            what = f"{figure} of {text_of(of)}" if columns > 1 else figure
            panels.append(row_of(replace(part, places=places), f"{title}\n{what}", ""))
    return [*panels[:-1], replace(panels[-1], caption=caption)]


def _axes(ax: Any, panels: Sequence[Panel]) -> list[Any]:
    """The caller's axes, or those of a new figure, one below the other."""
    plt = pyplot()
    if ax is None:
        wide, high = max(p.size[0] for p in panels), [p.size[1] for p in panels]
        if len(panels) > 1:
            high = [0.8 * each + 0.3 for each in high]
        _, made = plt.subplots(
            len(panels), 1, figsize=(wide, sum(high)), layout="constrained", squeeze=False,
            height_ratios=high,
        )  # fmt: skip
        return list(made.reshape(-1))
    given = list(np.asarray(ax, dtype=object).reshape(-1))
    if not all(hasattr(each, "errorbar") for each in given):
        raise QueryError(f"ax={quoted(ax)} must be matplotlib Axes.")
    if len(given) != len(panels):
        raise QueryError(
            f"this takes {len(panels)} Axes, and ax= has {len(given)}. Leave ax= out, or make them "
            f"by plt.subplots({len(panels)})."
        )
    return given
