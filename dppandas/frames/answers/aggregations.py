"""The numeric answers that private columns, frames and groups share.

An answer is a statistic over cells (the groups, or one cell of all rows) and operands (columns).
`Queryable` knows both, and the layout of the result; each method here names the statistic. What
a new operation takes is listed in CONTRIBUTING.md.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Generic, Literal, Unpack

from ... import statistics
from ...columns.ranges import summable
from ...columns.rowwise import present, true
from ...errors import QueryError, quoted
from ...ledger.verbs import Verb
from ...privacy.accounting.losses import AskOptions
from ...release.answers.shapes import Column, Counted, HasRows, Listed, Measured
from ...release.asking import release_method
from ...release.unreleased import Unreleased, UnreleasedExtreme
from ...release.wording import quantile_verb
from ...rows import expressions
from ...rows.facts.bounds import Bounds, Grid
from ...rows.facts.spans import Span
from ...rows.figures import short
from .arguments import (
    Weights,
    check_inference,
    checked_ddof,
    measured,
    quantiles_of,
    steps_of,
    weights_of,
    with_levels,
)
from .queryable import Queryable
from .unit_totals import sum_of_totals


class Aggregations(Queryable, Generic[Counted, Measured, Listed]):
    """Statistics of numbers, one entry for each column and group."""

    @typing.overload
    def count(self, *, weights: None = None, weight_bounds: None = None) -> Unreleased[Counted]: ...
    @typing.overload
    def count(
        self, *, weights: None = None, weight_bounds: None = None, **ways: Unpack[AskOptions]
    ) -> Counted: ...
    @typing.overload
    def count(self, *, weights: object, weight_bounds: object = None) -> Unreleased[Measured]: ...
    @typing.overload
    def count(
        self, *, weights: object, weight_bounds: object = None, **ways: Unpack[AskOptions]
    ) -> Measured: ...
    @typing.overload
    def count(
        self: HasRows[Column], axis: Literal[1, "columns"], *, numeric_only: bool = False
    ) -> Column: ...
    @release_method  # type: ignore[misc]
    def count(
        self, *, weights: object = None, weight_bounds: object = None, **ways: Unpack[AskOptions]
    ) -> Any:
        """How many values aren't missing: an int; a Series for several columns; a Series or
        DataFrame by group.

        weights : a private column of the same rows, or for a frame and groups its name. The answer
            is then the sum of the weights (a float), clipped to weight_bounds, which can't be
            negative.

        *Guarantee*: differential privacy of the unit; ℓ1 sensitivity 1 a row and column
        (docs/proofs/counts.md), with weights the largest possible one (docs/proofs/sums.md).

        >>> import pandas as pd
        >>> people = pd.DataFrame({"sex": ["f", "m"] * 5000, "age": [20, 60] * 5000}).dp
        >>> n = people["age"].count(epsilon=1)
        >>> n.round(-2), n.error()
        (10000, 3.0)
        >>> people.groupby("sex", keys=["f", "m"])["age"].count(epsilon=1).round(-2)
        sex
        f    5000
        m    5000
        Name: age, dtype: int64
        """
        weighing = weights_of(self, weights, weight_bounds)
        face = self._beside(weights)
        tests, title = tuple(map(present, face._operands().values())), face._asks("count")
        if weighing is None:
            counted = statistics.Count(face._groups, face._shape(integer=True), tests)
            return self._question(counted, title)
        grids = (Grid.centred(weighing.bounds),) * len(tests)
        operands = tuple(map(weighing.of, tests))
        statistic = statistics.Sum(face._groups, face._shape(integer=False), operands, grids)
        return self._question(statistic, title.beside(*weighing.options))

    @typing.overload
    def sum(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        norm: object = None,
        per_unit_bounds: object = None,
    ) -> Unreleased[Measured]: ...
    @typing.overload
    def sum(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        norm: object = None,
        per_unit_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> Measured: ...
    @typing.overload
    def sum(
        self: HasRows[Column],
        axis: Literal[1, "columns"],
        *,
        skipna: bool = True,
        numeric_only: bool = False,
    ) -> Column: ...
    @release_method  # type: ignore[misc]
    def sum(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        norm: object = None,
        per_unit_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """The sum of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values add nothing. The sum of True and False is how many are True: an int.

        bounds : (lower, upper), public facts, for all columns, or a dict of them; the declared
            domain holds for columns that it doesn't name. A result of suggest_bounds works too.
        weights, weight_bounds : as in `count`; each value is multiplied by its weight.
        norm : a public number. If the absolute values of a row add up to more, they are scaled
            down together until they add up to it. The noise then grows with the norm, not with the
            bounds. ("l2", norm) limits the root of their sum of squares, which counts for noise by
            rho. As with bounds, no interval includes what this changes.
        per_unit_bounds : instead of bounds, (lower, upper) of what a unit adds in all, or a dict of
            them by column. All rows of a unit are added up, whatever max_rows is, and charged to
            the whole source. By groups, a unit's totals are scaled down together if their sizes
            add up to more than max(|lower|, |upper|); the other bound clips each of them.

        *Guarantee*: differential privacy of the unit; sensitivity max(|lower|, |upper|) a row and
        column, on the grid; times the largest weight with weights; the norm for all columns
        together with norm= (docs/proofs/sums.md); max(|lower|, |upper|) a unit and column, in all
        groups together, with per_unit_bounds= (docs/proofs/totals.md).

        >>> import pandas as pd
        >>> people = pd.DataFrame({"sex": ["f", "m"] * 5000, "paid": [20, 60] * 5000}).dp
        >>> total = people["paid"].sum(bounds=(0, 99), epsilon=1)
        >>> total.round(-4), round(total.error())
        (400000.0, 297)
        >>> buys = pd.DataFrame({"food": [1, 0] * 500, "books": [0, 2] * 500}).dp
        >>> buys.sum(bounds=(0, 9), norm=1, epsilon=1).round(-2)  # 2 books count as 1
        food     500.0
        books    500.0
        dtype: float64
        """
        if per_unit_bounds is not None:
            others = {"bounds": bounds, "norm": norm, "weights": weights}
            return sum_of_totals(self, per_unit_bounds, others)
        weighing = weights_of(self, weights, weight_bounds)
        face = self._beside(weights)
        if bounds is None and weighing is None and norm is None and face._hold_truths():
            return face._number_of_true()
        operands, parsed, shape = face._measured(bounds)
        summable(parsed, norm)
        title = face._asks("sum", parsed)
        if weighing is not None:
            title = title.beside(*weighing.options)
            operands, parsed = zip(*map(weighing.times, operands, parsed), strict=True)
        if norm is None:
            plain = statistics.Sum(face._groups, shape, operands, tuple(map(Grid.centred, parsed)))
            return self._question(plain, title)
        grids, most, order = statistics.grids_of_norm(parsed, norm)
        scaled = statistics.NormedSum(face._groups, shape, operands, grids, most, order)
        return self._question(scaled, title.beside(("norm", quoted(norm))))

    def _hold_truths(self) -> bool:
        """Whether all columns are known to hold True and False, and nothing else is declared."""
        table = self._table
        return all(
            expressions.holds_truths(each, table.source.facts)
            and not isinstance(table.declared(each), Bounds | Span)
            for each in self._operands().values()
        )

    def _number_of_true(self) -> Any:
        tests = tuple(map(true, self._operands().values()))
        statistic = statistics.Count(self._groups, self._shape(integer=True), tests)
        return self._question(statistic, self._asks("sum of True"))

    @typing.overload
    def mean(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        inference: bool = False,
    ) -> Unreleased[Measured]: ...
    @typing.overload
    def mean(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        inference: bool = False,
        **ways: Unpack[AskOptions],
    ) -> Measured: ...
    @typing.overload
    def mean(
        self: HasRows[Column],
        axis: Literal[1, "columns"],
        *,
        skipna: bool = True,
        numeric_only: bool = False,
    ) -> Column: ...
    @release_method  # type: ignore[misc]
    def mean(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        inference: bool = False,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """The mean of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values are left out.

        bounds : (lower, upper), public facts, for all columns, or a dict of them; else the declared
            domain's. Masks and columns of True and False need none: the mean of
            ``frame["age"] > 30`` is the share of True, from two counts.
        weights, weight_bounds : as in `count`; each value counts by its weight. Values without a
            weight are left out.
        inference : True releases the sums of a variance, which the mean and its number of values
            follow from, too. Intervals for the population are narrower then, see
            `dppandas.intervals`, and errors a little larger. ``agg(["mean", "std"])`` at the same
            loss is free afterwards.

        *Guarantee*: differential privacy of the unit, and of how many values there are (Kulesza,
        Suresh and Wang, ICML 2024; docs/proofs/means.md, docs/proofs/weights.md; with inference
        docs/proofs/variances.md).

        >>> import pandas as pd
        >>> people = pd.DataFrame({"sex": ["f", "m"] * 5000, "age": [20, 60] * 5000}).dp
        >>> people["age"].mean(bounds=(0, 99), epsilon=1).round()
        40.0
        >>> people.groupby("sex", keys=["f", "m"])["age"].mean(bounds=(0, 99), epsilon=1).round()
        sex
        f    20.0
        m    60.0
        Name: age, dtype: float64
        """
        weighing = weights_of(self, weights, weight_bounds)
        if inference is not False:
            check_inference(inference, weights)
        face = self._beside(weights)
        operands, parsed, shape = face._measured(bounds)
        title, of = face._asks("mean", parsed), (face._groups, shape, operands, parsed)
        if inference and not face._hold_truths():
            summed = statistics.Moments(*of, root=True, shown=("mean",))
            return self._question(summed, title.beside(("inference", "yes")))
        if weighing is None:
            statistic = statistics.Mean(*of)
            return self._question(statistic, title)
        by = weighing.expression, Grid.centred(weighing.bounds)
        weighted = statistics.WeightedMean(face._groups, shape, operands, parsed, *by)
        return self._question(weighted, title.beside(*weighing.options))

    @typing.overload
    def var(self, ddof: int = 1, *, bounds: object = None) -> Unreleased[Measured]: ...
    @typing.overload
    def var(
        self, ddof: int = 1, *, bounds: object = None, **ways: Unpack[AskOptions]
    ) -> Measured: ...
    @typing.overload
    def var(
        self: HasRows[Column],
        ddof: int = 1,
        *,
        axis: Literal[1, "columns"],
        skipna: bool = True,
        numeric_only: bool = False,
    ) -> Column: ...
    @release_method  # type: ignore[misc]
    def var(self, ddof: int = 1, *, bounds: object = None, **ways: Unpack[AskOptions]) -> Any:
        """The variance of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values are left out.

        ddof : as in pandas. The number of values, which it is subtracted from, is private and part
            of the same release.
        bounds : as in `mean`.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/variances.md).

        >>> import pandas as pd
        >>> ages = pd.Series([20, 60] * 5000, name="age").dp
        >>> ages.var(bounds=(0, 99), epsilon=1).round(-2)
        400.0
        """
        return self._variance("var", ddof, bounds)

    @typing.overload
    def std(self, ddof: int = 1, *, bounds: object = None) -> Unreleased[Measured]: ...
    @typing.overload
    def std(
        self, ddof: int = 1, *, bounds: object = None, **ways: Unpack[AskOptions]
    ) -> Measured: ...
    @typing.overload
    def std(
        self: HasRows[Column],
        ddof: int = 1,
        *,
        axis: Literal[1, "columns"],
        skipna: bool = True,
        numeric_only: bool = False,
    ) -> Column: ...
    @release_method  # type: ignore[misc]
    def std(self, ddof: int = 1, *, bounds: object = None, **ways: Unpack[AskOptions]) -> Any:
        """The standard deviation of the values, clipped to bounds: the square root of `var`.

        *Guarantee*: differential privacy of the unit (docs/proofs/variances.md).
        """
        return self._variance("std", ddof, bounds)

    @typing.overload
    def sem(self, ddof: int = 1, *, bounds: object = None) -> Unreleased[Measured]: ...
    @typing.overload
    def sem(
        self, ddof: int = 1, *, bounds: object = None, **ways: Unpack[AskOptions]
    ) -> Measured: ...
    @release_method
    def sem(self, ddof: int = 1, *, bounds: object = None, **ways: Unpack[AskOptions]) -> Any:
        """The standard error of the mean of the values, clipped to bounds: `std` over the root of
        the number of values, from the sums of `var`, and so of the same release.

        It says how far the mean of a sample may be from that of the population, and nothing of the
        noise of a released mean, whose ``.error()`` does.

        ddof, bounds : as in `var`.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/variances.md).

        >>> import pandas as pd
        >>> ages = pd.Series([20, 60] * 5000, name="age").dp
        >>> print(f"{ages.sem(bounds=(0, 99), epsilon=1):.1f}")
        0.2
        """
        return self._variance("sem", ddof, bounds)

    def _variance(self, what: str, ddof: object, bounds: object) -> Any:
        operands, parsed, shape = self._measured(bounds)
        if what == "var":
            self._refuse_variance_of_times(shape)
        of = self._groups, shape, operands, parsed, checked_ddof(ddof, parsed)
        statistic = statistics.Variance(*of, root=what != "var", of_mean=what == "sem")
        return self._question(statistic, self._asks(what, parsed))

    def _refuse_variance_of_times(self, shape: statistics.Layout) -> None:
        if shape.rulers:
            raise QueryError(
                "the variance of times has no unit. Ask for .std(), which is a duration."
            )

    @typing.overload
    def median(
        self,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        weights: object = None,
        weight_bounds: object = None,
    ) -> Unreleased[Measured]: ...
    @typing.overload
    def median(
        self,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        weights: object = None,
        weight_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> Measured: ...
    @typing.overload
    def median(
        self: HasRows[Column],
        axis: Literal[1, "columns"],
        *,
        skipna: bool = True,
        numeric_only: bool = False,
    ) -> Column: ...
    @release_method  # type: ignore[misc]
    def median(
        self,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        weights: object = None,
        weight_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """The median of the values, clipped to bounds: the `quantile` for q=0.5, which says what
        ``step`` and ``interval`` are.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md;
        docs/proofs/quantile_intervals.md).

        >>> import pandas as pd
        >>> m = pd.Series([20, 30, 40] * 1000, name="age").dp.median(bounds=(0, 60), epsilon=1)
        >>> m, m.error()  # in ranks
        (30.0, 24.0)
        """
        weighing, half = (weights_of(self, weights, weight_bounds), weights), [Fraction(1, 2)]
        return self._quantile(
            "median", half, None, bounds, step, weighing=weighing, interval=interval
        )

    @typing.overload
    def quantile(
        self,
        q: float | Fraction | Decimal = 0.5,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        weights: object = None,
        weight_bounds: object = None,
    ) -> Unreleased[Measured]: ...
    @typing.overload
    def quantile(
        self,
        q: float | Fraction | Decimal = 0.5,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        weights: object = None,
        weight_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> Measured: ...
    @typing.overload
    def quantile(
        self,
        q: Iterable[float | Fraction | Decimal],
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        weights: object = None,
        weight_bounds: object = None,
    ) -> Unreleased[Listed]: ...
    @typing.overload
    def quantile(
        self,
        q: Iterable[float | Fraction | Decimal],
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        weights: object = None,
        weight_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> Listed: ...
    @release_method
    def quantile(
        self,
        q: object = 0.5,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        weights: object = None,
        weight_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """The value below which a share q of the values lies, clipped to bounds. Missing values
        are left out. Shaped as in pandas: a list of shares is the index, or its last level.

        q : a share from 0 to 1, or a list of them. Several at once cost less than each on its own,
            and never decrease as q grows. For shares of 0 and 1 see `min`.
        bounds : as in `mean`. Answers lie on a grid of at most 2^30 steps between them.
        step : a number of which all values are known to be whole multiples, such as 1 or 0.05, or
            for times and durations a Timedelta; or a dict by column. Answers are then multiples
            too, and more accurate. A public fact; without it, that of ``steps=`` of
            `dppandas.protect`. Other values are rounded to multiples, and errors and intervals are
            about these. A float means the decimal that it prints as. Multiples of times are counted
            from 1970, by the local clock; in a zone a step must divide 15 minutes.

        interval : True spends two fifths of the loss on noisy counts of the rows between the answer
            and points around it. ``.interval()`` then has the values between which pandas'
            quantile lies, and ``.error()`` a smaller number of ranks; the answer itself is as
            accurate as at a quarter of the loss. Several have them in ``dp.record(answer)``.
            ``"ranks"`` spends three tenths on counts between the answers alone: the answer is
            nearly as accurate as without, and ``.error()`` the smallest where few values are equal
            or a step is known, but there is no interval of values.
        weights, weight_bounds : as in `count`; each value counts by its weight, and ``.error()`` is
            how much the values may weigh that lie between an exact quantile and the answer. Values
            without a weight are left out.

        Where pandas interpolates between two values, the answer is a point between them.
        ``.error()`` is in ranks: how many values may lie between an exact quantile and the answer,
        after all are rounded to the grid. Bounds much wider than the values make it too coarse.
        For several quantiles it is smaller if you know how many values there are at most: give
        ``expected_rows=`` with `within=`, in ``expected_error`` or in ``dp.record(…).errors``.
        There is no interval of values without ``interval=True``.

        *Guarantee*: differential privacy of the unit, and of how many values there are; the
        exponential mechanism (McSherry and Talwar, FOCS 2007; Kaplan, Schnapp and Stemmer, ICML
        2022; docs/proofs/quantiles.md, docs/proofs/quantile_intervals.md,
        docs/proofs/weighted_quantiles.md).

        >>> import pandas as pd
        >>> ages = pd.Series([20, 30, 40] * 1000, name="age").dp
        >>> ages.quantile([0.25, 0.75], bounds=(0, 60), epsilon=1)
        0.25    20.0
        0.75    40.0
        Name: age, dtype: float64
        """
        shares, labels = quantiles_of(q)
        said = quantile_verb([short(float(share)) for share in shares])
        kind = UnreleasedExtreme if 0 in shares or 1 in shares else Unreleased
        weighing = weights_of(self, weights, weight_bounds), weights
        return self._quantile(said, shares, labels, bounds, step, kind, weighing, interval)

    @typing.overload
    def min(self, *, bounds: object = None, step: object = None) -> Unreleased[Measured]: ...
    @typing.overload
    def min(
        self, *, bounds: object = None, step: object = None, **ways: Unpack[AskOptions]
    ) -> Measured: ...
    @typing.overload
    def min(
        self: HasRows[Column],
        axis: Literal[1, "columns"],
        *,
        skipna: bool = True,
        numeric_only: bool = False,
    ) -> Column: ...
    @release_method  # type: ignore[misc]
    def min(self, *, bounds: object = None, step: object = None, **ways: Unpack[AskOptions]) -> Any:
        """A value near the smallest: as close as privacy allows.

        The smallest value itself belongs to somebody. This is a point with about one value below
        it at most; ``.error()`` says how many there may be.

        bounds : as in `quantile`, but narrow. Any point below all values is as good as another, so
            with bounds much wider than the values the answer can lie anywhere in between, and
            ``quantile(0.01)`` is more useful.
        step : as in `quantile`.

        A `UserWarning` says that the answer isn't the smallest value. `describe`, where this is one
        of eight figures, doesn't warn.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md).
        """
        return self._quantile("min", [Fraction(0)], None, bounds, step, UnreleasedExtreme)

    @typing.overload
    def max(self, *, bounds: object = None, step: object = None) -> Unreleased[Measured]: ...
    @typing.overload
    def max(
        self, *, bounds: object = None, step: object = None, **ways: Unpack[AskOptions]
    ) -> Measured: ...
    @typing.overload
    def max(
        self: HasRows[Column],
        axis: Literal[1, "columns"],
        *,
        skipna: bool = True,
        numeric_only: bool = False,
    ) -> Column: ...
    @release_method  # type: ignore[misc]
    def max(self, *, bounds: object = None, step: object = None, **ways: Unpack[AskOptions]) -> Any:
        """A value near the largest: as close as privacy allows. See `min`.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md).
        """
        return self._quantile("max", [Fraction(1)], None, bounds, step, UnreleasedExtreme)

    def _quantile(
        self,
        verb: str | Verb,
        shares: Sequence[Fraction],
        labels: Sequence[float] | float | None,
        bounds: object,
        step: object = None,
        kind: type[Unreleased] = Unreleased,
        weighing: tuple[Weights | None, object] = (None, None),
        interval: object = False,
    ) -> Any:
        weights, named = weighing
        face = self._beside(named)
        operands, parsed, flat = face._measured(bounds)
        shape = with_levels(flat, labels, face._operands(), face._groups)
        steps = steps_of(face, face._operands(), parsed, step)
        of = face._groups, shape, operands, parsed, tuple(shares), steps.sizes
        name, options = measured(interval, shares)
        question = face._asks(verb, parsed, *steps.options, *options)
        if weights is None:
            return self._question(getattr(statistics, name)(*of), question, kind)
        if options:
            raise QueryError(
                "interval= is for quantiles without weights. Leave out interval= or weights=."
            )
        by = weights.expression, Grid.centred(weights.bounds)
        weighted = statistics.WeightedQuantiles(*of, *by)
        return self._question(weighted, question.beside(*weights.options), kind)
