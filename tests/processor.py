"""A pytest plugin: how many seconds of processor a run took, in all and by test.

A test's share is what its process, and the children it waited for, used while it ran. Wall time is
told nowhere, for a busy machine makes it longer. ``pytest --processor FILE`` writes the shares, and

    python tests/processor.py FILE [FILE]

prints them by test file, with what the file guards: the table of tests/README.md.
"""

import ast
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def used() -> float:
    """The seconds of processor of this process and of the children it has waited for."""
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(who)[:2]) for who in both)


class Processor:
    """The seconds of one pytest process, or of all that pytest-xdist starts."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.at_start = used()
        self.of_workers = 0.0
        self.by_test: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = used()
        try:
            return (yield)
        finally:
            self.by_test[item.nodeid] += used() - before

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["processor"] = used() - self.at_start, dict(self.by_test)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        seconds, by_test = getattr(node, "workeroutput", {}).get("processor", (0.0, {}))
        self.of_workers += seconds
        self.by_test.update(by_test)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        # xdist's workers are children that nobody waits for: theirs is what they say themselves.
        seconds = max(used() - self.at_start, self.of_workers)
        terminalreporter.write_line(f"{seconds:.0f} seconds of processor")
        path = self.config.getoption("--processor")
        if path:
            lines = (f"{share:.3f}\t{test}\n" for test, share in self.by_test.most_common())
            Path(path).write_text("".join(lines), encoding="utf-8")


# --- the table ------------------------------------------------------------------------------------


def by_file(path: str) -> Counter[str]:
    """The seconds of each test file in what ``--processor`` wrote."""
    found: Counter[str] = Counter()
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        seconds, _, test = line.partition("\t")
        found[test.partition("::")[0].removeprefix("tests/")] += float(seconds)
    return found


def guards(path: Path) -> str:
    """The first sentence of a test file's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def main(paths: list[str]) -> None:
    runs = [by_file(path) for path in paths]
    here = Path(__file__).parent
    files = {str(path.relative_to(here)): path for path in here.rglob("test_*.py")}
    print("| file | it guards |" + " s |" * len(runs))
    print("|---|---|" + "---:|" * len(runs))
    for name in sorted(files, key=lambda name: (-runs[-1][name], name)):
        print(f"| {name} | {guards(files[name])} |" + "".join(f" {r[name]:.1f} |" for r in runs))
    print("| all | |" + "".join(f" {run.total():.0f} |" for run in runs))


if __name__ == "__main__":
    main(sys.argv[1:])
