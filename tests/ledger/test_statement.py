"""The privacy statement: its figures are those of the table, its words hold, and it is one file."""

import csv
import json
import math
import os
import re
from fractions import Fraction
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from effort import calls
from ledgers import DRAFT, agreed, change, limit
from refusals import raising, refusal

import dppandas as dp
from dppandas import __main__
from dppandas.errors import QueryError, StoreError, unbroken
from dppandas.ledger import report
from dppandas.ledger.earlier_questions import earlier
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import Entry
from dppandas.ledger.storage.verify import verified
from dppandas.privacy.accounting.composition import Part
from dppandas.privacy.accounting.losses import Epsilon, Loss

SESSIONS: dict[str, dict[str, Any]] = {
    "no limit": {}, "pure": {"epsilon": 2}, "approximate": {"epsilon": 2, "delta": 1e-6},
    "zcdp": {"rho": "0.5", "delta": 1e-6, "delta_releases": 1e-7},
}  # fmt: skip


class Page(HTMLParser):
    """What a reader of the page has: its words, its tables and its outline."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self._rows: list[list[str]] = []
        self._caption = ""
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "meta":
            return
        self._open.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self.words.append(data)
        if "caption" in self._open:
            self._caption += data
        elif "td" in self._open or "th" in self._open:
            mark = "|" if self._open[-1] == "small" else ""
            self._rows[-1][-1] += mark + data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def table(self, start: str) -> pd.DataFrame:
        (rows,) = (rows for caption, rows in self.tables.items() if caption.startswith(start))
        return pd.DataFrame(rows[1:], columns=rows[0])


def asked(session: dict[str, Any], store: Path | None = None) -> dp.types.Ledger:
    """A ledger with releases of all kinds."""
    dp.session(store=store, **session)
    df = pd.DataFrame({"a": range(100), "g": list("ab") * 50, "u": [i // 4 for i in range(100)]})
    people = dp.protect(df, name="people", version="1")
    visits = dp.protect(df[["a", "u"]], name="visits", version="b", unit="u", max_rows=2)
    people.count(epsilon=0.25)
    people.query("a < 3")["g"].value_counts(keys=["a", "b"], epsilon="1/3")
    people["a"].median(bounds=(0, 100), epsilon="0.1")
    visits["a"].sum(bounds=(0, 10), epsilon="0.1")
    dp.private(df, unit="row").count(epsilon="0.1")
    if "rho" in session:
        people.count(rho="0.01")
    elif "delta" in session:
        people.count(epsilon="0.1", delta="1e-7", mechanism="gaussian")
    people.count(epsilon=0.25)  # again: replayed
    return dp.ledger()


def page(ledger: dp.types.Ledger, folder: Path) -> Page:
    ledger.export(folder / "report.html")
    return Page((folder / "report.html").read_text("utf-8"))


def charges(ledger: dp.types.Ledger) -> pd.DataFrame:
    table = ledger.to_frame()
    return table[table["status"] != "replayed"]


SYMBOLS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}


@pytest.mark.parametrize("kept", ["memory", "file"])
@pytest.mark.parametrize("session", SESSIONS)
def test_the_page_has_the_figures_of_the_table(session: str, kept: str, tmp_path: Path) -> None:
    if (session, kept) == ("no limit", "file"):
        return
    ledger = asked(SESSIONS[session], tmp_path / "a.ledger" if kept == "file" else None)
    table, said = charges(ledger), page(ledger, tmp_path)
    releases = said.table("Every release")
    whole = (table["query"] + "; " + table["details"]).str.removesuffix("; ")
    for column, expected in {
        "release": table.index.astype(str), "query": whole, "lineage": table["lineage"],
        "error (95\N{NO-BREAK SPACE}%)": table["error"].replace("", "—").map(unbroken),
        "outcome": table["status"],
        "date": table["time"].dt.strftime("%Y-%m-%d"),
        "mechanism": table["mechanism"] + " |scale " + table["scale"],
        "source": table["source"] + " |version " + table["version"],
    }.items():  # fmt: skip
        assert releases[column].tolist() == expected.tolist(), column
    sources = said.table("Sources").set_index("source")
    budget = said.table("Budget").set_index("sum")
    counted = [name for name in SYMBOLS if name in table]
    for name in counted:
        exact = releases[SYMBOLS[name]].str.partition(" |≈ ")[0].map(Fraction)
        assert exact.astype(float).tolist() == table[name].tolist()
        assert sum(exact) == getattr(ledger.loss, name)
        assert _sum(budget, "spent", SYMBOLS[name]) == getattr(ledger.loss, name)
        for source, own in exact.groupby(table["source"].to_numpy()):
            assert _sum(sources, source, SYMBOLS[name]) == sum(own)
        if ledger._left is not None:
            assert _sum(budget, "left", SYMBOLS[name]) == getattr(ledger._left, name)
            assert _sum(budget, "budget", SYMBOLS[name]) == getattr(ledger._terms.limit, name)
    assert not {SYMBOLS[n] for n in SYMBOLS if n not in counted} & {*releases, *budget, *sources}
    assert sources["releases"].astype(int).to_dict() == table["source"].value_counts().to_dict()
    assert "1 answer was repeated" in said.text
    assert len(ledger.to_frame()) == len(table) + 1


def _sum(table: pd.DataFrame, row: Any, column: str) -> Fraction:
    exact, *about = table.loc[row, column].split(" |≈ ")
    assert all(abs(float(a) - float(Fraction(exact))) < 1e-5 for a in about)
    return Fraction(exact)


@pytest.mark.parametrize("session", SESSIONS)
def test_programs_read_the_same_exactly(session: str, tmp_path: Path) -> None:
    ledger = asked(SESSIONS[session])
    ledger.export(tmp_path / "r.json")
    ledger.export(str(tmp_path / "r.CSV"))
    said = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert list(said) == [
        "form", "dppandas", "ledger", "measure", "neighbours", "budget", "spent", "left",
        "may_lack_charges", "replays", "sources", "releases", "deployment",
    ]  # fmt: skip
    assert (said["form"], said["dppandas"], said["replays"]) == (2, dp.__version__, 1)
    entries = [e for e in ledger._entries() if e.status != "replayed"]
    for release, entry in zip(said["releases"], entries, strict=True):
        for name, exact in release["loss"].items():
            assert Fraction(exact) == getattr(entry.loss, name)
    spent = {name: Fraction(value) for name, value in said["spent"].items()}
    assert spent == {name: getattr(ledger.loss, name) for name in spent}
    assert spent == {n: sum(Fraction(r["loss"][n]) for r in said["releases"]) for n in spent}
    if ledger._left is None:
        assert said["budget"] is said["left"] is None
    else:
        for name, left in said["left"].items():
            assert Fraction(left) == Fraction(said["budget"][name]) - spent[name]
    table = ledger.to_frame()
    read = pd.read_csv(tmp_path / "r.CSV", dtype=str, keep_default_na=False)
    assert list(read) == [table.index.name, *table.columns]
    for name in spent:
        assert read[name].map(Fraction).astype(float).tolist() == table[name].tolist()
    for name in ("source", "version", "part", "query", "error", "status", "unit", "kernel"):
        assert read[name].tolist() == table[name].tolist()
    times = table["time"].dt.tz_localize("UTC")  # a file says the zone
    assert pd.to_datetime(read["time"], format="ISO8601").tolist() == times.tolist()


def test_what_rho_means_is_told_of_the_whole_budget_alone(tmp_path: Path) -> None:
    ledger = asked(SESSIONS["zcdp"])
    text = page(ledger, tmp_path).text
    told = {float(x) for x in re.findall(r"ε = ([\d.]+\d)", text)}
    (epsilon,) = told  # no other ε stands anywhere
    assert ledger._terms.epsilon is not None
    assert 0 <= epsilon - float(ledger._terms.epsilon) < 1e-3  # rounded up
    assert "at δ = 1.1e-06" in text
    ledger.export(tmp_path / "r.json")
    budget = json.loads((tmp_path / "r.json").read_text())["budget"]
    assert Fraction(budget["means_epsilon"]) == ledger._terms.epsilon
    assert budget["at_delta"] == "1.1e-06"


def test_no_promise_is_told_stronger_than_it_is() -> None:
    for epsilon in map(Epsilon, ("0.001", "1/3", "2", "9.99", "10", "20", "30")):
        factor, power = re.findall(r"(.*) \(e<sup>(.*)</sup>\)", report._factor(epsilon))[0]
        assert Fraction(power) >= epsilon
        assert math.exp(epsilon) <= float(factor.replace(",", "")) < 1.02 * math.exp(epsilon)
    for large in (31, 100, 700, 10**5):
        digits = re.findall(r"10<sup>([\d,]+)</sup> \(e<sup>", report._factor(Epsilon(large)))[0]
        assert large / math.log(10) <= int(digits.replace(",", "")) < large / math.log(10) + 1
    assert report._factor(Epsilon(10**400)) == "e<sup>1E+400</sup>"
    for epsilon in map(Epsilon, ("0.001", "1/3", "2", "9.99")):
        told = float(re.findall(r"be ([\d.]+) % sure", report._meant(epsilon, True))[0])
        assert 0 <= told - 100 / (1 + math.exp(-epsilon)) < 0.01


@pytest.mark.parametrize(("terms", "says"), [
    ({"epsilon": 1}, "at most 2.72 (e1) times what it would be"),
    ({"epsilon": 1}, "may afterwards be 73.11 % sure of it, at most"),
    ({"epsilon": 20}, "at most 486,000,000 (e20) times what it would be"),
    ({"epsilon": 20}, "practically no protection"),
    ({"epsilon": 12, "delta": 1e-6}, "practically no protection"),
])  # fmt: skip
def test_what_a_loss_means_is_told_in_numbers_that_people_know(
    terms: Any, says: str, tmp_path: Path
) -> None:
    dp.session(**terms)
    text = "".join(page(dp.ledger(), tmp_path).text.split())
    assert "".join(says.split()) in text
    assert ("practically" in text) == (terms["epsilon"] >= report.WEAK)


NASTY = "<script>alert('&')</script>\"\u202e\n\x00\ud800 a"


def test_nothing_that_a_ledger_says_becomes_markup(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "<b>&.ledger", limit(2))
    nasty = Entry(
        0, 0.0, NASTY.replace("\ud800", ""), NASTY, earlier(NASTY), Loss(Epsilon(1)), NASTY,
        NASTY, NASTY, None, version=NASTY, unit=NASTY, path=(Part(NASTY, NASTY, 1),), key="",
        kernel=NASTY,
    )  # fmt: skip
    store.add([nasty._replace(path=())], agreed)
    ledger = dp.types.Ledger(store.terms, store)
    said = page(ledger, tmp_path)
    assert [tag for tag, _ in said.tags] == [tag for tag, _ in Page(page_of_one(tmp_path)).tags]
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "\u202e" not in text
    assert "\x00" not in text
    assert "\\u202e\\n\\x00\\ud800" in said.text
    for ending in ("json", "csv", "yaml"):
        ledger.export(tmp_path / f"r.{ending}")
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["releases"][0]["query"] == NASTY
    pd.read_csv(StringIO((tmp_path / "r.csv").read_text("utf-8").replace("\x00", "")))


FORMULAS = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1", "-1+1", "--5"]
TEXTS = ["shop", "a=b", "-5", "+5", "-1.5e3", "1/3", "± 30", "'=1", "a\r=1", 'a","=1', ""]


def test_no_cell_of_a_table_for_spreadsheets_is_a_formula(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.ledger", limit(99))
    for text in [*FORMULAS, *TEXTS]:
        entry = Entry(
            0, 0.0, text, text, earlier(text), Loss(Epsilon(1)), text, text, text, None,
            version=text, unit=text, key="", kernel=text,
        )  # fmt: skip
        store.add([entry], agreed)
    dp.types.Ledger(store.terms, store).export(tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = ("source", "version", "lineage", "query", "mechanism", "scale", "error", "unit")
    expected = [f"'{text}" for text in FORMULAS] + TEXTS
    for name in names:
        assert [row[name] for row in rows] == expected
    assert {row["epsilon"] for row in rows} == {"1"}


def page_of_one(folder: Path) -> str:
    store = SqliteStore(folder / "plain.ledger", limit(2))
    said = (0, 0.0, "s", "asserted", earlier("q"), Loss(Epsilon(1)), "m", "1", "e", None)
    plain = Entry(*said, version="1", unit="u")
    store.add([plain], agreed)
    dp.types.Ledger(store.terms, store).export(folder / "plain.html")
    return (folder / "plain.html").read_text("utf-8")


def test_the_page_needs_nothing_from_anywhere_and_can_be_heard(tmp_path: Path) -> None:
    said = page(asked(SESSIONS["pure"]), tmp_path)
    text = (tmp_path / "report.html").read_text("utf-8")
    assert not re.search(r"https?:|url\(|@import|src=|href=|<script|\son\w+=", text)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    tags = [tag for tag, _ in said.tags]
    assert [t for t in tags if re.fullmatch(r"h\d", t)] == ["h1"] + ["h2"] * 5
    assert tags.count("title") == tags.count("main") == 1
    heads = [about for tag, about in said.tags if tag == "th"]
    assert {about.get("scope") for about in heads} == {"col", None}  # rows': the first of each
    assert tags.count("caption") == tags.count("table") == 3
    for _, about in said.tags:
        assert about.get("role") not in ("img", "region") or about["aria-label"]
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_its_colours_can_be_told_apart(scheme: int) -> None:
    """Contrast as WCAG 2 has it: text 7, soft text 4.5, marks 3."""
    style = report._STYLE.split("@media (prefers-color-scheme:dark)")[scheme].split("}}")[0]
    found = dict(re.findall(r"--(\w+):(#\w+)", style))

    def light(name: str) -> float:
        text = found[name][1:]
        text = text if len(text) == 6 else "".join(2 * c for c in text)
        parts = [int(text[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    def contrast(one: str, other: str) -> float:
        a, b = sorted([light(one), light(other)])
        return (b + 0.05) / (a + 0.05)

    for paper in ("paper", "band"):
        assert contrast("ink", paper) >= 7
        assert contrast("soft", paper) >= 4.5
        assert contrast("mark", paper) >= 4.5
    assert contrast("mark", "line") >= 3


def test_what_has_no_answer_counts_all_the_same(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.ledger", limit(2))
    draft = Entry(
        0, 0.0, "s", "verified", earlier("count"), Loss(Epsilon("0.5")), "m", "1", "", None
    )
    store.add([draft._replace(path=(Part("sex", k, 1),)) for k in "fm"], agreed)
    store.settle(1, "failed")
    ledger = dp.types.Ledger(store.terms, store)
    said = page(ledger, tmp_path)
    unknown = "charged; no answer was known when this was written"
    outcomes = ["charged; failed without an answer", unknown]
    assert said.table("Every release")["outcome"].tolist() == outcomes
    queries = [f"count |in the part sex = {k}" for k in "fm"]
    assert said.table("Every release")["query"].tolist() == queries
    assert _sum(said.table("Budget").set_index("sum"), "spent", "ε") == Fraction(1, 2)
    assert ledger.to_frame()["part"].tolist() == ["sex = f", "sex = m"]


def test_an_empty_ledger_has_a_statement(tmp_path: Path) -> None:
    text = page(dp.ledger(), tmp_path).text
    assert "0 releases" in text
    assert "Nothing has been released" in text
    assert "No budget was fixed beforehand" in text
    dp.ledger().export(tmp_path / "r.csv")
    assert list(pd.read_csv(tmp_path / "r.csv"))[1:] == list(dp.ledger().to_frame())


def test_its_head_is_that_of_the_file_and_verifies(tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "a.ledger"
    ledger = asked(SESSIONS["pure"], file)
    text = page(ledger, tmp_path).text
    (command,) = re.findall(r"dppandas (verify a.ledger --head [0-9a-f]{64})", text)
    assert str(tmp_path) not in text  # a path tells of the machine
    asserted = (charges(ledger)["lineage"] == "asserted").sum()
    assert f"{asserted} of 5 releases have asserted lineage" in text
    monkeypatch.chdir(tmp_path)
    assert __main__.main(command.split()) == 0
    dp.reset()
    before = file.read_bytes()
    assert __main__.main(["export", str(file), str(tmp_path / "again.html")]) == 0
    assert file.read_bytes() == before
    again, first = (Page((tmp_path / f"{n}.html").read_text("utf-8")) for n in ("again", "report"))
    assert again.table("Every release").equals(first.table("Every release"))
    assert verified(file).head in command
    change(file, "DELETE FROM events WHERE number = (SELECT max(number) FROM events)")
    assert __main__.main(command.split()) == 1


def test_a_failed_write_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    ledger = dp.session(epsilon=1, store=tmp_path / "ledger.json").ledger
    (tmp_path / "folder.html").mkdir()
    before = sorted(os.listdir(tmp_path))
    refused: list[tuple[Any, type[Exception], str]] = [
        ("report.txt", QueryError, r"must end in \.html .*, \.json .*, \.csv .* or \.yaml"),
        ("report", QueryError, r"must end in .html"),
        ("", QueryError, "must be the path of a file"),
        (3, QueryError, "must be the path of a file"),
        (pd.DataFrame({"secret": [1]}), QueryError, "path=a DataFrame must be"),
        (tmp_path / "folder.html", StoreError, "is a folder"),
        (tmp_path / "none" / "r.html", StoreError, "there is no folder"),
        (tmp_path / "ledger.json", StoreError, "is the ledger itself"),
    ]
    for path, kind, said in refused:
        refusal(lambda path=path: ledger.export(path), said, kind)
    denied = raising(PermissionError(13, "Permission denied"))
    monkeypatch.setattr(os, "fsync", denied)  # root may write everywhere
    said = "can't be written: Permission denied"
    refusal(lambda: ledger.export(tmp_path / "r.html"), said, StoreError)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("ending", ["html", "json", "csv", "yaml"])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_no_half_of_a_file_is_ever_seen(
    ending: str, step: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """Neither where the disk is full, nor where somebody interrupts."""
    ledger, file = dp.ledger(), tmp_path / f"r.{ending}"
    file.write_text("as it was")
    for kind in (OSError(28, "No space left on device"), KeyboardInterrupt):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, raising(kind))
            error = StoreError if isinstance(kind, OSError) else KeyboardInterrupt
            with pytest.raises(error):
                ledger.export(file, replace=True)
        assert file.read_text() == "as it was"
        assert os.listdir(tmp_path) == [file.name]
    file.chmod(0o640)
    ledger.export(file, replace=True)
    assert "as it was" not in file.read_text("utf-8")
    assert (os.listdir(tmp_path), file.stat().st_mode & 0o777) == ([file.name], 0o640)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.html").symlink_to(tmp_path / "report.html")
    dp.ledger().export(tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


# --- the table ------------------------------------------------------------------------------------


@pytest.mark.parametrize("session", SESSIONS)
def test_the_table_has_the_same_columns_and_types_with_and_without_releases(session: str) -> None:
    dp.session(**SESSIONS[session])
    empty = dp.ledger().to_frame()
    dp.reset()
    full = asked(SESSIONS[session]).to_frame()
    counted = [name for name in SYMBOLS if name in full]
    assert list(full) == list(empty) == [
        "cell", "source", "version", "part", "lineage", "query", "details", *counted,
        "mechanism", "scale", "error", "status", "unit", "kernel", "time",
    ]  # fmt: skip
    typed = ["cell", *counted, "time"]
    assert full[typed].dtypes.equals(empty[typed].dtypes)
    assert full.index.dtype == empty.index.dtype == "int64"
    assert full["time"].dtype == "datetime64[ns]"  # in UTC; spreadsheets have no zones
    assert full["version"].tolist()[0] == "1"
    assert full["unit"].unique().tolist() == ["each row", "each 'u' (at most 2 rows)"]
    assert full["kernel"].str.len().tolist() == [8] * len(full)
    assert {type(value) for value in full.drop(columns=typed).to_numpy().ravel()} == {str}


def test_the_table_of_a_long_ledger_reads_each_entry_once() -> None:
    ledger = dp.ledger()
    draft = DRAFT._replace(loss=Loss(Epsilon("0.001")), kernel="k" * 16)
    ledger._store.add([draft] * 2000, agreed)
    assert calls(lambda: len(ledger.to_frame()) == 2000) < 150 * 2000  # 40
