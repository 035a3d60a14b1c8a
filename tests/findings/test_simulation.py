"""Draws of the noise's law, for p-values."""

import itertools
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dppandas as dp
from dppandas.findings.forms import Draw, Linear
from dppandas.findings.simulation import Simulation
from dppandas.privacy.accuracy.combined import CombinedNoise, variance
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace


def answer(name: str = "nine") -> Any:
    return dp.protect(pd.DataFrame({"x": [1] * 9}), name=name).count(epsilon=1)


def laplace(scale: Fraction, z: Any) -> Any:
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** np.abs(z)


def gaussian(sigma: float, z: Any) -> Any:
    reach = np.arange(-math.ceil(40 * sigma) - 40, math.ceil(40 * sigma) + 41)
    return np.exp(-z * z / (2 * sigma**2)) / np.exp(-(reach**2) / (2 * sigma**2)).sum()


@pytest.mark.parametrize("law", [
    DiscreteLaplace(Fraction(1, 3)), DiscreteLaplace(Fraction(7)),
    DiscreteGaussian(Fraction(1, 5)), DiscreteGaussian(Fraction(9)),
    DiscreteGaussian(Fraction(2**22)),
])  # fmt: skip
def test_draws_have_the_law_of_the_noise(law: Any) -> None:
    """A χ² test of where they lie: fails falsely once in 10^6 runs."""
    found = Simulation([dp.record(answer())], str(law)).noise(law, 100_000)
    wide = math.sqrt(float(variance(law)))
    step = max(1, round(wide / 8))
    edges = np.arange(-4, 5) * 4 * step
    pairs = list(itertools.pairwise(edges))
    inner = [np.arange(low, high) for low, high in pairs]
    chance = laplace if isinstance(law, DiscreteLaplace) else gaussian
    spread = law.scale if isinstance(law, DiscreteLaplace) else math.sqrt(law.sigma2)
    chances = np.array([chance(spread, each).sum() for each in inner])
    counts = np.array([((found >= low) & (found < high)).sum() for low, high in pairs])
    chances, counts = (
        np.append(chances, 1 - chances.sum()),
        np.append(counts, 100_000 - counts.sum()),
    )
    told = chances > 1e-4
    assert counts[~told].sum() <= 60
    size = counts[told].sum()
    expected = chances[told] / chances[told].sum() * size
    assert stats.chisquare(counts[told], expected).pvalue > 1e-6


def test_one_release_has_one_seed_and_each_question_its_own() -> None:
    count = answer()
    record = dp.record(count)
    again = dp.record(pickle.loads(pickle.dumps(count)))

    def drawn(record: Any, what: str) -> list[float]:
        return Simulation([record], what).noise(DiscreteLaplace(Fraction(9)), 9).tolist()

    assert Simulation([record], "x").is_random
    assert drawn(record, "x") == drawn(again, "x") != drawn(record, "y")
    assert drawn(record, "x") != drawn(dp.record(answer("others")), "x")


def test_a_replay_has_the_seed_of_the_answer() -> None:
    p = dp.protect(pd.DataFrame({"x": [1] * 9}), name="replayed", version="1")
    one, other = dp.record(p.count(epsilon=1)), dp.record(p.count(epsilon=1))
    assert one.number == other.number
    assert one._seed == other._seed != ""


def test_integers_of_several_sums_have_one_noise() -> None:
    record = dp.record(answer())
    draw = [Draw(("", 1, 0.0), i, DiscreteLaplace(Fraction(9))) for i in (0, 1)]
    sums = [
        Linear({draw[0]: Fraction(1)}, Fraction(0), Fraction(5)),
        Linear({draw[0]: Fraction(2), draw[1]: Fraction(1)}, Fraction(0), Fraction(5)),
    ]
    found = Simulation([record], "x").noise_of(sums, 100)
    assert found.shape == (100, 2)
    assert len({*(found[:, 1] - 2 * found[:, 0])}) > 5
    both = Simulation([record], "x").noise_of([sums[0], sums[0]], 100)
    assert (both[:, 0] == both[:, 1]).all()


def test_combined_noise_is_drawn_by_its_parts() -> None:
    law = CombinedNoise((DiscreteLaplace(Fraction(9)), DiscreteLaplace(Fraction(9))), (1, 1), False)
    found = Simulation([dp.record(answer())], "x").noise(law, 100_000)
    # 5 deviations of the mean square of nearly exponential tails
    assert abs(found.var() / law.variance - 1) < 0.06
