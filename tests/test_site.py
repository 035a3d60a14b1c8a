"""The docs site: all pages and public names are in it, its links lead somewhere, and it reads
without a network. Links to other sites are only checked to be of known hosts: tests fetch nothing.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from documented import all_documented
from once import once

pytest.importorskip("sphinx", reason="the site is built where browsers read it: make test-browser")
#: Where the site is built once, for these tests and for those that read it in a browser.
pytestmark = pytest.mark.browser

ROOT = Path(__file__).parent.parent
#: Hosts that pages may link to. Add one after looking at it.
HOSTS = {"arxiv.org", "doi.org", "github.com", "keepachangelog.com", "pandas.pydata.org"}
#: A page that nobody named anywhere, for the copy that is built here.
PAGE = """# A page of tomorrow

It links to [sums](proofs/sums.md), to [a section](../README.md#what-is-promised), and says
$e^{\\varepsilon} \\le 1 + \\lvert \\delta \\rvert$.
"""
BROKEN = PAGE.replace("sums.md", "summs.md").replace("#what-is", "#what-was")
BROKEN = BROKEN.replace("\\le", "\\lle")


def build(source: Path, page: str) -> subprocess.CompletedProcess[str]:
    """What ``make docs`` runs, with one more page. Built again, only what changed is read again."""
    (source / "docs" / "tomorrow.md").write_text(page, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", "out"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)


def make(folder: Path) -> None:
    """A copy of the pages with its site in ``out``, built with warnings as errors; first with a
    broken page, whose warnings are in ``broken``."""
    for page in ROOT.glob("*.md"):
        shutil.copy(page, folder)
    for name in ("docs", "notebooks", "benchmarks"):
        ignore = shutil.ignore_patterns("*.json")
        shutil.copytree(ROOT / name, folder / name, ignore=ignore, dirs_exist_ok=True)
    broken = build(folder, BROKEN)
    assert broken.returncode == 1
    (folder / "broken").write_text(broken.stderr, encoding="utf-8")
    built = build(folder, PAGE)
    assert built.returncode == 0, built.stderr


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "site", make)


def html(source: Path, page: str) -> str:
    return (source / "out" / page).read_text(encoding="utf-8")


def test_the_makefile_builds_what_is_tested_here() -> None:
    assert "-m sphinx -q -W --keep-going -c docs . build/docs" in (ROOT / "Makefile").read_text()


def test_every_page_and_notebook_is_in_the_site(source: Path) -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("notebooks/*.ipynb")]
    names = [str(page.relative_to(ROOT).with_suffix(".html")) for page in pages]
    assert len(names) > 50
    front = html(source, "index.html")
    for name in [*names, "benchmarks/README.html", "docs/tomorrow.html"]:
        assert (source / "out" / name).exists(), name
        assert f'href="{name}"' in front or name == "README.html", f"{name} isn't in the contents"


def test_every_public_name_is_in_the_reference(source: Path) -> None:
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((source / "out" / "objects.inv").read_bytes(), uri="").data
    found = {name for kind in inventory if kind.startswith("py:") for name in inventory[kind]}
    wanted = all_documented()
    assert {"dppandas.types.PrivateSeries.mean", "dppandas.types.Session.remaining"} < set(wanted)
    assert sorted(set(wanted) - found) == []


def test_docstrings_are_laid_out(source: Path) -> None:
    functions = html(source, "docs/api/functions.html")
    assert "<em>Guarantee</em>: " in functions
    assert re.search(r"<dt><code[^>]*><span class=\"pre\">candidates</span></code></dt>", functions)
    assert 'href="../proofs/select.html"' in functions
    assert 'href="#dppandas.reset"' in functions
    assert not re.search(r"^\w+ : ", re.sub(r"<[^>]*>", "", functions), re.MULTILINE)


def test_what_a_record_holds_is_named(source: Path) -> None:
    page = re.sub(r"<[^>]*>", "", html(source, "docs/api/classes.html"))
    assert "Attributes: id, number, query, source, lineage, unit, where, mechanism, scale" in page


def test_notebooks_keep_their_outputs(source: Path) -> None:
    shown = html(source, "notebooks/quickstart.html")
    assert "0.9 of ε = 2 left" in shown
    assert "<svg" in shown
    assert "<img" in shown


def test_the_site_needs_no_network(source: Path) -> None:
    fetched = re.compile(
        r"""<(?:script|link|img|iframe|source)[^>]*\b(?:src|href)=["']?(\w+:)?//"""
    )
    imported = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//""")
    pages = list((source / "out").rglob("*.html"))
    styles = list((source / "out").rglob("*.css"))
    assert len(pages) > 50
    assert styles
    assert [p for p in pages if fetched.search(p.read_text(encoding="utf-8"))] == []
    assert [p for p in [*pages, *styles] if imported.search(p.read_text(encoding="utf-8"))] == []
    assert fetched.search('<script src="https://cdn.example.org/x.js">')


def test_links_to_other_sites_are_well_formed_and_of_known_hosts(source: Path) -> None:
    for page in (source / "out").rglob("*.html"):
        for link in re.findall(r'href="(https?:[^"]*)"', page.read_text(encoding="utf-8")):
            parts = urlsplit(link)
            assert parts.scheme == "https", f"{page.name}: {link}"
            assert parts.hostname in HOSTS, f"{page.name}: {link}"


def test_a_formula_is_drawn_without_a_script(source: Path) -> None:
    page = html(source, "docs/tomorrow.html")
    assert page.count("<math ") == 2  # for a line may end after its relation
    assert '≤</mo>\n</math><span class="unbroken"><math ' in page
    assert "</math>.</span>" in page, "the point begins a line"
    assert [page.count(f'form="{form}"') for form in ("prefix", "postfix")] == [1, 1], "bars"
    assert not re.search(r"<script[^>]*mathjax", page, re.IGNORECASE)


def test_hats_and_functions_stand_where_tex_has_them(source: Path) -> None:
    """A hat on the letter and its index beside both, and a space before a function's name."""
    page = re.sub(r"\s*\n\s*", "", html(source, "docs/proofs/randomized_response.html"))
    hat = '<mo stretchy="false">ˆ</mo></mover><mi>j</mi></msub>'
    assert f'<msub><mover accent="true"><mi>n</mi>{hat}' in page
    assert '<mspace width="0.1667em"></mspace><msup><mi>sinh</mi>' in page


def test_tabs_of_pages_differ(source: Path) -> None:
    tabs = [
        re.search("<title>(.*?)</title>", page.read_text(encoding="utf-8"))
        for page in (source / "out").rglob("*.html")
        if page.name != "README.html"  # the front page, also as index.html
    ]
    titles = [tab[1] for tab in tabs if tab]
    assert len(titles) > 100
    assert sorted(title for title in set(titles) if titles.count(title) > 1) == []


def test_pages_are_called_by_their_titles(source: Path) -> None:
    for page in ("docs/threat_model.html", "docs/how_it_works.html", "docs/api/functions.html"):
        assert not re.search(r"<a [^>]*>(?:<[^>]*>)*[\w/]+\.md<", html(source, page)), page
    assert ">Known limits</span></a>" in html(source, "docs/threat_model.html")


def test_pictures_on_white_are_told_from_those_without_a_ground(source: Path) -> None:
    assert 'class="on-white"' in html(source, "notebooks/lecture_0_laplace_and_noisy_max.html")
    assert 'class="on-white"' not in html(source, "notebooks/quickstart.html")


def test_code_breaks_at_its_signs(source: Path) -> None:
    page = html(source, "docs/nist_sp_800_226.html")
    assert "tests/<wbr>privacy/<wbr>accounting/<wbr>test_losses<wbr>.py" in page


def test_what_is_broken_fails(source: Path) -> None:
    """The negative control: one page with a link, an anchor and a formula that lead nowhere. And
    of the other pages nothing is told, which the second build doesn't read again."""
    told = (source / "broken").read_text(encoding="utf-8")
    warnings = [line for line in told.splitlines() if re.search("WARNING|ERROR|CRITICAL", line)]
    assert len(warnings) == 3, told
    for each in ("proofs/summs.md", "what-was-promised", "\\lle"):
        assert any(each in line and "tomorrow.md" in line for line in warnings), told
