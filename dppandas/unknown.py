"""Groups of keys that nobody declared, and labels found in a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, Unpack

from .accounting import NOTHING
from .asking import asks
from .budget import NO_DELTA, Delta, More
from .errors import QueryError, quiet, shown
from .groups import PrivateGroupBy
from .series import PrivateSeries
from .statistics import BY_LABEL, Cells, Layout, Statistic, Unknown
from .unreleased import Unreleased, UnreleasedKeys


@dataclass(frozen=True)
class Undeclared(Cells):
    """The cells of keys that nobody declared."""

    delta: Delta = NO_DELTA

    @property
    def described(self) -> str:
        return "keys found"


class UnknownGroups(PrivateGroupBy):
    """Private rows grouped by keys that nobody declared; `PrivateFrame.groupby` with ``delta=``.

    Half of ε is spent on counts, which decide what keys are told, and half on the statistic of
    those; `size` tells the counts, for all of ε. Keys come in their order, as objects. Errors and
    intervals hold for each key by itself, given that it is told.
    """

    def _answer(
        self,
        statistic: Statistic,
        what: str,
        epsilon: object = None,
        kind: type[Unreleased] = Unreleased,
        **more: Unpack[More],
    ) -> Any:
        if type(statistic) not in BY_LABEL or kind is not Unreleased:
            raise QueryError(
                f"{what}: by keys that nobody declared there are size, count, sum, mean, var and "
                f"std. Declare keys=[…]. {NOTHING}"
            )
        if more.get("delta") is not None:
            raise QueryError(f"delta= was given to groupby, and counts once. {NOTHING}")
        delta = self._undeclared.delta
        found = Unknown(Cells(), statistic.layout, self._groups.by, tuple(self._names), delta,
                        inner=statistic)  # fmt: skip
        return super()._answer(found, what, epsilon, UnreleasedKeys, **more)

    @property
    def _undeclared(self) -> Undeclared:
        if not isinstance(self._by, Undeclared):
            raise QueryError(f"these keys are declared. {NOTHING}")
        return self._by

    @asks
    def size(self, *, epsilon: object = None, **more: Unpack[More]) -> Any:
        """The number of rows of each group that is told: an int Series.

        *Guarantee*: (epsilon, delta)-differential privacy of the unit, with the delta of groupby
        (docs/proofs/thresholds.md).
        """
        if more.get("delta") is not None:
            raise QueryError(f"delta= was given to groupby, and counts once. {NOTHING}")
        layout = Layout(integer=True, index=self._shape(integer=True).index)
        delta = self._undeclared.delta
        statistic = Unknown(Cells(), layout, self._groups.by, tuple(self._names), delta)
        what = self._by_group("size")
        return super(PrivateGroupBy, self)._answer(statistic, what, epsilon, UnreleasedKeys, **more)

    def agg(self, *args: Any, **more: Any) -> NoReturn:
        """Refused: ask for each statistic.

        *Guarantee*: nothing is released.
        """
        raise QueryError(f"by keys that nobody declared ask for each statistic apart. {NOTHING}")

    def value_counts(self, *args: Any, **more: Any) -> NoReturn:
        """Refused: count by both columns, ``value_counts`` of a frame.

        *Guarantee*: nothing is released.
        """
        raise QueryError(f"count by both columns: frame.value_counts([…], delta=…). {NOTHING}")


@quiet
def unique(column: Any, *, epsilon: object = None, delta: object = None) -> Any:
    """`PrivateSeries.unique`, spelled like `pandas.unique`: the labels that many units have.

    *Guarantee*: (epsilon, delta)-differential privacy of the unit (Desfontaines et al., PoPETs
    2022, Theorem 1; docs/proofs/partition_selection.md).

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); _ = dp.session(epsilon=2, delta="1e-5")
    >>> dp.unique(pd.Series([3, 1, "no"] * 40).dp, epsilon=1, delta="1e-5").tolist()
    [1, 3, 'no']
    """
    if not isinstance(column, PrivateSeries):
        raise QueryError(
            f"dp.unique takes a private column, such as df.dp['city'], not {shown(column)}; "
            f"pandas.unique takes a plain one. {NOTHING}"
        )
    return column.unique(epsilon=epsilon, delta=delta)
