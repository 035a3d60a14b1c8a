"""The documents run, their links lead somewhere, and every statistic has its proof."""

import ast
import difflib
import doctest
import importlib
import pkgutil
import re
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from refusals import refusal
from scripts import script
from sizes import third

import dppandas
from dppandas.errors import UnsupportedVerb
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.privacy.mechanisms.quantiles import ExponentialQuantiles
from dppandas.privacy.mechanisms.selection import Exponential, PermuteAndFlip
from dppandas.statistics import every

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def modules() -> list[ModuleType]:
    names = [m.name for m in pkgutil.walk_packages(dppandas.__path__, "dppandas.")]
    return [dppandas, *map(importlib.import_module, names)]


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text())


@pytest.mark.sized
@pytest.mark.parametrize(
    "page",
    third([p for p in PAGES if blocks(p) and p.name != "histories.md"], 0),
    ids=lambda p: p.name,
)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)  # a page may write files
    namespace: dict[str, object] = {}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), namespace)


def questions(cell: str) -> list[str]:
    """The code in a cell of the table of questions: ``.name(…)`` is another method of what the
    first call asks, and … stands for the arguments of that call."""
    first, *others = re.findall(r"`([^`]+)`", cell)
    call = ast.parse(first, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    asked = ast.get_source_segment(first, call.func.value)
    arguments = first[len(ast.get_source_segment(first, call.func) or "") + 1 : -1]
    return [first, *(f"{asked}{o.replace('…', arguments)}" if o[0] == "." else o for o in others)]


@pytest.mark.filterwarnings("ignore:the smallest or largest value belongs to somebody")
def test_every_question_of_the_table_is_answered() -> None:
    page = ROOT / "docs" / "operations.md"
    namespace: dict[str, Any] = {}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), namespace)
    table = page.read_text().partition("| ask | get |")[2].partition("\n\n")[0]
    asked = [q for row in table.splitlines()[2:] for q in questions(row.split("|")[1])]
    assert len(asked) >= 40
    for question in asked:
        before = len(dppandas.ledger()._entries())
        eval(question, namespace)
        answers = len(dppandas.ledger()._entries()) - before  # a stored one is an entry, too
        assert bool(answers) == ("epsilon=" in question), question


def test_common_questions_are_answered_by_code() -> None:
    text = (ROOT / "docs" / "how_do_i.md").read_text()
    _, *answers = re.split(r"^### (.*\?)$", text, flags=re.MULTILINE)
    found = dict(zip(answers[::2], answers[1::2], strict=True))
    assert len(found) == text.count("\n### ") > 0
    assert [question for question, answer in found.items() if not BLOCK.search(answer)] == []


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


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_tests_that_are_named_are_there(page: Path) -> None:
    named = re.findall(r"\btests/[\w/]+\.py", page.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_pages_name_no_machine() -> None:
    for page in PAGES:
        assert not re.search(r"(/work|/root|/home|/tmp)/|pypi\.org|debian\.org", page.read_text())


def test_every_statistic_and_mechanism_has_a_row_and_a_proof() -> None:
    table = (ROOT / "docs" / "operations.md").read_text()
    proofs = "".join(p.read_text() for p in (ROOT / "docs" / "proofs").glob("*.md"))
    selections = [PermuteAndFlip, Exponential, ExponentialQuantiles]
    for each in [*every(), DiscreteLaplace, DiscreteGaussian, *selections]:
        assert f"`{each.__name__}`" in table
        assert f"`{each.__module__}.{each.__name__}`" in proofs


def test_every_operation_names_its_kernel_and_links_a_proof_of_it() -> None:
    table = (ROOT / "docs" / "operations.md").read_text().partition("| operation | kernel |")[2]
    named = set()
    for row in table.partition("\n\n")[0].splitlines()[2:]:
        kernel, pages = re.split(r"(?<!\\)\|", row)[2], re.findall(r"proofs/\w+\.md", row)
        proofs = "".join((ROOT / "docs" / page).read_text() for page in pages)
        for module, name in re.findall(r"`([\w.]+)` `(\w+)`", kernel):
            inside = "dppandas" if module.startswith("models") else "dppandas.statistics"
            assert f"`{inside}.{module}.{name}`" in proofs, row
            named.add(f"{inside}.{module}.{name}")
        assert kernel.strip()
    assert named == {f"{each.__module__}.{each.__name__}" for each in every()}


def _table() -> Any:
    return script("docs/operations_table.py")


def test_the_tables_of_operations_are_those_of_the_proof_pages() -> None:
    table = _table()
    text = table.PAGE.read_text(encoding="utf-8")
    assert table.page(text) == text, "run: python docs/operations_table.py"
    said = [table.front_matter(page) for page in PROOFS]
    assert {key for each in said for key in each} <= table.TABLES.keys()
    wrong = text.replace("| yes |", "| no |", 1)
    assert table.page(wrong) == text
    with pytest.raises(ValueError, match="has no table of operations"):
        table.page("# Operations")


# --- every name of pandas -------------------------------------------------------------------------


def _pandas_table() -> Any:
    return script("docs/pandas_table.py")


def test_most_uses_of_pandas_in_public_scripts_are_answered_or_row_wise() -> None:
    table = _pandas_table()
    distinct, uses, also = table.used(table.all_names())
    assert uses >= 0.75
    assert also >= 0.9
    assert distinct >= 0.5


def test_the_table_of_pandas_names_is_current() -> None:
    """Whatever pandas is installed: the names are those of the page."""
    table = _pandas_table()
    text = table.PAGE.read_text(encoding="utf-8")
    named = table.named_on(text)
    assert table.page(named) == text, "run: python docs/pandas_table.py"
    assert sum(map(len, named.values())) > 600


def test_every_name_of_pandas_is_offered_or_has_its_own_reason() -> None:
    table = _pandas_table()
    found = {
        (face.title, name): face.status(name)[0]
        for face in table.FACES
        for name in table.named_on(table.PAGE.read_text(encoding="utf-8"))[face.title]
    }
    assert [name for name, status in found.items() if status == table.UNKNOWN] == []


def test_what_the_table_says_of_a_name_is_what_a_user_sees() -> None:
    """Only where it isn't offered."""
    table = _pandas_table()
    for face in table.FACES:
        for name in table.named_on(table.PAGE.read_text(encoding="utf-8"))[face.title]:
            status, why, instead = face.status(name)
            if why:
                ask = partial(getattr, face.ours, name)
                said = refusal(ask, re.escape(why), UnsupportedVerb)
                assert instead in said
            assert bool(why) == (status in (table.RELEASED, table.REFUSED))


@pytest.mark.deep
def test_no_name_of_the_newest_pandas_is_new() -> None:
    """One that is new is refused in general words, and listed here: give it a reason or a method,
    and run docs/pandas_table.py."""
    table = _pandas_table()
    named = table.named_on(table.PAGE.read_text(encoding="utf-8"))
    new = [(f, name) for f in table.FACES for name in f.names() - named[f.title]]
    for face, name in new:
        if face.status(name)[0] == table.UNKNOWN:
            refusal(partial(getattr, face.ours, name), "They answer", UnsupportedVerb)
    assert [(face.title, name) for face, name in new] == []


PROOFS = sorted((ROOT / "docs" / "proofs").glob("*.md"))


def _review() -> Any:
    return script("docs/proofs/review.py")


@pytest.mark.parametrize("page", PROOFS, ids=lambda p: p.stem)
def test_no_proof_is_outdated(page: Path) -> None:
    """A function that changed since its proof was read against it: see docs/proofs/review.py."""
    assert _review().outdated(page) == []


def test_a_changed_function_makes_its_proof_outdated(monkeypatch: pytest.MonkeyPatch) -> None:
    review = _review()
    (page,) = (p for p in PROOFS if p.stem == "counts")
    for changed in (PermuteAndFlip, None):  # another, or gone
        monkeypatch.setattr(review, "found", lambda dotted, changed=changed: changed)
        assert "dppandas.statistics.counting.counts.Count" in review.outdated(page)


SOURCE = '''
def rounded(self, noisy: Ints, *, digits: int = 3) -> Floats:
    """To a public grid."""
    # why
    return self.to_grid(noisy, steps=helper(noisy), of=f"{digits!r} {noisy}")[::-1]
'''


def _digest(monkeypatch: pytest.MonkeyPatch, source: str, **renamed: str) -> str:
    """Of a function of this source, where names were others."""
    review = _review()
    monkeypatch.setattr(review, "WAS", {now: was for was, now in renamed.items()})
    monkeypatch.setattr(review, "found", lambda dotted: test_doctests)
    monkeypatch.setattr(review.inspect, "getsource", lambda thing: source)
    found: str = review.digest("f")
    return found


@pytest.mark.parametrize(
    "name", ["rounded", "self", "noisy", "digits", "to_grid", "steps", "helper", "Ints"]
)
def test_a_renamed_helper_leaves_a_proof_as_it_was(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed = re.sub(rf"\b{name}\b", "another", SOURCE)
    was = _digest(monkeypatch, SOURCE)
    assert _digest(monkeypatch, renamed, **{name: "another"}) == was
    assert _digest(monkeypatch, renamed) != was


@pytest.mark.parametrize(("old", "new"), [
    ("= 3", "= 2"), ("noisy, steps", "noisy, step"), ("to_grid", "helper"), ("::-1", "::1"),
    ("digits!r", "digits"), ("*, ", ""), ("return", "yield"),
])  # fmt: skip
def test_any_other_change_outdates_a_proof(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SOURCE.count(old) == 1
    changed = _digest(monkeypatch, SOURCE.replace(old, new), helper="another")
    assert changed != _digest(monkeypatch, SOURCE, helper="another")


def test_layout_comments_and_docstrings_outdate_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = SOURCE.replace('    """To a public grid."""\n    # why\n', "").replace(
        "(noisy, ", "(\n  noisy, "
    )
    assert plain.count("\n") == SOURCE.count("\n") - 1
    assert _digest(monkeypatch, plain) == _digest(monkeypatch, SOURCE)


def test_an_old_name_is_that_of_nothing_else() -> None:
    """Two functions that differ in such a name would be read alike."""
    review = _review()
    named = review.names_in(ast.parse(SOURCE))
    assert {"rounded", "self", "to_grid", "steps", "Ints", "noisy", "digits"} <= named
    paths = Path(dppandas.__file__).parent.rglob("*.py")
    named = {name for path in paths for name in review.names_in(ast.parse(path.read_text("utf-8")))}
    assert not review.RENAMED.keys() & named
    assert {*review.RENAMED.values()} <= named
    assert len(review.WAS) == len(review.RENAMED)


@pytest.mark.parametrize("page", PROOFS, ids=lambda p: p.stem)
def test_a_proof_states_its_claim_and_its_checks(page: Path) -> None:
    """In this order after the front matter, and the list at its end is all that follows."""
    text = _table().FRONT.sub("", page.read_text(encoding="utf-8"))
    parts = ("# ", "**Claim", "**Proof.", "**Checked by**", "## Read against\n\n- `dppandas.")
    places = [text.find(part) for part in parts]
    assert places == sorted(places)
    assert places[0] == 0
    names = _review().covers(page)[1].splitlines()
    assert all(_review().NAME.fullmatch(line.removeprefix("- ")) for line in names)


def test_a_review_notes_digests_and_leaves_the_rest_of_a_page(tmp_path: Path) -> None:
    review, page = _review(), tmp_path / "page.md"
    text = PROOFS[0].read_text(encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    review.review(page, "c0ffee0")
    assert page.read_text(encoding="utf-8") == text
    name, commit, noted = review.NAME.findall(review.covers(page)[1])[0]
    page.write_text(text.replace(noted, "0" * 12, 1), encoding="utf-8")
    assert review.outdated(page) == [name]
    review.review(page, "c0ffee0")
    assert page.read_text(encoding="utf-8") == text.replace(commit, "c0ffee0", 1)


def test_readme_begins_with_the_commands_and_an_example() -> None:
    text = (ROOT / "README.md").read_text()
    assert text.index("make demo") < text.index("make test") < text.index("make lab")
    assert text.index("make lab") < text.index(blocks(ROOT / "README.md")[0])


@pytest.mark.filterwarnings("error")  # such as pandas' of labels that don't fit
def test_the_page_of_histories_prints_what_pandas_says() -> None:
    """All blocks run. Ours differ each time, and are there."""
    page = script("docs/histories_page.py")
    text = page.PAGE.read_text("utf-8")
    now, then = page.outputs(text), page.printed(text)
    assert [*map(page.of_pandas, now)] == [*map(page.of_pandas, then)], (
        "run: python docs/histories_page.py"
    )
    assert sum(map(bool, now)) >= 10
    assert page.page(text, then) == text


def _gallery() -> Any:
    return script("docs/gallery_pages.py")


def test_the_page_of_analyses_is_that_of_their_notebooks() -> None:
    gallery = _gallery()
    assert gallery.page() == gallery.PAGE.read_text("utf-8"), "run: python docs/gallery_pages.py"
    assert len(gallery.analyses()) == 12


def test_private_analyses_are_the_plain_ones_but_for_what_privacy_takes() -> None:
    """At most a third of the lines differ. None that is gone was a line of its own: each comes back
    with a loss, keys or bounds, or by a function of ours in place of pandas'."""
    gallery = _gallery()
    takes = re.compile(r"epsilon=|keys=|bounds=|dp\.protect|dp\.cut|dp\.crosstab|dp\.difference")
    for each in gallery.analyses():
        new, of = each.changed()
        assert new <= of * gallery.MOST, each.name
        lines = each.differences()
        for gone in (line[1:] for line in lines if line.startswith("-")):
            near = difflib.get_close_matches(gone, [x[1:] for x in lines if x[:1] == "+"], 1, 0.3)
            assert near, gone
            assert takes.search(near[0]), gone
