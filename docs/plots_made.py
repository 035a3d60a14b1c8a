"""Draws the pictures of docs/plots, each by the code of its own page.

``python docs/plots_made.py`` draws them anew, with the answers that are in docs/plots/ledgers: each
for both grounds, and those of the README for either, too.
A test says whether the words and numbers of the pictures are still those that their code gives.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.text import Text

import dppandas as dp
from dppandas.ledger import marimo

HERE = Path(__file__).parent / "plots"
SHOWN = HERE / "shown.json"
LEDGERS = HERE / "ledgers"
NUMBER = re.compile(r"-?[\d,.]+( %)?")
#: A picture for each ground, in a page that takes that of its reader.
OF_GROUNDS = re.compile(r"docs/plots/(\w+)-(?:light|dark)\.png")
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def drawn(ledgers: Path) -> Iterator[tuple[str, Any]]:
    """The figure of each page, with the answers of its ledger in this folder."""
    for page in sorted(HERE.glob("*.md")):
        dp.reset()
        dp.session(epsilon=2, store=ledgers / f"{page.stem}.ledger")
        exec(compile(CODE.findall(page.read_text("utf-8"))[0], str(page), "exec"), {})
        yield page.stem, plt.gcf()
        plt.close("all")
    dp.reset()


def words(figure: Any) -> list[str]:
    """What is written in a figure but numbers of ticks, which are matplotlib's to choose; and where
    its first lines are."""
    texts = [each.get_text().strip() for each in figure.findobj(Text)]
    numbers = [
        f"{x:.6g} {y:.6g}"
        for axes in figure.axes
        for line in axes.lines[:12]
        for x, y in zip(*map(list, line.get_data(orig=False)), strict=True)
    ]
    return [text for text in texts if text and not NUMBER.fullmatch(text)] + numbers[:60]


def save(figure: Any, name: str) -> None:
    figure.savefig(HERE / f"{name}.png", dpi=140, metadata={"Software": None})


def main() -> None:
    """All pictures, and what they show."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder
        shown = {}
        for name, figure in drawn(LEDGERS):
            shown[name] = words(figure)
            save(figure, name)
        chosen = {*OF_GROUNDS.findall((HERE.parents[1] / "README.md").read_text("utf-8"))}
        for ground in ("light", "dark"):
            with mock.patch.object(marimo, "ground", lambda ground=ground: ground):
                for name, figure in drawn(LEDGERS):
                    if name in chosen:
                        save(figure, f"{name}-{ground}")
    for ledger in LEDGERS.glob("*.ledger"):
        with contextlib.closing(sqlite3.connect(ledger)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    SHOWN.write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
