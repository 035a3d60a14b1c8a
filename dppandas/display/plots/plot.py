"""Pictures of released answers, made of their records alone: values, intervals, and what both are.

Every picture says below itself what its bars are. Where a record has no interval of values, there
are no bars: quantiles err in ranks, and what only words can say stands in the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...errors import QueryError, RecordError, hide_internals, quoted
from ...privacy.mechanisms.selection import Selection
from ...release import results
from ...release.accuracy import expected
from ...release.accuracy.expected import CONFIDENCE
from ...release.private import Private
from ...release.record_bundle import RecordBundle
from ...release.records import Record
from ...statistics import Moments, Quantiles
from ...statistics.counting.unknown_keys import Sparse
from ...statistics.suggested_bounds import BoundsHistogram
from . import heatmaps, quantile_plots
from .bars import row_of
from .base import Panel, PlotTable, placed, pyplot, said_of, text_of, titled, write_below

#: Panels of one picture.
MOST_PANELS = 12


@hide_internals
def plot(
    result: Any,
    *,
    ax: Any = None,
    confidence: float = CONFIDENCE,
    expected_rows: float | None = None,
) -> Any:
    """A picture of a released answer, with what its noise may have changed.

    result : what a release gave, part of it (``head``, a column, sorted), or its `Record`. What
        ``agg`` and ``describe`` gave has one panel for each record.
    ax : matplotlib Axes to draw on, as many as there are panels; else a new figure.
    confidence : of the intervals, which hold together for all numbers of one record; of labels told
        under a δ for each label by itself.
    expected_rows : of quantiles, about how many values there are, from public knowledge: the ranks
        that they may be off become shares, and the distribution function has bounds.

    Returns the Axes; an array of them where there are several panels. Counts and sums are bars,
    means and the like dots, both with their intervals; histograms have their bins' widths; tables
    and correlations are heat maps, with the noise level on the colour bar and cells hatched whose
    interval includes 0. A quantile errs in ranks, so it has no bar along values. The text below
    says what the bars are: confidence, how many hold together, that they are of the noise only,
    the mechanism, its loss, and whom it protects.

    Raises `RecordError` where no record belongs or none of its numbers has an error to draw, and
    `QueryError` for other arguments. It takes matplotlib: ``dppandas[plots]``.

    *Guarantee*: post-processing. Nothing but the record is used: no row is read, nothing charged.

    >>> import pandas as pd, dppandas as dp
    >>> import matplotlib; matplotlib.use("Agg")
    >>> df = pd.DataFrame({"g": ["a", "b"] * 99})
    >>> axes = dp.plot(df.dp["g"].value_counts(sort=False, keys=["a", "b"], epsilon=1))
    >>> len(axes.patches), [text.get_text() for text in axes.get_xticklabels()]
    (2, ['a', 'b'])
    """
    confidence = expected.parse_confidence(confidence)
    rows = expected.parse_rows(expected_rows)
    pieces = _pieces(result)
    panels = [p for name, r, part in pieces for p in _panels(name, r, part, confidence, rows)]
    if len(panels) > MOST_PANELS:
        raise RecordError(
            f"this would be {len(panels)} panels, and a picture has {MOST_PANELS} at most: draw "
            "fewer columns, as in dp.plot(result[['a', 'b']]), or one of "
            "dp.record(result).components."
        )
    axes = _axes(ax, panels)
    for panel, each in zip(panels, axes, strict=True):
        panel.draw(each)
        each.set_title(panel.title, fontsize="medium")
        write_below(each, panel.caption)
    return axes[0] if len(panels) == 1 else np.array(axes, dtype=object)


def _pieces(result: Any) -> list[tuple[str, Record, Any]]:
    """What is drawn: a name where there are several, a record, and which part of it (None: all)."""
    if isinstance(result, Private) and not result._is_answer:
        raise RecordError(
            f"a {type(result).__name__} shows no rows, and so no picture: draw what it answers, "
            "such as its .value_counts(epsilon=0.1)."
        )
    if isinstance(result, Private):
        raise RecordError(
            "this is not released yet: give epsilon=, as in .release(epsilon=0.1), and draw the "
            "result."
        )
    if isinstance(result, Record):
        return [("", result, None)]
    record = result if isinstance(result, RecordBundle) else results.record(result)
    if isinstance(record, RecordBundle):
        return [(name, each, None) for name, each in record.components.items()]
    part = result if isinstance(result, pd.Series | pd.DataFrame) else None
    return [("", record, part)]


def _panels(
    name: str, record: Record, part: Any, confidence: float, rows: float | None
) -> list[Panel]:
    _refuse_what_has_no_bars(record)
    statistic = record.statistic
    if rows is not None and not isinstance(statistic, Quantiles):
        raise QueryError("expected_rows= is for quantiles, which err in ranks: leave it out.")
    table = PlotTable(record, placed(record, part), confidence)
    if isinstance(statistic, Quantiles):
        return quantile_plots.panels(name, table, rows)
    caption = said_of(record, confidence)
    columns = record._layout.columns
    title = titled(name, record)
    if isinstance(statistic, Moments):
        return _by_figure(table, title, caption)
    if columns is None or table.is_empty:
        return [row_of(table, title, caption)]
    if not isinstance(statistic, Sparse) and heatmaps.is_table(record):
        draw, size, more = heatmaps.drawn(table)
        caption = said_of(record, confidence, "± and marks")
        return [Panel(title, draw, f"{caption} {more}", size)]
    number = len(table.places.columns)
    return [
        row_of(table.part(slice(None), [i]), f"{title}\n{text_of(column)}" if number > 1 or i
                else title, caption if i == number - 1 else "")
        for i, column in enumerate(table.places.columns)
    ]  # fmt: skip


def _refuse_what_has_no_bars(record: Record) -> None:
    statistic = record.statistic
    if record.preview:
        raise RecordError("a preview has no answer to draw: leave the preview, and release it.")
    if isinstance(record._law, Selection):
        raise RecordError(
            "a selected label has no picture: no number was told. .error() says how far its score "
            "may lie below the best; counts by key, released, can be drawn."
        )
    if statistic.layout.rulers:
        raise RecordError(
            "answers in times or durations have no picture: bars begin at zero, and times have "
            "none. dp.record(result).intervals() has their intervals; counts by .hist() are drawn."
        )
    if isinstance(statistic, BoundsHistogram):
        raise RecordError(
            "suggested bounds have no picture: two ends and a share aren't on one scale. "
            "dp.record(result).intervals() has what is known of each."
        )
    if statistic.no_interval and type(statistic) is not Quantiles:
        raise RecordError(f"a picture without an error would mislead. {statistic.no_interval}")


def _by_figure(table: PlotTable, title: str, caption: str) -> list[Panel]:
    """Count, mean and deviation of each column aren't on one scale: a panel for each."""
    labels = [text_of(row[-1] if isinstance(row, tuple) else row) for row in table.places.index]
    columns, panels = len(table.places.columns), []
    for column, of in enumerate(table.places.columns):
        for figure in dict.fromkeys(labels):
            rows = [i for i, label in enumerate(labels) if label == figure]
            part = table.part(rows, [column])
            index = part.places.index
            keys = index.droplevel(-1) if index.nlevels > 1 else pd.Index([""])  # type: ignore[arg-type]
            places = part.places.set_axis(keys, axis=0).set_axis([figure], axis=1)
            what = f"{figure} of {text_of(of)}" if columns > 1 else figure
            panels.append(
                row_of(PlotTable(part.record, places, part.confidence), f"{title}\n{what}", "")
            )
    last = panels[-1]
    return [*panels[:-1], Panel(last.title, last.draw, caption, last.size)]


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
        raise QueryError(f"ax={quoted(ax)} must be matplotlib Axes. Nothing was computed.")
    if len(given) != len(panels):
        raise QueryError(
            f"this takes {len(panels)} Axes, and ax= has {len(given)}: leave ax= out, or make them "
            f"by plt.subplots({len(panels)}). Nothing was computed."
        )
    return given
