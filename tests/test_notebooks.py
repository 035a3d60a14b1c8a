"""The notebooks, strictly under nbval: everything is compared to the letter, answers included, for
they come from the ledger that is committed beside the notebook. All runs on a copy, so that a test
that fails, or is killed, leaves the checkout as it was."""

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from scripts import script

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
LECTURES = sorted(NOTEBOOKS.glob("lecture_*.ipynb"))
#: Notebooks whose plain cells older pandas runs with warnings.
OF_PANDAS_3 = [
    f"gallery/{name}.ipynb" for name in ("02_training", "07_weather", "08_wages", "11_affairs")
]
#: A kernel runs beside the notebook, and imports the package that is tested.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(NOTEBOOKS.parent)}
run = partial(subprocess.run, capture_output=True, text=True, timeout=600, env=ENVIRONMENT)


@pytest.fixture(autouse=True)
def nothing_known(own_configuration: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that has no fingerprint of the survey yet."""
    monkeypatch.setitem(ENVIRONMENT, "XDG_CONFIG_HOME", os.environ["XDG_CONFIG_HOME"])


def nbval(path: Path) -> subprocess.CompletedProcess[str]:
    """As anybody would type it, in the checkout."""
    checkout = next(folder for folder in path.parents if (folder / "pyproject.toml").exists())
    command = [sys.executable, "-m", "pytest", "--nbval", str(path.relative_to(checkout))]
    return run(command, cwd=checkout)


@pytest.fixture
def notebooks(tmp_path: Path) -> Path:
    """The folder of notebooks in a checkout of the test's own."""
    leave = shutil.ignore_patterns("*-wal", "*-shm", ".ipynb_checkpoints", "__pycache__")
    shutil.copy(NOTEBOOKS.parent / "pyproject.toml", tmp_path)
    return Path(shutil.copytree(NOTEBOOKS, tmp_path / "notebooks", ignore=leave))


settled = script("notebooks/run_demo.py").settled


def files(folder: Path) -> dict[str, bytes]:
    """What is in the folder, with all that a ledger's kernel may have left in a log beside it."""
    kept = [path for path in folder.iterdir() if path.suffix in (".ipynb", ".ledger")]
    return {p.name: settled(p) if p.suffix == ".ledger" else p.read_bytes() for p in kept}


def run_demo(notebooks: Path) -> str:
    result = run([sys.executable, str(notebooks / "run_demo.py")], check=True)
    assert not re.search("Error|IPKernelApp", result.stderr)
    return result.stdout


#: The quickstart; with --deep the lectures, too; and at night the gallery.
NAMES = [
    pytest.param(str(path.relative_to(NOTEBOOKS)), marks=marks)
    for path in [*sorted(NOTEBOOKS.glob("*.ipynb")), *sorted(NOTEBOOKS.glob("gallery/*.ipynb"))]
    for marks in [
        [] if path.stem == "quickstart"
        else pytest.mark.nightly if path.parent.name == "gallery"
        else pytest.mark.deep
    ]
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_notebook_gives_what_it_shows(name: str, notebooks: Path) -> None:
    if name in OF_PANDAS_3 and int(pd.__version__.split(".")[0]) < 3:
        pytest.skip("pandas before 3 warns of groups by categories, which the outputs don't have")
    folder = (notebooks / name).parent
    before = files(folder)
    result = nbval(notebooks / name)
    assert result.returncode == 0, result.stdout[-5000:]
    assert files(folder) == before


def test_each_lecture_has_a_notebook() -> None:
    """Lecture 3 has three."""
    numbers = [path.name.split("_")[1] for path in LECTURES]
    assert numbers == ["0", "1", "2", "3a", "3b", "3c", "4"]


@pytest.mark.parametrize("path", LECTURES, ids=lambda p: p.name)
def test_a_lecture_checks_its_claims(path: Path) -> None:
    """In cells, and where noise decides it says how often by chance; and it shows what fails."""
    book = nbformat.read(path, as_version=4)
    code = [cell.source for cell in book.cells if cell.cell_type == "code"]
    text = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    assert sum("assert " in source for source in code) >= 5
    assert re.search(r"10⁻|by chance", text)
    assert not [source for source in code if "seed(" in source]


RUNNERS = {
    "papermill": ["papermill", "--no-progress-bar", "quickstart.ipynb", "run.ipynb"],
    "jupyter execute": ["jupyter", "execute", "--output=run.ipynb", "quickstart.ipynb"],
}


def texts(book: Any) -> list[list[str]]:
    """What each cell of code prints and shows, as text."""
    found = [cell.outputs for cell in book.cells if cell.cell_type == "code"]
    return [[out.get("text") or out.data["text/plain"] for out in outputs] for outputs in found]


@pytest.mark.deep
@pytest.mark.parametrize("runner", RUNNERS)
def test_others_run_the_quickstart_too(runner: str, notebooks: Path) -> None:
    if runner == "papermill":
        pytest.importorskip("papermill")
    before = files(notebooks)
    result = run([sys.executable, "-m", *RUNNERS[runner]], cwd=notebooks)
    assert result.returncode == 0, result.stderr[-5000:]
    ran, saved = (nbformat.read(notebooks / f"{n}.ipynb", 4) for n in ("run", "quickstart"))
    assert texts(ran) == texts(saved)
    (notebooks / "run.ipynb").unlink()
    assert files(notebooks) == before


def changed(notebooks: Path, old: str, new: str) -> str:
    """What nbval says of the notebook with one cell changed."""
    path = notebooks / "quickstart.ipynb"
    book = nbformat.read(path, as_version=4)
    (cell,) = [c for c in book.cells if c.source.endswith('0").count(epsilon=0.1)')]
    assert old in cell.source
    cell.source = cell.source.replace(old, new)
    nbformat.write(book, path)
    result = nbval(path)
    assert result.returncode == 1
    return result.stdout


def failed(said: str) -> int:
    found = re.search(r"(\d+) failed", said)
    return int(found[1]) if found else 0


@pytest.mark.parametrize(
    ("old", "new"), [("0.1", "0.05"), pytest.param("> 0", "> 1", marks=pytest.mark.deep)]
)
def test_a_changed_question_fails(notebooks: Path, old: str, new: str) -> None:
    """The negative control. It is drawn anew and paid for: its answer, what the refusal says is
    left, and the ledger are others."""
    assert failed(changed(notebooks, old, new)) >= 3


@pytest.mark.deep
def test_an_answer_drawn_anew_fails(notebooks: Path) -> None:
    """Noise is compared too: the ledger differs by what was paid, whatever was drawn."""
    assert failed(changed(notebooks, "epsilon=0.1", "epsilon=0.1, fresh=True")) >= 2


def test_the_demo_draws_anew_and_then_answers_free(notebooks: Path) -> None:
    """Of six counts with noise of scale 5 and five means with noise of scale 10^9 all would be as
    before with a probability below 10^-40."""
    before = files(notebooks)
    said, saved = run_demo(notebooks), nbformat.read(notebooks / "quickstart.ipynb", as_version=4)
    outputs = [each for c in saved.cells if c.cell_type == "code" for each in c.outputs]
    texts = [each.data["text/plain"] for each in outputs if "text/html" in each.get("data", {})]
    cards = [text.splitlines() for text in texts if "a plain pandas" in text]
    assert len(cards) == 2
    assert not all("\n".join(card) in said for card in cards)
    feet = {card[i] for card in cards for i, line in enumerate(card) if line.startswith("ε = ")}
    assert feet
    assert all(said.count(foot) == 1 for foot in feet), "only the noise differs"
    assert "† charged by another kernel" not in said
    assert "; your ledger, build/demo/quickstart.ledger, keeps the answers.\n" in said

    again = run_demo(notebooks)
    answers = re.compile(r"^\S+ +\S+ +± .*$|^-?[\d,.]+ ± .*$", re.MULTILINE)
    assert len(answers.findall(said)) == 14
    assert answers.findall(again) == answers.findall(said), "and then they stay"
    assert "again, free: [5], [6]\n" in again
    assert "0.9 of ε = 2 left · 1.1 spent on 6 answers · quickstart.ledger" in again
    ended, next_step = again.splitlines()[-2:]
    assert ended.startswith("All answered again, free, from your ledger, build/demo/")
    assert next_step.startswith("Next: make lab")
    assert files(notebooks) == before
    assert set(files(notebooks.parent / "build" / "demo")) == {"quickstart.ledger"}


def test_the_demo_shows_each_question_above_its_answer(capsys: pytest.CaptureFixture[str]) -> None:
    book = nbformat.read(NOTEBOOKS / "quickstart.ipynb", as_version=4)
    script("notebooks/run_demo.py").show(book)
    said = capsys.readouterr().out
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    places = [said.index(f"In [{i}]: ") for i in range(1, len(cells) + 1)]
    assert places == sorted(places)
    for cell, start, end in zip(cells, places, [*places[1:], len(said)], strict=True):
        asked, answered = said[start:end].split("\n\n", 1)
        gutter = len(f"In [{cell.execution_count}]: ")
        assert [line[gutter:] for line in asked.splitlines()] == cell.source.splitlines()
        texts = [output.get("text") or output.data["text/plain"] for output in cell.outputs]
        if "dp.session" not in cell.source and "plt.show" not in cell.source:
            assert answered.startswith("".join(texts).rstrip() + "\n")
    assert not re.search(r"<(div|style|span|Figure|IPython)", said)


def test_saved_outputs_hold_no_widget_state_and_no_errors() -> None:
    for path in NOTEBOOKS.glob("*.ipynb"):
        book = nbformat.read(path, as_version=4)
        assert "widgets" not in book.metadata
        code = [cell for cell in book.cells if cell.cell_type == "code"]
        assert all(cell.execution_count for cell in code), f"{path.name} is saved with outputs"
        assert not [o for cell in code for o in cell.outputs if o.output_type == "error"]


def test_the_saved_live_ledger_is_its_last_state() -> None:
    book = nbformat.read(NOTEBOOKS / "quickstart.ipynb", as_version=4)
    (live,) = [c for c in book.cells if c.source.startswith("dp.session(")]
    last = book.cells[-1]
    still, copy = ("".join(c.outputs[0].data["text/html"]) for c in (last, live))
    assert "read only: the kernel has ended" in copy
    notice = re.compile(r' <span class="dp-state"[^>]*>read only[^<]*</span>')
    assert still in notice.sub("", copy)
