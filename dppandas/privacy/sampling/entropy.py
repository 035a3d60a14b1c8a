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


def identifier() -> str:
    """A fresh random name."""
    return os.urandom(8).hex()


def key(size: int = 16) -> bytes:
    """A fresh random key for keyed hashing of rows."""
    return os.urandom(size)
