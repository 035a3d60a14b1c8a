"""groupby(dropna=False): a last group of the rows whose label is missing."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from notes import noted
from refusals import refusal

import dppandas as dp

CITIES = ["Oslo", None, "Rome", "Bonn"]
KEYS = ["Oslo", "Rome"]


def rows() -> pd.DataFrame:
    return pd.DataFrame({"city": CITIES * 500, "age": np.arange(2000) % 4 * 10.0})


def people(**options: Any) -> Any:
    return dp.protect(rows(), "missing groups", domain={"age": (0, 100)}, **options)


def test_answers_are_pandas_own_with_a_last_group_for_missing() -> None:
    dp.session(epsilon=10_000)
    p = people()
    plain = rows()[rows()["city"] != "Bonn"].groupby("city", dropna=False)
    array = np.array([*KEYS, None], dtype=object)
    for name, keys in {
        "none": KEYS, "None": ["Oslo", None, "Rome"], "NaN": [*KEYS, np.nan], "NA": [*KEYS, pd.NA],
        "Series": pd.Series([*KEYS, None]), "Index": pd.Index([*KEYS, None]),
        "tuple": (*KEYS, None), "array": array, "dict": {"city": [*KEYS, None]},
    }.items():  # fmt: skip
        with noted(name):
            groups = p.groupby("city", keys, dropna=False)
            sizes = groups.size(epsilon=50)
            pd.testing.assert_series_equal(sizes, plain.size(), check_names=True, atol=2)
            assert sizes.index.isna().tolist() == [False, False, True]
    groups = p.groupby("city", KEYS, dropna=False)
    for name in ("count", "sum", "mean", "var", "std", "median"):
        with noted(name):
            answer = getattr(groups["age"], name)(epsilon=50)
            assert answer.index.equals(plain.size().index)
            expected = getattr(plain["age"], name)()
            if name == "median":  # 500 equal values: another one is drawn once in e^1000
                assert (answer - expected).abs().max() < 1
            else:
                ends = dp.intervals(answer, 1 - 1e-9)
                assert (ends["low"].to_numpy() <= expected.to_numpy()).all()
                assert (ends["high"].to_numpy() >= expected.to_numpy()).all()
                assert (ends["high"] - ends["low"]).max() < 0.1 * plain["age"].sum().max()
    several = groups["age"].agg(["count", "mean"], epsilon=60)
    assert several.loc[several.index.isna(), "mean"].round().tolist() == [10.0]
    assert len(groups["age"].describe(epsilon=60)) == 3


def test_labels_keep_what_they_are_beside_a_missing_one() -> None:
    """As in pandas 3; pandas 2 would make numbers of True and False."""
    dp.session(epsilon=10_000)
    noon, day = pd.Timestamp("2024-01-01 12:00"), pd.Period("2024-01-01", "D")
    for labels in (["a", "b"], [1, 2], [1.5, 2], [True, False], [noon, pd.Timestamp(0)], [day]):
        with noted(*labels):
            p = dp.protect(pd.DataFrame({"x": [*labels, None] * 9}), str(labels))
            sizes = p.groupby("x", labels, dropna=False).size(epsilon=50)
            *found, gone = sizes.index
            assert found == labels
            assert pd.isna(gone)
            kinds = [float if type(each) is int else type(each) for each in labels]
            assert [type(each) for each in found] == kinds
            counts = p["x"].value_counts(keys=labels, dropna=False, sort=False, epsilon=50)
            assert counts.index.equals(sizes.index)


def test_it_is_another_question_and_true_is_the_same_as_none() -> None:
    dp.session(epsilon=10)
    p = people()
    with dp.preview() as plan:
        for flag in ({}, {"dropna": True}, {"dropna": False}):
            p.groupby("city", KEYS, **flag)["age"].mean(epsilon=1)
    first, same, other = (entry.key for entry in plan._entries)
    assert first == same != other
    assert plan.to_frame()["status"].tolist() == ["new", "replayed", "new"]


def test_a_row_is_in_one_group() -> None:
    """Also one without a label, so the sensitivity is that of the keys alone."""
    p = people()
    for more in (lambda g: g.size(), lambda g: g["age"].mean(), lambda g: g["age"].std()):
        with_it = more(p.groupby("city", KEYS, dropna=False))._statistic
        without = more(p.groupby("city", KEYS))._statistic
        assert (with_it.l1, with_it.linf) == (without.l1, without.linf)
        assert len(with_it.cells) == len(without.cells) + 1


def test_what_has_no_group_for_missing_says_what_to_write() -> None:
    p = people()
    groups = p.groupby("city", KEYS, dropna=False)
    for name, ask in {
        "get_group": lambda: groups.get_group("Oslo"), "loop": lambda: list(groups),
        "len": lambda: len(groups),
    }.items():  # fmt: skip
        with noted(name):
            assert "frame[frame['city'].isna()]" in refusal(ask)
    refusal(lambda: groups["age"].value_counts(keys=[0, 10]), "dropna=True")
    refusal(lambda: p.groupby("city", [*KEYS, None]), "dropna=False to value_counts or groupby")


def test_a_protected_column_is_no_list_of_keys() -> None:
    """Found: its labels were made a plain list, of which nobody could tell where they came from."""
    df = pd.DataFrame({"name": ["Ann", "Bob", "Cid"], "n": [1, 2, 3]})
    people = dp.protect(df, name="names of missing groups")
    for keys in (df["name"], {"name": df["name"]}, df.set_index("name")["n"].rename("name")):
        for dropna in (True, False):
            with noted(type(keys), dropna):
                ask = partial(people.groupby, "name", keys=keys, dropna=dropna)
                refusal(lambda ask=ask: ask().size(epsilon=1), "column of a protected source")
