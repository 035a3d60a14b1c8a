"""What tests are given: released answers, or what can be released for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any, NoReturn

import pandas as pd

from ..columns.columns import PrivateColumn
from ..errors import QueryError, RecordError, quoted
from ..findings.derive import is_answer, quantities_in
from ..findings.quantities import Quantity
from ..frames.groupby import PrivateGroupBy
from ..release.blocks import preview
from ..release.blocks.split import split
from ..release.unreleased import Unreleased


def ways_of(epsilon: object, more: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a release that were given."""
    given = {"epsilon": epsilon, **more}
    return {name: value for name, value in given.items() if value is not None}


def is_private(given: object) -> bool:
    """Whether something has still to be released."""
    return isinstance(given, PrivateColumn | PrivateGroupBy | Unreleased)


def answer_of(
    given: Any, test: str, ways: Mapping[str, Any], ask: Callable[..., Any] | None = None
) -> Any:
    """A released answer: as it was given, or released from private rows by ``ask(given, **ways)``.
    What has lost its record is refused."""
    if is_private(given):
        if not ways:
            raise QueryError(
                f"{test} needs a release of these private rows first. Give epsilon=…, which pays "
                "for it; or release them yourself, and give the answer."
            )
        if isinstance(given, Unreleased):
            return given.release(**ways)
        if ask is not None:
            return ask(given, **ways)
        raise QueryError(f"{test} takes released answers here, and not private rows.")
    if not is_answer(given):
        refuse(given, test)
    if ways:
        raise QueryError(
            f"{test} of released answers costs nothing: leave {', '.join(f'{n}=' for n in ways)} "
            "out. Options of a release are for private rows."
        )
    return given


def both_of(
    a: Any, b: Any, test: str, ways: Mapping[str, Any], ask: Callable[..., Any]
) -> tuple[Any, Any]:
    """Two answers, or one and what else was given; of two private columns each is released with
    half of the loss, or neither."""
    if not (is_private(a) and is_private(b)):
        if is_private(b):
            refuse(a, test)
        return answer_of(a, test, ways, ask), b
    if not ways:
        return answer_of(a, test, ways), b

    def program() -> tuple[Any, Any]:
        with split(into=2, **ways):
            one, other = (
                each.release() if isinstance(each, Unreleased) else ask(each) for each in (a, b)
            )
        return one, other

    return preview.all_or_none(program)


def refuse(given: Any, test: str) -> NoReturn:
    """Refuse plain numbers: nobody knows their noise, and a test that counts none finds what isn't
    there."""
    if isinstance(given, pd.Series | pd.DataFrame):
        quantities_in(given) if given.attrs else None  # says what became of its record
    raise RecordError(
        f"{test} takes answers that were released, and have kept their record, or private rows and "
        f"epsilon=…; and not a {type(given).__name__} without one. Numbers computed from answers "
        "keep their noise in dp.derive. Rows that nobody has to protect are for scipy.stats."
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
        within = "" if math.isinf(low) else f" from {low:g} to {high:g}"
        raise QueryError(f"{name}={quoted(value)} must be a public number{within}.")
    return float(value)  # type: ignore[arg-type]


def records_of(numbers: Iterable[Any]) -> frozenset[Any]:
    """The releases of numbers."""
    each = (number.records for number in numbers if isinstance(number, Quantity))
    return frozenset().union(*each)
