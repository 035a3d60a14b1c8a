"""Every plot takes the same words for its looks, and can be read on light and on dark pages."""

import importlib
import inspect
import itertools
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from palettes import GROUNDS, contrast
from refusals import refusal
from test_plot import captions, texts, whole

import dppandas as dp
from dppandas.display.plots import fonts
from dppandas.ledger import marimo
from dppandas.ledger.colours import INK, INKS

#: What `dp.plot` takes of looks, and every other plot.
WORDS = "ax", "title", "caption", "figsize", "ground"
#: In letters of three scripts, which few fonts have, and an emoji.
KINDS = ["東京 $1", "القاهرة", "\N{GRINNING FACE}"]

Plot = Callable[..., Any]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def plots() -> dict[str, Plot]:
    """Each public plot of something, by its name. They return the axes that are drawn on."""
    pytest.importorskip("sklearn", reason="an attack's plain model")
    anew(epsilon=1000)
    place = np.arange(600)
    frame = pd.DataFrame(
        {"x": place % 3 * 4 + place % 2, "kind": np.array(KINDS)[place % 3], "cost": place % 7}
    )
    p = dp.protect(frame.copy(), name="shop", domain={"x": (0, 10), "kind": KINDS, "cost": (0, 7)})
    counts = p["kind"].value_counts(epsilon=1)
    tree = dp.models.DecisionTreeClassifier(2, epsilon=50).fit(p[["x"]], p["kind"])
    costs = dp.models.DecisionTreeRegressor(2, epsilon=50).fit(p[["x"]], p["cost"])
    roc = dp.models.roc_curve(tree, p[["x"]], p["kind"], pos_label=KINDS[0], epsilon=1)
    members, others = (frame[place % 2 == side][["x", "cost"]] for side in (0, 1))
    kept = members.copy().dp
    line = dp.models.LinearRegression(epsilon=1, bounds=(0, 10), target_bounds=(0, 7))
    line = line.fit(kept[["x"]], kept["cost"])
    found = dp.audit.membership(line, members, others, target="cost")
    return {
        "dp.plot": lambda **how: dp.plot(counts, **how),
        "PrivacyLoss.plot": dp.privacy_loss(p["kind"].value_counts(), epsilon=1).plot,
        "MembershipResult.plot": found.plot,
        "RocCurve.plot": roc.plot,
        "plot_tree": lambda **how: dp.models.plot_tree(tree, **how)[0].axes,
        "plot_tree of means": lambda **how: dp.models.plot_tree(costs, **how)[0].axes,
    }


PLOTS = pytest.mark.parametrize("name", [
    "dp.plot", "PrivacyLoss.plot", "MembershipResult.plot", "RocCurve.plot", "plot_tree",
    "plot_tree of means",
])  # fmt: skip


def of_the_house() -> dict[str, Any]:
    """All public functions and methods that draw, by name."""
    found: dict[str, Any] = {}
    for info in pkgutil.walk_packages(dp.__path__, "dppandas."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for holder in vars(module).values():
            if inspect.isfunction(holder) and holder.__name__.startswith("plot"):
                found["dp." * (holder.__name__ == "plot") + holder.__name__] = holder
            if inspect.isclass(holder) and holder.__module__.startswith("dppandas"):
                drawing = getattr(holder, "plot", None)
                if inspect.isfunction(drawing) and not holder.__name__.startswith("Private"):
                    found[f"{holder.__name__}.plot"] = drawing
    return found


def test_every_plot_takes_the_same_words(plots: dict[str, Plot]) -> None:
    found = of_the_house()
    assert found.keys() == plots.keys() - {"plot_tree of means"}
    mine = inspect.signature(found["dp.plot"]).parameters
    for name, function in found.items():
        taken = inspect.signature(function).parameters
        for word in WORDS:
            assert taken[word].default is mine[word].default, (name, word)


@PLOTS
def test_words_are_those_that_are_given(name: str, plots: dict[str, Plot]) -> None:
    own = plots[name]()
    assert own.get_title()
    assert len(captions(own)) == 1
    axes = plots[name](title="Mine,\nfor $1", caption=False, figsize=(5, 3.5))
    assert axes.get_title() == r"Mine, for \$1"
    assert captions(axes) == []
    assert axes.figure.get_size_inches().tolist() == [5, 3.5]
    assert axes.figure is not own.figure
    assert plots[name](title="", ground="light").get_title() == ""


@PLOTS
def test_what_is_drawn_stays_within_the_figure(name: str, plots: dict[str, Plot]) -> None:
    for axes in (plots[name](), plots[name](figsize=(5, 4))):
        axes.figure.canvas.draw()
        whole(axes.figure)
        boxes = [each.get_window_extent() for each in texts(axes.figure)]
        both = [(a, b) for a, b in itertools.combinations(boxes, 2) if a.overlaps(b)]
        assert not both
        plt.close(axes.figure)


@PLOTS
def test_axes_of_the_caller_are_drawn_on(name: str, plots: dict[str, Plot]) -> None:
    _, mine = plt.subplots()
    assert plots[name](ax=mine, title="Mine") is mine
    assert mine.get_title() == "Mine"
    assert mine.figure.get_size_inches().tolist() == mpl.rcParams["figure.figsize"]


@PLOTS
def test_looks_are_checked(name: str, plots: dict[str, Plot]) -> None:
    draw, (_, mine) = plots[name], plt.subplots()
    refusal(lambda: draw(title=3), "title=3 must be a text")
    refusal(lambda: draw(caption="mine"), "caption='mine' must be True or False")
    refusal(lambda: draw(figsize=(0, 3)), r"must be \(width, height\), in inches")
    refusal(lambda: draw(ground="grey"), "must be 'light' or 'dark'")
    refusal(lambda: draw(ax="mine"), "must be matplotlib Axes")
    refusal(lambda: draw(ax=mine, figsize=(4, 4)), "figsize= is for a new figure")
    refusal(lambda: draw(ax=mine, ground="dark"), "ground= is for a new figure")
    assert plt.get_fignums() == [mine.figure.number]


@PLOTS
@pytest.mark.parametrize("ground", [None, "light", "dark"])
def test_texts_can_be_read_on_their_ground(
    name: str, ground: str | None, plots: dict[str, Plot]
) -> None:
    """4.3 : 1 on white and on JupyterLab's dark where neither is known, 7 : 1 where one is."""
    axes = plots[name](ground=ground)
    axes.figure.canvas.draw()
    assert axes.figure.get_facecolor()[3] == axes.get_facecolor()[3] * axes.patch.get_visible() == 0
    inks = {mpl.colors.to_hex(each.get_color()) for each in texts(axes.figure)}
    assert inks == {INKS[ground] if ground else INK}
    grounds = dict(zip(("light", "dark"), GROUNDS, strict=True))
    for ink in inks:
        for page in [grounds[ground]] if ground else GROUNDS:
            assert contrast(ink, page) >= (7 if ground else 4.3)


@PLOTS
@pytest.mark.parametrize("told", ["light", "dark", None])
def test_the_ground_that_marimo_tells_has_its_ink(
    name: str, told: str | None, plots: dict[str, Plot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marimo, "ground", lambda: told)
    ink = INKS[told] if told else INK
    assert mpl.colors.to_hex(plots[name]().title.get_color()) == ink
    assert mpl.colors.to_hex(plots[name](ground="dark").title.get_color()) == INKS["dark"]


@PLOTS
def test_a_style_of_the_caller_is_kept_by_all(name: str, plots: dict[str, Plot]) -> None:
    with plt.style.context("dark_background"):
        axes = plots[name]()
    inks = {mpl.colors.to_hex(each.get_color()) for each in texts(axes.figure)}
    assert inks == {"#ffffff"}
    assert mpl.colors.to_hex(axes.figure.get_facecolor()) == "#000000"


@PLOTS
def test_any_script_is_drawn_without_a_warning(name: str, plots: dict[str, Plot]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = plots[name](title=" ".join(KINDS))
        axes.figure.canvas.draw()
    seen = [each.get_text() for each in texts(axes.figure)]
    (said,) = captions(axes)
    is_blank = any(fonts.BLANK in each for each in seen if each != said)
    assert (fonts.NO_FONT in " ".join(said.split())) == is_blank


def test_nothing_is_drawn_behind_a_legend(plots: dict[str, Plot]) -> None:
    """It stands beside the axes, and apart from the title."""
    found = 0
    for name, plot in plots.items():
        figure = np.ravel(plot())[0].figure
        figure.canvas.draw()
        for axes in figure.axes:
            if legend := axes.get_legend():
                box = legend.get_window_extent().padded(-0.5)
                assert not box.overlaps(axes.get_window_extent()), name
                assert not box.overlaps(axes.title.get_window_extent()), name
                found += 1
        plt.close(figure)
    assert found >= 3


def test_a_tree_is_drawn_on_the_current_axes_as_that_of_scikit_learn(
    plots: dict[str, Plot],
) -> None:
    figure = plt.figure(figsize=(9, 4))
    assert plots["plot_tree"]().figure is figure
    assert plots["plot_tree"](figsize=(4, 4)).figure is not figure


def test_boxes_of_a_tree_tell_classes_apart(plots: dict[str, Plot]) -> None:
    axes = plots["plot_tree"]()
    told = {line for each in texts(axes.figure) for line in each.get_text().splitlines()}
    assert len({line for line in told if line.startswith("class = ")}) == len(KINDS)


def test_arrows_of_a_tree_end_at_boxes(plots: dict[str, Plot]) -> None:
    """These may be transparent: an arrow that went below one would be seen."""
    axes = plots["plot_tree"]()
    axes.figure.canvas.draw()
    boxes = [each for each in axes.texts if each.get_bbox_patch() is not None]
    arrows = [each.arrow_patch for each in boxes if each.arrow_patch is not None]
    assert len(arrows) == len(boxes) - 1 == 6
    for arrow, box in itertools.product(arrows, boxes):
        inner = box.get_bbox_patch().get_window_extent().padded(-1)
        inside = [inner.contains(*point) for point in arrow.get_transform().transform_path(
            arrow.get_path()).interpolated(20).vertices]  # fmt: skip
        assert not any(inside)
