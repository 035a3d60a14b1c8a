"""The context of a call: its session, and the split, preview or audit around it.

One variable holds all of it, so a thread or an async task has either all of its own or none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any, ParamSpec, TypeVar

from ..dataclasses import dataclass, field, replace
from ..ledger.storage.store import Program

P = ParamSpec("P")
S = TypeVar("S")
Watch = Callable[[Any, Any, Any], Sequence[int]]


@dataclass
class Slot:
    """The place of the running session."""

    session: Any = None
    is_scratch: bool = False  # whether the session's sources are forgotten when it ends
    is_over: bool = False  # a context that outlives its scratch session can't start another
    refused: str = ""  # why the last call of `session` was refused; "" if it wasn't

    @property
    def refusal(self) -> str:
        """What is said until a session is asked for that can be had; "" if none was refused."""
        if not self.refused:
            return ""
        running = self.session
        has_limit = running is not None and running.budget is not None
        runs = f", such as {running._terms.call}" if has_limit else ""
        return (
            "the last dp.session(…) was refused, and so are answers in another session. Call "
            f"dp.session(…) with terms that can be met{runs}, or dp.reset() to have no budget. "
            f"The refusal was: {self.refused}"
        )


@dataclass(frozen=True)
class Context:
    """What surrounds a call. A thread starts with the context of the process: only a session."""

    slot: Slot = field(default_factory=Slot)
    split: Any = None
    depth: int = 0  # the number of nested calls of dppandas, in a split
    preview: Any = None
    program: Program | None = None  # what the charges of this call share: see `program_of`
    asker: str = ""  # who asks, where a process answers for several people; "" for its own user
    told: str = ""  # how a program makes the columns that it asks, in words; "" outside of one
    #: Set by dppandas.audit only, to look at sensitivities. It gets the query, the mechanism and
    #: the exact integers. What it returns replaces the noisy ones: constants, so that no answer
    #: shows anything exact.
    watch: Watch | None = None


_programs = count(1)


def program_of(name: str) -> Program:
    """What the charges of one call share in the ledger. Within another program it is that one's."""
    return here().program or Program(name, next(_programs))


_context: ContextVar[Context] = ContextVar("dppandas", default=Context())  # noqa: B039


def here() -> Context:
    """The context of this call."""
    return _context.get()


def put(**changes: Any) -> dict[str, Any]:
    """Change some of the context. Returns the earlier values, to be restored after a block."""
    before = here()
    _context.set(replace(before, **changes))
    return {name: getattr(before, name) for name in changes}


@contextmanager
def within(**changes: Any) -> Iterator[None]:
    """A block with some of the context changed."""
    before = put(**changes)
    try:
        yield
    finally:
        put(**before)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """A block in which a function watches releases: see `Context.watch`."""
    with within(watch=watch):
        yield


def noting_refusals(opens: Callable[P, S]) -> Callable[P, S]:
    """Note a refusal, because the next question would be asked in another session than the caller
    meant, maybe in one without limit. A call without arguments only looks at the running session,
    and one that only permits or forbids something doesn't say which session is meant.
    """

    @functools.wraps(opens)
    def opened(*args: P.args, **kwargs: P.kwargs) -> S:
        given = {name for name, value in kwargs.items() if value is not None}
        if all(value is None for value in args) and given <= {"experimental"}:
            return opens(*args, **kwargs)
        slot = here().slot
        try:
            found = opens(*args, **kwargs)
        except BaseException as error:
            reason = getattr(error, "reason", str(error)) or "it was interrupted"
            slot.refused = reason.removesuffix(".") + "."
            raise
        if args or not given <= {"strict", "experimental"}:
            slot.refused = ""
        return found

    return opened
