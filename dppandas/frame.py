"""The pandas-shaped face: `PrivateFrame`, `PrivateSeries`, `PrivateGroupBy`, `Unreleased`.

Argument shaping only. Each method turns what pandas users write into a statistic over row-wise
expressions; what is computed, charged and noised is decided on the road behind `release`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from . import querystring, results, rows
from .budget import parse_epsilon
from .domain import Bounds, Declaration, Grid, Keys, sum_step
from .engines import Engine
from .errors import LineageError, MissingArgument, PrivateValueError, QueryError
from .query import Query, Source
from .release import release
from .rows import Column, Expression, Literal
from .statistics import Cells, Count, Layout, Mean, Statistic, Sum
from .vectors import NUMBERS


@dataclass(frozen=True, eq=False)
class Root:
    """The table that private objects start from: its public facts, and the engine that reads it."""

    source: Source
    engine: Engine
    data: object = field(repr=False)
    row_level_declared: bool = False
    refusal: str = ""  # why nothing may be released from here

    def declared(self, expression: Expression) -> Declaration | None:
        """What the domain says of an expression."""
        if isinstance(expression, Column):
            return self.source.domain.get(expression.name)
        return None


class _Private:
    """Refuses what would turn private values into plain ones."""

    def _refuse(self, what: str) -> NoReturn:
        raise PrivateValueError(
            f"{what} of private data would show it. Ask for a released answer instead, such as "
            ".count(epsilon=0.1) or .value_counts(keys=[…], epsilon=0.1)."
        )

    def __len__(self) -> int:
        self._refuse("the length")

    def __bool__(self) -> bool:
        self._refuse("the truth value")

    def __iter__(self) -> Iterator[Any]:
        self._refuse("iteration over the values")

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        self._refuse("an array")

    def __reduce__(self) -> NoReturn:
        self._refuse("pickling or copying")

    def __format__(self, spec: str) -> str:
        if spec:
            self._refuse("formatting")
        return repr(self)


# --- not released yet ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Unreleased(_Private):
    """A query without a privacy loss. Nothing is computed or charged until one is given."""

    _root: Root
    _where: Expression | None
    _statistic: Statistic
    _what: str

    def _ask(self, epsilon: object, select: int = 0) -> results.Record:
        root = self._root
        loss = parse_epsilon(epsilon)
        query = Query(root.source, self._where, self._statistic, loss, self._what, select)
        if root.refusal:
            raise LineageError(root.refusal)
        return release(query, root.engine, root.row_level_declared)

    def release(self, *, epsilon: object) -> Any:
        """The noisy answer, shaped as pandas would shape the exact one.

        *Guarantee*: epsilon-differential privacy of the source's unit, by exact discrete Laplace
        noise (docs/proofs/discrete_laplace.md).
        """
        return results.answer(self._ask(epsilon))

    def _select(self, epsilon: object, k: int, what: str) -> tuple[results.Record, list[Any]]:
        if self._statistic.layout.is_scalar or isinstance(self._statistic, Mean):
            raise QueryError(f"{what} needs counts or sums under several labels; {self!r}")
        titled = self._what if what == "mode" else f"{what} of {self._what}"
        record = replace(self, _what=titled)._ask(epsilon, k)
        return record, record.estimate()

    def idxmax(self, *, epsilon: object) -> Any:
        """The label of the largest entry, selected by permute-and-flip: no number is told.

        Surer than the largest of released numbers, and for overlapping columns its noise doesn't
        grow with their number. The result is a label with ``.error()``: how far its entry may lie
        below the largest.

        *Guarantee*: epsilon-differential privacy of the source's unit (McKenna and Sheldon,
        NeurIPS 2020; docs/proofs/permute_and_flip.md).
        """
        record, labels = self._select(epsilon, 1, "idxmax")
        return results.label(record, labels[0])

    def nlargest(self, n: int = 5, *, epsilon: object) -> Any:
        """The n largest entries.

        Over disjoint keys the whole histogram costs no more than its top: a Series of the n
        largest noisy counts. Over overlapping columns: an Index of n labels, the largest first,
        by n rounds of permute-and-flip with epsilon/n each.

        *Guarantee*: epsilon-differential privacy of the source's unit.
        """
        statistic = self._statistic
        entries = statistic.size
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= entries:
            raise QueryError(f"n={n!r} must be a whole number from 1 to {entries}.")
        if statistic.cells.keys is None:
            _, labels = self._select(epsilon, int(n), f"nlargest({n})")
            return pd.Index(labels)
        if not isinstance(statistic.layout, Layout) or statistic.layout.columns is not None:
            raise QueryError("nlargest needs a Series of entries; select one column first.")
        return self.release(epsilon=epsilon).nlargest(int(n))

    def __repr__(self) -> str:
        asked = self._what if self._where is None else f"{self._what} where {self._where}"
        menu = [".release(epsilon=…)"]
        if not self._statistic.layout.is_scalar and not isinstance(self._statistic, Mean):
            menu += [".idxmax(epsilon=…)", ".nlargest(n, epsilon=…)"]
        return (
            f"<unreleased {asked}, from {self._root.source.name} ({self._root.source.lineage}): "
            f"nothing computed or charged; ask {', '.join(menu)}>"
        )


# --- frames -------------------------------------------------------------------------------------


class PrivateFrame(_Private):
    """Rows about people that answer only through releases. It shows its schema, never its rows."""

    def __init__(
        self, root: Root, columns: Mapping[Any, Expression], where: Expression | None = None
    ) -> None:
        self._root = root
        self._columns = dict(columns)
        self._where = where

    # what is public

    @property
    def columns(self) -> pd.Index:
        """The names of the columns, which are public."""
        return pd.Index(list(self._columns))

    def describe(self) -> pd.DataFrame:
        """The public schema: each column with the bounds or keys that were declared for it."""
        declared = [self._root.declared(expression) for expression in self._columns.values()]
        return pd.DataFrame(
            {
                "bounds": [str(d) if isinstance(d, Bounds) else "" for d in declared],
                "keys": [_shown(d.labels) if isinstance(d, Keys) else "" for d in declared],
            },
            index=self.columns.rename("column"),
        )

    def __repr__(self) -> str:
        source = self._root.source
        rows_kept = "" if self._where is None else f"\nrows where {self._where}"
        return (
            f"<private frame of {source.name} ({source.lineage}), protecting {source.unit}>"
            f"{rows_kept}\n{self.describe().to_string()}"
        )

    def _repr_html_(self) -> str:
        source = self._root.source
        rows_kept = "" if self._where is None else f" · rows where {self._where}"
        head = f"private frame of {source.name} ({source.lineage}), protecting {source.unit}"
        return f"<div><p>{_escaped(head + rows_kept)}</p>{self.describe().to_html()}</div>"

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(c for c in self._columns if isinstance(c, str))]

    def __getattr__(self, name: str) -> PrivateSeries:
        if not name.startswith("_") and name in self._columns:
            return self[name]
        raise AttributeError(
            f"private frames have no {name!r}. They answer count, size, sum, mean, value_counts, "
            "idxmax and groupby, and keep rows by query(…) and [mask]; plain pandas on the "
            "original frame, before .dp, can do anything, recorded as asserted."
        )

    # which rows and columns

    def query(self, expr: str) -> PrivateFrame:
        """Keep the rows for which a query string is true, in the grammar of DataFrame.query.

        Comparisons, and/or/not, arithmetic, ``in`` with a written list, ``.isna()``,
        ``.notna()``, ``.isin([…])`` and ``.between(a, b)`` over columns, plain values and @scalars
        of the caller; the rest is refused. *Stability*: 1, for each row is kept or dropped by its
        own values.

        >>> import pandas as pd, dppandas as dp
        >>> adults = pd.DataFrame({"age": [15, 30, 60]}).dp.query("age >= 18")
        >>> type(adults.count(epsilon=1).interval())
        <class 'tuple'>
        """
        frame = sys._getframe(1)

        def variables(name: str) -> Any:
            return frame.f_locals[name] if name in frame.f_locals else frame.f_globals[name]

        return self._filtered(querystring.parse(expr, self._columns, variables))

    def _filtered(self, condition: Expression) -> PrivateFrame:
        return PrivateFrame(self._root, self._columns, rows.both(self._where, condition))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, PrivateSeries):
            return self._filtered(self._mask(key))
        if isinstance(key, list | pd.Index):
            names = list(key)
            if len(set(names)) != len(names):
                raise QueryError(f"columns named twice: {names}.")
            chosen = {name: querystring.lookup(name, self._columns) for name in names}
            return PrivateFrame(self._root, chosen, self._where)
        if not isinstance(key, Hashable) or isinstance(key, slice):
            raise QueryError(
                "index a private frame by a column name, a list of names, or a private mask such "
                "as frame[frame['age'] > 30]; rows can't be chosen by position or by plain values."
            )
        expression = querystring.lookup(key, self._columns)
        return PrivateSeries(self._root, key, expression, self._where)

    def _mask(self, mask: PrivateSeries) -> Expression:
        if mask._root.data is not self._root.data:
            raise LineageError("this mask was made from another frame; make it from this one.")
        if mask._where is not None and mask._where != self._where:
            raise QueryError("this mask was made from other rows; make it from this frame.")
        if not (mask._expression.is_truth or isinstance(mask._expression, Column)):
            raise QueryError(f"{mask._expression} is not true or false: compare it.")
        return mask._expression

    # statistics

    def count(self, *, epsilon: object = None) -> Any:
        """The number of rows: an int. With columns selected (``[["a", "b"]]``), how many values
        of each are not missing: a Series.

        pandas' DataFrame.count is per column always; here a frame without selected columns counts
        rows, as `size` does.

        *Guarantee*: epsilon-differential privacy of the unit; ℓ1 sensitivity 1 a row and column
        (docs/proofs/counts.md).

        >>> import pandas as pd
        >>> n = pd.DataFrame({"age": [15, 30, 60]}).dp.count(epsilon=1)
        >>> isinstance(n, int), n.error()
        (True, 3)
        """
        if len(self._columns) == len(self._root.engine.columns):
            return self.size(epsilon=epsilon)
        return self._counts("count", _present, epsilon)

    def size(self, *, epsilon: object = None) -> Any:
        """The number of rows: an int. See `count`."""
        statistic = Count(Cells(), Layout(integer=True))
        return self._answer(statistic, "count", epsilon)

    def sum(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """For each column the sum of its values clipped to bounds: a float Series.

        bounds : one (lower, upper) for all columns, or a dict of them. Where none is given, the
            declared domain's; where it has none either, the number of values that are True: an
            int Series, whatever the dtypes, because a dtype is data.

        *Guarantee*: epsilon-differential privacy of the unit; the ℓ1 sensitivity is the sum over
        the columns of the most that one row can add (docs/proofs/sums.md).
        """
        declared = [self._root.declared(e) for e in self._columns.values()]
        if bounds is None and not any(isinstance(d, Bounds) for d in declared):
            return self._counts("sum of True", _true, epsilon)
        statistic = self._sums(self._bounds(bounds), shared=False)
        return self._answer(statistic, f"sum of {self._named()}", epsilon)

    def idxmax(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """The name of the column with the largest sum (without bounds, with most True values).

        Report noisy max over counting queries. The same as ``sum(…).idxmax(epsilon=…)``.

        *Guarantee*: epsilon-differential privacy of the unit, however many columns there are
        (docs/proofs/permute_and_flip.md).

        >>> import pandas as pd
        >>> likes = pd.DataFrame({"cats": [True] * 90, "dogs": [False] * 90})
        >>> print(likes.dp.idxmax(epsilon=1))
        cats
        """
        if bounds is None:
            scores = self._counts("sum of True", _true, None)
        else:  # scores are compared, so they need one grid
            statistic = self._sums(self._bounds(bounds), shared=True)
            scores = self._answer(statistic, f"sum of {self._named()}", None)
        return scores if epsilon is None else scores.idxmax(epsilon=epsilon)

    def mean(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """For each column the mean of its values clipped to bounds: a float Series.

        bounds : one (lower, upper) for all columns, or a dict of them; else the declared domain's.

        *Guarantee*: epsilon-differential privacy of the unit, and of how many rows there are
        (docs/proofs/means.md).
        """
        parsed = self._bounds(bounds)
        layout = Layout(integer=False, index=self.columns)
        statistic = Mean(Cells(), layout, tuple(self._columns.values()), tuple(parsed))
        return self._answer(statistic, f"mean of {self._named()}", epsilon)

    def value_counts(
        self,
        subset: Sequence[Hashable] | None = None,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        *,
        keys: object = None,
        epsilon: object = None,
    ) -> Any:
        """How many rows have each combination of declared keys: a Series named "count".

        keys : a dict with a list for each column (their product), or a list of tuples; else the
            declared domain's. The rest is as in DataFrame.value_counts.

        *Guarantee*: epsilon-differential privacy of the unit; the keys are disjoint, so the ℓ1
        sensitivity is 1 a row (docs/proofs/counts.md).
        """
        chosen = self if subset is None else self[list(subset)]
        cells = chosen._cells(list(chosen._columns), keys)
        if not dropna:
            raise QueryError("dropna=False is for one column; over several give keys= only.")
        return chosen._histogram(cells, list(chosen._columns), normalize, sort, ascending, epsilon)

    def groupby(self, by: Any, keys: object = None) -> PrivateGroupBy:
        """Group rows by declared keys of a column, or of several.

        keys : for one column a list; for several a dict with a list for each (their product) or a
            list of tuples; else the declared domain's. Rows outside the keys are dropped. Groups
            come in declared order, all of them: which groups have rows is private.
        """
        names = list(by) if isinstance(by, list | pd.Index) else [by]
        if not names:
            raise QueryError("groupby needs at least one column.")
        return PrivateGroupBy(self, names, self._cells(names, keys), None)

    # shaping

    def _named(self) -> str:
        return ", ".join(str(Column(name)) for name in self._columns)

    def _answer(self, statistic: Statistic, what: str, epsilon: object) -> Any:
        asked = Unreleased(self._root, self._where, statistic, what)
        return asked if epsilon is None else asked.release(epsilon=epsilon)

    def _counts(
        self, what: str, test: Callable[[Expression], Expression], epsilon: object
    ) -> Any:
        layout = Layout(integer=True, index=self.columns)
        tests = tuple(test(expression) for expression in self._columns.values())
        return self._answer(Count(Cells(), layout, tests), f"{what} of {self._named()}", epsilon)

    def _sums(self, bounds: Sequence[Bounds], shared: bool) -> Sum:
        step = max(sum_step(b) for b in bounds) if shared else None
        grids = tuple(Grid.centred(b, step) for b in bounds)
        layout = Layout(integer=False, index=self.columns)
        return Sum(Cells(), layout, tuple(self._columns.values()), grids)

    def _bounds(self, bounds: object) -> list[Bounds]:
        if not self._columns:
            raise QueryError("no columns are selected.")
        return [_bounds_of(self._root, n, e, bounds) for n, e in self._columns.items()]

    def _cells(self, names: list[Any], keys: object) -> Cells:
        by = [querystring.lookup(name, self._columns) for name in names]
        if keys is None:
            declared = [_declared_keys(self._root, n, e) for n, e in zip(names, by, strict=True)]
            parsed = declared[0]
            for more in declared[1:]:
                parsed = parsed.then(more)
        else:
            parsed = Keys.parse(keys, names)
        return Cells(tuple(by), parsed)

    def _histogram(
        self,
        cells: Cells,
        names: list[Any],
        normalize: bool,
        sort: bool,
        ascending: bool,
        epsilon: object,
        block: int = 0,
    ) -> Any:
        index = _index(cells, names)
        layout = Layout(
            integer=not normalize,
            index=index,
            name="proportion" if normalize else "count",
            order=("ascending" if ascending else "descending") if sort else None,
            block=block,
        )
        share_of = (block or len(cells)) if normalize else 0
        statistic = Count(cells, layout, share_of=share_of)
        what = "proportions" if normalize else "value_counts"
        columns = ", ".join(str(Column(name)) for name in names)
        return self._answer(statistic, f"{what} of {columns} ({len(cells)} keys)", epsilon)


# --- one column ---------------------------------------------------------------------------------


class PrivateSeries(_Private):
    """One column of private rows, or a mask made from them."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, root: Root, name: Any, expression: Expression, where: Expression | None
    ) -> None:
        self._root = root
        self.name = name
        self._expression = expression
        self._where = where

    def __repr__(self) -> str:
        source = self._root.source
        kept = "" if self._where is None else f" where {self._where}"
        return f"<private column {self._expression} of {source.name} ({source.lineage}){kept}>"

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"private columns have no {name!r}. They answer count, sum, mean, value_counts and "
            "mode; they can be compared, combined and used as a mask."
        )

    def __getitem__(self, key: Any) -> PrivateSeries:
        if not isinstance(key, PrivateSeries):
            raise QueryError("index a private column by a private mask: rows have no position.")
        kept = self._frame()[key]
        return PrivateSeries(self._root, self.name, self._expression, kept._where)

    def _frame(self) -> PrivateFrame:
        return PrivateFrame(self._root, {self.name: self._expression}, self._where)

    # row-wise expressions

    def _other(self, other: Any) -> Expression:
        if isinstance(other, PrivateSeries):
            if other._root.data is not self._root.data or other._where != self._where:
                raise LineageError("these private columns come from different frames or rows.")
            return other._expression
        if isinstance(other, pd.Series | pd.Index | np.ndarray | list | tuple):
            raise LineageError(
                f"a plain {type(other).__name__} has no rows in common with private data; use "
                ".isin([…]) for a set of values."
            )
        return querystring.literal(other)

    def _new(self, expression: Expression) -> PrivateSeries:
        return PrivateSeries(self._root, self.name, expression, self._where)

    def _compared(self, operation: str, other: Any) -> PrivateSeries:
        return self._new(rows.Compare(operation, self._expression, self._other(other)))

    def __eq__(self, other: Any) -> PrivateSeries:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: Any) -> PrivateSeries:  # type: ignore[override]
        return self._compared("!=", other)

    def __lt__(self, other: Any) -> PrivateSeries:
        return self._compared("<", other)

    def __le__(self, other: Any) -> PrivateSeries:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> PrivateSeries:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> PrivateSeries:
        return self._compared(">=", other)

    def _truth(self) -> Expression:
        return _truth(self._expression)

    def __and__(self, other: Any) -> PrivateSeries:
        return self._new(rows.And(self._truth(), _truth(self._other(other))))

    def __or__(self, other: Any) -> PrivateSeries:
        return self._new(rows.Or(self._truth(), _truth(self._other(other))))

    def __invert__(self) -> PrivateSeries:
        return self._new(rows.Not(self._truth()))

    def _computed(self, operation: str, left: Expression, right: Expression) -> PrivateSeries:
        for side in (left, right):
            if isinstance(side, Literal) and not isinstance(side.value, NUMBERS):
                raise QueryError(f"{side} is no number.")
        return self._new(rows.Arithmetic(operation, left, right))

    def __add__(self, other: Any) -> PrivateSeries:
        return self._computed("+", self._expression, self._other(other))

    def __radd__(self, other: Any) -> PrivateSeries:
        return self._computed("+", self._other(other), self._expression)

    def __sub__(self, other: Any) -> PrivateSeries:
        return self._computed("-", self._expression, self._other(other))

    def __rsub__(self, other: Any) -> PrivateSeries:
        return self._computed("-", self._other(other), self._expression)

    def __mul__(self, other: Any) -> PrivateSeries:
        return self._computed("*", self._expression, self._other(other))

    def __rmul__(self, other: Any) -> PrivateSeries:
        return self._computed("*", self._other(other), self._expression)

    def __truediv__(self, other: Any) -> PrivateSeries:
        return self._computed("/", self._expression, self._other(other))

    def __rtruediv__(self, other: Any) -> PrivateSeries:
        return self._computed("/", self._other(other), self._expression)

    def __floordiv__(self, other: Any) -> PrivateSeries:
        return self._computed("//", self._expression, self._other(other))

    def __mod__(self, other: Any) -> PrivateSeries:
        return self._computed("%", self._expression, self._other(other))

    def __pow__(self, other: Any) -> PrivateSeries:
        return self._computed("**", self._expression, self._other(other))

    def __neg__(self) -> PrivateSeries:
        return self._new(rows.Negative(self._expression))

    def isna(self) -> PrivateSeries:
        """A mask: which values are missing."""
        return self._new(rows.IsMissing(self._expression))

    def notna(self) -> PrivateSeries:
        """A mask: which values are not missing."""
        return self._new(rows.Not(rows.IsMissing(self._expression)))

    isnull, notnull = isna, notna

    def isin(self, values: Sequence[Any]) -> PrivateSeries:
        """A mask: which values equal one of some plain ones."""
        if isinstance(values, str | _Private) or not isinstance(
            values, list | tuple | set | frozenset | range | pd.Index | np.ndarray
        ):
            raise QueryError("isin takes a list of plain values.")
        labels = tuple(querystring.literal(value).value for value in values)
        return self._new(rows.IsIn(self._expression, labels))

    def between(self, left: Any, right: Any, inclusive: str = "both") -> PrivateSeries:
        """A mask: which values lie between two; inclusive as in Series.between."""
        if inclusive not in ("both", "neither", "left", "right"):
            raise QueryError("inclusive= is 'both', 'neither', 'left' or 'right'.")
        low, high = self._other(left), self._other(right)
        return self._new(rows.between(self._expression, low, high, inclusive))

    # statistics

    def count(self, *, epsilon: object = None) -> Any:
        """How many values are not missing: an int.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/counts.md).
        """
        statistic = Count(Cells(), Layout(integer=True), (_present(self._expression),))
        return self._frame()._answer(statistic, f"count of {self._expression}", epsilon)

    def size(self, *, epsilon: object = None) -> Any:
        """The number of rows, missing values and all: an int."""
        return self._frame().size(epsilon=epsilon)

    def sum(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """The sum of the values, clipped to bounds: a float. Missing values count as nothing.

        bounds : (lower, upper), public facts; else the declared domain's.

        *Guarantee*: epsilon-differential privacy of the unit; sensitivity max(|lower|, |upper|) a
        row, on the grid (docs/proofs/sums.md).
        """
        bound = _bounds_of(self._root, self.name, self._expression, bounds)
        layout = Layout(integer=False)
        statistic = Sum(Cells(), layout, (self._expression,), (Grid.centred(bound),))
        return self._frame()._answer(statistic, f"sum of {self._expression} in {bound}", epsilon)

    def mean(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """The mean of the values, clipped to bounds: a float. Missing values are left out.

        bounds : (lower, upper), public facts; else the declared domain's.

        *Guarantee*: epsilon-differential privacy of the unit, and of how many values there are
        (Kulesza, Suresh and Wang, ICML 2024; docs/proofs/means.md).

        >>> import pandas as pd
        >>> m = pd.Series([20, 30, 40] * 100).dp.mean(bounds=(0, 60), epsilon=1)
        >>> 0 <= m <= 60
        True
        """
        bound = _bounds_of(self._root, self.name, self._expression, bounds)
        statistic = Mean(Cells(), Layout(integer=False), (self._expression,), (bound,))
        return self._frame()._answer(statistic, f"mean of {self._expression} in {bound}", epsilon)

    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        *,
        keys: object = None,
        epsilon: object = None,
    ) -> Any:
        """How many rows have each declared key: a Series named "count" ("proportion").

        keys : a list of labels; else the declared domain's. Rows with other values are dropped.
        dropna : False adds a last cell for missing values.

        *Guarantee*: epsilon-differential privacy of the unit; the keys are disjoint, so the ℓ1
        sensitivity is 1 a row (docs/proofs/counts.md).

        >>> import pandas as pd
        >>> s = pd.Series(["a", "b", "a"], name="x")
        >>> s.dp.value_counts(keys=["a", "b"], sort=False, epsilon=1).index.tolist()
        ['a', 'b']
        """
        frame = self._frame()
        cells = frame._cells([self.name], keys)
        if not dropna:
            cells = replace(cells, missing_cell=True)
        return frame._histogram(cells, [self.name], normalize, sort, ascending, epsilon)

    def mode(self, *, keys: object = None, epsilon: object = None) -> Any:
        """The most frequent of the declared keys, as a Series of one, like Series.mode.

        *Guarantee*: epsilon-differential privacy of the unit, by permute-and-flip
        (docs/proofs/permute_and_flip.md).
        """
        counts = self.value_counts(keys=keys)
        if epsilon is None:
            return counts
        titled = replace(counts, _what=f"mode of {counts._what.removeprefix('value_counts of ')}")
        _, labels = titled._select(epsilon, 1, "mode")
        return pd.Series(labels, name=self.name)


# --- groups -------------------------------------------------------------------------------------


class PrivateGroupBy:
    """Private rows grouped by declared keys; answers have one entry for each key, in that order."""

    def __init__(
        self, frame: PrivateFrame, names: list[Any], cells: Cells, selected: Any
    ) -> None:
        self._frame = frame
        self._names = names
        self._cells = cells
        self._selected = selected  # None: all other columns; a list; or one name

    def __repr__(self) -> str:
        return f"<private groups of {self._by()}, {len(self._cells)} keys>"

    def __getitem__(self, key: Any) -> PrivateGroupBy:
        selected = list(key) if isinstance(key, list | pd.Index) else key
        for name in selected if isinstance(selected, list) else [selected]:
            querystring.lookup(name, self._frame._columns)
        return PrivateGroupBy(self._frame, self._names, self._cells, selected)

    def __getattr__(self, name: str) -> PrivateGroupBy:
        if not name.startswith("_") and name in self._frame._columns:
            return self[name]
        raise AttributeError(
            f"private groups have no {name!r}: they answer size, count, sum, mean, value_counts."
        )

    def _by(self) -> str:
        return ", ".join(str(Column(name)) for name in self._names)

    def _operands(self) -> dict[Any, Expression]:
        if self._selected is None:
            names = [name for name in self._frame._columns if name not in self._names]
        else:
            names = self._selected if isinstance(self._selected, list) else [self._selected]
        if not names:
            raise QueryError("no columns are left to answer for; use .size().")
        return {name: self._frame._columns[name] for name in names}

    def _layout(self, integer: bool, operands: Mapping[Any, Expression]) -> Layout:
        index = _index(self._cells, self._names)
        if self._selected is None or isinstance(self._selected, list):
            return Layout(integer=integer, index=index, columns=pd.Index(list(operands)))
        return Layout(integer=integer, index=index, name=self._selected)

    def _answer(self, statistic: Statistic, what: str, epsilon: object) -> Any:
        titled = f"{what} by {self._by()} ({len(self._cells)} keys)"
        return self._frame._answer(statistic, titled, epsilon)

    def size(self, *, epsilon: object = None) -> Any:
        """The number of rows of each group: an int Series.

        *Guarantee*: epsilon-differential privacy of the unit; groups are disjoint
        (docs/proofs/counts.md).
        """
        layout = Layout(integer=True, index=_index(self._cells, self._names))
        return self._answer(Count(self._cells, layout), "size", epsilon)

    def count(self, *, epsilon: object = None) -> Any:
        """How many values of each group are not missing: an int Series, or a DataFrame for
        several columns, whose number is then the ℓ1 sensitivity of a row.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/counts.md).
        """
        operands = self._operands()
        tests = tuple(_present(expression) for expression in operands.values())
        statistic = Count(self._cells, self._layout(True, operands), tests)
        return self._answer(statistic, f"count of {_listed(operands)}", epsilon)

    def sum(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """The sum of each group's values, clipped to bounds: a float Series or DataFrame.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/sums.md).
        """
        operands = self._operands()
        parsed = self._bounds(operands, bounds)
        grids = tuple(Grid.centred(b) for b in parsed)
        layout = self._layout(False, operands)
        statistic = Sum(self._cells, layout, tuple(operands.values()), grids)
        return self._answer(statistic, f"sum of {_listed(operands)}", epsilon)

    def mean(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """The mean of each group's values, clipped to bounds: a float Series or DataFrame.

        *Guarantee*: epsilon-differential privacy of the unit, and of how many rows each group has
        (docs/proofs/means.md).
        """
        operands = self._operands()
        parsed = tuple(self._bounds(operands, bounds))
        layout = self._layout(False, operands)
        statistic = Mean(self._cells, layout, tuple(operands.values()), parsed)
        return self._answer(statistic, f"mean of {_listed(operands)}", epsilon)

    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        *,
        keys: object = None,
        epsilon: object = None,
    ) -> Any:
        """How many rows of each group have each declared key of one column: a Series.

        keys : the labels of the selected column; else the declared domain's.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/counts.md).
        """
        if self._selected is None or isinstance(self._selected, list):
            raise QueryError('select one column: groupby(…)["column"].value_counts(…).')
        inner = self._frame._cells([self._selected], keys)
        outer_keys, inner_keys = self._cells.keys, inner.keys
        if outer_keys is None or inner_keys is None:
            raise QueryError("value_counts by group needs keys.")
        cells = Cells(self._cells.by + inner.by, outer_keys.then(inner_keys))
        names = [*self._names, self._selected]
        block = len(inner_keys)
        return self._frame._histogram(cells, names, normalize, sort, ascending, epsilon, block)

    def _bounds(self, operands: Mapping[Any, Expression], bounds: object) -> list[Bounds]:
        return [_bounds_of(self._frame._root, n, e, bounds) for n, e in operands.items()]


# --- public facts -------------------------------------------------------------------------------


def _present(expression: Expression) -> Expression:
    return rows.Not(rows.IsMissing(expression))


def _true(expression: Expression) -> Expression:
    return rows.Compare("==", expression, Literal(True))


def _truth(expression: Expression) -> Expression:
    is_boolean = isinstance(expression, Literal) and isinstance(expression.value, bool)
    if expression.is_truth or isinstance(expression, Column) or is_boolean:
        return expression
    raise QueryError(f"{expression} is not true or false: compare it.")


def _declared_keys(root: Root, name: Any, expression: Expression) -> Keys:
    declared = root.declared(expression)
    if isinstance(declared, Keys):
        return declared
    if expression.is_truth:
        return Keys((False, True))
    raise MissingArgument(
        f"keys= is needed for {name!r}: a list of the labels to answer for, such as "
        "keys=[9, 12, 14], or a domain declared in dp.protect. dppandas never reads labels from "
        "the data, for a rare one would tell who is in it. Nothing was computed or charged."
    )


def _bounds_of(root: Root, name: Any, expression: Expression, bounds: object) -> Bounds:
    declared = root.declared(expression)
    if isinstance(declared, Keys) and any(isinstance(k, str) for k in declared.labels):
        raise QueryError(f"{name!r} is declared as text, which has no sum or mean.")
    if isinstance(bounds, Mapping):
        if name not in bounds:
            raise MissingArgument(f"bounds= has no entry for {name!r}. Nothing was charged.")
        bounds = bounds[name]
    if bounds is not None:
        return Bounds.parse(bounds, str(name))
    if isinstance(declared, Bounds):
        return declared
    if isinstance(declared, Keys) and all(isinstance(k, NUMBERS) for k in declared.labels):
        return Bounds.parse((min(declared.labels), max(declared.labels)), str(name))
    if expression.is_truth:
        return Bounds(0.0, 1.0)
    raise MissingArgument(
        f"bounds= is needed for {name!r}: the range into which values are clipped, such as "
        "bounds=(0, 60), or a domain declared in dp.protect. dppandas never reads it from the "
        "data, for the largest value is somebody's. Nothing was computed or charged."
    )


def _index(cells: Cells, names: Sequence[Any]) -> pd.Index:
    if cells.keys is None:
        return pd.Index(list(names))
    index = cells.keys.index(names)
    return index.append(pd.Index([np.nan], name=names[0])) if cells.missing_cell else index


def _listed(operands: Mapping[Any, Expression]) -> str:
    return ", ".join(str(Column(name)) for name in operands)


def _shown(labels: Sequence[Any]) -> str:
    head = ", ".join(map(str, labels[:8]))
    return head if len(labels) <= 8 else f"{head}, … ({len(labels)} in all)"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
