"""What is declared of the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import QueryError, quoted
from .bounds import Bounds
from .keys import Keys, some_names
from .spans import Span

Declaration = Bounds | Keys | Span


def parse_domain(
    domain: object, columns: Sequence[Any], said: str = "domain="
) -> dict[Any, Declaration]:
    """A declared domain: for each column a (lower, upper) tuple, or a list of keys. The ends may be
    times, durations, or texts that read as times."""
    if domain is None:
        return {}
    if not isinstance(domain, Mapping):
        raise QueryError(f"{said} must be a dict such as {{'age': (17, 60), 'educ': [9, 12, 14]}}.")
    parsed: dict[Any, Declaration] = {}
    for column, declared in domain.items():
        if column not in columns:
            raise QueryError(
                f"{said} names {quoted(column)}, which is no column: {some_names(columns)}."
            )
        is_named = Bounds.is_named(declared)
        is_pair = isinstance(declared, tuple) and len(declared) == 2
        span = Span.parse(declared, str(column)) if is_pair or is_named else None
        is_pair = is_pair and not any(isinstance(v, str | bool) for v in declared)
        if span is not None:
            parsed[column] = span
        elif is_pair or is_named:
            parsed[column] = Bounds.parse(declared, column)
        else:
            parsed[column] = Keys.parse(declared, [column])
    return parsed
