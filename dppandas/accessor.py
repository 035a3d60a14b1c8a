"""``df.dp`` and ``series.dp``: importing this registers them with pandas."""

from __future__ import annotations

import pandas as pd

from .frames.protect import private

_DOC = "Differentially private answers about these rows."

# Properties rather than pandas' register_…_accessor: pandas 2 keeps the first accessor of a frame
# for good, and it would miss columns that are added, and calls of dp.protect and dp.reset.
pd.DataFrame.dp = pd.Series.dp = property(private, doc=_DOC)  # type: ignore[attr-defined]
