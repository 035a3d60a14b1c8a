"""Where levels tell how many rows a cell has, codes say the same."""

import numpy as np
import pandas as pd
import pytest

from dppandas.engines.blocks import Block
from dppandas.engines.pandas import PandasEngine
from dppandas.rows.expressions import Column
from dppandas.rows.facts.bounds import Bounds
from dppandas.rows.facts.keys import Keys
from dppandas.rows.facts.units import Unit
from dppandas.statistics.base import count_by
from dppandas.statistics.layout import Cells, Layout
from dppandas.statistics.moments.means import Mean

ROWS = 1001
LABELS = ("b", "a", 1, "missing here", "2020-01-01")


def table(seed: int) -> pd.DataFrame:
    """Categories in another order than keys: some aren't keys, and two equal one key."""
    rng = np.random.default_rng(seed)
    categories = pd.Index(
        ["a", "b", "other", 1, "2020-01-01", pd.Timestamp("2020-01-01")], dtype=object
    )
    codes = rng.integers(-1, len(categories), ROWS)
    x = np.where(rng.random(ROWS) < 0.1 * (seed % 3), np.nan, rng.integers(-3, 9, ROWS))
    return pd.DataFrame({"c": pd.Categorical.from_codes(codes, categories), "x": x})


def whole(frame: pd.DataFrame) -> Block:
    return PandasEngine(frame, Unit(), b"key")._rows().block(0, len(frame))


@pytest.mark.parametrize("seed", range(6))
def test_a_tally_is_what_codes_say(seed: int) -> None:
    block = whole(table(seed))
    cells = Cells((Column("c"),), Keys(LABELS))
    for keep in (None, np.arange(ROWS) % 3 == 0, np.zeros(ROWS, dtype=bool)):
        found = cells.tally(block, keep)
        assert found is not None
        assert found.tolist() == count_by(cells.codes(block, keep), None, ROWS, 5).tolist()
    with_missing = Cells((Column("c"),), Keys(LABELS), missing_cell=True)
    for other in (Cells(), Cells((Column("x"),), Keys((1, 2))), with_missing):
        assert other.tally(block, None) is None


@pytest.mark.parametrize("seed", range(6))
def test_means_of_categories_are_those_of_objects(seed: int) -> None:
    frame = table(seed)
    cells = Cells((Column("c"),), Keys(LABELS))
    asked = Mean(cells, Layout(False), (Column("x"),), (Bounds(0, 8),))
    for keep in (None, np.arange(ROWS) % 3 == 0):
        own = asked.kernel(whole(frame), keep)
        same = asked.kernel(whole(frame.astype({"c": object})), keep)
        assert own.tolist() == same.tolist()
