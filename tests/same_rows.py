"""The same rows for every engine, and what each operation finds in them without noise."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import operations as ops
import pandas as pd

import dppandas as dp
from dppandas.release.context import watching
from dppandas.release.session import scratch

KEY = b"0123456789abcdef"
ROWS = 240
NAMES = ops.ALL_ASKED
UNITS = [{}, {"unit": "owner", "max_rows": 2}]


def asked_with(name: str) -> list[dict[str, Any]]:
    return UNITS[1:] if name in ops.OF_UNITS else UNITS


def made() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    day = 1577836800
    return pd.DataFrame({
        "number": np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(2, 5, ROWS)),
        "group": pd.Series(rng.choice(["a", "b", "c", "x", None], ROWS), dtype=object),
        "code": rng.choice([1, 2, 3, 9], ROWS), "yes": rng.random(ROWS) < 0.5,
        "no": rng.random(ROWS) < 0.3,
        "when": pd.to_datetime(rng.integers(day, day + 86400 * 12, ROWS), unit="s", utc=True),
        "owner": pd.array(np.where(rng.random(ROWS) < 0.1, None, rng.integers(0, 70, ROWS)),
                          dtype="Int64"),
    })  # fmt: skip


def integers(name: str, data: Any, block: int, **terms: Any) -> list[Any]:
    """What an operation finds in data, without noise."""
    seen: list[Any] = []

    def watch(query: Any, mechanism: Any, exact: Any) -> Any:
        seen.append(list(exact.items()) if isinstance(exact, Mapping) else ops.flat(exact))
        return mechanism.dummy_output(query.statistic.size)

    with scratch() as session, watching(watch):
        people = dp.protect(data, name="same", **terms)
        engine: Any = session._sources["same"].engine
        engine.key, engine.block = KEY, block
        ops.released(name, people)
    return seen
