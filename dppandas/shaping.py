"""From what pandas users write to statistics over row-wise expressions.

Bounds, keys and cells come from the call or the declared domain; where both are silent, the error
says which argument to add.
"""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ParamSpec, TypeVar, Unpack

import numpy as np
import pandas as pd

from . import querystring, rows, splits
from .accounting import NOTHING
from .budget import More, gives_loss, parse_delta
from .domain import Bounds, Grid, Keys, Ticks
from .errors import LineageError, MissingArgument, QueryError, UnknownColumn, is_one_of, shown
from .measuring import bounds_of
from .private import Private, Root
from .rows import Column, Expression, Literal
from .statistics import Cells, Count, Layout, Statistic, Unknown
from .unreleased import Unreleased, UnreleasedKeys
from .vectors import NUMBERS

P = ParamSpec("P")
R = TypeVar("R")

#: Each quantile is a choice of its own, which takes time whatever the data are.
MOST_QUANTILES = 1000

#: So many columns the title of an answer names.
MOST_LISTED = 8

#: Rows cut at one end: as many as a unit may have.
MOST_TRIMMED = 2**31

#: Options of pandas' methods, with the one value that asks for nothing else than we do.
_HARMLESS = {
    "axis": 0,
    "skipna": True,
    "numeric_only": False,
    "min_count": 0,
    "bins": None,
    "inplace": False,
    "copy": None,
    "na_action": None,
    "values": None,
    "aggfunc": None,
    "rownames": None,
    "colnames": None,
    "fill_value": None,
    "density": None,
    "weights": None,
}

_FLAGS = {"normalize", "sort", "ascending", "dropna", "as_index", "observed"}


def asks(method: Callable[P, R]) -> Callable[P, R]:
    """A method that says what to do about arguments that it does not take, as pandas' does."""
    signature = inspect.signature(method)
    takes_more = "more" in signature.parameters
    known = [name for name in signature.parameters if name != "more"]
    known += list(More.__annotations__) if takes_more else []

    @functools.wraps(method)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        given = {
            k: v for k, v in kwargs.items() if k in signature.parameters or not _is_harmless(k, v)
        }
        unknown: list[str] = []
        try:
            unknown = [name for name in given if takes_more and name not in known]
            if unknown:
                raise TypeError(f"got an unexpected keyword argument {unknown[0]!r}")
            bound = signature.bind(*args, **given).arguments
        except TypeError as error:
            takes = ", ".join(name for name in list(known)[1:])
            named = [n for n in ("epsilon", "keys", "bounds") if n in signature.parameters]
            by_name = f": {' and '.join(named)} by name" if named else ""
            if "func" in known and unknown and isinstance(given[unknown[0]], tuple):
                by_name += (
                    ". Named aggregation is not supported: ask agg({'x': 'mean'}), and rename what "
                    "it returns"
                )
            raise QueryError(
                f"{method.__name__}: {error}. It takes {takes}{by_name}. "
                "Nothing was computed or charged."
            ) from None
        flags = (n for n in _FLAGS & bound.keys() if signature.parameters[n].annotation == "bool")
        for flag in flags:
            if not isinstance(bound[flag], bool | np.bool_):
                raise QueryError(
                    f"{flag}={shown(bound[flag])} must be True or False; labels are given by name, "
                    "as in keys=[…]. Nothing was computed or charged."
                )
        if splits.running() is None:
            return method(*args, **given)  # type: ignore[arg-type]
        with splits.inside() as is_outermost:
            answer: Any = method(*args, **given)  # type: ignore[arg-type]
        if not (is_outermost and isinstance(answer, Private) and answer._is_answer):
            return answer  # type: ignore[no-any-return]
        said = {
            name: given[name]
            for name in More.__annotations__
            if name in given and name not in signature.parameters  # what is asked is said already
        }
        return answer.release(**said)  # type: ignore[attr-defined, no-any-return]

    return checked


def _is_harmless(option: str, value: object) -> bool:
    default = _HARMLESS.get(option, ...)
    return type(value) is type(default) and value == default


class Rows(Private):
    """Some rows and columns of a root: what every private object is made of."""

    def __init__(
        self, root: Root, columns: Mapping[Any, Expression], where: Expression | None = None
    ) -> None:
        self._root = root
        self._columns = dict(columns)
        self._where = where

    def _answer(
        self,
        statistic: Statistic,
        what: str,
        epsilon: object = None,
        kind: type[Unreleased] = Unreleased,
        **more: Unpack[More],
    ) -> Any:
        """The released answer if a loss is given, else the unreleased one."""
        asked = kind(self._root, self._where, statistic, what)
        return asked.release(epsilon=epsilon, **more) if gives_loss(epsilon, more) else asked

    def _some_columns(self) -> None:
        if not self._columns:
            raise QueryError(
                "there are no columns to answer for; select some. Nothing was charged."
            )

    def _found_column(self, name: Any) -> Expression:
        """The column of a name; where that is the index's, what to do about it."""
        try:
            return querystring.lookup(name, self._columns)
        except UnknownColumn as error:
            if name not in self._root.levels:
                raise
            raise UnknownColumn(
                f"{error} {shown(name)} is of the index, which has no part in answers: start from "
                f"df.reset_index(). {NOTHING}"
            ) from None

    def _cells(self, names: Sequence[Any], keys: object) -> Cells:
        self._some_columns()
        by = [self._found_column(name) for name in names]
        if keys is None:
            declared = [declared_keys(self._root, n, e) for n, e in zip(names, by, strict=True)]
            parsed = declared[0]
            for more in declared[1:]:
                parsed = parsed.then(more)
        else:
            parsed = Keys.parse(keys, names)
        for position, expression in enumerate(by):
            rows.agree(expression, self._root.source.facts, parsed.column(position))
        return Cells(tuple(by), parsed)

    def _crossed(
        self, index_names: Sequence[Any], column_names: Sequence[Any], keys: object
    ) -> tuple[Cells, list[Keys]]:
        """A cell for each pair of row keys and column keys, row by row; and both of these."""
        names = [*index_names, *column_names]
        self._some_columns()
        for name in names:
            querystring.lookup(name, self._columns)
        once(names)
        if keys is not None and not isinstance(keys, Mapping):
            raise QueryError(
                "keys= is a dict with a list for each column here. Nothing was computed or charged."
            )
        given = {} if keys is None else keys
        if set(given) - set(names):
            extra = sorted(map(str, set(given) - set(names)))
            raise QueryError(f"keys= names {extra}, not among {listed(names)}.")
        each = [self._cells([name], given.get(name)) for name in names]
        parsed = [cells.keys for cells in each if cells.keys is not None]
        sides = [parsed[: len(index_names)], parsed[len(index_names) :]]
        joined = [functools.reduce(Keys.then, side) for side in sides if side]
        by = tuple(expression for cells in each for expression in cells.by)
        return Cells(by, functools.reduce(Keys.then, joined)), joined

    def _are_unknown(self, names: Sequence[Any], keys: object, delta: object) -> bool:
        """Whether keys are asked for that nobody declared, and that a δ pays for."""
        if keys is not None or delta is None:
            return False
        declared = (self._root.declared(querystring.lookup(n, self._columns)) for n in names)
        return not all(isinstance(each, Keys) for each in declared)

    def _found(
        self,
        names: list[Any],
        flags: Mapping[str, bool],
        epsilon: object,
        **more: Unpack[More],
    ) -> Any:
        """The counts of keys that nobody declared."""
        self._some_columns()
        if flags["normalize"]:
            raise QueryError(
                "normalize=True needs declared keys: of keys that nobody declared only some are "
                f"told. Divide the counts by count(epsilon=…). {NOTHING}"
            )
        if not flags["dropna"]:
            raise QueryError(
                "dropna=False needs declared keys: missing values are no label. Count them by "
                f"isna(). {NOTHING}"
            )
        order = None if not flags["sort"] else "ascending" if flags["ascending"] else "descending"
        # an index that is there, and nobody sees: that of an answer is made of the labels told
        layout = Layout(integer=True, index=pd.Index([]), name="count", order=order)
        by = tuple(querystring.lookup(name, self._columns) for name in names)
        delta = parse_delta(more.get("delta"))
        statistic = Unknown(Cells(), layout, by, tuple(names), delta)
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
        **more: Unpack[More],
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


def once(names: Sequence[Any]) -> None:
    """Refuse a list that names a column twice."""
    if len(set(names)) != len(names):
        raise QueryError("the list names a column twice; name each once. Nothing was charged.")


def present(expression: Expression) -> Expression:
    """Whether a value is not missing."""
    return rows.Not(rows.IsMissing(expression))


def true(expression: Expression) -> Expression:
    """Whether a value equals True, whatever its dtype."""
    return rows.Compare("==", expression, Literal(True))


def truth(expression: Expression) -> Expression:
    """An expression that is true or false, or a column that may be."""
    is_boolean = isinstance(expression, Literal) and isinstance(expression.value, bool)
    if expression.is_truth or isinstance(expression, Column) or is_boolean:
        return expression
    raise QueryError(f"{expression} is not true or false: compare it.")


def declared_keys(root: Root, name: Any, expression: Expression) -> Keys:
    """The keys that a domain declares; those of a truth value are no secret."""
    declared = root.declared(expression)
    if isinstance(declared, Keys):
        return declared
    if expression.is_truth:
        return Keys((False, True))
    raise MissingArgument(
        f"keys= is needed for {name!r}: a list of the labels to answer for, such as "
        "keys=[9, 12, 14], or facts declared by domain= of dp.protect or by .declare(…) (which "
        "hold for the frame returned, not for df.dp). dppandas never reads labels from the data, "
        "for a rare one would tell who is in it. Those that many have can be found at the price of "
        "a δ: value_counts(epsilon=…, delta=…) or groupby(…, delta=…), in a session such as "
        "dp.session(epsilon=2, delta=1e-6). Nothing was computed or charged."
    )


@dataclass(frozen=True)
class Weights:
    """How much each row counts: a number that is clipped to bounds, of which none is negative."""

    expression: Expression
    bounds: Bounds

    def of(self, counted: Expression) -> Expression:
        """The weight where something holds, and elsewhere nothing."""
        return rows.Where(counted, self.expression, Literal(None))

    def times(self, operand: Expression, bounds: Bounds) -> tuple[Expression, Bounds]:
        """A weighted value, and within which bounds it lies."""
        factors = (
            rows.Clip(each, limit.lower, limit.upper)
            for each, limit in ((self.expression, self.bounds), (operand, bounds))
        )
        ends = [w * x for w in (self.bounds.lower, self.bounds.upper) for x in _ends(bounds)]
        return rows.Arithmetic("*", *factors), Bounds.parse((min(ends), max(ends)), "weighted")

    def __str__(self) -> str:
        return f", weighted by {self.expression} in {self.bounds}"


def _ends(bounds: Bounds) -> tuple[float, float]:
    return bounds.lower, bounds.upper


def weights_of(of: Rows, weights: object, bounds: object) -> Weights | None:
    """The weights that a call gives by name or as a private column, or None for none."""
    if weights is None:
        if bounds is not None:
            raise QueryError("weight_bounds= is for weights=, which is not given.")
        return None
    if isinstance(weights, Rows) and isinstance(getattr(weights, "_expression", None), Expression):
        same_rows(of, weights)
        expression, name = weights._expression, getattr(weights, "name", None)  # type: ignore[attr-defined]
    elif isinstance(weights, Hashable) and weights in of._columns:
        expression, name = of._columns[weights], weights
    else:
        alone = "a column alone has no others by name" if hasattr(of, "_expression") else ""
        raise QueryError(
            f"weights={shown(weights)} must be a private column of these rows, as in "
            f"weights=frame['w'], or the name of one that was not selected away"
            f"{alone and f': {alone}'}. Nothing was computed or charged."
        )
    if bounds is None and not isinstance(of._root.declared(expression), Bounds | Keys):
        raise MissingArgument(
            f"weight_bounds= is needed for {name!r}: the range into which weights are clipped, "
            "such as weight_bounds=(0, 5), or facts declared by domain= of dp.protect or by "
            ".declare(…). Nothing was computed or charged."
        )
    parsed = bounds_of(of._root, name, expression, bounds)
    if parsed.lower < 0:
        raise QueryError(f"weights can't be negative: weight_bounds={parsed}. Nothing was charged.")
    return Weights(expression, parsed)


def same_rows(rows_of: Rows, column: Rows) -> None:
    """Refuse a column of another frame, or of rows that were kept otherwise."""
    if column._root.data is not rows_of._root.data:
        raise LineageError("this column was made from another frame; make it from this one.")
    if column._where is not None and column._where != rows_of._where:
        raise QueryError("this column was made from other rows; make it from this frame.")


def checked_ddof(ddof: object, bounds: Sequence[Bounds]) -> int:
    """What a variance is divided by: n - ddof. And bounds that can be squared."""
    if isinstance(ddof, bool) or not isinstance(ddof, int | np.integer) or not 0 <= ddof <= 1000:
        raise QueryError(f"ddof={shown(ddof)} must be a whole number such as 0 or 1.")
    for bound in bounds:
        if bound.upper - bound.lower > 2.0**500:
            raise QueryError(f"bounds {bound} are too far apart to square. Nothing was charged.")
        Grid.anchored(bound)  # refuses what is too narrow
    return int(ddof)


def pearson(method: object) -> None:
    """Refuse correlations of ranks, which depend on all rows."""
    if not is_one_of(method, ("pearson",)):
        raise QueryError(
            f"method={shown(method)} must be 'pearson': a rank depends on other rows. "
            "Nothing was computed or charged."
        )


def quantiles_of(q: object) -> tuple[tuple[Fraction, ...], float | list[float]]:
    """Exact shares, as they print, and their labels in the answer: a number for a single one."""
    if isinstance(q, str | bytes) or not isinstance(q, Iterable):
        share = _share(q)
        return (share,), float(share)
    if isinstance(q, np.ndarray) and q.ndim != 1:
        raise QueryError("q= must be a share or a list of them. Nothing was charged.")
    shares = tuple(_share(each) for each in q)
    if not 1 <= len(shares) <= MOST_QUANTILES:
        raise QueryError(
            f"q= has {len(shares)} shares; give 1 to {MOST_QUANTILES}. Nothing was charged."
        )
    return shares, [float(share) for share in shares]


def _share(q: object) -> Fraction:
    hint = f"q={shown(q)} must be a share from 0 to 1, such as 0.5, or a list of them"
    if isinstance(q, bool | np.bool_) or not isinstance(q, numbers.Real | Decimal):
        raise QueryError(f"{hint}. Nothing was charged.")
    try:
        share = Fraction(q) if isinstance(q, Fraction) else Fraction(str(q))
    except ValueError:
        raise QueryError(f"{hint}. Nothing was charged.") from None
    if not 0 <= share <= 1 or share.denominator > 10**20:
        raise QueryError(f"{hint}. Nothing was charged.")
    return share


def trim_of(trim: object) -> int:
    """How many rows are cut at each end."""
    if trim is None:
        raise MissingArgument(
            "trim= is needed: how many of the smallest and as many of the largest values are left "
            "out, a public whole number such as 25. dppandas never reads it from the data. "
            f"{NOTHING}"
        )
    is_int = isinstance(trim, int | np.integer) and not isinstance(trim, bool)
    if not is_int or not 0 <= trim <= MOST_TRIMMED:  # type: ignore[operator]
        raise QueryError(
            f"trim={shown(trim)} must be a whole number of rows from 0 to 2^31, to be left out at "
            f"each end; how many rows there are is private, so it is no share of them. {NOTHING}"
        )
    return int(trim)  # type: ignore[call-overload, no-any-return]


def step_of(step: object, bounds: Sequence[Bounds]) -> float | None:
    """The step of a coarser grid: a power of two that divides all bounds."""
    if step is None:
        return None
    if any(isinstance(bound, Ticks) for bound in bounds):
        raise QueryError(
            "step= is for numbers: times are told in whole seconds or finer as it is. Nothing was "
            "computed or charged."
        )
    if isinstance(step, bool) or not isinstance(step, NUMBERS) or not 0 < step < 2.0**900:
        raise QueryError(f"step={shown(step)} must be a number such as 1. Nothing was charged.")
    exact = Fraction(float(step))
    ends = [Fraction(end) / exact for bound in bounds for end in (bound.lower, bound.upper)]
    widths = [high - low for low, high in zip(ends[::2], ends[1::2], strict=True)]
    is_power = (exact.numerator * exact.denominator).bit_count() == 1
    if not is_power or any(end.denominator != 1 for end in ends) or max(widths) > 2**30:
        raise QueryError(
            f"step={shown(step)} must be a power of two (1, 0.5, 2) of which the bounds are "
            "multiples, at most 2^30 of them apart. Nothing was charged."
        )
    return float(exact)


def with_levels(
    shape: Layout,
    labels: float | Sequence[Hashable] | None,
    names: Iterable[Any],
    cells: Cells,
) -> Layout:
    """How pandas lays out quantiles: a list of them is the index, or its last level. Likewise
    other answers with several rows for each."""
    if labels is None or (shape.index is None and isinstance(labels, float)):
        return shape
    if isinstance(labels, float):
        return shape if cells.keys is not None else replace(shape, name=labels)
    levels: pd.Index[Any] = pd.Index(list(labels), tupleize_cols=False)
    if shape.index is None:
        return replace(shape, index=levels, name=next(iter(names)))
    if cells.keys is None:
        return replace(shape, index=levels, columns=shape.index)
    pairs = [
        (*(key if isinstance(shape.index, pd.MultiIndex) else (key,)), level)
        for key in shape.index
        for level in levels
    ]
    both = pd.MultiIndex.from_tuples(pairs, names=[*shape.index.names, None])
    return replace(shape, index=both)


def index(cells: Cells, names: Sequence[Any]) -> pd.Index:
    """The keys of cells as pandas shows them."""
    if cells.keys is None:
        columns: pd.Index[Any] = pd.Index(list(names))
        return columns
    keys: pd.Index[Any] = cells.keys.index(names)
    if cells.missing_cell:
        missing: pd.Index = pd.Index([np.nan], name=names[0])
        keys = keys.append(missing)
    return keys


def listed(names: Iterable[Any]) -> str:
    """Columns as a query would name them."""
    return ", ".join(str(Column(name)) for name in names)


def briefly(names: Sequence[Any]) -> str:
    """The same, in a line: of many columns the first, and how many they are."""
    if len(names) <= MOST_LISTED:
        return listed(names)
    return f"{listed(names[: MOST_LISTED - 1])}, … ({len(names)} columns)"
