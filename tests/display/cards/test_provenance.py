"""What a card says of where its answer comes from."""

import pickle
from collections.abc import Iterator
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

import dppandas as dp
from dppandas.display.cards import provenance
from dppandas.display.notebook import answers
from dppandas.ledger import cells
from dppandas.statistics.base import REGISTRY

PROOFS = Path(__file__).parents[3] / "docs" / "proofs"


def table() -> pd.DataFrame:
    return pd.DataFrame({"age": range(20, 92), "city": list("xyz") * 24})


def people(**more: Any) -> Any:
    domain = {"age": (0, 100), "city": list("xyz")}
    return dp.protect(table(), name="people", domain=domain, **more)


def told(answer: Any) -> dict[str, str]:
    return dict(provenance.facts(dp.record(answer)))


def test_the_facts_are_those_of_the_record() -> None:
    facts = told(people()["city"].value_counts(epsilon="0.1"))
    assert facts == {
        "question": "value_counts of city (3 keys)",
        "data": "source people (verified)",
        "noise": "discrete Laplace noise of each number of the answer: scale 10 rows, "
        "whole numbers",
        "guarantee": "ε = 0.1 for each row; ε = 0.2 if a unit's rows change",
        "proof": "docs/proofs/counts.md",
        "charged": "as release 1",
        "again, free": "the same call",
        "nearer": "dp.record(answer).refine(epsilon=0.1) spends that much more",
    }


def test_rows_that_nobody_can_compare_are_paid_for_again() -> None:
    facts = told(table().dp["city"].value_counts(keys=list("xyz"), epsilon="0.1"))
    assert facts["again"] == "the same call draws and pays anew"
    assert not {"again, free", "nearer"} & {*facts}


@pytest.fixture
def cell() -> Iterator[Any]:
    """``cell(n)`` runs the cell In [n] from now on."""
    running = [0]
    cells.attribute_to(lambda: running[0])
    yield partial(running.__setitem__, 0)
    cells.attribute_to(None)


def test_the_cell_that_paid_is_named_and_stays_so_when_it_is_answered_again(cell: Any) -> None:
    private = people()
    cell(3)
    first = private.count(epsilon="0.1")
    cell(7)
    other = private["age"].mean(epsilon="0.1")
    again = private.count(epsilon="0.1")
    said = [told(each)["charged"] for each in (first, other, again)]
    paid = "in cell [3], as release 1"
    assert said == [paid, "in cell [7], as release 2", paid]


def test_the_cell_of_an_answer_that_was_refined_is_the_last_one(cell: Any) -> None:
    private = people()
    cell(3)
    answer = private.count(epsilon="0.1")
    cell(4)
    refined = dp.record(answer).refine(epsilon="0.1")
    facts = dict(provenance.facts(dp.record(refined)))
    assert facts["charged"] == "in cell [4], as 2 releases, the last one 2"


def test_a_cell_of_another_kernel_is_told_as_such(cell: Any, tmp_path: Path) -> None:
    """Its number says nothing of the cells that are seen here."""
    cell(2)
    dp.session(epsilon=9, store=tmp_path / "a.ledger")
    count = people(version="1").count(epsilon="0.1")
    kept = pickle.dumps(dp.record(count))
    for theirs in (pickle.loads(kept), dp.record(count)):
        assert dict(provenance.facts(theirs))["charged"] == "in cell [2], as release 1"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(provenance, "kernel", lambda: "another process")
        facts = dict(provenance.facts(pickle.loads(kept)))
    assert facts["charged"] == "in cell [2] of another kernel, as release 1"


@pytest.mark.parametrize("loss", ["0.1", "1/3"])
def test_what_is_offered_can_be_run(loss: str) -> None:
    answer = people()["age"].mean(epsilon=loss)
    code = told(answer)["nearer"].partition(" spends")[0]
    eval(code, {"dp": dp, "answer": answer})
    assert dp.ledger().spent == 2 * dp.record(answer).epsilon


def test_what_was_chosen_offers_no_average() -> None:
    private = people()
    for answer in (private["age"].median(epsilon=1), private["city"].mode(epsilon=1)):
        facts = told(answer)
        assert "nearer" not in facts
        assert facts["mechanism"]


def test_a_preview_offers_nothing() -> None:
    with dp.preview():
        facts = told(people()["age"].mean(epsilon=1))
    assert not {"charged", "again", "again, free", "nearer"} & {*facts}


def test_the_scale_of_smooth_sensitivity_is_never_told() -> None:
    dp.session(experimental=True)
    answer = table().dp["age"].median(bounds=(0, 100), method="smooth", epsilon=1)
    assert told(answer)["noise"].endswith("in units of the private scale")


def test_many_releases_are_listed_up_to_a_number() -> None:
    private = table().dp
    means = private[["age"]].describe(bounds={"age": (0, 100)}, epsilon=1)
    facts = told(means)
    assert list(facts) == ["count, mean, std", "min, 25%, 50%, 75%, max"]
    assert all("ε = " in said for said in facts.values())


def test_every_statistic_names_a_page_that_proves_it() -> None:
    missing = [cls.__name__ for cls in REGISTRY
               if not (PROOFS / f"{getattr(cls, 'proof', None)}.md").exists()]  # fmt: skip
    assert missing == []


def test_a_notebook_shows_the_code_that_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = InteractiveShell.instance()
    cards = answers.Cards(shell)
    try:
        monkeypatch.setitem(shell.user_ns, "people", people())
        cards.on()
        counts = shell.user_ns["people"]["city"].value_counts(epsilon="0.5")
        html = shell.display_formatter.formatters["text/html"](counts)
    finally:
        cards.off()
        InteractiveShell.clear_instance()
    assert "<details" in html
    assert escape("people['city'].value_counts(epsilon=0.5)") in html
