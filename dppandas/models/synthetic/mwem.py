"""MWEM: multiplicative weights, and selections of the marginal that fits worst."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pandas as pd

from ...errors import QueryError
from ...frames.frame import PrivateFrame
from . import distribution
from .domains import Codes, Domain, Floats, Marginal, Marginals, closure
from .program_budget import ProgramBudget
from .worst_fit import clipped_expectations, worst_fit

#: The most cells of a table of the whole domain.
MOST_CELLS = 10**6
#: The share of the loss for single columns, and the share of a round for its selection.
STARTING, SELECTING = Fraction(2, 5), Fraction(1, 5)


def check(domain: Domain) -> None:
    """Refuse a domain that is too large."""
    if domain.cells() > MOST_CELLS:
        raise QueryError(
            f"these columns have {domain.cells():,} cells together, and MWEM keeps a table of at "
            f"most {MOST_CELLS:,}. Select fewer columns, declare coarser labels, or use "
            'method="aim".'
        )


def candidates(domain: Domain, marginals: Marginals) -> list[Marginal]:
    """The marginals that a round may measure: those of at least two columns."""
    return [m for m in closure(domain, marginals) if len(m) > 1]


def mwem(
    budget: ProgramBudget, domain: Domain, marginals: Marginals, rounds: int, rows: int
) -> list[Codes]:
    """Synthetic rows: noisy counts of each column, and then rounds that select the marginal that
    fits worst, measure it, and fit a table of the whole domain to all measurements.

    *Source*: Hardt, Ligett and McSherry, "A Simple and Practical Algorithm for Differentially
    Private Data Release", NeurIPS 2012. Here a round measures a whole marginal, whose
    cells are disjoint, for the price of one count; a measured marginal isn't a candidate again; and
    the start is independent columns rather than the uniform table.
    """
    if rounds:
        budget.check(budget.whole * (1 - STARTING) / rounds * SELECTING)
    table, measured, total = _start(budget, domain, marginals, rounds)
    left = candidates(domain, marginals)
    positions = {m: domain.positions(m) for m in left}
    each = budget.left / max(1, rounds)
    for i in range(1, rounds + 1):
        expected = [distribution.summed(table, positions[m], domain.cells(m)) for m in left]
        noise = budget.noise(each * (1 - SELECTING))
        asked = worst_of(budget.frame, domain, left, expected, noise, [1] * len(left))
        place = budget.spend(f"round {i}: what fits worst", each * SELECTING, asked.release)
        chosen = left.pop(place)
        price = budget.left if i == rounds else each * (1 - SELECTING)
        counts = counted(budget, domain, chosen, f"round {i}", price)
        wanted = distribution.shrunk(counts, expected[place], budget.deviation(price))
        measured.append(distribution.Measured(positions[chosen], wanted))
        table = distribution.fitted(table, measured, total)
    return distribution.rounded(domain, table, rows)


def _start(
    budget: ProgramBudget, domain: Domain, marginals: Marginals, rounds: int
) -> tuple[Floats, list[distribution.Measured], float]:
    """A table of independent columns, its measurements, and about how many rows there are."""
    columns = [m for m in closure(domain, marginals) if len(m) == 1]
    price = budget.whole * (STARTING if rounds else 1) / len(columns)
    measured, sums = [], []
    for column in columns:
        counts = counted(budget, domain, column, "start", price)
        measured.append(distribution.Measured(domain.positions(column), counts))
        sums.append((math.fsum(counts.tolist()), 1 / len(counts)))
    total = max(1.0, sum(s * w for s, w in sums) / sum(w for _, w in sums))
    table = distribution.fitted(distribution.uniform(domain, total), measured, total)
    return table, measured, total


def worst_of(
    frame: PrivateFrame,
    domain: Domain,
    marginals: Marginals,
    expected: Sequence[Floats],
    noise: float,
    weights: Sequence[int],
) -> Any:
    """The selection of the marginal that fits worst, less the noise that measuring it would add."""
    pairs = zip(marginals, map(clipped_expectations, expected), strict=True)
    tables = [pd.Series(counts, index=domain.index(marginal)) for marginal, counts in pairs]
    added = [noise * w * domain.cells(m) for w, m in zip(weights, marginals, strict=True)]
    offsets = clipped_expectations(added).tolist()
    return worst_fit(frame, tables, weights=weights, offsets=offsets)


def counted(
    budget: ProgramBudget, domain: Domain, marginal: Marginal, step: str, price: Fraction
) -> Floats:
    """The noisy counts of a marginal's cells, in a step of the program."""
    keys: Any = {domain.names[i]: list(domain.keys[i].labels) for i in marginal}
    if len(marginal) == 1:
        ((name, labels),) = keys.items()
        asked = budget.frame[name].value_counts(sort=False, keys=labels)
    else:
        asked = budget.frame.value_counts(list(keys), sort=False, keys=keys)
    counts = budget.spend(f"{step}: {domain.named(marginal)}", price, asked.release)
    return cast(Floats, counts.to_numpy(dtype=np.float64))
