"""What earlier answers are still good for, once the budget is short."""

from __future__ import annotations

from collections.abc import Sequence

from ...ledger.storage.store import Entry
from ...privacy.accounting.losses import Epsilon, Loss
from ...privacy.accuracy.combined import is_additive
from ...privacy.mechanisms.base import Mechanism
from ..query import Query

#: How many answers of a kernel are remembered.
KEPT = 100


class Earlier:
    """The latest answers of a kernel that can be combined with others of their question."""

    def __init__(self) -> None:
        self._queries: dict[int, Query] = {}

    def note(self, query: Query, mechanism: Mechanism, entry: Entry) -> None:
        """Remember an answer that was kept, if it is numbers with noise. Of a series of looks, how
        many there were was decided by answers, so none of them is combined with others."""
        fixed = getattr(query.asked, "looks", 1) == 1
        if entry.key and fixed and is_additive(mechanism):
            kept = {**self._queries, entry.number: query}
            self._queries = dict(list(kept.items())[-KEPT:])  # in one step, for other threads

    def advice(self, charged: Sequence[Entry], left: Loss, asked: Query | None = None) -> str:
        """What can be had for nothing, and for what is left.

        charged : the latest charges. asked : the question that is refused.
        """
        answered = {each.number: each for each in charged if each.status == "released"}
        if not any(each.key for each in answered.values()):
            return ""
        who = "What was" if all(each.key for each in charged) else "What named sources"
        known = {n: query for n, query in self._queries.items() if n in answered}
        questions = {n: query.question for n, query in known.items()}
        several = [n for n in known if list(questions.values()).count(questions[n]) > 1]
        free = [str(n) for n in several if questions[n] == questions[several[-1]]]
        said = [f"{who} answered stays free to ask again."]
        if free:
            said.append(f"dp.combine joins releases {', '.join(free)} for nothing.")
        # What is left is worth adding to an answer that wasn't much dearer.
        way, rest = ("rho", left.rho) if left.rho else ("epsilon", left.epsilon)
        worth = [each for n, each in answered.items() if n in known and _first(each) <= 2 * rest]
        wanted = "" if asked is None else asked.question
        if rest and worth:
            best = min(worth, key=lambda each: (questions[each.number] != wanted, _first(each)))
            said.append(f".refine({way}={rest}) makes {_named(best)} surer.")
        return " ".join(said)


def _first(entry: Entry) -> Epsilon:
    return entry.loss.rho or entry.loss.epsilon


def _named(entry: Entry) -> str:
    what = entry.what if len(entry.what) <= 30 else entry.what[:29] + "…"
    return f"release {entry.number} ({', '.join(filter(None, [what, entry.known_error]))})"
