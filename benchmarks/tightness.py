"""How much larger stated errors are than real ones, beside OpenDP's where it states any.

    python benchmarks/tightness.py [--epsilon 1] [--answers 400] [--json FILE]

Each operation is asked many times of made-up rows, at ε, and at ρ = ε²/2 where ρ is counted.
*Stated* is the median over answers of what `dp.record(answer).error()` tells at 95 %, of several
numbers the largest; *real* is the 95 % quantile of how far answers were from the truth, of several
numbers the farthest. Quantiles, min and max are off by ranks, a selection by how far it lies below
the largest. A ratio below 1 by more than chance would be an error that doesn't hold; a joint error
of several numbers can't be much below that of each.

OpenDP states the accuracy of a scale; of several numbers each gets its part of the 5 %. Of means,
variances and quantiles it states none, and diffprivlib states none at all.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as odp
import pandas as pd

import dppandas as dp

CONFIDENCE = 0.95
LABELS = list("abcdef")
THREE, NINE = [0.25, 0.5, 0.75], [i / 10 for i in range(1, 10)]
BOX = {"x": (0, 10), "y": (0, 10), "z": (0, 10)}
#: Reading ranks takes longer: so many times fewer answers.
SLOW = 4


def rows(number: int) -> pd.DataFrame:
    """Columns of several shapes within [0, 10], a label and a truth value."""
    random = np.random.default_rng(number)
    x = random.lognormal(0.5, 0.6, number).clip(0, 10)
    return pd.DataFrame(
        {
            "x": x,
            "y": (x + random.normal(0, 1, number)).clip(0, 10),
            "z": random.uniform(0, 10, number),
            "label": random.choice(LABELS, number, p=[0.4, 0.25, 0.15, 0.1, 0.07, 0.03]),
            "yes": random.random(number) < 0.3,
        }
    )


@dataclass(frozen=True)
class Operation:
    """What is asked of private rows, and how far an answer is from the truth."""

    ask: Callable[[Any], Any]
    off: Callable[[Any, pd.DataFrame], float]
    is_slow: bool = False


def to(truth: Callable[[pd.DataFrame], Any]) -> Callable[[Any, pd.DataFrame], float]:
    """How far the farthest of an answer's numbers is from the truth's, label by label."""

    def off(answer: Any, df: pd.DataFrame) -> float:
        true = truth(df)
        if isinstance(answer, pd.DataFrame):
            true = true.reindex(index=answer.index, columns=answer.columns).fillna(0)
        elif isinstance(answer, pd.Series):
            true = true.reindex(answer.index).fillna(0)
        gaps = np.abs(np.asarray(answer, dtype=float) - np.asarray(true, dtype=float))
        return float(np.nanmax(gaps, initial=0.0))

    return off


def ranks(shares: list[float], column: str = "x") -> Callable[[Any, pd.DataFrame], float]:
    def off(answer: Any, df: pd.DataFrame) -> float:
        values = np.sort(df[column].to_numpy())
        found = np.atleast_1d(np.asarray(answer, dtype=float))
        targets = np.array(shares) * len(values)
        below = np.searchsorted(values, found, "left") - targets
        above = targets - np.searchsorted(values, found, "right")
        return float(np.maximum(np.maximum(below, above), 0).max())

    return off


def below_the_largest(answer: Any, df: pd.DataFrame) -> float:
    counts = df["label"].value_counts()
    return float(counts.max() - counts[answer])


def farthest(answer: Any, df: pd.DataFrame) -> float:
    """Of undeclared labels those that are told: each by itself, so one at random is looked at."""
    if not len(answer):
        return 0.0
    label = np.random.default_rng().choice(answer.index)
    return float(abs(answer[label] - (df["label"] == label).sum()))


BOUNDS: dict[str, Any] = {"bounds": (0, 10)}
OPERATIONS: dict[str, Operation] = {
    "count": Operation(lambda p: p.count(), to(len)),
    "sum": Operation(lambda p: p["x"].sum(**BOUNDS), to(lambda d: d["x"].sum())),
    "mean": Operation(lambda p: p["x"].mean(**BOUNDS), to(lambda d: d["x"].mean())),
    "share": Operation(lambda p: p["yes"].mean(bounds=(0, 1)), to(lambda d: d["yes"].mean())),
    "three means": Operation(lambda p: p[[*BOX]].mean(bounds=BOX), to(lambda d: d[[*BOX]].mean())),
    "var": Operation(lambda p: p["x"].var(**BOUNDS), to(lambda d: d["x"].var())),
    "std": Operation(lambda p: p["x"].std(**BOUNDS), to(lambda d: d["x"].std())),
    "value_counts, keys": Operation(
        lambda p: p["label"].value_counts(keys=LABELS), to(lambda d: d["label"].value_counts())
    ),
    "groupby mean": Operation(
        lambda p: p.groupby("label", keys=LABELS)["x"].mean(**BOUNDS),
        to(lambda d: d.groupby("label")["x"].mean()),
    ),
    "crosstab": Operation(
        lambda p: dp.crosstab(p["label"], p["yes"], keys={"label": LABELS, "yes": [False, True]}),
        to(lambda d: pd.crosstab(d["label"], d["yes"])),
    ),
    "cov": Operation(lambda p: p[[*BOX]].cov(bounds=BOX), to(lambda d: d[[*BOX]].cov())),
    "corr": Operation(lambda p: p[[*BOX]].corr(bounds=BOX), to(lambda d: d[[*BOX]].corr())),
    "median": Operation(lambda p: p["x"].median(**BOUNDS), ranks([0.5]), True),
    "three quartiles": Operation(lambda p: p["x"].quantile(THREE, **BOUNDS), ranks(THREE), True),
    "nine deciles": Operation(lambda p: p["x"].quantile(NINE, **BOUNDS), ranks(NINE), True),
    "min": Operation(lambda p: p["x"].min(**BOUNDS), ranks([0.0]), True),
    "max": Operation(lambda p: p["x"].max(**BOUNDS), ranks([1.0]), True),
    "idxmax of counts": Operation(
        lambda p: p["label"].value_counts(keys=LABELS), below_the_largest
    ),
    "value_counts, δ": Operation(lambda p: p["label"].value_counts(), farthest),
}


def answered(name: str, private: Any, said: dict[str, Any]) -> Any:
    """One answer, of noise of its own."""
    if name == "value_counts, δ":
        return private["label"].value_counts(**said, delta=1e-6)
    asked = OPERATIONS[name].ask(private)
    return asked.idxmax(**said) if name == "idxmax of counts" else asked.release(**said)


def ours(name: str, df: pd.DataFrame, epsilon: float, measure: str, answers: int) -> Any:
    """Stated and real errors at 95 %; None where this isn't asked so."""
    operation, stated, off = OPERATIONS[name], list[float](), list[float]()
    said = {"epsilon": epsilon} if measure == "ε" else {"rho": epsilon**2 / 2}
    for _ in range(answers // (SLOW if operation.is_slow else 1)):
        dp.reset()
        if measure == "ε":
            dp.session(epsilon=1000, delta="0.001")
        else:
            dp.session(rho=1000, delta=1e-6)
        answer = answered(name, df.dp, said)
        errors = np.asarray(dp.record(answer).error(CONFIDENCE), dtype=float)
        stated.append(float(np.nanmax(errors, initial=0.0)))
        off.append(operation.off(answer, df))
    dp.reset()
    return float(np.median(stated)), float(np.quantile(off, CONFIDENCE, method="higher"))


#: What OpenDP has a scale of, and of how many numbers.
THEIRS = {"count": 1, "sum": 1, "value_counts, keys": len(LABELS), "crosstab": 2 * len(LABELS)}


def opendp(name: str, epsilon: float, answers: int) -> tuple[float, float] | None:
    """The accuracy that OpenDP states of its noise, and how large that was."""
    if name not in THEIRS:
        return None
    number, moved = THEIRS[name], 10.0 if name == "sum" else 1.0
    scale, alpha = moved / epsilon, (1 - CONFIDENCE) / number
    if name == "sum":
        space = odp.vector_domain(odp.atom_domain(T=float, nan=False)), odp.l1_distance(T=float)
        stated, zero = odp.laplacian_scale_to_accuracy(scale, alpha), 0.0
    else:
        space = odp.vector_domain(odp.atom_domain(T="i64")), odp.l1_distance(T="i64")
        stated, zero = odp.discrete_laplacian_scale_to_accuracy(scale, alpha), 0
    noise = odp.m.make_laplace(*space, scale)
    drawn = np.array(noise([zero] * number * answers)).reshape(answers, number)
    return stated, float(np.quantile(np.abs(drawn).max(axis=1), CONFIDENCE, method="higher"))


def measured(epsilon: float, answers: int, names: list[str]) -> list[dict[str, Any]]:
    found = []
    for name in names:
        for number in (1000, 10_000):
            df = rows(number)
            for measure in ("ε", "ρ"):
                if measure == "ρ" and name.startswith("value_counts, δ"):
                    continue
                stated, real = ours(name, df, epsilon, measure, answers)
                line = {"operation": name, "rows": number, "by": measure}
                line |= {"stated": stated, "real": real, "ratio": ratio(stated, real)}
                other = opendp(name, epsilon, answers) if measure == "ε" else None
                if other is not None:
                    line |= {"OpenDP's": other[0], "its real": other[1]}
                    line["its ratio"] = ratio(*other)
                found.append(line)
    return found


def ratio(stated: float, real: float) -> float:
    return stated / real if real else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--answers", type=int, default=400)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    odp.enable_features("contrib")
    found = measured(asked.epsilon, asked.answers, asked.names or list(OPERATIONS))
    table = pd.DataFrame(found).set_index(["operation", "rows", "by"])
    print(f"errors at 95 %, ε = {asked.epsilon:g} or ρ = ε²/2, {asked.answers} answers each\n")
    print(table.to_string(float_format=lambda value: f"{value:.4g}", na_rep=""))
    print("\nquantiles, min, max: ranks; a ratio is missing where the real error is 0")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
