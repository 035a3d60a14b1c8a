"""Cards in a browser: what a copy has, and how they fit a narrow page."""

import re

import browser
import pandas as pd
import pytest

from dppandas.display.tables import table

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.chromium() is None, reason="no Chromium to look with"),
]

#: What JupyterLab sets for the cells of any table.
LAB = (
    "<style>td,th,tr{vertical-align:middle;padding:.5em;line-height:normal;white-space:normal;"
    "max-width:none;border:none;text-align:right}</style>"
)
SELECTED = """() => {
  getSelection().selectAllChildren(document.querySelector('tbody').parentElement);
  return getSelection().toString() }"""


def counts(long: bool = False) -> str:
    """A card of counts with a strip, and one of means with an error for the population."""
    kinds = ["of some length with words" * long or "cat", "dog"]
    pets = pd.DataFrame({"pet": kinds * 300, "age": [2.5, 7.25] * 300})
    by = pets.dp.groupby("pet", keys=kinds)["age"]
    answer = by.mean(bounds=(0, 20), epsilon=1) if long else by.size(epsilon=1)
    return table(answer).to_html()


def test_a_copy_has_a_line_for_each_row_and_a_cell_for_each_cell(exact: None) -> None:
    with browser.offline() as page:
        page.set_content(LAB + counts())
        copied = page.evaluate(SELECTED).replace("\N{NO-BREAK SPACE}", " ")
        page.set_content(LAB + table(_figures()).to_html())
        aligned = page.evaluate(SELECTED)
    head, *rows = copied.strip("\n").split("\n")
    assert head.split("\t") == ["pet", "age", "", ""], "a head for each of the two cells"
    assert [row.split("\t") for row in rows] == [
        ["cat", "300", "± 4", ""], ["dog", "300", "± 4", ""],
    ]  # fmt: skip
    assert re.search(r"float:right;[^\"]*quotes:'304'", counts()), "drawn, and not copied"
    assert "visibility:hidden" in table(_figures()).to_html()
    assert "600\t" in aligned, "decimals that keep a place aren't copied"


def test_a_copy_has_a_cell_below_each_cell(exact: None) -> None:
    df = pd.DataFrame({"pet": ["cat", "dog"] * 300, "age": [2.5, 7.25] * 300})
    by = df.dp.groupby("pet", keys=["cat", "dog"])[["age"]]
    shown = table(by.agg(["count", "mean"], bounds=(0, 20), epsilon=8)).to_html()
    assert ">age<span" in shown, "a spanner"
    with browser.offline() as page:
        page.set_content(LAB + f"<p>x</p>{shown}")
        copied = page.evaluate(SELECTED.replace("tbody').parentElement", "body')"))
    lines = [line for line in copied.split("\n") if "\t" in line]
    assert {line.count("\t") for line in lines} == {5}, lines
    assert lines[0].split("\t") == [" ", "age", "", "", "", ""]


def _figures() -> pd.DataFrame:
    ages = pd.DataFrame({"age": [2.5, 7.25] * 300})
    found: pd.DataFrame = ages.dp.describe(bounds=(0, 20), epsilon=1)
    return found


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_a_strip_gives_way_before_errors_do(width: int, exact: None) -> None:
    with browser.offline() as page:
        page.set_viewport_size({"width": width, "height": 600})
        page.set_content(LAB + counts(long=True))
        wide = page.evaluate("document.documentElement.scrollWidth")
        strip, error = (
            page.locator(f"tbody tr:first-child td:nth-of-type({at})").bounding_box()
            for at in (4, 2)
        )
        assert browser.violations(page, ".dppandas-card") == []
    assert wide <= width
    assert error["height"] < 60
    assert (strip is None or strip["width"] < 100) == (width == 390)


def means(columns: int) -> str:
    """A card of means with errors for the population."""
    names = [f"column {i}" for i in range(columns)]
    df = pd.DataFrame({"pet": ["cat", "dog"] * 300, **dict.fromkeys(names, [2.5, 7.25] * 300)})
    by = df.dp.groupby("pet", keys=["cat", "dog"])[names]
    return table(by.mean(bounds=dict.fromkeys(names, (0, 20)), epsilon=8)).to_html()


@pytest.mark.parametrize("width", [390, 800, 1400])
@pytest.mark.parametrize("columns", [2, 4])
def test_rows_stack_where_there_is_no_room(width: int, columns: int, exact: None) -> None:
    with browser.offline() as page:
        page.set_viewport_size({"width": width, "height": 900})
        page.set_content(f'{LAB}<div style="margin:0 40px">{means(columns)}</div>')
        wide = page.evaluate("document.querySelector('.dppandas-card table').scrollWidth")
        cells = page.locator("tbody tr >> nth=0 >> td").all()
        number, error, outer, other = (each.bounding_box() for each in cells[:4])
        name = "getComputedStyle(document.querySelector('tbody td'), '::before').content"
        named = page.evaluate(name)
        heads = page.locator("thead").is_visible()
        assert browser.violations(page, ".dppandas-card") == []
        page.evaluate("document.querySelector('.dppandas-card style').remove()")
        bare = page.locator("tbody tr >> nth=0 >> td >> nth=1").bounding_box()
    is_stacked = width == 390 or (columns, width) == (4, 800)
    assert wide <= width, "nothing is cut"
    assert number["y"] == error["y"], "an error is beside its number"
    assert error["x"] + error["width"] <= width
    assert (other["x"] == number["x"]) == (outer["x"] == error["x"]) == is_stacked
    assert (named == '"column 0 "') == (not heads) == is_stacked
    assert bare["x"] + bare["width"] <= width, "without a sheet the first error is seen"
