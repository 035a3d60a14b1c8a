"""What a test of blocks spends and finds: `dp.stats.blockwise`.

    python benchmarks/inference_blocks.py [--quick]

The level that a test at 5 % spends by the exact law of its noise; what a block test that isn't
exact does to it; and power, of samples that are dealt to blocks at random, given the exact law of
the noise. ``--quick`` takes a tenth of the samples.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from dppandas.privacy.accuracy import significance  # noqa: E402
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace  # noqa: E402

Floats = npt.NDArray[np.float64]
Row = tuple[str, float, str]
Test = Callable[[Floats, Floats], float]

LAW = DiscreteLaplace(Fraction(1))
#: Blocks and their level, and what F12 of the theory says is spent of 5 % at ε = 1.
SPENT = {(10, 0.1): 0.024, (20, 0.25): 0.032, (40, 0.3): 0.045}
#: Samples of a skewed law in a block, and how many of them; of samples for power.
SKEWED, BLOCK, SAMPLES, UNITS = 40_000, 12, 400, 1_000
#: The sizes of a t-test on these and of the test of blocks, by the theory; how far off they may be.
SIZES, NEAR = (0.31, 0.61), 0.05


def critical(blocks: int, level: float, law: Any = LAW) -> int:
    """The least noisy number of blocks with a p-value of at most 5 %."""
    found = (t for t in range(-1, 10**6) if significance.pvalue(t, blocks, level, law) <= 0.05)
    return next(found)


def spent(blocks: int, level: float, law: Any = LAW) -> float:
    """How much of 5 % a test spends, if each block is significant at just its level."""
    return significance.pvalue(critical(blocks, level, law), blocks, level, law)


def skewed(samples: int, generator: np.random.Generator) -> float:
    """The size of a t-test at 10 %, on twelve values of a lognormal law with σ = 1.5."""
    values = generator.lognormal(0, 1.5, (samples, BLOCK))
    found = stats.ttest_1samp(values, np.exp(1.5**2 / 2), axis=1).pvalue
    return float((found <= 0.1).mean())


def significant(
    units: int, blocks: int, effect: float, test: Test, level: float, generator: np.random.Generator
) -> int:
    """In how many blocks a test finds a shift between two arms of normal values."""
    where, arm = generator.integers(0, blocks, units), np.arange(units) % 2 == 1
    values = generator.normal(size=units) + effect * arm
    found = 0
    for block in range(blocks):
        one, other = values[(where == block) & arm], values[(where == block) & ~arm]
        if len(one) and len(other):
            found += test(one, other) <= level * (1 + 2.0**-30)
    return found


def power(
    units: int, blocks: int, effect: float, test: Test, samples: int, level: float | None = None
) -> float:
    """How often the test of blocks finds the shift at 5 %, ε = 1."""
    generator = np.random.default_rng(units + blocks)
    chosen = significance.best_level(blocks, LAW) if level is None else level
    least = critical(blocks, chosen)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        each = [significant(units, blocks, effect, test, chosen, generator) for _ in range(samples)]
    # of so many of so many blocks, exactly
    return float(np.mean([significance.pvalue(least - t, 1, 0.0, LAW) for t in each]))


def by_ranks(one: Floats, other: Floats) -> float:
    return float(stats.mannwhitneyu(one, other, method="exact").pvalue)


def by_means(one: Floats, other: Floats) -> float:
    return float(stats.ttest_ind(one, other).pvalue)


def rows(share: float = 1.0) -> list[Row]:
    """What was measured, the figure, and what it is to be."""
    found: list[Row] = [
        (f"level spent of .05 by {m} blocks at {level}, ε = 1", spent(m, level), f"{told:.3f}")
        for (m, level), told in SPENT.items()
    ]
    for m in (10, 20, 40, 80):
        for law, said in ((LAW, "ε = 1"), (DiscreteGaussian(Fraction(2)), "ρ = 1/4")):
            level = significance.best_level(m, law)
            what = f"level spent by {m} blocks at the best level, {level:g}, {said}"
            found.append((what, spent(m, level, law), "at most .05"))
    size = skewed(round(SKEWED * share), np.random.default_rng(12))
    least = critical(20, 0.1)
    blocks = significance.pvalue(least, 20, size, LAW)
    skew = "of twelve lognormal values (σ = 1.5)"
    found.append((f"size at .1 of a t-test {skew}", size, f"{SIZES[0]:g}, not exact"))
    found.append((f"size at .05 of 20 blocks {skew}", blocks, f"{SIZES[1]:g}, not exact"))
    samples, arms = round(SAMPLES * share), f"{UNITS:,} units"
    for effect, told in ((0.5, ".97"), (0.2, ".15")):
        what = f"power by t, {arms}, {effect} sd, 10 blocks at .1"
        found.append((what, power(UNITS, 10, effect, by_means, samples, 0.1), told))
        for m in (10, 20, 40):
            what = f"power by ranks, {arms}, {effect} sd, {m} blocks at the best level"
            found.append((what, power(UNITS, m, effect, by_ranks, samples), "reported"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="What a test of blocks spends and finds.")
    parser.add_argument("--quick", action="store_true")
    for what, figure, target in rows(0.1 if parser.parse_args().quick else 1.0):
        print(f"{figure:6.3f}  {what}  ({target})")


if __name__ == "__main__":
    main()
