"""How fast a ledger's file is: a durable charge in short and long ledgers, opening, verifying, and
bringing a notebook's view up to date.

    python benchmarks/ledger.py [--folder FOLDER] [--entries 100_000]

A charge is on disk when it returns, so that a disk's own time is in it. The folder decides which
disk; beside each charge stands what writing 4 kB to that disk takes, measured in turn with it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # measure this copy, installed or not

from dppandas.ledger.ledger import Ledger  # noqa: E402
from dppandas.ledger.questions import Question  # noqa: E402
from dppandas.ledger.storage.sqlite import SqliteStore  # noqa: E402
from dppandas.ledger.storage.store import Entry  # noqa: E402
from dppandas.ledger.storage.verify import verified  # noqa: E402
from dppandas.ledger.verbs import VERBS  # noqa: E402
from dppandas.privacy.accounting.composition import Part  # noqa: E402
from dppandas.privacy.accounting.losses import Epsilon, Loss  # noqa: E402
from dppandas.privacy.accounting.measures import PrivacyBudget  # noqa: E402

CALLS = 300
COUNT = Question(VERBS["count"], where="age > 30")
PARTS = 20


def entry(number: int) -> Entry:
    """As a count writes it; every tenth one of a part."""
    path = (Part("sex", str(number % PARTS), 1),) if number % 10 == 0 else ()
    return Entry(
        0, time.time(), "people", "verified", COUNT, Loss(Epsilon("0.001")),
        "discrete Laplace", "1000", "± 2,996", 3, version="1", unit="each row", path=path,
        key=f"{number:032x}", kernel="0123456789abcdef",
    )  # fmt: skip


def milliseconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - start)


def fill(store: SqliteStore, to: int) -> None:
    """With charges, in few transactions."""
    while (count := store.count()) < to:
        block = range(count, min(to, count + 10_000))
        store.add([entry(i) for i in block], lambda before, after: None)


def charges(file: Path, store: SqliteStore) -> tuple[float, float, float]:
    """The medians of a charge, of its outcome, and of the disk alone."""
    ledger = Ledger(store.terms, store)
    taken: list[tuple[float, float, float]] = []
    with (file.parent / "disk").open("wb") as disk:

        def write() -> None:
            disk.write(bytes(4096))
            disk.flush()
            os.fsync(disk.fileno())

        paid: list[Entry] = []
        for i in range(CALLS):
            draft = entry(10**6 + i)
            charge = milliseconds(lambda draft=draft: paid.extend(ledger._charge(draft)))
            settle = milliseconds(lambda: ledger._settle(paid[-1], "released", [3]))
            taken.append((charge, settle, milliseconds(write)))
    first, second, third = (statistics.median(column) for column in zip(*taken, strict=True))
    return first, second, third


def opening(file: Path) -> float:
    """Until the budget, what is left and the newest releases are known."""

    def opened() -> None:
        store = SqliteStore(file)
        ledger = Ledger(store.terms, store)
        _ = ledger.remaining, ledger._entries(200), ledger._count()
        store.close()

    return statistics.median(milliseconds(opened) for _ in range(5))


def showing(store: SqliteStore, size: int) -> tuple[float, float, int]:
    """The medians of an update of a notebook's view after a charge, and while the reader searches;
    and the bytes of markup of one."""
    from dppandas.display.notebook.view import View

    fill(store, size)
    ledger = Ledger(store.terms, store)
    view = View(ledger)
    plain, searching = [], []
    for times, said in ((plain, ""), (searching, "age")):
        view._pages._search.value = said
        for i in range(20):
            store.add([entry(i)], lambda before, after: None)
            times.append(milliseconds(view._drawn))
    parts = (view._head, view._bar, view._legend, view._pages._table)
    size = len(view._drawn().data) + sum(len(part.value) for part in parts)
    return statistics.median(plain), statistics.median(searching), size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="of the disk that is measured")
    parser.add_argument("--entries", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        file = Path(folder) / "a.ledger"
        store = SqliteStore(file, PrivacyBudget(limit=Loss(Epsilon(10**6))))
        shown = showing(SqliteStore(Path(folder) / "b.ledger", store.terms), 10_000)
        print(f"view:     {shown[0]:8.1f} ms   (target 100) an update of 10,000 entries")
        print(f"          {shown[1]:8.1f} ms   while searching; {shown[2]:,} bytes of markup")
        print(f"{'entries':>10} {'charge ms':>10} {'outcome ms':>11} {'disk alone ms':>14}")
        for size in (10, 1000, options.entries):
            fill(store, size)
            figures = charges(file, store)
            print(f"{size:>10,} {figures[0]:>10.3f} {figures[1]:>11.3f} {figures[2]:>14.3f}")
        store.close()
        print(f"opening:  {opening(file):8.1f} ms   (target 500)")
        print(f"verify:   {milliseconds(lambda: verified(file)):8.0f} ms")
        store = SqliteStore(file, reading=True)
        ledger = Ledger(store.terms, store)
        print(f"to_frame: {milliseconds(ledger.to_frame):8.0f} ms")
        for ending in ("html", "json", "csv"):
            report = Path(folder) / f"report.{ending}"
            took = milliseconds(lambda report=report: ledger.export(report))
            print(f"{'.' + ending + ':':9} {took:8.0f} ms   {report.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
