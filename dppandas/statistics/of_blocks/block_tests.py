"""Tests of the rows of one block: those of scipy by their names, and a caller's own function.

Whatever a test does with a block is known of that block alone: each gets new arrays, and what it
warns, prints or raises is seen by nobody.
"""

from __future__ import annotations

import math
import numbers
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...dataclasses import dataclass, field
from ...errors import QueryError
from ...privacy.record_parts import RecordPart
from ...rows.expressions import Chunk, Expression, places
from ...rows.facts.keys import Keys
from ...rows.values import equality, vectors
from ...rows.values.families import MISSING, Cell
from ...rows.values.objects import value_of
from ..callers import CallerFunction, unheard

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

#: How a column is shown to a test: as float64; as bool; as the place of a label; or as objects. And
#: truth values of which some may be missing, as pandas' boolean.
NUMBER, TRUTH, LABEL, OBJECT = "number", "truth", "label", "object"
TRISTATE = "boolean"
#: A p-value that is a rounding above the level of a block counts as one at that level.
BESIDE = 2.0**-30


@dataclass(frozen=True)
class Shown(RecordPart):
    """A column that a test sees, in a form that public facts decide."""

    name: Any
    expression: Expression
    form: str = NUMBER
    keys: Keys | None = None

    #: The name is that of a column for a caller's function, which has no key.
    not_asked: ClassVar[tuple[str, ...]] = ("name",)

    def read(self, chunk: Chunk) -> tuple[Floats, list[Cell]]:
        """A number for each row, NaN for a missing value; of objects it is the place of a cell
        among those beside it."""
        if self.keys is not None:
            codes = places((self.expression,), self.keys, chunk)
            return np.where(codes < len(self.keys), codes, np.nan), []
        vector = self.expression.vector(chunk)
        if self.form == OBJECT:
            coded = vectors.by_cell(vector, representative, "representative")
            codes, used = coded.codes, np.unique(coded.codes[coded.codes >= 0])
            cells = [coded.levels.cells[i] for i in used.tolist()]
            return np.where(codes < 0, np.nan, np.searchsorted(used, codes)), cells
        found = vectors.as_numbers(vector) + 0.0  # -0.0 is 0.0
        if self.form in (TRUTH, TRISTATE):
            found = np.where((found == 0) | (found == 1), found, np.nan)
        return np.where(np.isnan(found), np.nan, found), []

    def shown(self, values: Floats, cells: Sequence[Cell]) -> Any:
        """What a test sees of these: a new array. Missing objects are None."""
        if self.form == OBJECT:
            found = np.empty(len(values), dtype=object)
            for row in np.flatnonzero(~np.isnan(values)).tolist():
                found[row] = value_of(cells[int(values[row])])  # which may be a tuple
            return found
        if self.form == TRISTATE:
            is_missing = np.isnan(values)
            return pd.arrays.BooleanArray(np.where(is_missing, 0, values) == 1, is_missing)
        kinds: dict[str, type] = {TRUTH: np.bool_, LABEL: np.intp}
        return np.array(values, dtype=kinds.get(self.form, np.float64))


def representative(cell: Cell) -> Cell:
    """One of the cells that are equal: which of them a column holds may depend on other rows, as
    pandas' categories merge 1 and True."""
    family, exact = cell
    if equality.key(cell) is None:
        return MISSING
    if family == "truth":
        return "number", int(exact)
    if family == "zoned":
        return "zoned", (exact[0], "UTC")
    return (family, tuple(map(_element, exact))) if family in ("list", "set", "mapping") else cell


def _element(cell: Cell) -> Cell:
    return cell if cell[0] in ("truth", "missing") else representative(cell)


class BlockTest(RecordPart, ABC):
    """A test of the rows of one block."""

    @abstractmethod
    def of(self, block: Sequence[Array], columns: Sequence[Shown]) -> Any:
        """What it returns for the columns of a block."""

    def is_significant(
        self, block: Sequence[Array], columns: Sequence[Shown], level: float
    ) -> bool:
        """Whether its p-value is at most a level. What fails, whatever it raises,
        has none; only an interrupt passes on."""
        try:
            with unheard():
                found = pvalue_of(self.of(block, columns))
        except KeyboardInterrupt:
            raise
        except BaseException:  # exits and panics as well: nobody may know of which block
            return False
        return found <= level * (1 + BESIDE)


def pvalue_of(found: Any) -> float:
    """The p-value that a test returned, or that its result has; NaN for anything else."""
    value = getattr(found, "pvalue", found)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return math.nan
    number = float(value)
    return number if 0 <= number <= 1 else math.nan


# --- a caller's function --------------------------------------------------------------------------


class CallerTest(BlockTest, CallerFunction):
    """A caller's function of a DataFrame, which returns a p-value or a result that has one."""

    def of(self, block: Sequence[Array], columns: Sequence[Shown]) -> Any:
        return self._said(frame_of(block, columns))


def frame_of(block: Sequence[Array], columns: Sequence[Shown]) -> pd.DataFrame:
    """The rows of a block as a new DataFrame, whose types no row decides."""
    rows = len(block[0]) if block else 0
    each = {i: pd.Series(array, dtype=array.dtype) for i, array in enumerate(block)}
    frame = pd.DataFrame(each, index=pd.RangeIndex(rows))
    frame.columns = pd.Index([column.name for column in columns], tupleize_cols=False)
    return frame


# --- tests of scipy -------------------------------------------------------------------------------

#: What tests of scipy are handed: one column; two columns, row by row; a column in two groups, or
#: in several; a table of two groups and two labels, or of any numbers of them; how many rows are
#: True, and how many there are.
SAMPLE, PAIRS, TWO, GROUPS = "sample", "pairs", "two groups", "groups"
FOURFOLD, TABLE, SUCCESSES = "fourfold table", "table", "successes"
BY_GROUPS = frozenset({TWO, GROUPS, FOURFOLD, TABLE})


@dataclass(frozen=True)
class ScipyTest(BlockTest):
    """A test of scipy.stats, by its name: it is handed arrays of the declared columns alone.

    options : plain values that it takes, by name.
    """

    name: str
    handed: str
    options: tuple[tuple[str, Any], ...] = field(default=())

    def of(self, block: Sequence[Array], columns: Sequence[Shown]) -> Any:
        return self.function()(*self._given(block, columns), **dict(self.options))

    def function(self) -> Callable[..., Any]:
        """The function that scipy.stats holds under this name."""
        found = held(self.name)
        if found is None:
            raise QueryError(f"scipy.stats.{self.name} isn't the one that scipy has.")
        return found

    def _given(self, block: Sequence[Array], columns: Sequence[Shown]) -> tuple[Any, ...]:
        first, *rest = block
        if self.handed == SUCCESSES:
            return int(np.count_nonzero(first)), len(first)
        if self.handed in (SAMPLE, PAIRS):
            return tuple(block)
        (places_of,) = rest
        groups = _number(columns[-1])
        if self.handed in (TWO, GROUPS):
            return tuple(first[places_of == place] for place in range(groups))
        table = np.zeros((groups, _number(columns[0])), dtype=np.int64)
        np.add.at(table, (places_of, first), 1)
        return (table,)


def _number(column: Shown) -> int:
    return 0 if column.keys is None else len(column.keys)


def held(name: str) -> Callable[..., Any] | None:
    """The function of that name in scipy.stats, if it is one of scipy's own; None if it isn't."""
    module: Any = sys.modules.get("scipy.stats")
    if module is None:
        try:
            module = import_module("scipy.stats")  # as it was when it was asked for
        except ImportError:
            return None
    function = vars(module).get(name)
    return function if _is_own(function, name, module) else None


def _is_own(function: Any, name: str, module: Any) -> bool:
    """Whether something is a function of that name that is written in scipy's files."""
    if type(function) is not FunctionType or function.__name__ != name:
        return False
    if not str(function.__module__).startswith("scipy.stats"):
        return False
    folder = os.path.dirname(os.path.dirname(os.path.abspath(module.__file__)))
    return os.path.abspath(function.__code__.co_filename).startswith(folder + os.sep)
