"""``df.dp`` and ``series.dp``: importing this registers them with pandas."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd

from .errors import hide_internals


def _imported(rows: Any, named: Any) -> tuple[Any, dict[str, Any]]:
    """What is called in place of `_private`. Where the import fails, no frame shows rows."""
    from .frames.protect import private  # most of dppandas: imported with the first use

    _register(private)
    return private, named


def _private(df: Any) -> Any:
    """Differentially private answers about these rows."""


def _register(getter: Any) -> None:
    pd.DataFrame.dp = pd.Series.dp = property(getter)  # type: ignore[attr-defined]
    if "dask.dataframe" in sys.modules:  # else with the first frame that is protected
        sys.modules["dask.dataframe"].DataFrame.dp = property(getter)


# Properties rather than pandas' register_…_accessor: pandas 2 keeps the first accessor of a frame
# for good, and it would miss columns that are added, and calls of dp.protect and dp.reset.
_register(hide_internals(_private, _imported))
