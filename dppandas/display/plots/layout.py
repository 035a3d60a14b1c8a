"""Where the panels of a new figure stand: in one stack, or in several side by side where one would
be taller than a screen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

from .base import Panel
from .style import pyplot

#: Inches of axes that a screen has room for, with their titles and captions.
SCREEN = 6.6
#: Inches of the width of each of one, two or three stacks, and the most of them.
WIDTHS = 6.4, 5.4, 4.4
#: How much of its height a panel among others has, and inches of the room around it.
LOWER, AROUND = 0.8, 0.5
#: The least of its height that a panel has, where even three stacks are too tall.
LEAST = 0.6


def new_axes(panels: Sequence[Panel], figsize: tuple[float, float] | None) -> list[Any]:
    """The axes of a new figure."""
    high = [panel.size[1] for panel in panels]
    if len(panels) > 1:
        high = [LOWER * each + AROUND for each in high]
    stacks = stacked(high, [bool(panel.caption) for panel in panels])
    shrunk = min(1.0, max(LEAST, SCREEN / max(map(sum, stacks))) if len(stacks) > 1 else 1.0)
    tallest = max(map(sum, stacks))
    widest = max(panel.size[0] for panel in panels)
    wide = widest if len(stacks) == 1 else (widest - WIDTHS[0]) / 2 + WIDTHS[len(stacks) - 1]
    figure = pyplot().figure(
        figsize=figsize or (len(stacks) * wide, shrunk * tallest), layout="constrained"
    )
    grid, axes = figure.add_gridspec(1, len(stacks)), list[Any]()
    for column, heights in enumerate(stacks):
        rest = tallest - sum(heights)
        ratios = [*heights, rest] if rest > 0.01 else list(heights)
        if len(panels) == 1:
            rows = [grid[0]]  # a grid inside takes a third of the time of a small plot
        else:
            rows = grid[column].subgridspec(len(ratios), 1, height_ratios=ratios)
        axes += [figure.add_subplot(rows[row]) for row in range(len(heights))]
    return axes


def stacked(heights: Sequence[float], is_last: Sequence[bool]) -> list[list[float]]:
    """The heights of panels in as few stacks as a screen has room for, in their order; in the most
    stacks, as low as can be, if none are low enough. Where a stack ends, an answer should end, too:
    ``is_last`` says of which panels one does."""
    most = min(len(WIDTHS), len(heights))
    ways = [
        (0, *cuts, len(heights))
        for number in range(most)
        for cuts in combinations(range(1, len(heights)), number)
    ]

    def worth(ends: tuple[int, ...]) -> tuple[bool, int, int, list[float]]:
        high = sorted((sum(heights[a:b]) for a, b in pairwise(ends)), reverse=True)
        if high[0] > SCREEN:
            return True, 0, 0, high
        inside = sum(not is_last[end - 1] for end in ends[1:-1])
        return False, len(ends), inside, high

    best = min(ways, key=worth)
    return [list(heights[start:end]) for start, end in pairwise(best)]
