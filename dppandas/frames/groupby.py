"""Private rows grouped by declared keys, or by keys that are found in the data."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Generic, NoReturn, Self, Unpack

import pandas as pd

from .. import statistics
from ..columns import refusals
from ..columns.bins import binned
from ..columns.private_rows import PrivateTable, listed, once
from ..dataclasses import dataclass, replace
from ..errors import QueryError, hide_internals, quoted
from ..ledger.questions import Operand, Question
from ..ledger.verbs import Verb
from ..privacy.accounting.losses import NO_DELTA, AskOptions, Delta, Number, parse_delta
from ..release.answers.shapes import Measured, OfRows
from ..release.asking import release_method
from ..release.blocks.bundle import Name
from ..release.pickles import register_families
from ..release.request import Request
from ..release.unreleased import Unreleased, UnreleasedGroups
from ..release.wording import operand, operands, verb_of
from ..rows import query_string
from ..rows.expressions import Expression
from ..rows.facts.bounds import Bounds
from ..rows.facts.keys import Keys
from ..statistics import Cells, Count, KeyLimit, Layout, Statistic
from ..statistics.layout import GroupLabels
from ..statistics.methods import FOUND_GROUPS, GROUPS, Offered
from . import schemas
from .answers.arguments import index
from .answers.frequencies import all_distinct
from .answers.queryable import no_limit_of_found_keys
from .answers.several import answers_of
from .answers.summaries import Covariances
from .grouping import Grouping, grouping, labels_of, names_and_columns
from .partitions import GroupsOneByOne
from .series import PrivateSeries


class PrivateGroupBy(
    GroupsOneByOne,
    Covariances[Measured, Measured, Measured, pd.DataFrame, OfRows],
    Generic[Measured, OfRows],
):
    """Private rows grouped by declared keys. Answers have an entry for each key, in that order."""

    _offered: ClassVar[Offered] = GROUPS

    def __init__(self, table: PrivateTable, by: Grouping, selected: Any = None) -> None:
        super().__init__(table._table, table._columns, table._where)
        self._by = by
        self._selected = selected  # None: all other columns; a list; or one name

    @property
    def _names(self) -> list[Any]:
        return self._by.names

    @property
    def _groups(self) -> Cells:
        return self._by.cells

    @hide_internals
    def __repr__(self) -> str:
        return f"<{self._headline}>"

    @property
    def _headline(self) -> str:
        limit = f", {self._groups.limited}" if self._groups.limited else ""
        return f"private groups of {listed(self._names)}, {self._groups.described}{limit}"

    def _facts(self) -> list[schemas.Fact]:
        """What is public of the columns of labels, and of those that are answered for."""
        by = dict(zip(self._names, self._groups.by, strict=True))
        operands = {n: e for n, e in self._columns.items() if n not in self._by.used}
        operands = operands if self._selected is None else self._operands()
        asked = self._table, by, self._groups.keys, operands, statistics.methods(self._offered)
        return schemas.facts_of_groups(*asked)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"{self!r}\n{schemas.text(self._facts())}")

    def _repr_html_(self) -> str:
        rows_kept = "" if self._where is None else f"rows where {self._where}"
        return schemas.groups_html(self._headline, rows_kept, self._facts())

    @typing.overload
    def __getitem__(
        self, key: list[Any] | pd.Index[Any]
    ) -> PrivateGroupBy[pd.DataFrame, OfRows]: ...
    @typing.overload
    def __getitem__(self, key: Hashable) -> PrivateGroupBy[OfRows, OfRows]: ...
    @hide_internals
    def __getitem__(self, key: Any) -> PrivateGroupBy:
        selected = list(key) if isinstance(key, list | pd.Index) else key
        for name in selected if isinstance(selected, list) else [selected]:
            query_string.lookup(name, self._columns)
        once(selected if isinstance(selected, list) else [])
        return type(self)(self, self._by, selected)

    @hide_internals
    def __getattr__(self, name: str) -> PrivateGroupBy[OfRows, OfRows]:
        if not name.startswith("_") and name in self._columns:
            return self[name]
        if name in ("_obj_with_exclusions", "_grouper"):  # read by pandas' own pivot_table
            self._refuse("a plain table")
        if name.startswith("_"):
            raise AttributeError(name)
        answers = answers_of(GROUPS)
        raise refusals.refuse(self, "private groups", answers, name, self._columns, refusals.GROUPS)

    def _operands(self) -> dict[Any, Expression]:
        if self._selected is None:
            names = [name for name in self._columns if name not in self._by.used]
        else:
            names = self._selected if isinstance(self._selected, list) else [self._selected]
        if not names:
            raise QueryError("no columns are left to answer for. Use .size() to count rows.")
        return {name: self._columns[name] for name in names}

    def _beside(self, weights: object) -> Self:
        if self._selected is not None or weights is None or isinstance(weights, PrivateTable):
            return self
        others = [name for name in self._operands() if name != weights]
        return type(self)(self, self._by, others)

    def _shape(self, integer: bool) -> Layout:
        labels = index(self._groups, self._names)
        if self._is_single:
            return Layout(integer=integer, index=labels, name=self._selected)
        return Layout(integer=integer, index=labels, columns=pd.Index(list(self._operands())))

    def _column(self, name: Any) -> PrivateGroupBy:
        if not isinstance(name, Hashable):
            raise QueryError(f"{quoted(name)} isn't a column. Use the name of one.")
        return self._each[name]

    def _by_column(self, value: Any) -> dict[Any, Any]:
        if isinstance(value, pd.DataFrame):
            return {name: value[name] for name in value.columns}
        return {self._selected: value}

    def _level(self, value: Any, place: int, levels: int) -> Any:
        return value.iloc[place::levels].set_axis(index(self._groups, self._names), axis=0)

    def _gathered(
        self, values: dict[Name, Any], by_column: bool = False, by_name: bool = False
    ) -> Any:
        columns = list(dict.fromkeys(column for column, _ in values))
        ordered = [(c, name) for c in columns for of, name in values if of == c]
        ordered = list(values) if by_name else ordered
        table = pd.concat([values[each] for each in ordered], axis=1)
        if by_column or by_name or self._is_single:
            names = [column if by_column else name for column, name in ordered]
            return table.set_axis(pd.Index(names, tupleize_cols=False), axis=1)
        return table.set_axis(pd.MultiIndex.from_tuples(ordered), axis=1)

    @property
    def _is_single(self) -> bool:
        return self._selected is not None and not isinstance(self._selected, list)

    def _of_numbers(self) -> Self:
        return self if self._is_single else type(self)(self, self._by, self._numeric())

    def _by_labels(self, value: Any) -> Any:
        return self._by.shown.shown(value)

    def _question(
        self, statistic: Statistic, what: Question, kind: type[Unreleased] = Unreleased
    ) -> Request:
        layout = statistic.layout
        levels = None if layout.index is None or self._groups.keys is None else layout.index.names
        self._can_show(layout.names, levels)
        shown = replace(statistic, layout=replace(layout, groups=self._by.shown))
        return super()._question(shown, what, kind)

    def _question_of(self, made: Any, statistic: Statistic, what: Question) -> Request:
        return type(self)(made, self._by, self._selected)._question(statistic, what)

    def _can_show(self, columns: Sequence[Any], levels: Sequence[Any] | None = None) -> None:
        """Refuse columns of an answer that have the name of a column of labels."""
        name = self._by.shown.clash(self._names if levels is None else levels, columns)
        if name is not None:
            raise two_columns(name)

    @property
    def _each(self) -> Self:
        by = replace(self._by, shown=GroupLabels())  # the whole is shown as the call wants it
        return type(self)(self, by, self._selected)

    def _asks(
        self, verb: str | Verb, bounds: Sequence[Bounds] = (), *options: tuple[str, Any]
    ) -> Question:
        return self._by_group(verb, operands(self._operands(), bounds), *options)

    def _by_group(
        self,
        verb: str | Verb,
        columns: tuple[Operand, ...] = (),
        *options: tuple[str, Any],
        is_brief: bool = True,
    ) -> Question:
        keys = tuple(map(operand, self._names, self._groups.by))
        said = (*options, ("cells", self._groups.described))
        return Question(verb_of(verb), columns, keys, options=said, is_brief=is_brief)

    @hide_internals
    def pipe(self, func: Any, *args: Any, **more: Any) -> Any:
        """``func(groups, *args, **more)``, as in pandas: for a chain of methods.

        *Guarantee*: nothing is released but by what the function asks.
        """
        return func(self, *args, **more)

    @typing.overload
    def size(self) -> Unreleased[OfRows]: ...
    @typing.overload
    def size(self, **ways: Unpack[AskOptions]) -> OfRows: ...
    @release_method
    def size(self, **ways: Unpack[AskOptions]) -> Any:
        """The number of rows in each group: an int Series.

        *Guarantee*: epsilon-differential privacy of the unit; groups are disjoint
        (docs/proofs/counts.md).
        """
        return self._question(Count(self._groups, self._counted()), self._by_group("size"))

    def _counted(self) -> Layout:
        """The layout of a count for each group. As a column it is named size, whatever it is of."""
        name = self._selected if self._is_single and not self._by.shown.as_columns else None
        return Layout(integer=True, index=index(self._groups, self._names), name=name)

    @typing.overload
    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        *,
        keys: object = None,
    ) -> Unreleased[OfRows]: ...
    @typing.overload
    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        *,
        keys: object = None,
        **ways: Unpack[AskOptions],
    ) -> OfRows: ...
    @release_method
    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        *,
        keys: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """How many rows of each group have each declared key of one column: a Series.

        keys : the labels of the selected column; else the declared domain's.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/counts.md).
        """
        column = self._one("value_counts")
        inner = self._cells([column], keys)
        order = ("ascending" if ascending else "descending") if sort else None
        cells, names = self._within(inner), [*self._names, column]
        return self._histogram(cells, names, normalize, order, len(inner))

    @typing.overload
    def hist(self, bins: Any = 10, range: Any = None) -> Unreleased[OfRows]: ...
    @typing.overload
    def hist(self, bins: Any = 10, range: Any = None, **ways: Unpack[AskOptions]) -> OfRows: ...
    @release_method
    def hist(self, bins: Any = 10, range: Any = None, **ways: Unpack[AskOptions]) -> Any:
        """How many values of one column lie in each of some public bins, by group: an int Series
        by group and interval. Bins as in `PrivateSeries.hist`, the same for all groups.

        *Guarantee*: epsilon-differential privacy of the unit; groups and bins are disjoint, so the
        ℓ1 sensitivity is 1 a row (docs/proofs/counts.md).

        >>> import pandas as pd
        >>> p = pd.DataFrame({"sex": ["f", "m"] * 500, "age": [20, 60] * 500}).dp
        >>> p.groupby("sex", keys=["f", "m"])["age"].hist([0, 50, 99], epsilon=1).round(-2).tolist()
        [500, 0, 0, 500]
        """
        column = self._one("hist")
        inner, said = binned(self._table, column, self._columns[column], bins, range)
        cells, names = self._within(inner), [*self._names, column]
        layout = Layout(integer=True, index=index(cells, names), name="count")
        named = (operand(column, self._columns[column]),)
        what = self._by_group("hist", named, ("bins", said), is_brief=False)
        return self._question(Count(cells, layout), what)

    @typing.overload
    def nunique(self, dropna: bool = True, *, keys: object = None) -> Unreleased[OfRows]: ...
    @typing.overload
    def nunique(
        self, dropna: bool = True, *, keys: object = None, **ways: Unpack[AskOptions]
    ) -> OfRows: ...
    @release_method
    def nunique(
        self, dropna: bool = True, *, keys: object = None, **ways: Unpack[AskOptions]
    ) -> Any:
        """How many distinct values one column has in each group, or how many units: an int Series.

        dropna : False counts missing values as one more, where no keys are declared.
        keys : a list of labels; else the declared domain's. Then only these count.

        *Guarantee*: epsilon-differential privacy of the unit. In all groups it has no more values
        than rows (docs/proofs/presence.md), and counts once in each (docs/proofs/units.md).

        >>> import pandas as pd
        >>> p = pd.DataFrame({"sex": ["f", "m"] * 99, "city": ["Rome", "Oslo"] * 99}).dp
        >>> n = p.groupby("sex", keys=["f", "m"])["city"].nunique(keys=["Rome", "Oslo"], epsilon=1)
        >>> n.between(0, 2).tolist()
        [True, True]
        """
        column, layout = self._one("nunique"), self._shape(integer=True)
        of = self._table, self._columns[column]
        found, what = all_distinct(*of, keys, dropna, self._groups, layout)
        options: tuple[tuple[str, str], ...] = ()
        if found is None:
            inner = self._cells([column], keys)
            cells, options = self._within(inner), (("distinct", inner.described),)
            found = statistics.OccurringKeys(cells, layout, groups=len(self._groups))
        return self._question(found, self._asks(what, (), *options))

    def _one(self, what: str) -> Any:
        """The selected column. Refuses any other number of columns."""
        if not self._is_single:
            raise QueryError(f'{what} needs one column, as in groupby(…)["column"].{what}(…).')
        return self._selected

    def _within(self, inner: Cells) -> Cells:
        """A cell for each group and key of a column, group by group."""
        if self._groups.limited:
            raise QueryError(
                "max_rows_per_key= and max_keys= of groupby limit the rows of a group, and not "
                "those of a key of a second column. Group by both columns: groupby(['day', "
                "'city'], …, max_rows_per_key=1).size(epsilon=…)."
            )
        if self._groups.keys is None or inner.keys is None or self._groups.missing_cell:
            raise QueryError("this needs declared keys and dropna=True: groupby(…, keys=[…]).")
        return Cells(self._groups.by + inner.by, self._groups.keys.then(inner.keys))


@dataclass(frozen=True)
class UndeclaredCells(Cells):
    """Cells of keys that are to be found in the data."""

    canonical_name: ClassVar[str] = "Undeclared"

    delta: Delta = NO_DELTA

    @property
    def described(self) -> str:
        return "keys found"


class UnknownGroups(PrivateGroupBy[Measured, OfRows]):
    """Private rows grouped by keys found in the data: `PrivateFrame.groupby` with ``delta=``.

    Only what follows from sums over the rows of a key answers: counts, sums, means and deviations.
    Half of the loss decides which keys are shown, by their rows or by the weights of their units,
    whichever needs fewer units; and half pays for the statistic. `size` shows the counts of rows,
    for all of ε. Keys are sorted, as objects. Errors and intervals hold for each key by itself,
    given that it is shown.
    """

    _offered: ClassVar[Offered] = FOUND_GROUPS

    def _question(
        self, statistic: Statistic, what: Question, kind: type[Unreleased] = Unreleased
    ) -> Any:
        offered = (FOUND_GROUPS in method.offered for method in statistic.methods)
        if kind is not Unreleased or not any(offered):
            raise QueryError(
                f"{what} needs declared keys: groupby(…, keys=[…]). For undeclared keys "
                f"there are {', '.join(statistics.methods(FOUND_GROUPS))}."
            )
        return self._over_found_keys(statistic.layout, statistic, what)

    def _over_found_keys(self, layout: Layout, inner: Statistic | None, what: Question) -> Any:
        """The counts of the keys found, or another statistic of their rows."""
        delta = self._groups.delta if isinstance(self._groups, UndeclaredCells) else NO_DELTA
        by, names = self._groups.by, tuple(self._names)
        found = statistics.UndeclaredKeys(Cells(), layout, by, names, delta, inner=inner)
        return super()._question(found, what, UnreleasedGroups)

    @typing.overload
    def size(self) -> Unreleased[OfRows]: ...
    @typing.overload
    def size(self, **ways: Unpack[AskOptions]) -> OfRows: ...
    @release_method
    def size(self, **ways: Unpack[AskOptions]) -> Any:
        """The number of rows in each group that is shown: an int Series.

        *Guarantee*: (epsilon, delta)-differential privacy of the unit, with the delta of groupby
        (docs/proofs/thresholds.md).
        """
        return self._over_found_keys(self._counted(), None, self._by_group("size"))

    @hide_internals
    def agg(self, *args: Any, **more: Any) -> NoReturn:
        """Refused: ask for each statistic.

        *Guarantee*: nothing is released.
        """
        raise QueryError(
            "agg needs declared keys. Give keys=[…], or ask for one statistic: .mean(epsilon=…)."
        )

    aggregate = agg

    @hide_internals
    def value_counts(self, *args: Any, **more: Any) -> NoReturn:
        """Refused: count by both columns, with ``value_counts`` of a frame.

        *Guarantee*: nothing is released.
        """
        raise QueryError(
            "value_counts by group needs declared keys. Give keys=[…], or count by both columns: "
            "frame.value_counts([…], delta=…)."
        )


def grouped_by(
    frame: PrivateTable, by: Any, keys: object, ranges: object, shown: GroupLabels, delta: object,
    dropna: bool, limit: KeyLimit | None = None,
) -> PrivateGroupBy:  # fmt: skip
    """See `PrivateFrame.groupby`."""
    if delta is None:
        declared = grouping(frame, by, keys, ranges, "groupby", dropna)
        declared = declared.with_cells(frame._limited(declared.cells, limit))
        return PrivateGroupBy(frame, _placed(declared, shown))
    if limit is not None:
        raise no_limit_of_found_keys("groupby")
    items, used = names_and_columns(frame, by)
    if not items:
        raise QueryError("groupby needs at least one column.")
    frame._some_columns()
    names, labels = zip(*labels_of(frame, items), strict=True)
    known = (isinstance(frame._table.declared(each), Keys) for each in labels)
    if ranges is not None or keys is not None or all(known):
        raise QueryError("delta= is for undeclared keys, and these are declared. Leave it out.")
    cells = UndeclaredCells(labels, delta=parse_delta(delta))
    as_found = replace(shown, is_sorted=False)  # they come sorted, and pandas can't sort them all
    return UnknownGroups(frame, _placed(Grouping(list(names), cells, used), as_found))


def two_columns(name: Any) -> QueryError:
    """Why labels can't become columns of an answer."""
    return QueryError(
        f"as_index=False: two columns of the answer would be named {quoted(name)}. Leave it out, "
        "or rename the labels: groupby(frame['when'].dt.month.rename('month'), as_index=False)."
    )


def _placed(by: Grouping, shown: GroupLabels) -> Grouping:
    """A grouping whose labels are shown where a call wants them, if they can be."""
    if (name := shown.clash(by.names)) is not None:
        raise two_columns(name)
    if shown.is_sorted and by.cells.keys is not None:
        try:
            by.cells.keys.index(by.names).sort_values()
        except TypeError:
            raise QueryError(
                "sort=True: these keys have no common order. Leave it out: groups are in the order "
                "of keys=."
            ) from None
    return replace(by, shown=shown)


@typing.overload
def unique(column: Any, *, delta: Number = ...) -> Unreleased[pd.Index[Any]]: ...
@typing.overload
def unique(column: Any, *, epsilon: Number, delta: Number = ...) -> pd.Index[Any]: ...
@hide_internals
def unique(column: Any, *, epsilon: object = None, delta: object = None) -> Any:
    """`PrivateSeries.unique`, spelled like `pandas.unique`: the labels that many units share.

    *Guarantee*: (epsilon, delta)-differential privacy of the unit, as of the method
    (docs/proofs/partition_selection.md, docs/proofs/weighted_selection.md).

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); _ = dp.session(epsilon=2, delta="1e-5")
    >>> dp.unique(pd.Series([3, 1, "no"] * 40).dp, epsilon=1, delta="1e-5").tolist()
    [1, 3, 'no']
    """
    if not isinstance(column, PrivateSeries):
        raise QueryError(
            f"dp.unique takes a private column, such as df.dp['city'], not {quoted(column)}. Use "
            "pandas.unique for a plain one."
        )
    return column.unique(epsilon=epsilon, delta=delta)  # type: ignore[call-overload]


register_families(UndeclaredCells)
