"""Numbers to compute with: what `dppandas.derive` hands to a function in place of released ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ..dataclasses import dataclass, replace
from ..errors import QueryError, quoted
from . import forms
from .boxes import BOXES, Range
from .forms import Form, constant

EVERYTHING: Range = (-math.inf, math.inf)


@dataclass(frozen=True)
class Figure:
    """A number of an answer: its release, and its place among the numbers of that."""

    record: Any
    place: int


def _operators(how: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The methods of an operation, for a number on its left and on its right."""
    return (
        lambda self, other: _computed(how, self, other),
        lambda self, other: _computed(how, other, self),
    )


@dataclass(frozen=True, eq=False)
class Quantity:
    """A number derived from released ones: its value; what it is of the released integers, if it is
    of a form that has an interval of its own; what it can be, as far as public facts say; and else
    what it was computed from, or the number of an answer that it is; and what it is of the numbers
    of answers, for what holds for a population."""

    value: float
    form: Form | None
    span: Range = EVERYTHING
    unit: str = ""
    how: str = ""
    of: tuple[Quantity, ...] = ()
    figure: Figure | None = None
    records: frozenset[Any] = frozenset()
    parameter: Form | None = None

    @property
    def is_count(self) -> bool:
        """Whether it is a number of rows, or a sum of such."""
        of = self.parameter
        is_sum = isinstance(of, forms.Linear) and not of.const and {*of.terms.values()} == {1}
        return is_sum and self.unit == "rows"

    # arithmetic

    __add__, __radd__ = _operators("+")
    __sub__, __rsub__ = _operators("-")
    __mul__, __rmul__ = _operators("*")
    __truediv__, __rtruediv__ = _operators("/")

    def __neg__(self) -> Any:
        return _computed("*", self, -1)

    def __pos__(self) -> Quantity:
        return self

    def __abs__(self) -> Any:
        return _computed("abs", self)

    def log(self) -> Any:
        """The natural logarithm, as ``np.log`` asks for it."""
        return _computed("log", self)

    def exp(self) -> Any:
        """The exponential, as ``np.exp`` asks for it."""
        return _computed("exp", self)

    def sqrt(self) -> Any:
        """The square root, as ``np.sqrt`` asks for it."""
        return _computed("sqrt", self)

    # what would make the result depend on noise in other ways

    def _refuse(self, *_: Any) -> NoReturn:
        raise QueryError(
            "dp.derive computes with + - * / sums, np.log, np.exp, np.sqrt and abs. Comparisons, "
            "sorting by value and conversions to plain numbers would lose the error: do them with "
            "the result."
        )

    __bool__ = __float__ = __int__ = __index__ = __complex__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __round__ = __pow__ = __rpow__ = _refuse
    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _refuse
    __hash__ = _refuse  # equal numbers would be told apart by what they are made of

    def __eq__(self, other: object) -> bool:
        return True if self is other else self._refuse()

    def __repr__(self) -> str:
        return f"{self.value:.6g}"


class Unusable:
    """A number without an interval: what computes with it is refused."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def _refuse(self, *_: Any) -> NoReturn:
        raise QueryError(self.reason)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __neg__ = __abs__ = __hash__ = __bool__ = __float__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = log = exp = sqrt = _refuse


def is_nothing(value: Any) -> bool:
    """Whether it is what pandas has where labels have no partner."""
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def known(value: Any) -> Quantity:
    """A number that everybody knows."""
    if isinstance(value, Quantity):
        return value
    if isinstance(value, Unusable):
        raise QueryError(value.reason)
    if not isinstance(value, Real | np.number) or isinstance(value, bool | np.bool_):
        raise QueryError(f"dp.derive computes with numbers, and {quoted(value)} is none.")
    if hasattr(value, "_record") or hasattr(value, "_findings"):
        raise QueryError(
            f"{value!r} is a released answer that dp.derive isn't given, so its noise would be "
            "left out. Give it to dp.derive, and let the function have it as an argument."
        )
    try:
        number = float(value)
    except OverflowError:
        raise QueryError("dp.derive computes with numbers up to 1e308.") from None
    if not math.isfinite(number):
        return Quantity(number, None, (number, number))
    exact = Fraction(value) if isinstance(value, int | float | Fraction) else Fraction(number)
    form = constant(exact)
    return Quantity(number, form, (number, number), parameter=form)


def operands_in(
    numbers: Iterable[Any], operands: Callable[[Quantity], Sequence[Quantity]]
) -> list[Quantity]:
    """What numbers are made of, each after its own operands. A loop may have added up a thousand of
    them, which is deeper than Python calls."""
    found: dict[int, Quantity] = {}
    waiting = [(each, False) for each in numbers if isinstance(each, Quantity)]
    while waiting:
        each, is_known = waiting.pop()
        if is_known:
            found[id(each)] = each
        elif id(each) not in found:
            waiting.append((each, True))
            waiting += [(operand, False) for operand in operands(each)]
    return list(found.values())


VALUES: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "abs": np.abs,
    "log": np.log, "exp": np.exp, "sqrt": np.sqrt,
}  # fmt: skip


def computed(how: str, given: Sequence[float]) -> float:
    """What an operation gives of plain numbers."""
    with np.errstate(all="ignore"):
        return float(VALUES[how](*map(np.float64, given)))


def _computed(how: str, *given: Any) -> Any:
    if any(is_nothing(each) for each in given):
        return math.nan
    if any(isinstance(each, np.ndarray | pd.Series | pd.DataFrame | pd.Index) for each in given):
        return NotImplemented
    of = tuple(map(known, given))
    value = computed(how, [each.value for each in of])
    form = _form(how, [each.form for each in of])
    is_known = all(low == high for low, high in (each.span for each in of))
    span = (value, value) if is_known else BOXES[how](*(each.span for each in of))
    if isinstance(form, forms.Quotient):
        form = replace(form, span=span)
    if isinstance(form, forms.Linear) and form.is_constant:
        value, span = float(form.const), (float(form.const),) * 2
    records = frozenset().union(*(each.records for each in of))
    parameter = _form(how, [each.parameter for each in of])
    kept = () if form is not None and parameter is not None else of
    return Quantity(value, form, span, _unit(how, of), how, kept, None, records, parameter)


def _form(how: str, of: Iterable[Form | None]) -> Form | None:
    each = list(of)
    if any(form is None for form in each):
        return None
    match how, each:
        case "+", [x, y]:
            return forms.plus(x, y)  # type: ignore[arg-type]
        case "-", [x, y] if x == y:
            return constant(Fraction(0))
        case "-", [x, y]:
            minus = forms.times(y, constant(Fraction(-1)))  # type: ignore[arg-type]
            return minus and forms.plus(x, minus)  # type: ignore[arg-type]
        case "*", [x, y]:
            return forms.times(x, y)  # type: ignore[arg-type]
        case "/", [x, y]:
            return forms.over(x, y)  # type: ignore[arg-type]
    return None


def _unit(how: str, of: tuple[Quantity, ...]) -> str:
    """The unit of sums and multiples; "" of others."""
    named = {each.unit for each in of if each.records}
    if how in ("+", "-", "abs"):
        return "" if len(named) > 1 else next(iter(named), "")
    scaled = how == "*" or (how == "/" and of[1].records == frozenset())
    one = sum(bool(each.records) for each in of) == 1
    return next(iter(named), "") if scaled and one else ""
