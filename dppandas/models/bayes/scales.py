"""Scales on which densities of parameters are smooth, and laws as heights on such a scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """Where a value has its place, which value has a place, and how fast values change there."""

    place: Callable[[Floats], Floats]
    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    lower: float = -math.inf
    upper: float = math.inf


def _same(x: Floats) -> Floats:
    return x


def _one(x: Floats) -> Floats:
    return np.ones(np.shape(x))


def _twice(x: Floats) -> Floats:
    return 2 * x


def _angle(x: Floats) -> Floats:
    return np.asarray(np.arcsin(np.sqrt(x)))


def _sine_squared(x: Floats) -> Floats:
    return np.asarray(np.sin(x) ** 2)


def _sine_of_twice(x: Floats) -> Floats:
    return np.asarray(np.sin(2 * x))


LINE = Scale(_same, _same, _one)
LOGARITHMS = Scale(np.log, np.exp, np.exp, lower=0.0)
ROOTS = Scale(np.sqrt, np.square, _twice, lower=0.0)
ANGLES = Scale(_angle, _sine_squared, _sine_of_twice, lower=0.0, upper=1.0)


class Marginal:
    """The law of one parameter, as heights at places of like distances on its scale."""

    def __init__(self, scale: Scale, places: Floats, heights: Floats) -> None:
        self._scale, self._places = scale, places
        steps = (heights[1:] + heights[:-1]) / 2
        self._heights = heights / (steps.sum() * (places[1] - places[0]))
        self._cumulated = np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()
        self._shares = at_ends(heights)
        self._shares /= self._shares.sum()

    @cached_property
    def mean(self) -> float:
        return float(self._shares @ self._scale.value(self._places))

    @property
    def std(self) -> float:
        off = self._scale.value(self._places) - self.mean
        return math.sqrt(self._shares @ off**2)

    def density(self, at: Floats) -> Floats:
        """At numbers, 0 where the parameter can't be."""
        inside = (at > self._scale.lower) & (at < self._scale.upper)
        found = np.zeros(at.shape)
        places = self._scale.place(at[inside])
        heights = np.interp(places, self._places, self._heights, left=0.0, right=0.0)
        found[inside] = heights / self._scale.slope(places)
        return found

    def cumulated(self, at: Floats) -> Floats:
        found, inside = np.zeros(at.shape), at > self._scale.lower
        places = self._scale.place(np.minimum(at[inside], self._scale.upper))
        found[inside] = np.interp(places, self._places, self._cumulated, left=0.0, right=1.0)
        return found

    def quantiles(self, chances: Floats) -> Floats:
        return self._scale.value(np.interp(chances, self._cumulated, self._places))


def at_ends(weights: Floats) -> Floats:
    """Weights of points with those of both ends halved, as in sums for integrals."""
    found = weights.copy()
    found[[0, -1]] /= 2
    return found
