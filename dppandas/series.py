"""One private column, or a mask made from private columns."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn, Unpack

import pandas as pd

from . import refusals
from .asking import asks
from .bins import binned
from .budget import NO_DELTA, More, parse_delta
from .columns import PrivateColumn
from .domain import Bounds, Keys
from .errors import QueryError, is_one_of, quiet, shown
from .measuring import bounds_of, measured, range_of
from .private import Root
from .rows import Column, Expression, Outside
from .shaping import checked_ddof, index, pearson, quantiles_of, trim_of
from .statistics import (
    Cells,
    Count,
    Covariance,
    Distinct,
    Layout,
    Magnitudes,
    Popularity,
    Present,
    SmoothQuantile,
    TrimmedMean,
    Unique,
)
from .summaries import Summaries
from .together import Name
from .unreleased import UnreleasedLabels, UnreleasedMode

#: Of a longer expression the ledger tells the beginning, and the name of the column.
LONGEST = 60


class PrivateSeries(PrivateColumn, Summaries):
    """One column of private rows, or a mask made from them."""

    def __repr__(self) -> builtins.str:
        source = self._root.source
        filtered = "" if self._where is None else f" where {self._where}"
        return f"<private column {self._expression} of {source.name} ({source.lineage}){filtered}>"

    def __getattr__(self, name: builtins.str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        answers = (
            "count, sum, mean, trimmed_mean, var, std, median, quantile, min, max, value_counts, "
            "mode, hist, popularity, nunique, unique, cov, corr, agg, describe, clipped and "
            "suggest_bounds"
        )
        raise refusals.refuse("private columns", name, answers)

    def _operands(self) -> dict[Any, Expression]:
        return {self.name: self._expression}

    def _shape(self, integer: bool) -> Layout:
        return Layout(integer=integer, name=self.name)

    def _titled(self, what: builtins.str, bounds: Sequence[Bounds] = ()) -> builtins.str:
        within = "".join(f" in {bound}" for bound in bounds)
        made = str(self._expression)
        if len(made) > LONGEST and self.name is not None:
            made = f"{Column(self.name)} = {made[:LONGEST]}…"
        return f"{what} of {made}{within}"

    def _by_column(self, value: Any) -> dict[Any, Any]:
        return {self.name: value}

    def _gathered(self, values: dict[Name, Any], flat: bool) -> Any:
        names = pd.Index([name for _, name in values])
        return pd.Series(list(values.values()), index=names, name=self.name)

    # answers of a column alone

    @asks
    def describe(
        self, *, bounds: object = None, epsilon: object = None, **more: Unpack[More]
    ) -> Any:
        """pandas' eight figures of the values, clipped to bounds: a Series.

        Count, mean and deviation come from one release with three eighths of the loss; min and max
        (quantiles near them) and the quartiles from one with the rest. ``dp.records(result)`` has
        the records.

        *Guarantee*: differential privacy of the unit; the parts' losses add up to epsilon exactly
        (docs/proofs/variances.md).

        >>> import pandas as pd
        >>> pd.Series([20, 30, 40] * 99).dp.describe(bounds=(0, 60), epsilon=1).index.tolist()[:3]
        ['count', 'mean', 'std']
        """
        return self._described(bounds, epsilon, **more)

    @asks
    def median(
        self,
        *,
        bounds: object = None,
        step: object = None,
        method: object = "exponential",
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """The median of the values, clipped to bounds: `quantile` of one half.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md;
        docs/proofs/smooth.md).

        >>> import pandas as pd
        >>> m = pd.Series([20, 30, 40] * 100).dp.median(bounds=(0, 60), epsilon=1)
        >>> 0 <= m <= 60, m.error()
        (True, 24.0)
        """
        if self._is_smooth(method):
            return self._smoothly("median", 0.5, bounds, epsilon, **more)
        return super().median(bounds=bounds, step=step, epsilon=epsilon, **more)

    @asks
    def quantile(
        self,
        q: object = 0.5,
        *,
        bounds: object = None,
        step: object = None,
        method: object = "exponential",
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """Values below which a share q of the values lies, clipped to bounds. Missing values are
        left out. For a list of shares they are the index, as in pandas.

        q, bounds, step : as for the columns of a frame (`Answers.quantile`).
        method : "exponential" chooses a point by its rank. "smooth" adds noise to the value of rank
            ⌈qn⌉, the wider the more a few rows could change it. It is better only where many values
            are equal or lie in few places; it takes one q, knows no error, and is experimental
            (`dp.allow_experimental`): its noise is made of floats, of whose rounding nothing is
            proven.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md); for "smooth" of
        real numbers, by smooth sensitivity (Nissim, Raskhodnikova and Smith, STOC 2007;
        docs/proofs/smooth.md).

        >>> import pandas as pd, dppandas as dp
        >>> dp.allow_experimental()
        >>> ages = pd.Series([20] * 500 + [60] * 100)
        >>> bool(abs(ages.dp.median(bounds=(0, 100), method="smooth", epsilon=1) - 20) < 1)
        True
        """
        if self._is_smooth(method):
            return self._smoothly("quantile", q, bounds, epsilon, **more)
        return super().quantile(q, bounds=bounds, step=step, epsilon=epsilon, **more)

    def _is_smooth(self, method: object) -> bool:
        if not is_one_of(method, ("exponential", "smooth")):
            raise QueryError(
                f"method={shown(method)} must be 'exponential' or 'smooth'. Nothing was charged."
            )
        return method == "smooth"

    def _smoothly(
        self,
        what: builtins.str,
        q: object,
        bounds: object,
        epsilon: object,
        **more: Unpack[More],
    ) -> Any:
        shares, label = quantiles_of(q)
        if isinstance(label, list):
            raise QueryError('method="smooth" takes a single q. Nothing was computed or charged.')
        operands, parsed = self._numbers(bounds)
        layout = self._shape(integer=False)
        statistic = SmoothQuantile(self._groups, layout, operands, parsed, shares)
        said = what if what == "median" else f"{what} {label:g}"
        return self._answer(statistic, self._titled(f"smooth {said}", parsed), epsilon, **more)

    @asks
    def trimmed_mean(
        self,
        *,
        trim: object = None,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """The mean of the values without the smallest and the largest: a float, with noise that is
        the wider the more a few rows could change it. Missing values are left out, others clipped
        to bounds. With 2·trim values or fewer, noise around the middle of the bounds.

        trim : how many rows are left out at each end, a public number: not a share, for how many
            there are is private. Where bounds are far beyond the values, take some
            (5/epsilon)·ln(how many times wider they are); times max_rows where units have several
            rows. With fewer `mean` is better.

        There is neither an error nor an interval: both would tell what is private. Experimental
        (`dp.allow_experimental`): its noise is made of floats, of whose rounding nothing is proven.

        *Guarantee*: differential privacy of the unit, and of how many values there are; of real
        numbers, by smooth sensitivity (Nissim, Raskhodnikova and Smith, STOC 2007). The bound on it
        where rows are added and removed is derived in docs/proofs/smooth.md.

        >>> import pandas as pd, dppandas as dp
        >>> dp.allow_experimental()
        >>> incomes = pd.Series([20, 30, 40] * 300 + [10**6] * 9)
        >>> m = incomes.dp.trimmed_mean(trim=99, bounds=(0, 10**6), epsilon=1)
        >>> bool(abs(m - 30) < 10)
        True
        """
        cut = trim_of(trim)
        operands, parsed = self._numbers(bounds)
        layout = self._shape(integer=False)
        statistic = TrimmedMean(self._groups, layout, operands, parsed, trim=cut)
        title = self._titled(f"trimmed mean ({cut} rows at each end)", parsed)
        return self._answer(statistic, title, epsilon, **more)

    @asks
    def clipped(
        self, *, bounds: object = None, epsilon: object = None, **more: Unpack[More]
    ) -> Any:
        """The shares of values below, inside and above bounds: what clipping would change.

        No interval of a sum or mean includes that change, so this pays for a look at it. The
        result is a Series under "below", "inside", "above".

        *Guarantee*: epsilon-differential privacy of the unit; a value lies in one of three places,
        ℓ1 sensitivity 1 a row (docs/proofs/counts.md).

        >>> import pandas as pd
        >>> ages = pd.Series([20, 30, 400] * 100, name="age")
        >>> ages.dp.clipped(bounds=(0, 99), epsilon=1).index.tolist()
        ['below', 'inside', 'above']
        """
        found = range_of(self._root, self.name, self._expression, bounds)
        (expression,), (bound,) = measured((self._expression,), (found,))
        keys = Keys(Outside.labels)
        cells = Cells((Outside(expression, bound),), keys)
        names = pd.Index(keys.labels, name=self.name)
        layout = Layout(integer=False, index=names, name="proportion")
        statistic = Count(cells, layout, share_of=len(keys))
        return self._answer(
            statistic, f"values of {self._expression} outside {bound}", epsilon, **more
        )

    @asks
    def cov(
        self,
        other: Any,
        ddof: int = 1,
        *,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """The covariance with another private column of the same rows: a float.

        bounds : (lower, upper) for both, or a dict by name; else the declared domain's. Of rows
            that have both values; ddof as in pandas.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/covariances.md).

        >>> import pandas as pd
        >>> p = pd.DataFrame({"a": [1, 2, 3, 4] * 99, "b": [4, 4, 2, 1] * 99}).dp
        >>> type(p["a"].cov(p["b"], bounds=(0, 5), epsilon=1).interval())
        <class 'tuple'>
        """
        return self._with_other("cov", other, ddof, bounds, epsilon, **more)

    @asks
    def corr(
        self,
        other: Any,
        method: builtins.str = "pearson",
        *,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """The correlation with another private column of the same rows: a float from -1 to 1.

        bounds : as in `cov`. What can't be told from noise is 0.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/covariances.md).
        """
        pearson(method)
        return self._with_other("corr", other, 1, bounds, epsilon, **more)

    def _with_other(
        self,
        what: builtins.str,
        other: Any,
        ddof: object,
        bounds: object,
        epsilon: object,
        **more: Unpack[More],
    ) -> Any:
        if not isinstance(other, PrivateSeries):
            raise QueryError(
                f"{what} takes a private column of the same rows, as in p['a'], p['b']."
            )
        operands = (self._expression, self._other(other))
        names = (self.name, other.name)
        parsed = tuple(
            bounds_of(self._root, name, expression, bounds)
            for name, expression in zip(names, operands, strict=True)
        )
        freedom = checked_ddof(ddof, parsed)
        statistic = Covariance(
            Cells(), Layout(integer=False), operands, parsed, freedom, what == "corr", pair=True
        )
        title = f"{what} of {operands[0]} in {parsed[0]} and {operands[1]} in {parsed[1]}"
        return self._answer(statistic, title, epsilon, **more)

    @asks
    def nunique(self, *, keys: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
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
        if counts_units(self._root, self._expression, keys):
            units = Distinct(Cells(), Layout(integer=True))
            return self._answer(units, f"nunique of {self._expression}", epsilon, **more)
        cells = self._cells([self.name], keys)
        what = f"nunique of {self._expression} ({cells.described})"
        return self._answer(Present(cells, Layout(integer=True)), what, epsilon, **more)

    @asks
    def unique(self, *, epsilon: object = None, **more: Unpack[More]) -> Any:
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

    @asks
    def suggest_bounds(self, *, epsilon: object = None, **more: Unpack[More]) -> Any:
        """Bounds for a column whose range nobody knows: powers of two (or 0) around the values,
        and the share of values that they clip: a float Series under "lower", "upper", "clipped".

        ``bounds=found`` uses them, and ``people.declare(age=found)`` makes a frame that knows them;
        asking changes nothing. With probability 0.975 they reach no further than
        the closest such bounds around all values, and each power of two (from 2^(e-1) to 2^e)
        outside them has no more than 2w values, where w is the width of noise that
        ``dp.record(found).expected`` states doubled: about 24/epsilon values. Numbers below 2^-64
        count as 0, and none above 2^128 is within. Where no power of two has enough values all
        three are NaN, which `bounds=` refuses. ``.interval()`` of the record says where the
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
        statistic = Magnitudes(Cells(), layout, self._expression)
        return self._answer(statistic, f"bounds of {self._expression}", epsilon, **more)

    @asks
    def size(self, *, epsilon: object = None, **more: Unpack[More]) -> Any:
        """The number of rows, missing values and all: an int.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/counts.md).
        """
        return self._answer(Count(Cells(), Layout(integer=True)), "count", epsilon, **more)

    @asks
    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        *,
        keys: object = None,
        epsilon: object = None,
        **more: Unpack[More],
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

    @asks
    def hist(
        self,
        bins: Any = 10,
        range: Any = None,
        *,
        epsilon: object = None,
        **more: Unpack[More],
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
        cells, said = binned(self._root, self.name, self._expression, bins, range)
        layout = Layout(integer=True, index=index(cells, [self.name]), name="count")
        what = f"hist of {self._expression} ({said})"
        return self._answer(Count(cells, layout), what, epsilon, **more)

    @asks
    def popularity(
        self, *, keys: object = None, epsilon: object = None, **more: Unpack[More]
    ) -> Any:
        """How popular the most popular key is, the second, and so on, without telling which they
        are: the counts of the declared keys in descending order, a float Series by rank from 1.

        Told without labels, equal counts stand side by side and their noise averages out: over a
        thousand keys the squared error is often tens of times less than that of `value_counts`.

        *Guarantee*: epsilon-differential privacy of the unit; sorted counts have ℓ1 sensitivity 1
        a row (Hay, Rastogi, Miklau and Suciu, "Boosting the accuracy of differentially private
        histograms through consistency", VLDB 2010; docs/proofs/popularity.md).

        >>> import pandas as pd
        >>> pets = pd.Series(["cat"] * 50 + ["dog"] * 50, name="pet")
        >>> pets.dp.popularity(keys=["cat", "dog", "emu"], epsilon=1).index.tolist()
        [1, 2, 3]
        """
        cells = self._cells([self.name], keys)
        ranks = pd.RangeIndex(1, len(cells) + 1, name="rank")
        statistic = Popularity(cells, Layout(integer=False, index=ranks, name="count"))
        what = f"popularity of {self._expression} ({cells.described})"
        return self._answer(statistic, what, epsilon, **more)

    @asks
    def mode(self, *, keys: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
        """The most frequent of the declared keys, as a Series of one, like Series.mode.

        *Guarantee*: epsilon-differential privacy of the unit, by permute-and-flip
        (docs/proofs/permute_and_flip.md).
        """
        cells = self._cells([self.name], keys)
        statistic = Count(cells, Layout(integer=True, index=index(cells, [self.name])))
        what = f"mode of {self._expression} ({cells.described})"
        return self._answer(statistic, what, epsilon, UnreleasedMode, **more)


def counts_units(root: Root, expression: Expression, keys: object) -> bool:
    """Whether nunique counts units, and not declared keys. Refuses where it could be neither."""
    unit = root.source.unit.column
    is_unit = unit is not None and isinstance(expression, Column) and expression.name == unit
    if keys is not None or (not is_unit and isinstance(root.declared(expression), Keys)):
        return False
    if not is_unit:
        what = f"the unit {unit!r}" if unit is not None else "a unit column, which dp.protect names"
        raise QueryError(
            f"nunique counts the values of {what}: which values another column has is private; "
            "declare keys and ask nunique(keys=[…]). Nothing was computed or charged."
        )
    return True


@quiet
def cut(
    x: Any, bins: Any, labels: Any = None, right: bool = True, include_lowest: bool = False
) -> PrivateSeries:
    """`PrivateSeries.cut`, spelled like `pandas.cut`. *Stability*: 1, row by row.

    >>> import pandas as pd, dppandas as dp
    >>> ages = dp.private(pd.DataFrame({"age": [15, 30]}), unit="row")["age"]
    >>> dp.cut(ages, [0, 18, 99])
    <private column cut(age, [0, 18, 99]) of unnamed (asserted)>
    """
    if not isinstance(x, PrivateSeries):
        raise QueryError("dp.cut takes a private column; pandas.cut takes a plain one.")
    return x.cut(bins, labels, right, include_lowest)
