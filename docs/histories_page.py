"""Writes what the blocks of docs/histories.md print below them.

``python docs/histories_page.py`` runs the page. Our answers differ each time, pandas' don't.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parent / "histories.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def printed(text: str) -> list[str]:
    """What the page says that its blocks print."""
    return [found[2] or "" for found in _BLOCK.finditer(text)]


def outputs(text: str) -> list[str]:
    """What its blocks print now."""
    namespace: dict[str, object] = {}
    found = []
    for block in _BLOCK.finditer(text):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(block[1], str(PAGE), "exec"), namespace)
        found.append("".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines()))
    return found


def page(text: str, outputs: list[str]) -> str:
    """The page with these outputs."""
    each = iter(outputs)

    def with_output(block: re.Match[str]) -> str:
        out = next(each)
        return f"```python\n{block[1]}```\n" + (f"\n```text\n{out}```\n" if out else "")

    return _BLOCK.sub(with_output, text)


def of_pandas(output: str) -> list[list[str]]:
    """What pandas says in an output: all but ours and its error; or what a line begins with."""
    lines = [line.split() for line in output.splitlines()]
    is_table = bool(lines) and "pandas" in lines[0]
    return [line[:-2] if is_table else line[:1] for line in lines]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page(text, outputs(text)), encoding="utf-8")
