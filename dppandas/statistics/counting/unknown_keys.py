"""Undeclared keys: their counts, other statistics of their rows, and the keys alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd

from ...errors import InternalError, QueryError
from ...privacy.accounting.losses import NO_DELTA, Delta
from ...privacy.accounting.measures import LossRequest
from ...privacy.mechanisms.base import Mechanism, Sensitivity
from ...privacy.mechanisms.noise import DiscreteLaplace
from ...privacy.mechanisms.partition_selection import PartitionSelection
from ...privacy.mechanisms.thresholds import KeyedNoise, Threshold, Told, loss_asked
from ...rows.accumulators import Accumulator
from ...rows.expressions import Chunk, Expression
from ...rows.facts import kinds
from ...rows.facts.kinds import Schema
from ...rows.values import labels
from ...rows.values.vectors import Mask
from ..base import Partial, RowPass, Statistic, with_kept
from ..error_model import ErrorModel
from ..layout import Cells, Codes, Interval, Layout
from ..methods import COLUMN, Method
from .counts import Count, clamped
from .distinct import units_of
from .label_accumulators import (
    Entries,
    Entry,
    EntryAccumulator,
    LabelAccumulator,
    NumberedLabels,
    combined,
)  # fmt: skip

#: What `NumberedLabels` says of each label.
ByName = Mapping[str, Entry]


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
            return f"each at most ± {law.passed.largest_error(confidence):,}"
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

    def over_branches(
        self, branches: Sequence[Chunk], where: Expression | None
    ) -> list[NumberedLabels]:
        found = [self._measured(chunk, keep) for chunk, keep in with_kept(branches, where)]
        return [each for each in found if len(each)]

    def _measured(self, chunk: Chunk, keep: Mask | None) -> NumberedLabels:
        there, codes, found = self._found(chunk, keep)
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


class UniqueErrors(SparseErrors):
    of: Unique

    def intervals(self, noisy: Sequence[Any], half_width: int) -> list[Interval]:
        """A released label certainly occurs."""
        return [(1, 1)] * len(noisy)

    def intervals_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[Interval]:
        return self.intervals(noisy, 0)

    def errors_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[float]:
        return [0] * len(noisy)

    def answered_errors(self, noisy: Sequence[Any], law: Any, confidence: float) -> None:
        return None

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        raise QueryError("labels without numbers have no error. Give epsilon= and delta=.")

    def expected_at(self, law: Any, confidence: float) -> str:
        """The number of units from which on a label is released."""
        return f"released if at least {law.released_from(confidence):,} units have it"


@dataclass(frozen=True)
class Unique(Sparse):
    """For each label that occurs, how many units have it: to release labels alone.

    A unit of m rows has at most m labels, and adds 1 to each (docs/proofs/partition_selection.md).
    """

    methods: ClassVar = (Method("unique", COLUMN),)
    labels_only: ClassVar[bool] = True
    error_model: ClassVar = UniqueErrors
    whole_units: ClassVar[bool] = True
    accumulator: ClassVar = EntryAccumulator
    size = 1
    l1 = 1

    def linf_sensitivity(self, rows: int) -> int:
        return 1

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        epsilon, delta = loss_asked(asked)
        return PartitionSelection.calibrate(sensitivity.l1, epsilon, delta)

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Entries:
        """Counts each pair of unit and label once, over all branches."""
        found: dict[str, Any] = {}
        pairs = []
        for chunk, keep in with_kept(branches, where):
            units = units_of(chunk)
            there, codes, found_here = self._found(chunk, keep)
            names = found_here.names()
            for name, label in zip(names, found_here.labels(), strict=True):
                found.setdefault(name, label)
            places = {name: place for place, name in enumerate(found)}
            table = np.array([*(places[name] for name in names), -1], dtype=np.intp)
            label_of_row = table[_of_all_rows(there, codes, len(names))]
            inside = (label_of_row >= 0) & (units >= 0)
            pairs.append(np.stack([units[inside], label_of_row[inside]], axis=1))
        distinct = np.unique(np.concatenate(pairs), axis=0)
        counts = np.bincount(distinct[:, 1], minlength=len(found)).tolist()
        rows = zip(found.items(), counts, strict=True)
        return {name: (label, (count,)) for (name, label), count in rows if count}

    def estimate(self, noisy: Sequence[Any]) -> list[float]:
        return [1] * len(noisy)


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
