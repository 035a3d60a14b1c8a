"""Letters that the font of a plot lacks: another font's, or one sentence."""

import warnings
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib import font_manager
from test_plot import captions, texts

import dppandas as dp
from dppandas.display.plots import fonts

#: A letter that DejaVu Sans lacks and a font that comes with matplotlib has, and one that no font
#: has: it isn't assigned.
NOBODYS = "\U000e0f0f"
RARE = "\N{MATHEMATICAL SCRIPT CAPITAL A}"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def drawn(keys: list[str], **more: Any) -> Any:
    """A plot of counts by these keys, without any warning."""
    dp.session(epsilon=1000)
    frame = pd.DataFrame({"k": keys * 50, "other": ["a", "b"] * (25 * len(keys))})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = frame.dp["k"].value_counts(keys=keys, sort=False, epsilon=1)
        axes = dp.plot(told, **more)
        axes.figure.canvas.draw()
    return axes


def labels(axes: Any) -> list[str]:
    return [label.get_text() for label in axes.get_xticklabels()]


def test_letters_of_another_font_are_drawn_by_it() -> None:
    assert fonts.lacking(RARE) == {RARE}
    axes = drawn([f"{RARE} one", "two"])
    assert labels(axes) == [f"{RARE} one", "two"]
    families = fonts.families_for(RARE)
    assert families is not None
    for label in axes.get_xticklabels():
        assert label.get_fontfamily() == families
    has = font_manager.get_font(font_manager.findfont(families[-1])).get_charmap()
    assert ord(RARE) in has
    assert fonts.BLANK not in captions(axes)[0]


def test_letters_that_no_font_has_are_told_in_one_sentence() -> None:
    axes = drawn([NOBODYS * 2, NOBODYS + "x", "two"])
    assert labels(axes) == ["▯▯", "▯x", "two"]
    assert captions(axes)[0].count(fonts.NO_FONT) == 1
    assert captions(axes)[0].endswith(fonts.NO_FONT)


def test_keys_of_such_letters_stay_apart() -> None:
    other = chr(ord(NOBODYS) + 1)
    assert labels(drawn([NOBODYS, other])) == ["▯ (1)", "▯ (2)"]


def test_instructions_between_letters_are_no_letters() -> None:
    axes = drawn(["☺\N{VARIATION SELECTOR-16}", "\N{ZERO WIDTH JOINER}a"])
    assert fonts.BLANK not in "".join(labels(axes))


def test_columns_and_queries_have_such_letters_too() -> None:
    dp.session(epsilon=1000)
    frame = pd.DataFrame({NOBODYS: np.arange(100.0), "g": ["a", "b"] * 50})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        groups = frame.dp.groupby("g", keys=["a", "b"])[NOBODYS]
        axes = dp.plot(groups.mean(bounds=(0, 100), epsilon=1))
        axes.figure.canvas.draw()
    assert axes.get_title() == "Mean `▯` by g"
    assert captions(axes)[0].count(fonts.NO_FONT) == 1


def test_without_a_caption_nothing_is_told() -> None:
    axes = drawn([NOBODYS, "two"], caption=False)
    assert not [text for text in texts(axes.figure) if fonts.NO_FONT in text.get_text()]


def test_arabic_and_hebrew_are_drawn_without_a_warning() -> None:
    keys = ["القاهرة", "תל אביב"]
    assert labels(drawn(keys)) == keys


def test_a_font_that_cannot_be_read_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def get_font(path: str) -> Any:
        raise RuntimeError("In FT2Font: Could not set the fontsize")

    fonts._charmap.cache_clear()
    monkeypatch.setattr(font_manager, "get_font", get_font)
    assert fonts._charmap("unreadable.ttf") == frozenset()
    monkeypatch.undo()
    fonts._charmap.cache_clear()
