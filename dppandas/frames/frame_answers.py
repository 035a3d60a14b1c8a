"""The answers of private frames that columns and groups don't share."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Generic, Literal, Self, Unpack

import pandas as pd

from .. import statistics
from ..columns.rowwise import true
from ..errors import QueryError, is_one_of
from ..ledger.questions import Question
from ..ledger.verbs import Verb
from ..privacy.accounting.losses import AskOptions, Number, TargetAskOptions
from ..release.answers.shapes import Counted, Selected
from ..release.asking import release_method
from ..release.blocks.bundle import Name, ReleaseBundle, by_row
from ..release.unreleased import Unreleased, UnreleasedLabel
from ..release.ways import UNSAID, Ways
from ..release.wording import operands, verb_of
from ..rows.expressions import Column, Expression, need, spanned
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds, Grid
from ..rows.facts.domain import Declaration
from ..rows.facts.keys import Keys
from ..rows.facts.spans import Span
from ..rows.facts.units import whole_number
from ..rows.query_string import lookup
from ..statistics import Cells, Count, KeyLimit, Layout
from .answers.arguments import weights_of
from .answers.descriptions import Parts, Values, add_labels, of_labels_in, rows_of
from .answers.unit_totals import sum_of_totals
from .pivots import PivotMethods
from .series import PrivateSeries
from .verbs.column_verbs import is_along_rows
from .verbs.frame_operators import with_rows
from .verbs.naming import Naming

#: The kinds that describe measures, if it isn't told which.
_MEASURED = frozenset({kinds.NUMBER, kinds.DURATION, kinds.TIME, kinds.ZONED})


def _are_numbers(declared: Declaration | None) -> bool:
    """Whether a column is declared as numbers, times or durations: not as 0 and 1 alone, which may
    be False and True."""
    if isinstance(declared, Keys):
        are_truths = all(label in (0, 1) for label in declared.labels)
        return spanned(declared) is not None and not are_truths
    return isinstance(declared, Bounds | Span)


@with_rows
class FrameAggregations(Naming[Selected], PivotMethods[Counted], Generic[Counted, Selected]):
    """A private frame's answers, with one entry for each column or combination of keys."""

    def _operands(self) -> dict[Any, Expression]:
        self._some_columns()
        return self._columns

    def _shape(self, integer: bool) -> Layout:
        return Layout(integer=integer, index=self.columns)

    @property
    def _each(self) -> Self:
        return self._with(self._columns, self._where, is_selection=True)

    def _column(self, name: Any) -> PrivateSeries:
        return PrivateSeries(self._table, name, lookup(name, self._columns), self._where)

    def _by_column(self, value: Any) -> dict[Any, Any]:
        return dict(zip(self._columns, value.tolist(), strict=True))

    def _of_numbers(self) -> Self:
        return self[self._numeric()]  # type: ignore[return-value]

    def _gathered(
        self, values: dict[Name, Any], by_column: bool = False, by_name: bool = False
    ) -> Any:
        names = list(dict.fromkeys(column for column, _ in values))
        if not by_column:
            return by_row(values, names)
        return pd.Series(list(values.values()), index=pd.Index(names, tupleize_cols=False))

    def _kept(self, include: Any, exclude: Any, bounds: object) -> Self:
        """The columns to describe."""
        unit = self._table.source.unit.column
        mine = {n: e for n, e in self._columns.items() if unit is None or e != Column(unit)}
        rest = self._with(mine or self._columns, self._where, is_selection=True)
        if include is not None or exclude is not None:
            kept: Any = rest
            return kept if is_one_of(include, ("all",)) else kept.select_dtypes(include, exclude)  # type: ignore[no-any-return]
        measured = {n: e for n, e in mine.items() if self._is_measured(e, bounds is not None)}
        return self._with(measured, self._where, is_selection=True) if measured else rest

    def _is_measured(self, expression: Expression, is_bounded: bool) -> bool:
        """Whether a column is known to hold numbers or times; between bounds True is 1."""
        kind = expression.kind(self._table.source.facts.schema)
        if kind in _MEASURED or (is_bounded and kind == kinds.TRUTH):
            return True
        return kind in kinds.UNSURE and isinstance(self._table.declared(expression), Bounds | Span)

    def _described(
        self, percentiles: object, bounds: object, step: object, interval: object
    ) -> ReleaseBundle:
        is_bounded = bounds is not None
        labelled = [name for name, e in self._columns.items() if self._is_labelled(e, is_bounded)]
        if not labelled:
            return super()._described(percentiles, bounds, step, interval)
        rest = {name: e for name, e in self._columns.items() if name not in labelled}
        measured, parts = self._with(rest, self._where), Parts()
        each, shares = Fraction(1, len(self._columns)), rows_of(percentiles)
        left_out: frozenset[str] = frozenset()
        if rest:
            left_out = measured._add_numbers(
                parts, shares, bounds, step, interval, each * len(rest)
            )
        for name in labelled:
            add_labels(parts, name, self[name], each)

        def combined(values: Values) -> Any:
            found = measured._of_numbers_in(values, shares[1], left_out) if rest else {}
            for name in labelled:
                found |= of_labels_in(values, name)
            rows = ["count", "unique", "top", "freq", "mean", "std", *shares[1]]
            order = [(name, row) for row in rows for name in self._columns if (name, row) in found]
            return self._gathered({place: found[place] for place in order})

        return ReleaseBundle(parts.requests, parts.shares, combined, parts.columns)

    def _asks(
        self, verb: str | Verb, bounds: Sequence[Bounds] = (), *options: tuple[str, Any]
    ) -> Question:
        columns = operands(self._columns, bounds)
        return Question(verb_of(verb), columns, options=options, is_brief=True)

    def _beside(self, weights: object) -> Self:
        if weights is None or isinstance(weights, PrivateSeries):
            return self
        others = {name: e for name, e in self._columns.items() if name != weights}
        return self._with(others, self._where)

    @typing.overload
    def count(self, *, weights: None = None, weight_bounds: None = None) -> Unreleased[Counted]: ...
    @typing.overload
    def count(
        self, *, weights: None = None, weight_bounds: None = None, **ways: Unpack[AskOptions]
    ) -> Counted: ...
    @typing.overload
    def count(self, *, weights: object, weight_bounds: object = None) -> Unreleased[Any]: ...
    @typing.overload
    def count(
        self, *, weights: object, weight_bounds: object = None, **ways: Unpack[AskOptions]
    ) -> Any: ...
    @typing.overload
    def count(
        self, axis: Literal[1, "columns"], *, numeric_only: bool = False
    ) -> PrivateSeries: ...
    @release_method  # type: ignore[misc]
    def count(
        self, *, weights: object = None, weight_bounds: object = None, **ways: Unpack[AskOptions]
    ) -> Any:
        """The number of rows: an int. With columns selected (``[["a", "b"]]``), how many values
        of each aren't missing: a Series.

        pandas' DataFrame.count always counts by column; here a frame without selected columns
        counts rows, as `size` does. With weights= the answer is the sum of the weights: a float.

        *Guarantee*: differential privacy of the unit; ℓ1 sensitivity 1 a row and column
        (docs/proofs/counts.md), with weights the largest possible one (docs/proofs/sums.md).
        """
        if self._selected:
            return super().count(weights=weights, weight_bounds=weight_bounds)
        weighing = weights_of(self, weights, weight_bounds)
        if weighing is None:
            return self._row_count()
        grids = (Grid.centred(weighing.bounds),)
        statistic = statistics.Sum(Cells(), Layout(integer=False), (weighing.expression,), grids)
        return self._question(statistic, Question(verb_of("count"), options=weighing.options))

    @typing.overload
    def sum(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        at_most: object = None,
        norm: object = None,
        per_unit_bounds: object = None,
    ) -> Unreleased[pd.Series[Any]]: ...
    @typing.overload
    def sum(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        at_most: object = None,
        norm: object = None,
        per_unit_bounds: object = None,
        **ways: Unpack[TargetAskOptions],
    ) -> pd.Series[Any]: ...
    @typing.overload
    def sum(
        self, axis: Literal[1, "columns"], *, skipna: bool = True, numeric_only: bool = False
    ) -> PrivateSeries: ...
    @release_method  # type: ignore[misc]
    def sum(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        at_most: object = None,
        norm: object = None,
        per_unit_bounds: object = None,
        said: Ways = UNSAID,
        **ways: Unpack[TargetAskOptions],
    ) -> Any:
        """The sum of each column's values, clipped to bounds: a float Series.

        bounds : one (lower, upper) for all columns, or a dict of them; else the declared domain's.
            Without either, the answer is the number of True values: an int Series for any dtypes,
            because a dtype is data.
        weights, weight_bounds : as in `count`; each value is multiplied by its weight.
        norm : the most that the absolute values of a row may add up to, or ("l2", norm). Rows
            beyond are scaled down, and the noise grows with the norm. See `PrivateSeries.sum`.
        per_unit_bounds : instead of bounds, those of what a unit adds to a column in all.
        at_most : the most True values of a row that count. The noise then grows with this number,
            not with the number of columns. If a row has more, keyed hashes of the row decide which
            ones count, which is about as good as a random choice.

        *Guarantee*: differential privacy of the unit; the ℓ1 sensitivity is the most that one row
        can add to all columns together, or the norm (docs/proofs/sums.md), or at_most
        (docs/proofs/counts.md), or per_unit_bounds (docs/proofs/totals.md).

        >>> import pandas as pd, dppandas as dp
        >>> likes = pd.DataFrame({name: [True] * 90 for name in "abcdefgh"})
        >>> few = likes.dp.sum(at_most=2, epsilon=1)  # 180 in all, and not 720
        >>> bool(few.sum() < 400), dp.record(few).scale
        (True, 2.0)
        """
        if per_unit_bounds is not None:
            others = {"bounds": bounds, "norm": norm, "weights": weights, "at_most": at_most}
            return sum_of_totals(self, per_unit_bounds, others)
        declared = [self._table.declared(e) for e in self._columns.values()]
        is_bounded = bounds is not None or any(map(_are_numbers, declared))
        if is_bounded or any(x is not None for x in (weights, weight_bounds, norm)):
            if at_most is not None:
                raise QueryError(
                    "at_most= is for True and False, and bounds=, weights= and norm= are for "
                    "numbers. Leave at_most= out."
                )
            return super().sum(
                bounds=bounds, weights=weights, weight_bounds=weight_bounds, norm=norm
            )  # fmt: skip
        if at_most is not None and said.within is not None:
            raise QueryError(
                "at_most= can mean two things here: how many True values of a row count, or the "
                "most that an answer within= an error may cost. Write .sum(at_most=3).release("
                "within=20), or .sum().release(within=20, at_most=0.5)."
            )
        for expression in self._operands().values():
            what = "the number of True (a sum of numbers needs bounds=)"
            need(expression, kinds.TRUTHS, self._table.source.facts, what)
        if at_most is None:
            return self._number_of_true()
        tests = tuple(map(true, self._operands().values()))
        most, hashed = whole_number(at_most, "at_most", 1), tuple(self._table.engine.columns)
        shape = self._shape(integer=True)
        statistic = Count(Cells(), shape, tests, at_most=most, hashed=hashed)
        return self._question(statistic, self._asks("sum of True", (), ("at_most", most)))

    @typing.overload
    def idxmax(
        self, axis: Literal[0, "index"] = 0, *, bounds: object = None
    ) -> Unreleased[Any]: ...
    @typing.overload
    def idxmax(
        self, axis: Literal[0, "index"] = 0, *, bounds: object = None, **ways: Unpack[AskOptions]
    ) -> Any: ...
    @typing.overload
    def idxmax(self, axis: Literal[1, "columns"]) -> PrivateSeries: ...
    @release_method
    def idxmax(
        self,
        axis: Any = 0,
        *,
        bounds: object = None,
        said: Ways = UNSAID,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """The name of the column with the largest sum (without bounds, the most True values).

        Report noisy max over counting queries: the same as ``sum(…).idxmax(epsilon=…)``. With
        axis=1 the result is a private column, and nothing is released: the name of the column with
        the largest value of each row (see `idxmin`).

        *Guarantee*: epsilon-differential privacy of the unit, for any number of columns
        (docs/proofs/permute_and_flip.md).

        >>> import pandas as pd
        >>> likes = pd.DataFrame({"cats": [True] * 90, "dogs": [False] * 90})
        >>> print(likes.dp.idxmax(epsilon=1))
        cats
        >>> print(likes.dp.idxmax().release(epsilon=1))
        cats
        """
        if is_along_rows(axis):
            if bounds is not None or said.give_loss:
                raise QueryError(
                    "idxmax(axis=1) is a private column, which releases nothing yet. Write "
                    ".idxmax(axis=1).value_counts(epsilon=…)."
                )
            return self._name_of(largest=True)
        return replace(self.sum(bounds=bounds)._selecting(1, "idxmax"), kind=UnreleasedLabel)

    @typing.overload
    def value_counts(
        self,
        subset: Hashable | Sequence[Hashable] = None,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        *,
        keys: object = None,
        max_rows_per_key: int | None = None,
        max_keys: int | None = None,
        delta: Number = ...,
    ) -> Unreleased[pd.Series[Any]]: ...
    @typing.overload
    def value_counts(
        self,
        subset: Hashable | Sequence[Hashable] = None,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        *,
        keys: object = None,
        max_rows_per_key: int | None = None,
        max_keys: int | None = None,
        **ways: Unpack[AskOptions],
    ) -> pd.Series[Any]: ...
    @release_method
    def value_counts(
        self,
        subset: Hashable | Sequence[Hashable] = None,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        *,
        keys: object = None,
        max_rows_per_key: object = None,
        max_keys: object = None,
        said: Ways = UNSAID,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """How many rows have each combination of declared keys: a Series named "count".

        keys : a dict with a list for each column (their product), or a list of tuples; else the
            declared domain's. The rest is as in DataFrame.value_counts.
        max_rows_per_key, max_keys : the most rows of a unit that count for a combination, and the
            most combinations that it counts for, as in `groupby`.
        delta : without keys, finds the combinations in the data: see `PrivateSeries.value_counts`.

        *Guarantee*: epsilon-differential privacy of the unit; the keys are disjoint, so the ℓ1
        sensitivity is 1 a row (docs/proofs/counts.md). For keys found in the data,
        (epsilon, delta)-differential privacy (docs/proofs/thresholds.md).
        """
        names = list(subset) if isinstance(subset, list | pd.Index) else [subset]
        if not all(isinstance(name, Hashable) for name in names):
            raise QueryError("subset= must be a column's name or a list, as in subset=['a', 'b'].")
        if not dropna:
            raise QueryError("dropna=False is for one column. Select it, as in frame['column'].")
        chosen: Any = self if subset is None else self[names]
        flags = (normalize, sort, ascending, dropna)
        limit = KeyLimit.parse(max_rows_per_key, max_keys)
        return chosen._value_counts(list(chosen._columns), keys, *flags, said.delta, limit)
