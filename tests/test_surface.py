"""What users see of dppandas: few names on top, and the rest where it can be looked up."""

import inspect
import re
import warnings
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp
from dppandas import errors
from dppandas.errors import DPError, RecordError
from dppandas.privacy.accounting.losses import ReleaseOptions

ROOMS = {"audit", "errors", "local", "models", "stats", "types"}
ALL = ops.ALL_ASKED


def people() -> Any:
    dp.session(epsilon=10_000, delta="0.001", experimental=True)
    return dp.protect(ops.SCHEMA.copy(), "surface", unit="owner", max_rows=3, version="1")


# --- on top ---------------------------------------------------------------------------------------


def test_a_user_can_hold_the_top_in_mind() -> None:
    assert dir(dp) == dp.__all__ == sorted(dp.__all__)
    assert len({*dir(dp)} - ROOMS) <= 30
    assert {name for name in dir(dp) if isinstance(getattr(dp, name), ModuleType)} == ROOMS
    exceptions = {name for name in dir(dp) if inspect.isclass(getattr(dp, name))}
    assert exceptions == {"BudgetExceeded", "DPError"}


@pytest.mark.parametrize(
    "room", [dp.errors, dp.types, dp.models, dp.models.synthetic, dp.local, dp.audit, dp.stats]
)
def test_rooms_list_what_a_user_calls(room: ModuleType) -> None:
    assert sorted(dir(room)) == sorted(room.__all__)
    for name in room.__all__:
        assert inspect.getdoc(getattr(room, name))


def test_every_exception_is_in_errors() -> None:
    def family(kind: type) -> Iterator[type]:
        yield kind
        for each in kind.__subclasses__():
            yield from family(each)

    ours = {each.__name__ for each in family(DPError) if each.__module__.startswith("dppandas")}
    assert ours == {*errors.__all__}


# --- what is handed out ---------------------------------------------------------------------------


def handed(thing: Any, seen: set[type]) -> None:
    """The public classes of ours that a thing is, or that its public attributes are."""
    kind = type(thing)
    if not kind.__module__.startswith("dppandas") or kind in seen:
        return
    seen.add(kind)
    for name, what in inspect.getmembers_static(kind):
        if not name.startswith("_") and isinstance(what, property):
            try:
                found = getattr(thing, name)
            except DPError:
                continue
            handed(found, seen)
            for each in found.values() if isinstance(found, dict) else ():
                handed(each, seen)
    for name, value in getattr(thing, "__dict__", {}).items():
        if not name.startswith("_"):
            handed(value, seen)


def is_public(kind: type) -> bool:
    return any(each.__name__ in dp.types.__all__ for each in kind.__mro__[:-1])


@pytest.mark.parametrize("name", ALL)
def test_what_operations_hand_out_can_be_annotated(name: str) -> None:
    seen: set[type] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = ops.released(name, people())
    handed(answer, seen)
    if isinstance(answer, pd.Series | pd.DataFrame):
        handed(dp.record(answer), seen)
    assert [kind for kind in seen if kind.__name__ not in dp.types.__all__] == []


def test_what_is_asked_of_can_be_annotated() -> None:
    p = people()
    grouped = p.groupby("code", keys=ops.CODES)
    coin = dp.local.one_coin(0.75)
    with dp.preview() as plan, dp.split(epsilon=1, into=2) as shares:
        p.count()
    with dp.batch(epsilon=1, delta=1e-6) as asked:
        pending = asked.add(p.count())
    said = dp.local.randomized_response(pd.Series([True, False] * 50), design=coin)
    loss = dp.privacy_loss(p.count(epsilon=1))
    described = p["number"].describe(bounds=ops.BOUNDS, epsilon=1)
    things = [
        p, p["number"], grouped, p.groupby("code", delta=1e-6), p.per_unit(), p["group"].str,
        p["when"].dt, p.count(), p["number"].min(bounds=ops.BOUNDS), p["group"].mode(keys=["a"]),
        p["group"].unique(delta=1e-6), p["code"].agg(["count"]), dp.ledger(), dp.session(), plan,
        shares, asked, pending, pending.result(), said, said.mean(), said.value_counts(), coin,
        loss, dp.record(described), dp.ledger().for_group(2), dp.session().spent,
        dp.models.PCA(epsilon=1),
    ]  # fmt: skip
    seen: set[type] = set()
    for thing in things:
        handed(thing, seen)
    assert [kind for kind in seen if not is_public(kind)] == []


@pytest.mark.parametrize(("kind", "names"), [
    ("Ledger", "budget by_source export for_group loss remaining schema spent to_frame verify"),
    ("Session", "budget epsilon experimental ledger remaining spent strict"),
    ("Preview", "fits left loss missing to_frame total warnings"),
    ("Split", "left shares"),
    ("Batch", "add"),
    ("PendingRelease", "result"),
    (
        "Record",
        "cell components draw epsilon error error_unit errors estimate expected id interval "
        "intervals ledger lineage loss loss_of_change mechanism noise noise_dominated number "
        "preview query refine scale source time unit version where"),
    (
        "Noise",
        "cdf interval isf logpmf mean median name of pdf pmf ppf scale sf std step support unit "
        "var"),
    (
        "RecordBundle",
        "components epsilon error error_unit errors intervals loss loss_of_change preview"),
])  # fmt: skip
def test_objects_show_what_a_user_calls(kind: str, names: str) -> None:
    p = people()
    with dp.preview() as plan:
        p.count(epsilon=1)
    asked = dp.batch(epsilon=1, delta=1e-6)
    with asked:
        pending = asked.add(p.count())
    things = {
        "Ledger": dp.ledger(), "Session": dp.session(), "Preview": plan, "Batch": asked,
        "Split": dp.split(epsilon=1, into=2), "PendingRelease": pending,
        "Record": dp.record(p.count(epsilon=1)), "Noise": dp.record(p.count(epsilon=1)).noise,
        "RecordBundle": dp.record(p["number"].agg(["count", "mean"], bounds=ops.BOUNDS, epsilon=1)),
    }  # fmt: skip
    thing = things[kind]
    assert type(thing) is getattr(dp.types, kind)
    assert [name for name in dir(thing) if not name.startswith("_")] == names.split()


# --- help -----------------------------------------------------------------------------------------


def releasing() -> dict[str, Any]:
    """All that is public and takes a loss."""
    rooms = {dp, dp.types, dp.models, dp.models.synthetic, dp.local}
    found = {}
    for room in rooms:
        for name in room.__all__:
            thing = getattr(room, name)
            if inspect.isclass(thing):
                for method, function in inspect.getmembers(thing, inspect.isfunction):
                    found[f"{name}.{method}"] = function
            elif inspect.isfunction(thing):
                found[name] = thing
    return {
        name: function
        for name, function in sorted(found.items())
        if not name.rpartition(".")[2].startswith("_")
        and "epsilon" in inspect.signature(function).parameters
    }


WAYS = {*ReleaseOptions.__annotations__}


def test_help_names_the_ways_to_ask() -> None:
    for name, function in releasing().items():
        parameters = inspect.signature(function).parameters.values()
        assert [each for each in parameters if each.kind is each.VAR_KEYWORD] == [], name


def test_help_shows_what_a_release_takes() -> None:
    found = releasing()
    assert len(found) > 60
    for name in ("PrivateFrame.count", "Unreleased.release", "select", "crosstab", "synthesize"):
        assert {"epsilon", "rho", "delta"} <= {*inspect.signature(found[name]).parameters}
    assert {"epsilon", *WAYS} <= {*inspect.signature(dp.types.PrivateSeries.mean).parameters}


# --- records --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_a_record_tells_one_error_or_where_each_is(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = ops.released(name, people())
    try:
        found = dp.record(answer)
    except RecordError:
        # pandas lets an Index carry nothing, and a part that shows only 0 may be computed
        assert isinstance(answer, pd.Index | int) or ("nlargest" in name and not answer.any())
        return
    try:
        error = found.error()
    except RecordError as refused:
        said = str(refused)
    else:
        said = ""
    if said:
        if ".errors()" in said:
            found.errors()
        else:
            assert re.search("neither an error|no proven error|no labels", said)
        return
    assert type(error) is float
    errors = found.errors()
    if isinstance(answer, pd.Series | pd.DataFrame) and isinstance(errors, type(answer)):
        labels = found.estimate().index
        assert labels.equals(answer.index) or "nlargest" in name  # a part of what was released
        assert errors.index.equals(labels)
        assert error == max(errors.to_numpy().ravel().tolist())
        if not found._statistic.errors.no_interval:
            assert found.intervals().index.equals(labels)


def test_errors_of_several_releases_are_under_the_labels_of_the_answer() -> None:
    p = people()
    by_code = p.groupby("code", keys=ops.CODES)
    several = {"number": ["mean", "sum"], "code": "sum"}
    for ask in (
        p["number"].describe,
        p[["number", "code"]].describe,
        partial(p[["number", "code"]].agg, {"number": "mean", "code": "sum"}),
        partial(p[["number", "code"]].agg, several),
        by_code["number"].describe,
        partial(by_code[["number", "yes"]].agg, ["count", "mean"]),
    ):
        answer = ask(bounds=ops.BOUNDS, epsilon=1)
        record = dp.record(answer)
        errors, intervals = record.errors(), record.intervals()
        assert type(errors) is type(answer)
        assert errors.index.equals(answer.index)
        assert intervals.index.equals(answer.index)
        if isinstance(answer, pd.DataFrame):
            assert errors.columns.equals(answer.columns)
        refusal(record.error, r"several units.*\.errors\(\)", RecordError)
    record = dp.record(p["number"].describe(bounds=ops.BOUNDS, epsilon=1))
    moments, quantiles = record.components.values()
    assert record.errors()[["count", "mean", "std"]].tolist() == np.ravel(moments.errors()).tolist()
    assert record.errors()["25%"] == quantiles.errors().iloc[1]
    assert record.loss == moments.loss + quantiles.loss
    counts = dp.record(p[["number", "code"]].agg({"number": "count", "code": "count"}, epsilon=1))
    assert counts.error() == counts.errors().max()


def test_columns_that_read_alike_keep_records_of_their_own() -> None:
    # false alarms: at ε = 20 noise moves a mean to its bound with less than exp(-50)
    columns = pd.DataFrame({1: [1, 2] * 50, "1": [3, 4] * 50})
    p = dp.protect(columns, "alike", domain={1: (0, 10), "1": (0, 100)})
    record = dp.record(p.agg({1: ["mean"], "1": ["mean"]}, epsilon=40))
    assert [*record.components] == ["mean of 1", "mean of '1'"]
    assert record.errors().loc["mean", "1"] > 5 * record.errors().loc["mean", 1] > 0


def test_experimental_is_said_of_a_session() -> None:
    session = dp.session(epsilon=1)
    assert not session.experimental
    assert dp.session(experimental=True) is session
    assert session.experimental
    assert dp.session(epsilon=1, experimental=False).experimental is False
    dp.reset()
    assert dp.session(epsilon=1, experimental=True).experimental
