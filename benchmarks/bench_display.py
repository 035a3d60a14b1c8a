"""What a notebook waits for before it shows an answer."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from bench_measure import Result, alone

from dppandas.display.cards.card import card_of
from dppandas.release.answers.results import shown_in

LABELS = 1_000_000


def on_display() -> Iterator[Result]:
    """Answers of many labels: whether all that they show was released, and their cards."""
    for kind, keys in {
        "numbers": list(range(LABELS)),
        "texts": [f"key {i}" for i in range(LABELS)],
    }.items():
        counts = pd.Series(keys[:1000], name="k").dp.value_counts(keys=keys, epsilon=1)
        yield alone(f"match of 10^6 {kind}", partial(shown_in, counts), 50)
    yield alone("card of 10^6 labels", partial(card_of, counts), 3000, repeats=3)
    yield _live_ledger(repeats=9)


#: Run in a kernel: releases as a user's cell asks for them, in processor time of all threads.
CELLS = {
    "import": """
import gc, time, pandas as pd, dppandas as dp
df = pd.DataFrame({"x": range(1000)})
""",
    "session": """
dp.reset(); dp.session(epsilon=10**6)
people = dp.protect(df, name="people", version="1", domain={"x": (0, 1000)})
people.count(epsilon=0.1)
""",
    "show": "%dp",
    "start": "gc.collect(); start = time.process_time()",
    "ask": "for _ in range(1000): people.count(epsilon=0.1, fresh=True)",
    "end": "print(1000 * (time.process_time() - start))",
    "anew": "%reload_ext dppandas",
}


def _live_ledger(repeats: int) -> Result:
    """1,000 releases in a cell of a real kernel, with their ledger shown live and without."""
    from jupyter_client.manager import KernelManager

    root = Path(__file__).resolve().parent.parent
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env={**os.environ, "PYTHONPATH": str(root)})
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        run = partial(_printed, client)
        run("import")
        rounds = [[_asked(run, shows) for shows in (True, False)] for _ in range(1 + repeats)]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    shown, alone = (statistics.median(times) for times in zip(*rounds[1:], strict=True))
    return Result("1,000 releases, ledger shown live / not shown", shown, alone, 1.7)


def _asked(run: Callable[[str], str], shows: bool) -> float:
    """Milliseconds of a cell that asks, and of what is drawn at its end."""
    run("session")
    if shows:
        run("show")
    for name in ("start", "ask"):
        run(name)
    found = float(run("end"))
    run("anew")
    return found


def _printed(client: Any, name: str) -> str:
    """Run a cell. Returns what it printed."""
    said: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        if message["msg_type"] == "error":
            raise RuntimeError("\n".join(message["content"]["traceback"]))
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            said.append(message["content"]["text"])

    client.execute_interactive(CELLS[name], output_hook=hear, timeout=120)
    return "".join(said)
