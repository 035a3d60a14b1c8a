"""Privacy losses: against dp_accounting, conversions, sums, and every event of small cases."""

import itertools
import math
from fractions import Fraction
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp
from dppandas.audit import dominating_pairs
from dppandas.audit.loss_curve import PrivacyLoss
from dppandas.errors import MissingArgument, QueryError, RecordError
from dppandas.privacy.accounting import conversions, gaussian

oracle: Any = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")

LAPLACE = [(1.0, 1), (2.5, 3), (10.0, 1), (7.0, 20), (0.4, 2)]
GAUSSIAN = [(0.3, 1), (1.0, 1), (3.7, 1), (20.0, 5), (50.0, 1)]


def grid(loss: dp.types.PrivacyLoss) -> list[float]:
    return loss.curve.index.tolist()[::4]


def from_distribution(loss: dp.types.PrivacyLoss, epsilon: float) -> float:
    """δ by its definition: E[max(0, 1 - e^(ε-L))]."""
    atoms = loss.distribution
    return sum(p * max(0.0, -math.expm1(epsilon - at)) for at, p in atoms.items())


def is_that_of(mine: dp.types.PrivacyLoss, other: Any) -> None:
    for e in grid(mine):
        assert mine.delta(e) == pytest.approx(other.get_delta_for_epsilon(e), abs=1e-13)
        assert mine.delta(e) == pytest.approx(from_distribution(mine, e), abs=1e-13)
    assert mine.distribution.sum() == pytest.approx(1, abs=1e-13)


# --- figures --------------------------------------------------------------------------------------


def test_goldens() -> None:
    continuous = dp.privacy_loss("continuous gaussian", sigma=1)
    assert continuous.delta(1) == pytest.approx(0.126936737507, abs=1e-12)
    assert continuous.beyond(1) == pytest.approx(0.308537538726, abs=1e-12)
    assert round(dp.privacy_loss("gaussian", sigma=1).delta(1), 4) == 0.1414
    analytic = dp.privacy_loss("continuous gaussian", epsilon=1, delta=1e-5)
    assert analytic.beyond(1) == pytest.approx(16e-5, rel=0.05)  # 16 δ
    response = dp.privacy_loss("randomized response", epsilon=Fraction(math.log(3)))
    assert response.distribution.tolist() == pytest.approx([0.25, 0.75], abs=1e-15)
    assert response.delta(0) == pytest.approx(0.5, abs=1e-15)
    laplace = dp.privacy_loss("laplace", epsilon=1)
    a = math.exp(-1)
    assert laplace.distribution.to_dict() == pytest.approx({-1: a / (1 + a), 1: 1 / (1 + a)})
    assert laplace.delta(0) == pytest.approx((1 - a) / (1 + a), abs=1e-15)


@pytest.mark.parametrize(("scale", "shift"), LAPLACE)
def test_laplace_is_that_of_dp_accounting(scale: float, shift: int) -> None:
    mine = dp.privacy_loss("laplace", scale=scale, sensitivity=shift)
    is_that_of(mine, oracle.DiscreteLaplacePrivacyLoss(1 / scale, sensitivity=shift))


@pytest.mark.parametrize(("sigma", "shift"), GAUSSIAN)
def test_gaussian_is_that_of_dp_accounting_and_conversions(sigma: float, shift: int) -> None:
    mine = dp.privacy_loss("gaussian", sigma=sigma, sensitivity=shift)
    is_that_of(mine, oracle.DiscreteGaussianPrivacyLoss(sigma, sensitivity=shift))
    sigma2 = Fraction(str(sigma)) ** 2
    for e in grid(mine):
        proven = gaussian.delta_of_gaussian(sigma2, shift**2, Fraction(str(e)), True)
        assert mine.delta(e) == pytest.approx(float(proven), rel=1e-12)


@pytest.mark.parametrize("sigma", [400, 5000, 2**40])
def test_wide_noise_is_that_of_conversions(sigma: int) -> None:
    shift = sigma // 3
    mine = dp.privacy_loss("gaussian", sigma=sigma, sensitivity=shift)
    for e in (0.0, 0.1, 1.0, 2.5):
        proven = gaussian.delta_of_gaussian(Fraction(sigma**2), shift**2, Fraction(str(e)), True)
        assert mine.delta(e) == pytest.approx(float(proven), rel=1e-9)
        # lumped: rounded up, by a grid's step
        assert mine.delta(e) - 1e-9 <= from_distribution(mine, e) <= mine.delta(e) + 0.01


def test_continuous_laws_are_those_of_dp_accounting() -> None:
    pairs = [
        (dp.privacy_loss("continuous gaussian", sigma=2), oracle.GaussianPrivacyLoss(2)),
        (dp.privacy_loss("continuous laplace", epsilon=1.5), oracle.LaplacePrivacyLoss(1 / 1.5)),
    ]
    for mine, other in pairs:
        for e in grid(mine):
            assert mine.delta(e) == pytest.approx(other.get_delta_for_epsilon(e), abs=1e-13)
            assert from_distribution(mine, e) >= mine.delta(e) - 1e-12


@pytest.mark.parametrize("keys", [2, 3, 7])
def test_randomised_response_by_every_event(keys: int) -> None:
    e = Fraction(3, 2)
    mine = dp.privacy_loss("randomized response", epsilon=e, keys=keys)
    other = 1 / (math.exp(e) + keys - 1)
    true = math.exp(e) * other
    p, q = [true] + [other] * (keys - 1), [other, true] + [other] * (keys - 2)
    events = list(itertools.product([False, True], repeat=keys))
    for at in (-2.0, -0.5, 0.0, 0.3, 1.4, 1.5, 2.0):
        gaps = np.array(p) - math.exp(at) * np.array(q)
        worst = max(gaps[list(event)].sum() for event in events)
        assert mine.delta(at) == pytest.approx(worst, abs=1e-14)
        above = sum(p[i] for i in range(keys) if math.log(p[i] / q[i]) > at + 1e-12)
        assert mine.beyond(at) == pytest.approx(above, abs=1e-14)


# --- what is promised -----------------------------------------------------------------------------

SOME = {
    "laplace": lambda: dp.privacy_loss("laplace", scale=3, sensitivity=4),
    "gaussian": lambda: dp.privacy_loss("gaussian", sigma=1.5),
    "response": lambda: dp.privacy_loss("randomized response", epsilon=1, keys=4),
    "any": lambda: dp.privacy_loss("any", epsilon=1, delta=1e-3),
    "rho": lambda: dp.privacy_loss("any", rho=0.1),
}


@pytest.mark.parametrize("name", SOME)
def test_delta_falls_and_the_tail_bounds_it_both_ways(name: str) -> None:
    curve = SOME[name]().curve
    delta, beyond = curve["delta"].to_numpy(), curve["beyond"].to_numpy()
    at = curve.index.to_numpy()
    assert (np.diff(delta) <= 1e-15).all()
    if name == "rho":
        assert np.isnan(beyond).all()
        return
    assert (delta <= beyond).all()
    assert (beyond[:60] > delta[:60]).all()  # "the loss is within ε but for δ" is false
    for i, j in [(0, 30), (20, 60), (40, 41), (5, 100)]:
        assert beyond[j] <= delta[i] / -math.expm1(at[i] - at[j]) + 1e-12


def test_delta_is_rounded_up() -> None:
    mine = dp.privacy_loss("laplace", epsilon=1)
    a = dominating_pairs.Enclosure.of(-1, 60).exp()
    exact = (-a + 1) / (a + 1)
    assert Fraction(mine.delta(0)) >= Fraction(exact.low)
    assert mine.delta(0) <= math.nextafter(float(exact.high), math.inf)


@pytest.mark.parametrize("name", SOME)
def test_epsilon_is_the_least_for_a_delta(name: str) -> None:
    mine = SOME[name]()
    for delta in (0.2, 0.01, 1e-3):
        found = mine.epsilon(delta)
        assert mine.delta(found) <= delta
        assert found == 0 or mine.delta(found * (1 - 1e-6)) > delta
    assert dp.privacy_loss("laplace", epsilon=1).epsilon(0) == pytest.approx(1, abs=1e-12)
    assert dp.privacy_loss("any", epsilon=1, delta=1e-3).epsilon(1e-6) == math.inf
    assert dp.privacy_loss("gaussian", epsilon=1, delta=1e-6).epsilon(1e-6) <= 1


def laplace_pmf(scale: float, z: Any) -> Any:
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** abs(z)


@pytest.mark.parametrize("move", [(1, 1), (2, 1), (-1, 2), (1, 1, 1), (3, 0), (0, 1)])
@pytest.mark.parametrize("scale", [0.7, 2.0])
def test_one_number_moved_by_all_is_worst_for_laplace(move: tuple[int, ...], scale: float) -> None:
    """Sums over a box; what lies outside of it is added to δ of the other side."""
    far = 40 if len(move) < 3 else 14
    sides = [np.arange(-far, far + 1)] * len(move)
    p = math.prod(np.ix_(*[laplace_pmf(scale, z) for z in sides]))
    q = math.prod(np.ix_(*[laplace_pmf(scale, z - m) for z, m in zip(sides, move, strict=True)]))
    worst = dp.privacy_loss("laplace", scale=scale, sensitivity=3)
    own = dp.privacy_loss("laplace", scale=scale, sensitivity=sum(map(abs, move)))
    left_out = 1 - p.sum()
    for e in np.linspace(0, 3 / scale, 13):
        delta = float(np.maximum(0, p - math.exp(e) * q).sum())
        assert delta <= own.delta(float(e)) + 1e-12
        assert own.delta(float(e)) <= worst.delta(float(e)) + 1e-12
        if sum(m != 0 for m in move) == 1:
            assert delta == pytest.approx(own.delta(float(e)), abs=left_out + 1e-12)


# --- of answers -----------------------------------------------------------------------------------


@pytest.fixture
def frame() -> Any:
    return pd.DataFrame({"g": ["a", "b"] * 50, "x": range(100)}).dp


def test_of_a_released_answer_and_its_record(frame: Any) -> None:
    n = frame.count(epsilon="1/2")
    for of in (n, dp.record(n)):
        mine = dp.privacy_loss(of)
        assert mine.exact
        assert mine.what == "count"
        assert mine.delta(0.1) == dp.privacy_loss("laplace", epsilon="1/2").delta(0.1)
    both = dp.privacy_loss(frame[["g", "x"]].count(epsilon=1))
    assert not both.exact  # a row moves two counts by 1, not one by 2
    assert both.delta(0.5) == dp.privacy_loss("laplace", scale=2, sensitivity=2).delta(0.5)


def test_of_what_is_not_released_and_nothing_is_charged(frame: Any) -> None:
    mine = dp.privacy_loss(frame["x"].mean(bounds=(0, 100)), epsilon=1)
    assert mine.delta(1) == 0
    assert mine.epsilon(0) == pytest.approx(1, abs=1e-9)
    chosen = dp.privacy_loss(frame["g"].mode(keys=["a", "b"]), epsilon=1)
    assert not chosen.exact
    assert chosen.delta(0.5) == dp.privacy_loss("randomized response", epsilon=1).delta(0.5)
    assert dp.ledger().spent == 0


def test_gaussian_noise_on_one_number_and_on_several(frame: Any) -> None:
    dp.session(rho=1, delta=1e-6)
    one = dp.privacy_loss(frame.count(rho=Fraction(1, 8)))
    assert one.exact
    assert one.delta(1) == dp.privacy_loss("gaussian", rho=Fraction(1, 8)).delta(1)
    several = dp.privacy_loss(frame[["g", "x"]].count(rho=Fraction(1, 8)))
    assert not several.exact
    proven = float(conversions.delta_of(Fraction(1, 8), Fraction(1)))
    assert several.delta(1) == pytest.approx(proven, rel=1e-15)
    with pytest.raises(RecordError, match="only δ is bounded"):
        _ = several.distribution


def test_labels_found_have_their_delta(frame: Any) -> None:
    dp.session(epsilon=5, delta=1e-3)
    found = dp.privacy_loss(frame.groupby("g", delta=1e-4).size(epsilon=1))
    assert 0 < found.delta(1) <= 1e-4
    assert found.distribution.index[-1] == math.inf


def test_combined_answers_are_bounded_by_their_losses() -> None:
    p = dp.protect(pd.DataFrame({"x": range(9)}), name="twice")
    both = dp.combine(p.count(epsilon=1), p.count(epsilon=2))
    assert dp.privacy_loss(both).delta(2.5) == dp.privacy_loss("any", epsilon=3).delta(2.5)


WRONG = [
    (("laplas",), {"epsilon": 1}, "Did you mean 'laplace'"),
    (("laplace",), {}, "takes one of epsilon= or scale="),
    (("laplace",), {"epsilon": 1, "scale": 1}, "takes one of"),
    (("laplace",), {"epsilon": 1, "sensitivity": 0.5}, "must be a whole number, 1 or more"),
    (("laplace",), {"epsilon": 1, "sigma": 3}, "sigma= means nothing here"),
    (("gaussian",), {"epsilon": 1}, "give both"),
    (("gaussian",), {"sigma": -1}, "greater than 0"),
    (("randomized response",), {"epsilon": 1, "keys": 1}, "2 or more"),
    (("any",), {"rho": 1, "delta": 1e-6}, "means nothing here"),
]


@pytest.mark.parametrize(("args", "more", "said"), WRONG)
def test_arguments_are_checked(args: Any, more: Any, said: str) -> None:
    refusal(lambda: dp.privacy_loss(*args, **more), said)


def test_other_things_have_no_loss(frame: Any) -> None:
    refusal(lambda: dp.privacy_loss(3), error=RecordError)
    n = frame.count(epsilon=1)
    refusal(lambda: dp.privacy_loss(n, epsilon=1), "takes no other argument")
    refusal(lambda: dp.privacy_loss(n).delta("x"), "must be a number")
    refusal(lambda: dp.privacy_loss(n).epsilon(2), "between 0 and 1")


# --- the picture ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOME)
def test_the_picture_is_the_curve(name: str) -> None:
    mine = SOME[name]()
    axes = mine.plot()
    (curve,) = (line for line in axes.lines if line.get_label() == "δ(ε)")
    delta = mine.curve["delta"].to_numpy()
    there = delta > 0
    assert curve.get_xdata().tolist() == mine.curve.index.tolist()
    assert np.asarray(curve.get_ydata())[there].tolist() == delta[there].tolist()
    (shaded,) = axes.collections
    corners = shaded.get_paths()[0].vertices
    assert corners[:, 1].max() == axes.get_ylim()[1]  # from the curve up: there (ε, δ) holds
    (said,) = [t.get_text() for t in axes.texts if t.get_gid() == "dppandas caption"]
    said = " ".join(said.split())
    assert "(ε, δ)-differential privacy holds" in said
    assert ("Exact for these neighbours" in said) == mine.exact
    assert ("P[loss > ε] is never less" in said) == (name != "rho")
    _, given = plt.subplots()
    assert mine.plot(ax=given) is given
    refusal(lambda: mine.plot(ax=3), "must be matplotlib Axes")
    plt.close("all")


def test_the_picture_says_which_loss_it_is_of() -> None:
    """A record may have another one than a question that is asked about."""

    def title(loss: PrivacyLoss) -> str:
        return " ".join(loss.plot().get_title().split())

    frame = dp.protect(pd.DataFrame({"x": [1, 2] * 50}), "t", domain={"x": [1, 2]})
    asked = dp.privacy_loss(frame["x"].value_counts(), epsilon=2)
    assert title(asked).endswith("value_counts of x (2 keys), ε = 2")
    assert title(dp.privacy_loss("any", epsilon=2)).endswith(", ε = 2")
    assert title(dp.privacy_loss("randomized response", epsilon=2)).count("ε = 2") == 1
    assert "ε" not in title(dp.privacy_loss("gaussian", sigma=2))
    plt.close("all")


# --- beliefs --------------------------------------------------------------------------------------


def fails(loss: dp.types.PrivacyLoss, p: Any, q: Any, risk: float) -> list[float]:
    """How often a belief is beyond its bounds, by Bayes' rule from a prior, with the unit in the
    data and without it."""
    prior = 0.3
    low, high = loss.belief(prior, risk)
    with np.errstate(invalid="ignore"):
        after = prior * p / (prior * p + (1 - prior) * q)
    beyond = (after < low * (1 - 1e-9)) | (after > high * (1 + 1e-9))
    return [float(law[beyond].sum()) for law in (p, q)]


class LawOfPair(dominating_pairs.Law):
    """That of two finite laws, in the order of the larger δ."""

    def __init__(self, p: Any, q: Any) -> None:
        self.p, self.q = p, q

    def delta(self, epsilon: Any, digits: int = 0) -> Any:
        e = math.exp(min(epsilon, 700))
        gaps = self.p - e * self.q, self.q - e * self.p
        return max(float(gap.clip(0).sum()) for gap in gaps)

    def above(self, formula: Any, epsilon: Any) -> float:
        return float(formula(epsilon, 0))


def test_beliefs_stay_within_what_a_pure_loss_allows_and_reach_it() -> None:
    z = np.arange(-80, 81)
    for scale, shift in ((1.0, 1), (2.5, 3), (7.0, 20)):
        loss = dp.privacy_loss("laplace", scale=scale, sensitivity=shift)
        p, q = np.exp(-np.abs(z) / scale), np.exp(-np.abs(z - shift) / scale)
        priors = np.array([0.0, 0.001, 0.3, 0.5, 0.9, 1.0])
        after = priors[:, None] * p / (priors[:, None] * p + (1 - priors[:, None]) * q)
        bounds = loss.belief(priors)
        assert (bounds["lower"] <= after.min(axis=1) + 1e-12).all()
        assert (bounds["upper"] >= after.max(axis=1) - 1e-12).all()
        assert np.allclose(bounds["lower"], after.min(axis=1), atol=1e-11)
        assert np.allclose(bounds["upper"], after.max(axis=1), atol=1e-11)
        assert loss.belief(0.3) == tuple(bounds.loc[0.3])


@pytest.mark.parametrize("sigma", [0.7, 1.0, 4.0])
def test_beliefs_after_gaussian_noise_fail_as_rarely_as_told(sigma: float) -> None:
    loss = dp.privacy_loss("gaussian", sigma=sigma)
    z = np.arange(-60, 62)
    p, q = (np.exp(-((z - at) ** 2) / (2 * sigma**2)) for at in (0, 1))
    p, q = p / p.sum(), q / q.sum()
    for risk in (1e-2, 1e-4, 1e-6):
        often = fails(loss, p, q, risk)
        assert max(often) <= risk
        assert sigma < 4 or max(often) >= risk / 100  # not far too wide
        wider = dp.privacy_loss("any", rho=1 / (2 * sigma**2)).belief(0.3, risk)
        assert wider[0] <= loss.belief(0.3, risk)[0]


def test_beliefs_hold_for_all_laws_and_what_is_made_of_their_answers() -> None:
    """Some of the pairs have answers that only one of the two laws gives."""
    random = np.random.default_rng(5)
    for _ in range(60):
        size = int(random.integers(2, 7))
        p, q = random.dirichlet(np.full(size, 0.4), 2)
        p[0] = 0.0
        p /= p.sum()
        loss = PrivacyLoss("a pair", "itself", True, LawOfPair(p, q))
        for risk in (0.3, 0.5, 0.9):
            merged = random.integers(0, 3, size)
            try:
                loss.belief(0.3, risk)
            except QueryError:
                assert max(p[q == 0].sum(), q[p == 0].sum()) >= risk * (1 - 1e-4)
                continue
            assert max(fails(loss, p, q, risk)) <= risk
            together = [np.bincount(merged, law, 3) for law in (p, q)]
            keep = together[0] + together[1] > 0
            assert max(fails(loss, together[0][keep], together[1][keep], risk)) <= risk


def test_a_delta_must_be_smaller_than_the_risk() -> None:
    loss = dp.privacy_loss("any", epsilon=1, delta=1e-3)
    refusal(lambda: loss.belief(0.5), "risk=1e-6", MissingArgument)
    refusal(lambda: loss.belief(0.5, risk=1e-3), "larger than the δ")
    low, high = loss.belief(0.5, risk=1e-2)
    factor = (1e-3 + 1e-2 * math.e) / (1e-2 - 1e-3)
    assert high == pytest.approx(factor / (1 + factor), rel=1e-9)
    assert low == pytest.approx(1 / (1 + factor), rel=1e-9)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, "half", [0.1, 2]])
def test_priors_and_risks_are_probabilities(wrong: Any) -> None:
    loss = dp.privacy_loss("laplace", epsilon=1)
    refusal(lambda: loss.belief(0.5, risk=[0.1, 0.2]), "risk= must be one number")
    refusal(lambda: loss.belief(wrong), "prior=.*must be a probability")
    refusal(lambda: loss.belief(0.5, risk=wrong), "risk=.*must be")
