"""What a chart designer would ask of plots: words, labels, scales, colours and grounds."""

import itertools
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.dates as mdates
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
from matplotlib_inline.backend_inline import _fetch_figure_metadata
from nbclient import NotebookClient
from palettes import contrast
from test_plot import captions, in_full, texts, whole
from waiting import LIMIT

import dppandas as dp
from dppandas.display.plots import style
from dppandas.display.plots.heatmaps import BOTH_SIGNS, LIGHT_TO_DARK, _ink

CITIES = ["Aachen", "Berlin", "Cologne"]
LONG = [f"a rather long answer, number {i}" for i in range(6)]
WHITE = "#ffffff"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def survey() -> Any:
    dp.session(epsilon=1000)
    n, start = 600, pd.Timestamp("2024-01-01")
    frame = pd.DataFrame({"city": CITIES * 200, "said": LONG * 100, "q": [1, 2, 3, 4, 5] * 120})
    frame = frame.assign(
        income=np.arange(n) * 30, r=6 - frame["q"], when=start + pd.to_timedelta(np.arange(n), "D"),
        wait=pd.to_timedelta(np.arange(n), "min"), many=np.arange(n) % 31, debt=-np.arange(n) / 6,
    )  # fmt: skip
    return dp.protect(frame, name="survey", domain={
        "city": CITIES, "said": LONG, "q": (1, 5), "r": (1, 5), "income": (0, 20_000),
        "when": ("2024-01-01", "2025-12-31"), "wait": (pd.Timedelta(0), pd.Timedelta("12h")),
        "debt": (-200, 0),
    })  # fmt: skip


# --- words ----------------------------------------------------------------------------------------

TITLES: dict[str, Callable[[Any], Any]] = {
    "Count of rows by city": lambda p: p["city"].value_counts(epsilon=1),
    "Mean income by city": lambda p: p.groupby("city")["income"].mean(epsilon=1),
    "Mean income, where q > 2": lambda p: p.query("q > 2")["income"].mean(epsilon=1),
    "Median income by city": lambda p: p.groupby("city")["income"].median(epsilon=1),
    "Histogram of income": lambda p: p["income"].hist(bins=5, epsilon=1),
    "Correlation of income and q": lambda p: p[["income", "q"]].corr(epsilon=1),
    "Count of rows by city and said": lambda p: p.crosstab("city", "said", epsilon=1),
}


@pytest.mark.parametrize("title", TITLES)
def test_titles_are_words_and_captions_have_the_query(title: str, survey: Any) -> None:
    answer = TITLES[title](survey)
    axes = dp.plot(answer)
    assert axes.get_title() == title
    record = dp.record(answer)
    assert f"Asked: {record.query}." in captions(axes)[0]
    assert "ε = 1" in captions(axes)[0]


def test_a_long_title_says_which_rows_below_is_cut_and_fits(survey: Any) -> None:
    where = " and ".join(f"income > {i}" for i in range(40))
    axes = dp.plot(survey.query(where)["said"].value_counts(epsilon=1))
    first, *others = axes.get_title().split("\n")
    assert first == "Count of rows by said,"
    assert others[0].startswith("where (")
    assert len(others) == 2
    assert others[1].endswith("…")
    axes.figure.canvas.draw()
    whole(axes.figure)


def test_the_largest_error_is_said(survey: Any) -> None:
    counts = survey["city"].value_counts(epsilon=10)  # whiskers too short to be seen
    error = int(dp.record(counts).error())
    assert f"The largest error is ± {error}." in captions(dp.plot(counts))[0]


# --- labels ---------------------------------------------------------------------------------------


def test_long_labels_stand_beside_bars_that_lie_down(survey: Any) -> None:
    counts = survey["said"].value_counts(epsilon=1)
    axes = dp.plot(counts)
    axes.figure.canvas.draw()
    assert [bar.get_width() for bar in axes.patches] == counts.tolist()
    assert [label.get_text() for label in axes.get_yticklabels()] == counts.index.tolist()
    assert axes.yaxis_inverted()  # the first is on top
    low, high = dp.record(counts).intervals().loc[counts.index].to_numpy().T
    (lines,) = (each[2] for each in axes.containers if each.__class__.__name__.startswith("Err"))
    assert [tuple(s[:, 0]) for line in lines for s in line.get_segments()] == [
        *zip(low, high, strict=True)
    ]
    assert all(label.get_rotation() == 0 for label in axes.get_yticklabels())
    whole(axes.figure)
    means = survey.groupby("said")["income"].mean(epsilon=1)
    assert dp.plot(means).lines[0].get_xdata().tolist() == means.tolist()


@pytest.mark.parametrize("number", [3, 30, 31, 60, 300])
def test_labels_never_overlap_and_heights_adapt(number: int) -> None:
    dp.session(epsilon=1000)
    keys = [f"key number {i} of a list" for i in range(number)]
    told = dp.private(pd.DataFrame({"k": keys})).value_counts("k", keys={"k": keys}, epsilon=1)
    axes = dp.plot(told)
    axes.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))
    assert len(boxes) >= min(number, 60)
    assert ("is written" in captions(axes)[0]) == (len(boxes) < number)
    assert axes.figure.get_size_inches()[1] <= 16
    whole(axes.figure)


def test_beyond_thirty_keys_there_are_dots_with_whiskers(survey: Any) -> None:
    by_key = survey.groupby("many", keys=range(31)).size(epsilon=1)
    for told, is_bars in ((by_key.head(30), True), (by_key, False)):
        axes = dp.plot(told)
        assert bool(axes.patches) == is_bars
        assert len([c for c in axes.containers if c.__class__.__name__.startswith("Err")]) == 1
        assert axes.get_ylim()[0] <= 0  # of counts, the axis isn't cut
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert sorted(y for line in dots for y in line.get_ydata()) == sorted(by_key.tolist())


# --- scales ---------------------------------------------------------------------------------------


def test_numbers_are_written_in_full() -> None:
    dp.session(epsilon=1000)
    frame = pd.DataFrame({"g": ["a", "b"] * 500, "x": 200_000.0, "tiny": 2e-6, "yes": True})
    p = dp.protect(frame, name="large", domain={"g": ["a", "b"], "x": (0, 300_000)})
    by = p.groupby("g")
    axes = dp.plot(by["x"].sum(epsilon=50))
    axes.figure.canvas.draw()
    assert "40 M" in [label.get_text() for label in axes.get_yticklabels()]
    in_full(axes.figure)
    tiny = dp.plot(by["tiny"].mean(bounds=(0, 1e-5), epsilon=50))
    tiny.figure.canvas.draw()
    in_full(tiny.figure)
    written = [label.get_text() for label in tiny.get_yticklabels()]
    assert all(text.startswith("0.00000") for text in written if text.strip("-0."))
    share = dp.plot(by["yes"].mean(bounds=(0, 1), epsilon=1))
    count = dp.plot(p["g"].value_counts(normalize=True, epsilon=1))
    for ax in (count, share):
        ax.figure.canvas.draw()
    assert all(label.get_text().endswith(" %") for label in count.get_yticklabels())


def test_columns_of_another_scale_have_a_panel_each(survey: Any) -> None:
    alike = survey[["q", "r"]].mean(epsilon=1)  # both within (1, 5)
    assert dp.plot(alike).get_title() == "Mean of q and r"
    mixed = survey[["q", "income", "r"]].mean(epsilon=1)
    one, other = dp.plot(mixed)
    assert [one.get_title(), other.get_title()] == ["Mean of q and r", "Mean income"]
    assert one.lines[0].get_ydata().tolist() == mixed[["q", "r"]].tolist()
    assert other.lines[0].get_xdata().tolist() == [mixed["income"]]
    sums = dp.plot(survey[["q", "income"]].sum(epsilon=1))
    assert [ax.get_title() for ax in sums] == ["Sum of q", "Sum of income"]
    counts = survey[["q", "income"]].count(epsilon=1)
    assert len(dp.plot(counts).patches) == 2  # rows are rows


def test_panels_of_one_scale_have_the_same_limits(survey: Any) -> None:
    axes = dp.plot(survey.groupby("city")[["q", "r", "income"]].mean(epsilon=1))
    assert axes[0].get_ylim() == axes[1].get_ylim() != axes[2].get_ylim()


def test_colours_of_a_table_do_not_make_much_of_noise(survey: Any) -> None:
    counts = dp.plot(survey.crosstab("city", "said", epsilon=1)).images[0].norm
    assert counts.vmin <= 0
    keys = {"q": [1, 2, 3, 4, 5]}
    told = survey.pivot_table("income", "city", "q", keys=keys, epsilon=1)
    means = dp.plot(told).images[0].norm
    ends = dp.record(told).intervals().to_numpy()
    assert (means.vmin, means.vmax) == (ends.min(), ends.max())


def test_a_table_of_times_is_drawn_in_time(survey: Any) -> None:
    keys = {"q": [1, 2, 3, 4, 5]}
    told = survey.pivot_table("when", "city", "q", keys=keys, epsilon=20)
    axes = dp.plot(told)
    drawn = axes.images[0].get_array()
    assert drawn.reshape(-1).tolist() == pytest.approx(
        mdates.date2num(told.to_numpy().reshape(-1)).tolist(), abs=2e-5
    )
    axes.figure.canvas.draw()
    bar = axes.figure.axes[1]
    written = [label.get_text() for label in bar.get_yticklabels()]
    assert all(pd.Timestamp(text).year in (2024, 2025) for text in written if text)
    assert bar.get_ylabel() == "when"
    assert re.search(r"interval: noise ± \d.* days", captions(axes)[0])
    whole(axes.figure)


@pytest.mark.parametrize("label", ["folded into several lines", "unfoldable_as_it_is_one_word"])
def test_long_labels_of_columns_are_folded_or_turned(label: str, survey: Any) -> None:
    keys = [f"{label} {i}" for i in range(6)]
    axes = dp.plot(survey.crosstab("city", "said", keys={"said": keys}, epsilon=1))
    axes.figure.canvas.draw()
    labels = axes.get_xticklabels()
    folds = "\n" in labels[0].get_text()
    assert folds == label.startswith("folded")
    assert {bool(each.get_rotation()) for each in labels} == {not folds}
    boxes = [each.get_window_extent() for each in labels]
    assert not folds or not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))
    assert axes.get_window_extent().height > 100
    whole(axes.figure)


@pytest.mark.parametrize("by", ["city", "said"])
def test_group_medians_stand_on_the_whole_of_their_bounds(by: str, survey: Any) -> None:
    grouped = survey.groupby(by)["income"]
    for asked in (grouped.median(), grouped.quantile([0.1, 0.9])):
        axes = dp.plot(asked.release(epsilon=1))
        low, high = axes.get_xlim() if by == "said" else axes.get_ylim()
        assert low <= 0 < 20_000 <= high
        assert not axes.containers
        assert "The axis spans the public bounds" in captions(axes)[0]


def test_group_medians_keep_the_order_of_their_answer(survey: Any) -> None:
    medians = survey.groupby("city")["income"].median(epsilon=1).sort_index(ascending=False)
    axes = dp.plot(medians)
    assert [label.get_text() for label in axes.get_xticklabels()] == CITIES[::-1]
    assert axes.lines[0].get_ydata().tolist() == medians.tolist()


def test_times_stand_on_an_axis_of_time(survey: Any) -> None:
    by = survey.groupby("city")["when"]
    means = by.mean(epsilon=1)
    axes = dp.plot(means)
    at = mdates.date2num(means.to_numpy())
    assert axes.lines[0].get_ydata().tolist() == pytest.approx(at.tolist(), abs=2e-5)
    axes.figure.canvas.draw()
    for label in axes.get_yticklabels():
        assert pd.Timestamp(label.get_text()).year in (2024, 2025)
    low, high = (mdates.date2num(end) for end in dp.record(means).intervals().to_numpy().T)
    (lines,) = (each[2] for each in axes.containers if each.__class__.__name__.startswith("Err"))
    drawn = np.array([segment[:, 1] for line in lines for segment in line.get_segments()])
    assert drawn == pytest.approx(np.stack([low, high], axis=1), abs=2e-5)
    medians = by.median(epsilon=1)
    axes = dp.plot(medians)
    first, last = mdates.num2date(axes.get_ylim())
    assert first.year <= 2024
    assert (last.year, last.month) >= (2025, 12)
    spread = survey["when"].std(epsilon=1)
    axes = dp.plot(spread)
    assert axes.get_xlabel() == "when, in days"
    assert axes.lines[0].get_xdata().tolist() == [pytest.approx(spread / pd.Timedelta("1D"))]


def test_a_zone_is_that_of_the_column() -> None:
    frame = pd.DataFrame({"t": pd.Timestamp("2024-05-05 23:30", tz="UTC"), "g": ["a", "b"] * 50})
    bounds = tuple(pd.Timestamp(day, tz="Asia/Tokyo") for day in ("2024-05-06", "2024-05-07"))
    told = frame.dp["t"].mean(bounds=bounds, epsilon=10)
    axes = dp.plot(told)
    axes.figure.canvas.draw()
    assert axes.get_xlabel() == "t (Asia/Tokyo)"
    days = {label.get_text()[-10:] for label in axes.get_xticklabels()}
    assert days - {""} <= {"2024-05-06", "2024-05-07"}


def test_durations_have_a_unit_that_can_be_read(survey: Any) -> None:
    means = survey.groupby("city")["wait"].mean(epsilon=5)
    axes = dp.plot(means)
    assert axes.get_ylabel() == "wait, in hours"
    hours = means / pd.Timedelta("1h")
    assert axes.lines[0].get_ydata().tolist() == pytest.approx(hours.tolist())


def test_keys_that_are_times_stand_where_they_are(survey: Any) -> None:
    key = pd.Grouper(key="when", freq="MS")
    by = survey.groupby(key, range=("2024-01-01", "2025-08-31")).size(epsilon=1)
    axes = dp.plot(by)
    middles = [bar.get_x() + bar.get_width() / 2 for bar in axes.patches]
    assert middles == pytest.approx(mdates.date2num(by.index.to_numpy()).tolist())
    told = survey["when"].hist(bins=4, epsilon=1)
    axes = dp.plot(told)
    lefts = mdates.date2num(told.index.left.to_numpy())
    assert [bar.get_x() for bar in axes.patches] == pytest.approx(lefts.tolist())


def test_what_noise_dominates_is_hollow(survey: Any) -> None:
    counts = survey["city"].value_counts(epsilon=0.001)
    surely = survey["city"].value_counts(epsilon=10)
    for told in (counts, surely):
        axes = dp.plot(told)
        flags = dp.record(told).noise_dominated.loc[told.index]
        assert [bar.get_facecolor()[3] == 0 for bar in axes.patches] == flags.tolist()
        assert ("Hollow: noise dominates." in captions(axes)[0]) == flags.any()
    assert dp.record(counts).noise_dominated.any()


def crosses(axes: Any) -> list[Any]:
    """The labels' positions with a cross."""
    return [x for line in axes.lines if line.get_gid() == "may be empty" for x in line.get_xdata()]


def two_groups(survey: Any) -> Any:
    """Of which the first has no rows."""
    none, some = CITIES[:2]
    return survey.query(f"city != '{none}'").groupby("city", keys=[none, some])["income"]


def test_groups_that_may_be_empty_have_a_cross(survey: Any, exact: None) -> None:
    """Bars, dots, and quantiles, whatever their colours."""
    groups = two_groups(survey)
    for told in (
        groups.size(epsilon=9),
        groups.mean(epsilon=9),
        groups.std(epsilon=60),
        groups.quantile([0.25, 0.5], interval=True, epsilon=60),
    ):
        axes = dp.plot(told)
        assert {*crosses(axes)} == {0}, told
        said = captions(axes)[0]
        assert "Hollow: noise dominates. ×: the group may be empty." in said
    sure = dp.plot(groups.mean(epsilon=9).tail(1))
    assert not crosses(sure)
    assert "×" not in captions(sure)[0]


def test_intervals_of_medians_by_group_are_drawn(survey: Any, exact: None) -> None:
    groups = two_groups(survey)
    told = groups.median(interval=True, epsilon=60)
    axes = dp.plot(told)
    (whiskers,) = axes.containers
    found = np.sort([segment[:, 1] for segment in whiskers[2][0].get_segments()], axis=1)
    assert found == pytest.approx(dp.intervals(told)[["low", "high"]].to_numpy())
    assert captions(axes)[0].startswith("Lines: intervals of values")
    several = dp.plot(groups.quantile([0.25, 0.5], interval=True, epsilon=60))
    assert not several.containers
    assert captions(several)[0].startswith("dp.intervals has intervals of values")


def test_quantiles_of_small_groups_are_hollow(survey: Any, exact: None) -> None:
    axes = dp.plot(two_groups(survey).agg(["count", "median"], epsilon=60))[1]
    filled, hollow = axes.lines[:2]
    assert (filled.get_xdata().tolist(), hollow.get_xdata().tolist()) == ([1], [0])
    assert hollow.get_markerfacecolor() == "none"
    assert "Hollow: noise dominates." in captions(axes)[0]


# --- colours --------------------------------------------------------------------------------------


def test_quantiles_differ_by_colour_and_by_mark(survey: Any) -> None:
    told = survey.groupby("city")["income"].quantile([0.1, 0.3, 0.5, 0.7, 0.9], epsilon=5)
    lines = dp.plot(told).lines
    assert len({line.get_marker() for line in lines}) == 5
    assert [line.get_color() for line in lines] == [*style.COLOURS[:5]]


@pytest.mark.parametrize("name", [LIGHT_TO_DARK, BOTH_SIGNS])
def test_numbers_can_be_read_on_every_cell(name: str) -> None:
    _, ax = plt.subplots()
    values = np.ma.MaskedArray(np.linspace(0, 1, 256).reshape(1, -1))
    image = ax.imshow(values, cmap=name)
    for at in range(256):
        cell = image.cmap(image.norm(values[0, at]))
        assert contrast(_ink(image, values, (0, at)), cell) >= 4.5


# --- grounds --------------------------------------------------------------------------------------

KINDS: dict[str, Callable[[Any], Any]] = {
    "bars": lambda p: p["city"].value_counts(epsilon=1),
    "bars that lie down": lambda p: p["said"].value_counts(epsilon=1),
    "a number": lambda p: p.count(epsilon=1),
    "a table": lambda p: p.crosstab("city", "said", margins=True, epsilon=1),
    "panels": lambda p: p["income"].describe(epsilon=1),
    "groups": lambda p: p.groupby("city")["income"].quantile([0.2, 0.8], epsilon=1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_ground_is_transparent_and_all_text_in_one_ink(kind: str, survey: Any) -> None:
    before = dict(mpl.rcParams)
    axes = np.atleast_1d(dp.plot(KINDS[kind](survey)))
    assert dict(mpl.rcParams) == before
    figure = axes[0].figure
    figure.canvas.draw()
    corners = np.asarray(figure.canvas.buffer_rgba())[[0, 0, -1, -1], [0, -1, 0, -1]]
    assert (corners[:, 3] == 0).all()
    on_cells = {text for ax in axes for text in ax.texts if text.get_gid() is None and ax.images}
    inks = {mpl.colors.to_hex(text.get_color()) for text in {*texts(figure)} - on_cells}
    assert inks == {style.INK}
    assert _fetch_figure_metadata(figure) is None  # else IPython paints a ground
    for axis in (each for ax in figure.axes for each in (ax.xaxis, ax.yaxis)):
        ticks = axis.get_major_ticks()
        side = "label1" if not ticks or ticks[-1].label1.get_visible() else "label2"
        labels = [getattr(tick, side) for tick in ticks]
        assert all(label.get_alpha() != 0 for label in labels)


@pytest.mark.deep
def test_notebooks_show_every_plot(tmp_path: Path) -> None:
    """The first figure loads the backend, which then must stay as it set itself up."""
    first, second = (  # cells of one text would be two runs of a cell, which pays again and says so
        f"dp.plot(frame.dp['g'].value_counts(keys=['a', 'b'], epsilon={e}));" for e in (1, 2)
    )
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in (
        "import pandas as pd, dppandas as dp\nframe = pd.DataFrame({'g': ['a', 'b'] * 99})\n"
        "dp.session(epsilon=9);", first, second, "dp.privacy_loss('laplace', epsilon=1).plot();",
    )]  # fmt: skip
    NotebookClient(notebook, kernel_name="python3", timeout=LIMIT).execute(cwd=str(tmp_path))
    outputs = [cell.outputs for cell in notebook.cells[1:]]
    assert [[output.output_type for output in each] for each in outputs] == [["display_data"]] * 3
    for (output,) in outputs:
        assert "image/png" in output.data
        assert not output.metadata  # no ground is asked for


def test_a_style_of_the_caller_is_kept(survey: Any) -> None:
    counts = survey["city"].value_counts(epsilon=1)
    with plt.style.context("dark_background"):
        axes = dp.plot(counts)
        assert mpl.colors.to_hex(axes.figure.get_facecolor()) == "#000000"
        assert mpl.colors.to_hex(axes.title.get_color()) == WHITE
    figure, given = plt.subplots(facecolor="beige")
    dp.plot(counts, ax=given)
    assert mpl.colors.to_hex(figure.get_facecolor()) == mpl.colors.to_hex("beige")
    assert given.get_facecolor() == (1, 1, 1, 1)
    assert mpl.colors.to_hex(given.title.get_color()) == "#000000"


def test_a_title_can_be_replaced(survey: Any) -> None:
    axes = dp.plot(survey["city"].value_counts(epsilon=1))
    axes.set_title("Where people live")
    assert "Count of rows by city" not in [text.get_text() for text in texts(axes.figure)]


# --- privacy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_alone_is_enough(kind: str, survey: Any) -> None:
    """Its pickle holds no rows, and the session that asked is gone."""
    made = dp.record(KINDS[kind](survey))
    components = made.components
    records = list(components.values()) if isinstance(components, dict) else [made]
    pictures = []
    for again in (False, True):
        drawn = [pickle.loads(pickle.dumps(each)) if again else each for each in records]
        if again:
            dp.reset()
        axes = [ax for each in drawn for ax in np.atleast_1d(dp.plot(each))]
        pictures.append([ax.figure.canvas.draw() or bytes(ax.figure.canvas.buffer_rgba())
                         for ax in axes])  # fmt: skip
    assert pictures[0] == pictures[1]
