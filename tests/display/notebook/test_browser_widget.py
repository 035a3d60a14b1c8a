"""What a person can do with the live ledger, by keyboard alone, in a light and in a dark theme."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import browser
import pytest
from test_browser import ARTIFACTS, LAB, Notebook, _shut_kernels, pytestmark  # noqa: F401

CELLS = [
    "%load_ext dppandas\n"
    "import pandas as pd, dppandas as dp\n"
    "df = pd.DataFrame({'age': [i % 60 for i in range(1000)], 'sex': ['f', 'm'] * 500})\n"
    "dp.session(epsilon=2, store='a.ledger')",
    "people = dp.protect(df, name='survey', version='1',\n"
    "    domain={'age': (0, 60), 'sex': ['f', 'm']})\n"
    "people.count(epsilon=0.5)",
    "people['sex'].value_counts(epsilon='0.25')\npeople.count(epsilon=0.5)\nprint('an' + 'swered')",
    "for i in range(450):\n    people.query(f'age > {i}').count(epsilon='0.001')",
]

#: What another kernel does meanwhile.
ELSEWHERE = """
    import pandas as pd, dppandas as dp
    dp.session(store="a.ledger")
    theirs = dp.protect(pd.DataFrame({"x": [1]}), name="theirs", version="1", domain={"x": (0, 1)})
    theirs["x"].mean(epsilon="0.125")
"""

#: The least contrast of any text that is seen in the widget with what is behind it, by WCAG 2.
CONTRAST = """() => {
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const over = (top, under) => { const a = top[3] ?? 1;
    return [0, 1, 2].map(i => a * top[i] + (1 - a) * under[i]); };
  const light = c => [0.2126, 0.7152, 0.0722].reduce((s, w, i) => { const v = c[i] / 255;
    return s + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); }, 0);
  const grounds = e => { const found = [];
    for (let n = e; n; n = n.parentElement) {
      const c = parse(getComputedStyle(n).backgroundColor);
      if ((c[3] ?? 1) > 0) found.push(c);
      if ((c[3] ?? 1) === 1) break; }
    return found.reverse().reduce((under, c) => over(c, under), [255, 255, 255]); };
  const seen = [...document.querySelectorAll('.dppandas-live *')].filter(e => e.offsetHeight > 0 ||
    e instanceof SVGTextElement).filter(e => ['SELECT', 'INPUT'].includes(e.tagName) ||
    [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
    .filter(e => !['STYLE', 'TITLE', 'title', 'OPTION'].includes(e.tagName) && !e.disabled);
  return seen.map(e => { const style = getComputedStyle(e), ground = grounds(e);
    let alpha = 1;
    for (let n = e; n; n = n.parentElement) alpha *= Number(getComputedStyle(n).opacity);
    const ink = parse(e instanceof SVGTextElement ? style.fill : style.color);
    const [low, high] = [light(over([...ink.slice(0, 3), (ink[3] ?? 1) * alpha], ground)),
      light(ground)].sort((a, b) => a - b);
    return [(high + 0.05) / (low + 0.05), e.tagName + ': ' + (e.value || e.textContent)]; })
    .sort((a, b) => a[0] - b[0]); }"""


def prepared(tmp_path: Path, theme: str = "") -> tuple[Path, Path]:
    root, folder = tmp_path / "root", tmp_path / "server"
    root.mkdir()
    browser.write_notebook(root / "ledger.ipynb", CELLS)
    if theme:
        settings = folder / "CONFIG/lab/user-settings/@jupyterlab/apputils-extension"
        settings.mkdir(parents=True)
        text = json.dumps({"theme": f"JupyterLab {theme}"})
        (settings / "themes.jupyterlab-settings").write_text(text)
    return root, folder


def focus(book: Notebook) -> str:
    """What the keyboard is on."""
    name = (
        "() => { const e = document.activeElement;"
        "return e.getAttribute('role') || e.textContent.trim() || e.tagName.toLowerCase() }"
    )
    return str(book.page.evaluate(name))


def tells(book: Notebook, text: str) -> None:
    """Until the slider's line says this."""
    book.until(lambda: text in book.page.inner_text(".dppandas-live .dp-told"))


def picture(book: Notebook, name: str) -> None:
    book.picture(f"{name}-page")
    book.page.locator(".dppandas-live").screenshot(path=ARTIFACTS / f"{name}.png")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_an_epsilon_is_tried_by_keyboard_before_it_is_spent(tmp_path: Path, theme: str) -> None:
    root, folder = prepared(tmp_path, theme)
    with browser.server(root, folder) as address, browser.browser(address) as watched:
        book = Notebook(watched.page, address, LAB)
        is_light = book.page.evaluate("document.body.getAttribute('data-jp-theme-light')")
        assert is_light == str(theme == "Light").lower()
        for cell in range(3):
            book.run(cell)
        book.run(2)
        book.sees("release 2 in cell [4] ([3] run again)")
        assert "release 1 in cells [3], [4] ([3] run again)" in book.text()
        _slide(book)

        subprocess.run([sys.executable, "-c", textwrap.dedent(ELSEWHERE)], cwd=root, check=True)
        book.sees("theirs (verified)")  # no cell runs meanwhile
        book.sees("ε spent 0.875 of 2 · 1.125 left")
        assert "† charged by another kernel" in book.text()
        words = book.page.locator(".dppandas-live svg.dp-chart text").all_text_contents()
        assert words == ["[2]", "[3]", "†", "2"]
        seen = book.page.evaluate(CONTRAST)
        assert len(seen) > 30
        assert seen[0][0] >= 4.5, seen[:5]
        picture(book, f"widget-{theme.lower()}")
        assert watched.elsewhere == []


def _slide(book: Notebook) -> None:
    """From the choice of an operation by Tab to the slider and on to the table."""
    press = book.page.keyboard.press
    press("Escape")
    book.page.locator(".dppandas-live select").focus()
    tells(book, "± 30 (95 %) · costs ε = 0.1 · 12 such releases left")
    for expected in ("input", "slider"):
        press("Tab")
        assert focus(book) == expected
    press("ArrowRight")
    tells(book, "± 20 (95 %) · costs ε = 0.15 · 8 such")
    press("End")
    tells(book, "more than is left")
    for _ in range(4):
        press("ArrowLeft")
    tells(book, "± 6 (95 %) · answered already")  # from 2: 1.5, 1, 0.7, 0.5
    assert "slider" in focus(book), "an update leaves the focus where it is"
    press("Shift+Tab")
    book.page.keyboard.press("Control+a")
    book.page.keyboard.type("0.123")
    tells(book, "costs ε = 0.123 · 10 such")
    book.page.locator(".dppandas-live select").select_option("survey: mean of age in (0, 60)")
    tells(book, "over 1,000 rows")
    for expected in ("slider", "input", "region"):
        press("Tab")
        assert focus(book) == expected
    assert "ε spent 0.75 of 2" in book.text(), "nothing of this was charged"


def test_pages_are_turned_by_keyboard_and_a_dead_kernel_leaves_a_picture(tmp_path: Path) -> None:
    root, folder = prepared(tmp_path)
    with browser.server(root, folder) as address, browser.browser(address) as watched:
        book = Notebook(watched.page, address, LAB)
        for cell in (0, 1, 3):
            book.run(cell)
        book.sees("releases 252 to 451 of 451")
        buttons = book.page.locator(".dppandas-live button:visible")
        assert buttons.all_inner_texts() == ["older", "newer"]
        book.page.keyboard.press("Escape")
        book.page.locator(".dppandas-live .dp-scroll").focus()
        book.page.keyboard.press("Tab")
        assert focus(book) == "older"
        for expected in ("52 to 251", "1 to 200"):
            book.page.keyboard.press("Enter")
            book.sees(f"releases {expected} of 451")
        assert "age > 449" not in book.text()
        book.page.keyboard.press("Tab")
        assert focus(book) == "newer"
        book.page.keyboard.press("Space")
        book.sees("releases 201 to 400 of 451")
        picture(book, "widget-pages")
        book.page.keyboard.press("Space")
        book.sees("releases 252 to 451 of 451")
        _saved_and_dead(book, address, root / "ledger.ipynb")


def _saved_and_dead(book: Notebook, address: str, saved: Path) -> None:
    book.page.keyboard.press("Control+s")
    book.until(lambda: "0.95 of 2" in saved.read_text())
    _shut_kernels(address)
    book = Notebook(book.page, address, LAB)
    book.sees("ε spent 0.95 of 2 · 1.05 left")
    book.sees("and 251 earlier")
    visible: Any = book.page.locator
    assert visible("svg.dp-chart:visible").count() == 1
    assert visible("[role=slider]:visible, .jp-OutputArea-output button:visible").count() == 0
    book.picture("widget-dead-kernel")
