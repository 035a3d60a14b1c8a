"""What a question takes for granted of columns whose kind nobody declared.

It decides whether the question may be charged, from public facts alone. What was answered before
replays, so nothing is refused when a question is made: see `checks` for that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ...errors import quoted
from ..facts import kinds
from ..facts.keys import Keys
from ..facts.kinds import Kind
from ..facts.misspelt import misspelt
from ..values import times, whole_numbers
from .base import Column, Expression, Literal
from .checks import PREPARED, Facts, way_to
from .conditionals import Mapped
from .logic import And, Compare, Not, Opposite, Or
from .table_lookups import Element
from .text import TextMap


class Assumption(NamedTuple):
    """What a question takes a column to hold, if nobody declared its kind; or why it is refused."""

    column: Any  # as its source names it; None if a declaration wouldn't help
    kind: Kind
    is_refused: bool
    reason: str = ""


#: Types whose values are all of one kind.
_OF_ONE_KIND = {bool, int, float, str}


def assumptions(
    where: Expression | None,
    expressions: Iterable[Expression],
    needed: Iterable[tuple[Expression, Collection[Kind]]],
    facts: Facts,
    counted: Sequence[tuple[Expression, Sequence[Any]]] = (),
) -> tuple[Assumption, ...]:
    """What a question takes for granted, from public facts alone.

    A column that nobody declared may be text: that is said. It isn't taken to hold numbers or times
    to compute with: of a column of text the answer would be about nothing.

    counted : by which values rows are counted, with the labels of the cells.
    """
    found = _Assumptions(facts)
    if not facts.are_sure:
        if where is not None:
            found.walk(where, truth=True)
        for expression in expressions:
            found.walk(expression)
        for operand, wanted in needed:
            found.need(operand, wanted)
    for by, labels in counted:
        found.count(by, labels)
    if any(isinstance(declared, Keys) for declared in facts.domain.values()):
        found.refuse_misspelt([*counted, *_compared([*filter(None, [where]), *expressions])])
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
        if kind in PREPARED and kind not in wanted:
            self._refuse(f"{operand} is of kind {kind}, which can't be used here.", kind)
        if kind != kinds.UNKNOWN or kinds.UNKNOWN in wanted:
            return
        for name, likely in _undeclared(operand, self.facts):
            if kinds.TEXT not in wanted:
                target = next((each for each in kinds.KINDS if each in wanted), kinds.UNKNOWN)
                if kinds.TRUTH in wanted and self._has_truths(operand):
                    target = kinds.TRUTH
                self._assume(name, likely or target, is_refused=True)
            elif set(wanted) <= {kinds.TEXT, kinds.LIST}:
                self._texts.add(name)
                self._assume(name, kinds.TEXT)

    def _has_truths(self, operand: Expression) -> bool:
        """Whether its declared keys are True and False."""
        keys = operand.declared(self.facts.domain) if isinstance(operand, Column) else None
        return isinstance(keys, Keys) and all(isinstance(label, bool) for label in keys.labels)

    def count(self, by: Expression, labels: Sequence[Any]) -> None:
        """Cells of rows: none of their labels may be one that no value can equal."""
        kind = by.kind(self.facts.schema)
        for label in _times_apart(labels) if kind in kinds.TIMES else _one_of_each_type(labels):
            if not kinds.can_hold(kind, label, unsure={kinds.UNKNOWN}):
                said = f"keys= of {by} has {quoted(label)}, but {by} is of kind {kind}: they are "
                self._refuse(f"{said}never equal. {way_to(by, kind, label)}", "")
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
                    f"or declare {line}, 'list' or 'unknown'.", "",
                )  # fmt: skip

    def refuse_misspelt(self, pairs: Iterable[tuple[Expression, Sequence[Any]]]) -> None:
        """A text that looks like a declared one, and isn't: it would be paid for, and match
        nothing."""
        for operand, values in pairs:
            known = operand.known_keys(self.facts.domain, self.facts.schema)
            if known is not None and (slip := misspelt(values, known.labels)):
                # Only the declared label is quoted: the other may have been read from a column.
                self._refuse(
                    f"a label that isn't among the declared keys of {operand} is asked for. Did "
                    f"you mean {quoted(slip[1])}? If both exist, declare both, or ask for both: "
                    "keys=[…], or .isin([…]).", "",
                )  # fmt: skip
                return

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
            kind = left if left in PREPARED else right
            self._refuse(f"{expression}: sides of kinds {left} and {right} are never equal.", kind)
        for side, other in ((expression.left, right), (expression.right, left)):
            self._assume_all(side, other)

    def _assume_all(self, operand: Expression, kind: Kind) -> None:
        for name, _ in _undeclared(operand, self.facts) if kind in kinds.KINDS[:-1] else ():
            self._assume(name, kind)

    def _assume(self, name: Any, kind: Kind, is_refused: bool = False) -> None:
        self.made[Assumption(name, kind, is_refused)] = None

    def _refuse(self, said: str, kind: Kind) -> None:
        more = f" {PREPARED[kind]}" if kind in PREPARED else ""
        self.made[Assumption(None, kind, True, f"{said}{more}")] = None


def _compared(expressions: Iterable[Expression]) -> Iterator[tuple[Expression, Sequence[Any]]]:
    """What expressions compare with texts."""
    seen: set[int] = set()
    waiting = list(expressions)
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        for operand, values in each.meets():
            if not isinstance(operand, Literal) and any(isinstance(v, str) for v in values):
                yield operand, values
        waiting += each.children()


def _one_of_each_type(values: Sequence[Any]) -> list[Any]:
    """Values enough to know the kinds of all."""
    if whole_numbers(values) is not None:
        return list(values[-1:])
    alike = dict(zip(map(type, values), values, strict=True))
    if alike.keys() <= _OF_ONE_KIND:
        return [*alike.values()]
    several = [value for value in values if type(value) not in _OF_ONE_KIND]
    return [*(alike[kind] for kind in alike if kind in _OF_ONE_KIND), *several]


def _kind_of_all(values: Sequence[Any]) -> Kind:
    """The kind of plain values; "" if they are of several."""
    meant = {kinds.of_value(value) for value in _one_of_each_type(values)} - {kinds.UNKNOWN}
    return meant.pop() if len(meant) == 1 else ""


def _times_apart(values: Sequence[Any]) -> Iterable[Any]:
    """One of each type, with a zone and without; and each text, which may or may not be a time."""
    if times(values) is not None:
        return values[-1:]
    return {
        value if isinstance(value, str) else (type(value), getattr(value, "tzinfo", None) is None):
        value for value in values
    }.values()  # fmt: skip


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
    others = [kinds.TRUTH] if kinds.NUMBER in declared.values() else []
    others += [] if kinds.TEXT in declared.values() else [kinds.TEXT]
    holds = "holds" if len(declared) == 1 else "hold"
    return (
        f"it isn't declared what {names} {holds}, and for other kinds the answer means nothing. "
        f"Declare what the cells are: {protects}(df, …, kinds={{{line}}})"
        f"{''.join(f', or {kind!r}' for kind in others)}."
    )


def note(each: Assumption, protects: str) -> str:
    """What is said of a column that is taken to be of a kind."""
    return (
        f"{each.column!r} is taken to hold values of kind {each.kind}, because its kind isn't "
        "declared: cells of other kinds match nothing, or count as missing. To declare it: "
        f"{protects}(df, …, kinds={{{each.column!r}: {each.kind!r}}}). Questions about a declared "
        "column are new ones."
    )
