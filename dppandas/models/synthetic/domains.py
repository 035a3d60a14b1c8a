"""The public domain of synthetic rows: columns, their labels, and marginals of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...errors import MissingArgument, QueryError, quoted
from ...frames.frame import PrivateFrame
from ...rows.expressions import agree
from ...rows.facts.bounds import Bounds
from ...rows.facts.keys import Keys, some_names
from ...rows.facts.spans import Span

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
#: Columns by position, in order.
Marginal = tuple[int, ...]

#: Of one marginal, and of all that may be measured together.
MOST_CELLS, MOST_TOGETHER = 10**5, 10**6
MOST_MARGINALS = 5000
#: Of one marginal.
MOST_COLUMNS = 12


@dataclass(frozen=True)
class Domain:
    """Columns by name, and the labels that each may have."""

    names: tuple[Any, ...]
    keys: tuple[Keys, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.keys))

    def cells(self, columns: Marginal | None = None) -> int:
        """How many cells the product of some columns has, or of all."""
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
        """For each cell of the whole domain its cell in a marginal."""
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
            labels: pd.Index[Any] = pd.Index(list(keys.labels), tupleize_cols=False)
            columns[i] = pd.Series(labels.take(each)).reset_index(drop=True)
        table = pd.DataFrame(columns)
        table.columns = pd.Index(list(self.names), tupleize_cols=False)
        return table


def domain_of(frame: PrivateFrame, keys: object) -> Domain:
    """The labels of all columns of a frame: those given, else those declared."""
    frame._some_columns()
    if keys is not None and not isinstance(keys, Mapping):
        raise QueryError("keys= is a dict with a list of labels for each column here.")
    given: Mapping[Any, Any] = {} if keys is None else keys
    extra = [name for name in given if name not in frame._columns]
    if extra:
        raise QueryError(f"keys= names {some_names(extra)}, which are no columns here.")
    return Domain(
        tuple(frame._columns),
        tuple(_keys(frame, name, given.get(name)) for name in frame._columns),
    )


def _keys(frame: PrivateFrame, name: Any, given: Any) -> Keys:
    expression = frame._columns[name]
    declared = frame._table.declared(expression)
    if given is not None:
        parsed = Keys.parse(given, [name])
        agree(expression, frame._table.source.facts, parsed.labels)
        return parsed
    if isinstance(declared, Keys):
        return declared
    if isinstance(declared, Bounds | Span):
        raise MissingArgument(
            f"column {quoted(name)} is declared by its bounds, {declared}, and synthetic rows need "
            f"labels. Cut it first: frame.assign(**{{{str(name)!r}: frame[{str(name)!r}]"
            f".cut([…])}}), or give keys=, or select other columns."
        )
    if expression.is_truth:
        return Keys((False, True))
    raise MissingArgument(
        f"column {quoted(name)} has no declared labels: give keys={{{str(name)!r}: […]}}, declare "
        "them in dp.protect or by .declare(…), or select other columns."
    )


def marginals_of(domain: Domain, given: object) -> tuple[Marginal, ...]:
    """The marginals that synthetic rows are to keep: all pairs, without an argument."""
    number = len(domain.names)
    if given is None:
        given = min(2, number)
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not 1 <= given <= number:
            raise QueryError(
                f"marginals={quoted(given)} must lie between 1 and {number}, the number of columns."
            )
        if math.comb(number, int(given)) > MOST_MARGINALS:
            raise _too_many(math.comb(number, int(given)))
        found = list(itertools.combinations(range(number), int(given)))
    elif isinstance(given, list | tuple) and given:
        if len(given) > MOST_MARGINALS:
            raise _too_many(len(given))
        found = [_marginal(domain, each) for each in given]
    else:
        raise QueryError(
            f"marginals={quoted(given)} must be a list such as ['age', ('age', 'educ')], or how "
            "many columns each has: 2 for all pairs."
        )
    found = list(dict.fromkeys(found))
    for marginal in found:
        if domain.cells(marginal) > MOST_CELLS:
            raise QueryError(
                f"the marginal of {domain.named(marginal)} has {domain.cells(marginal):,} cells, "
                f"more than {MOST_CELLS:,}: leave it out, or declare coarser labels."
            )
    if sum(map(domain.cells, found)) > MOST_TOGETHER:
        raise QueryError(
            f"these {len(found)} marginals have {sum(map(domain.cells, found)):,} cells together, "
            f"more than {MOST_TOGETHER:,}: give fewer as marginals=[…]."
        )
    most = max(map(len, found))
    if most > MOST_COLUMNS or len(closure(domain, found)) > MOST_MARGINALS:
        raise QueryError(
            "these marginals and those of fewer of their columns are too many: give fewer, or of "
            "fewer columns."
        )
    return tuple(found)


def closure(domain: Domain, marginals: Sequence[Marginal]) -> dict[Marginal, int]:
    """What may be measured: the marginals and all of fewer of their columns; and how much each
    matters, the columns that it shares with the marginals asked for."""
    found = {
        some: 0
        for marginal in marginals
        for size in range(1, len(marginal) + 1)
        for some in itertools.combinations(marginal, size)
    }
    for some in found:
        found[some] = sum(len(set(some) & set(marginal)) for marginal in marginals)
    return found


def _too_many(number: int) -> QueryError:
    return QueryError(
        f"these are {number:,} marginals, more than {MOST_MARGINALS:,}: list those that you need "
        "as marginals=[…]."
    )


def _marginal(domain: Domain, given: Any) -> Marginal:
    """The columns of one marginal, by position."""
    is_name = isinstance(given, Hashable) and given in domain.names
    names = [given] if is_name else list(given) if isinstance(given, list | tuple) else [given]
    places = {name: i for i, name in enumerate(domain.names)}
    unknown = [n for n in names if not isinstance(n, Hashable) or n not in places]
    if unknown or not names:
        raise QueryError(
            f"marginals= names {quoted(unknown[0]) if unknown else 'nothing'}, which is no column "
            f"here. The columns: {some_names(domain.names)}."
        )
    if len(set(names)) < len(names):
        raise QueryError("a marginal of marginals= names a column twice.")
    return tuple(sorted(places[name] for name in names))
