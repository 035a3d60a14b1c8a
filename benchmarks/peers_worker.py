"""A peer of benchmarks/peers.py, in a process of its own, in an environment that has it.

    peers_worker.py ASKS PACKAGE

ASKS is a function of peers_asks.py. A line in, in JSON, and a line out: of a file, the questions
that the peer knows; of a question and a number of calls, the milliseconds of processor that one
took, of all threads, and the answers. An error is told in a line, too.
"""

from __future__ import annotations

import gc
import json
import sys
import warnings
from contextlib import redirect_stdout
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import peers_asks
from bench_turns import Task, failure
from peers_rows import Rows


def plain(answer: Any) -> Any:
    """As JSON has it."""
    return np.asarray(answer, dtype=float).tolist()


class Peer:
    """Its way to be asked about the rows of one file at a time."""

    def __init__(self, asks: str) -> None:
        self._asks_of = getattr(peers_asks, asks)
        self._asks: peers_asks.Asks = {}

    def load(self, file: str) -> list[str]:
        self._asks = {}
        gc.collect()
        self._asks = self._asks_of(Rows(Path(file)))
        self._asks["count"]()  # a first answer loads modules
        gc.collect()
        gc.freeze()  # modules and data: no turn is to walk through them
        return list(self._asks)

    def turn(self, question: str, calls: int) -> tuple[float, list[Any]]:
        answers: list[Any] = []
        ask = self._asks[question]
        taken = Task(lambda: answers.append(ask())).turn(calls)
        return taken, [plain(answer) for answer in answers]


def said(peer: Peer, line: str) -> str:
    try:
        with redirect_stdout(sys.stderr):
            told = json.loads(line)
            found = peer.load(told) if isinstance(told, str) else peer.turn(*told)
        return json.dumps(found)
    except Exception as problem:
        return failure(problem)


def main(asks: str, package: str, module: str) -> None:
    try:
        import_module(module)
        print(json.dumps(version(package)), flush=True)
    except Exception as problem:
        print(failure(problem), flush=True)
        return
    peer = Peer(asks)
    for line in sys.stdin:
        print(said(peer, line), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
