"""Every statistic of the package has one record, and no record lacks anything."""

from dataclasses import replace

import operations as ops
import pytest
from notes import noted
from operations import RECORDS, Operation

from dppandas import statistics as stats


def lacks(record: Operation) -> list[str]:
    """The fields that are missing."""
    missing = [name for name in ("law", "truth", "kinds", "tight") if not getattr(record, name)]
    if record.statistic is not None and record.hostile is None:
        missing.append("hostile")
    if record.law == ops.DRAWN and not record.often:
        missing.append("often")
    return missing if record.names() else [*missing, "asked"]


def test_every_statistic_has_one_record() -> None:
    """Public verbs that no record asks are found in test_tightness.py and test_kinds.py."""
    kinds = [record.statistic for record in RECORDS]
    without = [kind.__name__ for kind in stats.every() if kind not in kinds]
    assert without == [], "add an Operation to tests/operations.py"
    assert {*kinds} - {None} == {*stats.every()}
    assert len(kinds) == len(set(kinds))


@pytest.mark.parametrize("record", RECORDS, ids=lambda each: str(each.statistic))
def test_a_record_lacks_nothing(record: Operation) -> None:
    assert lacks(record) == []
    assert {*record.often, *record.warns, *record.undecided} <= {*record.names()}
    if not isinstance(record.truth, str):
        assert record.truth.keys() <= {*record.names()}


def test_what_a_record_lacks_is_named() -> None:
    (whole,) = (record for record in RECORDS if record.statistic is stats.UnattributedHistogram)
    assert lacks(Operation(stats.Sum)) == ["law", "truth", "kinds", "tight", "hostile", "asked"]
    for field, nothing in (
        ("hostile", None), ("law", ""), ("often", ()), ("asked", {}), ("truth", {}), ("kinds", ""),
        ("tight", {}),
    ):  # fmt: skip
        with noted(field):
            assert lacks(replace(whole, **{field: nothing})) == [field]


def test_a_name_in_two_records_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "RECORDS", [*RECORDS, RECORDS[0]])
    with pytest.raises(AssertionError, match="is in two records"):
        ops.merged("asked")
