"""How tight stated errors are, how tight they ought to be, and why some can't be.

*Over* is what is stated divided by 1.96 root mean squared errors; *slack* is by how much all stated
errors of an answer could shrink together and still hold in 95 % of the answers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from tightness_operations import RECORDS
from tightness_truth import Floats

from dppandas import statistics as stats

CONFIDENCE = 0.95
#: Pandas' floats and the public grids differ by less than this.
NEAR = 1e-6

#: At most this, at ε = 1 and for one number.
OVER: Mapping[Any, float] = {
    **dict.fromkeys(
        [stats.Count, stats.Sum, stats.OccurringKeys, stats.DistinctValues, stats.Distinct], 1.15
    ),
    **dict.fromkeys(
        [stats.Mean, stats.WeightedMean, stats.Variance, stats.Covariance, stats.Truncation], 1.3
    ),
}
#: At most this; of pivots and groups, ...
SLACK, OF_GROUPS = 1.2, 1.4
#: ... of these, and of the shares of counts.
TIGHT = {
    stats.Mean, stats.WeightedMean, stats.Variance, stats.Moments, stats.Covariance,
    stats.Contingency, stats.Truncation,
}  # fmt: skip
SHARES = {"value_counts, shares", "clipping_shares"}
#: The units of errors that are promised for the worst rows.
FOR_ALL_ROWS = "ranks", "utility"

#: Why a target can't be met, by the operation and what is missed.
REASONS: Mapping[tuple[str, str], str] = {
    ("nunique, keys", "over"): "there are no more than all keys, so answers are cut",
    **dict.fromkeys(
        itertools.product(
            ["corr", "corr of a pair", "corr of complete rows", "groupby corr of complete rows"],
            ["over", "slack"],
        ),
        "a correlation depends on the ratio of two deviations, of which noise leaves a factor of 2 "
        "open in so few rows: all that it may be is covered",
    ),
    **dict.fromkeys(
        itertools.product(
            ["groupby cov", "groupby cov within a norm", "groupby var", "groupby sem"],
            ["over", "slack"],
        ),
        "the smallest group has 30 rows, and noise of 3 to 6: products of errors count, and what "
        "is possible ends at the bounds",
    ),
}

_OF = {
    name: record.statistic
    for record in RECORDS
    if not isinstance(record.tight, str)
    for name in record.tight
}


def beyond(stated: Floats, off: Floats) -> float:
    """How many times its error the farthest number is off; of nothing 0."""
    far = np.where(off <= NEAR * (1 + stated), 0.0, off)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.where(far > 0, far / stated, 0.0), initial=0.0))


def over(found: list[tuple[Floats, Floats, str]]) -> tuple[float | None, float | None]:
    """The median, over all numbers, of what is stated divided by 1.96 root mean squared errors; and
    what it is at least, but for a chance of 2 %."""
    if len({stated.shape for stated, _, _ in found}) > 1:  # labels that not every answer has
        return None, None
    stated = np.median([each for each, _, _ in found], axis=0)
    squares = np.square([off for _, off, _ in found])
    real = 1.96 * np.sqrt(np.mean(squares, axis=0))
    told = np.isfinite(stated) & (real > NEAR * (1 + stated))
    if not told.any():
        return None, None
    # a root is off by half of what its square is off by
    chance = np.std(squares, axis=0)[told] / np.mean(squares, axis=0)[told] / 2
    most = 1 + 2 * float(np.median(chance)) / math.sqrt(len(found))
    times = float(np.median(stated[told] / real[told]))
    return times, times / most


def slack_at_least(times: list[float]) -> float | None:
    """What the slack is at least, but for a chance of 2 %; None if there are too few answers."""
    n = len(times)
    place = math.ceil(n * CONFIDENCE + 2 * math.sqrt(n * CONFIDENCE * (1 - CONFIDENCE)))
    far = sorted(times)[place - 1] if place <= n else 0.0
    return 1 / far if far else None


def upper(values: list[float]) -> float:
    return float(np.quantile(values, CONFIDENCE, method="inverted_cdf"))


def at_most(n: int, p: float, k: int) -> float:
    """P[X ≤ k] for X binomial(n, p)."""
    whole = math.lgamma(n + 1)
    ways = (whole - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(k + 1))
    chances = (i * math.log(p) + (n - i) * math.log1p(-p) for i in range(k + 1))
    return math.fsum(math.exp(a + b) for a, b in zip(ways, chances, strict=True))


def target_of_over(line: Mapping[str, Any]) -> float | None:
    """The target for one number; None where there is none."""
    is_asked = line["numbers"] == 1 and line["by"] == "ε" and line.get("over") is not None
    if not is_asked or line["unit"] in FOR_ALL_ROWS:
        return None
    return OVER.get(_OF.get(line["operation"]))


def target_of_slack(line: Mapping[str, Any]) -> float | None:
    """The target for all numbers together; None where there is none."""
    name = line["operation"]
    is_grouped = name.startswith(("groupby", "pivot"))
    if _OF.get(name) not in TIGHT and name not in SHARES and not is_grouped:
        return None
    if line["unit"] in FOR_ALL_ROWS:
        return None
    return OF_GROUPS if is_grouped else SLACK


def missed(found: list[dict[str, Any]]) -> list[str]:
    """What misses its target by more than chance, with the reason, line by line."""
    said = []
    for line in found:
        targets = (("over", target_of_over(line)), ("slack", target_of_slack(line)))
        for what, target in targets:
            least = line.get(f"{what} at least")
            if target is not None and least is not None and least > target:
                why = REASONS.get((line["operation"], what), "no reason is known")
                place = f"{line['operation']}, {line['by']}, {line['rows']:,} rows"
                said.append(f"{place}: {what} {line[what]:.2f}, target {target:g}: {why}")
    return said
