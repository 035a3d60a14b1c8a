"""The base of columns, frames and groups: what each defines, and how a statistic is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import pandas as pd

from ... import statistics
from ...columns.private_rows import PrivateTable
from ...columns.ranges import measured, range_of, ranges_of
from ...errors import MissingArgument, QueryError
from ...ledger.questions import Operand, Question
from ...ledger.verbs import Verb
from ...privacy.accounting.losses import parse_delta
from ...release.blocks.bundle import Name
from ...release.request import Request
from ...release.unreleased import Unreleased, UnreleasedKeys
from ...release.wording import operand, verb_of
from ...rows import query_string
from ...rows.expressions import Column, Expression
from ...rows.facts import kinds
from ...rows.facts.bounds import Bounds
from ...rows.facts.keys import Keys, did_you_mean
from ...rows.facts.spans import Span
from ...statistics import Cells, Count, KeyLimit, Layout, Statistic
from ...statistics.base import ALL_ROWS
from .arguments import index


class Queryable(PrivateTable):
    """Private rows that answer statistics, for each cell (a group) and operand (a column)."""

    # what each defines

    @property
    def _groups(self) -> Cells:
        """The cells of an answer: one for all rows, or the groups."""
        return ALL_ROWS

    def _operands(self) -> dict[Any, Expression]:
        """The columns of an answer, by name."""
        raise NotImplementedError

    def _shape(self, integer: bool) -> Layout:
        """The layout of one entry for each cell and operand."""
        raise NotImplementedError

    def _asks(
        self, verb: str | Verb, bounds: Sequence[Bounds] = (), *options: tuple[str, Any]
    ) -> Question:
        """What is asked of the operands: a verb, the bounds of each, and options by name."""
        raise NotImplementedError

    def _beside(self, weights: object) -> Self:
        """This object without the column of weights, if that was named."""
        return self

    @property
    def _each(self) -> Self:
        """This object, asked for an answer for each column."""
        return self

    def _column(self, name: Any) -> Queryable:
        """This object, asked for an answer for one column."""
        raise QueryError("agg of one column takes a list of names, as in agg(['count', 'mean']).")

    def _by_column(self, value: Any) -> dict[Any, Any]:
        """An answer split by column."""
        raise NotImplementedError

    def _level(self, value: Any, place: int, levels: int) -> Any:
        """One of several levels that an answer has for each entry."""
        return value.iloc[place]

    def _gathered(
        self, values: dict[Name, Any], by_column: bool = False, by_name: bool = False
    ) -> Any:
        """Several figures of columns, laid out as in pandas.

        by_column : whether each column has one, so that its name is enough.
        by_name : whether each has a name of its own.
        """
        raise NotImplementedError

    @property
    def _is_single(self) -> bool:
        """Whether a single column is asked, whose name isn't needed."""
        return False

    def _of_numbers(self) -> Self:
        """The same rows, with the columns that are known to hold numbers."""
        return self

    def _can_show(self, columns: Sequence[Any]) -> None:
        """Refuse an answer whose columns would have the name of a column of labels."""

    def _by_labels(self, value: Any) -> Any:
        """An answer of several releases, with the labels of its groups where they belong."""
        return value

    def _numeric(self) -> list[Any]:
        """The columns that are known to hold numbers, by their kinds, which are public. A unit's
        number is its name, and measures nothing."""
        source = self._table.source
        unit = None if source.unit.column is None else Column(source.unit.column)
        each = self._each._operands().items()
        kind_of = {name: e.kind(source.facts.schema) for name, e in each if e != unit}
        names = [name for name, kind in kind_of.items() if kind in kinds.NUMBERS]
        if not names:
            raise QueryError(
                "numeric_only=True: no column is known to hold numbers. Select some by their "
                "names; .dtypes has the kinds of all."
            )
        return names

    # how they are asked for

    def _measured(
        self, bounds: object, find: Callable[..., Bounds | Span] = range_of
    ) -> tuple[tuple[Expression, ...], tuple[Bounds, ...], Layout]:
        """The operands as numbers, their bounds, and the layout of their answers.

        find : `range_of`, or `bounds_of` where times and durations aren't answered.
        """
        operands = self._operands()
        if isinstance(bounds, Mapping) and not Bounds.is_named(bounds):
            known = {*operands, *self._columns, *self._table.engine.columns}
            silent = [name for name in operands if name not in bounds]
            strange = [name for name in bounds if name not in known]
            if silent and strange:
                raise MissingArgument(
                    f"bounds= names {strange[0]!r}, which isn't a column, and has no entry for "
                    f"{silent[0]!r}.{did_you_mean(strange[0], known)} Give bounds for "
                    f"each column: {{{silent[0]!r}: (0, 100)}}."
                )
        ranges = ranges_of(self._table, operands.items(), bounds, find)
        return measured(operands.values(), ranges, self._shape(integer=False))

    def _question(
        self, statistic: Statistic, what: Question, kind: type[Unreleased] = Unreleased
    ) -> Request:
        """The request of a public method, which `release_method` answers if a loss is given."""
        return Request(self._table, self._where, statistic, what, kind, kind._selects)

    def _question_of(self, made: Any, statistic: Statistic, what: Question) -> Request:
        """A request to a table that was made of these rows, in the shape of their answers."""
        found: Request = made._question(statistic, what)
        return found

    def _value_counts(
        self,
        names: list[Any],
        keys: object,
        normalize: bool,
        sort: bool,
        ascending: bool,
        dropna: bool,
        delta: object,
        limit: KeyLimit | None = None,
    ) -> Request:
        """The counts of declared keys, or with a δ of labels that are found in the data."""
        order = ("ascending" if ascending else "descending") if sort else None
        if not self._are_unknown(names, keys, delta):
            cells = self._cells(names, keys)
            cells = cells if dropna else replace(cells, missing_cell=True)
            return self._histogram(self._limited(cells, limit), names, normalize, order)
        if limit is not None:
            raise no_limit_of_found_keys("value_counts")
        self._some_columns()
        if normalize:
            raise QueryError(
                "normalize=True needs declared keys, because only some of the labels are shown. "
                "Give keys=[…], or divide the counts by .count(epsilon=…)."
            )
        if not dropna:
            raise QueryError(
                "dropna=False needs declared keys, because a missing value can't be a label. Count "
                "missing values with frame[frame['x'].isna()].count(epsilon=…)."
            )
        # this empty index is never shown: the answer's index has the labels that are found
        layout = Layout(integer=True, index=pd.Index([]), name="count", order=order)
        by = tuple(query_string.lookup(name, self._columns) for name in names)
        statistic = statistics.UndeclaredKeys(Cells(), layout, by, tuple(names), parse_delta(delta))
        columns = tuple(map(operand, names, by))
        options = (("cells", "keys found"),)
        what = Question(verb_of("value_counts"), columns, options=options, is_brief=True)
        return self._question(statistic, what, UnreleasedKeys)

    def _are_unknown(self, names: Sequence[Any], keys: object, delta: object) -> bool:
        """Whether a δ was given to find undeclared keys."""
        if keys is not None or delta is None:
            return False
        declared = (self._table.declared(query_string.lookup(n, self._columns)) for n in names)
        return not all(isinstance(each, Keys) for each in declared)

    def _histogram(
        self, cells: Cells, names: list[Any], normalize: bool, order: str | None, block: int = 0
    ) -> Request:
        """Counts or shares of rows in cells. ``block``: the number of cells that share a total."""
        name = "proportion" if normalize else "count"
        layout = Layout(not normalize, index(cells, names), name=name, order=order, block=block)
        statistic = Count(cells, layout, share_of=(block or len(cells)) if normalize else 0)
        what = "proportions" if normalize else "value_counts"
        columns = tuple(
            Operand(Column(by)) if name is None else operand(name, by)
            for name, by in zip(names, cells.by, strict=True)
        )
        options = (("cells", cells.described),)
        asked = Question(verb_of(what), columns, options=options, is_brief=True)
        return self._question(statistic, asked)


def no_limit_of_found_keys(method: str) -> QueryError:
    """Why undeclared keys have no limits."""
    return QueryError(
        f"{method}: max_rows_per_key= and max_keys= need declared keys. Give keys=[…] in place of "
        "delta=."
    )
