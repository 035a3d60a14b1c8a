"""A preview runs code as it is, and neither reads, charges nor answers anything."""

import contextlib
import contextvars
import re
import warnings
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledgers import anew, elsewhere
from operations import (
    GROUPS,
    OF_UNITS,
    OPERATIONS,
    SELECTIONS,
    TESTED,
    UNKNOWN,
    released,
    sixty,
)
from refusals import raising, refusal

import dppandas as dp
from dppandas.engines.pandas import PandasEngine
from dppandas.errors import MissingArgument, SessionError
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import MemoryStore
from dppandas.privacy.accounting.losses import Delta, Epsilon, Loss, Rho
from dppandas.privacy.sampling import samplers
from dppandas.release.blocks import preview
from dppandas.rows.figures import format_error

EVERY = [*OPERATIONS, *OF_UNITS, *SELECTIONS, *UNKNOWN, *TESTED]


def people(**terms: Any) -> Any:
    return dp.protect(sixty(), "people", **terms)


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be read, drawn or written."""
    touched = raising(AssertionError("a preview touched something"))
    monkeypatch.setattr(PandasEngine, "accumulate_rows", touched)
    monkeypatch.setattr(PandasEngine, "_rows", touched)
    for store in (MemoryStore, SqliteStore):
        for name in ("add", "settle"):
            monkeypatch.setattr(store, name, touched)
    for name in ("discrete_laplace_vector", "discrete_gaussian_vector", "permute_and_flip"):
        monkeypatch.setattr(samplers, name, touched)


def shape(result: Any) -> Any:
    """What of a result is public, apart from labels found."""
    if isinstance(result, pd.DataFrame):
        return type(result), list(result.columns), list(result.dtypes), result.index.names
    if isinstance(result, pd.Series):
        return type(result), result.name, result.dtype, result.index.names
    if isinstance(result, pd.Index):
        return type(result), result.dtype, result.names
    return type(result)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_each_operation_tells_what_the_ledger_would(name: str) -> None:
    dp.session(epsilon=100, delta=1e-3)
    p = people(unit="owner", max_rows=1)
    with dp.preview() as plan:
        nothing = released(name, p)
    assert dp.ledger()._entries() == []
    answer = released(name, p)
    (entry,) = dp.ledger()._entries()
    told = plan.to_frame()
    ledger = dp.ledger().to_frame()
    same = ["source", "lineage", "query", "epsilon", "delta", "mechanism", "scale"]
    pd.testing.assert_frame_equal(told[same], ledger[same])
    before = entry._replace(released_error="").known_error
    assert told["error"].tolist() == [before or "told by the answer"]  # the ledger tells it then
    assert (plan.loss, plan.total) == (entry.loss, entry.epsilon)
    assert shape(nothing) == shape(answer)
    if name not in UNKNOWN and isinstance(answer, pd.Series | pd.DataFrame):
        assert sorted(map(str, nothing.index)) == sorted(map(str, answer.index)) or (
            name in SELECTIONS or len(nothing) == len(answer)
        )


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nothing_is_touched_and_results_are_marked(name: str, untouched: None) -> None:
    dp.session(epsilon="0.001", delta=1e-3)
    p = people(unit="owner", max_rows=1)
    with dp.preview() as plan:
        result = released(name, p)
    assert not plan.fits
    assert plan.missing == Loss(Epsilon("0.999"))
    assert dp.ledger()._entries() == []
    if isinstance(result, pd.Index):
        return
    record = dp.record(result)
    assert record.preview
    assert record.number == 0
    assert str(record).startswith("preview, no answer: ")
    assert "preview" in record._repr_html_()


def test_results_say_in_a_notebook_that_they_are_none() -> None:
    from IPython.lib.pretty import pretty

    p = people()
    with dp.preview():
        results = [
            p.count(epsilon=1), p["number"].mean(bounds=(0, 9), epsilon=1),
            p[["yes", "no"]].idxmax(epsilon=1), p["number"].std(bounds=(0, 9), epsilon=1),
            p["code"].value_counts(keys=[1, 2]).idxmax(epsilon=1),
        ]  # fmt: skip
    for result in results:
        assert pretty(result).startswith("preview, no answer (")
    assert not dp.record(p.count(epsilon=1)).preview


def test_code_goes_on_as_it_is() -> None:
    dp.session(epsilon=1, delta=1e-6)
    p = people()

    def report() -> float:
        n = p.count(within=20)
        for label in p["group"].value_counts(delta=1e-7, epsilon="0.1").index:
            p[p["group"] == label].count(epsilon="0.1")
        counts = p["group"].value_counts(keys=GROUPS, epsilon="0.2").sort_index()
        both = p["number"].agg(["count", "mean"], bounds=(0, 9), epsilon="0.3")
        assert set(dp.record(both).components) == {"count, mean"}
        return float(n + n.error() + counts.sum() + both.sum())

    with dp.preview() as plan:
        assert isinstance(report(), float)
    assert (plan.total, plan.loss.delta) == (Fraction("0.747"), Delta("1e-7"))
    assert plan.left == Loss(Epsilon(1), Delta("1e-6"))
    assert plan.fits
    assert (plan.missing, plan.to_frame()["status"].tolist()) == (Loss(), ["new"] * 4)
    assert dp.ledger().spent == 0


def test_what_would_be_refused_is_refused() -> None:
    p = people()
    with dp.preview() as plan:
        for refused in (
            lambda: p["number"].mean(epsilon=1), lambda: p.count(epsilon=-1), lambda: len(p),
            lambda: p.count(within=1e-9, confidence=1 - 1e-15, mechanism="dice"),
            lambda: p["number"].median(bounds=(0, 9), epsilon=1, method="smooth"),
        ):  # fmt: skip
            refusal(refused, error=dp.DPError)
    assert repr(plan) == "dppandas preview · no releases"
    assert plan.to_frame().empty
    assert (plan.total, plan.fits, plan.left) == (0, True, None)


# --- what is answered again -----------------------------------------------------------------------


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_what_was_answered_before_would_be_free(kept: str, tmp_path: Path) -> None:
    dp.session(epsilon=1, **({"store": tmp_path / "a.ledger"} if kept == "file" else {}))
    p = people(version="1")
    p.count(epsilon="0.5")
    before = dp.ledger()._entries()
    with dp.preview() as plan:
        n = p.count(epsilon="0.5")
        p.count(epsilon="0.5", fresh=True)
        p.size(epsilon="0.25")
        p.size(epsilon="0.25")  # bought a line above
        p["number"].count(epsilon="0.25", fresh=True)
        p["number"].count(epsilon="0.25")
    assert "".join(s[0] for s in plan.to_frame()["status"]) == "rnnrnr"  # replayed, or new
    assert plan.to_frame()["epsilon"].tolist() == [0, 0.5, 0.25, 0, 0.25, 0]
    assert (plan.total, str(plan.missing)) == (1, "ε = 0.5")
    assert dp.record(n).preview  # and not the answer that is kept
    assert dp.ledger()._entries() == before  # nor is it noted that it was looked for
    with dp.preview() as asserted:
        sixty().dp.count(epsilon="0.1")
        sixty().dp.count(epsilon="0.1")
    assert asserted.total == Fraction("0.2")  # which never replays


def test_a_repeated_answer_has_the_error_that_it_told() -> None:
    dp.session(epsilon=9)
    p = people(version="1")
    told = p["number"].mean(bounds=(0, 9), epsilon=1)
    with dp.preview() as plan:
        p["number"].mean(bounds=(0, 9), epsilon=1)
        p["number"].mean(bounds=(0, 9), epsilon=2)
    again, new = plan.to_frame()["error"]
    assert again == dp.ledger().to_frame()["error"].iloc[0] == f"± {format_error(told.error())}"
    assert "/n" in new
    (first, *_), (head, *rows) = plan._repr_html_().split("<table")[1:], repr(plan).splitlines()[1:]
    assert head.split()[:5] == ["source", "lineage", "query", "ε", "mechanism"]
    assert [row.split(" in 0 to 9")[1].split()[0] for row in rows[1:]] == ["0", "2"]
    assert re.findall(r">(ε|\d|0\.0)</t[dh]>", first) == ["ε", "1", "0", "2", "2"]


def test_the_total_is_what_the_ledger_then_charges() -> None:
    dp.session(epsilon=10)
    p = people()
    p.count(epsilon=1)

    def block() -> None:
        for _ in range(2):
            p.count(epsilon=1)
            p["number"].describe(bounds=(0, 9), epsilon=1)
            p["group"].mode(keys=GROUPS, epsilon=1)
            p.size(epsilon=1, fresh=True)

    with dp.preview() as plan:
        block()
    spent = dp.ledger().spent
    block()
    assert dp.ledger().spent - spent == plan.total
    assert plan.total == 4


def test_rho() -> None:
    dp.session(rho=1, delta=1e-6)
    with dp.preview() as plan:
        people().count(rho="0.25")
        people().count(rho=1)
    assert (plan.total, plan.loss) == (Rho("1.25"), Loss(rho=Rho("1.25")))
    assert "ρ = 1.25: ρ = 0.25 more than is left" in repr(plan)
    assert list(plan.to_frame().columns)[3:5] == ["rho", "delta"]


# --- blocks ---------------------------------------------------------------------------------------


def test_a_preview_is_a_table_to_read() -> None:
    dp.session(epsilon=1)
    p = people()
    with dp.preview() as plan:
        p.query("group == '<b>'").count(epsilon="0.5")
    said, html = repr(plan), plan._repr_html_()
    assert said.startswith("dppandas preview · 1 release would cost ε = 0.5; ε = 1 is left")
    assert "± 6" in said
    assert "&lt;b&gt;" in html
    assert "<b>'" not in html


def test_previews_nest_and_end_whatever_happens() -> None:
    p = people()
    with dp.preview() as outer:
        p.count(epsilon=1)
        with dp.preview() as inner:
            p.count(epsilon=2)
        broken = dp.preview()
        with contextlib.suppress(ZeroDivisionError), broken:
            p.count(epsilon=3)
            1 / 0  # noqa: B018
        p.size(epsilon=4)
    assert [plan.total for plan in (outer, inner, broken)] == [5, 2, 3]
    with pytest.raises(SessionError, match="for one block"), outer:
        pass
    assert isinstance(p.count(epsilon=1), int)
    assert dp.ledger().spent == 1


def test_other_threads_release_as_ever_and_what_outlives_a_block_is_refused() -> None:
    p = people()
    with dp.preview() as plan:
        elsewhere(lambda: p.count(epsilon=1))
        context = contextvars.copy_context()
    assert dp.ledger().spent == 1
    assert plan.total == 0
    refusal(lambda: context.run(lambda: p.count(epsilon=2)), "has ended", SessionError)
    assert dp.ledger().spent == 1


def test_one_session_only() -> None:
    with dp.preview() as plan:
        sixty().dp.count(epsilon=1)
        anew(epsilon=1)
        refusal(lambda: sixty().dp.count(epsilon=1), "of one session", SessionError)
    assert plan.total == 1
    assert dp.ledger()._entries() == []


def test_a_session_may_start_in_it() -> None:
    with dp.preview() as plan:
        dp.session(epsilon=1)
        people().count(epsilon=2)
    assert plan.missing == Loss(Epsilon(1))


def test_splits_in_previews_and_previews_in_splits() -> None:
    p = people()
    with dp.preview() as plan, dp.split(epsilon=1, into=2) as inner:
        p.count()
        p.size(fresh=True)
    assert (plan.total, inner.left, dp.ledger().spent) == (1, 0, 0)
    with dp.split(epsilon=1, shares=[3, 1]) as shares:
        with dp.preview() as plan:
            p.count()
            p.size(fresh=True)
            refusal(lambda: p.size(), "all are taken")
        assert shares.left == 2
        p.count()
        assert shares.left == 1
    assert plan.total == 1
    assert dp.ledger().spent == Fraction("0.75")


def test_warnings_are_those_of_the_code() -> None:
    p = people()
    with dp.preview(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        p["code"].min(bounds=(0, 9), epsilon=1)
    (warned,) = caught
    assert warned.filename == __file__


def test_combining_and_refining_are_previewed_like_the_releases_that_they_are() -> None:
    anew(epsilon=2)
    frame = dp.protect(pd.DataFrame({"a": range(50)}), name="previewed")

    def ask() -> Any:
        return dp.combine(frame.count(epsilon=0.25), frame.count(epsilon=0.5)).refine(epsilon=0.25)

    with dp.preview() as plan:
        answer = ask()
    assert dp.record(answer).preview
    assert float(plan.total) == 1
    assert dp.ledger()._entries() == []
    assert not dp.record(ask()).preview
    assert dp.ledger().spent == plan.total


def test_what_was_previewed_is_no_answer_to_go_on_from() -> None:
    anew(epsilon=2)
    frame = dp.protect(pd.DataFrame({"a": range(50)}), name="previewed")
    with dp.preview():
        nothing = frame.count(epsilon=0.25)
    answer = frame.count(epsilon=0.5)
    refusal(lambda: nothing.refine(epsilon=0.25), "previewed and not answered")
    refusal(lambda: dp.combine(nothing, answer), "previewed and not answered")
    assert dp.ledger().spent == Fraction(1, 2)


# programs whose next question depends on the last answer


def program(p: Any, rounds: int = 3, epsilon: object = "0.25") -> list[int]:
    """Each question is another one, but to those who are answered 0, as in a rehearsal: counts of
    54 and more are answered 0 with a probability below 1e-6."""
    answers: list[int] = [0]
    for i in range(rounds):
        last = answers[-1]
        asked = f"number > {-last} and code < {10 + (i if last else 0)}"
        answers.append(p.query(asked).count(epsilon=epsilon))
    return answers


def test_a_program_is_charged_whole_or_not_at_all() -> None:
    dp.session(epsilon=0.6)
    p = people()
    with pytest.raises(dp.BudgetExceeded, match=r"3 releases ask for ε = 0\.75 in all") as refused:
        preview.all_or_none(lambda: program(p))
    assert dp.ledger()._entries() == []
    assert (refused.value.requested, refused.value.remaining) == (Epsilon("0.75"), Epsilon("0.6"))
    assert len(preview.all_or_none(lambda: program(p, 2))) == 3
    assert dp.ledger().spent == Epsilon("0.5")


def test_a_program_run_again_is_free_though_nothing_is_left() -> None:
    dp.session(epsilon=0.75)
    p = people()
    first = preview.all_or_none(lambda: program(p))
    assert dp.ledger().remaining == 0
    assert preview.all_or_none(lambda: program(p)) == first
    with pytest.raises(dp.BudgetExceeded, match=r"its 4 releases ask for ε = 0\.25 in all"):
        preview.all_or_none(lambda: program(p, 4))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 9))
def test_the_dearest_road_is_the_price(tenths: list[int], limit: int) -> None:
    """Whichever road the answers lead to: if the budget can't pay for one, nothing is charged; and
    a preview shows the dearest."""
    dp.reset()
    session = dp.session(epsilon=Fraction(limit, 10))
    p = people()
    roads = [partial(p.count, epsilon=Fraction(each, 10)) for each in tenths]
    with dp.preview() as plan:
        preview.all_or_none(*roads)
    assert plan.total == Fraction(max(tenths), 10)
    if limit < max(tenths):
        with pytest.raises(dp.BudgetExceeded, match="this release asks"):
            preview.all_or_none(*roads)
        assert session.spent == 0
    else:
        preview.all_or_none(*roads)
        assert session.spent <= plan.total
    dp.reset()


def test_a_program_in_a_preview_is_previewed() -> None:
    dp.session(epsilon=1)
    p = people()
    with dp.preview() as plan:
        preview.all_or_none(lambda: program(p))
    assert plan.total == Epsilon("0.75")
    assert dp.ledger()._entries() == []


def test_what_a_later_round_would_refuse_is_refused_before_anything_is_charged() -> None:
    dp.session(epsilon=1)
    p = people()

    def fails() -> None:
        program(p, 1)
        p["number"].mean(epsilon=0.1)  # without bounds

    refusal(lambda: preview.all_or_none(fails), error=MissingArgument)
    assert dp.ledger()._entries() == []


def test_a_question_answered_before_is_no_discount_on_another() -> None:
    """What a rehearsal asks after an answer made of nothing isn't what will be asked."""
    dp.session(epsilon="0.35")
    p = people()
    p.query("number > 0").count(epsilon="0.1")  # as an answer of 0 would ask

    def adaptive() -> None:
        n = p.count(epsilon="0.2")
        p.query(f"number > {n}").count(epsilon="0.1")

    with pytest.raises(dp.BudgetExceeded, match=r"2 releases ask for ε = 0\.3 in all"):
        preview.all_or_none(adaptive)
    assert dp.ledger().spent == Epsilon("0.1")


def test_in_a_preview_a_program_begins_anew() -> None:
    dp.session(epsilon=1)
    p = people()
    preview.all_or_none(lambda: program(p))
    with dp.preview() as plan:
        p.count(epsilon="0.1")
        preview.all_or_none(lambda: program(p))
        preview.all_or_none(lambda: preview.all_or_none(lambda: program(p)))
    assert plan.total == Epsilon("0.1")


def test_the_card_has_questions_and_errors_first_and_breaks_no_line_after_a_sign() -> None:
    people = dp.protect(
        pd.DataFrame({"age": [20.0, 30], "pay": [1.0, 2]}), name="p",
        domain={"age": (0, 99), "pay": (0, 9)},
    )  # fmt: skip
    with dp.preview(expected_rows=100) as plan:
        people[["age", "pay"]].mean(epsilon=1)
        people["age"].count(epsilon=1)
    drawn = plan._repr_html_()
    heads = re.findall('<th scope="col"[^>]*>([^<]*)<', drawn)
    assert heads[:5] == ["release", "query", "ε", "error", "population"]
    assert heads[5:] == ["mechanism", "scale", "source", "lineage", "status"]
    assert "± " not in drawn
    assert "≈ " not in drawn
    assert "±\N{NO-BREAK SPACE}3" in drawn
