"""How often tests of noisy tables find what isn't there, and what is.

    python benchmarks/inference_tables.py [--draws 20000] [--grid]

Each draw is a table of units at random and noise of the law of a release at ε; the p-value is that
of `dppandas.stats`, from as many simulated tables as are enough to tell .05 and .01. Beside it
stands scipy's on the noisy counts, cut at 0, and on the exact ones. ``--grid`` measures the sizes
of all small tables at all ε, for docs/inference.md.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from dppandas.findings.simulation import Simulation  # noqa: E402
from dppandas.privacy.accuracy.combined import variance  # noqa: E402
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace  # noqa: E402
from dppandas.stats.noisy_fourfold import Fourfold  # noqa: E402
from dppandas.stats.simulated_tables import Fit, Independence, pvalue  # noqa: E402

Floats = npt.NDArray[np.float64]

LEVELS, RESAMPLES, DRAWS = (0.05, 0.01), 199, 20_000
#: Shares of rows and of columns, by name.
SHARES: dict[str, tuple[list[float], list[float]]] = {
    "2×2": ([0.5, 0.5], [0.5, 0.5]),
    "2×2 skewed": ([0.9, 0.1], [0.8, 0.2]),
    "2×2 rare": ([0.97, 0.03], [0.9, 0.1]),
    "3×4": ([1 / 3] * 3, [1 / 4] * 4),
    "3×4 skewed": ([0.7, 0.2, 0.1], [0.6, 0.2, 0.15, 0.05]),
    "5×5 skewed": ([0.6, 0.2, 0.1, 0.07, 0.03],) * 2,
    "1×4": ([1.0], [1 / 4] * 4),
    "1×6 skewed": ([1.0], [0.5, 0.25, 0.12, 0.08, 0.04, 0.01]),
}
#: Sizes that F11 of the theory states: above them something is wrong.
MOST_05, MOST_01 = 0.060, 0.015


@dataclass(frozen=True)
class Setting:
    """Tables of so many units, and the noise that a release has at ε."""

    test: str  # "chi2", "fit", "two-sided" or "greater" of Fisher's
    table: str
    units: int
    epsilon: float
    effect: float = 0.0  # how far cells are from independence, or from the known shares
    gaussian: bool = False  # of as much ρ as ε implies

    @cached_property
    def law(self) -> Any:
        epsilon = Fraction(str(self.epsilon))
        return DiscreteGaussian(1 / epsilon**2) if self.gaussian else DiscreteLaplace(1 / epsilon)

    @cached_property
    def shares(self) -> Floats:
        rows, columns = (np.array(each) for each in SHARES[self.table])
        return np.outer(rows, columns)

    @cached_property
    def drawn(self) -> Floats:
        """The shares that units are drawn from."""
        sizes = self.shares.shape
        scores = [np.linspace(-1, 1, size) if size > 1 else np.ones(1) for size in sizes]
        if sizes[0] > 1:
            sums = self.shares.sum(axis=1), self.shares.sum(axis=0)
            scores = [s - (s * m).sum() for s, m in zip(scores, sums, strict=True)]
        found = self.shares * (1 + self.effect * np.outer(*scores))
        return np.asarray(found / found.sum())

    def __str__(self) -> str:
        noise = f"σ = {1 / self.epsilon:g}" if self.gaussian else f"ε = {self.epsilon:g}"
        effect = f", effect {self.effect:g}" if self.effect else ""
        return f"{self.test} {self.table}, {self.units:,} units, {noise}{effect}"


def tables(setting: Setting, simulation: Simulation, draws: int) -> Iterator[tuple[Floats, Floats]]:
    """Exact and noisy tables."""
    shape = setting.shares.shape
    counts = simulation.generator.multinomial(setting.units, setting.drawn.reshape(-1), draws)
    noise = simulation.noise(setting.law, counts.shape)
    for exact, noisy in zip(counts, counts + noise, strict=True):
        yield exact.reshape(shape).astype(np.float64), noisy.reshape(shape)


def tested(setting: Setting, seen: Floats, simulation: Simulation) -> float:
    """The p-value of dppandas.stats."""
    variances = np.full(seen.shape, variance(setting.law))

    def noise(size: int) -> Floats:
        return simulation.noise(setting.law, (size, seen.size))

    if setting.test in ("two-sided", "greater", "less"):
        test = Fourfold(seen, variances)
        return test.pvalue(noise, simulation.generator, RESAMPLES, setting.test)
    if setting.test == "fit":
        fit = Fit(variances.reshape(-1), setting.shares.reshape(-1))
        return pvalue(fit, seen.reshape(-1), noise, simulation.generator, RESAMPLES)
    return pvalue(Independence(variances), seen, noise, simulation.generator, RESAMPLES)


def by_scipy(setting: Setting, counts: Floats) -> float:
    """The p-value of scipy, as if counts were exact; below 0 there are none."""
    counts = np.maximum(counts, 0.0)
    if setting.test in ("two-sided", "greater", "less"):
        return float(stats.fisher_exact(counts.astype(int), setting.test).pvalue)
    if setting.test == "fit":
        expected = setting.shares.reshape(-1) * counts.sum()
        return float(stats.chisquare(counts.reshape(-1), expected).pvalue) if counts.any() else 1.0
    is_there = counts.sum(axis=1).all() and counts.sum(axis=0).all()
    return float(stats.chi2_contingency(counts, correction=False).pvalue) if is_there else 1.0


def rates(pvalues: Sequence[float]) -> tuple[float, float]:
    """How often they are significant at .05 and at .01."""
    found = np.array(pvalues)
    return float((found <= LEVELS[0]).mean()), float((found <= LEVELS[1]).mean())


def measured(setting: Setting, draws: int = DRAWS) -> tuple[float, float]:
    """How often our test is significant."""
    simulation = Simulation([], str(setting))
    each = tables(setting, simulation, draws)
    return rates([tested(setting, seen, simulation) for _, seen in each])


def of_scipy(setting: Setting, draws: int, noisy: bool) -> tuple[float, float]:
    """How often scipy's is, on the noisy counts or on the exact ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each = list(tables(setting, Simulation([], str(setting)), draws))
        return rates([by_scipy(setting, pair[noisy]) for pair in each])


#: Where nothing differs.
NULLS = [
    Setting("chi2", "3×4", 200, 1),
    Setting("chi2", "3×4", 1000, 0.3),
    Setting("chi2", "3×4 skewed", 1000, 1),
    Setting("chi2", "3×4 skewed", 100, 1),  # at least half a unit expected
    Setting("chi2", "2×2", 200, 1),
    Setting("chi2", "2×2 rare", 50, 0.1),
    Setting("chi2", "3×4", 200, 0.5, gaussian=True),
    Setting("fit", "1×4", 50, 1),
    Setting("fit", "1×6 skewed", 200, 0.3),
    Setting("two-sided", "2×2", 50, 1),
    Setting("two-sided", "2×2 skewed", 100, 1),
    Setting("greater", "2×2 skewed", 100, 1),
    Setting("two-sided", "2×2 rare", 200, 0.3),
]
#: Where something does, with 1,000 units at ε = 1.
EFFECTS = [
    Setting("chi2", "2×2", 1000, 1, 0.09),
    Setting("chi2", "2×2 skewed", 1000, 1, 0.2),
    Setting("chi2", "3×4", 1000, 1, 0.2),
    Setting("chi2", "3×4 skewed", 1000, 1, 0.25),
    Setting("fit", "1×4", 1000, 1, 0.14),
    Setting("two-sided", "2×2", 1000, 1, 0.09),
]
POWER = 0.07


def rows(share: float = 1.0) -> list[tuple[str, float, float | None]]:
    """What was measured, the figure, and its target: the most for false alarms, the least for
    power; with a share of the draws."""
    draws = round(DRAWS * share)
    found: list[tuple[str, float, float | None]] = []
    for setting in NULLS:
        sizes = zip(LEVELS, measured(setting, draws), (MOST_05, MOST_01), strict=True)
        found += [(f"{setting}: false alarms at {level}", *each) for level, *each in sizes]
        naive, _ = of_scipy(setting, draws // 4, noisy=True)
        found.append((f"{setting}: of scipy on the noisy counts", naive, None))
    for setting in EFFECTS:
        own, _ = measured(setting, draws // 4)
        raw, _ = of_scipy(setting, draws // 4, noisy=False)
        found.append((f"{setting}: power, {raw:.3f} on the rows", own, raw - POWER))
    return found


def grid(test: str, draws: int) -> None:
    """Sizes over small tables, numbers of units and ε."""
    units = (50, 100, 200, 500, 1000)
    is_fit = test == "fit"
    names = [n for n in SHARES if n.startswith("1") == is_fit]
    names = names if test in ("chi2", "fit") else [n for n in names if n.startswith("2")]
    for name, epsilon in itertools.product(names, (0.1, 0.3, 1, 3)):
        settings = [Setting(test, name, each, epsilon) for each in units]
        sizes = [measured(setting, draws) for setting in settings]
        said = " ".join(f"{large:.3f}/{small:.3f}" for large, small in sizes)
        print(f"{test} {name} ε = {epsilon}: {said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--grid", action="store_true")
    given = parser.parse_args()
    if given.grid:
        for test in ("chi2", "fit", "two-sided", "greater"):
            grid(test, given.draws)
        return
    for what, figure, target in rows(given.draws / DRAWS):
        print(f"{figure:.4f} {'' if target is None else f'{target:.4f}':>7} {what}")


if __name__ == "__main__":
    main()
