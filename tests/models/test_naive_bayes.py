"""Gaussian naive Bayes, against scikit-learn's."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from iris import ENDS, FEATURES, IRIS, KINDS, flowers
from ledgers import anew
from refusals import refusal
from sklearn import naive_bayes

import dppandas as dp
from dppandas.models import GaussianNB

#: So much loss that no noise is seen.
ALL = 64


def fitted(rows: pd.DataFrame, **how: Any) -> Any:
    how = {"epsilon": ALL, "bounds": ENDS, "classes": KINDS} | how
    anew(epsilon=10 * ALL)
    people = dp.protect(rows, name="flowers", kinds=dict.fromkeys(["kind"], "unknown"))
    return GaussianNB(**how).fit(people[FEATURES], people["kind"])


@pytest.mark.parametrize("loss", [{"epsilon": ALL}, {"rho": 2000}], ids=["epsilon", "rho"])
def test_with_little_noise_it_is_scikit_learns(loss: dict[str, Any]) -> None:
    """Of 39 sums, one would have to be beyond 30 times its scale: 39 e^-30 < 1e-11."""
    rows = flowers(200)
    if "rho" in loss:
        anew(rho=2000, delta=1e-6)
        model = GaussianNB(**loss, bounds=ENDS, classes=KINDS)
        model.fit(rows.dp[FEATURES], rows.dp["kind"])
    else:
        model = fitted(rows)
    exact = naive_bayes.GaussianNB().fit(rows[FEATURES], rows["kind"])
    assert model.classes_.tolist() == exact.classes_.tolist()
    assert np.allclose(model.theta_, exact.theta_, atol=0.01)
    assert np.allclose(model.var_, exact.var_, atol=0.01)
    assert np.allclose(model.class_count_, exact.class_count_, atol=5)
    assert np.allclose(model.class_prior_, exact.class_prior_, atol=0.001)
    ours, theirs = (each.predict_proba(IRIS.data) for each in (model, exact))
    assert np.allclose(ours, theirs, atol=0.05)
    assert model.score(IRIS.data, flowers()["kind"]) > 0.95


def test_no_row_is_scaled_down() -> None:
    """The norm of all sums together is that of the worst row, at a corner: all rows at one are
    counted whole."""
    corner = pd.DataFrame({name: [ENDS[name][1]] * 5000 for name in FEATURES}).assign(kind="setosa")
    model = fitted(corner)
    assert abs(model.class_count_[0] - 5000) < 5
    assert np.allclose(model.theta_[0], [high for _, high in ENDS.values()], atol=0.01)


def test_private_rows_are_classified_as_plain_ones_are() -> None:
    """Of six numbers, one would have to be beyond 100 times its scale."""
    rows = flowers()
    model = fitted(rows, epsilon=8)
    plain = pd.Series(model.predict(IRIS.data)).value_counts()
    people = rows.dp
    counts = model.predict(people[FEATURES]).value_counts(keys=KINDS, epsilon=50)
    assert all(abs(counts[kind] - plain.get(kind, 0)) < 3 for kind in KINDS)
    chances = model.predict_proba(people[FEATURES])
    told = chances.mean(bounds=(0, 1), epsilon=60)
    assert np.allclose(told, model.predict_proba(IRIS.data).mean(axis=0), atol=0.05)


def test_private_chances_are_bounded_as_chances_are() -> None:
    """Noise is that of numbers from 0 to 1, however far likelihoods may lie apart."""
    model, p = fitted(flowers(), epsilon=8), flowers().dp
    chances, logs = model.predict_proba(p[FEATURES]), model.predict_log_proba(p[FEATURES])
    for name in chances.columns:
        chance: Any = chances[name]
        assert " to 1, from" in repr(chance.mean())
        one = (p["kind"] == "setosa").mean(epsilon=1)
        assert chance.mean(epsilon=1).error() < 2 * one.error()
        assert " to 0, from" in repr(logs[name].mean())


def test_rows_without_a_feature_or_of_another_class_do_not_count() -> None:
    rows = flowers(100)
    rows.loc[:4999, FEATURES[0]] = np.nan
    rows.loc[5000:, "kind"] = np.where(np.arange(10_000) % 2, "virginica", "weed")
    model = fitted(rows)
    assert np.allclose(model.class_count_, [0, 0, 5000], atol=5)


def test_all_is_charged_once() -> None:
    model = fitted(flowers(), epsilon=1)
    assert dp.ledger().spent == 1
    assert len(model.releases_) == 1


def test_public_priors_are_kept() -> None:
    model = fitted(flowers(10), priors=[0.5, 0.25, 0.25])
    assert model.class_prior_.tolist() == [0.5, 0.25, 0.25]


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"priors": [0.5, 0.5]}, "3 columns"),
        ({"priors": [0.5, 0.5, 0.5]}, "add up to 1"),
        ({"priors": [1, 0, 0]}, "above 0"),
        ({"var_smoothing": 0}, "above 0"),
        ({"var_smoothing": "much"}, "must be a number"),
        ({"classes": ["setosa"]}, "two classes or more"),
        ({"classes": "setosa"}, "must be a list"),
    ],
)
def test_bad_arguments_cost_nothing(how: dict[str, Any], told: str) -> None:
    people, how = flowers().dp, {"epsilon": 1, "bounds": ENDS, "classes": KINDS} | how
    assert told in refusal(lambda: GaussianNB(**how).fit(people[FEATURES], people["kind"]))


def test_classes_are_never_read_from_the_rows() -> None:
    people, model = flowers().dp, GaussianNB(epsilon=1, bounds=ENDS)
    told = refusal(lambda: model.fit(people[FEATURES], people["kind"]))
    assert "classes=" in told


def test_a_missing_feature_of_a_plain_row_is_refused() -> None:
    model = fitted(flowers(10))
    assert "missing" in refusal(lambda: model.predict([[1, 2, 3, np.nan]]))
