"""Labels of plots: short, and never two alike."""

import itertools
import random

import pytest

from dppandas.display.plots.short_labels import breadth, cut, folded, short


def test_breadth_counts_what_is_seen() -> None:
    assert breadth("abc") == 3
    assert breadth("東京") == 4
    assert breadth("e\N{COMBINING ACUTE ACCENT}") == 1
    assert breadth("\N{GRINNING FACE}\N{VARIATION SELECTOR-16}") == 2


def test_both_ends_are_kept() -> None:
    said = "I would rather say that I am content with the town, number 3"
    assert cut(said, 36) == "I would rather say … number 3"
    assert cut("short", 36) == "short"
    assert cut("x" * 50, 36) == "x" * 23 + "…" + "x" * 12
    assert breadth(cut("東" * 50, 36)) <= 36


ALIKE = {
    "at the end": [f"{'a' * 50}{i}" for i in range(3)],
    "at the start": [f"{i}{'a' * 50}" for i in range(3)],
    "in the middle": [f"{'a' * 50}{i}{'b' * 50}" for i in range(3)],
    "nowhere": ["▯▯", "▯▯", "▯"],
    "nowhere and long": ["▯" * 50] * 3,
    "in two places": [f"{'a' * 50}{i}{'b' * 50}{j}{'c' * 50}" for i in "12" for j in "12"],
    "as numbered": ["x", "x", "x (1)", "x (2)"],
}


@pytest.mark.parametrize("where", ALIKE)
def test_no_two_are_alike(where: str) -> None:
    made = short(ALIKE[where], 36)
    assert len({*made}) == len(made), made
    assert all(breadth(each) <= 36 for each in made), made


def test_no_two_of_random_ones_are_alike() -> None:
    """Labels of few letters, which are alike in many places."""
    source = random.Random(1)
    for _ in range(200):
        texts = ["".join(source.choices("ab ", k=source.randrange(1, 60))) for _ in range(30)]
        made = short(texts, 12)
        assert len({*made}) == len(made)
        assert all(breadth(each) <= 12 for each in made)


def test_long_ones_are_shortened_where_they_differ() -> None:
    one, other = short([f"{'a' * 50}{x}{'b' * 50}" for x in "XY"], 36)
    assert "X" in one
    assert "Y" in other


def test_lines_are_folded_at_words() -> None:
    assert folded("one two three", 7, 2) == "one two\nthree"
    assert folded("one two three", 7, 1) == "one two three"  # doesn't fit
    assert folded("unfoldable", 5, 2) == "unfoldable"
    assert folded("unfoldable", 5, 2, inside_words=True) == "unfol\ndable"
    assert folded("東京都東京都", 6, 2) == "東京都\n東京都"
    lines = folded("a label of some words " * 3, 22, 4).split("\n")
    assert all(breadth(line) <= 22 for line in lines)
    assert len([*itertools.chain(*lines)]) > 60
