"""Sessions, the ledger, and the sources that are protected in them."""

import io
import math
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from notes import noted
from refusals import raising, refusal

import dppandas as dp
from dppandas.engines.pandas import PandasEngine
from dppandas.errors import LineageError, MissingArgument, SessionError, SourceError
from dppandas.ledger.cells import attribute_to
from dppandas.privacy.accounting.losses import Epsilon
from dppandas.release.query import Token
from dppandas.release.session import scratch

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")


def people() -> pd.DataFrame:
    columns = {"age": [20, 30, 40, 50], "income": [1.0, 2.0, 3.0, 4.0], "id": [1, 1, 2, 3]}
    return pd.DataFrame(columns)


# --- sessions and budgets -------------------------------------------------------------------------


class TestSessions:
    def test_the_same_budget_again_returns_the_running_session(self) -> None:
        first = dp.session(epsilon=2)
        people().dp.count(epsilon=0.5)
        for again in (2, 2.0, "2", Fraction(2), np.float64(2), None):
            assert dp.session(epsilon=again) is first
        assert dp.session() is first
        assert first.remaining == Fraction(3, 2)  # nothing was reset

    def test_another_budget_is_refused_and_names_the_way_out(self) -> None:
        dp.session(epsilon=2)
        with pytest.raises(SessionError, match=r"budget of ε = 2 is running.*dp\.reset\(\)"):
            dp.session(epsilon=3)
        assert dp.ledger().budget == 2

    def test_without_a_session_the_first_release_opens_one_that_says_it_has_no_limit(self) -> None:
        people().dp.count(epsilon=64)
        ledger = dp.ledger()
        assert (ledger.budget, ledger.remaining, ledger.spent) == (None, None, 64)
        for shown in (repr(ledger), ledger._repr_html_(), repr(dp.session())):
            assert "no limit" in shown

    def test_a_budget_set_later_counts_what_was_released_before(self) -> None:
        people().dp.count(epsilon=0.5)
        assert dp.session(epsilon=2) is dp.session()
        assert dp.ledger().remaining == Fraction(3, 2)
        refusal(lambda: people().dp.count(epsilon=2), error=dp.BudgetExceeded)

    def test_a_budget_below_what_is_spent_is_refused(self) -> None:
        people().dp.count(epsilon=2)
        refusal(lambda: dp.session(epsilon=1), "2 is spent already", SessionError)
        assert dp.ledger().budget is None
        dp.session(epsilon=4)
        people().dp.count(epsilon=2)

    @pytest.mark.parametrize("budget", [1000, "0.000000001", 10**9, Fraction(1, 3)])
    def test_a_budget_may_be_any_positive_number(self, budget: Any) -> None:
        assert dp.session(epsilon=budget).budget == Fraction(str(budget))

    @pytest.mark.parametrize("budget", [0, -1, math.nan, math.inf, True, "much", [1]])
    def test_a_budget_that_is_no_positive_number_starts_nothing(self, budget: Any) -> None:
        refusal(lambda: dp.session(epsilon=budget))
        assert dp.ledger().budget is None

    def test_the_limit_caps_the_sum_over_all_sources(self) -> None:
        dp.session(epsilon=1)
        first, second = dp.protect(people(), name="a"), dp.protect(people() + 1, name="b")
        first.count(epsilon="0.4")
        second.count(epsilon="0.4")
        refusal(lambda: pd.DataFrame({"x": [1]}).dp.count(epsilon="0.4"), error=dp.BudgetExceeded)
        pd.DataFrame({"x": [1]}).dp.count(epsilon="0.1")
        pd.Series([1]).dp.count(epsilon="0.1")
        by_source = {"a": Fraction(2, 5), "b": Fraction(2, 5), "unnamed": Fraction(1, 5)}
        assert dp.ledger().by_source() == by_source

    def test_overspending_says_by_how_much_and_the_next_affordable_query_works(self) -> None:
        dp.session(epsilon=1)
        people().dp.count(epsilon="0.75")
        with pytest.raises(dp.BudgetExceeded) as caught:
            people().dp.count(epsilon=0.5)
        error = caught.value
        assert (error.requested, error.remaining) == (Fraction(1, 2), Fraction(1, 4))
        for part in ("ε = 0.5", "0.25 of 1 is left after 1 release", "dp.ledger()"):
            assert part in str(error)
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), vars(copy)) == (str(error), vars(error))
        people().dp.count(epsilon=error.remaining)
        assert dp.ledger().remaining == 0


class TestRefusedSessions:
    """After a refusal the next cell must not go on in another session than was asked for."""

    NOWHERE: ClassVar[dict[str, Any]] = {"epsilon": 2, "store": "/no/such/folder/x.ledger"}
    REFUSED = (
        (False, {"epsilon": -1}), (False, {"epsilom": 2}), (False, {"epsilon": 2, "delta": 2}),
        (False, {"strict": 1}), (False, NOWHERE), (True, {"epsilon": -1}), (True, {"epsilom": 2}),
        (True, {"epsilon": 3}), (True, {"strict": True}), (True, NOWHERE),
    )  # fmt: skip

    @pytest.mark.parametrize(("running", "refused"), REFUSED, ids=repr)
    def test_nothing_is_released_after_one(self, running: bool, refused: dict[str, Any]) -> None:
        before = dp.session(epsilon=2) if running else None
        frame = dp.protect(people(), "people")
        old = frame.count(epsilon=0.5) if running else None
        refusal(lambda: dp.session(**refused), error=dp.DPError)
        for _ in range(2):
            for ask in (
                lambda: people().dp.count(epsilon=0.1),
                lambda: frame.count(epsilon=0.5),  # nor again, what was answered before
                lambda: frame.describe(bounds=(0, 99), epsilon=0.5),
            ):
                with pytest.raises(SessionError, match=r"dp\.session\(…\) was refused") as said:
                    ask()
                assert "dp.reset()" in str(said.value)
                assert "Nothing was computed or charged" in str(said.value)
            dp.ledger(), dp.session(), dp.session(epsilon=None), repr(dp.session())  # looking
            dp.session(experimental=True)  # which says nothing of the session that is meant
            if not running:
                dp.session(strict=False)
        assert dp.ledger().spent == (Fraction(1, 2) if running else 0)
        if running:
            assert dp.session(epsilon=2) is before
            assert frame.count(epsilon=0.5) == old
        else:
            dp.reset()
            people().dp.count(epsilon=0.1)
            assert dp.ledger().spent == Fraction(1, 10)

    def test_a_session_opened_after_one_releases(self, tmp_path: Path) -> None:
        with pytest.raises(dp.errors.StoreError):
            dp.session(epsilon=2, store=tmp_path / "nowhere" / "a.ledger")
        dp.session(epsilon=2, store=tmp_path / "a.ledger")
        people().dp.count(epsilon=1)
        assert dp.ledger().remaining == 1
        with pytest.raises(SessionError, match="keeps its ledger elsewhere"):
            dp.session(epsilon=2, store=tmp_path / "b.ledger")
        refusal(lambda: people().dp.count(epsilon=1), "was refused", SessionError)
        dp.reset()
        people().dp.count(epsilon=1)
        assert dp.ledger().budget is None

    @pytest.mark.parametrize("has_store", [False, True])
    def test_what_remains_and_the_next_question_agree(
        self, tmp_path: Path, has_store: bool
    ) -> None:
        """Both answer from one ledger, or both say what is the matter and how to go on."""
        terms = {"epsilon": 9, **({"store": tmp_path / "a.ledger"} if has_store else {})}
        before, left = dp.session(**terms), Fraction(9)
        slips: tuple[dict[str, Any], ...] = (
            {"epsilon": 2}, {"epsilon": 9, "delta": 1e-6}, {"rho": 1, "delta": 1e-6},
            {"epsilon": 9, "store": tmp_path / "b.ledger"}, {"epsilon": -1}, {"epsilom": 9},
            {"strict": True},
        )  # fmt: skip
        for slip in slips:
            with noted(slip):
                people().dp.count(epsilon=1)
                left -= 1
                assert dp.session().remaining == dp.ledger().remaining == left
                refusal(lambda s=slip: dp.session(**s), error=dp.DPError)
                asked = refusal(lambda: people().dp.count(epsilon=1), error=SessionError)
                assert refusal(lambda: dp.session().remaining, error=SessionError) == asked
                told = " ".join(repr(before).split())
                assert asked.removesuffix(" Nothing was computed or charged.") in told
                assert "dp.session(epsilon=9)" in asked
                assert dp.session() is before
                assert dp.ledger().remaining == left  # which tells what was charged
                assert dp.session(epsilon=9).remaining == left

    def test_without_a_budget_they_agree_too(self) -> None:
        people().dp.count(epsilon=1)
        assert dp.session().remaining is None
        refusal(lambda: dp.session(epsilon=-2))
        asked = refusal(lambda: people().dp.count(epsilon=1), error=SessionError)
        assert refusal(lambda: dp.session().remaining, error=SessionError) == asked
        assert dp.session(epsilon=3).remaining == 2
        refusal(lambda: dp.session(epsilon=4), error=SessionError)
        ended = dp.session()
        dp.reset()
        assert dp.session().remaining is None
        assert ended.remaining == 2  # as its closed ledger has it
        people().dp.count(epsilon=1)

    def test_a_cell_that_runs_again_changes_nothing(self, tmp_path: Path) -> None:
        for terms in ({"epsilon": 1}, {"epsilon": 1, "store": tmp_path / "a.ledger"}):
            with noted(terms):
                dp.reset()
                for run in range(1, 4):
                    found = dp.session(**terms)
                    people().dp.count(epsilon="0.1")
                    assert dp.session() is found
                    assert found.remaining == dp.ledger().remaining == 1 - Fraction(run, 10)

    def test_a_message_gives_the_call_of_any_budget(self) -> None:
        budgets: tuple[dict[str, Any], ...] = (
            {"epsilon": 0.1}, {"epsilon": Fraction(1, 3)}, {"epsilon": 10**30 + 1},
            {"epsilon": "0.1234567890123456789"}, {"epsilon": "1e-9"},
            {"epsilon": 2, "delta": 1e-6}, {"epsilon": 2, "delta": Fraction(1, 3 * 10**6)},
            {"rho": 0.1, "delta": 1e-6}, {"rho": 0.1, "delta": 1e-6, "delta_releases": 1e-7},
            {"epsilon": 2, "delta": 1e-6, "accounting": "zcdp"},
        )  # fmt: skip
        for terms in budgets:
            with noted(terms):
                dp.reset()
                before = dp.session(**terms)
                for other in ({"epsilon": 77}, {"epsilon": 1, "store": "other.ledger"}):
                    said = refusal(lambda o=other: dp.session(**o), error=SessionError)
                    (call,) = re.findall(r"dp\.session\([^…]+?\)", said)
                    assert eval(call, {"dp": dp}) is before
                refusal(lambda: dp.session(epsilon=77), error=SessionError)
                asked = refusal(lambda: people().dp.count(epsilon=1), error=SessionError)
                assert call in asked

    def test_an_interrupted_one_is_no_session(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            parse = "dppandas.privacy.accounting.measures.PrivacyBudget.parse"
            patch.setattr(parse, raising(KeyboardInterrupt))
            refusal(lambda: dp.session(epsilon=2), error=KeyboardInterrupt)
        refusal(lambda: people().dp.count(epsilon=1), "interrupted", SessionError)

    def test_an_audit_has_a_session_of_its_own(self) -> None:
        refusal(lambda: dp.session(epsilon=-1), error=dp.DPError)
        with scratch():
            people().dp.count(epsilon=1)
        refusal(lambda: people().dp.count(epsilon=1), "was refused", SessionError)


class TestReset:
    def test_it_ends_the_session_for_good_and_refunds_nothing(self) -> None:
        old = dp.session(epsilon=1)
        people().dp.count(epsilon=1)
        dp.reset()
        assert old.ledger._closed
        assert old.spent == 1
        assert "ended" in repr(old)
        new = dp.session(epsilon=5)
        assert new is not old
        assert new.spent == 0
        dp.reset()
        dp.reset()  # nothing runs: nothing to end

    def test_private_frames_of_an_ended_session_answer_no_more(self) -> None:
        frame = dp.protect(people(), name="people")
        pending = frame.query("age > 20").count()
        dp.reset()
        for ask in (frame.count, pending.release):
            with pytest.raises(SourceError, match=r"session that has ended.*dp\.protect"):
                ask(epsilon=1)
        assert dp.ledger().spent == 0
        assert dp.protect(people(), name="people").count(epsilon=1) is not None

    def test_an_ended_ledger_takes_no_charge(self) -> None:
        ledger = dp.ledger()
        people().dp.count(epsilon=1)
        (entry,) = ledger._entries()
        dp.reset()
        refusal(lambda: ledger._charge(entry), r"dp\.reset\(\) ended", SessionError)
        assert ledger.spent == 1

    def test_a_plain_frame_keeps_its_unit_when_its_session_ends(self) -> None:
        df = people()
        dp.protect(df, name="people", unit="id", max_rows=1)
        dp.reset()
        df.dp.count(epsilon=1)
        assert dp.record(df.dp.count(epsilon=1)).unit == "each 'id' (1 row)"
        refusal(lambda: df["age"].dp.count(epsilon=1), "is missing here", LineageError)


class TestLedger:
    def test_one_row_a_release(self, frozen: Callable[[int], None]) -> None:
        frozen(0)
        attribute_to(lambda: 7)
        try:
            df = people()
            df.dp.count(epsilon=0.1)
            source = dp.protect(df, name="people").query("age > 20")
            source["age"].value_counts(keys=[30, 40], epsilon="1/3")
        finally:
            attribute_to(None)
        dp.private(df, kinds=dict.fromkeys(df.columns, "unknown")).idxmax(epsilon=1)
        frame = dp.ledger().to_frame()
        assert type(frame) is pd.DataFrame
        assert (frame.index.tolist(), frame.index.name) == ([1, 2, 3], "release")
        assert frame["cell"].tolist() == [7, 7, pd.NA]
        assert frame["source"].tolist() == ["unnamed", "people", "people"]
        assert frame["lineage"].tolist() == ["asserted", "verified", "asserted"]
        assert frame["query"].tolist() == [
            "count", "value_counts of age (2 keys) where age > 20",
            "idxmax of sum of True of age, income, id",
        ]  # fmt: skip
        kinds = frame["details"][3]  # which the text leaves out
        assert frame["details"].tolist() == ["", "keys 30, 40", kinds]
        assert re.fullmatch("digest [0-9a-f]{10}", kinds)
        assert frame["epsilon"].tolist() == [0.1, 1 / 3, 1.0]
        assert frame["mechanism"].tolist() == ["discrete Laplace"] * 2 + ["permute-and-flip"]
        assert frame["scale"].tolist() == ["10", "3", "1"]
        assert frame["error"].tolist() == ["± 30", "± 11", "gap ≤ 4"]
        assert frame["status"].tolist() == ["released"] * 3
        assert frame["time"].is_monotonic_increasing
        # a copy: nothing can be written into the ledger
        frame.loc[1, "epsilon"] = 0
        assert dp.ledger().spent == Fraction(1, 10) + Fraction(1, 3) + 1

    def test_an_empty_ledger_says_so(self) -> None:
        assert "nothing spent yet" in repr(dp.ledger())
        people().dp.count(epsilon=1)
        assert "nothing spent yet" not in repr(dp.ledger())

    def test_a_failing_observer_costs_no_answer(self) -> None:
        broken = raising(RuntimeError("no screen"))
        dp.ledger()._observe(broken)
        with pytest.warns(RuntimeWarning, match="showing the ledger failed"):
            assert isinstance(people().dp.count(epsilon=1), int)
        dp.ledger()._unobserve(broken)

    def test_observers_hear_each_change(self) -> None:
        heard: list[tuple[Any, ...]] = []

        def observer(ledger: dp.types.Ledger) -> None:
            statuses = [e.status for e in ledger._entries()]
            heard.append((ledger.budget, ledger.spent, statuses, ledger._closed))

        ledger = dp.ledger()
        ledger._observe(observer)
        ledger._observe(observer)  # twice is once
        dp.session(epsilon=2)
        people().dp.count(epsilon=1)
        dp.reset()
        assert heard == [
            (2, 0, [], False), (2, 1, ["charged"], False),
            (2, 1, ["released"], False), (2, 1, ["released"], True),
        ]  # fmt: skip
        ledger._unobserve(observer)
        ledger._unobserve(observer)
        ledger._close()
        assert len(heard) == 4

    def test_shown_ledgers_escape_names(self) -> None:
        dp.protect(people(), name="<script>alert(1)</script>").count(epsilon=1)
        assert "<script>" not in dp.ledger()._repr_html_()


# --- protect --------------------------------------------------------------------------------------


def test_a_budget_is_set_once() -> None:
    dp.session(epsilon=1)
    refusal(lambda: dp.ledger()._limit(Epsilon(50)), "has a budget of ε = 1 already", SessionError)
    assert dp.ledger().budget == 1


class TestProtect:
    def test_the_same_data_and_terms_give_the_same_source(self) -> None:
        df, domain = people(), {"age": (17, 60)}
        terms: Any = {"unit": "id", "max_rows": 2, "domain": domain, "version": "1"}
        first = dp.protect(df, "people", **terms)
        assert dp.protect(df, "people", **terms)._table.source == first._table.source
        # a cell run again loads the file again; order and dtype are no other data
        reloaded = people().sample(frac=1, random_state=1).astype({"age": float})
        assert dp.protect(reloaded, "people", **terms)._table.source is first._table.source

    @pytest.mark.parametrize("other", [
        people().assign(age=[20, 30, 40, 51]), people()[:3], people().assign(more=1),
        pd.concat([people(), people()[:1]]), people().rename(columns={"age": "Age"}),
    ])  # fmt: skip
    def test_other_data_under_the_same_name_is_refused(self, other: pd.DataFrame) -> None:
        dp.protect(people(), name="people")
        with pytest.raises(SourceError, match=r"'people'.*other data.*dp\.reset\(\)"):
            dp.protect(other, name="people")

    def test_the_order_of_a_domain_is_no_other_term_and_a_difference_is_named(self) -> None:
        domain = {"age": (17, 60), "id": [1, 2]}
        first = dp.protect(people(), "people", domain=domain)
        again = dp.protect(people(), "people", domain=dict(reversed(domain.items())))
        assert again._table.source == first._table.source
        first.count(epsilon=1)
        with pytest.raises(SourceError, match="'age' was 17 to 60, is 17 to 61"):
            dp.protect(people(), "people", domain={**domain, "age": (17, 61)})

    @pytest.mark.parametrize("dtype", ["int64", "float64", "object", "Int64", "category"])
    def test_no_road_leads_back_into_a_protected_source(self, dtype: str, exact: None) -> None:
        held = np.array([1, 1, 1, 1])
        df = pd.DataFrame({"id": pd.Series([1, 1, 1, 1]).astype(dtype)})
        df["raw"] = pd.DataFrame({"raw": held}, copy=False)["raw"]
        source = dp.protect(df, "people", unit="id", max_rows=1)
        for column in ("id", "raw"):
            array = df[column].array
            array[:] = df[column].array if dtype == "category" else [1, 2, 3, 4]  # type: ignore[index]
        held[:] = [1, 2, 3, 4]
        assert source.count(epsilon=1) == 1
        assert source["raw"].sum(bounds=(0, 9), epsilon=1) == 1

    def test_what_pandas_made_of_a_source_is_asserted_wherever_it_is_protected(self) -> None:
        df = people()
        dp.protect(df, "people", unit="id", max_rows=1)

        def lineage(frame: pd.DataFrame, name: str) -> str:
            return dp.protect(frame, name, unit="id", max_rows=1)._table.source.lineage

        assert lineage(df[df["age"] > df["age"].mean()], "above the mean") == "asserted"
        assert lineage(df.assign(id=range(4)), "other units") == "asserted"
        assert lineage(df.copy(), "again") == "verified"
        dp.reset()
        assert lineage(df.head(2), "head") == "asserted"
        refusal(lambda: dp.protect(df, "rows"), "unit='id'", LineageError)

    def test_beside_a_source_with_a_unit_rows_have_to_be_declared(self) -> None:
        dp.protect(people(), "people", unit="id", max_rows=1)
        merged = people().merge(people(), on="id")
        refusal(lambda: dp.protect(merged, "merged"), r'dp\.protect.*unit="row"', LineageError)
        assert dp.protect(merged, "merged", unit="row")._table.source.unit.column is None

    def test_a_session_shows_neither_fingerprint_nor_size(self) -> None:
        dp.protect(pd.DataFrame({"x": range(12345)}), "big")
        assert "12345" not in repr(dp.session()._sources)
        assert "fingerprint" not in repr(dp.session()._sources)

    @pytest.mark.parametrize("terms", [{"unit": "id", "max_rows": 1}, {"version": "2"}])
    def test_other_terms_under_the_same_name_are_refused(self, terms: dict[str, Any]) -> None:
        dp.protect(people(), name="people")
        refusal(lambda: dp.protect(people(), name="people", **terms), "other terms", SourceError)

    @pytest.mark.parametrize(("terms", "message"), [
        ({"name": ""}, "name="), ({"name": "unnamed"}, "name="), ({"version": 2}, "version=2"),
        ({"unit": "person"}, "unit='person' isn't a column"),
        ({"max_rows": 2}, "needs unit="),
        ({"unit": "id"}, "max_rows= is needed.*1 keeps one row of each"),
        ({"unit": "id", "max_rows": None}, "max_rows= is needed"),
        ({"unit": "id", "max_rows": 0}, "max_rows=0"),
        ({"unit": "id", "max_rows": 1.5}, "max_rows=1.5"),
        ({"domain": {"wage": (0, 1)}}, "'wage'"),
        ({"domain": {"age": (60, 17)}}, "lower first"),
        ({"domain": {"age": [17, 17.0]}}, "twice"),
        ({"domain": [1]}, "domain= must be a dict"),
    ])  # fmt: skip
    def test_terms_are_checked_first(self, terms: Any, message: str, monkeypatch: Any) -> None:
        monkeypatch.setattr("dppandas.engines.truncation.row_hashes", None)
        refusal(lambda: dp.protect(people(), **{"name": "people", **terms}), message)
        with pytest.raises(dp.errors.QueryError, match="takes a DataFrame"):
            dp.protect(people()["age"], name="people")  # type: ignore[arg-type]

    def test_whoever_has_several_rows_says_how_many_are_used(self, monkeypatch: Any) -> None:
        """A default of 1 dropped all but one row of each, and nobody had asked for that."""
        monkeypatch.setattr("dppandas.frames.sources.base.PandasEngine", None)  # no row is read
        for ask in (lambda: dp.protect(people(), "p", "id"), lambda: dp.private(people(), "id")):
            refusal(ask, "1 keeps one row of each", MissingArgument)
        assert not dp.session()._sources

    def test_the_source_keeps_its_own_copy(self, exact: None) -> None:
        df = people()
        source = dp.protect(df, name="people")
        df.loc[:, "age"] = 0
        df.loc[99] = df.loc[0]
        assert source.count(epsilon=1) == 4
        assert source["age"].sum(bounds=(0, 99), epsilon=1) == 140

    def test_it_shows_terms_and_no_rows(self) -> None:
        frame = dp.protect(people(), name="people", unit="id", max_rows=3, domain={"age": [1, 2]})
        for shown in (repr(frame), frame._repr_html_()):
            assert all(word in shown for word in ("people", "verified", "id", "at most 3 rows"))
            assert "int64" not in shown

    def test_rows_beyond_max_rows_are_not_used(self, exact: None) -> None:
        for max_rows, expected in ((1, 3), (2, 4), (99, 4)):
            dp.reset()
            source = dp.protect(people(), name="people", unit="id", max_rows=max_rows)
            assert source.count(epsilon=1) == expected

    def test_truncation_comes_before_every_step(self, exact: None) -> None:
        # a filter after it can't bring the other rows of a unit back
        source = dp.protect(people(), name="people", unit="id", max_rows=1)
        older, younger = source.query("age > 20"), source.query("age <= 20")
        assert older.count(epsilon=1) + younger.count(epsilon=1) == 3


# --- tokens and units -----------------------------------------------------------------------------


def owned() -> pd.DataFrame:
    """A plain frame that was protected: two rows of each id count."""
    df = people()
    dp.protect(df, name="people", unit="id", max_rows=2)
    return df


KEEPS_TOKEN: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "itself": lambda df: df, "query": lambda df: df.query("age > 0"),
    "mask": lambda df: df[df["age"] > 0], "assign": lambda df: df.assign(double=df["age"] * 2),
    "copy": lambda df: df.copy(), "pickle": lambda df: pickle.loads(pickle.dumps(df)),
    "columns": lambda df: df[["age", "id"]], "repeated rows": lambda df: pd.concat([df, df]),
}  # fmt: skip


@pytest.mark.parametrize("way", KEEPS_TOKEN)
def test_a_token_survives_what_pandas_does(way: str, exact: None) -> None:
    answer = KEEPS_TOKEN[way](owned()).dp.count(epsilon=1)
    record = dp.record(answer)
    assert (record.source, record.lineage) == ("people", "asserted")
    assert (record.unit, record.scale) == ("each 'id' (at most 2 rows)", 2)
    assert answer == 4 if way != "repeated rows" else answer == 6  # 2 of 4, 2 of 2, 2 of 2 rows


def test_a_token_survives_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    owned().to_parquet(tmp_path / "people.parquet")
    again = pd.read_parquet(tmp_path / "people.parquet")
    assert dp.record(again.dp.count(epsilon=1)).source == "people"


def test_an_accessor_knows_no_past(exact: None) -> None:
    # pandas 2 would keep the first df.dp, and go on counting rows instead of people
    df = people()
    assert (df.dp.count(epsilon=1), df["age"].dp.count(epsilon=1)) == (4, 4)
    dp.protect(df, name="people", unit="id", max_rows=1)
    assert df.dp.count(epsilon=1) == 3
    dp.reset()
    assert dp.record(df.dp.count(epsilon=1)).unit == "each 'id' (1 row)"


def test_a_token_of_another_process_is_refused() -> None:
    df = people()
    df.attrs["dppandas.source"] = "0123456789abcdef"
    refusal(lambda: df.dp.count(epsilon=1), "never protected", LineageError)


def test_a_token_is_a_string_that_copies_are_free_of() -> None:
    token = Token("abc")
    assert isinstance(token, str)
    assert pickle.loads(pickle.dumps(token)) == token


#: What of it keeps the token differs between versions of pandas; neither is taken as row-level.
LOSES_UNIT: dict[str, Callable[[pd.DataFrame], Any]] = {
    "merge": lambda df: df[["age"]].merge(pd.DataFrame({"age": [20]})),
    "DataFrame": lambda df: pd.DataFrame(df.to_dict("list")),
    "CSV": lambda df: pd.read_csv(io.StringIO(df.to_csv())),
    "get_dummies": lambda df: pd.get_dummies(df["age"]),
    "group means": lambda df: df.groupby("id").mean(), "drop": lambda df: df.drop(columns="id"),
    "columns": lambda df: df[["age"]], "a Series": lambda df: df["age"],
    "a computed Series": lambda df: df["age"] - df["age"].mean(),
}  # fmt: skip


@pytest.mark.parametrize("way", LOSES_UNIT)
def test_a_frame_that_lost_token_or_unit_is_refused_with_the_way_out(way: str) -> None:
    lost = LOSES_UNIT[way](owned())
    way_out = r"df\.dp\['income'\]" if lost.attrs else r'dp\.private\(df, unit="row"\)'
    refusal(lambda: lost.dp.count(epsilon=1), way_out, LineageError)


def _with_attrs(df: pd.DataFrame) -> pd.DataFrame:
    found = df.copy()
    found.attrs["mine"] = 1
    return found


#: What *Known limits* says of pandas, in each version: whether the token of a source is kept.
OF_PANDAS: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], bool]] = {
    "merged with itself": (lambda df: df.merge(df), True),
    "by a column": (lambda df: df.merge(df, on="id"), True),
    "with some of its rows": (lambda df: df.merge(df.query("age > 20")), True),
    "with none of them": (lambda df: df.merge(df[:0]), True),
    "from the right": (lambda df: df[["id"]].merge(df, how="right"), True),
    "all pairs": (lambda df: df.merge(df, how="cross"), True),
    "with an indicator": (lambda df: df.merge(df, indicator=True), True),
    "by the index": (lambda df: df.merge(df, left_index=True, right_index=True), True),
    "joined": (lambda df: df.join(df.add_suffix("_too")), True),
    "exploded": (lambda df: df.assign(x=[[1, 2]] * 4).explode("x"), True),
    "beside itself": (lambda df: pd.concat([df, df]), True),
    "sampled": (lambda df: df.sample(9, replace=True, random_state=1), True),
    "in order": (lambda df: pd.merge_ordered(df, df, on="id"), True),
    "with more attrs": (lambda df: df.merge(_with_attrs(df)), True),
    "merged with another": (lambda df: df.merge(pd.DataFrame({"id": [1, 2]})), False),
    "another, merged with it": (lambda df: pd.DataFrame({"id": [1, 2]}).merge(df), False),
    "joined with another": (lambda df: df.join(pd.DataFrame({"x": [1, 2]})), False),
    "below another": (lambda df: pd.concat([df, pd.DataFrame({"id": [1]})]), False),
    "dummies": (lambda df: pd.get_dummies(df.astype(str)), False),
    "a frame of it": (lambda df: pd.DataFrame(df), False),
    "read again": (lambda df: pd.read_csv(io.StringIO(df.to_csv())), False),
}  # fmt: skip


def test_which_frames_keep_a_token_and_are_asserted_in_each_pandas() -> None:
    for way, (made, is_kept) in OF_PANDAS.items():
        for repeated in (1, 2):  # a merge of all rows one to one is another road in pandas 2
            dp.reset()
            dp.session(epsilon=9)
            df = pd.concat([people()] * repeated, ignore_index=True)
            if "exploded" in way and repeated > 1:
                continue
            dp.protect(df, name="people")
            found = made(df)
            with noted((way, repeated)):
                assert ("dppandas.source" in found.attrs) == is_kept
                is_same = is_kept and found.shape == df.shape and way != "sampled"
                if not is_same:
                    lineage = "asserted" if is_kept else "verified"
                    assert dp.protect(found, name="made")._table.source.lineage == lineage


def test_a_merge_of_plain_frames_is_left_to_pandas() -> None:
    one, other = pd.DataFrame({"x": [1, 1]}), pd.DataFrame({"x": [1, 1]})
    one.attrs["made by"] = "us"
    assert "dppandas.source" not in one.merge(other).attrs
    with pytest.raises(pd.errors.MergeError):
        one.merge(other, on="x", validate="one_to_one")


def test_unit_row_is_the_way_out(exact: None) -> None:
    owned()
    other = pd.DataFrame({"x": [1, 2]})
    refusal(lambda: other.dp.count(epsilon=1), error=LineageError)
    assert dp.private(other, unit="row").count(epsilon=1) == 2
    assert dp.private(other["x"], unit="row").count(epsilon=1) == 2


def test_unit_row_is_no_way_around_a_token() -> None:
    df = owned()
    for unit in ("row", "age"):
        with pytest.raises(LineageError, match="protects each 'id'"):
            dp.private(df, unit=unit, max_rows=1)
    assert dp.record(dp.private(df, unit="id", max_rows=1).count(epsilon=1)).scale == 2
    with pytest.raises(LineageError, match="is missing here"):
        dp.private(df["age"], unit="row").count(epsilon=1)


def test_a_frame_of_an_owned_source_can_not_be_protected_by_rows() -> None:
    df = owned()
    refusal(lambda: dp.protect(df.query("age > 20"), name="adults"), "unit='id'", LineageError)
    dp.protect(df.query("age > 20"), name="adults", unit="id", max_rows=1)


def test_private_names_a_unit_for_a_plain_frame(exact: None) -> None:
    answer = dp.private(people(), unit="id", max_rows=1).count(epsilon=1)
    assert answer == 3
    assert dp.record(answer).unit == "each 'id' (1 row)"
    assert dp.private(people(), unit="id", max_rows=2).count(epsilon=1) == 4


@pytest.mark.parametrize("unit", ["id", "person", 3])
def test_a_series_can_not_name_a_unit(unit: Any) -> None:
    refusal(lambda: dp.private(people()["age"], unit=unit), "Series has no column")


def test_a_column_named_row_is_a_column(exact: None) -> None:
    df = pd.DataFrame({"row": [1, 1, 2], "x": [1, 2, 3]})
    assert dp.private(df, unit="row", max_rows=1).count(epsilon=1) == 2
    refusal(lambda: dp.private(df, unit="row"), "max_rows=", MissingArgument)


def test_truncation_happens_once_for_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    source = dp.protect(people(), name="people", unit="id", max_rows=1)
    source.count(epsilon=1)
    monkeypatch.setattr("dppandas.engines.truncation.kept_rows", None)  # not looked at again
    assert isinstance(source.count(epsilon=1), int)
    assert isinstance(source._table.engine, PandasEngine)


def test_a_unit_outlives_its_session_even_where_rows_are_declared() -> None:
    """The token of an ended session still says whose rows these are: no word makes them rows."""
    df = pd.DataFrame({"owner": [1, 1, 1, 2], "x": [1, 2, 3, 4]})
    dp.protect(df, name="visits", unit="owner", max_rows=2)
    dp.reset()
    refusal(lambda: dp.private(df, unit="row"), "can't change that", LineageError)
    assert dp.record(df.query("x > 1").dp.count(epsilon=1)).scale == 2
