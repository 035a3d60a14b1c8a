"""The methods of `.str`, on one string at a time. Other values are missing, and pass no test."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from ...errors import QueryError
from ..facts import kinds
from ..facts.domain import Declaration
from ..facts.keys import MOST_IMPLIED, Keys
from ..facts.kinds import Kind, Schema
from ..values import forms, vectors
from ..values.families import MOST_CHARACTERS, MOST_ELEMENTS
from ..values.forms import Array, Codes, Mask, Vector
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


def _within(size: Callable[[Any], int], make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A text that is made, or None if it would be beyond the limits of cells: such a text is
    missing, and the memory for it is never asked for, because an error would tell of the cell."""
    return lambda value: None if size(value) > MOST_CHARACTERS else make(value)


def _repeated(times: int) -> Callable[[str], Any]:
    return _within(lambda text: len(text) * times, lambda text: text * times)


def _replaced(pattern: str, by: str, is_regex: bool, most: int = -1) -> Callable[[str], Any]:
    if is_regex:
        return _substituted(re.compile(pattern), by, max(0, most))
    grows = max(0, len(by) - len(pattern))

    def size(text: str) -> int:
        if len(text) + (len(text) + 1) * grows <= MOST_CHARACTERS:
            return 0  # whatever is found
        found = text.count(pattern)
        return len(text) + (len(by) - len(pattern)) * (found if most < 0 else min(found, most))

    return _within(size, lambda text: text.replace(pattern, by, most))


def _substituted(pattern: re.Pattern[str], by: str, most: int) -> Callable[[str], Any]:
    constant, times = _template(pattern, by)
    used = [(group, number) for group, number in enumerate(times) if number]

    def size(text: str) -> int:
        """How much of the result there is when it is beyond the limit, else any number below."""
        if len(text) + (len(text) + 1) * (constant + sum(times) * len(text)) <= MOST_CHARACTERS:
            return 0  # whatever is found
        made, end = 0, 0
        for match in islice(pattern.finditer(text), most or None):
            made += match.start() - end + constant
            made += sum(number * len(match[group] or "") for group, number in used)
            end = match.end()
            if made > MOST_CHARACTERS:
                break
        return made + len(text) - end

    return _within(size, lambda text: pattern.sub(by, text, count=most))


def _template(pattern: re.Pattern[str], by: str) -> tuple[int, list[int]]:
    """How many characters of its own a replacement has, and how often it repeats each group, the
    whole match first: from matches of patterns that have the same groups, of which one holds a
    letter."""
    names = {number: f"?P<{name}>" for name, number in pattern.groupindex.items()}

    def length(letter: int) -> int:
        held = [f"({names.get(i, '')}{'a' * (i == letter)})" for i in range(1, pattern.groups + 1)]
        match = re.compile("".join([*held, "a" * (letter == 0)])).match("a")
        return len(match.expand(by)) if match else 0

    constant = length(-1)
    whole = length(0) - constant
    each = [length(group) - constant - whole for group in range(1, pattern.groups + 1)]
    return constant, [whole, *each]


def _spliced(start: int | None, stop: int | None, by: str) -> Callable[[str], str]:
    """As pandas: what is after an empty slice stays."""

    def one(text: str) -> str:
        end = stop if text[start:stop] else start
        before = "" if start is None else text[:start]
        return before + by + ("" if stop is None else text[end:])

    return one


def _counted(pattern: str) -> Callable[[str], Any]:
    find = re.compile(pattern).finditer  # the matches together may be far longer than the text
    return lambda text: sum(1 for _ in find(text))


def _split(separator: str | None, most: int, is_regex: bool) -> Callable[[str], Any]:
    if separator is None or not is_regex:
        return lambda text: text.split(separator, most)
    pattern, groups = re.compile(separator), range(1, re.compile(separator).groups + 1)

    def size(text: str) -> int:
        """Of the groups, which stand between the parts and may look ahead of them."""
        return _length(pattern, text, groups, most) if groups else 0

    return _within(size, lambda text: pattern.split(text, max(0, most)))


def _found(pattern: str) -> Callable[[str], Any]:
    compiled = re.compile(pattern)
    groups = range(1, compiled.groups + 1) or range(1)
    return _within(lambda text: _length(compiled, text, groups), compiled.findall)


def _length(pattern: re.Pattern[str], text: str, groups: range, most: int = 0) -> int:
    """How long some groups are in all matches together: each may look ahead, to the end of the
    text. Beyond the limit, any number that is; also where groups are more than a list may have."""
    made = elements = 0
    for match in islice(pattern.finditer(text), most if most > 0 else None):
        made += sum(len(match[group] or "") for group in groups)
        elements += pattern.groups
        if made > MOST_CHARACTERS or elements > MOST_ELEMENTS:
            return MOST_CHARACTERS + 1
    return made


def _joined(separator: str) -> Callable[[Any], Any]:
    def size(parts: Any) -> int:
        return sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1)

    # either fails, and the result is missing, where one is no text
    return _within(size, lambda parts: separator.join(parts))


def _normalized(form: Any) -> Callable[[str], str]:
    return lambda text: unicodedata.normalize(form, text)


def _translated(pairs: tuple[tuple[int, Any], ...]) -> Callable[[str], str]:
    table = dict(pairs)
    lengths = {k: len(v) if isinstance(v, str) else int(v is not None) for k, v in table.items()}
    longest = max([1, *lengths.values()])

    def size(text: str) -> int:
        if len(text) * longest <= MOST_CHARACTERS:
            return 0  # whatever is in it
        return sum(lengths.get(ord(each), 1) * n for each, n in Counter(text).items())

    return _within(size, operator.methodcaller("translate", table))


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
    "repeat": _repeated,
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


#: How many groups a method's pattern has, where the groups of all matches are listed.
_GROUPS: dict[str, Callable[..., int]] = {
    "findall": lambda pattern: re.compile(pattern).groups,
    "split": lambda pattern, most, is_regex: is_regex and re.compile(pattern or "").groups,
}

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
        groups = _GROUPS.get(self.method)
        return 2 if groups is not None and groups(*self.args) else 1

    def declared(self, domain: Domain) -> Declaration | None:
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
    return expression.method != "findall" or _GROUPS["findall"](*expression.args) <= 1


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
