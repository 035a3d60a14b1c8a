"""Distances of rows by a caller's function, and values that such a distance protects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..dataclasses import dataclass, field
from ..errors import QueryError, RecordError
from ..privacy.accounting.losses import Delta
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.thresholds import ProposeTestRelease, loss_asked
from .base import RowPass
from .callers import CallerFunction
from .error_model import ErrorModel
from .layout import Interval, format_number
from .scores import MOST, FrameStatistic, is_whole

#: Whole numbers up to this are what floats of their value come back as.
EXACT = 2**53


class Measurer(CallerFunction):
    """A caller's function of rows that returns whole numbers."""

    def __call__(self, frame: pd.DataFrame) -> int:
        value = self._said(frame)
        if not is_whole(value):
            raise QueryError("a distance must be a whole number. Return an int.")
        return max(0, min(MOST, int(value)))


class Valuer(CallerFunction):
    """A caller's function of rows that returns a number or a text."""

    def __call__(self, frame: pd.DataFrame) -> float | str:
        return plain(self._said(frame))


def is_plain(value: object) -> bool:
    """Whether a value can be released: a number or a string, of Python or numpy."""
    return is_whole(value) or isinstance(value, float | np.floating | str)


def plain(value: Any) -> float | str:
    """One object for all equal values: a value's type, and the sign of a 0, depend on rows.

    Whole numbers are ints up to 2^53; beyond, whatever a float can hold is a float.

    >>> plain(np.float64(3)), plain(-0.0), plain(0.5), plain(10**400) == 10**400
    (3, 0, 0.5, True)
    """
    if isinstance(value, str):
        return str(value)
    if not is_plain(value):
        raise QueryError("a value must be a number or a text.")
    number = int(value) if is_whole(value) else float(value)
    if number != number:
        return math.nan
    if isinstance(number, float):
        return int(number) if abs(number) <= EXACT and number.is_integer() else number
    try:
        return float(number) if abs(number) > EXACT and float(number) == number else number
    except OverflowError:
        return number


class DistanceErrors(ErrorModel):
    of: Distance

    def possible(self, entry: int) -> Interval | None:
        return 0, math.inf

    def error(self, half_width: int) -> float | None:
        return half_width


@dataclass(frozen=True)
class Distance(FrameStatistic):
    """What a caller's function returns for all rows. The caller states that one row moves it by at
    most 1.

    A unit of m rows moves it by at most m: row after row (docs/proofs/propose_test_release.md).
    """

    distance: Measurer = field(default_factory=lambda: Measurer(None))
    proof: ClassVar[str] = "propose_test_release"
    error_model: ClassVar = DistanceErrors

    on_failure: ClassVar[str] = " distance= must return an int, not a float or None, for any rows."

    size = 1
    l1 = 1
    monotone = False

    def read(self, row_pass: RowPass, mechanism: Any = None) -> Any:
        return [self.distance(self.frame(row_pass))]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [max(0, noisy[0])]


class ProposedErrors(DistanceErrors):
    of: Proposed

    no_interval: ClassVar[str] = (
        "a value that passes the test is exact, and has neither an error nor an interval. "
        ".released says whether it passed."
    )

    def possible(self, entry: int) -> Interval | None:
        return None

    def intervals(self, noisy: Sequence[Any], half_width: int) -> list[Interval]:
        raise RecordError(self.no_interval)

    def errors_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[float]:
        raise RecordError(self.no_interval)

    def expected_at(self, law: Any, confidence: float) -> str:
        """The distance from which on the value is released."""
        return f"released from a distance of {format_number(law.released_from(confidence))} rows"


@dataclass(frozen=True)
class Proposed(Distance):
    """A value of all rows, and how many rows can be added or removed without changing it, both by a
    caller's functions. Both are exact. The value is released only where it is far from changing.
    """

    value: Valuer = field(default_factory=lambda: Valuer(None))
    delta: Delta | None = None  # if the caller gave it before the release
    error_model: ClassVar = ProposedErrors

    on_failure: ClassVar[str] = (
        " distance= must return a whole number for any rows, and value= a float, an int or a str."
    )

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        epsilon, delta = loss_asked(asked, "propose-test-release", "tests")
        return ProposeTestRelease.calibrate(sensitivity.l1, epsilon, delta)

    def read(self, row_pass: RowPass, mechanism: Any = None) -> Any:
        """Value and distance, always both: which of them fails must not show what was released."""
        frame = self.frame(row_pass)
        value = self.value(frame.copy())
        return value, self.distance(frame)

    def exact_distance(self, one: Any, other: Any, selecting: bool) -> int:
        """The difference of the distances; where the values differ, at least the number of changes
        that either distance calls for."""
        (value, distance), (another, far) = one, other
        moved: int = abs(distance - far)
        same = repr(value) == repr(another)
        return moved if same else max(moved, distance + 1, far + 1)

    def estimate(self, noisy: Sequence[Any]) -> list[Any]:
        return list(noisy) or [None]
