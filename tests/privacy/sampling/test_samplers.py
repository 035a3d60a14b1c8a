"""The samplers draw exactly the law they state, from the operating system's entropy alone.

Most tests here are not statistical: they enumerate what a sampler decides over a scripted source
of bits, or stand on the boundaries where float64 stops being sure.
"""

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import exact
import numpy as np
import pytest

from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.privacy.sampling import inverse_cdf, samplers

TOP = 2**64 - 1


# --- the exact law, by enumeration ----------------------------------------------------------------


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_bernoulli_exp_is_exact(gamma: Fraction) -> None:
    found, undecided = exact.law(lambda bits: samplers.bernoulli_exp(gamma, bits), runs=3000)
    assert undecided < Fraction(1, 10**4)
    exact.assert_brackets(found, undecided, lambda _: exact.exp(gamma), [True])


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3, 2), Fraction(2, 3)])
def test_scalar_discrete_laplace_is_exact(scale: Fraction) -> None:
    """As a black box: what is found of z and the mass undecided bracket the exact P[Z = z]."""
    found, undecided = exact.law(lambda bits: samplers.discrete_laplace(scale, bits), runs=15_000)
    assert undecided < Fraction(1, 3)  # rejections repeat; the next test cuts them off
    exact.assert_brackets(found, undecided, partial(exact.laplace_pmf, scale), range(-12, 13))


class Again(Exception):
    """The sampler rejects, and starts again."""


class OneRound:
    """The bits of one round of discrete_laplace: it begins by choosing below the numerator."""

    def __init__(self, bits: exact.Script, numerator: int) -> None:
        self.choose, self._below, self._numerator, self._began = (
            bits.choose, bits.below, numerator, False,
        )  # fmt: skip

    def below(self, n: int) -> int:
        if n == self._numerator:
            if self._began:
                raise Again
            self._began = True
        return self._below(n)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3, 2), Fraction(3, 4), Fraction(5)])
def test_scalar_discrete_laplace_is_exact_to_300_bits(scale: Fraction, monkeypatch: Any) -> None:
    """With bernoulli_exp, proven above, as one coin; what one round accepts has the exact law."""

    def coin(gamma: Fraction, bits: Any) -> bool:
        return gamma == 0 or bits.choose([exact.exp(gamma), 1 - exact.exp(gamma)]) == 0

    def once(bits: exact.Script) -> int | None:
        try:
            return samplers.discrete_laplace(scale, OneRound(bits, scale.numerator))
        except Again:
            return None

    monkeypatch.setattr(samplers, "bernoulli_exp", coin)
    found, undecided = exact.law(once, runs=300)
    assert undecided < Fraction(1, 10**5)
    accepted = 1 - found.get(None, Fraction(0))
    law_of_accepted = {z: chance / accepted for z, chance in found.items()}
    # rounds end undecided far beyond these
    pmf = partial(exact.laplace_pmf, scale)
    exact.assert_brackets(law_of_accepted, Fraction(0), pmf, range(-12, 13))


def closed_cuts(rate: Fraction, base: int) -> list[exact.Interval]:
    """P[lowest digit < k] = (1 - r^k) / (1 - r^base)."""
    powers = exact.powers(exact.exp_interval(rate), base)[1:]
    *below, whole = [(1 - high, 1 - low) for low, high in powers]
    return [(low / whole[1], high / whole[0]) for low, high in below]


def open_cuts(rate: Fraction, base: int) -> list[exact.Interval]:
    """P[number < k] = 1 - r^k."""
    return [(1 - high, 1 - low) for low, high in exact.powers(exact.exp_interval(rate), base)[1:]]


def sign_cuts(rate: Fraction) -> list[exact.Interval]:
    """P[zero], and P[zero or positive]."""
    low, high = exact.exp_interval(rate)
    return [((1 - high) / (1 + high), (1 - low) / (1 + low)), (1 / (1 + high), 1 / (1 + low))]


def floors(cuts: list[exact.Interval], length: int) -> list[int]:
    """floor(cut 2^length), proven."""
    low, high = ([math.floor(cut[side] * 2**length) for cut in cuts] for side in (0, 1))
    assert low == high
    return low


def digit_cuts(rate: Fraction, base: int, closed: bool) -> tuple[Any, list[exact.Interval]]:
    """Cuts of the package, and what they should be."""
    cuts = closed_cuts if closed else open_cuts
    return inverse_cdf._digit_cuts(rate, base, closed=closed), cuts(rate, base)


CUTS: dict[str, tuple[Any, list[exact.Interval]]] = {
    "sign": (inverse_cdf._sign_cuts(Fraction(1, 3)), sign_cuts(Fraction(1, 3))),
    "closed": digit_cuts(Fraction(1, 2), 3, closed=True),
    "open": digit_cuts(Fraction(5, 4), 4, closed=False),
    # Cuts so close to 1 that several share a word: only longer words tell them apart.
    "crowded": digit_cuts(Fraction(6), 3, closed=False),
}


@pytest.mark.parametrize("bits", [1, 7, 20, 64, 300])
def test_cuts_lie_within_their_intervals(bits: int) -> None:
    """However few bits they are computed with, and hardly wider than that takes."""
    for rate, base in ((Fraction(1, 2**30), 200), (Fraction(1, 3), 20), (Fraction(6), 3)):
        for cuts, true in (
            (inverse_cdf._sign_cuts(rate), sign_cuts(rate)),
            digit_cuts(rate, base, closed=False),
        ):
            assert_around(cuts(bits), true, bits, 4 * base)
    for rate, base in ((Fraction(1, 3), 20), (Fraction(6), 3)):
        cuts, true = digit_cuts(rate, base, closed=True)
        if bits > 7:  # fewer don't tell the divisor from 0
            assert_around(cuts(bits), true, bits, 40 * base)


def assert_around(
    found: list[tuple[int, int]], true: list[exact.Interval], bits: int, width: int
) -> None:
    for (low, high), (least, most) in zip(found, true, strict=True):
        assert low <= least * 2**bits
        assert most * 2**bits <= high
        assert high - low <= width


@pytest.mark.parametrize("word", [4, 5, 6])
@pytest.mark.parametrize(("cuts", "true"), CUTS.values(), ids=CUTS)
def test_inverse_cdf_is_exact_for_small_words(cuts: Any, true: Any, word: int) -> None:
    """All words, and all extensions of the words that don't decide."""
    table = inverse_cdf.InverseCdf(cuts, word)
    found, undecided = exact.law(lambda bits: int(table.draw(1, bits)[0]), runs=900, word=word)
    assert undecided < Fraction(1, 2**12)
    edges = [Fraction(0), *(low for low, _ in true), Fraction(1)]
    exact.assert_brackets(found, undecided, lambda k: edges[k + 1] - edges[k], range(len(true) + 1))


def test_inverse_cdf_leaves_undecided_what_words_cannot_tell() -> None:
    """After d words, exactly one prefix for each different floor is open: none is guessed."""
    table = inverse_cdf.InverseCdf(inverse_cdf._sign_cuts(Fraction(1)), word=4)
    for depth in (1, 2, 3):
        runs = 1 + 16 + sum(2 * 16 for _ in range(depth - 1))  # the start, and what is open
        _, undecided = exact.law(lambda bits: int(table.draw(1, bits)[0]), runs=runs, word=4)
        assert undecided == Fraction(2, 16**depth)


@pytest.mark.parametrize(
    ("scale", "base", "digits"),
    [(Fraction(1), 2, 1), (Fraction(3, 2), 4, 1), (Fraction(2, 3), 3, 0), (Fraction(5), 2, 4)],
)
def test_laplace_tables_are_exact(scale: Any, base: int, digits: int, monkeypatch: Any) -> None:
    """Sign, digits and open-ended top, each drawn with its exact chances: Z is exact."""

    tables = inverse_cdf.LaplaceTables(scale, base)
    assert len(tables._digits) == digits
    chances = {}
    for table in (tables._sign, *tables._digits, tables._top):
        cuts = [0, *inverse_cdf.proven_floors(table._cuts, 400), 2**400]
        chances[table] = [Fraction(b - a, 2**400) for a, b in itertools.pairwise(cuts)]

    def draw(table: inverse_cdf.InverseCdf, n: int, bits: Any) -> Any:
        return np.array([bits.choose(chances[table]) for _ in range(n)])

    monkeypatch.setattr(inverse_cdf.InverseCdf, "draw", draw)
    found, undecided = exact.law(lambda bits: int(tables.draw(1, bits)[0]), runs=800)
    assert undecided < Fraction(1, 10**11)
    # far enough for the top to say "base or more" several times
    exact.assert_brackets(found, undecided, partial(exact.laplace_pmf, scale), range(-25, 26))


def test_laplace_tables_end_to_end_over_all_words() -> None:
    """A coarse bracket, but nothing is replaced: words in, integers out."""
    tables = inverse_cdf.LaplaceTables(Fraction(1), 2, word=4)
    found, undecided = exact.law(lambda bits: int(tables.draw(1, bits)[0]), runs=12_000, word=4)
    assert undecided < Fraction(1, 5)
    exact.assert_brackets(found, undecided, partial(exact.laplace_pmf, Fraction(1)), range(-12, 13))


# --- the tables of production ---------------------------------------------------------------------

SCALES = [
    Fraction(1, 64), Fraction(2, 3), Fraction(1), Fraction(10, 3), Fraction(10**6, 7),
    Fraction(2**50),
]  # fmt: skip


def tables_and_cuts(scale: Fraction) -> list[tuple[inverse_cdf.InverseCdf, list[exact.Interval]]]:
    """Each table of a scale with its exact cuts, digits of rate, rate·base, rate·base², …"""
    tables = inverse_cdf.laplace_tables(scale)
    base, rate = tables._base, 1 / scale
    pairs = [(tables._sign, sign_cuts(rate))]
    for digit in tables._digits:
        pairs.append((digit, closed_cuts(rate, base)))
        rate *= base
    return [*pairs, (tables._top, open_cuts(rate, tables._open))]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_floors_agree_with_fractions(scale: Fraction) -> None:
    """The 64-bit tables against cuts that use neither `decimal` nor floats."""
    for table, cuts in tables_and_cuts(scale):
        assert table.floors.tolist() == floors(cuts, 64)
    # The top is seldom "so much or more", and needs no thousands of bits to tell that from never.
    tables = inverse_cdf.laplace_tables(scale)
    top_rate = tables._base ** len(tables._digits) / scale
    assert 4 <= top_rate * tables._open <= 128


def wanted(cuts: list[exact.Interval], words: list[int]) -> tuple[int, int]:
    """The index that the first words decide, and how many of them that takes."""
    prefix = 0
    for used, word in enumerate(words, 1):
        prefix = prefix << 64 | word
        at = floors(cuts, 64 * used)
        if prefix not in at:
            return bisect_right(at, prefix), used
    raise AssertionError("the words don't decide")


@pytest.mark.parametrize("scale", [Fraction(1, 64), Fraction(10, 3), Fraction(10**6, 7)], ids=str)
def test_words_at_the_floors_decide_right(scale: Fraction) -> None:
    """One below and one above a floor decide; the floor itself draws more, and more again."""
    for table, cuts in tables_and_cuts(scale):
        first, second = floors(cuts, 64), floors(cuts, 128)
        for k in {0, 1, len(cuts) // 2, len(cuts) - 1} & set(range(len(cuts))):
            near = second[k] & TOP
            scripts = [[first[k] + by] for by in (-1, 1) if 0 <= first[k] + by <= TOP]
            scripts += [[first[k], 0], [first[k], TOP], [first[k], max(near - 1, 0)]]
            scripts += [[first[k], min(near + 1, TOP)], [first[k], near, 0], [first[k], near, TOP]]
            for script in scripts:
                bits = exact.Script([*script, 3, 5, 7])
                index, used = wanted(cuts, bits.choices)
                assert (table.draw(1, bits)[0], bits.used) == (index, used)
                assert used > 1 or script[0] != first[k]


@pytest.mark.parametrize("scale", [Fraction(1, 64), Fraction(10, 3), Fraction(10**6, 7)], ids=str)
def test_every_part_of_the_table_decides_as_its_floors_do(scale: Fraction) -> None:
    """The table of leading bits is for speed: its corners say what the exact floors say."""
    for table, cuts in tables_and_cuts(scale):
        at, part = floors(cuts, 64), 2**64 // len(table._guide)
        corners = [word + by for word in range(0, 2**64, part) for by in (0, 1, part - 1)]
        clear = [word for word in corners if word not in at]
        decided = [bisect_right(at, word) for word in clear]
        assert table.draw(len(clear), exact.Script(clear)).tolist() == decided


def test_undecided_words_of_a_vector_keep_their_places() -> None:
    table = inverse_cdf.laplace_tables(Fraction(10, 3))._sign
    low, high = table.floors.tolist()
    # five words, then one for each at a floor
    bits = exact.Script([0, low, TOP, high, low + 1, 0, TOP])
    assert (table.draw(5, bits).tolist(), bits.used) == ([0, 0, 2, 2, 1], 7)


def test_magnitudes_beyond_int64_are_exact() -> None:
    """A top that is "base or more" 200 times: Python's integers take over, nothing wraps."""
    tables = inverse_cdf.LaplaceTables(Fraction(2**50))
    digits, more = len(tables._digits), [TOP, TOP]  # one word does not say "base or more" here
    bits = exact.Script([TOP, *more * 200, 0, *[0] * digits])
    assert tables.draw(1, bits).tolist() == [-(200 * 256 * 256**digits) - 1]


# --- coins of a selection -------------------------------------------------------------------------


def coin(gap: int, rate: Fraction, words: list[int]) -> tuple[bool, int]:
    """What bernoulli_exp_vector says of one gap, and how many words it took to say so."""
    bits = exact.Script(words)
    return bool(samplers.bernoulli_exp_vector([gap], rate, bits)[0]), bits.used


@pytest.mark.parametrize("gamma", [Fraction(1, 10**6), Fraction(1), Fraction(37, 3), Fraction(44)])
def test_coins_are_exact_at_the_edge_of_float_certainty(gamma: Fraction) -> None:
    """Sure far from exp(-gamma), decimals within 2^-40 of it, more bits exactly at its floor."""
    low, high = exact.exp_interval(gamma)
    floor, second = math.floor(low * 2**64), math.floor(low * 2**128) & TOP
    assert math.floor(high * 2**128) & TOP == second
    assert coin(1, gamma, [floor - 1]) == (True, 1)
    assert coin(1, gamma, [floor + 1]) == (False, 1)
    assert coin(1, gamma, [floor, second - 1]) == (True, 2)
    assert coin(1, gamma, [floor, second + 1]) == (False, 2)
    assert coin(1, gamma, [floor, second, 0]) == (True, 3)
    assert coin(1, gamma, [floor, second, TOP]) == (False, 3)
    for k in range(65):  # from one unit to all the way: float decides, or hands over, rightly
        for word, accepted in ((floor - 2**k, True), (floor + 2**k, False)):
            if 0 <= word <= TOP:
                assert coin(1, gamma, [word]) == (accepted, 1)


@pytest.mark.parametrize("word", [0, 1, 2**63, TOP - 1, TOP])
def test_a_gap_of_0_is_always_taken(word: int) -> None:
    assert coin(0, Fraction(1, 3), [word]) == (True, 1)


def test_the_least_and_the_largest_probabilities() -> None:
    # 1 - exp(-2^-90) is below 2^-64: only the last word is open
    assert coin(1, Fraction(1, 2**90), [TOP - 1]) == (True, 1)
    assert coin(1, Fraction(1, 2**90), [TOP, 5]) == (True, 2)
    assert coin(1, Fraction(1, 2**90), [TOP, TOP]) == (False, 2)
    # float64 underflows to 0, the coin does not: exp(-800) is about 2^-1154.2
    assert coin(800, Fraction(1), [1]) == (False, 1)
    assert coin(800, Fraction(1), [0] * 17 + [1]) == (False, 18)
    assert coin(800, Fraction(1), [0] * 30) == (True, 19)
    # subnormal floats
    assert coin(740, Fraction(1), [1]) == (False, 1)
    assert coin(740, Fraction(1), [0] * 30) == (True, 17)
    # gaps as large as sums get, and no endless computation
    assert coin(10**18, Fraction(1), [1]) == (False, 1)
    assert coin(10**18, Fraction(1), [0, 0, 1]) == (False, 3)
    assert coin(10**30, Fraction(64), [0, TOP]) == (False, 2)


def test_permute_and_flip_has_its_exact_law() -> None:
    """Over all coins and orders. Numbers: theory.md B0; the exponential mechanism's differ."""
    law = exact.selection_law([3, 2, 0], Fraction(1))
    assert law == pytest.approx([0.02377, 0.06654, 0.90968], abs=1e-5)
    # all tied: every candidate alike
    assert exact.selection_law([0, 0, 0, 0], Fraction(3)) == pytest.approx([0.25] * 4, abs=1e-12)


def test_weighted_choice_is_exact() -> None:
    for weights in ([1], [3, 0, 2], [0, 0, 7], [1, 2, 3, 4], [0, 1, 0]):
        found, undecided = exact.law(partial(samplers.weighted_choice, weights), runs=100)
        assert undecided == 0
        total = sum(weights)
        assert found == {i: Fraction(w, total) for i, w in enumerate(weights) if w}


# --- statistics: that the pieces are put together right in production -----------------------------


def mean_z(draws: Any, scale: Fraction) -> float:
    """How many standard errors the mean of |Z| lies from that of a scale."""
    a = math.exp(-1 / scale)
    mean = 2 * a / (1 - a * a)
    variance = 2 * a / (1 - a) ** 2 - mean * mean
    return float((np.abs(draws).mean() - mean) / math.sqrt(variance / len(draws)))


SAMPLERS: dict[str, Callable[[Fraction, int], Any]] = {
    "scalar": lambda scale, n: np.array([samplers.discrete_laplace(scale) for _ in range(n)]),
    "vector": samplers.discrete_laplace_vector,
}


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_noise_has_the_scale_it_states(sampler: str) -> None:
    """|z| ≤ 5: false alarms 6e-7. A scale 5 % off is 11 standard errors away: missed in 1e-9."""
    draw, n = SAMPLERS[sampler], 60_000
    assert abs(mean_z(draw(Fraction(10), n), Fraction(10))) <= 5
    assert mean_z(draw(Fraction(21, 2), n), Fraction(10)) > 5


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", [Fraction(3, 2), Fraction(400)], ids=str)
def test_noise_has_the_shape_it_states(sampler: str, scale: Fraction) -> None:
    """χ² over equally likely cells, and over single values: false alarms 1e-7 each.

    A zero twice as likely, or a sign in 40 lost, fails with certainty for practical purposes.
    """
    stats = pytest.importorskip("scipy.stats")
    n, a = 40_000, math.exp(-1 / scale)
    draws = SAMPLERS[sampler](scale, n)
    reach = math.ceil(scale * 4)
    edges = np.unique(np.linspace(-reach, reach, 25).round()).astype(int)

    def below(z: int) -> float:  # P[Z < z]
        return a ** (1 - z) / (1 + a) if z <= 0 else 1 - a**z / (1 + a)

    cdf = np.array([0, *(below(z) for z in edges.tolist()), 1])
    cells = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=len(edges) + 1)
    assert n * np.diff(cdf).min() > 25
    assert stats.chisquare(cells, n * np.diff(cdf)).pvalue > 1e-7


@pytest.mark.nightly
@pytest.mark.statistical
def test_noise_agrees_with_opendp() -> None:
    """Two samples, |z| ≤ 5 and χ² at 4e-7: false alarms 1e-6. A scale 5 % off: missed in 3e-4."""
    stats = pytest.importorskip("scipy.stats")
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    n, scale = 60_000, Fraction(10)
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=n), dp.l1_distance(T="i64")
    laplace = dp.m.make_laplace(*space, scale=float(scale))
    theirs = np.array(laplace([0] * n))
    ours = samplers.discrete_laplace_vector(scale, n)
    spread = math.sqrt((np.abs(ours).var() + np.abs(theirs).var()) / n)
    assert abs(np.abs(ours).mean() - np.abs(theirs).mean()) <= 5 * spread
    table = [np.bincount(np.clip(x, -40, 40) + 40, minlength=81) for x in (ours, theirs)]
    assert stats.chi2_contingency(table).pvalue > 4e-7
    # and its privacy map states our loss, rounded up
    for sensitivity in (1, 2, 7):
        loss = float(DiscreteLaplace(scale).loss(sensitivity))
        assert loss <= laplace.map(sensitivity) <= loss * (1 + 1e-9)


@pytest.mark.deep
@pytest.mark.statistical
def test_selection_has_the_law_it_states() -> None:
    """χ², false alarms 1e-7. The exponential mechanism's law is told apart with certainty."""
    stats = pytest.importorskip("scipy.stats")
    n, gaps = 20_000, [3, 2, 0]
    chosen = [samplers.permute_and_flip(gaps, Fraction(1)) for _ in range(n)]
    cells = np.bincount(chosen, minlength=3)
    expected = np.array(exact.selection_law(gaps, Fraction(1)))
    assert stats.chisquare(cells, n * expected / expected.sum()).pvalue > 1e-7
    exponential = np.exp(-np.array(gaps, dtype=float))
    assert stats.chisquare(cells, n * exponential / exponential.sum()).pvalue < 1e-7
