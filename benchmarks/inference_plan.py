"""How near planned power is to that of the tests themselves, on real releases.

    python benchmarks/inference_plan.py [--draws 4000] [NAME …]

Each draw is a sample of its own, which is released with noise of its own and tested. Beside the
share of draws in which the test finds the effect stands the power that `dppandas.stats.power` told
from public guesses. Values are normal, or skewed, or of two kinds; the plan knows their bounds,
mean and deviation alone.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import inference_workers  # noqa: E402

import dppandas as dp  # noqa: E402

Array = npt.NDArray[Any]
#: So many draws are released together, as groups, and so many a process does at once.
TOGETHER, CHUNK, DRAWS = 20, 500, 4000
#: So far a plan may be off, beside what chance makes of so many draws.
NEAR = 0.03
#: So many tables are simulated for a p-value.
RESAMPLES = 499
LEVEL = 0.05

#: Values with a mean of 0 and a deviation of 1, by name.
VALUES: dict[str, Callable[[Any, tuple[int, ...]], Array]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "skewed": lambda rng, shape: (rng.gamma(4, size=shape) - 4) / 2,
    "of two kinds": lambda rng, shape: np.where(rng.random(shape) < 0.2, 2.0, -0.5),
}


@dataclass(frozen=True)
class Case:
    """A test, what it is of, and what the plan is told."""

    test: str
    n: int
    epsilon: float
    effect: float
    values: str = "normal"
    given: dict[str, Any] = field(default_factory=dict)  # further arguments of the plan

    def __str__(self) -> str:
        more = "".join(f", {name}={value}" for name, value in self.given.items())
        kind = f" of {self.values} values" if self.test in MEANS else ""
        asked = f"{self.n:,} rows, ε = {self.epsilon:g}, effect {self.effect:g}"
        return f"{self.test}{kind}: {asked}{more}"

    @property
    def plan(self) -> Any:
        return dp.stats.power(
            self.test, n=self.n, effect=self.effect, epsilon=self.epsilon, **self.given
        )


MEANS = ("ttest_ind", "ttest_1samp", "f_oneway", "pearsonr")
WIDE = {"bounds": (-8, 8), "sd": 1.0}
ASIDE = {"bounds": (-2, 10), "sd": 1.0, "mean": 0.0}
CASES = [
    Case("ttest_ind", 1000, 1, 0.2), Case("ttest_ind", 200, 0.5, 0.6),
    Case("ttest_ind", 100, 2, 0.6), Case("ttest_ind", 1000, 0.1, 1.0),
    Case("ttest_ind", 600, 1, 0.3, "skewed", ASIDE), Case("ttest_ind", 600, 1, 0.3, "of two kinds"),
    Case("ttest_ind", 1000, 1, 0.25, given={"ratio": 3.0}),
    Case("ttest_ind", 1000, 1, 0.2, given={"alternative": "greater"}),
    Case("ttest_1samp", 300, 1, 0.2), Case("ttest_1samp", 60, 1, 0.5),
    Case("ttest_1samp", 1000, 0.2, 0.2, "skewed", ASIDE),
    Case("f_oneway", 600, 1, 0.15), Case("f_oneway", 300, 0.5, 0.4, given={"groups": 4}),
    Case("f_oneway", 900, 1, 0.15, "skewed", ASIDE),
    Case("proportions_ztest", 1000, 1, 0.08, given={"p": 0.3}),
    Case("proportions_ztest", 200, 0.5, 0.2, given={"p": 0.1}),
    Case("proportions_ztest", 1000, 0.1, 0.2, given={"p": 0.5}),
    Case("proportions_ztest", 100, 1, 0.15, given={"p": 0.2, "groups": 1}),
    Case("binomtest", 30, 1, 0.25, given={"alternative": "greater"}),
    Case("binomtest", 100, 1, 0.15), Case("binomtest", 400, 1, 0.06, given={"p": 0.3}),
    Case("binomtest", 300, 0.2, 0.15, given={"p": 0.2}),
    Case("chi2_contingency", 400, 1, 0.15, given={"cells": (2, 3)}),
    Case("chi2_contingency", 200, 0.5, 0.3, given={"cells": (2, 2)}),
    Case("chi2_contingency", 600, 1, 0.15, given={"cells": ([0.7, 0.3], [0.6, 0.3, 0.1])}),
    Case("chisquare", 300, 1, 0.2, given={"cells": 5}),
    Case("chisquare", 200, 0.5, 0.3, given={"cells": [0.6, 0.3, 0.1]}),
    Case("pearsonr", 1000, 1, 0.2), Case("pearsonr", 400, 4, 0.15),
    Case("pearsonr", 1000, 1, 0.15, "skewed", ASIDE),
]  # fmt: skip


def pvalues(case: Case, draws: int) -> Array:
    """Those of the test on as many samples and releases."""
    warnings.simplefilter("ignore")
    rng, found = np.random.default_rng(), []
    for _ in range(draws // TOGETHER):
        dp.reset()
        dp.session(epsilon=10_000)
        found += list(TESTED[case.test](case, rng))
    dp.reset()
    return np.array(found)


def _sizes(case: Case) -> list[int]:
    return list(case.plan.sizes)


def _grouped(samples: list[Array]) -> Any:
    """A group for each draw and arm; an array for each arm, with a line for each draw."""
    frames = [
        pd.DataFrame({
            "draw": np.arange(TOGETHER).repeat(each.shape[1]), "arm": arm, "y": each.reshape(-1),
        })
        for arm, each in enumerate(samples)
    ]  # fmt: skip
    keys = {"draw": range(TOGETHER), "arm": range(len(samples))}
    return pd.concat(frames, ignore_index=True).dp.groupby(["draw", "arm"], keys=keys)["y"]


def _means(case: Case, rng: Any, shifts: list[float]) -> Iterator[Any]:
    """The released means of each draw."""
    draw, bounds = VALUES[case.values], case.given.get("bounds", (-4, 4))
    sizes = _sizes(case)
    samples = [
        draw(rng, (TOGETHER, size)) + shift for size, shift in zip(sizes, shifts, strict=True)
    ]
    answer = _grouped(samples).mean(bounds=bounds, inference=True, epsilon=case.epsilon)
    return (answer.iloc[len(sizes) * i : len(sizes) * (i + 1)] for i in range(TOGETHER))


def _two_means(case: Case, rng: Any) -> Iterator[float]:
    side = case.given.get("alternative", "two-sided")
    for means in _means(case, rng, [case.effect / 2, -case.effect / 2]):
        yield dp.stats.ttest_ind(means, alternative=side).pvalue


def _one_mean(case: Case, rng: Any) -> Iterator[float]:
    for means in _means(case, rng, [case.effect]):
        yield dp.stats.ttest_1samp(means, 0).pvalue


def _several_means(case: Case, rng: Any) -> Iterator[float]:
    scores = np.linspace(-1, 1, case.given.get("groups", 3))
    for means in _means(case, rng, (case.effect * scores / scores.std()).tolist()):
        yield dp.stats.f_oneway(means, n_resamples=RESAMPLES).pvalue


def _shares(case: Case, rng: Any) -> Iterator[Any]:
    sizes, p = _sizes(case), case.given.get("p", 0.5)
    is_one = case.test == "binomtest" or case.given.get("groups") == 1
    chances = [p + case.effect] if is_one else [p + case.effect, p]
    samples = [
        rng.random((TOGETHER, size)) < chance for size, chance in zip(sizes, chances, strict=True)
    ]
    answer = _grouped(samples).mean(epsilon=case.epsilon)
    return (answer.iloc[len(sizes) * i : len(sizes) * (i + 1)] for i in range(TOGETHER))


def _proportions(case: Case, rng: Any) -> Iterator[float]:
    value = case.given["p"] if case.given.get("groups") == 1 else None
    for rates in _shares(case, rng):
        yield dp.stats.proportions_ztest(rates, value=value).pvalue


def _binomial(case: Case, rng: Any) -> Iterator[float]:
    p, side = case.given.get("p", 0.5), case.given.get("alternative", "two-sided")
    for rates in _shares(case, rng):
        yield dp.stats.binomtest(rates, p=p, alternative=side).pvalue


def _even(cells: Any) -> Array:
    return np.full(cells, 1 / cells) if isinstance(cells, int) else np.array(cells)


def _direction(shares: Array) -> Array:
    """Neighbours are opposed."""
    scores = np.where(np.arange(len(shares)) % 2, -1.0, 1.0)
    scores = scores - shares @ scores
    return np.asarray(scores / math.sqrt(shares @ scores**2))


def _tables(case: Case, rng: Any) -> Iterator[float]:
    rows, columns = map(_even, case.given["cells"])
    shares = np.outer(rows, columns)
    shares = shares * (1 + case.effect * np.outer(_direction(rows), _direction(columns)))
    keys = {"a": range(len(rows)), "b": range(len(columns))}
    for _ in range(TOGETHER):
        cells = rng.choice(shares.size, case.n, p=shares.reshape(-1))
        frame = pd.DataFrame({"a": cells // len(columns), "b": cells % len(columns)})
        table = frame.dp.crosstab("a", "b", keys=keys, epsilon=case.epsilon)
        yield dp.stats.chi2_contingency(table, n_resamples=RESAMPLES).pvalue


def _fits(case: Case, rng: Any) -> Iterator[float]:
    null = _even(case.given["cells"])
    shares = null * (1 + case.effect * _direction(null))
    for _ in range(TOGETHER):
        cells = pd.Series(rng.choice(len(null), case.n, p=shares), name="cell")
        counts = cells.dp.value_counts(keys=range(len(null)), sort=False, epsilon=case.epsilon)
        yield dp.stats.chisquare(counts, null.tolist(), n_resamples=RESAMPLES).pvalue


def _pairs(case: Case, rng: Any) -> Iterator[float]:
    draw, r = VALUES[case.values], case.effect
    low, high = case.given.get("bounds", (-4, 4))
    for _ in range(TOGETHER):
        # a part of one column is the other: their correlation is r
        x, y = draw(rng, (case.n,)), draw(rng, (case.n,))
        both = np.where(rng.random(case.n) < abs(r), x, y)
        frame = pd.DataFrame({"x": x, "y": both})
        bounds = {"x": (low, high), "y": (low, high)}
        found = frame.dp["x"].corr(frame.dp["y"], bounds=bounds, epsilon=case.epsilon)
        yield dp.stats.pearsonr(found, n_resamples=RESAMPLES).pvalue


TESTED: dict[str, Callable[[Case, Any], Iterator[float]]] = {
    "ttest_ind": _two_means, "ttest_1samp": _one_mean, "f_oneway": _several_means,
    "proportions_ztest": _proportions, "binomtest": _binomial, "chi2_contingency": _tables,
    "chisquare": _fits, "pearsonr": _pairs,
}  # fmt: skip


def rows(share: float = 1.0, names: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """What was planned, what was found, and how far these may be apart."""
    places = [i for i, each in enumerate(CASES) if not names or each.test in names]
    number = max(1, round(DRAWS * share / CHUNK))
    waiting = [
        inference_workers.started("inference_plan.some", [(place, CHUNK)] * number)
        for place in places
    ]
    return [
        _row(CASES[place], np.concatenate([each.result() for each in parts]))
        for place, parts in zip(places, waiting, strict=True)
    ]


def some(place: int, draws: int) -> list[float]:
    """P-values of a case, in a process of its own."""
    return [float(each) for each in pvalues(CASES[place], draws)]


def _row(case: Case, found: Array) -> tuple[str, str, str]:
    planned, seen = case.plan.power, float((found <= LEVEL).mean())
    chance = 1.96 * math.sqrt(max(seen * (1 - seen), 1e-3) / len(found))
    held = "held" if abs(planned - seen) <= NEAR + chance else "MISSED"
    figure = f"planned {planned:.3f}, found {seen:.3f} ± {chance:.3f}"
    return str(case), figure, f"at most {NEAR:g} apart: {held}"


def main() -> int:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("names", nargs="*")
    said = parser.parse_args()
    found = rows(said.draws / DRAWS, said.names)
    inference_workers.stopped()
    print(pd.DataFrame(found, columns=["what", "figure", "target"]).to_string(index=False))
    return any("MISSED" in target for *_, target in found)


if __name__ == "__main__":
    sys.exit(main())
