"""What private columns, frames and groups say of themselves, so that they can be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

import pandas as pd

from ...columns.private_rows import PrivateTable, listed
from ...columns.ranges import bounds_of, measured, range_of, ruled
from ...errors import MissingArgument, QueryError
from ...privacy.accounting.losses import ReleaseOptions, parse_delta
from ...release.blocks.bundle import Name
from ...release.request import Request
from ...release.unreleased import Unreleased, UnreleasedKeys
from ...release.ways import Ways
from ...rows import query_string
from ...rows.expressions import Expression
from ...rows.facts.bounds import Bounds
from ...rows.facts.keys import Keys
from ...statistics import Cells, Count, Layout, Statistic, UndeclaredKeys
from .arguments import index


class Queryable(PrivateTable):
    """Rows of which statistics can be asked, for cells (the groups) and operands (columns)."""

    # what each of them says

    @property
    def _groups(self) -> Cells:
        """The cells that are answered for."""
        return Cells()

    def _operands(self) -> dict[Any, Expression]:
        """The columns that are answered for, by name."""
        raise NotImplementedError

    def _shape(self, integer: bool) -> Layout:
        """How an entry for each cell and operand is laid out."""
        raise NotImplementedError

    def _titled(self, what: str, bounds: Sequence[Bounds] = ()) -> str:
        """What is asked, in words for the ledger."""
        raise NotImplementedError

    def _numbers(self, bounds: object) -> tuple[tuple[Expression, ...], tuple[Bounds, ...]]:
        """The operands, and the bounds that a call or the domain gives for each: of numbers."""
        operands, _ = self._asked_of(bounds)
        parsed = (bounds_of(self._table, n, e, bounds) for n, e in operands.items())
        return tuple(operands.values()), tuple(parsed)

    def _measured(
        self, bounds: object
    ) -> tuple[tuple[Expression, ...], tuple[Bounds, ...], Layout]:
        """The same of numbers, times and durations, as numbers; and the layout that tells which."""
        operands, shape = self._asked_of(bounds)
        ranges = [range_of(self._table, n, e, bounds) for n, e in operands.items()]
        expressions, parsed = measured(tuple(operands.values()), ranges)
        return expressions, parsed, ruled(shape, parsed)

    def _asked_of(self, bounds: object) -> tuple[Mapping[Any, Expression], Layout]:
        """The operands, and how they are laid out. Refuses bounds of others."""
        operands: Mapping[Any, Expression] = self._operands()
        if isinstance(bounds, Mapping) and not Bounds.is_named(bounds):
            known = {*operands, *self._columns, *self._table.engine.columns}
            silent = [name for name in operands if name not in bounds]
            strange = [name for name in bounds if name not in known]
            if silent and strange:
                raise MissingArgument(
                    f"bounds= has no entry for {silent[0]!r}, but one for {strange[0]!r}, which is "
                    "no column."
                )
        return operands, self._shape(integer=False)

    def _beside(self, weights: object) -> Self:
        """The same without the column of weights, where that was named."""
        return self

    @property
    def _each(self) -> Self:
        """The same, answering for each column."""
        return self

    def _by_column(self, value: Any) -> dict[Any, Any]:
        """An answer taken apart: what it says of each column."""
        raise NotImplementedError

    def _level(self, value: Any, place: int, levels: int) -> Any:
        """One of the levels that an answer has in the place of one entry."""
        return value.iloc[place]

    def _gathered(self, values: dict[Name, Any], flat: bool) -> Any:
        """What several statistics say of columns, as pandas lays it out; flat: one of each."""
        raise NotImplementedError

    def _column(self, name: Any) -> Queryable:
        """The same of one column."""
        raise QueryError("agg of one column takes a list of names, and no dict.")

    # how they are asked

    def _answer(
        self,
        statistic: Statistic,
        what: str,
        epsilon: object = None,
        kind: type[Unreleased] = Unreleased,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """The released answer if a loss is given, else the unreleased one."""
        ways = Ways.read(epsilon, more)
        request = Request(self._table, self._where, statistic, what, kind._selects)
        return kind._answered(request.record(ways)) if ways.give_loss else kind(request)

    def _are_unknown(self, names: Sequence[Any], keys: object, delta: object) -> bool:
        """Whether keys are asked for that nobody declared, and that a δ pays for."""
        if keys is not None or delta is None:
            return False
        declared = (self._table.declared(query_string.lookup(n, self._columns)) for n in names)
        return not all(isinstance(each, Keys) for each in declared)

    def _found(
        self,
        names: list[Any],
        flags: Mapping[str, bool],
        epsilon: object,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """The counts of keys that nobody declared."""
        self._some_columns()
        if flags["normalize"]:
            raise QueryError(
                "normalize=True needs declared keys: of keys that nobody declared only some are "
                "told. Divide the counts by count(epsilon=…)."
            )
        if not flags["dropna"]:
            raise QueryError(
                "dropna=False needs declared keys: missing values are no label. Count them by "
                "isna()."
            )
        order = None if not flags["sort"] else "ascending" if flags["ascending"] else "descending"
        # an index that is there, and nobody sees: that of an answer is made of the labels told
        layout = Layout(integer=True, index=pd.Index([]), name="count", order=order)
        by = tuple(query_string.lookup(name, self._columns) for name in names)
        delta = parse_delta(more.get("delta"))
        statistic = UndeclaredKeys(Cells(), layout, by, tuple(names), delta)
        what = f"value_counts of {listed(names)} (keys found)"
        return self._answer(statistic, what, epsilon, UnreleasedKeys, **more)

    def _histogram(
        self,
        cells: Cells,
        names: list[Any],
        normalize: bool,
        sort: bool,
        ascending: bool,
        epsilon: object,
        block: int = 0,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        layout = Layout(
            integer=not normalize,
            index=index(cells, names),
            name="proportion" if normalize else "count",
            order=("ascending" if ascending else "descending") if sort else None,
            block=block,
        )
        share_of = (block or len(cells)) if normalize else 0
        statistic = Count(cells, layout, share_of=share_of)
        what = "proportions" if normalize else "value_counts"
        called = [by if n is None else n for n, by in zip(names, cells.by, strict=False)]
        asked = f"{what} of {listed(called)} ({cells.described})"
        return self._answer(statistic, asked, epsilon, **more)
