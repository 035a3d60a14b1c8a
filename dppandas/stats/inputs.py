"""What tests are given: released answers, or what can be released for them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from numbers import Real
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

import numpy as np
import pandas as pd

from ..columns.columns import PrivateColumn
from ..dataclasses import dataclass
from ..errors import QueryError, RecordError, quoted
from ..findings.answers import Derived
from ..findings.derive import is_answer, quantities_in
from ..findings.quantities import Quantity
from ..frames.frame import PrivateFrame
from ..frames.groupby import PrivateGroupBy
from ..privacy.mechanisms.noise import DiscreteLaplace
from ..release.answers.populations import check_rows
from ..release.answers.results import shown_in
from ..release.blocks import preview
from ..release.blocks.split import split
from ..release.unreleased import Unreleased
from ..rows.figures import format_ends
from .results import SignificanceResult

P = ParamSpec("P")
R = TypeVar("R")


def ways_of(epsilon: object, more: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a release that were given."""
    given = {"epsilon": epsilon, **more}
    return {name: value for name, value in given.items() if value is not None}


def is_private(given: object) -> bool:
    """Whether something has still to be released."""
    return isinstance(given, PrivateColumn | PrivateFrame | PrivateGroupBy | Unreleased)


@dataclass(frozen=True)
class Foreseen:
    """What public facts tell of an answer before it is released, so that a test that can't take it
    says so before anything is charged."""

    made: Unreleased[Any]

    @property
    def labels(self) -> pd.Index | None:
        """Those of a Series; None for one number, and where they are found in the data."""
        layout = self.made._statistic.layout
        if layout.columns is not None:
            raise QueryError("a test is about the numbers of one column. Select it first.")
        return layout.index

    @property
    def samples(self) -> list[Any]:
        """What each number will say of a population."""
        table, statistic = self.made._table, self.made._statistic
        if any(statistic.layout.rulers):
            raise QueryError(
                f"'{self.made._what}' has times, and a test is about numbers: ask about durations "
                "in hours, say."
            )
        check_rows(f"'{self.made._what}'", table.source.unit.max_rows * table.branches)
        unit = DiscreteLaplace(Fraction(1))
        return list(statistic.samples([1] * statistic.size, unit, table.source.schema))


class NotAnswered(Exception):
    """A preview has listed a release, and there is no answer to test."""


def _stop_in_preview(answer: Any) -> None:
    records = [] if isinstance(answer, Derived) else [shown_in(answer).record]
    if any(getattr(record, "preview", False) for record in records):
        raise NotAnswered


def previewed(
    kind: type[SignificanceResult] = SignificanceResult,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """In a `dppandas.preview` the release of a test is listed, and its result has no numbers."""

    def decorated(test: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(test)
        def run(*args: P.args, **options: P.kwargs) -> R:
            try:
                return test(*args, **options)
            except NotAnswered:
                nothing = kind(
                    test.__name__, math.nan, math.nan, exact=False, null="not tested yet",
                    noise="A preview has no answer", source="nothing was released",
                    _interval=_nothing_known,
                )  # fmt: skip
                return cast(R, nothing)

        return run

    return decorated


def _nothing_known(confidence: float) -> tuple[float, float]:
    return math.nan, math.nan


def answer_of(
    given: Any, test: str, ways: Mapping[str, Any], ask: Callable[[Any], Any] | None = None,
    check: Callable[[Foreseen], object] | None = None,
) -> Any:  # fmt: skip
    """A released answer: as it was given, or released from private rows, of which ``ask`` makes the
    question. What has lost its record is refused.

    check : refuses what public facts tell the test can't take, before anything is charged.
    """
    if is_private(given):
        made = _question(given, test, ways, ask)
        if check is not None:
            check(Foreseen(made))
        answer = made.release(**ways)
        _stop_in_preview(answer)
        return answer
    if not is_answer(given):
        refuse(given, test)
    _stop_in_preview(given)
    if ways:
        raise QueryError(
            f"{test} of released answers costs nothing: leave {', '.join(f'{n}=' for n in ways)} "
            "out. Options of a release are for private rows."
        )
    return given


def _question(
    given: Any, test: str, ways: Mapping[str, Any], ask: Callable[[Any], Any] | None
) -> Unreleased[Any]:
    if not ways:
        raise QueryError(
            f"{test} needs a release of these private rows first. Give epsilon=…, which pays for "
            "it; or release them yourself, and give the answer."
        )
    made = given if ask is None or isinstance(given, Unreleased) else ask(given)
    if not isinstance(made, Unreleased):
        raise QueryError(f"{test} takes released answers here, and not private rows.")
    return made


def both_of(
    a: Any, b: Any, test: str, ways: Mapping[str, Any], ask: Callable[[Any], Any],
    check: Callable[[Foreseen], object],
) -> tuple[Any, Any]:  # fmt: skip
    """Two answers, or one and what else was given; of two private columns each is released with
    half of the loss, or neither."""
    if not (is_private(a) and is_private(b)):
        if is_private(b):
            raise QueryError(
                f"{test} takes two answers, or two private columns and epsilon=…. Release this "
                "second one, too."
            )
        return answer_of(a, test, ways, ask, check), b
    questions = [_question(each, test, ways, ask) for each in (a, b)]
    for made in questions:
        check(Foreseen(made))

    def program() -> tuple[Any, Any]:
        with split(into=2, **ways):
            one, other = (made.release() for made in questions)
        return one, other

    answers = preview.all_or_none(program)
    for each in answers:
        _stop_in_preview(each)
    return answers


def refuse(given: Any, test: str) -> NoReturn:
    """Refuse plain numbers: nobody knows their noise, and a test that counts none finds what isn't
    there."""
    if isinstance(given, np.number):
        raise RecordError(
            f"{test} takes released answers, and this {type(given).__name__} has no record: a "
            "number that is taken out of a Series loses it. Keep its label by a list, as "
            f"answer.loc[['B']]; or name two labels where two are compared, {test}(answer, 'B', "
            "'A')."
        )
    if isinstance(given, pd.Series | pd.DataFrame):
        quantities_in(given) if given.attrs else None  # says what became of its record
    raise RecordError(
        f"{test} takes released answers that have kept their record, or private rows and "
        f"epsilon=…; not a {type(given).__name__} without one. Numbers computed from answers keep "
        "their noise in dp.derive. For public rows use scipy.stats."
    )


def one_of(answer: Any, test: str) -> Quantity:
    """The number of an answer."""
    found = quantities_in(answer)
    if isinstance(found, pd.Series) and len(found) == 1:
        found = found.iloc[0]
    if not isinstance(found, Quantity):
        raise QueryError(
            f"{test} is about one number. Select one of these by a list, such as answer.loc[['x']]."
        )
    return found


def number_of(value: object, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    """A public number of an argument."""
    is_number = isinstance(value, Real) and not isinstance(value, bool) and not is_answer(value)
    if not is_number or not math.isfinite(value) or not low <= value <= high:  # type: ignore[operator, arg-type]
        within = "" if math.isinf(low) else f" from {format_ends(low, high)}"
        raise QueryError(f"{name}={quoted(value)} must be a public number{within}.")
    return float(value)  # type: ignore[arg-type]


def records_of(numbers: Iterable[Any]) -> frozenset[Any]:
    """The releases of numbers."""
    each = (number.records for number in numbers if isinstance(number, Quantity))
    return frozenset().union(*each)


def release_of(record: Any) -> tuple[Any, ...]:
    """What a record, a copy of it, and one of the same answer given again have in common."""
    return tuple((part.ledger, part.number, part.time) for part in record.components)
