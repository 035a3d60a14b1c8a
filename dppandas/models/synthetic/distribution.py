"""A distribution over all cells of a domain: fitted to noisy marginals, and turned into rows.

Every step gives the same floats on every machine: `decimal` computes exp, sums are added in order,
and IEEE 754 fixes the rest. So a program that runs again asks the same queries, which are replayed
at no cost. Nothing here is random.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence

import numpy as np

from ...dataclasses import dataclass
from .domains import Codes, Domain, Floats

#: The most passes of a fit, and the gain below which it stops.
PASSES, GAIN = 60, 1e-7
_EXP = decimal.Context(prec=25, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[])


@dataclass(frozen=True)
class Measured:
    """A marginal and its noisy counts, which weigh less the more they err."""

    positions: Codes
    counts: Floats
    weight: float = 1.0


def uniform(domain: Domain, total: float) -> Floats:
    """A table in which all cells expect the same count."""
    return np.full(domain.cells(), total / domain.cells())


def summed(table: Floats, positions: Codes, cells: int) -> Floats:
    """A marginal of a table, added up in order."""
    sums: Floats = np.bincount(positions, weights=table, minlength=cells).astype(np.float64)
    return sums


def fitted(table: Floats, measured: Sequence[Measured], total: float) -> Floats:
    """The table after multiplicative weights: cell · exp(−rate · Σ (expected − counted) / total),
    summed over the marginals of the cell, until the squared errors stop falling.

    Hardt, Ligett and McSherry (NeurIPS 2012) update so after each measurement. Here all
    measurements count at once, with a rate that grows while it helps and halves when it doesn't.
    """
    rate, off = 1.0, _off(table, measured)
    for _ in range(PASSES):
        if not off[0] > 0:
            break
        tried = table.copy()
        for each, far in zip(measured, off[1], strict=True):
            tried *= _factors(far * (-rate * each.weight / total))[each.positions]
        whole = math.fsum(tried.tolist()) if len(tried) < 10**4 else float(np.cumsum(tried)[-1])
        if not 0 < whole < math.inf:
            rate /= 4
            continue
        tried *= total / whole
        now = _off(tried, measured)
        if now[0] > off[0]:
            rate /= 2
            continue
        gained, table, off = off[0] - now[0], tried, now
        if gained <= GAIN * off[0]:
            break
        rate *= 1.5
    return table


def shrunk(counts: Floats, expected: Floats, deviation: float) -> Floats:
    """Noisy counts shrunk towards expected ones by the share of noise in their squared distance; a
    distance that noise alone explains vanishes (James and Stein, 1961)."""
    far = counts - expected
    squares = math.fsum((far * far).tolist())
    share = 1 - len(counts) * deviation * deviation / squares if squares else 0.0
    return expected + max(0.0, share) * far


def _off(table: Floats, measured: Sequence[Measured]) -> tuple[float, list[Floats]]:
    """The weighted squared error, and the errors of each marginal."""
    far = [summed(table, each.positions, len(each.counts)) - each.counts for each in measured]
    pairs = zip(measured, far, strict=True)
    squares = [each.weight * math.fsum((off * off).tolist()) for each, off in pairs]
    return math.fsum(squares), far


def _factors(exponents: Floats) -> Floats:
    """exp with the same rounding on every machine, of clipped exponents."""
    clipped = np.clip(exponents, -30.0, 30.0).tolist()
    return np.array([float(_EXP.exp(decimal.Decimal(each))) for each in clipped])


def rounded(domain: Domain, table: Floats, rows: int) -> list[Codes]:
    """Rows whose counts are close to a table's shares: positions of labels, column by column.

    Cells are put in a line in which neighbours differ in one label, by one place. A row is taken
    whenever the sum along the line passes another multiple of 1/rows. So every run of cells has its
    share of the rows to within one, and what a cell lacks its neighbour has.
    """
    line = _in_line(domain)
    passed = np.cumsum(table[line])
    ends = np.floor(passed / passed[-1] * rows + 0.5).astype(np.int64)
    ends[-1] = rows
    counts = np.diff(np.maximum.accumulate(ends), prepend=0)
    cells = np.sort(np.repeat(line, counts))
    return [each.astype(np.int64) for each in np.unravel_index(cells, domain.shape)]


def _in_line(domain: Domain) -> Codes:
    """All cells in an order in which neighbours differ in one label, by one place: a reflected Gray
    code with mixed radices."""
    line = np.zeros(1, dtype=np.int64)
    for size in domain.shape:
        steps = np.tile(np.arange(size), (len(line), 1))
        steps[1::2] = steps[1::2, ::-1]
        line = (line[:, None] * size + steps).reshape(-1)
    return line
