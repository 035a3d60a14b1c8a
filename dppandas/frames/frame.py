"""A private table with the methods of a pandas DataFrame: `PrivateFrame`.

Methods only turn their arguments into statistics over row-wise expressions. What is computed,
charged and noised is decided behind `release`.
"""

from __future__ import annotations

import typing
from typing import Any, Literal, Self, Unpack

import pandas as pd

from .. import statistics
from ..columns import refusals
from ..columns.periods import is_grouper
from ..columns.private_rows import PrivateTable, is_unit, same_rows
from ..errors import MissingArgument, QueryError, hide_internals, quoted
from ..privacy.accounting.losses import AskOptions, Number
from ..release.answers.results import ReleasedInt
from ..release.answers.shapes import Counted
from ..release.asking import release_method
from ..release.blocks.bundle import ReleaseBundle
from ..release.unreleased import Unreleased
from ..release.ways import UNSAID, Ways
from ..release.wording import told
from ..rows.expressions import Column, Declared, Expression, check, need
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds
from ..rows.facts.domain import Declaration, parse_domain
from ..rows.facts.keys import Keys, is_hashable
from ..rows.facts.spans import Span
from ..rows.facts.units import MOST_ROWS, whole_number
from ..rows.sentences import in_lines
from ..statistics import Cells, KeyLimit, Layout
from ..statistics.methods import FRAME
from . import schemas
from .answers.several import answers_of
from .frame_answers import FrameAggregations
from .groupby import PrivateGroupBy, grouped_by
from .grouping import grouping, labels_of, labels_shown, names_and_columns
from .partitions import parts_of
from .series import PrivateSeries
from .tables import PerUnit


class PrivateFrame(FrameAggregations[Counted, "PrivateFrame[pd.Series[int]]"]):
    """Rows about people, which answer only by releases, with the options of `Unreleased.release`.
    It shows its schema, never its rows."""

    # what is public

    @typing.overload  # type: ignore[override]
    def describe(self) -> pd.DataFrame: ...
    @typing.overload
    def describe(
        self,
        percentiles: object = None,
        include: object = None,
        exclude: object = None,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
    ) -> ReleaseBundle[pd.DataFrame]: ...
    @typing.overload
    def describe(
        self,
        percentiles: object = None,
        include: object = None,
        exclude: object = None,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        **ways: Unpack[AskOptions],
    ) -> pd.DataFrame: ...
    @release_method
    def describe(
        self,
        percentiles: object = None,
        include: object = None,
        exclude: object = None,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        said: Ways = UNSAID,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """The public schema: each column with its declared kind, bounds or keys. With epsilon=
        (or another argument), pandas' figures of each column: a DataFrame.

        percentiles, bounds, step, interval : see `PrivateSeries.describe`, also for how the loss is
            divided.
        include, exclude : kinds of columns, as in `select_dtypes`, or include="all". Without them,
            columns of numbers, durations and times, if there are any. Kinds are public. The column
            of units is left out. Each column has an equal part of the loss.

        *Guarantee*: differential privacy of the unit; the losses add up to exactly epsilon
        (docs/proofs/variances.md, docs/proofs/quantiles.md, docs/proofs/presence.md). The schema is
        public.
        """
        wanted = (percentiles, include, exclude, bounds, step)
        if said.give_loss or interval or any(x is not None for x in wanted):
            self._some_columns()
            return self._kept(include, exclude, bounds)._described(
                percentiles, bounds, step, interval
            )
        declared = [self._table.declared(expression) for expression in self._columns.values()]
        steps = [self._table.step(expression) or "" for expression in self._columns.values()]
        held = [e.held if isinstance(e, Declared) else "" for e in self._columns.values()]
        return pd.DataFrame(
            {
                **({"kind": held} if any(held) else {}),
                "bounds": [str(d) if isinstance(d, Bounds | Span) else "" for d in declared],
                **({"step": [*map(str, steps)]} if any(steps) else {}),
                "keys": [str(d) if isinstance(d, Keys) else "" for d in declared],
            },
            index=pd.Index(list(self._columns), name="column", tupleize_cols=False),
        )

    @hide_internals
    def declare(self, facts: object = None, /, **columns: object) -> Self:
        """A new frame that knows more public facts: bounds or keys of columns that had none.

        facts : a dict, for names that aren't identifiers: ``declare({"my age": (0, 120)})``.
        columns : for each column a (lower, upper) tuple, a result of suggest_bounds, or a list of
            keys, as in ``domain=`` of `dppandas.protect`.

        This frame and all others stay as they are: what was asked of them keeps its key, and is
        replayed when a cell is run again. An answer uses the facts of the frame that is asked, even
        for columns of another frame of the same rows; `dppandas.concat` and `dppandas.crosstab`
        join them.

        Raises `SourceError` for facts that contradict earlier ones about the source, from any
        frame, which only `dppandas.protect` can correct, while nothing is charged; and `QueryError`
        for computed columns, whose expressions imply what holds, as ``.clip(0, 1)``, ``.cut(…)``
        and ``.map(…)`` do.

        *Guarantee*: nothing is computed or released. Facts are your assertions, or come from
        releases. Wrong facts make answers inaccurate, but break no promise.

        >>> import pandas as pd, dppandas as dp
        >>> people = dp.protect(pd.DataFrame({"age": [20, 30, 40] * 99}), name="known")
        >>> people = people.declare(age=(0, 120))
        >>> people["age"].mean()
        <unreleased mean of age in 0 to 120, from known (verified): nothing computed or charged; \
ask .release(epsilon=…)>
        """
        parsed = [parse_domain(given, list(self._columns), "declare") for given in (facts, columns)]
        twice = [name for name in parsed[0] if name in parsed[1]]
        if twice:
            raise QueryError(f"declare names {quoted(twice[0])} twice. Name it once.")
        table = self._table.declaring(self._of_source(parsed[0] | parsed[1]))
        return self._with(self._columns, self._where, table)

    def _of_source(self, declared: dict[Any, Declaration]) -> dict[Any, Declaration]:
        """Facts about columns of this frame, as facts about columns of the source."""
        found: dict[Any, Declaration] = {}
        for name, fact in declared.items():
            column = self._columns[name]
            if not isinstance(column, Column):
                raise QueryError(
                    f"{quoted(name)} is computed from other columns, so it can't be declared. "
                    "Give keys= or bounds= in the question, or declare those columns. Or bound it "
                    "by .clip(0, 1), or give it keys by .map({…}) or .cut([…])."
                )
            if repr(found.setdefault(column.name, fact)) != repr(fact):
                raise QueryError(
                    f"declare contradicts itself about column {quoted(name)}, which has two names "
                    "here. Declare it once."
                )
        return found

    def _headline(self) -> str:
        source = self._table.source
        return f"private frame of {source.name} ({source.lineage}), protecting {source.unit}"

    @hide_internals
    def __repr__(self) -> str:
        rows_kept = [] if self._where is None else [f"rows where {self._where}"]
        facts, more = schemas.facts(self._table, self._columns)
        left_out = f"\n… and {more:,} more columns" if more else ""
        head = in_lines(f"<{self._headline()}>", *rows_kept)
        return f"{head}\n{schemas.text(facts)}{left_out}"

    def _repr_html_(self) -> str:
        rows_kept = "" if self._where is None else f"rows where {self._where}"
        shown = schemas.facts(self._table, self._columns)
        return schemas.frame_html(self._headline(), rows_kept, *shown)

    @hide_internals
    def __contains__(self, name: object) -> bool:
        return name in self._columns

    @hide_internals
    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(c for c in self._columns if isinstance(c, str))]

    @hide_internals
    def __getattr__(self, name: str) -> PrivateSeries:
        if not name.startswith("_") and name in self._columns and not hasattr(pd.DataFrame, name):
            return PrivateSeries(self._table, name, self._columns[name], self._where)
        if name.startswith("_"):
            raise AttributeError(name)
        answers = answers_of(FRAME, "pivot_table", "groupby", "partition", "per_unit")
        raise refusals.refuse(self, "private frames", answers, name, self._columns)

    # units

    @hide_internals
    def per_unit(self, by: Any = None) -> PerUnit[PrivateFrame[ReleasedInt]]:
        """One row for each unit: ``per_unit().agg(spend=("amount", "sum"))``. See `PerUnit`.

        by : a column, or a list of them: then a unit has a row for each of its labels there, at
            most max_rows of which are kept. Rows without a label are dropped.
        """
        self._unit_column("per_unit()")
        if by is None:
            return PerUnit(self)  # type: ignore[arg-type]
        items, _ = names_and_columns(self, by)
        if not items or any(map(is_grouper, items)):
            raise QueryError(
                "per_unit(by=…) takes columns of labels, as in per_unit(by='day'). Of times, make "
                "their periods first: frame['when'].dt.to_period('M').rename('month')."
            )
        named = labels_of(self, items)
        for name, expression in named:
            if not is_hashable(name) or name is None:
                raise QueryError("per_unit(by=…) needs columns with names: .rename('month').")
            self._not_the_unit(name)
            need(expression, kinds.LABELS, self._table.source.facts, f"by={quoted(name)}")
            check(expression, self._table.source.facts)
        return PerUnit(self, by=tuple(named))  # type: ignore[arg-type]

    def _units_and(self, by: Any) -> list[Any] | None:
        """What a groupby names beside the unit column, of which no keys are known; None if that
        isn't among it."""
        items = by if isinstance(by, list) else [by]
        rest = [each for each in items if not self._is_unit(each)]
        return None if len(rest) == len(items) else rest

    def _is_unit(self, by: Any) -> bool:
        """Whether this names the unit column, of which no keys are known."""
        unit = self._table.source.unit.column
        if unit is None:
            return False
        if isinstance(by, PrivateSeries):
            same_rows(self, by)
            found: Any = by._expression
        elif not isinstance(by, type(unit)) or by != unit:
            return False
        else:
            found = self._columns.get(unit)
        return is_unit(found, self._table) and not self._table.declared(found)

    def _unit_column(self, verb: str) -> Any:
        if self._table.source.unit.column is None:
            raise QueryError(
                f"each row is a unit of its own here, and {verb} needs a unit column. Protect the "
                'data with one: dp.protect(df, …, unit="person_id", max_rows=…).'
            )
        return self._table.source.unit.column

    @typing.overload
    def truncation_shares(self, *, counted: int | None = None) -> Unreleased[pd.Series[float]]: ...
    @typing.overload
    def truncation_shares(
        self, *, counted: int | None = None, **ways: Unpack[AskOptions]
    ) -> pd.Series[float]: ...
    @release_method
    def truncation_shares(self, *, counted: int | None = None, **ways: Unpack[AskOptions]) -> Any:
        """The shares of rows that max_rows keeps and drops: what truncation changes.

        counted : a unit's rows are counted up to this public number, by default 10 * max_rows. The
            noise grows with it.

        No interval includes what truncation changes; this measures it. The result is a Series
        under "kept" and "dropped".

        *Guarantee*: epsilon-differential privacy of the unit, with ℓ1 sensitivity `counted`
        (docs/proofs/units.md).
        """
        per_unit, rows = self._rows_of_units("truncation_shares()")
        most = self._table.source.unit.max_rows
        number = 10 * most if counted is None else counted
        up_to = whole_number(number, "counted", most + 1, MOST_ROWS, ", more than max_rows")
        labels = pd.Index(["kept", "dropped"], name="rows")
        layout = Layout(integer=False, index=labels, name="proportion")
        statistic = statistics.Truncation(Cells(), layout, rows, most, up_to)
        what = told(f"rows beyond max_rows={most}, of {up_to}")
        return per_unit._question(statistic, what)

    @typing.overload
    def suggest_max_rows(
        self, *, keep: float = 0.95, counted: int = 100
    ) -> Unreleased[pd.Series[float]]: ...
    @typing.overload
    def suggest_max_rows(
        self, *, keep: float = 0.95, counted: int = 100, **ways: Unpack[AskOptions]
    ) -> pd.Series[float]: ...
    @typing.overload
    def suggest_max_rows(self, *, keep: None, counted: int = 100) -> Unreleased[pd.DataFrame]: ...
    @typing.overload
    def suggest_max_rows(
        self, *, keep: None, counted: int = 100, **ways: Unpack[AskOptions]
    ) -> pd.DataFrame: ...
    @release_method
    def suggest_max_rows(
        self, *, keep: float | None = 0.95, counted: int = 100, **ways: Unpack[AskOptions]
    ) -> Any:
        """A limit for ``max_rows``, and what it would cut, at the price of one row: a float Series
        under "max_rows", "units_cut" and "rows_dropped", which ``max_rows=found`` takes.

        keep : the share of units that are to keep all their rows. Suggested is the least limit
            (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 70, 100 and so on) that keeps so many. None
            shows what each limit would cut: a DataFrame by max_rows, with "units_cut" and
            "rows_dropped". Another keep at the same loss is free.
        counted : a unit's rows are counted up to this public number, the largest limit.

        All rows of a unit count that pass the filters, whatever ``max_rows`` the source has.
        "units_cut" is the share of units with more rows than the limit. "rows_dropped" is the share
        of counted rows beyond it, an estimate: units with 11 to 15 rows are taken to have 13, and
        rows of a unit beyond ``counted`` aren't seen. Its interval includes all that they may have,
        and is wide where a few units with ``counted`` rows might hide in the noise.

        If noise alone could fill what may be cut, or if too many units have more than ``counted``
        rows, all three are NaN, which ``max_rows=`` refuses. A preview says how many units a
        suggestion needs: at ε = 1 and keep=0.95 about 370. Otherwise, with probability 0.95, the
        limit cuts no more than about twice what it may, and is no larger than the least limit that
        cuts nobody. The record's ``.intervals()`` says where the least limit lies that really keeps
        so many. `dppandas.stats.truncation` weighs the bias of a limit against its noise.

        *Guarantee*: epsilon-differential privacy of the unit, with ℓ1 sensitivity 1, however many
        rows a unit has (docs/proofs/units.md).

        >>> import pandas as pd, dppandas as dp
        >>> visits = pd.DataFrame({"who": [*range(9000), *range(2000)]})  # one or two of each
        >>> p = dp.protect(visits, name="counted visits", unit="who", max_rows=1)
        >>> found = p.suggest_max_rows(epsilon=1)
        >>> found.round(1).to_dict()
        {'max_rows': 2.0, 'units_cut': 0.0, 'rows_dropped': 0.0}
        >>> p.suggest_max_rows(keep=None, epsilon=1).round(1).loc[1].to_dict()  # free
        {'units_cut': 0.2, 'rows_dropped': 0.2}
        """
        per_unit, rows = self._rows_of_units("suggest_max_rows()")
        share = statistics.parse_keep(keep)
        limits = statistics.limits_up_to(whole_number(counted, "counted", 2, MOST_ROWS))
        figures = pd.Index(["units_cut", "rows_dropped"])
        if share is None:
            index = pd.Index(limits, name="max_rows")
            layout = Layout(integer=False, index=index, columns=figures)
        else:
            layout = Layout(integer=False, index=figures.insert(0, "max_rows"), name="suggested")
        statistic = statistics.RowsPerUnit(Cells(), layout, rows, limits, share)
        return per_unit._question(statistic, told(f"rows of each unit, up to {counted:,}"))

    def _rows_of_units(self, verb: str) -> tuple[PrivateFrame[ReleasedInt], Expression]:
        """A row for each unit, and the number of all its rows."""
        name = "rows_" if self._unit_column(verb) == "rows" else "rows"
        per_unit = self.per_unit().agg(**{name: "size"})
        return per_unit, per_unit._columns[name]

    @typing.overload
    def groupby(
        self,
        by: Any,
        keys: object = None,
        *,
        range: object = None,
        as_index: Literal[True] = True,
        sort: bool = False,
        observed: bool = False,
        dropna: bool = True,
        delta: Number | None = None,
        max_rows_per_key: int | None = None,
        max_keys: int | None = None,
    ) -> PrivateGroupBy[pd.DataFrame, pd.Series[Any]]: ...
    @typing.overload
    def groupby(
        self,
        by: Any,
        keys: object = None,
        *,
        range: object = None,
        as_index: Literal[False],
        sort: bool = False,
        observed: bool = False,
        dropna: bool = True,
        delta: Number | None = None,
        max_rows_per_key: int | None = None,
        max_keys: int | None = None,
    ) -> PrivateGroupBy[pd.DataFrame, pd.DataFrame]: ...
    @release_method
    def groupby(
        self,
        by: Any,
        keys: object = None,
        *,
        range: object = None,
        as_index: bool = True,
        sort: bool = False,
        observed: bool = False,
        dropna: bool = True,
        delta: object = None,
        max_rows_per_key: object = None,
        max_keys: object = None,
    ) -> PrivateGroupBy | PerUnit[PrivateFrame]:
        """Group rows by the declared keys of one or more columns.

        by : a name, a private column of these rows such as ``frame["when"].dt.month``, a
            ``pd.Grouper(key="when", freq="MS")``, or a list of them. freq is D, W, MS,
            ME, QS, QE, YS, YE, or hours, minutes or seconds that divide a day; pandas counts others
            from the first row.
        keys : for one column a list; for several a dict with a list for each (their product) or a
            list of tuples; else, and for columns that a dict leaves out, the declared domain's, or
            those that follow, as the months of a time do. Rows with other labels are dropped. All
            groups are there, in declared order, because which groups have rows is private.
        range : (start, end), two times, for a Grouper; else the declared bounds of its column: a
            group for each period between them, named as in pandas. Times with a zone need start and
            end with a zone, whose clock decides. A time with a zone is in no group if start and end
            have none, and the other way round. For several Groupers a dict by name.
        delta : finds the keys in the data, in a session with a δ and without keys=. Shown are those
            whose noisy count of rows, or weight of units, reaches a public threshold (see
            `UnknownGroups`). Each answer spends this δ, and its intervals hold for each key by
            itself, given that it is shown.
        as_index : False makes columns of the labels, which otherwise are the index.
        sort : True sorts the labels; otherwise they are in declared order.
        observed : either, and it changes nothing: which keys have rows is private.
        dropna : False adds a last group of the rows whose label is missing, for one column.
        max_rows_per_key, max_keys : for units of several rows, the most rows of a unit that count
            in each group, and the most groups that it counts in. Keyed hashes choose among the rows
            that max_rows and filters leave, and the answers are about those chosen. Where rho is
            counted, max_rows_per_key=1 alone takes the noise of max_rows=30 from 30 to 5.5 at
            rho=0.5. Epsilon pays for all rows of a unit together: 3 with max_keys=3 beside it. A
            preview has the errors with and without. Counts, sums, means, spreads, covariances and
            numbers of units take limits (docs/proofs/limits_by_key.md).

        To group by the unit column, and others with it, is to ask for one row for each unit, or
        for what each row knows of its unit's others: see `per_unit` and `PerUnit`.

        >>> import pandas as pd, dppandas as dp
        >>> when = pd.to_datetime(["2024-01-05", "2024-02-07"] * 500)
        >>> p = dp.protect(pd.DataFrame({"when": when}), name="grouped")
        >>> p.groupby(p["when"].dt.month).size(epsilon=1).round(-2).head(3).to_dict()
        {1: 500, 2: 500, 3: 0}
        """
        limit = KeyLimit.parse(max_rows_per_key, max_keys)
        shown = labels_shown(by, as_index, sort, observed, dropna, delta)
        if keys is None and delta is None and (rest := self._units_and(by)) is not None:
            if limit is not None:
                raise QueryError(
                    "max_rows_per_key= and max_keys= limit how often a unit counts in groups by "
                    "declared keys. In groups of units, keep some rows of each: "
                    "frame.sort_values('when').groupby('person_id').head(1)."
                )
            if not dropna or range is not None:
                raise QueryError(
                    "groups of units take neither dropna=False nor range=: rows without a unit are "
                    "nobody's. Make missing labels a label before: "
                    "frame.assign(city=frame['city'].fillna('missing'))."
                )
            return self.per_unit(rest or None)._shown(as_index)
        return grouped_by(self, by, keys, range, shown, delta, dropna, limit)

    @hide_internals
    def resample(
        self,
        rule: Any,
        closed: Any = None,
        label: Any = None,
        *,
        on: Any = None,
        range: object = None,
        max_rows_per_key: object = None,
        max_keys: object = None,
    ) -> PrivateGroupBy[pd.DataFrame, pd.Series[Any]]:
        """Group rows by periods of a column of times: ``groupby(pd.Grouper(key=on, freq=rule))``.

        rule : the length of periods: D, W, MS, ME, QS, QE, YS, YE and others that `groupby` takes.
        on : the column of times; else the index of the protected table, if that is one of times.
        range : (start, end), as in `groupby`; else the declared bounds of the column. All periods
            between them have an answer.
        closed, label : as in pandas, but only their defaults make sense here.
        max_rows_per_key, max_keys : the most rows of a unit that count in a period, and the most
            periods that it counts in, as in `groupby`.

        >>> import pandas as pd, dppandas as dp
        >>> when = pd.to_datetime(["2024-01-05", "2024-02-07"] * 500)
        >>> p = dp.protect(pd.DataFrame({"when": when}), name="resampled")
        >>> by_month = p.resample("MS", on="when", range=("2024-01", "2024-03"))
        >>> by_month.size(epsilon=1).round(-2).tolist()
        [500, 500, 0]
        """
        times = self._table.times
        if on is None and times is None:
            example = 'resample("W", on="when", range=("2024-01-01", "2024-12-31"))'
            raise MissingArgument(f"the rows have no index of times, so on= is needed: {example}.")
        frame = self
        if on is None:
            on = times
            frame = self._with({**self._columns, times: Column(times)}, self._where)
        try:
            grouper = pd.Grouper(key=on, freq=rule, closed=closed, label=label)
        except (TypeError, ValueError):
            raise QueryError(
                f"resample can't use rule={quoted(rule)} or the options given. Write a frequency "
                'of pandas, such as "W" or "MS".'
            ) from None
        found = grouping(frame, grouper, None, range, "resample")
        limit = KeyLimit.parse(max_rows_per_key, max_keys)
        return PrivateGroupBy(frame, found.with_cells(frame._limited(found.cells, limit)))

    @release_method
    def partition(
        self, by: Any, keys: object = None, *, range: object = None
    ) -> dict[Any, PrivateFrame[Counted]]:
        """A private frame for the rows of each declared key: a dict, in declared order.

        by, keys, range : as in `groupby`: a column and a list of labels; or a list of columns with
            a dict of lists, or with a list of tuples, which are then the keys of the dict; else the
            declared domain's. Rows with other labels are in no frame.

        Questions to these frames compose in parallel, in any order, even if they depend on earlier
        answers. If each unit has one row, the ledger counts only the most expensive frame; if a
        unit has up to max_rows (times what explode and concat add), that many of the most expensive
        ones. Use `groupby` to ask all keys the same question for one loss, and this for different
        questions. The frames can be partitioned again. The same keys of the same rows make the same
        partition again; the losses of other partitions, and of masks, add up. ``per_unit()`` of
        such a frame reads all rows of a unit, so it is charged to the whole: partition its result
        instead.

        Raises `LineageError` for asserted frames, and `QueryError` for equal keys; nothing is
        charged then.

        *Guarantee*: nothing is released. Losses count as stated (parallel composition: McSherry,
        "Privacy Integrated Queries", SIGMOD 2009, Theorem 4; interleaved, adaptive, and for units
        of several rows: docs/proofs/parallel.md).

        >>> import pandas as pd, dppandas as dp
        >>> dp.reset(); _ = dp.session(epsilon=1)
        >>> df = pd.DataFrame({"sex": ["f", "m"] * 50, "age": range(100)})
        >>> people = dp.protect(df, name="parts", domain={"age": (0, 100)})
        >>> women, men = people.partition("sex", keys=["f", "m"]).values()
        >>> answers = women["age"].mean(epsilon=0.5), men.count(epsilon=0.25)
        >>> dp.ledger().spent
        0.5
        """
        return parts_of(self, by, keys, range)


PrivateTable._frame = PrivateFrame  # which methods such as .str.split make
