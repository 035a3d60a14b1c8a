"""From one kind of loss to another."""

from __future__ import annotations

from fractions import Fraction


def rho_of_laplace(sensitivity: int, scale: Fraction) -> Fraction:
    raise NotImplementedError


def rho_of_pure(epsilon: Fraction) -> Fraction:
    raise NotImplementedError


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    raise NotImplementedError


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    raise NotImplementedError
