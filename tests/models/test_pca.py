"""Principal components are made of one release: exact without noise, charged whole."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA as Plain

import dppandas as dp
from dppandas.models import PCA
from dppandas.privacy.accounting.losses import Epsilon, Rho
from dppandas.statistics import SecondMoments

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

IRIS = load_iris(as_frame=True).data.set_axis(list("abcd"), axis=1)
BOUNDS = {name: (float(IRIS[name].min()), float(IRIS[name].max())) for name in IRIS}


def people(frame: pd.DataFrame = IRIS, **terms: Any) -> Any:
    domain = {n: BOUNDS[n] for n in BOUNDS if n in frame}
    return dp.protect(frame.copy(), "flowers", domain=domain, **terms)  # attrs name the source


# what it computes


@pytest.mark.parametrize("columns", [["a"], ["a", "c"], list("abc"), list("abcd")], ids="".join)
def test_without_noise_it_is_that_of_scikit_learn(columns: list[str], exact: None) -> None:
    dp.session(epsilon=1)
    model = PCA(epsilon=1).fit(people()[columns])
    plain = Plain().fit(IRIS[columns].to_numpy())
    np.testing.assert_allclose(model.components_, plain.components_, atol=1e-5)
    for name in ("explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(model, name), getattr(plain, name), rtol=1e-4)
    np.testing.assert_allclose(model.mean_, plain.mean_, atol=1e-6)
    rows = IRIS[columns].to_numpy()
    np.testing.assert_allclose(model.transform(rows), plain.transform(rows), atol=1e-4)
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), rows, atol=1e-6)


def test_some_components_are_the_first_of_all(exact: None) -> None:
    dp.session(epsilon=1)
    p = people()
    every, two = PCA(epsilon=1).fit(p), PCA(2, epsilon=1).fit(p)
    assert (two.components_ == every.components_[:2]).all()
    assert (two.explained_variance_ratio_ == every.explained_variance_ratio_[:2]).all()
    assert (two.n_components_, two.components_.shape, two.mean_.shape) == (2, (2, 4), (4,))
    assert two.transform(IRIS).shape == (150, 2)
    assert dp.ledger().spent == 1  # the same release


def test_with_noise_components_are_still_orthogonal_and_have_one_sign() -> None:
    dp.session(epsilon=0.01)
    model = PCA(epsilon=0.01).fit(people())
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-6)
    assert (model.components_[range(4), np.abs(model.components_).argmax(axis=1)] > 0).all()
    assert (np.diff(model.explained_variance_) <= 0).all()
    assert (model.explained_variance_ >= 0).all()


def test_private_rows_are_transformed_as_plain_ones(exact: None) -> None:
    dp.session(epsilon=99)
    whole = IRIS.assign(who=range(150))
    whole.loc[3, "a"], whole.loc[4, "b"] = 99.0, np.nan  # outside, and missing
    p = people(whole)
    model = PCA(2, epsilon=1).fit(p[list("abcd")])
    made = model.transform(p[list("dcba")])  # by name
    assert made.columns.tolist() == model.get_feature_names_out().tolist() == ["pca0", "pca1"]
    declared = made.describe()["bounds"].tolist()
    assert all(bounds.startswith("(-") for bounds in declared)
    plain = model.transform(whole[list("abcd")])
    assert np.isnan(plain[4]).all()
    assert np.isfinite(np.delete(plain, 4, axis=0)).all()
    each = p.assign(first=made["pca0"], second=made["pca1"])
    sums = each.groupby("who", keys=range(150))[["first", "second"]].sum(epsilon=1)
    np.testing.assert_allclose(sums.to_numpy(), np.nan_to_num(plain), atol=1e-5)


def test_rows_that_lack_a_feature_dont_count(exact: None) -> None:
    dp.session(epsilon=1)
    rows = IRIS.copy()
    rows.loc[:40, "a"] = np.nan
    model = PCA(epsilon=1).fit(people(rows))
    plain = Plain().fit(rows.dropna().to_numpy())
    np.testing.assert_allclose(model.mean_, plain.mean_, atol=1e-6)
    np.testing.assert_allclose(model.components_, plain.components_, atol=1e-5)


# what it costs


def test_its_one_release_costs_epsilon_exactly() -> None:
    """Means are in the integers of the covariances: a release of them alone would take a quarter of
    the loss, and the rest would have 1.33 times the noise."""
    dp.session(epsilon=1)
    model = PCA(epsilon="0.7").fit(people())
    assert dp.ledger().spent == Epsilon("0.7")
    assert [record.loss.epsilon for record in model.releases_] == [Epsilon("0.7")]
    assert model.releases_[0].query.startswith("cov of complete rows of")
    PCA(epsilon="0.7").fit(people())  # again, for nothing
    assert dp.ledger().spent == Epsilon("0.7")


def test_and_rho_exactly_with_gaussian_noise() -> None:
    dp.session(rho=1, delta=1e-6)
    model = PCA(rho="0.7").fit(people())
    assert dp.ledger().spent == Rho("0.7")
    (record,) = model.releases_
    assert "Gaussian" in record.mechanism
    assert type(record._statistic) is SecondMoments


def test_a_fit_that_the_budget_cant_pay_for_costs_nothing() -> None:
    dp.session(epsilon=0.5)
    refused = refusal(lambda: PCA(epsilon=0.6).fit(people()), error=dp.BudgetExceeded)
    assert "Nothing was computed or charged" in refused


@pytest.mark.parametrize("number", [0, 5, 1.0, True, "mle", 0.9], ids=repr)
def test_a_wrong_number_is_refused_before_anything_is_charged(number: Any) -> None:
    dp.session(epsilon=1)
    said = r"from 1 to 4.*Nothing was computed or charged"
    refusal(lambda: PCA(number, epsilon=1).fit(people()), said)


def test_wrong_rows_are_refused() -> None:
    dp.session(epsilon=1)
    refusal(lambda: PCA(epsilon=1).fit(IRIS), "fit takes a private frame")
    refusal(lambda: PCA(epsilon=1).transform(IRIS), r"Call fit\(X\) first")
    model = PCA(2, epsilon=1).fit(people())
    refusal(lambda: model.transform(IRIS[list("abc")]), "no column 'd'")
    refusal(lambda: model.inverse_transform(IRIS), "with 2 columns")
    refusal(lambda: model.inverse_transform(people()), "takes plain rows")


# what doesn't depend on the rows


HOSTILE: dict[str, Any] = {
    "empty": [], "one": [(5.0, 3.0)], "missing": [(np.nan, 1.0), (None, np.nan)],
    "infinite": [(np.inf, -np.inf), (1e308, -1e308)] * 5, "text": [("x", "y"), ("5", "")] * 5,
    "constant": [(5.0, 3.0)] * 50,
}  # fmt: skip


@pytest.mark.parametrize("rows", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("noise", [0, -(2**40)], ids=["exact", "far below"])
def test_any_rows_give_components_of_one_shape(rows: Any, noise: int, frozen: Any) -> None:
    frozen(noise)
    dp.session(epsilon=1)
    model = PCA(epsilon=1).fit(people(pd.DataFrame(rows, columns=["a", "b"], dtype=object)))
    for found, shape in (
        (model.components_, (2, 2)), (model.explained_variance_, (2,)),
        (model.explained_variance_ratio_, (2,)), (model.mean_, (2,)),
    ):  # fmt: skip
        assert (found.shape, found.dtype) == (shape, np.float64)
        assert np.isfinite(found).all()


def test_huge_bounds_overflow_nowhere_but_in_the_variance(exact: None) -> None:
    dp.session(epsilon=1)
    rows = pd.DataFrame({"a": [1.0, 2.0], "b": [9e199, -9e199]})
    model = PCA(epsilon=1, bounds={"a": (0, 3), "b": (-1e200, 1e200)}).fit(rows.dp)
    assert np.isfinite(model.components_).all()
    assert model.explained_variance_ratio_.tolist() == pytest.approx([1, 0])
    assert not np.isnan(model.explained_variance_).any()


# scikit-learn


def test_scikit_learn_takes_it_for_its_own(exact: None) -> None:
    dp.session(epsilon=2)
    model = PCA(2, epsilon=1, bounds=BOUNDS)
    assert clone(model).get_params() == model.get_params()
    assert repr(model).startswith("PCA(n_components=2, epsilon=1, bounds=")
    assert model.__sklearn_tags__().transformer_tags is not None
    assert model.fit_transform(people()).columns.tolist() == ["pca0", "pca1"]
    assert model.n_features_in_ == 4
