"""Where lines of a page may end: not between a formula and the signs around it, and in code and
tables where a reader would end one, which is not in the middle of a word."""

from __future__ import annotations

import re

_FORMULA = re.compile(
    r"""(?P<before>(?:[(\["]|&quot;)*)"""
    r"(?P<formula><math\b.*?</math>)"
    r"""(?P<after>(?:[.,;:!?)\]"’-]|&quot;)*)""",
    re.DOTALL,
)
_TABLE = re.compile(r'<table class="(?:docutils|autosummary).*?</table>', re.DOTALL)
_TEXT = re.compile(r"(?<=>)[^<]+")
_CODE = re.compile(r'(?<=<span class="pre">)[^<]{16,}')
#: In long code: before the dot of a name, and before what is in brackets or follows a slash or
#: equals sign. There and in tables: within names that are too long for a column or a phone.
_BREAK = re.compile(r"(?<=[^\s.]{3})(?=\.[A-Za-z_])|(?<=[(/=])(?=[A-Za-z]{2}|&)")
_LONG = re.compile(r"\b[A-Za-z_]{16,}\b")


def _kept(found: re.Match[str]) -> str:
    if not (found["before"] or found["after"]):
        return found[0]
    return f'<span class="unbroken">{found[0]}</span>'


def _in_name(name: re.Match[str]) -> str:
    return re.sub("_(?=[A-Za-z])", "_<wbr>", name[0])


def _in_code(code: re.Match[str]) -> str:
    return _LONG.sub(_in_name, _BREAK.sub("<wbr>", code[0]))


def _in_table(table: re.Match[str]) -> str:
    return _TEXT.sub(lambda text: _LONG.sub(_in_name, text[0]), table[0])


def with_breaks(page: str) -> str:
    """The page's HTML, with its lines ending well."""
    return _TABLE.sub(_in_table, _CODE.sub(_in_code, _FORMULA.sub(_kept, page)))
