"""Every operation that releases something, over one schema: a line here, and a new one is tested.

Columns: number, group (text), code (whole numbers), yes and no (truth values), when (times).
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import dppandas as dp
from dppandas.engines.base import Kernel
from dppandas.models.synthetic.domains import domain_of, marginals_of
from dppandas.models.synthetic.small_database import database
from dppandas.privacy.mechanisms.ranks import Ranks, RanksByCell
from dppandas.release.query import need_of
from dppandas.release.unreleased import Unreleased

COLUMNS = ("number", "group", "code", "yes", "no", "when")
BOUNDS = (-5, 10)
GROUPS = ["a", "b", "c"]
CODES = [1, 2, 3]
DELTA = 1e-6
BOTH = {"group": GROUPS, "code": CODES}
WEIGHTS = {"weight_bounds": (0.5, 3)}
MONTHS = (pd.Timestamp("2019-12-31", tz="UTC"), pd.Timestamp("2020-02-01", tz="UTC"))
YEAR = ("2020-01-01", "2020-12-31")
FEW_DAYS = ("2020-01-01", "2020-01-06")
HOURS = (pd.Timedelta(0), pd.Timedelta("30D"))
DAYS = (pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2020-01-06", tz="UTC"))
BY_GROUP = {"group": GROUPS, "yes": [False, True]}

#: A few rows of the schema, some of them of one owner.
SCHEMA = pd.DataFrame({
    "number": np.arange(12) * 1.5 - 3, "group": list("abcx") * 3, "code": [1, 2, 3, 9] * 3,
    "yes": [True, False] * 6, "no": [False, True, True] * 4,
    "when": pd.date_range("2020-01-01", periods=12, tz="UTC"),
    "owner": [1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6],
})  # fmt: skip


def schema() -> pd.DataFrame:
    """Ten days of the schema, two rows to an owner."""
    rows = range(240)
    return pd.DataFrame({
        "number": [i % 7 - 2.5 for i in rows], "group": ["abx"[i % 3] for i in rows],
        "code": [i % 4 for i in rows], "yes": [i % 2 == 0 for i in rows],
        "no": [i % 5 == 0 for i in rows], "owner": [i // 2 for i in rows],
        "when": pd.date_range("2020-01-01", periods=240, freq="h", tz="UTC"),
    })  # fmt: skip


def sixty(rows: int = 60) -> pd.DataFrame:
    """The schema with few values: each group and each code in a third of the rows."""
    return pd.DataFrame({
        "number": np.arange(rows) % 10, "group": list("abc") * (rows // 3),
        "code": [1, 2, 3] * (rows // 3), "yes": True, "no": False,
        "when": pd.Timestamp("2020-01-02", tz="UTC"), "owner": range(rows),
    })  # fmt: skip


def letters(rows: int = 100) -> pd.DataFrame:
    """Numbers, four groups of one size, and units of two rows."""
    halves = [i // 2 for i in range(rows)]
    groups = list("abcd") * (rows // 4)
    return pd.DataFrame({"a": range(rows), "b": range(0, 2 * rows, 2), "g": groups, "u": halves})


def people(**terms: Any) -> Any:
    """A hundred of them, protected."""
    return dp.protect(letters(), name="people", domain={"g": list("abcd"), "a": (0, 100)}, **terms)


def spent() -> Fraction:
    return dp.ledger().spent


def statuses() -> list[str]:
    return [entry.status for entry in dp.ledger()._entries()]


LEVELS = pd.DataFrame(
    {"group": ["a", "a", "b"], "code": [1, 2, 1], "grade": ["low", "high", "low"]}
)


def parts(p: Any) -> Any:
    """A row for each of at most two parts of a text."""
    return p.assign(part=p["group"].str.split("a")).explode("part", max_items=2)


def per_unit(p: Any) -> Any:
    """A row for each unit, with an aggregate of each kind."""
    return p.query("not code == 9").per_unit().agg(
        n="size",
        total=("number", "sum"), average=("number", "mean"), middle=("number", "median"),
        least=("number", "min"), most=("number", "max"), there=("when", "count"),
        kinds=("group", "nunique"), ever=("yes", "any"), always=("no", "all"),
    )  # fmt: skip


def table(columns: dict[str, list[Any]], each: float) -> pd.Series:
    """A public table that expects the same in all cells."""
    index = pd.MultiIndex.from_product(list(columns.values()), names=list(columns))
    return pd.Series(each, index=index.get_level_values(0) if len(columns) == 1 else index)


def small(p: Any, rows: int) -> Any:
    """A database of a few rows, not selected yet."""
    domain = domain_of(p[["group", "yes"]], BY_GROUP)
    return database(p, domain, marginals_of(domain, [*BY_GROUP, tuple(BY_GROUP)]), rows, 8)


#: What a private frame of the schema answers; each call leaves ``epsilon=`` to the test.
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "count": lambda p: p.count(),
    "size": lambda p: p.size(),
    "count of a query": lambda p: p.query("number > 1 and group in ['a', 'b']").count(),
    "count of a time query": lambda p: p.query("when >= '2020-01-02' or not yes").count(),
    "count of a column query": lambda p: p.query("yes == no or number < code").count(),
    "count of a mask": lambda p: p[(p["number"] * 2 - p["code"] > 1) | p["when"].isna()].count(),
    "count of columns": lambda p: p[["number", "group", "when"]].count(),
    "count of a column": lambda p: p["group"].count(),
    "sum of True": lambda p: p.assign(high="number > 1")[["yes", "no", "high"]].sum(),
    "sum of a mask": lambda p: (p["number"] > 1).sum(),
    "sum of a mask by months": lambda p: p.assign(high="number > 1", low="code < 2").groupby(
        p["when"].dt.month)[["high", "low"]].sum(),
    "sum of columns": lambda p: p[["number", "code"]].sum(bounds=BOUNDS),
    "sum": lambda p: p["number"].sum(bounds=BOUNDS),
    "sum within a norm": lambda p: p[["number", "code"]].sum(bounds=BOUNDS, norm=4),
    "group sum within a norm": lambda p: p.groupby("group", keys=GROUPS)[["number", "code"]].sum(
        bounds=BOUNDS, norm=("l2", 4)),
    "sum of text": lambda p: p["group"].astype(float).sum(bounds=BOUNDS),
    "mean": lambda p: p["number"].mean(bounds=BOUNDS),
    "mean of arithmetic": lambda p: (p["number"] / p["code"]).mean(bounds=BOUNDS),
    "mean of columns": lambda p: p[["number", "code"]].mean(bounds=BOUNDS),
    "value_counts": lambda p: p["group"].value_counts(keys=GROUPS, sort=False),
    "sorted value_counts": lambda p: p["code"].value_counts(keys=CODES),
    "value_counts of times": lambda p: p["when"].value_counts(keys=["2020-01-01"], dropna=False),
    "value_counts with missing": lambda p: p["code"].value_counts(keys=CODES, dropna=False),
    "proportions": lambda p: p["group"].value_counts(keys=GROUPS, normalize=True),
    "value_counts of a mask": lambda p: (p["number"] > 0).value_counts(),
    "value_counts of bins": lambda p: p["number"].value_counts(bins=[-5, 0, 2, 10]),
    "value_counts of columns": lambda p: p[["group", "code"]].value_counts(keys=BOTH),
    "group size": lambda p: p.groupby("group", keys=GROUPS).size(),
    "group count": lambda p: p.groupby("code", keys=CODES)[["number", "yes"]].count(),
    "group sum": lambda p: p.groupby(["group", "code"], keys=BOTH)["number"].sum(bounds=BOUNDS),
    "group mean": lambda p: p.groupby("code", keys=CODES)[["number", "no"]].mean(bounds=BOUNDS),
    "group size with missing": lambda p: p.groupby("group", keys=GROUPS, dropna=False).size(),
    "group mean with missing": lambda p: p.groupby("group", keys=GROUPS, dropna=False)[
        ["number", "no"]
    ].mean(bounds=BOUNDS),
    "group quantiles with missing": lambda p: p.groupby("code", keys=CODES, dropna=False)[
        "number"
    ].quantile([0.1, 0.8], bounds=BOUNDS),
    "count of a sample": lambda p: p.sample(frac=0.5).count(),
    "count of an inner merge": lambda p: p.merge(LEVELS, how="inner", on=["group", "code"]).count(),
    "count of complete rows": lambda p: p.dropna(subset=["number", "when"]).count(),
    "count of texts": lambda p: p[p["group"].str.upper().str.contains("A|B")].count(),
    "count of elements": lambda p: parts(p)[["part", "number"]].count(),
    "value_counts of elements": lambda p: parts(p)["part"].value_counts(keys=["", "x"]),
    "value_counts of a cut": lambda p: p["number"].cut([-5, 0, 2, 10]).value_counts(sort=False),
    "value_counts of a map": lambda p: p["code"].map({1: "one", 2: "two"}).value_counts(),
    "value_counts of a merge": lambda p: p.merge(LEVELS, "left", on=["group", "code"])[
        "grade"
    ].value_counts(),
    "mean of times": lambda p: p["when"].mean(bounds=YEAR),
    "std of times": lambda p: p["when"].std(bounds=YEAR),
    "median of times": lambda p: p["when"].median(bounds=FEW_DAYS),
    "hist of times": lambda p: p["when"].hist(bins=4, range=YEAR),
    "shares of times outside": lambda p: p["when"].clipping_shares(bounds=FEW_DAYS),
    "sum of durations": lambda p: (p["when"].clip(*YEAR) - pd.Timestamp("2020-01-01")).sum(
        bounds=HOURS),
    "mean of durations": lambda p: (
        p["when"].clip(*FEW_DAYS) - pd.Timestamp("2020-01-01")
    ).dt.days.mean(bounds=(0, 9)),
    "group mean of times": lambda p: p.groupby("group", keys=GROUPS)[["when", "number"]].mean(
        bounds={"when": YEAR, "number": BOUNDS}),
    "group quantiles of times": lambda p: p.groupby("group", keys=GROUPS)["when"].quantile(
        [0.25, 0.75], bounds=YEAR),
    "value_counts of converted": lambda p: (
        p["when"]
        .dt.tz_convert("Asia/Tokyo")
        .dt.strftime("%d %H")
        .value_counts(keys=["01 09", "02 09"])),
    "value_counts of periods": lambda p: (
        p["when"].dt.to_period("M").value_counts(keys=[pd.Period("2020-01", "M")])),
    "value_counts of months": lambda p: p["when"].dt.month.value_counts(sort=False),
    "value_counts of texts": lambda p: p["number"].astype(str).value_counts(keys=["0", "0.5"]),
    "sum of assigned": lambda p: p.assign(
        more="number * 2 + code", less=lambda f: f["number"].where(f["yes"], f["code"]), one=1
    )[["more", "less", "one"]].sum(bounds=BOUNDS),
    "melted mean": lambda p: p.melt("group", ["number", "code"]).groupby(
        ["group", "variable"], keys={"group": GROUPS, "variable": ["number", "code"]}
    )["value"].mean(bounds=BOUNDS),
    "sum of two frames": lambda p: dp.concat(
        [p[["number"]], p[["code"]].rename(columns={"code": "number"})]
    )["number"].sum(bounds=BOUNDS),
    "mean of filled": lambda p: abs(p["number"].fillna(3).round(1)).clip(0, 9).mean(),
    "mean of roots": lambda p: np.sqrt(p["number"]).mean(bounds=(0, 9)),
    "shares outside": lambda p: p["number"].clipping_shares(bounds=(0, 1)),
    "var": lambda p: p["number"].var(bounds=BOUNDS),
    "std of columns": lambda p: p[["number", "code"]].std(bounds=BOUNDS, ddof=0),
    "group var": lambda p: p.groupby("code", keys=CODES)[["number", "no"]].var(bounds=BOUNDS),
    "group std": lambda p: p.groupby("group", keys=GROUPS)["number"].std(bounds=BOUNDS),
    "crosstab": lambda p: p.crosstab("group", "code", keys=BOTH, margins=True),
    "shares of a crosstab": lambda p: dp.crosstab(
        [p["group"], p["yes"]], p["code"], keys={**BOTH, **BY_GROUP}, normalize="index"),
    "pivot table": lambda p: p.pivot_table("number", "group", "yes", keys=BY_GROUP, bounds=BOUNDS),
    "pivot table of counts": lambda p: p.pivot_table(
        ["no"], index=["yes", "group"], columns="code", aggfunc="count", keys={**BOTH, **BY_GROUP}),
    "hist": lambda p: p["number"].hist(bins=3, range=(0, 10)),
    "hist by edges": lambda p: p["code"].hist(bins=[0, 1, 2, 4]),
    "popularity": lambda p: p["group"].unattributed_histogram(keys=GROUPS),
    "sum of few True": lambda p: p.assign(high="number > 1")[["yes", "no", "high"]].sum(at_most=1),
    "nunique of keys": lambda p: p["group"].nunique(keys=GROUPS),
    "nunique of codes": lambda p: p.query("number > 0")["code"].nunique(keys=CODES),
    "nunique of parts": lambda p: parts(p)["part"].nunique(keys=["", "x", "b"]),
    "nunique of values": lambda p: p["number"].nunique(),
    "nunique of values with missing": lambda p: p["when"].nunique(dropna=False),
    "nunique of found parts": lambda p: parts(p)["part"].nunique(),
    "suggested bounds": lambda p: p["number"].suggest_bounds(),
    "median": lambda p: p["number"].median(bounds=BOUNDS),
    "median of whole numbers": lambda p: p["code"].median(bounds=(0, 8), step=1),
    "quantiles of whole numbers": lambda p: p[["code", "number"]].quantile(
        [0.2, 0.5, 0.9], bounds=(-4, 8), step=2),
    "third": lambda p: (p["number"] + p["code"]).quantile(1 / 3, bounds=BOUNDS),
    "quantiles": lambda p: p["number"].quantile([0.25, 0.5, 0.9], bounds=BOUNDS),
    "quantile of columns": lambda p: p[["number", "code"]].quantile(0.7, bounds=BOUNDS),
    "quantiles of columns": lambda p: p[["number", "code"]].quantile([0, 0.5, 1], bounds=BOUNDS),
    "min": lambda p: p["code"].min(bounds=BOUNDS),
    "group max": lambda p: p.groupby("code", keys=CODES)["number"].max(bounds=BOUNDS),
    "group median": lambda p: p.groupby("group", keys=GROUPS)[["number", "no"]].median(
        bounds=BOUNDS),
    "group quantiles": lambda p: p.groupby(["group", "code"], keys=BOTH)["number"].quantile(
        [0.1, 0.8], bounds=BOUNDS),
    "group value_counts": lambda p: p.groupby("code", keys=CODES)["group"].value_counts(
        keys=GROUPS),
    "group hist": lambda p: p.groupby("group", keys=GROUPS)["number"].hist(bins=3, range=(0, 10)),
    "group nunique of keys": lambda p: p.groupby("code", keys=CODES)["group"].nunique(keys=GROUPS),
    "group nunique of values": lambda p: p.groupby("code", keys=CODES)["number"].nunique(
        dropna=False),
    "group cov": lambda p: p.groupby("group", keys=GROUPS)[["number", "code"]].cov(bounds=BOUNDS),
    "group corr": lambda p: p.groupby(["group", "yes"], keys=BY_GROUP)[
        ["number", "code", "no"]
    ].corr(bounds=BOUNDS),
    "group moments": lambda p: Unreleased(
        p.groupby("code", keys=CODES)[["number", "no"]]._moments(bounds=BOUNDS)),
    "cov": lambda p: p[["number", "code"]].cov(bounds=BOUNDS),
    "cov of three": lambda p: p[["number", "code", "yes"]].cov(bounds=BOUNDS, ddof=0),
    "corr": lambda p: p.assign(more="code / 2")[["number", "code", "yes", "no", "more"]].corr(
        bounds=BOUNDS),
    "cov of complete rows": lambda p: p[["number", "code", "yes", "no"]].cov(
        bounds=BOUNDS, dropna=True),
    "group corr of complete rows": lambda p: p.groupby("group", keys=GROUPS)[
        ["number", "code"]
    ].corr(bounds=BOUNDS, dropna=True),
    "cov of a pair": lambda p: p["number"].cov(p["code"], bounds=BOUNDS),
    "corr of a pair": lambda p: (p["number"] + p["code"]).corr(p["yes"], bounds=BOUNDS),
    "weighted count": lambda p: p.count(weights="code", weight_bounds=(0, 3)),
    "weighted count of a column": lambda p: p["group"].count(weights=p["code"], **WEIGHTS),
    "weighted sum": lambda p: p["number"].sum(bounds=BOUNDS, weights=p["code"], **WEIGHTS),
    "weighted mean": lambda p: p[["number", "yes"]].mean(
        bounds=BOUNDS, weights=p["code"], **WEIGHTS),
    "weighted group mean": lambda p: p.groupby("group", keys=GROUPS)["number"].mean(
        bounds=BOUNDS, weights="code", **WEIGHTS),
    "moments": lambda p: Unreleased(p[["number", "code"]]._moments(bounds=BOUNDS)),
    "share of a mask": lambda p: (p["number"] > 0).mean(),
    "group shares": lambda p: (
        p.assign(high=p["number"] > 0).groupby("group", keys=GROUPS)["high"].mean()),
    "size by day": lambda p: p.groupby(pd.Grouper(key="when", freq="D"), range=DAYS).size(),
    "mean by month and group": lambda p: p.groupby(
        [pd.Grouper(key="when", freq="MS"), "group"], keys=GROUPS, range=MONTHS
    )["number"].mean(bounds=BOUNDS),
}  # fmt: skip

#: What needs a unit column, "owner".
OF_UNITS: dict[str, Callable[[Any], Any]] = {
    "nunique": lambda p: p["owner"].nunique(),
    "nunique by group": lambda p: p.groupby("group", keys=GROUPS)["owner"].nunique(),
    "nunique of elements": lambda p: parts(p).groupby("part", keys=["", "x"])["owner"].nunique(),
    "sum per unit": lambda p: per_unit(p)[["total", "most", "middle"]].sum(bounds=BOUNDS),
    "mean per unit": lambda p: per_unit(p)["average"].mean(bounds=BOUNDS),
    "value_counts per unit": lambda p: per_unit(p)["n"].value_counts(keys=[1, 2, 3], sort=False),
    "value_counts of kinds": lambda p: per_unit(p)["kinds"].value_counts(keys=[0, 1, 2, 3]),
    "sum of True per unit": lambda p: per_unit(p)[["ever", "always"]].sum(),
    "count per unit": lambda p: parts(p).per_unit().agg(n=("part", "count")).count(),
    "kept and dropped": lambda p: p.truncation_shares(),
}

#: Selections: what they release is a label.
SELECTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "idxmax of columns": lambda p, e: p[["yes", "no"]].idxmax(epsilon=e),
    "idxmax of sums": lambda p, e: p[["number", "code"]].idxmax(bounds=BOUNDS, epsilon=e),
    "idxmax of counts": lambda p, e: p["group"].value_counts(keys=GROUPS).idxmax(epsilon=e),
    "nlargest columns": lambda p, e: (
        p.assign(high="number > 1")[["yes", "no", "high"]].sum().nlargest(2, epsilon=e)),
    "nlargest counts": lambda p, e: p["code"].value_counts(keys=CODES).nlargest(2, epsilon=e),
    "mode": lambda p, e: p["group"].mode(keys=GROUPS, epsilon=e),
    "worst fit": lambda p, e: dp.models.synthetic.worst_fit(
        p,
        [table({"group": GROUPS}, 4), table(BOTH, 1.3), table({"code": [1, 2, "a"]}, 2)],
        weights=[1, 2, 1],
        offsets=[0, 1.5, -2],
        epsilon=e),
    "worst fit of a query": lambda p, e: dp.models.synthetic.worst_fit(
        p.query("number > 0"), [table(BY_GROUP, 1), table({"yes": [True]}, 3)], epsilon=e),
    "small database": lambda p, e: small(p, 2).release(epsilon=e),
    "small database of a query": lambda p, e: small(p.query("not code == 9"), 3).release(epsilon=e),
}  # fmt: skip

#: What finds labels that nobody declared: each has a δ.
UNKNOWN: dict[str, Callable[[Any], Any]] = {
    "value_counts of labels found": lambda p: p["group"].value_counts(delta=DELTA),
    "value_counts of times found": lambda p: p["when"].value_counts(delta=DELTA, sort=False),
    "value_counts of columns found": lambda p: p.value_counts(["group", "code"], delta=DELTA),
    "value_counts of elements found": lambda p: parts(p)["part"].value_counts(delta=DELTA),
    "group size found": lambda p: p.groupby("code", delta=DELTA).size(),
    "group count found": lambda p: p.groupby("code", delta=DELTA)[["number", "yes"]].count(),
    "group sum found": lambda p: (
        p.query("number > 0").groupby(["group", "code"], delta=DELTA)["number"].sum(bounds=BOUNDS)),
    "group mean found": lambda p: p.groupby("group", delta=DELTA)[["number", "no"]].mean(
        bounds=BOUNDS),
    "group std found": lambda p: p.groupby("group", delta=DELTA)["number"].std(bounds=BOUNDS),
    "unique": lambda p: p["group"].unique(delta=DELTA),
    "unique elements": lambda p: parts(p)["part"].unique(delta=DELTA),
}  # fmt: skip

#: What Gaussian noise has other integers for; each asks for it.
GAUSSIAN: dict[str, Callable[[Any], Any]] = {
    "cov of complete rows, Gaussian": lambda p: p[["number", "code", "yes"]].cov(
        bounds=BOUNDS, dropna=True
    ),
    "group corr of complete rows, Gaussian": lambda p: p.groupby("code", keys=CODES)[
        ["number", "yes", "no"]
    ].corr(bounds=BOUNDS, dropna=True),
}

#: What must be allowed: an audit's own session allows it, others by `experimental=True`.
EXPERIMENTAL: dict[str, Callable[[Any], Any]] = {
    "smooth median": lambda p: p["number"].median(bounds=BOUNDS, method="smooth"),
    "smooth quantile": lambda p: (p["number"] / p["code"]).quantile(
        0.9, bounds=BOUNDS, method="smooth"),
    "trimmed mean": lambda p: p["number"].trimmed_mean(trim=2, bounds=BOUNDS),
    "trimmed mean of few": lambda p: p["code"].trimmed_mean(trim=20, bounds=BOUNDS),
    "trimmed mean of a query": lambda p: (
        p.query("number > 0 or yes").assign(x="number - code")["x"].trimmed_mean(
            trim=0, bounds=BOUNDS)),
}  # fmt: skip


def vouched(p: Any) -> Any:
    """The same frame as if its caller vouched for it. A function of the caller's own would see the
    rows of a verified one, so that is refused; the road of a release is the same for both."""
    table = p._table
    asserted = replace(table, source=replace(table.source, verified=False))
    return dp.types.PrivateFrame(asserted, p._columns, p._where)


def rows_with(frame: pd.DataFrame, *wanted: Any) -> int:
    """How many rows hold each of some values, by column; of whatever else a row may hold."""
    kinds = (str, int, float, np.number)  # other elements can't be asked whether they are equal
    rows = zip(*(frame[name].tolist() for name, _ in wanted), strict=True)
    values = [value for _, value in wanted]
    pairs = (zip(row, values, strict=True) for row in rows)
    return sum(all(isinstance(x, kinds) and bool(x == v) for x, v in each) for each in pairs)


def lead(frame: pd.DataFrame) -> int:
    """By how many rows one group leads: one row more or less moves it by 1 at most."""
    return rows_with(frame, ("group", "a")) - rows_with(frame, ("group", "b"))


#: Functions of the caller's own, on frames that the caller vouches for.
VOUCHED: dict[str, Callable[[Any], Any]] = {
    "choice by a count": lambda p: dp.select(
        vouched(p), GROUPS, sensitivity=1, monotone=True,
        score=lambda frame, group: rows_with(frame, ("group", group))),
    "choice by a balance": lambda p: dp.select(
        vouched(p.query("number > -2")), CODES, sensitivity=2,
        score=lambda frame, code: -abs(2 * rows_with(frame, ("code", code)) - len(frame))),
    "distance": lambda p: dp.distance_to_property(vouched(p), lambda frame: abs(lead(frame))),
    "distance of a query": lambda p: dp.distance_to_property(
        vouched(p.query("code in [1, 2] or yes")),
        lambda frame: rows_with(frame, ("code", 1), ("group", "a"))),
    "proposed winner": lambda p: dp.propose_test_release(
        vouched(p),
        lambda frame: "a" if lead(frame) > 0 else "b",
        lambda frame: lead(frame) - 1 if lead(frame) > 0 else -lead(frame)),
}  # fmt: skip


def released(name: str, private: Any, epsilon: object = 1) -> Any:
    """The answer of an operation or a selection."""
    if name in SELECTIONS:
        return SELECTIONS[name](private, epsilon)
    more: dict[str, Any] = {"delta": DELTA} if name.startswith("proposed") else {}
    if name in GAUSSIAN:
        more = {"delta": DELTA, "mechanism": "gaussian"}
    ask = {**OPERATIONS, **OF_UNITS, **UNKNOWN, **GAUSSIAN, **EXPERIMENTAL, **VOUCHED}[name]
    return ask(private).release(epsilon=epsilon, **more)


#: What warns, whatever the data are: the answer is not quite what its name says.
WARNING = {"min", "group max", "quantiles of columns"}

EVERY = [*OPERATIONS, *SELECTIONS]


def integers(unreleased: dp.types.Unreleased, engine: Any) -> Any:
    """The exact integers that an engine finds for an unreleased answer: what noise is added to."""
    where, statistic = unreleased._request.where, unreleased._statistic
    return statistic.read(row_pass(engine, statistic, where, unreleased._table.branches))


def row_pass(engine: Any, statistic: Any, where: Any = None, branches: int = 1) -> Any:
    """A pass over all rows of an engine."""

    def passed(over: Any, empty: Any) -> Any:
        kernel = Kernel(over, empty, need_of(statistic, where), where, branches)
        return engine.accumulate_rows(kernel, "test")

    return passed


def flat(exact: Any) -> list[Any]:
    """What a mechanism is handed, number by number."""
    if isinstance(exact, Ranks):
        return [*exact.values.tolist(), *exact.counts.tolist()]
    many = isinstance(exact, list | RanksByCell)
    return [x for part in exact for x in flat(part)] if many else [exact]
