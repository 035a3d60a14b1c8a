"""Facts can be added, none can contradict another, and what was asked before keeps its key."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp
from dppandas.display.notebook import whatif
from dppandas.errors import MissingArgument, SourceError
from dppandas.rows.facts.bounds import Bounds
from dppandas.rows.facts.keys import Keys


def table() -> pd.DataFrame:
    pay, sex = [1.5, 2.5, 3.5, 8.0], list("fmmf")
    return pd.DataFrame({"age": [20, 30, 40, 50] * 90, "my pay": pay * 90, "sex": sex * 90})


def protected(**domain: Any) -> Any:
    return dp.protect(table(), "people", domain=domain, version="1")


def facts(frame: Any) -> dict[Any, Any]:
    return dict(frame._table.source.domain)


SEXES = Keys(("f", "m"))
KEYS: dict[str, list[Any]] = {"age": [20, 30], "sex": ["f", "m"]}


# --- a notebook is run again ----------------------------------------------------------------------

NOTEBOOK = """
import json, sys
import pandas as pd
import dppandas as dp

df = pd.DataFrame({"age": [20, 30, 40, 50] * 90, "pay": [1.5, 2.5, 3.5, 8.0] * 90})

def run_all():
    dp.session(epsilon=20, store=sys.argv[1])                                 # cell 1
    people = dp.protect(df, "people", version="1", domain={"age": (0, 120)})  # cell 2
    first = people.describe(epsilon=2, bounds={"pay": (0, 50)})               # cell 3
    truths = people.sum(epsilon=1, bounds={"pay": (0, 9)})
    found = people["pay"].suggest_bounds(epsilon=4)                           # cell 4
    people = people.declare(pay=found)                                        # cell 5
    second = people.describe(epsilon=2)                                       # cell 6
    told = [first, truths, found, second]
    return [each.to_json(double_precision=15) for each in told], str(dp.ledger().spent)

for _ in range(2):
    print(json.dumps(run_all()))
"""


def test_a_notebook_that_learns_bounds_replays_every_cell(tmp_path: Path) -> None:
    def kernel() -> list[Any]:
        command = [sys.executable, "-W", "ignore", "-c", NOTEBOOK, str(tmp_path / "a.ledger")]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in ran.stdout.splitlines()]

    runs = [*kernel(), *kernel()]  # twice from the top in one kernel, and again in a new one
    assert len(runs) == 4
    assert runs[0][1] == "9"
    assert all(run == runs[0] for run in runs)


def test_a_frame_keeps_what_it_was_made_with() -> None:
    dp.session(strict=True)  # in which no dtype says that these are numbers
    plain = protected()
    asked = [plain[name].value_counts(keys=KEYS[name], epsilon=1) for name in KEYS]
    known = plain.declare(age=(0, 120), sex=["f", "m"])
    assert facts(plain) == {}
    assert facts(known) == {"age": Bounds(0, 120), "sex": SEXES}
    assert dp.ledger().spent == 2
    again = protected()  # the cell run again, after more was declared
    assert facts(again) == {}
    for name, before in zip(KEYS, asked, strict=True):
        assert again[name].value_counts(keys=KEYS[name], epsilon=1).equals(before)
    assert dp.ledger().spent == 2


@pytest.mark.parametrize(
    "domain", [{}, {"age": (0, 99)}, {"sex": ["f", "m"]}, {"age": (0, 99), "my pay": (0, 9)}]
)
def test_protect_gives_a_frame_with_just_the_facts_said(domain: dict[str, Any]) -> None:
    first = protected(age=(0, 99), sex=["f", "m"])
    again = protected(**domain)
    assert set(facts(again)) == set(domain)
    assert set(facts(first)) == {"age", "sex"}
    assert again._table.source == first._table.source
    assert again.count(epsilon=1) == first.count(epsilon=1)
    assert dp.ledger().spent == 1


# --- contradictions -------------------------------------------------------------------------------

ROADS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "protect": lambda frame, said: protected(**said),
    "declare": lambda frame, said: frame.declare(said),
    "declare by name": lambda frame, said: frame.declare(**said),
    "declare of rows": lambda frame, said: frame.query("age > 20")[["age", "sex"]].declare(said),
    "renamed": lambda frame, said: frame.rename(columns=str.upper).declare(
        {name.upper(): fact for name, fact in said.items()}
    ),
}


@pytest.mark.parametrize("then", ROADS)
@pytest.mark.parametrize("now", ROADS)
@pytest.mark.parametrize(
    ("one", "other"),
    [((0, 99), (0, 98)), ([1, 2], [2, 1]), ([1], [True]), ((0, 1), [0, 1]), ([1], ["1"])],
)
def test_a_contradiction_is_found_in_any_order(then: str, now: str, one: Any, other: Any) -> None:
    for first, second in ((one, other), (other, one)):
        dp.reset()
        frame = protected(sex=["f", "m"])
        frame.count(epsilon=1)
        ROADS[then](frame, {"age": first})
        ROADS[now](frame, {"age": first})
        for _ in range(2):
            said = {"sex": ["f", "m"], "age": second}
            with pytest.raises(SourceError, match=r"other terms: domain of 'age' was .*, is"):
                ROADS[now](frame, said)
        assert dp.ledger().spent == 1


def test_a_contradiction_quotes_no_label() -> None:
    """Which may have been read from a column."""
    frame = protected(sex=["secret"])
    for labels, said in ((["hidden"], "was 1 key, is others"), (["a", "hidden"], "is 2 keys")):
        with pytest.raises(SourceError, match=said) as refusal:
            frame.declare(sex=labels)
        assert "hidden" not in str(refusal.value)
        assert "secret" not in str(refusal.value)
    with pytest.raises(SourceError, match=r"was 0 to 1, is 0 to 1\.0000001"):
        frame.declare(age=(0, 1)).declare(age=(0, 1.0000001))


def test_a_refused_declaration_leaves_no_fact_behind() -> None:
    frame = protected(age=(0, 99))
    frame.count(epsilon=1)
    with pytest.raises(SourceError):
        frame.declare({"my pay": (0, 9), "sex": ["f", "m"], "age": (0, 98)})
    refusal(lambda: protected(sex=["f", "m"], age=(0, 98)), error=SourceError)
    frame.declare({"my pay": (0, 5), "sex": ["m", "f"]})


def test_a_preview_declares_nothing() -> None:
    """There an answer is made of nothing, and so is a fact that is made of it."""
    frame = protected()
    with dp.preview():
        frame.declare(age=(0, 7))["age"].mean(epsilon=1)
    frame.declare(age=(0, 99))
    assert dp.ledger().spent == 0


def test_sessions_know_nothing_of_each_others_facts() -> None:
    protected(age=(0, 99))
    dp.reset()
    assert facts(protected(age=(0, 98))) == {"age": Bounds(0, 98)}


# --- what can be declared -------------------------------------------------------------------------


def test_a_suggestion_is_a_fact() -> None:
    frame = protected()
    found = frame["age"].suggest_bounds(epsilon=20)
    assert facts(frame) == {}
    known = frame.declare(age=found)
    assert facts(known) == {"age": Bounds(found["lower"], found["upper"])}
    assert facts(protected(age=found)) == facts(known)
    assert 0 < known["age"].mean(epsilon=20) < 64


@pytest.mark.parametrize(("declare", "said"), [
    (lambda p: p.declare(nobody=(0, 1)), "isn't a column"),
    (lambda p: p.declare(age=(1, 0)), "lower first"),
    (lambda p: p.declare([("age", (0, 1))]), "must be a dict"),
    (lambda p: p.declare({"age": (0, 1)}, age=(0, 1)), "twice"),
    (lambda p: p.declare(sex="f"), "list of labels"),
    (lambda p: p.declare(age=p["age"]), "list of labels"),
    (lambda p: p.declare(sex=table()["sex"]), "twice"),
    (lambda p: p[["age"]].declare(sex=["f"]), "isn't a column"),
    (lambda p: p.assign(z=p["age"] * 2).declare(z=(0, 1)), r"\.clip\(0, 1\)"),
    (lambda p: p.assign(age=p["age"] * 2).declare(age=(0, 1)), "computed from"),
    (lambda p: p.assign(b=p["age"]).declare(b=(0, 1), age=(0, 2)), "contradicts"),
])  # fmt: skip
def test_what_is_no_fact_of_a_column_is_refused(declare: Any, said: str) -> None:
    frame = protected()
    refusal(lambda: declare(frame), said)
    assert dp.session()._sources["people"].facts.known == {}


def test_names_that_are_no_identifiers_and_names_of_arguments() -> None:
    df = pd.DataFrame({"my pay": [1], "facts": [2], "self": [3], 7: [4]})
    frame = dp.protect(df, "odd").declare({"my pay": (0, 9), 7: [1, 4]}, facts=(0, 1), self=(0, 2))
    said = {"my pay": Bounds(0, 9), "facts": Bounds(0, 1), "self": Bounds(0, 2)}
    assert facts(frame) == {**said, 7: Keys((1, 4))}
    assert facts(frame.declare()) == facts(frame)


def test_what_is_asserted_can_be_declared_too() -> None:
    frame = dp.private(table(), unit="row")
    assert frame.declare(age=(0, 99))["age"].mean(epsilon=20) < 99
    refusal(lambda: frame.declare(age=(0, 98)), error=SourceError)
    assert facts(dp.private(table(), unit="row").declare(age=(0, 98))) == {"age": Bounds(0, 98)}


def test_tables_of_units_have_facts_of_their_own() -> None:
    df = pd.DataFrame({"who": [1, 1, 2], "age": [3, 3, 4]})
    people = dp.protect(df, "p", "who", max_rows=2, domain={"age": (0, 99)})
    units = people.per_unit().agg(age=("age", "sum"))
    assert facts(units) == {}
    assert facts(units.declare(age=(0, 200))) == {"age": Bounds(0, 200)}
    assert facts(people.declare(age=(0, 99))) == {"age": Bounds(0, 99)}


# --- frames of differing facts --------------------------------------------------------------------


def test_concat_and_crosstab_join_the_facts_of_their_frames(exact: None) -> None:
    plain, aged, sexed = protected(), protected(age=(0, 99)), protected(sex=["f", "m"])
    both = {"age": Bounds(0, 99), "sex": SEXES}
    assert facts(dp.concat([plain, aged, sexed])) == both
    assert facts(dp.concat([sexed, aged])) == both
    assert dp.concat([plain, aged])["age"].mean(epsilon=1) == 35
    df = table()
    young = dp.crosstab(plain["age"] < 35, sexed["sex"].rename("s"), epsilon=1)
    assert young.to_numpy().tolist() == pd.crosstab(df["age"] < 35, df["sex"]).to_numpy().tolist()
    assert [facts(frame) for frame in (plain, aged)] == [{}, {"age": Bounds(0, 99)}]


def test_the_facts_of_the_frame_that_is_asked_hold() -> None:
    plain, aged = protected(), protected(age=(0, 99))
    for ask in (
        lambda one, other: (one["age"] - other["age"]).mean(),
        lambda one, other: one["age"].cov(other["age"]),
        lambda one, other: one.assign(z=other["age"])["z"].mean(),
        lambda one, other: one[other["age"] > 30]["age"].mean(),
    ):
        ask(aged, plain).release(epsilon=1)
        refusal(lambda ask=ask: ask(plain, aged), "bounds= is needed", MissingArgument)
    for _ in range(2):  # one expression, asked in turn by frames of other facts
        column = aged._columns["age"]
        assert column.bounds(aged._table.source.domain) == Bounds(0, 99)
        assert column.bounds(plain._table.source.domain) is None


def test_parts_are_the_same_whatever_is_declared() -> None:
    dp.session(epsilon=1)
    one = protected(sex=["f", "m"]).partition("sex")
    other = protected(sex=["f", "m"]).declare(age=(0, 99)).partition("sex")
    one["f"].count(epsilon=1)
    other["m"]["age"].mean(epsilon=1)
    assert dp.ledger().spent == 1


def test_a_split_serves_frames_of_differing_facts() -> None:
    plain, aged = protected(), protected(age=(0, 99))
    with dp.split(epsilon=1, into=2):
        plain.count()
        aged["age"].mean()
    assert dp.ledger().spent == 1


def test_what_an_epsilon_would_tell_is_shown_for_all_facts() -> None:
    protected(sex=["f", "m"]).declare(age=(0, 99))
    protected()
    offered = " ".join(whatif.offers(dp.session()))
    assert "mean of age in 0 to 99" in offered
    assert "value_counts of sex" in offered
