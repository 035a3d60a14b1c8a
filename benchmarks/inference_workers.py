"""Runs parts of a benchmark in processes of their own, as many at once as there are processors.

Each is a fresh Python, because a ledger in memory belongs to one process, and those that
multiprocessing starts are refused.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


def run(name: str, *arguments: float) -> Any:
    """What a function of a module here returns, ``module.function``."""
    module, _, function = name.partition(".")
    program = f"import json, {module} as m; print(json.dumps(m.{function}(*{list(arguments)})))"
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def started(name: str, parts: Iterable[tuple[float, ...]]) -> list[Future[Any]]:
    """The results of parts, in their order, as they become known."""
    return [_POOL.submit(run, name, *each) for each in parts]


_POOL = ThreadPoolExecutor(os.cpu_count())
