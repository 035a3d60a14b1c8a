"""Runs parts of a benchmark in processes of their own, as many at once as there are processors.

Each is a fresh Python, because a ledger in memory belongs to one process, and those that
multiprocessing starts are refused.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
#: So that a process keeps to one processor, and finds what is measured.
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)]),
}
#: The process of each thread, and all of them.
own, every = threading.local(), list[subprocess.Popen[str]]()


def started(name: str, parts: Iterable[tuple[float, ...]]) -> list[Future[Any]]:
    """The results of ``module.function(*part)``, in the order of the parts."""
    return [POOL.submit(_told, name, part) for part in parts]


def _start() -> None:
    pipe = subprocess.PIPE
    own.process = subprocess.Popen(
        [sys.executable, __file__], env=ENVIRONMENT, stdin=pipe, stdout=pipe, text=True
    )
    every.append(own.process)


def _told(name: str, part: tuple[float, ...]) -> Any:
    print(json.dumps([name, part]), file=own.process.stdin, flush=True)
    for line in own.process.stdout:
        if line.startswith("["):  # else something that was printed on the way
            return json.loads(line)[0]
    raise RuntimeError(f"the process of {name} ended")


POOL = ThreadPoolExecutor(os.cpu_count(), initializer=_start)


def stopped() -> float:
    """End all processes; the seconds of processor that they and theirs took."""
    POOL.shutdown()
    for each in every:
        each.communicate()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def serve() -> None:
    """Do what is told, a line each, until nothing more can be."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        name, part = json.loads(line)
        module, _, function = name.partition(".")
        found = getattr(importlib.import_module(module), function)(*part)
        print(json.dumps([found]), flush=True)


if __name__ == "__main__":
    serve()
