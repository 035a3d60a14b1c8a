"""What is asked, as a `Question`: its verb, its columns, and all else that it depends on.

Texts are made when a question is shown or charged, so that asking costs little.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..ledger import canonical
from ..ledger.questions import LONGEST, Operand, digest
from ..ledger.questions import Question as Question
from ..ledger.statement import part
from ..ledger.verbs import VERBS, Verb, compound, know, quantile, quantiles
from ..rows.expressions import Column, Expression, InTable, Lookup
from ..rows.facts.keys import Keys
from ..statistics import Statistic, every
from ..statistics.base import REGISTRY
from .context import here

if TYPE_CHECKING:
    from .private import Table

#: So many labels are named; of more, the first ones, their number, and a digest of all.
MOST_LABELS = 20


class Later:
    """A text that is made when it is needed."""

    def __init__(self, make: Callable[..., str], *of: Any) -> None:
        self._make, self._of = make, of

    def __str__(self) -> str:
        return self._make(*self._of)


def verb_of(said: str | Verb) -> Verb:
    """A verb by its name. One that has no words is a title as it is."""
    return (
        said if isinstance(said, Verb) else VERBS.get(said) or _verb_of_method(said) or Verb(said)
    )


@lru_cache(maxsize=1024)
def _verb_of_method(name: str) -> Verb | None:
    """A verb with the words that a statistic says, of those that are loaded or else of all."""
    return _verb_in(REGISTRY, name) or _verb_in(every(), name)


def _verb_in(statistics: Sequence[type[Statistic]], name: str) -> Verb | None:
    methods = (method for statistic in statistics for method in statistic.methods)
    return next((Verb(name, *each.words) for each in methods if each.name == name), None)


know(_verb_of_method)


def told(said: str, *options: tuple[str, Any]) -> Question:
    """A question that is a sentence, with what it depends on."""
    return Question(Verb(said), options=options)


def operand(name: Any, expression: Expression, bounds: Any = "") -> Operand:
    """A column as a question names it."""
    is_column = isinstance(expression, Column)
    if isinstance(expression, Column) and expression.name is name:
        return Operand(expression, bounds=bounds)
    said = "" if name is None else Column(name)
    return Operand(said, expression, bounds, not is_column)


def operands(columns: Mapping[Any, Expression], bounds: Sequence[Any] = ()) -> tuple[Operand, ...]:
    """Columns by name, with the bounds of each or none."""
    within = bounds or [""] * len(columns)
    return tuple(operand(*each, ends) for each, ends in zip(columns.items(), within, strict=True))


def quantile_verb(shares: Sequence[str]) -> Verb:
    """The verb of quantiles."""
    if len(shares) == 1:
        return quantile(shares[0])
    return quantiles(f"quantile {', '.join(shares)}")


#: The verbs of the two releases that `describe` is made of.
DESCRIBED = compound([VERBS["count"], VERBS["mean"], VERBS["std"]])
USUAL = compound([VERBS["min"], VERBS["quartiles"], VERBS["max"]])


def described(
    what: Question, table: Table, where: Expression | None, statistic: Statistic
) -> Question:
    """A question with its rows, and with all that it depends on beside its columns."""
    more: list[tuple[str, Any]] = []
    if statistic.cells.keys is not None:
        more.append(("keys", Later(labels, statistic.cells.keys, statistic.cells.missing_cell)))
    if (ddof := getattr(statistic, "ddof", 1)) != 1:
        more.append(("ddof", ddof))
    read = statistic.expressions() if where is None else (where, *statistic.expressions())
    if not all(isinstance(each, Column) for each in read):
        if words := here().told:
            more.append(("columns made by", Later(_told, words, read)))
            what = replace(what, columns=_named(what.columns), keys=_named(what.keys))
        more.append(("public tables", Later(_tables, read)))
    if table.branches != 1:
        more.append(("rows", f"{table.branches} of each row"))
    if table.path:
        more.append(("part", Later(part, table.path)))
    if table.source.told:
        more.append(("of", table.source.told))
    if where is None and not more:
        return what
    rows = "" if where is None else where
    return replace(what, where=rows, options=(*what.options, *more))


def labels(keys: Keys, has_missing: bool = False) -> str:
    """Labels in declared order, those of several columns as a product if they are one."""
    columns = [tuple(dict.fromkeys(keys.column(place))) for place in range(keys.width)]
    is_product = keys.width > 1 and math.prod(map(len, columns)) == len(keys)
    if is_product and tuple(itertools.product(*columns)) == keys.labels:
        return " × ".join(map(_listed, columns))
    return _listed(keys.labels) + ", or missing" * has_missing


def _listed(given: Sequence[Any]) -> str:
    """Labels in a row; of many the first ones, their number, and a digest of all."""
    first = ", ".join(map(_label, given[:MOST_LABELS]))
    if len(given) <= MOST_LABELS:
        return first
    return f"{first}, … ({len(given):,} in all, {digest_of(tuple(given))})"


def _label(value: object) -> str:
    """A label, so that a text isn't taken for a number."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_label, value))})"
    return repr(value) if isinstance(value, str) else str(value)


def digest_of(*facts: Any) -> str:
    """A few letters that tell public facts apart."""
    try:
        return canonical.key(*facts)[:10]
    except canonical.NoCanonicalText:
        return digest(repr(facts))


def _named(operands: Sequence[Operand]) -> tuple[Operand, ...]:
    """What a program asks of, by names: its expressions say little to anybody."""
    return tuple(map(_short, operands))


def _short(operand: Operand) -> Operand:
    name, bounds = str(operand.name), operand.bounds
    if name and (operand.made or len(name) <= LONGEST):
        return Operand(name, bounds=bounds)
    said = name or str(operand.made)
    said = said if len(said) <= LONGEST else "a column of its own"
    return Operand(said if name else "", "" if name else said, bounds, True)


def _told(words: str, read: Sequence[Expression]) -> str:
    """How columns are made, in words, and a digest that tells expressions apart."""
    return f"{words} ({digest_of(*read)})"


def _tables(read: Sequence[Expression]) -> str:
    """The public tables in which values are looked up, by digests of what they hold."""
    each = (part for part in _parts(read) if isinstance(part, InTable | Lookup))
    return ", ".join(dict.fromkeys(found.table[:10] for found in each))


def _parts(given: Sequence[Expression]) -> Iterable[Expression]:
    """Expressions and all that they are made of, each once: parts are shared."""
    waiting, seen = list(given), set[int]()
    while waiting:
        expression = waiting.pop()
        if id(expression) not in seen:
            seen.add(id(expression))
            waiting += expression.children()
            yield expression
