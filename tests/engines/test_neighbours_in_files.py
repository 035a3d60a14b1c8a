"""Neighbours in Parquet files: the audit of tables in memory, with each table written first."""

from pathlib import Path
from typing import Any

import operations as ops
import pandas as pd
import pytest
from sizes import size

import dppandas as dp
from dppandas.audit import check_sensitivity, sensitivity
from dppandas.engines.files import parquet, spilled

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

PAIRS = size(quick=4, deep=8)

#: Cells as they are in the audit's tables, if Arrow has a type for them.
TYPES = pa.schema({
    "number": pa.float64(), "group": pa.string(), "code": pa.int64(), "yes": pa.bool_(),
    "no": pa.bool_(), "when": pa.timestamp("us", "UTC"), "owner": pa.int64(),
})  # fmt: skip


@pytest.fixture(autouse=True)
def in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The audit protects files of a few row groups, in more buckets than one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(spilled, "RECORDS", 5)
    monkeypatch.setattr(parquet, "PIECE", 7)
    written: list[str] = []

    def protect(frame: pd.DataFrame, *terms: Any, **more: Any) -> Any:
        written.append(str(tmp_path / f"{len(written)}.parquet"))
        cells = {name: cells_of(frame[name], TYPES.field(name).type) for name in frame.columns}
        schema = pa.schema([TYPES.field(name) for name in frame.columns])
        pq.write_table(pa.table(cells, schema=schema), written[-1], row_group_size=4)
        return dp.protect(written[-1], *terms, **more)

    monkeypatch.setattr(sensitivity, "protect", protect)
    return written


def cells_of(column: pd.Series, kind: Any) -> Any:
    """A column as files could hold it: a cell of another type is missing."""

    def one(cell: Any) -> Any:
        try:
            return pa.scalar(None if pd.isna(cell) else cell, kind).as_py()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None

    return pa.array(map(one, column.astype(object)), kind)


SOME = [*ops.OPERATIONS, *ops.SELECTIONS, *ops.UNKNOWN, *ops.AT_DELTA, *ops.TESTED]
ASKED = [(SOME[i::8], None, 1) for i in range(8)] + [
    ([*SOME, *ops.OF_UNITS][i::8], "owner", 2) for i in range(8)
]


@pytest.mark.sized
@pytest.mark.parametrize(("asked", "unit", "most"), ASKED, ids=lambda x: str(x)[:20])
def test_operations_keep_their_sensitivity_on_neighbours_in_files(
    asked: list[str], unit: str | None, most: int, in_files: list[str]
) -> None:
    found = check_sensitivity(
        lambda p: [ops.released(name, p) for name in asked],
        ops.SCHEMA, unit=unit, max_rows=most, pairs=PAIRS,
    )  # fmt: skip
    assert found.ok, found
    assert found.releases >= PAIRS * len(asked)
    assert len(in_files) == 2 * PAIRS


def test_a_wrong_sensitivity_is_found_in_files() -> None:
    found = check_sensitivity(
        lambda p: dp.select(
            ops.vouched(p), ops.GROUPS, sensitivity=1,
            score=lambda frame, group: 2 * ops.rows_with(frame, ("group", group)),
        ).release(epsilon=1),
        ops.SCHEMA, pairs=40,
    )  # fmt: skip
    assert "more than 1 declared" in str(found)
