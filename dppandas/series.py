"""One private column, or a mask made from private columns."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from . import querystring, refusals, rows
from .domain import Grid, Keys
from .errors import LineageError, QueryError, is_one_of, quiet, shown
from .parts import TextMethods, TimeMethods, cast, edges_of, mapped, number
from .rows import (
    FUNCTIONS,
    Clip,
    Column,
    Cut,
    Expression,
    Function,
    Literal,
    Outside,
    Where,
)
from .shaping import Rows, asks, bounds_of, index, present, truth, variance
from .statistics import Cells, Count, Distinct, Layout, Mean, Sum
from .unreleased import Private, Root, Unreleased, UnreleasedMode
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
    "bitwise_xor": operator.xor,
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

    def __repr__(self) -> builtins.str:
        source = self._root.source
        filtered = "" if self._where is None else f" where {self._where}"
        return f"<private column {self._expression} of {source.name} ({source.lineage}){filtered}>"

    def __getattr__(self, name: builtins.str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        answers = "count, sum, mean, value_counts, mode, clipped and (a unit's) nunique"
        raise refusals.refuse("private columns", name, answers)

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
        if isinstance(other, Unreleased):
            raise QueryError(
                f"{other!r} is no number yet. Release it: what is released is public, and may be "
                "used here. Nothing was computed or charged."
            )
        if isinstance(other, pd.Series | pd.Index | np.ndarray | list | tuple):
            raise LineageError(
                f"a plain {type(other).__name__} has no rows in common with private data; use "
                ".isin([…]) for a set of values."
            )
        return querystring.literal(other)

    def _new(self, expression: Expression) -> PrivateSeries:
        return PrivateSeries(self._root, self.name, expression, self._where)

    def _compared(self, operation: builtins.str, other: Any) -> PrivateSeries:
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

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> PrivateSeries:
        return self._new(rows.Not(truth(self._expression)))

    def _computed(
        self, operation: builtins.str, left: Expression, right: Expression
    ) -> PrivateSeries:
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

    def __rfloordiv__(self, other: Any) -> PrivateSeries:
        return self._computed("//", self._other(other), self._expression)

    def __rmod__(self, other: Any) -> PrivateSeries:
        return self._computed("%", self._other(other), self._expression)

    def __pow__(self, other: Any) -> PrivateSeries:
        return self._computed("**", self._expression, self._other(other))

    def __rpow__(self, other: Any) -> PrivateSeries:
        return self._computed("**", self._other(other), self._expression)

    def __pos__(self) -> PrivateSeries:
        return self._computed("+", Literal(0), self._expression)

    def __neg__(self) -> PrivateSeries:
        return self._new(rows.Negative(self._expression))

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """numpy's operators, which a numpy scalar on the left calls before ours."""
        if ufunc.__name__ in FUNCTIONS and method == "__call__" and not kwargs:
            return self._new(Function(ufunc.__name__, self._expression))
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

    def __abs__(self) -> PrivateSeries:
        return self._new(Function("absolute", self._expression))

    def __round__(self, decimals: int = 0) -> PrivateSeries:
        return self.round(decimals)

    def __xor__(self, other: Any) -> PrivateSeries:
        either: PrivateSeries = (self | other) & ~(self & other)
        return either

    __rxor__ = __xor__

    def abs(self) -> PrivateSeries:
        """Without the sign. *Stability*: 1, row by row."""
        return self._new(Function("absolute", self._expression))

    @asks
    def round(self, decimals: int = 0) -> PrivateSeries:
        """Rounded to decimals. *Stability*: 1, row by row."""
        if isinstance(decimals, bool) or not isinstance(decimals, int) or abs(decimals) > 300:
            raise QueryError(f"decimals={shown(decimals)} must be a whole number.")
        return self._new(Function("round", self._expression, decimals))

    @asks
    def clip(self, lower: Any = None, upper: Any = None) -> PrivateSeries:
        """No lower and no higher than two numbers; missing values stay missing. Numbers that the
        result is bounded by are declared for it. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"age": [20, 90, 300]}), unit="row")
        >>> p["age"].clip(0, 99).mean()
        <unreleased mean of clip(age, 0, 99) in (0, 99), from unnamed (asserted): nothing computed \
or charged; ask .release(epsilon=…)>
        """
        low = -math.inf if lower is None else number(lower, "lower")
        high = math.inf if upper is None else number(upper, "upper")
        if low > high:
            raise QueryError(f"lower={low:g} is above upper={high:g}.")
        return self._new(Clip(self._expression, low, high))

    @asks
    def where(self, cond: Any, other: Any = None) -> PrivateSeries:
        """The value where a mask holds, else another (missing). *Stability*: 1, row by row."""
        condition, otherwise = self._condition(cond), self._value(other)
        return self._new(Where(condition, self._expression, otherwise))

    @asks
    def mask(self, cond: Any, other: Any = None) -> PrivateSeries:
        """Another value (missing) where a mask holds. *Stability*: 1, row by row."""
        condition, otherwise = self._condition(cond), self._value(other)
        return self._new(Where(condition, otherwise, self._expression))

    def _condition(self, cond: Any) -> Expression:
        if callable(cond) and not isinstance(cond, PrivateSeries):
            cond = cond(self)
        if not isinstance(cond, PrivateSeries):
            raise QueryError("the condition is a mask made from private columns: p['age'] > 30.")
        return truth(self._other(cond))

    def _value(self, other: Any) -> Expression:
        """A plain value, a private column of the same rows, or a missing value."""
        if not isinstance(other, PrivateSeries | pd.Series | pd.Index | np.ndarray) and (
            rows.plain_or_missing(other) is None
        ):
            return Literal(None)
        return self._other(other)

    @asks
    def fillna(self, value: Any) -> PrivateSeries:
        """With a constant (or another private column's value) for missing values.

        *Stability*: 1, row by row. A value computed from the column, such as its mean, has to be
        released first.
        """
        filled = self._value(value)
        if isinstance(filled, Literal) and filled.value is None:
            raise QueryError("fillna needs a value that is not missing itself.")
        missing = rows.IsMissing(self._expression)
        return self._new(Where(missing, filled, self._expression))

    @asks
    def dropna(self) -> PrivateSeries:
        """The values that are not missing. *Stability*: 1, row by row."""
        return self[self.notna()]

    @asks
    def astype(self, dtype: Any) -> PrivateSeries:
        """As int, float, bool, str, datetime or category; what can't be converted is missing.

        Text follows the value, not the dtype: 1.0 becomes "1". *Stability*: 1, row by row.
        """
        return self._new(cast(self._expression, dtype))

    @asks
    def map(self, arg: Mapping[Any, Any]) -> PrivateSeries:
        """A plain value for each plain value of a dict; missing for others, which are then known
        to be no key. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"educ": [9, 12, 16]}), unit="row")
        >>> p["educ"].map({9: "school", 12: "school", 16: "college"}).value_counts()
        <unreleased value_counts of educ (2 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        return self._new(mapped(self._expression, arg, others_stay=False))

    @asks
    def replace(self, to_replace: Any, value: Any = None) -> PrivateSeries:
        """With plain values in the place of others: a dict, or one value (a list) by another.

        *Stability*: 1, row by row.
        """
        if not isinstance(to_replace, Mapping):
            olds = to_replace if isinstance(to_replace, list | tuple) else [to_replace]
            news = value if isinstance(value, list | tuple) else [value] * len(olds)
            if len(olds) != len(news):
                raise QueryError("replace needs as many new values as old ones.")
            to_replace = dict(zip(olds, news, strict=True))
        elif value is not None:
            raise QueryError("replace takes a dict, or old values and value=: not both.")
        return self._new(mapped(self._expression, to_replace, others_stay=True))

    @asks
    def cut(
        self,
        bins: Any,
        labels: Any = None,
        right: bool = True,
        include_lowest: bool = False,
    ) -> PrivateSeries:
        """Which of some public intervals a value lies in, as `pandas.cut` with given edges.

        bins : the edges, a list of rising numbers; a number of bins would be read from the data.
        labels : a label for each interval; None: the intervals; False: 0, 1, 2, …
        Missing values, and those in no interval, are missing. The labels are the declared keys.
        *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"age": [15, 30, 60]}), unit="row")
        >>> p["age"].cut([0, 18, 65], labels=["child", "adult"]).value_counts()
        <unreleased value_counts of age (2 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        edges = edges_of(bins)
        if labels is None:
            intervals = pd.IntervalIndex.from_breaks(edges, closed="right" if right else "left")
            named: tuple[Any, ...] = tuple(intervals)
        elif labels is False:
            named = tuple(range(len(edges) - 1))
        else:
            named = Keys.parse(labels, ["cut"]).labels
        if len(named) != len(edges) - 1:
            raise QueryError(f"{len(edges)} edges make {len(edges) - 1} intervals: as many labels.")
        return self._new(
            Cut(self._expression, edges, named, bool(right), bool(include_lowest and right))
        )

    def rename(self, name: Any) -> PrivateSeries:
        """Under another name. *Stability*: 1."""
        return PrivateSeries(self._root, name, self._expression, self._where)

    def copy(self, deep: bool = True) -> PrivateSeries:
        """Itself: private columns are never changed in place."""
        return self

    def pipe(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """``func(self, …)``."""
        return func(self, *args, **kwargs)

    @property
    def str(self) -> TextMethods:
        """Texts row by row: see `TextMethods`."""
        return TextMethods(self)

    @property
    def dt(self) -> TimeMethods:
        """Times row by row: see `TimeMethods`."""
        return TimeMethods(self)

    def isin(self, values: Sequence[Any]) -> PrivateSeries:
        """A mask: which values equal one of some plain ones."""
        if isinstance(values, builtins.str | Private) or not isinstance(
            values, list | tuple | set | frozenset | range | pd.Index | np.ndarray
        ):
            raise QueryError("isin takes a list of plain values.")
        labels = tuple(querystring.literal(value).value for value in values)
        return self._new(rows.IsIn(self._expression, labels))

    def between(self, left: Any, right: Any, inclusive: builtins.str = "both") -> PrivateSeries:
        """A mask: which values lie between two; inclusive as in Series.between."""
        if not is_one_of(inclusive, ("both", "neither", "left", "right")):
            raise QueryError("inclusive= is 'both', 'neither', 'left' or 'right'.")
        low, high = self._other(left), self._other(right)
        return self._new(rows.between(self._expression, low, high, inclusive))

    # statistics

    @asks
    def clipped(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """The shares of values below, inside and above bounds: what clipping would change.

        No interval of a sum or mean includes that change, so this pays for a look at it. The
        result is a Series under "below", "inside", "above".

        *Guarantee*: epsilon-differential privacy of the unit; a value lies in one of three places,
        ℓ1 sensitivity 1 a row (docs/proofs/counts.md).

        >>> import pandas as pd
        >>> ages = pd.Series([20, 30, 400] * 100, name="age")
        >>> ages.dp.clipped(bounds=(0, 99), epsilon=1).index.tolist()
        ['below', 'inside', 'above']
        """
        bound = bounds_of(self._root, self.name, self._expression, bounds)
        keys = Keys(Outside.labels)
        cells = Cells((Outside(self._expression, bound),), keys)
        names = pd.Index(keys.labels, name=self.name)
        layout = Layout(integer=False, index=names, name="proportion")
        statistic = Count(cells, layout, share_of=len(keys))
        return self._answer(statistic, f"values of {self._expression} outside {bound}", epsilon)

    @asks
    def nunique(self, *, epsilon: object = None) -> Any:
        """How many units have a row here: an int. Only of the unit column.

        *Guarantee*: epsilon-differential privacy of the unit, with sensitivity 1 however many rows
        a unit has (docs/proofs/units.md).
        """
        distinct_units(self._root, self._expression)
        statistic = Distinct(Cells(), Layout(integer=True))
        return self._answer(statistic, f"nunique of {self._expression}", epsilon)

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
    def var(self, ddof: int = 1, *, bounds: object = None, epsilon: object = None) -> Any:
        """The variance of the values, clipped to bounds: a float. Missing values are left out.

        bounds : (lower, upper), public facts; else the declared domain's. ddof as in pandas; the
            number of values that it is taken from is private, and part of the same release.

        *Guarantee*: epsilon-differential privacy of the unit, and of how many values there are
        (docs/proofs/variances.md).

        >>> import pandas as pd
        >>> v = pd.Series([20, 30, 40] * 100).dp.var(bounds=(0, 60), epsilon=1)
        >>> 0 <= v <= 905
        True
        """
        return self._spread("var", ddof, bounds, epsilon)

    @asks
    def std(self, ddof: int = 1, *, bounds: object = None, epsilon: object = None) -> Any:
        """The standard deviation: the root of `var`.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/variances.md).
        """
        return self._spread("std", ddof, bounds, epsilon)

    def _spread(self, what: builtins.str, ddof: int, bounds: object, epsilon: object) -> Any:
        bound = bounds_of(self._root, self.name, self._expression, bounds)
        statistic = variance(
            what, Cells(), Layout(integer=False), {self.name: self._expression}, [bound], ddof
        )
        return self._answer(statistic, f"{what} of {self._expression} in {bound}", epsilon)

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


def distinct_units(root: Root, expression: Expression) -> None:
    """Refuse to count distinct values of anything but the unit."""
    unit = root.source.unit.column
    if unit is None or expression != Column(unit):
        what = f"the unit {unit!r}" if unit is not None else "a unit column, which dp.protect names"
        raise QueryError(
            f"nunique counts the values of {what}: which values another column has is private; "
            "declare keys and ask value_counts(keys=[…]). Nothing was computed or charged."
        )


@quiet
def cut(
    x: Any, bins: Any, labels: Any = None, right: bool = True, include_lowest: bool = False
) -> PrivateSeries:
    """`PrivateSeries.cut`, spelled like `pandas.cut`. *Stability*: 1, row by row.

    >>> import pandas as pd, dppandas as dp
    >>> ages = dp.private(pd.DataFrame({"age": [15, 30]}), unit="row")["age"]
    >>> dp.cut(ages, [0, 18, 99])
    <private column cut(age, [0, 18, 99]) of unnamed (asserted)>
    """
    if not isinstance(x, PrivateSeries):
        raise QueryError("dp.cut takes a private column; pandas.cut takes a plain one.")
    return x.cut(bins, labels, right, include_lowest)


def same_rows(rows_of: Rows, column: PrivateSeries) -> None:
    """Refuse a column of another frame, or of rows that were kept otherwise."""
    if column._root.data is not rows_of._root.data:
        raise LineageError("this column was made from another frame; make it from this one.")
    if column._where is not None and column._where != rows_of._where:
        raise QueryError("this column was made from other rows; make it from this frame.")


def kept(rows_of: Rows, mask: PrivateSeries) -> Expression:
    """What keeps the rows that were kept before, and of these the ones where a mask is true."""
    same_rows(rows_of, mask)
    if not (mask._expression.is_truth or isinstance(mask._expression, Column)):
        raise QueryError(f"{mask._expression} is not true or false: compare it.")
    return rows.both(rows_of._where, mask._expression)
