"""Functions of the caller that are written for one value: called once, for all values of a column.

The function gets private values in place of one. It can do with them what means the same in each
row (operators, numpy's functions of one row, methods of texts, parts of times), and nothing else.
So it can't keep or show a value, nor fail on one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn

from ..errors import DPError, PrivateValueError, QueryError, UnsupportedVerb, hide_internals
from ..release.private import Private
from ..rows.expressions import Function
from .accessors import TextMethods
from .operators import ColumnOperators
from .time_methods import TimeMethods

#: Methods of Python's texts that .str has with the same meaning.
_OF_TEXT = frozenset({
    "lower", "upper", "title", "capitalize", "swapcase", "casefold", "strip", "lstrip", "rstrip",
    "startswith", "endswith", "removeprefix", "removesuffix", "zfill", "isalpha", "isdigit",
    "isalnum", "isspace", "islower", "isupper", "istitle", "isnumeric", "isdecimal", "split",
})  # fmt: skip
#: Parts and methods of Timestamps and Timedeltas that .dt has with the same meaning.
_OF_TIME = frozenset({
    "year", "month", "day", "hour", "minute", "second", "microsecond", "quarter", "dayofweek",
    "day_of_week", "dayofyear", "day_of_year", "days_in_month", "is_month_start", "is_month_end",
    "is_quarter_start", "is_quarter_end", "is_year_start", "is_year_end", "is_leap_year",
    "day_name", "month_name", "strftime", "floor", "ceil", "normalize", "total_seconds", "days",
})  # fmt: skip
_INSTEAD = (
    "Write arithmetic, comparisons, methods of texts and times, and np.where(x > 3, 'a', 'b') in "
    "place of if; or use the column itself, as in frame['x'].clip(0, 9)"
)


class EachValue(ColumnOperators):
    """The values of a column, as a function for one value sees them."""

    #: The class of private columns, which says so itself.
    _columns_are: ClassVar[Any]

    def _refuse(self, what: str) -> NoReturn:
        raise PrivateValueError(
            f"{what} of a private value: the function is called once for all of them. {_INSTEAD}."
        )

    @hide_internals
    def __repr__(self) -> str:
        return f"<each value of {self._expression}>"

    @hide_internals
    def __getattr__(self, name: str) -> Any:
        if name in _OF_TEXT:
            return getattr(TextMethods(self), name)
        if name in _OF_TIME:
            return getattr(TimeMethods(self), name)
        if name.startswith("_"):
            raise AttributeError(name)
        raise UnsupportedVerb(f"{name!r} of a value isn't offered in functions. {_INSTEAD}.")

    @hide_internals
    def __getitem__(self, key: Any) -> EachValue:
        return TextMethods(self)[key]

    @hide_internals
    def __abs__(self) -> EachValue:
        return self._new(Function("absolute", self._expression))

    @hide_internals
    def __round__(self, digits: int = 0) -> EachValue:
        return self._new(self._column_of(self).round(digits)._expression)

    @hide_internals
    def __array_function__(self, func: Any, *called: Any) -> Any:
        """``np.where`` and the like, of the column."""
        types, args, options = called
        given = [self._column_of(each) for each in args]
        found = self._column_of(self).__array_function__(func, types, given, options)
        return self._new(found._expression) if isinstance(found, ColumnOperators) else found

    def _column_of(self, each: Any) -> Any:
        if not isinstance(each, EachValue):
            return each
        return self._columns_are(each._table, each.name, each._expression, each._where)

    @hide_internals
    def replace(self, old: str, new: str) -> EachValue:
        """As `str.replace`: a text in a text."""
        return TextMethods(self).replace(old, new, regex=False)


class EachRow(Private):
    """The rows of a frame, as a function for one row sees them: ``row["age"]``."""

    def __init__(self, values: Mapping[Any, EachValue]) -> None:
        self._values = values

    def _refuse(self, what: str) -> NoReturn:
        raise PrivateValueError(
            f"{what} of a private row: the function is called once for all of them. {_INSTEAD}."
        )

    @hide_internals
    def __repr__(self) -> str:
        return "<each row>"

    @hide_internals
    def __getitem__(self, name: Any) -> EachValue:
        if not isinstance(name, str | int) or name not in self._values:
            raise QueryError(
                f"{name!r} isn't one of the columns of a row. For several of them write "
                "frame[['a', 'b']].sum(axis=1), for example."
            )
        return self._values[name]

    @hide_internals
    def __getattr__(self, name: str) -> EachValue:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


def _texts(value: EachValue) -> EachValue:
    return TextMethods(value).len()


#: Functions of Python that can't be called with anything but their own types.
_KNOWN: dict[Any, Callable[[Any], Any]] = {len: _texts}


def called(verb: str, func: Any, given: Any, args: Any = (), options: Any = None) -> Any:
    """What a function makes of private values or columns."""
    if not callable(func):
        raise QueryError(f"{verb} takes a function, such as lambda x: x * 2.")
    if getattr(func, "__objclass__", None) is str:  # such as str.upper
        func = _method(func.__name__)
    func = _KNOWN.get(func, func) if isinstance(given, EachValue) else func
    try:
        return func(given, *args, **(options or {}))
    except DPError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise QueryError(
        f"{verb} called the function once, with private values in place of one, and it failed: "
        f"{kind}. {_INSTEAD}."
    )


def _method(name: str) -> Callable[..., Any]:
    return lambda value, *args: getattr(value, name)(*args)


def result(verb: str, made: Any, of: ColumnOperators) -> Any:
    """The expression that a function made, if it made private values of the same rows."""
    if not isinstance(made, ColumnOperators):
        raise QueryError(
            f"the function of {verb} must make private values of those that it is given, and made "
            f"a {type(made).__name__}. {_INSTEAD}."
        )
    return of._other(made)
