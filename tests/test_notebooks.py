"""The notebooks, strictly under nbval: everything but noise is compared to the letter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def nbval(path: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable, "-m", "pytest", "--nbval", str(path), "-q", "-p", "no:cacheprovider",
        f"--nbval-sanitize-with={NOTEBOOKS / 'sanitize.cfg'}", "--rootdir", str(path.parent),
        "-c", os.devnull,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, cwd=path.parent, timeout=600)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda p: p.name)
def test_notebook_gives_what_it_shows(path: Path) -> None:
    result = nbval(path)
    assert result.returncode == 0, result.stdout[-5000:]


def test_a_changed_epsilon_fails(tmp_path: Path) -> None:
    """The negative control: what is sanitized is noise, and not what the noise is made with."""
    book = nbformat.read(NOTEBOOKS / "quickstart.ipynb", as_version=4)
    (cell,) = [c for c in book.cells if c.source.endswith('0").count(epsilon=0.1)')]
    cell.source = cell.source.replace("0.1", "0.05")
    nbformat.write(book, tmp_path / "changed.ipynb")
    result = nbval(tmp_path / "changed.ipynb")
    assert result.returncode == 1
    failed = re.search(r"(\d+) failed", result.stdout)
    assert failed is not None, result.stdout
    assert int(failed[1]) >= 2, "both the answer's error and the ledger show it"


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
    shown = "".join(live.outputs[0].data["text/html"])
    assert "".join(last.outputs[0].data["text/html"]) in shown


def test_make_demo_prints_answers_errors_and_the_ledger() -> None:
    result = subprocess.run(
        [sys.executable, str(NOTEBOOKS / "run_demo.py")],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    assert re.search(r"^-?[\d,]+ ± 30 \(95 %\)$", result.stdout, re.MULTILINE)
    assert "ε spent 1.2 of 2 · 0.8 left" in result.stdout
    assert "BudgetExceeded" not in result.stderr
