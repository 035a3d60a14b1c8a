"""What a row knows of the other rows of its unit: `transform`, `shift`, `cumcount` and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from ..columns.private_rows import PrivateTable, is_unit
from ..errors import MissingArgument, QueryError, hide_internals, is_one_of, quoted
from ..ledger import canonical
from ..privacy.sampling import entropy
from ..release.private import Private, Table
from ..release.query import same_value
from ..rows import expressions, query_string
from ..rows.expressions import (
    AGGREGATES,
    ROW_BY_ROW,
    And,
    Compare,
    Expression,
    History,
    IsMissing,
    Literal,
    Not,
    OwnRows,
    by_branch,
)
from ..rows.facts.keys import did_you_mean
from ..rows.facts.units import whole_number
from .grouping import labels_of, names_and_columns
from .series import PrivateSeries

V = TypeVar("V")

#: What rows are sorted by, and whether from the largest on.
Order = tuple[tuple[Expression, bool], ...]
#: The most rows that a row looks back or ahead, or of a group that are kept.
_MOST = 2**31
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
#: Functions that people hand over, and the aggregates that mean the same.
FUNCTIONS: tuple[tuple[Any, str], ...] = (
    (sum, "sum"), (np.sum, "sum"), (np.nansum, "sum"), (np.mean, "mean"), (np.nanmean, "mean"),
    (np.nanmedian, "median"), (min, "min"), (np.min, "min"), (np.nanmin, "min"), (max, "max"),
    (np.max, "max"), (np.nanmax, "max"), (len, "size"),
)  # fmt: skip


def order_of(frame: PrivateTable, by: Any, ascending: Any) -> Order:
    """The columns that rows are sorted by, and whether each falls."""
    items, _ = names_and_columns(frame, by)
    if not items:
        raise QueryError("by= is empty. Name the column that says in which order rows are.")
    flags = list(ascending) if isinstance(ascending, list | tuple) else [ascending] * len(items)
    if len(flags) != len(items) or not all(isinstance(flag, bool | np.bool_) for flag in flags):
        raise QueryError(
            f"ascending={quoted(ascending)} must be True or False, or a list with one for each of "
            f"{len(items)} columns."
        )
    found = []
    for (name, expression), flag in zip(labels_of(frame, items), flags, strict=True):
        if expression.has_order:
            raise QueryError(
                f"rows can't be sorted by {quoted(name)}: its categories have an order that isn't "
                "that of their texts. Map them to numbers first: .map({'low': 0, …})."
            )
        found.append((expression, not flag))
    return tuple(found)


def own_rows(frame: PrivateTable, by: Sequence[Expression] = (), order: Order = ()) -> OwnRows:
    """The rows of each unit of a frame, in groups and in an order."""
    table = frame._table
    sorted_by, falling = tuple(e for e, _ in order), tuple(falls for _, falls in order)
    rows = OwnRows(
        table.source.unit.column, tuple(by), sorted_by, falling, frame._where, table.branches
    )
    return replace(rows, name=_named(rows))


def _named(what: Any) -> str:
    """A name that equal values of one table share, and no others."""
    try:
        return canonical.key(what)
    except canonical.NoCanonicalText:
        return entropy.identifier()


def history(
    table: Table, rows: OwnRows, how: str, operand: Expression | None, **options: Any
) -> Expression:
    """A value of each row, in each of its branches."""
    found = History(rows, how, operand, tuple(options.items()))
    found = replace(found, name=_named(found))
    expressions.check(found, table.source.facts)
    return by_branch([found.in_branch(branch) for branch in range(rows.branches)])


class UnitRows(Private, Generic[V]):
    """The rows of each unit, or of each unit and key, and what each row knows of the others.

    What a row gets follows from *all* rows of its unit in the frame, even those that max_rows drops
    afterwards: which rows are kept is decided by a keyed hash of the whole row, never by what is
    asked, so that a unit's rows are the same in every question. Rows are in the order that
    ``sort_values(…)`` of the frame names; where that leaves two of them equal, a keyed hash of the
    whole row decides. *Stability*: that of the frame (docs/proofs/histories.md).
    """

    _frame: Any
    _selected: Any
    _by: tuple[tuple[Any, Expression], ...]

    # --- what is grouped --------------------------------------------------------------------------

    def _own_rows(self, verb: str, is_ordered: bool = True) -> OwnRows:
        order = self._frame._table.order
        if is_ordered and not order:
            raise MissingArgument(
                f"{verb} needs an order, because private rows have none. Name it before the "
                f"groups: frame.sort_values('when').groupby({self._groups()}), for example."
            )
        # what asks for no order has none, so that it is the same question in any
        by = [e for _, e in self._by]
        return own_rows(self._frame, by, order if is_ordered else ())

    def _labels(self) -> list[Any]:
        return [self._frame._table.source.unit.column, *(name for name, _ in self._by)]

    def _groups(self) -> str:
        names = self._labels()
        return quoted(names[0]) if len(names) == 1 else quoted(names)

    def _names(self) -> list[Any]:
        """The selected columns, or all that rows aren't grouped by."""
        if self._selected is not None:
            return self._selected if isinstance(self._selected, list) else [self._selected]
        labels = self._labels()
        return [name for name in self._frame._columns if name not in labels]

    def _made(
        self, verb: str, how: str, is_ordered: bool = True, options: Mapping[str, Any] = NO_OPTIONS
    ) -> Any:
        """A value of each row, of the selected columns: a private column of one, else a frame."""
        frame, rows = self._frame, self._own_rows(verb, is_ordered)
        made = {}
        for name in self._names():
            operand = query_string.lookup(name, frame._columns)
            takes = expressions.WAYS[how].takes
            expressions.need(operand, takes, frame._table.source.facts, f"{name}, the {how}")
            if operand.has_order and how in ("min", "max", "cummax", "cummin", "rank"):
                raise QueryError(
                    f"{verb} of {name}: its categories have an order that isn't that of their "
                    "texts. Map them to numbers first: .map({'low': 0, …})."
                )
            made[name] = history(frame._table, rows, how, operand, **options)
        return self._shaped(made)

    def _shaped(self, made: dict[Any, Expression]) -> Any:
        frame = self._frame
        if self._selected is None or isinstance(self._selected, list):
            return frame._with(made, frame._where, is_selection=True)
        ((name, expression),) = made.items()
        return PrivateSeries(frame._table, name, expression, frame._where)

    def _column(self, expression: Expression) -> Any:
        return PrivateSeries(self._frame._table, None, expression, self._frame._where)

    # --- one value of its group for each row ------------------------------------------------------

    @hide_internals
    def transform(self, func: Any, *args: Any, **more: Any) -> Any:
        """What an aggregate of its group is, for each row: ``transform("sum")``.

        func : sum, mean, median (of numbers), min, max, count, nunique, size, any, all; or first
            and last, which need an order; or the name of another method here, such as "shift" or
            "rank", with its arguments. Missing values are left out, as in pandas.

        Rows without a unit get a missing value. *Stability*: that of the frame.

        >>> import pandas as pd, dppandas as dp
        >>> visits = pd.DataFrame({"who": [1, 1, 2], "paid": [5.0, 7.0, 9.0]})
        >>> p = dp.private(visits, unit="who", max_rows=2)
        >>> p.groupby("who")["paid"].transform("sum")
        <private column sum(paid) by who of unnamed (asserted)>
        """
        if is_one_of(func, ROW_BY_ROW) or is_one_of(func, ("diff", "pct_change")):
            return getattr(self, str(func))(*args, **more)
        given, func = func, way_of(func)
        if args or more or func is None:
            raise _no_transform(given)
        if func == "size":
            rows = self._own_rows("transform('size')", is_ordered=False)
            column = self._column(history(self._frame._table, rows, "size", None))
            return column if isinstance(self._selected, list) else column.rename(self._selected)
        is_ordered = func in ("first", "last")
        return self._made(f"transform({func!r})", str(func), is_ordered)

    # --- other rows of the group ------------------------------------------------------------------

    @hide_internals
    def shift(self, periods: Any = 1, *, fill_value: Any = None) -> Any:
        """The value some rows before in the same group, or after if ``periods`` is negative;
        missing, or ``fill_value``, where there is no such row. *Stability*: that of the frame."""
        number = _whole(periods, "periods")
        made = self._made("shift", "shift", options={"periods": number})
        if fill_value is None:
            return made
        before = self._column(self._counted("shift", number >= 0))
        return made.where(before >= abs(number), fill_value)

    @hide_internals
    def diff(self, periods: Any = 1) -> Any:
        """The difference to the value some rows before: of times, the time since the previous row.
        *Stability*: that of the frame.

        >>> import pandas as pd, dppandas as dp
        >>> when = pd.to_datetime(["2024-01-05", "2024-01-07", "2024-02-01"])
        >>> p = dp.private(pd.DataFrame({"who": [1, 1, 2], "when": when}), unit="who", max_rows=2)
        >>> p.sort_values("when").groupby("who")["when"].diff().dt.days
        <private column (when - (shift(when, periods=1) by who in order of when)).dt.days of \
unnamed (asserted)>
        """
        return self._with_shifted(lambda now, then: now - then, "diff", periods)

    @hide_internals
    def pct_change(self, periods: Any = 1, *, fill_method: None = None) -> Any:
        """The relative change since the value some rows before. Missing values stay missing:
        ``fill_method`` is None. *Stability*: that of the frame."""
        if fill_method is not None:
            raise QueryError(
                f"fill_method={quoted(fill_method)} must be None. Fill first: .ffill() of the "
                "groups makes a column of it."
            )
        return self._with_shifted(lambda now, then: now / then - 1, "pct_change", periods)

    def _with_shifted(self, change: Any, verb: str, periods: Any) -> Any:
        """The selected columns, changed by what they were some rows before."""
        frame, rows = self._frame, self._own_rows(verb)
        number, made = _whole(periods, "periods"), {}
        for name in self._names():
            now = PrivateSeries(frame._table, name, frame._found_column(name), frame._where)
            before = history(frame._table, rows, "shift", now._expression, periods=number)
            made[name] = change(now, now._new(before))._expression
        return self._shaped(made)

    @hide_internals
    def ffill(self, limit: Any = None) -> Any:
        """Missing values filled with the last value before, at most ``limit`` rows away.
        *Stability*: that of the frame."""
        return self._made("ffill", "ffill", options=_limit(limit))

    @hide_internals
    def bfill(self, limit: Any = None) -> Any:
        """Missing values filled with the next value after, at most ``limit`` rows away.
        *Stability*: that of the frame."""
        return self._made("bfill", "bfill", options=_limit(limit))

    # --- running figures --------------------------------------------------------------------------

    @hide_internals
    def cumcount(self, ascending: Any = True) -> Any:
        """The number of rows before in the same group: 0, 1, 2, …; or after, if not ascending.
        *Stability*: that of the frame.

        >>> import pandas as pd, dppandas as dp
        >>> visits = pd.DataFrame({"who": [1, 1, 2], "day": [4, 9, 5]})
        >>> p = dp.private(visits, unit="who", max_rows=2).sort_values("day")
        >>> p[p.groupby("who").cumcount() == 0]["day"].value_counts(keys=[4, 5, 9])
        <unreleased value_counts of day (3 keys) where (cumcount() by who in order of day) == 0, \
from unnamed (asserted): nothing computed or charged; ask .release(epsilon=…), .idxmax(epsilon=…), \
.nlargest(n, epsilon=…)>
        """
        if not isinstance(ascending, bool):
            raise QueryError(f"ascending={quoted(ascending)} must be True or False.")
        return self._column(self._counted("cumcount", ascending))

    def _counted(self, verb: str, ascending: bool) -> Expression:
        options = {} if ascending else {"ascending": False}
        return history(self._frame._table, self._own_rows(verb), "cumcount", None, **options)

    @hide_internals
    def cumsum(self) -> Any:
        """Sums so far, in order. *Stability*: that of the frame."""
        return self._made("cumsum", "cumsum")

    @hide_internals
    def cummax(self) -> Any:
        """The largest value so far, in order. *Stability*: that of the frame."""
        return self._made("cummax", "cummax")

    @hide_internals
    def cummin(self) -> Any:
        """The smallest value so far, in order. *Stability*: that of the frame."""
        return self._made("cummin", "cummin")

    @hide_internals
    def rank(
        self,
        method: str = "average",
        ascending: bool = True,
        na_option: str = "keep",
        pct: bool = False,
    ) -> Any:
        """The rank of each value among those of its group, from 1 on, as in pandas. Only
        ``method="first"`` needs an order. *Stability*: that of the frame."""
        for name, value, allowed in (
            ("method", method, ("average", "min", "max", "first", "dense")),
            ("na_option", na_option, ("keep", "top", "bottom")),
        ):
            if not is_one_of(value, allowed):
                raise QueryError(f"{name}={quoted(value)} must be one of {', '.join(allowed)}.")
        for name, flag in (("ascending", ascending), ("pct", pct)):
            if not isinstance(flag, bool):
                raise QueryError(f"{name}={quoted(flag)} must be True or False.")
        given = {"method": method, "ascending": ascending, "na_option": na_option, "pct": pct}
        usual = {"method": "average", "ascending": True, "na_option": "keep", "pct": False}
        options = {name: value for name, value in given.items() if value != usual[name]}
        return self._made("rank", "rank", method == "first", options)

    # --- some rows of each group ------------------------------------------------------------------

    @hide_internals
    def head(self, n: Any = 5) -> V:
        """The first n rows of each group; without the last n, if n is negative. What max_rows drops
        is dropped afterwards: for one row of each unit whatever max_rows is, ask
        ``per_unit().agg(x=("x", "first"))``. *Stability*: that of the frame."""
        number = _whole(n, "n")
        if number >= 0:
            return self._kept(Compare("<", self._counted("head", True), Literal(number)))
        return self._kept(Compare(">=", self._counted("head", False), Literal(-number)))

    @hide_internals
    def tail(self, n: Any = 5) -> V:
        """The last n rows of each group; without the first n, if n is negative. See `head`.
        *Stability*: that of the frame."""
        number = _whole(n, "n")
        if number >= 0:
            return self._kept(Compare("<", self._counted("tail", False), Literal(number)))
        return self._kept(Compare(">=", self._counted("tail", True), Literal(-number)))

    @hide_internals
    def nth(self, n: Any) -> V:
        """The rows in one place of their group, or in several: 0 is the first, -1 the last. See
        `head`. *Stability*: that of the frame."""
        masks = []
        for each in n if isinstance(n, list | tuple | range) else [n]:
            place = _whole(each, "n")
            counted = self._counted("nth", place >= 0)
            masks.append(Compare("==", counted, Literal(place if place >= 0 else -place - 1)))
        if not masks:
            raise QueryError("nth needs a place, or several: nth(0), nth([0, -1]).")
        found: Expression = masks[0]
        for mask in masks[1:]:
            found = expressions.Or(found, mask)
        return self._kept(found)

    def _kept(self, mask: Expression) -> V:
        frame = self._frame
        kept: V = frame._with(frame._columns, expressions.both(frame._where, mask))
        return kept if self._selected is None else kept[self._selected]  # type: ignore[index]


def _whole(value: Any, name: str) -> int:
    """A whole number of rows, back or ahead."""
    return whole_number(value, name, -_MOST, _MOST)


def _limit(limit: Any) -> dict[str, int]:
    return {} if limit is None else {"limit": whole_number(limit, "limit", 1, _MOST)}


def way_of(how: Any) -> str | None:
    """The name of an aggregate: itself, or that of a function which means the same."""
    if isinstance(how, str):
        return how if is_one_of(how, AGGREGATES) else None
    for function, name in FUNCTIONS:
        if how is function:
            return name
    return None


def _no_transform(func: Any) -> QueryError:
    names = [*AGGREGATES, *ROW_BY_ROW, "diff", "pct_change"]
    if isinstance(func, str):
        return QueryError(
            f"transform({quoted(func)}): give one of these names: {', '.join(names)}."
            f"{did_you_mean(func, names)}"
        )
    return QueryError(
        f"transform({quoted(func)}): a function of your own could keep what it sees. Name it, and "
        "compute with columns: in place of x - x.mean() write frame['x'] - "
        "frame.groupby(…)['x'].transform('mean')."
    )


# --- what units are, for each of their rows -------------------------------------------------------


def learned(
    frame: PrivateTable, right: Any, how: Any, on: Any
) -> tuple[dict[Any, Expression], Expression | None]:
    """What each row learns of its unit by a merge with one row for each: new columns, and the rows
    that stay. See `PrivateFrame.merge`."""
    _, made = right._table.summary
    read = [right._where, *right._columns.values()]
    if right._table.branches > 1 or any(map(expressions.samples, read)):
        raise QueryError(
            "the table of units was exploded or sampled, and a row can't learn that. Merge the one "
            "that per_unit() made, and sample the result."
        )
    if expressions.histories(*read):
        raise QueryError(
            "the table of units has columns made by groupby. Merge it first, and group the result."
        )
    if how not in ("left", "inner"):
        raise QueryError(f"how={quoted(how)} must be 'left' or 'inner'.")
    names = [made.rows.unit, *made.by]
    given = list(on) if isinstance(on, list | tuple | pd.Index) else [on]
    if on is not None and (len(given) != len(names) or {*given} != {*names}):
        raise QueryError(
            f"on={quoted(on)}: a row learns what its own unit's rows are, so tables are merged on "
            f"{quoted(names[0]) if len(names) == 1 else quoted(names)}."
        )

    def known(way: str, operand: Expression | None) -> Expression:
        """An aggregate of a unit's rows, as each row knows it."""
        found = history(frame._table, made.rows, way, operand)
        # rows with other branches learn what their unit, or a column's label, is in the first
        return found if made.rows.branches == frame._table.branches else found.at(0)

    present = Not(IsMissing(known("size", None)))
    asked = {name: known(way, each) for name, (each, way) in made.asked.items()}
    for place, name in enumerate(names):
        mine = frame._columns.get(name)
        own = expressions.Column(name) if place == 0 else made.rows.by[place - 1]
        is_it = is_unit(mine, frame._table) if place == 0 else same_value(mine, own)
        if mine is None or not is_it:
            raise QueryError(
                f"the column {quoted(name)} isn't the one that the other table was made by. Merge "
                "before it is changed."
            )
        asked[name] = own
    columns = {n: e.of_columns(asked) for n, e in right._columns.items() if n not in names}
    where = right._where
    kept = present if where is None else And(present, where.of_columns(asked))
    if how == "inner":
        return columns, kept
    if where is not None:
        columns = {n: expressions.Where(kept, e, Literal(None)) for n, e in columns.items()}
    return columns, None
