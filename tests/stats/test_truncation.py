"""What a limit on rows moves a mean by: by brute force, and on real releases."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from notes import noted
from refusals import refusal

import dppandas as dp
from dppandas.errors import LineageError, MissingArgument, QueryError

truncation = dp.stats.truncation
BOUNDS = (0, 10)


def counted(numbers: Any, most: int = 4, epsilon: Any = 1, max_rows: int = 4) -> Any:
    """Released counts of units with so many rows."""
    table = pd.DataFrame({"who": np.repeat(np.arange(len(numbers)), numbers)})
    p = dp.protect(table, name=f"rows {len(numbers)}", unit="who", max_rows=max_rows)
    each = p.per_unit().agg(number="size")["number"]
    return each.value_counts(keys=list(range(1, most + 1)), epsilon=epsilon)


def dropped(numbers: Any, k: int) -> float:
    return float(np.maximum(np.array(numbers) - k, 0).sum() / np.sum(numbers))


def test_bounds_hold_for_every_small_table_and_are_reached() -> None:
    """Three units with one to three rows, all values at a bound, and all ways to keep k of each."""
    for numbers in itertools.combinations_with_replacement((1, 2, 3), 3):
        guess = pd.Series(numbers).value_counts()
        curve = truncation(guess, bounds=BOUNDS, epsilon=1, n=3)
        rows = sum(numbers)
        owner = np.repeat(np.arange(3), numbers)
        for k in range(1, max(numbers)):
            most = 0.0
            for values in itertools.product((0, 10), repeat=rows):
                y = np.array(values)
                each = [
                    list(itertools.combinations(np.flatnonzero(owner == unit), min(k, n)))
                    for unit, n in enumerate(numbers)
                ]
                for kept in itertools.product(*each):
                    moved = y[list(itertools.chain(*kept))].mean() - y.mean()
                    most = max(most, abs(moved))
            assert curve.loc[k, "dropped"] == pytest.approx(dropped(numbers, k))
            assert curve.loc[k, "bias_high"] == pytest.approx(most)
            assert curve.loc[k, "bias_low"] == pytest.approx(-most)


def test_without_noise_released_counts_say_what_a_guess_does(exact: None) -> None:
    anew(epsilon=10**12)
    numbers = np.tile([1, 1, 2, 3, 4], 400)
    found = truncation(counted(numbers, epsilon=64), bounds=BOUNDS, epsilon=1)
    known = truncation(pd.Series(numbers).value_counts(), bounds=BOUNDS, epsilon=1, n=2000)
    assert found.index.tolist() == known.index.tolist() == [1, 2, 3, 4]
    assert found["dropped"].to_numpy() == pytest.approx(known["dropped"].to_numpy(), abs=1e-3)
    assert (found["dropped"] >= known["dropped"]).all()
    assert found["noise"].to_numpy() == pytest.approx(known["noise"].to_numpy())
    assert found["dropped"].iloc[-1] == 0


def test_the_noise_is_that_of_a_mean_with_as_many_rows_a_unit() -> None:
    anew(epsilon=10)
    curve = truncation({1: 0.5, 3: 0.5}, bounds=BOUNDS, epsilon=0.5, n=1000)
    table = pd.DataFrame({"who": range(9), "x": 1.0})
    for k, kept in ((1, 1000), (2, 1500), (3, 2000)):
        p = dp.protect(table, name=f"at most {k}", unit="who", max_rows=k)
        asked = p["x"].mean(bounds=BOUNDS)
        told = asked.expected_error(epsilon=0.5, expected_rows=kept)
        assert curve.loc[k, "noise"] == pytest.approx(told, rel=1e-4)
    assert curve["total"].to_numpy() == pytest.approx(curve["noise"] + curve["bias_high"])


@pytest.mark.statistical
def test_shares_hold_simultaneously() -> None:
    """100 releases at a confidence of .9: that more than 26 fail has a probability below 1e-6, if
    10 % do."""
    anew(epsilon=10**4)
    rng, failed = np.random.default_rng(), 0
    for i in range(100):
        numbers = rng.integers(1, 5, 80 + i)
        curve = truncation(counted(numbers), bounds=BOUNDS, epsilon=1, confidence=0.9)
        failed += any(curve.loc[k, "dropped"] < dropped(numbers, k) for k in (1, 2, 3))
    assert failed <= 26


def test_bad_arguments_are_refused_before_anything() -> None:
    anew(epsilon=100)
    released = counted([1, 2, 2, 3], epsilon=64)
    usual: dict[str, Any] = {"bounds": BOUNDS, "epsilon": 1, "n": 10}
    table = pd.DataFrame({"who": [1, 2, 2]})
    p = dp.protect(table, name="three", unit="who", max_rows=2)
    for name, rows, given, said, error in [
        ("private", p["who"], usual, "Release them first", QueryError),
        ("a key is missing", released.loc[[1, 3]], usual, "a key for each number", QueryError),
        ("no bounds", released, {"epsilon": 1}, "bounds= is needed", MissingArgument),
        ("no n", {1: 1.0}, {**usual, "n": None}, "n= is needed", MissingArgument),
        ("no loss", released, {"bounds": BOUNDS}, "either epsilon= or rho=", QueryError),
        ("token", table["who"], usual, "token of a protected source", LineageError),
        ("a list", [1, 2], usual, "as a Series or a dict", QueryError),
        ("names", {"a": 1}, usual, "numbers of rows", QueryError),
        ("none", {0: 1}, usual, "numbers of rows", QueryError),
        ("nobody", {1: 0}, usual, "more than 0", QueryError),
        ("nothing", {}, usual, "more than 0", QueryError),
        ("negative", {1: -1}, usual, "a count=", QueryError),
    ]:  # fmt: skip
        with noted(name):
            before = dp.ledger().spent
            refusal(lambda rows=rows, given=given: truncation(rows, **given), said, error)
            assert dp.ledger().spent == before
