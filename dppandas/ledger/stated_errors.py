"""The error of an answer as a ledger keeps it: numbers, of which a sentence is made when read."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from ..dataclasses import dataclass, found_once
from ..rows.facts.spans import FURTHEST
from ..rows.figures import errors_in_words, spread
from ..rows.values import canonical
from ..rows.values.objects import value_of
from .verbs import text_of

#: The unit of half widths that are durations, which are whole numbers of nanoseconds.
DURATION = "ns"


class HalfWidths(NamedTuple):
    """Of one column, or of one figure of it: how far each number may be off, in order; one if all
    have the same, None for one that isn't known."""

    column: str
    figure: str  # as in "mean" of a description; "" elsewhere
    unit: str  # as in "rows", "ranks", or the name of a column for its own unit
    each: tuple[float | None, ...]

    @property
    def words(self) -> str:
        """The range, from the smallest to the largest."""
        each = [math.inf if width is None else width for width in self.each]
        is_time = self.unit == DURATION
        typed = (value_of(("duration", w)) if is_time and w < math.inf else w for w in each)
        return spread(list(zip(each, typed, strict=True)))


@dataclass(frozen=True)
class StatedError:
    """Half widths of the intervals around an answer, by column and figure. With the confidence all
    hold simultaneously, or each by itself."""

    widths: tuple[HalfWidths, ...]
    scale: tuple[float, ...]  # of the noise, one for all columns or one for each
    confidence: float
    is_each: bool = False

    def __str__(self) -> str:
        """In words: "± 30", "± 12 to 30", "age ± 2, income ± 230"."""
        return self._words

    @found_once
    def _words(self) -> str:
        figures = list(dict.fromkeys(each.figure for each in self.widths))
        names = [each.column for each in self.widths[:: len(figures)]]
        ranks = "ranks" if self.widths[0].unit == "ranks" else ""
        said = [each.words for each in self.widths]
        return errors_in_words(names, figures, said, ranks, self.is_each)

    def to_json(self) -> dict[str, Any]:
        """In the types of JSON, for `from_json`."""
        widths = [{**each._asdict(), "each": list(each.each)} for each in self.widths]
        said = {"half_widths": widths, "scale": list(self.scale), "confidence": self.confidence}
        return {**said, "each": True} if self.is_each else said

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> StatedError:
        """The error that `to_json` was called on. Raises what reading something else raises."""
        widths = []
        for of in said["half_widths"]:
            column, figure, unit = (text_of(of, name) for name in ("column", "figure", "unit"))
            each = tuple(_number(n, unit) for n in of["each"])
            widths.append(HalfWidths(column, figure, unit, each))
        if not widths:
            raise ValueError("an error without half widths")
        scale = tuple(float(each) for each in said["scale"])
        return cls(tuple(widths), scale, float(said["confidence"]), bool(said.get("each")))


def stated(
    errors: Sequence[Any], units: Sequence[str], names: Sequence[Any], figures: Sequence[str],
    scale: Any, confidence: float, is_each: bool,
) -> StatedError | None:  # fmt: skip
    """The errors of all numbers, in which columns alternate and then figures; None if none is
    known."""
    if not errors:
        return None
    width, widths = len(names), []
    for column, name in enumerate(names):
        for row, figure in enumerate(figures):
            first = column + row * width
            unit = DURATION if isinstance(errors[first], pd.Timedelta) else units[first]
            own = [_plain(error) for error in errors[first :: width * len(figures)]]
            same = own[:1] if len(set(own)) == 1 else own
            widths.append(HalfWidths("" if name is None else str(name), figure, unit, tuple(same)))
    scales = scale.values() if isinstance(scale, dict) else [scale]
    numbers = tuple(float(_plain(each) or 0) for each in scales)
    is_known = any(each for of in widths for each in of.each)
    return StatedError(tuple(widths), numbers, confidence, is_each) if is_known else None


def _plain(value: Any) -> float | None:
    """A number, of a duration its nanoseconds; None for one that isn't known."""
    if isinstance(value, pd.Timedelta):
        return int(canonical(value)[1])  # of any length: pandas' own end after 292 years
    if not math.isfinite(value):
        return None
    return int(value) if isinstance(value, int) else float(value)


def _number(said: Any, unit: Any) -> float | None:
    if said is None:
        return None
    if isinstance(said, bool) or not isinstance(said, int if unit == DURATION else int | float):
        raise TypeError("a half width that is no number")
    if not 0 <= said <= (2 * FURTHEST if unit == DURATION else sys.float_info.max):
        raise ValueError("a half width that is no length")
    return said
