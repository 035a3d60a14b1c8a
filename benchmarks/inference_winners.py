"""How often intervals hold for the label that came out largest, of labels that are all alike.

Ten labels are equally frequent among those whom the rows are a sample of. Whichever wins was lucky:
by the noise, and by the sample. All intervals are meant to hold in 95 % of the draws.
"""

from __future__ import annotations

from typing import Any

import inference_workers as workers
import numpy as np
import pandas as pd

import dppandas as dp

LABELS, ROWS, EPSILON = 10, 1000, 0.2
DRAWS, CHUNK = 2000, 500
#: As quick as these draws need it.
BY_T: dict[str, Any] = {"of": "population", "method": "t"}

#: Who won, which interval is stated of its number, and what that is about.
WAYS = {
    "largest": ("largest of released counts", "its own, of the same release", "these rows"),
    "all": ("largest of released counts", "of all ten, simultaneously", "these rows"),
    "again": ("idxmax", "of a release of its own", "these rows"),
    "again, population": ("idxmax", "of a release of its own", "the population"),
    "all, population": ("idxmax", "of all ten, simultaneously", "the population"),
}
#: Those that hold by theorem.
HOLD = ("all", "again", "all, population")


def part(draws: int) -> dict[str, int]:
    """In how many draws each interval has what it is about."""
    rng, found = np.random.default_rng(), dict.fromkeys(WAYS, 0)
    for _ in range(draws):
        dp.reset()
        dp.session(epsilon=10)
        frame = pd.DataFrame({"x": rng.integers(0, LABELS, ROWS)})
        exact = frame["x"].value_counts()
        counts = frame.dp["x"].value_counts(keys=range(LABELS), sort=False, epsilon=EPSILON)
        won = counts.idxmax()
        own = dp.derive(lambda n, won=won: n[won], counts).interval()
        found["largest"] += _has(own, exact[won])
        found["all"] += _has(_ends(dp.intervals(counts), won), exact[won])

        chosen = int(frame.dp["x"].value_counts(keys=range(LABELS)).idxmax(epsilon=EPSILON))
        again = (frame.dp["x"] == chosen).mean(epsilon=EPSILON)
        found["again"] += _has(again.interval(), exact[chosen] / ROWS)
        found["again, population"] += _has(again.interval(**BY_T), 1 / LABELS)
        shares = frame.dp["x"].value_counts(
            keys=range(LABELS), sort=False, normalize=True, epsilon=EPSILON
        )
        every = dp.intervals(shares, **BY_T)
        found["all, population"] += _has(_ends(every, chosen), 1 / LABELS)
    dp.reset()
    return found


def _ends(table: pd.DataFrame, label: Any) -> tuple[float, float]:
    return float(table.loc[label, "low"]), float(table.loc[label, "high"])


def _has(ends: tuple[float, float], truth: float) -> bool:
    return bool(ends[0] <= truth <= ends[1])


def measured(share: float) -> list[dict[str, Any]]:
    """In which share of the draws each holds, for a share of them."""
    draws = int(DRAWS * share)
    sizes = [(min(CHUNK, draws - done),) for done in range(0, draws, CHUNK)]
    found = [each.result() for each in workers.started("inference_winners.part", sizes)]
    return [
        {
            "winner": winner, "interval": interval, "about": about,
            "holds": sum(each[name] for each in found) / draws,
            "is_meant_to_hold": name in HOLD, "draws": draws,
        }
        for name, (winner, interval, about) in WAYS.items()
    ]  # fmt: skip
