"""A ledger as text, for a terminal and for exports that can't show HTML."""

from __future__ import annotations

from collections.abc import Sequence

from ..privacy.accounting.losses import in_short
from . import words
from .snapshot import Snapshot
from .storage.store import Entry

#: How many of the newest charges are shown; dp.ledger().to_frame() has the rest.
SHOWN = 200


def text(ledger: Snapshot, last: int | None = SHOWN, charges: Sequence[Entry] | None = None) -> str:
    """The ledger for a terminal: its last charges, or all (None).

    charges : the last charges, if the caller has read them already.
    """
    charges = ledger.charges(last) if charges is None else charges
    lines = [f"dppandas ledger · {words.summary(ledger)}"]
    if ledger.budget is not None:
        filled = round(30 * float(ledger.spent / ledger.budget))
        lines.append("[" + "#" * filled + "." * (30 - filled) + "]")
    if not charges and last != 0:
        return "\n".join(lines)
    sources = [f"{name} {in_short(spent)}" for name, spent in ledger.by_source().items()]
    lines.append(f"by source: {', '.join(sources)}")
    head = ("release", "cell", "source", words.counted(ledger), "error (95 %)", "question")
    again = words.again(ledger, charges)
    rows = [head, *(_row(ledger, entry, again) for entry in charges)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    if ledger.count > len(charges):
        lines.append(words.earlier(ledger.count - len(charges)))
    return "\n".join(lines + ([] if all(map(ledger.is_here, charges)) else [words.ELSEWHERE]))


def _row(ledger: Snapshot, entry: Entry, again: dict[int, str]) -> tuple[str, ...]:
    mark = words.mark(entry)
    source = entry.source + (f" ({mark})" if mark else "")
    # cells of replays differ from run to run: last, so that they don't move the other columns
    said = " · ".join(filter(None, [words.asked(entry), again.get(entry.number, "")]))
    return (
        str(entry.number), words.cell(ledger, entry), source,
        words.loss_in_words(ledger, entry.loss), entry.known_error, said,
    )  # fmt: skip
