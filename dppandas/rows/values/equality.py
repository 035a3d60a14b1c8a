"""Which cells are equal, and what names them.

There are two relations. *Identity* is equality of canonical cells: it distinguishes True from 1,
and zones of one instant; fingerprints, row hashes and the order of labels use it. *Equality* is
coarser; key look-ups, comparisons, units and partitions use it: True = 1 = 1.0 = Decimal(1),
instants are equal across zones, and never equal to times without a zone; lists are equal element
by element, but in them True is not 1.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import pandas as pd

from .cells import canonical
from .families import LETTERS, Cell

T = TypeVar("T")

#: The same for equal cells; None for cells that equal nothing.
Key = Cell | None


def key(cell: Cell) -> Key:
    """What a cell equals; None if it is missing, or not known by its value."""
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
    """Public values, keeping the first of equal ones."""
    found: dict[Hashable, T] = {}
    for value in values:
        cell = canonical(value)
        found.setdefault(key(cell) or cell, value)
    return tuple(found.values())


def name(key: Cell) -> str:
    """A text that no other cell or key has, made from its value and not from how it prints."""
    family, exact = key
    letter = LETTERS[family]
    if family == "number":
        return f"{letter}{_number(exact)}"
    if family in ("list", "set", "mapping"):
        return letter + "".join(_sized(name(each)) for each in exact)
    if family == "interval":
        exact = exact[0], name(exact[1]), name(exact[2])
    if family == "bytes":
        return f"{letter}{exact.hex()}"
    if family == "complex":
        return letter + ",".join(part.hex() for part in exact)
    if isinstance(exact, tuple):
        return letter + "".join(_sized(str(part)) for part in exact)
    return letter if exact is None else f"{letter}{exact}"


def _number(exact: Any) -> str:
    if isinstance(exact, int):
        return f"{exact:x}/1"
    if exact in (float("inf"), float("-inf")):
        return str(exact)
    fraction = Fraction(exact)
    return f"{fraction.numerator:x}/{fraction.denominator:x}"


def _sized(part: str) -> str:
    return f"{len(part)}:{part}"


# --- public texts that read as times --------------------------------------------------------------

#: A year, or a year and a month.
_SHORT = re.compile(r"\d{4}(-\d{2})?")


@lru_cache(maxsize=4096)
def time_of(text: str) -> pd.Timestamp | None:
    """The time that a public text reads as; None if it isn't a time, or is incomplete.

    A text such as "10:00" or "May", which pandas completes from today's date, isn't a time: it
    would mean another one tomorrow. Nor is one in a zone like "EST", which not every pandas and
    every machine reads alike, and which makes parsers warn.
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
    """Whether a text gives the year, month and day, and its zone, if any, as an offset."""
    from dateutil import parser  # type: ignore[import-untyped]

    if not any(letter.isdigit() for letter in text):
        return False
    days = (datetime(2000, 1, 1), datetime(1999, 2, 2))
    try:
        one, other = (parser.parse(text, default=day, tzinfos=_by_offset) for day in days)
    except (ValueError, OverflowError):
        return False
    return bool(one == other)


def _by_offset(zone: str | None, seconds: int | None) -> timezone | None:
    if zone is not None and seconds is None:
        raise ValueError(zone)
    return None if seconds is None else timezone(timedelta(seconds=seconds))


def readings(value: Any) -> list[tuple[str, Any]]:
    """The cells that a public value equals: (family, value) pairs, with times in nanoseconds.

    A text that reads as a time also equals that time; without a zone it means the local clock of
    any zone ("wall").
    """
    cell = canonical(value)
    own = key(cell)
    found = [] if own is None else [own]
    time = canonical(time_of(cell[1])) if cell[0] == "text" else cell
    if time != cell and (of_time := key(time)) is not None:
        found.append(of_time)
        if time[0] == "time":
            found.append(("wall", time[1]))
    return found
