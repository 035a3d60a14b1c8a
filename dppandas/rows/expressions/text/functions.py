"""What the methods of `.str` make of one text: functions, made from a method's arguments."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from ...values.families import MOST_CHARACTERS, MOST_ELEMENTS

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
GROUPS: dict[str, Callable[..., int]] = {
    "findall": lambda pattern: re.compile(pattern).groups,
    "split": lambda pattern, most, is_regex: is_regex and re.compile(pattern or "").groups,
}
