"""``.str`` of private columns: its row-wise methods, and no others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar

import numpy as np
import pandas as pd

from ..errors import QueryError, hide_internals, is_one_of, quoted
from ..release.private import Private
from ..rows.expressions import (
    Expression,
    IsMissing,
    Literal,
    Or,
    TextMap,
    TextTest,
    Where,
    joined,
)  # fmt: skip
from ..rows.sentences import html_above
from . import refusals
from .operators import ColumnOperators
from .rowwise import flagged, pattern, separator, text, texts, whole, width_of

C = TypeVar("C", bound=ColumnOperators)


class Accessor(Private, Generic[C]):
    """Row-wise methods of a private column, under a name of their own."""

    #: What has these methods, and why it lacks others of pandas.
    _kind: ClassVar[str]
    _known: ClassVar[refusals.Refusals]

    def __init__(self, column: C) -> None:
        self._column = column

    @hide_internals
    def _refuse_name(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        offered = ", ".join(each for each in vars(type(self)) if not each.startswith("_"))
        raise refusals.refuse(self, self._kind, offered, name, known=self._known)

    if not TYPE_CHECKING:  # which would believe in every name
        __getattr__ = _refuse_name

    def _new(self, expression: Expression) -> C:
        return self._column._new(expression)

    @property
    def _operand(self) -> Expression:
        return self._column._expression

    @hide_internals
    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._column!r}>"

    def _repr_html_(self) -> str:
        return html_above(f"{type(self).__name__} of", self._column)


#: Columns that split(expand=True) makes, at most.
MOST_PARTS = 100


def _verb(kind: type[TextMap] | type[TextTest], name: str, doc: str) -> Callable[[Accessor[C]], C]:
    """A method without arguments, which is an expression of the same name."""

    def method(self: Accessor[C]) -> C:
        """As pandas' method of this name, row by row."""
        return self._new(kind(self._operand, name))

    method.__name__, method.__qualname__, method.__doc__ = name, f"TextMethods.{name}", doc
    return hide_internals(method)


class TextMethods(Accessor[C]):
    """``.str``: methods of strings. Other values become missing, and pass no test. *Stability*: 1,
    row by row.

    ``.str[0]`` and ``.str[:3]`` are `get` and `slice`.

    >>> import pandas as pd, dppandas as dp
    >>> p = dp.private(pd.DataFrame({"city": ["Rome ", "oslo"]}), unit="row")
    >>> p["city"].str.strip().str.lower().str.startswith("r")
    <private column city.str.strip(None).str.lower().str.startswith('r') of unnamed (asserted)>
    """

    _kind, _known = "private strings", refusals.TEXTS

    lower = _verb(TextMap, "lower", "Texts in lower case.")
    upper = _verb(TextMap, "upper", "Texts in upper case.")
    title = _verb(TextMap, "title", "Texts whose words begin with a capital.")
    capitalize = _verb(TextMap, "capitalize", "Texts that begin with a capital.")
    swapcase = _verb(TextMap, "swapcase", "Texts with lower and upper case exchanged.")
    casefold = _verb(TextMap, "casefold", "Texts in the case that comparisons without case use.")
    len = _verb(TextMap, "len", "The number of characters, or of elements of a list.")
    isalpha = _verb(TextTest, "isalpha", "A mask: which texts are letters only.")
    isalnum = _verb(TextTest, "isalnum", "A mask: which texts are letters and digits only.")
    isdigit = _verb(TextTest, "isdigit", "A mask: which texts are digits only, ² included.")
    isdecimal = _verb(TextTest, "isdecimal", "A mask: which texts are decimal digits only.")
    isnumeric = _verb(TextTest, "isnumeric", "A mask: which texts are digits only, ½ included.")
    isspace = _verb(TextTest, "isspace", "A mask: which texts are whitespace only.")
    islower = _verb(TextTest, "islower", "A mask: which texts have lower case only.")
    isupper = _verb(TextTest, "isupper", "A mask: which texts have upper case only.")
    istitle = _verb(TextTest, "istitle", "A mask: in which texts each word begins with a capital.")
    isascii = _verb(TextTest, "isascii", "A mask: which texts are ASCII only.")

    @hide_internals
    def __getitem__(self, key: Any) -> C:
        if isinstance(key, slice):
            return self.slice(key.start, key.stop, key.step)
        return self.get(key)

    @hide_internals
    def get(self, i: int) -> C:
        """Character i, or element i of a list; missing where there is none."""
        return self._new(TextMap(self._operand, "get", (whole(i, "i"),)))

    @hide_internals
    def slice(self, start: Any = None, stop: Any = None, step: Any = None) -> C:
        """Each text from position start to stop, as ``.str[start:stop:step]``."""
        if step == 0:
            raise QueryError("step=0 never moves on. Give another step, such as 1.")
        named = {"start": start, "stop": stop, "step": step}.items()
        ends = tuple(None if end is None else whole(end, name) for name, end in named)
        return self._new(TextMap(self._operand, "slice", ends))

    @hide_internals
    def strip(self, to_strip: str | None = None) -> C:
        """Texts without whitespace (or the characters of ``to_strip``) at both ends."""
        return self._stripped("strip", to_strip)

    @hide_internals
    def lstrip(self, to_strip: str | None = None) -> C:
        """Texts without whitespace (or the characters of ``to_strip``) at the start."""
        return self._stripped("lstrip", to_strip)

    @hide_internals
    def rstrip(self, to_strip: str | None = None) -> C:
        """Texts without whitespace (or the characters of ``to_strip``) at the end."""
        return self._stripped("rstrip", to_strip)

    def _stripped(self, method: str, to_strip: str | None) -> C:
        characters = None if to_strip is None else text(to_strip, "to_strip")
        return self._new(TextMap(self._operand, method, (characters,)))

    @hide_internals
    def removeprefix(self, prefix: str) -> C:
        """Texts without a prefix, where they have it."""
        return self._new(TextMap(self._operand, "removeprefix", (text(prefix, "prefix"),)))

    @hide_internals
    def removesuffix(self, suffix: str) -> C:
        """Texts without a suffix, where they have it."""
        return self._new(TextMap(self._operand, "removesuffix", (text(suffix, "suffix"),)))

    @hide_internals
    def zfill(self, width: int) -> C:
        """Texts padded with zeros on the left, to a width of at most 1,000."""
        return self._new(TextMap(self._operand, "zfill", (width_of(width),)))

    @hide_internals
    def center(self, width: int, fillchar: str = " ") -> C:
        """Texts padded on both sides, to a width of at most 1,000."""
        return self._filled("center", width, fillchar)

    @hide_internals
    def ljust(self, width: int, fillchar: str = " ") -> C:
        """Texts padded on the right, to a width of at most 1,000."""
        return self._filled("ljust", width, fillchar)

    @hide_internals
    def rjust(self, width: int, fillchar: str = " ") -> C:
        """Texts padded on the left, to a width of at most 1,000."""
        return self._filled("rjust", width, fillchar)

    def _filled(self, method: str, width: int, fillchar: str) -> C:
        if len(text(fillchar, "fillchar")) != 1:
            raise QueryError(f"fillchar={quoted(fillchar)} must be one character.")
        return self._new(TextMap(self._operand, method, (width_of(width), fillchar)))

    @hide_internals
    def pad(self, width: int, side: str = "left", fillchar: str = " ") -> C:
        """Texts padded on the "left", on the "right" or on "both" sides, to at most 1,000."""
        sides = {"left": "rjust", "right": "ljust", "both": "center"}
        if not is_one_of(side, tuple(sides)):
            raise QueryError(f"side={quoted(side)} must be 'left', 'right' or 'both'.")
        return self._filled(sides[side], width, fillchar)

    @hide_internals
    def repeat(self, repeats: int) -> C:
        """Texts repeated a number of times, at most 1,000."""
        return self._new(TextMap(self._operand, "repeat", (width_of(repeats, "repeats"),)))

    @hide_internals
    def slice_replace(self, start: Any = None, stop: Any = None, repl: str | None = None) -> C:
        """Texts in which what stands from start to stop is replaced by ``repl``, or left out."""
        ends = [None if e is None else whole(e, n) for n, e in (("start", start), ("stop", stop))]
        by = "" if repl is None else text(repl, "repl")
        return self._new(TextMap(self._operand, "slice_replace", (*ends, by)))

    @hide_internals
    def normalize(self, form: str) -> C:
        """Texts in a normal form of Unicode: "NFC", "NFD", "NFKC" or "NFKD"."""
        if not is_one_of(form, ("NFC", "NFD", "NFKC", "NFKD")):
            raise QueryError(f"form={quoted(form)} must be 'NFC', 'NFD', 'NFKC' or 'NFKD'.")
        return self._new(TextMap(self._operand, "normalize", (form,)))

    @hide_internals
    def translate(self, table: Mapping[int, Any]) -> C:
        """Characters replaced by those of a table, as `str.maketrans` makes it."""
        is_table = isinstance(table, Mapping) and all(
            isinstance(k, int) and isinstance(v, int | str | None) for k, v in table.items()
        )
        if not is_table:
            raise QueryError("table= must be one that str.maketrans makes, such as {97: 'b'}.")
        for each in table.values():
            text(each if isinstance(each, str) else "", "table")
        return self._new(TextMap(self._operand, "translate", (tuple(sorted(table.items())),)))

    @hide_internals
    def find(self, sub: str) -> C:
        """The position at which another string first begins, or -1."""
        return self._new(TextMap(self._operand, "find", (text(sub, "sub"),)))

    @hide_internals
    def rfind(self, sub: str) -> C:
        """The position at which another string last begins, or -1."""
        return self._new(TextMap(self._operand, "rfind", (text(sub, "sub"),)))

    @hide_internals
    def count(self, pat: str, flags: int = 0) -> C:
        """How many matches of a regular expression each text has."""
        return self._new(TextMap(self._operand, "count", (flagged(pat, flags),)))

    @hide_internals
    def findall(self, pat: str, flags: int = 0) -> C:
        """A list of all matches of a regular expression, for ``.str[0]``, ``.str.len()`` or
        explode."""
        return self._new(TextMap(self._operand, "findall", (flagged(pat, flags),)))

    @hide_internals
    def join(self, sep: str) -> C:
        """The texts of a list joined by a separator; missing if one isn't a text."""
        return self._new(TextMap(self._operand, "join", (text(sep, "sep"),)))

    @hide_internals
    def cat(self, others: Any = None, sep: str | None = None, na_rep: str | None = None) -> C:
        """Texts joined with those of other private columns of the same rows, as with ``+``;
        missing if one is, or with ``na_rep`` in its place.

        others : a private column, or a list of up to 99. Without it, pandas makes one text of all
            rows, which would show them.
        """
        if others is None:
            raise QueryError(
                "cat without others= would make one text of all rows. Give a private column of the "
                "same rows, or release value_counts(keys=[…])."
            )
        between = Literal(text(sep, "sep")) if sep else None
        parts: list[Expression] = []
        for each in [self._column, *(others if isinstance(others, list | tuple) else [others])]:
            if not isinstance(each, ColumnOperators):
                raise QueryError("cat takes private columns of the same rows. Add texts by +.")
            part = self._column._other(each)
            if na_rep is not None:
                fill = Literal(text(na_rep, "na_rep"))
                part = Where(IsMissing(part), fill, part)
            parts.extend([between, part] if between is not None and parts else [part])
        return self._new(joined(parts))

    @hide_internals
    def replace(
        self,
        pat: str,
        repl: str,
        n: int = -1,
        case: bool | None = None,
        flags: int = 0,
        regex: bool = False,
    ) -> C:
        """One text replaced by another (the first ``n`` times); with ``regex=True``, a regular
        expression's matches."""
        by = text(repl, "repl")
        if case is False and not regex:
            pat, by, regex = re.escape(text(pat, "pat")), by.replace("\\", r"\\"), True
        ignored = flags | re.IGNORECASE if case is False else flags
        pattern = flagged(pat, ignored) if regex else text(pat, "pat")
        try:
            re.compile(f"{pattern}|" if regex else "").sub(by if regex else "", "")
        except (re.error, IndexError) as error:
            raise QueryError(f"repl={quoted(repl)} doesn't fit pat=: {error}.") from None
        most = () if whole(n, "n") < 0 else (n,)
        return self._new(TextMap(self._operand, "replace", (pattern, by, bool(regex), *most)))

    @hide_internals
    def extract(self, pat: str, flags: int = 0, expand: bool | None = None) -> Any:
        """What the groups of a regular expression match at its first match; missing without a
        match. One group makes a column; several, or ``expand=True``, a frame with a column for
        each, under its name or number."""
        pattern = flagged(pat, flags)
        found = re.compile(pattern)
        if found.groups < 1:
            raise QueryError("pat= must have a group, as in r'(\\d+)'.")
        named = {number: name for name, number in found.groupindex.items()}
        columns: dict[Any, Expression] = {}
        for group in range(1, found.groups + 1):
            which = (group,) if group > 1 else ()
            made = TextMap(self._operand, "extract", (pattern, *which))
            columns[named.get(group, group - 1)] = made
        if expand or found.groups > 1:
            return self._column._several(columns)
        column = self._new(columns.popitem()[1])
        return column.rename(named[1]) if named else column  # type: ignore[attr-defined]

    @hide_internals
    def split(
        self, pat: str | None = None, n: int = -1, expand: bool = False, regex: bool | None = None
    ) -> Any:
        """Texts split into lists, for explode or ``.str[0]``; with ``expand=True`` into columns 0
        to n of a frame. That needs ``n=``, because the number of columns would be private.

        As in pandas, a pat of more than one character is a regular expression.
        """
        separator = None if pat is None else text(pat, "pat") or None
        is_regex = len(separator or "") > 1 if regex is None else bool(regex)
        if separator is not None and is_regex:
            pattern(separator)
        most = -1 if n is None else whole(n, "n") or -1
        return self._parted(TextMap(self._operand, "split", (separator, most, is_regex)), n, expand)

    @hide_internals
    def rsplit(self, pat: str | None = None, n: int = -1, expand: bool = False) -> Any:
        """Like `split`, but counts ``n`` splits from the end."""
        separator = None if pat is None else text(pat, "pat") or None
        most = -1 if n is None else whole(n, "n") or -1
        return self._parted(TextMap(self._operand, "rsplit", (separator, most)), n, expand)

    def _parted(self, parts: TextMap, most: int | None, expand: bool) -> Any:
        """A list, or a frame with a column for each of its n + 1 elements."""
        if not expand:
            return self._new(parts)
        if most is None or not 1 <= most <= MOST_PARTS:
            raise QueryError(
                f"expand=True needs n=, a number of splits up to {MOST_PARTS}: how many columns "
                "the longest text would make is private. Write split(',', n=2, expand=True) for "
                "the columns 0, 1 and 2."
            )
        return self._elements(parts, most + 1)

    def _elements(self, parts: TextMap, number: int) -> Any:
        return self._column._several({i: TextMap(parts, "get", (i,)) for i in range(number)})

    @hide_internals
    def partition(self, sep: str = " ", expand: bool = True) -> Any:
        """The text before the first separator, the separator, and the text after it: the columns
        0, 1 and 2 of a frame; with ``expand=False`` a list."""
        parts = TextMap(self._operand, "partition", (separator(sep),))
        return self._elements(parts, 3) if expand else self._new(parts)

    @hide_internals
    def rpartition(self, sep: str = " ", expand: bool = True) -> Any:
        """Like `partition`, but at the last separator."""
        parts = TextMap(self._operand, "rpartition", (separator(sep),))
        return self._elements(parts, 3) if expand else self._new(parts)

    @hide_internals
    def startswith(self, pat: str | tuple[str, ...], na: Any = None) -> C:
        """A mask: which strings start with this or one of these. For ``na`` see `contains`."""
        return self._tested("startswith", (texts(pat),), na)

    @hide_internals
    def endswith(self, pat: str | tuple[str, ...], na: Any = None) -> C:
        """A mask: which strings end with this or one of these. For ``na`` see `contains`."""
        return self._tested("endswith", (texts(pat),), na)

    @hide_internals
    def contains(
        self, pat: str, case: bool = True, flags: int = 0, na: Any = None, regex: bool = True
    ) -> C:
        """A mask: which strings contain a regular expression (with ``regex=False``, a string).

        na : True counts missing values in; by default they are False."""
        case, flags = case and not flags & re.IGNORECASE, flags & ~re.IGNORECASE
        pattern = flagged(pat, flags) if regex else text(pat, "pat")
        return self._tested("contains", (pattern, not case, bool(regex)), na)

    @hide_internals
    def match(self, pat: str, case: bool = True, flags: int = 0, na: Any = None) -> C:
        """A mask: which strings start with a match of a regular expression. For ``na`` see
        `contains`."""
        case, flags = case and not flags & re.IGNORECASE, flags & ~re.IGNORECASE
        return self._tested("match", (flagged(pat, flags), not case, True), na)

    @hide_internals
    def fullmatch(self, pat: str, case: bool = True, flags: int = 0, na: Any = None) -> C:
        """A mask: which strings match a regular expression as a whole. For ``na`` see
        `contains`."""
        case, flags = case and not flags & re.IGNORECASE, flags & ~re.IGNORECASE
        return self._tested("fullmatch", (flagged(pat, flags), not case, True), na)

    def _tested(self, method: str, args: tuple[Any, ...], na: Any) -> C:
        test: Expression = TextTest(self._operand, method, args)
        missing = na is not None and na == na and na is not pd.NA
        if missing and not isinstance(na, bool | np.bool_):
            raise QueryError(f"na={quoted(na)} must be True or False.")
        return self._new(Or(test, IsMissing(self._operand)) if missing and na else test)
