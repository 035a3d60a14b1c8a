"""Labels told under a δ: each interval holds given that its label is told, by exact law."""

import math
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from ledgers import anew

import dppandas as dp
from dppandas.ledger import canonical
from dppandas.privacy.accounting.losses import Delta
from dppandas.privacy.mechanisms.conditional import ThresholdedNoise
from dppandas.privacy.mechanisms.partition_selection import PartitionSelection
from dppandas.privacy.mechanisms.thresholds import Threshold
from dppandas.statistics.counting.label_accumulators import NumberedLabels

DELTA = Delta("1e-6")
DIGITS = Context(80)


def law(epsilon: str, delta: str, rows: int) -> ThresholdedNoise:
    """Of the counts that are told where a unit has so many rows."""
    return Threshold.calibrate(rows, Fraction(epsilon), Delta(delta)).passed


def coverage(passed: ThresholdedNoise, confidence: float, rows: int) -> npt.NDArray[np.float64]:
    """For each true count N from 1 to `rows` the probability that the interval holds, given that
    the label is told: over the truncated law, whose weights are a^|x-N| from the threshold on.
    What lies beyond is less than e^-40, and counts as missed."""
    scale, last = float(passed.scale), rows + math.ceil(40 * passed.scale)
    told = np.arange(passed.least, last + 1)
    low, high = np.array([passed.interval(int(x), confidence) for x in told]).T
    found = []
    for true in range(1, rows + 1):
        far = np.abs(told - true)
        weights = np.exp(-(far - far.min()) / scale)
        found.append(weights[((low <= true) & (true <= high))].sum() / weights.sum())
    return np.array(found)


CASES = [
    ("1", "1e-6", 1), ("1", "1e-6", 3), ("1", "1e-6", 10), ("0.1", "1e-6", 1), ("0.3", "1e-9", 3),
    ("0.5", "1e-3", 10), ("3", "1e-6", 1), ("8", "1e-5", 3), ("1", "1e-2", 1), ("0.1", "0.01", 10),
    ("64", "1e-6", 1),
]  # fmt: skip


@pytest.mark.parametrize(("epsilon", "delta", "rows"), CASES)
def test_an_interval_holds_if_the_label_is_told(epsilon: str, delta: str, rows: int) -> None:
    """For every true count from 1 to 3T."""
    passed = law(epsilon, delta, rows)
    for confidence in (0.95, 0.5, 0.999):
        assert coverage(passed, confidence, 3 * passed.least).min() >= confidence - 1e-12


def test_the_noise_alone_would_hold_for_none_of_the_labels_that_it_lifts() -> None:
    """What intervals were once: N̂ ± 3 at ε = 1, δ = 1e-6. A check of this file's own law."""
    passed = law("1", "1e-6", 1)
    assert passed.least == 15
    told = np.arange(15, 90)
    covered = []
    for true in range(1, 16):
        far = np.abs(told - true)
        weights = np.exp(-(far - far.min()).astype(float))
        covered.append(weights[far <= 3].sum() / weights.sum())
    assert covered[:11] == [0] * 11
    assert [round(each, 2) for each in covered[11:14]] == [0.63, 0.86, 0.95]
    assert coverage(passed, 0.95, 15).min() >= 0.95


def tail(a: Decimal, m: int) -> Decimal:
    """P[Z ≥ m]."""
    return a**m / (1 + a) if m > 0 else 1 - a ** (1 - m) / (1 + a)


def tails(passed: ThresholdedNoise, true: int, noisy: int) -> tuple[Decimal, Decimal]:
    """P[N+Z ≥ noisy | told] and P[N+Z ≤ noisy | told], to 80 digits less what differences cost."""
    with localcontext(DIGITS):
        a = (-Decimal(passed.scale.denominator) / Decimal(passed.scale.numerator)).exp()
        least, here, next_ = (tail(a, x - true) for x in (passed.least, noisy, noisy + 1))
        return here / least, (least - next_) / least


@pytest.mark.parametrize(("epsilon", "delta", "rows"), [
    ("1", "1e-6", 1), ("1", "1e-2", 3), ("0.3", "1e-3", 1), ("4", "1e-3", 10),
])  # fmt: skip
@pytest.mark.parametrize("confidence", [0.95, 0.5, 0.01])
def test_an_interval_is_what_its_definition_says(
    epsilon: str, delta: str, rows: int, confidence: float
) -> None:
    """The counts neither of whose tails is below half of the risk, one by one."""
    passed = law(epsilon, delta, rows)
    half = Decimal(1 - confidence) / 2
    far = passed.least + math.ceil(12 * passed.scale)
    for noisy in range(passed.least, far, max(1, (far - passed.least) // 25)):
        inside = [
            true
            for true in range(1, noisy + math.ceil(6 * passed.scale))
            if min(tails(passed, true, noisy)) > half
        ]
        low, high = passed.interval(noisy, confidence)
        assert low == min(inside, default=1)
        assert high == max([*inside[-1:], noisy])


@pytest.mark.parametrize("scale", [Fraction(1, 64), Fraction(7, 3), Fraction(10**6), 2**51, 2**60])
@pytest.mark.parametrize("confidence", [0.95, 1 - 2.0**-50, 1e-9])
def test_ends_are_rounded_outwards(scale: Fraction, confidence: float) -> None:
    """What lies beyond an end has a tail of at most half of the risk; and the end itself is in, for
    a risk that is 2^-28 of itself smaller."""
    passed = ThresholdedNoise(Fraction(scale), math.ceil(16 * scale) + 2)
    half = Decimal(1 - confidence) / 2
    less = half * (1 - Decimal(2) ** -28)
    for share in (0, Fraction(1, 10**6), Fraction(1, 3), 3, 5, 37, 10**6):
        noisy = passed.least + math.floor(share * scale)
        low, high = passed.interval(noisy, confidence)
        assert 1 <= low <= noisy <= high
        assert tails(passed, high + 1, noisy)[1] <= half
        if high > noisy:
            assert tails(passed, high, noisy)[1] > less
        if low > 1:
            assert tails(passed, low - 1, noisy)[0] <= half
        assert tails(passed, low, noisy)[0] > less


@pytest.mark.parametrize(("epsilon", "delta", "rows"), CASES)
@pytest.mark.parametrize("confidence", [0.95, 0.2])
def test_no_error_is_larger_than_what_is_said_before(
    epsilon: str, delta: str, rows: int, confidence: float
) -> None:
    passed = law(epsilon, delta, rows)
    told = range(passed.least, passed.least + math.ceil(8 * passed.scale) + 2)
    errors = [passed.error(noisy, confidence) for noisy in told]
    assert max(errors) == passed.largest_error(confidence)
    assert passed.error(10**9, confidence) == errors[-1] < max(errors)


# --- through a release ----------------------------------------------------------------------------


@pytest.mark.parametrize("max_rows", [1, 3])
def test_labels_that_noise_lifts_are_in_their_intervals(max_rows: int, frozen: Any) -> None:
    """Labels of 8 people are told where the noise is T - 8 or more: none of N̂ ± w held then."""
    dp.session(epsilon=100, delta=0.01)
    df = pd.DataFrame({"who": range(24), "x": ["a", "b", "c"] * 8})
    people = dp.protect(df, "d", unit="who", max_rows=max_rows)
    least = Threshold.calibrate(max_rows, Fraction(1), DELTA).least
    frozen(least - 8)
    for asked in (people["x"].value_counts(delta=DELTA), people.groupby("x", delta=DELTA).size()):
        record = dp.record(asked.release(epsilon=1))
        found = record.intervals()
        assert found["lower"].tolist() == [1, 1, 1]
        assert (found["upper"] >= least).all()
        assert (record.errors() >= least - 8).all()
        assert asked.expected_error(epsilon=1) >= record.errors().max()


GROUPED: dict[str, Callable[[Any], Any]] = {
    "count": lambda g: g["y"].count(),
    "sum": lambda g: g["y"].sum(bounds=(0, 1)),
    "means": lambda g: g[["y", "z"]].mean(bounds=(0, 1)),
    "std": lambda g: g["y"].std(bounds=(0, 1)),
}


@pytest.mark.parametrize("name", GROUPED)
def test_other_labels_widen_no_interval(name: str, exact: None) -> None:
    """How many are told is private: a label's interval and error are those that it has alone."""
    found = []
    for labels in (1, 12):
        anew(epsilon=100, delta=0.01)
        df = pd.DataFrame({"x": [*range(labels)] * 60}).assign(y=0.5, z=1.0)
        asked = GROUPED[name](dp.private(df, unit="row").groupby("x", delta=DELTA))
        record = dp.record(asked.release(epsilon=1))
        assert len(record.errors()) == labels
        ends, errors = record.intervals().iloc[0], record.errors().iloc[:1]
        found.append((ends.tolist(), errors.values.tolist()))
        if name in ("count", "sum"):
            assert record.errors().iloc[0] == asked.expected_error(epsilon=1)
    assert found[0] == found[1]


def test_what_is_read_in_each_way_says_so() -> None:
    dp.session(epsilon=100, delta=0.01)
    p = pd.DataFrame({"x": ["a"] * 90, "y": 0.5}).dp
    told = dp.record(p["x"].value_counts(epsilon=1, delta=DELTA))
    assert told.expected == "each at most ± 17"
    assert ", each ± 3 (95 %, noise only)" in str(told)  # as answered: far above what is told
    assert dp.ledger().to_frame()["error"].tolist() == ["each ± 3"]
    sums = dp.record(p.groupby("x", delta=DELTA)["y"].sum(bounds=(0, 1), epsilon=1))
    assert sums.expected.startswith("each ± ")
    assert "95\N{NO-BREAK SPACE}% interval of each label" in sums._repr_html_()
    declared = dp.record(p["x"].value_counts(keys=["a"], epsilon=1))
    assert "each at most" not in str(declared)
    assert "of each label" not in declared._repr_html_()


def test_answers_that_were_read_otherwise_are_asked_anew() -> None:
    dp.session(epsilon=100, delta=0.01)
    p = dp.protect(pd.DataFrame({"x": ["a"] * 90, "y": 0.5}), "d")
    for asked in (p["x"].value_counts(delta=DELTA), p.groupby("x", delta=DELTA)["y"].count()):
        assert canonical.text(asked._statistic).startswith("Unknown@2(")


# --- labels alone ---------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [1, 3, 10])
def test_a_label_that_is_told_alone_is_there(keys: int) -> None:
    """Its interval, (1, 1), holds always: one that nobody has is never told. And from
    `released_from` on it is told with what is said."""
    law = PartitionSelection.calibrate(keys, Fraction(1), DELTA)
    assert law.release(NumberedLabels.of({"a": (("a",), (0,))}, 1)) == []
    units = law.released_from(0.95)
    assert law.release(NumberedLabels.of({"a": (("a",), (10**6,))}, 1)) == [(("a",), (1,))]
    with localcontext(DIGITS):
        e, d, p = Decimal(1) / Decimal(keys), Decimal("1e-6") / keys, Decimal(0)
        for _ in range(units):
            before, p = p, min(p * e.exp() + d, 1 - (-e).exp() * (1 - p - d), Decimal(1))
    assert before < Decimal("0.95") <= p
