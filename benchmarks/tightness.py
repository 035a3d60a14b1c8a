"""How much larger stated errors are than real ones, beside OpenDP's where it states any.

    python benchmarks/tightness.py [--epsilon 1] [--answers 400] [--json FILE] [NAME …]

Each line of `tightness_operations.py` is asked many times of made-up rows, at ε, and at
ρ = ε²/2 where ρ is counted; what takes longer fewer times. *Slack* is by how much all stated 95 %
errors of an answer could be divided, so that in 95 % of the answers still no number was farther
from the truth; *held* is in which share of them none was farther than stated. A slack below 1 by
more than chance would be an error that doesn't hold, and is marked. *Over* is the stated error
divided by 1.96 root mean squared errors, of several numbers the median: near 1 for one number, and
larger for several, whose errors hold simultaneously. *Stated* and *real* are, where all numbers
have one unit, the median of the largest error told, and the 95 % quantile of the farthest number.
Quantiles, min and max are off by ranks, a selection by how far it lies below the best. At the end
stands what misses its target (`tightness_figures.py`).

OpenDP states the accuracy of a scale; of several numbers each gets its part of the 5 %. Of means,
variances and quantiles it states none, and diffprivlib states none at all. Slack and over are
missing where the real error is 0, or ρ isn't counted; stated and real are those of 10,000 rows at
ε.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as odp
import pandas as pd
from tightness_figures import CONFIDENCE, NEAR, at_most, beyond, missed, over, slack_at_least, upper
from tightness_operations import LINES
from tightness_truth import LABELS, Floats, Line, plain, rows

import dppandas as dp

#: Fewer answers that hold than with this probability are no chance.
ALARM = 1e-6


def told(answer: Any, part: str = "") -> tuple[Any, Any, str]:
    """What was answered, what is stated of its errors, and in which unit."""
    if type(answer).__module__.startswith("dppandas.local"):
        return answer, answer.error(CONFIDENCE), "respondents"
    record = dp.record(answer).components[part] if part else dp.record(answer)
    return record.estimate(), record.errors(CONFIDENCE), record.error_unit


def seen(operation: Line, df: pd.DataFrame, by: dict[str, Any]) -> tuple[Floats, Floats, str]:
    """Of one answer, of noise of its own: stated errors, how far numbers are off, and the unit."""
    dp.reset()
    if "rho" in by:
        dp.session(rho=1000, delta=1e-6)
    else:
        dp.session(epsilon=1000, delta="0.001")
    answer, errors, unit = told(operation.ask(operation.of(df), by), operation.part)
    stated, off = plain(errors), operation.off(answer, df)
    if operation.each and len(off):  # of labels told one at random
        place = np.random.default_rng().integers(len(off), size=1)
        stated, off = stated[place], off[place]
    return stated, off, unit


def ours(name: str, df: pd.DataFrame, by: dict[str, Any], answers: int) -> dict[str, Any]:
    """What many answers say of the errors of an operation."""
    operation = LINES[name]
    found = [seen(operation, df, by) for _ in range(max(2, answers // operation.slow))]
    dp.reset()
    times = [beyond(stated, off) for stated, off, _ in found]
    most, holds = upper(times), sum(each <= 1 + NEAR for each in times)
    line: dict[str, Any] = {"unit": found[0][2]}
    if "," not in found[0][2]:
        ends = [stated[np.isfinite(stated)].max(initial=0.0) for stated, _, _ in found]
        line["stated"] = float(np.median(ends))
        line["real"] = upper([np.nanmax(off, initial=0.0) for _, off, _ in found])
    line |= {"numbers": len(found[0][0]), "over": None, "over at least": None}
    if not operation.each:
        line["over"], line["over at least"] = over(found)
    line |= {"slack": 1 / most if most else None, "slack at least": slack_at_least(times)}
    line |= {"held": holds / len(times)}
    return line | {"alarm": at_most(len(times), CONFIDENCE, holds) < ALARM}


#: What OpenDP has a scale of: of how many numbers, how many of these a row moves, and by how much.
THEIRS = {
    "count": (1, 1, 1),
    "size": (1, 1, 1),
    "count of columns": (2, 2, 1),
    "sum of True": (2, 2, 1),
    "value_counts, keys": (len(LABELS), 1, 1),
    "hist": (5, 1, 1),
    "groupby size": (len(LABELS), 1, 1),
    "groupby count": (2 * len(LABELS), 2, 1),
    "groupby value_counts": (2 * len(LABELS), 1, 1),
    "groupby hist": (5 * len(LABELS), 1, 1),
    "crosstab": (2 * len(LABELS), 1, 1),
    "sum": (1, 1, 10.0),
    "three sums": (3, 3, 10.0),
    "groupby sum": (len(LABELS), 1, 10.0),
}


def opendp(name: str, by: dict[str, Any], answers: int) -> dict[str, Any]:
    """The accuracy that OpenDP states of its noise, and how large that was."""
    if name not in THEIRS:
        return {}
    number, moved, most = THEIRS[name]
    whole, alpha = isinstance(most, int), (1 - CONFIDENCE) / number
    kind: dict[str, Any] = {"T": "i64"} if whole else {"T": float, "nan": False}
    domain, prefix = odp.vector_domain(odp.atom_domain(**kind)), "discrete_" if whole else ""
    if "rho" in by:
        scale = most * math.sqrt(moved / (2 * by["rho"]))
        noise = odp.m.make_gaussian(domain, odp.l2_distance(T=kind["T"]), scale)
        accuracy = getattr(odp, f"{prefix}gaussian_scale_to_accuracy")
    else:
        scale = most * moved / by["epsilon"]
        noise = odp.m.make_laplace(domain, odp.l1_distance(T=kind["T"]), scale)
        accuracy = getattr(odp, f"{prefix}laplacian_scale_to_accuracy")
    drawn = np.array(noise([type(most)(0)] * number * answers)).reshape(answers, number)
    stated, real = accuracy(scale, alpha), upper(np.abs(drawn).max(axis=1).tolist())
    slack = stated / real if real else None
    return {"OpenDP's": stated, "its real": real, "its slack": slack}


def measured(epsilon: float, answers: int, names: list[str]) -> list[dict[str, Any]]:
    found = []
    losses = {"ε": {"epsilon": epsilon}, "ρ": {"rho": epsilon**2 / 2}}
    for name in names:
        for number in (1000, 10_000):
            df = rows(number)
            for measure, by in losses.items():
                if measure == "ρ" and LINES[name].is_pure:
                    continue
                line: dict[str, Any] = {"operation": name, "rows": number, "by": measure}
                line |= ours(name, df, by, answers) | opendp(name, by, answers)
                found.append(line)
    return found


def summary(found: list[dict[str, Any]]) -> pd.DataFrame:
    """Stated and real errors of 10,000 rows at ε, and over and slack of all."""
    lines = pd.DataFrame(found)
    most = lines[(lines["rows"] == lines["rows"].max()) & (lines["by"] == "ε")]
    known = most.set_index("operation").reindex(columns=["unit", "stated", "real", "OpenDP's"])
    for what in ("over", "slack"):
        each = lines.pivot(index="operation", columns=["by", "rows"], values=what).astype(float)
        each = each.reindex(known.index)[sorted(each.columns)]
        each.columns = [f"{what} {by}, {number:,}" for by, number in each.columns]
        known = known.join(each)
    return known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--answers", type=int, default=400)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    odp.enable_features("contrib")
    found = measured(asked.epsilon, asked.answers, asked.names or list(LINES))
    print(f"errors at 95 %, ε = {asked.epsilon:g} or ρ = ε²/2, {asked.answers} answers each\n")
    print(summary(found).to_string(float_format=lambda value: f"{value:.3g}", na_rep=""))
    for line in found:
        if line["alarm"]:
            print(f"DOESN'T HOLD: {line}")
    if late := missed(found):
        print("\nmiss their target by more than chance:", *late, sep="\n")
    if asked.json:
        if asked.names:  # the others keep their figures
            known = json.loads(asked.json.read_text("utf-8"))
            found = [line for line in known if line["operation"] not in asked.names] + found
        asked.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
