"""Times on the clock of their zone."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .cells import Cell, canonical
from .objects import value_of


@lru_cache(maxsize=2**16)
def wall_nanos(cell: Cell) -> int | None:
    """What the clock on the wall shows at a zoned instant, as nanoseconds since 1970."""
    time: Any = value_of(cell)
    try:
        exact = canonical(time.tz_localize(None))[1]
    except Exception:  # an instant that its zone moves beyond all times
        return None
    return exact if isinstance(exact, int) else None
