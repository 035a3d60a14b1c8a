"""What earlier answers are still good for, once the budget is short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ledger.storage.store import Entry
from ...privacy.accounting.losses import Epsilon, Loss
from ...privacy.accuracy.combined import is_additive
from ...privacy.mechanisms.base import Mechanism
from ..query import Query

#: How many answers of a kernel are remembered.
KEPT = 100


#: An answer: its charge, its question, and its mechanism.
Answered = tuple[Entry, Query, Mechanism]


def advice(
    latest: Iterable[Answered], charged: Sequence[Entry], left: Loss, asked: Query | None = None
) -> tuple[str, ...]:
    """What can be had at no cost, and for what is left, each in a sentence.

    latest : the latest answers of this kernel. charged : the latest charges. asked : the question
        that is refused.
    """
    answered = {each.number: each for each in charged if each.status == "released"}
    if not any(each.key for each in answered.values()):
        return ()
    who = "What was" if all(each.key for each in charged) else "What named sources"
    known = {
        entry.number: query
        for entry, query, mechanism in latest
        if entry.number in answered and _is_held(entry) and _can_be_joined(query, mechanism)
    }
    questions = {n: query.question for n, query in known.items()}
    several = [n for n in known if list(questions.values()).count(questions[n]) > 1]
    free = [str(n) for n in several if questions[n] == questions[several[-1]]]
    said = [f"{who} answered stays free to ask again."]
    if free:
        said.append(f"dp.combine joins releases {', '.join(free[-4:])} at no cost.")
    # What is left is worth adding to an answer that wasn't much dearer.
    way, rest = ("rho", left.rho) if left.rho else ("epsilon", left.epsilon)
    worth = [each for n, each in answered.items() if n in known and _first(each) <= 2 * rest]
    wanted = "" if asked is None else asked.question
    if rest and worth:
        best = min(worth, key=lambda each: (questions[each.number] != wanted, _first(each)))
        said.append(f"dp.record(answer).refine({way}={rest}) improves {_named(best)}.")
    return tuple(said)


def _can_be_joined(query: Query, mechanism: Mechanism) -> bool:
    """Whether more releases of a question can be added to this one: to numbers with noise, but not
    to a series of looks, whose number was decided by answers."""
    fixed = getattr(query.asked, "looks", 1) == 1
    return bool(query.key) and fixed and is_additive(mechanism)


def _is_held(entry: Entry) -> bool:
    """Whether the caller has the answer. A model, or synthetic rows, keep those of their steps."""
    return entry.program is None or entry.program.name in ("", "split", "batch")


def _first(entry: Entry) -> Epsilon:
    return entry.loss.rho or entry.loss.epsilon


def _named(entry: Entry) -> str:
    text = entry.what.text
    what = text if len(text) <= 30 else text[:29] + "…"
    return f"release {entry.number} ({', '.join(filter(None, [what, entry.known_error]))})"
