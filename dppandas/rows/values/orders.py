"""How to sort rows within their groups: by arrays, and where these are equal by hashes.

An order is an array of positions. A group, or a run of equal ones, is a number from 0, below 2^32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.intp]
Array = npt.NDArray[Any]


def by_codes(codes: Codes) -> Codes:
    """A stable order of whole numbers from 0, by one or two passes over 16 bits, which numpy
    counts: a third of the time of its other stable sorts."""
    by = np.argsort((codes & 0xFFFF).astype(np.uint16), kind="stable")
    if codes.max(initial=0) < 2**16:
        return by
    return by[np.argsort((codes >> 16).astype(np.uint16)[by], kind="stable")]


def in_groups(groups: Codes, arrays: Sequence[Array]) -> Codes:
    """An order by groups, then by arrays, the first of which counts most. Of rows that are equal
    in all of them it is any."""
    if not arrays:
        return by_codes(groups)
    by = np.argsort(arrays[0]) if len(arrays) == 1 else np.lexsort(arrays[::-1])
    return by[by_codes(groups[by])]


def runs(by: Codes, arrays: Sequence[Array]) -> Codes:
    """For each sorted row the number of its run of rows that are equal in all arrays."""
    new = np.zeros(len(by), dtype=bool)
    for array in arrays:
        found = array[by]
        new[1:] |= found[1:] != found[:-1]
    return np.cumsum(new)


def without_ties(by: Codes, run: Codes, decides: Sequence[Callable[[Codes], Array]]) -> Codes:
    """An order whose ties are decided: by what the first function makes of the tied rows, then by
    the second of those that still tie, and so on."""
    by, at = by.copy(), np.arange(len(by))
    for decide in decides:
        tied = np.bincount(run, minlength=1)[run] > 1
        at, run = at[tied], run[tied]
        if not len(at):
            break
        rows = by[at]
        values = decide(rows)
        order = in_groups(run, [values])
        by[at] = rows[order]
        run = runs(order, [run, values])
    return by


def sizes(starts: Codes, rows: int) -> Codes:
    """How many sorted rows each group has, from where it starts."""
    return np.asarray(np.diff(np.append(starts, rows)))


def starts(groups: Array) -> Codes:
    """Where groups start among rows that are sorted by them."""
    new = np.ones(len(groups), dtype=bool)
    new[1:] = groups[1:] != groups[:-1]
    return np.flatnonzero(new)


def places(groups: Array) -> Codes:
    """For each row, how many rows of its group are before it: they are sorted by groups."""
    first = starts(groups)
    return np.arange(len(groups)) - np.repeat(first, sizes(first, len(groups)))
