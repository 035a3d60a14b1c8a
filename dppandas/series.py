"""One private column, or a mask made from private columns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from . import querystring, rows
from .domain import Grid
from .errors import LineageError, QueryError
from .rows import Column, Expression, Literal
from .shaping import Rows, asks, bounds_of, index, present, truth
from .statistics import Cells, Count, Layout, Mean, Sum
from .unreleased import Private, Root, UnreleasedMode
from .vectors import NUMBERS

#: Binary functions of numpy that are operators.
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
}


class PrivateSeries(Rows):
    """One column of private rows, or a mask made from them."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, root: Root, name: Any, expression: Expression, where: Expression | None
    ) -> None:
        super().__init__(root, {name: expression}, where)
        self.name = name
        self._expression = expression

    def __repr__(self) -> str:
        source = self._root.source
        filtered = "" if self._where is None else f" where {self._where}"
        return f"<private column {self._expression} of {source.name} ({source.lineage}){filtered}>"

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"private columns have no {name!r}. They answer count, sum, mean, value_counts and "
            "mode; they can be compared, combined and used as a mask."
        )

    def __getitem__(self, key: Any) -> PrivateSeries:
        if not isinstance(key, PrivateSeries):
            raise QueryError("index a private column by a private mask: rows have no position.")
        return PrivateSeries(self._root, self.name, self._expression, kept(self, key))

    # row-wise expressions

    def _other(self, other: Any) -> Expression:
        if isinstance(other, PrivateSeries):
            if other._root.data is not self._root.data or other._where != self._where:
                raise LineageError("these private columns come from different frames or rows.")
            return other._expression
        if isinstance(other, pd.Series | pd.Index | np.ndarray | list | tuple):
            raise LineageError(
                f"a plain {type(other).__name__} has no rows in common with private data; use "
                ".isin([…]) for a set of values."
            )
        return querystring.literal(other)

    def _new(self, expression: Expression) -> PrivateSeries:
        return PrivateSeries(self._root, self.name, expression, self._where)

    def _compared(self, operation: str, other: Any) -> PrivateSeries:
        return self._new(rows.Compare(operation, self._expression, self._other(other)))

    def __eq__(self, other: Any) -> PrivateSeries:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: Any) -> PrivateSeries:  # type: ignore[override]
        return self._compared("!=", other)

    def __lt__(self, other: Any) -> PrivateSeries:
        return self._compared("<", other)

    def __le__(self, other: Any) -> PrivateSeries:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> PrivateSeries:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> PrivateSeries:
        return self._compared(">=", other)

    def __and__(self, other: Any) -> PrivateSeries:
        return self._new(rows.And(truth(self._expression), truth(self._other(other))))

    def __or__(self, other: Any) -> PrivateSeries:
        return self._new(rows.Or(truth(self._expression), truth(self._other(other))))

    def __invert__(self) -> PrivateSeries:
        return self._new(rows.Not(truth(self._expression)))

    def _computed(self, operation: str, left: Expression, right: Expression) -> PrivateSeries:
        for side in (left, right):
            if isinstance(side, Literal) and not isinstance(side.value, NUMBERS):
                raise QueryError(f"{side} is no number.")
        return self._new(rows.Arithmetic(operation, left, right))

    def __add__(self, other: Any) -> PrivateSeries:
        return self._computed("+", self._expression, self._other(other))

    def __radd__(self, other: Any) -> PrivateSeries:
        return self._computed("+", self._other(other), self._expression)

    def __sub__(self, other: Any) -> PrivateSeries:
        return self._computed("-", self._expression, self._other(other))

    def __rsub__(self, other: Any) -> PrivateSeries:
        return self._computed("-", self._other(other), self._expression)

    def __mul__(self, other: Any) -> PrivateSeries:
        return self._computed("*", self._expression, self._other(other))

    def __rmul__(self, other: Any) -> PrivateSeries:
        return self._computed("*", self._other(other), self._expression)

    def __truediv__(self, other: Any) -> PrivateSeries:
        return self._computed("/", self._expression, self._other(other))

    def __rtruediv__(self, other: Any) -> PrivateSeries:
        return self._computed("/", self._other(other), self._expression)

    def __floordiv__(self, other: Any) -> PrivateSeries:
        return self._computed("//", self._expression, self._other(other))

    def __mod__(self, other: Any) -> PrivateSeries:
        return self._computed("%", self._expression, self._other(other))

    def __pow__(self, other: Any) -> PrivateSeries:
        return self._computed("**", self._expression, self._other(other))

    def __neg__(self) -> PrivateSeries:
        return self._new(rows.Negative(self._expression))

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """numpy's operators, which a numpy scalar on the left calls before ours."""
        function = _OPERATORS.get(ufunc.__name__)
        if function is None or method != "__call__" or kwargs:
            return super().__array_ufunc__(ufunc, method, *args, **kwargs)
        left, right = (x.item() if isinstance(x, np.ndarray) and not x.ndim else x for x in args)
        if isinstance(left, PrivateSeries):
            return function(left, right)
        return function(PrivateSeries(self._root, self.name, self._other(left), self._where), self)

    def isna(self) -> PrivateSeries:
        """A mask: which values are missing."""
        return self._new(rows.IsMissing(self._expression))

    def notna(self) -> PrivateSeries:
        """A mask: which values are not missing."""
        return self._new(rows.Not(rows.IsMissing(self._expression)))

    isnull, notnull = isna, notna

    def isin(self, values: Sequence[Any]) -> PrivateSeries:
        """A mask: which values equal one of some plain ones."""
        if isinstance(values, str | Private) or not isinstance(
            values, list | tuple | set | frozenset | range | pd.Index | np.ndarray
        ):
            raise QueryError("isin takes a list of plain values.")
        labels = tuple(querystring.literal(value).value for value in values)
        return self._new(rows.IsIn(self._expression, labels))

    def between(self, left: Any, right: Any, inclusive: str = "both") -> PrivateSeries:
        """A mask: which values lie between two; inclusive as in Series.between."""
        if inclusive not in ("both", "neither", "left", "right"):
            raise QueryError("inclusive= is 'both', 'neither', 'left' or 'right'.")
        low, high = self._other(left), self._other(right)
        return self._new(rows.between(self._expression, low, high, inclusive))

    # statistics

    @asks
    def count(self, *, epsilon: object = None) -> Any:
        """How many values are not missing: an int.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/counts.md).
        """
        statistic = Count(Cells(), Layout(integer=True), (present(self._expression),))
        return self._answer(statistic, f"count of {self._expression}", epsilon)

    @asks
    def size(self, *, epsilon: object = None) -> Any:
        """The number of rows, missing values and all: an int.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/counts.md).
        """
        return self._answer(Count(Cells(), Layout(integer=True)), "count", epsilon)

    @asks
    def sum(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """The sum of the values, clipped to bounds: a float. Missing values count as nothing.

        bounds : (lower, upper), public facts; else the declared domain's.

        *Guarantee*: epsilon-differential privacy of the unit; sensitivity max(|lower|, |upper|) a
        row, on the grid (docs/proofs/sums.md).
        """
        bound = bounds_of(self._root, self.name, self._expression, bounds)
        layout = Layout(integer=False)
        statistic = Sum(Cells(), layout, (self._expression,), (Grid.centred(bound),))
        return self._answer(statistic, f"sum of {self._expression} in {bound}", epsilon)

    @asks
    def mean(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """The mean of the values, clipped to bounds: a float. Missing values are left out.

        bounds : (lower, upper), public facts; else the declared domain's.

        *Guarantee*: epsilon-differential privacy of the unit, and of how many values there are
        (Kulesza, Suresh and Wang, ICML 2024; docs/proofs/means.md).

        >>> import pandas as pd
        >>> m = pd.Series([20, 30, 40] * 100).dp.mean(bounds=(0, 60), epsilon=1)
        >>> 0 <= m <= 60
        True
        """
        bound = bounds_of(self._root, self.name, self._expression, bounds)
        statistic = Mean(Cells(), Layout(integer=False), (self._expression,), (bound,))
        return self._answer(statistic, f"mean of {self._expression} in {bound}", epsilon)

    @asks
    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        *,
        keys: object = None,
        epsilon: object = None,
    ) -> Any:
        """How many rows have each declared key: a Series named "count" ("proportion").

        keys : a list of labels; else the declared domain's. Rows with other values are dropped.
        dropna : False adds a last cell for missing values.

        *Guarantee*: epsilon-differential privacy of the unit; the keys are disjoint, so the ℓ1
        sensitivity is 1 a row (docs/proofs/counts.md).

        >>> import pandas as pd
        >>> s = pd.Series(["a", "b", "a"], name="x")
        >>> s.dp.value_counts(keys=["a", "b"], sort=False, epsilon=1).index.tolist()
        ['a', 'b']
        """
        cells = self._cells([self.name], keys)
        if not dropna:
            cells = replace(cells, missing_cell=True)
        return self._histogram(cells, [self.name], normalize, sort, ascending, epsilon)

    @asks
    def mode(self, *, keys: object = None, epsilon: object = None) -> Any:
        """The most frequent of the declared keys, as a Series of one, like Series.mode.

        *Guarantee*: epsilon-differential privacy of the unit, by permute-and-flip
        (docs/proofs/permute_and_flip.md).
        """
        cells = self._cells([self.name], keys)
        statistic = Count(cells, Layout(integer=True, index=index(cells, [self.name])))
        what = f"mode of {self._expression} ({cells.described})"
        asked = UnreleasedMode(self._root, self._where, statistic, what)
        return asked if epsilon is None else asked.release(epsilon=epsilon)


def kept(rows_of: Rows, mask: PrivateSeries) -> Expression:
    """What keeps the rows that were kept before, and of these the ones where a mask is true."""
    if mask._root.data is not rows_of._root.data:
        raise LineageError("this mask was made from another frame; make it from this one.")
    if mask._where is not None and mask._where != rows_of._where:
        raise QueryError("this mask was made from other rows; make it from this frame.")
    if not (mask._expression.is_truth or isinstance(mask._expression, Column)):
        raise QueryError(f"{mask._expression} is not true or false: compare it.")
    return rows.both(rows_of._where, mask._expression)
