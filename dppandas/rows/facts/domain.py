"""What is declared of the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .bounds import Bounds
from .keys import Keys, by_column
from .spans import Span

Declaration = Bounds | Keys | Span


def parse_domain(
    domain: object, columns: Sequence[Any], said: str = "domain="
) -> dict[Any, Declaration]:
    """A declared domain: for each column, a (lower, upper) tuple or a list of keys. The ends may be
    numbers, times, durations, or texts that read as times."""
    given = by_column(domain, columns, said, "{'age': (17, 60), 'educ': [9, 12, 14]}")
    return {column: _declaration(declared, column) for column, declared in given.items()}


def _declaration(declared: Any, column: Any) -> Declaration:
    is_named = Bounds.is_named(declared)
    is_pair = isinstance(declared, tuple) and len(declared) == 2
    if (is_pair or is_named) and (span := Span.parse(declared, str(column))) is not None:
        return span
    if is_named or (is_pair and not any(isinstance(end, str | bool) for end in declared)):
        return Bounds.parse(declared, column)
    return Keys.parse(declared, [column])
