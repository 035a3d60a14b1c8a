"""Sample and aggregate: any function of a table, by what it says of blocks of units."""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self, Unpack

import numpy as np
import pandas as pd

from ..columns.private_rows import keys_known
from ..errors import MissingArgument, QueryError, hide_internals, is_one_of, quoted, warn_user
from ..frames.frame import PrivateFrame
from ..privacy.accounting.losses import AskOptions, ReleaseOptions, with_options_named
from ..release.answers import results
from ..release.answers.records import Record
from ..release.answers.results import ReleasedFloat
from ..release.pickles import register
from ..release.private import Table
from ..release.request import Request
from ..release.unreleased import Unreleased
from ..release.ways import Ways
from ..release.wording import operands
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds
from ..rows.facts.keys import some_names
from ..rows.facts.steps import Step
from ..rows.facts.units import whole_number
from ..rows.figures import format_fact
from ..rows.values import hashing
from ..statistics import (
    BlockMean,
    BlockMedian,
    Cells,
    Layout,
    MeasuredBlockMedian,
    Statistic,
)
from ..statistics.callers import unheard
from ..statistics.of_blocks.aggregates import MOST_BLOCKS, BlockFunction, number_of
from ..statistics.of_blocks.block_tests import NUMBER, OBJECT, TRISTATE, TRUTH, Shown
from .select import asked_by, check_unverified, error_in_short, private_frame, vouched

METHODS = "mean", "median"
#: The most units that a caller may tell of.
MOST_UNITS = 10**12
#: How many rows are made up; and how many, if those are too few for the function.
_ROWS = 24, 2_400


class BlockAverage(ReleasedFloat):
    """The released mean of what a function says of each block: a float with ``.error()`` and
    ``.interval()``, which are of the noise, and ``.interval(of="population")``. See
    `dppandas.models.sample_and_aggregate`."""

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        statistic: Any = self._record._statistic
        return int(statistic.blocks)

    @property
    def spread(self) -> float:
        """The standard deviation of what the function says, from block to block: an estimate from
        noisy sums, and 0 where noise hides it. It has no error of its own: only roughly is it known
        how far noise moves its square, which the interval for a population takes into account."""
        statistic: Any = self._record._statistic
        (sample,) = statistic.samples(self._record._noisy, self._record._law, {})
        width = statistic.bounds.upper - statistic.bounds.lower
        return float(math.sqrt(sample.spread()) * width)


@typing.overload
def sample_and_aggregate(
    people: Any,
    f: Callable[[pd.DataFrame], float],
    *,
    bounds: object,
    blocks: int | None = None,
    units: int | None = None,
    method: Literal["mean", "median"] = "mean",
    step: object = None,
    interval: bool = False,
) -> Unreleased[ReleasedFloat]: ...
@typing.overload
def sample_and_aggregate(
    people: Any,
    f: Callable[[pd.DataFrame], float],
    *,
    bounds: object,
    blocks: int | None = None,
    units: int | None = None,
    method: Literal["mean", "median"] = "mean",
    step: object = None,
    interval: bool = False,
    **ways: Unpack[AskOptions],
) -> ReleasedFloat: ...
@with_options_named
@hide_internals
def sample_and_aggregate(
    people: Any,
    f: Callable[[pd.DataFrame], float],
    *,
    bounds: object,
    blocks: int | None = None,
    units: int | None = None,
    method: str = "mean",
    step: object = None,
    interval: bool = False,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> Any:
    """Release what any function says of the rows: units are dealt to blocks, the function is asked
    of each block, and what it says is put together with noise.

    people : a DataFrame or its ``df.dp``, which may be filtered or have columns selected or
        assigned. The private frame of `dp.protect` never shows its rows to a function.
    f : ``f(rows)`` returns a number for a DataFrame of the rows of one block: all that the source
        keeps of its units, in no order. Numbers are float64, truth values pandas' boolean and all
        else objects; each may be missing. **You** state that f remembers no block in another. What
        it prints, warns or logs is discarded, but not what it writes elsewhere, and its time
        isn't protected. Before the charge it is tried on made-up rows of the declared kinds, bounds
        and labels, few and many: if it never returns a number, it is refused, free of charge.
    bounds : (lower, upper): what f says is clipped to these. The middle counts where it raises or
        returns no finite number. Of a block without rows f is asked, too.
    blocks : how many, from 2 to 10,000. Twice as many halve the noise, and the rows that f has.
    units : instead of blocks, about how many units there are, from public knowledge, for √(units ·
        noise) blocks: 119 for 10,000 units at epsilon=1. The noise is the deviation of what is
        added to the sum of all blocks, in widths of the bounds.
    method : "mean", with noise of scale (upper - lower)/(blocks·epsilon), however many rows a unit
        has; or "median", which blocks far away don't move, with errors in blocks.
    step : for the median, a number of which it is a multiple: few of them make it more accurate.
    interval : for the median, True spends two fifths of the loss on one, as in `quantile`.

    Returns a float with ``.error()`` and ``.interval()``: of the mean of these blocks, or with
    ``of="population"`` (approximate) of what f says on average of so many units drawn at random. A
    mean has ``.spread``, too, the deviation between blocks, which costs nothing. No interval knows
    that f may say something else of many rows than of few.

    Raises `QueryError` for functions that can't work, and `LineageError` for verified frames and in
    strict sessions; nothing is charged then.

    *Guarantee*: epsilon-differential privacy of the unit, which lies in one block and replaces one
    number, *if* f is as said (Nissim, Raskhodnikova and Smith, STOC 2007, section 4; Smith, STOC
    2011; docs/proofs/sample_and_aggregate.md).

    >>> import numpy as np, pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"x": np.random.default_rng(0).lognormal(0, 1, 40_000)})
    >>> def skew(rows):
    ...     return rows["x"].skew()
    >>> found = dp.models.sample_and_aggregate(df, skew, bounds=(0, 10), blocks=200, epsilon=1)
    >>> 2 < found < 5, round(found.error(), 2)
    (True, 0.15)
    """
    source = private_frame(people, "models.sample_and_aggregate")
    how = Aggregation.parse(bounds, method, step, interval)
    request = _request(source, f, how, *_parse_blocks(blocks, units))
    return Unreleased._ask(request, Ways.read(epsilon, more))


class Aggregation(NamedTuple):
    """How what is said of blocks is put together."""

    method: str
    bounds: Bounds
    make: Callable[..., Statistic]
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, bounds: object, method: str, step: object, interval: object) -> Self:
        """The arguments, of which each is public."""
        if not is_one_of(method, METHODS):
            raise QueryError(f"method={quoted(method)} must be 'mean' or 'median'.")
        if not isinstance(interval, bool | np.bool_):
            raise QueryError(f"interval={quoted(interval)} must be True or False.")
        parsed = Bounds.parse(bounds, "f")
        if parsed.lower == parsed.upper:
            raise QueryError(
                f"bounds {format_fact(parsed)} are a single point, and so would be the answer."
            )
        options: tuple[tuple[str, str], ...] = (("bounds", str(parsed)),)
        if method == "mean":
            if step is not None:
                raise QueryError("step= is for the median, which is then one of its multiples.")
            return cls(method, parsed, partial(BlockMean, bounds=parsed), options)
        if interval:
            options += (("interval", "an interval"),)
        kind, steps = MeasuredBlockMedian if interval else BlockMedian, None
        if step is not None:
            asked = Step.parse(step, "step")
            steps = (asked.within(parsed, "step"),)
            options += (("step", str(asked)),)
        return cls(method, parsed, partial(kind, bounds=(parsed,), step=steps), options)


def _request(
    source: PrivateFrame, f: Callable[..., Any], how: Aggregation, blocks: int, units: int
) -> Request:
    check_unverified(source, "models.sample_and_aggregate")
    if not callable(f):
        raise QueryError(f"f must be a function of a DataFrame, not a {type(f).__name__}.")
    table, columns = vouched(source), dict(source._columns)
    unit, schema = table.source.unit.column, table.source.facts.schema
    shown = [
        Shown(name, each, _FORMS.get(each.kind(schema), OBJECT)) for name, each in columns.items()
    ]
    _try(f, source, shown)
    read = frozenset().union(*(each.columns() for each in columns.values()))
    hashed = tuple(name for name in table.engine.columns if name in read)
    statistic = how.make(
        Cells(), Layout(integer=False), columns_shown=tuple(shown), value=BlockFunction(f),
        blocks=blocks, units=units, by=hashed if unit is None else (unit,),
        is_by_unit=unit is not None, branches=table.branches,
    )  # fmt: skip
    many = f"{blocks} blocks" if blocks else f"blocks for {units:,} units"
    what = asked_by(f"{how.method} of what the caller's function says of {many}", f)
    what = replace(what, columns=operands(columns)).beside(*how.options)
    return Unreleased._of(table, source._where, statistic, what)


_FORMS = {kinds.NUMBER: NUMBER, kinds.TRUTH: TRISTATE}


def _parse_blocks(blocks: object, units: object) -> tuple[int, int]:
    """How many blocks are asked for, or by how many units they are chosen; 0 for the other."""
    if (blocks is None) == (units is None):
        problem = "say the same twice. Give one" if units is not None else "aren't given"
        raise MissingArgument(
            f"blocks= and units= {problem}: how many blocks units are dealt into, such as "
            "blocks=100; or about how many units there are, from public knowledge or a released "
            "count, such as units=10_000. It is never counted."
        )
    if blocks is not None:
        return whole_number(blocks, "blocks", 2, MOST_BLOCKS), 0
    return 0, whole_number(units, "units", 4, MOST_UNITS)


# --- trying a function ----------------------------------------------------------------------------


def _try(f: Callable[..., Any], source: PrivateFrame, shown: Sequence[Shown]) -> None:
    try_out(
        lambda rows: problem_of(f, rows, number_of, "finite number"), source, shown, "f",
        "one number", "Blocks in which it fails count as the middle of the bounds, and nobody will "
        "be told how many do.",
    )  # fmt: skip


#: Mistakes, which rows that look as they should hardly mend.
_MISTAKES = (NameError, ImportError, SyntaxError, AttributeError, TypeError, LookupError)
#: Kinds of which nobody knows what the values are, without declared labels.
_GUESSED = frozenset({kinds.TEXT, kinds.LIST}) | kinds.UNSURE


class Problem(NamedTuple):
    """What went wrong with a function on made-up rows."""

    said: str
    is_mistake: bool


def try_out(
    tried: Callable[[pd.DataFrame], Problem | None],
    source: PrivateFrame,
    shown: Sequence[Shown],
    whose: str,
    needed: str,
    otherwise: str,
) -> None:
    """Refuse a function that says nothing of any rows that look as they should: it would fail on
    all blocks, and nobody would be told. What isn't known of a column may be anything: then one
    guess must do. What fails because of a guess may be right for the rows, so it is asked, with a
    warning."""
    problems = []
    for rows in _made_up(source, shown):
        found = tried(rows)
        if found is None:
            return
        problems.append(found)
    first = next((each for each in problems if not each.is_mistake), problems[0])
    known = [i for i, each in enumerate(shown) if not _is_guessed(source._table, each)]
    if not first.is_mistake and len(known) < len(shown):
        without = tried(next(_made_up(source, shown)).iloc[:, known])
        if without is None or without.is_mistake or without.said != first.said:
            warn_user(f"{whose} {first.said}, for made-up rows. {otherwise}")
            return
    names = some_names([each.name for each in shown])
    raise QueryError(
        f"{whose} {first.said}, for made-up rows. It gets a DataFrame with the columns {names}, "
        f"and must return {needed}, of few rows too. Declare what columns hold (.declare, "
        "kinds=), so that such rows look like yours."
    )


def problem_of(
    f: Callable[..., Any], rows: pd.DataFrame, number: Callable[[Any], Any], kind: str
) -> Problem | None:
    """What went wrong with a function that must return a number of a kind; None for nothing."""
    try:
        with unheard():
            returned = f(rows)
            if number(returned) is not None:
                return None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Problem(f"raised {error_in_short(error)}", isinstance(error, _MISTAKES))
    if returned is None:
        return Problem("returned None, as a function does that lacks a return", True)
    value = getattr(returned, "pvalue", returned)
    if value is pd.NA or isinstance(value, float | np.floating):
        return Problem(f"returned no {kind}", False)
    return Problem(f"returned a {type(returned).__name__}, and no {kind}", True)


def _is_guessed(table: Table, shown: Shown) -> bool:
    kind = shown.expression.kind(table.source.facts.schema)
    return kind in _GUESSED and keys_known(table, shown.expression) is None


def _made_up(source: PrivateFrame, shown: Sequence[Shown]) -> Iterator[pd.DataFrame]:
    """Rows that follow from public facts alone: few, and many. What nobody knows of a column is
    guessed, so that there are several where a kind is unknown."""
    schema = source._table.source.facts.schema
    each_kind = [each.expression.kind(schema) for each in shown]
    guesses = (kinds.NUMBER, kinds.TEXT, kinds.TIME)
    for guess in guesses if kinds.UNSURE & {*each_kind} else guesses[:1]:
        known = [guess if kind in kinds.UNSURE else kind for kind in each_kind]
        for number in _ROWS:
            columns = {
                i: _column(source._table, each, kind, _places(number, i))
                for i, (each, kind) in enumerate(zip(shown, known, strict=True))
            }
            rows = pd.DataFrame(columns)
            rows.columns = pd.Index([each.name for each in shown], tupleize_cols=False)
            yield rows


def _places(rows: int, column: int) -> list[int]:
    """An order of a column, so that columns don't depend on one another."""
    numbers = np.arange(rows * column, rows * (column + 1), dtype=np.uint64)
    found: list[int] = np.argsort(hashing.mixed(numbers)).tolist()
    return found


def _column(table: Table, shown: Shown, kind: str, places: Sequence[int]) -> pd.Series[Any]:
    """Values of a kind: the declared labels, within declared bounds, or any."""
    declared = table.declared(shown.expression)
    if (keys := keys_known(table, shown.expression)) is not None:
        values = [keys.labels[i % len(keys)] for i in places]
    elif kind == kinds.NUMBER and isinstance(declared, Bounds):
        values = np.linspace(declared.lower, declared.upper, len(places))[places].tolist()
    else:
        values = [_value(kind, i) for i in places]
    dtypes = {NUMBER: "float64", TRUTH: "bool", TRISTATE: "boolean"}
    return pd.Series(values, dtype=dtypes.get(shown.form, "object"))


def _value(kind: str, place: int) -> Any:
    """The value of a kind in a made-up row."""
    day = pd.Timestamp(2024, 1, 1) + pd.Timedelta(place, "D")
    made: dict[str, Callable[[], Any]] = {
        kinds.NUMBER: lambda: place + 1,
        kinds.TRUTH: lambda: place % 2 == 0,
        kinds.TEXT: lambda: "abc"[place % 3],
        kinds.TIME: lambda: day,
        kinds.ZONED: lambda: day.tz_localize("UTC"),
        kinds.DURATION: lambda: pd.Timedelta(place + 1, "h"),
        kinds.LIST: lambda: ["a", "b"][: place % 3],
    }
    if kind.startswith(kinds.PERIOD):
        return pd.Period(day, kind[len(kinds.PERIOD) + 1 : -1])
    return made[kind]()


# --- the result -----------------------------------------------------------------------------------


def _mean_of(record: Record) -> BlockAverage:
    return _carrying(float(record._released), record)


def _carrying(value: float, record: Record) -> BlockAverage:
    found = BlockAverage(value)
    found._record = record
    return found


results.SHAPES[BlockMean] = _mean_of
register(BlockAverage, _carrying)
