"""P-values by parametric Monte Carlo: the part of simulated statistics beyond the one seen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..rows.facts.units import whole_number

Floats = npt.NDArray[np.float64]
#: The fewest draws and the most.
FEWEST, MOST = 99, 10**6
#: So many numbers are simulated at once.
AT_ONCE = 2**20
#: Noise with at most this part of a variance isn't worth simulating: distributions are known
#: without it.
NIL = 1e-6


def in_percent(share: float) -> str:
    """A share in percent, with two digits, and never as 1e+02."""
    return f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.2g}"


def parse_resamples(number: object) -> int:
    """How many draws a p-value is made of."""
    return whole_number(number, "n_resamples", FEWEST, MOST)


def part_beyond(
    seen: Floats, simulated: Callable[[int], Floats], number: int, numbers_each: int
) -> Floats:
    """(1 + how many of so many simulated statistics are at least the one seen) / (1 + number): what
    was seen counts as one of them.

    simulated : makes some at once, along the first axis.
    numbers_each : how many numbers one of them takes to simulate.
    """
    beyond, left = np.ones(seen.shape), number
    most = max(1, AT_ONCE // numbers_each)
    while left:
        size = min(left, most)
        beyond += (simulated(size) >= seen).sum(axis=0)
        left -= size
    return np.asarray(beyond / (number + 1))


def resolution(pvalue: float, number: int) -> tuple[str, ...]:
    """A sentence where no draw was beyond what was seen."""
    if pvalue * (number + 1) > 1:
        return ()
    return (
        f"None of {number:,} draws was as large. No smaller p-value comes of so many; "
        "n_resamples= makes more.",
    )
