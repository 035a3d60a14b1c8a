"""What agg is asked for: several figures, each by the name of its method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import pandas as pd

from ...dataclasses import dataclass, field
from ...errors import QueryError, is_one_of, parameters, quoted
from ...release.blocks.bundle import Name
from ...release.request import Request
from ...rows.facts.keys import did_you_mean
from ...statistics import every, methods
from ...statistics.methods import AGG, OF_SUMS, SPREADS, Offered

#: numpy's variances divide by the number of values; before version 3 pandas put its own in place.
_OF_NUMPY = ", ddof=0" if int(pd.__version__.partition(".")[0]) >= 3 else ""

_EXAMPLE = "agg(['count', 'mean']), or agg(late=('delay', 'mean'))"


@cache
def functions() -> dict[Callable[..., Any], str]:
    """Functions that people hand over, and the statistics that mean the same."""
    return {
        function: f"{method.name}{_OF_NUMPY if hasattr(statistic, 'ddof') else ''}"
        for statistic in every()
        for method in statistic.methods
        for function in method.functions
    }


def answers_of(face: Offered, *others: str) -> str:
    """What a private column, frame or its groups answer, for refusals to say."""
    return ", ".join(sorted([*methods(face), "agg", "describe", *others]))


@dataclass(frozen=True)
class Figure:
    """One figure of an answer: of which column (None for all that are selected), by which
    statistic, and its label, which is another one where the call names it."""

    column: Any
    statistic: str
    label: Any

    @property
    def component(self) -> Name:
        """The release that it is read from: figures may share one, and rows have no column."""
        return (None if self.statistic == "size" else self.column), self.statistic


@dataclass(frozen=True)
class Asked:
    """The figures of a call, and whether it gives one for each column, or names each."""

    figures: Sequence[Figure]
    by_column: bool = False
    by_name: bool = False

    def columns(self, is_single: bool) -> list[Any]:
        """The columns of an answer by group."""
        by_label = self.by_name or is_single
        return [each.label if by_label else each.column for each in self.figures]

    def components(self) -> dict[Name, list[Any]]:
        """The releases, and by which names the call can say what each may cost."""
        found: dict[Name, list[Any]] = {}
        for each in self.figures:
            own = [(each.column, each.statistic), each.statistic]
            names = [each.label, *own] if self.by_name else [*own, each.label]
            found.setdefault(each.component, []).extend(names)
        return found


@dataclass
class Releases:
    """The releases that figures are read from, and where each component is in them."""

    face_of: Callable[[Any], Any]  # what a column's statistics are asked of, None for all columns
    requests: dict[Name, Request] = field(default_factory=dict)
    _places: dict[Name, tuple[Name, int, int]] = field(default_factory=dict)

    def add(
        self, column: Any, statistics: Sequence[str], bounds: object, step: object = None
    ) -> None:
        """The releases of a column's statistics."""
        for group in in_releases(statistics):
            face = self.face_of(column)
            together = face._from_sums(group, bounds) if len(group) > 1 else None
            if together is not None:
                self._add(column, group, together)
                continue
            for each in group:
                self._add(column, (each,), request_of(face, each, bounds, step))

    def _add(self, column: Any, group: tuple[str, ...], request: Request) -> None:
        name = column, ", ".join(group)
        self.requests[name] = request
        places = {(column, each): (name, i, len(group)) for i, each in enumerate(group)}
        self._places.update(places)

    def shares(self, of_components: Mapping[Name, Fraction]) -> dict[Name, Fraction]:
        """The share of each release: what its components have together."""
        found = dict.fromkeys(self.requests, Fraction(0))
        for component, share in of_components.items():
            found[self._places[component][0]] += share
        return found

    def value(self, component: Name, values: Mapping[Name, Any]) -> Any:
        """What the answers of the releases say of a component."""
        name, place, levels = self._places[component]
        if levels == 1:
            return values[name]
        found = self.face_of(component[0])._level(values[name], place, levels)
        return as_alone(found, component[1])


def as_alone(found: Any, statistic: str) -> Any:
    """One of the figures of a release, in the type that it has alone."""
    if isinstance(found, pd.Series | pd.DataFrame):
        found = found.infer_objects()  # beside figures of other types they were objects
        return found.astype("int64") if statistic == "count" else found
    return int(found) if statistic == "count" else found


def single(func: Any, where: Offered = AGG) -> str | None:
    """The statistic, if a call asks for a single one."""
    return statistic_of(func, where)[0] if isinstance(func, str) or callable(func) else None


def request_of(face: Any, statistic: str, bounds: object, step: object = None) -> Request:
    """A statistic, asked of a column, a frame or groups by its method."""
    name, ddof = _split(statistic)
    method = getattr(face, name)
    taken = parameters(method)
    given = {k: v for k, v in {"bounds": bounds, "step": step}.items() if k in taken}
    said: Any = {**given, **({"ddof": ddof} if ddof != 1 else {})}
    return method(**said)._request  # type: ignore[no-any-return]


def in_releases(statistics: Sequence[str], *apart: str) -> list[tuple[str, ...]]:
    """Statistics of one column, in groups that one release answers at its whole loss: a mean or a
    sum tells how many values there are, and a spread the mean too. Spreads of one ddof go together.

    apart : those that have a release of their own.
    """
    freedom = [_split(each)[1] for each in statistics if _split(each)[0] in SPREADS]
    beside = [
        each
        for each in dict.fromkeys(statistics)
        if _split(each)[0] in OF_SUMS and each not in apart
        and (_split(each)[0] not in SPREADS or _split(each)[1] == freedom[0])
    ]  # fmt: skip
    if len(beside) < 2:
        beside = []
    groups = [tuple(beside) if each in beside else (each,) for each in statistics]
    return list(dict.fromkeys(groups))


def with_ddof(statistics: Sequence[str]) -> tuple[list[str], int]:
    """The names of statistics, and the ddof of those that have one."""
    named = [_split(each) for each in statistics]
    return [name for name, _ in named], next((d for n, d in named if n in SPREADS), 1)


def _split(statistic: str) -> tuple[str, int]:
    name, _, ddof = statistic.partition(", ddof=")
    return name, int(ddof or 1)


def statistic_of(how: Any, where: Offered = AGG) -> tuple[str, str]:
    """A statistic, and what pandas calls it in an answer."""
    offered = methods(where)
    if isinstance(how, Callable) and how in functions():  # type: ignore[arg-type]
        return functions()[how], how.__name__.removeprefix("nan")
    if callable(how):
        raise QueryError(
            f"agg can't use {_named_function(how)}: a function of your own could look at other "
            f"rows. Give names such as 'mean': {_EXAMPLE}."
        )
    if not is_one_of(how, offered):
        raise QueryError(
            f"agg doesn't know {quoted(how)}.{did_you_mean(how, offered)} Choose from "
            f"{', '.join(offered)}."
        )
    return how, how


def _named_function(func: Any) -> str:
    name = getattr(func, "__name__", None)
    return f"the function {name}" if isinstance(name, str) and name.isidentifier() else quoted(func)


def asked(func: Any, named: Mapping[str, Any], is_single: bool) -> Asked:
    """What a call asks for.

    is_single : whether one column is selected, so that a name needs no column.
    """
    if func is None and named:
        return Asked(_checked(_named(*each, is_single) for each in named.items()), by_name=True)
    if isinstance(func, Mapping):
        each = [f for c, hows in func.items() for f in _of_column(_column(c), hows)]
        return Asked(_checked(each), by_column=not any(map(_is_list, func.values())))
    if isinstance(func, tuple) and len(func) == 2 and not is_one_of(func[0], methods(AGG)):
        raise QueryError(
            f"agg can't name a figure 'func', which is its first argument: choose another name for "
            f"{quoted(func)}, as in agg(figure={quoted(func)})."
        )
    if not _is_list(func):
        raise QueryError(f"agg can't use {quoted(func)}. Give names such as 'mean': {_EXAMPLE}.")
    return Asked(_checked(_of_column(None, func)))


def _is_list(given: object) -> bool:
    return isinstance(given, list | tuple)


def _of_column(column: Any, hows: Any) -> list[Figure]:
    each = hows if _is_list(hows) else [hows]
    return [Figure(column, *statistic_of(how)) for how in each]


def _named(name: str, given: Any, is_single: bool) -> Figure:
    """A figure that the call names."""
    if isinstance(given, pd.NamedAgg):
        given = (given.column, given.aggfunc)
    if is_single and not _is_list(given):
        given = (None, given)
    if not isinstance(given, tuple) or len(given) != 2:
        example = '"mean"' if is_single else '("delay", "mean")'
        raise QueryError(f"{name}={quoted(given)} must say what to aggregate: {name}={example}.")
    column, how = given
    return Figure(column if is_single else _column(column), statistic_of(how)[0], name)


def _column(name: Any) -> Any:
    """The name of a column. `Figure` says None for all of them."""
    if name is None:
        raise QueryError(
            "agg can't take None for a column. For all columns write agg(['mean']); to one that is "
            "called None give another name first: rename(columns={None: 'x'})."
        )
    return name


def _checked(figures: Iterable[Figure]) -> list[Figure]:
    found = list(figures)
    if not found:
        raise QueryError(f"agg needs at least one statistic: {_EXAMPLE}.")
    times = Counter((f.column, f.label) for f in found)
    twice = [label for (_, label), number in times.items() if number > 1]
    if twice:
        raise QueryError(
            f"agg names {quoted(twice[0])} twice. Name each statistic once: {_EXAMPLE}."
        )
    return found
