"""What figures depend on: versions, cores, and the commit that they are of. Nothing tells whose
machine it was."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def commit(checkout: Path = ROOT) -> str | None:
    """Of a checkout, and whether it has changes; None where there is no git."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(checkout), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        head = git("rev-parse", "HEAD")
        changes = git("status", "--porcelain", "--untracked-files=no", "--", "dppandas")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head} + changes" if changes else head


def facts(*packages: str) -> dict[str, Any]:
    return {
        "commit": commit(),
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
        "cpus": os.cpu_count(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def processor() -> str:
    """Its model, as the system calls it."""
    told = Path("/proc/cpuinfo")
    if told.exists():
        for line in told.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
