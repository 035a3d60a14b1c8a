"""How to sort rows within their groups: by arrays, and where these are equal by hashes; and which
rows of each group have the least hashes.

An order is an array of positions. A group, or a run of equal ones, is a number from 0, below 2^32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.intp]
Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint64]

#: The greatest float below 2^64.
_GREATEST = 2.0**64 - 2.0**11


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


def in_large(groups: Codes, most: int) -> Codes:
    """The rows of groups that have more than ``most`` of them; -1 is no group."""
    is_large = np.bincount(groups + 1) > most
    is_large[:1] = False
    return np.flatnonzero(is_large[groups + 1])


def least(
    groups: Codes, hashes: Words, most: int, decides: Sequence[Callable[[Codes], Array]]
) -> Codes:
    """The rows of the ``most`` least hashes of each group, in any order. Where it matters which of
    some rows with one hash are among them, ``decides`` says it, as in `without_ties`."""
    rows = _low(groups, hashes, most)
    for_group, for_row = (
        np.uint64(max(1, int(x).bit_length())) for x in (groups.max(initial=0), len(groups))
    )
    # a group, the beginning of a hash and a row in one word: numpy sorts words faster than rows
    is_row = (np.uint64(1) << for_row) - np.uint64(1)
    words = groups[rows].astype(np.uint64) << (np.uint64(64) - for_group)
    words |= hashes[rows] >> for_group
    words &= ~is_row
    words |= rows.view(np.uint64)
    words.sort()
    by = (words & is_row).view(np.intp)
    of_group = words >> (np.uint64(64) - for_group)
    beyond = np.zeros(len(by), dtype=bool)
    beyond[most:] = of_group[most:] == of_group[:-most]
    # runs of rows whose hashes begin alike, of which some are kept and others not
    alike = (words[1:] ^ words[:-1]) <= is_row
    cut = 1 + np.flatnonzero(alike & beyond[1:] & ~beyond[:-1])
    if len(cut):
        run = np.append(0, np.cumsum(~alike))
        is_cut = np.zeros(run[-1] + 1, dtype=bool)
        is_cut[run[cut]] = True
        at = np.flatnonzero(is_cut[run])
        by[at] = without_ties(by[at], run[at], [hashes.take, *decides])
    return by[~beyond]


def _low(groups: Codes, hashes: Words, most: int) -> Codes:
    """Rows among which are those of the ``most`` least hashes of each group, and not many more:
    those below a limit that follows from how many rows the group has, or all of its rows if these
    are too few."""
    counts = np.bincount(groups)
    share = np.minimum(1, (most + 2 * most**0.5) / np.maximum(counts, 1))
    if share @ counts > len(groups) / 2:  # it would take as long as it saves
        return np.arange(len(groups))
    is_low = hashes <= (share * _GREATEST).astype(np.uint64)[groups]
    is_short = np.bincount(groups[is_low], minlength=len(counts)) < np.minimum(counts, most)
    return np.flatnonzero(is_low | is_short[groups])


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
