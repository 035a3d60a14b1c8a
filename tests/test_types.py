"""What type checkers and editors are told: docs/adr/0054-types-by-overload.md."""

import ast
import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import overloads
import pandas as pd
import pytest
from notes import noted

import dppandas as dp

ROOT = Path(__file__).parent.parent
TYPED = ROOT / "tests" / "typed"


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int, str]]:
    """What `mypy --strict` says to a user, who has dppandas installed and no plugin: the file, the
    line and the code of each error."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is in the extra [dev] only, which this environment lacks")
    folder = tmp_path_factory.mktemp("user")
    files = [str(path) for path in sorted(TYPED.glob("*.py"))]
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *files]
    command += ["--cache-dir", str(ROOT / ".mypy_cache" / "user")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # as an installed package: py.typed says
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    errors = re.findall(r"([\w.]+\.py):(\d+): error: .*\[([\w-]+)\]$", result.stdout, re.MULTILINE)
    assert len(errors) == result.stdout.count(": error: "), result.stdout
    return [(name, int(line), code) for name, line, code in errors]


def test_lines_of_a_user_are_free_of_errors(said: list[tuple[str, int, str]]) -> None:
    assert (TYPED / "user_lines.py").read_text("utf-8").count("\n") > 40
    assert [error for error in said if error[0] != "mistakes.py"] == []


def test_mistakes_are_found_where_they_are(said: list[tuple[str, int, str]]) -> None:
    lines = (TYPED / "mistakes.py").read_text("utf-8").splitlines()
    marked = {
        ("mistakes.py", number, code)
        for number, line in enumerate(lines, 1)
        for code in re.findall(r"# \[([\w-]+)\]$", line)
    }
    assert len(marked) >= 6
    assert {*said} == marked


def test_lines_of_a_user_get_what_they_are_told() -> None:
    """Each name is annotated with what a type checker is told, and holds it when the lines run."""
    path = TYPED / "user_lines.py"
    held = runpy.run_path(str(path))
    told = {
        node.target.id: ast.unparse(node.annotation).partition("[")[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        and node.target.id in held
    }  # fmt: skip
    assert len(told) > 25
    for name, kind in told.items():
        with noted(name):
            assert isinstance(held[name], eval(kind, held))


def test_overloads_take_what_their_methods_take() -> None:
    stale, bare, number = [], [], 0
    for path, source in overloads.sources():
        if overloads.remade(source) != source:
            stale.append(path.name)
        for before, method in overloads.answering(ast.parse(source).body):
            decorators = [ast.unparse(each) for each in method.decorator_list]
            number += bool(before)
            if "release_method" in decorators and not before:
                bare.append(f"{path.name}: {method.name}")
    assert stale == [], "run python tests/overloads.py"
    assert bare == [], "write the first overload: see tests/overloads.py"
    assert number >= 42


def test_completion_shows_signatures_and_docstrings() -> None:
    """As IPython's completion asks jedi, which can't run `p["x"]`: it reads the source."""
    jedi = pytest.importorskip("jedi")
    p = dp.private(pd.DataFrame({"x": [1.0, 2.0]}), unit="row")
    asked = p["x"].mean(bounds=(0, 1))
    known: list[dict[str, Any]] = [{"p": p, "x": p["x"], "s": p["x"], "asked": asked, "dp": dp}]
    for code, parameter, told in (
        ('p["x"].mean(', "bounds", "The mean of the values"),
        ("x.mean(", "within", "The mean of the values"),
        ("p.count(", "at_most", "The number of rows"),
        ('p.groupby("x")["x"].sum(', "norm", "The sum of the values"),
        ("asked.release(", "confidence", "The noisy answer"),
        ("dp.crosstab(", "margins", "`PrivateFrame.crosstab`"),
        ("s.str.removeprefix(", "prefix", "Texts without a prefix"),
    ):
        with noted(code):
            (signature,) = jedi.Interpreter(code, known).get_signatures()
            assert parameter in [each.name for each in signature.params]
            assert signature.docstring(raw=True).startswith(told)
            name = signature.name
            (completed, *_) = jedi.Interpreter(code[:-1], known).complete()
            assert completed.name == name
            assert told in completed.docstring()


def test_completion_knows_methods_of_texts_and_parts_of_times() -> None:
    jedi = pytest.importorskip("jedi")
    p = dp.private(pd.DataFrame({"x": ["a"]}), unit="row")
    known: list[dict[str, Any]] = [{"p": p, "x": p["x"]}]
    for code, name in (
        ("x.str.isup", "isupper"),
        ("x.dt.is_l", "is_leap_year"),
        ('p["x"].str.casef', "casefold"),
        ('p["x"].dt.day_of_w', "day_of_week"),
    ):
        with noted(code):
            (completed,) = jedi.Interpreter(code, known).complete()
            assert completed.name == name
    (signature,) = jedi.Interpreter("x.str.lower(", known).get_signatures()
    assert signature.params == []
    assert p["x"].str.lower.__doc__ == "Texts in lower case."
