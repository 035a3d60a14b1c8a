"""Habits of counting: the same line on a plain frame and on a private one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from habits import FRAMES, agree, clean, private

import dppandas as dp
from dppandas.errors import MissingArgument, QueryError

EDGES = [0, 30, 60, 100]
GAPS = pd.IntervalIndex.from_tuples([(0, 30), (60, 100)])
LINES: dict[str, Callable[[Any], Any]] = {
    "edges": lambda f: f["age"].value_counts(bins=EDGES, sort=False),
    "edges, by number": lambda f: f["age"].value_counts(False, False, False, EDGES),
    "shares of bins": lambda f: f["age"].value_counts(normalize=True, bins=EDGES, sort=False),
    "sorted bins": lambda f: f["income"].value_counts(bins=[0, 20, 90, 100]),
    "the sum of a mask": lambda f: (f["city"] == "Rome").sum(),
    "the sum of a mask by group": lambda f: f.assign(old=f["income"] > 40).groupby(
        "city", sort=True)["old"].sum(),
    "masks of a frame": lambda f: (f[["age", "income"]] > 40).sum(),
    "a column of truth values": lambda f: f["member"].sum(),
    "missing": lambda f: f.isna().sum(),
    "shares missing": lambda f: f.isna().mean(),
    "share of a column": lambda f: f["member"].mean(),
    "the sum of a query": lambda f: f.query("age > 30 and income < 50")["member"].sum(),
}  # fmt: skip


#: Where values are missing, pandas' shares of bins are of all rows, and its other shares are not.
DIFFERS = ("shares of bins", "ugly")


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("line", LINES)
def test_as_pandas(line: str, frame: str) -> None:
    if (line, frame) == DIFFERS:
        with pytest.raises(AssertionError):
            agree(LINES[line], FRAMES[frame](), rtol=1e-8)
        return
    agree(LINES[line], FRAMES[frame](), rtol=1e-8)


@pytest.mark.usefixtures("exact")
def test_equal_bins_divide_the_bounds() -> None:
    """pandas reads the range from the data."""
    agree(
        lambda f: f["age"].value_counts(bins=4, sort=False), clean(),
        lambda f: f["age"].value_counts(bins=np.linspace(0, 100, 5), sort=False),
    )  # fmt: skip


def cut(f: Any, name: str, *args: Any, **options: Any) -> Any:
    """`pandas.cut` of a plain column, `dppandas.cut` of a private one."""
    return (pd.cut if isinstance(f, pd.DataFrame) else dp.cut)(f[name], *args, **options)


TIMES = pd.to_datetime(["2024-01-10", "2024-02-01", "2024-03-01"])
CUTS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any] | None]] = {
    "a number, labelled": (
        lambda f: cut(f, "age", 2, labels=["young", "old"]),
        lambda f: cut(f, "age", [-1, 50, 100], labels=["young", "old"])),
    "a number, to the left": (
        lambda f: cut(f, "income", 4, right=False, labels=False),
        lambda f: cut(f, "income", [0, 25, 50, 75, 101], right=False, labels=False)),
    "intervals": (lambda f: cut(f, "age", pd.interval_range(10, 90, freq=20)), None),
    "intervals to the left": (
        lambda f: cut(f, "age", pd.interval_range(18, 60, freq=6, closed="left")), None),
    "times": (lambda f: cut(f, "when", TIMES), None),
    "texts of times": (
        lambda f: cut(f, "when", [*map(str, TIMES)], labels=["a", "b"]),
        lambda f: cut(f, "when", TIMES, labels=["a", "b"])),
    "times to the left": (lambda f: cut(f, "when", TIMES, right=False), None),
    "intervals of times": (
        lambda f: cut(f, "when", pd.IntervalIndex.from_breaks(TIMES, closed="left")), None),
}  # fmt: skip


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("line", CUTS)
def test_cuts(line: str, frame: str) -> None:
    ask, plainly = CUTS[line]
    agree(ask, FRAMES[frame](), plainly)


@pytest.mark.usefixtures("exact")
def test_cuts_into_a_number_of_bins() -> None:
    p = private(clean())
    counts = dp.cut(p["age"], 4).value_counts(epsilon=1, sort=False)
    wanted = p["age"].value_counts(bins=4, sort=False, epsilon=1)
    assert counts.tolist() == wanted.tolist()
    assert counts.index.tolist() == wanted.index.tolist()


@pytest.mark.usefixtures("exact")
def test_equal_bins_of_declared_times() -> None:
    df = clean()
    p = dp.protect(df, name="bins", domain={"when": ("2024-01-01", "2024-03-31")})
    found = dp.cut(p["when"], 3).value_counts(sort=False, epsilon=1)
    edges = pd.date_range("2024-01-01", "2024-03-31", periods=4)
    wanted = pd.cut(df["when"], edges, include_lowest=True).value_counts(sort=False)
    assert found.tolist() == wanted.tolist()
    assert [each.right for each in found.index] == list(edges[1:])


def test_bins_are_asked_once() -> None:
    p = private(clean())
    p["age"].value_counts(bins=EDGES, epsilon=1)
    p["age"].cut(EDGES, include_lowest=True).value_counts(epsilon=1)
    dp.cut(p["age"], EDGES, include_lowest=True).value_counts(normalize=True, epsilon=1)
    assert dp.ledger().spent == 1


@pytest.mark.parametrize(("line", "kind", "says"), [
    (lambda p: p["age"].value_counts(bins=3, keys=[1]), QueryError, "bins= makes the keys"),
    (lambda p: p["when"].value_counts(bins=3), Exception, "when"),
    (lambda p: (p["age"] / p["income"]).value_counts(bins=3), MissingArgument, "needs declared"),
    (lambda p: (p["age"] / p["income"]).cut(3), MissingArgument, "needs declared"),
    (lambda p: p["age"].cut(3.0), QueryError, "list of edges"),
    (lambda p: p["age"].cut(3, labels=["a", "b"]), QueryError, "make 3 intervals"),
    (lambda p: p["age"].cut(GAPS), QueryError, "without gaps"),
    (lambda p: p["age"].cut(GAPS[:1].set_closed("both")), QueryError, "closed on"),
    (lambda p: p["age"].cut(GAPS[:1], labels=["a"]), QueryError, "Leave labels= out"),
    (lambda p: p["city"].unique(epsilon=1), QueryError, r"value_counts\(epsilon=…\)"),
    (lambda p: p["city"].unique().release(epsilon=1), MissingArgument, "keys from the data"),
    (lambda p: p["age"].value_counts(bins=[3, 1]), QueryError, "edges"),
    (lambda p: p["age"].value_counts(bins="auto"), QueryError, "bins='auto'"),
])  # fmt: skip
def test_what_cannot_be_is_refused(line: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        line(private(clean()))
    assert dp.ledger().spent == 0


@pytest.mark.usefixtures("exact")
def test_texts_of_periods() -> None:
    agree(lambda f: f["when"].dt.to_period("M").astype(str), clean())


def test_keys_name_each_time_once() -> None:
    day, noon = "2024-01-01", "2024-01-01 12:00"
    p = private(clean())
    for keys in ([day, "2024-01-01 00:00"], [day, pd.Timestamp(day)], [pd.Timestamp(noon), noon]):
        with pytest.raises(QueryError, match="name one time twice"):
            p["when"].value_counts(keys=keys)
        with pytest.raises(QueryError, match="name one time twice"):
            p.groupby(["sex", "when"], keys={"when": keys})
    assert p["when"].value_counts(keys=[day, noon]).release(epsilon=1).index.tolist() != []
    texts = pd.DataFrame({"x": [day, "2024-01-01 00:00"]}).dp["x"]
    texts.value_counts(keys=[day, "2024-01-01 00:00"])  # of a column of texts these are two


@pytest.mark.usefixtures("exact")
def test_numbers_declared_by_their_keys_have_sums() -> None:
    p = dp.protect(clean().assign(n=2), name="numbers", domain={"n": [1, 2, 3], "sex": ["f", "m"]})
    assert p[["n"]].sum().release(epsilon=1)["n"] == 120
    assert p[["n"]].agg(["sum", "mean"]).release(epsilon=1)["n"].tolist() == [120, 2]
