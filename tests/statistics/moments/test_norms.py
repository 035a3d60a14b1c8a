"""Sums of rows that are scaled to a norm, row by row and exactly."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from operations import row_pass

import dppandas as dp
from dppandas.engines.pandas import PandasEngine
from dppandas.errors import QueryError
from dppandas.rows.expressions import Column
from dppandas.rows.facts.bounds import Bounds
from dppandas.rows.facts.units import Unit
from dppandas.statistics import Cells, Layout, NormedSum, grids_of_norm


def statistic(bounds: list[Bounds], norm: object) -> NormedSum:
    grids, most, order = grids_of_norm(bounds, norm)
    columns = tuple(Column(i) for i in range(len(bounds)))
    return NormedSum(Cells(), Layout(integer=False), columns, grids, most, order)


def integers(asked: NormedSum, rows: pd.DataFrame) -> list[int]:
    engine = PandasEngine(rows, Unit(), b"key")
    return [int(each) for each in asked.read(row_pass(engine, asked))]


def error(answer: Any) -> float:
    return float(dp.record(answer).errors().iloc[0])


def table(width: int, rows: int = 20) -> pd.DataFrame:
    made = pd.DataFrame(np.random.default_rng(3).normal(0, 2, (rows, width)))
    made.iloc[0], made.iloc[1], made.iloc[2] = 1e300, -math.inf, math.nan
    made.iloc[3], made.iloc[4, 1:] = 2.0, math.nan
    return made


@pytest.mark.parametrize("width", [1, 2, 7, 44])
@pytest.mark.parametrize("order", ["l1", "l2"])
@pytest.mark.parametrize("norm", [0.01, 1.3, 3.9, 500])
def test_rows_are_cut_to_the_norm_and_no_further(width: int, order: str, norm: float) -> None:
    asked = statistic([Bounds(-1, 2)] * width, (order, norm))
    rows = table(width)
    sizes = []
    for i in range(len(rows)):
        t = integers(asked, rows.iloc[[i]])
        assert sum(map(abs, t)) <= asked.l1
        assert max(map(abs, t)) <= asked.linf
        assert sum(x * x for x in t) <= asked.sensitivity(1).l2_squared
        sizes.append(sum(map(abs, t)) if order == "l1" else math.isqrt(sum(x * x for x in t)))
    assert max(sizes) <= asked.norm
    corner = [grid.reach for grid in asked.grids]  # the row that is as far out as bounds allow
    size = sum(corner) if order == "l1" else math.isqrt(sum(x * x for x in corner))
    assert max(sizes) >= min(asked.norm, size) - width - 1


def test_it_is_the_scaled_row_and_a_small_one_stays() -> None:
    rows = pd.DataFrame([[1.0, -3.0], [0.25, 0.5], [math.nan, 4.0], [9.0, -9.0]])
    asked = statistic([Bounds(-4, 4), Bounds(-4, 2)], 2)
    step = asked.grids[0].step
    for i, row in enumerate([[0.5, -1.5], [0.25, 0.5], [0, 2], [1, -1]]):
        assert np.allclose(np.array(integers(asked, rows.iloc[[i]])) * step, row, atol=2 * step)
    euclid = statistic([Bounds(-4, 4)] * 2, ("l2", 2))
    found = np.array(integers(euclid, pd.DataFrame([[-3.0, 4.0]]))) * step
    assert np.allclose(found, [-1.2, 1.6], atol=4 * step)


def test_sums_of_rows_don_t_depend_on_chunks() -> None:
    rows = table(3, 1000)
    asked = statistic([Bounds(-1, 2)] * 3, 1.3)
    one_by_one = np.sum([integers(asked, rows.iloc[[i]]) for i in range(len(rows))], axis=0)
    assert integers(asked, rows) == one_by_one.tolist()


def test_the_noise_is_that_of_the_norm() -> None:
    anew(epsilon=10)
    df = pd.DataFrame({name: [0.1] * 10 for name in "abcdefgh"})
    asked = {"bounds": (-1, 1), "epsilon": 1}
    plain, normed = df.dp.sum(**asked), df.dp.sum(norm=0.5, **asked)
    assert 15.9 < error(plain) / error(normed) < 16.1
    anew(rho=1, delta=1e-6)
    euclid = df.dp.sum(bounds=(-1, 1), norm=("l2", 0.5), rho=0.1)
    plain = df.dp.sum(bounds=(-1, 1), rho=0.1)
    assert 2 * math.sqrt(8) - 0.1 < error(plain) / error(euclid) < 2 * math.sqrt(8) + 0.1


def test_the_declared_domain_has_the_bounds() -> None:
    anew(epsilon=64)
    df = pd.DataFrame({"a": [1.0] * 1000, "b": [3.0] * 1000, "g": ["x", "y"] * 500})
    people = dp.protect(df, name="rows", domain={"a": (0, 4), "b": (0, 4), "g": ["x", "y"]})
    found = people.groupby("g")[["a", "b"]].sum(norm=2, epsilon=32)
    assert np.allclose(found, [[250, 750], [250, 750]], atol=5)
    assert np.allclose(people["b"].sum(norm=2, epsilon=32), 2000, atol=5)


@pytest.mark.parametrize(
    "norm",
    [0, -1, True, "1", math.nan, math.inf, ("l3", 1), (1, "l1"), ("l2", 0), [1], (1, 2, 3), 1e-9],
)
def test_what_is_no_norm_is_refused_before_anything(norm: Any) -> None:
    session = anew(epsilon=1)
    df = pd.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(QueryError, match=r"norm=.*Nothing was computed or charged\."):
        df.dp.sum(bounds=(-1, 1), norm=norm, epsilon=1)
    assert session.remaining == 1
