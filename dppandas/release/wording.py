"""What is asked, as a `Question`: its verb, its columns, and all else that it depends on.

Texts are made when a question is shown or charged, so that asking costs little.
"""

from __future__ import annotations

import itertools
import keyword
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..ledger import canonical
from ..ledger.questions import LONGEST as LONGEST
from ..ledger.questions import OF_ROWS, Operand, digest
from ..ledger.questions import Question as Question
from ..ledger.verbs import VERBS, compound, know, quantile, quantiles
from ..ledger.verbs import Verb as Verb
from ..rows.expressions import (
    EVERY,
    And,
    Arithmetic,
    Column,
    Compare,
    Every,
    Expression,
    InTable,
    IsIn,
    IsMissing,
    Literal,
    Lookup,
    Not,
    Or,
)
from ..rows.facts.keys import Keys, some_names
from ..statistics import Statistic, every
from ..statistics.base import REGISTRY
from .context import here

if TYPE_CHECKING:
    from ..privacy.accounting.composition import Path
    from .private import Table

#: So many labels are named; of more, the first ones, their number, and a digest of all.
MOST_LABELS = 20
#: So many columns are named of those that an expression of a program reads.
MOST_READ = 4


#: Expressions whose text says all that their parts don't. The text of any other may leave something
#: out, or be that of another expression, so a digest stands beside it.
_TELLING = frozenset([
    And, Arithmetic, Column, Compare, Every, IsIn, IsMissing, Literal, Not, Or,
])  # fmt: skip
#: Values whose text is that of no other value.
_PLAIN = frozenset([str, bool, int, float, np.float64, type(None)])


class Later:
    """A text that is made when it is needed, and once."""

    def __init__(self, make: Callable[..., str], *of: Any) -> None:
        self._make, self._of = make, of

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return self._make(*self._of)


def verb_of(said: str | Verb) -> Verb:
    """A verb by its name. One that has no words is a title as it is."""
    if isinstance(said, Verb):
        return said
    return VERBS.get(said) or _verb_of_method(said) or Verb(said)


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


#: The verb of the quantiles that `describe` shows.
USUAL = compound([VERBS["min"], VERBS["quartiles"], VERBS["max"]])


def described(
    what: Question, table: Table, where: Expression | None, statistic: Statistic
) -> Question:
    """A question with its rows, and with all that it depends on beside its columns."""
    more: list[tuple[str, Any]] = []
    if statistic.cells.keys is not None and all(name != "keys" for name, _ in what.options):
        more.append(("keys", Later(labels, statistic.cells.keys, statistic.cells.missing_cell)))
    if (ddof := getattr(statistic, "ddof", 1)) != 1:
        more.append(("ddof", ddof))
    kept = () if where is None else (where,)
    read = statistic.expressions()
    says_all = all(isinstance(each, Column) for each in read) and all(
        map(_says_all, (*kept, *read))
    )
    if not says_all and not (where is None and read == (EVERY,)):  # a count of all rows says all
        if words := here().told:
            more.append(("columns made by", Later(_told, words, (*kept, *read))))
            what = replace(what, columns=_named(what.columns), keys=_named(what.keys))
        else:
            more += ("digest", Later(unsaid, read)), (OF_ROWS, Later(unsaid, kept))
        more.append(("public tables", Later(_tables, (*kept, *read))))
    if statistic.cells.limited:
        more.append(("limit", statistic.cells.limited))
    if table.branches != 1:
        more.append(("each row becomes", f"{table.branches} rows"))
    if table.path:
        more.append(("part", Later(_part, table.path)))
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
    missing = ", or missing" * has_missing
    if is_product and tuple(itertools.product(*columns)) == keys.labels:
        return " × ".join(map(_listed, columns)) + missing
    return _listed(keys.labels) + missing


def _listed(given: Sequence[Any]) -> str:
    """Labels in a row; of many the first ones, their number, and a digest of all. The texts of
    some kinds of labels are those of others, so these have a digest, too."""
    first = ", ".join(map(_label, given[:MOST_LABELS]))
    if len(given) > MOST_LABELS:
        return f"{first}, … ({len(given):,} in all, {digest_of(tuple(given))})"
    return first if all(map(_is_plain, given)) else f"{first} ({digest_of(tuple(given))})"


def _label(value: object) -> str:
    """A label, so that a text isn't taken for a number."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_label, value))})"
    return repr(value) if isinstance(value, str) else str(value)


def _is_plain(value: Any) -> bool:
    """Whether no other value has its text."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    if isinstance(value, pd.Interval):
        return _is_plain(value.left) and _is_plain(value.right)
    return type(value) in _PLAIN or (type(value) is pd.Timestamp and value.tz is None)


def _says_all(expression: Expression) -> bool:
    """Whether no other expression with the same parts has its text."""
    if type(expression) not in _TELLING:
        return False
    if isinstance(expression, Column):
        name = expression.name
        return type(name) is str and "`" not in name and not keyword.iskeyword(name)
    if isinstance(expression, Literal | IsIn):
        values = expression.labels if isinstance(expression, IsIn) else (expression.value,)
        return all(type(value) in _PLAIN and value == value for value in values)
    return True


def unsaid(read: Iterable[Expression], *facts: Any) -> str:
    """A digest of expressions, and of more facts; "" if the texts of the expressions say all."""
    given = tuple(read)
    return "" if all(map(_says_all, _parts(given))) else digest_of(*given, *facts)


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
    if len(said) > LONGEST:
        read = sorted({str(Column(column)) for each in operand[:2] for column in _columns(each)})
        said = f"a column made of {some_names(read, MOST_READ)}" if read else "a column of its own"
    return Operand(said if name else "", "" if name else said, bounds, True)


def _columns(said: Any) -> frozenset[Any]:
    """What an operand's part reads. A key without a name is a column called as its expression."""
    if isinstance(said, Column) and isinstance(said.name, Expression):
        return said.name.columns()
    return said.columns() if isinstance(said, Expression) else frozenset()


def _told(words: str, read: Sequence[Expression]) -> str:
    """How columns are made, in words, and a digest that tells expressions apart."""
    return f"{words} ({digest_of(*read)})"


def _part(path: Path) -> str:
    from ..ledger.statement import part

    return part(path)


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
