"""`dp.table`: what a card shows, in plain Python and in the markup of reports and papers."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest

import dppandas as dp
from dppandas.display.cards import markup, plain
from dppandas.display.cards.card import card_of
from dppandas.errors import RecordError, wrapped

CITIES = ["Aachen", "Bonn", "A|B & 50 %"]


def survey() -> Any:
    i = np.arange(3000)
    df = pd.DataFrame({
        "city": np.array(CITIES, dtype=object)[i % 7 // 3], "age": 18 + i % 60,
        "stay": pd.to_timedelta(i % 200, unit="h"), "since": pd.Timestamp("2020-01-01"),
    })  # fmt: skip
    domain = {"city": CITIES, "age": (18, 90), "stay": (pd.Timedelta(0), pd.Timedelta("300h"))}
    return dp.protect(df, "survey", domain=domain)


def test_a_table_prints_what_the_card_shows(exact: None) -> None:
    ages = survey().groupby("city")["age"].agg(["count", "mean"], epsilon=1)
    card = card_of(ages)
    assert card is not None
    assert repr(dp.table(ages)) == plain.text(card)
    assert dp.table(ages)._repr_html_() == dp.table(ages).to_html() == markup.html(card)


def test_a_table_in_markdown(frozen: Callable[[int], None]) -> None:
    frozen(3)
    counts = survey()["city"].value_counts(epsilon="0.01")
    assert dp.table(counts).to_markdown().splitlines() == [
        "| city | count |",
        "| --- | ---: |",
        "| Aachen | 1,290 ± 410 |",
        "| Bonn | 1,290 ± 410 |",
        r"| A\|B & 50 % | 430 ± 410 |",
        "",
        "ε = 0.01 · 95 %, noise only: all 3 hold simultaneously",
    ]


def test_a_table_in_latex_has_numbers_that_siunitx_reads(exact: None) -> None:
    said = dp.table(survey().groupby("city")[["age", "stay"]].mean(epsilon=1)).to_latex()
    lines = said.splitlines()
    assert lines[0] == r"% \usepackage{booktabs, siunitx}"
    number = r"\\num\{[\d.]+ \+- [\d.]+\}"
    row = rf"Aachen & {number} & {number}~days \\\\"
    assert re.fullmatch(row, next(line for line in lines if line.startswith("Aachen")))
    assert r"A$|$B \& 50 \% & " in said
    assert said.count("{") - said.count(r"\{") == said.count("}") - said.count(r"\}")
    big = dp.table(survey()["city"].value_counts(epsilon="0.01")).to_latex()
    assert re.search(r"\\num\{-?\d+ \+- 410\}", big)  # without separators
    chosen = dp.table(survey()["city"].mode(epsilon=1)).to_latex()
    assert r"0 & Aachen (chosen, gap $\leq$ 4)" in chosen or r"0 & Bonn (chosen" in chosen


def test_a_table_as_a_frame_has_two_columns_for_each(exact: None) -> None:
    p = survey()
    counts, n = p["city"].value_counts(epsilon=1), p.count(epsilon=1)
    found = dp.table(counts).to_frame()
    assert found.columns.tolist() == ["count", "error"]
    assert found["count"].tolist() == counts.tolist()
    assert found["error"].tolist() == dp.record(counts).errors().tolist()
    assert found.index.equals(counts.index)
    both = dp.table(p.groupby("city")[["age", "stay"]].mean(epsilon=1)).to_frame()
    assert both.columns.tolist() == ["age", "age error", "stay", "stay error"]
    assert both.to_csv().splitlines()[0] == "city,age,age error,stay,stay error"
    assert dp.table(n).to_frame().to_numpy().tolist() == [[n, n.error()]]
    median = p.groupby("city")["age"].median(epsilon=1)
    assert dp.table(median).to_frame().columns[1] == "error in ranks"
    share = dp.derive(lambda c: c / c.sum(), counts)
    assert dp.table(share).to_frame().iloc[:, 1].tolist() == share.error().tolist()


def test_tables_have_all_rows_where_cards_leave_some_out(exact: None) -> None:
    counts = survey()["age"].value_counts(keys=range(300), epsilon=1)
    shown = dp.table(counts)
    assert len(repr(shown).splitlines()) == 1 + 10 + 1 + 1
    assert len(shown.to_markdown().splitlines()) == 2 + 300 + 2
    assert len(shown.to_frame()) == 300 == shown.to_latex().count(r" \\") - 1
    assert shown.to_html().count("<tr>") == 300


def test_what_is_no_answer_has_no_table(exact: None) -> None:
    counts = survey()["city"].value_counts(epsilon=1)
    for other in (counts / 2, pd.Series([1]), 3, survey().count()):
        with pytest.raises(RecordError):
            dp.table(other)


@pytest.mark.parametrize("name", [*ops.EVERY, *ops.OF_UNITS, *ops.UNKNOWN, *ops.TESTED])
@pytest.mark.filterwarnings("ignore:the smallest or largest")
def test_every_answer_has_a_table(name: str, exact: None) -> None:
    dp.session(epsilon=1000, delta="0.01")
    private = dp.protect(ops.SCHEMA.copy(), "tables", unit="owner", max_rows=3)
    shown = dp.table(ops.released(name, private))
    assert "ε = " in repr(shown)
    rows = shown.to_frame()
    assert len(shown.to_markdown().splitlines()) == len(rows) + 4
    assert shown.to_latex().count(r" \\") == len(rows) + 1


def test_estimates_of_responses_have_tables() -> None:
    design = dp.local.randomized_response(pd.Series([True, False] * 50), epsilon=1)
    assert re.search(r"0\.\d+ ± 0\.\d+", repr(dp.table(design.mean())))
    assert f"{design.mean():±}" in repr(dp.table(design.mean()))
    assert len(dp.table(design.value_counts()).to_frame()) == 2


def test_exports_hold_what_markup_would_read_otherwise(exact: None) -> None:
    """In LaTeX "[" after a row's end is an argument; in Markdown $ is a formula, and < is HTML."""
    keys = ["[1] x", "$a^2$", "<b>", "x" * 50 + " inside", "x" * 50 + " outside"]
    df = pd.DataFrame(
        {"k": np.array(keys)[np.arange(500) % 5], "sex": np.array(["f", "m"])[np.arange(500) % 2]}
    )
    p = dp.protect(df, "odd", domain={"k": keys, "sex": ["f", "m"]})
    counts = dp.table(p["k"].value_counts(epsilon=1))
    assert [line for line in counts.to_latex().splitlines() if line.startswith("[")] == []
    assert "{[}1] x & " in counts.to_latex()
    said = counts.to_markdown()
    assert r"| \$a^2\$ |" in said
    assert "| &lt;b> |" in said
    assert all(key in said for key in keys[3:]), "exports have whole labels"
    both = dp.table(p.groupby(["k", "sex"]).size(epsilon=1))
    labels = [line.split("  ")[0] for line in repr(both).splitlines()[1:11]]
    assert len({*labels}) == 10, "a terminal has different ones"
    assert max(map(len, labels)) <= 60


def test_latex_has_powers_of_ten_and_words_for_signs(exact: None) -> None:
    """siunitx reads no power of ten of one of two numbers, and a star would be significance."""
    tiny = pd.DataFrame({"x": [3e-12] * 50, "y": [1.0] * 50})
    p = dp.protect(tiny, "tiny", domain={"x": (0, 1e-11), "y": (0, 2)})
    said = dp.table(p["x"].mean(epsilon=1)).to_latex()
    assert re.search(r"\\num\{[\d.]+e-12\} \$\\pm\$ \\num\{[\d.]+e-1\d\}", said), said
    few = dp.table(p.groupby("y", keys=[1.0, 2.0])[["x"]].agg(["count", "mean"], epsilon=1))
    assert "*" in repr(few).replace("* may be empty", "")
    assert "* may be empty" in repr(few)
    lines = [line for line in few.to_latex().splitlines() if line.startswith("2 &")]
    assert all(", may be empty" in line and "*" not in line for line in lines)
    assert lines


def test_markdown_reads_nothing_in_labels(exact: None) -> None:
    keys = ["a\\|b", "*b*", "_i_", "snake_case", "`c`", "~~s~~", "[l](http://x)"]
    df = pd.DataFrame({"k": keys * 30})
    said = dp.table(df.dp["k"].value_counts(keys=keys, epsilon=1)).to_markdown()
    for label in (r"a\\\|b", r"\*b\*", r"\_i\_", "snake_case", r"\`c\`", r"\~\~s\~\~", r"\[l](h"):
        assert f"| {label}" in said, label


def test_names_and_questions_are_copied_as_they_are(exact: None) -> None:
    """No-break spaces stand in what we say of them alone: pandas would find no such column."""
    df = pd.DataFrame({"growth 5 %": [1.0, 2.0] * 50, "x": [3, 4] * 50})
    p = dp.protect(df, "names", domain={"growth 5 %": (0, 9), "x": [3, 4]})
    means = dp.table(p.groupby("x")[["growth 5 %"]].mean(epsilon=1)).to_html()
    assert ">growth 5 %</th>" in means
    assert "±\N{NO-BREAK SPACE}" in means
    assert "(10 % x) &gt; 3" in p.query("(10 % x) > 3")._repr_html_()
    assert "a\N{NO-BREAK SPACE}b" in wrapped("the column a\N{NO-BREAK SPACE}b has ε = 3", 30)[0]
