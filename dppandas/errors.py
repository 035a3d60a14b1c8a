"""Everything that dppandas raises on purpose.

::

    DPError
    ├── QueryError (ValueError)          an argument is wrong; nothing was charged or read
    │   ├── UnknownColumn (KeyError)     a column that the frame does not have
    │   ├── MissingArgument              bounds=, keys= or another public fact is needed
    │   └── UnsupportedExpression        a query string outside the row-wise vocabulary
    ├── PrivateValueError (TypeError)    a private value was used as if it were a plain one
    │   └── UnsupportedVerb (AttributeError)  a verb of pandas that private objects don't have
    ├── LineageError                     it can't be told whom the rows of a frame belong to
    ├── SourceError                      a source's name, data or terms don't fit the session
    ├── SessionError                     sessions, budgets and who may release
    │   ├── BudgetExceeded               the ledger said no; carries .requested and .remaining
    │   ├── WorkerProcessError           a forked or worker process on a memory ledger
    │   └── StoreError (OSError)         a ledger's file can't be read or written
    ├── RecordError (LookupError)        no release record belongs to this object
    ├── ReleaseFailed (RuntimeError)     charged, and not answered: reading the data failed, say
    └── InternalError (RuntimeError)     a bug in dppandas: please report it

Each class says what became of the budget (`_ending`). All but `ReleaseFailed`, `InternalError`, and
`WorkerProcessError` after a fork come before anything is charged or read.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import inspect
import linecache
import numbers
import os
import re
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from types import FrameType
from typing import Any, ParamSpec, TypeVar

__all__ = [
    "BudgetExceeded",
    "DPError",
    "InternalError",
    "LineageError",
    "MissingArgument",
    "PrivateValueError",
    "QueryError",
    "RecordError",
    "ReleaseFailed",
    "SessionError",
    "SourceError",
    "StoreError",
    "UnknownColumn",
    "UnsupportedExpression",
    "UnsupportedVerb",
    "WorkerProcessError",
]

P = ParamSpec("P")
R = TypeVar("R")

_PLAIN = (str, bytes, numbers.Number, datetime.date, datetime.timedelta, type(None))
_SYNONYMS = {"avg": "mean", "average": "mean", "stddev": "std", "stdev": "std", "variance": "var"}


def __dir__() -> list[str]:
    return __all__


def quoted(value: object) -> str:
    """An argument as an error may quote it: plain values only: others may contain rows."""
    try:
        if isinstance(value, _PLAIN):
            text = repr(value)
            return text if len(text) <= 60 else text[:57] + "…"
        if isinstance(value, tuple | list) and len(value) <= 3:
            inside = ", ".join(map(quoted, value))
            return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    except Exception:  # an integer of more digits than Python prints, or a broken object
        pass
    return f"a {type(value).__name__}"


def is_one_of(value: object, words: Collection[str]) -> bool:
    """Whether an argument is one of some words; a frame of all things compares elementwise."""
    return isinstance(value, str) and value in words


def nearest(name: object, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that a misspelt one may stand for."""
    import difflib  # not needed by a bare import

    names, meant = list(known), _SYNONYMS.get(str(name), "")
    return [meant] if meant in names else difflib.get_close_matches(str(name), names, n=most)


class DPError(Exception):
    """The base of every error that dppandas raises on purpose.

    Its text is the reason (what is wrong, why, and what to write instead), and what became of the
    budget, which is said here and nowhere else.
    """

    _ending = "Nothing was computed or charged."

    @property
    def reason(self) -> str:
        """The text without what became of the budget."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        return f"{self.reason} {self._ending}".strip()

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback, in each of its modes: the message, in three
        lines if they hold it, and the line of the caller. One text, because some modes join texts
        by nothing."""
        lines = [*_in_lines(f"{type(self).__name__}: {self}", _SHOWN), _place(self)]
        return ["\n".join(filter(None, lines))]


class QueryError(DPError, ValueError):
    """A public argument is wrong. Nothing was computed or charged."""


class UnknownColumn(QueryError, KeyError):
    """The frame has no such column. Nothing was computed or charged."""


class MissingArgument(QueryError):
    """An argument has to be given, such as a public fact that is never read from the data."""


class UnsupportedExpression(QueryError):
    """A query string says something outside the row-wise vocabulary."""


class PrivateValueError(DPError, TypeError):
    """A private value was used where only a released one can be."""


class UnsupportedVerb(PrivateValueError, AttributeError):
    """A verb of pandas that is not row-wise, or would show private values."""


class LineageError(DPError):
    """It isn't known whose rows these are, or whether two things have the same rows."""


class SourceError(DPError):
    """A source's name, data or terms don't fit what the session holds."""


class SessionError(DPError):
    """A session or budget was asked for something that it can't do."""


class BudgetExceeded(SessionError):
    """The ledger refused a release: it would cost more than is left.

    ``requested`` and ``remaining`` are exact fractions, of the kind that is short: `Epsilon`, `Rho`
    or `Delta`. ``earlier`` says what earlier answers are still good for; the text, as much of it as
    four lines hold.
    """

    def __init__(
        self,
        message: str,
        requested: Fraction,
        remaining: Fraction,
        bought: str = "",
        earlier: Sequence[str] = (),  # each a sentence, the most useful one first
    ) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining
        self._earlier = tuple(earlier)
        self._ending = bought or self._ending  # what became of the releases before this one

    @property
    def earlier(self) -> str:
        """What earlier answers are still good for."""
        return " ".join(self._earlier)

    @property
    def reason(self) -> str:
        """The text without what became of the budget."""
        kept = [super().reason, *self._earlier]
        while len(kept) > 1 and len(_in_lines(self._said(kept), _SHOWN)) > _MOST:
            kept.pop()
        return " ".join(kept)

    def _said(self, kept: Sequence[str]) -> str:
        return " ".join([f"{type(self).__name__}:", *kept, self._ending])

    def __reduce__(self) -> tuple[object, ...]:
        said = self.args[0], self.requested, self.remaining, self._ending, self._earlier
        return type(self), said


class WorkerProcessError(SessionError):
    """A forked or worker process tried to release on a memory ledger, or what was charged to the
    process that it was forked from."""

    _ending = "Nothing was released here."


class StoreError(SessionError, OSError):
    """A ledger's file can't be read or written. Nothing was computed or released."""

    _ending = "Nothing was computed or released."


class RecordError(DPError, LookupError):
    """No release record belongs to this object."""

    _ending = ""


class ReleaseFailed(DPError, RuntimeError):
    """A charged release has no answer, and its charge stays: reading the data failed, or the answer
    could not be kept, and one that isn't kept is never shown."""

    _ending = ""


class InternalError(DPError, RuntimeError):
    """dppandas broke one of its own laws. This is probably a bug: please report it."""

    _ending = ""

    def _render_traceback_(self) -> list[str]:
        return ["\n".join([*super()._render_traceback_(), *getattr(self, "__notes__", ())])]


# --- how notebooks show them ----------------------------------------------------------------------

#: Columns that a window of 800 pixels has: front ends break longer lines anywhere.
_WIDTH = 72
#: Lines of a refusal, and how many there are at most where sentences don't fill them.
_SHOWN, _MOST = 3, 4
#: What isn't parted: "ε = 50", "age ± 0.79 to 1,300 days", "95 %".
_WHOLE = re.compile(
    r"(?:[εδρα] =|(?:\S{1,16} )?±|[≈≤]) \S+(?: to [\d.,]*\d)?"
    r"(?: (?:ranks|days|h|min|s|ms|µs|ns)\b)?|(?<=\d) %"
)
#: A letter that no text has, in the place of a space while lines are made.
_SPACE = "\ue000"
#: What runs a notebook's code, or calls back what a user gave it.
_OTHERS = ("IPython", "ipykernel", "numpy", "pandas")


def _in_lines(text: str, most: int) -> list[str]:
    """A text wrapped after sentences, to at most so many lines of about equal length; where those
    are too long, at words. The last sentence, of what became of the budget, stays whole."""
    sentences = re.split(r"(?<=[.?]) (?=[A-Z.])", text)
    for number in range(1, min(most, len(sentences)) + 1):
        cuts = combinations(range(1, len(sentences)), number - 1)
        ways = [[" ".join(sentences[a:b]) for a, b in pairwise((0, *c, None))] for c in cuts]
        best = min(ways, key=lambda way: max(map(len, way)))
        if max(map(len, best)) <= _WIDTH:
            return best
    whole = wrapped(text, _WIDTH)
    but_last = [*wrapped(" ".join(sentences[:-1]), _WIDTH), sentences[-1]]
    fits = len(but_last) <= len(whole) and len(sentences[-1]) <= _WIDTH
    return but_last if fits else whole


def unbroken(text: str, space: str = "\N{NO-BREAK SPACE}") -> str:
    """A text whose lines don't break within "ε = 50", "± 3 to 5" and "95 %"."""
    return _WHOLE.sub(lambda found: found[0].replace(" ", space), text)


def wrapped(text: str, width: int, most: int | None = None) -> list[str]:
    """A text in lines, broken between words and not within "ε = 50"; of more lines than ``most``
    the rest is left out."""
    lines = textwrap.wrap(
        unbroken(text, _SPACE), width, max_lines=most, placeholder=" …",
        break_long_words=most is not None, break_on_hyphens=False,
        subsequent_indent=" " * (len(text) - len(text.lstrip())),
    )  # fmt: skip
    return [line.replace(_SPACE, " ") for line in lines]


def _place(error: BaseException) -> str:
    """The line of the caller; "" where there is no other in the cell."""
    callers = [
        (frame, line, linecache.getlines(frame.f_code.co_filename))
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not _is_of(frame, *_OTHERS, _OURS)
    ]
    callers = [each for each in callers if each[1] <= len(each[2])]  # whose code is known
    cells = [each for each in callers if each[0].f_code.co_name == "<module>"]
    if not callers:
        return ""
    ends = (cells or callers)[-1], callers[-1]
    places = list(dict.fromkeys(f"line {line}{_of(frame)}" for frame, line, _ in ends))
    _, line, source = callers[-1]
    if len(places) == len(source) == 1:
        return ""
    said = f"In {', then in '.join(places)}: {source[line - 1].strip()}"
    return said if len(said) <= _WIDTH else said[: _WIDTH - 1] + "…"


def _of(frame: FrameType) -> str:
    """The function and the file of a frame, in words; of a cell, nothing."""
    name, file = frame.f_code.co_name, frame.f_globals.get("__file__")
    function = "" if name.startswith("<") else f" of {name}"
    return function + (f" in {os.path.basename(frame.f_code.co_filename)}" if file else "")


# --- where they are raised ------------------------------------------------------------------------


class _Unseen(tuple[Any, ...]):
    """Arguments that a traceback does not print."""

    def __repr__(self) -> str:
        return "…"


class _UnseenByName(dict[str, Any]):
    """Arguments by name that a traceback does not print."""

    def __repr__(self) -> str:
        return "…"


def hide_internals(
    function: Callable[P, R],
    prepare: Callable[[Any, Any], tuple[Callable[..., Any], dict[str, Any]]] | None = None,
    takes: str = "",
) -> Callable[P, R]:
    """A public function whose refusals and interrupts come without the frames they come from: with
    none of this package, so that the last one is the caller's.

    IPython's Verbose mode prints the arguments of each frame of a traceback and the variables of
    its line, and what is refused, such as a plain frame, may hold rows. Arguments that the function
    doesn't take are refused as other wrong ones are.

    prepare : what refuses others, and says what is called in place of the function, and with which
        arguments by name.
    takes : what the function takes, if not its own parameters alone.
    """

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> R:
        args, kwargs = _Unseen(args), _UnseenByName(kwargs)
        call: Any = function
        try:
            try:
                if prepare is not None:
                    call, kwargs = prepare(args, kwargs)
                return call(*args, **kwargs)  # type: ignore[no-any-return]
            except TypeError as error:
                wrong = _misfit(error, function, call)
                if not wrong:
                    raise
            raise QueryError(f"{function.__name__}: {_explained(wrong, function, takes)}")
        except (DPError, KeyboardInterrupt) as error:
            _forget_frames(error)
            raise  # again, which adds no frame of this function

    return called


def _misfit(error: TypeError, public: Callable[..., Any], called: Callable[..., Any]) -> str:
    """What is wrong with arguments that a function doesn't take; "" if that isn't the error.

    Such arguments enter nothing but what stands in for the function."""
    function, stand_in = inspect.unwrap(public).__code__, called.__code__
    _, *entered = (frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__))
    if isinstance(error, DPError) or any(c is function or c is not stand_in for c in entered):
        return ""
    return str(error).rpartition("() ")[2]


def _explained(wrong: str, function: Callable[..., Any], takes: str) -> str:
    """What is wrong with arguments, and which the function takes."""
    wrong = wrong.partition(". Did you mean")[0]  # as newer Pythons say
    name = wrong.partition("unexpected keyword argument ")[2].strip("'")
    near = nearest(name, parameters(function))
    takes = takes or ", ".join(parameters(function)) or "nothing"
    return f"{wrong}.{f' Did you mean {near[0]}=?' if near else ''} It takes {takes}."


def _forget_frames(error: BaseException) -> None:
    """Take the frames off an error, and the errors of this package that it came from. Of a bug, the
    lines that it came through are noted, without what they held."""
    if isinstance(error, InternalError):
        for frame, line in traceback.walk_tb(error.__traceback__):
            error.add_note(f"  {frame.f_code.co_filename}:{line} in {frame.f_code.co_name}")
    error.__traceback__ = None
    while (inner := error.__context__) is not None and (began := inner.__traceback__) is not None:
        if not _is_ours(began.tb_frame):
            break
        error.__context__ = inner.__context__


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """What a function takes by name, but for ``self``."""
    code = inspect.unwrap(function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(name for name in names if name != "self")


def warn_user(message: str) -> None:
    """A `UserWarning` at the line that called into the package. Neither a filter nor a hook that
    raises may take away the answer that it comes with."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    with contextlib.suppress(Exception):
        warnings.warn(message, UserWarning, stacklevel=level)


_OURS = __name__.partition(".")[0]


def _is_of(frame: FrameType, *packages: str) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in packages


def _is_ours(frame: FrameType) -> bool:
    return _is_of(frame, _OURS)


_CALLED = hide_internals(hide_internals).__code__


def caller(frame: FrameType) -> FrameType:
    """The frame that called a quiet function, of the function's own frame."""
    outer = frame.f_back or frame
    while outer.f_code is _CALLED and outer.f_back is not None:
        outer = outer.f_back
    return outer
