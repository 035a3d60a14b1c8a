"""Quantiles with noise by a released bound of their sensitivity: (ε, δ) by exact laws on all tiny
databases, and intervals that hold."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal
from test_quantiles import ranks

import dppandas as dp
from dppandas import statistics as stats
from dppandas.errors import QueryError, RecordError
from dppandas.privacy.accounting.conversions import rho_of_pure
from dppandas.privacy.accounting.losses import Delta, Epsilon
from dppandas.privacy.accounting.measures import LossRequest
from dppandas.privacy.mechanisms import smooth as smoothing
from dppandas.privacy.mechanisms.sensitivity_bounds import FINEST, PARTS, BoundedSensitivity
from dppandas.privacy.mechanisms.smooth import AtRank
from dppandas.privacy.sampling import samplers
from dppandas.rows.expressions import Column
from dppandas.rows.facts.bounds import Bounds

TOP = 7
VALUES = (0, 2, 3, 7)
SHARES = [Fraction(q) for q in ("0", "1/2", "2/3", "1")]
HALF = Fraction(1, 2)

Rows = tuple[int, ...]


def law(
    rows: int = 1, share: Fraction = HALF, epsilon: str = "1", delta: str = "1e-2", top: int = TOP
) -> BoundedSensitivity:
    asked = LossRequest(epsilon=Epsilon(epsilon), delta=Delta(delta))
    return BoundedSensitivity.calibrate(asked, rows, share, top)


def databases(most: int) -> list[Rows]:
    multisets = itertools.combinations_with_replacement
    return [rows for n in range(most + 1) for rows in multisets(VALUES, n)]


def pairs(most: int, rows: int) -> Iterator[tuple[Rows, Rows]]:
    """Each database of up to `most` rows, and the same with up to `rows` more."""
    for one in databases(most):
        for more in range(1, rows + 1):
            for added in itertools.combinations_with_replacement(VALUES, more):
                yield one, tuple(sorted(one + added))


def exact(by: BoundedSensitivity, rows: Rows) -> tuple[int, int]:
    """The place of the bound, and the value."""
    return by.place(ranks(rows)), AtRank(by.share).at(ranks(rows), by.top)


def laplace(z: Any, scale: float) -> Any:
    """P[Z = z]; all at 0 for a scale of 0."""
    if not scale:
        return np.where(z == 0, 1.0, 0.0)
    return math.tanh(1 / (2 * scale)) * np.exp(-np.abs(z) / scale)


def of_places(by: BoundedSensitivity, place: int) -> Any:
    """The chance of each bound: that of the noise, with all beyond an end at this end."""
    far, last = 4000, len(by.bounds) - 1
    z = np.arange(-far, far + 1)
    at = np.clip(place + z + by.margin, 0, last)
    return np.bincount(at, laplace(z, float(by.scale)), last + 1)


@cache
def spent(by: BoundedSensitivity, one: tuple[int, int], other: tuple[int, int]) -> float:
    """The least δ at ε of the law of bound and point at one database, against that at another."""
    (place, value), (near, moved) = one, other
    mine, theirs = of_places(by, place), of_places(by, near) * math.exp(float(by.epsilon))
    z, total = np.arange(-800, 801), 0.0
    for bound, p, q in zip(by.bounds.tolist(), mine.tolist(), theirs.tolist(), strict=True):
        scale = bound / PARTS * float(by.scale)
        total += np.maximum(0, p * laplace(z - value, scale) - q * laplace(z - moved, scale)).sum()
    return total


# --- the bound ------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", SHARES, ids=str)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_neighbours_have_near_places_whose_bounds_cover_the_change(
    share: Fraction, rows: int
) -> None:
    none_move_far(law(rows, share), rows)


@pytest.mark.parametrize("near", [0, 1, 3])
@pytest.mark.parametrize("rows", [1, 2])
def test_nor_do_they_where_wider_bounds_begin_earlier(
    near: int, rows: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(smoothing, "NEAR", near)
    none_move_far(law(rows, Fraction(2, 3)), rows)


def none_move_far(by: BoundedSensitivity, rows: int) -> None:
    found = {one: exact(by, one) for one in databases(4 + rows)}
    moved = 0
    for one, other in pairs(4, rows):
        (place, value), (near, there) = found[one], found[other]
        assert abs(place - near) <= 1
        assert by.bounds[min(place, near)] >= abs(value - there) * PARTS
        moved += place != near
    assert moved > 20 or smoothing.NEAR < 2  # where all bounds are the widest


@pytest.mark.parametrize("epsilon", ["0.01", "1", "7"])
@pytest.mark.parametrize("delta", ["0.2", "1e-3", "1e-9"])
def test_the_margin_is_the_least(epsilon: str, delta: str) -> None:
    """P[Z < -t] = a^(t+1)/(1+a), with a = exp(-ε/2)."""
    a, margin = math.exp(-float(epsilon) / 2), law(epsilon=epsilon, delta=delta).margin
    assert a ** (margin + 1) / (1 + a) <= float(delta)
    assert margin == 0 or a**margin / (1 + a) > float(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [("8", "0.2"), ("1", "1e-6"), ("1e-6", "1e-9")])
@pytest.mark.parametrize("top", [0, 1, 120, 2**30])
def test_bounds_rise_from_nothing_to_the_whole_width(top: int, epsilon: str, delta: str) -> None:
    """By no more than a share of each, which is never too fine."""
    by = law(epsilon=epsilon, delta=delta, top=top)
    bounds = by.bounds
    assert (bounds[0], bounds[-1]) == (0, top * PARTS)
    assert (np.diff(bounds) > 0).all()
    least = min(max(by.margin, 1), FINEST)
    assert (np.diff(bounds) <= np.maximum(1, bounds[:-1] // least)).all()
    assert len(bounds) <= 120_000


# --- the loss -------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [HALF, Fraction(2, 3)], ids=str)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("epsilon", ["1", "3"])
def test_every_pair_of_neighbours_of_a_tiny_domain_stays_within_epsilon_and_delta(
    share: Fraction, rows: int, epsilon: str
) -> None:
    """All databases of up to four rows of four values with up to `rows` more, both ways, with the
    exact law of bound and point. A bound with a margin of nothing takes more than δ."""
    by = law(rows, share, epsilon)
    found = {one: exact(by, one) for one in databases(4 + rows)}
    cases = {(found[a], found[b]) for pair in pairs(4, rows) for a, b in (pair, pair[::-1])}
    worst = max(spent(by, one, other) for one, other in cases)
    assert 0 < worst <= float(by.delta)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("last", [0, 1, 2, 7])
def test_what_is_left_of_neighbours_where_the_bound_holds_is_purely_private(
    epsilon: float, last: int
) -> None:
    """Where ρ is counted: noises around places that are 1 apart, from the least that covers on,
    of which the larger sum is thinned out beyond its middle until both are equal."""
    a = math.exp(-epsilon / 2)
    z = np.arange(-last, 200)  # m = last steps below the middle of the first
    p, q = (1 - a) / (1 + a) * a ** np.abs(z), (1 - a) / (1 + a) * a ** np.abs(z + 1)
    if last:
        thin = np.where(z >= 0, 1 - a**last * (1 - a), 1.0)
        assert math.isclose((p * thin).sum(), q.sum(), rel_tol=1e-6)
        ratio = p * thin / q
        assert ratio.max() <= 1 / a * (1 + 1e-9)
        assert ratio.min() >= a * (1 - 1e-9)


def test_the_loss_that_is_charged() -> None:
    for session, charged in (
        ({"epsilon": 1, "delta": "1e-6"}, ("1", "0.000001", "0")),
        ({"rho": 1, "delta": "1e-6", "delta_releases": "1e-6"},
         ("0", "0.000001", str(2 * rho_of_pure(HALF)))),
    ):  # fmt: skip
        dp.reset()
        dp.session(**session)  # type: ignore[arg-type]
        answer = people()["age"].median(method="bounded_sensitivity", epsilon=1, delta="1e-6")
        loss = dp.record(answer).loss
        found = loss.epsilon, loss.delta, loss.rho
        assert found == tuple(map(Fraction, charged))


# --- answers --------------------------------------------------------------------------------------


def people(rows: int = 1) -> Any:
    frame = pd.DataFrame({"age": np.arange(4000) % 60 + 20.0, "who": np.arange(4000) // rows})
    unit = {"unit": "who", "max_rows": rows} if rows > 1 else {}
    return dp.protect(frame, "people", **unit, domain={"age": (0, 120)})


def frozen(monkeypatch: pytest.MonkeyPatch, noise: int) -> None:
    def drawn(scale: Fraction, size: int) -> Any:
        return np.full(size, noise)

    monkeypatch.setattr(samplers, "discrete_laplace_vector", drawn)


@pytest.fixture(autouse=True)
def _session() -> None:
    dp.session(epsilon=1000, delta="0.01")


ASKED: Any = {"method": "bounded_sensitivity", "epsilon": 1, "delta": "1e-6"}


def test_without_noise_it_is_the_value_of_its_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen(monkeypatch, 0)
    rng = np.random.default_rng(1)
    for n in (1, 2, 7, 100):
        series = pd.Series(rng.integers(0, 64, n))
        for q in (0.25, 0.5, 0.9):
            found = series.dp.quantile(q, bounds=(0, 64), **ASKED)
            assert found == sorted(series)[max(1, math.ceil(Fraction(str(q)) * n)) - 1]
            assert isinstance(found, float)
    assert pd.Series([], dtype=float).dp.median(bounds=(0, 64), **ASKED) == 64
    assert pd.Series([9]).dp.median(bounds=(5, 5), **ASKED) == 5


@pytest.mark.parametrize("rows", [1, 4])
def test_the_bound_covers_a_unit_and_leaves_a_margin(rows: int, monkeypatch: Any) -> None:
    frozen(monkeypatch, 0)
    record = dp.record(people(rows)["age"].median(step=1, **ASKED))
    by = law(rows, delta="1e-6", top=120)
    place = by.place(ranks(tuple((np.arange(4000) % 60 + 20).tolist())))
    assert record._noisy == (by.bounds[place + 26], 49)
    assert by.margin == 26
    bound = by.bounds[place + 26] / PARTS
    assert record.noise.scale == pytest.approx(2 * bound)
    assert record.scale == 2
    assert "2 times the bound that was released" in str(record)
    assert "median (step 1) by bounded sensitivity of age" in record.query


def test_answers_and_bounds_stay_within_the_ends(monkeypatch: Any) -> None:
    frozen(monkeypatch, 10**6)
    answer = people()["age"].median(step=1, **ASKED)
    assert answer == 120
    assert dp.record(answer)._noisy[0] == 120 * PARTS
    low, high = answer.interval()
    assert 0 <= low <= answer <= high <= 120


def test_each_half_of_epsilon_has_its_noise(monkeypatch: Any) -> None:
    """Of scale 2/ε for the place, whatever the rows of a unit, and 2/ε bounds for the point."""
    scales: list[Fraction] = []

    def drawn(scale: Fraction, size: int) -> Any:
        scales.append(scale)
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(samplers, "discrete_laplace_vector", drawn)
    record = dp.record(people(4)["age"].median(step=1, **ASKED | {"epsilon": 0.5}))
    assert scales == [4, Fraction(record._noisy[0], PARTS) * 4]


def test_a_bound_of_nothing_leaves_the_value_as_it_is(monkeypatch: Any) -> None:
    frozen(monkeypatch, -(10**6))
    answer = people()["age"].median(step=1, **ASKED)
    record = dp.record(answer)
    assert (answer, record._noisy) == (49, (0, 49))
    assert (answer.interval(), answer.error(), record.noise.std()) == ((49, 49), 0, 0)


def statistic(step: Fraction | None) -> stats.BoundedQuantile:
    within = (Bounds.parse((0, 3), "x"),)
    return stats.BoundedQuantile(
        stats.Cells(), stats.Layout(integer=False), (Column("x"),), within, (HALF,), (step,)
    )


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 4), None], ids=str)
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_intervals_and_errors_hold_by_the_exact_law(step: Any, confidence: float) -> None:
    """For each bound and value: the interval of the noisy point has the value, and all that is
    rounded to it, with at least the stated probability; and the error reaches its farther end."""
    of = statistic(step)
    (grid,) = of.grids
    half = 0.0 if step else float(grid.step) / 2
    by = law(top=grid.high)
    bounds = [0, PARTS // 2, PARTS, 3 * PARTS // 2, 3 * PARTS]
    for bound in bounds:
        scale, values = bound / PARTS * float(by.scale), {0, 1, grid.high // 2, grid.high}
        z = np.arange(-80, 81)
        chances = laplace(z, scale)
        for value in values:
            held, erred = 0.0, 0.0
            true = float(grid.first + value * grid.step) if step else value * float(grid.step)
            for noise, chance in zip(z.tolist(), chances.tolist(), strict=True):
                noisy = [bound, value + noise]
                ((low, high),) = of.errors.intervals_at(noisy, by, confidence)
                (answer,), (error,) = of.estimate(noisy), of.errors.errors_at(noisy, by, confidence)
                assert 0 <= low <= answer <= high <= 3
                far, near = min(true + half, 3), max(true - half, 0)
                held += chance * (low <= near and far <= high)
                erred += chance * (max(abs(answer - far), abs(answer - near)) <= error + 1e-12)
            assert held >= confidence - 1e-9
            assert erred >= confidence - 1e-9


def test_its_error_is_told_with_the_answer_and_not_before(monkeypatch: Any) -> None:
    frozen(monkeypatch, 0)
    column = people()["age"]
    asked = column.median(method="bounded_sensitivity")
    refusal(lambda: asked.expected_error(epsilon=1, delta="1e-6"), "only the answer decides")
    refusal(lambda: column.median(method="bounded_sensitivity", within=1, delta="1e-6"), "answer")
    answer = column.median(**ASKED)
    record = dp.record(answer)
    assert record.noise_dominated is False
    few = dp.protect(pd.DataFrame({"age": [20.0, 40.0]}), "few", domain={"age": (0, 120)})
    assert dp.record(few["age"].median(**ASKED)).noise_dominated is True
    assert answer.error() == record.error()
    assert record.error_unit == "age"
    assert answer.interval()[0] <= answer <= answer.interval()[1]
    with dp.preview():
        blank = dp.record(people()["age"].quantile(0.25, **ASKED))
        refusal(lambda: blank.noise, "released with the answer", RecordError)


def test_times_have_times_and_durations(monkeypatch: Any) -> None:
    frozen(monkeypatch, 1)
    days = pd.Series(pd.date_range("2020-01-01", periods=4000, freq="1h"))
    ends = pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")
    answer = days.dp.median(bounds=ends, step=pd.Timedelta("1h"), **ASKED)
    assert isinstance(answer, pd.Timestamp)
    record = dp.record(answer)
    assert (record.error_unit, record.error() % 3600) == ("seconds", 0)
    assert record.interval()[0] <= answer <= record.interval()[1]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "several": ({"q": [0.5]}, "takes a single q"),
    "no bounds": ({"bounds": None}, "bounds"),
    "interval": ({"interval": True}, "has an interval anyway"),
    "weights": ({"weights": "x"}, "takes no weights"),
    "no δ": ({"delta": None}, r"delta= is needed for a private bound"),
    "Gaussian": ({"mechanism": "gaussian"}, "Laplace noise"),
    "named": ({"mechanism": "laplace"}, r"Leave mechanism= out"),
    "a wide step": ({"step": 100}, "step"),
    "a large δ": ({"delta": 0.3}, "above 0.01"),
    "another": ({"method": "local"}, "'exponential', 'smooth' or 'bounded_sensitivity'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_before_anything_is_charged(name: str) -> None:
    more, said = REFUSED[name]
    dp.reset()
    dp.session(epsilon=5, delta="0.01")
    column = pd.Series([1, 2]).dp
    refusal(lambda: column.quantile(**{"bounds": (0, 5), **ASKED, **more}), said)
    assert dp.ledger()._entries() == []


def test_a_session_without_a_delta_is_refused() -> None:
    dp.reset()
    dp.session(epsilon=5)
    refusal(lambda: pd.Series([1, 2]).dp.median(bounds=(0, 5), **ASKED), "no δ to spend")
    refusal(
        lambda: pd.Series([1, 2]).dp.median(
            bounds=(0, 5), method="bounded_sensitivity", epsilon=1),
        "delta= is needed", QueryError,
    )  # fmt: skip
    assert dp.ledger()._entries() == []


def test_pickles_and_equal_laws() -> None:
    assert law() == law()
    assert replace(law(), top=3).bounds[-1] == 3 * PARTS
