"""Kinds of columns: what they are, what is declared, and what is refused before the charge.

The matrix below has every verb and statistic by every kind. A row says for which kinds there is an
answer, which then is pandas' own on clean data; for all others it has to be refused, at no cost.
Where nobody knows the kind, cells that can't be made something of count as missing ones.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from by_kind import (
    ALL,
    CASES,
    LABELS,
    LENGTHS,
    NUMBERS,
    TEXTS,
    TIMES,
    TRUTHS,
    Ask,
    B,
    Case,
    E,
    Row,
    by_group,
    count_row,
    counts,
    mask_row,
    rows_where,
    total_row,
)  # fmt: skip
from ledgers import anew
from notes import noted
from refusals import refusal
from sizes import third

import dppandas as dp
from dppandas.columns.accessors import TextMethods
from dppandas.columns.operators import METHODS
from dppandas.columns.time_methods import TimeMethods
from dppandas.errors import ReleaseFailed, SourceError
from dppandas.frames.groupby import PrivateGroupBy
from dppandas.frames.histories import UnitRows
from dppandas.ledger import canonical
from dppandas.privacy.sampling import entropy
from dppandas.release.request import Request
from dppandas.rows.expressions import AGGREGATES
from dppandas.rows.expressions import times as time_methods
from dppandas.rows.facts import kinds
from dppandas.statistics import every

# --- which kind something is of -------------------------------------------------------------------

ARROW, arrow = pytest.importorskip("pyarrow"), pd.ArrowDtype


DTYPES: list[tuple[Any, str]] = [
    ("int8", "number"), ("uint64", "number"), ("float32", "number"), ("float64", "number"),
    (np.longdouble, "number"), ("Int64", "number"), ("UInt8", "number"), ("Float64", "number"),
    ("Sparse[float64]", "number"), (arrow(ARROW.int32()), "number"),
    (arrow(ARROW.decimal128(9, 2)), "number"), (arrow(ARROW.float64()), "number"),
    ("bool", "truth"), ("boolean", "truth"), (arrow(ARROW.bool_()), "truth"),
    ("string", "text"), (arrow(ARROW.string()), "text"), (arrow(ARROW.large_string()), "text"),
    ("datetime64[ns]", "time"), ("datetime64[s]", "time"), (arrow(ARROW.timestamp("us")), "time"),
    (arrow(ARROW.date32()), "time"),
    ("datetime64[ns, UTC]", "zoned time"), (arrow(ARROW.timestamp("us", "UTC")), "zoned time"),
    ("timedelta64[ns]", "duration"), (arrow(ARROW.duration("ms")), "duration"),
    (arrow(ARROW.list_(ARROW.int64())), "list"),
    ("object", "unknown"), ("complex128", "complex"), ("interval", "interval"),
    ("period[D]", "period[D]"),
    (arrow(ARROW.binary()), "unknown"), (arrow(ARROW.time32("s")), "unknown"),
    ("category", "unknown"), (pd.CategoricalDtype([1, 2]), "number"),
    (pd.CategoricalDtype(pd.Index(["a"], dtype="string")), "text"),
    (pd.CategoricalDtype(pd.Index(["a"], dtype=object)), "unknown"),
    (arrow(ARROW.dictionary(ARROW.int32(), ARROW.string())), "text"),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "kind"), DTYPES, ids=[str(d) for d, _ in DTYPES])
def test_a_dtype_has_a_kind(dtype: Any, kind: str) -> None:
    assert kinds.of_dtype(pd.api.types.pandas_dtype(dtype)) == kind


def test_objects_are_of_no_known_kind_on_any_pandas() -> None:
    for cells in (["a"], [1], [None], [pd.Timestamp(0)], [[1]]):
        df = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
        assert kinds.of_columns(df) == {"x": "unknown"}


@pytest.mark.parametrize(("value", "kind"), [
    (True, "truth"), (1, "number"), (Decimal("0.1"), "number"), ("a", "text"),
    (datetime.date(2020, 1, 1), "time"), (pd.Timestamp(0), "time"),
    (pd.Timestamp(0, tz="UTC"), "zoned time"), (datetime.timedelta(1), "duration"),
    ((1, 2), "list"), (None, "unknown"), (b"a", "unknown"),
])  # fmt: skip
def test_a_public_value_has_a_kind(value: Any, kind: str) -> None:
    assert kinds.of_value(value) == kind


# --- what is declared -----------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "words"), [
    ({"x": "numbr"}, "Did you mean 'number'"),
    ({"x": "float64"}, "Did you mean 'number'"),
    ({"x": str}, "Did you mean 'text'"),
    ({"x": "datetime"}, "Did you mean 'time'"),
    ({"x": "zoned"}, "The kinds are number, truth, text"),
    ({"x": None}, "isn't a kind"),
    ({"xx": "number"}, "isn't a column.*Did you mean 'x'"),
    (["number"], "must be a dict"),
    ("number", "must be a dict"),
])  # fmt: skip
def test_what_is_no_declaration_is_refused(given: Any, words: str) -> None:
    df = pd.DataFrame({"x": [1], "other": [2]})
    for ask in (lambda: dp.protect(df, "d", kinds=given), lambda: dp.private(df, kinds=given)):
        refusal(ask, words)


#: Cells of all sorts, and what each is once its kind is declared; None is missing.
CELLS: list[Any] = [
    1, 2.5, True, "12", " 3 ", "a", "1,200", None, "2020-01-31", "2020-01-31T01:00Z",
    pd.Timestamp("2020-01-31"), pd.Timestamp("2020-01-31", tz="UTC"), datetime.date(2020, 1, 31),
    pd.Timedelta("1 day"), "1 days 02:00:00", [1, 2], b"a", 2**60 + 1, "True", "false",
]  # fmt: skip
DAY, ZONED = pd.Timestamp("2020-01-31"), pd.Timestamp("2020-01-31", tz="UTC")
DECLARED: dict[str, dict[int, Any]] = {
    "number": {0: 1, 1: 2.5, 2: 1, 3: 12, 4: 3, 17: 2**60 + 1},
    "truth": {0: True, 1: True, 2: True, 17: True, 18: True, 19: False},
    "time": {8: DAY, 10: DAY, 12: DAY}, "zoned time": {9: ZONED + pd.Timedelta("1h"), 11: ZONED},
    "duration": {13: pd.Timedelta("1 day"), 14: pd.Timedelta("26h")}, "list": {15: (1, 2)},
}  # fmt: skip


@pytest.mark.parametrize("kind", DECLARED)
def test_a_declared_kind_converts_cell_by_cell(kind: str, exact: None) -> None:
    wanted = DECLARED[kind]
    p = dp.private(pd.DataFrame({"x": pd.Series(CELLS, dtype=object)}), kinds={"x": kind})
    assert p["x"].count(epsilon=1) == len(wanted)
    for i, cell in enumerate(CELLS):  # each by itself, wherever it stands
        alone = pd.DataFrame({"x": pd.Series([cell], dtype=object)})
        column = dp.private(alone, kinds={"x": kind}, unit="row")["x"]
        assert column.count(epsilon=1) == (i in wanted), cell
        if i in wanted and kind == "duration":
            seconds = column.dt.total_seconds()
            assert column[seconds == wanted[i].total_seconds()].count(epsilon=1) == 1, cell
        elif i in wanted and kind != "list":
            assert column[column == wanted[i]].count(epsilon=1) == 1, cell


def test_a_declared_kind_is_of_the_column_alone(exact: None) -> None:
    df = pd.DataFrame({"who": ["1", "1.0", "x"], "price": ["5", "7", "9"]})
    p = dp.protect(df, "d", unit="who", max_rows=1, kinds={"who": "number", "price": "number"})
    assert p["who"].nunique(epsilon=1) == 3  # units are told apart by the cells as they are
    assert p["who"].value_counts(keys=[1], epsilon=1).tolist() == [2]
    assert p["price"].sum(bounds=(0, 10), epsilon=1) == 21
    assert dp.private(pd.Series(["5", "x"]), "row", kinds="number").count(epsilon=1) == 1


def test_a_frame_shows_the_kinds_that_were_declared() -> None:
    df = pd.DataFrame({"x": ["1"], "y": ["2"]})
    shown = dp.protect(df, "d", kinds={"x": "number"}, domain={"x": (0, 5)}).describe()
    assert shown.loc["x"].to_dict() == {"kind": "number", "bounds": "(0, 5)", "keys": ""}
    assert shown.loc["y", "kind"] == ""  # a dtype's kind differs between versions of pandas
    assert list(dp.private(df, unit="row").describe()) == ["bounds", "keys"]


def test_declared_kinds_are_part_of_keys_and_of_names_of_parts() -> None:
    df = pd.DataFrame({"x": pd.Series(["1", "2"], dtype=object), "y": [1, 2]})
    plain, told = dp.protect(df, "d"), dp.protect(df, "d", kinds={"x": "text"})
    assert repr(plain["x"].count()) == repr(told["x"].count())  # titles say nothing of it
    objects = dp.protect(df, "e", kinds={"x": "unknown"}), dp.protect(df, "f", kinds={"x": "text"})
    for one, other in ((plain, told), objects):
        texts = [canonical.text(p["x"].value_counts(keys=["1"])._statistic) for p in (one, other)]
        assert texts[0] != texts[1]
    other = [p["y"].count()._request.query(dp.session()._terms.asked(1)).key for p in (plain, told)]
    assert other[0] == other[1]
    names = [p.partition("x", keys=["1"])["1"]._table.path[0].partition for p in (plain, told)]
    assert names[0] != names[1]


def test_kinds_of_dtypes_are_part_of_no_key() -> None:
    keys, titles = [], []
    for dtype in ("object", "string"):
        dp.reset()
        p = dp.protect(pd.DataFrame({"x": pd.Series(["1", "2"], dtype=dtype)}), "d")
        asked = p[p["x"] == "1"].count()
        keys.append(asked._request.query(dp.session()._terms.asked(1)).key)
        titles.append((repr(asked), repr(p), p._repr_html_()))
    assert keys[0] == keys[1]
    assert titles[0] == titles[1]


def test_a_declared_kind_does_not_change_within_a_version(tmp_path: Any) -> None:
    df = pd.DataFrame({"x": ["1"], "y": ["2"]})
    for store in (None, tmp_path / "l.ledger"):
        anew(epsilon=1, store=store)
        dp.protect(df.copy(), "d", kinds={"x": "number"}, version="1")
        with pytest.raises(SourceError, match="kind of 'x' was number, is text"):
            dp.protect(df.copy(), "d", kinds={"x": "text"}, version="1")
        dp.protect(df.copy(), "d", kinds={"y": "number"}, version="1")  # says more of another
        with pytest.raises(SourceError, match="kind of 'y'"):
            dp.protect(df.copy(), "d", kinds={"y": "text"}, version="1")
    dp.reset()  # the ledger outlives the session
    dp.session(epsilon=1, store=tmp_path / "l.ledger")
    with pytest.raises(SourceError, match=r"not as 'text'.*another version"):
        dp.protect(df.copy(), "d", kinds={"x": "text"}, version="1")
    dp.protect(df.copy(), "d", kinds={"x": "number"}, version="1")


def test_the_ledger_notes_kinds_when_it_hears_of_a_source_first(tmp_path: Any) -> None:
    df = pd.DataFrame({"x": ["1"], "n": [1], "o": pd.Series(["a"], dtype=object)})
    for _ in range(2):
        anew(epsilon=1, store=tmp_path / "l.ledger")
        dp.protect(df.copy(), "d", kinds={"x": "number"}, version="1")
        noted = dp.ledger().schema("d")
        assert noted["kind"].tolist() == ["number", "number", "unknown"]
        assert noted["said"].tolist() == ["declared", "asserted", "asserted"]
        df["o"] = df["o"].astype("string")  # another dtype of the same cells is compared with none
    refusal(lambda: dp.ledger().schema("e"), "no source 'e'")


def test_a_strict_session_takes_no_kind_from_a_dtype() -> None:
    dp.session(epsilon=1, strict=True)
    df = pd.DataFrame({"x": pd.Series(["a"], dtype="string"), "n": [1]})
    p = dp.protect(df, "d", kinds={"n": "text"})
    p["x"].mean(bounds=(0, 1))
    refusal(lambda: p["n"].mean(bounds=(0, 1)), "kind text")
    assert set(dp.ledger().schema("d")["kind"]) == {"unknown", "text"}


# --- the matrix: every verb and statistic by every kind -------------------------------------------


COLUMN: dict[str, Row] = {
    # comparisons
    "==": mask_row(lambda d, c: d["x"] == c.labels[0], LABELS),
    "!=": Row(lambda p, c: p[p["x"] != c.labels[0]].count(**E), LABELS,
              lambda d, c: len(d) - counts(d["x"].dropna(), c.labels)[0]),
    "<": mask_row(lambda d, c: d["x"] < c.labels[0], LABELS),
    ">=": mask_row(lambda d, c: d["x"] >= c.labels[0], LABELS),
    "== a column": mask_row(lambda d, c: d["x"] == d["y"]),
    "< a column": mask_row(lambda d, c: d["x"] < d["y"], LABELS),
    "isin": mask_row(lambda d, c: d["x"].isin(c.labels), LABELS),
    "groupby": Row(
        lambda p, c: p["x"].groupby(p["g"], keys=[1, 2]).count(**E), ALL,
        lambda d, c: d["x"].groupby(d["g"]).count()),
    "to_frame": count_row(lambda d, c: d["x"].to_frame("z")["z"]),
    "between": mask_row(lambda d, c: d["x"].between(min(c.labels), max(c.labels)), LABELS),
    "isna": mask_row(lambda d, c: d["x"].isna()),
    "notna": mask_row(lambda d, c: d["x"].notna()),
    "dropna": Row(lambda p, c: p["x"].dropna().size(**E), ALL, lambda d, c: d["x"].count()),
    "&": mask_row(lambda d, c: d["x"] & (d["n"] > 1), TRUTHS),
    "|": mask_row(lambda d, c: d["x"] | (d["n"] > 1), TRUTHS),
    "^": mask_row(lambda d, c: d["x"] ^ (d["n"] > 1), TRUTHS),
    "~": mask_row(lambda d, c: ~d["x"], TRUTHS),
    "[mask]": mask_row(lambda d, c: d["x"], TRUTHS),
    "where": mask_row(lambda d, c: d["x"].where(d["n"] > 1).notna()),
    "where, by it": Row(lambda p, c: p["n"].where(p["x"]).sum(**B), TRUTHS,
                        lambda d, c: d["n"].where(d["x"]).sum()),
    "mask": mask_row(lambda d, c: d["x"].mask(d["n"] > 1).isna()),
    "fillna": count_row(lambda d, c: d["x"].fillna(d["y"])),
    # numbers
    "+": total_row(lambda d, c: d["x"] + d["n"], NUMBERS),
    "- a column": Row(lambda p, c: (p["x"] - p["y"]).count(**E), NUMBERS | TIMES | LENGTHS),
    "+ a duration": count_row(lambda d, c: d["x"] + pd.Timedelta("1D"), TIMES | LENGTHS),
    "by a duration": total_row(lambda d, c: d["x"] / pd.Timedelta("1h"), LENGTHS),
    "-": total_row(lambda d, c: d["x"] * 1 - d["n"], NUMBERS),
    "*": total_row(lambda d, c: d["x"] * d["n"], NUMBERS),
    "/": total_row(lambda d, c: d["x"] / 2, NUMBERS),
    "//": total_row(lambda d, c: d["x"] // 2, NUMBERS),
    "%": total_row(lambda d, c: d["x"] % 2, NUMBERS),
    "**": total_row(lambda d, c: d["x"] ** 2, NUMBERS),
    "negative": total_row(lambda d, c: -(d["x"] * 1), NUMBERS),
    "abs": total_row(lambda d, c: d["x"].abs(), NUMBERS),
    "round": total_row(lambda d, c: (d["x"] / 3).round(1), NUMBERS),
    "clip": total_row(lambda d, c: (d["x"] * 1).clip(1, 3), NUMBERS),
    "clip, of times": Row(
        lambda p, c: p["x"].clip(*c.labels[::-1]).value_counts(keys=c.labels, sort=False, **E),
        TIMES | LENGTHS,
        lambda d, c: counts(d["x"].clip(*c.labels[::-1]).dropna(), c.labels)),
    **{name: total_row(lambda d, c, name=name: getattr(d["x"] * 1 + 1, name)(2), NUMBERS)
       for name in METHODS},
    "mul, of a duration": count_row(lambda d, c: d["x"].mul(d["n"]), NUMBERS | LENGTHS),
    "np.hypot": total_row(lambda d, c: np.hypot(d["x"] * 1, d["n"]), NUMBERS),
    "np.where": Row(lambda p, c: np.where(p["x"], 1, 0).sum(**B), TRUTHS,
                    lambda d, c: np.where(d["x"], 1, 0).sum()),
    "a function of numpy": total_row(lambda d, c: np.sqrt(d["x"] * 1.0), NUMBERS),
    "cut": Row(lambda p, c: p["x"].cut([0, 2, 5]).value_counts(sort=False, **E), NUMBERS,
               lambda d, c: pd.cut(d["x"].astype(float), [0, 2, 5]).value_counts(sort=False)),
    # other types
    "astype float": Row(lambda p, c: p["x"].astype(float).sum(**B), NUMBERS | TEXTS),
    "astype int": Row(lambda p, c: p["x"].astype(int).sum(**B), NUMBERS | TEXTS),
    "astype bool": Row(lambda p, c: p["x"].astype(bool).mean(**E), NUMBERS | TEXTS),
    "astype str": Row(lambda p, c: p["x"].astype(str).count(**E), LABELS,
                      lambda d, c: d["x"].count()),
    "astype datetime": Row(lambda p, c: p["x"].astype("datetime64[ns]").count(**E), TIMES | TEXTS),
    "astype category": Row(lambda p, c: p["x"].astype("category").count(**E), ALL),
    "map": Row(lambda p, c: p["x"].map(dict.fromkeys(c.labels, "z")).value_counts(**E), LABELS,
               lambda d, c: [sum(counts(d["x"].dropna(), c.labels))]),
    "replace": Row(lambda p, c: p["x"].replace(c.labels[0], "z").value_counts(keys=["z"], **E),
                   ALL, lambda d, c: counts(d["x"].dropna(), c.labels[:1])),
    "rename": count_row(lambda d, c: d["x"].rename("z")),
    "case_when": count_row(lambda d, c: d["x"].case_when([(d["n"] > 1, d["y"])])),
    "combine_first": count_row(lambda d, c: d["x"].combine_first(d["y"])),
    "+ a text": count_row(lambda d, c: d["x"] + "!", TEXTS),
    "copy": count_row(lambda d, c: d["x"].copy()),
    "pipe": count_row(lambda d, c: d["x"].pipe(lambda s: s)),
}  # fmt: skip

_OF_TEXT = {
    name: lambda s, name=name, args=args: getattr(s.str, name)(*args)
    for name, *args in (
        ("lower",), ("upper",), ("title",), ("capitalize",), ("swapcase",), ("casefold",),
        ("strip",), ("lstrip",), ("rstrip",), ("split",), ("removeprefix", "a"),
        ("removesuffix", "a"), ("zfill", 3), ("center", 5), ("ljust", 5), ("rjust", 5),
        ("replace", "a", "xx"), ("extract", "(b)"), ("pad", 5), ("repeat", 2),
        ("slice_replace", 0, 1, "x"), ("normalize", "NFC"), ("translate", {97: "b"}),
        ("findall", "b"), ("rsplit",), ("partition", " ", False), ("rpartition", " ", False))
}  # fmt: skip
_TESTS = {
    name: lambda s, name=name, args=args: getattr(s.str, name)(*args)
    for name, *args in (
        ("isalpha",), ("isalnum",), ("isdigit",), ("isdecimal",), ("isnumeric",), ("isspace",),
        ("islower",), ("isupper",), ("istitle",), ("isascii",), ("startswith", "b"),
        ("endswith", "b"), ("contains", "b"), ("match", "b"), ("fullmatch", "b."))
}  # fmt: skip


def _theirs_of_test(test: Callable[[Any], Any]) -> Ask | None:
    has_it = hasattr(pd.Series(["a"]).str, "isascii") or test is not _TESTS["isascii"]
    return (lambda d, c: rows_where(test(d["x"]))) if has_it else None


def time_row(make: Callable[[Any, Case], Any], label: str) -> Row:
    """How many times are of a label."""
    return Row(
        lambda p, c: make(p, c).value_counts(keys=[label], **E), TIMES,
        lambda d, c: [int((make(d, c) == label).sum())],
    )  # fmt: skip


STR: dict[str, Row] = {
    **{
        name: Row(lambda p, c, verb=verb: verb(p["x"]).count(**E), TEXTS)
        for name, verb in _OF_TEXT.items()},
    **{
        name: Row(lambda p, c, test=test: p[test(p["x"])].count(**E), TEXTS, _theirs_of_test(test))
        for name, test in _TESTS.items()},
    "len": total_row(lambda d, c: d["x"].str.len(), TEXTS | {"list"}),
    "count": total_row(lambda d, c: d["x"].str.count("b"), TEXTS),
    "find": total_row(lambda d, c: d["x"].str.find("b"), TEXTS),
    "rfind": total_row(lambda d, c: d["x"].str.rfind("b"), TEXTS),
    "cat": count_row(lambda d, c: d["x"].str.cat(d["y"], sep="-"), TEXTS),
    "join": Row(lambda p, c: p["x"].str.join("-").count(**E), TEXTS | {"list"}),
    "get": count_row(lambda d, c: d["x"].str.get(1), TEXTS | {"list"}),
    "slice": count_row(lambda d, c: d["x"].str.slice(0, 1), TEXTS | {"list"}),
}  # fmt: skip

DT: dict[str, Row] = {
    **{part: total_row(lambda d, c, part=part: getattr(d["x"].dt, part), TIMES)
       for part in time_methods.PARTS if not part.startswith("isocalendar")},
    **{part: total_row(lambda d, c, part=part: getattr(d["x"].dt, part), LENGTHS)
       for part in ("days", "microseconds", "nanoseconds")},
    "seconds": total_row(lambda d, c: d["x"].dt.seconds / 100, LENGTHS),
    "total_seconds": total_row(lambda d, c: d["x"].dt.total_seconds() / 100, LENGTHS),
    **{part: Row(lambda p, c, part=part: getattr(p["x"].dt, part).count(**E), TIMES)
       for part in time_methods.ISO},
    "isocalendar": total_row(lambda d, c: d["x"].dt.isocalendar()["week"], TIMES),
    "tz_localize": Row(lambda p, c: p["x"].dt.tz_localize("UTC").count(**E), {"time"}),
    "tz_localize, away": count_row(lambda d, c: d["x"].dt.tz_localize(None), TIMES),
    "day_name": time_row(lambda d, c: d["x"].dt.day_name(), "Friday"),
    "month_name": time_row(lambda d, c: d["x"].dt.month_name(), "July"),
    "normalize": Row(lambda p, c: p["x"].dt.normalize().count(**E), TIMES),
    "date": Row(lambda p, c: p["x"].dt.date.count(**E), TIMES),
    "strftime": time_row(lambda d, c: d["x"].dt.strftime("%Y-%m"), "2020-02"),
    "to_period": Row(
        lambda p, c: p["x"].dt.to_period("M").value_counts(keys=[pd.Period("2020-02", "M")], **E),
        TIMES, lambda d, c: [int((d["x"].dt.strftime("%Y-%m") == "2020-02").sum())]),
    "tz_convert": total_row(lambda d, c: d["x"].dt.tz_convert("Etc/GMT+5").dt.day, {"zoned time"}),
    **{name: count_row(lambda d, c, name=name: getattr(d["x"].dt, name)("D"), TIMES | LENGTHS)
       for name in ("floor", "ceil", "round")},
}  # fmt: skip


def public_table(labels: list[Any], dtype: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(labels).astype(dtype), "word": ["p", "q"]})


BY_YEAR = pd.Grouper(key="x", freq="YS")
FRAME: dict[str, Row] = {
    "idxmax of rows": Row(lambda p, c: p[["x", "n"]].idxmax(axis=1).count(**E), NUMBERS),
    "idxmin": Row(lambda p, c: p[["x", "n"]].idxmin(axis=1).count(**E), NUMBERS),
    **{name: total_row(lambda d, c, name=name: getattr(d[["x"]] * 1 + 1, name)(2)["x"], NUMBERS)
       for name in METHODS},
    **{f"{name} of rows": total_row(
        lambda d, c, name=name: getattr(d[["x", "n"]] * 1, name)(axis=1), NUMBERS)
       for name in ("sum", "mean", "min", "max", "median", "var", "std")},
    "count of rows": total_row(lambda d, c: d[["x", "y"]].count(axis=1), ALL),
    "any of rows": mask_row(lambda d, c: d[["x"]].any(axis=1), TRUTHS),
    "all of rows": mask_row(lambda d, c: d["x"].notna() & d[["x"]].all(axis=1), TRUTHS),
    "isna": mask_row(lambda d, c: d[["x"]].isna()["x"]),
    "isin": mask_row(lambda d, c: d[["x"]].isin(c.labels)["x"], LABELS),
    "map": total_row(lambda d, c: d[["x"]].map(lambda x: x * 1 + 2)["x"], NUMBERS),
    "notna": mask_row(lambda d, c: d[["x"]].notna()["x"]),
    "abs": total_row(lambda d, c: (d[["x"]] * 1).abs()["x"], NUMBERS),
    "clip": total_row(lambda d, c: (d[["x"]] * 1).clip(1, 3)["x"], NUMBERS),
    "combine_first": count_row(lambda d, c: d[["x"]].combine_first(d[["y"]])["x"]),
    "where": count_row(lambda d, c: d[["x"]].where(d["n"] > 1)["x"]),
    "mask": count_row(lambda d, c: d[["x"]].mask(d["n"] > 1)["x"]),
    "query": Row(lambda p, c: p.query("x == y").count(**E), ALL,
                 lambda d, c: rows_where(d["x"] == d["y"])),
    "assign": Row(lambda p, c: p.assign(z="x * 2")["z"].sum(bounds=(0, 10), epsilon=1), NUMBERS,
                  lambda d, c: (d["x"] * 2.0).sum()),
    "rename": count_row(lambda d, c: d.rename(columns={"x": "z"})["z"]),
    "drop": count_row(lambda d, c: d.drop(columns="y")["x"]),
    "dropna": Row(lambda p, c: p.dropna(subset="x").count(**E), ALL, lambda d, c: d["x"].count()),
    "fillna": Row(lambda p, c: p.fillna({"x": 0})["x"].count(**E), ALL, lambda d, c: len(d)),
    "astype": Row(lambda p, c: p.astype({"x": float})["x"].sum(**B), NUMBERS | TEXTS),
    "round": Row(lambda p, c: p.round({"x": 0})["x"].sum(**B), NUMBERS,
                 lambda d, c: d["x"].astype(float).sum()),
    "replace": Row(lambda p, c: p.replace({"x": {c.labels[0]: "z"}})["x"].count(**E), ALL,
                   lambda d, c: d["x"].count()),
    "dot": Row(lambda p, c: p[["x", "n"]].dot([1, 2]).sum(bounds=(0, 50), epsilon=1), NUMBERS,
               lambda d, c: (d["x"].astype(float) + 2 * d["n"]).sum()),
    "merge": Row(
        lambda p, c: p.merge(public_table(c.labels, c.dtype), on="x")["word"].count(**E), LABELS,
        lambda d, c: sum(counts(d["x"].dropna(), c.labels))),
    "explode": Row(lambda p, c: p.explode("x", max_items=2)["x"].count(**E), ALL,
                   lambda d, c: d.explode("x")["x"].count()),
    "sample": count_row(lambda d, c: d.sample(frac=1.0)["x"]),
    "groupby": Row(lambda p, c: p.groupby("x", keys=c.labels).size(**E), LABELS,
                   lambda d, c: counts(d["x"].dropna(), c.labels)),
    "groupby a Grouper": Row(
        lambda p, c: p.groupby(BY_YEAR, range=tuple(
            pd.Timestamp(year, tz=getattr(c.labels[0], "tz", None)) for year in ("2020", "2021")
        )).size(**E), TIMES, lambda d, c: d.groupby(BY_YEAR).size()),
    "drop_duplicates": Row(lambda p, c: p.drop_duplicates(["u", "x"]).count(**E), LABELS,
                           lambda d, c: len(d.drop_duplicates(["u", "x"])), unit="u"),
    "duplicated": Row(lambda p, c: p[p.duplicated(["u", "x"])].count(**E), LABELS,
                      lambda d, c: d.duplicated(["u", "x"]).sum(), unit="u"),
    "copy": count_row(lambda d, c: d.copy()["x"]),
    "pipe": count_row(lambda d, c: d.pipe(lambda f: f["x"])),
}  # fmt: skip


GROUPS: dict[str, Row] = {
    "pipe": by_group(lambda g: g.pipe(lambda h: h.mean(**B)), NUMBERS),
}  # fmt: skip


def of_unit(how: str, answered: frozenset[str]) -> Row:
    """The aggregates of units, added up."""
    return Row(
        lambda p, c: p.per_unit().agg(m=("x", how))["m"].sum(bounds=(0, 50), epsilon=1), answered,
        lambda d, c: d.groupby("u")["x"].agg(how).astype(float).sum(), unit="u",
    )  # fmt: skip


def any_of_unit(how: str) -> Row:
    return Row(lambda p, c: p.per_unit().agg(m=("x", how))["m"].count(**E), ALL, unit="u")


UNITS: dict[str, Row] = {
    **{how: of_unit(how, ALL) for how in ("size", "count")},
    "nunique": of_unit("nunique", LABELS),
    **{how: of_unit(how, NUMBERS) for how in ("sum", "mean", "median", "min", "max")},
    **{f"{how}, of any": any_of_unit(how) for how in ("min", "first")},
    **{how: of_unit(how, TRUTHS) for how in ("any", "all")},
    "last": Row(lambda p, c: p.sort_values("n").per_unit().agg(m=("x", "last"))["m"].count(**E),
                ALL, lambda d, c: d.sort_values("n").groupby("u")["x"].last().count(), unit="u"),
}  # fmt: skip


def history(make: Callable[[Any], Any], answered: frozenset[str], of_pandas: bool = True) -> Row:
    """What each row knows of its unit, spelled alike in both, and counted."""

    def pandas(d: Any, c: Case) -> Any:
        return make(d.sort_values("n", kind="stable").groupby("u")["x"]).count()

    return Row(lambda p, c: make(p.sort_values("n").groupby("u")["x"]).count(**E), answered,
               pandas if of_pandas else None, unit="u")  # fmt: skip


HISTORIES: dict[str, Row] = {
    **{f"transform {how}": history(lambda g, how=how: g.transform(how), ALL)
       for how in ("size", "count", "first", "last")},
    **{f"transform {how}": history(lambda g, how=how: g.transform(how), ALL, of_pandas=False)
       for how in ("min", "max")},
    "transform nunique": history(lambda g: g.transform("nunique"), LABELS),
    **{f"transform {how}": history(lambda g, how=how: g.transform(how), NUMBERS)
       for how in ("sum", "mean", "median")},
    **{f"transform {how}": history(lambda g, how=how: g.transform(how), TRUTHS)
       for how in ("any", "all")},
    **{how: history(lambda g, how=how: getattr(g, how)(), ALL)
       for how in ("shift", "ffill", "bfill", "cumcount", "head", "tail")},
    "nth": history(lambda g: g.nth(0), ALL),
    "cumsum": history(lambda g: g.cumsum(), NUMBERS),
    **{how: history(lambda g, how=how: getattr(g, how)(), ALL, of_pandas=False)
       for how in ("cummax", "cummin", "rank")},
    "diff": history(lambda g: g.diff(), NUMBERS | TIMES | LENGTHS, of_pandas=False),
    "pct_change": history(lambda g: g.pct_change(), NUMBERS | LENGTHS, of_pandas=False),
}  # fmt: skip

#: Verbs that make other rows, and the records' rows of what is asked of these.
MADE: dict[str, Row] = {
    f"{face}.{name}": row
    for face, rows in {"column": COLUMN, "str": STR, "dt": DT, "frame": FRAME, "groups": GROUPS,
                       "per_unit": UNITS, "histories": HISTORIES}.items()
    for name, row in rows.items()
}  # fmt: skip
MATRIX: dict[str, Row] = {**MADE, **ops.KINDS}


def answer(row: Row, case: Case, **how: Any) -> Any:
    anew(epsilon=1000, delta="0.01")
    dp.session(experimental=True)
    return row.ours(case.private(row.unit, **how), case)


def alike(found: Any, wanted: Any) -> bool:
    one, other = (np.ravel(np.asarray(each, dtype=object)).tolist() for each in (found, wanted))
    numeric = all(isinstance(v, int | float | np.number) for v in (*one, *other))
    if not numeric:
        return list(map(str, one)) == list(map(str, other))
    return one == pytest.approx(other, rel=1e-3, abs=1e-3, nan_ok=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CASES)
def test_an_answer_is_that_of_pandas_or_refused(kind: str, exact: None) -> None:
    case = CASES[kind]
    for name, row in MATRIX.items():
        with noted(name):
            if kind not in row.answered:
                dp.reset()
                refusal(functools.partial(answer, row, case), error=dp.DPError)
                continue
            found = answer(row, case)
            assert dp.ledger()._entries()
            if row.pandas is not None:
                wanted = row.pandas(case.frame, case)
                assert alike(found, wanted), (found, wanted)


#: Answers whose noise is not the one that `exact` takes away.
DRAWN = {name for each in ops.RECORDS if each.experimental for name in each.kinds}


#: Of lists nothing is made by these, one by one neither.
UNORDERED = {"column.< a column", "column.astype str"}

#: Of lists one by one they find the equal ones, and pandas has nothing to compare that with.
BY_EQUAL_LISTS = {"frame.blockwise by groups"}


def by_cell(name: str, kind: str) -> Any:
    """What is said of cells of a kind of which nothing can be made as a column: one by one, a list
    equals a list, 1 is True, and all others are missing, or False where a truth is asked for."""
    row, case = MATRIX[name], CASES[kind]
    frame = case.frame
    if row.answered <= TRUTHS:
        gone = frame["x"].isna() & (name == "column.~")  # ~ leaves out what is missing
        truths = (frame["x"] == 1) if kind == "number" else gone & False
        frame["x"] = truths.astype("boolean").mask(gone)
        return row.pandas(frame, case)  # type: ignore[misc]
    if kind == "list" and row.pandas and row.answered == LABELS and name not in UNORDERED:
        frame["x"] = frame["x"].map(lambda cell: None if cell is None else tuple(cell))
        return row.pandas(frame, case)
    nothing = Case([None] * len(case.cells), object, case.labels, {})
    return answer(row, nothing, x="unknown", y="unknown")


@pytest.mark.usefixtures("exact")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.sized
@pytest.mark.parametrize("kind", CASES)
def test_of_an_unknown_kind_each_cell_means_what_it_means(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # blocks of units are dealt by the key of a source, and here two sources are compared
    monkeypatch.setattr(entropy, "key", lambda size=16: b"k" * size)
    case = CASES[kind]
    for name in third(sorted(MATRIX.keys() - DRAWN), list(CASES).index(kind) % 3):
        row = MATRIX[name]
        with noted(name):
            try:
                told = answer(row, case, dtype=object, x="unknown", y="unknown")
            except dp.DPError:  # for its plain values, whatever the column is
                assert kind not in row.answered
                continue
            if kind == "list" and name in BY_EQUAL_LISTS:
                continue
            known = answer(row, case) if kind in row.answered else by_cell(name, kind)
            assert alike(told, known), (told, known)


@pytest.mark.usefixtures("exact")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("nothing", [None, ()], ids=["missing", "of no kind"])
def test_where_no_cell_is_anything_an_answer_is_given_all_the_same(kind: str, nothing: Any) -> None:
    """One row with a value would change an error into an answer."""
    case = CASES[kind]
    empty = Case([nothing] * len(case.cells), object, case.labels, {})
    for name, row in MATRIX.items():
        try:
            answer(row, empty, x=kind, y=kind)
        except ReleaseFailed as failed:
            raise AssertionError(name) from failed
        except dp.DPError:
            assert dp.ledger()._entries() == [], name


#: Public names that make or answer nothing by themselves.
NO_VERBS = {"columns", "str", "dt", "per_unit", "partition", "isnull", "notnull", "is_truth",
            "declare"}  # fmt: skip
#: What selects and names columns of any kind, or is another spelling of assign, merge and concat:
#: test_habits_naming.py and test_habits_selection.py try these.
NO_VERBS |= {"loc", "select_dtypes", "filter", "info", "dtype", "dtypes", "keys", "get", "items",
             "squeeze", "add_prefix", "add_suffix", "set_axis", "reindex", "reset_index", "join",
             "melt", "eval", "sort_values"}  # fmt: skip
#: Other spellings of agg, groupby and calls: test_habits_groups.py and test_habits_resample.py.
NO_VERBS |= {"aggregate", "resample"}
#: Functions of the caller: test_habits_functions.py.
NO_VERBS |= {"apply", "transform"}


def _verbs(face: type) -> set[str]:
    return {name for name in dir(face) if not name.startswith("_")} - NO_VERBS


@pytest.mark.parametrize(("face", "named"), [
    ("column", _verbs(dp.types.PrivateSeries) - {"groupby"}),  # that of its frame
    ("frame", _verbs(dp.types.PrivateFrame) - {"truncation_shares", "suggest_max_rows"}),
    ("groups", _verbs(PrivateGroupBy) - {"get_group"}),
    ("per_unit", set(AGGREGATES) - {"size"}),
    ("histories", _verbs(UnitRows)),
    ("str", {n for n in TextMethods.__dir__(object.__new__(TextMethods)) if n[0] != "_"}),
    ("dt", _verbs(TimeMethods)),
])  # fmt: skip
def test_no_verb_is_missing_from_the_matrix(face: str, named: set[str]) -> None:
    rows = {name.split(".", 1)[1].split(",")[0] for name in MATRIX if name.startswith(f"{face}.")}
    rows |= {name.split()[0] for name in rows}
    assert not named - rows


def test_no_statistic_is_missing_from_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    asked = Request.__post_init__

    def note(self: Any) -> None:
        seen.add(type(self.statistic).__name__)
        seen.add(type(getattr(self.statistic, "inner", None)).__name__)
        asked(self)

    monkeypatch.setattr(Request, "__post_init__", note)
    for row in MATRIX.values():
        answer(row, next(case for kind, case in CASES.items() if kind in row.answered))
    without = {each.statistic.__name__ for each in ops.RECORDS if isinstance(each.kinds, str)}
    assert {each.__name__ for each in every()} - seen == without
    assert not MADE.keys() & ops.KINDS.keys()


# --- what was answered about nothing --------------------------------------------------------------

DAYS = ["2020-01-01", "2020-02-01"] * 250
TIMES_ROWS = pd.DataFrame(
    {
        "start": pd.to_datetime(DAYS), "end": pd.to_datetime(["2020-01-03", "2020-02-02"] * 250),
        "zoned": pd.to_datetime(DAYS, utc=True), "said": pd.Series(DAYS, dtype="string"),
        "price": pd.Series(["1,200", "7"] * 250, dtype="string"), "who": list(range(250)) * 2}
)  # fmt: skip
YEARS = ("2020-01-01", "2021-01-01")
FOUND: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a difference of times as a number": (
        lambda p: (p["end"] - p["start"]).mean(bounds=(0, 10)), "kind (time|duration)"),
    "a Grouper on text": (
        lambda p: p.groupby(pd.Grouper(key="said", freq="YS"), range=YEARS).size(), "datetime64"),
    "a part of a text": (lambda p: p["said"].dt.year.value_counts(keys=[2020]), "kinds={'said'"),
    "1,200 as a number": (
        lambda p: p["price"].mean(bounds=(0, 9999)), r'\.str\.replace\(",", ""\)\.astype\(float\)'),
    "1,200 without bounds": (lambda p: p["price"].mean(), "kind text"),
    "text in a comparison of numbers": (lambda p: p[p["price"] > 5].count(), "never equal"),
    "text among times": (lambda p: p[p["start"].isin(["soon"])].count(), "pd.Timestamp"),
    "a text column beside times": (lambda p: p[p["start"] == p["said"]].count(), "kind text"),
    "naive beside zoned": (lambda p: p[p["start"] < p["zoned"]].count(), "zoned time"),
    "no zone where one is": (
        lambda p: p[p["zoned"] > pd.Timestamp("2020-01-10")].count(), "with a zone"),
    "a label without a zone where one is": (
        lambda p: p["zoned"].dt.floor("D").value_counts(keys=[pd.Timestamp("2020-01-01")]),
        "with a zone"),
    "days where a zone is": (
        lambda p: p[p["zoned"].isin([datetime.date(2020, 1, 1)])].count(), "with a zone"),
    "a text as a period": (
        lambda p: p[p["start"].dt.to_period("M") == "2020-01"].count(),
        r"pd\.Period\('2020-01', 'M'\)"),
    "a period of another frequency": (
        lambda p: p["start"].dt.to_period("M").value_counts(keys=[pd.Period("2020-01-01", "D")]),
        "same frequency"),
    "a period as a number": (
        lambda p: p["start"].dt.to_period("M").mean(bounds=(0, 1)), r"\.dt\.month"),
    "text as a truth": (
        lambda p: p[["said"]].sum(), "Use a comparison, such as column == value[.]"),
    "a zone where none is": (
        lambda p: p[p["start"] > pd.Timestamp("2020-01-01", tz="UTC")].count(), "without a zone"),
    "a sum of times": (lambda p: p["start"].sum(bounds=(0, 1)), "kind time"),
    "an average of texts by person": (
        lambda p: p.per_unit().agg(m=("price", "mean")), r"m, the mean: price"),
    "letters of a number": (lambda p: p["who"].str.len().count(), r"\.astype\(str\)"),
    "keys of another kind": (lambda p: p["who"].value_counts(keys=["1", "2"]), "never equal"),
    "a number as a mask": (lambda p: p[p["who"] & (p["who"] > 1)].count(), "comparison"),
    "number of True of a number": (lambda p: p[["who"]].sum(), "bounds="),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("lineage", ["verified", "asserted"])
def test_what_can_only_be_about_nothing_is_refused_free_of_charge(name: str, lineage: str) -> None:
    ask, words = FOUND[name]
    dp.session(epsilon=1)
    df = TIMES_ROWS.copy()
    unit = {"unit": "who", "max_rows": 2}
    p = dp.protect(df, "d", **unit) if lineage == "verified" else dp.private(df, **unit)
    assert "Nothing was computed or charged" in refusal(lambda: ask(p).release(epsilon=1), words)


def test_what_a_refusal_advises_works(exact: None) -> None:
    p = dp.private(TIMES_ROWS.copy(), unit="row")
    price = p["price"].str.replace(",", "").astype(float)
    assert price.mean(bounds=(0, 1200), epsilon=1) == pytest.approx(603.5, abs=0.01)
    assert p["said"].astype("datetime64[ns]").dt.month.value_counts(
        keys=[1], epsilon=1).tolist() == [250]  # fmt: skip
    told = dp.private(TIMES_ROWS.copy(), unit="row", kinds={"said": "time"})
    by_year = told.groupby(pd.Grouper(key="said", freq="YS"), range=YEARS).size(epsilon=1)
    assert by_year.tolist() == [500, 0]


# --- one row more, with missing cells, changes nothing that is said -------------------------------

LEAKY: dict[str, Any] = {
    "int64": [1, 2, 3], "float64": [1.0, 2.5, 3.0], "bool": [True, False, True],
    "boolean": [True, False, None], "Int64": [1, 2, None], "string": ["a", "b", "a"],
    "object": ["a", "b", "a"], "datetime64[ns]": ["2020-01-01"] * 3,
    "datetime64[ns, UTC]": ["2020-01-01"] * 3, "timedelta64[ns]": ["1 day"] * 3,
    "category": ["a", "b", "a"],
}  # fmt: skip
SAID: list[Callable[[Any], Any]] = [
    lambda p: p["x"].count(), lambda p: p["x"].mean(bounds=(0, 5)),
    *[lambda p, keys=keys: p["x"].value_counts(keys=keys)
      for keys in (["a", "b"], [1, 2], [pd.Timestamp("2020-01-01")])],
    lambda p: p[p["x"] == "a"].count(), lambda p: p[p["x"] > 1].count(),
    lambda p: p[p["x"] & (p["n"] > 1)].count(), lambda p: p["x"].str.len().sum(bounds=(0, 9)),
    lambda p: p["x"].dt.year.count(), lambda p: p["x"].astype(str).value_counts(keys=["a"]),
    lambda p: (p["x"] * 2).sum(bounds=(0, 9)), lambda p: p["x"].fillna(p["x"]).isna(),
    lambda p: p["x"].cut([0, 2, 5]).value_counts(), lambda p: p.groupby("x", keys=[1, 2]).size(),
    lambda p: p.describe(),
]  # fmt: skip


def everything_said(df: pd.DataFrame, lineage: str, declared: dict[str, str]) -> list[Any]:
    anew(epsilon=10**6)
    if lineage == "verified":
        p = dp.protect(df, "d", version="1", kinds=declared)
    else:
        p = dp.private(df, unit="row", kinds=declared)
    said: list[Any] = [repr(p), p._repr_html_(), repr(p.describe())]
    for ask in SAID:
        try:
            asked = ask(p)
            said.append(repr(asked))
            found = asked.release(epsilon=1) if isinstance(asked, dp.types.Unreleased) else None
            said.append((type(found).__name__, getattr(found, "dtype", ""), dp_index(found)))
        except dp.DPError as refusal:
            said.append((type(refusal).__name__, str(refusal)))
    ledger = dp.ledger().to_frame().drop(columns="time").to_dict("list")
    noted = dp.ledger().schema("d").to_dict() if lineage == "verified" else ""
    return [*said, ledger, noted, dp.ledger()._repr_html_()]


def dp_index(found: Any) -> Any:
    return (found.index.tolist(), str(found.index.dtype)) if isinstance(found, pd.Series) else None


@pytest.mark.usefixtures("alike")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT], ids=["None", "NaN", "NaT"])
@pytest.mark.parametrize("dtype", LEAKY)
@pytest.mark.parametrize("lineage", ["verified", "asserted"])
def test_a_row_of_missing_cells_changes_nothing(dtype: str, missing: Any, lineage: str) -> None:
    column = pd.Series(LEAKY[dtype], dtype=dtype)
    one = pd.DataFrame({"x": column, "n": [1, 2, 3]})
    try:  # what the holder's pandas makes of the same column with a row more
        grown = pd.Series([*column.tolist(), missing], dtype=dtype)
    except (TypeError, ValueError):
        grown = pd.Series([*column.tolist(), missing])
    other = pd.DataFrame({"x": grown, "n": [1, 2, 3, 9]})
    kind = kinds.of_dtype(column.dtype)
    is_another = kinds.of_dtype(grown.dtype) != kind  # a holder who lets this happen declares it
    told = {"x": kind} if is_another else {}
    assert everything_said(one, lineage, told) == everything_said(other, lineage, told)
