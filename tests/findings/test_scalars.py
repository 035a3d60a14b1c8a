"""Released numbers in Python's arithmetic: what it gives, with errors that hold."""

import copy
import functools
import math
import operator
import pickle
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ledgers import anew

import dppandas as dp
from dppandas.errors import QueryError, RecordError
from dppandas.findings.answers import DerivedFloat, DerivedInt
from dppandas.findings.forms import Quotient
from dppandas.privacy.accuracy.margins import sum_width

DOMAIN = {"arm": ["A", "B"], "age": (0, 100)}


def shop(rows: int = 4000) -> pd.DataFrame:
    at = np.arange(rows)
    return pd.DataFrame({"arm": np.where(at % 2, "B", "A"), "age": at % 80})


@pytest.fixture
def p() -> Any:
    anew(epsilon=10**4)
    return dp.protect(shop(), name="shop", domain=DOMAIN)


def counts(p: Any) -> tuple[Any, Any]:
    return p.count(epsilon=1), p[p["age"] < 20].count(epsilon=1)


@functools.cache
def some() -> list[Any]:
    """Released numbers, which outlive their session."""
    anew(epsilon=10**4)
    p = dp.protect(shop(), name="some", domain=DOMAIN)
    ages = p["age"]
    return [*counts(p), ages.mean(epsilon=1), ages.sum(epsilon=1), ages.std(epsilon=1)]


# --- what is stated -------------------------------------------------------------------------------


def test_sums_and_differences_have_the_exact_law_of_their_noises(p: Any) -> None:
    a, b = counts(p)
    law = dp.record(a)._law
    one, two = law.half_width(0.95), sum_width(law, 0.05, 2)
    for found, plain, error in (
        (a + b, int(a) + int(b), two), (a - b, int(a) - int(b), two), (a + 1, int(a) + 1, one),
        (1 - a, 1 - int(a), one), (-a, -int(a), one), (+a, int(a), one),
        (a * 3, int(a) * 3, 3 * one), (3 * a, int(a) * 3, 3 * one),
        (a - b + b, int(a), one), (sum([a, b]), int(a) + int(b), two),
        (a + True, int(a) + 1, one),
    ):  # fmt: skip
        assert type(found) is DerivedInt
        assert (found, found.error()) == (plain, error)
    assert (a - b).error(0.8) == sum_width(law, 0.2, 2)
    for half in (a / 2, a * 0.5):
        assert type(half) is DerivedFloat
        assert (half, half.error()) == (int(a) / 2, one / 2)
    assert dp.intervals(a - b)["unit"].tolist() == ["rows"]
    assert dp.intervals(a - b).equals(dp.intervals(dp.difference(a, b)))


def test_what_cancels_has_no_error(p: Any) -> None:
    (a, b), mean = counts(p), p["age"].mean(epsilon=1)
    for found in (a - a, a - p.count(epsilon=1), a + b - b - a, a - pickle.loads(pickle.dumps(a))):
        assert (found, found.interval(), repr(found)) == (0, (0, 0), "0 ± 0")
    assert (mean / mean).interval() == (1, 1)
    assert (mean - mean).interval() == (0, 0)
    fresh = p.count(epsilon=1, fresh=True)
    assert (a - fresh).error() > a.error()


def test_quotients_and_differences_of_means_are_those_of_derive(p: Any) -> None:
    a, b = counts(p)
    mean, old = p["age"].mean(epsilon=1), p[p["age"] > 40]["age"].mean(epsilon=1)
    assert isinstance((b / a)._findings.numbers[0].form, Quotient)
    for found, wanted in (
        (b / a, dp.ratio(b, a)), (mean - old, dp.difference(mean, old)),
        ((a - b) / a, dp.derive(lambda x, y: (x - y) / x, a, b)),
        (100 * (mean / old - 1), dp.derive(lambda x, y: 100 * (x / y - 1), mean, old)),
        (dp.ratio(b, a) * 100, dp.derive(lambda x, y: x / y * 100, b, a)),
    ):  # fmt: skip
        assert type(found) is DerivedFloat
        assert found == pytest.approx(float(wanted))
        assert found.interval() == pytest.approx(wanted.interval())
    assert "derived from releases 1 and 2, at no cost" in dp.intervals(b / a).index
    assert len(dp.ledger()._entries()) == 4  # nothing more was charged


def test_at_no_noise_intervals_have_the_exact_number(p: Any, exact: None) -> None:
    (a, b), mean = counts(p), p["age"].mean(epsilon=60)
    plain = shop()["age"]
    for found, truth in (
        (b / a, 0.25), (mean * 2 - 1, plain.mean() * 2 - 1), (a * mean, plain.sum()),
        (abs(b - a), 3000), (round(mean), plain.mean()), (mean / a, plain.mean() / 4000),
    ):  # fmt: skip
        low, high = found.interval()
        assert low <= truth <= high


def test_rounding_keeps_the_interval_of_the_number_before(p: Any) -> None:
    (a, b), mean = counts(p), p["age"].mean(epsilon=1)
    for whole, number, digits in (
        (a, a, -2),
        (a - b, a - b, -3),
        (mean, mean, 1),
        (b / a, b / a, 0),
    ):
        rounded = round(whole, digits)
        assert rounded == round(number._plainly(), digits)
        low, high = (+number).interval()
        assert rounded.interval() == (min(low, rounded), max(high, rounded))
    assert type(round(mean)) is DerivedInt
    assert type(round(mean, 1)) is type(round(b / a, 0)) is DerivedFloat
    assert (round(a, -2) - a).interval() == (min(0, round(a, -2) - a), max(0, round(a, -2) - a))
    assert type(a.round()) is int  # as pandas' numbers


def test_sizes_of_differences_are_bounded_from_these(p: Any) -> None:
    a, b = counts(p)
    off = abs(b - a)
    assert type(off) is DerivedInt
    assert off.interval() == tuple(sorted(-end for end in (b - a).interval()))
    low, high = abs(a - p.count(epsilon=1, fresh=True)).interval(1 - 1e-9)
    assert low == 0 < high


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "sub", "mul", "truediv", "neg", "abs", "round", "whole"]),
        st.booleans(), st.integers(0, 9),
    ),
    max_size=6,
)  # fmt: skip
PLAIN = [2, 0, -3.25, 1e-3, Fraction(7, 3)]


@given(start=st.integers(0, 4), steps=STEPS)
@example(start=2, steps=[("round", False, 0), ("mul", True, 1), ("sub", False, 2)])
@example(start=0, steps=[("truediv", False, 6)])
def test_whatever_is_computed_is_what_python_computes(start: int, steps: Any) -> None:
    """And the interval includes it."""
    released = some()
    numbers = [*released, *PLAIN]
    found: Any = released[start]
    plain = found._plainly()
    for name, is_right, other in steps:
        x = numbers[other]
        y = x._plainly() if other < 5 else x
        if name in ("neg", "abs", "round", "whole"):
            do: Any = {"neg": operator.neg, "abs": abs, "whole": round}.get(name)
            do = do or functools.partial(round, ndigits=other - 5)
            found, plain = do(found), do(plain)
            continue
        do = getattr(operator, name)
        try:
            plain = do(y, plain) if is_right else do(plain, y)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                do(x, found) if is_right else do(found, x)
            return
        found = do(x, found) if is_right else do(found, x)
    assert found == plain
    if isinstance(found, DerivedInt | DerivedFloat):
        assert (isinstance(found, int), hash(found)) == (isinstance(plain, int), hash(plain))
        assert (str(found), f"{found:.3f}") == (str(plain), f"{plain:.3f}")
        low, high = found.interval()
        assert low <= float(plain) <= high
        assert found.error() >= 0
        assert repr(found)


def test_loops_of_a_thousand_numbers_have_intervals(p: Any) -> None:
    (a, b), mean = counts(p), p["age"].mean(epsilon=1)
    total = sum([a] * 1000)
    assert (total, total.error()) == (1000 * a, 1000 * a.error())
    running: Any = 0
    for number in [mean, abs(a - b)] * 500:  # no sum of integers: the operands are kept
        running = running + number
    low, high = running.interval()
    assert low < running < high < 2 * running
    kept = pickle.loads(pickle.dumps(running))
    assert (kept, kept.interval()) == (running, (low, high))
    squared: Any = abs(a - b) / 10**4
    for _ in range(40):
        squared = squared * squared
    assert squared.interval()[0] >= 0


# --- what isn't followed --------------------------------------------------------------------------

AS_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "no interval": lambda a, p: a + p["age"].median(epsilon=1),
    "numpy on the right": lambda a, p: a + np.int64(3),
    "numpy on the left": lambda a, p: np.float64(2) * a,
    "a number of a released Series": lambda a, p: p.groupby("arm").size(epsilon=1)["A"] / a,
    "a float and a whole number": lambda a, p: 0.5 * a,
    "no number": lambda a, p: a * math.nan,
    "beyond floats": lambda a, p: a * 10**400,
    "beyond floats in the end": lambda a, p: (a * 10**200) * 10**200,
    "a decimal": lambda a, p: a * Decimal(2), "a fraction": lambda a, p: a * Fraction(1, 2),
    "a complex": lambda a, p: a * 1j, "floored": lambda a, p: a // 2, "modulo": lambda a, p: a % 7,
    "a power": lambda a, p: a**2, "a comparison": lambda a, p: a < 3,
    "numpy's": lambda a, p: np.log(abs(a)), "a conversion": lambda a, p: float(a) + 1,
    "an array": lambda a, p: a * np.arange(3), "an array on the left": lambda a, p: np.ones(3) * a,
    "a Series": lambda a, p: a + pd.Series([1, 2]), "a frame": lambda a, p: pd.DataFrame([1]) - a,
    "a label": lambda a, p: a + p["age"].value_counts(keys=[20, 30]).idxmax(epsilon=1),
}  # fmt: skip


@pytest.mark.parametrize("name", AS_PYTHON)
def test_what_isnt_followed_is_as_python_computes_it(name: str, p: Any) -> None:
    a = p.count(epsilon=1)
    found, wanted = (AS_PYTHON[name](each, p) for each in (a, int(a)))
    assert type(found) is type(wanted)
    assert np.all((found == wanted) | (found != found))


def test_previews_estimates_and_times_are_plain(p: Any) -> None:
    with dp.preview():
        assert type(p["age"].sum(epsilon=1) + 1) in (int, float)
    a = p.count(epsilon=1)
    estimate = dp.local.randomized_response([True] * 300 + [False] * 700, epsilon=3).mean()
    assert type(p["age"].mean(epsilon=1) + estimate) is float  # it has an error of its own
    when = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=400, freq="h")}).dp["when"]
    mean = when.mean(bounds=("2024-01-01", "2024-02-01"), epsilon=1)
    assert type(mean + pd.Timedelta(a - a + 1, unit="D")) is pd.Timestamp


def test_errors_are_those_of_python(p: Any) -> None:
    a = p.count(epsilon=1)
    for do in (lambda: a / 0, lambda: 1 / (a - a), lambda: (a - a) / (a - a)):
        with pytest.raises(ZeroDivisionError):
            do()
    for do in (lambda: a + "x", lambda: [] - a, lambda: a / None, lambda: round(a, "1")):
        with pytest.raises(TypeError):
            do()


def test_derive_is_still_given_all_answers(p: Any) -> None:
    a, b = counts(p)
    off = a - b
    for f in (lambda x: x - off, lambda x: off - x, lambda x: a + x, lambda x: (a + 1) * x):
        with pytest.raises(QueryError, match="Give it"):
            dp.derive(f, p.count(epsilon=2))
    assert dp.derive(lambda x, y: x + y, off, b).error() == a.error()


# --- the face -------------------------------------------------------------------------------------


def test_results_serve_as_numbers(p: Any) -> None:
    a, b = counts(p)
    off, share = a - b, b / a
    assert range(off + 1)[off] == off
    assert [10, 20][a - a] == 10
    assert {off: 1}[int(off)] == 1
    assert pd.Series([off, off]).dtype == "int64"
    assert pd.Series([share]).dtype == "float64"
    assert np.array([share]).dtype == "float64"
    assert f"{off:±}" == repr(off) == f"{int(off):,} ± {off.error():.0f}"
    assert (f"{off}", f"{off:,}", str(off)) == (str(int(off)), f"{int(off):,}", str(int(off)))
    assert f"{share:.2f}" == f"{float(share):.2f}"
    low, high = p["age"].mean(bounds=(0, off), epsilon=1).interval()
    again = p["age"].mean(bounds=(0, int(off)), epsilon=1)
    assert (low, high) == again.interval()  # one question, and one release
    with pytest.raises(RecordError, match=r"dp\.intervals has its errors"):
        dp.record(off)


def test_results_are_copied_and_pickled(p: Any) -> None:
    (a, b), mean = counts(p), p["age"].mean(epsilon=1)
    for made in (a - b, b / a, round(mean, 1), round(mean), abs(a - b) * mean):
        for kept in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
            assert (type(kept), kept, hash(kept)) == (type(made), made, hash(made))
            assert kept.interval() == made.interval()
    assert (pickle.loads(pickle.dumps(a - b)) - a + b).interval() == (0, 0)
    assert "_quantity" in vars(a)
    assert vars(pickle.loads(pickle.dumps(a))).keys() == {"_record"}


FRESH = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    one, other = pickle.load(file)
assert "dppandas.findings.scalars" not in sys.modules
print(repr(one - other))
"""


def test_answers_of_another_process_are_computed_with(p: Any, tmp_path: Path) -> None:
    both = counts(p)
    (tmp_path / "both").write_bytes(pickle.dumps(both))
    command = [sys.executable, "-c", FRESH, str(tmp_path / "both")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr(both[0] - both[1])


def test_notebooks_say_what_numbers_are_derived_from(p: Any) -> None:
    pretty = pytest.importorskip("IPython.core.formatters").PlainTextFormatter()
    a, b = counts(p)
    said = "95 %, noise only; derived from releases 1 and 2, at no cost"
    assert pretty(a - b) == f"{a - b:±} ({said})"
