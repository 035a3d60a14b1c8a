"""Refuses queries that, by public facts, would be charged for an answer about nothing.

The facts are the declared domain and the kinds of columns. A node says itself what its operands
must be (`Expression.needs`, `Expression.meets`), and so does a statistic. `check` refuses what is
of another kind when it is asked. `assumptions` says what a question takes for granted of columns
whose kind nobody knows, which decides whether it may be charged: what was answered before replays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from ...dataclasses import dataclass, field
from ...errors import QueryError, quoted
from ..facts import kinds
from ..facts.bounds import Bounds
from ..facts.domain import Declaration, list_for_tuple
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..values import time_of, vectors
from .arithmetic import Arithmetic, Negative
from .base import Column, Domain, Expression, Literal
from .logic import And, Compare, Not, Opposite, Or

#: What to protect in place of a column of a kind that no other converts to.
PREPARED: dict[Kind, str] = {
    kinds.INTERVAL: (
        "Before the first dp.protect, make columns of its ends: df['x'].array.left, or .right."
    ),
    kinds.COMPLEX: (
        "Before the first dp.protect, make columns of its parts: np.real(df['x']), or np.imag."
    ),
}


@dataclass(frozen=True)
class Facts:
    """The public facts about a table's columns."""

    domain: Domain = field(default_factory=dict)
    schema: Schema = field(default_factory=dict)
    #: The columns of unknown kind that nobody declared, each with its name in the source.
    undeclared: Mapping[Any, Any] = field(default_factory=dict)

    @property
    def are_sure(self) -> bool:
        """Whether the kind of each column is known, so that `check` finds all that is wrong."""
        return kinds.UNSURE.isdisjoint(self.schema.values())


def family(declared: Declaration | None) -> str:
    """What declared values are: "number", "text", or "" if neither or mixed."""
    if isinstance(declared, Bounds):
        return "number"
    if not isinstance(declared, Keys):
        return ""
    families = {_family(kind) for kind in declared.types}
    return families.pop() if len(families) == 1 else ""


def _family(kind: type) -> str:
    if issubclass(kind, vectors.NUMBERS):
        return "number"
    return "text" if issubclass(kind, str) else ""


def agree(expression: Expression, facts: Facts, values: Sequence[Any]) -> None:
    """Refuse plain values if one contradicts the declared domain, or all are of another kind than
    the expression: they would match nothing."""
    fact = expression.declared(facts.domain)
    declared = family(fact)
    is_own = isinstance(fact, Keys) and values is fact.labels  # of one family, or of none
    for value in values if declared and not is_own else ():
        if _family(type(value)) not in ("", declared):
            raise QueryError(
                f"the domain of {expression} declares {declared}s, and {quoted(value)} isn't one: "
                "they are never equal."
            )
    kind = expression.kind(facts.schema)
    if values and not any(kinds.can_hold(kind, value) for value in values):
        lists = ""
        if isinstance(expression, Column) and isinstance(fact, Keys) and values == fact.labels:
            lists = list_for_tuple(expression.name, fact)
        raise QueryError(
            f"{expression} is of kind {kind}, and {quoted(values[0])} is not: they are never "
            f"equal. {way_to(expression, kind, values[0])}{lists}"
        )


def times_once(expression: Expression, facts: Facts, labels: Sequence[Any]) -> None:
    """Refuse labels of times that name one time in two ways, as a text and otherwise: a row would
    lie in both cells."""
    if expression.kind(facts.schema) not in kinds.TIMES:
        return
    if set(map(type, labels)) == {pd.Timestamp}:
        return  # which are equal if they are one time, and no label is given twice
    seen: dict[Any, Any] = {}
    for label in dict.fromkeys(labels):
        time = vectors.timestamp(label) if not isinstance(label, str) else time_of(label)
        first = label if time is None else seen.setdefault(time, label)
        if first is not label:
            raise QueryError(
                f"keys= of {expression} name one time twice, as {quoted(first)} and as "
                f"{quoted(label)}. Give each time once."
            )


def way_to(expression: Expression, kind: Kind, value: Any) -> str:
    meant = kinds.of_value(value)
    if kind == kinds.TIME and meant == kinds.ZONED:
        return "Give a time without a zone, because the column has none."
    if kind == kinds.ZONED and meant == kinds.TIME:
        return (
            'Give a time with a zone, such as pd.Timestamp("2020-01-31", tz="UTC"); or a string '
            'such as "2020-01-31", which means the local clock of each time.'
        )
    if frequency := kinds.frequency(kind):
        return f"Give a pd.Period of the same frequency, such as {_period(frequency)}."
    if kind in kinds.TIMES and meant == kinds.TEXT:
        return 'Give a pd.Timestamp, or a string that reads as a time, such as "2020-01-31".'
    if kind == kinds.DURATION:
        return 'Give a pd.Timedelta, such as pd.Timedelta("1 day").'
    if kind in PREPARED:
        return PREPARED[kind]
    return f"Compare values of one kind. {_advice(expression, kind, {meant})}"


def _period(frequency: str) -> str:
    return f"pd.Period({str(pd.Period('2020-01-31', frequency))!r}, {frequency!r})"


def _advice(expression: Expression, kind: Kind, wanted: Collection[Kind]) -> str:
    """How to get a wanted kind, or to declare it if the expression is a column."""
    target = next((each for each in kinds.KINDS if each in wanted), kinds.UNKNOWN)
    said = kinds.advice(kind, target)
    may_be_text = kinds.TEXT in (kind, target) and kind != kinds.LIST
    can_declare = may_be_text and target in kinds.KINDS and target != kinds.TRUTH
    if isinstance(expression, Column) and can_declare:
        said += f", or declare it: dp.protect(df, …, kinds={{{expression.name!r}: {target!r}}})"
    return f"{said}."


def need(expression: Expression, wanted: Collection[Kind], facts: Facts, of: object) -> None:
    """Refuse an operand of a kind that the operation ``of`` can't use."""
    kind = expression.kind(facts.schema)
    if kind == kinds.NUMBER and wanted == kinds.TRUTHS and _says_truth(expression, facts):
        return
    if not kinds.is_in(kind, wanted):
        raise QueryError(
            f"{of}: {expression} is of kind {kind}, which can't be used here. "
            f"{_advice(expression, kind, wanted)}"
        )


def _says_truth(expression: Expression, facts: Facts) -> bool:
    """Whether the domain declares numbers that are 0 or 1."""
    declared = expression.declared(facts.domain)
    if isinstance(declared, Keys):
        return all(label in (0, 1) for label in declared.labels)
    return declared in (Bounds(0, 1), Bounds(1, 1))


def holds_truths(expression: Expression, facts: Facts) -> bool:
    """Whether it is known to hold True and False, and nothing else."""
    return expression.is_truth or expression.kind(facts.schema) == kinds.TRUTH


def check(
    expression: Expression,
    facts: Facts,
    truth: bool = False,
    seen: dict[tuple[int, bool], Expression] | None = None,
) -> None:
    """Refuse what can't be meant, by public facts: text beside numbers, a number as a condition.

    ``seen`` holds what was checked before, so that a shared operand is checked once.
    """
    seen = {} if seen is None else seen
    if (id(expression), truth) in seen:
        return
    seen[id(expression), truth] = expression  # keeping it keeps its id from being reused
    if truth and not expression.is_truth:
        if expression.declared(facts.domain) is not None and not _says_truth(expression, facts):
            raise QueryError(
                f"{expression} isn't True or False, by its declared domain. Compare it."
            )
        need(expression, kinds.TRUTHS, facts, "a condition")
    for operand, values in expression.meets():
        if not isinstance(operand, Literal):
            agree(operand, facts, values)
    if isinstance(expression, Compare):
        _check_sides(expression, facts)
    elif isinstance(expression, Arithmetic | Negative):
        operands = (child for child in expression.children() if not isinstance(child, Literal))
        if any(family(child.declared(facts.domain)) == "text" for child in operands):
            raise QueryError(f"{expression}: text has no arithmetic.")
    for operand, wanted in expression.needs(facts.schema):
        need(operand, wanted, facts, expression)
    for child in expression.children():
        check(child, facts, isinstance(expression, And | Or | Not | Opposite), seen)


def _check_sides(expression: Compare, facts: Facts) -> None:
    if expression.orders and (expression.left.has_order or expression.right.has_order):
        raise QueryError(
            f"{expression}: these labels have an order that isn't that of their texts. Compare the "
            "column itself with a label, as in frame[frame['grade'] >= 'B']."
        )
    left, right = (each.kind(facts.schema) for each in (expression.left, expression.right))
    is_plain = isinstance(expression.left, Literal) or isinstance(expression.right, Literal)
    if not (is_plain or kinds.can_equal(left, right)):
        raise QueryError(
            f"{expression}: one side is of kind {left}, the other of kind {right}, and they are "
            f"never equal and can't be ordered. {_advice(expression.right, right, {left})}"
        )
