"""The closed list of differences from pandas: each line gives what docs/differences.md says."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from notes import noted
from scripts import script

import dppandas as dp
from dppandas.frames.frame import PrivateFrame
from dppandas.frames.series import PrivateSeries

PROGRAM = Path(__file__).parent.parent / "docs" / "differences.py"


LIST = script("docs/differences.py")


def said(line: str, then: str, names: dict[str, Any]) -> Any:
    """What a line gives, in the words of the page; a float as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(line, dict(names))
        except Exception:  # of pytz, too
            return "an error"
    if hasattr(found, "release"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = found.release(epsilon=1)
    found = eval(f"found{then}", {"found": found})
    kinds = [
        (PrivateSeries, "a private column"), (PrivateFrame, "a private frame"),
        (pd.Series, "a Series"), (pd.DataFrame, "a table"),
    ]  # fmt: skip
    words = [name for kind, name in kinds if isinstance(found, kind)]
    return words[0] if words else "a method" if callable(found) else found


def agrees(found: Any, written: str) -> bool:
    if written.startswith("between "):
        low, high = written.removeprefix("between ").split(" and ")
        return float(low) <= found <= float(high)
    if isinstance(found, float) and not isinstance(found, int):
        return f"{found:.4g}" == written or str(round(float(found), 6)) == written
    if isinstance(found, dict):
        found = {k: round(v, 6) if isinstance(v, float) else v for k, v in found.items()}
    return str(found) == written


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("each", LIST.DIFFERENCES, ids=lambda each: each.what)
def test_a_line_gives_what_is_written(each: Any) -> None:
    names: dict[str, Any] = {"pd": pd, "dp": dp}
    exec(LIST.FRAME, names)
    for frame, written in ((names["df"], each.pandas), (names["f"], each.here)):
        found = said(each.line, each.then, {**names, "f": frame})
        assert agrees(found, written), found
    assert each.pandas != each.here


#: What is compared, and what becomes of it.
COMPARED = [
    *(f"f['a'] {operation} 40" for operation in ("==", "!=", "<", ">=")), "f['a'] != f['b']",
    "f['a'] < f['b']", "f['a'].between(35, 60)", "f['a'].isin([40])", "f['t'] == 'x'",
    "f['t'] != f['s']", "f['v'] == True", "f['v'] != True", "f['v'] == False",
]  # fmt: skip
ASKED = [
    "({}).sum()", "({}).count()", "({}).mean()", "(~({})).sum()", "f[{}]['n'].count()",
    "f[~({})]['n'].count()", "(({}) & (f['n'] > 2)).sum()", "(({}) | (f['n'] > 2)).sum()",
    "(({}) ^ (f['n'] > 2)).sum()", "(~(({}) & (f['n'] > 2))).sum()", "f['n'].where({}).count()",
    "f['n'].mask({}).count()", "f.groupby({})['n'].count()", "({}).isna().sum()",
]  # fmt: skip
#: Columns with missing values, and the dtypes that may hold them: first a plain one.
HELD: dict[str, tuple[list[Any], list[str]]] = {
    "a": ([30, 40, None, 50, None], ["float64", "Int64", "Float64", "int64[pyarrow]"]),
    "b": ([30, 30, 60, None, None], ["float64", "Int64", "Float64", "int64[pyarrow]"]),
    "t": (["x", None, "y", "x", None], ["object", "string", "string", "string[pyarrow]"]),
    "s": (["x", "y", None, "y", None], ["object", "string", "string", "string[pyarrow]"]),
    "v": ([True, False, None, True, None], ["object", "boolean", "boolean", "bool[pyarrow]"]),
}


@pytest.mark.usefixtures("exact")
def test_comparisons_with_missing_values_mean_what_they_mean_in_plain_columns() -> None:
    """As pandas has it in plain columns, whichever dtype holds them."""
    holders = range(3 + (importlib.util.find_spec("pyarrow") is not None))
    plain, *nullable = (
        pd.DataFrame({"n": range(1, 6)} | {
            name: pd.Series(values, dtype="object").astype(dtypes[holder])
            for name, (values, dtypes) in HELD.items()
        })
        for holder in holders
    )  # fmt: skip
    dp.session(epsilon=10_000)
    private = [
        dp.protect(frame, name=f"f{i}", kinds={} if i else {"v": "truth"})
        for i, frame in enumerate((plain, *nullable))
    ]
    for compared in COMPARED:
        for asked in ASKED:
            line = asked.format(compared)
            then = ".reindex([False, True], fill_value=0).tolist()" if "groupby" in line else ""
            wanted = said(line, then, {"f": plain})
            for frame in private:
                with noted(line, frame):
                    assert wanted != "an error"
                    assert said(line, then, {"f": frame}) == pytest.approx(wanted)


def test_the_page_is_the_list() -> None:
    assert LIST.page() == LIST.PAGE.read_text("utf-8"), "run: python docs/differences.py"
