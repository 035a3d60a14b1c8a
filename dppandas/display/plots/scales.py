"""What the numbers of a plot are measured in: numbers, shares, times or durations."""

from __future__ import annotations

import importlib
import math
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

#: Units of durations, in nanoseconds: the largest one is taken of which there are at least two.
UNITS = (
    ("days", 86_400 * 10**9), ("hours", 3600 * 10**9), ("minutes", 60 * 10**9),
    ("seconds", 10**9), ("milliseconds", 10**6), ("microseconds", 10**3), ("nanoseconds", 1),
)  # fmt: skip
#: How times are written, by the days between ticks; "\n" where a day has several.
MINUS = "\N{MINUS SIGN}"
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
        return f"{rounded(self._in_unit(number), self._in_unit(error))}{self._end()}"

    def within(self, value: float, low: float, high: float) -> Written:
        """A number of a record beside its interval."""
        if self.kind == "time":
            return within(*(cast(Ruler, self.ruler).place(x) for x in (value, low, high)))
        found = within(*map(self._in_unit, (value, low, high)))
        return in_ink(
            Written(f"{found.value}{self._end()}", said=f"{found.said[:-1]}{self._end()})")
        )

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


def in_ink(told: Written) -> Written:
    """With the sign that matplotlib writes before negative numbers."""
    return told._replace(value=told.value.replace("-", MINUS), said=told.said.replace("-", MINUS))


def by_noise(told: Written, outer: Written) -> str:
    """A number, its interval by the noise, and that for the population."""
    return f"{told.value} ({told.said[1:-1]} by the noise, {outer.said[1:-1]} for the population)"


def rounded(value: float, error: float) -> str:
    """A number to the second digit of its error."""
    return written(value, error).value.replace("-", MINUS)


def scale_of(record: Record, entries: Any) -> Scale:
    """The scale of some numbers of a record, which share one."""
    entry, statistic = int(entries[0]) if len(entries) else 0, record._statistic
    inner, names = _inner(statistic), statistic.errors.asked_columns
    rulers = statistic.layout.rulers
    ruler, name = rulers[entry % len(rulers)] if rulers else None, names[entry % len(names)]
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
    """Ticks at round times, each written in full."""
    dates = importlib.import_module("matplotlib.dates")
    zone_info = None if zone is None else _zone(zone)
    axis.axes.xaxis_date(zone_info) if axis.axis_name == "x" else axis.axes.yaxis_date(zone_info)
    axis.set_major_locator(dates.AutoDateLocator(tz=zone_info, minticks=3, maxticks=6))

    def text(at: float, _: int) -> str:
        step = _step(axis)
        form = next((form for least, form in FORMS if step >= least), "%H:%M:%S\n%Y-%m-%d")
        return str(dates.num2date(at, tz=zone_info).strftime(form))

    axis.set_major_formatter(text)


def _zone(zone: str) -> Any:
    return pd.Timestamp(0, tz=tzinfo(zone)).tz


def number_axis(axis: Any, is_share: bool = False) -> None:
    """Ticks with thousands separators, and as many decimals as their distance has."""

    def text(at: float, _: int) -> str:
        factor = 100 if is_share else 1
        step = _step(axis) * factor
        places = next((p for p in range(13) if _is_whole(step * 10**p)), 13)
        written = f"{at * factor + 0.0:,.{places}f}".replace("-", MINUS)
        return f"{written} %" if is_share else written

    locator = importlib.import_module("matplotlib.ticker").MaxNLocator
    axis.set_major_locator(locator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(text)


def _step(axis: Any) -> float:
    at = np.diff(np.asarray(axis.get_majorticklocs(), dtype="float64"))
    return float(np.abs(at).min()) if len(at) else 1.0


def _is_whole(value: float) -> bool:
    return math.isclose(value, round(value), rel_tol=1e-6) and round(value) != 0
