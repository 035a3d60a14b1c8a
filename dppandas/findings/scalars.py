"""Numbers computed from released ones by Python's operators, which `Arithmetic` hands over, and
tables by pandas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..errors import QueryError, RecordError
from .answers import Derived, DerivedFloat, DerivedInt, Findings
from .derive import quantities_in
from .quantities import Quantity
from .running import running_total

__all__ = ["follow", "running_total"]

_KINDS: dict[type, type[DerivedFloat | DerivedInt]] = {int: DerivedInt, float: DerivedFloat}


def follow(plain: Any, compute: Callable[..., Any], *numbers: Any) -> Any:
    """What Python computed of the plain values, with the errors of the numbers: plain where one has
    no interval, as labels and previews do, or where floats don't reach.

    compute : the operation, for quantities. Rounding is none: the exact number isn't rounded.
    """
    kind = _KINDS.get(type(plain))
    quantities = [_quantity(each) for each in numbers]
    if kind is None or any(each is None for each in quantities):
        return plain
    try:
        found, shown = compute(*quantities), float(plain)
    except (QueryError, OverflowError):
        return plain
    if plain != plain or not isinstance(found, Quantity):
        return plain
    return kind._of(plain, Findings((replace(found, value=shown),)))


def _quantity(number: Any) -> Any:
    """A number to compute with; None if it can't be. That of a released one is kept with it, so
    that a loop that uses it often makes it once."""
    if isinstance(number, Derived):
        return number._quantities_in()
    if type(number) in (int, float, bool, Fraction):
        return +number  # no truth value
    if "_quantity" not in vars(number):
        number._quantity = _made(number)
    return number._quantity


def _made(number: Any) -> Quantity | None:
    try:
        made = quantities_in(number)
    except (QueryError, RecordError):
        return None
    return made if isinstance(made, Quantity) else None
