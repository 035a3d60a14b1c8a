"""How often which values of one private column occur."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import pandas as pd

from ...columns.bins import binned
from ...columns.columns import PrivateColumn
from ...errors import QueryError
from ...privacy.accounting.losses import NO_DELTA, ReleaseOptions, parse_delta
from ...release.asking import release_method
from ...release.private import Table
from ...release.unreleased import UnreleasedLabels, UnreleasedMode
from ...rows.expressions import Column, Expression
from ...rows.facts.keys import Keys
from ...statistics import (
    BoundsHistogram,
    Cells,
    Count,
    Distinct,
    Layout,
    OccurringKeys,
    UnattributedHistogram,
    Unique,
)
from .arguments import index
from .summaries import Summaries


class Frequencies(PrivateColumn, Summaries):
    """What a column answers by its values: counts of them, or which there are."""

    @release_method
    def nunique(
        self, *, keys: object = None, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """How many of the declared keys have a row: an int. Of the unit column without keys: how
        many units have a row.

        keys : a list of labels; else the declared domain's. Other values don't count.

        *Guarantee*: epsilon-differential privacy of the unit, which brings at most as many keys as
        it has rows (docs/proofs/presence.md); counts of units have sensitivity 1 however many rows
        a unit has (docs/proofs/units.md).

        >>> import pandas as pd
        >>> cities = pd.Series(["Rome", "Oslo"] * 50, name="city")
        >>> n = cities.dp.nunique(keys=["Rome", "Oslo", "Bonn"], epsilon=1)
        >>> 0 <= n <= 3
        True
        """
        if counts_units(self._table, self._expression, keys):
            units = Distinct(Cells(), Layout(integer=True))
            return self._answer(units, f"nunique of {self._expression}", epsilon, **more)
        cells = self._cells([self.name], keys)
        what = f"nunique of {self._expression} ({cells.described})"
        return self._answer(OccurringKeys(cells, Layout(integer=True)), what, epsilon, **more)

    @release_method
    def unique(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Any:
        """The labels that many units have, found in the data: an Index of objects, in order of the
        labels. It needs a session with a δ, and ``delta=``.

        A label that n units have is told with the probability π(n), the largest that the loss
        allows: for epsilon=1 and delta=1e-5 above ½ from 12 units on, where each has one row. No
        count is told; `value_counts` without keys does. Equal values are one label, as there. A
        label that nobody has is never told; ``expected`` of the ledger says how many units a label
        needs for being told with 95 %.

        *Guarantee*: (epsilon, delta)-differential privacy of the unit (Desfontaines et al., PoPETs
        2022, Theorem 1; docs/proofs/partition_selection.md).

        >>> import pandas as pd, dppandas as dp
        >>> dp.reset(); _ = dp.session(epsilon=2, delta="1e-5")
        >>> cities = pd.Series(["Rome", "Oslo"] * 50, name="city")
        >>> cities.dp.unique(epsilon=1, delta="1e-5").tolist()
        ['Oslo', 'Rome']
        """
        delta = NO_DELTA if more.get("delta") is None else parse_delta(more.get("delta"))
        layout = Layout(integer=True, index=pd.Index([]))
        statistic = Unique(Cells(), layout, (self._expression,), (self.name,), delta)
        what = f"unique of {self._expression}"
        return self._answer(statistic, what, epsilon, UnreleasedLabels, **more)

    @release_method
    def suggest_bounds(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Any:
        """Bounds for a column whose range nobody knows: powers of two (or 0) around the values,
        and the share of values that they clip: a float Series under "lower", "upper", "clipped".

        ``bounds=found`` uses them, and ``people.declare(age=found)`` makes a frame that knows them;
        asking changes nothing. With probability 0.975 they reach no further than
        the closest such bounds around all values, and each power of two (from 2^(e-1) to 2^e)
        outside them has no more than 2w values, where w is the width of noise that
        ``dp.record(found).expected`` states doubled: about 24/epsilon values. Numbers below 2^-64
        count as 0, and none above 2^128 is within. Where no power of two has enough values all
        three are NaN, which `bounds=` refuses. ``.intervals()`` of the record says where the
        closest bounds around all values lie, and what share these clip, together with 95 %.

        *Guarantee*: epsilon-differential privacy of the unit; a value lies in one of 387 public
        cells, ℓ1 sensitivity 1 a row (docs/proofs/ranges.md).

        >>> import pandas as pd
        >>> ages = pd.Series([20, 30, 40] * 100, name="age")
        >>> found = ages.dp.suggest_bounds(epsilon=1)
        >>> list(found.index)
        ['lower', 'upper', 'clipped']
        """
        layout = Layout(
            integer=False, index=pd.Index(["lower", "upper", "clipped"]), name=self.name
        )
        statistic = BoundsHistogram(Cells(), layout, self._expression)
        return self._answer(statistic, f"bounds of {self._expression}", epsilon, **more)

    @release_method
    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        *,
        keys: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """How many rows have each declared key: a Series named "count" ("proportion").

        keys : a list of labels; else the declared domain's. Rows with other values are dropped.
        dropna : False adds a last cell for missing values.
        delta : in a session with a δ, and without keys: labels are found in the data, and those
            told whose noisy count reaches a public threshold, the least for which no unit's own
            labels are told with a probability above delta. The index holds objects always: one
            label for equal values (whole numbers and truth values as int, text as str, zoned times
            in UTC); in order of their counts, then by label. Missing values are dropped, and
            lists and other values that can't be keys. Each interval holds by itself, given that
            its label is told: where noise may have lifted the label it goes down to 1.

        *Guarantee*: epsilon-differential privacy of the unit; the keys are disjoint, so the ℓ1
        sensitivity is 1 a row (docs/proofs/counts.md). For labels that are found, (epsilon, delta)
        (docs/proofs/thresholds.md).

        >>> import pandas as pd
        >>> s = pd.Series(["a", "b", "a"], name="x")
        >>> s.dp.value_counts(keys=["a", "b"], sort=False, epsilon=1).index.tolist()
        ['a', 'b']
        """
        if self._are_unknown([self.name], keys, more.get("delta")):
            flags = {"normalize": normalize, "sort": sort, "ascending": ascending}
            return self._found([self.name], {**flags, "dropna": dropna}, epsilon, **more)
        cells = self._cells([self.name], keys)
        if not dropna:
            cells = replace(cells, missing_cell=True)
        return self._histogram(cells, [self.name], normalize, sort, ascending, epsilon, **more)

    @release_method
    def hist(
        self,
        bins: Any = 10,
        range: Any = None,
        *,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """How many values lie in each of some public bins: an int Series by interval.

        bins : a list of rising edges, or a whole number of equal bins over a range.
        range : (lower, upper), a public fact; else the declared bounds. It is never read from the
            data.

        As in `numpy.histogram`, a bin holds its left edge and not its right one, but for the last,
        which holds both; values outside are dropped, and so are missing ones. The index is a
        pd.IntervalIndex closed on the left, in order: it has one way to be closed for all, and so
        can't show that the last bin has its right edge too.

        *Guarantee*: epsilon-differential privacy of the unit; the bins are disjoint, so the ℓ1
        sensitivity is 1 a row (docs/proofs/counts.md).

        >>> import pandas as pd
        >>> ages = pd.Series([15, 30, 60], name="age")
        >>> ages.dp.hist(bins=4, range=(0, 100), epsilon=1).index[-1]
        Interval(75.0, 100.0, closed='left')
        """
        cells, said = binned(self._table, self.name, self._expression, bins, range)
        layout = Layout(integer=True, index=index(cells, [self.name]), name="count")
        what = f"hist of {self._expression} ({said})"
        return self._answer(Count(cells, layout), what, epsilon, **more)

    @release_method
    def unattributed_histogram(
        self, *, keys: object = None, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """How popular the most popular key is, the second, and so on, without telling which they
        are: the counts of the declared keys in descending order, a float Series by rank from 1.

        Told without labels, equal counts stand side by side and their noise averages out: over a
        thousand keys the squared error is often tens of times less than that of `value_counts`.

        *Guarantee*: epsilon-differential privacy of the unit; sorted counts have ℓ1 sensitivity 1
        a row (Hay, Rastogi, Miklau and Suciu, "Boosting the accuracy of differentially private
        histograms through consistency", VLDB 2010; docs/proofs/unattributed_histogram.md).

        >>> import pandas as pd
        >>> pets = pd.Series(["cat"] * 50 + ["dog"] * 50, name="pet")
        >>> pets.dp.unattributed_histogram(keys=["cat", "dog", "emu"], epsilon=1).index.tolist()
        [1, 2, 3]
        """
        cells = self._cells([self.name], keys)
        ranks = pd.RangeIndex(1, len(cells) + 1, name="rank")
        statistic = UnattributedHistogram(cells, Layout(integer=False, index=ranks, name="count"))
        what = f"unattributed_histogram of {self._expression} ({cells.described})"
        return self._answer(statistic, what, epsilon, **more)

    @release_method
    def mode(
        self, *, keys: object = None, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """The most frequent of the declared keys, as a Series of one, like Series.mode.

        *Guarantee*: epsilon-differential privacy of the unit, by permute-and-flip
        (docs/proofs/permute_and_flip.md).
        """
        cells = self._cells([self.name], keys)
        statistic = Count(cells, Layout(integer=True, index=index(cells, [self.name])))
        what = f"mode of {self._expression} ({cells.described})"
        return self._answer(statistic, what, epsilon, UnreleasedMode, **more)


def counts_units(table: Table, expression: Expression, keys: object) -> bool:
    """Whether nunique counts units, and not declared keys. Refuses where it could be neither."""
    unit = table.source.unit.column
    is_unit = unit is not None and isinstance(expression, Column) and expression.name == unit
    if keys is not None or (not is_unit and isinstance(table.declared(expression), Keys)):
        return False
    if not is_unit:
        what = f"the unit {unit!r}" if unit is not None else "a unit column, which dp.protect names"
        raise QueryError(
            f"nunique counts the values of {what}: which values another column has is private; "
            "declare keys and ask nunique(keys=[…])."
        )
    return True
