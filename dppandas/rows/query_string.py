"""From the text of a query, such as ``"age > 30 and children > 0"``, to an expression.

The grammar is that of DataFrame.query: ``&`` and ``|`` bind like ``and`` and ``or``, comparisons
chain, ``==`` with a list means ``in``, `` `a name` `` is a column. What has no expression is
refused with the reason, whatever Python or pandas would make of it. Nothing is evaluated: the text
is parsed, walked and thrown away.
"""

from __future__ import annotations

import ast
import datetime
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pandas as pd

from ..errors import UnknownColumn, UnsupportedExpression, quoted
from . import expressions
from .expressions import Expression, Literal
from .facts.keys import did_you_mean, is_missing, plain, public, some_names
from .facts.spans import TIMES
from .values.vectors import NUMBERS, timestamp

LONGEST = 10_000
LARGEST = 20_000
DEEPEST = 100

_TOKENS = re.compile(
    r"""(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")  # left alone
      |`(?P<column>[^`]*)`
      |@\s*(?P<variable>[^\W\d]\w*)
      |(?P<logic>[&|])
      |(?P<comment>\#)
      |(?P<newline>\s*\n\s*)""",
    re.VERBOSE,
)
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**",
}  # fmt: skip
_SCALARS = (*NUMBERS, str, datetime.timedelta, pd.Period)
_SAYS = (
    "A query string may use columns, plain values, @scalars, comparisons, and/or/not, arithmetic, "
    "in, .isna(), .notna(), .isin([...]) and .between(low, high), because each row's answer must "
    "depend on that row alone."
)


def parse(
    text: object,
    columns: Mapping[Any, Expression],
    variables: Callable[[str], Any],
    is_filter: bool = True,
) -> Expression:
    """The expression of a query string over ``columns`` by name: true or false to filter by, or
    any. ``variables`` looks up the caller's ``@name``, and raises KeyError if there is none.
    """
    if not isinstance(text, str):
        raise _refusal(f"a query is a string, not {type(text).__name__}")
    if len(text) > LONGEST:
        raise _refusal(f"the query is longer than {LONGEST} characters")
    source, names = _prepare(text.strip(), columns, variables)
    try:
        body = _parsed(source)
        walker = _Walker(columns, names)
        expression = walker.truth(body) if is_filter else walker.value(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, UnsupportedExpression | UnknownColumn):
            raise
        raise _refusal(f"{text!r} can't be parsed as an expression") from None
    _check_size(expression)
    return expression


@lru_cache(maxsize=64)
def _parsed(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


def _refusal(why: str) -> UnsupportedExpression:
    return UnsupportedExpression(f"{why}. {_SAYS}")


def _refused(node: ast.expr, why: str) -> UnsupportedExpression:
    text = ast.unparse(node)
    return _refusal(f"{text if len(text) <= 60 else text[:57] + '…'} {why}")


def _prepare(
    text: str, columns: Mapping[Any, Expression], variables: Callable[[str], Any]
) -> tuple[str, dict[str, Expression]]:
    """The text in Python's grammar, with placeholders for backticked columns and @variables."""
    names: dict[str, Expression] = {}
    prefix = "_dp"
    while prefix in text:
        prefix += "_"

    def placeholder(expression: Expression) -> str:
        name = f"{prefix}{len(names)}"
        names[name] = expression
        return f" {name} "

    def replace(match: re.Match[str]) -> str:
        if match["column"] is not None:
            return placeholder(lookup(match["column"], columns))
        if match["variable"] is not None:
            return placeholder(_variable(match["variable"], variables))
        if match["comment"] is not None:
            raise _refusal("a query can't have a comment: a # stands outside quotes")
        if match["logic"] is not None:
            return " and " if match["logic"] == "&" else " or "
        return match["text"] or " "

    return _TOKENS.sub(replace, text).strip(), names


def _variable(name: str, variables: Callable[[str], Any]) -> Literal:
    try:
        value = variables(name)
    except KeyError:
        raise UnsupportedExpression(f"@{name} is not defined where the query is made.") from None
    return literal(value, f"@{name}")


def literal(value: Any, named: str = "") -> Literal:
    """A plain scalar: a number, text, truth value, time, duration or period."""
    value = plain(value)
    is_scalar = isinstance(value, _SCALARS) or timestamp(value) is not None
    value = public(value) if is_scalar else value
    if not is_scalar or is_missing(value):
        raise UnsupportedExpression(
            f"{named or 'the value'} is a {type(value).__name__}, not a plain scalar (a number, "
            f"text, truth value, time, duration or period).{f' {_SAYS}' if named else ''}"
        )
    return Literal(value)


def operand(value: Literal) -> Literal:
    """A plain value to compute with, in float64 if it is a number."""
    if isinstance(value.value, NUMBERS):
        try:
            float(value.value)
        except OverflowError:
            raise UnsupportedExpression(
                "a number is too large to compute with. Use numbers up to 1e308."
            ) from None
    return value


def operands(values: Iterable[Any], named: str = "") -> tuple[Any, ...]:
    """Plain values to compute with; None for missing ones."""
    plains = map(expressions.plain_or_missing, values)
    return tuple(None if v is None else operand(literal(v, named)).value for v in plains)


def lookup(name: Any, columns: Mapping[Any, Expression]) -> Expression:
    """The column of a name, or an error that suggests another."""
    try:
        return columns[name]
    except (KeyError, TypeError):
        raise unknown(name, columns) from None


def unknown(name: object, columns: Collection[Any]) -> UnknownColumn:
    listing = f" The columns: {some_names(columns)}." if columns else " There are no columns."
    hint = did_you_mean(name, columns, 3)
    return UnknownColumn(f"there is no column {quoted(name)}.{hint}{listing}")


def _check_size(expression: Expression) -> None:
    nodes, stack = 0, [(expression, 1)]
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if depth > DEEPEST or nodes > LARGEST:
            raise _refusal(
                f"the query is nested deeper than {DEEPEST} levels, or has more than {LARGEST} "
                "parts with chained comparisons written out"
            )
        stack.extend((child, depth + 1) for child in node.children())


def _balanced(
    join: Callable[[Expression, Expression], Expression], parts: Sequence[Expression]
) -> Expression:
    """A tree of logarithmic depth, however many expressions are joined."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return join(_balanced(join, parts[:half]), _balanced(join, parts[half:]))


class _Walker:
    """From Python's syntax tree to ours; a kind of node without a method is refused."""

    def __init__(self, columns: Mapping[Any, Expression], names: Mapping[str, Expression]) -> None:
        self._columns = columns
        self._names = names
        self._visits = 0

    def truth(self, node: ast.expr) -> Expression:
        """An expression to filter by: a truth value, or a column."""
        expression = self.any(node)
        if expressions.can_filter(expression):
            return expression
        raise _refused(node, "is not true or false: compare it")

    def value(self, node: ast.expr) -> Expression:
        """An operand of a comparison or of arithmetic."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            operand = self.any(node.operand)
            if not operand.is_truth:
                raise _refused(node, "isn't a number; ~ binds closest, so write ~(…) or not …")
        return self.any(node)

    def any(self, node: ast.expr) -> Expression:
        self._visits += 1  # counted, for the middle of a < b < c is visited twice, at each level
        if self._visits > LARGEST:
            raise _refusal(f"the query has more than {LARGEST} parts")
        method = f"_{type(node).__name__.lower()}"
        visit: Callable[[Any], Expression] | None = getattr(self, method, None)
        if visit is None:
            raise _refused(node, f"is {_WHAT.get(type(node), 'refused')}")
        return visit(node)

    def _name(self, node: ast.Name) -> Expression:
        if node.id in self._names:
            return self._names[node.id]
        if node.id == "index" and "index" not in self._columns:
            raise _refused(node, "is a position among other rows, not a fact of one row")
        return lookup(node.id, self._columns)

    def _constant(self, node: ast.Constant) -> Expression:
        if isinstance(node.value, bool | int | float | str):
            return Literal(node.value)
        raise _refused(node, "isn't a number, a string or a truth value")

    def _boolop(self, node: ast.BoolOp) -> Expression:
        join = expressions.And if isinstance(node.op, ast.And) else expressions.Or
        return _balanced(join, [self.truth(part) for part in node.values])

    def _unaryop(self, node: ast.UnaryOp) -> Expression:
        if isinstance(node.op, ast.Not | ast.Invert):
            return expressions.Not(self.truth(node.operand))
        operand = self._number(node.operand)
        if isinstance(node.op, ast.UAdd):
            return operand
        value: Any = operand.value if isinstance(operand, Literal) else None
        is_number = isinstance(value, NUMBERS)
        return Literal(-value) if is_number else expressions.Negative(operand)

    def _binop(self, node: ast.BinOp) -> Expression:
        operation = _ARITHMETIC.get(type(node.op))
        if operation is None:
            raise _refused(node, "is not arithmetic on numbers")
        return expressions.Arithmetic(operation, self._number(node.left), self._number(node.right))

    def _number(self, node: ast.expr) -> Expression:
        expression = self.value(node)
        computes = (*NUMBERS, *TIMES)
        if isinstance(expression, Literal) and not isinstance(expression.value, computes):
            raise _refused(node, "isn't a number, a time or a duration")
        return operand(expression) if isinstance(expression, Literal) else expression

    def _compare(self, node: ast.Compare) -> Expression:
        sides = [node.left, *node.comparators]
        links = map(self._link, sides, node.ops, sides[1:])
        return _balanced(expressions.And, list(links))

    def _link(self, left: ast.expr, operation: ast.cmpop, right: ast.expr) -> Expression:
        if isinstance(left, ast.List | ast.Tuple) and isinstance(operation, ast.Eq | ast.NotEq):
            left, right = right, left
        if isinstance(right, ast.List | ast.Tuple):
            if not isinstance(operation, ast.In | ast.NotIn | ast.Eq | ast.NotEq):
                raise _refused(right, "is a list, which can't be ordered")
            inside = expressions.IsIn(self.value(left), tuple(map(self._plain, right.elts)))
            return inside if isinstance(operation, ast.In | ast.Eq) else expressions.Not(inside)
        symbol = _COMPARISONS.get(type(operation))
        if symbol is None:
            word = "in" if isinstance(operation, ast.In | ast.NotIn) else "is"
            raise _refused(
                right,
                f"after `{word}` is not a written list. Only `in` with a written list, such as "
                "educ in [9, 12], looks at one row alone",
            )
        return expressions.Compare(symbol, self.value(left), self.value(right))

    def _plain(self, node: ast.expr) -> Any:
        expression = self.any(node)
        if not isinstance(expression, Literal):
            raise _refused(node, "is not a plain value")
        return expression.value

    def _call(self, node: ast.Call) -> Expression:
        if not isinstance(node.func, ast.Attribute):
            raise _refused(node, "calls a function")
        method, of, arguments = node.func.attr, node.func.value, node.args
        if method in ("isna", "isnull", "notna", "notnull") and not arguments + node.keywords:
            missing = expressions.IsMissing(self.value(of))
            return missing if method in ("isna", "isnull") else expressions.Not(missing)
        if method == "isin" and len(arguments) == 1 and not node.keywords:
            if not isinstance(arguments[0], ast.List | ast.Tuple):
                raise _refused(node, "needs its list written out, as in .isin([9, 12])")
            return expressions.IsIn(self.value(of), tuple(map(self._plain, arguments[0].elts)))
        if method == "between" and len(arguments) == 2 and len(node.keywords) <= 1:
            low, high = (Literal(self._plain(each)) for each in arguments)
            return expressions.between(self.value(of), low, high, self._inclusive(node))
        raise _refused(node, f"calls .{method}(), which may look at other rows")

    def _inclusive(self, node: ast.Call) -> str:
        if not node.keywords:
            return "both"
        keyword = node.keywords[0]
        value = self._plain(keyword.value)
        if keyword.arg != "inclusive" or value not in ("both", "neither", "left", "right"):
            raise _refused(node, "needs inclusive= to be 'both', 'neither', 'left' or 'right'")
        return str(value)


_WHAT: dict[type[ast.expr], str] = {
    ast.Attribute: "an attribute, which may hold other rows' values",
    ast.Subscript: "a look-up by position or label",
    ast.Lambda: "a function",
    ast.JoinedStr: "a formatted string",
    ast.IfExp: "a choice between expressions",
    ast.NamedExpr: "an assignment",
    ast.List: "a list where a value belongs",
    ast.Tuple: "a tuple where a value belongs",
}
