"""What a card says of where its answer comes from."""

from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

import dppandas as dp
from dppandas.display.cards import provenance
from dppandas.display.notebook import answers
from dppandas.statistics.base import REGISTRY

PROOFS = Path(__file__).parents[3] / "docs" / "proofs"


def table() -> pd.DataFrame:
    return pd.DataFrame({"age": range(20, 92), "city": list("xyz") * 24})


def people() -> Any:
    domain = {"age": (0, 100), "city": list("xyz")}
    return dp.protect(table(), name="people", domain=domain)


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
        "again, free": "the same call",
        "nearer": "dp.record(answer).refine(epsilon=0.1) spends that much more",
    }


def test_rows_that_nobody_can_compare_are_paid_for_again() -> None:
    facts = told(table().dp["city"].value_counts(keys=list("xyz"), epsilon="0.1"))
    assert facts["again"] == "the same call draws and pays anew"
    assert not {"again, free", "nearer"} & {*facts}


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
    assert not {"again", "again, free", "nearer"} & {*facts}


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
