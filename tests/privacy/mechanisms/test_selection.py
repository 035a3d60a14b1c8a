"""Selections: exact losses, privacy by enumeration of the exact laws, peeling, and gaps."""

import decimal
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from exact import selection_law
from hypothesis import given
from hypothesis import strategies as st

from dppandas.errors import InternalError
from dppandas.privacy.accounting import conversions
from dppandas.privacy.mechanisms import selection as selections
from dppandas.privacy.mechanisms.selection import Exponential, PermuteAndFlip, selection_weights
from dppandas.privacy.sampling import samplers

EPSILONS = st.fractions(Fraction(1, 2**20), 64, max_denominator=2**21)
SENSITIVITIES = st.integers(1, 2**80)
KINDS = [PermuteAndFlip, Exponential]


@pytest.mark.parametrize("sensitivity", [0, -1])
@pytest.mark.parametrize("kind", KINDS)
def test_a_selection_needs_scores_that_can_change(kind: Any, sensitivity: int) -> None:
    with pytest.raises(InternalError):
        kind.calibrate(sensitivity, Fraction(1), monotone=True)


@pytest.mark.parametrize("kind", KINDS)
def test_selecting_everything_orders_it(kind: Any) -> None:
    """All rounds, and gaps so large that the order is certain (odds of e^-80 against)."""
    assert kind(Fraction(1), rounds=4).release([10_000, 2**70, 0, 20_000]) == [1, 3, 0, 2]


# --- permute-and-flip -----------------------------------------------------------------------------


@given(SENSITIVITIES, EPSILONS, st.booleans(), st.integers(1, 50))
def test_selection_loses_exactly_what_is_asked(
    sensitivity: int, epsilon: Fraction, monotone: bool, rounds: int
) -> None:
    mechanism = PermuteAndFlip.calibrate(sensitivity, epsilon, monotone, rounds)
    assert mechanism.loss(sensitivity, monotone) == epsilon
    assert mechanism.rate == epsilon / rounds / sensitivity / (1 if monotone else 2)
    assert mechanism.scale * mechanism.rate == 1


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
    worst = worst_loss(mechanism, neighbours(4, 3, tuple(range(sensitivity + 1))))
    assert float(EPSILON) * 0.999 <= worst <= float(EPSILON) * (1 + 1e-9)


def test_other_selection_needs_the_coefficient_2() -> None:
    """Scores that move either way: half the rate is ε-DP and tight, the full rate loses 2ε."""
    changes = (-1, 0, 1)
    mechanism = PermuteAndFlip.calibrate(1, EPSILON, monotone=False)
    worst = worst_loss(mechanism, neighbours(3, 3, changes))
    assert float(EPSILON) * 0.999 <= worst <= float(EPSILON) * (1 + 1e-9)
    careless = PermuteAndFlip.calibrate(1, EPSILON, monotone=True)
    assert worst_loss(careless, neighbours(3, 3, changes)) > float(EPSILON) * 1.9


def peeled(mechanism: PermuteAndFlip, scores: Scores, monkeypatch: Any) -> dict[Scores, float]:
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
    pairs = list(neighbours(2, 3, (0, 1)))
    laws = {s: peeled(mechanism, s, monkeypatch) for s in set(itertools.chain(*pairs))}
    assert set(laws[0, 0, 0]) == set(itertools.permutations(range(3), 2))
    assert all(sum(law.values()) == pytest.approx(1, abs=1e-12) for law in laws.values())
    for x, y in pairs:
        for order, p in laws[x].items():
            assert abs(math.log(p / laws[y][order])) <= float(EPSILON) * (1 + 1e-9)


@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_gap_of_permute_and_flip_holds_exactly(confidence: float, m: int) -> None:
    """P[max - selected score > gap] ≤ 1 - confidence for every vector of scores, by exact sums."""
    mechanism = PermuteAndFlip(Fraction(1, 3))
    gap = mechanism.utility_gap(confidence, m)
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
    gap = mechanism.utility_gap(0.95, 3)
    assert gap > PermuteAndFlip(Fraction(1, 2)).utility_gap(0.95, 3)
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


# --- the exponential mechanism --------------------------------------------------------------------


def shares(scores: list[int], rate: Fraction) -> list[float]:
    weights = selection_weights(scores, rate)
    return [weight / sum(weights) for weight in weights]


def test_selection_weights_have_the_law() -> None:
    """Numbers: theory.md B0; permute-and-flip's differ."""
    assert shares([0, 1, 3], Fraction(1)) == pytest.approx([0.04201, 0.11420, 0.84379], abs=5e-6)
    assert shares([7, 7, 7, 7], Fraction(3)) == [0.25] * 4
    assert shares([2**70, 2**70 + 1], Fraction(1)) == pytest.approx([0.26894, 0.73106], abs=5e-6)
    # where weights differ by more than any float holds, ties are ties still
    weights = selection_weights([0, 50, 50, 10**9], Fraction(1))
    assert weights[0] == weights[1] == weights[2] > 10**50
    assert weights[3] == 10**90


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("epsilon", [Fraction(9, 10), Fraction(1, 2**20), Fraction(60)])
def test_exponential_is_private_and_tight(monotone: bool, sensitivity: int, epsilon: Any) -> None:
    """All pairs of neighbouring scores of a tiny domain, ties included, by the integer weights.

    The log-ratios of one pair span at most ε: that is pure ε, and ε²/8 in ρ.
    """
    mechanism = Exponential.calibrate(sensitivity, epsilon, monotone)
    assert mechanism.loss(sensitivity, monotone) == epsilon
    assert mechanism.rho(sensitivity, monotone) == epsilon**2 / 8
    changes = (0, sensitivity) if monotone else (-sensitivity, 0, sensitivity)
    worst = 0.0
    for scores in itertools.product(range(4), repeat=3):
        before = selection_weights(scores, mechanism.rate)
        for change in itertools.product(changes, repeat=3):
            changed = [s + c for s, c in zip(scores, change, strict=True)]
            after = selection_weights(changed, mechanism.rate)
            with decimal.localcontext(decimal.Context(prec=80)):
                logs = [(Decimal(a) / Decimal(b)).ln() for a, b in zip(after, before, strict=True)]
                whole = (Decimal(sum(after)) / Decimal(sum(before))).ln()
                bound = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
                assert max(logs) - min(logs) <= bound
                assert all(abs(each - whole) <= bound for each in logs)
                worst = max(worst, float((max(logs) - min(logs)) / bound))
    assert worst >= 1 - 1e-11


def test_selection_for_a_rho() -> None:
    mechanism = Exponential.for_rho(3, Fraction(1, 8), monotone=True, rounds=4)
    assert mechanism.rho(3, monotone=True) == Fraction(1, 8)  # √(8/32) is 1/2
    awkward = Exponential.for_rho(1, Fraction(1, 10), monotone=False)
    assert Fraction(1, 10) * (1 - Fraction(1, 10**14)) < awkward.rho(1, monotone=False)
    assert awkward.rho(1, monotone=False) <= Fraction(1, 10)
    # cheaper than permute-and-flip, whose pure ε is the same
    assert conversions.rho_of_pure(Fraction(1)) > 3 * conversions.rho_of_selection(Fraction(1))
    assert mechanism.scale * mechanism.rate == 1


def test_peeling_never_selects_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    second = lambda weights: (asked.append(len(weights)), min(1, len(weights) - 1))[1]  # noqa: E731
    monkeypatch.setattr(samplers, "weighted_choice", second)
    assert Exponential(Fraction(1), rounds=3).release([5, 6, 7]) == [1, 2, 0]
    assert asked == [3, 2, 1]


@pytest.mark.deep
@pytest.mark.statistical
def test_selection_has_the_law_it_states() -> None:
    """χ², false alarms 1e-7. Permute-and-flip's law is told apart with certainty."""
    stats = pytest.importorskip("scipy.stats")
    n, mechanism = 20_000, Exponential(Fraction(1))
    cells = np.bincount([mechanism.release([0, 1, 3])[0] for _ in range(n)], minlength=3)
    expected = np.exp(np.array([0.0, 1, 3]))
    assert stats.chisquare(cells, n * expected / expected.sum()).pvalue > 1e-7
    other = np.array([0.02377, 0.06654, 0.90968])
    assert stats.chisquare(cells, n * other / other.sum()).pvalue < 1e-7


@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.95, 0.999])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_gap_of_exponential_selection_holds_exactly(confidence: float, m: int) -> None:
    """P[max - selected score > gap] ≤ 1 - confidence for every vector of scores, by exact sums."""
    mechanism = Exponential(Fraction(1, 3))
    gap = mechanism.utility_gap(confidence, m)
    for scores in itertools.product(range(0, 22, 3), repeat=m):
        law = shares(list(scores), mechanism.rate)
        beyond = sum(p for p, s in zip(law, scores, strict=True) if max(scores) - s > gap)
        assert beyond <= 1 - confidence + 1e-12
    assert gap <= math.log(m / (1 - confidence)) * 3 * (1 + 1e-9) <= gap + 1 + 1e-6
    assert Exponential(Fraction(1, 3), rounds=2).utility_gap(confidence, m) >= gap


def test_no_digit_is_missing_for_rounding() -> None:
    """What 2^-40 of the rate pays for: all roundings of weights, at 2^40 candidates and ε 2^-40."""
    least = 10**90 * math.exp(-selections.DEEPEST - math.ceil(math.log(2**40)))
    assert 4 / least < 2.0**-80 / 10**9
