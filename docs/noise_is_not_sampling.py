"""How often statements go wrong that take noise for sampling, or leave noise out.

``python docs/noise_is_not_sampling.py`` prints the rates that known_limits.md and how_do_i.md give.
Two clinics are drawn from one population again and again, so every difference between them is
chance. All statements are meant to be wrong in 5 % of the draws, as those for the population are.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from scipy import stats

import dppandas as dp

STATEMENTS = (
    "mean outside", "intervals apart", "t-test", "chi-square",
    "mean outside, of the population", "compare means", "compare shares",
)  # fmt: skip
DRAWS, ROWS, MEAN, DEVIATION, BOUNDS = 1000, 1000, 50.0, 15.0, (0, 100)


def rates(draws: int, seed: int = 1) -> dict[str, float]:
    """The share of draws in which each statement is wrong. Noise has no seed, so that they differ
    a little each time."""
    rng = np.random.default_rng(seed)
    wrong = dict.fromkeys(STATEMENTS, 0)
    for _ in range(draws):
        rows = pd.DataFrame({
            "clinic": ["a"] * ROWS + ["b"] * ROWS,
            "x": rng.normal(MEAN, DEVIATION, 2 * ROWS).clip(*BOUNDS),
            "sick": rng.random(2 * ROWS) < 0.3,
        })  # fmt: skip
        dp.reset()
        dp.session(epsilon=10)
        groups = rows.dp.groupby("clinic", keys=["a", "b"])["x"]
        low, high = _ends(groups.mean(bounds=BOUNDS, epsilon=1))
        wrong["mean outside"] += not low[0] <= MEAN <= high[0]
        wrong["intervals apart"] += low[0] > high[1] or low[1] > high[0]
        wrong["t-test"] += _t_test(groups.agg(["mean", "std"], bounds=BOUNDS, epsilon=1)) < 0.05
        keys = {"clinic": ["a", "b"], "sick": [False, True]}
        table = rows.dp[["clinic", "sick"]].value_counts(keys=keys, sort=False, epsilon=0.1)
        counts = table.to_numpy().reshape(2, 2).clip(1)
        wrong["chi-square"] += stats.chi2_contingency(counts, correction=False).pvalue < 0.05
        spread = groups.mean(bounds=BOUNDS, inference=True, epsilon=1)
        low, high = dp.record(spread).intervals(of="population").loc["a"]
        wrong["mean outside, of the population"] += not low <= MEAN <= high
        wrong["compare means"] += _differ(spread)
        sick = rows.dp.groupby("clinic", keys=["a", "b"])["sick"].mean(epsilon=0.1)
        wrong["compare shares"] += _differ(sick)
    return {name: number / draws for name, number in wrong.items()}


def _differ(answer: pd.Series) -> bool:
    """Whether one of the two is said to be larger in the population, as `dppandas.compare` does."""
    low, high = dp.difference(answer, "a", "b").interval(of="population")
    return not low <= 0 <= high


def _ends(means: pd.Series) -> tuple[list[float], list[float]]:
    found = dp.intervals(means)
    return found["low"].tolist(), found["high"].tolist()


def _t_test(table: pd.DataFrame) -> float:
    """scipy's test of the released means and deviations, as if these were exact."""
    (a, s), (b, t) = table[["mean", "std"]].to_numpy().tolist()
    return float(stats.ttest_ind_from_stats(a, s, ROWS, b, t, ROWS).pvalue)


if __name__ == "__main__":
    for name, rate in rates(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS).items():
        print(f"{name}: wrong in {rate:.0%} of the draws")
