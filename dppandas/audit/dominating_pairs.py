"""The distribution of the privacy loss between two neighbours: a law for each kind of noise."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from ..dataclasses import dataclass
from ..privacy.accounting import conversions, gaussian
from ..privacy.accounting.enclosures import Enclosure, normal_tail, pi, tight

#: About the most atoms of a distribution.
ATOMS = 2000
#: Above this σ, sums are long, and floats can't tell them from the normal distribution.
WIDE = 10**5
_PLACES = 18


class Law:
    """The distribution of the privacy loss between two neighbours, by its tails.

    ``epsilon`` is the largest loss; None if it is unbounded.
    """

    epsilon: Fraction | None = None
    #: What the neighbours are, in words.
    said: str = ""

    def beyond(self, epsilon: Fraction, digits: int) -> Enclosure:
        """P[L > ε]."""
        raise NotImplementedError

    def delta(self, epsilon: Fraction, digits: int) -> Enclosure:
        """δ(ε)."""
        raise NotImplementedError

    def atoms(self) -> dict[float, float] | None:
        """All losses with their probabilities, if there are few."""
        return None

    def reach(self) -> float:
        """A loss that is hardly ever exceeded."""
        return float(self.epsilon or 1)

    def digits(self, epsilon: Fraction) -> int | None:
        """The digits that make an enclosure as tight as it gets; None if more are tighter."""
        return None

    def tails(self, losses: list[float]) -> list[float]:
        """P[L > loss] for each loss, to float precision."""
        return [self.above(self.beyond, Fraction(loss)) for loss in losses]

    def above(self, formula: Callable[[Fraction, int], Enclosure], epsilon: Fraction) -> float:
        """A float that is no less than a probability at ε: the least such one, or the next."""
        at, fixed = partial(formula, epsilon), self.digits(epsilon)
        found = (at(fixed) if fixed else tight(at, _PLACES)).high
        if found <= 0:
            return 0.0
        near = float(found)
        below = Fraction(near) < Fraction(found) if near > 1e-300 else True
        return min(1.0, math.nextafter(near, math.inf) if below else near)


@dataclass(frozen=True)
class LaplaceLaw(Law):
    """Discrete Laplace noise on a number that is shifted by a whole number of steps."""

    scale: Fraction
    shift: int

    @property
    def epsilon(self) -> Fraction:  # type: ignore[override]
        return self.shift / self.scale

    @property
    def said(self) -> str:  # type: ignore[override]
        scale = briefly(self.scale)
        return f"discrete Laplace noise of scale {scale}, one number moved by {self.shift:,}"

    def _below(self, m: int, digits: int) -> Enclosure:
        """P[Z ≤ m] = a^-m/(1+a) below 0, else 1 - a^(m+1)/(1+a)."""
        rate = 1 / self.scale
        whole = Enclosure.of(-rate, digits).exp() + 1
        if m < 0:
            return Enclosure.of(m * rate, digits).exp() / whole
        return -(Enclosure.of(-(m + 1) * rate, digits).exp() / whole) + 1

    def _last(self, epsilon: Fraction) -> int:
        """The largest z with a loss above ε: (Δ - 2z)/b > ε, of losses from -Δ/b to Δ/b."""
        return math.ceil((self.shift - epsilon * self.scale) / 2) - 1

    def beyond(self, epsilon: Fraction, digits: int) -> Enclosure:
        if epsilon >= self.epsilon:
            return Enclosure.of(0, digits)
        if epsilon < -self.epsilon:
            return Enclosure.of(1, digits)
        return self._below(self._last(epsilon), digits)

    def delta(self, epsilon: Fraction, digits: int) -> Enclosure:
        if epsilon >= self.epsilon:
            return Enclosure.of(0, digits)
        if epsilon < -self.epsilon:
            return -Enclosure.of(epsilon, digits).exp() + 1
        last = self._last(epsilon)
        beyond = Enclosure.of(epsilon, digits).exp() * self._below(last - self.shift, digits)
        return self._below(last, digits) - beyond

    def atoms(self) -> dict[float, float] | None:
        if self.shift > ATOMS:
            return None
        found, digits = {}, 50
        for z in range(self.shift + 1):
            loss = (self.shift - 2 * z) / self.scale
            low = self._below(z - 1, digits) if z else Enclosure.of(0, digits)
            high = self._below(z, digits) if z < self.shift else Enclosure.of(1, digits)
            found[float(loss)] = _middle(high - low)
        return found


_tail = lru_cache(maxsize=4096)(gaussian.discrete_gaussian_tail)


@dataclass(frozen=True)
class GaussianLaw(Law):
    """Discrete Gaussian noise on a number that is shifted by a whole number of steps."""

    sigma2: Fraction
    shift: int

    @property
    def said(self) -> str:  # type: ignore[override]
        sigma = math.sqrt(self.sigma2)
        return f"discrete Gaussian noise of σ = {sigma:.6g}, one number moved by {self.shift:,}"

    def _first(self, epsilon: Fraction) -> int:
        """The least noise with a loss above ε, on its own side: L = (Δ² + 2zΔ)/(2σ²) > ε."""
        return math.floor(epsilon * self.sigma2 / self.shift - Fraction(self.shift, 2)) + 1

    def digits(self, epsilon: Fraction) -> int | None:
        """Far out, x²/2 of the digits (in powers of e) cancel, at x standard deviations."""
        if self.sigma2 <= gaussian.SUMMED:
            return None
        far = abs(self._first(epsilon)) + self.shift
        return min(conversions.LARGE_DIGITS, 64 + math.ceil(Fraction(far * far) / self.sigma2 / 4))

    def tails(self, losses: list[float]) -> list[float]:
        """By sums unless they are too long, then by the normal distribution, off by 1/(24σ²)."""
        firsts = [self._first(Fraction(loss)) for loss in losses]
        sigma = math.sqrt(self.sigma2)
        if sigma > WIDE:
            return [math.erfc((m - 0.5) / sigma / math.sqrt(2)) / 2 for m in firsts]
        far = math.ceil(10 * sigma) + 1
        z = np.arange(far, -far - 1, -1, dtype="float64")
        sums = np.cumsum(np.exp(-z * z / (2 * float(self.sigma2))))  # from the far end
        places = [min(max(far - m, -1), 2 * far) for m in firsts]
        return [float(sums[i] / sums[-1]) if i >= 0 else 0.0 for i in places]

    def beyond(self, epsilon: Fraction, digits: int) -> Enclosure:
        return _tail(self.sigma2, self._first(epsilon), digits)

    def delta(self, epsilon: Fraction, digits: int) -> Enclosure:
        m = self._first(epsilon)
        here, far = (_tail(self.sigma2, k, digits) for k in (m, m + self.shift))
        return here - Enclosure.of(epsilon, digits).exp() * far

    def reach(self) -> float:
        mu = self.shift / math.sqrt(self.sigma2)
        return mu * mu / 2 + 8.5 * mu

    def atoms(self) -> dict[float, float] | None:
        far = math.ceil(8.5 * math.sqrt(self.sigma2)) + 1
        if 2 * far + 1 > ATOMS:
            return None
        # farther out lies less than 1e-16
        weights = {z: math.exp(-z * z / (2 * float(self.sigma2))) for z in range(-far, far + 1)}
        whole = math.fsum(weights.values())
        d = self.shift
        return {
            float(Fraction(d * d - 2 * z * d) / (2 * self.sigma2)): weight / whole
            for z, weight in weights.items()
        }


@dataclass(frozen=True)
class ResponseLaw(Law):
    """Randomised response with ``keys`` possible answers, which with probability ``revealed``
    (δ) gives the true one outright.

    With two answers, no (ε, δ)-private mechanism has a larger loss: it bounds them all.
    """

    most: Fraction
    revealed: Fraction = Fraction(0)
    keys: int = 2
    of: str = ""

    @property
    def epsilon(self) -> Fraction | None:  # type: ignore[override]
        return None if self.revealed else self.most

    @property
    def said(self) -> str:  # type: ignore[override]
        return self.of or f"randomised response of {self.keys} answers at ε = {briefly(self.most)}"

    def _answers(self, digits: int) -> list[tuple[Fraction, Enclosure, Enclosure]]:
        """The losses of the answers that may be false, with their chances for both neighbours: of
        the true answer of one, of those that are true of neither, and of that of the other."""
        e, left = Enclosure.of(self.most, digits).exp(), 1 - self.revealed
        whole = e + (self.keys - 1)
        true, other = e / whole * left, Enclosure.of(left, digits) / whole
        rest = other * (self.keys - 2)
        return [(self.most, true, other), (Fraction(0), rest, rest), (-self.most, other, true)]

    def beyond(self, epsilon: Fraction, digits: int) -> Enclosure:
        chances = [here for loss, here, _ in self._answers(digits) if epsilon < loss]
        return sum(chances, Enclosure.of(self.revealed, digits))

    def delta(self, epsilon: Fraction, digits: int) -> Enclosure:
        e, answers = Enclosure.of(epsilon, digits).exp(), self._answers(digits)
        gains = [here - e * there for loss, here, there in answers if epsilon < loss]
        return sum(gains, Enclosure.of(self.revealed, digits))

    def atoms(self) -> dict[float, float]:
        found = defaultdict(float, {math.inf: float(self.revealed)})
        for loss, here, _ in self._answers(50):
            found[float(loss)] += _middle(here)
        return {loss: probability for loss, probability in found.items() if probability}

    def reach(self) -> float:
        return float(self.most)


@dataclass(frozen=True)
class ContinuousGaussianLaw(Law):
    """Gaussian noise on a real number, Δ/σ = √mu2. For comparison; dppandas never draws it."""

    mu2: Fraction

    @property
    def said(self) -> str:  # type: ignore[override]
        return f"continuous Gaussian noise, moved by {math.sqrt(self.mu2):.6g} σ (not drawn here)"

    def _tail(self, epsilon: Fraction, sign: int, digits: int) -> Enclosure:
        """P[N > ε/μ ± μ/2]."""
        mu = Enclosure.of(self.mu2, digits).sqrt()
        at = Enclosure.of(epsilon, digits) / mu + mu * Fraction(sign, 2)
        return normal_tail(at) / (pi(digits) * 2).sqrt()

    def beyond(self, epsilon: Fraction, digits: int) -> Enclosure:
        return self._tail(epsilon, -1, digits)

    def tails(self, losses: list[float]) -> list[float]:
        mu = math.sqrt(self.mu2)
        return [math.erfc((loss / mu - mu / 2) / math.sqrt(2)) / 2 for loss in losses]

    def delta(self, epsilon: Fraction, digits: int) -> Enclosure:
        far = Enclosure.of(epsilon, digits).exp() * self._tail(epsilon, 1, digits)
        return self._tail(epsilon, -1, digits) - far

    def reach(self) -> float:
        mu = math.sqrt(self.mu2)
        return mu * mu / 2 + 8.5 * mu


@dataclass(frozen=True)
class ContinuousLaplaceLaw(Law):
    """Laplace noise on a real number. For comparison; dppandas never draws it."""

    most: Fraction

    @property
    def epsilon(self) -> Fraction:  # type: ignore[override]
        return self.most

    @property
    def said(self) -> str:  # type: ignore[override]
        return f"continuous Laplace noise at ε = {briefly(self.most)} (not drawn here)"

    def beyond(self, epsilon: Fraction, digits: int) -> Enclosure:
        """L = (|z - Δ| - |z|)/b > ε where z < (Δ - εb)/2."""
        if epsilon >= self.most:
            return Enclosure.of(0, digits)
        if epsilon < -self.most:
            return Enclosure.of(1, digits)
        return -(Enclosure.of((epsilon - self.most) / 2, digits).exp() / 2) + 1

    def delta(self, epsilon: Fraction, digits: int) -> Enclosure:
        """1 - e^((ε' - ε)/2) between -ε and ε."""
        if epsilon >= self.most:
            return Enclosure.of(0, digits)
        if epsilon < -self.most:
            return -Enclosure.of(epsilon, digits).exp() + 1
        return -Enclosure.of((epsilon - self.most) / 2, digits).exp() + 1


@dataclass(frozen=True)
class ConcentratedLaw(Law):
    """Any ρ-zCDP mechanism: a bound on δ only, because no single pair of neighbours attains it."""

    rho: Fraction
    of: str = ""

    @property
    def said(self) -> str:  # type: ignore[override]
        return self.of or f"whatever is ρ-zCDP for ρ = {briefly(self.rho)}"

    def delta(self, epsilon: Fraction, digits: int) -> Enclosure:
        if epsilon < 0:
            return Enclosure.of(1, digits)
        return Enclosure.of(conversions.delta_of(self.rho, epsilon), digits)

    def reach(self) -> float:
        return float(self.rho) + 2 * math.sqrt(float(self.rho) * math.log(1e12))


def briefly(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _middle(enclosure: Enclosure) -> float:
    return float((enclosure.low + enclosure.high) / 2)
