"""A pytest plugin: how many seconds of processor a run took, and by which tests.

A test's share is what its process, and the children it waited for, used while it ran. Wall time is
told nowhere, for a busy machine makes it longer. seconds.tsv keeps what each stage (a command such
as ``make test``) took when it was last recorded: ``--stage NAME`` compares a run with it, and
``--record`` writes it anew. Tests that take long by it run first. ``python tests/processor.py``
prints the seconds by file, and what each file guards.
"""

from __future__ import annotations

import ast
import csv
import resource
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TABLE = Path(__file__).parent / "seconds.tsv"
#: Tests that take less are one line together, by file.
LEAST = 0.1
#: From here on a test is worth starting early.
LONG = 1.0
#: What a change may add unsaid.
GROWTH = 30
#: Where tests with these marks run instead, the first of these that a test has.
ELSEWHERE = {
    "nightly": "make test-nightly",
    "browser": "make test-browser",
    "deep": "make test-deep",
    "sized": "make test-deep",
}


def used() -> float:
    """The seconds of processor of this process and of the children it has waited for."""
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(who)[:2]) for who in both)


# --- what is recorded -----------------------------------------------------------------------------


def function_of(node: str) -> str:
    """The test function that an item is of, from the folder of tests."""
    return node.partition("[")[0].removeprefix("tests/")


def read(stage: str) -> Counter[str]:
    """The seconds of a stage by test function; under a file's name what its small ones took."""
    if not TABLE.exists():
        return Counter()
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return Counter({row["test"]: float(row["s"]) for row in rows if row["stage"] == stage})


def write(stage: str, shares: Counter[str]) -> None:
    """A stage's seconds in place of those recorded for it, of the files that ran."""
    ran = {test.partition("::")[0] for test in shares}
    kept = Counter({t: s for t, s in read(stage).items() if t.partition("::")[0] not in ran})
    for test, share in shares.items():
        kept[test if share >= LEAST else test.partition("::")[0]] += share
    with TABLE.open(encoding="utf-8", newline="") as file:
        others = [row for row in csv.reader(file, delimiter="\t") if row[0] not in (stage, "stage")]
    rows = sorted([*others, *([stage, test, f"{share:.1f}"] for test, share in kept.items())])
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(
            [["stage", "test", "s"], *rows]
        )


def speed(before: Counter[str], now: Counter[str]) -> float:
    """How many times as long this machine takes: the median test that took long enough to tell."""
    ratios = [now[test] / share for test, share in before.items() if share > 0.5 and now[test]]
    return statistics.median(ratios) if ratios else 1.0


def by_folder(shares: Counter[str]) -> Counter[str]:
    """The first folder's, and by themselves those of files that are in none."""
    found: Counter[str] = Counter()
    for test, share in shares.items():
        found[test.partition("::")[0].partition("/")[0]] += share
    return found


def comparison(before: Counter[str], now: Counter[str]) -> Iterator[str]:
    """The seconds of a run beside those recorded, in lines."""
    times = speed(before, now)
    yield f"Seconds of processor, and recorded ones times {times:.2f}, as this machine needs"
    was, has = by_folder(before), by_folder(now)
    for folder, share in has.most_common():
        if max(share, was[folder] * times) >= LONG:
            yield f"{share:8.1f} {was[folder] * times:8.1f}  {folder}"
    yield f"{now.total():8.1f} {before.total() * times:8.1f}  in all"
    if (now.total() / times - before.total()) > GROWTH:
        yield f"More than {GROWTH} s were added: say in tests/README.md for what, and record them"


# --- the plugin -----------------------------------------------------------------------------------


class Processor:
    """The seconds of one pytest process, or of all that pytest-xdist starts."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.at_start = used()
        self.of_workers = 0.0
        self.by_test: Counter[str] = Counter()
        self.elsewhere: Counter[str] = Counter()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """What takes long comes first, so that no process ends long after the others."""
        seconds = read(self.config.getoption("--stage") or "test")
        items.sort(key=lambda item: -max(seconds[function_of(item.nodeid)], LONG))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        for item in items:
            marks = [mark for mark in ELSEWHERE if item.get_closest_marker(mark)]
            self.elsewhere.update(marks[:1])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = used()
        try:
            return (yield)
        finally:
            self.by_test[function_of(item.nodeid)] += used() - before

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["processor"] = used() - self.at_start, dict(self.by_test), dict(self.elsewhere)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {}).get("processor", (0.0, {}, {}))
        self.of_workers += output[0]
        self.by_test.update(output[1])
        self.elsewhere |= Counter(output[2])  # each process left out the same

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if hasattr(self.config, "workerinput"):  # xdist's first process tells of all
            return
        write_line, stage = terminalreporter.write_line, self.config.getoption("--stage")
        if stage:
            for line in comparison(read(stage), self.by_test):
                write_line(line)
            for mark, number in self.elsewhere.items():
                write_line(f"{number} {mark} tests are left to {ELSEWHERE[mark]}")
        if self.config.getoption("--record"):
            write(stage, self.by_test)
        # xdist's workers are children that nobody waits for: theirs is what they say themselves.
        seconds = max(used() - self.at_start, self.of_workers)
        write_line(f"{seconds:.0f} seconds of processor")


# --- the table ------------------------------------------------------------------------------------


def guards(path: Path) -> str:
    """The first sentence of a test file's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def main() -> None:
    folder = TABLE.parent
    with TABLE.open(encoding="utf-8", newline="") as file:
        stages = list(dict.fromkeys(row["stage"] for row in csv.DictReader(file, delimiter="\t")))
    seconds: dict[str, Counter[str]] = {stage: Counter() for stage in stages}
    for stage in stages:
        for test, share in read(stage).items():
            seconds[stage][test.partition("::")[0]] += share
    print(*(f"{stage:>8}" for stage in stages), "", "file: what it guards")
    for path in sorted(folder.rglob("test_*.py")):
        name = str(path.relative_to(folder))
        print(*(f"{seconds[s][name]:8.1f}" for s in stages), "", f"{name}: {guards(path)}")
    print(*(f"{shares.total():8.0f}" for shares in seconds.values()), "", "in all")


if __name__ == "__main__":
    main()
