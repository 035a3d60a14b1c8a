"""Unlike questions never have the same words, in the ledger, its exports and its statements."""

import importlib
import json
import pickle
import warnings
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pandas as pd
import pytest
from ledgers import anew
from notes import noted
from operations import EVERY, GAUSSIAN, OF_UNITS, SCHEMA, UNKNOWN, released

import dppandas as dp
from dppandas.errors import QueryError
from dppandas.ledger.questions import LONGEST, MOST_LISTED, Question
from dppandas.release import pickles
from dppandas.release.query import Query


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Query]]:
    """The queries that a preview has planned: nothing is charged, drawn or read."""
    found: list[Query] = []
    release = importlib.import_module("dppandas.release.release")
    plan = release._planned

    def spied(running: Any, query: Query, *more: Any) -> Any:
        found.append(query)
        return plan(running, query, *more)

    monkeypatch.setattr(release, "_planned", spied)
    yield found
    dp.reset()


def unlike(query: Query) -> tuple[Any, ...]:
    """What tells questions apart: the key has no `ddof`, which changes the answer alone."""
    return query.question, getattr(query.statistic, "ddof", 1), query.path


def test_operations_that_ask_unlike_things_have_unlike_words(planned: list[Query]) -> None:
    anew(epsilon=100, delta="0.001")
    people = dp.protect(SCHEMA.copy(), "golden", unit="owner", max_rows=3, version="1")
    with warnings.catch_warnings(), dp.preview():
        warnings.simplefilter("ignore")
        for name in (*EVERY, *OF_UNITS, *UNKNOWN, *GAUSSIAN):
            try:
                with noted(name):
                    released(name, people)
            except QueryError:  # an operation that this session doesn't have
                pass
    assert len({query.question for query in planned}) > 100
    said: dict[str, tuple[Any, ...]] = {}
    for query in planned:
        with noted(query.what.whole):
            assert said.setdefault(query.what.whole, unlike(query)) == unlike(query)
            kept = Question.from_json(json.loads(json.dumps(query.what.to_json())))
            assert kept.whole == query.what.whole
            assert kept.title == query.what.title


def pairs(people: Any) -> dict[str, tuple[Any, Any]]:
    """Questions that had the same words as others."""
    rich, poor = people.assign(age=people["age"] * 2), people.assign(age=people["age"] * 3)
    wide = [people.assign(**{f"c{i}": people["age"] * (i + n) for i in range(12)}) for n in (1, 2)]
    towns = [pd.DataFrame({"city": ["Rome", "Oslo"], "big": [yes, False]}) for yes in (True, False)]
    sums, counts = (people.per_unit().agg(n=("age", how)) for how in ("sum", "count"))
    keys = [[f"{i}" for i in range(40)], [*(f"{i}" for i in range(39)), "x"]]
    return {
        "a renamed expression": (rich[["age"]].sum(), poor[["age"]].sum()),
        "a long expression": tuple(
            (people["age"] + number + (people["age"] * 1234567.0 + 7654321.0).abs() + tail)
            .rename("age").mean(bounds=(0, 1)) for number, tail in ((1, 3), (1, 4))
        ),
        "the columns beyond the first": tuple(
            frame[[f"c{i}" for i in range(12)]].sum(bounds=(0, 9)) for frame in wide
        ),
        "bounds of a frame": (people[["age"]].sum(), people[["age"]].sum(bounds=(0, 9))),
        "keys beyond their number": (
            people["city"].value_counts(keys=["Rome", "Oslo"]),
            people["city"].value_counts(keys=["Rome", "Bonn"]),
        ),
        "the last of many keys": tuple(people["city"].value_counts(keys=each) for each in keys),
        "an expression behind a key": tuple(
            frame.groupby("age", keys=[1, 2]).size() for frame in (rich, poor)
        ),
        "ddof": (people["age"].var(), people["age"].var(ddof=0)),
        "ddof by group": tuple(
            people.groupby("city", keys=["Rome"])["age"].std(n) for n in (0, 1)
        ),
        "which public table": tuple(people.merge(each, on="city")["big"].sum() for each in towns),
        "aggregates of units": (sums["n"].mean(bounds=(0, 9)), counts["n"].mean(bounds=(0, 9))),
        "rows that became two": (people.count(), dp.concat([people, people]).count()),
        "shares of rows or of columns": tuple(
            people.crosstab("city", "sex", keys={"city": ["Rome"], "sex": ["f"]}, normalize=each)
            for each in ("index", "columns")
        ),
        "a part, and a mask": (
            people.partition("city", keys=["Rome", "Oslo"])["Rome"].count(),
            people[people["city"] == "Rome"].count(),
        ),
    }  # fmt: skip


def test_what_had_the_same_words_has_others() -> None:
    session = anew(epsilon=100)
    frame = pd.DataFrame({
        "who": [1, 1, 2], "age": [20, 30, 40], "city": ["Rome", "Oslo", "Bonn"],
        "sex": ["f", "m", "f"],
    })  # fmt: skip
    people = dp.protect(
        frame, name="pairs", unit="who", max_rows=2, domain={"age": (0, 99)}, version="1"
    )
    for name, asked in pairs(people).items():
        with noted(name):
            one, other = (each._request.query(session._terms.asked(1)) for each in asked)
            assert unlike(one) != unlike(other)
            assert one.what.whole != other.what.whole
            assert one.what.of_any_rows != other.what.of_any_rows or one.path != other.path


def test_what_is_long_is_short_in_a_text_and_whole_beside_it() -> None:
    session = anew(epsilon=100)
    frame = pd.DataFrame({f"column {i}": [0.0, 1.0] for i in range(20)})
    people = dp.protect(frame, name="long")
    total = sum((people[name] for name in frame.columns[1:]), people["column 0"])
    asked = people.assign(total=total)["total"].mean(bounds=(0, 20))
    what = asked._request.query(session._terms.asked(1)).what
    assert len(what.text) < LONGEST + 60
    assert what.whole.count("column 19") == 1
    several = people.sum(bounds=(0, 1))._request.query(session._terms.asked(1)).what
    assert several.text.count("column") == MOST_LISTED
    assert all(f"`column {i}`" in several.whole for i in range(20))


def test_unlike_questions_of_a_cell_are_no_reruns_of_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two questions that are paid for in two runs of a cell are told only if they are the same."""
    anew(epsilon=100)
    cells, run = importlib.import_module("dppandas.ledger.cells"), [1]
    monkeypatch.setattr(cells, "_current_cell", lambda: run[0])
    monkeypatch.setattr(cells, "_first_run", lambda number: 1)
    frame = pd.DataFrame({"pay where known": [1.0], "pay where paid": [2.0], "age": [1.0]})

    def told(ask: Any) -> bool:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            ask()
        return any("paid" in str(each.message) for each in heard)

    ways: list[Any] = [
        lambda: frame.dp["pay where known"].count(epsilon=1),
        lambda: frame.dp["pay where paid"].count(epsilon=1),
        lambda: frame.dp[["age"]].sum(bounds=(0, 1), epsilon=1),
        lambda: frame.dp[["age"]].sum(bounds=(0, 2), epsilon=1),
    ]
    for ask in ways:
        run[0] += 1
        assert not told(ask)
    run[0] += 1
    assert told(ways[0])


def test_a_query_of_an_older_pickle_has_a_question() -> None:
    session = anew(epsilon=1)
    asked = dp.protect(pd.DataFrame({"age": [1.0]}), name="old")["age"].mean(bounds=(0, 9))
    query = asked._request.query(session._terms.asked(1))
    kept = {each.name: getattr(query, each.name) for each in fields(query)}
    older = pickles._filled(Query, {**kept, "what": "mean of age in (0, 9)"})
    assert (older.text, older.what.title) == (query.text, query.what.title)
    again = pickle.loads(pickle.dumps(query))
    assert (again.what.whole, again.key) == (query.what.whole, query.key)
