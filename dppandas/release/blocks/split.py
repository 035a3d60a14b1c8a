"""A loss shared over the releases of a block, in exact parts."""

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
from ...privacy.accounting.losses import (
    LARGEST,
    Loss,
    parse_budget,
    parse_delta,
)
from ...privacy.accounting.measures import Measure
from ...privacy.accounting.shares import SharedLoss
from ...rows.facts.units import whole_number
from .. import context
from ..session import current
from ..ways import Ways

#: More shares than this nobody asks for by hand.
MOST = 100_000


class Split:
    """A loss in shares: see `split`. In its block each release takes the next share."""

    def __init__(self, whole: SharedLoss, parts: Sequence[Fraction]) -> None:
        self._whole = whole
        self._fractions = tuple(parts)
        self._free = list(range(len(parts)))
        self._lock = threading.Lock()
        self._outside: dict[str, object] | None = None  # what was around its block
        self._is_over = False

    @property
    def shares(self) -> tuple[Loss, ...]:
        """What each release may cost, in order."""
        return tuple(self._whole.fraction(part).loss for part in self._fractions)

    @property
    def left(self) -> int:
        """How many shares nobody took yet. What they are worth isn't charged."""
        return len(self._free)

    def _copy(self) -> Split:
        """One of its own that has the same shares left: for previews."""
        other = Split(self._whole, self._fractions)
        other._free = list(self._free)
        return other

    @hide_internals
    def __enter__(self) -> Split:
        if self._outside is not None:
            raise SessionError("a split is for one block; make another: dp.split(…).")
        if running() is not None:
            raise SessionError(
                "a split is running, and its releases can't be split again: end that block first, "
                "or give its shares by shares=[…]."
            )
        self._outside = context.put(split=self)
        return self

    def __exit__(self, *raised: object) -> None:
        self._is_over = True
        context.put(**self._outside or {})

    def _take(self) -> int:
        """The number of the next share, which is taken by this."""
        with self._lock:
            if self._free:
                return self._free.pop(0)
        number = len(self._fractions)
        raise QueryError(
            f"this split of {self._whole} has {number} {'share' if number == 1 else 'shares'}, and "
            f"all are taken. Give it more, as in into={number + 1}, or release outside its block."
        )

    def _join(self) -> Loss:
        """From here on one release takes all that is left, if a release may cost so much: what it
        may cost. An ε in a session that counts ρ is charged what sums with Laplace noise would be
        for the shares, and so it is less than their sum."""
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

    def _joined(self, parts: Sequence[Fraction]) -> Fraction:
        """One part that costs as much as some, or hardly less."""
        epsilon = self._whole.epsilon
        if epsilon is None or len(parts) == 1 or current()._terms.measure is not Measure.ZCDP:
            return sum(parts, Fraction(0))
        rho = sum((conversions.rho_of_fine_laplace(epsilon * part) for part in parts), Fraction(0))
        return conversions.fine_laplace_epsilon_for(rho) / epsilon

    def _give_back(self, number: int) -> None:
        """A release was refused: its share is the next again."""
        with self._lock:
            bisect.insort(self._free, number)

    def _filled(self, number: int, ways: Ways) -> Ways:
        """The loss of a share, with what else a release says."""
        part, own = self._whole.fraction(self._fractions[number]), ways.delta
        if part.delta is not None and own is not None and parse_delta(own) > part.delta:
            raise QueryError(
                f"delta={quoted(own)} is more than the {part.delta} of its share in this split. "
                "Leave delta= out, or give the split more."
            )
        delta = part.delta if own is None else own
        return replace(ways, epsilon=part.epsilon, rho=part.rho, delta=delta)

    def __repr__(self) -> str:
        return f"<split of {self._whole} into {len(self._fractions)}, {self.left} left>"


def running() -> Split | None:
    """The split of the block that this runs in; of no block that has ended."""
    found: Split | None = context.here().split
    return None if found is None or found._is_over else found


def answers_now(depth: int = 0) -> bool:
    """Whether a call without a loss is answered now: one that a block makes, not dppandas itself.
    ``depth``: 1 within a method that counts itself as `inside`."""
    return running() is not None and context.here().depth <= depth


@contextmanager
def inside() -> Iterator[bool]:
    """A call of dppandas; says whether nobody of dppandas made it."""
    depth = context.here().depth
    with context.within(depth=depth + 1):
        yield not depth


@contextmanager
def share(ways: Ways) -> Iterator[Ways]:
    """What a release may cost: what it says, or in a split the next share.

    A share is taken unless the release was refused; whatever else stopped it, it may be charged.
    """
    split = running()
    if split is None:
        yield ways
        return
    if ways.give_loss:
        raise QueryError(
            "in a split no release says a loss of its own: it takes one of "
            f"{len(split._fractions)} shares. Leave epsilon= (or rho=, within=) out here, or "
            "release outside the block."
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
def program(ways: Ways, has_begun: Callable[[], bool]) -> Iterator[Ways]:
    """What a program of releases may cost: what it says, or one share for all of it. In its block
    no split runs, and once it has begun it keeps its share, whatever stops it."""
    stopped: DPError | None = None
    with share(ways) as said:
        try:
            with context.within(split=None):
                yield said
        except DPError as error:
            if not has_begun():
                raise
            stopped = error
    if stopped is not None:  # raised here, for within the share it would be given back
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

    epsilon : all that the block may cost; or rho, in a session that counts ρ.
    into : how many releases there are, which get equal shares.
    shares : in place of into, the shares in order: [2, 1, 1] are a half and two quarters.
    delta : shared likewise, for releases that need one. Without it, such a release says its own.

    In the block whatever would otherwise wait for a loss is answered as it is called, and takes the
    next share: ``people.count()`` is a number. Answers prepared before the block wait: there
    ``counts.idxmax()`` selects, while ``people["x"].value_counts().idxmax()`` within it takes the
    largest of released counts, as ``value_counts()`` is answered first. `agg` takes one share for
    all that it answers.

    Shares are exact: three thirds are the whole. What is refused takes none, and what nobody takes
    isn't charged. An answer given again takes its share, so that a block run again is free. Threads
    started in the block don't share. More releases than shares, or one with a loss of its own, are
    a `QueryError`; nothing is charged then.

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
        raise MissingArgument(
            "a split shares either epsilon= or rho=: dp.split(epsilon=1, into=4)."
        )
    parts = _fractions(into, shares)
    whole = SharedLoss.parse(epsilon, delta, rho)
    for part in map(whole.fraction, (min(parts), max(parts))):
        current()._terms.asked(part.epsilon, rho=part.rho, delta=part.delta)
    return Split(whole, parts)


def _fractions(into: object, shares: object) -> list[Fraction]:
    """Each release's part of the whole."""
    if into is not None and shares is not None:
        raise QueryError("shares= say how many releases there are: leave into= out.")
    if into is None and shares is None:
        raise MissingArgument(
            "into= is needed, the number of releases, or shares=, their shares: "
            "dp.split(epsilon=1, into=4), dp.split(epsilon=1, shares=[2, 1, 1])."
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
