"""Objects that many rows share are read once, and mean what each cell alone means."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dppandas.rows.values import forms, reading
from dppandas.rows.values.arrow import sizes
from dppandas.rows.values.cells import canonical


class Liar(str):
    """A text that would equal everything, if it were asked."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a cell was compared")

    def __hash__(self) -> int:
        raise AssertionError("a cell was hashed")


MIXED = [
    1, True, 1.0, "1", float("nan"), np.nan, None, pd.NA, pd.NaT, False, 0, -0.0, 2**70, Decimal(1),
    Liar("a"), "".join(["a"]), "a", "\ud800", "a\0", datetime.date(2020, 1, 1), (1, "a"), [1], b"a",
    np.str_("a"), np.float64(1), object(),
]  # fmt: skip
KINDS: dict[str, list[Any]] = {
    "texts": ["a", "b", "", None, float("nan"), "a\0", "\ud800", "".join(["a"]), "b" * 2**21],
    "texts and a number": ["a", "b", 1.5],
    "whole numbers": [1, 2, 2**62, None],
    "numbers": [1, 2.5, None, float("nan")],
    "truths": [True, False, None],
    "mixed": MIXED,
    "nothing": [None],
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_TOGETHER", 16)
    monkeypatch.setattr(sizes, "_TOGETHER", 4)


def array(cells: list[Any], rows: int, seed: int = 0) -> Any:
    """Cells in an order in which some first occur late."""
    at = np.sort(np.random.default_rng(seed).integers(0, len(cells), rows))
    at[::3] = 0
    found = np.empty(rows, dtype=object)
    for row, place in enumerate(at.tolist()):
        found[row] = cells[place]
    return found


def cells_of(v: forms.Vector) -> list[Any]:
    held = v.coded()
    cells = [*held.levels.cells, canonical(None)]
    return [cells[code] for code in held.codes.tolist()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_means_what_it_means_alone(kind: str) -> None:
    values = array(KINDS[kind], 500)
    found, each = reading.objects(values), reading._of_objects(values)
    assert type(found) is type(each)
    assert reading._shared_objects(values) is not None
    assert cells_of(found) == cells_of(each) == [canonical(cell) for cell in values]


def test_rows_of_a_frame_with_others_between_them() -> None:
    frame = pd.DataFrame({"a": array(MIXED, 300), "b": array(["x", "y"], 300, 1)}, dtype=object)
    for name in frame:
        values = frame.to_numpy()[::-2, frame.columns.get_loc(name)]
        assert cells_of(reading.objects(values)) == [canonical(cell) for cell in values]


@pytest.mark.parametrize("late", [False, True])
def test_many_objects_are_read_as_before(late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_MOST_OBJECTS", 20)
    values = array(["a"], 200)
    start = 100 if late else 0
    values[start : start + 21] = [f"text {i}" for i in range(21)]
    assert reading._shared_objects(values) is None
    assert cells_of(reading.objects(values)) == [canonical(cell) for cell in values]
    values[start + 19 : start + 21] = values[-1]
    assert reading._shared_objects(values) is not None


def test_each_object_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    read = reading._of_objects

    def spy(values: Any) -> forms.Vector:
        seen.append(len(values))
        return read(values)

    monkeypatch.setattr(reading, "_of_objects", spy)
    reading.objects(array(["a", "b", None], 1000))
    assert seen == [3]


def test_texts_of_arrow_are_measured_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their offsets alone, unless one is beyond the limits."""
    pa = pytest.importorskip("pyarrow")
    monkeypatch.setattr(sizes, "MOST_CHARACTERS", 2)
    monkeypatch.setattr(sizes, "_TOGETHER", 2)
    for texts in (["a", "é" * 4, None], ["a", "b" * 8, ""], ["a", "b", "c" * 9, "", None, "dd"]):
        for kind in (pa.string(), pa.large_string()):
            for made in (pa.array(texts, kind), pa.array(["z" * 30, *texts], kind).slice(1)):
                gone = sizes._Sizes(made).beyond.tolist()
                assert gone == [len((text or "").encode()) > 8 for text in texts]
                assert sizes.is_beyond(made).tolist() == gone
                assert sizes._are_short(made) == (not any(gone))


@pytest.mark.parametrize("number", [3, 126, 127, 128, 300])
@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_texts_of_arrow_mean_what_they_mean_alone(
    number: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some first occur late, and more than 200 are too many to look up."""
    monkeypatch.setattr(reading, "_MOST_OBJECTS", 200)
    values = array([None, "", "a\0", *map(str, range(number - 2))], 4000)
    whole = pa.array(values, type=kind)
    for some in (whole, whole.slice(37, 3000), whole.slice(3990), whole.slice(0, 0)):
        assert cells_of(reading.arrow(some)) == list(map(canonical, some.to_pylist()))
    held = reading.arrow(whole)
    assert isinstance(held, forms.Coded)
    narrow = np.int8 if number < 128 else np.int16 if number <= 200 else np.int32
    assert held.held.dtype == narrow


def test_texts_of_arrow_that_are_not_utf_8_are_missing_alone() -> None:
    held = pa.array([b"a", b"\xff", None, b"b"] * 20)
    odd = pa.Array.from_buffers(pa.string(), len(held), held.buffers())
    assert cells_of(reading.arrow(odd)) == list(map(canonical, ["a", None, None, "b"] * 20))


@pytest.mark.parametrize("number", [1, 2, 50, 127])
@pytest.mark.parametrize("rows", [0, 1, 2, 999, 1000])
def test_a_tally_counts_each_level(number: int, rows: int) -> None:
    codes = np.random.default_rng(rows).integers(-1, number, 2 * rows + 1).astype(np.int8)
    levels = forms.Levels([("number", i) for i in range(number)])
    for held in (codes[:rows], codes[1 : rows + 1], codes[: 2 * rows : 2]):
        found = forms.Coded(held, levels).tally()
        assert found is not None
        assert found.tolist() == [held.tolist().count(i) for i in range(number)]
    assert forms.Coded(codes.astype(np.int16), levels).tally() is None
