"""What is offered where: lists follow from the statistics, and agree with the methods."""

import inspect
import re
from typing import Any

import pandas as pd
import pytest
from notes import noted
from refusals import refusal

import dppandas as dp
from dppandas.errors import QueryError, UnsupportedVerb
from dppandas.frames.answers import several
from dppandas.frames.pivots import COUNTED, PivotMethods
from dppandas.statistics import NormedSum, Sum, every, methods
from dppandas.statistics.methods import AGG, COLUMN, FOUND_GROUPS, FRAME, GROUPS, PIVOT, Offered

#: Several releases for one loss.
SEVERAL = {"agg", "aggregate", "describe"}
ROWS = pd.DataFrame({"x": [1.0, 2.0, 3.0], "g": ["a", "b", "a"]})


@pytest.fixture
def p() -> Any:
    dp.session(epsilon=10, delta=1e-3)
    return dp.protect(ROWS.copy(), name="s", domain={"x": (0, 5)})


def answering(face: type) -> set[str]:
    """The methods that release, given a loss."""
    methods = inspect.getmembers(face, inspect.isfunction)
    return {
        name
        for name, method in methods
        if name[0] != "_" and "epsilon" in inspect.signature(method).parameters
    }


def test_each_face_has_the_methods_that_statistics_say_it_has() -> None:
    types = vars(dp.types)
    faces = {
        types["PrivateSeries"]: (COLUMN, SEVERAL),
        types["PrivateFrame"]: (FRAME, SEVERAL | {"pivot_table"}),
        types["PrivateGroupBy"]: (GROUPS, SEVERAL),
    }
    for face, (where, others) in faces.items():
        with noted(face.__name__):
            assert answering(face) - others == {*methods(where)}


def test_a_statistic_has_no_methods_of_its_base() -> None:
    each = [method for kind in every() if kind is not NormedSum for method in kind.methods]
    assert len(each) == len({method.name for method in each})
    assert NormedSum.methods == Sum.methods


def test_refusals_say_what_is_offered(p: Any) -> None:
    faces = {COLUMN: p["x"], FRAME: p, GROUPS: p.groupby("g", keys=["a"])}
    for where, face in faces.items():
        with noted(where):
            said = refusal(lambda face=face: face.nothing, "They answer", UnsupportedVerb)
            told = re.findall(r"\w+", said.partition("They answer ")[2].partition(". ")[0])
            offered = several.answers_of(where)
            assert {*methods(where), "agg", "describe"} == {*offered.split(", ")}
            assert len(told) >= 15  # as many as four lines hold
            assert all(hasattr(face, name) for name in told)


def test_agg_offers_each_by_its_name_and_by_functions_that_mean_the_same(p: Any) -> None:
    for name in methods(AGG):
        with noted(name):
            found = p["x"].agg([name])
            assert type(found).__name__ == "ReleaseBundle"
    refusal(lambda: p["x"].agg(["quantile"]), f"Choose from {', '.join(methods(AGG))}", QueryError)
    pairs = {
        (f, method.name) for kind in every() for method in kind.methods for f in method.functions
    }
    assert {(f, name.partition(",")[0]) for f, name in several.functions().items()} == pairs
    assert {name for _, name in pairs} <= {*methods(AGG)}


def test_pivot_tables_offer_what_has_one_number_for_each_group() -> None:
    assert {*methods(PIVOT)} <= {*methods(GROUPS)}
    assert {*COUNTED} == {"size", "count"}
    said = re.search(r'aggfunc : ((?:"\w+", )+)', PivotMethods.pivot_table.__doc__ or "")
    assert said is not None
    assert {*re.findall(r"\w+", said[1])} <= {*methods(PIVOT)}


def test_found_keys_are_asked_for_what_their_messages_name(p: Any) -> None:
    names = methods(FOUND_GROUPS)
    groups = p.groupby("g", delta=1e-6)["x"]
    for name in names:
        with noted(name):
            given = {} if name in ("size", "count") else {"bounds": (0, 5)}
            assert "nothing computed" in repr(getattr(groups, name)(**given))
    refusal(lambda: groups.median(bounds=(0, 5)), f"there are {', '.join(names)}", QueryError)


def test_every_place_is_named_by_a_statistic() -> None:
    for where in Offered:
        with noted(where.name):
            assert methods(where)
