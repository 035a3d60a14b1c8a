"""Scores of public candidates by a caller's own function of plain rows."""

from __future__ import annotations

import decimal
import numbers
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..dataclasses import dataclass, field
from ..errors import InternalError, QueryError
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.selection import Exponential, ExponentialWithPrior
from ..rows.expressions import Chunk, Column, Expression
from ..rows.values.vectors import Mask
from .base import Partial, RowPass, Statistic
from .callers import CallerFunction
from .error_model import ErrorModel

#: Scores are clipped to this, an exact integer of 78 digits.
MOST = 2**256


class Scorer(CallerFunction):
    """A caller's function of rows and a candidate, whose scores are whole numbers."""

    def __call__(self, frame: pd.DataFrame, candidate: Any) -> int:
        value = self._said(frame, candidate)
        if not is_whole(value):
            raise QueryError("a score must be a whole number. Return an int.")
        return max(-MOST, min(MOST, int(value)))


def is_whole(value: object) -> bool:
    """Whether a value is a whole number of Python or numpy, and not a truth value."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


@dataclass(frozen=True)
class FrameStatistic(Statistic, registered=False):
    """What a caller's functions return for the plain rows."""

    names: tuple[Any, ...] = ()

    plain: ClassVar[bool] = True

    def expressions(self) -> tuple[Expression, ...]:
        return tuple(map(Column, self.names))

    def frame(self, row_pass: RowPass) -> Any:
        """The plain rows, for the caller's functions."""
        return row_pass(self._rows, partial(FrameAccumulator, self.names))

    def _rows(self, branches: Sequence[Chunk], where: Expression | None) -> pd.DataFrame:
        (chunk,) = branches
        frame = chunk.plain(self.names)
        return frame if where is None else frame[where.truth(chunk)]

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        raise InternalError("a caller's function takes all rows at once: see `read`.")


class ScoresErrors(ErrorModel):
    of: Scores

    measured_in: ClassVar = ("utility",)

    def error(self, half_width: int) -> float | None:
        return half_width


@dataclass(frozen=True)
class Scores(FrameStatistic):
    """For each candidate, the score that a caller's function gives it for all rows. The caller
    states how much one row changes a score at most. Nothing here proves that.

    A unit of m rows moves a score by m times as much: row after row (docs/proofs/select.md).
    """

    candidates: tuple[Any, ...] = ()
    score: Scorer = field(default_factory=lambda: Scorer(None))
    stated: int = 1
    rises: bool = False  # whether more rows never lower a score, as the caller states
    prior: tuple[int, ...] = ()  # of the candidates, in public whole numbers
    proof: ClassVar[str] = "select"
    error_model: ClassVar = ScoresErrors

    on_failure: ClassVar[str] = (
        " score= must return a whole number (an int, not a float or None) for any rows and each "
        "candidate."
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

    def selection(self, asked: LossRequest, sensitivity: Sensitivity, number: int) -> Mechanism:
        """Permute-and-flip; or the exponential mechanism, if the caller gave a prior or named it:
        a choice by a caller's function has no key that would have to tell them apart."""
        found: Any = super().selection(asked, sensitivity, number)
        if self.prior:
            return ExponentialWithPrior(found.rate, found.rounds, self.prior)
        if asked.named == Exponential.word:
            return Exponential(found.rate, found.rounds)
        return found  # type: ignore[no-any-return]

    def read(self, row_pass: RowPass, mechanism: Any = None) -> Any:
        frame = self.frame(row_pass)
        return [self.score(frame, candidate) for candidate in self.candidates]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return list(noisy)


class FrameAccumulator:
    """Concatenates the plain rows of chunks."""

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
        """A new frame, so that whatever the caller's function does to it changes no other."""
        if not self._frames:
            return pd.DataFrame(columns=list(self._names))
        with decimal.localcontext() as quiet:  # pandas 2 compares signalling NaNs, which raises
            quiet.traps[decimal.InvalidOperation] = False
            try:
                return pd.concat(self._frames)
            except Exception:  # it hashes all categories, and some can't be hashed
                return pd.concat([_without_categories(part) for part in self._frames])


def _without_categories(part: pd.DataFrame) -> pd.DataFrame:
    """The same cells, with categorical columns as objects."""
    kinds = zip(part.columns, part.dtypes, strict=True)
    return part.astype({name: object for name, d in kinds if isinstance(d, pd.CategoricalDtype)})
