"""What a caller says of the looks of a plot: the same words for every plot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...dataclasses import dataclass
from ...errors import QueryError, quoted
from ...ledger import marimo
from . import style


@dataclass(frozen=True)
class Look:
    """Axes to draw on, if they are given; words; and of a new figure its size and its ground."""

    ax: Any
    title: Any
    is_captioned: bool
    inches: tuple[float, float] | None
    ground: str | None

    def titles(self, own: Sequence[str]) -> list[str]:
        """The titles of as many panels, unless they are given."""
        if self.title is None:
            return list(own)
        titles = [self.title] if isinstance(self.title, str) else self.title
        is_list = isinstance(titles, Sequence) and all(isinstance(each, str) for each in titles)
        if not is_list or len(titles) != len(own):
            many = f"a list of {len(own)} texts, one for each panel"
            raise QueryError(
                f"title={quoted(self.title)} must be {'a text' if len(own) == 1 else many}."
            )
        return list(titles)

    def page(self) -> AbstractContextManager[None]:
        """The style of a new figure; axes that are given keep theirs. Of all notebooks marimo alone
        says on which ground it shows pictures (ADR 18)."""
        return style.page(self.ground or marimo.ground()) if self.ax is None else nullcontext()

    def write_around(self, axes: Any, titles: list[str], captions: list[str]) -> None:
        """Write titles and captions. A new figure grows by their room, unless it has a size."""
        said = captions if self.is_captioned else []
        style.write_around(axes, titles, said, self.ax is None, self.inches is None)


def parse_look(ax: Any, title: Any, caption: Any, figsize: Any, ground: Any) -> Look:
    """Checked, but for axes and titles, as it depends on the plot how many there are."""
    inches = _parse_figsize(figsize, ax)
    if not isinstance(caption, bool):
        raise QueryError(f"caption={quoted(caption)} must be True or False.")
    if ground is not None and ax is not None:
        raise QueryError("ground= is for a new figure, and ax= is part of one. Leave one out.")
    if ground is not None and ground not in (*style.INKS,):
        raise QueryError(f"ground={quoted(ground)} must be 'light' or 'dark'.")
    return Look(ax, title, caption, inches, ground)


def _parse_figsize(figsize: Any, ax: Any) -> tuple[float, float] | None:
    if figsize is None:
        return None
    if ax is not None:
        raise QueryError("figsize= is for a new figure, and ax= is part of one. Leave one out.")
    try:
        wide, high = map(float, figsize)
    except (TypeError, ValueError):
        wide = high = math.nan
    if not (1 <= wide <= 100 and 1 <= high <= 100):
        raise QueryError(
            f"figsize={quoted(figsize)} must be (width, height), in inches from 1 to 100."
        )
    return wide, high


def draw_alone(
    draw: Callable[[Any], str], title: str, size: tuple[float, float], look: Look
) -> Any:
    """Draw on the caller's axes, or on those of a new figure of this size, and return them. What
    draws returns the caption."""
    (title,) = look.titles([title])
    plt = style.pyplot()
    if look.ax is not None and not hasattr(look.ax, "fill_between"):
        raise QueryError(f"ax={quoted(look.ax)} must be matplotlib Axes.")
    with look.page():
        axes = look.ax
        if axes is None:
            _, axes = plt.subplots(figsize=look.inches or size, layout="constrained")
        look.write_around([axes], [title], [draw(axes)])
    return axes
