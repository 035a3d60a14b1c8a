"""What the benchmark asks of us and of the peers: the same rows, bounds, keys and loss for all."""

from __future__ import annotations

import numpy as np
import pandas as pd

EPSILON = 0.1
#: For keys that nobody declared: of 10^6 rows nearly all are then shown, which takes the longest.
KEYS_EPSILON, DELTA = 1, 1e-6
BOUNDS = (0.0, 60.0)
KEYS = 10_000
NINE = [i / 10 for i in range(1, 10)]
ROWS, MORE_ROWS = 10**5, 10**6


def survey(rows: int) -> pd.DataFrame:
    """Data, not noise: seeded, so that every run measures the same rows."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(30, 20, rows), "k": rng.integers(0, KEYS, rows)})
