"""Several statistics for one loss (agg and describe), and covariances."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any, Generic, Unpack

import pandas as pd

from ... import statistics
from ...columns.ranges import bounds_of
from ...errors import QueryError, quoted
from ...ledger.questions import Question
from ...privacy.accounting.losses import AskOptions, Number
from ...release.answers.shapes import Counted, Described, Listed, Measured, OfRows
from ...release.asking import release_method
from ...release.blocks.bundle import Name, ReleaseBundle, shares_of
from ...release.request import Request
from ...release.unreleased import Unreleased
from ...release.wording import verb_of
from ...rows.facts.bounds import Bounds
from ...statistics import Count, Layout
from ...statistics.base import ALL_ROWS
from . import several
from .arguments import checked_ddof, pearson, with_levels
from .descriptions import Descriptions
from .queryable import Queryable

#: What a count of rows is about.
ROWS = object()
#: Statistics that say nothing of the others of a column. Sums of True are counts of other rows.
APART = ("sum", "nunique")
#: The number of all rows. It is one object, so that what follows from it is found once.
ONE_NUMBER = Layout(integer=True)
ROWS_COUNTED = Count(ALL_ROWS, ONE_NUMBER)
NOTHING_NAMED: Mapping[str, Any] = MappingProxyType({})


@cache
def _count_asked() -> Question:
    return Question(verb_of("count"))


class Summaries(
    Descriptions[Counted, Measured, Listed, Described],
    Generic[Counted, Measured, Listed, Described, OfRows],
):
    """The statistics of numbers, one by one and several at once."""

    @typing.overload
    def size(self) -> Unreleased[OfRows]: ...
    @typing.overload
    def size(self, **ways: Unpack[AskOptions]) -> OfRows: ...
    @release_method
    def size(self, **ways: Unpack[AskOptions]) -> Any:
        """The number of rows, missing values included: an int.

        *Guarantee*: epsilon-differential privacy of the unit; ℓ1 sensitivity 1 a row
        (docs/proofs/counts.md).
        """
        return self._row_count()

    def _row_count(self) -> Request:
        cells = self._groups
        counted = ROWS_COUNTED if cells is ALL_ROWS else Count(cells, ONE_NUMBER)
        return self._question(counted, _count_asked())

    @typing.overload
    def agg(
        self, func: list[Any], *, bounds: object = None, step: object = None, shares: object = None
    ) -> ReleaseBundle[Described]: ...
    @typing.overload
    def agg(
        self,
        func: list[Any],
        *,
        bounds: object = None,
        step: object = None,
        shares: object = None,
        **ways: Unpack[AskOptions],
    ) -> Described: ...
    @typing.overload
    def agg(
        self,
        func: None = None,
        *,
        bounds: object = None,
        step: object = None,
        shares: object = None,
        epsilon: None = None,
        rho: None = None,
        **named: tuple[Any, Any] | str,
    ) -> ReleaseBundle[Described]: ...
    @typing.overload
    def agg(
        self,
        func: None = None,
        *,
        bounds: object = None,
        step: object = None,
        shares: object = None,
        epsilon: Number = ...,
        rho: Number = ...,
        delta: Number = ...,
        mechanism: str = ...,
        fresh: bool = ...,
        **named: tuple[Any, Any] | str,
    ) -> Described: ...
    @typing.overload
    def agg(
        self,
        func: Any,
        *,
        bounds: object = None,
        step: object = None,
        shares: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any: ...
    @release_method  # type: ignore[misc]
    def agg(
        self,
        func: Any = None,
        *,
        bounds: object = None,
        step: object = None,
        shares: object = None,
        named: Mapping[str, Any] = NOTHING_NAMED,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """Several statistics for one loss, laid out as pandas' agg does.

        func : names such as ["count", "mean"], for each column; or a dict with a name or names for
            each column, such as {"a": "mean", "b": ["sum", "count"]}. A single name is that method.
            Or give each figure a name of its own, as in ``agg(late=("delay", "mean"))``.
        bounds : as in `mean`, for those that need them.
        step : as in `quantile`, for median, min and max.
        shares : how the loss is divided: a dict of shares by statistic, by (column, statistic) or
            by the names of figures, such as {"mean": 2, "median": 1}. Without it, evenly.

        The statistics are those that are one number of a column, such as count, mean and median;
        what refuses another name lists them. The count, sum, mean, var, std and sem of a column are
        read from the same sums: they are one release, with all that they have of the loss together.
        Each other one is a release of its own, with its own entry in the ledger; either all are
        charged, or none. Rows are counted once, whichever columns "size" is asked for.
        ``dp.record(result).components`` has their records.

        A count beside a mean shares its noise: groups that are kept for a large count are those
        whose means are more often off. The intervals of one release hold simultaneously, so also
        for those that you keep. A rule free of the mean's noise asks "size", a release of its own.

        *Guarantee*: differential privacy of the unit. The losses add up to exactly epsilon
        (sequential composition: Dwork and Roth, 2014, Theorem 3.16; docs/proofs/means.md).

        >>> import pandas as pd
        >>> people = pd.DataFrame({"sex": ["f", "m"] * 5000, "age": [20, 60] * 5000}).dp
        >>> people["age"].agg(["count", "mean"], bounds=(0, 99), epsilon=1).index.tolist()
        ['count', 'mean']
        >>> by_sex = people.groupby("sex", keys=["f", "m"])
        >>> found = by_sex.agg(n=("sex", "size"), mean=("age", "mean"), bounds=(0, 99), epsilon=1)
        >>> found.round({"n": -2, "mean": -1}).to_dict("index")
        {'f': {'n': 5000, 'mean': 20.0}, 'm': {'n': 5000, 'mean': 60.0}}
        """
        one = several.single(func)
        if one is not None:
            if shares is not None:
                raise QueryError(
                    f"shares= divides a loss among several statistics, and {one} is only one. "
                    "Leave shares= out."
                )
            return several.request_of(self, one, bounds, step)
        asked = self._spread(several.asked(func, named, self._is_single))
        self._can_show(asked.columns(self._is_single))
        releases, by_column = several.Releases(self._face), dict[Any, list[str]]()
        for column, statistic in asked.components():
            by_column.setdefault(column, []).append(statistic)
        for column, each in by_column.items():
            releases.add(column, each, bounds, step)

        def combined(values: dict[Name, Any]) -> Any:
            found: dict[Name, Any] = {}
            for each in asked.figures:
                value = releases.value(each.component, values)
                found.update({(c, each.label): v for c, v in self._entries(each, value).items()})
            return self._gathered(found, asked.by_column, asked.by_name)

        return ReleaseBundle(
            releases.requests, releases.shares(shares_of(asked.components(), shares)), combined,
            {name: self._columns_of(*name) for name in releases.requests}, self._by_labels,
        )  # fmt: skip

    aggregate = agg

    def _spread(self, asked: several.Asked) -> several.Asked:
        """The figures, one for each column where a statistic is asked of columns one by one."""
        figures = [
            replace(figure, column=column)
            for figure in asked.figures
            for column in (
                self._each._operands()
                if figure.statistic == "nunique" and figure.column is None and not self._is_single
                else [figure.column]
            )
        ]
        return replace(asked, figures=figures)

    def _face(self, column: Any) -> Queryable:
        """What a column's statistics are asked of; None for all columns."""
        return self._each if column is None else self._column(column)

    def _entries(self, figure: several.Figure, value: Any) -> dict[Any, Any]:
        """What a release says of each column."""
        if figure.column is not None:
            return {figure.column: value}
        if figure.statistic == "size":
            return dict.fromkeys(self._each._operands(), value)
        return self._by_column(value)

    def _columns_of(self, column: Any, name: str) -> list[Any]:
        """What a release is about: columns, whose figures are put into a possible order, or
        something else."""
        if name == "size":
            return [ROWS]
        each = list(self._each._operands()) if column is None else [column]
        return [(name, of) for of in each] if name in APART else each


class Covariances(Summaries[Counted, Measured, Listed, Described, OfRows]):
    """Statistics of each two of several columns."""

    @typing.overload
    def cov(
        self, ddof: int = 1, *, dropna: bool = False, bounds: object = None, norm: object = None
    ) -> Unreleased[pd.DataFrame]: ...
    @typing.overload
    def cov(
        self,
        ddof: int = 1,
        *,
        dropna: bool = False,
        bounds: object = None,
        norm: object = None,
        **ways: Unpack[AskOptions],
    ) -> pd.DataFrame: ...
    @release_method
    def cov(
        self,
        ddof: int = 1,
        *,
        dropna: bool = False,
        bounds: object = None,
        norm: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """The covariance of each two columns, of values clipped to bounds: a square DataFrame; by
        group a DataFrame with a row for each group and column.

        ddof, bounds : as in `var`. As in pandas, each entry uses the rows that have both values.
            The table has no negative eigenvalues: those that noise makes negative become 0.
        dropna : True uses only the rows that have all values, as after ``dropna()``. With Gaussian
            noise and three columns or more, the noise is then up to half as large.
        norm : a public number, in place of bounds: the most that the absolute values of a row add
            up to. Values beyond ± norm become that, and rows whose values then add up to more are
            scaled down until they add up to it. Only rows that have all values count. The noise
            depends on the norm, not on the number of columns: from four columns on, such as shares
            of a whole, it is less than with bounds as wide as the norm. Bounds of a few columns, or
            narrower than the norm over the number of columns, have less. ("l2", norm) limits the
            root of the sum of squares, which suits noise by rho. As with bounds, no interval
            includes what this changes.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/covariances.md). Source of norm=: the lemma of lecture 3, that second moments
        of rows within a norm of 1 have a sensitivity of 1.

        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [20, 60] * 5000, "wage": [20, 30] * 5000})
        >>> people.dp.cov(bounds=(0, 99), epsilon=1).round(-2).loc["age"]
        age     400.0
        wage    100.0
        Name: age, dtype: float64
        >>> shares = pd.DataFrame({"rent": [0.2, 0.6] * 5000, "food": [0.6, 0.2] * 5000}).dp
        >>> shares.cov(norm=1, epsilon=1).round(2)
              rent  food
        rent  0.04 -0.04
        food -0.04  0.04
        """
        return self._covariances("cov", ddof, dropna, bounds, norm)

    @typing.overload
    def corr(
        self,
        method: str = "pearson",
        *,
        dropna: bool = False,
        bounds: object = None,
        norm: object = None,
    ) -> Unreleased[pd.DataFrame]: ...
    @typing.overload
    def corr(
        self,
        method: str = "pearson",
        *,
        dropna: bool = False,
        bounds: object = None,
        norm: object = None,
        **ways: Unpack[AskOptions],
    ) -> pd.DataFrame: ...
    @release_method
    def corr(
        self,
        method: str = "pearson",
        *,
        dropna: bool = False,
        bounds: object = None,
        norm: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """The correlation of each two columns, of values clipped to bounds: a square DataFrame; by
        group a DataFrame with a row for each group and column.

        bounds : as in `var`. As in pandas, each entry uses the rows that have both values. The
            diagonal is 1, no eigenvalue is negative, and what can't be told from noise is 0.
        dropna, norm : as in `cov`.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/covariances.md).

        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [20, 60] * 5000, "wage": [20, 30] * 5000})
        >>> found = people.dp.corr(bounds={"age": (0, 99), "wage": (0, 60)}, epsilon=1)
        >>> bool(0.8 < found.loc["age", "wage"] <= 1)
        True
        """
        pearson(method)
        return self._covariances("corr", 1, dropna, bounds, norm)

    def _covariances(
        self, what: str, ddof: object, dropna: object, bounds: object, norm: object
    ) -> Any:
        names, cells = list(self._operands()), self._groups
        if len(names) < 2 and cells.by:
            raise QueryError(
                f"{what} by group needs two columns or more. Select them, as in "
                f'groupby(…)[["a", "b"]].{what}(…).'
            )
        order = 0
        if norm is not None:
            bounds, order = _bounds_of_norm(norm, bounds, len(names))
        operands, parsed, shape = self._measured(bounds, bounds_of)
        freedom = checked_ddof(ddof, parsed)
        if not isinstance(dropna, bool):
            raise QueryError(f"dropna={quoted(dropna)} must be True or False.")
        layout = with_levels(shape, names, names, cells)
        said = cells, layout, operands, parsed, freedom, what == "corr"
        if order:
            within = statistics.NormedMoments(*said, order=order)
            return self._question(within, self._asks(what, (), ("norm", quoted(norm))))
        statistic = statistics.Covariance(*said, complete=dropna)
        options = (("complete", "yes"),) if dropna else ()
        return self._question(statistic, self._asks(what, parsed, *options))


def _bounds_of_norm(norm: object, bounds: object, columns: int) -> tuple[Bounds, int]:
    """The bounds that a norm puts on each column, and its order."""
    if bounds is not None:
        raise QueryError(
            "norm= takes the place of bounds=. Leave one of them out; p.clip(lower, upper) clips "
            "values before they are scaled."
        )
    return statistics.bounds_of_norm(norm, columns)
