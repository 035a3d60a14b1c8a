"""Pivot tables: aggregates of groups, laid out by the keys of rows and of columns."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Unpack

import pandas as pd

from ..columns.operators import ColumnOperators
from ..columns.periods import is_grouper
from ..columns.private_rows import PrivateTable, once, same_rows
from ..dataclasses import dataclass
from ..errors import QueryError, quoted
from ..ledger.questions import Operand, Question
from ..ledger.verbs import Verb
from ..privacy.accounting.losses import AskOptions
from ..release.answers.shapes import Counted
from ..release.asking import release_method
from ..release.blocks.bundle import Name, ReleaseBundle
from ..release.query import same_value
from ..release.request import Request
from ..release.unreleased import Unreleased
from ..rows import query_string
from ..statistics import Count, KeyLimit, Layout
from ..statistics.methods import PIVOT
from .answers import several
from .crosstab import CrosstabMethods, with_margin
from .groupby import PrivateGroupBy
from .grouping import Grouping, names_of

#: Aggregates of any values, which aren't clipped.
COUNTED = [method.name for method in Count.methods if PIVOT in method.offered]

#: The columns that are laid out as rows, and those that are laid out as columns.
Sides = tuple[list[Any], list[Any]]


class PivotMethods(CrosstabMethods[Counted]):
    """The pivot tables of a frame."""

    @typing.overload
    def pivot_table(
        self,
        values: Any = None,
        index: Any = None,
        columns: Any = None,
        aggfunc: Any = "mean",
        fill_value: object = None,
        margins: bool = False,
        *,
        margins_name: str = "All",
        dropna: bool = True,
        observed: bool = True,
        keys: object = None,
        bounds: object = None,
        max_rows_per_key: int | None = None,
        max_keys: int | None = None,
    ) -> Unreleased[pd.DataFrame] | ReleaseBundle[pd.DataFrame]: ...
    @typing.overload
    def pivot_table(
        self,
        values: Any = None,
        index: Any = None,
        columns: Any = None,
        aggfunc: Any = "mean",
        fill_value: object = None,
        margins: bool = False,
        *,
        margins_name: str = "All",
        dropna: bool = True,
        observed: bool = True,
        keys: object = None,
        bounds: object = None,
        max_rows_per_key: int | None = None,
        max_keys: int | None = None,
        **ways: Unpack[AskOptions],
    ) -> pd.DataFrame: ...
    @release_method
    def pivot_table(
        self,
        values: Any = None,
        index: Any = None,
        columns: Any = None,
        aggfunc: Any = "mean",
        fill_value: object = None,
        margins: bool = False,
        *,
        margins_name: str = "All",
        dropna: bool = True,
        observed: bool = True,
        keys: object = None,
        bounds: object = None,
        max_rows_per_key: object = None,
        max_keys: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """Aggregates for each combination of keys: a DataFrame, shaped as DataFrame.pivot_table.

        values : the column to aggregate, or a list of columns.
        index, columns : a name or a list of names, for the rows and for the columns; or private
            columns of these rows that have a name, such as ``frame["when"].dt.month``.
        aggfunc : "mean", "sum", "count", "size", "var", "std" or another that groupby answers with
            one number; a list of them; or a dict with one or a list for each column. Several share
            the loss evenly; those that `agg` reads from one release are one here, too.
        margins : True adds a row and a column for all keys together. Where there are index= and
            columns=, those of "count" and "size" are sums of the noisy counts, as in `crosstab`,
            and cost nothing. Half of the loss pays for others, which aren't sums of the cells.
        fill_value, dropna, observed : they change nothing, because all keys have an answer.
        keys : a dict with labels for each column; else the declared domain's. Others don't count.
        bounds : of the values, as for the aggregate alone.
        max_rows_per_key, max_keys : the most rows of a unit that count in a cell, and the most
            cells that it counts in, as in `groupby`. Such tables have no margins; `crosstab` has
            those of counts.

        *Guarantee*: that of the aggregates by groups, because these are the same releases in
        another shape (docs/proofs/tables.md); their losses add up to exactly epsilon.

        >>> import pandas as pd
        >>> people = pd.DataFrame({"sex": ["f", "m"] * 5000, "age": [20, 60] * 5000})
        >>> people, keys = people.dp.assign(old="age > 50"), {"sex": ["f", "m"]}
        >>> found = people.pivot_table("age", "sex", keys=keys, bounds=(0, 99), epsilon=1)
        >>> found.round()["age"].to_dict()
        {'f': 20.0, 'm': 60.0}
        >>> asked = people.pivot_table(index="sex", columns="old", aggfunc="size", keys=keys)
        >>> asked.release(epsilon=1).round(-2).loc["f"].tolist()  # not old, and old
        [5000, 0]
        """
        limit = KeyLimit.parse(max_rows_per_key, max_keys)
        margin = _margin(margins, margins_name, limit)
        frame, sides = _with_sides(self, index, columns, values)
        if not any(sides):
            raise QueryError("pivot_table needs index= or columns=. Name at least one column.")
        labels = _labels_in(frame, sides, keys, margin)
        tables = [
            Table(frame, sides, keys, labels, asked, bounds, margin, limit)
            for asked in _wanted(frame, values, sides, aggfunc)
        ]
        releases = _releases(tables)
        if bounds is not None and all(table.asked.how in COUNTED for table in tables):
            raise QueryError(f"{tables[0].asked.how} takes no bounds=. Leave it out.")
        if len(tables) == 1 and tables[0].is_plain:
            return releases[0].requests[""]
        return _bundle(tables, releases)


class Asked(NamedTuple):
    """A statistic of a column (None for rows), and its labels above those of keys."""

    value: Any
    how: str
    heads: tuple[Any, ...]


def _margin(margins: object, name: object, limit: KeyLimit | None) -> object:
    """The name of the margins that a call asks for; None for none."""
    if not isinstance(margins, bool):
        raise QueryError(f"margins={quoted(margins)} must be True or False.")
    if margins and limit is not None:
        raise QueryError(
            "margins=True: a margin is over other keys, in which max_rows_per_key= and max_keys= "
            "would keep other rows. Leave margins= out, or count by crosstab(…, margins=True, "
            "max_rows_per_key=1), whose margins are sums of its cells."
        )
    return name if margins else None


def _labels_in(frame: Any, sides: Sides, keys: object, margin: object) -> dict[Any, list[Any]]:
    """The keys of each column of the sides, in its cells."""
    _, joined = frame._crossed(*sides, keys)
    if margin is not None:
        for side, own in zip(filter(None, sides), joined, strict=True):
            with_margin(own.index(side), margin)  # refuses a name that is a key
    found = [k.column(i) for k in joined for i in range(k.width)]
    pairs = zip([*sides[0], *sides[1]], found, strict=True)
    return {name: list(dict.fromkeys(of)) for name, of in pairs}


def _written(item: Any) -> str:
    """What a call names, as a caller writes it."""
    if is_grouper(item) and item.freq is not None:
        return f"pd.Grouper(key={quoted(item.key)}, freq={item.freq.freqstr.partition('-')[0]!r})"
    return quoted(item.key if is_grouper(item) else _name_of(item))


def _name_of(item: Any) -> Any:
    return item.name if isinstance(item, ColumnOperators) else item


def _with_sides(
    frame: Any, index: Any, columns: Any, values: Any
) -> tuple[Any, tuple[list[Any], list[Any]]]:
    """The names of columns for the rows and the columns of a table, and the frame that has them:
    with the private columns that a call gives, under their names."""
    items = [
        list(side) if isinstance(side, list | pd.Index) else [] if side is None else [side]
        for side in (index, columns)
    ]
    each = [item for side in items for item in side]
    if any(map(is_grouper, each)):
        by = ", ".join(_written(item) for item in each)
        by = f"[{by}], " if len(each) > 1 else f"{by}, "
        raise QueryError(
            f"pivot_table takes no Grouper. Write frame.groupby({by}range=(start, end))"
            f"[{_written('x' if values is None else values)}].mean(epsilon=…)"
            f"{', and .unstack() the answer' if len(each) > 1 else ''}."
        )
    given = [item for item in each if isinstance(item, ColumnOperators) and item.name is not None]
    added = {}
    for column in given:
        same_rows(frame, column)
        if not same_value(frame._columns.get(column.name), column._expression):
            added[column.name] = column._expression
    named = [item.name if isinstance(item, ColumnOperators) else item for item in each]
    for name in added:
        if named.count(name) > 1 or name in names_of(values):
            raise QueryError(
                f"two columns of this table are called {quoted(name)}. Rename one, as in "
                f"frame[{quoted(name)}].dt.month.rename('month')."
            )
    sides = [[item.name if any(item is g for g in given) else item for item in s] for s in items]
    if added:
        frame = frame._with({**frame._columns, **added}, frame._where)
    return frame, (names_of(sides[0]), names_of(sides[1]))


def _wanted(frame: PrivateTable, values: Any, sides: Sides, aggfunc: Any) -> list[Asked]:
    """The aggregates that a call asks for, in order."""
    given, is_dict = names_of(values), isinstance(aggfunc, Mapping)
    if several.single(aggfunc, PIVOT) == "size":
        return [Asked(None, "size", ())]
    named = given or (list(aggfunc) if is_dict else _others(frame, sides))
    for name in named:
        query_string.lookup(name, frame._columns)
    once(named)
    with suppress(TypeError):  # names without a common order stay as they are given
        named.sort()
    if is_dict and set(named) != set(aggfunc):
        raise QueryError(
            "pivot_table needs a statistic for each column of values=, and for no other: "
            'values=["a", "b"], aggfunc={"a": "mean", "b": "sum"}.'
        )
    hows = {name: _statistics(aggfunc[name] if is_dict else aggfunc) for name in named}
    are_named = not given or isinstance(values, list | pd.Index) or not sides[1]
    over = {name: (name,) if are_named else () for name in named}
    if isinstance(aggfunc, list):  # statistics are the outermost level
        return [Asked(n, how, (said, *over[n])) for how, said in hows[named[0]] for n in named]
    have_names = is_dict and any(isinstance(each, list) for each in aggfunc.values())
    each = [(name, how, said) for name in named for how, said in hows[name]]
    return [Asked(n, how, (*over[n], said) if have_names else over[n]) for n, how, said in each]


def _others(frame: PrivateTable, sides: Sides) -> list[Any]:
    """The column that is neither in rows nor in columns, if there is only one."""
    found = [name for name in frame._columns if name not in sides[0] + sides[1]]
    if len(found) != 1:
        raise QueryError(
            f"pivot_table aggregates the columns of values=, and {len(found)} are left here. Give "
            "values=, because each of them costs."
        )
    return found


def _statistics(hows: Any) -> list[tuple[str, str]]:
    """The statistics of a column, each with its name."""
    each = hows if isinstance(hows, list) else [hows]
    found = [several.statistic_of(how, PIVOT) for how in each]
    if not found or len({how for how, _ in found}) < len(found):  # len is "size", too
        raise QueryError(f"aggfunc={quoted(hows)} must name at least one statistic, each once.")
    return found


class Pivot(PrivateGroupBy):
    """Groups whose keys are laid out as rows and columns of the answer."""

    def __init__(
        self, table: PrivateTable, by: Grouping, value: Any, rows: pd.Index, columns: pd.Index
    ) -> None:
        super().__init__(table, by, value)
        self._rows_and_columns = rows, columns

    def _shape(self, integer: bool) -> Layout:
        rows, columns = self._rows_and_columns
        return Layout(integer=integer, index=rows, columns=columns)

    def _counted(self) -> Layout:
        return self._shape(integer=True)

    def _by_group(
        self,
        method: str | Verb,
        columns: tuple[Operand, ...] = (),
        *options: tuple[str, Any],
        is_brief: bool = True,
    ) -> Question:
        said = (("pivot", "yes"), *options)
        return super()._by_group(method, columns, *said, is_brief=is_brief)


@dataclass(frozen=True)
class Table:
    """One aggregate of one column by the keys of rows and of columns, with its margins."""

    frame: Any  # a private frame
    sides: Sides
    keys: Any  # as the call gives them
    labels: Mapping[Any, Sequence[Any]]  # the keys of each column of the sides, in its cells
    asked: Asked
    bounds: object
    margin: object  # the name of the margins, None for none
    limit: KeyLimit | None = None

    @property
    def is_counted(self) -> bool:
        """Whether margins are sums of the counts in cells."""
        counts = self.asked.how in COUNTED and all(self.sides)
        return counts and self.margin is not None

    @property
    def is_plain(self) -> bool:
        """Whether a single release has the shape of the table."""
        return self.margin is None or (self.is_counted and not self.asked.heads)

    def requests(self) -> dict[str, Request]:
        """The releases: of the cells (""), and of margins that don't follow from these."""
        value = self.asked.value
        if self.is_counted:
            kept = self.frame if value is None else self.frame[self.frame[value].notna()]
            rows, columns = self.sides
            names = {"margins": True, "margins_name": self.margin}
            return {"": kept.crosstab(rows, columns, keys=self.keys, **names)._request}
        faces = {"": self._pivot(), **self._margins()}
        return {part: self._answer(face) for part, face in faces.items()}

    def requests_of(self, hows: Sequence[str]) -> dict[str, Request | None]:
        """As `requests`, of several statistics of the same sums."""
        faces = {"": self._by_keys(), **self._margins()}
        return {part: face._from_sums(hows, self.bounds) for part, face in faces.items()}

    def pick(self, values: Mapping[str, Any], place: int, levels: int) -> dict[str, Any]:
        """The values of one of several statistics, of the releases of `requests_of`."""
        found: dict[str, Any] = {
            part: several.as_alone(value.iloc[place::levels], self.asked.how)
            for part, value in values.items()
        }
        rows, columns = self._rows_and_columns
        cells = {i: found[""].iloc[i :: len(columns)].array for i in range(len(columns))}
        found[""] = pd.DataFrame(cells, index=rows).set_axis(columns, axis=1)
        return {part: each.iloc[0] if part == "all" else each for part, each in found.items()}

    @property
    def _rows_and_columns(self) -> tuple[pd.Index, pd.Index]:
        """The labels of a table of cells."""
        _, joined = self.frame._crossed(*self.sides, self.keys)
        value = self.asked.value
        rows = joined[0].index(self.sides[0]) if self.sides[0] else pd.Index([value])
        columns = joined[-1].index(self.sides[1]) if self.sides[1] else None
        return rows, self.headed(columns)

    @property
    def _grouping(self) -> Grouping:
        by = [*self.sides[0], *self.sides[1]]
        cells, _ = self.frame._crossed(*self.sides, self.keys)
        return Grouping(by, self.frame._limited(cells, self.limit), frozenset(by))

    def _by_keys(self) -> PrivateGroupBy:
        return PrivateGroupBy(self.frame, self._grouping, self.asked.value)

    def _pivot(self) -> PrivateGroupBy:
        """The cells, which are laid out as a table unless they are rows of one column."""
        value = self.asked.value
        if value is None and not all(self.sides):
            return PrivateGroupBy(self.frame, self._grouping)
        return Pivot(self.frame, self._grouping, value, *self._rows_and_columns)

    def headed(self, labels: pd.Index | None) -> pd.Index:
        """The labels of columns below the heads: those of keys, or none."""
        heads = self.asked.heads
        if labels is not None and not heads:
            return labels
        if labels is None and len(heads) == 1:
            alone: pd.Index = pd.Index(list(heads), tupleize_cols=False)
            return alone
        each: list[Any] = [()] if labels is None else labels.tolist()
        below = [label if isinstance(label, tuple) else (label,) for label in each]
        names = [*[None] * len(heads), *([] if labels is None else labels.names)]
        return pd.MultiIndex.from_tuples([(*heads, *label) for label in below], names=names)

    def _margins(self) -> dict[str, Any]:
        """What the margins are asked of, which aren't sums of cells: each keeps apart the keys of
        the rows, of the columns, or of none."""
        if self.margin is None:
            return {}
        both = {"rows": self.sides[0], "columns": self.sides[1]} if all(self.sides) else {}
        return {side: self._of(names) for side, names in {**both, "all": []}.items()}

    def _of(self, by: list[Any]) -> Any:
        """The rows that lie in cells, by some of their keys."""
        inside, value = self.frame, self.asked.value
        each = {name: list(dict.fromkeys(labels)) for name, labels in self.labels.items()}
        for name, labels in each.items():
            inside = inside[inside[name].isin(labels)]
        if by:
            return inside.groupby(by, keys={n: each[n] for n in by})[value]
        return inside if value is None else inside[value]

    def _answer(self, of: Any) -> Request:
        return several.request_of(of, self.asked.how, self.bounds)

    def laid_out(self, values: Mapping[str, Any]) -> pd.DataFrame:
        """The cells with their margins, below the heads."""
        given: pd.Series[Any] | pd.DataFrame = values[""]
        table = given.to_frame("size") if isinstance(given, pd.Series) else given
        if self.is_counted:
            return table.set_axis(self.headed(table.columns), axis=1)
        if "all" not in values:
            return table
        rows, columns = self.sides
        if not columns:
            last = pd.DataFrame([[values["all"]]], columns=table.columns)
            return _relabelled([table, last], 0, with_margin(table.index, self.margin))
        ends = [values["all"]] if not rows else [*values["rows"], values["all"]]
        if rows:
            last = pd.DataFrame([values["columns"].tolist()], columns=table.columns)
            table = _relabelled([table, last], 0, with_margin(table.index, self.margin))
        across = with_margin(self._labels(table.columns), self.margin)
        more = pd.Series(ends, index=table.index)
        return _relabelled([table, more], 1, self.headed(across))

    def _labels(self, columns: pd.Index) -> pd.Index:
        """The labels of columns without their heads."""
        above = len(self.asked.heads)
        return columns.droplevel([*range(above)]) if above else columns


def _relabelled(parts: Sequence[Any], axis: Literal[0, 1], labels: pd.Index) -> pd.DataFrame:
    joined: pd.DataFrame = pd.concat(parts, axis=axis)
    return joined.set_axis(labels, axis=axis)


@dataclass
class TableReleases:
    """The releases of one table, or of several whose figures follow from the same sums."""

    tables: list[Table]
    requests: dict[str, Request]

    def values(self, table: Table, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the answers say of a table."""
        if len(self.tables) == 1:
            return values
        return table.pick(values, self.tables.index(table), len(self.tables))


def _releases(tables: Sequence[Table]) -> list[TableReleases]:
    """The releases of tables. A count with margins has its own, of which margins are sums."""
    found: list[TableReleases] = []
    for value in dict.fromkeys(table.asked.value for table in tables):
        of = {table.asked.how: table for table in tables if table.asked.value == value}
        counted = [how for how, table in of.items() if table.is_counted]
        for hows in several.in_releases(list(of), *counted):
            together = [of[how] for how in hows]
            requests = together[0].requests_of(hows) if len(hows) > 1 else {}
            kept = {part: each for part, each in requests.items() if each is not None}
            if len(hows) > 1 and len(kept) == len(requests):
                found.append(TableReleases(together, kept))
            else:
                found += [TableReleases([table], table.requests()) for table in together]
    return found


def _bundle(tables: Sequence[Table], releases: Sequence[TableReleases]) -> ReleaseBundle:
    """Several aggregates, or one with margins, for one loss, which the tables share evenly."""
    parts: dict[Name, Request] = {}
    shares: dict[Name, Fraction] = {}
    columns: dict[Name, list[Any]] = {}
    names: list[dict[str, Name]] = []
    for release in releases:
        value, margins = release.tables[0].asked.value, len(release.requests) - 1
        how = ", ".join(table.asked.how for table in release.tables)
        named = {part: (value, f"{how} ({part})" if part else how) for part in release.requests}
        for part, name in named.items():
            share = Fraction(1, 2 * (margins if part else 1)) if margins else Fraction(1)
            parts[name] = release.requests[part]
            shares[name] = share * Fraction(len(release.tables), len(tables))
            columns[name] = [] if part or value is None else [value]
        names.append(named)

    def combined(values: dict[Name, Any]) -> Any:
        found = {}
        for release, named in zip(releases, names, strict=True):
            own = {part: values[name] for part, name in named.items()}
            for table in release.tables:
                found[table.asked] = table.laid_out(release.values(table, own))
        each = [found[table.asked] for table in tables]
        return pd.concat(each, axis=1 if tables[0].sides[0] else 0)

    return ReleaseBundle(parts, shares, combined, columns)
