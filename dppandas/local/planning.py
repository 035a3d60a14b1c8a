"""How many respondents an error takes, by the law of their responses."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left

from ..errors import QueryError, hide_internals, quoted
from ..privacy.accounting.losses import parse_budget
from ..release.accuracy.expected import CONFIDENCE, parse_confidence
from . import designs
from .designs import Rate
from .tails import at_least, at_most

#: The most respondents that are looked for.
MOST = 2**31
#: Numbers above this are rounded up, by less than its inverse.
FINEST = 2**14
#: The shares of all answers at which the law is evaluated: between them it hardly differs.
SHARES = tuple(i / 16 for i in range(17))


@hide_internals
def respondents(
    *,
    within: object = None,
    confidence: float = CONFIDENCE,
    epsilon: object = None,
    keys: object = None,
    design: object = None,
    share: float | None = None,
) -> int:
    """How many respondents an error takes: so many that the estimated share of each key is within
    ``within`` of the true one, of all keys together, with this confidence.

    within : the largest error of a share, between 0 and 1: 0.02 are two percentage points.
    epsilon, keys, design : how they respond, as in `randomized_response`.
    share : the share of respondents whose answer is the key, from public knowledge; by default
        the one that takes most.

    The probability of a larger error is computed from the law of the responses, a sum of two
    binomial variables, at 17 shares from 0 to 1 unless one is given. Counts are taken as one nearer
    than they are, so that rounding to whole numbers doesn't matter. Chebyshev's inequality, as in
    lecture 004, asks for six times as many.

    `Responses.mean` and `.value_counts` then say how far they may be off: their ``.error()``, by
    the exact interval, is about ``within``. Errors are those of the randomisation alone, not that
    respondents may be a sample of others.

    Raises `QueryError` if more than 2^31 respondents are needed.

    *Guarantee*: none needed: no answer is read (docs/proofs/randomized_response.md).

    >>> respondents(within=0.02, epsilon=1)
    9075
    """
    asked = designs.of(design, epsilon, keys)
    most, confidence = parse_budget(within, "within"), parse_confidence(confidence)
    if most >= 1:
        raise QueryError(
            f"within={quoted(within)} must be the error of a share, between 0 and 1. For that of a "
            "count divide by the number of respondents."
        )
    if share is not None and (
        isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1
    ):
        raise QueryError(f"share={quoted(share)} must be a number from 0 to 1.")
    shares = SHARES if share is None else (float(share),)
    rates = set(asked.rates)
    risk = (1 - confidence) / asked.events

    def is_enough(n: int) -> bool:
        return all(_risk(n, rate, float(most), f) <= risk for rate in rates for f in shares)

    normal = statistics.NormalDist().inv_cdf(1 - risk / 2) ** 2
    near = normal * asked.variance(1, share) / float(most) ** 2  # as if errors were normal
    low, high = 0, max(1, math.ceil(near))
    while high <= MOST and not is_enough(high):
        low, high = high, high + high // 16 + 1
    if high > MOST:
        raise QueryError(
            f"within={quoted(within)} takes more than {MOST:,} respondents, about {near:.2g}. "
            "Allow a larger error, or give more epsilon."
        )
    less = high - high // 8
    low = max(low, less if not is_enough(less) else 0)
    tried = range(low + 1, high, 1 + high // FINEST)
    found = bisect_left(tried, True, key=is_enough)
    return tried[found] if found < len(tried) else high


def _risk(n: int, rate: Rate, within: float, share: float) -> float:
    """The probability of an error above a limit, or more: that the number C of yeses is at most
    one nearer to its mean than n·(p-q)·within, for whole numbers of answers around n·share."""
    found = 0.0
    for m in {math.floor(n * share), math.ceil(n * share)}:
        mean, far = n * rate.q + m * rate.gain, n * rate.gain * within
        least, most = math.floor(mean + far), math.ceil(mean - far)
        above = at_least(n, m, least, rate) if least <= n else 0.0
        found = max(found, above + (at_most(n, m, most, rate) if most >= 0 else 0.0))
    return found
