"""A loss divided: exact shares, which add up to the whole."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .losses import (
    NO_DELTA,
    NO_EPSILON,
    NO_RHO,
    Delta,
    Epsilon,
    Loss,
    Rho,
    parse_budget,
    parse_delta,
    parse_rho,
)


@dataclass(frozen=True)
class SharedLoss:
    """A loss to be divided; what isn't given is None."""

    epsilon: Epsilon | None = None
    delta: Delta | None = None
    rho: Rho | None = None

    @classmethod
    def parse(cls, epsilon: object, delta: object, rho: object) -> SharedLoss:
        """From arguments."""
        return cls(
            None if epsilon is None else parse_budget(epsilon),
            None if delta is None else parse_delta(delta),
            None if rho is None else parse_rho(rho),
        )

    def fraction(self, share: Fraction) -> SharedLoss:
        """An exact part of it."""
        return SharedLoss(
            None if self.epsilon is None else Epsilon(self.epsilon * share),
            None if self.delta is None else Delta(self.delta * share),
            None if self.rho is None else Rho(self.rho * share),
        )

    @property
    def loss(self) -> Loss:
        """The same as a loss."""
        return Loss(self.epsilon or NO_EPSILON, self.delta or NO_DELTA, self.rho or NO_RHO)

    def __str__(self) -> str:
        return str(self.loss)
