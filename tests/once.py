"""What is made once a run, by the first process of pytest-xdist that needs it."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder of this run's. One process makes what is in it, while the others wait; nobody
    changes it afterwards."""
    base = factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.with_suffix(".made").exists():
            folder.mkdir(exist_ok=True)  # it is there if making it failed
            make(folder)
            folder.with_suffix(".made").touch()
    return folder
