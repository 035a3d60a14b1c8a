"""What is remembered of expressions is what would be made anew: for each chunk, branch, domain."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from operations import row_pass

from dppandas.engines.pandas import PandasEngine
from dppandas.ledger import canonical
from dppandas.rows import expressions as ex
from dppandas.rows.facts.bounds import Bounds, Grid
from dppandas.rows.facts.units import Unit
from dppandas.rows.values.vectors import Numbers
from dppandas.statistics import Cells, Layout, Sum

A, B = ex.Column("a"), ex.Column("b")
WHERE = ex.Compare(">", ex.Function("tanh", ex.Dot((A, B), (1.0, -2.0))), ex.Literal(-0.5))


def residual() -> ex.Expression:
    """In branch 1 another than in branch 0, of the same parts."""
    shared = ex.Function("tanh", ex.Clip(ex.Dot((A, B), (1.0, -2.0)), -3.0, 3.0))
    return ex.ByBranch((shared, ex.Arithmetic("*", shared, ex.Function("absolute", A))))


def gradient() -> Sum:
    part = residual()
    operands = tuple(ex.Arithmetic("*", each, part) for each in (A, B, part))
    grid = Grid.centred(Bounds(-9, 9))
    return Sum(Cells(), Layout(integer=False), operands, (grid,) * 3)


def rows() -> pd.DataFrame:
    made = np.random.default_rng(4).normal(0, 2, (3000, 2))
    made[::17, 0] = np.nan
    return pd.DataFrame(made, columns=["a", "b"])


def exact(frame: pd.DataFrame, block: int, where: ex.Expression | None) -> list[int]:
    statistic = gradient()

    engine = PandasEngine(frame, Unit(), b"key", block)
    return [int(each) for each in statistic.read(row_pass(engine, statistic, where, 2))]


@pytest.mark.parametrize("where", [None, WHERE], ids=["all", "filtered"])
def test_sums_are_those_of_nothing_remembered(where: Any, monkeypatch: Any) -> None:
    """In one chunk, in chunks of one row, and in several threads."""
    frame = rows()
    found = [exact(frame, block, where) for block in (1, 7, 100, 10**6)]
    place = "dppandas.rows.expressions.base.remembered"
    monkeypatch.setattr(place, lambda chunk, expression, made: made())
    anew = exact(frame, 10**6, where)
    assert all(each == anew for each in found)
    assert any(anew)


def test_a_chunk_that_remembers_asks_once_a_branch() -> None:
    chunk = PandasEngine(rows(), Unit(), b"key")._rows().block(0, 10)
    made: list[int] = []

    def vector(i: int) -> Any:
        made.append(i)
        return Numbers(np.full(chunk.rows, float(i)))

    for branch in (0, 1, 0, 1):
        view = replace(chunk, branch=branch)
        found = ex.base.remembered(view, A, lambda b=branch: vector(b))  # type: ignore[misc]
        assert found.values[0] == branch
        with pytest.raises(ValueError, match="read-only"):
            found.values[0] = 5
    assert made == [0, 1]


def test_a_chunk_of_several_branches_hashes_its_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = PandasEngine(rows(), Unit(), b"key")._rows().block(0, 10)
    asked: list[Any] = []

    def hashed(chunk: Any, names: Any, salt: bytes) -> Any:
        asked.append(names)
        return np.arange(10)

    monkeypatch.setattr(type(chunk), "hashed", hashed)
    hashes = [replace(chunk, branch=branch).hashes for branch in range(3)]
    assert asked == [("a", "b")]
    assert all(each is hashes[0] for each in (*hashes, chunk.hashes))


def test_a_range_is_that_of_the_domain_asked_about() -> None:
    expression = ex.Arithmetic("+", ex.Clip(A, -5.0, 5.0), B)
    for high in (1.0, 2.0, 9.0, 1.0):
        domain = {"a": Bounds(0, high), "b": Bounds(0, high)}
        for _ in range(2):
            assert expression.bounds(domain) == Bounds(0, min(high, 5) + high)
    assert expression.bounds({}) is None


def test_what_is_remembered_is_not_kept_or_told() -> None:
    one, other = residual(), residual()
    one.bounds({"a": Bounds(0, 1), "b": Bounds(0, 1)})
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)
    assert pickle.dumps(one) == pickle.dumps(other)
    assert "_bounds" not in vars(pickle.loads(pickle.dumps(one)))


def test_equal_parts_have_one_text_whether_shared_or_not() -> None:
    shared = gradient()
    apart = replace(shared, operands=tuple(pickle.loads(pickle.dumps(e)) for e in shared.operands))
    assert canonical.key(shared, WHERE) == canonical.key(apart, WHERE)
    text = canonical.text(shared)
    for operand in shared.operands:
        assert canonical.text(operand) in text
