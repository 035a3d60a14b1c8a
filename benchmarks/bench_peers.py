"""Whole public calls beside the peers': OpenDP, diffprivlib, and a loop as one writes it by hand.

OpenDP's plans are made once and kept, and it is given the array that it takes as it is; where a
condition selects rows, numpy does so first. diffprivlib is given columns of a frame, as we are.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as odp
import pandas as pd
from bench_measure import Others, Result, Work, alone, beside, timed
from bench_tasks import BOUNDS, DELTA, EPSILON, KEYS, KEYS_EPSILON, MORE_ROWS, NINE, ROWS, survey

import dppandas as dp

HERE = Path(__file__).resolve().parent
odp.enable_features("contrib")

# --- diffprivlib --------------------------------------------------------------------------------


class Diffprivlib:
    """A process in an environment of its own, which does a task once when told, and times it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.version = self._read()

    def _read(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("diffprivlib's process ended: see above")
        return line.rstrip()

    def timed(self, task: str) -> float:
        assert self._process.stdin
        print(task, file=self._process.stdin, flush=True)
        return float(self._read())


@contextlib.contextmanager
def diffprivlib(python: str) -> Iterator[Diffprivlib]:
    command = [python, str(HERE / "bench_diffprivlib.py")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield Diffprivlib(process)


# --- OpenDP, and by hand ------------------------------------------------------------------------


def _vectors(kind: Any, **more: Any) -> tuple[Any, Any]:
    return odp.vector_domain(odp.atom_domain(T=kind, **more)), odp.symmetric_distance()


def _calibrated(transformation: Any, moved: int) -> Any:
    """A kept plan with Laplace noise for our ε, where one person moves so many rows."""
    return odp.binary_search_chain(
        lambda scale: transformation >> odp.m.then_laplace(scale), moved, EPSILON
    )


def opendp_calls(x: np.ndarray[Any, Any]) -> dict[str, Work]:
    """A mean and a variance are of a public size: there a person changes a row."""
    reals = _vectors(float, nan=False)
    count = _calibrated(reals >> odp.t.then_count(), 1)
    clamped = reals >> odp.t.then_clamp(BOUNDS)
    total = _calibrated(clamped >> odp.t.then_sum(), 1)
    sized = clamped >> odp.t.then_resize(len(x), sum(BOUNDS) / 2)
    mean = _calibrated(sized >> odp.t.then_mean(), 2)
    variance = _calibrated(sized >> odp.t.then_variance(), 2)
    return {
        "count": lambda: count(x),
        "filtered count": lambda: count(x[x > 40]),
        "mean": lambda: mean(x),
        "sum": lambda: total(x),
        "variance": lambda: variance(x),
    }


def opendp_declared(k: np.ndarray[Any, Any]) -> Work:
    counted = odp.t.then_count_by_categories(list(range(KEYS)), null_category=False)
    plan = _calibrated(_vectors("i64") >> counted, 1)
    return lambda: plan(k)


def opendp_top(k: np.ndarray[Any, Any]) -> Work:
    scores = odp.vector_domain(odp.atom_domain(T="u64"))
    distance = odp.linf_distance(T="u64", monotonic=True)
    plan = odp.m.make_noisy_max(scores, distance, odp.max_divergence(), scale=1 / EPSILON)
    return lambda: plan(np.bincount(k, minlength=KEYS).astype(np.uint64))


def opendp_quantiles(x: np.ndarray[Any, Any]) -> Work:
    """Among 1,001 candidates: OpenDP has to be told them."""
    candidates = np.linspace(*BOUNDS, 1001).tolist()

    def plan(alpha: float) -> Any:
        scores = odp.t.then_quantile_score_candidates(candidates, alpha)
        chosen = _vectors(float, nan=False) >> scores
        return odp.binary_search_chain(
            lambda scale: chosen >> odp.m.then_noisy_max(odp.max_divergence(), scale, negate=True),
            1,
            EPSILON / len(NINE),
        )

    plans = [plan(alpha) for alpha in NINE]
    return lambda: [each(x) for each in plans]


def opendp_threshold() -> tuple[Any, int]:
    """A histogram of keys that nobody declared, and the noisy count from which one is shown."""

    def plan(threshold: int) -> Any:
        counted = _vectors("i64") >> odp.t.then_count_by(TV="i64")
        return counted >> odp.m.then_laplace_threshold(scale=1 / KEYS_EPSILON, threshold=threshold)

    least = odp.binary_search(lambda t: plan(t).map(1)[1] <= DELTA, bounds=(1, 10_000))
    return plan(least), least


def by_hand(k: pd.Series, least: int) -> dict[int, float]:
    """A call for the noise of each key. Its floats would give rows away: it is only fast."""
    laplace = np.random.default_rng().laplace
    noisy = (
        (key, count + laplace(scale=1 / KEYS_EPSILON)) for key, count in Counter(k.tolist()).items()
    )
    return {key: count for key, count in noisy if count >= least}


# --- ours ---------------------------------------------------------------------------------------


def our_calls(df: pd.DataFrame) -> dict[str, Work]:
    bounds = (int(BOUNDS[0]), int(BOUNDS[1]))
    return {
        "count": lambda: df.dp.count(epsilon=EPSILON),
        "filtered count": lambda: df.dp.query("x > 40").count(epsilon=EPSILON),
        "mean": lambda: df.dp["x"].mean(bounds=bounds, epsilon=EPSILON),
        "sum": lambda: df.dp["x"].sum(bounds=bounds, epsilon=EPSILON),
        "variance": lambda: df.dp["x"].var(bounds=bounds, epsilon=EPSILON),
    }


def undeclared(df: pd.DataFrame) -> None:
    dp.session(epsilon=KEYS_EPSILON, delta=DELTA)
    df.dp["k"].value_counts(epsilon=KEYS_EPSILON, delta=DELTA)


# --- rows of the table --------------------------------------------------------------------------


def on_peers(peer: Diffprivlib | None, quick: bool) -> Iterator[Result]:
    some, more = survey(ROWS), survey(MORE_ROWS)

    def told(task: str, target: float | None = None) -> Others:
        return {"diffprivlib": (partial(peer.timed, task), target)} if peer else {}

    def kept(work: Work) -> Others:
        return {"OpenDP": (partial(timed, work), None)}

    yield from _calls(some, told, kept, 11 if quick else 51)
    yield from _many_keys(some, told, kept, 5 if quick else 11)
    yield from _undeclared("10,000 undeclared keys of 10^5 rows", some, aimed=False)
    yield from _undeclared("10,000 undeclared keys of 10^6 rows", more, aimed=True)
    x = np.array(more["x"])
    ours = partial(more.dp["x"].quantile, NINE, bounds=BOUNDS, epsilon=EPSILON)
    yield alone("nine quantiles of 10^6 rows", ours, 100)
    others = {**told("nine quantiles"), **kept(opendp_quantiles(x))}
    yield from beside("nine quantiles of 10^6 rows", ours, others, 1 if quick else 3)


def _calls(df: pd.DataFrame, told: Any, kept: Any, repeats: int) -> Iterator[Result]:
    theirs = opendp_calls(np.array(df["x"]))
    for task, ours in our_calls(df).items():
        others = {**told(task, 1), **kept(theirs[task])}
        yield from beside(f"{task} of 10^5 rows", ours, others, repeats)


def _many_keys(df: pd.DataFrame, told: Any, kept: Any, repeats: int) -> Iterator[Result]:
    k, keys = np.array(df["k"]), list(range(KEYS))

    def histogram() -> Any:
        return df.dp["k"].value_counts(keys=keys, epsilon=EPSILON)

    def top() -> Any:
        return df.dp["k"].value_counts(keys=keys).idxmax(epsilon=EPSILON)

    pandas = {"pandas": (partial(timed, df["k"].value_counts), 4.0)}
    others = {**pandas, **told("histogram"), **kept(opendp_declared(k))}
    yield from beside("10,000 declared keys of 10^5 rows", histogram, others, repeats)
    ours = {"our histogram": (partial(timed, histogram), 1.2)}
    others = {**ours, **told("top-1"), **kept(opendp_top(k))}
    yield from beside("top-1 of 10,000 keys of 10^5 rows", top, others, repeats)


def _undeclared(name: str, df: pd.DataFrame, aimed: bool) -> Iterator[Result]:
    """pandas takes microseconds a thousand rows: a target for many rows only."""
    k = np.array(df["k"])
    plan, least = opendp_threshold()
    works: dict[str, tuple[Callable[[], Any], float]] = {
        "pandas": (df["k"].value_counts, 5),
        "OpenDP": (lambda: plan(k), 1),
        "by hand": (lambda: by_hand(df["k"], least), 1),
    }
    others = {
        who: (partial(timed, work), target if aimed else None)
        for who, (work, target) in works.items()
    }
    yield from beside(name, partial(undeclared, df), others, 5)
