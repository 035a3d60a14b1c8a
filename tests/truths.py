"""What pandas says of clipped values, in the order of an answer's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from schema import BOUNDS, CODES, GROUPS


def clipped(column: pd.Series[Any], low: float = BOUNDS[0], high: float = BOUNDS[1]) -> Any:
    return column.astype("float64").clip(low, high)


def numbers(table: Any) -> list[float]:
    return list(np.asarray(table, dtype="float64").reshape(-1))


def by(df: pd.DataFrame, name: str, keys: Sequence[Any], values: Any, how: str) -> list[float]:
    """By group, column by column, in the order of keys."""
    found = values.groupby(df[name]).agg(how).reindex(keys)
    return numbers(found.fillna(0) if how in ("sum", "count", "size") else found)


def totals(df: pd.DataFrame, name: str) -> list[float]:
    """By group: each owner's totals, clipped, and scaled down where their sizes are too large."""
    each = df[df["group"].isin(GROUPS)].groupby(["owner", "group"])[name].sum()
    held = each.clip(*BOUNDS).unstack(fill_value=0.0).reindex(columns=GROUPS, fill_value=0.0)
    most = max(-BOUNDS[0], BOUNDS[1])
    scaled = held.mul((most / held.abs().sum(axis=1)).clip(upper=1).fillna(1), axis=0)
    return numbers(scaled.sum())


def by_and_missing(df: pd.DataFrame, values: Any, how: str) -> list[float]:
    """By "group", with a last group of the rows that have none."""
    gone = df.assign(gone=df["group"].isna())
    return by(df, "group", GROUPS, values, how) + by(gone, "gone", [True], values, how)


def weighted(df: pd.DataFrame) -> tuple[Any, Any]:
    return df["code"].astype("float64").clip(0.5, 3), clipped(df["number"])


def within_norm(values: pd.DataFrame, norm: float) -> pd.DataFrame:
    """Clipped, and each row scaled so that its sizes add up to no more than a norm."""
    held = values.apply(clipped).fillna(0)
    return held.mul((norm / held.abs().sum(axis=1)).clip(upper=1).fillna(1), axis=0)


def cov_within_norm(df: pd.DataFrame, columns: list[str], norm: float) -> list[float]:
    """Of the complete rows, clipped to ± a norm and scaled to it."""
    held = df[columns].astype("float64").dropna().clip(-norm, norm)
    held = held.mul((norm / held.abs().sum(axis=1)).clip(upper=1).fillna(1), axis=0)
    return numbers(held.cov()) if len(held) > 2 else [math.nan] * len(columns) ** 2


def pair(df: pd.DataFrame, how: Callable[[Any], float], other: Any) -> list[float]:
    return [how(clipped(other)) if len(df) > 2 else math.nan]


def three(df: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({c: clipped(df[c]) for c in ("number", "code", "yes")})


def of_complete(df: pd.DataFrame, columns: list[str]) -> list[float]:
    held = pd.DataFrame({c: clipped(df[c]) for c in columns}).dropna()
    return numbers(held.cov()) if len(df) > 2 else [math.nan] * len(columns) ** 2


def mean(values: Any, weights: Any) -> float:
    there = values.notna()
    whole = weights[there].sum() if there.any() else math.nan
    return float((values * weights)[there].sum() / whole)


def kept(rows: Any) -> list[float]:
    share = rows.clip(upper=3).sum() / rows.sum() if len(rows) else math.nan
    return [share, 1 - share]


def cut(rows: Any) -> list[float]:
    """Of each limit up to 4 the share of units that it cuts, and of rows that it drops."""
    if not len(rows):
        return [math.nan] * 8
    seen = rows.clip(upper=4)
    shares = [((rows > k).mean(), (seen - k).clip(lower=0).sum() / seen.sum()) for k in range(1, 5)]
    return [float(share) for pair in shares for share in pair]


def crosstab(df: pd.DataFrame) -> list[float]:
    counts = pd.crosstab(df["group"], df["code"]) if len(df) else pd.DataFrame()
    counts = counts.reindex(index=GROUPS, columns=CODES).fillna(0)
    counts["All"] = counts.sum(axis=1)
    counts.loc["All"] = counts.sum()
    return numbers(counts)
