"""The live ledger in a real JupyterLab and Notebook 7, seen by a real Chromium."""

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import browser
import nbformat
import pandas as pd
import pytest
from waiting import until

import dppandas as dp
from dppandas.display.notebook.view import View

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        browser.chromium() is None and not os.environ.get("CI"),
        reason="no chromium on the PATH: apt-get install chromium",
    ),
]

#: Screenshots for people; not committed.
ARTIFACTS = Path(__file__).parents[3] / "artifacts"

SOURCE = """%load_ext dppandas
import pandas as pd, dppandas as dp
df = pd.DataFrame({'age': range(1000)})
dp.session(epsilon=2)

df.dp.count(epsilon=0.5)

people = dp.protect(df, name='survey')
people['age'].value_counts(keys=[1, 2, 3], epsilon='0.25')

import time
df.dp.count(epsilon='0.01')
df.dp.query('age > 7').count(epsilon='0.02')
print('relea' + 'sed')
time.sleep(10**6)"""
CELLS = SOURCE.split("\n\n")

LAB = "lab/tree/ledger.ipynb?token=t&reset"


class Notebook:
    """One notebook open in a page."""

    def __init__(self, page: Any, address: str, path: str) -> None:
        self.page = page
        page.goto(f"{address}/{path}")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        # A cell run before the front end is connected is silently not run.
        self.until(lambda: _is_connected(address))
        self.until_idle()

    def until_idle(self) -> None:
        """Until the kernel waits for a cell, as the page shows it."""
        self.page.wait_for_function(
            "document.querySelector('.jp-Notebook-ExecutionIndicator')"
            "?.getAttribute('data-status') === 'idle'"
        )
        self.page.wait_for_timeout(1000)

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait without sleeping: Playwright answers the page's requests in this thread."""
        until(condition, lambda: self.page.wait_for_timeout(200))

    def run(self, cell: int, wait: bool = True) -> None:
        code = self.page.locator(".jp-Notebook .jp-CodeCell").nth(cell)
        code.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        if wait:
            prompt = code.locator(".jp-InputPrompt")
            self.until(lambda: prompt.inner_text().strip("[]: ").isdigit())

    def sees(self, text: str) -> None:
        """Until a person sees this text; hidden elements have no innerText."""
        there = "t => document.querySelector('.jp-Notebook').innerText.includes(t)"
        self.page.wait_for_function(there, arg=text, polling=50)

    def text(self) -> str:
        return str(self.page.inner_text(".jp-Notebook"))

    def filled(self) -> float:
        """The share of the visible bar that is filled."""
        share = (
            "() => { const bar = [...document.querySelectorAll('.dp-bar')]"
            ".find(e => e.offsetWidth > 0);"
            "return [...bar.children].reduce((s, e) => s + e.offsetWidth, 0)/bar.offsetWidth }"
        )
        return float(self.page.evaluate(share))

    def picture(self, name: str) -> None:
        ARTIFACTS.mkdir(exist_ok=True)
        self.page.screenshot(path=ARTIFACTS / f"{name}.png")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    root = tmp_path / "root"
    root.mkdir()
    browser.write_notebook(root / "ledger.ipynb", CELLS)
    return root, tmp_path / "server"


def test_the_ledger_is_live_in_jupyterlab_and_after_it(folders: tuple[Path, Path]) -> None:
    root, folder = folders
    with browser.server(root, folder) as address, browser.browser(address) as watched:
        book = Notebook(watched.page, address, LAB)
        book.run(0)
        book.sees("2 of ε = 2 left · nothing spent yet")
        book.run(1)
        book.sees("1.5 of ε = 2 left · 0.5 spent on 1 answer")
        assert book.filled() == pytest.approx(0.25, abs=0.02)
        book.run(2)
        book.sees("Count of rows by age")
        assert book.filled() == pytest.approx(0.375, abs=0.02)
        assert book.text().count("of ε = 2 left") == 1  # the widget; the copy is hidden
        book.picture("lab-live")

        book.run(3, wait=False)  # two releases at once, and the cell goes on
        book.sees("released")
        book.sees("1.22 of ε = 2 left")
        assert "[*]" in book.text(), "the cell that releases is still running"

        watched.page.keyboard.press("Control+s")
        saved = root / "ledger.ipynb"
        book.until(
            lambda: (
                "1.22 of \\u03b5 = 2" in saved.read_text() or "1.22 of ε = 2" in saved.read_text()
            )
        )
        assert "widgets" not in nbformat.read(saved, 4).metadata
        _shut_kernels(address)

        book = Notebook(watched.page, address, LAB)
        book.sees("1.22 of ε = 2 left")
        book.sees("read only: the kernel has ended")
        watched.page.wait_for_timeout(2000)  # long enough for a widget without a model to complain
        text = book.text()
        assert text.count("of ε = 2 left") == 1
        assert "rror displaying" not in text
        assert "Loading widget" not in text
        assert browser.violations(book.page, ".dppandas-copy") == []
        book.picture("lab-dead-kernel")
        _looks_the_same_untrusted(book, address, saved)
        assert watched.elsewhere == []


#: What a reader sees of a copy: where each piece is, and its colours.
SEEN = """() => [...document.querySelectorAll(
    '.dppandas-copy .dppandas-ledger :not(style)')].map(e => {
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  return [e.tagName, Math.round(box.x), Math.round(box.y), Math.round(box.width),
    Math.round(box.height), style.color, style.backgroundColor, style.fontSize,
    style.fontWeight, style.textAlign].join(' ') })"""


def _looks_the_same_untrusted(book: Notebook, address: str, saved: Path) -> None:
    """A clone, which the server has no signature of, piece by piece as where it was saved."""
    trusted = book.page.evaluate(SEEN)
    clone = nbformat.read(saved, 4)
    clone.cells[-1].source += "  # cloned"
    nbformat.write(clone, saved.parent / "cloned.ipynb")
    book = Notebook(book.page, address, LAB.replace("ledger.ipynb", "cloned.ipynb"))
    book.sees("read only: the kernel has ended")
    assert book.page.locator(".jp-OutputArea style").count() == 0, "the sanitiser was at work"
    assert book.page.locator(".dppandas-copy:visible").count() == 1
    assert book.page.evaluate(SEEN) == trusted
    assert len(trusted) > 40
    assert browser.violations(book.page, ".dppandas-copy") == []
    book.picture("lab-untrusted")


def test_the_ledger_is_live_in_notebook_7(folders: tuple[Path, Path]) -> None:
    root, folder = folders
    served = browser.server(root, folder, app="notebook")
    with served as address, browser.browser(address) as watched:
        book = Notebook(watched.page, address, "notebooks/ledger.ipynb?token=t")
        book.run(0)
        book.sees("2 of ε = 2 left · nothing spent yet")
        book.run(1)
        book.sees("1.5 of ε = 2 left · 0.5 spent on 1 answer")
        assert book.text().count("of ε = 2 left") == 1
        assert browser.violations(book.page, ".dppandas-live") == []
        book.picture("notebook7-live")
        assert watched.elsewhere == []


def test_an_exported_page_shows_the_ledger_offline(folders: tuple[Path, Path]) -> None:
    page = _exported(folders[0])
    ledger = dp.session(epsilon=2).ledger
    pd.DataFrame({"x": [1]}).dp.count(epsilon=0.5)
    copy = View(ledger)._drawn().data
    with browser.offline() as tab:
        for place in PLACES:
            _shows_one_of_the_two(tab, place, copy)
        tab.goto(page.as_uri())
        text = tab.inner_text("body")
        ARTIFACTS.mkdir(exist_ok=True)
        tab.screenshot(path=ARTIFACTS / "export-offline.png")
        boxes = tab.evaluate(
            "() => [...document.querySelectorAll('.jp-OutputArea-child')]"
            ".filter(e => e.offsetHeight > 0 && !e.innerText.trim()).length"
        )
        assert browser.violations(tab, ".dppandas-copy") == []
    assert text.count("1.25 of ε = 2 left · 0.75 spent on 2 answers") == 1
    assert boxes == 0, "an empty box where the widget was"


#: The outputs of a cell in other front ends, as pages.
PLACES = sorted((Path(__file__).parent / "places").glob("*.html"))

#: The widget as front ends draw it: alive; after a restart; without a kernel; and its HTML twin.
WIDGETS = {
    '<div class="lm-Widget widget-vbox dppandas-live">alive</div>': True,
    '<div class="widget-vbox dppandas-live jupyter-widgets-disconnected">broken</div>': False,
    "<pre>Error displaying widget: model not found</pre>": False,
    "<span></span>": False,
}


def _shows_one_of_the_two(tab: Any, place: Path, copy: str) -> None:
    for widget, is_alive in WIDGETS.items():
        fill = {"COPY": copy, "WIDGET": widget, "AFTER": "printed after it"}
        page = place.read_text()
        for name, text in fill.items():
            page = page.replace(f">{name}<", f">{text}<")
        tab.set_content(page)
        is_shown = tab.locator(".dppandas-copy").is_visible()
        assert is_shown is not is_alive, (place.name, widget)
        seen = tab.inner_text("body")
        assert ("1.5 of ε = 2 left" in seen) is not is_alive
        assert ("alive" in seen) is is_alive
        assert "broken" not in seen
        assert "not found" not in seen
        assert "printed after it" in seen
        assert "of the next cell" in seen or place.name != "vscode.html"


def _exported(root: Path) -> Path:
    book = root / "ledger.ipynb"
    browser.write_notebook(book, CELLS[:3])
    convert = [sys.executable, "-m", "jupyter", "nbconvert", "--log-level=ERROR"]
    subprocess.run([*convert, "--execute", "--inplace", str(book)], check=True, cwd=root)
    subprocess.run([*convert, "--to", "html", str(book)], check=True, cwd=root)
    return root / "ledger.html"


def test_of_a_thousand_entries_a_page_is_shown(folders: tuple[Path, Path]) -> None:
    root, folder = folders
    many = "for _ in range(1000):\n    df.dp.count(epsilon='0.001')"
    browser.write_notebook(root / "ledger.ipynb", [CELLS[0], many, CELLS[1]])
    with browser.server(root, folder) as address, browser.browser(address) as watched:
        book = Notebook(watched.page, address, LAB)
        book.run(0)
        book.run(1)
        book.sees("1 of ε = 2 left")
        book.run(2, wait=False)
        book.sees("0.5 of ε = 2 left")
        book.sees("992 to 1,001 of 1,001")
        assert book.page.locator(".dppandas-live *").count() < 300
        book.picture("lab-thousand")


#: A minute's scan of files on a slow disk.
SLOW = """%load_ext dppandas
import time
import pandas as pd, dppandas as dp
from dppandas.engines.files import parquet
parquet.PIECE = 1000
read = parquet._by_name
def slow(*batch):
    time.sleep(0.2)
    return read(*batch)
parquet._by_name = slow
rows = pd.DataFrame({'who': range(600_000), 'age': 40})
rows.to_parquet('visits.parquet', row_group_size=1000, index=False)
dp.session(epsilon=2)

visits = dp.protect('visits.parquet', name='visits', unit='who', max_rows=1)
visits['age'].mean(bounds=(0, 100), epsilon=0.5)

parquet._by_name = read
visits['age'].mean(bounds=(0, 100), epsilon=0.5, fresh=True)

parquet._by_name = slow
visits['age'].mean(bounds=(0, 100), epsilon=0.25, fresh=True)"""


def test_a_long_scan_of_files_tells_how_far_it_is_and_can_be_stopped(
    folders: tuple[Path, Path],
) -> None:
    root, folder = folders
    browser.write_notebook(root / "ledger.ipynb", SLOW.split("\n\n"))
    with browser.server(root, folder) as address, browser.browser(address) as watched:
        book = Notebook(watched.page, address, LAB)
        book.run(0)
        book.run(1, wait=False)
        book.sees("computing … 3 s")
        book.sees("interrupt the kernel to cancel: the charge stays")
        book.sees("1.5 of ε = 2 left")
        book.picture("lab-progress")
        watched.page.locator('[data-command="notebook:interrupt-kernel"]').click()
        book.sees("KeyboardInterrupt")
        book.sees("1.5 of ε = 2 left")
        book.sees("(interrupted, no answer)")
        assert "computing" not in book.text()
        book.picture("lab-stopped")
        book.run(2)
        book.sees("1 of ε = 2 left")
        assert book.text().count("(interrupted, no answer)") == 1
        book.run(3, wait=False)
        book.sees("5 % · about ")
        book.picture("lab-share")
        book.page.keyboard.press("Control+s")
        book.until(lambda: "(charged, no answer)" in (root / "ledger.ipynb").read_text("utf-8"))
        saved = (root / "ledger.ipynb").read_text("utf-8")
        assert "computing" not in saved, "what is told of a scan is never saved"
        assert " % · about" not in saved
        watched.page.locator('[data-command="notebook:interrupt-kernel"]').click()
        book.until(lambda: book.text().count("(interrupted, no answer)") == 2)


def _api(address: str, path: str, method: str = "GET") -> Any:
    token = {"Authorization": "token t"}
    request = urllib.request.Request(f"{address}/api/{path}", headers=token, method=method)
    with urllib.request.urlopen(request) as answer:
        body = answer.read()
    return json.loads(body) if body else None


def _is_connected(address: str) -> bool:
    """Whether a front end holds a kernel. While a kernel starts, the server's list of kernels
    fails (status 500): its entry is there before its `execution_state` is."""
    try:
        return any(kernel["connections"] for kernel in _api(address, "kernels"))
    except urllib.error.HTTPError as error:
        if error.code != 500:
            raise
        return False


def _shut_kernels(address: str) -> None:
    for each in _api(address, "sessions"):
        _api(address, f"sessions/{each['id']}", "DELETE")


def test_chromium_is_here_in_ci() -> None:
    assert shutil.which("chromium") or shutil.which("chromium-browser")
