"""What dp.intervals follows of a table that pandas computed from an answer, and what it says."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew

import dppandas as dp
from dppandas.errors import RecordError

ARMS, BANDS = ["A", "B"], list(range(6))
DOMAIN = {"arm": ARMS, "band": BANDS, "bought": (0, 1)}


def shop() -> pd.DataFrame:
    at = np.arange(4000)
    return pd.DataFrame({
        "arm": np.where(at % 2, "B", "A"), "band": at % 23 % 6, "bought": (at % 3 == 0).astype(int),
    })  # fmt: skip


@pytest.fixture
def p() -> Any:
    anew(epsilon=10**4)
    return dp.protect(shop(), name="bands", domain=DOMAIN)


def sizes(p: Any) -> Any:
    return p.groupby("band").size(epsilon=1)


def table(p: Any) -> Any:
    return dp.crosstab(p["arm"], p["band"], epsilon=1)


FOLLOWED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sizes": (sizes, lambda c: c.cumsum()),
    "down a table": (table, lambda t: t.cumsum()),
    "across a table": (table, lambda t: t.cumsum(axis=1)),
    "of several releases": (
        lambda p: p.groupby("band")["bought"].agg(["size", "std"], epsilon=1),
        lambda t: t.cumsum()),
    "under another name": (sizes, lambda c: c.cumsum().rename("n")),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
def test_running_totals_have_the_errors_that_derive_gives(name: str, p: Any) -> None:
    ask, f = FOLLOWED[name]
    answer = ask(p)
    found = dp.intervals(f(answer), 0.9)
    assert found.equals(dp.intervals(dp.derive(f, answer), 0.9))
    assert found["value"].tolist() == np.ravel(f(answer)).tolist()


COMPUTED: dict[str, Callable[[Any], Any]] = {
    "the largest until now": lambda p: sizes(p).cummax(),
    "a product": lambda p: sizes(p).cumprod(),
    "in another order": lambda p: sizes(p).sort_index(ascending=False).cumsum(),
    "of some": lambda p: sizes(p).head(5).cumsum(),
    "sorted by noise": lambda p: p["band"].value_counts(epsilon=1).cumsum(),
    "added up twice": lambda p: sizes(p).cumsum().cumsum(),
    "another difference": lambda p: sizes(p) - p.groupby("band").size(epsilon=2),
    "times two": lambda p: sizes(p).cumsum() * 2,
}  # fmt: skip


@pytest.mark.parametrize("name", COMPUTED)
def test_what_isnt_followed_names_what_is(name: str, p: Any) -> None:
    with pytest.raises(RecordError, match=re.escape("dp.derive(lambda x: …, answer)")) as told:
        dp.intervals(COMPUTED[name](p))
    assert "dp.difference(a, b)" in str(told.value)


def test_running_numbers_that_are_equal_are_not_told_apart(p: Any, exact: None) -> None:
    """A sum of the first and zeros is the largest until now, too; and of few whole numbers a
    product may be one."""
    first = p[p["band"] == 0].groupby("band").size(epsilon=1)
    assert first.tolist()[1:] == [0] * 5
    two = dp.protect(pd.DataFrame({"arm": ["A", "A", "B", "B"]}), "two", domain={"arm": ARMS})
    few = two.groupby("arm").size(epsilon=1)
    assert few.cumsum().tolist() == few.cumprod().tolist() == [2, 4]
    halves = pd.DataFrame({"arm": ["A", "A", "B", "B"] * 500, "bought": [0, 1, 0, 0] * 500})
    share = dp.protect(halves, "halves", domain={"arm": ARMS, "bought": (0, 1)})
    rates = share.groupby("arm")["bought"].mean(epsilon=1)
    assert rates.cumsum().tolist() == rates.cummax().tolist() == [0.5, 0.5]
    for answer in (first, few, rates):
        with pytest.raises(RecordError, match=r"dp\.derive"):
            dp.intervals(answer.cumsum())


def test_other_labels_are_not_followed_and_derive_is_named(p: Any) -> None:
    """Positions and equal values never decide whose errors they are."""
    rates = p.groupby("arm")["bought"].agg(["size", "mean"], epsilon=1)
    for renamed, said in (
        (sizes(p).rename({0: "none"}), "x.rename({…})"),
        (sizes(p).set_axis(list("abcdef")), "x.rename({…})"),
        (rates.rename(columns={"mean": "share"}), "x.rename(columns={…})"),
    ):  # fmt: skip
        for ask in (dp.intervals, dp.record):
            with pytest.raises(RecordError, match=re.escape(said)):
                ask(renamed)
    derived = dp.derive(lambda x: x.rename({0: "none"}), sizes(p))
    assert dp.intervals(derived).index.tolist() == ["none", 1, 2, 3, 4, 5]


def test_running_totals_of_labels_and_quantiles_have_no_errors(p: Any) -> None:
    aged = shop().assign(age=np.arange(4000) % 60)
    ages = dp.protect(aged, "ages", domain={**DOMAIN, "age": (0, 60)})
    medians = ages.groupby("arm")["age"].median(epsilon=1)
    with pytest.raises(RecordError):
        dp.intervals(medians.cumsum())
    modes = p["arm"].mode(epsilon=1)
    assert dp.intervals(modes)["value"].isin(ARMS).all()
    with pytest.raises(RecordError):
        dp.intervals(modes + "x")
