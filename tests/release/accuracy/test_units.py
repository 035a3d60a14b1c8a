"""What an answer's figures are measured in, how they are told, and where noise is most of them."""

import contextlib
import json
import math
import re
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import change

import dppandas as dp
from dppandas.ledger.storage.verify import verified
from dppandas.privacy.accounting.losses import Delta, Epsilon, Loss, in_short
from dppandas.release.accuracy import units
from dppandas.release.answers.shown import DROWNED, EMPTY
from dppandas.rows.figures import format_error
from dppandas.statistics.layout import by_name, spread

ROWS = 400
BOUNDS = {"age": (0, 100), "income": (0, 100_000), "debt": (-1, 1)}
KEYS = ["f", "m"]
PAIR: dict[Any, Any] = {"age": (0, 100), "income": (0, 100_000)}


def table(rows: int = ROWS) -> pd.DataFrame:
    """Two columns of very different widths, one that may be negative, times and labels."""
    place = np.arange(rows)
    return pd.DataFrame({
        "age": 20.0 + place % 50,
        "income": 100.0 * (place % 700),
        "debt": np.where(place % 2 == 0, 0.5, -0.5),
        "sex": np.resize(np.array(KEYS, dtype=object), rows),
        "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(place % 300, unit="D"),
        "yes": place % 3 == 0,
    })  # fmt: skip


def shop(rows: int = ROWS) -> Any:
    return dp.protect(table(rows), name="shop", version="1", domain={**BOUNDS, "sex": KEYS})


# --- losses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("exact", "told", "left"), [
    (Epsilon(1, 75), "≈ 0.01333", "≈ 0.01333"), (Epsilon(2, 3), "≈ 0.6667", "≈ 0.6666"),
    (Epsilon("0.1"), "0.1", "0.1"), (Epsilon("1.1845"), "1.1845", "1.1845"),
    (Epsilon("0.12345678"), "≈ 0.1235", "≈ 0.1234"), (Epsilon(2000), "2000", "2000"),
    (Delta("1e-06"), "1e-06", "1e-06"), (Epsilon(0), "0", "0"),
])  # fmt: skip
def test_losses_are_told_in_decimals(exact: Fraction, told: str, left: str) -> None:
    assert (in_short(exact), in_short(exact, down=True)) == (told, left)


def test_a_loss_says_what_is_rounded() -> None:
    assert Loss(Epsilon(1, 75), Delta("1e-06")).in_short == "ε ≈ 0.01333, δ = 1e-06"
    assert Loss().in_short == "ε = 0"


def test_the_exact_fraction_stands_behind_what_is_shown(tmp_path: Path) -> None:
    dp.session(epsilon=1)
    record = dp.record(shop().count(epsilon="1/75"))
    ledger = dp.ledger()
    assert record.epsilon == Fraction(1, 75)
    assert "ε ≈ 0.01333" in str(record)
    assert "≈ 0.9866 of ε = 1 left · ≈ 0.01333 spent" in repr(ledger)
    assert "1/75" not in repr(ledger)
    assert re.search('title="ε = 1/75"[^>]*>≈\N{NO-BREAK SPACE}0.01333<', ledger._repr_html_())
    ledger.export(tmp_path / "a.csv")
    assert '"1/75"' in (tmp_path / "a.csv").read_text("utf-8")
    ledger.export(tmp_path / "a.html")
    assert "1/75 <small>≈ 0.0133333</small>" in (tmp_path / "a.html").read_text("utf-8")


# --- errors as answered ---------------------------------------------------------------------------


def test_the_ledger_tells_the_error_of_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    dp.session(epsilon=2, store=file)
    people = shop()
    mean = people["income"].mean(epsilon=0.1)
    (entry,) = dp.ledger()._charges()
    assert entry.error.startswith("≈ ")  # as public facts decided it, and as it was charged
    assert entry.known_error == f"± {format_error(mean.error())}"
    assert dp.ledger().to_frame()["error"].tolist() == [entry.known_error]
    for drawn in (repr(dp.ledger()), dp.ledger()._repr_html_(), str(dp.record(mean))):
        assert entry.known_error in drawn.replace("\N{NO-BREAK SPACE}", " ")
        assert "/n" not in drawn
    people["income"].mean(epsilon=0.1)
    assert dp.ledger()._entries()[-1].known_error == entry.known_error  # a replay
    dp.reset()
    assert verified(file).is_sound
    dp.session(store=file)
    assert dp.ledger()._charges()[0] == entry
    dp.ledger().export(tmp_path / "a.json")
    (said,) = json.loads((tmp_path / "a.json").read_text("utf-8"))["releases"]
    assert (said["expected_error"], said["error"]) == (entry.error, entry.known_error)


def test_a_ledger_without_errors_as_answered_is_read(tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "old.ledger"
    dp.session(epsilon=2, store=file)
    with monkeypatch.context() as older:  # which told nothing in an outcome
        older.setattr("dppandas.release.accuracy.expected.answered_error", lambda *_: None)
        mean = shop()["income"].mean(epsilon=0.1)
    dp.reset()
    with contextlib.closing(sqlite3.connect(file)) as db:
        (body,) = db.execute("SELECT body FROM events WHERE kind = 'outcome'").fetchone()
    assert set(json.loads(body)) == {"status", "answer", "draw"}
    assert verified(file).is_sound
    dp.session(store=file)
    assert shop()["income"].mean(epsilon=0.1) == mean  # answered again
    assert {entry.known_error for entry in dp.ledger()._entries()} == {dp.record(mean).expected}
    shop()["income"].mean(epsilon=0.2)
    assert dp.ledger()._charges()[-1].known_error.startswith("± ")
    dp.reset()
    assert verified(file).is_sound


def test_an_error_that_is_no_text_deviates(tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    dp.session(epsilon=2, store=file)
    shop()["income"].mean(epsilon=0.1)
    dp.reset()
    change(file, "UPDATE events SET body = json_set(body, '$.error', 5) WHERE kind = 'outcome'")
    assert any("neither numbers nor a string" in str(d) for d in verified(file).deviations)


def test_what_has_no_answer_tells_what_was_expected() -> None:
    dp.session(epsilon=2)
    with dp.preview() as plan:
        mean = shop()["income"].mean(epsilon=0.1)
    assert plan.to_frame()["error"].tolist() == [dp.record(mean).expected]
    assert dp.record(mean).expected.endswith("/n")


@pytest.mark.parametrize("what", ["sum", "mean", "std"])
def test_each_column_asked_has_an_error_of_its_own(what: str) -> None:
    result = getattr(shop()[["age", "income"]], what)(bounds=PAIR, epsilon=1)
    errors = dp.record(result).errors()
    # widths are 1 to 1,000, and so are the errors: one for all would be that of the widest
    assert errors["income"] > 100 * errors["age"]
    (entry,) = dp.ledger()._charges()
    said = "age ± {}, income ± {}".format(*map(format_error, errors))
    assert entry.known_error == said
    assert f"{said} (95 %, noise only)" in str(dp.record(result))


def test_by_group_errors_are_told_from_the_smallest_to_the_largest() -> None:
    df = pd.concat([table().query("sex == 'f'"), table(20).query("sex == 'm'")])
    people = dp.protect(df, name="uneven", domain={**BOUNDS, "sex": KEYS})
    errors = dp.record(people.groupby("sex")["age"].mean(epsilon=2)).errors()
    least, most = (format_error(each) for each in (min(errors), max(errors)))
    assert dp.ledger()._charges()[-1].known_error == f"± {least} to {most}"


def test_errors_in_words() -> None:
    assert spread([(2.0, 2.0), (1.0, 1.0), (math.nan, math.nan)]) == "± 1 to 2, some unbounded"
    assert spread([(3, 3), (3, 3)]) == "± 3"
    assert by_name(["a", "b"], ["± 1", "± 1"], "ranks") == "± 1 ranks"
    assert by_name(["a", "b"], ["± 1", "± 2"]) == "a ± 1, b ± 2"
    assert by_name(range(9), [f"± {i}" for i in range(9)]).endswith("3 ± 3, … (9 columns)")


def test_values_that_are_all_one_point_are_shown() -> None:
    """Their covariances are 0 by public facts: of these noise is no share."""
    p = dp.protect(table(), name="point", domain={"age": (0, 100), "yes": (1, 1)})
    record = dp.record(p[["age", "yes"]].cov(epsilon=1))
    assert "yes" in str(record)
    assert record.noise_dominated.loc["yes"].tolist() == [None, None]


def test_a_crowd_of_numbers_tells_what_was_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dppandas.statistics.error_model.CROWD", 3)
    shop().groupby("sex")["age"].mean(epsilon=2)
    (entry,) = dp.ledger()._charges()
    assert entry.known_error == entry.error


# --- units ----------------------------------------------------------------------------------------

YEAR = ("2020-01-01", "2021-01-01")
SCALES: dict[str, tuple[Callable[[Any], Any], Any, str]] = {
    "count": (lambda p: p.count(epsilon=0.1), 10, "rows"),
    "sum": (lambda p: p["age"].sum(epsilon=0.5), 200, "age"),
    "mean": (lambda p: p["age"].mean(epsilon=0.5), 200, "age"),
    "sums": (
        lambda p: p[["age", "income"]].sum(bounds=PAIR, epsilon=1),
        {"age": pytest.approx(200, rel=0.05), "income": pytest.approx(200_000, rel=0.05)},
        "age, income"),
    "var": (lambda p: p["age"].var(epsilon=0.5), 2, "age²"),
    "std": (lambda p: p["age"].std(epsilon=0.5), 2, "age"),
    "share": (lambda p: p["yes"].mean(bounds=(0, 1), epsilon=0.5), 2, "share"),
    "shares": (lambda p: p["sex"].value_counts(normalize=True, epsilon=0.5), 2, "share"),
    "corr": (lambda p: p[["age", "income"]].corr(bounds=PAIR, epsilon=0.5), 2, "share"),
    "median": (lambda p: p["age"].median(epsilon=0.5), 2, "ranks"),
    "mode": (lambda p: p["sex"].mode(epsilon=0.5), 2, "utility"),
    "mean of times": (
        lambda p: p["when"].mean(bounds=YEAR, epsilon=0.5), pd.Timedelta(732, "D"), "seconds"),
    "median of times": (lambda p: p["when"].median(bounds=YEAR, epsilon=0.5), 2, "ranks"),
    "std of times": (lambda p: p["when"].std(bounds=YEAR, epsilon=0.5), 2, "seconds"),
    "groups": (lambda p: p.groupby("sex")["age"].mean(epsilon=0.5), 200, "age"),
}  # fmt: skip


@pytest.mark.parametrize("name", SCALES)
def test_noise_and_errors_are_in_the_unit_of_the_column(name: str) -> None:
    ask, scale, unit = SCALES[name]
    record = dp.record(ask(shop()))
    assert record.error_unit == unit
    if isinstance(scale, pd.Timedelta):
        assert abs(record.scale - scale) < pd.Timedelta(1, "h")
    else:
        assert record.scale == (scale if name == "sums" else pytest.approx(scale, rel=1e-6))
    words = units.in_words(record.scale)
    within = {"sum": " (in age)", "mean": " (in age)", "groups": " (in age)", "sums": ""}
    unit = within.get(name, " ranks" if "median" in name else " rows")
    unit = "" if name in ("mode", "mean of times") else unit
    assert f", scale {words}{unit}, " in str(record)
    assert dp.ledger()._charges()[-1].scale == words


def test_what_else_is_counted_has_a_unit_of_its_own() -> None:
    df = table().assign(who=np.arange(ROWS) // 2)
    people = dp.protect(df, name="units", unit="who", max_rows=2, domain={"sex": KEYS})
    assert dp.record(people["who"].nunique(epsilon=1)).error_unit == "units"
    assert dp.record(people["sex"].nunique(epsilon=1)).error_unit == "keys"
    assert dp.record(people["age"].mean(bounds=(0, 100), epsilon=1)).error_unit == "age"
    for asked, unit in (
        ((people["age"] > 30).sum(bounds=(0, 1)), "rows"),
        (people["yes"].sum(bounds=(0, 1)), "rows"),
        ((people["age"] > 30).mean(bounds=(0, 1)), "share"),
        (people.groupby("sex")["yes"].sum(bounds=(0, 1)), "rows"),
        (people["yes"].std(bounds=(0, 1)), "yes"),
    ):
        assert dp.record(asked.release(epsilon=1)).error_unit == unit
    dp.reset()
    assert dp.record(pd.Series([1.0]).dp.mean(bounds=(0, 1), epsilon=1)).error_unit == "value"


# --- noise ----------------------------------------------------------------------------------------


def drowned(result: Any) -> Any:
    said = dp.record(result).noise_dominated
    return said.to_dict() if isinstance(said, pd.Series | pd.DataFrame) else said


#: What is asked at some ε of 400 rows, without noise: half-widths are as at that ε.
NOISE: list[tuple[Callable[[Any, float], Any], dict[float, Any]]] = [
    (lambda p, e: p.count(epsilon=e), {1: False, 0.005: True}),
    (lambda p, e: p["sex"].value_counts(epsilon=e), {1: [False] * 2, 0.01: [True] * 2}),
    (lambda p, e: p["age"].sum(epsilon=e), {1: False, 0.01: True}),
    (lambda p, e: (p["age"] * -1).sum(bounds=(-100, 0), epsilon=e), {1: False, 0.01: True}),
    (lambda p, e: p["debt"].sum(epsilon=e), {0.01: None}),
    (lambda p, e: p["age"].mean(epsilon=e), {1: False, 0.01: True}),
    (lambda p, e: (p["age"] > 40).mean(epsilon=e), {1: False, 0.01: True}),
    (lambda p, e: p["age"].std(epsilon=e), {5: False, 0.05: True}),
    (lambda p, e: p["age"].var(epsilon=e), {0.05: True}),
    (lambda p, e: p["sex"].value_counts(normalize=True, epsilon=e), {0.01: [True] * 2}),
    (lambda p, e: p["age"].median(epsilon=e), {0.01: None}),
    (lambda p, e: p["sex"].mode(epsilon=e), {0.01: None}),
    (lambda p, e: p["sex"].value_counts().idxmax(epsilon=e), {1: None}),
    (lambda p, e: p["when"].mean(bounds=YEAR, epsilon=e), {0.01: True}),
]


@pytest.mark.parametrize(("ask", "epsilon", "said"), [
    (ask, epsilon, dict(zip("fm", said, strict=True)) if isinstance(said, list) else said)
    for ask, cases in NOISE for epsilon, said in cases.items()
])  # fmt: skip
def test_an_answer_says_where_noise_is_most_of_it(
    ask: Any, epsilon: float, said: Any, exact: None
) -> None:
    result = ask(shop(), epsilon)
    assert drowned(result) == said
    text = str(dp.record(result)) + dp.record(result)._repr_html_()
    is_noise = True in (said.values() if isinstance(said, dict) else [said])
    word = EMPTY if isinstance(said, dict) else DROWNED  # a single number is of no group
    assert [each in text for each in (word, *{EMPTY, DROWNED} - {word})] == [is_noise, False]


def test_a_sum_on_the_impossible_side_is_noise(frozen: Callable[[int], None]) -> None:
    frozen(-(10**15))
    total = shop()["age"].sum(epsilon=1)
    assert total.interval()[1] < 0
    assert drowned(total) is True


def test_a_mean_that_is_a_bound_needs_a_tenth() -> None:
    record = dp.record((shop()["age"] > 40).mean(epsilon=1))

    def told(yes: int, no: int) -> tuple[float, bool | None]:
        found = record._statistic.errors.intervals_at((yes, no), record._law, 0.95)
        ((low, high),), (said,) = found, units.dominated(record._statistic, (yes, no), found)
        return high - low, said

    assert told(400, -1) == (pytest.approx(0.01, abs=0.01), False)
    wide = pytest.approx(0.3, abs=0.19)
    assert told(7, -1) == (wide, True)  # cut off at 1
    assert told(7, 7) == (wide, False)  # as wide, and not cut off
    assert told(2, 2)[1] is True


def test_describe_knows_of_how_many_rows_its_quantiles_are(exact: None) -> None:
    for epsilon, said in ((0.05, True), (60, False)):
        *_, quantiles = dp.record(shop()["age"].describe(epsilon=epsilon)).components.values()
        found = quantiles.noise_dominated
        assert found.index.equals(quantiles.estimate().index)
        assert (found.tolist(), found.dtype) == ([said] * 5, bool)
        assert (DROWNED in str(quantiles)) == said


def test_a_correlation_of_anything_is_noise(exact: None) -> None:
    said = drowned(shop()[["age", "income"]].corr(bounds=PAIR, epsilon=0.01))
    assert said == {"age": {"age": False, "income": True}, "income": {"age": True, "income": False}}


def test_what_is_said_lies_under_the_labels() -> None:
    table_ = shop().groupby("sex")[["age", "debt"]].sum(epsilon=1)
    said = dp.record(table_).noise_dominated
    assert said.index.equals(table_.index)
    assert said.columns.equals(table_.columns)
    assert (said["age"].tolist(), said["debt"].tolist()) == ([False, False], [None, None])


#: What is asked of a group without rows and of one of 400, exactly: the former may be empty.
OF_GROUPS: dict[str, Callable[[Any], Any]] = {
    "size": lambda g: g.size(epsilon=1),
    "sum": lambda g: g["age"].sum(epsilon=1),
    "mean": lambda g: g["age"].mean(epsilon=1),
    "share": lambda g: g["yes"].mean(epsilon=1),
    "std": lambda g: g["age"].std(epsilon=9),
    "moments": lambda g: g["age"].agg(["count", "mean", "std"], epsilon=9)["mean"],
    "median": lambda g: g["age"].median(interval=True, epsilon=9),
}


@pytest.mark.parametrize("name", OF_GROUPS)
def test_a_group_without_rows_may_be_empty(name: str, exact: None) -> None:
    women = shop().query("sex == 'f'").groupby("sex")
    found = dp.intervals(OF_GROUPS[name](women))[["noise_dominated", "may_be_empty"]]
    assert found.loc["m"].tolist() == [True, True]
    assert not found.loc["f"].fillna(False).any()


def test_what_cannot_tell_how_many_rows_there_are_says_so(exact: None) -> None:
    groups = shop().groupby("sex")
    for answer in (
        groups["debt"].sum(epsilon=1),
        groups["age"].median(epsilon=1),
        shop()[["age", "income"]].corr(bounds=PAIR, epsilon=0.01).loc[["age"], ["income"]],
    ):
        assert dp.intervals(answer)["may_be_empty"].isna().all()


def test_a_share_may_be_of_none_though_its_error_is_small(exact: None) -> None:
    shares = shop().query("sex == 'f'")["sex"].value_counts(normalize=True, epsilon=1)
    found = dp.intervals(shares).loc["m"]
    assert (found["noise_dominated"], found["may_be_empty"]) == (False, True)
    assert str(dp.record(shares)).count(EMPTY) == 1


def test_labels_that_were_found_have_rows(exact: None) -> None:
    dp.session(epsilon=9, delta="0.01")
    p = dp.protect(table(), name="found")
    found = dp.intervals(p.groupby("sex", delta="0.001").size().release(epsilon=0.2))
    assert found["may_be_empty"].tolist() == [False] * len(found) != []


def test_a_number_says_it_quietly(frozen: Callable[[int], None]) -> None:
    from IPython.lib.pretty import pretty

    frozen(0)
    people = shop()
    assert pretty(people.count(epsilon=0.001)) == f"400 ± 3,000 (95 %, noise only, {DROWNED})"
    assert pretty(people.count(epsilon=1)) == "400 ± 3 (95 %, noise only)"
    assert pretty(people["debt"].sum(epsilon=0.001)).endswith("(95 %, noise only)")


def test_of_what_is_combined_too() -> None:
    people = shop()
    one, other = people.count(epsilon=0.002), people.count(epsilon=0.003)
    both = dp.combine(one, other)
    assert dp.record(both).noise_dominated is bool(both.interval()[0] <= 0)
    assert dp.record(both).scale == pytest.approx(float(dp.record(both)._law.scale))
