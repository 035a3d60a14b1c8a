"""Exact privacy losses.

A loss is a rational number and stays one: ``Fraction(str(0.1)) * 3 == Fraction(str(0.3))``, while
0.1 + 0.1 + 0.1 > 0.3 in floating point. The ledger adds and compares rational numbers only.
"""

from __future__ import annotations

import datetime
import decimal
import inspect
import math
import numbers
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import ParamSpec, SupportsFloat, TypedDict, TypeVar

from ...dataclasses import dataclass
from ...errors import MissingArgument, QueryError, quoted

N = TypeVar("N", bound=Fraction)
P = ParamSpec("P")
R = TypeVar("R")

#: A loss as people write it: 0.1, Fraction(1, 3) or "1/3".
Number = SupportsFloat | str

SMALLEST = Fraction(1, 2**20)
LARGEST = Fraction(64)
LARGEST_DELTA = Fraction(1, 100)


class Epsilon(Fraction):
    """An exact ε that prints as a decimal where it is one.

    >>> Epsilon("0.1") + Epsilon("0.2") == Fraction(3, 10)
    True
    >>> Epsilon(17, 10)
    1.7
    >>> print(Epsilon(1, 3))
    1/3
    """

    __slots__ = ()

    def __str__(self) -> str:
        return format_exact(self)

    __repr__ = __str__


class LossOptions(TypedDict, total=False):
    """What a release may cost and by which noise, apart from ``epsilon=``.

    delta : how much of the session's δ the release may spend.
    rho : the loss in a session that counts ρ, instead of epsilon.
    mechanism : "laplace" or "gaussian" noise, for numbers. What selects, such as idxmax or median,
        takes "exponential" or "permute_and_flip" where that is what it does. Others are refused.
    fresh : True draws and pays again. Otherwise an equal query of the same version of a source gets
        its stored answer, at no cost.
    """

    delta: Number
    rho: Number
    mechanism: str
    fresh: bool


class TargetErrorOptions(LossOptions, total=False):
    """`LossOptions`, and a target error in place of a loss.

    within : instead of epsilon, the largest error that the answer may have. The smallest loss that
        keeps it follows from public facts, and is charged. For counts of rows and for ranks it can
        be a share of expected_rows, such as "5%".
    confidence : with within, how surely the error holds: 0.95 by default.
    expected_rows : with within, a number of rows known publicly: about how many a mean is taken
        over, about how many a share refers to, or at most how many several quantiles are of.
    """

    within: Number | datetime.timedelta
    confidence: SupportsFloat
    expected_rows: SupportsFloat


class ReleaseOptions(TargetErrorOptions, total=False):
    """All options of a release.

    at_most : with within, the most that the release may cost: an ε, or a ρ in a session that
        counts ρ.
    """

    at_most: Number


class TargetAskOptions(TargetErrorOptions, total=False):
    """`AskOptions` without ``at_most``."""

    epsilon: Number


class AskOptions(ReleaseOptions, total=False):
    """All that a method which asks takes besides its question.

    epsilon : the loss of the answer. Without it, or another way to say it, the question waits.
    """

    epsilon: Number


def with_options_named(function: Callable[P, R]) -> Callable[P, R]:
    """Name the options that a function takes as ``**…`` in its signature.

    ``said`` and ``named`` are set by `release_method`, so they aren't in the public signature.
    """
    kinds, signature = inspect.Parameter, inspect.signature(function)
    given, types = signature.parameters, " ".join(map(str, function.__annotations__.values()))
    known = [*(LossOptions if "LossOptions" in types else ReleaseOptions).__annotations__]
    known[:0] = ["epsilon"] if "AskOptions" in types else []
    named = [
        p
        for n, p in given.items()
        if n not in ("said", "named") and p.kind is not kinds.VAR_KEYWORD
    ]
    if any(p.kind is kinds.VAR_KEYWORD for p in given.values()):
        options = [n for n in known if n not in given]
        named += [kinds(n, kinds.KEYWORD_ONLY, default=None, annotation="object") for n in options]
    function.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
    return function


class Delta(Fraction):
    """An exact δ; small ones print as 1e-06."""

    __slots__ = ()

    def __str__(self) -> str:
        short = f"{float(self):g}"
        return short if Fraction(short) == self else format_exact(self)

    __repr__ = __str__


class Rho(Epsilon):
    """An exact ρ of zero-concentrated differential privacy."""

    __slots__ = ()


NO_EPSILON, NO_DELTA, NO_RHO = Epsilon(0), Delta(0), Rho(0)


def at_most(one: Fraction, other: Fraction) -> bool:
    """one ≤ other. `Fraction` takes longer to find out what kinds of numbers both are than to
    compare them; and most parts of losses are the same 0."""
    if one is other:
        return True
    (a, b), (c, d) = one.as_integer_ratio(), other.as_integer_ratio()
    return a * d <= c * b


def _sum(kind: type[N], one: N, other: N) -> N:
    """The sum of two exact numbers of a kind. `Fraction` would make one of its own kind first."""
    (a, b), (c, d) = one.as_integer_ratio(), other.as_integer_ratio()
    return kind(a * d + b * c, b * d)


@dataclass(frozen=True)
class Loss:
    """The exact cost of a release in the measure of its session: ε, (ε, δ), or ρ and a δ."""

    epsilon: Epsilon = NO_EPSILON
    delta: Delta = NO_DELTA
    rho: Rho = NO_RHO

    def __add__(self, other: Loss) -> Loss:
        # each charge adds losses, most parts of which are 0
        epsilon, delta, rho = self.epsilon, self.delta, self.rho
        if other.epsilon:
            epsilon = _sum(Epsilon, epsilon, other.epsilon) if epsilon else other.epsilon
        if other.delta:
            delta = _sum(Delta, delta, other.delta) if delta else other.delta
        if other.rho:
            rho = _sum(Rho, rho, other.rho) if rho else other.rho
        return Loss(epsilon, delta, rho)

    def __sub__(self, other: Loss) -> Loss:
        epsilon, rho = Epsilon(self.epsilon - other.epsilon), Rho(self.rho - other.rho)
        return Loss(epsilon, Delta(self.delta - other.delta), rho)

    def within(self, limit: Loss) -> bool:
        """Whether none of ε, δ and ρ exceeds that of a limit."""
        return (
            at_most(self.epsilon, limit.epsilon)
            and at_most(self.delta, limit.delta)
            and at_most(self.rho, limit.rho)
        )

    def __str__(self) -> str:
        return self._in_words(str)

    @property
    def in_short(self) -> str:
        """The loss for people, in decimals: "ε ≈ 0.01333"."""
        return self._in_words(in_short)

    def _in_words(self, said: Callable[[Fraction], str]) -> str:
        parts = {"ε": self.epsilon, "ρ": self.rho, "δ": self.delta}
        texts = (f"{name} = {said(part)}" for name, part in parts.items() if part)
        return ", ".join(texts).replace("= ≈", "≈") or "ε = 0"


@lru_cache(maxsize=4096)
def format_exact(value: Fraction) -> str:
    """The shortest decimal of a fraction that has one, else numerator/denominator."""
    n, d = value.numerator, value.denominator
    places = next((k for k in range(d.bit_length()) if 10**k % d == 0), None)
    if places is None:
        return f"{n}/{d}"
    digits = str(abs(n) * 10**places // d).zfill(places + 1)
    whole = len(digits) - places
    return "-" * (n < 0) + digits[:whole] + "." * (places > 0) + digits[whole:]


def literal(value: Fraction) -> str:
    """The code of a number that means just this one: a float's digits, or else a string.

    >>> literal(Epsilon(1, 2)), literal(Epsilon(1, 3))
    ('0.5', "'1/3'")
    """
    exact = str(value)
    is_float = "/" not in exact and Fraction(str(float(exact))) == value
    return exact if is_float else repr(exact)


def in_short(value: Fraction, down: bool = False, digits: int = 6) -> str:
    """A number for people: decimals of up to six digits as they are, others to about four digits.

    With ``down`` it is never rounded up, so what is left of a budget is never overstated.

    >>> in_short(Epsilon(1, 8)), in_short(Epsilon(1, 75)), in_short(Epsilon(74, 75), down=True)
    ('0.125', '≈ 0.01333', '≈ 0.9866')
    """
    exact = str(value)
    mantissa = exact.partition("e")[0].replace(".", "").strip("-0")
    if "/" not in exact and len(mantissa) <= digits:
        return exact
    context = decimal.Context(4, decimal.ROUND_DOWN if down else decimal.ROUND_HALF_EVEN)
    return f"≈ {context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize():f}"


def parse_epsilon(value: object, name: str = "epsilon") -> Epsilon:
    """The exact ε of one release, within [2^-20, 64].

    Numbers are taken as they print (0.1 is one tenth); strings may be decimals ("0.1") or
    fractions ("1/3"). Booleans, NaN, infinities, zero and negative numbers are refused.

    >>> parse_epsilon(0.1) * 3 == parse_epsilon("0.3")
    True
    """
    exact = parse_budget(value, name)
    if not (at_most(SMALLEST, exact) and at_most(exact, LARGEST)):
        raise QueryError(
            f"{name}={quoted(value)} is outside [2^-20, 64]. Below, noise drowns every answer; "
            f"above, nothing is protected. Write {name}=0.1, for example."
        )
    return exact


def parse_budget(value: object, name: str = "epsilon") -> Epsilon:
    """The exact ε of a whole session: any positive number, parsed as `parse_epsilon` does."""
    if value is None:
        raise MissingArgument(f"{name}= is needed. Give a positive number such as {name}=0.1.")
    exact = _parse(value, name)
    if exact.numerator <= 0:
        raise QueryError(f"{name}={quoted(value)} must be greater than 0.")
    return exact


def parse_rho(value: object, name: str = "rho") -> Rho:
    """An exact ρ: any positive number, parsed as `parse_epsilon` does."""
    return Rho(parse_budget(value, name))


def parse_delta(value: object, name: str = "delta") -> Delta:
    """An exact δ above 0 and at most 1 in 100.

    >>> parse_delta(1e-6)
    1e-06
    """
    exact = Delta(parse_budget(value, name))
    if exact > LARGEST_DELTA:
        raise QueryError(
            f"{name}={quoted(value)} is above 0.01: a release may reveal everything with that "
            f"probability. Give much less than one over the number of people, such as {name}=1e-6."
        )
    return exact


@lru_cache(maxsize=1024)
def _printed(value: str) -> Epsilon:
    """The exact number that a float prints."""
    return Epsilon(value)


@lru_cache(maxsize=1024)
def _of_text(text: str) -> Epsilon:
    """The exact number that a text says."""
    return Epsilon(text) if "/" in text else _of_decimal(Decimal(text))


def _of_decimal(value: Decimal) -> Epsilon:
    """An exact ε; ValueError where the exact number would have a thousand digits or more."""
    if not -1000 < value.adjusted() < 1000:
        raise ValueError
    return Epsilon(value)


def _parse(value: object, name: str) -> Epsilon:
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        raise QueryError(f"{name}={quoted(value)} is a truth value. Give {name}=0.1, say.")
    try:
        if isinstance(value, numbers.Rational):
            return Epsilon(int(value.numerator), int(value.denominator))
        if isinstance(value, str):
            text = str.__str__(value).strip()
            return _of_text(text if "/" in text[:100] else text[:100])
        if isinstance(value, Decimal):
            return _of_decimal(value)
        if isinstance(value, numbers.Real):
            if not math.isfinite(value):
                raise QueryError(f"{name}={quoted(value)} must be finite.")
            # As printed, so that 0.1 is one tenth. str, because numpy's repr names the type.
            return _printed(str(value))
    except QueryError:
        raise
    except (ValueError, OverflowError, ZeroDivisionError, InvalidOperation):
        pass
    raise QueryError(
        f"{name}={quoted(value)} can't be read as a number. Give one such as {name}=0.1 or "
        f'{name}="1/3".'
    )
