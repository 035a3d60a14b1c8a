"""A small database that fits well, selected among all of its size."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
import pandas as pd

from ...errors import QueryError, hide_internals
from ...frames.frame import PrivateFrame
from ...privacy.accounting.losses import ReleaseOptions, with_options_named
from ...release import results
from ...release.records import Record
from ...release.unreleased import UnreleasedMode
from ...statistics import Layout
from .domains import Codes, Domain, Marginal
from .fit_scores import SmallDatabases, candidates, databases
from .program_budget import ProgramBudget

#: Of so many one is selected.
MOST_DATABASES = 50_000
#: What the number of rows gets of the whole.
COUNTING = Fraction(1, 5)
#: A noisy count beyond is taken as this: exact products of counts stay whole numbers of 64 bits.
MOST_ROWS = 2**40


class UnreleasedDatabase(UnreleasedMode):
    """A database that is not selected yet."""

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Any:
        """The number of the database selected, with ``.error()``.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/misfit.md).
        """
        return super().release(epsilon=epsilon, **more)

    def _shaped(self, record: Record) -> Any:
        return results.label(record, record.estimate()[0])


def check(domain: Domain, rows: int) -> None:
    """Refuse what is too many."""
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
        f"the small-database mechanism selects among all databases of {rows} rows over {cells:,} "
        f"cells, and takes at most {MOST_DATABASES:,} of them: {way}. Select fewer columns, or ask "
        'method="mwem".'
    )


def small(
    frame: PrivateFrame,
    domain: Domain,
    marginals: Sequence[Marginal],
    budget: ProgramBudget,
    rows: int,
) -> list[Codes]:
    """The rows of a small database: a noisy count, and the exponential mechanism (or for ε
    permute-and-flip, which is nowhere worse) by the worst error of any count of the marginals.

    *Source*: Blum, Ligett and Roth, "A Learning Theory Approach to Non-Interactive Database
    Privacy", STOC 2008.
    """
    count = budget.spend("count", budget.whole * COUNTING, frame.size)
    total = max(0, min(MOST_ROWS, int(count)))
    asked = database(frame, domain, marginals, rows, total)
    chosen = budget.spend("database", budget.left, asked.release)
    cell = np.repeat(np.arange(domain.cells()), candidates(domain.cells(), rows)[int(chosen)])
    return [each.astype(np.int64) for each in np.unravel_index(cell, domain.shape)]


def database(
    frame: PrivateFrame, domain: Domain, marginals: Sequence[Marginal], rows: int, total: int
) -> UnreleasedDatabase:
    """The number of a database, to be selected by the worst error of any count of some marginals;
    ``total``: how many private rows there are about, a public number."""
    queries = tuple(tuple(domain.positions(m).tolist()) for m in marginals)
    index = pd.RangeIndex(databases(domain.cells(), rows))
    keys = {n: list(k.labels) for n, k in zip(domain.names, domain.keys, strict=True)}
    cells = frame._cells(list(domain.names), keys)
    statistic = SmallDatabases(cells, Layout(integer=True, index=index), rows, total, queries)
    what = f"choice of {len(index):,} databases of {rows} rows over {domain.cells():,} cells"
    return UnreleasedDatabase(frame._table, frame._where, statistic, what)
