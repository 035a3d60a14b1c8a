"""agg and describe: pandas' shapes, exact shares of one loss, all charged or none."""

import pickle
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from operations import integers
from refusals import refusal

import dppandas as dp
from dppandas.audit import check_sensitivity
from dppandas.engines.pandas import PandasEngine
from dppandas.errors import LineageError, PrivateValueError, RecordError, ReleaseFailed
from dppandas.release.unreleased import Unreleased

LIMITS = {"a": (0, 1), "b": (0, 3), "g": (1, 2)}


def people(rows: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    columns = {"a": rng.random(rows), "b": rng.random(rows) * 3, "g": rng.integers(1, 3, rows)}
    return pd.DataFrame(columns).mask(rng.random((rows, 3)) < 0.1)


SPECS: list[Any] = [
    ["count", "mean"], ["std"], {"b": "mean", "a": "sum"}, {"b": "mean", "a": ["var", "count"]},
    {"b": ["mean", "sum"], "a": ["sum", "count"]},
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_without_noise_it_is_what_pandas_says(spec: Any, exact: None) -> None:
    frame = people()
    chosen = frame[["a", "b"]]
    found = chosen.dp.agg(spec, bounds=LIMITS, epsilon=1)
    exact = chosen.agg(spec)
    equal = pd.testing.assert_series_equal if exact.ndim == 1 else pd.testing.assert_frame_equal
    equal(found, exact, rtol=1e-6)
    found = frame.dp.groupby("g", keys=[1, 2]).agg(spec, bounds=LIMITS, epsilon=1)
    exact = frame.groupby("g").agg(spec)
    pd.testing.assert_frame_equal(found, exact, rtol=1e-6, check_index_type=False)
    if isinstance(spec, list):
        found = frame["a"].dp.agg(spec, bounds=(0, 1), epsilon=1)
        pd.testing.assert_series_equal(found, frame["a"].agg(spec), rtol=1e-6)
        found = frame.dp.groupby("g", keys=[1, 2])["a"].agg(spec, bounds=(0, 1), epsilon=1)
        exact = frame.groupby("g")["a"].agg(spec)
        pd.testing.assert_frame_equal(found, exact, rtol=1e-6, check_index_type=False)


def test_one_name_is_that_method(exact: None) -> None:
    frame = people()
    assert frame["a"].dp.agg("mean", bounds=(0, 1), epsilon=1) == pytest.approx(frame["a"].mean())
    assert "mean of a" in repr(frame["a"].dp.agg("mean", bounds=(0, 1)))


@pytest.mark.parametrize("epsilon", ["1", "0.1", "1/3", 0.7])
@pytest.mark.parametrize(
    "shares", [None, {"count": 1, "mean": 2, "max": 4}, {"count": "1/7", "mean": 0.3, "max": 5}]
)
def test_shares_add_up_to_the_loss_exactly(epsilon: object, shares: Any) -> None:
    session = dp.session(epsilon=5)
    three = ["count", "max", "mean"]
    people().dp[["a", "b"]].agg(three, bounds=LIMITS, shares=shares, epsilon=epsilon)
    entries = dp.ledger()._entries()
    assert [e.status for e in entries] == ["released"] * 2
    assert session.spent == sum(e.epsilon for e in entries) == Fraction(str(epsilon))
    if shares and shares["mean"] == 2:  # a count and a mean are one release
        assert entries[1].epsilon * 3 == 4 * entries[0].epsilon


def test_shares_by_column_and_statistic() -> None:
    spec = {"a": ["mean", "count"], "b": "mean"}
    shares = {"mean": 1, ("b", "mean"): 2, "count": 1}
    people().dp.agg(spec, bounds=LIMITS, shares=shares, epsilon=1)
    assert [4 * e.epsilon for e in dp.ledger()._entries()] == [2, 2]


def test_what_the_budget_has_not_left_is_refused_as_a_whole() -> None:
    dp.session(epsilon=1)
    p = people().dp
    p.count(epsilon="0.5")
    for ask in (
        lambda: p["a"].agg(["count", "mean", "sum"], bounds=(0, 1), epsilon="0.6"),
        lambda: p[["a", "b"]].describe(bounds=LIMITS, epsilon="0.51"),
    ):
        with pytest.raises(dp.BudgetExceeded) as caught:
            ask()
        assert caught.value.remaining == Fraction(1, 2)
        assert len(dp.ledger()._entries()) == 1
    p["a"].agg(["count", "mean", "sum"], bounds=(0, 1), epsilon="0.5")
    assert dp.ledger().remaining == 0


def test_all_is_charged_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, gather = [], PandasEngine.accumulate_rows

    def spy(self: PandasEngine, *args: Any) -> Any:
        seen.append([e.status for e in dp.ledger()._entries()])
        if len(seen) == 2:
            raise OSError
        return gather(self, *args)

    monkeypatch.setattr(PandasEngine, "accumulate_rows", spy)
    dp.session(epsilon=1)
    with pytest.raises(ReleaseFailed):
        people()["a"].dp.agg(["size", "mean", "median"], bounds=(0, 1), epsilon="0.9")
    assert seen == [["charged"] * 3, ["released", "charged", "charged"]]
    assert [e.status for e in dp.ledger()._entries()] == ["released", "failed", "failed"]
    assert dp.ledger().remaining == Fraction(1, 10)


def test_without_a_loss_nothing_is_computed() -> None:
    p = people().dp
    asked = p["a"].agg(["count", "mean"], bounds=(0, 1))
    assert "nothing computed or charged" in repr(asked)
    refusal(lambda: len(asked), error=PrivateValueError)
    refusal(lambda: pickle.dumps(asked), error=PrivateValueError)
    assert dp.ledger()._entries() == []
    assert list(asked.release(epsilon=1).index) == ["count", "mean"]


def test_records_belong_to_the_result_itself() -> None:
    found = people()["a"].dp.agg(["size", "mean"], bounds=(0, 1), epsilon=1)
    records = dp.record(found).components
    assert list(records) == ["size", "mean"]
    assert records["size"].estimate() == found["size"]
    low, high = records["mean"].intervals()
    assert low <= found["mean"] <= high
    assert dp.record(found.head(1)) is dp.record(found)
    for other in (found + 1, found.rename({"mean": "size"}), 3):
        refusal(partial(dp.record, other), error=RecordError)
    refusal(lambda: dp.combine(found, found), "several releases", error=RecordError)


TWO = ["mean", "median"]


@pytest.mark.parametrize(("spec", "options"), [
    *[(spec, {}) for spec in (["mean", "mean"], [], {}, [min, "min"], [any], any, ["mode"],
                              ["release"], {"z": "mean"})],
    (TWO, {"bounds": None}), (TWO, {"epsilon": -1}), (TWO, {"epsilon": 2.0**-20}),
    (TWO, {"delta": 1e-6}), (TWO, {"shares": {"mean": 1}}), (["mean"], {"shares": {"mean": 0}}),
    (["mean"], {"shares": {"mean": 1, "sum": 1}}), (["mean"], {"shares": [1]}),
    ("mean", {"shares": {"mean": 1}}),
])  # fmt: skip
def test_wrong_arguments_are_refused_and_cost_nothing(spec: Any, options: Any) -> None:
    refusal(lambda: people().dp.agg(spec, **{"bounds": LIMITS, "epsilon": 1} | options))


def test_wrong_arguments_of_a_column_are_refused_and_cost_nothing() -> None:
    a = people().dp["a"]
    refusal(lambda: a.agg({"a": "mean"}, bounds=LIMITS, epsilon=1))
    refusal(lambda: a.describe(bounds=(1, 1), epsilon=1))
    refusal(lambda: a.describe(epsilon=1))


# --- describe -------------------------------------------------------------------------------------


def test_describe_without_noise_is_what_pandas_says(exact: None) -> None:
    frame = people()
    whole = ["count", "mean", "std", "min", "25%", "50%", "75%", "max"]
    found = frame["a"].dp.describe(bounds=(0, 1), epsilon=8)
    assert found.index.tolist() == whole
    pd.testing.assert_series_equal(found[:3], frame["a"].describe()[:3], rtol=1e-6)
    assert found["min":].is_monotonic_increasing
    table = frame[["a", "b"]].dp.describe(bounds=LIMITS, epsilon=8)
    assert table.index.tolist() == whole
    pd.testing.assert_frame_equal(table[:3], frame[["a", "b"]].describe()[:3], rtol=1e-6)
    assert dp.ledger().spent == 16
    asked = [e.what.verb.name for e in dp.ledger()._entries()]
    assert asked[:2] == ["count, mean, std", "min, quartiles, max"]


def test_shares_from_a_protected_source_are_refused_and_not_quoted() -> None:
    df = pd.DataFrame({"x": [5.0, 987654.0]})
    p = dp.protect(df, "shares")
    for of in (p, p["x"]):
        for ask in (
            lambda of: of.quantile(df["x"], bounds=(0, 9)),
            lambda of: of.describe(percentiles=df["x"], bounds=(0, 9)),
        ):
            said = refusal(partial(ask, of), "carries the token", LineageError)
            assert "987654" not in said


def test_describe_without_a_loss_is_the_public_schema() -> None:
    p = dp.protect(people(), "schema", domain={"a": (0, 1)})
    assert list(p.describe().columns) == ["bounds", "keys"]
    assert dp.ledger()._entries() == []


def test_count_mean_and_deviation_cost_what_one_variance_does() -> None:
    p = people().dp[["a", "b"]]
    three, one = Unreleased(p._from_sums(("count", "mean", "std"), LIMITS)), p.var(bounds=LIMITS)
    assert integers(three, p._table.engine) == integers(one, p._table.engine)
    assert three._statistic.l1 == one._statistic.l1


def test_neighbours_can_not_be_told_by_agg_or_describe() -> None:
    frame = people(12).assign(owner=[1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 9])
    four, options = ["count", "std", "median", "mean"], {"bounds": LIMITS, "epsilon": 1}
    asked = [
        (2, lambda p: p[["a", "b"]].describe(**options)),
        (3, lambda p: p.agg({"a": ["mean", "count", "max"], "b": "sum"}, **options)),
        (2, lambda p: p.groupby("g", keys=[1, 2])["a"].agg(four, **options)),
    ]
    for releases, ask in asked:
        found = check_sensitivity(ask, frame, unit="owner", max_rows=2, pairs=60)
        assert found.ok, found
        assert found.releases == 60 * releases
