"""Every entry of the reference has an example, and all of them run and say what they show."""

import doctest
import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from documented import all_documented

import dppandas as dp

ROOT = Path(__file__).parent.parent


def _examples() -> ModuleType:
    """The module that reads the examples; its folder is no package."""
    docs = str(ROOT / "docs")
    sys.path.insert(0, docs)
    try:
        return importlib.import_module("examples_of_reference")
    finally:
        sys.path.remove(docs)


examples: Any = _examples()
#: Long lines of results are broken where they are shown.
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SECTIONS = [section for file in examples.files() for section in examples.sections(file)]


def docstring(name: str) -> str:
    """What an entry says of itself."""
    found: Any = dp
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return inspect.getdoc(found) or ""


def of_docstrings() -> set[str]:
    """The entries whose docstrings have an example: test_docs.py runs these."""
    return {name for name in all_documented() if ">>>" in docstring(name)}


def test_every_entry_has_an_example() -> None:
    named = {name for section in SECTIONS for name in section.names}
    assert sorted(set(all_documented()) - of_docstrings() - named) == []


def test_every_section_names_entries_that_have_no_other_example() -> None:
    names = [name for each in SECTIONS for name in each.names if name != examples.SET_UP]
    assert sorted(set(names) - set(all_documented())) == []
    assert sorted(set(names) & of_docstrings()) == []
    assert len(names) == len(set(names))


def test_every_file_is_shown_by_a_page() -> None:
    """A file begins with its set-up, which the reference shows above the entries."""
    api = ROOT / "docs" / "api"
    pages = {page.stem for page in api.glob("*.rst")}
    rooms = dp.local, dp.models, dp.audit, dp.stats
    modules = {room.__name__.rpartition(".")[2] for room in rooms}
    for file in examples.files():
        assert file.stem in pages | modules, file.name
        headings = [section.names for section in examples.sections(file)]
        assert headings[0] == (examples.SET_UP,), file.name
        assert (examples.SET_UP,) not in headings[1:], file.name
        first = file.read_text(encoding="utf-8").splitlines()[0]
        assert first == f"# {examples.SET_UP}", file.name


def failures(section: Any) -> str:
    """What a section shows that isn't so, run from its set-up; "" if all of it is."""
    parser = doctest.DocTestParser()
    steps = parser.get_examples(section.text)
    is_set_up = section.names == (examples.SET_UP,)
    before = [] if is_set_up else parser.get_examples(examples.set_up(section.file.stem))
    name = f"{section.file.name}: {section.names[0]}"
    test = doctest.DocTest([*before, *steps], {}, name, str(section.file), section.line, None)
    said: list[str] = []
    dp.reset()
    try:
        doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(test, out=said.append)
    finally:
        dp.reset()
    return "".join(said)


@pytest.mark.filterwarnings("ignore::UserWarning")  # which come with some answers
@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: f"{s.file.stem}-{s.names[0]}")
def test_an_example_runs(section: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)  # it may write files
    steps = doctest.DocTestParser().get_examples(section.text)
    assert steps, "a section without an example"
    is_set_up = section.names == (examples.SET_UP,)
    assert is_set_up or any(step.want for step in steps), "an example that shows nothing"
    assert max(map(len, section.text.splitlines())) <= 88, "a page would cut a longer line"
    assert failures(section) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (">>> people.columns.tolist()\n['age']", "Expected"),
        (">>> people.iloc[0]\n0", "UnsupportedVerb"),
        (">>> people.count(epsilon=0.5).error()", "Expected nothing"),
    ],
)
def test_an_example_that_is_wrong_fails(text: str, said: str) -> None:
    file = examples.FOLDER / "PrivateFrame.txt"
    assert said in failures(examples.Section(file, 1, ("wrong",), text))


def test_the_reference_shows_an_example_where_the_docstring_has_none() -> None:
    name = "dppandas.types.PrivateSeries.abs"
    assert ">>> (wage - 2000).abs()" in examples.shown_example(name, ["Absolute values."])
    assert examples.shown_example(name, ["Absolute values.", "", ">>> abs(age)"]) == []
    assert examples.shown_example("dppandas.types.PrivateSeries.nothing", ["?"]) == []
    assert ">>> people = " in examples.shown_set_up("PrivateSeries")
    assert examples.shown_set_up("nothing") == ""
