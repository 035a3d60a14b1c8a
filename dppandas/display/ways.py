"""How intervals for the population were found, in words."""

from __future__ import annotations

from collections.abc import Iterable

from ..statistics.samples import BERNSTEIN, EXACT, FEW, T

_WORDS = {
    EXACT: "exact", BERNSTEIN: "by Bernstein's inequality", T: "by Student's t, approximate",
}  # fmt: skip
#: Beside a number whose rows are too few for t.
FEW_ROWS = "too few rows"


def in_words(ways: Iterable[str]) -> str:
    """All ways to some intervals."""
    known = {T if is_too_few(way) else way.rpartition(" ")[2] for way in ways if way}
    return " or ".join(words for way, words in _WORDS.items() if way in known)


def is_too_few(way: str) -> bool:
    """Whether there are too few rows for t, by which an interval was found."""
    return way.endswith(FEW)
