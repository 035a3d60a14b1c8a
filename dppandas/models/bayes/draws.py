"""Draws from laws that were computed from answers, of the system's entropy."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ...privacy.sampling import entropy

Floats = npt.NDArray[np.float64]


def uniforms(n: int) -> Floats:
    """n numbers between 0 and 1, neither of which is drawn."""
    words = entropy.SYSTEM.words(n) >> np.uint64(12)
    return (words.astype(np.float64) + 0.5) / 2.0**52


def gammas(shapes: Floats) -> Floats:
    """A draw of the gamma law of each shape, 1/2 or more, by rejection (Marsaglia and Tsang, "A
    simple method for generating gamma variables", 2000)."""
    d = shapes + 1 - 1 / 3
    found, left = np.empty(len(shapes)), np.arange(len(shapes))
    while len(left):
        one, other, chance = (uniforms(len(left)) for _ in range(3))
        normal = np.sqrt(-2 * np.log(one)) * np.cos(2 * math.pi * other)
        cube = (1 + normal / np.sqrt(9 * d[left])) ** 3
        positive = np.maximum(cube, 1e-300)
        least = normal**2 / 2 + d[left] * (1 - cube + np.log(positive))
        kept = (cube > 0) & (np.log(chance) < least)
        found[left[kept]] = d[left[kept]] * cube[kept]
        left = left[~kept]
    drawn: Floats = found * uniforms(len(shapes)) ** (1 / shapes)
    return drawn
