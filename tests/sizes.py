"""How much a test tries: quickly in ``make test``, fully in ``make test-deep``.

A quick size is one that still notices the mutants which name the test: ``make mutants`` runs them
at quick sizes, and its table (mutants.toml) is committed.
"""

#: Set by ``--deep`` before any test is read.
is_deep = False


def size(quick: int, deep: int) -> int:
    """The first without ``--deep``, the second with it."""
    return deep if is_deep else quick
