"""How often `f_oneway` and `pearsonr` are wrong, and how often they find what is there.

    python benchmarks/inference_groups.py [--draws 10000]

Samples are drawn, exact sums made of them, and noise of the law added, which is what a release
does; what is left out are its ledger and pandas. P-values are of 199 draws each. Bounds are 8
deviations apart, but where a line says another number. *Size*: in which part of all samples a test
is significant at .05 and at .01 where nothing is there, and beside it scipy's test of the released
numbers as if they were exact. *Power*: the same at .05 where something is, beside the test of the
rows themselves. *Holds*: in which part of all samples an interval holds the correlation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402
from scipy import stats  # noqa: E402

from dppandas.findings.simulation import Simulation  # noqa: E402
from dppandas.privacy.mechanisms.noise import DiscreteLaplace  # noqa: E402
from dppandas.statistics.moments.covariance import _design  # noqa: E402
from dppandas.stats.correlation import Pair  # noqa: E402
from dppandas.stats.variance_analysis import OneWay  # noqa: E402

Floats = npt.NDArray[np.float64]
Row = tuple[str, str, str]

DRAWS, TOGETHER, RESAMPLES = 10_000, 1000, 199
#: What a row adds to all sums.
ROW = 2**30
EPSILONS = (0.3, 1.0)
#: The most that a power may be below that of the rows, at 1,000 rows and ε = 1.
POWER = 0.07
NONE = DiscreteLaplace(Fraction(0))
DESIGN = tuple(tuple(x / 4 for x in row) for row in zip(*_design(3, 2), strict=True))


def law(epsilon: float) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(ROW) / Fraction(epsilon))


def rate(pvalues: Floats, level: float) -> float:
    return float((pvalues <= level).mean())


# means of groups


def normal(generator: Any, rows: int, times: int) -> Floats:
    """Values with a deviation of 1 and a mean of 0, as a line for each sample."""
    return np.asarray(generator.normal(size=(times, rows)))


def skewed(generator: Any, rows: int, times: int) -> Floats:
    """As waiting times for two things: the skewness is √2."""
    return np.asarray((generator.gamma(2, size=(times, rows)) - 2) / np.sqrt(2))


def three_sums(values: Floats) -> Floats:
    values = values.clip(0, 1)
    high, low = (values**2).sum(axis=-1), ((1 - values) ** 2).sum(axis=-1)
    return np.stack([low, values.shape[-1] - low - high, high])


def groups(
    sizes: Any, deviations: Any, means: Any, draw: Any, middle: float, times: int, generator: Any
) -> Floats:
    """Exact sums of samples of all groups, in deviations of 1/8 from the middle."""
    each = zip(sizes, deviations, means, strict=True)
    sums = [
        three_sums(middle + (mean + wide * draw(generator, n, times)) / 8)
        for n, wide, mean in each
    ]  # fmt: skip
    return np.stack(sums, axis=-1)


def of_groups(
    sizes: Any, epsilon: float, equal_var: bool, draws: int, deviations: Any = None,
    means: Any = None, draw: Any = normal, middle: float = 0.5,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """P-values of samples: with the noise, of scipy on what was released, and of the rows."""
    analysis, exactly = (OneWay(each, ROW, equal_var) for each in (law(epsilon), NONE))
    simulation = Simulation([], f"groups {sizes} {epsilon} {equal_var} {means} {deviations}")
    wide, shift = deviations or [1.0] * len(sizes), means or [0.0] * len(sizes)
    found = []
    for _ in range(max(1, draws // TOGETHER)):
        sums = groups(sizes, wide, shift, draw, middle, TOGETHER, simulation.generator)
        noisy = sums + simulation.noise(law(epsilon), sums.shape) / ROW
        seen = analysis.found(noisy)
        plain = [exactly.pvalue(exactly.found(each), simulation, 99) for each in (noisy, sums)]
        found.append([analysis.pvalue(seen, simulation, RESAMPLES), *plain])
    ours, naive, rows = np.concatenate(found, axis=-1)
    return ours, naive, rows


SIZES = (
    [20] * 3, [50] * 3, [100] * 3, [200] * 3, [1000] * 3, [20] * 5, [100] * 5, [1000] * 5,
    [20, 50, 200], [50, 200, 1000], [200, 50, 20, 20, 20],
)  # fmt: skip
UNLIKE = (([50] * 3, [0.5, 1, 1]), ([20, 50, 200], [1, 0.5, 0.5]), ([200] * 3, [0.5, 0.5, 1]))
SKEWED = ([20] * 3, [50] * 3, [200] * 3, [20, 50, 200])
#: Groups, and how far the first and the last mean are from the middle, in deviations: the test of
#: the rows finds this in about 80 %.
APART = (([1000] * 3, 0.07), ([1000] * 5, 0.07), ([333] * 3, 0.12), ([200] * 5, 0.155))


def of_means(draws: int) -> Iterator[Row]:
    for sizes in SIZES:
        for epsilon in EPSILONS:
            for equal_var, name in ((True, "f_oneway"), (False, "f_oneway, unequal variances")):
                found = of_groups(sizes, epsilon, equal_var, draws)
                yield size(f"{name}, groups of {told(sizes)}, ε = {epsilon:g}", *found[:2])
    for sizes, deviations in UNLIKE:
        for epsilon in EPSILONS:
            found = of_groups(sizes, epsilon, False, draws, deviations)
            what = f"groups of {told(sizes)} with deviations as {told(deviations)}"
            yield size(f"f_oneway, unequal variances, {what}, ε = {epsilon:g}", *found[:2])
    for sizes in SKEWED:
        for equal_var, name in ((True, "f_oneway"), (False, "f_oneway, unequal variances")):
            found = of_groups(sizes, 1, equal_var, draws, draw=skewed, middle=0.25)
            yield size(f"{name}, skewed values in groups of {told(sizes)}, ε = 1", *found[:2])
    for sizes, apart in APART:
        for equal_var, name in ((True, "f_oneway"), (False, "f_oneway, unequal variances")):
            means = np.linspace(-apart, apart, len(sizes)).tolist()
            ours, _, rows = of_groups(sizes, 1, equal_var, draws, means=means)
            what = f"{name}, groups of {told(sizes)} up to {2 * apart:g} deviations apart, ε = 1"
            yield power(what, ours, rows, is_meant=min(sizes) >= 1000)


def told(numbers: Any) -> str:
    """Some numbers, in short where all are alike."""
    one, *others = map(str, numbers)
    return f"{len(numbers)} × {one}" if {*others} == {one} else ", ".join([one, *others])


def size(what: str, ours: Floats, naive: Floats) -> Row:
    each = [f"{rate(p, 0.05):.3f} / {rate(p, 0.01):.4f}" for p in (ours, naive)]
    return f"{what}: size", f"{each[0]} (scipy on the released: {each[1]})", ""


def power(what: str, ours: Floats, rows: Floats, is_meant: bool) -> Row:
    found, raw = rate(ours, 0.05), rate(rows, 0.05)
    target = ""
    if is_meant:
        target = f"at least {raw - POWER:.3f}: {'held' if found >= raw - POWER else 'MISSED'}"
    return f"{what}: power", f"{found:.3f}, of the rows {raw:.3f}", target


# correlations


def pair_under(noise: Any) -> Pair:
    return Pair(noise, DESIGN, 1, ROW)


def six_sums(
    rows: int, means: Any, deviations: Any, correlation: float, times: int, generator: Any
) -> Floats:
    """The sums of 1, u, v, u², uv and v² of normal samples, by Bartlett's decomposition."""
    own, along = np.sqrt(generator.chisquare(rows - 1, times)), generator.normal(size=times)
    across, rest = generator.chisquare(rows - 2, times), np.sqrt(1 - correlation**2)
    first, second = generator.normal(size=(2, times))
    u = means[0] + deviations[0] * first / np.sqrt(rows)
    v = means[1] + deviations[1] * (correlation * first + rest * second) / np.sqrt(rows)
    beside = correlation * own + rest * along
    uu, vv = deviations[0] ** 2 * own**2, deviations[1] ** 2 * (beside**2 + rest**2 * across)
    uv, one = deviations[0] * deviations[1] * own * beside, np.full(times, float(rows))
    each = one, rows * u, rows * v, uu + rows * u * u, uv + rows * u * v, vv + rows * v * v
    return np.stack(each, axis=-1)


def of_pairs(
    rows: int, epsilon: float, draws: int, deviations: Any = (1 / 8, 1 / 8),
    means: Any = (0.5, 0.5), correlation: float = 0.0,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """P-values of samples: with the noise, of scipy on what was released, and of the rows."""
    pair, exactly = pair_under(law(epsilon)), pair_under(NONE)
    simulation = Simulation([], f"pairs {rows} {epsilon} {deviations} {correlation}")
    found = []
    for _ in range(max(1, draws // TOGETHER)):
        sums = six_sums(rows, means, deviations, correlation, TOGETHER, simulation.generator)
        noisy = sums + pair.noise(simulation, (TOGETHER,))
        ours = pair.pvalue(noisy, simulation, RESAMPLES, "two-sided")
        exact = exactly.pvalue(sums, simulation, 99, "two-sided")
        found.append([ours, plainly(exactly, noisy), exact])
    ours, naive, raw = np.concatenate(found, axis=-1)
    return ours, naive, raw


def plainly(pair: Pair, noisy: Floats) -> Floats:
    """Scipy's p-values of released correlations; 1 where these are 0, as a variance isn't above."""
    found = pair.figures(noisy)
    spread = found.uu * found.vv
    r = np.where(spread > 0, found.uv / np.sqrt(np.where(spread > 0, spread, 1)), 0).clip(-1, 1)
    t = np.abs(r) * np.sqrt((found.rows - 2) / np.maximum(1 - r * r, 1e-12))
    return np.asarray(2 * stats.t.sf(t, found.rows - 2))


def holds(rows: int, epsilon: float, correlation: float, draws: int, level: float) -> str:
    """In which part of all samples an interval holds, and in which it is all of -1 to 1."""
    pair = pair_under(law(epsilon))
    simulation = Simulation([], f"interval {rows} {epsilon} {correlation}")
    wide, middle = (1 / 8, 1 / 8), (0.5, 0.5)
    sums = six_sums(rows, middle, wide, correlation, draws, simulation.generator)
    each = [pair.interval(one, 0.0, "two-sided") for one in sums + pair.noise(simulation, (draws,))]
    held = [
        interval.is_hidden
        or all(interval.is_possible(s * correlation, 1 - level, s) for s in (1, -1))
        for interval in each
    ]
    hidden = np.mean([interval.is_hidden for interval in each])
    return f"{np.mean(held):.3f}" + (f", all of -1 to 1 in {hidden:.2f}" if hidden > 0.005 else "")


PLACES = {
    "": ((0.5, 0.5), (1 / 8, 1 / 8)), ", bounds 4 deviations apart": ((0.5, 0.5), (1 / 4, 1 / 4)),
    ", bounds 20 and 8 deviations apart": ((0.2, 0.5), (1 / 20, 1 / 8)),
}  # fmt: skip
#: Correlations that the test of the rows finds in about 80 %.
CORRELATED = {1000: 0.0885, 3000: 0.0511, 10_000: 0.028}


def of_correlations(draws: int) -> Iterator[Row]:
    for name, (means, deviations) in PLACES.items():
        for rows in (100, 300, 1000, 10_000):
            for epsilon in EPSILONS:
                found = of_pairs(rows, epsilon, draws, deviations, means)
                yield size(f"pearsonr, {rows:,} rows{name}, ε = {epsilon:g}", *found[:2])
    for rows, correlation in CORRELATED.items():
        for apart in (8, 6, 4):
            wide = (1 / apart, 1 / apart)
            ours, _, raw = of_pairs(rows, 1, draws, wide, correlation=correlation)
            what = f"pearsonr, {rows:,} rows, r = {correlation:g}, bounds {apart} deviations apart"
            yield power(f"{what}, ε = 1", ours, raw, is_meant=rows == 1000)
    for rows in (100, 300, 1000, 3000, 10_000):
        for epsilon in EPSILONS:
            for correlation in (0.0, 0.6, 0.9):
                what = f"interval, {rows:,} rows, r = {correlation:g}, ε = {epsilon:g}"
                for level in (0.95, 0.99):
                    found = holds(rows, epsilon, correlation, max(1, draws // 5), level)
                    yield f"pearsonr, {100 * level:g} % {what}: holds in", found, ""


def rows(share: float = 1.0) -> list[Row]:
    """What was measured, the figure, and its target; with a share of the draws."""
    draws = round(DRAWS * share)
    return [*of_means(draws), *of_correlations(draws)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    draws = parser.parse_args().draws
    for each in (of_means, of_correlations):
        for what, figure, target in each(draws):
            print(f"{what}: {figure}  {target}", flush=True)


if __name__ == "__main__":
    main()
