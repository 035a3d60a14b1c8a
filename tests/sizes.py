"""How much a test tries: quickly in ``make test``, fully in ``make test-deep``.

A quick size is one that still notices the mutants which name the test: ``make mutants`` runs them
at quick sizes, and its table (mutants.toml) is committed.
"""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

#: Set by ``--deep`` before any test is read.
is_deep = False


def size(quick: int, deep: int) -> int:
    """The first without ``--deep``, the second with it."""
    return deep if is_deep else quick


def third(cases: Iterable[T], first: int) -> list[T]:
    """Every third case from the first (0, 1 or 2), and all with ``--deep``. Tests over the same
    cases begin at another one each, so that each case is met by some."""
    return list(cases) if is_deep else list(cases)[first::3]
