"""What a caller wants protected. What reads anything but frames of pandas is loaded with the first
that is given."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ...errors import QueryError
from .base import Given
from .pandas_frames import PandasFrame


def given(data: Any, materialize: object, prune: object) -> Given:
    """What a caller wants protected, if it can be."""
    for name, flag in (("materialize", materialize), ("prune", prune)):
        if not isinstance(flag, bool):
            raise QueryError(f"{name}= must be True or False.")
    if isinstance(data, pd.DataFrame):
        return PandasFrame(data)
    from .elsewhere import held_elsewhere

    return held_elsewhere(data, bool(materialize), bool(prune))
