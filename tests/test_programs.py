"""Models are programs of releases: on hostile neighbours each of their releases keeps its
sensitivity, and asks the same, warns the same and fails the same.

The audit hands constants to the program in place of answers, so it asks the same questions of both
frames; that later questions follow from answers alone is what makes them compose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from operations import BOUNDS, SCHEMA

from dppandas.audit import check_sensitivity
from dppandas.models import PCA, KMeans, LinearRegression, LogisticRegression, Perceptron

ENDS = {"number": BOUNDS, "code": (0, 4)}
TWO = list(ENDS)
SAID: dict[str, Any] = {"epsilon": 1, "bounds": ENDS}

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "k-means by a grid": lambda p: KMeans(2, **SAID).fit(p[TWO]).releases_,
    "k-means by rounds": lambda p: (
        KMeans(2, **SAID, method="lloyd", rounds=2).fit(p[TWO]).releases_
    ),
    "labels": lambda p: KMeans(2, **SAID).fit_predict(p[TWO]).value_counts(epsilon=1),
    "principal components": lambda p: PCA(1, **SAID).fit(p[TWO]).releases_,
    "along components": lambda p: PCA(1, **SAID).fit_transform(p[TWO])["pca0"].sum(epsilon=1),
    "linear": lambda p: (
        LinearRegression(**SAID, target_bounds=(0, 1), rounds=2).fit(p[TWO], p["yes"]).releases_
    ),
    "linear, by steps": lambda p: (
        LinearRegression(epsilon=64, bounds=ENDS, target_bounds=(0, 1), rounds=2)
        .fit(p[TWO], p["yes"])
        .releases_
    ),
    "logistic": lambda p: (
        LogisticRegression(**SAID, classes=["a", "b"], rounds=2).fit(p[TWO], p["group"]).releases_
    ),
    "perceptron": lambda p: (
        Perceptron(**SAID, classes=["a", "b"], rounds=2).fit(p[TWO], p["group"]).releases_
    ),
}


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_release_of_a_program_keeps_its_sensitivity(name: str, max_rows: int) -> None:
    unit = None if max_rows == 1 else "owner"
    found = check_sensitivity(PROGRAMS[name], SCHEMA, unit=unit, max_rows=max_rows, pairs=40)
    assert found.ok, found
    least = 1 if name == "principal components" else 2
    assert found.releases >= least * 40, "other programs have two releases or more"
    assert found.worst > 0


def test_a_program_that_looks_at_rows_is_noticed() -> None:
    """The negative control: bounds of the data in place of public ones."""

    def careless(p: Any) -> Any:
        frame = p._root.engine._frame
        numbers = pd.to_numeric(frame["number"], errors="coerce")
        top = float(np.nanmax(numbers.replace([np.inf, -np.inf], np.nan).fillna(0), initial=1.0))
        return KMeans(2, epsilon=1, bounds=(-5, 10 + abs(top))).fit(p[["number"]]).releases_

    assert not check_sensitivity(careless, SCHEMA, pairs=40).ok
