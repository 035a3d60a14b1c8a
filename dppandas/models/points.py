"""Centres of public points: plain, deterministic arithmetic on released answers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

#: How many points spread centres are chosen from.
CANDIDATES = 4096
#: Centres and components are multiples of this. So machines whose sums differ in their last bits
#: agree, and a model that is fitted again asks the same questions.
STEP = 2.0**-26
#: Rounds from each start, and rounds from the best result of these.
FEW, MANY = 10, 100


def floats(answer: Any) -> Matrix:
    """The numbers of a released answer."""
    found: Matrix = np.asarray(answer, dtype=np.float64)
    return found


def rounded(values: Matrix) -> Matrix:
    """Values on the public grid of what models learn."""
    found: Matrix = np.round(values / STEP) * STEP + 0.0
    return found


@lru_cache(maxsize=64)
def spread(number: int, width: int) -> Matrix:
    """Centres in [-1, 1]^width that lie far from each other, and half as far from the walls.

    Balls of the largest possible radius, found by bisection, are placed one by one at the points of
    Roberts' sequence (Su, Cao, Li, Bertino and Jin, 2016, Section 3.1, draw them at random).
    """
    golden = 2.0
    for _ in range(64):  # the root of x^(d+1) = x + 1
        golden = (1 + golden) ** (1 / (width + 1))
    steps = golden ** -np.arange(1, width + 1)
    candidates = ((0.5 + np.arange(1, CANDIDATES + 1)[:, None] * steps) % 1) * 2 - 1
    low, high, best = 0.0, 1.0, candidates[:number]
    for _ in range(12):
        radius = (low + high) / 2
        found = _placed(candidates * (1 - radius), number, radius)
        if found is None:
            high = radius
        else:
            low, best = radius, found
    best = rounded(best)
    best.flags.writeable = False
    return best


def _placed(candidates: Matrix, number: int, radius: float) -> Matrix | None:
    """Candidates at least two radii apart, starting in a corner, each as near to the others as
    possible; None if there are too few."""
    nearest = np.full(len(candidates), np.inf)
    chosen = [int(candidates.sum(axis=1).argmin())]
    while len(chosen) < number:
        distances = ((candidates - candidates[chosen[-1]]) ** 2).sum(axis=1)
        distances[chosen[-1]] = -1
        nearest = np.minimum(nearest, distances)
        free = np.flatnonzero(nearest >= 4 * radius**2)
        if not len(free):
            return None
        chosen.append(int(free[nearest[free].argmin()]))
    return candidates[chosen]


def nearest(points: Matrix, centres: Matrix) -> tuple[npt.NDArray[np.intp], Matrix]:
    """The nearest centre of each point (the first of several), and its squared distance."""
    labels = np.zeros(len(points), dtype=np.intp)
    best = np.full(len(points), np.inf)
    for i, centre in enumerate(centres):
        distances = ((points - centre) ** 2).sum(axis=1)
        closer = distances < best
        labels[closer] = i
        best[closer] = distances[closer]
    return labels, best


def clustered(points: Matrix, weights: Matrix, number: int, starts: int = 8) -> Matrix:
    """Centres with a small weighted sum of squared distances, by Lloyd's algorithm.

    It tries several starts and continues from the best. Each start is one of the heaviest points,
    and then, again and again, the point with the most weight times squared distance: k-means++
    without randomness. There must be at least ``number`` points.
    """
    order = np.argsort(-weights, kind="stable")
    least, best = np.inf, points[order[:number]]
    for first in order[:starts]:
        centres = _lloyd(points, weights, _begun(points, weights, int(first), number), FEW)
        cost = float((nearest(points, centres)[1] * weights).sum())
        if cost < least:
            least, best = cost, centres
    return _lloyd(points, weights, best, MANY)


def _begun(points: Matrix, weights: Matrix, first: int, number: int) -> Matrix:
    chosen = [first]
    away = ((points - points[first]) ** 2).sum(axis=1)
    while len(chosen) < number:
        chosen.append(int(np.argmax(away * weights)))
        away = np.minimum(away, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return points[chosen]


def _lloyd(points: Matrix, weights: Matrix, centres: Matrix, rounds: int) -> Matrix:
    number = len(centres)
    before = None
    for _ in range(rounds):
        labels, _ = nearest(points, centres)
        if before is not None and np.array_equal(labels, before):
            break
        before = labels
        mass = np.bincount(labels, weights, number)
        sums = np.stack([np.bincount(labels, weights * x, number) for x in points.T], axis=1)
        filled = mass > 0
        centres = centres.copy()
        centres[filled] = sums[filled] / mass[filled, None]
    return centres
