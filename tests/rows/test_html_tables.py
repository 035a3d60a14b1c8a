"""The component that writes all tables: cells, heads, and what it says where there is no room."""

import re
from html import unescape

import pytest

from dppandas.dataclasses import replace
from dppandas.errors import unbroken
from dppandas.rows import html_tables
from dppandas.rows.html_tables import (
    ERROR,
    LABEL,
    NUMBER,
    STRIP,
    TEXT,
    Across,
    Cell,
    Column,
    Markup,
    Table,
)

NARROW = [Column("city", LABEL), Column("count", NUMBER), Column("", ERROR)]


def cells(html: str) -> list[list[str]]:
    """The texts of each row. Decimals that keep a place are no text."""
    rows = re.findall(r"<tr.*?</tr>", re.sub("<q .*?</q>", "", html))
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_a_number_and_its_error_are_two_cells_and_so_is_their_head() -> None:
    html = Table(NARROW, [["Bonn", "12", "± 3"], ["Köln", "7", ""]]).html()
    assert cells(html) == [
        ["city", "count", ""], ["Bonn", "12", "±\N{NO-BREAK SPACE}3"], ["Köln", "7", ""],
    ]  # fmt: skip
    assert "colspan" not in html


def test_decimals_are_aligned_in_columns_of_numbers_alone() -> None:
    html = Table(NARROW, [["a", "1.25", "± 3"], ["1.5", "7", "± 1.5"], ["c", "x", ""]]).html()
    hidden = re.findall(r""">([^<]*)<q style="visibility:hidden;quotes:'([^']*)' ''"></q><""", html)
    assert hidden == [("7", ".25")]


@pytest.mark.parametrize("text", ["it's", "\\", "'", "\\'", '"<b>&', "\\27 "])
def test_what_is_drawn_cannot_leave_its_quotes(text: str) -> None:
    (style,) = re.findall(r'<q style="([^"]*)"></q>', html_tables.quoted(text, "float:left"))
    drawn = unescape(style).removeprefix("float:left;quotes:'").removesuffix("' ''")
    assert re.sub(r"\\(.)", r"\1", drawn) == text
    assert not re.search(r"(?<!\\)(\\\\)*'", drawn)


def test_a_page_that_keeps_its_sheet_says_what_cells_have_in_common_once() -> None:
    table = Table(NARROW, [["Bonn", "12", "± 3"]] * 9, is_ruled=True, caption="Cities <9>")
    sheet = replace(table, has_sheet=True)
    said, whole = sheet.html(), table.html()
    for where, style in table.repeated().items():
        assert said.count(f"{where}{{{style}}}") == 1
        assert f' style="{style}"' not in said.partition("<tbody>")[2]
        assert whole.count(f' style="{style}"') >= 9
    assert cells(said) == cells(whole)
    assert 'role="region" aria-label="Cities &lt;9&gt;" tabindex="0"' in said
    assert "<caption>Cities &lt;9&gt;</caption><thead>" in said


def test_what_is_in_common_spans_its_cells() -> None:
    columns = [Column("city", LABEL), *[Column(head, NUMBER) for head in "abc"]]
    rows = [Across("north"), ["x", "1", "2", "3"], Across("…", is_head=False)]
    html = Table(columns, rows, over=[("", 1), ("both", 2), ("", 1)]).html()
    assert re.findall(r'scope="(\w+)"[^>]*colspan="(\d)">([^<]*)', html) == [
        ("colgroup", "2", "both"), ("rowgroup", "4", "north"),
    ]  # fmt: skip
    assert '<td style="padding:2px 8px;text-align:left" colspan="4">…</td>' in html
    assert 'scope="row" style="padding:2px 8px 2px 24px' in html


def test_texts_are_escaped_and_markup_is_not() -> None:
    columns = [Column("<a>", LABEL), Column("<b>"), Column(Markup("<q></q>"), STRIP)]
    html = Table(columns, [["<c>", Markup("<i>d</i>"), Cell("", "color:red")]]).html()
    assert {*re.findall(r"<([a-d])>", html)} == set()
    assert "<i>d</i>" in html
    assert '<td style="color:red"></td>' in html


@pytest.mark.parametrize("head", ["</style><b>", "'}*{a:b}'", "\\", "§", "%s", "a\nb", "ü"])
def test_a_name_cannot_leave_the_sheet(head: str) -> None:
    columns = [Column("", LABEL), *[Column(head, kind) for kind in (NUMBER, ERROR, TEXT) * 3]]
    html = Table(columns, [["a", *["some text"] * 9]]).html()
    (sheet,) = re.findall(r"<style>(.*?)</style>", html, re.S)
    said = re.findall(r"content:'([^']*)'", sheet)
    assert len(said) == 9
    for each in said:
        assert re.fullmatch(r"(?:[A-Za-z0-9]|\\[0-9a-f]+ )*", each)
        heard = re.sub(r"\\([0-9a-f]+) ", lambda found: chr(int(found[1], 16)), each)
        assert heard.strip() == head.strip()
    assert html.count("<style") == html.count("</style") == 1


def test_a_sheet_is_for_tables_that_may_lack_room() -> None:
    assert "<style" not in Table(NARROW, [["Bonn", "12", "± 3"]]).html()
    wide = Table(NARROW, [["Bonn", "12", "± 3, which is said in many words"]]).html()
    assert wide == Table(NARROW, [["Bonn", "12", "± 3, which is said in many words"]]).html()
    assert 'tabindex="0"' in wide
    name, at = re.findall(r'class="(dp-\w+)".*max-width:(\d+)em', wide, re.S)[0]
    assert wide.count(f".{name}{{") == 2
    wider = Table(NARROW, [["Bonn", "12", "± 3, which is said in far too many words"]]).html()
    assert int(re.findall(r"max-width:(\d+)em", wider)[0]) > int(at)
    assert name not in wider, "tables of another width have other rules"
    most = Table([Column("", LABEL)] * 40, [["some long label"] * 40]).html()
    assert "max-width:60em" in most


def test_parts_around_a_table() -> None:
    said = html_tables.card("x", html_tables.title("a", "<b>"), "", html_tables.foot(""))
    assert said == (
        '<div class="dppandas-x" style="line-height:1.5"><div style="margin:0 8px 6px"><b>a</b>'
        " · &lt;b&gt;</div></div>"
    )


def test_what_does_not_break_is_counted_as_a_whole() -> None:
    """Found: beside `income ± 1,300 to 4,000,000` the last column of a ledger was cut off."""
    columns = [Column("question", LABEL, wraps=True), Column("error", TEXT, wraps=True)]
    broken = "income ± 1,300 to 4,000,000"
    short, wrapping, whole = (
        Table(columns, [["all", error]])._needed() for error in ("± 13", broken, unbroken(broken))
    )
    assert short < wrapping < whole
    assert whole - wrapping >= 0.5 * (len("± 1,300 to 4,000,000") - 16)
