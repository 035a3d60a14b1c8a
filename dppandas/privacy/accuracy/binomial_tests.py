"""Exact p-values of binomial tests, from noisy counts.

Of n units that were drawn at random X are of a kind, each with chance p under the null hypothesis.
Either both counts, of the kind and of the others, are released, and n is private: then the pivot of
`samples` has a law for each n. Or the one count is, and n is public (proof:
docs/proofs/significance.md).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .margins import sum_width
from .ratios import PAIR, Terms, chances
from .samples import ADDED, MOST, RARE, Pivot, apart, binomial, is_plain, units, usual
from .weighted_tails import ABOVE, Floats, half_width

#: The share of a level for how many units there are; none where noise is nil but for this chance.
OF_UNITS, NIL = 0.02, 1e-13
#: The level that is tried first, and how many are.
LEVEL, LEVELS = 0.05, 8
#: The least p-value that is told, and how small a part of a level is for what is never looked at.
LEAST, CUT = 1e-12, 1e-3


def of_share(
    part: int, rest: int, law: Any, share: float, alternative: str, terms: Terms = PAIR,
    row: int = 1,
) -> float:  # fmt: skip
    """The p-value of a share, given noisy counts of a part and the rest, to which each unit adds
    ``row``: it holds however many units there are.

    For each number n of units there are two p-values: that of the pivot, and that of the noisy
    number of units. The smaller one, as each has its part of the level, is one; and so is the
    largest for all n. Beyond some n the second one is below a level, which then bounds it.
    """
    if alternative == "less":  # the others are more than their share
        part, rest, share, terms = rest, part, 1 - share, Terms(terms.rest, terms.part)
    is_nil = sum_width(law, NIL, sum(terms)) == 0
    aside = 0.0 if is_nil else OF_UNITS
    found, level = 1.0, LEVEL
    for _ in range(LEVELS):
        fewest, most = units(part + rest, law, NIL if is_nil else aside * level, sum(terms), row)
        if not is_plain(law) or most - fewest >= MOST:
            return _by_interval(part, rest, law, share, alternative, terms, row)
        pivot = Pivot(part, rest, (fewest, most), law, terms, None, row, level * CUT)
        extreme = _most(pivot, share, alternative == "two-sided") / (1 - aside)
        found = min(found, max(extreme, LEAST if is_nil else level))
        if extreme >= level or is_nil:
            break
        level = max(extreme, LEAST)
    return min(found, 1.0)


def _most(pivot: Pivot, share: float, is_two_sided: bool) -> float:
    """No less than the probability of a pivot that is as extreme, for all numbers of units."""
    seen = ((1 - share) * pivot.part - share * pivot.rest) / pivot.row
    if is_two_sided:
        found = pivot.both(share, abs(seen)) if seen else 1.0
    else:
        found = pivot.above(share, seen)
    excess = math.exp(sum(points.excess for points in pivot.noises))
    return found * ABOVE * excess + ADDED + 8 * RARE * pivot.risk


def _by_interval(
    part: int, rest: int, law: Any, share: float, alternative: str, terms: Terms, row: int
) -> float:
    """The least level, a power of 2, whose interval by Chernoff's bound excludes the share."""
    found = 1.0
    while found > LEAST:
        fewest, _ = units(part + rest, law, OF_UNITS * found / 2, sum(terms), row)
        if not fewest:
            break
        ends = apart(part, rest, law, found / 2 * (1 - OF_UNITS), terms, fewest, None)
        if not (share < ends[0] or (share > ends[1] and alternative == "two-sided")):
            break
        found /= 2
    return found


def of_count(counted: float, size: int, law: Any, share: float) -> float:
    """P[X + Z ≥ counted] for a binomial X of so many units, or of more than there are."""
    x, weights = _binomial(size, share)
    return min(float(weights @ Beyond(law).at(np.ceil(counted - x))), 1.0)


def of_known_size(counted: float, size: int, law: Any, share: float, alternative: str) -> float:
    """The p-value where so many units are known to be, from the count with a uniform number between
    -1/2 and 1/2 added (Awan and Slavković, NeurIPS 2018): uniform under the null hypothesis."""
    (x, weights), beyond = _binomial(size, share), Beyond(law)
    if alternative != "two-sided":
        greater = float(weights @ beyond.with_uniform(counted - x))
        return min(max(greater if alternative == "greater" else 1 - greater, 0.0), 1.0)
    far = abs(counted - size * share)
    above = float(weights @ beyond.with_uniform(size * share + far - x))
    below = 1 - float(weights @ beyond.with_uniform(size * share - far - x))
    return min(max(above + below, 0.0), 1.0)


def _binomial(size: int, share: float) -> tuple[Any, Floats]:
    """The numbers that a binomial one may be, and their chances."""
    x = usual(size, share, LEAST)
    return x, binomial(x, size, share)


class Beyond:
    """P[Z ≥ z] of a noise, from its table."""

    def __init__(self, law: Any) -> None:
        self._reach = math.ceil(half_width(law, NIL)) + 1
        above = np.cumsum(chances(law, np.arange(-self._reach, self._reach + 1))[::-1])[::-1]
        self._above = np.append(above / above[0], 0.0)

    def at(self, least: Any) -> Floats:
        places = np.clip(least + self._reach, 0, len(self._above) - 1).astype(np.int64)
        found: Floats = self._above[places]
        return found

    def with_uniform(self, least: Any) -> Floats:
        """P[Z + U ≥ t] for a U between -1/2 and 1/2."""
        middle = np.floor(np.asarray(least) + 0.5)
        more = middle + 0.5 - least
        found: Floats = self.at(middle + 1) + (self.at(middle) - self.at(middle + 1)) * more
        return found
