"""Tables made from private ones: one row for each unit, or several tables of one source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Generic, NoReturn, TypeVar

from ..columns import refusals
from ..engines.base import AGGREGATES
from ..engines.per_unit import CHOSEN
from ..errors import LineageError, QueryError, hide_internals, is_one_of, quoted
from ..ledger import canonical
from ..release.private import Private, Table
from ..release.session import made_tables
from ..rows import expressions, query_string
from ..rows.accumulators import MOST_BRANCHES
from ..rows.expressions import Column, Expression
from ..rows.facts import kinds
from ..rows.facts.declared import DeclaredFacts
from ..rows.facts.units import Unit
from .verbs.transformations import Transformations

V = TypeVar("V", bound=Transformations)

#: Aggregates that take values of some kinds only. The others take any.
_AGGREGATED: dict[str, frozenset[kinds.Kind]] = {
    **dict.fromkeys(("sum", "mean", "median"), kinds.NUMBERS),
    **dict.fromkeys(("any", "all"), kinds.TRUTHS),
    "nunique": kinds.LABELS,
}


def _kind_of(facts: expressions.Facts, expression: Expression | None, how: str) -> kinds.Kind:
    """The kind of what an aggregate gives: that of the values, a truth or a number."""
    if how in ("any", "all"):
        return kinds.TRUTH
    is_one = expression is not None and how in CHOSEN
    return expression.kind(facts.schema) if expression and is_one else kinds.NUMBER


def _domain_of(table: Table, asked: Mapping[Any, tuple[Expression | None, str]]) -> dict[Any, Any]:
    """The declared domains of aggregates that choose one of the values."""
    chosen = {n: table.declared(e) for n, (e, how) in asked.items() if e and how in CHOSEN}
    return {name: declared for name, declared in chosen.items() if declared is not None}


class PerUnit(Private, Generic[V]):
    """Private rows that are to become one row for each unit.

    *Stability*: 1. A unit's row is made from all its rows (max_rows doesn't limit them) and from no
    others, so adding a unit adds one row, and bounds clip what it may hold. This is often far more
    accurate than sums over rows that max_rows limits.
    """

    def __init__(self, frame: V) -> None:
        self._frame = frame

    @hide_internals
    def __repr__(self) -> str:
        return f"<one row for each {self._frame._table.source.unit.column!r} of {self._frame!r}>"

    @hide_internals
    def agg(self, *unnamed: Any, **columns: Any) -> V:
        """A private frame with one row for each unit: each column a (column, how) pair, or "size".

        how : sum, mean, median (of numbers), min, max (of numbers, strings, times or durations),
            first, count, nunique, any, all, or size. Missing values are left out, as in pandas.
            The order of rows never matters: "first" is the value of the row with the smallest
            keyed hash. min, max and first keep the kind and the declared domain of the column; in
            a mix of kinds, numbers come before strings, and strings before times.

        >>> import pandas as pd, dppandas as dp
        >>> visits = pd.DataFrame({"person": [1, 1, 2], "amount": [5.0, 7.0, 9.0]})
        >>> people = dp.private(visits, unit="person", max_rows=1).per_unit()
        >>> spend = people.agg(spend=("amount", "sum"))
        >>> spend["spend"].mean(bounds=(0, 50))
        <unreleased mean of spend in (0, 50), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…)>
        """
        frame = self._frame
        table = frame._table
        unit, facts = table.source.unit.column, table.source.facts
        if unnamed or not columns:
            raise QueryError('agg needs names for its columns, as in agg(spend=("amount", "sum")).')
        asked: dict[Any, tuple[Expression | None, str]] = {}
        for name, given in columns.items():
            frame._not_the_unit(name)
            pair = (None, "size") if is_one_of(given, ("size",)) else given
            if not (isinstance(pair, tuple) and len(pair) == 2 and is_one_of(pair[1], AGGREGATES)):
                raise QueryError(
                    f"{name}={quoted(given)} must be a pair such as ('amount', 'sum'), with one of "
                    f"{', '.join(AGGREGATES)}."
                )
            column, how = pair[0], str(pair[1])
            expression = None if column is None else query_string.lookup(column, frame._columns)
            if expression is not None:
                wanted = _AGGREGATED.get(how, kinds.ANY)
                expressions.check(expression, facts)
                expressions.need(expression, wanted, facts, f"{name}, the {how}")
            asked[name] = expression, how
        made = _name_of(table.source.made, frame._where, table.branches, asked)
        schema = {unit: facts.schema.get(unit, kinds.UNKNOWN)}
        schema |= {name: _kind_of(facts, *each) for name, each in asked.items()}
        source = replace(
            table.source, unit=Unit(unit, 1), domain=_domain_of(table, asked), made=made,
            schema=schema,
        )  # fmt: skip
        engine = table.engine.per_unit(frame._where, table.branches, asked)
        if source.verified and made is not None:
            made_tables[source.id, made] = engine
        # All rows of a unit are read, even those that max_rows drops. Some may lie in each branch
        # of a partition, so what is asked of the table is charged to the whole.
        new_root = replace(
            table, source=source, engine=engine, data=engine, branches=1, grown=(), path=(),
            facts=DeclaredFacts(),
        )  # fmt: skip
        return type(frame)(new_root, {name: Column(name) for name in (unit, *asked)})

    @hide_internals
    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise refusals.refuse("rows for each unit", name, "agg(spend=('amount', 'sum'))")


def _name_of(*steps: Any) -> str | None:
    """A name for how a table was made, so that answers of another table are never reused for it."""
    try:
        return None if steps[0] is None else canonical.key(*steps)
    except canonical.NoCanonicalText:
        return None


@hide_internals
def concat(frames: Sequence[V]) -> V:
    """The rows of several private frames of *one* source, one below the other.

    Columns that a frame lacks are missing in its rows. *Stability*: the sum of the frames'
    stabilities, because a row of the source may be in each, and the noise grows with it. Frames of
    two sources are refused, because people in both would not be protected.

    >>> import pandas as pd, dppandas as dp
    >>> p = dp.protect(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), name="concat")
    >>> long = dp.concat([p[["a"]].rename(columns={"a": "x"}), p[["b"]].rename(columns={"b": "x"})])
    >>> long["x"].value_counts(keys=[1, 2, 3, 4], epsilon=1).index.size
    4
    """
    given = list(frames) if isinstance(frames, Sequence) else []
    if not given or not all(isinstance(frame, Transformations) for frame in given):
        raise QueryError("dp.concat takes a list of private frames. Write dp.concat([a, b]).")
    tables = [frame._table for frame in given]
    first = tables[0]
    if any(t.engine is not first.engine or t.source.id != first.source.id for t in tables):
        raise LineageError(
            "these private frames come from different sources or tables, and people in both would "
            "not be protected. Concatenate the plain tables, and protect the result: "
            "dp.protect(pd.concat([a, b]), …)."
        )
    parts = [branch for frame in given for branch in frame._branches()]
    if len(parts) > MOST_BRANCHES:
        raise QueryError(
            f"concat makes {len(parts)} branches of each row, and at most {MOST_BRANCHES} are "
            "possible. Concatenate fewer frames."
        )
    facts = {column: fact for table in tables for column, fact in table.source.domain.items()}
    paths = [table.path for table in tables]
    shared = takewhile(lambda parts: len(set(parts)) == 1, zip(*paths, strict=False))
    whole = given[0]._with(given[0]._columns, given[0]._where, first.knowing(facts))
    return whole._branched(
        parts, tuple(table.grown for table in tables), tuple(part for part, *_ in shared)
    )
