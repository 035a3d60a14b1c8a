"""Confusion tables and ROC curves of private rows, against scikit-learn's on the same rows, and how
often what they say of exact counts holds."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal

import dppandas as dp
from dppandas.errors import BudgetExceeded
from dppandas.models.scoring import RocCurve, tail
from dppandas.privacy.accuracy.laws import noise_of
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace

metrics = pytest.importorskip("sklearn.metrics")
#: So much loss that no noise is seen.
ALL = 64
KINDS = ["a", "b", "c"]


def flowers(rows: int = 600) -> pd.DataFrame:
    random = np.random.default_rng(3)
    kind = np.array(KINDS)[np.arange(rows) % 3]
    x = np.select([kind == "a", kind == "b"], [3.0, 5.0], 7.0) + random.normal(0, 1.5, rows)
    return pd.DataFrame({"x": x, "kind": kind, "is_c": kind == "c"})


def made(of: str, target: str = "kind") -> tuple[pd.DataFrame, Any, Any]:
    """Plain rows, the same private ones, and a model that is fitted on them."""
    anew(epsilon=99 * ALL)
    p = dp.protect(flowers(), name="flowers", domain={"x": (0, 10), "kind": KINDS})
    model: Any = getattr(dp.models, of)(epsilon=ALL)
    return flowers(), p, model.fit(p[["x"]], p[target])


@pytest.mark.parametrize(
    ("of", "target"),
    [("GaussianNB", "kind"), ("DecisionTreeClassifier", "kind"), ("LogisticRegression", "is_c"),
     ("Perceptron", "is_c")],
)  # fmt: skip
def test_without_noise_a_confusion_matrix_is_that_of_scikit_learn(of: str, target: str) -> None:
    plain, p, model = made(of, target)
    exact = metrics.confusion_matrix(plain[target], model.predict(plain[["x"]]))
    found = dp.models.confusion_matrix(model, p[["x"]], p[target], epsilon=ALL)
    assert np.array_equal(found.to_numpy(), exact)
    assert found.index.name == "true"
    assert found.columns.name == "predicted"
    assert found.index.tolist() == found.columns.tolist() == model.classes_.tolist()
    assert dp.intervals(found).shape[0] == exact.size, "it is an answer as others are"


def test_shares_are_of_rows_or_columns() -> None:
    plain, p, model = made("GaussianNB")
    guessed = model.predict(plain[["x"]])
    for how in ("true", "pred", "all"):
        exact = metrics.confusion_matrix(plain["kind"], guessed, normalize=how)
        found = dp.models.confusion_matrix(model, p[["x"]], p["kind"], normalize=how, epsilon=ALL)
        assert np.allclose(found, exact, atol=1e-3)
    asked = dp.models.confusion_matrix(model, p[["x"]], p["kind"])
    assert "unreleased crosstab of true by predicted" in repr(asked)


@pytest.mark.parametrize(
    ("of", "target"),
    [("GaussianNB", "is_c"), ("DecisionTreeClassifier", "is_c"), ("LogisticRegression", "is_c")],
)
def test_without_noise_a_curve_is_that_of_scikit_learn(of: str, target: str) -> None:
    plain, p, model = made(of, target)
    found = dp.models.roc_curve(model, p[["x"]], p[target], bins=10, epsilon=ALL)
    score = np.floor(model.predict_proba(plain[["x"]])[:, 1] * 10).clip(0, 9)
    for each, fpr, tpr in zip(found.thresholds, found.fpr, found.tpr, strict=True):
        reached = score >= 10 * each - 1e-9
        assert tpr == pytest.approx(reached[plain[target]].mean())
        assert fpr == pytest.approx(reached[~plain[target]].mean())
    area = metrics.roc_auc_score(plain[target], score)
    assert found.auc == pytest.approx(area)
    assert found.interval() == pytest.approx((area, area), abs=3e-3)
    frame = found.to_frame()
    assert frame.columns.tolist() == ["fpr", "tpr", "thresholds"]
    assert frame.iloc[0].tolist() == [0, 0, np.inf]
    assert frame.iloc[-1].tolist() == [1, 1, 0]
    assert f"area {area:.3f}" in repr(found)


def test_one_class_of_several_is_positive() -> None:
    plain, p, model = made("GaussianNB")
    found = dp.models.roc_curve(model, p[["x"]], p["kind"], pos_label="a", epsilon=ALL)
    chances = model.predict_proba(plain[["x"]])[:, 0]
    exact = metrics.roc_auc_score(plain["kind"] == "a", chances)
    assert found.auc == pytest.approx(exact, abs=0.01)


def curve_of(counts: Any, law: Any) -> RocCurve:
    """A curve of counts of negative and positive rows from the largest scores down, with noise."""
    noisy = np.array(law.release(counts.ravel().tolist()), dtype=float).reshape(2, -1)
    found = RocCurve(np.append(np.inf, np.arange(counts.shape[1])[::-1] / counts.shape[1]), (), "")  # type: ignore[arg-type]
    found.__dict__.update(_counts=(noisy[0], noisy[1]), _noise=noise_of(law))
    return found


LAWS = DiscreteLaplace(Fraction(2)), DiscreteGaussian(Fraction(9))


@pytest.mark.parametrize("law", LAWS, ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("rows", [20, 400])
def test_intervals_hold_as_often_as_they_say(law: Any, rows: int) -> None:
    """At 80 %, of 150 curves: 90 or more hold, or a right program fails with less than 10^-7."""
    random, held, together = np.random.default_rng(rows), 0, 0
    for _ in range(150):
        counts = np.stack([random.multinomial(rows, random.dirichlet([1] * 6)) for _ in range(2)])
        exact = curve_of(counts, DiscreteLaplace(Fraction(0)))
        found = curve_of(counts, law)
        low, high = found.interval(0.8)
        held += low <= exact.auc <= high
        ends = found.intervals(0.8).to_numpy()
        rates = np.stack([exact.fpr, exact.fpr, exact.tpr, exact.tpr], axis=1)
        together += bool(((ends - rates) * [1, -1, 1, -1] <= 1e-12).all())
    assert held >= 90
    assert together >= 90


def test_intervals_are_not_wide_without_need() -> None:
    """With 1,000 rows of either class at ε = 1: a hundredth or two, where noise moves the area by
    about 0.004."""
    random = np.random.default_rng(0)
    counts = np.stack([np.sort(random.multinomial(1000, [0.05] * 20))[::o] for o in (1, -1)])
    low, high = curve_of(counts, DiscreteLaplace(Fraction(1))).interval()
    assert 0 < high - low < 0.08


def test_a_tail_is_a_bound() -> None:
    """Against exact convolutions of two weighted noises."""
    for law in LAWS:
        noise: Any = noise_of(law)
        z = np.arange(-120, 121)
        chances = np.exp(noise.log_density(z.astype(float)))
        sums = np.abs(z[:, None] * 1.0 + z[None, :] * 0.3)
        both = chances[:, None] * chances
        for risk in (0.3, 0.01, 1e-4):
            reach = tail(np.array([[1.0, -0.3]]), noise, risk)[0]
            beyond = both[sums > reach].sum()
            assert beyond <= risk
            assert beyond > risk / 60, "and not a far one"


def test_a_curve_costs_what_was_given() -> None:
    _, p, model = made("GaussianNB", "is_c")
    session = anew(epsilon="1/2")
    p = dp.protect(flowers(), name="others", domain={"x": (0, 10), "kind": KINDS})
    found = dp.models.roc_curve(model, p[["x"]], p["is_c"], epsilon="1/2")
    assert found.loss.epsilon == Fraction(1, 2)
    assert len(found.releases_) == 1
    assert str(session.remaining) == "0"
    assert (np.diff(found.tpr) >= 0).all()
    assert (np.diff(found.fpr) >= 0).all()
    assert "noise only" in repr(found)
    with pytest.raises(BudgetExceeded):
        dp.models.roc_curve(model, p[["x"]], p["kind"] == "a", epsilon=1)
    with dp.preview():
        dummy = dp.models.roc_curve(model, p[["x"]], p["is_c"], bins=5, epsilon="1/2")
        assert "made up" in repr(dummy)
        assert "preview" in refusal(lambda: dummy.auc)


def test_rows_of_no_class_do_not_count() -> None:
    _, p, model = made("GaussianNB")
    half = p["kind"].where(p["kind"] != "b")
    table = dp.models.confusion_matrix(model, p[["x"]], half, epsilon=ALL)
    assert table.loc["b"].tolist() == [0, 0, 0]
    found = dp.models.roc_curve(model, p[["x"]], half, pos_label="a", epsilon=ALL)
    assert sum(each.sum() for each in found._counts) == 400


def test_what_cannot_be_scored_is_refused_free_of_charge() -> None:
    plain, p, model = made("GaussianNB")
    features, y = p[["x"]], p["kind"]
    ask: Any = dp.models.confusion_matrix
    assert "tells no classes apart" in refusal(lambda: ask(dp.models.PCA(1), features, y))
    assert "isn't fitted" in refusal(lambda: ask(dp.models.GaussianNB(), features, y))
    assert "private rows" in refusal(lambda: ask(model, plain[["x"]], y))
    assert "private rows" in refusal(lambda: ask(model, features, plain["kind"]))
    assert "normalize=" in refusal(lambda: ask(model, features, y, normalize="index"))
    assert "other rows" in refusal(lambda: ask(model, features, p.query("x > 2")["kind"]))
    ask = dp.models.roc_curve
    assert "pos_label=None must be one" in refusal(lambda: ask(model, features, y, epsilon=1))
    assert "must be one" in refusal(lambda: ask(model, features, y, pos_label="d", epsilon=1))
    assert "bins" in refusal(lambda: ask(model, features, y, pos_label="a", bins=1, epsilon=1))
    assert "needs the loss" in refusal(lambda: ask(model, features, y, pos_label="a"))
    _, p, model = made("Perceptron", "is_c")
    assert "has no chances" in refusal(lambda: ask(model, p[["x"]], p["is_c"], epsilon=1))


def test_a_curve_is_drawn() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    _, p, model = made("GaussianNB", "is_c")
    axes = dp.models.roc_curve(model, p[["x"]], p["is_c"], epsilon=1).plot()
    assert axes.get_xlabel() == "share of negative rows"
    assert len(axes.lines) == 2
    assert dp.models.roc_curve(model, p[["x"]], p["is_c"], epsilon=1).plot(axes) is axes
    plt.close(axes.figure)
