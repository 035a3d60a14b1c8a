"""One palette: told apart by anyone, in grey, and on light and dark grounds."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from palettes import DARK, GROUNDS, SIMULATED, WHITE, contrast, distance, lab, lightness

import dppandas as dp
from dppandas.display.cards import markup
from dppandas.display.plots import style
from dppandas.ledger import charts, colours, html

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_the_measures_are_those_of_their_standards() -> None:
    assert lab(np.ones(3)) == pytest.approx([100, 0, 0], abs=0.01)
    assert lab(np.array([1.0, 0, 0])) == pytest.approx([53.24, 80.09, 67.20], abs=0.02)
    assert contrast("#000000", WHITE) == pytest.approx(21)
    assert distance("#a05a2c", "#6b7a28") > 30 > 15 > distance("#a05a2c", "#6b7a28", "deuteranopia")


@pytest.mark.parametrize("seen", SIMULATED)
def test_colours_are_told_apart(seen: str) -> None:
    """ΔE*ab of at least 20 between any two: about 2.3 is just noticeable."""
    for pair in itertools.combinations(colours.COLOURS, 2):
        assert distance(*pair, seen) >= 20, pair


def test_neighbours_differ_in_grey() -> None:
    """Dark ones and light ones take turns, also where the palette begins again."""
    light = [lightness(colour) for colour in colours.COLOURS]
    dark, bright = light[::2], light[1::2]
    assert min(bright) - max(dark) >= 12
    for one, other in itertools.pairwise([*colours.COLOURS, colours.COLOURS[0]]):
        assert abs(lightness(one) - lightness(other)) >= 12


@pytest.mark.parametrize("ground", GROUNDS)
def test_marks_can_be_seen_on_light_and_on_dark_pages(ground: str) -> None:
    assert all(contrast(colour, ground) >= 3 for colour in colours.COLOURS)


@pytest.mark.parametrize("ground", GROUNDS)
def test_areas_and_charts_can_be_seen_on_light_and_on_dark_pages(ground: str) -> None:
    """A light fill alone has 1.2 : 1 on one of them: an edge says where it ends."""
    assert contrast(style.shade(style.TEAL)["edgecolor"], ground) >= 3
    assert contrast(charts.LIMIT, ground) > 4.3
    loss = dp.privacy_loss("laplace", epsilon=1).plot()
    (shaded,) = loss.collections
    (legend,) = loss.get_legend().get_patches()
    for area in (shaded, legend):
        assert min(np.ravel(area.get_linewidth())) > 0
        assert contrast(np.ravel(area.get_edgecolor())[:3], ground) >= 3


def test_no_ink_is_easier_to_read_on_both_pages() -> None:
    def least(colour: str) -> float:
        return min(contrast(colour, ground) for ground in GROUNDS)

    assert least(colours.INK) > 4.3
    greys = [f"#{level:02x}{level:02x}{level:02x}" for level in range(256)]
    assert max(greys, key=least) == colours.INK
    assert contrast(WHITE, DARK) ** 0.5 < 4.35  # so no colour has 4.5 on both


@pytest.mark.parametrize(("name", "ground"), [("light", WHITE), ("dark", DARK)])
def test_an_ink_for_one_ground_is_easy_to_read(name: str, ground: str) -> None:
    assert contrast(colours.INKS[name], ground) >= 7


def test_the_site_gives_plots_the_ink_of_its_ground() -> None:
    """Brightness multiplies each channel. Heat maps keep theirs, for their cells have colours."""
    css = (DOCS / "_static" / "site.css").read_text("utf-8")
    light, *dark = map(float, re.findall(r"--ink: brightness\(([\d.]+)\)", css))
    assert len(dark) == 2
    for ground, factor in ((WHITE, light), *((DARK, each) for each in dark)):
        assert contrast([factor * c for c in mpl.colors.to_rgb(colours.INK)], ground) >= 7
    pages = {page.stem for page in (DOCS / "plots").glob("*.md")}
    assert {*re.findall(r'src\*="(\w+)\.png"', css)} == pages - {"table", "correlations"}


def test_ledgers_cards_and_plots_share_it() -> None:
    assert style.COLOURS is html.COLOURS is colours.COLOURS
    assert charts.LINE == markup.MARK == style.TEAL == colours.COLOURS[0]
    assert style.INK == colours.INK
