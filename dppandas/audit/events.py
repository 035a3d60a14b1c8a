"""Events that distinguish two samples of outcomes, with bounds on their probabilities."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass
from .outcomes import KIND, RAISES, Sample

Hits = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

#: Quantiles of both samples at which tails are cut, and the most values or labels tried as atoms.
CUTS = 200
ATOMS = 100
#: How many numbers of an outcome are compared in pairs: those that differ most.
PAIRED = 12


@dataclass(frozen=True)
class Event:
    """Something that is true of an outcome or not, chosen before the runs that it is tested on."""

    text: str
    _hits: Callable[[Sample], Hits]

    def count(self, sample: Sample) -> int:
        """The number of runs in which it happened."""
        return int(np.count_nonzero(self._hits(sample)))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Projection:
    """A weighted sum of an outcome's numbers; absent where any of them is absent."""

    text: str
    weights: tuple[tuple[str, float], ...]

    def of(self, sample: Sample) -> tuple[Floats, Hits]:
        """Its value in each run, and whether the run has one."""
        total, present = np.zeros(sample.runs), np.ones(sample.runs, dtype=bool)
        for name, weight in self.weights:
            values, here = sample.number(name)
            with np.errstate(invalid="ignore"):  # inf - inf is NaN, which is an event too
                total += weight * values
            present &= here
        return total, present


@dataclass(frozen=True)
class ClopperPearson:
    """Clopper-Pearson bounds for counts in `runs` runs; each bound is wrong with chance `error`."""

    runs: int
    error: float

    def low(self, counts: Counts) -> Floats:
        """Probabilities that are at most the true ones."""
        k = np.maximum(counts, 1)
        return np.where(counts == 0, 0.0, _beta_quantile(k, self.runs - k + 1, self.error))

    def high(self, counts: Counts) -> Floats:
        """Probabilities that are at least the true ones."""
        k = np.minimum(counts, self.runs - 1)
        found = _beta_quantile(k + 1, self.runs - k, 1 - self.error)
        return np.where(counts == self.runs, 1.0, found)

    def epsilon(self, more: Counts, less: Counts, delta: float) -> Floats:
        """ln((P_low - δ) / P'_high), for counts of an event on one data set and on the other."""
        sure = np.maximum(self.low(more) - delta, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(sure) - np.log(self.high(less)))


def _beta_quantile(a: Counts, b: Counts, share: float) -> Floats:
    from scipy.special import betaincinv

    return np.asarray(betaincinv(a, b, share), dtype=np.float64)


#: Always happens, so it distinguishes nothing and bounds ε by about 0.
ANYTHING = Event("anything", lambda sample: np.ones(sample.runs, dtype=bool))


def learn(
    first: Sample, second: Sample, bounder: ClopperPearson, delta: float
) -> tuple[Event, bool]:
    """The event with the largest bound, and whether it is likelier in the first sample.

    This uses up both samples: the event must be tested on fresh ones.
    """
    best, promise, forward = ANYTHING, -math.inf, True
    for events, in_first, in_second in _candidates(first, second):
        for is_forward in (True, False):
            counts = (in_first, in_second) if is_forward else (in_second, in_first)
            bound = bounder.epsilon(*counts, delta)
            at = int(np.argmax(bound))
            if bound[at] > promise:
                best, promise, forward = events(at), float(bound[at]), is_forward
    return best, forward


#: Events by number, and how often each happened in the two samples.
Family = tuple[Callable[[int], Event], Counts, Counts]


def _candidates(first: Sample, second: Sample) -> Iterator[Family]:
    yield _either([ANYTHING], first, second)
    for name in dict.fromkeys([*first.labels, *second.labels]):
        yield _labels(name, first, second)
    for projection in _projections(first, second):
        yield from _numbers(projection, first, second)


def _either(events: list[Event], first: Sample, second: Sample) -> Family:
    """Events and their complements."""
    every = [*events, *map(_not, events)]
    in_first, in_second = (np.array([e.count(each) for e in every]) for each in (first, second))
    return every.__getitem__, in_first, in_second


def _not(event: Event) -> Event:
    return Event(f"not ({event.text})", lambda sample: ~event._hits(sample))


def _labels(name: str, first: Sample, second: Sample) -> Family:
    """Each of the labels whose frequencies differ most."""
    counts: dict[str, list[int]] = {}
    for side, sample in enumerate((first, second)):
        texts, times = np.unique(sample.label(name).astype(str), return_counts=True)
        for text, n in zip(texts.tolist(), times.tolist(), strict=True):
            counts.setdefault(text, [0, 0])[side] = n
    ranked = sorted(counts, key=lambda text: -abs(counts[text][0] - counts[text][1]))
    return _either([_is_label(name, text) for text in ranked[:ATOMS]], first, second)


def _is_label(name: str, text: str) -> Event:
    shown = textwrap.shorten(text or "absent", 120, placeholder=" …")
    is_error = name == KIND and text.startswith(RAISES)
    return Event(
        f"{name} {'' if is_error else 'is '}{shown}",
        lambda sample: np.asarray(sample.label(name) == text, dtype=bool),
    )


def _projections(first: Sample, second: Sample) -> Iterator[Projection]:
    """Each number; the sum of all; differences and sums of the pairs that differ most."""
    names = list(dict.fromkeys([*first.numbers, *second.numbers]))
    yield from (Projection(name, ((name, 1.0),)) for name in names)
    if len(names) < 2:
        return
    yield Projection("the sum of all numbers", tuple((name, 1.0) for name in names))
    shifts = {name: _shift(name, first, second) for name in names}
    loudest = sorted(names, key=lambda name: -abs(shifts[name]))
    for a, b in itertools.combinations(loudest[:PAIRED], 2):
        yield Projection(f"{a} - {b}", ((a, 1.0), (b, -1.0)))
        if len(names) > 2:
            yield Projection(f"{a} + {b}", ((a, 1.0), (b, 1.0)))
    moved = [name for name in names if shifts[name]]
    if len(moved) > 2:
        text = "the sum of all numbers, each with the sign of its shift"
        yield Projection(text, tuple((name, math.copysign(1.0, shifts[name])) for name in moved))


def _shift(name: str, first: Sample, second: Sample) -> float:
    """How far the middle shifts, in interquartile ranges; quartiles withstand infinities."""
    quartiles = []
    for sample in (first, second):
        values = _known(*sample.number(name))
        if not len(values):
            return 0.0
        quartiles.append(np.quantile(np.clip(values, -1e300, 1e300), [0.25, 0.5, 0.75]))
    a, b = quartiles
    width = max(a[2] - a[0], b[2] - b[0])
    return float((b.sum() / 3 - a.sum() / 3) / (width or 1.0))


def _known(values: Floats, present: Hits) -> Floats:
    """The values of the runs that have one."""
    return values[present & ~np.isnan(values)]


def _numbers(projection: Projection, first: Sample, second: Sample) -> Iterator[Family]:
    """NaN, repeated values, and the tails on both sides of some cuts."""
    sides = [np.sort(_known(*projection.of(sample))) for sample in (first, second)]
    cuts, atoms = _cuts(sides[0], sides[1])
    events = [_event(projection, f"== {value:.6g}", partial(np.equal, value)) for value in atoms]
    yield _either([_event(projection, "is NaN", np.isnan), *events], first, second)
    below = [np.searchsorted(side, cuts, side="right") for side in sides]
    above = [len(side) - under for side, under in zip(sides, below, strict=True)]
    if len(cuts):
        for sign, reaches, counts in (("<=", np.greater_equal, below), (">", np.less, above)):
            yield partial(_tail, projection, cuts, sign, reaches), counts[0], counts[1]


def _cuts(one: Floats, other: Floats) -> tuple[Floats, list[float]]:
    """Where to cut, and which values are repeated: all values if there are few, else quantiles of
    both samples, those far in the tails included."""
    values, times = np.unique(np.concatenate([one, other]), return_counts=True)
    again = np.argsort(-times, kind="stable")[:ATOMS]
    atoms = [float(values[i]) for i in again if times[i] > 1 and len(values) > 1]
    if len(values) <= 2 * CUTS:
        return values, atoms
    tails = np.logspace(-5, -1, CUTS // 4)
    shares = np.concatenate([tails, np.linspace(0.1, 0.9, CUTS // 2), 1 - tails])
    parts = [np.quantile(side, shares, method="lower") for side in (one, other) if len(side)]
    return np.unique(np.concatenate(parts)), atoms


def _tail(projection: Projection, cuts: Floats, sign: str, reaches: Any, i: int) -> Event:
    return _event(projection, f"{sign} {cuts[i]:.6g}", partial(reaches, cuts[i]))


def _event(projection: Projection, text: str, happens: Callable[[Floats], Hits]) -> Event:
    def hits(sample: Sample) -> Hits:
        values, present = projection.of(sample)
        return np.asarray(present & happens(values))

    return Event(f"{projection.text} {text}", hits)
