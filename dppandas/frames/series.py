"""One private column, or a mask made from private columns."""

from __future__ import annotations

import builtins
import sys
import typing
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, Unpack

import pandas as pd

from .. import statistics
from ..columns import refusals
from ..columns.private_rows import is_unit, unit_labels
from ..columns.ranges import bounds_of, range_of
from ..columns.spellings.selection import Locator
from ..errors import QueryError, hide_internals, is_one_of, quoted
from ..ledger.questions import Question
from ..ledger.verbs import Verb
from ..privacy.accounting.losses import AskOptions
from ..release import foreign
from ..release.answers.results import ReleasedFloat
from ..release.asking import release_method
from ..release.blocks.bundle import Name, ReleaseBundle
from ..release.unreleased import Unreleased
from ..release.wording import operand, quantile_verb, verb_of
from ..rows import expressions
from ..rows.expressions import Expression, Outside
from ..rows.facts.bounds import Bounds
from ..rows.facts.keys import Keys, is_hashable
from ..rows.figures import short
from ..rows.sentences import in_lines
from ..statistics import Cells, Count, Layout
from ..statistics.methods import COLUMN
from . import schemas
from .answers.arguments import checked_ddof, pearson, quantiles_of, steps_of, trim_of
from .answers.descriptions import Parts, add_labels, of_labels_in, rows_of
from .answers.frequencies import Frequencies
from .answers.several import answers_of

#: Methods of quantiles that add noise to a value.
_NOISY = ("smooth", "bounded_sensitivity")


class PrivateSeries(Frequencies):
    """One column of private rows, or a mask made from them. It answers only by releases, with the
    options of `Unreleased.release`."""

    @hide_internals
    def __repr__(self) -> builtins.str:
        source = self._table.source
        filtered = "" if self._where is None else f" where {self._where}"
        return f"<private column {self._expression} of {source.name} ({source.lineage}){filtered}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(in_lines(repr(self), schemas.in_a_line(self._fact)))

    def _repr_html_(self) -> builtins.str:
        source = self._table.source
        head = f"private column {self._expression} of {source.name} ({source.lineage})"
        rows_kept = "" if self._where is None else f"rows where {self._where}"
        return schemas.column_html(head, rows_kept, self._fact)

    @property
    def _fact(self) -> schemas.Fact:
        return schemas.fact(self._table, self.name, self._expression)

    @hide_internals
    def _refuse_name(self, name: builtins.str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise refusals.refuse(self, "private columns", answers_of(COLUMN), name)

    if not TYPE_CHECKING:  # which would believe in every name
        __getattr__ = _refuse_name

    @property
    def loc(self) -> Locator[Self]:
        """The values in the rows of a private mask: ``p["age"].loc[p["sex"] == "f"]``.
        *Stability*: 1, row by row."""
        return Locator(self, has_columns=False)

    def _learned(self, value: Any) -> Self:
        """The unit column, mapped by a value of each unit."""
        labels = unit_labels(value._table)
        if labels is None:
            raise QueryError(
                "a column is mapped by a dict or a Series of plain values. The unit column may be "
                "mapped by a value of each unit: p['who'].map(p.groupby('who')['paid'].sum())."
            )
        (unit, *_), named = labels, value.reset_index(name="_value")
        found = self._several({unit: self._expression}).merge(named, "left", unit)
        return self._new(found._columns["_value"])

    def _among(self, others: Any) -> Self:
        """Whether the units of the rows are among those of other rows."""
        if not all(is_unit(each._expression, each._table) for each in (self, others)):
            raise QueryError(
                "isin takes a list of plain values, such as isin(['a', 'b']). Only the unit column "
                "may be looked up in that of other rows: p['who'].isin(p[mask]['who'])."
            )
        unit = self._table.source.unit.column
        found = others._several({unit: others._expression}).groupby(unit).size()
        return self._new(expressions.Not(expressions.IsMissing(self._learned(found)._expression)))

    @release_method
    def reset_index(self, *, drop: bool = False, name: Any = None) -> Any:
        """A frame of one row for each unit, with its labels as columns; this column itself, with
        drop=True. Other private rows have no index. *Stability*: 1.

        name : of the column of values; by default the column's own.

        >>> import pandas as pd, dppandas as dp
        >>> visits = pd.DataFrame({"who": [1, 1, 2], "paid": [5.0, 7.0, 9.0]})
        >>> p = dp.private(visits, unit="who", max_rows=2)
        >>> p.groupby("who").size().reset_index(name="visits").columns.tolist()
        ['who', 'visits']
        """
        if drop is True:
            return self
        labels = unit_labels(self._table)
        if labels is None:
            raise QueryError(
                "reset_index needs an index, and private rows have none. Instead, start from "
                "df.reset_index(), or write drop=True."
            )
        own = 0 if self.name is None else self.name
        called = own if name is None else name
        if called in labels:
            raise QueryError(f"{quoted(called)} is a label. Name the values: reset_index(name=…).")
        return self._several({**labels, called: self._expression})

    @property
    @hide_internals
    def dtype(self) -> builtins.str:
        """The public kind of its values: number, truth, text, time, zoned time, duration, list or
        unknown. Not its dtype, which may tell of a single value.

        >>> import pandas as pd
        >>> pd.DataFrame({"age": [31, 64]}).dp["age"].dtype
        'number'
        """
        if foreign.is_library(sys._getframe()):  # which would take it for that of an array
            raise AttributeError("dtype")
        return self._expression.kind(self._table.source.facts.schema)

    @property
    @hide_internals
    def dtypes(self) -> builtins.str:
        """The same as `dtype`, as in pandas.

        >>> import pandas as pd
        >>> (pd.DataFrame({"age": [31, 64]}).dp["age"] > 40).dtypes
        'truth'
        """
        return self.dtype

    def _operands(self) -> dict[Any, Expression]:
        return {self.name: self._expression}

    def _shape(self, integer: bool) -> Layout:
        return Layout(integer=integer, name=self.name)

    def _asks(
        self,
        verb: builtins.str | Verb,
        bounds: Sequence[Bounds] = (),
        *options: tuple[builtins.str, Any],
    ) -> Question:
        column = operand(self.name, self._expression, *bounds)
        return Question(verb_of(verb), (column,), options=options)

    def _by_column(self, value: Any) -> dict[Any, Any]:
        return {self.name: value}

    @property
    def _is_single(self) -> bool:
        return True

    def _gathered(
        self, values: dict[Name, Any], by_column: bool = False, by_name: bool = False
    ) -> Any:
        names = pd.Index([name for _, name in values])
        return pd.Series(list(values.values()), index=names, name=self.name)

    def _described(
        self, percentiles: object, bounds: object, step: object, interval: object
    ) -> ReleaseBundle:
        if not self._is_labelled(self._expression, bounds is not None):
            return super()._described(percentiles, bounds, step, interval)
        rows_of(percentiles)  # refuses what can't be; labels have none
        parts = Parts()
        add_labels(parts, None, self, Fraction(1))
        return ReleaseBundle(
            parts.requests, parts.shares,
            lambda values: self._gathered(of_labels_in(values, None)), parts.columns,
        )  # fmt: skip

    # answers of a single column

    @typing.overload
    def median(
        self,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        method: object = "exponential",
        weights: object = None,
        weight_bounds: object = None,
    ) -> Unreleased[ReleasedFloat]: ...
    @typing.overload
    def median(
        self,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        method: object = "exponential",
        weights: object = None,
        weight_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> ReleasedFloat: ...
    @release_method
    def median(
        self,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        method: object = "exponential",
        weights: object = None,
        weight_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """The median of the values, clipped to bounds: the `quantile` for q=0.5, which says what
        ``step``, ``interval`` and ``method`` are.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md;
        docs/proofs/smooth.md; docs/proofs/sensitivity_bounds.md).

        >>> import pandas as pd
        >>> m = pd.Series([20, 30, 40] * 1000, name="age").dp.median(bounds=(0, 60), epsilon=1)
        >>> m, m.error()  # in ranks
        (30.0, 24.0)
        """
        if self._adds_noise(method, weights, interval):
            return self._with_noise("median", 0.5, bounds, step, str(method))
        return super().median(
            bounds=bounds, step=step, interval=interval, weights=weights,
            weight_bounds=weight_bounds,
        )  # fmt: skip

    @typing.overload
    def quantile(
        self,
        q: float | Fraction | Decimal = 0.5,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        method: object = "exponential",
        weights: object = None,
        weight_bounds: object = None,
    ) -> Unreleased[ReleasedFloat]: ...
    @typing.overload
    def quantile(
        self,
        q: float | Fraction | Decimal = 0.5,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        method: object = "exponential",
        weights: object = None,
        weight_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> ReleasedFloat: ...
    @typing.overload
    def quantile(
        self,
        q: Iterable[float | Fraction | Decimal],
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        method: object = "exponential",
        weights: object = None,
        weight_bounds: object = None,
    ) -> Unreleased[pd.Series[Any]]: ...
    @typing.overload
    def quantile(
        self,
        q: Iterable[float | Fraction | Decimal],
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        method: object = "exponential",
        weights: object = None,
        weight_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> pd.Series[Any]: ...
    @release_method
    def quantile(
        self,
        q: object = 0.5,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        method: object = "exponential",
        weights: object = None,
        weight_bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """The value below which a share q of the values lies, clipped to bounds. Missing values
        are left out. A list of shares is the index of the result, as in pandas.

        q, bounds, step, interval, weights, weight_bounds : as for the columns of a frame
            (`PrivateFrame.quantile`).
        method : "exponential" selects a point by its rank. "smooth" adds noise to the value of rank
            ⌈qn⌉, the more noise the more a few rows could change that value. It is better only if
            many values are equal or lie close together; it takes one q and has no error. It is
            experimental (``dp.session(experimental=True)``), because nothing is proven about the
            rounding of its floating-point noise. "bounded_sensitivity" spends half of epsilon on a
            bound of how far one unit could move that value, which holds but for a chance of
            ``delta=``, and half on Laplace noise in proportion to it. So ``.error()`` and
            ``.interval()`` are in the unit of the column, and ``dp.record(answer).noise`` is the
            noise; it takes one q. Nearly always the error is larger than that of "exponential".

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md); "smooth" on real
        numbers, by smooth sensitivity (Nissim, Raskhodnikova and Smith, STOC 2007;
        docs/proofs/smooth.md); "bounded_sensitivity" with a δ (Vadhan, "The Complexity of
        Differential Privacy", 2017, Section 3.4; docs/proofs/sensitivity_bounds.md).

        >>> import pandas as pd, dppandas as dp
        >>> _ = dp.session(experimental=True)
        >>> ages = pd.Series([20] * 500 + [60] * 100)
        >>> ages.dp.median(bounds=(0, 100), method="smooth", epsilon=1).round()
        20.0
        """
        if self._adds_noise(method, weights, interval):
            return self._with_noise("quantile", q, bounds, step, str(method))
        return super().quantile(  # type: ignore[call-overload]
            q, bounds=bounds, step=step, interval=interval, weights=weights,
            weight_bounds=weight_bounds,
        )  # fmt: skip

    def _adds_noise(self, method: object, weights: object, interval: object) -> bool:
        """Whether noise is added to a value, rather than a point selected."""
        if not is_one_of(method, ("exponential", *_NOISY)):
            raise QueryError(
                f"method={quoted(method)} must be 'exponential', 'smooth' or 'bounded_sensitivity'."
            )
        if method == "exponential":
            return False
        if weights is not None:
            raise QueryError(
                f"method={quoted(method)} takes no weights. Leave method= out: a weighted quantile "
                "is selected by how much the values on either side weigh."
            )
        if interval:
            raise QueryError(
                'interval= is for method="exponential". Leave it out: "bounded_sensitivity" has an '
                'interval anyway, and "smooth" has none.'
            )
        return True

    def _with_noise(
        self, what: builtins.str, q: object, bounds: object, step: object, method: builtins.str
    ) -> Any:
        shares, label = quantiles_of(q)
        if isinstance(label, list):
            raise QueryError(
                f"method={quoted(method)} takes a single q, such as q=0.5. Ask separately."
            )
        is_median, is_smooth = what == "median", method == "smooth"
        if is_smooth and step is not None:
            raise QueryError(
                'step= is for method="exponential" or "bounded_sensitivity". Leave it out.'
            )
        operands, parsed, layout = self._measured(bounds, bounds_of if is_smooth else range_of)
        of = self._groups, layout, operands, parsed, shares
        if is_smooth:
            said = f"smooth {what if is_median else f'{what} {short(label)}'}"
            return self._question(statistics.SmoothQuantile(*of), self._asks(said, parsed))
        steps = steps_of(self, self._operands(), parsed, step)
        verb = verb_of(what) if is_median else quantile_verb([short(label)])
        question = self._asks(verb, parsed, *steps.options, ("way", "bounded sensitivity"))
        return self._question(statistics.BoundedQuantile(*of, steps.sizes), question)

    @typing.overload
    def trimmed_mean(
        self, *, trim: object = None, bounds: object = None
    ) -> Unreleased[ReleasedFloat]: ...
    @typing.overload
    def trimmed_mean(
        self, *, trim: object = None, bounds: object = None, **ways: Unpack[AskOptions]
    ) -> ReleasedFloat: ...
    @release_method
    def trimmed_mean(
        self, *, trim: object = None, bounds: object = None, **ways: Unpack[AskOptions]
    ) -> Any:
        """The mean of the values without the smallest and the largest: a float. The noise grows
        with how much a few rows could change it. Missing values are left out, others are clipped to
        bounds. With 2·trim values or fewer, the answer is noise around the middle of the bounds.

        trim : how many rows to leave out at each end, a public number. Not a share, because how
            many rows there are is private. If bounds are much wider than the values, use about
            (5/epsilon)·ln(how many times wider), times max_rows if units have several rows. With
            less, `mean` is better.

        It has neither an error nor an interval, because both would reveal private values. It is
        experimental (``dp.session(experimental=True)``), because nothing is proven about the
        rounding of its floating-point noise.

        *Guarantee*: differential privacy of the unit, and of how many values there are, on real
        numbers, by smooth sensitivity (Nissim, Raskhodnikova and Smith, STOC 2007). Its bound for
        added and removed rows is derived in docs/proofs/smooth.md.

        >>> import pandas as pd, dppandas as dp
        >>> _ = dp.session(experimental=True)
        >>> incomes = pd.Series([20, 30, 40] * 300 + [10**6] * 9)
        >>> m = incomes.dp.trimmed_mean(trim=99, bounds=(0, 10**6), epsilon=1)
        >>> bool(abs(m - 30) < 10)
        True
        """
        cut = trim_of(trim)
        operands, parsed, layout = self._measured(bounds, bounds_of)
        statistic = statistics.TrimmedMean(self._groups, layout, operands, parsed, trim=cut)
        return self._question(statistic, self._asks("trimmed mean", parsed, ("trim", cut)))

    @typing.overload
    def clipping_shares(self, *, bounds: object = None) -> Unreleased[pd.Series[float]]: ...
    @typing.overload
    def clipping_shares(
        self, *, bounds: object = None, **ways: Unpack[AskOptions]
    ) -> pd.Series[float]: ...
    @release_method
    def clipping_shares(self, *, bounds: object = None, **ways: Unpack[AskOptions]) -> Any:
        """The shares of values below, inside and above bounds: what clipping would change.

        No interval of a sum or mean includes that change; this measures it. The result is a Series
        under "below", "inside", "above".

        *Guarantee*: epsilon-differential privacy of the unit; each value lies in one of three
        cells, so the ℓ1 sensitivity is 1 a row (docs/proofs/counts.md).

        >>> import pandas as pd
        >>> ages = pd.Series([20, 30, 400] * 1000, name="age")
        >>> ages.dp.clipping_shares(bounds=(0, 99), epsilon=1).round(1).to_dict()
        {'below': 0.0, 'inside': 0.7, 'above': 0.3}
        """
        (expression,), (bound,), _ = self._measured(bounds)
        keys = Keys(Outside.labels)
        names = pd.Index(keys.labels, name=self.name)
        layout = Layout(integer=False, index=names, name="proportion")
        cells = Cells((Outside(expression, bound),), keys)
        what = self._asks("shares", (), ("outside", bound))
        return self._question(Count(cells, layout, share_of=len(keys)), what)

    @hide_internals
    def groupby(
        self,
        by: Any,
        keys: object = None,
        *,
        as_index: bool = True,
        sort: bool = False,
        observed: bool = False,
        dropna: bool = True,
        delta: object = None,
    ) -> Any:
        """This column in groups by other private columns of the same rows:
        ``frame["age"].groupby(frame["sex"])`` is ``frame.groupby("sex")["age"]``.

        >>> import pandas as pd
        >>> p = pd.DataFrame({"sex": ["f", "m"] * 5000, "age": [20, 60] * 5000}).dp
        >>> by_sex = p["age"].groupby(p["sex"], keys=["f", "m"])
        >>> by_sex.mean(bounds=(0, 99), epsilon=1).round().to_dict()
        {'f': 20.0, 'm': 60.0}
        """
        items = by if isinstance(by, list) else [by]
        labels = unit_labels(self._table) or {}
        if labels and all(is_hashable(each) and each in labels for each in items):
            whole, name = self.reset_index(), 0 if self.name is None else self.name
            return whole.groupby(
                by, keys, dropna=dropna, delta=delta, as_index=as_index, sort=sort,
                observed=observed,
            )[name]  # fmt: skip
        if self.name is None or not all(isinstance(each, PrivateSeries) for each in items):
            raise QueryError(
                "a column with a name is grouped by private columns of the same rows, as in "
                "frame['age'].groupby(frame['sex']). By their names: frame.groupby('sex')['age']."
            )
        options: dict[builtins.str, Any] = {
            "as_index": as_index,
            "sort": sort,
            "observed": observed,
        }
        frame = self._several({self.name: self._expression})
        return frame.groupby(by, keys, dropna=dropna, delta=delta, **options)[self.name]

    @typing.overload
    def cov(
        self, other: PrivateSeries, ddof: int = 1, *, bounds: object = None
    ) -> Unreleased[ReleasedFloat]: ...
    @typing.overload
    def cov(
        self,
        other: PrivateSeries,
        ddof: int = 1,
        *,
        bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> ReleasedFloat: ...
    @release_method
    def cov(
        self, other: Any, ddof: int = 1, *, bounds: object = None, **ways: Unpack[AskOptions]
    ) -> Any:
        """The covariance with another private column of the same rows: a float.

        bounds : (lower, upper) for both, or a dict by name; else the declared domain's.

        It uses the rows that have both values; ddof as in pandas.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/covariances.md).

        >>> import pandas as pd
        >>> p = pd.DataFrame({"age": [20, 60] * 5000, "wage": [20, 30] * 5000}).dp
        >>> p["age"].cov(p["wage"], bounds=(0, 99), epsilon=1).round(-2)
        100.0
        """
        return self._with_other("cov", other, ddof, bounds)

    @typing.overload
    def corr(
        self, other: PrivateSeries, method: builtins.str = "pearson", *, bounds: object = None
    ) -> Unreleased[ReleasedFloat]: ...
    @typing.overload
    def corr(
        self,
        other: PrivateSeries,
        method: builtins.str = "pearson",
        *,
        bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> ReleasedFloat: ...
    @release_method
    def corr(
        self,
        other: Any,
        method: builtins.str = "pearson",
        *,
        bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """The correlation with another private column of the same rows: a float from -1 to 1.

        bounds : as in `cov`. What can't be told from noise is 0.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/covariances.md).
        """
        pearson(method)
        return self._with_other("corr", other, 1, bounds)

    def _with_other(self, what: builtins.str, other: Any, ddof: object, bounds: object) -> Any:
        if not isinstance(other, PrivateSeries):
            raise QueryError(f"{what} takes a private column, as in p['a'].{what}(p['b']).")
        operands = (self._expression, self._other(other))
        names = (self.name, other.name)
        parsed = tuple(
            bounds_of(self._table, name, expression, bounds)
            for name, expression in zip(names, operands, strict=True)
        )
        layout, freedom, is_corr = Layout(integer=False), checked_ddof(ddof, parsed), what == "corr"
        statistic = statistics.Covariance(
            Cells(), layout, operands, parsed, freedom, is_corr, pair=True
        )
        columns = tuple(map(operand, names, operands, parsed))
        return self._question(statistic, Question(verb_of(what), columns))


@hide_internals
def cut(
    x: Any,
    bins: Any,
    labels: Any = None,
    right: bool = True,
    include_lowest: bool = False,
    ordered: bool = True,
) -> PrivateSeries:
    """`PrivateSeries.cut`, spelled like `pandas.cut`. *Stability*: 1, row by row.

    >>> import pandas as pd, dppandas as dp
    >>> ages = dp.private(pd.DataFrame({"age": [15, 30]}), unit="row")["age"]
    >>> dp.cut(ages, [0, 18, 99])
    <private column cut(age, [0, 18, 99]) of unnamed (asserted)>
    """
    if not isinstance(x, PrivateSeries):
        raise QueryError("dp.cut takes a private column. Use pandas.cut for a plain one.")
    return x.cut(bins, labels, right, include_lowest, ordered)
