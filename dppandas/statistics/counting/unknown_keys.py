"""Labels that nobody declared: their counts, other statistics of their rows, and labels alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd

from ...errors import InternalError, QueryError
from ...privacy.accounting.losses import NO_DELTA, Delta
from ...privacy.accounting.measures import LossRequest
from ...privacy.mechanisms.base import Mechanism, Sensitivity
from ...privacy.mechanisms.noise import DiscreteLaplace, additive
from ...privacy.mechanisms.partition_selection import PartitionSelection
from ...privacy.mechanisms.thresholds import KeyedNoise, Threshold, Told, loss_asked
from ...rows.expressions import Chunk, Expression
from ...rows.facts import kinds
from ...rows.facts.kinds import Schema
from ...rows.values import labels
from ...rows.values.vectors import Mask
from ..base import Partial, RowPass, Statistic
from ..layout import Cells, Codes, Interval, Layout
from ..moments.means import Mean
from ..moments.norms import NormedSum
from ..moments.sums import Sum
from ..moments.variances import Variance
from .counts import Count, clamped

#: What is exact, or a part of it: see `thresholds.Found`.
Entries = dict[str, tuple[tuple[Any, ...], tuple[int, ...]]]

#: What can be asked by keys that nobody declared: sums over rows, label by label.
BY_LABEL = (Count, Sum, NormedSum, Mean, Variance)


class LabelAccumulator:
    """Adds up integers label by label."""

    def __init__(self) -> None:
        self._found: Entries = {}

    def add(self, partial: Entries, rows: int) -> None:
        """Add the labels of some rows."""
        for name, (label, integers) in partial.items():
            before = self._found.get(name)
            if before is not None:
                integers = tuple(a + b for a, b in zip(before[1], integers, strict=True))
            self._found[name] = label, integers

    def join(self, other: LabelAccumulator) -> None:
        """Add another tally."""
        self.add(other.result(), 0)

    def result(self) -> Entries:
        """The integers of each label, by name."""
        return self._found


@dataclass(frozen=True)
class Numbered(Cells):
    """Cells of the labels of one chunk, or of those told, by number."""

    count: int = 0
    of_rows: Codes | None = field(default=None, compare=False, repr=False)

    def __len__(self) -> int:
        return self.count

    def codes(self, chunk: Chunk) -> Codes | None:
        """The number of each row's label, len(self) for none."""
        return self.of_rows


@dataclass(frozen=True)
class Sparse(Statistic, registered=False):
    """What is exact is integers for each label that occurs; what is told, some of the labels."""

    by: tuple[Expression, ...] = ()
    names: tuple[Any, ...] = ()
    delta: Delta = NO_DELTA  # for a release that doesn't say its own

    needs: ClassVar = {"by": kinds.LABELS}
    each: ClassVar[bool] = True

    @property
    def size(self) -> int:
        """How many integers a label has."""
        return 1

    @property
    def l1(self) -> int:
        return 1

    def expressions(self) -> tuple[Expression, ...]:
        return self.by

    def read(self, row_pass: RowPass) -> Entries:
        """The integers of each label, by the label's name, in the order of `labels.rank`: that of
        the rows would be told by what is released."""
        found = cast(Entries, row_pass(self.over_branches, LabelAccumulator))
        return dict(sorted(found.items(), key=_place))

    def exact_distance(self, one: Entries, other: Entries, selecting: bool) -> int:
        """Over the labels of either; a label that isn't there has zeros."""
        moves = [abs(b - a) for a, b in self.side_by_side(one, other)]
        return max(moves, default=0) if selecting else sum(moves)

    def side_by_side(self, one: Entries, other: Entries) -> list[tuple[int, int]]:
        """The integers of both, label by label."""
        none = (0,) * self.size
        names = one.keys() | other.keys()
        pairs = ((_integers(one, name, none), _integers(other, name, none)) for name in names)
        return [pair for a, b in pairs for pair in zip(a, b, strict=True)]

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        raise InternalError("labels are read by `over`.")

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Any:
        raise NotImplementedError

    def released_layout(self, noisy: Sequence[Any]) -> Layout:
        """The labels told, as objects: whatever they are, the type of the index is the same."""
        columns = list(zip(*(label for label, _ in noisy), strict=True))
        columns = columns or [() for _ in self.names]
        levels = [_objects(c, name) for c, name in zip(columns, self.names, strict=True)]
        index = levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels)
        return replace(self.layout, index=index)

    def _codes(self, chunk: Chunk, keep: Mask | None) -> tuple[Codes, list[Any]]:
        """A number for the label of each row, as many as there are for none; names and labels."""
        columns, found = [], []
        for expression in self.by:
            numbers, known = labels.coded(expression.vector(chunk))
            columns.append(numbers)
            found.append(known)
        there = np.logical_and.reduce([numbers >= 0 for numbers in columns])
        if keep is not None:
            there &= keep
        used, inverse = np.unique(
            np.stack([n[there] for n in columns], axis=1), axis=0, return_inverse=True
        )
        codes = np.full(chunk.rows, len(used), dtype=np.intp)
        codes[there] = inverse.reshape(-1)
        return codes, [
            _joined([known[i] for known, i in zip(found, row, strict=True)])
            for row in used.tolist()
        ]


@dataclass(frozen=True)
class UndeclaredKeys(Sparse):
    """For each label that occurs, how many rows have it; with `inner`, its statistic as well.

    A row has one label, and adds 1 to its count and at most `inner.l1` to its other integers
    (proof: docs/proofs/thresholds.md). Half of ε is spent on counts, which decide what labels are
    told, and half on the inner statistic; without one all is spent on counts.

    Intervals and errors are of each label by itself, given that it is told: how many labels are is
    private. Of a count they follow from the law of what passed (`conditional`); the noise of the
    inner statistic has no part in what is told, so that its own do.
    """

    canonical_name: ClassVar[str] = "Unknown"

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
        half = replace(asked, epsilon=type(asked.epsilon)(epsilon / 2), delta=NO_DELTA)  # type: ignore[misc]
        return KeyedNoise(
            keys, cast(DiscreteLaplace, additive(half, values, alone=False)), (counts, values)
        )

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Entries:
        tally = LabelAccumulator()
        for chunk in branches:
            codes, found = self._codes(chunk, None if where is None else where.truth(chunk))
            counts = np.bincount(codes, minlength=len(found) + 1)[: len(found), None]
            parts = [counts]
            if self.inner is not None and found:
                cells = Numbered(count=len(found), of_rows=codes)
                flat = replace(self.inner, cells=cells).kernel(chunk, None)
                parts.append(_by_label(flat, len(found), self.inner))
            integers = np.concatenate(parts, axis=1).tolist()
            pairs = zip(found, integers, strict=True)
            tally.add({name: (label, tuple(row)) for (name, label), row in pairs}, 0)
        return tally.result()

    def _inner_integers(self, noisy: Sequence[Told]) -> tuple[Statistic, list[int]]:
        """The inner statistic of the labels told, and its noisy integers."""
        inner = cast(Statistic, self.inner)
        rows = np.empty((len(noisy), inner.size), dtype=object)
        for i, (_, integers) in enumerate(noisy):
            rows[i] = integers[1:]
        width = _width(inner)
        flat = rows.reshape(len(noisy), inner.size // width, width).transpose(1, 0, 2).reshape(-1)
        return replace(inner, cells=Numbered(count=len(noisy))), flat.tolist()

    def units(self, schema: Schema) -> tuple[str, ...]:
        return self.measured_in if self.inner is None else self.inner.units(schema)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        return (1.0,) if self.inner is None else self.inner.noise_steps

    @property
    def noise_in_columns(self) -> bool:  # type: ignore[override]
        return self.inner is not None and self.inner.noise_in_columns

    @property
    def asked_columns(self) -> list[Any]:
        """Those of the inner statistic, whose layout is that of all labels."""
        known = self if self.inner is None else replace(self.inner, layout=self.layout)
        return super().asked_columns if known is self else known.asked_columns

    def possible(self, entry: int) -> Interval | None:
        """A label that is told has a row."""
        return (1, np.inf) if self.inner is None else self.inner.possible(entry)

    def estimate(self, noisy: Sequence[Any]) -> list[float]:
        if self.inner is None:
            return [clamped(count) for _, (count,) in noisy]
        inner, flat = self._inner_integers(noisy)
        return inner.estimate(flat)

    def intervals(self, noisy: Sequence[Any], half_width: int) -> list[Interval]:
        raise InternalError("labels told have intervals by the law of what is told.")

    def intervals_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[Interval]:
        if self.inner is None:
            return [law.passed.interval(count, confidence) for _, (count,) in noisy]
        return [
            interval
            for inner, integers in self._one_by_one(noisy)
            for interval in inner.intervals_at(integers, law.values, confidence)
        ]

    def errors_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[float]:
        if self.inner is None:
            return [law.passed.error(count, confidence) for _, (count,) in noisy]
        return [
            error
            for inner, integers in self._one_by_one(noisy)
            for error in inner.errors_at(integers, law.values, confidence)
        ]

    def _one_by_one(self, noisy: Sequence[Told]) -> Iterator[tuple[Statistic, Sequence[int]]]:
        """The inner statistic of each label told, with its noisy integers."""
        one = replace(cast(Statistic, self.inner), cells=Numbered(count=1))
        return ((one, integers[1:]) for _, integers in noisy)

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        """The largest that a label may have that is told."""
        if self.inner is None:
            return cast(int, law.passed.largest_error(confidence))
        return self.inner.error_before(law.values, confidence, rows)

    def per_row(self, half_width: int) -> float | None:
        return None if self.inner is None else self.inner.per_row(half_width)

    def expected_at(self, law: Any, confidence: float) -> str:
        if self.inner is None:
            return f"each at most ± {law.passed.largest_error(confidence):,}"
        expected = self.inner.expected_at(law.values, confidence)
        return f"each {expected}" if expected else ""


@dataclass(frozen=True)
class Unique(Sparse):
    """For each label that occurs, how many units have it: for telling labels alone.

    A unit of m rows has at most m labels, and adds 1 to each (docs/proofs/partition_selection.md).
    """

    whole_units: ClassVar[bool] = True

    def linf_sensitivity(self, rows: int) -> int:
        return 1

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        epsilon, delta = loss_asked(asked)
        return PartitionSelection.calibrate(sensitivity.l1, epsilon, delta)

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Entries:
        """Pairs of unit and label, each once."""
        known: dict[str, int] = {}
        found: list[Any] = []
        pairs = []
        for chunk in branches:
            if chunk.units is None:
                raise InternalError(
                    "units are counted in chunks that don't tell whose rows are in."
                )
            codes, named = self._codes(chunk, None if where is None else where.truth(chunk))
            for name, label in named:
                if name not in known:
                    known[name] = len(known)
                    found.append((name, label))
            table = np.array([*(known[name] for name, _ in named), -1], dtype=np.intp)
            label_of_row = table[codes]
            inside = (label_of_row >= 0) & (chunk.units >= 0)
            pairs.append(np.stack([chunk.units[inside], label_of_row[inside]], axis=1))
        distinct = np.unique(np.concatenate(pairs), axis=0)
        units = np.bincount(distinct[:, 1], minlength=len(found)).tolist()
        rows = zip(found, units, strict=True)
        return {name: (label, (count,)) for (name, label), count in rows if count}

    def estimate(self, noisy: Sequence[Any]) -> list[float]:
        return [1] * len(noisy)

    def intervals(self, noisy: Sequence[Any], half_width: int) -> list[Interval]:
        """A label that is told does occur."""
        return [(1, 1)] * len(noisy)

    def intervals_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[Interval]:
        return self.intervals(noisy, 0)

    def errors_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[float]:
        return [0] * len(noisy)

    def answered_at(self, noisy: Sequence[Any], law: Any, confidence: float, before: str) -> str:
        return before

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        raise QueryError("labels told without numbers have no error.")

    def expected_at(self, law: Any, confidence: float) -> str:
        """From how many units on a label is told."""
        return f"told from {law.released_from(confidence):,} units"


def _place(entry: tuple[str, tuple[tuple[Any, ...], tuple[int, ...]]]) -> Any:
    """Where a label stands among others."""
    name, (label, _) = entry
    return [labels.rank(part) for part in label], name


def _integers(found: Entries, name: str, none: tuple[int, ...]) -> tuple[int, ...]:
    return found[name][1] if name in found else none


def _joined(parts: Sequence[tuple[str, Any]]) -> tuple[str, tuple[Any, ...]]:
    """One name and label of those of each column."""
    name = "".join(f"{len(name)}:{name}" for name, _ in parts)
    return name, tuple(label for _, label in parts)


def _objects(values: Sequence[Any], name: Any) -> pd.Index:
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    index: pd.Index = pd.Index(array, dtype=object, name=name, tupleize_cols=False)
    return index


def _width(inner: Statistic) -> int:
    """How many consecutive integers of a vector belong to one cell."""
    return len(inner.tests) if isinstance(inner, Count) else len(inner.operands)  # type: ignore[attr-defined]


def _by_label(flat: Partial, count: int, inner: Statistic) -> Partial:
    """A vector of (parts, labels, columns) as one row for each label."""
    width = _width(inner)
    parts = flat.reshape(inner.size // width, count, width)
    return parts.transpose(1, 0, 2).reshape(count, inner.size)
