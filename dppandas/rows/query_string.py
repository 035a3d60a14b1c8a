"""From the text of a query, such as ``"age > 30 and children > 0"``, to an expression.

The grammar is that of DataFrame.query: ``&`` and ``|`` bind like ``and`` and ``or``, comparisons
chain, ``==`` with a list means ``in``, `` `a name` `` is a column. What has no expression is
refused with the reason, whatever Python or pandas would make of it. Nothing is evaluated: the text
is parsed, walked and thrown away.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from ..dataclasses import dataclass
from ..errors import DPError, UnsupportedExpression
from . import expressions
from .expressions import Expression, Literal
from .facts.spans import TIMES
from .plain_values import literal, lookup, operand, operands, unknown
from .query_names import Listed, NamedColumn, Names, other_languages_operator, prepared, refusal
from .values.vectors import NUMBERS

__all__ = ["literal", "lookup", "operand", "operands", "parse", "unknown"]

LONGEST = 10_000
LARGEST = 20_000
DEEPEST = 100

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**",
}  # fmt: skip


class Methods(Protocol):
    """What a text may call of a column: the row-wise methods that private columns have."""

    def offers(self, path: tuple[str, ...]) -> bool:
        """Whether there is such a method: ("abs",), or ("dt", "year")."""

    def apply(
        self, of: Expression, path: tuple[str, ...], arguments: Sequence[Any], named: dict[str, Any]
    ) -> Expression:
        """The method of a column; its arguments are plain values, lists of them or columns."""

    def has_function(self, name: str) -> bool:
        """Whether there is a function of numbers by a name, such as ``sqrt``."""

    def function(self, name: str, of: Sequence[Expression]) -> Expression:
        """A function of numbers."""

    def compare(self, symbol: str, left: Expression, right: Expression) -> Expression:
        """A comparison of two sides."""

    def attribute(self, of: Expression, path: tuple[str, ...]) -> Expression:
        """What is written without brackets, such as ``.dt.year``."""


@dataclass(frozen=True)
class Read:
    """What was read from a text: an expression, and its name if it is made from one column."""

    expression: Expression
    name: Any = None


def parse(
    text: object,
    columns: Mapping[Any, Expression],
    variables: Callable[[str], Any],
    methods: Methods,
    is_filter: bool = True,
) -> Read:
    """The expression of a query string over ``columns`` by name: true or false to filter by, or
    any. ``variables`` looks up the caller's ``@name``, and raises KeyError if there is none.
    """
    if not isinstance(text, str):
        raise refusal(f"a query is a string, not {type(text).__name__}")
    if len(text) > LONGEST:
        raise refusal(f"the query is longer than {LONGEST} characters")
    source, names = prepared(text.strip(), columns, variables)
    walker = _Walker(columns, names, methods)
    try:
        body = _parsed(source)
        expression = walker.truth(body) if is_filter else walker.value(body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, DPError):
            raise
        if meant := other_languages_operator(text):
            raise UnsupportedExpression(f"{text!r} can't be read: {meant}.") from None
        raise refusal(f"{text!r} can't be parsed as an expression") from None
    _check_size(expression)
    return Read(expression, walker.name)


@lru_cache(maxsize=64)
def _parsed(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


def _check_size(expression: Expression) -> None:
    nodes, stack = 0, [(expression, 1)]
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if depth > DEEPEST or nodes > LARGEST:
            raise refusal(
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

    def __init__(self, columns: Mapping[Any, Expression], names: Names, methods: Methods) -> None:
        self._columns = columns
        self._names = names
        self._methods = methods
        self._visits = 0
        self._sizes: dict[int, tuple[Expression, int]] = {}
        self._used: set[Any] = set()

    @property
    def name(self) -> Any:
        """The one column that the text computes with, as pandas names the result."""
        return next(iter(self._used)) if len(self._used) == 1 else None

    def _refused(self, node: ast.expr, why: str) -> UnsupportedExpression:
        text = ast.unparse(node)
        for placeholder in reversed(self._names):  # the 10th before the 1st, whose name begins it
            text = text.replace(placeholder, self._names[placeholder][0])
        return refusal(f"{text if len(text) <= 60 else text[:57] + '…'} {why}")

    def truth(self, node: ast.expr) -> Expression:
        """An expression to filter by: a truth value, or a column."""
        expression = self.any(node)
        if expression.may_be_truth:
            return expression
        raise self._refused(node, "is not true or false: compare it")

    def value(self, node: ast.expr) -> Expression:
        """An operand of a comparison or of arithmetic."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            operand = self.any(node.operand)
            if not operand.is_truth:
                raise self._refused(node, "isn't a number; ~ binds closest, so write ~(…) or not …")
        return self.any(node)

    def any(self, node: ast.expr) -> Expression:
        self._visits += 1  # counted, for the middle of a < b < c is visited twice, at each level
        if self._visits > LARGEST:
            raise refusal(f"the query has more than {LARGEST} parts")
        method = f"_{type(node).__name__.lower()}"
        visit: Callable[[Any], Expression] | None = getattr(self, method, None)
        if visit is None:
            raise self._refused(node, _WHAT.get(type(node), "is refused"))
        return visit(node)

    def _name(self, node: ast.Name) -> Expression:
        _, named = self._names.get(node.id, (node.id, NamedColumn(node.id)))
        if isinstance(named, Listed):
            raise self._refused(node, "is a list where a value belongs")
        if isinstance(named, Literal):
            return named
        if named.name == "index" and "index" not in self._columns:
            raise self._refused(node, "is a position among other rows, not a fact of one row")
        found = lookup(named.name, self._columns)
        self._used.add(named.name)
        return found

    def _constant(self, node: ast.Constant) -> Expression:
        if isinstance(node.value, bool | int | float | str):
            return Literal(node.value)
        raise self._refused(node, "isn't a number, a string or a truth value")

    def _boolop(self, node: ast.BoolOp) -> Expression:
        join = expressions.And if isinstance(node.op, ast.And) else expressions.Or
        return _balanced(join, [self.truth(part) for part in node.values])

    def _unaryop(self, node: ast.UnaryOp) -> Expression:
        if isinstance(node.op, ast.Not | ast.Invert):
            return expressions.negated(self.truth(node.operand))
        operand = self._number(node.operand)
        if isinstance(node.op, ast.UAdd):
            return operand
        value: Any = operand.value if isinstance(operand, Literal) else None
        is_number = isinstance(value, NUMBERS)
        return Literal(-value) if is_number else expressions.Negative(operand)

    def _binop(self, node: ast.BinOp) -> Expression:
        operation = _ARITHMETIC.get(type(node.op))
        if operation is None:
            raise self._refused(node, "is not arithmetic on numbers")
        return expressions.Arithmetic(operation, self._number(node.left), self._number(node.right))

    def _number(self, node: ast.expr) -> Expression:
        expression = self.value(node)
        computes = (*NUMBERS, *TIMES)
        if isinstance(expression, Literal) and not isinstance(expression.value, computes):
            raise self._refused(node, "isn't a number, a time or a duration")
        return operand(expression) if isinstance(expression, Literal) else expression

    def _compare(self, node: ast.Compare) -> Expression:
        sides = [node.left, *node.comparators]
        links = map(self._link, sides, node.ops, sides[1:])
        return _balanced(expressions.And, list(links))

    def _link(self, left: ast.expr, operation: ast.cmpop, right: ast.expr) -> Expression:
        if self._listed(left) is not None and isinstance(operation, ast.Eq | ast.NotEq):
            left, right = right, left
        labels = self._listed(right)
        if labels is not None:
            if not isinstance(operation, ast.In | ast.NotIn | ast.Eq | ast.NotEq):
                raise self._refused(right, "is a list, which can't be ordered")
            if labels.is_aligned and not isinstance(operation, ast.In | ast.NotIn):
                raise self._refused(right, "has rows of its own. Write `in` to look for its values")
            inside = self._applied(self.value(left), ("isin",), [list(labels.values)], {})
            return inside if isinstance(operation, ast.In | ast.Eq) else expressions.Not(inside)
        symbol = _COMPARISONS.get(type(operation))
        if symbol is None:
            word = "in" if isinstance(operation, ast.In | ast.NotIn) else "is"
            raise self._refused(
                right,
                f"after `{word}` is not a list. Only `in` with a written list, such as "
                "educ in [9, 12], or with an @name that holds one, looks at one row alone",
            )
        return self._methods.compare(symbol, self.value(left), self.value(right))

    def _listed(self, node: ast.expr) -> Listed | None:
        """A list that is written out, or that an @name holds."""
        if isinstance(node, ast.List | ast.Tuple):
            return Listed(tuple(map(self._plain, node.elts)), is_aligned=False)
        _, named = self._names.get(node.id if isinstance(node, ast.Name) else "", ("", None))
        return named if isinstance(named, Listed) else None

    def _plain(self, node: ast.expr) -> Any:
        expression = self.any(node)
        if not isinstance(expression, Literal):
            raise self._refused(node, "is not a plain value")
        return expression.value

    def _call(self, node: ast.Call) -> Expression:
        if not isinstance(node.func, ast.Attribute):
            return self._function(node)
        of, path = _path(node.func)
        if not self._methods.offers(path):
            raise self._refused(node, f"calls .{'.'.join(path)}(), which may look at other rows")
        operand, used = self.value(of), set(self._used)
        arguments = list(map(self._argument, node.args))
        named = {str(each.arg): self._argument(each.value) for each in node.keywords if each.arg}
        if len(named) < len(node.keywords):
            raise self._refused(node, "has arguments that aren't written out")
        self._used = used  # pandas' methods keep the name of their column
        return self._applied(operand, path, arguments, named)

    def _function(self, node: ast.Call) -> Expression:
        """A function of numbers, as in ``sqrt(x)``."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if not self._methods.has_function(name) or node.keywords:
            raise self._refused(node, "calls a function")
        return self._sized(self._methods.function(name, list(map(self.value, node.args))))

    def _argument(self, node: ast.expr) -> Any:
        """A plain value, None, a list of plain values, or a column."""
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if (labels := self._listed(node)) is not None:
            return list(labels.values)
        expression = self.value(node)
        return expression.value if isinstance(expression, Literal) else expression

    def _attribute(self, node: ast.Attribute) -> Expression:
        of, path = _path(node)
        if len(path) == 1 or not self._methods.offers(path):
            raise self._refused(node, _WHAT[ast.Attribute])
        return self._sized(self._methods.attribute(self.value(of), path))

    def _subscript(self, node: ast.Subscript) -> Expression:
        """Characters, as in ``name.str[0]`` or ``name.str[:3]``."""
        if not isinstance(node.value, ast.Attribute) or node.value.attr != "str":
            raise self._refused(node, _WHAT[ast.Subscript])
        operand = self.value(node.value.value)
        if isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            given = [None if end is None else self._plain(end) for end in ends]
            return self._applied(operand, ("str", "slice"), given, {})
        return self._applied(operand, ("str", "get"), [self._plain(node.slice)], {})

    def _applied(
        self, of: Expression, path: tuple[str, ...], arguments: list[Any], named: dict[str, Any]
    ) -> Expression:
        return self._sized(self._methods.apply(of, path, arguments, named))

    def _sized(self, made: Expression) -> Expression:
        """What a method made, if it isn't too large to be printed: each may use its column
        twice."""
        if self._size(made) > LARGEST:
            raise refusal(f"the query has more than {LARGEST} parts")
        return made

    def _size(self, expression: Expression) -> int:
        if id(expression) not in self._sizes:
            size = 1 + sum(map(self._size, expression.children()))
            self._sizes[id(expression)] = expression, size  # keeping it keeps its id
        return self._sizes[id(expression)][1]


def _path(node: ast.Attribute) -> tuple[ast.expr, tuple[str, ...]]:
    """A method, or one of .str or .dt, and what it is a method of."""
    inner = node.value
    if isinstance(inner, ast.Attribute) and inner.attr in ("str", "dt"):
        return inner.value, (inner.attr, node.attr)
    return inner, (node.attr,)


_WHAT: dict[type[ast.expr], str] = {
    ast.Attribute: "is an attribute, which may hold other rows' values",
    ast.Subscript: "is a look-up by position or label",
    ast.Lambda: "is a function",
    ast.JoinedStr: "is a formatted string",
    ast.IfExp: "is a choice between expressions",
    ast.NamedExpr: "is an assignment",
    ast.List: "is a list where a value belongs",
    ast.Tuple: "is a tuple where a value belongs",
}
