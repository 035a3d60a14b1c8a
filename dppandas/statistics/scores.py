"""What callers' own functions say of plain rows: scores of public candidates."""

from __future__ import annotations

import decimal
import numbers
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..errors import QueryError
from ..rows.expressions import Chunk, Column, Expression
from ..rows.values.vectors import Mask
from .base import Partial, RowPass, Statistic
from .layout import Interval

Score = Callable[[pd.DataFrame, Any], int]

#: Scores beyond this count as this: of 80 digits, they would still be compared exactly.
MOST = 2**256


class CallerFunction:
    """A caller's function. It may hold rows, so that it is left behind by a pickle."""

    def __init__(self, function: Callable[..., Any] | None) -> None:
        self._function = function

    def _said(self, *given: Any) -> Any:
        if self._function is None:
            raise QueryError("a pickle doesn't hold the caller's function.")
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # what numpy warns of are private values
            return self._function(*given)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None,)

    def __repr__(self) -> str:
        return "…"


class Scorer(CallerFunction):
    """A caller's function of rows and a candidate, whose scores are whole numbers."""

    def __call__(self, frame: pd.DataFrame, candidate: Any) -> int:
        value = self._said(frame, candidate)
        if not is_whole(value):
            raise QueryError("a score must be a whole number.")
        return max(-MOST, min(MOST, int(value)))


def is_whole(value: object) -> bool:
    """Whether a score is one: Python's int or numpy's, and no truth value."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


@dataclass(frozen=True)
class FrameStatistic(Statistic, registered=False):
    """What callers' functions say of the plain rows that count."""

    names: tuple[Any, ...] = ()

    def expressions(self) -> tuple[Expression, ...]:
        return tuple(map(Column, self.names))

    def frame(self, row_pass: RowPass) -> Any:
        """The rows that count, for callers' functions."""
        return row_pass(self._rows, lambda: FrameAccumulator(self.names))

    def _rows(self, branches: Sequence[Chunk], where: Expression | None) -> pd.DataFrame:
        (chunk,) = branches
        frame = chunk.plain(self.names)
        return frame if where is None else frame[where.truth(chunk)]

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        raise NotImplementedError("what a caller's function says is of all rows: see read")


@dataclass(frozen=True)
class Scores(FrameStatistic):
    """For each candidate, what a caller's function of all rows says; and by how much, as the
    caller states, one row changes it at most. Nothing here proves that statement.

    A unit of m rows moves a score by m times as much: row after row (docs/proofs/select.md).
    """

    candidates: tuple[Any, ...] = ()
    score: Scorer = field(default_factory=lambda: Scorer(None))
    stated: int = 1
    rises: bool = False  # whether more rows never lower a score, as the caller states

    measured_in: ClassVar = ("utility",)

    on_failure: ClassVar[str] = (
        " score= must return a whole number for whatever rows and each candidate: an int, and "
        "neither a float nor None."
    )

    @property
    def size(self) -> int:
        return len(self.candidates)

    @property
    def l1(self) -> int:
        return self.stated * len(self.candidates)

    @property
    def linf(self) -> int:
        return self.stated

    @property
    def monotone(self) -> bool:
        return self.rises

    def read(self, row_pass: RowPass) -> Any:
        frame = self.frame(row_pass)
        return [self.score(frame, candidate) for candidate in self.candidates]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return list(noisy)

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        return [(value - half_width, value + half_width) for value in noisy]

    def error(self, half_width: int) -> float | None:
        return half_width


class FrameAccumulator:
    """Puts together the plain rows of chunks."""

    def __init__(self, names: Sequence[Any]) -> None:
        self._names = names
        self._frames: list[pd.DataFrame] = []

    def add(self, partial: pd.DataFrame, rows: int) -> None:
        """The rows of one more chunk."""
        self._frames.append(partial)

    def join(self, other: FrameAccumulator) -> None:
        """The rows of what comes after."""
        self._frames += other._frames

    def result(self) -> pd.DataFrame:
        """A frame of its own: what the caller's function does to it changes no other."""
        if not self._frames:
            return pd.DataFrame(columns=list(self._names))
        with decimal.localcontext() as quiet:  # of a signalling NaN pandas 2 asks what it equals
            quiet.traps[decimal.InvalidOperation] = False
            try:
                return pd.concat(self._frames)
            except Exception:  # it hashes all categories: some tuples and what is none can't be
                return pd.concat([_without_categories(part) for part in self._frames])


def _without_categories(part: pd.DataFrame) -> pd.DataFrame:
    """The same cells as objects, where a column is categorical."""
    kinds = zip(part.columns, part.dtypes, strict=True)
    return part.astype({name: object for name, d in kinds if isinstance(d, pd.CategoricalDtype)})
