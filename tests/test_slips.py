"""What people write who know pandas, or mistype: refused free of charge, in words that help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dppandas as dp

ROWS = pd.DataFrame(
    {
        "x": [1.0, 2.0, 3.0] * 100,
        "y": [1.0, 4.0, 3.0] * 100,
        "g": ["a", "b", "a"] * 100,
        "f": [True, False, True] * 100,
        "when": pd.date_range("2025", periods=300),
    }
)
DOMAIN = {"x": (0, 5), "y": (0, 5), "g": ["a", "b"]}

Ask = Callable[[Any], Any]


@pytest.fixture
def p() -> Any:
    dp.session(epsilon=100, delta=1e-3)
    return dp.protect(ROWS.copy(), name="s", domain=DOMAIN)


def refused(ask: Ask, p: Any, match: str, error: type[Exception] = dp.QueryError) -> str:
    """The message of a refusal that cost nothing."""
    with pytest.raises(error, match=match) as raised:
        ask(p)
    assert dp.ledger().entries() == []
    return str(raised.value)


def votes(rows: pd.DataFrame, candidate: str) -> int:
    return int((rows["g"] == candidate).sum())


def most(rows: pd.DataFrame) -> int:
    return len(rows)


#: Answers that are asked for first and paid for later, with the words by which they are.
LATER: dict[str, tuple[Ask, str]] = {
    "counts": (lambda p: p["g"].value_counts(), "release"),
    "a number": (lambda p: p["x"].mean(), "release"),
    "a label": (lambda p: p["g"].value_counts(), "idxmax"),
    "the top": (lambda p: p["g"].value_counts(), "nlargest"),
    "the top of columns": (lambda p: p[["f"]].sum(), "nlargest"),
    "an error": (lambda p: p["g"].value_counts(), "expected_error"),
    "a mode": (lambda p: p["g"].mode(), "release"),
    "several": (lambda p: p["x"].agg(["mean", "count"]), "release"),
    "one of several": (lambda p: p["x"].agg("mean"), "release"),
    "all eight": (lambda p: p["x"].describe(), "release"),
    "labels found": (lambda p: p["g"].unique(delta=1e-6), "release"),
    "counts found": (lambda p: ROWS.dp["g"].value_counts(delta=1e-6), "release"),
    "groups found": (lambda p: ROWS.dp.groupby("g", delta=1e-6).size(), "release"),
    "a choice": (lambda p: dp.choose(ROWS, ["a", "b"], score=votes, sensitivity=1), "release"),
    "a distance": (lambda p: dp.distance_to(ROWS, most), "release"),
    "a test": (lambda p: dp.propose_test_release(ROWS, most, most), "release"),
}


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("slip", [{"mechanizm": "gaussian"}, {"bounds": (0, 1)}, {"axis": 0}])
def test_a_release_takes_what_it_knows(name: str, slip: dict[str, Any], p: Any) -> None:
    ask, way = LATER[name]
    asked = getattr(ask(p), way)
    first = (1,) if way == "nlargest" else ()
    said = refused(lambda _: asked(*first, epsilon=1, **slip), p, repr(next(iter(slip))))
    assert "charged" in said
    assert ("Did you mean mechanism=" in said) == ("mechanizm" in slip)


@pytest.mark.parametrize("paid", [{}, {"epsilon": 1, "delta": 1e-6}])
def test_functions_of_the_package_take_what_they_know(paid: dict[str, Any], p: Any) -> None:
    for ask in (
        lambda p: dp.choose(ROWS, ["a"], score=votes, sensitivity=1, foo=1, **paid),
        lambda p: dp.distance_to(ROWS, most, foo=1, **paid),
        lambda p: dp.propose_test_release(ROWS, most, most, foo=1, **paid),
    ):
        refused(ask, p, "'foo'")
