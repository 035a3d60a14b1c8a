"""The core of the tests, which `make check` runs: those that notice 95 % of all mutants soonest.

``python tests/core.py`` chooses them from mutants.toml and seconds.tsv, and writes core.txt.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import mutants
import processor

LIST = Path(__file__).parent / "core.txt"
#: Of all mutants.
SHARE = 0.95
#: Of processor, where seconds.tsv was recorded: a machine three times slower than a good one, on
#: which the core is to take 100 seconds.
SECONDS = 300


def killers() -> Counter[str]:
    """How many mutants each test has to notice."""
    return Counter(mutant.test for mutant in mutants.read()[1])


def chosen() -> dict[str, float]:
    """Test functions and their seconds: each time that with the least seconds for a mutant that is
    still wanted, until they notice enough."""
    seconds, noticed = processor.read("test"), killers()
    left = {test: seconds[test] or processor.LEAST for test in noticed}
    wanted = math.ceil(SHARE * noticed.total())
    found: dict[str, float] = {}
    while wanted > 0:
        test = min(left, key=lambda test: (left[test] / min(noticed[test], wanted), test))
        found[test] = left.pop(test)
        wanted -= noticed[test]
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
