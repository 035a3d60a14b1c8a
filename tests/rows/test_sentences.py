"""What is told in sentences breaks between words, in a terminal and in each host."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pandas as pd
import pytest
from IPython.lib.pretty import pretty
from notes import noted

import dppandas as dp
from dppandas.errors import wrapped
from dppandas.rows.sentences import WIDTH, ShownInSentences, in_lines

CAFES = {
    "spent": [3.0, 4.0, 5.0] * 400, "paid": [True, False, False] * 400,
    "town": ["Ely", "Bath"] * 600,
}  # fmt: skip
LONG = " and ".join(f"spent > {i}" for i in range(12))


@pytest.fixture
def cafes() -> Any:
    dp.session(epsilon=50, delta="1e-5")
    domain = {"spent": (0, 9), "paid": [False, True], "town": ["Ely", "Bath"]}
    return dp.protect(pd.DataFrame(CAFES), name="cafes", version="1", domain=domain)


def shown(p: Any) -> dict[str, Any]:
    """What a cell may show that is told in words."""
    few = p.query(LONG)
    with dp.split(epsilon=1, into=3) as split:
        p.count()
    with dp.batch(epsilon=1, delta=1e-6) as batch:
        promised = batch.add(few["spent"].mean())
    with dp.preview():
        made_up = dp.models.posterior(p["town"], "categorical", epsilon=1)
    model = dp.models.KMeans(n_clusters=2, epsilon=1).fit(p[["spent"]])
    answer, rows = p.count(epsilon=1), pd.Series(["a", "b"] * 50)
    return {
        "unreleased": few["spent"].mean(), "bundle": few["spent"].agg(["mean", "count"]),
        "posterior": dp.models.posterior(few["paid"], epsilon=1), "made up": made_up,
        "split": split, "promised": promised, "model": model, "releases": model.releases_,
        "power": dp.stats.power("ttest_ind", n=900, effect=0.2, epsilon=1),
        "test": dp.stats.binomtest(p["paid"], p=0.3, epsilon=1),
        "noise": dp.record(answer).noise, "loss": dp.privacy_loss(answer),
        "responses": dp.local.randomized_response(rows, keys=["a", "b"], epsilon=1),
        "linear": dp.models.OLS(p["spent"], p[["spent"]], epsilon=1),
    }  # fmt: skip


def words(said: str) -> str:
    return " ".join(re.sub("[<>]", "", said).split())


def test_all_that_is_told_in_words_wraps_between_them(cafes: Any) -> None:
    for name, value in shown(cafes).items():
        with noted(name):
            text, html = pretty(value), value._repr_html_()
            left = "" if name != "releases" else value._paid
            assert isinstance(value, ShownInSentences)
            assert max(map(len, text.splitlines())) <= WIDTH
            assert not re.search("[=±≈] | [=%]", re.sub("<b>.*?</b>|<[^>]*>", "", html))
            assert not re.search("[=±≈]$|^%", text, re.MULTILINE)
            told = words(unescape(re.sub("<[^>]*>", " ", html)).replace(" · ", ": ", 1))
            assert told.replace(" :", ":").removeprefix(left).strip() == words(text)


def test_parts_of_a_frame_show_its_card(cafes: Any) -> None:
    for part, card in [
        (cafes.loc, cafes), (cafes["town"].str, cafes["town"]), (cafes.groupby("town"), None),
    ]:  # fmt: skip
        with noted(type(part).__name__):
            html = part._repr_html_()
            assert "<table" in html
            assert card is None or html.endswith(card._repr_html_())


def test_a_repr_is_in_a_line_and_a_refusal_quotes_it(cafes: Any) -> None:
    """Whatever terminal there is: it may stand in a list, or in a log."""
    asked = cafes.query(LONG)["spent"].mean()
    assert len(repr(asked)) > WIDTH
    assert "\n" not in repr(asked)
    with pytest.raises(dp.errors.UnsupportedVerb) as raised:
        _ = asked.strange
    assert "\n" not in str(raised.value)


def test_lines_are_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch, cafes: Any) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for name, value in {**shown(cafes), "frame": cafes, "column": cafes["spent"]}.items():
        for columns in (300, 80, 40):
            with noted(name, columns):
                monkeypatch.setenv("COLUMNS", str(columns))
                lines = pretty(value).splitlines()
                lines = lines if name != "frame" else lines[: -len(CAFES) - 1]
                assert name == "noise" or max(map(len, lines)) <= min(columns, WIDTH)


def test_a_number_is_not_parted_from_what_it_is_of() -> None:
    said = "costs ε = 10.5, would give ± 12,345 at 95 % of all that was asked"
    for wide in range(12, 70):
        lines = wrapped(said, wide)
        assert " ".join(lines) == said
        assert all("ε = 10.5" in line for line in lines if "ε" in line)
        assert all("± 12,345" in line for line in lines if "±" in line)
        assert all("95 %" in line for line in lines if "%" in line)
    assert in_lines("  a " + "word " * 30).splitlines()[1].startswith("  word")
