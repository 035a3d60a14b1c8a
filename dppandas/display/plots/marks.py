"""Marks of numbers that noise dominates: by shape, so that they are seen without colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from .style import TEAL

Bools = npt.NDArray[np.bool_]

HOLLOW = "Hollow: noise dominates."
CROSS = "×: the group may be empty."
#: Of cells of a heat map, where no dot is drawn.
HATCH, CROSSHATCH = "///", "xx"


@dataclass(frozen=True)
class Marks:
    """Which numbers noise dominates, and which of these are of groups that may be empty."""

    hollow: Bools
    empty: Bools

    @property
    def words(self) -> str:
        """What the caption says of hollow dots and bars, and of crosses."""
        said = [(self.hollow, HOLLOW), (self.empty, CROSS)]
        return " ".join(words for which, words in said if which.any())

    def at(self, places: Any) -> Marks:
        return Marks(self.hollow[places], self.empty[places])

    def reshape(self, *shape: int) -> Marks:
        return Marks(self.hollow.reshape(*shape), self.empty.reshape(*shape))


def marks_of(is_dominated: Sequence[Any], is_maybe_empty: Sequence[Any]) -> Marks:
    """Marks of those that are known to be so."""
    flags = (np.array([each is True for each in of], dtype=bool) for of in (
        is_dominated, is_maybe_empty,
    ))  # fmt: skip
    return Marks(*flags)


def draw_points(
    ax: Any, x: Any, y: Any, marks: Marks, shape: str = "o", *, color: str = TEAL,
    label: str = "", **how: Any,
) -> None:  # fmt: skip
    """Draw numbers as points, hollow where noise dominates, and crossed where there may be no rows.

    The legend has the first kind that is drawn.
    """
    x, y = np.asarray(x), np.asarray(y)
    for which, filled in ((~marks.hollow, color), (marks.hollow, "none")):
        if which.any():
            ax.plot(
                x[which], y[which], shape, color=color, markerfacecolor=filled,
                label=label or "_numbers", **how,
            )  # fmt: skip
            label = ""
    draw_crosses(ax, x, y, marks, **how)


def draw_crosses(ax: Any, x: Any, y: Any, marks: Marks, *, color: str = TEAL, **how: Any) -> None:
    """Draw a cross at each number whose group may be empty."""
    if not marks.empty.any():
        return
    how = {"markersize": 7, "zorder": 5, **how, "linestyle": "none", "clip_on": False}
    how["markersize"] *= 1.6  # beyond the dot, and beside the whisker
    at = np.asarray(x)[marks.empty], np.asarray(y)[marks.empty]
    ax.plot(*at, "x", color=color, gid="may be empty", label="_empty", **how)
