"""Plots of what answers say of a population: a thin bar for it, a thick one for the noise."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp
from dppandas.display.plots.bars import THICK

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def p() -> Any:
    dp.session(epsilon=1000)
    at = np.arange(900)
    df = pd.DataFrame({
        "town": np.array(list("xyz"))[at % 3], "age": 20.0 + at % 30, "left": at % 7 == 0,
        "sex": np.array(["f", "m"])[at // 3 % 2],
    })  # fmt: skip
    domain = {"town": list("xyz"), "age": (0, 60), "sex": ["f", "m"]}
    return dp.protect(df, "towns", domain=domain)


def drawn_as(ax: Any, label: str) -> list[Any]:
    return [each for each in ax.containers if each.get_label() == label]


def bars(ax: Any, label: str) -> Any:
    """The two ends of all bars with a label, along the values."""
    (drawn,) = drawn_as(ax, label)
    (lines,) = drawn[2]
    found = np.array(lines.get_segments())
    across = 0 if np.ptp(found[..., 1], axis=1).max() == 0 else 1
    return found[..., across], float(lines.get_linewidth()[0]), len(drawn[1])


def caption(ax: Any) -> str:
    said = (text for text in [*ax.texts, *ax.figure.texts] if text.get_gid() == "dppandas caption")
    return " ".join(" ".join(text.get_text().split()) for text in said)


def same(drawn: Any, found: pd.DataFrame) -> bool:
    return np.allclose(drawn, found[["low", "high"]].to_numpy(), equal_nan=True)


@pytest.mark.parametrize("method", [None, "t", "bernstein"])
def test_thick_bars_are_of_the_noise_and_thin_ones_for_the_population(
    p: Any, method: str | None
) -> None:
    means = p.groupby("town")["age"].mean(epsilon=1)
    ax = dp.plot(means, of="population", method=method, confidence=0.9)
    noise, thick, no_caps = bars(ax, "_interval")
    population, thin, caps = bars(ax, "_population")
    assert same(noise, dp.intervals(means, 0.9))
    assert same(population, dp.intervals(means, 0.9, of="population", method=method))
    assert (thick, no_caps, caps) == (THICK, 0, 2)
    assert thin < thick / 3
    said = caption(ax)
    assert "Thick bars: 90 % intervals, all 3 hold simultaneously; of the noise only" in said
    assert "Thin bars with caps: 90 % intervals for the population, all 3 hold simultaneou" in said
    words = "by Bernstein's inequality" if method == "bernstein" else "by Student's t, approximate"
    assert f"{words}; of clipped values, if the units are a random sample." in said
    assert " by noise, ± " in said
    assert "_population" not in [each.get_label() for each in dp.plot(means).containers]


def test_a_share_says_both_intervals_in_words(p: Any) -> None:
    ax = dp.plot(p["left"].mean(epsilon=1), of="population")
    (said,) = (text.get_text() for text in ax.texts if " by the noise, " in text.get_text())
    assert said.endswith(" for the population)")
    assert "this one number, exact; of clipped values" in caption(ax)


def test_what_says_nothing_of_a_population_beside_others_has_a_thick_bar_alone(p: Any) -> None:
    table = p.groupby("town")["age"].agg(["count", "mean"], epsilon=1)
    counts, means = dp.plot(table, of="population")
    assert drawn_as(counts, "_population") == []
    assert np.isfinite(bars(counts, "_interval")[0]).all()
    assert np.isfinite(bars(means, "_population")[0]).all()
    assert "Numbers without a thin bar say nothing of a population." in caption(means)
    *_, quartiles = dp.plot(p["age"].describe(epsilon=3), of="population")
    assert "No thin bars: this says nothing of a population." in caption(quartiles)


def test_too_few_rows_for_t_are_said(p: Any) -> None:
    few = p[p["age"] < 21].groupby("town")["age"].mean(epsilon=9)
    assert "rest on too few rows for t, and may hold less often" in caption(
        dp.plot(few, of="population")
    )


def test_counts_are_those_of_a_population_of_known_size(p: Any) -> None:
    counts = p["town"].value_counts(epsilon=1)
    ax = dp.plot(counts, of="population", size=90_000)
    found = dp.intervals(counts, of="population", size=90_000)
    assert [bar.get_height() for bar in ax.patches] == found["value"].tolist()
    assert same(bars(ax, "_population")[0], found)
    assert drawn_as(ax, "_interval") == []
    assert ax.get_ylabel() == "units of the population"
    assert "Thick" not in caption(ax)


def test_tables_of_two_keys_have_a_panel_for_each_column(p: Any) -> None:
    shares = p.crosstab("town", "sex", normalize="index", epsilon=1)
    axes = dp.plot(shares, of="population")
    assert [ax.get_title().rpartition(": ")[2] for ax in axes] == ["f", "m"]
    found = dp.intervals(shares, of="population").loc[(slice(None), "m"), :]
    assert same(bars(axes[1], "_population")[0], found)


def test_quantiles_with_intervals_have_both(p: Any) -> None:
    quartiles = p["age"].quantile([0.25, 0.5], step=1, interval=True, epsilon=9)
    ax = dp.plot(quartiles, of="population")
    assert same(bars(ax, "_population")[0], dp.intervals(quartiles, of="population"))
    assert "Thick lines: intervals of values" in caption(ax)
    by_town = p.groupby("town")["age"].median(step=1, interval=True, epsilon=9)
    assert "dp.intervals" in refusal(lambda: dp.plot(by_town, of="population"))


def test_derived_numbers_have_both(p: Any) -> None:
    apart = dp.difference(p.groupby("town")["age"].mean(epsilon=1), "x")
    ax = dp.plot(apart, of="population")
    assert same(bars(ax, "_interval")[0], dp.intervals(apart))
    assert same(bars(ax, "_population")[0], dp.intervals(apart, of="population"))
    assert "Thick bars: 95 % intervals, all 2 hold" in caption(ax)
    one = dp.plot(dp.difference(p["left"].mean(epsilon=1), p["left"].mean(epsilon=2)),
                  of="population")  # fmt: skip
    assert any(" for the population)" in text.get_text() for text in one.texts)


def test_a_comparison_is_drawn_as_it_was_made(p: Any, exact: None) -> None:
    means = p.groupby("town")["age"].mean(epsilon=60)
    found = dp.compare(means, "x", confidence=0.9)
    ax = dp.plot(found)
    assert same(bars(ax, "_population")[0], found)
    assert "90 % intervals for the population" in caption(ax)
    assert "Each less x. Can't be told apart: y, z." in caption(ax)
    assert any(np.ptp(line.get_ydata()) == 0 == line.get_ydata()[0] for line in ax.lines)
    on_rows = dp.plot(dp.compare(p.groupby("town").size(epsilon=60), "x", of="rows"))
    assert "Can't be told apart: y, z. Whiskers" in caption(on_rows)
    less = dp.plot(dp.compare(p["age"].mean(epsilon=60), p["left"].mean(epsilon=60)))
    assert "The two differ in the population." in caption(less)
    for option in ({"confidence": 0.95}, {"of": "population"}, {"of": "population", "size": 9}):
        assert "dp.compare" in refusal(lambda option=option: dp.plot(found, **option))


def test_what_cannot_be_told_is_refused_as_by_intervals(p: Any) -> None:
    count, counts = p.count(epsilon=1), p["town"].value_counts(epsilon=1)
    for answer in (count, counts, p[["age", "left"]].corr(bounds=(0, 60), epsilon=1)):
        said = refusal(lambda answer=answer: dp.intervals(answer, of="population"))
        assert refusal(lambda answer=answer: dp.plot(answer, of="population")) == said
    for options in ({"of": "people"}, {"size": 9}, {"method": "t"}):
        said = refusal(lambda options=options: dp.intervals(count, **options))
        assert refusal(lambda options=options: dp.plot(count, **options)) == said
