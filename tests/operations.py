"""Every operation that releases something: one record each, which all suites over operations read.

`test_operations.py` names what a record lacks, and what has no record. The tables asked are in
`schema.py`, random statistics in `hostile.py`, pandas' answers in `truths.py`, the cases of kinds
in `by_kind.py`, and what tightness is measured on in `tightness_truth.py`.
"""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import tightness_truth as t
import truths
from by_kind import (
    ALL,
    FREE,
    LABELS,
    LENGTHS,
    NUMBERS,
    TIMES,
    TRUTHS,
    B,
    E,
    Row,
    by_group,
    count_row,
    counts,
    of_numbers,
)
from hostile import (
    ALONE,
    COUNTED,
    SUMMED,
    Maker,
    cells,
    operands,
    some_block_mean,
    some_block_median,
    some_block_slopes,
    some_bounded_quantile,
    some_contingency,
    some_count,
    some_covariance,
    some_distance,
    some_distinct_values,
    some_few,
    some_likelihoods,
    some_mean,
    some_measured_block_median,
    some_measured_quantiles,
    some_misfit,
    some_normed_moments,
    some_normed_sum,
    some_present,
    some_quantiles,
    some_ranked_quantiles,
    some_rows_per_unit,
    some_scores,
    some_second_moments,
    some_significant_blocks,
    some_small_databases,
    some_smooth_quantile,
    some_splits,
    some_splits_of_sums,
    some_sum,
    some_trimmed_mean,
    some_truncation,
    some_unique,
    some_unit_totals,
    some_unknown,
    some_variance,
    some_weighted_keys,
    some_weighted_mean,
    some_weighted_quantiles,
    some_weighted_unique,
    with_limits,
    within_bounds,
)
from schema import BOTH as BOTH
from schema import BOUNDS as BOUNDS
from schema import BY_GROUP as BY_GROUP
from schema import CODES as CODES
from schema import COLUMNS as COLUMNS
from schema import (
    DAYS,
    DELTA,
    FEW,
    FEW_DAYS,
    HOURS,
    LEVELS,
    MONTHS,
    WEIGHTS,
    YEAR,
    by_code,
    lead,
    parts,
    per_unit,
    small,
)
from schema import GROUPS as GROUPS
from schema import SCHEMA as SCHEMA
from schema import letters as letters
from schema import people as people
from schema import rows_with as rows_with
from schema import schema as schema
from schema import sixty as sixty
from schema import spent as spent
from schema import statuses as statuses
from schema import table as table
from schema import vouched as vouched
from tightness_truth import Line
from truths import clipped, numbers

import dppandas as dp
import dppandas.models.posterior
from dppandas import statistics as stats
from dppandas.engines.base import Kernel
from dppandas.errors import hide_internals
from dppandas.models.select import UnreleasedChoice
from dppandas.models.synthetic.fit_scores import MarginalError, SmallDatabases
from dppandas.models.theil_sen import slopes
from dppandas.models.trees.classifier import class_splits
from dppandas.models.trees.nodes import Candidates, Split
from dppandas.models.trees.regressor import sum_splits
from dppandas.privacy.mechanisms.ranks import Ranks, RanksByCell
from dppandas.release.query import need_of
from dppandas.release.unreleased import Unreleased
from dppandas.release.ways import Ways

Ask = Callable[[Any], Any]


posteriors: Any = sys.modules["dppandas.models.posterior"]


@hide_internals  # as of everything public
def posterior_draw(column: Any, family: str = "bernoulli", **how: Any) -> Any:
    """A draw of rows of which a unit may have several: `posterior` refuses these."""
    ways = Ways(how["epsilon"], how.get("rho"))
    of = None, how.get("bounds"), how.get("bins")
    asked = posteriors._asked(column, family, "squashed", how.get("prior"), of)
    return UnreleasedChoice._ask(posteriors._draw(column, asked, how.get("clip", 3)), ways)


def of_scipy(name: str) -> Any:
    """A test of scipy, which environments for clusters don't have."""
    return getattr(import_module("scipy.stats"), name)


#: Why no loss is solved for, by an error that is asked for.
BY_ANSWER, DURATION = "only the answer decides its error", "its error is a duration"
#: Tests of how often intervals hold: by an exact law, or by at least 2,000 draws.
EXACT = "test_coverage.py::test_intervals_and_errors_hold_as_often_as_they_say"
DRAWN = "test_intervals.py::test_intervals_hold_in_two_thousand_draws"
GAPS = "test_selection.py::test_gap_of_permute_and_flip_holds_exactly"
RANKS = "test_rank_errors.py::test_all_errors_hold_together"
TABLES = "test_covariance.py::test_intervals_hold_in_two_thousand_draws"


@dataclass(frozen=True)
class Operation:
    """What the tests know of a statistic. A text in place of `truth`, `kinds` or `tight` says why
    there is none. Names of what is asked are those of `tests/golden/keys.json`."""

    statistic: type[stats.Statistic] | None  #: None: several of the others at once
    hostile: Maker | None = None  #: any of it, for the neighbour suite
    law: str = ""  #: the test of how often its intervals hold, or why it states none
    often: tuple[str, ...] = ()  #: what is asked here and drawn 2,000 times
    warns: tuple[str, ...] = ()  #: what is asked here and warns, whatever the data are
    undecided: Mapping[str, str] = field(default_factory=dict)  #: why ``within=`` is refused
    is_noisy: bool = True  #: whether noise is added to numbers, so that answers are combined
    is_drawn: bool = True  #: whether a plot shows it

    # what a private frame of the schema answers; each call leaves ``epsilon=`` to the test
    asked: Mapping[str, Ask] = field(default_factory=dict)
    of_units: Mapping[str, Ask] = field(default_factory=dict)  #: needs a unit column, "owner"
    found: Mapping[str, Ask] = field(default_factory=dict)  #: labels that nobody declared, at a δ
    gaussian: Mapping[str, Ask] = field(default_factory=dict)  #: has other integers with such noise
    experimental: Mapping[str, Ask] = field(default_factory=dict)
    at_delta: Mapping[str, Ask] = field(default_factory=dict)  #: numbers, at a δ
    vouched: Mapping[str, Ask] = field(default_factory=dict)  #: takes functions of the caller
    selected: Mapping[str, Callable[[Any, Any], Any]] = field(default_factory=dict)  #: with its ε
    together: Mapping[str, Ask] = field(default_factory=dict)  #: several releases, with their ε
    tested: Mapping[str, Ask] = field(default_factory=dict)  #: answers with the result of a test

    #: What pandas says on clipped values of the tables of `draws.py`, of some that are asked.
    truth: Mapping[str, Callable[[pd.DataFrame], list[float]]] | str = ""
    #: By its place in the matrix of kinds: which kinds are answered, and pandas' answer.
    kinds: Mapping[str, Row] | str = ""
    #: What is measured of how tight its errors are.
    tight: Mapping[str, Line] | str = ""

    def names(self) -> list[str]:
        """Of all that is asked."""
        by_field = (
            self.asked, self.selected, self.of_units, self.found, self.gaussian, self.experimental,
            self.at_delta, self.vouched, self.together, self.tested,
        )  # fmt: skip
        return [name for entries in by_field for name in entries]


RECORDS: list[Operation] = []

RECORDS.append(Operation(
    stats.Count,
    hostile=lambda rng: rng.choice([some_count, some_few])(rng),
    law=EXACT,
    undecided={
        "proportions": BY_ANSWER, "shares outside": BY_ANSWER,
        "shares of times outside": BY_ANSWER,
    },
    often=("proportions",),
    asked={
        "count": lambda p: p.count(),
        "size": lambda p: p.size(),
        "count of a query": lambda p: p.query("number > 1 and group in ['a', 'b']").count(),
        "count of a time query": lambda p: p.query("when >= '2020-01-02' or not yes").count(),
        "count of a column query": lambda p: p.query("yes == no or number < code").count(),
        "count of a mask": lambda p: (
            p[(p["number"] * 2 - p["code"] > 1) | p["when"].isna()].count()),
        "count of columns": lambda p: p[["number", "group", "when"]].count(),
        "count of a column": lambda p: p["group"].count(),
        "sum of True": lambda p: p.assign(high="number > 1")[["yes", "no", "high"]].sum(),
        "sum of a mask": lambda p: (p["number"] > 1).sum(),
        "sum of a mask by months": lambda p: p.assign(high="number > 1", low="code < 2").groupby(
            p["when"].dt.month)[["high", "low"]].sum(),
        "value_counts": lambda p: p["group"].value_counts(keys=GROUPS, sort=False),
        "sorted value_counts": lambda p: p["code"].value_counts(keys=CODES),
        "value_counts of times": lambda p: (
            p["when"].value_counts(keys=["2020-01-01"], dropna=False)),
        "value_counts with missing": lambda p: p["code"].value_counts(keys=CODES, dropna=False),
        "proportions": lambda p: p["group"].value_counts(keys=GROUPS, normalize=True),
        "value_counts of a mask": lambda p: (p["number"] > 0).value_counts(),
        "value_counts of bins": lambda p: p["number"].value_counts(bins=[-5, 0, 2, 10]),
        "value_counts of columns": lambda p: p[["group", "code"]].value_counts(keys=BOTH),
        "group size": lambda p: p.groupby("group", keys=GROUPS).size(),
        "group count": lambda p: p.groupby("code", keys=CODES)[["number", "yes"]].count(),
        "group size with missing": lambda p: p.groupby("group", keys=GROUPS, dropna=False).size(),
        "count of a sample": lambda p: p.sample(frac=0.5).count(),
        "count of an inner merge": lambda p: (
            p.merge(LEVELS, how="inner", on=["group", "code"]).count()),
        "count of complete rows": lambda p: p.dropna(subset=["number", "when"]).count(),
        "count of texts": lambda p: p[p["group"].str.upper().str.contains("A|B")].count(),
        "count of elements": lambda p: parts(p)[["part", "number"]].count(),
        "value_counts of elements": lambda p: parts(p)["part"].value_counts(keys=["", "x"]),
        "value_counts of a cut": lambda p: p["number"].cut([-5, 0, 2, 10]).value_counts(sort=False),
        "value_counts of a map": lambda p: p["code"].map({1: "one", 2: "two"}).value_counts(),
        "value_counts of a merge": lambda p: p.merge(LEVELS, "left", on=["group", "code"])[
            "grade"
        ].value_counts(),
        "hist of times": lambda p: p["when"].hist(bins=4, range=YEAR),
        "shares of times outside": lambda p: p["when"].clipping_shares(bounds=FEW_DAYS),
        "value_counts of converted": lambda p: (
            p["when"]
            .dt.tz_convert("Asia/Tokyo")
            .dt.strftime("%d %H")
            .value_counts(keys=["01 09", "02 09"])),
        "value_counts of periods": lambda p: (
            p["when"].dt.to_period("M").value_counts(keys=[pd.Period("2020-01", "M")])),
        "value_counts of months": lambda p: p["when"].dt.month.value_counts(sort=False),
        "value_counts of texts": lambda p: p["number"].astype(str).value_counts(keys=["0", "0.5"]),
        "shares outside": lambda p: p["number"].clipping_shares(bounds=(0, 1)),
        "pivot table of counts": lambda p: p.pivot_table(
            ["no"], index=["yes", "group"], columns="code", aggfunc="count",
            keys={**BOTH, **BY_GROUP}),
        "hist": lambda p: p["number"].hist(bins=3, range=(0, 10)),
        "hist by edges": lambda p: p["code"].hist(bins=[0, 1, 2, 4]),
        "sum of few True": lambda p: (
            p.assign(high="number > 1")[["yes", "no", "high"]].sum(at_most=1)),
        "group value_counts": lambda p: p.groupby("code", keys=CODES)["group"].value_counts(
            keys=GROUPS),
        "group hist": lambda p: (
            p.groupby("group", keys=GROUPS)["number"].hist(bins=3, range=(0, 10))),
        "size by day": lambda p: p.groupby(pd.Grouper(key="when", freq="D"), range=DAYS).size(),
        "size of few": lambda p: p.groupby("group", keys=GROUPS, **FEW).size(),
        "size of few by day": lambda p: p.resample("D", on="when", range=DAYS, **FEW).size(),
        "group count of few": lambda p: (
            p.groupby("group", keys=GROUPS, dropna=False, **FEW)[["number", "yes"]].count()),
        "value_counts of few elements": lambda p: parts(p)["part"].value_counts(
            keys=["", "x"], sort=False, **FEW),
        "value_counts of few in a query": lambda p: p.query("number > -2")[
            ["group", "code"]].value_counts(keys=BOTH, **FEW),
        "pivot table of few": lambda p: p.pivot_table(
            index="group", columns="code", aggfunc="size", keys=BOTH, **FEW),
    },
    of_units={
        "value_counts per unit": lambda p: (
            per_unit(p)["n"].value_counts(keys=[1, 2, 3], sort=False)),
        "value_counts of kinds": lambda p: per_unit(p)["kinds"].value_counts(keys=[0, 1, 2, 3]),
        "sum of True per unit": lambda p: per_unit(p)[["ever", "always"]].sum(),
        "count per unit": lambda p: parts(p).per_unit().agg(n=("part", "count")).count(),
        "count of a transform": lambda p: (
            p[p.groupby("owner")["number"].transform("sum") > 3].count()),
        "value_counts of shifts": lambda p: by_code(p)["group"].shift().value_counts(
            keys=GROUPS, dropna=False),
        "value_counts of places": lambda p: p.query("number < 9").sort_values(
            ["yes", "when"], ascending=[False, True]).groupby(["owner", "no"]).cumcount()
            .value_counts(keys=[0, 1, 2, 3]),
        "value_counts of ranks": lambda p: p.groupby("owner")["number"].rank(
            "dense", na_option="top").value_counts(keys=[1, 2, 3]),
        "count of heads": lambda p: by_code(p).head(2)[["number", "group"]].count(),
        "size of tails by group": lambda p: by_code(p, ["owner", "yes"]).tail(-1).groupby(
            "group", keys=GROUPS).size(),
        "value_counts per unit and code": lambda p: p.per_unit("code").agg(
            n="size", most=("number", "max"))["n"].value_counts(keys=[1, 2, 3]),
        "value_counts of days of units": lambda p: p.per_unit(
            p["when"].dt.day.rename("day")).agg(t=("number", "sum")).query("t > 0")["day"]
            .value_counts(keys=range(1, 13)),
        "count of a merge with units": lambda p: p.merge(
            p.query("number > 1").per_unit().agg(n="size"), on="owner").count(),
        "value_counts of a merge by codes": lambda p: p.merge(
            p.per_unit("code").agg(n="size").query("n < 3"), "left", ["owner", "code"])["n"]
            .value_counts(keys=[1, 2], dropna=False),
        "value_counts of a history of parts": lambda p: parts(p).pipe(
            lambda q: q.groupby(["owner", "part"])["number"].transform("count"))
            .value_counts(keys=[1, 2, 3]),
        "value_counts of parts of a history": lambda p: parts(
            p.assign(group=by_code(p)["group"].bfill()))["part"].value_counts(keys=["", "x"]),
        "count of a history of a history": lambda p: by_code(
            p.assign(number=by_code(p)["number"].diff()).query("number > -9")).head(1).count(),
    },
    selected={
        "idxmax of columns": lambda p, e: p[["yes", "no"]].idxmax(epsilon=e),
        "idxmax of counts": lambda p, e: p["group"].value_counts(keys=GROUPS).idxmax(epsilon=e),
        "nlargest columns": lambda p, e: (
            p.assign(high="number > 1")[["yes", "no", "high"]].sum().nlargest(2, epsilon=e)),
        "nlargest counts": lambda p, e: p["code"].value_counts(keys=CODES).nlargest(2, epsilon=e),
        "mode": lambda p, e: p["group"].mode(keys=GROUPS, epsilon=e),
        "idxmax of few": lambda p, e: p["group"].value_counts(
            keys=GROUPS, max_rows_per_key=1).idxmax(epsilon=e),
    },
    truth={
        "count": lambda d: [len(d)],
        "count of columns": lambda d: numbers(d[["number", "group", "when"]].count()),
        "sum of True": lambda d: [d["yes"].sum(), d["no"].sum(), (d["number"] > 1).sum()],
        "value_counts": lambda d: numbers(d["group"].value_counts().reindex(GROUPS).fillna(0)),
        "proportions": lambda d: numbers(
            d.loc[d["group"].isin(GROUPS), "group"].value_counts(normalize=True).reindex(GROUPS)
            .fillna(0 if len(d) else math.nan)),
        "group size with missing": lambda d: truths.by_and_missing(d, d["owner"], "size"),
        "hist": lambda d: numbers(np.histogram(d["number"].dropna(), 3, (0, 10))[0]),
    },
    kinds={
        "column.count": count_row(lambda d, c: d["x"]),
        "column.size": Row(lambda p, c: p["x"].size(**E), ALL, lambda d, c: d["x"].size),
        "column.clipping_shares": Row(
            lambda p, c: p["x"].clipping_shares(**B), NUMBERS, lambda d, c: [0, 1, 0]),
        "column.hist": Row(lambda p, c: p["x"].hist(bins=[0, 2, 5], **E), NUMBERS,
            lambda d, c: np.histogram(d["x"].astype(float).dropna(), [0, 2, 5])[0]),
        "column.value_counts": Row(
            lambda p, c: p["x"].value_counts(keys=c.labels, sort=False, **E), LABELS,
            lambda d, c: counts(d["x"].dropna(), c.labels)),
        "column.mode": Row(lambda p, c: p["x"].mode(keys=c.labels[:1], **E), LABELS,
            lambda d, c: pd.Series(c.labels[:1])),
        "frame.count": count_row(lambda d, c: d[["x", "y"]]),
        "frame.size": Row(lambda p, c: p.size(**E), ALL, lambda d, c: len(d)),
        "frame.sum of True": Row(
            lambda p, c: p[["x"]].sum(**E), TRUTHS, lambda d, c: [d["x"].sum()]),
        "frame.value_counts": Row(
            lambda p, c: p.value_counts(["x", "g"], keys={"x": c.labels[:1], "g": [1]}, **E),
            LABELS, lambda d, c: counts(d.loc[d["g"] == 1, "x"].dropna(), c.labels[:1])),
        "groups.size": by_group(lambda g: g.size(**E), ALL, lambda g: g.size()),
        "groups.count": by_group(lambda g: g.count(**E), ALL, lambda g: g["x"].count()),
        "groups.hist": by_group(lambda g: g.hist(bins=[0, 2, 5], **E), NUMBERS),
        "groups.value_counts": Row(
            lambda p, c: p.groupby("g", keys=[1])["x"].value_counts(keys=c.labels, sort=False, **E),
            LABELS, lambda d, c: counts(d.loc[d["g"] == 1, "x"].dropna(), c.labels)),
    },
    tight={
        "count": Line(lambda p, by: p.count(**by), t.to(len)),
        "size": Line(lambda p, by: p.size(**by), t.to(len)),
        "count of columns": Line(
            lambda p, by: p[["x", "label"]].count(**by), t.to(lambda d: d[["x", "label"]].count())
        ),
        "sum of True": Line(
            lambda p, by: p[["yes", "no"]].sum(**by), t.to(lambda d: d[["yes", "no"]].sum())
        ),
        "sum of few True": Line(  # of a row one is True
            lambda p, by: p[["yes", "no"]].sum(at_most=1, **by),
            t.to(lambda d: d[["yes", "no"]].sum())
        ),
        "value_counts, keys": Line(
            lambda p, by: p["label"].value_counts(**t.KEYS, **by), t.to(t.sizes)),
        "value_counts, shares": Line(
            lambda p, by: p["label"].value_counts(**t.KEYS, normalize=True, **by),
            t.to(lambda d: d["label"].value_counts(normalize=True)),
        ),
        "hist": Line(
            lambda p, by: p["x"].hist(bins=5, range=(0, 10), **by), t.to(lambda d: t.cut(d["x"]))
        ),
        "groupby size": Line(lambda p, by: t.by_label(p).size(**by), t.to(t.sizes)),
        "groupby count": Line(
            lambda p, by: t.by_label(p)[["x", "yes"]].count(**by),
            t.to(lambda d: d.groupby("label")[["x", "yes"]].count()),
        ),
        "groupby value_counts": Line(
            lambda p, by: t.by_label(p)["yes"].value_counts(keys=[False, True], **by),
            t.to(lambda d: d.groupby("label")["yes"].value_counts()),
        ),
        "groupby hist": Line(
            lambda p, by: t.by_label(p)["x"].hist(bins=5, range=(0, 10), **by),
            t.to(lambda d: np.concatenate([t.cut(x) for _, x in d.groupby("label")["x"]])),
        ),
        "clipping_shares": Line(
            lambda p, by: p["x"].clipping_shares(bounds=(1, 3), **by),
            t.to(lambda d: [(d["x"] < 1).mean(), d["x"].between(1, 3).mean(), (d["x"] > 3).mean()]),
        ),
        "idxmax of counts": Line(
            lambda p, by: p["even"].value_counts(**t.KEYS).idxmax(**by), t.below_the_best(t.evens)
        ),
        "mode": Line(lambda p, by: p["even"].mode(**t.KEYS, **by), t.below_the_best(t.evens)),
        "idxmax of columns": Line(
            lambda p, by: p[["early", "late"]].idxmax(**by), t.sums("early", "late")
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.Contingency,
    hostile=some_contingency,
    law=DRAWN,
    undecided={"shares of a crosstab": BY_ANSWER},
    often=("crosstab", "shares of a crosstab"),
    asked={
        "crosstab": lambda p: p.crosstab("group", "code", keys=BOTH, margins=True),
        "shares of a crosstab": lambda p: dp.crosstab(
            [p["group"], p["yes"]], p["code"], keys={**BOTH, **BY_GROUP}, normalize="index"),
        "crosstab of few": lambda p: dp.crosstab(p["group"], p["code"], keys=BOTH, **FEW),
    },
    truth={
        "crosstab": lambda d: truths.crosstab(d),
    },
    kinds={
        "frame.crosstab": Row(
            lambda p, c: p.crosstab("x", "g", keys={"x": c.labels[:1], "g": [1]}, **E),
            LABELS,
            lambda d, c: [counts(d.loc[d["g"] == 1, "x"].dropna(), c.labels[:1])]),
    },
    tight={
        "crosstab": Line(
            lambda p, by: dp.crosstab(p["label"], p["yes"], **t.BY_YES, **by),
            t.to(lambda d: pd.crosstab(d["label"], d["yes"])),
        ),
        "crosstab, margins": Line(
            lambda p, by: p.crosstab("label", "yes", **t.BY_YES, margins=True, **by),
            t.to(lambda d: pd.crosstab(d["label"], d["yes"], margins=True)), slow=2,
        ),
        "crosstab, shares": Line(
            lambda p, by: p.crosstab("label", "yes", **t.BY_YES, normalize="index", **by),
            t.to(lambda d: pd.crosstab(d["label"], d["yes"], normalize="index")),
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.UnattributedHistogram,
    hostile=lambda rng: stats.UnattributedHistogram(cells(rng), SUMMED),
    law=DRAWN,
    often=("popularity",),
    asked={
        "popularity": lambda p: p["group"].unattributed_histogram(keys=GROUPS),
    },
    truth={
        "popularity": lambda d: sorted(PANDAS["value_counts"](d), reverse=True),
    },
    kinds={
        "column.unattributed_histogram": Row(
            lambda p, c: p["x"].unattributed_histogram(keys=c.labels, **E), LABELS,
            lambda d, c: sorted(counts(d["x"].dropna(), c.labels), reverse=True)),
    },
    tight={
        "unattributed_histogram": Line(
            lambda p, by: p["label"].unattributed_histogram(**t.KEYS, **by),
            t.to(lambda d: t.sizes(d).sort_values(ascending=False).to_numpy()),
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.OccurringKeys,
    hostile=some_present,
    law=EXACT,
    asked={
        "nunique of keys": lambda p: p["group"].nunique(keys=GROUPS),
        "nunique of codes": lambda p: p.query("number > 0")["code"].nunique(keys=CODES),
        "nunique of parts": lambda p: parts(p)["part"].nunique(keys=["", "x", "b"]),
        "group nunique of keys": lambda p: (
            p.groupby("code", keys=CODES)["group"].nunique(keys=GROUPS)),
    },
    truth={
        "nunique of keys": lambda d: [d.loc[d["group"].isin(GROUPS), "group"].nunique()],
    },
    kinds={
        "column.nunique": Row(
            lambda p, c: p["x"].nunique(keys=c.labels, **E), LABELS, lambda d, c: 2),
        "groups.nunique": Row(
            lambda p, c: p.groupby("g", keys=[1])["x"].nunique(keys=c.labels, **E), LABELS,
            lambda d, c: [2]),
    },
    tight={
        "nunique, keys": Line(
            lambda p, by: p["label"].nunique(**t.KEYS, **by), t.to(lambda d: d["label"].nunique())
        ),
        "groupby nunique, keys": Line(
            lambda p, by: p.groupby("yes", keys=[False, True])["label"].nunique(**t.KEYS, **by),
            t.to(lambda d: d.groupby("yes")["label"].nunique()),
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.DistinctValues,
    hostile=some_distinct_values,
    law=EXACT,
    asked={
        "nunique of values": lambda p: p["number"].nunique(),
        "nunique of values with missing": lambda p: p["when"].nunique(dropna=False),
        "nunique of found parts": lambda p: parts(p)["part"].nunique(),
        "group nunique of values": lambda p: p.groupby("code", keys=CODES)["number"].nunique(
            dropna=False),
    },
    truth={
        "nunique of values": lambda d: [d["number"].nunique()],
    },
    kinds={
        "column.nunique of all values": Row(
            lambda p, c: p["x"].nunique(**E), LABELS, lambda d, c: d["x"].nunique()),
        "groups.nunique of all values": by_group(
            lambda g: g.nunique(**E), LABELS, lambda g: g["x"].nunique()),
    },
    tight={
        "nunique": Line(
            lambda p, by: p["label"].nunique(**by), t.to(lambda d: d["label"].nunique())
        ),
        "groupby nunique": Line(
            lambda p, by: p.groupby("yes", keys=[False, True])["label"].nunique(**by),
            t.to(lambda d: d.groupby("yes")["label"].nunique()),
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.Distinct,
    hostile=lambda rng: stats.Distinct(cells(rng), COUNTED),
    law=EXACT,
    of_units={
        "nunique": lambda p: p["owner"].nunique(),
        "nunique by group": lambda p: p.groupby("group", keys=GROUPS)["owner"].nunique(),
        "nunique of elements": lambda p: (
            parts(p).groupby("part", keys=["", "x"])["owner"].nunique()),
        "nunique by few groups": lambda p: (
            p.groupby("group", keys=GROUPS, max_keys=1)["owner"].nunique()),
        "nunique of places": lambda p: by_code(p).nth([0, -1]).groupby(
            "group", keys=GROUPS)["owner"].nunique(),
        "nunique of units and codes": lambda p: by_code(p, None).per_unit("code").agg(
            g=("group", "last")).query("g in ['a', 'b']")["owner"].nunique(),
    },
    truth={
        "nunique": lambda d: [d["owner"].nunique()] if len(d) < 9 else [math.nan],
    },
    kinds={
        "per_unit.nunique of units": Row(
            lambda p, c: p["u"].nunique(**E), ALL, lambda d, c: 20, unit="u"),
    },
    tight={
        "nunique of units": Line(
            lambda p, by: p["owner"].nunique(**by), t.to(lambda d: d["owner"].nunique()), t.owned
        ),
        "nunique of units by group": Line(
            lambda p, by: t.by_label(p)["owner"].nunique(**by),
            t.to(lambda d: d.groupby("label")["owner"].nunique()),
            t.owned,
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.Truncation,
    hostile=some_truncation,
    law=DRAWN,
    undecided={"kept and dropped": BY_ANSWER},
    often=("kept and dropped",),
    of_units={
        "kept and dropped": lambda p: p.truncation_shares(),
    },
    truth={
        "kept and dropped": lambda d: truths.kept(d["owner"].value_counts()),
    },
    kinds={
        "per_unit.truncation_shares": Row(lambda p, c: p.truncation_shares(**E), ALL, unit="u"),
    },
    tight={
        "truncation_shares": Line(
            lambda p, by: p.truncation_shares(**by),
            t.to(lambda d: t.kept(d["owner"].value_counts())),
            t.shortened,
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.RowsPerUnit,
    hostile=some_rows_per_unit,
    law=DRAWN,
    is_drawn=False,
    undecided={"suggested max_rows": BY_ANSWER, "what limits cut": BY_ANSWER},
    often=("suggested max_rows", "what limits cut"),
    of_units={
        "suggested max_rows": lambda p: p.suggest_max_rows(keep=0.4),
        "what limits cut": lambda p: p.query("number > 0 or yes").suggest_max_rows(
            keep=None, counted=4),
    },
    truth={
        "what limits cut": lambda d: truths.cut(
            d[(d["number"] > 0) | d["yes"]]["owner"].value_counts()),
    },
    kinds={
        "per_unit.suggest_max_rows": Row(
            lambda p, c: p.suggest_max_rows(**E), ALL, unit="u"),
    },
    tight={
        "suggest_max_rows": Line(
            lambda p, by: p.suggest_max_rows(keep=None, counted=4, **by),
            t.to(lambda d: t.cut_off(d["owner"].value_counts())), t.shortened,
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.Sum,
    hostile=some_sum,
    law=EXACT,
    undecided={"sum of durations": DURATION},
    asked={
        "sum of columns": lambda p: p[["number", "code"]].sum(bounds=BOUNDS),
        "sum": lambda p: p["number"].sum(bounds=BOUNDS),
        "sum of text": lambda p: p["group"].astype(float).sum(bounds=BOUNDS),
        "group sum": lambda p: p.groupby(["group", "code"], keys=BOTH)["number"].sum(bounds=BOUNDS),
        "group sum of few": lambda p: p.groupby("code", keys=CODES, **FEW)[
            ["number", "yes"]].sum(bounds=BOUNDS),
        "sum of durations": lambda p: (p["when"].clip(*YEAR) - pd.Timestamp("2020-01-01")).sum(
            bounds=HOURS),
        "sum of assigned": lambda p: p.assign(
            more="number * 2 + code", less=lambda f: f["number"].where(f["yes"], f["code"]), one=1
        )[["more", "less", "one"]].sum(bounds=BOUNDS),
        "sum of two frames": lambda p: dp.concat(
            [p[["number"]], p[["code"]].rename(columns={"code": "number"})]
        )["number"].sum(bounds=BOUNDS),
        "weighted count": lambda p: p.count(weights="code", weight_bounds=(0, 3)),
        "weighted count of a column": lambda p: p["group"].count(weights=p["code"], **WEIGHTS),
        "weighted sum": lambda p: p["number"].sum(bounds=BOUNDS, weights=p["code"], **WEIGHTS),
    },
    of_units={
        "sum of totals": lambda p: p[["number", "code"]].sum(per_unit_bounds=BOUNDS),
        "sum per unit": lambda p: per_unit(p)[["total", "most", "middle"]].sum(bounds=BOUNDS),
        "sum of running figures": lambda p: p.assign(
            a=by_code(p)["number"].cumsum(), b=by_code(p)["number"].cummax(),
            c=by_code(p)["number"].pct_change())[["a", "b", "c"]].sum(bounds=BOUNDS),
        "sum per unit and group": lambda p: p.per_unit(["group", "yes"]).agg(
            t=("number", "sum")).groupby("group", keys=GROUPS)["t"].sum(bounds=BOUNDS),
    },
    selected={
        "idxmax of sums": lambda p, e: p[["number", "code"]].idxmax(bounds=BOUNDS, epsilon=e),
    },
    truth={
        "sum": lambda d: [clipped(d["number"]).sum()],
        "sum of columns": lambda d: [clipped(d[c]).sum() for c in ("number", "code")],
        "group sum": lambda d: numbers(
            clipped(d["number"]).groupby([d["group"], d["code"]]).sum()
            .reindex(pd.MultiIndex.from_product([GROUPS, CODES])).fillna(0)),
        "weighted sum": lambda d: [float((truths.weighted(d)[0] * truths.weighted(d)[1]).sum())],
    },
    kinds={
        **of_numbers("sum"),
        "column.sum, of durations": Row(
            lambda p, c: p["x"].sum(bounds=(pd.Timedelta(0), pd.Timedelta("9D")), **E).round("h"),
            LENGTHS, lambda d, c: d["x"].sum().round("h")),
        "frame.idxmax": Row(lambda p, c: p[["x", "n"]].idxmax(**B), NUMBERS, lambda d, c: "n"),
    },
    tight={
        **t.alike("sum", "three sums"),
        "weighted count": Line(
            lambda p, by: p.count(**t.WEIGHTS, **by), t.to(lambda d: d["weight"].sum())
        ),
        "weighted sum": Line(
            lambda p, by: p["x"].sum(**t.BOUNDS, weights=p["weight"], weight_bounds=(0.5, 3), **by),
            t.to(lambda d: (d["x"] * d["weight"]).sum()),
        ),
        "idxmax of sums": Line(
            lambda p, by: p[["x", "y"]].idxmax(**t.PAIR, **by), t.sums("x", "y")
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.NormedSum,
    hostile=some_normed_sum,
    law=EXACT,
    asked={
        "sum within a norm": lambda p: p[["number", "code"]].sum(bounds=BOUNDS, norm=4),
        "group sum within a norm": lambda p: p.groupby("group", keys=GROUPS)[
            ["number", "code"]
        ].sum(bounds=BOUNDS, norm=("l2", 4)),
    },
    truth={
        "sum within a norm": lambda d: numbers(truths.within_norm(d[["number", "code"]], 4).sum()),
    },
    kinds={
        "column.sum, of a norm": Row(
            lambda p, c: p["x"].sum(norm=9, **B), NUMBERS, lambda d, c: d["x"].sum()),
    },
    tight={
        "three sums within a norm": Line(
            lambda p, by: p[t.XYZ].sum(**t.TABLE, norm=30, **by), t.to(lambda d: d[t.XYZ].sum())
        ),
        "groupby sum within a norm": Line(
            lambda p, by: t.by_label(p)[t.XYZ].sum(**t.TABLE, norm=("l2", 18), **by),
            t.to(lambda d: d.groupby("label")[t.XYZ].sum()),
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.UnitTotals,
    hostile=some_unit_totals,
    law=EXACT,
    of_units={
        "group sum of totals": lambda p: p.groupby("group", keys=GROUPS)["number"].sum(
            per_unit_bounds=BOUNDS),
        "group sums of totals with missing": lambda p: (
            p.query("code < 3").groupby("group", keys=GROUPS, dropna=False)[["number", "yes"]].sum(
                per_unit_bounds={"number": (-9, -1), "yes": (0, 2)})),
        "group sum of totals of parts": lambda p: (
            parts(p).groupby("part", keys=["", "x", "b"])["code"].sum(per_unit_bounds=(0, 4))),
    },
    truth={
        "group sum of totals": lambda d: truths.totals(d, "number"),
    },
    kinds={
        "groups.sum, of units": Row(
            lambda p, c: p.groupby("g", keys=[1])["x"].sum(per_unit_bounds=(0, 50), **E), NUMBERS,
            unit="u"),
    },
    tight={
        "groupby sum of totals": Line(
            lambda p, by: t.by_label(p)["x"].sum(per_unit_bounds=(0, 30), **by),
            t.to(lambda d: d.groupby("label")["x"].sum()), t.owned,
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.Mean,
    hostile=some_mean,
    law=DRAWN,
    undecided={
        "mean of times": DURATION,
        "group mean of times": "numbers and times have no error in common",
    },
    often=("mean", "group mean"),
    asked={
        "mean": lambda p: p["number"].mean(bounds=BOUNDS),
        "mean of arithmetic": lambda p: (p["number"] / p["code"]).mean(bounds=BOUNDS),
        "mean of columns": lambda p: p[["number", "code"]].mean(bounds=BOUNDS),
        "group mean": lambda p: p.groupby("code", keys=CODES)[["number", "no"]].mean(bounds=BOUNDS),
        "group mean of few": lambda p: p.groupby("code", keys=CODES, **FEW)["number"].mean(
            bounds=BOUNDS),
        "group mean with missing": lambda p: p.groupby("group", keys=GROUPS, dropna=False)[
            ["number", "no"]
        ].mean(bounds=BOUNDS),
        "mean of times": lambda p: p["when"].mean(bounds=YEAR),
        "mean of durations": lambda p: (
            p["when"].clip(*FEW_DAYS) - pd.Timestamp("2020-01-01")
        ).dt.days.mean(bounds=(0, 9)),
        "group mean of times": lambda p: p.groupby("group", keys=GROUPS)[["when", "number"]].mean(
            bounds={"when": YEAR, "number": BOUNDS}),
        "melted mean": lambda p: p.melt("group", ["number", "code"]).groupby(
            ["group", "variable"], keys={"group": GROUPS, "variable": ["number", "code"]}
        )["value"].mean(bounds=BOUNDS),
        "mean of filled": lambda p: abs(p["number"].fillna(3).round(1)).clip(0, 9).mean(),
        "mean of roots": lambda p: np.sqrt(p["number"]).mean(bounds=(0, 9)),
        "pivot table": lambda p: (
            p.pivot_table("number", "group", "yes", keys=BY_GROUP, bounds=BOUNDS)),
        "share of a mask": lambda p: (p["number"] > 0).mean(),
        "group shares": lambda p: (
            p.assign(high=p["number"] > 0).groupby("group", keys=GROUPS)["high"].mean()),
        "mean by month and group": lambda p: p.groupby(
            [pd.Grouper(key="when", freq="MS"), "group"], keys=GROUPS, range=MONTHS
        )["number"].mean(bounds=BOUNDS),
    },
    of_units={
        "mean per unit": lambda p: per_unit(p)["average"].mean(bounds=BOUNDS),
        "mean of a diff of times": lambda p: by_code(p)["when"].diff().dt.days.mean(bounds=BOUNDS),
        "mean of a transform": lambda p: p.groupby(["owner", "code"])["number"].transform(
            "median").mean(bounds=BOUNDS),
        "group mean of a merge": lambda p: p.query("code < 9").merge(
            p.per_unit().agg(total=("number", "sum"), first=("number", "first")), "left", "owner"
        ).groupby("group", keys=GROUPS)[["total", "first"]].mean(bounds=BOUNDS),
    },
    truth={
        "mean": lambda d: [clipped(d["number"]).mean()],
        "group mean": lambda d: truths.by(
            d, "code", CODES, pd.DataFrame({c: clipped(d[c]) for c in ("number", "no")}), "mean"),
        "group mean with missing": lambda d: truths.by_and_missing(
            d, pd.DataFrame({c: clipped(d[c]) for c in ("number", "no")}), "mean"),
    },
    kinds={
        **of_numbers("mean"),
        "column.mean, of times": Row(
            lambda p, c: p["x"].mean(bounds=("2020-01-01", "2022-01-01"), epsilon=1).floor("D"),
            TIMES,
            lambda d, c: d["x"].dt.tz_localize(None).mean().floor("D")),
        "frame.pivot_table": Row(
            lambda p, c: p.pivot_table("x", "g", keys={"g": [1]}, **B), NUMBERS,
            lambda d, c: [[d.loc[d["g"] == 1, "x"].astype(float).mean()]]),
    },
    tight={
        **t.alike("mean", "three means"),
        "share": Line(
            lambda p, by: p["yes"].mean(bounds=(0, 1), **by), t.to(lambda d: d["yes"].mean())
        ),
        "pivot_table": Line(
            lambda p, by: p.pivot_table("x", "label", "yes", **t.BY_YES, **t.BOUNDS, **by),
            t.to(lambda d: d.pivot_table("x", "label", "yes")),
        ),
        "mean of times": Line(
            lambda p, by: p["when"].mean(bounds=t.YEAR, **by), t.to(lambda d: d["when"].mean())
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.WeightedMean,
    hostile=some_weighted_mean,
    law=DRAWN,
    often=("weighted mean",),
    asked={
        "weighted mean": lambda p: p[["number", "yes"]].mean(
            bounds=BOUNDS, weights=p["code"], **WEIGHTS),
        "weighted group mean": lambda p: p.groupby("group", keys=GROUPS)["number"].mean(
            bounds=BOUNDS, weights="code", **WEIGHTS),
    },
    truth={
        "weighted mean": lambda d: (
            [truths.mean(clipped(d[c]), truths.weighted(d)[0]) for c in ("number", "yes")]),
    },
    kinds={
        "column.mean, weighted": Row(
            lambda p, c: p["n"].mean(weights=p["x"], weight_bounds=(0, 5), **B), NUMBERS),
    },
    tight={
        "weighted mean": Line(
            lambda p, by: p["x"].mean(
                **t.BOUNDS, weights=p["weight"], weight_bounds=(0.5, 3), **by),
            t.to(lambda d: np.average(d["x"], weights=d["weight"])),
        ),
        "two weighted means": Line(
            lambda p, by: p[["x", "y", "weight"]].mean(**t.PAIR, **t.WEIGHTS, **by),
            t.to(lambda d: d[["x", "y"]].mul(d["weight"], axis=0).sum() / d["weight"].sum()),
        ),
        "groupby weighted mean": Line(
            lambda p, by: t.by_label(p)["x"].mean(**t.BOUNDS, **t.WEIGHTS, **by),
            t.to(lambda d: (d["x"] * d["weight"]).groupby(d["label"]).sum()
               / d["weight"].groupby(d["label"]).sum()),
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.Variance,
    hostile=some_variance,
    law=DRAWN,
    undecided={
        **dict.fromkeys(("std of columns", "group std", "sem", "group sem"), BY_ANSWER),
        "std of times": DURATION,
    },
    often=("var", "std of columns"),
    asked={
        "std of times": lambda p: p["when"].std(bounds=YEAR),
        "var": lambda p: p["number"].var(bounds=BOUNDS),
        "std of columns": lambda p: p[["number", "code"]].std(bounds=BOUNDS, ddof=0),
        "group var": lambda p: p.groupby("code", keys=CODES)[["number", "no"]].var(bounds=BOUNDS),
        "group std": lambda p: p.groupby("group", keys=GROUPS)["number"].std(bounds=BOUNDS),
        "group var of few": lambda p: parts(p).groupby("part", keys=["", "x"], **FEW)["code"].var(
            bounds=BOUNDS),
        "sem": lambda p: p["code"].sem(bounds=BOUNDS),
        "group sem": lambda p: p.groupby("code", keys=CODES)["number"].sem(bounds=BOUNDS, ddof=0),
    },
    truth={
        "var": lambda d: [clipped(d["number"]).var()],
        "std of columns": lambda d: [clipped(d[c]).std(ddof=0) for c in ("number", "code")],
        "group std": lambda d: truths.by(d, "group", GROUPS, clipped(d["number"]), "std"),
        "sem": lambda d: [clipped(d["code"]).sem()],
        "group sem": lambda d: [
            clipped(d["number"])[d["code"] == code].sem(ddof=0) for code in CODES],
    },
    kinds=of_numbers("var", "std", "sem"),
    tight={
        **t.alike("var"), **t.alike("std", "three stds"), **t.alike("sem"),
        "std of times": Line(
            lambda p, by: p["when"].std(bounds=t.YEAR, **by), t.to(lambda d: d["when"].std())
        ),
    },
))  # fmt: skip

MOMENTS = ("count", "mean", "std")
EVERY_FIGURE = ("count", "sum", "mean", "var", "std", "sem")

RECORDS.append(Operation(
    stats.FirstMoments,
    hostile=within_bounds(stats.FirstMoments),
    law=DRAWN,
    undecided=dict.fromkeys(
        ("first moments", "group first moments", "first moments of True"), BY_ANSWER),
    often=("first moments", "first moments of True"),
    asked={
        "first moments": lambda p: Unreleased(
            p[["number", "code"]]._from_sums(("count", "sum", "mean"), BOUNDS)),
        "group first moments": lambda p: Unreleased(
            p.groupby("code", keys=CODES)["number"]._from_sums(("mean", "count"), BOUNDS)),
        "first moments of True": lambda p: Unreleased(
            p.assign(high="number > 1")["high"]._from_sums(("count", "sum", "mean"), None)),
    },
    together={
        "count and mean": lambda p: p[["number", "code"]].agg(
            ["count", "sum", "mean"], bounds=BOUNDS, epsilon=1),
        "pivot of counts and means": lambda p: p.pivot_table(
            "number", "code", aggfunc=["count", "mean"], keys={"code": CODES}, bounds=BOUNDS,
            epsilon=1),
    },
    truth={
        "first moments": lambda d: (
            numbers(truths.three(d)[["number", "code"]].agg(["count", "sum", "mean"]))),
        "first moments of True": lambda d: (
            numbers((d["number"] > 1).agg(["count", "sum", "mean"]).to_frame())),
    },
    kinds={
        "agg count and mean": Row(lambda p, c: p["x"].agg(["count", "mean"], **B), NUMBERS,
            lambda d, c: d["x"].astype(float).agg(["count", "mean"])),
    },
    tight={
        "count beside a mean": Line(
            lambda p, by: p["x"].agg(["count", "mean"], **t.BOUNDS, **by),
            t.to(lambda d: d["x"].agg(["count", "mean"])), part="count, mean",
        ),
        "groupby: count beside a mean": Line(
            lambda p, by: t.by_label(p)["x"].agg(["count", "mean"], **t.BOUNDS, **by),
            t.to(lambda d: d.groupby("label")["x"].agg(["count", "mean"]).stack()),
            part="count, mean",
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.Moments,
    hostile=within_bounds(stats.Moments),
    law=DRAWN,
    undecided=dict.fromkeys(
        ("group moments", "moments", "every figure", "mean for inference",
         "group means for inference"), BY_ANSWER),
    often=("moments", "every figure", "mean for inference"),
    asked={
        "group moments": lambda p: Unreleased(
            p.groupby("code", keys=CODES)[["number", "no"]]._from_sums(MOMENTS, BOUNDS)),
        "moments": lambda p: Unreleased(p[["number", "code"]]._from_sums(MOMENTS, BOUNDS)),
        "every figure": lambda p: Unreleased(p["number"]._from_sums(EVERY_FIGURE, BOUNDS)),
        "mean for inference": lambda p: p["code"].mean(bounds=BOUNDS, inference=True),
        "group means for inference": lambda p: (
            p.groupby("code", keys=CODES)["number"].mean(bounds=BOUNDS, inference=True)),
    },
    together={
        "describe": lambda p: p[["number", "code"]].describe(bounds=BOUNDS, epsilon=1),
        "moments of few": lambda p: p.groupby("code", keys=CODES, **FEW)["number"].agg(
            ["count", "mean", "std"], bounds=BOUNDS, epsilon=1),
    },
    truth={
        "moments": lambda d: numbers(truths.three(d)[["number", "code"]].agg([*MOMENTS])),
        "every figure": lambda d: numbers(clipped(d["number"]).agg([*EVERY_FIGURE]).to_frame()),
        "mean for inference": lambda d: [clipped(d["code"]).mean()],
    },
    kinds=of_numbers("describe", is_exact=False),
    tight={
        "mean for inference": Line(
            lambda p, by: p["x"].mean(**t.BOUNDS, inference=True, **by),
            t.to(lambda d: d["x"].mean()),
        ),
        "describe: moments": Line(
            lambda p, by: p[t.XYZ].describe(**t.TABLE, **by), t.to(lambda d: t.three(d[t.XYZ])),
            part="count, mean, std", slow=4,
        ),
        "groupby describe: moments": Line(
            lambda p, by: t.by_label(p)[["x"]].describe(**t.BOUNDS, **by),
            t.to(lambda d: t.three(d.groupby("label")["x"]).stack().to_frame("x")),
            part="count, mean, std", slow=4,
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.Covariance,
    hostile=some_covariance,
    law=TABLES,
    undecided={
        "cov": BY_ANSWER, "cov of three": BY_ANSWER, "corr": BY_ANSWER, "cov of a pair": BY_ANSWER,
        "corr of a pair": BY_ANSWER, "group cov": BY_ANSWER, "cov of complete rows": BY_ANSWER,
        "group corr of complete rows": BY_ANSWER, "group corr": BY_ANSWER,
    },
    asked={
        "group cov": lambda p: (
            p.groupby("group", keys=GROUPS)[["number", "code"]].cov(bounds=BOUNDS)),
        "group corr": lambda p: p.groupby(["group", "yes"], keys=BY_GROUP)[
            ["number", "code", "no"]
        ].corr(bounds=BOUNDS),
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
    },
    truth={
        "cov of three": lambda d: (
            numbers(truths.three(d).cov(ddof=0)) if len(d) > 2 else [math.nan] * 9),
        "cov": lambda d: numbers(truths.three(d)[["number", "code"]].cov()),
        "cov of complete rows": lambda d: truths.of_complete(d, ["number", "code", "yes", "no"]),
        "corr of a pair": lambda d: truths.pair(d, clipped(d["number"] + d["code"]).corr, d["yes"]),
        "cov of a pair": lambda d: truths.pair(d, clipped(d["number"]).cov, d["code"]),
    },
    kinds={
        "column.cov": Row(lambda p, c: p["x"].cov(p["n"], **B), NUMBERS,
            lambda d, c: d["x"].astype(float).cov(d["n"])),
        "column.corr": Row(lambda p, c: p["n"].corr(p["x"], **B), NUMBERS),
        "frame.cov": Row(lambda p, c: p[["x", "n"]].cov(**B), NUMBERS),
        "frame.corr": Row(lambda p, c: p[["x", "n"]].corr(**B), NUMBERS),
        "groups.cov": Row(lambda p, c: p.groupby("g", keys=[1])[["x", "n"]].cov(**B), NUMBERS),
        "groups.corr": Row(lambda p, c: p.groupby("g", keys=[1])[["x", "n"]].corr(**B), NUMBERS),
    },
    tight={
        "cov": Line(
            lambda p, by: p[t.XYZ].cov(**t.TABLE, **by), t.to(lambda d: d[t.XYZ].cov()), slow=4),
        "corr": Line(
            lambda p, by: p[t.XYZ].corr(**t.TABLE, **by), t.to(lambda d: d[t.XYZ].corr()), slow=4
        ),
        "cov of a pair": Line(
            lambda p, by: p["x"].cov(p["y"], **t.PAIR, **by),
            t.to(lambda d: d["x"].cov(d["y"])), slow=2
        ),
        "corr of a pair": Line(
            lambda p, by: p["x"].corr(p["y"], **t.PAIR, **by),
            t.to(lambda d: d["x"].corr(d["y"])), slow=2
        ),
        "groupby cov": Line(
            lambda p, by: t.by_label(p)[["x", "y"]].cov(**t.PAIR, **by),
            t.to(lambda d: d.groupby("label")[["x", "y"]].cov()), slow=8,
        ),
        "cov of complete rows": Line(
            lambda p, by: p[t.XYZ].cov(**t.TABLE, dropna=True, **by),
            t.to(lambda d: d[t.XYZ].cov()), slow=4
        ),
        "corr of complete rows": Line(
            lambda p, by: p[t.XYZ].corr(**t.TABLE, dropna=True, **by),
            t.to(lambda d: d[t.XYZ].corr()), slow=4
        ),
        "groupby corr of complete rows": Line(
            lambda p, by: t.by_label(p)[["x", "y"]].corr(**t.PAIR, dropna=True, **by),
            t.to(lambda d: d.groupby("label")[["x", "y"]].corr()), slow=8,
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.SecondMoments,
    hostile=some_second_moments,
    law=TABLES,
    gaussian={
        "cov of complete rows, Gaussian": lambda p: p[["number", "code", "yes"]].cov(
            bounds=BOUNDS, dropna=True
        ),
        "group corr of complete rows, Gaussian": lambda p: p.groupby("code", keys=CODES)[
            ["number", "yes", "no"]
        ].corr(bounds=BOUNDS, dropna=True),
    },
    truth={
        "cov of complete rows, Gaussian": lambda d: (
            truths.of_complete(d, ["number", "code", "yes"])),
    },
    kinds="those of Covariance, which it takes the place of",
    tight="those of Covariance, where ρ is counted",
))  # fmt: skip

RECORDS.append(Operation(
    stats.NormedMoments,
    hostile=some_normed_moments,
    law=TABLES,
    undecided={
        "cov within a norm": BY_ANSWER, "corr within a norm": BY_ANSWER,
        "group cov within a norm": BY_ANSWER,
    },
    often=("cov within a norm", "corr within a norm"),
    asked={
        "cov within a norm": lambda p: p[["number", "code", "yes"]].cov(norm=6),
        "corr within a norm": lambda p: p[["number", "code"]].corr(norm=4.5),
        "group cov within a norm": lambda p: (
            p.groupby("group", keys=GROUPS)[["number", "code"]].cov(norm=("l2", 4), ddof=0)),
    },
    truth={
        "cov within a norm": lambda d: truths.cov_within_norm(d, ["number", "code", "yes"], 6),
    },
    kinds={
        "frame.cov, of a norm": Row(lambda p, c: p[["x", "n"]].cov(norm=20, epsilon=1), NUMBERS),
        "frame.corr, of a norm": Row(lambda p, c: p[["x", "n"]].corr(norm=20, epsilon=1), NUMBERS),
        "groups.cov, of a norm": Row(
            lambda p, c: p.groupby("g", keys=[1])[["x", "n"]].cov(norm=20, epsilon=1), NUMBERS),
    },
    tight={
        "cov within a norm": Line(
            lambda p, by: p[t.XYZ].cov(norm=30, **by), t.to(lambda d: d[t.XYZ].cov()), slow=4),
        "corr within a norm": Line(
            lambda p, by: p[t.XYZ].corr(norm=30, **by), t.to(lambda d: d[t.XYZ].corr()), slow=4),
        "groupby cov within a norm": Line(
            lambda p, by: t.by_label(p)[t.XYZ].cov(norm=30, **by),
            t.to(lambda d: d.groupby("label")[t.XYZ].cov()), slow=8,
        ),
    },
))  # fmt: skip

RECORDS.append(Operation(
    stats.Quantiles,
    hostile=some_quantiles,
    law=RANKS,
    is_noisy=False,
    warns=("min", "group max", "group min of hours", "quantiles of columns"),
    asked={
        "group quantiles with missing": lambda p: p.groupby("code", keys=CODES, dropna=False)[
            "number"
        ].quantile([0.1, 0.8], bounds=BOUNDS),
        "median of times": lambda p: p["when"].median(bounds=FEW_DAYS),
        "group quantiles of times": lambda p: p.groupby("group", keys=GROUPS)["when"].quantile(
            [0.25, 0.75], bounds=YEAR),
        "median": lambda p: p["number"].median(bounds=BOUNDS),
        "median of whole numbers": lambda p: p["code"].median(bounds=(0, 8), step=1),
        "quantiles of whole numbers": lambda p: p[["code", "number"]].quantile(
            [0.2, 0.5, 0.9], bounds=(-4, 8), step=2),
        "median of tenths": lambda p: p[["number", "code"]].median(
            bounds=BOUNDS, step={"number": 0.1}),
        "group min of hours": lambda p: p.groupby("group", keys=GROUPS)["when"].min(
            bounds=FEW_DAYS, step=pd.Timedelta("15min")),
        "third": lambda p: (p["number"] + p["code"]).quantile(1 / 3, bounds=BOUNDS),
        "quantiles": lambda p: p["number"].quantile([0.25, 0.5, 0.9], bounds=BOUNDS),
        "quantile of columns": lambda p: p[["number", "code"]].quantile(0.7, bounds=BOUNDS),
        "quantiles of columns": lambda p: (
            p[["number", "code"]].quantile([0, 0.5, 1], bounds=BOUNDS)),
        "min": lambda p: p["code"].min(bounds=BOUNDS),
        "group max": lambda p: p.groupby("code", keys=CODES)["number"].max(bounds=BOUNDS),
        "group median": lambda p: p.groupby("group", keys=GROUPS)[["number", "no"]].median(
            bounds=BOUNDS),
        "group quantiles": lambda p: p.groupby(["group", "code"], keys=BOTH)["number"].quantile(
            [0.1, 0.8], bounds=BOUNDS),
    },
    kinds={
        **of_numbers("median", "quantile", "min", "max", is_exact=False),
        "column.quantile": Row(lambda p, c: p["x"].quantile([0.2, 0.5], **B), NUMBERS),
    },
    tight={
        "median": Line(lambda p, by: p["x"].median(**t.BOUNDS, **by), t.ranks(0.5), slow=2),
        "three quartiles": Line(
            lambda p, by: p["x"].quantile([*t.QUARTILES], **t.BOUNDS, **by),
            t.ranks(*t.QUARTILES), slow=2
        ),
        "nine deciles": Line(
            lambda p, by: p["x"].quantile(t.NINE, **t.BOUNDS, **by), t.ranks(*t.NINE), slow=4
        ),
        "min": Line(lambda p, by: p["x"].min(**t.BOUNDS, **by), t.ranks(0.0), slow=2),
        "max": Line(lambda p, by: p["x"].max(**t.BOUNDS, **by), t.ranks(1.0), slow=2),
        "three medians": Line(
            lambda p, by: p[t.XYZ].median(**t.TABLE, **by), t.ranks_of_columns(0.5), slow=4
        ),
        "groupby median": Line(
            lambda p, by: t.by_label(p)["x"].median(**t.BOUNDS, **by),
            t.ranks_of_groups(0.5), slow=4
        ),
        "groupby quantile": Line(
            lambda p, by: t.by_label(p)["x"].quantile([*t.QUARTILES], **t.BOUNDS, **by),
            t.ranks_of_groups(*t.QUARTILES), slow=4,
        ),
        "describe: quantiles": Line(
            lambda p, by: p["x"].describe(**t.BOUNDS, **by), t.ranks(0.0, *t.QUARTILES, 1.0),
            part="min, 25%, 50%, 75%, max", slow=4,
        ),
    },
    truth="off by ranks, which draws.py counts",
))  # fmt: skip

RECORDS.append(Operation(
    stats.WeightedQuantiles,
    hostile=some_weighted_quantiles,
    law="test_weighted_quantiles.py::test_stated_errors_hold_by_the_exact_law",
    is_noisy=False,
    is_drawn=False,
    asked={
        "weighted median": lambda p: p[["number", "yes"]].median(
            bounds=BOUNDS, weights=p["code"], **WEIGHTS),
        "weighted quantiles": lambda p: p["number"].quantile(
            [0.2, 0.5, 0.9], bounds=BOUNDS, weights=p["code"], **WEIGHTS),
        "weighted group quantile": lambda p: p.groupby("group", keys=GROUPS)["number"].quantile(
            0.75, bounds=BOUNDS, weights="code", **WEIGHTS),
    },
    kinds={
        "column.median, weighted": Row(
            lambda p, c: p["n"].median(weights=p["x"], weight_bounds=(0, 5), **B), NUMBERS),
    },
    tight="those of Quantiles, times the largest weight",
    truth="off by weights of rows, which draws.py counts",
))  # fmt: skip

RECORDS.append(Operation(
    stats.MeasuredQuantiles,
    hostile=some_measured_quantiles,
    law="test_quantile_ladders.py::test_intervals_and_errors_hold_in_two_thousand_draws",
    is_noisy=False,
    undecided=dict.fromkeys(
        ["median with an interval", "quantiles with intervals", "group median with intervals",
         "median of times with an interval"], BY_ANSWER),
    asked={
        "median with an interval": lambda p: p["number"].median(bounds=BOUNDS, interval=True),
        "quantiles with intervals": lambda p: p[["number", "code"]].quantile(
            [0.25, 0.5], bounds=BOUNDS, step={"code": 1}, interval=True),
        "group median with intervals": lambda p: p.groupby("group", keys=GROUPS)[
            "number"].median(bounds=BOUNDS, interval=True),
        "median of times with an interval": lambda p: p["when"].median(
            bounds=FEW_DAYS, interval=True),
    },
    truth="test_quantile_ladders.py compares it with pandas' quantiles",
    kinds="those of Quantiles, which it is asked by",
    tight="test_intervals_are_as_narrow_as_said, in ranks: in values it depends on the rows",
))  # fmt: skip

RECORDS.append(Operation(
    stats.RankedQuantiles,
    hostile=some_ranked_quantiles,
    law="test_quantile_ladders.py::test_errors_hold_in_two_thousand_draws",
    is_noisy=False,
    warns=("quantiles with measured ranks",),
    undecided=dict.fromkeys(
        ["median with measured ranks", "quantiles with measured ranks",
         "group medians with measured ranks"], BY_ANSWER),
    asked={
        "median with measured ranks": lambda p: p["number"].median(
            bounds=BOUNDS, interval="ranks"),
        "quantiles with measured ranks": lambda p: p[["number", "code"]].quantile(
            [0, 0.25, 0.5], bounds=BOUNDS, step={"code": 1}, interval="ranks"),
        "group medians with measured ranks": lambda p: p.groupby("group", keys=GROUPS)[
            "number"].median(bounds=BOUNDS, interval="ranks"),
    },
    truth="test_quantile_ladders.py compares it with exact ranks",
    kinds="those of Quantiles, which it is asked by",
    tight="test_errors_are_as_small_as_said, in ranks",
))  # fmt: skip

RECORDS.append(Operation(
    stats.SmoothQuantile,
    hostile=some_smooth_quantile,
    law="none: the noise depends on the rows",
    experimental={
        "smooth median": lambda p: p["number"].median(bounds=BOUNDS, method="smooth"),
        "smooth quantile": lambda p: (p["number"] / p["code"]).quantile(
            0.9, bounds=BOUNDS, method="smooth"),
    },
    kinds={
        "column.median, smoothly": Row(lambda p, c: p["x"].median(method="smooth", **B), NUMBERS),
    },
    truth="states no interval",
    tight="experimental: how wide its noise is depends on the rows, and isn't told",
))  # fmt: skip

RECORDS.append(Operation(
    stats.BoundedQuantile,
    hostile=some_bounded_quantile,
    law="test_sensitivity_bounds.py::test_intervals_and_errors_hold_by_the_exact_law",
    is_noisy=False,
    at_delta={
        "median by bounded sensitivity": lambda p: p["number"].median(
            bounds=BOUNDS, method="bounded_sensitivity"),
        "quantile of tenths by bounded sensitivity": lambda p: (p["number"] / p["code"]).quantile(
            0.9, bounds=BOUNDS, step=0.1, method="bounded_sensitivity"),
        "median of times by bounded sensitivity": lambda p: p["when"].median(
            bounds=FEW_DAYS, method="bounded_sensitivity"),
    },
    kinds={
        "column.median, by a bound": Row(lambda p, c: p["x"].median(
            method="bounded_sensitivity", bounds=(0, 5), **FREE), NUMBERS),
    },
    truth="test_sensitivity_bounds.py compares it with the value of its rank",
    tight="how wide its noise is depends on the rows",
))  # fmt: skip

RECORDS.append(Operation(
    stats.TrimmedMean,
    hostile=some_trimmed_mean,
    law="none: the noise depends on the rows",
    experimental={
        "trimmed mean": lambda p: p["number"].trimmed_mean(trim=2, bounds=BOUNDS),
        "trimmed mean of few": lambda p: p["code"].trimmed_mean(trim=20, bounds=BOUNDS),
        "trimmed mean of a query": lambda p: (
            p.query("number > 0 or yes").assign(x="number - code")["x"].trimmed_mean(
                trim=0, bounds=BOUNDS)),
    },
    kinds={
        "column.trimmed_mean": Row(lambda p, c: p["x"].trimmed_mean(trim=2, **B), NUMBERS),
    },
    truth="states no interval",
    tight="experimental: how wide its noise is depends on the rows, and isn't told",
))  # fmt: skip

RECORDS.append(Operation(
    stats.BoundsHistogram,
    hostile=lambda rng: stats.BoundsHistogram(ALONE, SUMMED, operands(rng)[0]),
    law=DRAWN,
    is_noisy=False,
    is_drawn=False,
    undecided={"suggested bounds": BY_ANSWER},
    often=("suggested bounds",),
    asked={
        "suggested bounds": lambda p: p["number"].suggest_bounds(),
    },
    kinds={
        "column.suggest_bounds": Row(lambda p, c: p["x"].suggest_bounds(**E), NUMBERS),
    },
    tight={
        "suggest_bounds": Line(
            lambda p, by: p["x"].suggest_bounds(**by), t.clipped_share, is_pure=True
        ),
    },
    truth="pandas has no such thing",
))  # fmt: skip

RECORDS.append(Operation(
    stats.UndeclaredKeys,
    hostile=some_unknown,
    law=DRAWN,
    undecided={"group std found": BY_ANSWER},
    often=("group count found", "group mean found", "group std found"),
    found={
        "value_counts of labels found": lambda p: p["group"].value_counts(delta=DELTA),
        "value_counts of times found": lambda p: p["when"].value_counts(delta=DELTA, sort=False),
        "value_counts of columns found": lambda p: p.value_counts(["group", "code"], delta=DELTA),
        "value_counts of elements found": lambda p: parts(p)["part"].value_counts(delta=DELTA),
        "group size found": lambda p: p.groupby("code", delta=DELTA).size(),
        "group count found": lambda p: p.groupby("code", delta=DELTA)[["number", "yes"]].count(),
        "group sum found": lambda p: (
            p.query("number > 0").groupby(["group", "code"], delta=DELTA)["number"].sum(
                bounds=BOUNDS)),
        "group mean found": lambda p: p.groupby("group", delta=DELTA)[["number", "no"]].mean(
            bounds=BOUNDS),
        "group std found": lambda p: p.groupby("group", delta=DELTA)["number"].std(bounds=BOUNDS),
    },
    kinds={
        "column.value_counts of what is found": Row(
            lambda p, c: p["x"].value_counts(**FREE).sum(), LABELS,
            lambda d, c: d["x"].count()),
        "frame.groupby of what is found": Row(
            lambda p, c: p.groupby("x", delta=DELTA).size(epsilon=50).sum(), LABELS,
            lambda d, c: d["x"].count()),
    },
    tight={
        "value_counts, δ": Line(
            lambda p, by: p["label"].value_counts(**t.FOUND, **by),
            t.to(t.sizes), is_pure=True, each=True
        ),
        "groupby size, δ": Line(
            lambda p, by: t.found(p).size(**by), t.to(t.sizes), is_pure=True, each=True
        ),
        "groupby count, δ": Line(
            lambda p, by: t.found(p)["x"].count(**by), t.to(t.sizes), is_pure=True, each=True
        ),
        "groupby sum, δ": Line(
            lambda p, by: t.found(p)["x"].sum(**t.BOUNDS, **by),
            t.to(lambda d: d.groupby("label")["x"].sum()), is_pure=True, each=True,
        ),
        "groupby mean, δ": Line(
            lambda p, by: t.found(p)["x"].mean(**t.BOUNDS, **by),
            t.to(lambda d: d.groupby("label")["x"].mean()), is_pure=True, each=True,
        ),
        "groupby std, δ": Line(
            lambda p, by: t.found(p)["x"].std(**t.BOUNDS, **by),
            t.to(lambda d: d.groupby("label")["x"].std()), is_pure=True, each=True,
        ),
    },
    truth="which labels are told is private; draws.py compares those that are",
))  # fmt: skip

RECORDS.append(Operation(
    stats.Unique,
    hostile=some_unique,
    law="none: labels alone",
    is_noisy=False,
    is_drawn=False,
    undecided={"unique": "have no error", "unique elements": "have no error"},
    found={
        "unique": lambda p: p["group"].unique(delta=DELTA),
        "unique elements": lambda p: parts(p)["part"].unique(delta=DELTA),
    },
    kinds={
        "column.unique": Row(lambda p, c: len(p["x"].unique(**FREE)), LABELS,
            lambda d, c: d["x"].nunique()),
    },
    truth="labels alone",
    tight="labels alone, which are off by nothing that could be measured",
))  # fmt: skip

RECORDS.append(Operation(
    stats.WeightedUnique,
    hostile=some_weighted_unique,
    law="none: labels alone",
    is_noisy=False,
    is_drawn=False,
    undecided={"unique codes": "have no error"},
    found={"unique codes": lambda p: p.query("number > -2")["code"].unique(delta=DELTA)},
    truth="labels alone",
    kinds="those of Unique, which it takes the place of",
    tight="labels alone, which are off by nothing that could be measured",
))  # fmt: skip

RECORDS.append(Operation(
    stats.WeightedKeys,
    hostile=some_weighted_keys,
    law=DRAWN,
    often=("group mean of elements found",),
    found={
        "group mean of elements found": lambda p: parts(p).groupby("part", delta=DELTA)[
            ["number", "yes"]].mean(bounds=BOUNDS),
    },
    truth="which labels are told is private; draws.py compares those that are",
    kinds="those of UndeclaredKeys, which it takes the place of",
    tight="those of UndeclaredKeys: the noise of its numbers is the same",
))  # fmt: skip

RECORDS.append(Operation(
    stats.Scores,
    hostile=some_scores,
    law=GAPS,
    vouched={
        "choice by a count": lambda p: dp.select(
            vouched(p), GROUPS, sensitivity=1, monotone=True,
            score=lambda frame, group: rows_with(frame, ("group", group))),
        "choice by a balance": lambda p: dp.select(
            vouched(p.query("number > -2")), CODES, sensitivity=2,
            score=lambda frame, code: -abs(2 * rows_with(frame, ("code", code)) - len(frame))),
    },
    tight={
        "select": Line(
            lambda d, by: dp.select(d, t.LABELS, score=t.score, sensitivity=1, monotone=True, **by),
            t.below_the_best(t.evens), t.plainly,
        ),
    },
    truth="told by a caller's function",
    kinds="of a caller's function",
))  # fmt: skip

RECORDS.append(Operation(
    stats.Likelihoods,
    hostile=some_likelihoods,
    law="test_priors.py::test_the_gap_holds_whichever_candidate_is_the_best",
    selected={
        "posterior draw": lambda p, e: posterior_draw(
            p["group"] == "a", prior=(2, 3), epsilon=e),
        "posterior draw of a mask": lambda p, e: posterior_draw(
            p.query("code < 9")["number"] > 1, clip=1.5, epsilon=e),
        "posterior draw of counts": lambda p, e: posterior_draw(
            p["number"], "poisson", bounds=(0, 9), epsilon=e),
        "posterior draw of numbers": lambda p, e: posterior_draw(
            p["number"], "normal", bounds=(-5, 5), bins=4, epsilon=e),
    },
    truth="a draw, of which no error is promised",
    kinds="of True and False, as counts of both are, or of numbers",
    tight="a draw, whose law is exact: test_posterior.py",
))  # fmt: skip

RECORDS.append(Operation(
    stats.SignificantBlocks,
    hostile=some_significant_blocks,
    law=EXACT,
    tested={
        "blocks by shares": lambda p: dp.stats.blockwise(
            of_scipy("binomtest"), p, "yes", p=0.01, blocks=8, alpha=0.3),
        "blocks by ranks": lambda p: dp.stats.blockwise(
            of_scipy("mannwhitneyu"), p.query("code < 9"), "number", by="group", groups=["a", "b"],
            method="exact", blocks=10, alpha=0.35),
        "blocks by tables": lambda p: dp.stats.blockwise(
            of_scipy("fisher_exact"), p.assign(high="number > 1"), "high", by="no",
            groups=[True, False], blocks=12, alpha=0.4),
        "blocks by pairs": lambda p: dp.stats.blockwise(
            of_scipy("kendalltau"), p.assign(half=p["code"] * 0.5), "half", "number", blocks=12,
            alpha=0.35),
        "blocks of parts": lambda p: dp.stats.blockwise(
            of_scipy("wilcoxon"), parts(p), "code", blocks=12, alpha=0.5),
    },
    vouched={
        "blocks by a function": lambda p: dp.stats.blockwise(
            lambda frame: rows_with(frame, ("group", "a"), ("yes", True)) % 3 / 2,
            vouched(p.query("code < 9 or no")), "group", "yes", "when", blocks=6, alpha=0.4),
    },
    truth="which units share a block is private",
    kinds={
        "frame.blockwise": Row(
            lambda p, c: dp.stats.blockwise(
                of_scipy("ttest_1samp"), p, "x", popmean=0, blocks=20, **E).statistic, NUMBERS),
        "frame.blockwise by groups": Row(
            lambda p, c: dp.stats.blockwise(
                of_scipy("ttest_ind"), p, "g", by="x", groups=c.labels[:2], blocks=20, **E
            ).statistic,
            LABELS),
    },
    tight="a count of blocks, whose p-value is compared with its law",
))  # fmt: skip


def by_blocks(private: Any, **said: Any) -> Any:
    """What a function says of blocks of units."""
    return dp.models.sample_and_aggregate(
        vouched(private), lambda frame: rows_with(frame, ("group", "a"), ("yes", True)) % 5,
        bounds=(0, 4), **said)  # fmt: skip


RECORDS.append(Operation(
    stats.BlockMean,
    hostile=some_block_mean,
    law="test_aggregates.py::test_intervals_hold_as_often_as_they_say",
    vouched={
        "mean of blocks": lambda p: by_blocks(p.query("code < 9 or no"), blocks=6),
        "mean of blocks for units": lambda p: by_blocks(p, units=100),
    },
    truth="which units share a block is private",
    kinds="of a caller's function",
    tight="test_aggregates.py::test_the_error_is_that_of_the_noise_by_the_number_of_blocks",
))  # fmt: skip

RECORDS.append(Operation(
    stats.BlockMedian,
    hostile=some_block_median,
    law=RANKS,
    is_noisy=False,
    vouched={
        "median of blocks": lambda p: by_blocks(p, blocks=6, method="median", step=1),
    },
    truth="which units share a block is private",
    kinds="of a caller's function",
    tight="that of a median, of twice the sensitivity",
))  # fmt: skip

RECORDS.append(Operation(
    stats.MeasuredBlockMedian,
    hostile=some_measured_block_median,
    law="test_quantile_ladders.py::test_intervals_and_errors_hold_in_two_thousand_draws",
    is_noisy=False,
    undecided={"median of blocks with an interval": BY_ANSWER},
    vouched={
        "median of blocks with an interval": lambda p: by_blocks(
            p, blocks=6, method="median", interval=True),
    },
    truth="which units share a block is private",
    kinds="of a caller's function",
    tight="that of a median with an interval, of twice the sensitivity",
))  # fmt: skip


def best_splits(private: Any, *levels: Any) -> Any:
    """The splits of the nodes of a tree's next level."""
    code = private["group"].map({"a": 0, "b": 1})
    candidates = Candidates(((-1.0, 0.0, 2.5), (1.5,)))
    return class_splits(private[["number", "code"]], levels, candidates, code, 2)


RECORDS.append(Operation(
    stats.Splits,
    hostile=some_splits,
    law="test_splits.py::test_the_gap_holds_in_all_cells_by_the_exact_law",
    is_noisy=False,
    is_drawn=False,
    asked={
        "splits of a root": lambda p: best_splits(p),
        "splits of two nodes": lambda p: best_splits(p.query("code < 9"), [Split(0, 0.0)]),
    },
    truth="chosen by scores, which draws.py doesn't see",
    kinds="of a model's features, which are scaled numbers",
    tight="test_splits.py::test_no_unit_tells_more_than_epsilon",
))  # fmt: skip


def best_sums(private: Any, *levels: Any) -> Any:
    """The same of a regression tree."""
    candidates = Candidates(((-1.0, 0.0, 2.5), (1.5,)))
    left = private["yes"] * 1.0 - private["code"] / 4
    return sum_splits(private[["number", "code"]], levels, candidates, left, "yes")


RECORDS.append(Operation(
    stats.SplitsOfSums,
    hostile=some_splits_of_sums,
    law="test_splits.py::test_the_gap_holds_in_all_cells_by_the_exact_law",
    is_noisy=False,
    is_drawn=False,
    asked={
        "sums beside a root": lambda p: best_sums(p),
        "sums beside two nodes": lambda p: best_sums(p.query("code < 9"), [Split(0, 0.0)]),
    },
    truth="chosen by scores, which draws.py doesn't see",
    kinds="of a model's features and target, which are scaled numbers",
    tight="test_splits.py::test_no_unit_tells_more_than_epsilon",
))  # fmt: skip

RECORDS.append(Operation(
    stats.BlockSlopes,
    hostile=some_block_slopes,
    law=RANKS,
    is_noisy=False,
    is_drawn=False,
    asked={
        "median of slopes": lambda p: slopes(
            p.assign(x=p["number"] / 10)[["x"]], p["yes"] * 1.0 - p["code"] / 4, 1000),
        "median of slopes of a query": lambda p: slopes(
            p.query("code < 9 or no").assign(x=p["code"] / 4)[["x"]], p["number"] / 10, 1000),
    },
    truth="which units share a block is private",
    kinds="of a model, which takes numbers",
    tight="that of a median, of twice the sensitivity",
))  # fmt: skip

RECORDS.append(Operation(
    MarginalError,
    hostile=some_misfit,
    law=GAPS,
    selected={
        "worst fit": lambda p, e: dp.models.synthetic.worst_fit(
            p,
            [table({"group": GROUPS}, 4), table(BOTH, 1.3), table({"code": [1, 2, "a"]}, 2)],
            weights=[1, 2, 1],
            offsets=[0, 1.5, -2],
            epsilon=e),
        "worst fit of a query": lambda p, e: dp.models.synthetic.worst_fit(
            p.query("number > 0"), [table(BY_GROUP, 1), table({"yes": [True]}, 3)], epsilon=e),
    },
    tight={
        "worst_fit": Line(
            lambda p, by: dp.models.synthetic.worst_fit(p, t.nothing(), offsets=t.OFFSETS, **by),
            t.below_the_best(t.misfits)
        ),
    },
    truth="how well a public table fits",
    kinds="of the cells of a table, as counts are",
))  # fmt: skip

RECORDS.append(Operation(
    SmallDatabases,
    hostile=some_small_databases,
    law=GAPS,
    selected={
        "small database": lambda p, e: small(p, 2).release(epsilon=e),
        "small database of a query": lambda p, e: (
            small(p.query("not code == 9"), 3).release(epsilon=e)),
    },
    truth="how well a small table fits",
    kinds="of the cells of a table, as counts are",
    tight="rows, of which no error is promised",
))  # fmt: skip

RECORDS.append(Operation(
    stats.Distance,
    hostile=some_distance,
    law=EXACT,
    vouched={
        "distance": lambda p: dp.distance_to_property(vouched(p), lambda frame: abs(lead(frame))),
        "distance of a query": lambda p: dp.distance_to_property(
            vouched(p.query("code in [1, 2] or yes")),
            lambda frame: rows_with(frame, ("code", 1), ("group", "a"))),
    },
    tight={
        "distance_to_property": Line(
            lambda d, by: dp.distance_to_property(d, lambda rows: int(rows["yes"].sum()), **by),
            t.to(lambda d: d["yes"].sum()),
            t.plainly,
        ),
    },
    truth="told by a caller's function",
    kinds="of a caller's function",
))  # fmt: skip

RECORDS.append(Operation(
    stats.Proposed,
    hostile=lambda rng: some_distance(rng, proposed=True),
    law="none: exact, or not told",
    vouched={
        "proposed winner": lambda p: dp.propose_test_release(
            vouched(p),
            lambda frame: "a" if lead(frame) > 0 else "b",
            lambda frame: lead(frame) - 1 if lead(frame) > 0 else -lead(frame)),
    },
    truth="states no interval",
    kinds="of a caller's function",
    tight="exact, or not told",
))  # fmt: skip

RECORDS.append(Operation(
    None,
    law="those of its statistics",
    together={
        "agg": lambda p: p[["number", "code"]].agg(
            {"number": ["mean", "median", "sum"], "code": ["count", "std"]},
            bounds=BOUNDS, epsilon=1),
    },
    kinds={
        "column.agg": Row(lambda p, c: p["x"].agg(["mean", "sum"], **B), NUMBERS,
            lambda d, c: d["x"].astype(float).agg(["mean", "sum"])),
        "frame.agg": Row(lambda p, c: p.agg({"x": "mean"}, **B), NUMBERS,
            lambda d, c: [d["x"].astype(float).mean()]),
        "groups.agg": by_group(lambda g: g.agg(["mean"], **B), NUMBERS),
    },
    tight={
        "agg: median beside a count": Line(
            lambda p, by: p["x"].agg(["count", "median"], **t.BOUNDS, **by), t.ranks(0.5),
            part="median", slow=4,
        ),
    },
    truth="those of its statistics",
))  # fmt: skip


# --- what the suites read ------------------------------------------------------------------------


def merged(name: str) -> dict[str, Any]:
    """A field of all records; the same name twice would lose a case."""
    found: dict[str, Any] = {}
    for record in RECORDS:
        entries = getattr(record, name)
        for key, entry in {} if isinstance(entries, str) else entries.items():
            assert key not in found, f"{name}: {key} is in two records"
            found[key] = entry
    return found


OPERATIONS, OF_UNITS, SELECTIONS = merged("asked"), merged("of_units"), merged("selected")
UNKNOWN, GAUSSIAN, EXPERIMENTAL = merged("found"), merged("gaussian"), merged("experimental")
AT_DELTA, VOUCHED, TOGETHER = merged("at_delta"), merged("vouched"), merged("together")
TESTED = merged("tested") if find_spec("scipy") else {}
PANDAS, KINDS, TIGHT = merged("truth"), merged("kinds"), merged("tight")
HOSTILE: dict[Any, Any] = {
    each.statistic: with_limits(each.hostile) for each in RECORDS if each.statistic and each.hostile
}
#: Statistics of which nothing but a label is ever released.
SELECTED = {each.statistic for each in RECORDS if each.law == GAPS}
OFTEN = [name for each in RECORDS for name in each.often]
REFUSED_WITHIN = merged("undecided")
NOT_COMBINED = {name for each in RECORDS if not each.is_noisy for name in each.names()}
UNDRAWN = {name for each in RECORDS if not each.is_drawn for name in each.names()}
WARNING = {name for each in RECORDS for name in each.warns}

#: What a caller's function does with rows as they were given, which are not sent anywhere.
PLAIN = [name for each in RECORDS if each.statistic and each.statistic.plain
         for name in each.vouched]  # fmt: skip

EVERY = [*OPERATIONS, *SELECTIONS]
#: By whatever must be given or allowed.
ALL_ASKED = [
    *EVERY, *OF_UNITS, *UNKNOWN, *GAUSSIAN, *EXPERIMENTAL, *AT_DELTA, *VOUCHED, *TESTED,
]  # fmt: skip


def released(name: str, private: Any, epsilon: object = 1) -> Any:
    """The answer of an operation or a selection."""
    if name in SELECTIONS:
        return SELECTIONS[name](private, epsilon)
    needs_delta = name in AT_DELTA or name.startswith("proposed")
    more: dict[str, Any] = {"delta": DELTA} if needs_delta else {}
    if name in GAUSSIAN:
        more = {"delta": DELTA, "mechanism": "gaussian"}
    more_asked = {**GAUSSIAN, **EXPERIMENTAL, **AT_DELTA, **VOUCHED, **TESTED}
    ask = {**OPERATIONS, **OF_UNITS, **UNKNOWN, **more_asked}[name]
    return ask(private).release(epsilon=epsilon, **more)


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
