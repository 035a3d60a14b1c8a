"""numpy's functions on private columns: those that look at one row, as row-wise expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NoReturn

import numpy as np

from ...errors import PrivateValueError, QueryError, parameters
from ...release.private import Private
from ...rows import expressions
from ...rows.expressions import (
    FUNCTIONS,
    PAIRS,
    Across,
    Compare,
    Expression,
    Function,
    IsMissing,
    Literal,
)  # fmt: skip
from ...statistics import Count, every
from ..rowwise import chosen, computed, truth

Made = Callable[..., Expression]


def _logic(join: Callable[[Expression, Expression], Expression]) -> Made:
    return lambda left, right: join(truth(left), truth(right))


def _xor(left: Expression, right: Expression) -> Expression:
    one, other = truth(left), truth(right)
    neither = expressions.Not(expressions.And(one, other))
    return expressions.And(expressions.Or(one, other), neither)


def _negated(operand: Expression) -> Expression:
    return expressions.negated(truth(operand))


def _extreme(how: str, skipna: bool) -> Made:
    return lambda left, right: Across(how, (left, right), skipna)


def _size(symbol: str) -> Made:
    """How large a number is, compared with infinity."""
    return lambda x: Compare(symbol, Function("absolute", x), Literal(math.inf))


#: What each ufunc makes of expressions.
UFUNCS: dict[str, Made] = {
    **{name: partial(Function, name) for name in FUNCTIONS if name != "round"},
    **{name: partial(expressions.OfTwo, name) for name in PAIRS},
    "add": partial(computed, "+"), "subtract": partial(computed, "-"),
    "multiply": partial(computed, "*"), "divide": partial(computed, "/"),
    "floor_divide": partial(computed, "//"), "remainder": partial(computed, "%"),
    "power": partial(computed, "**"), "float_power": partial(computed, "**"),
    "square": lambda x: computed("**", x, Literal(2)),
    "reciprocal": lambda x: computed("/", Literal(1), x),
    "equal": partial(Compare, "=="), "not_equal": partial(Compare, "!="),
    "less": partial(Compare, "<"), "less_equal": partial(Compare, "<="),
    "greater": partial(Compare, ">"), "greater_equal": partial(Compare, ">="),
    "bitwise_and": _logic(expressions.And), "logical_and": _logic(expressions.And),
    "bitwise_or": _logic(expressions.Or), "logical_or": _logic(expressions.Or),
    "bitwise_xor": _xor, "logical_xor": _xor, "invert": _negated, "logical_not": _negated,
    "negative": expressions.Negative, "fabs": partial(Function, "absolute"),
    "rad2deg": partial(Function, "degrees"), "deg2rad": partial(Function, "radians"),
    "minimum": _extreme("min", skipna=False), "maximum": _extreme("max", skipna=False),
    "fmin": _extreme("min", skipna=True), "fmax": _extreme("max", skipna=True),
    "isnan": IsMissing, "isnat": IsMissing, "isfinite": _size("<"), "isinf": _size("=="),
}  # fmt: skip


@cache
def _instead() -> dict[str, str]:
    """What to ask in place of functions that look at all rows."""
    same = {
        function.__name__: f".{method.name}({'' if statistic is Count else 'bounds=(0, 60), '}"
        "epsilon=0.1)"
        for statistic in every()
        for method in statistic.methods
        for function in method.functions
    }
    return {
        **same,
        "percentile": ".quantile(0.9, epsilon=0.1)",
        "quantile": ".quantile(0.9, epsilon=0.1)",
        "unique": ".unique(epsilon=0.1, delta=1e-6)",
        "histogram": ".hist(bins=10, epsilon=0.1)",
        "add.reduce": ".sum(bounds=(0, 60), epsilon=0.1)",
        "corrcoef": ".corr(other, epsilon=0.1)",
        "count_nonzero": ".sum(epsilon=0.1) of a mask",
    }


_ALL_ROWS = "would look at all rows, and what it says would reveal them"


def refuse(name: str, why: str = _ALL_ROWS) -> NoReturn:
    """Refuse a function of numpy by its name, with the reason."""
    instead = _instead().get(name, ".count(epsilon=0.1)")
    raise PrivateValueError(
        f"np.{name} {why}. Ask for a released answer, such as {instead}, or use row-wise "
        "functions: arithmetic, np.where, np.select, np.minimum, np.log."
    )


def refuse_all_rows(private: Private, name: str) -> NoReturn:
    """Refuse a function of numpy, which other libraries may have called on the way."""
    if name in _instead():
        refuse(name)
    private._refuse(f"numpy's {name}")


def elementwise(ufunc: Any, method: str, options: Mapping[str, Any]) -> Made:
    """What a call of a ufunc makes of its operands' expressions."""
    if method != "__call__":
        refuse(f"{ufunc.__name__}.{method}")
    make = UFUNCS.get(ufunc.__name__)
    if make is None:
        refuse(ufunc.__name__, "isn't offered for private columns by this version")
    if options:
        refuse(ufunc.__name__, f"takes no {next(iter(options))}= for private columns")
    return make


# --- np.where and its like ------------------------------------------------------------------------


def _where(column: Any, condition: Any, x: Any = ..., y: Any = ...) -> Any:
    if x is ... or y is ...:
        refuse("where", "of a condition alone would show at which places it is true")
    return _unnamed(column, _chosen(column, [condition], [x], y))


def _select(column: Any, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if not isinstance(condlist, Sequence) or not isinstance(choicelist, Sequence):
        raise QueryError("np.select takes a list of conditions and a list of choices.")
    if len(condlist) != len(choicelist) or not condlist:
        raise QueryError(
            f"np.select got {len(condlist)} conditions, but {len(choicelist)} choices. Give one "
            "choice for each condition."
        )
    return _unnamed(column, _chosen(column, condlist, choicelist, default))


def _chosen(
    column: Any, conditions: Sequence[Any], choices: Sequence[Any], default: Any
) -> Expression:
    pairs = zip(conditions, choices, strict=True)
    cases = [(column._condition(test), column._value(value)) for test, value in pairs]
    return chosen(cases, column._value(default))


def _unnamed(column: Any, expression: Expression) -> Any:
    """numpy's arrays have no name."""
    return column._new(expression).rename(None)


def _clip(
    column: Any, a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None
) -> Any:
    ends = (a_min if min is None else min), (a_max if max is None else max)
    return _of(column, a, "clip").clip(*ends)


def _round(column: Any, a: Any, decimals: Any = 0) -> Any:
    return _of(column, a, "round").round(decimals)


def _isin(column: Any, element: Any, test_elements: Any, *, invert: bool = False) -> Any:
    found = _of(column, element, "isin").isin(test_elements)
    return ~found if invert else found


def _fix(column: Any, x: Any) -> Any:
    return np.trunc(_of(column, x, "fix"))


def _of(column: Any, operand: Any, name: str) -> Any:
    """The operand, if it is the private column and not one of the public arguments."""
    if operand is column:
        return column
    raise QueryError(f"np.{name} takes public arguments beside a private column.")


#: Functions that aren't ufuncs.
FUNCTIONS_OF_ONE_ROW: dict[str, Callable[..., Any]] = {
    "where": _where, "select": _select, "clip": _clip, "round": _round, "around": _round,
    "isin": _isin, "fix": _fix,
}  # fmt: skip


def called(column: Any, func: Any, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a call of a numpy function makes, or its refusal."""
    make = FUNCTIONS_OF_ONE_ROW.get(func.__name__)
    if make is None or not func.__module__.startswith("numpy"):
        refuse_all_rows(column, func.__name__)
    for option in options:
        if option not in parameters(make):
            refuse(func.__name__, f"takes no {option}= for private columns")
    return make(column, *args, **options)
