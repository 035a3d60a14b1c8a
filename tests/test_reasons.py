"""Reasons that were false or empty: each now says what is wrong, and names what works here."""

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from notes import noted
from refusals import refusal

import dppandas as dp
from dppandas.errors import DPError, UnsupportedVerb
from dppandas.release import foreign

ROWS = pd.DataFrame({
    "x": [1.0, 2.0, 3.0] * 10, "white": [1, 0, 1] * 10, "g": ["a", "b", "a"] * 10,
    "when": pd.date_range("2025", periods=30), "until": pd.date_range("2025-02-01", periods=30),
})  # fmt: skip
YEAR = ("2025-01-01", "2025-12-31")


@pytest.fixture
def p() -> Any:
    dp.session(epsilon=100, delta=1e-3)
    domain = {"x": (0, 5), "g": ["a", "b"], "when": YEAR, "until": YEAR}
    return dp.protect(ROWS.copy(), name="s", domain=domain)


def of_library(module: str, function: str) -> Callable[[Any], Any]:
    """A function of a library that isn't installed, which asks for a length."""
    code = f"def {function}(data, *more, **options):\n    return len(data)\n"
    made = types.ModuleType(module)
    exec(code, made.__dict__)
    called: Callable[[Any], Any] = getattr(made, function)
    return called


def assigned(frame: Any, key: Any, value: Any) -> None:
    frame[key] = value


def test_a_library_that_asks_for_a_dtype_gets_none() -> None:
    """It would take the kind for the dtype of an array; a caller's own code may have it."""
    column = dp.protect(ROWS.copy(), name="d")["x"]
    assert (column.dtype, (column > 1).dtypes) == ("number", "truth")
    made = types.ModuleType("scipy.stats._x")
    exec("def asks(data):\n    return data.dtype", made.__dict__)
    refusal(lambda: made.asks(column), r"scipy\.asks would read", UnsupportedVerb)


#: What is written, and how the message begins or what it has to say.
REASONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "pd.cut": (lambda p: pd.cut(p["x"], [0, 2]), r"^pd\.cut would read .*Instead, .*\.cut\(\["),
    "pd.qcut": (lambda p: pd.qcut(p["x"], 4), r"^pd\.qcut would .*may be released quantiles"),
    "pd.crosstab": (lambda p: pd.crosstab(p["g"], p["x"]), r"^pd\.crosstab .*dp\.crosstab\(frame"),
    "pd.concat": (lambda p: pd.concat([p, p]), r"^pd\.concat .*Instead, dp\.concat\("),
    "pd.merge": (lambda p: pd.merge(p, ROWS, on="g"), r"^pd\.merge .*frame\.merge\(table"),
    "pd.to_datetime": (lambda p: pd.to_datetime(p["g"]), r"^pd\.to_datetime .*\.astype\('datetime"),
    "pd.melt": (lambda p: pd.melt(p), r"^pd\.melt would .*frame\.melt\("),
    "histplot": (
        lambda p: of_library("seaborn.distributions", "histplot")(p["x"]),
        r"^sns\.histplot would read private values\. Instead, plot a released answer: dp\.plot\("),
    "t-test": (
        lambda p: of_library("scipy.stats._stats_py", "ttest_ind")(p["x"]),
        r"^scipy\.ttest_ind .*\.agg\(\['mean', 'std'\].*leaves out their noise"),
    "a wrapper": (
        lambda p: of_library("scipy.stats._x", "axis_nan_policy_wrapper")(p["x"]),
        "^scipy would read private values"),
    "its type": (lambda p: p["x"].eq(float), "^the type would reveal private"),
    "the caller's own": (lambda p: len(p["x"]), "^len\\(\\) would reveal how many rows there are"),
    "a column's name": (lambda p: (p["x"] - p["white"]).mean(epsilon=1), "needed for 'x - white'"),
    "weights' name": (
        lambda p: p["x"].mean(weights=p["x"] - p["white"], epsilon=1), "needed for 'x - white'"),
    "keys' name": (lambda p: (p["x"] - p["white"]).value_counts(), "needed for 'x - white'"),
    "all columns": (
        lambda p: dp.private(ROWS, unit="row")[["x", "white"]].mean(epsilon=1),
        r"needed for 'x', 'white'.*bounds=\{'x': \(0, 60\), 'white': \(0, 60\)\}"),
    "all features": (
        lambda p: dp.models.KMeans(epsilon=1).fit(dp.private(ROWS, unit="row")[["x", "white"]]),
        "needed for 'x', 'white'"),
    "smooth": (lambda p: p["x"].max(method="smooth", epsilon=1), r"quantile\(0\.99, method='smoo"),
    "smooth min": (lambda p: p.min(method="smooth"), r"quantile\(0\.01, method='smooth'\)"),
    "filled": (lambda p: p.fillna(method="ffill"), "rows have no order"),
    "no parentheses": (
        lambda p: p["white"] == 1 & p["x"] == 1, r"parentheses, as in \(p\['a'\] == 1\) & \("),
    "compared in a chain": (lambda p: 1 < p["x"] < 3, "and parentheses"),
    "a joint unit": (
        lambda p: dp.protect(ROWS.copy(), "j", unit=["g", "x"]),
        r"names several columns.*df\['who'\] = list\(zip\(df\['g'\], df\['x'\]\)\)"),
    "a tuple as unit": (lambda p: dp.private(ROWS, unit=("g", "x")), "names several columns"),
    "a column set": (
        lambda p: assigned(p, "y", p["x"] * 2), r"Write frame = frame\.assign\(y=…\)\."),
    "a number set": (lambda p: assigned(p, "y", 0.5), r"frame\.assign\(y=0\.5\)"),
    "a text set": (lambda p: assigned(p, "y", "low"), r"""assign\(y="'low'"\)"""),
    "an odd name set": (lambda p: assigned(p, "a b", 1), r"assign\(\*\*\{'a b': 1\}\)"),
    "a keyword set": (lambda p: assigned(p, "class", 1), r"assign\(\*\*\{'class': 1\}\)"),
    "two set": (lambda p: assigned(p, ["a", "b"], 1), r"assign\(a=1, b=1\)"),
    "some rows set": (
        lambda p: assigned(p["x"], p["x"] > 2, 0), r"frame\['x'\]\.mask\(condition, 0\)"),
    "a frame set": (lambda p: assigned(p, "y", ROWS), r"assign\(y=…\)"),
}  # fmt: skip


def test_reasons_are_true_and_say_what_works(p: Any) -> None:
    for name, (ask, match) in REASONS.items():
        with noted(name):
            refusal(lambda ask=ask: ask(p), f"(?s){match}", DPError)


def test_what_stands_in_for_a_function_is_offered(p: Any) -> None:
    """The advice runs, where it is code of one line."""
    given = {
        "dp": dp,
        "pd": pd,
        "one": p,
        "other": p,
        "table": pd.DataFrame({"key": ["a"], "v": [1]}),
    }
    given["frame"] = p.rename(columns={"g": "key"}).assign(a="white == 1", b="x > 1", g="key")
    given["frame"] = given["frame"].declare(key=["a", "b"])
    for name, instead in foreign.INSTEAD["pandas"].items():
        code = instead.rpartition(": ")[2].partition("), ")[0].partition(" for ")[0]
        if name in ("melt", "unique", "factorize", "get_dummies", "pivot_table", "qcut"):
            continue  # of other names, or more than one line
        with noted(name, code):
            assert eval(code, dict(given)) is not None


def test_files_of_other_formats_are_named(tmp_path: Path) -> None:
    for name, said in (
        ("a.csv", r"is a \.csv file.*pd\.read_csv\('a\.csv'\)"), ("b.csv.gz", r"pd\.read_csv"),
        ("c.xlsx", "pd.read_excel"), ("d.parquet", "or is damaged"), ("e", "or is damaged"),
    ):  # fmt: skip
        file = tmp_path / name
        file.write_text("x,y\n1,2\n")
        with noted(name):
            refusal(lambda file=file: dp.protect(str(file), "f"), said)


def test_a_joint_unit_is_made_as_the_message_says(p: Any) -> None:
    df = pd.DataFrame({"a": ["x", "x", None], "b": [1, 1, 2], "v": [1, 2, 3]})
    df["who"] = df["a"].astype("string") + "|" + df["b"].astype("string")
    assert df["who"].isna().tolist() == [False, False, True], "a missing part names nobody"
    dp.protect(df, "joint", unit="who", max_rows=2)


# --- the difference of two declared times ---------------------------------------------------------


def test_a_difference_of_declared_times_knows_its_bounds(p: Any, exact: None) -> None:
    length = (p["until"] - p["when"]).mean(epsilon=1)
    assert abs(length - pd.Timedelta("31D")) < pd.Timedelta("1min")
    for made, low, high in (
        (p["until"] - p["when"], "-364D", "364D"),
        (p["when"] - pd.Timestamp("2025-01-01"), "0D", "364D"),
        (p["when"] + pd.Timedelta("1D") - pd.Timestamp("2025-01-01"), "1D", "365D"),
        ((p["until"] - p["when"]) + (p["until"] - p["when"]), "-728D", "728D"),
    ):
        span = made._expression.declared(p._table.source.domain)
        assert span.ends == (pd.Timedelta(low), pd.Timedelta(high))
    for unknown in (p["when"] + p["until"], p["when"] - pd.Timestamp("2025-01-01", tz="UTC")):
        assert unknown._expression.declared(p._table.source.domain) is None


def test_bounds_of_differences_cover_all_values() -> None:
    rng = np.random.default_rng(1)
    ends = pd.DatetimeIndex(rng.integers(0, 10**18, 40).view("M8[ns]")).sort_values()
    dp.session(epsilon=1)
    for i in range(0, 40, 4):
        one, other = (ends[i], ends[i + 2]), (ends[i + 1], ends[i + 3])
        rows = pd.DataFrame({"a": one, "b": other})
        crossed = rows[["a"]].merge(rows[["b"]], how="cross")
        p = dp.protect(crossed, f"s{i}", domain={"a": one, "b": other})
        low, high = (p["a"] - p["b"])._expression.declared(p._table.source.domain).ends
        assert (low, high) == (
            (crossed["a"] - crossed["b"]).min(),
            (crossed["a"] - crossed["b"]).max(),
        )
