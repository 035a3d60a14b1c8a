"""What ``mechanism=`` names is done, or refused at no charge: every name of every question."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import operations as ops
import pandas as pd
import pytest
from ledgers import anew
from notes import noted
from refusals import charges, refusal
from sizes import size

import dppandas as dp
from dppandas.errors import QueryError
from dppandas.privacy.accounting.measures import NOISES, SELECTIONS

#: What records and ledgers call what a caller may name.
TITLES = {
    "laplace": "discrete Laplace", "gaussian": "discrete Gaussian",
    "exponential": "exponential", "permute_and_flip": "permute-and-flip",
}  # fmt: skip
BUDGETS: dict[str, dict[str, Any]] = {
    "ε": {"epsilon": 10**6},
    "ε and δ": {"epsilon": 10**6, "delta": "0.01"},
    "ρ": {"rho": 10**6, "delta": "1e-6", "delta_releases": "0.009"},
}
LOSSES: dict[str, list[dict[str, Any]]] = {
    "ε": [{"epsilon": 1}],
    "ε and δ": [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-8"}],
    "ρ": [{"rho": "0.1"}, {"epsilon": 1}, {"epsilon": 1, "delta": "1e-8"}],
}

Ask = Callable[..., Any]


def asked_later(ask: Callable[[Any], Any]) -> Ask:
    return lambda p, **ways: ask(p).release(**ways)


#: Whose counts are far from 0: a part of an answer that shows nothing but 0 could be computed, and
#: has no record.
CROWD = pd.DataFrame({"code": ops.CODES * 1000})

#: Selections, and answers of several releases, which have no question that waits.
AT_ONCE: dict[str, Ask] = {
    "idxmax of columns": lambda p, **ways: p[["yes", "no"]].idxmax(**ways),
    "idxmax of sums": lambda p, **ways: p[["number", "code"]].idxmax(bounds=ops.BOUNDS, **ways),
    "idxmax of counts": lambda p, **ways: (
        p["group"].value_counts(keys=ops.GROUPS).idxmax(**ways)),
    "top of columns": lambda p, **ways: p[["yes", "no"]].sum().nlargest(2, **ways),
    "top of counts": lambda p, **ways: (
        dp.protect(CROWD, "crowd", unit="row")["code"]
        .value_counts(keys=ops.CODES).nlargest(2, **ways)),
    "mode": lambda p, **ways: p["group"].mode(keys=ops.GROUPS, **ways),
    "choice": lambda p, **ways: dp.select(
        ops.vouched(p), ops.GROUPS, sensitivity=1, monotone=True,
        score=lambda frame, group: ops.rows_with(frame, ("group", group)), **ways),
    "worst fit": lambda p, **ways: dp.models.synthetic.worst_fit(
        p, [ops.table({"group": ops.GROUPS}, 4), ops.table(ops.BOTH, 1.3)], **ways),
    "several": lambda p, **ways: p["number"].agg(["count", "mean"], bounds=ops.BOUNDS, **ways),
    "several kinds": lambda p, **ways: (
        p["number"].agg(["mean", "median"], bounds=ops.BOUNDS, **ways)),
    "described": lambda p, **ways: p["number"].describe(bounds=ops.BOUNDS, **ways),
}  # fmt: skip
WAITING = ops.OPERATIONS | ops.OF_UNITS | ops.UNKNOWN | ops.EXPERIMENTAL
OWN = {name: ask for name, ask in ops.VOUCHED.items() if "choice" not in name}
QUESTIONS: dict[str, Ask] = AT_ONCE | {k: asked_later(v) for k, v in (WAITING | OWN).items()}


@pytest.fixture(scope="module", autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def people(counted: str) -> Any:
    anew(**BUDGETS[counted])
    dp.session(experimental=True)
    return dp.protect(ops.SCHEMA.copy(), "named", unit="owner", max_rows=3)


def done(ask: Ask, p: Any, **ways: Any) -> set[str] | str:
    """The mechanisms of an answer, by its record; of a refusal, what it says. It charges nothing,
    neither for all of an answer nor for the first of its releases."""
    before = charges()
    try:
        record = dp.record(ask(p, fresh=True, **ways))
    except QueryError as error:
        assert charges() == before
        return str(error)
    parts = record.components
    return {part.mechanism for part in (parts.values() if isinstance(parts, Mapping) else parts)}


def names(mechanisms: set[str]) -> set[str]:
    """What a caller calls them; nothing for those that can't be named."""
    found = {word for word, title in TITLES.items() if mechanisms & {title, f"{title}, in a batch"}}
    thresholds = "discrete Laplace, told", "discrete Laplace, released"
    laplace = any(each.startswith(thresholds) for each in mechanisms)
    measured = any(each.startswith("exponential, and noisy counts") for each in mechanisms)
    return found | ({"laplace"} if laplace else set()) | ({"exponential"} if measured else set())


@pytest.mark.parametrize("counted", BUDGETS)
def test_what_is_named_is_done_or_refused(counted: str) -> None:
    p = people(counted)
    step = size(3, 1)
    seen: dict[str, set[bool]] = {word: set() for word in TITLES}
    cases = [(name, loss) for name in QUESTIONS for loss in LOSSES[counted]]
    cases = [case for i, case in enumerate(cases) if i % step == 0 or case[0] in AT_ONCE]
    for name, loss in cases:
        unnamed = done(QUESTIONS[name], p, **loss)
        for word in TITLES:
            with noted(name, loss, word):
                found = done(QUESTIONS[name], p, mechanism=word, **loss)
                if isinstance(found, set):
                    assert names(found) == {word}
                    assert all(word in names({each}) for each in found), "some other was done"
                    # dp.select knows two ways, and what it does unnamed depends on the loss
                    if word not in NOISES and name != "choice":
                        assert unnamed == found, "it is what happens anyway"
                elif isinstance(unnamed, set):
                    assert names(unnamed) != {word}, "what happens anyway can be named"
                seen[word].add(isinstance(found, set))
    for word in TITLES:  # the table tries both outcomes
        possible = {"permute_and_flip": counted != "ρ", "gaussian": counted != "ε"}
        assert seen[word] == ({True, False} if possible.get(word, True) else {False}), word


def test_the_names_are_those_of_the_table() -> None:
    assert set(TITLES) == {*NOISES, *SELECTIONS}
    dp.session(epsilon=1)
    asked = lambda: pd.DataFrame({"x": [1]}).dp.count(epsilon=1, mechanism="dice")  # noqa: E731
    said = refusal(asked, "'dice' must be")
    assert all(repr(word) in said for word in TITLES)


def test_a_refusal_names_what_happens() -> None:
    p = people("ε")
    refusal(
        lambda: p[["yes", "no"]].idxmax(epsilon=1, mechanism="laplace"),
        "selected by permute-and-flip, and gets no noise.*write mechanism='permute_and_flip'",
    )
    refusal(
        lambda: p.count(epsilon=1, mechanism="exponential"),
        "gets Laplace noise, and isn't selected.*write mechanism='laplace'",
    )
    refusal(
        lambda: p["number"].median(bounds=(0, 9), method="smooth", epsilon=1, mechanism="laplace"),
        r"comes by smooth sensitivity.*Leave mechanism= out\. ",
    )
    refusal(lambda: p.count(within=3, mechanism="exponential"), "Laplace noise, and isn't selected")


def test_naming_what_happens_anyway_asks_the_same_question() -> None:
    """The key of a query holds no name of a selection, so that its stored answer is found again."""
    p = people("ε")
    for ask, word in (
        (lambda **named: p[["yes", "no"]].idxmax(epsilon=1, **named), "permute_and_flip"),
        (lambda **named: p["number"].median(bounds=(0, 9), epsilon=1, **named), "exponential"),
        (lambda **named: p.count(epsilon=1, **named), "laplace"),
    ):
        first, before = ask(), charges()
        assert ask(mechanism=word) == first
        assert charges() == before
    within = p["number"].quantile(0.5, bounds=(0, 9), within=20, mechanism="exponential")
    assert dp.record(within).mechanism == "exponential"
