"""What a card says of an answer: each number rounded to its error, and how the errors hold."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from ...dataclasses import dataclass, replace
from ...errors import RecordError
from ...findings.answers import DerivedFrame, DerivedSeries
from ...release.accuracy.expected import HELD
from ...release.answers import results
from ...release.answers.figures import Figures, ShownFigures
from ...release.answers.intervals import intervals
from ...release.answers.record_bundle import RecordBundle
from ...release.answers.records import Record
from ...release.answers.shown import DROWNED, EMPTY, mark
from ...rows.facts.keys import is_missing
from ...rows.figures import (
    CHOSEN,
    Written,
    decimals,
    digits_within,
    format_error,
    plus_minus,
    unit_of,
    within,
    written,
)  # fmt: skip
from ...statistics.moments.covariance_tables import CovarianceTable
from ..labels import names_of, short
from . import populations
from .strips import Axis, Strips

#: The head of errors for the population that the rows are a sample of.
POPULATION = "population"
#: What stands for a mark in a table of several columns, whose foot says what it means.
SIGNS = {EMPTY: "*", DROWNED: "†"}
#: What a foot says last, of an answer that is pandas' own.
KIND = " · a plain pandas "
#: What has cards. Classes derived from these have displays of their own.
PLAIN: tuple[type, ...] = (pd.Series, pd.DataFrame)


@dataclass(frozen=True)
class Cell:
    """A number: its text, what stands beside it, the word for it if noise dominates it, and whether
    a table of covariances marks that its interval includes 0."""

    value: str
    error: str = ""  # such as "± 30"
    mark: str = ""
    includes_zero: bool = False
    population: str = ""  # the error of its interval for the population

    @property
    def decimals(self) -> str | None:
        """The point and the decimals of its number; None for what isn't one."""
        return decimals(self.value)

    @property
    def text(self) -> str:
        """The number and its error in a line."""
        return f"{self.value} {self.error}".rstrip()

    @property
    def note(self) -> str:
        """What stands beside the number: its error, and its mark."""
        if self.mark in SIGNS.values() or not self.mark:
            return f"{self.error}{self.mark}"
        return f"{self.error}, {self.mark}" if self.error else f"({self.mark})"

    @property
    def signed(self) -> Cell:
        """With a sign in place of its mark."""
        return replace(self, mark=SIGNS[self.mark]) if self.mark else self


class Parts(NamedTuple):
    """What a label of several levels may have in common with the next one, and what not."""

    outer: str
    inner: str

    @classmethod
    def of(cls, label: Any, index: Any) -> Parts | None:
        """None for labels of one level."""
        if not isinstance(index, pd.MultiIndex):
            return None
        return cls(short(label[:-1]), short(label[-1]))


@dataclass(frozen=True)
class Row:
    """A label with its numbers, and for a single one its interval (low, value, high)."""

    label: str
    cells: Sequence[Cell]
    interval: tuple[float, float, float] | None = None
    population: tuple[float, float] | None = None  # the ends of that for the population
    parts: Parts | None = None  # of a label of several levels


@dataclass(frozen=True)
class Card:
    """An answer for people. A row of None stands for rows that aren't shown."""

    names: str  # of the index
    columns: Sequence[str]
    rows: Sequence[Row | None]
    axis: Axis | None
    foot: str
    is_under: bool  # whether errors are written below the numbers
    record: Record | RecordBundle | None = None  # of the releases; None for what was derived
    spanned: Sequence[Parts] = ()  # of columns of several levels, if some have a level in common
    more: int = 0  # how many rows aren't shown

    def with_signs(self) -> Card:
        """With signs for the marks of its cells, if it has several columns: a word in each cell
        would make them wide."""
        marks = {
            cell.mark for row in self.rows if row is not None for cell in row.cells if cell.mark
        }
        if len(self.columns) < 2 or not marks:
            return self
        rows = [
            row and replace(row, cells=[cell.signed for cell in row.cells]) for row in self.rows
        ]
        said = [f"{sign} {word}" for word, sign in SIGNS.items() if word in marks]
        held, *kind = self.foot.split(KIND)
        foot = " · ".join([held, *said]) + "".join(KIND + each for each in kind)
        return replace(self, rows=rows, foot=foot)

    @property
    def is_grouped(self) -> bool:
        """Whether the labels of rows have outer levels in common, mostly two rows or more."""
        parts = [row.parts for row in self.rows if row is not None]
        outer = [part.outer for part in parts if part is not None]
        return bool(outer) and 2 * len(list(groupby(outer))) <= len(outer)

    @property
    def decimals(self) -> list[str]:
        """Of each column the longest decimals."""
        cells = [row.cells for row in self.rows if row is not None]
        return [
            max((of[i].decimals or "" for of in cells), key=len, default="")
            for i in range(len(self.columns))
        ]

    @property
    def has_population(self) -> list[bool]:
        """Which columns have a number that says something of a population."""
        cells = [row.cells for row in self.rows if row is not None]
        return [any(of[i].population for of in cells) for i in range(len(self.columns))]


def card_of(answer: Any) -> Card | None:
    """The card of a released Series or DataFrame, also if its labels have moved between rows and
    columns; None for others, and if values changed."""
    if isinstance(answer, DerivedSeries | DerivedFrame):
        return _derived(answer)
    shown = results.recognise(answer) if type(answer) in PLAIN else None
    if shown is None or (isinstance(shown.record, RecordBundle) and shown.record._places is None):
        return None  # also of synthetic rows, which have no errors: see `caption_of`
    return _drawn(answer, shown)


def caption_of(rows: Any) -> str:
    """What is said over synthetic rows, and what pandas makes of them; "" for all else."""
    record = results.claimed(rows) if type(rows) in PLAIN else None
    if not isinstance(record, RecordBundle) or record._places is not None:
        return ""
    return f"synthetic · {record.loss.in_short} · not people"


def _drawn(answer: Any, shown: ShownFigures) -> Card:
    rows = _kept(shown.places.shape[0], "display.max_rows", 60, "display.min_rows")
    columns = _kept(shown.places.shape[1], "display.max_columns", 20, "display.max_columns")
    high, wide = ([at for at in each if at is not None] for each in (rows, columns))
    figures = shown.part(high, wide)
    beyond, of_population = populations.of_release(shown, high, wide)
    strips = Strips.of(figures, beyond) if len(wide) == 1 else None
    is_under = shown.columns is not None and _is_covariance(shown.record)
    target = getattr(shown.record, "_target", None)  # of one release
    cells = _cells(figures, shown.record.preview, is_under, beyond, len(wide), target)
    for at, place in enumerate(shown.places[np.ix_(high, wide)].reshape(-1)):
        if is_missing(place):  # no number of a release: a label, or nothing
            cells[at] = _without_number(answer, high[at // len(wide)], wide[at % len(wide)])
    index = cast(pd.Index, shown.index)  # that of the release, where labels are columns here
    made = {
        row: Row(
            short(index[row]),
            _with_gaps(cells[i * len(wide) : (i + 1) * len(wide)], columns),
            *((None, None) if strips is None else strips.place(i)),
            Parts.of(index[row], index),
        )
        for i, row in enumerate(high)
    }
    return Card(
        _names(shown), _heads(answer, shown, columns),
        [None if row is None else made[row] for row in rows],
        None if strips is None else strips.axis,
        foot_of(shown, figures, type(answer).__name__, of_population), is_under, shown.record,
        _spanned(shown, columns), len(shown.places) - len(high),
    ).with_signs()  # fmt: skip


def _derived(answer: DerivedSeries | DerivedFrame) -> Card:
    """Of numbers that were derived from releases."""
    wide = 1 if isinstance(answer, pd.Series) else answer.shape[1]
    down, across = (
        _kept(len(answer), "display.max_rows", 60, "display.min_rows"),
        _kept(wide, "display.max_columns", 20, "display.max_columns"),
    )
    found = intervals(answer)
    names = ("value", "error", "low", "high", "unit", "noise_dominated", "may_be_empty")
    every = Figures(*(found[name].tolist() for name in names))
    beyond, of_population = populations.of_derived(answer)
    columns = [at for at in across if at is not None]
    strips = Strips.of(every, beyond) if wide == 1 else None
    rows: list[Row | None] = []
    for row in down:
        if row is None:
            rows.append(None)
            continue
        places = np.array([row * wide + at for at in columns], dtype=float)
        outer = None if beyond is None else beyond.at(places)
        cells = _with_gaps(_numbers(every.at(places), False, outer, len(columns)), across)
        strip = (None, None) if strips is None else strips.place(row)
        rows.append(
            Row(
                short(answer.index[row]),
                cells,
                *strip,
                Parts.of(answer.index[row], answer.index),
            )
        )
    shown = ShownFigures(
        None, np.empty((len(answer), wide)), answer.index,  # type: ignore[arg-type]
        answer.columns if isinstance(answer, pd.DataFrame) else None,
    )  # fmt: skip
    number = len(found)
    held = HELD if number == 1 else f"{HELD}: all {number:,} hold simultaneously"
    foot = f"{held}{of_population} · {answer._findings.source}"
    axis = None if strips is None else strips.axis
    spanned = _spanned(shown, across)
    heads, more = _heads(answer, shown, across), len(answer) - sum(at is not None for at in down)
    return Card(_names(shown), heads, rows, axis, foot, False, None, spanned, more).with_signs()


def card_of_number(answer: Any) -> Card:
    """The card of a single number or label, of found labels, or of what else `intervals` knows,
    such as estimates from randomised responses. `RecordError` for what isn't an answer."""
    found, shown, findings = intervals(answer), None, getattr(answer, "_findings", None)
    with suppress(RecordError):
        shown = results.shown_in(answer)
    names = ("value", "error", "low", "high", "unit", "noise_dominated", "may_be_empty")
    every = Figures(*(found[name].tolist() for name in names))
    beyond, foot = populations.NOTHING, HELD
    if shown is not None:
        beyond = populations.of_release(shown, [0], [0]) if len(found) == 1 else beyond
        foot = foot_of(shown, every, "", beyond.said)
    elif findings is not None:
        beyond = populations.of_derived(answer)
        foot = f"{HELD}{beyond.said} · {findings.source}"
    made_up = shown is not None and shown.record.preview
    cells = _cells(every, made_up, False, beyond.figures, 1)
    strips = Strips.of(every, beyond.figures)
    labels = range(len(found)) if isinstance(answer, pd.Index) else found.index
    rows = [
        Row(
            "" if findings is not None else short(label), [cells[i]],
            *((None, None) if strips is None else strips.place(i)),
        )
        for i, label in enumerate(labels)
    ]  # fmt: skip
    axis, record = None if strips is None else strips.axis, None if shown is None else shown.record
    return Card("", [""], rows, axis, foot, False, record)


def _without_number(answer: Any, row: int, column: int) -> Cell:
    """What is shown where no number was released."""
    value = answer.iloc[row] if isinstance(answer, pd.Series) else answer.iloc[row, column]
    return Cell("" if is_missing(value) else short(value))


def _is_covariance(record: Any) -> bool:
    return isinstance(record, Record) and isinstance(record._statistic, CovarianceTable)


def _kept(number: int, most: str, usual: int, fewest: str) -> list[int | None]:
    """The positions that are shown, as pandas' options have it (None for no limit, 0 for one that
    fits); None for those left out."""
    option = pd.get_option(most)
    limit = number if option is None else option or usual
    if number <= limit:
        return list(range(number))
    half = max(1, min(pd.get_option(fewest) or limit, limit) // 2)
    return [*range(half), None, *range(number - half, number)]


def _with_gaps(cells: Sequence[Cell], columns: Sequence[int | None]) -> list[Cell]:
    """The cells of a row, with "…" for columns that aren't shown."""
    each = iter(cells)
    return [Cell("…") if column is None else next(each) for column in columns]


def _names(shown: ShownFigures) -> str:
    """The names of the index, and of a table's columns."""
    both = [shown.index, shown.columns]
    return " \\ ".join(filter(None, (names_of(each) for each in both if each is not None)))


def _heads(answer: Any, shown: ShownFigures, columns: Sequence[int | None]) -> list[str]:
    """The names of the columns; of a Series its own."""
    if shown.columns is None:
        return ["" if answer.name is None else short(answer.name)]
    return ["…" if at is None else short(shown.columns[at]) for at in columns]


def _spanned(shown: ShownFigures, columns: Sequence[int | None]) -> list[Parts]:
    """The parts of the names of columns, if neighbours have an outer one in common."""
    names = cast(pd.Index, shown.columns)
    if not isinstance(names, pd.MultiIndex):
        return []
    found = [Parts("", "…") if at is None else Parts.of(names[at], names) for at in columns]
    parts = [each for each in found if each is not None]
    return parts if len(list(groupby(each.outer for each in parts))) < len(parts) else []


def _cells(
    figures: Figures, made_up: bool, marks_zero: bool, beyond: Figures | None, wide: int,
    target: Any = None,
) -> list[Cell]:  # fmt: skip
    if made_up:
        return [Cell("no answer")] * len(figures.values)
    return _numbers(figures, marks_zero, beyond, wide, target)


def _numbers(
    figures: Figures, marks_zero: bool, beyond: Figures | None, wide: int, target: Any = None
) -> list[Cell]:
    """The numbers row by row, of ``wide`` columns: durations of a column are in one unit.

    target : the error that the call asked for, if any.
    """
    columns = (
        figures.values, figures.errors, figures.lows, figures.highs, figures.units,
        figures.dominated, figures.empty,
    )  # fmt: skip
    units = [unit_of(figures.values[i::wide], figures.errors[i::wide]) for i in range(wide)]
    digits = digits_within(figures.errors, target)
    each = enumerate(zip(*columns, strict=True))
    cells = [
        _cell(*of, length=units[i % wide], marks_zero=marks_zero, digits=digits) for i, of in each
    ]
    cells = _padded(cells, figures, wide)
    if beyond is None:
        return cells
    notes = populations.notes(beyond)
    return [replace(cell, population=note) for cell, note in zip(cells, notes, strict=True)]


def _padded(cells: Sequence[Cell], figures: Figures, wide: int) -> list[Cell]:
    """Selected numbers of a column, which have no error that says where they end, with as many
    decimals as one of them has: 38.00 beside 38.75. Large ones are whole."""
    found = list(cells)
    for column in range(wide):
        places = [
            i for i in range(column, len(cells), wide)
            if figures.units[i] == "ranks" and isinstance(figures.values[i], float)
            and abs(figures.values[i]) < 1000 and cells[i].decimals is not None
        ]  # fmt: skip
        longest = max((cells[i].decimals or "" for i in places), key=len, default="")
        for i in places:
            value = f"{figures.values[i]:,.{max(0, len(longest) - 1)}f}"
            found[i] = replace(cells[i], value=value)
    return found


def _cell(
    value: Any, error: Any, low: Any, high: Any, unit: str, dominated: Any, empty: Any, *,
    length: str, marks_zero: bool, digits: int,
) -> Cell:  # fmt: skip
    marked = mark(*(not is_missing(each) and bool(each) for each in (dominated, empty)))
    if unit == "utility":
        off = "" if is_missing(error) else f", gap ≤ {format_error(error)}"
        return Cell(short(value), f"({CHOSEN}{off})")
    if unit == "ranks":
        told = Written(written(value).value, said=f"{plus_minus(error)} ranks")
        if not is_missing(low):  # what the answer was asked for says more
            told = within(value, low, high)
        return Cell(told.value, told.beside, marked)
    told = written(value, error, low, high, unit=length, digits=digits)
    includes = bool(marks_zero and low <= 0 <= high)
    return Cell(told.value, told.beside, marked, includes)


def foot_of(shown: ShownFigures, figures: Figures, kind: str, of_population: str = "") -> str:
    """The loss, how the errors hold, and what the answer is."""
    record = shown.record
    said = [record.loss.in_short]
    if record.preview:
        said = [f"preview: would cost {record.loss.in_short}, nothing was computed or charged"]
    elif isinstance(record, RecordBundle) and len(record.components) > 1:
        many = len(record.components)
        said.append(f"{HELD}: the errors of each of {many} releases hold simultaneously")
    elif isinstance(record, RecordBundle):
        (alone,) = record.components.values()
        said.append(_held(shown, figures, alone))
    else:
        said.append(_held(shown, figures, record))
    said[-1] += of_population
    return " · ".join(filter(None, said)) + (KIND + kind if kind else "")


def _held(shown: ShownFigures, figures: Figures, record: Record) -> str:
    """How the errors of one release hold."""
    number = len(record._values())
    if not any(figures.units):
        return "no error is known"
    if record._statistic.errors.each:
        return f"{HELD}: each, if released"
    if number == 1 or figures.units[0] == "utility":
        return HELD
    some = "" if shown.places.size == number else f", {shown.places.size:,} shown"
    return f"{HELD}: all {number:,} hold simultaneously{some}"
