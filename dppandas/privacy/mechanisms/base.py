"""What turns integers into a private answer.

Each mechanism is calibrated from a sensitivity and a privacy loss, both exact, states the loss it
really has, and knows its accuracy from public facts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from ..accounting.losses import Loss
from ..accounting.measures import Measure


@dataclass(frozen=True)
class Sensitivity:
    """The most that one unit, added or removed, moves a vector of integers: in ℓ1, in ℓ2 (its
    square) and in ℓ∞; and whether all of them the same way."""

    l1: int
    l2_squared: int
    linf: int
    monotone: bool


class Mechanism(Protocol):
    """Turns what is exact into what may be told."""

    @property
    def name(self) -> str:
        """What the ledger calls it."""
        ...

    @property
    def scale(self) -> Fraction:
        """The width of its noise, for people."""
        ...

    def release(self, exact: Any) -> list[int]:
        """Something private made of something exact."""
        ...

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """The exact loss of one release, in the measure of a session."""
        ...

    def dummy_output(self, size: int) -> list[int]:
        """What `release` could give, and made of nothing: for audits, which show nothing exact."""
        ...
