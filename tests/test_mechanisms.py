"""Mechanisms: calibration, exact losses, accuracy, and privacy by enumeration of the exact laws."""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache

import pytest
from exact import selection_law
from hypothesis import given
from hypothesis import strategies as st

from dppandas.errors import InternalError
from dppandas.privacy.accounting import conversions
from dppandas.privacy.accounting.measures import Measure
from dppandas.privacy.mechanisms.base import Sensitivity
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.privacy.mechanisms.selection import PermuteAndFlip
from dppandas.privacy.sampling import entropy, samplers

EPSILONS = st.fractions(Fraction(1, 2**20), 64, max_denominator=2**21)
SENSITIVITIES = st.integers(1, 2**80)


# --- discrete Laplace -----------------------------------------------------------------------------


@given(SENSITIVITIES, EPSILONS)
def test_laplace_loses_exactly_what_is_asked(sensitivity: int, epsilon: Fraction) -> None:
    mechanism = DiscreteLaplace.calibrate(sensitivity, epsilon)
    assert mechanism.scale == sensitivity / epsilon
    assert mechanism.loss(sensitivity) == epsilon
    assert mechanism.loss(2 * sensitivity) == 2 * epsilon
    assert isinstance(mechanism.loss(sensitivity), Fraction)


@pytest.mark.parametrize("epsilon", ["0.003", "0.7", "1", "7", "64"])
def test_where_rho_is_counted_fine_integers_cost_the_same(epsilon: str) -> None:
    """As those of a million steps, which is no less than their own ρ, and hardly more."""
    e = Fraction(epsilon)

    def charged(moved: int) -> Fraction:
        there = Sensitivity(moved, moved**2, moved, monotone=False)
        return DiscreteLaplace.calibrate(moved, e).cost(Measure.ZCDP, there).rho

    finest = conversions.rho_of_laplace(2**60, 2**60 / e)
    assert len({charged(moved) for moved in (2**20, 2**20 + 1, 3 * 2**27, 2**33, 2**60)}) == 1
    assert finest <= charged(2**33) <= finest * (1 + Fraction(1, 10**9))
    assert charged(2**33) < charged(2**7) < charged(1)
    assert charged(2**7) == conversions.rho_of_laplace(2**7, 2**7 / e)


def test_what_cannot_differ_costs_nothing_and_gets_no_noise() -> None:
    mechanism = DiscreteLaplace.calibrate(0, Fraction(1, 10))
    assert mechanism.loss(0) == 0
    assert mechanism.release([5, 2**70]) == [5, 2**70]
    assert mechanism.half_width(0.95) == 0
    assert DiscreteLaplace(Fraction(3)).loss(0) == 0


def test_laplace_loss_is_its_exact_privacy_and_tight() -> None:
    """ln P[out|x] - ln P[out|y] = Σ(|out-y| - |out-x|)/scale: fractions, no rounding anywhere.

    All pairs of small vectors, all outputs of a window: the largest is loss(‖x-y‖₁), attained.
    """
    mechanism = DiscreteLaplace.calibrate(3, Fraction(7, 10))
    window = list(itertools.product(range(-6, 7), repeat=2))
    for y in itertools.product(range(-2, 3), repeat=2):  # x = (0, 0), for only x - y matters
        worst = max(sum(abs(o - b) - abs(o) for o, b in zip(out, y, strict=True)) for out in window)
        assert worst / mechanism.scale == mechanism.loss(sum(map(abs, y)))


def test_laplace_adds_one_noise_to_each_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noise(scale: Fraction, n: int) -> entropy.Integers:
        asked.append((scale, n))
        return samplers.np.arange(1, n + 1)

    monkeypatch.setattr(samplers, "discrete_laplace_vector", noise)
    values = [0, -5, 2**70]  # sums may be beyond int64: nothing wraps around
    released = DiscreteLaplace(Fraction(7, 3)).release(values)
    assert released == [1, -3, 2**70 + 3]
    assert all(type(value) is int for value in released)
    assert asked == [(Fraction(7, 3), 3)]


def smallest_width(scale: Fraction, confidence: float, entries: int) -> int:
    """Counts up from 0 until (1 - 2a^(w+1)/(1+a))^entries ≥ confidence, with 60 digits."""
    with decimal.localcontext(decimal.Context(prec=60)):
        a = (-1 / (Decimal(scale.numerator) / Decimal(scale.denominator))).exp()
        tail, w = 2 * a / (1 + a), 0
        while (1 - tail) ** entries < Decimal(confidence):
            tail, w = tail * a, w + 1
        return w


@pytest.mark.parametrize("entries", [1, 2, 3, 1000])
@pytest.mark.parametrize("confidence", [1e-9, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999999, 1 - 1e-12])
def test_half_width_is_the_smallest_that_holds(confidence: float, entries: int) -> None:
    for scale in map(Fraction, ("1/64", "1/3", "2/3", "1", "10/3", "10", "64", "123.456", "1000")):
        width = DiscreteLaplace(scale).half_width(confidence, entries)
        assert width == smallest_width(scale, confidence, entries)


def test_half_width_of_ten_thousand_names() -> None:
    """ε = 1, 95 % for all at once: ±12, where the union bound on real Laplace says 12.206."""
    assert DiscreteLaplace.calibrate(1, Fraction(1)).half_width(0.95, 10_000) == 12


@pytest.mark.parametrize("power", [50, 80, 120, 300])
def test_half_width_of_huge_scales_ends(power: int) -> None:
    """Where a float has no unit steps any more, it is within 2^-40 of the least."""
    width = DiscreteLaplace(Fraction(2**power)).half_width(0.95)
    assert width / 2**power == pytest.approx(math.log(20), rel=2**-40)


# --- permute-and-flip -----------------------------------------------------------------------------


@given(SENSITIVITIES, EPSILONS, st.booleans(), st.integers(1, 50))
def test_selection_loses_exactly_what_is_asked(
    sensitivity: int, epsilon: Fraction, monotone: bool, rounds: int
) -> None:
    mechanism = PermuteAndFlip.calibrate(sensitivity, epsilon, monotone, rounds)
    assert mechanism.loss(sensitivity, monotone) == epsilon
    assert mechanism.rate == epsilon / rounds / sensitivity / (1 if monotone else 2)
    assert mechanism.scale * mechanism.rate == 1


@pytest.mark.parametrize("sensitivity", [0, -1])
def test_a_selection_needs_scores_that_can_change(sensitivity: int) -> None:
    with pytest.raises(InternalError):
        PermuteAndFlip.calibrate(sensitivity, Fraction(1), monotone=True)


Scores = tuple[int, ...]


def neighbours(highest: int, m: int, changes: tuple[int, ...]) -> Iterator[tuple[Scores, Scores]]:
    """All pairs of score vectors on a tiny domain, each score changed by one of the changes."""
    for scores in itertools.product(range(highest + 1), repeat=m):
        for change in itertools.product(changes, repeat=m):
            yield scores, tuple(s + c for s, c in zip(scores, change, strict=True))


def selection(mechanism: PermuteAndFlip, scores: Scores) -> tuple[float, ...]:
    return _selection(mechanism.rate, tuple(max(scores) - score for score in scores))


@cache
def _selection(rate: Fraction, gaps: Scores) -> tuple[float, ...]:
    return tuple(selection_law(gaps, rate))


def worst_loss(mechanism: PermuteAndFlip, pairs: Iterator[tuple[Scores, Scores]]) -> float:
    """The largest |ln P[i|x] - ln P[i|y]| over all neighbours x, y and all candidates i."""
    return max(
        abs(math.log(p / q))
        for x, y in pairs
        for p, q in zip(selection(mechanism, x), selection(mechanism, y), strict=True)
    )


EPSILON = Fraction(9, 10)


@pytest.mark.parametrize("sensitivity", [1, 2])
def test_monotone_selection_is_private_and_tight(sensitivity: int) -> None:
    """Adding a unit raises some scores by up to Δ and lowers none: ties, winners, everything."""
    mechanism = PermuteAndFlip.calibrate(sensitivity, EPSILON, monotone=True)
    changes = tuple(range(sensitivity + 1))
    worst = worst_loss(mechanism, neighbours(4, 3, changes))
    assert float(EPSILON) * 0.999 <= worst <= float(EPSILON) * (1 + 1e-9)


def test_other_selection_needs_the_coefficient_2() -> None:
    """Scores that move either way: half the rate is ε-DP and tight, the full rate loses 2ε."""
    changes = (-1, 0, 1)
    mechanism = PermuteAndFlip.calibrate(1, EPSILON, monotone=False)
    worst = worst_loss(mechanism, neighbours(3, 3, changes))
    assert float(EPSILON) * 0.999 <= worst <= float(EPSILON) * (1 + 1e-9)
    careless = PermuteAndFlip.calibrate(1, EPSILON, monotone=True)
    assert worst_loss(careless, neighbours(3, 3, changes)) > float(EPSILON) * 1.9


def peeled(
    mechanism: PermuteAndFlip, scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> dict[tuple[int, ...], float]:
    """The law of all rounds, through `release`, each round scripted."""
    law: dict[tuple[int, ...], float] = {}
    for picks in itertools.product(*(range(len(scores) - k) for k in range(mechanism.rounds))):
        script, rounds = iter(picks), []

        def pick(gaps: list[int], rate: Fraction) -> int:
            rounds.append((rate, tuple(gaps)))  # noqa: B023
            return next(script)  # noqa: B023

        with monkeypatch.context() as patch:
            patch.setattr(samplers, "permute_and_flip", pick)
            order = tuple(mechanism.release(scores))
        laws = [_selection(*each) for each in rounds]
        law[order] = math.prod(each[pick] for each, pick in zip(laws, picks, strict=True))
    return law


def test_peeling_is_private_and_never_selects_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = PermuteAndFlip.calibrate(1, EPSILON, monotone=True, rounds=2)
    assert mechanism.loss(1, monotone=True) == EPSILON
    laws = {}
    for pair in neighbours(2, 3, (0, 1)):
        for scores in pair:
            if scores not in laws:
                laws[scores] = peeled(mechanism, scores, monkeypatch)
    assert set(laws[0, 0, 0]) == set(itertools.permutations(range(3), 2))
    assert all(sum(law.values()) == pytest.approx(1, abs=1e-12) for law in laws.values())
    for x, y in neighbours(2, 3, (0, 1)):
        for order, p in laws[x].items():
            assert abs(math.log(p / laws[y][order])) <= float(EPSILON) * (1 + 1e-9)


def test_selecting_everything_orders_it() -> None:
    """All rounds, and gaps so large that the order is certain (odds of e^-10000 against)."""
    mechanism = PermuteAndFlip(Fraction(1), rounds=4)
    assert mechanism.release([10_000, 2**70, 0, 20_000]) == [1, 3, 0, 2]


@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_gap_holds_exactly(confidence: float, m: int) -> None:
    """P[max - selected score > gap] ≤ 1 - confidence for every vector of scores, by exact sums."""
    mechanism = PermuteAndFlip(Fraction(1, 3))
    gap = mechanism.gap(confidence, m)
    for gaps in itertools.product(range(0, 13, 2), repeat=m):
        if 0 in gaps:
            law = _selection(mechanism.rate, gaps)
            beyond = sum(p for p, g in zip(law, gaps, strict=True) if g > gap)
            assert beyond <= 1 - confidence + 1e-12
    # and it is of use: 0 for a single candidate at no confidence, else growing as it should
    assert gap <= math.log(m / (1 - confidence)) * 3 <= gap + 1


def test_gap_of_all_rounds_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each selected score against the best left: 5 % failures for both rounds, not for each."""
    mechanism = PermuteAndFlip(Fraction(1, 2), rounds=2)
    gap = mechanism.gap(0.95, 3)
    assert gap > PermuteAndFlip(Fraction(1, 2)).gap(0.95, 3)
    for scores in ((0, 9, 9), (0, 0, 12), (5, 0, 10), (0, 6, 13)):
        failed = 0.0
        for order, p in peeled(mechanism, scores, monkeypatch).items():
            left = set(range(3))
            for chosen in order:
                if max(scores[i] for i in left) - scores[chosen] > gap:
                    failed += p
                    break
                left.remove(chosen)
        assert failed <= 0.05
