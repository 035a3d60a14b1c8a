"""One quantile of many cells at once: the same law as one by one, to the last bit."""

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from refusals import refusal
from test_quantiles import em, exactly, law, loss_by_definition, ranks

import dppandas as dp
from dppandas.ledger import canonical
from dppandas.privacy.mechanisms import quantiles
from dppandas.privacy.mechanisms.quantile_cells import Choice
from dppandas.privacy.mechanisms.quantiles import weigh
from dppandas.privacy.mechanisms.ranks import Ranks, RanksByCell
from dppandas.privacy.sampling import samplers
from dppandas.rows.facts.bounds import Bounds, Grid
from dppandas.rows.facts.keys import Keys
from dppandas.statistics.quantiles import numbers

WORDS = npt.NDArray[np.uint64]


class Script:
    """Bits that are known: first these, then zeros."""

    def __init__(self, *words: Sequence[int]) -> None:
        self.left = list(words)

    def words(self, n: int) -> WORDS:
        found = self.left.pop(0) if self.left else [0] * n
        assert len(found) == n
        return np.array(found, dtype=np.uint64)

    def below(self, n: int) -> int:
        return 0


# --- a choice by weights ----------------------------------------------------------------------


def first_beyond(word: int, weights: Sequence[int]) -> set[int]:
    """What the real numbers that begin with a word choose."""
    totals, whole = list(itertools.accumulate(weights)), sum(weights)
    ends = (Fraction(word, 2**64) * whole, Fraction(word + 1, 2**64) * whole)
    least = sum(total <= ends[0] for total in totals)
    return set(range(least, sum(total < ends[1] for total in totals) + 1))


@pytest.mark.parametrize("seed", range(10))
def test_words_choose_what_exact_weights_say(seed: int) -> None:
    """Random weights and words, and words that lie at, before and after each cut of the exact
    weights, where floats are not to decide."""
    rng = random.Random(seed)
    sizes = (rng.randint(1, 12) for _ in range(200))
    groups = [[int(10**30 * math.exp(-rng.uniform(0, 60))) for _ in range(n)] for n in sizes]
    words, asked = [], []
    for weights in groups:
        cut = rng.choice(list(itertools.accumulate(weights)))
        near = (cut << 64) // sum(weights) + rng.choice([-(2**13), -1, 0, 1, 2**13])
        words.append(rng.choice([rng.getrandbits(64), max(0, min(near, 2**64 - 1))]))
    starts = np.cumsum([0, *map(len, groups)])[:-1]
    floats = np.array([float(w) for weights in groups for w in weights])

    def exactly_of(group: int) -> Sequence[int]:
        asked.append(group)
        return groups[group]

    found = samplers.weighted_choices(floats, starts, exactly_of, Script(words)) - starts
    for i, weights in enumerate(groups):
        assert found[i] in first_beyond(words[i], weights)
    assert len(set(asked)) > 20  # near cuts floats didn't decide
    assert len(set(asked)) < 190


def test_more_bits_decide_at_a_cut() -> None:
    """Thirds: the word that holds the first cut, then one before, in and after it."""
    third = 2**64 // 3
    for more, expected in ((0, 0), (third, None), (third + 1, 1), (2**64 - 1, 1)):
        bits = Script([third], [more], [0])
        one = samplers.weighted_choices(np.ones(3), np.array([0]), lambda _: [1, 1, 1], bits)
        found = int(one[0])
        assert found == (0 if expected is None else expected)


def test_errors_of_floats_are_within_what_is_left_to_exact_weights() -> None:
    """Weights that are off by 2^-40 either way, and 2^12 of them: sums stay within the steps."""
    rng = np.random.default_rng(3)
    exact = [int(x) for x in rng.integers(1, 2**40, 4096)]
    wrong = np.array(exact) * (1 + rng.choice([-1, 1], 4096) * 2.0**-40)
    up_to = np.cumsum((wrong / wrong.sum() * 2.0**52).astype(np.uint64)).astype(np.int64)
    whole, total, off = sum(exact), 0, int(samplers._steps_off(np.array([4096]))[0])
    for x, near in zip(exact, up_to.tolist(), strict=True):
        total += x
        assert abs(Fraction(total * 2**52, whole) - near) < off - 1


def test_uniforms_draw_again_what_fills_no_whole() -> None:
    """Beyond the last multiple of k: 2^64 = 1 mod 3, 16 mod 1000 · 2^k and so on."""
    bits = Script([2**64 - 1, 2**64 - 1, 7], [2**64 - 1], [5])
    assert samplers.uniforms(np.array([3, 4, 5]), bits).tolist() == [2, 3, 2]
    limits = np.array([1, 2, 2**31, 10**9 + 7] * 1000)
    found = samplers.uniforms(limits)
    assert ((found >= 0) & (found < limits)).all()
    rest = found.reshape(-1, 4)[:, 3] / (10**9 + 7)
    assert abs(rest.mean() - 0.5) < 0.05  # 5.4 deviations of 0.0091: 1e-7


# --- points -------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [Fraction(0), Fraction(2, 7), Fraction(1, 2), Fraction(1)])
def test_runs_of_all_cells_are_the_exact_mechanism(q: Fraction) -> None:
    """Each point's share of the weights, in tables with ties, at both ends and of nothing."""
    tables = [[], [3], [0, 0, 6], [1, 1, 1, 2, 5, 5], [6] * 9, [0], list(range(7))]
    mechanism = law(Fraction(2), [q], top=6)
    (node,) = mechanism._nodes
    rate, cap = mechanism._rate(node), mechanism._cap(node, 6)
    seen: list[Any] = []

    def watch(counts: Sequence[int], losses: Sequence[int]) -> Sequence[int]:
        seen.append((counts, losses))
        return weigh(rate, counts, losses)

    choice = Choice(q, 6, cap, rate)
    cells = RanksByCell.of([ranks(rows) for rows in tables])
    starts = 2 * cells.edges[:-1] + np.arange(len(cells))
    first, counts = choice._runs(cells, starts)
    losses = choice._losses(cells, starts)
    ends = [*starts[1:].tolist(), len(first)]
    for rows, start, end in zip(tables, starts.tolist(), ends, strict=True):
        told = {}
        for at, count, loss in zip(
            first[start:end], counts[start:end], losses[start:end], strict=True
        ):
            told.update(dict.fromkeys(range(at, at + count), int(loss)))
        expected = [min(cap, int(q.denominator * loss_by_definition(rows, q, c))) for c in range(7)]
        assert [told[c] for c in range(7)] == expected
        exact = weigh(rate, counts[start:end].tolist(), losses[start:end].tolist())
        by_point = em([Fraction(x, q.denominator) for x in expected], rate * q.denominator)
        for at, count, weight in zip(first[start:end], counts[start:end], exact, strict=True):
            near = sum(by_point[at : at + count], start=by_point[0] * 0)
            assert float(near) == pytest.approx(weight / sum(exact), rel=1e-12)


def test_cells_together_choose_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """χ² of 3 tables, of 4,000 cells each, against the exact law of one: at most 8 of freedom,
    above 60 with probability below 1e-9; twice the rate is above 500."""
    tables = [[1, 1, 2, 5], [], [0, 4, 4, 4, 4, 7]]
    mechanism = law(Fraction(1), [Fraction(1, 2)], top=8)
    held = [[[ranks(rows)]] for rows in tables]
    alone = [exactly(monkeypatch, lambda x=x: mechanism.release(x)[0]) for x in held]
    monkeypatch.undo()
    many = quantiles.ExponentialQuantiles((Fraction(1, 2),), (8,), 12_000, mechanism.per_unit)
    found = np.array(many.release([[ranks(rows) for rows in tables] * 4000])).reshape(-1, 3)
    for told, expected in zip(found.T, alone, strict=True):
        drawn = np.bincount(told, minlength=9)
        wanted = {c: 4000 * float(p) for c, p in expected.items()}
        chi2 = sum((drawn[c] - n) ** 2 / n for c, n in wanted.items())
        assert chi2 < 60


def test_losses_beyond_floats_are_chosen_one_by_one() -> None:
    share = Fraction(2**50 + 1, 2**51)
    mechanism = quantiles.ExponentialQuantiles((share,), (100,), 40, Fraction(1, 2**51))
    (node,) = mechanism._nodes
    cells = RanksByCell.of([ranks([5, 6])] * 40)
    assert not Choice(share, 100, mechanism._cap(node, 100), mechanism._rate(node)).fits(cells)
    assert all(0 <= point <= 100 for point in mechanism.release([cells]))


def test_cells_are_ranks_one_after_the_other() -> None:
    tables = [ranks([1, 1, 4]), ranks([]), ranks([7])]
    cells = RanksByCell.of(tables)
    assert len(cells) == 3
    assert list(cells) == tables == cells[0:3]
    assert cells[-1] == tables[2]
    assert cells == tables
    assert RanksByCell.of(cells) is cells
    refusal(lambda: cells[3], error=IndexError)
    assert isinstance(cells[1], Ranks)


def test_columns_and_repeated_shares_are_in_order() -> None:
    """With ε = 60 a choice is wrong by a rank with probability below e^-9 · … of each: none is."""
    df = pd.DataFrame({"g": np.repeat(np.arange(40), 99), "x": np.tile(np.arange(99.0), 40)})
    df["y"] = 1000 - df["x"] - df["g"]
    dp.session(epsilon=200)
    told = df.dp.groupby("g", keys=list(range(40)))[["x", "y"]].quantile(
        [0.5, 0.5], bounds={"x": (0, 128), "y": (0, 1024)}, epsilon=60
    )
    assert told.shape == (80, 2)
    assert (abs(told["x"] - 49) <= 3).all()
    assert (abs(told["y"] - 951 + np.repeat(np.arange(40), 2)) <= 3).all()


# --- numbers and keys -----------------------------------------------------------------------------


@pytest.mark.parametrize("bounds", [(0.1, 0.7), (-3.3, 1e6), (1e15, 1e15 + 4), (0, 1), (-5, -5)])
def test_numbers_of_points_are_rounded_as_fractions_are(bounds: tuple[float, float]) -> None:
    limits = Bounds(*map(float, bounds))
    for grid in (Grid.anchored(limits), Grid(limits.lower, 0.25, 0, 8), Grid(0.125, 0.25, 0, 8)):
        points = np.unique(np.linspace(0, grid.high, 50).astype(np.int64))
        exact = [Fraction(grid.origin) + x * Fraction(grid.step) for x in points.tolist()]
        rounded = [grid.number(*each.as_integer_ratio()) for each in exact]
        expected = [min(max(each, limits.lower), limits.upper) for each in rounded]
        assert numbers(points, grid, limits).tolist() == expected


def test_many_whole_numbers_have_the_text_of_each() -> None:
    numbers = [0, 1, -1, 255, 2**63 - 1, -(2**63), 10**12] * 20
    said = canonical.text(tuple(numbers))
    assert said == "(" + ",".join(canonical.text(x) for x in numbers) + ")"
    for other in (True, 1.0, 2**63, "1", np.int64(3)):
        mixed = (*range(200), other)
        assert canonical.text(mixed) == "(" + ",".join(map(canonical.text, mixed)) + ")"


TEXTS = [str(i) for i in range(200)]


@pytest.mark.parametrize("twice", [
    [*range(200), 5], [*range(200), True], [*range(200), 5.0],
    [*TEXTS, "5"], [*TEXTS, np.str_("5")], [*TEXTS, "a" * (2**20 + 1), "b" * (2**20 + 1)],
], ids=range(6))  # fmt: skip
def test_many_keys_are_checked_as_few_are(twice: list[Any]) -> None:
    """Texts beyond the limit all mean the same: nothing."""
    refusal(lambda: Keys.parse(twice, ["g"]), "one label twice")
    assert Keys.parse(np.arange(200), ["g"]).labels == tuple(range(200))
    found = Keys.parse(np.array(TEXTS), ["g"]).labels
    assert found == tuple(TEXTS)
    assert set(map(type, found)) == {str}
