"""Ways to ask that a call can't use."""

from typing import Any

import operations as ops
import pytest
from refusals import refusal

import dppandas as dp

WAYS = {
    "delta": 1e-6, "mechanism": "gaussian", "fresh": True, "confidence": 0.9, "expected_rows": 9,
    "at_most": 1}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("ask", [
    lambda p, ways: p.count(**ways),
    lambda p, ways: p["number"].median(bounds=(0, 9), **ways),
    lambda p, ways: p.groupby("group", keys=["a"])["number"].mean(bounds=(0, 9), **ways),
    lambda p, ways: p[["number"]].agg(["mean"], bounds=(0, 9), **ways),
    lambda p, ways: p["group"].value_counts(keys=["a"], **ways),
    lambda p, ways: dp.select(ops.sixty().dp, ["a"], score=lambda *_: 1, sensitivity=1, **ways),
])  # fmt: skip
def test_no_way_to_ask_is_lost_where_nothing_is_released(name: str, ask: Any) -> None:
    dp.session(epsilon=10)
    p = dp.protect(ops.sixty(60), "people")
    refusal(lambda: ask(p, {name: WAYS[name]}), rf"{name}= says how to release.*{name}=…\)")
