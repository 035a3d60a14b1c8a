"""From the text of a query to a tree of `rows`: ``"age > 30 and children > 0"``.

The grammar is that of DataFrame.query: ``&`` and ``|`` bind like ``and`` and ``or``, comparisons
chain, ``==`` with a list means ``in``, `` `a name` `` is a column. Only what `rows` has a node for
is accepted; the rest is refused with the reason, whatever Python or pandas would make of it.
Nothing is evaluated here: the text is parsed, walked and thrown away.
"""

from __future__ import annotations

import ast
import datetime
import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from ..errors import UnknownColumn, UnsupportedExpression, quoted
from . import expressions
from .expressions import Expression, Literal
from .facts.keys import is_missing, plain, public, some_names
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
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
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
    """The expression that a query string says, over ``columns`` by name: one to filter by, or any.

    ``variables`` looks up the caller's ``@name``, and raises KeyError where there is none.
    """
    if not isinstance(text, str):
        raise UnsupportedExpression(f"a query is a string, not {type(text).__name__}. {_SAYS}")
    if len(text) > LONGEST:
        raise UnsupportedExpression(f"the query is longer than {LONGEST} characters. {_SAYS}")
    source, names = _prepare(text.strip(), columns, variables)
    try:
        tree = ast.parse(source, mode="eval")
        walker = _Walker(columns, names)
        expression = walker.truth(tree.body) if is_filter else walker.value(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, UnsupportedExpression | UnknownColumn):
            raise
        raise UnsupportedExpression(f"{text!r} can't be parsed as an expression. {_SAYS}") from None
    _check_size(expression)
    return expression


def _prepare(
    text: str, columns: Mapping[Any, Expression], variables: Callable[[str], Any]
) -> tuple[str, dict[str, Expression]]:
    """Python's grammar, with a placeholder for each backticked column and @variable."""
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
            raise UnsupportedExpression(f"a # out of quotes is no part of a query. {_SAYS}")
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
    is_in_text = bool(named)
    named = named or "the value"
    value = plain(value)
    is_scalar = isinstance(value, (*NUMBERS, str, datetime.timedelta, pd.Period)) or (
        timestamp(value) is not None
    )
    value = public(value) if is_scalar else value
    if not is_scalar or is_missing(value):
        raise UnsupportedExpression(
            f"{named} is a {type(value).__name__}, not a plain scalar (a number, text, truth "
            f"value, time, duration or period). {_SAYS if is_in_text else ''}".rstrip()
        )
    return Literal(value)


def operand(value: Literal) -> Literal:
    """A plain value to compute with: a number has to fit float64, in which all is computed."""
    if isinstance(value.value, NUMBERS):
        try:
            float(value.value)
        except OverflowError:
            raise UnsupportedExpression(
                "a plain number is larger than numbers here can be: compute with numbers up to "
                "1e308."
            ) from None
    return value


def lookup(name: Any, columns: Mapping[Any, Expression]) -> Expression:
    """The column of a name, or an error that suggests one."""
    try:
        return columns[name]
    except (KeyError, TypeError):
        raise unknown(name, columns) from None


def unknown(name: object, columns: Collection[Any]) -> UnknownColumn:
    near = difflib.get_close_matches(str(name), [str(c) for c in columns], n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    listing = f" The columns: {some_names(columns)}." if columns else " There are no columns."
    return UnknownColumn(f"there is no column {quoted(name)}.{hint}{listing}")


def _check_size(expression: Expression) -> None:
    parts, stack = 0, [(expression, 1)]
    while stack:
        node, depth = stack.pop()
        parts += 1
        if depth > DEEPEST or parts > LARGEST:
            raise UnsupportedExpression(
                f"the query is nested deeper than {DEEPEST} levels, or has more than {LARGEST} "
                f"parts once chained comparisons are written out. {_SAYS}"
            )
        stack.extend((child, depth + 1) for child in node.children())


def _balanced(
    join: Callable[[Expression, Expression], Expression], parts: Sequence[Expression]
) -> Expression:
    """A tree of logarithmic depth, however many parts are joined."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return join(_balanced(join, parts[:half]), _balanced(join, parts[half:]))


class _Walker:
    """From Python's syntax tree to ours; every kind of node that is not named here is refused."""

    def __init__(self, columns: Mapping[Any, Expression], names: Mapping[str, Expression]) -> None:
        self._columns = columns
        self._names = names
        self._visits = 0

    def truth(self, node: ast.expr) -> Expression:
        """An expression to filter by: a truth value, or a column of them."""
        expression = self.any(node)
        is_boolean = isinstance(expression, Literal) and isinstance(expression.value, bool)
        if expression.is_truth or isinstance(expression, expressions.Column) or is_boolean:
            return expression
        raise UnsupportedExpression(f"{_text(node)} is not true or false: compare it. {_SAYS}")

    def value(self, node: ast.expr) -> Expression:
        """An operand of a comparison or of arithmetic."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            operand = node.operand
            if not self.any(operand).is_truth:
                raise UnsupportedExpression(
                    f"{_text(node)} is true or false, not a number, and binds closer than a "
                    f"comparison: write ~(…) or not …. {_SAYS}"
                )
        return self.any(node)

    def any(self, node: ast.expr) -> Expression:
        self._visits += 1  # the middle of a < b < c is visited twice, and so is all within it
        if self._visits > LARGEST:
            raise UnsupportedExpression(f"the query has more than {LARGEST} parts. {_SAYS}")
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is None:
            what = _WHAT.get(type(node), "refused")
            raise UnsupportedExpression(f"{_text(node)} is {what}. {_SAYS}")
        expression: Expression = visit(node)
        return expression

    def _name(self, node: ast.Name) -> Expression:
        if node.id in self._names:
            return self._names[node.id]
        if node.id == "index" and "index" not in self._columns:
            raise UnsupportedExpression(
                f"index is a position among other rows, not a fact of one row. {_SAYS}"
            )
        return lookup(node.id, self._columns)

    def _constant(self, node: ast.Constant) -> Expression:
        if isinstance(node.value, bool | int | float | str):
            return Literal(node.value)
        raise UnsupportedExpression(f"{_text(node)} is no number, text or truth value. {_SAYS}")

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
            raise UnsupportedExpression(f"{_text(node)} is not arithmetic on numbers. {_SAYS}")
        return expressions.Arithmetic(operation, self._number(node.left), self._number(node.right))

    def _number(self, node: ast.expr) -> Expression:
        expression = self.value(node)
        computes = (*NUMBERS, *TIMES)
        if isinstance(expression, Literal) and not isinstance(expression.value, computes):
            raise UnsupportedExpression(f"{_text(node)} is no number, time or duration. {_SAYS}")
        return operand(expression) if isinstance(expression, Literal) else expression

    def _compare(self, node: ast.Compare) -> Expression:
        operands = [node.left, *node.comparators]
        links = [
            self._link(a, operation, b)
            for a, operation, b in zip(operands, node.ops, operands[1:], strict=False)
        ]
        return _balanced(expressions.And, links)

    def _link(self, left: ast.expr, operation: ast.cmpop, right: ast.expr) -> Expression:
        if isinstance(left, ast.List | ast.Tuple) and isinstance(operation, ast.Eq | ast.NotEq):
            left, right = right, left
        if isinstance(right, ast.List | ast.Tuple):
            if not isinstance(operation, ast.In | ast.NotIn | ast.Eq | ast.NotEq):
                raise UnsupportedExpression(f"a list can't be ordered: {_text(right)}. {_SAYS}")
            inside = expressions.IsIn(self.value(left), self._items(right))
            return inside if isinstance(operation, ast.In | ast.Eq) else expressions.Not(inside)
        symbol = _COMPARISONS.get(type(operation))
        if symbol is None:
            word = "in" if isinstance(operation, ast.In | ast.NotIn) else "is"
            raise UnsupportedExpression(
                f"{word} {_text(right)}: only `in` with a written list, such as educ in [9, 12], "
                f"looks at one row alone. {_SAYS}"
            )
        return expressions.Compare(symbol, self.value(left), self.value(right))

    def _items(self, node: ast.expr) -> tuple[Any, ...]:
        parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        return tuple(self._plain(part) for part in parts)

    def _plain(self, node: ast.expr) -> Any:
        expression = self.any(node)
        if not isinstance(expression, Literal):
            raise UnsupportedExpression(f"{_text(node)} is not a plain value. {_SAYS}")
        return expression.value

    def _call(self, node: ast.Call) -> Expression:
        if not isinstance(node.func, ast.Attribute):
            raise UnsupportedExpression(f"{_text(node)} calls a function. {_SAYS}")
        method, count = node.func.attr, len(node.args)
        if method in ("isna", "isnull", "notna", "notnull") and not count and not node.keywords:
            missing = expressions.IsMissing(self.value(node.func.value))
            return missing if method in ("isna", "isnull") else expressions.Not(missing)
        if method == "isin" and count == 1 and not node.keywords:
            if not isinstance(node.args[0], ast.List | ast.Tuple):
                raise UnsupportedExpression(f"{_text(node)}: write out the list. {_SAYS}")
            return expressions.IsIn(self.value(node.func.value), self._items(node.args[0]))
        if method == "between" and count == 2 and len(node.keywords) <= 1:
            low, high = (Literal(self._plain(each)) for each in node.args)
            return expressions.between(
                self.value(node.func.value), low, high, self._inclusive(node)
            )
        raise UnsupportedExpression(
            f"{_text(node)} calls .{method}(), which may look at other rows. {_SAYS}"
        )

    def _inclusive(self, node: ast.Call) -> str:
        if not node.keywords:
            return "both"
        keyword = node.keywords[0]
        value = self._plain(keyword.value)
        if keyword.arg != "inclusive" or value not in ("both", "neither", "left", "right"):
            raise UnsupportedExpression(
                f"{_text(node)}: inclusive= is both, neither, left or right."
            )
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


def _text(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "…"
