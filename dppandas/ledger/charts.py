"""What all releases cost after each cell, followed release by release and drawn as SVG.

Made of the ledger's public figures. The picture is self-contained.
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
            spending = spending.plus(((e.source, e.path), e.loss) for e in charges)
            label, after = cell_of(ledger, charges[0]) or "–", first(spending.total)
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
    since = ParallelComposition().plus(((e.source, e.path), e.loss) for e in ledger.charges(FIRST))
    now = ledger.spending.losses
    before = {place: loss - since.losses.get(place, Loss()) for place, loss in now.items()}
    return ledger.count - FIRST, ParallelComposition().plus(before.items()), ()


def cell_of(ledger: Snapshot, entry: Entry) -> str:
    """The cell of an entry as [4], or [4]† in another kernel."""
    cell = "" if entry.cell is None else f"[{entry.cell}]"
    return cell if ledger.is_here(entry) else f"{cell}†"


_HEIGHT, _WIDTH, _TOP = 72, 600, 6
_WIDEST, _LABEL = 44, 30


def svg(ledger: Snapshot, steps: Iterable[Step]) -> str:
    """A bar for each cell, as high as all that was spent by then; its dark end is what the cell
    itself spent. The dashed line is the budget."""
    steps = list(steps)
    if not steps:
        return ""
    if steps[0].before:
        steps = [Step("before", ("", None), Epsilon(0), steps[0].before), *steps]
    whole = max(ledger.budget or Epsilon(0), steps[-1].after) or Epsilon(1)
    wide = min(_WIDEST, _WIDTH / len(steps))
    every = -(-_LABEL // int(wide))  # how many bars share the space of a label
    drawn = [_bar(step, i * wide, wide, whole, i % every == 0) for i, step in enumerate(steps)]
    width, bottom = wide * len(steps), _TOP + _HEIGHT
    drawn.append(f'<path class="dp-axis" d="M0 {bottom}.5H{width:.4g}"/>')
    if ledger.budget is not None:
        level = bottom - _HEIGHT * float(ledger.budget / whole)
        drawn.append(f'<path class="dp-limit" d="M0 {level:.4g}H{width:.4g}"/>')
        drawn.append(f'<text x="{width + 4:.4g}" y="{level + 4:.4g}">{ledger.budget}</text>')
    said = ", ".join(f"{step.label} {step.after}" for step in steps)
    label = f"{ledger.terms.measure.symbol} spent in all, cell by cell: {said}"
    size = f"{width + 48:.4g} {bottom + 18}"
    return (
        f'<svg class="dp-chart" role="img" aria-label="{escape(label)}" viewBox="0 0 {size}" '
        f'width="{width + 48:.4g}" height="{bottom + 18}">{"".join(drawn)}</svg>'
    )


def _bar(step: Step, left: float, wide: float, whole: Epsilon, is_labelled: bool) -> str:
    bottom = _TOP + _HEIGHT
    high, low = (_HEIGHT * float(part / whole) for part in (step.after, step.before))
    own = max(high - low, 1.0)  # however little a cell spends, it is visible
    thick = wide * 0.72
    said = escape(f"{step.label}: {Epsilon(step.after - step.before)}, {step.after} in all")
    text = f'<text x="{left:.4g}" y="{bottom + 13}">{escape(step.label)}</text>'
    return (
        f"<g><title>{said}</title>"
        f'<rect class="dp-sofar" x="{left:.4g}" y="{bottom - low:.4g}" width="{thick:.4g}" '
        f'height="{low:.4g}"/><rect class="dp-own" x="{left:.4g}" y="{bottom - low - own:.4g}" '
        f'width="{thick:.4g}" height="{own:.4g}"/>{text if is_labelled else ""}</g>'
    )
