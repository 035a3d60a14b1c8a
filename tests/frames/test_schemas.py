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

#: Of the others cards tell no kind, whatever their dtypes are.
KINDS = {"town": "text", "note": "text", "smokes": "truth", "height": "number", "when": "time"}


def rows(last: int = 14) -> pd.DataFrame:
    return pd.DataFrame({
        "educ": [9, 12, last], "town": ["<b>", "München", "Aldersgate"], "smokes": [True] * 3,
        "age": [20, 30, last], "income": [1.5, 2.5, last], "seen": DAYS, "waits": DAYS - DAYS[0],
        "note": ["x", "y", str(last)], "height": [1.7, 1.8, float(last)], "when": DAYS,
        "any": pd.Series([1, "a", last], dtype=object),
    })  # fmt: skip


@pytest.fixture
def people() -> Any:
    shown = dp.protect(rows(), name="survey", domain=DECLARED, kinds=KINDS)
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
    asked_by = asks_of(people)
    assert asked_by["any"] == ["mean(bounds=…) or value_counts(keys=…)"]
    for name, asks in asked_by.items():
        for ask in [each for either in asks for each in either.split(" or ")]:
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
                assert "<unreleased " in repr(getattr(people[name], method)(**given))


def test_groups_answer_what_their_card_says(people: Any) -> None:
    groups = people[people["age"] > 3].groupby("educ")
    assert asked(groups)["educ"] == ["the groups"]
    assert asked(groups)["income"] == ["mean", "quantile", "std"]
    for name in ("town", "smokes", "income", "seen", "old"):
        for method in asked(groups)[name]:
            assert "<unreleased " in repr(getattr(groups[name], method)())
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
    assert said["income"] == "number 0 to 90,000.5 mean, quantile, std"
    assert said["seen"] == "time 2024-01-01 to 2025-01-01 mean, quantile, std"
    assert said["note"] == "text not declared value_counts(keys=…)"
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
    assert lines[2].split() == ["who", "the", "unit", "per_unit()"]
    assert lines[-1] == "… and 21 more columns"
    assert "… and 21 more columns · ask the rows" in shown._repr_html_()
    with pd.option_context("display.max_rows", None):
        assert len(repr(shown).split("\n")) == 83


def test_columns_say_in_a_line_what_they_can_be_asked(people: Any) -> None:
    assert repr(people["age"]) == "<private column age of survey (verified)>"
    assert pretty(people["age"]).split("\n")[1] == "number · 17 to 60 · ask mean, quantile, std"
    assert pretty(people["note"]).split("\n")[1] == "text · not declared · ask value_counts(keys=…)"
    assert "rows where age" in people[people["age"] > 20]["age"]._repr_html_()


def shown_of(frame: Any) -> list[str]:
    """All that frames, columns and groups show of themselves."""
    views = [frame, frame.groupby("town", keys=["x"]), frame.groupby("town", delta="1e-6")]
    views += [frame[name] for name in frame.columns] + [frame["any"] == "x", frame["note"].isna()]
    views += [frame.groupby("town", keys=["x"])[["any", "height"]]]
    return [text for view in views for text in (repr(view), pretty(view), view._repr_html_())]


def test_no_row_decides_what_is_shown(people: Any) -> None:
    """Nor a dtype, which pandas infers from rows."""
    others = rows(59).iloc[[2, 2, 0, 1]]
    strings = rows().astype(
        {"town": "string", "note": "category", "age": float, "height": "Float64"}
    )
    declared = {name: fact for name, fact in DECLARED.items() if name != "town"}
    found = []
    for df in (rows(), others, rows().astype(object), strings):
        dp.reset()
        found.append(shown_of(dp.protect(df.copy(), name="survey", domain=declared)))
    assert all(each == found[0] for each in found)


@pytest.mark.filterwarnings("ignore")  # of keys that no cell of the dtype can be
@pytest.mark.parametrize("values", [
    [1, 2], [1.5, None], [True, False], ["x", "y"], [1, "x"], DAYS[:2], DAYS.tz_localize("UTC")[:2],
    DAYS[:2] - DAYS[0], DAYS[:2].to_period("M"), [[1], [2]], pd.Categorical(["x", "y"]), [1j, 2],
])  # fmt: skip
@pytest.mark.parametrize("domain", [None, {"x": (0, 5)}, {"x": [1, 2]}])
def test_of_an_undeclared_kind_the_same_is_said_whatever_the_dtype(
    values: Any, domain: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = dp.protect(pd.DataFrame({"x": values}), name="d", domain=domain)
    shown.info()
    line = capsys.readouterr().out.splitlines()[-1]
    wanted = {
        "(0, 5)": "x number 0 to 5 mean, quantile, std",
        "[1, 2]": "x number 2 keys: 1, 2 value_counts, groupby, mean, quantile, std",
        "None": "x not declared mean(bounds=…) or value_counts(keys=…)",
    }
    assert " ".join(line.split()) == wanted[str(domain and domain["x"])]
    assert line in repr(shown)


def test_markup_in_names_and_keys_is_text(people: Any) -> None:
    bad = people.rename(columns={"note": "<i>"})
    for shown in (bad, bad["<i>"], bad.groupby("town"), bad["<i>"] == "<u>"):
        drawn = shown._repr_html_()
        assert not {"<i>", "<u>", "<b>M", "<b><"} & {drawn[i : i + 3] for i in range(len(drawn))}
        assert drawn.count("<style") <= 1, "the table's own sheet"
