"""One loss shared over the releases of a block, exactly."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

from ...errors import (
    DPError,
    InternalError,
    MissingArgument,
    QueryError,
    ReleaseFailed,
    SessionError,
    StoreError,
    hide_internals,
    quoted,
)
from ...privacy.accounting import conversions
from ...privacy.accounting.losses import LARGEST, Loss, parse_budget, parse_delta
from ...privacy.accounting.measures import Measure
from ...privacy.accounting.shares import SharedLoss
from ...rows.facts.units import whole_number
from ...rows.sentences import ShownInSentences
from .. import context
from ..session import current
from ..ways import Ways

#: The most shares of a split.
MOST = 100_000


class Split(ShownInSentences):
    """A loss in shares: see `split`. Each release in its block takes the next share."""

    def __init__(self, whole: SharedLoss, parts: Sequence[Fraction]) -> None:
        self._whole = whole
        self._fractions = tuple(parts)
        self._free = list(range(len(parts)))
        self._lock = threading.Lock()
        self._outside: dict[str, object] | None = None  # the context around its block
        self._is_over = False

    @property
    def shares(self) -> tuple[Loss, ...]:
        """The loss of each release, in order."""
        return tuple(self._whole.fraction(part).loss for part in self._fractions)

    @property
    def left(self) -> int:
        """How many shares are left. They aren't charged."""
        return len(self._free)

    def _copy(self) -> Split:
        """A split with the same shares left, for previews."""
        other = Split(self._whole, self._fractions)
        other._free = list(self._free)
        return other

    @hide_internals
    def __enter__(self) -> Split:
        if self._outside is not None:
            raise SessionError("a split is for one block. Make another: dp.split(…).")
        if running() is not None:
            raise SessionError(
                "a split is running, and a split can't be inside another. End that block first, or "
                "give it more shares: dp.split(epsilon=1, shares=[2, 1, 1])."
            )
        self._outside = context.put(split=self, program=context.program_of("split"))
        return self

    def __exit__(self, *raised: object) -> None:
        self._is_over = True
        context.put(**self._outside or {})

    def _take(self) -> int:
        """Take the next share, and return its number."""
        with self._lock:
            if self._free:
                return self._free.pop(0)
        number = len(self._fractions)
        raise QueryError(
            f"this split of {self._whole} has {number} {'share' if number == 1 else 'shares'}, and "
            f"all are taken. Give it more, as in into={number + 1}, or release outside its block."
        )

    def _join(self) -> Loss:
        """Join all shares that are left into one, if a release may cost so much, and return the
        next share. An ε in a session that counts ρ is charged as sums with Laplace noise are, so
        the joint share is less than the sum."""
        with self._lock:
            if not self._free:
                return Loss()
            first = self._free[0]
            rest = self._joined([self._fractions[i] for i in self._free])
            whole = self._whole.fraction(rest)
            if max(whole.epsilon or 0, whole.rho or 0) <= LARGEST:
                self._fractions = (*self._fractions[:first], rest, *self._fractions[first + 1 :])
                self._free = [first]
            return self.shares[first]

    def _divide(self, shares: Sequence[object]) -> None:
        """Divide all that is left anew, in proportion to shares. Of ε or ρ it is the same sum; an ε
        in a session that counts ρ may cost more or less ρ than before."""
        parts = _fractions(None, list(shares))
        with self._lock:
            first, rest = self._free[0], sum((self._fractions[i] for i in self._free), Fraction(0))
            self._fractions = (*self._fractions[:first], *(rest * part for part in parts))
            self._free = list(range(first, len(self._fractions)))

    def _joined(self, parts: Sequence[Fraction]) -> Fraction:
        """One part that costs as much as some parts together, or hardly less."""
        epsilon = self._whole.epsilon
        if epsilon is None or len(parts) == 1 or current()._terms.measure is not Measure.ZCDP:
            return sum(parts, Fraction(0))
        rho = sum((conversions.rho_of_fine_laplace(epsilon * part) for part in parts), Fraction(0))
        return conversions.fine_laplace_epsilon_for(rho) / epsilon

    def _give_back(self, number: int) -> None:
        """Give back the share of a refused release, as the next one."""
        with self._lock:
            bisect.insort(self._free, number)

    def _filled(self, number: int, ways: Ways) -> Ways:
        """The options of a release, at the loss of a share."""
        part, own = self._whole.fraction(self._fractions[number]), ways.delta
        if part.delta is not None and own is not None and parse_delta(own) > part.delta:
            raise QueryError(
                f"delta={quoted(own)} is more than the {part.delta} of its share in this split. "
                "Leave delta= out, or give the split a larger delta=."
            )
        delta = part.delta if own is None else own
        return replace(ways, epsilon=part.epsilon, rho=part.rho, delta=delta)

    def _sentences(self) -> list[str]:
        return [f"<split of {self._whole} into {len(self._fractions)}, {self.left} left>"]


def running() -> Split | None:
    """The split around this call, unless its block has ended."""
    found: Split | None = context.here().split
    return None if found is None or found._is_over else found


def answers_now(depth: int = 0) -> bool:
    """Whether a call without a loss is answered now, because it is in the block of a split and
    dppandas didn't make it. ``depth``: 1 within a method that counts itself as `inside`."""
    return running() is not None and context.here().depth <= depth


@contextmanager
def inside() -> Iterator[bool]:
    """Mark a call of dppandas. Yields whether it is the outermost one."""
    depth = context.here().depth
    with context.within(depth=depth + 1):
        yield not depth


@contextmanager
def share(ways: Ways) -> Iterator[Ways]:
    """The options of a release: as it says, or in a split with the next share.

    A refused release gives its share back. If anything else stops it, it may have been charged.
    """
    split = running()
    if split is None:
        yield ways
        return
    if ways.give_loss:
        raise QueryError(
            "a release in a split can't set its own loss: it takes one of "
            f"{len(split._fractions)} shares. Leave epsilon=, rho= and within= out here, or "
            "release outside of the block."
        )
    number = split._take()
    try:
        yield split._filled(number, ways)
    except (ReleaseFailed, InternalError, StoreError):
        raise
    except DPError:
        split._give_back(number)
        raise


@contextmanager
def program(name: str, ways: Ways, has_begun: Callable[[], bool]) -> Iterator[Ways]:
    """The options of a program of releases: as it says, or with one share for all of it. No split
    runs inside the program. Once it has begun it keeps its share, whatever stops it.

    name : what the ledger calls it.
    """
    stopped: DPError | None = None
    with share(ways) as said:
        try:
            with context.within(split=None, program=context.program_of(name)):
                yield said
        except DPError as error:
            if not has_begun():
                raise
            stopped = error
    if stopped is not None:  # raised out here, because `share` would give the share back
        raise stopped


@hide_internals
def split(
    epsilon: object = None,
    *,
    into: object = None,
    shares: object = None,
    rho: object = None,
    delta: object = None,
) -> Split:
    """Share one loss over the releases of a block: ``with dp.split(epsilon=1, into=4): ...``

    epsilon : the loss of the whole block; or rho, in a session that counts ρ.
    into : the number of releases, which get equal shares.
    shares : instead of into, the shares in order: [2, 1, 1] are a half and two quarters.
    delta : shared in the same way, for releases that need one. Without it, such a release gives its
        own.

    In the block every question is answered at once, and takes the next share: ``people.count()`` is
    a number. So ``people["x"].value_counts().idxmax()`` takes the largest of the released counts.
    Questions asked before the block still wait for a loss: ``counts.idxmax()`` of such a question
    selects a label. `agg` takes one share for all its statistics.

    Shares are exact: three thirds are the whole. A refused release takes no share, and shares that
    are left aren't charged. A stored answer takes its share too, so running a block again is free.
    Threads that start in the block don't share. More releases than shares, or a release with a loss
    of its own, raise `QueryError`, and nothing is charged.

    *Guarantee*: the charges of the block add up to at most epsilon (sequential composition: Dwork
    and Roth, 2014, Theorem 3.16).

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=2)
    >>> people = pd.DataFrame({"age": [20, 30, 40] * 100}).dp
    >>> with dp.split(epsilon=1, shares=[1, 2]):
    ...     n = people.count()
    ...     mean = people["age"].mean(bounds=(0, 99))
    >>> dp.record(n).loss.epsilon, dp.record(mean).loss.epsilon, session.spent
    (1/3, 2/3, 1)
    >>> dp.reset()
    """
    if (epsilon is None) == (rho is None):
        raise MissingArgument("a split needs epsilon= or rho=, as in dp.split(epsilon=1, into=4).")
    parts = _fractions(into, shares)
    whole = SharedLoss.parse(epsilon, delta, rho)
    for part in map(whole.fraction, (min(parts), max(parts))):
        current()._terms.asked(part.epsilon, rho=part.rho, delta=part.delta)
    return Split(whole, parts)


def _fractions(into: object, shares: object) -> list[Fraction]:
    """The fraction of the whole that each release gets."""
    if into is not None and shares is not None:
        raise QueryError("shares= already says how many releases there are. Leave into= out.")
    if into is None and shares is None:
        raise MissingArgument(
            "into= is needed, the number of releases, or shares=, their shares. Write "
            "dp.split(epsilon=1, into=4), or dp.split(epsilon=1, shares=[2, 1, 1])."
        )
    if shares is None:
        number = whole_number(into, "into", 1, MOST)
        return [Fraction(1, number)] * number
    if not isinstance(shares, list | tuple) or not 1 <= len(shares) <= MOST:
        raise QueryError(
            f"shares={quoted(shares)} must be a list of numbers above 0, one for each release, "
            "such as [2, 1, 1]."
        )
    each = [parse_budget(share, "shares") for share in shares]
    return [Fraction(share / sum(each)) for share in each]
