"""Pictures: bars are the record's own numbers and intervals, and words below say what they are."""

import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import operations as ops
import pandas as pd
import pytest
from matplotlib.transforms import Bbox
from operations import (
    AT_DELTA,
    EXPERIMENTAL,
    OF_UNITS,
    OPERATIONS,
    SCHEMA,
    SELECTIONS,
    UNKNOWN,
    released,
)
from refusals import refusal
from sizes import third

import dppandas as dp
from dppandas.display.plots import quantile_plots
from dppandas.display.plots.base import text_of
from dppandas.display.plots.marks import CROSSHATCH
from dppandas.errors import RecordError
from dppandas.rows.figures import plus_minus

#: What has no error along values, and so no picture.
UNDRAWN = {*ops.UNDRAWN, *EXPERIMENTAL, *SELECTIONS} - {"nlargest counts"}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def people() -> Any:
    frame = pd.DataFrame({"g": ["a", "b", "c", "b"] * 50, "h": [1, 2] * 100})
    frame = frame.assign(x=frame.index / 4, who=frame.index // 4)
    return dp.protect(frame, name="drawn", domain={"g": ["a", "b", "c"], "h": [1, 2], "x": (0, 60)})


def ends(axes: Any) -> list[tuple[float, float]]:
    """The ends of all bars of errors along y, in order."""
    (lines,) = (each[2] for each in axes.containers if each.__class__.__name__.startswith("Err"))
    return [tuple(segment[:, 1]) for line in lines for segment in line.get_segments()]


def undrawn(figure: Any) -> set[Any]:
    """The labels of ticks beyond the limits of their axes."""
    found = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            room = 1e-9 * (high - low)
            for tick in axis.get_major_ticks():
                if not low - room <= tick.get_loc() <= high + room:
                    found |= {tick.label1, tick.label2}
    return found


def texts(figure: Any) -> list[Any]:
    """All texts that are seen."""
    found = {text for text in figure.findobj(mpl.text.Text) if text.get_visible()}
    seen = found - undrawn(figure)
    return [text for text in seen if text.get_text().strip() and text.get_alpha() != 0]


def whole(figure: Any) -> None:
    """No text sticks out of its figure."""
    page = figure.get_window_extent().padded(1)
    for text in texts(figure):
        box = text.get_window_extent()
        assert all(map(page.containsx, (box.x0, box.x1))), text
        assert all(map(page.containsy, (box.y0, box.y1))), text


def in_full(figure: Any) -> None:
    """No axis has an offset or a factor, and no number is written as 1e7."""
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            assert axis.get_offset_text().get_text() == ""
            written = [label.get_text() for label in axis.get_ticklabels()]
            assert not [text for text in written if re.search(r"\de[+-]?\d", text)]


def corner(cell: Any) -> tuple[float, float]:
    """The row and the column of a cell that is hatched."""
    low = cell.get_path().vertices.min(axis=0)
    return float(low[1] + 0.5), float(low[0] + 0.5)


def captions(axes: Any) -> list[str]:
    """Those of some axes, and that of their figure."""
    found = [*axes.texts, *axes.figure.texts]
    return [" ".join(t.get_text().split()) for t in found if t.get_gid() == "dppandas caption"]


def test_bars_are_the_answers_and_their_errors_the_intervals(people: Any) -> None:
    counts = people["g"].value_counts(epsilon=1)
    for drawn in (counts, counts.sort_index(), counts.head(2), counts.iloc[::-1]):
        axes = dp.plot(drawn)
        assert [bar.get_height() for bar in axes.patches] == drawn.tolist()
        told = dp.record(counts).intervals().loc[drawn.index]
        assert ends(axes) == list(zip(told["lower"], told["upper"], strict=True))
        assert [t.get_text() for t in axes.get_xticklabels()] == drawn.index.tolist()


def test_a_record_is_drawn_as_its_result_is(people: Any) -> None:
    counts = people["g"].value_counts(epsilon=1)
    one, other = dp.plot(counts), dp.plot(dp.record(counts))
    assert [b.get_height() for b in one.patches] == [b.get_height() for b in other.patches]
    assert captions(one) == captions(other)


def test_one_caption_tells_the_largest_error_of_each_panel() -> None:
    rng = np.random.default_rng(1)
    df = pd.DataFrame({"g": ["a", "b"] * 200, "x": rng.random(400), "y": 100 * rng.random(400)})
    p = dp.protect(df, "panels", domain={"g": ["a", "b"], "x": (0, 1), "y": (0, 100)})
    means = p.groupby("g")[["x", "y"]].mean(epsilon=9)
    axes = dp.plot(means)
    said = " ".join(each for ax in axes for each in dict.fromkeys(captions(ax)))
    errors = [dp.intervals(means)["error"].iloc[i::2].max() for i in range(2)]
    assert f"The largest errors are {'; '.join(plus_minus(error) for error in errors)}." in said


def test_confidence_is_that_of_the_bars(people: Any) -> None:
    counts = people["g"].value_counts(epsilon=1)
    axes = dp.plot(counts, confidence=0.5)
    told = dp.record(counts).intervals(0.5)
    assert ends(axes) == list(zip(told["lower"], told["upper"], strict=True))
    assert "50 % intervals" in captions(axes)[0]


def test_the_words_below_say_what_bars_are(people: Any) -> None:
    (said,) = captions(dp.plot(people["g"].value_counts(epsilon=0.5)))
    for part in (
        "95 % intervals", "all 3 hold simultaneously", "of the noise only", "discrete Laplace",
        "ε = 0.5", "protecting each row of drawn",
    ):  # fmt: skip
        assert part in said
    assert "of this one number" in captions(dp.plot(people.count(epsilon=1)))[0]


def test_labels_nobody_declared_hold_each_by_itself(people: Any) -> None:
    dp.session(epsilon=100, delta=0.01)
    found = dp.private(SCHEMA.copy()).groupby("group", delta=1e-3).size(epsilon=20)
    assert "each label by itself, not all together" in captions(dp.plot(found))[0]


def test_a_number_and_its_interval(people: Any) -> None:
    n = people.count(epsilon=1)
    axes = dp.plot(n)
    assert [bar.get_width() for bar in axes.patches] == [n]
    (segment,) = axes.containers[1][2][0].get_segments()
    assert tuple(segment[:, 0]) == n.interval()


def test_means_are_dots(people: Any) -> None:
    means = people.groupby("g")["x"].mean(epsilon=1)
    axes = dp.plot(means)
    assert not axes.patches
    assert axes.lines[0].get_ydata().tolist() == means.tolist()
    assert ends(axes) == [pytest.approx(pair) for pair in dp.record(means).intervals().to_numpy()]


def test_a_histogram_stands_on_its_bins(people: Any) -> None:
    told = people["x"].hist(bins=4, range=(0, 60), epsilon=1)
    axes = dp.plot(told)
    bars = [(b.get_x(), b.get_width(), b.get_height()) for b in axes.patches]
    assert bars == list(zip([0, 15, 30, 45], [15] * 4, told, strict=True))
    uneven = people["x"].cut([0, 5, 60]).value_counts(sort=False, epsilon=1)
    named = [t.get_text() for t in dp.plot(uneven).get_xticklabels()]
    assert named == ["(0, 5]", "(5, 60]"]  # areas of bins as wide as these would mislead


def test_a_table_has_its_noise_on_the_colours_and_zeros_hatched(people: Any, exact: None) -> None:
    table = people.query("g != 'c'").crosstab("g", "h", epsilon=1)
    axes = dp.plot(table)
    assert np.array_equal(axes.images[0].get_array(), table.to_numpy())
    lower = dp.record(table).intervals().xs("lower", axis=1, level=1)
    hatched = {corner(p)[::-1] for p in axes.patches if p.get_hatch()}
    assert hatched == {(j, i) for i, j in zip(*np.nonzero(lower.to_numpy() <= 0), strict=True)}
    assert {(0.0, 2.0), (1.0, 2.0)} <= hatched
    error = dp.record(table).errors().iloc[0, 0]
    bar = axes.figure.axes[1]
    assert bar.get_ylabel() == "rows", "what the colours mean"
    (line,) = (each for each in bar.lines if each.get_gid() == "noise level")
    assert np.ptp(line.get_ydata()) == 2 * error
    assert f"as long as the median interval: noise ± {error}." in captions(axes)[0]
    assert "Crossed cells may be empty." in captions(axes)[0]


@pytest.mark.parametrize("size", [None, (6.4, 3.4)])
def test_no_line_of_a_hatch_runs_through_numbers(size: Any, people: Any, exact: None) -> None:
    """A minus couldn't be told from it."""
    table = people.query("g != 'c'").crosstab("g", "h", margins=True, epsilon=1)
    for result in (table, people[["x", "h"]].corr(bounds={"h": (0, 9)}, epsilon="0.01")):
        axes = dp.plot(result, figsize=size)
        axes.figure.canvas.draw()
        marked = {corner(p): p.get_path().vertices for p in axes.patches if p.get_hatch()}
        assert marked
        for text in axes.texts[: 2 * result.size]:
            column, row = map(round, text.get_position())
            if (row, column) in marked:
                hole = axes.transData.transform(marked[row, column][5:9])
                inner, box = Bbox([hole.min(axis=0), hole.max(axis=0)]), text.get_window_extent()
                assert inner.contains(box.x0, box.y0), text
                assert inner.contains(box.x1, box.y1), text


def test_means_that_noise_dominates_are_hatched(people: Any, exact: None) -> None:
    means = people.query("g != 'c'").pivot_table(
        index="g", columns="h", values="x", aggfunc="mean", bounds=(10, 20), epsilon=5
    )
    axes, found = dp.plot(means), dp.intervals(means)
    assert not (found["low"] <= 0).any()
    hatches = {corner(p): p.get_hatch() for p in axes.patches}
    assert hatches[2.0, 0.0] == hatches[2.0, 1.0] == CROSSHATCH
    flags = zip(np.ndindex(means.shape), found["noise_dominated"], strict=True)
    assert {*hatches} == {at for at, is_noise in flags if is_noise}
    assert "Crossed cells may be empty." in captions(axes)[0]
    table = people[["x", "h"]].corr(bounds={"h": (0, 9)}, epsilon="0.01")
    axes = dp.plot(table)
    assert [p.get_hatch() for p in axes.patches] == ["///"] * 2
    assert "Hatched cells: the interval includes 0." in captions(axes)[0]


def test_cells_of_large_tables_are_hatched_too(people: Any) -> None:
    both = people.assign(i=people["who"] % 30, j=people["who"] % 20)
    table = both.crosstab("i", "j", keys={"i": range(30), "j": range(20)}, epsilon=1)
    axes, empty = dp.plot(table), dp.intervals(table)["may_be_empty"].to_numpy(bool)
    crossed = np.zeros(table.shape, dtype=bool)
    for cell in axes.patches:
        first, row = round(cell.get_x() + 0.5), round(cell.get_y() + 0.5)
        is_crossed = cell.get_hatch() == CROSSHATCH
        crossed[row, first : first + round(cell.get_width())] = is_crossed
    assert (crossed.reshape(-1) == empty).all()
    assert "Grey, crossed cells may be empty." in captions(axes)[0]


def test_sums_of_a_table_take_no_part_in_its_colours(people: Any) -> None:
    table = people.crosstab("g", "h", margins=True, epsilon=1)
    image = dp.plot(table).images[0]
    assert image.norm.vmax == table.iloc[:3, :2].to_numpy().max()
    assert image.get_array().mask.tolist() == [[False, False, True]] * 3 + [[True] * 3]


def test_quantiles_have_no_bars_along_values(people: Any) -> None:
    told = people["x"].quantile([0.25, 0.5, 0.75], epsilon=5)
    axes = dp.plot(told)
    assert not axes.containers
    error = int(dp.record(told).errors().max())
    assert f"No whiskers: a quantile errs in ranks, here by {error} at most" in captions(axes)[0]
    axes = dp.plot(told, expected_rows=200)
    off = np.array(dp.record(told).errors()) / 200
    shares = np.array([0.25, 0.5, 0.75])
    wanted = np.clip(np.stack([shares - off, shares + off], axis=1), 0, 1)
    assert np.array(ends(axes)) == pytest.approx(wanted)
    assert f"± {error} ranks at most" in captions(axes)[0]
    assert "200 values" in captions(axes)[0]


def test_the_band_holds_every_distribution_that_the_ranks_allow() -> None:
    """Brute force over all ways to have 6 values on 4 points, each with the ranks it errs by."""
    points, shares = np.array([1.0, 2.0]), np.array([0.25, 0.75])
    n, grid = 6, [0.0, 1.0, 2.0, 3.0]
    for counts in np.ndindex(7, 7, 7):
        if sum(counts) > n:
            continue
        rows = np.repeat(grid, [*counts, n - sum(counts)])
        below = np.array([(rows < v).mean() for v in points])
        up_to = np.array([(rows <= v).mean() for v in points])
        off = np.maximum(0, np.maximum(below - shares, shares - up_to))
        at, least, most = quantile_plots.band(points, shares - off, shares + off, 0.0, 3.0)
        for x in {*np.linspace(0.05, 2.95, 59)} - {*points}:
            inside = np.flatnonzero((at[:-1] <= x) & (x < at[1:]))[-1]
            assert least[inside] - 1e-12 <= (rows <= x).mean() <= most[inside] + 1e-12


def test_several_answers_have_a_panel_each(people: Any) -> None:
    both = people["x"].agg(["size", "mean"], epsilon=1)
    axes = dp.plot(both)
    assert len(axes) == len(dp.plot(people["x"].agg(["count", "mean"], epsilon=1))) == 2
    assert all(len(captions(each)) == 1 for each in axes)
    assert len(dp.plot(people["x"].describe(epsilon=1))) == 4
    _, given = plt.subplots(2)
    assert dp.plot(both, ax=given)[0] is given[0]
    refusal(lambda: dp.plot(both, ax=given[0]), "this takes 2 Axes, and ax= has 1")


def test_given_axes_are_drawn_on(people: Any) -> None:
    figure, axes = plt.subplots()
    assert dp.plot(people["g"].value_counts(epsilon=1), ax=axes) is axes
    assert plt.get_fignums() == [figure.number]


def test_nothing_is_clipped_off(people: Any) -> None:
    by = people.groupby("g")
    for asked in (people["g"].value_counts(), by["x"].mean(), by["x"].sum()):
        axes = dp.plot(asked.release(epsilon=0.05))
        low, high = axes.get_ylim()
        assert all(low <= a and b <= high for a, b in ends(axes))


def test_labels_are_no_mathematics() -> None:
    keys = ["$x^$", "a$b", "two\nlines", "\\$"]
    frame = pd.DataFrame({"k": keys})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dp.plot(frame.dp["k"].value_counts(keys=keys, sort=False, epsilon=1)).figure.canvas.draw()
    assert text_of("two\nlines") == r"'two\nlines'"
    assert text_of(float("nan")) == "missing"
    assert len(text_of("x" * 99)) == 36
    assert text_of(12345678.0) == "12345678"
    assert text_of(pd.Interval(73.69999999999999, 2e7, closed="left")) == "[73.7, 20,000,000)"


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a plain number": (lambda p: 3, "no release record"),
    "what was computed": (
        lambda p: p["g"].value_counts(epsilon=1) * 2.5 + 0.1, "aren't those released"),
    "a selection": (lambda p: p["g"].mode(epsilon=1), "no number was released"),
    "what is not released": (lambda p: p["g"].value_counts(), "not released yet"),
    "suggested bounds": (lambda p: p["x"].suggest_bounds(epsilon=1), "aren't on one scale"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_record_or_no_error_is_refused(name: str, people: Any) -> None:
    make, said = REFUSED[name]
    made = make(people)
    refusal(lambda: dp.plot(made), said, RecordError)
    assert plt.get_fignums() == []


def test_arguments_are_checked(people: Any) -> None:
    counts = people["g"].value_counts(epsilon=1)
    refusal(lambda: dp.plot(counts, confidence=95), "confidence=")
    refusal(lambda: dp.plot(counts, expected_rows=200), "expected_rows= is for quantiles")
    refusal(lambda: dp.plot(counts, ax="here"), "must be matplotlib Axes")
    with dp.preview():
        blank = people.count(epsilon=1)
    refusal(lambda: dp.plot(blank), "a preview has no answer to draw", RecordError)


@pytest.mark.sized
@pytest.mark.parametrize(
    "name", third([*OPERATIONS, *UNKNOWN, *OF_UNITS, *SELECTIONS, *EXPERIMENTAL, *AT_DELTA], 0)
)
def test_every_operation_is_drawn_or_refused_with_advice(name: str) -> None:
    dp.session(epsilon=10_000, delta=0.01)
    dp.session(experimental=True)
    unit = {"unit": "owner", "max_rows": 3} if name in OF_UNITS else {}
    frame = SCHEMA.copy() if unit else SCHEMA.drop(columns="owner")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = released(name, dp.protect(frame, name="all", **unit), 10)  # not 0 alone
    spent = dp.ledger().spent
    if name in UNDRAWN:
        refusal(lambda: dp.plot(told), error=RecordError)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            axes = np.atleast_1d(dp.plot(told))
            axes[0].figure.canvas.draw()
        assert captions(axes[-1])
        whole(axes[0].figure)
        in_full(axes[0].figure)
    assert dp.ledger().spent == spent


def test_a_slope_has_no_bounds_to_be_drawn_within() -> None:
    """Those of the statistic are of s/(1 + |s|)."""
    dp.session(epsilon=100)
    told = released("median of slopes", dp.protect(SCHEMA.drop(columns="owner"), name="all"), 10)
    refusal(lambda: dp.plot(told), "a median of slopes has no interval", error=RecordError)


def test_matplotlib_missing_gives_advice(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = people["g"].value_counts(epsilon=1)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (lambda: dp.plot(counts), dp.privacy_loss("laplace", epsilon=1).plot):
        refusal(draw, r'pip install "dppandas\[plots\]"')


def test_matplotlib_is_imported_when_something_is_drawn() -> None:
    code = (
        "import sys, pandas as pd, dppandas as dp; "
        "n = pd.DataFrame({'x': [1]}).dp.count(epsilon=1); "
        "dp.privacy_loss('laplace', epsilon=1).delta(0); "
        "assert 'matplotlib' not in sys.modules; "
        "import matplotlib; matplotlib.use('Agg'); dp.plot(n)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
