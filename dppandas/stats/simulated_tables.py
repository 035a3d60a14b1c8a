"""χ² statistics of noisy counts, and their p-values by simulated tables.

A table is drawn as it would be under the null hypothesis: units at random, in the shares that were
fitted, and noise of the law of the releases. A p-value is the part of such tables whose statistic
is at least as large as the one seen, which counts as one of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass
from ..findings.simulation import Generator

Floats = npt.NDArray[np.float64]

#: Statistics that differ by less are equal, and variances below it are none.
NEAR = 1e-9
#: So many counts are simulated at once, in shares that are multiples of this.
AT_ONCE, GRID = 2**21, 2.0**-40


@dataclass(frozen=True)
class Hypothesis(ABC):
    """A null hypothesis about counts. Arrays of tables have the sides of one at their end.

    variances : those of the noise of each count.
    """

    variances: Floats

    @abstractmethod
    def shares(self, tables: Floats) -> Floats:
        """The share of each cell under the null hypothesis, as fitted."""

    @abstractmethod
    def residuals(self, tables: Floats, shares: Floats) -> Floats:
        """How far counts are from what is expected. Their expectation under the null hypothesis is
        0 for the true shares, however many units there are."""

    def total(self, tables: Floats) -> Floats:
        """How many units there are, as far as noise tells."""
        sides = tuple(range(-self.variances.ndim, 0))
        return np.asarray(np.maximum(tables.sum(axis=sides, keepdims=True), 0.0))

    def expected(self, tables: Floats) -> Floats:
        """The expected count of each cell."""
        return self.total(tables) * self.shares(tables)

    def statistic(self, tables: Floats) -> Floats:
        """The sum of squared residuals, each over its expected count and the variance of its noise:
        Pearson's χ² where there is no noise. A cell that has neither counts nothing."""
        shares = self.shares(tables)
        scale = self.total(tables) * shares + self.variances
        squares = self.residuals(tables, shares) ** 2
        each = np.divide(squares, scale, out=np.zeros_like(squares), where=scale > NEAR)
        sides = tuple(range(-self.variances.ndim, 0))
        return np.asarray(each.sum(axis=sides))


@dataclass(frozen=True)
class Independence(Hypothesis):
    """Rows and columns are independent."""

    def shares(self, tables: Floats) -> Floats:
        rows, columns = (_shares(tables.sum(axis=side, keepdims=True)) for side in (-1, -2))
        return np.asarray(rows * columns)

    def residuals(self, tables: Floats, shares: Floats) -> Floats:
        # count - row·share of the column - column·share of the row + total·both: with the sums'
        # own shares that is count - expected; with shares cut at 0 the sums still cancel
        rows, columns = (tables.sum(axis=side, keepdims=True) for side in (-1, -2))
        total = rows.sum(axis=-2, keepdims=True)
        return np.asarray(
            tables - _shares(columns) * rows - _shares(rows) * columns + shares * total
        )


@dataclass(frozen=True)
class Fit(Hypothesis):
    """Cells have known shares."""

    known: Floats

    def shares(self, tables: Floats) -> Floats:
        return np.broadcast_to(self.known, tables.shape)

    def residuals(self, tables: Floats, shares: Floats) -> Floats:
        return np.asarray(tables - shares * tables.sum(axis=-1, keepdims=True))


def _shares(sums: Floats) -> Floats:
    """Shares of a side, from its noisy sums: below 0 there is nothing. All alike if nothing is."""
    side = -1 if sums.shape[-1] > 1 else -2
    found = np.maximum(sums, 0.0)
    total = found.sum(axis=side, keepdims=True)
    even = np.full_like(found, 1 / found.shape[side])
    return np.asarray(np.divide(found, total, out=even, where=total > 0))


def pvalue(
    null: Hypothesis, seen: Floats, noise: Callable[[int], Floats], generator: Generator,
    size: int, order: Sequence[int] | None = None,
) -> float:  # fmt: skip
    """The part of tables, drawn under the null hypothesis, that deviate from it as this one does.

    noise : gives so many draws of the noise of all counts, a row for each.
    size : how many tables are drawn.
    order : in which cells are drawn; by default row by row.
    """
    least = float(null.statistic(seen)) * (1 - NEAR) - NEAR
    places = np.arange(seen.size) if order is None else np.asarray(order)
    # on a grid: a last bit that depends on the order of sums can decide how numpy draws
    shares = np.rint(null.shares(seen).reshape(-1)[places] / GRID) * GRID
    units = int(np.rint(null.total(seen).item()))
    extreme, left = 1, size  # the table seen is one of them
    while left:
        some = min(left, max(1, AT_ONCE // seen.size))
        tables = noise(some)
        tables[:, places] += generator.multinomial(units, shares / shares.sum(), some)
        statistics = null.statistic(tables.reshape(some, *seen.shape))
        extreme += int(np.count_nonzero(statistics >= least))
        left -= some
    return extreme / (size + 1)
