"""The closed list of differences from pandas: each line gives what docs/differences.md says."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
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


def test_the_page_is_the_list() -> None:
    assert LIST.page() == LIST.PAGE.read_text("utf-8"), "run: python docs/differences.py"
