"""The lectures are a course: light pictures, exercises in order whose hidden solutions run, and
lines of code that fit on a page. Where each item of the lecture texts is taught is listed."""

import ast
import base64
import csv
import operator
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

import dppandas as dp

ROOT = Path(__file__).parent.parent
NOTEBOOKS = ROOT / "notebooks"
COURSE = sorted(NOTEBOOKS.glob("lecture_*.ipynb"))
ALL = sorted(NOTEBOOKS.rglob("*.ipynb"))
COLUMNS = 88
KILOBYTES = 40

lectures = pytest.mark.parametrize("path", COURSE, ids=lambda path: path.stem)


def cells(path: Path) -> list[nbformat.NotebookNode]:
    return list(nbformat.read(path, as_version=4).cells)


def sources(path: Path, kind: str = "markdown") -> list[str]:
    return [cell.source for cell in cells(path) if cell.cell_type == kind]


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return list(cell.metadata.get("tags", []))


def is_folded(cell: nbformat.NotebookNode) -> bool:
    """In JupyterLab, and on the docs site."""
    hidden = cell.metadata.get("jupyter", {}).get("source_hidden", False)
    return bool(hidden) and "hide-input" in tags(cell)


def pictures(path: Path) -> Iterator[bytes]:
    for cell in cells(path):
        for output in cell.get("outputs", []):
            if png := output.get("data", {}).get("image/png"):
                yield base64.b64decode(png)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_lines_of_code_fit_on_a_page(path: Path) -> None:
    lines = [line for source in sources(path, "code") for line in source.splitlines()]
    assert [line for line in lines if len(line) > COLUMNS] == []


@lectures
def test_it_has_pictures_and_they_are_light(path: Path) -> None:
    sizes = [len(png) / 1000 for png in pictures(path)]
    assert 0 < max(sizes) <= KILOBYTES


@lectures
def test_it_ends_with_exercises_whose_hidden_solutions_run(path: Path) -> None:
    """nbval runs them, as all cells: so what they assert holds."""
    book = cells(path)
    start = next(i for i, cell in enumerate(book) if cell.source.startswith("## Exercises"))
    questions = book[start + 1 :: 2]
    solutions = book[start + 2 :: 2]
    assert len(questions) == len(solutions) > 0
    lecture = path.stem[len("lecture_")]
    for question, solution in zip(questions, solutions, strict=True):
        number = re.match(r"\*\*Exercise (\d\.\d+)\.\*\* ", question.source)
        assert number
        assert number[1].startswith(f"{lecture}.")
        assert solution.cell_type == "code"
        assert solution.source.startswith(f"# Solution of exercise {number[1]}\n")
        assert "solution" in tags(solution)
        assert is_folded(solution)
        assert solution.metadata["jupyter"].get("outputs_hidden"), "what it prints gives it away"
        assert "assert " in solution.source


def test_exercises_are_numbered_through() -> None:
    numbers = [
        tuple(map(int, match.groups()))
        for path in COURSE
        for source in sources(path)
        if (match := re.match(r"\*\*Exercise (\d)\.(\d+)\.", source))
    ]
    assert numbers == sorted(set(numbers))
    for lecture in {first for first, _ in numbers}:
        found = [second for first, second in numbers if first == lecture]
        assert found == [*range(1, len(found) + 1)]


def test_folding_has_teeth() -> None:
    cell = nbformat.v4.new_code_cell("assert True")
    assert not is_folded(cell)
    cell.metadata = nbformat.from_dict({"jupyter": {"source_hidden": True}})
    assert not is_folded(cell)
    cell.metadata["tags"] = ["hide-input"]
    assert is_folded(cell)


# --- what the lecture texts name ----------------------------------------------------------------

ITEMS = list(csv.DictReader((ROOT / "docs" / "lectures.csv").open(encoding="utf-8")))
STATES = {"operation", "notebook code only", "mentioned", "missing"}


def headings(path: Path) -> set[str]:
    lines = [line for source in sources(path) for line in source.splitlines()]
    return {line.lstrip("#").strip() for line in lines if line.startswith("#")}


@pytest.fixture(scope="module")
def headings_of() -> dict[str, set[str]]:
    return {path.name: headings(path) for path in ALL}


def test_each_item_is_taught_where_the_list_says(headings_of: dict[str, set[str]]) -> None:
    lost = []
    for item in ITEMS:
        for place in filter(None, item["notebook"].split("; ")):
            page, _, heading = place.partition(" § ")
            if heading not in headings_of.get(page, ()) if heading else not (ROOT / page).exists():
                lost.append(place)
    assert lost == []


def test_each_proof_of_an_item_exists() -> None:
    proofs = {proof for item in ITEMS for proof in filter(None, item["proof"].split("; "))}
    assert [proof for proof in proofs if not (ROOT / proof).is_file()] == []


def test_each_operation_of_an_item_exists() -> None:
    """What it names of `dp` does, and the rest is Python."""
    assert {item["state"] for item in ITEMS} <= STATES
    unnamed = [i["item"] for i in ITEMS if i["state"] == "operation" and not i["operation"]]
    assert unnamed == []
    for item in ITEMS:
        for node in ast.walk(ast.parse(item["operation"])):
            if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("dp."):
                name = ast.unparse(node).removeprefix("dp.")
                if re.fullmatch(r"[\w.]+", name):
                    assert operator.attrgetter(name)(dp) is not None
