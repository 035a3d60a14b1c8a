"""Row by row, what is written in pandas by reflex gives what pandas gives."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from habits import FRAMES, agree

import dppandas as dp

Line = Callable[[Any], Any]

#: Of numbers: both frames, clean and ugly. The ugly one's Int64 is float64 here, as all arithmetic.
LINES: dict[str, Line] = {
    "gt": lambda f: f["income"].gt(30),
    "a comparison's name": lambda f: f["income"].le(50),
    "between two columns": lambda f: f["income"].add(f["age"], fill_value=0),
    "names that differ": lambda f: f["income"] + f["age"],
    "names that are the same": lambda f: f["income"] * f["income"],
    "the reflected": lambda f: f["income"].rsub(100),
    "a scalar that fills": lambda f: f["income"].mul(2, fill_value=1),
    "two columns halved": lambda f: f[["income", "age"]] / 2,
    "compared": lambda f: f[["income", "age"]].gt(30).sum(),
    "with a dict": lambda f: f[["income", "age"]].mul({"income": 2, "age": 3}),
    "with a Series": lambda f: f[["income", "age"]] - pd.Series({"income": 2, "age": 1}),
    "with a column": lambda f: f[["income", "age"]].div(f["age"], axis=0),
    "minus a frame": lambda f: -f[["income", "age"]],
    "abs of a frame": lambda f: abs(f[["income"]] - 50),
    "isna": lambda f: f.isna(),
    "counts of isna": lambda f: f.isna().sum(),
    "notna": lambda f: f[["income", "sex"]].notna().sum(),
    "isin of a frame": lambda f: f[["income", "sex", "level"]].isin(["f", "low", 25]),
    "isin by column": lambda f: f[["income", "sex"]].isin({"sex": ["f"]}).any(axis=1),
    "to_frame": lambda f: f["income"].to_frame(),
    "to_frame, named": lambda f: (f["income"] * 2).to_frame("twice"),
    "to_frame of no name": lambda f: (f["income"] * f["age"]).to_frame(),
    "clip a frame": lambda f: f[["income", "age"]].clip(20, 60),
    "where of a frame": lambda f: f[["income", "age"]].where(f[["income", "age"]] > 30, 0),
    "mask of a frame": lambda f: f[["income"]].mask(f["income"] > 30),
    "sum of rows": lambda f: f[["income", "age"]].sum(axis=1),
    "mean of rows": lambda f: f[["income", "age"]].mean(axis=1),
    "max of rows": lambda f: f[["income", "age"]].max(axis=1),
    "min of rows": lambda f: f[["income", "age"]].min(axis=1, skipna=True),
    "count of rows": lambda f: f.count(axis=1),
    "any missing": lambda f: f.isna().any(axis=1),
    "all there": lambda f: f.notna().all(axis=1),
    "map a Series": lambda f: f["sex"].map(pd.Series({"f": "female", "m": "male"})),
    "map, ignoring": lambda f: f["sex"].map({"f": 0, "m": 1}, na_action="ignore"),
    "case_when": lambda f: f["income"].case_when(
        [(f["income"] < 25, 0.0), (f["income"] > 60, 1.0)]
    ),
    "texts added": lambda f: f["level"] + "-" + f["level"],
    "str.cat": lambda f: f["level"].str.cat(f["level"].str.upper(), sep="/"),
    "str.split(expand=True)": lambda f: (f["level"] + "-x").str.split("-", n=1, expand=True),
    "str.partition": lambda f: (f["level"] + "-x").str.partition("-"),
    "str.extract": lambda f: f["level"].str.extract(r"(?P<first>\w)(?P<rest>\w+)"),
    "str.extract of one": lambda f: f["level"].str.extract(r"(?P<first>\w)", expand=False),
    "str.contains(na=False)": lambda f: f["level"].str.contains("i", na=False),
    "str.replace": lambda f: f["level"].str.replace("[MI]", "", case=False, regex=True),
    "str.slice_replace": lambda f: f["level"].str.slice_replace(0, 1, "*"),
    "str.pad": lambda f: f["level"].str.pad(6, side="right", fillchar="."),
    "str.findall": lambda f: f["level"].str.findall("[aeiou]").str[0],
    "isocalendar": lambda f: f["when"].dt.isocalendar().week,
    "isocalendar's frame": lambda f: f["when"].dt.isocalendar(),
    "tz_localize": lambda f: f["when"].dt.tz_localize("UTC").dt.tz_localize(None),
    "np.log of a frame": lambda f: np.sqrt(f[["income"]]),
    "np.abs": lambda f: np.abs(f["income"] - 50),
    "np.isnan": lambda f: np.isnan(f["income"]),
    "np.minimum's name": lambda f: np.minimum(f["income"], 30),
    "np.logical_and": lambda f: np.logical_and(f["income"] > 30, f["income"] < 60),
    "np.round": lambda f: np.round(f["income"]),
}

#: pandas itself fails where labels of rows come twice.
CLEAN: dict[str, Line] = {
    "combine_first": lambda f: f["income"].where(f["age"] > 30).combine_first(f["age"]),
    "combine_first of frames": lambda f: (
        f[["income"]].mask(f["age"] > 30).combine_first(f[["income"]] * 2)
    ),
}

#: numpy makes an array of these, which is compared as a column without a name.
ARRAYS: dict[str, Line] = {
    "np.where": lambda f: np.where(f["income"] > 50, "rich", "poor"),
    "np.where of a column": lambda f: np.where(f["income"].isna(), 0.0, f["income"]),
    "np.where with NaN": lambda f: np.where(f["income"] > 50, f["income"], np.nan),
    "np.select": lambda f: np.select(
        [f["income"] < 25, f["income"] < 75], ["low", "mid"], default="high"
    ),
}

#: Where we must differ on the ugly frame, and why.
DIFFERS: dict[str, tuple[Line, str]] = {
    "a comparison of nullable numbers": (
        lambda f: f["age"].gt(30),
        "A comparison with a missing value is False (for != True), whatever the dtype: pandas' "
        "nullable dtypes make it <NA>, and a dtype is data.",
    ),
}


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("line", DIFFERS)
def test_differs_from_pandas(line: str) -> None:
    do, why = DIFFERS[line]
    with pytest.raises(AssertionError):
        agree(do, FRAMES["ugly"]())
    dp.reset()
    agree(do, FRAMES["clean"]())
    assert why.endswith(".")


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("line", LINES)
def test_as_pandas(line: str, frame: str) -> None:
    agree(LINES[line], FRAMES[frame]())


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("line", CLEAN)
def test_as_pandas_on_rows_of_their_own(line: str) -> None:
    agree(CLEAN[line], FRAMES["clean"]())


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("line", ARRAYS)
def test_as_numpy(line: str, frame: str) -> None:
    do = ARRAYS[line]
    agree(do, FRAMES[frame](), plainly=lambda f: pd.Series(do(f)))


def cut(column: Any, *args: Any, **options: Any) -> Any:
    """`pandas.cut` of a plain column, `dppandas.cut` of a private one."""
    return (pd.cut if isinstance(column, pd.Series) else dp.cut)(column, *args, **options)


def sized(f: Any, **options: Any) -> Any:
    return f.assign(size=cut(f["income"], [0, 20, 60, 100], labels=["s", "m", "l"], **options))


def by_size(f: Any, *more: str) -> Any:
    return sized(f).groupby([*more, "size"], **({"observed": False} if plain(f) else {}))


def plain(f: Any) -> bool:
    return isinstance(f, pd.DataFrame)


def released(answer: Any) -> Any:
    return answer if isinstance(answer, pd.Series | pd.DataFrame) else answer.release(epsilon=1)


#: Labels of cut keep the order of their intervals, and so does what is made of an answer.
CUTS: dict[str, Line] = {
    "counted": lambda f: sized(f)["size"].value_counts(),
    "counted in order": lambda f: sized(f)["size"].value_counts(sort=False),
    "counted with missing values": lambda f: sized(f)["size"].value_counts(
        sort=False, dropna=False
    ),
    "intervals": lambda f: cut(f["income"], [0, 20, 60, 100]).value_counts(sort=False),
    "intervals with fractions": lambda f: cut(f["income"], [0, 20.5, 60]).value_counts(sort=False),
    "grouped": lambda f: by_size(f).size(),
    "grouped and sorted": lambda f: released(by_size(f).size()).sort_index(ascending=False),
    "grouped by two": lambda f: by_size(f, "sex").size(),
    "unstacked": lambda f: released(by_size(f, "sex").size()).unstack(),
}


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("line", CUTS)
def test_labels_of_cut_keep_their_order(line: str) -> None:
    f = FRAMES["clean"]().iloc[::-1]
    f.loc[3, "income"] = None  # is missing
    domain = {"sex": ["f", "m"], "income": (0, 100)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = CUTS[line](f)
    found = released(CUTS[line](dp.protect(f.copy(), name="cut", domain=domain)))
    for one, other in ((found.index, wanted.index), (found.axes[-1], wanted.axes[-1])):
        pd.testing.assert_index_equal(one, other)
    assert found.to_numpy().tolist() == wanted.to_numpy().tolist()


def test_labels_of_cut_may_have_no_order() -> None:
    p = dp.protect(FRAMES["clean"](), name="cut")
    asked = sized(p), sized(p, ordered=False)
    one, other = (each["size"].value_counts(sort=False) for each in asked)
    assert one._request.query(dp.session()._terms.asked(1)).key == (
        other._request.query(dp.session()._terms.asked(1)).key
    )  # how an answer is laid out is no other question
    first, second = (each.release(epsilon=1).index for each in (one, other))
    assert isinstance(first, pd.CategoricalIndex)
    assert second.tolist() == first.tolist() == ["s", "m", "l"]
    assert not isinstance(second, pd.CategoricalIndex)
