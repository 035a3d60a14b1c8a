"""What all plots share: numbers with their intervals, labels, and captions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...dataclasses import dataclass, replace
from ...errors import RecordError
from ...release.answers.figures import Figures, ShownFigures
from ...release.answers.populations import samples_of
from ...release.answers.records import Record
from ...statistics.samples import SampleCount
from .. import labels, ways
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
    population: Figures | None = None  # those of the record, with intervals for the population

    def _as_array(self, flat: Sequence[Any]) -> Floats:
        return np.asarray(np.array(flat, dtype="float64")[self.places.to_numpy()])

    @property
    def values(self) -> Floats:
        """The numbers that are shown; counts are those of the population if it is asked about."""
        shown = self.record._values() if self.population is None else self.population.values
        return self._as_array(shown)

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Those of the noise; NaN for counts of a population, which no noise is added to."""
        lows, highs = zip(*self.record._intervals(self.confidence), strict=True)
        return self._noisy(lows), self._noisy(highs)

    @property
    def errors(self) -> Floats:
        return self._noisy(self.record._errors(self.confidence))

    @property
    def population_ends(self) -> tuple[Floats, Floats] | None:
        """Those of the population; NaN for numbers that say nothing of it."""
        if self.population is None:
            return None
        return self._as_array(self.population.lows), self._as_array(self.population.highs)

    @property
    def population_errors(self) -> Floats | None:
        return None if self.population is None else self._as_array(self.population.errors)

    @property
    def is_of_population(self) -> bool:
        """Whether the numbers themselves are the population's: its size times shares."""
        if self.population is None or not any(self.population.ways):
            return False
        return any(isinstance(each, SampleCount) for each in samples_of(self.record))

    def _noisy(self, flat: Sequence[Any]) -> Floats:
        found = self._as_array(flat)
        return np.full_like(found, np.nan) if self.is_of_population else found

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
        return replace(self, places=self.places.iloc[rows, columns])


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


def together(number: int) -> str:
    """How some intervals hold."""
    return f"all {number} hold simultaneously" if number > 1 else "of this one number"


def said_of(record: Record, confidence: float, what: str = "Whiskers") -> str:
    """What the whiskers are, in words, and how the numbers were made."""
    return f"{_said_of_noise(record, confidence, what)} {made_by(record)}"


def _said_of_noise(record: Record, confidence: float, what: str) -> str:
    held = together(len(record._layout.labels()))
    if record._statistic.errors.each:
        held = "each label by itself, not all together"
    return (
        f"{what}: {percent(confidence)} intervals, {held}; of the noise only, not of clipping "
        "or of a unit's row limit."
    )


def said_of_both(table: PlotTable) -> str:
    """What thick and thin bars are, in words."""
    record, found = table.record, table.population
    if found is None:
        return said_of(record, table.confidence)
    thin = said_of_population(found.ways, table.confidence)
    if table.is_of_population:  # shares of rows, times its size
        return f"{thin} {made_by(record)}"
    thick = _said_of_noise(record, table.confidence, "Thick bars")
    return f"{thick} {thin} {made_by(record)}"


def said_of_population(found: Sequence[str], confidence: float) -> str:
    """What thin bars are, by the ways to their intervals, "" for numbers without one."""
    known = list(filter(None, found))
    if not known:
        return "No thin bars: this says nothing of a population."
    said = [
        f"Thin bars with caps: {percent(confidence)} intervals for the population, "
        f"{together(len(known))}, {ways.in_words(known)}; of clipped values, if the units are a "
        "random sample."
    ]
    if few := sum(map(ways.is_too_few, known)):
        those = "This one rests" if len(known) == 1 else f"Of these, {few} rest"
        said.append(f"{those} on {ways.FEW_ROWS} for t, and may hold less often.")
    if len(known) < len(found):
        said.append("Numbers without a thin bar say nothing of a population.")
    return " ".join(said)


def made_by(record: Record) -> str:
    """The mechanism, its loss, whom it protects, and the query as it was asked."""
    return (
        f"By {record.mechanism}, {record.loss}, protecting {record.unit} of {record.source}. "
        f"Asked: {record.query}."
    )
