"""Several answers for one loss: each is an ordinary release; either all are charged, or none."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Unpack

import pandas as pd

from ...dataclasses import dataclass
from ...errors import (
    MissingArgument,
    QueryError,
    UnsupportedVerb,
    hide_internals,
    quoted,
    warn_user,
)
from ...privacy.accounting.losses import ReleaseOptions, parse_budget, with_options_named
from ...privacy.accounting.measures import LossRequest
from ...privacy.accounting.shares import SharedLoss
from ...rows.sentences import ShownInSentences
from ..accuracy import possible
from ..answers import results
from ..answers.making import counted
from ..answers.record_bundle import places_of
from ..answers.records import Record
from ..answers.shapes import Answer
from ..private import Private
from ..release import release_all
from ..request import Request
from ..ways import Ways
from . import split as splits

#: The name of a component: its column (None for all columns) and its statistic.
Name = tuple[Any, str]
Bundled = Mapping[Name, Request]
Combine = Callable[[dict[Name, Any]], Any]
#: The columns of each component, in order.
Columns = Mapping[Name, Sequence[Any]]


@dataclass(frozen=True)
class ShownLabel:
    """A label that an answer shows among its numbers. It has no error of its own."""

    label: Any

    @classmethod
    def told(cls, table: Any, are_places: bool = False) -> Any:
        """A Series or DataFrame that shows its labels; among places of numbers they have none."""
        if isinstance(table, pd.DataFrame):
            return table.apply(cls.told, are_places=are_places)
        if table.dtype != object:
            return table
        nothing = math.nan
        shown = [
            each if not isinstance(each, cls) else nothing if are_places else each.label
            for each in table
        ]
        return pd.Series(shown, index=table.index, name=table.name, dtype=object)


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseBundle(ShownInSentences, Private, Generic[Answer]):
    """Questions answered together. Nothing is computed or charged until a loss is given."""

    _requests: Bundled
    _shares: Mapping[Name, Fraction]
    _combine: Combine
    _columns: Columns
    #: Where the labels of groups are shown.
    _placed: Callable[[Any], Any] = lambda value: value

    _shown_as: ClassVar[str] = "unreleased"
    _is_answer: ClassVar[bool] = True

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Answer:
        """All answers, in one table. Each has its own entry in the ledger and its own record.

        *Guarantee*: differential privacy of the unit with the sum of the losses, which is epsilon
        (sequential composition: Dwork and Roth, 2014, Theorem 3.16).
        """
        return self._released(Ways.read(epsilon, more))  # type: ignore[no-any-return]

    def _released(self, ways: Ways) -> Any:
        with splits.share(ways) as ways:
            shares = [self._shares[name] for name in self._requests]
            losses = zip(self._requests.values(), _divided(shares, ways), strict=True)
            asked = [request.asked(loss) for request, loss in losses]
            released = dict(zip(self._requests, release_all(asked), strict=True))
        records = possible.in_order(_counted(released), self._columns)
        found = self._combine({name: each.estimate() for name, each in records.items()})
        combined = ShownLabel.told(found)
        for warned in dict.fromkeys(each.kind._warning for each in self._requests.values()):
            if warned:
                warn_user(warned)
        places = ShownLabel.told(self._combine(places_of(records)), are_places=True)
        titled = dict(zip(_titles(records), records.values(), strict=True))
        return self._placed(results.gathered(combined, titled, places))

    @hide_internals
    def _refuse_name(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise UnsupportedVerb(
            f"{name!r} of several answers that are not released yet. Release them together by "
            ".release(epsilon=0.1), and dp.record(result) knows each error; or ask for one "
            "statistic alone."
        )

    if not TYPE_CHECKING:  # which would believe in every name
        __getattr__ = _refuse_name

    def _sentences(self) -> list[str]:
        asked = ", ".join(str(request.what) for request in self._requests.values())
        return [f"<unreleased {asked}: nothing computed or charged; ask .release(epsilon=…)>"]

    def _more(self) -> list[str]:
        from ..accuracy.forecast import forecasts

        titles = zip(_titles(self._requests), self._requests.items(), strict=True)
        parts = [
            (_told(title, name, each), each.query_at, self._shares[name])
            for title, (name, each) in titles
        ]
        return forecasts(parts)


def _counted(records: dict[Name, Record]) -> dict[Name, Record]:
    """These records, with the number of rows for quantiles of a column that was counted too."""
    found = dict(records)
    for (column, what), record in records.items():
        for (other, _), beside in records.items():
            if other == column and beside is not record:
                found[column, what] = counted(found[column, what], beside)
    return found


def _told(title: str, name: Name, request: Request) -> str:
    """A title before errors in words, which name the figures of a release themselves."""
    if len(request.statistic.errors.figures) == 1:
        return title
    return "" if name[0] is None else f"{name[0]}:"


def _titles(names: Collection[Name]) -> list[str]:
    """The titles of components. ``repr`` tells columns such as 1 and "1" apart."""
    for written in (str, repr):
        titles = [
            what if column is None else f"{what} of {written(column)}" for column, what in names
        ]
        if len({*titles}) == len(titles):
            break
    return titles


def _divided(shares: Sequence[Fraction], ways: Ways) -> list[LossRequest]:
    """The loss of each component."""
    ways.loss_request()  # refuses bad options in the caller's words
    whole = SharedLoss.parse(ways.epsilon, ways.delta, ways.rho)
    parts = map(whole.fraction, shares)
    return [ways.priced(part.epsilon, part.rho, part.delta) for part in parts]


def shares_of(components: Mapping[Name, Collection[Any]], shares: object) -> dict[Name, Fraction]:
    """The share of each component: equal, or as shares= says.

    components : each with the names by which shares= can mean it.
    """
    if shares is None:
        return dict.fromkeys(components, Fraction(1, len(components)))
    if not isinstance(shares, Mapping):
        raise QueryError(
            f"shares={quoted(shares)} must be a dict of shares by statistic, such as "
            "{'mean': 2, 'median': 1}, because agg divides epsilon by them."
        )
    asked = {each for names in components.values() for each in names}
    for each in shares:
        if each not in asked:
            raise QueryError(f"shares= names {quoted(each)}, which is not asked for. Drop it.")
    found: dict[Name, Fraction] = {}
    for component, names in components.items():
        known = [each for each in names if each in shares]
        if not known:
            said = next((each for each in names if isinstance(each, str)), component[1])
            raise MissingArgument(f"shares= has no share for {said!r}. Give each figure one.")
        found[component] = parse_budget(shares[known[0]], f"shares of {known[0]!r}")
    whole = sum(found.values(), Fraction(0))
    return {name: share / whole for name, share in found.items()}


def by_row(values: Mapping[tuple[Any, str], Any], columns: Sequence[Any]) -> pd.DataFrame:
    """A row for each statistic, as DataFrame.agg has it; NaN where a column wasn't asked for it."""
    rows = list(dict.fromkeys(statistic for _, statistic in values))
    found = {c: [values.get((c, row), float("nan")) for row in rows] for c in columns}
    table = pd.DataFrame(list(zip(*found.values(), strict=True)), index=pd.Index(rows))
    return table.set_axis(pd.Index(list(columns), tupleize_cols=False), axis=1)
