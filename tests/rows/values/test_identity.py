"""What counts as the same value, unit or row: by value, never by type, print or company."""

import contextvars
import datetime
import decimal
import uuid
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from elements import objects
from refusals import refusal
from sizes import size

import dppandas as dp
from dppandas.audit import check_sensitivity
from dppandas.errors import DPError, LineageError, SessionError
from dppandas.rows.values.hashing import name_of, of_rows
from dppandas.rows.values.vectors import vector

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

#: Of neighbours, for each kind of odd unit.
PAIRS = size(quick=16, deep=50)
UTC, HOUR = datetime.UTC, datetime.timedelta(hours=1)
NOON = datetime.datetime(2020, 1, 1, 12)

EQUAL: list[tuple[Any, ...]] = [
    (1, 1.0, True, np.int8(1), np.float32(1), Fraction(1), decimal.Decimal("1.0")),
    (0, 0.0, -0.0, False, decimal.Decimal("-0")),
    (2**70, float(2**70), decimal.Decimal(2**70)),
    ("a", np.str_("a")),
    ((1, "a"), (1.0, "a"), [decimal.Decimal(1), np.str_("a")]),
    (frozenset([0, 8]), frozenset([8, 0]), frozenset([8.0, 0])),
    (HOUR, pd.Timedelta(HOUR), np.timedelta64(3600, "s")),
    (NOON, pd.Timestamp(NOON), np.datetime64(NOON)),
    (NOON.replace(tzinfo=UTC), pd.Timestamp(NOON, tz="UTC").tz_convert("Asia/Tokyo"),
     NOON.replace(hour=13, tzinfo=datetime.timezone(HOUR))),
    (pd.Interval(0, 1), pd.Interval(0.0, 1.0)), (uuid.UUID(int=5), uuid.UUID("0" * 31 + "5")),
    (pd.Period("2020-01", "M"), pd.Period("2020-01-15", "M")),
]  # fmt: skip

DIFFERENT: list[Any] = [
    0, 1, -1, 2**53, 2**53 + 1, 2**64, 2**70, 0.1, decimal.Decimal("0.1"), Fraction(1, 3), 5e-324,
    float("inf"), float("-inf"), decimal.Decimal("1e999"), decimal.Decimal("1e998"),
    1j, "", "1", "n1/1", "m", "a", "\ud800", "\udc80", b"a", b"", (), (1,), (True,),
    [None], {}, {1: 2}, ("1",), (1, 1), ((1,),),
    ("a", "bc"), ("ab", "c"), frozenset(), frozenset([1]), NOON, NOON.replace(tzinfo=UTC),
    NOON.replace(microsecond=1), pd.Timestamp(NOON) + pd.Timedelta(1, "ns"), NOON.date(),
    NOON.time(), HOUR, pd.Timedelta(HOUR) + pd.Timedelta(1, "ns"), pd.Interval(0, 1),
    pd.Interval(0, 1, closed="left"), pd.Interval(0, 2), pd.Period("2020-01", "M"),
    pd.Period("2020-01-01", "D"), uuid.UUID(int=5),
]  # fmt: skip


@pytest.mark.parametrize("values", EQUAL, ids=lambda values: ascii(values[0]))
def test_equal_values_have_one_name(values: tuple[Any, ...]) -> None:
    assert len({name_of(value) for value in values} - {None}) == 1


def test_different_values_have_different_names() -> None:
    names = [name_of(value) for value in DIFFERENT]
    assert None not in names
    assert len(set(names)) == len(DIFFERENT)


class Prints:
    """Equal to nothing else, and prints as others do: by what it prints it names nobody."""

    def __repr__(self) -> str:
        return "n1/1"


@pytest.mark.parametrize(
    "value", [None, pd.NA, pd.NaT, float("nan"), object(), Prints(), (1, object()), len, 2**4097]
)
def test_what_is_not_known_by_its_value_names_nobody(value: Any) -> None:
    assert name_of(value) is None


def test_arrays_hash_by_their_elements_and_not_by_what_they_print() -> None:
    # numpy prints eight digits, and an ellipsis from a thousand elements on
    near = [np.array([0.1234567891]), np.array([0.1234567892])]
    far = np.zeros(3000)
    column = objects([*near, far, np.where(np.arange(3000) == 1500, 1.0, far)]).to_numpy()
    hashes = of_rows([("x", vector(column))], 4, b"k" * 16)
    assert len(set(hashes)) == 4


INTERVALS = list(pd.interval_range(0, 40))
#: What makes a unit or a row by other roads than numbers and plain texts.
ODD: dict[str, list[Any]] = {
    "intervals": INTERVALS, "tuples": [(i, float(i)) for i in range(40)],
    "lone surrogates": [chr(0xD800 + i) for i in range(40)],
    "mixed": [1, "1", 1.5, NOON, NOON.date(), HOUR, (1,), frozenset([1]), *INTERVALS[:4]],
    "huge": [2**64 + i for i in range(40)],
}  # fmt: skip


@pytest.mark.sized
@pytest.mark.parametrize("kind", ODD)
def test_odd_units_and_rows_keep_their_sensitivity(kind: str) -> None:
    values = ODD[kind]
    df = pd.DataFrame({"u": pd.Series(values * 3, dtype=object), "x": range(len(values) * 3)})

    def ask(p: Any) -> list[Any]:
        sizes, some = p.per_unit().agg(n="size")["n"], p.sample(frac=0.5)["x"]
        asked = [p["u"].nunique(), p.count(), p.truncation_shares(), sizes.sum(bounds=(0, 9))]
        return [each.release(epsilon=1) for each in (*asked, some.sum(bounds=(0, 40)))]

    report = check_sensitivity(ask, df, unit="u", max_rows=2, pairs=PAIRS)
    assert report.ok, str(report)
    rows = check_sensitivity(lambda p: p.sample(frac=0.5).count(epsilon=1), df[["u"]], pairs=PAIRS)
    assert rows.ok, str(rows)


# --- tokens ---------------------------------------------------------------------------------------


def with_unknown_token() -> pd.DataFrame:
    df = pd.DataFrame({"a": [1, 2, 3], "u": [1, 1, 2]})
    df.attrs["dppandas.source"] = "of another process"
    return df


def test_a_token_of_another_process_is_asserted_and_needs_its_unit_said() -> None:
    dp.session(epsilon=9)
    refusal(lambda: dp.protect(with_unknown_token(), name="read back"), "unit=", LineageError)
    said = dp.protect(with_unknown_token(), name="read back", unit="u", max_rows=1)
    assert dp.record(said.count(epsilon=1)).lineage == "asserted"


def test_a_token_of_another_process_is_refused_in_a_strict_session() -> None:
    dp.session(epsilon=9, strict=True)
    said = dp.protect(with_unknown_token(), name="read back", unit="u", max_rows=1)
    refusal(lambda: said.count(epsilon=1), "strict", LineageError)


def test_a_column_of_a_protected_frame_is_no_list_of_public_labels() -> None:
    df, other = pd.DataFrame({"a": [1, 2, 3]}), pd.DataFrame({"a": [1]})
    p = dp.protect(df, name="people")
    for use in (
        lambda: p["a"].value_counts(keys=df["a"]), lambda: p.groupby("a", keys=df["a"]),
        lambda: p["a"].isin(df["a"]), lambda: dp.protect(other, name="b", domain={"a": df["a"]}),
    ):  # fmt: skip
        refusal(use, "token|not public|list", DPError)


def test_what_changes_after_protect_changes_nothing(exact: None) -> None:
    df = pd.DataFrame({"t": [["a"], ["b"]], "x": [1, 2]})
    private = dp.protect(df, name="lists")
    df["t"].iloc[0].append("z")
    df.loc[:, "x"] = 9
    tags = private.explode("t", max_items=3)["t"]
    assert tags.value_counts(keys=["a", "b", "z"], sort=False, epsilon=1).tolist() == [1, 1, 0]
    assert private["x"].sum(bounds=(0, 10), epsilon=1) == pytest.approx(3, abs=1e-6)


# --- audits --------------------------------------------------------------------------


def test_what_an_audit_let_out_can_release_nothing() -> None:
    """A context copied inside a frozen run holds its scratch ledger, and outlives it."""
    kept: list[contextvars.Context] = []

    def op(p: Any) -> Any:
        kept.append(contextvars.copy_context())
        return p.count(epsilon=1)

    df = pd.DataFrame({"x": [1, 2]})
    assert check_sensitivity(op, df, pairs=3).ok
    for context in kept:
        with pytest.raises(SessionError, match="audit"):
            context.run(lambda: df.dp.count(epsilon=1))


def test_a_recorded_run_is_no_release_in_the_ledger() -> None:
    seen: list[list[str]] = []

    def op(p: Any) -> Any:
        p.count(epsilon=1)
        seen.append([entry.status for entry in dp.ledger()._entries()])

    assert check_sensitivity(op, pd.DataFrame({"x": [1, 2]}), pairs=2).ok
    assert seen == [["recorded"]] * 4
    assert dp.ledger()._entries() == []
