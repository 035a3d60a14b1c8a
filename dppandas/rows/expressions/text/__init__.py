"""The methods of `.str`, on one string at a time. Other values are missing, and pass no test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ....dataclasses import dataclass
from ....errors import QueryError
from ...facts import kinds
from ...facts.domain import Declaration
from ...facts.keys import MOST_IMPLIED, Keys
from ...facts.kinds import Kind, Schema
from ...values import forms, vectors
from ...values.families import MOST_CHARACTERS
from ...values.forms import Array, Codes, Mask, Vector
from ..base import Chunk, Domain, Expression, Literal, Needs, Truth, Unary
from .functions import GROUPS, MAPS, TESTS

#: Methods that lists have, too.
OF_LISTS = ("get", "slice", "len", "join")
_NUMBERS = ("len", "count", "find", "rfind")
_LISTS = ("split", "rsplit", "partition", "rpartition", "findall")
#: Texts that are joined into one. Each may be as long as a cell can be.
MOST_OPERANDS = 100


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

    @property
    def reading(self) -> int:
        """2 where groups that overlap may be longer together than a cell can be."""
        groups = GROUPS.get(self.method)
        return 2 if groups is not None and groups(*self.args) else 1

    def _declared(self, domain: Domain) -> Declaration | None:
        """What becomes of the declared texts, also by way of lists; others make nothing."""
        operand, function = self.operand, _made(self.method, self.args)
        if isinstance(operand, TextMap) and operand.method in _LISTS and self.method != "slice":
            function = _in_turn(_made(operand.method, operand.args), function)
            operand = operand.operand
        known = operand.declared(domain)
        if self.method in _LISTS or not isinstance(known, Keys):
            return None
        return texts_declared(known, function)

    def vector(self, chunk: Chunk) -> Vector:
        return self._found(chunk, (str, list, tuple) if self.method in OF_LISTS else str)

    def _kind(self, schema: Schema) -> Kind:
        if self.method in _NUMBERS:
            return kinds.NUMBER
        if self.method in _LISTS:
            return kinds.LIST
        keeps = self.method in OF_LISTS and self.method != "join"
        operand = self.operand.kind(schema) if keeps else kinds.TEXT
        if (operand, self.method) != (kinds.LIST, "get"):
            return operand
        return kinds.TEXT if _lists_texts(self.operand) else kinds.UNKNOWN

    def needs(self, schema: Schema) -> Needs:
        lists = {kinds.LIST} if self.method in OF_LISTS else set()
        yield self.operand, kinds.TEXTS | lists


def _lists_texts(expression: Expression) -> bool:
    """Whether it is known to make lists of texts. With groups, `findall` makes lists of tuples."""
    while isinstance(expression, TextMap) and expression.method == "slice":
        expression = expression.operand
    if not isinstance(expression, TextMap) or expression.method not in _LISTS:
        return False
    return expression.method != "findall" or GROUPS["findall"](*expression.args) <= 1


def _in_turn(parts: Callable[[str], Any], of_list: Callable[[Any], Any]) -> Callable[[str], Any]:
    return lambda text: of_list(tuple(parts(text)))


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
                texts = texts + operand.value[: MOST_CHARACTERS + 1]
            else:
                own, held = _texts_of(operand.vector(chunk))
                there &= np.array([text is not None for text in own])[held]
                own[[text is None for text in own]] = ""
                pairs, codes = _numbered(codes, held, len(texts), len(own))
                texts = texts.take(pairs[0]) + own.take(pairs[1])
            if max(map(len, texts), default=0) > MOST_CHARACTERS:
                # now, and not at the end: what follows would make them longer still
                long = np.array([len(text) > MOST_CHARACTERS for text in texts])
                texts, there = np.where(long, "", texts), there & ~long[codes]
        return vectors.texts(texts, np.where(there, codes, -1))

    def _declared(self, domain: Domain) -> Declaration | None:
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


def _texts_of(v: Vector) -> tuple[Array, Codes]:
    """Texts, None for other values; and the place of each element's among them, which is the last
    if it is missing."""
    held = v.coded()
    texts = [exact if family == "text" else None for family, exact in held.levels.cells]
    return np.array([*texts, None], dtype=object), held.codes % (len(texts) + 1)


def _numbered(a: Codes, b: Codes, most: int, width: int) -> tuple[tuple[Codes, Codes], Codes]:
    """Which pairs of numbers there are, and the place of each among them. Equal ones are never
    apart: a text for each row might fill the memory, where a single text more made many pairs."""
    end = most * width
    numbers = a * width + b
    if end > max(2**20, len(a)):
        codes, found = forms.numbered(numbers)
        return (found // width, found % width), codes
    there = np.zeros(end, dtype=bool)
    there[numbers] = True
    found = np.flatnonzero(there)
    return (found // width, found % width), (np.cumsum(there) - 1)[numbers]


def joined(operands: Iterable[Expression]) -> Expression:
    """One `Joined` of all texts, however they were put together. Too many are refused: a single
    row's texts might fill the memory."""
    flat: list[Expression] = []
    for each in operands:
        flat.extend(each.operands if isinstance(each, Joined) else [each])
    if (number := sum(not isinstance(each, Literal) for each in flat)) > MOST_OPERANDS:
        raise QueryError(
            f"{number} columns of texts are joined, and at most {MOST_OPERANDS} can be. Join fewer."
        )
    return Joined(tuple(flat))
