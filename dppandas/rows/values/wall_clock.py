"""Times on the clock of their zone."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .cells import Cell
from .forms import clock, tzinfo


@lru_cache(maxsize=2**16)
def wall_nanos(cell: Cell) -> int | None:
    """What the clock on the wall shows at a zoned instant, as nanoseconds since 1970: as `wall`
    says of a whole column of them."""
    nanos, zone = cell[1]
    micros, rest = divmod(nanos, 1000)
    local, null = clock(np.array([micros]), np.zeros(1, dtype=bool), tzinfo(zone))
    return None if null[0] else int(local[0]) * 1000 + rest
