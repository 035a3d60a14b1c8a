"""The picture of the front page is what a notebook shows today: the ledger, a count and a table.

``DPPANDAS_PICTURE=1 pytest tests/display/notebook/test_front_picture.py`` takes it anew. Each run
draws its own noise, so numbers aren't compared; words are, and the styles that they are shown in.
"""

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import browser
from test_browser import ARTIFACTS, LAB, Notebook
from test_browser import pytestmark as pytestmark

from dppandas.display.notebook import view

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "docs" / "_static"
#: What the picture showed when it was taken.
SHOWN = STATIC / "notebook.txt"

CELLS = [
    """from statsmodels.datasets import fair

import dppandas as dp

dp.session(epsilon=2, store="survey.ledger")""",
    """women = dp.protect(fair.load_pandas().data, "survey", version="1978",
                   domain={"educ": [9, 12, 14, 16, 17, 20], "affairs": (0, 20)})
women[women["affairs"] > 0].count(epsilon=0.2)""",
    """women.groupby("educ")["affairs"].mean(epsilon=1)""",
]
TO_DARK = (
    "jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'}).then(() => 1)"
)


def shown(book: Notebook) -> str:
    """The words of code and answers, without numbers; and which styles these have."""
    told = re.sub(", (noise-dominated|may be empty|too few rows)", "", book.text())
    text = re.sub(r"[\d.,]*\d", "#", told)
    words = "\n".join(line.strip() for line in text.splitlines() if line.strip(" \u200b"))
    styles = [view._EITHER_OR, view._CONTROLS, (ROOT / "tests/golden/cards.html").read_text()]
    digest = hashlib.sha256("".join(styles).encode()).hexdigest()
    return f"{words}\nstyles: {digest[:16]}\n"


def take(page: Any, theme: str) -> bytes:
    """The three cells, without what Lab has around them."""
    first, last = (page.locator(".jp-CodeCell").nth(i).bounding_box() for i in (0, 2))
    page.mouse.move(0, 0)
    ARTIFACTS.mkdir(exist_ok=True)
    taken = page.screenshot(
        path=ARTIFACTS / f"notebook-{theme}.png",
        clip={
            "x": first["x"] + 68, "y": first["y"] - 4, "width": first["width"] - 70,
            "height": last["y"] + last["height"] - first["y"] + 8,
        },
    )  # fmt: skip
    return bytes(taken)


def test_the_front_page_shows_what_a_notebook_shows(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "server"
    (folder / "CONFIG").mkdir(parents=True)
    root.mkdir()
    config = "c.LabApp.expose_app_in_browser = True\nc.LabApp.news_url = None\n"
    (folder / "CONFIG" / "jupyter_lab_config.py").write_text(config)
    browser.write_notebook(root / "ledger.ipynb", CELLS)
    with browser.server(root, folder) as address, browser.browser(address, scale=2) as watched:
        page = watched.page
        page.set_viewport_size({"width": 1160, "height": 1100})
        book = Notebook(page, address, LAB)
        for cell in range(len(CELLS)):
            book.run(cell)
        book.sees("a plain pandas Series")
        book.sees("1.2 spent on 2 answers")
        book.until_idle()
        text = shown(book)
        pictures = {"light": take(page, "light")}
        page.evaluate(TO_DARK)
        page.wait_for_function("document.body.dataset.jpThemeLight === 'false'")
        page.wait_for_timeout(1000)
        pictures["dark"] = take(page, "dark")
    if os.environ.get("DPPANDAS_PICTURE"):
        SHOWN.write_text(text, encoding="utf-8")
        for theme, picture in pictures.items():
            (STATIC / f"notebook-{theme}.png").write_bytes(picture)
    assert text == SHOWN.read_text(encoding="utf-8"), "take it anew: see above"
