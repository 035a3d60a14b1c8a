"""The families of cells, their limits and their order; `cells` has the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: A family and an exact value.
Cell = tuple[str, Any]

MISSING: Cell = ("missing", None)
OPAQUE: Cell = ("opaque", None)

#: Of one number.
MOST_BITS = 4096
#: Of all parts of a cell together.
MOST_BITS_IN_ALL = 2**22
MOST_CHARACTERS = 2**20
MOST_DEPTH = 16
MOST_ELEMENTS = 2**16
#: Instants and durations count microseconds in 64 bits.
MOST_MICROS = 2**63 - 1

#: The letter that the name of a cell begins with, by family, in the order of families.
LETTERS = {
    "missing": "m", "truth": "b", "number": "n", "text": "s", "time": "t", "zoned": "z",
    "duration": "e", "list": "(", "set": "{", "mapping": "d", "bytes": "y", "clock": "c",
    "uuid": "u", "period": "p", "interval": "i", "complex": "x", "opaque": "o",
}  # fmt: skip
FAMILIES = tuple(LETTERS)


def own(kind: type, name: str) -> Callable[[Any], Any]:
    """Reads an attribute by the type's own descriptor, whatever a subclass overrides."""
    holder = next(base for base in kind.__mro__ if name in base.__dict__)
    read: Callable[[Any], Any] = holder.__dict__[name].__get__
    return read


def order(cell: Cell) -> tuple[Any, ...]:
    """A sort key for cells: by family, then by size, text, or the order of elements."""
    family, exact = cell
    at = FAMILIES.index(family)
    if family in ("list", "set", "mapping"):
        return at, tuple(order(each) for each in exact)
    if family == "interval":
        return at, exact[0], order(exact[1]), order(exact[2])
    if family == "clock":
        return at, exact[0], exact[1] is not None, exact[1] or 0
    return (at,) if exact is None else (at, exact)
