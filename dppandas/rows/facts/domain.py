"""What is declared of the columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...errors import QueryError, quoted
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
    if isinstance(declared, str | bytes) or not isinstance(declared, Iterable):
        raise QueryError(
            f"the domain of {quoted(column)} must be bounds, such as (0, 60), or a list of labels, "
            f"such as ['a', 'b'], not {quoted(declared)}."
        )
    return Keys.parse(declared, [column], "the domain")


def list_for_tuple(column: Any, declared: Declaration | None) -> str:
    """A sentence for an error message about two labels that would be bounds if they were written as
    a tuple; "" for anything else."""
    if not isinstance(declared, Keys) or declared.width > 1 or len(declared) != 2:
        return ""
    try:
        meant = _declaration(declared.labels, column)
    except QueryError:
        return ""
    if isinstance(meant, Keys):
        return ""
    low, high = map(quoted, declared.labels)
    return f" You declared two labels of {quoted(column)}, {low} and {high}; bounds are a tuple."
