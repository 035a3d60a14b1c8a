"""The interface of mechanisms, which turn exact integers into private answers.

Each mechanism is calibrated from an exact sensitivity and an exact privacy loss, states the loss
that it really has, and knows its accuracy from public facts alone.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from ...dataclasses import dataclass
from ..accounting.losses import Loss
from ..accounting.measures import Measure


@dataclass(frozen=True)
class Sensitivity:
    """The most that one unit, added or removed, moves a vector of integers: in ℓ1, in ℓ2 (squared)
    and in ℓ∞; and whether it moves all of them the same way."""

    l1: int
    l2_squared: int
    linf: int
    monotone: bool


class ReleaseThreshold(NamedTuple):
    """From which noisy number on something is released."""

    least: int
    of: str  # what is counted with noise: "count", or the "distance" to a change

    def __str__(self) -> str:
        return f"released if its noisy {self.of} is at least {self.least:,}"


class Mechanism(Protocol):
    """Turns something exact into something that may be released."""

    @property
    def name(self) -> str:
        """Its name in the ledger."""

    @property
    def word(self) -> str:
        """What ``mechanism=`` calls it; "" if a caller can't name it."""

    @property
    def scale(self) -> Fraction:
        """The width of its noise, for display."""

    def release(self, exact: Any) -> list[int]:
        """A private output for an exact input."""

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """The exact loss of one release, in the measure of a session."""

    def dummy_output(self, size: int) -> list[int]:
        """A possible output of `release` that no data went into: audits show it in place of one."""
