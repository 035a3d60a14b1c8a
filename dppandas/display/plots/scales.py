"""What the numbers of a plot are measured in: numbers, shares, times or durations."""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd

from ...dataclasses import dataclass
from ...release.answers.records import Record
from ...rows.facts.spans import Ruler
from ...rows.figures import UNBOUNDED, Written, format_error, within, written
from ...rows.values.forms import tzinfo
from ...statistics import Statistic, UndeclaredKeys
from .base import Floats, text_of
from .style import setting

#: Units of durations, in nanoseconds: the largest one is taken of which there are at least two.
UNITS = (
    ("days", 86_400 * 10**9), ("hours", 3600 * 10**9), ("minutes", 60 * 10**9),
    ("seconds", 10**9), ("milliseconds", 10**6), ("microseconds", 10**3), ("nanoseconds", 1),
)  # fmt: skip
#: The most ticks, the breadth of a digit in letters' heights, and words for many zeros.
MOST_TICKS, DIGIT = 6, 0.62
#: Fewer would make AutoDateLocator warn, for 31 months as for 61 hours; they are thinned instead.
MOST_TIMES = 7
Words = Callable[[Floats, Floats], list[str]]  # of numbers, beside these ticks
MAGNITUDES = ((1e12, " tn"), (1e9, " bn"), (1e6, " M"))
#: How times are written, by the days between ticks; "\n" where a day has several.
FORMS = ((360, "%Y"), (27, "%Y-%m"), (1, "%Y-%m-%d"), (1 / 1440, "%H:%M\n%Y-%m-%d"))


@dataclass(frozen=True)
class Scale:
    """A kind of numbers, and how they become positions on an axis and words."""

    kind: str  # "number", "share", "time" or "duration"
    label: str  # of the axis
    ruler: Ruler | None = None  # of times and durations
    unit: int = 1  # of durations, in nanoseconds

    def positions(self, numbers: Any) -> Floats:
        """The positions of a record's numbers."""
        at = np.asarray(numbers, dtype="float64")
        if self.ruler is None:
            return at
        nanos = at * self.ruler.tick
        if self.kind == "duration":
            return np.asarray(nanos / self.unit)
        span = self.ruler.span
        return days(np.clip(nanos + self.ruler.origin, span.lower, span.upper))

    def lengths(self, errors: Any) -> Floats:
        """How long errors are along the axis."""
        if self.kind != "time" or self.ruler is None:
            return self.positions(errors)
        return np.asarray(errors, dtype="float64") * self.ruler.tick / UNITS[0][1]

    def error(self, error: float) -> str:
        """An error of a record in words; that of a time is a duration."""
        if self.kind != "time" or self.ruler is None:
            return f"{format_error(self._in_unit(error))}{self._end()}"
        return format_error(self.ruler.length(error, math.ceil))

    def beside(self, error: float) -> str:
        """An error of a record as it stands beside a number."""
        return f"± {self.error(error)}" if math.isfinite(error) else f"error {UNBOUNDED}"

    def written(self, number: float, error: float = math.nan) -> str:
        """A number of a record in words, to the second digit of its error."""
        if number != number:
            return "unknown"
        if self.kind == "time":
            ruler = cast(Ruler, self.ruler)
            off = None if math.isnan(error) else ruler.length(error, math.ceil)
            return written(ruler.place(number), off).value
        said = written(self._in_unit(number), self._in_unit(error))
        return f"{said.value}{self._end()}"

    def within(self, value: float, low: float, high: float) -> Written:
        """A number of a record beside its interval."""
        if self.kind == "time":
            return within(*(cast(Ruler, self.ruler).place(x) for x in (value, low, high)))
        found = within(*map(self._in_unit, (value, low, high)))
        return Written(f"{found.value}{self._end()}", said=f"{found.said[:-1]}{self._end()})")

    def _in_unit(self, number: float) -> float:
        return (100.0 if self.kind == "share" else 1.0) * float(self.positions(number))

    def _end(self) -> str:
        unit = next((f" {name}" for name, size in UNITS if size == self.unit), "")
        return {"share": " %", "duration": unit}.get(self.kind, "")

    def dress(self, axis: Any) -> None:
        """Write an axis's ticks: with thousands separators, never with a factor or an offset."""
        if self.kind == "time":
            zone = None if self.ruler is None else self.ruler.span.zone
            time_axis(axis, zone)
        else:
            number_axis(axis, is_share=self.kind == "share")


def by_noise(told: Written, outer: Written) -> str:
    """A number, its interval by the noise, and that for the population."""
    return f"{told.value} ({told.said[1:-1]} by the noise, {outer.said[1:-1]} for the population)"


def scale_of(record: Record, entries: Any) -> Scale:
    """The scale of some numbers of a record, which share one."""
    entry, statistic = int(entries[0]) if len(entries) else 0, record._statistic
    inner, names = _inner(statistic), statistic.errors.asked_columns
    rulers = statistic.layout.rulers
    ruler, name = rulers[entry % len(rulers)] if rulers else None, names[entry % len(names)]
    if names == [None] and len(asked := record._question.columns) == 1:
        name = asked[0].short  # a table of two keys has no place for it
    says, kinds = statistic.says(entry), statistic.errors.units(record._query.source.schema)
    kind = kinds[0] if len(kinds) == 1 or says == "number" else kinds[1]
    if statistic.errors.in_ranks:
        kind = "column"
    is_one = len({int(each) % len(names) for each in entries}) == 1
    column = text_of(name) if is_one and name is not None else ""
    if ruler is not None and says != "number":
        if says == "value" and ruler.span.is_time:
            zone = f" ({ruler.span.zone})" if ruler.span.zone else ""
            return Scale("time", f"{column}{zone}", ruler)
        numbers = np.abs(np.array(record._values())[np.asarray(entries, dtype="int64")])
        name, unit = _unit(float(np.nanmax(numbers, initial=0)) * ruler.tick)
        return Scale("duration", f"{column or 'duration'}, in {name}", ruler, unit)
    if kind == "share" and not getattr(inner, "correlation", False):
        return Scale("share", "share of rows")
    known = {"column": column or "value", "square": f"{column or 'value'}²", "share": "correlation",
             "product": "product of columns", "keys": "distinct values",
             "values": "distinct values"}  # fmt: skip
    return Scale("number", known.get(kind, kind))


def columns_alike(record: Record) -> list[Any]:
    """For each column asked about, a key that columns of one scale share: of rows and shares, or
    of values within the same public bounds."""
    statistic = record._statistic
    inner, names = _inner(statistic), statistic.errors.asked_columns
    rulers = statistic.layout.rulers
    kinds = statistic.errors.units(record._query.source.schema)
    if not {*kinds} & {"column", "square", "product"}:
        return [kinds] * len(names)
    bounds = getattr(inner, "bounds", ()) or [
        (grid.low * grid.step, grid.high * grid.step) for grid in getattr(inner, "grids", ())
    ]
    if len(bounds) != len(names):
        return list(range(len(names)))
    return [(each, rulers[i] if rulers else None) for i, each in enumerate(bounds)]


def _inner(statistic: Statistic) -> Statistic:
    is_found = isinstance(statistic, UndeclaredKeys) and statistic.inner is not None
    return statistic.inner if is_found else statistic  # type: ignore[attr-defined]


def _unit(most: float) -> tuple[str, int]:
    """The unit that suits some nanoseconds."""
    return next((each for each in UNITS if most >= 2 * each[1]), ("seconds", 10**9))


# --- axes -----------------------------------------------------------------------------------------


def days(nanos: Any) -> Floats:
    """matplotlib's positions of nanoseconds since 1970."""
    micros = np.asarray(nanos, dtype="float64") / 1000
    known = np.where(np.isfinite(micros), micros, 0).round().astype("int64").astype("M8[us]")
    at = importlib.import_module("matplotlib.dates").date2num(known)
    return np.where(np.isfinite(micros), at, np.nan)


def days_of(index: pd.Index) -> Floats:
    """matplotlib's positions of Timestamps."""
    return days([np.nan if pd.isna(t) else pd.Timestamp(t).timestamp() * 1e9 for t in index])


def time_axis(axis: Any, zone: str | None) -> None:
    """Ticks at round times, each written in full, as many as there is room for."""
    dates = importlib.import_module("matplotlib.dates")
    zone_info = None if zone is None else _zone(zone)
    axis.axes.xaxis_date(zone_info) if axis.axis_name == "x" else axis.axes.yaxis_date(zone_info)

    def words(numbers: Floats, ticks: Floats) -> list[str]:
        step = _step(ticks)
        form = next((form for least, form in FORMS if step >= least), "%H:%M:%S\n%Y-%m-%d")
        return [str(dates.num2date(at, tz=zone_info).strftime(form)) for at in numbers]

    locator = dates.AutoDateLocator(tz=zone_info, minticks=3, maxticks=MOST_TIMES)
    _dress(axis, [locator], words)


def _zone(zone: str) -> Any:
    return pd.Timestamp(0, tz=tzinfo(zone)).tz


def number_axis(axis: Any, is_share: bool = False) -> None:
    """Ticks with thousands separators, and as many decimals as their distance has, as many as there
    is room for; millions and more have a word instead of their zeros."""

    def words(numbers: Floats, ticks: Floats) -> list[str]:
        factor = 100.0 if is_share else 1.0
        size, word = (1.0, " %") if is_share else _magnitude(ticks)
        step = _step(ticks * factor / size)
        places = next((p for p in range(13) if _is_whole(step * 10**p)), 13)
        written = [f"{at * factor / size + 0.0:,.{places}f}" for at in numbers]
        return [
            "0" if size > 1 and not at else f"{text}{word}"
            for text, at in zip(written, numbers, strict=True)
        ]

    ticker = importlib.import_module("matplotlib.ticker")
    steps = [1, 2, 2.5, 5, 10]
    numbers = range(MOST_TICKS, 0, -1)
    _dress(axis, [ticker.MaxNLocator(nbins=most, steps=steps) for most in numbers], words)


def _magnitude(ticks: Floats) -> tuple[float, str]:
    """What the ticks are multiples of, and its word: only where three decimals are enough."""
    most, step = float(np.abs(ticks).max(initial=0)), _step(ticks)
    found = (each for each in MAGNITUDES if most >= each[0] and step >= 0.000999 * each[0])
    return next(found, (1.0, ""))


def _dress(axis: Any, locators: list[Any], words: Words) -> None:
    """Have as many ticks as there is room for, in these words."""
    locator, formatter = _classes()
    axis.set_major_locator(locator(locators, words))
    axis.set_major_formatter(formatter(words))


@functools.cache
def _classes() -> tuple[Any, Any]:
    """Classes of locators and of formatters; matplotlib is imported when something is drawn."""
    ticker: Any = importlib.import_module("matplotlib.ticker")

    class Worded(ticker.Formatter):  # type: ignore[misc]
        """Ticks in words, all at once."""

        def __init__(self, words: Words) -> None:
            self._words = words

        def __call__(self, at: float, _: object = None) -> str:
            ticks = np.asarray(self.axis.get_majorticklocs(), dtype="float64")
            return self._words(np.array([at]), ticks)[0]

        def format_ticks(self, values: Any) -> list[str]:
            return self._words(np.asarray(values), np.asarray(values, dtype="float64"))

    class Roomy(ticker.Locator):  # type: ignore[misc]
        """Of some locators, the first whose ticks have room; else some ticks of the last one."""

        def __init__(self, locators: list[Any], words: Words) -> None:
            self._locators, self._words = locators, words

        def set_axis(self, axis: Any) -> None:
            super().set_axis(axis)
            for locator in self._locators:
                locator.set_axis(axis)

        def _of(self, find: Callable[[Any], Floats]) -> Floats:
            for locator in self._locators:
                at = np.asarray(find(locator), dtype="float64")
                if self._have_room(at):
                    return at
            fewer = (at[::every] for every in range(2, len(at)))
            return next((some for some in fewer if self._have_room(some)), at[:1])

        def _have_room(self, ticks: Floats) -> bool:
            return _have_room(self.axis, ticks, self._words(ticks, ticks))

        def __call__(self) -> Floats:
            return self._of(lambda locator: locator())

        def tick_values(self, low: Any, high: Any) -> Floats:
            return self._of(lambda locator: locator.tick_values(low, high))

        def nonsingular(self, low: Any, high: Any) -> Any:
            return self._locators[0].nonsingular(low, high)

    return Roomy, Worded


def _have_room(axis: Any, ticks: Floats, texts: Sequence[str]) -> bool:
    """Whether ticks stand so far apart that none touches its neighbour."""
    size, box = float(setting("font.size")), axis.axes.get_window_extent()
    low, high = sorted(axis.get_view_interval())
    seen = [i for i, at in enumerate(ticks) if low <= at <= high]
    if len(seen) < 2 or not high > low:
        return True
    is_foot = axis.axis_name == "x"
    points = (box.width if is_foot else box.height) / axis.axes.figure.dpi * 72
    apart = np.diff(ticks[seen]).min() * points / (high - low)
    if not is_foot:
        return bool(apart >= 1.4 * size * (1 + max(texts[i].count("\n") for i in seen)))
    widest = max(len(line) for i in seen for line in texts[i].split("\n"))
    return bool(apart >= DIGIT * size * widest + 0.8 * size)


def _step(ticks: Floats) -> float:
    """How far apart ticks are; of one alone, the place of its fourth digit."""
    apart = np.diff(np.unique(ticks))
    if len(apart):
        return float(apart.min())
    most = float(np.abs(ticks).max(initial=0))
    return float(10.0 ** (math.floor(math.log10(most)) - 3)) if most else 1.0


def _is_whole(value: float) -> bool:
    return math.isclose(value, round(value), rel_tol=1e-6) and round(value) != 0
