"""Partitions of private rows by declared keys, whose charges compose in parallel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from ..columns.private_rows import listed
from ..errors import LineageError
from ..ledger import canonical
from ..privacy.accounting.composition import Part
from ..privacy.sampling import entropy
from ..release.private import Table
from ..rows import expressions
from ..rows.facts.keys import Keys
from .grouping import grouping
from .verbs.transformations import Transformations

V = TypeVar("V", bound=Transformations)


def parts_of(frame: V, by: Any, keys: object, ranges: object) -> dict[Any, V]:
    """See `PrivateFrame.partition`."""
    table = frame._table
    if not table.source.verified:
        raise LineageError(
            "partition needs a verified frame, which dp.protect returns: parts are charged in "
            "parallel only if each person's rows lie in few of them, and what pandas did to this "
            "frame can't be checked. Use groupby(…, keys=[…]), which answers for all keys in one "
            "release."
        )
    divided_by = grouping(frame, by, keys, ranges, "partition")
    cells = divided_by.cells
    found: Keys = cells.keys or Keys(())
    name, labels = _names(table, divided_by.names, cells.by, found)
    divided = table.source.unit.max_rows * table.branches
    parts: dict[Any, V] = {}
    for position, label in enumerate(found.labels):
        path = (*table.path, Part(name, labels[position], divided))
        inside = expressions.InPart(cells.by, found, name, position)
        where = expressions.both(frame._where, inside)
        parts[label] = frame._with(frame._columns, where, replace(table, path=path))
    return parts


def _names(
    table: Table, columns: list[Any], by: tuple[expressions.Expression, ...], keys: Keys
) -> tuple[str, list[str]]:
    """The name of a partition, and the labels of its branches.

    Two partitions of the same name divide the same rows by the same keys. In another version of the
    source a person may have another value, so the version is part of the name.
    """
    source, shown = table.source, listed(columns)
    try:
        unit = (source.unit.column, source.unit.max_rows)
        if source.made is None:
            raise canonical.NoCanonicalText
        said = canonical.key(source.version, unit, source.made, table.grown, by, keys.labels)
    except canonical.NoCanonicalText:  # a new partition each time, whose losses add up
        said = entropy.identifier()
    return f"{shown} {said}", [f"{i}: {label}"[:100] for i, label in enumerate(keys.labels)]
