"""Numbers, errors and intervals as people read them: one way for everything that shows any
(docs/adr/0079-one-way-to-write-a-value.md)."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any, NamedTuple
from unicodedata import category

import pandas as pd

from .facts.spans import FURTHEST
from .values import canonical

#: How many columns a text names.
LISTED = 4
#: How many digits of an error are shown. The value is rounded to the last of them.
DIGITS = 2
#: And how many at most, where two would make it look larger than the error that was asked for.
MOST_DIGITS = 4
#: Letters that aren't drawn, and say how others are.
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
#: What stands for a label that is missing.
MISSING = "missing"
#: An infinite error, in words.
UNBOUNDED = "unbounded"
#: What stands in the place of an error beside what was selected, which has none.
CHOSEN = "chosen"
#: Units of durations, in nanoseconds, with pandas' names.
_UNITS = {
    "days": (86_400 * 10**9, "D"), "h": (3600 * 10**9, "h"), "min": (60 * 10**9, "min"),
    "s": (10**9, "s"), "ms": (10**6, "ms"), "µs": (10**3, "us"), "ns": (1, "ns"),
}  # fmt: skip
#: How times are written that are rounded to such a unit; others with all their digits.
_FORMS = {
    "days": "%Y-%m-%d", "h": "%Y-%m-%d %H:%M", "min": "%Y-%m-%d %H:%M", "s": "%Y-%m-%d %H:%M:%S",
}  # fmt: skip
#: A time is rounded to a unit of at most this part of its error.
_TENTH = 10
#: A unit suits a duration whose error is at least this much of it: it has three decimals at most.
_LEAST = 0.01
#: Two ends as `Bounds` and `Span` write them, and how bins are kept in a question.
_ENDS = re.compile(r"\(([^(),]+), ([^(),]+)\)")
_BINS = re.compile(r"(\d+) bins in (.+) to (.+)")
_DURATION = re.compile(r"-?\d+ days(?: [+-]?\d\d:\d\d:\d\d(?:\.\d+)?)?")
#: From here on public facts have thousands separators, which years are better without.
_SEPARATED = 10_000
#: Numbers with more decimals are written with a power of ten if they are as small as this, and
#: those of so many digits before the point: 4.12e-21, 1.3e+15.
_MOST_DECIMALS, _LEAST_PLAIN, _MOST_PLAIN = 8, Decimal("1e-6"), 15
#: Enough for any two floats, whatever context a user has set.
_EXACT = Context(prec=700)
#: A number as it is written here, with its point and decimals.
_NUMBER = re.compile(r"-?[\d,]+(\.\d+)?")
#: What ``f"{n:±}"`` takes.
_FORMAT = re.compile(r"±(?:\.([1-9]))?")


def format_number(value: float) -> str:
    """A number for people: with thousands separators, and fractions to four significant digits."""
    if value != value or math.isinf(value):
        return str(value)
    if isinstance(value, float) and abs(value) >= 10**_MOST_PLAIN:
        return f"{value:.4g}"
    if isinstance(value, int) or value == int(value) or abs(value) >= 1000:
        return f"{round(value):,}"
    return f"{value:.4g}"


def format_value(value: Any) -> str:
    """A number or duration in short form; a time, a text or None as it prints."""
    if isinstance(value, pd.Timedelta):
        unit = unit_of([value], [])
        return f"{format_number(_nanos(value) / _UNITS[unit][0])} {unit}"
    return format_number(value) if isinstance(value, int | float) else str(value)


def short(value: float) -> str:
    """A number in as few digits as tell it from every other."""
    said = f"{value:g}"
    return said if float(said) == value else repr(float(value)).removesuffix(".0")


def decimals(text: str) -> str | None:
    """The point and the decimals of a number; None for what isn't one."""
    found = _NUMBER.fullmatch(text)
    return found and (found[1] or "")


# --- a value and its error ------------------------------------------------------------------------


class Written(NamedTuple):
    """A value and its error in words, to stand in two cells or in a line."""

    value: str
    error: str = ""  # "" where none is known
    unit: str = ""  # of an error that is a duration, and of a value that is one
    said: str = ""  # in the place of an error

    @property
    def beside(self) -> str:
        """What stands beside the value: "± 30", "± 0.13 days", "(12 or more)", or nothing."""
        return f"± {self.error} {self.unit}".rstrip() if self.error else self.said

    def __str__(self) -> str:
        return f"{self.value} {self.beside}".rstrip()


def written(
    value: Any, error: Any = None, low: Any = None, high: Any = None, *, digits: int = DIGITS,
    unit: str = "",
) -> Written:  # fmt: skip
    """A value to the last shown digit of its error, and its error in two digits, rounded up.

    low, high : the ends of its interval, which are told where the error is infinite.
    unit : of durations; by default one that suits the value and its error.
    """
    if _is_missing(value):
        return Written("unknown")
    if isinstance(value, float) and math.isinf(value):  # such as a number by a noisy 0
        ends = _open(low, high)
        return Written(UNBOUNDED, said=f"({ends})" if ends != _open(None, None) else "")
    if _is_missing(error):
        return Written(format_value(value))
    if _is_infinite(error):
        return Written(format_value(value), said=f"({_open(low, high)})")
    if isinstance(error, pd.Timedelta):
        return _of_time(value, error, unit, digits)
    if not isinstance(value, int | float):
        return Written(format_value(value), format_error(error, digits))
    if not error:
        return Written(f"{value:,}".removesuffix(".0"), "0")
    last = _last_digit(error, digits)
    if isinstance(value, int) or (value.is_integer() and error == int(error)):
        last = 0 if _is_small(error, digits) else max(0, last)
    return Written(_at(value, last), _at(error, last, ROUND_CEILING))


def format_error(error: Any, digits: int = DIGITS) -> str:
    """An error by itself: two digits, rounded up, or a small whole number as it is."""
    if _is_infinite(error):
        return UNBOUNDED
    if isinstance(error, pd.Timedelta):
        unit = _unit_within(_nanos(error))
        number = _nanos(error) / _UNITS[unit][0]
        return f"{format_error(number, digits)} {unit}"
    if _is_small(error, digits):
        return f"{int(error):,}"
    return _at(error, _last_digit(error, digits), ROUND_CEILING)


def digits_within(errors: Iterable[Any], target: Any) -> int:
    """How many digits of errors are shown beside the error that a call asked for: two, or as many
    as don't make them look larger than that."""
    known = [each for each in errors if not (_is_missing(each) or _is_infinite(each))]
    if target is None or not known or (most := max(known)) > target:
        return DIGITS
    if isinstance(most, pd.Timedelta):  # shown in its own unit, or in that of a longer value
        ones = [one for one, _ in _UNITS.values() if one >= _UNITS[_unit_within(_nanos(most))][0]]
        return max(_digits_below(_nanos(most) / one, _nanos(target) / one) for one in ones)
    return _digits_below(most, target)


def _digits_below(error: float, target: float) -> int:
    exact, limit = _decimal(error), _decimal(target)
    for digits in range(DIGITS, MOST_DIGITS):
        if _to(exact, exact.adjusted() - digits + 1, ROUND_CEILING) <= limit:
            return digits
    return MOST_DIGITS


def as_target(error: Any, digits: int = 3) -> str:
    """An error, rounded up, as a call takes it: "2700", "pd.Timedelta('3.3 h')"."""
    if isinstance(error, pd.Timedelta):
        return f"pd.Timedelta({format_error(error, digits).replace(',', '')!r})"
    return format_error(error, digits).replace(",", "")


def within(value: Any, low: Any, high: Any) -> Written:
    """A value to the second digit of half its interval, and that interval beside it."""
    if any(map(_is_missing, (value, low, high))):
        return written(value)
    if _is_infinite(low) or _is_infinite(high):
        return written(value, math.inf, low, high)
    half = (high - low) / 2
    if isinstance(half, float) and value == round(value) and low == round(low):
        half = math.ceil(half)
    unit = unit_of([value, low, high], [half])
    number = written(value, half, unit=unit).value
    return Written(f"{number} {unit}".rstrip(), said=f"({format_interval(low, high, unit)})")


def plus_minus(error: Any) -> str:
    """An error as it stands beside a value: "± 30"; "" if it isn't known."""
    if _is_missing(error):
        return ""
    return f"error {UNBOUNDED}" if _is_infinite(error) else f"± {format_error(error)}"


def spread(errors: Sequence[tuple[float, Any]]) -> str:
    """The range of errors, given with what they mean: "± 3", or "± 3 to 5"; "" if none is known."""
    more = "" if all(error < math.inf for error, _ in errors) else f", some {UNBOUNDED}"
    known = sorted((pair for pair in errors if 0 < pair[0] < math.inf), key=operator.itemgetter(0))
    if not known:
        return ""
    ends = [told for _, told in (known[0], known[-1])]
    unit = unit_of(ends, ends)
    one = _UNITS[unit][0] if unit else 1
    least, most = (format_error(_nanos(end) / one if unit else end) for end in ends)
    said = f"± {most} {unit}" if least == most else f"± {least} to {most} {unit}"
    return said.rstrip() + more


def error_digits(spec: str) -> int | None:
    """How many digits of its error a format writes beside a number: two in "±", three in "±.3".
    None for Python's own formats."""
    found = _FORMAT.fullmatch(spec)
    return found and int(found[1] or DIGITS)


# --- intervals ------------------------------------------------------------------------------------


def format_interval(low: Any, high: Any, unit: str = "") -> str:
    """An interval: "12 to 20", with ends rounded outwards to two digits of its half width; of
    durations in a unit."""
    if _is_missing(low) or _is_missing(high):
        return ""
    if _is_infinite(low) or _is_infinite(high):
        return _open(low, high)
    if isinstance(low, pd.Timestamp):
        unit = _unit_within((_nanos(high) - _nanos(low)) // 2)
        return f"{_time_at(low, unit, 'floor')} to {_time_at(high, unit, 'ceil')}"
    if isinstance(low, pd.Timedelta):
        unit = unit or unit_of([low, high], [])
        one = _UNITS[unit][0]
        return f"{format_interval(_nanos(low) / one, _nanos(high) / one)} {unit}"
    half = (high - low) / 2 or high - low
    if not half:
        return f"{low:,}".removesuffix(".0")
    last = _last_digit(half, DIGITS)
    if low == int(low) and high == int(high):
        last = 0 if half < 10**DIGITS else last
    return f"{_at(low, last, ROUND_FLOOR)} to {_at(high, last, ROUND_CEILING)}"


def _open(low: Any, high: Any) -> str:
    """An interval without an end."""
    ends = [not (_is_missing(end) or _is_infinite(end)) for end in (low, high)]
    if ends[0]:
        return f"{_outwards(low, ROUND_FLOOR)} or more"
    return f"{_outwards(high, ROUND_CEILING)} or less" if ends[1] else f"error {UNBOUNDED}"


def _outwards(end: Any, mode: str) -> str:
    """An end to four digits, and to whole numbers from a thousand on, as `format_value` has it, but
    never nearer than it is."""
    if not isinstance(end, float) or end == int(end) or not math.isfinite(end):
        return format_value(end)
    return _at(end, min(0, _decimal(end).adjusted() - 3), mode)


# --- public facts ---------------------------------------------------------------------------------


def format_fact(declared: object) -> str:
    """Bounds, bins or a step as people read them, to the last digit: "0 to 20,000,000", "20 bins in
    0 to 8 h". Also of the texts that ledgers keep, which stay as they were; others as they are."""
    said = str(declared)
    if found := _ENDS.fullmatch(said):
        return _range(*found.groups())
    if found := _BINS.fullmatch(said):
        return f"{int(found[1]):,} bins in {_range(*found.groups()[1:])}"
    return _DURATION.sub(lambda each: format_exactly(_duration(each[0]) or each[0]), said)


def format_exactly(value: Any) -> str:
    """A public number, duration or time with all its digits, and no more: "1.5 h", "2020-01-31"."""
    if isinstance(value, pd.Timedelta):
        return _in_one_unit([value])
    if isinstance(value, pd.Timestamp):
        date = re.fullmatch(r"(.*) 00:00:00(?:[+-]\d\d:\d\d)?", str(value))  # raises for no time
        return date[1] if date else _time_text(str(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _plainly(value, abs(value) >= _SEPARATED)
    return str(value)


def format_ends(low: Any, high: Any, between: str = " to ") -> str:
    """Two public numbers, durations or times, alike."""
    ends = low, high
    if all(isinstance(end, pd.Timedelta) for end in ends):
        return _in_one_unit(ends, between)
    if all(isinstance(end, int | float) for end in ends):
        is_separated = any(_SEPARATED <= abs(end) < math.inf for end in ends)
        return between.join(_plainly(end, is_separated) for end in ends)
    return between.join(map(format_exactly, ends))


def format_label(label: Any) -> str:
    """A label of an answer in one line. Different labels of one answer stay different."""
    if isinstance(label, tuple):
        return ", ".join(map(format_label, label))
    if isinstance(label, pd.Interval):
        return _bin(label)
    if _is_missing(label):
        return MISSING
    if isinstance(label, float):
        return f"{label:.12g}"
    if isinstance(label, pd.Timestamp | pd.Timedelta):
        return format_exactly(label)
    return _in_one_line(label) if isinstance(label, str) else " ".join(str(label).split())


def _in_one_line(label: str) -> str:
    """A text as it is, and in quotes if it would look like another one: what is empty, has spaces
    at an end or side by side, or letters that aren't seen, begins with a quotation mark, or is the
    word for what is missing."""
    is_plain = label == " ".join(label.split()) and label != MISSING and all(map(_is_seen, label))
    return label if is_plain and label and label[0] not in "'\"" else repr(label)


def _is_seen(letter: str) -> bool:
    """Whether a letter is drawn, or joins or parts its neighbours, as in emoji and in Persian; or
    is one that no font here may have."""
    return letter.isprintable() or letter in _JOINERS or category(letter) in ("Cn", "Co")


def visible(text: str) -> str:
    """A text in which all letters are seen, such as one that turns the direction of what follows,
    or one that commands a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _bin(label: pd.Interval) -> str:
    """A bin with ends of six digits, from a million on of twelve, unless these would be equal."""
    ends = label.left, label.right
    least, most = (_nearly(end) if isinstance(end, float) else end for end in ends)
    said = format_ends(*(ends if least == most else (least, most)), ", ")
    return f"{'[' if label.closed_left else '('}{said}{']' if label.closed_right else ')'}"


def _nearly(end: float) -> float:
    return float(f"{end:.{6 if abs(end) < 1e6 else 12}g}")


def _range(low: str, high: str) -> str:
    """Two ends that are texts."""
    with suppress(ValueError):
        return format_ends(float(low), float(high))
    durations = _duration(low), _duration(high)
    if durations[0] is not None and durations[1] is not None:
        return format_ends(*durations)
    return " to ".join(map(_time_text, (low, high)))


def _time_text(text: str) -> str:
    """The text of a time, without seconds that are 0, nor a midnight that has no zone."""
    return re.sub(r"(\d\d:\d\d):00(?=$|[+-])", r"\1", text.removesuffix(" 00:00:00"))


def _duration(text: str) -> pd.Timedelta | None:
    with suppress(ValueError, OverflowError):  # longer than pandas reads
        return pd.Timedelta(text) if _DURATION.fullmatch(text) else None
    return None


def _in_one_unit(durations: Sequence[pd.Timedelta], between: str = "") -> str:
    """Durations in the largest unit that one of them has, and which takes two decimals at most."""
    nanos = [_nanos(each) for each in durations]
    first = list(_UNITS).index(_unit_within(max(map(abs, nanos))))
    fit = [
        (name, one) for name, (one, _) in list(_UNITS.items())[first:]
        if all(each * 100 % one == 0 for each in nanos)
    ]  # fmt: skip
    unit, one = fit[0]  # all are whole nanoseconds
    is_separated = max(map(abs, nanos)) >= _SEPARATED * one
    numbers = (
        _plainly(each / one, is_separated) if each % one
        else f"{each // one:{',' if is_separated else ''}}"
        for each in nanos
    )  # fmt: skip
    return f"{between.join(numbers)} {unit}"


def _plainly(value: float, is_separated: bool) -> str:
    """A number with all its digits, in thousands or not; but 1e-07, and 1e+15."""
    if not math.isfinite(value) or (value and not 1e-4 <= abs(value) < 1e15):
        return short(value)
    exact = _decimal(value)
    exact = exact.to_integral_value() if exact == int(exact) else exact.normalize(_EXACT)
    return f"{exact or abs(exact):{',' if is_separated else ''}f}"


# --- digits ---------------------------------------------------------------------------------------


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NaT or value is pd.NA or bool(value != value)


def _is_infinite(error: Any) -> bool:
    if isinstance(error, pd.Timedelta):
        return abs(_nanos(error)) >= FURTHEST
    return isinstance(error, float) and math.isinf(error)


def _is_small(error: float, digits: int) -> bool:
    """Whether it is a whole number of few digits, which is shown as it is."""
    return 0 <= error < 10**digits and error == int(error)


def _last_digit(error: float, digits: int) -> int:
    """The power of ten that the last shown digit of an error stands for."""
    exact = _decimal(error)
    last = exact.adjusted() - digits + 1
    return last + (_to(exact, last, ROUND_CEILING).adjusted() > exact.adjusted())


def _at(value: float, last: int, mode: str = ROUND_HALF_EVEN) -> str:
    """A number rounded to a power of ten."""
    found = _to(_decimal(value), last, mode) or Decimal(0)  # never -0
    if (last < -_MOST_DECIMALS and abs(found) < _LEAST_PLAIN) or found.adjusted() >= _MOST_PLAIN:
        return f"{found:.{max(0, found.adjusted() - last)}e}" if found else "0"
    return f"{found:,.{max(0, -last)}f}"


def _to(exact: Decimal, last: int, mode: str) -> Decimal:
    """Rounded up or down, but not for a billionth of a step: floats are hardly more exact."""
    least = min(Decimal(1).scaleb(last), abs(exact)).scaleb(-9)
    slack = {ROUND_CEILING: -least, ROUND_FLOOR: least}.get(mode, Decimal(0))
    steps = _EXACT.add(exact, slack).scaleb(-last, _EXACT)
    return steps.to_integral_value(mode, _EXACT).scaleb(last, _EXACT)


def _decimal(value: float) -> Decimal:
    return Decimal(value) if isinstance(value, int) else Decimal(repr(float(value)))


# --- times ----------------------------------------------------------------------------------------


def unit_of(values: Iterable[Any], errors: Iterable[Any]) -> str:
    """The unit for some durations: the largest that one of them has, unless an error would have
    more than three decimals in it. "" if none is a duration."""
    found, small = (
        [abs(_nanos(each)) for each in of if isinstance(each, pd.Timedelta)]
        for of in (values, errors)
    )
    small = [each for each in small if 0 < each < FURTHEST]
    if not found:
        return ""
    unit = _unit_within(max([*found, *small]))
    if not small:
        return unit
    fit = [name for name, (one, _) in _UNITS.items() if min(small) >= _LEAST * one]
    return max(unit, fit[0] if fit else "ns", key=list(_UNITS).index)


def _of_time(value: Any, error: pd.Timedelta, unit: str, digits: int) -> Written:
    """A time beside a duration, or two durations in one unit."""
    if isinstance(value, pd.Timedelta):
        unit = unit or unit_of([value], [error])
        one = _UNITS[unit][0]
        found = written(float(_nanos(value) / one), float(_nanos(error) / one), digits=digits)
        return found._replace(unit=unit)
    said, unit = format_error(error, digits).rsplit(" ", 1)
    place = _unit_within(_nanos(error) // _TENTH)
    return Written(_time_at(value, place, "round"), said, unit)


def _unit_within(nanos: int) -> str:
    """The largest unit that a duration has at least one of."""
    return next((name for name, (one, _) in _UNITS.items() if abs(nanos) >= one), "s")


def _time_at(time: Any, unit: str, how: str) -> str:
    """A time rounded to a unit."""
    with suppress(ValueError, OverflowError):  # beyond the last time that pandas has
        # on the clock, where no hour is missing or comes twice
        time = getattr(time.tz_localize(None), how)(_UNITS[unit][1])
    return str(time.strftime(_FORMS[unit]) if unit in _FORMS else time)


def _nanos(time: Any) -> int:
    """A duration, or a time since 1970, of any length: pandas' own end after 292 years."""
    found = canonical(time)[1]
    return int(found[0] if isinstance(found, tuple) else found)


# --- the errors of answers ------------------------------------------------------------------------


def by_name(names: Sequence[Any], said: Sequence[str], of: str = "") -> str:
    """A text for each column by name; once if it is the same for all, and shortened for many."""
    of = of and f" {of}"
    if len({*said}) == 1:
        return said[0] + of
    more = f", … ({len(said)} columns)" if len(said) > LISTED else ""
    pairs = zip(map(str, names[:LISTED]), said[:LISTED], strict=True)
    return ", ".join(f"{name} {each}{of}" for name, each in pairs) + more


def errors_in_words(
    names: Sequence[Any], figures: Sequence[str], said: Sequence[str], of: str = "",
    is_each: bool = False,
) -> str:  # fmt: skip
    """The errors of an answer, given the range of each figure of each column: "± 30",
    "age ± 2, income ± 230", "count ± 5, mean ± 2"; "" if one without a figure isn't known."""
    if len(figures) > 1:
        return _by_figure(names, figures, said)
    words = by_name(names, said, of) if all(said) else ""
    return f"each {words}" if is_each and words else words


def _by_figure(names: Sequence[Any], figures: Sequence[str], said: Sequence[str]) -> str:
    width, columns = len(figures), []
    for at in range(0, len(said), width):
        words = zip(figures, said[at : at + width], strict=True)
        columns.append(", ".join(f"{figure} {each}" for figure, each in words if each))
    if len(names) == 1:
        return columns[0]
    more = f"; … ({len(names)} columns)" if len(names) > LISTED else ""
    pairs = zip(names[:LISTED], columns[:LISTED], strict=True)
    return "; ".join(f"{name}: {each}" for name, each in pairs) + more
