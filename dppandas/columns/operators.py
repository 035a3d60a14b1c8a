"""The operators of private columns, pandas' methods for them, and numpy's functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import pandas as pd

from ..errors import LineageError, QueryError, hide_internals
from ..release.private import Private, Table
from ..release.query import same_value
from ..rows import expressions, query_string
from ..rows.expressions import Expression, Function, Literal
from ..rows.facts import kinds
from ..rows.values.vectors import COMPARE
from .private_rows import PrivateTable
from .rowwise import by_place, computed, filled, truth
from .spellings import numpy_functions

C = TypeVar("C", bound="ColumnOperators")
Made = Callable[[Expression, Expression], Expression]

#: What each operator makes of two expressions.
OPERATORS: dict[str, Made] = {
    **{symbol: partial(expressions.Compare, symbol) for symbol in COMPARE},
    **{symbol: partial(computed, symbol) for symbol in expressions.ARITHMETIC},
}


def _operator(symbol: str) -> tuple[Callable[[C, Any], C], Callable[[C, Any], C]]:
    """The operator, and its reflected form."""

    @hide_internals
    def applied(self: C, other: Any) -> C:
        return self._named_with(self._made(symbol, self._expression, self._other(other)), other)

    @hide_internals
    def reflected(self: C, other: Any) -> C:
        return self._named_with(self._made(symbol, self._other(other), self._expression), other)

    return applied, reflected


def _method(name: str, symbol: str) -> Any:
    """pandas' method for an operator: the same expression, after missing values are filled."""
    is_reflected = name.startswith("r")

    def method(self: C, other: Any, level: Any = None, fill_value: Any = None, axis: Any = 0) -> C:
        if level is not None:
            raise QueryError(f"{name} has no level=: private rows have no index. Leave it out.")
        sides = filled(self._expression, self._other(other), fill_value)
        left, right = reversed(sides) if is_reflected else sides
        return self._named_with(self._made(symbol, left, right), other)

    said = f"other {symbol} column" if is_reflected else f"column {symbol} other"
    method.__name__, method.__qualname__ = name, f"ColumnOperators.{name}"
    method.__doc__ = (
        f"``{said}``, as a method. ``fill_value`` replaces a value that is missing on one side\n"
        "only. *Stability*: 1, row by row."
    )
    return hide_internals(method)


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
            is_of_table = other._table.data is self._table.data
            if not is_of_table or not same_value(other._where, self._where):
                advice = ""
                if self._table.summary is not None and other._table.summary is not None:
                    advice = (
                        " Ask for several figures of each unit at once, as in "
                        ".agg(first=('x', 'min'), last=('x', 'max')), and compute with the columns "
                        "of the result."
                    )
                raise LineageError(
                    f"these columns have different rows. Make both from one frame.{advice}"
                )
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
        if isinstance(other, type):  # libraries look for the type of what they compute
            self._refuse("the type")
        return query_string.literal(other)

    def _new(self, expression: Expression) -> Self:
        return type(self)(self._table, self.name, expression, self._where)

    def _made(self, symbol: str, left: Expression, right: Expression) -> Expression:
        """What an operator makes: + joins what is known to be texts, whatever a dtype says."""
        if symbol in COMPARE and (left.has_order or right.has_order):
            left, right = by_place(symbol, left, right, self._table.source.domain)
        if symbol != "+":
            return OPERATORS[symbol](left, right)
        schema = self._table.source.facts.schema
        known, held = ([side.kind(of) for side in (left, right)] for of in ({}, schema))
        if {kinds.TEXT} <= {*known} and {*held} <= {kinds.TEXT, *kinds.UNSURE}:
            return expressions.joined([left, right])
        if held == [kinds.TEXT, kinds.TEXT]:
            raise QueryError(
                f"{left} + {right} would join texts or add numbers, as a dtype decides. Write "
                ".str.cat(…) to join texts, or + ' ' + with a text between them."
            )
        return OPERATORS[symbol](left, right)

    def _several(self, columns: dict[Any, Expression]) -> Any:
        """A frame of several columns of the same rows."""
        frame = self._frame(self._table, columns, self._where)
        frame._selected = True
        return frame

    def _named_with(self, expression: Expression, other: Any) -> Self:
        """Named as pandas names what two columns make: as both, if they have one name."""
        is_named = not isinstance(other, ColumnOperators) or repr(other.name) == repr(self.name)
        name = self.name if is_named else None
        return type(self)(self._table, name, expression, self._where)

    if TYPE_CHECKING:  # set below, by name

        def add(
            self, other: Any, level: Any = None, fill_value: Any = None, axis: Any = 0
        ) -> Self: ...

        eq = ne = lt = le = gt = ge = sub = subtract = mul = multiply = add
        div = divide = truediv = floordiv = mod = pow = add
        radd = rsub = rmul = rdiv = rtruediv = rfloordiv = rmod = rpow = add

    __eq__ = _operator("==")[0]  # type: ignore[assignment]
    __ne__ = _operator("!=")[0]  # type: ignore[assignment]
    __lt__ = _operator("<")[0]
    __le__ = _operator("<=")[0]
    __gt__ = _operator(">")[0]
    __ge__ = _operator(">=")[0]
    __add__, __radd__ = _operator("+")
    __sub__, __rsub__ = _operator("-")
    __mul__, __rmul__ = _operator("*")
    __truediv__, __rtruediv__ = _operator("/")
    __floordiv__, __rfloordiv__ = _operator("//")
    __mod__, __rmod__ = _operator("%")
    __pow__, __rpow__ = _operator("**")

    @hide_internals
    def __and__(self, other: Any) -> Self:
        both = expressions.And(truth(self._expression), truth(self._other(other)))
        return self._named_with(both, other)

    @hide_internals
    def __or__(self, other: Any) -> Self:
        either = expressions.Or(truth(self._expression), truth(self._other(other)))
        return self._named_with(either, other)

    @hide_internals
    def __xor__(self, other: Any) -> Self:
        one: Self = (self | other) & ~(self & other)
        return self._named_with(one._expression, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    @hide_internals
    def __invert__(self) -> Self:
        return self._new(expressions.negated(truth(self._expression)))

    @hide_internals
    def __pos__(self) -> Self:
        return self._new(Function("positive", self._expression))

    @hide_internals
    def __neg__(self) -> Self:
        return self._new(expressions.Negative(self._expression))

    def _value(self, other: Any) -> Expression:
        """The expression for a plain value, a missing value, or a column of the same rows."""
        is_gone = expressions.plain_or_missing(other) is None
        return Literal(None) if is_gone else self._other(other)

    @hide_internals
    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """numpy's functions of one row. A scalar of numpy on the left calls this before our own
        operators."""
        make = numpy_functions.elementwise(ufunc, method, kwargs)
        plain = [x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in args]
        made = self._new(make(*map(self._other, plain)))
        for each in plain:
            made = made._named_with(made._expression, each)
        return made

    @hide_internals
    def __array_function__(self, func: Any, *called: Any) -> Any:
        """numpy's functions that look at one row: ``np.where``, ``np.select``, ``np.clip``, …"""
        _, args, options = called
        return numpy_functions.called(self, func, args, options)


#: pandas' names of the operators, and those whose operands can be exchanged.
METHODS = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "add": "+", "sub": "-",
    "mul": "*", "div": "/", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "subtract": "-", "multiply": "*", "divide": "/",
}  # fmt: skip
METHODS |= {
    f"r{name}": METHODS[name]
    for name in ("add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow")
}
for _name, _symbol in METHODS.items():
    setattr(ColumnOperators, _name, _method(_name, _symbol))
