"""What private columns are computed from: operators and verbs, each row by itself."""

from __future__ import annotations

import builtins
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd

from ..errors import QueryError, hide_internals, is_one_of, quoted
from ..release.asking import release_method
from ..release.private import Private
from ..rows import expressions, query_string
from ..rows.expressions import Clip, ClipSpan, Column, Cut, Expression, Function, Literal, Where
from ..rows.facts.keys import Keys, is_hashable
from .accessors import TextMethods, TimeMethods
from .operators import ColumnOperators
from .private_rows import PrivateTable, same_rows
from .rowwise import cast, clipped_to, edges_of, mapped, number, truth


class PrivateColumn(ColumnOperators):
    """An expression over one private row, evaluated for each."""

    @hide_internals
    def __getitem__(self, key: Any) -> Self:
        if not isinstance(key, PrivateColumn):
            raise QueryError("index a private column by a private mask: rows have no position.")
        return type(self)(self._table, self.name, self._expression, kept(self, key))

    @hide_internals
    def isna(self) -> Self:
        """A mask: which values are missing."""
        return self._new(expressions.IsMissing(self._expression))

    @hide_internals
    def notna(self) -> Self:
        """A mask: which values are not missing."""
        return self._new(expressions.Not(expressions.IsMissing(self._expression)))

    isnull, notnull = isna, notna

    @hide_internals
    def __round__(self, decimals: int = 0) -> Self:
        return self.round(decimals)

    @hide_internals
    def abs(self) -> Self:
        """Without the sign. *Stability*: 1, row by row."""
        return self._new(Function("absolute", self._expression))

    @release_method
    def round(self, decimals: int = 0) -> Self:
        """Rounded to decimals. *Stability*: 1, row by row."""
        if isinstance(decimals, bool) or not isinstance(decimals, int) or abs(decimals) > 300:
            raise QueryError(f"decimals={quoted(decimals)} must be a whole number, -300 to 300.")
        return self._new(Function("round", self._expression, decimals))

    @release_method
    def clip(self, lower: Any = None, upper: Any = None) -> Self:
        """No lower and no higher than two numbers, times or durations; missing values stay missing.
        What the result is bounded by is declared for it. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"age": [20, 90, 300]}), unit="row")
        >>> p["age"].clip(0, 99).mean()
        <unreleased mean of clip(age, 0, 99) in (0, 99), from unnamed (asserted): nothing computed \
or charged; ask .release(epsilon=…)>
        """
        span = clipped_to(lower, upper)
        if span is not None:
            return self._new(ClipSpan(self._expression, span))
        low = -math.inf if lower is None else number(lower, "lower")
        high = math.inf if upper is None else number(upper, "upper")
        if low > high:
            raise QueryError(f"lower={low:g} is above upper={high:g}.")
        return self._new(Clip(self._expression, low, high))

    @release_method
    def where(self, cond: Any, other: Any = None) -> Self:
        """The value where a mask holds, else another (missing). *Stability*: 1, row by row."""
        condition, otherwise = self._condition(cond), self._value(other)
        return self._new(Where(condition, self._expression, otherwise))

    @release_method
    def mask(self, cond: Any, other: Any = None) -> Self:
        """Another value (missing) where a mask holds. *Stability*: 1, row by row."""
        condition, otherwise = self._condition(cond), self._value(other)
        return self._new(Where(condition, otherwise, self._expression))

    def _condition(self, cond: Any) -> Expression:
        if callable(cond) and not isinstance(cond, PrivateColumn):
            cond = cond(self)
        if not isinstance(cond, PrivateColumn):
            raise QueryError("the condition is a mask made from private columns: p['age'] > 30.")
        return truth(self._other(cond))

    def _value(self, other: Any) -> Expression:
        """A plain value, a private column of the same rows, or a missing value."""
        if not isinstance(other, PrivateColumn | pd.Series | pd.Index | np.ndarray) and (
            expressions.plain_or_missing(other) is None
        ):
            return Literal(None)
        return self._other(other)

    @release_method
    def fillna(self, value: Any) -> Self:
        """With a constant (or another private column's value) for missing values.

        *Stability*: 1, row by row. A value computed from the column, such as its mean, has to be
        released first.
        """
        filled = self._value(value)
        if isinstance(filled, Literal) and filled.value is None:
            raise QueryError("fillna needs a value that is not missing itself.")
        missing = expressions.IsMissing(self._expression)
        return self._new(Where(missing, filled, self._expression))

    @release_method
    def dropna(self) -> Self:
        """The values that are not missing. *Stability*: 1, row by row."""
        return self[self.notna()]

    @release_method
    def astype(self, dtype: Any) -> Self:
        """As int, float, bool, str, datetime or category; what can't be converted is missing.

        Text follows the value, not the dtype: 1.0 becomes "1". *Stability*: 1, row by row.
        """
        return self._new(cast(self._expression, dtype))

    @release_method
    def map(self, arg: Mapping[Any, Any]) -> Self:
        """A plain value for each plain value of a dict; missing for others, which are then known
        to be no key. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"educ": [9, 12, 16]}), unit="row")
        >>> p["educ"].map({9: "school", 12: "school", 16: "college"}).value_counts()
        <unreleased value_counts of educ (2 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        return self._new(mapped(self._expression, arg, others_stay=False))

    @release_method
    def replace(self, to_replace: Any, value: Any = None) -> Self:
        """With plain values in the place of others: a dict, or one value (a list) by another.

        *Stability*: 1, row by row.
        """
        if not isinstance(to_replace, Mapping):
            olds = to_replace if isinstance(to_replace, list | tuple) else [to_replace]
            news = value if isinstance(value, list | tuple) else [value] * len(olds)
            if len(olds) != len(news):
                raise QueryError("replace needs as many new values as old ones.")
            if not all(map(is_hashable, olds)):
                raise QueryError(f"replace takes plain values, not {quoted(to_replace)}.")
            to_replace = dict(zip(olds, news, strict=True))
        elif value is not None:
            raise QueryError("replace takes a dict, or old values and value=: not both.")
        return self._new(mapped(self._expression, to_replace, others_stay=True))

    @release_method
    def cut(
        self,
        bins: Any,
        labels: Any = None,
        right: bool = True,
        include_lowest: bool = False,
    ) -> Self:
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

    @hide_internals
    def rename(self, name: Any) -> Self:
        """Under another name. *Stability*: 1."""
        if not is_hashable(name):
            raise QueryError(f"{quoted(name)} can't name a column.")
        return type(self)(self._table, name, self._expression, self._where)

    @hide_internals
    def copy(self, deep: bool = True) -> Self:
        """Itself: private columns are never changed in place."""
        return self

    @hide_internals
    def pipe(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """``func(self, …)``."""
        return func(self, *args, **kwargs)

    @property
    def str(self) -> TextMethods[Self]:
        """Texts row by row: see `TextMethods`."""
        return TextMethods(self)

    @property
    def dt(self) -> TimeMethods[Self]:
        """Times row by row: see `TimeMethods`."""
        return TimeMethods(self)

    @hide_internals
    def isin(self, values: Sequence[Any]) -> Self:
        """A mask: which values equal one of some plain ones."""
        if isinstance(values, builtins.str | Private) or not isinstance(
            values, list | tuple | set | frozenset | range | pd.Index | np.ndarray
        ):
            raise QueryError("isin takes a list of plain values.")
        if any(expressions.plain_or_missing(value) is None for value in values):
            raise QueryError(
                "a missing value is in no list: ask .isna(), as in p['x'].isin([1]) | "
                "p['x'].isna()."
            )
        labels = tuple(query_string.literal(value).value for value in values)
        return self._new(expressions.IsIn(self._expression, labels))

    @hide_internals
    def between(self, left: Any, right: Any, inclusive: builtins.str = "both") -> Self:
        """A mask: which values lie between two; inclusive as in Series.between."""
        if not is_one_of(inclusive, ("both", "neither", "left", "right")):
            raise QueryError("inclusive= is 'both', 'neither', 'left' or 'right'.")
        low, high = self._other(left), self._other(right)
        return self._new(expressions.between(self._expression, low, high, inclusive))


def kept(rows_of: PrivateTable, mask: PrivateColumn) -> Expression:
    """What keeps the rows that were kept before, and of these the ones where a mask is true."""
    same_rows(rows_of, mask)
    if not (mask._expression.is_truth or isinstance(mask._expression, Column)):
        raise QueryError(f"{mask._expression} is not true or false: compare it.")
    return expressions.both(rows_of._where, mask._expression)
