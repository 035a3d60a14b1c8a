"""Splits of nodes: scores by brute force, losses and gaps by exact laws."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exact import selection_law
from operations import row_pass

from dppandas import statistics as stats
from dppandas.engines.pandas import PandasEngine
from dppandas.privacy.accounting.losses import Epsilon, Rho
from dppandas.privacy.accounting.measures import LossRequest, Measure
from dppandas.privacy.mechanisms.selection import Exponential, PermuteAndFlip, selection_weights
from dppandas.rows.expressions import Column
from dppandas.rows.facts.keys import Keys
from dppandas.rows.facts.units import Unit
from dppandas.statistics.splits import UNIT

KEY = b"0123456789abcdef"

#: A row: its node, its value and its class; of sums 1 stands for a target of 1, and 0 for -1.
Row = tuple[int, int, int]
EACH: list[Row] = list(itertools.product(range(2), range(3), range(2)))
THRESHOLDS = (0.0, 1.0)


def splits(classes: int = 2, nodes: int = 2) -> stats.Splits:
    cells = stats.Cells((Column("node"),), Keys(tuple(range(nodes))))
    layout = stats.Layout(integer=True)
    features = Column("x"), Column("z")
    thresholds = THRESHOLDS, (-0.5, 0.5, 7.0)
    return stats.Splits(cells, layout, features, Column("class"), classes, thresholds)


def splits_of_sums(nodes: int = 2) -> stats.SplitsOfSums:
    said = splits(nodes=nodes)
    return stats.SplitsOfSums(
        said.cells, said.layout, said.operands, Column("target"), said.thresholds
    )


MADE: dict[str, Any] = {"classes": splits, "sums": splits_of_sums}


def of_classes(labels: list[int]) -> int:
    return max(map(labels.count, (0, 1)))


def of_sums(labels: list[int]) -> int:
    return abs(sum((2 * label - 1) * UNIT.reach for label in labels))


SCORE = {"classes": of_classes, "sums": of_sums}


def scores(rows: Any, of: str) -> list[tuple[int, ...]]:
    """Of one feature: of each node and threshold, row by row as theory has it."""
    return [
        tuple(
            sum(
                SCORE[of]([c for n, x, c in rows if n == node and (x <= at) == side])
                for side in (True, False)
            )
            for at in THRESHOLDS
        )
        for node in (0, 1)
    ]


def neighbours(rows: int, of: str) -> Iterator[tuple[list[tuple[int, ...]], list[tuple[int, ...]]]]:
    """The scores of all tables of up to three rows, and with all that a unit adds."""
    units = [u for n in range(1, rows + 1) for u in
             itertools.combinations_with_replacement(EACH, n)]  # fmt: skip
    seen = set()
    for size in range(3):
        for table in itertools.combinations_with_replacement(EACH, size):
            for unit in units:
                pair = scores(table, of), scores([*table, *unit], of)
                if (key := str(pair)) not in seen:
                    seen.add(key)
                    yield pair


def law(mechanism: Any, of: Any) -> list[float]:
    """The chance of each pair of choices, one in each node."""

    def one(node: tuple[int, ...]) -> list[float]:
        if isinstance(mechanism.each, PermuteAndFlip):
            gaps = [max(node) - score for score in node]
            return [float(p) for p in selection_law(gaps, mechanism.each.rate)]
        weights = selection_weights(node, mechanism.each.rate)
        return [weight / sum(weights) for weight in weights]

    return [a * b for a, b in itertools.product(*map(one, of))]


@pytest.mark.parametrize("measure", [Measure.PURE, Measure.ZCDP])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("of", MADE)
def test_no_unit_tells_more_than_epsilon(of: str, rows: int, measure: Measure) -> None:
    """The largest log-ratio is close to ε, also of a unit with a row in each of two nodes."""
    made, epsilon = MADE[of](), 0.8
    asked = LossRequest(epsilon=Epsilon("0.8"), measure=measure)
    mechanism = made.mechanism(asked, made.sensitivity(rows))
    kind: Any = PermuteAndFlip if measure is Measure.PURE else Exponential
    assert isinstance(mechanism.each, kind)
    most = apart = 0.0
    for before, after in neighbours(rows, of):
        one, other = law(mechanism, before), law(mechanism, after)
        found = max(abs(math.log(a / b)) for a, b in zip(one, other, strict=True))
        most = max(most, found)
        if all(a != b for a, b in zip(before, after, strict=True)):
            apart = max(apart, found)
    assert most <= epsilon * (1 + 1e-9)
    assert most > 0.5 * epsilon
    assert (apart > 0.4 * epsilon) == (rows == 2)


@pytest.mark.parametrize("of", MADE)
def test_no_unit_tells_more_than_rho(of: str) -> None:
    """Rényi divergences of several orders, of units of two rows in one node or in two."""
    made, rho = MADE[of](), Fraction(1, 10)
    asked = LossRequest(rho=Rho("0.1"), measure=Measure.ZCDP)
    mechanism: Any = made.mechanism(asked, made.sensitivity(2))
    assert mechanism.cost(Measure.ZCDP, made.sensitivity(2)).rho <= rho
    for before, after in neighbours(2, of):
        pairs = list(zip(law(mechanism, before), law(mechanism, after), strict=True))
        for order in (1.5, 2, 8):
            for each in (pairs, [(b, a) for a, b in pairs]):
                moment = sum(a**order * b ** (1 - order) for a, b in each)
                assert math.log(moment) / (order - 1) <= order * float(rho) * (1 + 1e-9)


def test_a_row_raises_a_score_of_its_own_node_by_one_at_most() -> None:
    worst = 0
    for before, after in neighbours(1, "classes"):
        raised = [[b - a for a, b in zip(*each, strict=True)]
                  for each in zip(before, after, strict=True)]  # fmt: skip
        assert all(move in (0, 1) for node in raised for move in node)
        assert sum(any(node) for node in raised) <= 1
        worst = max(worst, splits().exact_distance(before, after, selecting=False))
    assert worst == 1


def test_a_row_moves_sums_of_its_own_node_by_its_size_both_ways() -> None:
    """One split up and another one down, each by all of a row: no factor of 2 can be saved."""
    sizes = set()
    for before, after in neighbours(1, "sums"):
        moved = [[b - a for a, b in zip(*each, strict=True)]
                 for each in zip(before, after, strict=True)]  # fmt: skip
        assert all(abs(move) <= splits_of_sums().l1 for node in moved for move in node)
        assert sum(any(node) for node in moved) <= 1
        sizes |= {max(node) - min(node) for node in moved}
    assert max(sizes) == 2 * UNIT.reach
    assert not splits_of_sums().monotone


def table(rows: int) -> pd.DataFrame:
    """With missing features, and with nodes and classes that nobody declared."""
    rng = np.random.default_rng(3)
    return pd.DataFrame({
        "node": rng.choice([0, 1, 2, 5], rows), "class": rng.choice([0, 1, 2, 3, 0.5], rows),
        "x": rng.choice([-1, 0, 0.5, 1, 2, np.nan], rows),
        "z": rng.choice([-1, -0.5, 0, 7, np.inf, -np.inf], rows),
    })  # fmt: skip


def exact(frame: pd.DataFrame) -> list[list[int]]:
    """The scores, as pandas says."""
    known = frame[frame["class"].isin([0, 1, 2])].dropna()
    return [
        [
            sum(
                int(side["class"].value_counts().max()) if len(side) else 0
                for side in (own[own[name] <= at], own[~(own[name] <= at)])
            )
            for name, each in zip("xz", splits().thresholds, strict=True)
            for at in each
        ]
        for own in (known[known["node"] == node] for node in range(3))
    ]


@pytest.mark.parametrize("rows", [0, 1, 50, 3000])
def test_scores_are_those_of_pandas(rows: int) -> None:
    frame, made = table(rows), splits(3, 3)
    assert made.read(row_pass(PandasEngine(frame, Unit(), KEY), made)) == exact(frame)


@pytest.mark.parametrize("rows", [0, 1, 50, 3000])
def test_sums_are_those_of_pandas(rows: int) -> None:
    """Of targets beyond [-1, 1] as well, and of missing ones."""
    rng, frame, made = np.random.default_rng(4), table(rows), splits_of_sums(3)
    frame["target"] = rng.choice([-5, -1, -0.7, 1 / 3, 1, np.inf, -np.inf, np.nan], rows)
    steps = (frame["target"].clip(-1, 1) / UNIT.step).round()
    known = frame.drop(columns="class").assign(steps=steps).dropna()
    expected = [
        [
            sum(
                abs(int(own.loc[side, "steps"].sum())) for side in (own[name] <= at, own[name] > at)
            )
            for name, each in zip("xz", made.thresholds, strict=True)
            for at in each
        ]
        for own in (known[known["node"] == node] for node in range(3))
    ]
    assert made.read(row_pass(PandasEngine(frame, Unit(), KEY), made)) == expected


@pytest.mark.parametrize("of", MADE)
def test_the_gap_holds_in_all_cells_by_the_exact_law(of: str) -> None:
    """Of nodes whose candidates are all as far below the best as the gap says."""
    made = MADE[of](nodes=2)
    for asked in (LossRequest(epsilon=Epsilon("1")), LossRequest(rho=Rho("0.1"),
                                                                measure=Measure.ZCDP)):  # fmt: skip
        mechanism: Any = made.mechanism(asked, made.sensitivity(1))
        stated = mechanism.utility_gap(0.95, made.candidates)
        assert made.errors.errors_at([0, 0], mechanism, 0.95) == [math.ceil(stated / made.l1)] * 2
        for off in (stated + 1, stated + 5):
            node = (off, *[0] * (made.candidates - 1))
            best = law(mechanism, [node, node])[0]
            assert best >= 0.95
        close = (stated // 3, *[0] * (made.candidates - 1))
        assert law(mechanism, [close, close])[0] < 0.95
