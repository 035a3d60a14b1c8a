"""The text of a query in Python's grammar: placeholders stand for what it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..dataclasses import dataclass
from ..errors import UnsupportedExpression
from .expressions import Expression, Literal
from .plain_values import is_listed, listed, literal, lookup

_TOKENS = re.compile(
    r"""(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")  # left alone
      |`(?P<column>[^`]*)`
      |@\s*(?P<variable>[^\W\d]\w*)
      |(?P<logic>[&|])
      |(?P<comment>\#)
      |(?P<newline>\s*\n\s*)""",
    re.VERBOSE,
)
_SAYS = (
    "A query string takes columns, plain values, @names, comparisons, and/or/not, arithmetic, in, "
    "and row-wise methods such as .isna(): each answer must depend on that row alone."
)


def refusal(why: str) -> UnsupportedExpression:
    return UnsupportedExpression(f"{why}. {_SAYS}")


def prepared(
    text: str, columns: Mapping[Any, Expression], variables: Callable[[str], Any]
) -> tuple[str, Names]:
    """The text in Python's grammar, with placeholders for backticked columns and @variables."""
    names: Names = {}
    prefix = "_dp"
    while prefix in text:
        prefix += "_"

    def placeholder(said: str, named: Named) -> str:
        name = f"{prefix}{len(names)}"
        names[name] = said, named
        return f" {name} "

    def replace(match: re.Match[str]) -> str:
        if match["column"] is not None:
            lookup(match["column"], columns)
            return placeholder(match[0], NamedColumn(match["column"]))
        if match["variable"] is not None:
            return placeholder(match[0], _variable(match["variable"], variables))
        if match["comment"] is not None:
            raise refusal("a query can't have a comment: a # stands outside quotes")
        if match["logic"] is not None:
            return " and " if match["logic"] == "&" else " or "
        return match["text"] or " "

    return _TOKENS.sub(replace, text).strip(), names


#: Operators of other languages, and what a query has in their place.
_ELSEWHERE = {
    "=": "==", "=>": ">=", "=<": "<=", "<>": "!=", "===": "==", "&&": "and", "||": "or", "!": "not",
}  # fmt: skip
_OPERATOR = re.compile(r"[(,]\s*\w+\s*=(?![=<>])|[=<>!&|]+")


def other_languages_operator(text: str) -> str:
    """What to write in place of an operator that a query doesn't have; "" if it has none."""
    outside = _TOKENS.sub(lambda match: "" if match["text"] or match["column"] else match[0], text)
    found = (each for each in _OPERATOR.findall(outside) if each in _ELSEWHERE)
    return next((f"instead of {each} write {_ELSEWHERE[each]}" for each in found), "")


def _variable(name: str, variables: Callable[[str], Any]) -> Named:
    try:
        value = variables(name)
    except KeyError:
        raise UnsupportedExpression(f"@{name} is not defined where the query is made.") from None
    if is_listed(value):
        is_aligned = not isinstance(value, list | tuple | set | frozenset | range)
        return Listed(listed(value, f"@{name}"), is_aligned)
    return literal(value, f"@{name}")


@dataclass(frozen=True)
class NamedColumn:
    """A column that was named in backticks."""

    name: str


@dataclass(frozen=True)
class Listed:
    """Plain values that a caller's @name holds."""

    values: tuple[Any, ...]
    is_aligned: bool  # pandas would compare it row by row


Named = NamedColumn | Listed | Literal
#: For each placeholder, what the text says there, and what it means.
Names = dict[str, tuple[str, Named]]
