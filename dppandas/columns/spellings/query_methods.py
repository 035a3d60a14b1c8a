"""What a query string may call of a column: the row-wise methods that private columns have.

So a method makes the same expression, and a query the same key, in a text and in Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import UnsupportedExpression, hide_internals
from ...rows.expressions import Expression
from ..accessors import TextMethods
from ..columns import PrivateColumn
from ..time_methods import TimeMethods
from . import numpy_functions

#: Public names of private columns that are no row-wise methods of values: they take functions,
#: name a column, group rows, or keep other ones.
_OTHERS = {"apply", "copy", "dropna", "dt", "groupby", "name", "pipe", "rename", "str", "to_frame",
           "transform"}  # fmt: skip
_ACCESSORS: dict[str, type[Any]] = {"str": TextMethods, "dt": TimeMethods}


#: The functions that pandas' query strings know, and how many numbers each takes.
FUNCTIONS = {
    **dict.fromkeys(
        ("sin", "cos", "tan", "exp", "log", "expm1", "log1p", "sqrt", "sinh", "cosh", "tanh",
         "arcsin", "arccos", "arctan", "arccosh", "arcsinh", "arctanh", "abs", "log10", "floor",
         "ceil"), 1),
    "arctan2": 2,
}  # fmt: skip


@functools.cache
def offered() -> frozenset[tuple[str, ...]]:
    """All that a query string may call or read, such as ("abs",) and ("dt", "year")."""
    found: set[tuple[str, ...]] = {(name,) for name in _public(PrivateColumn) - _OTHERS}
    for accessor, kind in _ACCESSORS.items():
        found |= {(accessor, name) for name in _public(object.__new__(kind))}
    return frozenset(found)


def _public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


class ColumnMethods:
    """The row-wise methods of private columns, for `query_string.parse`.

    column : the private column of an expression, of the rows that are asked.
    """

    def __init__(self, column: Callable[[Expression], PrivateColumn]) -> None:
        self._column = column

    def offers(self, path: tuple[str, ...]) -> bool:
        return path in offered()

    @hide_internals
    def apply(
        self, of: Expression, path: tuple[str, ...], arguments: Sequence[Any], named: dict[str, Any]
    ) -> Expression:
        method = self._found(of, path)
        if isinstance(method, PrivateColumn):
            raise UnsupportedExpression(f".{'.'.join(path)} is written without brackets.")
        made = method(*map(self._given, arguments), **{k: self._given(v) for k, v in named.items()})
        return self._expression_of(made, path)

    def has_function(self, name: str) -> bool:
        return name in FUNCTIONS

    @hide_internals
    def function(self, name: str, of: Sequence[Expression]) -> Expression:
        if len(of) != FUNCTIONS[name]:
            number = "one number" if FUNCTIONS[name] == 1 else "two numbers"
            raise UnsupportedExpression(f"{name} takes {number}, as in {name}(age), not {len(of)}.")
        make = numpy_functions.UFUNCS["absolute" if name == "abs" else name]
        return make(*of)

    def compare(self, symbol: str, left: Expression, right: Expression) -> Expression:
        return self._column(left)._made(symbol, left, right)

    def attribute(self, of: Expression, path: tuple[str, ...]) -> Expression:
        made = self._found(of, path)
        if callable(made):
            raise UnsupportedExpression(f".{'.'.join(path)} needs its brackets: it is a method.")
        return self._expression_of(made, path)

    def _found(self, of: Expression, path: tuple[str, ...]) -> Any:
        found: Any = self._column(of)
        for name in path:
            found = getattr(found, name)
        return found

    def _given(self, argument: Any) -> Any:
        return self._column(argument) if isinstance(argument, Expression) else argument

    def _expression_of(self, made: Any, path: tuple[str, ...]) -> Expression:
        if isinstance(made, PrivateColumn):
            return made._expression
        raise UnsupportedExpression(
            f".{'.'.join(path)} doesn't make one value of each row, so a query string can't use it."
        )
