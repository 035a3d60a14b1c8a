"""What tests are given: released answers, or what can be released for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import pandas as pd

from ..columns.columns import PrivateColumn
from ..errors import QueryError, RecordError
from ..findings.derive import is_answer, quantities_in
from ..findings.quantities import Quantity
from ..frames.groupby import PrivateGroupBy
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


def records_of(numbers: Iterable[Any]) -> frozenset[Any]:
    """The releases of numbers."""
    each = (number.records for number in numbers if isinstance(number, Quantity))
    return frozenset().union(*each)


def release_of(record: Any) -> tuple[Any, ...]:
    """What a record, a copy of it, and one of the same answer given again have in common."""
    return tuple((part.ledger, part.number, part.time) for part in record.components)
