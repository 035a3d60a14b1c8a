"""What tightness is measured on: made-up rows, and how far an answer is from what is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import dppandas as dp

Floats = npt.NDArray[np.float64]
#: How far each number of an answer is off.
Off = Callable[[Any, pd.DataFrame], Floats]

LABELS = list("abcdef")
YEAR = (pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2020-12-31", tz="UTC"))
#: As many rows as each owner has.
EACH = 3

KEYS: dict[str, Any] = {"keys": LABELS}
BOUNDS: dict[str, Any] = {"bounds": (0, 10)}
BOX = {"x": (0, 10), "y": (0, 10), "z": (0, 10)}
TABLE: dict[str, Any] = {"bounds": BOX}
XYZ = [*BOX]
BY_YES: dict[str, Any] = {"keys": {"label": LABELS, "yes": [False, True]}}
PAIR: dict[str, Any] = {"bounds": {"x": (0, 10), "y": (0, 10)}}
WEIGHTS: dict[str, Any] = {"weights": "weight", "weight_bounds": (0.5, 3)}
FOUND = {"delta": 1e-6}
NINE = [i / 10 for i in range(1, 10)]
QUARTILES = (0.25, 0.5, 0.75)
#: What is taken off the scores of three tables, which would be equal.
OFFSETS = [0, 2, 4]


def rows(number: int) -> pd.DataFrame:
    """Columns of several shapes within [0, 10], labels, truth values, weights, times and owners.

    What is selected from `even`, `early` and `late` is a matter of a few rows.
    """
    random = np.random.default_rng(number)
    x = random.lognormal(0.5, 0.6, number).clip(0, 10)
    z = random.uniform(0, 10, number)
    yes = random.random(number) < 0.3
    places = np.arange(number)
    most = number // len(LABELS) + np.array([6, 4, 2, 0, -2])
    return pd.DataFrame(
        {
            "x": x,
            "y": (x + random.normal(0, 1, number)).clip(0, 10),
            "z": z,
            "label": random.choice(LABELS, number, p=[0.4, 0.25, 0.15, 0.1, 0.07, 0.03]),
            "yes": yes,
            "no": ~yes,
            "weight": random.uniform(0.5, 3, number),
            "when": YEAR[0] + pd.to_timedelta((z * 36).round(), unit="D"),
            "owner": places // EACH,
            "even": np.repeat(LABELS, [*most, number - most.sum()]),
            "early": places < number // 2 + 2,
            "late": places >= number // 2,
        }
    )


@dataclass(frozen=True)
class Line:
    """What is asked of private rows at a loss, and how far each number is from the truth."""

    ask: Callable[[Any, Any], Any]
    off: Off
    of: Callable[[pd.DataFrame], Any] = lambda df: df.dp
    part: str = ""  # of what was released together
    slow: int = 1  # so many times fewer answers
    is_pure: bool = False  # asked by ε alone
    each: bool = False  # each label by itself


def plainly(df: pd.DataFrame) -> Any:
    """The rows themselves, for whoever takes no others."""
    return df


def owned(df: pd.DataFrame) -> Any:
    """Private rows of owners, all of whose rows are used."""
    return dp.private(df, unit="owner", max_rows=EACH)


def shortened(df: pd.DataFrame) -> Any:
    """Private rows of owners, one row of each of which is dropped."""
    return dp.private(df, unit="owner", max_rows=EACH - 1)


def named(df: pd.DataFrame) -> Any:
    """Private rows that can be asked again."""
    return dp.protect(df, "rows")


def by_label(p: Any) -> Any:
    return p.groupby("label", **KEYS)


def sizes(d: pd.DataFrame) -> pd.Series[Any]:
    return d["label"].value_counts()


def plain(told: Any) -> Floats:
    """All numbers of an answer; of times and durations their seconds."""
    flat = np.asarray(told, dtype=object).reshape(-1)
    return np.array([_number(each) for each in flat.tolist()], dtype=np.float64)


def _number(value: Any) -> float:
    if isinstance(value, pd.Timestamp):
        return (value - YEAR[0]).total_seconds()
    return value.total_seconds() if hasattr(value, "total_seconds") else float(value)


def to(truth: Callable[[pd.DataFrame], Any]) -> Off:
    """How far each number is from the truth's, label by label; what truth has no label of is 0."""

    def off(answer: Any, df: pd.DataFrame) -> Floats:
        true = truth(df)
        if isinstance(answer, pd.DataFrame) and isinstance(true, pd.DataFrame):
            true = true.reindex(index=answer.index, columns=answer.columns).fillna(0)
        elif isinstance(answer, pd.Series) and isinstance(true, pd.Series):
            true = true.reindex(answer.index)
            true = true.fillna(0) if true.isna().any() else true
        return np.abs(plain(answer) - plain(true))

    return off


def _ranks(values: Floats, found: float, share: float) -> float:
    """How many rows lie between a number and a quantile."""
    target = share * len(values)
    return max(
        0.0,
        float(np.searchsorted(values, found, "left") - target),
        float(target - np.searchsorted(values, found, "right")),
    )


def ranks(*shares: float, column: str = "x") -> Off:
    """Of some quantiles of a column."""

    def off(answer: Any, df: pd.DataFrame) -> Floats:
        values = np.sort(df[column].to_numpy())
        found = np.atleast_1d(np.asarray(answer, dtype=float))
        return np.array([_ranks(values, *each) for each in zip(found, shares, strict=True)])

    return off


def ranks_of_columns(share: float) -> Off:
    """Of one quantile of several columns."""

    def off(answer: Any, df: pd.DataFrame) -> Floats:
        return np.array([_ranks(np.sort(df[c].to_numpy()), x, share) for c, x in answer.items()])

    return off


def ranks_of_groups(*shares: float) -> Off:
    """Of some quantiles by label: the label is the first level, and shares follow each other."""

    def off(answer: Any, df: pd.DataFrame) -> Floats:
        values = {label: np.sort(x.to_numpy()) for label, x in df.groupby("label")["x"]}
        labels = [key[0] if isinstance(key, tuple) else key for key in answer.index]
        each = zip(labels, answer.tolist(), [*shares] * len(LABELS), strict=True)
        return np.array([_ranks(values[label], x, share) for label, x, share in each])

    return off


def below_the_best(scores: Callable[[pd.DataFrame], pd.Series[Any]]) -> Off:
    """How far the score of a label that was selected lies below the largest."""

    def off(answer: Any, df: pd.DataFrame) -> Floats:
        (label,), found = answer, scores(df)
        return np.array([float(found.max() - found[label])])

    return off


def clipped_share(answer: Any, df: pd.DataFrame) -> Floats:
    """Of bounds that were found: the share of values that they clip. Their ends have one side."""
    lower, upper, share = answer
    off = abs(share - 1 + df["x"].between(lower, upper).mean())
    return np.array([0.0, 0.0, float(off)])


def cut(x: pd.Series[Any]) -> np.ndarray[Any, Any]:
    return np.histogram(x, 5, (0, 10))[0]


def kept(each: pd.Series[Any]) -> list[float]:
    share = float(each.clip(upper=EACH - 1).sum() / each.sum())
    return [share, 1 - share]


def cut_off(each: pd.Series[Any]) -> pd.DataFrame:
    limits = pd.Index([1, 2, 3, 4], name="max_rows")
    units = [float((each > k).mean()) for k in limits]
    rows = [float((each - k).clip(lower=0).sum() / each.sum()) for k in limits]
    return pd.DataFrame({"units_cut": units, "rows_dropped": rows}, index=limits)


def three(values: Any) -> pd.DataFrame:
    found: pd.DataFrame = values.agg(["count", "mean", "std"])
    return found


def found(p: Any) -> Any:
    return p.groupby("label", **FOUND)


def misfits(d: pd.DataFrame) -> pd.Series[Any]:
    return pd.Series([float(len(d) - less) for less in OFFSETS])


def nothing() -> list[pd.Series[Any]]:
    """Public tables that expect no rows."""
    return [pd.Series(0, index=pd.Index(LABELS, name="even"))] * len(OFFSETS)


def evens(d: pd.DataFrame) -> pd.Series[Any]:
    return d["even"].value_counts()


def score(rows: pd.DataFrame, label: str) -> int:
    return int((rows["even"] == label).sum())


def sums(*columns: str) -> Off:
    return below_the_best(lambda d: d[[*columns]].sum())


def alike(verb: str, several: str = "") -> dict[str, Line]:
    """A statistic of numbers that is spelled as pandas spells it: of a column, by label, and of
    three columns if there is a name for that."""

    def ask(x: Any, **more: Any) -> Any:
        return getattr(x, verb)(**more)

    lines = {
        verb: Line(lambda p, by: ask(p["x"], **BOUNDS, **by), to(lambda d: ask(d["x"]))),
        f"groupby {verb}": Line(
            lambda p, by: ask(by_label(p)["x"], **BOUNDS, **by),
            to(lambda d: ask(d.groupby("label")["x"])),
        ),
    }
    if several:
        lines[several] = Line(lambda p, by: ask(p[XYZ], **TABLE, **by), to(lambda d: ask(d[XYZ])))
    return lines
