"""The documents run, their links lead somewhere, and every statistic has its proof."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import dppandas
from dppandas.mechanisms import DiscreteLaplace, PermuteAndFlip
from dppandas.statistics import REGISTRY

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def modules() -> list[ModuleType]:
    names = [m.name for m in pkgutil.walk_packages(dppandas.__path__, "dppandas.")]
    return [dppandas, *map(importlib.import_module, names)]


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text())


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_every_block_of_a_page_runs(page: Path) -> None:
    namespace: dict[str, object] = {}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("module", modules(), ids=lambda m: m.__name__)
def test_doctests(module: ModuleType) -> None:
    tests = doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in tests:
        dppandas.reset()
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_examples_do_not_silently_vanish() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for m in modules() for test in finder.find(m, m.__name__) if test.examples]
    assert len(found) >= 14
    assert sum(len(blocks(page)) for page in PAGES) >= 6


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_pages_name_no_machine() -> None:
    for page in PAGES:
        assert not re.search(r"(/work|/root|/home|/tmp)/|pypi\.org|debian\.org", page.read_text())


def test_every_statistic_and_mechanism_has_a_row_and_a_proof() -> None:
    table = (ROOT / "docs" / "operations.md").read_text()
    proofs = "".join(p.read_text() for p in (ROOT / "docs" / "proofs").glob("*.md"))
    for each in [*REGISTRY, DiscreteLaplace, PermuteAndFlip]:
        assert f"`{each.__name__}`" in table
        assert f"`{each.__module__}.{each.__name__}`" in proofs


def test_proofs_cover_names_that_exist() -> None:
    for page in (ROOT / "docs" / "proofs").glob("*.md"):
        covers = page.read_text().split("Covers: ")[1].split("\n\n")[0]
        for dotted in re.findall(r"`(dppandas[\w.]+)`", covers):
            module, *names = _split(dotted)
            thing: object = importlib.import_module(module)
            for name in names:
                thing = getattr(thing, name)


def _split(dotted: str) -> list[str]:
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        try:
            importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        return [".".join(parts[:end]), *parts[end:]]
    raise LookupError(dotted)


def test_readme_begins_with_the_commands_and_a_short_example() -> None:
    text = (ROOT / "README.md").read_text()
    assert text.index("make demo") < text.index("make test") < text.index("make lab")
    example = blocks(ROOT / "README.md")[0]
    assert len(example.strip().splitlines()) <= 16
    assert text.index("make lab") < text.index(example)
    ast.parse(example)
