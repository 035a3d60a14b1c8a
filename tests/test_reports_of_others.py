"""What users of other libraries reported there, tried here: each input gives the right value, or a
refusal that charges nothing.

A case is named by the project and the number of its report. Inputs and values are of our own.
"""

import copy
import math
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from effort import calls
from notes import noted
from refusals import charges, refusal

import dppandas as dp
from dppandas.audit import check_sensitivity
from dppandas.engines import parallel
from dppandas.errors import DPError

NAN, INF = math.nan, math.inf
#: One row of sixteen whose number is missing.
GAP = pd.DataFrame({"x": [NAN] + [1.0] * 15})
#: A number that is missing, and two that are infinite.
ODD = pd.DataFrame({"x": [NAN, INF, -INF, 0.5]})
#: The first value that is met is in the last bin.
LAST_FIRST = pd.DataFrame({"x": [2.0] + [0.5] * 20})
#: Two people of three rows each.
PAIR = pd.DataFrame({"u": [1] * 3 + [2] * 3, "g": ["a"] * 6, "x": [10] * 3 + [-10] * 3})
#: A divisor of 0.
REST = pd.DataFrame({"n": range(16), "m": [0] + [3] * 15})
#: Values far beyond their bounds.
FAR = pd.DataFrame({"x": [50.0, 1.0, 2.0], "y": [50.0, 3.0, 1.0]})
#: A time in the year 287,168.
FAR_OFF = np.array([1_615_680_000_000_000, 9 * 10**18], dtype="M8[us]")
#: Labels of which one is met by nobody, and rows that share labels of the index.
LABELS = pd.DataFrame({
    "a": pd.Categorical(["x", "y", "x"], ["x", "y", "z"]),
    "b": pd.Categorical(["p", "p", "q"], ["p", "q"]),
})  # fmt: skip
EDGES = pd.DataFrame({"x": [0.0, 1.0, 2.5, 3.0]}, index=[0, 0, 1, 1])
#: Nearly all people have one row, and few have eleven.
FEW_HAVE_MANY = pd.DataFrame({"u": np.repeat(range(100), [1] * 80 + [11] * 20)})
#: Someone's rows beyond max_rows are 4, another's are 0.
UNEQUAL = pd.DataFrame({"u": [1] * 100 + [2] * 10, "x": [4.0] * 100 + [0.0] * 10})


def protected(rows: pd.DataFrame, **terms: Any) -> Any:
    """A frame that is the only source of a new session, which has enough for all that is asked."""
    dp.reset()
    dp.session(epsilon=1000, delta=1e-3)
    return dp.protect(rows.copy(), name="s", **terms)


def scale(answer: Any) -> float:
    return float(dp.record(answer).scale)


# --- right values ---------------------------------------------------------------------------------


class Case(NamedTuple):
    """What is asked of a frame, and the value that is right."""

    rows: pd.DataFrame
    ask: Callable[[Any], Any]
    right: Any
    terms: dict[str, Any] = {}  # noqa: RUF012


PEOPLE: dict[str, Any] = {"unit": "u", "max_rows": 10}
BOTH: dict[str, Any] = {"domain": {"a": ["x", "y", "z"], "b": ["p", "q"]}}
FROM_0 = pd.IntervalIndex.from_breaks([0, 1, 3])
LOWEST = pd.cut(EDGES["x"], [0, 1, 3], include_lowest=True)


def far_off(rows: Any) -> dict[str, Case]:
    """Parts of two times, one of which most programs can't hold."""
    month = 3 + int(str(FAR_OFF[1].astype("M8[M]")).rpartition("-")[2])
    asked: dict[str, tuple[Callable[[Any], Any], float]] = {
        "year": (lambda t: t.dt.year.sum(bounds=(2000, 2030), epsilon=1), 2021 + 2030),
        "month": (lambda t: t.dt.month.sum(epsilon=1), month),
        "floor": (lambda t: t.dt.floor("D").count(epsilon=1), 2),
        "beyond four digits": (lambda t: t.dt.strftime("%Y").count(epsilon=1), 1),
        "beyond 9999": (lambda t: (t.dt.year > 9999).sum(epsilon=1), 1),
    }
    return {
        f"opendp#2942, {rows.dtypes['t']}, {name}": Case(rows, partial(of_time, ask), right)
        for name, (ask, right) in asked.items()
    }


def of_time(ask: Callable[[Any], Any], p: Any) -> Any:
    return ask(p["t"])


RIGHT: dict[str, Case] = {
    "opendp#2935, count": Case(ODD, lambda p: p["x"].count(epsilon=1), 3),
    "opendp#2935, sum": Case(ODD, lambda p: p["x"].sum(bounds=(0, 1), epsilon=1), 1 + 0 + 0.5),
    "opendp#2935, mean": Case(ODD, lambda p: p["x"].mean(bounds=(0, 1), epsilon=1), 1.5 / 3),
    "opendp#2938": Case(
        pd.DataFrame({"x": ["a"] + ["1"] * 15}),
        lambda p: p["x"].astype(float).count(epsilon=1), 15),
    "opendp#2939": Case(GAP, lambda p: p["x"].cut([0, 1.5]).count(epsilon=1), 15),
    "opendp#2940": Case(REST, lambda p: (p["n"] % p["m"]).count(epsilon=1), 15),
    **far_off(pd.DataFrame({"t": FAR_OFF})),
    **far_off(pd.DataFrame({"t": FAR_OFF}).astype("M8[s]")),
    "opendp#2944": Case(
        LAST_FIRST, lambda p: p["x"].cut([0, 1, 3], labels=False).sum(epsilon=1), 1),
    "opendp#2944, one bin": Case(
        LAST_FIRST[:1], lambda p: p["x"].cut([0, 1, 3], labels=False).sum(epsilon=1), 1),
    "opendp#2945": Case(
        PAIR, lambda p: scale(p.groupby("g", keys=["a"])["x"].sum(bounds=(-10, 10), epsilon=1)),
        3 * 10, {"unit": "u", "max_rows": 3}),
    "opendp#2949": Case(
        PAIR, lambda p: scale(p.assign(g="'z'").groupby("g", keys=["z"]).size(epsilon=1)), 5,
        {"unit": "u", "max_rows": 5}),
    "smartnoise#380": Case(PAIR, lambda p: scale(p.count(epsilon=1)), 10, PEOPLE),
    "smartnoise#622": Case(
        FAR, lambda p: p.cov(bounds=(0, 10), epsilon=1), FAR.clip(0, 10).cov()),
    "diffprivlib#87": Case(GAP, lambda p: p["x"].mean(bounds=(0, 4), epsilon=1), 1),
    "tumult 0.21": Case(
        pd.DataFrame({"x": [1.0, 2.0, 2.0, 3.0] * 200 + [INF, -INF] * 5}),
        lambda p: p["x"].suggest_bounds(epsilon=1)[["lower", "upper"]].tolist(), [0.5, 4]),
    "google#72": Case(
        UNEQUAL, lambda p: p["x"].mean(bounds=(0, 4), epsilon=1), (10 * 4 + 10 * 0) / 20, PEOPLE),
    "google#72, scale": Case(
        UNEQUAL, lambda p: scale(p["x"].mean(bounds=(0, 4), epsilon=1)), 10 * 4, PEOPLE),
    "google#258": Case(
        FEW_HAVE_MANY,
        lambda p: p.per_unit().agg(n="size")["n"].suggest_bounds(epsilon=1)["upper"],
        16, {"unit": "u", "max_rows": 1000}),
    "pandas#46357, #44001, #35028": Case(
        LABELS, lambda p: p.groupby(["a", "b"], observed=True, sort=True).size(epsilon=1).tolist(),
        [1, 1, 1, 0, 0, 0], BOTH),
    "pandas#23164, #17047, #59641": Case(
        EDGES,
        lambda p: p["x"].cut([0, 1, 3], include_lowest=True).value_counts(epsilon=1, sort=False),
        LOWEST.value_counts(sort=False)),
    "pandas#23164, the right edges left out": Case(
        EDGES, lambda p: p["x"].cut(
            [0, 1, 3], right=False, include_lowest=True).value_counts(epsilon=1, sort=False),
        pd.cut(EDGES["x"], [0, 1, 3], right=False).value_counts(sort=False)),
    "pandas#34838, #42185": Case(
        EDGES, lambda p: dp.cut(p["x"], FROM_0).value_counts(epsilon=1, sort=False),
        pd.cut(EDGES["x"], FROM_0).value_counts(sort=False)),
}  # fmt: skip


def test_values_are_right_and_paid_for(exact: None) -> None:
    for name, case in RIGHT.items():
        with noted(name):
            p = protected(case.rows, **case.terms)
            found, right = case.ask(p), case.right
            assert charges() == 1
            if isinstance(right, pd.Series):
                assert list(found.index) == list(right.index)
            np.testing.assert_allclose(found, right, rtol=1e-6)


def test_an_absurd_time_of_arrow_is_read_the_same(exact: None) -> None:
    pytest.importorskip("pyarrow")
    for name, case in far_off(
        pd.DataFrame({"t": FAR_OFF}).astype("timestamp[us][pyarrow]")
    ).items():
        with noted(name):
            assert case.ask(protected(case.rows)) == case.right


#: Operations of which each person moves the integers by no more than is declared, whatever is
#: missing, infinite or beyond its bounds: what is asked, the rows, and whose they are.
MOVED: dict[str, tuple[Callable[[Any], Any], pd.DataFrame, dict[str, Any]]] = {
    "opendp#2935": (lambda p: p["x"].agg(["sum", "mean"], bounds=(0, 1), epsilon=1), ODD, {}),
    "opendp#2939": (lambda p: p["x"].cut([0, 1.5]).count(epsilon=1), GAP, {}),
    "opendp#2940": (lambda p: (p["n"] % p["m"]).count(epsilon=1), REST, {}),
    "opendp#2942": (
        lambda p: p["t"].dt.year.mean(bounds=(2000, 2030), epsilon=1),
        pd.DataFrame({"t": FAR_OFF}), {}),
    "opendp#2944": (
        lambda p: p["x"].cut([0, 1, 3], labels=False).sum(epsilon=1), LAST_FIRST, {}),
    "opendp#2945": (
        lambda p: p.groupby("g", keys=["a"])["x"].sum(bounds=(-10, 10), epsilon=1),
        PAIR, {"unit": "u", "max_rows": 3}),
    "opendp#2949": (
        lambda p: p.assign(g="'z'").groupby("g", keys=["z"]).size(epsilon=1),
        PAIR, {"unit": "u", "max_rows": 2}),
    "smartnoise#622": (lambda p: p.cov(bounds=(0, 10), epsilon=1), FAR, {}),
    "google#72": (
        lambda p: p["x"].mean(bounds=(0, 4), epsilon=1), UNEQUAL[90:], PEOPLE),
}  # fmt: skip


def test_nobody_moves_them_further_than_declared() -> None:
    for name, (ask, rows, terms) in MOVED.items():
        with noted(name):
            report = check_sensitivity(ask, rows, **terms, pairs=4)
            assert report.ok, str(report)
            assert report.releases >= 4


# --- refusals -------------------------------------------------------------------------------------


def spark_connect() -> Any:
    """A frame as of Spark's client, whose library isn't needed to know it."""
    return type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()


#: The rows, whose they are, what is written, and what the message has to say.
REFUSED: dict[str, tuple[pd.DataFrame, dict[str, Any], Callable[[Any], Any], str]] = {
    "opendp#2936": (
        GAP, {}, lambda p: p["x"].fillna(NAN).sum(bounds=(0, 1), epsilon=1),
        "isn't missing itself"),
    "opendp#2944": (
        LAST_FIRST, {}, lambda p: p["x"].cut([0, 1, 3]).cat.codes, "no 'cat'.*declare labels"),
    "opendp#2949": (PAIR, PEOPLE, lambda p: p.assign(u=0), "'u' is the unit"),
    "opendp#2610, transform": (
        PAIR, PEOPLE, lambda p: p.groupby("u")["x"].transform(lambda x: x - x.mean()),
        "transform\\('mean'\\)"),
    "opendp#2610, shift": (
        PAIR, PEOPLE, lambda p: p.groupby("u")["x"].shift(1), r"sort_values\('when'\)\.groupby"),
    "opendp#2550, a plan": (PAIR, PEOPLE, lambda p: p.sql, "no 'sql'"),
    "opendp#2550, an address": (
        PAIR, PEOPLE, lambda p: dp.protect("sqlite:///x.db", "d"), "sqlite:///x.db"),
    "smartnoise#485": (
        PAIR, PEOPLE, lambda p: dp.synthesize(p, rows=9, epsilon=1), "no declared labels"),
    "smartnoise#512": (
        PAIR, PEOPLE, lambda p: p.merge(dp.protect(PAIR.copy(), "t", **PEOPLE), on="u"),
        "can't be merged.*before dp.protect"),
    "diffprivlib#87": (GAP, {}, lambda p: p["x"].mean(epsilon=1), "bounds= is needed for 'x'"),
    "tumult#47": (GAP, {}, lambda p: dp.protect(spark_connect(), "c"), "Spark Connect"),
    "pandas#60357": (
        PAIR, PEOPLE, lambda p: dp.private(PAIR.merge(PAIR, on="u")).count(epsilon=1),
        "these rows may come from there"),
    "pandas#34838": (
        EDGES, {}, lambda p: dp.cut(p["x"], FROM_0, labels=["a", "b"]), "Leave labels= out"),
}  # fmt: skip


def test_refusals_charge_nothing() -> None:
    for name, (rows, terms, ask, match) in REFUSED.items():
        with noted(name):
            p = protected(rows, **terms)
            refusal(lambda ask=ask, p=p: ask(p), f"(?s){match}", DPError)


# --- of one report each ---------------------------------------------------------------------------


def test_few_rows_have_numbers_for_answers(exact: None) -> None:
    """smartnoise#74, #75."""
    asked = ["count", "sum", "mean", "std", "median"]
    for number in (0, 1, 3):
        with noted(number):
            rows = pd.DataFrame({"x": np.arange(number, dtype=float)})
            p = protected(rows, domain={"x": (0, 5)})
            found = p["x"].agg(asked, epsilon=60)
            assert np.isfinite(found).all()
            assert found["count"] == number
            assert abs(found["sum"] - rows["x"].sum()) < 1e-6
            assert all(0 <= found[name] <= 5 for name in ("mean", "std", "median"))


def test_a_sum_within_no_width_is_known_and_free() -> None:
    """smartnoise#128."""
    p = protected(FAR)
    found = p["x"].sum(bounds=(0, 0), epsilon=1)
    assert dp.intervals(found)[["value", "error", "low", "high"]].to_numpy().tolist() == [[0.0] * 4]
    assert dp.ledger().spent == 0


def test_synthetic_rows_are_whole() -> None:
    """opendp#2555, smartnoise#575, #591: the column that names people isn't made up."""
    labels: dict[str, list[Any]] = {"a": ["x", "y"], "b": [True, False], "c": [0, 1]}
    rows = pd.DataFrame({name: [*values] * 2 for name, values in labels.items()})
    owned: list[dict[str, Any]] = [{}, {"unit": "id", "max_rows": 4}]
    for terms in owned:
        with noted(terms):
            p = protected(rows.assign(id=1) if terms else rows, domain=labels, **terms)
            made = dp.synthesize(p, rows=20, epsilon=1)
            assert (list(made), len(made)) == (list("abc"), 20)
            assert all(made[name].isin(values).all() for name, values in labels.items())


def test_columns_of_all_kinds_are_made_up_once_they_are_cut() -> None:
    """smartnoise#485: which bins there are is for the analyst to say."""
    rows = pd.DataFrame({
        "text": ["a", None, "b"], "whole": [1, 2, 3], "part": [0.1, 0.2, 0.3],
        "day": pd.date_range("2020", periods=3),
    })  # fmt: skip
    p = protected(rows, domain={"text": ["a", "b"]})
    days = pd.date_range("2020", periods=3, freq="2D")
    cut = p.assign(
        whole=p["whole"].cut([0, 2, 4]), part=p["part"].cut([0, 1]),
        day=p["day"].cut(days, right=False),
    )  # fmt: skip
    made = dp.synthesize(cut, rows=9, epsilon=1)
    assert made[["whole", "part", "day"]].notna().all(axis=None)
    assert all(day.left in days[:2] for day in made["day"])
    assert made["text"].dropna().isin(["a", "b"]).all()


def test_both_noises_answer_under_rho() -> None:
    """tumult#99: ε is charged as the ρ that it implies, ε tanh(ε/2)."""
    dp.session(rho=10, delta=1e-6)
    p = dp.protect(FAR.copy(), name="s")
    assert scale(p["x"].count(epsilon=1)) == 1
    assert dp.ledger().spent == pytest.approx(math.tanh(0.5))
    noisy = p["x"].sum(bounds=(0, 4), rho=0.1)
    assert scale(noisy) == pytest.approx(4 / math.sqrt(2 * 0.1), rel=1e-6)
    assert dp.ledger().spent == pytest.approx(math.tanh(0.5) + 0.1)


def test_counts_below_0_stay_and_are_said_to_be_noise(frozen: Callable[[int], None]) -> None:
    """pg_diffix#302, opendp#2318: cut off at 0, their sum would be too large."""
    frozen(-5)
    p = protected(pd.DataFrame({"x": ["a", "b", "b"]}), domain={"x": list("abcde")})
    found = p["x"].value_counts(epsilon=0.1)
    assert found.to_dict() == {"a": -4, "b": -3, "c": -5, "d": -5, "e": -5}
    told = dp.intervals(found)
    assert told["noise_dominated"].all()
    assert (told["high"] > 0).all()


def test_many_keys_are_counted_in_time_that_grows_as_they_do(exact: None) -> None:
    """opendp#2775."""
    rows = pd.DataFrame({"a": np.arange(2000) % 24, "b": np.arange(2000) % 40})

    def ask(number: int) -> Any:
        keys = {"a": range(number), "b": range(40)}
        return protected(rows).groupby(["a", "b"], keys=keys).size(epsilon=1)

    ask(1)  # what is imported or made once
    few, many = calls(lambda: ask(6)), calls(lambda: ask(24))
    assert many < 4 * few
    wanted = pd.crosstab(rows["a"], rows["b"]).stack()
    assert ask(24).sort_index().to_dict() == wanted.to_dict()


# --- pandas' own attrs and accessors --------------------------------------------------------------


def test_rows_put_together_are_no_longer_verified(exact: None) -> None:
    """pandas#45824: attrs outlive concat. The rows are still of the same people."""
    rows = PAIR.copy()
    dp.session(epsilon=10)
    p = dp.protect(rows, name="s", **PEOPLE)
    twice: Any = dp.private(pd.concat([rows, rows]))
    assert "(verified)" in repr(p)
    assert "(asserted)" in repr(twice)
    found = twice.count(epsilon=1)
    assert (found, scale(found)) == (12, 10)


def test_what_pandas_carries_along_is_copied_at_no_cost() -> None:
    """pandas#60070: attrs are copied for each group."""
    rows = PAIR.copy()
    dp.session(epsilon=1)
    dp.protect(rows, name="s")
    (token,) = rows.attrs.values()
    assert isinstance(token, str)
    assert copy.deepcopy(token) is token


def test_the_accessor_sees_rows_and_columns_that_were_added(exact: None) -> None:
    """pandas#18827. What was kept of it before, and what was protected, is as it was."""
    dp.session(epsilon=10)
    rows = pd.DataFrame({"x": [1.0] * 10})
    assert "x" in rows.dp.columns  # the first use in a process imports what makes the others
    before: Any = rows.dp
    p = dp.protect(rows, name="s")
    rows.loc[10] = 1.0
    rows["y"] = 2.0
    after: Any = rows.dp
    frames = [before, p, after]
    assert [list(frame.columns) for frame in frames] == [["x"], ["x"], ["x", "y"]]
    assert [frame.count(epsilon=1) for frame in frames] == [10, 10, 11]


def test_whether_labels_are_observed_is_one_question() -> None:
    """pandas#46357: which labels are met by somebody is not told, so the second is free."""
    p = protected(LABELS, **BOTH)
    tables = [p.groupby(["a", "b"], observed=seen).size(epsilon=1) for seen in (True, False)]
    assert tables[0].equals(tables[1])
    assert dp.ledger().spent == 1


def test_each_value_is_in_the_bin_that_is_shown() -> None:
    """pandas#17047, #23164: with include_lowest the first edge is in the first label, too."""
    for edges in ([0, 1, 3], [1e-5, 2e-5], [-1, 0, 1], [10**7, 10**7 + 1], [0.12345, 0.5]):
        with noted(edges):
            p = protected(pd.DataFrame({"x": edges[:1]}))
            bins = p["x"].cut(edges, include_lowest=True).value_counts(epsilon=1).index
            assert sum(edges[0] in label for label in bins) == 1


# --- places ---------------------------------------------------------------------------------------


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What a notebook is told to show: by which handle, and the page."""
    pytest.importorskip("ipywidgets")
    found: list[tuple[str, str]] = []
    place = "dppandas.display.notebook.view"
    monkeypatch.setattr(f"{place}.display", lambda *a, **k: None)
    for name in ("display", "update"):
        monkeypatch.setattr(
            f"{place}.DisplayHandle.{name}",
            lambda self, page: found.append((self.display_id, page.data)),
        )
    return found


def test_the_ledger_in_a_file_needs_no_widget_and_is_always_the_newest(
    shown: list[tuple[str, str]],
) -> None:
    """ipywidgets#3823, colab#516: the file has it as plain HTML. vscode-jupyter#12755, #13105:
    there is one output, and each update is whole."""
    from dppandas.display.notebook.view import View

    p = protected(FAR)
    view = View(dp.ledger())
    view.show()
    for column in ("x", "y"):
        p[column].count(epsilon=1)
        view.update()
    assert len({handle for handle, _ in shown}) == 1
    asked = [[f"count of {name}" in page for name in "xy"] for _, page in shown]
    assert asked == [[False, False], [True, False], [True, True]]
    for _, page in shown:
        assert not any(word in page.lower() for word in ("<script", "model_id", "widget-view"))


def test_rows_are_read_where_no_thread_starts(
    exact: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """jupyterlite#840, #1064: a browser's Python has none. A ledger in a file works, too."""
    tried: list[threading.Thread] = []

    def start(thread: threading.Thread) -> None:
        tried.append(thread)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    monkeypatch.setattr(parallel, "workers", lambda: 3)
    monkeypatch.setattr(parallel, "WORTH", -1.0)  # however fast they are read
    dp.session(epsilon=2, store=tmp_path / "a.ledger")
    p = dp.protect(pd.DataFrame({"x": np.arange(600_000) % 10}), name="s", version="1")
    assert p["x"].mean(bounds=(0, 10), epsilon=1) == 4.5
    assert tried
    assert dp.ledger().spent == 1


def test_nothing_has_to_be_compiled() -> None:
    """PyDP#402, #454: no wheel for some machine."""
    files = [path for path in Path(dp.__file__).parent.rglob("*") if path.is_file()]
    kinds = {path.suffix for path in files if "__pycache__" not in path.parts}
    assert ".py" in kinds
    assert not kinds & {".so", ".pyd", ".dylib", ".dll", ".pyx", ".c", ".cpp", ".rs"}
