"""``df.dp`` and ``series.dp``: importing this registers them with pandas, and lets merges keep
what they come from."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pandas as pd
from pandas.core.reshape.merge import (  # type: ignore[attr-defined]
    _MergeOperation,
    _OrderedMerge,
)

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


def _keep_tokens(merge: Any) -> None:
    """Let a merge keep the token of a source that both sides have. pandas loses attrs in ordered
    merges and where one side has more of them, and before version 3 in most others: then rows that
    were merged with themselves would be a source like any other."""
    merged = merge.get_result

    @functools.wraps(merged)
    def get_result(self: Any, *given: Any, **named: Any) -> Any:
        result = merged(self, *given, **named)
        left, right = self.orig_left.attrs, self.orig_right.attrs
        if left and right:
            from .rows.facts.keys import SOURCE_ATTR  # only where there may be one

            if SOURCE_ATTR in left and left[SOURCE_ATTR] == right.get(SOURCE_ATTR):
                result.attrs = {**result.attrs, SOURCE_ATTR: left[SOURCE_ATTR]}
        return result

    merge.get_result = get_result


for _merge in (_MergeOperation, _OrderedMerge):
    _keep_tokens(_merge)
