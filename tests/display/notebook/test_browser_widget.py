"""What a person can do with the live ledger, by keyboard alone, in a light and in a dark theme."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import browser
import pytest
from test_browser import (  # noqa: F401
    ARTIFACTS,
    LAB,
    Notebook,
    _shut_kernels,
    pytestmark,
)

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
  const seen = [...document.querySelectorAll('.dppandas-live *')].filter(e => e.offsetHeight > 0)
    .filter(e => ['SELECT', 'INPUT'].includes(e.tagName) ||
    [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
    .filter(e => !['STYLE', 'OPTION'].includes(e.tagName));
  return seen.map(e => { const style = getComputedStyle(e), ground = grounds(e);
    let alpha = 1;
    for (let n = e; n; n = n.parentElement) alpha *= Number(getComputedStyle(n).opacity);
    const ink = parse(style.color);
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
        "const isField = ['SELECT', 'INPUT'].includes(e.tagName);"
        "if (e.matches('.dp-sheet')) return e.querySelector('table').title;"
        "return !isField && (e.title || e.textContent.trim()) || e.tagName.toLowerCase() }"
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
        book.sees("again, free: [3]")
        book.run(2)
        book.sees("again, free: [4] ([3] run again)")
        assert "again, free: [3], [4] ([3] run again)" in book.text()
        _try(book)

        subprocess.run([sys.executable, "-c", textwrap.dedent(ELSEWHERE)], cwd=root, check=True)
        book.sees("Mean x")  # no cell runs meanwhile
        book.sees("1.125 of ε = 2 left · 0.875 spent on 3 answers · a.ledger")
        assert "† charged by another kernel" in book.text()
        assert focus(book) == "releases", "an update leaves the focus where it is"
        seen = book.page.evaluate(CONTRAST)
        assert len(seen) > 30
        assert seen[0][0] >= 4.5, seen[:5]
        assert browser.violations(book.page, ".dppandas-live") == []
        picture(book, f"widget-{theme.lower()}")
        for width in (1400, 800, 660):  # and JupyterLab's side bar
            book.page.set_viewport_size({"width": width, "height": 1000})
            book.page.wait_for_timeout(300)
            assert len(lines_of_loss(book)) == 1
            assert beyond(book) == []
        assert watched.elsewhere == []


def _try(book: Notebook) -> None:
    """From the choice of a question by Tab to the ε, to the code and on to the table."""
    press = book.page.keyboard.press
    press("Escape")
    book.page.locator(".dppandas-live select").first.focus()
    tells(book, "gives ± 30 (95 %), leaves 1.15: 11 more like it")
    assert ghost(book) == 0
    for expected in ("select", "input", "a smaller ε", "a larger ε"):
        press("Tab")
        assert focus(book) == expected
    press("Enter")
    tells(book, "gives ± 20 (95 %), leaves 1.1: 7 more like it")
    assert ghost(book) == pytest.approx(0.075, abs=0.01)
    assert focus(book) == "a larger ε", "an update leaves the focus where it is"
    for _ in range(4):
        press("Space")
    tells(book, "gives ± 4 (95 %), leaves 0.55: no other like it")  # 0.2, 0.3, 0.5, 0.7
    press("Shift+Tab")
    press("Enter")
    tells(book, "± 6 (95 %); answered already: asking again is free")
    assert ghost(book) == 0
    _type(book, "1.5")
    tells(book, "more than is left")
    assert ghost(book) == pytest.approx(0.625, abs=0.01)
    book.page.locator(".dppandas-live select").first.select_option("mean of age in 0 to 60")
    tells(book, "over 1,000 rows")
    _invert(book)
    assert "1.25 of ε = 2 left" in book.text(), "nothing of this was charged"


def _type(book: Notebook, loss: str) -> None:
    book.page.get_by_label("at ε").focus()
    book.page.keyboard.press("Control+a")
    book.page.keyboard.type(loss)


def _invert(book: Notebook) -> None:
    """From an error to its ε and its code, and on to the table."""
    press = book.page.keyboard.press
    book.page.locator(".dppandas-live select").first.select_option("count")
    book.page.get_by_label("I need ±").focus()
    book.page.keyboard.type("20")
    press("Tab")
    tells(book, "gives ± 20 (95 %), leaves 1.103: 7 more like it")
    assert focus(book) == "copy the code"
    book.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    press("Enter")
    book.sees("copied")
    copied = book.page.evaluate("navigator.clipboard.readText()")
    assert copied == "people.count(epsilon=0.147)"
    press("Tab")
    assert focus(book) == "releases"


def beyond(book: Notebook) -> list[str]:
    """Controls that end beyond the widget's right edge."""
    found = (
        "() => { const live = document.querySelector('.dppandas-live');"
        "const end = live.getBoundingClientRect().right + 1;"
        "return [...live.querySelectorAll('select, input, button')]"
        ".filter(each => each.getBoundingClientRect().right > end)"
        ".map(each => each.title || each.textContent) }"
    )
    return list(book.page.evaluate(found))


def lines_of_loss(book: Notebook) -> list[int]:
    """On which lines the ε that is tried and its two buttons are, by their middles."""
    found = (
        "() => { const less = document.querySelector('.dppandas-live [title=\"a smaller ε\"]');"
        "const three = [less.previousElementSibling, less, less.nextElementSibling];"
        "const boxes = three.map(each => each.getBoundingClientRect());"
        "return [...new Set(boxes.map(box => Math.round((box.top + box.bottom) / 8)))] }"
    )
    return list(book.page.evaluate(found))


def ghost(book: Notebook) -> float:
    """The share of the bar that is hatched."""
    share = (
        "() => { const g = document.querySelector('.dppandas-live .dp-ghost');"
        "return g ? g.offsetWidth / g.parentElement.offsetWidth : 0 }"
    )
    return float(book.page.evaluate(share))


def test_pages_are_turned_by_keyboard_and_a_dead_kernel_leaves_a_picture(tmp_path: Path) -> None:
    root, folder = prepared(tmp_path)
    with browser.server(root, folder) as address, browser.browser(address) as watched:
        book = Notebook(watched.page, address, LAB)
        for cell in (0, 1, 3):
            book.run(cell)
        book.sees("442 to 451 of 451 · newest")
        book.page.keyboard.press("Escape")
        book.page.locator(".dppandas-live").get_by_label("Search").focus()
        book.page.keyboard.type("age > 7")
        book.sees("of 451 · 81 found")
        for _ in range(len("age > 7")):
            book.page.keyboard.press("Backspace")
        book.sees("442 to 451 of 451 · newest")
        for expected in ("newer releases", "older releases"):
            book.page.keyboard.press("Tab")
            assert focus(book) == expected
        for expected in ("432 to 441", "422 to 431"):
            book.page.keyboard.press("Enter")
            book.sees(f"{expected} of 451")
        assert focus(book) == "older releases"
        assert "age > 449" not in book.text()
        book.page.keyboard.press("Shift+Tab")
        book.page.keyboard.press("Space")
        book.sees("432 to 441 of 451")
        picture(book, "widget-pages")
        book.page.keyboard.press("Space")
        book.sees("442 to 451 of 451 · newest")
        _restarted(book)
        _saved_and_dead(book, address, root / "ledger.ipynb")


def _restarted(book: Notebook) -> None:
    """A restart leaves widgets without models, which JupyterLab marks one by one."""
    book.page.keyboard.press("Control+s")
    code = book.page.locator(".jp-Notebook .jp-CodeCell").nth(3)
    code.locator(".jp-InputPrompt").click()
    for key in ("Escape", "0", "0"):
        book.page.keyboard.press(key)
    book.page.locator(".jp-Dialog button.jp-mod-accept").click()
    book.page.wait_for_selector(".jupyter-widgets-disconnected", state="attached")
    book.sees("read only: the kernel has ended")
    assert book.page.locator(".jupyter-widgets-disconnected:visible").count() == 0
    assert book.page.locator(".dppandas-copy:visible").count() == 1
    book.picture("widget-restarted")
    book.until_idle()  # the server deletes no kernel that starts


def _saved_and_dead(book: Notebook, address: str, saved: Path) -> None:
    book.page.keyboard.press("Control+s")
    book.until(lambda: "1.05 of" in saved.read_text())
    _shut_kernels(address)
    book = Notebook(book.page, address, LAB)
    book.sees("1.05 of ε = 2 left")
    book.sees("and 426 before that")
    visible: Any = book.page.locator
    assert visible(".jp-OutputArea-output :is(button, select, input):visible").count() == 0
    book.picture("widget-dead-kernel")
