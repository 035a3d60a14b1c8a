"""``df.dp`` and ``series.dp``: importing this registers them with pandas, and lets merges of an old
pandas keep what they come from."""

from __future__ import annotations

import functools
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


def _keep_attrs_in_merges() -> None:
    """Before version 3 pandas lost attrs in most merges, and with them the token of a source: rows
    that were merged with themselves would then be a source like any other. As in pandas 3, attrs
    of a source stay if both sides have the same."""
    from pandas.core.reshape.merge import _MergeOperation  # type: ignore[attr-defined]

    merged = _MergeOperation.get_result

    @functools.wraps(merged)
    def get_result(self: Any, *given: Any, **named: Any) -> Any:
        result, attrs = merged(self, *given, **named), self.left.attrs
        if attrs and attrs == self.right.attrs:
            from .rows.facts.keys import SOURCE_ATTR

            if SOURCE_ATTR in attrs:
                result.attrs = dict(attrs)
        return result

    _MergeOperation.get_result = get_result


if int(pd.__version__.partition(".")[0]) < 3:
    _keep_attrs_in_merges()
