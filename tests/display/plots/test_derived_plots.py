"""Plots of derived numbers: where dots and whiskers lie, and what the caption says."""

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp

pytest.importorskip("matplotlib").use("Agg")


@pytest.fixture
def p() -> Any:
    dp.session(epsilon=100)
    at = np.arange(900)
    df = pd.DataFrame({"town": np.array(list("xyz"))[at % 3], "age": at % 50})
    return dp.protect(df, "towns", domain={"town": list("xyz"), "age": (0, 60)})


def ends_of(ax: Any) -> Any:
    (bars,) = ax.containers
    return np.array([segment[:, 1] for segment in bars[2][0].get_segments()])


def caption(ax: Any) -> str:
    said = " ".join(text.get_text() for text in ax.figure.texts + ax.texts)
    return said.replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")


def test_each_number_has_its_interval(p: Any, exact: None) -> None:
    apart = dp.difference(p.groupby("town")["age"].mean(epsilon=1), "x")
    ax = dp.plot(apart, confidence=0.9)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["y", "z"]
    found = apart.interval(0.9).to_numpy()
    assert np.allclose(np.sort(ends_of(ax), axis=1), found)
    dots = ax.lines[0].get_ydata()
    assert np.allclose(dots, apart.to_numpy())
    said = caption(ax)
    assert "90 % intervals, all 2 hold simultaneously; of the noise only" in said
    assert "Derived from release 1, at no cost." in said


def test_a_frame_has_a_panel_for_each_column(p: Any) -> None:
    figures = p.groupby("town")["age"].agg(["count", "mean"], epsilon=1)
    axes = dp.plot(dp.derive(lambda figure: figure.diff(), figures))
    assert [ax.get_title() for ax in axes] == ["count", "mean"]
    assert [ax.get_ylabel() for ax in axes] == ["rows", "age"]


def test_what_noise_may_make_all_of_is_hollow(exact: None, p: Any) -> None:
    sizes = p.groupby("town").size(epsilon=1)
    ax = dp.plot(dp.derive(lambda n: n - 300 + 300 * (n.index == "x"), sizes))
    filled, hollow = (line for line in ax.lines if line.get_marker() == "o")
    assert (filled.get_xdata().tolist(), hollow.get_xdata().tolist()) == ([0], [1, 2])
    assert hollow.get_markerfacecolor() == "none"
    assert "Hollow: noise dominates." in caption(ax)
    one = dp.plot(dp.difference(sizes, "y", "z"))
    assert one.lines[0].get_markerfacecolor() == "none"
    assert "Hollow: noise dominates." in caption(one)


def test_whiskers_without_an_end_reach_the_edge(p: Any, exact: None) -> None:
    none = p[p["age"] > 55].groupby("town").size(epsilon=0.1)
    shares = dp.ratio(p.groupby("town").size(epsilon=1), none)
    assert any(map(math.isinf, shares.interval()["upper"]))
    assert "Intervals that end at the edge have no end." in caption(dp.plot(shares))


def test_one_number_is_written_beside_its_interval(p: Any) -> None:
    ax = dp.plot(dp.ratio(p.count(epsilon=1), p.count(epsilon=2)))
    (said, *_) = (text.get_text() for text in ax.texts)
    assert re.fullmatch(r"\S+ \(\S+ to \S+\)", said)
    assert "expected_rows" in refusal(
        lambda: dp.plot(dp.ratio(p.count(epsilon=1), p.count(epsilon=2)), expected_rows=9)
    )
