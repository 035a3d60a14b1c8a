"""The number that a plan leaves out: the least that is enough, to three digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...dataclasses import dataclass
from ...errors import QueryError
from ...privacy.accounting.losses import LARGEST, SMALLEST, Epsilon, Rho
from .designs import Design, Seen
from .draws import DRAWS, Draws, Loss

#: More rows are looked for nowhere.
MOST = 10**10
#: A number is found to so many digits, and the search ends at a hundredth of the last.
DIGITS, NEAR = 3, 2e-4
#: The ρ that Gaussian noise as wide as that of the smallest and the largest ε has.
RHOS = float(SMALLEST) ** 2 / 2, float(LARGEST) ** 2 / 2


@dataclass(frozen=True)
class Plan:
    """A test with all numbers that it takes."""

    design: Design
    rows: int
    effect: float
    loss: Loss
    draws: int = DRAWS

    @cached_property
    def seen(self) -> Seen:
        return self.design.seen(self.rows, self.effect, Draws(self.loss, self.draws))

    @property
    def power(self) -> float:
        return float(np.mean(self.seen.rejects))

    @property
    def half_width(self) -> float:
        """Of the test's confidence interval, in half of all releases at most; NaN without one."""
        return math.nan if self.seen.half_width is None else float(np.median(self.seen.half_width))


#: Whether a plan is enough.
Enough = Callable[[Plan], bool]


def least_rows(design: Design, effect: float, loss: Loss, is_enough: Enough) -> int:
    """The fewest rows that are enough."""

    def at(rows: float) -> bool:
        return is_enough(Plan(design, math.ceil(rows), effect, loss))

    most = float(design.fewest)
    while not at(most):
        if most >= MOST:
            raise QueryError(
                f"not even {MOST:,} rows are enough. Plan for a larger effect, or for less."
            )
        most = min(2 * most, MOST)
    found = _least(at, max(most / 2, design.fewest), most) if most > design.fewest else most
    return max(math.ceil(_rounded_up(found)), design.fewest)


def least_loss(design: Design, rows: int, effect: float, name: str, is_enough: Enough) -> Loss:
    """The smallest loss that is enough."""
    low, high = RHOS if name == "rho" else (float(SMALLEST), float(LARGEST))

    def at(amount: float) -> Loss:
        exact = Fraction(_text(_rounded_up(amount)))
        return Loss(rho=Rho(exact)) if name == "rho" else Loss(epsilon=Epsilon(exact))

    def enough(amount: float) -> bool:
        return is_enough(Plan(design, rows, effect, at(amount)))

    if not enough(high):
        free = Plan(design, rows, effect, Loss())
        if is_enough(free):
            raise QueryError(f"no loss up to {name}={high:g} is enough. Plan for more rows.")
        raise QueryError(
            f"no {name}= is enough: {rows:,} rows wouldn't do without noise either, where the "
            f"power is {free.power:.2f}. Plan for more rows, or for a larger effect."
        )
    return at(_least(enough, low, high))


def least_effect(design: Design, rows: int, loss: Loss, is_enough: Enough) -> float:
    """The smallest effect that is detected; negative where the alternative is "less"."""
    sign, most = -1 if design.alternative == "less" else 1, design.largest()

    def at(effect: float) -> bool:
        return is_enough(Plan(design, rows, sign * effect, loss))

    if not at(most):
        raise QueryError(
            f"no effect is large enough: with the largest that there can be, {sign * most:.4g}, "
            f"the power is {Plan(design, rows, sign * most, loss).power:.2f}. Plan for more rows, "
            "or for a larger loss."
        )
    return sign * min(_rounded_up(_least(at, most * 1e-6, most), 4), most)


def _least(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    """The least number that is enough, where the high one is."""
    if is_enough(low):
        return low
    while high > low * (1 + NEAR):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _rounded_up(number: float, digits: int = DIGITS) -> float:
    step = 10.0 ** (math.floor(math.log10(number)) + 1 - digits)
    return float(f"{math.ceil(number / step * (1 - 1e-9)) * step:.{digits}g}")


def _text(number: float) -> str:
    return f"{number:.{DIGITS}g}"
