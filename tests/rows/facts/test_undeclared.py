"""Columns whose kind nobody declared: of objects, or any in a strict session.

Whatever the rows are, a question that would compute with their numbers or times isn't charged: of
texts the answer would be about nothing. The same matrix as for known kinds says which these are.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from notes import noted
from refusals import refusal
from test_kinds import CASES, MATRIX, TEXTS, Case, Row

import dppandas as dp
from dppandas.errors import QueryError

#: The kinds of the columns that are asked about beside "x" and "y".
BESIDE = dict.fromkeys(("g", "n", "u"), "number")
#: What says itself what its cells are made into.
CONVERTING = {"column.astype category"}


def of_objects(case: Case, row: Row) -> Any:
    """The column as objects, which no version of pandas takes for anything."""
    frame = case.frame.astype({"x": object, "y": object})
    return dp.private(frame, row.unit, 1 if row.unit == "row" else 2)


def of_a_dtype_under_strict(case: Case, row: Row) -> Any:
    """The column with its dtype, which a strict session doesn't believe."""
    dp.session(strict=True)
    unit, most = (None, None) if row.unit == "row" else (row.unit, 2)
    return dp.protect(case.frame, "d", unit, most, kinds=BESIDE)


def asked(name: str, kind: str, made: Any) -> Any:
    """Ask one row of the matrix, of a column whose kind nobody declared."""
    anew(epsilon=1000, delta="0.01", strict=made is of_a_dtype_under_strict or None)
    dp.session(experimental=True)
    return MATRIX[name].ours(made(CASES[kind], MATRIX[name]), CASES[kind])


def check(name: str, kind: str, made: Any) -> None:
    """There is an answer where a text would have one, and else a refusal that charges nothing."""
    with noted(name, kind, made.__name__):
        if MATRIX[name].answered & TEXTS:
            try:
                asked(name, kind, made)
            except QueryError:  # for its plain values, whatever the column is
                assert kind not in MATRIX[name].answered
            return
        dp.reset()
        said = refusal(lambda: asked(name, kind, made), error=dp.DPError)
        assert "Nothing was computed or charged" in said
        assert not dp.ledger()._entries()
        if kind in MATRIX[name].answered:  # so that it isn't refused for its plain values
            assert "kinds={'" in said, said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made", [of_objects, of_a_dtype_under_strict])
def test_of_an_undeclared_column_only_text_is_assumed(made: Any) -> None:
    for place, kind in enumerate(CASES):
        for name in sorted(MATRIX)[place % 3 :: 9]:
            check(name, kind, made)


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("made", [of_objects, of_a_dtype_under_strict])
def test_of_an_undeclared_column_only_text_is_assumed_by_every_verb(made: Any, kind: str) -> None:
    for name in MATRIX:
        check(name, kind, made)
