"""How much time tells: measured and reported, not promised (docs/known_limits.md).

``make timing``: the correlation of a release's time with the size of its noise, and the medians for
two neighbours, interleaved. At N = 6,000 a correlation above 0.08 is six standard deviations.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import dppandas as dp
from dppandas.privacy.sampling import samplers

N = 6000


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def correlation(draw: Callable[[], int], center: int = 0) -> float:
    """Of the time of a draw with the size of what it drew; the slowest one in 100 left out."""
    taken = [timed(draw) for _ in range(N)]
    slow = sorted(t for t, _ in taken)[-N // 100]
    kept = [(t, abs(int(z) - center)) for t, z in taken if t < slow]
    return float(np.corrcoef(*zip(*kept, strict=True))[0, 1])


def main() -> None:
    df = pd.DataFrame({"x": np.arange(1000.0), "g": np.arange(1000) % 10})
    rows = []
    for scale in (1, 10, 1000):
        r = correlation(lambda scale=scale: samplers.discrete_laplace_vector(Fraction(scale), 1)[0])
        rows.append((f"one draw of scale {scale}", f"r = {r:+.3f}"))
    epsilon = Fraction(1, 1000)
    r = correlation(lambda: df.dp.count(epsilon=epsilon), 1000)
    rows.append(("count of 1,000 rows at scale 1000", f"r = {r:+.3f}"))
    r = correlation(lambda: int(samplers.discrete_laplace_vector(Fraction(1000), 200)[0]))
    rows.append(("the first of 200 draws of scale 1000", f"r = {r:+.3f}"))
    for name, ask in {
        "count": lambda d: d.dp.count(epsilon=1),
        "mean": lambda d: d.dp["x"].mean(bounds=(0, 1000), epsilon=1),
        "value_counts": lambda d: d.dp["g"].value_counts(keys=range(10), epsilon=1),
    }.items():
        pair = (df, df.iloc[1:].copy())
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(N // 10):
            for d, into in zip(pair, times, strict=True):
                into.append(timed(lambda d=d, ask=ask: ask(d))[0])
        one, other = (1e6 * statistics.median(each) for each in times)
        rows.append((f"{name}, 1,000 rows and 999", f"{one:.0f} µs and {other:.0f} µs"))
        dp.reset()
    for name, found in rows:
        print(f"{name:40} {found}")


if __name__ == "__main__":
    main()
