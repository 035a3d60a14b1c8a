"""What all releases cost after each cell, followed release by release and drawn as a small chart.

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
from .colours import COLOURS, INK
from .snapshot import Snapshot

#: The newest cells that are drawn; the line begins at what was spent before them.
DRAWN = 32
#: Of so many it is told what was spent, where the picture isn't seen.
TOLD = 10
#: Up to so many cells, the table says as much.
FEW = 4
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
        entries = ledger.charges(new, whole=False) if new > 0 else []
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
    last = ledger.charges(FIRST, whole=False)
    since = ParallelComposition().plus(charge for entry in last for charge in entry.charges)
    now = ledger.spending.losses
    before = {place: loss - since.losses.get(place, Loss()) for place, loss in now.items()}
    return ledger.count - FIRST, ParallelComposition().plus(before.items()), ()


#: Of the picture, of the part between its axes, and of a figure in it: pixels.
_WIDTH, _HEIGHT, _TOP, _BOTTOM, _DIGIT = 360, 96, 6, 76, 6.5
#: Seen on light and on dark grounds: an image can't know the theme of the page around it. Nothing
#: is filled below the line: a fill that words can be read on is hardly seen.
LINE, LIMIT = COLOURS[0], INK


def line(ledger: Snapshot, steps: Sequence[Step]) -> str:
    """All that was spent, cell by cell, as an image with axes; "" for few cells. The dashed line is
    the budget."""
    if len(steps) <= FEW:
        return ""
    whole = max(ledger.budget or Epsilon(0), steps[-1].after) or Epsilon(1)
    symbol, most = ledger.terms.measure.symbol, words.short(whole)
    drawn, said = _svg(ledger, steps, whole, most), _told(steps)
    size = f'width="{_WIDTH}" height="{_HEIGHT}"'
    return (
        f'<img {size} alt="{escape(f"{symbol} spent in all, cell by cell: {said}")}" '
        f'src="data:image/svg+xml,{quote(drawn, safe=_PLAIN)}" style="max-width:100%;height:auto">'
    )


#: What an address may have as it is, besides letters and digits.
_PLAIN = "/:=()',;"


def _told(steps: Sequence[Step]) -> str:
    """The last of them, for screen readers."""
    return ", ".join(f"{step.label} {words.short(step.after)}" for step in steps[-TOLD:])


def _svg(ledger: Snapshot, steps: Sequence[Step], whole: Epsilon, most: str) -> str:
    """The picture: the amounts along the left edge, and the cells below."""
    left = 8 + round(_DIGIT * len(most))
    wide = (_WIDTH - 2 - left) / (len(steps) + 0.5)  # half of one for what was spent before
    levels = [_level(spent, whole) for spent in (steps[0].before, *(step.after for step in steps))]
    end = _WIDTH - 2
    rises = "".join(f"V{level:.3g}h{wide:.4g}" for level in levels[1:])
    path = f"M{left} {_BOTTOM}V{levels[0]:.3g}h{wide / 2:.4g}{rises}"
    budget = ""
    if ledger.budget is not None:
        level = _level(ledger.budget, whole)
        budget = _stroke(f"M{left} {level:.4g}H{end}", LIMIT, " stroke-dasharray='4 3'")
        budget += _text(left + 5, level + 13, "start", "budget")
    axes = _stroke(f"M{left} {_TOP}V{_BOTTOM}H{end}", LIMIT)
    spent = _stroke(path, LINE, " stroke-width='2'")
    texts = [
        (left - 5, _TOP + 6, "end", most), (left - 5, _BOTTOM, "end", "0"),
        (left, _HEIGHT - 4, "start", steps[0].label), (end, _HEIGHT - 4, "end", steps[-1].label),
        ((left + end) // 2, _HEIGHT - 4, "middle", "cell"),
    ]  # fmt: skip
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{_HEIGHT}' "
        f"font-family='sans-serif' font-size='11' fill='{INK}'>{axes}{budget}{spent}"
        f"{''.join(_text(*each) for each in texts)}</svg>"
    )


def _level(spent: Epsilon, whole: Epsilon) -> float:
    """How far below the upper edge an amount is drawn."""
    return _BOTTOM - (_BOTTOM - _TOP) * float(spent / whole)


def _stroke(path: str, colour: str, more: str = "") -> str:
    return f"<path d='{path}' fill='none' stroke='{colour}'{more}/>"


def _text(x: float, y: float, anchor: str, said: str) -> str:
    return f"<text x='{x:.4g}' y='{y:.4g}' text-anchor='{anchor}'>{escape(said)}</text>"
