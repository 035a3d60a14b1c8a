"""Tables made from private ones: one row for each unit, or several tables of one source."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, TypeVar

import pandas as pd

from ..columns import refusals
from ..columns.private_rows import keys_known, once
from ..engines.base import UnitTable
from ..errors import LineageError, QueryError, hide_internals, is_one_of, quoted
from ..ledger import canonical
from ..release.private import Table
from ..release.session import made_tables
from ..release.wording import unsaid
from ..rows import expressions, query_string
from ..rows.accumulators import MOST_BRANCHES
from ..rows.expressions import AGGREGATES, Column, Expression, Gives, OwnRows
from ..rows.facts import kinds
from ..rows.facts.declared import DeclaredFacts
from ..rows.facts.domain import Declaration
from ..rows.facts.keys import Keys, did_you_mean
from ..rows.facts.steps import Steps
from ..rows.facts.units import MOST_ROWS, Unit
from ..rows.sentences import html_above
from .histories import UnitRows, own_rows, way_of
from .verbs.transformations import Transformations

V = TypeVar("V", bound=Transformations)


def _kind_of(facts: expressions.Facts, expression: Expression | None, how: str) -> kinds.Kind:
    """The kind of what an aggregate gives: that of the values, a truth or a number."""
    aggregate = AGGREGATES[how]
    if aggregate.gives is Gives.TRUTH:
        return kinds.TRUTH
    is_one = expression is not None and aggregate.chooses
    return expression.kind(facts.schema) if expression and is_one else kinds.NUMBER


def _keeps_order(expression: Expression | None, how: str) -> bool:
    return expression is not None and expression.has_order and AGGREGATES[how].chooses


#: By new column: what is aggregated (None for rows), and how.
Asked = dict[Any, tuple[Expression | None, str]]


def _unknown(
    table: Table, where: Expression | None, asked: Asked
) -> tuple[dict[Any, Any], tuple[expressions.Assumption, ...]]:
    """The new columns whose kind nobody knows, with the columns to declare, and what is assumed of
    these: it is refused when something is asked of the new table."""
    facts, unit = table.source.facts, table.source.unit.column
    each = [(e, how) for e, how in asked.values() if e is not None]
    needed = [(e, AGGREGATES[how].takes) for e, how in each]
    assumed = expressions.assumptions(where, [e for e, _ in each], needed, facts)
    chosen: dict[Any, Expression] = {
        name: e for name, (e, how) in asked.items() if e is not None and AGGREGATES[how].chooses
    }
    chosen[unit] = Column(unit)
    found = {name: expressions.undeclared_column(e, facts) for name, e in chosen.items()}
    undeclared = {name: of for name, of in found.items() if of is not None}
    return undeclared, (*table.source.assumed, *assumed)


def _domain_of(table: Table, asked: Asked) -> dict[Any, Any]:
    """What is declared of the values holds for one of them, and for what lies between them."""
    found = {n: _declared(table, e, how) for n, (e, how) in asked.items() if e is not None}
    return {name: declared for name, declared in found.items() if declared is not None}


def _steps_of(table: Table, asked: Asked) -> Steps:
    """A step of the values holds for one of them."""
    chosen = {n: e for n, (e, how) in asked.items() if e is not None and AGGREGATES[how].chooses}
    return {n: step for n, e in chosen.items() if (step := table.step(e)) is not None}


def _declared(table: Table, expression: Expression, how: str) -> Declaration | None:
    aggregate = AGGREGATES[how]
    if aggregate.chooses:
        known = table.declared(expression)
        return keys_known(table, expression) if known is None else known
    if aggregate.gives is Gives.TRUTH:
        return Keys((False, True))
    is_between = aggregate.gives is Gives.BETWEEN
    return expression.bounds(table.source.domain) if is_between else None


class PerUnit(UnitRows[V]):
    """Private rows of each unit, or of each unit and key, which are to become one row; or whose
    rows are to learn of each other.

    *Stability*: 1. A unit's row is made from all its rows (max_rows doesn't limit them) and from no
    others, so adding a unit adds one row, and bounds clip what it may hold. This is often far more
    accurate than sums over rows that max_rows limits. With ``by=`` a unit has one row for each key,
    at most max_rows of which are kept, by a keyed hash: the stability is max_rows.
    """

    def __init__(
        self,
        frame: V,
        selected: Any = None,
        by: tuple[tuple[Any, Expression], ...] = (),
        as_index: bool = True,
    ) -> None:
        self._frame = frame
        self._selected = selected
        self._by = by
        self._as_index = as_index

    def _shown(self, as_index: bool) -> PerUnit[V]:
        """The same, of which one column is a private column, or else a frame with the labels."""
        return PerUnit(self._frame, self._selected, self._by, as_index)

    @hide_internals
    def __repr__(self) -> str:
        names = " and ".join(map(repr, self._labels()))
        return f"<one row for each {names} of {self._frame!r}>"

    def _repr_html_(self) -> str:
        names = " and ".join(map(repr, self._labels()))
        return html_above(f"one row for each {names} of", self._frame)

    @hide_internals
    def __getitem__(self, key: Any) -> PerUnit[V]:
        """Some columns, to be aggregated in one way: ``per_unit()["amount"].sum()``."""
        for name in key if isinstance(key, list) else [key]:
            query_string.lookup(name, self._frame._columns)
        return PerUnit(self._frame, key, self._by, self._as_index)

    @typing.overload
    def agg(self, func: str | Callable[..., Any], /) -> Any: ...
    @typing.overload
    def agg(
        self, func: Mapping[Any, Any] | Sequence[Any] | None = None, /, **columns: Any
    ) -> V: ...
    @hide_internals
    def agg(self, func: Any = None, /, **columns: Any) -> Any:
        """A private frame with one row for each unit: each column a (column, how) pair, or "size".

        func : instead of names, a dict of column to how; or one way for the selected columns, as in
            ``per_unit()["amount"].agg("sum")``, which for one column gives a private column. Of one
            selected column also several ways: ``["sum", "max"]``, or names with a way for each.
        how : sum, mean, median (of numbers), min, max (of numbers, strings, times or durations),
            first, last, count, nunique, any, all, or size. Missing values are left out, as in
            pandas. "first" and "last" are in the order of ``sort_values(…)`` of the frame; without
            it "first" is the value of the row with the smallest keyed hash. min, max and first keep
            the kind and the declared domain of the column, mean and median its bounds; in a mix of
            kinds, numbers come before strings, and strings before times.

        >>> import pandas as pd, dppandas as dp
        >>> visits = pd.DataFrame({"person": [1, 1, 2], "amount": [5.0, 7.0, 9.0]})
        >>> people = dp.private(visits, unit="person", max_rows=1).per_unit()
        >>> spend = people.agg(spend=("amount", "sum"))
        >>> spend["spend"].mean(bounds=(0, 50))
        <unreleased mean of spend in 0 to 50, from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…)>
        >>> people["amount"].sum()
        <private column amount of unnamed (asserted)>
        """
        if not columns and (isinstance(func, str) or callable(func)):
            return self._each(_way(func))
        one = self._selected
        if one is not None and not isinstance(one, list) and not isinstance(func, Mapping):
            named = columns if func is None else _named_ways(func)
            given = {name: how if _is_pair(how) else (one, how) for name, how in named.items()}
        elif isinstance(func, Mapping) and not columns:
            given = {name: (name, how) for name, how in func.items()}
        elif func is None:
            given = dict(columns)
        else:
            given = {}
        if not given:
            raise QueryError('agg needs names for its columns, as in agg(spend=("amount", "sum")).')
        return self._table_of(self._asked(given))

    aggregate = agg

    def _each(self, how: str) -> Any:
        """The selected columns, or all but the unit, aggregated in one way."""
        is_one = self._selected is not None and not isinstance(self._selected, list)
        names = self._names()
        if how == "size":
            made = self._table_of(self._asked({"size": "size"}))
            named = made["size"].rename(self._selected if is_one else None)
            return named if self._as_index else made
        made = self._table_of(self._asked({name: (name, how) for name in names}))
        return made[self._selected if is_one else names] if self._as_index else made

    def _asked(self, given: Mapping[Any, Any]) -> Asked:
        """What each new column aggregates, and how, if it can."""
        frame, asked = self._frame, Asked()
        facts = frame._table.source.facts
        for name, said in given.items():
            frame._not_the_unit(name)
            if name in self._labels():
                raise QueryError(f"{quoted(name)} is a label of the groups. Use another name.")
            column, how = _pair(name, said)
            if AGGREGATES[how].is_ordered:
                self._own_rows(how)
            expression = None if column is None else query_string.lookup(column, frame._columns)
            if expression is not None:
                wanted = AGGREGATES[how].takes
                expressions.check(expression, facts)
                expressions.need(expression, wanted, facts, f"{name}, the {how}")
                if how in ("min", "max") and expression.has_order:
                    raise QueryError(
                        f"{name}, the {how} of {column}: its categories have an order that isn't "
                        "that of their texts. Map them to numbers first: .map({'low': 0, …})."
                    )
            asked[name] = expression, how
        return asked

    def _totals(
        self, summed: Mapping[Any, Expression], place: Expression | None = None
    ) -> tuple[V, list[Column]]:
        """A frame with the sums of some expressions for each unit, or for each unit and number that
        its rows have; and its columns of sums, after that of the numbers.

        All rows of a unit are there, however many: only what limits a unit by itself may ask it.
        """
        facts, names = self._frame._table.source.facts, _distinct_names(self._labels(), summed)
        for (name, expression), own in zip(summed.items(), names, strict=True):
            expressions.check(expression, facts)
            said = f"{own if name is None else name}, the sum"
            expressions.need(expression, AGGREGATES["sum"].takes, facts, said)
        asked: Asked = {n: (e, "sum") for n, e in zip(names, summed.values(), strict=True)}
        if place is None:
            return self._table_of(asked), list(map(Column, names))
        expressions.check(place, facts)
        (cell,) = _distinct_names([*self._labels(), *names], ["cell"])
        made = PerUnit(self._frame, by=((cell, place),))._table_of(asked, MOST_ROWS)
        return made, list(map(Column, [cell, *names]))

    def _table_of(self, asked: Asked, max_rows: int | None = None) -> V:
        """A frame of the aggregated rows, at most max_rows of a unit where they have labels; by
        default so many as the source has."""
        frame, table = self._frame, self._frame._table
        facts = table.source.facts
        by, ordered = dict(self._by), any(how in ("first", "last") for _, how in asked.values())
        rows = own_rows(frame, tuple(by.values()), table.order if ordered else ())
        orders: Any = rows.order and (rows.order, rows.falling)
        # what the labels are called decides which rows are kept, by a hash
        labels: Any = rows.by and (tuple(by), rows.by)
        more = [each for each in (labels, orders, max_rows and ("max_rows", max_rows)) if each]
        made = _name_of(table.source.made, frame._where, table.branches, asked, *more)
        # labels are chosen from the rows, as "first" is
        all_asked: Asked = {name: (each, "first") for name, each in by.items()} | asked
        undeclared, assumed = _unknown(table, frame._where, all_asked)
        most = table.source.unit.max_rows if max_rows is None else max_rows
        unit = Unit(rows.unit, most if by else 1)
        schema = {unit.column: facts.schema.get(unit.column, kinds.UNKNOWN)}
        schema |= {name: _kind_of(facts, *each) for name, each in all_asked.items()}
        source = replace(
            table.source, unit=unit, domain=_domain_of(table, all_asked), made=made,
            told=_told(frame, rows, asked), schema=schema, undeclared=undeclared, assumed=assumed,
            steps=_steps_of(table, all_asked),
        )  # fmt: skip
        summary = UnitTable(rows, tuple(by), asked, unit.max_rows)
        engine = table.engine.per_unit(summary)
        if source.verified and made is not None:
            made_tables[source.id, made] = engine
        # All rows of a unit are read, even those that max_rows drops. Some may lie in each branch
        # of a partition, so what is asked of the table is charged to the whole.
        new_root = replace(
            table, source=source, engine=engine, data=engine, times=None, branches=1, grown=(),
            path=(), facts=DeclaredFacts(), order=(), summary=(table.engine, summary),
        )  # fmt: skip
        columns = {n: Column(n, ordered=_keeps_order(*each)) for n, each in all_asked.items()}
        made_frame: V = type(frame)(new_root, {unit.column: Column(unit.column), **columns})
        return made_frame

    @hide_internals
    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *AGGREGATES]

    @hide_internals
    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in AGGREGATES:
            return self._method(name)
        if name in self._frame._columns:
            return self[name]
        answers = f"agg(spend=('amount', 'sum')), and {', '.join(AGGREGATES)}, also of columns"
        columns = self._frame._columns
        raise refusals.refuse(self, "rows for each unit", answers, name, columns, refusals.UNITS)

    def _method(self, how: str) -> Any:
        """A method without arguments, which aggregates in one way."""

        def method(*args: Any, **more: Any) -> Any:
            if args or more:
                raise QueryError(
                    f"{how} of each unit takes nothing, and releases nothing: it makes private "
                    f"rows, one for each unit. Ask these: frame.per_unit()['amount'].{how}()"
                    ".mean(bounds=(0, 50), epsilon=0.1), for example."
                )
            return self._each(how)

        method.__name__ = how  # errors name it
        return hide_internals(method)


def _distinct_names(taken: Sequence[Any], names: Iterable[Any]) -> list[Any]:
    """Names for columns, as they are where none is taken and each is one of its own."""
    found: list[Any] = []
    for place, name in enumerate(names):
        own = f"total {place}" if name is None else name
        while own in taken or own in found:
            own = f"{own}_"
        found.append(own)
    return found


def _is_pair(given: Any) -> bool:
    return isinstance(given, pd.NamedAgg | tuple)


def _named_ways(func: Any) -> dict[Any, Any]:
    """The ways that a list gives for one column, by the names of the new ones."""
    if not isinstance(func, list | tuple):
        return {}
    ways = [each[1] if isinstance(each, tuple) and len(each) == 2 else each for each in func]
    names = [each[0] if isinstance(each, tuple) and each else _way(each) for each in func]
    once(names)
    return {name: _way(way) for name, way in zip(names, ways, strict=True)}


def _way(how: Any) -> Any:
    """The name of a way: that of a function which means the same, such as np.mean."""
    known = way_of(how)
    if callable(how) and known is None:
        raise QueryError(
            f"agg({quoted(how)}): a function of your own could keep what it sees. Name what you "
            "aggregate, and compute with the columns of the result: in place of x.max() - x.min() "
            "ask both, as in .agg(first=('x', 'min'), last=('x', 'max'))."
        )
    return how if known is None else known


def _pair(name: Any, given: Any) -> tuple[Any, str]:
    """What a new column aggregates, and how."""
    if is_one_of(given, ("size",)):
        return None, "size"
    if isinstance(given, pd.NamedAgg):
        given = (given.column, given.aggfunc)
    if isinstance(given, tuple) and len(given) == 2 and not isinstance(given[1], list | tuple):
        column, how = given[0], _way(given[1])
        if is_one_of(how, AGGREGATES):
            return (None if how == "size" else column), str(how)
    how = given[-1] if isinstance(given, tuple) and given else given
    if isinstance(how, list | tuple):
        raise QueryError(
            f"{quoted(name)}: several ways need names of their own, as in "
            "agg(total=('amount', 'sum'), largest=('amount', 'max'))."
        )
    hint = did_you_mean(how, AGGREGATES) if isinstance(how, str) else ""
    raise QueryError(
        f"{quoted(name)}: {quoted(given)} must be a pair such as ('amount', 'sum'), with one of "
        f"{', '.join(AGGREGATES)}.{hint}"
    )


def _told(frame: Any, rows: OwnRows, asked: Asked) -> str:
    """How the rows of units were made, in words."""
    source = frame._table.source
    each = ", ".join(
        f"{Column(name)} = {how}{'' if expression is None else f' of {expression}'}"
        for name, (expression, how) in asked.items()
    )
    kept = "" if frame._where is None else f" of rows where {frame._where}"
    grown = f", each row as {frame._table.branches} rows" if frame._table.branches != 1 else ""
    before = f" of ({source.told})" if source.told else ""
    read = [*rows.expressions(), *(e for e, _ in asked.values() if e is not None)]
    digest = f" ({more})" if (more := unsaid([Column(source.unit.column), *read])) else ""
    labels = " and ".join(map(str, (Column(source.unit.column), *rows.by)))
    said = f" in order of {', '.join(map(str, rows.order))}" if rows.order else ""
    return f"one row for each {labels}: {each}{said}{kept}{grown}{digest}{before}"


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
    paths = [table.path for table in tables]
    shared = takewhile(lambda parts: len(set(parts)) == 1, zip(*paths, strict=False))
    whole = given[0]._with(given[0]._columns, given[0]._where, first.joining(tables))
    return whole._branched(
        parts, tuple(table.grown for table in tables), tuple(part for part, *_ in shared)
    )
