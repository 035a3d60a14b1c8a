"""How fast dppandas is: each speed target beside plain pandas (or OpenDP), in one run.

    python benchmarks/bench.py [--rows 10_000_000] [--json benchmarks/results.json] [--quick]

Ours and theirs are timed in turn, so that both meet the same weather on the machine: five times
each after a warm-up, and the median counts. pandas gets a frame of just the columns that the query
names. The figures are printed as a table and saved as JSON. benchmarks/README.md explains them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # measure this copy, installed or not

import dppandas as dp  # noqa: E402
from dppandas.privacy.mechanisms.noise import DiscreteLaplace  # noqa: E402
from dppandas.privacy.mechanisms.selection import PermuteAndFlip  # noqa: E402
from dppandas.privacy.sampling import inverse_cdf, samplers  # noqa: E402

EPSILON = 0.1
SCALE = Fraction(10)  # of the noise of a count at that ε

Work = Callable[[], Any]


@dataclass
class Result:
    """One line of the table; without theirs, the target is a time."""

    name: str
    ours_ms: float
    theirs_ms: float | None
    target: float | None

    @property
    def ratio(self) -> float | None:
        return self.ours_ms / self.theirs_ms if self.theirs_ms else None

    @property
    def met(self) -> bool | None:
        measured = self.ours_ms if self.ratio is None else self.ratio
        return None if self.target is None else measured <= self.target

    def cells(self) -> list[str]:
        unit = " ms" if self.ratio is None else " ×"
        return [
            self.name,
            _shown(self.ours_ms),
            _shown(self.theirs_ms),
            _shown(self.ratio),
            "reported" if self.target is None else f"≤ {self.target:g}{unit}",
            {None: "", True: "yes", False: "NO"}[self.met],
        ]


def _shown(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}" if number < 100 else f"{number:.0f}"


def timed(work: Work) -> float:
    """Milliseconds of one call, in a session of its own."""
    dp.reset()
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def versus(name: str, ours: Work, theirs: Work, target: float | None, repeats: int = 5) -> Result:
    """Ours against theirs, in turn; the target is a ratio."""
    ours(), theirs()
    pairs = [(timed(ours), timed(theirs)) for _ in range(repeats)]
    mine, other = (statistics.median(times) for times in zip(*pairs, strict=True))
    return Result(name, mine, other, target)


def alone(name: str, ours: Work, target: float, calls: int = 1, repeats: int = 5) -> Result:
    """Ours alone; the target is in milliseconds a call."""
    ours()

    def all_calls() -> None:
        for _ in range(calls):
            ours()

    times = [timed(all_calls) / calls for _ in range(repeats)]
    return Result(name, statistics.median(times), None, target)


# --- rows ---------------------------------------------------------------------------------------

CATEGORIES = [f"category {i:02d}" for i in range(50)]
NUMBERS = list(range(10_000))
MANY_GROUPS = 100_000


def table(rows: int) -> pd.DataFrame:
    """Data, not noise: seeded, so that every run measures the same rows."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, len(CATEGORIES), rows)
    text = np.array(CATEGORIES, dtype=object).take(codes)
    df = pd.DataFrame(
        {"x": rng.normal(30, 20, rows), "k": rng.integers(0, len(NUMBERS), rows)},
    )
    df["c"] = pd.Categorical.from_codes(codes, categories=CATEGORIES)
    df["python"] = pd.Series(text, dtype=pd.StringDtype("python"))
    df["arrow"] = pd.Series(text, dtype=pd.StringDtype("pyarrow"))
    df["object"] = pd.Series(text, dtype=object)
    return df


def on_rows(df: pd.DataFrame) -> Iterator[Result]:
    """Answers from many rows."""
    x, xk, xc = df[["x"]], df[["x", "k"]], df[["x", "c"]]
    condition = "x > 40 and k < 5000"
    yield versus(
        "bounded mean",
        lambda: x.dp["x"].mean(bounds=(0, 60), epsilon=EPSILON),
        lambda: x["x"].mean(),
        1.3,
    )
    yield versus(
        "filtered count",
        lambda: xk.dp.query(condition).count(epsilon=EPSILON),
        lambda: len(xk.query(condition)),
        0.5,
    )
    for name, column, keys, target in (
        ("value_counts, 50 categories", "c", CATEGORIES, 1.3),
        ("value_counts, 10,000 integer keys", "k", NUMBERS, 1.0),
        ("value_counts, 50 python-backed strings", "python", CATEGORIES, 1.1),
        ("value_counts, 50 Arrow-backed strings", "arrow", CATEGORIES, 1.1),
        ("value_counts, 50 strings as objects", "object", CATEGORIES, None),
    ):
        frame = df[[column]]
        yield versus(name, _value_counts(frame, column, keys), frame[column].value_counts, target)
    for rows in (10**5, 10**6):
        frame = df[["k"]].head(rows)
        name = f"value_counts, 10,000 undeclared keys, {rows:,} rows"
        yield versus(name, partial(_undeclared, frame), frame["k"].value_counts, 5)
    yield versus(
        "groupby mean, 50 categories",
        lambda: xc.dp.groupby("c", keys=CATEGORIES)["x"].mean(bounds=(0, 60), epsilon=EPSILON),
        lambda: xc.groupby("c", observed=True)["x"].mean(),
        1.3,
    )
    yield versus(
        "median",
        lambda: x.dp["x"].median(bounds=(0, 60), epsilon=1),
        lambda: x["x"].median(),
        1.5,
    )
    groups = df[["x"]].head(10**6).assign(g=np.arange(len(df))[: 10**6] % MANY_GROUPS)
    yield alone(
        "median of 100,000 groups of 10^6 rows",
        lambda: groups.dp.groupby("g", keys=range(MANY_GROUPS))["x"].median(
            bounds=(0, 60), epsilon=1
        ),
        1000,
        repeats=3,
    )
    crossed = df[["c"]].assign(ten=df["k"] % 10)
    keys = {"c": CATEGORIES, "ten": list(range(10))}
    yield versus(
        "crosstab, 50 × 10 cells",
        lambda: crossed.dp.crosstab("c", "ten", keys=keys, epsilon=EPSILON),
        lambda: pd.crosstab(crossed["c"], crossed["ten"]),
        1.3,
        repeats=3,
    )
    wide = x.assign(**{f"other{i}": np.zeros(len(df), dtype=np.int8) for i in range(20)})
    yield versus(
        "bounded mean: 20 more columns / none",
        lambda: wide.dp["x"].mean(bounds=(0, 60), epsilon=EPSILON),
        lambda: x.dp["x"].mean(bounds=(0, 60), epsilon=EPSILON),
        1.2,  # room for the weather: if all were read, the ratio would be above 2
        repeats=25,
    )


def _value_counts(frame: pd.DataFrame, column: str, keys: list[Any]) -> Work:
    return lambda: frame.dp[column].value_counts(keys=keys, epsilon=EPSILON)


def _undeclared(frame: pd.DataFrame) -> None:
    dp.session(epsilon=1, delta=1e-6)
    frame.dp["k"].value_counts(epsilon=EPSILON, delta=1e-6)


# --- protect ------------------------------------------------------------------------------------

#: What `protect` of the table below took beside `factorize` of its columns, when each text was
#: hashed as often as it came: at most a fifth of that is the target.
ONCE_A_CELL = 80.0


def on_protect() -> Iterator[Result]:
    """A million rows with a text column of 50 kinds; a table of the size and columns of flights."""
    rng = np.random.default_rng(0)
    text = np.array(CATEGORIES, dtype=object).take(rng.integers(0, 50, 10**6))
    for dtype in ("object", "str"):
        column = pd.Series(text, name="c").astype(dtype)
        yield versus(
            f"protect of 10^6 texts of 50 kinds ({dtype}) / factorize",
            partial(_protect, column.to_frame()),
            partial(pd.factorize, column),
            6,
        )
    flights = _flights(rng, 336_776)
    yield versus(
        "protect of 336,776 × 19 / factorize of each column",
        partial(_protect, flights),
        lambda: [pd.factorize(flights[name]) for name in flights],
        ONCE_A_CELL / 5,
        repeats=3,
    )


def _protect(frame: pd.DataFrame) -> None:
    dp.reset()
    dp.protect(frame, name="bench")
    frame.attrs.clear()


def _flights(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Nineteen columns as flights has them: whole numbers, reals with holes, texts and times."""

    def texts(kinds: int) -> Any:
        names = np.array([f"N{i:05d}" for i in range(kinds)], dtype=object)
        return names.take(rng.integers(0, kinds, rows))

    columns: dict[str, Any] = {f"i{i}": rng.integers(0, 2400, rows) for i in range(6)}
    for i in range(8):
        columns[f"f{i}"] = np.where(rng.random(rows) < 0.03, np.nan, rng.integers(0, 1500, rows))
    columns |= {f"t{kinds}": texts(kinds) for kinds in (3, 16, 105, 4044)}
    hours = pd.to_timedelta(rng.integers(0, 8760, rows), unit="h")
    return pd.DataFrame({**columns, "when": pd.Timestamp("2013-01-01") + hours})


# --- noise, latency, import ---------------------------------------------------------------------


def on_noise() -> Iterator[Result]:
    """Noise for many counts, without any rows."""
    counts = [1000] * 10_000
    ours = DiscreteLaplace(SCALE)

    def cold() -> None:
        inverse_cdf.laplace_tables.cache_clear()
        ours.release(counts)

    theirs = opendp_laplace()
    if theirs is not None:
        name = "noise for 10,000 counts / OpenDP's"
        yield versus(name, lambda: ours.release(counts), lambda: theirs(counts), 1 / 50)
    yield alone("noise for 10,000 counts, cold", cold, 60)
    draw = samplers.discrete_laplace_vector
    yield alone("10^6 draws (0.5 µs each)", lambda: draw(SCALE, 1_000_000), 500)


def on_selections() -> Iterator[Result]:
    """The largest of 10,000 scores, close together and far apart."""
    for spread in (1, 10**12):
        scores = [i * spread % (10_007 * spread) for i in range(0, 30_000, 3)]
        flip = PermuteAndFlip.calibrate(1, Fraction(1, 10), True)
        yield alone(f"noisy max of 10,000, {spread:.0e} apart", partial(flip.release, scores), 5)


def opendp_laplace() -> Callable[[list[int]], Any] | None:
    """OpenDP's vector Laplace mechanism of the same scale, where it is installed."""
    try:
        import opendp.prelude as opendp
    except ImportError:
        return None
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l1_distance(T=int)
    return opendp.m.make_laplace(*space, scale=float(SCALE))


def on_latency(repeats: int) -> Iterator[Result]:
    """What a person waits for when there is little to compute."""
    small = pd.DataFrame({"x": np.arange(1000.0)})
    yield alone("count of 1,000 rows", lambda: small.dp.count(epsilon=EPSILON), 0.5, calls=100)
    both = versus("", _importing("pandas, dppandas"), _importing("pandas"), None, repeats)
    yield Result("import dppandas, beyond pandas", both.ours_ms - (both.theirs_ms or 0), None, 150)


def _importing(modules: str) -> Work:
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)}
    command = [sys.executable, "-c", f"import {modules}"]
    return lambda: subprocess.run(command, env=environment, check=True)


# --- the table ----------------------------------------------------------------------------------


def facts(rows: int) -> dict[str, Any]:
    """What the figures depend on, and nothing that tells whose machine it was."""
    packages = ("pandas", "numpy", "pyarrow", "opendp")
    return {
        "dppandas": dp.__version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
        "cpus": os.cpu_count(),
        "rows": rows,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


HEAD = ["", "ours ms", "theirs ms", "ratio", "target", "met"]


def markdown(results: list[Result]) -> str:
    """The table, which benchmarks/README.md takes as it is."""
    lines = [HEAD, *(result.cells() for result in results)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(_row(line, widths) for line in [HEAD, rule, *lines[1:]])


def _row(cells: list[str], widths: list[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return " | ".join(["| " + first[0].ljust(first[1]), *(c.rjust(w) for c, w in rest)]) + " |"


def main() -> None:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--json", type=Path, help="where to save (benchmarks/results.json)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, not saved")
    options = parser.parse_args()
    rows = options.rows // 10 if options.quick else options.rows
    about = facts(rows)
    print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    results = [
        *on_latency(3 if options.quick else 7),
        *on_noise(),
        *on_selections(),
        *on_protect(),
        *on_rows(table(rows)),
    ]
    print(markdown(results))
    path = options.json or (None if options.quick else HERE / "results.json")
    if path:
        lines = [{**asdict(r), "ratio": r.ratio, "met": r.met} for r in results]
        path.write_text(json.dumps({**about, "results": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
