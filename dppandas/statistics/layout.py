"""The cells that rows are sorted into, and the layout of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..dataclasses import dataclass, field
from ..privacy.record_parts import RecordPart
from ..rows import expressions
from ..rows.expressions import Chunk, Column, Expression
from ..rows.facts.keys import Keys
from ..rows.facts.spans import Ruler
from ..rows.figures import by_name as by_name
from ..rows.figures import errors_in_words as errors_in_words
from ..rows.figures import format_error as format_error
from ..rows.figures import format_label as format_label
from ..rows.figures import format_number as format_number
from ..rows.figures import format_value as format_value
from ..rows.figures import spread as spread
from ..rows.values import orders, vectors
from ..rows.values.forms import Coded
from ..rows.values.vectors import Mask

Codes = npt.NDArray[np.intp]
Interval = tuple[float, float]
#: The column of figures that aren't of a column, beside their labels.
UNNAMED = "size"


def around(answers: Sequence[float], intervals: Sequence[Interval]) -> list[Interval]:
    """Intervals widened to hold their answers, which are clipped where sums are far below 0."""
    pairs = zip(answers, intervals, strict=True)
    return [(min(low, answer), max(high, answer)) for answer, (low, high) in pairs]


class MostRows(NamedTuple):
    """The most rows of a unit that count: in all cells together and in one cell. And the most that
    the squares of its numbers of rows in the cells add up to, and the most cells that they reach.
    """

    together: int
    in_one: int
    squares: int
    reached: int


#: A branch of a chunk, and which of its rows are kept; None for all.
Kept = tuple[Chunk, Mask | None]


@dataclass(frozen=True)
class Cells(RecordPart):
    """Disjoint public cells of rows: one for each key, or a single one for all rows.

    A row lies in at most one cell; rows outside the keys lie in none. With ``missing_cell`` the
    last cell holds the rows whose label is missing.
    """

    by: tuple[Expression, ...] = ()
    keys: Keys | None = None
    missing_cell: bool = False

    #: In words, how many rows of a unit count; "" for all that its source keeps.
    limited: ClassVar[str] = ""
    #: The columns that decide which rows count, beside those of the labels.
    read: ClassVar[frozenset[Any]] = frozenset()

    def most(self, rows: int) -> MostRows:
        """How many of `rows` rows of a unit count."""
        return MostRows(rows, rows, rows * rows, rows)

    def counted(self, branches: Sequence[Kept]) -> Sequence[Kept]:
        """The rows that count, of those that a filter keeps of what a chunk's rows become."""
        return branches

    def __len__(self) -> int:
        return 1 if self.keys is None else len(self.keys) + self.missing_cell

    @property
    def described(self) -> str:
        """The number of keys, in words."""
        return "1 key" if len(self) == 1 else f"{len(self)} keys"

    def codes(self, chunk: Chunk, keep: Mask | None = None) -> Codes | None:
        """The cell of each row, len(self) for rows in none and for rows that aren't kept. None,
        whatever is kept, where there is a single cell."""
        codes = self._codes(chunk)
        return codes if codes is None or keep is None else np.where(keep, codes, len(self))

    def tally(self, chunk: Chunk, keep: Mask | None) -> npt.NDArray[np.int64] | None:
        """How many rows each cell has, of those that are kept, where the levels of a column tell it
        faster than `codes`; else None."""
        if self.keys is None or self.missing_cell or type(self.by[0]) is not Column:
            return None
        held = self.by[0].vector(chunk)
        if self.keys.width > 1 or not isinstance(held, Coded):
            return None
        return vectors.prepared(self.keys.labels).tally(held if keep is None else held.take(keep))

    def _codes(self, chunk: Chunk) -> Codes | None:
        if self.keys is None:
            return None
        codes = expressions.places(self.by, self.keys, chunk)
        if self.missing_cell:
            codes = codes + (codes == len(self.keys))  # the code for "in none" moves up by one
            codes[vectors.is_null(self.by[0].vector(chunk))] = len(self.keys)
        return codes


@dataclass(frozen=True)
class GroupLabels:
    """Where an answer shows the labels of its groups: in declared order or sorted, and in the index
    or in columns. It changes what is shown, and nothing that is asked."""

    levels: int = 1
    is_sorted: bool = False
    as_columns: bool = False

    def shown(self, value: Any) -> Any:
        """An answer with its labels where they belong."""
        if self.is_sorted:
            order = {"kind": "stable", "sort_remaining": False}
            value = value.sort_index(level=list(range(self.levels)), **order)
        return self._in_columns(value) if self.as_columns else value

    def _in_columns(self, value: Any) -> Any:
        """Labels that are objects stay objects: pandas would find out what they are, and of keys
        that nobody declared the dtype would tell which were left out."""
        each = [value.index.get_level_values(place) for place in range(value.index.nlevels)]
        # pandas may not even look at objects: it fails at half a letter, a lone surrogate
        numbers = [np.arange(len(x)) if x.dtype == object else x for x in each]
        stand_in = pd.MultiIndex.from_arrays(numbers, names=value.index.names)
        value = value.set_axis(stand_in if len(each) > 1 else stand_in.get_level_values(0), axis=0)
        unnamed = isinstance(value, pd.Series) and value.name is None
        table = value.reset_index(name=UNNAMED) if unnamed else value.reset_index()
        for place, labels in enumerate(each):
            if labels.dtype == object:
                table.isetitem(place, pd.Series(labels, dtype=object))
        return table

    def clash(self, levels: Sequence[Any], columns: Sequence[Any] = ()) -> Any:
        """The name that a level of the index would share with another one or with a column if it
        became a column; None if all can."""
        if not self.as_columns:
            return None
        labels = [f"level_{i}" if name is None else name for i, name in enumerate(levels)]
        times = Counter([*labels, *columns])
        return next((name for name in labels if times[name] > 1), None)


@dataclass(frozen=True)
class Layout:
    """How a flat list of numbers becomes the object that pandas would return."""

    integer: bool
    index: pd.Index | None = field(default=None, compare=False)
    columns: pd.Index | None = field(default=None, compare=False)
    name: Any = None
    order: str | None = None  # "ascending" or "descending"
    block: int = 0  # sort within consecutive blocks of this length; 0: all together
    rulers: tuple[Ruler | None, ...] = ()  # one for each column, None for a column of numbers
    groups: GroupLabels = GroupLabels()

    @property
    def is_scalar(self) -> bool:
        return self.index is None

    @property
    def names(self) -> list[Any]:
        """The names of the columns of figures."""
        if self.columns is not None:
            return list(self.columns)
        return [UNNAMED if self.name is None else self.name]

    def table(
        self, values: Sequence[float], places: Codes | None = None, integer: bool = False
    ) -> Any:
        """Numbers (or what `typed` makes of them) under their labels, in the order ``places``."""
        if self.rulers and not integer:
            return self._typed(values)
        return self._labelled(self.numbers(values, integer), places)

    def numbers(self, values: Sequence[float], integer: bool = False) -> npt.NDArray[Any]:
        """Numbers as `table` shows them, but without labels."""
        dtype = np.int64 if self.integer or integer else np.float64
        if isinstance(values, list | tuple):
            return np.fromiter(values, dtype, len(values))  # faster
        return np.array(values, dtype=dtype)

    def _labelled(self, values: npt.NDArray[Any], places: Codes | None) -> Any:
        if self.columns is not None:
            values = values.reshape(-1, len(self.columns))
            return pd.DataFrame(values, index=self.index, columns=self.columns)
        index = self.index
        if places is not None and index is not None:
            values, index = values[places], index.take(places)
        return pd.Series(values, index=index, name=self.name)

    def typed(
        self,
        values: Sequence[float],
        says: Callable[[int], str],
        rounded: Callable[[Any], int] = round,
    ) -> list[Any]:
        """Numbers of columns of times as Timestamps and Timedeltas, all others as they are."""
        if not self.rulers:
            return list(values)
        found: list[Any] = []
        for i, value in enumerate(values):
            ruler, what = self.rulers[i % len(self.rulers)], says(i)
            if ruler is None or what == "number":
                found.append(value)
            else:
                found.append((ruler.place if what == "value" else ruler.length)(value, rounded))
        return found

    @property
    def ruler(self) -> Ruler | None:
        """The ruler that all columns share; None for numbers and for mixed columns."""
        return self.rulers[0] if self.rulers and not self.is_mixed else None

    @property
    def is_mixed(self) -> bool:
        """Whether columns differ in their units."""
        return len({None if ruler is None else ruler.tick for ruler in self.rulers}) > 1

    def _typed(self, values: Sequence[Any]) -> Any:
        """A table whose dtypes follow from the rulers: times, durations or numbers."""
        if self.columns is None:
            return pd.Series(self._array(values, 0), index=self.index, name=self.name)
        width = len(self.columns)
        arrays = {c: self._array(values[c::width], c) for c in range(width)}
        table = pd.DataFrame(arrays, index=self.index)
        return table.set_axis(self.columns, axis=1)

    def _array(self, values: Sequence[Any], first: int) -> Any:
        """One column of an answer."""
        width = 1 if self.columns is None else len(self.columns)
        places = range(first, first + width * len(values), width)
        rulers = [self.rulers[i % len(self.rulers)] for i in places]
        alike = {None if r is None else (r.unit, r.span.zone, r.span.is_time) for r in rulers}
        kinds = {isinstance(value, int | float) + 2 * isinstance(value, pd.Timedelta)
                 for value in values}  # fmt: skip
        if kinds == {1}:
            return np.array(values, dtype=np.float64)
        if len(kinds) > 1 or len(alike) > 1 or rulers[0] is None:
            return pd.array(list(values), dtype=object)
        return rulers[0].array(values, of_lengths=kinds == {2})

    def flags(self, said: Sequence[bool | None], places: Codes | None) -> Any:
        """Truth values about numbers, labelled as in `table`; None where nothing is known."""
        return self._labelled(np.array(list(said), dtype=object if None in said else bool), places)

    def labels(self) -> list[str]:
        """A name for each number, in declared order."""
        if self.index is None:
            return ["answer"]
        rows = [format_label(row) for row in self.index]
        if self.columns is None:
            return rows
        columns = [format_label(column) for column in self.columns]
        return [f"{row}, {column}" for row in rows for column in columns]

    def places(self, values: Sequence[float]) -> Codes | None:
        """The order of the entries of a sorted answer, ties in declared order; None if unsorted."""
        if self.order is None:
            return None
        numbers, falls = np.asarray(values), self.order == "descending"
        blocks = np.arange(len(numbers)) // (self.block or len(numbers) or 1)
        if numbers.dtype == np.int64 and len(numbers):
            least, most = int(numbers.min()), int(numbers.max())
            if most - least < 2**32 and max(most, -least) <= 2**53:  # floats would tie beyond
                by = orders.by_codes(most - numbers if falls else numbers - least)
                return by[orders.by_codes(blocks[by])] if self.block else by
        # NaN is last in its block, and ties keep their order
        return np.lexsort(((-1.0 if falls else 1.0) * numbers.astype(np.float64), blocks))


def between(lower: Any, upper: Any) -> pd.DataFrame:
    """The ends of intervals, tables alike, in one: of Series as columns lower and upper, of
    DataFrames as both under each column."""
    ends = {"lower": lower, "upper": upper}
    if isinstance(lower, pd.Series):
        return pd.DataFrame(ends)
    wide, number = pd.concat(ends, axis=1), lower.shape[1]
    wide.columns = wide.columns.reorder_levels([*range(1, wide.columns.nlevels), 0])
    order = [i + end * number for i in range(number) for end in (0, 1)]
    sorted_columns: pd.DataFrame = wide.iloc[:, order]
    return sorted_columns
