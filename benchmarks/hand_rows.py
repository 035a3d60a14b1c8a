"""The rows of benchmarks/hand.py: what a hand feels, with who is beside it, and what it may take.

Only the public API is asked, so that an older checkout can be asked the same.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bench_tasks import BOUNDS, EPSILON, KEYS, NINE, survey
from bench_turns import AnyTask, Difference, Task, Work

import dppandas as dp

#: Given how many rows, the task; data are made here, once a process.
Maker = Callable[[int], AnyTask]

WHOLE = (int(BOUNDS[0]), int(BOUNDS[1]))
CATEGORIES = [f"category {i:02d}" for i in range(50)]
TEN = [f"c{i}" for i in range(10)]
YEAR = ("2024-01-01", "2024-12-31")
FOUR = list("abcd")
#: Files that are dear to make are kept here.
CACHE = Path.home() / ".cache" / "dppandas-bench"


@dataclass(frozen=True)
class Row:
    """A line of the table. The target is a share of theirs, of what it was before, or megabytes."""

    ours: Maker
    rows: int
    target: float | None = None
    theirs: Maker | None = None
    #: Who: with diffprivlib, `theirs` is in that file.
    peer: str = ""
    of: str = "theirs"
    #: "peak": how many megabytes a fresh process grows by, at most.
    measure: str = "time"


def generator() -> np.random.Generator:
    """Data, not noise: seeded, so that all measure the same rows."""
    return np.random.default_rng(0)


def asked(work: Work) -> Task:
    """A question in a session without a budget, new for each turn."""
    return Task(work, dp.reset)


# --- small tables -------------------------------------------------------------------------------


def _small(rows: int) -> pd.DataFrame:
    return pd.DataFrame({"x": np.arange(float(rows)), "k": np.arange(rows) % 50})


def small_count(rows: int) -> Task:
    df = _small(rows)
    return asked(lambda: df.dp.count(epsilon=EPSILON))


def small_mean(rows: int) -> Task:
    """pandas' mean of 50 groups."""
    df = _small(rows)
    return Task(lambda: df.groupby("k")["x"].mean())


def some_keys(keys: int, rows: int) -> Task:
    df = pd.DataFrame({"k": np.arange(rows) % keys})
    return asked(lambda: df.dp["k"].value_counts(keys=range(keys), epsilon=EPSILON))


def _survey_call(name: str, rows: int) -> Task:
    df = survey(rows)
    calls: dict[str, Work] = {
        "count": lambda: df.dp.count(epsilon=EPSILON),
        "filtered count": lambda: df.dp.query("x > 40").count(epsilon=EPSILON),
        "mean": lambda: df.dp["x"].mean(bounds=WHOLE, epsilon=EPSILON),
        "sum": lambda: df.dp["x"].sum(bounds=WHOLE, epsilon=EPSILON),
        "variance": lambda: df.dp["x"].var(bounds=WHOLE, epsilon=EPSILON),
    }
    return asked(calls[name])


# --- moments and quantiles ----------------------------------------------------------------------


def _wide(rows: int) -> pd.DataFrame:
    draws = generator().normal(30, 20, (rows, len(TEN)))
    return pd.DataFrame({name: draws[:, i].copy() for i, name in enumerate(TEN)})


def ten_columns(how: str, rows: int) -> Task:
    df, bounds = _wide(rows), dict.fromkeys(TEN, WHOLE)
    return asked(lambda: getattr(df.dp, how)(bounds=bounds, epsilon=EPSILON))


def pandas_ten_columns(how: str, rows: int) -> Task:
    return Task(getattr(_wide(rows), how))


def _reals(rows: int) -> pd.DataFrame:
    return pd.DataFrame({"x": generator().normal(30, 20, rows)})


def describe(rows: int) -> Task:
    df = _reals(rows)
    return asked(lambda: df.dp["x"].describe(bounds=WHOLE, epsilon=EPSILON))


def pandas_describe(rows: int) -> Task:
    return Task(_reals(rows)["x"].describe)


def nine_quantiles(rows: int) -> Task:
    df = _reals(rows)
    return asked(lambda: df.dp["x"].quantile(NINE, bounds=WHOLE, epsilon=EPSILON))


def pandas_nine_quantiles(rows: int) -> Task:
    column = _reals(rows)["x"]
    return Task(lambda: column.quantile(NINE))


# --- labels -------------------------------------------------------------------------------------


def _texts(dtype: Any, rows: int) -> pd.DataFrame:
    """50 texts: as objects, each is 50 objects that rows share, as readers of files make them."""
    codes = generator().integers(0, len(CATEGORIES), rows, dtype=np.int8)
    if dtype == "category":
        column: Any = pd.Categorical.from_codes(codes, CATEGORIES, validate=False)
    else:
        column = pd.Series(np.array(CATEGORIES, dtype=object).take(codes), dtype=dtype)
    return pd.DataFrame({"c": column}, copy=False)


def texts(dtype: Any, rows: int) -> Task:
    df = _texts(dtype, rows)
    return asked(lambda: df.dp["c"].value_counts(keys=CATEGORIES, epsilon=EPSILON))


def pandas_texts(dtype: Any, rows: int) -> Task:
    return Task(_texts(dtype, rows)["c"].value_counts)


def keys_of(rows: int) -> Task:
    df, keys = survey(rows)[["k"]], list(range(KEYS))
    return asked(lambda: df.dp["k"].value_counts(keys=keys, epsilon=EPSILON))


def pandas_keys_of(rows: int) -> Task:
    return Task(survey(rows)["k"].value_counts)


def _groups(rows: int) -> pd.DataFrame:
    return _texts("category", rows).assign(x=_reals(rows)["x"])


def means_of_groups(rows: int) -> Task:
    df = _groups(rows)
    groups: dict[str, Any] = {"by": "c", "keys": CATEGORIES}
    return asked(lambda: df.dp.groupby(**groups)["x"].mean(bounds=WHOLE, epsilon=EPSILON))


def pandas_means_of_groups(rows: int) -> Task:
    df = _groups(rows)
    return Task(lambda: df.groupby("c", observed=True)["x"].mean())


def replay(keys: int, rows: int) -> Task:
    """A question about a protected table, asked again: its answer is that of the ledger."""
    df = pd.DataFrame({"k": generator().integers(0, keys, rows)})
    held: list[Any] = []

    def ask() -> Any:
        return held[-1]["k"].value_counts(keys=range(keys), epsilon=EPSILON)

    def before() -> None:
        dp.reset()
        dp.session(epsilon=10**6)
        held[:] = [dp.protect(df, name="rows")]
        ask()

    return Task(ask, before)


# --- periods ------------------------------------------------------------------------------------


def _times(rows: int) -> pd.DataFrame:
    seconds = generator().integers(0, 366 * 86_400, rows)
    return pd.DataFrame({"when": pd.Timestamp(YEAR[0]) + pd.to_timedelta(seconds, "s")})


def resample(freq: str, rows: int) -> Task:
    df = _times(rows)
    return asked(lambda: df.dp.resample(freq, on="when", range=YEAR).size(epsilon=EPSILON))


def grouper(freq: str, rows: int) -> Task:
    df, by = _times(rows), pd.Grouper(key="when", freq=freq)
    return asked(lambda: df.dp.groupby(by, range=YEAR).size(epsilon=EPSILON))


def floor(freq: str, rows: int) -> Task:
    df, keys = _times(rows), list(pd.date_range(*YEAR, freq=freq))
    return asked(lambda: df.dp["when"].dt.floor(freq).value_counts(keys=keys, epsilon=EPSILON))


def duckdb_periods(freq: str, rows: int) -> Task:
    import duckdb

    connection = duckdb.connect()
    connection.register("times", _times(rows))
    name = {"h": "hour", "D": "day", "MS": "month"}[freq]
    text = f"select date_trunc('{name}', \"when\") as start, count(*) from times group by start"
    return Task(lambda: connection.execute(text).fetchall())


# --- units --------------------------------------------------------------------------------------


def _visits(rows: int) -> pd.DataFrame:
    rng = generator()
    return pd.DataFrame({
        "unit": rng.integers(0, max(rows // 5, 1), rows), "x": rng.normal(30, 20, rows)
    })  # fmt: skip


def truncated(rows: int) -> Task:
    df = _visits(rows)

    def ask() -> Any:
        kept = dp.private(df, unit="unit", max_rows=2)
        return kept["x"].mean(bounds=WHOLE, epsilon=EPSILON)

    return asked(ask)


def pandas_truncated(rows: int) -> Task:
    df = _visits(rows)
    return Task(lambda: df.groupby("unit").head(2)["x"].clip(*WHOLE).mean())


def visits_on_disk(rows: int) -> Path:
    """A folder of ten Parquet files with a fifth as many units as rows, made once and kept."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = CACHE / f"units-{rows}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(dir=CACHE))
        df = _visits(rows)
        for number, part in enumerate(np.array_split(np.arange(rows), 10)):
            table = pa.Table.from_pandas(df.iloc[part], preserve_index=False)
            parquet.write_table(table, making / f"part-{number}.parquet")
        making.rename(folder)
    return folder


def first_of_files(rows: int) -> Task:
    """The first answer reads all units."""
    folder = visits_on_disk(rows)

    def before() -> None:
        dp.reset()
        dp.session(epsilon=10**6)

    def ask() -> Any:
        held = dp.protect(folder, name="visits", unit="unit", max_rows=2)
        return held["x"].mean(bounds=WHOLE, epsilon=EPSILON)

    return Task(ask, before)


# --- models, ledgers ----------------------------------------------------------------------------


def points(rows: int) -> pd.DataFrame:
    rng = generator()
    df = pd.DataFrame(rng.normal(0, 1, (rows, len(FOUR))).clip(-3, 3), columns=FOUR)
    noise = rng.normal(0, 0.1, rows)
    return df.assign(y=(df @ np.array([1.0, 0.5, -0.5, 0.25]) / 2 + noise).clip(-3, 3))


def pca(rows: int) -> Task:
    df = points(rows)[FOUR]
    bounds = dict.fromkeys(FOUR, (-3, 3))
    return asked(lambda: dp.models.PCA(2, epsilon=1, bounds=bounds).fit(df.dp))


def regression(rows: int) -> Task:
    df = points(rows)
    model = partial(dp.models.LinearRegression, epsilon=1, target_bounds=(-3, 3))
    bounds = dict.fromkeys(FOUR, (-3, 3))
    return asked(lambda: model(bounds=bounds).fit(df.dp[FOUR], df.dp["y"]))


def _released(store: Path | None, rows: int) -> Task:
    """Counts of a protected table, each charged anew, with the ledger in memory or in a file."""
    df, numbers, held = _small(rows), count(), []

    def before() -> None:
        dp.reset()
        if store is not None:
            file = store / f"{next(numbers)}.ledger"
            dp.session(epsilon=10**6, store=file)
        else:
            dp.session(epsilon=10**6)
        held[:] = [dp.protect(df, name="rows", version="1")]

    def ask() -> Any:
        found = held[-1].count(epsilon=EPSILON, fresh=True)
        if store is None:  # a file's words are found at once
            dp.ledger()._entries(1)
        return found

    return Task(ask, before)


def _folder() -> Path:
    """Of ledgers, gone when the process ends."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def file_release(rows: int) -> Task:
    return _released(_folder(), rows)


def file_charge(rows: int) -> Difference:
    """What a file takes more than an entry in memory whose words are found: a charge."""
    return Difference(file_release(rows), _released(None, rows))


# --- the table ----------------------------------------------------------------------------------

HUNDRED_THOUSAND, MILLION = 10**5, 10**6
PYTHON, ARROW = pd.StringDtype("python"), pd.StringDtype("pyarrow")


def _of_survey(target: float, name: str) -> Row:
    return Row(partial(_survey_call, name), HUNDRED_THOUSAND, target, peer="diffprivlib")


def _of_texts(dtype: Any, rows: int, target: float | None) -> Row:
    return Row(partial(texts, dtype), rows, target, partial(pandas_texts, dtype), "pandas")


def _of_periods(ours: Callable[[str, int], Task], freq: str = "D") -> Row:
    return Row(partial(ours, freq), MILLION, 2, partial(duckdb_periods, freq), "DuckDB")


def _before(ours: Maker, rows: int, target: float, **peer: Any) -> Row:
    return Row(ours, rows, target, of="before", **peer)


def _peak(ours: Maker, target: float | None) -> Row:
    return Row(ours, 10 * MILLION, target, measure="peak")


#: By name; where a name says no rows, they are in it.
ROWS: dict[str, Row] = {
    "import, first count / import pandas": Row(
        small_count, 1000, 0.35, peer="pandas", measure="first answer"
    ),
    "count of 1,000 rows / groupby mean": Row(small_count, 1000, 1.2, small_mean, "pandas"),
    "count of 10^5 rows / diffprivlib": _of_survey(1.1, "count"),
    "filtered count of 10^5 rows / diffprivlib": _of_survey(1.2, "filtered count"),
    "mean of 10^5 rows / diffprivlib": _of_survey(2, "mean"),
    "sum of 10^5 rows / diffprivlib": _of_survey(2, "sum"),
    "variance of 10^5 rows / diffprivlib": _of_survey(2, "variance"),
    "value_counts of 3 keys": Row(partial(some_keys, 3), 1000),
    "value_counts of 50 keys": _before(partial(some_keys, 50), 1000, 0.55),
    "value_counts of 99 keys": Row(partial(some_keys, 99), 1000),
    "value_counts of 100 keys / of 99": Row(
        partial(some_keys, 100), 1000, 1.1, partial(some_keys, 99), "99 keys"
    ),
    "value_counts of 101 keys / of 99": Row(
        partial(some_keys, 101), 1000, 1.1, partial(some_keys, 99), "99 keys"
    ),
    "corr of 10 columns, 10^6 rows / pandas": Row(
        partial(ten_columns, "corr"), MILLION, 5, partial(pandas_ten_columns, "corr"), "pandas"
    ),
    "cov of 10 columns, 10^6 rows / pandas": Row(
        partial(ten_columns, "cov"), MILLION, 5, partial(pandas_ten_columns, "cov"), "pandas"
    ),
    "describe of 10^6 rows / pandas": Row(describe, MILLION, 1.5, pandas_describe, "pandas"),
    "describe of 10^7 rows / pandas": Row(describe, 10 * MILLION, 1.5, pandas_describe, "pandas"),
    "describe of 10^7 rows, peak": _peak(describe, 60),
    "nine quantiles of 10^6 rows": _before(
        nine_quantiles, MILLION, 0.45, theirs=pandas_nine_quantiles, peer="pandas"
    ),
    "50 texts as objects, 10^7 rows / pandas": _of_texts(object, 10 * MILLION, 0.8),
    "50 texts as str in Python, 10^7 rows / pandas": _of_texts(PYTHON, 10 * MILLION, 0.8),
    "50 texts as str in Arrow, 10^7 rows / pandas": _of_texts(ARROW, 10 * MILLION, 1.2),
    "50 texts as objects, 10^7 rows, peak": _peak(partial(texts, object), None),
    "50 texts as str in Python, 10^7 rows, peak": _peak(partial(texts, PYTHON), None),
    "50 texts as str in Arrow, 10^7 rows, peak": _peak(partial(texts, ARROW), 30),
    "value_counts of 50 categories, 10^6 rows / pandas": _of_texts("category", MILLION, 2.5),
    "value_counts of 50 categories, 10^7 rows / pandas": _of_texts("category", 10 * MILLION, None),
    "value_counts of 10,000 ints, 10^6 rows / pandas": Row(
        keys_of, MILLION, 1, pandas_keys_of, "pandas"
    ),
    "mean of 50 groups, 10^6 rows / pandas": Row(
        means_of_groups, MILLION, 0.7, pandas_means_of_groups, "pandas"
    ),
    "resample of 10^6 rows / DuckDB": _of_periods(resample),
    "resample to hours, 10^6 rows / DuckDB": _of_periods(resample, "h"),
    "resample to months, 10^6 rows / DuckDB": _of_periods(resample, "MS"),
    "Grouper of 10^6 rows / DuckDB": _of_periods(grouper),
    "Grouper by hours, 10^6 rows / DuckDB": _of_periods(grouper, "h"),
    "dt.floor of 10^6 rows / DuckDB": _of_periods(floor),
    "dt.floor to hours, 10^6 rows / DuckDB": _of_periods(floor, "h"),
    "10,000 declared keys of 10^5 rows / pandas": Row(
        keys_of, HUNDRED_THOUSAND, 3, pandas_keys_of, "pandas"
    ),
    "replay of 200,000 keys": _before(partial(replay, 200_000), HUNDRED_THOUSAND, 0.25),
    "unit truncation of 10^6 rows / groupby head": Row(
        truncated, MILLION, 2, pandas_truncated, "pandas"
    ),
    "Parquet of 10^7 rows, 2·10^6 units, first answer": _before(
        first_of_files, 10 * MILLION, 0.4
    ),
    "PCA of 10^4 × 4 / diffprivlib": Row(pca, 10**4, 4, peer="diffprivlib"),
    "LinearRegression of 10^5 × 4 / diffprivlib": Row(
        regression, HUNDRED_THOUSAND, 8, peer="diffprivlib"
    ),
    "count of 1,000 rows with a ledger's file": Row(file_release, 1000),
    "charge of a ledger's file, beyond one in memory": _before(file_charge, 1000, 0.75),
}  # fmt: skip
