"""What all releases have cost after each cell: followed release by release, and drawn as SVG.

Made of the ledger's public figures; the picture needs nothing from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import groupby
from typing import NamedTuple

from ..privacy.accounting.composition import ParallelComposition
from ..privacy.accounting.losses import Epsilon, Loss
from .snapshot import Snapshot
from .storage.store import Entry

#: The newest cells that are drawn; what was spent before them is one bar.
DRAWN = 32
#: A ledger that is longer at the start is followed from here: the rest is one bar.
FIRST = 1000


class Step(NamedTuple):
    """One cell's charges, in a row: what all cost before and after them."""

    label: str
    place: tuple[str, int | None]
    before: Epsilon
    after: Epsilon


class Steps:
    """What all charges cost after each cell; each charge is read once."""

    def __init__(self) -> None:
        # One value, so that two threads that follow at once only do the same twice.
        self._state: tuple[int, ParallelComposition, tuple[Step, ...]] = (
            0,
            ParallelComposition(),
            (),
        )

    def follow(self, ledger: Snapshot) -> tuple[Step, ...]:
        """Take in what was charged since the last time."""
        last, spending, steps = self._state
        if not last:
            last, spending, steps = _start(ledger)
        new = ledger.count - last
        entries = ledger.charges(new) if new > 0 else []
        first = ledger.terms.measure.first
        for place, group in groupby(entries, lambda e: (e.kernel, e.cell)):
            charges = list(group)
            before = steps[-1].after if steps else first(spending.total)
            spending = spending.plus(((e.source, e.path), e.loss) for e in charges)
            label, after = cell_of(ledger, charges[0]) or "–", first(spending.total)
            if steps and steps[-1].place == place:
                before, steps = steps[-1].before, steps[:-1]
            steps = (*steps, Step(label, place, before, after))[-DRAWN:]
            last = charges[-1].number
        self._state = last, spending, steps
        return steps


def _start(ledger: Snapshot) -> tuple[int, ParallelComposition, tuple[Step, ...]]:
    """Where a long ledger is followed from: what was spent there is what is spent now, without
    what was charged since."""
    if ledger.count <= FIRST:
        return 0, ParallelComposition(), ()
    since = ParallelComposition().plus(((e.source, e.path), e.loss) for e in ledger.charges(FIRST))
    now = ledger.spending.losses
    before = {place: loss - since.losses.get(place, Loss()) for place, loss in now.items()}
    return ledger.count - FIRST, ParallelComposition(before), ()


def cell_of(ledger: Snapshot, entry: Entry) -> str:
    """The cell of an entry: [4], or [4]† in another kernel."""
    cell = "" if entry.cell is None else f"[{entry.cell}]"
    return cell if ledger.is_here(entry) else f"{cell}†"


_HEIGHT, _WIDTH, _TOP = 72, 600, 6
_WIDEST, _LABEL = 44, 30


def svg(ledger: Snapshot, steps: Iterable[Step]) -> str:
    """A bar for each cell, as high as all that was spent by then; what the cell itself spent is
    the dark end of it. The dashed line is the budget."""
    steps = list(steps)
    if not steps:
        return ""
    if steps[0].before:
        steps = [Step("before", ("", None), Epsilon(0), steps[0].before), *steps]
    whole = max(ledger.budget or Epsilon(0), steps[-1].after) or Epsilon(1)
    wide = min(_WIDEST, _WIDTH / len(steps))
    every = -(-_LABEL // int(wide))  # so many bars share a label's room
    drawn = [_bar(step, i * wide, wide, whole, i % every == 0) for i, step in enumerate(steps)]
    width, bottom = wide * len(steps), _TOP + _HEIGHT
    drawn.append(f'<path class="dp-axis" d="M0 {bottom}.5H{width:.4g}"/>')
    if ledger.budget is not None:
        level = bottom - _HEIGHT * float(ledger.budget / whole)
        drawn.append(f'<path class="dp-limit" d="M0 {level:.4g}H{width:.4g}"/>')
        drawn.append(f'<text x="{width + 4:.4g}" y="{level + 4:.4g}">{ledger.budget}</text>')
    symbol = ledger.terms.measure.symbol
    said = ", ".join(f"{step.label} {step.after}" for step in steps)
    label = escape(f"{symbol} spent in all, cell by cell: {said}", quote=True)
    size = f"{width + 48:.4g} {bottom + 18}"
    return (
        f'<svg class="dp-chart" role="img" aria-label="{label}" viewBox="0 0 {size}" '
        f'width="{width + 48:.4g}" height="{bottom + 18}">{"".join(drawn)}</svg>'
    )


def _bar(step: Step, left: float, wide: float, whole: Epsilon, is_labelled: bool) -> str:
    bottom = _TOP + _HEIGHT
    high, low = (_HEIGHT * float(part / whole) for part in (step.after, step.before))
    own = max(high - low, 1.0)  # what a cell spends is seen, however little
    thick = wide * 0.72
    said = escape(f"{step.label}: {Epsilon(step.after - step.before)}, {step.after} in all")
    text = f'<text x="{left:.4g}" y="{bottom + 13}">{escape(step.label)}</text>'
    return (
        f"<g><title>{said}</title>"
        f'<rect class="dp-sofar" x="{left:.4g}" y="{bottom - low:.4g}" width="{thick:.4g}" '
        f'height="{low:.4g}"/><rect class="dp-own" x="{left:.4g}" y="{bottom - low - own:.4g}" '
        f'width="{thick:.4g}" height="{own:.4g}"/>{text if is_labelled else ""}</g>'
    )
