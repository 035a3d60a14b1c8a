"""Releases of one query joined, and more of them bought: laws, coverage, refusals, replays."""

import itertools
import math
import pickle
import subprocess
import sys
import textwrap
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from exact import laplace_pmf
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import anew
from refusals import refusal
from sizes import size, third
from waiting import LIMIT

import dppandas as dp
from dppandas.errors import QueryError, RecordError, SourceError
from dppandas.privacy.accounting import conversions, gaussian
from dppandas.privacy.accuracy import combined
from dppandas.privacy.accuracy.combined import CombinedNoise
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace

# --- the law --------------------------------------------------------------------------------------

SCALES = [Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(4)]
LAWS: list[Any] = [
    *map(DiscreteLaplace, SCALES), *(DiscreteGaussian(Fraction(s)) for s in ("0.1", "1", "5", "20"))
]  # fmt: skip


def pmf(law: Any) -> dict[int, float]:
    """All of a law but 1e-18, from its definition."""
    if isinstance(law, DiscreteLaplace):
        reach = math.ceil(45 * law.scale) + 3
        return {z: float(laplace_pmf(law.scale, z)) for z in range(-reach, reach + 1)}
    reach = math.ceil(10 * math.sqrt(law.sigma2)) + 3
    found = {z: math.exp(-z * z / (2 * float(law.sigma2))) for z in range(-reach, reach + 1)}
    total = math.fsum(found.values())
    return {z: p / total for z, p in found.items()}


def joined_law(law: CombinedNoise) -> Counter[Fraction]:
    """The law of ΣwZ by enumeration."""
    total = sum(law.weights)
    found: Any = {0: 1.0}
    for part, weight in zip(law.laws, law.weights, strict=True):
        if weight:
            found = summed(found, {weight * z: p for z, p in pmf(part).items()})
    return Counter({Fraction(x, total): p for x, p in found.items()})


def summed(one: Any, other: Any) -> Counter[Any]:
    """The law of a sum of two that are independent."""
    found: Counter[Any] = Counter()
    for (x, p), (y, q) in itertools.product(one.items(), other.items()):
        found[x + y] += p * q
    return found


def covered(law: CombinedNoise, w: float | Fraction) -> float:
    """P[what is joined lies within ±w of 0]; with a half, rounded the worse way."""
    known = joined_law(law).items()
    if law.whole:
        return math.fsum(p for x, p in known if abs(x) < w + Fraction(1, 2))
    return math.fsum(p for x, p in known if abs(x) <= w)


@pytest.mark.nightly
@settings(max_examples=size(quick=30, deep=100))
@given(
    st.lists(st.sampled_from(LAWS), min_size=2, max_size=2), st.booleans(),
    st.sampled_from([0.5, 0.8, 0.95, 0.999]), st.sampled_from([1, 7]),
)  # fmt: skip
def test_half_widths_are_the_least(laws: Any, whole: bool, confidence: float, entries: int) -> None:
    law = CombinedNoise.of(laws, whole, entries)
    w = law.half_width(confidence, entries)
    each = confidence ** (1 / entries)
    assert covered(law, w) >= each - 1e-12
    # One noise is moved up by less than a step, so what lies that near an edge may count as beyond.
    step = math.sqrt(law.variance) * (8 - math.log(1 - each)) / combined.FINE
    step += Fraction(1, sum(law.weights))
    assert w == 0 or covered(law, w - 1 - step) < each + 1e-5


@pytest.mark.nightly
@pytest.mark.parametrize("whole", [True, False])
def test_half_widths_of_many_are_nearly_the_least(whole: bool) -> None:
    """Each but one is moved up to a lattice: by less than 1 % of their spread here."""
    laws = [DiscreteLaplace(Fraction(s)) for s in (2, 3, 3, 4)]
    law = CombinedNoise(tuple(laws), (4, 2, 2, 1), whole)
    for confidence in (0.6, 0.95, 0.9999):
        w = law.half_width(confidence)
        assert covered(law, w) >= confidence
        assert covered(law, w - 1) < confidence


@given(st.sampled_from(LAWS), st.lists(st.integers(-400, 400), min_size=1))
def test_tails_are_bounded_from_above_and_closely(law: Any, firsts: list[int]) -> None:
    known = pmf(law)
    for first, found in zip(firsts, combined.tails(law, firsts).tolist(), strict=True):
        truth = math.fsum(p for z, p in known.items() if z >= first)
        assert truth - 1e-15 <= found <= truth * (1 + 3e-9) + 1e-15


@pytest.mark.parametrize("sigma2", [Fraction(10**6) + 1, Fraction(10**9), Fraction(2**61, 3)])
def test_tails_of_wide_gaussians_are_bounded_by_integrals(sigma2: Fraction) -> None:
    law, sigma = DiscreteGaussian(sigma2), math.sqrt(sigma2)
    firsts = [round(x * sigma) for x in (-6, -2, -0.5, 0, 0.001, 1, 3, 6)]
    for first, found in zip(firsts, combined.tails(law, firsts).tolist(), strict=True):
        truth = gaussian.discrete_gaussian_tail(sigma2, first, conversions.LARGE_DIGITS)
        most = float(truth.low) * (1 + 10 / sigma) + 1e-8
        assert float(truth.high) * (1 - 1e-14) <= found <= most


WIDE = [DiscreteLaplace(Fraction(s)) for s in (10, 5, 10**6, 2**30 * 7)]
WIDE += [DiscreteGaussian(Fraction(s)) for s in (200, 10**13, 2**65)]  # type: ignore[misc]


@pytest.mark.deep
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("entries", [1, 1000])
def test_no_half_width_exceeds_that_of_the_surest_release(entries: int, whole: bool) -> None:
    for laws in [*itertools.combinations_with_replacement(LAWS, 2), *itertools.pairwise(WIDE)]:
        surest = min(law.half_width(0.95, entries) for law in laws)
        assert CombinedNoise.of(laws, whole, entries).half_width(0.95, entries) <= surest


def test_more_releases_of_one_loss_are_surer() -> None:
    laws = [DiscreteLaplace(Fraction(1000))] * 12
    wide = [CombinedNoise.of(laws[:k], True, 1).half_width(0.95) for k in range(2, 13)]
    assert wide == sorted(wide, reverse=True)
    assert wide[2] <= 0.53 * laws[0].half_width(0.95)
    assert wide[-1] <= 1.03 * 1.96 * math.sqrt(2 / 12) * 1000  # by then nearly normal


def test_a_release_that_says_nothing_beside_another_weighs_nothing() -> None:
    law = CombinedNoise.of([DiscreteLaplace(Fraction(s)) for s in (1, 10**4)], True, 1)
    assert law.weights == (1, 0)
    assert law.half_width(0.9, 5) == law.laws[0].half_width(0.9, 5)
    assert law.join([[3, 4], [999, -999]]) == (3, 4)


def test_integers_without_noise_stay_as_they_are() -> None:
    law = CombinedNoise.of([DiscreteLaplace(Fraction(0))] * 2, True, 1)
    assert law.half_width(0.95) == law.half_width_of_sum(0.05, 9) == law.variance == 0
    assert law.join([[5], [5]]) == (5,)


def test_sums_of_joined_noises_are_bounded() -> None:
    laws = [DiscreteLaplace(Fraction(2)), DiscreteGaussian(Fraction(5))]
    for whole in (False, True):
        law = CombinedNoise(tuple(laws), (1, 2), whole)
        one: Counter[Any] = Counter()
        for x, p in joined_law(law).items():
            rounded = Fraction(math.copysign(math.floor(abs(x) + Fraction(1, 2)), x))
            one[rounded if whole else x] += p  # type: ignore[assignment]
        known = {x: p for x, p in one.items() if p > 1e-9}
        three = summed(summed(known, known), known)
        for risk in (0.2, 0.01):
            w = law.half_width_of_sum(risk, 3)
            assert math.fsum(p for x, p in three.items() if abs(x) > w) <= risk
            assert w < 3 * law.half_width(1 - risk / 3) + 3
    # sums of rounded numbers: each may be a half off, and all of them the same way
    rounds, plain = (CombinedNoise(tuple(laws), (1, 2), whole) for whole in (True, False))
    assert rounds.half_width_of_sum(0.05, 7) == plain.half_width_of_sum(0.05, 7) + 3
    sure = CombinedNoise((laws[1], laws[1]), (1, 1), whole=False)  # type: ignore[arg-type]
    assert sure.half_width_of_sum(0.05, 100) <= 1.4 * 1.96 * math.sqrt(100 * 2.5)


# --- draws ----------------------------------------------------------------------------------------

DRAWS = 100_000
PAIR = [DiscreteLaplace(Fraction(10)), DiscreteGaussian(Fraction(100))]


def draws() -> Any:
    law = CombinedNoise.of(PAIR, False, 1)
    return law, np.array(law.join([part.release([0] * DRAWS) for part in PAIR]), dtype=np.float64)


def test_the_variance_of_joined_draws_is_that_of_theory() -> None:
    """σ₁²σ₂²/(σ₁²+σ₂²) for variances 199.8 and 100. A z-test of the mean square at 5 standard
    errors: false alarms 6e-7. Its standard error is about 0.6 %, so that equal weights, 12 % more
    variance, fail it with a probability above 1 - 1e-9."""
    law, found = draws()
    v = 2 / (4 * math.sinh(1 / 20) ** 2), 100.0
    theory = v[0] * v[1] / (v[0] + v[1])
    assert law.variance == pytest.approx(theory, rel=1e-6)
    squares = found**2
    error = squares.std() / math.sqrt(DRAWS)
    assert abs(squares.mean() - theory) < 5 * error
    assert abs(squares.mean() - (v[0] + v[1]) / 4) > 5 * error


def test_joined_draws_lie_within_half_widths_as_often_as_stated() -> None:
    """Of each confidence c, at least c - 5√(c(1-c)/N): false alarms 3e-7 each. A half-width 5 %
    narrower covers at least 0.9 % less at 0.9, which 0.5 % of slack doesn't hide."""
    law, found = draws()
    for confidence in (0.5, 0.9, 0.99):
        slack = 5 * math.sqrt(confidence * (1 - confidence) / DRAWS)
        assert np.mean(np.abs(found) <= law.half_width(confidence)) >= confidence - slack
    assert np.mean(np.abs(found) <= 0.95 * law.half_width(0.9)) < 0.9


def test_answers_joined_by_the_whole_road_have_the_variance_of_theory() -> None:
    """20,000 empty cells, at ε = 0.1 and 0.2: 5 standard errors, false alarms 6e-7; the surer
    release alone has 25 % more variance, 16 standard errors away."""
    dp.session(epsilon=10)
    p = dp.protect(pd.DataFrame({"k": [-1]}), name="cells")
    counts = p["k"].value_counts(keys=range(20_000), sort=False)
    both = dp.combine(counts.release(epsilon=0.1), counts.release(epsilon=0.2))
    squares = both.to_numpy().astype(float) ** 2
    v = [1 / (2 * math.sinh(e / 2) ** 2) for e in (0.1, 0.2)]
    theory = v[0] * v[1] / sum(v) + 1 / 12  # rounded to whole numbers
    assert abs(squares.mean() - theory) < 5 * squares.std() / math.sqrt(len(squares))
    assert (both.to_numpy() == np.round(both.to_numpy())).all()
    assert both.dtype == np.int64


# --- answers --------------------------------------------------------------------------------------


def noisy(result: Any) -> list[Any]:
    return list((result if isinstance(result, dp.types.Record) else dp.record(result))._noisy)


def test_noisy_integers_are_averaged_by_inverse_variance() -> None:
    p = ops.people()
    one, other = p.count(epsilon=0.1), p.count(epsilon=0.3)
    both = dp.combine(one, other)
    v = [1 / (2 * math.sinh(e / 2) ** 2) for e in (0.1, 0.3)]
    mean = (one / v[0] + other / v[1]) / (1 / v[0] + 1 / v[1])
    assert abs(both - mean) <= 0.5 + 1e-3 * (abs(one) + abs(other))
    assert type(both) is type(one)
    assert both.error() <= other.error()
    assert both.interval() == (max(0, both - both.error()), max(0, both + both.error()))
    assert ops.spent() == Fraction(4, 10)  # by the two releases
    assert dp.combine(other, one) == both
    record = dp.record(both)
    assert (record.epsilon, record.mechanism) == (Fraction(4, 10), "2 releases combined")
    assert [part.number for part in record.components] == [1, 2]
    assert "2 releases combined" in str(record)
    assert "interval" in record._repr_html_()


def test_what_was_combined_is_combined_with_more() -> None:
    p = ops.people()
    draws = [p["a"].mean(epsilon=e, fresh=True) for e in (0.5, 0.5, 1)]
    step = dp.combine(dp.combine(draws[0], draws[1]), draws[2])
    assert step == dp.combine(*draws)
    assert noisy(step) == noisy(dp.combine(*map(dp.record, draws)))
    assert [part.number for part in dp.record(step).components] == [1, 2, 3]
    assert dp.record(step).mechanism == "3 releases combined"


def test_shares_and_counts_are_of_the_same_integers() -> None:
    p = ops.people()
    shares = p["g"].value_counts(normalize=True, epsilon=0.5)
    counts = p["g"].value_counts(epsilon=1)
    assert dp.combine(shares, counts).sum() == pytest.approx(1, abs=1e-6)
    assert dp.combine(counts, shares).dtype == np.int64


def test_laplace_and_gaussian_noise_are_joined() -> None:
    dp.session(epsilon=10, delta=1e-5)
    p = ops.people()
    one = p["a"].mean(epsilon=1)
    both = dp.combine(one, p["a"].mean(epsilon=1, delta=1e-6, mechanism="gaussian"))
    assert dp.record(both).loss.delta == Fraction(1, 10**6)
    assert all(isinstance(x, Fraction) for x in noisy(both))
    low, high = both.interval()
    assert low <= both <= high


#: What adds no noise to numbers, besides selections and unknown keys.
NO_NOISE = {*ops.SELECTIONS, *ops.UNKNOWN, *ops.NOT_COMBINED} - {"nlargest counts"}


@pytest.mark.filterwarnings("ignore:.* is a quantile", "ignore:the smallest or largest")
@pytest.mark.sized
@pytest.mark.parametrize(
    "name", third([*ops.OPERATIONS, *ops.OF_UNITS, *ops.SELECTIONS, *ops.UNKNOWN], 1)
)
def test_every_operation_is_combined_or_refused(name: str) -> None:
    dp.session(epsilon=100, delta=0.01)
    private = dp.protect(ops.schema(), name="all", unit="owner", max_rows=2)
    one, other = ops.released(name, private, 1), ops.released(name, private, 2)
    before = ops.spent()
    if name in NO_NOISE:
        refusal(lambda: dp.combine(one, other), r"selected labels|is not noise added")
        refusal(lambda: dp.record(one).refine(epsilon=1), r"selected labels|is not noise added")
    else:
        both = dp.combine(one, other)
        assert type(both) is type(one)
        record, single = dp.record(both), dp.record(other)
        if isinstance(one, pd.Series | pd.DataFrame):
            assert sorted(map(str, both.index)) == sorted(map(str, dp.record(one).estimate().index))
            assert np.all(both.dtypes == one.dtypes)
        values = record._statistic.estimate(record._noisy)
        for value, (low, high) in zip(values, record._intervals(0.95), strict=True):
            assert low <= value <= high or value < 0  # a count may be, and its interval isn't
        record.errors(), record.intervals(0.5), str(record), record._repr_html_()
        size = record._statistic.size
        assert record._law.half_width(0.95, size) <= single._law.half_width(0.95, size)
    assert ops.spent() == before


@pytest.mark.parametrize("name", [*ops.OPERATIONS, *ops.OF_UNITS])
def test_without_noise_nothing_is_changed_by_combining(name: str, exact: None) -> None:
    if name in ops.NOT_COMBINED:
        return
    dp.session(epsilon=100)
    private = dp.protect(ops.schema(), name="all", unit="owner", max_rows=2)
    one, other = ops.released(name, private, 1), ops.released(name, private, 2)
    both = dp.combine(one, other)
    assert noisy(both) == noisy(one) == noisy(other)
    if isinstance(one, pd.Series | pd.DataFrame):
        assert both.equals(one)
    elif isinstance(both, dp.types.BlockTestResult):
        assert both.statistic == one.statistic
    else:
        assert both == one


def test_released_tables_that_were_combined_are_made_consistent() -> None:
    p = ops.people()
    counts = p["g"].value_counts()
    both = dp.combine(counts.release(epsilon=0.5), counts.release(epsilon=1))
    assert (dp.make_consistent(both) >= 0).all()


# --- refusals -------------------------------------------------------------------------------------


def refused(match: str, *answers: Any, kind: Any = QueryError) -> None:
    before, entries = ops.spent(), dp.ledger()._count()
    refusal(lambda: dp.combine(*answers), match, kind)
    assert (ops.spent(), dp.ledger()._count()) == (before, entries)


def test_one_release_counts_once() -> None:
    p = ops.people()
    one, again = p.count(epsilon=1), p.count(epsilon=1)
    other = p.count(epsilon=1, fresh=True)
    refused("release 1, 'count', is given twice", one, one)
    refused("given twice", one, again)  # a replay
    both = dp.combine(one, other)
    refused("given twice", both, one)
    refused("given twice", both, pickle.loads(pickle.dumps(other)))
    refused("two or more", one)
    refused("two or more")
    refused("no release record", one, other + 0, kind=RecordError)


def test_other_queries_are_refused() -> None:
    p = ops.people()
    count = p.count(epsilon=1)
    refused("not the same query", count, p["a"].count(epsilon=1))
    refused("of different rows", count, p.query("a > 3").count(epsilon=1))
    refused("not the same query", p["a"].sum(epsilon=1), p["a"].sum(bounds=(0, 9), epsilon=1))
    other = dp.protect(ops.letters(8), name="others")
    refused("about source 'people', and 'count' about 'others'", count, other.count(epsilon=1))
    refused("selected labels", *(p["g"].value_counts().idxmax(epsilon=e) for e in (1, 2)))
    refused("answered by exponential", *(p["a"].median(epsilon=e) for e in (1, 2)))


def test_what_nobody_can_know_to_be_the_same_is_refused() -> None:
    df = ops.letters()
    refused("lineage of 'count' is asserted", *(df.dp.count(epsilon=e) for e in (1, 2)))
    n = df.dp.count(epsilon=1)
    refusal(lambda: n.refine(epsilon=1), "asserted")
    assert dp.ledger()._count() == 3


def test_of_two_sources_no_lineage_is_at_fault() -> None:
    df = ops.letters()
    own = dp.protect(df, "own").count(epsilon=1)
    part = dp.protect(df.head(3), "part").count(epsilon=1)  # made by pandas: asserted
    refused("'count' is about source 'own', and 'count' about 'part': other data", own, part)


def test_other_versions_and_ledgers_are_refused(tmp_path: Path) -> None:
    dp.session(epsilon=10, store=tmp_path / "a.ledger")
    one = ops.people(version="1").count(epsilon=1)
    anew(store=tmp_path / "a.ledger")
    refused("version '1' and of version '2'", one, ops.people(version="2").count(epsilon=1))
    with pytest.raises(SourceError, match=r"holds version '2'.*release of version '1'"):
        one.refine(epsilon=1)
    anew(epsilon=10)
    refused("in two ledgers", one, ops.people(version="1").count(epsilon=2))
    refusal(lambda: one.refine(epsilon=1), "in another ledger", SourceError)
    assert ops.spent() == 2


def test_sessions_in_memory_have_ledgers_of_their_own() -> None:
    answers = []
    for _ in range(2):
        dp.session(epsilon=10)
        answers.append(ops.people().count(epsilon=1))
        dp.reset()
    refused("in two ledgers", *answers)


# --- more of it -----------------------------------------------------------------------------------


def test_refining_buys_the_next_draw_and_replays_it_when_run_again() -> None:
    p = ops.people()
    n = p["a"].mean(epsilon=0.25)
    surer = n.refine(epsilon=0.5)
    surest = surer.refine(epsilon=0.5)
    assert (ops.spent(), ops.statuses()) == (Fraction(5, 4), ["released"] * 3)
    assert [part.draw for part in dp.record(surest).components] == [1, 1, 2]
    # again: the same cells, and the same call on the same result
    assert n.refine(epsilon=0.5) == surer
    again = p["a"].mean(epsilon=0.25).refine(epsilon=0.5).refine(epsilon=0.5)
    assert (again, dp.record(again).intervals()) == (surest, dp.record(surest).intervals())
    assert ops.spent() == Fraction(5, 4)
    # at the loss of the first, the draw after it
    assert [part.draw for part in dp.record(n.refine(epsilon=0.25)).components] == [1, 2]
    assert ops.spent() == Fraction(3, 2)


def test_refining_takes_an_equal_release_that_is_there_already() -> None:
    p = ops.people()
    one, other = p.count(epsilon=0.5), p.count(epsilon=1)
    assert one.refine(epsilon=1) == dp.combine(one, other)
    assert ops.spent() == Fraction(3, 2)
    fresh = one.refine(epsilon=1, fresh=True)
    assert ops.spent() == Fraction(5, 2)
    assert [part.number for part in dp.record(fresh).components] == [1, 3]


def test_tables_and_records_are_refined_by_the_function() -> None:
    p = ops.people()
    counts = p["g"].value_counts(epsilon=0.5)
    surer = dp.record(counts).refine(epsilon=1)
    assert surer.equals(dp.record(counts).refine(epsilon=1))
    assert dp.record(surer.head(2)).refine(epsilon=1).equals(dp.record(surer).refine(epsilon=1))
    assert ops.spent() == Fraction(5, 2)


def test_refining_is_charged_as_any_release() -> None:
    dp.session(epsilon=1)
    n = ops.people().count(epsilon=0.5)
    for bad, match in ((0, "epsilon"), (None, "epsilon"), (float("nan"), "epsilon")):
        with pytest.raises(dp.DPError, match=match):
            n.refine(epsilon=bad)
    refusal(lambda: n.refine(epsilon=0.6), r"asks for ε = 0.6; 0.5 of 1 is left", dp.BudgetExceeded)
    refusal(lambda: n.refine(epsilon=0.1, mechanism="gaussian"), "Gaussian noise is not private")
    assert ops.spent() == Fraction(1, 2)
    n.refine(epsilon=0.5)
    assert ops.spent() == 1


def test_refining_counts_rho_and_delta() -> None:
    dp.session(rho=1, delta=1e-6)
    n = ops.people().count(rho=0.125)
    surer = n.refine(rho=0.25)
    assert (ops.spent(), dp.record(surer).loss.rho) == (Fraction(3, 8), Fraction(3, 8))
    assert surer.refine(epsilon=0.5).error() <= surer.error() < n.error()


def test_a_notebook_run_again_after_a_restart_replays_all(tmp_path: Path) -> None:
    answers, pickles = [], []
    for _ in range(2):
        dp.session(epsilon=10, store=tmp_path / "a.ledger")
        n = ops.people(unit="u", max_rows=1, version="1").count(epsilon=0.5)
        answers.append(n.refine(epsilon=0.5).refine(epsilon=1))
        pickles.append(pickle.dumps(n))
        assert ops.spent() == 2
        dp.reset()
    assert answers[0] == answers[1]
    assert noisy(answers[0]) == noisy(answers[1])
    # a pickle of another kernel, too
    dp.session(store=tmp_path / "a.ledger")
    ops.people(unit="u", max_rows=1, version="1")
    assert pickle.loads(pickles[0]).refine(epsilon=0.5).refine(epsilon=1) == answers[0]
    assert ops.spent() == 2
    assert dp.combine(*dp.record(answers[0]).components) == answers[1]


def test_a_pickled_result_holds_no_rows_and_refines() -> None:
    secret = "Zaphod Beeblebrox"
    df = pd.DataFrame({"a": [1, 2], "name": [secret, secret]})
    n = dp.protect(df, name="secret").query("a > 1").count(epsilon=1).refine(epsilon=1)
    kept = pickle.dumps(n)
    assert secret.encode() not in kept
    back = pickle.loads(kept)
    assert (back, back.interval()) == (n, n.interval())
    assert back.refine(epsilon=1) == n.refine(epsilon=1)


def test_a_source_that_is_not_held_is_told(tmp_path: Path) -> None:
    dp.session(epsilon=10, store=tmp_path / "a.ledger")
    n = ops.people(version="1").count(epsilon=1)
    anew(store=tmp_path / "a.ledger")
    refusal(lambda: n.refine(epsilon=1), r"doesn't hold source 'people'.*fresh=True", SourceError)
    assert ops.spent() == 1


def test_a_source_now_asserted_is_not_the_verified_one(tmp_path: Path, monkeypatch: Any) -> None:
    df = ops.letters()
    dp.session(epsilon=10, store=tmp_path / "a.ledger")
    n = dp.protect(df, name="people", version="1").count(epsilon=1)
    anew(store=tmp_path / "a.ledger")
    changed = df[df["a"] > 50]  # still carries the token
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))  # of a user who never saw the data
    assert dp.protect(changed, name="people", version="1")._table.source.verified is False
    refusal(lambda: n.refine(epsilon=1), "doesn't hold", SourceError)


def test_tables_of_one_row_a_unit_are_refined_while_they_are_held(tmp_path: Path) -> None:
    def spend() -> Any:
        p = ops.people(unit="u", max_rows=1, version="1")
        return p.per_unit().agg(n=("a", "sum"))

    dp.session(epsilon=10, store=tmp_path / "a.ledger")
    held = spend()
    mean = held["n"].mean(bounds=(0, 200), epsilon=1)
    surer = mean.refine(epsilon=1)
    kept = pickle.dumps(mean)
    del held
    with pytest.raises(SourceError, match=r"made of 'people' by per_unit.*keep it in a variable"):
        mean.refine(epsilon=2)
    assert ops.spent() == 2
    anew(store=tmp_path / "a.ledger")
    held = spend()
    assert pickle.loads(kept).refine(epsilon=1) == surer
    assert ops.spent() == 2
    assert held is not None


def test_rows_that_became_several_are_refined() -> None:
    p = ops.people()
    n = dp.concat([p, p.query("a > 50")]).count(epsilon=1)
    assert dp.record(n.refine(epsilon=1)).epsilon == 2
    assert ops.statuses() == ["released"] * 2


def test_kernels_that_refine_at_once_pay_each_and_agree_afterwards(tmp_path: Path) -> None:
    """Two processes buy the next draw together: each draws, or is given the other's; both run
    again are given the same."""
    file = tmp_path / "a.ledger"
    dp.session(epsilon=100, store=file)
    code = """
        import sys
        import pandas as pd, dppandas as dp
        dp.session(store=sys.argv[1])
        p = dp.protect(pd.DataFrame({"a": range(100)}), name="shared", version="1")
        n = p.count(epsilon=0.5)
        for _ in range(20):
            n = n.refine(epsilon=0.5)
        print(int(n), [part.number for part in dp.record(n).components])
    """

    def run() -> list[str]:
        command = [sys.executable, "-c", textwrap.dedent(code), str(file)]
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        return [each.communicate(timeout=LIMIT)[0] for each in started]

    assert all(run())
    paid = ops.spent()
    assert Fraction(21, 2) <= paid <= 21
    again = run()
    assert again[0] == again[1]
    assert ops.spent() == paid


def test_an_audit_may_refine() -> None:
    from dppandas.release.session import scratch

    with scratch():
        assert dp.record(ops.people().count(epsilon=1).refine(epsilon=1)).epsilon == 2


def test_refining_takes_no_loss_of_its_own_in_a_split() -> None:
    dp.session(epsilon=10)
    n = ops.people().count(epsilon=1)
    with dp.split(epsilon=1, into=2), pytest.raises(QueryError, match="refine outside"):
        n.refine(epsilon=5)
    assert ops.spent() == 1
