"""The methods of `.str`, on one string at a time. Other values are missing, and pass no test."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from ..facts import kinds
from ..facts.kinds import Kind, Schema
from ..values import vectors
from ..values.forms import Mask, Vector
from .base import Chunk, Needs, Truth, Unary

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


def _extracted(pattern: str) -> Callable[[str], Any]:
    find = re.compile(pattern).search
    return lambda text: None if (found := find(text)) is None else found[1]


def _replaced(pattern: str, by: str, is_regex: bool) -> Callable[[str], Any]:
    if not is_regex:
        return lambda text: text.replace(pattern, by)
    substitute = re.compile(pattern).sub
    return lambda text: substitute(by, text)


def _counted(pattern: str) -> Callable[[str], Any]:
    find = re.compile(pattern).findall
    return lambda text: len(find(text))


def _split(separator: str | None, most: int, is_regex: bool) -> Callable[[str], Any]:
    if separator is None or not is_regex:
        return lambda text: text.split(separator, most)
    split = re.compile(separator).split
    return lambda text: split(text, max(0, most))


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
        "removesuffix zfill center ljust rjust find"
    ),
    "slice": lambda *ends: operator.itemgetter(slice(*ends)),
    "get": _got,
    "extract": _extracted,
    "replace": _replaced,
    "split": _split,
    "len": lambda: len,
    "count": _counted,
}

#: Methods that lists have, too.
OF_LISTS = ("get", "slice", "len")
_NUMBERS = ("len", "count", "find")


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

    def vector(self, chunk: Chunk) -> Vector:
        return self._found(chunk, (str, list, tuple) if self.method in OF_LISTS else str)

    def _kind(self, schema: Schema) -> Kind:
        if self.method in _NUMBERS:
            return kinds.NUMBER
        if self.method == "split":
            return kinds.LIST
        operand = self.operand.kind(schema) if self.method in OF_LISTS else kinds.TEXT
        return kinds.UNKNOWN if (operand, self.method) == (kinds.LIST, "get") else operand

    def needs(self, schema: Schema) -> Needs:
        lists = {kinds.LIST} if self.method in OF_LISTS else set()
        yield self.operand, kinds.TEXTS | lists
