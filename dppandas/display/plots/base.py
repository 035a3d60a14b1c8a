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
from .fonts import written
from .marks import Marks, marks_of
from .short_labels import cut, folded, short
from .style import plain

Floats = npt.NDArray[np.float64]

#: The most keys with a row each: with more, rows are lower, only some labels are written, and
#: intervals make a band.
MOST_ROWS = 60
#: What a caption calls bands.
BAND, INNER, OUTER = "Band", "Inner band", "Outer band"
#: A broader label is cut in the middle, and one of several levels; and of labels that are folded,
#: how many lines' worth is kept.
LONGEST, OF_LEVELS, KEPT = 36, 48, 1.8


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
    return plain(cut(written(labels.text_of(label)), _longest(label)))


def texts_of(index: Any, lines: int = 1) -> list[str]:
    """Short labels, all different, in so many lines at most and without mathematics."""
    longest = max(map(_longest, index), default=LONGEST)
    texts = [written(labels.text_of(label)) for label in index]
    made = short(texts, longest if lines == 1 else int(KEPT * longest))
    return [plain(folded(text, longest, lines, inside_words=True)) for text in made]


def _longest(label: Any) -> int:
    return OF_LEVELS if isinstance(label, tuple) else LONGEST


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


def is_band(number: int) -> bool:
    """Whether there are so many numbers that their intervals make a band."""
    return number > MOST_ROWS


def said_of_both(table: PlotTable, sizes: Sequence[int]) -> str:
    """What whiskers or bands are, in words, of panels with so many numbers."""
    record, found, bands = table.record, table.population, {*map(is_band, sizes)}
    if found is None:
        what = "Whiskers" if True not in bands else "Whiskers and bands" if bands - {True} else BAND
        return said_of(record, table.confidence, what)
    thin = said_of_population(found.ways, table.confidence, bands == {True})
    if table.is_of_population:  # shares of rows, times its size
        return f"{thin} {made_by(record)}"
    thick = _said_of_noise(record, table.confidence, INNER if bands == {True} else "Thick bars")
    return f"{thick} {thin} {made_by(record)}"


def said_of_population(found: Sequence[str], confidence: float, bands: bool = False) -> str:
    """What thin bars are, by the ways to their intervals, "" for numbers without one."""
    known, thin = list(filter(None, found)), OUTER if bands else "Thin bars with caps"
    if not known:
        return "No thin bars: this says nothing of a population."
    said = [
        f"{thin}: {percent(confidence)} intervals for the population, "
        f"{together(len(known))}, {ways.in_words(known)}; of clipped values, if the units are a "
        "random sample."
    ]
    if few := sum(map(ways.is_too_few, known)):
        those = "This one rests" if len(known) == 1 else f"Of these, {few} rest"
        said.append(f"{those} on {ways.FEW_ROWS} for t, and may hold less often.")
    if len(known) < len(found):
        bar = "outer band" if bands else "thin bar"
        said.append(f"Numbers without a {bar} say nothing of a population.")
    return " ".join(said)


def made_by(record: Record) -> str:
    """The mechanism, its loss, whom it protects, and the query as it was asked."""
    return (
        f"By {record.mechanism}, {record.loss}, protecting {record.unit} of {record.source}. "
        f"Asked: {record.query}."
    )
