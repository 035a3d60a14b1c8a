"""The cards of frames, columns and groups say what is public, and what can be asked."""

from typing import Any

import pandas as pd
import pytest
from IPython.lib.pretty import pretty

import dppandas as dp

DAYS = pd.to_datetime(["2024-01-01", "2024-03-05", "2024-01-02"])
DECLARED: dict[str, Any] = {
    "educ": [9, 12, 14], "town": ["Aldersgate", "Little Snoring", "München", "<b>"],
    "age": (17, 60), "income": (0, 90_000.5), "seen": ("2024-01-01", "2025-01-01"),
    "waits": (pd.Timedelta(0), pd.Timedelta(days=3)),
}  # fmt: skip


def rows(last: int = 14) -> pd.DataFrame:
    return pd.DataFrame({
        "educ": [9, 12, last], "town": ["<b>", "München", "Aldersgate"], "smokes": [True] * 3,
        "age": [20, 30, last], "income": [1.5, 2.5, last], "seen": DAYS, "waits": DAYS - DAYS[0],
        "note": ["x", "y", str(last)], "height": [1.7, 1.8, float(last)], "when": DAYS,
        "any": pd.Series([1, "a", last], dtype=object),
    })  # fmt: skip


@pytest.fixture
def people() -> Any:
    texts = {"town": "text", "note": "text"}  # pandas 2 doesn't tell
    shown = dp.protect(rows(), name="survey", domain=DECLARED, kinds=texts)
    return shown.assign(
        month=shown["when"].dt.to_period("M"), words=shown["note"].str.split(" "),
        code=shown["town"].map({"München": 1}), old=shown["age"] > 30,
    )  # fmt: skip


def asked(shown: Any) -> dict[str, list[str]]:
    return {fact.name: fact.asks.split(", ") for fact in shown._facts()}


def asks_of(people: Any) -> dict[str, list[str]]:
    return {name: people[name]._fact.asks.split(", ") for name in people.columns}


GIVEN: dict[str, dict[str, Any]] = {
    "mean(bounds=…)": {"bounds": (0, 1)}, "quantile": {"q": 0.5},
    "value_counts(keys=…)": {"keys": ["x", "y"]},
}  # fmt: skip


def test_all_that_a_card_says_to_ask_is_answered(people: Any) -> None:
    """As it is written: with the facts that it says are missing, and with no others."""
    for name, asks in asks_of(people).items():
        for ask in asks:
            given = GIVEN.get(ask, {})
            if ask == "mean(bounds=…)" and name in ("when", "seen"):
                given = {"bounds": ("2024-01-01", "2025-01-01")}
            if ask == "value_counts(keys=…)" and name == "month":
                given = {"keys": [pd.Period("2024-01")]}
            method = ask.partition("(")[0]
            if method == "groupby":
                assert "private groups" in repr(people.groupby(name))
            elif method == "explode":
                assert people.explode(name, max_items=2) is not None
            elif method == ".str.len":
                assert people[name].str.len() is not None
            else:
                assert "nothing computed" in repr(getattr(people[name], method)(**given))


def test_groups_answer_what_their_card_says(people: Any) -> None:
    groups = people[people["age"] > 3].groupby("educ")
    assert asked(groups)["educ"] == ["the groups"]
    assert asked(groups)["income"] == ["mean", "quantile", "std"]
    for name in ("town", "smokes", "income", "seen", "old"):
        for method in asked(groups)[name]:
            assert "nothing computed" in repr(getattr(groups[name], method)())
    found = people.groupby("note", delta="1e-6")
    assert asked(found)["income"] == ["mean", "std"]
    assert asked(found[["income"]]).keys() == {"note", "income"}
    assert "keys to be found" in pretty(found)
    both = pretty(people.groupby(["educ", "town"])["age"]).split("\n")
    assert both[2].split() == ["educ", "number", "3", "keys:", "9,", "12,", "14", "the", "groups"]
    assert len(both) == 5


def test_a_frame_lists_its_columns(people: Any) -> None:
    lines = repr(people).split("\n")
    assert lines[0] == "<private frame of survey (verified), protecting each row>"
    assert lines[1].split() == ["column", "kind", "declared", "ask"]
    said = {line.split()[0]: " ".join(line.split()[1:]) for line in lines[2:]}
    assert said["educ"] == "number 3 keys: 9, 12, 14 value_counts, groupby, mean, quantile, std"
    assert said["town"] == "text 4 keys: Aldersgate, Little Snoring, … value_counts, groupby"
    assert said["income"] == "number 0 to 90000.5 mean, quantile, std"
    assert said["seen"] == "time 2024-01-01 to 2025-01-01 mean, quantile, std"
    assert said["note"] == "text value_counts(keys=…)"
    assert said["old"] == "truth 2 keys: False, True value_counts, groupby, mean"
    assert max(map(len, lines)) <= 100
    drawn = people[people["age"] > 20]._repr_html_()
    assert "protecting each row</b> · rows where age &gt; 20" in drawn
    assert "ask the rows: count, groupby" in drawn
    assert len(drawn) < 550 * 15


def test_the_unit_is_named_and_long_frames_are_cut() -> None:
    wide = pd.DataFrame({"who": [1, 1, 2]} | {f"n{i}": [1, 2, 3] for i in range(80)})
    shown = dp.protect(wide, name="wide", unit="who", max_rows=2)
    lines = repr(shown).split("\n")
    assert lines[2].split() == ["who", "number", "the", "unit", "per_unit()"]
    assert lines[-1] == "… and 21 more columns"
    assert "… and 21 more columns · ask the rows" in shown._repr_html_()
    with pd.option_context("display.max_rows", None):
        assert len(repr(shown).split("\n")) == 83


def test_columns_say_in_a_line_what_they_can_be_asked(people: Any) -> None:
    assert repr(people["age"]) == "<private column age of survey (verified)>"
    assert pretty(people["age"]).split("\n")[1] == "number · 17 to 60 · ask mean, quantile, std"
    assert pretty(people["note"]).split("\n")[1] == "text · ask value_counts(keys=…)"
    assert "rows where age" in people[people["age"] > 20]["age"]._repr_html_()


def test_no_row_decides_what_is_shown(people: Any) -> None:
    dp.reset()
    others = dp.protect(rows(59).iloc[[2, 2, 0, 1]], name="survey", domain=DECLARED)
    dp.reset()
    first = dp.protect(rows(), name="survey", domain=DECLARED)
    for of in (
        lambda frame: frame, lambda frame: frame["note"], lambda frame: frame.groupby("town"),
    ):  # fmt: skip
        assert of(first)._repr_html_() == of(others)._repr_html_()
        assert pretty(of(first)) == pretty(of(others))


def test_markup_in_names_and_keys_is_text(people: Any) -> None:
    bad = people.rename(columns={"note": "<i>"})
    for shown in (bad, bad["<i>"], bad.groupby("town"), bad["<i>"] == "<u>"):
        drawn = shown._repr_html_()
        assert not {"<i>", "<u>", "<b>M", "<b><"} & {drawn[i : i + 3] for i in range(len(drawn))}
        assert "<style" not in drawn
