"""Exact samplers.

Two samplers draw the same law, P[Z = z] = (1-a)/(1+a) a^|z| with a = exp(-1/scale):

* `discrete_laplace` for a handful of values: Canonne, Kamath and Steinke, "The Discrete Gaussian
  for Differential Privacy" (NeurIPS 2020), Algorithms 1 and 2. Integers only.
* `discrete_laplace_vector` for many: the base-256 digits of a geometric variable are independent,
  so that each is one look-up of 64 random bits in a table of its inverse distribution function
  (`inverse_cdf`).

The discrete Gaussian, P[Z = z] ∝ exp(-z²/(2σ²)), comes from discrete Laplace proposals that exact
coins accept or reject (their Algorithm 3): one by one, or for a vector at once.

Nothing is approximate, and no seed reaches these modules: all bits come from `entropy`. Tests pass
another source of bits to enumerate the outcomes.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ..accounting.enclosures import Interval, contexts, exp_interval
from .entropy import SYSTEM, WORD, Bits, Integers, Pool
from .inverse_cdf import InverseCdf, around_one, laplace_tables, proven_floors

#: Above this scale an int64 could overflow; the scalar sampler has no such limit.
LARGEST_VECTOR_SCALE = 2**50
#: Below this σ² all but 0 is next to impossible, and 1/σ² could overflow a float.
SMALLEST_VECTOR_SIGMA2 = Fraction(1, 2**20)
#: From this length on, tables are faster (measured; a new one takes about .2 ms a digit).
VECTOR_FROM = 20
#: How many words a scalar takes on average, and hardly ever more for several.
LAPLACE_WORDS, GAUSSIAN_WORDS = 12, 24


# --- a handful of values ------------------------------------------------------------------------


def bernoulli_exp(gamma: Fraction, bits: Bits = SYSTEM) -> bool:
    """True with probability exp(-gamma), exactly, for a rational gamma ≥ 0 (CKS, Algorithm 1)."""
    n, d = gamma.numerator, gamma.denominator
    while n > d:
        if not _bernoulli_exp_unit(1, 1, bits):
            return False
        n -= d
    return _bernoulli_exp_unit(n, d, bits)


def _bernoulli_exp_unit(n: int, d: int, bits: Bits) -> bool:
    k = 1
    while bits.below(d * k) < n:
        k += 1
    return k % 2 == 1


def discrete_laplace(scale: Fraction, bits: Bits = SYSTEM) -> int:
    """One exact discrete Laplace variable of rational scale (CKS, Algorithm 2)."""
    t, s = scale.numerator, scale.denominator
    one = Fraction(1)
    while True:
        u = bits.below(t)
        if not bernoulli_exp(Fraction(u, t), bits):
            continue
        v = 0
        while bernoulli_exp(one, bits):
            v += 1
        magnitude = (u + t * v) // s
        negative = bits.below(2) == 1
        if negative and magnitude == 0:
            continue  # else zero would come up twice as often
        return -magnitude if negative else magnitude


def discrete_laplace_vector(scale: Fraction, n: int) -> npt.NDArray[Any]:
    """n independent exact discrete Laplace variables; int64 unless values can be too large.

    >>> len(discrete_laplace_vector(Fraction(10), 1000))
    1000
    """
    if n >= VECTOR_FROM and Fraction(1, 64) <= scale <= LARGEST_VECTOR_SCALE:
        tables = laplace_tables(scale)
        return tables.draw(n, Pool(tables.words(n)))
    bits = Pool(LAPLACE_WORDS * n)
    values = [discrete_laplace(scale, bits) for _ in range(n)]
    return np.array(values, dtype=np.int64 if scale <= LARGEST_VECTOR_SCALE else object)


# --- the discrete Gaussian ------------------------------------------------------------------------


def _proposal_scale(sigma2: Fraction) -> int:
    """floor(σ) + 1, the scale of the discrete Laplace proposals."""
    return math.isqrt(math.floor(sigma2)) + 1


def _proposals(missing: int) -> int:
    """How many to draw at once: nearly always enough."""
    return missing + missing // 2 + 16


def _excess(z: int, sigma2: Fraction, scale: int) -> Fraction:
    """g, for a proposal z that is accepted with probability exp(-g): (|z| - σ²/t)²/(2σ²)."""
    return (abs(z) - sigma2 / scale) ** 2 / (2 * sigma2)


def discrete_gaussian(sigma2: Fraction, bits: Bits = SYSTEM) -> int:
    """One exact discrete Gaussian variable, P[Z = z] ∝ exp(-z²/(2σ²)) (CKS, Algorithm 3)."""
    t = _proposal_scale(sigma2)
    while True:
        z = discrete_laplace(Fraction(t), bits)
        if bernoulli_exp(_excess(z, sigma2, t), bits):
            return z


def discrete_gaussian_vector(sigma2: Fraction, n: int) -> npt.NDArray[Any]:
    """n independent exact discrete Gaussian variables; int64 unless values can be too large.

    The proposals are independent, and each has its own coin: so the first n accepted ones are
    independent and have the right law. About three in four are accepted, fewer only for σ below 1.

    >>> len(discrete_gaussian_vector(Fraction(10), 1000))
    1000
    """
    t = _proposal_scale(sigma2)
    if n < VECTOR_FROM or sigma2 < SMALLEST_VECTOR_SIGMA2 or t > LARGEST_VECTOR_SCALE:
        bits = Pool(GAUSSIAN_WORDS * n)
        values = [discrete_gaussian(sigma2, bits) for _ in range(n)]
        return np.array(values, dtype=np.int64 if t <= LARGEST_VECTOR_SCALE else object)
    tables, kept, missing = laplace_tables(Fraction(t)), [], n
    bits = Pool(tables.words(_proposals(n)) + _proposals(n))
    while missing:
        proposals = tables.draw(_proposals(missing), bits)
        kept.append(proposals[_kept(proposals, sigma2, t, bits)][:missing])
        missing -= len(kept[-1])
    return np.concatenate(kept)


def _kept(
    proposals: npt.NDArray[Any], sigma2: Fraction, scale: int, bits: Bits
) -> npt.NDArray[np.bool_]:
    """For each proposal z, True with probability exp(-g), g = (|z| - c)² h, exactly.

    Float64 decides where it is sure. With c = σ²/t, h = 1/(2σ²) and s = |z| + c, the floats of
    |z|, c, h and of each operation are off by a factor within 1 ± 2^-53. So |z| - c is off by less
    than 2^-51 s, and g by less than 2^-49 s² h: s in place of |z| - c pays for the cancellation.
    Where 2^-46 (s² h + 1) is below 2^-10, exp(-g) and its float are within a factor 1 ± that of
    each other. Elsewhere, and within that margin, decimals decide.
    """
    x, c, h = np.abs(proposals).astype(np.float64), float(sigma2 / scale), float(1 / (2 * sigma2))
    with np.errstate(all="ignore"):
        room = 2.0**-46 * ((x + c) ** 2 * h + 1)
        room[~(room < 2.0**-10)] = np.inf
        p = np.exp(-((x - c) ** 2 * h))
        words = bits.words(len(x))
        accept, reject = _sure(words, p, room)
    for i in np.flatnonzero(~(accept | reject)).tolist():
        accept[i] = _below_exp(int(words[i]), _excess(int(proposals[i]), sigma2, scale), bits)
    return accept


def _sure(
    words: npt.NDArray[np.uint64], p: npt.NDArray[np.float64], room: npt.NDArray[np.float64] | float
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which reals with these first bits are certainly below p (1 ± room), and which above.

    A p that underflows is less than 2^-1000, and so below all reals whose first bits aren't all 0.
    """
    u = words.astype(np.float64) * 2.0**-64
    accept = u + 2.0**-64 <= p * (1 - room)
    reject = (u >= p * (1 + room)) & ((p > 0) | (words > 0))
    return accept, reject


# --- selections ---------------------------------------------------------------------------------


def bernoulli_exp_vector(
    gaps: Sequence[int] | npt.NDArray[Any], rate: Fraction, bits: Bits = SYSTEM
) -> npt.NDArray[np.bool_]:
    """For each integer gap ≥ 0, True with probability exp(-gap · rate), exactly.

    Float64 decides where it is sure: exp and its argument are within a factor 1 ± 2^-40 for
    exponents up to 745, beyond which the probability is below 2^-1074. The rest, about one in
    2^38, is decided by decimals.
    """
    x = np.asarray(gaps, dtype=np.float64)
    with np.errstate(all="ignore"):
        p = np.exp(-(x * float(rate)))
    words = bits.words(len(x))
    accept, reject = _sure(words, p, 2.0**-40)
    for i in np.flatnonzero(~(accept | reject)).tolist():
        accept[i] = _below_exp(int(words[i]), int(gaps[i]) * rate, bits)
    return np.asarray(accept)


def _below_exp(prefix: int, gamma: Fraction, bits: Bits) -> bool:
    """Whether a uniform real lies below exp(-gamma), given its first 64 bits."""
    if gamma == 0:
        return True
    length = WORD
    while True:
        floor = 0
        if gamma < length:  # else exp(-gamma) < 2^-gamma, whose floor is 0
            (floor,) = proven_floors(around_one(lambda digits: exp_interval(gamma, digits)), length)
        if prefix != floor:
            return prefix < floor
        prefix = prefix << WORD | int(bits.words(1)[0])
        length += WORD


def coins(
    around: Callable[[int], Interval], n: int, bits: Bits = SYSTEM, word: int = WORD
) -> npt.NDArray[np.bool_]:
    """n independent coins, each True with probability p, exactly; 0 < p < 1 is given as in
    `bernoulli_of`.

    >>> half = Decimal("0.5"), Decimal("0.5")
    >>> len(coins(lambda digits: half, 1000))
    1000
    """
    draws = InverseCdf(around_one(around), word).draw(n, bits)
    return np.asarray(draws == 0)


def uniform_vector(k: int, n: int, bits: Bits = SYSTEM, word: int = WORD) -> Integers:
    """n independent uniform integers of 0, …, k-1."""
    return uniforms(np.full(n, k), bits, word)


def uniforms(limits: Integers, bits: Bits = SYSTEM, word: int = WORD) -> Integers:
    """A uniform integer of 0, …, k-1 for each limit k from 1 to 2^62.

    The last words, too few to make all remainders equally likely, are drawn again.

    >>> uniforms(np.array([1, 1])).tolist()
    [0, 0]
    """
    k = limits.astype(np.uint64)
    last = np.uint64(2**word - 1)
    beyond = (last % k + np.uint64(1)) % k  # 2^word mod k: so many words are too many
    words = bits.words(len(k)).copy()
    again = np.flatnonzero(words > last - beyond)
    while again.size:
        words[again] = bits.words(again.size)
        again = again[words[again] > last - beyond[again]]
    return (words % k).astype(np.int64)


def permute_and_flip(
    gaps: Sequence[int] | npt.NDArray[Any], rate: Fraction, bits: Bits = SYSTEM
) -> int:
    """The index that permute-and-flip selects (McKenna and Sheldon, NeurIPS 2020, Algorithm 1).

    In random order, candidate i is accepted with probability exp(-gap[i] · rate), and the first
    accepted one wins; at least one gap is 0. The coins don't depend on the order. So all can be
    flipped at once, and the winner is a uniform choice among the accepted.
    """
    taken = np.flatnonzero(bernoulli_exp_vector(gaps, rate, bits))
    return int(taken[bits.below(len(taken))])


def uniform(n: int) -> int:
    """A uniform integer of 0, …, n-1."""
    return SYSTEM.below(n)


def signed_share(bits: Bits = SYSTEM) -> tuple[int, float]:
    """A random sign, and the float nearest to a uniform choice among 2^200 points of (0, 1)."""
    sign = 1 if bits.below(2) else -1
    return sign, (2 * bits.below(2**200) + 1) / 2**201


def weighted_choice(weights: Sequence[int], bits: Bits = SYSTEM) -> int:
    """An index with probability weight / total, exactly; at least one weight is above 0.

    >>> weighted_choice([0, 5, 0])
    1
    """
    totals = list(itertools.accumulate(weights))
    return bisect_right(totals, bits.below(totals[-1]))


def weighted_choices(
    weights: npt.NDArray[np.float64],
    starts: Integers,
    exactly: Callable[[int], Sequence[int]],
    bits: Bits = SYSTEM,
) -> Integers:
    """One place in each group of weights, chosen with probability proportional to its exact weight.
    Groups begin at ``starts``.

    ``exactly(group)`` returns the exact weights of a group, as whole numbers. The floats are
    proportional to these up to a factor within 1 ± 2^-40. A uniform real U in [0, 1) decides: the
    first weight is chosen at which the cumulative share exceeds U. Shares are cut to 2^-52 steps.
    The sum of k weights is off by a factor within 1 ± k 2^-53, so a share is off by one within
    1 ± (2^-39 + (k+2) 2^-52), and a sum of shares by 2^13 + 2k + 3 steps, as each is cut by less
    than one. Where U is nearer than `_steps_off` to such a sum, its first bits don't decide: then
    the exact weights and more bits do.
    """
    sizes = np.diff(starts, append=len(weights))
    totals = np.repeat(np.add.reduceat(weights, starts), sizes)
    steps = (weights / totals * 2.0**52).astype(np.uint64)
    running = np.cumsum(steps)  # modulo 2^64, which cancels in differences
    up_to = (running - np.repeat(running[starts] - steps[starts], sizes)).astype(np.int64)
    words = bits.words(len(starts))
    place = np.repeat((words >> np.uint64(WORD - 52)).astype(np.int64), sizes)
    off = np.repeat(_steps_off(sizes), sizes)
    least = np.add.reduceat(up_to + off <= place, starts, dtype=np.int64)
    most = np.add.reduceat(up_to - off <= place, starts, dtype=np.int64)
    for group in np.flatnonzero(least != most).tolist():
        least[group] = _choice_from(int(words[group]), exactly(group), bits)
    return starts + least


def _steps_off(sizes: Integers) -> Integers:
    """How many steps of 2^-52 a sum of shares may be off, with one for the bits not drawn."""
    return 2**13 + 2 * sizes + 8


def _choice_from(prefix: int, weights: Sequence[int], bits: Bits) -> int:
    """The index that a uniform real chooses, given its first 64 bits."""
    totals = list(itertools.accumulate(weights))
    whole, length = totals[-1], WORD
    while True:
        first = bisect_right(totals, prefix * whole >> length)
        last = bisect_left(totals, -(-(prefix + 1) * whole >> length))
        if first == last:
            return first
        prefix = prefix << WORD | int(bits.words(1)[0])
        length += WORD


def bernoulli_of(around: Callable[[int], Interval], bits: Bits = SYSTEM, word: int = WORD) -> bool:
    """True with probability p, exactly. ``around(digits)`` returns an interval that holds p, the
    narrower the more digits it may use.

    A uniform real number lies below p or not. Its leading bits decide unless both are possible
    within the interval: then more bits and more digits do.
    """
    prefix, length = 0, 0
    while True:
        prefix = prefix << word | int(bits.words(1)[0])
        length += word
        digits = length // 3 + 30
        down, up = contexts(digits)
        low, high = around(digits)
        unit = Decimal(2**length)
        if prefix + 1 <= down.multiply(low, unit):
            return True
        if prefix >= up.multiply(high, unit):
            return False
