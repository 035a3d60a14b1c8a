"""Plots of released answers, made of their records alone: values, intervals, and what they mean.

A caption below each plot says what its whiskers are. A record without an interval of values has
none: quantiles err in ranks, so the caption gives their error in words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ...errors import QueryError, RecordError, hide_internals, quoted
from ...findings.answers import Derived
from ...findings.comparisons import Comparison
from ...findings.curves import Curve
from ...privacy.mechanisms.selection import Selection
from ...release.accuracy import expected
from ...release.accuracy.expected import CONFIDENCE
from ...release.answers import results
from ...release.answers.figures import (
    Figures,
    ShownFigures,
    figures_of_population,
    says_nothing,
    without_intervals,
)
from ...release.answers.populations import parse_how
from ...release.answers.records import Record
from ...release.private import Private
from ...statistics import Quantiles, Several
from ...statistics.counting.rows_per_unit import RowsPerUnit
from ...statistics.counting.unknown_keys import Sparse
from ...statistics.of_blocks.slopes import BlockSlopes
from ...statistics.samples import How
from ...statistics.suggested_bounds import BoundsHistogram
from . import curves, derived_plots, heatmaps, quantile_plots
from .bars import LARGEST, row_of
from .base import Panel, PlotTable, placed, said_of, said_of_both, text_of
from .layout import new_axes
from .looks import parse_look
from .scales import columns_alike
from .style import pyplot

#: What a panel says of its largest error, and of all else.
_ERROR = re.compile(rf"(?:{LARGEST}(.*?)\.(?: |$))?(.*)", re.DOTALL)
#: The most panels of one plot.
MOST_PANELS = 12


@hide_internals
def plot(
    result: Any,
    *,
    ax: Any = None,
    title: str | Sequence[str] | None = None,
    caption: bool = True,
    figsize: tuple[float, float] | None = None,
    ground: str | None = None,
    confidence: float | None = None,
    expected_rows: float | None = None,
    of: str = "rows",
    size: int | None = None,
    method: str | None = None,
) -> Any:
    """Plot a released answer together with the error that its noise may have caused.

    result : a released answer, a part of it (``head``, a column, sorted), or its `Record`; what
        `derive` computed; the differences of `compare`; or a curve of `dppandas.stats`.
    ax : matplotlib Axes to draw on, as many as there are panels; else a new figure.
    title : in place of the question in words; a list of as many as there are panels, if several.
    caption : whether it is written. Without it, say yourself what the whiskers are.
    figsize : (width, height) of a new figure in inches; else as large as panels and words need.
    ground : "light" or "dark" for a new figure on a page whose ground you know: its text has a
        contrast of 7 : 1, in place of 4.3 : 1 on both.
    confidence : of the intervals, which hold simultaneously for all numbers of one record; for
        labels released under a δ, for each label by itself. 0.95 by default.
    expected_rows : for quantiles, about how many values there are, from public knowledge: then
        errors in ranks become shares, and the distribution function has bounds.
    of : "population" draws a second interval for each number that says something of the population
        which the rows are a sample of. Tables of two keys are then dots.
    size, method : as for `intervals`, about a population.

    Returns the Axes, or an array of them if there are several panels: one for each column or
    record, side by side where one stack would be taller than a screen. Counts and sums are bars,
    or dots if there are more than 30; means and the like are dots; tables and correlations are heat
    maps. All have whiskers for their intervals (more than 60 a band), but quantiles, which err in
    ranks. Hollow or hatched is what noise dominates, and crossed what may have no rows. The caption
    says what the whiskers are, by which mechanism, loss and query. A new figure is transparent, and
    can be read on light and on dark pages, unless you have set a style in matplotlib.

    Raises `RecordError` for an object without a record, or whose numbers have no error to draw, and
    `QueryError` for other arguments, and for an answer that says nothing of a population if that is
    asked about. Needs matplotlib: ``pip install dppandas[plots]``.

    *Guarantee*: post-processing. Only the record is used: no row is read, and nothing is charged.

    >>> import matplotlib, pandas as pd, dppandas as dp; matplotlib.use("Agg")
    >>> df = pd.DataFrame({"g": ["a", "b"] * 99})
    >>> axes = dp.plot(df.dp["g"].value_counts(sort=False, keys=["a", "b"], epsilon=1))
    >>> len(axes.patches), [text.get_text() for text in axes.get_xticklabels()]
    (2, ['a', 'b'])
    """
    how = parse_how(of, size, method)
    asked = parse_look(ax, title, caption, figsize, ground)
    panels = _parsed_panels(result, confidence, expected_rows, how)
    titles = asked.titles([panel.title for panel in panels])
    with asked.page():
        axes = new_axes(panels, asked.inches) if ax is None else _given_axes(ax, panels)
        asked.write_around(axes, titles, _draw(panels, axes))
    return axes[0] if len(panels) == 1 else np.array(axes, dtype=object)


def _parsed_panels(result: Any, confidence: Any, rows: Any, how: How | None) -> list[Panel]:
    """The panels, of arguments that are checked first."""
    level = expected.parse_confidence(CONFIDENCE if confidence is None else confidence)
    expected_rows = expected.parse_rows(rows)
    pyplot()
    if isinstance(result, Comparison | Curve):
        _refuse_options("dp.compare" * isinstance(result, Comparison), confidence, how)
    if isinstance(result, Comparison | Curve | Derived):
        _refuse_rows(expected_rows)
    panels = _all_panels(result, level, expected_rows, how)
    _refuse_many(panels)
    return panels


def _refuse_many(panels: list[Panel]) -> None:
    if len(panels) > MOST_PANELS:
        raise RecordError(
            f"this takes {len(panels)} panels, and a plot has {MOST_PANELS} at most. Draw fewer "
            "columns, as dp.plot(result[['a', 'b']]), or one of dp.record(result).components."
        )


def _refuse_options(maker: str, confidence: object, how: How | None) -> None:
    if confidence is not None or how is not None:
        raise QueryError(
            "a comparison is drawn as it was made: give confidence=, of=, size= and method= to "
            f"{maker}."
            if maker
            else "a curve is drawn as it was made: give confidence= where it is made."
        )


def _all_panels(result: Any, confidence: float, rows: float | None, how: How | None) -> list[Panel]:
    if isinstance(result, Comparison):
        return derived_plots.panels_of_comparison(result)
    if isinstance(result, Curve):
        return [curves.panel(result)]
    if isinstance(result, Derived):
        return derived_plots.panels(result, confidence, how)
    pieces = _pieces(result)
    found = _populations([record for record, _ in pieces], confidence, how)
    return [
        panel
        for (record, shown), population in zip(pieces, found, strict=True)
        for panel in _panels(record, shown, confidence, rows, population)
    ]


def _pieces(result: Any) -> list[tuple[Record, ShownFigures | None]]:
    """What to draw: records, and what is shown of each (None for all)."""
    if isinstance(result, Private):
        raise RecordError(
            "this is not released yet. Plot the result of a release, as .release(epsilon=0.1)."
            if result._is_answer
            else f"a {type(result).__name__} shows no rows, so it has no plot. Plot an answer, "
            "such as .value_counts(epsilon=0.1)."
        )
    if isinstance(result, Record):
        return [(result, None)]
    shown = results.shown_in(result)
    record = shown.record
    is_all = not isinstance(result, pd.Series | pd.DataFrame)
    if isinstance(record, Record):
        return [(record, None if is_all else shown)]
    if is_all or record._places is None:
        return [(each, None) for each in record.components.values()]
    every = record.components.values()
    return [(each, shown) for each in every if shown.of(each).size or not shown.places.size]


def _populations(records: list[Record], confidence: float, how: How | None) -> list[Figures | None]:
    """The figures of each record with intervals for the population, if it is asked how; without any
    for records that say nothing, beside others that do."""
    for record in records:
        _refuse_what_has_no_bars(record)
    if how is None:
        return [None] * len(records)
    reasons = [says_nothing(each, how) for each in records]
    if all(reasons):
        figures_of_population(records[0], confidence, how)  # raises
    return [
        without_intervals(record) if reason else figures_of_population(record, confidence, how)
        for record, reason in zip(records, reasons, strict=True)
    ]


def _panels(
    record: Record,
    shown: ShownFigures | None,
    confidence: float,
    rows: float | None,
    population: Figures | None,
) -> list[Panel]:
    statistic = record._statistic
    if not isinstance(statistic, Quantiles):
        _refuse_rows(rows)
    table = PlotTable(record, placed(record, shown), confidence, population)
    if isinstance(statistic, Quantiles):
        return quantile_plots.panels(statistic, table, rows)
    if isinstance(statistic, Several) and len(statistic.shown) > 1:
        return _by_figure(table)
    is_one = record._layout.columns is None or table.is_empty or population is not None
    if not is_one and not isinstance(statistic, Sparse) and heatmaps.is_table(record):
        draw, size, more = heatmaps.drawn(table)
        caption = f"{said_of(record, confidence, '± and marks')} {more}"
        return [Panel(record._question.title, draw, caption, size)]
    return _by_scale(table)


def _refuse_rows(rows: float | None) -> None:
    if rows is not None:
        raise QueryError("expected_rows= is for quantiles, which err in ranks. Leave it out.")


def _by_scale(table: PlotTable) -> list[Panel]:
    """A panel for each column of a table, and for the columns of each scale where a Series has an
    entry for each. Panels of one scale have the same limits."""
    record, places = table.record, table.places
    alike, question = columns_alike(record), record._question
    is_series, scales = record._layout.columns is None, list[Any]()
    if table.is_empty or (is_series and len(alike) == 1):
        return [row_of(table, question.title, said_of_both(table, [len(places)]))]
    of = [
        alike[place % len(alike)] for place in (places.iloc[:, 0] if is_series else places.iloc[0])
    ]
    if is_series:
        parts = [[i for i, each in enumerate(of) if each == scale] for scale in dict.fromkeys(of)]
        tables = [_unnamed(table.part(rows, [0])) for rows in parts]
        named, scales = [places.index[rows] for rows in parts], [None for _ in parts]
    else:
        tables = [table.part(slice(None), [i]) for i in range(len(places.columns))]
        named, scales = (
            [part.places.columns for part in tables],
            [(id(record), each) for each in of],
        )
    titles = [question.about(columns=list(map(text_of, names))).title for names in named]
    if not is_series and heatmaps.is_table(record):  # whose columns are keys
        titles = [f"{question.title}: {text_of(names[0])}" for names in named]
    caption = said_of_both(table, [len(part.places) for part in tables])
    said = [""] * (len(tables) - 1) + [caption]
    return list(map(row_of, tables, titles, said, scales))


def _unnamed(table: PlotTable) -> PlotTable:
    """A table of one number without its label, which the title says."""
    if len(table.places) > 1:
        return table
    return replace(table, places=table.places.set_axis([""], axis=0))


def _refuse_what_has_no_bars(record: Record) -> None:
    statistic = record._statistic
    if record.preview:
        raise RecordError("a preview has no answer to draw. Leave the preview, and release it.")
    if isinstance(record._law, Selection):
        raise RecordError(
            "a selected label has no plot, because no number was released. dp.intervals says how "
            "far its score may be below the best. Released counts by key can be plotted."
        )
    if statistic.labels_only:
        raise RecordError(
            "labels alone have no plot, because no number was released. Ask for value_counts()."
        )
    if isinstance(statistic, BoundsHistogram):
        raise RecordError(
            "suggested bounds have no plot: two ends and a share aren't on one scale. Use "
            "dp.record(result).intervals() for the interval of each."
        )
    if isinstance(statistic, RowsPerUnit):
        raise RecordError(
            "suggested limits on rows have no plot: a number of rows and shares aren't on one "
            "scale. Use dp.intervals(result) for the interval of each."
        )
    model = statistic.errors
    has_bounds = not isinstance(statistic, BlockSlopes)  # those of the grid aren't a slope's
    if model.no_interval and not (model.in_ranks and has_bounds and not model.weighs_rows):
        raise RecordError(f"a plot without errors would mislead. {model.no_interval}")


def _by_figure(table: PlotTable) -> list[Panel]:
    """A panel for each figure of each column: counts, means and deviations share no scale."""
    labels = [text_of(row[-1] if isinstance(row, tuple) else row) for row in table.places.index]
    panels, question = [], table.record._question
    for column, of in enumerate(table.places.columns):
        for figure in dict.fromkeys(labels):
            part = table.part([i for i, label in enumerate(labels) if label == figure], [column])
            index = part.places.index
            keys = index.droplevel(-1) if index.nlevels > 1 else pd.Index([""])  # type: ignore[arg-type]
            places = part.places.set_axis(keys, axis=0)
            named = None if table.record._layout.columns is None else [text_of(of)]
            title = question.about(figure, named).title
            panels.append(row_of(replace(part, places=places), title, ""))
    caption = said_of_both(table, [len(table.places) // len({*labels})])
    return [*panels[:-1], replace(panels[-1], caption=caption)]


def _draw(panels: Sequence[Panel], axes: list[Any]) -> list[str]:
    """Draw panels; returns their captions."""
    said = [panel.draw(each) for panel, each in zip(panels, axes, strict=True)]
    for kind in {panel.alike for panel in panels} - {None}:
        same = [i for i, panel in enumerate(panels) if panel.alike == kind]
        limits = [getattr(axes[i], f"get_{panels[i].values}lim")() for i in same]
        both = min(low for low, _ in limits), max(high for _, high in limits)
        for i in same:
            getattr(axes[i], f"set_{panels[i].values}lim")(*both)
    if not any(panel.caption for panel in panels[:-1]):
        said[-1] = _of_all(said)  # one caption stands below all
    return [
        " ".join(filter(None, [panel.caption, more] if panel.caption else []))
        for panel, more in zip(panels, said, strict=True)
    ]


def _of_all(said: Sequence[str]) -> str:
    """What panels say of their numbers: the largest error of each, and all else once."""
    each = [_ERROR.fullmatch(text) for text in said]
    errors = list(dict.fromkeys(found[1] for found in each if found and found[1]))
    others = dict.fromkeys(found[2] for found in each if found and found[2])
    one, *more = errors or [""]
    largest = f"The largest errors are {'; '.join(errors)}." if more else one and f"{LARGEST}{one}."
    return " ".join(filter(None, [largest, *others]))


def _given_axes(ax: Any, panels: Sequence[Panel]) -> list[Any]:
    given = list(np.asarray(ax, dtype=object).reshape(-1))
    if not all(hasattr(each, "errorbar") for each in given):
        raise QueryError(f"ax={quoted(ax)} must be matplotlib Axes.")
    if len(given) != len(panels):
        raise QueryError(
            f"this takes {len(panels)} Axes, and ax= has {len(given)}. Leave ax= out, or make them "
            f"by plt.subplots({len(panels)})."
        )
    return given
