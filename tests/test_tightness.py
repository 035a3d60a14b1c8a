"""The benchmark of tightness asks every operation that states an error, and all errors held."""

import functools
import inspect
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import operations as ops
import pytest
from draws import EVERY, parts
from ledgers import anew
from notes import noted
from tightness_truth import plain, rows

import dppandas as dp
from dppandas import local, models
from dppandas.frames.groupby import UnknownGroups
from dppandas.privacy.mechanisms.selection import Selection
from dppandas.statistics import Covariance, SecondMoments
from dppandas.types import Model

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import tightness_figures as figures  # noqa: E402
from tightness_operations import LINES, WITHOUT  # noqa: E402

KINDS = (
    dp.types.PrivateFrame, dp.types.PrivateSeries, dp.types.PrivateGroupBy, UnknownGroups,
    dp.types.Unreleased,
)  # fmt: skip
#: Statistics without a line, for reasons in their records.
UNTOLD = [each for each in ops.RECORDS if isinstance(each.tight, str)]


def asks(thing: Any) -> bool:
    """Whether a loss is paid for what it gives."""
    is_asked = inspect.isfunction(thing) or (
        inspect.isclass(thing) and issubclass(thing, Model) and thing is not Model
    )
    return is_asked and "epsilon" in inspect.signature(thing).parameters


def public() -> Iterator[tuple[Any, str]]:
    """All that releases something, or puts releases together, and where it is."""
    for kind in KINDS:
        found = inspect.getmembers(kind, inspect.isfunction)
        yield from ((kind, name) for name, f in found if asks(f) and not name.startswith("_"))
    for module in (dp, local, models, models.synthetic):
        yield from ((module, name) for name in module.__all__ if asks(getattr(module, name)))
    yield from ((dp, name) for name in ("combine", "make_consistent"))


def shape(statistic: Any, law: Any) -> tuple[Any, ...]:
    """What decides how errors follow from noise: the statistic, whether something is selected, one
    number or several, of all rows or by keys."""
    kind, selects = type(statistic), isinstance(law, Selection)
    if kind is SecondMoments:  # a line's, where noise is Gaussian
        kind = Covariance
    is_one = statistic.layout.is_scalar or selects
    return kind, selects, is_one, statistic.cells.keys is not None


@pytest.fixture(scope="module")
def asked() -> tuple[dict[str, Any], set[str]]:
    """One answer of each line, and the names of what was called, also by whoever has no line."""
    called, answers = set[str](), {}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for where, name in list(public()):
            if not inspect.isclass(getattr(where, name)):
                patch.setattr(where, name, noting(getattr(where, name), name, called))
        for name, operation in LINES.items():
            anew(epsilon=1000, delta="0.001")
            df = rows(600)
            answer = operation.ask(operation.of(df), {"epsilon": 1})
            record = answer
            if not type(answer).__module__.startswith("dppandas.local"):
                known = dp.record(answer)
                record = known.components[operation.part] if operation.part else known
            is_local = record is answer
            said = answer if is_local else record.estimate()
            errors = answer.error() if is_local else record.errors()
            answers[name] = record, plain(errors), operation.off(said, df)
        for record in UNTOLD:
            for name in record.names():
                parts(name, "ordinary")
    dp.reset()
    return answers, called


def noting(function: Any, name: str, called: set[str]) -> Any:
    @functools.wraps(function)
    def calls(*args: Any, **more: Any) -> Any:
        called.add(name)
        return function(*args, **more)

    return calls


def test_every_public_operation_has_a_line_or_a_reason(asked: Any) -> None:
    _, called = asked
    names = {name for _, name in public()}
    assert len(names) > 40
    assert names - called - WITHOUT.keys() == set()
    assert WITHOUT.keys() <= names


def test_every_statistic_is_asked_in_every_shape(asked: Any) -> None:
    answers, _ = asked
    records = [record for record, *_ in answers.values() if isinstance(record, dp.types.Record)]
    known = {shape(record._statistic, record._law) for record in records}
    untold = {each.statistic for each in UNTOLD}
    for name in EVERY:
        for part in parts(name, "ordinary"):
            wanted = shape(part.statistic, part.law)
            assert wanted[0] in untold or wanted in known, (name, wanted)


def test_a_line_compares_what_is_stated_of_each_number(asked: Any) -> None:
    for name, (_, stated, off) in asked[0].items():
        with noted(name):
            assert stated.shape == off.shape
            assert len(off)
            assert not np.isnan(stated).any()
            assert np.isfinite(off).all()


def test_the_figures_are_of_these_lines_and_all_errors_held() -> None:
    found = json.loads((BENCHMARKS / "tightness.json").read_text("utf-8"))
    assert {line["operation"] for line in found} == {*LINES}
    for line in found:
        assert not line["alarm"], line


def drawn(noises: Any, stated: float) -> list[tuple[Any, Any, str]]:
    return [(np.full(len(each), stated), np.abs(each), "rows") for each in noises]


def test_over_and_slack_are_what_they_say() -> None:
    """Of normal numbers that are told twice as wide as they need be."""
    noises = np.random.default_rng(1).normal(0, 1, (4000, 1))
    found = drawn(noises, 2 * 1.96)
    times, least = figures.over(found)
    assert 1.9 < least < times < 2.1
    assert 1.9 < 1 / figures.upper([figures.beyond(*each[:2]) for each in found]) < 2.1
    slack = figures.slack_at_least([figures.beyond(*each[:2]) for each in found])
    assert 1.8 < slack < 2.05
    assert figures.slack_at_least([0.5] * 10) is None, "too few"
    assert figures.over([(np.ones(1), np.zeros(1), ""), (np.ones(2), np.ones(2), "")])[0] is None


def test_what_misses_its_target_is_told_with_the_reason() -> None:
    line = {"operation": "mean", "by": "ε", "rows": 1000, "unit": "x", "numbers": 1}
    wide = line | {"over": 1.5, "over at least": 1.4, "slack": 1.3, "slack at least": 1.1}
    (said,) = figures.missed([wide])
    assert said == "mean, ε, 1,000 rows: over 1.50, target 1.3: no reason is known"
    assert figures.missed([wide | {"by": "ρ"}]) == []
    assert len(figures.missed([wide | {"slack at least": 1.25}])) == 2
    grouped = wide | {"operation": "groupby mean", "numbers": 6, "slack at least": 1.25}
    assert figures.missed([grouped]) == []
    assert figures.missed([grouped | {"slack at least": 1.45}])
    assert figures.missed([wide | {"operation": "median", "unit": "ranks"}]) == []
    assert {name for name, _ in figures.REASONS} <= {*LINES}
