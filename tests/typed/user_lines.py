"""Lines of a user who checks types: `test_types.py` checks them as `mypy --strict` does, and runs
them to see that each name is what it is said to be."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd

import dppandas as dp
from dppandas import types as t

dp.session(epsilon=100, delta=1e-5)
df = pd.DataFrame({"sex": ["f", "m"] * 500, "age": [20.0, 60.0] * 500, "old": [False, True] * 500})
df["when"] = pd.Timestamp("2024-01-05")
facts = {"sex": ["f", "m"], "age": (0, 99), "when": ("2024-01-01", "2024-12-31")}
people: t.PrivateFrame[t.ReleasedInt] = dp.protect(df, name="typed", domain=facts)
adults = people.query("age >= 18").assign(months=lambda p: p["age"] * 12)
ages: t.PrivateSeries = adults["age"]
clipped: t.PrivateSeries = ages.clip(1, 99).sub(1).abs()
n: t.ReleasedInt = adults.count(epsilon=0.1)
share: t.ReleasedFloat = (ages > 30).mean(epsilon="1/3")
doubled: float = 2 * ages.mean(epsilon=Fraction(1, 2), mechanism="laplace") + n.error()
low, high = ages.mean(epsilon=1).interval(0.9)
waiting: t.Unreleased[t.ReleasedFloat] = ages.mean()
answer: t.ReleasedFloat = waiting.release(epsilon=0.5)
near: t.ReleasedInt = adults.count(within=20, confidence=0.95)
better: t.ReleasedInt = n.refine(epsilon=0.2)
weighted: t.ReleasedFloat = ages.count(weights=ages, epsilon=0.1)
middle: t.ReleasedFloat = ages.quantile(0.5, epsilon=1)
quartiles: pd.Series[float] = ages.quantile([0.25, 0.75], epsilon=1)
values: pd.Series[int] = adults[["age", "sex"]].count(epsilon=1)
chosen: t.PrivateFrame[pd.Series[int]] = people.filter(like="e")
by_sex: t.PrivateGroupBy[pd.DataFrame, pd.Series[float]] = people.groupby("sex")
means: pd.Series[float] = by_sex["age"].mean(epsilon=1)
both: pd.DataFrame = by_sex[["age", "old"]].sum(bounds=(0, 99), epsilon=1)
sizes: pd.DataFrame = people.groupby("sex", as_index=False).size(epsilon=1)
found: pd.DataFrame = by_sex.agg(n=("sex", "size"), mean=("age", "mean"), epsilon=1)
described: pd.Series[float] = ages.describe(epsilon=1)
later: t.ReleaseBundle[pd.DataFrame] = people[["age", "old"]].describe(bounds=(0, 99))
schema: pd.DataFrame = people.describe()
counts: pd.Series[int] = people["sex"].value_counts(epsilon=1)
spotted: pd.Index[str] = people["sex"].str.upper().unique(epsilon=1, delta=1e-6)
months: pd.Series[int] = people["when"].dt.month.value_counts(epsilon=1)
table: pd.DataFrame = dp.crosstab(people["sex"], people["old"], epsilon=1)
least: t.PrivateSeries = people[["age"]].idxmax(axis=1)
either: t.PrivateSeries = people[["old"]].any(axis=1)
in_all: t.ReleasedFloat = people[["age"]].sum(axis=1).mean(bounds=(0, 99), epsilon=1)
record: t.Record = dp.record(n)
joined: t.ReleasedInt = dp.combine(near, people.query("age >= 18").count(epsilon=1))
model: dp.models.LinearRegression = dp.models.LinearRegression(epsilon=1)
with dp.batch(epsilon=1, delta=1e-6) as batch:
    promised: t.PendingRelease[t.ReleasedInt] = batch.add(people.count())
late: t.ReleasedInt = promised.result()


def shares_of(frame: t.PrivateFrame, column: str) -> pd.Series[float]:
    """The share of each label."""
    shares: pd.Series[float] = frame[column].value_counts(normalize=True, epsilon=1)
    return shares


shares = shares_of(adults[["sex"]], "sex")
