"""%load_ext dppandas in a terminal's IPython: magics, help, completion, unloading."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from notes import noted
from refusals import refusal

import dppandas as dp
from dppandas.display.notebook.magics import TERMS
from dppandas.errors import SessionError


@pytest.fixture
def shell() -> Any:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "dppandas")
    yield shell
    shell.run_line_magic("unload_ext", "dppandas")
    InteractiveShell.clear_instance()


def test_dp_shows_the_ledger_as_text(shell: Any, capsys: Any) -> None:
    shell.run_line_magic("dp", "")
    assert "no limit: set one with dp.session" in capsys.readouterr().out


def test_dp_budget_sets_and_shows_it(shell: Any, capsys: Any) -> None:
    shell.run_line_magic("dp", "budget 0.3")
    assert dp.ledger().budget == dp.session(epsilon="0.3").budget
    assert "0.3 of ε = 0.3 left" in capsys.readouterr().out


def test_dp_budget_takes_what_a_session_takes(shell: Any, tmp_path: Path) -> None:
    file = tmp_path / "a b #1.ledger"
    lines: dict[str, dict[str, Any]] = {
        "budget 2 delta=1e-6": {"epsilon": 2, "delta": 1e-6},
        "budget epsilon=1/3": {"epsilon": "1/3"},
        "budget rho=0.1 delta=1e-6 delta_releases=1e-7":
            {"rho": 0.1, "delta": 1e-6, "delta_releases": 1e-7},
        "budget delta=1e-6 2 accounting=zcdp": {"epsilon": 2, "delta": 1e-6, "accounting": "zcdp"},
        "budget 1 strict=True experimental=False":
            {"epsilon": 1, "strict": True, "experimental": False},
        f"budget 2 store='{file}'": {"epsilon": 2, "store": file},
        f'budget store="{file}"': {"store": file},  # which has its budget
    }  # fmt: skip
    for line, terms in lines.items():
        with noted(line):
            dp.reset()
            shell.run_line_magic("dp", line)
            made = dp.session()
            assert dp.session(**terms) is made
            assert (made.ledger._store.identity != "") == ("store" in terms)
            dp.reset()
            assert made._terms == dp.session(**terms)._terms
            assert made.strict is terms.get("strict", False)
    assert (*inspect.signature(dp.session).parameters,) == TERMS
    assert {f"{name}=" for name in TERMS} <= {*shell.complete("", "%dp budget 2 ", 13)[1]}


def test_a_budget_that_is_refused_leaves_no_other_session_to_answer(shell: Any) -> None:
    """Or a slip of the pen would leave one without a limit."""
    for words in ("two", "-1", "1 2", "2 dleta=1e-6", "2 epsilon=2", "2 delta=1e-6 delta=1e-6",
                  "2 store='x", "2 delta=", "=", "2 strict=yes"):  # fmt: skip
        with noted(words):
            dp.reset()
            refusal(lambda w=words: shell.run_line_magic("dp", f"budget {w}"), error=UsageError)
            refusal(lambda: pd.Series([1]).dp.count(epsilon=1), "was refused", SessionError)
            assert dp.ledger().budget is None


def test_a_refusal_is_shown_above_the_ledger_until_it_is_settled(shell: Any, capsys: Any) -> None:
    dp.session(epsilon=1)
    refusal(lambda: shell.run_line_magic("dp", "budget 2"), "Go on with", UsageError)
    for show in ("%dp", "dp.session()", "print(dp.session())"):
        shell.push({"dp": dp})
        shell.run_cell(show)
        said = capsys.readouterr().out
        assert said.index("was refused") < said.index("1 of ε = 1 left")
    assert "was refused" in dp.session()._repr_html_()
    shell.run_line_magic("dp", "budget 1")
    shell.run_line_magic("dp", "")
    assert "was refused" not in capsys.readouterr().out
    assert "was refused" not in dp.session()._repr_html_()


@pytest.mark.parametrize(
    "line", ["budget", "budget two", "budget -1", "budget 1 2", "resett", "x y"]
)
def test_dp_refuses_what_it_does_not_know(shell: Any, line: str) -> None:
    refusal(lambda: shell.run_line_magic("dp", line), error=UsageError)
    assert dp.ledger().budget is None


@pytest.mark.parametrize("answer", ["y", "", "no", EOFError])
def test_dp_reset_asks_first(shell: Any, monkeypatch: Any, answer: Any) -> None:
    before = dp.session(epsilon=1).ledger
    monkeypatch.setattr("builtins.input", Mock(side_effect=[answer]))  # with nobody there it raises
    shell.run_line_magic("dp", "reset")
    assert before._closed is (answer == "y")
    shell.run_line_magic("dp", "reset -y")
    assert before._closed


def test_help_names_every_command(shell: Any, capsys: Any) -> None:
    shell.run_line_magic("pinfo", "%dp")
    out = capsys.readouterr().out
    assert "%dp budget 2" in out
    assert "delta=1e-6 store=survey.ledger" in out
    assert "rho=0.1" in out
    assert "%dp reset" in out


def test_tab_completes_commands(shell: Any) -> None:
    _, found = shell.complete("b", "%dp b", 5)
    assert "budget " in found
    _, found = shell.complete("", "%dp ", 4)
    assert {"budget ", "reset "} <= set(found)


def test_entries_know_their_cell(shell: Any) -> None:
    source = "import pandas as pd; pd.DataFrame({'x': [1]}).dp.count(epsilon=1)"
    ran = shell.run_cell(source, store_history=True)
    shell.run_cell(source, store_history=True)  # run again: charged again, both shown
    cells = [entry.cell for entry in dp.ledger()._entries()]
    assert cells == [ran.execution_count, ran.execution_count + 1]


def test_scalars_show_their_error_and_print_like_numbers(shell: Any, capsys: Any) -> None:
    n = pd.DataFrame({"x": range(1000)}).dp.count(epsilon=0.1)
    assert (
        shell.display_formatter.format(n)[0]["text/plain"] == f"{int(n):,} ± 30 (95 %, noise only)"
    )
    print(n)
    assert capsys.readouterr().out == f"{int(n)}\n"


@pytest.mark.parametrize("turned", ["off", "on"])
def test_the_guard_shows_a_protected_schema(shell: Any, capsys: Any, turned: str) -> None:
    df = pd.DataFrame({"age": [17017], "name": ["CANARY"]})
    dp.protect(df, name="people")
    shell.run_line_magic("dp", "guard on")
    shell.run_line_magic("dp", f"guard {turned}")
    assert f"guard is {turned}" in capsys.readouterr().out
    for guarded in (df, df.head(), df.query("age > 1"), df["name"], df.copy()):
        bundle = shell.display_formatter.format(guarded)[0]
        shown = capsys.readouterr().out + str(bundle)
        assert ("CANARY" in shown) == (turned == "off")
        assert ("rows not shown" in shown) == (turned == "on")
    plain = pd.DataFrame({"public": ["yes"]})
    assert "yes" in shell.display_formatter.format(plain)[0]["text/html"]
    answer = df.dp["age"].value_counts(keys=[17017], epsilon=1)
    assert "17017" in shell.display_formatter.format(answer)[0]["text/plain"]


def test_the_guard_names_no_column_that_pandas_made_of_rows(shell: Any, capsys: Any) -> None:
    df = pd.DataFrame({"who": ["canary", "other"], "x": [1, 2]})
    dp.protect(df, name="people")
    shell.run_line_magic("dp", "guard on")
    shell.display_formatter.format(df.set_index("who").T)
    shown = capsys.readouterr().out
    assert "canary" not in shown
    assert "…" in shown


def test_unloading_takes_the_guard_back(shell: Any) -> None:
    kinds = shell.display_formatter.ipython_display_formatter
    shell.run_line_magic("dp", "guard on")
    assert pd.DataFrame in kinds
    shell.run_line_magic("unload_ext", "dppandas")
    assert pd.DataFrame not in kinds
    shell.run_line_magic("load_ext", "dppandas")


def test_unloading_takes_everything_back(shell: Any) -> None:
    shell.run_line_magic("unload_ext", "dppandas")
    assert shell.find_line_magic("dp") is None
    assert "%dp" not in shell.strdispatchers["complete_command"].strs
    pd.DataFrame({"x": [1]}).dp.count(epsilon=1)
    assert dp.ledger()._entries()[0].cell is None
    shell.run_line_magic("load_ext", "dppandas")


def test_a_terminal_python_needs_no_extension() -> None:
    program = (
        "import pandas as pd, dppandas as dp; dp.session(epsilon=1);"
        "n = pd.DataFrame({'x': [1]}).dp.count(epsilon='0.5'); print(n + 0); print(dp.ledger())"
    )
    out = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert "0.5 of ε = 1 left · 0.5 spent on 1 answer" in out
