"""Events that tell two samples of outcomes apart, and how likely they are at least and at most."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .outcomes import KIND, RAISES, Sample

Hits = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

#: Quantiles of both samples at which tails are cut, and the most values or labels tried as atoms.
CUTS = 200
ATOMS = 100
#: So many numbers of an outcome are compared in pairs: the ones that differ most.
PAIRED = 12


@dataclass(frozen=True)
class Event:
    """Something that an outcome is or is not, decided before the runs it is tested on."""

    text: str
    _hits: Callable[[Sample], Hits]

    def count(self, sample: Sample) -> int:
        """In how many runs it happened."""
        return int(np.count_nonzero(self._hits(sample)))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Projection:
    """A weighted sum of an outcome's numbers; absent where any of them is."""

    text: str
    weights: tuple[tuple[str, float], ...]

    def of(self, sample: Sample) -> tuple[Floats, Hits]:
        """Its value in each run, and whether it has one."""
        total, present = np.zeros(sample.runs), np.ones(sample.runs, dtype=bool)
        for name, weight in self.weights:
            values, here = sample.number(name)
            with np.errstate(invalid="ignore"):  # inf - inf is NaN: an event like others
                total += weight * values
            present &= here
        return total, present


@dataclass(frozen=True)
class ClopperPearson:
    """Clopper-Pearson bounds for counts of so many runs, each of them wrong with chance `error`."""

    runs: int
    error: float

    def low(self, counts: Counts) -> Floats:
        """Probabilities that are at most the true ones."""
        k = np.maximum(counts, 1)
        return np.where(counts == 0, 0.0, _beta_quantile(k, self.runs - k + 1, self.error))

    def high(self, counts: Counts) -> Floats:
        """Probabilities that are at least the true ones."""
        k = np.minimum(counts, self.runs - 1)
        return np.where(
            counts == self.runs, 1.0, _beta_quantile(k + 1, self.runs - k, 1 - self.error)
        )

    def epsilon(self, more: Counts, less: Counts, delta: float) -> Floats:
        """ln((P_low - δ) / P'_high) for counts of an event under one data set and the other."""
        sure = np.maximum(self.low(more) - delta, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(sure) - np.log(self.high(less)))


def _beta_quantile(a: Counts, b: Counts, share: float) -> Floats:
    from scipy.special import betaincinv

    return np.asarray(betaincinv(a, b, share), dtype=np.float64)


def anything() -> Event:
    """What always happens: it tells nothing apart, and bounds ε by about 0."""
    return Event("anything", lambda sample: np.ones(sample.runs, dtype=bool))


def learn(
    first: Sample, second: Sample, bounder: ClopperPearson, delta: float
) -> tuple[Event, bool]:
    """The event that promises the largest bound, and whether it is likelier in the first sample.

    Both samples are spent by this: what the event is worth must be tested on fresh ones.
    """
    best, promise, forward = anything(), -math.inf, True
    for events, in_first, in_second in _candidates(first, second):
        bounds = [
            bounder.epsilon(in_first, in_second, delta),
            bounder.epsilon(in_second, in_first, delta),
        ]
        for bound, is_forward in zip(bounds, (True, False), strict=True):
            at = int(np.argmax(bound))
            if bound[at] > promise:
                best, promise, forward = events(at), float(bound[at]), is_forward
    return best, forward


#: Events by number, and how often each happened in the two samples.
Family = tuple[Callable[[int], Event], Counts, Counts]


def _candidates(first: Sample, second: Sample) -> Iterator[Family]:
    yield _either([anything()], first, second)
    for name in dict.fromkeys([*first.labels, *second.labels]):
        yield _labels(name, first, second)
    for projection in _projections(first, second):
        yield from _numbers(projection, first, second)


def _either(events: list[Event], first: Sample, second: Sample) -> Family:
    """Events and their contraries."""
    every = [*events, *(_contrary(event) for event in events)]
    counts = (np.array([e.count(sample) for e in every]) for sample in (first, second))
    in_first, in_second = counts
    return every.__getitem__, in_first, in_second


def _contrary(event: Event) -> Event:
    return Event(f"not ({event.text})", lambda sample: ~event._hits(sample))


def _labels(name: str, first: Sample, second: Sample) -> Family:
    """Each of the labels that differ most in frequency."""
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
    """Each number; their sum; differences and sums of pairs; where the two samples differ most."""
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
        text = "the sum of all numbers, each with the sign of its move"
        yield Projection(text, tuple((name, math.copysign(1.0, shifts[name])) for name in moved))


def _shift(name: str, first: Sample, second: Sample) -> float:
    """How far the middle moves, in widths of the middle half; medians bear infinities."""
    quartiles = []
    for sample in (first, second):
        values, present = sample.number(name)
        values = values[present & ~np.isnan(values)]
        if not len(values):
            return 0.0
        quartiles.append(np.quantile(np.clip(values, -1e300, 1e300), [0.25, 0.5, 0.75]))
    a, b = quartiles
    width = max(a[2] - a[0], b[2] - b[0])
    mean_a, mean_b = a.sum() / 3, b.sum() / 3
    return float((mean_b - mean_a) / (width or 1.0))


def _numbers(projection: Projection, first: Sample, second: Sample) -> Iterator[Family]:
    """NaN; values that come up again; tails on both sides of some cuts."""
    sides = []
    for sample in (first, second):
        values, present = projection.of(sample)
        sides.append(np.sort(values[present & ~np.isnan(values)]))
    cuts, atoms = _cuts(sides[0], sides[1])
    yield _either([_is_nan(projection), *(_equals(projection, v) for v in atoms)], first, second)
    below = [np.searchsorted(side, cuts, side="right") for side in sides]
    above = [len(side) - under for side, under in zip(sides, below, strict=True)]
    if len(cuts):
        yield lambda i: _tail(projection, float(cuts[i]), below=True), below[0], below[1]
        yield lambda i: _tail(projection, float(cuts[i]), below=False), above[0], above[1]


def _cuts(one: Floats, other: Floats) -> tuple[Floats, list[float]]:
    """Where to cut: at all values if they are few, else at quantiles of each, tails included."""
    values, times = np.unique(np.concatenate([one, other]), return_counts=True)
    again = np.argsort(-times, kind="stable")[:ATOMS]
    atoms = [float(values[i]) for i in again if times[i] > 1 and len(values) > 1]
    if len(values) <= 2 * CUTS:
        return values, atoms
    tails = np.logspace(-5, -1, CUTS // 4)
    shares = np.concatenate([tails, np.linspace(0.1, 0.9, CUTS // 2), 1 - tails])
    parts = [np.quantile(side, shares, method="lower") for side in (one, other) if len(side)]
    return np.unique(np.concatenate(parts)), atoms


def _tail(projection: Projection, cut: float, below: bool) -> Event:
    def hits(sample: Sample) -> Hits:
        values, present = projection.of(sample)
        return present & (values <= cut if below else values > cut)

    return Event(f"{projection.text} {'<=' if below else '>'} {cut:.6g}", hits)


def _is_nan(projection: Projection) -> Event:
    def hits(sample: Sample) -> Hits:
        values, present = projection.of(sample)
        return np.asarray(present & np.isnan(values))

    return Event(f"{projection.text} is NaN", hits)


def _equals(projection: Projection, value: float) -> Event:
    def hits(sample: Sample) -> Hits:
        values, present = projection.of(sample)
        return np.asarray(present & (values == value))

    return Event(f"{projection.text} == {value:.6g}", hits)
