"""The noise of several releases of the same integers, combined with public weights.

From noisy integers Yᵢ = y + Zᵢ the combination is X = ΣwᵢYᵢ, with weights near the inverse
variances. Its noise is ΣwᵢZᵢ, and public facts decide its law. A tail of that law is bounded from
above by sums over a lattice, where each noise is moved up to the next lattice point (proof:
docs/proofs/combining.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...errors import QueryError
from ..mechanisms.noise import DiscreteGaussian, DiscreteLaplace, chernoff
from ..record_parts import RecordPart

Floats = npt.NDArray[np.float64]
Additive = DiscreteLaplace | DiscreteGaussian

CONFIDENCE = 0.95
#: The weight of the heaviest release. The others are rounded to whole numbers in proportion.
HEAVIEST = 2**16
#: Lattice points on either side of 0: where one noise is on the lattice, and where several are.
FINE, COARSE = 2**13, 2**11
#: Above this σ tails are bounded by integrals, which are then as tight as sums.
SUMMED = 1000
#: Allowances for rounding: more than all floating-point errors together, and than exp's underflow.
SLACK, TINY = 1e-6, 1e-280


def is_additive(law: object) -> bool:
    """Whether a law is plain noise on each integer, and not one derived from it."""
    return type(law) in (DiscreteLaplace, DiscreteGaussian)


def variance(law: Additive) -> float:
    """The variance of a noise, to float precision.

    For Laplace noise 2a/(1-a)² = 1/(2 sinh²(1/(2·scale))) with a = exp(-1/scale). For the discrete
    Gaussian σ², or the exact sum where σ is small.
    """
    if not law.scale:
        return 0.0
    if isinstance(law, DiscreteLaplace):
        return max(0.5 / math.sinh(min(300.0, 0.5 / float(law.scale))) ** 2, TINY)
    sigma2 = float(law.sigma2)
    if sigma2 > 10:
        return sigma2
    weights = [math.exp(-z * z / (2 * sigma2)) for z in range(1, 60)]
    squares = sum(2 * z * z * weight for z, weight in enumerate(weights, 1))
    return max(squares / (1 + 2 * sum(weights)), TINY)


def variance_of(law: Any) -> float:
    """The variance of a noise, or of several that are combined."""
    return float(law.variance) if isinstance(law, CombinedNoise) else variance(law)


@dataclass(frozen=True)
class CombinedNoise(RecordPart):
    """The law of a weighted mean of independent noises, with whole weights.

    With ``whole`` the mean is rounded to a whole number, as for counts.
    """

    laws: tuple[Additive, ...]
    weights: tuple[int, ...]
    whole: bool

    @classmethod
    def of(cls, laws: Sequence[Additive], whole: bool, entries: int) -> CombinedNoise:
        """Weights by inverse variance; or the most accurate release alone, where its half-width for
        all entries at 95 % is smaller. Public facts decide."""
        variances = [variance(law) for law in laws]
        least = min(variances)
        if not least:
            return cls._of(laws, [int(not v) for v in variances], whole)
        joined = cls._of(laws, [round(HEAVIEST * least / v) for v in variances], whole)
        alone = [law.half_width(CONFIDENCE, entries) for law in laws]
        if joined.half_width(CONFIDENCE, entries) <= min(alone):
            return joined
        best = alone.index(min(alone))
        return cls._of(laws, [int(i == best) for i in range(len(laws))], whole)

    @classmethod
    def _of(cls, laws: Sequence[Additive], weights: Sequence[int], whole: bool) -> CombinedNoise:
        common = math.gcd(*weights)
        return cls(tuple(laws), tuple(weight // common for weight in weights), whole)

    @property
    def name(self) -> str:
        return f"{len(self.laws)} releases combined"

    @property
    def scale(self) -> Fraction:
        """The standard deviation of the combined noise, for display."""
        return Fraction(math.sqrt(self.variance))

    @property
    def variance(self) -> float:
        """The variance of the combined noise before rounding to whole numbers, as a float."""
        pairs = zip(self.laws, self.weights, strict=True)
        total = sum(self.weights)
        return sum((weight / total) ** 2 * variance(law) for law, weight in pairs)

    @property
    def parts(self) -> list[tuple[Additive, float]]:
        """The noises that are combined, with their shares."""
        total = sum(self.weights)
        return [(law, w / total) for law, w in zip(self.laws, self.weights, strict=True) if w]

    def join(self, noisy: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        """The weighted means of noisy integers: exact fractions, or the nearest whole numbers."""
        total = sum(self.weights)
        means = (
            Fraction(sum(w * int(y) for w, y in zip(self.weights, entry, strict=True)), total)
            for entry in zip(*noisy, strict=True)
        )
        return tuple(round(mean) if self.whole else mean for mean in means)

    def half_width(self, confidence: float, entries: int = 1) -> int:
        """A w near the least with P[all of `entries` combined noises within ±w] ≥ confidence."""
        return _half_width(self, confidence, entries)

    def risk(self, risk: float) -> float:
        """How much of a risk may be spent on an interval by this law."""
        return risk

    @property
    def holds(self) -> str:
        """The condition for errors and intervals: answers must not have decided which releases are
        combined or what each cost, and so the weights."""
        return "its interval holds if the releases and their losses were fixed beforehand"

    def half_width_of_sum(self, risk: float, terms: int) -> int:
        """A w with P[the sum of `terms` combined noises is beyond ±w] ≤ risk, by Chernoff's bound.
        Each rounding to a whole number moves the sum by at most a half."""
        if not self.variance:
            return 0
        risk, parts = self.risk(risk), self.parts
        widths = [float(e.scale) * w for e, w in parts if isinstance(e, DiscreteLaplace)]
        normal = 10 * math.sqrt(2 * math.log(2 / risk) / self.variance)
        found = chernoff(
            lambda t: sum(law.log_moment(t * w) for law, w in parts),
            1 / max(widths) if widths else normal, terms, risk,
        )  # fmt: skip
        return found + (terms // 2 if self.whole else 0)


@dataclass(frozen=True)
class NoiseAtLook(CombinedNoise):
    """The law of the first `number` of some looks combined, read at a confidence of its own.

    Look j gets a share of the risk proportional to 1/(j(j+1)). All shares add up to 1, and at least
    half goes to the first look, which is expected to be enough. So the intervals of all looks hold
    together, and with them that of the last look, however it is chosen.
    """

    number: int = 1
    looks: int = 1

    @classmethod
    def after(cls, laws: Sequence[Additive], whole: bool, entries: int, looks: int) -> NoiseAtLook:
        """The law after as many looks as there are laws, out of ``looks``."""
        joint = CombinedNoise.of(laws, whole, entries)
        return cls(joint.laws, joint.weights, whole, len(laws), looks)

    @property
    def name(self) -> str:
        return f"look {self.number} of at most {self.looks}"

    @property
    def holds(self) -> str:
        return (
            "its interval holds at whichever look it ended: the loss and the confidence of each "
            "look were fixed before the first"
        )

    @property
    def share(self) -> Fraction:
        """This look's share of the risk."""
        return Fraction(self.looks + 1, self.looks * self.number * (self.number + 1))

    def half_width(self, confidence: float, entries: int = 1) -> int:
        return super().half_width(self._surer(confidence), entries)

    def risk(self, risk: float) -> float:
        """This look's share of a risk, rounded down."""
        return risk * float(self.share) * (1 - 2.0**-50)

    def _surer(self, confidence: float) -> float:
        """The confidence at which this look alone is read, rounded up."""
        if self.share == 1:
            return confidence
        found = math.nextafter(1 - self.risk(1 - confidence), 1.0)
        if found >= 1:
            raise QueryError(f"confidence={confidence!r} is too near to 1 for {self.name}.")
        return found


# --- tails ----------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _half_width(joint: CombinedNoise, confidence: float, entries: int) -> int:
    parts = [(law, w) for law, w in zip(joint.laws, joint.weights, strict=True) if w]
    if len(parts) == 1 or not joint.variance:
        return parts[0][0].half_width(confidence, entries)
    beta = -math.expm1(math.log(confidence) / entries)
    total = sum(joint.weights)
    tail = SumTail(parts, math.sqrt(joint.variance) * total, beta)

    def enough(w: int) -> bool:
        # From here on |ΣwZ| is too large. Halves count as too large: they may be rounded up.
        first = -(-total * (2 * w + 1) // 2) if joint.whole else total * w + 1
        return 2 * tail.from_(first) * (1 + SLACK) + TINY <= beta

    high = max(1, round(2 * math.sqrt(joint.variance)))
    low = -1
    while not enough(high):
        low, high = high, 2 * high
    while high - low > max(1, high >> 12):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@lru_cache(maxsize=4096)
def half_width_of_weighted(parts: tuple[tuple[Additive, int, int], ...], risk: float) -> int:
    """The least w, nearly, with P[ΣWᵢZᵢ > w] ≤ risk, for noises with whole weights that aren't
    negative, and how many there are of each."""
    each = [(law, w) for law, w, times in parts if w and law.scale for _ in range(times)]
    if not each:
        return 0
    deviation = math.sqrt(sum(variance(law) * w**2 for law, w in each))
    tail = SumTail(each, deviation, risk)
    low, high = -1, math.ceil(2 * deviation)
    while not tail.is_rare(high, risk):
        low, high = high, 2 * high
    while high - low > max(1, high >> 10):
        middle = (low + high) // 2
        low, high = (low, middle) if tail.is_rare(middle, risk) else (middle, high)
    return high


class SumTail:
    """Upper bounds of P[ΣWᵢZᵢ ≥ x], for whole weights and x > 0.

    All noises but the widest are moved up to the next multiple of a step and added up there. The
    widest enters with its own tail. What lies beyond the lattice counts as beyond x.
    """

    def __init__(
        self, parts: Sequence[tuple[Additive, int]], deviation: float, beta: float
    ) -> None:
        order = sorted(parts, key=lambda part: variance(part[0]) * part[1] ** 2)
        self._last, self._weight = order.pop()
        self._points = FINE if len(order) == 1 else COARSE
        reach = deviation * (8 - math.log(beta))  # less than β/1000 lies beyond
        self._step = max(1, math.ceil(reach / self._points))
        self._law: Floats = np.zeros(2 * self._points + 1)
        self._law[self._points] = 1.0
        self._beyond = 0.0
        for (law, weight), times in Counter(order).items():
            self._add(law, weight, times)

    def _add(self, law: Additive, weight: int, times: int) -> None:
        """Add `times` noises of one law, by repeated doubling."""
        power = self._moved(law, weight)
        while times:
            if times & 1:
                self._law, self._beyond = self._sum((self._law, self._beyond), power)
            times >>= 1
            if times:
                power = self._sum(power, power)

    def _moved(self, law: Additive, weight: int) -> tuple[Floats, float]:
        """The law of U = ⌈WZ/step⌉, P[U > k] = P[Z ≥ ⌊k·step/W⌋ + 1], and the mass beyond it."""
        n = self._points
        firsts = [k * self._step // weight + 1 for k in range(-n, n + 1)]
        above = np.minimum.accumulate(tails(law, firsts))
        return -np.diff(np.concatenate([[1.0], above])), float(above[-1])

    def _sum(self, one: tuple[Floats, float], other: tuple[Floats, float]) -> tuple[Floats, float]:
        """The law of two independent sums added. Mass below the lattice moves up to its end."""
        (a, beyond_a), (b, beyond_b) = one, other
        n = self._points
        if np.count_nonzero(a) == 1 and a[n] == 1.0:  # nothing has been added yet
            return other
        both = np.convolve(a, b)  # from -2n to 2n
        kept = both[n : 3 * n + 1].copy()
        kept[0] += both[:n].sum()
        return kept, beyond_a + beyond_b + float(both[3 * n + 1 :].sum())

    def is_rare(self, width: int, risk: float) -> bool:
        """Whether more than a width has at most this probability."""
        return self.from_(width + 1) * (1 + SLACK) + TINY <= risk

    def from_(self, x: int) -> float:
        """At least P[ΣWᵢZᵢ ≥ x]."""
        n = self._points
        firsts = [-((k * self._step - x) // self._weight) for k in range(-n, n + 1)]
        return float(self._law @ tails(self._last, firsts)) + self._beyond


def tails(law: Additive, firsts: Sequence[int]) -> Floats:
    """At least P[Z ≥ m] for each m, to float precision; for m ≤ 0 by 1 - P[Z ≥ 1-m]."""
    sizes = np.array([m if m > 0 else 1 - m for m in firsts], dtype=np.float64)
    low, high = _laplace(law, sizes) if isinstance(law, DiscreteLaplace) else _gaussian(law, sizes)
    positive = np.array([m > 0 for m in firsts])
    return np.where(positive, high, 1.0 - low)


def _laplace(law: DiscreteLaplace, sizes: Floats) -> tuple[Floats, Floats]:
    """Lower and upper bounds of P[Z ≥ m] = a^m/(1+a)."""
    rate = 1 / float(law.scale)
    found = np.exp(-rate * sizes) / (1 + math.exp(-rate))
    return found * (1 - 1e-9), found * (1 + 1e-9)


def _gaussian(law: DiscreteGaussian, sizes: Floats) -> tuple[Floats, Floats]:
    """Lower and upper bounds of P[Z ≥ m]: sums of exp(-z²/2σ²).

    Where these are long, ∫_m^∞ from below, and that and one term from above, both over
    σ√(2π) ≤ Σ_z exp(-z²/2σ²), which is larger by a factor of at most 1 + 1e-9.
    """
    sigma = math.sqrt(law.sigma2)
    if sigma > SUMMED:
        beyond = np.array([0.5 * math.erfc(m / (sigma * math.sqrt(2))) for m in sizes.tolist()])
        term = np.exp(-0.5 * (sizes / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
        return beyond * (1 - 1e-8), (beyond + term) * (1 + 1e-9)
    last = math.ceil(40 * sigma) + 2
    weights = np.exp(-0.5 * (np.arange(last + 1) / sigma) ** 2)
    sums = np.cumsum(weights[::-1])[::-1]
    known = sums / (2 * sums[0] - weights[0])
    found = known[np.minimum(sizes, last).astype(np.int64)]
    return np.where(sizes > last, 0.0, found * (1 - 1e-9)), found * (1 + 1e-9)
