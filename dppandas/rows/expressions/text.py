"""The methods of `.str`, on one string at a time. Other values are missing, and pass no test."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from ..facts import kinds
from ..facts.domain import Declaration
from ..facts.keys import MOST_IMPLIED, Keys
from ..facts.kinds import Kind, Schema
from ..values import vectors
from ..values.forms import Codes, Mask, Vector
from .base import Chunk, Domain, Expression, Literal, Needs, Truth, Unary

#: Makes a function of one text from the arguments of a method.
Maker = Callable[..., Callable[[str], Any]]


def _got(i: int) -> Callable[[Any], Any]:
    return lambda text: text[i] if -len(text) <= i < len(text) else None


def _searched(how: str) -> Maker:
    def make(pattern: str, ignore_case: bool, is_regex: bool) -> Callable[[str], Any]:
        if not is_regex:
            pattern = re.escape(pattern)
        find = getattr(re.compile(pattern, re.IGNORECASE if ignore_case else 0), how)
        return lambda text: find(text) is not None

    return make


def _extracted(pattern: str, group: int = 1) -> Callable[[str], Any]:
    find = re.compile(pattern).search
    return lambda text: None if (found := find(text)) is None else found[group]


def _replaced(pattern: str, by: str, is_regex: bool, most: int = -1) -> Callable[[str], Any]:
    if not is_regex:
        return lambda text: text.replace(pattern, by, most)
    substitute = re.compile(pattern).sub
    return lambda text: substitute(by, text, count=max(0, most))


def _spliced(start: int | None, stop: int | None, by: str) -> Callable[[str], str]:
    """As pandas: what is after an empty slice stays."""

    def one(text: str) -> str:
        end = stop if text[start:stop] else start
        before = "" if start is None else text[:start]
        return before + by + ("" if stop is None else text[end:])

    return one


def _counted(pattern: str) -> Callable[[str], Any]:
    find = re.compile(pattern).findall
    return lambda text: len(find(text))


def _split(separator: str | None, most: int, is_regex: bool) -> Callable[[str], Any]:
    if separator is None or not is_regex:
        return lambda text: text.split(separator, most)
    split = re.compile(separator).split
    return lambda text: split(text, max(0, most))


def _found(pattern: str) -> Callable[[str], Any]:
    return re.compile(pattern).findall


def _joined(separator: str) -> Callable[[Any], Any]:
    return lambda parts: separator.join(parts)  # fails, and so is missing, where one is no text


def _normalized(form: Any) -> Callable[[str], str]:
    return lambda text: unicodedata.normalize(form, text)


def _translated(pairs: tuple[tuple[int, Any], ...]) -> Callable[[str], str]:
    return operator.methodcaller("translate", dict(pairs))


def _methods(names: str) -> dict[str, Maker]:
    return {name: partial(operator.methodcaller, name) for name in names.split()}


TESTS: dict[str, Maker] = {
    **_methods(
        "startswith endswith isalpha isalnum isdigit isdecimal isnumeric isspace islower isupper "
        "istitle isascii"
    ),
    "contains": _searched("search"),
    "match": _searched("match"),
    "fullmatch": _searched("fullmatch"),
}
MAPS: dict[str, Maker] = {
    **_methods(
        "lower upper title capitalize swapcase casefold strip lstrip rstrip removeprefix "
        "removesuffix zfill center ljust rjust find rfind partition rpartition rsplit"
    ),
    "repeat": lambda times: lambda text: text * times,
    "slice_replace": _spliced,
    "findall": _found,
    "join": _joined,
    "normalize": _normalized,
    "translate": _translated,
    "slice": lambda *ends: operator.itemgetter(slice(*ends)),
    "get": _got,
    "extract": _extracted,
    "replace": _replaced,
    "split": _split,
    "len": lambda: len,
    "count": _counted,
}

#: Methods that lists have, too.
OF_LISTS = ("get", "slice", "len", "join")
_NUMBERS = ("len", "count", "find", "rfind")
_LISTS = ("split", "rsplit", "partition", "rpartition", "findall")


@lru_cache(maxsize=256)
def _made(method: str, args: tuple[Any, ...]) -> Callable[[str], Any]:
    return (TESTS | MAPS)[method](*args)


@dataclass(frozen=True)
class _TextMethod(Unary):
    """A method of texts, with its arguments."""

    method: str
    args: tuple[Any, ...] = ()

    def _found(self, chunk: Chunk, of: Any = str) -> Vector:
        function = _made(self.method, self.args)
        key = "text", self.method, self.args
        own = self.operand.vector(chunk)
        return vectors.each(own, lambda x: function(x) if isinstance(x, of) else None, key)

    def __str__(self) -> str:
        return f"{self.operand.inner}.str.{self.method}({', '.join(map(repr, self.args))})"


@dataclass(frozen=True)
class TextTest(_TextMethod, Truth):
    """Whether a string passes a test."""

    takes = kinds.TEXTS

    def truth(self, chunk: Chunk) -> Mask:
        return vectors.compare_scalar("==", self._found(chunk), True)


@dataclass(frozen=True)
class TextMap(_TextMethod):
    """A text, a number or a list made from a text."""

    def declared(self, domain: Domain) -> Declaration | None:
        """What becomes of the declared texts; others make nothing."""
        known = self.operand.declared(domain)
        if self.method in _LISTS or not isinstance(known, Keys):
            return None
        return texts_declared(known, _made(self.method, self.args))

    def vector(self, chunk: Chunk) -> Vector:
        return self._found(chunk, (str, list, tuple) if self.method in OF_LISTS else str)

    def _kind(self, schema: Schema) -> Kind:
        if self.method in _NUMBERS:
            return kinds.NUMBER
        if self.method in _LISTS:
            return kinds.LIST
        keeps = self.method in OF_LISTS and self.method != "join"
        operand = self.operand.kind(schema) if keeps else kinds.TEXT
        return kinds.UNKNOWN if (operand, self.method) == (kinds.LIST, "get") else operand

    def needs(self, schema: Schema) -> Needs:
        lists = {kinds.LIST} if self.method in OF_LISTS else set()
        yield self.operand, kinds.TEXTS | lists


def texts_declared(known: Keys, function: Callable[[str], Any]) -> Keys | None:
    """The results of a function of declared texts, each once; None if there are none."""
    made: list[Any] = []
    for label in known.labels:
        if isinstance(label, str):
            with suppress(Exception):  # as for a cell
                made.append(function(label))
    labels = vectors.distinct(label for label in made if label is not None)
    return Keys(labels) if labels else None


@dataclass(frozen=True)
class Joined(Expression):
    """Texts one after the other; missing if one of them is no text."""

    canonical_name: ClassVar[str] = "Joined"

    operands: tuple[Expression, ...]

    takes = kinds.TEXTS
    makes = kinds.TEXT
    is_atom = False

    def vector(self, chunk: Chunk) -> Vector:
        codes, texts = np.zeros(chunk.rows, dtype=np.intp), np.array([""], dtype=object)
        there = np.ones(chunk.rows, dtype=bool)
        for operand in self.operands:
            if isinstance(operand, Literal):
                texts = texts + operand.value
                continue
            part = operand.vector(chunk).coded()
            own = np.array([c[1] if c[0] == "text" else None for c in part.levels.cells] + [None])
            there &= np.array([text is not None for text in own])[part.codes]
            own[[text is None for text in own]] = ""
            pairs, codes = _numbered(codes, part.codes % len(own), len(texts), len(own))
            texts = texts.take(pairs[0]) + own.take(pairs[1])
        return vectors.texts(texts, np.where(there, codes, -1))

    def declared(self, domain: Domain) -> Declaration | None:
        """All that declared texts make together, if that isn't too many."""
        texts = [""]
        for operand in self.operands:
            known = operand.declared(domain)
            if not isinstance(known, Keys) or len(texts) * len(known) > MOST_IMPLIED:
                return None
            own = [label for label in known.labels if isinstance(label, str)]
            texts = [text + label for text in texts for label in own]
        return Keys(vectors.distinct(texts)) if texts else None

    def __str__(self) -> str:
        return " + ".join(operand.inner for operand in self.operands)


def _numbered(a: Codes, b: Codes, most: int, width: int) -> tuple[tuple[Codes, Codes], Codes]:
    """Which pairs of numbers there are, and the place of each among them. If many are possible,
    each row is a pair of its own."""
    end = most * width
    if end > max(2**20, len(a)):
        return (a, b), np.arange(len(a))
    numbers = a * width + b
    there = np.zeros(end, dtype=bool)
    there[numbers] = True
    found = np.flatnonzero(there)
    return (found // width, found % width), (np.cumsum(there) - 1)[numbers]


def joined(operands: Iterable[Expression]) -> Expression:
    """One `Joined` of all texts, however they were put together."""
    flat: list[Expression] = []
    for each in operands:
        flat.extend(each.operands if isinstance(each, Joined) else [each])
    return Joined(tuple(flat))
