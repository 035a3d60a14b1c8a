"""Losses are exact rationals: parsed as they print, compared and added without rounding."""

import math
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from dppandas.errors import MissingArgument
from dppandas.privacy.accounting import losses
from dppandas.privacy.accounting.losses import Epsilon, format_exact, parse_budget, parse_epsilon


def test_three_times_a_tenth_fits_in_three_tenths() -> None:
    assert 0.1 + 0.1 + 0.1 > 0.3  # which is why no float is ever added
    assert sum([parse_epsilon(0.1)] * 3) == parse_epsilon(0.3)
    assert sum([parse_epsilon("1/3")] * 3) == parse_budget(1)
    assert sum([parse_epsilon(0.1)] * 10_000) == parse_budget(1000)


@pytest.mark.parametrize("value", [
    0.5, "0.5", "1/2", " 0.5 ", "5e-1", "+.5", Decimal("0.5"), Decimal("0.50"), Fraction(1, 2),
    np.float64(0.5), np.float32(0.5), np.float16(0.5), np.longdouble(0.5), Epsilon(1, 2),
])  # fmt: skip
def test_every_kind_of_number_is_read(value: Any) -> None:
    parsed = parse_epsilon(value)
    assert parsed == Fraction(1, 2)
    assert type(parsed) is Epsilon


@pytest.mark.parametrize("value", [2, "2", 2.0, np.int8(2), np.int64(2), np.uint64(2), Decimal(2)])
def test_whole_numbers_are_read(value: Any) -> None:
    assert parse_epsilon(value) == 2


@pytest.mark.parametrize(
    "kind", [float, np.float64, np.float32, np.float16, str, Decimal, Fraction]
)
def test_a_tenth_is_a_tenth_whatever_holds_it(kind: Any) -> None:
    """Numbers are taken as they print: float32's 0.1 is 0.100000001 only where it is computed."""
    value = kind("0.1") if kind in (str, Decimal, Fraction) else kind(0.1)
    assert parse_epsilon(value) == Fraction(1, 10)


@given(st.floats(float(losses.SMALLEST), float(losses.LARGEST)))
def test_floats_are_read_as_they_print(value: float) -> None:
    parsed = parse_epsilon(value)
    assert (parsed, float(parsed)) == (Fraction(repr(value)), value)


@given(st.fractions(losses.SMALLEST, losses.LARGEST))
def test_fractions_survive_their_own_text(value: Fraction) -> None:
    assert parse_epsilon(value) == value
    assert parse_epsilon(str(value)) == value
    assert parse_epsilon(format_exact(value)) == value  # as the ledger prints and stores them


@given(st.decimals("0.000001", 64, places=12))
def test_decimals_are_exact(value: Decimal) -> None:
    assert parse_epsilon(value) == Fraction(value)
    assert parse_epsilon(str(value)) == Fraction(value)


@pytest.mark.parametrize("value", [losses.SMALLEST, losses.LARGEST, "64", 64.0, 2.0**-20])
def test_the_ends_of_the_range_are_in_it(value: Any) -> None:
    assert parse_epsilon(value) in (losses.SMALLEST, losses.LARGEST)


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


REFUSED: list[Any] = [
    True, False, np.True_, np.False_,  # truth values are 1 and 0 to Python
    math.nan, np.float64("nan"), Decimal("NaN"), Decimal("sNaN"), "nan", pd.NA, pd.NaT,
    math.inf, -math.inf, np.float32("inf"), Decimal("Infinity"), "inf", "-Infinity",
    0, 0.0, -0.0, "0", "0/7", Decimal(0), -1, -0.1, "-1/3", Fraction(-1, 2), np.int8(-1),
    5e-324, 2.0**-1060, "1e-400", np.nextafter(2.0**-20, 0), losses.SMALLEST - Fraction(1, 10**40),
    64.00000001, losses.LARGEST + Fraction(1, 10**40), 65, 1e308, "1e400", 10**5000,
    Fraction(1, 10**5000), "", " ", "one", "0.1 0.2", "0,1", "1//2", "1/0", "1/", "0x1p-3", "ε",
    "0.1\x00", "1e", b"0.1", [0.1], (0.1,), {}, {0.1}, np.array(0.1), np.array([0.1]),
    pd.Series([0.1]), 0.1 + 0j, object(), Broken(), int, lambda: 0.1,
]  # fmt: skip


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: type(value).__name__)
def test_what_is_no_privacy_loss_is_refused(value: Any) -> None:
    refusal(lambda: parse_epsilon(value, name="delta"), r"^delta")


@pytest.mark.parametrize("parse", [parse_epsilon, parse_budget])
def test_nothing_is_a_missing_argument(parse: Any) -> None:
    refusal(lambda: parse(None), "epsilon= is needed", MissingArgument)


@pytest.mark.parametrize(("value", "printed"), [
    ("0.1", "0.1"), ("1/10", "0.1"), ("1/3", "1/3"), ("2", "2"), ("1e3", "1000"), ("1/8", "0.125"),
    ("17/10", "1.7"), ("1e-20", "0.00000000000000000001"), ("123456789.5", "123456789.5"),
    ("10/3", "10/3"), ("100", "100"), ("0.30", "0.3"), ("-1/4", "-0.25"), ("0", "0"),
])  # fmt: skip
def test_losses_print_as_the_shortest_decimal_there_is(value: str, printed: str) -> None:
    epsilon = Epsilon(value)
    assert str(epsilon) == repr(epsilon) == f"{epsilon!s}" == printed


def test_losses_pickle() -> None:
    assert pickle.loads(pickle.dumps(Epsilon("1/3"))) == Epsilon("1/3")
