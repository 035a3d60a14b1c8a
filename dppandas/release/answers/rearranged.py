"""Finds the numbers of an answer whose labels have moved between rows and columns, as after
unstack, stack, T or swaplevel, or after the selection of one row or column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rows.facts.keys import is_missing
from ..context import here
from .figures import ShownFigures
from .matching import Table, comparable, has_figures
from .record_bundle import RecordBundle
from .records import Record

#: Larger tables aren't searched: each number is looked up by its labels.
MOST = 10**5
#: As many whole numbers, none of them 0, are no coincidence.
FEW = 4
#: Whole numbers from here on are in no column of an answer, and numpy doesn't compare all of them.
LARGEST = 2**63
#: With more labels that a row or column could have had, none is looked for.
CHOICES = 1000
#: What to write instead of a selection that drops labels.
KEEP_LABELS = "A list keeps the labels: answer.loc[['x']], answer[['mean']]."
#: A level of labels: its name, and its label for each number, row by row.
Level = tuple[Any, list[Any]]


def remember(answer: Any, record: Record | RecordBundle) -> None:
    """Keep the record of an answer whose columns can be unstacked, which loses `attrs`, with the
    session; not of an audit or preview."""
    slot = here().slot
    is_asked = not getattr(record, "preview", False) and not slot.is_scratch
    if is_asked and slot.session and answer.index.nlevels > 1 and answer.size <= MOST:
        slot.session._unstackable.append(record)


def recalled(
    table: Any, released: Callable[[Any], Table], match: Callable[[Any, Any], ShownFigures | None]
) -> ShownFigures | None:
    """What a table without a token shows of a late answer, if all that it may be of agree.

    released, match : the whole table of a record; what a table shows of it.
    """
    late = _late()
    if not isinstance(table, Table) or table.attrs or table.size > MOST or not late:
        return None
    one = _one_of(table)  # as notebooks ask this of each table that they show
    late = [record for record in late if _is_plain(one) and _holds(released(record), one)]
    values = _flat(table) if late else []
    if not all(map(_is_plain, values)) or not tells(values):
        return None
    each = (match(table, record) for record in {_answered(of): of for of in late}.values())
    may_be = [shown for shown in each if shown is not None]
    if len(may_be) < 2:
        return may_be[0] if may_be else None
    if len({_told(shown) for shown in may_be}) <= 1 or len(set(map(_releases, may_be))) == 1:
        # of answers that read one release, those that hold for most numbers together
        return max(reversed(may_be), key=_width)
    return None


def _late() -> list[Any]:
    """The records of the latest answers that can be unstacked."""
    running = here().slot.session
    return list(running._unstackable) if running else []


def _answered(record: Record | RecordBundle) -> tuple[Any, ...]:
    """What is equal for answers to one question of one release, as those of a cell that ran again,
    whatever their columns are called: a column is unstacked, not a frame, which keeps `attrs`."""
    return type(record), *((each.ledger, each.number, each.query) for each in _components(record))


def _one_of(table: Table) -> Any:
    """The first value by which an answer could be known; None if there is none."""
    parts = table.iloc[:FEW], table
    return next((value for part in parts for value in filter(_is_telling, _flat(part))), None)


def unstack_whole(table: Any) -> str:
    """What to write instead of unstacking a column of an answer, if there is one."""
    if not isinstance(table, Table) or not _late():
        return ""
    return (
        " Unstack a whole answer, and select from it by lists: answer.unstack()[['mean']], and not "
        "answer['mean'].unstack()."
    )


def _releases(shown: ShownFigures) -> frozenset[tuple[str, int]]:
    """The releases of the numbers shown."""
    return frozenset((each.ledger, each.number) for each in _parts(shown))


def _width(shown: ShownFigures) -> float:
    """How wide the intervals of the numbers shown are together."""
    figures = shown.figures()
    pairs = zip(figures.lows, figures.highs, strict=True)
    return sum(pd.Timedelta(high - low).value if isinstance(high, pd.Timestamp | pd.Timedelta)
               else high - low for low, high in pairs if low == low)  # fmt: skip


def _parts(shown: ShownFigures) -> list[Record]:
    return [each for each in _components(shown.record) if shown.of(each).size]


def _components(record: Record | RecordBundle) -> list[Record]:
    return [*record.components.values()] if isinstance(record, RecordBundle) else [record]


def _told(shown: ShownFigures) -> str:
    """What is said of the numbers shown, and of which data: equal for two answers that hold one
    release."""
    figures = shown.figures()
    asked = {f"{each._query.source.version} {each._query.name}" for each in _parts(shown)}
    return repr((sorted(asked), figures.errors, figures.lows, figures.highs, figures.units))


def rearranged(
    shown: Table, released: Table, one_column: bool, made_up: bool
) -> npt.NDArray[np.float64] | None:
    """For each number shown, row by row, its position in the released table, NaN where an unstacked
    one has no such labels; None unless each (labels, value) was released.

    one_column, made_up : as in `located`.
    """
    if not shown.size or max(shown.size, released.size) > MOST:
        return None
    values, numbers = _flat(shown), _flat(released)
    have, want = _levels(released, one_column), _levels(shown, isinstance(shown, pd.Series))
    if one_column and len(want) > len(have):  # the name of the answer, as a level
        want = [level for level in want if level[0] is not None or len({*level[1]}) > 1]
    at = {labels: i for i, labels in enumerate(zip(*(each for _, each in have), strict=True))}
    if len(at) < len(numbers) or not (made_up or has_figures(_table(shown))):
        return None
    found: set[tuple[int | None, ...]] = set()
    for levels, is_known in _assigned(have, want, _selected(shown)):
        places = tuple(at.get(labels) for labels in zip(*levels, strict=True))
        if _are_same(values, places, numbers):
            if is_known:
                found = {places}
                break
            found.add(places)
    else:
        if not tells(values):
            return None
    if len(found) != 1:  # two rows with the same numbers: nobody knows whose errors they have
        return None
    each = [math.nan if place is None else place for place in found.pop()]
    return np.array(each, dtype=np.float64).reshape(_table(shown).shape)


def tells(values: Sequence[Any]) -> bool:
    """Whether values are those of one answer, and of no other by chance: a fraction, a time, or
    several whole numbers."""
    told = list(filter(_is_telling, values))
    return len(told) >= FEW or any(not isinstance(v, int | float) or v % 1 for v in told)


def _is_telling(value: Any) -> bool:
    """Whether a value is neither missing nor 0 nor infinite."""
    is_number = isinstance(value, int | float)
    return not (is_missing(value) or (is_number and (value == 0 or value * 0 != 0)))


def _is_plain(value: Any) -> bool:
    """Whether a value could be one of an answer: others may do anything when compared."""
    if isinstance(value, int):
        return abs(value) < LARGEST
    kinds = Real | str | pd.Timestamp | pd.Timedelta
    return isinstance(value, kinds) or value is None or value is pd.NA or value is pd.NaT


def _holds(released: Table, value: Any) -> bool:
    """Whether a released table has such a value."""
    return bool(np.any(released.to_numpy() == value))


def _are_same(values: Sequence[Any], places: Sequence[int | None], numbers: Sequence[Any]) -> bool:
    """Whether values are those at their places; where there is no place, a missing one."""
    pairs = zip(values, (None if at is None else numbers[at] for at in places), strict=True)
    return any(at is not None for at in places) and all(_is_same(*pair) for pair in pairs)


def _table(table: Table) -> pd.DataFrame:
    return table.to_frame() if isinstance(table, pd.Series) else table


def _flat(table: Table) -> list[Any]:
    """The values row by row, as Python's objects."""
    whole = _table(table)
    columns = (whole.iloc[:, i].tolist() for i in range(whole.shape[1]))
    return [value for row in zip(*columns, strict=True) for value in row]


def _levels(table: Table, without_columns: bool) -> list[Level]:
    high, wide = _table(table).shape
    found: list[Level] = []
    for i, name in enumerate(table.index.names):
        labels = map(comparable, table.index.get_level_values(i))
        found.append((name, [label for label in labels for _ in range(wide)]))
    if without_columns or isinstance(table, pd.Series):
        return found
    for i, name in enumerate(table.columns.names):
        found.append((name, list(map(comparable, table.columns.get_level_values(i))) * high))
    return found


def _selected(shown: Table) -> tuple[Any, ...]:
    """The labels of a selected row or column, which pandas makes its name."""
    name = shown.name if isinstance(shown, pd.Series) else None
    names = name if isinstance(name, tuple) else () if name is None else (name,)
    return tuple(map(comparable, names))


def _assigned(
    have: Sequence[Level], want: Sequence[Level], selected: tuple[Any, ...]
) -> Iterator[tuple[list[list[Any]], bool]]:
    """The labels shown, as the levels of the release that they may be, in its order; and whether
    each of them is there, or is the name of what was selected."""
    size, dropped = len(want[0][1]), len(have) - len(want)
    labels, there = [{*each} for _, each in want], [dict.fromkeys(each) for _, each in have]
    for order in permutations(range(len(have)), len(want)):
        named = zip(want, (have[k] for k in order), strict=True)
        alike = all(None in (one[0], other[0]) or one[0] == other[0] for one, other in named)
        if not alike or any(labels[i] - there[k].keys() for i, k in enumerate(order)):
            continue
        missing = [k for k in range(len(have)) if k not in order]
        choices = [there[k] for k in missing]
        is_known = not dropped or (
            len(selected) == dropped and all(x in c for x, c in zip(selected, choices, strict=True))
        )
        given = [selected[:dropped]] if is_known else product(*choices)
        for picked in given if math.prod(map(len, choices)) <= CHOICES else ():
            levels = {k: want[i][1] for i, k in enumerate(order)}
            levels |= {k: [label] * size for k, label in zip(missing, picked, strict=True)}
            yield [levels[k] for k in range(len(have))], is_known


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal; missing ones are, and truth values are no numbers."""
    is_alike = isinstance(one, bool | np.bool_) == isinstance(other, bool | np.bool_)
    return is_alike and bool(comparable(one) == comparable(other))
