"""Models are programs of releases: on hostile neighbours each of their releases keeps its
sensitivity, and asks the same, warns the same and fails the same.

The audit hands constants to the program in place of answers, so it asks the same questions of both
frames; that later questions follow from answers alone is what makes them compose.
"""

import itertools
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from operations import BOUNDS, SCHEMA
from sizes import size, third

import dppandas as dp
from dppandas.audit import check_sensitivity
from dppandas.models import (
    OLS,
    PCA,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    TheilSenRegressor,
    confusion_matrix,
    linear,
    logistic,
    posterior,
    roc_curve,
)

#: Of neighbours, for each program.
PAIRS = size(quick=4, deep=24)
#: For programs that leave rows of other classes out: of 600 single pairs 0.33 to 0.54 differed in
#: such a row only. That all of 40 do so, and nothing was tried, has a probability below 10^-8.
PAIRS_OF_CLASSES = 40
ENDS = {"number": BOUNDS, "code": (0, 4)}
TWO = list(ENDS)
SAID: dict[str, Any] = {"epsilon": 1, "bounds": ENDS}


@cache
def classifier() -> Any:
    """A fitted one, which the rows that are scored had no part in."""
    of_one = {"number": [-3.0, 4.0], "code": [0, 4], "group": ["a", "b"]}
    rows = pd.DataFrame({name: values * 300 for name, values in of_one.items()})
    model = GaussianNB(**SAID, classes=["a", "b"]).fit(rows.dp[TWO], rows.dp["group"])
    dp.reset()
    return model


POSTERIORS = "posterior", "posterior of labels", "posterior of numbers"
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "k-means by a grid": lambda p: KMeans(2, **SAID).fit(p[TWO]).releases_,
    "k-means by rounds": lambda p: (
        KMeans(2, **SAID, method="lloyd", rounds=2).fit(p[TWO]).releases_),
    "labels": lambda p: KMeans(2, **SAID).fit_predict(p[TWO]).value_counts(epsilon=1),
    "principal components": lambda p: PCA(1, **SAID).fit(p[TWO]).releases_,
    "naive Bayes": lambda p: (
        GaussianNB(**SAID, classes=["a", "b"]).fit(p[TWO], p["group"]).releases_),
    "counts of scores": lambda p: (
        roc_curve(classifier(), p[TWO], p["group"], epsilon=1).releases_),
    "counts of predictions": lambda p: (
        confusion_matrix(classifier(), p[TWO], p["group"], epsilon=1)),
    "posterior": lambda p: posterior(p["yes"], epsilon=1).releases_,
    "posterior of labels": lambda p: (
        posterior(p["group"], "categorical", keys=["a", "b"], epsilon=1).releases_),
    "posterior of numbers": lambda p: (
        posterior(p["number"], "normal", bounds=BOUNDS, epsilon=1).releases_),
    "tree": lambda p: (
        DecisionTreeClassifier(2, **SAID, classes=["a", "b"]).fit(p[TWO], p["group"]).releases_),
    "regression tree": lambda p: (
        DecisionTreeRegressor(2, **SAID, target_bounds=(0, 1)).fit(p[TWO], p["yes"]).releases_),
    "ordinary least squares": lambda p: (
        OLS(p["yes"], p[TWO], **SAID, target_bounds=(0, 1)).fit().releases_),
    "robust least squares": lambda p: (
        OLS(p["yes"], p[TWO], **SAID, target_bounds=(0, 1)).fit("HC0").releases_),
    "Theil and Sen's line": lambda p: (
        TheilSenRegressor(**SAID, units=40, target_bounds=(0, 4)).fit(
            p[["number"]], p["code"]).releases_),
    "along components": lambda p: PCA(1, **SAID).fit_transform(p[TWO])["pca0"].sum(epsilon=1),
    **{
        name: lambda p, of=of, target=target, more=more: (
            of(**SAID | more, rounds=2).fit(p[TWO], p[target]).releases_)
        for name, of, target, more in (
            ("linear", LinearRegression, "yes", {"target_bounds": (0, 1)}),
            ("linear, by steps", LinearRegression, "yes", {"target_bounds": (0, 1), "epsilon": 64}),
            ("linear, unclipped", LinearRegression, "yes",
             {"target_bounds": (0, 1), "epsilon": 64, "clip": 2}),
            ("logistic", LogisticRegression, "group", {"classes": ["a", "b"]}),
            ("perceptron", Perceptron, "group", {"classes": ["a", "b"]}))},
    "linear, of many rows": lambda p: (
        of_many(LinearRegression(**SAID, target_bounds=(0, 1)), p[TWO], p["yes"])),
    "logistic, of many rows": lambda p: (
        of_many(LogisticRegression(**SAID, classes=["a", "b"]), p[TWO], p["group"])),
}  # fmt: skip


def of_many(model: Any, X: Any, y: Any) -> Any:
    """Releases of a fit that takes any number of rows for many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear, "MANY", 0)
        patch.setattr(logistic, "MANY", 0)
        return model.fit(X, y).releases_


@pytest.mark.sized
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_release_of_a_program_keeps_its_sensitivity(name: str, max_rows: int) -> None:
    if name in ("robust least squares", *POSTERIORS) and max_rows > 1:
        pytest.skip("refused, as it is about a population of units")
    unit = None if max_rows == 1 else "owner"
    of_classes = name.startswith(("logistic", "perceptron", "naive", "tree", "counts"))
    classifier()  # fitted before the releases that are looked at
    pairs = PAIRS_OF_CLASSES if of_classes else PAIRS
    found = check_sensitivity(PROGRAMS[name], SCHEMA, unit=unit, max_rows=max_rows, pairs=pairs)
    assert found.ok, found
    alone = "principal components", "naive Bayes", "ordinary least squares", *POSTERIORS
    least = 1 if name in alone or name.startswith("counts") else 2
    assert found.releases >= least * pairs, "other programs have two releases or more"
    assert found.worst > 0


def test_a_program_that_looks_at_rows_is_noticed() -> None:
    """The negative control: bounds of the data in place of public ones."""

    def careless(p: Any) -> Any:
        numbers = pd.to_numeric(p._table.engine._frame["number"], errors="coerce")
        top = float(np.nanmax(numbers.replace([np.inf, -np.inf], np.nan).fillna(0), initial=1.0))
        return KMeans(2, epsilon=1, bounds=(-5, 10 + abs(top))).fit(p[["number"]]).releases_

    assert not check_sensitivity(careless, SCHEMA, pairs=40).ok


# what another road costs

BOX: dict[str, Any] = {"bounds": (-1, 1)}
FIVE = list("abcde")
CLASSES: dict[str, Any] = {"classes": [False, True], "rounds": 2}
ROADS: dict[str, Callable[..., Any]] = {
    "linear": partial(LinearRegression, **BOX, target_bounds=(-4, 4), rounds=1),
    "linear, by default": partial(LinearRegression, **BOX, target_bounds=(-4, 4)),
    "linear, two rounds": partial(LinearRegression, **BOX, target_bounds=(-4, 4), rounds=2),
    "linear, unclipped": partial(LinearRegression, **BOX, target_bounds=(-4, 4), rounds=2, clip=2),
    "logistic": partial(LogisticRegression, **BOX, **CLASSES),
    "logistic, by default": partial(LogisticRegression, **BOX, classes=[False, True]),
    "perceptron": partial(Perceptron, **BOX, **CLASSES),
    "naive Bayes": partial(GaussianNB, **BOX, classes=[False, True]),
    "tree": partial(DecisionTreeClassifier, 2, **BOX, classes=[False, True]),
    "regression tree": partial(DecisionTreeRegressor, 2, **BOX, target_bounds=(-4, 4)),
    "k-means by a grid": partial(KMeans, 2, **BOX),
    "k-means by rounds": partial(KMeans, 2, **BOX, method="lloyd"),
}
MEASURES: dict[str, tuple[dict[str, Any], str]] = {
    "pure": ({}, "epsilon"), "approximate": ({"delta": 1e-6}, "epsilon"),
    "ε where ρ is counted": ({"delta": 1e-6}, "rho"), "ρ": ({"delta": 1e-6}, "rho"),
}  # fmt: skip


def roads() -> list[pd.DataFrame]:
    """Without noise: too few rows; a target that is no sum of features; a step along a gradient;
    and, of many rows, by products of features."""
    random = np.random.default_rng(9)

    def line(rows: int) -> pd.DataFrame:
        made = pd.DataFrame(random.uniform(-1, 1, (rows, 5)), columns=FIVE)
        return made.assign(y=made.to_numpy() @ [1, -0.8, 0.6, -0.4, 0.2])

    flat = line(600).assign(y=1.0)
    flat[FIVE] = np.tile([[1.0], [-1.0]], (300, 5))
    return [line(5), flat, line(600), line(20_000)]


@pytest.mark.sized
@pytest.mark.parametrize(
    ("name", "measure", "loss"), third(itertools.product(ROADS, MEASURES, ["0.5", "4"]), 0)
)
def test_no_road_costs_more_than_its_preview(
    name: str, measure: str, loss: str, frozen: Callable[[int], None]
) -> None:
    """Whichever way answers lead, a budget that is just what a preview says suffices. Noise is
    frozen but for Gaussian noise, under which roads may be others and must hold as well."""
    frozen(0)
    terms, limit = MEASURES[measure]
    said = {"rho" if measure == "ρ" else "epsilon": loss}
    lengths = set()
    for rows in roads():
        plain = rows.assign(above=rows["y"] > 0)
        target = "y" if name.startswith(("linear", "regression")) else "above"
        anew(**{limit: 1000}, **terms)
        people = dp.protect(plain, name="roads")
        with dp.preview() as plan:
            ROADS[name](**said).fit(people[FIVE], people[target])
        session = anew(**{limit: plan.total}, **terms)
        people = dp.protect(plain, name="roads")
        model = ROADS[name](**said).fit(people[FIVE], people[target])
        assert session.spent <= plan.total
        # two may stand still, and where ρ is counted roads of one ε cost different ρ
        if name not in ("k-means by rounds", "perceptron") and (
            name != "logistic, by default" or measure != "ε where ρ is counted"
        ):
            assert session.spent >= plan.total * (1 - 1e-4), "the loss is used up"
        lengths.add(len(model.releases_))
    if name.startswith("linear") and measure != "ρ":
        expected = 2 if name == "linear, by default" else 3
        assert len(lengths) >= expected, "no step before a gradient, none after it, and steps"
