"""marimo: its kernel answers, its workers don't, cells have numbers, and reruns that pay say so."""

import html
import json
import multiprocessing
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from waiting import LIMIT

import dppandas as dp
from dppandas.display.notebook import marimo_cards, marimo_ledger
from dppandas.display.notebook.live import Views
from dppandas.display.notebook.marimo_ledger import MarimoView
from dppandas.engines import progress
from dppandas.errors import WorkerProcessError
from dppandas.ledger import cells, marimo
from dppandas.ledger.ledger import Ledger
from dppandas.release import release

HOUSE = Path(dp.__file__).parent.parent

WORKERS = """
import sys
import pandas as pd, dppandas as dp

def ask(_):
    try:
        return str(pd.DataFrame({"x": [1]}).dp.count(epsilon=0.1))
    except dp.DPError as error:
        return type(error).__name__
"""

NOTEBOOK = """
import marimo

app = marimo.App()


@app.cell
def _():
    import multiprocessing

    import marimo as mo
    import pandas as pd

    import dppandas as dp
    import workers

    dp.session(epsilon=2{store})
    frame = pd.DataFrame({{"age": [20, 40, 60] * 100}})
    people = dp.protect(frame, name="people", version="1", domain={{"age": (0, 90)}})
    return dp, frame, mo, multiprocessing, people, workers


@app.cell
def _(people):
    people["age"].mean(epsilon=0.5)
    return


@app.cell
def _(mo):
    moved, move = mo.state(0, allow_self_loops=True)
    return move, moved


@app.cell
def _(frame, move, moved, people):
    # Its own change of a state runs it again, as a slider does.
    asked = people.count(epsilon=0.1), frame[frame["age"] > moved()].dp.count(epsilon=0.125)
    if moved() < {moves}:
        move(moved() + 1)
    return (asked,)


@app.cell
def _(multiprocessing, people, workers):
    said = []
    for method in {methods}:
        with multiprocessing.get_context(method).Pool(1) as pool:
            said += pool.map(workers.ask, [0])
    print("workers:", said)
    return


@app.cell
def _(asked, dp, people):
    asked
    people["agee"]
    return


@app.cell
def _(asked, dp):
    asked
    print("ledger:", dp.ledger().to_frame()[["cell", "query", "epsilon"]].to_json(orient="split"))
    dp.ledger()
    return


if __name__ == "__main__":
    app.run()
"""


def exported(folder: Path, **said: Any) -> str:
    """The page that marimo exports, as text."""
    (folder / "workers.py").write_text(WORKERS)
    (folder / "book.py").write_text(NOTEBOOK.format(**said))
    return run_marimo(folder)


def run_marimo(folder: Path) -> str:
    """What cells show on the page that marimo exports of book.py, as text. One of them fails."""
    said, page = marimo_page(folder)
    assert "some cells failed" in said, "for one asks of no column"
    start = page.index('"session": {"cells"') + len('"session": ')
    cells, _ = json.JSONDecoder().raw_decode(page[start:])
    found = [each for cell in cells["cells"] for each in (*cell["outputs"], *cell["console"])]
    return html.unescape("\n".join(json.dumps(each, ensure_ascii=False) for each in found))


def marimo_page(folder: Path) -> tuple[str, str]:
    """What marimo says, and the page that it exports of book.py."""
    command = [sys.executable, "-m", "marimo", "export", "html", "book.py", "-o", "book.html", "-f"]
    environment = {**os.environ, "PYTHONPATH": str(HOUSE), "XDG_CONFIG_HOME": str(folder)}
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    return ran.stdout + ran.stderr, (folder / "book.html").read_text("utf-8")


def told(page: str, word: str) -> str:
    """What the notebook printed after a word."""
    return page.split(f"{word}: ", 1)[1].split("\\n", 1)[0].replace('\\"', '"')


@pytest.fixture
def real() -> None:
    pytest.importorskip("marimo")


def test_a_notebook_in_memory_is_answered_and_its_workers_are_not(
    real: None, tmp_path: Path
) -> None:
    page = exported(tmp_path, store="", moves=2, methods=["fork", "spawn"])
    assert told(page, "workers") == "['WorkerProcessError', 'WorkerProcessError']"
    assert "(95 %, noise only)" in page, "numbers are shown with their errors"
    spent = json.loads(told(page, "ledger"))["data"]
    # The named source answers twice more for nothing; the frame is paid for three times.
    assert sorted(spent) == [
        [2, "mean of age in 0 to 90", 0.5],
        *([4, "count", epsilon] for epsilon in (0, 0, 0.1, 0.125, 0.125, 0.125)),
    ]
    assert "this cell ran 3 times and paid ε = 0.375 in all" in page
    assert "there is no column 'agee'" in page
    assert str(HOUSE / "dppandas") not in page, "frames are the caller's alone"


def test_a_notebook_with_a_store_gives_the_same_numbers_again(real: None, tmp_path: Path) -> None:
    pages = [exported(tmp_path, store=', store="a.ledger"', moves=0, methods=[]) for _ in range(2)]
    means = [page.split("(95 %, noise only)")[0].rsplit("<span>", 1)[1] for page in pages]
    assert means[0] == means[1]
    assert "±" in means[0]
    books = [json.loads(told(page, "ledger"))["data"] for page in pages]
    paid = [sorted(epsilon for _, _, epsilon in book) for book in books]
    assert paid[0] == [0.1, 0.125, 0.5]
    assert paid[1] == [0, 0, 0.1, 0.125, 0.125, 0.5]  # the frame pays again


CARDS = """
import marimo

app = marimo.App()


@app.cell
def _():
    import pandas as pd
    import dppandas as dp

    dp.session(epsilon=5)
    frame = pd.DataFrame({"town": ["a", "b"] * 500, "old": [True] * 1000})
    people = dp.protect(frame, name="people", version="1", domain={"town": ["a", "b"]})
    return dp, frame, people


@app.cell
def _(people):
    people["town"].value_counts(epsilon=1)
    return


@app.cell
def _(people):
    people.groupby("town")[["old"]].mean(epsilon=1)
    return


@app.cell
def _(dp, people):
    dp.compare(people.groupby("town")["old"].mean(epsilon=1))
    return


@app.cell
def _(dp, people):
    dp.synthesize(people, rows=5, epsilon=1)
    return


@app.cell
def _(people):
    people
    return


@app.cell
def _(frame):
    frame.head(2)
    return


@app.cell
def _(people):
    people["agee"]
    return
"""


def test_marimo_shows_the_cards_and_its_own_tables_of_all_else(real: None, tmp_path: Path) -> None:
    (tmp_path / "book.py").write_text(CARDS)
    page = run_marimo(tmp_path)
    assert page.count('class=\\"dppandas-card\\"') == 2
    assert "a plain pandas Series" in page
    assert "can't be told apart</td>" in page
    assert re.search("synthetic · ε.{1,6}=.{1,6}1 · not people", page), "its spaces don't break"
    assert "private frame of people (verified), protecting each row</b>" in page
    assert page.count("<marimo-table") == 2, "synthetic rows, and others"


LIVING = """
import marimo

app = marimo.App()


@app.cell
def _():
    import pandas as pd
    import dppandas as dp

    dp.session(epsilon=5)
    frame = pd.DataFrame({"town": ["a", "b"] * 500})
    people = dp.protect(frame, name="people", version="1", domain={"town": ["a", "b"]})
    return dp, people


@app.cell
def _(dp):
    dp.ledger()
    return


@app.cell
def _(people):
    people["town"].value_counts(epsilon=1)
    return


@app.cell
def _():
    from dppandas.display.notebook.marimo_ledger import ledgers

    ledgers.flush()
    return
"""


def test_a_ledger_goes_on_living(real: None, tmp_path: Path) -> None:
    """It was shown before anything was asked. A page that marimo exports shows its last state."""
    (tmp_path / "book.py").write_text(LIVING)
    _, page = marimo_page(tmp_path)
    start = page.index("modelNotifications: Object.freeze(") + len(
        "modelNotifications: Object.freeze("
    )
    models, _ = json.JSONDecoder().raw_decode(page[start:])
    states = [model["message"]["state"] for model in models]
    (shown,) = [state["html"] for state in states if "html" in state]
    assert "4 of ε = 5 left" in shown
    assert "Count of rows by town" in shown
    assert page.count("marimo-anywidget data-initial-value") == 1


# --- without marimo -------------------------------------------------------------------------------


def launch_kernel() -> None:
    """What marimo's server has the process of a kernel run."""


launch_kernel.__module__ = "marimo._runtime.runtime"


@pytest.mark.parametrize(("runs", "parent", "expected"), [
    (launch_kernel, os.getppid(), True),
    (launch_kernel, os.getppid() + 1, False),  # a fork of the kernel
    (exported, os.getppid(), False),  # a worker
    (None, os.getppid(), False),
])  # fmt: skip
def test_only_the_process_that_marimo_started_is_its_kernel(
    runs: Any, parent: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, outer = SimpleNamespace(_target=runs), SimpleNamespace(pid=parent)
    monkeypatch.setattr(multiprocessing, "current_process", lambda: here)
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: outer)
    assert marimo.is_kernel() is expected
    frame = pd.DataFrame({"x": [1]})
    if expected:
        frame.dp.count(epsilon=1)
    else:
        with pytest.raises(WorkerProcessError):
            frame.dp.count(epsilon=1)


class Run:
    """A run of a cell, by its name."""

    def __init__(self, cell_id: str) -> None:
        self.cell_id = cell_id


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Any:
    """marimo's context of the running cell."""
    context: Any = SimpleNamespace(cell_id=None, execution_context=None)
    context.graph = SimpleNamespace(cells=dict.fromkeys(["aaaa", "bbbb", "cccc"]))

    def run(name: str | None) -> Any:
        context.cell_id, context.execution_context = name, name and Run(name)
        return context

    module: Any = types.ModuleType("marimo._runtime.context")
    module.get_context = lambda: context
    monkeypatch.setitem(sys.modules, "marimo._runtime.context", module)
    monkeypatch.setattr(marimo, "_numbers", {})
    return run


def test_a_cell_keeps_the_number_of_its_place(running: Any) -> None:
    running("bbbb")
    assert cells.current_cell() == 2
    context = running("cccc")
    assert cells.current_cell() == 3
    context.graph.cells = dict.fromkeys(["aaaa", "cccc", "bbbb"])  # it was edited
    running("bbbb")
    assert cells.current_cell() == 2
    running(None)
    assert cells.current_cell() is None
    context.graph.cells = dict.fromkeys(["dddd", "cccc", "bbbb", "aaaa"])
    running("aaaa")
    assert cells.current_cell() == 4
    running("dddd")
    assert cells.current_cell() == 1
    sys.modules["marimo._runtime.context"].get_context = None  # type: ignore[attr-defined]
    assert cells.current_cell() is None


@pytest.mark.parametrize(("theme", "told"), [("light",) * 2, ("dark",) * 2, ("system", None)])
def test_a_theme_that_is_set_is_the_ground(theme: str, told: str | None, running: Any) -> None:
    assert marimo.ground() is None, "nothing is known"
    running("aaaa").marimo_config = {"display": {"theme": theme}}
    assert marimo.ground() == told


class Element:
    """What marimo makes of a widget with a script of its own."""

    def __init__(self, widget: Any) -> None:
        self.widget = widget

    def _mime_(self) -> tuple[str, str]:
        return "text/html", "<marimo-anywidget>"


@pytest.fixture
def shows(monkeypatch: pytest.MonkeyPatch) -> Any:
    """marimo, as far as it shows ledgers: its tables of formatters, and its element."""
    module: Any = types.ModuleType("marimo")
    module.ui = SimpleNamespace(anywidget=Element)
    registry = SimpleNamespace(formatters={})
    registry.add_formatter = registry.formatters.__setitem__
    formatting: Any = types.ModuleType("marimo._output.formatting")
    formatting.OPINIONATED_FORMATTERS = registry
    monkeypatch.setitem(sys.modules, "marimo", module)
    monkeypatch.setitem(sys.modules, "marimo._output.formatting", formatting)
    monkeypatch.setattr(marimo_ledger, "ledgers", Views(MarimoView))
    marimo_cards.register()
    yield lambda: registry.formatters[Ledger](dp.ledger())
    marimo_ledger.ledgers.stop()
    progress.tell_to(None)


def places() -> list[Any]:
    (view,) = marimo_ledger.ledgers._views.values()
    return [element.widget for element in view._places]


def test_all_places_are_kept_up_to_date_until_marimo_closes_them(shows: Any) -> None:
    dp.session(epsilon=2)
    for _ in range(2):
        assert shows() == ("text/html", "<marimo-anywidget>")
    assert ["nothing spent yet" in each.html for each in places()] == [True, True]
    pd.DataFrame({"x": [1]}).dp.count(epsilon=1)
    marimo_ledger.ledgers.flush()
    assert ["1 of ε = 2 left" in each.html for each in places()] == [True, True]
    first, second = places()
    first.comm._closed = True  # its cell ran again
    pd.DataFrame({"x": [1]}).dp.count(epsilon="0.5")
    marimo_ledger.ledgers.flush()
    assert places() == [second]
    assert "0.5 of ε = 2 left" in second.html
    for _ in range(2 * marimo_ledger.PLACES):
        shows()
    assert len(places()) == marimo_ledger.PLACES


def test_a_scan_is_told_there_too(shows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dp.session(epsilon=2)
    shows()
    told = []

    def drawn(*args: Any) -> Any:
        (draw,) = progress.states(dp.ledger())
        monkeypatch.setattr(progress, "states", lambda of: {draw: "computing … 12 s"})
        marimo_ledger.ledgers.tell()
        told.append(places()[0].html)
        return noisy(*args)

    noisy = release._drawn
    monkeypatch.setattr(release, "_drawn", drawn)
    pd.DataFrame({"x": [1]}).dp.count(epsilon=1)
    assert "computing … 12 s" in told[0]


def test_where_marimo_can_not_keep_it_up_to_date_a_ledger_is_shown_as_it_is(
    shows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["marimo"], "ui", None)
    dp.session(epsilon=2)
    assert shows() == ("text/html", dp.ledger()._repr_html_())


def asked_again(recwarn: pytest.WarningsRecorder) -> list[str]:
    found = [str(each.message).split(".\n")[0] for each in recwarn]
    recwarn.clear()
    return found


def test_a_cell_that_runs_again_and_pays_again_says_so(
    running: Any, recwarn: pytest.WarningsRecorder
) -> None:
    frame = pd.DataFrame({"x": [1, 2]})
    people = dp.protect(frame, name="people")

    def cell(name: str, least: int) -> list[str]:
        running(name)
        people.count(epsilon="0.1")
        for _ in range(2):  # one run may ask twice
            frame[frame["x"] > least].dp.query(f"x > {least}").count(epsilon="0.25")
        return asked_again(recwarn)

    assert cell("aaaa", 0) == []
    assert cell("bbbb", 0) == [], "another cell"
    assert cell("aaaa", 1) == ["this cell ran 2 times and paid ε = 0.75 in all"]
    assert cell("aaaa", 2) == ["this cell ran 3 times and paid ε = 1.25 in all"]
    dp.reset()
    running("aaaa")
    frame.dp.count(epsilon="0.25")
    assert asked_again(recwarn) == []


def test_a_cell_of_ipython_that_runs_again_says_so_too(recwarn: pytest.WarningsRecorder) -> None:
    frame, numbers, told = pd.DataFrame({"x": [1, 2]}), iter([1, 1, 2, 2, 3, 3]), []
    cells.attribute_to(lambda: next(numbers), lambda number: 1 if number == 3 else None)
    try:
        for _ in range(3):
            frame.dp.count(epsilon="0.25")
            told.append(asked_again(recwarn))
    finally:
        cells.attribute_to(None)
    assert told == [[], [], ["this cell ran 2 times and paid ε = 0.5 in all"]]
