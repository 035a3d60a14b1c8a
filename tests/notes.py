"""Which case of a loop failed. A loop in one test is faster than thousands of tests."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def noted(*case: object) -> Iterator[None]:
    """What is raised inside says of which case it is."""
    try:
        yield
    except Exception as error:
        error.add_note(f"case: {', '.join(map(str, case))}")
        raise
