"""The public domain of synthetic rows: columns, their labels, and their marginals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...columns.private_rows import keys_by_column, keys_known
from ...dataclasses import dataclass
from ...errors import MissingArgument, QueryError, quoted
from ...frames.frame import PrivateFrame
from ...rows.expressions import Column, Expression, agree
from ...rows.facts.bounds import Bounds
from ...rows.facts.keys import Keys, object_index, some_names
from ...rows.facts.spans import Span
from ...rows.facts.units import whole_number
from ...rows.figures import format_fact

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
#: Columns by position, in order.
Marginal = tuple[int, ...]
Marginals = Sequence[Marginal]

#: The most cells of one marginal, and of all marginals together.
MOST_CELLS, MOST_TOGETHER = 10**5, 10**6
MOST_MARGINALS = 5000
#: The most columns of one marginal.
MOST_COLUMNS = 12


@dataclass(frozen=True)
class Domain:
    """Columns by name, and the possible labels of each."""

    names: tuple[Any, ...]
    keys: tuple[Keys, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.keys))

    def cells(self, columns: Marginal | None = None) -> int:
        """The number of cells of some columns, or of all."""
        return math.prod(self.shape if columns is None else (self.shape[i] for i in columns))

    def named(self, marginal: Marginal) -> str:
        """A marginal for people."""
        return " × ".join(str(self.names[i]) for i in marginal)

    def index(self, marginal: Marginal) -> pd.Index[Any]:
        """The labels of a marginal's cells, the last column varying fastest."""
        names = [self.names[i] for i in marginal]
        if len(marginal) == 1:
            return self.keys[marginal[0]].index(names)
        labels = itertools.product(*(self.keys[i].labels for i in marginal))
        return pd.MultiIndex.from_tuples(list(labels), names=names)

    def positions(self, marginal: Marginal) -> Codes:
        """For each cell of the whole domain, its cell in a marginal."""
        if not marginal:
            return np.zeros(self.cells(), dtype=np.int64)
        axes = np.ogrid[tuple(slice(n) for n in self.shape)]
        flat: Any = 0
        for i in marginal:
            flat = flat * self.shape[i] + axes[i]
        return np.broadcast_to(flat, self.shape).reshape(-1).astype(np.int64)

    def table(self, codes: Sequence[Codes]) -> pd.DataFrame:
        """Rows of labels, from positions column by column. Types follow from the labels alone."""
        columns = {}
        for i, (keys, each) in enumerate(zip(self.keys, codes, strict=True)):
            try:
                labels: pd.Index[Any] = pd.Index(list(keys.labels), tupleize_cols=False)
            except UnicodeEncodeError:  # at half a letter
                labels = object_index([keys.labels], [None])
            columns[i] = pd.Series(labels.take(each)).reset_index(drop=True)
        names: pd.Index[Any] = pd.Index(list(self.names), tupleize_cols=False)
        return pd.DataFrame(columns).set_axis(names, axis=1)


def without_unit(frame: PrivateFrame, keys: object) -> PrivateFrame:
    """The columns but that of the units, unless its labels are public: it needs none."""
    unit, given = frame._table.source.unit.column, keys_by_column(keys, frame._columns)

    def is_kept(name: Any, expression: Expression) -> bool:
        is_unit = unit is not None and isinstance(expression, Column) and expression.name == unit
        is_declared = isinstance(frame._table.declared(expression), Keys)
        return not is_unit or name in given or is_declared

    kept = [name for name, expression in frame._columns.items() if is_kept(name, expression)]
    return frame if len(kept) == len(frame._columns) else cast(PrivateFrame, frame[kept])


def domain_of(frame: PrivateFrame, keys: object) -> Domain:
    """The labels of all columns of a frame: the given ones, else the declared ones."""
    frame._some_columns()
    given, names = keys_by_column(keys, frame._columns), tuple(frame._columns)
    return Domain(names, tuple(_keys(frame, name, given.get(name)) for name in names))


def _keys(frame: PrivateFrame, name: Any, given: Any) -> Keys:
    expression = frame._columns[name]
    declared = frame._table.declared(expression)
    if given is not None:
        parsed = Keys.parse(given, [name])
        agree(expression, frame._table.source.facts, parsed.labels)
        return parsed
    if (known := keys_known(frame._table, expression)) is not None:
        return known
    if isinstance(declared, Bounds | Span):
        raise MissingArgument(
            f"column {quoted(name)} has bounds, {format_fact(declared)}, but synthetic rows need "
            f"labels. Cut it first: frame.assign(**{{{str(name)!r}: "
            f"frame[{str(name)!r}].cut([…])}}); or give keys=, or select other columns."
        )
    raise MissingArgument(
        f"column {quoted(name)} has no declared labels. Give keys={{{str(name)!r}: […]}}, declare "
        "them in dp.protect or by .declare(…), or select other columns."
    )


def marginals_of(domain: Domain, given: object) -> tuple[Marginal, ...]:
    """The marginals that synthetic rows are to keep; all pairs by default."""
    number = len(domain.names)
    given = min(2, number) if given is None else given
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        size = whole_number(given, "marginals", 1, number, ", the number of columns")
        _check_number(math.comb(number, size))
        found = list(itertools.combinations(range(number), size))
    elif isinstance(given, list | tuple) and given:
        _check_number(len(given))
        found = [_marginal(domain, each) for each in given]
    else:
        raise QueryError(
            f"marginals={quoted(given)} must be a list such as ['age', ('age', 'educ')], or a "
            "number of columns, such as 2 for all pairs."
        )
    found = list(dict.fromkeys(found))
    for marginal in found:
        if domain.cells(marginal) > MOST_CELLS:
            raise QueryError(
                f"the marginal of {domain.named(marginal)} has {domain.cells(marginal):,} cells, "
                f"more than {MOST_CELLS:,}. Leave it out, or declare coarser labels."
            )
    if sum(map(domain.cells, found)) > MOST_TOGETHER:
        raise QueryError(
            f"these {len(found)} marginals have {sum(map(domain.cells, found)):,} cells together, "
            f"more than {MOST_TOGETHER:,}. Give fewer as marginals=[…]."
        )
    most = max(map(len, found))
    if most > MOST_COLUMNS or len(closure(domain, found)) > MOST_MARGINALS:
        raise QueryError(
            "these marginals, and those of fewer columns, are too many. Give fewer marginals, or "
            "ones with fewer columns."
        )
    return tuple(found)


def closure(domain: Domain, marginals: Marginals) -> dict[Marginal, int]:
    """The marginals that may be measured, which are the requested ones and those of fewer of their
    columns; and the weight of each, the number of columns it shares with the requested ones."""
    sizes = ((marginal, size) for marginal in marginals for size in range(1, len(marginal) + 1))
    found = dict.fromkeys(some for each in sizes for some in itertools.combinations(*each))
    return {some: sum(len({*some} & {*marginal}) for marginal in marginals) for some in found}


def _check_number(number: int) -> None:
    if number > MOST_MARGINALS:
        raise QueryError(
            f"{number:,} marginals are more than {MOST_MARGINALS:,}. List some: marginals=[…]."
        )


def _marginal(domain: Domain, given: Any) -> Marginal:
    """The columns of one marginal, by position."""
    is_name = isinstance(given, Hashable) and given in domain.names
    names = [given] if is_name else list(given) if isinstance(given, list | tuple) else [given]
    places = {name: i for i, name in enumerate(domain.names)}
    unknown = [n for n in names if not isinstance(n, Hashable) or n not in places]
    if unknown or not names:
        raise QueryError(
            f"marginals= names {quoted(unknown[0]) if unknown else 'nothing'}, which isn't a "
            f"column. The columns: {some_names(domain.names)}."
        )
    if len(set(names)) < len(names):
        raise QueryError("a marginal of marginals= names a column twice. Name it once.")
    return tuple(sorted(places[name] for name in names))
