"""Labels one slip away from declared ones: refused before the charge, by public words alone."""

from collections.abc import Callable
from typing import Any

import pandas as pd
from notes import noted
from refusals import refusal

import dppandas as dp
from dppandas.rows.facts.misspelt import MOST_KNOWN, is_slip, misspelt

CITIES = ["Oslo", "Bergen", "Rome"]
ROWS = pd.DataFrame(
    {"city": CITIES * 100, "age": [20, 30, 40] * 100, "zip": ["10", "11", "12"] * 100}
)
DOMAIN = {"city": CITIES, "age": (0, 100), "zip": ["10", "11"]}

#: What asks for a label, by each way in which a call can name one.
ASKS: dict[str, Callable[[Any, str], Any]] = {
    "value_counts": lambda p, label: p["city"].value_counts(keys=["Oslo", label], epsilon=1),
    "of a frame": lambda p, label: p.value_counts(["city"], keys=["Oslo", label], epsilon=1),
    "groupby": lambda p, label: p.groupby("city", keys=["Oslo", label]).size(epsilon=1),
    "by name": lambda p, label: p.groupby(["city", "zip"], keys={"city": [label]}).size(epsilon=1),
    "mean": lambda p, label: p.groupby("city", keys=[label])["age"].mean(epsilon=1),
    "nunique": lambda p, label: p["city"].nunique(keys=[label], epsilon=1),
    "idxmax": lambda p, label: p["city"].value_counts(keys=["Oslo", label]).idxmax(epsilon=1),
    "crosstab": lambda p, label: p.crosstab("city", "zip", keys={"city": [label]}, epsilon=1),
    "partition": lambda p, label: p.partition("city", keys=[label])[label].count(epsilon=1),
    "query": lambda p, label: p.query(f"city == {label!r}").count(epsilon=1),
    "a mask": lambda p, label: p[p["city"] != label].count(epsilon=1),
    "isin": lambda p, label: (p["city"].isin(["Oslo", label])).mean(epsilon=1),
    "map": lambda p, label: p["city"].map({"Oslo": 1, label: 2}).sum(bounds=(0, 2), epsilon=1),
}


def test_a_misspelt_label_is_refused_before_the_charge() -> None:
    dp.session(epsilon=100)
    p = dp.protect(ROWS.copy(), name="p", domain=DOMAIN)
    for name, ask in ASKS.items():
        with noted(name):
            said = refusal(lambda ask=ask: ask(p, "Bregen"), "Did you mean 'Bergen'")
            assert "isn't among the declared keys of city" in said
            if name not in ("partition", "query", "a mask", "isin", "map"):  # in the question
                assert "Bregen" not in said  # keys may have been read from a column
    with dp.preview():
        refusal(lambda: ASKS["query"](p, "bergen"), "Did you mean 'Bergen'")
    assert dp.ledger().spent == 0


def test_other_labels_are_answered() -> None:
    dp.session(epsilon=100)
    p = dp.protect(ROWS.copy(), name="p", domain=DOMAIN)
    for name, ask in ASKS.items():
        with noted(name):
            ask(p, "Bergen")  # a declared one
            ask(p, "Trondheim")  # like none of them
    p["city"].value_counts(keys=["Bergen", "Bregen"], epsilon=1)  # who names both means both
    p["zip"].value_counts(keys=["10", "12"], epsilon=1)
    ROWS.copy().dp["city"].value_counts(keys=["Oslo", "Bregen"], epsilon=1)  # nothing is declared


def test_only_what_would_be_charged_is_refused() -> None:
    """What was answered before replays, also if a later version would refuse it."""
    dp.session(epsilon=100)
    p = dp.protect(ROWS.copy(), name="p")
    first = p["city"].value_counts(keys=["Oslo", "Bregen"], epsilon=1)
    declared = p.declare(city=CITIES)
    again = declared["city"].value_counts(keys=["Oslo", "Bregen"], epsilon=1)
    assert (again.tolist(), dp.ledger().spent) == (first.tolist(), 1)
    refusal(lambda: declared["city"].value_counts(keys=["Oslo", "Bregen"], epsilon=2), "Bergen")


def test_what_a_slip_is() -> None:
    slips = [("Bregen", "Bergen"), ("Olso", "Oslo"), ("oslo", "Oslo"), (" Rome", "Rome"),
             ("Romee", "Rome"), ("Rme", "Rome"), ("Ramesh", "Ramish"), ("yes", "Yes")]  # fmt: skip
    for one, other in slips:
        with noted(one, other):
            assert is_slip(one, other) == (min(len(one), len(other)) >= 4 or one == "yes")
            assert is_slip(other, one) == is_slip(one, other)
    for one, other in [("men", "women"), ("male", "female"), ("2021", "2022"), ("A-10", "A-11"),
                       ("cat", "bat"), ("Oslo", "Rome"), ("Bnerge", "Bergen")]:  # fmt: skip
        with noted(one, other):
            assert (is_slip(one, other), is_slip(other, one)) == (False, False)
    assert misspelt([1, "Bregen", None], ["Bergen", 2]) == ("Bregen", "Bergen")
    assert misspelt(["Bregen"], ["Bergen"] * (MOST_KNOWN + 1)) is None
