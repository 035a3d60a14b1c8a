"""The pandas-shaped face: without noise, its answers are those of pandas."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal
from refusals import refusal

import dppandas as dp
from dppandas.engines.readers import Columns
from dppandas.errors import LineageError, PrivateValueError, QueryError, UnknownColumn
from dppandas.release.answers.results import ReleasedFloat, ReleasedInt, ReleasedText

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

EDUC = [9, 12, 14, 16, 17, 20]
EDUC_KEYS = [float(years) for years in EDUC]
RATINGS = [1, 2, 3, 4, 5]
TABLE = {"educ": EDUC, "rate_marriage": RATINGS}


def sample() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [15, 30, 60, 45, 30, 22], "income": [0.0, 10.5, math.nan, 20.25, -3.0, 7.0],
            "city": ["Rome", "Oslo", "Rome", None, "Bonn", "Rome"],
            "likes_a": [True, True, False, True, False, True],
            "likes_b": [False, True, False, False, False, True]}
    )  # fmt: skip


# --- the same as pandas ---------------------------------------------------------------------------


@pytest.mark.usefixtures("exact")
class TestDifferential:
    """Real data, noise frozen at 0: values, index, names, dtypes and order are those of pandas."""

    def test_count_of_rows(self, fair: pd.DataFrame) -> None:
        for asked in (fair.dp.count(), fair.dp.size(), fair.dp["age"].size()):
            n = asked.release(epsilon=1)
            assert type(n) is ReleasedInt
            assert n == len(fair) == 6366

    def test_count_of_values(self) -> None:
        df = sample()
        expected = df[["income", "city"]].count()
        assert_series_equal(df.dp[["income", "city"]].count(epsilon=1), expected)
        assert_series_equal(df.dp[list(df)].count(epsilon=1), df.count())  # chosen: all of them
        assert df.dp["income"].count(epsilon=1) == df["income"].dp.count(epsilon=1) == 5

    @pytest.mark.parametrize("bounds", [{"age": (0, 99), "children": (0, 10)}, (0, 99)])
    @pytest.mark.parametrize("how", ["sum", "mean"])
    def test_sum_and_mean(self, fair: pd.DataFrame, how: str, bounds: Any) -> None:
        answer = getattr(fair.dp["affairs"], how)(bounds=(0, 60), epsilon=1)
        assert type(answer) is ReleasedFloat
        assert answer == pytest.approx(getattr(fair["affairs"], how)(), rel=1e-7, abs=1e-7)
        both = ["age", "children"]
        answers = getattr(fair.dp[both], how)(bounds=bounds, epsilon=1)
        assert_series_equal(answers, getattr(fair[both], how)(), rtol=1e-7)

    def test_values_are_clipped_and_missing_ones_left_out(self) -> None:
        income = sample()["income"]
        clipped = income.clip(0, 15)
        assert income.dp.sum(bounds=(0, 15), epsilon=1) == clipped.sum()
        assert income.dp.mean(bounds=(0, 15), epsilon=1) == pytest.approx(clipped.mean(), abs=1e-7)

    @pytest.mark.parametrize("sort", [True, False])
    @pytest.mark.parametrize("ascending", [True, False])
    @pytest.mark.parametrize("normalize", [True, False])
    def test_value_counts(self, fair: Any, sort: bool, ascending: bool, normalize: bool) -> None:
        how = (normalize, sort, ascending)
        answer = fair.dp["educ"].value_counts(*how, keys=EDUC_KEYS, epsilon=1)
        expected = fair["educ"].value_counts(normalize, sort, ascending)
        if not sort:  # pandas: in order of appearance; here: as declared
            expected = expected.sort_index()
        assert_series_equal(answer, expected, atol=2e-9, check_exact=False)

    def test_value_counts_over_columns(self, fair: pd.DataFrame) -> None:
        columns = list(TABLE)
        answer = fair.dp[columns].value_counts(keys=TABLE, epsilon=1)
        expected = fair[columns].value_counts()
        assert answer.name == "count"
        assert answer.is_monotonic_decreasing
        assert len(answer) == len(EDUC) * len(RATINGS)  # those without rows too
        assert answer[answer > 0].to_dict() == expected.to_dict()
        assert list(answer.index.names) == columns
        subset = fair.dp.value_counts(columns, keys=TABLE, sort=False, epsilon=1)
        assert subset.index.tolist() == [(e, r) for e in EDUC for r in RATINGS]
        one = fair.dp.value_counts("educ", keys=EDUC, sort=False, epsilon=1)
        assert one.tolist() == fair.value_counts("educ").sort_index().tolist()

    def test_value_counts_with_missing_values(self) -> None:
        city = pd.Series(["a", "b", "a", np.nan, "b", "a"], name="city")
        answer = city.dp.value_counts(dropna=False, keys=["b", "a"], epsilon=1)
        assert_series_equal(answer, city.value_counts(dropna=False), check_index_type=False)
        assert answer.index.isna().tolist() == [False, False, True]

    def test_group_size_and_count(self, fair: pd.DataFrame) -> None:
        groups, exact = fair.dp.groupby("educ", keys=EDUC_KEYS), fair.groupby("educ")
        assert_series_equal(groups.size(epsilon=1), exact.size())
        assert_series_equal(groups["age"].count(epsilon=1), exact["age"].count())
        assert_series_equal(groups.age.count(epsilon=1), exact.age.count())
        both = ["age", "children"]
        assert_frame_equal(groups[both].count(epsilon=1), exact[both].count())
        assert_frame_equal(groups.count(epsilon=1), exact.count())

    @pytest.mark.parametrize("statistic", ["sum", "mean"])
    def test_group_sum_and_mean(self, fair: pd.DataFrame, statistic: str) -> None:
        groups, exact = fair.dp.groupby("educ", keys=EDUC_KEYS), fair.groupby("educ")
        answer = getattr(groups["affairs"], statistic)(bounds=(0, 60), epsilon=1)
        assert_series_equal(answer, getattr(exact["affairs"], statistic)(), rtol=1e-6)
        columns = ["age", "children"]
        answers = getattr(groups[columns], statistic)(bounds=(0, 99), epsilon=1)
        assert_frame_equal(answers, getattr(exact[columns], statistic)(), rtol=1e-6)

    def test_groups_of_several_columns(self, fair: pd.DataFrame) -> None:
        keys = {name: [float(k) for k in labels] for name, labels in TABLE.items()}
        groups = fair.dp.groupby(list(keys), keys=keys)
        expected = fair.groupby(list(keys)).size()
        answer = groups.size(epsilon=1)
        assert_series_equal(answer[answer > 0], expected)
        means = groups["age"].mean(bounds=(0, 99), epsilon=1)
        exact = fair.groupby(list(keys))["age"].mean()
        assert_series_equal(means[exact.index], exact, rtol=1e-6)

    def test_groups_of_declared_tuples(self) -> None:
        df = sample()
        pairs = [("Rome", 60), ("Oslo", 30), ("Bonn", 99)]
        answer = df.dp.groupby(["city", "age"], keys=pairs).size(epsilon=1)
        assert answer.to_dict() == {("Rome", 60): 1, ("Oslo", 30): 1, ("Bonn", 99): 0}

    @pytest.mark.parametrize("normalize", [True, False])
    def test_group_value_counts(self, fair: pd.DataFrame, normalize: bool) -> None:
        keys = {name: [float(k) for k in labels] for name, labels in TABLE.items()}
        answer = fair.dp.groupby("educ", keys=keys["educ"])["rate_marriage"].value_counts(
            normalize, keys=keys["rate_marriage"], epsilon=1
        )
        expected = fair.groupby("educ")["rate_marriage"].value_counts(normalize)
        assert_series_equal(answer[answer > 0], expected, atol=2e-9, check_exact=False)
        # groups in declared order, and descending within each, as in pandas
        assert answer.index.get_level_values(0).tolist() == [e for e in EDUC for _ in RATINGS]

    def test_mode(self, fair: pd.DataFrame) -> None:
        assert_series_equal(fair.dp["educ"].mode(keys=EDUC_KEYS, epsilon=1), fair["educ"].mode())

    def test_nlargest(self, fair: pd.DataFrame) -> None:
        answer = fair.dp["educ"].value_counts(keys=EDUC_KEYS).nlargest(3, epsilon=1)
        assert_series_equal(answer, fair["educ"].value_counts().nlargest(3))
        likes = sample().dp[["likes_b", "likes_a"]].sum()
        assert likes.nlargest(2, epsilon=1).tolist() == ["likes_a", "likes_b"]

    def test_idxmax(self, fair: pd.DataFrame) -> None:
        df = sample()
        label = fair.dp["educ"].value_counts(keys=EDUC_KEYS).idxmax(epsilon=1)
        assert label == fair["educ"].value_counts().idxmax()
        likes = df.dp[["likes_b", "likes_a"]]
        for answer in (
            likes.idxmax(epsilon=1), likes.idxmax().release(epsilon=1),
            likes.sum().idxmax(epsilon=1),
        ):  # fmt: skip
            assert type(answer) is ReleasedText
            assert answer == df[["likes_b", "likes_a"]].sum().idxmax() == "likes_a"
        groups = fair.dp.groupby("educ", keys=EDUC_KEYS)
        assert groups.size().idxmax(epsilon=1) == fair.groupby("educ").size().idxmax()
        assert likes.idxmax(bounds=(0, 1), epsilon=1) == "likes_a"

    def test_a_mask_counts_as_false_and_true(self) -> None:
        df = sample()
        answer = (df.dp["age"] > 25).value_counts(epsilon=1)
        assert_series_equal(answer, (df["age"] > 25).value_counts())
        assert (df.dp["age"] > 25).sum(epsilon=1) == 4
        assert (df.dp["age"] > 25).mean(epsilon=1) == pytest.approx(4 / 6, abs=1e-8)

    def test_columns_computed_from_others(self) -> None:
        def computed(df: Any) -> list[Any]:
            age = df["age"]
            return [df["income"] * 2 + age, 100 - age / 4, -age // 7 % 5, age**2 - 1]

        for private, plain in zip(computed(sample().dp), computed(sample()), strict=True):
            assert private.sum(bounds=(-9999, 9999), epsilon=1) == pytest.approx(plain.sum())


# --- what pandas does not have --------------------------------------------------------------------


@pytest.mark.usefixtures("exact")
class TestKeysAndValues:
    def test_whole_keys_find_floats(self, fair: pd.DataFrame) -> None:
        answer = fair.dp["educ"].value_counts(keys=range(9, 21), sort=False, epsilon=1)
        assert answer.index.tolist() == list(range(9, 21))
        assert answer[9] == (fair["educ"] == 9.0).sum() > 0
        assert answer[10] == 0

    def test_rows_outside_the_keys_are_dropped(self) -> None:
        cities = sample().dp["city"]
        assert cities.value_counts(keys=["Oslo"], epsilon=1).to_dict() == {"Oslo": 1}
        shares = cities.value_counts(keys=["Oslo", "Rome"], normalize=True, epsilon=1)
        assert shares.to_dict() == {"Rome": 0.75, "Oslo": 0.25}

    @pytest.mark.parametrize("kind", [list, tuple, pd.Index, np.array])
    def test_keys_stand_in_declared_order(self, kind: Callable[..., Any]) -> None:
        df, keys = pd.DataFrame({"x": [1, 1, 2]}), kind([3, 1, 2])
        assert df.dp.groupby("x", keys=keys).size(epsilon=1).to_dict() == {3: 0, 1: 2, 2: 1}
        assert df.dp["x"].value_counts(keys=keys, sort=False, epsilon=1).index.tolist() == [3, 1, 2]

    def test_labels_may_be_tuples_truth_values_and_times(self) -> None:
        day = pd.Timestamp(2020, 1, 1)
        series = pd.Series([("a", 1), True, day, "a"], dtype=object)
        answer = series.dp.value_counts(keys=[("a", 1), True, day], sort=False, epsilon=1)
        assert answer.tolist() == [1, 1, 1]
        assert answer.index.tolist() == [("a", 1), True, day]

    def test_true_counts_whatever_the_dtype(self) -> None:
        df = pd.DataFrame(
            {"bool": [True, False, True], "number": [1, 0, 2], "object": [True, None, "True"],
             "nullable": pd.array([True, None, True], dtype="boolean")}
        )  # fmt: skip
        counts = dp.private(df, kinds={"number": "unknown"})[list(df)].sum(epsilon=1)
        assert counts.to_dict() == {"bool": 2, "number": 1, "object": 1, "nullable": 2}
        assert counts.dtype == "int64"

    def test_what_is_no_number_counts_as_missing(self) -> None:
        series = pd.Series(["1", " 2.5 ", "three", None, 4, [5], 1 + 0j], dtype=object)
        assert series.dp.sum(bounds=(0, 10), epsilon=1) == 7.5
        assert series.dp.mean(bounds=(0, 10), epsilon=1) == pytest.approx(2.5, abs=1e-7)
        assert dp.private(sample()["city"], kinds="unknown").sum(bounds=(0, 1), epsilon=1) == 0

    def test_equal_bounds(self) -> None:
        series = pd.Series([1.0, 2.0, math.nan])
        mean = series.dp.mean(bounds=(5, 5), epsilon=1)
        assert (mean, mean.error()) == (5, 0)
        assert dp.ledger().spent == 0  # a constant costs nothing
        assert series.dp.sum(bounds=(5, 5), epsilon=1) == 10
        assert dp.ledger().spent == 1

    def test_empty_frames_answer_too(self) -> None:
        df = sample()[:0]
        assert df.dp.count(epsilon=1) == 0
        assert 0 <= df.dp["income"].mean(bounds=(0, 10), epsilon=1) <= 10
        assert df.dp["city"].value_counts(keys=["Rome"], epsilon=1).tolist() == [0]
        assert df.dp["city"].value_counts(keys=["Rome"], normalize=True, epsilon=1).isna().all()


@pytest.mark.usefixtures("exact")
class TestRows:
    def test_filters_chain(self) -> None:
        df = sample()
        private = df.dp.query("age > 20").query("city == 'Rome' or income < 0")
        expected = df.query("age > 20 and (city == 'Rome' or income < 0)")
        assert private.count(epsilon=1) == len(expected)
        ages = df.dp[df.dp["age"] > 20][["income", "age"]].query("income > 0")["age"]
        expected = df.query("age > 20 and income > 0")["age"]
        assert ages.sum(bounds=(0, 99), epsilon=1) == expected.sum()

    def test_masks_combine(self) -> None:
        def masks(df: Any) -> list[Any]:
            age, income, city = df["age"], df["income"], df["city"]
            return [
                (age > 20) & ~(city == "Rome"), df["likes_a"] | df["likes_b"], age != income,
                city.isin(["Rome", "Oslo"]), income.between(0, 10.5), 30 <= age,  # noqa: SIM300
                income.between(0, 10.5, "left"), income.isna() | city.notna(),
            ]  # fmt: skip

        df, p = sample(), sample().dp
        for mask, expected in zip(masks(p), masks(df), strict=True):
            assert p[mask].count(epsilon=1) == len(df[expected])
            assert p["age"][mask].count(epsilon=1) == df["age"][expected].count()

    def test_a_mask_of_filtered_rows_filters_only_those(self) -> None:
        adults = sample().dp.query("age > 20")
        assert adults[adults["likes_a"]].count(epsilon=1) == 3
        refusal(lambda: adults.query("age > 50")[adults["likes_a"]], "other rows")

    def test_variables_come_from_where_the_query_is_written(self) -> None:
        df, limit = sample(), 30
        assert df.dp.query("age >= @limit").count(epsilon=1) == len(df[df["age"] >= limit])

        def inner(limit: int) -> int:
            return df.dp.query("age >= @limit").count(epsilon=1)

        assert inner(60) == 1
        with pytest.raises(dp.errors.UnsupportedExpression, match="@nobody is not defined"):
            df.dp.query("age > @nobody")

    def test_a_series_is_a_column(self) -> None:
        df = sample()
        for series in (df["age"], df["age"].rename(None)):
            assert series.dp.count(epsilon=1) == 6
            assert series.dp[series.dp > 20].count(epsilon=1) == 5
            counts = series.dp.value_counts(keys=[30, 15], epsilon=1)
            assert counts.to_dict() == {30: 2, 15: 1}
            assert counts.index.name == series.name

    def test_private_masks_need_one_frame(self) -> None:
        df = sample()
        assert df.dp[df.dp["age"] > 20].count(epsilon=1) == 5  # two accesses of one frame
        refusal(lambda: df.dp[df.copy().dp["age"] > 20], "Make it from this one", LineageError)


# --- the domain -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("exact")
class TestDomain:
    def people(self, **domain: Any) -> dp.types.PrivateFrame:
        return dp.protect(sample(), name="people", domain=domain)

    def test_bounds_and_keys_come_from_the_domain(self) -> None:
        people = self.people(age=(0, 50), city=["Oslo", "Rome"])
        assert people["age"].mean(epsilon=1) == pytest.approx(32, abs=1e-6)
        assert people["city"].value_counts(epsilon=1).to_dict() == {"Rome": 3, "Oslo": 1}
        groups = people.groupby("city")["age"]
        assert groups.sum(epsilon=1).to_dict() == {"Oslo": 30, "Rome": 87}
        assert groups.sum(bounds=(0, 60), epsilon=1)["Rome"] == 97  # the call comes first

    def test_keys_that_are_numbers_bound_a_mean(self) -> None:
        people = self.people(age=[15, 30, 45], likes_a=[False, True])
        clipped = (15 + 30 + 45 + 45 + 30 + 22) / 6
        assert people["age"].mean(epsilon=1) == pytest.approx(clipped, abs=1e-6)
        assert people["likes_a"].mean(epsilon=1) == pytest.approx(4 / 6, abs=1e-8)

    def test_the_product_of_two_domains(self) -> None:
        people = self.people(city=["Oslo", "Rome"], likes_a=[True, False])
        answer = people.groupby(["city", "likes_a"]).size(epsilon=1)
        cells = [("Oslo", True), ("Oslo", False), ("Rome", True), ("Rome", False)]
        assert answer.to_dict() == dict(zip(cells, [1, 0, 2, 1], strict=True))

    def test_asserted_frames_inherit_no_domain(self) -> None:
        df = sample()
        dp.protect(df, name="people", domain={"age": (0, 50)})
        refusal(lambda: df.dp["age"].mean(epsilon=1), "bounds=", dp.errors.MissingArgument)

    def test_describe_shows_the_public_schema(self) -> None:
        shown = self.people(age=(0, 50), city=["Oslo", "Rome"]).describe()
        assert shown.loc["age", "bounds"] == "(0, 50)"
        assert shown.loc["city", "keys"] == "Oslo, Rome"
        assert (shown.loc["income"] == "").all()


# --- unreleased answers and refusals --------------------------------------------------------------

UNRELEASED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "count": (lambda p: p.count(), "count"),
    "sum": (lambda p: p["age"].sum(bounds=(0, 99)), "sum of age in 0 to 99"),
    "mean": (lambda p: p["age"].mean(bounds=(0, 99)), "mean of age in 0 to 99"),
    "value_counts": (lambda p: p["city"].value_counts(keys=["x"]), "value_counts of city (1 key)"),
    "mode": (lambda p: p["city"].mode(keys=["Rome", "Oslo"]), "mode of city (2 keys)"),
    "sum of True": (lambda p: p[["likes_a", "likes_b"]].sum(), "sum of True of likes_a, likes_b"),
    "idxmax": (
        lambda p: p[["likes_a", "likes_b"]].idxmax(),
        "idxmax of sum of True of likes_a, likes_b",
    ),
    "group mean": (
        lambda p: p.groupby("city", keys=["Rome"])["age"].mean(bounds=(0, 99)),
        "mean of age by city (1 key)",
    ),
    "filtered": (lambda p: p.query("age > 30").count(), "count where age > 30"),
}


@pytest.mark.parametrize("name", UNRELEASED)
def test_an_unreleased_answer_says_what_it_is(name: str) -> None:
    make, what = UNRELEASED[name]
    unreleased = make(sample().dp)
    assert isinstance(unreleased, dp.types.Unreleased)
    assert repr(unreleased).startswith(f"<unreleased {what}, from unnamed (asserted): nothing")
    assert ".release(epsilon=…)" in repr(unreleased)
    assert (".idxmax" in repr(unreleased)) == (name in ("value_counts", "sum of True"))
    assert dp.ledger()._entries() == []
    unreleased.release(epsilon=1)
    (entry,) = dp.ledger()._entries()
    assert entry.what.text == what


def test_release_of_a_mode_is_the_mode(exact: None) -> None:
    assert sample().dp["city"].mode(keys=["Oslo", "Rome"]).release(epsilon=1).tolist() == ["Rome"]


#: What is done, what the message has to say, and what is raised if no `QueryError`.
ERRORS: dict[str, tuple[Any, ...]] = {
    "no such column": (lambda p: p["agee"], "Did you mean 'age'", UnknownColumn),
    "no such column among several": (lambda p: p[["age", "cty"]], "'cty'.*'city'", KeyError),
    "no such group": (lambda p: p.groupby("cit", keys=[1]), "'city'", UnknownColumn),
    "no such column in a query": (lambda p: p.query("agge > 1"), "'age'", UnknownColumn),
    "no such attribute": (lambda p: p.skew, "private frames have no 'skew'", AttributeError),
    "no such column attribute": (lambda p: p.age.skew, "have no 'skew'", AttributeError),
    "no keys for groups": (
        lambda p: p.groupby("city"), r"keys= is needed", dp.errors.MissingArgument),
    "keys as text": (lambda p: p.groupby("city", keys="Rome"), "list of labels"),
    "keys as a set": (lambda p: p.groupby("city", keys={"Rome"}), "list of labels"),
    "no keys at all": (lambda p: p.groupby("city", keys=[]), "empty"),
    "keys of a column not asked": (
        lambda p: p.groupby(["city", "age"], keys={"city": ["a"], "age": [1], "x": [1]}), "'x'"),
    "short tuples": (lambda p: p.groupby(["city", "age"], keys=[("Rome",)]), "tuple of 2"),
    "twice in a product": (
        lambda p: p.groupby(["city", "age"], keys={"city": ["a", "a"], "age": [1]}),
        "one label twice, at 0 and 1"),
    "columns named twice": (lambda p: p[["age", "age"]], "twice"),
    "no columns": (lambda p: p[[]].mean(bounds=(0, 1)), "no columns"),
    "rows by position": (lambda p: p[0:2], "position"),
    "value_counts of several groups": (
        lambda p: p.groupby("city", keys=["a"])[["age", "income"]].value_counts(keys=[1]),
        "needs one column"),
    "dropna over columns": (
        lambda p: p[["city", "age"]].value_counts(dropna=False, keys=[("a", 1)]), "one column"),
    "arithmetic with text": (lambda p: p["age"] + "a", "'a' isn't a number"),
    "a number as a mask": (lambda p: p[p["age"] + 1], "Compare it"),
    "a plain column": (lambda p: p["age"] > pd.Series([1]), "isin", LineageError),
    "isin text": (lambda p: p["city"].isin("Rome"), "list"),
    "keys where normalize is": (
        lambda p: p["city"].value_counts(["Rome"], epsilon=1), "normalize="),
    "epsilon by position": (lambda p: p.count(0.1), "positional argument"),
    "an option of pandas": (lambda p: p["age"].mean(skipna=False), "skipna="),
    "a column of data as bounds": (
        lambda p: p["age"].mean(bounds=sample()["age"], epsilon=1), "not a Series"),
    "a column of data as epsilon": (lambda p: p.count(epsilon=sample()["age"]), "epsilon=a Series"),
    "a whole frame multiplied": (lambda p: p @ p, "Use one of its columns", PrivateValueError),
    "numbers of a frame compared": (lambda p: (p == pd.Timestamp(3)).sum(), "never equal"),
    "columns set": (lambda p: setattr(p, "age", 5), "can't be changed", AttributeError),
    "a typing error": (lambda p: p.agee, "Did you mean the column 'age'", AttributeError),
    "a group twice": (lambda p: p.groupby(["age", "age"], keys=[(1, 1)]), "twice"),
    "no epsilon": (
        lambda p: p["city"].value_counts(keys=["Rome"]).release(), "epsilon=",
        dp.errors.MissingArgument),
    "not released: a number": (lambda p: p.count() > 5, "not released yet", PrivateValueError),
    "not released: rounded": (lambda p: round(p.count()), "not released", PrivateValueError),
    "not released: a table": (lambda p: p[["age"]].count().plot(), "epsilon=", AttributeError),
    "of a mode": (lambda p: p["city"].mode(keys=["Rome"]).nlargest(1, epsilon=1), "of one label"),
    "inclusive of what": (lambda p: p["age"].between(1, 2, "some"), "'neither'"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_what_to_change(name: str) -> None:
    do, message, error = (*ERRORS[name], QueryError)[:3]
    refusal(lambda: do(sample().dp), message, error)


SLIPS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a number beside text": (lambda p: p.query("age > '30'").count(), "declares numbers"),
    "a mask beside text": (lambda p: p[p["age"] == "30"].count(), "declares numbers"),
    "text beside a number": (lambda p: p.query("city in [1, 2]").count(), "declares texts"),
    "keys of another kind": (lambda p: p["city"].value_counts(keys=[1]), "declares texts"),
    "arithmetic on text": (lambda p: (p["city"] + 1).mean(bounds=(0, 1)), "no arithmetic"),
    "a number as a mask": (lambda p: p[p["age"]].count(), "isn't True or False"),
    "a number negated": (lambda p: p.query("not age").count(), "isn't True or False"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_what_a_domain_contradicts_is_refused(name: str) -> None:
    do, message = SLIPS[name]
    domain = {"age": (0, 99), "city": ["Rome", "Oslo"], "likes_a": [False, True]}
    private = dp.protect(sample(), "sample", domain=domain)
    refusal(lambda: do(private), message)
    for fine in (private[private["likes_a"]], private.query("age > 30 and city == 'Rome'")):
        assert isinstance(fine.count(), dp.types.Unreleased)


def test_columns_named_twice_are_refused() -> None:
    df = pd.DataFrame([[1, 2]], columns=["x", "x"])
    refusal(lambda: df.dp.count(epsilon=1), "have the same name")


def test_names_of_columns_may_be_anything_hashable(exact: None) -> None:
    levels = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")])
    df = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=levels)
    assert "('a', 'x')" in repr(df.dp)
    assert df.dp[("a", "x")].sum(bounds=(0, 9), epsilon=1) == 5
    sums = df.dp[[("a", "x"), ("b", "x")]].sum(bounds=(0, 9), epsilon=1)
    assert_series_equal(sums, df[[("a", "x"), ("b", "x")]].sum().astype(float))
    numbered = pd.DataFrame({1: [1, 2], 2: [3, 4]})
    assert numbered.dp.groupby(1, keys=[1]).count(epsilon=1).to_dict() == {2: {1: 1}}
    assert pd.DataFrame(index=range(5)).dp.count(epsilon=1) == 5


def test_a_number_is_the_name_of_no_index_that_is_called_true(exact: None) -> None:
    """The two names are equal, though an Index of numbers tells them apart: its times were read."""
    when = pd.DatetimeIndex(["2020-01-01", "2020-01-02"], name=True)
    df = pd.DataFrame({0: [9.0, 9.0], 1: [5.0, 6.0]}, index=when)
    for private in (df.dp, dp.protect(df, name="numbered")):
        assert private[1].sum(bounds=(0, 9), epsilon=1) == 11
        assert list(private.columns) == [0, 1]


def test_columns_read_anew_keep_their_places() -> None:
    twice = Columns(pd.DataFrame([[1, 2, 3]], columns=[1, True, "x"]))
    for columns in (twice, twice.anew(), twice.anew().anew()):
        assert columns.plain(["x", 1], slice(None)).to_numpy().tolist() == [[3, 2]]


def test_completion_offers_columns_and_answers() -> None:
    private = sample().dp
    assert {"age", "query", "groupby", "count"} <= set(dir(private))
    assert "age" in private
    assert list(private.columns) == list(sample())


def test_columns_that_are_not_asked_for_are_never_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    read, reader = [], Columns._once
    spy = lambda self, name: (read.append(name), reader(self, name))[1]  # noqa: E731
    monkeypatch.setattr(Columns, "_once", spy)
    sample().dp.query("age > 20")["income"].mean(bounds=(0, 1), epsilon=1)
    assert sorted(set(read)) == ["age", "income"]
    sample().dp.count(epsilon=1)
    assert len(set(read)) == 2


def test_numpy_scalars_on_the_left_combine_like_plain_ones(exact: None) -> None:
    df = sample()
    for left in (np.float64(2), np.int64(30), np.float32(0.5)):
        assert (left * df.dp["age"]).sum(bounds=(0, 9999), epsilon=1) == (left * df["age"]).sum()
        assert df.dp[left < df.dp["age"]].count(epsilon=1) == (left < df["age"]).sum()
    refusal(lambda: np.arange(6) + df.dp["age"], "plain ndarray", LineageError)
    for function in (np.mean, np.cumsum, np.sort, np.asarray):
        with pytest.raises(PrivateValueError, match="released answer"):
            function(df.dp["age"])


def test_groupby_takes_the_options_of_pandas_that_make_sense() -> None:
    by = partial(sample().dp.groupby, "city", keys=["Rome"])
    assert repr(by(dropna=False)) != repr(by())
    for name, value in (("observed", True), ("observed", False), ("dropna", True)):
        assert repr(by(**{name: value})) == repr(by())
