"""The core of the tests, which `make check` runs: those that notice 95 % of all mutants soonest.

``python tests/core.py`` chooses them from mutants.toml and seconds.tsv, and writes core.txt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import mutants
import processor

LIST = Path(__file__).parent / "core.txt"
#: Of all mutants.
SHARE = 0.95


def killers() -> Counter[str]:
    """How many mutants each test has to notice."""
    return Counter(mutant.test for mutant in mutants.read()[1])


def chosen() -> dict[str, float]:
    """Test functions and their seconds: the least seconds a mutant first, until they notice
    enough."""
    seconds, noticed = processor.read("test"), killers()
    costs = {test: seconds[test] or processor.LEAST for test in noticed}
    found: dict[str, float] = {}
    for test in sorted(costs, key=lambda test: (costs[test] / noticed[test], test)):
        if sum(noticed[each] for each in found) < SHARE * noticed.total():
            found[test] = costs[test]
    return found


def share(tests: Iterable[str]) -> float:
    """Of all mutants, those that one of these tests has to notice."""
    noticed = killers()
    return sum(noticed[test] for test in tests) / noticed.total()


def text() -> str:
    """The list as pytest reads it."""
    return "".join(f"tests/{test}\n" for test in sorted(chosen()))


if __name__ == "__main__":
    LIST.write_text(text(), encoding="utf-8")
    tests = chosen()
    print(f"{len(tests)} tests, {sum(tests.values()):.0f} s, {share(tests):.1%} of all mutants")
