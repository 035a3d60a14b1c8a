"""The operating system's entropy, which no other module reads."""

from __future__ import annotations

import os
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
        excess = -(n - 1).bit_length() % 8  # of whole bytes over the bits that n needs
        size = ((n - 1).bit_length() + excess) // 8
        while (drawn := int.from_bytes(os.urandom(size)) >> excess) >= n:
            pass
        return drawn


SYSTEM: Bits = SystemBits()


def identifier() -> str:
    """A fresh random name."""
    return os.urandom(8).hex()


def key(size: int = 16) -> bytes:
    """A fresh random key for keyed hashing of rows."""
    return os.urandom(size)
