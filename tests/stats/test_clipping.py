"""What clipping moves a mean by: bounds by brute force, and intervals on real releases."""

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from notes import noted
from refusals import refusal
from scipy import stats

import dppandas as dp
from dppandas.errors import LineageError, MissingArgument, QueryError, RecordError

clipping = dp.stats.clipping
EDGES = [0.0, 1.0, 2.0, 4.0, 8.0]
OUTER = (0, 8)


def histogram(values: Any, edges: Any = EDGES) -> pd.Series:
    counts, _ = np.histogram(values, edges)
    return pd.Series(counts, index=pd.IntervalIndex.from_breaks(edges, closed="left"))


def moved(values: Any, low: float, high: float) -> float:
    """The mean of clipped values less that of the values."""
    return float(np.mean(np.clip(values, low, high)) - np.mean(values))


def private(values: Any, name: str = "values") -> Any:
    return dp.protect(pd.DataFrame({"x": np.asarray(values, dtype=float)}), name=name)


# --- the bounds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fixed", [{"lower": 0}, {"lower": 1.5}, {"upper": 8}, {"upper": 3}])
def test_bounds_hold_for_every_small_table_and_are_reached(fixed: dict[str, float]) -> None:
    """Of all tables of three values on a grid the largest and the least bias of those with one
    histogram are the ends, at worst in steps of the grid."""
    grid, candidates = np.arange(0, 8.01, 0.5), [0.5, 2, 4, 6.5]
    candidates = [x for x in candidates if x > fixed.get("lower", -1) and x < fixed.get("upper", 9)]
    seen: dict[tuple[int, ...], list[list[float]]] = {}
    for values in itertools.combinations_with_replacement(grid, 3):
        counts = tuple(histogram(values))
        ends = [
            (fixed.get("lower", x), x) if "lower" in fixed else (x, fixed["upper"])
            for x in candidates
        ]
        seen.setdefault(counts, []).append([moved(values, *each) for each in ends])
    for counts, biases in seen.items():
        guess = pd.Series(counts, index=histogram([]).index)
        curve = clipping(guess, outer=OUTER, candidates=candidates, epsilon=1, n=3, **fixed)
        low, high = np.min(biases, axis=0), np.max(biases, axis=0)
        assert (curve["bias_low"].to_numpy() <= low + 1e-9).all()
        assert (curve["bias_high"].to_numpy() >= high - 1e-9).all()
        # the right edge of a bin isn't in it: half a step is missing
        assert (low - curve["bias_low"].to_numpy() <= 0.5 + 1e-9).all()
        assert curve["bias_high"].to_numpy() == pytest.approx(high)


def test_guesses_agree_with_each_other() -> None:
    law = stats.lognorm(1)
    rng = np.random.default_rng(3)
    sample, given = rng.lognormal(0, 1, 200_000), {"outer": (0, 50), "epsilon": 1, "n": 1000}
    each = {"candidates": [1, 3, 10, 50]}
    of_law = clipping(law, **given, **each)
    of_sample = clipping(sample, **given, **each)
    bins = histogram(np.clip(sample, 0, 50), np.linspace(0, 50, 50))
    of_bins = clipping(bins, **given, **each)
    for bound in (1, 3, 10):
        u = (math.log(bound), math.log(50))
        # E[(X - U)+] of a lognormal number, less what lies beyond 50
        excess = [
            math.exp(0.5) * stats.norm.cdf(1 - x) - math.exp(x) * stats.norm.cdf(-x) for x in u
        ]
        assert of_law.loc[bound, "bias_low"] == pytest.approx(excess[1] - excess[0], abs=1e-3)
        assert of_sample.loc[bound, "bias_low"] == pytest.approx(excess[1] - excess[0], abs=0.05)
        assert of_bins.loc[bound, "bias_low"] - 1e-9 <= of_sample.loc[bound, "bias_low"]
        assert of_bins.loc[bound, "bias_high"] + 1e-9 >= of_sample.loc[bound, "bias_low"]
    assert (of_law["bias_low"] == of_law["bias_high"]).all()
    assert of_law.loc[50, "bias_low"] == 0
    below = clipping(stats.uniform(0, 10), outer=(0, 10), upper=10, candidates=[5], epsilon=1, n=9)
    assert below.loc[5, "bias_high"] == pytest.approx(1.25)


# --- released histograms --------------------------------------------------------------------------


def test_without_noise_a_released_histogram_says_what_a_guess_does(exact: None) -> None:
    anew(epsilon=10**12)
    values = np.random.default_rng(5).gamma(1, 2, 4000).clip(0, 8)
    seen = private(values)["x"].hist(EDGES, epsilon=64)
    found = clipping(seen, outer=OUTER, epsilon=1)
    known = clipping(histogram(values), outer=OUTER, epsilon=1, n=4000)
    assert found.index.tolist() == known.index.tolist() == EDGES[1:]
    # the interval has room for noise of ε = 64, of four thousand values
    for name in ("bias_low", "bias_high", "noise"):
        assert found[name].to_numpy() == pytest.approx(known[name].to_numpy(), abs=2e-3)
    assert (found["bias_low"] <= known["bias_low"] + 1e-12).all()
    assert (found["bias_high"] >= known["bias_high"] - 1e-12).all()
    by_counts = private(values, "counted")["x"].value_counts(bins=EDGES, epsilon=64)
    assert clipping(by_counts, outer=OUTER, epsilon=1)["total"].to_numpy() == pytest.approx(
        found["total"].to_numpy(), abs=0.01
    )
    shares = private(values, "shares")["x"].value_counts(bins=EDGES, normalize=True, epsilon=64)
    of_shares = clipping(shares, outer=OUTER, epsilon=1, n=4000)
    assert of_shares["total"].to_numpy() == pytest.approx(found["total"].to_numpy(), abs=0.01)


def test_the_noise_is_that_of_the_mean() -> None:
    anew(epsilon=1)
    curve = clipping([1.0, 2.0], outer=OUTER, candidates=[2, 8], epsilon=0.5, n=1000)
    p = private([1.0])["x"]
    for bound in (2, 8):
        told = p.mean(bounds=(0, bound)).expected_error(epsilon=0.5, expected_rows=1000)
        assert curve.loc[bound, "noise"] == pytest.approx(told, rel=1e-4)
    three = clipping([1.0], outer=OUTER, candidates=[8], epsilon=0.5, n=1000, max_rows=3)
    assert three["noise"].iloc[0] == pytest.approx(3 * curve.loc[8, "noise"], rel=1e-4)
    gaussian = clipping([1.0], outer=OUTER, candidates=[8], rho=0.5, n=1000)
    assert gaussian["noise"].iloc[0] == pytest.approx(8 * 1.96 / 1000, rel=1e-3)


@pytest.mark.statistical
def test_intervals_hold_simultaneously_whatever_is_chosen_by_them() -> None:
    """100 releases at a confidence of .9. That more than 26 fail has a probability below 1e-6, if
    10 % do: neither the bias nor the bounds of it that exact counts would give are beyond the ends.
    Without the allowance for noise nearly all would fail."""
    anew(epsilon=10**4)
    rng, failed = np.random.default_rng(), 0
    edges = [0, 2, 4, 6, 8, 12, 16, 24, 40]
    for _ in range(100):
        values = rng.gamma(1, 4, 600).clip(0, 40)
        seen = pd.DataFrame({"x": values}).dp["x"].hist(edges, epsilon=1)
        curve = clipping(seen, outer=(0, 40), epsilon=1, confidence=0.9)
        plain = clipping(histogram(values, edges), outer=(0, 40), epsilon=1, n=600)
        true = np.array([moved(values, 0, bound) for bound in curve.index])
        holds = (curve["bias_low"] <= plain["bias_low"] + 1e-9) & (
            plain["bias_high"] <= curve["bias_high"] + 1e-9
        )
        failed += not holds.all()
        assert ((plain["bias_low"] <= true + 1e-9) & (true <= plain["bias_high"] + 1e-9)).all()
    assert failed <= 26


def test_many_bins_are_taken_together_soundly(exact: None) -> None:
    anew(epsilon=10**12)
    values = np.random.default_rng(2).gamma(1, 4, 3000).clip(0, 40)
    p = private(values)
    fine = p["x"].hist(120, (0, 40), epsilon=64)
    curve = clipping(fine, outer=(0, 40), epsilon=1)
    assert len(curve) == 40
    true = np.array([moved(values, 0, bound) for bound in curve.index])
    assert (curve["bias_low"] <= true).all()
    assert (curve["bias_high"] >= true).all()
    assert (curve["bias_high"] - curve["bias_low"]).max() < 1.1


# --- what is refused ------------------------------------------------------------------------------


def test_without_outer_bounds_nothing_can_be_said() -> None:
    said = refusal(
        lambda: clipping([1.0, 2.0], epsilon=1, n=10), "one value may move the mean",
        MissingArgument,
    )  # fmt: skip
    assert "outer= is needed" in said


def test_bins_that_miss_values_are_refused() -> None:
    """Values in no bin aren't counted: the bias would be understated."""
    anew(epsilon=10**4)
    p = private(np.r_[np.zeros(50), np.linspace(0, 8, 100), np.full(50, 8.0)])
    for name, seen in {
        "high": p["x"].hist([0, 1, 4], epsilon=1), "low": p["x"].hist([1, 4, 8], epsilon=1),
        "the last edge": p["x"].cut([0, 4, 8], right=False).value_counts(epsilon=1),
        "the first edge": p["x"].cut([0, 4, 8]).value_counts(epsilon=1),
    }.items():  # fmt: skip
        with noted(name):
            said = refusal(lambda seen=seen: clipping(seen, outer=OUTER, epsilon=1), "don't hold")
            assert ".clip(0, 8).hist" in said
    whole = p["x"].hist([0, 4, 8], epsilon=1)
    assert len(clipping(whole, outer=OUTER, epsilon=1)) == 2
    lowest = p["x"].cut([0, 4, 8], include_lowest=True).value_counts(epsilon=1)
    assert len(clipping(lowest, outer=OUTER, epsilon=1)) == 2
    inner = p["x"].cut([-1, 4, 9], right=False).value_counts(epsilon=1)
    assert clipping(inner, outer=OUTER, epsilon=1).index.tolist() == [4, 8]
    refusal(lambda: clipping(whole.iloc[:1], outer=OUTER, epsilon=1), "all bins of one")
    gap = pd.Series([1, 2], index=pd.IntervalIndex.from_tuples([(0, 2), (4, 8)]))
    refusal(lambda: clipping(gap, outer=OUTER, epsilon=1, n=3), "follow each other")


def test_histograms_of_several_parts_may_be_added_up(exact: None) -> None:
    anew(epsilon=10**12)
    one, other = np.linspace(0, 8, 900), np.linspace(0, 3, 500)
    each = [private(x, f"part {len(x)}")["x"].hist(EDGES, epsilon=64) for x in (one, other)]
    both = dp.derive(lambda a, b: a + b, *each)
    found = clipping(both, outer=OUTER, epsilon=1)
    known = clipping(histogram(np.r_[one, other]), outer=OUTER, epsilon=1, n=1400)
    assert found["total"].to_numpy() == pytest.approx(known["total"].to_numpy(), abs=0.01)
    unlike = private(one, "others")["x"].hist([0, 4, 8], epsilon=64)
    apart = dp.derive(lambda a, b: a.add(b, fill_value=0), each[0], unlike)
    refusal(lambda: clipping(apart, outer=OUTER, epsilon=1), "all bins of one")


def test_rounded_labels_of_bins_are_not_taken_for_their_edges() -> None:
    """pandas writes 0.123456 as 0.123."""
    anew(epsilon=10**4)
    edges = [0, 0.123456, 0.9, 8]
    seen = private(np.linspace(0, 8, 200))["x"].value_counts(bins=edges, epsilon=1)
    assert [round(each.right, 6) for each in seen.index if each.left < 0] == [0.123]
    assert clipping(seen, outer=OUTER, epsilon=1).index.tolist() == edges[1:]


def test_bad_arguments_are_refused_before_anything() -> None:
    anew(epsilon=100)
    p = private([1.0, 2.0])
    released = p["x"].hist(EDGES, epsilon=1)
    guess, usual = histogram([1, 2, 3]), {"outer": OUTER, "epsilon": 1, "n": 10}
    lost = released * 2.0
    for name, values, given, said, error in [
        ("private", p["x"], usual, "Release a histogram first", QueryError),
        ("unreleased", p["x"].hist(EDGES), usual, "Release a histogram first", QueryError),
        ("changed", lost, usual, "values aren't those released", RecordError),
        ("rows", _token(), usual, "carries the token of a protected source", LineageError),
        ("text", ["a"], usual, "give a released histogram", QueryError),
        ("nothing", [], usual, "give a released histogram", QueryError),
        ("no n", guess, {**usual, "n": None}, "n= is needed", MissingArgument),
        ("no loss", guess, {**usual, "epsilon": None}, "either epsilon= or rho=", QueryError),
        ("both losses", guess, {**usual, "rho": 1}, "either epsilon= or rho=", QueryError),
        ("both bounds", guess, {**usual, "lower": 0, "upper": 8}, "lower= or upper=", QueryError),
        ("far bound", guess, {**usual, "lower": 9}, "below 8", QueryError),
        ("far candidate", guess, {**usual, "candidates": [9]}, "must lie between", QueryError),
        ("no candidate", guess, {**usual, "candidates": []}, "between 1 and", QueryError),
        ("no numbers", guess, {**usual, "candidates": "ab"}, "must be a list", QueryError),
        ("outer", guess, {**usual, "outer": (8, 0)}, "the lower first", QueryError),
        ("narrow", guess, {**usual, "outer": (1, 1)}, "different ends", QueryError),
        ("negative", guess * -1, usual, "a count=", QueryError),
        ("no counts", guess * 0, usual, "more than 0", QueryError),
        ("max_rows", guess, {**usual, "max_rows": 0}, "max_rows=0", QueryError),
        ("labels", p["x"].value_counts(keys=[1, 2], epsilon=1), usual, "by interval", QueryError),
    ]:  # fmt: skip
        with noted(name):
            before = dp.ledger().spent
            refusal(lambda values=values, given=given: clipping(values, **given), said, error)
            assert dp.ledger().spent == before


def _token() -> pd.Series:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    dp.protect(frame, name="whose")
    return frame["x"]


def test_a_curve_says_what_it_is() -> None:
    curve = clipping([1.0, 5.0, 9.0], outer=(0, 10), candidates=[5, 10], epsilon=1, n=30)
    title, *_, bias, noise = repr(curve).splitlines()
    assert title == "A mean of about 30 values, clipped to (0, upper)"
    assert "those in (0, 10)" in bias
    assert "no intervals" in bias
    assert "ε = 1" in noise
    assert title in curve._repr_html_()
    again = pickle.loads(pickle.dumps(curve))
    assert repr(again) == repr(curve)
    assert type(curve.head()) is pd.DataFrame
    assert curve["total"].to_numpy() == pytest.approx(curve["noise"] + curve["bias_low"].abs())
