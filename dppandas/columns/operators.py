"""The operators of private columns: arithmetic, comparisons, logic, and numpy's functions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd

from ..errors import LineageError, QueryError, hide_internals
from ..release.private import Private, Table
from ..rows import expressions, query_string
from ..rows.expressions import FUNCTIONS, Expression, Function, Literal
from ..rows.facts.spans import TIMES
from ..rows.values.vectors import NUMBERS
from .private_rows import PrivateTable
from .rowwise import truth

#: numpy's binary functions, and the operator that each stands for.
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "power": operator.pow, "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
    "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
}  # fmt: skip


C = TypeVar("C", bound="ColumnOperators")


def _comparison(symbol: str) -> Callable[[C, Any], C]:
    @hide_internals
    def compared(self: C, other: Any) -> C:
        return self._new(expressions.Compare(symbol, self._expression, self._other(other)))

    return compared


def _arithmetic(symbol: str) -> tuple[Callable[[C, Any], C], Callable[[C, Any], C]]:
    """The operator, and its reflected form."""

    @hide_internals
    def computed(self: C, other: Any) -> C:
        return self._computed(symbol, self._expression, self._other(other))

    @hide_internals
    def reflected(self: C, other: Any) -> C:
        return self._computed(symbol, self._other(other), self._expression)

    return computed, reflected


class ColumnOperators(PrivateTable):
    """An expression over one private row, with Python's operators."""

    name: Any
    _expression: Expression

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, table: Table, name: Any, expression: Expression, where: Expression | None
    ) -> None:
        super().__init__(table, {name: expression}, where)
        self.__dict__.update(name=name, _expression=expression)

    def _other(self, other: Any) -> Expression:
        if isinstance(other, ColumnOperators):
            if other._table.data is not self._table.data or other._where != self._where:
                raise LineageError("these columns have different rows. Make both from one frame.")
            return other._expression
        if isinstance(other, Private) and other._is_answer:
            raise QueryError(
                f"{other!r} isn't a number yet. Release it first: a released answer is public, "
                "and you can use it here."
            )
        if isinstance(other, pd.Series | pd.Index | np.ndarray | list | tuple):
            raise LineageError(
                f"the rows of a plain {type(other).__name__} can't be matched with private ones. "
                "Use a single value, or .isin([…]) for a set of values."
            )
        return query_string.literal(other)

    def _new(self, expression: Expression) -> Self:
        return type(self)(self._table, self.name, expression, self._where)

    def _computed(self, operation: str, left: Expression, right: Expression) -> Self:
        for side in (left, right):
            if not isinstance(side, Literal):
                continue
            if not isinstance(side.value, (*NUMBERS, *TIMES)):
                raise QueryError(
                    f"{side} isn't a number, a time or a duration. Give one, such as 1, "
                    "pd.Timestamp('2020-01-31') or pd.Timedelta('1D')."
                )
            query_string.operand(side)
        return self._new(expressions.Arithmetic(operation, left, right))

    __eq__ = _comparison("==")  # type: ignore[assignment]
    __ne__ = _comparison("!=")  # type: ignore[assignment]
    __lt__ = _comparison("<")
    __le__ = _comparison("<=")
    __gt__ = _comparison(">")
    __ge__ = _comparison(">=")
    __add__, __radd__ = _arithmetic("+")
    __sub__, __rsub__ = _arithmetic("-")
    __mul__, __rmul__ = _arithmetic("*")
    __truediv__, __rtruediv__ = _arithmetic("/")
    __floordiv__, __rfloordiv__ = _arithmetic("//")
    __mod__, __rmod__ = _arithmetic("%")
    __pow__, __rpow__ = _arithmetic("**")

    @hide_internals
    def __and__(self, other: Any) -> Self:
        return self._new(expressions.And(truth(self._expression), truth(self._other(other))))

    @hide_internals
    def __or__(self, other: Any) -> Self:
        return self._new(expressions.Or(truth(self._expression), truth(self._other(other))))

    @hide_internals
    def __xor__(self, other: Any) -> Self:
        either: Self = (self | other) & ~(self & other)
        return either

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    @hide_internals
    def __invert__(self) -> Self:
        return self._new(expressions.Not(truth(self._expression)))

    @hide_internals
    def __pos__(self) -> Self:
        return self._new(Function("positive", self._expression))

    @hide_internals
    def __neg__(self) -> Self:
        return self._new(expressions.Negative(self._expression))

    @hide_internals
    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """numpy's functions. A numpy scalar on the left calls this before our own operators."""
        name = ufunc.__name__ if method == "__call__" and not kwargs else ""
        if name in FUNCTIONS:
            return self._new(Function(name, self._expression))
        function = _OPERATORS.get(name)
        if function is None:
            return super().__array_ufunc__(ufunc, method, *args, **kwargs)
        left, right = (x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in args)
        if isinstance(left, ColumnOperators):
            return function(left, right)
        return function(self._new(self._other(left)), self)
