"""The mutants of mutants.toml have not rotted, and the core that `make check` runs is current."""

from __future__ import annotations

import ast
from pathlib import Path

import core
from mutants import ROOT, TABLE, Mutant, around, read, text_of

CASES, MUTANTS = read()


def names_in(path: Path) -> set[str]:
    """The tests of a file, as pytest names them."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        before = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found |= {f"{before}{each.name}" for each in inner if isinstance(each, ast.FunctionDef)}
    return found


def takes_something_away(mutant: Mutant) -> bool:
    source = (ROOT / "dppandas" / mutant.file).read_text("utf-8")
    return source.count(mutant.old) == 1 and mutant.old != mutant.new


def test_each_mutant_still_takes_something_away() -> None:
    assert [mutant.name for mutant in MUTANTS if not takes_something_away(mutant)] == []


def test_each_mutant_has_a_test_that_is_there() -> None:
    named = {mutant.test.partition("::")[0] for mutant in MUTANTS}
    tests = {file: names_in(ROOT / "tests" / file) for file in named}
    split = [(mutant, *mutant.test.partition("::")[::2]) for mutant in MUTANTS]
    assert [mutant.name for mutant, file, test in split if test not in tests[file]] == []


def test_each_mutant_has_died_once() -> None:
    """`make test-deep` runs those again whose function or test has changed since."""
    assert [mutant.name for mutant in MUTANTS if not mutant.died] == []


def test_what_changes_elsewhere_in_a_file_costs_no_mutant() -> None:
    """Beside functions it is the statement that counts; across two of them, their class or all."""
    text = "A = 1\n\nclass C:\n    B = 2\n\n    @f\n    def g(self):\n        return 3\n\nD = 4\n"
    method = "    @f\n    def g(self):\n        return 3\n"
    assert [around(text, part) for part in ("return 3", "@f", "def g(self)")] == [method] * 3
    assert around(text, "B = 2") == "    B = 2\n"
    assert around(text, "B = 2\n\n    @f") == text[text.index("class") : text.index("\nD")]
    assert around(text, "1\n\nclass") == around(text, "nowhere") == text


def test_names_of_mutants_are_theirs_alone() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_every_must_pass_case_has_a_mutant() -> None:
    assert {str(mutant.case) for mutant in MUTANTS} == set(CASES)


def test_the_table_is_as_its_command_writes_it() -> None:
    assert TABLE.read_text("utf-8") == text_of(CASES, MUTANTS)


# --- the core -------------------------------------------------------------------------------------


def test_the_core_is_current() -> None:
    assert core.LIST.read_text("utf-8") == core.text(), "run: python tests/core.py"


def test_the_core_notices_nearly_all_mutants_in_little_time() -> None:
    listed = [line.removeprefix("tests/") for line in core.LIST.read_text("utf-8").splitlines()]
    assert core.share(listed) >= core.SHARE >= 0.95
    assert sum(core.chosen().values()) <= core.SECONDS
