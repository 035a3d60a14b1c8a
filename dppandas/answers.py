"""What private columns, frames and groups all answer.

An answer is a statistic over cells (the groups, or one cell of all rows) and operands (columns). A
face says which these are and how the result is laid out; each method here says which statistic is
meant, for all faces at once. So a new operation is one more method, and a file of `statistics`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Self, Unpack

from .accounting import NOTHING
from .budget import More, gives_loss
from .domain import Bounds, Grid
from .errors import MissingArgument, QueryError, is_one_of, shown
from .measuring import bounds_of, measured, range_of, ruled, summable
from .rows import Expression
from .shaping import (
    Rows,
    asks,
    checked_ddof,
    present,
    quantiles_of,
    step_of,
    weights_of,
    with_levels,
)
from .statistics import (
    Cells,
    Count,
    Covariance,
    Layout,
    Mean,
    Moments,
    NormedSum,
    Quantiles,
    Sum,
    Variance,
    WeightedMean,
    grids_of_norm,
)
from .together import Name, shares_of, together
from .unreleased import Unreleased, UnreleasedExtreme

#: What agg can be asked for: those of these that a face answers.
AGGREGATED = ("count", "sum", "mean", "var", "std", "median", "min", "max")

#: What describe releases, in the order in which it shows them: the rows of one release, the method
#: that answers it, and its part of the loss. So each row has one part in eight, and those of one
#: release have more of it.
DESCRIBED: tuple[tuple[tuple[str, ...], str, int], ...] = (
    (("count", "mean", "std"), "_moments", 3),
    (("min", "25%", "50%", "75%", "max"), "_five", 5),
)


class Answers(Rows):
    """The statistics of numbers, entry by entry."""

    # what a face says

    @property
    def _groups(self) -> Cells:
        """The cells that are answered for."""
        return Cells()

    def _operands(self) -> dict[Any, Expression]:
        """The columns that are answered for, by name."""
        raise NotImplementedError

    def _shape(self, integer: bool) -> Layout:
        """How an entry for each cell and operand is laid out."""
        raise NotImplementedError

    def _titled(self, what: str, bounds: Sequence[Bounds] = ()) -> str:
        """What is asked, in words for the ledger."""
        raise NotImplementedError

    def _numbers(self, bounds: object) -> tuple[tuple[Expression, ...], tuple[Bounds, ...]]:
        """The operands, and the bounds that a call or the domain gives for each: of numbers."""
        operands, _ = self._asked_of(bounds)
        parsed = (bounds_of(self._root, n, e, bounds) for n, e in operands.items())
        return tuple(operands.values()), tuple(parsed)

    def _measured(
        self, bounds: object
    ) -> tuple[tuple[Expression, ...], tuple[Bounds, ...], Layout]:
        """The same of numbers, times and durations, as numbers; and the layout that tells which."""
        operands, shape = self._asked_of(bounds)
        ranges = [range_of(self._root, n, e, bounds) for n, e in operands.items()]
        expressions, parsed = measured(tuple(operands.values()), ranges)
        return expressions, parsed, ruled(shape, parsed)

    def _asked_of(self, bounds: object) -> tuple[Mapping[Any, Expression], Layout]:
        """The operands, and how they are laid out. Refuses bounds of others."""
        operands: Mapping[Any, Expression] = self._operands()
        if isinstance(bounds, Mapping) and not Bounds.is_named(bounds):
            known = {*operands, *self._columns, *self._root.engine.columns}
            silent = [name for name in operands if name not in bounds]
            strange = [name for name in bounds if name not in known]
            if silent and strange:
                raise MissingArgument(
                    f"bounds= has no entry for {silent[0]!r}, but one for {strange[0]!r}, which is "
                    "no column. Nothing was computed or charged."
                )
        return operands, self._shape(integer=False)

    def _beside(self, weights: object) -> Self:
        """The same without the column of weights, where that was named."""
        return self

    # answers

    @asks
    def count(
        self,
        *,
        weights: object = None,
        weight_bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """How many values are not missing: an int; for several columns a Series, and by group a
        Series or DataFrame.

        weights : a private column of the same rows, or its name: the answer is then the sum of the
            weights (a float), clipped to weight_bounds, of which none may be negative.

        *Guarantee*: differential privacy of the unit; ℓ1 sensitivity 1 a row and column
        (docs/proofs/counts.md), with weights the largest that one can be (docs/proofs/sums.md).

        >>> import pandas as pd
        >>> n = pd.DataFrame({"age": [15, 30, 60]}).dp.count(epsilon=1)
        >>> isinstance(n, int), n.error()
        (True, 3)
        """
        weighing = weights_of(self, weights, weight_bounds)
        face = self._beside(weights)
        tests = tuple(present(expression) for expression in face._operands().values())
        if weighing is None:
            counted = Count(face._groups, face._shape(integer=True), tests)
            return self._answer(counted, face._titled("count"), epsilon, **more)
        operands = tuple(weighing.of(test) for test in tests)
        grids = (Grid.centred(weighing.bounds),) * len(operands)
        statistic = Sum(face._groups, face._shape(integer=False), operands, grids)
        return self._answer(statistic, face._titled("count") + str(weighing), epsilon, **more)

    @asks
    def sum(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        norm: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """The sum of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values count as nothing.

        bounds : (lower, upper), public facts, for all columns, or a dict of them; for columns that
            it doesn't name, the declared domain's. What `suggest_bounds` released is one, too.
        weights, weight_bounds : as in `count`; each value is then multiplied by its weight.
        norm : a public number. The values of a row whose sizes add up to more are scaled down
            together, so that they add up to it, and the noise grows with the norm and not with the
            bounds. ("l2", norm) is for the root of their squares, which is what noise by rho grows
            with. As with bounds, no interval includes what this changes.

        *Guarantee*: differential privacy of the unit; sensitivity max(|lower|, |upper|) a row and
        column, on the grid, with weights times the largest of them, or the norm for all columns
        together (docs/proofs/sums.md).

        >>> import pandas as pd, dppandas as dp
        >>> df = pd.DataFrame({"a": [1, 0] * 500, "b": [0, 2] * 500, "c": [0, 0] * 500})
        >>> sums = df.dp[["a", "b", "c"]].sum(bounds=(-9, 9), norm=1, epsilon=1)
        >>> bool(abs(sums["b"] - 500) < 30), float(round(dp.record(sums).error()["b"], 1))
        (True, 4.1)
        """
        weighing = weights_of(self, weights, weight_bounds)
        face = self._beside(weights)
        operands, parsed, shape = face._measured(bounds)
        summable(parsed, norm)
        title = face._titled("sum", parsed)
        if weighing is not None:
            title += str(weighing)
            pairs = [weighing.times(e, b) for e, b in zip(operands, parsed, strict=True)]
            operands, parsed = tuple(e for e, _ in pairs), tuple(b for _, b in pairs)
        cells = face._groups
        if norm is None:
            grids = tuple(Grid.centred(bound) for bound in parsed)
            return self._answer(Sum(cells, shape, operands, grids), title, epsilon, **more)
        grids, most, order = grids_of_norm(parsed, norm)
        scaled = NormedSum(cells, shape, operands, grids, most, order)
        return self._answer(scaled, f"{title} (norm {shown(norm)})", epsilon, **more)

    @asks
    def mean(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """The mean of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values are left out.

        bounds : (lower, upper), public facts, for all columns, or a dict of them; else the declared
            domain's. What is True or False needs none: the mean of ``frame["age"] > 30`` is the
            share of True, from two counts. For a column that may hold truth values give (0, 1).
        weights, weight_bounds : as in `count`; each value then counts by its weight, and not where
            that is missing.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (Kulesza, Suresh and Wang, ICML 2024; docs/proofs/means.md, docs/proofs/weights.md).

        >>> import pandas as pd
        >>> m = pd.Series([20, 30, 40] * 100).dp.mean(bounds=(0, 60), epsilon=1)
        >>> 0 <= m <= 60
        True
        """
        weighing = weights_of(self, weights, weight_bounds)
        face = self._beside(weights)
        operands, parsed, shape = face._measured(bounds)
        statistic = Mean(face._groups, shape, operands, parsed)
        title = face._titled("mean", parsed)
        if weighing is not None:
            title += str(weighing)
            statistic = WeightedMean(
                statistic.cells, statistic.layout, operands, parsed,
                weighing.expression, Grid.centred(weighing.bounds),
            )  # fmt: skip
        return self._answer(statistic, title, epsilon, **more)

    @asks
    def var(
        self,
        ddof: int = 1,
        *,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """The variance of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values are left out.

        bounds : as in `mean`. ddof as in pandas; the number of values that it is taken from is
            private, and part of the same release.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/variances.md).

        >>> import pandas as pd
        >>> v = pd.Series([20, 30, 40] * 100).dp.var(bounds=(0, 60), epsilon=1)
        >>> 0 <= v <= 905
        True
        """
        statistic, parsed = self._variance(ddof, bounds, root=False)
        return self._answer(statistic, self._titled("var", parsed), epsilon, **more)

    @asks
    def std(
        self,
        ddof: int = 1,
        *,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """The standard deviation: the root of `var`.

        *Guarantee*: differential privacy of the unit (docs/proofs/variances.md).
        """
        statistic, parsed = self._variance(ddof, bounds, root=True)
        return self._answer(statistic, self._titled("std", parsed), epsilon, **more)

    def _variance(
        self, ddof: object, bounds: object, root: bool
    ) -> tuple[Variance, tuple[Bounds, ...]]:
        operands, parsed, shape = self._measured(bounds)
        if not root and shape.rulers:
            raise QueryError(
                "a variance of times or durations is measured in their square: ask .std(), which "
                "is a duration. Nothing was computed or charged."
            )
        freedom = checked_ddof(ddof, parsed)
        return Variance(self._groups, shape, operands, parsed, freedom, root=root), parsed

    @asks
    def median(
        self,
        *,
        bounds: object = None,
        step: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """The median of the values, clipped to bounds: `quantile` of one half.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md).

        >>> import pandas as pd
        >>> m = pd.Series([20, 30, 40] * 100).dp.median(bounds=(0, 60), epsilon=1)
        >>> 0 <= m <= 60, m.error()
        (True, 24.0)
        """
        return self._quantile("median", (Fraction(1, 2),), None, bounds, epsilon, step, **more)

    @asks
    def quantile(
        self,
        q: object = 0.5,
        *,
        bounds: object = None,
        step: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """Values below which a share q of the values lies, clipped to bounds. Missing values are
        left out. Shaped as in pandas: for a list of shares they are the index, or its last level.

        q : a share between 0 and 1, or a list of them. Several at once cost less than each on its
            own, and never decrease from one to a larger one. For shares of 0 and 1 see `min`.
        bounds : as in `mean`. Answers lie on a grid of at most 2^30 steps between them.
        step : of a coarser grid, where values are known to lie on one, such as 1 for whole numbers:
            answers then come nearer. A public fact: a power of two that divides the bounds.

        Where pandas interpolates between two values, this is one of the points between them.
        ``.error()`` is in ranks: how many values may lie between an exact quantile and the answer.
        Of several quantiles fewer are proven if it is known how many values there are at most:
        ``expected_rows=`` with `within=`, in ``expected_error`` and in ``dp.record(…).error``.
        There is no interval of values; ask ``quantile([0.45, 0.5, 0.55])`` for a bracket.

        *Guarantee*: differential privacy of the unit, and of how many values there are; the
        exponential mechanism (McSherry and Talwar, FOCS 2007; Kaplan, Schnapp and Stemmer, ICML
        2022; docs/proofs/quantiles.md).

        >>> import pandas as pd
        >>> ages = pd.Series([20, 30, 40] * 100)
        >>> found = ages.dp.quantile([0.25, 0.75], bounds=(0, 60), epsilon=1)
        >>> found.index.tolist(), found.is_monotonic_increasing
        ([0.25, 0.75], True)
        """
        shares, labels = quantiles_of(q)
        said = "quantile " + ", ".join(f"{float(share):g}" for share in shares)
        at_end = 0 in shares or 1 in shares
        kind = UnreleasedExtreme if at_end else Unreleased
        return self._quantile(said, shares, labels, bounds, epsilon, step, kind, **more)

    @asks
    def min(self, *, bounds: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
        """A value near the smallest: as near to it as privacy lets one come without giving more.

        The smallest value is somebody's. This is a point with at most about one value below it;
        ``.error()`` says how many there may be. Bounds as in `quantile`, and close: any point below
        all values is as good, so that where bounds are much wider than the values the answer may
        lie anywhere between. ``quantile(0.01)`` then tells more. A `UserWarning` with the answer
        says that it isn't the smallest; `describe`, of which this is one figure of eight, gives
        none.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md).
        """
        return self._extreme("min", 0, bounds, epsilon, **more)

    @asks
    def max(self, *, bounds: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
        """A value near the largest. See `min`.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md).
        """
        return self._extreme("max", 1, bounds, epsilon, **more)

    def _extreme(
        self, what: str, end: int, bounds: object, epsilon: object, **more: Unpack[More]
    ) -> Any:
        shares, kind = (Fraction(end),), UnreleasedExtreme
        return self._quantile(what, shares, None, bounds, epsilon, None, kind, **more)

    def _quantile(
        self,
        what: str,
        shares: tuple[Fraction, ...],
        labels: Sequence[float] | float | None,
        bounds: object,
        epsilon: object,
        step: object = None,
        kind: type[Unreleased] = Unreleased,
        **more: Unpack[More],
    ) -> Any:
        operands, parsed, flat = self._measured(bounds)
        shape = with_levels(flat, labels, self._operands(), self._groups)
        public_step = step_of(step, parsed)
        statistic = Quantiles(self._groups, shape, operands, parsed, shares, public_step)
        what = what if public_step is None else f"{what} (step {public_step:g})"
        return self._answer(statistic, self._titled(what, parsed), epsilon, kind, **more)

    def _covariances(
        self,
        what: str,
        ddof: object,
        dropna: object,
        bounds: object,
        epsilon: object,
        **more: Unpack[More],
    ) -> Any:
        operands, parsed = self._numbers(bounds)
        names, freedom = list(self._operands()), checked_ddof(ddof, parsed)
        if not isinstance(dropna, bool):
            raise QueryError(f"dropna={shown(dropna)} must be True or False. {NOTHING}")
        layout = with_levels(self._shape(integer=False), names, names, self._groups)
        statistic = Covariance(
            self._groups, layout, operands, parsed, freedom, what == "corr", complete=dropna
        )
        what = f"{what} of complete rows" if dropna else what
        return self._answer(statistic, self._titled(what, parsed), epsilon, **more)

    # several answers at once

    @property
    def _each(self) -> Self:
        """The same, answering for each column."""
        return self

    def _by_column(self, value: Any) -> dict[Any, Any]:
        """An answer taken apart: what it says of each column."""
        raise NotImplementedError

    def _level(self, value: Any, place: int, levels: int) -> Any:
        """One of the levels that an answer has in the place of one entry."""
        return value.iloc[place]

    def _gathered(self, values: dict[Name, Any], flat: bool) -> Any:
        """What several statistics say of columns, as pandas lays it out; flat: one of each."""
        raise NotImplementedError

    @asks
    def agg(
        self,
        func: Any,
        *,
        bounds: object = None,
        weights: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """Several statistics for one loss, laid out as pandas' agg does.

        func : names such as ["count", "mean"], for each column; or a dict of a name or names for
            columns, as {"a": "mean", "b": ["sum", "count"]}. One name alone is that method.
        bounds : as in `mean`, for those that need them.
        weights : how the loss is divided: a dict of shares by name, or by (column, name), such as
            {"mean": 2, "count": 1}. Without it, evenly. (Not weights of rows.)

        Each part is a release with its own entry in the ledger; all are charged, or none.
        ``dp.records(result)`` has their records.

        *Guarantee*: differential privacy of the unit with the sum of the parts' losses, which is
        exactly epsilon (sequential composition: Dwork and Roth, 2014, Theorem 3.16).

        >>> import pandas as pd
        >>> x = pd.Series([20, 30, 40] * 100, name="x").dp
        >>> x.agg(["count", "mean"], bounds=(0, 60), epsilon=1).index.tolist()
        ['count', 'mean']
        """
        if isinstance(func, str):
            if weights is not None:
                raise QueryError("weights= divides a loss among several statistics; this is one.")
            part = self._aggregated(self, func, bounds)
            return part.release(epsilon=epsilon, **more) if gives_loss(epsilon, more) else part
        wanted = self._wanted(func)
        parts = {
            (column, name): self._aggregated(
                self._each if column is None else self._column(column), name, bounds
            )
            for column, name in wanted
        }
        flat = isinstance(func, Mapping) and all(isinstance(how, str) for how in func.values())

        def combined(values: dict[Name, Any]) -> Any:
            found: dict[Name, Any] = {}
            for (column, name), value in values.items():
                one = {column: value} if column is not None else self._by_column(value)
                found.update({(each, name): entry for each, entry in one.items()})
            return self._gathered(found, flat)

        each = list(self._each._operands())
        columns = {name: each if name[0] is None else [name[0]] for name in wanted}
        return together(parts, shares_of(wanted, weights), combined, columns, epsilon, **more)

    def _wanted(self, func: Any) -> list[Name]:
        """The statistics that agg names, each with its column, or None for all columns."""
        pairs: list[Name] = []
        for column, names in func.items() if isinstance(func, Mapping) else [(None, func)]:
            named = [names] if isinstance(names, str) else names
            if not isinstance(named, list | tuple) or not named:
                raise QueryError(
                    f"agg takes names such as 'mean', lists of them, or a dict of them by column; "
                    f"not {shown(names)}: a function of your own could look at other rows. "
                    "Nothing was computed or charged."
                )
            pairs += [(column, name) for name in named]
        if not pairs or len({(c, str(n)) for c, n in pairs}) < len(pairs):
            raise QueryError("agg needs statistics, each of them once. Nothing was charged.")
        return pairs

    def _column(self, name: Any) -> Answers:
        """The same of one column."""
        raise QueryError("agg of one column takes a list of names, and no dict.")

    def _aggregated(self, face: Answers, name: Any, bounds: object) -> Unreleased:
        known = [each for each in AGGREGATED if hasattr(type(face), each)]
        if not is_one_of(name, known):
            raise QueryError(
                f"agg can be asked for {', '.join(known)}; not {shown(name)}. Nothing was charged."
            )
        return _asked(face, name, bounds)

    def _moments(self, *, bounds: object = None) -> Any:
        """Counts, means and deviations in one release."""
        operands, parsed, shape = self._measured(bounds)
        freedom = checked_ddof(1, parsed)
        if any(bound.lower == bound.upper for bound in parsed):
            raise QueryError("describe needs bounds with an upper above the lower.")
        rows = list(DESCRIBED[0][0])
        layout = with_levels(shape, rows, self._operands(), self._groups)
        statistic = Moments(self._groups, layout, operands, parsed, freedom, root=True)
        return self._answer(statistic, self._titled("count, mean, std", parsed))

    def _five(self, *, bounds: object = None) -> Any:
        """Quartiles and, near the ends, quantiles in one release."""
        shares = tuple(Fraction(i, 4) for i in range(5))
        labels = [float(share) for share in shares]
        return self._quantile("min, quartiles, max", shares, labels, bounds, None)

    def _described(self, bounds: object, epsilon: object, **more: Unpack[More]) -> Any:
        """See `describe`."""
        whole = sum(share for *_, share in DESCRIBED)
        names: list[Name] = [(None, ", ".join(rows)) for rows, *_ in DESCRIBED]
        parts = {
            name: _asked(self, method, bounds)
            for name, (_, method, _) in zip(names, DESCRIBED, strict=True)
        }
        shares = {
            name: Fraction(share, whole) for name, (*_, share) in zip(names, DESCRIBED, strict=True)
        }

        def combined(values: dict[Name, Any]) -> Any:
            found: dict[Name, Any] = {}
            for (rows, *_), value in zip(DESCRIBED, values.values(), strict=True):
                for place, row in enumerate(rows):
                    entries = self._by_column(self._level(value, place, len(rows)))
                    found.update({(column, row): entry for column, entry in entries.items()})
            return self._gathered(found, False)

        asked = list(self._operands())
        columns = dict.fromkeys(names, asked)
        return together(parts, shares, combined, columns, epsilon, **more)


def _asked(face: Answers, method: str, bounds: object) -> Unreleased:
    """An unreleased answer, given bounds where it takes them."""
    ask = getattr(face, method)
    takes_bounds = "bounds" in inspect.signature(ask).parameters
    asked: Unreleased = ask(bounds=bounds) if takes_bounds else ask()
    return asked
