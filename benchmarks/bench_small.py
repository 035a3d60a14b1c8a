"""What a person waits for when there is little to compute, and noise without any rows."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as opendp
import pandas as pd
from bench_measure import Result, Work, alone, versus
from bench_tasks import EPSILON

import dppandas as dp
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.privacy.mechanisms.selection import PermuteAndFlip
from dppandas.privacy.sampling import inverse_cdf, samplers

ROOT = Path(__file__).resolve().parent.parent
SCALE = Fraction(10)  # of the noise of a count at that ε


def on_latency(repeats: int) -> Iterator[Result]:
    small = pd.DataFrame({"x": np.arange(1000.0), "k": np.arange(1000) % 50})

    def count() -> Any:
        return small.dp.count(epsilon=EPSILON)

    yield alone("count of 1,000 rows", count, 0.5, calls=100)
    theirs = small.groupby
    yield versus(
        "count of 1,000 rows / groupby mean of them",
        count,
        lambda: theirs("k")["x"].mean(),
        0.5,
        repeats=11,
        calls=25,
    )
    yield alone("df.dp of 1,000 rows", lambda: small.dp, 0.08, calls=1000)
    texts = pd.DataFrame({"t": [f"label {i % 10_000}" for i in range(10_000)]})
    dp.reset()
    held = dp.protect(texts, name="texts", domain={"t": [f"label {i}" for i in range(10_000)]})
    query = dp.record(held["t"].value_counts(epsilon=EPSILON))._query
    yield alone("key of 10,000 labels", lambda: query.key, 5, calls=10)
    pandas, imported, answered = _first_answers(repeats)
    yield Result("import dppandas / import pandas", imported, pandas, 0.12)
    yield Result("import dppandas and a first count / import pandas", answered, pandas, 0.35)


FIRST = """
from time import process_time
start = process_time()
import pandas
loaded = process_time()
df = pandas.DataFrame({"x": [float(i) for i in range(1000)], "k": [i % 50 for i in range(1000)]})
before = process_time()
import dppandas
imported = process_time()
df.dp.count(epsilon=0.1)
print(loaded - start, imported - before, process_time() - before)
"""


def _first_answers(repeats: int) -> list[float]:
    """Milliseconds of processor that pandas' import takes, ours after it, and ours together with a
    first answer: medians over fresh processes."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # it is compiled once, before they count
    command = [sys.executable, "-c", FIRST]
    run = partial(subprocess.check_output, command, env=environment, text=True)
    run()
    seconds = [map(float, run().split()) for _ in range(max(7, repeats))]
    return [1000 * statistics.median(each) for each in zip(*seconds, strict=True)]


def on_noise() -> Iterator[Result]:
    """Noise for many counts, without any rows."""
    counts = [1000] * 10_000
    ours = DiscreteLaplace(SCALE)

    def cold() -> None:
        inverse_cdf.laplace_tables.cache_clear()
        inverse_cdf._exp_around.cache_clear()
        ours.release(counts)

    theirs = opendp_laplace()
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


def opendp_laplace() -> Work:
    """OpenDP's vector Laplace mechanism of the same scale."""
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l1_distance(T=int)
    return opendp.m.make_laplace(*space, scale=float(SCALE))
