"""Texts beyond the limits of cells are missing, and no memory is asked for them."""

import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

import dppandas as dp
from dppandas.columns.accessors import TextMethods
from dppandas.engines.blocks import RowTable
from dppandas.engines.readers import Columns
from dppandas.rows.expressions import text
from dppandas.rows.values import cells, forms, vectors
from dppandas.rows.values.families import MOST_CHARACTERS

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

#: A limit that short texts reach, and texts around it.
FEW = 12
TEXTS = st.lists(st.text("ab-", max_size=FEW + 1), min_size=1, max_size=4)

#: Methods that make texts longer, and what Python makes of one text.
GROWING: dict[str, tuple[Callable[[Any], Any], Callable[[str], str]]] = {
    "repeat": (lambda s: s.repeat(3), lambda t: t * 3),
    "never": (lambda s: s.repeat(-1), lambda t: ""),
    "replace": (lambda s: s.replace("a", "xyz"), lambda t: t.replace("a", "xyz")),
    "some": (lambda s: s.replace("ab", "wxyz", n=2), lambda t: t.replace("ab", "wxyz", 2)),
    "shorter": (lambda s: s.replace("ab", ""), lambda t: t.replace("ab", "")),
    "nothing": (lambda s: s.replace("", "-"), lambda t: t.replace("", "-")),
    "regex": (
        lambda s: s.replace("(a+)(?P<end>b)?", r"<\1\g<end>\g<0>\\>", regex=True),
        lambda t: re.sub("(a+)(?P<end>b)?", r"<\1\g<end>\g<0>\\>", t)),
    "regex, some": (
        lambda s: s.replace("a*", "--", n=2, regex=True), lambda t: re.sub("a*", "--", t, count=2)),
    "regex of what follows": (
        lambda s: s.replace("(?=(.*))", r"\1", regex=True), lambda t: re.sub("(?=(.*))", r"\1", t)),
    "case": (
        lambda s: s.replace("A", "\\1", case=False), lambda t: re.sub("a", r"\\1", t)),
    "translate": (
        lambda s: s.translate({97: "xyz", 98: None, 45: 46}),
        lambda t: t.translate({97: "xyz", 98: None, 45: 46})),
    "slice_replace": (
        lambda s: s.slice_replace(1, 2, "xyz"), lambda t: t[:1] + "xyz" + t[2:] if t else "xyz"),
    "split and join": (
        lambda s: s.split("a").str.join("--"), lambda t: "--".join(t.split("a"))),
    "letters": (lambda s: s.join("-"), lambda t: "-".join(t)),
    "zfill": (lambda s: s.zfill(14), lambda t: t.zfill(14)),
    "cat": (lambda s: s.cat(s._column, sep="-"), lambda t: f"{t}-{t}"),
    "three": (lambda s: s._column + "-" + s._column + s._column, lambda t: f"{t}-{t}{t}"),
}  # fmt: skip


def made(values: list[str], method: Callable[[Any], Any]) -> list[Any]:
    """What a method makes of a column of texts, cell by cell."""
    df = pd.DataFrame({"t": pd.Series(values, dtype=object)})
    column = dp.private(df, unit="row", kinds={"t": "text"})["t"]
    chunk = RowTable(Columns(df), b"k" * 16).block(0, len(df))
    found = vectors.as_objects(method(TextMethods(column))._expression.vector(chunk))
    return list(found)


@pytest.mark.parametrize("name", GROWING)
@given(values=TEXTS)
def test_texts_beyond_the_limit_are_missing_and_others_as_python_has_them(
    name: str, values: list[str]
) -> None:
    method, plain = GROWING[name]
    with pytest.MonkeyPatch.context() as patch:
        for module in (cells, forms, text):
            patch.setattr(module, "MOST_CHARACTERS", FEW)
        own = [t for t in values if len(t) <= FEW]
        expected = [None if len(plain(t)) > FEW else plain(t) for t in own]
        assert made(own, method) == expected


@pytest.mark.parametrize("method", [
    lambda s: s.repeat(1000), lambda s: s.replace("a", "b" * 1000),
    lambda s: s.replace("(a+)", r"\1" * 500, regex=True),
    lambda s: s.replace("a", "b" * 1000, case=False), lambda s: s.translate({97: "b" * 1000}),
    lambda s: s.join("b" * 1000), lambda s: s[:60000].str.findall("a").str.join("b" * 1000),
    lambda s: s.cat([s._column] * 90), lambda s: s.cat([s._column] * 9).str.cat([s._column] * 80),
    lambda s: s[:9000].str.count("(?=(.*))") == 0,
], ids=range(10))  # fmt: skip
def test_one_long_text_takes_little_memory(method: Callable[[Any], Any]) -> None:
    values = ["a" * (MOST_CHARACTERS - 1), "b"]
    tracemalloc.start()
    try:
        found = made(values, method)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not found[0]  # missing, or False
    assert most < 20 * MOST_CHARACTERS


def test_equal_pairs_of_texts_are_made_once() -> None:
    codes = np.zeros(3, dtype=np.intp)
    (one, other), places = text._numbered(codes, codes + 1, 2**20, 2)
    assert (one.tolist(), other.tolist(), places.tolist()) == ([0], [1], [0, 0, 0])


def test_many_or_long_texts_are_refused() -> None:
    p = dp.private(pd.DataFrame({"t": ["a"]}), unit="row")
    p["t"].str.cat([p["t"]] * 99, sep="-")
    refusal(lambda: p["t"].str.cat([p["t"]] * 100), "101 columns .* at most 100")
    whole = p["t"].str.cat([p["t"]] * 99)
    refusal(lambda: whole + "-" + p["t"], "101 columns")
    long = "a" * (MOST_CHARACTERS + 1)
    refusal(lambda: p["t"].str.slice_replace(0, 1, long), "repl= must have at most 1,048,576 char")
    refusal(lambda: p["t"].str.translate({97: long}), "table= must have at most")
