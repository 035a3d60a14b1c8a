"""Writes docs/differences.md: the closed list of where the same line means something else here.

``python docs/differences.py`` makes the page anew from `DIFFERENCES`. Tests run each line on a
plain frame and, without noise, on a private one, and compare both with what is written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parent / "differences.md"

#: The frame of all lines, and what is declared of it.
FRAME = """\
import pandas as pd
import dppandas as dp

df = pd.DataFrame({
    "who": [1, 1, 2, 3],
    "city": pd.Categorical(["Oslo", "Rome", "Oslo", None]),
    "sex": ["f", "m", "f", "f"],
    "age": pd.array([30, 40, None, 50], dtype="Int64"),
    "n": [1, 2, 3, 4],
    "vip": pd.array([True, None, False, None], dtype="boolean"),
    "memo": pd.array(["paid", None, "owed", None], dtype="string"),
    "grade": pd.Categorical(["A", "C", "B", "C"], ["C", "B", "A"], ordered=True),
    "x": [1.0, 2.0, None, 8.0],
    "when": pd.to_datetime(["2024-03-31 02:30", "2024-04-01 09:00", "2024-04-02 09:00", None]),
    "sent": pd.to_datetime(["2024-04-01 09:00", "2024-04-02 23:30"] * 2).tz_localize("Asia/Tokyo"),
})
f = dp.protect(df, name="f", unit="who", max_rows=2, domain={
    "city": ["Rome", "Oslo", "Bonn"], "sex": ["f", "m"], "age": (0, 100), "n": (0, 8), "x": (0, 8),
    "grade": ["B", "A", "C"], "sent": ("2024-04-01", "2024-04-02")})
"""


@dataclass(frozen=True)
class Difference:
    """A line that means one thing on a plain frame and another on a private one."""

    what: str
    line: str
    pandas: str
    here: str
    why: str
    then: str = ""  # what is asked of the answer


DIFFERENCES = [
    Difference(
        "Missing values are unequal to all", '(f["age"] != 40).sum()', "2", "3",
        "a comparison is true or false in each row; nullable columns of pandas leave it open"),
    Difference(
        "Comparisons are never missing", '(f["age"] > 35).count()', "3", "4", "as above"),
    Difference(
        "So there is none to fill", '(f["age"] > 35).fillna(True).sum()', "3", "2",
        'write (f["age"] > 35) | f["age"].isna()'),
    Difference(
        "Not is true of a comparison with a missing value", '(~(f["age"] > 35)).sum()', "1", "2",
        "what is compared is false, as in a column of float64"),
    Difference(
        "Filters by != and not keep rows without a value", 'f.query("age != 40")["n"].count()',
        "2", "3", 'as above; add & f["age"].notna()'),
    Difference(
        "where and mask take no comparison for open", 'f["n"].mask(f["age"] > 35).count()',
        "1", "2", "as above"),
    Difference(
        "Groups by a comparison have all rows", 'f.groupby(f["age"] > 35)["n"].count()',
        "[1, 2]", "[2, 2]", "as above", ".tolist()"),
    Difference(
        "Missing flags are unequal to all", '(f["vip"] != True).sum()', "1", "3", "as above"),
    Difference(
        "Tests of missing texts are false", '(~f["memo"].str.startswith("p")).sum()', "1", "3",
        "as above; pandas' dtype str has it so, too"),
    Difference(
        "Sums of numbers are floats", 'f["n"].sum()', "10", "10.0",
        "a dtype is data; the sum of True and False is an int"),
    Difference(
        "Groups are in declared order, and all are there", 'f.groupby("city").size()',
        "{'Oslo': 2, 'Rome': 1}", "{'Rome': 1, 'Oslo': 2, 'Bonn': 0}",
        "which keys have rows is private; sort=True sorts", ".to_dict()"),
    Difference(
        "Ordered categories are ordered as their keys are declared", '(f["grade"] > "A").sum()',
        "0", "2", "which categories a column has, and in which order, is data"),
    Difference(
        "Numbers as texts follow the value", 'f["x"].astype(str).eq("1").sum()', "0", "1",
        "a dtype is data: 1 and 1.0 are one number"),
    Difference(
        "What is missing is neither true nor false", 'f["x"].astype(bool).sum()', "4", "3",
        "pandas takes NaN for True; fill it first"),
    Difference(
        "A missing flag counts as False in & and |", '(f["vip"] | (f["n"] > 9)).count()', "2", "4",
        "~ leaves it missing, as in pandas; filters work as in pandas"),
    Difference(
        "Texts as keys of times stay texts", 'f["when"].value_counts(keys=["2024-03-31 02:30"])',
        "an error", "['2024-03-31 02:30']", "labels are as you gave them; give Timestamps",
        ".index.tolist()"),
    Difference(
        "A mean of no rows is the middle of the bounds",
        'f.groupby("city")["n"].mean()', "{'Oslo': 2.0, 'Rome': 2.0}",
        "{'Rome': 2.0, 'Oslo': 2.0, 'Bonn': 4.0}", "whether there are rows is private",
        ".to_dict()"),
    Difference(
        "Labels have the dtype of their keys", 'f.groupby("city").size()',
        "True", "False", "which categories a column has is data",
        '.index.dtype == "category"'),
    Difference(
        "Quantiles are points between the bounds", 'f["x"].quantile(0.5)', "2.0", "between 0 and 8",
        "a value itself belongs to somebody"),
    Difference(
        "The largest value is a quantile near it", 'f["x"].max()', "8.0", "between 0 and 8",
        "as above"),
    Difference(
        "A frame counts its rows", 'f.count()', "a Series", "4",
        "select columns to count values of each: f[['x', 'n']].count()"),
    Difference(
        "The size of a frame is its rows", 'f.size', "44", "a method",
        "it is private: f.size(epsilon=…)"),
    Difference(
        "describe without a loss shows the schema", 'f.describe().index.tolist()[:2]',
        "['count', 'mean']", "['who', 'city']", "what is declared costs nothing"),
    Difference(
        "Frames leave the unit column out of isna and describe",
        'f.isna().sum()', "who", "city", "rows without a unit aren't kept", ".index[0]"),
    Difference(
        "first is the value of the row with the least keyed hash",
        'f.groupby("who")["sex"].first()', "a Series", "a private column", "rows have no order"),
    Difference(
        "Groups of the unit column are private rows", 'f.groupby("who")["n"].sum()',
        "a Series", "a private column", "an answer for each unit would be its value"),
    Difference(
        "An extracted group is a column", 'f["sex"].str.extract("(f)")', "a table",
        "a private column", "there is one group"),
    Difference(
        "Times that a clock skips are missing",
        'f["when"].dt.tz_localize("Europe/Rome").count()', "an error", "2",
        "an error would tell of the rows"),
    Difference(
        "Periods between bounds without a zone are of the local clock",
        'f.resample("D", on="sent").size()', "{'2024-04-01 00:00:00+09:00': 2, "
        "'2024-04-02 00:00:00+09:00': 2}", "{'2024-04-01 00:00:00': 2, '2024-04-02 00:00:00': 2}",
        "the zone of a column is data; declare bounds in a zone", ".rename(str).to_dict()"),
    Difference(
        "Margins of a mean are of all rows in cells",
        'f.pivot_table(["n", "x"], index="sex", margins=True)', "2.333", "2.5",
        "pandas leaves out rows that lack a value of another column", '.loc["All", "n"]'),
    Difference(
        "Shares of bins are of the values", 'f["x"].value_counts(True, False, bins=[0, 4, 8])',
        "0.5", "0.6667", "pandas divides by all rows, here alone", ".iloc[0]"),
]  # fmt: skip

INTRO = f"""\
# Where pandas means something else

This page is the complete list of where a line means something else than in pandas. Everything else
that works gives what pandas gives, apart from noise: values, index, names and dtypes. Tests compare
thousands of lines with pandas, on tidy and on messy columns, and run each line below. Two
differences hold everywhere: means and sums are rounded to a public grid, within a billionth of the
bounds, and answers have no nullable dtypes. (`python docs/differences.py` writes this page.)

One difference has many faces: in nullable columns (`Int64`, `boolean`, `string`, Arrow's) pandas
has a third truth value, and `None > 35` is NA. Which dtype holds a column may depend on one row, so
here a comparison means what it means in a plain column, whatever the dtype: with a missing value it
is False, and `!=` True.

```python
{FRAME}```

"""


def _cell(text: str) -> str:
    """Text in a cell of a table, which a bar would end, even in code."""
    return text.replace("|", r"\|")


def page() -> str:
    """The page."""
    rows = [
        f"| {_cell(f'{each.what}: `{each.line}{each.then}`')} | {each.pandas} | {each.here} "
        f"| {each.why} |"
        for each in DIFFERENCES
    ]
    return INTRO + "\n".join(["| | pandas | here | why |", "|---|---|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
