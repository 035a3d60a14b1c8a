"""The table of a ledger is written to a spreadsheet as it is."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dppandas as dp

#: Characters that no cell of a spreadsheet holds: the control characters that XML 1.0 has not.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")


def table() -> Any:
    dp.session(epsilon=10, delta=1e-5)
    rows = pd.DataFrame({"a": range(50), "bell \x07": range(50)})
    people = dp.protect(rows, "é", domain={"a": (0, 50)})
    people["a"].mean(epsilon=0.5)
    people["bell \x07"].count(epsilon=0.5)
    people.query("a > 3").count(within=20)
    people.query("a > 3").count(within=20)  # replayed
    return dp.ledger().to_frame()


def test_every_cell_is_one_that_a_spreadsheet_holds() -> None:
    """As pandas' writers have it: numbers, texts, times without a zone, and missing values."""
    found = table()
    assert len(found) == 4
    for name in found:
        column = found[name]
        assert not isinstance(column.dtype, pd.DatetimeTZDtype | pd.PeriodDtype), name
        for value in column:
            allowed = str, int, float, np.integer, np.floating, pd.Timestamp
            assert value is pd.NA or isinstance(value, allowed), name
            assert not CONTROL.search(str(value))
    assert any("bell" in query for query in found["query"])


def test_times_are_in_utc() -> None:
    before = datetime.now(UTC).replace(tzinfo=None)
    times = table()["time"]
    after = datetime.now(UTC).replace(tzinfo=None)
    assert times.between(pd.Timestamp(before) - pd.Timedelta("1s"), after).all()
    assert "+00:00" in pd.read_csv(exported(), dtype=str)["time"][0]  # a statement says the zone


def exported() -> Any:
    from io import StringIO

    from dppandas.ledger import statement

    ledger = dp.ledger()
    return StringIO(statement.as_csv(statement.table(ledger._entries(), ("epsilon",), True)))


def test_it_is_written_and_read_again(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    found = table()
    found.to_excel(tmp_path / "ledger.xlsx")
    again = pd.read_excel(tmp_path / "ledger.xlsx", index_col="release")
    assert again["query"].tolist() == found["query"].tolist()
    assert (again["time"] - found["time"]).abs().max() < pd.Timedelta("1s")
