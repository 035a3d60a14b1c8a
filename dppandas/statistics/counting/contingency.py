"""Contingency tables with their margins and shares, and unattributed histograms.

Both count rows as `Count` does; what they add is post-processing, but for the sorting of a
popularity, which is done on exact counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...rows.facts.kinds import Schema
from ..base import RowPass
from ..layout import Interval, format_number
from .counts import Count, clamped, rounded

Whole = npt.NDArray[np.object_]  # of Python's integers


@dataclass(frozen=True)
class Contingency(Count):
    """A table of counts over row keys and column keys, with their sums and shares.

    The integers are those of a `Count` over all pairs, row by row: ℓ1 sensitivity 1 a row. Margins
    are sums of noisy cells, and shares ratios of such sums (proof: docs/proofs/tables.md).
    """

    width: int = 1  # how many columns
    share: str = ""  # of "all", of each row of the "index", of each of the "columns"
    margins: bool = False

    @property
    def _sums_rows(self) -> bool:
        """Whether a last column holds the sum of each row."""
        return self.margins and self.share != "index"

    @property
    def _sums_columns(self) -> bool:
        """Whether a last row holds the sum of each column."""
        return self.margins and self.share != "columns"

    def _table(self, integers: Sequence[int]) -> Whole:
        """Integers with their sums: the last row those of columns, the last column of rows."""
        cells = np.array(list(integers), dtype=object).reshape(-1, self.width)
        wide = np.column_stack([cells, cells.sum(axis=1)])
        return np.vstack([wide, wide.sum(axis=0)])

    def _visible(self, table: Any) -> list[Any]:
        """The entries that are shown, row by row."""
        rows = None if self._sums_columns else -1
        columns = None if self._sums_rows else -1
        return list(table[:rows, :columns].reshape(-1))

    def _whole(self, table: Whole) -> Whole:
        """For each entry what it is a share of."""
        if self.share == "index":
            table = table[:, -1:]
        elif self.share == "columns":
            table = table[-1:, :]
        else:
            table = table[-1:, -1:]
        shape = len(self.cells) // self.width + 1, self.width + 1
        return np.broadcast_to(table, shape)

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        if not self.share:
            return [clamped(value) for value in self._visible(self._table(noisy))]
        table = self._table([max(0, value) for value in noisy])
        pairs = zip(self._visible(table), self._visible(self._whole(table)), strict=True)
        return [rounded(Fraction(own, all_)) if all_ else 0.0 for own, all_ in pairs]

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        if not self.share:
            wide = [terms * half_width for terms in self._terms()]
            return self._around(noisy, wide)
        low = self._table([max(0, value - half_width) for value in noisy])
        high = self._table([max(0, value + half_width) for value in noisy])
        all_low, all_high = (self._visible(self._whole(end)) for end in (low, high))
        ends = zip(self._visible(low), self._visible(high), all_low, all_high, strict=True)
        return [_share(*each) for each in ends]

    def _around(self, noisy: Sequence[int], wide: Sequence[int]) -> list[Interval]:
        values = self._visible(self._table(noisy))  # a count is never below 0
        return [
            (clamped(max(0, value - w)), clamped(max(0, value + w)))
            for value, w in zip(values, wide, strict=True)
        ]

    def _terms(self) -> list[int]:
        """How many noisy cells each shown entry adds up."""
        return self._visible(self._table([1] * len(self.cells)))

    def _wide(self, law: Any, confidence: float) -> list[int]:
        """Half-widths of all shown counts, which hold together: half the risk is the cells'."""
        if not self.margins:
            return [law.half_width(confidence, self.size)] * self.size
        risk = (1 - confidence) / 2
        width = law.half_width(1 - risk, self.size)
        shape = len(self.cells) // self.width, self.width
        each = risk / (sum(shape) + 1)
        known = {1: width}
        for terms in {*self._terms()} - {1}:
            narrow = getattr(law, "half_width_of_sum", None)
            known[terms] = terms * width if narrow is None else min(
                terms * width, narrow(each, terms)
            )  # fmt: skip
        return [known[terms] for terms in self._terms()]

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        if self.share:
            return super().intervals_at(noisy, law, confidence)
        return self._around(noisy, self._wide(law, confidence))

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        if self.share:
            return super().errors_at(noisy, law, confidence)
        return [float(w) if w > 2**53 else w for w in self._wide(law, confidence)]

    def error(self, half_width: int) -> float | None:
        return None if self.share or self.margins else half_width

    def is_count(self, schema: Schema) -> bool:
        return not self.share

    def units(self, schema: Schema) -> tuple[str, ...]:
        return ("share",) if self.share else self.measured_in

    def possible(self, entry: int) -> Interval | None:
        return (0, 1) if self.share else (0, math.inf)

    def answered_at(self, noisy: Sequence[Any], law: Any, confidence: float, before: str) -> str:
        return super().answered_at(noisy, law, confidence, before) if self.share else before

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        if self.share or not self.margins:
            return super().error_before(law, confidence, rows)
        return max(self._wide(law, confidence))

    def expected_at(self, law: Any, confidence: float) -> str:
        if self.share or not self.margins:
            return super().expected_at(law, confidence)
        wide = self._wide(law, confidence)
        return f"± {format_number(wide[0])}, sums to ± {format_number(max(wide))}"


def _share(low: int, high: int, all_low: int, all_high: int) -> Interval:
    """What a part's share may be: the least of it with the most of the rest, and the reverse."""
    rest_low, rest_high = all_low - low, all_high - high
    lowest = Fraction(low, low + rest_high) if low else Fraction(0)
    highest = Fraction(high, high + rest_low) if high and rest_low else Fraction(1)
    return rounded(lowest), rounded(highest)


@dataclass(frozen=True)
class UnattributedHistogram(Count):
    """The counts of disjoint cells in descending order, without their labels.

    A row adds 1 to one count, and so to one place of the sorted vector: ℓ1 sensitivity 1. The
    estimate is the descending vector nearest to the noisy one in ℓ2 (Hay, Rastogi, Miklau and
    Suciu, VLDB 2010; proof: docs/proofs/unattributed_histogram.md).
    """

    canonical_name: ClassVar[str] = "Popularity"
    selectable: ClassVar[bool] = False

    def read(self, row_pass: RowPass) -> Any:
        exact = super().read(row_pass)
        return sorted(exact, reverse=True)

    def _descending(self, noisy: Sequence[int]) -> list[Fraction]:
        return [max(value, Fraction(0)) for value in descending(noisy)]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [rounded(value) for value in self._descending(noisy)]

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """Whole numbers, as counts are, within ±w of the estimate before it is rounded."""
        w = half_width
        return [
            (float(max(0, math.ceil(value - w))), float(math.floor(value + w)))
            for value in self._descending(noisy)
        ]


def descending(values: Sequence[int]) -> list[Fraction]:
    """The descending vector nearest in ℓ2: neighbours that rise are pooled to their mean, exactly
    (Ayer, Brunk, Ewing, Reid and Silverman, 1955)."""
    pools: list[tuple[int, int]] = []  # sums and sizes
    for value in values:
        total, size = value, 1
        while pools and pools[-1][0] * size < total * pools[-1][1]:
            more, others = pools.pop()
            total, size = total + more, size + others
        pools.append((total, size))
    return [mean for total, size in pools for mean in [Fraction(total, size)] * size]
