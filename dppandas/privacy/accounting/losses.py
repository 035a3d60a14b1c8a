"""Exact privacy losses.

A loss is a rational number and stays one: ``Fraction(str(0.1)) * 3 == Fraction(str(0.3))``, while
0.1 + 0.1 + 0.1 > 0.3 in floating point. The ledger adds and compares nothing else.
"""

from __future__ import annotations

import decimal
import difflib
import inspect
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import ParamSpec, TypedDict, TypeVar

from ...errors import MissingArgument, QueryError, quoted

P = ParamSpec("P")
R = TypeVar("R")

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
    """What else than ``epsilon=`` may say what a release costs, and how.

    delta : in a session that has a δ: what the release may spend of it.
    rho : in a session that counts ρ, in the place of epsilon.
    mechanism : "laplace" or "gaussian", for the noise of numbers.
    fresh : True draws and pays anew for what was answered before; without it the same query of the
        same version of a source is answered again, at no cost.
    """

    delta: object
    rho: object
    mechanism: object
    fresh: object


class TargetErrorOptions(LossOptions, total=False):
    """The same, and what says it by the error.

    within : in the place of epsilon, the largest error that the answer may have; the least loss
        that keeps it is found from public facts, and charged. Of counts of rows, and of ranks, also
        a share of expected_rows, as "5%".
    confidence : with within, how surely: 0.95 without it.
    expected_rows : with within, about how many rows a mean is taken over, or there are in all, or
        at most how many several quantiles are taken over, from public knowledge.
    """

    within: object
    confidence: object
    expected_rows: object


class ReleaseOptions(TargetErrorOptions, total=False):
    """All that a release takes.

    at_most : with within, the most that it may cost: an ε, or a ρ in a session that counts ρ.
    """

    at_most: object


def with_options_named(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, whose signature names the options that it takes as ``**more``."""
    kinds, signature = inspect.Parameter, inspect.signature(function)
    known = LossOptions if "LossOptions" in str(signature) else ReleaseOptions
    named: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.kind is not kinds.VAR_KEYWORD:
            named.append(parameter)
            continue
        options = [each for each in known.__annotations__ if each not in signature.parameters]
        named += [kinds(n, kinds.KEYWORD_ONLY, default=None, annotation="object") for n in options]
    function.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
    return function


def known_only(more: ReleaseOptions) -> None:
    """Refuse what a release doesn't take: a slip of the pen would be charged, and do nothing."""
    known = ["epsilon", *ReleaseOptions.__annotations__]
    for name in more:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]}=?" if near else ""
            raise QueryError(
                f"got an unexpected keyword argument {name!r}.{hint} A release takes "
                f"{', '.join(known)}; what is asked, such as bounds= and keys=, is said where the "
                "question is put."
            )


def gives_loss(epsilon: object, more: ReleaseOptions) -> bool:
    """Whether a call says what it may cost, and so is to be answered now."""
    known_only(more)
    said = (epsilon, more.get("rho"), more.get("within"))
    return any(each is not None for each in said)


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


@dataclass(frozen=True)
class Loss:
    """What a release costs, exactly, in the measure of its session: ε, (ε, δ), or ρ and a δ."""

    epsilon: Epsilon = NO_EPSILON
    delta: Delta = NO_DELTA
    rho: Rho = NO_RHO

    def __add__(self, other: Loss) -> Loss:
        return Loss(
            Epsilon(self.epsilon + other.epsilon),
            Delta(self.delta + other.delta),
            Rho(self.rho + other.rho),
        )

    def __sub__(self, other: Loss) -> Loss:
        return Loss(
            Epsilon(self.epsilon - other.epsilon),
            Delta(self.delta - other.delta),
            Rho(self.rho - other.rho),
        )

    def within(self, limit: Loss) -> bool:
        """Whether no part of it is more than that of a limit."""
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta and self.rho <= limit.rho

    def __str__(self) -> str:
        parts = (("ε", self.epsilon), ("ρ", self.rho), ("δ", self.delta))
        return ", ".join(f"{name} = {part}" for name, part in parts if part) or "ε = 0"

    @property
    def in_short(self) -> str:
        """The same for people, in decimals: "ε ≈ 0.01333"."""
        exact = (("ε", self.epsilon), ("ρ", self.rho), ("δ", self.delta))
        parts = [(name, in_short(part)) for name, part in exact if part]
        said = (f"{name} {text if text[0] == '≈' else f'= {text}'}" for name, text in parts)
        return ", ".join(said) or "ε = 0"


@lru_cache(maxsize=4096)
def format_exact(value: Fraction) -> str:
    """The shortest decimal of a fraction that has one, else numerator/denominator."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str(abs((value * 10**places).numerator)).zfill(places + 1)
    whole = len(digits) - places
    return "-" * (value < 0) + digits[:whole] + "." * (places > 0) + digits[whole:]


def in_short(value: Fraction, down: bool = False) -> str:
    """For people: a decimal of up to six digits as it is, else about four digits, of what is left
    never more than it is. The exact number stays in the data.

    >>> in_short(Epsilon(1, 8)), in_short(Epsilon(1, 75)), in_short(Epsilon(74, 75), down=True)
    ('0.125', '≈ 0.01333', '≈ 0.9866')
    """
    exact = str(value)
    if "/" not in exact and len(exact.replace(".", "").strip("-0")) <= 6:
        return exact
    rounding = decimal.ROUND_DOWN if down else decimal.ROUND_HALF_EVEN
    context = decimal.Context(4, rounding)
    return f"≈ {context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize():f}"


def parse_epsilon(value: object, name: str = "epsilon") -> Epsilon:
    """The exact ε of one release, within [2^-20, 64].

    Numbers are taken as they print (0.1 is one tenth); strings may be decimals ("0.1") or
    fractions ("1/3"). Booleans, NaN, infinities, zero and negative numbers are refused.

    >>> parse_epsilon(0.1) * 3 == parse_epsilon("0.3")
    True
    """
    exact = _parse_positive(value, name)
    if not SMALLEST <= exact <= LARGEST:
        raise QueryError(
            f"{name}={quoted(value)} is outside [2^-20, 64]. Below, the noise drowns every answer; "
            "above, nothing is protected."
        )
    return exact


def parse_budget(value: object, name: str = "epsilon") -> Epsilon:
    """The exact ε of a whole session: any positive number, parsed as `parse_epsilon` does."""
    return _parse_positive(value, name)


def parse_rho(value: object, name: str = "rho") -> Rho:
    """An exact ρ: any positive number, parsed as `parse_epsilon` does."""
    return Rho(_parse_positive(value, name))


def parse_delta(value: object, name: str = "delta") -> Delta:
    """An exact δ above 0 and at most 1 in 100.

    >>> parse_delta(1e-6)
    1e-06
    """
    exact = Delta(_parse_positive(value, name))
    if exact > LARGEST_DELTA:
        raise QueryError(
            f"{name}={quoted(value)} is above 0.01: with that probability a release could tell all "
            "about somebody. Give much less than one over the number of people, such as "
            f"{name}=1e-6."
        )
    return exact


def _parse_positive(value: object, name: str) -> Epsilon:
    if value is None:
        raise MissingArgument(f"{name}= is needed: a positive number such as {name}=0.1.")
    exact = _parse(value, name)
    if exact <= 0:
        raise QueryError(f"{name}={quoted(value)} must be greater than 0.")
    return exact


def _of_decimal(value: Decimal) -> Epsilon:
    """Exactly; but not with a million digits."""
    if not -1000 < value.adjusted() < 1000:
        raise ValueError
    return Epsilon(value)


def _parse(value: object, name: str) -> Epsilon:
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        raise QueryError(
            f"{name}={quoted(value)} is a truth value; give a number such as {name}=0.1."
        )
    try:
        if isinstance(value, numbers.Rational):
            return Epsilon(int(value.numerator), int(value.denominator))
        if isinstance(value, str):
            text = str.__str__(value).strip()
            return Epsilon(text) if "/" in text[:100] else _of_decimal(Decimal(text[:100]))
        if isinstance(value, Decimal):
            return _of_decimal(value)
        if isinstance(value, numbers.Real):
            if not math.isfinite(value):
                raise QueryError(f"{name}={quoted(value)} must be finite.")
            # As printed, so that 0.1 is one tenth; numpy scalars print their type in their repr.
            return Epsilon(str(value))
    except QueryError:
        raise
    except (ValueError, OverflowError, ZeroDivisionError, InvalidOperation):
        pass
    raise QueryError(
        f"{name}={quoted(value)} can't be read as a number; give one such as {name}=0.1 or "
        f'{name}="1/3".'
    )
