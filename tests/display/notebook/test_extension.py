"""Sessions and protected frames load the extension where IPython runs, and only there."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from notes import noted
from refusals import raising

import dppandas as dp
from dppandas.audit.sensitivity import scratch
from dppandas.ledger import cells


@pytest.fixture
def shell() -> Iterator[Any]:
    yield InteractiveShell.instance()
    _end()


def _end() -> None:
    """End the shell, so that the next one has all to load."""
    InteractiveShell.instance().extension_manager.unload_extension("dppandas")
    InteractiveShell.clear_instance()


def counts() -> pd.Series:
    return pd.DataFrame({"k": [1, 2] * 50}).dp["k"].value_counts(keys=[1, 2], epsilon=1)


def is_loaded(shell: Any) -> bool:
    """Whether all is there, or nothing: the card, the magic, the cells."""
    shown = shell.display_formatter.format(counts())[0]
    found = {
        "dppandas-card" in shown.get("text/html", ""),
        shell.find_line_magic("dp") is not None,
        "dppandas" in shell.extension_manager.loaded,
        cells._current_cell is not None,
    }
    (all_or_none,) = found
    return all_or_none


STARTS: dict[str, Callable[[], Any]] = {
    "a session with a budget": lambda: dp.session(epsilon=50),
    "a session without": dp.session,
    "a protected frame": lambda: dp.protect(pd.DataFrame({"x": [1]}), "people"),
    "an answer": counts,
    "the ledger": dp.ledger,
}


def test_whatever_starts_a_session_loads_it_once_and_shows_nothing(capsys: Any) -> None:
    for case, start in STARTS.items():
        with noted(case):
            dp.reset()
            shell = InteractiveShell.instance()
            try:
                assert not shell.extension_manager.loaded
                start(), start()
                assert "".join(capsys.readouterr()) == ""
                assert is_loaded(shell)
                formatters = shell.display_formatter.formatters["text/html"].type_printers
                of_series = formatters[pd.Series]
                start(), dp.protect(pd.DataFrame({"x": [1]}), "people"), dp.session()
                assert formatters[pd.Series] is of_series
                assert len(shell.events.callbacks["pre_run_cell"]) == 1
            finally:
                _end()


def test_a_frame_protected_in_an_older_session_loads_it(shell: Any) -> None:
    """Such as one that a script started before it called ``IPython.embed()``."""
    shell.extension_manager.unload_extension("dppandas")
    InteractiveShell.clear_instance()
    dp.session(epsilon=50)
    later = InteractiveShell.instance()
    assert not later.extension_manager.loaded
    dp.protect(pd.DataFrame({"x": [1]}), "people")
    assert is_loaded(later)


def test_unloaded_it_stays_until_it_is_loaded_by_name(shell: Any, capsys: Any) -> None:
    for again in range(2):
        with noted(again):
            dp.reset()
            dp.session(epsilon=50)
            assert is_loaded(shell)
            shell.run_line_magic("unload_ext", "dppandas")
            for start in STARTS.values():
                dp.reset()
                start()
                assert not is_loaded(shell)
            shell.run_line_magic("load_ext", "dppandas")
            assert is_loaded(shell)
            assert "".join(capsys.readouterr()) == ""
    shell.run_line_magic("reload_ext", "dppandas")
    assert is_loaded(shell)


def test_it_serves_the_latest_shell() -> None:
    """As ``IPython.embed()`` has it: the outer shell waits, and goes on afterwards."""
    outer = InteractiveShell.instance()
    dp.session(epsilon=50)
    InteractiveShell.clear_instance()
    inner = InteractiveShell.instance()
    dp.session()
    assert is_loaded(inner)
    assert outer.find_line_magic("dp") is None
    InteractiveShell.clear_instance()
    InteractiveShell._instance = outer
    dp.session()
    assert is_loaded(outer)
    assert inner.find_line_magic("dp") is None
    _end()


def test_an_audit_loads_nothing(shell: Any) -> None:
    with scratch():
        dp.protect(pd.DataFrame({"x": [1]}), "people").count(epsilon=1)
    assert not shell.extension_manager.loaded


def test_a_shell_that_can_load_nothing_costs_no_session(shell: Any, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        broken = raising(RuntimeError("no screen"))
        patch.setattr(shell.extension_manager, "load_extension", broken)
        with pytest.warns(RuntimeWarning, match="failed to load.*no screen"):
            assert dp.session(epsilon=2).remaining == 2
        assert dp.session(epsilon=2).remaining == 2  # and says it once
    shell.run_line_magic("load_ext", "dppandas")
    assert is_loaded(shell)


@pytest.mark.filterwarnings("ignore:this cell ran 2 times")
def test_the_cell_that_loads_it_is_known_when_it_runs_again(shell: Any) -> None:
    source = (
        "import pandas as pd, dppandas as dp\ndp.session(epsilon=9)\n"
        "pd.DataFrame({'x': [1]}).dp.count(epsilon=1)\n"
    )
    for cell_id in (None, "made by a front end"):
        with noted(cell_id):
            dp.reset()
            shell.extension_manager.unload_extension("dppandas")
            cells.unloaded.clear()
            shell.get_parent = lambda told=cell_id: {"metadata": {"cellId": told}}
            ran = [shell.run_cell(source, True, cell_id=cell_id).execution_count for _ in range(2)]
            first, second = (entry.cell for entry in dp.ledger()._entries())
            assert [first, second] == ran
            assert cells._first_run is not None
            assert cells._first_run(second) == first


def test_python_without_ipython_imports_none_of_it() -> None:
    code = (
        "import sys, pandas as pd, dppandas as dp\n"
        "def ask():\n"
        "    dp.reset(); dp.session(epsilon=2)\n"
        "    dp.protect(pd.DataFrame({'x': [1]}), 'people').count(epsilon=1)\n"
        "ask(); print('IPython' in sys.modules)\n"
        "import IPython\n"  # as matplotlib may, which asks whether it runs
        "ask(); print('dppandas.display.notebook' in sys.modules)\n"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\nFalse\n"
