"""One private column, or a mask made from private columns."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn, Unpack

import pandas as pd

from . import refusals
from .answers import Answers
from .budget import NO_DELTA, More, parse_delta
from .columns import PrivateColumn
from .domain import Bounds, Keys
from .errors import QueryError, quiet
from .rows import (
    Column,
    Expression,
    Outside,
)
from .shaping import asks, bounds_of, index
from .statistics import Cells, Count, Distinct, Layout, Magnitudes, Present, Unique
from .unreleased import Root, UnreleasedLabels, UnreleasedMode


class PrivateSeries(PrivateColumn, Answers):
    """One column of private rows, or a mask made from them."""

    def __repr__(self) -> builtins.str:
        source = self._root.source
        filtered = "" if self._where is None else f" where {self._where}"
        return f"<private column {self._expression} of {source.name} ({source.lineage}){filtered}>"

    def __getattr__(self, name: builtins.str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        answers = (
            "count, sum, mean, value_counts, mode, nunique, unique, clipped and suggest_bounds"
        )
        raise refusals.refuse("private columns", name, answers)

    def _operands(self) -> dict[Any, Expression]:
        return {self.name: self._expression}

    def _shape(self, integer: bool) -> Layout:
        return Layout(integer=integer)

    def _titled(self, what: builtins.str, bounds: Sequence[Bounds] = ()) -> builtins.str:
        within = "".join(f" in {bound}" for bound in bounds)
        return f"{what} of {self._expression}{within}"

    # answers of a column alone

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
        bound = bounds_of(self._root, self.name, self._expression, bounds)
        keys = Keys(Outside.labels)
        cells = Cells((Outside(self._expression, bound),), keys)
        names = pd.Index(keys.labels, name=self.name)
        layout = Layout(integer=False, index=names, name="proportion")
        statistic = Count(cells, layout, share_of=len(keys))
        return self._answer(
            statistic, f"values of {self._expression} outside {bound}", epsilon, **more
        )

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
        is_unit = self._expression == Column(self._root.source.unit.column)
        declared = self._root.declared(self._expression)
        if keys is None and (is_unit or not isinstance(declared, Keys)):
            distinct_units(self._root, self._expression)
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
        count is told; `value_counts` without keys does. Equal values are one label, as there.

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

        ``bounds=tuple(found[:2])`` uses them. With probability 0.975 they reach no further than
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
            lists and other values that can't be keys. Each interval holds by itself.

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
    def mode(self, *, keys: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
        """The most frequent of the declared keys, as a Series of one, like Series.mode.

        *Guarantee*: epsilon-differential privacy of the unit, by permute-and-flip
        (docs/proofs/permute_and_flip.md).
        """
        cells = self._cells([self.name], keys)
        statistic = Count(cells, Layout(integer=True, index=index(cells, [self.name])))
        what = f"mode of {self._expression} ({cells.described})"
        return self._answer(statistic, what, epsilon, UnreleasedMode, **more)


def distinct_units(root: Root, expression: Expression) -> None:
    """Refuse to count distinct values of anything but the unit."""
    unit = root.source.unit.column
    if unit is None or expression != Column(unit):
        what = f"the unit {unit!r}" if unit is not None else "a unit column, which dp.protect names"
        raise QueryError(
            f"nunique counts the values of {what}: which values another column has is private; "
            "declare keys and ask nunique(keys=[…]). Nothing was computed or charged."
        )


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
