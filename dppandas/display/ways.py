"""How intervals for the population were found, in words."""

from __future__ import annotations

from collections.abc import Iterable

from ..findings.populations import BOX
from ..statistics.samples import BERNSTEIN, CHERNOFF, EXACT, FEW, LARGEST, T

_BY_T = "by Student's t, approximate"
_WORDS = {
    EXACT: "exact", CHERNOFF: "by Chernoff's bound", BERNSTEIN: "by Bernstein's inequality",
    T: _BY_T, LARGEST: _BY_T, FEW: _BY_T,
}  # fmt: skip
#: Beside a number whose rows are too few for t.
FEW_ROWS = "too few rows"


def in_words(ways: Iterable[str]) -> str:
    """All ways to some intervals."""
    known = {way.removeprefix(f"{BOX} of ") for way in ways}
    return " or ".join(dict.fromkeys(words for way, words in _WORDS.items() if way in known))


def is_too_few(way: str) -> bool:
    """Whether there are too few rows for t, by which an interval was found."""
    return way.endswith(FEW)
