"""A ledger in a terminal: as wide as that is, newest last, in colour where it is wanted."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from ledgers import DRAFT, agreed, limit
from notes import noted

from dppandas import __main__
from dppandas.ledger import terminal, words
from dppandas.ledger.earlier_questions import earlier
from dppandas.ledger.ledger import Ledger
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import MemoryStore
from dppandas.privacy.accounting.losses import Epsilon, Loss

LONG = DRAFT._replace(
    what=earlier("mean of age in (17, 60) where " + " and ".join(f"a{i} > {i}" for i in range(30))),
    released_error="age ± 1.247 to 1.337, income ± 20.85 to 21.15, height ± 1 to 2",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    store = SqliteStore(tmp_path / "spent.ledger", limit(2))
    for each in (LONG, DRAFT, LONG):
        store.add([each._replace(loss=Loss(Epsilon("0.5")))], agreed)
    store.close()
    return tmp_path / "spent.ledger"


def seen(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, file: Path, columns: int, **said: str
) -> str:
    """What a terminal of so many columns shows."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"COLUMNS": str(columns), **said}.items():
        monkeypatch.setenv(name, value)
    assert __main__.main(["show", str(file)]) == 0
    return str(capsys.readouterr().out)


def without_colours(said: str) -> str:
    return re.sub("\x1b\\[\\d+m", "", said)


def test_no_line_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, file: Path
) -> None:
    for columns in (200, 100, 80, 72, 71, 50, 40):
        with noted(columns):
            told = seen(monkeypatch, capsys, file, columns)
            lines = without_colours(told).splitlines()
            assert max(map(len, lines)) <= columns
            assert "0.5 of ε = 2 left" in told
            numbers = [line.split()[0] for line in lines if re.match(r"\d  ", line)]
            assert numbers == ["1", "2", "3"], "newest last"
            assert sum("mean of age" in line for line in lines) == 2


#: Errors of one, two and three numbers, the last of which have no room.
ERRORS = "± 19,000 to 3,400,000", "± 1,234,567,890,123", str(LONG.released_error)


def test_long_sources_are_shortened_and_numbers_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    store = MemoryStore()
    for error in ERRORS:
        long = LONG._replace(source="a survey of the towns along the river", released_error=error)
        store.add([long], agreed)
    whole = {number for error in ERRORS for number in re.findall(r"\d[\d,.]*\d|\d", error)}
    for columns in (200, 120, 100, 80, 72, 71, 50, 40):
        with noted(columns):
            monkeypatch.setenv("COLUMNS", str(columns))
            told = words.text(Ledger(limit(2), store)._snapshot())
            table = told[told.index("release ") :]
            assert max(map(len, table.splitlines())) <= columns
            assert "age ± 1.247" in table, "of an error its beginning stays"
            assert "± 1,234,567,890,123" in table
            beside = re.findall(r"(?:±|\bto) ([\d,.]*\d)", table)
            assert {*beside} <= whole
            assert not re.search(r"±\s*$|\d…", table, re.MULTILINE)


def test_losses_stand_with_one_point_below_the_other() -> None:
    store = MemoryStore()
    losses = Epsilon("0.1"), Epsilon("0.01"), Epsilon(1, 3), Epsilon(1)
    for loss in losses:
        store.add([DRAFT._replace(loss=Loss(loss))], agreed)
    lines = words.text(Ledger(limit(2), store)._snapshot()).splitlines()[-6:]
    head, *rows = (line for line in lines if not line.startswith("†"))
    places = [re.search(r"(\d)(\.\d+)? *count", row) for row in rows]
    assert len({found and found.start(1) for found in places}) == 1, rows
    assert head.index("ε") == rows[2].index("≈ 0.3333") + len("≈ 0.333")


def test_a_wide_terminal_is_used(monkeypatch: pytest.MonkeyPatch, capsys: Any, file: Path) -> None:
    widths = [
        max(map(len, without_colours(seen(monkeypatch, capsys, file, n)).splitlines()))
        for n in (80, 120, 160)
    ]
    assert widths == [80, 120, 160]


def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, file: Path
) -> None:
    told = seen(monkeypatch, capsys, file, 100)
    assert "\x1b[1m0.5 of ε = 2 left\x1b[0m" in told
    assert f"[\x1b[32m{'#' * 22}\x1b[0m" in told
    assert not terminal.has_colours(io.StringIO()), "a file, or a pipe"
    plain = seen(monkeypatch, capsys, file, 100, NO_COLOR="1")
    assert plain == without_colours(told) == seen(monkeypatch, capsys, file, 100, TERM="dumb")


def test_a_budget_that_is_nearly_spent_has_another_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    for spent, colour in {"1": 32, "1.9": 33, "2": 31}.items():
        with noted(spent):
            store = SqliteStore(tmp_path / f"{spent}.ledger", limit(2))
            store.add([DRAFT._replace(loss=Loss(Epsilon(spent)))], agreed)
            store.close()
            told = seen(monkeypatch, capsys, tmp_path / f"{spent}.ledger", 100)
            assert f"[\x1b[{colour}m#" in told


def test_nothing_that_a_ledger_says_is_a_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "a.ledger", limit(2))
    store.add([DRAFT._replace(what=earlier("\x1b[31mcount\x1b[2J"))], agreed)
    store.close()
    told = seen(monkeypatch, capsys, tmp_path / "a.ledger", 100)
    assert "\\x1b[31mcount\\x1b[2J" in told
    assert "\x1b[2J" not in told


def test_what_isnt_a_terminal_gets_all() -> None:
    store = MemoryStore()
    store.add([LONG], agreed)
    told = words.text(Ledger(limit(2), store)._snapshot())
    assert "…" not in told
    assert max(map(len, told.splitlines())) > 300
