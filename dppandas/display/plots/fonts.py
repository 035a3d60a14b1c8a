"""Fonts for letters that the font of a plot lacks, and what stands for letters that none has."""

from __future__ import annotations

import functools
import importlib
import unicodedata
from collections.abc import Iterable
from typing import Any

#: In place of letters that no font has, and of each where the font lacks this one, too.
BLANK, PLAIN_BLANK = "▯", "?"
#: What a caption says of them.
NO_FONT = f"{BLANK} stands for letters that no font here has: install one of the Noto fonts."
#: Fonts that have a box for every letter.
NO_LETTERS = ("lastresort", "last resort", "adobe blank")


def written(text: str) -> str:
    """A text of letters that some font has: for others something stands."""
    found = lacking(text)
    if not found:
        return text
    _, never = _finders(frozenset(found), _families())
    blank = PLAIN_BLANK if lacking(BLANK) else BLANK
    kept = (
        each if each not in found else "" if _is_joint(each) else blank if each in never else each
        for each in text
    )
    return "".join(kept)


def lacking(text: str) -> set[str]:
    """Letters that the font in use doesn't have."""
    if text.isascii():
        return set()
    known = _letters(_families())
    return {each for each in text if ord(each) > 127 and ord(each) not in known}


def families_for(text: str) -> list[str] | None:
    """The families of fonts that a text needs; None if the font in use is enough."""
    found = lacking(text)
    if not found:
        return None
    own = _families()
    more, _ = _finders(frozenset(found), own)
    return [*own, *more] if more else None


def fit(artists: Iterable[Any]) -> None:
    """Give texts the fonts that they need."""
    for each in artists:
        families = families_for(each.get_text())
        if families is not None:
            each.set_fontfamily(families)


def _is_joint(letter: str) -> bool:
    """Whether a letter is only an instruction, such as that an emoji has colours."""
    return unicodedata.category(letter) in ("Cf", "Mn", "Cc")


def _families() -> tuple[str, ...]:
    return tuple(importlib.import_module("matplotlib").rcParams["font.family"])


@functools.lru_cache(maxsize=16)
def _letters(families: tuple[str, ...]) -> frozenset[int]:
    """The letters of these families."""
    manager = importlib.import_module("matplotlib.font_manager")
    found = set[int]()
    for family in families:
        path = manager.findfont(manager.FontProperties(family=[family]))
        found.update(manager.get_font(path).get_charmap())
    return frozenset(found)


@functools.lru_cache(maxsize=256)
def _finders(
    letters: frozenset[str], own: tuple[str, ...]
) -> tuple[tuple[str, ...], frozenset[str]]:
    """Families that have some letters, and which of these no family has."""
    wanted, chosen = {each for each in letters if not _is_joint(each)}, list[str]()
    fonts = importlib.import_module("matplotlib.font_manager").fontManager.ttflist
    for entry in sorted(fonts, key=_likeness):
        if not wanted:
            break
        if entry.name in (*own, *chosen) or entry.name.lower().startswith(NO_LETTERS):
            continue
        if found := {each for each in wanted if _has(entry.fname, each)}:
            chosen.append(entry.name)
            wanted -= found
    return tuple(chosen), frozenset(wanted)


def _likeness(entry: Any) -> tuple[bool, bool, str]:
    """Upright and regular fonts first, and of these the same on all machines alike."""
    is_regular = entry.style == "normal" and str(entry.weight) in ("400", "normal", "regular")
    return not is_regular, "Sans" not in entry.name, entry.name


def _has(path: str, letter: str) -> bool:
    """Whether a font has a letter that can be drawn: that of some emoji can't."""
    if ord(letter) not in _charmap(path):
        return False
    try:
        importlib.import_module("matplotlib.font_manager").get_font(path).load_char(ord(letter))
    except (RuntimeError, OSError):
        return False
    return True


@functools.lru_cache(maxsize=1024)
def _charmap(path: str) -> frozenset[int]:
    try:
        manager = importlib.import_module("matplotlib.font_manager")
        return frozenset(manager.get_font(path).get_charmap())
    except (RuntimeError, OSError):
        return frozenset()
