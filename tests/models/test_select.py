"""Choices by a caller's score: what it sees, what is refused, and the law at any spread."""

import itertools
import math
import pickle
import warnings
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from effort import calls
from exact import selection_law
from refusals import refusal

import dppandas as dp
from dppandas.privacy.mechanisms.selection import PermuteAndFlip
from dppandas.privacy.sampling import samplers
from dppandas.statistics.scores import MOST, Scorer

FRAME = pd.DataFrame({"age": [20, 30, 30, 40, 50], "kind": list("abbca")})


def above(rows: pd.DataFrame, age: int) -> int:
    return int((rows["age"] > age).sum())


def balance(rows: pd.DataFrame, age: int) -> int:
    return -abs(above(rows, age) - int((rows["age"] < age).sum()))


def test_without_noise_it_is_the_best_candidate(exact: None) -> None:
    found = dp.select(FRAME, [10, 30, 60], score=balance, sensitivity=1, epsilon=1)
    assert found == 30
    assert isinstance(found, int)
    assert found.error() == PermuteAndFlip(Fraction(1, 2)).utility_gap(0.95, 3)
    (entry,) = dp.ledger()._entries()
    scored = "by the caller's score (sensitivity 1 a row as stated)"
    assert str(entry.what) == f"choice of 3 candidates {scored}"
    assert entry.lineage == "asserted, caller-scored"
    assert dp.record(found).lineage == entry.lineage
    assert entry.scale == "2"


def test_a_monotone_score_is_twice_as_sharp(exact: None) -> None:
    dp.select(FRAME, [10, 30], score=above, sensitivity=3, monotone=True, epsilon=1)
    assert dp.ledger()._entries()[-1].scale == "3"
    assert "monotone, sensitivity 3" in str(dp.ledger()._entries()[-1].what)


@pytest.mark.parametrize("candidates", [["a", "b"], [("a", 1), ("b", 2)], [0.5, 2], range(2)])
def test_candidates_come_back_as_they_are(candidates: Any, exact: None) -> None:
    last = list(candidates)[-1]
    is_last = lambda rows, candidate: int(candidate == last)  # noqa: E731
    found = dp.select(FRAME, candidates, score=is_last, sensitivity=1, epsilon=1)
    assert found == last
    assert isinstance(found, type(last))
    assert dp.record(found).query.startswith("choice of 2 candidates")


def test_the_score_sees_the_rows_that_count_and_its_own_copy(exact: None) -> None:
    seen: list[pd.DataFrame] = []

    def score(rows: pd.DataFrame, candidate: Any) -> int:
        seen.append(rows.copy())
        rows["age"] = 0
        return 1

    def shown(private: Any) -> pd.DataFrame:
        seen.clear()
        dp.select(private, ["x"], score=score, sensitivity=1, epsilon=1)
        assert len(seen[0]) == 0  # tried on no rows first
        return seen[1]

    whole, before = dp.private(FRAME, unit="row"), FRAME.copy()
    pd.testing.assert_frame_equal(shown(whole), FRAME)
    pd.testing.assert_frame_equal(shown(whole.query("age > 25")), FRAME[FRAME["age"] > 25])
    pd.testing.assert_frame_equal(shown(whole[["kind", "age"]]), FRAME[["kind", "age"]])
    pd.testing.assert_frame_equal(FRAME, before)
    assert sorted(shown(dp.private(FRAME, unit="kind", max_rows=1))["kind"]) == ["a", "b", "c"]
    large = pd.DataFrame({"age": -np.arange(10**6)})
    assert dp.select(large, [-(10**6), -3], score=above, sensitivity=1, epsilon=1) == -(10**6)
    assert dp.select(FRAME[:0], [1], score=balance, sensitivity=1, epsilon=1) == 1


PRIVATE = dp.private(FRAME.copy(), unit="row")
BROKEN: dict[str, dict[str, Any]] = {
    "no frame": {"frame": [1]}, "no candidates": {"candidates": []}, "text": {"candidates": "abc"},
    "twice": {"candidates": [1, 1]}, "lists": {"candidates": [[1]]},
    "no function": {"score": "age"}, "sensitivity 0": {"sensitivity": 0},
    "sensitivity 0.5": {"sensitivity": 0.5},
    "sensitivity True": {"sensitivity": True}, "monotone": {"monotone": 1},
    "float scores": {"score": lambda rows, candidate: float(len(rows))},
    "missing scores": {"score": lambda rows, candidate: rows["age"].mean()},
    "computed columns": {"frame": PRIVATE.assign(old="age > 30")},
    "renamed columns": {"frame": PRIVATE.rename(columns={"age": "years"})},
    "epsilon 0": {"epsilon": 0},
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_arguments_are_refused_before_anything_is_charged(name: str) -> None:
    said = {"frame": FRAME, "candidates": [1], "score": above, "sensitivity": 1} | BROKEN[name]
    refusal(lambda: dp.select(said.pop("frame"), said.pop("candidates"), **said))


def test_a_record_can_be_pickled_and_leaves_the_function_behind() -> None:
    hidden = FRAME.copy()

    def score(rows: pd.DataFrame, candidate: Any) -> int:
        return len(hidden)

    found = dp.select(FRAME, ["x", "y"], score=score, sensitivity=1, epsilon=1)
    text = pickle.dumps(found)
    assert b"hidden" not in text
    assert b"DataFrame" not in text
    again = pickle.loads(text)
    assert again == found
    assert again.error() == found.error()
    refusal(lambda: Scorer(None)(FRAME, 1))


def test_scores_beyond_all_reason_count_as_the_bound() -> None:
    huge = Scorer(lambda rows, candidate: candidate)
    assert huge(FRAME, 10**400) == MOST
    assert huge(FRAME, -(10**400)) == -MOST
    assert huge(FRAME, np.int64(3)) == 3
    ends = [-(10**400), 10**400]
    found = dp.select(FRAME, ends, score=lambda rows, c: c, sensitivity=2**64, epsilon=1)
    assert found == 10**400  # e^(-2^190) against


# --- the law, and its speed -----------------------------------------------------------------------


@pytest.mark.parametrize("monotone", [False, True])
def test_the_law_of_a_choice_is_private_on_all_neighbours_of_a_tiny_domain(monotone: bool) -> None:
    """Rows of three values, up to four of them: every pair that differs by a row, every candidate,
    the exact law; the largest log-ratio is at most ε, and not far below."""
    epsilon, score = Fraction(1), above if monotone else balance
    mechanism = PermuteAndFlip.calibrate(1, epsilon, monotone)
    worst = 0.0
    for size in range(4):
        for ages in itertools.combinations_with_replacement((20, 30, 40), size):
            for more in (20, 30, 40):
                laws = []
                for rows in (list(ages), [*ages, more]):
                    scores = [score(pd.DataFrame({"age": rows}), c) for c in (15, 25, 35)]
                    gaps = tuple(max(scores) - s for s in scores)
                    laws.append(selection_law(gaps, mechanism.rate))
                worst = max(worst, *[abs(math.log(p / q)) for p, q in zip(*laws, strict=True)])
    assert 0.5 * float(epsilon) <= worst <= float(epsilon) * (1 + 1e-9)


def exact_law(gaps: list[int], rate: Fraction) -> list[float]:
    """P[i] = p_i E[1/(1 + Σ_{j≠i} B_j)], with the law of a sum of coins by convolution."""
    heads = [math.exp(-gap * rate) for gap in gaps]
    law = []
    for i, p in enumerate(heads):
        others = np.array([1.0])
        for j, q in enumerate(heads):
            if j != i:
                others = np.convolve(others, [1 - q, q])
        law.append(p * float((others / np.arange(1, len(others) + 1)).sum()))
    return law


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10)])
def test_large_spreads_have_the_exact_law(epsilon: Fraction) -> None:
    """20,000 selections among 40 candidates at gaps up to 10^15: Pearson's χ² of outcomes expected
    20 times or more, against its 1 - 1e-7 quantile by Wilson and Hilferty. Power: a rate that is
    20 % off gives χ² four times that."""
    gaps = [0, 0, 1, 2, 3, 5, 8, 13, 21, 34, *(10**k for k in range(2, 16)), *range(50, 66)]
    mechanism = PermuteAndFlip.calibrate(1, epsilon, monotone=True)
    law = np.array(exact_law(gaps, mechanism.rate))
    assert law.sum() == pytest.approx(1, abs=1e-9)
    scores = [-gap for gap in gaps]
    runs = 20_000
    seen = np.bincount([mechanism.release(scores)[0] for _ in range(runs)], minlength=len(gaps))
    rare = law * runs < 20
    told = (seen, law * runs)
    observed, expected = (np.append(x[~rare][:-1], x[~rare][-1] + x[rare].sum()) for x in told)
    chi2, free = float(((observed - expected) ** 2 / expected).sum()), len(observed) - 1
    limit = free * (1 - 2 / (9 * free) + 5.2 * math.sqrt(2 / (9 * free))) ** 3
    assert chi2 < limit


@pytest.mark.parametrize("spread", [1, 30, 1000, 10**6, 10**15, 10**30])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10)])
def test_ten_thousand_candidates_are_no_loop(spread: int, epsilon: Fraction) -> None:
    """Some 70 calls, a few more where chance wants more bits."""
    scores = [spread * i // 10_000 for i in range(10_000)]
    mechanism = PermuteAndFlip.calibrate(1, epsilon, monotone=True)
    assert calls(lambda: mechanism.release(scores)) < 1000


@pytest.mark.parametrize("epsilon", [1, "0.1"])
def test_the_most_popular_of_ten_thousand_names(epsilon: Any) -> None:
    """At ε = 0.1 another than the first is taken with probability below 10^4·e^-100."""
    names = [f"name {i}" for i in range(10_000)]
    series = pd.Series(np.repeat(np.array(names[:2001], dtype=object), [3] * 2000 + [1003]))
    assert series.rename("name").dp.value_counts(keys=names).idxmax(epsilon=epsilon) == "name 2000"


def test_coins_of_any_gap_are_decided() -> None:
    for gap in (0, 1, 744, 746, 2**53 + 1, 2**63, 2**200):
        coins = samplers.bernoulli_exp_vector([0, gap], Fraction(1, 3))
        assert coins[0]
        assert not coins[1] or gap <= 1000


def test_what_a_score_warns_of_is_not_seen() -> None:
    def score(rows: pd.DataFrame, candidate: int) -> int:
        if not len(rows):  # tried without any, which tells nothing
            return 0
        warnings.warn(f"{len(rows)} rows", stacklevel=2)
        return int(np.log(rows["x"].to_numpy(float)).clip(0, 1).sum())

    df = pd.DataFrame({"x": [3.0] * 20 + [0.0]})
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        dp.select(df, [1, 2], score=score, sensitivity=1, epsilon=1)
    assert seen == []


def test_categories_that_pandas_cannot_hash_do_not_fail_between_chunks(exact: None) -> None:
    """pandas' concat of chunks hashes all categories, and can't where one of some is a tuple; so
    one row would have decided whether there is an answer."""
    for others in ([1], [1, (1, 2)], [(1, 2), 1]):
        private = pd.DataFrame({"x": pd.Categorical([*others, "a", "b", "b"]), "y": 0.5}).dp
        private._table.engine.block = 2
        found = dp.select(
            private, ["a", "b"], sensitivity=1, epsilon=1,
            score=lambda rows, which: sum(x == which for x in rows["x"])
            + 0 * len(np.sqrt(rows.y.to_numpy()[:1])),  # of numbers, or it would raise
        )  # fmt: skip
        assert found == "b"


def test_the_ledger_names_a_function_and_quotes_nothing_that_it_holds() -> None:
    def score(rows: pd.DataFrame, candidate: int, held: pd.DataFrame) -> int:
        return candidate

    dp.session(epsilon=1)
    df = pd.DataFrame({"name": ["canary"] * 9})
    dp.select(df, [1, 2], score=partial(score, held=df), sensitivity=1, epsilon=1)
    (entry,) = dp.ledger()._entries()
    assert "canary" not in entry.what.whole
    assert "by partial; candidates 1, 2" in entry.what.whole
