"""Writes docs/gallery.md: analyses in plain pandas, and what changes where they are private.

``python docs/gallery_pages.py`` makes it anew from notebooks/gallery, in which two cells of each
notebook are tagged "plain" and "private".
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

import nbformat

PAGE = Path(__file__).parent / "gallery.md"
NOTEBOOKS = Path(__file__).parent.parent / "notebooks" / "gallery"
#: The most lines of an analysis that may differ.
MOST = 1 / 3

INTRO = """\
# Twelve analyses

Twelve analyses in plain pandas, and what changes to make them private: lines that begin with - are
the plain ones, those with + the private ones. What is added is a name for the data, what is
publicly known about it, and a loss for each answer; in the trial also an interval for the
population that the men are a sample of. A test checks that at most a third of the lines differ. The
notebooks are in `notebooks/gallery`, on data that come with packages; `pip install ".[gallery]"`
installs these. (`python docs/gallery_pages.py` writes this page.)

What a person did before, as retention, sessions or payments by day need it, is on a page of its
own: [one person's history](histories.md), with pandas' answers beside ours.
"""


@dataclass(frozen=True)
class Analysis:
    """A notebook: its title, what it asks, and the same cell twice."""

    name: str
    title: str
    asks: str
    plain: str
    private: str

    @classmethod
    def read(cls, path: Path) -> Analysis:
        book = nbformat.read(path, as_version=4)
        heading, _, asks = book.cells[0].source.partition("\n")
        by_tag = {tag: c.source for c in book.cells for tag in c.metadata.get("tags", [])}
        title = heading.lstrip("# ")
        return cls(path.stem, title, asks.strip(), by_tag["plain"], by_tag["private"])

    def differences(self) -> list[str]:
        """The unified diff, with all lines."""
        both = self.plain.splitlines(), self.private.splitlines()
        found = list(difflib.unified_diff(*both, lineterm="", n=1000))
        return [line.rstrip() for line in found[3:]]

    def changed(self) -> tuple[int, int]:
        """How many lines of the private analysis aren't those of the plain one, and of how many."""
        new = sum(line.startswith("+") for line in self.differences())
        return new, len(self.private.splitlines())

    def section(self) -> str:
        new, of = self.changed()
        diff = "\n".join(self.differences())
        return (
            f"## {self.title}\n\n{self.asks}\n\n{new} of {of} lines differ "
            f"([the notebook](../notebooks/gallery/{self.name}.ipynb)).\n\n```diff\n{diff}\n```\n"
        )


def analyses() -> list[Analysis]:
    return [Analysis.read(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))]


def page() -> str:
    """The page."""
    return "\n".join([INTRO, *(each.section() for each in analyses())])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
