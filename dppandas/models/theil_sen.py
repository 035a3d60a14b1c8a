"""A line through a median of slopes, which gross errors hardly move."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dataclasses import dataclass, field
from ..errors import MissingArgument, QueryError, hide_internals
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..release.unreleased import Unreleased
from ..release.ways import Ways
from ..release.wording import Question, Verb, operands
from ..rows.facts.units import whole_number
from ..statistics import BlockSlopes, Cells, Layout
from ..statistics.of_blocks.block_tests import Shown
from .aggregate import MOST_UNITS
from .base import Box, Learnt, ProgramAnswers
from .gradient import Linear
from .linear import regression_score, wide_target_range

#: Shares of the loss: of the slope, and of the constant.
SHARES = 2, 1
SLOPE = Verb("median slope", "median slope of", "median slope")


@dataclass(eq=False, repr=False, kw_only=True)
class TheilSenRegressor(Linear):
    """A line by medians: of slopes of pairs of rows, and then of what is left of the target.

    Units are dealt at random to public blocks. Each block gives the median slope of pairs of its
    rows, and the released slope is near the median of those. The constant is near the median of the
    target minus slope times feature. Rows that are far off the line, up to a quarter or so of all,
    move neither far; `LinearRegression` and `OLS` follow them.

    epsilon, rho : the loss of the whole fit, two thirds of it for the slope.
    bounds : (lower, upper) of the feature; else the declared domain's.
    target_bounds : (lower, upper) that the target is clipped to; else the declared domain's. Bounds
        that are ten times too wide hardly matter.
    units : about how many units there are, from public knowledge: decides the number of blocks.

    After `fit`: ``coef_`` (1,), ``intercept_``, ``n_subpopulation_``, the number of blocks, and
    ``releases_``, which tell by how many blocks and rows each median may be off.

    *Guarantee*: as for `fit`. Source: Theil, "A rank-invariant method of linear and polynomial
    regression analysis", 1950, and Sen, JASA 63, 1968; private by random pairs: Dwork and Lei,
    STOC 2009, and Alabi, McMillan, Sarathy, Smith and Vadhan, "Differentially private simple linear
    regression", PoPETs 2022 (docs/proofs/theil_sen.md).

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=1)
    >>> df = pd.DataFrame({"a": [0, 1, 2, 3] * 999, "b": [1, 3, 5, 7] * 999})
    >>> df.loc[::11, "b"] = 1000.0  # gross errors
    >>> model = dp.models.TheilSenRegressor(
    ...     epsilon=1, bounds=(0, 3), target_bounds=(0, 1000), units=4_000)
    >>> model = model.fit(df.dp[["a"]], df.dp["b"])
    >>> model.coef_.round(1).tolist(), model.predict([[1.5]]).round().tolist()
    ([2.0], [4.0])
    >>> dp.reset()
    """

    _kind = "regressor"

    target_bounds: object = None
    units: object = None

    intercept_: float = field(init=False)
    n_subpopulation_: int = field(init=False)

    def _program(self, scaled: PrivateFrame, box: Box, y: Any, answered: ProgramAnswers) -> Learnt:
        units, ends = self._units(len(box.names)), wide_target_range(y, self.target_bounds)
        middle, half = ends.lower / 2 + ends.upper / 2, ends.upper / 2 - ends.lower / 2
        value = ((y.clip(ends.lower, ends.upper) - middle) / half).clip(-1, 1)
        with self._shared(SHARES):
            slope = float(answered(slopes(scaled, value, units)))
            reach = 1 + abs(slope)  # of what is left, whatever the row is
            left = float(answered((value - scaled.dot([slope])).median(bounds=(-reach, reach))))
        learnt = self._learnt(box, np.array([slope * half]), left * half + middle)
        of_slope: Any = answered.records[0]._statistic
        return {**learnt, "n_subpopulation_": of_slope.blocks}

    def _units(self, features: int) -> int:
        """About how many units there are, as it is publicly known."""
        if features != 1:
            raise QueryError(
                f"TheilSenRegressor takes one feature, not {features}: a slope of pairs is that of "
                'one. Select it, as people[["age"]], or fit OLS or LinearRegression.'
            )
        if self.units is None:
            raise MissingArgument(
                "units= is needed: about how many units there are, from public knowledge, such as "
                "units=10_000. They decide into how many blocks units are dealt. dppandas never "
                "counts rows to choose it; a count that was released will do."
            )
        return whole_number(self.units, "units", 6, MOST_UNITS)

    @hide_internals
    def predict(self, X: Any) -> Any:
        """The expected target of each row: a private column for a private frame (row by row,
        *Stability*: 1; nothing is charged), an array for plain rows. It isn't clipped."""
        return self._scores(X)

    @hide_internals
    def score(self, X: Any, y: Any) -> float:
        """R² on plain rows, as of `LinearRegression`. Rows far off the line count in full."""
        return regression_score(self, X, y)


def slopes(scaled: PrivateFrame, value: PrivateSeries, units: int) -> Any:
    """The median of the slopes of blocks, for one feature and a target in [-1, 1]."""
    pair = scaled.assign(target=value)
    table, columns = pair._table, dict(pair._columns)
    unit = table.source.unit.column
    read = frozenset().union(*(each.columns() for each in columns.values()))
    hashed = tuple(name for name in table.engine.columns if name in read)
    statistic = BlockSlopes(
        Cells(), Layout(integer=False),
        columns_shown=tuple(Shown(name, each) for name, each in columns.items()), units=units,
        by=hashed if unit is None else (unit,), is_by_unit=unit is not None,
        branches=table.branches,
    )  # fmt: skip
    what = Question(SLOPE, columns=operands(columns)).beside(("units", f"{units:,}"))
    return Unreleased._ask(Unreleased._of(table, pair._where, statistic, what), Ways())
