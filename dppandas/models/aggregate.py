"""Sample and aggregate: any function of a table, by what it says of blocks of units."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Unpack

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
from ..release.unreleased import Unreleased
from ..release.ways import Ways
from ..release.wording import operands
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds
from ..rows.facts.keys import some_names
from ..rows.facts.steps import Step
from ..rows.facts.units import whole_number
from ..statistics import (
    BlockMean,
    BlockMedian,
    Cells,
    Layout,
    MeasuredBlockMedian,
    Statistic,
)
from ..statistics.aggregates import MOST_BLOCKS, BlockFunction, number_of
from ..statistics.block_tests import NUMBER, OBJECT, TRISTATE, Shown, unheard
from .select import asked_by, check_unverified, error_in_short, private_frame, vouched

METHODS = "mean", "median"
#: The most units that a caller may tell of.
MOST_UNITS = 10**12
#: What fails whatever the rows are; and what rows that look as they should hardly mend.
_CERTAIN = (NameError, ImportError, SyntaxError)
_MISTAKES = (*_CERTAIN, AttributeError, TypeError, LookupError)
#: How many rows are made up.
_ROWS = 24


class BlockAverage(ReleasedFloat):
    """The released mean of what a function says of each of ``blocks`` blocks: a float with
    ``.error()`` and ``.interval()``, which are of the noise, and ``.interval(of="population")``."""

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        found: int = self._record._statistic.blocks
        return found

    @property
    def spread(self) -> float:
        """The standard deviation of what the function says, from block to block: an estimate from
        noisy sums, 0 where these tell no more."""
        (sample,) = self._record._statistic.samples(self._record._noisy, self._record._law, {})
        bounds: Bounds = self._record._statistic.bounds
        return float(np.sqrt(sample.spread())) * (bounds.upper - bounds.lower)


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
    f : ``f(rows)`` returns a number for a DataFrame of the rows of one block. It sees numbers as
        float64, truth values as pandas' boolean and all else as objects, which may be missing, with
        all rows of a unit that its source keeps, in no order. **You** state that it remembers no
        block in another. What it prints or warns is discarded; its time isn't protected.
    bounds : (lower, upper): what it says is clipped to these. Where it raises, or returns no finite
        number, the middle of the bounds counts. Of a block without rows it is asked, too.
    blocks : how many, from 2 to 10,000. Twice as many halve the noise, and halve the rows that the
        function has.
    units : instead of blocks, about how many units there are, from public knowledge: then √(units ·
        noise) blocks are made, where noise is the deviation of what is added to the sum of all,
        in widths of the bounds: 119 for 10,000 units at epsilon=1.
    method : "mean" of the blocks, whose noise has the scale (upper - lower)/(blocks·epsilon),
        however many rows a unit has. Or their "median", which blocks far away don't move, and
        whose error is in blocks: for such as have most values close together, of wide bounds.
    step : for the median, a number of which the answer is a multiple: with fewer multiples between
        the bounds it is more accurate.
    interval : for the median, True spends two fifths of the loss on an interval, as in `quantile`.

    Before the charge the function is tried on made-up rows that look as is publicly known: of the
    declared kinds, bounds and labels. A mistake is refused, free of charge.

    Returns a float with ``.error()`` and ``.interval()``: of the mean about these blocks, and with
    ``of="population"`` about the mean of what f says of so many units drawn at random, approximate.
    A mean has ``.spread``, too, the deviation between blocks, which costs nothing. That a function
    says something else of few rows than of many is in no interval: compare numbers of blocks.

    Raises `QueryError` for functions that can't work, and `LineageError` for verified frames and in
    strict sessions; nothing is charged then.

    *Guarantee*: epsilon-differential privacy of the unit, which lies in one block and replaces one
    number, *if* f is as said (Nissim, Raskhodnikova and Smith, "Smooth sensitivity and sampling in
    private data analysis", STOC 2007, section 4; Smith, STOC 2011;
    docs/proofs/sample_and_aggregate.md).

    >>> import numpy as np, pandas as pd, dppandas as dp
    >>> rng = np.random.default_rng(0)
    >>> df = pd.DataFrame({"age": rng.uniform(20, 60, 40_000)})
    >>> df["pay"] = 20 + 0.5 * df["age"] + rng.normal(0, 5, len(df))
    >>> def slope(rows):
    ...     return np.polyfit(rows["age"], rows["pay"], 1)[0]
    >>> found = dp.models.sample_and_aggregate(df, slope, bounds=(0, 1), blocks=200, epsilon=1)
    >>> 0.45 < found < 0.55, found.error()
    (True, 0.015)
    """
    source = private_frame(people, "models.sample_and_aggregate")
    check_unverified(source, "models.sample_and_aggregate")
    if not callable(f):
        raise QueryError(f"f must be a function of a DataFrame, not a {type(f).__name__}.")
    if not is_one_of(method, METHODS):
        raise QueryError(f"method={quoted(method)} must be 'mean' or 'median'.")
    parsed = Bounds.parse(bounds, "f")
    if parsed.lower == parsed.upper:
        raise QueryError(f"bounds {parsed} are a single point, and so would be the answer.")
    kind, steps, options = _aggregation(method, parsed, step, interval)
    number, of_units = _parse_blocks(blocks, units)
    schema = source._table.source.facts.schema
    shown = [
        Shown(name, expression, _FORMS.get(expression.kind(schema), OBJECT))
        for name, expression in source._columns.items()
    ]
    _try(f, source, shown)
    dealt = _dealt(source, shown)
    statistic = kind(
        Cells(), Layout(integer=False), value=BlockFunction(f), blocks=number, units=of_units,
        **steps, **dealt,
    )  # fmt: skip
    many = f"{number} blocks" if number else f"blocks for {of_units:,} units"
    what = asked_by(f"{method} of what the caller's function says of {many}", f)
    what = replace(what, columns=operands(dict(source._columns)))
    what = what.beside(("bounds", str(parsed)), *options)
    request = Unreleased._of(vouched(source), source._where, statistic, what)
    return Unreleased._ask(request, Ways.read(epsilon, more))


def _aggregation(
    method: str, bounds: Bounds, step: object, interval: object
) -> tuple[type[Statistic], dict[str, Any], list[tuple[str, str]]]:
    """The statistic that puts blocks together, its fields, and what is said of them."""
    if not isinstance(interval, bool | np.bool_):
        raise QueryError(f"interval={quoted(interval)} must be True or False.")
    if method == "mean":
        if step is not None:
            raise QueryError("step= is for the median, which is then one of its multiples.")
        return BlockMean, {"bounds": bounds}, []
    fields: dict[str, Any] = {"bounds": (bounds,)}
    options = [("interval", "an interval")] if interval else []
    if step is not None:
        asked = Step.parse(step, "step")
        fields["step"] = (asked.within(bounds, "step"),)
        options.append(("step", str(asked)))
    return MeasuredBlockMedian if interval else BlockMedian, fields, options


def _dealt(source: PrivateFrame, shown: Sequence[Shown]) -> dict[str, Any]:
    """What decides the block of a row: its unit, or what it holds."""
    unit, table = source._table.source.unit.column, source._table
    read = frozenset().union(*(each.expression.columns() for each in shown))
    hashed = tuple(name for name in table.engine.columns if name in read)
    return {
        "columns_shown": tuple(shown), "by": hashed if unit is None else (unit,),
        "is_by_unit": unit is not None, "branches": table.branches,
    }  # fmt: skip


_FORMS = {kinds.NUMBER: NUMBER, kinds.TRUTH: TRISTATE}


def _parse_blocks(blocks: object, units: object) -> tuple[int, int]:
    """How many blocks are asked for, or by how many units they are chosen; 0 for the other."""
    if (blocks is None) == (units is None):
        problem = "say the same twice. Give one" if units is not None else "aren't given"
        raise MissingArgument(
            f"blocks= and units= {problem}: into how many blocks units are dealt, such as "
            "blocks=100; or about how many units there are, from public knowledge, and as many "
            "blocks are made as suit these and the loss, such as units=10_000. dppandas never "
            "counts rows to choose it; a count that was released will do."
        )
    if blocks is not None:
        return whole_number(blocks, "blocks", 2, MOST_BLOCKS), 0
    return 0, whole_number(units, "units", 4, MOST_UNITS)


# --- trying a function ----------------------------------------------------------------------------


class _Problem(NamedTuple):
    """What went wrong with a function on made-up rows."""

    said: str
    is_mistake: bool


def _try(f: Callable[..., Any], source: PrivateFrame, shown: Sequence[Shown]) -> None:
    """Refuse a function that fails by a mistake on rows that look as they should: it would fail on
    all blocks, and nobody would be told. What isn't known of a column may be anything: then one
    guess must do. What fails otherwise may be right for the rows, so it is asked, with a warning.
    """
    found = [_problem(f, rows) for rows in _made_up(source, shown)]
    problems = [each for each in found if each is not None]
    if len(problems) < len(found):
        return
    problem, names = problems[0], some_names([each.name for each in shown])
    if all(each.is_mistake for each in problems):
        raise QueryError(
            f"f {problem.said}, for made-up rows. It gets a DataFrame with the columns {names}, of "
            "float64, boolean and objects, and must return one number. Declare what columns hold "
            "(frame.declare, kinds=) so that the rows made up look like yours; and where a block "
            "may lack what f looks up, use .get(…, 0) or return a number."
        )
    warn_user(
        f"f {problem.said}, for made-up rows. Blocks in which it fails count as the middle of the "
        "bounds, and nobody will be told how many do."
    )


def _problem(f: Callable[..., Any], rows: pd.DataFrame) -> _Problem | None:
    try:
        with unheard():
            returned = f(rows)
    except Exception as error:
        return _Problem(f"raised {error_in_short(error)}", isinstance(error, _MISTAKES))
    if number_of(returned) is not None or _is_nan(returned):
        return None
    return _Problem(f"returned a {type(returned).__name__}, and no number", True)


def _is_nan(returned: Any) -> bool:
    """Whether it is a number that isn't finite, or a missing one: too few rows may be why."""
    return returned is None or returned is pd.NA or isinstance(returned, float | np.floating)


def _made_up(source: PrivateFrame, shown: Sequence[Shown]) -> Iterator[pd.DataFrame]:
    """Rows that follow from public facts alone. What nobody knows of a column is guessed, so that
    there are several where a kind is unknown."""
    schema, table = source._table.source.facts.schema, source._table
    kind_of = {place: each.expression.kind(schema) for place, each in enumerate(shown)}
    unsure = any(kind in kinds.UNSURE for kind in kind_of.values())
    for guess in (kinds.NUMBER, kinds.TEXT, kinds.TIME) if unsure else (kinds.NUMBER,):
        columns = {}
        for place, each in enumerate(shown):
            kind = guess if kind_of[place] in kinds.UNSURE else kind_of[place]
            keys, bounds = keys_known(table, each.expression), table.declared(each.expression)
            if keys is not None:
                values = [keys.labels[i % len(keys)] for i in range(_ROWS)]
            elif kind == kinds.NUMBER and isinstance(bounds, Bounds):
                values = np.linspace(bounds.lower, bounds.upper, _ROWS).tolist()
            else:
                values = [_value(kind, i) for i in range(_ROWS)]
            dtype = {NUMBER: "float64", TRISTATE: "boolean"}.get(each.form, "object")
            columns[place] = pd.Series(values, dtype=dtype)
        rows = pd.DataFrame(columns)
        rows.columns = pd.Index([each.name for each in shown], tupleize_cols=False)
        yield rows


def _value(kind: str, place: int) -> Any:
    """The value of a kind in a made-up row."""
    made: dict[str, Callable[[], Any]] = {
        kinds.NUMBER: lambda: place * 7 % _ROWS + 1,  # no two are equal, and in no order
        kinds.TRUTH: lambda: place % 2 == 0,
        kinds.TEXT: lambda: "abc"[place % 3],
        kinds.TIME: lambda: pd.Timestamp(2024, 1, 1 + place),
        kinds.ZONED: lambda: pd.Timestamp(2024, 1, 1 + place, tz="UTC"),
        kinds.DURATION: lambda: pd.Timedelta(place + 1, "h"),
        kinds.LIST: lambda: ["a", "b"][: place % 3],
    }
    if kind.startswith(kinds.PERIOD):
        return pd.Period(pd.Timestamp(2024, 1, 1 + place), kind[len(kinds.PERIOD) + 1 : -1])
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
