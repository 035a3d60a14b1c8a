"""What was declared of one table. More can be declared. What contradicts it is refused, or replaces
it while no answer depends on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from ...errors import SourceError
from ..figures import format_fact
from .domain import Declaration, list_for_tuple
from .keys import Keys
from .spans import Span
from .steps import Step

Fact = Declaration | Step
#: Columns of a table, and what is declared of each.
Declarations = Iterable[tuple[Any, Fact]]


class DeclaredFacts:
    """All that was ever declared of a table, by any frame of it.

    The caller asserts facts about one table, so two that differ can't both hold. The facts of one
    frame never change, so its queries keep their keys when a notebook cell is run again.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, Any], Fact] = {}
        self._lock = threading.Lock()

    @property
    def known(self) -> dict[Any, Declaration]:
        """The domain by column, in the order of their first declaration."""
        each = self._known.items()
        return {c: fact for (_, c), fact in each if not isinstance(fact, Step)}

    def add(self, declared: Declarations, source: str, advise: Callable[[], str]) -> None:
        """Note all of these facts. If one contradicts what was declared before, raise `SourceError`
        with the advice and note none; without advice, the later fact replaces the earlier one."""
        # One line, or an interrupt could leave the lock behind: see `store`.
        with self._lock: self._known = self._with(declared, source, advise)  # noqa: E701  # fmt: skip

    def _with(
        self, declared: Declarations, source: str, advise: Callable[[], str]
    ) -> dict[tuple[str, Any], Fact]:
        known = dict(self._known)
        for column, fact in declared:
            what = "step" if isinstance(fact, Step) else "domain"
            before = known.get((what, column), fact)
            # equal keys may be of different types, 1 or True
            if before is not fact and repr(before) != repr(fact) and (advice := advise()):
                raise _refused(what, column, before, fact, source, advice)
            known[what, column] = fact
        return known


def _refused(
    what: str, column: Any, before: Fact, fact: Fact, source: str, advice: str
) -> SourceError:
    then, now = _told(before), _told(fact)
    if then == now:
        now = "others" if isinstance(fact, Keys) else repr(fact)
    given = f"bounds= or {'range=' if isinstance(fact, Span) else 'keys='} in the call"
    if isinstance(fact, Step):
        given = "step= in the call"
    facts = [each for each in (fact, before) if not isinstance(each, Step)]
    lists = [list_for_tuple(column, each) for each in facts] or ["", ""]
    # beside other labels, two are no mistake
    are_keys = isinstance(before, Keys) and isinstance(fact, Keys)
    explained = "" if are_keys and "" in lists else lists[0] or lists[1]
    return SourceError(
        f"source {source!r} was declared with other terms: {what} of {column!r} was {then}, is "
        f"{now}.{explained} Keep to the first; give {given}; or {advice}"
    )


def _told(fact: Fact) -> str:
    """The number of labels, not the labels, which may have been read from a column."""
    if isinstance(fact, Keys):
        return "1 key" if len(fact) == 1 else f"{len(fact)} keys"
    return format_fact(fact)
