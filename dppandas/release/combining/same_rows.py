"""Which releases are of the same rows of the same data, and each of them given once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import QueryError
from ..answers.records import Record
from ..blocks import preview


def check_same_rows(parts: Sequence[Record]) -> None:
    """Refuse what is not known to be of the same rows: of one version of one source, in one ledger,
    of equal units, by equal verbs."""
    for part in parts:
        check_real(part)
    must_agree([_SAME_SOURCE], parts)  # of two sources no lineage is at fault
    for part in parts:
        _check_known(part)
    must_agree(_SAME_ROWS, parts)


def check_once(parts: Sequence[Record]) -> None:
    """Refuse a release that is given twice: it tells nothing new the second time."""
    seen: set[tuple[int, float]] = set()
    for part in parts:
        release = part.number, part.time
        if release in seen and not part.preview:  # which has no number yet
            raise QueryError(
                f"release {part.number}, '{part.query}', is given twice, which makes the answer no "
                "surer. An equal query gives the same release again; fresh=True draws another, as "
                "does .refine(epsilon=…)."
            )
        seen.add(release)


def check_real(part: Record) -> None:
    """Refuse the placeholders of a preview, unless this is a preview too."""
    if part.preview and preview.running() is None:
        raise QueryError(
            f"'{part.query}' was previewed and not answered: a preview reads no data. Ask it "
            "again, outside of dp.preview()."
        )


#: What two releases must have in common, and what to say where they haven't.
Alike = tuple[Callable[[Record], Any], Callable[[Record, Record], str]]


def must_agree(alike: Sequence[Alike], parts: Sequence[Record]) -> None:
    """Refuse releases that differ from the first in something."""
    for what, said in alike:
        for part in parts[1:]:
            if what(part) != what(parts[0]):
                raise QueryError(f"{said(parts[0], part)}")


_SAME_SOURCE: Alike = (
    lambda part: part.source,
    lambda a, b: (
        f"'{a.query}' is of source {a.source!r}, and '{b.query}' of {b.source!r}: other data. "
        "Take releases of one source."
    ),
)
_SAME_ROWS: list[Alike] = [
    (
        lambda part: part.version,
        lambda a, b: (
            f"these are releases of version {a.version!r} and of version {b.version!r} of "
            f"{a.source!r}: other data, whose numbers differ by more than noise. Ask both of one "
            "version."
        ),
    ),
    (
        lambda part: part.ledger,
        lambda a, b: (
            f"these releases of {a.source!r} are in two ledgers, which may have used different "
            "rows: without store= each session has its own ledger. Ask both in one session, or "
            "give dp.session a store=."
        ),
    ),
    (
        lambda part: part.unit,
        lambda a, b: (
            f"'{a.query}' protects {a.unit}, and '{b.query}' {b.unit}, so they may have used "
            "different rows. Ask both of the source as it is protected now."
        ),
    ),
    (
        lambda part: part._query.rows,
        lambda a, b: (
            f"'{a.query}' and '{b.query}' are of different rows: ask both after the same verbs of "
            "the same private frame."
        ),
    ),
]


def _check_known(part: Record) -> None:
    if part.lineage != "verified":
        raise QueryError(
            f"the lineage of '{part.query}' is {part.lineage}, so nobody can check that two "
            "releases are of the same rows. Use the private frame that dp.protect returns, and its "
            "own methods."
        )
    if not part._query.rows:
        raise QueryError(
            f"'{part.query}' holds a value that has no text of its own, so that no other query is "
            "known to equal it."
        )
