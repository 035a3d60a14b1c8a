"""Rows with cells of all sorts, and any of a statistic: what the neighbour suite draws.

A record of `operations.py` names the function here that makes any of its statistic.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from elements import NOON, PLAIN, WILD
from schema import CODES, GROUPS, rows_with

import dppandas as dp
from dppandas import statistics as stats
from dppandas.columns.spellings.query_methods import ColumnMethods
from dppandas.frames.series import PrivateSeries
from dppandas.models.synthetic.fit_scores import MarginalError, SmallDatabases
from dppandas.privacy.accounting.losses import Delta
from dppandas.rows import query_string
from dppandas.rows.expressions import EVERY, Column, Compare, Expression, IsMissing, Literal, Not
from dppandas.rows.facts.bounds import Bounds, Grid
from dppandas.rows.facts.keys import Keys
from dppandas.rows.facts.steps import StepGrid
from dppandas.statistics.distances import Measurer, Valuer
from dppandas.statistics.of_blocks.aggregates import BlockFunction
from dppandas.statistics.of_blocks.block_tests import (
    LABEL,
    NUMBER,
    OBJECT,
    SUCCESSES,
    TRISTATE,
    TRUTH,
    TWO,
    CallerTest,
    ScipyTest,
    Shown,
)
from dppandas.statistics.scores import Scorer

Row = dict[str, Any]


def row(rng: random.Random, wild: bool) -> Row:
    pools = {name: [*pool, *WILD] if wild else pool for name, pool in PLAIN.items()}
    return {name: rng.choice(pool) for name, pool in pools.items()}


def table(rows: list[Row], kind: str) -> pd.DataFrame:
    """Rows as somebody might have loaded them: the type of a column is then data."""
    columns = [*PLAIN, "owner"]
    data = {name: [r.get(name) for r in rows] for name in columns}
    if kind == "object":
        arrays = {name: np.empty(len(rows), dtype=object) for name in columns}
        for name, array in arrays.items():
            array[:] = pd.Series(data[name], dtype=object).to_numpy()
        return pd.DataFrame(arrays, dtype=object)
    frame = pd.DataFrame(data, columns=columns)
    if kind == "category":
        return frame.astype({"group": "category", "code": "category", "number": "category"})
    if kind == "arrow":
        some = frame[["group", "when", "number"]].convert_dtypes(dtype_backend="pyarrow")
        return frame.assign(**some)
    return frame.convert_dtypes() if kind == "nullable" else frame


KINDS = ["inferred", "category", "nullable", "object", "arrow"]


# --- random statistics ----------------------------------------------------------------------------

FILTERS = [
    "number > 1", "group == 'a' or code in [1, 2]", "not (other < 0.2)", "when >= '2020-01-02'",
]  # fmt: skip
COLUMNS: dict[Any, Expression] = {name: Column(name) for name in PLAIN}
TABLE = dp.private(pd.DataFrame({"number": [1]}), unit="row")._table
METHODS = ColumnMethods(lambda expression: PrivateSeries(TABLE, None, expression, None))


def bounds(rng: random.Random) -> Bounds:
    """Asymmetric, anchored at 0, excluding 0, of no width, tiny and huge."""
    pairs = [(-5, 10), (0, 60), (5, 10), (-10, -5), (0, 0), (3, 3), (0.1, 0.3), (-1e-3, 1e6)]
    pairs += [(0, 1e-200), (-1e200, 1e199), (2**53, 2**53 + 2), (-1 / 3, 1 / 7)]
    return Bounds.parse(rng.choice(pairs), "x")


ALONE = stats.Cells()
COUNTED, SUMMED = stats.Layout(integer=True), stats.Layout(integer=False)
Maker = Callable[[random.Random], Any]


def cells(rng: random.Random) -> stats.Cells:
    group, code = Keys.parse(GROUPS, ["group"]), Keys.parse([1, 2, 3, "a", (1, 2)], ["code"])
    both = group.then(Keys.parse(CODES, ["code"]))
    choices = [
        ALONE, stats.Cells((Column("group"),), group),
        stats.Cells((Column("code"),), code, missing_cell=True),
        stats.Cells((Column("when"),), Keys.parse([NOON, "2020-01-01"], ["when"])),
        stats.Cells((Column("group"), Column("code")), both),
        stats.Cells((Column("code"), Column("group")), Keys(((1, "a"), (2, "b"), (3, "z")), 2)),
    ]  # fmt: skip
    return rng.choice(choices)


def with_limits(make: Maker) -> Maker:
    """A maker of the same statistics, some of them in cells that are limited."""

    def some(rng: random.Random) -> Any:
        made = make(rng)
        if not made.takes_limits or made.cells.keys is None or rng.random() < 0.5:
            return made
        limit = stats.KeyLimit(rng.choice([None, 1, 1, 2]), rng.choice([None, 1, 2]))
        read = rng.choice([None, "owner"]), [*PLAIN, "owner"]
        return replace(made, cells=stats.LimitedCells.of(made.cells, limit, *read))

    return some


def parsed(text: str) -> Any:
    return query_string.parse(text, COLUMNS, {}.__getitem__, METHODS).expression


def operands(rng: random.Random) -> tuple[Expression, ...]:
    ratio = parsed("number / other > code - 1")
    product = parsed("number * other == code").left
    return tuple(rng.sample([*COLUMNS.values(), ratio, product], rng.randint(1, 3)))


def some_names(rng: random.Random) -> tuple[str, ...]:
    return tuple(rng.sample(sorted(PLAIN), rng.choice([1, 1, 2, 3])))


def within_bounds(kind: type[Any], **more: Any) -> Maker:
    """A maker of statistics of a few operands with bounds for each."""

    def some(rng: random.Random) -> Any:
        chosen = operands(rng)
        return kind(cells(rng), SUMMED, chosen, tuple(bounds(rng) for _ in chosen), **more)

    return some


some_mean, some_variance = within_bounds(stats.Mean), within_bounds(stats.Variance)


def some_count(rng: random.Random) -> stats.Count:
    tests: list[Expression] = [EVERY]
    for operand in operands(rng):
        choices = [operand, Not(IsMissing(operand)), Compare("==", operand, Literal(True))]
        tests.append(rng.choice(choices))
    return stats.Count(cells(rng), COUNTED, tuple(tests[rng.randint(0, 1) :]))


def some_sum(rng: random.Random) -> stats.Sum:
    chosen = operands(rng)
    grids = tuple(Grid.centred(bounds(rng)) for _ in chosen)
    statistic = stats.Sum(cells(rng), SUMMED, chosen, grids)
    return statistic.comparable() if rng.random() < 0.2 else statistic


def some_normed_sum(rng: random.Random) -> stats.NormedSum:
    chosen = operands(rng)
    ends = [bounds(rng) for _ in chosen]
    most = sum(max(-each.lower, each.upper) for each in ends) or 1
    norm = (rng.choice(["l1", "l2"]), most * rng.choice([0.01, 0.2, 0.5, 0.9, 2]))
    return stats.NormedSum(cells(rng), SUMMED, chosen, *stats.grids_of_norm(ends, norm))


def some_unit_totals(rng: random.Random) -> stats.UnitTotals:
    """On rows as they are: a unit may have several in a cell, and its integers are still scaled."""
    chosen = operands(rng)
    grids = tuple(Grid.centred(bounds(rng)) for _ in chosen)
    statistic = stats.UnitTotals(cells(rng), SUMMED, chosen, grids)
    return statistic.comparable() if rng.random() < 0.2 else statistic  # type: ignore[return-value]


def some_covariance(rng: random.Random) -> stats.Covariance:
    pair, correlation = rng.random() < 0.3, rng.random() < 0.5
    chosen = tuple(rng.choice(operands(rng)) for _ in range(2 if pair else rng.randint(1, 5)))
    limits, complete = tuple(bounds(rng) for _ in chosen), rng.random() < 0.4
    made = (cells(rng), SUMMED, chosen, limits, 1, correlation, pair)
    return stats.Covariance(*made, complete=complete)


def some_second_moments(rng: random.Random) -> stats.SecondMoments:
    made = replace(some_covariance(rng), pair=False)
    said = made.operands, made.bounds, made.ddof, made.correlation
    return stats.SecondMoments(made.cells, made.layout, *said)


def some_normed_moments(rng: random.Random) -> stats.NormedMoments:
    made, norm = some_covariance(rng), rng.choice([1, 1.5, 4, 30, 1e-3, 1e9, ("l2", 3)])
    ends, order = stats.bounds_of_norm(norm, len(made.operands))
    said = made.operands, (ends,) * len(made.operands), made.ddof, made.correlation
    return stats.NormedMoments(made.cells, made.layout, *said, order=order)


def some_weighted_mean(rng: random.Random) -> stats.WeightedMean:
    made, (weight, *_) = some_mean(rng), operands(rng)
    grid = Grid.centred(Bounds.parse(rng.choice([(0, 1), (0.5, 3), (0, 0), (0.1, 1e6)]), "w"))
    return stats.WeightedMean(made.cells, made.layout, made.operands, made.bounds, weight, grid)


def some_few(rng: random.Random) -> stats.Count:
    """A count with a bound on what one row may add."""
    count = some_count(rng)
    hashed = tuple(rng.sample([*COLUMNS], rng.randint(1, 4)))
    return replace(count, at_most=rng.randint(1, 3), hashed=hashed)


def some_contingency(rng: random.Random) -> stats.Contingency:
    codes, widths = Keys.parse([1, 2, 3, "a", (1, 2)], ["code"]), Keys.parse(GROUPS, ["group"])
    both = stats.Cells((Column("code"), Column("group")), codes.then(widths))
    share, margins = rng.choice(["", "all", "index", "columns"]), rng.random() < 0.5
    layout = stats.Layout(integer=not share)
    return stats.Contingency(both, layout, width=3, share=share, margins=margins)


def some_scores(rng: random.Random) -> stats.Scores:
    """How many of some columns' values a candidate is, and the balance of two such counts."""
    names = tuple(rng.sample(list(PLAIN), 2))

    def counts(frame: pd.DataFrame, candidate: Any) -> list[int]:
        return [rows_with(frame, (name, candidate)) for name in names]

    def balance(frame: pd.DataFrame, candidate: Any) -> int:
        one, other = counts(frame, candidate)
        return one - other

    rises = rng.random() < 0.5
    score = Scorer((lambda frame, x: sum(counts(frame, x))) if rises else balance)
    return stats.Scores(ALONE, COUNTED, names, ("a", 1, 2.5, 10.0), score, 2 if rises else 1, rises)


def some_significant_blocks(rng: random.Random) -> stats.SignificantBlocks:
    """Blocks of rows or of units, by a test of scipy or by a function that looks at everything."""
    names, unit = rng.sample(list(PLAIN), 2), rng.choice([(), ("owner",)])
    group = Shown("group", Column("group"), LABEL, Keys(("a", "b")))
    number = Shown(names[0], rng.choice(operands(rng)))
    own = tuple(Shown(name, Column(name), rng.choice([NUMBER, TRUTH, OBJECT])) for name in names)
    columns, test = rng.choice([
        (own, CallerTest(lambda frame: len(repr(frame.to_numpy(object).tolist())) % 3 / 2)),
        ((number, group), ScipyTest("mannwhitneyu", TWO, (("method", "exact"),))),
        ((number, group), ScipyTest("ks_2samp", TWO)),
        ((replace(number, form=TRUTH),), ScipyTest("binomtest", SUCCESSES, (("p", 0.1),))),
    ])  # fmt: skip
    read = sorted({each for column in columns for each in column.expression.columns()})
    said = columns, test, rng.choice([1, 2, 5, 100]), rng.choice([0.2, 0.5, 0.9])
    return stats.SignificantBlocks(ALONE, COUNTED, *said, unit or tuple(read), bool(unit))


def some_blocks(rng: random.Random) -> dict[str, Any]:
    """Blocks of rows or of units, and a function of all that they hold, which sometimes fails."""
    names, unit = rng.sample(list(PLAIN), 2), rng.choice([(), ("owner",)])
    forms = [rng.choice([NUMBER, TRISTATE, OBJECT]) for _ in names]
    columns = tuple(
        Shown(name, Column(name), form) for name, form in zip(names, forms, strict=True)
    )

    def says(frame: pd.DataFrame) -> Any:
        said = len(repr(frame.to_numpy(object).tolist()))
        return [said % 7, "none", 1 / (said % 3), -said / 10][said % 4]

    return {
        "columns_shown": columns, "value": BlockFunction(says), "blocks": rng.choice([2, 5, 100]),
        "by": unit or tuple(sorted(names)), "is_by_unit": bool(unit),
    }  # fmt: skip


def some_block_mean(rng: random.Random) -> stats.BlockMean:
    weight = rng.choice([Fraction(1, 4), Fraction(13, 16)])
    return stats.BlockMean(ALONE, SUMMED, bounds=bounds(rng), weight=weight, **some_blocks(rng))


def some_block_median(rng: random.Random) -> stats.BlockMedian:
    within = bounds(rng)
    of = {"bounds": (within,), "step": (some_step(rng, within),)}
    return stats.BlockMedian(ALONE, SUMMED, **of, **some_blocks(rng))


def some_measured_block_median(rng: random.Random) -> stats.MeasuredBlockMedian:
    within = bounds(rng)
    of = {"bounds": (within,), "step": (some_step(rng, within),)}
    return stats.MeasuredBlockMedian(ALONE, SUMMED, **of, **some_blocks(rng))


def some_block_slopes(rng: random.Random) -> stats.BlockSlopes:
    each = (rng.choice(operands(rng)) for _ in range(2))
    columns = tuple(Shown(i, expression) for i, expression in enumerate(each))
    unit = rng.choice([(), ("owner",)])
    read = sorted({name for column in columns for name in column.expression.columns()})
    return stats.BlockSlopes(
        ALONE, SUMMED, columns_shown=columns, blocks=rng.choice([1, 2, 5, 100]),
        by=unit or tuple(read), is_by_unit=bool(unit),
    )  # fmt: skip


def far_from_a_tie(frame: pd.DataFrame, names: Sequence[Any]) -> tuple[bool, int]:
    """Whether one text is in more of the rows than another, and how many rows that is from
    changing; a row that holds both counts for neither, so that it counts for one at most."""
    texts = [[x for x in row if isinstance(x, str)] for row in frame[list(names)].to_numpy(object)]
    lead = sum(("a" in row) - ("b" in row) for row in texts)
    return lead > 0, lead - 1 if lead > 0 else -lead


def some_distance(rng: random.Random, proposed: bool = False) -> Any:
    names = tuple(rng.sample(list(PLAIN), 2))
    distance = Measurer(lambda frame: far_from_a_tie(frame, names)[1])
    if not proposed:
        return stats.Distance(ALONE, COUNTED, names, distance)
    value = Valuer(lambda frame: "yes" if far_from_a_tie(frame, names)[0] else "no")
    return stats.Proposed(ALONE, SUMMED, names, distance, value)


def some_quantiles(rng: random.Random) -> stats.Quantiles:
    shares = tuple(Fraction(rng.randint(0, 8), 8) for _ in range(rng.choice([1, 1, 3])))
    found: stats.Quantiles = within_bounds(stats.Quantiles, quantiles=shares)(rng)
    steps = tuple(rng.choice([None, some_step(rng, each)]) for each in found.bounds)
    return replace(found, step=steps if any(steps) else None)


def some_measured_quantiles(rng: random.Random) -> stats.MeasuredQuantiles:
    plain = some_quantiles(rng)
    of = plain.cells, plain.layout, plain.operands, plain.bounds, plain.quantiles, plain.step
    return stats.MeasuredQuantiles(*of)


def some_ranked_quantiles(rng: random.Random) -> stats.RankedQuantiles:
    plain = some_quantiles(rng)
    of = plain.cells, plain.layout, plain.operands, plain.bounds, plain.quantiles, plain.step
    return stats.RankedQuantiles(*of)


def some_step(rng: random.Random, within: Bounds) -> Fraction | None:
    """One that makes a grid between bounds, whatever these are."""
    step = Fraction(rng.choice([1, 3, Fraction(1, 10), Fraction(within.upper - within.lower) / 7]))
    return step if step > 0 and not StepGrid.lacks(within, step) else None


def some_weighted_quantiles(rng: random.Random) -> stats.WeightedQuantiles:
    made, (weight, *_) = some_quantiles(rng), operands(rng)
    grid = Grid.centred(Bounds.parse(rng.choice([(0, 1), (0.5, 3), (0, 0), (0.1, 1e6)]), "w"))
    said = made.operands, made.bounds, made.quantiles, made.step
    return stats.WeightedQuantiles(made.cells, made.layout, *said, weight, grid)


def some_splits(rng: random.Random) -> stats.Splits:
    chosen = operands(rng)
    target = rng.choice([Column("code"), parsed("number > 1"), Column("number")])
    points = [-1.0, 0.0, 0.5, 1.0, 2.0, 3.5, 1e6]
    thresholds = tuple(tuple(sorted(rng.sample(points, rng.randint(1, 4)))) for _ in chosen)
    made = cells(rng), COUNTED, chosen, target, rng.randint(2, 5), thresholds
    return stats.Splits(*made)


def some_splits_of_sums(rng: random.Random) -> stats.SplitsOfSums:
    plain = some_splits(rng)
    said = plain.cells, plain.layout, plain.operands, plain.target, plain.thresholds
    return stats.SplitsOfSums(*said)


def some_smooth_quantile(rng: random.Random) -> stats.SmoothQuantile:
    operand, share = operands(rng)[0], Fraction(rng.randint(0, 8), 8)
    return stats.SmoothQuantile(ALONE, SUMMED, (operand,), (bounds(rng),), (share,))


def some_trimmed_mean(rng: random.Random) -> stats.TrimmedMean:
    operand, within, trim = operands(rng)[0], bounds(rng), rng.choice([0, 1, 3, 50])
    return stats.TrimmedMean(ALONE, SUMMED, (operand,), (within,), trim=trim)


def some_truncation(rng: random.Random) -> stats.Truncation:
    """On rows as they are: what truncation is asked about is one row a unit, with any number."""
    most = rng.choice([1, 3])
    operand = rng.choice([Column("number"), Column("other"), Column("code")])
    return stats.Truncation(ALONE, SUMMED, operand, most, most + rng.choice([1, 20]))


def some_rows_per_unit(rng: random.Random) -> stats.RowsPerUnit:
    """On rows as they are, as above: what is asked has any number."""
    operand = rng.choice([Column("number"), Column("other"), Column("code")])
    limits = stats.limits_up_to(rng.choice([2, 3, 10, 1000]))
    return stats.RowsPerUnit(ALONE, SUMMED, operand, limits, rng.choice([None, Fraction(1, 2)]))


def some_present(rng: random.Random) -> stats.OccurringKeys:
    made = cells(rng)
    while made.keys is None:
        made = cells(rng)
    groups = rng.choice([n for n in range(1, len(made) + 1) if not len(made) % n])
    return stats.OccurringKeys(made, COUNTED, groups=groups)


def some_distinct_values(rng: random.Random) -> stats.DistinctValues:
    return stats.DistinctValues(cells(rng), COUNTED, operands(rng)[0], rng.random() < 0.5)


def some_unknown(rng: random.Random) -> stats.UndeclaredKeys:
    maker = rng.choice([None, some_count, some_sum, some_mean, some_variance])
    inner = None if maker is None else replace(maker(rng), cells=ALONE)
    names = some_names(rng)
    by = tuple(map(Column, names))
    return stats.UndeclaredKeys(ALONE, COUNTED, by, names, Delta("1e-6"), inner)


def some_unique(rng: random.Random) -> stats.Unique:
    names = some_names(rng)
    return stats.Unique(ALONE, COUNTED, tuple(map(Column, names)), names)


def some_weighted_unique(rng: random.Random) -> stats.WeightedUnique:
    names = some_names(rng)
    return stats.WeightedUnique(ALONE, COUNTED, tuple(map(Column, names)), names)


def some_weighted_keys(rng: random.Random) -> stats.WeightedKeys:
    maker = rng.choice([some_count, some_sum, some_mean, some_variance])
    inner, names = replace(maker(rng), cells=ALONE), some_names(rng)
    by = tuple(map(Column, names))
    return stats.WeightedKeys(ALONE, COUNTED, by, names, Delta("1e-6"), inner)


def some_likelihoods(rng: random.Random) -> stats.Likelihoods:
    made, candidates = cells(rng), rng.randint(1, 5)
    scores = tuple(tuple(rng.randint(0, 99) for _ in range(candidates)) for _ in range(len(made)))
    return stats.Likelihoods(made, COUNTED, scores, tuple(rng.choices(range(1, 9), k=candidates)))


def some_misfit(rng: random.Random) -> MarginalError:
    marginals = tuple(cells(rng) for _ in range(rng.randint(1, 3)))
    expected = tuple(tuple(rng.randint(-30, 99) for _ in range(len(c))) for c in marginals)
    weights, offsets = (tuple(rng.randint(1, 4) for _ in marginals) for _ in range(2))
    return MarginalError(ALONE, COUNTED, marginals, expected, weights, offsets, 16)


def some_small_databases(rng: random.Random) -> SmallDatabases:
    made = cells(rng)
    queries = [tuple(rng.randrange(3) for _ in range(len(made))) for _ in range(rng.randint(1, 3))]
    rows, total = rng.randint(1, 2), rng.randint(0, 12)
    return SmallDatabases(made, COUNTED, rows, total, tuple(queries))
