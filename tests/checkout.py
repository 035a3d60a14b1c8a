"""A pytest plugin: a run that leaves the checkout otherwise than it was fails, and names files."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


def changes(root: Path) -> set[str]:
    """What git says of each file that isn't as committed; nothing where there is no git."""
    command = ["git", "--no-optional-locks", "status", "--porcelain", "--untracked-files=all"]
    if shutil.which("git") is None:
        return set()
    return {*subprocess.run(command, cwd=root, capture_output=True, text=True).stdout.splitlines()}


class Checkout:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.before = changes(root)
        self.during: list[str] = []

    @pytest.hookimpl(trylast=True)  # when xdist's processes have ended
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.during = sorted(self.before ^ changes(self.root))
        if self.during and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.during:
            terminalreporter.section("files of the checkout changed during this run", red=True)
            terminalreporter.write_line("\n".join(self.during))
