"""The row-wise methods of private columns: each row of the result depends on that row alone."""

from __future__ import annotations

import builtins
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import pandas as pd

from ..errors import QueryError, hide_internals, is_one_of, quoted
from ..release.asking import release_method
from ..rows import expressions
from ..rows.expressions import Clip, ClipSpan, Column, Expression, Function, Literal, Where
from ..rows.facts.keys import is_hashable
from ..rows.facts.units import whole_number
from ..rows.figures import format_exactly
from ..rows.plain_values import is_listed, listed
from .accessors import TextMethods
from .bins import cut_up
from .each_value import EachValue, called, result
from .operators import ColumnOperators
from .private_rows import PrivateTable, same_rows
from .rowwise import (
    as_dict,
    cases,
    cast,
    chosen,
    clipped_to,
    mapped,
    number,
    truth,
)  # fmt: skip
from .time_methods import TimeMethods


class PrivateColumn(ColumnOperators):
    """An expression that is evaluated for each private row."""

    def _learned(self, value: Any) -> Self:
        """The unit column, mapped by a value of each unit."""
        raise NotImplementedError

    def _among(self, others: Any) -> Self:
        """Whether the units of the rows are among those of other rows."""
        raise NotImplementedError

    @hide_internals
    def __getitem__(self, key: Any) -> Self:
        if not isinstance(key, PrivateColumn):
            raise QueryError(
                "a private column can only be indexed by a private mask, as in "
                "p['age'][p['age'] > 30]: its rows have no positions."
            )
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
    def abs(self) -> Self:
        """Absolute values. *Stability*: 1, row by row."""
        return self._new(Function("absolute", self._expression))

    @release_method
    def round(self, decimals: int = 0) -> Self:
        """Numbers rounded to ``decimals`` places. *Stability*: 1, row by row."""
        places = whole_number(decimals, "decimals", -300, 300)
        return self._new(Function("round", self._expression, places))

    __abs__, __round__ = abs, round

    @release_method
    def clip(self, lower: Any = None, upper: Any = None) -> Self:
        """Values clipped to two numbers, times or durations; missing values stay missing. The
        result has these ends as its declared bounds. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"age": [20, 90, 300]}), unit="row")
        >>> p["age"].clip(0, 99).mean()
        <unreleased mean of clip(age, 0, 99) in 0 to 99, from unnamed (asserted): nothing computed \
or charged; ask .release(epsilon=…)>
        """
        span = clipped_to(lower, upper)
        if span is not None:
            return self._new(ClipSpan(self._expression, span))
        low = -math.inf if lower is None else number(lower, "lower")
        high = math.inf if upper is None else number(upper, "upper")
        if low > high:
            raise QueryError(
                f"lower={format_exactly(low)} is above upper={format_exactly(high)}. Swap them."
            )
        return self._new(Clip(self._expression, low, high))

    @release_method
    def where(self, cond: Any, other: Any = None) -> Self:
        """Values where a mask is true, elsewhere ``other`` (or missing). *Stability*: 1, row by
        row."""
        return self._new(Where(self._condition(cond), self._expression, self._value(other)))

    @release_method
    def mask(self, cond: Any, other: Any = None) -> Self:
        """Values where a mask is false, elsewhere ``other`` (or missing). *Stability*: 1, row by
        row."""
        return self._new(Where(self._condition(cond), self._value(other), self._expression))

    def _condition(self, cond: Any) -> Expression:
        if callable(cond) and not isinstance(cond, PrivateColumn):
            cond = cond(self)
        if not isinstance(cond, PrivateColumn):
            raise QueryError("the condition must be a private mask, such as p['age'] > 30.")
        return truth(self._other(cond))

    @release_method
    def fillna(self, value: Any) -> Self:
        """Missing values filled with a constant, or with another private column's values.

        *Stability*: 1, row by row. Release a value that is computed from the column, such as its
        mean, before you fill with it.
        """
        filled = self._value(value)
        if isinstance(filled, Literal) and filled.value is None:
            raise QueryError("fillna needs a value that isn't missing itself, such as fillna(0).")
        missing = expressions.IsMissing(self._expression)
        return self._new(Where(missing, filled, self._expression))

    @release_method
    def dropna(self) -> Self:
        """The values that are not missing. *Stability*: 1, row by row."""
        return self[self.notna()]

    @release_method
    def astype(self, dtype: Any) -> Self:
        """Values as int, float, bool, str, datetime or category; missing where that is impossible.

        Text follows the value, not the dtype: 1.0 becomes "1". *Stability*: 1, row by row.
        """
        return self._new(cast(self._expression, dtype))

    @release_method
    def map(self, arg: Any, na_action: Any = None) -> Self:
        """Values replaced by those of a dict, or of a public Series with a unique index; missing
        where it has none. Its values are the declared keys of the result.

        The unit column may also be mapped by a value of each unit, as in
        ``p["who"].map(p.groupby("who")["paid"].sum())``: see `PrivateFrame.merge`.

        na_action : None or "ignore", which are the same here: missing values stay missing.

        A function is called as by `apply`. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"educ": [9, 12, 16]}), unit="row")
        >>> p["educ"].map({9: "school", 12: "school", 16: "college"}).value_counts()
        <unreleased value_counts of educ (2 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        if not (na_action is None or is_one_of(na_action, ("ignore",))):
            raise QueryError(f"na_action={quoted(na_action)} must be None or 'ignore'.")
        if isinstance(arg, PrivateColumn):
            return self._learned(arg)
        if callable(arg):
            return self.apply(arg)
        return self._new(mapped(self._expression, as_dict(arg), others_stay=False))

    @hide_internals
    def apply(self, func: Any, args: Any = (), **options: Any) -> Self:
        """Apply a function for one value to each. It is called once, with private values that have
        operators, numpy's functions of one row, the methods of texts and the parts of times; it
        can't look at any of them. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"inches": [60, 70]}), unit="row")
        >>> p["inches"].apply(lambda x: x * 2.54)
        <private column inches * 2.54 of unnamed (asserted)>
        """
        each = EachValue(self._table, self.name, self._expression, self._where)
        return self._new(result("apply", called("apply", func, each, args, options), each))

    @hide_internals
    def transform(self, func: Any, *args: Any, **options: Any) -> Self:
        """A function of this column, which has to make a private column of the same rows.
        *Stability*: 1, row by row."""
        return self._new(result("transform", called("transform", func, self, args, options), self))

    @release_method
    def case_when(self, caselist: Any) -> Self:
        """The value that goes with the first true condition, else this column's own.

        caselist : pairs of a private mask (or a function of this column) and a value: a plain one,
            a missing one, or a private column of the same rows.

        *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> age = dp.private(pd.DataFrame({"age": [15, 30]}), unit="row")["age"]
        >>> age.case_when([(age < 18, 0), (age > 65, 1)])
        <private column where(age < 18, 0, where(age > 65, 1, age)) of unnamed (asserted)>
        """
        pairs = [(self._condition(test), self._value(value)) for test, value in cases(caselist)]
        return self._new(chosen(pairs, self._expression))

    @release_method
    def combine_first(self, other: Any) -> Self:
        """Missing values filled with those of another private column of the same rows: `fillna` by
        another name. *Stability*: 1, row by row."""
        if not isinstance(other, PrivateColumn):
            raise QueryError("combine_first takes a private column. Fill plain values by fillna.")
        return self.fillna(other)

    @release_method
    def replace(self, to_replace: Any, value: Any = None) -> Self:
        """Plain values replaced by others; the rest stay as they are.

        to_replace : a dict of old to new values; or an old value, or a list of them, to be
            replaced by ``value`` (or by a list of as many).

        *Stability*: 1, row by row.
        """
        if not isinstance(to_replace, Mapping):
            olds = to_replace if isinstance(to_replace, list | tuple) else [to_replace]
            news = value if isinstance(value, list | tuple) else [value] * len(olds)
            if len(olds) != len(news):
                raise QueryError(f"replace got {len(olds)} old values, but {len(news)} new ones.")
            if not all(map(is_hashable, olds)):
                raise QueryError(f"replace takes plain values, not {quoted(to_replace)}.")
            to_replace = dict(zip(olds, news, strict=True))
        elif value is not None:
            raise QueryError("replace takes either a dict, or old values and value=. Drop one.")
        return self._new(mapped(self._expression, to_replace, others_stay=True))

    @release_method
    def cut(
        self,
        bins: Any,
        labels: Any = None,
        right: bool = True,
        include_lowest: bool = False,
        ordered: bool = True,
    ) -> Self:
        """The public interval that each value lies in, as `pandas.cut` with given edges.

        bins : the edges, a list of rising numbers, times or durations; a pd.IntervalIndex; or a
            number of equal bins over the declared bounds, the same as those of
            ``value_counts(bins=)``. Edges are never read from the data.
        labels : a label for each interval; None for the intervals themselves, False for 0, 1, 2, …
        ordered : whether answers sort the labels as the intervals, not as texts: their index is
            then a CategoricalIndex, as pandas' is.

        Missing values, and values outside all intervals, are missing. The labels are the declared
        keys of the result. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"age": [15, 30, 60]}), unit="row")
        >>> p["age"].cut([0, 18, 65], labels=["child", "adult"]).value_counts()
        <unreleased value_counts of age (2 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        if not isinstance(ordered, bool):
            raise QueryError(f"ordered={quoted(ordered)} must be True or False.")
        options = labels, bool(right), include_lowest, ordered
        return self._new(cut_up(self._table, self.name, self._expression, bins, *options))

    @hide_internals
    def rename(self, name: Any) -> Self:
        """This column under another name. *Stability*: 1."""
        if not is_hashable(name):
            raise QueryError(f"{quoted(name)} can't name a column. Use a string or a number.")
        return type(self)(self._table, name, self._expression, self._where)

    @release_method
    def to_frame(self, name: Any = pd.api.extensions.no_default) -> Any:
        """A private frame of this column, under its own name or another. *Stability*: 1.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"age": [20, 30]}), unit="row")
        >>> (p["age"] // 10).to_frame("decade").columns.tolist()
        ['decade']
        """
        if name is pd.api.extensions.no_default:
            name = 0 if self.name is None else self.name  # as pandas calls it
        frame = self._several({self.rename(name).name: self._expression})
        unit = self._table.source.unit.column
        if not (isinstance(self._expression, Column) and self._expression.name == unit):
            frame._not_the_unit(name)
        return frame

    @hide_internals
    def copy(self, deep: bool = True) -> Self:
        """This column itself: private columns never change in place."""
        return self

    @hide_internals
    def pipe(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """``func(self, …)``, for method chains."""
        return func(self, *args, **kwargs)

    @property
    def str(self) -> TextMethods[Self]:
        """Methods of strings: see `TextMethods`."""
        return TextMethods(self)

    @property
    def dt(self) -> TimeMethods[Self]:
        """Methods of times and durations: see `TimeMethods`."""
        return TimeMethods(self)

    @hide_internals
    def isin(self, values: Sequence[Any]) -> Self:
        """A mask: which values are among some plain ones: those of a list, set, Index, array or
        Series, which count as public. *Stability*: 1, row by row.

        The unit column may also be looked up in that of other rows of its frame:
        ``p["who"].isin(p[p["place"] == "web"]["who"])`` is true in all rows of those who have such
        a row, even one that max_rows drops. *Stability*: 1 (docs/proofs/histories.md).
        """
        if isinstance(values, PrivateColumn):
            return self._among(values)
        if not is_listed(values):
            raise QueryError("isin takes a list of plain values, such as isin(['a', 'b']).")
        return self._new(expressions.IsIn(self._expression, listed(values)))

    @hide_internals
    def between(self, left: Any, right: Any, inclusive: builtins.str = "both") -> Self:
        """A mask: which values lie between two others; ``inclusive`` as in Series.between."""
        if not is_one_of(inclusive, ("both", "neither", "left", "right")):
            raise QueryError(
                f"inclusive={quoted(inclusive)} must be 'both', 'neither', 'left' or 'right'."
            )
        above = ">=" if inclusive in ("both", "left") else ">"
        below = "<=" if inclusive in ("both", "right") else "<"
        low = self._made(above, self._expression, self._other(left))
        high = self._made(below, self._expression, self._other(right))
        return self._new(expressions.And(low, high))


def kept(rows_of: PrivateTable, mask: PrivateColumn) -> Expression:
    """The condition of rows that were kept before and for which a mask is true."""
    same_rows(rows_of, mask)
    if isinstance(mask._expression, Literal):
        raise QueryError(f"{mask._expression} isn't a mask. Compare a column, as in p['age'] > 30.")
    return expressions.both(rows_of._where, truth(mask._expression))


EachValue._columns_are = PrivateColumn
