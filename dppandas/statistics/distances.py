"""How far rows are from something, as a caller's function says, and values that this protects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..errors import QueryError, RecordError
from ..privacy.accounting.losses import Delta
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.thresholds import ProposeTestRelease, loss_asked
from .base import RowPass
from .layout import Interval, format_number
from .scores import MOST, CallerFunction, FrameStatistic, is_whole

#: Whole numbers up to this are what floats of their value come back as.
EXACT = 2**53


class Measurer(CallerFunction):
    """A caller's function of rows, whose distances are whole numbers."""

    def __call__(self, frame: pd.DataFrame) -> int:
        value = self._said(frame)
        if not is_whole(value):
            raise QueryError("a distance must be a whole number.")
        return max(0, min(MOST, int(value)))


class Valuer(CallerFunction):
    """A caller's function of rows, that gives a number or a text."""

    def __call__(self, frame: pd.DataFrame) -> float | str:
        return plain(self._said(frame))


def is_plain(value: object) -> bool:
    """Whether a value can be told: a number or a text, of Python or numpy."""
    return is_whole(value) or isinstance(value, float | np.floating | str)


def plain(value: Any) -> float | str:
    """One object for all equal values: which type or zero a value came as depends on rows.

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


@dataclass(frozen=True)
class Distance(FrameStatistic):
    """What a caller's function says of all rows; one row, as the caller states, moves it by 1.

    A unit of m rows moves it by at most m: row after row (docs/proofs/propose_test_release.md).
    """

    distance: Measurer = field(default_factory=lambda: Measurer(None))

    on_failure: ClassVar[str] = (
        " distance= must return a whole number for whatever rows: an int, and neither a float nor "
        "None."
    )

    @property
    def size(self) -> int:
        return 1

    @property
    def l1(self) -> int:
        return 1

    @property
    def monotone(self) -> bool:
        return False

    def read(self, row_pass: RowPass) -> Any:
        return [self.distance(self.frame(row_pass))]

    def possible(self, entry: int) -> Interval | None:
        return 0, math.inf

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [max(0, noisy[0])]

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        return [(max(0, noisy[0] - half_width), max(0, noisy[0] + half_width))]

    def error(self, half_width: int) -> float | None:
        return half_width


@dataclass(frozen=True)
class Proposed(Distance):
    """A value of all rows, and how many rows can be added or removed without changing it, both as
    callers' functions say. Both are exact; the value is told only where it is far from changing.
    """

    value: Valuer = field(default_factory=lambda: Valuer(None))
    delta: Delta | None = None  # known before the release, if the caller said it

    on_failure: ClassVar[str] = (
        " distance= must return a whole number for whatever rows, and value= a float, an int or a "
        "str."
    )
    no_interval: ClassVar[str] = (
        "what a test lets through is exact on the rows that count, and has neither error nor "
        "interval; .released says whether it let anything through."
    )

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        epsilon, delta = loss_asked(asked, "propose-test-release", "tests")
        return ProposeTestRelease.calibrate(sensitivity.l1, epsilon, delta)

    def read(self, row_pass: RowPass) -> Any:
        """Value and distance, both always: which of them fails must not say what was released."""
        frame = self.frame(row_pass)
        value = self.value(frame.copy())
        return value, self.distance(frame)

    def exact_distance(self, one: Any, other: Any, selecting: bool) -> int:
        """How far the distances are; where the values differ, also the least change that there
        is, as these distances say."""
        (value, distance), (another, far) = one, other
        moved: int = abs(distance - far)
        same = repr(value) == repr(another)
        return moved if same else max(moved, distance + 1, far + 1)

    def possible(self, entry: int) -> Interval | None:
        return None

    def estimate(self, noisy: Sequence[Any]) -> list[Any]:
        return list(noisy) or [None]

    def intervals(self, noisy: Sequence[Any], half_width: int) -> list[Interval]:
        raise RecordError(self.no_interval)

    def errors_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[float]:
        raise RecordError(self.no_interval)

    def expected_at(self, law: Any, confidence: float) -> str:
        """From which distance on the value is told."""
        return f"told from {format_number(law.released_from(confidence))} rows"
