"""Priors of public candidates: how likely each is before rows have a say."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ..errors import QueryError, quoted
from ..privacy.mechanisms.selection import MOST_UNEVEN
from ..release.wording import Later
from ..rows.facts.keys import SOURCE_ATTR
from ..rows.facts.steps import MOST_DIGITS


def parse(prior: object, candidates: Sequence[Any]) -> list[Fraction]:
    """The weight of each candidate, exactly as it prints; none without a prior."""
    if prior is None:
        return []
    if isinstance(prior, pd.Series) and SOURCE_ATTR not in prior.attrs:
        prior = dict(zip(prior.index.tolist(), prior.tolist(), strict=True))
    if isinstance(prior, Mapping):
        if {*prior} != {*candidates}:
            missing = [quoted(each) for each in candidates if each not in prior]
            surplus = [quoted(each) for each in prior if each not in {*candidates}]
            odd = f"{missing[0]} is missing" if missing else f"{surplus[0]} is no candidate"
            raise QueryError(f"prior= must name each candidate, and no other: {odd}.")
        prior = [prior[each] for each in candidates]
    if not isinstance(prior, list | tuple | np.ndarray) or len(prior) != len(candidates):
        raise QueryError(
            f"prior= must be a list of {len(candidates)} positive numbers, one for each candidate, "
            f"or a dict by candidate, not {quoted(prior)}."
        )
    found = [_number(each) for each in prior]
    if max(found) > MOST_UNEVEN * min(found):
        raise QueryError(
            "prior= may not be more than 10^20 times as large for one candidate as for another. "
            "Leave out what is less likely."
        )
    return found


def _number(value: object) -> Fraction:
    """A positive number, exactly as it prints."""
    is_number = isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool | np.bool_)
    try:
        found = Fraction(str(value)) if is_number else Fraction(0)
    except (ValueError, ZeroDivisionError):  # it isn't finite
        found = Fraction(0)
    if found <= 0 or max(found.as_integer_ratio()) > MOST_DIGITS:
        raise QueryError(f"prior= must be of positive numbers, such as 1 or 0.5: {quoted(value)}.")
    return found


def whole(weights: Sequence[Fraction]) -> tuple[int, ...]:
    """The least whole numbers in the same proportions."""
    common = math.lcm(*(each.denominator for each in weights))
    found = [int(each * common) for each in weights]
    shared = math.gcd(*found)
    return tuple(each // shared for each in found)


def options(weights: Sequence[Fraction]) -> list[tuple[str, Any]]:
    """What a question says of them."""
    return [("prior", Later(_in_words, weights))] if weights else []


def _in_words(weights: Sequence[Fraction]) -> str:
    """Weights as shares of their sum."""
    total = sum(weights)
    return ", ".join(f"{float(each / total):.3g}" for each in weights)
