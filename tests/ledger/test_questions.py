"""A question is told in words from its data; a sentence of an older ledger is read as it was."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from ledgers import anew
from operations import OF_UNITS, OPERATIONS, SCHEMA, UNKNOWN, released

import dppandas as dp
from dppandas.ledger.earlier_questions import earlier
from dppandas.ledger.questions import Question
from dppandas.privacy.accounting.losses import Epsilon
from dppandas.privacy.accounting.measures import LossRequest, Measure

SAID = {
    "count": "Count of rows",
    "count where (number > 1) and yes": "Count of rows, where (number > 1) and yes",
    "count of number, group, when": "Count of values of number, group and when",
    "size by group (3 keys)": "Count of rows by group",
    "value_counts of code, group (9 keys)": "Count of rows by code and group",
    "value_counts of group (keys found)": "Count of rows by group",
    "proportions of group (3 keys)": "Share of rows by group",
    "sum of True (at most 1 a row) of yes, no": "Count of True in yes and no, at most 1 a row",
    "sum of income by city (6 keys)": "Sum of income by city",
    "sum of a, b by city (6 keys) (norm ('l2', 4))": "Sum of a and b by city",
    "mean of income by city (6 keys)": "Mean income by city",
    "mean of income in (0, 60)": "Mean income",
    "mean of income, age by city (6 keys)": "Mean of income and age by city",
    "mean of number / code in (-5, 10)": "Mean of number / code",
    "mean of when = clip(when, 2020-01-01 00:00:00, 2020… in (0, 9)": "Mean when",
    "mean of a by g (3 keys), weighted by w in (0.5, 3)": "Mean a by g, weighted by w",
    "median (step 1) of code in (0, 8)": "Median code",
    "quantile 0.9 of income": "90 % quantile of income",
    "quantile 0.1, 0.9 of income by city (3 keys)": "Quantiles of income by city",
    "min, quartiles, max of a in (0, 1)": "Minimum, quartiles and maximum of a",
    "count, mean, std of a by g (3 keys)": "Count, mean and standard deviation of a by g",
    "hist of income (20 bins in 0 to 100)": "Histogram of income",
    "crosstab of group by code (9 keys)": "Count of rows by group and code",
    "shares: crosstab of group, yes by code (18 keys)": "Share of rows by group, yes and code",
    "pivot table: mean of a by g, h (6 keys)": "Mean a by g and h",
    "nunique (3 keys) of g by h (3 keys)": "Number of distinct values of g by h",
    "corr of complete rows of a, b": "Correlation of a and b, complete rows",
    "cov of a in (0, 1) and b in (0, 1)": "Covariance of a and b",
    "logistic regression of y (12 steps)": "Logistic regression of y (12 steps)",
    "": "",
}


@pytest.mark.parametrize("text", SAID)
def test_a_sentence_of_an_older_ledger_has_a_title(text: str) -> None:
    question = earlier(text)
    assert question.title == SAID[text]
    assert question.text == question.whole == str(question) == text
    assert Question.from_json(json.loads(json.dumps(question.to_json()))) == question


def test_the_part_of_an_answer_in_words() -> None:
    asked = earlier("count, mean, std of income, age by city (6 keys) where x > 1")
    assert asked.about("mean", ["age"]).title == "Mean age by city, where x > 1"
    counts = earlier("value_counts of g (3 keys)")
    assert counts.about(columns=["h"]).title == "Count of rows by g"
    assert earlier("something else").about("mean", ["age"]).title == "Something else"


#: Columns that people may well have, and of which a reader of sentences makes something else.
NAMES = ["pay where known", "a by b", "x in (0, 9)", "mean of y", "a, b", "n (3 keys)", "w = 1"]


def test_columns_may_be_called_whatever_they_are_called() -> None:
    """In titles, and in the data that a ledger keeps."""
    anew(epsilon=100)
    frame = pd.DataFrame({name: [0.0, 1.0] for name in NAMES} | {"sex": ["f", "m"]})
    people = dp.protect(frame, name="names")
    for name in NAMES:
        written = f"`{name}`"
        told = {
            f"Mean {written}": people[name].mean(bounds=(0, 1)),
            f"Mean {written} by sex": people.groupby("sex", keys=["f", "m"])[name].mean(
                bounds=(0, 1)
            ),
            f"Variance of {written}": people[[name]].var(bounds=(0, 1)),
            f"Count of rows by {written}": people[name].value_counts(keys=[0, 1]),
            f"Count of rows, where {written} > 0": people[people[name] > 0].count(),
        }
        for title, asked in told.items():
            question = asked._request.query(LossRequest(Measure.PURE, Epsilon(1))).what
            assert question.title == title
            kept = Question.from_json(json.loads(json.dumps(question.to_json())))
            assert (kept.title, kept.text, kept.whole) == (
                title, question.text, question.whole
            )  # fmt: skip


#: Those that have no record, or whose query is a sentence by itself.
SENTENCES = {"unique", "unique elements", "kept and dropped"}


@pytest.mark.parametrize("name", sorted({*OPERATIONS, *UNKNOWN, *OF_UNITS} - SENTENCES))
def test_every_query_of_an_operation_is_understood(name: str) -> None:
    """So that no title shows the names of functions or numbers of keys."""
    dp.session(epsilon=10_000, delta=0.01)
    unit = {"unit": "owner", "max_rows": 3} if name in OF_UNITS else {}
    frame = SCHEMA.copy() if unit else SCHEMA.drop(columns="owner")
    with dp.preview():
        record = dp.record(released(name, dp.protect(frame, name="all", **unit), 1))
    question = record._question
    assert question.verb.of or question.verb.alone or question.option("select"), record.query
    title = replace(question, where="").title
    for jargon in ("value_counts", "nunique", "keys)", "key)", "crosstab", "pivot", "bins in"):
        assert jargon not in title
