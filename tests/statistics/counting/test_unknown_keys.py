"""Labels that nobody declared: thresholds by brute force, laws by enumeration, hostile labels."""

import dataclasses
import datetime
import itertools
import math
import random
from collections.abc import Callable, Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from elements import PLAIN, WILD, Odd
from exact import assert_brackets, law
from operations import SCHEMA, UNKNOWN, integers
from refusals import refusal
from sizes import third

import dppandas as dp
from dppandas.engines.pandas import PandasEngine
from dppandas.engines.readers import Columns
from dppandas.engines.truncation import kept_rows
from dppandas.errors import MissingArgument, QueryError, RecordError, UnknownColumn
from dppandas.privacy.accounting import conversions
from dppandas.privacy.accounting.losses import Delta, Epsilon, Loss
from dppandas.privacy.accounting.measures import LossRequest, Measure
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.privacy.mechanisms.partition_selection import Curve, PartitionSelection
from dppandas.privacy.mechanisms.thresholds import KeyedNoise, Threshold, least_threshold
from dppandas.privacy.sampling import samplers
from dppandas.rows.facts.keys import is_missing
from dppandas.rows.facts.units import Unit
from dppandas.rows.values.hashing import name_of
from dppandas.rows.values.labels import coded, named, rank
from dppandas.rows.values.vectors import vector
from dppandas.statistics.counting import label_accumulators

DIGITS = Context(60)
KEY = b"0123456789abcdef"
DELTA = Delta("1e-6")


@pytest.fixture
def approximate() -> None:
    dp.session(epsilon=1000, delta="0.01")


# --- thresholds -----------------------------------------------------------------------------------


def partitions(rows: int, most: int | None = None) -> Iterator[list[int]]:
    """All ways to spread rows over labels."""
    most = rows if most is None else most
    if not rows:
        yield []
    for first in range(min(rows, most), 0, -1):
        for rest in partitions(rows - first, first):
            yield [first, *rest]


def ratio(scale: Fraction) -> Decimal:
    """a = exp(-1/scale), to 60 digits."""
    return (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp(DIGITS)


def tail(threshold: int, scale: Fraction) -> Decimal:
    """P[Z ≥ threshold], by the sum of the tail."""
    a = ratio(scale)
    if threshold <= 0:
        return 1 - tail(1 - threshold, scale)
    return DIGITS.power(a, threshold) / (1 + a)


def chance(threshold: int, split: list[int], scale: Fraction) -> Decimal:
    """That a label of a split reaches the threshold."""
    return 1 - math.prod((1 - tail(threshold - n, scale) for n in split), start=Decimal(1))


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("epsilon", ["1", "0.3", "5", "64"])
@pytest.mark.parametrize("delta", ["1e-2", "1e-5", "1e-9"])
def test_thresholds_are_the_least_that_hold(rows: int, epsilon: str, delta: str) -> None:
    scale, allowed = rows / Fraction(epsilon), Decimal(delta)
    least = least_threshold(rows, scale, Fraction(delta))
    splits = list(partitions(rows))
    assert max(chance(least, split, scale) for split in splits) <= allowed
    assert max(chance(least - 1, split, scale) for split in splits) > allowed


def test_the_worst_split_is_all_on_one_label_or_each_on_its_own() -> None:
    worst = {
        tuple(max(partitions(rows), key=lambda split: chance(30, split, rows / epsilon)))
        for rows in (2, 3, 5, 12)
        for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3), Fraction(8))
    }
    assert {(1,) * 3, (3,), (1,) * 5, (5,)} <= worst  # both happen
    assert all(len(set(split)) == 1 and (len(split) == 1 or split[0] == 1) for split in worst)


def test_known_thresholds() -> None:
    assert least_threshold(1, Fraction(1), Fraction("1e-5")) == 13  # not 12
    assert Threshold.calibrate(1, Fraction(1), Delta("1e-5")).least == 13
    # all scales that can be asked for are decided at once
    assert least_threshold(2**31, Fraction(2**51), Fraction("1e-6")) == 77934623735730350
    assert least_threshold(1, Fraction(1, 64), Fraction("1e-30")) == 3
    refusal(lambda: least_threshold(1, Fraction(1), Fraction(1, 2)))


def told(count: int, scale: Fraction, least: int) -> dict[int | None, float]:
    """The law of what is told of a label; None for nothing. A label without rows is never told."""
    if not count:
        return {None: 1.0}
    a = float(ratio(scale))
    laws = {v: (1 - a) / (1 + a) * a ** abs(v - count) for v in range(least, least + 90)}
    return {**laws, None: float(1 - tail(least - count, scale))}


def over(one: dict[Any, float], other: dict[Any, float], epsilon: Fraction) -> float:
    """The δ that is needed beside ε for one way of comparing."""
    e = math.exp(epsilon)
    return math.fsum(max(0.0, p - e * other.get(x, 0.0)) for x, p in one.items())


@pytest.mark.parametrize(("before", "after", "rows"), [
    ([0], [1], 1), ([5], [6], 1), ([0, 0], [1, 1], 2), ([0, 3], [1, 4], 2), ([0], [2], 2),
    ([9, 0], [9, 2], 2), ([4, 4], [5, 5], 2), ([0, 0], [2, 0], 3), ([0, 20], [1, 22], 3),
])  # fmt: skip
def test_what_is_told_keeps_epsilon_and_delta(before: Any, after: Any, rows: int) -> None:
    """Both ways, over all outcomes. Beyond what is enumerated lies less than 1e-12."""
    epsilon, delta = Fraction(1), Delta("1e-3")
    law = Threshold.calibrate(rows, epsilon, delta)
    laws = []
    for counts in (before, after):
        parts = [told(count, law.scale, law.least) for count in counts]
        laws.append({
            tuple(v for v, _ in point): math.prod(p for _, p in point)
            for point in itertools.product(*(part.items() for part in parts))
        })  # fmt: skip
    assert over(laws[1], laws[0], epsilon) <= delta + 1e-12
    assert over(laws[0], laws[1], epsilon) <= delta + 1e-12


def test_a_threshold_one_lower_would_break_delta() -> None:
    law = Threshold.calibrate(1, Fraction(1), Delta("1e-3"))
    fresh = told(1, law.scale, law.least - 1)
    assert over(fresh, told(0, law.scale, law.least - 1), Fraction(1)) > 1e-3


def entries(**counts: int) -> Any:
    return held({name: ((name,), (count,)) for name, count in counts.items()})


def held(entries: Any) -> Any:
    """Labels with one integer each, as a mechanism is handed them."""
    return label_accumulators.NumberedLabels.of(entries, 1)


@pytest.mark.parametrize("noise", [-3, 0, 4])
def test_what_is_told_is_what_reaches_the_threshold(noise: int, frozen: Any) -> None:
    law = Threshold.calibrate(1, Fraction(1), Delta("1e-5"))
    frozen(noise)
    found = law.release(entries(a=14 - noise, b=12 - noise, c=13 - noise))
    assert found == [(("a",), (14,)), (("c",), (13,))]  # in the order given
    assert law.release(entries()) == []


def test_each_label_has_noise_of_its_own() -> None:
    """A hundred labels of 50 rows at scale 1: two noises alike for all would have probability
    0.46^99."""
    law = Threshold.calibrate(1, Fraction(1), Delta("1e-5"))
    noisy = law.release(held({str(i): ((i,), (50,)) for i in range(100)}))
    assert len({count for _, (count,) in noisy}) > 1


@pytest.mark.statistical
def test_a_label_at_the_threshold_is_told_as_often_as_not() -> None:
    """10,000 labels of T rows are told with probability P[Z ≥ 0] = 1/(1+a) = 0.7311 each: the
    number lies within 5 standard deviations (222) of 7311 but with probability 6e-7. A threshold
    off by one would be off by 1,900 or more."""
    law = Threshold.calibrate(1, Fraction(1), Delta("1e-5"))
    noisy = law.release(held({str(i): ((i,), (law.least,)) for i in range(10_000)}))
    assert abs(len(noisy) - 7311) <= 222


# --- labels alone ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1", "0.1", "3", "10", "0.001"])
@pytest.mark.parametrize("delta", ["1e-2", "1e-5", "1e-9"])
def test_the_curve_is_the_recursion(epsilon: str, delta: str) -> None:
    d, a = Decimal(delta), Decimal(epsilon).copy_negate().exp(DIGITS)
    curve, p = Curve.of(Fraction(epsilon), Fraction(delta)), Decimal(0)
    assert curve.value(0) == 0
    with localcontext(DIGITS):
        for n in range(1, min(curve.last + 3, 400)):
            p = min(p / a + d, 1 - a * (1 - p - d), Decimal(1))
            assert curve.value(n) == pytest.approx(float(p), abs=4e-16)
    assert curve.value(curve.last + 1) == 1
    assert curve.value(curve.last) < 1 + 1e-12


def test_the_curve_crosses_a_half_at_twelve() -> None:
    curve = Curve.of(Fraction(1), Fraction("1e-5"))
    assert curve.value(11) < 0.5 < curve.value(12)
    sure = curve.released_from(0.95)
    assert curve.value(sure) >= 0.95 > curve.value(sure - 1)
    assert not curve.tells(0)
    assert curve.tells(curve.last + 1)
    assert curve.tells(10**9)


def of_curve(curve: Curve, n: int) -> Any:
    """The law of whether a label of n units is told, by all bits in words of 4."""
    around = partial(curve._around, n)
    return law(lambda script: samplers.bernoulli_of(around, script, 4), 600, 4)


@pytest.mark.sized
@pytest.mark.parametrize("n", third([1, 5, 11, 12, 13, 20], 0))
def test_labels_are_told_with_exactly_the_probability_of_the_curve(n: int) -> None:
    """By enumeration of all bits, in words of 4."""
    curve = Curve.of(Fraction(1), Fraction("1e-2") if n < 5 else Fraction("1e-5"))
    found, undecided = of_curve(curve, n)
    low, high = (Fraction(end) for end in curve._around(n, 200))
    assert high - low < Fraction(1, 10**150)
    assert_brackets(found, undecided, lambda yes: low if yes else 1 - low, [True, False])
    assert undecided < 2.0**-60


def test_a_rational_probability_is_decided_too() -> None:
    """δ = 1/128 has an end: an interval around it never decides the floor, more bits do."""
    found, undecided = of_curve(Curve.of(Fraction(1), Fraction(1, 128)), 1)
    assert_brackets(found, undecided, lambda yes: Fraction(1 if yes else 127, 128), [True, False])


def test_intervals_of_the_curve_nest() -> None:
    curve = Curve.of(Fraction("0.1"), Fraction("1e-9"))
    for n in (1, 2, 100, curve.first, curve.first + 1, curve.last):
        wide, narrow = curve._around(n, 25), curve._around(n, 300)
        assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]


def test_selection_splits_the_loss_over_the_labels_of_a_unit() -> None:
    law = PartitionSelection.calibrate(4, Fraction(1), Fraction("1e-6"))
    assert (law.epsilon, law.delta) == (Fraction(1, 4), Fraction("1e-6") / 4)
    assert law.cost(Measure.APPROXIMATE, None) == Loss(Epsilon(1), DELTA)  # type: ignore[arg-type]
    df = pd.DataFrame({"owner": [1] * 3, "x": ["a", "b", "c"]})
    query = dp.protect(df, "d", unit="owner", max_rows=3)["x"].unique(delta=DELTA)
    asked = LossRequest(Measure.APPROXIMATE, Epsilon(1), DELTA)
    made = query._statistic.mechanism(asked, query._statistic.sensitivity(3 * 2))
    assert isinstance(made, PartitionSelection)
    assert made.keys == 6  # both branches of a frame of two


def test_unique_counts_units_and_not_rows(approximate: None) -> None:
    rows = [{"who": i, "x": x} for i in range(5) for x in ("a", "a", "a", "b" if i else "c")]
    people = dp.protect(pd.DataFrame(rows), "d", unit="who", max_rows=4)
    asked = people["x"].unique()
    found = integers(asked, asked._table.engine)
    assert sorted(found.values()) == [(("a",), (5,)), (("b",), (4,)), (("c",), (1,))]
    assert people["x"].unique(epsilon=1, delta=DELTA).tolist() == []  # or with 2e-6: 5 units
    many = pd.Series(["b", 2, "a", 10, b"x", None, {}] * 99, dtype=object)
    expected = [2, 10, "a", "b", b"x"]
    column = dp.private(many, unit="row")
    found = column.unique(epsilon=1, delta="1e-5")
    assert (found.tolist(), found.dtype) == (expected, object)
    assert dp.unique(column, epsilon=1, delta="1e-5").tolist() == expected


def test_lists_that_are_equal_in_python_alone_are_two_labels_of_an_index(exact: None) -> None:
    dp.session(epsilon=1000, delta="0.01")
    cells = {"pair": [(1, "a"), (True, "a"), (1.0, "a"), "q"] * 99, "b": ["b"] * 396}
    p = dp.protect(pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in cells.items()}), "two")
    counted = p.value_counts(["pair", "b"], epsilon=9, delta="1e-5")
    sizes = p.groupby(["pair", "b"], delta="1e-5").size(epsilon=9)
    for answer in (counted, sizes, dp.record(counted).intervals()["lower"]):
        shown = {repr(label): n for label, n in zip(answer.index, answer, strict=True)}
        assert shown == {
            "((1, 'a'), 'b')": 198, "((True, 'a'), 'b')": 99, "('q', 'b')": 99,
        }  # fmt: skip
    assert counted.index.names == ["pair", "b"]
    assert counted.reset_index()["pair"].map(repr).nunique() == 3


# --- labels ---------------------------------------------------------------------------------------

HOSTILE: list[Any] = [
    *itertools.chain(*PLAIN.values()), *WILD, "\ud800", "\x00", "", " ", np.str_("a"),
    Decimal("0.5"), np.float32(0.5), np.float16(0.1), 0.5, 10**400, -(10**400), Decimal("1e400"),
    Decimal("1e-9999999"), Decimal("inf"), (1.0, "a"), (True, "a"), (1, None), ((1,), 2),
    frozenset([1]), {1}, np.array([1]), np.datetime64("2020-01-01"), np.timedelta64(1, "D"),
    np.datetime64("292277026596-01-01"), datetime.timedelta(1), datetime.timedelta(10**6),
    pd.Interval(0, 1), pd.Interval(0.0, 1.0), pd.Interval(0, 1, "left"), pd.Period("2020-01"),
    pd.Timestamp.min, pd.Timestamp.max, pd.Timestamp(1), datetime.time(1, 2), np.uint64(2**64 - 1),
    datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), object(),
]  # fmt: skip


def test_equal_values_have_one_label_and_no_others_have() -> None:
    known = [(value, label) for value in HOSTILE if (label := named(value)) is not None]
    assert len(known) > 60
    for (one, a), (other, b) in itertools.product(known, known):
        if a[0] == b[0]:
            assert repr(a[1]) == repr(b[1])
            assert type(a[1]) is type(b[1])
        assert (name_of(one) == name_of(other)) == (a[0] == b[0])
    for _, label in known:
        assert named(label[1]) == label  # a label's label is itself
        str(label[1])


def test_what_is_missing_or_unknown_has_no_label() -> None:
    for value in (None, math.nan, pd.NA, pd.NaT, Decimal("sNaN"), {}, {1}, Odd(), object(), 1j):
        assert named(value) is None
    assert named((1, math.nan)) is None
    assert named(10**400) is None  # can't be printed, either


def test_labels_have_an_order() -> None:
    assert sorted(map(rank, [label[1] for label in map(named, HOSTILE) if label is not None]))
    ordered = ["b", 2, -1.5, Decimal("0.1"), "a", math.inf, -math.inf, 10, (1,), b"c"]
    assert sorted(ordered, key=rank) == [
        -math.inf, -1.5, Decimal("0.1"), 2, 10, math.inf, "a", "b", (1,), b"c",
    ]  # fmt: skip


@pytest.mark.parametrize(("values", "kinds"), [
    ([1, 2, 2, 0, 1, 1], ["int8", "uint64", "float32", "Int64", "category", object, "Float64"]),
    (["a", "b", "", "b"], [object, "string", "category"]),
    ([0.1, 0.5, -0.0, 0.5], ["float64", "Float64", "category", object]),
    ([True, False, True], [bool, "boolean", object, "category", "int64"]),
    ([pd.Timestamp(2020, 1, 1), pd.Timestamp(2021, 1, 1)] * 2,
     ["datetime64[ns]", "datetime64[s]", object, "category"]),
    ([pd.Timestamp(2020, 1, 1, tz="UTC")] * 3,
     ["datetime64[ns, UTC]", "datetime64[ns, Europe/Berlin]", object]),
    ([pd.Timedelta(1, "D"), pd.Timedelta(2, "D")], ["timedelta64[ns]", object]),
])  # fmt: skip
def test_the_type_of_a_column_is_no_part_of_its_labels(values: list[Any], kinds: list[Any]) -> None:
    frames = [pd.DataFrame({"x": pd.Series(values).astype(kind)}) for kind in kinds]
    if isinstance(values[0], int | float | str):
        beside = pd.Series([*values, None]).convert_dtypes(dtype_backend="pyarrow")
        frames.append(pd.DataFrame({"x": beside}))
    found = [integers(f.dp["x"].value_counts(delta=DELTA), PandasEngine(f, Unit(), KEY))
             for f in frames]  # fmt: skip
    assert all(repr(sorted(each.items())) == repr(sorted(found[0].items())) for each in found)


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("unit", [Unit(), Unit("owner", 3)])
def test_order_and_blocks_never_change_what_is_found(name: str, unit: Unit) -> None:
    rng = random.Random(name)
    frame = pd.concat([SCHEMA.astype(object)] * 3, ignore_index=True)
    for column in ("group", "code", "number"):
        frame[column] = pd.Series(rng.choices(HOSTILE, k=len(frame)), dtype=object)
    asked = UNKNOWN[name](dp.private(frame, unit=unit.column or "row", max_rows=unit.max_rows))
    answers = []
    for block in (1, 2, 7, 1000):
        shuffled = frame.sample(frac=1, random_state=rng.randrange(1000))
        answers.append(integers(asked, PandasEngine(shuffled, unit, KEY, block)))
    assert answers[0]
    assert all(answer == answers[0] for answer in answers)
    texts = [repr(sorted((k, v) for k, v in answer.items())) for answer in answers]
    assert texts.count(texts[0]) == len(texts)  # the very same labels, 1 and 1.0 told apart


def test_values_that_occur_only_in_rows_left_out_are_no_labels() -> None:
    """Noise is for labels that have a row: fill values, categories and filtered rows have none."""
    texts = pd.Categorical(["a", "b", "a"], categories=["a", "b", "never"])
    frame = pd.DataFrame({"x": pd.Series([5, None, 7], dtype="Int64"), "y": texts})
    frame["keep"] = [True, True, False]
    for column, label in (("x", 5), ("y", "a")):
        asked = frame[[column, "keep"]].dp.query("keep")[column].value_counts(delta=DELTA)
        names = {label for label, _ in integers(asked, asked._table.engine).values()}
        assert names == {(label,)} | ({("b",)} if column == "y" else set())


@pytest.mark.parametrize("dtype", [object, "string", "str"])
def test_texts_that_agree_up_to_a_nul_are_not_one(dtype: Any) -> None:
    """pandas 2 takes them for one, as labels and as names of units."""
    texts = ["a\x00x", "a\x00y", "a", "", "\x00"]
    frame = pd.DataFrame({"x": pd.Series(texts, dtype=dtype), "y": 1})
    asked = frame.dp["x"].value_counts(delta=DELTA)
    assert {label for (label,), _ in integers(asked, asked._table.engine).values()} == set(texts)
    assert kept_rows(Columns(frame), Unit("x", 1), KEY).all()


def test_coded_marks_what_has_no_label() -> None:
    codes, known, decode = coded(vector(np.array(["a", None, "a", {}, 2, 2.0, True], dtype=object)))
    assert known.tolist() == [True, False, True, False, True, True, True]
    assert decode.labels(codes[known]) == ["a", "a", 2, 2, 1]


@pytest.mark.parametrize("most", [1, 5, 2**22])
def test_numbers_are_one_label_whatever_holds_them(most: int, monkeypatch: Any) -> None:
    """In int64 and in float64, zero of either sign; and however many rows are named at once."""
    monkeypatch.setattr(label_accumulators, "ROWS_PER_FOLD", most)
    values = [0, 1, 1, -3, 2**53 - 1, 2**53 - 1, 7]
    reals = [-0.0, *map(float, values), math.inf, -math.inf, math.nan, 0.1, -0.0, 5e-324, 1e308]
    frame = pd.DataFrame({"x": values}).dp
    both = dp.concat([frame, frame.assign(x=frame["x"] / 1)])
    asked = {(*values, *values): both["x"], (*reals,): pd.DataFrame({"x": reals}).dp["x"]}
    for each, column in asked.items():
        keys = column.value_counts(delta=DELTA)
        found = integers(keys, PandasEngine(keys._table.engine.read, Unit(), KEY, 2))
        assert dict(found.values()) == {(x,): (each.count(x),) for x in each if x == x}
        assert all(str(x) != "-0.0" for (x,), _ in found.values())
        assert list(found.values()) == sorted(found.values())


#: Few values, of which some are equal.
FEW = [2, 2.0, True, 1, -0.0, 0, "a", "2", "", None, math.nan, 0.5, Decimal("0.5"), (1, "a")]


@pytest.mark.parametrize("kind", ["object", "int64", "float64", "str", "category", "Int64"])
@pytest.mark.parametrize("names", [["x"], ["x", "y"]], ids=len)
def test_labels_by_number_are_those_by_name(names: list[str], kind: str, monkeypatch: Any) -> None:
    """Many tables of few values: the same names, labels, integers and order, and with the same
    noise the same release, whether the numbers of all rows are added up or each row is named."""
    rng = random.Random(f"{len(names)} {kind}")
    few = {"int64": [3, -1, 10**18, 0], "Int64": [3, -1, None], "float64": [0.5, -0.0, -7, 1e300],
           "str": ["b", "", "a", "aa", None]}.get(kind, FEW)  # fmt: skip
    threshold = Threshold.calibrate(1, Fraction(1), Delta("1e-3"))
    monkeypatch.setattr(samplers, "discrete_laplace_vector", lambda scale, n: np.arange(n) % 3)
    for _ in range(40):
        size = rng.randint(0, 9)
        frame = pd.DataFrame({
            name: pd.Series(rng.choices(few, k=size), dtype="object").astype(kind)
            for name in names
        })  # fmt: skip
        asked = frame.dp.value_counts(names, delta=DELTA)
        each = []
        for most in (2**22, 1):
            monkeypatch.setattr(label_accumulators, "ROWS_PER_FOLD", most)
            found = integers(asked, PandasEngine(asked._table.engine.read, Unit(), KEY, 4))
            told = threshold.release(dataclasses.replace(found, integers=found.integers + 11))
            each.append([*map(repr, found.items()), repr(told)])
        assert each[0] == each[1]
        order = [tuple(map(rank, label)) for label, _ in found.values()]
        assert order == sorted(order)
        assert sum(count for _, (count,) in found.values()) <= size


def test_sums_of_labels_never_wrap_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_accumulators, "ROWS_PER_FOLD", 2)
    tally = label_accumulators.LabelAccumulator()
    codes, _, decode = coded(vector(np.array([5])))
    for _ in range(5):
        found = label_accumulators.NumberedLabels((decode,), codes[:, None], np.array([[2**61]]))
        tally.add([found], 1)
    assert list(tally.result().values()) == [((5,), (5 * 2**61,))]


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("exact", "approximate")
def test_without_noise_they_are_what_pandas_counts(fair: pd.DataFrame) -> None:
    p, asked = fair.dp, {"epsilon": 1, "delta": "1e-6"}
    counts = fair["educ"].value_counts()
    expected = counts[counts >= 15]
    found = p["educ"].value_counts(**asked)
    pd.testing.assert_series_equal(found, expected, check_index_type=False)
    assert found.index.dtype == object
    assert p["educ"].value_counts(ascending=True, **asked).tolist() == sorted(expected)
    assert p["educ"].value_counts(sort=False, **asked).index.tolist() == sorted(expected.index)
    both = p.value_counts(["educ", "religious"], **asked)
    truth = fair.value_counts(["educ", "religious"])
    truth = truth[truth >= 15]
    assert dict(both) == dict(truth)
    assert both.index.names == ["educ", "religious"]
    groups = p.groupby("educ", delta="1e-6")
    inside = fair[fair["educ"].isin(counts.index[counts >= 29])].groupby("educ")
    loose: dict[str, Any] = {"check_index_type": False, "check_names": True, "rtol": 1e-6}
    by_size, columns, said = fair.groupby("educ").size(), ["age", "children"], {"epsilon": 1}
    bounded: dict[str, Any] = {"bounds": (0, 60), **said}
    same = pd.testing.assert_series_equal
    same(groups["age"].mean(**bounded), inside["age"].mean(), **loose)
    same(groups["age"].std(**bounded), inside["age"].std(), **loose)
    same(groups.size(**said), by_size[by_size >= 15], **loose)
    same = pd.testing.assert_frame_equal
    same(groups[columns].sum(**bounded), inside[columns].sum(), **loose)
    same(groups[columns].count(**said), inside[columns].count(), **loose)


def test_ties_are_told_in_order_of_labels(exact: None, approximate: None) -> None:
    values = [9, "b", 10, "a", 2.5] * 40 + ["z"] * 41
    random.Random(3).shuffle(values)
    found = pd.Series(values, dtype=object).dp.value_counts(epsilon=1, delta=DELTA)
    assert found.index.tolist() == ["z", 2.5, 9, 10, "a", "b"]


@pytest.mark.parametrize(
    "values", [[], [None] * 50, [[1]] * 50, list(range(20)), ["a"] * 200, [1.5] * 200, WILD * 99]
)
def test_nothing_but_values_depends_on_the_data(values: list[Any], approximate: None) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object), "y": 1.0})
    p, asked = frame.dp, {"epsilon": 1, "delta": "1e-9"}
    counts = p["x"].value_counts(**asked)
    said = counts.dtype, counts.index.dtype, counts.name, counts.index.name
    assert said == ("int64", object, "count", "x")
    both = p.value_counts(**asked)
    assert both.index.names == ["x", "y"]
    assert [level.dtype for level in both.index.levels] == [object, object]
    means = p.groupby("x", delta="1e-9")[["y"]].mean(bounds=(0, 2), epsilon=1)
    for by, flags in (("x", {}), (["x", "y"], {"sort": True})):
        groups = p.groupby(by, delta="1e-9", as_index=False, **flags)
        table = groups.size(epsilon=1)
        labels = [by] if isinstance(by, str) else by
        assert dict(table.dtypes) == {**dict.fromkeys(labels, object), "size": "int64"}
        in_order = p.groupby(by, delta="1e-9", sort=True).size(epsilon=1)
        assert in_order.index.equals(table.set_index(labels).index)
        assert len(dp.record(table).errors()) == len(table)
    said = list(means.columns), list(means.dtypes), means.index.dtype
    assert said == (["y"], ["float64"], object)
    assert p["x"].unique(**asked).dtype == object
    for answer in (counts, both, means):
        record = dp.record(answer)
        assert record.intervals().index.equals(answer.index)
        assert len(record.errors()) == len(answer)
        assert str(record)
        assert record._repr_html_()


def test_of_empty_data_nothing_is_told_and_all_is_charged() -> None:
    dp.session(epsilon=2, delta="1e-5")
    p = pd.DataFrame({"x": [], "y": []}).dp
    assert p["x"].value_counts(epsilon="0.5", delta="1e-6").empty
    assert p.groupby("x", delta="1e-6")["y"].sum(bounds=(0, 1), epsilon="0.5").empty
    assert p["x"].unique(epsilon="0.5", delta="1e-6").empty
    assert dp.ledger().loss == Loss(Epsilon("1.5"), Delta("3e-6"))


def test_a_release_is_one_charge_of_all_that_was_asked() -> None:
    dp.session(epsilon=10, delta="1e-4")
    df = pd.DataFrame({"who": range(99), "x": ["a", "b", "c"] * 33, "y": 1.0})
    people = dp.protect(df, "d", unit="who", max_rows=3)
    for ask in (
        lambda: people["x"].value_counts(epsilon=1, delta=DELTA),
        lambda: people["x"].value_counts(delta=DELTA).release(epsilon=1, fresh=True),
        lambda: people["x"].value_counts(delta="1e-9").release(epsilon=1, delta=DELTA, fresh=True),
        lambda: people.groupby("x", delta=DELTA).mean(bounds=(0, 1), epsilon=1),
        lambda: people.groupby("x", delta=DELTA).size().release(epsilon=1, fresh=True),
        lambda: people["x"].unique(epsilon=1, delta=DELTA),
    ):
        before = dp.ledger()._entries()
        ask()
        (entry,) = dp.ledger()._entries()[len(before) :]
        assert entry.loss == Loss(Epsilon(1), DELTA)


def test_the_loss_of_a_group_statistic_is_halved_between_keys_and_values() -> None:
    df = pd.DataFrame({"who": [1], "x": ["a"], "y": 1.0})
    people = dp.protect(df, "d", unit="who", max_rows=3)
    query = people.groupby("x", delta=DELTA)["y"].mean(bounds=(0, 1))
    asked = LossRequest(Measure.APPROXIMATE, Epsilon(1), DELTA)
    moved = query._statistic.sensitivity(3)
    made = query._statistic.mechanism(asked, moved)
    assert isinstance(made, KeyedNoise)
    assert made.keys == Threshold.calibrate(3, Fraction(1, 2), DELTA)
    assert made.values == DiscreteLaplace(Fraction(3 * 2**30 * 2))
    assert made.cost(Measure.APPROXIMATE, moved) == Loss(Epsilon(1), DELTA)


def test_where_rho_is_counted_both_noises_cost_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, Fraction]] = []

    def rho(sensitivity: int, scale: Fraction) -> Fraction:
        seen.append((sensitivity, scale))
        return Fraction(1, 8)

    monkeypatch.setattr(conversions, "rho_of_laplace", rho)
    monkeypatch.setattr(conversions, "rho_of_pure", lambda epsilon: epsilon / 8)
    monkeypatch.setattr(conversions, "epsilon_of", lambda rho, delta: Fraction(1))
    dp.session(rho=2, delta=DELTA, delta_releases="1e-5")
    df = pd.DataFrame({"x": ["a", "b"] * 33, "y": 1.0})
    df.dp["x"].value_counts(epsilon=1, delta=DELTA)
    df.dp.groupby("x", delta=DELTA)["y"].sum(bounds=(0, 1), epsilon=1)
    df.dp["x"].unique(epsilon=1, delta=DELTA)
    charged = [e.loss for e in dp.ledger()._entries()]
    assert [loss.rho for loss in charged] == [Fraction(1, 8), Fraction(1, 4), Fraction(1, 8)]
    assert [loss.delta for loss in charged] == [DELTA] * 3
    # that of keys is asked for to select them by weights at the same ρ, and charged then; of fine
    # integers it is that of less fine ones
    assert list(dict.fromkeys(seen)) == [(1, 1), (1, 2), (2**20, 2**21)]
    refusal(lambda: df.dp["x"].value_counts(rho="0.1", delta=DELTA), "without rho=")


@pytest.mark.usefixtures("exact", "approximate")
def test_a_record_belongs_to_its_answer_and_intervals_hold_a_row() -> None:
    df = pd.DataFrame({"x": ["a"] * 40 + ["b"] * 19, "y": 2.0})
    found = df.dp["x"].value_counts(epsilon="0.5", delta="1e-3")
    record = dp.record(found.sort_index())
    width = DiscreteLaplace(Fraction(2)).half_width(0.95)
    assert record.intervals().loc["a"].tolist() == [40 - width, 40 + width]
    assert record.intervals(1 - 1e-12)["lower"].tolist() == [1, 1]  # who is told has a row
    assert record.intervals().loc["b", "lower"] == 1  # noise may have lifted it
    assert (record.errors().tolist(), record.expected) == ([width, 18], "each at most ± 20")
    assert ">95\N{NO-BREAK SPACE}% interval of each label, noise only</th>" in record._repr_html_()
    assert "released if its noisy count is at least 14" in record.mechanism
    entry = dp.ledger()._entries()[-1]
    assert (entry.mechanism, entry.threshold) == ("discrete Laplace", (14, "count"))
    refusal(lambda: dp.record(found + 1), error=RecordError)


#: What is asked, what is said, and what is raised if no `QueryError`.
REFUSED: dict[str, tuple[Any, ...]] = {
    "neither keys nor delta": (
        lambda p: p["x"].value_counts(epsilon=1), r"keys= is needed.*delta=…", MissingArgument),
    "groups of neither": (
        lambda p: p.groupby("x"), r"keys= is needed.*groupby\(…, delta=…\)", MissingArgument),
    "broken delta": (lambda p: p["x"].value_counts(epsilon=1, delta=0.5), "above 0.01"),
    "broken delta of groups": (lambda p: p.groupby("x", delta=-1), "delta=-1"),
    "Gaussian noise": (
        lambda p: p["x"].value_counts(epsilon=1, delta=DELTA, mechanism="gaussian"),
        "Laplace|Gaussian"),
    "shares": (lambda p: p["x"].value_counts(True, epsilon=1, delta=DELTA), "normalize"),
    "a missing cell": (
        lambda p: p["x"].value_counts(dropna=False, epsilon=1, delta=DELTA), "dropna"),
    "no epsilon": (
        lambda p: p["x"].value_counts(delta=DELTA).release(), "epsilon=", MissingArgument),
    "no delta": (lambda p: p["x"].unique(epsilon=1), "delta= is needed", MissingArgument),
    "a selection": (lambda p: p["x"].value_counts(delta=DELTA).idxmax(epsilon=1), "idxmax"),
    "the largest": (lambda p: p["x"].value_counts(delta=DELTA).nlargest(2, epsilon=1), "nlarg"),
    "keys and delta": (lambda p: p.groupby("x", keys=["a"], delta=DELTA), "are declared"),
    "an unknown column": (lambda p: p.groupby("z", delta=DELTA), "z", UnknownColumn),
    "a column twice": (lambda p: p.groupby(["x", "x"], delta=DELTA), "twice"),
    "delta of groups again": (
        lambda p: p.groupby("x", delta=DELTA)["y"].count(epsilon=1, delta=DELTA),
        "given to groupby"),
    "counts by group": (
        lambda p: p.groupby("x", delta=DELTA)["y"].value_counts(keys=[1], epsilon=1),
        "both columns"),
    "units by group": (lambda p: p.groupby("x", delta=DELTA)["who"].nunique(epsilon=1), "count, m"),
    "no bounds": (
        lambda p: p.groupby("x", delta=DELTA)["y"].mean(epsilon=1), "bounds=", MissingArgument),
    "unique of a plain column": (
        lambda p: dp.unique([1, 2], epsilon=1, delta=DELTA), "private column"),
    "nunique by groups found": (
        lambda p: p.groupby("x", delta=DELTA)["y"].nunique(epsilon=1), "needs declared keys"),
    "Gaussian bounds": (
        lambda p: p["y"].suggest_bounds(epsilon=1, delta=DELTA, mechanism="gaussian"),
        "Laplace|Gaussian"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_charge_nothing(name: str) -> None:
    ask, match, error = (*REFUSED[name], QueryError)[:3]
    dp.session(epsilon=9, delta="1e-5")
    df = pd.DataFrame({"who": [1, 2], "x": ["a", "b"], "y": [1.0, 2.0]})
    people = dp.protect(df, "d", unit="who", max_rows=1)
    refusal(lambda: ask(people), match, error)
    assert isinstance(people.count(epsilon=1), int)


@pytest.mark.parametrize("ask", [
    lambda p: p["x"].value_counts(epsilon=1, delta=DELTA),
    lambda p: p.value_counts(epsilon=1, delta=DELTA),
    lambda p: p.groupby("x", delta=DELTA)["y"].mean(bounds=(0, 1), epsilon=1),
    lambda p: p.groupby("x", delta=DELTA).size().release(epsilon=1, fresh=True),
    lambda p: p["x"].unique(epsilon=1, delta=DELTA),
])  # fmt: skip
def test_a_pure_session_says_why_it_has_no_delta(ask: Callable[[Any], Any]) -> None:
    dp.session(epsilon=9)
    with pytest.raises(QueryError, match=r"has no δ to spend.*dp\.session"):
        ask(pd.DataFrame({"x": ["a"], "y": [1.0]}).dp)
    assert dp.ledger()._entries() == []


def test_more_delta_than_is_left_is_refused() -> None:
    dp.session(epsilon=9, delta="1e-6")
    p = pd.DataFrame({"x": ["a"] * 50}).dp
    p["x"].value_counts(epsilon=1, delta="6e-7")
    refusal(lambda: p["x"].unique(epsilon=1, delta="6e-7"), error=dp.BudgetExceeded)
    assert len(dp.ledger()._entries()) == 1


def test_declared_keys_go_before_a_delta() -> None:
    dp.session(epsilon=9, delta="1e-5")
    df = pd.DataFrame({"x": ["a", "b"] * 50, "z": True})
    people = dp.protect(df, "d", domain={"x": ["a", "c"]})
    assert set(people["x"].value_counts(epsilon=1, delta=DELTA).index) == {"a", "c"}
    assert set((people["x"] == "a").value_counts(epsilon=1, delta=DELTA).index) == {False, True}
    assert people["z"].value_counts(epsilon=1, delta=DELTA).index.tolist() == [1]
    refusal(lambda: people.groupby("x", delta=DELTA), "are declared")


def test_missing_labels_are_no_labels() -> None:
    assert all(named(x) is None for x in HOSTILE if _missing(x))


def _missing(value: Any) -> bool:
    try:
        return is_missing(value)
    except Exception:
        return False


def test_the_delta_of_groups_counts_once() -> None:
    dp.session(epsilon=3, delta="1e-4")
    groups = pd.DataFrame({"g": ["a"] * 50, "x": [1.0] * 50}).dp.groupby("g", delta="1e-5")
    for ask in (
        lambda: groups.size(epsilon=1, delta="1e-4"),
        lambda: groups["x"].sum(bounds=(0, 1), epsilon=1, delta="1e-4"),
        lambda: groups["x"].agg(["count", "mean"], bounds=(0, 1), epsilon=1),
    ):
        refusal(ask)
    assert dp.ledger()._entries() == []
    groups.size(epsilon=1)
    assert dp.ledger().loss.delta == Fraction(1, 10**5)


def test_groups_of_a_frame_with_no_other_column_have_a_size(exact: None) -> None:
    dp.session(epsilon=9, delta="1e-2")
    people = pd.DataFrame({"x": ["a"] * 500 + ["b"] * 400}).dp
    found = people.groupby("x", delta="1e-5").size(epsilon=1)
    assert found.to_dict() == {"a": 500, "b": 400}
    assert found.index.name == "x"
