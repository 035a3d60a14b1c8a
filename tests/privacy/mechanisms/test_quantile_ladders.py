"""Quantiles with intervals: what each stage tells, what counts certify, how often it holds."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_quantiles import exactly, ranks

from dppandas.privacy.accounting.losses import Epsilon, Rho
from dppandas.privacy.accounting.measures import LossRequest, Measure
from dppandas.privacy.mechanisms import quantile_ladders as ladders
from dppandas.privacy.mechanisms import quantiles
from dppandas.privacy.mechanisms.base import Sensitivity
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.privacy.mechanisms.quantile_ladders import (
    RANKS,
    VALUES,
    Ladder,
    LadderQuantiles,
    Stages,
    Ties,
)
from dppandas.privacy.mechanisms.quantile_plans import plan
from dppandas.privacy.mechanisms.ranks import Ranks

HALF = Fraction(1, 2)
QUARTERS = (Fraction(1, 4), HALF, Fraction(3, 4))
NO_NOISE = DiscreteLaplace(Fraction(0))


def law(
    shares: Sequence[Fraction] = (HALF,),
    top: int = 2**30,
    epsilon: Any = 1,
    rows: int = 1,
    stages: Stages = VALUES,
    has_step: bool = False,
) -> LadderQuantiles:
    asked = LossRequest(epsilon=Epsilon(epsilon))
    moved = Sensitivity(rows, rows * rows, rows, monotone=False)
    return LadderQuantiles.calibrate(asked, moved, tuple(shares), (top,), 1, stages, (has_step,))


# --- what it costs, and what a unit can change ----------------------------------------------------


@pytest.mark.parametrize("stages", [RANKS, VALUES])
@pytest.mark.parametrize("shares", [(HALF,), (Fraction(0),), QUARTERS])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 1), (2, 4)])
def test_the_stages_cost_what_is_asked(
    stages: Stages, shares: Any, rows: int, columns: int
) -> None:
    moved = Sensitivity(rows * columns, rows**2 * columns, rows, monotone=False)
    of = moved, shares, (9,) * columns, 2, stages
    pure = LadderQuantiles.calibrate(LossRequest(epsilon=Epsilon("0.3")), *of)
    assert pure.cost(Measure.PURE, moved).epsilon == Fraction(3, 10)
    counted = LadderQuantiles.calibrate(
        LossRequest(Measure.ZCDP, rho=Rho("0.07"), noise="gaussian"), *of
    )
    assert 0 <= Fraction(7, 100) - counted.cost(Measure.ZCDP, moved).rho < Fraction(1, 10**12)
    assert isinstance(counted.of_counts, DiscreteGaussian)
    # Laplace noise and choices at their own ρ: never more than that of a pure ε
    assert pure.cost(Measure.ZCDP, moved).rho <= Fraction(9, 200)


@given(
    shares=st.sets(st.fractions(0, 1, max_denominator=12), min_size=1, max_size=9),
    rows=st.integers(-5, 10**6),
)
def test_the_levels_of_choices_share_their_part(shares: set[Fraction], rows: int) -> None:
    mechanism, parts = law(sorted(shares)), VALUES.levels(len(shares))
    found = mechanism.ladders([rows])
    assert sum(parts) == 1
    assert found == sorted(found) or len(shares) > 1
    assert mechanism.shares == tuple(found[len(VALUES.rungs) :: VALUES.points])
    nodes = plan(tuple(sorted(set(found))), mechanism.shares)
    assert max(node.level for node in nodes) < len(parts)
    early = [sorted(set(found))[node.at] in shares for node in nodes]
    assert early == sorted(early, reverse=True)  # quantiles before rungs
    assert sorted(node.at for node in nodes) == list(range(len(set(found))))


@pytest.mark.parametrize(
    ("chosen", "size", "released"),
    [
        ((HALF,), 1, [90]), ((HALF,), 1, [0]), ((HALF,), 2, [90]), ((QUARTERS[0],), 1, []),
        ((QUARTERS[0],), 2, []), ((Fraction(1),), 1, []), ((QUARTERS[0], HALF), 1, []),
    ],
)  # fmt: skip
def test_choices_tell_no_more_than_their_part(
    monkeypatch: Any, chosen: Any, size: int, released: list[int]
) -> None:
    """Exact laws of the points on all tables of a row on 3 points (2 for units of two rows), given
    the number of rows that was released, if any was: the largest log-ratio of neighbours is at most
    the ε of choices."""
    monkeypatch.setattr(quantiles, "PARTS", 4)
    places, stages = range(3 if size == 1 else 2), VALUES if released else RANKS
    mechanism = law(chosen, top=places[-1], epsilon=5, rows=size, stages=stages)
    shares = mechanism.ladders(released)
    laws: dict[tuple[int, ...], dict[Any, Fraction]] = {}

    def of(rows: Sequence[int]) -> dict[Any, Fraction]:
        key = tuple(sorted(rows))
        if key not in laws:
            laws[key] = exactly(
                monkeypatch, lambda: tuple(mechanism._chosen(ranks(key), places[-1], shares))
            )
        return laws[key]

    worst = 0.0
    for n in range(2):
        for rows in itertools.combinations_with_replacement(places, n):
            for unit in itertools.combinations_with_replacement(places, size):
                one, other = of(rows), of([*rows, *unit])
                assert set(one) == set(other)
                worst = max(worst, *[abs(math.log(one[x] / other[x])) for x in one])
    assert worst <= 5 * stages.of_choices
    assert worst > (0.1 if released else 0.4) * 5 * stages.of_choices


@given(data=st.data(), top=st.integers(0, 5), stages=st.sampled_from([RANKS, VALUES]))
def test_a_row_changes_one_count_by_one(data: Any, top: int, stages: Stages) -> None:
    """Whatever the points: so ℓ1 is the rows of a unit. What is always empty has no noise."""
    values, size = st.lists(st.integers(0, top), max_size=8), 3 * stages.points
    points = sorted(data.draw(st.lists(st.integers(0, top), min_size=size, max_size=size)))
    rows, unit = data.draw(values), data.draw(values)
    mechanism = law(QUARTERS, top, stages=stages, has_step=data.draw(st.booleans()))
    found = []
    for table in (rows, rows + unit):
        object.__setattr__(mechanism, "of_counts", NO_NOISE)
        object.__setattr__(mechanism, "of_rows", NO_NOISE if stages.of_rows else None)
        object.__setattr__(mechanism, "_chosen", lambda *_: points)
        found.append(mechanism._measured(ranks(table), 0))
    split = stages.numbers + len(points)
    counts = [np.array(each[split:]) for each in found]
    numbers = [len(rows), len(rows) + len(unit)]
    assert [each[: stages.numbers] for each in found] == [[n][: stages.numbers] for n in numbers]
    assert [each.sum() for each in counts] == numbers
    assert (counts[1] >= counts[0]).all()
    assert np.abs(counts[1] - counts[0]).sum() == len(unit)
    ends = mechanism._ends(points, 0)
    wide = [low < high for low, high in itertools.pairwise(ends)]
    object.__setattr__(mechanism, "of_counts", DiscreteLaplace(Fraction(10**12)))
    noisy = np.array(mechanism._measured(ranks(rows), 0)[split:])
    assert (noisy[~np.array(wide)] == 0).all()
    assert (noisy != counts[0])[wide].all()  # noise of 0 has a probability of 5e-13


# --- what counts certify --------------------------------------------------------------------------


def read_exactly(
    values: list[int],
    points: Sequence[int],
    shares: Any,
    top: int,
    stages: Stages = VALUES,
    has_step: bool = False,
) -> Ladder:
    """What is read where no noise is added."""
    ties = Ties(top, has_step)
    ends = [0, *stages.all_edges(points, shares, ties), top + 1]
    counts = [sum(a <= x < b for x in values) for a, b in itertools.pairwise(ends)]
    return Ladder(tuple(shares), tuple(points), tuple(counts), ties, stages)


@given(data=st.data(), share=st.fractions(0, 1, max_denominator=6))
def test_without_noise_errors_are_exact_and_intervals_hold(data: Any, share: Fraction) -> None:
    top = 7
    values = sorted(data.draw(st.lists(st.integers(0, top), min_size=1, max_size=12)))
    points = sorted(data.draw(st.lists(st.integers(0, top), min_size=5, max_size=5)))
    found, n, own = read_exactly(values, points, (share,), top), len(values), points[2]
    below, up_to = sum(x < own for x in values), sum(x <= own for x in values)
    off = max(0, math.ceil(below - share * n), math.ceil(share * n - up_to))
    assert found.error(NO_NOISE, 0, 0.05) == off
    low, high = found.interval(NO_NOISE, 0, 0.05)
    place = (n - 1) * share
    between = values[math.floor(place)], values[math.ceil(place)]  # where pandas interpolates
    assert low <= between[0] <= between[1] <= high
    assert low <= own <= high
    # the tightest that these points allow: from outside inwards
    lower = [p for p in points[:3] if sum(x < p for x in values) <= place]
    upper = [p for p in points[2:] if sum(x <= p for x in values) >= place + 1]
    assert (low, high) == (max(lower, default=0), min(upper, default=top))


@given(data=st.data(), has_step=st.booleans())
def test_without_noise_errors_of_few_cells_are_exact_where_values_tie(
    data: Any, has_step: bool
) -> None:
    """Where points have no cell of their own an error counts the rows at the point too. Those that
    values are clipped to have one."""
    top = 5
    values = data.draw(st.lists(st.integers(0, top), min_size=1, max_size=12))
    shares = (Fraction(0), *QUARTERS, Fraction(1))
    points = sorted(data.draw(st.lists(st.integers(0, top), min_size=5, max_size=5)))
    found, n = read_exactly(values, points, shares, top, RANKS, has_step), len(values)
    assert len(found.counts) + len(points) == RANKS.size(shares)
    for place, (own, share) in enumerate(zip(points, shares, strict=True)):
        below, up_to = sum(x < own for x in values), sum(x <= own for x in values)
        if has_step or share in (0, 1) or own in (0, top):
            off = max(0, math.ceil(below - share * n), math.ceil(share * n - up_to))
        else:
            off = math.ceil(abs(up_to - share * n))
        assert found.error(NO_NOISE, place, 0.05) == off


def test_an_atom_at_the_quantile_is_its_interval() -> None:
    """Edges on the other sides of the points would leave it out, and give the rungs around it."""
    values = [0] * 20 + [3] * 60 + [7] * 20
    found = read_exactly(values, [3, 3, 3, 3, 3], (HALF,), 7)
    assert found.interval(NO_NOISE, 0, 0.05) == (3, 3)
    assert read_exactly(values, [0, 0, 3, 7, 7], (HALF,), 7).interval(NO_NOISE, 0, 0.05) == (3, 3)


def laplace(scale: float, most: int) -> Any:
    a, z = math.exp(-1 / scale), np.abs(np.arange(-most, most + 1))
    return (1 - a) / (1 + a) * a**z


@pytest.mark.parametrize("share", [HALF, Fraction(1, 3), Fraction(0), Fraction(1)])
@pytest.mark.parametrize(("left", "right"), [(1, 1), (3, 0), (2, 4)])
@pytest.mark.parametrize("risk", [0.05, 1e-3])
def test_noise_of_both_sides_is_bounded_tightly(
    share: Any, left: int, right: int, risk: float
) -> None:
    scale, most = 2.5, 150
    sides, noise = ladders._Sides(share, left, right), DiscreteLaplace(Fraction(5, 2))
    width = sides.width(noise, risk)
    assert width <= sides._roughly(noise, risk) < 2 * width + 4
    a, b = share.numerator, share.denominator
    chances = np.ones(1)
    for weight in [b - a] * left + [a] * right:
        each = np.zeros(2 * most * weight + 1)
        each[:: max(1, weight)] = laplace(scale, most) if weight else 1.0
        chances = np.convolve(chances, each)
    sums = np.arange(len(chances)) - len(chances) // 2
    assert chances[sums > width].sum() <= risk
    assert width == 0 or chances[sums > 0.97 * width - 2].sum() > risk


# --- how often it holds ---------------------------------------------------------------------------

N = 3000
_RNG = np.random.default_rng(7)
#: Continuous, ages, an atom that holds the quantiles, all values at a bound, and half at each
#: bound, so that pandas' median lies where nobody is.
TABLES: dict[str, tuple[Any, int]] = {
    "continuous": (np.rint(_RNG.lognormal(size=N) / 50 * 2**30).clip(0, 2**30), 2**30),
    "ages": (_RNG.integers(0, 44, N), 43),
    "an atom": (np.where(_RNG.random(N) < 0.7, 2**28, np.rint(_RNG.random(N) * 2**30)), 2**30),
    "at a bound": (np.full(N, 2**30), 2**30),
    "at both bounds": (np.repeat([0, 2**30], N // 2), 2**30),
    "few": (np.rint(_RNG.random(40) * 2**30), 2**30),
}
#: Of 2,000 draws at most so many fail: P[Bin(2000, 0.05) > 150] < 7e-7.
DRAWS, FAILURES = 2000, 150


def read(mechanism: LadderQuantiles, table: Ranks) -> list[Ladder]:
    of = mechanism.shares, mechanism.tops, mechanism.stages, mechanism.steps
    return ladders.ladders(mechanism.release([[table]]), *of)


def failures(values: Any, top: int, mechanism: LadderQuantiles, draws: int) -> tuple[int, int]:
    """How many draws have an interval, and how many an error, that doesn't hold."""
    values = np.sort(values.astype(np.int64))
    table, n, shares = Ranks(*np.unique(values, return_counts=True)), len(values), mechanism.shares
    risk, wrong, off = 0.05 / len(shares), 0, 0
    for _ in range(draws):
        (found,) = read(mechanism, table)
        missed = short = False
        for place, share in enumerate(shares):
            low, high = found.interval(mechanism.of_counts, place, risk)
            at = (n - 1) * share
            missed |= not low <= values[math.floor(at)] <= values[math.ceil(at)] <= high
            below, up_to = (table.mass(found.point(place) + i, 1) for i in (0, 1))
            real = max(below - share * n, share * n - up_to)
            short |= found.error(mechanism.of_counts, place, risk) < real
        wrong, off = wrong + missed, off + short
    return wrong, off


def cases() -> list[Any]:
    """The quick ones by day."""
    quick = {"continuous", "at both bounds", "few"}
    return [pytest.param(n, marks=[] if n in quick else pytest.mark.deep) for n in TABLES]


@pytest.mark.statistical
@pytest.mark.parametrize("name", cases())
def test_intervals_and_errors_hold_in_two_thousand_draws(name: str) -> None:
    """False alarms below 1e-6 for each. Power: at a risk of 0.1, 200 fail, with a deviation of 13;
    half of the noise's bound left out has 0.2 and more (continuous)."""
    values, top = TABLES[name]
    assert max(failures(values, top, law(top=top), DRAWS)) <= FAILURES


@pytest.mark.deep
@pytest.mark.statistical
def test_quartiles_hold_together_in_two_thousand_draws() -> None:
    """As for one: rows of units of two, in quartiles of a mix of atoms and other values."""
    values, top = TABLES["an atom"]
    assert max(failures(values, top, law(QUARTERS, top, rows=2), DRAWS)) <= FAILURES


@pytest.mark.statistical
def test_a_gaussian_ladder_holds_in_two_thousand_draws() -> None:
    values, top = TABLES["continuous"]
    asked = LossRequest(Measure.ZCDP, rho=Rho("0.05"), noise="gaussian")
    moved = Sensitivity(1, 1, 1, monotone=False)
    mechanism = LadderQuantiles.calibrate(asked, moved, (HALF,), (top,), 1)
    assert max(failures(values, top, mechanism, DRAWS)) <= FAILURES


@pytest.mark.statistical
@pytest.mark.parametrize("name", [
    "continuous", pytest.param("ages", marks=pytest.mark.deep), "at both bounds", "few",
])  # fmt: skip
def test_errors_hold_in_two_thousand_draws(name: str) -> None:
    """As for intervals, with cells between the answers alone: of points only where many values are
    equal."""
    values, top = TABLES[name]
    mechanism = law(QUARTERS, top, stages=RANKS, has_step=name == "ages")
    assert max(failures(values, top, mechanism, DRAWS)) <= FAILURES


@pytest.mark.statistical
@pytest.mark.parametrize(("shares", "most"), [((HALF,), 10), (QUARTERS, 17)])
def test_errors_are_as_small_as_said(shares: tuple[Fraction, ...], most: int) -> None:
    """Means of 40 answers, ε = 1: 8.6 and 14.5, with deviations of about .25 and .3. Power: a third
    more noise states 11.4 and 19.3."""
    values, top = TABLES["continuous"]
    table = Ranks(*np.unique(values.astype(np.int64), return_counts=True))
    mechanism, errors = law(shares, top, stages=RANKS), []
    for _ in range(40):
        (found,) = read(mechanism, table)
        risk = 0.05 / len(shares)
        errors += [found.error(mechanism.of_counts, place, risk) for place in range(len(shares))]
    assert np.mean(errors) < most


@pytest.mark.statistical
def test_intervals_are_as_narrow_as_said() -> None:
    """Median half widths in ranks of 40 answers, ε = 1. Means have a deviation of about 1.5 and 2;
    the limits are beyond 5 of them. Power: rungs at twice the distance are twice as wide."""
    values, top = TABLES["continuous"]
    values = np.sort(values.astype(np.int64))
    table = Ranks(*np.unique(values, return_counts=True))
    for shares, most in (((HALF,), 38), (QUARTERS, 62)):
        mechanism, widths = law(shares, top), []
        for _ in range(40):
            (found,) = read(mechanism, table)
            for place in range(len(shares)):
                ends = found.interval(mechanism.of_counts, place, 0.05 / len(shares))
                low, high = (table.mass(end, 1) for end in ends)
                widths.append((high - low) / 2)
        assert np.median(widths) < most


# --- of a population ------------------------------------------------------------------------------

#: The chances of the points of populations: as likely, with an atom, and of few kinds of values.
POPULATIONS = {
    "continuous": np.full(2**20, 2.0**-20), "an atom": np.r_[np.full(9, 0.05), 0.55],
    "two values": np.array([0.3, 0.0, 0.0, 0.7]),
}  # fmt: skip


def misses(name: str, shares: Sequence[Fraction], rows: int, draws: int, epsilon: Any) -> int:
    """How often an interval for a share doesn't hold every quantile of the population."""
    chances, rng = POPULATIONS[name], np.random.default_rng(21)
    top, up_to = len(chances) - 1, np.cumsum(chances)
    mechanism = law(shares, top, epsilon, has_step=top < 100)
    missed = 0
    for _ in range(draws):
        values = rng.choice(top + 1, rows, p=chances) if top < 100 else rng.integers(0, top, rows)
        noisy = mechanism.release([[ranks(values.tolist())]])
        (found,) = ladders.ladders(noisy, shares, [top], VALUES, [top < 100])
        for place, share in enumerate(sorted(set(shares))):
            low, high = found.of_population(mechanism.of_counts, place, 0.1)
            least = int(np.searchsorted(up_to, float(share) - 1e-9))
            most = int(np.searchsorted(up_to, float(share) + 1e-9, "right"))
            missed += not low <= least <= min(most, top) <= high
    return missed


@pytest.mark.statistical
@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize(("share", "rows"), [(HALF, 400), (Fraction(1, 10), 60)])
def test_quantiles_of_a_population_hold(name: str, share: Fraction, rows: int) -> None:
    """120 draws of rows and noise, at a risk of 0.1: more than 30 fail with a probability of 6e-7.
    Intervals of the sample's own quantile fail in 60 and more (continuous, ε = 4)."""
    assert misses(name, (share,), rows, 120, 4) <= 30


def test_of_a_few_rows_no_quantile_of_a_population_is_known() -> None:
    mechanism = law((HALF,), top=2**20, epsilon=4)
    (found,) = ladders.ladders(
        mechanism.release([[ranks([5, 2**19, 2**19 + 7])]]), (HALF,), [2**20], VALUES, [False]
    )
    assert found.of_population(mechanism.of_counts, 0, 0.001) == (0, 2**20)
