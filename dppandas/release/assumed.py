"""What is taken for granted of columns whose kind nobody declared: refused, or said once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import QueryError, warn_user
from ..rows import expressions
from ..rows.facts.domain import Declaration, list_for_tuple
from ..rows.facts.keys import Keys
from ..rows.facts.kinds import UNKNOWN, Schema, can_hold
from .query import Query, Source
from .session import Session


def refuse_unknown(queries: Iterable[Query]) -> None:
    """Refuse to charge for answers that may be about nothing, for all that anybody knows of their
    columns. It names the columns of all. Answers that are stored were paid for, and replay."""
    refused = [query for query in queries if any(each.is_refused for each in query.assumed)]
    if refused:
        found = [each for query in refused for each in query.assumed]
        said = expressions.refusal(found, _protects(refused[0].source))
        raise QueryError(f"{refused[0]}: {said}")


def say_assumed(session: Session, queries: Iterable[Query]) -> None:
    """Say what answers took columns to hold, once for each column of a source and kind."""
    for query in queries:
        for each in query.assumed:
            named = query.source.name, each.column, each.kind
            if named not in session._said:
                session._said.add(named)
                warn_user(expressions.note(each, _protects(query.source)))


def warn_of_keys(domain: Mapping[Any, Declaration], schema: Schema) -> None:
    """Say which declared keys no cell can equal, by its column's kind. The labels aren't quoted:
    they may have been read from a column."""
    for column, known in domain.items():
        kind = schema.get(column, UNKNOWN)
        labels = known.labels if isinstance(known, Keys) else ()
        never = sum(not can_hold(kind, label, unsure={UNKNOWN}) for label in labels)
        if never:
            warn_user(
                f"of the keys of {column!r} in domain=, {never} of {len(labels)} can't equal a "
                f"value of its kind, {kind}, and questions by these keys are refused. Give keys of "
                "that kind, or declare another one: kinds={…}."
                f"{list_for_tuple(column, known)}"
            )


def _protects(source: Source) -> str:
    """The function that takes the kinds of a source."""
    return "dp.protect" if source.verified else "dp.private"
