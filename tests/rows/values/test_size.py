"""Limits belong to a cell with all its parts, each of which counts as often as it is referred to.

Found, and mended here for good: a list of 2,000 references to one text of 1 MB was within the
limits of each text and of lists. It took 24 seconds and gigabytes, and `sample(0.5).count` failed
after its charge, which a table without that row never did.
"""

import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from elements import meanings, objects
from hypothesis import given
from hypothesis import strategies as st
from notes import noted

import dppandas as dp
from dppandas.engines.blocks import RowTable
from dppandas.engines.readers import Columns
from dppandas.rows.expressions import Column
from dppandas.rows.expressions.text import TextMap
from dppandas.rows.values import MISSING, canonical, hashing, reading
from dppandas.rows.values.families import (
    MOST_BITS_IN_ALL,
    MOST_CHARACTERS,
    MOST_DEPTH,
    MOST_ELEMENTS,
)

LONG = "a" * MOST_CHARACTERS
#: Ways to hold some parts, each of which may be the same object.
HOLDERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list, "tuple": tuple, "set": lambda parts: {(i, part) for i, part in enumerate(parts)},
    "dict": lambda parts: dict(enumerate(parts)), "array": objects,
    "nested": lambda parts: [[part] for part in parts],
    "shared": lambda parts: [tuple(parts[: len(parts) // 2])] * 2 + parts[len(parts) // 2 * 2 :],
}  # fmt: skip


def held(parts: list[Any], how: str) -> Any:
    found = HOLDERS[how](parts)
    return np.asarray(found) if how == "array" else found


def characters(cell: Any) -> int:
    """By the definition: every reference is a copy."""
    if isinstance(cell, str | bytes | bytearray):
        return len(cell)
    if isinstance(cell, dict):
        return sum(characters(key) + characters(value) for key, value in cell.items())
    if isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        return sum(map(characters, cell))
    return 0


@pytest.mark.parametrize("how", HOLDERS)
@given(
    text=st.sampled_from([LONG, LONG[:-1], LONG[: MOST_CHARACTERS // 2], "a" * 1000, "b" * 333]),
    kind=st.sampled_from([str, str.encode, lambda text: bytearray(text, "ascii")]),
    size=st.sampled_from([1, 2, 3, 1048, 1049, 3149, 3150]),
)
def test_characters_are_counted_over_all_parts(how: str, text: str, kind: Any, size: int) -> None:
    """Texts and bytes, once or a thousand times, whatever holds them."""
    part = kind(text)
    if how == "set" and isinstance(part, bytearray):
        part = bytes(part)
    cell = held([part] * size, how)
    assert (canonical(cell) == MISSING) == (characters(cell) > MOST_CHARACTERS)


def test_bits_are_counted_over_all_parts() -> None:
    """Of whole numbers and fractions their own; of other reals 64."""
    for number, bits in (
        (2**64 - 1, 64), (2**4095, 4096), (-(2**256) + 1, 256), (Decimal(2**100), 101),
        (Fraction(1, 2**4000 + 1), 4002), (1e300, int(1e300).bit_length()), (1j, 128),
        (np.uint64(2**63), 64), (Decimal(1).scaleb(1000), (10**1000).bit_length()),
    ):  # fmt: skip
        most = MOST_BITS_IN_ALL // bits
        for cell, fits in (([number] * most, True), ([number] * (most + 1), False)):
            with noted(number, len(cell)):
                is_there = canonical(cell) != MISSING
                assert is_there == (fits and len(cell) <= MOST_ELEMENTS)
    for real in (0.1, 5e-324, np.float32(0.1), pd.Timestamp(1), pd.Timedelta(1)):
        assert canonical([real] * MOST_ELEMENTS) != MISSING


def test_a_part_beyond_a_limit_makes_the_whole_cell_missing() -> None:
    for part in (
        LONG + "a", LONG.encode() + b"a", 2**4096, Decimal("1e9999"), Fraction(1, 2**4096 + 1),
        np.longdouble("1e4000"), [0] * MOST_ELEMENTS, np.zeros(MOST_ELEMENTS + 1),
        set(range(MOST_ELEMENTS + 1)),
    ):  # fmt: skip
        for cell in ([part], (1, (part,)), {1: part}, [[part, "a"]]):
            with noted(type(part), type(cell)):
                assert canonical(cell) == MISSING
    assert canonical([np.timedelta64(1, "ps"), "a"]) == ("list", (MISSING, ("text", "a")))


def wide(shape: tuple[int, ...], value: Any = 0.0) -> Any:
    return np.broadcast_to(np.array(value), shape)


class Text(str):
    """Reading one copies it."""


class Whole(int):
    """The same."""


#: Cells that say they are large, and hold little or nothing; reading each to its end would take
#: gigabytes or hours.
CLAIMS: dict[str, Callable[[], Any]] = {
    "one text": lambda: [LONG] * 2000,
    "more references": lambda: [LONG] * MOST_ELEMENTS,
    "bytes in a dict": lambda: dict.fromkeys(range(2000), LONG.encode()),
    "byte arrays": lambda: [bytearray(MOST_CHARACTERS)] * 2000,
    "nested": lambda: [[[LONG] * 100] * 100] * 2,
    "objects": lambda: np.array([LONG] * 2000, dtype=object),
    "an array": lambda: wide((2**40,)),
    "arrays": lambda: [wide((2**40,))],
    "empty arrays": lambda: np.zeros((2**21, 0)),
    "wide texts": lambda: wide((MOST_ELEMENTS,), LONG),
    "padded texts": lambda: wide((MOST_ELEMENTS,), np.array("a", dtype=f"U{MOST_CHARACTERS}")),
    "wide bytes": lambda: wide((MOST_ELEMENTS,), LONG.encode()),
    "texts of a subclass": lambda: [Text(LONG)] * 2000,
    "one number": lambda: [2**4000 + 1] * MOST_ELEMENTS,
    "a long number": lambda: [Whole(1 << 10**7)] * 2000,
    "a long fraction": lambda: [Fraction(1, (1 << 10**6) + 1)] * 2000,
    "zeros of a Decimal": lambda: [Decimal("1." + "0" * 10**5)] * 2000,
    "more zeros": lambda: Decimal("1." + "0" * 10**7),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_says_that_it_is_large_is_not_read_to_its_end(claim: str) -> None:
    cell = CLAIMS[claim]()
    tracemalloc.start()
    try:
        assert canonical(cell) == MISSING
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 16 * MOST_CHARACTERS


def test_an_array_counts_its_empty_lists() -> None:
    assert canonical(np.zeros((MOST_ELEMENTS, 0))) == ("list", (("list", ()),) * MOST_ELEMENTS)
    assert canonical(np.zeros((MOST_ELEMENTS + 1, 0))) == MISSING
    for shape in ((2, 3), (3, 2, 1), (0, 5), (2, 0, 3)):
        plain = np.zeros(shape).tolist()
        for dtype in ("f8", "O", "U1", "S2", "M8[s]"):
            whole = np.zeros(shape, dtype=dtype)
            with noted(shape, dtype):
                assert key_of(canonical(whole)) == key_of(canonical(plain))


def key_of(cell: Any) -> Any:
    """How lists are nested."""
    return list(map(key_of, cell[1])) if cell[0] == "list" else ()


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "count": lambda p: p.count(epsilon=1),
    "sample": lambda p: p.sample(frac=0.5).count(epsilon=1),
    "value_counts": lambda p: p["x"].value_counts(keys=["a", (1, 2)], epsilon=1),
    "keys found": lambda p: p["x"].value_counts(epsilon=1, delta=1e-6),
    "nunique": lambda p: p["x"].nunique(keys=["a", (1, 2)], epsilon=1),
    "text": lambda p: p["x"].str.len().count(epsilon=1),
    "at_most": lambda p: p.assign(a=p["x"].isna(), b=p["x"] == "a")[["a", "b"]].sum(
        at_most=1, epsilon=1
    ),
    "per_unit": lambda p: p.per_unit().agg(x=("x", "first"))["x"].count(epsilon=1),
    "units": lambda p: p["u"].nunique(epsilon=1),
}


def test_no_row_makes_a_question_fail(exact: None) -> None:
    """As what is large names a unit, is truncated, sampled, grouped and counted."""
    dp.session(epsilon=1000, delta=0.001)
    few = ["one text", "bytes in a dict", "objects", "an array", "zeros of a Decimal"]
    large = [CLAIMS[claim]() for claim in few]
    units = [1, 1, 1, 2, *large]
    frame = pd.DataFrame({"u": objects(units), "x": objects(["a", (1, 2), None, 2, *large])})
    rows = dp.protect(frame, name="rows")
    people = dp.protect(frame, name="people", unit="u", max_rows=3)
    for source in (rows, people):
        for name, ask in QUESTIONS.items():
            if source is rows and name in ("at_most", "per_unit", "units"):
                continue
            with noted(name):
                ask(source)
    assert rows.count(epsilon=1) == len(frame)
    assert rows["x"].count(epsilon=1) == 3
    assert people.count(epsilon=1) == 4  # a missing unit names nobody


def test_what_is_large_is_not_copied_by_protect() -> None:
    """`deepcopy` would ask for what an array says that it holds. And what is missing stays so."""
    shrinks = [0] * (MOST_ELEMENTS + 1)
    large = [wide((2**40,)), wide((MOST_ELEMENTS + 1,)), [wide((MOST_ELEMENTS + 1,))], shrinks]
    people = dp.protect(pd.DataFrame({"x": objects([*large, [1]])}), name="large")
    own = people._table.engine.read._frame["x"].tolist()
    assert own == [None] * 4 + [[1]]
    shrinks.clear()
    assert ops.integers(people["x"].count(), people._table.engine) == [1]


def test_questions_whose_answers_lists_decide_have_new_keys() -> None:
    """With other limits, lists that were there are missing. What asks of other columns keeps its
    key, but where a unit's rows are chosen, or sampled, by all they hold."""
    frame = pd.DataFrame({"u": [1, 2], "l": objects([[1], [2]]), "n": [1, 2]})
    asked = dp.session()._terms.asked(1)
    for kinds, terms, verb, column, is_read in (
        ({"l": "list"}, {}, "whole", "l", True),
        ({"l": "list"}, {}, "whole", "n", False),
        ({"l": "list"}, {}, "sample", "n", True),
        ({"l": "list"}, {"unit": "u", "max_rows": 1}, "whole", "n", True),
        ({"l": "unknown"}, {"unit": "u", "max_rows": 1}, "whole", "n", False),
    ):
        with noted(kinds, terms, verb, column):
            dp.reset()
            private = dp.protect(frame.copy(), name="lists", kinds=kinds, **terms)
            rows = private.sample(frac=0.5) if verb == "sample" else private
            query = rows[column].count()._request.query(asked)
            now, rows_now = query.key, query.rows
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("dppandas.release.query.lists_as_read", lambda source, need: ())
                assert (query.key == now) == (not is_read)
                # which rows these are isn't decided by the column that is counted
                assert (query.rows == rows_now) == (not is_read or column == "l")


def shared_in_arrow(pa: Any) -> dict[str, Any]:
    """One list of 99 references to a long text, by each type of Arrow that can share."""
    ends = pa.array([0, 99], pa.int32())
    coded = pa.DictionaryArray.from_arrays(pa.array([0] * 99, pa.int32()), pa.array([LONG]))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([99], pa.int32()), pa.array([LONG]))
    found = {"dictionary": coded, "runs": runs}
    if hasattr(pa, "string_view"):
        found["views"] = views(pa, 99)
    lists = {name: pa.ListArray.from_arrays(ends, parts) for name, parts in found.items()}
    if hasattr(pa, "list_view"):
        starts, sizes = pa.array([0] * 50, pa.int32()), pa.array([50_000] * 50, pa.int32())
        inner = pa.ListViewArray.from_arrays(starts, sizes, pa.array(range(50_000)))
        lists["lists"] = pa.ListArray.from_arrays(pa.array([0, 50], pa.int32()), inner)
    return lists


def views(pa: Any, size: int) -> Any:
    _, view, *data = pa.array([LONG], pa.string_view()).buffers()
    same = pa.py_buffer(view.to_pybytes()[:16] * size)
    return pa.Array.from_buffers(pa.string_view(), size, [None, same, *data])


def test_what_arrow_shares_is_counted_each_time() -> None:
    pa = pytest.importorskip("pyarrow")
    for name, lists in shared_in_arrow(pa).items():
        with noted(name):
            tracemalloc.start()
            assert meanings(reading.arrow(lists)) == [MISSING]
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert most < 32 * MOST_CHARACTERS


def test_columns_that_share_mean_what_their_values_mean() -> None:
    """Runs and views of whole columns are read once each, not once a row."""
    pa = pytest.importorskip("pyarrow")
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 6]), pa.array([None, "a", "b"]))
    for part in (runs, runs.slice(1, 3), runs.slice(3), runs.slice(0, 0)):
        assert meanings(reading.arrow(part)) == [canonical(each.as_py()) for each in part]
    kinds = [
        (pa.list_(pa.dictionary(pa.int8(), pa.string())), [["a", None, "a"], None, []]),
        (pa.struct([("a", pa.dictionary(pa.int8(), pa.string()))]), [{"a": "b"}, None]),
        (pa.map_(pa.string(), pa.dictionary(pa.int8(), pa.string())), [[("k", "v")], []]),
    ]
    if hasattr(pa, "string_view"):
        assert meanings(reading.arrow(views(pa, 300).slice(2))) == [("text", LONG)] * 298
        kinds += [(pa.list_(pa.string_view()), [["a", None]]), (pa.list_view(pa.int8()), [[1, 2]])]
    for kind, values in kinds:
        with noted(kind):
            found = meanings(reading.arrow(pa.array(values, kind)))
            assert found == [canonical(value) for value in values]


def test_groups_that_look_ahead_make_no_list_beyond_the_limits() -> None:
    """The rest of a text, at each of its places: half a terabyte for one of 1 MB."""
    texts = ["a" * 20_000, "ab"]
    chunk = RowTable(Columns(pd.DataFrame({"t": objects(texts)})), b"k" * 16).block(0, 2)
    rest = "(?=(.*))"
    for name, args, found in (
        ("findall", (rest,), ["ab", "b", ""]),
        ("split", (f"a{rest}", -1, True), ["", "b", "b"]),
    ):
        with noted(name):
            asked = TextMap(Column("t"), name, args)
            tracemalloc.start()
            assert meanings(asked.vector(chunk)) == [MISSING, canonical(found)]
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert most < 16 * MOST_CHARACTERS
            assert asked.reading == 2  # such a list was there, at first
    for name, args in (
        ("findall", ("a",)),
        ("split", ("a", -1, True)),
        ("split", (None, 2, False)),
    ):
        assert TextMap(Column("t"), name, args).reading == 1


def test_groups_that_match_nothing_make_no_list_beyond_the_limits() -> None:
    """200 texts at each place, none of which has a character."""
    chunk = RowTable(Columns(pd.DataFrame({"t": objects(["b" * 2**17, "b"])})), b"k").block(0, 2)
    many = "(a?)" * 200
    for name, args in (("findall", (many,)), ("split", (many, -1, True))):
        with noted(name):
            tracemalloc.start()
            first, second = meanings(TextMap(Column("t"), name, args).vector(chunk))
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert (first, second[0]) == (MISSING, "list")
            assert most < 16 * MOST_CHARACTERS


def test_a_hash_of_the_largest_cell_takes_little_memory() -> None:
    """The text that is hashed may repeat a cell a few times, whatever its depth."""
    deep: Any = LONG
    for _ in range(MOST_DEPTH - 1):
        deep = [deep]
    for cell in ([LONG], deep, ["a" * 16] * MOST_ELEMENTS, [5e-324] * MOST_ELEMENTS):
        tracemalloc.start()
        hashing.of_elements(reading.column(objects([cell])), b"k" * 16)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 64 * MOST_CHARACTERS
