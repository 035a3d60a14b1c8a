"""What axe finds wrong with pages of the theme and of pandas, mended in the pages that were built.

Headings of the side bar have no level, its landmarks no names, pictures of notebooks are called
like their files, and tables that pandas shows begin with a heading cell that is empty. What scrolls
must be reached by keyboard: that only a browser knows, so `_static/site.js` does it.
"""

from __future__ import annotations

import re
from pathlib import Path

from dark_pictures import marked
from line_breaks import with_breaks
from sphinx.application import Sphinx

_MENDED = (
    (re.compile(r'(<p class="caption" role="heading")(?! aria-level)'), r'\1 aria-level="2"'),
    (
        re.compile(r'<aside class="sidebar-drawer">'),
        '<aside class="sidebar-drawer" aria-label="Site">',
    ),
    (
        re.compile(r'<aside class="(toc-drawer[^"]*)">'),
        r'<aside class="\1" aria-label="This page">',
    ),
    (re.compile(r'\balt="(?:\.\./)*_images/[^"]*"'), 'alt="Drawn by the code above"'),
    (re.compile(r"<th(?: [^>]*)?>\s*(?:<p>\s*</p>)?\s*</th>"), "<td></td>"),
)


def mend_pages(app: Sphinx, failure: Exception | None) -> None:
    """All pages of a site, once it is built."""
    if failure is not None:
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text("utf-8")
        mended = marked(with_breaks(text), page)
        for wrong, right in _MENDED:
            mended = wrong.sub(right, mended)
        if mended != text:
            page.write_text(mended, "utf-8")
