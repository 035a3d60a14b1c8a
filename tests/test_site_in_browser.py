"""The docs site as a reader sees it, in a browser without a network: on a phone, by keyboard, with
a screen reader, and in search."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pytest
from test_site import source as source

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        browser.chromium() is None and not os.environ.get("CI"),
        reason="no chromium on the PATH: apt-get install chromium",
    ),
]

#: What is wider than the page, and code that can be neither seen nor scrolled to.
LAYOUT = """() => {
  const found = [];
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) found.push(`scrolls sideways: ${width}`);
  for (const code of document.querySelectorAll("pre")) {
    let box = code, seen = code.scrollWidth <= code.clientWidth + 1;
    for (; !seen && box && box.tagName !== "ARTICLE"; box = box.parentElement)
      seen = ["auto", "scroll"].includes(getComputedStyle(box).overflowX);
    if (!seen) found.push(`is cut: ${code.textContent.slice(0, 80)}`);
  }
  return found;
}"""
#: One of each kind of page.
KINDS = (
    "index", "docs/how_do_i", "docs/plots", "docs/plots/counts", "docs/proofs/counts",
    "docs/api/errors", "docs/engines", "notebooks/quickstart", "notebooks/gallery/01_penguins",
    "search",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(source: Path) -> Path:
    return source / "out"


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with browser.offline() as tab:
        yield tab


def test_no_page_scrolls_sideways_and_no_code_is_cut_on_a_phone(site: Path, page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    pages = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    assert len(pages) > 100
    wrong = {}
    for path in pages:
        page.goto(path.as_uri())
        if told := page.evaluate(LAYOUT):
            wrong[str(path.relative_to(site))] = told
    assert wrong == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_everybody_can_use_a_page(kind: str, scheme: str, site: Path, page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme=scheme)
    page.goto((site / f"{kind}.html").as_uri())
    page.wait_for_load_state("load")
    assert browser.violations(page, "body") == []


def test_search_works_without_a_network(site: Path, page: Any) -> None:
    page.goto((site / "search.html").as_uri() + "?q=permute")
    page.wait_for_selector("#search-results li a")
    assert "Permute" in page.inner_text("#search-results")


def test_the_site_is_light(site: Path) -> None:
    """Under 30 MB in all, and 500 kB a page without its pictures."""
    files = [path for path in site.rglob("*") if ".doctrees" not in path.parts]  # Sphinx's own
    sizes = {path: path.stat().st_size for path in files if path.is_file()}
    assert sum(sizes.values()) < 30_000_000
    heavy = [path for path, size in sizes.items() if path.suffix == ".html" and size > 500_000]
    assert heavy == []
