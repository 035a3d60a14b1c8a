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
    """A declared domain: for each column, a (lower, upper) tuple or a list of keys. The ends may be
    numbers, times, durations, or texts that read as times."""
    if domain is None:
        return {}
    if not isinstance(domain, Mapping):
        raise QueryError(
            f"{said} must be a dict, not {quoted(domain)}. Write such as {{'age': (17, 60), "
            "'educ': [9, 12, 14]}."
        )
    parsed: dict[Any, Declaration] = {}
    for column, declared in domain.items():
        if column not in columns:
            raise QueryError(
                f"{said} names {quoted(column)}, which is no column. The columns: "
                f"{some_names(columns)}."
            )
        parsed[column] = _declaration(declared, column)
    return parsed


def _declaration(declared: Any, column: Any) -> Declaration:
    is_named = Bounds.is_named(declared)
    is_pair = isinstance(declared, tuple) and len(declared) == 2
    if (is_pair or is_named) and (span := Span.parse(declared, str(column))) is not None:
        return span
    if is_named or (is_pair and not any(isinstance(end, str | bool) for end in declared)):
        return Bounds.parse(declared, column)
    return Keys.parse(declared, [column])
