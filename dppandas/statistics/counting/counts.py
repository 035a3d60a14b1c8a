"""Counts: of rows, of non-missing values, of True, by cells; histograms and their shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ...dataclasses import dataclass
from ...privacy import accuracy
from ...privacy.mechanisms.noise import Within
from ...rows.expressions import EVERY, Chunk, Column, Expression
from ...rows.facts.kinds import Schema
from ...rows.values import hashing
from ...rows.values.vectors import Mask
from ..base import ONE, ZERO, Form, Partial, Statistic, Weights, count_by
from ..error_model import ErrorModel
from ..layout import Interval, around
from ..methods import COLUMN, EVERYWHERE, FRAME, GROUPS, Method
from ..samples import Sample, SampleCount, SampleShare

if TYPE_CHECKING:
    from ...privacy.accuracy.ratios import Terms

#: Shares are rounded to this public grid.
SHARE_STEP = Fraction(1, 2**30)

_LAST = np.uint64(2**64 - 1)
_LARGEST_INT = 2**63 - 1


class CountErrors(ErrorModel):
    of: Count

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        w = half_width
        if not self.of.share_of:  # a count is never below 0
            return [(max(0, value - w), max(0, value + w)) for value in noisy]
        return share_intervals(noisy, self.of.share_of, Within(w), 0.0)

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        if not self.of.share_of:
            return super().intervals_at(noisy, law, confidence)
        return share_intervals(noisy, self.of.share_of, law, confidence)

    def rows_at_most(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float] | None:
        if self.of.share_of or self.of.at_most is not None:
            return None
        return [high for _, high in self.intervals_at(noisy, law, confidence)]

    def error(self, half_width: int) -> float | None:
        return None if self.of.share_of else half_width

    def row_adds(self) -> list[float] | None:
        return None if self.of.share_of else [1.0]

    def evenly(self, rows: float) -> list[int]:
        return [math.ceil(rows / self.of.share_of)] * self.of.size if self.of.share_of else []

    def units(self, schema: Schema) -> tuple[str, ...]:
        return ("share",) if self.of.share_of else self.measured_in

    def possible(self, entry: int) -> Interval | None:
        return (0, 1) if self.of.share_of else (0, math.inf)


@dataclass(frozen=True)
class Count(Statistic):
    """For each cell, how many rows pass each test.

    A row lies in at most one cell and adds at most 1 for each test: ℓ1 sensitivity = the number
    of tests, ℓ∞ = 1 (proof: docs/proofs/counts.md). With ``share_of`` the estimate is each
    cell's share among that many consecutive cells: post-processing of the same noisy counts. With
    ``at_most`` a row counts for at most that many tests, which bounds ℓ1. If it passes more, a
    keyed hash of its own contents in the columns ``hashed`` chooses among them.
    """

    tests: tuple[Expression, ...] = (EVERY,)
    share_of: int = 0
    at_most: int | None = None
    hashed: tuple[Any, ...] = ()

    methods: ClassVar[tuple[Method, ...]] = (
        Method("size", EVERYWHERE, (len, np.size)),
        Method("count", EVERYWHERE),
        Method("value_counts", COLUMN | FRAME | GROUPS),
        Method("hist", COLUMN | GROUPS),
        Method("mode", COLUMN),
        Method("clipping_shares", COLUMN),
    )
    takes_limits: ClassVar = True
    proof: ClassVar[str] = "counts"
    error_model: ClassVar = CountErrors
    not_asked: ClassVar = ("layout", "share_of")
    selectable: ClassVar[bool] = True

    @property
    def size(self) -> int:
        return len(self.cells) * len(self.tests)

    @property
    def l1(self) -> int:
        return len(self.tests) if self.at_most is None else min(len(self.tests), self.at_most)

    linf = 1

    def linf_of_change(self, rows: int) -> int:
        """No more than that of an added unit, which adds from 0 to that to each count: so the
        counts with either rows are as near."""
        return self.linf_sensitivity(rows)

    def l1_of_change(self, rows: int) -> int:
        return min(super().l1_of_change(rows), self.size * self.linf_of_change(rows))

    def figures(self) -> tuple[str, ...]:
        return ("count",) if type(self) is Count and not self.share_of else ()

    @property
    def keyed(self) -> bool:
        return self.at_most is not None

    def expressions(self) -> tuple[Expression, ...]:
        return (*self.cells.by, *self.tests, *map(Column, self.hashed))

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        if self.tests == (EVERY,) and (found := self.cells.tally(chunk, keep)) is not None:
            return found
        cells, codes = len(self.cells), self.cells.codes(chunk, keep)
        out = np.empty((cells, len(self.tests)), dtype=np.int64)
        for column, mask in enumerate(self._passed(chunk)):
            if codes is None and keep is not None:
                mask = keep if mask is None else mask & keep
            out[:, column] = count_by(codes, mask, chunk.rows, cells)
        return out.reshape(-1)

    def _passed(self, chunk: Chunk) -> list[Mask | None]:
        """For each test the rows that count for it; None for all rows."""
        if self.at_most is None or self.at_most >= len(self.tests):
            return [None if test == EVERY else test.truth(chunk) for test in self.tests]
        passed = np.stack([test.truth(chunk) for test in self.tests], axis=1)
        over = np.flatnonzero(np.count_nonzero(passed, axis=1) > self.l1)
        if over.size:
            hashes = hashing.several(chunk.hashed(self.hashed, b"at most")[over], len(self.tests))
            hashes[~passed[over]] = _LAST
            first = np.argpartition(hashes, self.l1 - 1, axis=1)[:, : self.l1]
            kept = np.zeros(hashes.shape, dtype=bool)
            np.put_along_axis(kept, first, True, axis=1)
            passed[over] &= kept
        return list(passed.T)

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return shares(noisy, self.share_of) if self.share_of else clamped(noisy)

    def forms(self, integers: int) -> Sequence[Form | None]:
        block = self.share_of
        if not block:
            return [Form({i: ONE}) for i in range(integers)]
        firsts = range(0, integers, block)
        wholes = [dict.fromkeys(range(first, first + block), ONE) for first in firsts]
        return [Form({i: ONE}, wholes[i // block]) for i in range(integers)]

    def samples(self, noisy: Sequence[int], law: Any, schema: Schema) -> Sequence[Sample | None]:
        return self._samples(noisy, law) if type(self) is Count else ()

    def _samples(self, noisy: Sequence[int], law: Any) -> Sequence[Sample | None]:
        """Those of counts of rows in disjoint cells, and of their shares."""
        if self.tests != (EVERY,):  # a row may pass several tests
            return ()
        forms = [form for form in self.forms(len(noisy)) if form is not None]
        every = dict.fromkeys(range(len(noisy)), ONE)
        # what labels have in common is added up once
        distinct = {id(each): each for each in [every, *(form.whole for form in forms)] if each}
        wholes = {key: _Whole.of(each, noisy) for key, each in distinct.items()}
        return [
            _count_of(form, wholes[id(every)], noisy, law) if form.whole is None
            else _share_of(form, wholes[id(form.whole)], noisy, law)
            for form in forms
        ]  # fmt: skip

    def is_count(self, schema: Schema) -> bool:
        return not self.share_of


def _wholes(counts: Sequence[int], block: int) -> list[int]:
    """For each entry the sum of its block of consecutive entries."""
    sums = [sum(counts[start : start + block]) for start in range(0, len(counts), block)]
    return [sums[i // block] for i in range(len(counts))]


def shares(noisy: Sequence[int], block: int) -> list[float]:
    """Each entry's share of its block of consecutive entries; negative ones count as 0."""
    counts = [max(0, value) for value in noisy]
    pairs = zip(counts, _wholes(counts, block), strict=True)
    return [rounded(Fraction(own, whole)) if whole else math.nan for own, whole in pairs]


def share_intervals(
    noisy: Sequence[int], block: int, law: Any, confidence: float
) -> list[Interval]:
    """An interval for each entry's share of its block; all hold simultaneously."""
    # one of two shares is as far off as the other
    risk = (1 - confidence) / (len(noisy) // 2 if block == 2 else len(noisy))
    wholes, terms = _wholes(noisy, block), [accuracy.ratios.Terms(1, block - 1)] * len(noisy)
    return share_ranges(noisy, wholes, terms, shares(noisy, block), law, risk)


def share_ranges(
    parts: Sequence[int], wholes: Sequence[int], terms: Sequence[Terms], answers: Sequence[float],
    law: Any, risk: float,
) -> list[Interval]:  # fmt: skip
    """An interval around each answer, for the share of a part in a whole. Each has this risk."""
    found = np.empty((2, len(parts)))
    for kind in {*terms}:
        at = [i for i, each in enumerate(terms) if each == kind]
        rests = [wholes[i] - parts[i] for i in at]
        found[:, at] = accuracy.ratios.shares([parts[i] for i in at], rests, law, risk, kind)
    step = float(SHARE_STEP)
    low, high = np.floor(found[0] / step) * step, np.ceil(found[1] / step) * step
    return around(answers, list(zip(low.tolist(), high.tolist(), strict=True)))


def rounded(share: Fraction) -> float:
    """A share rounded to the public grid."""
    return float(round(share / SHARE_STEP) * SHARE_STEP)


def clamped(noisy: Sequence[int]) -> list[float]:
    """Noisy integers within int64: noise beyond is next to impossible, but must not raise."""
    try:
        np.fromiter(noisy, np.int64, len(noisy))  # faster than to compare each
        return list(noisy)
    except (OverflowError, ValueError):
        pass
    return [max(-_LARGEST_INT, min(_LARGEST_INT, value)) for value in noisy]


class _Whole(NamedTuple):
    """All units that shares are of; `is_count`: each counts once."""

    cells: frozenset[int]
    sum: int
    is_count: bool

    @classmethod
    def of(cls, weights: Weights, noisy: Sequence[int]) -> _Whole:
        cells = frozenset(i for i, weight in weights.items() if weight)
        return cls(cells, int(sum(noisy[i] for i in cells)), {*weights.values()} <= {ZERO, ONE})


def _share_of(form: Form, whole: _Whole, noisy: Sequence[int], law: Any) -> SampleShare | None:
    """A quotient of counts of disjoint rows as a share, if it is one."""
    part = {i for i, weight in form.part.items() if weight}
    if not (whole.is_count and {*form.part.values()} <= {ZERO, ONE} and part <= whole.cells):
        return None
    counted = int(sum(noisy[i] for i in part))
    terms = accuracy.ratios.Terms(len(part), len(whole.cells) - len(part))
    return SampleShare(whole.cells, counted, whole.sum - counted, law, terms)


def _count_of(form: Form, whole: _Whole, noisy: Sequence[int], law: Any) -> SampleCount | None:
    """A count of rows as one of a population, as part of all that were counted."""
    found = _share_of(form, whole, noisy, law)
    # what is all that was counted doesn't say of how many units it is
    return None if found is None or not found.terms.rest else SampleCount(found.cells, found)
