"""A wrong domain is corrected by running its cell again, until something is charged."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal

import dppandas as dp
from dppandas.errors import LineageError, SourceError
from dppandas.release.session import running


def table() -> pd.DataFrame:
    return pd.DataFrame({
        "who": range(40), "age": [20.0, 30, 40, 50] * 10, "sex": list("fmmf") * 10,
        "when": pd.date_range("2020-01-01", periods=40),
        "late": pd.to_timedelta(range(40), unit="h"),
    })  # fmt: skip


def protected(df: pd.DataFrame | None = None, name: str = "people", **terms: Any) -> Any:
    return dp.protect(table() if df is None else df, name, **{"version": "1", **terms})


def known() -> Any:
    """The facts of the source that the session holds."""
    return dp.session()._sources["people"].facts.known


def facts(frame: Any) -> str:
    """Of which types too: 1 equals True."""
    return repr(dict(frame._table.source.domain))


WRONG, RIGHT = {"age": (0, 100)}, {"age": (0, 1000)}


def both() -> tuple[Any, Any]:
    """A frame of a wrong domain, and one of the corrected domain."""
    return protected(domain=WRONG), protected(domain=RIGHT)


# --- until something is charged -------------------------------------------------------------------


@pytest.mark.parametrize(("wrong", "right"), [
    ((0, 100), (0, 1000)), ([0, 1000], (0, 1000)), ((0, 1), [0, 1]), ([1], [True]), ([1], ["1"]),
    ([1, 2], [2, 1]), (("2020-01-01", "2020-02-01"), ("2020-01-01", "2021-01-01")),
])  # fmt: skip
@pytest.mark.parametrize("has_store", [False, True])
def test_the_cell_run_again_corrects_it(
    wrong: Any, right: Any, has_store: bool, tmp_path: Path
) -> None:
    dp.session(epsilon=9, store=tmp_path / "a.ledger" if has_store else None)
    expected = facts(protected(name="other", domain={"age": right, "sex": ["m", "f"]}))
    old = protected(domain={"age": wrong, "sex": ["f", "m"]})
    kept = facts(old)
    for _ in range(2):
        new = protected(domain={"age": right, "sex": ["m", "f"]})
        assert facts(new) == expected
    assert facts(old) == kept != expected
    assert dp.ledger().spent == 0


def test_the_corrected_bounds_clip(exact: None) -> None:
    df = table().assign(age=lambda df: df["age"] * 10)
    protected(df, domain=WRONG)
    assert protected(df, domain=RIGHT)["age"].mean(epsilon=1) == 350


@pytest.mark.parametrize("charge", [
    lambda frame, df: frame.count(epsilon=1),
    lambda frame, df: frame.partition("sex", keys=["f", "m"])["f"].count(epsilon=1),
    lambda frame, df: df.dp.count(epsilon=1),  # asserted
])  # fmt: skip
def test_a_charge_fixes_the_domain(charge: Callable[[Any, Any], Any]) -> None:
    df = table()
    frame = protected(df, domain=WRONG)
    charge(frame, df)
    before = str(dp.ledger().spent)
    for _ in range(2):
        said = refusal(lambda: protected(df, domain=RIGHT), r"was 0 to 100, is", SourceError)
    assert "dp.reset()" in said
    assert "loses the ledger" in said
    assert facts(protected(df, domain=WRONG)) == facts(frame)
    assert str(dp.ledger().spent) == before


def test_a_release_that_fails_is_charged_and_so_fixes_it(monkeypatch: Any) -> None:
    frame = protected(domain=WRONG)
    with monkeypatch.context() as patch:
        patch.setattr("dppandas.engines.pandas.PandasEngine.accumulate_rows", None)
        with pytest.raises(dp.errors.ReleaseFailed):
            frame.count(epsilon=1)
    assert dp.ledger().spent == 1
    refusal(lambda: protected(domain=RIGHT), "loses the ledger", SourceError)


OTHER_KERNEL = """
import sys
import pandas as pd
import dppandas as dp

dp.session(store=sys.argv[1])
df = pd.DataFrame({"age": [20.0, 30, 40, 50] * 10})
dp.protect(df, sys.argv[2], version=sys.argv[3]).count(epsilon=1)
"""


@pytest.mark.parametrize(
    ("name", "version", "is_fixed"),
    [("people", "1", True), ("people", "2", False), ("others", "1", False)],
)
def test_a_charge_by_another_kernel_fixes_it(
    name: str, version: str, is_fixed: bool, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "a.ledger"
    dp.session(epsilon=9, store=file)
    df = table()[["age"]]
    protected(df, domain=WRONG)
    command = [sys.executable, "-W", "ignore", "-c", OTHER_KERNEL, str(file), name, version]
    subprocess.run(command, check=True)
    assert dp.ledger().spent == 1
    if not is_fixed:
        assert facts(protected(df, domain=RIGHT)) == "{'age': Bounds(lower=0.0, upper=1000.0)}"
        return
    refusal(lambda: protected(df, domain=RIGHT), r"dp\.session\(store=.*a\.ledger'\)", SourceError)


def test_what_the_refusal_advises_works(tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    dp.session(epsilon=9, store=file)
    frame = protected(domain=WRONG)
    count, mean = frame.count(epsilon=1), frame["age"].mean(epsilon=1)
    said = refusal(lambda: protected(domain=RIGHT), "only the frames are lost", SourceError)
    assert f"dp.session(store={str(file)!r})" in said
    anew(store=file)
    new = protected(domain=RIGHT)
    assert new.count(epsilon=1) == count
    assert new["age"].mean(bounds=(0, 100), epsilon=1) == mean
    assert dp.ledger().spent == 2
    new["age"].mean(epsilon=1)  # another question
    assert dp.ledger().spent == 3


def test_a_charge_between_the_look_and_the_change_is_right(monkeypatch: Any) -> None:
    """Another kernel, or thread, may charge then. Its question names the bounds that it uses."""
    old = protected(domain=WRONG)
    asked: list[Any] = []

    def charges_meanwhile(*which: Any) -> int:
        asked.append(old["age"].mean(epsilon=1))
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(dp.session().ledger._store, "charges_of", charges_meanwhile)
        new = protected(domain=RIGHT)
    assert len(asked) == 1
    assert "in 0 to 100" in dp.record(asked[0]).query
    assert old["age"].mean(epsilon=1) == asked[0]
    assert dp.ledger().spent == 1
    assert "in 0 to 1000" in dp.record(new["age"].mean(epsilon=1)).query
    assert dp.ledger().spent == 2


def test_a_refusal_notes_no_kinds(tmp_path: Path) -> None:
    """They would hold for the version as long as the ledger does."""
    dp.session(epsilon=9, store=tmp_path / "a.ledger")
    protected(domain=WRONG).count(epsilon=1)
    refusal(lambda: protected(domain=RIGHT, kinds={"sex": "number"}), "other terms", SourceError)
    protected(domain=WRONG, kinds={"sex": "text"})
    refusal(lambda: protected(domain=WRONG, kinds={"sex": "number"}), "was text", SourceError)


# --- bounds and keys only -------------------------------------------------------------------------


@pytest.mark.parametrize("other", [
    {"unit": "who", "max_rows": 1}, {"max_rows": 2},
    {"kinds": {"sex": "number"}}, {"version": "2"}, {"df": table()[:9]},
])  # fmt: skip
def test_nothing_but_bounds_and_keys_is_corrected(other: dict[str, Any]) -> None:
    terms = {"unit": "sex", "max_rows": 1, "kinds": {"sex": "text"}}
    protected(domain=WRONG, **terms)
    before = known()
    asked = {"domain": RIGHT, **terms, **other}
    refusal(lambda: protected(**asked), error=(SourceError, LineageError))
    assert known() == before


def test_a_wrong_domain_is_no_correction() -> None:
    frame = protected(domain=WRONG)
    for wrong in ({"age": (9, 0)}, {"wage": (0, 1)}, {"age": (0, 1000), "sex": "f"}):
        refusal(lambda wrong=wrong: protected(domain=wrong))
    assert facts(protected(domain=WRONG)) == facts(frame)
    assert known() == frame._table.source.domain


def test_a_preview_corrects_nothing() -> None:
    frame = protected(domain=WRONG)
    with dp.preview():
        protected(domain=RIGHT)
    assert known() == frame._table.source.domain


# --- frames made before ---------------------------------------------------------------------------


def test_frames_made_before_keep_their_facts_and_pay_for_their_own_questions() -> None:
    old, new = both()
    older = old.query("age > 20")
    assert facts(older) == facts(old)
    asked = [frame["age"].mean(epsilon=1) for frame in (old, new)]
    assert dp.ledger().spent == 2
    assert [frame["age"].mean(epsilon=1) for frame in (old, new)] == asked
    assert old.count(epsilon=1) == new.count(epsilon=1)  # which asks for no bounds
    assert dp.ledger().spent == 3


def test_frames_made_before_are_refused_by_name_where_they_contradict() -> None:
    old, new = both()
    for ask in (
        lambda: dp.concat([old, new]), lambda: dp.concat([new, old]),
        lambda: dp.crosstab(old["age"] < 35, new["sex"], keys={"sex": ["f", "m"]}),
        lambda: old.declare(age=(0, 100)),
    ):  # fmt: skip
        refusal(ask, "source 'people'.*'age'", SourceError)
    assert dp.concat([old, old.query("age > 20")]) is not None
    assert facts(old.declare(age=(0, 1000))) == facts(new)


def test_parts_by_other_keys_add_up() -> None:
    old = protected(domain={"sex": ["f", "m"]}).partition("sex")
    new = protected(domain={"sex": ["f", "m", "x"]}).partition("sex")
    old["f"].count(epsilon=1)
    new["m"].count(epsilon=1)
    assert dp.ledger().spent == 2


# --- declare --------------------------------------------------------------------------------------


def test_what_declare_got_wrong_is_corrected_by_protect() -> None:
    frame = protected().declare(age=(0, 100))
    said = refusal(lambda: frame.declare(age=(0, 1000)), "nothing is charged yet", SourceError)
    assert "correct domain= in dp.protect" in said
    assert facts(protected(domain=RIGHT).declare(age=(0, 1000))) == facts(protected(domain=RIGHT))


def test_other_tables_are_made_again() -> None:
    frame = dp.private(table(), unit="row").declare(age=(0, 100))
    refusal(lambda: frame.declare(age=(0, 1000)), "make this frame again", SourceError)
    assert running() is None  # no session was opened to look
    units = protected(unit="who", max_rows=1).per_unit().agg(age=("age", "sum"))
    units = units.declare(age=(0, 100))
    refusal(lambda: units.declare(age=(0, 1000)), "make this frame again", SourceError)
