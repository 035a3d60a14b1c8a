"""Cards of answers: what they show of whom, equal under every pandas, and pandas' own otherwise."""

import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

import dppandas as dp
from dppandas.display.cards import markup, plain
from dppandas.display.cards.card import _numbers, card_of
from dppandas.display.cards.strips import Strips
from dppandas.release.answers import results
from dppandas.release.answers.figures import Figures
from dppandas.release.answers.shown import DROWNED, EMPTY
from dppandas.rows.figures import plus_minus

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "cards.html"
CITIES = ["Aachen", "Bonn", "Köln"]


@pytest.fixture
def shell() -> Any:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "dppandas")
    yield shell
    shell.run_line_magic("unload_ext", "dppandas")
    InteractiveShell.clear_instance()


def survey() -> Any:
    i = np.arange(30_000)
    df = pd.DataFrame({
        "city": np.array(CITIES, dtype=object)[i % 7 // 3], "income": 1000.0 + i % 3001,
        "age": 18 + i % 60, "away": i % 11 == 0,
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(i % 900, unit="D"),
    })  # fmt: skip
    domain = {"city": CITIES, "income": (0, 6000), "age": (18, 90)}
    return dp.protect(df, "survey", domain=domain)


def html(answer: Any) -> str:
    card = card_of(answer)
    assert card is not None
    return markup.html(card)


def unbroken(shown: str) -> str:
    """With spaces where lines may not break, too."""
    return shown.replace("\N{NO-BREAK SPACE}", " ")


def drawn(answer: Any) -> list[Any]:
    """The rows of a card."""
    card = card_of(answer)
    assert card is not None
    return list(card.rows)


def text(answer: Any) -> str:
    card = card_of(answer)
    assert card is not None
    return plain.text(card)


def data(shell: Any, value: Any) -> dict[str, Any]:
    """What a cell that ends in a value shows."""
    found: dict[str, Any] = shell.display_formatter.format(value)[0]
    return found


# --- what a card says -----------------------------------------------------------------------------


def test_a_series_shows_its_errors_and_how_they_hold(frozen: Callable[[int], None]) -> None:
    frozen(3)
    counts = survey()["city"].value_counts(epsilon="0.01")
    assert text(counts).splitlines() == [
        "city     count",
        "Aachen  12,860 ± 410",
        "Bonn    12,860 ± 410",
        "Köln     4,290 ± 410",
        "ε = 0.01 · 95 %, noise only: all 3 hold simultaneously · a plain pandas Series",
    ]
    assert text(counts.tail(1)).splitlines()[1:] == [
        "Köln  4,290 ± 410",
        "ε = 0.01 · 95 %, noise only: all 3 hold simultaneously, 1 shown · a plain pandas Series",
    ]
    found = html(counts)
    cells = re.findall(r"<td style=[^>]*>([^<]*)", found)
    assert cells[1:3] == ["12,860", "±\N{NO-BREAK SPACE}410"]
    assert found.count("radial-gradient") == 3  # a strip for each
    assert re.findall(r"float:\w+;line-height:1.5;quotes:'([^']*)", found) == [
        "0",
        "14,000",
    ]  # on one axis


def test_each_kind_of_answer_says_what_its_error_is_of(exact: None) -> None:
    p = survey()
    assert "± 235 ranks" not in text(p["income"].quantile([0.2, 0.8], epsilon=1))
    assert re.search(
        r"^0.2 +1,6\d\d ± \d+ ranks$", text(p["income"].quantile([0.2, 0.8], epsilon=1)), re.M
    )
    assert re.search(r"^0  Aachen \(chosen, gap ≤ 4\)$", text(p["city"].mode(epsilon=1)), re.M)
    described = text(p[["income", "age"]].describe(epsilon=1))
    assert re.search(r"^count +30,000 +± \d+ +30,000 +± \d+$", described, re.M)
    assert re.search(r"^50% .*± \d+ ranks .*± \d+ ranks$", described, re.M)
    assert "the errors of each of 2 releases hold simultaneously" in described
    told = text(p["age"].agg(["count", "median"], epsilon=1))
    assert re.search(r"^count +30,000 +± 6$", told, re.M)
    assert re.search(r"^median .* ± \d+ ranks$", told, re.M)
    times = text(p.groupby("city")["since"].mean(bounds=("2020-01-01", "2023-01-01"), epsilon=1))
    assert re.search(r"^Aachen  2021-03-2\d.* ± [\d.]+ (h|days)$", times, re.M)


def test_counts_are_whole_beside_other_figures(exact: None) -> None:
    told = text(survey().groupby("city")["age"].agg(["count", "mean"], epsilon=2))
    assert re.search(r"^Bonn +\d\d?,\d{3} ± \d+ +\d\d\.\d+ ± 0\.\d+  ± 0\.\d+$", told, re.M)
    assert "all 6 hold simultaneously" in told


def test_derived_numbers_show_their_errors_and_where_they_come_from(exact: None) -> None:
    dp.session(epsilon=9)
    ages = survey().groupby("city")["age"].mean(epsilon=1)
    told = text(dp.difference(ages, "Aachen"))
    assert re.search(r"^city +age +population$", told, re.M)
    assert re.search(r"^Bonn +-?\d+\.\d+ ± 0\.\d+, noise-dominated +± \d\.\d+$", told, re.M)
    said = told.replace("\n", " ")
    assert re.search(r"simultaneously; population: .* derived from release 1, at no cost$", said)
    table = dp.derive(lambda t: t / t.sum(), survey().groupby("city").size(epsilon=1).to_frame("n"))
    assert html(table).count("<tr>") == len(table)
    change = dp.derive(lambda t: t.pct_change(), ages)
    assert "unknown" in text(change)
    many = survey().groupby("age", keys=range(90)).size(epsilon=1)
    assert "…" in text(dp.derive(lambda t: t.cumsum(), many))


def test_quantiles_with_intervals_of_values_show_these() -> None:
    p = survey()
    told = text(p["age"].quantile([0.25, 0.5], step=1, interval=True, epsilon=20))
    assert re.search(r"^0.5 +4[78] \(4\d( to 4\d)?\)  \(4\d( to 4\d)?\)$", told, re.M)
    times = p.groupby("city")["since"].median(
        bounds=("2020-01-01", "2023-01-01"), interval=True, epsilon=20
    )
    assert re.search(r"^Köln +202\d-.* \(202\d-.* to 202\d-.*\)$", text(times), re.M)
    assert "ranks" not in text(times)


def test_a_column_has_its_points_below_each_other(exact: None) -> None:
    described = survey()[["age"]].describe(epsilon=1)
    lines = text(described).splitlines()
    ends = {
        match[0].find(".") if "." in match[0] else len(match[0])
        for match in (re.match(r"\S+ +[\d,]+(\.\d+)?", line) for line in lines[1:-1]) if match
    }  # fmt: skip
    assert len(ends) == 1
    card = card_of(described)
    assert card is not None
    (longest,) = card.decimals
    for row in card.rows:
        missing = longest[len(row.cells[0].decimals or "") :] if row is not None else ""
        assert not missing or f"hidden;quotes:'{missing}'" in html(described)
    assert "30,000<q " in html(described)


def test_what_labels_of_several_levels_have_in_common_is_said_once(exact: None) -> None:
    by = survey().groupby(["city", "away"], keys={"away": [True, False]})
    table = by[["income", "age"]].agg(["count", "mean"], epsilon=1)
    shown = html(table)
    assert re.findall(r'"colgroup"[^>]*colspan="(\d)">(\w+)<', shown) == [
        ("5", "income"), ("5", "age"),
    ]  # fmt: skip
    assert re.findall(r'"rowgroup"[^>]*colspan="11">([^<]+)<', shown) == CITIES
    assert re.findall(r'"row"[^>]*>(\w+)<', shown) == ["True", "False"] * 3
    assert "Aachen, True" in text(table)
    once = table.iloc[[0, 2]][[("age", "mean")]]
    assert "colgroup" not in html(once), "nothing is in common"
    assert "rowgroup" not in html(once)
    change = dp.derive(lambda t: t - t.iloc[0], by["age"].mean(epsilon=1).to_frame())
    assert html(change).count('"rowgroup"') == 3


def test_a_count_below_its_interval_is_drawn_at_the_end_of_it() -> None:
    values, lows, highs = [-9.0, 12.0, 90.0], [0.0, 20.0, 30.0], [11.0, 100.0, 60.0]
    strips = Strips.of(Figures(values, [20] * 3, lows, highs, ["rows"] * 3, [], []), None)
    assert strips is not None
    assert strips.axis.ends == ("0", "100")
    assert [strips.place(i)[0] for i in range(3)] == [(0, 0, 11), (20, 20, 100), (30, 60, 60)]


@pytest.mark.parametrize(("number", "most"), [(6, 3500), (60, 20_000)])
@pytest.mark.parametrize("of", ["count", "mean"])
def test_a_card_is_small_enough_to_be_saved(number: int, most: int, of: str, exact: None) -> None:
    keys = [f"key {i}" for i in range(number)]
    rows = pd.DataFrame({"key": keys * 2000, "pay": np.arange(2000 * number) % 97})
    survey = dp.protect(rows, "survey", version="2026", domain={"key": keys, "pay": (0, 100)})
    if of == "count":
        card = card_of(survey["key"].value_counts(epsilon="0.1"))
    else:
        card = card_of(survey.groupby("key")["pay"].mean(epsilon=8))
    assert card is not None
    assert card.has_population == [of == "mean"]
    code = f"survey['key'].value_counts(keys={keys[:4]}, epsilon='0.1')"
    assert len(markup.html(card, code).encode()) <= most


@pytest.mark.parametrize(("bands", "drawn"), [
    ([(39, 41, "a"), (30, 50, "b")], "radial-gradient(50% 9in,a 10%,b 0)38%/20%"),
    ([(49, 51, "a"), (40, 60, "b"), (0, 100, "c")],
     "radial-gradient(50% 9in,a 2%,b 0 20%,c 0)0%/100%"),
    ([(9, 11, "a"), (9.5, 10.5, "b")], "radial-gradient(50% 9in,a 0,a 0)9%/2%"),
    ([(30, 32, "a"), (30, 50, "b")], ""),
])  # fmt: skip
def test_bands_with_one_middle_are_drawn_from_there(bands: Any, drawn: str) -> None:
    assert markup._around(bands) == drawn
    assert markup._painted(bands).startswith("linear-gradient(90deg,#0000 ") == (bands[-1][0] > 0)


def test_a_foot_takes_lines_of_a_terminal(exact: None) -> None:
    told = text(survey()[["income", "age"]].describe(epsilon=1)).splitlines()
    assert max(map(len, told)) <= 100
    assert told[-2:] == [
        "ε = 1 · 95 %, noise only: the errors of each of 2 releases hold simultaneously;",
        "population: by Bernstein's inequality or by Student's t, approximate · "
        "a plain pandas DataFrame",
    ]


# --- what a card says of the population -----------------------------------------------------------


def students() -> Any:
    i = np.arange(1200)
    df = pd.DataFrame({
        "arm": np.array(list("ABC"))[i % 3], "age": 20.0 + i % 40, "left": i % 5 == 0,
        "person": i // 2,
    })  # fmt: skip
    return df, {"arm": list("ABC"), "age": (0, 100)}


def test_the_error_for_the_population_stands_beside_that_of_the_noise(exact: None) -> None:
    df, domain = students()
    means = dp.protect(df, "students", domain=domain).groupby("arm")["age"].mean(epsilon=1)
    found = dp.intervals(means, of="population", method="t")["error"]
    head, first, *others = text(means).splitlines()
    foot = " · ".join(others[2:])
    assert re.fullmatch(r"arm +age +population", head)
    assert first.endswith(f"  {plus_minus(found['A'])}")
    assert found["A"] > 2 * means.attrs["dppandas.release"].payload.errors()["A"]
    assert "noise only: all 3 hold simultaneously; population: by Student's t, approximate" in foot
    shown = html(means)
    assert ">population</th>" in shown
    assert f">{plus_minus(found['A'])}</td>" in unbroken(shown)
    # the answer is in the middle of the band of the noise, and a paler one is around that
    strips = re.findall(r"radial-gradient\(50% 9in,([^)]*)", shown)
    assert len(strips) == 3
    for strip in strips:
        colours = [stop.split()[0] for stop in strip.split(",")]
        assert colours == [f"{markup.MARK}{each}" for each in ("", "99", "59")]


def test_columns_that_say_nothing_of_a_population_have_no_error_for_it(exact: None) -> None:
    df, domain = students()
    people = dp.protect(df, "students", domain=domain)
    table = people.groupby("arm")["age"].agg(["count", "mean"], epsilon=1)
    card = card_of(table)
    assert card is not None
    assert card.has_population == [False, True]
    assert html(table).count(">population</th>") == 1
    for nothing in (people["arm"].value_counts(epsilon=1), people[["age"]].sum(epsilon=1)):
        assert "population" not in text(nothing) + html(nothing)
    by_person = dp.protect(df, "pairs", unit="person", max_rows=2, domain=domain)
    assert "population" not in text(by_person.groupby("arm")["age"].mean(epsilon=1))
    with dp.preview():
        assert "population" not in text(people.groupby("arm")["left"].mean(epsilon=2))


def test_a_card_is_shown_at_once(exact: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact intervals of many shares take seconds, and so do those of many quotients."""
    from dppandas.privacy.accuracy import samples

    monkeypatch.setattr(samples, "share", lambda *_: pytest.fail("an exact interval"))
    df, domain = students()
    people = dp.protect(df, "students", domain=domain)
    assert "population: by Student's t" in text(people.groupby("arm")["left"].mean(epsilon=1))
    many = people["age"].value_counts(keys=range(80), normalize=True, epsilon=1)
    assert "population: see dp.intervals" in text(many)
    means = people.groupby("arm")["age"].mean(epsilon=1)
    assert "population: see dp.intervals" in text(dp.ratio(means, "A"))
    sizes = people.groupby("arm").size(epsilon=1)
    assert "population" not in text(dp.difference(sizes, "A"))


def test_intervals_of_many_labels_are_searched_for_once(
    exact: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors, ends and flags follow from the same: three searches of 10,000 shares took 4 s."""
    from dppandas.privacy.accuracy import ratios

    people, search, searched = survey(), ratios.shares, list[int]()
    counts = people["age"].value_counts(keys=range(80), normalize=True, epsilon=1)

    def counted(parts: Any, *others: Any) -> Any:
        searched.append(len(parts))
        return search(parts, *others)

    monkeypatch.setattr(ratios, "shares", counted)
    assert card_of(counts) is not None
    assert searched == [80]


def test_too_few_rows_for_t_are_said(exact: None) -> None:
    df, domain = students()
    few = dp.protect(df.head(30), "few", domain=domain)
    assert text(few.groupby("arm")["age"].mean(epsilon=1)).count(", too few rows\n") == 3


@pytest.mark.parametrize("name", [*ops.EVERY, *ops.UNKNOWN, *ops.AT_DELTA, *ops.TESTED])
@pytest.mark.filterwarnings("ignore:the smallest or largest")
def test_no_card_fails_for_what_it_says_of_a_population(name: str, exact: None) -> None:
    dp.session(epsilon=1000, delta="0.01")
    answer = ops.released(name, dp.protect(ops.SCHEMA.copy(), "of rows"))
    if isinstance(answer, pd.Series | pd.DataFrame):
        assert text(answer).count("\n")
        assert html(answer)


def test_labels_that_were_found_hold_each_given_that_it_is_told(exact: None) -> None:
    dp.session(epsilon=2, delta="0.001")
    found = text(survey().groupby("age", delta="0.0001").size().release(epsilon=1))
    assert "each, if released" in found


def test_correlations_are_hatched_where_they_include_0(exact: None) -> None:
    table = survey()[["income", "age"]].corr(epsilon="0.1")
    assert html(table).count("linear-gradient") == 2
    assert "hatched: the interval includes 0" in html(table)
    sure = survey().assign(twice=lambda p: p["age"] * 2)[["age", "twice"]]
    assert "gradient" not in html(sure.corr(bounds={"twice": (0, 180)}, epsilon=60))
    both = survey().groupby("city")[["income", "age"]].mean(epsilon=1)
    assert "gradient" not in html(both)


def test_what_is_mostly_noise_is_grey_and_says_so(exact: None) -> None:
    counts = survey()["city"].value_counts(epsilon="0.0001")
    assert text(counts).count(EMPTY) == unbroken(html(counts)).count(EMPTY) == 3
    assert html(counts).count(f"{markup.QUIET} ") == 3  # the ticks
    assert markup.MARK not in html(counts)
    sure = survey()["city"].value_counts(epsilon=1)
    assert not [word for word in (EMPTY, DROWNED) if word in text(sure)]


def test_each_kind_of_card_marks_small_groups_in_words(exact: None) -> None:
    groups = survey().query("city != 'Bonn'").groupby("city")["age"]
    for answer in (
        groups.size(epsilon="0.01"),
        groups.mean(epsilon="0.01"),
        groups.mean(epsilon="0.01").to_frame("mean"),
        groups.agg(["count", "mean"], epsilon="0.02")[["mean"]],
        groups.median(interval=True, epsilon="0.4"),
    ):
        assert [f", {EMPTY}" in line for line in text(answer).splitlines()[1:3]] == [False, True]
        assert unbroken(html(answer)).count(f", {EMPTY}</td>") == 1
    few = dp.difference(groups.size(epsilon="0.01"), "Bonn")
    assert DROWNED not in text(few) + html(few)
    same = dp.derive(lambda n: n - 12_860, groups.size(epsilon="0.01"))
    assert [DROWNED in line for line in text(same).splitlines()[1:4]] == [True, False, False]
    assert html(same).count(f", {DROWNED}</td>") == 1
    wide = survey()[["income", "age"]].corr(epsilon="0.001")
    assert html(wide).count("†</span>") == 2, "of several columns a sign, which the foot explains"
    assert text(wide).count("†") == 3
    assert f"· † {DROWNED} · a plain" in " ".join(text(wide).splitlines()) + html(wide)


def test_an_axis_of_counts_begins_at_0_where_that_is_near(exact: None) -> None:
    """Else intervals would be slivers at its end."""
    for kept, ends in (
        (["Aachen", "Bonn"], ["12,440", "13,270"]),
        (["Aachen", "Köln"], ["0", "14,000"]),
    ):
        shown = html(survey()["city"].value_counts(epsilon="0.01").loc[kept])
        assert re.findall(r"float:\w+;line-height:1.5;quotes:'([^']*)", shown) == ends


def test_what_noise_selected_has_as_many_decimals_in_a_column() -> None:
    """Large numbers are whole, and whole ones of a column of counts, too."""
    nothing = [None] * 6
    values = [38.00400000810623, 7, 38.75, 8, 1234.0, 9]
    of = (values, [40.0] * 6, nothing, nothing, ["ranks"] * 6, [False] * 6, [False] * 6)
    cells = _numbers(Figures(*of), False, None, 2)
    assert [cell.value for cell in cells] == ["38.00", "7", "38.75", "8", "1,234", "9"]
    others = _numbers(
        Figures([0.1234, 38.004, 12.3456], *[each[:3] for each in of[1:]]), False, None, 1
    )
    assert [cell.value for cell in others] == ["0.1234", "38.0040", "12.3456"], "digits that it has"


def test_only_the_longest_texts_of_a_column_are_kept_on_a_line(exact: None) -> None:
    """Of 60 rows each would cost 20 bytes, and they make the column as wide."""
    towns = ["Little Snoring", "St Ives", "Bonn", "A town whose name is long"]
    df = pd.DataFrame({"town": towns * 300})
    shown = html(df.dp.value_counts("town", keys={"town": towns}, epsilon=1))
    whole = re.findall(r'<th style="white-space:nowrap;[^>]*>([^<]*)', shown)
    assert whole == ["Little Snoring"]


def test_many_labels_are_left_out_as_by_pandas(exact: None) -> None:
    counts = survey()["age"].value_counts(keys=list(range(1000)), epsilon=1)
    lines = text(counts).splitlines()
    assert len(lines) == 1 + 10 + 1 + 1
    assert lines[6].startswith("…")
    assert ">… 990 more</td>" in html(counts)
    assert "all 1,000 hold simultaneously" in lines[-1]
    with pd.option_context("display.max_rows", 4):
        assert len(text(counts).splitlines()) == 1 + 4 + 1 + 1
    with pd.option_context("display.max_rows", None):
        assert len(text(counts).splitlines()) == 1002
    wide = survey().crosstab("city", "age", keys={"age": list(range(30))}, epsilon=1)
    assert text(wide).splitlines()[0].count("…") == 1


def test_labels_have_what_they_are_part_of_in_common() -> None:
    """A copy for each label took 24 GB for the card of a million."""
    df = pd.DataFrame({"k": list(range(40)) * 2, "j": list("ab") * 40})
    private, keys = df.dp, list(range(40))
    asked = {
        "counts": private["k"].value_counts(keys=keys, epsilon=1),
        "shares": private["k"].value_counts(keys=keys, normalize=True, epsilon=1),
        "shares of a table": private.crosstab(
            "k", "j", keys={"k": keys, "j": ["a", "b"]}, normalize="all", epsilon=1
        ),
    }
    for name, answer in asked.items():
        record = dp.record(answer)
        wholes = {id(form.whole) for form in record._forms if form.whole}
        found = record._statistic.samples(record._noisy, record._law, None)
        assert len({id(each.cells) for each in found}) == 1, name
        assert len(wholes) == (name != "counts"), name


def test_an_answer_that_a_preview_made_up_shows_no_number(exact: None) -> None:
    with dp.preview():
        counts = survey()["city"].value_counts(epsilon=1)
    assert text(counts).count("no answer") == 3
    assert "preview: would cost ε = 1" in text(counts)
    assert dp.ledger().spent == 0


def test_labels_are_escaped(exact: None) -> None:
    rows = pd.Series(["<b>x</b>", "&"] * 50, name="<i>")
    found = html(rows.dp.value_counts(keys=["<b>x</b>", "&"], epsilon=1))
    assert "<b>" not in found
    assert "<i>" not in found
    assert "&lt;b&gt;x" in found


# --- where there is a card, and where not ---------------------------------------------------------


@pytest.mark.parametrize("name", [*ops.EVERY, *ops.OF_UNITS, *ops.UNKNOWN, *ops.TESTED])
@pytest.mark.filterwarnings("ignore:the smallest or largest")
def test_every_series_and_frame_has_a_card(name: str, exact: None) -> None:
    dp.session(epsilon=1000, delta="0.01")
    private = dp.protect(ops.SCHEMA.copy(), "cards", unit="owner", max_rows=3)
    answer = ops.released(name, private)
    if not isinstance(answer, pd.Series | pd.DataFrame):
        assert card_of(answer) is None
        return
    said, shown = text(answer), html(answer)
    assert said.endswith(f"a plain pandas {type(answer).__name__}")
    for row in card_of(answer).rows:  # type: ignore[union-attr]
        for cell in [] if row is None else row.cells:
            assert cell.value in said
            assert cell.note in said
            assert cell.value in shown


def test_what_no_longer_matches_is_shown_as_by_pandas(shell: Any, exact: None) -> None:
    counts = survey()["city"].value_counts(epsilon=1)
    table = survey().groupby("city")[["income", "age"]].mean(epsilon=1)
    moved = table.copy()
    moved.iloc[0, 0] += 1
    renamed = table.rename(columns={"age": "years"}), counts.rename({"Bonn": "Aachen"})
    others = pd.Series([1, 2]), pd.DataFrame({"a": [1]})
    for other in (counts / 2, table / 2, moved, *renamed, *others):
        shown = data(shell, other)
        assert shown["text/plain"] == repr(other)
        assert shown.get("text/html") == getattr(other, "_repr_html_", lambda: None)()
    parts = counts.head(1), table[["age"]], table.T
    for same in (counts, counts.sort_index(), *parts, counts.to_frame()):
        assert "dppandas-card" in data(shell, same)["text/html"]
        assert "95 %" in data(shell, same)["text/plain"]
        assert "95 %" not in str(same)  # print stays pandas'
        assert type(same) in (pd.Series, pd.DataFrame)


def test_answers_whose_labels_have_moved_keep_their_errors_in_view(shell: Any, exact: None) -> None:
    """Found: `groupby([…]).mean().unstack()`, which loses `attrs`, was shown without any error."""
    both = survey().groupby(["city", "away"], keys={"away": [True, False]})
    means, counts = both["income"].mean(epsilon=1), both.size(epsilon=1)
    wide = means.unstack()
    (head, *rows), said = text(wide).splitlines(), {row.label: row.cells for row in drawn(means)}
    assert head.startswith("city \\ away")
    assert "a plain pandas DataFrame" in rows[-1]
    for row in drawn(wide):
        for column, cell in zip(wide.columns, row.cells, strict=True):
            assert said[f"{row.label}, {column}"] == [cell]
    for same in (wide, wide.T, wide.iloc[:, :1], wide[True], counts.unstack("city"), wide.stack()):
        assert "dppandas-card" in data(shell, same)["text/html"]
        assert "95 %" in data(shell, same)["text/plain"]
    plain_rows = pd.DataFrame({"city": CITIES, "income": [1.5, 2.5, 3.5]}).set_index("city")
    for other in (wide * 2, wide.round(1), means.groupby("city").sum(), plain_rows):
        assert data(shell, other)["text/plain"] == repr(other)


class Own(pd.DataFrame):
    """A frame with a display of its own, as other libraries have them."""

    @property
    def _constructor(self) -> Any:
        return Own

    def _repr_html_(self) -> str:
        return "<p>own</p>"


class Quiet(pd.Series):
    """A Series whose display is switched off."""

    def _repr_html_(self) -> None:
        return None


def test_derived_classes_keep_their_display(shell: Any, exact: None) -> None:
    table = survey().groupby("city")[["income", "age"]].mean(epsilon=1)
    own = Own(table)
    own.attrs = dict(table.attrs)
    assert data(shell, own)["text/html"] == "<p>own</p>"
    assert data(shell, own)["text/plain"] == repr(own)
    assert "text/html" not in data(shell, Quiet([1]))


def test_formatters_of_others_stay_and_come_back(exact: None) -> None:
    shell = InteractiveShell.instance()
    forms = shell.display_formatter.formatters
    forms["text/html"].for_type(pd.Series, lambda series: f"<i>{len(series)}</i>")
    forms["text/plain"].for_type(pd.Series, lambda series, printer, cycle: printer.text("mine"))
    counts = survey()["city"].value_counts(epsilon=1)
    try:
        shell.run_line_magic("load_ext", "dppandas")
        assert "dppandas-card" in data(shell, counts)["text/html"]
        assert data(shell, counts / 2) == {"text/html": "<i>3</i>", "text/plain": "mine"}
        shell.run_line_magic("unload_ext", "dppandas")
        assert data(shell, counts) == {"text/html": "<i>3</i>", "text/plain": "mine"}
        assert pd.DataFrame not in forms["text/html"].type_printers
    finally:
        InteractiveShell.clear_instance()


def test_an_import_alone_loads_nothing_and_a_session_does() -> None:
    code = (
        "import pandas as pd, dppandas as dp, sys\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "s = InteractiveShell.instance()\n"
        "from dppandas import *\n"
        "print(len(s.extension_manager.loaded), 'dppandas.display.notebook' in sys.modules)\n"
        "c = pd.Series(['a']).dp.value_counts(keys=['a'], epsilon=1)\n"
        "print('dppandas-card' in s.display_formatter.format(c)[0]['text/html'])\n"
        "s.run_line_magic('unload_ext', 'dppandas')\n"
        "dp.session(epsilon=2)\n"
        "print(s.display_formatter.format(c)[0] == {'text/plain': repr(c)})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False", "True", "True"]


def test_a_big_answer_is_matched_without_a_look_at_each_label(
    exact: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its own order an answer of any length is compared array by array."""
    from dppandas.release.answers import matching

    keys = [f"k{i}" for i in range(5000)]
    counts = pd.Series(["k1"] * 9, name="k").dp.value_counts(keys=keys, epsilon=1)
    looked: list[Any] = []
    monkeypatch.setattr(matching, "comparable", looked.append)
    assert results.shown_in(counts).places.size == 5000
    assert results.claimed(counts / 2) is not None
    assert card_of(counts / 2) is None
    assert looked == []


# --- equal markup under every pandas --------------------------------------------------------------


def gallery() -> dict[str, str]:
    p = survey()
    return {
        "counts": html(p["city"].value_counts(epsilon="0.01")),
        "means": html(p.groupby("city")[["income", "age"]].mean(epsilon=1)),
        "describe": html(p[["income", "age"]].describe(epsilon=1)),
        "corr": html(p[["income", "age"]].corr(epsilon=1)),
        "crosstab": html(p.crosstab("city", "away", keys={"away": [True, False]}, epsilon=1)),
        "hist": html(p["age"].hist(bins=7, range=(18, 97.6), epsilon="0.001")),
        "times": html(
            p.groupby("city")["since"].mean(bounds=("2020-01-01", "2023-01-01"), epsilon=1)
        ),
        "mode": html(p["city"].mode(epsilon=1)),
        "median": html(p.groupby("city")["income"].median(epsilon=1)),
        "levels": html(
            p.groupby(["city", "away"], keys={"away": [True, False]})[["income", "age"]].agg(
                ["mean", "count"], epsilon=3
            )
        ),
        "noise": html(p["city"].value_counts(epsilon="0.0001")),
    }


def test_markup_is_the_same_under_every_pandas(frozen: Callable[[int], None]) -> None:
    """To write the file anew, look at it in a browser, and say why in the commit."""
    frozen(3)
    page = "\n".join(f"<h2>{name}</h2>\n{card}" for name, card in gallery().items()) + "\n"
    dp.reset()
    again = "\n".join(f"<h2>{name}</h2>\n{card}" for name, card in gallery().items()) + "\n"
    assert page == again  # no random ids
    assert page == GOLDEN.read_text("utf-8")


def test_markup_is_what_an_untrusted_notebook_may_show() -> None:
    """JupyterLab's sanitiser takes away scripts, styles and pictures that aren't on its list. Of
    ours these are the sheet by which rows stack, and that a table which scrolls takes the focus."""
    page = GOLDEN.read_text("utf-8")
    page = re.sub(r'<style>[^<]*</style>|(?<=") tabindex="0"', "", page)
    tags = {*re.findall(r"<([a-z0-9]+)", page)} - {"h2"}
    assert tags <= {
        "div", "table", "thead", "tbody", "tr", "th", "td", "span", "br", "q", "details", "summary",
    }  # fmt: skip
    names = {*re.findall(r'([\w-]+)="', page)}  # of them it leaves these on all of these tags
    assert names <= {"class", "style", "colspan", "scope"}


@given(st.floats(1e-9, 1e12), st.floats(-1e12, 1e12))
def test_a_rounded_error_is_never_too_small_nor_far_too_large(error: float, value: float) -> None:
    of = ([value], [error], [value - error], [value + error], ["rows"], [False], [False])
    (cell,) = _numbers(Figures(*of), False, None, 1)
    shown, off = (float(x.replace(",", "")) for x in (cell.value, cell.error.removeprefix("± ")))
    assert error * (1 - 1e-8) <= off <= 1.11 * error
    assert abs(shown - value) <= 0.051 * error + math.ulp(value)


def test_synthetic_rows_say_that_they_are_nobodys(shell: Any) -> None:
    """Also those that pandas keeps of them. They stay a DataFrame."""
    made = dp.synthesize(survey()[["city", "away"]], rows=40, epsilon=1)
    said = "synthetic · ε = 1 · not people"
    assert type(made) is pd.DataFrame
    for shown in (made, made.head(3), made[made["away"]]):
        found = data(shell, shown)
        assert found["text/plain"].startswith(f"{said}\n")
        assert found["text/plain"].endswith(repr(shown))
        assert f"<b>{said}</b>" in unbroken(found["text/html"])
        assert found["text/html"].endswith(shown._repr_html_())
    assert data(shell, made["city"])["text/plain"].startswith(said)
    for other in (pd.DataFrame({"city": CITIES}), survey()["city"].value_counts(epsilon=1)):
        assert "not people" not in "".join(data(shell, other).values())
