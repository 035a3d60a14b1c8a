"""What a release would cost and give, in words, before anybody asks for it. Public facts alone
decide it, and nothing is noted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from ...errors import DPError
from ...privacy.accounting.losses import Loss
from ...privacy.accounting.measures import Measure, PrivacyBudget
from ..query import Query
from ..session import running
from . import expected, reach

#: Makes a query at a loss, as a session's terms allow it.
QueryAt = Callable[[PrivacyBudget, Mapping[str, Fraction]], Query]
#: The losses that are tried.
TRIED = Fraction(1, 10), Fraction(1)
#: Where only the answer decides its error.
UNDECIDED = "an answer that decides its own error"


def forecasts(parts: Sequence[tuple[str, QueryAt, Fraction]]) -> list[str]:
    """What some losses buy, in a line for each; nothing where the session allows none.

    parts : each query's name ("" for a single one), how it is made of a loss, and its share.
    """
    session = running()
    terms = PrivacyBudget() if session is None else session.ledger._terms
    measure = "rho" if terms.measure is Measure.ZCDP else "epsilon"
    lines, drowned = [], list[str]()
    for amount in TRIED:
        try:
            made = [(name, at(terms, {measure: amount * share})) for name, at, share in parts]
            lines.append(_line(made))
            drowned = [_drowned(*each, terms.measure, amount) for each in made]
        except DPError:  # such as of a release that needs a δ, in a session without one
            continue
    return [*lines, *filter(None, drowned)]


def _drowned(name: str, query: Query, measure: Measure, amount: Fraction) -> str:
    """What to do where noise drowns an answer even at the largest loss that is tried."""
    said = reach.told_of(query, query.mechanism())
    symbol = "ρ" if measure is Measure.ZCDP else "ε"
    return f"{f'{name}: ' if name else ''}at {symbol} = {amount} {said}" if said else ""


def _line(queries: Sequence[tuple[str, Query]]) -> str:
    cost = sum((q.asked.charged(q.loss(q.mechanism())) for _, q in queries), Loss())
    given = "; ".join(f"{name} {in_words(query)}".strip() for name, query in queries)
    return f"costs {cost.in_short}, would give {given}"


def in_words(query: Query) -> str:
    """The error that a query would have."""
    error = expected.in_words(query.statistic, query.mechanism())
    if not error:
        return UNDECIDED
    told = error.replace("≈ ", "about ± ") + " over n rows" * ("/n" in error)
    return f"{told} (95 %)"
