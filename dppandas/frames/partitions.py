"""Partitions of private rows by declared keys, whose charges compose in parallel."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

from ..columns.private_rows import listed
from ..engines.base import Need
from ..errors import LineageError, QueryError, hide_internals, quoted
from ..ledger import canonical
from ..privacy.accounting.composition import Part
from ..privacy.sampling import entropy
from ..release.private import Table
from ..release.query import lists_as_read
from ..rows import expressions
from ..rows.facts.keys import Keys
from .grouping import Grouping, grouping
from .series import PrivateSeries
from .verbs.transformations import Transformations

V = TypeVar("V", bound=Transformations)


class GroupsOneByOne:
    """The groups of declared keys as private frames, or as private columns of them."""

    _table: Table
    _columns: dict[Any, expressions.Expression]
    _where: expressions.Expression | None
    _by: Grouping
    _selected: Any

    @hide_internals
    def __len__(self) -> int:
        """The number of declared keys."""
        return len(self._keys("len"))

    @hide_internals
    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of a declared key and the private rows that have it: ``for key, rows in
        frame.groupby("sex")``. Keys are tuples if the columns were given as a list, as in pandas.

        Of a verified frame they are those of `PrivateFrame.partition`, and questions to them
        compose in parallel; of an asserted one they are filters, and the losses add up.

        *Guarantee*: nothing is released.
        """
        keys, frame = self._keys("looping"), self._all_rows()
        if self._table.source.verified:
            parts = list(divided(frame, self._by).values())
        else:
            parts = [self._filtered(frame, keys, place) for place in range(len(keys))]
        order: list[int] = list(range(len(keys)))
        if self._by.shown.is_sorted:
            order = keys.index(self._by.names).argsort().tolist()
        named = [label if keys.width > 1 else (label,) for label in keys.labels]
        names = named if self._by.is_listed else keys.labels
        return iter([(names[place], self._chosen(parts[place])) for place in order])

    @hide_internals
    def get_group(self, name: Any) -> Any:
        """The private rows that have one declared key: ``frame[frame["city"] == name]``, or for
        several columns a tuple of labels. *Stability*: 1, row by row.

        >>> import pandas as pd
        >>> p = pd.DataFrame({"sex": ["f", "m"] * 99, "age": [30, 40] * 99}).dp
        >>> women = p.groupby("sex", keys=["f", "m"]).get_group("f")
        >>> 25 < women["age"].mean(bounds=(0, 99), epsilon=9) < 35
        True
        """
        keys = self._keys("get_group")
        parts = name if isinstance(name, tuple) and len(name) == keys.width else (name,)
        try:
            found = keys.place(parts)
        except TypeError:  # a list, say
            found = None
        if found is None:
            raise QueryError(
                f"get_group: {quoted(name)} isn't among the declared keys of "
                f"{listed(self._by.names)}. Those are {keys}. Keep other rows by a mask, as in "
                "frame[frame['city'] == 'Rome']."
            )
        return self._chosen(self._filtered(self._all_rows(), keys, found))

    def _keys(self, what: str) -> Keys:
        """The declared keys. Without any, groups aren't known one by one."""
        if self._by.cells.missing_cell:
            raise QueryError(
                f"{what} of groups has no group of missing labels. Leave dropna=False out, and "
                "keep those rows by a mask: frame[frame['city'].isna()]."
            )
        if self._by.cells.limited:
            raise QueryError(
                f"{what} of groups gives all rows of each group, and max_rows_per_key= and "
                "max_keys= are for answers about all groups together. Leave them out."
            )
        if (keys := self._by.cells.keys) is not None:
            return keys
        raise QueryError(
            f"{what} of groups needs declared keys, because which ones occur is private. Give "
            "groupby(…, keys=[…]) in place of delta=, or keep rows by a mask."
        )

    def _all_rows(self) -> Any:
        """The frame that is grouped."""
        return PrivateSeries._frame(self._table, self._columns, self._where)

    def _filtered(self, frame: Any, keys: Keys, place: int) -> Any:
        """The rows of one key, by masks."""
        labels = keys.labels[place] if keys.width > 1 else (keys.labels[place],)
        each = zip(self._by.names, self._by.cells.by, labels, strict=True)
        masks = [PrivateSeries(self._table, n, e, self._where) == label for n, e, label in each]
        return frame[functools.reduce(operator.and_, masks)]

    def _chosen(self, frame: Any) -> Any:
        """What the groups select of a frame."""
        return frame if self._selected is None else frame[self._selected]


def parts_of(frame: V, by: Any, keys: object, ranges: object) -> dict[Any, V]:
    """See `PrivateFrame.partition`."""
    table = frame._table
    if not table.source.verified:
        raise LineageError(
            "partition needs a verified frame, as dp.protect returns: what pandas did to this one "
            "can't be checked, so its parts can't be charged in parallel. Use groupby(…, "
            "keys=[…]), which answers for all keys in one release."
        )
    return divided(frame, grouping(frame, by, keys, ranges, "partition"))


def divided(frame: V, by: Grouping) -> dict[Any, V]:
    """A frame for each key of a grouping, with one more step in its path."""
    table, cells = frame._table, by.cells
    found: Keys = cells.keys or Keys(())
    columns = listed(by.names)
    name, labels = _names(table, columns, cells.by, found)
    rows = table.source.unit.max_rows * table.branches
    parts: dict[Any, V] = {}
    for position, label in enumerate(found.labels):
        path = (*table.path, Part(name, labels[position], rows, columns, str(label)[:100]))
        inside = expressions.InPart(cells.by, found, name, position)
        where = expressions.both(frame._where, inside)
        parts[label] = frame._with(frame._columns, where, replace(table, path=path))
    return parts


def _names(
    table: Table, columns: str, by: tuple[expressions.Expression, ...], keys: Keys
) -> tuple[str, list[str]]:
    """The name of a partition, and the labels of its branches.

    Two partitions of the same name divide the same rows by the same keys. In another version of the
    source a person may have another value, so the version is part of the name; and so is how lists
    are read, if that may send a row to another part.
    """
    source = table.source
    read = frozenset(name for each in by for name in each.columns())
    lists = lists_as_read(source, Need(read, keyed=any(map(expressions.samples, by))))
    try:
        unit = (source.unit.column, source.unit.max_rows)
        if source.made is None:
            raise canonical.NoCanonicalText
        said = canonical.key(
            source.version, unit, source.made, table.grown, by, keys.labels, *lists
        )
    except canonical.NoCanonicalText:  # a new partition each time, whose losses add up
        said = entropy.identifier()
    return f"{columns} {said}", [f"{i}: {label}"[:100] for i, label in enumerate(keys.labels)]
