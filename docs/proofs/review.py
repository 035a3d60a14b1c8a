"""Keeps proofs honest: which source each page was read against.

``python docs/proofs/review.py`` lists the pages whose functions have changed since; after reading
a proof against the code again, ``python docs/proofs/review.py counts means`` notes the source of
today, and the commit. A test fails while a page is outdated.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

#: In place of a digest.
GONE = "gone"
#: The last section of a page: a list of names, each with a commit and a digest.
HEADING = "## Read against\n\n"
HERE = Path(__file__).parent
NAME = re.compile(r"`(dppandas[\w.]+)`(?: \((\w+), (\w+)\))?")


def found(dotted: str) -> Any:
    """The function or class of a dotted name; None if it is gone."""
    parts = dotted.split(".")
    for i in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:i]))
        except ImportError:
            continue
        for name in parts[i:]:
            thing = getattr(thing, name, None)
        return thing
    raise LookupError(dotted)


def digest(dotted: str) -> str:
    """Of the source without comments, docstrings and blank lines."""
    if (thing := found(dotted)) is None:
        return GONE
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))
    said: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            first = body[0]
            if isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                said.update(range(first.lineno, (first.end_lineno or 0) + 1))
    lines = [line.strip() for i, line in enumerate(source.splitlines(), 1) if i not in said]
    text = "\n".join(line for line in lines if line and not line.startswith("#"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def covers(page: Path) -> tuple[str, str]:
    """The text of a page before its last section, and the list there."""
    before, names = page.read_text(encoding="utf-8").split(HEADING)
    return before, names


def outdated(page: Path) -> list[str]:
    """The functions of a page that aren't those it was read against."""
    names = [(name, noted, digest(name)) for name, _, noted in NAME.findall(covers(page)[1])]
    return [name for name, noted, now in names if now == GONE or noted != now]


def review(page: Path, commit: str) -> None:
    """Note that a page was read against the source of today."""
    before, names = covers(page)
    lines = []
    for name, old, noted in NAME.findall(names):
        now = digest(name)
        lines.append(f"- `{name}` ({old if noted == now else commit}, {now})\n")
    page.write_text(f"{before}{HEADING}{''.join(lines)}", encoding="utf-8")


def main(names: list[str]) -> None:
    head = ["git", "rev-parse", "--short=7", "HEAD"]
    commit = subprocess.run(head, cwd=HERE, capture_output=True, text=True, check=True).stdout
    for page in sorted(HERE.glob("*.md")):
        if page.stem in names or "all" in names:
            review(page, commit.strip())
        for name in outdated(page):
            print(f"{page.name}: {name} has changed or is gone; read the proof again")


if __name__ == "__main__":
    main(sys.argv[1:])
