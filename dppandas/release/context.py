"""Where a call runs: its session, and the split, preview or audit around it.

One variable holds all of it, so that a thread or an async task has either none of these or its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

Watch = Callable[[Any, Any, Any], Sequence[int]]


@dataclass
class Slot:
    """Where the running session stands."""

    session: Any = None
    is_scratch: bool = False  # whether what is protected here is forgotten with the session
    is_over: bool = False  # a context that outlived its scratch session can't open another
    refused: str = ""  # why the last `session` asked for was not given; "" where it was


@dataclass(frozen=True)
class Context:
    """What surrounds a call. Threads start with that of the process, which has a session alone."""

    slot: Slot = field(default_factory=Slot)
    split: Any = None
    depth: int = 0  # how many calls of dppandas deep this is, in a split
    preview: Any = None
    #: Set by dppandas.audit only, to look at sensitivities. It is handed the query, the mechanism
    #: and the exact integers, and what it returns stands in for the noisy ones: constants, so that
    #: no answer shows anything exact.
    watch: Watch | None = None


_context: ContextVar[Context] = ContextVar("dppandas", default=Context())  # noqa: B039


def here() -> Context:
    """The context of this call."""
    return _context.get()


def put(**changes: Any) -> dict[str, Any]:
    """Change some of the context; returns what these were, to be put back at the end of a block."""
    before = here()
    _context.set(replace(before, **changes))
    return {name: getattr(before, name) for name in changes}


@contextmanager
def within(**changes: Any) -> Iterator[None]:
    """A block in which some of the context is changed."""
    before = put(**changes)
    try:
        yield
    finally:
        put(**before)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """A block in which releases are handed to a function: see `Context.watch`."""
    with within(watch=watch):
        yield
