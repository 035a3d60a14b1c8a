"""Titles, captions, sizes, stacks, ticks and bands."""

import itertools
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from refusals import refusal
from test_plot import captions, texts, whole

import dppandas as dp
from dppandas.display.plots import scales
from dppandas.display.plots.layout import SCREEN, stacked
from dppandas.ledger.colours import INKS


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def town() -> Any:
    dp.session(epsilon=10_000)
    n = 2000
    frame = pd.DataFrame({"g": ["a", "b"] * (n // 2), "k": np.arange(n) % 200})
    frame = frame.assign(x=frame.index % 100, y=frame.index * 5_000.0, z=frame.index % 7)
    return dp.protect(frame, name="town", domain={
        "g": ["a", "b"], "x": (0, 100), "y": (0, 1e7), "z": (0, 7), "k": range(200),
    })  # fmt: skip


# --- words and sizes ------------------------------------------------------------------------------


def test_a_title_is_given(town: Any) -> None:
    counts = town["g"].value_counts(epsilon=1)
    assert dp.plot(counts, title="Where they live").get_title() == "Where they live"
    assert dp.plot(counts, title="").get_title() == ""
    both = town["x"].agg(["size", "mean"], epsilon=1)
    titles = ["Rows", "How old they are"]
    assert [axes.get_title() for axes in dp.plot(both, title=titles)] == titles
    refusal(lambda: dp.plot(both, title="Rows"), "must be a list of 2 texts, one for each panel")
    refusal(lambda: dp.plot(counts, title=titles), "must be a text")
    refusal(lambda: dp.plot(counts, title=3), "must be a text")


def test_a_caption_is_left_out(town: Any) -> None:
    for told in (town["g"].value_counts(epsilon=1), town["x"].describe(epsilon=1)):
        for axes in np.atleast_1d(dp.plot(told, caption=False)):
            assert captions(axes) == []
    refusal(lambda: dp.plot(told, caption="mine"), "caption='mine' must be True or False")


@pytest.mark.parametrize("kind", ["counts", "describe"])
def test_a_figure_has_the_size_that_is_asked_for(kind: str, town: Any) -> None:
    told = town["g"].value_counts(epsilon=1) if kind == "counts" else town["x"].describe(epsilon=1)
    axes = np.atleast_1d(dp.plot(told, figsize=(9, 5.5)))
    figure = axes[0].figure
    assert figure.get_size_inches().tolist() == [9, 5.5]
    figure.canvas.draw()
    whole(figure)


@pytest.mark.parametrize("size", [3, (1,), ("a", 2), (0, 4), (4, float("nan")), (4, 1000)])
def test_sizes_are_checked(size: Any, town: Any) -> None:
    counts = town["g"].value_counts(epsilon=1)
    refusal(lambda: dp.plot(counts, figsize=size), r"must be \(width, height\), in inches")


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_a_ground_has_its_ink(ground: str, town: Any) -> None:
    counts = town["g"].value_counts(epsilon=1)
    figure = dp.plot(counts, ground=ground).figure
    figure.canvas.draw()
    inks = {mpl.colors.to_hex(text.get_color()) for text in texts(figure)}
    assert inks == {INKS[ground]}
    assert figure.get_facecolor()[3] == 0
    assert mpl.rcParams["text.color"] == "black"
    with plt.style.context("dark_background"):  # a style of the caller is kept
        assert mpl.colors.to_hex(dp.plot(counts, ground=ground).title.get_color()) == "#ffffff"


def test_grounds_are_checked(town: Any) -> None:
    counts = town["g"].value_counts(epsilon=1)
    refusal(lambda: dp.plot(counts, ground="grey"), "ground='grey' must be 'light' or 'dark'")
    refusal(lambda: dp.plot(counts, ground=["light"]), "must be 'light' or 'dark'")
    axes = plt.figure().add_subplot()
    refusal(lambda: dp.plot(counts, ax=axes, ground="dark"), "ground= is for a new figure")


def test_axes_have_a_size(town: Any) -> None:
    counts, (_, axes) = town["g"].value_counts(epsilon=1), plt.subplots()
    refusal(lambda: dp.plot(counts, ax=axes, figsize=(4, 4)), "figsize= is for a new figure")


# --- stacks ---------------------------------------------------------------------------------------


def test_stacks_are_as_few_as_a_screen_has_room_for() -> None:
    high = SCREEN / 3
    assert stacked([high] * 3, [False] * 3) == [[high] * 3]
    assert list(map(len, stacked([high] * 4, [False] * 4))) == [2, 2]
    assert list(map(len, stacked([high] * 4, [False, False, True, True]))) == [3, 1]
    assert list(map(len, stacked([high] * 7, [False] * 7))) in ([3, 2, 2], [2, 3, 2], [2, 2, 3])
    assert list(map(len, stacked([high] * 12, [True] * 12))) == [4, 4, 4]  # as low as can be


@pytest.mark.parametrize("columns", ["x", ["x", "y", "z"]])
def test_a_description_is_no_taller_than_a_screen(columns: Any, town: Any) -> None:
    axes = dp.plot(town[columns].describe(epsilon=30))
    figure = axes[0].figure
    wide, high = figure.get_size_inches()
    assert high <= 8.6
    assert wide <= 13.4
    figure.canvas.draw()
    whole(figure)
    boxes = [text.get_window_extent() for text in texts(figure)]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert len(captions(axes[0])) == 1  # for all of them
    assert "quantile errs in ranks" in captions(axes[0])[0]
    assert "intervals, all" in captions(axes[0])[0]


# --- ticks ----------------------------------------------------------------------------------------


def written(axis: Any) -> list[str]:
    axis.axes.figure.canvas.draw()
    low, high = sorted(axis.get_view_interval())
    return [
        tick.label1.get_text() for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high
    ]


def test_first_lines_of_labels_are_level() -> None:
    """matplotlib writes the first of several lines 2 pixels lower than one alone."""
    frame = pd.DataFrame({"g": ["Alder", "Little Snoring on the Water"] * 500, "h": [1, 2] * 500})
    p = dp.protect(frame, name="town", domain={"g": [*frame["g"].unique()], "h": [1, 2]})
    for answer in (p["g"].value_counts(epsilon=1), p.crosstab("h", "g", epsilon=1)):
        axes = dp.plot(answer, figsize=(3, 4))
        axes.figure.canvas.draw()
        labels = axes.get_xticklabels()
        assert {each.get_text().strip().count("\n") > 0 for each in labels} == {False, True}
        assert len({each.get_text().count("\n") for each in labels}) == 1


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ((0, 5e7), "45 M"), ((0, 2e9), "1.5 bn"), ((0, 3e12), "1.0 tn"), ((0, 8e5), "200,000"),
        ((-3e6, 3e6), "-2 M"), ((-3e6, 3e6), "0"),
        ((1_000_000, 1_000_050), "1,000,010"),
    ],
)  # fmt: skip
def test_many_zeros_are_a_word(ends: tuple[float, float], told: str) -> None:
    _, ax = plt.subplots(figsize=(12, 4))
    ax.set_xlim(*ends)
    scales.number_axis(ax.xaxis)
    found = written(ax.xaxis)
    assert told in found or told == "45 M"
    assert len({*found}) == len(found)
    if told == "45 M":
        assert ax.xaxis.get_major_formatter()(4.5e7, 0) == "45 M"


@pytest.mark.parametrize("width", [1.5, 3, 6, 12])
@pytest.mark.parametrize("ends", [(0, 1), (0, 5_000_001), (4_999_000, 5_000_001), (0.1234, 0.1235)])
@pytest.mark.parametrize("kind", ["number", "share", "time"])
def test_ticks_never_collide(kind: str, ends: tuple[float, float], width: float) -> None:
    _, both = plt.subplots(2, figsize=(width, width), layout="constrained")
    for name, ax in zip("xy", both, strict=True):
        axis = getattr(ax, f"{name}axis")
        if kind == "time":
            scales.time_axis(axis, None)
            ends = 15_000 + ends[0] % 3000, 15_000.01 + ends[1] % 3000
        getattr(ax, f"set_{name}lim")(*ends)
        if kind != "time":
            scales.number_axis(axis, is_share=kind == "share")
        ax.figure.canvas.draw()
        seen = [each for each in texts(ax.figure) if each in axis.get_ticklabels()]
        boxes = [label.get_window_extent() for label in seen]
        assert boxes
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2)), seen


def test_ticks_fit_when_a_figure_is_made_smaller(town: Any) -> None:
    axes = dp.plot(town["y"].hist(bins=4, epsilon=1))
    many = len(written(axes.xaxis))
    axes.figure.set_size_inches(1.6, 3)
    assert 0 < len(written(axes.xaxis)) < many


# --- bands ----------------------------------------------------------------------------------------


def band(axes: Any, label: str = "_interval") -> Any:
    (found,) = (
        each for each in axes.collections
        if isinstance(each, PolyCollection) and each.get_label() == label
    )  # fmt: skip
    return found


@pytest.mark.parametrize("number", [60, 61])
def test_beyond_sixty_numbers_intervals_are_a_band(number: int, town: Any) -> None:
    counts = town.groupby("k", keys=range(number)).size(epsilon=1)
    axes = dp.plot(counts)
    is_band = number > 60
    assert bool(axes.containers) != is_band
    assert captions(axes)[0].startswith("Band: 95 %" if is_band else "Whiskers: 95 %")
    if is_band:
        (path,) = band(axes).get_paths()
        found = dp.intervals(counts)
        for at, low, high in zip(range(number), found["low"], found["high"], strict=True):
            assert path.contains_point((at, (low + high) / 2))
            assert path.contains_point((at + 0.4, low + 0.01))  # a step for each
            assert path.contains_point((at - 0.4, high - 0.01))
            assert not path.contains_point((at, low - 0.01))
            assert not path.contains_point((at, high + 0.01))


def test_a_population_has_a_band_of_its_own(town: Any) -> None:
    means = town.groupby("k")["x"].mean(epsilon=50)
    axes = dp.plot(means, of="population")
    outer, inner = band(axes, "_population"), band(axes)
    assert outer.get_facecolor().tolist() != inner.get_facecolor().tolist()
    said = captions(axes)[0]
    assert "Inner band: 95 % intervals" in said
    assert "Outer band: 95 % intervals for the population" in said
    assert "bars" not in said


def test_bands_lie_down_with_long_labels() -> None:
    dp.session(epsilon=100)
    keys = [f"a street with a long name, number {i}" for i in range(70)]
    frame = pd.DataFrame({"k": keys * 3})
    counts = frame.dp["k"].value_counts(keys=keys, epsilon=1)
    axes = dp.plot(counts)
    (path,) = band(axes).get_paths()
    low, high = dp.intervals(counts)[["low", "high"]].iloc[3]
    assert path.contains_point(((low + high) / 2, 3))
    axes.figure.canvas.draw()
    whole(axes.figure)


# --- labels ---------------------------------------------------------------------------------------


def test_labels_of_different_keys_differ() -> None:
    dp.session(epsilon=1000)
    keys = [f"I would rather say that I am {how} with how the town treats us" for how in
            ("content", "quite content", "angry", "quite angry")]  # fmt: skip
    frame = pd.DataFrame({"k": keys * 50, "g": ["a", "b"] * 100})
    counts = dp.plot(frame.dp["k"].value_counts(keys=keys, epsilon=1))
    table = dp.plot(frame.dp.crosstab("k", "g", keys={"k": keys, "g": ["a", "b"]}, epsilon=1))
    across = dp.plot(frame.dp.crosstab("g", "k", keys={"k": keys, "g": ["a", "b"]}, epsilon=1))
    for labels in (counts.get_yticklabels(), table.get_yticklabels(), across.get_xticklabels()):
        assert len({label.get_text() for label in labels}) == len(keys)
    for axes in (counts, table, across):
        axes.figure.canvas.draw()
        whole(axes.figure)
    boxes = [label.get_window_extent() for label in counts.get_yticklabels()]
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))


def test_quantiles_of_a_legend_differ(town: Any) -> None:
    told = town.groupby("g")["x"].quantile([0.1234567, 0.1234568], epsilon=1)
    axes = dp.plot(told)
    assert len({text.get_text() for text in axes.get_legend().get_texts()}) == 2


@pytest.mark.filterwarnings("error")
def test_no_span_of_time_brings_a_warning() -> None:
    """Spans from a second to 300 years, each a little longer than the one before."""
    _, ax = plt.subplots()
    scales.time_axis(ax.xaxis, None)
    for days in np.geomspace(1 / 86_400, 110_000, 250):
        ax.set_xlim(10_000, 10_000 + days)
        assert 1 <= len(ax.xaxis.get_majorticklocs()) <= 12
