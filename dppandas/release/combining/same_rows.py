"""Checks that releases are of the same rows of the same data, and that each is given once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...errors import QueryError
from ..answers.records import Record
from ..blocks import preview


def check_same_rows(parts: Sequence[Record]) -> None:
    """Refuse releases that may be of different rows. They must have the same source, version,
    ledger and unit, and the same methods must have made their rows."""
    for part in parts:
        check_real(part)
    first = parts[0]
    for part in parts:  # before lineage, which isn't to blame for two sources
        if part.source != first.source:
            raise QueryError(
                f"'{first.query}' is about source {first.source!r}, and '{part.query}' about "
                f"{part.source!r}: other data. Use releases of one source."
            )
    for part in parts:
        if part.lineage != "verified":
            raise QueryError(
                f"the lineage of '{part.query}' is {part.lineage}, so nobody can check that two "
                "releases are of the same rows. Use the private frame that dp.protect returns, and "
                "its own methods."
            )
        check_comparable(part, part._query.rows)
    for part in parts:
        if different := _difference(first, part):
            raise QueryError(different)


def check_once(parts: Sequence[Record]) -> None:
    """Refuse a release that is given twice, because the second adds no information."""
    seen: set[tuple[int, float]] = set()
    for part in parts:
        release = part.number, part.time
        if release in seen and not part.preview:  # a preview has no number yet
            raise QueryError(
                f"release {part.number}, '{part.query}', is given twice, which makes the answer no "
                "more accurate. An equal query returns the same release. Draw another with "
                "fresh=True or .refine(epsilon=…)."
            )
        seen.add(release)


def check_real(part: Record) -> None:
    """Refuse the placeholders of a preview, unless this is a preview too."""
    if part.preview and preview.running() is None:
        raise QueryError(
            f"'{part.query}' was previewed and not answered, because a preview reads no data. Ask "
            "it again outside of dp.preview()."
        )


def check_comparable(part: Record, key: str) -> None:
    """Refuse a release without a key, which no other release can be compared with."""
    if not key:
        raise QueryError(
            f"'{part.query}' holds a value that has no text of its own, so it can't be compared "
            "with other queries. Use plain values in it."
        )


def check_limits(parts: Iterable[Record]) -> None:
    """Refuse numbers of one source that limits by key make about different rows."""
    by_source: dict[str, Record] = {}
    for part in sorted(parts, key=lambda each: each.number):
        first = by_source.setdefault(part.source, part)
        if different := _other_limits(first, part):
            raise QueryError(different)


def _other_limits(a: Record, b: Record) -> str:
    """Why limits make two releases of one source count different rows; "" if they don't: neither
    has one, or both have the same by the same keys."""
    cells = a._statistic.cells, b._statistic.cells
    if not any(each.limited for each in cells) or cells[0] == cells[1]:
        return ""
    return (
        f"'{a.query}' and '{b.query}' count different rows, because max_rows_per_key= and "
        "max_keys= keep other rows of a unit for other keys. Ask both by the same keys with the "
        "same limits, or both without."
    )


def _difference(a: Record, b: Record) -> str:
    """Why two releases of one source may be of different rows; "" if they are of the same."""
    if a.version != b.version:
        return (
            f"these are releases of version {a.version!r} and of version {b.version!r} of "
            f"{a.source!r}: other data, whose numbers differ by more than noise. Ask both of one "
            "version."
        )
    if a.ledger != b.ledger:
        return (
            f"these releases of {a.source!r} are in two ledgers, which may have used different "
            "rows: without store= each session has its own ledger. Ask both in one session, or "
            "give dp.session a store=."
        )
    if a.unit != b.unit:
        return (
            f"'{a.query}' protects {a.unit}, and '{b.query}' {b.unit}, so they may have used "
            "different rows. Ask both of the source as it is protected now."
        )
    if different := _other_limits(a, b):
        return different
    if a._query.rows != b._query.rows:
        return (
            f"'{a.query}' and '{b.query}' are of different rows. Ask both after the same methods "
            "of the same private frame."
        )
    return ""
