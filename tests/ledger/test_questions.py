"""A question is told in words from its data; a sentence of an older ledger is read as it was."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ledgers import DRAFT, agreed, anew, limit
from notes import noted
from operations import AT_DELTA, OF_UNITS, OPERATIONS, SCHEMA, TESTED, UNKNOWN, released

import dppandas as dp
from dppandas.ledger import words
from dppandas.ledger.earlier_questions import earlier
from dppandas.ledger.ledger import Ledger
from dppandas.ledger.questions import Operand, Question
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import MemoryStore
from dppandas.ledger.verbs import VERBS
from dppandas.privacy.accounting.losses import Epsilon
from dppandas.privacy.accounting.measures import LossRequest, Measure
from dppandas.rows.facts.bounds import Bounds

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
SENTENCES = {"unique", "unique codes", "unique elements", "kept and dropped"}
SENTENCES |= {"suggested max_rows", "what limits cut"}


@pytest.mark.parametrize(
    "name", sorted({*OPERATIONS, *UNKNOWN, *OF_UNITS, *AT_DELTA, *TESTED} - SENTENCES)
)
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


def test_a_verb_is_told_in_the_words_of_this_version_or_in_those_that_were_kept() -> None:
    kept = {"name": "std", "of": "spread of", "alone": "spread"}
    column = [{"name": "age"}]
    said = {
        "Standard deviation of age": kept,
        "Spread of age": {**kept, "name": "spread_of_2040"},
        "20 % quantile of age": {**kept, "name": "quantile 0.2"},
        "Count, mean and standard deviation of age": {**kept, "name": "count, mean, std"},
    }
    for title, verb in said.items():
        with noted(title):
            assert Question.from_json({"verb": verb, "columns": column}).title == title


def test_every_verb_that_is_asked_is_read_in_its_own_words() -> None:
    """So that no question is told in other words once its ledger is opened again."""
    anew(epsilon=10**6, delta="0.01")
    people, of_units = (
        dp.protect(SCHEMA.drop(columns="owner"), name="all"),
        dp.protect(SCHEMA.copy(), name="units", unit="owner", max_rows=3),
    )
    for name in sorted({*OPERATIONS, *UNKNOWN, *OF_UNITS, *AT_DELTA, *TESTED}):
        with noted(name), dp.preview():
            asked = dp.record(released(name, of_units if name in OF_UNITS else people, 1))
            assert asked.components
            for record in asked.components:
                question = record._question
                kept = Question.from_json(json.loads(json.dumps(question.to_json())))
                assert (kept.verb, kept.title, kept.whole) == (
                    question.verb, question.title, question.whole
                )  # fmt: skip


def test_the_ledger_says_how_many_releases_have_an_answer(tmp_path: Path) -> None:
    stores: list[Any] = [MemoryStore(), SqliteStore(tmp_path / "a.ledger", limit(2))]
    for store in stores:
        said = [
            (None, "1 release, 0 answered"),
            ("released", "1 answer"),
            ("failed", "2 releases, 1 answered"),
            ("released", "3 releases, 2 answered"),
        ]
        for status, expected in said:
            if status is None or store.entries()[-1].status != "charged":
                store.add([DRAFT._replace(key="")], agreed)
            if status is not None:
                store.settle(store.count(), status)
            told = words.spent(Ledger(limit(2), store)._snapshot())
            assert told.endswith(f"spent on {expected}")


def test_a_long_question_is_short_in_a_terminal_and_whole_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    anew(epsilon=1)
    people = pd.DataFrame({"age": [1.0, 2.0]}).dp
    for i in range(20):
        people = people[people["age"] > i / 7]
    people.count(epsilon=1)
    assert repr(dp.ledger()).count("age >") == 20
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    lines = repr(dp.ledger()).splitlines()
    assert max(map(len, lines)) <= 120
    assert lines[-1].endswith("…")
    (query,) = dp.ledger().to_frame()["query"]
    assert query.count("age >") == 20


def test_a_question_is_that_of_an_earlier_ledger_whatever_bounds_look_like_now() -> None:
    """Ledgers keep bounds as they always did, and older ones only sentences."""
    asked = Question(VERBS["mean"], (Operand("pay", bounds=Bounds.parse((0, 2e7), "pay")),))
    assert asked.text == "mean of pay in 0 to 20,000,000"
    kept = Question.from_json(asked.to_json())
    assert (kept.columns[0].bounds, kept.text) == ("(0, 2e+07)", asked.text)
    older = earlier("mean of pay in (0, 2e+07)")
    assert asked.is_like(kept)
    assert asked.is_like(older)
    assert not asked.is_like(earlier("mean of pay in (0, 3e+07)"))
    assert older.text == "mean of pay in (0, 2e+07)"


def test_facts_in_options_are_shown_as_people_read_them() -> None:
    options = (
        ("step", "0 days 00:15:00"), ("bins", "4 bins in 0 days 00:00:00 to 0 days 08:00:00"),
        ("weights", "w"), ("weight_bounds", "(0, 20000)"),
    )  # fmt: skip
    asked = Question(VERBS["hist"], (Operand("stay"),), options=options)
    said = "hist (step 15 min) of stay (4 bins in 0 to 8 h), weighted by w in 0 to 20,000"
    assert asked.text == said
    assert asked.option("step") == "0 days 00:15:00"  # what is kept and compared
    assert (
        "pay in 0 to 1.5 h"
        in replace(
            asked,
            is_brief=True,
            columns=(Operand("pay", bounds="(0 days 00:00:00, 0 days 01:30:00)"),),
        ).details
    )
