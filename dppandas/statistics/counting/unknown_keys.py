"""Undeclared keys: their counts, and other statistics of their rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd

from ...dataclasses import dataclass, field, replace
from ...errors import InternalError
from ...privacy.accounting.conversions import least_from
from ...privacy.accounting.losses import NO_DELTA, Delta
from ...privacy.accounting.measures import LossRequest
from ...privacy.mechanisms.base import Mechanism, Sensitivity
from ...privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from ...privacy.mechanisms.thresholds import KeyedNoise, Threshold, Told, loss_asked, missing_delta
from ...privacy.mechanisms.weighted_selection import (
    WHOLE,
    can_select,
    is_better_of_keys,
    of_keys,
)
from ...rows.accumulators import Accumulator
from ...rows.expressions import Chunk, Expression
from ...rows.facts import kinds
from ...rows.facts.kinds import Schema
from ...rows.values import labels
from ...rows.values.vectors import Mask
from ..base import Partial, RowPass, Statistic, with_kept
from ..error_model import ErrorModel
from ..layout import Cells, Codes, Interval, Layout, format_error
from .counts import Count, clamped
from .distinct import units_of
from .label_accumulators import (
    Entry,
    EntryAccumulator,
    LabelAccumulator,
    Matrix,
    NumberedLabels,
    combined,
    weights_of,
)  # fmt: skip

#: What `NumberedLabels` says of each label.
ByName = Mapping[str, Entry]
#: A chunk, and what `Sparse._found` says of it.
FoundRows = tuple[Chunk, Mask, Codes, NumberedLabels]


@dataclass(frozen=True)
class Numbered(Cells):
    """Numbered cells, for the labels of one chunk or for the released ones."""

    count: int = 0
    of_rows: Codes | None = field(default=None, compare=False, repr=False)

    def __len__(self) -> int:
        return self.count

    def _codes(self, chunk: Chunk) -> Codes | None:
        return self.of_rows


class SparseErrors(ErrorModel):
    of: Sparse

    each: ClassVar[bool] = True


@dataclass(frozen=True)
class Sparse(Statistic, registered=False):
    """Integers for each label that occurs, of which some labels are released."""

    by: tuple[Expression, ...] = ()
    names: tuple[Any, ...] = ()
    delta: Delta = NO_DELTA  # for a release that doesn't name its own
    error_model: ClassVar = SparseErrors

    needs: ClassVar = {"by": kinds.LABELS}
    accumulator: ClassVar[type[Accumulator]] = LabelAccumulator

    def expressions(self) -> tuple[Expression, ...]:
        return self.by

    def read(self, row_pass: RowPass, mechanism: Any = None) -> NumberedLabels:
        """The integers of each label in the order of `labels.rank`: the order of the rows would
        show in the released labels."""
        found = row_pass(self.over_branches, self.accumulator)
        if not isinstance(found, NumberedLabels):
            found = NumberedLabels.of(found, self.size)
        return found.in_order()

    def exact_distance(self, one: ByName, other: ByName, selecting: bool) -> int:
        """The distance over the labels of either; an absent label counts as zeros."""
        moves = [abs(b - a) for a, b in self.side_by_side(one, other)]
        return max(moves, default=0) if selecting else sum(moves)

    def side_by_side(self, one: ByName, other: ByName) -> list[tuple[int, int]]:
        """The integers of both, label by label."""
        none: tuple[Any, tuple[int, ...]] = (), (0,) * self.size
        pairs = ((one.get(n, none)[1], other.get(n, none)[1]) for n in one.keys() | other.keys())
        return [pair for a, b in pairs for pair in zip(a, b, strict=True)]

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        raise InternalError("labels are read by `over_branches`.")

    def released_layout(self, noisy: Sequence[Any]) -> Layout:
        """Indexed by the released labels, always as objects, so that the dtype tells nothing."""
        columns = list(zip(*(label for label, _ in noisy), strict=True))
        columns = columns or [()] * len(self.names)
        levels = [_objects(c, name) for c, name in zip(columns, self.names, strict=True)]
        index = levels[0] if len(levels) == 1 else _crossed(levels)
        return replace(self.layout, index=index)

    def _found(self, chunk: Chunk, keep: Mask | None) -> tuple[Mask, Codes, NumberedLabels]:
        """The rows that are kept and have a label, the number of each such row's label, and the
        labels by number with how many rows have them."""
        coded = (labels.coded(expression.vector(chunk)) for expression in self.by)
        columns, known, decodes = zip(*coded, strict=True)
        there = np.logical_and.reduce(known)
        if keep is not None:
            there &= keep
        codes, numbers = combined(columns if there.all() else [each[there] for each in columns])
        rows = np.bincount(codes, minlength=len(numbers))[:, None]
        return there, codes, NumberedLabels(decodes, numbers, rows)

    def _of_units(self, branches: Sequence[Chunk], where: Expression | None) -> list[FoundRows]:
        """What is found in each branch, among the rows that belong to a unit."""
        found = []
        for chunk, keep in with_kept(branches, where):
            inside = units_of(chunk) >= 0
            found.append((chunk, *self._found(chunk, inside if keep is None else inside & keep)))
        return found


class UndeclaredKeysErrors(SparseErrors):
    of: UndeclaredKeys

    def units(self, schema: Schema) -> tuple[str, ...]:
        return self.measured_in if self.of.inner is None else self.of.inner.errors.units(schema)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        return (1.0,) if self.of.inner is None else self.of.inner.errors.noise_steps

    @property
    def noise_in_columns(self) -> bool:  # type: ignore[override]
        return self.of.inner is not None and self.of.inner.errors.noise_in_columns

    @property
    def asked_columns(self) -> list[Any]:
        """The columns of the inner statistic, in the layout of all labels."""
        if self.of.inner is None:
            return super().asked_columns
        return replace(self.of.inner, layout=self.of.layout).errors.asked_columns

    def possible(self, entry: int) -> Interval | None:
        """A released label has at least one row."""
        return (1, np.inf) if self.of.inner is None else self.of.inner.errors.possible(entry)

    def intervals(self, noisy: Sequence[Any], half_width: int) -> list[Interval]:
        raise InternalError("undeclared keys have intervals by `intervals_at`.")

    def intervals_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[Interval]:
        if self.of.inner is None:
            return [law.passed.interval(count, confidence) for _, (count,) in noisy]
        pairs = self._one_by_one(noisy)
        return list(chain(*(one.intervals_at(own, law.values, confidence) for one, own in pairs)))

    def errors_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[float]:
        if self.of.inner is None:
            counts = [count for _, (count,) in noisy]
            error = {count: law.passed.error(count, confidence) for count in {*counts}}
            return [error[count] for count in counts]
        pairs = self._one_by_one(noisy)
        return list(chain(*(one.errors_at(own, law.values, confidence) for one, own in pairs)))

    def _one_by_one(self, noisy: Sequence[Told]) -> Iterator[tuple[ErrorModel, Sequence[int]]]:
        """The inner errors of each released label, with its noisy integers."""
        one = replace(cast(Statistic, self.of.inner), cells=Numbered(count=1)).errors
        return ((one, integers[1:]) for _, integers in noisy)

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        """The largest error that a released label can have."""
        if self.of.inner is None:
            return cast(int, law.passed.largest_error(confidence))
        return self.of.inner.errors.error_before(law.values, confidence, rows)

    def ratios_by_column(self, half_width: int) -> list[float] | None:
        return None if self.of.inner is None else self.of.inner.errors.ratios_by_column(half_width)

    def expected_at(self, law: Any, confidence: float) -> str:
        if self.of.inner is None:
            return f"each at most ± {format_error(law.passed.largest_error(confidence))}"
        expected = self.of.inner.errors.expected_at(law.values, confidence)
        return f"each {expected}" if expected else ""

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        if self.of.inner is None:
            return self.expected_at(law, confidence)
        one = replace(self.of.inner, cells=Numbered(count=1)).errors
        expected = one.expected_over(law.values, confidence, rows)
        return f"each {expected}" if expected else ""


@dataclass(frozen=True)
class UndeclaredKeys(Sparse):
    """For each label that occurs, how many rows have it; with `inner`, also that statistic of them.

    A row has one label, and adds 1 to its count and at most `inner.l1` to its other integers
    (proof: docs/proofs/thresholds.md). Half of ε is spent on the counts, which decide which labels
    are released, and half on the inner statistic; without one all goes to the counts.

    Intervals and errors hold for each label by itself, given that it is released: the number of
    labels is private. Those of a count follow from the law of counts above the threshold
    (`conditional`). The noise of the inner statistic doesn't decide which labels are released, so
    its own intervals hold.
    """

    canonical_name: ClassVar[str] = "Unknown"
    proof: ClassVar[str] = "thresholds"
    error_model: ClassVar = UndeclaredKeysErrors

    reading: ClassVar[int] = 2
    inner: Statistic | None = None

    @property
    def size(self) -> int:
        return 1 if self.inner is None else 1 + self.inner.size

    @property
    def l1(self) -> int:
        return 1 if self.inner is None else 1 + self.inner.l1

    @property
    def linf(self) -> int:
        return 1 if self.inner is None else max(1, self.inner.linf)

    @property
    def monotone(self) -> bool:
        return self.inner is None or self.inner.monotone

    @property
    def keyed(self) -> bool:
        return self.inner is not None and self.inner.keyed

    def is_count(self, schema: Schema) -> bool:
        return self.inner is None or self.inner.is_count(schema)

    def expressions(self) -> tuple[Expression, ...]:
        return self.by if self.inner is None else (*self.by, *self.inner.expressions())

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        epsilon, delta = loss_asked(asked)
        rows = sensitivity.l1 // self.l1
        if self.inner is None:
            return Threshold.calibrate(rows, epsilon, delta)
        keys = Threshold.calibrate(rows, epsilon / 2, delta)
        counts = Sensitivity(rows, rows * rows, rows, True)
        values = self.inner.sensitivity(rows)
        noise = DiscreteLaplace.calibrate(values.l1, epsilon / 2)
        return KeyedNoise(keys, noise, (counts, values))

    def adapted_to(self, asked: LossRequest, rows: int) -> UndeclaredKeys:
        """By weights of units where labels need fewer of them then; public facts decide. Counts of
        rows are themselves what is released, and keep their threshold."""
        if self.inner is None or not can_select(asked) or not is_better_of_keys(asked, rows):
            return self
        said = self.by, self.names, self.delta, self.inner
        return WeightedKeys(self.cells, self.layout, *said)

    def over_branches(
        self, branches: Sequence[Chunk], where: Expression | None
    ) -> list[NumberedLabels]:
        kept = with_kept(branches, where)
        found = [self._measured(chunk, *self._found(chunk, keep)) for chunk, keep in kept]
        return [each for each in found if len(each)]

    def _measured(
        self, chunk: Chunk, there: Mask, codes: Codes, found: NumberedLabels
    ) -> NumberedLabels:
        """The labels found, with the integers of the inner statistic besides."""
        size = len(found)
        if self.inner is not None and size:
            cells = Numbered(count=size, of_rows=_of_all_rows(there, codes, size))
            flat = replace(self.inner, cells=cells).kernel(chunk, None)
            inner = _by_label(flat, size, self.inner)
            found.integers = np.concatenate([found.integers, inner], axis=1)
        return found

    def _inner_integers(self, noisy: Sequence[Told]) -> tuple[Statistic, list[int]]:
        """The inner statistic of all released labels, and its noisy integers."""
        inner = cast(Statistic, self.inner)
        width = _width(inner)
        rows = np.array([integers[1:] for _, integers in noisy], dtype=object)
        flat = rows.reshape(len(noisy), inner.size // width, width).transpose(1, 0, 2).reshape(-1)
        return replace(inner, cells=Numbered(count=len(noisy))), flat.tolist()

    def estimate(self, noisy: Sequence[Any]) -> list[float]:
        if self.inner is None:
            return clamped([count for _, (count,) in noisy])
        inner, flat = self._inner_integers(noisy)
        return inner.estimate(flat)


class WeightedKeysErrors(UndeclaredKeysErrors):
    def expected_at(self, law: Any, confidence: float) -> str:
        return self._beside(super().expected_at(law, confidence), law, confidence)

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        return self._beside(super().expected_over(law, confidence, rows), law, confidence)

    def _beside(self, expected: str, law: Any, confidence: float) -> str:
        """The number of units from which on a label is released, beside the error."""
        least = f"released if at least {law.keys.released_from(confidence):,} units have it"
        return f"{expected}, {least}" if expected else least


@dataclass(frozen=True)
class WeightedKeys(UndeclaredKeys):
    """For each label that occurs, how much the units weigh that have it, and another statistic of
    its rows. The weights decide which labels are released, and aren't themselves.

    A unit of t labels adds `weight(t)` to each, and its rows what they add to the inner statistic
    (docs/proofs/weighted_selection.md).
    """

    proof: ClassVar[str] = "weighted_selection"
    error_model: ClassVar = WeightedKeysErrors
    whole_units: ClassVar[bool] = True
    accumulator: ClassVar = EntryAccumulator

    reading: ClassVar[int] = 1

    @property
    def l1(self) -> int:
        return WHOLE + self._inner.l1

    def l1_sensitivity(self, rows: int) -> int:
        return weights(rows).l1 + self._inner.l1_sensitivity(rows)

    def linf_sensitivity(self, rows: int) -> int:
        return max(WHOLE, self._inner.linf_sensitivity(rows))

    def l2_squared_sensitivity(self, rows: int) -> int:
        return WHOLE**2 + self._inner.l2_squared_sensitivity(rows)

    def adapted_to(self, asked: LossRequest, rows: int) -> WeightedKeys:
        return self

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        if not asked.delta:
            raise missing_delta()
        rows = rows_of(self, sensitivity)
        keys, values = of_keys(asked, rows), self._inner.sensitivity(rows)
        if asked.rho is not None:
            noise: Any = DiscreteGaussian.calibrate(values.l2_squared, asked.rho / 2)
        else:
            noise = DiscreteLaplace.calibrate(values.l1, cast(Fraction, asked.epsilon) / 2)
        return KeyedNoise(keys, noise, (weights(rows), values))

    @property
    def _inner(self) -> Statistic:
        return cast(Statistic, self.inner)

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Any:
        parts = self._of_units(branches, where)
        found, pairs = distinct_pairs(parts)
        inner = EntryAccumulator()
        for part in parts:
            inner.add(dict(self._measured(*part)), 0)
        integers = inner.result()
        weights = zip(found.items(), weights_of(pairs, len(found)), strict=True)
        return {name: (label, (each, *integers[name][1][1:])) for (name, label), each in weights}


def weights(labels: int) -> Sensitivity:
    """How far a unit of so many labels moves their weights: t of them by 2^30/√t, rounded down."""
    return Sensitivity(math.isqrt(labels * WHOLE**2), WHOLE**2, WHOLE, monotone=True)


def rows_of(statistic: Statistic, sensitivity: Sensitivity) -> int:
    """The rows of a unit from which a sensitivity follows: more of them have a larger one."""
    return least_from(0, lambda rows: statistic.l1_sensitivity(rows) >= sensitivity.l1)


def distinct_pairs(parts: Sequence[FoundRows]) -> tuple[dict[str, Any], Matrix]:
    """All labels by name, and once each pair of a unit and the place of a label that it has."""
    found: dict[str, Any] = {}
    pairs = []
    for chunk, there, codes, labels_here in parts:
        names = labels_here.names()
        for name, label in zip(names, labels_here.labels(), strict=True):
            found.setdefault(name, label)
        places = {name: place for place, name in enumerate(found)}
        table = np.array([places[name] for name in names], dtype=np.intp)
        pairs.append(np.stack([units_of(chunk)[there], table[codes]]))
    units, places = np.concatenate(pairs, axis=1)
    size = max(1, len(found))  # no more than rows, as units are: 2^31 fit no memory
    each = np.sort(units * size + places)  # far faster than the hashes of np.unique
    once = each[np.diff(each, prepend=-1) > 0]
    return found, np.stack(np.divmod(once, size), axis=1)


def _objects(values: Sequence[Any], name: Any) -> pd.Index:
    array = np.array([*values, None], dtype=object)[:-1]  # without None, tuples make a matrix
    index: pd.Index = pd.Index(array, dtype=object, name=name, tupleize_cols=False)
    return index


def _crossed(levels: Sequence[pd.Index]) -> pd.MultiIndex:
    """An index of several levels, in which (1,) and (True,) are two labels, as they are when they
    are counted: pandas would show the first of the two for both."""
    index = pd.MultiIndex.from_arrays(levels)
    if not any(type(label) is tuple for level in levels for label in level):
        return index
    firsts: list[Any] = []
    codes: list[list[int]] = []
    for level in levels:
        names = [cast(labels.Named, labels.named(label))[0] for label in level]
        own = dict(zip(names, level, strict=True))
        places = {name: place for place, name in enumerate(own)}
        firsts.append(_objects(list(own.values()), level.name))
        codes.append([places[name] for name in names])
    return pd.MultiIndex(
        levels=firsts, codes=codes, names=index.names,
        verify_integrity=False,  # it refuses labels of one level that are equal in Python
    )  # fmt: skip


def _of_all_rows(there: Mask, codes: Codes, size: int) -> Codes:
    """The number of each row's label; ``size`` for rows without one."""
    found = np.full(len(there), size, dtype=np.intp)
    found[there] = codes
    return found


def _width(inner: Statistic) -> int:
    """How many consecutive integers of the vector belong to one cell."""
    return len(inner.tests) if isinstance(inner, Count) else len(inner.operands)  # type: ignore[attr-defined]


def _by_label(flat: Partial, count: int, inner: Statistic) -> Partial:
    """A vector of (parts, labels, columns) with one row for each label."""
    width = _width(inner)
    parts = flat.reshape(inner.size // width, count, width)
    return parts.transpose(1, 0, 2).reshape(count, inner.size)
