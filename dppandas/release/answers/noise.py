"""The law of the noise in an answer, with the names that scipy.stats has for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass, field
from ...errors import QueryError, RecordError, hide_internals, quoted
from ...privacy.accuracy.combined import CombinedNoise
from ...privacy.accuracy.laws import ROUNDED, NoiseLaw, PolynomialLaw, noise_of
from ...privacy.mechanisms.selection import Selection
from ...privacy.mechanisms.sensitivity_bounds import BoundedSensitivity
from ...privacy.mechanisms.smooth import PolyPlace
from ...privacy.mechanisms.thresholds import KeyedNoise, Threshold
from ...rows.figures import format_number
from ...rows.sentences import ShownInSentences
from ..accuracy import units
from ..accuracy.expected import CONFIDENCE, parse_confidence

Floats = npt.NDArray[np.float64]

_NOT_YET = (
    "this noise follows a bound of the sensitivity that is released with the answer. Release it, "
    "and ask for .noise then."
)

#: How far a number may be from a possible one, in steps, and as a share of itself: floats are no
#: nearer to multiples of a step.
NEAR, SHARE = 2.0**-30, 2.0**-50
#: By how much 1 - p may be off.
HALF_ULP = 2.0**-53


@dataclass(frozen=True, eq=False, repr=False)
class Noise(ShownInSentences):
    """The law of the noise in a number, in its unit: a frozen distribution as in scipy.stats.

    ``name`` is its name, ``unit`` what it is counted in, ``step`` the distance of possible values,
    and ``of`` says what it was added to, independently to each. Functions take a number or an
    array, and return a float or an array.

    The law is public. It has none of the answer, and nothing is charged.
    """

    name: str
    unit: str
    of: str
    step: float
    _law: NoiseLaw = field(repr=False)
    _scale: float = field(repr=False)

    @property
    def scale(self) -> float:
        """The scale of Laplace noise, or the σ of Gaussian noise, in the unit of the answer.

        Raises `RecordError` for smooth sensitivity, whose scale is private.
        """
        if isinstance(self._law, PolynomialLaw):
            raise RecordError(
                "the scale of this noise is private: it is a multiple of the smooth sensitivity, "
                "which depends on the rows. Only the shape of the law is public, in units of it."
            )
        return self._scale

    @hide_internals
    def pmf(self, x: Any) -> Any:
        """P[Z = x]; 0 between possible values."""
        return self._each(x, lambda z: np.where(_is_whole(z), self._density(np.rint(z)), 0.0), True)

    @hide_internals
    def logpmf(self, x: Any) -> Any:
        """The logarithm of `pmf`."""
        return self._each(
            x, lambda z: np.where(_is_whole(z), self._law.log_density(np.rint(z)), -math.inf), True
        )

    @hide_internals
    def pdf(self, x: Any) -> Any:
        """The density: the probability per unit of the answer. Of discrete noise it is that of the
        nearest possible value, as in a histogram with a bar for each."""
        near = np.rint if self._law.is_discrete else np.asarray
        return self._each(x, lambda z: self._density(near(z)) / self.step)

    @hide_internals
    def cdf(self, x: Any) -> Any:
        """P[Z ≤ x]."""
        return self._each(x, lambda z: self._above(-_down(z, self._law)))

    @hide_internals
    def sf(self, x: Any) -> Any:
        """P[Z > x]."""
        beyond = 1.0 if self._law.is_discrete else 0.0
        return self._each(x, lambda z: self._above(_down(z, self._law) + beyond))

    @hide_internals
    def ppf(self, q: Any) -> Any:
        """The least z with P[Z ≤ z] ≥ q."""
        return self._quantiles(q, is_upper=False)

    @hide_internals
    def isf(self, q: Any) -> Any:
        """The least z with P[Z > z] ≤ q."""
        return self._quantiles(q, is_upper=True)

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """The shortest (-z, z) with P[-z ≤ Z ≤ z] of at least this confidence. The errors of
        records hold for all numbers of an answer together, and are as large or larger."""
        reach = self._law.reach((1 - parse_confidence(confidence)) / 2) * self.step
        return -reach, reach

    def support(self) -> tuple[float, float]:
        """The least and the largest possible value."""
        return (-math.inf, math.inf) if self._law.variance else (0.0, 0.0)

    def mean(self) -> float:
        """0: no noise has a bias."""
        return 0.0

    def median(self) -> float:
        """0, as the law is symmetric."""
        return 0.0

    def var(self) -> float:
        """The variance, in the square of the unit."""
        return self._law.variance * self.step**2

    def std(self) -> float:
        """The standard deviation."""
        return math.sqrt(self._law.variance) * self.step

    def _sentences(self) -> list[str]:
        if isinstance(self._law, PolynomialLaw):
            return [f"<{self.name}: the shape of the noise of {self.of}, in units of {self.unit}>"]
        unit = self.unit if self.unit in units.ONE_BY_ONE else f"(in {self.unit})"
        steps = f"steps of {format_number(self.step)}" if self.step != 1 else "whole numbers"
        return [
            f"<{self.name} noise of {self.of}: scale {format_number(self._scale)} {unit}, {steps}>"
        ]

    def _density(self, steps: Floats) -> Floats:
        found: Floats = np.exp(self._law.log_density(steps))
        return found

    def _each(
        self, x: Any, function: Callable[[Floats], Floats], is_of_values: bool = False
    ) -> Any:
        """A function of the number of steps, at a number or at each of an array."""
        if is_of_values and not self._law.is_discrete:
            raise RecordError(
                "no single value of this noise has a probability: it is continuous. Ask for .pdf "
                "or .cdf."
            )
        steps = _numbers(x, "x") / self.step
        is_missing = np.isnan(steps)
        with np.errstate(invalid="ignore", over="ignore"):  # far out, and at infinite numbers
            found = np.where(is_missing, math.nan, function(np.where(is_missing, 0.0, steps)))
        return float(found) if found.ndim == 0 else found

    def _above(self, steps: Floats) -> Floats:
        """P[Z ≥ steps]. Tails are symmetric, and P[Z ≥ z] is 1 - P[Z ≥ 1-z] for whole numbers."""
        is_far = steps > 0
        other = 1.0 - steps if self._law.is_discrete else -steps
        tails = self._law.tail(np.where(is_far, steps, other))
        return np.where(is_far, tails, 1 - tails)

    def _quantiles(self, q: Any, is_upper: bool) -> Any:
        chances = _numbers(q, "q")
        found = np.array([self._quantile(p, is_upper) for p in chances.ravel().tolist()])
        found = found.reshape(chances.shape) * self.step + 0.0  # never -0.0
        return float(found) if found.ndim == 0 else found

    def _quantile(self, p: float, is_upper: bool) -> float:
        """In steps."""
        if not 0 <= p <= 1:
            return math.nan
        other = min(1 - p + HALF_ULP, 1.0) if 0 < p < 1 else 1 - p
        below, above = (other, p) if is_upper else (p, other)
        if (p <= 0.5) == is_upper or p == 0.5:
            return self._law.reach(min(above, 0.5))
        reach = self._law.reach(min(below, 0.5))
        # the largest z with P[Z ≥ z] ≥ below is the least with P[Z > z] ≤ below, or the next
        if not self._law.is_discrete or math.isinf(reach):
            return -reach
        tail = float(self._law.tail(np.array([reach + 1]))[0])
        return -(reach + (tail * ROUNDED >= below))


def _numbers(x: Any, name: str) -> Floats:
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise QueryError(f"{name}={quoted(x)} must be a number, or an array of numbers.") from None


def _is_whole(steps: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(np.abs(steps - np.rint(steps)) <= _near(steps)) & np.isfinite(steps)


def _near(steps: Floats) -> Floats:
    return np.asarray(NEAR + SHARE * np.abs(steps))


def _down(steps: Floats, law: NoiseLaw) -> Floats:
    """The possible value at a number or below it."""
    if not law.is_discrete:
        return steps
    return np.asarray(np.where(np.isinf(steps), steps, np.floor(steps + _near(steps))))


def of_record(record: Any) -> Any:
    """The law of the noise of a record; a dict by column if laws differ."""
    law = record._law
    if isinstance(law, BoundedSensitivity):
        if record.preview:
            raise RecordError(_NOT_YET)
        law = law.noise(record._noisy[0])
    found = noise_of(law)
    if found is None:
        raise RecordError(_why_none(law))
    if isinstance(law, PolyPlace):
        return Noise("smooth sensitivity", "the private scale", "the answer", 1.0, found, math.nan)
    name = law.values.name if isinstance(law, KeyedNoise) else law.name
    scale = float(law.scale)
    each = [
        Noise(name, unit, _added_to(record), step, found, scale * step)
        for step, unit in units.noise_steps(record._statistic, record._query.source.schema)
    ]
    if len({(noise.step, noise.unit) for noise in each}) == 1:
        return each[0]
    return dict(zip(record._statistic.errors.asked_columns, each, strict=True))


def _why_none(law: Any) -> str:
    if isinstance(law, CombinedNoise):
        return (
            "several releases were combined, each with a noise of its own. Ask for .noise of each "
            "of .components."
        )
    if isinstance(law, Selection):
        return (
            "no noise was added to this answer: a label was drawn by its score. Call .error() for "
            "how far below the best its score may lie."
        )
    return (
        f"no noise was added to the numbers of this answer ({law.name}): they were chosen with "
        "probabilities that depend on the rows. Call .errors() for how far they may be off."
    )


def _added_to(record: Any) -> str:
    """The numbers of the answer, if each is a noisy integer times its step."""
    if isinstance(record._law, Threshold):
        return "each count, before the threshold decides which are released"
    if isinstance(record._law, BoundedSensitivity):
        return "the answer"
    forms = record._forms if record._shown is None else ()
    if not forms or not all(form and not form.whole and len(form.part) == 1 for form in forms):
        return "each noisy number that the answer is computed from"
    return "the answer" if len(forms) == 1 else "each number of the answer"
