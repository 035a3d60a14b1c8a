"""A pytest plugin: how many seconds of processor a run took, in all and by file.

A test's share is what its process, and the children it waited for, used while it ran. Wall time is
told nowhere, for a busy machine makes it longer. ``--processor FILE`` writes each test's share.
"""

import resource
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
