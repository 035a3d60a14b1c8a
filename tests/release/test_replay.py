"""The same query of the same version is answered once, and given again for nothing."""

import datetime
import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ledgers import anew
from refusals import refusal

import dppandas as dp
from dppandas.errors import ReleaseFailed
from dppandas.ledger import canonical
from dppandas.ledger.ledger import Ledger
from dppandas.privacy.accounting.losses import Epsilon
from dppandas.release import release
from dppandas.release.context import watching
from dppandas.release.query import Query
from dppandas.rows.expressions import And, Column, Compare, Literal, Or


@pytest.fixture(autouse=True)
def budget() -> None:
    dp.session(epsilon=1000)


def test_a_cell_run_again_gives_the_same_and_costs_nothing() -> None:
    first = ops.people()["a"].mean(epsilon=0.5)
    again = ops.people()["a"].mean(epsilon=0.5)
    assert again == first
    assert dp.ledger().spent == Fraction(1, 2)
    assert ops.statuses() == ["released", "replayed"]
    told = dp.ledger().to_frame()
    assert told["status"].tolist() == ["released", "replayed"]
    assert (told["epsilon"].tolist(), told.index.tolist()) == ([0.5, 0.0], [1, 1])
    assert "mean of a in 0 to 100 · again, free" in repr(dp.ledger())
    assert dp.record(again).number == dp.record(first).number
    assert dp.record(again).intervals() == dp.record(first).intervals()


def test_fresh_draws_anew_and_pays() -> None:
    p = ops.people()
    # 24 numbers of scale 1000: all equal with a probability below 1e-70
    draws = [p[["a"] * 1].sum(epsilon="0.001", fresh=True)["a"] for _ in range(24)]
    assert len(set(draws)) > 1
    assert dp.ledger().spent == Fraction(24, 1000)
    assert p[["a"]].sum(epsilon="0.001")["a"] == draws[0]
    assert [dp.record(p[["a"]].sum(epsilon="0.001")).draw] == [1]


@pytest.mark.parametrize("bad", [1, "yes", np.True_, pd.NA])
def test_fresh_is_true_or_false(bad: object) -> None:
    refusal(lambda: ops.people().count(epsilon=1, fresh=bad), "fresh=")


SAME: list[tuple[Any, Any]] = [
    (lambda p: p.query("a > 3 and b < 9").count, lambda p: p[p["a"] > 3].query("b < 9").count),
    (lambda p: p.query("b < 9").query("a > 3").count, lambda p: p.query("a > 3 and b < 9").size),
    (lambda p: p.query("a > 3 and a > 3").count, lambda p: p.query("a > 3").count),
    (lambda p: p["g"].value_counts(sort=False).release, lambda p: p["g"].value_counts().release),
    (lambda p: p["g"].value_counts(normalize=True).release, lambda p: p.value_counts("g").release),
    (lambda p: p.rename(columns={"a": "z"})["z"].sum, lambda p: p["a"].sum),
    (lambda p: p.query("b == 3").count, lambda p: p.query("b == 3.0").count),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SAME)))
def test_equal_queries_are_known_however_they_are_written(number: int) -> None:
    one, other = SAME[number]
    one(ops.people())(epsilon=1)
    other(ops.people())(epsilon=1)
    assert ops.statuses() == ["released", "replayed"], dp.ledger()


OTHER: list[Any] = [
    lambda p: p.count(epsilon=1), lambda p: p.count(epsilon=2), lambda p: p["a"].count(epsilon=1),
    lambda p: p["b"].count(epsilon=1), lambda p: p.query("a > 3").count(epsilon=1),
    lambda p: p.query("a >= 3").count(epsilon=1),
    lambda p: p.query("a > 3 or b > 3").count(epsilon=1),
    lambda p: p.query("a > 3 and b > 3").count(epsilon=1),
    lambda p: p.query("not a > 3").count(epsilon=1), lambda p: p.query("b == 3.5").count(epsilon=1),
    lambda p: p.query("b == 3").count(epsilon=1), lambda p: p.query("b == True").count(epsilon=1),
    lambda p: p["g"].value_counts(epsilon=1),
    lambda p: p["g"].value_counts(keys=["b", "a", "c", "d"], epsilon=1),
    lambda p: p["g"].value_counts(keys=["a", "b", "c"], epsilon=1),
    lambda p: p["g"].value_counts(dropna=False, epsilon=1),
    lambda p: p["g"].value_counts().idxmax(epsilon=1), lambda p: p["a"].sum(epsilon=1),
    lambda p: p["a"].sum(bounds=(0, 50), epsilon=1), lambda p: p["a"].mean(epsilon=1),
    lambda p: p["a"].var(epsilon=1), lambda p: p["a"].median(epsilon=1),
    lambda p: p["a"].quantile(0.25, epsilon=1), lambda p: p["a"].quantile([0.25, 0.5], epsilon=1),
    lambda p: p.groupby("g")["a"].mean(epsilon=1), lambda p: p.sample(frac=0.5).count(epsilon=1),
    lambda p: p.sample(frac=0.5).sample(frac=0.5).count(epsilon=1),
    lambda p: dp.concat([p, p]).count(epsilon=1), lambda p: p["g"].map({"a": 1}).count(epsilon=1),
    lambda p: p["g"].map({"b": 1}).count(epsilon=1),
    lambda p: p.merge(pd.DataFrame({"g": ["a"], "z": [1]}), on="g", how="inner").count(epsilon=1),
    lambda p: p.merge(pd.DataFrame({"g": ["b"], "z": [1]}), on="g", how="inner").count(epsilon=1),
]  # fmt: skip


def test_other_queries_are_told_apart() -> None:
    for ask in OTHER:
        ask(ops.people())
    assert ops.statuses() == ["released"] * len(OTHER)
    keys = [entry.key for entry in dp.ledger()._entries()]
    assert len(set(keys)) == len(keys)


def test_tables_of_one_row_a_unit_are_told_apart() -> None:
    p = dp.protect(ops.letters(), name="units", unit="b", max_rows=1, domain={"a": (0, 100)})
    for how in ("sum", "max"):
        each = p.per_unit().agg(n=("a", how))
        few = p.query("a > 3").per_unit().agg(n=("a", how))
        for asked in (each, few, each.per_unit().agg(n=("n", "sum"))):
            asked["n"].mean(bounds=(0, 9), epsilon=1)
    assert ops.statuses() == ["released"] * 6
    p.per_unit().agg(n=("a", "max"))["n"].mean(bounds=(0, 9), epsilon=1)
    assert ops.statuses()[-1] == "replayed"


def test_what_the_caller_vouches_for_is_always_drawn() -> None:
    df = ops.letters()
    for _ in range(2):
        df.dp.count(epsilon=1)
        dp.private(df, unit="b", max_rows=1).count(epsilon=1)
        dp.select(df.dp, [0, 1], score=lambda d, c: len(d) * c, sensitivity=1, epsilon=1)
    dp.protect(df, name="people")
    for _ in range(2):
        df.dp.count(epsilon=1)  # the source's frame by its token: identity is no proof
    assert ops.statuses() == ["released"] * 8


def test_another_version_is_another_question() -> None:
    ops.people(version="1").count(epsilon=1)
    anew(epsilon=1000)
    ops.people(version="2").count(epsilon=1)
    assert ops.statuses() == ["released"]


def test_what_is_refused_notes_no_replay() -> None:
    anew(epsilon=1)
    p = ops.people()
    p["a"].agg(["mean", "max"], epsilon=1)
    p["a"].agg(["mean", "max"], epsilon=1)
    assert ops.statuses() == ["released"] * 2 + ["replayed"] * 2
    with pytest.raises(dp.BudgetExceeded):
        p["a"].agg(["mean", "median"], epsilon=1)  # the mean alone was there
    assert ops.statuses() == ["released"] * 2 + ["replayed"] * 2


def test_what_is_read_otherwise_is_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    p = ops.people()
    p.count(epsilon=1)
    monkeypatch.setattr("dppandas.statistics.Count.reading", 2)
    p.count(epsilon=1)
    p.count(epsilon=1)
    assert ops.statuses() == ["released", "released", "replayed"]


def test_a_charge_that_failed_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    p = ops.people()
    with monkeypatch.context() as broken:
        broken.setattr(type(p._table.engine), "accumulate_rows", lambda *a, **k: 1 / 0)
        with pytest.raises(ReleaseFailed):
            p.count(epsilon=1)
    p.count(epsilon=1)
    p.count(epsilon=1)
    assert ops.statuses() == ["failed", "released", "replayed"]


def test_an_audit_draws_each_time() -> None:
    from dppandas.release.session import scratch

    with scratch() as audit:
        for _ in range(2):
            ops.people().count(epsilon=1)
        assert [e.status for e in audit.ledger._entries()] == ["released"] * 2
        with watching(lambda query, mechanism, exact: mechanism.dummy_output(1)):
            ops.people().count(epsilon=1)


@pytest.mark.filterwarnings("ignore:.* is a quantile")
@pytest.mark.parametrize(
    "name",
    [*ops.EVERY, *ops.OF_UNITS, *ops.UNKNOWN, *ops.AT_DELTA, *ops.TESTED],
)
def test_every_operation_is_answered_again_in_another_kernel(name: str, tmp_path: Path) -> None:
    answers = []
    for _ in range(2):
        anew(epsilon=100, delta=0.01, store=tmp_path / "a.ledger")
        private = dp.protect(ops.schema(), name="all", unit="owner", max_rows=2, version="1")
        answers.append(ops.released(name, private))
    assert ops.statuses() == ["released", "replayed"]
    one, other = answers
    if isinstance(one, pd.Index):
        pd.testing.assert_index_equal(one, other)
    elif isinstance(one, pd.Series | pd.DataFrame):
        kind = "series" if isinstance(one, pd.Series) else "frame"
        getattr(pd.testing, f"assert_{kind}_equal")(one, other)
    elif isinstance(one, dp.types.SignificanceResult):
        assert repr(one) == repr(other)
    else:
        assert one == other or one != one or (name in ops.TESTED and repr(one) == repr(other))
        assert type(one) is type(other)


# --- texts ----------------------------------------------------------------------------------------

PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(),
    st.decimals(allow_nan=False, allow_infinity=False), st.fractions(), st.dates(), st.uuids(),
    st.datetimes(min_value=datetime.datetime(1700, 1, 1), max_value=datetime.datetime(2200, 1, 1)),
)  # fmt: skip


NESTED = st.recursive(PLAIN, lambda inner: st.tuples(inner, inner))


def _told_apart(value: Any) -> Any:
    """What is kept apart in an answer: 1, 1.0, True and '1' are four."""
    if isinstance(value, tuple):
        return tuple(map(_told_apart, value))
    if isinstance(value, float):
        return "float", value.hex()
    if isinstance(value, Decimal):
        return "Decimal", str(value)
    return type(value).__name__, repr(value)


def _meant(value: Any) -> Any:
    """What a question means by a value: 1 and 1.0 are one number, but neither True nor '1' is."""
    if isinstance(value, tuple):
        return tuple(map(_meant, value))
    is_number = isinstance(value, int | float | Decimal | Fraction) and type(value) is not bool
    if is_number and not (isinstance(value, float) and math.isinf(value)):
        return "number", Fraction(value)
    return type(value).__name__, repr(value)


@given(NESTED, NESTED)
@example(0, 0.0)
@example(0, -0.0)
@example(Decimal("0.50"), Fraction(1, 2))
@example(Decimal("0.1"), 0.1)
@example(1, True)
@example(1, "1")
@example((1, (2,)), ((1.0, 2),))
def test_texts_are_equal_for_equal_values_only(one: Any, other: Any) -> None:
    same = _meant(one) == _meant(other)
    assert (canonical.text(one) == canonical.text(other)) == same


@given(st.lists(PLAIN.filter(lambda v: not isinstance(v, datetime.datetime)), max_size=3))
def test_what_is_kept_is_given_back(values: list[Any]) -> None:
    import json

    kept = json.loads(json.dumps(canonical.to_json(values)))
    assert _told_apart(canonical.from_json(kept)) == _told_apart(tuple(values))


def test_times_are_given_back_as_they_were() -> None:
    values = (
        pd.Timestamp("2020-01-01 10:00", tz="Europe/Berlin"),
        pd.Timestamp("1600-01-01").as_unit("s"),
        pd.Timestamp("2020-01-01 00:00:00.123456789"),
        pd.Timedelta("1 days 00:00:01"),
    )  # fmt: skip
    back = canonical.from_json(canonical.to_json(values))
    assert back == values
    assert [getattr(b, "tz", None) for b in back] == [getattr(v, "tz", None) for v in values]


A, B, C = (Compare(">", Column(name), Literal(1)) for name in "abc")


def test_the_order_of_and_and_or_means_nothing_and_their_brackets_do() -> None:
    assert canonical.text(And(And(A, B), C)) == canonical.text(And(C, And(B, And(A, A))))
    assert canonical.text(Or(A, B)) == canonical.text(Or(B, A))
    assert canonical.text(Or(And(A, B), C)) != canonical.text(And(Or(A, B), C))
    assert canonical.text(Compare(">", A, B)) != canonical.text(Compare(">", B, A))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=canonical.MANY, max_size=120))
@example([*range(-8, canonical.MANY), -(2**63), 2**63 - 1])
def test_many_whole_numbers_have_the_text_that_few_have(values: list[int]) -> None:
    few = values[: canonical.MANY - 1]
    assert canonical.text(few) == f"({','.join(map(canonical.text, few))})"
    assert canonical.text(values) == f"({','.join(map(canonical.text, values))})"


def test_a_value_without_a_text_makes_a_query_that_is_never_answered_again() -> None:
    refusal(lambda: canonical.text((1, object())), error=canonical.NoCanonicalText)
    refusal(lambda: canonical.to_json([object()]), error=canonical.NoCanonicalText)
    for beyond in (2**5000, np.datetime64(2**62, "Y"), np.timedelta64(5, "Y")):
        with pytest.raises(canonical.NoCanonicalText):
            canonical.text(beyond)
    assert canonical.text(Epsilon(1, 3)) == canonical.text(Fraction(1, 3))
    assert Query.key.__doc__


@pytest.mark.parametrize(("one", "other"), [
    (np.timedelta64(5, "D"), 5), (np.timedelta64(5, "D"), np.timedelta64(5, "h")),
    (1, True), ((1,), (True,)), (2**70, 2**70 + 1), (Decimal("0.1"), 0.1),
    (pd.Timestamp("2020", tz="UTC"), pd.Timestamp("2020")),
    (pd.Timestamp("2020", tz="UTC"), pd.Timestamp("2020", tz="UTC").tz_convert("Asia/Tokyo")),
    ("\ud83d\ude00", "\U0001f600"), ("\ud83d", "\\ud83d"), (["a,b"], ["a", "b"]),
    ({"a": 1}, {"a:i1": None}), ((), ("",)), ("none", None),
])  # fmt: skip
def test_no_two_values_have_one_text(one: Any, other: Any) -> None:
    assert canonical.text(one) != canonical.text(other)
    assert canonical.key(one) != canonical.key(other)


def test_masks_that_differ_in_a_unit_of_time_alone_are_two_partitions() -> None:
    p = dp.protect(pd.DataFrame({"t": [5] * 100}), name="s")
    years, number = np.timedelta64(5, "Y"), 5
    one = p.assign(k=p["t"].isin([years])).partition("k", keys=[True, False])
    other = p.assign(k=p["t"].isin([number])).partition("k", keys=[True, False])
    one[False].count(epsilon=10)
    other[True].count(epsilon=10)
    assert dp.ledger().spent == 20


def interrupted(*args: Any, **more: Any) -> Any:
    raise KeyboardInterrupt("rows")


@pytest.mark.parametrize("when", ["drawn", "before it is stored", "after it is stored"])
def test_an_interrupt_says_what_stays_charged_and_what_asking_again_costs(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = Ledger._settle

    def settled(*args: Any, **more: Any) -> Any:
        settle(*args, **more)
        interrupted()

    p = ops.people()
    with monkeypatch.context() as patched:
        if when == "drawn":
            patched.setattr(release, "_drawn", interrupted)
        else:
            is_after = when.startswith("after")
            patched.setattr(Ledger, "_settle", settled if is_after else interrupted)
        with pytest.raises(KeyboardInterrupt) as stopped:
            p.count(epsilon=1)
    said = str(stopped.value)
    is_stored = when == "after it is stored"
    assert "was charged ε = 1, which stays. " in said
    assert said.endswith("asking again is free." if is_stored else "asking again costs again.")
    assert "rows'" not in said
    p.count(epsilon=1)
    assert dp.ledger().spent == (1 if is_stored else 2)


@pytest.mark.parametrize("is_file", [False, True])
def test_an_interrupt_as_the_charge_is_kept_says_so(
    is_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found: nobody had the entries yet, so the message was empty."""
    dp.reset()
    dp.session(epsilon=9, store=tmp_path / "ledger" if is_file else None)
    p = dp.protect(ops.SCHEMA.copy(), "interrupted", unit="owner", max_rows=3, version="1")
    store = type(dp.ledger()._store)
    add = store.add

    def added(*args: Any, **more: Any) -> Any:
        add(*args, **more)
        interrupted()

    with monkeypatch.context() as patched:
        patched.setattr(store, "add", added)
        with pytest.raises(KeyboardInterrupt) as stopped:
            p.count(epsilon=1)
    assert dp.ledger().spent == 1
    assert "was charged ε = 1, which stays. No answer is stored" in str(stopped.value)


def test_an_interrupt_of_several_says_how_many_answers_are_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn, p, numbers = release._drawn, ops.people(), iter(range(9))

    def second(*args: Any) -> Any:
        return drawn(*args) if next(numbers) < 1 else interrupted()

    with monkeypatch.context() as patched:
        patched.setattr(release, "_drawn", second)
        with pytest.raises(KeyboardInterrupt, match=r"2 releases were charged ε = 2 in all, which "
                           r"stays\. 1 of them are answered"):  # fmt: skip
            p["a"].agg(["count", "median"], epsilon=2)
    p["a"].agg(["count", "median"], epsilon=2)
    assert dp.ledger().spent == 3


def test_an_interrupt_before_the_charge_says_nothing_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Ledger, "_charge", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        ops.people().count(epsilon=1)
    assert str(stopped.value) == "rows"


def test_a_label_with_a_lone_surrogate_is_kept_and_replayed(tmp_path: Path) -> None:
    for text in ("\ud83d", "\ud83d\ude00", "a\udc80\x00"):
        said = json.dumps(canonical.to_json([text, "😀"]))
        assert canonical.from_json(json.loads(said)) == (text, "😀")
    halves = pd.DataFrame({"x": pd.Series(["\ud800", "\ud83d\ude00", "😀"] * 99, dtype=object)})
    answers = []
    for _ in range(2):  # the second time as after a restart
        dp.reset()
        dp.session(epsilon=9, delta="1e-3", store=tmp_path / "ledger")
        p = dp.protect(halves, name="halves", version="1")
        answers.append(p["x"].value_counts(epsilon=2, delta="1e-4"))
    assert set(answers[0].index) == {"\ud800", "\ud83d\ude00", "😀"}
    pd.testing.assert_series_equal(*answers)
    assert dp.ledger().spent == 2
    assert ops.statuses() == ["released", "replayed"]
    assert dp.ledger().verify().is_sound


def test_an_answer_about_half_a_letter_is_shown() -> None:
    """Found: pandas fails at one among texts alone, and the answer was paid for."""
    dp.reset()
    dp.session(epsilon=200, delta="1e-3")
    df = pd.DataFrame({"a": pd.Series(["\ud800"] * 300, dtype=object), "x": 1.0})
    p = dp.protect(df, name="half", kinds={"a": "text"}, domain={"x": (0, 1)})
    keys = {"keys": ["\ud800"], "as_index": False}
    for ask in (
        lambda: p.groupby("a", delta=1e-6, as_index=False).size(epsilon=20),
        lambda: p.groupby("a", **keys).size(epsilon=20),
        lambda: p.groupby("a", **keys)["x"].agg(["mean", "count"], epsilon=20),
        lambda: dp.intervals(p["a"].mode(keys=["\ud800"], epsilon=9)),
        lambda: dp.intervals(p["a"].unique(delta=1e-6, epsilon=9)),
        lambda: dp.synthesize(p[["a"]], rows=9, epsilon=9, keys={"a": ["\ud800"]}),
    ):
        assert "\ud800" in ask().to_numpy().reshape(-1).tolist()
    assert len(p.groupby("a", keys=["\ud800"]).describe(epsilon=20)) == 1


def test_the_same_sums_keep_the_question_and_the_error_that_they_were_asked_for(
    tmp_path: Path,
) -> None:
    """Deviations, variances and their kind share one release, as counts and shares do."""
    for store in (None, tmp_path / "a.ledger"):
        anew(epsilon=10, store=store)
        frame = pd.DataFrame({"a": np.arange(400.0) % 90, "g": ["a", "b"] * 200})
        p = dp.protect(frame, name="n", version="1")
        a, g = p["a"], p["g"]
        asks = [
            lambda a=a: a.std(bounds=(0, 100), ddof=0, epsilon=1),
            lambda a=a: a.std(bounds=(0, 100), epsilon=1),
            lambda a=a: a.sem(bounds=(0, 100), epsilon=1),
            lambda a=a: a.var(bounds=(0, 100), epsilon=1),
            lambda a=a: a.std(bounds=(0, 100), ddof=0, epsilon=1),
            lambda g=g: g.value_counts(keys=["a", "b"], epsilon=1),
            lambda g=g: g.value_counts(keys=["a", "b"], normalize=True, epsilon=1),
        ]
        errors = [dp.record(ask())._answered for ask in asks]
        table = dp.ledger().to_frame()
        assert table.index.tolist() == [1] * 5 + [2] * 2
        assert dp.ledger().spent == 2
        assert table["query"].str.partition(" ")[0].tolist() == [
            "std", "std", "sem", "var", "std", "value_counts", "proportions"
        ]  # fmt: skip
        assert table["details"].str.contains("ddof 0").tolist()[:5] == [True, *[False] * 3, True]
        assert table["error"].tolist() == errors
        assert len({*errors[:4]}) >= 3  # two may round to one
        shown = repr(dp.ledger())
        assert f"the same sums, read as “var of a in 0 to 100” ({errors[3]}), free: once" in shown
        assert shown.count("again, free: once") == 1
        assert len(dp.ledger()._charges()) == 2  # nothing of it is charged, or kept in a file
