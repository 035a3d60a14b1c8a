"""Released tables of counts, changed by post-processing to be non-negative and to agree.

Each table holds noisy sums over the cells of a joint domain: all combinations of the keys. The
non-negative cells that are nearest to all tables, by least squares weighted by inverse variances,
give tables that agree; of whole cells if they are asked for, and then with intervals. Nothing but
the released tables is used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..dataclasses import dataclass, replace
from ..errors import QueryError, RecordError, hide_internals, quoted
from ..privacy.accuracy.combined import CombinedNoise
from ..privacy.mechanisms.noise import DiscreteLaplace
from ..release.accuracy.units import unit_of_each
from ..release.answers import results
from ..release.answers.records import Record
from ..release.combining import same_rows
from ..rows.expressions import EVERY, Expression
from ..rows.facts.keys import Keys
from ..statistics import Contingency, Count
from . import whole_numbers
from .answers import Findings, table_of
from .quantities import Figure, Quantity

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

#: Counts aren't negative.
COUNTS = (0.0, math.inf)
#: The most cells of the joint domain.
MOST_CELLS = 100_000
#: Cells are rounded to this public grid, on which sums below 2^30 are exact.
STEP = 2.0**-20
#: The most steps of the search, which ends earlier if it is proven to be near enough.
MOST_STEPS = 3000
#: How far an entry may be from its optimum, in standard deviations of its noise.
NEAR = 1e-2


@hide_internals
def make_consistent(*tables: Any, integers: bool = False) -> Any:
    """Make released tables of counts non-negative, and their margins agree.

    tables : results of value_counts, groupby(…).size and crosstab (without shares or margins) of
        the same rows of one version of a source that `dp.protect` named, in one ledger. A single
        table may be of any frame. A column must have the same keys in each table.
    integers : True for whole numbers with intervals, to be published.

    Returns tables of floats in the same shapes; for a single table, one table. They are estimates:
    margins of the non-negative table over all combinations of keys that is nearest to the released
    ones, weighted by the inverse variances of their noise. No intervals are known for them; those
    of the released tables still hold. In a single table, negative counts become 0.

    With ``integers=True`` the tables are margins of whole cells. Rounding doesn't add up in them:
    the search for these cells keeps all numbers of all tables, and the total, near those without
    it, mostly within 1. ``.error()``, ``.interval()`` and `dppandas.intervals` are about the exact
    counts, and hold simultaneously for all numbers of all tables. They follow from the intervals of
    the released tables: an exact count lies in that of each table which has it, is no less than the
    parts that other tables have of it, and no more than what it is a part of. They include the
    number that is shown. Tables that agree already, of which one has all columns, stay as they are.

    The keys of a column must cover the rows that are counted. A row with another label is missing
    in the tables of that column but counted in others, which then can't agree. Intervals hold all
    the same.

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
    >>> counts = p["b"].value_counts(epsilon=1)
    >>> published = dp.make_consistent(counts, integers=True)
    >>> published.dtype, published.interval().columns.tolist()
    (dtype('int64'), ['lower', 'upper'])
    """
    if not tables:
        raise QueryError("dp.make_consistent takes released tables of counts, as in (a, b).")
    if not isinstance(integers, bool):
        raise QueryError(f"integers={quoted(integers)} must be True or False.")
    records = [_record_of(table) for table in tables]
    _check_rows(records)
    levels = _levels(records)
    margins = [_margin(record, levels) for record in records]
    cells = nearest(margins)
    if integers:
        shape = [len(labels) for labels in levels.values()]
        cells = whole(margins, cells, shape)
    values = [margin.of(cells) for margin in margins]
    kind = "int64" if integers else "float64"
    made = [_like(*each, kind) for each in zip(tables, records, values, strict=True)]
    if integers:
        made = _with_intervals(made, records, _numbers(records, margins, values))
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
        return whole_numbers.sum_up(cells, self.codes, len(self.sums))

    def spread(self, sums: Floats) -> Floats:
        """For each cell, the sum that it belongs to."""
        return sums if self.is_all else np.append(sums, 0.0)[self.codes]


def _levels(records: Sequence[Record]) -> dict[Expression, tuple[Any, ...]]:
    """The axes of the joint domain, each with its keys."""
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
    return levels


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


def _like(table: Any, record: Record, values: npt.NDArray[Any], kind: str) -> Any:
    """Values under the labels of a table, in its order."""
    layout = record._statistic.layout
    rows = [] if layout.index is None else layout.index.tolist()
    if layout.columns is None:
        by_label = dict(zip(rows, values.tolist(), strict=True))
        found = [by_label[label] for label in table.index.tolist()]
        return pd.Series(found, index=table.index, name=table.name, dtype=kind)
    pairs = itertools.product(rows, layout.columns.tolist())
    by_pair = dict(zip(pairs, values.tolist(), strict=True))
    columns = table.columns.tolist()
    cells = [[by_pair[row, column] for column in columns] for row in table.index.tolist()]
    return pd.DataFrame(cells, index=table.index, columns=table.columns, dtype=kind)


# --- intervals ------------------------------------------------------------------------------------


def _numbers(
    records: Sequence[Record], margins: Sequence[Margin], values: Sequence[Floats]
) -> list[list[Quantity]]:
    """The numbers of each table, each with the released ones that bound its exact count."""
    told = [_released(record, frozenset(records)) for record in records]
    made = []
    for i, of in enumerate(values):
        bounds = [[own] for own in told[i]]
        for j in range(len(records)):
            if i != j:
                _add_bounds(bounds, [records[i], records[j]], [margins[i], margins[j]], told[j])
        each = zip(of.tolist(), bounds, told[i], strict=True)
        made.append(
            [replace(own, value=v, how="all", of=tuple(b), figure=None) for v, b, own in each]
        )
    return made


def _released(record: Record, records: frozenset[Record]) -> list[Quantity]:
    values, schema = record._values(), record._query.source.schema
    units = unit_of_each(record._statistic, schema, len(values))
    return [
        Quantity(float(value), None, COUNTS, unit, figure=Figure(record, at), records=records)
        for at, (value, unit) in enumerate(zip(values, units, strict=True))
    ]


def _add_bounds(
    bounds: list[list[Quantity]], records: Sequence[Record], margins: Sequence[Margin],
    told: list[Quantity],
) -> None:  # fmt: skip
    """Add to what bounds the counts of a table what another table tells of them. A count by more
    columns is a part of one by some of them, whatever the rows are; that its parts are all of a
    count is so only where the keys cover the rows."""
    by, by_other = (set(record._statistic.cells.by) for record in records)
    if by_other <= by:
        for bound, place in zip(bounds, _wholes(*margins), strict=True):
            if place < len(told):
                other = told[place]
                bound.append(other if by == by_other else _bound("part", [other]))
    elif by < by_other:
        parts: list[list[Quantity]] = [[] for _ in bounds]
        for other, place in zip(told, _wholes(*margins[::-1]), strict=True):
            if place < len(parts):
                parts[place].append(other)
        for bound, others in zip(bounds, parts, strict=True):
            if others:
                bound.append(_bound("whole", others))


def _wholes(parts: Margin, wholes: Margin) -> list[int]:
    """For each sum of cells the larger sum that it is a part of."""
    found = np.full(len(parts.sums), len(wholes.sums), dtype=np.intp)
    inside = parts.codes < len(parts.sums)
    found[parts.codes[inside]] = wholes.codes[inside]
    return found.tolist()


def _bound(how: str, of: Sequence[Quantity]) -> Quantity:
    """What bounds a count without being an estimate of it."""
    return Quantity(math.nan, None, COUNTS, "", how, tuple(of), None, of[0].records)


def _with_intervals(
    tables: Sequence[Any], records: Sequence[Record], numbers: Sequence[Sequence[Quantity]]
) -> list[Any]:
    """Tables that know the intervals of their numbers, all of which hold simultaneously."""
    made = []
    for table, record, each in zip(tables, records, numbers, strict=True):
        column = np.empty(len(each), dtype=object)
        column[:] = each
        found = _like(table, record, column, "object").to_numpy().reshape(-1)
        made.append(table_of(Findings(tuple(found), table, frozenset(records))))
    return made


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


# --- the nearest whole cells ----------------------------------------------------------------------


def whole(margins: Sequence[Margin], cells: Floats, shape: Sequence[int]) -> Floats:
    """Whole cells whose sums are near those of the nearest ones: the sums of the tables, those over
    all axes but one, which readers add up themselves, and that of all."""
    codes, sums = [m.codes for m in margins], [m.sums for m in margins]
    if not all(_is_reached(m, cells) for m in margins):
        cells = np.minimum(cells, whole_numbers.MOST_SUM / len(cells))
        codes += np.unravel_index(np.arange(len(cells)), shape)
        codes += [np.zeros_like(codes[0])] * len(codes)  # as much as all others together
        sizes = [*map(len, sums), *shape, *[1] * (len(sums) + len(shape))]
        sums = [whole_numbers.sum_up(cells, *each) for each in zip(codes, sizes, strict=True)]
    return whole_numbers.near(cells, codes, sums)


def _is_reached(margin: Margin, cells: Floats) -> bool:
    """Whether cells have the released sums, as far as the search can tell."""
    far = np.abs(margin.of(cells) - margin.sums).max()
    return bool(far <= max(0.25, NEAR / math.sqrt(margin.weight)))
