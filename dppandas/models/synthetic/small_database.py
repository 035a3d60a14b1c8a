"""A small database that fits well, selected among all databases of its size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd

from ...errors import QueryError
from ...frames.frame import PrivateFrame
from ...release.wording import Later, digest_of, told
from ...statistics import Layout
from ..select import UnreleasedChoice
from .domains import Codes, Domain, Marginals
from .fit_scores import SmallDatabases, candidates, databases
from .program_budget import ProgramBudget

#: The most databases to select from.
MOST_DATABASES = 50_000
#: The share of the loss that pays for the number of rows.
COUNTING = Fraction(1, 5)
#: Larger noisy counts are clipped to this, so that products of counts fit into 64 bits.
MOST_ROWS = 2**40


def check(domain: Domain, rows: int) -> None:
    """Refuse rows and cells that make too many databases."""
    cells = domain.cells()
    too_many = rows > MOST_DATABASES or cells > MOST_DATABASES
    if not too_many and databases(cells, rows) <= MOST_DATABASES:
        return
    most = 0
    while cells <= MOST_DATABASES and databases(cells, most + 1) <= MOST_DATABASES:
        most += 1
        if most > rows:
            break
    way = f"at most rows={most} are possible" if most else "there are too many for any rows="
    raise QueryError(
        f"there are more than {MOST_DATABASES:,} databases of {rows} rows over {cells:,} cells, "
        f'too many to select from: {way}. Select fewer columns, or use method="mwem".'
    )


def small(budget: ProgramBudget, domain: Domain, marginals: Marginals, rows: int) -> list[Codes]:
    """The rows of a small database: a noisy count, and the exponential mechanism (permute-and-flip
    for ε, which is nowhere worse) by the worst error of any count in the marginals.

    *Source*: Blum, Ligett and Roth, "A Learning Theory Approach to Non-Interactive Database
    Privacy", STOC 2008.
    """
    count = budget.spend("count", budget.whole * COUNTING, budget.frame.size)
    total = max(0, min(MOST_ROWS, int(count)))
    asked = database(budget.frame, domain, marginals, rows, total)
    chosen = budget.spend("database", budget.left, asked.release)
    cell = np.repeat(np.arange(domain.cells()), candidates(domain.cells(), rows)[int(chosen)])
    return [each.astype(np.int64) for each in np.unravel_index(cell, domain.shape)]


def database(
    frame: PrivateFrame, domain: Domain, marginals: Marginals, rows: int, total: int
) -> UnreleasedChoice:
    """The selection of a database by the worst error of any count in the marginals. ``total`` is
    about how many private rows there are, a public number."""
    queries = tuple(tuple(domain.positions(m).tolist()) for m in marginals)
    index = pd.RangeIndex(databases(domain.cells(), rows))
    keys = {n: list(k.labels) for n, k in zip(domain.names, domain.keys, strict=True)}
    cells = frame._cells(list(domain.names), keys)
    statistic = SmallDatabases(cells, Layout(integer=True, index=index), rows, total, queries)
    said = f"choice of {len(index):,} databases of {rows} rows over {domain.cells():,} cells"
    what = told(said, ("size and marginals", Later(digest_of, total, queries)))
    return UnreleasedChoice(UnreleasedChoice._of(frame._table, frame._where, statistic, what))
