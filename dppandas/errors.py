"""Everything that dppandas raises on purpose.

::

    DPError
    ├── QueryError (ValueError)          an argument is wrong; nothing was charged or read
    │   ├── UnknownColumn (KeyError)     a column that the frame does not have
    │   ├── MissingArgument              bounds=, keys= or another public fact is needed
    │   └── UnsupportedExpression        a query string outside the row-wise vocabulary
    ├── PrivateValueError (TypeError)    a private value was used as if it were a plain one
    ├── LineageError                     it can't be told whom the rows of a frame belong to
    ├── SourceError                      a source's name, data or terms don't fit the session
    ├── SessionError                     sessions, budgets and who may release
    │   ├── BudgetExceeded               the ledger said no; carries .requested and .remaining
    │   └── WorkerProcessError           a forked or worker process on a memory ledger
    ├── RecordError (LookupError)        no release record belongs to this object
    ├── ReleaseFailed (RuntimeError)     reading the data failed after the charge
    └── InternalError (RuntimeError)     a bug in dppandas: please report it

All refusals but the last two come before the ledger is touched and before any data is read.
"""

from __future__ import annotations

import datetime
import numbers
from fractions import Fraction

_PLAIN = (str, bytes, numbers.Number, datetime.date, datetime.timedelta, type(None))


def shown(value: object) -> str:
    """An argument as an error may quote it: plain values alone, for a larger one may hold rows."""
    try:
        if isinstance(value, _PLAIN):
            text = repr(value)
            return text if len(text) <= 60 else text[:57] + "…"
        if isinstance(value, tuple | list) and len(value) <= 3:
            inside = ", ".join(map(shown, value))
            return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    except Exception:  # an integer of more digits than Python prints, or a broken object
        pass
    return f"a {type(value).__name__}"


class DPError(Exception):
    """The base of every error that dppandas raises on purpose."""


class QueryError(DPError, ValueError):
    """A public argument is wrong. Nothing was computed or charged."""


class UnknownColumn(QueryError, KeyError):
    """The frame has no such column. Nothing was computed or charged."""

    def __str__(self) -> str:  # KeyError would show the repr, quotes and all
        return str(self.args[0]) if self.args else ""


class MissingArgument(QueryError):
    """A public fact that dppandas never reads from the data has to be given."""


class UnsupportedExpression(QueryError):
    """A query string says something outside the row-wise vocabulary."""


class PrivateValueError(DPError, TypeError):
    """A private value was used where only a released one can be."""


class LineageError(DPError):
    """The privacy unit of a frame is not known any more."""


class SourceError(DPError):
    """A source's name, data or terms don't fit what the session holds."""


class SessionError(DPError):
    """A session or budget was asked for something that it can't do."""


class BudgetExceeded(SessionError):
    """The ledger refused a release: it would cost more than is left.

    ``requested`` and ``remaining`` are exact fractions of ε.
    """

    def __init__(self, message: str, requested: Fraction, remaining: Fraction) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.args[0], self.requested, self.remaining)


class WorkerProcessError(SessionError):
    """A forked or worker process tried to release on a memory ledger."""


class RecordError(DPError, LookupError):
    """No release record belongs to this object."""


class ReleaseFailed(DPError, RuntimeError):
    """Reading the data failed after the charge was committed; the charge stays."""


class InternalError(DPError, RuntimeError):
    """dppandas broke one of its own laws. This is probably a bug: please report it."""
