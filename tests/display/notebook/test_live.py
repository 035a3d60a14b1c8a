"""What the live ledger shows and computes: charts, pages, replays, and an ε not spent yet."""

import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledgers import DRAFT, agreed, limit
from operations import EVERY, UNKNOWN, letters, people, released, schema
from refusals import raising, refusal
from waiting import LIMIT, until

import dppandas as dp
from dppandas.display.notebook import view as view_module
from dppandas.display.notebook import whatif
from dppandas.display.notebook.cells import Cells
from dppandas.display.notebook.code import code_of
from dppandas.display.notebook.live import LOOK, Live, Watch
from dppandas.display.notebook.view import View
from dppandas.engines import parallel
from dppandas.errors import StoreError
from dppandas.ledger import charts, html, words
from dppandas.ledger.cells import attribute_to, show_beside_by
from dppandas.ledger.earlier_questions import earlier
from dppandas.ledger.ledger import Ledger, kernel
from dppandas.ledger.storage import schema as file_schema
from dppandas.ledger.storage import sqlite
from dppandas.ledger.storage.store import MemoryStore, Program
from dppandas.ledger.words import Row
from dppandas.privacy.accounting.composition import ParallelComposition, Part
from dppandas.privacy.accounting.losses import Epsilon, Loss
from dppandas.release.session import running
from dppandas.rows.figures import format_error


def filled(number: int, **more: Any) -> Ledger:
    """A ledger of so many entries, all of this kernel."""
    store = MemoryStore()
    store.add([DRAFT._replace(status="released", kernel=kernel(), **more)] * number, agreed)
    return Ledger(limit(10**6), store)


@contextmanager
def attributed(cell: int) -> Iterator[None]:
    """A block whose charges are those of a cell."""
    attribute_to(lambda: cell)
    yield
    attribute_to(None)


# --- the chart ------------------------------------------------------------------------------------

CHARGES = st.lists(
    st.tuples(
        st.integers(1, 9).map(lambda tenths: Loss(Epsilon(tenths, 10))),
        st.sampled_from([1, 2, None]), st.sampled_from(["x", "y"]),
        st.sampled_from([(), (Part("sex", "f", 1),), (Part("sex", "m", 1),)])),
    min_size=1, max_size=30,
)  # fmt: skip


@given(charges=CHARGES, cuts=st.lists(st.integers(0, 30), max_size=4), first=st.integers(1, 40))
def test_the_chart_tells_all_costs_after_each_cell(charges: Any, cuts: Any, first: int) -> None:
    """However often it is looked at, and wherever a long ledger is followed from."""
    names = ("loss", "cell", "source", "path")
    drafts = [DRAFT._replace(**dict(zip(names, charge, strict=True))) for charge in charges]
    ledger, steps = Ledger(), charts.Steps()
    patched = pytest.MonkeyPatch()
    patched.setattr(charts, "FIRST", first)
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 30], strict=True):
        if drafts[start:end]:
            ledger._store.add(drafts[start:end], agreed)
        followed = steps.follow(ledger._snapshot())
    patched.undo()
    ends = [i for i, d in enumerate(drafts) if i + 1 == len(drafts) or drafts[i + 1].cell != d.cell]
    losses = [((d.source, d.path), d.loss) for d in drafts]
    spent = [ParallelComposition().plus(losses[: i + 1]).total.epsilon for i in ends]
    told = [step.after for step in followed]
    assert told == spent[-len(told) :]
    assert len(told) == len(ends) or (len(drafts) > first and ledger._store.count() > first)
    assert [step.before for step in followed[1:]] == told[:-1]


def test_the_chart_draws_the_newest_cells_and_the_rest_as_one() -> None:
    ledger = Ledger(limit(20), MemoryStore())
    for cell in range(1, 101):
        ledger._store.add([DRAFT._replace(cell=cell, kernel=kernel())], agreed)
    steps = charts.Steps().follow(ledger._snapshot())
    drawn = charts.line(ledger._snapshot(), steps)
    levels = re.findall(r"V([\d.]+)h", unquote(drawn))
    assert len(levels) == 1 + charts.DRAWN, "before the first one, too"
    assert float(levels[0]) == pytest.approx(charts._level(Epsilon("6.8"), Epsilon(20)), abs=0.1)
    assert float(levels[-1]) == pytest.approx(charts._level(Epsilon(10), Epsilon(20)), abs=0.1)
    assert "[100] 10" in drawn
    assert "[68]" not in drawn
    texts = re.findall(">([^<]+)</text>", unquote(drawn))
    assert texts == ["budget", "20", "0", "[69]", "[100]", "cell"], (
        "both axes and the line are named"
    )
    assert charts.line(ledger._snapshot(), steps[: charts.FEW]) == "", "the table says as much"
    assert charts.line(ledger._snapshot(), ()) == ""


def test_the_chart_of_a_session_that_counts_rho_is_of_rho() -> None:
    dp.session(rho=0.5, delta=1e-6)
    for cell in range(charts.FEW + 1):
        with attributed(cell):
            people(version="1").query(f"a > {cell}").count(rho="0.01")
    assert "ρ spent in all, cell by cell: [0] 0.01, [1] 0.02" in dp.ledger()._repr_html_()
    assert ">ρ spent, cell by cell<" in dp.ledger()._repr_html_()


# --- what is shown of charges and replays ---------------------------------------------------------


@pytest.fixture
def cells() -> Iterator[Any]:
    """``cells(id)`` starts a cell of a notebook."""
    shell = SimpleNamespace(displayhook=SimpleNamespace(prompt_count=0))
    found = Cells(shell)
    attribute_to(found.now, found.first_run)

    def start(cell: str | None, text: str = "") -> None:
        shell.displayhook.prompt_count += 1
        found.started(SimpleNamespace(cell_id=cell, raw_cell=text))

    yield start
    attribute_to(None)


def test_replays_stand_apart_and_cells_run_again_are_marked(cells: Any) -> None:
    dp.session(epsilon=5)
    for cell in ("one", "two", "one", "one"):
        cells(cell)
        people(version="1").count(epsilon=0.5)
        pd.DataFrame({"x": [1]}).dp.count(epsilon=0.25)
    for shown in (repr(dp.ledger()), dp.ledger()._repr_html_()):
        said = re.sub("<[^>]*>", " ", shown)
        assert "again, free: [2], [3] ([1] run again), [4] ([1] run again)" in said
        assert said.count("again, free") == 1, "an asserted question pays each time"
        assert said.count("asserted") == 4
        assert "verified" not in said, "a mark stands only where it isn't"
        assert said.count("[4] ([1] run again)") == 2


def test_without_an_id_a_cell_is_known_by_its_text(cells: Any) -> None:
    dp.session(epsilon=5)
    for text in ("a", "b", "a"):
        cells(None, text)
        pd.DataFrame({"x": [1]}).dp.count(epsilon=0.25)
    told = [dp.ledger()._snapshot().first_run(entry) for entry in dp.ledger()._charges()]
    assert told == [None, None, 1]


def test_many_replays_are_told_in_short() -> None:
    dp.session(epsilon=5)
    p = people(version="1")
    for _ in range(250):
        p.count(epsilon=0.5)
    assert "again, free: 249 times" in repr(dp.ledger())
    for cell in range(20):
        with attributed(cell):
            p.count(epsilon=0.5)
    assert "again, free: 249 times, [0], [1], [2], [3], [4], and 15 cells" in repr(dp.ledger())
    assert len(dp.ledger()._charges()) == 1
    assert len(dp.ledger()._entries(7)) == 7


def test_charges_of_other_kernels_are_marked() -> None:
    ledger = filled(2)
    assert "†" not in repr(ledger) + ledger._repr_html_()
    ledger._store.add([DRAFT._replace(kernel="other")], agreed)
    for shown in (repr(ledger), ledger._repr_html_()):
        assert shown.count("[3]†") >= 1
        assert words.ELSEWHERE in shown


def contrast(one: str, other: str) -> float:
    """As WCAG 2 has it."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("ground", ["#ffffff", "#111111"])
def test_colours_are_seen_on_light_and_dark(ground: str) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    drawn = (*html.COLOURS, html.NOTICE, html.ALARM, html.PLAIN, charts.LINE, charts.LIMIT)
    assert all(contrast(colour, ground) >= 3 for colour in drawn)


def test_states_are_white_on_colours_that_let_them_be_read() -> None:
    grounds = {html.NOTICE, html.ALARM, html.PLAIN}
    assert all(contrast("#ffffff", colour) >= 4.5 for colour in grounds)
    drawn = "".join(map(html.notice, ("nearly spent", "spent: …", words.READ_ONLY)))
    assert set(re.findall(r"background-color:(#\w{6})", drawn)) == grounds


# --- what if --------------------------------------------------------------------------------------


def plain(said: str) -> str:
    return re.sub("<[^>]*>", "", said).replace("&lt;", "<").replace("&gt;", ">")


def told_of(query: Any, loss: str, rows: float = 1) -> str:
    return plain(whatif.forecast(dp.ledger(), query, loss, rows).said)


@pytest.mark.parametrize("name", [*EVERY, *UNKNOWN])
def test_what_is_told_of_an_operation_is_what_it_then_costs_and_its_error(name: str) -> None:
    dp.session(epsilon=100, delta=1e-3)
    frame = dp.protect(schema(), name="people")
    released(name, frame, 1)
    (query,) = dp.session()._asked.values()
    told = whatif.forecast(dp.ledger(), query, "0.5", 1000)
    said, left = plain(told.said), dp.ledger()._left
    released(name, frame, 0.5)
    entry = dp.ledger()._charges()[-1]
    pairs = zip(vars(left).values(), vars(entry.loss).values(), strict=True)
    fit = min(int(rest // part) for rest, part in pairs if part)
    assert told.takes == entry.loss
    assert f"leaves {words.short(dp.ledger().remaining, down=True)}: {fit - 1:,} more like" in said
    assert ("costs" in said) == (entry.loss != Loss(Epsilon("0.5"))), "what is left says the rest"
    if not whatif.takes_rows(query):
        error = entry.error
        assert said.startswith(f"gives {error}" if error else "its error is known with")


def test_what_if_charges_notes_and_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    running_session = dp.session(epsilon=1)
    frame = people(version="1")
    monkeypatch.setattr(type(frame._table.engine), "accumulate_rows", lambda *a, **k: 1 / 0)
    before = repr(dp.ledger())
    offers = whatif.offers(running_session)
    what = ["count", "value_counts of g (4 keys)", "mean of a in 0 to 100"]
    assert list(offers) == [f"people: {each}" for each in what]
    told = [told_of(q, "0.1", 1000) for q in offers.values()]
    assert told[0] == "gives ± 30 (95 %), leaves 0.9: 9 more like it"
    error = frame["a"].mean().expected_error(epsilon=0.1, expected_rows=1000)
    assert told[2].startswith(f"gives about ± {format_error(error)} over 1,000 rows (95 %)")
    assert repr(dp.ledger()) == before
    assert len(dp.session()._asked) == 0


def test_so_many_as_are_told_fit_and_no_more() -> None:
    dp.session(epsilon=1)
    frame = people(version="1")
    frame.size(epsilon="0.3")
    (query,) = dp.session()._asked.values()
    said = told_of(query, "0.15")
    more = int(re.search(r"leaves 0.55: (\d+) more like it", said)[1])  # type: ignore[index]
    for _ in range(1 + more):
        frame.size(epsilon="0.15", fresh=True)
    assert "more than is left" in told_of(query, "0.25")
    refusal(lambda: frame.size(epsilon="0.15", fresh=True), error=dp.BudgetExceeded)


def test_a_part_of_a_source_is_paid_beside_the_others() -> None:
    dp.session(epsilon=1)
    parts = people(version="1").partition("g")
    parts["a"].count(epsilon="0.75")
    parts["b"].count(epsilon="0.25")
    query = next(iter(dp.session()._asked.values()))
    told = whatif.forecast(dp.ledger(), query, "0.125", 1)
    assert plain(told.said).endswith("costs ε = 0.125, leaves 0.25: 5 more like it")
    assert told.takes == Loss(), "another part has paid for it"
    for _ in range(6):
        parts["b"].count(epsilon="0.125", fresh=True)
    refusal(lambda: parts["b"].count(epsilon="0.125", fresh=True), error=dp.BudgetExceeded)
    assert charts.Steps().follow(dp.ledger()._snapshot())[-1].after == dp.ledger().spent


def test_another_mechanism_of_the_same_query_is_what_is_tried() -> None:
    dp.session(epsilon=1, delta=1e-6)
    people(version="1").count(epsilon=0.25)
    people(version="1").count(epsilon=0.25, delta=1e-7, mechanism="gaussian")
    (query,) = dp.session()._asked.values()
    assert "δ = 1e-07" in told_of(query, "0.125")


def test_the_view_asks_nothing_in_the_block_of_a_split() -> None:
    """Its questions would be answered there, and take the shares of the block's own."""
    dp.session(epsilon=1)
    p = people(version="1")
    view = View(dp.ledger())
    dp.ledger()._observe(lambda _: view.update())
    with dp.split(epsilon=1, into=3) as shares:
        view.update()
        assert (shares.left, dp.ledger()._count()) == (3, 0)
        for i in range(3):
            p.query(f"a > {i}").count()
    assert dp.ledger()._count() == 3


def test_what_was_answered_is_told_to_be_free() -> None:
    dp.session(epsilon=1)
    people(version="1").size(epsilon="0.3")
    (query,) = dp.session()._asked.values()
    free = whatif.forecast(dp.ledger(), query, "0.3", 1)
    assert "asking again is free" in free.said
    assert free.takes is None
    assert "leaves 0.39" in told_of(query, "0.31")


def test_what_was_refused_is_offered_too() -> None:
    dp.session(epsilon=1)
    refusal(lambda: people(version="1").query("a > 3").count(epsilon=2), error=dp.BudgetExceeded)
    assert list(dp.session()._asked) == ["people: count where a > 3"]


def test_sessions_in_other_measures_have_their_own_slider() -> None:
    running_session = dp.session(rho=1, delta=1e-6)
    people(version="1").count(epsilon=0.5)
    offers = whatif.offers(running_session)
    assert [whatif.symbol(q) for q in offers.values()] == ["ε", "ρ", "ρ"]
    told = [whatif.forecast(dp.ledger(), q, "0.1", 9) for q in offers.values()]
    assert plain(told[0].said).split(", ")[1].startswith("costs ρ ≈ 0.004996")
    assert [float(t.takes.rho) for t in told if t.takes] == pytest.approx(
        [0.005, 0.1, 0.1], rel=0.01
    )


@pytest.mark.parametrize("bad", ["", "-1", "x", "0", "nan", "1e9", "<b>"])
def test_a_bad_epsilon_is_answered_in_words(bad: str) -> None:
    dp.session(epsilon=1)
    people(version="1").count(epsilon=0.5)
    (query,) = dp.session()._asked.values()
    said, takes = whatif.forecast(dp.ledger(), query, bad, 1)
    assert "epsilon=" in said
    assert "<b>" not in said
    assert takes is None


def test_no_query_is_kept_that_could_hold_rows() -> None:
    df = pd.DataFrame({"x": [1, 2]})
    dp.session(epsilon=5)
    dp.select(df.dp, [0, 1], score=lambda d, c: len(d) * c, sensitivity=1, epsilon=1)
    assert len(dp.session()._asked) == 0
    for i in range(40):
        df.dp.query(f"x > {i}").count(epsilon="0.1")
    newest = [f"unnamed (asserted): count where x > {i}" for i in range(39, 27, -1)]
    assert list(dp.session()._asked) == newest


@pytest.mark.parametrize("terms", [
    {}, {"epsilon": 2}, {"epsilon": "1/3"}, {"epsilon": 1000}, {"epsilon": "0.00001"},
    {"rho": "0.03", "delta": 1e-6}, {"epsilon": "0.0000001"},
])  # fmt: skip
def test_the_buttons_lead_by_short_steps_up_to_the_budget(terms: Any) -> None:
    ledger = dp.session(**terms).ledger
    values = whatif.steps(ledger)
    assert values == sorted(set(values))
    assert len(values) >= 1
    assert all(0 < v <= (ledger.budget or 10) for v in values)
    assert values[-1] == min(ledger.budget or 10, 64)
    View(ledger)


# --- the widget -----------------------------------------------------------------------------------


def shown(view: View) -> str:
    return plain(view._pages._table.value + view._pages._where.value)


def test_pages_turn_to_all_releases_and_back() -> None:
    ledger = filled(45)
    view = View(ledger)
    pages = view._pages
    assert "36 to 45 of 45 · newest" in shown(view)
    pages._newer.click()
    assert "36 to 45 of 45 · newest" in shown(view), "there is nothing newer"
    pages._older.click()
    assert shown(view).endswith("26 to 35 of 45")
    for _ in range(5):
        pages._older.click()
    assert "1 to 5 of 45 · oldest" in shown(view)
    assert not pages._older.disabled, "the focus would be lost"
    assert not pages._newer.disabled
    ledger._store.add([DRAFT] * 30, agreed)
    view._drawn()
    assert "1 to 5 of 75 · oldest" in shown(view), "who reads an old page stays there"
    for _ in range(4):
        pages._newer.click()
    assert "66 to 75 of 75 · newest" in shown(view)
    ledger._store.add([DRAFT], agreed)
    view._drawn()
    assert "67 to 76 of 76 · newest" in shown(view), "the newest page follows"
    earlier = ledger._store.count() - html.SHOWN
    assert f"and {earlier} before that: dp.ledger().to_frame()" in view._drawn().data


def test_a_short_ledger_has_no_pages() -> None:
    assert View(filled(html.PAGE))._pages._bar.layout.display == "none"
    assert View(filled(html.PAGE + 1))._pages._bar.layout.display is None


def test_a_search_finds_among_all_releases() -> None:
    ledger = filled(100)
    ledger._store.add([DRAFT._replace(what=earlier("mean of Age"), source="clinic")], agreed)
    ledger._store.add([DRAFT] * 100, agreed)
    view = View(ledger)
    pages = view._pages
    pages._search.value = "age CLINIC"
    assert "101 to 101 of 201 · 1 found" in shown(view)
    assert "Mean Age" in shown(view)
    pages._search.value = "nowhere"
    assert "nothing found" in shown(view)
    pages._search.value = DRAFT.source
    assert "192 to 201 of 201 · 200 found" in shown(view)
    pages._older.click()
    assert "182 to 191 of 201 · 200 found" in shown(view)
    ledger._store.add([DRAFT._replace(what=earlier("mean of age"), source="clinic")], agreed)
    pages._search.value = "clinic"
    assert "101 to 202 of 202 · 2 found" in shown(view)
    pages._search.value = ""
    assert "193 to 202 of 202 · newest" in shown(view)


def test_an_update_reads_and_draws_no_more_of_a_long_ledger(
    tmp_path: Path, monkeypatch: Any
) -> None:
    store = sqlite.SqliteStore(tmp_path / "a.ledger", limit(10**6))
    for _ in range(6):
        store.add([DRAFT] * 500, agreed)
    ledger, read = Ledger(store.terms, store), []
    whole = file_schema.entry_of
    monkeypatch.setattr(file_schema, "entry_of", lambda *a: read.append(a[0]) or whole(*a))
    view = View(ledger)
    assert len(read) <= html.SHOWN + 2 * charts.FIRST
    read.clear()
    store.add([DRAFT] * 3, agreed)
    view._drawn()
    assert len(read) == html.SHOWN + 3
    read.clear()
    view._pages._older.click()
    assert len(read) <= 2 * html.SHOWN
    view._pages._search.value = "count"
    read.clear()
    store.add([DRAFT] * 3, agreed)
    view._drawn()
    assert len(read) <= html.SHOWN + 6 + html.PAGE, "what is searched is read once"


#: Bytes that the browser gets for an update of a ledger of 1,001 entries, the copy included.
UPDATE = 20_000


def test_an_update_of_a_long_ledger_is_small() -> None:
    ledger = Ledger(limit(20), MemoryStore())
    for cell in range(1, 102):
        entry = DRAFT._replace(cell=cell, kernel=kernel(), released_error="± 2,996")
        ledger._store.add([entry] * (1 if cell > 100 else 10), agreed)
    view = View(ledger)
    sent: list[Any] = [view._drawn().data, repr(view._drawn())]
    pages, what_if = view._pages, view._what_if
    sent += [view._head.value, view._bar.value, view._legend.value]
    sent += [pages._table.value, pages._where.value, what_if._answer.value]
    assert pages._table.value.count("<tr") == 1 + html.PAGE
    assert sum(len(each.encode()) for each in sent) <= UPDATE
    assert "1,001" in sent[0] or "976 earlier" in sent[0]


def test_rows_of_the_widget_get_from_a_sheet_what_those_of_the_copy_say_themselves() -> None:
    ledger = filled(3, lineage="asserted")
    whole = html.table(ledger._snapshot(), words.rows(ledger._charges()))
    short = html.bare(whole)
    assert len(short) < len(whole) / 2
    said = View(ledger)._sheet.value
    for of, style in html._REPEATED.items():
        assert f'style="{style}"' in whole
        assert f'style="{style}"' not in short
        assert f".dppandas-live .dp-sheet {of}{{{style}}}" in said
    assert f".{html.STACKS}{{container-type:inline-size" in said
    assert "<style" not in short
    (table,) = re.findall("<table.*</table>", whole)
    assert re.sub(' style="[^"]*"', "", short) == re.sub(' style="[^"]*"', "", table)
    assert html.STACKS in View(ledger)._pages._table._dom_classes, "there rows stack"


# --- beside the notebook --------------------------------------------------------------------------


class Panel:
    """What the package sidecar offers."""

    opened: ClassVar[list[Any]] = []

    def __init__(self, title: str) -> None:
        self.title, self.state = title, "new"
        self.opened.append(self)

    def __enter__(self) -> None:
        self.state = "shown"

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        self.state = "closed"


def test_a_panel_beside_the_notebook_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sidecar", SimpleNamespace(Sidecar=Panel))
    monkeypatch.setattr(Panel, "opened", [])
    shown: list[Any] = []
    monkeypatch.setattr(view_module, "display", lambda data, raw: shown.append(data))
    live = Live(SimpleNamespace(kernel=None))
    show_beside_by(live.show_beside)
    try:
        dp.session(epsilon=2)
        people(version="1").count(epsilon="0.5")
        assert dp.ledger(side=True) is None
        dp.ledger(side=True)
        assert [panel.state for panel in Panel.opened] == ["closed", "shown"]
        (view,) = live._views.values()
        assert [view_module.WIDGET_VIEW in each for each in shown] == [True, True], "and no copy"
        people(version="1").query("a > 3").count(epsilon="0.5")
        live.flush()
        assert "1 of ε = 2 left" in plain(view._head.value)
        assert dp.ledger(side=False) is dp.ledger()
    finally:
        show_beside_by(None)
        live.stop()


def test_without_a_panel_a_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sidecar", None)
    assert "needs a notebook in JupyterLab" in refusal(lambda: dp.ledger(side=True))
    show_beside_by(Live(SimpleNamespace(kernel=None)).show_beside)
    try:
        assert 'pip install "dppandas[side]"' in refusal(lambda: dp.ledger(side=True))
        assert "side=1 must be True or False" in refusal(lambda: dp.ledger(side=1))
    finally:
        show_beside_by(None)


def test_a_program_is_one_row_that_opens(tmp_path: Path) -> None:
    """As the file has it, whoever reads it."""
    dp.session(epsilon=10, store=tmp_path / "a.ledger")
    p = people(version="1")
    p[["a"]].describe(epsilon=1)
    p[["a"]].describe(epsilon=2)
    p.count(epsilon=1)
    with dp.split(epsilon="0.9", into=3):
        p.query("a > 1").count()
        p[["a"]].query("a > 2").agg(["count", "median"])
        p.query("a > 3").count()
    p.count(epsilon=2)
    rows = words.rows(dp.ledger()._charges())
    assert [len(row.entries) for row in rows] == [2, 2, 1, 4, 1]
    assert rows[3].question() == "split: 4 releases"
    assert rows[3].loss == Loss(Epsilon("0.9"))
    assert rows[0].question() == "Count, mean and standard deviation of a, and 1 more"
    drawn = html.table(dp.ledger()._snapshot(), rows)
    assert drawn.count("<details>") == 3
    assert drawn.count("<li") == 8
    assert "and 2 more" in html.table(dp.ledger()._snapshot(), [Row(rows[0].entries * 11)]), "long"
    assert dp.ledger().verify().is_sound


def test_a_live_ledger_opens_programs_by_a_button_that_keeps_the_focus() -> None:
    """A summary in a table is drawn anew with each release, closed and without the focus."""
    dp.session(epsilon=10)
    p = people(version="1")
    p.count(epsilon=1)
    pages = View(dp.ledger())._pages
    assert pages._programs.layout.display == pages._bar.layout.display == "none"
    p[["a"]].describe(epsilon=1)
    view = View(dp.ledger())
    pages, said = view._pages, "Count, mean and standard deviation of a, and 1 more"
    assert pages._programs.layout.display is pages._bar.layout.display is None
    assert pages._search.layout.display == "none"
    assert "<summary" not in pages._table.value
    assert (said in shown(view), "<li" in pages._table.value) == (True, False)
    pages._programs.value = True
    p.query("a > 1").count(epsilon=1)
    view.update()
    assert pages._table.value.count("<li") == 2, "an update leaves them open"
    assert 'title="count, mean, std of a; ' in pages._table.value


def test_the_question_in_words_has_all_its_terms_on_hover() -> None:
    dp.session(epsilon=10)
    people(version="1")["a"].mean(epsilon=1)
    drawn = html.html(dp.ledger()._snapshot())
    assert re.search(r'<th[^>]* title="mean of a in 0 to 100">Mean a</th>', drawn)


def test_a_fit_is_one_row() -> None:
    dp.session(epsilon=10)
    dp.models.KMeans(n_clusters=2, epsilon=1).fit(people(version="1")[["a"]])
    (row,) = words.rows(dp.ledger()._charges())
    assert row.question().startswith("KMeans: ")


def test_a_page_shows_programs_whole() -> None:
    store = MemoryStore()
    for program in range(1, 31):
        drafts = [DRAFT._replace(kernel="k", program=Program("split", program))] * program
        store.add(drafts, agreed)
    view = View(Ledger(limit(10**6), store))
    assert shown(view).count("split: ") == html.PAGE
    assert shown(view).count("split: 21 releases") == 1
    assert "211 to 465 of 465 · newest" in shown(view)
    for _ in range(2):
        view._pages._older.click()
    assert "1 to 55 of 465 · oldest" in shown(view)
    assert shown(view).count("split: 10 releases") == 1


@pytest.mark.parametrize(("spent", "state"), [
    ("0", ""), ("0.9", ""), ("0.91", "nearly spent"), ("1", "spent: earlier answers stay free"),
])  # fmt: skip
def test_the_state_is_told_on_the_page_and_in_a_terminal(spent: str, state: str) -> None:
    store = MemoryStore()
    if spent != "0":
        store.add([DRAFT._replace(loss=Loss(Epsilon(spent)))], agreed)
    ledger = Ledger(limit(1), store)
    assert words.state(ledger._snapshot()) == state
    for said in (repr(ledger), ledger._repr_html_()):
        assert state in said
        assert ("nearly" in said) == ("nearly" in state)
    assert repr(ledger).startswith(
        f"dppandas ledger · {Epsilon(1 - Epsilon(spent))} of ε = 1 left · "
    )


def test_only_what_is_saved_says_that_it_is_read_only(tmp_path: Path) -> None:
    view = View(dp.session(epsilon=1, store=tmp_path / "fair.ledger").ledger)
    copy = view._drawn().data
    assert words.READ_ONLY in copy
    assert words.READ_ONLY not in view._head.value + dp.ledger()._repr_html_()
    for said in (copy, view._head.value, dp.ledger()._repr_html_(), repr(dp.ledger())):
        assert "1 of ε = 1 left · nothing spent yet · fair.ledger" in plain(said)
        assert str(tmp_path) not in said


def test_the_copy_has_nothing_that_a_sanitiser_removes() -> None:
    """But for the rules that say which of the two is seen and how rows stack, and a role."""
    ledger = filled(45)
    ledger._store.add([DRAFT._replace(program=Program("split", 1), lineage="asserted")] * 3, agreed)
    for cell in range(10):
        ledger._store.add([DRAFT._replace(cell=cell)], agreed)
    drawn = html.still(ledger._snapshot(), charts.Steps(), html.shown(ledger._snapshot()))
    drawn = re.sub(r'<style>[^<]*</style>|(?<=") tabindex="0"', "", drawn)
    tags = set(re.findall(r"<(\w+)", drawn))
    assert tags <= {"div", "b", "span", "img", "table", "thead", "tbody", "tr", "th", "td", "ul",
                    "li", "details", "summary", "br"}  # fmt: skip
    assert {"details", "img"} <= tags
    attributes = set(re.findall(r' ([\w-]+)="', drawn))
    assert attributes == {"class", "style", "title", "scope", "alt", "src", "width", "height"}
    styles = {each for style in re.findall(r'style="([^"]*)"', drawn) for each in style.split(";")}
    assert not [each for each in styles if re.search(r"var\(|calc|inherit|currentColor|flex", each)]
    assert not re.search("url|script|https?://(?!www.w3.org/2000/svg)", unquote(drawn))


def test_the_ghost_is_what_the_next_release_takes() -> None:
    dp.session(epsilon=2)
    p = people(version="1")
    p.query("a > 1").count(epsilon=1)
    view = View(dp.ledger())
    what_if = view._what_if
    what_if._question.value = "count"
    what_if._loss.value = "0.5"
    assert re.search(r'class="dp-ghost" style="[^"]*width:25%', view._bar.value)
    assert html.ALARM not in view._bar.value
    what_if._loss.value = "1.5"
    assert re.search(rf'class="dp-ghost" style="[^"]*width:50%[^"]*{html.ALARM}', view._bar.value)
    what_if._loss.value = "x"
    assert "dp-ghost" not in view._bar.value
    assert "dp-ghost" not in view._drawn().data


def test_nothing_is_hatched_before_somebody_tries() -> None:
    dp.session(epsilon=2)
    people(version="1")
    assert "dp-ghost" not in View(dp.ledger())._bar.value


def test_an_epsilon_is_typed_or_stepped_to() -> None:
    dp.session(epsilon=2)
    people(version="1")
    view = View(dp.ledger())
    what_if = view._what_if
    assert what_if.box.layout.display is None
    assert what_if._loss.value == "0.1"
    assert "± 30" in what_if._answer.value
    what_if._more.click()
    what_if._more.click()
    assert what_if._loss.value == "0.2"
    assert "± 15" in what_if._answer.value
    what_if._loss.value = "0.17"
    what_if._less.click()
    assert what_if._loss.value == "0.15"
    what_if._loss.value = "x"
    what_if._less.click()
    assert what_if._loss.value == "x"
    what_if._question.value = "mean of a in 0 to 100"
    assert what_if._rows.layout.display is None
    what_if._loss.value = "0.1"
    what_if._rows.value = 4000
    assert "over 4,000 rows" in what_if._answer.value
    people(version="1").query("a > 3").count(epsilon=0.5)
    view._drawn()
    assert what_if._question.value == "mean of a in 0 to 100", "what was chosen stays"
    assert "count where a > 3" in what_if._question.options


def test_an_error_finds_its_epsilon() -> None:
    dp.session(epsilon=20)
    p = people(version="1")
    what_if = View(dp.ledger())._what_if
    for said in ("20", "± 20", "20.0"):
        what_if._error.value = ""
        what_if._loss.value = "1"
        what_if._error.value = said
        p.count(within=20, fresh=True)
        assert what_if._loss.value == str(dp.ledger()._charges()[-1].loss.epsilon)
        assert "± 20" in what_if._answer.value
    what_if._error.value = "-3"
    assert "within=" in what_if._answer.value
    assert what_if._loss.value != "1"


def test_an_error_that_is_needed_still_is_of_another_question() -> None:
    """Front ends send what is chosen and what is typed one by one, in an order of their own."""
    dp.session(epsilon=20)
    people(version="1")
    what_if = View(dp.ledger())._what_if
    what_if._error.value = "20"
    of_count = what_if._loss.value
    what_if._question.value = "mean of a in 0 to 100"
    assert what_if._loss.value != of_count
    assert "over 1,000 rows" in what_if._answer.value
    of_mean = what_if._loss.value
    what_if._rows.value = 10
    assert what_if._loss.value != of_mean
    assert "over 10 rows" in what_if._answer.value
    what_if._question.value = "count"
    assert (what_if._error.value, what_if._loss.value) == ("20", of_count)
    what_if._loss.value = "1"
    assert what_if._error.value == "", "a loss that is given takes the place of an error"
    what_if._question.value = "mean of a in 0 to 100"
    assert what_if._loss.value == "1"


def test_an_error_finds_its_rho() -> None:
    dp.session(rho=1, delta=1e-6)
    p = people(version="1")
    for more in ({"rho": "0.01"}, {"epsilon": "0.01"}):
        p.query("a > 1").count(**more, fresh=True)
        query = next(iter(dp.session()._asked.values()))
        found = whatif.needed(query, "20", 1)
        assert "gives ± 20 (95 %)" in told_of(query, found)


def test_the_code_is_shown_where_it_asks_just_that() -> None:
    dp.session(epsilon=50)
    p = people(version="1")
    names = {"_1": p, "other": 3, "mine": p, "theirs": dp.protect(letters(), name="x")}
    p.query("a > 3 and g in ['a']").count(epsilon=1)
    p.groupby("g")["a"].mean(epsilon=1)
    p["a"].clip(1, 2).sum(epsilon=1)
    p["a"].quantile(0.25, epsilon=1, bounds=(0, 100))
    codes = [code_of(query, "epsilon=1", names) for query in whatif.offers(dp.session()).values()]
    count = dp.ledger()._count()
    found = [each for each in codes if each]
    assert len(codes) > len(found) > 4
    assert "mine.count(epsilon=1)" in found
    assert "mine.groupby('g')['a'].mean(epsilon=1)" in found
    assert not [each for each in found if "clip" in each or "_1" in each]
    for each in found:  # the same questions: answered again, or of sources not asked yet
        eval(each, dict(names))
    asked = {entry.what.text for entry in dp.ledger()._charges()[count:]}
    assert not [w for w in asked if "clip" in w]
    (kept,) = [each for each in found if ".query(" in each]
    assert eval(kept, dict(names)) is not None
    assert dp.ledger()._count() > count


def test_a_budget_given_later_moves_the_epsilon_and_the_end_takes_it_away() -> None:
    view = View(dp.session().ledger)
    assert view._what_if._loss.value == "0.5"
    assert view._what_if.box.layout.display == "none", "nothing to offer"
    people(version="1")
    dp.session(epsilon=3)
    view._drawn()
    assert view._what_if._loss.value == "0.15"
    assert view._what_if.box.layout.display is None
    dp.reset()
    view._drawn()
    assert view._what_if.box.layout.display == "none"
    assert running() is None, "looking at an ended ledger starts no session"
    dp.session(epsilon=1)
    people(version="1")
    view._drawn()
    assert view._what_if.box.layout.display == "none", "what another session holds is not offered"


# --- other kernels --------------------------------------------------------------------------------


class Kernelled:
    """Enough of a notebook's shell for `Live` to believe it is in one."""

    kernel = object()


@pytest.fixture
def pushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The copies that were shown."""
    until(lambda: not watches())  # of tests before
    found: list[str] = []
    place = "dppandas.display.notebook.view"
    for name in ("display", "DisplayHandle.display"):
        monkeypatch.setattr(f"{place}.{name}", lambda *a, **k: None)
    monkeypatch.setattr(f"{place}.DisplayHandle.update", lambda self, html: found.append(html.data))
    return found


def watches() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if isinstance(t, Watch)]


def test_what_another_process_releases_appears(tmp_path: Path, pushed: list[str]) -> None:
    dp.session(epsilon=2, store=tmp_path / "a.ledger")
    live = Live(Kernelled())
    live.show(dp.ledger())
    assert len(watches()) == 1
    program = """
        import sys, pandas as pd, dppandas as dp
        dp.session(store=sys.argv[1])
        dp.protect(pd.DataFrame({"a": [1]}), name="theirs", version="1").count(epsilon=0.5)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "a.ledger")]
    subprocess.run(command, check=True)
    until(lambda: pushed and "theirs" in pushed[-1])
    assert "1.5 of ε = 2 left" in pushed[-1]
    dp.reset()
    until(lambda: "session ended" in pushed[-1])
    until(lambda: not watches())
    until(lambda: [p.name for p in tmp_path.iterdir()] == ["a.ledger"])  # nothing is left open


def test_the_last_of_many_releases_is_shown(pushed: list[str]) -> None:
    live = Live(Kernelled())
    live.show(dp.session(epsilon=2).ledger)
    frame = pd.DataFrame({"x": [1]})
    for _ in range(100):
        frame.dp.count(epsilon="0.01")
    until(lambda: pushed and "1 of ε = 2 left" in pushed[-1])
    live.stop()


def test_many_releases_in_a_moment_are_shown_together(pushed: list[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("dppandas.display.notebook.live.PAUSE", LIMIT)
    live = Live(Kernelled())
    live.show(dp.session(epsilon=2).ledger)
    frame, shown = pd.DataFrame({"x": [1]}), len(pushed)
    for _ in range(100):
        frame.dp.count(epsilon="0.01")
    assert len(pushed) <= shown + 1
    live.stop()
    assert "1 of ε = 2 left" in pushed[-1]


def test_without_threads_each_change_is_shown_at_once(
    tmp_path: Path, pushed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dppandas.display.notebook.live.PAUSE", LIMIT)
    monkeypatch.setattr(threading.Thread, "start", raising(RuntimeError))
    dp.session(epsilon=2, store=tmp_path / "a.ledger")
    live = Live(Kernelled())
    live.show(dp.ledger())
    monkeypatch.setattr(parallel, "workers", lambda: 3)
    monkeypatch.setattr(parallel, "WORTH", 0.0)
    frame = pd.DataFrame({"x": np.arange(3_000_000) % 10})
    for left in ("1.5", "1", "0.5"):
        assert frame.dp["x"].mean(bounds=(0, 10), epsilon=0.5) == pytest.approx(4.5, abs=0.01)
        assert f"{left} of ε = 2 left" in pushed[-1]
    live.stop()


def test_a_ledger_in_memory_is_not_watched(pushed: list[str]) -> None:
    dp.session(epsilon=2)
    live = Live(Kernelled())
    live.show(dp.ledger())
    assert watches() == []
    live.stop()


def test_unloading_ends_the_watch(tmp_path: Path, pushed: list[str]) -> None:
    dp.session(epsilon=2, store=tmp_path / "a.ledger")
    live = Live(Kernelled())
    for _ in range(2):
        live.show(dp.ledger())
    assert len(watches()) == 1
    live.stop()
    until(lambda: not watches())


def test_a_watch_outlives_a_file_that_can_not_be_read_for_a_while(
    tmp_path: Path, pushed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dp.session(epsilon=2, store=tmp_path / "a.ledger")
    live, looked = Live(Kernelled()), []

    def fails(self: Any) -> bool:
        looked.append(1)
        raise StoreError("busy")

    live.show(dp.ledger())
    monkeypatch.setattr("dppandas.display.notebook.live.LOOK", LOOK / 50)
    monkeypatch.setattr(sqlite.SqliteStore, "has_changed", fails)
    until(lambda: len(looked) > 2)
    monkeypatch.undo()
    assert len(watches()) == 1
    live.stop()
