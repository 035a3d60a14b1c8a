"""Labels as short as a plot needs them, and never two that are equal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from itertools import count, takewhile

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
    for rows in _alike(made):
        for row, text in zip(
            rows, _where_they_differ([texts[i] for i in rows], longest), strict=True
        ):
            made[row] = text
    taken = {*made}
    for rows in _alike(made):
        numbers = count(1)
        for row in rows:
            while made[row] in taken:
                end = f" ({next(numbers)})"
                made[row] = f"{cut(texts[row], longest - len(end))}{end}"
            taken.add(made[row])
    return made


def _alike(labels: Sequence[str]) -> list[list[int]]:
    """The positions of equal labels, for each that there are several of."""
    found = dict[str, list[int]]()
    for row, label in enumerate(labels):
        found.setdefault(label, []).append(row)
    return [rows for rows in found.values() if len(rows) > 1]


def _where_they_differ(texts: Sequence[str], longest: int) -> list[str]:
    """Each from a little before what all of them begin with ends."""
    alike = takewhile(lambda letters: len({*letters}) == 1, zip(*texts, strict=False))
    first = max(0, len(list(alike)) - AROUND)
    begin = _start(texts[0], longest // 3)
    rest = longest - breadth(begin) - 1
    return [f"{begin}…{cut(text[max(first, len(begin)) :], rest)}" for text in texts]


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


def level(labels: Sequence[str]) -> list[str]:
    """Labels with as many lines each: of several lines, matplotlib writes the first one lower than
    a line that is alone."""
    most = max((label.count("\n") for label in labels), default=0)
    return [label + "\n" * (most - label.count("\n")) for label in labels]
