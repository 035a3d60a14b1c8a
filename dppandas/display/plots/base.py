"""What all plots share: numbers with their intervals, labels, and captions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...errors import RecordError
from ...release.answers.figures import ShownFigures
from ...release.answers.records import Record
from .. import labels
from .marks import Marks, marks_of
from .style import plain

Floats = npt.NDArray[np.float64]

#: A longer label is cut, and one of several levels.
LONGEST, OF_LEVELS = 36, 48


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
    def marks(self) -> Marks:
        """Which numbers are known to be dominated by noise, and which groups may be empty."""
        every = marks_of(*self.record._flags())
        return every.at(self.places.to_numpy(dtype=np.intp))

    @property
    def is_empty(self) -> bool:
        return self.places.size == 0

    def part(self, rows: Any, columns: Any) -> PlotTable:
        """A table of some rows and columns, by position."""
        return PlotTable(self.record, self.places.iloc[rows, columns], self.confidence)


def placed(record: Record, shown: ShownFigures | None) -> pd.DataFrame:
    """The position in its record of each number that a result still has, in the order that it has;
    all for None."""
    layout = record._layout
    if layout.is_scalar:
        return pd.DataFrame([[0]], index=[""])
    columns = pd.Index([layout.name]) if layout.columns is None else layout.columns
    size = len(layout.index) * len(columns) if layout.index is not None else 0
    numbers = np.arange(size).reshape(-1, len(columns))
    whole = pd.DataFrame(numbers, index=layout.index, columns=columns)
    if shown is None:
        order = layout.places(record._estimated)
        return whole if order is None or layout.columns is not None else whole.iloc[order]
    at = pd.unique(shown.of(record))
    rows, across = (pd.unique(each) for each in np.divmod(at, len(columns)))
    if len(rows) * len(across) != len(at):
        raise RecordError("a plot has whole rows and columns of an answer. Select them by lists.")
    return whole.iloc[rows, across if len(at) else slice(None)]


@dataclass(frozen=True)
class Panel:
    """One pair of axes: its title, how to draw it, its caption, and its size in inches.

    ``draw`` returns what else the caption says. Panels with the same ``alike`` have the same limits
    along the ``values`` axis, "x" or "y".
    """

    title: str
    draw: Callable[[Any], str]
    caption: str
    size: tuple[float, float] = (6.4, 4.0)
    alike: Any = None
    values: str = "y"


def text_of(label: Any) -> str:
    """A short label, in one line and without mathematics."""
    longest = OF_LEVELS if isinstance(label, tuple) else LONGEST
    return plain(labels.cut(labels.text_of(label), longest))


def named(index: pd.Index) -> str:
    """The names of an index's levels."""
    return plain(labels.names_of(index))


def percent(confidence: float) -> str:
    return f"{100 * confidence:.10g} %"


def said_of(record: Record, confidence: float, what: str = "Whiskers") -> str:
    """What the whiskers are, in words."""
    number = len(record._layout.labels())
    together = f"all {number} hold simultaneously" if number > 1 else "of this one number"
    if record._statistic.errors.each:
        together = "each label by itself, not all together"
    return (
        f"{what}: {percent(confidence)} intervals, {together}; of the noise only, not of clipping "
        f"or of a unit's row limit. {made_by(record)}"
    )


def made_by(record: Record) -> str:
    """The mechanism, its loss, whom it protects, and the query as it was asked."""
    return (
        f"By {record.mechanism}, {record.loss}, protecting {record.unit} of {record.source}. "
        f"Asked: {record.query}."
    )
