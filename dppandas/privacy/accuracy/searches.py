"""The ends of what isn't excluded, where pieces of a range can be excluded one by one.

After any number of rounds all that lies outside of the ends is excluded: more rounds only move the
ends nearer to each other (docs/proofs/ratios.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]
#: Whether all of a piece is excluded, for the numbers of these places and the lower and upper ends
#: of some pieces of each. False is always right.
Excludes = Callable[[Places, Floats, Floats], Truths]

#: How often a range is cut into pieces at most. Pieces narrower than this share of it aren't cut.
ROUNDS, NARROW = 24, 2.0**-11
#: Of more numbers than this, into how many pieces at most: the fewer, the less is computed in all.
FEW, MANY = 8, 6


def ends(
    excludes: Excludes, first: Floats, last: Floats, hidden: Floats, pieces: int, most: Any = 1.0,
    narrow: float = NARROW,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The least and the largest number from ``first`` to ``last`` that may not be excluded.

    Where all are, which is one of the draws in which an interval may fail, an interval of no width
    would claim what nothing supports: it is as wide as what noise may have ``hidden`` at its end of
    the possible values, which are those from 0 to ``most``.
    """
    count = len(first)
    pieces = min(pieces, MANY) if count > FEW else pieces

    # each number stands twice: what is nearest to either end is looked for
    def both(places: Places, low: Floats, high: Floats) -> Truths:
        return excludes(places % max(count, 1), low, high)

    edges = np.append(first, last), np.append(last, first)
    found, is_seen = _nearest(both, *edges, pieces, narrow)
    is_any, seen = is_seen[:count] & is_seen[count:], (found[:count], found[count:])
    low, high = np.minimum(first, most - hidden), np.maximum(last, hidden)
    return (
        np.where(is_any, np.minimum(*seen), np.maximum(low, 0.0)),
        np.where(is_any, np.maximum(*seen), np.minimum(high, most)),
    )


def _nearest(
    excludes: Excludes, first: Floats, last: Floats, pieces: int, narrow: float
) -> tuple[Floats, Truths]:
    """Numbers between ``first`` and what isn't excluded, and whether that is anything."""
    at, piece, is_any = first.copy(), last - first, np.ones(len(first), dtype=bool)
    least, steps = np.abs(piece) * narrow, np.arange(pieces + 1) / pieces
    bottom, top = np.minimum(first, last), np.maximum(first, last)
    left = np.arange(len(first))
    for _ in range(ROUNDS):
        edges = at[left, None] + piece[left, None] * steps
        edges = np.clip(edges, bottom[left, None], top[left, None])
        sides = edges[:, :-1], edges[:, 1:]
        kept = ~excludes(left, np.minimum(*sides), np.maximum(*sides))
        is_any[left], place = kept.any(axis=1), kept.argmax(axis=1)
        place[~is_any[left]] = pieces
        at[left] = edges[np.arange(len(left)), place]
        piece[left] *= np.where(is_any[left], 1 / pieces, 4)
        is_open = np.where(is_any, np.abs(piece) > least, at != last)
        left = left[is_open[left]]
        if not len(left):
            break
    return at, is_any | (at != last)
