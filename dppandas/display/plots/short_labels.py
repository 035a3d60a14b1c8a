"""Labels as short as a plot needs them, and never two that are equal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

#: Letters of the part of a label by which it differs from others.
AROUND = 8


def breadth(text: str) -> int:
    """How many letters of Latin are as wide as a text: letters of Chinese, Japanese and Korean, and
    emoji, count twice, and marks on letters not at all."""
    return sum(
        0 if unicodedata.combining(each) or unicodedata.category(each) in ("Cf", "Mn")
        else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )  # fmt: skip


def cut(text: str, longest: int, ending: float = 0.35) -> str:
    """A text of limited breadth, cut in the middle: both ends are kept, of which the latter has a
    share."""
    if breadth(text) <= longest:
        return text
    end = int(ending * (longest - 1))
    before, after = _start(text, longest - 1 - end), _start(text[::-1], end)
    return f"{_whole_words(before)}…{_whole_words(after)[::-1]}"


def _whole_words(text: str) -> str:
    """A text without the part of a word at its end, if this is short."""
    kept, blank, part = text.rpartition(" ")
    return f"{kept} " if blank and len(part) < AROUND else text


def _start(text: str, room: int) -> str:
    """As much of the beginning as there is room for."""
    taken = 0
    for at, letter in enumerate(text):
        taken += breadth(letter)
        if taken > room:
            return text[:at]
    return text


def short(texts: Sequence[str], longest: int) -> list[str]:
    """Labels of limited breadth, all different: cut in the middle; or where they differ, if they
    are alike at both ends; numbered, if even this doesn't tell them apart."""
    made = [cut(text, longest) for text in texts]
    for shorten in (_where_they_differ, _numbered):
        often = Counter(made)
        for same in [each for each, number in often.items() if number > 1]:
            rows = [row for row, each in enumerate(made) if each == same]
            for row, text in zip(rows, shorten([texts[row] for row in rows], longest), strict=True):
                made[row] = text
    return made


def _where_they_differ(texts: Sequence[str], longest: int) -> list[str]:
    """Each from a little before what all of them begin with ends."""
    alike = takewhile(lambda letters: len({*letters}) == 1, zip(*texts, strict=False))
    first = max(0, len(list(alike)) - AROUND)
    begin = _start(texts[0], longest // 3)
    rest = longest - breadth(begin) - 1
    return [f"{begin}…{cut(text[max(first, len(begin)) :], rest)}" for text in texts]


def _numbered(texts: Sequence[str], longest: int) -> list[str]:
    wide = len(f" ({len(texts)})")
    return [f"{cut(text, longest - wide)} ({i})" for i, text in enumerate(texts, 1)]


def folded(text: str, letters: int, most: int, *, inside_words: bool = False) -> str:
    """A text in at most so many lines, each of a limited breadth, if it fits; else as it is."""
    if breadth(text) <= letters:
        return text
    wide = any(breadth(letter) > 1 for letter in text)
    lines = textwrap.wrap(
        text, letters // 2 if wide else letters, break_long_words=inside_words or wide,
        break_on_hyphens=False,
    )  # fmt: skip
    fits = len(lines) <= most and all(breadth(line) <= letters for line in lines)
    return "\n".join(lines) if fits else text
