"""How much work a question is, counted and not timed, so that nothing grows unseen.

``python tests/work.py`` prints it beside what is recorded in work.json, and ``--save`` records it,
which is right after a change that was meant to cost this much, or to save it.

calls : of Python functions of this package. reads : of the operating system's entropy.
modules : of this package, loaded by the first answer of a process. Entropy is a fixed stream here,
so that a draw that is refused and repeated is the same draw each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

FILE = Path(__file__).parent / "work.json"
ROOT = Path(__file__).resolve().parent.parent
#: By which part of what is recorded a figure may differ from it, up or down.
WITHIN = 0.05
#: Newer versions of Python inline the first three, and a step of the last isn't a call.
INLINED = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}

Work = dict[str, int]


def versions() -> str:
    """The Python and the pandas that decide how much it is."""
    import pandas as pd

    python = ".".join(map(str, sys.version_info[:2]))
    return f"Python {python}, pandas {'.'.join(pd.__version__.split('.')[:2])}"


class Counted:
    """What a thread does in the block."""

    def __init__(self) -> None:
        self.work: Work = {"calls": 0, "reads": 0}
        self._stream = count()

    def _hear(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and "/dppandas/" in code.co_filename and code.co_name not in INLINED:
            self.work["calls"] += 1

    def _read(self, size: int) -> bytes:
        self.work["reads"] += 1
        return hashlib.shake_256(b"%d" % next(self._stream)).digest(size)

    def __enter__(self) -> Work:
        os.urandom = random._urandom = self._read  # type: ignore[attr-defined,assignment]
        sys.setprofile(self._hear)
        return self.work

    def __exit__(self, *raised: object) -> None:
        sys.setprofile(None)
        os.urandom = random._urandom = _URANDOM  # type: ignore[attr-defined]


_URANDOM = os.urandom


def questions() -> dict[str, Callable[[Any], object]]:
    """What is asked of a frame of 1,000 rows."""
    keys, at = range(50), {"epsilon": "0.1"}
    return {
        "df.dp": lambda df: df.dp,
        "count": lambda df: df.dp.count(**at),
        "filtered count": lambda df: df.dp.query("x > 10").count(**at),
        "mean": lambda df: df.dp["x"].mean(bounds=(0, 1000), **at),
        "value_counts of 50 keys": lambda df: df.dp["k"].value_counts(keys=keys, **at),
        "groupby mean": lambda df: df.dp.groupby("k", keys=keys)["x"].mean(bounds=(0, 99), **at),
    }


def all_work() -> Iterator[tuple[str, Work]]:
    """Each question, and what it takes. In a fresh process only: the first answer is its first."""
    import pandas as pd

    df = pd.DataFrame({"x": [float(i) for i in range(1000)], "k": [i % 50 for i in range(1000)]})
    with Counted() as first:
        import dppandas as dp

        df.dp.count(epsilon="0.1")
    modules = sum(name.partition(".")[0] == "dppandas" for name in sys.modules)
    yield "first answer", {**first, "modules": modules}
    for name, question in questions().items():
        yield name, _second(question, df)
    with tempfile.TemporaryDirectory() as folder:
        yield "count, ledger in a file", _second(questions()["count"], df, folder)
        dp.reset()  # closes the file


def _second(question: Callable[[Any], object], df: Any, folder: str | None = None) -> Work:
    """What a question takes where another one was answered before it, and the same one in an
    earlier session: what is kept of laws and of schemas is there."""
    import dppandas as dp

    for name in ("first", "second"):
        dp.reset()
        dp.session(epsilon=100, store=None if folder is None else f"{folder}/{name}.ledger")
        df.dp.count(epsilon="0.2")
        counted = Counted()
        with counted:
            question(df)
    return counted.work


def measured() -> dict[str, Work]:
    """All work, counted in a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, __file__, "--json"]
    found: dict[str, Work] = json.loads(subprocess.check_output(command, env=environment))
    return found


def recorded() -> dict[str, dict[str, Work]]:
    """By versions."""
    found: dict[str, dict[str, Work]] = json.loads(FILE.read_text("utf-8"))
    return found


def differences(found: dict[str, Work], known: dict[str, Work]) -> list[str]:
    """What differs from the record by more than may be, in words."""
    told = []
    for name in {**known, **found}:
        mine, its = found.get(name, {}), known.get(name, {})
        for what in {**its, **mine}:
            now, then = mine.get(what, 0), its.get(what, 0)
            if abs(now - then) > WITHIN * then:
                told.append(f"{name}: {now} {what}, recorded {then}")
    return told


def main() -> None:
    """What the command line asks for."""
    if "--json" in sys.argv:
        print(json.dumps(dict(all_work())))
        return
    found, every = measured(), recorded()
    known = every.get(versions(), {})
    for name, work in found.items():
        for what, now in work.items():
            print(f"{name:28}{what:10}{now:>8}{known.get(name, {}).get(what, 0):>8} recorded")
    if "--save" in sys.argv:
        every[versions()] = found
        FILE.write_text(json.dumps(dict(sorted(every.items())), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
