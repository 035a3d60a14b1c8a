"""Two-way tables as heat maps, with the noise level on the colour bar."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...release.answers.records import Record
from ...statistics import Contingency
from ...statistics.moments.covariance_tables import CovarianceTable
from .bars import is_bars
from .base import Floats, PlotTable, named, texts_of
from .fonts import families_for
from .keys import GAP, LETTER
from .marks import CROSSHATCH, HATCH
from .scales import Scale, scale_of
from .short_labels import breadth, folded, level
from .style import pyplot, setting

#: Tables of up to this many rows and columns show their numbers.
WRITTEN = 20, 12
#: In tables of more cells, those that are hatched are grey, too: the hatch alone is hardly seen.
HATCHED = 400
#: Colour maps for people who see few colours: light to dark, and two hues away from white.
LIGHT_TO_DARK, BOTH_SIGNS = "cividis", "PuOr"

#: How much of a cell's width and height is left without a hatch, for its numbers.
CLEAR = 0.76, 0.72

#: Lines of a label of a column.
FOLDS = 4

Bools = Any


def is_table(record: Record) -> bool:
    """Whether keys go down and across, so that all numbers are of one kind."""
    statistic, layout = record._statistic, record._layout
    if isinstance(statistic, Contingency | CovarianceTable):
        return True
    return layout.index is not None and len(layout.index) != len(statistic.cells)


def drawn(table: PlotTable) -> tuple[Callable[[Any], str], tuple[float, float], str]:
    """How to draw a table, its size, and its caption."""
    rows, columns = table.places.shape
    labels = list(map(breadth, texts_of(table.places.index)))
    wide = min(16.0, max(6.4, 2.4 + 0.062 * max(labels) + 0.9 * columns))
    high = min(10.0, max(3.0, 1.8 + 0.42 * rows)) + _foot(table, wide - 0.062 * max(labels) - 2.0)
    said = _marks_said(table)
    if _is_written(table):
        said.append("Written: the answer, and how far the noise may have moved it.")
    if _sums(table).any():
        said.append("Sums have no colour.")
    return (lambda ax: _draw(ax, table)), (wide, high), " ".join(said)


def _is_written(table: PlotTable) -> bool:
    """Whether cells show their numbers."""
    rows, columns = table.places.shape
    return rows <= WRITTEN[0] and columns <= WRITTEN[1]


def _marks_said(table: PlotTable) -> list[str]:
    """What marks of cells mean."""
    grey = "" if table.places.size <= HATCHED else "grey, "
    marks, includes, said = table.marks, _includes_zero(table), []
    if ((includes | marks.hollow) & ~marks.empty).any() or not marks.empty.any():
        more = ", or noise dominates" if (marks.hollow & ~includes & ~marks.empty).any() else ""
        said.append(f"{grey}hatched cells: the interval includes 0{more}.".capitalize())
    if marks.empty.any():
        said.append(f"{grey}crossed cells may be empty.".capitalize())
    return said


def _includes_zero(table: PlotTable) -> Bools:
    low, high = table.ends
    return (low <= 0) & (high >= 0)


def _sums(table: PlotTable) -> Bools:
    """Which cells are sums of others, in a table with margins."""
    statistic, places = table.record._statistic, table.places.to_numpy()
    found = np.zeros(places.shape, dtype=bool)
    layout = table.record._layout
    if isinstance(statistic, Contingency) and statistic.margins and layout.index is not None:
        rows, columns = len(layout.index), len(layout.columns)  # type: ignore[arg-type]
        if statistic._sums_columns:
            found |= places // columns == rows - 1
        if statistic._sums_rows:
            found |= places % columns == columns - 1
    return found


def _draw(ax: Any, table: PlotTable) -> str:
    values, (low, high), errors, sums = table.values, table.ends, table.errors, _sums(table)
    scale = scale_of(table.record, table.places.to_numpy().reshape(-1))
    coloured = np.ma.masked_where(sums | ~np.isfinite(values), scale.positions(values))
    colours = _colours(table, coloured, *(scale.positions(end[~sums]) for end in (low, high)))
    image = ax.imshow(coloured, aspect="auto", interpolation="nearest", **colours)
    ax.spines[:].set_visible(False)
    marks, is_written = table.marks, _is_written(table)
    hatched = (_includes_zero(table) | marks.hollow) & ~marks.empty
    for marked, hatch in ((hatched, HATCH), (marks.empty, CROSSHATCH)):
        _mark(ax, image, marked, coloured, hatch, around=is_written)
    if is_written:
        _write(ax, image, values, errors, coloured, scale)
    _label(ax.xaxis, table.places.columns, ax.get_window_extent().width)
    _label(ax.yaxis, table.places.index, ax.get_window_extent().height)
    ax.set(xlabel=named(table.places.columns), ylabel=named(table.places.index))
    ax.tick_params(length=0)
    return _bar(ax, image, scale, errors[~sums] if (~sums).any() else errors)


def _foot(table: PlotTable, inches: float) -> float:
    """The inches that labels of columns take beyond their first line."""
    labels = texts_of(table.places.columns)
    lines = max(each.count("\n") for each in _folded(labels, inches * 72 / len(labels)))
    longest = max(map(breadth, labels))
    fits = lines or longest * LETTER + GAP <= inches * 72 / len(labels)
    return 0.16 * lines if fits else 0.06 * longest


def _folded(labels: Sequence[str], room: float) -> list[str]:
    """Labels in several lines, if each of their words fits in some points; else as they are."""
    letters = max(1, int((room - GAP) / LETTER))
    made = [folded(each, letters, FOLDS) for each in labels]
    fits = all(breadth(line) <= letters for each in made for line in each.split("\n"))
    return made if fits else list(labels)


def _label(axis: Any, index: Any, pixels: float) -> None:
    """Label rows or columns: long labels of columns are folded, or else turned, and of many only
    some are written."""
    labels, points = texts_of(index), pixels / axis.figure.dpi * 72
    room, is_foot = points / max(1, len(labels)), axis.axis_name == "x"
    labels = level(_folded(labels, room)) if is_foot else labels
    lines = (line for label in labels for line in label.split("\n"))
    along = max(map(breadth, lines), default=1) * LETTER + GAP
    turned = is_foot and along > room
    every = max(1, int(np.ceil((11.0 if turned or not is_foot else along) / room)))
    slanted: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    how: dict[str, Any] = {} if not turned else {"rotation": 90} if room < 20 else slanted
    families = families_for("".join(labels))
    how |= {} if families is None else {"fontfamily": families}
    axis.set_ticks(range(0, len(labels), every), labels[::every], fontsize=9, **how)


def _colours(table: PlotTable, coloured: Any, low: Floats, high: Floats) -> dict[str, Any]:
    """The colour map and its range: around 0 for both signs, from -1 to 1 for correlations, from 0
    for counts, sums and shares; else over all intervals, so that noise alone shows few colours."""
    statistic = table.record._statistic
    if isinstance(statistic, CovarianceTable):
        known = coloured.compressed()
        most = 1.0 if statistic.correlation else float(np.abs(known).max()) if len(known) else 1.0
        return {"cmap": BOTH_SIGNS, "vmin": -(most or 1.0), "vmax": most or 1.0}
    known = coloured.compressed()
    if not len(known):
        return {"cmap": LIGHT_TO_DARK}
    ends = [0.0] if is_bars(table) else [each for each in (*low, *high) if np.isfinite(each)]
    return {"cmap": LIGHT_TO_DARK, "vmin": min(*known, *ends), "vmax": max(*known, *ends)}


def _ink(image: Any, coloured: Any, at: tuple[int, ...]) -> str:
    """Black or white, whichever contrasts more with a cell's colour; the ink of the page where a
    cell has no colour."""
    if np.ma.getmaskarray(coloured)[at]:
        return str(setting("text.color"))
    rgb = np.array(image.cmap(image.norm(coloured[at]))[:3])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ (0.2126, 0.7152, 0.0722))
    return "black" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "white"


def _mark(ax: Any, image: Any, marked: Bools, coloured: Any, hatch: str, *, around: bool) -> None:
    """Hatch some cells, or only around their numbers: a minus can't be told from a line."""
    patch = importlib.import_module("matplotlib.patches").PathPatch
    if marked.size > HATCHED:
        _mark_many(ax, marked, hatch)
        return
    for row, column in zip(*np.nonzero(marked), strict=True):
        ink = _ink(image, coloured, (row, column))
        ax.add_patch(patch(
            _cell(row, column, around), fill=False, hatch=hatch, edgecolor=ink, linewidth=0,
            alpha=0.7, gid="marked",
        ))  # fmt: skip


def _cell(row: int, column: int, is_frame: bool) -> Any:
    """The outline of a cell, or a frame inside it."""
    path = importlib.import_module("matplotlib.path").Path
    outside = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])
    inside = outside[::-1] * CLEAR  # the other way round, so that it is a hole
    parts = [path(np.add(each, (column, row)), closed=True) for each in (outside, inside)]
    return path.make_compound_path(*parts) if is_frame else parts[0]


def _mark_many(ax: Any, marked: Bools, hatch: str) -> None:
    """Hatch cells on grey. Neighbours in a row share a rectangle, as many are slow to draw."""
    patches = importlib.import_module("matplotlib.patches")
    for row, cells in enumerate(marked):
        steps = np.flatnonzero(np.diff(cells, prepend=False, append=False))
        for first, after in zip(steps[::2], steps[1::2], strict=True):
            ax.add_patch(patches.Rectangle(
                (first - 0.5, row - 0.5), after - first, 1, facecolor="0.85", hatch=hatch,
                edgecolor="0.45", linewidth=0, gid="marked",
            ))  # fmt: skip


def _write(
    ax: Any, image: Any, values: Floats, errors: Floats, coloured: Any, scale: Scale
) -> None:
    plain = np.ma.getmaskarray(coloured)
    effects = importlib.import_module("matplotlib.patheffects")
    for (row, column), value in np.ndenumerate(values):
        ink = _ink(image, coloured, (row, column))
        around = []
        if not plain[row, column]:
            behind = image.cmap(image.norm(coloured[row, column]))
            around = [effects.withStroke(linewidth=3, foreground=behind)]
        error = float(errors[row, column])
        told, noise = scale.written(float(value), error), scale.beside(error)
        for text, down, size in ((told, -0.14, 10), (noise, 0.22, 8)):
            ax.text(
                column, row + down, text, ha="center", va="center", color=ink, fontsize=size,
                path_effects=around,
            )  # fmt: skip


def _bar(ax: Any, image: Any, scale: Scale, errors: Floats) -> str:
    """The colour bar, with a line for the noise level at its middle, and what the caption says of
    this line."""
    bar = pyplot().colorbar(image, ax=ax, label=scale.label, pad=0.02)
    bar.outline.set_visible(False)
    scale.dress(bar.ax.yaxis)
    middle = (image.norm.vmin + image.norm.vmax) / 2
    typical = float(scale.lengths(np.nanmedian(errors)))
    line = [0.5, 0.5], [middle - typical, middle + typical]
    bar.ax.plot(*line, color="white", linewidth=4, solid_capstyle="butt")
    bar.ax.plot(*line, color="black", linewidth=1.8, marker="_", gid="noise level")
    known = (float(f(errors)) for f in (np.nanmin, np.nanmax))
    ends = " to ".join(dict.fromkeys(map(scale.error, known)))
    return f"The line on the colour bar is as long as the median interval: noise ± {ends}."
