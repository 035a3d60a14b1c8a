"""Refuses queries that, by public facts, would be charged for an answer about nothing.

The facts are the declared domain and the kinds of columns. A node says itself what its operands
must be (`Expression.needs`, `Expression.meets`), and so does a statistic. `check` refuses what is
of another kind when it is asked. `assumptions` says what a question takes for granted of columns
whose kind nobody knows, which decides whether it may be charged: what was answered before replays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from ...errors import QueryError, quoted
from ..facts import kinds
from ..facts.bounds import Bounds
from ..facts.domain import Declaration, list_for_tuple
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..values import time_of, vectors
from .arithmetic import Arithmetic, Negative
from .base import Column, Domain, Expression, Literal
from .conditionals import Mapped
from .logic import And, Compare, Not, Opposite, Or
from .table_lookups import Element
from .text import TextMap


@dataclass(frozen=True)
class Facts:
    """The public facts about a table's columns."""

    domain: Domain = field(default_factory=dict)
    schema: Schema = field(default_factory=dict)
    #: The columns of unknown kind that nobody declared, each with its name in the source.
    undeclared: Mapping[Any, Any] = field(default_factory=dict)


def family(declared: Declaration | None) -> str:
    """What declared values are: "number", "text", or "" if neither or mixed."""
    if isinstance(declared, Bounds):
        return "number"
    if not isinstance(declared, Keys):
        return ""
    families = {_family(label) for label in declared.labels}
    return families.pop() if len(families) == 1 else ""


def _family(value: Any) -> str:
    if isinstance(value, vectors.NUMBERS):
        return "number"
    return "text" if isinstance(value, str) else ""


def agree(expression: Expression, facts: Facts, values: Sequence[Any]) -> None:
    """Refuse plain values if one contradicts the declared domain, or all are of another kind than
    the expression: they would match nothing."""
    fact = expression.declared(facts.domain)
    declared = family(fact)
    for value in values if declared else ():
        if _family(value) not in ("", declared):
            raise QueryError(
                f"the domain of {expression} declares {declared}s, and {quoted(value)} is none: "
                "they are never equal."
            )
    kind = expression.kind(facts.schema)
    if values and not any(kinds.can_hold(kind, value) for value in values):
        lists = ""
        if isinstance(expression, Column) and isinstance(fact, Keys) and values == fact.labels:
            lists = list_for_tuple(expression.name, fact)
        raise QueryError(
            f"{expression} is of kind {kind}, and {quoted(values[0])} is not: they are never "
            f"equal. {_way_to(expression, kind, values[0])}{lists}"
        )


def times_once(expression: Expression, facts: Facts, labels: Sequence[Any]) -> None:
    """Refuse labels of times that name one time in two ways, as a text and otherwise: a row would
    lie in both cells."""
    if expression.kind(facts.schema) not in kinds.TIMES:
        return
    seen: dict[Any, Any] = {}
    for label in dict.fromkeys(labels):
        time = vectors.timestamp(label) if not isinstance(label, str) else time_of(label)
        first = label if time is None else seen.setdefault(time, label)
        if first is not label:
            raise QueryError(
                f"keys= of {expression} name one time twice, as {quoted(first)} and as "
                f"{quoted(label)}. Give each time once."
            )


def _way_to(expression: Expression, kind: Kind, value: Any) -> str:
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
    if kind in _PREPARED:
        return _PREPARED[kind]
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


# --- what nobody declared -------------------------------------------------------------------------


class Assumption(NamedTuple):
    """What a question takes a column to hold, if nobody declared its kind; or why it is refused."""

    column: Any  # as its source names it; None if a declaration wouldn't help
    kind: Kind
    is_refused: bool
    reason: str = ""


#: What to protect in place of a column of a kind that no other converts to.
_PREPARED: dict[Kind, str] = {
    kinds.INTERVAL: (
        "Before the first dp.protect, make columns of its ends: df['x'].array.left, or .right."
    ),
    kinds.COMPLEX: (
        "Before the first dp.protect, make columns of its parts: np.real(df['x']), or np.imag."
    ),
}
#: Types whose values are all of one kind.
_OF_ONE_KIND = {bool, int, float, str}


def assumptions(
    where: Expression | None,
    expressions: Iterable[Expression],
    needed: Iterable[tuple[Expression, Collection[Kind]]],
    facts: Facts,
    counted: Iterable[tuple[Expression, Sequence[Any]]] = (),
) -> tuple[Assumption, ...]:
    """What a question takes for granted, from public facts alone.

    A column that nobody declared may be text: that is said. It isn't taken to hold numbers or times
    to compute with: of a column of text the answer would be about nothing.

    counted : by which values rows are counted, with the labels of the cells.
    """
    found = _Assumptions(facts)
    if not kinds.UNSURE.isdisjoint(facts.schema.values()):  # else `check` has found it all
        if where is not None:
            found.walk(where, truth=True)
        for expression in expressions:
            found.walk(expression)
        for operand, wanted in needed:
            found.need(operand, wanted)
    for by, labels in counted:
        found.count(by, labels)
    found.refuse_contradictions()
    return tuple(found.made)


class _Assumptions:
    """What is found on the way through expressions."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.made: dict[Assumption, None] = {}
        self._texts: set[Any] = set()  # columns of which methods of texts are asked
        self._seen: dict[tuple[int, bool], Expression] = {}

    def walk(self, expression: Expression, truth: bool = False) -> None:
        """What an expression takes for granted of its operands: see `check`."""
        if (id(expression), truth) in self._seen:
            return
        self._seen[id(expression), truth] = expression
        if truth and not expression.is_truth:
            self.need(expression, kinds.TRUTHS)
        for operand, values in expression.meets():
            if not isinstance(operand, Literal):
                self.meet(operand, values)
        if isinstance(expression, Compare):
            self._compare(expression)
        for operand, wanted in expression.needs(self.facts.schema):
            self.need(operand, wanted)
        for child in expression.children():
            self.walk(child, isinstance(expression, And | Or | Not | Opposite))

    def need(self, operand: Expression, wanted: Collection[Kind]) -> None:
        """An operation on an operand that should be of one of these kinds."""
        kind = operand.kind(self.facts.schema)
        if kind in _PREPARED and kind not in wanted:
            self._refuse(f"{operand} is of kind {kind}, which can't be used here.", kind)
        if kind != kinds.UNKNOWN or kinds.UNKNOWN in wanted:
            return
        for name, likely in _undeclared(operand, self.facts):
            if kinds.TEXT not in wanted:
                target = next((each for each in kinds.KINDS if each in wanted), kinds.UNKNOWN)
                self._assume(name, likely or target, is_refused=True)
            elif set(wanted) <= {kinds.TEXT, kinds.LIST}:
                self._texts.add(name)
                self._assume(name, kinds.TEXT)

    def count(self, by: Expression, labels: Sequence[Any]) -> None:
        """Cells of rows: none of their labels may be one that no value can equal."""
        kind = by.kind(self.facts.schema)
        for label in labels if kind in kinds.TIMES else _one_of_each_type(labels):
            if not kinds.can_hold(kind, label, unsure={kinds.UNKNOWN}):
                said = f"keys= of {by} has {quoted(label)}, but {by} is of kind {kind}: they are "
                self._refuse(f"{said}never equal. {_way_to(by, kind, label)}", "")
                return
        self.meet(by, labels)

    def refuse_contradictions(self) -> None:
        """What is taken to hold texts, and also compared with what no text equals."""
        for each in tuple(self.made):
            if each.column in self._texts and each.kind != kinds.TEXT and not each.is_refused:
                line = f"kinds={{{each.column!r}: {kinds.TEXT!r}}}"
                self._refuse(
                    f"it takes {each.column!r} to hold texts, and compares what it makes of them "
                    f"with the kind {each.kind}: that may never be equal. Compare it with texts; "
                    f"or declare what its cells are, {line}, 'list' or 'unknown'.", "",
                )  # fmt: skip

    def meet(self, operand: Expression, values: Sequence[Any]) -> None:
        """A comparison with plain values."""
        kind = operand.kind(self.facts.schema)
        if kind != kinds.UNKNOWN:
            sure = (kinds.can_hold(kind, value, unsure={kinds.UNKNOWN}) for value in values)
            if values and not any(sure):
                said = f"{operand} is of kind {kind}, and {quoted(values[0])} is not: they are "
                self._refuse(f"{said}never equal.", kind)
            return
        if meant := _kind_of_all(values):
            self._assume_all(operand, meant)

    def _compare(self, expression: Compare) -> None:
        """A comparison of two columns; or with True, as where True is counted."""
        sides = expression.left, expression.right
        plain = [side.value for side in sides if isinstance(side, Literal)]
        if expression.operation == "==" and any(value is True for value in plain):
            for side in sides:
                self.need(side, kinds.TRUTHS)
        if plain:
            return
        left, right = (side.kind(self.facts.schema) for side in sides)
        if not kinds.can_equal(left, right, unsure={kinds.UNKNOWN}):
            kind = left if left in _PREPARED else right
            self._refuse(f"{expression}: sides of kinds {left} and {right} are never equal.", kind)
        for side, other in ((expression.left, right), (expression.right, left)):
            self._assume_all(side, other)

    def _assume_all(self, operand: Expression, kind: Kind) -> None:
        for name, _ in _undeclared(operand, self.facts) if kind in kinds.KINDS[:-1] else ():
            self._assume(name, kind)

    def _assume(self, name: Any, kind: Kind, is_refused: bool = False) -> None:
        self.made[Assumption(name, kind, is_refused)] = None

    def _refuse(self, said: str, kind: Kind) -> None:
        more = f" {_PREPARED[kind]}" if kind in _PREPARED else ""
        self.made[Assumption(None, kind, True, f"{said}{more}")] = None


def _one_of_each_type(values: Sequence[Any]) -> list[Any]:
    """Values enough to know the kinds of all."""
    alike = {type(value): value for value in values if type(value) in _OF_ONE_KIND}
    return [*alike.values(), *(value for value in values if type(value) not in _OF_ONE_KIND)]


def _kind_of_all(values: Sequence[Any]) -> Kind:
    """The kind of plain values; "" if they are of several."""
    meant = {kinds.of_value(value) for value in _one_of_each_type(values)} - {kinds.UNKNOWN}
    return meant.pop() if len(meant) == 1 else ""


def _undeclared(expression: Expression, facts: Facts) -> Iterator[tuple[Any, Kind]]:
    """The columns whose unknown kind an expression has, because nobody declared them; and the kind
    that they likely are of, by what is done with them: "" if that doesn't say."""
    seen: set[int] = set()
    waiting = [(expression, "")]
    while waiting:
        each, likely = waiting.pop()
        if id(each) in seen or each.kind(facts.schema) != kinds.UNKNOWN:
            continue
        seen.add(id(each))
        if isinstance(each, Column) and each.name in facts.undeclared:
            yield facts.undeclared[each.name], likely
        if isinstance(each, Element) or (isinstance(each, TextMap) and each.method == "get"):
            likely = kinds.LIST
        elif isinstance(each, Mapped):
            likely = _kind_of_all(each.keys)
        waiting += [(child, likely) for child in each.children()]


def undeclared_column(expression: Expression, facts: Facts) -> Any:
    """A column to declare, so that the kind of an expression is known; None if there is none."""
    return next((name for name, _ in _undeclared(expression, facts)), None)


def refusal(found: Iterable[Assumption], protects: str) -> str:
    """Why a question isn't charged, by all that it takes for granted; "" if it may be."""
    refused = [each for each in found if each.is_refused]
    told = next((each.reason for each in refused if each.reason), "")
    if told or not refused:
        return told
    declared = {each.column: each.kind for each in reversed(refused)}
    names = ", ".join(repr(name) for name in declared)
    line = ", ".join(f"{name!r}: {kind!r}" for name, kind in declared.items())
    texts = "" if kinds.TEXT in declared.values() else ", 'text' if they are texts"
    return (
        f"nobody declared what {names} {'holds' if len(declared) == 1 else 'hold'}, and of another "
        f"kind the answer would be about nothing. Declare what the cells are{texts}: "
        f"{protects}(df, …, kinds={{{line}}})."
    )


def note(each: Assumption, protects: str) -> str:
    """What is said of a column that is taken to be of a kind."""
    return (
        f"{each.column!r} is taken to hold values of kind {each.kind}, because nobody declared its "
        "kind: cells of other kinds match nothing, or count as missing. To declare it: "
        f"{protects}(df, …, kinds={{{each.column!r}: {each.kind!r}}}). Questions about a declared "
        "column are new ones."
    )
