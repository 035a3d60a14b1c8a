"""Multiplicative weights and selections of what fits worst: MWEM."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ..accounting import NOTHING
from ..errors import QueryError
from ..frame import PrivateFrame
from . import tables
from .domains import Codes, Domain, Floats, Marginal
from .misfits import worst_fit
from .purse import Purse

#: A table of the whole domain has no more cells.
MOST_CELLS = 10**6
#: What the number of rows gets of the whole, and a selection of its round.
COUNTING, SELECTING = Fraction(1, 20), Fraction(1, 5)


def check(domain: Domain) -> None:
    """Refuse what is too large."""
    if domain.cells() > MOST_CELLS:
        raise QueryError(
            f"these columns have {domain.cells():,} cells together, and MWEM keeps a table of them "
            f"all: at most {MOST_CELLS:,}. Select fewer columns, declare coarser labels, or ask "
            f'method="aim". {NOTHING}'
        )


def rounds_of(domain: Domain, marginals: Sequence[Marginal]) -> int:
    """How many marginals are measured where nobody says: by public facts alone."""
    return min(len(marginals), max(1, len(domain.names)))


def mwem(
    frame: PrivateFrame,
    domain: Domain,
    marginals: Sequence[Marginal],
    rounds: int,
    purse: Purse,
    rows: int,
) -> list[Codes]:
    """Synthetic rows: a noisy count, and then rounds that select the marginal that fits worst,
    measure it, and fit a table of the whole domain to all that was measured.

    *Source*: Hardt, Ligett and McSherry, "A Simple and Practical Algorithm for Differentially
    Private Data Release", NeurIPS 2012. Here a round measures a marginal, whose cells are disjoint,
    for the price of one of its counts; and what is measured is no candidate again.
    """
    each = purse.whole * (1 - COUNTING) / rounds
    count = purse.buy("count", purse.whole * COUNTING, frame.size)
    total = float(max(1, count))
    table = tables.uniform(domain, total)
    positions = dict(zip(marginals, tables.one_by_one(domain, marginals), strict=True))
    left, measured = list(marginals), list[tables.Measured]()
    for i in range(1, rounds + 1):
        expected = [
            pd.Series(tables.summed(table, positions[m], domain.cells(m)), index=domain.index(m))
            for m in left
        ]
        noise = purse.noise(each * (1 - SELECTING))
        asked = worst_fit(frame, expected, offsets=[noise * domain.cells(m) for m in left])
        chosen = left.pop(purse.buy(f"round {i}: what fits worst", each * SELECTING, asked.release))
        price = purse.left if i == rounds else each * (1 - SELECTING)
        counts = counted(frame, domain, chosen, f"round {i}: {domain.named(chosen)}", price, purse)
        measured.append(tables.Measured(positions[chosen], counts))
        table = tables.fitted(table, measured, total)
    return tables.rounded(domain, table, rows)


def counted(
    frame: PrivateFrame,
    domain: Domain,
    marginal: Marginal,
    name: str,
    price: Fraction,
    purse: Purse,
) -> Floats:
    """The noisy counts of a marginal's cells."""
    names = [domain.names[i] for i in marginal]
    keys: Any = {name: list(domain.keys[i].labels) for name, i in zip(names, marginal, strict=True)}
    if len(names) == 1:
        asked = frame[names[0]].value_counts(sort=False, keys=keys[names[0]])
    else:
        asked = frame.value_counts(names, sort=False, keys=keys)
    counts: Floats = purse.buy(name, price, asked.release).to_numpy(dtype=np.float64)
    return counts
