"""Pictures of notebooks that were painted on white: found in the pages that were built, so that the
dark scheme can turn them. Those of dp.plot have no ground, and need nothing."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path

_PICTURE = re.compile(r'<img (?=[^>]*\bsrc="(?P<file>[^":]*_images/[^"]*\.png)")(?![^>]*\bclass=)')
_COLOURED, _WITH_ALPHA = 2, 6


def on_white(file: Path) -> bool:
    """Whether a PNG of 8 bits begins with an opaque white pixel."""
    data = file.read_bytes()
    bits, kind = struct.unpack(">BB", data[24:26])
    if bits != 8 or kind not in (_COLOURED, _WITH_ALPHA):
        return False
    at, packed = 8, b""
    while at < len(data) and not packed:
        (length,), name = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        packed = data[at + 8 : at + 8 + length] if name == b"IDAT" else b""
        at += 12 + length
    size = 3 if kind == _COLOURED else 4  # a filter's byte, then the first pixel as it is
    return zlib.decompressobj().decompress(packed, 1 + size)[1:] == b"\xff" * size


def marked(text: str, page: Path) -> str:
    """The page's HTML, with a class on pictures that stand on white."""

    def mark(found: re.Match[str]) -> str:
        white = on_white(page.parent / found["file"])
        return '<img class="on-white" ' if white else found[0]

    return _PICTURE.sub(mark, text)
