"""Labels selected by the weights of their units: privacy and thresholds by brute force, the law of
what is released, and which selection public facts choose."""

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operations import SCHEMA, row_pass

import dppandas as dp
from dppandas import statistics as stats
from dppandas.engines.pandas import PandasEngine
from dppandas.errors import MissingArgument, QueryError
from dppandas.privacy.accounting.losses import Delta, Epsilon, Loss, Rho
from dppandas.privacy.accounting.measures import LossRequest, Measure
from dppandas.privacy.mechanisms import weighted_selection
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.privacy.mechanisms.partition_selection import PartitionSelection
from dppandas.privacy.mechanisms.thresholds import KeyedNoise, Threshold
from dppandas.privacy.mechanisms.weighted_selection import WHOLE, WeightedSelection, weight
from dppandas.privacy.sampling import samplers
from dppandas.rows.expressions import Column
from dppandas.rows.facts.units import Unit
from dppandas.rows.figures import plus_minus
from dppandas.statistics.counting.label_accumulators import NumberedLabels

KEY = b"0123456789abcdef"
DELTA = Delta("1e-6")
#: (ε, δ) from the least to the largest that are asked for.
LOSSES = [("1", "1e-6"), ("0.01", "1e-9"), ("0.3", "1e-2"), ("0.01", "1e-2"), ("4", "1e-5"),
          ("20", "1e-6"), ("64", "1e-2")]  # fmt: skip


def tail(x: float) -> float:
    """P[N(0, 1) > x]."""
    return math.erfc(x / math.sqrt(2)) / 2


def of_gaussian(epsilon: float, shift: float) -> float:
    """The δ at ε of normal noise, whose neighbours are so many standard deviations apart."""
    if not shift:
        return 0.0
    near, far = (tail(epsilon / shift + side * shift / 2) for side in (-1, 1))
    return near - math.exp(epsilon) * far if far else near


def calibrated(labels: int, epsilon: str, delta: str) -> WeightedSelection:
    return WeightedSelection.calibrate(labels, Fraction(epsilon), Delta(delta))


def spent(law: WeightedSelection, labels: int, new: int) -> float:
    """The δ that a unit of so many labels spends, `new` of which only it has: one of these is
    released, or else the noise of the others tells more than ε. To float precision the noise is
    normal: its steps are 10^-9 of its width."""
    sigma, each = math.sqrt(law.sigma2), weight(labels)
    seen = -math.expm1(new * math.log1p(-tail((law.least - each) / sigma)))
    shift = each * math.sqrt(labels - new) / sigma
    return seen + (1 - seen) * of_gaussian(float(law.epsilon), shift)


# --- privacy --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), LOSSES)
@pytest.mark.parametrize("labels", [1, 2, 3, 5, 12, 40])
def test_no_unit_spends_more_than_delta(labels: int, epsilon: str, delta: str) -> None:
    """For all units, and all splits of their labels into new ones and others. And nearly all of δ
    is needed by the noise, where it isn't wider for convexity."""
    law = calibrated(labels, epsilon, delta)
    each = {(t, new): spent(law, t, new) for t in range(1, labels + 1) for new in range(t + 1)}
    assert max(each.values()) <= float(delta) * (1 + 1e-7)
    if float(epsilon) <= 4 and float(delta) < 0.01:
        assert each[1, 0] > 0.9999 * float(delta)
        assert max(each[t, t] for t in range(1, labels + 1)) > 0.999 * float(delta)


def test_less_noise_or_a_lower_threshold_would_be_noticed() -> None:
    law = calibrated(10, "1", "1e-6")
    less = WeightedSelection(law.sigma2 * Fraction(999, 1000), law.least, 10, DELTA, Fraction(1))
    lower = WeightedSelection(law.sigma2, law.least * 999 // 1000, 10, DELTA, Fraction(1))
    assert max(spent(less, 1, 0), spent(less, 10, 0)) > 1.001e-6
    assert spent(lower, 10, 10) > 1.01e-6


def test_delta_is_convex_only_where_the_noise_is_wide_enough() -> None:
    """Why the noise has a least width: a chord that δ crosses is a δ that is spent twice."""
    for epsilon, delta in LOSSES:
        law = calibrated(3, epsilon, delta)
        shift, e = WHOLE / math.sqrt(law.sigma2), float(epsilon)
        for x in np.linspace(0.001, 0.999, 97):
            chord = x * of_gaussian(e, shift)
            assert of_gaussian(e, shift * math.sqrt(x)) <= chord * (1 + 1e-9)
    assert of_gaussian(0.1, 3 * math.sqrt(0.5)) > 0.5 * of_gaussian(0.1, 3)


@pytest.mark.parametrize("labels", [1, 2, 4])
@pytest.mark.parametrize("nearby", [0.0, 0.5, 1.0])
def test_what_is_released_keeps_epsilon_and_delta(labels: int, nearby: float) -> None:
    """By all sets of labels that can be released, both ways, where others hold some labels already
    with weights up to, at, or above the threshold."""
    law = calibrated(4, "1", "1e-2")
    sigma = math.sqrt(law.sigma2)
    for new in range(labels + 1):
        others = [0.0] * new + [law.least * (nearby + 0.2 * i) for i in range(labels - new)]
        before, after = ([
            tail((law.least - x - joins) / sigma) if x or joins else 0.0 for x in others
        ] for joins in (0, weight(labels)))  # fmt: skip
        over = [0.0, 0.0]
        for shown in itertools.product([False, True], repeat=labels):
            p, q = (
                math.prod(x if s else 1 - x for x, s in zip(each, shown, strict=True))
                for each in (before, after)
            )
            over[0] += max(0.0, q - math.e * p)
            over[1] += max(0.0, p - math.e * q)
        assert max(over) <= 0.01 * (1 + 1e-9)


@pytest.mark.parametrize("sigma2", [0.7, 2.0, 9.0])
@pytest.mark.parametrize("moved", [(1,), (2,), (1, 1), (2, 1), (1, 1, 1)])
def test_discrete_noise_spends_hardly_more_than_normal_noise(
    sigma2: float, moved: tuple[int, ...]
) -> None:
    """The exact δ of vectors on a tiny grid, by enumeration, is at most exp(j/(24σ²)) times that
    of normal noise at ε - |v|₁/(2σ²). That is the correction made, there of a part in 10^9."""
    reach = math.ceil(9 * math.sqrt(sigma2))
    one = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma2))
    one /= one.sum()
    size, length = sum(moved), math.sqrt(sum(v * v for v in moved) / sigma2)
    grids = np.meshgrid(*[np.arange(-reach, reach + 1)] * len(moved), indexing="ij")
    p = np.prod(np.meshgrid(*[one] * len(moved), indexing="ij"), axis=0)
    loss = sum(v * v - 2 * z * v for v, z in zip(moved, grids, strict=True)) / (2 * sigma2)
    for epsilon in (size / (2 * sigma2) + more for more in (0.01, 0.5, 1.5)):
        exact = float((p * np.clip(-np.expm1(epsilon - loss), 0, None)).sum())
        wider = math.exp(len(moved) / (24 * sigma2))
        assert exact <= wider * of_gaussian(epsilon - size / (2 * sigma2), length) + 1e-12
        assert exact > 0 or epsilon > 3


@pytest.mark.parametrize("labels", [2**30, 2**40])
def test_the_noise_is_wide_enough_for_the_steps_of_the_grid(labels: int) -> None:
    """Of so many labels that a step is a noticeable part of a weight."""
    law = calibrated(labels, "1", "1e-6")
    sigma2 = float(law.sigma2 / WHOLE**2)
    less = math.sqrt(labels) / (2 * WHOLE * sigma2)
    assert less > 8e-7
    assert of_gaussian(1 - less, 1 / math.sqrt(sigma2)) <= 1e-6 * (1 + 1e-9)


# --- thresholds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [1, 2, 7, 100, 1000])
@pytest.mark.parametrize("wide", [0.05, 0.3, 1.0, 4.0, 60.0])
@pytest.mark.parametrize("delta", ["1e-2", "1e-6", "1e-12"])
def test_a_threshold_is_the_least_for_all_numbers_of_labels(
    labels: int, wide: float, delta: str
) -> None:
    """t labels of one unit, for each t: the worst is the first or the last."""
    sigma2 = Fraction(wide) ** 2 * WHOLE**2
    least = weighted_selection.least_weight(labels, sigma2, Fraction(delta))
    sigma = math.sqrt(sigma2)
    chances = [t * tail((least - weight(t)) / sigma) for t in range(1, labels + 1)]
    assert max(chances) <= float(delta) * (1 + 1e-6)
    assert max(chances) == max(chances[0], chances[-1])
    assert least == 2 * WHOLE + 1 or max(chances) > float(delta) * (1 - 1e-6)


def test_a_delta_that_no_threshold_is_for() -> None:
    with pytest.raises(QueryError, match=r"between 0 and 1/4"):
        weighted_selection.least_weight(1, Fraction(WHOLE**2), Fraction(1, 4))


def test_how_many_units_a_label_needs() -> None:
    """At ε = 1, δ = 10^-6, if each has as many labels as it can, for half of such labels."""
    by_weight = {labels: calibrated(labels, "1", "1e-6").half for labels in (1, 2, 3, 10, 30, 100)}
    assert by_weight == {1: 22, 2: 31, 3: 38, 10: 71, 30: 126, 100: 239}
    for labels, today in {1: 14, 2: 27, 3: 40, 10: 132, 30: 395, 100: 1313}.items():
        curve = PartitionSelection.calibrate(labels, Fraction(1), DELTA)
        assert curve.released_from(0.5) == today
    for labels in (1, 10, 2**31):
        law, each = calibrated(labels, "1", "1e-6"), weight(labels)
        for share in (0.5, 0.95, 0.999999):
            units, sigma = law.released_from(share), math.sqrt(law.sigma2)
            assert tail((law.least - units * each) / sigma) >= share - 1e-9
            assert tail((law.least - (units - 1) * each) / sigma) < share
        assert law.released_from(0.5) == law.half


def held(totals: list[int]) -> Any:
    return NumberedLabels.of({str(i): ((i,), (x,)) for i, x in enumerate(totals)}, 1)


@pytest.mark.parametrize("noise", [-5, 0, 3])
def test_a_label_is_released_where_its_noisy_weight_reaches_the_threshold(
    noise: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = calibrated(3, "1", "1e-6")
    monkeypatch.setattr(samplers, "discrete_gaussian_vector", lambda s, n: np.full(n, noise))
    found = held([law.least - noise - 1, law.least - noise, law.least - noise + 1, 1])
    assert law.release(found) == [((1,), (1,)), ((2,), (1,))]
    assert law.release(held([])) == []


@pytest.mark.statistical
def test_a_label_at_the_threshold_is_released_as_often_as_not() -> None:
    """10,000 labels at T are released with probability 1/2 each: the number lies within 5 standard
    deviations (250) of 5000 but with probability 6e-7. One unit less, 0.24 σ, would be off by
    900. Were one noise alike for all, all or none would be released."""
    law = calibrated(1, "1", "1e-6")
    assert abs(len(law.release(held([law.least] * 10_000))) - 5000) <= 250


# --- weights --------------------------------------------------------------------------------------


@given(st.integers(1, 2**45))
def test_a_unit_is_no_longer_than_one_whole(labels: int) -> None:
    assert labels * weight(labels) ** 2 <= WHOLE**2 < labels * (weight(labels) + 1) ** 2


def weighed(frame: pd.DataFrame, unit: Unit, block: int = 7, inner: Any = None) -> Any:
    """The integers of each label of x."""
    cells, layout = stats.Cells(), stats.Layout(integer=True)
    by = (Column("x"),), ("x",), DELTA
    kind = stats.WeightedUnique(cells, layout, *by)
    statistic = kind if inner is None else stats.WeightedKeys(cells, layout, *by, inner)
    found = statistic.read(row_pass(PandasEngine(frame, unit, KEY, block), statistic))
    return {label: row for (label,), row in found.values()}


#: Pairs of a unit and a label; None is missing.
PAIRS = st.lists(st.tuples(st.sampled_from([1, 2, 3, None]), st.sampled_from(["a", "b", 2, 2.0,
                 True, None, "", (1,)])), max_size=30)  # fmt: skip


@given(PAIRS, st.integers(1, 5), st.sampled_from([1, 2, 7, 100]))
def test_each_unit_adds_its_weight_once_to_each_of_its_labels(
    pairs: list[Any], rows: int, block: int
) -> None:
    """Whatever its rows are, and in which blocks: a label of equal values is one."""
    frame = pd.DataFrame(pairs, columns=["owner", "x"], dtype=object)
    unit = Unit("owner", 30)
    expected: dict[Any, int] = {}
    for owner in (1, 2, 3):
        labels = {x for one, x in pairs if one == owner and x is not None}
        for label in labels:
            expected[label] = expected.get(label, 0) + weight(len(labels))
    assert weighed(frame, unit, block) == {k: (n,) for k, n in expected.items()}
    few = weighed(frame, Unit("owner", rows), block)
    without = weighed(frame[frame["owner"] != 1], Unit("owner", rows), block)
    moved = [n - without.get(label, (0,))[0] for label, (n,) in few.items()]
    assert sum(x * x for x in moved) <= WHOLE**2  # what a unit moves, and no label besides
    assert sum(x > 0 for x in moved) <= rows
    assert min(moved, default=0) >= 0


def test_rows_are_units_where_nobody_names_one() -> None:
    frame = pd.DataFrame({"x": ["a", "b", "a", None]})
    assert weighed(frame, Unit()) == {"a": (2 * WHOLE,), "b": (WHOLE,)}


def test_numbers_of_rows_stand_beside_the_weights() -> None:
    """The statistic of the rows is that of any keys; rows without a unit count for nothing."""
    frame = pd.DataFrame({
        "owner": [1, 1, 1, 2, None, None], "x": ["a", "a", "b", "a", "a", "c"], "y": 1.0,
    })  # fmt: skip
    inner = stats.Count(stats.Cells(), stats.Layout(integer=True))
    for block in (1, 2, 100):
        found = weighed(frame, Unit("owner", 9), block, inner)
        assert found == {"a": (weight(2) + WHOLE, 3), "b": (weight(2), 1)}


@pytest.mark.parametrize("name", ["group", "code", "number", "when"])
def test_order_and_blocks_never_change_weights(name: str) -> None:
    rng = random.Random(name)
    frame = pd.concat([SCHEMA.astype(object)] * 3, ignore_index=True).rename(columns={name: "x"})
    inner = stats.Count(stats.Cells(), stats.Layout(integer=True))
    for kind in (None, inner):
        each = []
        for block in (1, 3, 1000):
            shuffled = frame.sample(frac=1, random_state=rng.randrange(1000))
            each.append(weighed(shuffled, Unit("owner", 2), block, kind))
        assert each[0]
        assert each == [each[0]] * 3


# --- which selection is used ----------------------------------------------------------------------


def people(rows: int | None) -> Any:
    df = pd.DataFrame({"who": np.repeat(range(300), 10), "x": list(range(10)) * 300, "y": 1.0})
    return dp.protect(df, "d", unit="who", max_rows=rows) if rows else dp.protect(df, "d")


def mechanism(request: Any, **loss: Any) -> Any:
    """How it is answered at a loss."""
    return request._request.query(LossRequest(**{"delta": DELTA, **loss})).mechanism()


BASIC: dict[str, Any] = {"measure": Measure.APPROXIMATE, "epsilon": Epsilon(1)}
OF_EPSILON: dict[str, Any] = {"measure": Measure.ZCDP, "epsilon": Epsilon(1)}
OF_RHO: dict[str, Any] = {
    "measure": Measure.ZCDP, "rho": Rho("0.1"), "noise": "gaussian",
}  # fmt: skip


@pytest.mark.parametrize(("rows", "weighted"), [(None, 0), (1, 0), (2, 0), (3, 1), (30, 1)])
def test_public_facts_choose(rows: int | None, weighted: bool) -> None:
    p = people(rows)
    groups = p.groupby("x", delta=DELTA)["y"].sum(bounds=(0, 1))
    selection = mechanism(p["x"].unique(), **BASIC)
    assert isinstance(selection, WeightedSelection if weighted else PartitionSelection)
    keyed = mechanism(groups, **BASIC)
    assert isinstance(keyed.keys, WeightedSelection if weighted else Threshold)
    named = mechanism(groups, **BASIC, named="laplace")
    assert isinstance(named.keys, Threshold)
    assert isinstance(mechanism(p["x"].value_counts(delta=DELTA), **BASIC), Threshold)
    for loss in (OF_EPSILON, OF_RHO):
        assert isinstance(mechanism(p["x"].unique(), **loss), WeightedSelection)
        assert isinstance(mechanism(groups, **loss).keys, WeightedSelection)


def test_the_rows_of_branches_are_a_units_labels() -> None:
    twice = dp.concat([people(2)[["x"]], people(2)[["x"]]])
    made = mechanism(twice["x"].unique(), **BASIC)
    assert (type(made), made.labels) == (WeightedSelection, 4)


@pytest.mark.parametrize("rows", [1, 7])
def test_an_epsilon_where_rho_is_counted_costs_what_the_other_way_costs(rows: int) -> None:
    p = people(rows)
    groups = p.groupby("x", delta=DELTA)["y"].sum(bounds=(0, 1))
    other = PartitionSelection.calibrate(rows, Fraction(1), DELTA)
    moved = stats.Unique(stats.Cells(), stats.Layout(integer=True)).sensitivity(rows)
    found = mechanism(p["x"].unique(), **OF_EPSILON).cost(Measure.ZCDP, moved)
    assert found == other.cost(Measure.ZCDP, moved)
    keys = Threshold.calibrate(rows, Fraction(1, 2), DELTA).cost(Measure.ZCDP, moved)
    keyed = mechanism(groups, **OF_EPSILON)
    assert keyed.keys.cost(Measure.ZCDP, moved) == keys
    assert keyed.values == DiscreteLaplace(Fraction(2 * rows * 2**30))
    assert keyed.cost(Measure.ZCDP, moved).rho > keys.rho


def test_a_rho_is_halved_between_keys_and_values() -> None:
    keyed = mechanism(people(7).groupby("x", delta=DELTA)["y"].sum(bounds=(0, 1)), **OF_RHO)
    assert isinstance(keyed, KeyedNoise)
    assert keyed.keys == WeightedSelection.for_rho(7, Fraction(1, 20), DELTA)
    assert keyed.values == DiscreteGaussian(Fraction(49 * 2**60 * 10))
    assert keyed.cost(Measure.ZCDP, keyed.sensitivities[0]) == Loss(rho=Rho("0.1"), delta=DELTA)
    assert keyed.keys.sigma2 == 10 * WHOLE**2


def test_no_statistic_is_answered_by_the_selection_of_another() -> None:
    """Weights in place of numbers of units would be told with noise for those."""
    p = people(3)
    cheap = LossRequest(Measure.APPROXIMATE, Epsilon(64), DELTA, named="laplace")
    for asked, kind in ((p["x"].unique(), stats.WeightedUnique),
                        (p.groupby("x", delta=DELTA)["y"].mean(bounds=(0, 1)),
                         stats.WeightedKeys)):  # fmt: skip
        weighted = asked._request.query(LossRequest(delta=DELTA, **BASIC)).statistic
        assert type(weighted) is kind
        assert type(asked._request.query(cheap).statistic) is not kind
        assert weighted.adapted_to(cheap, 3) is weighted
        made = weighted.mechanism(cheap, weighted.sensitivity(3))
        selection = made.keys if isinstance(made, KeyedNoise) else made
        assert isinstance(selection, WeightedSelection)


def test_another_selection_has_another_key() -> None:
    dp.session(epsilon=9, delta="1e-3")
    asked = people(3).groupby("x", delta=DELTA)["y"].sum(bounds=(0, 1))._request
    default, named = (
        asked.query(LossRequest(delta=DELTA, **BASIC, named=name)) for name in ("", "laplace")
    )
    assert default.key != named.key
    assert default.question != named.question


# --- answers --------------------------------------------------------------------------------------

SESSIONS: dict[str, dict[str, Any]] = {
    "ε": {"epsilon": 99, "delta": "1e-3"},
    "ρ": {"rho": 99, "delta": "1e-6", "delta_releases": "1e-3"},
}


@pytest.mark.parametrize("counted", SESSIONS)
def test_labels_and_groups_are_what_pandas_has(
    counted: str, exact: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        samplers, "discrete_gaussian_vector", lambda s, n: np.zeros(n, dtype=np.int64)
    )
    dp.session(**SESSIONS[counted])
    p = people(10)
    loss: dict[str, Any] = {"epsilon": 1} if counted == "ε" else {"rho": "0.1"}
    assert p["x"].unique(delta=DELTA, **loss).tolist() == list(range(10))
    groups = p.groupby("x", delta=DELTA)
    assert groups["y"].sum(bounds=(0, 2), **loss).to_dict() == dict.fromkeys(range(10), 300.0)
    assert groups[["y"]].count(**loss)["y"].tolist() == [300] * 10
    means = groups["y"].mean(bounds=(0, 2), **loss)
    assert means.tolist() == pytest.approx([1.0] * 10)
    said = dp.record(means)
    assert said.mechanism.startswith("weighted Gaussian selection, then discrete ")
    assert len(said.intervals()) == 10
    few = p.query("who < 60")
    assert len(few["x"].unique(delta=DELTA, **loss)) == (0 if counted == "ε" else 10)


def test_what_is_expected_says_how_many_units_a_label_needs() -> None:
    dp.session(**SESSIONS["ε"])
    p = people(10)
    asked = dp.record(p["x"].unique(epsilon=1, delta=DELTA))
    least = calibrated(10, "1", "1e-6").released_from(0.95)
    assert asked.expected == f"released if at least {least} units have it"
    assert "scale 4.225 units" in str(asked)
    groups = p.groupby("x", delta=DELTA)["y"].sum(bounds=(0, 1))
    least = calibrated(10, "0.5", "1e-6").released_from(0.95)
    with dp.preview() as plan:
        groups.release(epsilon=1)
    error = groups.expected_error(epsilon=1)
    assert round(error, 2) == 59.91
    assert f"each {plus_minus(error)}, released if at least {least} units have it" in str(plan)


REFUSED: dict[str, tuple[Callable[[Any], Any], str, type[Exception]]] = {
    "no δ": (lambda p: p["x"].unique(rho="0.1"), "delta= is needed", MissingArgument),
    "counts at a ρ": (
        lambda p: p["x"].value_counts(rho="0.1", delta=DELTA), "by Laplace noise", QueryError),
    "sizes at a ρ": (
        lambda p: p.groupby("x", delta=DELTA).size(rho="0.1"), "by Laplace noise", QueryError),
    "Gaussian noise by name": (
        lambda p: p["x"].unique(rho="0.1", delta=DELTA, mechanism="gaussian"),
        "knows no other way", QueryError),
    "groups with noise by name": (
        lambda p: p.groupby("x", delta=DELTA)["y"].sum(
            bounds=(0, 1), rho="0.1", mechanism="gaussian"), "knows no other way", QueryError),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_charge_nothing(name: str) -> None:
    ask, said, error = REFUSED[name]
    dp.session(**SESSIONS["ρ"])
    with pytest.raises(error, match=said):
        ask(people(3))
    assert dp.ledger()._entries() == []
