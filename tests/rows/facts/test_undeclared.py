"""Columns whose kind nobody declared: of objects, or any in a strict session.

Whatever the rows are, a question that would compute with their numbers or times isn't charged: of
texts the answer would be about nothing. The same matrix as for known kinds says which these are.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from by_kind import CASES, TEXTS, Case, Row
from ledgers import anew
from notes import noted
from refusals import refusal
from test_kinds import MATRIX

import dppandas as dp
from dppandas.errors import QueryError

#: The kinds of the columns that are asked about beside "x" and "y".
BESIDE = dict.fromkeys(("g", "n", "u"), "number")
#: What says itself what its cells are made into.
CONVERTING = {"column.astype category"}


def of_objects(case: Case, row: Row) -> Any:
    """The column as objects, which no version of pandas takes for anything."""
    frame = case.frame.astype({"x": object, "y": object})
    return dp.private(frame, row.unit, 1 if row.unit == "row" else 2)


def of_a_dtype_under_strict(case: Case, row: Row) -> Any:
    """The column with its dtype, which a strict session doesn't believe."""
    dp.session(strict=True)
    unit, most = (None, None) if row.unit == "row" else (row.unit, 2)
    return dp.protect(case.frame, "d", unit, most, kinds=BESIDE)


def asked(name: str, kind: str, made: Any) -> Any:
    """Ask one row of the matrix, of a column whose kind nobody declared."""
    anew(epsilon=1000, delta="0.01", strict=made is of_a_dtype_under_strict or None)
    dp.session(experimental=True)
    return MATRIX[name].ours(made(CASES[kind], MATRIX[name]), CASES[kind])


def check(name: str, kind: str, made: Any) -> None:
    """There is an answer where a text would have one, and else a refusal that charges nothing."""
    with noted(name, kind, made.__name__):
        if MATRIX[name].answered & TEXTS:
            try:
                asked(name, kind, made)
            except dp.DPError as refused:  # for its plain values, whatever the column is; or
                counts_true = "'truth'" in str(refused)  # as == True, by which True is counted
                assert counts_true or kind not in MATRIX[name].answered
            return
        dp.reset()
        said = refusal(lambda: asked(name, kind, made), error=dp.DPError)
        assert "Nothing was computed or charged" in said
        assert not dp.ledger()._entries()
        if kind in MATRIX[name].answered:  # so that it isn't refused for its plain values
            assert "kinds={'" in said, said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made", [of_objects, of_a_dtype_under_strict])
def test_of_an_undeclared_column_only_text_is_assumed(made: Any) -> None:
    for place, kind in enumerate(CASES):
        for name in sorted(MATRIX)[place % 3 :: 9]:
            check(name, kind, made)


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("made", [of_objects, of_a_dtype_under_strict])
def test_of_an_undeclared_column_only_text_is_assumed_by_every_verb(made: Any, kind: str) -> None:
    for name in MATRIX:
        check(name, kind, made)


# --- what is charged, and what replays ------------------------------------------------------------

TEXTS_OF_TIMES = pd.DataFrame(
    {
        "who": list(range(100)) * 2,
        "when": pd.Series(["2020-01-31", "2020-02-01"] * 100, dtype=object),
        "price": pd.Series(["1,200", "7"] * 100, dtype=object),
        "tags": pd.Series([[1, 2], [3]] * 100, dtype=object),
        "town": pd.Series(["Rome", "Oslo"] * 100, dtype=object),
    }
)
YEAR = ("2020-01-01", "2021-01-01")


def protected(**more: Any) -> Any:
    return dp.protect(TEXTS_OF_TIMES.copy(), "d", "who", 2, version="1", **more)


def test_an_answer_that_was_paid_for_replays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    dp.session(epsilon=9, store=tmp_path / "l.ledger")
    with monkeypatch.context() as before:  # as it was, when nothing was refused
        before.setattr("dppandas.release.release.refuse_unknown", lambda queries: None)
        paid = protected()["price"].mean(bounds=(0, 5), epsilon=1)
    spent = dp.ledger().spent
    for _ in range(2):
        price = protected()["price"]
        assert price.mean(bounds=(0, 5), epsilon=1) == paid
        refusal(lambda price=price: price.mean(bounds=(0, 5), epsilon=1, fresh=True), "declared")
        refusal(lambda price=price: price.mean(bounds=(0, 5), epsilon=2), "declared")
        anew(epsilon=9, store=tmp_path / "l.ledger")
    assert dp.ledger().spent == spent


def test_the_line_to_paste_names_all_columns_and_works(exact: None) -> None:
    dp.session(epsilon=99)
    p = protected(domain={"price": (0, 9)})  # which doesn't say that it is a number
    both = p.assign(year=p["when"].dt.year)[["price", "year"]]
    said = refusal(lambda: both.mean(bounds=(0, 3000), epsilon=1))
    assert "dp.protect(df, …, kinds={'price': 'number', 'when': 'time'})" in said
    told = protected(kinds={"price": "number", "when": "time"})
    assert told["when"].dt.year.mean(bounds=(2000, 2040), epsilon=1) == pytest.approx(2020, abs=0.1)
    by_cell = dp.protect(TEXTS_OF_TIMES.copy(), "e", "who", 2, kinds={"price": "unknown"})
    assert by_cell["price"].mean(bounds=(0, 9), epsilon=1) == pytest.approx(7, abs=0.1)
    plain = dp.private(TEXTS_OF_TIMES, unit="row")
    refusal(lambda: plain["price"].mean(bounds=(0, 9), epsilon=1), r"dp\.private\(df, …, kinds=")


def test_whatever_leads_to_numbers_of_an_undeclared_column_is_refused() -> None:
    dp.session(epsilon=99, delta="1e-3", experimental=True)
    p = protected()
    units, seen = p.per_unit(), p[p["when"].dt.year == 2020]
    exploded = p.explode("tags", max_items=2)["tags"]
    months = p.groupby(pd.Grouper(key="when", freq="MS"), range=YEAR)
    for case, ask in enumerate(
        (
            lambda: months.size(epsilon=1),
            lambda: p.resample("MS", on="when", range=YEAR).size(epsilon=1),
            lambda: exploded.mean(bounds=(0, 5), epsilon=1),
            lambda: p["tags"].str[0].mean(bounds=(0, 5), epsilon=1),
            lambda: p["price"].fillna(0).mean(bounds=(0, 5), epsilon=1),
            lambda: dp.concat([p, p])["price"].sum(bounds=(0, 5), epsilon=1),
            lambda: units.agg(m=("price", "sum"))["m"].count(epsilon=1),
            lambda: units.agg(m=("price", "max"))["m"].mean(bounds=(0, 5), epsilon=1),
            lambda: seen.per_unit().agg(n="size")["n"].mean(bounds=(0, 5), epsilon=1),
            lambda: p[["price"]].describe(bounds=(0, 5), epsilon=1),
            lambda: p["price"].suggest_bounds(epsilon=1),
        )
    ):
        with noted(case):
            refusal(ask, "it isn't declared")
    assert not dp.ledger()._entries()
    assert units.agg(n="size")["n"].mean(bounds=(0, 5), epsilon=1) is not None
    with dp.preview(), pytest.raises(QueryError, match="it isn't declared"):
        p["price"].mean(bounds=(0, 5), epsilon=1)


# --- what is assumed aloud ------------------------------------------------------------------------


def notes(ask: Any) -> list[str]:
    """What is said of assumptions while something is asked."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ask()
    return [text for each in said if "taken to hold" in (text := str(each.message))]


def test_text_is_assumed_aloud_once_a_column_and_session_whatever_the_rows_are() -> None:
    for cells in (["Rome", "Oslo"], [1, 2], [None, None]):
        anew(epsilon=99)
        df = TEXTS_OF_TIMES.assign(town=pd.Series(cells * 100, dtype=object))
        p = dp.protect(df, "d", "who", 2)
        first = notes(lambda p=p: p["town"].value_counts(keys=["Rome"], epsilon=1))
        assert len(first) == 1
        assert "'town' is taken to hold values of kind text" in first[0]
        assert "kinds={'town': 'text'}" in first[0]
        assert not notes(lambda p=p: p["town"].str.len().mean(bounds=(0, 9), epsilon=1))
        assert not notes(lambda p=p: p[p["town"] == "Rome"].count(epsilon=1))
        assert len(notes(lambda p=p: p["when"].str.len().mean(bounds=(0, 9), epsilon=1))) == 1
        told = dp.protect(df, "d", "who", 2, kinds={"price": "text"})
        assert not notes(lambda t=told: t["price"].value_counts(keys=["7"], epsilon=1))


def test_another_kind_of_a_column_is_said_too() -> None:
    dp.session(epsilon=99)
    p = protected()
    assert len(notes(lambda: p[p["when"] > "2020"].count(epsilon=1))) == 1
    said = notes(lambda: p[p["when"] > 2020].count(epsilon=1))
    assert len(said) == 1
    assert "'when' is taken to hold values of kind number" in said[0]
    assert not notes(lambda: p[p["when"] > 2021].count(epsilon=1))


def test_one_question_takes_no_column_for_two_kinds() -> None:
    """What is made of texts is never equal to numbers; elements of a list may be."""
    dp.session(epsilon=99)
    p = protected()
    for case, ask in enumerate(
        (
            lambda p: p["when"].str[:4].value_counts(keys=[2020], epsilon=1),
            lambda p: p[p["when"].str[:4] == 2020].count(epsilon=1),
            lambda p: p["when"].str[0].value_counts(keys=[1, 2], epsilon=1),
            lambda p: p[p["when"].str[0].isin([1, 2])].count(epsilon=1),
        )
    ):
        with noted(case):
            said = refusal(lambda ask=ask: ask(p), "takes 'when' to hold texts")
            assert "kinds={'when': 'text'}" in said
    assert not dp.ledger()._entries()
    p["when"].str[:4].value_counts(keys=["2020"], epsilon=1)
    told = protected(kinds={"tags": "list"})
    assert told["tags"].str[0].value_counts(keys=[1, 3], epsilon=9) is not None


def test_the_kind_to_declare_is_what_is_done_with_the_column() -> None:
    dp.session(epsilon=99)
    p = protected()
    for ask, kind in (
        (lambda: p["town"].replace({"Rome": 1, "Oslo": 0}), "'town': 'text'"),
        (lambda: p["tags"].str[0], "'tags': 'list'"),
        (lambda: p["price"], "'price': 'number'"),
    ):
        said = refusal(lambda ask=ask: ask().mean(bounds=(0, 1), epsilon=1), "it isn't declared")
        assert kind in said
        assert (", or 'text'" in said) == ("'text'}" not in said)


def test_elements_of_lists_of_texts_are_texts() -> None:
    dp.session(epsilon=99)
    p = protected(kinds={"when": "text"})
    for parts in (p["when"].str.split("-"), p["when"].str.findall(r"\d+"),
                  p["when"].str.partition("-", expand=False).str[:2]):  # fmt: skip
        refusal(lambda parts=parts: parts.str[0].value_counts(keys=[2020], epsilon=1), "never eq")
    pairs = p["when"].str.findall(r"(\d+)-(\d+)").str[0]
    assert pairs.value_counts(keys=[("2020", "01")], epsilon=1) is not None


def test_a_replay_and_a_preview_say_nothing() -> None:
    dp.session(epsilon=9)

    def ask() -> Any:
        return protected()["town"].value_counts(keys=["Rome"], epsilon=1)

    with dp.preview():
        assert not notes(ask)
    assert len(notes(ask)) == 1
    dp.session()._said.clear()
    assert not notes(ask)


# --- keys, intervals and complex numbers ----------------------------------------------------------


def test_keys_that_no_value_can_equal_are_refused_and_warned_of() -> None:
    df = pd.DataFrame({"n": [1, 2] * 50, "s": pd.Series(["a", "1"] * 50, dtype=object)})
    for given, column in (([1, "2"], "n"), (["1", "2"], "n"), ([1, "a"], "s"), ([1.5], "s")):
        anew(epsilon=9)
        with noted(given, column):
            with pytest.warns(UserWarning, match="can't equal"):
                p = dp.protect(df, "d", domain={column: given}, kinds={"s": "text"})
            for ask in (
                lambda p=p, c=column: p[c].value_counts(epsilon=1),
                lambda p=p, c=column: p.groupby(c).size(epsilon=1),
                lambda p=p, c=column: p[c].nunique(epsilon=1),
            ):
                refusal(ask, "never equal")
    anew(epsilon=9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fits = dp.protect(df, "d", domain={"s": ["a"]})  # "s" may hold anything
        assert fits[fits["n"].isin([1, "2"])].count(epsilon=1) is not None  # one that fits will do


def test_intervals_and_complex_numbers_are_no_numbers() -> None:
    dp.session(epsilon=99, delta="1e-3")
    intervals = pd.arrays.IntervalArray.from_breaks(range(101))
    df = pd.DataFrame({"i": intervals, "z": np.arange(100) + 1j, "n": range(100)})
    p = dp.private(df, unit="row")
    for case, ask in enumerate(
        (
            lambda: p["i"].mean(bounds=(0, 9), epsilon=1),
            lambda: (p["i"] + 1).count(epsilon=1),
            lambda: p["i"].dt.year.count(epsilon=1),
            lambda: p["i"].str.len().count(epsilon=1),
            lambda: p["i"].astype(str).value_counts(keys=["(0, 1]"], epsilon=1),
            lambda: p["i"].value_counts(keys=["(0, 1]"], epsilon=1),
            lambda: p["n"].value_counts(keys=[pd.Interval(0, 1)], epsilon=1),
            lambda: p[p["i"] < pd.Interval(0, 1)].count(epsilon=1),
            lambda: p[p["i"] == p["n"]].count(epsilon=1),
            lambda: p["z"].mean(bounds=(0, 9), epsilon=1),
            lambda: p["z"].value_counts(keys=[1], epsilon=1),
            lambda: p["z"].unique(delta="1e-4", epsilon=1),
            lambda: p[p["z"] == 1].count(epsilon=1),
            lambda: p[p["z"] > 1].count(epsilon=1),
        )
    ):
        with noted(case):
            assert "kinds=" not in refusal(ask)  # nothing converts to them, or from them
    assert p["i"].value_counts(keys=[pd.Interval(0, 1)], epsilon=1).size == 1
    assert p["z"].count(epsilon=1) is not None
