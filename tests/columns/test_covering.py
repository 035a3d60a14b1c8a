"""What public facts imply of computed values holds: no value lies outside, brute force."""

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from elements import meanings
from test_rowwise import OF_NUMBERS, TEXT, verbs

import dppandas as dp
from dppandas.engines.blocks import RowTable
from dppandas.engines.readers import Columns
from dppandas.rows.facts.bounds import Bounds
from dppandas.rows.facts.keys import Keys
from dppandas.rows.values import MISSING, canonical, key

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

#: Ends that round: a mean of three 0.1 lies above 0.1, and 3 * 0.1 above 0.3.
ENDS = [(0.1, 0.1), (-0.3, 0.7), (0.0, 3.0), (-5.0, -0.1), (1e15 + 0.3, 1e16), (-2.0, 2.0)]
MORE = verbs(
    "cd", *(
        f"p.assign(e=c, f=d, g=c)[{names}].{how}(axis=1, skipna={skipna})"
        for names in ("['c', 'd']", "['c', 'd', 'e', 'f', 'g']") for skipna in (True, False)
        for how in ("sum", "mean", "min", "max", "median", "count")),
    "(c / 3).round(1)", "np.where(c > 0, c, d * 2)", "c.case_when([(c > d, d), (c < 0, 7)])",
    "c.clip(-1, 2)", "c.abs().add(d.abs(), fill_value=3)", "c * d * c",
    "np.hypot(c, d)", "np.arctan2(c, d)", "c.mask(c > d, d - 1)", "c.astype(int)",
    "p[['c', 'd']].dot([0.1, -3])",
)  # fmt: skip


def _rows(bounds: dict[str, tuple[float, float]], draw: np.random.Generator) -> pd.DataFrame:
    """The ends of the bounds, each with each, what is between them, and what is missing."""
    columns = {}
    for name, (low, high) in bounds.items():
        inside = np.clip(low + (high - low) * draw.random(6), low, high)
        columns[name] = [low, high, math.nan, *inside.tolist()]
    c, d = np.meshgrid(columns["c"], columns["d"])
    return pd.DataFrame({"c": c.ravel(), "d": d.ravel()})


def _values(column: Any, df: pd.DataFrame) -> list[Any]:
    block = RowTable(Columns(df), b"").block(0, len(df))
    with np.errstate(all="ignore"):
        return meanings(column._expression.vector(block))


@pytest.mark.parametrize("name", OF_NUMBERS | MORE)
def test_numbers_lie_within_their_bounds(name: str) -> None:
    draw = np.random.default_rng(3)  # of data, not of noise
    told = 0
    for i, bounds in enumerate([(a, b) for a in ENDS for b in ENDS]):
        domain = dict(zip("cd", bounds, strict=True))
        df = _rows(domain, draw)
        column = (OF_NUMBERS | MORE)[name](dp.protect(df, name=f"cover {i}", domain=domain))
        declared = column._table.declared(column._expression)
        if isinstance(declared, Keys):
            declared = set(map(key, map(canonical, declared.labels)))
        told += declared is not None
        for cell in _values(column, df):
            if isinstance(declared, Bounds) and cell != MISSING:
                assert declared.lower <= float(cell[1]) <= declared.upper, (domain, cell)
            elif isinstance(declared, set) and cell != MISSING:
                assert key(cell) in declared, (domain, cell)
    assert told or name in SILENT


#: Of which nothing is known beforehand.
SILENT = {name for name in OF_NUMBERS if any(w in name for w in ("var(", "std(", "tan(c", "cosh"))}

TEXTS = ["a b", "ab-cd-e", "", "12", "A1", "\u00c9a", " x ", "abab", "-3", "\u00df", "2020-01-31"]


@pytest.mark.parametrize("name", TEXT)
def test_texts_are_among_their_keys(name: str) -> None:
    df = pd.DataFrame({"c": pd.Series([*TEXTS, None], dtype=object)})
    column = TEXT[name](dp.protect(df, name="texts", domain={"c": TEXTS})["c"].str)
    declared = column._table.declared(column._expression)
    if declared is None:
        assert column._expression.kind({}) == "list" or re.search("split|tition|findall", name)
        return
    known = set(map(key, map(canonical, declared.labels)))
    assert {key(cell) for cell in _values(column, df) if cell != MISSING} <= known


OF_PARTS = verbs(
    "c", "c.str.split(' ', n=1, expand=True)[0]", "c.str.split(' ', n=1, expand=True)[1]",
    "c.str.split('-').str[-1]", "c.str.rsplit('-', n=1).str.get(1)", "c.str.partition(' ')[2]",
    "c.str.split().str.len()", "c.str.findall('[a-z]').str.join('+')",
    "c.str.split('b').str[0].str.upper()",
)  # fmt: skip


@pytest.mark.parametrize("name", OF_PARTS)
def test_parts_of_texts_are_among_their_keys(name: str) -> None:
    df = pd.DataFrame({"c": pd.Series([*TEXTS, None], dtype=object)})
    column = OF_PARTS[name](dp.protect(df, name="parts", domain={"c": TEXTS}))
    declared = column._table.declared(column._expression)
    cells = {key(cell) for cell in _values(column, df) if cell != MISSING}
    assert set(map(key, map(canonical, declared.labels))) == cells


T = pd.Timestamp
#: Labels, cells that equal one of them, and whether the texts are known of a kind, or of none.
AS_TEXTS: dict[str, tuple[list[Any], list[Any], str, bool]] = {
    "texts": (["a", "12"], ["a", "12"], "unknown", True),
    "numbers": ([2, 0.5], [2, 2.0, 0.5], "unknown", True),
    "times": ([T("2020-01-31")], [T("2020-01-31")], "time", True),
    "times by texts": (["2020-01-31"], [T("2020-01-31"), "2020-01-31"], "unknown", False),
    "times by texts, of a kind": (["2020-01-31"], [T("2020-01-31")], "time", False),
    "texts of times": (["2020-01-31"], ["2020-01-31"], "text", True),
    "truths": ([True, 2], [1, 1.0, True, 2], "unknown", False),
    "truths, of their kind": ([True, False], [1, True, 0], "truth", True),
    "zones": ([T("2020-01-31", tz="UTC")], [T("2020-01-31 01:00", tz="Europe/Paris")],
              "zoned time", False),
}  # fmt: skip


@pytest.mark.parametrize("name", AS_TEXTS)
def test_texts_of_cells_are_among_those_of_their_labels(name: str) -> None:
    labels, cells, kind, are_known = AS_TEXTS[name]
    df = pd.DataFrame({"c": pd.Series(cells, dtype=object)})
    p = dp.protect(df, name="as texts", domain={"c": labels}, kinds={"c": kind})
    column = p["c"].astype(str)
    declared = column._table.declared(column._expression)
    assert (declared is not None) == are_known
    if declared is not None:
        known = set(map(key, map(canonical, declared.labels)))
        assert {key(cell) for cell in _values(column, df) if cell != MISSING} <= known


@pytest.mark.parametrize("plain", [0, 3, -7, 0.1, 1e300, np.int8(5)])
@pytest.mark.parametrize("operation", ["+", "-", "*", "/", "//", "%", "**"])
def test_numbers_beside_a_plain_one_are_among_their_keys(operation: str, plain: Any) -> None:
    for labels in ([*range(-3, 24)], [0.1, 0.2, 0.3, -0.0, 1e300], [True, False], [2**53 + 1, 5]):
        cells = [*labels, None] if labels[0] is not True else labels
        df = pd.DataFrame({"c": pd.Series(cells, dtype=object)})
        p = dp.protect(df, name=f"{labels}", domain={"c": labels}, kinds={"c": "number"})
        for line in (f"c {operation} k", f"k {operation} c"):
            column = eval(line, {"c": p["c"], "k": plain})
            facts = column._table.source.facts
            found = column._expression.known_keys(facts.domain, facts.schema)
            assert (found is None) == (operation == "**") or not plain, line
            known = set(map(key, map(canonical, found.labels))) if found else None
            for cell in _values(column, df) if found else []:
                is_number = cell != MISSING and math.isfinite(float(cell[1]))
                assert not is_number or key(cell) in known, (line, cell)
            assert found is None or list(found.labels) == sorted(set(found.labels))


REPLACED = {
    "text": (["a", "b", "c"], {"a": "b", "q": "z"}), "numbers": ([1, 2, 3], {1: 2, 3.0: "x"}),
    "truths": ([True, False], {1: "yes"}), "none": (["a", "b"], {"a": None}),
    "times": (["2020-01-31", "a"], {pd.Timestamp("2020-01-31"): "day"}),
    "texts of times": ([pd.Timestamp("2020-01-31")], {"2020-01-31": "day"}),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLACED)
def test_what_is_replaced_is_among_its_keys(name: str) -> None:
    labels, table = REPLACED[name]
    cells = [*labels, pd.Timestamp("2020-01-31")] if "time" in name else labels
    df = pd.DataFrame({"c": pd.Series(cells, dtype=object)})
    p = dp.protect(df, name="replaced", domain={"c": labels}, kinds={"c": "unknown"})
    column = p["c"].replace(table)
    known = set(map(key, map(canonical, column._table.declared(column._expression).labels)))
    assert {key(cell) for cell in _values(column, df) if cell != MISSING} <= known
