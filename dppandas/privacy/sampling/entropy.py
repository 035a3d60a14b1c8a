"""The operating system's entropy, which no other module reads."""

from __future__ import annotations

import os
import secrets
from typing import Protocol

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

WORD = 64
BASE = 256
WHOLE = 2**WORD
#: A pool reads no more words in advance than this: more are hardly faster (measured).
MOST_AT_ONCE = 2**12
#: So many where the first ones were too few.
FURTHER = 2**6


class Bits(Protocol):
    """Where random bits come from."""

    def words(self, n: int) -> npt.NDArray[np.uint64]: ...  # n uniform 64-bit words
    def below(self, n: int) -> int: ...  # uniform on 0, …, n-1


class SystemBits:
    """The operating system's entropy, never a seeded generator."""

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)

    def below(self, n: int) -> int:
        return secrets.randbelow(n)


SYSTEM: Bits = SystemBits()


class Pool:
    """Words of the system's entropy for one vector of noise, read at once and gone with it
    (docs/adr/0066-a-pool-for-one-vector.md).

    Words are passed before they are handed out: whatever is raised meanwhile, nobody gets one
    twice. A forked process reads its own.
    """

    def __init__(self, size: int) -> None:
        self._due = min(size, MOST_AT_ONCE)  # how many words are read at least, when some are
        self._next = 0
        self._words = memoryview(b"").cast("Q")
        self._forks = _forks

    def _take(self, n: int) -> memoryview:
        """The next n words, which were passed before."""
        if self._next + n > len(self._words) or self._forks != _forks:
            self._words = memoryview(os.urandom(8 * max(n, self._due))).cast("Q")
            self._next, self._due, self._forks = 0, FURTHER, _forks
        start = self._next
        self._next = start + n
        return self._words[start : start + n]

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        return np.frombuffer(self._take(n), dtype=np.uint64)

    def below(self, n: int) -> int:
        """A remainder of a whole number of words. The last numbers, too few to make all remainders
        equally likely, are drawn again."""
        if n == 1:
            return 0
        while True:
            number, reach = self._take(1)[0], WHOLE
            while reach < n:
                number, reach = number << WORD | self._take(1)[0], reach << WORD
            remainder = number % n
            if number - remainder + n <= reach:
                return remainder


#: How often this process was forked from another: what was drawn before is the other's.
_forks = 0


def _note_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def identifier() -> str:
    """A fresh random name."""
    return os.urandom(8).hex()


def key(size: int = 16) -> bytes:
    """A fresh random key for keyed hashing of rows."""
    return os.urandom(size)
