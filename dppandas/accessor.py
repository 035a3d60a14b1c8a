"""``df.dp`` and ``series.dp``: registered with pandas by being imported."""

from __future__ import annotations

import pandas as pd

from .errors import hide_internals
from .frames.frame import PrivateFrame
from .frames.protect import private
from .frames.series import PrivateSeries


@hide_internals
def _of_frame(df: pd.DataFrame) -> PrivateFrame:
    """``df.dp``: differentially private answers from this DataFrame."""
    frame: PrivateFrame = private(df)
    return frame


@hide_internals
def _of_series(series: pd.Series) -> PrivateSeries:
    """``series.dp``: differentially private answers from this Series."""
    column: PrivateSeries = private(series)
    return column


# Properties, and not pandas' register_…_accessor: pandas 2 keeps the first accessor it makes of a
# frame for good, which would then never hear of columns added, or of dp.protect and dp.reset.
pd.DataFrame.dp = property(_of_frame)  # type: ignore[attr-defined]
pd.Series.dp = property(_of_series)  # type: ignore[attr-defined]
