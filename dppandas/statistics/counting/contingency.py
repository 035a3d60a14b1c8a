"""Contingency tables with margins and shares, and unattributed histograms.

Both count rows as `Count` does. All the rest is post-processing, apart from the sorting, which is
done on exact counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...privacy.accuracy.margins import half_widths
from ...privacy.accuracy.ratios import Terms
from ...privacy.mechanisms.noise import Within
from ...rows.facts.kinds import Schema
from ..base import ONE, Form, RowPass
from ..layout import Interval, format_error
from ..methods import COLUMN, FRAME, Method
from ..samples import Sample
from .counts import Count, CountErrors, clamped, rounded, share_ranges

Whole = npt.NDArray[np.object_]  # of Python's integers


class ContingencyErrors(CountErrors):
    of: Contingency

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        if self.of.share:
            return self._shares(noisy, Within(half_width), 1.0)
        return self._around(noisy, [terms * half_width for terms in self._terms()])

    def _shares(self, noisy: Sequence[int], law: Any, risk: float) -> list[Interval]:
        """An interval for each share, of which all share the risk."""
        one, table = (self.of._table(x) for x in ([1] * len(self.of.cells), noisy))
        own, whole = (self.of._visible(x) for x in (one, self.of._whole(one)))
        terms = [Terms(n, of - n) for n, of in zip(own, whole, strict=True)]
        parts, wholes = self.of._visible(table), self.of._visible(self.of._whole(table))
        return share_ranges(parts, wholes, terms, self.of.estimate(noisy), law, risk / len(terms))

    def _around(self, noisy: Sequence[int], wide: Sequence[int]) -> list[Interval]:
        values = self.of._visible(self.of._table(noisy))  # a count is never below 0
        low, high = (
            clamped([max(0, value + sign * w) for value, w in zip(values, wide, strict=True)])
            for sign in (-1, 1)
        )
        return list(zip(low, high, strict=True))

    def _terms(self) -> list[int]:
        """How many noisy cells each entry of the answer adds up."""
        return self.of._visible(self.of._table([1] * len(self.of.cells)))

    def _wide(self, law: Any, confidence: float) -> list[int]:
        """Half-widths that hold for all counts together."""
        if not self.of.margins:
            return [law.half_width(confidence, self.of.size)] * self.of.size
        columns = self.of.width
        rows = len(self.of.cells) // columns
        if not hasattr(law, "half_width_of_sum"):
            one = law.half_width(confidence, self.of.size)
            return [terms * one for terms in self._terms()]
        wide = half_widths(law, rows, columns, confidence)
        every_row = [[wide.cell] * columns + [wide.row]] * rows
        table = [*every_row, [wide.column] * columns + [wide.all]]
        return self.of._visible(np.array(table, dtype=object))

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        if self.of.share:
            return self._shares(noisy, law, 1 - confidence)
        return self._around(noisy, self._wide(law, confidence))

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        if self.of.share:
            return super().errors_at(noisy, law, confidence)
        return [float(w) if w > 2**53 else w for w in self._wide(law, confidence)]

    def error(self, half_width: int) -> float | None:
        return None if self.of.share or self.of.margins else half_width

    def evenly(self, rows: float) -> list[int]:
        cells = len(self.of.cells)
        among = {"all": cells, "index": self.of.width, "columns": cells // self.of.width}
        return [math.ceil(rows / among[self.of.share])] * cells if self.of.share else []

    def units(self, schema: Schema) -> tuple[str, ...]:
        return ("share",) if self.of.share else self.measured_in

    def possible(self, entry: int) -> Interval | None:
        return (0, 1) if self.of.share else (0, math.inf)

    def answered_errors(
        self, noisy: Sequence[Any], law: Any, confidence: float
    ) -> list[float] | None:
        return super().answered_errors(noisy, law, confidence) if self.of.share else None

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        if self.of.share or not self.of.margins:
            return super().error_before(law, confidence, rows)
        return max(self._wide(law, confidence))

    def expected_at(self, law: Any, confidence: float) -> str:
        if self.of.share or not self.of.margins:
            return super().expected_at(law, confidence)
        wide = self._wide(law, confidence)
        return f"± {format_error(wide[0])}, sums to ± {format_error(max(wide))}"


@dataclass(frozen=True)
class Contingency(Count):
    """A table of counts over row keys and column keys, with sums and shares.

    The integers are those of a `Count` over all pairs, row by row: ℓ1 sensitivity 1 a row. Margins
    are sums of noisy cells, and shares ratios of such sums (proof: docs/proofs/tables.md).
    """

    width: int = 1  # the number of columns
    share: str = ""  # of "all", of each row ("index"), or of each column ("columns")
    margins: bool = False

    methods: ClassVar = (Method("crosstab", FRAME),)
    takes_limits: ClassVar = True
    proof: ClassVar[str] = "tables"
    error_model: ClassVar = ContingencyErrors

    @property
    def _sums_rows(self) -> bool:
        """Whether the last column holds the sum of each row."""
        return self.margins and self.share != "index"

    @property
    def _sums_columns(self) -> bool:
        """Whether the last row holds the sum of each column."""
        return self.margins and self.share != "columns"

    def _table(self, integers: Sequence[int]) -> Whole:
        """Integers with their sums: the last row sums columns, the last column sums rows."""
        cells = np.array(list(integers), dtype=object).reshape(-1, self.width)
        wide = np.column_stack([cells, cells.sum(axis=1)])
        return np.vstack([wide, wide.sum(axis=0)])

    def _visible(self, table: Any) -> list[Any]:
        """The entries of the answer, row by row."""
        rows = None if self._sums_columns else -1
        columns = None if self._sums_rows else -1
        return list(table[:rows, :columns].reshape(-1))

    def _whole(self, table: Whole) -> Whole:
        """For each entry the total that it is a share of."""
        rows = slice(None if self.share == "index" else -1, None)
        columns = slice(None if self.share == "columns" else -1, None)
        return np.broadcast_to(table[rows, columns], table.shape)

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        if not self.share:
            return clamped(self._visible(self._table(noisy)))
        table = self._table([max(0, value) for value in noisy])
        pairs = zip(self._visible(table), self._visible(self._whole(table)), strict=True)
        return [rounded(Fraction(own, all_)) if all_ else 0.0 for own, all_ in pairs]

    def forms(self, integers: int) -> Sequence[Form | None]:
        cells = [[frozenset([i]) for i in range(at, at + self.width)]
                 for at in range(0, integers, self.width)]  # fmt: skip
        wide = [[*row, frozenset().union(*row)] for row in cells]
        below = [frozenset().union(*column) for column in zip(*wide, strict=True)]
        table = np.empty((len(wide) + 1, self.width + 1), dtype=object)
        for at in np.ndindex(*table.shape):
            table[at] = [*wide, below][at[0]][at[1]]
        parts, wholes = self._visible(table), self._visible(self._whole(table))
        if not self.share:
            return [Form(dict.fromkeys(part, ONE)) for part in parts]
        of = {whole: dict.fromkeys(whole, ONE) for whole in {*wholes}}
        pairs = zip(parts, wholes, strict=True)
        return [Form(dict.fromkeys(part, ONE), of[whole]) for part, whole in pairs]

    def samples(self, noisy: Sequence[int], law: Any, schema: Schema) -> Sequence[Sample | None]:
        return self._samples(noisy, law) if type(self) is Contingency else ()

    def is_count(self, schema: Schema) -> bool:
        return not self.share


class UnattributedHistogramErrors(CountErrors):
    of: UnattributedHistogram

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """The whole numbers, as counts are, within ±w of the estimate before rounding."""
        w = half_width
        return [
            (float(max(0, math.ceil(value - w))), float(math.floor(value + w)))
            for value in self.of._descending(noisy)
        ]


@dataclass(frozen=True)
class UnattributedHistogram(Count):
    """The counts of disjoint cells in descending order, without their labels.

    A row adds 1 to one count, and so to one place of the sorted vector: ℓ1 sensitivity 1. The
    estimate is the descending vector nearest to the noisy one in ℓ2 (Hay, Rastogi, Miklau and
    Suciu, VLDB 2010; proof: docs/proofs/unattributed_histogram.md).
    """

    canonical_name: ClassVar[str] = "Popularity"
    methods: ClassVar = (Method("unattributed_histogram", COLUMN),)
    proof: ClassVar[str] = "unattributed_histogram"
    error_model: ClassVar = UnattributedHistogramErrors
    selectable: ClassVar[bool] = False

    def read(self, row_pass: RowPass, mechanism: Any = None) -> Any:
        exact = super().read(row_pass)
        return sorted(exact, reverse=True)

    def forms(self, integers: int) -> Sequence[Form | None]:
        return ()  # sorted, which isn't linear

    def _descending(self, noisy: Sequence[int]) -> list[Fraction]:
        return [max(value, Fraction(0)) for value in descending(noisy)]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [rounded(value) for value in self._descending(noisy)]


def descending(values: Sequence[int]) -> list[Fraction]:
    """The descending vector nearest in ℓ2, exactly: neighbours in the wrong order are pooled to
    their mean (Ayer, Brunk, Ewing, Reid and Silverman, 1955)."""
    pools: list[tuple[int, int]] = []  # sums and sizes
    for value in values:
        total, size = value, 1
        while pools and pools[-1][0] * size < total * pools[-1][1]:
            more, others = pools.pop()
            total, size = total + more, size + others
        pools.append((total, size))
    return [mean for total, size in pools for mean in [Fraction(total, size)] * size]
