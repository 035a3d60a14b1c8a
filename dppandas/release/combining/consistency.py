"""Released tables of counts, made non-negative and to agree with each other: post-processing.

Each table holds noisy sums over the cells of a joint domain, all combinations of the keys. The
non-negative cells nearest to all of them, in least squares weighted by inverse variances, give
tables that agree; nothing but what was released is looked at.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...errors import QueryError, RecordError, hide_internals
from ...privacy.accuracy.combined import CombinedNoise
from ...privacy.mechanisms.noise import DiscreteLaplace
from ...rows.expressions import EVERY, Expression
from ...statistics import Contingency, Count
from ..answers import results
from ..answers.records import Record
from . import same_rows

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

#: Cells of the joint domain.
MOST_CELLS = 100_000
#: Cells are rounded to this public grid, on which sums of fewer than 2^30 are exact.
STEP = 2.0**-20
#: Steps of the search, which ends earlier where it is proven to be near enough.
MOST_STEPS = 3000
#: How far an entry may be from its place at the optimum, in standard deviations of its noise.
NEAR = 1e-2


@hide_internals
def make_consistent(*tables: Any) -> Any:
    """Released tables of counts, made non-negative, and with margins that agree.

    tables : results of value_counts, groupby(…).size and crosstab (without shares, without margins)
        of the same rows of one version of a source that `dp.protect` named, in one ledger; one
        alone may be of any frame. A column has the same keys in each table that has it.

    Returns tables of the same shapes, floats; one alone if one was given. They are estimates: the
    non-negative table over all combinations of keys that is nearest to what was released, weighted
    by the inverse variances of the noises; of it each table is a margin. No intervals are known for
    them: those of the released tables still hold. One table alone has its negative counts set to 0.

    It assumes that the keys of a column cover the rows that are counted: a row with another label
    is missing in the tables of that column, and present in others, which then can't agree.

    Raises `QueryError` for what is no released table of counts, keys that differ, more than 100,000
    combinations of keys, and for tables that `dp.combine` would not take for ones of the same rows:
    of other versions, sources, ledgers, units or filters, of asserted lineage, or given twice.

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
        raise QueryError("dp.make_consistent takes released tables of counts.")
    records = [_record_of(table) for table in tables]
    _check_rows(records)
    margins = _margins(records)
    cells = nearest(margins)
    made = [_like(t, r, m.of(cells)) for t, r, m in zip(tables, records, margins, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


# --- from tables to margins -----------------------------------------------------------------------


def _record_of(table: Any) -> Record:
    """The release record of a table of counts."""
    try:
        record = results.record_of_one(table)
    except RecordError as error:
        raise QueryError(f"dp.make_consistent takes released tables of counts: {error}") from None
    statistic = record._statistic
    is_count = type(statistic) in (Count, Contingency) and hasattr(record._law, "half_width")
    if not isinstance(statistic, Count) or not is_count or statistic.cells.keys is None:
        raise QueryError(
            f"'{record.query}' is no table of counts by keys, as value_counts, groupby(…).size and "
            "crosstab give them."
        )
    plain = (
        not statistic.share_of and statistic.tests == (EVERY,) and not statistic.cells.missing_cell
    )
    if isinstance(statistic, Contingency) and (statistic.share or statistic.margins):
        plain = False
    if not plain:
        raise QueryError(
            f"'{record.query}': release counts of rows by keys, without shares, margins or missing "
            "labels; consistent tables have their own."
        )
    return record


def _check_rows(records: Sequence[Record]) -> None:
    """Refuse tables that needn't agree: one alone agrees with itself, whosever rows it counts."""
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

    codes: Codes  # the sum that each cell is part of; len(sums) for none
    sums: Floats
    weight: float  # the inverse of the noise's variance

    @cached_property
    def is_all(self) -> bool:
        """Whether each cell is a sum of its own, in order."""
        return np.array_equal(self.codes, np.arange(len(self.sums)))

    def of(self, cells: Floats) -> Floats:
        """These sums of other cells."""
        if self.is_all:
            return cells
        sums = np.bincount(self.codes, weights=cells, minlength=len(self.sums) + 1)
        return sums[:-1].astype(np.float64, copy=False)

    def spread(self, sums: Floats) -> Floats:
        """For each cell, the sum that it is part of."""
        return sums if self.is_all else np.append(sums, 0.0)[self.codes]


def _margins(records: Sequence[Record]) -> list[Margin]:
    levels: dict[Expression, tuple[Any, ...]] = {}
    named: dict[Any, Expression] = {}
    for record in records:
        cells = record._statistic.cells
        for position, (name, by) in enumerate(zip(_names(record), cells.by, strict=True)):
            labels = () if cells.keys is None else cells.keys.column(position)
            labels = tuple(dict.fromkeys(labels))
            if named.setdefault(name, by) != by or set(levels.setdefault(by, labels)) != set(
                labels
            ):
                raise QueryError(
                    f"the tables have other keys for {name!r}, or other columns of that name: "
                    "release them with the same keys=."
                )
    shape = [len(labels) for labels in levels.values()]
    if math.prod(shape) > MOST_CELLS:
        raise QueryError(
            f"these tables have {math.prod(shape):,} combinations of keys; at most {MOST_CELLS:,} "
            "can be made consistent. Give fewer tables at once."
        )
    return [_margin(record, levels) for record in records]


def _margin(record: Record, levels: Mapping[Expression, tuple[Any, ...]]) -> Margin:
    cells, axes = record._statistic.cells, list(levels)
    keys = cells.keys
    if keys is None:
        raise QueryError("a table of counts needs keys.")
    places = []
    for position, by in enumerate(cells.by):
        digit = {label: i for i, label in enumerate(levels[by])}
        places.append(np.array([digit[label] for label in keys.column(position)], dtype=np.intp))
    order = np.argsort([axes.index(by) for by in cells.by])
    own = np.full([len(levels[cells.by[i]]) for i in order], len(keys), dtype=np.intp)
    own[tuple(places[i] for i in order)] = np.arange(len(keys))
    wide = own.reshape([len(levels[by]) if by in cells.by else 1 for by in axes])
    codes = np.broadcast_to(wide, [len(labels) for labels in levels.values()]).reshape(-1)
    sums = np.array(record._statistic.estimate(record._noisy), dtype=np.float64)
    return Margin(codes, sums, 1 / _variance(record._law))


def _variance(law: Any) -> float:
    """Of one noise: 2a/(1-a)² = 1/(2 sinh²(1/(2·scale))), a = exp(-1/scale); or σ²."""
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
