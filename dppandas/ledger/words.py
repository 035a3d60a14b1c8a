"""What a ledger says in words, the same on a page, in the widget and in a terminal.

A function of the ledger's public figures: no clock times, ids or tokens, so that a notebook that
runs twice looks the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from ..privacy.accounting.composition import ParallelComposition
from ..privacy.accounting.losses import Loss, in_short
from ..privacy.accounting.measures import Measure
from ..rows import sentences
from ..rows.figures import visible
from . import terminal
from .snapshot import Snapshot
from .storage.store import MISSING, NOT_COMPARED, Entry

#: Below this share of the budget a ledger is nearly spent.
LITTLE = Fraction(1, 10)

#: What the mark means.
ELSEWHERE = "† charged by another kernel, or by this one before it was restarted"

#: What a saved copy says, which is seen where no kernel updates the ledger.
READ_ONLY = "read only: the kernel has ended"


#: By draw, what is told of charges that are being answered: here nothing, as in all that is saved.
AT_REST: Mapping[str, str] = {}

#: What is told of charges of other kernels that have no answer: those that are being answered, and
#: those of which nobody knows.
ANSWERED_ELSEWHERE, UNKNOWN = "being answered in another session", "charged, no answer known"
OTHERS = (ANSWERED_ELSEWHERE, UNKNOWN)


def short(value: Fraction, down: bool = False) -> str:
    """A figure in at most four digits; with ``down`` it is never rounded up."""
    return in_short(value, down, digits=4)


def left(ledger: Snapshot) -> str:
    """What is left of the budget."""
    limit, first = ledger.terms.limit, ledger.terms.measure.first
    if limit is None:
        return "no limit: set one with dp.session(epsilon=…)"
    rest = first(limit - ledger.spending.total)
    return f"{short(rest, down=True)} of {ledger.terms.measure.symbol} = {short(first(limit))} left"


def spent(ledger: Snapshot) -> str:
    """What is spent, and on how many answers."""
    if not ledger.count:
        return "nothing spent yet"
    name = "" if ledger.terms.limit is not None else f"{ledger.terms.measure.symbol} = "
    answered, on = ledger.store.answered(), _many(ledger.count, "answer")
    if answered < ledger.count:
        on = f"{_many(ledger.count, 'release')}, {answered:,} answered"
    return f"{name}{short(ledger.spent)} spent on {on}".replace("= ≈", "≈")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def more(ledger: Snapshot) -> list[str]:
    """What else the head says: the file's name, δ, and what ρ means. Of a file's path only the
    name, because a path says something about the machine."""
    limit, said = ledger.terms.limit, []
    if ledger.store.path is not None:
        said.append(ledger.store.path.name)
    if ledger.caveats.accepted:
        said.append(MISSING)
    if limit is None:
        return said
    if limit.delta:
        rest = (limit - ledger.spending.total).delta
        said.append(f"{short(rest, down=True)} of δ = {short(limit.delta)} left")
    if ledger.terms.measure is Measure.ZCDP:
        epsilon, delta = ledger.terms.epsilon, ledger.terms.all_delta
        said.append(f"the whole budget means ε = {float(epsilon or 0):.4g} at δ = {delta}")
    return said


def state(ledger: Snapshot) -> str:
    """What a reader should know before asking: "" if there is nothing."""
    if ledger.closed:
        return "session ended"
    if ledger.budget is None or not ledger.count:
        return ""
    rest = ledger.budget - ledger.spent
    if rest <= 0:
        return "spent: earlier answers stay free"
    return "nearly spent" if rest < LITTLE * ledger.budget else ""


def summary(ledger: Snapshot) -> str:
    """The head, in one line."""
    said = [left(ledger), spent(ledger), *more(ledger), state(ledger)]
    return " · ".join(filter(None, said))


def not_compared(ledger: Snapshot, source: str) -> str:
    """What is told of a source whose data may not be those of its earlier answers; "" for none."""
    return f" ({NOT_COMPARED})" if source in dict(ledger.caveats.not_compared) else ""


class Row(NamedTuple):
    """One call: a charge, or the charges of a program, oldest first."""

    entries: tuple[Entry, ...]

    @property
    def last(self) -> Entry:
        """The newest charge."""
        return self.entries[-1]

    def question(self, states: Mapping[str, str] = AT_REST) -> str:
        """What was asked, in words."""
        first, *others = self.entries
        if not others:
            return title(first, states)
        if first.program and first.program.name:
            return f"{first.program.name}: {len(self.entries)} releases"
        return f"{title(first, states)}, and {len(others)} more"

    @property
    def loss(self) -> Loss:
        """What the call cost."""
        if len(self.entries) == 1:
            return self.last.loss
        charges = (charge for entry in self.entries for charge in entry.charges)
        return ParallelComposition().plus(charges).total


def rows(entries: Iterable[Entry]) -> list[Row]:
    """Charges by the call that made them, oldest first."""
    grouped = groupby(entries, lambda e: (e.kernel, e.program or e.number))
    return [Row(tuple(group)) for _, group in grouped]


def title(entry: Entry, states: Mapping[str, str] = AT_REST) -> str:
    """A question in words, and whether it has no answer."""
    return entry.what.title + _unanswered(entry, states)


def asked(entry: Entry, states: Mapping[str, str] = AT_REST) -> str:
    """A question with all its terms, and whether it has no answer."""
    return entry.what.whole + _unanswered(entry, states)


def _unanswered(entry: Entry, states: Mapping[str, str] = AT_REST) -> str:
    """That there is no answer; not of a charge that is being answered here."""
    if entry.status == "released" or (entry.status == "charged" and entry.draw_id in states):
        told = states.get(entry.draw_id)
        return f" ({told})" if told in OTHERS else ""
    return f" ({entry.status}, no answer)"


def with_others(
    ledger: Snapshot, entries: Iterable[Entry], states: Mapping[str, str] = AT_REST
) -> Mapping[str, str]:
    """What is told of charges that are being answered, also in other kernels."""
    found = {}
    for entry in entries:
        if entry.status == "charged" and entry.draw_id and not ledger.is_here(entry):
            is_answered = ledger.store.is_answered(entry)
            if is_answered is not False:
                found[entry.draw_id] = ANSWERED_ELSEWHERE if is_answered else UNKNOWN
    return {**found, **states} if found else states


def mark(entry: Entry) -> str:
    """What is told of a source whose lineage isn't verified."""
    return "" if entry.lineage == "verified" else entry.lineage


def loss_in_words(ledger: Snapshot, loss: Loss) -> str:
    """A loss in four digits: its ε where only that is counted."""
    if ledger.terms.measure is Measure.PURE:
        return short(loss.epsilon)
    parts = {"ε": loss.epsilon, "ρ": loss.rho, "δ": loss.delta}
    said = [f"{name} = {short(part)}" for name, part in parts.items() if part]
    return ", ".join(said).replace("= ≈", "≈") or "0"


def counted(ledger: Snapshot) -> str:
    """The head of the column of losses."""
    return "ε" if ledger.terms.measure is Measure.PURE else "loss"


def plain_cell(ledger: Snapshot, entry: Entry) -> str:
    """The cell of an entry as [4], or [4]† in another kernel."""
    cell = "" if entry.cell is None else f"[{entry.cell}]"
    return cell if ledger.is_here(entry) else f"{cell}†"


def cell(ledger: Snapshot, entry: Entry) -> str:
    """The cell as [4]; as [4]† in another kernel; as [9] ([4] run again)."""
    first = ledger.first_run(entry)
    return plain_cell(ledger, entry) + (f" ([{first}] run again)" if first else "")


#: How many cells of replays are named for each release.
_NAMED = 6


def again(ledger: Snapshot, entries: Sequence[Entry]) -> dict[int, str]:
    """By release, where its answer was given again for free by this kernel: "again, free: [5], [9]
    2 times"."""
    shown = {entry.number: entry for entry in entries}
    found: dict[int, dict[str, Counter[str]]] = {}
    for entry in ledger.again:
        if entry.number in shown:
            is_like = entry.what.is_like(shown[entry.number].what)
            asked = "again" if is_like else f"the same sums, read as {_told(entry)}"
            cells = found.setdefault(entry.number, {}).setdefault(asked, Counter())
            cells[cell(ledger, entry)] += 1
    return {
        number: "; ".join(f"{asked}, free: {_times(cells)}" for asked, cells in of.items())
        for number, of in found.items()
    }


def _told(entry: Entry) -> str:
    """A question that is no release of its own, with its error."""
    said = f"“{entry.what.whole}”"
    return f"{said} ({entry.known_error})" if entry.known_error else said


def _times(cells: Counter[str]) -> str:
    """In which cells, and how often if more than once."""
    said = [
        " ".join(filter(None, [name, f"{n} times" if n > 1 else ""])) for name, n in cells.items()
    ]
    said = [each or "once" for each in said]
    rest = len(said) - _NAMED
    return ", ".join(said[:_NAMED] + ([f"and {_many(rest, 'cell')}"] if rest > 0 else []))


def earlier(count: int, where: str = "dp.ledger().to_frame()") -> str:
    """Where the releases are that aren't shown."""
    return f"and {count:,} before that: {where}"


# --- in a terminal --------------------------------------------------------------------------------

#: How many of the newest charges are shown; dp.ledger().to_frame() has the rest.
SHOWN = 200


def text(
    ledger: Snapshot, last: int | None = SHOWN, charges: Sequence[Entry] | None = None,
    all_by: str = "dp.ledger().to_frame()",
) -> str:  # fmt: skip
    """The ledger for a terminal: its last charges, or all (None).

    charges : the last charges, if the caller has read them already.
    all_by : what shows all of them.
    """
    charges = ledger.charges(last) if charges is None else charges
    width = sentences.width()
    lines = terminal.head(f"dppandas ledger · {summary(ledger)}", width)
    if ledger.budget is not None:
        filled = round(30 * float(ledger.spent / ledger.budget))
        lines.append("[" + "#" * filled + "." * (30 - filled) + "]")
    if not charges and last != 0:
        return "\n".join(lines)
    sources = [
        f"{name} {in_short(spent)}{not_compared(ledger, name)}"
        for name, spent in ledger.by_source().items()
    ]
    lines += terminal.wrapped(f"by source: {', '.join(sources)}", width)
    if ledger.count > len(charges):
        lines += terminal.wrapped(earlier(ledger.count - len(charges), all_by), width)
    head = ("release", "cell", "source", counted(ledger), "error (95 %)", "question")
    replays = again(ledger, charges)
    states = with_others(ledger, charges)
    rows = [head, *(_row(ledger, entry, replays, states) for entry in charges)]
    lines += terminal.table(rows, width)
    is_told = not all(map(ledger.is_here, charges))
    return "\n".join(lines + (terminal.wrapped(ELSEWHERE, width) if is_told else []))


def _row(
    ledger: Snapshot, entry: Entry, replays: dict[int, str], states: Mapping[str, str]
) -> tuple[str, ...]:
    said = mark(entry)
    source = entry.source + (f" ({said})" if said else "")
    # cells of replays differ from run to run: last, so that they don't move the other columns
    question = visible(entry.what.text) + _unanswered(entry, states)
    said = " · ".join(filter(None, [question, replays.get(entry.number, "")]))
    return (
        str(entry.number), cell(ledger, entry), source,
        loss_in_words(ledger, entry.loss), entry.known_error, said,
    )  # fmt: skip
