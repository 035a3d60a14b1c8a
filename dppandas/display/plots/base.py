"""What all plots share: numbers with their intervals, labels, and captions."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...errors import QueryError
from ...release.answers import results
from ...release.answers.records import Record
from ...rows.facts.keys import is_missing

Floats = npt.NDArray[np.float64]

FILL = "#1b7f79"
#: A longer label is cut.
LONGEST = 30


@dataclass(frozen=True)
class PlotTable:
    """Some numbers of a record in the layout of the plot, with their intervals and errors."""

    record: Record
    places: pd.DataFrame  # the position of each number in the record
    confidence: float

    def _as_array(self, flat: Sequence[Any]) -> Floats:
        return np.asarray(np.array(flat, dtype="float64")[self.places.to_numpy()])

    @property
    def values(self) -> Floats:
        return self._as_array(self.record._values())

    @property
    def ends(self) -> tuple[Floats, Floats]:
        lows, highs = zip(*self.record._intervals(self.confidence), strict=True)
        return self._as_array(lows), self._as_array(highs)

    @property
    def errors(self) -> Floats:
        return self._as_array(self.record._errors(self.confidence))

    @property
    def is_empty(self) -> bool:
        return self.places.size == 0

    def part(self, rows: Any, columns: Any) -> PlotTable:
        """A table of some rows and columns, by position."""
        return PlotTable(self.record, self.places.iloc[rows, columns], self.confidence)


def placed(record: Record, result: Any) -> pd.DataFrame:
    """The position in its record of each number that a result still has; all for None."""
    layout = record._layout
    if layout.is_scalar:
        return pd.DataFrame([[0]], index=[""])
    columns = pd.Index([layout.name]) if layout.columns is None else layout.columns
    size = len(layout.index) * len(columns) if layout.index is not None else 0
    numbers = np.arange(size).reshape(-1, len(columns))
    whole = pd.DataFrame(numbers, index=layout.index, columns=columns)
    if result is None:
        order = layout.places(record._estimated)
        return whole if order is None or layout.columns is not None else whole.iloc[order]
    shown = results.shown_in(result)
    across = columns if shown.columns is None else shown.columns
    return pd.DataFrame(shown.places, index=shown.index, columns=across)


@dataclass(frozen=True)
class Panel:
    """One pair of axes: its title, how to draw it, its caption, and its size in inches."""

    title: str
    draw: Callable[[Any], None]
    caption: str
    size: tuple[float, float] = (6.4, 4.0)


def text_of(label: Any) -> str:
    """A short label, in one line and without mathematics."""
    if isinstance(label, tuple):
        text = ", ".join(map(text_of, label))
    elif isinstance(label, pd.Interval):
        left, right = ("[" if label.closed_left else "("), ("]" if label.closed_right else ")")
        text = f"{left}{text_of(label.left)}, {text_of(label.right)}{right}"
    elif is_missing(label):
        text = "missing"
    elif isinstance(label, float):
        text = f"{label:g}"
    elif isinstance(label, pd.Timestamp) and label == label.normalize():
        text = str(label.date())
    else:
        text = str(label)
    text = " ".join(text.split())
    return plain(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def plain(text: str) -> str:
    """A text that matplotlib doesn't typeset as mathematics."""
    return text.replace("\\$", "$").replace("$", r"\$")


def named(index: pd.Index) -> str:
    """The names of an index's levels."""
    return ", ".join(text_of(name) for name in index.names if name is not None)


def label_keys(ax: Any, labels: Sequence[str], axis: str = "x") -> None:
    """Label the keys at 0, 1, 2, …: long labels are turned, and of many only some are written."""
    number, longest = len(labels), max(map(len, labels), default=1)
    box = ax.get_window_extent()
    inches = (box.width if axis == "x" else box.height) / ax.figure.dpi
    room = inches * 72 / max(1, number)  # points for each
    upright = axis == "y" or longest * 5.6 + 4 <= room
    needed = 12.0 if axis == "y" or not upright else longest * 5.6 + 4
    every = max(1, int(np.ceil(needed / room)))
    kept = list(range(0, number, every))
    if axis == "y":
        ax.set_yticks(kept, labels[::every], fontsize=9)
        return
    slanted = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    turned = {} if upright else {"rotation": 90} if room < 20 else slanted
    ax.set_xticks(kept, labels[::every], fontsize=9, **turned)
    ax.set_xlim(-0.6, number - 0.4)


def titled(name: str, record: Record) -> str:
    """The query, in at most three lines."""
    asked = f"{name}: {record.query}" if name and name not in record.query else record.query
    lines = textwrap.wrap(" ".join(asked.split()), 70, max_lines=3, placeholder=" …")
    return plain("\n".join(lines))


def percent(confidence: float) -> str:
    return f"{100 * confidence:.10g} %"


def said_of(record: Record, confidence: float, what: str = "Bars") -> str:
    """What the bars are, in words."""
    number = len(record._layout.labels())
    together = f"all {number} hold together" if number > 1 else "of this one number"
    if record._statistic.each:
        together = "each label by itself, not all together"
    return (
        f"{what}: {percent(confidence)} intervals, {together}; of the noise only, not of clipping "
        f"or of a unit's row limit. {made_by(record)}"
    )


def made_by(record: Record) -> str:
    """The mechanism, its loss, and whom it protects."""
    return f"By {record.mechanism}, {record.loss}, protecting {record.unit} of {record.source}."


def write_below(ax: Any, caption: str) -> None:
    """Write a caption below the axes and their labels."""
    if not caption:
        return
    box = ax.get_window_extent()
    width = max(40, int(box.width / ax.figure.dpi * 72 / 4.1))
    text = plain("\n".join(textwrap.wrap(caption, width)))
    ax.annotate(
        text, (0, 0), (0, -6), xycoords=("axes fraction", ax.xaxis.label), va="top", ha="left",
        textcoords="offset points", fontsize=8, alpha=0.85, annotation_clip=False,
    ).set_gid("dppandas caption")  # fmt: skip


def pyplot() -> Any:
    """matplotlib, imported when something is drawn."""
    try:
        return importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise QueryError('a plot needs matplotlib: pip install "dppandas[plots]".') from None


def setting(name: str) -> Any:
    """A setting of the caller's matplotlib style."""
    return importlib.import_module("matplotlib").rcParams[name]
