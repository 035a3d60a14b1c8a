"""One element at a time: look-ups and comparisons agree with Python, whatever holds the elements.

The type that pandas chose for a column is data: one more row can turn int64 into float64 or
object. If it changed what the other rows mean, a count would change by as many as there are rows.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from elements import ELEMENTS, HOSTILE, objects
from hypothesis import example, given
from hypothesis import strategies as st

from dppandas.rows import expressions as ex
from dppandas.rows.facts.keys import is_hashable, is_missing, plain
from dppandas.rows.values import forms, vectors
from dppandas.rows.values.reading import column
from dppandas.rows.values.vectors import COMPARE, NUMBERS, Labels, Vector

# --- Labels.codes against a search one by one -----------------------------------------------------


def equal(label: Any, element: Any) -> bool:
    """Whether a public label equals an element: the definition, by Python's == within families."""
    label, element = plain(label), plain(element)
    if isinstance(label, NUMBERS) and isinstance(element, NUMBERS):
        return bool(label == element)
    if isinstance(label, str) and isinstance(element, dt.date):
        read = vectors.timestamp(label)
        return read is not None and same_instant(read, pd.Timestamp(element), is_text=True)
    if isinstance(label, dt.date) and isinstance(element, dt.date):
        return same_instant(pd.Timestamp(label), pd.Timestamp(element))
    if isinstance(label, list | tuple) and isinstance(element, list | tuple):
        pairs = zip(label, element, strict=False)
        alike = all(equal(a, b) and (type(a) is bool) == (type(b) is bool) for a, b in pairs)
        return len(label) == len(element) and alike
    kinds = (str, bytes, dt.timedelta, frozenset)
    return any(isinstance(label, k) and isinstance(element, k) for k in kinds) and label == element


def same_instant(read: pd.Timestamp, element: pd.Timestamp, is_text: bool = False) -> bool:
    if (read.tz is None) == (element.tz is None):
        return bool(read == element)
    return is_text and read.tz is None and bool(read == element.tz_localize(None))


def searched(labels: Sequence[Any], elements: Sequence[Any]) -> list[int]:
    """The position of the first label that equals an element, one by one."""

    def one(element: Any) -> int:
        found = (i for i, label in enumerate(labels) if equal(label, element))
        return len(labels) if is_missing(element) else next(found, len(labels))

    return [one(element) for element in elements]


def assert_found(labels: Sequence[Any], series: pd.Series[Any]) -> None:
    elements = series.astype(object).tolist()
    assert Labels(tuple(labels)).codes(column(series)).tolist() == searched(labels, elements)


WHOLE = st.integers(-5, 20) | st.sampled_from(
    [2**k + by for k in (7, 8, 15, 16, 31, 32, 53, 63, 64) for by in (-1, 0, 1)]
    + [-(2**k) + by for k in (7, 15, 31, 53, 63, 64) for by in (-1, 0, 1)]
)
REAL = st.sampled_from(
    [0.1, 0.5, -0.5, 1.5, 2.0, -0.0, 1e300, -1e300, math.inf, -math.inf, 5e-324]
    + [sign * 2.0**k for k in (31, 53, 63, 64, 65) for sign in (1, -1)]
) | st.integers(-5, 20).map(float)
OTHER = st.sampled_from([True, False, Decimal("0.1"), Decimal("0.5"), Decimal(3), Fraction(1, 2),
    Fraction(7, 1), 10**400, "a", "b", "3", "", "é", (1, 2), b"a", dt.date(2020, 1, 1),
    pd.Timestamp("2020-01-01"), pd.Timedelta("1D")])  # fmt: skip
LABELS = st.lists(WHOLE | REAL | OTHER, unique=True, max_size=12)
NEARBY = st.lists(st.integers(-5, 20) | st.booleans() | st.floats(-3, 3), unique=True, max_size=8)


@pytest.mark.parametrize("dtype", [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "Int64", "UInt8",
    "UInt64", "int64[pyarrow]", "uint64[pyarrow]",
])  # fmt: skip
@given(labels=LABELS | NEARBY, data=st.data())
def test_integers_are_found(dtype: str, labels: list[Any], data: st.DataObject) -> None:
    limits = np.iinfo(dtype.split("[")[0].lower())
    fitting = WHOLE.filter(lambda x: limits.min <= x <= limits.max)
    ends = st.sampled_from([int(limits.min), int(limits.max)])
    series = pd.Series(data.draw(st.lists(fitting | ends, max_size=20)), dtype=dtype)
    if not dtype.islower() or "[" in dtype:  # these know missing values
        series[:2] = pd.NA
    assert_found(labels, series)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "Float64", "double[pyarrow]"])
@given(labels=LABELS | NEARBY, values=st.lists(REAL | WHOLE.map(float) | st.just(math.nan)))
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_floats_are_found(dtype: str, labels: list[Any], values: list[float]) -> None:
    assert_found(labels, pd.Series(np.array(values, dtype="float64")).astype(dtype))


@pytest.mark.parametrize("dtype", ["bool", "boolean", "bool[pyarrow]", "object"])
@given(labels=LABELS | NEARBY, values=st.lists(st.booleans()))
def test_truth_values_are_found(dtype: str, labels: list[Any], values: list[bool]) -> None:
    assert_found(labels, pd.Series(values, dtype=dtype))


MISSING = st.sampled_from([None, math.nan, pd.NA, pd.NaT])


@given(labels=LABELS, values=st.lists(WHOLE | REAL | OTHER | MISSING, max_size=20))
@example([1, "a"], [[1], {}, {1}, np.int8(1), np.float32(0.1), "a", complex(1), np.str_("a")])
def test_mixed_objects_are_found(labels: list[Any], values: list[Any]) -> None:
    assert_found(labels, objects(values))


@given(labels=LABELS, levels=LABELS, data=st.data())
def test_categories_are_found(labels: list[Any], levels: list[Any], data: st.DataObject) -> None:
    """What is looked up are the few levels; codes of -1 are missing."""
    levels = [x for x in levels if not isinstance(x, tuple)]  # pandas reads them as a MultiIndex
    codes = data.draw(st.lists(st.integers(-1, len(levels) - 1), max_size=20))
    values = pd.Categorical.from_codes(codes, categories=pd.Index(levels, dtype=object))
    assert_found(labels, pd.Series(values))


TEXT = st.text(st.sampled_from("ab1 é\x00\U0001f600"), max_size=3)


@pytest.mark.parametrize(
    "dtype", ["str", "string[python]", "string[pyarrow]", "object", "category"]
)
@given(labels=st.lists(TEXT | WHOLE, unique=True, max_size=8), values=st.lists(TEXT | st.none()))
def test_text_is_found(dtype: str, labels: list[Any], values: list[Any]) -> None:
    assert_found(labels, pd.Series(values, dtype=dtype))


@pytest.mark.parametrize("dtype", ["string[pyarrow]", "string[python]", "object"])
def test_text_that_is_no_unicode_is_found(dtype: str) -> None:
    """A lone surrogate can't enter Arrow's memory, and pandas 2 takes one for another."""
    values = ["a", "b"] if "pyarrow" in dtype else ["a", "\ud801", "\ud800", None, "\ud801"]
    assert_found(["\ud800", "b", "a", "\ud801"], pd.Series(values, dtype=dtype))


TIMES = [*map(pd.Timestamp, ("2020-01-01", "1969-07-20T20:17:40.5", "2020-06-01"))]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@given(labels=st.lists(st.sampled_from([*TIMES, "2020-01-01", 0, 18262]), unique=True))
def test_times_are_found(unit: str, zone: str | None, labels: list[Any]) -> None:
    times = pd.Series([*TIMES, None], dtype=f"datetime64[{unit}]").dt.tz_localize(zone)
    labels = [x.tz_localize(zone) if isinstance(x, pd.Timestamp) else x for x in labels]
    assert_found(labels, times)
    assert_found([x.to_pydatetime() if isinstance(x, pd.Timestamp) else x for x in labels], times)
    assert_found(labels, times.astype(object))


def test_the_ends_of_integers_are_labels_like_others() -> None:
    ends = [-(2**63), 2**63 - 1, 2**63, 2**64 - 1]
    for labels in (ends, [0, *ends], [float(-(2**63)), float(2**63)]):
        assert_found(labels, pd.Series([-(2**63), 2**63 - 1, 0, -1]))
        assert_found(labels, pd.Series([2**63, 2**64 - 1, 0, 2**63 - 1], dtype="uint64"))
        assert_found(labels, pd.Series([-(2.0**63), 2.0**63, 2.0**64]))


def test_wide_and_narrow_sets_of_labels_look_up_alike() -> None:
    """Narrow ones by a table, wide ones by search; offsets wrap around modulo 2^64 in the table."""
    whole = pd.Series([-(2**63), -1, 0, 1, 7, 2**16, 2**17, 2**63 - 1])
    ends = [-(2**63), 1 - 2**63], [2**63 - 1], [-(2**63), -1, 2**63 - 2], [2**63 - 1, 2**63 - 3]
    for labels in ([7, 0], [0, 2**16 - 1], [0, 2**17], [0, 7, 2**17], [-6, 8, 1], *ends):
        assert_found(labels, whole)
        assert_found(labels, whole.astype(float))
    assert Labels((7, 2**17 + 7))._integers.table is not None
    assert Labels((7, 8, 2**17))._integers.table is None


def test_times_between_labels_and_beyond_microseconds_are_none_of_them() -> None:
    """Of labels at even steps, whose places are found by arithmetic, and of others."""
    start = pd.Timestamp("2020-01-01")
    apart = [pd.Timedelta(0), *(pd.Timedelta(n, "ns") for n in (1, 999, 1000, 1001, 3_600 * 10**9))]
    days = pd.Series([*pd.date_range(start, periods=5), None], dtype="datetime64[ns]")
    cells = pd.concat([sign * each + days for each in apart for sign in (1, -1)])
    even = list(pd.date_range(start, periods=4))
    finer = start + apart[1]
    for labels in (even, even[::2], even[:1], [*even, finer], [even[0], finer - apart[3]]):
        assert_found(labels, cells)


def test_no_labels_and_no_elements() -> None:
    for values in ([1, 2], [0.5], ["a"], [True], [None], []):
        assert_found([], pd.Series(values, dtype=None if values else "int64"))
        assert_found([1, "a"], pd.Series(values, dtype=None if values else "int64")[:0])


# --- the meaning of an element does not depend on its column --------------------------------------


def alone(value: Any) -> pd.Series[Any]:
    """A column of one element, of the type that pandas chooses for it."""
    try:
        return pd.Series([value]) if np.ndim(value) == 0 else objects([value])
    except OverflowError:  # pandas 2 can't hold 10**400 but as an object
        return objects([value])


class Rows:
    """A chunk with a column c."""

    def __init__(self, held: pd.Series[Any]) -> None:
        self.rows, self._vector = len(held), column(held)

    def column(self, name: Any) -> Vector:
        return self._vector


SCALARS: list[Any] = [
    0, 1, True, -1, 2**53 + 1, 2**63, 2**64 - 1, -(2**63), 10**400, 0.1, 0.5, 2.0**53, 2.0**63,
    math.inf, Decimal("0.1"), Fraction(1, 10), Fraction(1, 2), "a", "0.1", "12", "now",
    "2020-01-01", "2020-01-01T00:00:00Z", pd.Timestamp("2020-01-01"), dt.date(2020, 1, 1),
    dt.datetime(2020, 1, 1), dt.datetime(2019, 12, 31, 23, tzinfo=dt.UTC),
    pd.Timestamp("2020-01-01T00:00:00.000000001"),
]  # fmt: skip
C = ex.Column("c")
EXPRESSIONS: list[ex.Expression] = [
    *(ex.Compare(operation, C, ex.Literal(scalar)) for operation in COMPARE for scalar in SCALARS),
    *(ex.Compare(operation, C, ex.Arithmetic("+", C, ex.Literal(0))) for operation in COMPARE),
    C, ex.Not(C), ex.IsMissing(C),
    ex.IsIn(C, tuple(dict.fromkeys(SCALARS))), ex.IsIn(C, (1, 12, 2**53 + 1)),
    ex.IsIn(C, (2**63 + 1, 0.5)), ex.IsIn(C, ("a", "12")), ex.IsIn(C, ()),
    ex.Compare(">", ex.Arithmetic("+", C, ex.Literal(1)), ex.Literal(1.5)),
    ex.Compare("==", ex.Negative(C), ex.Literal(0)),
    *(ex.IsMissing(ex.Arithmetic(op, C, ex.Literal(0)))
      for op in ("+", "-", "*", "/", "//", "%", "**")),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _silence_is_required(recwarn: pytest.WarningsRecorder) -> Any:
    """A warning would tell of the data, as an exception would."""
    yield
    assert not [w.message for w in recwarn if "overflow encountered in cast" not in str(w.message)]


def test_an_element_means_the_same_alone_and_among_others() -> None:
    """Every expression on every element: in a mixed column, and in a column of its own."""
    single = [Rows(alone(x)) for x in ELEMENTS]
    hashable = [is_hashable(x) for x in ELEMENTS]  # look-ups without lists and dicts don't differ
    mixed, fewer = Rows(objects(ELEMENTS)), Rows(objects([*itertools.compress(ELEMENTS, hashable)]))
    with np.errstate(all="raise"):
        for expression in EXPRESSIONS:
            apart = [bool(expression.truth(chunk)[0]) for chunk in single]
            assert expression.truth(mixed).tolist() == apart, expression
            assert expression.truth(fewer).tolist() == [*itertools.compress(apart, hashable)]


@pytest.mark.parametrize("operation", COMPARE)
def test_two_columns_compare_as_their_elements_do(operation: str) -> None:
    """Integers with floats beyond 2^53, times of several units, text with times: all pairs."""
    single = [column(alone(x)) for x in ELEMENTS]
    left = column(objects(ELEMENTS))
    for x, right in zip(ELEMENTS, single, strict=True):
        repeated = column(objects([x] * len(ELEMENTS)))
        together = vectors.compare_vectors(operation, left, repeated).tolist()
        with np.errstate(all="raise"):
            apart = [vectors.compare_vectors(operation, each, right)[0] for each in single]
        assert together == apart, x


@pytest.mark.parametrize("dtype", ["object", "category", "int64", "Int64", "int64[pyarrow]"])
@given(values=st.lists(WHOLE.filter(lambda x: -(2**63) <= x < 2**63)), scalar=WHOLE | REAL)
def test_comparison_with_a_number_is_exact(dtype: str, values: list[int], scalar: Any) -> None:
    """Python's own comparison is the law: numpy's would round 2^53 + 1."""
    found = column(pd.Series(values, dtype=dtype))
    for operation, compare in COMPARE.items():
        wanted = [compare(value, scalar) for value in values]
        assert vectors.compare_scalar(operation, found, scalar).tolist() == wanted


@given(
    st.lists(st.tuples(REAL | st.floats(allow_nan=False), WHOLE)),
    st.sampled_from([*SCALARS[:17], Decimal("0.5"), 2**53 + 1]),
)
def test_comparison_of_floats_is_exact(pairs: list[tuple[float, int]], scalar: Any) -> None:
    floats = column(pd.Series([x for x, _ in pairs], dtype=float))
    kept = [(x, i) for x, i in pairs if -(2**63) <= i < 2**63]
    real = column(pd.Series([x for x, _ in kept], dtype=float))
    whole = column(pd.Series([i for _, i in kept], dtype="int64"))
    for operation, compare in COMPARE.items():
        wanted = [compare(x, scalar) for x, _ in pairs]
        assert vectors.compare_scalar(operation, floats, scalar).tolist() == wanted
        against = vectors.compare_vectors(operation, real, whole)
        assert against.tolist() == [compare(x, i) for x, i in kept]


@pytest.mark.parametrize("kind", [f"datetime64[{u}]" for u in ("s", "ns", "ns, Europe/Berlin")])
def test_times_compare_by_the_clock_on_the_wall(kind: str) -> None:
    times = pd.Series(pd.to_datetime(["2020-01-01 00:30", "2019-12-31 23:30", None]))
    times = times.astype(kind) if "," not in kind else times.dt.tz_localize("Europe/Berlin")
    for held in (times, times.astype(object), times.astype("category")):
        vector = column(held)
        assert vectors.compare_scalar(">=", vector, "2020-01-01").tolist() == [True, False, False]
        assert vectors.compare_scalar("!=", vector, "2020-01-01").tolist() == [True, True, True]
        late = vectors.compare_scalar("<", vector, pd.Timestamp("2019-12-31T23:00Z")).tolist()
        assert late == [False, "," in kind, False]  # without a zone no instant is meant


# --- nothing raises on data -----------------------------------------------------------------------


def test_nothing_raises_on_hostile_objects_and_others_are_unharmed() -> None:
    """Each stands among plain elements: they mean what they meant without it."""
    plain = [1, "a", 0.5, None, pd.Timestamp("2020-01-01"), 2**63, True]
    calm = Rows(objects(plain))
    wanted = {expression: expression.truth(calm).tolist() for expression in EXPRESSIONS}
    for bad in HOSTILE:
        chunk = Rows(objects([*plain, bad]))
        for expression in EXPRESSIONS:
            try:
                found = expression.truth(chunk).tolist()
            except Exception as error:
                raise AssertionError(f"{expression} on {vars(type(bad))}") from error
            assert found[:-1] == wanted[expression], (str(expression), vars(type(bad)))


def test_codes_of_few_bits_compute_as_whole_numbers() -> None:
    """pandas keeps 120 categories in int8, which wraps around where two such codes are added."""
    texts = [f"{i:03d}" for i in range(120)]
    one, other = (column(pd.Series(each, dtype="category")) for each in (texts, texts[::-1]))
    same = [a == b for a, b in zip(texts, texts[::-1], strict=True)]
    assert vectors.compare_vectors("==", one, other).tolist() == same
    keep = np.arange(120) % 2 == 0
    chosen = [a if k else b for k, a, b in zip(keep, texts, texts[::-1], strict=True)]
    assert vectors.as_objects(vectors.choose(keep, one, other)).tolist() == chosen
    assert vectors.as_objects(forms.joined([one, other])).tolist() == texts + texts[::-1]


def test_what_goes_missing_costs_no_look_at_what_stays() -> None:
    """As in `.where(mask)` without another value; whatever holds the elements."""
    keep = np.arange(6) % 2 == 0
    for values in (
        [1, 2, 3, 4, 5, 6], [0.5] * 6, list("abcabc"), [True, False] * 3, [None] * 6,
        [1, "a", None, 2.5, True, "b"], pd.date_range("2020", periods=6).tolist(), [[1], [2]] * 3,
    ):  # fmt: skip
        for own in (column(pd.Series(values)), column(pd.Series(values, dtype=object))):
            cells = vectors.as_objects(own).tolist()
            for gone in (vectors.constant(None, 6), vectors.constant(float("nan"), 6)):
                stays = vectors.as_objects(vectors.choose(keep, own, gone)).tolist()
                goes = vectors.as_objects(vectors.choose(keep, gone, own)).tolist()
                assert list(map(repr, stays)) == [
                    repr(cell) if k else "None" for k, cell in zip(keep, cells, strict=True)
                ]
                assert list(map(repr, goes)) == [
                    "None" if k else repr(cell) for k, cell in zip(keep, cells, strict=True)
                ]
    texts = forms.Levels(texts=np.array(["a", "b"], dtype=object))
    own = forms.Coded(np.array([0, 1, 1]), texts)
    vectors.choose(np.array([True, False, True]), own, vectors.constant(None, 3))
    assert texts._cells is None
