"""Families of laws that give each of some public cells a chance, and the priors of their
parameters."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...errors import QueryError, quoted
from ...rows.facts.bounds import Bounds
from ...rows.facts.units import whole_number
from ...rows.figures import format_fact
from .scales import ANGLES, LINE, LOGARITHMS, ROOTS, Scale

Floats = npt.NDArray[np.float64]

#: Numbers are counted in so many cells, unless the call says.
CELLS = 32
FEWEST_CELLS, MOST_CELLS = 4, 256
#: Counts are told apart up to this bound.
LARGEST_COUNT = 10_000
#: What a parameter of a prior may be. Below 1/2 a density has no top.
LEAST_PRIOR, MOST_PRIOR = 0.5, 1e6
#: Draws are of these chances, or of so many means and deviations.
EVENLY, OF_MEAN, OF_DEVIATION = np.arange(1, 200) / 200, 24, 12
#: The least deviation by default, as a share of the width of the bounds.
NARROWEST = 1 / 200
#: Below this chance a gamma or normal prior isn't looked at, in powers of e; and how many
#: deviations that is.
UNLIKELY, FAR = 40, 9
#: In place of 0, which has no logarithm.
TINY = 1e-300

_erf_of_each = np.frompyfunc(math.erf, 1, 1)
_log_gamma_of_each = np.frompyfunc(math.lgamma, 1, 1)


def log_gamma(at: Floats) -> Floats:
    return np.asarray(_log_gamma_of_each(at), dtype=np.float64)


class Family(ABC):
    """Laws of numbers, by the chances of cells between public edges. The outer cells are open, so
    that each number has its cell, and no chance is that of a clipped number."""

    name: ClassVar[str]
    #: Its parameters; one has no name.
    names: ClassVar[tuple[str, ...]] = ("",)
    scales: ClassVar[tuple[Scale, ...]]
    prior: Any

    @property
    @abstractmethod
    def edges(self) -> tuple[float, ...]:
        """The edges of the cells."""

    @property
    @abstractmethod
    def ends(self) -> tuple[tuple[float, float], ...]:
        """Where parameters may lie, in places of their scales."""

    @abstractmethod
    def chances(self, *values: Floats) -> Floats:
        """The chance of each cell, for parameters in flat arrays: (cells, parameters)."""

    @abstractmethod
    def log_prior(self, *places: Floats) -> Floats:
        """The logarithm of the prior's density of places, up to a constant."""

    @property
    @abstractmethod
    def candidates(self) -> tuple[tuple[Floats, ...], Floats]:
        """The parameters that a draw is of, in flat arrays, and the logarithms of the weights that
        the prior gives them, up to a constant."""

    @property
    def said(self) -> str:
        """The prior, as it is written in a call."""
        return f"({', '.join(f'{each:g}' for each in self.prior)})"


class Counts(Family):
    """Laws of whole numbers: a cell for each, or for some that follow each other, and one for all
    from the last start on."""

    starts: tuple[int, ...]

    @property
    def edges(self) -> tuple[float, ...]:
        return (*(start - 0.5 for start in self.starts), math.inf)


@dataclass(frozen=True)
class Poisson(Counts):
    """Whole numbers from 0 on, with a mean whose prior is a gamma law of this shape and rate."""

    starts: tuple[int, ...]
    prior: tuple[float, float]

    name = "poisson"
    scales = (ROOTS,)

    @classmethod
    def of(cls, bounds: Bounds, cells: int, prior: object) -> Poisson:
        top = _top(bounds, 1)
        given = pair_of((1, 1 / top) if prior is None else prior, "a gamma law", f"(1, 1/{top})")
        return cls(_starts(0, top, cells), given)

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        shape, rate = self.prior
        return ((0.0, math.sqrt((shape + FAR * math.sqrt(shape) + UNLIKELY) / rate)),)

    def chances(self, *values: Floats) -> Floats:
        (mean,) = values
        below = np.arange(self.starts[-1], dtype=np.float64)[:, None]
        logs = below * np.log(np.maximum(mean, TINY)) - mean - log_gamma(below + 1)
        found = np.add.reduceat(np.exp(logs), self.starts[:-1], axis=0)
        return np.vstack([found, np.maximum(1 - found.sum(axis=0), 0.0)])

    def log_prior(self, *places: Floats) -> Floats:
        (root,), (shape, rate) = places, self.prior
        return (2 * shape - 1) * np.log(np.maximum(root, TINY)) - rate * root**2

    @property
    def candidates(self) -> tuple[tuple[Floats, ...], Floats]:
        means = _short(self.starts[-1] * EVENLY**2)
        return (means,), self.log_prior(np.sqrt(means))


@dataclass(frozen=True)
class Geometric(Counts):
    """How many tries it takes, from 1 on, if each succeeds with the same chance, whose prior is a
    Beta law."""

    starts: tuple[int, ...]
    prior: tuple[float, float]

    name = "geometric"
    scales = (ANGLES,)

    @classmethod
    def of(cls, bounds: Bounds, cells: int, prior: object) -> Geometric:
        given = pair_of((1, 1) if prior is None else prior, "a Beta law", "(1, 1)", LEAST_PRIOR)
        return cls(_starts(1, _top(bounds, 2), cells), given)

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        return ((0.0, math.pi / 2),)

    def chances(self, *values: Floats) -> Floats:
        (success,) = values
        before = np.array(self.starts, dtype=np.float64)[:, None] - 1
        longer = np.exp(before * np.log(np.maximum(1 - success, TINY)))
        return np.vstack([longer[:-1] - longer[1:], longer[-1:]])

    def log_prior(self, *places: Floats) -> Floats:
        (angle,), (a, b) = places, self.prior
        sine, cosine = (np.maximum(each, TINY) for each in (np.sin(angle), np.cos(angle)))
        return (2 * a - 1) * np.log(sine) + (2 * b - 1) * np.log(cosine)

    @property
    def candidates(self) -> tuple[tuple[Floats, ...], Floats]:
        return (EVENLY,), log_beta(EVENLY, self.prior)


@dataclass(frozen=True)
class Normal(Family):
    """Numbers of a normal law. Before, its mean is normal, and the logarithm of its deviation as
    likely anywhere between two limits."""

    lower: float
    upper: float
    cells: int
    loc: tuple[float, float]
    scale: tuple[float, float]

    name = "normal"
    names = ("loc", "scale")
    scales = (LINE, LOGARITHMS)

    @classmethod
    def of(cls, bounds: Bounds, cells: int, prior: object) -> Normal:
        low, high = bounds.lower, bounds.upper
        if low == high:
            raise QueryError(
                f"bounds {format_fact(bounds)} are a single point. Give a lower and an upper one."
            )
        width = high - low
        given: Any = {} if prior is None else prior
        if not isinstance(given, Mapping) or not {*given} <= {*cls.names}:
            raise QueryError(
                f"prior={quoted(given)} must be a dict such as {{'loc': (50, 20), 'scale': (1, 40)"
                "}: mean and deviation of the mean's normal law, and the limits of the deviation."
            )
        loc = pair_of(given.get("loc", (low / 2 + high / 2, width / 2)), "loc", "(50, 20)", -1e300)
        scale = pair_of(given.get("scale", (width * NARROWEST, width)), "scale", "(1, 40)")
        if not (loc[1] > 0 and scale[0] < scale[1]):
            raise QueryError(
                f"prior={quoted(given)}: of loc the deviation must be above 0, and of scale the "
                "second limit above the first."
            )
        return cls(low, high, cells, loc, scale)

    @property
    def prior(self) -> dict[str, tuple[float, float]]:
        return {"loc": self.loc, "scale": self.scale}

    @property
    def said(self) -> str:
        (a, b), (c, d) = self.loc, self.scale
        return f"loc ({a:g}, {b:g}), scale ({c:g}, {d:g})"

    @property
    def edges(self) -> tuple[float, ...]:
        inner = np.linspace(self.lower, self.upper, self.cells + 1)[1:-1].tolist()
        return (-math.inf, *inner, math.inf)

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        middle, off = self.loc
        low, high = self.scale
        return (middle - FAR * off, middle + FAR * off), (math.log(low), math.log(high))

    def chances(self, *values: Floats) -> Floats:
        mean, deviation = values
        off = (np.array(self.edges[1:-1])[:, None] - mean) / (math.sqrt(2) * deviation)
        below = (1 + np.asarray(_erf_of_each(off), dtype=np.float64)) / 2
        ends = np.zeros((1, len(mean)))
        return np.diff(np.vstack([ends, below, ends + 1]), axis=0)

    def log_prior(self, *places: Floats) -> Floats:
        middle, off = self.loc
        return -(((places[0] - middle) / off) ** 2) / 2

    @property
    def candidates(self) -> tuple[tuple[Floats, ...], Floats]:
        low, high = map(math.log, self.scale)
        means = self.lower + (np.arange(OF_MEAN) + 0.5) * (self.upper - self.lower) / OF_MEAN
        logs = low + (np.arange(OF_DEVIATION) + 0.5) * (high - low) / OF_DEVIATION
        loc, scale = np.repeat(_short(means), OF_DEVIATION), np.tile(_short(np.exp(logs)), OF_MEAN)
        return (loc, scale), self.log_prior(loc)


#: Those of numbers, by name.
OF_NUMBERS: dict[str, Any] = {each.name: each for each in (Geometric, Normal, Poisson)}


def log_beta(chances: Floats, prior: tuple[float, float]) -> Floats:
    """The logarithm of a Beta law's density, up to a constant."""
    a, b = prior
    return (a - 1) * np.log(chances) + (b - 1) * np.log1p(-chances)


def _short(values: Floats) -> Floats:
    """To six digits, as they are shown."""
    return np.array([float(f"{each:.6g}") for each in values.tolist()])


def cells_of(given: Any) -> int:
    """How many cells numbers are counted in."""
    return CELLS if given is None else whole_number(given, "bins", FEWEST_CELLS, MOST_CELLS)


def is_number(value: Any, least: float, most: float) -> bool:
    real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    return real and least <= float(value) <= most


def pair_of(given: Any, of: str, such: str, least: float = TINY) -> tuple[float, float]:
    """Two numbers of a prior."""
    if isinstance(given, list | tuple) and len(given) == 2:
        a, b = given
        if is_number(a, max(least, -1e300), 1e300) and is_number(b, max(least, TINY), 1e300):
            return float(a), float(b)
    raise QueryError(f"prior={quoted(given)} must be two numbers of {of}, such as {such}.")


def _top(bounds: Bounds, least: int) -> int:
    """The number from which on numbers are counted in one cell."""
    top = math.floor(bounds.upper)
    if not least <= top <= LARGEST_COUNT:
        raise QueryError(
            f"bounds {format_fact(bounds)} of whole numbers must end between {least} and "
            f"{LARGEST_COUNT:,}: larger numbers are counted in one cell. Give bounds=, such as "
            "(0, 40)."
        )
    return top


def _starts(low: int, top: int, cells: int) -> tuple[int, ...]:
    """The first number of each cell: cells grow as squares do, in roots they are alike."""
    if top - low < cells:
        return tuple(range(low, top + 1))
    starts = low + (top - low) * np.linspace(0, 1, cells) ** 2
    return tuple(np.unique(np.rint(starts).astype(int)).tolist())
