"""Bounds of weighted sums of noises whose weights lie in intervals, against exact laws."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dppandas.privacy.accuracy.pivots import Noises, Pivot
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace

SMALL = (
    DiscreteLaplace(Fraction(1, 2)), DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(2)),
)  # fmt: skip


def law_of(law: Any, reach: int) -> Any:
    z = np.arange(-reach, reach + 1)
    if isinstance(law, DiscreteLaplace):
        a = math.exp(-1 / float(law.scale))
        return (1 - a) / (1 + a) * a ** np.abs(z)
    chances = np.exp(-z * z / (2 * float(law.sigma2)))
    return chances / chances.sum()


def exactly(laws: Any, weights: Any, least: float, reach: int) -> float:
    """P[|Σ w·Z| ≥ least], but for what is beyond a reach."""
    z = np.arange(-reach, reach + 1)
    values, chances = np.zeros(1), np.ones(1)
    for law, weight in zip(laws, weights, strict=True):
        values = (values[:, None] + weight * z).reshape(-1)
        chances = (chances[:, None] * law_of(law, reach)).reshape(-1)
    return float(chances[np.abs(values) >= least - 1e-9].sum())


WEIGHT = st.floats(-1, 1, allow_subnormal=False).map(lambda w: round(w, 3))


@given(
    laws=st.lists(st.sampled_from(SMALL), min_size=1, max_size=3),
    weights=st.lists(WEIGHT, min_size=3, max_size=3), wide=st.sampled_from([0.0, 1e-3, 0.1]),
    least=st.floats(0.01, 12), risk=st.sampled_from([0.3, 0.05, 0.001]), data=st.data(),
)  # fmt: skip
def test_what_is_excluded_is_rare_for_all_weights_between(
    laws: Any, weights: Any, wide: float, least: float, risk: float, data: Any
) -> None:
    weights = weights[: len(laws)]
    ends = [(np.array([w]), np.array([w + wide])) for w in weights]
    pivot = Pivot(tuple(Noises(law) for law in laws), risk)
    if not pivot.is_beyond(ends, np.array([least]))[0]:
        return
    inside = [w + wide * data.draw(st.floats(0, 1)) for w in weights]
    for some in (weights, [w + wide for w in weights], inside):
        assert exactly(laws, some, least, 22) <= risk


@pytest.mark.parametrize("laws", [*itertools.combinations_with_replacement(SMALL, 2)])
def test_weights_anywhere_in_their_intervals_are_covered(laws: Any) -> None:
    pivot, corners = Pivot(tuple(map(Noises, laws)), 0.05), ((0.5, 0.7), (-0.6, -0.3))
    ends = [(np.array([low]), np.array([high])) for low, high in corners]
    for least in np.linspace(0.05, 6, 120).tolist():
        if pivot.is_beyond(ends, np.array([least]))[0]:
            assert all(
                exactly(laws, some, least, 30) <= 0.05 for some in itertools.product(*corners)
            )


@pytest.mark.parametrize("laws", [*itertools.combinations_with_replacement(SMALL, 2)])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.3, -0.7), (1.0, 0.05)])
def test_small_noise_is_bounded_tightly(laws: Any, weights: Any) -> None:
    """Nothing that is rarer by a hundredth is kept."""
    pivot = Pivot(tuple(Noises(law) for law in laws), 0.05)
    ends = [(np.array([w]), np.array([w])) for w in weights]
    for least in np.linspace(0.05, 8, 60).tolist():
        rare = exactly(laws, weights, least, 40)
        found = bool(pivot.is_beyond(ends, np.array([least]))[0])
        assert found == (rare <= 0.05) or abs(rare / 0.05 - 1) < 0.01


MIXED: dict[str, Any] = {
    "Laplace of two scales": [DiscreteLaplace(Fraction(40)), DiscreteLaplace(Fraction(100))],
    "four of them": [DiscreteLaplace(Fraction(n)) for n in (8, 12, 20, 40)],
    "normal of two scales": [DiscreteGaussian(Fraction(n)) for n in (400, 4000)],
    "both kinds": [DiscreteLaplace(Fraction(30)), DiscreteGaussian(Fraction(900))],
    "small and large": [DiscreteLaplace(Fraction(1)), DiscreteLaplace(Fraction(50))],
    "small, and normal": [DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(10**6))],
    "none and some": [DiscreteLaplace(Fraction(0)), DiscreteLaplace(Fraction(5))],
}


@pytest.mark.parametrize("name", MIXED)
def test_noises_of_several_laws_are_bounded(name: str) -> None:
    """By draws of 10^6 sums, of which the 95 % quantile is known to 0.2 %."""
    laws, rng = MIXED[name], np.random.default_rng(2)
    weights = [1.0, -0.6, 0.3, 0.8][: len(laws)]
    total = np.zeros(10**6)
    for law, weight in zip(laws, weights, strict=True):
        if not law.scale:
            continue
        if isinstance(law, DiscreteLaplace):
            q = 1 - math.exp(-1 / float(law.scale))
            z = rng.geometric(q, 10**6) - rng.geometric(q, 10**6)
        else:
            z = np.rint(rng.normal(0, math.sqrt(law.sigma2), 10**6)).astype(int)
        total += weight * z
    real = float(np.quantile(np.abs(total), 0.95))
    pivot = Pivot(tuple(Noises(law) for law in laws), 0.05)
    ends = [(np.array([w]), np.array([w])) for w in weights]
    tried = real * np.linspace(0.9, 1.6, 141)
    found = [bool(pivot.is_beyond(ends, np.array([x]))[0]) for x in tried.tolist()]
    assert not any(f for f, x in zip(found, tried, strict=True) if x < 0.99 * real)
    assert found[-1]
    apart = "both kinds", "small and large", "small, and normal"  # each by itself
    most = 1.65 if name in apart else 1.2
    assert found == sorted(found)
    assert tried[found.index(True)] <= most * real
