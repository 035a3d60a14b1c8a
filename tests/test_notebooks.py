"""The notebooks, strictly under nbval: everything is compared to the letter, answers included, for
they come from the ledger that is committed beside the notebook."""

import os
import re
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
LEDGER = NOTEBOOKS / "quickstart.ledger"
#: The five lectures together may take five minutes.
LONGEST = 60
LECTURES = sorted(NOTEBOOKS.glob("lecture_*.ipynb"))
#: A kernel runs beside the notebook, and imports the package that is tested.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(NOTEBOOKS.parent)}
run = partial(subprocess.run, capture_output=True, text=True, timeout=600, env=ENVIRONMENT)


@pytest.fixture(autouse=True)
def nothing_known(own_configuration: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that has no fingerprint of the survey yet."""
    monkeypatch.setitem(ENVIRONMENT, "XDG_CONFIG_HOME", os.environ["XDG_CONFIG_HOME"])


def nbval(path: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable, "-m", "pytest", "--nbval", str(path), "-q", "-p", "no:cacheprovider",
        f"--nbval-sanitize-with={NOTEBOOKS / 'sanitize.cfg'}", "--rootdir", str(path.parent),
        "-c", os.devnull,
    ]  # fmt: skip
    return run(command, cwd=path.parent)


def run_demo(folder: Path) -> str:
    program = shutil.copy(NOTEBOOKS / "run_demo.py", folder) if folder != NOTEBOOKS else None
    command = [sys.executable, str(program or NOTEBOOKS / "run_demo.py")]
    result = run(command, check=True)
    assert "Error" not in result.stderr
    return result.stdout


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda p: p.name)
def test_notebook_gives_what_it_shows(path: Path) -> None:
    ledger = path.with_suffix(".ledger")
    before, start = ledger.read_bytes(), time.monotonic()
    result = nbval(path)
    assert result.returncode == 0, result.stdout[-5000:]
    assert ledger.read_bytes() == before
    assert time.monotonic() - start < LONGEST


def test_each_lecture_has_a_notebook() -> None:
    assert [path.name[:9] for path in LECTURES] == [f"lecture_{i}" for i in range(5)]


@pytest.mark.parametrize("path", LECTURES, ids=lambda p: p.name)
def test_a_lecture_checks_its_claims(path: Path) -> None:
    """In cells, and where noise decides it says how often by chance; and it shows what fails."""
    book = nbformat.read(path, as_version=4)
    code = [cell.source for cell in book.cells if cell.cell_type == "code"]
    text = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    assert sum("assert " in source for source in code) >= 5
    assert re.search(r"10⁻|by chance", text)
    assert not [source for source in code if "seed(" in source]


def changed(folder: Path, old: str, new: str) -> str:
    """What nbval says of the notebook with one cell changed."""
    book = nbformat.read(NOTEBOOKS / "quickstart.ipynb", as_version=4)
    (cell,) = [c for c in book.cells if c.source.endswith('0").count(epsilon=0.1)')]
    assert old in cell.source
    cell.source = cell.source.replace(old, new)
    nbformat.write(book, folder / "quickstart.ipynb")
    shutil.copy(LEDGER, folder)
    result = nbval(folder / "quickstart.ipynb")
    assert result.returncode == 1
    return result.stdout


def failed(said: str) -> int:
    found = re.search(r"(\d+) failed", said)
    return int(found[1]) if found else 0


@pytest.mark.parametrize(("old", "new"), [("0.1", "0.05"), ("> 0", "> 1")])
def test_a_changed_question_fails(tmp_path: Path, old: str, new: str) -> None:
    """The negative control. It is drawn anew and paid for: its answer, what the refusal says is
    left, and the ledger are others."""
    assert failed(changed(tmp_path, old, new)) >= 3


def test_an_answer_drawn_anew_fails(tmp_path: Path) -> None:
    """Noise is compared too: the ledger differs by what was paid, whatever was drawn."""
    assert failed(changed(tmp_path, "epsilon=0.1", "epsilon=0.1, fresh=True")) >= 2


def test_without_its_ledger_the_notebook_draws_anew(tmp_path: Path) -> None:
    """Of six counts with noise of scale 5 and five means with noise of scale 10^9 all would be as
    before with a probability below 10^-40."""
    shutil.copy(NOTEBOOKS / "quickstart.ipynb", tmp_path)
    said, saved = run_demo(tmp_path), nbformat.read(NOTEBOOKS / "quickstart.ipynb", as_version=4)
    asked = [c for c in saved.cells if c.cell_type == "code" and "dp.record(" in c.source]
    texts = [output.data["text/plain"] for cell in asked for output in cell.outputs]
    records = [text for text in texts if "discrete Laplace" in text]
    assert len(records) == 2
    assert not all(record in said for record in records)
    error = r"± [\d.]+( to [\d.]+)?"
    heads = [re.sub(error, "±", record.split("\n  ")[0]) for record in records]
    told = re.sub(error, "±", said)
    assert all(head in told for head in heads), "only the noise differs, and errors as answered"
    assert (tmp_path / "quickstart.ledger").exists()
    answers = re.compile(r"^  \S+: .*$|^-?[\d,.]+ ± .*$", re.MULTILINE)
    assert answers.findall(said) == answers.findall(run_demo(tmp_path)), "and then they stay"


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
    assert "".join(last.outputs[0].data["text/html"]) in "".join(live.outputs[0].data["text/html"])


def test_make_demo_prints_answers_errors_and_the_ledger() -> None:
    before = LEDGER.read_bytes()
    said = run_demo(NOTEBOOKS)
    assert re.search(r"^-?[\d,]+ ± 30 \(95 %\)$", said, re.MULTILINE)
    assert "ε spent 1.1 of 2 · 0.9 left" in said
    assert "answered again, free: release 1 in cells" in said
    assert LEDGER.read_bytes() == before
