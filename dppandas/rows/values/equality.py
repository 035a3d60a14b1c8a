"""Which cells are equal, and what names them.

Two relations. *Identity* is equality of canonical cells: it tells True from 1 and the zones of one
instant apart; fingerprints, row hashes and the order of labels rest on it. *Equality* is coarser,
and is what look-ups by key, comparisons, units and partitions use: True = 1 = 1.0 = Decimal(1),
instants are equal across zones, naive and zoned times never; lists are equal element by element,
with True apart from 1.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import pandas as pd

from .cells import canonical
from .families import Cell

T = TypeVar("T")

#: What a cell equals: the same for equal ones, None for what equals nothing.
Key = Cell | None


def key(cell: Cell) -> Key:
    """What a cell equals, None for missing ones and for what is not known by its value."""
    family, exact = cell
    if family == "truth":
        return "number", int(exact)
    if family == "zoned":
        return "zoned", exact[0]
    if family in ("missing", "opaque"):
        return None
    if family in ("list", "set", "mapping"):
        parts = tuple(map(_of_element, exact))
        return None if None in parts else (family, parts)
    return cell


def _of_element(cell: Cell) -> Key:
    return cell if cell[0] in ("truth", "missing") else key(cell)


def distinct(values: Iterable[T]) -> tuple[T, ...]:
    """Public values, the first of equal ones."""
    found: dict[Hashable, T] = {}
    for value in values:
        cell = canonical(value)
        found.setdefault(key(cell) or cell, value)
    return tuple(found.values())


def name(key: Cell) -> str:
    """A text for a cell or a key, that no other has: by its value, and never by how it prints."""
    family, exact = key
    letter = _LETTERS.get(family, "")
    if family == "number":
        return f"{letter}{_number(exact)}"
    if family in ("list", "set", "mapping"):
        return letter + "".join(_sized(name(each)) for each in exact)
    if family == "interval":
        return letter + "".join(map(_sized, (exact[0], name(exact[1]), name(exact[2]))))
    if family == "bytes":
        return f"{letter}{exact.hex()}"
    if family == "complex":
        return letter + ",".join(part.hex() for part in exact)
    if isinstance(exact, tuple):
        return letter + "".join(_sized(str(part)) for part in exact)
    return letter if exact is None else f"{letter}{exact}"


_LETTERS = {
    "missing": "m", "truth": "b", "number": "n", "text": "s", "time": "t", "zoned": "z",
    "duration": "e", "list": "(", "set": "{", "mapping": "d", "bytes": "y", "clock": "c",
    "uuid": "u", "period": "p", "interval": "i", "complex": "x", "opaque": "o",
}  # fmt: skip


def _number(exact: Any) -> str:
    if exact in (float("inf"), float("-inf")):
        return str(exact)
    fraction = Fraction(exact)
    return f"{fraction.numerator:x}/{fraction.denominator:x}"


def _sized(part: str) -> str:
    return f"{len(part)}:{part}"


# --- public texts that read as times --------------------------------------------------------------

#: A year, or a year and a month; then what tells a whole day.
_SHORT = re.compile(r"\d{4}(-\d{2})?")


@lru_cache(maxsize=4096)
def time_of(text: str) -> pd.Timestamp | None:
    """The time that a public text reads as; None where it is no time, or not a whole one.

    What pandas would fill up from the clock, as in "10:00" or "May", is no time: it would be
    another at another reading.
    """
    text = text.strip()
    if not _SHORT.fullmatch(text) and not _is_whole(text):
        return None
    try:
        parsed = pd.Timestamp(text)
    except (ValueError, OverflowError):
        return None
    return parsed if isinstance(parsed, pd.Timestamp) else None


def _is_whole(text: str) -> bool:
    """Whether a text says its year, month and day."""
    from dateutil import parser  # type: ignore[import-untyped]

    if not any(letter.isdigit() for letter in text):
        return False
    try:
        one, other = (
            parser.parse(text, default=day) for day in (datetime(2000, 1, 1), datetime(1999, 2, 2))
        )
    except (ValueError, OverflowError):
        return False
    return bool(one == other)


def readings(value: Any) -> list[tuple[str, Any]]:
    """What cells a public value equals: (family, value) pairs, of times their nanoseconds.

    A text is itself; where it reads as a time, it is also that time to cells that are times: one
    without a zone is the clock on the wall to cells in any zone ("wall").
    """
    cell = canonical(value)
    found = [] if key(cell) is None else [key(cell)]
    time = time_of(cell[1]) if cell[0] == "text" else None
    if time is not None:
        family, exact = canonical(time)
        if family == "time":
            found += [("time", exact), ("wall", exact)]
        elif family == "zoned":
            found += [("zoned", exact[0])]
    return [each for each in found if each is not None]
