"""Labels that are probably misspelt: one slip away from a declared one. Only public words are
compared: those of a call with those of a declared domain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice, takewhile
from typing import Any

#: The most declared labels, and the most others, that are compared.
MOST_KNOWN, MOST_OTHERS = 1000, 20
#: Shorter words are often one letter apart.
SHORTEST = 4


def misspelt(values: Sequence[Any], known: Collection[Any]) -> tuple[str, str] | None:
    """A text that isn't known, and the known one that was probably meant; None if there is none.
    Who names both can tell them apart."""
    if values is known or len(known) > MOST_KNOWN:
        return None
    words = {each for each in known if isinstance(each, str)}
    others = (each for each in values if isinstance(each, str) and each not in words)
    for each in islice(others, MOST_OTHERS):
        for word in sorted(words.difference(values)):
            if is_slip(each, word):
                return each, word
    return None


def is_slip(one: str, other: str) -> bool:
    """Whether two words differ by a letter that is missing, added or wrong, by two that are
    swapped, or only by capitals or spaces around. Names that differ by digits are two names."""
    one, other = one.strip().casefold(), other.strip().casefold()
    start = _shared(one, other)
    a, b = one[start:], other[start:]
    end = _shared(a[::-1], b[::-1])
    a, b = a[: len(a) - end], b[: len(b) - end]
    if not a + b:
        return True
    if min(len(one), len(other)) < SHORTEST or any(letter.isdigit() for letter in a + b):
        return False
    return max(len(a), len(b)) == 1 or (len(a) == 2 and a == b[::-1])


def _shared(one: str, other: str) -> int:
    """How many letters two words begin with alike."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
