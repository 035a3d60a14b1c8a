"""The mutants of mutants.py have not rotted: their patterns and their tests are there."""

from __future__ import annotations

import re

import pytest
from mutants import CASES, MUTANTS, ROOT, Mutant, died, file_of


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_a_mutant_still_takes_something_away(mutant: Mutant) -> None:
    source = (ROOT / "dppandas" / mutant.file).read_text("utf-8")
    assert source.count(mutant.old) == 1
    assert mutant.old != mutant.new
    file, _, name = mutant.test.partition("::")
    assert re.search(rf"def {name.split('::')[-1]}", file_of(file).read_text("utf-8"))


def test_each_mutant_has_died_once() -> None:
    """`make test-deep` runs those again whose source or test has changed since."""
    assert died().keys() == {mutant.name for mutant in MUTANTS}
    assert len(died()) == len(MUTANTS)


def test_every_must_pass_case_has_a_mutant() -> None:
    assert {mutant.case for mutant in MUTANTS} == set(CASES)
