"""Answers keep their errors when pandas moves labels between rows and columns."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from notes import noted
from refusals import refusal

import dppandas as dp
from dppandas.errors import RecordError
from dppandas.release.answers import results

ROWS = pd.DataFrame({
    "town": ["x", "y"] * 300, "kind": ["u", "v", "w"] * 200, "age": np.arange(600) % 90,
    "pay": np.arange(600.0),
})  # fmt: skip
DOMAIN = {"town": ["x", "y"], "kind": ["u", "v", "w"], "age": (0, 90), "pay": (0, 600)}


@pytest.fixture
def p() -> Any:
    dp.session(epsilon=1000, delta=1e-3)
    return dp.protect(pd.DataFrame(ROWS.to_dict("list")), "rearranged", domain=DOMAIN)


def answers(p: Any) -> dict[str, Any]:
    both = p.groupby(["town", "kind"])
    return {
        "size": both.size(epsilon=1),
        "mean": both["age"].mean(epsilon=1),
        "means": both[["age", "pay"]].mean(epsilon=1),
        "several": both["age"].agg(["count", "mean"], epsilon=2),
        "panels": p.groupby("town")[["age", "pay"]].agg(["mean", "sum"], epsilon=1),
        "cross": dp.crosstab(p["town"], p["kind"], epsilon=1),
        "counts": both[["age", "pay"]].count(epsilon=1),
    }


def told(answer: Any) -> set[tuple[float, float, float, str]]:
    """Each value with the ends of its interval and its unit. Equal counts may have other ends."""
    found = dp.intervals(answer)[["value", "low", "high", "unit"]]
    return {(float(v), float(low), float(high), unit) for v, low, high, unit in found.to_numpy()}


MOVES = {
    "unstack": lambda a: a.unstack(), "unstack the first": lambda a: a.unstack(0),
    "T": lambda a: a.T, "stack": lambda a: a.stack(), "swaplevel": lambda a: a.swaplevel(),
    "back": lambda a: a.unstack().stack(), "some": lambda a: a.unstack().iloc[:, :2],
    "loc of a list": lambda a: a.loc[list(a.index[:1])],
    "one column": lambda a: a[a.columns[0]], "columns": lambda a: a[[a.columns[-1]]],
}  # fmt: skip


def test_each_number_keeps_its_interval_wherever_it_moves(p: Any) -> None:
    for name, answer in answers(p).items():
        whole = told(answer)
        for move, moved in MOVES.items():
            with noted(name, move):
                try:
                    table = moved(answer)
                except Exception:  # pandas has no such move of it
                    continue
                some = told(table)
                assert some <= whole
                shown = np.asarray(table, dtype=float).reshape(-1).tolist()
                assert {value for value, *_ in some} == {*shown}


def test_of_two_answers_from_one_release_the_wider_errors_are_told(p: Any) -> None:
    alone = p.groupby(["town", "kind"])["age"].mean(epsilon=1)
    beside = p.groupby(["town", "kind"])["age"].agg(["count", "mean"], epsilon=1)
    assert (alone == beside["mean"]).all()
    assert dp.ledger().spent == 1
    wide = told(beside)
    for each in (alone, beside["mean"]):
        assert told(each.unstack()) <= wide
    assert told(alone) != told(beside[["mean"]])


def test_the_ends_come_in_the_shape_of_the_unstacked_answer(p: Any) -> None:
    table = p.groupby(["town", "kind"]).size(epsilon=1).unstack()  # the Series itself is gone
    ends = dp.intervals(table)
    for name in ("low", "high"):
        assert ends[name].unstack().shape == table.shape
        assert ends[name].unstack().columns.equals(table.columns)
    assert (ends["low"].unstack() <= table).all(axis=None)


def test_late_answers_of_other_levels_are_no_hindrance(p: Any) -> None:
    for by in (["town", "kind", "town2"], ["town", "kind"]):
        rows = p.assign(town2=p["town"])
        answer = rows.groupby(by)["age"].mean(epsilon=1)
        assert len(dp.intervals(answer.unstack().stack(future_stack=True))) == len(answer)


def test_combinations_that_nobody_found_have_no_interval() -> None:
    dp.session(epsilon=1000, delta=1e-3)
    rows = pd.DataFrame(ROWS.to_dict("list")).query("town == 'x' or kind == 'u'")
    answer = dp.protect(rows, "some")[["town", "kind"]].value_counts(epsilon=1, delta=1e-6)
    ends = dp.intervals(answer.unstack())
    assert ends["low"].isna().tolist() == [False, False, False, False, True, True]
    refusal(lambda: dp.intervals(answer.unstack(fill_value=0)), error=RecordError)


def test_what_was_computed_or_is_not_known_is_refused_with_the_line_to_write(p: Any) -> None:
    both = p.groupby(["town", "kind"])
    counts, means = both.size(epsilon=1), both["age"].mean(epsilon=1)
    for name, made in {
        "sum": means.unstack() + 1, "doubled": means.unstack() * 2, "zero": means.unstack() * 0,
        "renamed": means.unstack().rename(columns={"u": "v", "v": "u"}),
        "one count": counts.loc["x"].iloc[:1],
    }.items():  # fmt: skip
        with noted(name):
            said = refusal(lambda made=made: dp.intervals(made), error=RecordError)
            assert "[['mean']]" in said
    assert told(means.loc["x"]) <= told(means)  # fractions are no coincidence
    dp.reset()
    dp.session(epsilon=1)
    said = refusal(lambda: dp.intervals(pd.Series([1.5])), error=RecordError)
    assert "unstack" not in said  # where nothing was


def test_a_plot_of_a_column_has_its_own_error_bars(p: Any) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    found = answers(p)
    for name, column in [("several", "mean"), ("means", "pay"), ("panels", "age"), ("cross", "u")]:
        with noted(name, column):
            part = found[name][column]
            axes = np.atleast_1d(np.asarray(dp.plot(part), dtype=object))
            assert len(axes) == (part.shape[1] if part.ndim == 2 else 1)
            if name == "cross":
                continue  # drawn in colours
            for ax, (_, values) in zip(
                axes, pd.DataFrame(part).items() if part.ndim == 2 else [("", part)], strict=True
            ):
                ends = dp.record(part).intervals()
                (bars,) = [each for each in ax.containers if hasattr(each, "has_yerr")]
                segments = bars[2][0].get_segments()
                drawn = sorted((round(s[0][1], 9), round(s[1][1], 9)) for s in segments)
                wide = ends.get(column, ends)
                flat = np.asarray(wide, dtype=float).reshape(len(ends), -1, 2).reshape(-1, 2)
                assert {*drawn} <= {(round(a, 9), round(b, 9)) for a, b in flat.tolist()}
                assert len(drawn) == len(values)
    plt.close("all")


def test_an_answer_is_not_taken_for_one_of_other_data(p: Any) -> None:
    """Found: a second source's answer with the same numbers was taken for the first one's, and
    `refine` was charged to that."""
    other = dp.protect(pd.DataFrame(ROWS.to_dict("list")), "other", domain=DOMAIN)
    asked = [
        each.groupby(["town", "kind"])["town"].nunique(keys=["x", "y"], epsilon=50)
        for each in (p, other)
    ]
    assert asked[0].tolist() == asked[1].tolist()
    assert [dp.record(each).source for each in asked] == ["rearranged", "other"]
    refusal(lambda: dp.record(asked[1].unstack()), "no release record", RecordError)
    dp.reset()
    dp.session(epsilon=100)
    refusal(lambda: dp.record(asked[1].unstack()), "no release record", RecordError)


def test_only_answers_that_hold_a_number_of_a_table_are_looked_at(
    p: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notebooks ask of each table that they show whether it is an answer, also of the largest."""
    both = p.groupby(["town", "kind"])
    answer, *_ = [both["age"].mean(epsilon=1) for _ in range(5)]  # a cell that ran again
    both.size(epsilon=1)
    match, looked = results._matched, list[Any]()
    monkeypatch.setattr(results, "_matched", lambda *of: [looked.append(of), match(*of)][1])
    own = pd.DataFrame(np.arange(90_000).reshape(-1, 3) + 0.5, columns=["u", "v", "w"])
    times = pd.DataFrame({"when": pd.Timestamp("2024-01-01", tz="UTC"), "who": "x"}, index=range(9))
    for table in (own, times, own["u"]):
        refusal(lambda table=table: results.shown_in(table), error=RecordError)
    assert looked == []
    assert results.shown_in(answer.unstack()).places.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert len(looked) == 1


class Rude:
    """What may be in somebody's table: nothing can be asked of it."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError


#: Cells and labels of tables that aren't ours.
CELLS: list[Any] = [
    [1], {"a": 1}, np.array([1, 2]), Rude(), pd.Series([1]), pd.DataFrame(), pd.NA, pd.NaT, None,
    1j, Decimal("NaN"), Decimal("sNaN"), pd.Period("2024"), pd.Interval(0, 1), b"x", (1, 2), {1},
    True, np.datetime64("2024"), np.int64(3), -(10**400), 2**64, -0.0, float("inf"), Ellipsis, type,
]  # fmt: skip


def tables(answer: Any) -> Iterator[Any]:
    """Tables of the numbers of an answer in which one cell, or one label, is anything."""
    numbers, labels = answer.tolist(), answer.index
    for anything in CELLS:
        first, last, own = (np.empty(len(numbers), dtype=object) for _ in range(3))
        first[:], last[:], own[:] = numbers, numbers, range(len(numbers))
        for each, at in ((first, 0), (last, -1), (own, -1)):
            each[at] = anything
        yield from (pd.Series(each, labels, dtype=object) for each in (first, last))
        yield pd.DataFrame({"found": last, "own": numbers}, labels, dtype=object)
        other = pd.Index(own, dtype=object)
        yield from (answer.set_axis(other), pd.Series(numbers, other))
        yield pd.DataFrame([numbers], columns=other)


def test_tables_of_anything_are_looked_at_without_an_error(p: Any) -> None:
    """Notebooks ask this of each table that they show."""
    both = p.groupby(["town", "kind"])
    for answer in (both["age"].mean(epsilon=1), both.size(epsilon=1)):
        for table in tables(answer):
            results.recognise(table)
        for kind in ("Float64", "category", "string", "complex", pd.SparseDtype("float")):
            results.recognise(pd.Series(answer.tolist(), answer.index).astype(kind))
    for empty in (pd.DataFrame(), pd.Series(dtype=float), pd.DataFrame(index=[1, 2])):
        assert results.recognise(empty) is None


def test_labels_may_be_named_as_attributes_of_a_table(p: Any) -> None:
    """Found: a key "columns" made a Series look like a DataFrame."""
    keys = ["columns", "index", "name", "attrs"]
    counts = pd.Series(keys * 50, name="key").dp.value_counts(keys=keys, epsilon=1)
    half = dp.derive(lambda answer: answer / 2, counts)
    assert (half == counts / 2).all()
    assert dp.intervals(half).index.equals(counts.index)
    refusal(lambda: dp.record(counts / 2), "aren't those released", RecordError)


def test_answers_of_one_release_are_found_in_each_shape(p: Any) -> None:
    both = p.groupby(["town", "kind"])
    shapes = [
        both["age"].mean(epsilon=1), both[["age"]].mean(epsilon=1),
        both["age"].agg(["mean"], epsilon=1), both.agg({"age": "mean"}, epsilon=1),
        both.agg(mean_age=("age", "mean"), epsilon=1),
    ]  # fmt: skip
    assert dp.ledger().spent == 1
    for answer in shapes:
        column = answer if isinstance(answer, pd.Series) else answer.iloc[:, 0]
        assert column.unstack().attrs == {}
        assert told(column.unstack()) == told(answer)
