"""What a declared domain shows to be a slip: it would count nothing, and be charged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import vectors
from ..domain import Bounds, Declaration, Keys
from ..errors import QueryError, shown
from .base import Domain, Expression, Literal
from .logic import And, Compare, IsIn, Not, Or
from .numbers import Arithmetic, Negative


def family(declared: Declaration | None) -> str:
    """What a declared domain says that values are: "number", "text", or "" where it can't say."""
    if isinstance(declared, Bounds):
        return "number"
    if declared is None:
        return ""
    families = {_family(label) for label in declared.labels}
    return families.pop() if len(families) == 1 else ""


def _family(value: Any) -> str:
    if isinstance(value, vectors.NUMBERS):
        return "number"
    return "text" if isinstance(value, str) else ""


def agree(expression: Expression, declared: str, values: Iterable[Any]) -> None:
    """Refuse plain values that can't equal what was declared: they would count nothing."""
    for value in values:
        if declared and _family(value) and _family(value) != declared:
            raise QueryError(
                f"{expression} is declared as {declared}, and {shown(value)} is not: they are "
                "never equal. Nothing was computed or charged."
            )


def check(
    expression: Expression,
    domain: Domain,
    truth: bool = False,
    seen: dict[tuple[int, bool], Expression] | None = None,
) -> None:
    """Refuse what a declared domain shows to be a slip: text beside numbers, a number as a mask.

    ``seen`` has what was checked before: what several expressions share is checked once.
    """
    seen = {} if seen is None else seen
    if (id(expression), truth) in seen:
        return
    seen[id(expression), truth] = expression  # kept, so that no other gets its id
    is_asked = isinstance(expression, Compare | IsIn | Arithmetic | Negative)
    said = [
        (child, family(child.declared(domain)))
        for child in (expression.children() if is_asked else ())
        if not isinstance(child, Literal)
    ]
    if truth and not expression.is_truth:
        declared = expression.declared(domain)
        values = declared.labels if isinstance(declared, Keys) else ()
        is_range = isinstance(declared, Bounds) and declared not in (Bounds(0, 1), Bounds(1, 1))
        if is_range or any(value not in (0, 1) for value in values):
            raise QueryError(f"{expression} is declared as no truth value: compare it.")
    if isinstance(expression, Compare):
        literals = [c.value for c in expression.children() if isinstance(c, Literal)]
        for column, declared_family in said:
            agree(column, declared_family, literals)
    elif isinstance(expression, IsIn):
        for column, declared_family in said:
            agree(column, declared_family, expression.labels)
    elif isinstance(expression, Arithmetic | Negative) and any(kind == "text" for _, kind in said):
        raise QueryError(f"{expression}: text has no arithmetic. Nothing was computed or charged.")
    for child in expression.children():
        check(child, domain, isinstance(expression, And | Or | Not), seen)
