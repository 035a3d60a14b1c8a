"""The answers of a private column about its values: their counts, or which of them occur."""

from __future__ import annotations

import typing
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from ... import statistics
from ...columns.bins import binned, edges_within
from ...columns.columns import PrivateColumn
from ...columns.private_rows import keys_known
from ...errors import QueryError, quoted
from ...privacy.accounting.losses import NO_DELTA, AskOptions, Number, parse_delta
from ...release.answers.results import ReleasedFloat, ReleasedInt
from ...release.asking import release_method
from ...release.private import Table
from ...release.unreleased import Unreleased, UnreleasedLabels, UnreleasedMode
from ...release.ways import UNSAID, Ways
from ...rows.expressions import Column, Expression
from ...statistics import Cells, Count, KeyLimit, Layout, Statistic
from .arguments import index
from .summaries import Summaries


class Frequencies(
    PrivateColumn,
    Summaries[ReleasedInt, ReleasedFloat, "pd.Series[Any]", "pd.Series[Any]", ReleasedInt],
):
    """A private column that can be asked for its values, or for how often each occurs."""

    @typing.overload
    def nunique(self, dropna: bool = True, *, keys: object = None) -> Unreleased[ReleasedInt]: ...
    @typing.overload
    def nunique(
        self, dropna: bool = True, *, keys: object = None, **ways: Unpack[AskOptions]
    ) -> ReleasedInt: ...
    @release_method
    def nunique(
        self, dropna: bool = True, *, keys: object = None, **ways: Unpack[AskOptions]
    ) -> Any:
        """How many distinct values there are: an int. For the unit column, how many units have a
        row.

        dropna : False counts missing values as one more.
        keys : a list of labels; else the declared domain's. Then only these count, which needs less
            noise where a unit has more rows than there are keys. Without either all values count:
            equal ones once, whatever their types.

        *Guarantee*: epsilon-differential privacy of the unit, which can't have more values than
        rows: the noise is that of a count (docs/proofs/presence.md). Counts of units have
        sensitivity 1, no matter how many rows a unit has (docs/proofs/units.md).

        >>> import pandas as pd, dppandas as dp
        >>> visits = pd.DataFrame({"person": [*range(1000)] * 2, "city": ["Oslo", "Rome"] * 1000})
        >>> visits = dp.protect(visits, name="visits", unit="person", max_rows=2)
        >>> visits["person"].nunique(epsilon=1).round(-2)  # how many people
        1000
        >>> n = visits["city"].nunique(epsilon=1)
        >>> n.error(), dp.record(n).error_unit
        (6.0, 'values')
        """
        layout, options = Layout(integer=True), tuple[tuple[str, str], ...]()
        found, what = all_distinct(self._table, self._expression, keys, dropna, Cells(), layout)
        if found is None:
            cells = self._cells([self.name], keys)
            cells = cells if dropna else replace(cells, missing_cell=True)
            found, options = statistics.OccurringKeys(cells, layout), (("cells", cells.described),)
        return self._question(found, self._asks(what, (), *options))

    @typing.overload
    def unique(self, *, delta: Number = ...) -> Unreleased[pd.Index[Any]]: ...
    @typing.overload
    def unique(self, **ways: Unpack[AskOptions]) -> pd.Index[Any]: ...
    @release_method
    def unique(self, *, said: Ways = UNSAID, **ways: Unpack[AskOptions]) -> Any:
        """The labels that many units share, found in the data: a sorted Index of objects. It needs
        a session with a δ, and ``delta=``.

        Of units of one row, a label of n units is shown with the largest probability that the loss
        allows: with epsilon=1, delta=1e-5, above ½ from 12 units on. Units of several rows can have
        several labels, and then weigh less at each: with delta=1e-6 and 10 labels each, 71 units
        are needed. A label that nobody has is never shown. The ledger's ``expected`` says how many
        units a label needs to be shown with 95 %. Equal values are one label. For counts use
        `value_counts` without keys.

        *Guarantee*: (epsilon, delta)-differential privacy of the unit (Desfontaines et al., PoPETs
        2022, Theorem 1; docs/proofs/partition_selection.md), or in a session that counts ρ, rho
        with delta; for units of several rows by weights, if labels need fewer units so
        (docs/proofs/weighted_selection.md).

        >>> import pandas as pd, dppandas as dp
        >>> dp.reset(); _ = dp.session(epsilon=2, delta="1e-5")
        >>> cities = pd.Series(["Rome", "Oslo"] * 50, name="city")
        >>> cities.dp.unique(epsilon=1, delta="1e-5").tolist()
        ['Oslo', 'Rome']
        """
        delta = NO_DELTA if said.delta is None else parse_delta(said.delta)
        if said.give_loss and said.delta is None:
            self._nothing_to_find()
        layout = Layout(integer=True, index=pd.Index([]))
        statistic = statistics.Unique(Cells(), layout, (self._expression,), (self.name,), delta)
        return self._question(statistic, self._asks("unique"), UnreleasedLabels)

    def _nothing_to_find(self) -> None:
        """Refuse to find labels without a δ where they are known."""
        known = keys_known(self._table, self._expression)
        if known is not None:
            raise QueryError(
                f"the labels of {self.name!r} are declared ({len(known)} keys), so there are none "
                "to find. Count them by value_counts(epsilon=…), or how many of them occur by "
                "nunique(epsilon=…). To find labels all the same, give delta=."
            )

    @typing.overload
    def suggest_bounds(self) -> Unreleased[pd.Series[float]]: ...
    @typing.overload
    def suggest_bounds(self, **ways: Unpack[AskOptions]) -> pd.Series[float]: ...
    @release_method
    def suggest_bounds(self, **ways: Unpack[AskOptions]) -> Any:
        """Bounds for a column whose range nobody knows, and the share of values that they clip: a
        float Series under "lower", "upper", "clipped". The bounds are powers of two, or 0.

        Use them as ``bounds=found``, or make a frame that knows them by
        ``people.declare(age=found)``. With probability 0.975 they reach no further than the closest
        such bounds around all values, and each interval from 2^(e-1) to 2^e outside them holds at
        most 2w values, about 20/epsilon (``dp.record(found).expected`` states 2w). Numbers below
        2^-64 count as 0, and numbers above 2^128 are always outside. If no interval holds enough
        values, all three are NaN, which `bounds=` refuses. The record's ``.intervals()`` says where
        the closest bounds around all values lie and what share they clip, together with 95 %.

        *Guarantee*: epsilon-differential privacy of the unit; each value lies in one of 387 public
        cells, so the ℓ1 sensitivity is 1 a row (docs/proofs/ranges.md).

        >>> import pandas as pd
        >>> ages = pd.Series([20, 30, 40] * 100, name="age")
        >>> found = ages.dp.suggest_bounds(epsilon=1)
        >>> bool(found["lower"] <= 16), bool(found["upper"] >= 64)  # from 20 to 40
        (True, True)
        """
        labels = pd.Index(["lower", "upper", "clipped"])
        layout = Layout(integer=False, index=labels, name=self.name)
        statistic = statistics.BoundsHistogram(Cells(), layout, self._expression)
        return self._question(statistic, self._asks("bounds"))

    @typing.overload
    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        bins: Any = None,
        dropna: bool = True,
        *,
        keys: object = None,
        max_rows_per_key: int | None = None,
        max_keys: int | None = None,
        delta: Number = ...,
    ) -> Unreleased[pd.Series[Any]]: ...
    @typing.overload
    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        bins: Any = None,
        dropna: bool = True,
        *,
        keys: object = None,
        max_rows_per_key: int | None = None,
        max_keys: int | None = None,
        **ways: Unpack[AskOptions],
    ) -> pd.Series[Any]: ...
    @release_method
    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        bins: Any = None,
        dropna: bool = True,
        *,
        keys: object = None,
        max_rows_per_key: object = None,
        max_keys: object = None,
        said: Ways = UNSAID,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """How many rows have each declared key: a Series named "count" (or "proportion").

        keys : a list of labels; else the declared domain's. Rows with other values are dropped.
        bins : a number of equal bins over the declared bounds, or a list of edges: counts by
            interval, each with its right edge, and the first with both. The same as
            ``.cut(edges, include_lowest=True).value_counts()``.
        dropna : False adds a last cell for missing values.
        max_rows_per_key, max_keys : the most rows of a unit that count for a key, and the most keys
            that it counts for, which can lower the noise where units have several rows: see
            `PrivateFrame.groupby`.
        delta : finds the labels in the data, in a session with a δ and without keys. Shown are
            those whose noisy count reaches a public threshold, chosen so that labels of a single
            unit are shown with probability delta at most. The index always holds objects, one for
            equal values (whole numbers and truth values as int, text as str, zoned times in UTC),
            in order of their counts, then by label. Dropped are missing values, lists, and other
            values that can't be keys. Each interval holds for its own label, given that it is
            shown; it reaches down to 1 where noise may have lifted the label.

        *Guarantee*: epsilon-differential privacy of the unit; the keys are disjoint, so the ℓ1
        sensitivity is 1 a row (docs/proofs/counts.md). For labels found in the data,
        (epsilon, delta)-differential privacy (docs/proofs/thresholds.md).

        >>> import pandas as pd
        >>> pets = pd.Series(["cat"] * 500 + ["dog"] * 300, name="pet")
        >>> pets.dp.value_counts(keys=["cat", "dog", "emu"], epsilon=1).round(-2)
        pet
        cat    500
        dog    300
        emu      0
        Name: count, dtype: int64
        """
        flags = normalize, sort, ascending, dropna
        limit = KeyLimit.parse(max_rows_per_key, max_keys)
        if bins is None:
            return self._value_counts([self.name], keys, *flags, said.delta, limit)
        if keys is not None:
            raise QueryError("bins= makes the keys. Leave keys= out, or cut at edges of your own.")
        edges = edges_within(self._table, self.name, self._expression, bins, None, has_range=False)
        cut = self.cut(edges, include_lowest=True)
        asked = cut._value_counts([self.name], None, *flags, None, limit)
        named = list(pd.cut([], edges, include_lowest=True).categories)  # as pandas writes them
        intervals = pd.IntervalIndex(named if dropna else [*named, np.nan])
        layout = replace(asked.statistic.layout, index=intervals)
        return replace(asked, statistic=replace(asked.statistic, layout=layout))

    @typing.overload
    def hist(self, bins: Any = 10, range: Any = None) -> Unreleased[pd.Series[int]]: ...
    @typing.overload
    def hist(
        self, bins: Any = 10, range: Any = None, **ways: Unpack[AskOptions]
    ) -> pd.Series[int]: ...
    @release_method
    def hist(self, bins: Any = 10, range: Any = None, **ways: Unpack[AskOptions]) -> Any:
        """How many values lie in each of some public bins: an int Series by interval.

        bins : a list of rising edges, or a number of equal bins over a range, with edges of 12
            digits.
        range : (lower, upper), a public fact; else the declared bounds. It is never read from the
            data.

        As in `numpy.histogram`, a bin holds its left edge but not its right one, and only the last
        bin holds both. Values outside are dropped, and so are missing ones. The index is a
        pd.IntervalIndex that is closed on the left; it can't show that the last bin has its right
        edge too.

        *Guarantee*: epsilon-differential privacy of the unit; the bins are disjoint, so the ℓ1
        sensitivity is 1 a row (docs/proofs/counts.md).

        >>> import pandas as pd
        >>> ages = pd.Series([15, 30, 60], name="age")
        >>> ages.dp.hist(bins=4, range=(0, 100), epsilon=1).index[-1]
        Interval(75.0, 100.0, closed='left')
        """
        cells, said = binned(self._table, self.name, self._expression, bins, range)
        layout = Layout(integer=True, index=index(cells, [self.name]), name="count")
        return self._question(Count(cells, layout), self._asks("hist", (), ("bins", said)))

    @typing.overload
    def unattributed_histogram(self, *, keys: object = None) -> Unreleased[pd.Series[float]]: ...
    @typing.overload
    def unattributed_histogram(
        self, *, keys: object = None, **ways: Unpack[AskOptions]
    ) -> pd.Series[float]: ...
    @release_method
    def unattributed_histogram(self, *, keys: object = None, **ways: Unpack[AskOptions]) -> Any:
        """The counts of the declared keys from the largest to the smallest, without the labels: a
        float Series by rank from 1.

        Without labels, equal counts stand side by side and their noise averages out: over a
        thousand keys the squared error is often tens of times smaller than with `value_counts`.

        *Guarantee*: epsilon-differential privacy of the unit; sorted counts have ℓ1 sensitivity 1
        a row (Hay, Rastogi, Miklau and Suciu, "Boosting the accuracy of differentially private
        histograms through consistency", VLDB 2010; docs/proofs/unattributed_histogram.md).

        >>> import pandas as pd
        >>> pets = pd.Series(["cat"] * 500 + ["dog"] * 300, name="pet")
        >>> found = pets.dp.unattributed_histogram(keys=["cat", "dog", "emu"], epsilon=1)
        >>> found.round(-2).head(2).to_dict()
        {1: 500.0, 2: 300.0}
        """
        cells = self._cells([self.name], keys)
        ranks = pd.RangeIndex(1, len(cells) + 1, name="rank")
        layout = Layout(integer=False, index=ranks, name="count")
        statistic = statistics.UnattributedHistogram(cells, layout)
        what = self._asks("unattributed_histogram", (), ("cells", cells.described))
        return self._question(statistic, what)

    @typing.overload
    def mode(self, *, keys: object = None) -> Unreleased[pd.Series[Any]]: ...
    @typing.overload
    def mode(self, *, keys: object = None, **ways: Unpack[AskOptions]) -> pd.Series[Any]: ...
    @release_method
    def mode(self, *, keys: object = None, **ways: Unpack[AskOptions]) -> Any:
        """The most frequent of the declared keys: a Series with one entry, like Series.mode.

        *Guarantee*: epsilon-differential privacy of the unit, by permute-and-flip
        (docs/proofs/permute_and_flip.md).
        """
        cells = self._cells([self.name], keys)
        statistic = Count(cells, Layout(integer=True, index=index(cells, [self.name])))
        what = self._asks("mode", (), ("cells", cells.described))
        return self._question(statistic, what, UnreleasedMode)


def all_distinct(
    table: Table, expression: Expression, keys: object, dropna: object, cells: Cells, layout: Layout
) -> tuple[Statistic | None, str]:
    """The number of units or of all distinct values in each cell, and what a query's text calls it;
    None where keys are known, so that only these count."""
    if not isinstance(dropna, bool):
        raise QueryError(f"dropna={quoted(dropna)} must be True or False.")
    unit = table.source.unit.column
    is_unit = unit is not None and isinstance(expression, Column) and expression.name == unit
    if keys is None and is_unit:
        return statistics.Distinct(cells, layout), "nunique"
    what = "nunique" if dropna else "nunique with missing"
    if keys is None and keys_known(table, expression) is None:
        return statistics.DistinctValues(cells, layout, expression, dropna), what
    if cells.by and not dropna:
        raise QueryError(
            "dropna=False by group counts missing values only where no keys are declared. Leave it "
            "out, or ask each group's rows, as in frame.query(…)['city'].nunique(dropna=False)."
        )
    return None, what
