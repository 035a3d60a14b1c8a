"""Writes the tables of docs/operations.md that say how each operation is answered.

Their rows stand in the front matter of the proof pages: under `operations`, and under `responses`
those of the local model. ``python docs/operations_table.py`` makes the tables anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
PAGE = HERE / "operations.md"
FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
#: The columns of each table, and the field of a row that a column shows.
TABLES: dict[str, dict[str, str]] = {
    "operations": {
        "operation": "operation", "kernel": "kernel", "sensitivity": "sensitivity",
        "mechanism": "mechanism", "error known before": "known", "proof": "proof",
        "lecture": "lecture",
    },
    "responses": {
        "operation": "operation", "a response": "response", "error known before": "known",
        "proof": "proof", "lecture": "lecture",
    },
}  # fmt: skip


def front_matter(page: Path) -> dict[str, Any]:
    """What a page says of itself before its title."""
    found = FRONT.match(page.read_text(encoding="utf-8"))
    said: dict[str, Any] = yaml.safe_load(found[1]) if found else {}
    return said


def rows(table: str) -> Iterator[dict[str, str]]:
    """Of all proof pages, in the order of their names. A row links its own page, and those that
    are named under `also`; unless it says `proof` itself."""
    for page in sorted((HERE / "proofs").glob("*.md")):
        for row in front_matter(page).get(table, []):
            pages = [page.stem, *row.pop("also", [])]
            yield {"proof": ", ".join(f"[{name}](proofs/{name}.md)" for name in pages), **row}


def made(table: str) -> str:
    columns = TABLES[table]
    lines = [line([*columns]), f"|{'---|' * len(columns)}\n"]
    for row in rows(table):
        if unknown := row.keys() - {*columns.values()}:
            raise ValueError(f"no column for {unknown} of {row['operation']}")
        lines.append(line([row.get(field, "") for field in columns.values()]))
    return "".join(lines)


def line(cells: list[str]) -> str:
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|\n"


def page(text: str) -> str:
    """The page with its tables made anew: each begins at its line of columns."""
    for table, columns in TABLES.items():
        before, found, after = text.partition(line([*columns]))
        if not found:
            raise ValueError(f"{PAGE.name} has no table of {table}")
        rest = re.sub(r"\A(\|.*\n)*", "", after)
        text = before + made(table) + rest
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
