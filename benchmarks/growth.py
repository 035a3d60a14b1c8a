"""How answers grow: processor time over rows, keys, columns, groups, releases and entries.

    python benchmarks/growth.py [--large] [--only CURVE ...] [--json FILE]

Each curve is measured at growing sizes. The slope between two successive ones is that of the
logarithms of time and size, both beyond those of the smallest, which has the fixed cost. Linear is
1. What is above 1.1 at its largest sizes is named; no slope is said where the fixed cost hides it.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]  # measure this copy, installed or not

import hand_rows as rows_of  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from bench_facts import facts  # noqa: E402
from bench_turns import Task  # noqa: E402
from ledger import fill  # noqa: E402

import dppandas as dp  # noqa: E402
from dppandas.display.cards.card import card_of  # noqa: E402
from dppandas.ledger.storage.sqlite import SqliteStore  # noqa: E402
from dppandas.ledger.storage.verify import verified  # noqa: E402
from dppandas.privacy.accounting.losses import Epsilon, Loss  # noqa: E402
from dppandas.privacy.accounting.measures import PrivacyBudget  # noqa: E402

STEEP = 1.1
TURNS, FEW_TURNS, LONG = 7, 3, 2000.0
#: Below this share of the fixed cost, growth can't be told from it.
TOLD = 0.5

Maker = Callable[[int], Task]


@dataclass(frozen=True)
class Curve:
    """What is measured at which sizes; further ones are for ``--large``. `sorts`: an argsort of
    all rows, which is steeper."""

    make: Maker
    sizes: tuple[int, ...]
    larger: tuple[int, ...] = ()
    sorts: bool = False


@dataclass
class Grown:
    name: str
    sizes: list[int]
    times: list[float] = field(default_factory=list)

    @property
    def slopes(self) -> list[float | None]:
        """Between successive sizes, of what is beyond the time at the smallest one."""
        least, fixed = self.sizes[0], self.times[0]
        beyond = [
            (size - least, time - fixed)
            for size, time in zip(self.sizes[1:], self.times[1:], strict=True)
        ]
        return [
            None
            if took < TOLD * fixed or longer <= 0
            else math.log(longer / took) / math.log(more / size)
            for (size, took), (more, longer) in pairwise(beyond)
        ]

    @property
    def slope(self) -> float | None:
        """That of the largest sizes."""
        told = [slope for slope in self.slopes if slope is not None]
        return told[-1] if told else None


# --- curves ---------------------------------------------------------------------------------------


def many_columns(columns: int) -> Task:
    names = [f"c{i}" for i in range(columns)]
    df = pd.DataFrame({name: np.arange(1000.0) for name in names})
    bounds = dict.fromkeys(names, (0, 1000))
    return rows_of.asked(lambda: df.dp.mean(bounds=bounds, epsilon=1))


def many_keys(keys: int) -> Task:
    df = pd.DataFrame({"k": rows_of.generator().integers(0, keys, 10**5)})
    return rows_of.asked(lambda: df.dp["k"].value_counts(keys=range(keys), epsilon=1))


def many_labels(labels: int) -> Task:
    keys = range(labels)
    counts = pd.Series(keys[:1], name="k").dp.value_counts(keys=keys, epsilon=1)
    return rows_of.asked(lambda: card_of(counts))


def many_groups(groups: int) -> Task:
    df = pd.DataFrame({"k": rows_of.generator().integers(0, groups, 10**5), "x": np.ones(10**5)})
    options: dict[str, Any] = {"by": "k", "keys": range(groups)}
    return rows_of.asked(lambda: df.dp.groupby(**options)["x"].mean(bounds=(0, 1), epsilon=1))


def each_group(groups: int) -> Task:
    """A group's rows are counted by name, for each of all groups."""
    df = pd.DataFrame({"k": np.arange(1000) % groups})

    def ask() -> None:
        dp.session(epsilon=10**6)
        by = dp.protect(df, name="rows").groupby("k", keys=range(groups))
        for key in range(groups):
            by.get_group(key).count(epsilon="0.01")

    return Task(ask, dp.reset)


def many_branches(branches: int) -> Task:
    """Rows that become so many rows each, by an exploded list."""
    texts = pd.DataFrame({"t": [" ".join("ab" for _ in range(branches))] * 1000})

    def ask() -> Any:
        parts = texts.dp.assign(part=lambda f: f["t"].str.split(" "))
        return parts.explode("part", max_items=branches)["part"].count(epsilon=1)

    return rows_of.asked(ask)


def many_releases(releases: int) -> Task:
    """Of one column of one source, again and again."""
    df = pd.DataFrame({"x": np.arange(100.0)})

    def ask() -> None:
        dp.session(epsilon=10**6)
        p = dp.protect(df, name="rows")
        for _ in range(releases):
            p["x"].count(epsilon="0.01", fresh=True)

    return Task(ask, dp.reset)


def many_assigned(names: int) -> Task:
    """A column of one name, assigned again and again, each time from what it was."""
    df = pd.DataFrame({"x": np.arange(100.0)})

    def ask() -> Any:
        frame = df.dp
        for _ in range(names):
            frame = frame.assign(x=frame["x"] + 1)
        return frame["x"].count(epsilon=1)

    return rows_of.asked(ask)


def many_sources(sources: int) -> Task:
    """Of columns of one name, each asked once."""
    frames = [pd.DataFrame({"x": np.arange(10.0) + i}) for i in range(sources)]

    def ask() -> None:
        dp.session(epsilon=10**6)
        for i, df in enumerate(frames):
            dp.protect(df, name=f"rows {i}").count(epsilon="0.01")

    def before() -> None:
        dp.reset()
        for df in frames:
            df.attrs.clear()

    return Task(ask, before)


FOLDER = tempfile.TemporaryDirectory()


def _ledger(entries: int) -> Path:
    file = Path(FOLDER.name) / f"{entries}.ledger"
    if not file.exists():
        store = SqliteStore(file, PrivacyBudget(limit=Loss(Epsilon(10**6))))
        fill(store, entries)
        store.close()
    return file


def verify(entries: int) -> Task:
    return Task(partial(verified, _ledger(entries)))


def opened(entries: int) -> Task:
    file = _ledger(entries)
    return Task(lambda: dp.session(store=file), dp.reset)


def shown(entries: int) -> Task:
    file = _ledger(entries)

    def before() -> None:
        dp.reset()
        dp.session(store=file)

    return Task(lambda: dp.ledger()._repr_html_(), before)


def exported(ending: str, entries: int) -> Task:
    file = _ledger(entries)

    def before() -> None:
        dp.reset()
        dp.session(store=file)

    return Task(lambda: dp.ledger().export(Path(FOLDER.name) / f"report.{ending}"), before)


ROWS, MORE_ROWS = (10**3, 10**4, 10**5, 10**6, 10**7), (10**8,)
KEYS = (1, 10, 100, 10**3, 10**4, 10**5, 10**6)
ENTRIES, MORE_ENTRIES = (100, 1000, 10_000), (100_000,)

CURVES: dict[str, Curve] = {
    "count, over rows": Curve(rows_of.small_count, ROWS, MORE_ROWS),
    "mean, over rows": Curve(partial(rows_of._survey_call, "mean"), ROWS, MORE_ROWS),
    "variance, over rows": Curve(partial(rows_of._survey_call, "variance"), ROWS, MORE_ROWS),
    "describe, over rows": Curve(rows_of.describe, ROWS, MORE_ROWS, sorts=True),
    "nine quantiles, over rows": Curve(rows_of.nine_quantiles, ROWS, MORE_ROWS, sorts=True),
    "50 texts, over rows": Curve(partial(rows_of.texts, object), ROWS),
    "cov of 10 columns, over rows": Curve(partial(rows_of.ten_columns, "cov"), ROWS[:-1]),
    "days, over rows": Curve(partial(rows_of.resample, "D"), ROWS),
    "units, over rows": Curve(rows_of.truncated, ROWS[:-1], ROWS[-1:], sorts=True),
    "value_counts, over keys": Curve(many_keys, KEYS),
    "card of counts, over labels": Curve(many_labels, KEYS),
    "means of groups, over groups": Curve(many_groups, KEYS[:-1], KEYS[-1:]),
    "get_group of each, over groups": Curve(each_group, (10, 100, 1000), (3000,)),
    "mean, over columns": Curve(many_columns, (1, 3, 10, 30, 100, 300)),
    "explode, over branches": Curve(many_branches, (1, 3, 10, 30, 100)),
    "releases of one column": Curve(many_releases, (10, 100, 1000), (10**4, 10**5)),
    "a column of one name, assigned again": Curve(many_assigned, (1, 4, 16, 64)),
    "sources of a session": Curve(many_sources, (10, 100, 1000)),
    "open, over entries": Curve(opened, ENTRIES, MORE_ENTRIES),
    "show, over entries": Curve(shown, ENTRIES, MORE_ENTRIES),
    "verify, over entries": Curve(verify, ENTRIES, MORE_ENTRIES),
    "export as JSON, over entries": Curve(partial(exported, "json"), ENTRIES, MORE_ENTRIES),
    "export as CSV, over entries": Curve(partial(exported, "csv"), ENTRIES, MORE_ENTRIES),
}


# --- measuring ------------------------------------------------------------------------------------


def measured(name: str, sizes: list[int], turns: int = TURNS) -> Grown:
    grown = Grown(name, sizes)
    for size in sizes:
        task = CURVES[name].make(size)
        start = time.process_time()
        task.turn(1)
        is_long = 1000 * (time.process_time() - start) > LONG
        found = [task.turn(1) for _ in range(min(turns, FEW_TURNS) if is_long else turns)]
        grown.times.append(statistics.median(found))
    return grown


def line(grown: Grown) -> str:
    times = ", ".join(
        f"{size:,}: {took:.3g}" for size, took in zip(grown.sizes, grown.times, strict=True)
    )
    slopes = ", ".join("–" if slope is None else f"{slope:.2f}" for slope in grown.slopes)
    return f"| {grown.name} | {times} | {slopes} |"


def steep(grown: Grown) -> bool:
    is_sorted = CURVES[grown.name].sorts
    return grown.slope is not None and grown.slope > STEEP and not is_sorted


def main() -> int:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--large", action="store_true", help="up to 10^8 rows and 10^5 releases")
    parser.add_argument("--only", nargs="+", help="curves whose names contain one of these texts")
    parser.add_argument("--most", type=int, help="no size above this one")
    parser.add_argument("--json", type=Path, help="where to save the figures")
    options = parser.parse_args()
    about = facts("pandas", "numpy", "pyarrow")
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    print("\n| curve | size: ms of processor | slopes |\n| --- | --- | --- |")
    found = []
    for name, curve in CURVES.items():
        if any(text in name for text in options.only or [""]):
            sizes = [*curve.sizes, *(curve.larger if options.large else ())]
            sizes = [size for size in sizes if size <= (options.most or size)]
            found.append(measured(name, sizes))
            print(line(found[-1]), flush=True)
    if options.json:
        lines = [asdict(each) | {"slopes": each.slopes} for each in found]
        options.json.write_text(json.dumps({**about, "curves": lines}, indent=1) + "\n")
    bent = [f"{each.name}: {each.slope:.2f}" for each in filter(steep, found)]
    if bent:
        print("\n  ".join([f"\n{len(bent)} above {STEEP}:", *bent]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
