"""Unlike questions never have the same words, in the ledger, its exports and its statements."""

import importlib
import json
import pickle
import warnings
from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from ledgers import anew
from notes import noted
from operations import AT_DELTA, EVERY, GAUSSIAN, OF_UNITS, SCHEMA, TESTED, UNKNOWN, released

import dppandas as dp
from dppandas.errors import QueryError
from dppandas.ledger import canonical
from dppandas.ledger.questions import LONGEST, MOST_LISTED, Question, Verb
from dppandas.release import pickles
from dppandas.release.query import Query
from dppandas.release.wording import described, operand
from dppandas.rows.expressions import Column, Expression, InPart, OwnRows
from dppandas.rows.expressions.base import Infix
from dppandas.rows.expressions.logic import EVERY as ALL_ROWS
from dppandas.rows.expressions.periods import Calendar
from dppandas.rows.facts import kinds
from dppandas.rows.facts.bounds import Bounds
from dppandas.rows.facts.keys import Keys
from dppandas.rows.facts.spans import Ruler, Span


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


#: What a session with this budget, or a frame with a unit, doesn't have.
REFUSED: set[str] = set()


def unlike(query: Query) -> tuple[Any, ...]:
    """What tells questions apart: the key has no `ddof`, which changes the answer alone."""
    return query.question, getattr(query.statistic, "ddof", 1), query.path


def test_operations_that_ask_unlike_things_have_unlike_words(planned: list[Query]) -> None:
    anew(epsilon=100, delta="0.001")
    people = dp.protect(SCHEMA.copy(), "golden", unit="owner", max_rows=3, version="1")
    refused = set()
    with warnings.catch_warnings(), dp.preview():
        warnings.simplefilter("ignore")
        for name in (*EVERY, *OF_UNITS, *UNKNOWN, *GAUSSIAN, *AT_DELTA, *TESTED):
            try:
                with noted(name):
                    released(name, people)
            except QueryError:
                refused.add(name)
    assert refused == REFUSED
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
    both = pd.DataFrame({1: [1.0], "1": [2.0], None: [3.0], "None": [4.0]})
    odd, edges, age = (
        dp.protect(both, name="odd", unit="row", version="1"),
        [*range(12)],
        people["age"],
    )
    of_units = [people.merge(each, on="city").per_unit().agg(n=("big", "sum")) for each in towns]
    maps = [dict(enumerate([*range(9), last])) for last in (10, 11)]

    def cut(*to: Any, **how: Any) -> Any:
        return people.assign(cut=age.cut(*to, **how))["cut"].value_counts()

    def kept(labels: list[str]) -> Any:
        return people[age.cut([0, 50, 99], labels=labels) == "lo"].count()

    return {
        "labels of intervals": (kept(["lo", "hi"]), kept(["hi", "lo"])),
        "the closed side": (cut([0, 9, 99]), cut([0, 9, 99], right=False)),
        "the lowest end": (cut([0, 9, 99]), cut([0, 9, 99], include_lowest=True)),
        "the last of many edges": (cut(edges), cut([*edges[:-1], 20])),
        "the last of many pairs": tuple(age.map(each).sum(bounds=(0, 20)) for each in maps),
        "the last of many values replaced": tuple(
            age.replace(each).sum(bounds=(0, 20)) for each in maps
        ),
        "a public table before rows of units": tuple(
            each["n"].sum(bounds=(0, 3)) for each in of_units
        ),
        "ddof of each row": tuple(
            people.assign(old=age)[["age", "old"]].var(axis=1, ddof=n).sum(bounds=(0, 3))
            for n in (0, 1)
        ),
        "a column called by a number": tuple(odd[name].sum(bounds=(0, 3)) for name in (1, "1")),
        "a column called None": tuple(odd[name].sum(bounds=(0, 3)) for name in (None, "None")),
        "a decimal label": tuple(
            people["age"].value_counts(keys=[each]) for each in (Decimal("0.1"), 0.1)
        ),
        "the last of many values looked for": tuple(
            people[people["age"].isin([*range(30), last])].count() for last in (50, 51)
        ),
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
            same_rows = one.what.of_any_rows == other.what.of_any_rows
            assert not same_rows or one.path != other.path or one.where != other.where


#: Two values for each type of a field; those of many parts differ in the last.
A, B, TEN = Column("a"), Column("b"), tuple(Column(f"c{i}") for i in range(10))
VALUES: dict[str, tuple[Any, ...]] = {
    "Expression": (A, B), "tuple[Expression, ...]": (TEN, (*TEN[:-1], B)),
    "tuple[Any, ...]": (tuple("abcdefghij"), tuple("abcdefghix")),
    "tuple[float, ...]": (tuple(map(float, range(10))), (*map(float, range(9)), 20.0)),
    "str": ("+", "-"), "str | None": ("UTC", None), "int": (0, 1), "bool": (False, True),
    "Calendar": (Calendar("D", "D"), Calendar("D", "D", zone="UTC")),
    "Span": (Span("time", 0, 10**9), Span("time", 0, 10**9 + 1)),
    "Ruler": (Ruler(Span("time", 0, 60), 1), Ruler(Span("time", 0, 60), 2)),
    "float": (0.25, 0.1234567891234), "Keys": (Keys((1, 2)), Keys((1, 3))),
    "Expression | None": (A, None), "tuple[tuple[str, Any], ...]": ((), (("periods", 2),)),
    "OwnRows": (
        OwnRows("u"), OwnRows("v"), OwnRows("u", (A,)), OwnRows("u", (A, B)), OwnRows("u", (B,)),
        OwnRows("u", (), (A,), (False,)), OwnRows("u", (), (A,), (True,)), OwnRows("u", where=A),
        OwnRows("u", (), (A, B), (False, False)), OwnRows("u", branches=2),
    ),
    "Bounds": (Bounds(0.0, 1.0), Bounds(0.0, 1.0000000001)), "Kind": (kinds.NUMBER, kinds.TRUTH),
}  # fmt: skip
#: Values of a field that its type doesn't give.
OF_FIELD: dict[str, list[Any]] = {
    "Column.name": [1, "1", None, "None", True, "True", "a`b", "a"],
    "Declared.name": ["a", "1", 1],
    "Literal.value": [
        1, "1", True, "True", None, "None", Decimal("0.1"), 0.1, pd.Timestamp("2020-01-01"),
        pd.Timestamp("2020-01-01", tz="Europe/Rome"), pd.Timestamp("2020-01-01", tz="+01:00"),
    ],
    "Across.how": ["sum", "mean"], "Function.name": ["floor", "sqrt"],
    "TextTest.method": ["contains", "match"], "TextMap.method": ["lower", "upper"],
    "TimePart.part": ["hour", "day"], "Cast.to": ["str", "bool"],
    "ByBranch.branches": [(A, ALL_ROWS), (B, ALL_ROWS), (ALL_ROWS, A)],
    "Lookup.column": ["a", "b"], "History.how": ["sum", "mean"], "History.branch": [0],
}  # fmt: skip


def kinds_of(kind: type[Expression]) -> Iterator[type[Expression]]:
    for each in kind.__subclasses__():
        yield each
        yield from kinds_of(each)


def expressions_of(kind: type[Expression]) -> list[Expression]:
    """An expression, and others that differ from it in one field."""
    given = {
        each.name: OF_FIELD.get(f"{kind.__name__}.{each.name}") or VALUES[str(each.type)]
        for each in fields(kind)
        if each.name not in getattr(kind, "not_asked", ())
    }
    hidden = {"keys": Keys(tuple("ab"))} if kind is InPart else {}
    first = {name: values[0] for name, values in given.items()}
    each = [{**first, name: value} for name, values in given.items() for value in values[1:]]
    return [kind(**said, **hidden) for said in (first, *each)]


def test_each_field_of_an_expression_is_in_the_words() -> None:
    session = anew(epsilon=1)
    people = dp.protect(pd.DataFrame({"a": [1.0]}), name="fields")
    table, request = people._table, people["a"].mean(bounds=(0, 1))._request
    statistic, made = request.query(session._terms.asked(1)).statistic, 0
    for kind in dict.fromkeys(kinds_of(Expression)):
        if kind is Infix or kind.__str__ is Expression.__str__:
            continue  # a base of others, which has no text
        with noted(kind.__name__):
            unlike_text: dict[str, str] = {}
            for expression in expressions_of(kind):
                made, key = made + 1, canonical.text(expression)
                asked = Expressions(statistic, expression)
                of_it = described(
                    Question(Verb("sum"), (operand("a", expression),)), table, None, asked
                )
                of_rows = described(Question(Verb("count")), table, expression, statistic)
                for what in (of_it, of_rows):
                    assert unlike_text.setdefault(what.whole, key) == key
    assert made > 100


class Expressions:
    """A statistic as `described` sees it, of an expression."""

    def __init__(self, statistic: Any, expression: Expression) -> None:
        self.cells, self.expression = statistic.cells, expression

    def expressions(self) -> tuple[Expression, ...]:
        return (self.expression,)


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
    assert (older.text, older.what.title) == (query.what._kept_text, query.what.title)
    again = pickle.loads(pickle.dumps(query))
    assert (again.what.whole, again.key) == (query.what.whole, query.key)
