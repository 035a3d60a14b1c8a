"""A loss divided: exact shares, which add up to the whole."""

from __future__ import annotations

from fractions import Fraction

from ...dataclasses import dataclass
from .losses import Delta, Epsilon, Loss, Rho, parse_budget, parse_delta, parse_rho


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
        parts = vars(self).values()
        return SharedLoss(*(None if x is None else type(x)(x * share) for x in parts))

    @property
    def loss(self) -> Loss:
        """This share as a `Loss`."""
        return Loss(**{name: part for name, part in vars(self).items() if part is not None})

    def __str__(self) -> str:
        return str(self.loss)
