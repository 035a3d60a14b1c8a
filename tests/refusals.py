"""What is refused: in which words, and that nothing was charged for it."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from dppandas.errors import QueryError, StoreError
from dppandas.release.session import running


def charges() -> int:
    """How many releases the running session has charged; none is opened to look."""
    session = running()
    with contextlib.suppress(StoreError):  # a file that is damaged, or no ledger
        return session.ledger._store.count() if session else 0
    return 0


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def raising(error: type[BaseException] | BaseException) -> Any:
    """A function whose every call ends with this error."""

    def raises(*args: object, **more: object) -> Any:
        raise error

    return raises


def refusal(ask: Any, match: str | None = None, error: Any = QueryError) -> str:
    """The message of a refusal that charges nothing."""
    before = charges()
    with pytest.raises(error, match=match) as raised:
        ask()
    assert charges() == before
    return str(raised.value)
