"""One private column, or a mask made from private columns."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn, Unpack

import pandas as pd

from . import refusals
from .answers import Answers
from .budget import More
from .columns import PrivateColumn
from .domain import Bounds, Keys
from .errors import QueryError, quiet
from .rows import (
    Column,
    Expression,
    Outside,
)
from .shaping import asks, bounds_of, index
from .statistics import Cells, Count, Distinct, Layout
from .unreleased import Root, UnreleasedMode


class PrivateSeries(PrivateColumn, Answers):
    """One column of private rows, or a mask made from them."""

    def __repr__(self) -> builtins.str:
        source = self._root.source
        filtered = "" if self._where is None else f" where {self._where}"
        return f"<private column {self._expression} of {source.name} ({source.lineage}){filtered}>"

    def __getattr__(self, name: builtins.str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        answers = "count, sum, mean, var, std, value_counts, mode, clipped, (a unit's) nunique"
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
    def nunique(self, *, epsilon: object = None, **more: Unpack[More]) -> Any:
        """How many units have a row here: an int. Only of the unit column.

        *Guarantee*: epsilon-differential privacy of the unit, with sensitivity 1 however many rows
        a unit has (docs/proofs/units.md).
        """
        distinct_units(self._root, self._expression)
        statistic = Distinct(Cells(), Layout(integer=True))
        return self._answer(statistic, f"nunique of {self._expression}", epsilon, **more)

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

        *Guarantee*: epsilon-differential privacy of the unit; the keys are disjoint, so the ℓ1
        sensitivity is 1 a row (docs/proofs/counts.md).

        >>> import pandas as pd
        >>> s = pd.Series(["a", "b", "a"], name="x")
        >>> s.dp.value_counts(keys=["a", "b"], sort=False, epsilon=1).index.tolist()
        ['a', 'b']
        """
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
            "declare keys and ask value_counts(keys=[…]). Nothing was computed or charged."
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
