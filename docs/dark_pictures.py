"""Pictures of notebooks that were painted on white: found in the pages that were built, so that the
dark scheme can turn them. Those of dp.plot have no ground, and need nothing."""

from __future__ import annotations

import re
from pathlib import Path

from PIL import Image

_PICTURE = re.compile(r'<img (?=[^>]*\bsrc="(?P<file>[^":]*_images/[^"]*\.png)")(?![^>]*\bclass=)')


def on_white(file: Path) -> bool:
    """Whether a picture begins with an opaque white pixel."""
    with Image.open(file) as picture:
        return picture.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)


def marked(text: str, page: Path) -> str:
    """The page's HTML, with a class on pictures that stand on white."""

    def mark(found: re.Match[str]) -> str:
        white = on_white(page.parent / found["file"])
        return '<img class="on-white" ' if white else found[0]

    return _PICTURE.sub(mark, text)
