"""Private frames computed cell by cell (``frame / 2``) and row by row (``frame.sum(axis=1)``)."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import pandas as pd

from ...columns.each_value import EachRow, EachValue, called, result
from ...columns.operators import METHODS
from ...columns.private_rows import is_unit, same_rows
from ...columns.rowwise import truth
from ...columns.spellings import numpy_functions
from ...errors import QueryError, UnsupportedVerb, hide_internals
from ...release.answers.shapes import Selected
from ...release.asking import release_method
from ...release.private import Private
from ...rows import expressions
from ...rows.expressions import Across, Compare, Expression, IsMissing, Literal, Or, Where
from ...rows.expressions.linear import FIGURES
from ...rows.facts import kinds
from ...rows.facts.keys import some_names
from ...rows.facts.units import whole_number
from ...rows.plain_values import refuse_private
from ..series import PrivateSeries
from .column_verbs import ColumnTransformations, is_along_rows

F = TypeVar("F", bound="FrameOperators")
Change = Callable[[Any, PrivateSeries], PrivateSeries]

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _method(name: str) -> Any:
    """pandas' method for an operator, column by column."""

    def method(
        self: F, other: Any, axis: Any = "columns", level: Any = None, fill_value: Any = None
    ) -> F:
        given = self._for_each(other, is_along_rows(axis), name)

        def change(column_name: Any, column: PrivateSeries) -> PrivateSeries:
            found: PrivateSeries = getattr(column, name)(given(column_name), level, fill_value)
            return found

        return self._changed(change)

    symbol = METHODS[name]
    said = f"other {symbol} frame" if name.startswith("r") else f"frame {symbol} other"
    method.__name__, method.__qualname__ = name, f"FrameOperators.{name}"
    method.__doc__ = (
        f"``{said}``, as a method, column by column.\n\n"
        "other : a plain value; one for each column (a dict, a Series or a list); a private frame\n"
        "    of the same rows and columns; or, with axis=0, a private column of the same rows.\n"
        "fill_value : replaces a value that is missing on one side only.\n\n"
        "The unit column stays as it is; comparisons leave it out. *Stability*: 1, row by row."
    )
    return hide_internals(method)


def _operator(name: str) -> Any:
    method = _method(name)

    @hide_internals
    def applied(self: F, other: Any) -> Any:
        return method(self, other)

    return applied


class FrameOperators(ColumnTransformations[Selected]):
    """Private rows that are computed with, column by column."""

    def _changed(self, change: Change) -> Self:
        """Each column changed. The unit column stays as it is, and is left out of masks."""
        changed: dict[Any, Expression] = {}
        units: dict[Any, Expression] = {}
        for name, expression in self._columns.items():
            if is_unit(expression, self._table):
                units[name] = changed[name] = expression
                continue
            column = PrivateSeries(self._table, name, expression, self._where)
            changed[name] = change(name, column)._expression
        if len(units) < len(changed) and all(
            e.is_truth for n, e in changed.items() if n not in units
        ):
            changed = {n: e for n, e in changed.items() if n not in units}
        return self._with(changed, self._where)

    def _names(self) -> list[Any]:
        """The columns without the unit."""
        return [n for n, e in self._columns.items() if not is_unit(e, self._table)]

    def _for_each(self, other: Any, by_column: bool, name: str) -> Callable[[Any], Any]:
        """What stands beside a column of a name: one thing for all, or one for each."""
        if isinstance(other, PrivateSeries):
            if by_column:
                raise QueryError(
                    "pandas would match the rows of the column with the names of the frame's "
                    f"columns. To take row by row, write .{name}(column, axis=0)."
                )
            return lambda _: other
        if isinstance(other, FrameOperators):
            same_rows(self, other)
            self._named_alike(other._names())
            return lambda column: PrivateSeries(
                other._table, column, other._columns[column], other._where
            )
        return self._plain_for_each(other)

    def _plain_for_each(self, other: Any) -> Callable[[Any], Any]:
        if isinstance(other, Private) or (np.ndim(other) == 0 and not isinstance(other, Mapping)):
            return lambda _: other
        if isinstance(other, pd.DataFrame):
            raise QueryError(
                "the rows of a plain frame can't be matched with private ones. Give a value for "
                "each column: a dict, a Series or a list."
            )
        if isinstance(other, Mapping | pd.Series):
            refuse_private(other, "what holds the values")
            given: dict[Any, Any] = dict(other.items())
            self._named_alike(given)
            return given.__getitem__
        names, values = self._names(), list(other)
        if len(values) != len(names):
            raise QueryError(
                f"{len(values)} values can't be matched with {len(names)} columns. Give one for "
                "each column, or a dict."
            )
        return dict(zip(names, values, strict=True)).__getitem__

    def _named_alike(self, names: Any) -> None:
        if set(names) != set(self._names()):
            raise QueryError(
                "both sides must name the same columns, or some would be missing in all rows. "
                f"Select them: frame[[…]] with {some_names(self._names())}."
            )

    # cell by cell

    @release_method
    def isna(self) -> Self:
        """A mask for each column: which values are missing, without the unit. *Stability*: 1."""
        return self._changed(lambda _, column: column.isna())

    @release_method
    def notna(self) -> Self:
        """A mask for each column: which values aren't missing, without the unit. *Stability*: 1."""
        return self._changed(lambda _, column: column.notna())

    isnull, notnull = isna, notna

    @release_method
    def abs(self) -> Self:
        """Absolute values of each column. *Stability*: 1, row by row."""
        return self._changed(lambda _, column: column.abs())

    @release_method
    def clip(self, lower: Any = None, upper: Any = None, axis: Any = None) -> Self:
        """Values clipped to ``lower`` and ``upper``: each is a value for all columns, or a dict,
        Series or list with one for each. *Stability*: 1, row by row."""
        low, high = self._plain_for_each(lower), self._plain_for_each(upper)
        return self._changed(lambda name, column: column.clip(low(name), high(name)))

    @release_method
    def where(self, cond: Any, other: Any = None) -> Self:
        """Values where a mask is true, elsewhere ``other`` (or missing). *Stability*: 1.

        cond : a private mask for all columns, a frame of masks, or a function of the frame."""
        return self._chosen(cond, other, holds=True)

    @release_method
    def mask(self, cond: Any, other: Any = None) -> Self:
        """Values where a mask is false, elsewhere ``other`` (or missing): see `where`.
        *Stability*: 1, row by row."""
        return self._chosen(cond, other, holds=False)

    def _chosen(self, cond: Any, other: Any, holds: bool) -> Self:
        if callable(cond) and not isinstance(cond, Private):
            cond = cond(self)
        if not isinstance(cond, PrivateSeries | FrameOperators):
            raise QueryError(
                "the condition must be a private mask or a frame of masks, such as frame > 30."
            )
        masks, others = self._for_each(cond, False, "where"), self._for_each(other, False, "where")

        def change(name: Any, column: PrivateSeries) -> PrivateSeries:
            choose = column.where if holds else column.mask
            chosen: PrivateSeries = choose(masks(name), others(name))
            return chosen

        return self._changed(change)

    @release_method
    def combine_first(self, other: Any) -> Self:
        """Missing values filled with those of another frame of the same rows, column by column;
        columns of either are kept. *Stability*: 1, row by row."""
        if not isinstance(other, FrameOperators):
            raise QueryError("combine_first takes a private frame. Fill plain values by fillna.")
        same_rows(self, other)
        columns = {**self._columns, **{n: other._columns[n] for n in other._names()}}
        columns |= self._columns
        for name in self._names():
            if name in other._columns:
                column, more = (
                    PrivateSeries(self._table, name, each._columns[name], self._where)
                    for each in (self, other)
                )
                columns[name] = column.fillna(more)._expression
        return self._with(columns, self._where)

    @hide_internals
    def __invert__(self) -> Self:
        return self._changed(lambda _, column: ~column)

    @hide_internals
    def __neg__(self) -> Self:
        return self._changed(lambda _, column: -column)

    @hide_internals
    def __pos__(self) -> Self:
        return self._changed(lambda _, column: +column)

    __abs__ = abs
    if TYPE_CHECKING:  # set below, by name

        def add(
            self,
            other: Any,
            axis: Any = "columns",
            level: Any = None,
            fill_value: Any = None,
        ) -> Self: ...

        eq = ne = lt = le = gt = ge = sub = subtract = mul = multiply = add
        div = divide = truediv = floordiv = mod = pow = add
        radd = rsub = rmul = rdiv = rtruediv = rfloordiv = rmod = rpow = add

        def any(
            self,
            axis: typing.Literal[1, "columns"],
            *,
            skipna: bool = True,
            bool_only: bool = False,
        ) -> PrivateSeries: ...

        all = any

    __eq__, __ne__ = _operator("eq"), _operator("ne")
    __lt__, __le__ = _operator("lt"), _operator("le")
    __gt__, __ge__ = _operator("gt"), _operator("ge")
    __hash__ = None  # type: ignore[assignment]
    __add__, __radd__ = _operator("add"), _operator("radd")
    __sub__, __rsub__ = _operator("sub"), _operator("rsub")
    __mul__, __rmul__ = _operator("mul"), _operator("rmul")
    __truediv__, __rtruediv__ = _operator("truediv"), _operator("rtruediv")
    __floordiv__, __rfloordiv__ = _operator("floordiv"), _operator("rfloordiv")
    __mod__, __rmod__ = _operator("mod"), _operator("rmod")
    __pow__, __rpow__ = _operator("pow"), _operator("rpow")

    @hide_internals
    def __and__(self, other: Any) -> Self:
        given = self._for_each(other, True, "where")
        return self._changed(lambda name, column: column & given(name))

    @hide_internals
    def __or__(self, other: Any) -> Self:
        given = self._for_each(other, True, "where")
        return self._changed(lambda name, column: column | given(name))

    __rand__, __ror__ = __and__, __or__

    @hide_internals
    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """numpy's functions of one row, column by column."""
        numpy_functions.elementwise(ufunc, method, kwargs)
        given = [self._for_each(each, True, "add") for each in args]
        return self._changed(lambda name, _: ufunc(*(each(name) for each in given)))

    @hide_internals
    def __array_function__(self, func: Any, *called: Any) -> Any:
        _, args, options = called
        if func.__name__ in ("where", "select"):
            why = "of a frame isn't offered: it would make an array without names of columns"
            numpy_functions.refuse(func.__name__, why)
        if func.__name__ not in ("round", "around", "clip") or args[0] is not self:
            numpy_functions.refuse_all_rows(self, func.__name__)
        return getattr(self, func.__name__.replace("around", "round"))(*args[1:], **options)

    # row by row

    @hide_internals
    def apply(self, func: Any, axis: Any = 0, args: Any = (), **options: Any) -> Any:
        """With axis=1, a function for one row, as in ``apply(lambda row: row["a"] + row["b"],
        axis=1)``: a private column. It is called once, as by `PrivateSeries.apply`. Without axis=1,
        a function of each column, which has to return a private column of the same rows: a frame.
        *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), unit="row")
        >>> p.apply(lambda row: row["a"] * row["b"], axis=1)
        <private column a * b of unnamed (asserted)>
        """
        self._some_columns()
        if not is_along_rows(axis):
            return self._of_each("apply", func, args, options)
        each = {n: EachValue(self._table, n, e, self._where) for n, e in self._columns.items()}
        made = called("apply", func, EachRow(each), args, options)
        found = result("apply", made, next(iter(each.values())))
        return PrivateSeries(self._table, None, found, self._where)

    @hide_internals
    def transform(self, func: Any, axis: Any = 0, *args: Any, **options: Any) -> Any:
        """The same as `apply`."""
        if is_along_rows(axis):
            return self.apply(func, axis, args, **options)
        return self._of_each("transform", func, args, options)

    def _of_each(self, verb: str, func: Any, args: Any, options: Any) -> Any:
        """A function of each column but that of units."""
        found = dict(self._columns)
        for name in found:
            if not is_unit(found[name], self._table):
                column = self[name]  # type: ignore[index]
                found[name] = result(verb, called(verb, func, column, args, options), column)
        return self._with(found, self._where)

    def _across(self, how: str, options: dict[str, Any]) -> PrivateSeries:
        """A figure of each row, as pandas' axis=1."""
        self._some_columns()
        skipna, numeric_only = (options.pop(n, d) for n, d in (("skipna", True), _NUMERIC[how]))
        ddof = whole_number(options.pop("ddof", 1), "ddof", 0, 1000)
        least = whole_number(options.pop("min_count", 0), "min_count", 0, len(self._columns))
        if options or not all(isinstance(each, bool) for each in (skipna, numeric_only)):
            raise QueryError(
                f"{how}(axis=1) is a private column, which releases nothing yet, and takes skipna= "
                f"and numeric_only=. Write .{how}(axis=1).mean(bounds=…, epsilon=…), for example."
            )
        operands = tuple(self._columns.values())
        if numeric_only:
            held = (expression.kind(self._table.source.facts.schema) for expression in operands)
            kept = zip(operands, held, strict=True)
            operands = tuple(e for e, kind in kept if kind in kinds.NUMBERS)
        if not operands:
            raise QueryError("no column is known to hold numbers. Select some by their names.")
        found = _figure(how, operands, skipna, ddof if how in ("var", "std") else 0)
        if least:
            enough = Compare(">=", Across("count", operands), Literal(least))
            found = Where(enough, found, Literal(None))
        return PrivateSeries(self._table, None, found, self._where)


for _name in METHODS:
    setattr(FrameOperators, _name, _method(_name))

_NUMERIC: dict[str, tuple[str, bool]] = dict.fromkeys(
    (*FIGURES, "count"), ("numeric_only", False)
) | dict.fromkeys(("any", "all"), ("bool_only", False))


def _figure(how: str, operands: Sequence[Expression], skipna: bool, ddof: int) -> Expression:
    if how not in ("any", "all"):
        return Across(how, tuple(operands), skipna or how == "count", ddof)
    tests = [truth(each) for each in operands]
    if how == "all" or not skipna:  # to pandas a missing value is true, unless any skips it
        tests = [each if each.is_truth else Or(each, IsMissing(each)) for each in tests]
    join = expressions.Or if how == "any" else expressions.And
    return functools.reduce(join, tests)


# --- axis=1 of the answers ------------------------------------------------------------------------

T = TypeVar("T")
_OF_ROW: dict[str, tuple[str, str]] = {  # what axis=1 makes, and what missing values do to it
    "count": ("of the number of values in each row", ""),
    "any": ("that says whether any value of the row is true",
            "Missing values count as False, or with skipna=False as True.\n"),
    "all": ("that says whether all values of the row are true",
            "Missing values count as True.\n"),
}  # fmt: skip
_SKIPS = "Missing values are skipped, or with skipna=False make it missing.\n"


def _says(how: str) -> str:
    figure, missing = _OF_ROW.get(how, (f"of each row's {how}", _SKIPS))
    said = f"With axis=1, a private column {figure}: nothing is released.\n{missing}"
    return f"{said}*Stability*: 1, row by row.\n\n"


def with_rows(frame: type[T]) -> type[T]:
    """A class of frames, whose answers take axis=1."""
    for how in _NUMERIC:
        setattr(frame, how, _along_rows(how, getattr(frame, how, None)))
    return frame


def _along_rows(how: str, answer: Any) -> Any:
    """An answer by column, which makes a private column if it is asked for axis=1."""

    def method(self: Any, *args: Any, axis: Any = 0, **options: Any) -> Any:
        if args and how not in ("var", "std") and isinstance(args[0], int | str):
            axis, *rest = args
            args = tuple(rest)
        if is_along_rows(axis):
            if args:
                raise QueryError(f"{how}(axis=1) takes its options by name, such as skipna=False.")
            return self._across(how, options)
        if answer is None:
            raise UnsupportedVerb(
                f"{how!r} of columns isn't offered: a single row would decide it. Count the rows, "
                f"as in frame.sum(); or write {how}(axis=1) for each row."
            )
        return answer(self, *args, **options)

    if answer is None:
        method.__name__, method.__qualname__ = how, f"FrameOperators.{how}"
        method.__doc__ = _says(how).strip()
        return hide_internals(method)
    said = inspect.getdoc(answer) or ""
    told = functools.wraps(answer)(method)
    told.__doc__ = said.replace("*Guarantee*", _says(how) + "*Guarantee*", 1)
    return hide_internals(told)
