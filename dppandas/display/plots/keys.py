"""Where the keys of an answer stand on an axis, and how they are labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...dataclasses import dataclass
from .base import Floats, texts_of
from .fonts import families_for
from .scales import days_of, number_axis, time_axis
from .short_labels import breadth, folded, level

#: With more keys than this, numbers are dots with whiskers.
MOST_BARS = 30
#: Points of the room for labels along the foot of a plot, of a letter, and between labels.
ROOM, LETTER, GAP = 400.0, 6.0, 8.0
#: Inches of the tallest plot, and lines of a label along the foot.
TALLEST, FOLDED = 14.0, 3


@dataclass(frozen=True)
class KeyAxis:
    """The axis of keys: along the foot, or down the side where labels are long."""

    index: pd.Index
    at: Floats
    width: float  # of a bar
    is_down: bool = False
    is_binned: bool = False  # bars touch, as those of a histogram do
    zone: Any = False  # of a time axis; False for other axes

    @property
    def size(self) -> tuple[float, float]:
        """Inches of axes that it suits."""
        number = len(self.index)
        if not self.is_down:
            return 6.4, 4.0 if number else 1.0
        longest = max(map(_breadth, self.labels))
        each = 0.2 if number > MOST_BARS else 0.38 if "\n" in "".join(self.labels) else 0.3
        return 6.4 + 0.06 * max(0, longest - 20), min(TALLEST, 1.2 + each * number)

    @property
    def labels(self) -> list[str]:
        """The keys as they are written: in two lines where there is room."""
        return texts_of(self.index, 2 if self.is_down and len(self.index) <= MOST_BARS else 1)

    @property
    def values(self) -> str:
        """The axis of the values."""
        return "x" if self.is_down else "y"

    def dress(self, ax: Any) -> str:
        """Label the keys; returns a sentence about labels that are left out."""
        axis, number = (ax.yaxis if self.is_down else ax.xaxis), len(self.index)
        if self.is_binned or self.zone is not False:
            number_axis(axis) if self.zone is False else time_axis(axis, self.zone)
            return ""
        box, labels = ax.get_window_extent(), self.labels
        points = (box.height if self.is_down else box.width) / ax.figure.dpi * 72
        if self.is_down:
            needed = 11.0 * (1 + max(label.count("\n") for label in labels))
        else:
            letters = max(1, int((points / max(1, number) - GAP) / LETTER))
            labels = level([folded(label, letters, FOLDED) for label in labels])
            needed = max(map(_breadth, labels), default=1) * LETTER + GAP
        every = max(1, int(np.ceil(needed * number / points)))
        families = families_for("".join(labels))
        more = {} if families is None else {"fontfamily": families}
        axis.set_ticks(self.at[::every], labels[::every], fontsize=9, **more)
        axis.set_tick_params(length=0)
        if self.is_down:
            ax.set_ylim(number - 0.4, -0.6)
        else:
            ax.set_xlim(-0.6, number - 0.4)
        return "" if every == 1 else f"One label in {every} is written."


def key_axis(index: pd.Index) -> KeyAxis:
    """The axis that suits an index."""
    binned = _bins(index)
    if binned is not None:
        left, width, zone = binned
        return KeyAxis(index, left + width / 2, width, is_binned=True, zone=zone)
    if _are_times(index):
        times = index.to_timestamp() if isinstance(index, pd.PeriodIndex) else index
        at = days_of(times)
        width = 0.8 * float(np.diff(at).min())
        return KeyAxis(index, at, width, zone=_zone(times))
    at = np.arange(len(index), dtype="float64")
    longest = max(map(_breadth, texts_of(index)), default=1)
    is_down = len(index) * (longest * LETTER + GAP) > ROOM and not _is_ordered(index)
    return KeyAxis(index, at, 0.72, is_down)


def _breadth(label: str) -> int:
    return max(map(breadth, label.split("\n")))


def _are_times(index: pd.Index) -> bool:
    """Whether keys are times in order, three at least, so that they stand on an axis of time."""
    is_kind = isinstance(index, pd.DatetimeIndex | pd.PeriodIndex)
    return bool(is_kind and len(index) > 2 and index.is_monotonic_increasing and index.is_unique)


def _zone(index: Any) -> Any:
    return None if getattr(index, "tz", None) is None else str(index.tz)


def _is_ordered(index: pd.Index) -> bool:
    """Whether labels that are left out can be read off between their neighbours."""
    is_number = pd.api.types.is_numeric_dtype(index.dtype) and index.dtype != bool
    return bool(is_number and index.is_monotonic_increasing)


def _bins(index: pd.Index) -> tuple[Floats, float, Any] | None:
    """The left ends and the width of bins of one width, and their zone; None where bars as wide as
    the bins would mislead."""
    if not isinstance(index, pd.IntervalIndex) or not len(index):
        return None
    zone: Any = False
    if isinstance(index.left, pd.DatetimeIndex):
        left, right, zone = days_of(index.left), days_of(index.right), _zone(index.left)
    elif pd.api.types.is_numeric_dtype(index.left.dtype):
        left, right = (np.asarray(end, dtype="float64") for end in (index.left, index.right))
    else:
        return None
    widths = right - left
    finite = bool(np.isfinite(widths).all())
    return (left, float(widths[0]), zone) if finite and np.ptp(widths) <= 1e-6 * widths[0] else None
