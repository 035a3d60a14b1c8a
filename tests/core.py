"""The core of the tests, which `make check` runs: it notices most mutants in little time.

``python tests/core.py`` chooses them from mutants.toml and seconds.tsv, and writes core.txt.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import mutants
import processor

LIST = Path(__file__).parent / "core.txt"
#: Of processor, for all of them.
SECONDS = 80


def killers() -> Counter[str]:
    """How many mutants each test has to notice."""
    return Counter(mutant.test for mutant in mutants.read()[1])


def chosen() -> dict[str, float]:
    """Test functions and their seconds: the least seconds a mutant first, as many as fit."""
    seconds, noticed = processor.read("test"), killers()
    costs = {test: seconds[test] or processor.LEAST for test in noticed}
    found: dict[str, float] = {}
    for test in sorted(costs, key=lambda test: (costs[test] / noticed[test], test)):
        if sum(found.values()) + costs[test] <= SECONDS:
            found[test] = costs[test]
    return found


def share(tests: dict[str, float]) -> float:
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
