"""Of cells of Arrow that are beyond the limits nothing is made, and they are those that are beyond
as plain objects: each reference counts as a copy, whatever Arrow shares.

Found, and mended here for good: a file of 50 kB, with one list of 2,200 times one text, was read as
2 GB and "damaged", after the charge; and `protect` of a table with such a list of views asked for
as much memory as it says.
"""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
from elements import meanings, objects
from hypothesis import assume, example, given
from hypothesis import strategies as st
from notes import noted

from dppandas.engines.arrow_types import frame_in_known_types, in_known_type, known
from dppandas.engines.readers import ArrowColumns, Columns
from dppandas.rows.values import MISSING, canonical, cells, hashing, reading
from dppandas.rows.values.arrow import sizes
from dppandas.rows.values.families import MOST_CHARACTERS

pa = pytest.importorskip("pyarrow")

LONG = "a" * MOST_CHARACTERS
KEY = b"k" * 16


@contextmanager
def few() -> Iterator[None]:
    """Limits that random cells are on both sides of."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (cells, sizes):
            patch.setattr(module, "MOST_CHARACTERS", 9)
            patch.setattr(module, "MOST_ELEMENTS", 14)
        patch.setattr(cells._Room, "characters", 9)
        patch.setattr(cells._Room, "elements", 14)
        patch.setattr(sizes, "_POSITIONS", 5)
        patch.setattr(sizes, "_AT_ONCE", 300)
        yield


TEXTS = ["", "a", "bc", "défg", "漢字漢字漢", None]


def leaf(rng: Any, size: int) -> Any:
    texts = rng.choice(np.array(TEXTS, dtype=object), size).tolist()
    kinds = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.int8(),
             pa.bool_(), pa.null(), pa.binary(), pa.binary(3), pa.decimal128(19),
             pa.dictionary(pa.int16(), pa.binary())]  # fmt: skip
    if hasattr(pa, "string_view"):
        kinds += [pa.string_view(), pa.binary_view()]
    kind = kinds[rng.integers(len(kinds))]
    value = getattr(kind, "value_type", kind)
    if kind == pa.binary(3):
        return pa.array([None if each is None else b"abc" for each in texts], kind)
    if "binary" in str(value):
        return pa.array([None if each is None else each.encode() for each in texts], kind)
    if value in (pa.int8(), pa.bool_(), pa.decimal128(19)):
        return pa.array([None if each is None else len(each) for each in texts]).cast(kind)
    return pa.array([None] * size if kind == pa.null() else texts, kind)


def is_safe(kind: Any) -> bool:
    """Arrow itself aborts at some dictionaries of dictionaries."""
    return "values=dictionary" not in str(kind)


def some_array(rng: Any, size: int, depth: int) -> Any:
    """An array of a random type; its parts are slices of others, shared where the type can."""
    if depth == 0:
        return leaf(rng, size)
    inner = int(rng.integers(0, 3 * size + 2))
    part = some_array(rng, inner + 3, int(rng.integers(depth))).slice(2, inner)
    inner = len(part)  # a struct has as many as its parts
    mask = pa.array(rng.random(size) < 0.2)
    ends = np.sort(np.r_[0, rng.integers(0, inner + 1, size)]).astype(np.int32)
    starts = rng.integers(0, inner + 1, size).astype(np.int32)
    lengths = (rng.integers(0, 8, size).astype(np.int32)).clip(0, inner - starts)
    ways: list[Callable[[], Any]] = [
        lambda: pa.ListArray.from_arrays(pa.array(ends), part, mask=mask),
        lambda: pa.LargeListArray.from_arrays(pa.array(ends.astype(np.int64)), part, mask=mask),
        lambda: pa.FixedSizeListArray.from_arrays(part.slice(0, inner - inner % 2), 2),
        lambda: pa.StructArray.from_arrays([part, leaf(rng, inner)], ["a", "bc"]),
        lambda: pa.MapArray.from_arrays(pa.array(ends), pa.array([*"ab"] * inner)[:inner], part),
        lambda: pa.RunEndEncodedArray.from_arrays(
            pa.array(np.cumsum(rng.integers(1, 4, inner)).astype(np.int32)), part
        ),
        lambda: pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, inner, size) if inner else [], pa.int32()), part
        ),
        lambda: pa.UnionArray.from_dense(
            pa.array(rng.integers(0, 2, size) if inner else [], pa.int8()),
            pa.array(np.sort(rng.integers(0, inner, size)) if inner else [], pa.int32()),
            [part, leaf(rng, inner)],
        ),
        lambda: pa.UnionArray.from_sparse(
            pa.array(rng.integers(0, 2, inner), pa.int8()), [part, leaf(rng, inner)]
        ),
    ]
    if hasattr(pa, "list_view"):
        ways.append(lambda: pa.ListViewArray.from_arrays(starts, lengths, part, mask=mask))
    return ways[rng.integers(len(ways))]()


@few()
@given(seed=st.integers(0, 2**32))
def test_a_cell_is_missing_in_arrow_as_in_pandas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    array = some_array(rng, 6, 3)
    assume(is_safe(array.type))
    for part in (array, array.slice(1), array.slice(2, 2)):
        plain = part.to_pylist()
        wanted = [canonical(each) for each in plain]
        found = reading.arrow(part)
        assert meanings(found) == wanted
        as_objects = reading.column(objects(plain))
        for equal in (True, False):
            hashes = (hashing.of_elements(v, KEY, equal) for v in (found, as_objects))
            assert np.array_equal(*hashes)
        beyond = sizes.is_beyond(part)
        assert all(cell == MISSING for cell, gone in zip(wanted, beyond, strict=True) if gone)


@few()
@given(seed=st.integers(0, 2**32))
@example(seed=10015619)  # decoding by Arrow referred to a level that isn't there
def test_null_in_the_place_of_what_is_beyond_can_be_taken(seed: int) -> None:
    """Also in dictionaries, whose chunks Arrow can't join if their levels are lists; and whatever
    is converted means the same."""
    array = some_array(np.random.default_rng(seed), 6, 3)
    assume(is_safe(array.type))
    for part in (array, array.slice(1), array.slice(2, 2)):
        pairs = zip(part.to_pylist(), sizes.is_beyond(part), strict=True)
        wanted = [None if gone else cell for cell, gone in pairs]
        chunks = sizes.within(pa.chunked_array([part]))
        chunks.validate(full=True)
        assert chunks.to_pylist() == wanted
        # of one array, as in files, where Arrow can join what it is cut into: by its type
        if can(lambda part=part: pa.concat_arrays([sizes._nothing(part, 2), part])):
            whole = sizes.within(part)
            whole.validate(full=True)
            assert whole.to_pylist() == wanted
        if not can(lambda part=part: in_known_type(part.slice(0, 0))):  # by its type alone
            continue
        found = in_known_type(part)
        found.validate(full=True)
        assert list(map(canonical, found.to_pylist())) == list(map(canonical, wanted))
        kept = in_known_type(chunks)
        if len(part) and can(lambda kept=kept: kept.slice(0, 1).take([0])):
            last = kept.take([len(part) - 1]).to_pylist()
            assert list(map(canonical, last)) == list(map(canonical, wanted[-1:]))


def test_lists_of_a_fixed_size_in_others_are_picked_as_they_are() -> None:
    """Found: `take` of Arrow forgets where a slice of the inner lists starts, and reads memory
    beyond them."""
    inner = pa.array([[i, i + 1] for i in range(9)], pa.list_(pa.int64(), 2))
    for start in (0, 1, 3):
        lists = pa.FixedSizeListArray.from_arrays(inner.slice(start, 6), 2)
        beside = pa.StructArray.from_arrays([lists, pa.array(["a", None, "b"])], ["x", "y"])
        for array in (lists, lists.slice(1), beside, pa.ListArray.from_arrays([0, 1, 3], lists)):
            found = in_known_type(array)
            found.validate(full=True)
            last = len(array) - 1
            assert found.take([last, 0]).to_pylist() == [array[last].as_py(), array[0].as_py()]


def test_runs_of_dictionaries_are_decoded() -> None:
    """Found: Arrow's own decoding knows none of them, and inside of structs refers to levels that
    aren't there."""
    levels = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), ["a", "b"])
    beside = pa.StructArray.from_arrays([levels], ["x"])
    for values in (levels, beside):
        runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 7], pa.int32()), values)
        for array in (runs, runs.slice(1, 4), runs.slice(2, 0)):
            found = in_known_type(array)
            found.validate(full=True)
            assert found.type == known(array.type)
            assert found.to_pylist() == array.to_pylist()


def can(do: Callable[[], Any]) -> bool:
    try:
        do()
    except Exception:
        return False
    return True


@few()
@given(seed=st.integers(0, 2**32))
def test_what_is_not_beyond_is_small(seed: int) -> None:
    """Small enough to be made and counted exactly."""
    array = some_array(np.random.default_rng(seed), 6, 3)
    assume(is_safe(array.type))
    found = sizes._Sizes(array)
    for value, beyond, elements, size in zip(
        array.to_pylist(), found.beyond, found.elements, found.bytes, strict=True
    ):
        exact, exact_bytes = size_of(value)
        assert beyond or (elements == exact and size >= exact_bytes)
        assert beyond == (elements > 14 or size > 4 * 9)


def size_of(value: Any) -> tuple[int, int]:
    """Elements and bytes, by what Python holds."""
    if isinstance(value, str | bytes):
        return 0, len(value.encode() if isinstance(value, str) else value)
    if isinstance(value, dict):
        value = list(value.items())
    if not isinstance(value, list | tuple):
        return 0, 0
    inner = [size_of(each) for each in value]
    return len(value) + sum(e for e, _ in inner), sum(b for _, b in inner)


def views(size: int) -> Any:
    _, view, *data = pa.array([LONG], pa.string_view()).buffers()
    same = pa.py_buffer(view.to_pybytes()[:16] * size)
    return pa.Array.from_buffers(pa.string_view(), size, [None, same, *data])


def listed(part: Any) -> Any:
    """Three lists: of one, of all, and of one element."""
    ends = np.array([0, 1, len(part) - 1, len(part)], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), part)


MOST = 2**31 - 1
#: Lists in Arrow, the second of which says that it is large: terabytes, in part.
CLAIMS: dict[str, Callable[[], Any]] = {
    "nothing": lambda: listed(pa.nulls(MOST)),
    "numbers": lambda: listed(pa.array(np.zeros(2**24, dtype=np.int8))),
    "a fixed size": lambda: pa.FixedSizeListArray.from_arrays(pa.nulls(MOST), MOST),
    "texts": lambda: listed(pa.array([LONG[: 2**13]] * 2**13)),
    "a dictionary": lambda: listed(
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(2**16, np.int32)), pa.array([LONG]))
    ),
    "runs": lambda: listed(
        pa.RunEndEncodedArray.from_arrays(pa.array([MOST], pa.int32()), pa.array([LONG]))
    ),
    "fixed bytes": lambda: listed(
        pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(2**16, np.int32)), pa.array([LONG.encode()], pa.binary(2**20))
        )
    ),
    "names of fields": lambda: listed(
        pa.StructArray.from_arrays([pa.nulls(2**14)], [LONG[: 2**13]])
    ),
    "maps": lambda: pa.MapArray.from_arrays(
        pa.array([0, 1, 2**16 - 1, 2**16], pa.int32()), pa.array(range(2**16)), pa.nulls(2**16)
    ),
}
if hasattr(pa, "list_view"):
    CLAIMS["views"] = lambda: listed(views(2**16))
    CLAIMS["lists"] = lambda: listed(
        pa.ListViewArray.from_arrays(
            pa.array([0] * 2**14, pa.int32()), pa.array([2**16] * 2**14, pa.int32()),
            listed(pa.DictionaryArray.from_arrays(pa.array([0] * 2**16), pa.array([LONG]))).values,
        )
    )  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_says_that_it_is_large_is_not_made(claim: str) -> None:
    array = CLAIMS[claim]()
    tracemalloc.start()
    try:
        found = meanings(reading.arrow(array))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 64 * MOST_CHARACTERS
    assert found[len(found) // 2] == MISSING
    if len(found) == 3 and claim != "lists":
        assert MISSING not in (found[0], found[2])


def test_no_type_is_converted_with_what_it_shares() -> None:
    """Views inside lists have to be written out before rows can be picked."""
    if not hasattr(pa, "string_view"):
        pytest.skip("this pyarrow has no views")
    array = listed(views(2**16))
    for given_ in (array, pa.chunked_array([array, array.slice(0, 1)])):
        whole = in_known_type(given_)
        assert whole.type == known(array.type) != array.type
        assert whole.nbytes < 8 * MOST_CHARACTERS
        assert whole.to_pylist()[:3] == [[LONG], None, [LONG]]
    frame = pd.DataFrame({"l": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))})
    assert frame_in_known_types(frame)["l"].isna().tolist() == [False, True, False]


def test_what_null_covers_is_not_written_out() -> None:
    """A null of Arrow may cover a text, or a list of any size."""
    if not hasattr(pa, "string_view"):
        pytest.skip("this pyarrow has no views")
    many = views(2**16)
    gone = pa.array([True] + [False] * 9)
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2**16 - 9, *range(2**16 - 8, 2**16 + 1)], pa.int32()), many, mask=gone
    )
    structs = pa.StructArray.from_arrays([many], ["a"], mask=pa.array([True] * 2**16))
    for array in (lists, listed(structs.slice(0, 99)), listed(many.slice(0, 1)).slice(0, 0)):
        whole = in_known_type(array)
        assert whole.to_pylist() == array.to_pylist()
        assert whole.nbytes < 16 * MOST_CHARACTERS


def test_a_function_of_the_caller_sees_no_cell_beyond_the_limits() -> None:
    """In a table of Arrow, and in a frame of its types, as in one of objects."""
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 3, 5], pa.int32()),
        pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 1, 1], pa.int8()), pa.array(["a", LONG])),
    )
    table = pa.table({"n": [1, 2, 3], "l": lists})
    frame = pd.DataFrame(
        {"n": [1, 2, 3], "l": pd.Series(pd.arrays.ArrowExtensionArray(table["l"]))}
    )
    plain = pd.DataFrame({"n": [1, 2, 3], "l": objects(lists.to_pylist())})
    own = Columns(plain)
    own.detach()
    for columns in (ArrowColumns(table), Columns(frame), own):
        for rows in (slice(0, 3), np.array([2, 0, 1]), slice(1, 3), slice(0, 0)):
            with noted(type(columns), rows):
                found = columns.plain(["n", "l"], rows)
                wanted = plain["l"].iloc[rows].tolist()
                gone = [canonical(each) == MISSING for each in wanted]
                assert [pd.isna(each) is True for each in found["l"]] == gone
                assert found["n"].tolist() == plain["n"].iloc[rows].tolist()


def test_a_long_text_is_missing_without_being_copied() -> None:
    texts = pa.array(["a" * 2**26, LONG, LONG + "a", None], pa.large_string())
    tracemalloc.start()
    try:
        assert meanings(reading.arrow(texts)) == [MISSING, ("text", LONG), MISSING, MISSING]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 32 * MOST_CHARACTERS
