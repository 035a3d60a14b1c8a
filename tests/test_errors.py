"""What a refusal shows: in Python the caller's line and the message, in IPython four lines."""

import linecache
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

import dppandas as dp
from dppandas.errors import InternalError, UnsupportedVerb
from dppandas.privacy.accounting.measures import LossRequest

#: A checkout may have its name, too.
PACKAGE = Path(dp.__file__).parent

#: One of each door: verbs, columns, attributes, operators, functions, arguments that don't fit.
REFUSED: dict[str, Callable[[Any], Any]] = {
    "an answer": lambda p: p["x"].mean(epsilon=1),
    "a column": lambda p: p["y"],
    "an attribute": lambda p: p.nope,
    "an operator": lambda p: p["x"] + "a",
    "a length": len,
    "an argument": lambda p: p.count(epsilno=1),
    "a number of arguments": lambda p: dp.protect(p, "a", "b", "c"),
    "a function": lambda p: dp.combine(1, 2),
    "a session": lambda p: dp.session(epsilon=-1),
    "a copy": pickle.dumps,
    "through pandas": lambda p: pd.DataFrame({"a": [1]}).dp["b"],
    "the budget": lambda p: dp.session(epsilon=1) and p.count(epsilon=2),
}


@pytest.fixture
def people() -> Any:
    return dp.protect(pd.DataFrame({"x": [1, 2, 3]}), name="people")


def shown(error: dp.DPError) -> list[str]:
    """The lines that IPython shows."""
    return "\n".join(error._render_traceback_()).split("\n")


def files(error: BaseException) -> list[str]:
    return [entry.filename for entry in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("refused", REFUSED)
def test_python_shows_the_line_of_the_caller_last(refused: str, people: Any) -> None:
    with pytest.raises(dp.DPError) as raised:
        REFUSED[refused](people)
    assert not [file for file in files(raised.value) if PACKAGE in Path(file).parents]
    assert raised.value.__context__ is None


def test_what_the_caller_was_handling_is_shown_and_what_the_package_was_is_not(people: Any) -> None:
    mine = ZeroDivisionError("mine")

    def handle() -> None:
        try:
            raise mine
        except ZeroDivisionError:
            people.nope  # noqa: B018

    with pytest.raises(dp.DPError) as raised:
        handle()
    assert raised.value.__context__ is mine
    with pytest.raises(dp.DPError) as raised:
        people.query("x > ")  # which fails to parse first
    assert raised.value.__context__ is None


def test_other_errors_keep_all_frames(people: Any) -> None:
    with pytest.raises(TypeError, match="unsupported operand") as raised:
        people.assign(y=lambda p: 1 + "a")  # type: ignore[operator]
    assert len(files(raised.value)) > 3


def test_a_bug_says_where_it_was_and_nothing_of_what_was_there(
    people: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LossRequest, "allows", lambda *_: False)
    with pytest.raises(InternalError, match="but only ε = 1 was asked") as raised:
        people.count(epsilon=1)
    for lines in (traceback.format_exception(raised.value), shown(raised.value)):
        assert any("release.py:" in line and "in _planned" in line for line in lines)
    assert len(files(raised.value)) == 1


# --- IPython --------------------------------------------------------------------------------------


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], people: Any) -> Any:
    shell = InteractiveShell.instance()
    shell.push({"p": people, "dp": dp, "pd": pd})
    shell.run_cell("def ask():\n    return p.nope")

    def output(cell: str) -> list[str]:
        capsys.readouterr()
        assert shell.run_cell(cell).error_in_exec is not None
        said: str = capsys.readouterr().out
        return said.rstrip("\n").split("\n")

    yield output
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("mode", ["Context", "Plain", "Verbose", "Minimal"])
def test_a_refusal_is_shown_alike_in_all_modes(run: Any, mode: str, people: Any) -> None:
    InteractiveShell.instance().run_line_magic("xmode", mode)
    assert run("p['y']") == [
        "UnknownColumn: there is no column 'y'.",
        "The columns: x. Nothing was computed or charged.",
    ]
    assert run("x = 1\np['y']")[2:] == ["In line 2: p['y']"]
    assert (
        run("[ask()\n for _ in range(2)]")[-1] == "In line 1, then in line 2 of ask: return p.nope"
    )
    assert run("try:\n    1 / 0\nexcept ZeroDivisionError:\n    p['y']")[2:] == [
        "In line 4: p['y']"
    ]
    assert run("pd.DataFrame({'a': [1]}).pipe(\n lambda d: d.dp['y'])")[-1].startswith("In line ")


def test_lines_break_after_sentences_or_at_words_within_72_characters(run: Any) -> None:
    assert run("x = 1\nlen(p)")[-1] == "In line 2: len(p)"
    for cell in ("p['x'].mean(epsilon=1)", "p.groupby('x')", "p.nope", "len(p)"):
        lines = run(f"x = 1\n{cell}")
        assert all(len(line) <= 72 for line in lines)
    sentences = shown(UnsupportedVerb("A reason is here. " * 7))
    assert len(sentences) == 3
    assert all(line.endswith(".") for line in sentences)
    long = UnsupportedVerb("what, " + "-a/word " * 20 + "was.")  # one sentence of two lines
    lines = shown(long)
    assert (len(lines), " ".join(lines)) == (4, f"UnsupportedVerb: {long}")
    assert all(len(line) <= 72 for line in lines)
    assert len(shown(UnsupportedVerb("x" * 500))[1]) == 500
    spent = shown(UnsupportedVerb("word " * 21 + "end."))
    assert spent[-1] == "Nothing was computed or charged."


def test_a_line_of_a_file_is_named_with_it(run: Any, tmp_path: Any) -> None:
    script = tmp_path / "survey.py"
    script.write_text("import dppandas\ndef ask(p):\n    return p.nope\n")
    run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import survey; survey.ask(p)")
    assert run("x = 1\nsurvey.ask(p)")[-1] == (
        "In line 2, then in line 3 of ask in survey.py: return p.nope"
    )
    linecache.clearcache()


def test_long_lines_of_the_caller_are_cut(run: Any) -> None:
    (*_, place) = run(f"x = 1\np['y'], {'9' * 200}")
    assert len(place) == 72
    assert place.endswith("9…")


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert shown(UnsupportedVerb("no.")) == [
        "UnsupportedVerb: no. Nothing was computed or charged."
    ]
