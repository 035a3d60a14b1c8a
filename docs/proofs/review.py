"""Keeps proofs honest: which source each page was read against.

``python docs/proofs/review.py`` lists the pages whose functions have changed since; after reading
a proof against the code again, ``python docs/proofs/review.py counts means`` notes the source of
today, and the commit. A test fails while a page is outdated.

What is compared is the syntax, without comments, docstrings and layout. A name that is another
one now is read as it was (`RENAMED`), so that no proof has to be read again for it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import json
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
#: Names in the package that proofs were read with, and what they are now. No old name may still be
#: one of anything else, or two different functions would be read alike: a test looks for it.
RENAMED: dict[str, str] = {"_Tail": "SumTail"}
WAS = {now: was for was, now in RENAMED.items()}
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
    """Of the syntax, with names as they were."""
    if (thing := found(dotted)) is None:
        return GONE
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(thing)))
    syntax = json.dumps(plain(ast.parse(source)))
    return hashlib.sha256(syntax.encode()).hexdigest()[:12]


def plain(node: object) -> Any:
    """The same for every version of Python: fields that are empty are left out, as newer versions
    add some."""
    if isinstance(node, ast.Constant):
        return [type(node.value).__name__, repr(node.value)]
    if isinstance(node, ast.AST):
        fields = dict(ast.iter_fields(node))
        if "body" in fields and is_docstring(fields["body"]):
            fields["body"] = fields["body"][1:]
        kept = {name: plain(each) for name, each in fields.items() if each not in (None, [])}
        return [type(node).__name__, {k: v for k, v in kept.items() if k not in ("ctx", "kind")}]
    if isinstance(node, list):
        return [plain(each) for each in node]
    return WAS.get(node, node) if isinstance(node, str) else node


def is_docstring(body: object) -> bool:
    """Whether a body begins with a text."""
    first = body[0] if isinstance(body, list) and body else None
    value = first.value if isinstance(first, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def names_in(tree: ast.AST) -> set[str]:
    """All that is a name in some code: of functions, variables, attributes and arguments."""
    fields = (value for node in ast.walk(tree) for _, value in ast.iter_fields(node)
              if not isinstance(node, ast.Constant))  # fmt: skip
    listed = (each for value in fields for each in (value if isinstance(value, list) else [value]))
    return {each for each in listed if isinstance(each, str)}


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
