"""Released values: what carries a record and what doesn't, and what the errors mean."""

import copy
import html
import io
import json
import math
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import operations as ops
import pandas as pd
import pytest
from refusals import refusal
from sizes import third

import dppandas as dp
from dppandas.errors import QueryError, RecordError
from dppandas.ledger import canonical
from dppandas.ledger.canonical import canonical_name
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.privacy.record_parts import RecordPart
from dppandas.release import pickles
from dppandas.release.answers.results import ReleasedFloat, ReleasedInt
from dppandas.rows.expressions.logic import Every
from dppandas.rows.figures import format_number, plus_minus, written
from dppandas.statistics import every

KEYS = ["a", "b", "c"]


def rows() -> pd.DataFrame:
    return pd.DataFrame({
        "number": [1.5, -2.0, 8.0, math.nan] * 25,
        "group": ["a", "b", "a", "c"] * 25,
        "code": [1, 2, 3, 2] * 25,
        "yes": [True, True, False, True] * 25,
        "no": [False, False, False, True] * 25,
        "when": pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-03"] * 25, utc=True),
    })  # fmt: skip


def counts(epsilon: float = 1) -> pd.Series:
    return rows().dp["group"].value_counts(keys=KEYS, epsilon=epsilon)


def means() -> pd.DataFrame:
    return rows().dp.groupby("group", keys=KEYS)[["number", "code"]].mean(bounds=(0, 10), epsilon=1)


# --- records --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ops.OPERATIONS)
def test_every_result_has_the_record_of_its_release(name: str) -> None:
    dp.session(epsilon=2)
    result = ops.released(name, rows().dp, 0.5)
    record = dp.record(result)
    (entry,) = dp.ledger()._entries()
    assert (record.number, record.query, record.epsilon) == (1, entry.what.text, Fraction(1, 2))
    assert (record.source, record.lineage, record.unit) == ("unnamed", "asserted", "each row")
    assert record.mechanism == entry.mechanism
    line = str(record).splitlines()[2]
    assert line.startswith(f"{entry.mechanism}, scale {entry.scale}")
    assert f", {entry.loss}" in line
    assert (record.cell, record.time) == (entry.cell, entry.time)
    again = record.estimate()
    shown = result.statistic if isinstance(result, dp.types.BlockTestResult) else result
    assert again.equals(shown) if isinstance(again, pd.Series | pd.DataFrame) else again == shown
    dp.reset()
    assert dp.record(result) is record  # what was released stays released
    assert record.query in str(record)
    assert record.query.split("'")[0].split(" <")[0].split(" >")[0] in record._repr_html_()


@pytest.mark.parametrize("name", ops.OPERATIONS)
def test_errors_and_intervals_have_the_shape_of_the_result(name: str, exact: None) -> None:
    result = ops.released(name, rows().dp)
    record = dp.record(result)
    error = record.errors()
    assert np.all(np.asarray(record.errors(0.999)) >= np.asarray(error))  # surer is wider
    if record._statistic.errors.no_interval:
        assert np.shape(error) == np.shape(result)
        refusal(lambda: record.intervals(), "no interval", RecordError)
        return
    interval = record.intervals()
    if isinstance(result, pd.Series):
        assert error.index.equals(result.index)
        assert list(interval) == ["lower", "upper"]
        assert interval.index.equals(result.index)
        assert (interval["lower"] <= result).all()
        assert (result <= interval["upper"]).all()
    elif isinstance(result, pd.DataFrame):
        assert error.index.equals(result.index)
        assert error.columns.equals(result.columns)
        names = [c if isinstance(c, tuple) else (c,) for c in result.columns]
        assert list(interval) == [(*name, end) for name in names for end in ("lower", "upper")]
    else:
        seconds = pd.Timedelta("1s") if isinstance(error, pd.Timedelta) else 1
        assert (result.error(), result.interval()) == (error / seconds, interval)
        lower, upper = interval
        assert lower <= result <= upper


def test_what_was_computed_has_no_record_even_where_the_values_are_equal(exact: None) -> None:
    """Zeros stay zeros when they are doubled, and False is 0."""
    df = pd.DataFrame({"x": ["a"] * 3 + ["b"] * 9})
    found = df.dp["x"].value_counts(keys=["a", "b", "c", "d"], sort=False, epsilon=1)
    zeros = df[df["x"] == "c"].dp["x"].value_counts(keys=["a", "b"], epsilon=1)
    assert dp.record(found[found > 0]).mechanism == dp.record(zeros).mechanism
    for computed in (
        zeros / 9, zeros > 5, zeros.astype(bool), (found * 2)[found == 0], (found / 10)[["c", "d"]],
        (zeros * 1.0).fillna(0), zeros.map(lambda n: False),
    ):  # fmt: skip
        refusal(lambda computed=computed: dp.record(computed), "dp.(derive|intervals)", LookupError)
    table = df.assign(y=1).dp.crosstab("x", "y", keys={"x": ["a", "c"], "y": [1, 2]}, epsilon=1)
    assert dp.record(table[[1]]).mechanism == "discrete Laplace"
    refusal(lambda: dp.record(table.loc[["c"]] > 5), "dp.derive|dp.intervals", LookupError)


def test_selected_zeros_might_be_computed_and_are_said_to_be(exact: None) -> None:
    counts = pd.DataFrame({"g": ["a", "b"] * 5}).dp.value_counts(
        "g", keys=["a", "b", "c"], epsilon=1
    )
    assert dp.intervals(counts).loc["c", "high"] >= 0
    for zeros in (counts.loc[["c"]], counts.loc[["c"]] * 2):
        with pytest.raises(RecordError, match=r"0 or missing.*dp\.intervals"):
            dp.intervals(zeros)


def test_a_series_is_recognised_while_its_pairs_are_those_released(exact: None) -> None:
    vc = counts()
    record = dp.record(vc)
    for kept in (
        vc.sort_index(), vc.head(2), vc.iloc[::-1], vc[vc > vc.min()], vc.rename("n"), vc.copy(),
        vc.to_frame(), vc.nlargest(1), copy.deepcopy(vc), vc.astype(float),
    ):  # fmt: skip
        if kept.attrs:  # pandas decides what keeps attrs; what keeps them is recognised
            assert dp.record(kept) is record
    assert vc.sort_index().attrs
    assert vc.head(2).attrs
    table = means()
    assert dp.record(table.sort_index(ascending=False)) is dp.record(table)
    assert dp.record(table[["code"]].head(1)) is dp.record(table)


def test_what_was_computed_from_a_release_has_no_record() -> None:
    vc, table = counts(), means()
    for computed in (
        vc * 2, vc + 1, vc / vc.sum(), vc.cumsum(), vc.set_axis(["x", "y", "z"]), table * 2,
        table.rename(columns={"code": "number", "number": "code"}), vc.sum(), 5, "a", None,
        rows(), rows()["code"],
    ):  # fmt: skip
        with pytest.raises(RecordError):
            dp.record(computed)
    refusal(lambda: dp.record(vc * 2), "dp.derive|dp.intervals", LookupError)


def test_values_swapped_between_labels_are_not_those_released(monkeypatch: Any) -> None:
    monkeypatch.setattr(DiscreteLaplace, "release", lambda self, integers: list(integers))
    vc = counts()
    swapped = pd.Series(vc.to_numpy()[::-1], index=vc.index, name=vc.name)
    swapped.attrs.update(vc.attrs)
    refusal(lambda: dp.record(swapped), error=RecordError)


def test_a_selected_label_tells_its_gap() -> None:
    label = rows().dp[["yes", "no"]].idxmax(epsilon=1)
    assert isinstance(label, str)
    record = dp.record(label)
    assert record.mechanism == "permute-and-flip"
    # P[gap ≥ (ln 2 + t)/ε] ≤ exp(-t): at 95 %, below 3.69
    assert label.error() == record.errors() == 3  # type: ignore[attr-defined]
    refusal(lambda: record.intervals(), "no interval", RecordError)
    number = rows().dp["code"].value_counts(keys=[1, 2, 3]).idxmax(epsilon=1)
    assert isinstance(number, int)
    assert dp.record(number).query == "idxmax of value_counts of code (3 keys)"
    mode = rows().dp["group"].mode(keys=KEYS, epsilon=1)
    assert dp.record(mode).query == "mode of group (3 keys)"
    refusal(lambda: dp.record(mode + "x"), error=RecordError)


def test_a_winner_tells_which_interval_of_its_number_holds() -> None:
    """Where that number could be released: a caller's score can't, and a count wasn't chosen."""
    df = rows()
    won = [
        df.dp[["yes", "no"]].idxmax(epsilon=1),
        df.dp["group"].value_counts(keys=KEYS).idxmax(epsilon=1),
        df.dp["group"].mode(keys=KEYS, epsilon=1),
        df.dp.groupby("group", keys=KEYS)["code"].sum(bounds=(0, 9)).idxmax(epsilon=1),
    ]
    for label in won:
        assert "the winner's number holds" in str(dp.record(label))
        assert "the winner's number holds" in html.unescape(dp.record(label)._repr_html_())
    scored = dp.select(
        df.dp, candidates=[1, 2], score=lambda frame, each: len(frame) * each, sensitivity=2,
        epsilon=1,
    )  # fmt: skip
    for other in (scored, df.dp.count(epsilon=1)):
        assert "winner" not in str(dp.record(other))


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, math.nan, True, "0.95", None])
def test_a_confidence_is_a_probability(confidence: Any) -> None:
    n = rows().dp.count(epsilon=1)
    for ask in (n.error, n.interval, dp.record(n).error, dp.record(n).interval):
        with pytest.raises(QueryError, match="confidence="):
            ask(confidence)


# --- scalars --------------------------------------------------------------------------------------


def test_numbers_have_the_methods_of_pandas_numbers(exact: None) -> None:
    p = pd.DataFrame({"x": [1.0, 2.5, 2.25]}).dp
    mean, count = p["x"].mean(bounds=(0, 4), epsilon=1), p.count(epsilon=1)
    for released, plain in ((mean, np.float64(mean)), (count, np.int64(count))):
        for found, wanted in (
            (released.item(), plain.item()), (released.round(), plain.round()),
            (released.round(1), plain.round(1)), (released.round(-1), plain.round(-1)),
        ):  # fmt: skip
            assert found == wanted
            assert type(found) is type(plain.item())


def test_scalars_print_like_numbers_and_compute_like_numbers() -> None:
    n = rows().dp.count(epsilon=1)
    m = rows().dp["number"].mean(bounds=(0, 10), epsilon=1)
    assert isinstance(n, ReleasedInt)
    assert isinstance(m, ReleasedFloat)
    assert (str(n), f"{n}", f"{n:,}") == (str(int(n)), f"{int(n)}", f"{int(n):,}")
    assert (str(m), f"{m}", f"{m:.2f}") == (str(float(m)), f"{float(m)}", f"{float(m):.2f}")
    assert json.dumps([n, m]) == json.dumps([int(n), float(m)])
    for whole in (n + 1, n * 2, n - n, -n, abs(n), n // 2, n % 2, 1 + n, sum([n, n])):
        assert isinstance(whole, int)
    for number in (m + 1, m * 2, m / 3, -m, abs(m), n / 2, n * m, m**2, round(m, 2)):
        assert isinstance(number, float)
    assert (n + 1, m / 3, n // 2) == (int(n) + 1, float(m) / 3, int(n) // 2)
    assert {n: "as key"}[int(n)] == "as key"
    assert np.sqrt(abs(m)) >= 0
    assert pd.Series([n]).dtype == "int64"


def test_repr_and_a_format_of_its_own_write_the_error_beside_a_number(
    frozen: Callable[[int], None],
) -> None:
    frozen(4)
    p = dp.protect(rows(), "d", domain={"number": (0, 10)})
    n, mean, median = p.count(epsilon=1), p["number"].mean(epsilon=1), p["number"].median(epsilon=1)
    assert repr(n) == f"{n:±}" == f"{n:,} ± {dp.record(n).error():.0f}"
    assert repr(mean) == f"{mean:±}"
    assert re.fullmatch(r"[\d.]+ ± [\d.]+", repr(mean))
    assert "±" not in repr(median)  # its error is known in ranks
    label = p[["number"]].idxmax(epsilon=1)
    assert (f"{label:±}", f"{label}") == ("number (chosen)", "number")
    assert f"{mean:±.3}" == str(written(float(mean), mean.error(), digits=3)) != repr(mean)
    with dp.preview():
        assert repr(p.count(epsilon=2)).startswith("preview, no answer (± ")


def pretty(value: Any) -> str:
    return pytest.importorskip("IPython.core.formatters").PlainTextFormatter()(value)


def test_a_notebook_shows_the_error_too(frozen: Callable[[int], None]) -> None:
    frozen(4)
    df = pd.DataFrame({"x": np.arange(1000) % 7})
    n = df.dp.count(epsilon=0.1)
    assert pretty(n) == "1,004 ± 30 (95 %, noise only)"
    assert f"{n}" == "1004"
    assert pretty([n]) == "[1,004 ± 30 (95 %, noise only)]"
    assert (
        pretty(df.dp["x"].value_counts(keys=[0, 3]).idxmax(epsilon=1))
        == "0 (chosen, gap ≤ 3, 95 %, noise only)"
    )
    assert (
        pretty(rows().dp[["yes", "no"]].idxmax(epsilon=1))
        == "'yes' (chosen, gap ≤ 3, 95 %, noise only)"
    )
    assert pretty(dp.record(n)) == str(dp.record(n))
    mean = df.dp["x"].mean(bounds=(0, 6), epsilon=1)
    assert " (95 %, noise only); ± " in pretty(mean)
    (found,) = dp.intervals(mean, of="population")["error"]
    assert pretty(mean).endswith(f"; {plus_minus(found)} for the population")
    assert "population" not in repr(mean) + f"{mean:±}"


def test_the_repr_of_a_record_is_short_and_print_tells_all() -> None:
    keys = [f"key {i:04}" for i in range(2000)]
    people = dp.protect(pd.DataFrame({"k": keys, "x": range(2000)}), name="long")
    record = dp.record(people["k"].value_counts(keys=keys, epsilon=1))
    assert len(repr(record).split("\n")) == 11
    assert repr(record).endswith("\n… and 1,994 more lines: print this record")
    assert str(record).startswith(repr(record)[: repr(record).index("…")])
    assert len(str(record).split("\n")) == 2004
    seven = dp.record(people["k"].value_counts(keys=keys[:7], epsilon=1))
    assert repr(seven) == str(seven)
    assert len(repr(seven).split("\n")) == 11


def test_the_repr_of_several_records_has_a_line_for_each_of_the_first_ones() -> None:
    people = dp.protect(pd.DataFrame({c: range(99) for c in "abc"}), name="wide")
    each = ["count", "median", "min", "max", "nunique"]
    asked = {"a": each, "b": each, "c": ["count"]}
    record = dp.record(people.agg(asked, bounds=(0, 99), epsilon=55))
    assert len(record.components) == 11
    first, *lines, last = repr(record).split("\n")
    assert first == "11 releases, ε = 55"
    for line, (name, each) in zip(lines, record.components.items(), strict=False):
        assert line.startswith(f"  {name}: {each.loss.in_short}, ")
    assert (len(lines), last) == (9, "… and 2 more lines: print this record")
    assert str(record) == "\n".join(
        [first, *(f"{name}:\n{each}" for name, each in record.components.items())]
    )


@pytest.mark.parametrize(("value", "text"), [
    (3, "3"), (1234, "1,234"), (0.12345, "0.1235"), (1234.5, "1,234"), (math.nan, "nan"),
    (2.0, "2"),
])  # fmt: skip
def test_short_numbers(value: float, text: str) -> None:
    assert format_number(value) == text


# --- pickling -------------------------------------------------------------------------------------


@pytest.mark.sized
@pytest.mark.parametrize(
    "name", third([*ops.OPERATIONS, "idxmax of columns", "idxmax of counts", "mode"], 0)
)
def test_results_and_records_survive_pickling(name: str) -> None:
    result = ops.released(name, rows().dp)
    record = dp.record(result)
    for duplicate in (pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert type(duplicate) is type(result)
        assert str(duplicate) == str(result)
        again = dp.record(duplicate)
        assert (again.id, str(again)) == (record.id, str(record))
        assert str(again.errors()) == str(record.errors())
    assert str(pickle.loads(pickle.dumps(record))) == str(record)


class Watched(pickle.Unpickler):
    """Notes what a pickle names of dppandas as Python does."""

    def __init__(self, result: Any) -> None:
        super().__init__(io.BytesIO(pickle.dumps(result)))
        self.named: set[str] = set()

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "dppandas":
            self.named.add(f"{module}.{name}")
        return super().find_class(module, name)


RELEASED = [
    *ops.EVERY, *ops.OF_UNITS, *ops.UNKNOWN, *ops.GAUSSIAN, *ops.EXPERIMENTAL,
    *ops.AT_DELTA, *ops.TESTED,
]  # fmt: skip


@pytest.mark.parametrize("name", RELEASED)
def test_pickles_name_nothing_of_ours_but_the_registry(name: str) -> None:
    dp.session(epsilon=100, delta="0.001")
    dp.session(experimental=True)
    result = ops.released(name, dp.protect(ops.SCHEMA.copy(), "people", unit="owner", max_rows=3))
    watched = Watched(result)
    assert str(watched.load()) == str(result)
    assert watched.named <= {"dppandas.release.pickles.restored"}


def test_classes_of_the_registry_have_names_of_their_own() -> None:
    every()
    kinds = list(pickles._families([*pickles._KEPT, *RecordPart.__subclasses__()]))
    ours = {kind for kind in kinds if kind.__module__.startswith("dppandas.")}
    assert len({canonical_name(kind) for kind in ours}) == len(ours) > 100
    assert {*map(canonical_name, ours)} < {*pickles._makers}


EVERYTHING = """
import copyreg, importlib, pkgutil
from dppandas.privacy.record_parts import RecordPart
from dppandas.release import pickles
pickles._import_all()
restored = {*pickles._makers}
import dppandas
for module in pkgutil.walk_packages(dppandas.__path__, "dppandas."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
kept = [*pickles._KEPT, *RecordPart.__subclasses__()]
assert {*pickles._families(kept)} <= {*copyreg.dispatch_table}
assert {*pickles._makers} == restored
"""


def test_classes_of_later_modules_are_registered() -> None:
    subprocess.run([sys.executable, "-c", EVERYTHING], check=True)


#: Callers' own laws, of the names of ours, before anything was asked and afterwards.
FOREIGN = """
import pickle
import re
import pandas as pd
import dppandas as dp
from dppandas.privacy.mechanisms import noise

class DiscreteLaplace(noise.DiscreteLaplace):
    pass

record = dp.record(pd.DataFrame({"x": [1]}).dp.count(epsilon=1))
class Count(type(record._statistic)):
    pass

copy = pickle.loads(pickle.dumps(record))
assert type(copy._law) is noise.DiscreteLaplace
assert type(copy._statistic) is type(record._statistic)
"""


def test_a_class_of_the_caller_takes_no_place_in_the_registry() -> None:
    subprocess.run([sys.executable, "-c", FOREIGN], check=True)


def test_an_entry_of_other_fields_is_of_another_version() -> None:
    refusal(lambda: pickles.restored("Entry", 1, 2), "another version", error=RecordError)


def test_a_renamed_class_is_read_and_keeps_its_keys() -> None:
    @dataclass(frozen=True)
    class Everybody:
        canonical_name: ClassVar[str] = "Every"

    class Heir(Everybody):
        pass

    assert canonical.key(Everybody()) == canonical.key(Every())
    assert canonical.key(Heir()) != canonical.key(Every())
    assert type(pickles.restored(*pickles._reduced(Everybody())[1])) is Every


@pytest.mark.parametrize("name", ["Popen", "dppandas.errors.DPError", "__class__", ""])
def test_a_pickle_names_nothing_beyond_the_registry(name: str) -> None:
    refusal(lambda: pickles.restored(name, {}), "not part of any release record", RecordError)
    assert "secret" not in vars(pickles.restored("Unit", {"column": "owner", "secret": 1}))
    refusal(lambda: pickles.restored("Record", {"id": "x"}), "another version", RecordError)


FRESH = """
import pickle, sys
import dppandas as dp
assert dp.ledger()._entries() == []
with open(sys.argv[1], "rb") as file:
    for result in pickle.load(file):
        record = dp.record(result)
        print(record.query, record.errors(), sep="|")
"""


def test_results_know_their_records_in_a_fresh_process(tmp_path: Path) -> None:
    results = [rows().dp.count(epsilon=1), counts(), means(), counts().sort_index().head(2)]
    results.append(rows().dp[["yes", "no"]].idxmax(epsilon=1))
    (tmp_path / "results").write_bytes(pickle.dumps(results))
    command = [sys.executable, "-c", FRESH, str(tmp_path / "results")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = [f"{dp.record(r).query}|{dp.record(r).errors()}" for r in results]
    assert done.stdout == "\n".join(expected) + "\n"


# --- what the intervals promise -------------------------------------------------------------------


def test_intervals_of_counts_never_go_below_zero(frozen: Callable[[int], None]) -> None:
    frozen(-500)
    n = rows().dp.count(epsilon=1)
    assert n == -400  # the answer is not bent: averages of it stay right
    assert n.interval() == (0, 0)
    shares = rows().dp["group"].value_counts(keys=KEYS, normalize=True, epsilon=1)
    assert shares.isna().all()
    assert dp.record(shares).intervals().to_numpy().tolist() == [[0.0, 1.0]] * 3


def test_every_selected_label_has_its_record() -> None:
    index = ops.SELECTIONS["nlargest columns"](rows().dp, 1)
    assert dp.record(index).query.startswith("nlargest(2) of sum of True")
    assert type(index) is type(pd.Index(index.tolist()))
    refusal(lambda: dp.record(index.copy()), "Index", RecordError)
    refusal(lambda: dp.record(index.union(["x"])), "Index", RecordError)
    for labels in (
        [1.5, 2.5],
        [1, 2],
        ["a", "b"],
        list(pd.to_datetime(["2020-01-01", "2021-01-01"])),
        list(pd.to_timedelta(["1D", "2D"])),
    ):
        counts = pd.Series(labels * 50, name="x").dp.value_counts(keys=labels)
        label = counts.idxmax(epsilon=1)
        assert label in labels
        assert isinstance(label, type(labels[0]))
        assert dp.record(label).query.startswith("idxmax of value_counts")
        assert dp.record(pickle.loads(pickle.dumps(label))).query == dp.record(label).query
        assert label.error() == dp.record(label).error()
    pair = rows().dp[["group", "code"]].value_counts(keys={"group": KEYS, "code": [1, 2]})
    both = pair.idxmax(epsilon=1)
    assert isinstance(both, tuple)
    assert dp.record(pickle.loads(pickle.dumps(both))).query == dp.record(both).query
    truth = rows().dp["yes"].value_counts(keys=[True, False]).idxmax(epsilon=1)
    refusal(lambda: dp.record(truth), "True and False", RecordError)


def test_labels_that_were_found_have_their_record() -> None:
    dp.session(epsilon=4, delta="0.01")
    p = dp.protect(pd.DataFrame({"x": ["a", "b"] * 500}), "found")
    labels = p["x"].unique(epsilon=1, delta="0.001")
    assert dp.record(labels).query == "unique of x"
    assert dp.intervals(labels)["value"].tolist() == labels.tolist()
    counts = p.groupby("x", delta="0.001").size().release(epsilon=1)
    refusal(lambda: dp.record(counts.index), "Index", RecordError)  # its labels alone are no answer


def test_names_and_labels_are_no_markup_in_a_record() -> None:
    bad = "<img src=x onerror=alert(1)>"
    p = dp.protect(pd.DataFrame({bad: [1, 2] * 50, "y": [3, 4] * 50, "z": [bad, "b"] * 50}), bad)
    counts = p["z"].value_counts(keys=[bad, "b"])
    bounds = {bad: (0, 3), "y": (0, 9)}
    for answer in (
        p[[bad, "y"]].mean(bounds=bounds, epsilon=1), counts.release(epsilon=1),
        p[[bad, "y"]].describe(bounds=bounds, epsilon=1), counts.idxmax(epsilon=9),
        p["z"].mode(keys=[bad], epsilon=1),
    ):  # fmt: skip
        assert "<img" not in dp.record(answer)._repr_html_()


# --- errors before the release --------------------------------------------------------------------


def test_errors_are_known_before_a_release_and_cost_nothing() -> None:
    p = pd.DataFrame({"x": [1.0, 5.0, 9.0] * 100, "g": ["a", "b", "c"] * 100}).dp
    keys = ["a", "b", "c"]
    for unreleased in (
        p.count(), p["x"].sum(bounds=(0, 10)), p["g"].value_counts(keys=keys),
        p.crosstab("g", "x", keys={"g": keys, "x": [1, 5]}, margins=True),
        p["x"].median(bounds=(0, 10)), p["g"].mode(keys=keys),
    ):  # fmt: skip
        expected = unreleased.expected_error(epsilon=1, confidence=0.9)
        assert expected == np.max(dp.record(unreleased.release(epsilon=1)).errors(0.9))
    charged = len(dp.ledger()._entries())
    mean = p["x"].mean(bounds=(0, 10))
    # noise of ± w in one sum moves a mean of n values by at most (U - L) w / (n T), about
    few, many = (mean.expected_error(epsilon=1, expected_rows=n) for n in (100, 10_000))
    assert few == pytest.approx(100 * many)
    assert many == pytest.approx(10 * math.log(20) / 10_000, rel=0.01)  # w/T = ln(1/0.05)/ε
    for refused, words in (
        (lambda: mean.expected_error(epsilon=1), "expected_rows= is needed"),
        (lambda: mean.expected_error(epsilon=1, expected_rows=0), "above 0"),
        (lambda: p["x"].std(bounds=(0, 10)).expected_error(epsilon=1), "only the answer"),
        (lambda: p.count().expected_error(), "epsilon= is needed"),
    ):
        refusal(refused, words, dp.DPError)
    assert len(dp.ledger()._entries()) == charged
