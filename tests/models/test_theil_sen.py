"""Theil and Sen's line: what a block says, how far a unit moves it, and what errors do to it."""

import itertools
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal

import dppandas as dp
from dppandas.errors import MissingArgument, RecordError
from dppandas.models import OLS, LinearRegression, TheilSenRegressor
from dppandas.models.theil_sen import slopes
from dppandas.privacy.accounting.losses import Epsilon
from dppandas.privacy.accounting.measures import LossRequest
from dppandas.privacy.mechanisms.ranks import Ranks, losses
from dppandas.rows.facts.bounds import Bounds
from dppandas.statistics import BlockSlopes, Cells, Layout
from dppandas.statistics.of_blocks.slopes import STEEPEST, direction_of, number_of_blocks

SAID: dict[str, Any] = {"epsilon": 1, "bounds": (0, 20), "target_bounds": (-20, 80)}


@pytest.fixture(autouse=True)
def budget() -> None:
    dp.session(epsilon=10_000, delta=1e-3)


def line(rows: int = 4000, wrong: float = 0.0, noise: float = 3.0) -> pd.DataFrame:
    """y = 5 + 1.5 x, with a share of rows that lie on another line."""
    random = np.random.default_rng(3)
    x = random.uniform(0, 10, rows)
    y = 5 + 1.5 * x + random.normal(0, noise, rows)
    return pd.DataFrame({"x": x, "y": np.where(random.random(rows) < wrong, 60 - 6 * x, y)})


def fitted(df: pd.DataFrame, **said: Any) -> Any:
    private = df.dp
    model = TheilSenRegressor(**{**SAID, "units": len(df), **said})
    return model.fit(private[["x"]], private["y"])


def made(**said: Any) -> BlockSlopes:
    return BlockSlopes(Cells(), Layout(integer=False), is_by_unit=True, **said)


# --- the slope of a block -------------------------------------------------------------------------


def slope_of(x: list[float], y: list[float]) -> float | None:
    found = direction_of(np.array(x, dtype=float), np.array(y, dtype=float))
    return None if found is None else found / (1 - abs(found))


def test_a_block_says_the_median_slope_of_pairs_far_apart() -> None:
    assert slope_of([], []) is None
    assert slope_of([1], [1]) is None
    assert slope_of([1, 1, 1], [0, 1, 2]) is None
    assert slope_of([0, 0.5], [0, 1]) == pytest.approx(2)
    assert slope_of([0.5, 0], [1, 0]) == pytest.approx(2)
    assert slope_of([0, 0.5], [1, 0]) == pytest.approx(-2)
    assert slope_of([0, 0.25, 0.5], [0, -9, 1]) == pytest.approx(2)  # the first and the last
    x = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert slope_of(x, [2 * each for each in x]) == pytest.approx(2)
    assert slope_of(x, [0, 0.2, 0.4, 0.6, 0.8, -1]) == pytest.approx(2)  # one of three is wrong
    assert direction_of(np.array([0, 1e-300]), np.array([-1.0, 1.0])) == 1


def test_a_slope_has_an_end() -> None:
    top = made().grid.high
    assert made().estimate([0]) == [pytest.approx(-STEEPEST)]
    assert made().estimate([top // 2])[0] == pytest.approx(0, abs=1e-8)
    assert made().estimate([top]) == [pytest.approx(STEEPEST)]
    assert made().errors.intervals([0], 0) == [(-STEEPEST, STEEPEST)]


def test_rows_of_equal_features_bring_no_bias() -> None:
    """Two thirds of the blocks hold an odd number of rows, of which one isn't paired: were equal
    features in the order of the target, it would be an extreme one, and the median off by 0.17. The
    rows are made by a seed."""
    random = np.random.default_rng(8)
    found = []
    for _ in range(20_000):
        rows = int(random.choice([3, 5, 6]))
        each = direction_of(random.integers(0, 2, rows) / 1.0, random.normal(size=rows))
        found += [] if each is None else [each]
    assert abs(np.median(found)) < 0.03


def test_how_many_blocks_there_are_is_public() -> None:
    assert [number_of_blocks(units, 72) for units in (6, 60, 300, 1000, 10_000)] == [
        2, 20, 100, 216, 625,
    ]  # fmt: skip
    assert number_of_blocks(10**9, 72) == 10_000
    assert number_of_blocks(1000, 7200) == 333
    assert [fitted(line(rows), units=1000).n_subpopulation_ for rows in (20, 700)] == [216, 216]
    assert fitted(line(700), units=1000, epsilon=9).n_subpopulation_ == 62


# --- privacy --------------------------------------------------------------------------------------


def test_a_median_of_slopes_is_private_if_a_slope_is_replaced_added_or_removed() -> None:
    """All slopes of up to four blocks on a grid of six points: a unit makes one into another, or
    gives its block one, or takes it. The exact law moves by at most ε, and half of the rate would
    do only if slopes were never replaced."""
    few = made(bounds=(Bounds(0, 5),), step=(Fraction(1),), blocks=4)
    asked = LossRequest(epsilon=Epsilon(1))
    mechanism: Any = few.mechanism(asked, few.sensitivity(77))
    rate = float(mechanism._rate(mechanism._nodes[0]))

    def law(values: tuple[int, ...]) -> np.ndarray[Any, Any]:
        found = Ranks(*(each.astype(np.int64) for each in np.unique(values, return_counts=True)))
        weights = np.exp(-rate * np.array(losses(found, Fraction(1, 2), range(6))))
        found_law: np.ndarray[Any, Any] = np.log(weights / weights.sum())
        return found_law

    replaced = added = 0.0
    for blocks in (1, 2, 3, 4):
        for others in itertools.combinations_with_replacement(range(6), blocks - 1):
            laws = [law((*others, one)) for one in range(6)]
            without = law(others)
            replaced = max(replaced, *(np.abs(a - b).max() for a in laws for b in laws))
            added = max(added, *(np.abs(each - without).max() for each in laws))
    assert 0.75 < replaced <= 1
    assert added <= 0.55
    assert [few.l1_sensitivity(rows) for rows in (1, 9)] == [2, 2]


@pytest.mark.parametrize("rows", [1, 3, 2**31])
def test_noise_doesnt_grow_with_the_rows_of_a_unit(rows: int) -> None:
    df = line(2000).assign(who=np.repeat(np.arange(500), 4))
    people = dp.private(df, unit="who", max_rows=rows)
    model = TheilSenRegressor(**SAID, units=500).fit(people[["x"]], people["y"])
    assert "± 72 ranks" in repr(model.releases_)
    assert model.n_subpopulation_ == 166


def test_a_unit_gives_one_slope_however_many_rows_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[set[float]] = []
    monkeypatch.setattr(
        BlockSlopes, "points",
        lambda self, rows: [found.append({*x}) or 0 for x, _ in self.seen(rows)],
    )  # fmt: skip
    who = np.repeat(np.arange(500), 4)
    df = pd.DataFrame({"who": who, "x": who / 500, "y": np.arange(2000) / 2000})
    people = dp.private(df, unit="who", max_rows=9)
    slopes(people[["x"]], people["y"], 500).release(epsilon=1)
    assert len(found) > 100
    assert sum(map(len, found)) == 500


def test_it_is_verified_and_replays() -> None:
    session = anew(epsilon=2, strict=True)
    people = dp.protect(line(), name="line", kinds={"x": "number", "y": "number"})
    ask = {**SAID, "units": 4000}
    first = TheilSenRegressor(**ask).fit(people[["x"]], people["y"])
    again = TheilSenRegressor(**ask).fit(people[["x"]], people["y"])
    assert first.coef_ == again.coef_
    assert first.intercept_ == again.intercept_
    assert session.spent == Epsilon(1)
    assert {each.lineage for each in first.releases_} == {"verified"}


def test_rows_are_read_after_the_charge_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    entries: list[int] = []
    read = BlockSlopes.points

    def spied(self: Any, row_pass: Any) -> Any:
        entries.append(len(dp.ledger()._entries()))
        return read(self, row_pass)

    monkeypatch.setattr(BlockSlopes, "points", spied)
    fitted(line())
    assert entries == [1]


# --- the line -------------------------------------------------------------------------------------


def test_without_noise_it_is_the_line(exact: None) -> None:
    df = line(noise=0)
    model = fitted(df)
    assert model.coef_ == pytest.approx([1.5], abs=1e-4)
    assert model.intercept_ == pytest.approx(5, abs=1e-3)
    assert model.predict([[4.0]]) == pytest.approx([11], abs=1e-3)
    assert model.score(df[["x"]], df["y"]) == pytest.approx(1)
    people = df.dp
    found = model.predict(people[["x"]]).mean(bounds=(0, 30), epsilon=64)
    assert found == pytest.approx(model.predict(df[["x"]]).mean(), abs=1e-3)


def test_gross_errors_hardly_move_it() -> None:
    """A tenth of the rows lie on another line, of slope -6. Least squares without noise has a slope
    near 0.75."""
    df = line(4000, wrong=0.1)
    squares = np.polyfit(df["x"], df["y"], 1)[0]
    assert squares < 0.9
    model = fitted(df, epsilon=4)
    assert 1.0 < model.coef_[0] < 1.8
    assert abs(model.predict([[5.0]])[0] - 12.5) < 1
    other = LinearRegression(**{**SAID, "epsilon": 4}).fit(df.dp[["x"]], df.dp["y"])
    assert other.coef_[0] < 1.0


def test_missing_and_endless_values(exact: None) -> None:
    df = line(noise=0)
    df.loc[::7, "x"] = math.nan
    df.loc[::11, "y"] = math.nan
    df.loc[::13, "y"] = math.inf
    model = fitted(df)
    assert model.coef_ == pytest.approx([1.5], abs=0.01)
    assert model.intercept_ == pytest.approx(5, abs=0.1)


@pytest.mark.parametrize("df", [line(0), line(1), line(40).assign(x=3.0)])
def test_too_few_rows_are_answered_with_something(df: pd.DataFrame) -> None:
    model = fitted(df, units=100)
    assert abs(model.coef_[0]) <= STEEPEST * 5 + 1
    assert math.isfinite(model.intercept_)


def test_a_model_is_a_model() -> None:
    model = TheilSenRegressor(**SAID, units=4000)
    assert "units=4000" in repr(model)
    assert model.get_params()["units"] == 4000
    found = fitted(line())
    first, second = found.releases_
    assert first.query == "median slope of `x in [-1, 1]` and target"
    assert dp.ledger()._entries()[-2].what.options[0] == ("units", "4,000")
    assert second.query.startswith("median of")
    again = pickle.loads(pickle.dumps(found))
    assert again.coef_ == found.coef_
    with dp.preview() as plan:
        fitted(line())
    assert plan.total == Epsilon(1)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "two features": ({"features": ["x", "z"]}, "one feature, not 2"),
    "no units": ({"units": None}, "units=10_000"),
    "few units": ({"units": 5}, "units"),
    "half a unit": ({"units": 10.5}, "units"),
    "no bounds": ({"bounds": None}, "bounds"),
    "a point": ({"target_bounds": (1, 1)}, "single point"),
    "no target bounds": ({"target_bounds": None}, "target_bounds="),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_work_is_refused_free_of_charge(name: str) -> None:
    changed, said = WRONG[name]
    df = line().assign(z=1.0)
    features = changed.pop("features", ["x"])
    model = TheilSenRegressor(**{**SAID, "units": 4000, **changed})
    missing = "no " in name
    refusal(
        lambda: model.fit(df.dp[features], df.dp["y"]), said,
        *([MissingArgument] if missing else []),
    )  # fmt: skip


def test_least_squares_of_the_same_rows_agree_without_errors() -> None:
    df = line(20_000)
    people = df.dp
    results = OLS(people["y"], people[["x"]], **{**SAID, "epsilon": 4}).fit()
    model = fitted(df, epsilon=4)
    assert abs(model.coef_[0] - results.params.iloc[1]) < 0.3


def test_a_question_of_slopes_waits_for_its_loss() -> None:
    people = line().assign(x=lambda d: d["x"] / 20, y=lambda d: d["y"] / 80).dp
    question = slopes(people[["x"]], people["y"], 4000)
    assert question.expected_error(epsilon="2/3") == 72
    assert slopes(people[["x"]], people["y"], 12).expected_error(epsilon=1) <= 4
    found = question.release(epsilon=2)
    assert found.error() < 72
    refusal(found.interval, "OLS has intervals", RecordError)
