"""The examples of the reference: docs/api/examples/*.txt, for entries whose docstrings have none.

A file belongs to what the reference shows together: a page, or a module. Lines that begin with
``#`` head its sections and name the entries that a section is an example of, as ``dp.types``,
``dp.errors`` and so on have them: ``# PrivateFrame.isna, PrivateFrame.isnull``. The first section
is headed ``# set-up``. It is shown once, above the others, which go on from there.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "api" / "examples"
#: Where the names of headings are looked for, from the top.
MODULES = (
    "dppandas.errors", "dppandas.types", "dppandas", "dppandas.local", "dppandas.models",
    "dppandas.stats",
)  # fmt: skip
SET_UP = "set-up"
SECTION = re.compile(r"^((?:# .*\n)+)((?:(?!# ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """An example in a file: the entries that it is of, in full, and its lines of doctest."""

    file: Path
    line: int
    names: tuple[str, ...]
    text: str


def full_name(name: str) -> str:
    """A name of a heading in full; as it is if nothing public has it."""
    first = name.partition(".")[0]
    modules = (m for m in MODULES if first in importlib.import_module(m).__all__)
    return ".".join(filter(None, (next(modules, ""), name)))


@cache
def sections(file: Path) -> tuple[Section, ...]:
    """The sections of a file, the set-up first."""
    text = file.read_text(encoding="utf-8")
    found = []
    for each in SECTION.finditer(text):
        heading = each[1].replace("\n", ",").replace("# ", "")
        names = [name.strip() for name in heading.split(",") if name.strip()]
        full = tuple(name if name == SET_UP else full_name(name) for name in names)
        line = text.count("\n", 0, each.start(2))
        found.append(Section(file, line, full, each[2].strip("\n")))
    return tuple(found)


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def set_up(stem: str) -> str:
    """What comes before each example of a page or module; "" if it has no file."""
    file = FOLDER / f"{stem}.txt"
    return sections(file)[0].text if file.exists() else ""


@cache
def _by_name() -> dict[str, str]:
    every = (section for file in files() for section in sections(file)[1:])
    return {name: section.text for section in every for name in section.names}


def example(name: str) -> str:
    """The example of an entry of the reference; "" if the files have none."""
    return _by_name().get(name, "")


def shown_set_up(stem: str) -> str:
    """The set-up of a page or module, as the reference shows it."""
    text = set_up(stem)
    return f"Examples that import nothing go on from these lines:\n\n{text}\n\n" if text else ""


def shown_example(name: str, docstring: list[str]) -> list[str]:
    """The example that the reference appends to a docstring without one of its own."""
    text = "" if any(">>>" in line for line in docstring) else example(name)
    return ["", *text.splitlines(), ""] if text else []
