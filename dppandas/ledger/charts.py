"""What all releases cost after each cell, followed release by release and drawn as a small line.

Made of the ledger's public figures. The picture is self-contained: an image in the page itself,
which front ends show where they remove SVG, as JupyterLab does in a notebook that isn't trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple
from urllib.parse import quote

from ..privacy.accounting.composition import ParallelComposition
from ..privacy.accounting.losses import Epsilon, Loss
from . import words
from .colours import COLOURS
from .snapshot import Snapshot

#: The newest cells that are drawn; the line begins at what was spent before them.
DRAWN = 32
#: Up to so many cells, the table says as much.
FEW = 8
#: If a ledger has more releases when it is first shown, it is followed from the last ones.
FIRST = 1000


class Step(NamedTuple):
    """Consecutive charges of one cell: what all charges cost before and after them."""

    label: str
    place: tuple[str, int | None]
    before: Epsilon
    after: Epsilon


class Steps:
    """What all charges cost after each cell. Each charge is read once."""

    # One value, so that two threads that follow at once only do the same work twice.
    _state: tuple[int, ParallelComposition, tuple[Step, ...]] = (0, ParallelComposition(), ())

    def follow(self, ledger: Snapshot) -> tuple[Step, ...]:
        """Take in the charges since the last time."""
        last, spending, steps = self._state
        if not last:
            last, spending, steps = _start(ledger)
        new = ledger.count - last
        entries = ledger.charges(new) if new > 0 else []
        first = ledger.terms.measure.first
        for place, group in groupby(entries, lambda e: (e.kernel, e.cell)):
            charges = list(group)
            before = steps[-1].after if steps else first(spending.total)
            spending = spending.plus(each for e in charges for each in e.charges)
            label, after = words.plain_cell(ledger, charges[0]) or "–", first(spending.total)
            if steps and steps[-1].place == place:
                before, steps = steps[-1].before, steps[:-1]
            steps = (*steps, Step(label, place, before, after))[-DRAWN:]
            last = charges[-1].number
        self._state = last, spending, steps
        return steps


def _start(ledger: Snapshot) -> tuple[int, ParallelComposition, tuple[Step, ...]]:
    """Where a long ledger is followed from. What was spent by then is what is spent now, less what
    was charged since."""
    if ledger.count <= FIRST:
        return 0, ParallelComposition(), ()
    last = ledger.charges(FIRST)
    since = ParallelComposition().plus(charge for entry in last for charge in entry.charges)
    now = ledger.spending.losses
    before = {place: loss - since.losses.get(place, Loss()) for place, loss in now.items()}
    return ledger.count - FIRST, ParallelComposition().plus(before.items()), ()


_WIDTH, _HEIGHT = 160, 28
#: Seen on light and on dark grounds: an image can't know the theme of the page around it.
LINE, LIMIT = COLOURS[0], "#808080"


def line(ledger: Snapshot, steps: Sequence[Step]) -> str:
    """All that was spent, cell by cell, as an image; "" for few cells. The dashed line is the
    budget."""
    if len(steps) <= FEW:
        return ""
    whole = max(ledger.budget or Epsilon(0), steps[-1].after) or Epsilon(1)
    levels = [_level(spent, whole) for spent in (steps[0].before, *(step.after for step in steps))]
    wide = _WIDTH / len(steps)
    path = f"M0 {levels[0]:.4g}" + "".join(
        f"H{i * wide:.4g}V{level:.4g}" for i, level in enumerate(levels[1:])
    )
    budget = (
        ""
        if ledger.budget is None
        else _stroke(
            f"M0 {_level(ledger.budget, whole):.4g}H{_WIDTH}", LIMIT, ' stroke-dasharray="3 3"'
        )
    )
    drawn = budget + _stroke(f"{path}H{_WIDTH}", LINE, ' stroke-width="2"')
    size = f'width="{_WIDTH}" height="{_HEIGHT}"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{drawn}</svg>'
    symbol = ledger.terms.measure.symbol
    said = ", ".join(f"{step.label} {words.short(step.after)}" for step in steps)
    return (
        f'<img {size} alt="{escape(f"{symbol} spent in all, cell by cell: {said}")}" '
        f'src="data:image/svg+xml,{quote(svg)}" style="vertical-align:middle">'
    )


def _level(spent: Epsilon, whole: Epsilon) -> float:
    """How far below the upper edge an amount is drawn; lines are as wide as two pixels."""
    return _HEIGHT - 2 - (_HEIGHT - 4) * float(spent / whole)


def _stroke(path: str, colour: str, more: str) -> str:
    return f'<path d="{path}" fill="none" stroke="{colour}"{more}/>'
