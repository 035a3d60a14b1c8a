"""The pandas-shaped face of a table about people: `PrivateFrame`.

Argument shaping only. Each method turns what pandas users write into a statistic over row-wise
expressions; what is computed, charged and noised is decided on the road behind `release`.
"""

from __future__ import annotations

from html import escape
from typing import Any, Self, Unpack

import pandas as pd

from ..columns import refusals
from ..columns.private_rows import once
from ..errors import QueryError, hide_internals, quoted
from ..privacy.accounting.losses import ReleaseOptions, gives_loss, parse_delta, with_options_named
from ..release.asking import release_method
from ..rows.expressions import Column, Declared
from ..rows.facts.bounds import Bounds
from ..rows.facts.domain import Declaration, parse_domain
from ..rows.facts.keys import Keys
from ..rows.facts.spans import Span
from ..rows.facts.units import MOST_ROWS
from ..rows.query_string import lookup
from ..statistics import Cells, Layout, Truncation
from .crosstab import names_of
from .frame_answers import FrameAggregations
from .groupby import PrivateGroupBy, UndeclaredCells, UnknownGroups
from .partitions import cells_of, parts_of
from .series import PrivateSeries
from .tables import PerUnit


class PrivateFrame(FrameAggregations):
    """Rows about people that answer only through releases. It shows its schema, never its rows."""

    # what is public

    @release_method
    def describe(
        self, *, bounds: object = None, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """The public schema: each column with the kind, bounds or keys declared for it. With
        epsilon= (or bounds=) pandas' eight figures of each column: a DataFrame.

        bounds : as in `mean`. Count, mean and deviation come from one release with three eighths of
            the loss; min and max (quantiles near them) and the quartiles from one with the rest.
            ``dp.record(result).components`` has the records.

        *Guarantee*: differential privacy of the unit; the parts' losses add up to epsilon exactly
        (docs/proofs/variances.md). The schema is public.
        """
        if bounds is not None or gives_loss(epsilon, more):
            self._some_columns()
            return self._described(bounds, epsilon, **more)
        declared = [self._table.declared(expression) for expression in self._columns.values()]
        held = [e.held if isinstance(e, Declared) else "" for e in self._columns.values()]
        return pd.DataFrame(
            {
                **({"kind": held} if any(held) else {}),
                "bounds": [str(d) if isinstance(d, Bounds | Span) else "" for d in declared],
                "keys": [str(d) if isinstance(d, Keys) else "" for d in declared],
            },
            index=pd.Index(list(self._columns), name="column", tupleize_cols=False),
        )

    @hide_internals
    def declare(self, facts: object = None, /, **columns: object) -> Self:
        """A new frame that knows more public facts: bounds or keys of columns that had none.

        facts : a dict, for names that are no identifiers: ``declare({"my age": (0, 120)})``.
        columns : for each column a (lower, upper) tuple, what `suggest_bounds` answered, or a list
            of keys, as ``domain=`` of `dppandas.protect` takes them.

        This frame stays as it is, and so do others: what was asked of them keeps its key, and is
        replayed when a cell is run again. The facts that hold are those of the frame that is asked,
        also where columns of another frame of the same rows are used; `dppandas.concat` and
        `dppandas.crosstab` join them.

        Raises `SourceError` for facts that contradict what was declared of the source before, by
        whatever frame, and `QueryError` for columns that are computed from others: of these their
        expression says what holds, as ``.clip(0, 1)``, ``.cut(…)`` and ``.map(…)`` do.

        *Guarantee*: nothing is computed or released. Facts are assertions of yours, or made of what
        was released; where they are wrong answers are off, and no promise is broken.

        >>> import pandas as pd, dppandas as dp
        >>> people = dp.protect(pd.DataFrame({"age": [20, 30, 40] * 99}), name="known")
        >>> people = people.declare(age=(0, 120))
        >>> people["age"].mean()
        <unreleased mean of age in (0, 120), from known (verified): nothing computed or charged; \
ask .release(epsilon=…)>
        """
        parsed = [parse_domain(given, list(self._columns), "declare") for given in (facts, columns)]
        twice = [name for name in parsed[0] if name in parsed[1]]
        if twice:
            raise QueryError(f"declare names {quoted(twice[0])} twice.")
        return self._with_table(self._table.declaring(self._of_source(parsed[0] | parsed[1])))

    def _of_source(self, declared: dict[Any, Declaration]) -> dict[Any, Declaration]:
        """What is declared of columns here as facts about those of the source."""
        found: dict[Any, Declaration] = {}
        for name, fact in declared.items():
            column = self._columns[name]
            if not isinstance(column, Column):
                raise QueryError(
                    f"{quoted(name)} is computed from other columns, and no column of the source: "
                    "say what holds where it is computed, as in .clip(0, 1) for bounds and "
                    ".map({…}) or .cut([…]) for keys, or declare the columns that it is made of."
                )
            if repr(found.setdefault(column.name, fact)) != repr(fact):
                raise QueryError(f"declare says two things of column {quoted(name)}.")
        return found

    @hide_internals
    def __repr__(self) -> str:
        source = self._table.source
        rows_kept = "" if self._where is None else f"\nrows where {self._where}"
        return (
            f"<private frame of {source.name} ({source.lineage}), protecting {source.unit}>"
            f"{rows_kept}\n{self.describe().to_string()}"
        )

    def _repr_html_(self) -> str:
        source = self._table.source
        rows_kept = "" if self._where is None else f" · rows where {self._where}"
        head = f"private frame of {source.name} ({source.lineage}), protecting {source.unit}"
        return f"<div><p>{escape(head + rows_kept)}</p>{self.describe().to_html()}</div>"

    @hide_internals
    def __contains__(self, name: object) -> bool:
        return name in self._columns

    @hide_internals
    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(c for c in self._columns if isinstance(c, str))]

    @hide_internals
    def __getattr__(self, name: str) -> PrivateSeries:
        if not name.startswith("_") and name in self._columns and name not in refusals.VERBS:
            return PrivateSeries(self._table, name, self._columns[name], self._where)
        if name.startswith("_"):
            raise AttributeError(name)
        answers = (
            "count, size, sum, mean, var, std, median, quantile, min, max, cov, corr, "
            "value_counts, idxmax, agg, describe, "
        )
        answers += "crosstab, pivot_table, groupby, partition, per_unit and truncation_shares"
        raise refusals.refuse("private frames", name, answers, self._columns)

    # units

    @hide_internals
    def per_unit(self) -> PerUnit[PrivateFrame]:
        """One row for each unit: ``per_unit().agg(spend=("amount", "sum"))``. See `PerUnit`."""
        if self._table.source.unit.column is None:
            raise QueryError(
                "each row is one unit here. per_unit() is for a source with a unit column: "
                'dp.protect(df, …, unit="person_id", max_rows=…).'
            )
        return PerUnit(self)

    @release_method
    def truncation_shares(
        self, *, counted: int | None = None, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """The shares of rows that max_rows keeps and drops: what truncation changes.

        counted : a unit's rows are counted up to this public number, by default 10 * max_rows; the
            noise grows with it. No interval includes what truncation changes, so this pays for a
            look at it. The result is a Series under "kept" and "dropped".

        *Guarantee*: epsilon-differential privacy of the unit, with ℓ1 sensitivity `counted`
        (docs/proofs/units.md).
        """
        if self._table.source.unit.column is None:
            raise QueryError(
                "each row is one unit here, and max_rows drops none: truncation_shares() is for a "
                'source with a unit column, dp.protect(df, …, unit="person_id", max_rows=…).'
            )
        most = self._table.source.unit.max_rows
        name = next(n for n in ("rows", "rows_") if n != self._table.source.unit.column)
        per_unit = self.per_unit().agg(**{name: "size"})
        up_to = 10 * most if counted is None else counted
        if isinstance(up_to, bool) or not isinstance(up_to, int) or not most < up_to <= MOST_ROWS:
            raise QueryError(f"counted={quoted(counted)} must be a whole number above {most}.")
        labels = pd.Index(["kept", "dropped"], name="rows")
        layout = Layout(integer=False, index=labels, name="proportion")
        statistic = Truncation(Cells(), layout, per_unit._columns[name], most, up_to)
        return per_unit._answer(
            statistic, f"rows beyond max_rows={most}, of {up_to}", epsilon, **more
        )

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
    ) -> PrivateGroupBy:
        """Group rows by declared keys of a column, or of several.

        keys : for one column a list; for several a dict with a list for each (their product) or a
            list of tuples; else the declared domain's. Rows outside the keys are dropped. Groups
            come in declared order, all of them: which groups have rows is private.
        delta : in a session with a δ, and without keys: keys are found in the data, and those told
            whose noisy count reaches a public threshold (see `UnknownGroups`); each answer spends
            this δ. Intervals hold for each key by itself, given that it is told.

        by : a name, or a ``pd.Grouper(key="when", freq="MS")``. freq is D, W, MS, ME, QS, QE, YS,
            YE, or hours, minutes or seconds that divide a day: pandas counts others from the first
            row.
        range : of a Grouper, (start, end), two times: a group for each period from that of start to
            that of end, called as pandas calls it. Times with a zone need start and end with one,
            whose clock then decides; what has a zone where they have none, or none where they have
            one, is in no group. Of several Groupers a dict by name.

        as_index, sort, observed, dropna : as in pandas, but only with the values shown, which are
            the ones that make sense; another one raises `QueryError` and says what to do instead.
        """
        for given, only, instead in (
            (as_index, True, "as_index=False: call .reset_index() on the result"),
            (sort, False, "sort=True: call .sort_index() on the result, or sort keys="),
            (observed, False, "observed=True: which keys have rows is private"),
            (dropna, True, "dropna=False: missing labels are in no group; fill them before"),
        ):
            if given is not only:
                raise QueryError(f"{instead}.")
        names = names_of(by)
        if not names:
            raise QueryError("groupby needs at least one column.")
        if delta is not None:
            if range is not None or not self._are_unknown(names, keys, delta):
                raise QueryError("delta= is for keys that nobody declared, and these are declared.")
            once(names)
            self._some_columns()
            by = tuple(lookup(name, self._columns) for name in names)
            return UnknownGroups(self, names, UndeclaredCells(by, delta=parse_delta(delta)), None)
        names, cells = cells_of(self, by, keys, range, "groupby")
        return PrivateGroupBy(self, names, cells, None)

    @release_method
    def partition(
        self, by: Any, keys: object = None, *, range: object = None
    ) -> dict[Any, PrivateFrame]:
        """Private frames of the rows of each declared key: a dict, in declared order.

        by, keys, range : as in `groupby`: a column and a list of labels, or a list of columns and a
            dict of lists, or a list of tuples, which then name the parts; else the declared
            domain's. Rows with other labels are in no part.

        What is asked of parts composes in parallel, in whatever order, whatever it is, and however
        it is chosen by what came before: where a unit has one row, the ledger counts the dearest
        part; where it has up to max_rows (times what explode and concat make of them), the dearest
        so many. `groupby` asks the same of each key for one loss; this is for different questions.
        Parts can be partitioned again. The same keys of the same rows are the same partition when
        it is made again; other partitions, and masks, add up. ``per_unit()`` of a part reads all
        rows of a unit, so that its charges count for the whole: partition what it returns instead.

        Raises `LineageError` for asserted frames, and `QueryError` for keys of which two are equal;
        nothing is charged then.

        *Guarantee*: nothing is released; the losses of parts count as said (parallel composition:
        McSherry, "Privacy Integrated Queries", SIGMOD 2009, Theorem 4; interleaved, adaptive, and
        for units of several rows: docs/proofs/parallel.md).

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


@with_options_named
@hide_internals
def crosstab(
    index: Any,
    columns: Any,
    *,
    keys: object = None,
    normalize: bool | str = False,
    margins: bool = False,
    margins_name: str = "All",
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> Any:
    """`PrivateFrame.crosstab`, spelled like `pandas.crosstab`: of private columns or lists of them.

    *Guarantee*: as there (docs/proofs/tables.md).

    >>> import pandas as pd, dppandas as dp
    >>> p = dp.private(pd.DataFrame({"a": [1, 2], "b": [3, 3]}), unit="row")
    >>> dp.crosstab(p["a"], p["b"], keys={"a": [1, 2], "b": [3, 4]})
    <unreleased crosstab of a by b (4 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…)>
    """
    sides = []
    for given, name in ((index, "row"), (columns, "col")):
        side = given if isinstance(given, list | tuple) else [given]
        if not side or not all(isinstance(each, PrivateSeries) for each in side):
            raise QueryError(
                "dp.crosstab takes private columns, or lists of them; pandas.crosstab takes plain "
                "ones."
            )
        sides.append([(f"{name}_{i}" if s.name is None else s.name, s) for i, s in enumerate(side)])
    named = [pair for side in sides for pair in side]
    if len({name for name, _ in named}) < len(named):
        raise QueryError("two of these columns have one name; rename one.")
    first = named[0][1]
    facts = {c: fact for _, each in named for c, fact in each._table.source.domain.items()}
    table = PrivateFrame(
        first._table.knowing(facts),
        {name: first._other(column) for name, column in named},
        first._where,
    )
    return table.crosstab(
        [name for name, _ in sides[0]], [name for name, _ in sides[1]],
        keys=keys, normalize=normalize, margins=margins, margins_name=margins_name,
        epsilon=epsilon, **more,
    )  # fmt: skip
