"""One text for each value, by which equal queries are recognised and answers are kept.

The text of a query depends only on what is asked: not on the process, the order of arguments of
``and``, the layout of labels or the version of pandas. A value without such a text raises
`NoCanonicalText`, and its query can't be answered from a store.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from hashlib import blake2b
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..privacy.accounting.losses import Delta, Epsilon, Rho
from ..rows.facts.keys import is_missing
from ..rows.values import MISSING, are_simple, canonical, name, times, whole_numbers
from ..rows.values.families import LETTERS, MOST_BITS, MOST_CHARACTERS, OPAQUE
from ..rows.values.lookups import Recent

#: The texts of parts that were met before, by their ids.
Memo = dict[int, tuple[Any, str]]

#: Counted up when the texts of queries change. If the integers of one statistic change, or how they
#: are read, its class counts up its ``reading``.
FORM = 2

#: The text of this many strings, whole numbers or times, or more, is made in a faster way.
MANY = 100


def canonical_name(kind: type) -> str:
    """The name of a class in keys and pickles. A class that was renamed states its old name as
    ``canonical_name: ClassVar[str]``; subclasses don't inherit it."""
    name: str = vars(kind).get("canonical_name", kind.__name__)
    return name


class NoCanonicalText(TypeError):
    """A value that has no canonical text."""


def key(*parts: Any) -> str:
    """A short name of some values, the same for equal values and for no others."""
    return key_after(prefix(), *parts)


def prefix(*parts: Any) -> str:
    """What the texts of keys have in common that begin with these values, for `key_after`."""
    return "(" + ",".join(map(text, (FORM, *parts)))


def key_after(prefix: str, *parts: Any) -> str:
    """The `key` of the values of a prefix and some more."""
    memo: Memo = {}
    said = ",".join((prefix, *(text(part, memo) for part in parts)))
    return blake2b(f"{said})".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def text(value: Any, memo: Memo | None = None) -> str:
    """The canonical text of a value made of public facts.

    ``memo`` holds the texts of parts that were met before: a residual is a part of many sums.
    """
    memo = {} if memo is None else memo
    kind = type(value)
    if kind is str and len(value) <= MOST_CHARACTERS:
        return f"{len(value) + 1}:{LETTERS['text']}{value}"
    if id(kind) in _EXACT:  # by id, since a class may override its hash
        return _number(value)
    if value is None or kind is bool:
        return _ALONE[value]
    if kind is tuple and len(value) < MANY:
        return "(" + ",".join([text(part, memo) for part in value]) + ")"
    if is_dataclass(kind):
        if id(value) not in memo:
            # with the value, so that no other value gets its id
            memo[id(value)] = value, _fields(value, memo)
        return memo[id(value)][1]
    if isinstance(value, enum.Enum):
        return f"{canonical_name(type(value))}.{value.name}"
    if isinstance(value, _CELLS):  # ε, δ and ρ too, which are fractions
        return _cell(value)
    if isinstance(value, slice):
        return f"S{text((value.start, value.stop, value.step))}"
    if isinstance(value, datetime.tzinfo):
        return f"z{text(str(value))}"
    if isinstance(value, tuple | list):
        if len(value) >= MANY and (are_simple(value) or times(value) is not None):
            return f"({_simple(value) if kind is list else _recent(value)})"
        return "(" + ",".join(text(part, memo) for part in value) + ")"
    if isinstance(value, Mapping):
        return "{" + ",".join(sorted(f"{text(k)}:{text(v)}" for k, v in value.items())) + "}"
    if isinstance(value, frozenset | set):
        return "{" + ",".join(sorted(map(text, value))) + "}"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufSU":
        return f"a{value.dtype.kind}{value.shape}{text(value.ravel().tolist())}"
    raise NoCanonicalText(f"a {type(value).__name__} has no canonical text")


def _fields(value: Any, memo: Memo) -> str:
    """A dataclass by its name and the fields that distinguish it; sorted if their order means
    nothing."""
    kind: Any = type(value)
    name = canonical_name(getattr(kind, "asked_as", kind))
    if (reading := getattr(value, "reading", 1)) > 1:
        name = f"{name}@{reading}"
    if getattr(value, "commutes", False):
        said = sorted({text(part, memo) for part in _flat(value, kind)})
        if len(said) == 1:
            return said[0]
    else:
        said = [text(getattr(value, each), memo) for each in _names(kind)]
    return f"{name}({','.join(said)})"


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """The fields that distinguish the instances of a dataclass."""
    hidden = getattr(kind, "not_asked", ())
    return tuple(each.name for each in fields(kind) if each.name not in hidden)


def _flat(value: Any, kind: Any) -> list[Any]:
    """The operands of nested operations of one kind: ``(a and b) and c`` is ``a and b and c``."""
    if type(value) is not kind:
        return [value]
    return [part for f in fields(value) for part in _flat(getattr(value, f.name), kind)]


#: Types whose values are cells.
_CELLS = (
    type(None), type(pd.NA), type(pd.NaT), bool, int, float, complex, np.generic, Decimal, Fraction,
    str, bytes, UUID, datetime.date, datetime.time, datetime.timedelta, pd.Interval, pd.Period,
)  # fmt: skip


def _simple(values: Sequence[Any]) -> str:
    """The texts of strings, of whole numbers of 64 bits, or of times without a zone: those of
    `_cell`, but all at once."""
    if (nanos := times(values)) is not None:
        letter, said = LETTERS["time"], map(str, nanos.tolist())
        return ",".join([f"{len(each) + 1}:{letter}{each}" for each in said])
    whole = whole_numbers(values)
    if whole is None:
        letter = LETTERS["text"]
        return ",".join([f"{len(value) + 1}:{letter}{value}" for value in values])
    return ",".join([_whole(whole[i : i + BLOCK]) for i in range(0, len(whole), BLOCK)])


#: The texts of the last tuples, such as labels, by their identity.
_recent = Recent(_simple, most=4)


def _pairs(texts: Iterable[str]) -> npt.NDArray[np.uint16]:
    """Texts of at most two letters as numbers, with a null in place of none."""
    return np.frombuffer(b"".join(text.encode().rjust(2, b"\0") for text in texts), np.uint16)


_COUNTS = _pairs(map(str, range(21)))
_SIGNS = _pairs(["", "-"])
#: Each byte in two digits; and as the first of a number, where it has no leading zero.
_BYTES = _pairs([*(f"{byte:02x}" for byte in range(256)), "", *(f"{i:x}" for i in range(1, 256))])
#: So many numbers at once, so that what is made on the way stays in the processor's cache.
BLOCK = 2**13


def _whole(whole: npt.NDArray[np.int64]) -> str:
    """The texts of whole numbers, each as in `_number`: all at once, pair by pair of letters."""
    sign, size = (whole < 0).view(np.uint8), np.abs(whole).view(np.uint64)
    most = int(size.max()).bit_length()
    length = sign + np.uint8(len("n0/1"))
    for bits in range(4, most, 4):
        length += size >> np.uint64(bits) > 0
    chunks = -(-most // 8) or 1
    said = np.empty((len(whole), 3 + chunks + 2), np.uint16)
    said[:, 0], said[:, 1], said[:, 2] = _COUNTS[length], _pairs([":n"]), _SIGNS[sign]
    for chunk in range(chunks):
        rest = size >> np.uint64(8 * chunk)
        is_first = rest < 256
        said[:, 2 + chunks - chunk] = _BYTES[(rest & np.uint64(255)) + is_first * np.uint64(256)]
    said[size == 0, 2 + chunks] = _pairs(["0"])
    said[:, -2:] = _pairs(["/1", ","])
    return said.tobytes().translate(None, b"\0").decode("ascii").removesuffix(",")


#: Types of numbers, most of which mean themselves: by their ids.
_EXACT = frozenset(map(id, (int, float, Fraction, Epsilon, Delta, Rho)))


def _number(value: Any) -> str:
    """The text of a number, the same as that of `_cell`, but in one step."""
    try:
        top, bottom = value.as_integer_ratio()
    except (OverflowError, ValueError):  # infinite, or NaN
        return _cell(value)
    if max(top.bit_length(), bottom.bit_length()) > MOST_BITS:
        return _cell(value)
    return _sized(f"{LETTERS['number']}{top:x}/{bottom:x}")


def _cell(value: Any) -> str:
    """The text of a cell with its length before it: the same for identical cells and no others."""
    cell = canonical(value)
    if cell == OPAQUE or (cell == MISSING and not is_missing(value)):
        raise NoCanonicalText(f"a {type(value).__name__} is beyond the limits of cells")
    return _sized(name(cell))


def _sized(said: str) -> str:
    return f"{len(said)}:{said}"


#: The texts of what has few values.
_ALONE = {value: _cell(value) for value in (None, False, True)}

# --- answers --------------------------------------------------------------------------------------


def to_json(noisy: Any) -> Any:
    """A released answer in the types of JSON, for `from_json` to read. Lists become tuples."""
    if isinstance(noisy, np.bool_ | np.integer | np.floating):
        noisy = noisy.item()
    if isinstance(noisy, str) and any("\ud800" <= letter <= "\udfff" for letter in noisy):
        # JSON takes two halves for one letter, and other programs refuse one
        return {"text": noisy.encode("utf-8", "surrogatepass").hex()}
    if type(noisy) in (str, bool, type(None)):
        return noisy
    if type(noisy) is int:
        return noisy if abs(noisy) < 2**53 else {"int": hex(noisy)}
    if isinstance(noisy, tuple | list):
        return [to_json(each) for each in noisy]
    kind = _KINDS.get(type(noisy))
    if kind is None:
        raise NoCanonicalText(f"a {type(noisy).__name__} can't be kept")
    name, said, _ = kind
    return {name: said(noisy)}


def from_json(kept: Any) -> Any:
    """The answer that `to_json` was given."""
    if isinstance(kept, list):
        return tuple(from_json(each) for each in kept)
    if isinstance(kept, dict):
        ((name, said),) = kept.items()
        return _READERS[name](said)
    return kept


def _count(value: Any) -> list[Any]:
    zone = getattr(value, "tz", None)
    return [int(value.asm8.view("i8")), value.unit, None if zone is None else str(zone)]


def _then(said: list[Any]) -> Any:
    count, unit, zone = said
    stamp = pd.Timestamp(np.datetime64(count, unit))
    return stamp if zone is None else stamp.tz_localize("UTC").tz_convert(zone)


#: Type, name, to text, and back.
_KINDS: dict[type, tuple[str, Any, Any]] = {
    float: ("float", float.hex, float.fromhex),
    Fraction: ("fraction", lambda f: f"{f.numerator}/{f.denominator}", Fraction),
    Decimal: ("decimal", str, Decimal),
    UUID: ("uuid", str, UUID),
    bytes: ("bytes", bytes.hex, bytes.fromhex),
    pd.Timestamp: ("time", _count, _then),
    pd.Timedelta: ("duration", _count, lambda said: pd.Timedelta(np.timedelta64(*said[:2]))),
    datetime.date: ("date", datetime.date.isoformat, datetime.date.fromisoformat),
}
_READERS = {name: reader for name, _, reader in _KINDS.values()} | {
    "int": lambda said: int(said, 16),
    "text": lambda said: bytes.fromhex(said).decode("utf-8", "surrogatepass"),
}
