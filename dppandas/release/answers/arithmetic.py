"""Arithmetic of released numbers, whose errors the room `findings` follows."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any

Operator = Callable[[Any, float], Any]
#: Plain numbers, which count as exact. No subclass does: numbers of NumPy are what a released
#: Series gives for a label, and estimates of the local model have an error, too.
_EXACT = (int, float, Fraction, bool)


@cache
def followers() -> Any:
    """The module that follows errors. It stands above this room, so it is named, and imported with
    the first use."""
    return import_module("....findings.scalars", __name__)


def _is_followed(other: Any) -> bool:
    return type(other) in _EXACT or isinstance(other, Arithmetic)


def _plain(value: Any) -> Any:
    return value._plainly() if isinstance(value, Arithmetic) else value


def _operators(name: str, compute: Callable[[Any, Any], Any]) -> tuple[Operator, Operator]:
    """The methods of an operation, for a number on its left and on its right. What isn't followed
    is left to Python, which then asks the other side."""

    def of_left(self: Arithmetic, other: float, /) -> Any:
        if not _is_followed(other):
            return getattr(super(Arithmetic, self), f"__{name}__")(other)
        return _follow(compute, self, other)

    def of_right(self: Arithmetic, other: float, /) -> Any:
        if not _is_followed(other):
            return getattr(super(Arithmetic, self), f"__r{name}__")(other)
        return _follow(compute, other, self)

    return of_left, of_right


def _follow(compute: Callable[..., Any], *numbers: Any) -> Any:
    plain = compute(*map(_plain, numbers))  # which raises what Python raises
    return followers().follow(plain, compute, *numbers)


class Arithmetic:
    """A number whose errors are followed through + - * / and round, abs and negation.

    The result is what Python computes, with an error and an interval if each number has one. Plain
    numbers of Python count as exact. All else gives plain results: arithmetic with numbers of
    NumPy, and a float on the left of a whole number, which Python adds by itself.
    """

    __add__, __radd__ = _operators("add", operator.add)
    __sub__, __rsub__ = _operators("sub", operator.sub)
    __mul__, __rmul__ = _operators("mul", operator.mul)
    __truediv__, __rtruediv__ = _operators("truediv", operator.truediv)

    def _plainly(self) -> Any:
        """The value alone."""
        raise NotImplementedError

    def __neg__(self) -> Any:
        return _follow(operator.neg, self)

    def __pos__(self) -> Any:
        return _follow(operator.pos, self)

    def __abs__(self) -> Any:
        return _follow(abs, self)

    def __round__(self, ndigits: Any = None) -> Any:
        """The rounded number, with the interval of the number before, and the rounded one in it."""
        plain = round(self._plainly(), ndigits)
        return followers().follow(plain, operator.pos, self)
