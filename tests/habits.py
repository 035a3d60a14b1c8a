"""pandas' own expressions, on a plain frame and on a private one: both must say the same.

A habit is a line of pandas over a frame `f`, such as ``f["age"].gt(30).sum()``. On the private
frame it gives an answer, which is released without noise (fixture ``exact``), or private rows,
whose cells are read. `agree` compares either with what pandas gives for the plain frame.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from elements import meanings

import dppandas as dp
from dppandas.engines.blocks import RowTable
from dppandas.engines.readers import Columns
from dppandas.frames.frame import PrivateFrame
from dppandas.frames.series import PrivateSeries
from dppandas.rows.expressions import Column, Expression

#: Public facts about the columns of both frames.
DOMAIN = {
    "age": (0, 100), "income": (0.0, 100.0), "city": ["Rome", "Oslo", "Bonn"], "sex": ["f", "m"],
    "level": ["low", "mid", "high"],
}  # fmt: skip


def clean() -> pd.DataFrame:
    """A survey as in a textbook: plain dtypes, and no value is missing."""
    draw = np.random.default_rng(1)  # of data, not of noise
    n = 60
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 90 * 24, n), unit="h")
    return pd.DataFrame({
        "city": draw.choice(["Rome", "Oslo", "Bonn"], n), "sex": draw.choice(["f", "m"], n),
        "level": draw.choice(["low", "mid", "high"], n), "age": draw.integers(18, 90, n),
        "income": draw.integers(0, 400, n) / 4, "member": draw.random(n) < 0.4, "when": when,
    })  # fmt: skip


def ugly() -> pd.DataFrame:
    """The same, as it comes: labels of rows twice, values missing, nullable and Arrow's dtypes."""
    f = clean()
    f["age"] = f["age"].astype("Int64").mask(f.index % 7 == 0)
    f["income"] = f["income"].mask(f.index % 5 == 0)
    f["city"] = f["city"].astype("category")
    f["level"] = f["level"].astype("string[pyarrow]").mask(f.index % 11 == 0)
    f["sex"] = f["sex"].astype(object).mask(f.index % 13 == 0, None)
    f["member"] = f["member"].astype("boolean")
    f["when"] = f["when"].mask(f.index % 17 == 0)
    return f.set_axis(pd.Index(np.arange(len(f)) // 2), axis=0)


FRAMES: dict[str, Callable[[], pd.DataFrame]] = {"clean": clean, "ugly": ugly}


def private(df: pd.DataFrame) -> PrivateFrame:
    """A frame of which `DOMAIN` is known."""
    return dp.protect(df, name="habits", domain={k: v for k, v in DOMAIN.items() if k in df})


def agree(
    line: Callable[[Any], Any],
    df: pd.DataFrame,
    plainly: Callable[[Any], Any] | None = None,
    rtol: float = 0.0,
    protected: Callable[[pd.DataFrame], PrivateFrame] = private,
    same_rows: Callable[[PrivateFrame, pd.DataFrame], None] | None = None,
) -> None:
    """A line gives the same on a plain frame and on a private one, or this test fails: of an answer
    the values, index, names and dtypes; of private rows the names and the cells.

    plainly : how plain pandas spells it, where it has other words.
    rtol : how far values may be apart, where sums are kept on a grid.
    protected : makes the private frame. same_rows : compares private rows with plain ones.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = line(protected(df))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas' own, of what will change in a later version
        wanted = (plainly or line)(df)
    if isinstance(asked, PrivateSeries):
        assert isinstance(wanted, pd.Series)
        assert asked.name == wanted.name
        expression, where = asked._expression, asked._where
        asked = PrivateFrame(asked._table, {"cells": expression}, where)
        wanted = wanted.to_frame("cells")
    if isinstance(asked, PrivateFrame):
        (same_rows or same_cells)(asked, wanted)
        return
    answer = asked.release(epsilon=1) if hasattr(asked, "release") else asked
    same(answer, declared(wanted), rtol)


def same_cells(asked: PrivateFrame, wanted: pd.DataFrame) -> None:
    assert list(asked.columns) == list(wanted.columns)
    assert cells(asked) == plain_cells(wanted)


def declared(wanted: Any) -> Any:
    """pandas' result as declared keys make it. The dtype of a column is data, so answers have the
    dtypes of their public labels and figures: no categories, and nothing nullable."""
    if not isinstance(wanted, pd.Series | pd.DataFrame):
        return wanted
    wanted = wanted.set_axis(_public(wanted.index), axis=0)
    if isinstance(wanted, pd.DataFrame):
        wanted = wanted.set_axis(_public(wanted.columns), axis=1)
        return wanted.apply(lambda column: _numbers(column))
    return _numbers(wanted)


def _public(index: Any) -> Any:
    if isinstance(index, pd.MultiIndex):
        return pd.MultiIndex.from_tuples(list(index), names=index.names)
    if index.dtype == object or isinstance(index.dtype, pd.CategoricalDtype | pd.StringDtype):
        return pd.Index(list(index), name=index.name)
    if pd.api.types.is_numeric_dtype(index.dtype):
        return pd.Index(_numbers(index.to_series()).to_numpy(), name=index.name)
    return index


def _numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    if not pd.api.types.is_numeric_dtype(column.dtype):  # labels, as as_index=False has them
        return pd.Series(_public(pd.Index(column)), index=column.index, name=column.name)
    if not pd.api.types.is_extension_array_dtype(column.dtype):
        return column
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype(bool)
    is_whole = pd.api.types.is_integer_dtype(column.dtype)
    return column.astype("int64" if is_whole else "float64")


def same(found: Any, wanted: Any, rtol: float = 0.0) -> None:
    """Two results of pandas are the same: values, index, names, dtypes."""
    assert type(found) is type(wanted) or (np.isscalar(found) and np.isscalar(wanted))
    if isinstance(wanted, pd.DataFrame):
        pd.testing.assert_frame_equal(found, wanted, check_exact=not rtol, rtol=rtol or 1e-9)
    elif isinstance(wanted, pd.Series):
        pd.testing.assert_series_equal(found, wanted, check_exact=not rtol, rtol=rtol or 1e-9)
    elif isinstance(wanted, pd.Index):
        pd.testing.assert_index_equal(found, wanted)
    else:
        assert abs(found - wanted) <= rtol * abs(wanted)
        assert isinstance(found, int) == isinstance(wanted, int | np.integer)


def cells(asked: PrivateFrame) -> list[tuple[Any, ...]]:
    """The cells of the rows that are kept, row by row, for each branch."""
    table = asked._table.engine.made()._rows()
    return [
        row
        for columns, where in asked._branches()
        for row in _rows(table, list(columns.values()), where)
    ]


def plain_cells(df: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The cells of a plain frame, row by row."""
    return _rows(RowTable(Columns(df), b""), [Column(name) for name in df.columns], None)


def _rows(
    table: RowTable, wanted: list[Expression], where: Expression | None
) -> list[tuple[Any, ...]]:
    block = table.block(0, len(table))
    kept = [True] * len(table) if where is None else where.truth(block).tolist()
    with np.errstate(all="ignore"):
        columns = [meanings(expression.vector(block)) for expression in wanted]
    return [row for row, keep in zip(zip(*columns, strict=True), kept, strict=True) if keep]
