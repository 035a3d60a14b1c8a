"""Released tables of counts, changed by post-processing to be non-negative and to agree.

Each table holds noisy sums over the cells of a joint domain: all combinations of the keys. The
non-negative cells that are nearest to all tables, by least squares weighted by inverse variances,
give tables that agree. Nothing but the released tables is used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..errors import QueryError, RecordError, hide_internals
from ..privacy.accuracy.combined import CombinedNoise
from ..privacy.mechanisms.noise import DiscreteLaplace
from ..release.answers import results
from ..release.answers.records import Record
from ..release.combining import same_rows
from ..rows.expressions import EVERY, Expression
from ..rows.facts.keys import Keys
from ..statistics import Contingency, Count

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

#: The most cells of the joint domain.
MOST_CELLS = 100_000
#: Cells are rounded to this public grid, on which sums below 2^30 are exact.
STEP = 2.0**-20
#: The most steps of the search, which ends earlier if it is proven to be near enough.
MOST_STEPS = 3000
#: How far an entry may be from its optimum, in standard deviations of its noise.
NEAR = 1e-2


@hide_internals
def make_consistent(*tables: Any) -> Any:
    """Make released tables of counts non-negative, and their margins agree.

    tables : results of value_counts, groupby(…).size and crosstab (without shares or margins) of
        the same rows of one version of a source that `dp.protect` named, in one ledger. A single
        table may be of any frame. A column must have the same keys in each table.

    Returns tables of floats in the same shapes; for a single table, one table. They are estimates:
    margins of the non-negative table over all combinations of keys that is nearest to the released
    ones, weighted by the inverse variances of their noise. No intervals are known for them; those
    of the released tables still hold. In a single table, negative counts become 0.

    The keys of a column must cover the rows that are counted. A row with another label is missing
    in the tables of that column but counted in others, which then can't agree.

    Raises `QueryError` for anything but released tables of counts, for keys that differ, for more
    than 100,000 combinations of keys, and for tables that may not be of the same rows, as in
    `dp.combine`: other versions, sources, ledgers, units or filters, asserted lineage, or a table
    that is given twice.

    *Guarantee*: post-processing of released answers, which costs nothing (Dwork and Roth, "The
    Algorithmic Foundations of Differential Privacy", 2014, Proposition 2.1; docs/proofs/tables.md).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"a": [1, 2, 2] * 50, "b": [1, 1, 2] * 50})
    >>> p = dp.protect(df, name="agreeing", domain={"a": [1, 2], "b": [1, 2]})
    >>> both = p.crosstab("a", "b", epsilon=1)
    >>> alone = p["a"].value_counts(epsilon=1)
    >>> both, alone = dp.make_consistent(both, alone)
    >>> bool((both.sum(axis=1) == alone.sort_index()).all()), bool((both >= 0).all(axis=None))
    (True, True)
    """
    if not tables:
        raise QueryError("dp.make_consistent takes released tables of counts, as in (a, b).")
    records = [_record_of(table) for table in tables]
    _check_rows(records)
    margins = _margins(records)
    cells = nearest(margins)
    made = [_like(t, r, m.of(cells)) for t, r, m in zip(tables, records, margins, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


# --- from tables to margins -----------------------------------------------------------------------


def _record_of(table: Any) -> Record:
    """The record of a released table of counts."""
    try:
        record = results.record_of_one(table)
    except RecordError as error:
        raise QueryError(f"dp.make_consistent takes released tables of counts: {error}") from None
    statistic = record._statistic
    is_count = type(statistic) in (Count, Contingency) and hasattr(record._law, "half_width")
    if not isinstance(statistic, Count) or not is_count or statistic.cells.keys is None:
        raise QueryError(
            f"'{record.query}' is not a table of counts by keys. Use a result of value_counts, "
            "groupby(…).size or crosstab."
        )
    has_extras = bool(statistic.share_of)
    if isinstance(statistic, Contingency):
        has_extras |= bool(statistic.share or statistic.margins)
    if has_extras or statistic.tests != (EVERY,) or statistic.cells.missing_cell:
        raise QueryError(
            f"'{record.query}' has shares, margins or missing labels, which consistent tables "
            "don't have. Release plain counts of rows by keys."
        )
    return record


def _check_rows(records: Sequence[Record]) -> None:
    """Refuse tables of different rows, which needn't agree. A single table agrees with itself."""
    parts = [part for record in records for part in record.components]
    for part in parts:
        same_rows.check_real(part)
    if len(records) > 1:
        same_rows.check_same_rows(parts)
        same_rows.check_once(parts)


def _names(record: Record) -> list[Any]:
    """The columns that a table counts by."""
    layout = record._statistic.layout
    sides = [side for side in (layout.index, layout.columns) if side is not None]
    return [name for side in sides for name in side.names]


@dataclass(frozen=True)
class Margin:
    """Sums of the cells of a joint domain, each with its noise."""

    codes: Codes  # the sum that each cell belongs to; len(sums) for none
    sums: Floats
    weight: float  # the inverse of the noise's variance

    @cached_property
    def is_all(self) -> bool:
        """Whether each cell is its own sum, in order."""
        return np.array_equal(self.codes, np.arange(len(self.sums)))

    def of(self, cells: Floats) -> Floats:
        """These sums of other cells."""
        if self.is_all:
            return cells
        sums = np.bincount(self.codes, weights=cells, minlength=len(self.sums) + 1)
        return sums[:-1].astype(np.float64, copy=False)

    def spread(self, sums: Floats) -> Floats:
        """For each cell, the sum that it belongs to."""
        return sums if self.is_all else np.append(sums, 0.0)[self.codes]


def _margins(records: Sequence[Record]) -> list[Margin]:
    levels: dict[Expression, tuple[Any, ...]] = {}
    named: dict[Any, Expression] = {}
    for record in records:
        cells = record._statistic.cells
        for position, (name, by) in enumerate(zip(_names(record), cells.by, strict=True)):
            labels = tuple(dict.fromkeys(_keys(record).column(position)))
            same = set(levels.setdefault(by, labels)) == set(labels)
            if named.setdefault(name, by) != by or not same:
                raise QueryError(
                    f"the tables have different keys for {name!r}, or different columns of that "
                    "name. Release them with the same keys=."
                )
    shape = [len(labels) for labels in levels.values()]
    if math.prod(shape) > MOST_CELLS:
        raise QueryError(
            f"these tables have {math.prod(shape):,} combinations of keys, and at most "
            f"{MOST_CELLS:,} can be made consistent. Give fewer tables at once."
        )
    return [_margin(record, levels) for record in records]


def _keys(record: Record) -> Keys:
    return cast(Keys, record._statistic.cells.keys)  # `_record_of` has refused tables without


def _margin(record: Record, levels: Mapping[Expression, tuple[Any, ...]]) -> Margin:
    cells, axes, keys = record._statistic.cells, list(levels), _keys(record)
    places = []
    for position, by in enumerate(cells.by):
        digit = {label: i for i, label in enumerate(levels[by])}
        places.append(np.array([digit[label] for label in keys.column(position)], dtype=np.intp))
    order = np.argsort([axes.index(by) for by in cells.by])
    own = np.full([len(levels[cells.by[i]]) for i in order], len(keys), dtype=np.intp)
    own[tuple(places[i] for i in order)] = np.arange(len(keys))
    wide = own.reshape([len(levels[by]) if by in cells.by else 1 for by in axes])
    codes = np.broadcast_to(wide, [len(labels) for labels in levels.values()]).reshape(-1)
    sums = np.array(record._estimated, dtype=np.float64)
    return Margin(codes, sums, 1 / _variance(record._law))


def _variance(law: Any) -> float:
    """The variance of a noise: 2a/(1-a)² = 1/(2 sinh²(1/(2·scale))), a = exp(-1/scale); or σ²."""
    if isinstance(law, CombinedNoise):
        return law.variance
    if isinstance(law, DiscreteLaplace):
        return float(0.5 / math.sinh(min(300.0, 0.5 / float(law.scale))) ** 2)
    return float(law.scale) ** 2


def _like(table: Any, record: Record, values: Floats) -> Any:
    """Values under the labels of a table, in its order."""
    layout = record._statistic.layout
    rows = [] if layout.index is None else layout.index.tolist()
    if layout.columns is None:
        by_label = dict(zip(rows, values.tolist(), strict=True))
        found = [by_label[label] for label in table.index.tolist()]
        return pd.Series(found, index=table.index, name=table.name, dtype="float64")
    pairs = itertools.product(rows, layout.columns.tolist())
    by_pair = dict(zip(pairs, values.tolist(), strict=True))
    columns = table.columns.tolist()
    cells = [[by_pair[row, column] for column in columns] for row in table.index.tolist()]
    return pd.DataFrame(cells, index=table.index, columns=table.columns, dtype="float64")


# --- the nearest table ----------------------------------------------------------------------------


def nearest(margins: Sequence[Margin]) -> Floats:
    """The non-negative cells x with the least f(x) = ½ Σ weight · |sums of x - sums|².

    Accelerated projected gradients, restarted where they overshoot (Beck and Teboulle, SIAM J.
    Imaging Sciences 2009; O'Donoghue and Candès, Found. Comput. Math. 2015). The gradient's
    Lipschitz constant is at most Σ weight · the most cells of a sum.
    """
    step = 1 / sum(m.weight * float(np.bincount(m.codes)[: len(m.sums)].max()) for m in margins)
    x = _start(margins)
    ahead, inertia = x, 1.0
    for count in range(MOST_STEPS):
        slope = _slope(margins, ahead)
        new = np.maximum(ahead - step * slope, 0.0)
        if (ahead - new) @ (new - x) > 0:
            inertia = 1.0
        faster = (1 + math.sqrt(1 + 4 * inertia**2)) / 2
        moved = new - x
        ahead = new + (inertia - 1) / faster * moved
        x, inertia = new, faster
        if count % 10 == 0 and (np.abs(moved).max() < STEP / 8 or _gap(margins, x) <= NEAR**2 / 2):
            break
    return np.asarray(np.rint(x / STEP) * STEP)


def _start(margins: Sequence[Margin]) -> Floats:
    """The finest table, spread evenly."""
    finest = max(margins, key=lambda m: len(m.sums))
    sizes = np.bincount(finest.codes, minlength=len(finest.sums))[: len(finest.sums)]
    return finest.spread(np.maximum(finest.sums, 0.0) / sizes)


def _slope(margins: Sequence[Margin], x: Floats) -> Floats:
    total: Floats = np.zeros_like(x)
    for m in margins:
        total += m.spread(m.weight * (m.of(x) - m.sums))
    return total


def _gap(margins: Sequence[Margin], x: Floats) -> float:
    """At least f(x) minus the least f, so that ½ Σ weight · |sums of x - best sums|² is no more.

    With residuals r = weight · (sums of x - sums) and slope g, r + c is feasible for the dual if
    c_e ≥ -g at each cell of sum e of the table that it is added to; the duality gap is then
    g·x + Σ c_e (sums of x)_e + c_e²/(2·weight).
    """
    slope = _slope(margins, x)
    gap = float(slope @ x)
    short = np.maximum(-slope, 0.0)
    for m in sorted(margins, key=lambda m: -len(m.sums)):
        inside = m.codes < len(m.sums)
        add = np.zeros(len(m.sums))
        if m.is_all:
            add = short.copy()
        else:
            np.maximum.at(add, m.codes[inside], short[inside])
        gap += float(add @ m.of(x) + add @ add / (2 * m.weight))
        short[inside] = 0.0
    return gap
