"""Whole numbers near real ones, whose sums are near too.

To round each number to the nearest would add up: 10,000 cells of 0.3 would all be 0. So a number
is rounded up or down by what its sums lack so far, and then moved as long as the sums get nearer.
To find the nearest of all is NP-hard as soon as three-way tables are given by two-way ones (Irving
and Jerrum, SIAM J. Comput. 23, 1994).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

#: The most numbers may add up to, so that floats add them exactly.
MOST_SUM = 2.0**53
#: How often all numbers are gone through in order.
SWEEPS = 16
#: How many moves a chain of them may have, and with how many first moves one is tried.
CHAIN, STARTS = 8, 64
#: How many moves are compared in all, in the search for chains: about a second.
MOST_COMPARED = 2 * 10**7


def sum_up(cells: Floats, codes: Codes, size: int) -> Floats:
    """The sums that the cells belong to; those with the code `size` belong to none."""
    sums = np.bincount(codes, weights=cells, minlength=size + 1)
    return sums[:size].astype(np.float64, copy=False)


def near(cells: Floats, codes: Sequence[Codes], sums: Sequence[Floats]) -> Floats:
    """Whole numbers of at least 0 that have nearly these sums, by least squares.

    cells : numbers to start from, of at least 0
    codes : for each of several divisions the sum that each cell belongs to; len(sums) for none
    sums : those of each division
    """
    ends = np.cumsum([len(each) for each in sums])
    # all sums in a row; the last place is that of cells in none
    belongs = np.stack([
        np.where(code < len(each), code + end - len(each), ends[-1])
        for code, each, end in zip(codes, sums, ends, strict=True)
    ], axis=1)  # fmt: skip
    off = np.concatenate([
        sum_up(cells, code, len(each)) - each
        for code, each in zip(codes, sums, strict=True)
    ])  # fmt: skip
    rounded, off = _swept(cells, belongs, off)
    return _chained(rounded, belongs, off)


def _swept(cells: Floats, belongs: Codes, off: Floats) -> tuple[Floats, Floats]:
    """Each number in turn takes the whole value that is best for its sums; and how far those are
    off."""
    last = len(off)
    sums_of = [[s for s in sums if s < last] for sums in belongs.tolist()]
    values, errors = cells.tolist(), off.tolist()
    for _ in range(SWEEPS):
        is_still = True
        for i, sums in enumerate(sums_of):
            value = values[i]
            lacking = sum([errors[s] for s in sums]) / (len(sums) or 1)
            best = max(0, math.ceil(value - lacking - 0.5))
            if best != value:
                is_still = False
                values[i] = best
                for s in sums:
                    errors[s] += best - value
        if is_still:
            break
    return np.array(values, dtype=np.float64), np.array(errors, dtype=np.float64)


def _chained(values: Floats, belongs: Codes, off: Floats) -> Floats:
    """Numbers moved by 1 up or down, several in a chain where no single move helps: one too many
    in a row and one too few in the next are two moves away, and in three-way tables up to eight
    (Kernighan and Lin, Bell Syst. Tech. J. 49, 1970)."""
    off = np.append(off, 0.0)
    left = MOST_COMPARED // (2 * len(values))
    while left > 0 and off.any():
        tried = min(STARTS, left // CHAIN + 1)
        first = np.argsort(_costs(values, belongs, off), kind="stable")[:tried]
        for start in first.tolist():
            left -= CHAIN
            if (moved := _chain(start, values, belongs, off)) is not None:
                values, off = moved
                break
        else:
            break
    return values


def _costs(values: Floats, belongs: Codes, off: Floats) -> Floats:
    """What each move adds to the squares of what sums are off: first those up, then those down."""
    sizes = np.count_nonzero(belongs < len(off) - 1, axis=1)
    slopes = 2 * off[belongs].sum(axis=1)
    costs = np.concatenate([sizes + slopes, np.where(values > 0, sizes - slopes, np.inf)])
    costs[np.tile(sizes == 0, 2)] = np.inf
    return costs


def _chain(start: int, values: Floats, belongs: Codes, off: Floats) -> tuple[Floats, Floats] | None:
    """Moves that begin with one and help together, each the best after the last; None if they
    don't. No number is moved twice."""
    values, off, gained = values.copy(), off.copy(), 0.0
    was_moved = np.zeros(2 * len(values), dtype=bool)
    for length in range(CHAIN):
        costs = np.where(was_moved, np.inf, _costs(values, belongs, off))
        move = int(costs.argmin()) if length else start
        gained -= float(costs[move])
        i, step = move % len(values), 1 if move < len(values) else -1
        values[i] += step
        sums = belongs[i]
        off[sums[sums < len(off) - 1]] += step
        was_moved[[i, i + len(values)]] = True
        if gained > 0:
            return values, off
    return None
