"""What the live ledger shows and computes: charts, pages, replays, and an ε not spent yet."""

import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledgers import DRAFT, agreed, limit
from operations import EVERY, UNKNOWN, people, released, schema
from refusals import raising, refusal
from waiting import LIMIT, until

import dppandas as dp
from dppandas.display.notebook import whatif
from dppandas.display.notebook.cells import Cells
from dppandas.display.notebook.live import LOOK, Live, Watch
from dppandas.display.notebook.view import View
from dppandas.engines import parallel
from dppandas.errors import StoreError
from dppandas.ledger import charts
from dppandas.ledger import html as views
from dppandas.ledger.cells import attribute_to
from dppandas.ledger.ledger import Ledger, kernel
from dppandas.ledger.storage import schema as file_schema
from dppandas.ledger.storage import sqlite
from dppandas.ledger.storage.store import MemoryStore
from dppandas.privacy.accounting.composition import ParallelComposition, Part
from dppandas.privacy.accounting.losses import Epsilon, Loss
from dppandas.release.session import running


def filled(number: int, **more: Any) -> Ledger:
    """A ledger of so many entries, all of this kernel."""
    store = MemoryStore()
    store.add([DRAFT._replace(status="released", kernel=kernel(), **more)] * number, agreed)
    return Ledger(limit(10**6), store)


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
    ledger = filled(0)
    for cell in range(1, 101):
        ledger._store.add([DRAFT._replace(cell=cell, kernel=kernel())], agreed)
    drawn = charts.svg(ledger._snapshot(), charts.Steps().follow(ledger._snapshot()))
    assert drawn.count("<rect") == 2 * (charts.DRAWN + 1)
    assert "<title>before: 6.8, 6.8 in all</title>" in drawn
    assert "<title>[100]: 0.1, 10 in all</title>" in drawn
    assert "<title>[68]" not in drawn
    assert charts.svg(ledger._snapshot(), ()) == ""


def test_the_chart_of_a_session_that_counts_rho_is_of_rho() -> None:
    dp.session(rho=0.5, delta=1e-6)
    people(version="1").count(rho=0.1)
    assert ": 0.1, 0.1 in all</title>" in dp.ledger()._repr_html_()
    assert "ρ spent, cell by cell" in dp.ledger()._repr_html_()


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
        assert "answered again, free:" in said
        assert "release 1 in cells [2], [3] ([1] run again), [4] ([1] run again)" in said
        assert said.count("asserted") == 4
        assert said.count("verified") == 1
        assert re.search(r"5 +\[4\] \(\[1\] run again\)", said)
        assert re.search(r"3 +\[2\] +(count|unnamed)", said)


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
    for _ in range(views.SHOWN + 50):
        p.count(epsilon=0.5)
    assert f"release 1, {views.SHOWN} times; and 49 times before" in repr(dp.ledger())
    assert len(dp.ledger()._charges()) == 1
    assert len(dp.ledger()._entries(7)) == 7


def test_charges_of_other_kernels_are_marked() -> None:
    ledger = filled(2)
    assert "†" not in repr(ledger) + ledger._repr_html_()
    ledger._store.add([DRAFT._replace(kernel="other")], agreed)
    for shown in (repr(ledger), ledger._repr_html_()):
        assert shown.count("[3]†") >= 1
        assert views.ELSEWHERE in shown


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
    drawn = re.findall(r"(?:fill|stroke):(#\w{6})", views._STYLE)
    assert drawn
    assert all(contrast(colour, ground) >= 3 for colour in (*views._COLOURS, *drawn))


# --- what if --------------------------------------------------------------------------------------


def plain(said: str) -> str:
    return re.sub("<[^>]*>", "", said).replace("&lt;", "<").replace("&gt;", ">")


@pytest.mark.parametrize("name", [*EVERY, *UNKNOWN])
def test_what_is_told_of_an_operation_is_what_it_then_costs_and_its_error(name: str) -> None:
    dp.session(epsilon=100, delta=1e-3)
    frame = dp.protect(schema(), name="people")
    released(name, frame, 1)
    (query,) = dp.session()._asked.values()
    said = plain(whatif.forecast(dp.ledger(), query, "0.5", 1000))
    left = dp.ledger()._left
    released(name, frame, 0.5)
    entry = dp.ledger()._charges()[-1]
    pairs = zip(vars(left).values(), vars(entry.loss).values(), strict=True)
    fit = min(int(rest // part) for rest, part in pairs if part)
    assert f"costs {entry.loss} · {fit:,} such" in said
    if not whatif.takes_rows(query):
        assert said.startswith(entry.error or "an error that only the answer decides")


def test_what_if_charges_notes_and_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    running_session = dp.session(epsilon=1)
    frame = people(version="1")
    monkeypatch.setattr(type(frame._table.engine), "accumulate_rows", lambda *a, **k: 1 / 0)
    before = repr(dp.ledger())
    offers = whatif.offers(running_session)
    what = ["count", "value_counts of g (4 keys)", "mean of a in (0, 100)"]
    assert list(offers) == [f"people: {each}" for each in what]
    told = [plain(whatif.forecast(dp.ledger(), q, "0.1", 1000)) for q in offers.values()]
    assert told[0] == "± 30 (95 %) · costs ε = 0.1 · 10 such releases left"
    error = frame["a"].mean().expected_error(epsilon=0.1, expected_rows=1000)
    assert told[2].startswith(f"about ± {error:.4g} over 1,000 rows (95 %)")
    assert repr(dp.ledger()) == before
    assert len(dp.session()._asked) == 0


def test_so_many_as_are_told_fit_and_no_more() -> None:
    dp.session(epsilon=1)
    frame = people(version="1")
    frame.size(epsilon="0.3")
    (query,) = dp.session()._asked.values()
    said = plain(whatif.forecast(dp.ledger(), query, "0.15", 1))
    fit = int(re.search(r"(\d+) such", said)[1])  # type: ignore[index]
    for _ in range(fit):
        frame.size(epsilon="0.15", fresh=True)
    assert "more than is left" in whatif.forecast(dp.ledger(), query, "0.25", 1)
    refusal(lambda: frame.size(epsilon="0.15", fresh=True), error=dp.BudgetExceeded)


def test_a_part_of_a_source_is_paid_beside_the_others() -> None:
    dp.session(epsilon=1)
    parts = people(version="1").partition("g")
    parts["a"].count(epsilon="0.75")
    parts["b"].count(epsilon="0.25")
    said = plain(whatif.forecast(dp.ledger(), next(iter(dp.session()._asked.values())), "0.125", 1))
    assert said.endswith("costs ε = 0.125 · 6 such releases left")
    for _ in range(6):
        parts["b"].count(epsilon="0.125", fresh=True)
    refusal(lambda: parts["b"].count(epsilon="0.125", fresh=True), error=dp.BudgetExceeded)
    assert charts.Steps().follow(dp.ledger()._snapshot())[-1].after == dp.ledger().spent


def test_another_mechanism_of_the_same_query_is_what_is_tried() -> None:
    dp.session(epsilon=1, delta=1e-6)
    people(version="1").count(epsilon=0.25)
    people(version="1").count(epsilon=0.25, delta=1e-7, mechanism="gaussian")
    (query,) = dp.session()._asked.values()
    assert "δ = 1e-07" in whatif.forecast(dp.ledger(), query, "0.125", 1)


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
    assert "asking again is free" in whatif.forecast(dp.ledger(), query, "0.3", 1)
    assert "costs ε = 0.31" in whatif.forecast(dp.ledger(), query, "0.31", 1)


def test_what_was_refused_is_offered_too() -> None:
    dp.session(epsilon=1)
    refusal(lambda: people(version="1").query("a > 3").count(epsilon=2), error=dp.BudgetExceeded)
    assert list(dp.session()._asked) == ["people: count where a > 3"]


def test_sessions_in_other_measures_have_their_own_slider() -> None:
    running_session = dp.session(rho=1, delta=1e-6)
    people(version="1").count(epsilon=0.5)
    offers = whatif.offers(running_session)
    assert [whatif.symbol(q) for q in offers.values()] == ["ε", "ρ", "ρ"]
    told = [plain(whatif.forecast(dp.ledger(), q, "0.1", 9)) for q in offers.values()]
    costs = [re.search("costs (.) [=≈] ([^ ]*)", t).groups() for t in told]  # type: ignore[union-attr]
    assert [symbol for symbol, _ in costs] == ["ρ"] * 3
    assert [float(cost) for _, cost in costs] == pytest.approx([0.005, 0.1, 0.1], rel=0.01)


@pytest.mark.parametrize("bad", ["", "-1", "x", "0", "nan", "1e9", "<b>"])
def test_a_bad_epsilon_is_answered_in_words(bad: str) -> None:
    dp.session(epsilon=1)
    people(version="1").count(epsilon=0.5)
    (query,) = dp.session()._asked.values()
    said = whatif.forecast(dp.ledger(), query, bad, 1)
    assert "epsilon=" in said
    assert "<b>" not in said


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
def test_the_slider_has_short_steps_up_to_the_budget(terms: Any) -> None:
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
    ledger = filled(450)
    view = View(ledger)
    pages = view._pages
    assert "releases 251 to 450 of 450" in shown(view)
    assert (pages._older.disabled, pages._newer.disabled) == (False, True)
    pages._older.click()
    assert "releases 51 to 250 of 450" in shown(view)
    pages._older.click()
    assert "releases 1 to 200 of 450" in shown(view)
    assert (pages._older.disabled, pages._newer.disabled) == (True, False)
    ledger._store.add([DRAFT] * 30, agreed)
    view._drawn()
    assert "releases 1 to 200 of 480" in shown(view), "who reads an old page stays there"
    for _ in range(2):
        pages._newer.click()
    assert "releases 281 to 480 of 480" in shown(view)
    ledger._store.add([DRAFT], agreed)
    view._drawn()
    assert "releases 282 to 481 of 481" in shown(view), "the newest page follows"
    assert "and 281 earlier" in view._drawn().data


def test_a_short_ledger_has_no_pages() -> None:
    assert View(filled(200))._pages._bar.layout.display == "none"
    assert View(filled(201))._pages._bar.layout.display is None


def test_an_update_reads_no_more_of_a_long_ledger(tmp_path: Path, monkeypatch: Any) -> None:
    store = sqlite.SqliteStore(tmp_path / "a.ledger", limit(10**6))
    for _ in range(6):
        store.add([DRAFT] * 500, agreed)
    ledger, read = Ledger(store.terms, store), []
    whole = file_schema.entry_of
    monkeypatch.setattr(file_schema, "entry_of", lambda *a: read.append(a[0]) or whole(*a))
    view = View(ledger)
    assert len(read) <= views.SHOWN + 2 * charts.FIRST
    read.clear()
    store.add([DRAFT] * 3, agreed)
    view._drawn()
    assert len(read) == views.SHOWN + 3
    read.clear()
    view._pages._older.click()
    assert len(read) <= 2 * views.SHOWN


def test_the_slider_and_the_box_beside_it_say_one_thing() -> None:
    dp.session(epsilon=2)
    people(version="1")
    view = View(dp.ledger())
    what_if = view._what_if
    assert what_if.box.layout.display is None
    what_if._slider.value = Fraction(1, 5)
    assert what_if._loss.value == "0.2"
    assert "± 15" in what_if._answer.value
    what_if._loss.value = "0.1"
    assert "± 30" in what_if._answer.value
    what_if._choice.value = "people: mean of a in (0, 100)"
    assert what_if._rows.layout.display is None
    what_if._rows.value = 4000
    assert "over 4,000 rows" in what_if._answer.value
    people(version="1").query("a > 3").count(epsilon=0.5)
    view._drawn()
    assert what_if._choice.value == "people: mean of a in (0, 100)", "what was chosen stays"
    assert "people: count where a > 3" in what_if._choice.options


def test_a_budget_given_later_moves_the_slider_and_the_end_takes_it_away() -> None:
    view = View(dp.session().ledger)
    assert view._what_if._slider.options[-1][1] == 10
    assert view._what_if.box.layout.display == "none", "nothing to offer"
    people(version="1")
    dp.session(epsilon=3)
    view._drawn()
    assert view._what_if._slider.options[-1][1] == 3
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
    until(lambda: pushed and "theirs (verified)" in pushed[-1])
    assert "ε spent 0.5 of 2" in pushed[-1]
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
    until(lambda: "ε spent 1 of 2" in pushed[-1])
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
    assert "ε spent 1 of 2" in pushed[-1]


def test_without_threads_each_change_is_shown_at_once(
    tmp_path: Path, pushed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dppandas.display.notebook.live.PAUSE", LIMIT)
    monkeypatch.setattr(threading.Thread, "start", raising(RuntimeError))
    dp.session(epsilon=2, store=tmp_path / "a.ledger")
    live = Live(Kernelled())
    live.show(dp.ledger())
    monkeypatch.setattr(parallel, "workers", lambda: 3)
    frame = pd.DataFrame({"x": np.arange(3_000_000) % 10})
    for spent in ("0.5", "1", "1.5"):
        assert frame.dp["x"].mean(bounds=(0, 10), epsilon=0.5) == pytest.approx(4.5, abs=0.01)
        assert f"ε spent {spent} of 2" in pushed[-1]
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
