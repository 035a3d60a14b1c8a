"""Contingency tables."""

from __future__ import annotations

import typing
from typing import Any, Unpack

import pandas as pd

from .. import statistics
from ..errors import QueryError, hide_internals, is_one_of, quoted
from ..ledger.questions import Question
from ..privacy.accounting.losses import AskOptions, ReleaseOptions, with_options_named
from ..release.answers.results import ReleasedInt
from ..release.answers.shapes import Counted
from ..release.asking import release_method
from ..release.unreleased import Unreleased
from ..release.wording import operand, verb_of
from ..statistics import KeyLimit, Layout
from .answers.summaries import Covariances
from .grouping import names_of
from .series import PrivateSeries


class CrosstabMethods(
    Covariances[Counted, "pd.Series[Any]", pd.DataFrame, pd.DataFrame, ReleasedInt]
):
    """The answers of a frame by keys of rows and keys of columns."""

    @typing.overload
    def crosstab(
        self,
        index: Any,
        columns: Any,
        *,
        keys: object = None,
        normalize: bool | str = False,
        margins: bool = False,
        margins_name: str = "All",
        max_rows_per_key: int | None = None,
        max_keys: int | None = None,
    ) -> Unreleased[pd.DataFrame]: ...
    @typing.overload
    def crosstab(
        self,
        index: Any,
        columns: Any,
        *,
        keys: object = None,
        normalize: bool | str = False,
        margins: bool = False,
        margins_name: str = "All",
        max_rows_per_key: int | None = None,
        max_keys: int | None = None,
        **ways: Unpack[AskOptions],
    ) -> pd.DataFrame: ...
    @release_method
    def crosstab(
        self,
        index: Any,
        columns: Any,
        *,
        keys: object = None,
        normalize: bool | str = False,
        margins: bool = False,
        margins_name: str = "All",
        max_rows_per_key: object = None,
        max_keys: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """How many rows have each pair of keys: an int DataFrame, shaped as `pandas.crosstab`.

        index, columns : a column's name, or a list of names, for the rows and for the columns.
        keys : a dict with a list of labels for each column; else the declared domain's. Rows with
            other labels are dropped. Every pair has its cell, because which ones occur is private.
        normalize : True or "all", "index" (shares of a row's sum) or "columns": shares of the noisy
            counts, with 0 for counts below 0; floats on a public grid. Shares of nothing are 0, as
            in pandas.
        margins : True adds the sums of the noisy counts as a last row and column. They cost
            nothing, but their error is larger: about √n times for a sum of n cells, as error() and
            interval() say. If a sum matters more than its cells, ask for the sum alone.

        max_rows_per_key, max_keys : the most rows of a unit that count for a pair of keys, and the
            most pairs that it counts for, as in `groupby`. Margins are then of the rows that count.

        *Guarantee*: differential privacy of the unit; the cells are disjoint, so the ℓ1
        sensitivity is 1 a row, and all else is post-processing (docs/proofs/tables.md).

        >>> import pandas as pd
        >>> people = pd.DataFrame({"sex": ["f", "m"] * 500, "smokes": [True, False] * 500}).dp
        >>> keys = {"sex": ["f", "m"], "smokes": [False, True]}
        >>> table = people.crosstab("sex", "smokes", keys=keys, margins=True, epsilon=1)
        >>> table.round(-2).to_dict("index")["f"]
        {False: 0, True: 500, 'All': 500}
        """
        if not isinstance(margins, bool):
            raise QueryError(f"margins={quoted(margins)} must be True or False.")
        if not (isinstance(normalize, bool) or is_one_of(normalize, ("all", "index", "columns"))):
            raise QueryError(
                f"normalize={quoted(normalize)} must be one of False, True, 'all', 'index' and "
                "'columns'. Write normalize='index' for shares of each row."
            )
        sides = names_of(index), names_of(columns)
        if not all(sides):
            raise QueryError("crosstab needs both index= and columns=. Name a column for each.")
        cells, joined = self._crossed(*sides, keys)
        cells = self._limited(cells, KeyLimit.parse(max_rows_per_key, max_keys))
        share = str(normalize) if isinstance(normalize, str) else "all" if normalize else ""
        rows, across = (k.index(names) for k, names in zip(joined, sides, strict=True))
        if margins and share != "columns":
            rows = with_margin(rows, margins_name)
        if margins and share != "index":
            across = with_margin(across, margins_name)
        layout = Layout(integer=not share, index=rows, columns=across)
        statistic = statistics.Contingency(
            cells, layout, width=len(joined[1]), share=share, margins=margins
        )
        named = [operand(n, by) for n, by in zip([*sides[0], *sides[1]], cells.by, strict=True)]
        options: list[tuple[str, Any]] = [("cells", cells.described)]
        if share:
            options += [("share", "yes"), ("normalize", share)]
        if margins:
            options.append(("margins", "yes"))
        split, said = len(sides[0]), tuple(options)
        keyed = tuple(named[:split]), tuple(named[split:])
        what = Question(verb_of("crosstab"), *keyed, options=said, is_brief=True)
        return self._question(statistic, what)


def with_margin(labels: pd.Index, name: object) -> pd.Index:
    """Labels, with one more for their sum."""
    if not isinstance(name, str):
        raise QueryError(f"margins_name={quoted(name)} must be a string.")
    has_levels = isinstance(labels, pd.MultiIndex)
    last: Any = (name, *[""] * (labels.nlevels - 1)) if has_levels else name
    if last in labels.tolist():
        raise QueryError(f"margins_name={quoted(name)} is a key already. Use another name.")
    both = [*labels.tolist(), last]
    if has_levels:
        return pd.MultiIndex.from_tuples(both, names=labels.names)
    summed: pd.Index = pd.Index(both, name=labels.name, tupleize_cols=False)
    return summed


def _column_of(given: object, otherwise: str) -> str:
    """How a side of a table is written as a column."""
    name = given.name if isinstance(given, PrivateSeries) else given
    return f"frame[{name!r}]" if isinstance(name, str) else f"frame[{otherwise!r}]"


@typing.overload
def crosstab(
    index: Any,
    columns: Any,
    *,
    keys: object = None,
    normalize: bool | str = False,
    margins: bool = False,
    margins_name: str = "All",
    max_rows_per_key: int | None = None,
    max_keys: int | None = None,
) -> Unreleased[pd.DataFrame]: ...
@typing.overload
def crosstab(
    index: Any,
    columns: Any,
    *,
    keys: object = None,
    normalize: bool | str = False,
    margins: bool = False,
    margins_name: str = "All",
    max_rows_per_key: int | None = None,
    max_keys: int | None = None,
    **ways: Unpack[AskOptions],
) -> pd.DataFrame: ...
@with_options_named
@hide_internals
def crosstab(
    index: Any,
    columns: Any,
    *,
    keys: object = None,
    normalize: bool | str = False,
    margins: bool = False,
    margins_name: str = "All",
    max_rows_per_key: object = None,
    max_keys: object = None,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> Any:
    """`PrivateFrame.crosstab`, spelled like `pandas.crosstab`: of private columns or lists of them.

    *Guarantee*: as for `PrivateFrame.crosstab` (docs/proofs/tables.md).

    >>> import pandas as pd, dppandas as dp
    >>> p = dp.private(pd.DataFrame({"a": [1, 2], "b": [3, 3]}), unit="row")
    >>> dp.crosstab(p["a"], p["b"], keys={"a": [1, 2], "b": [3, 4]})
    <unreleased crosstab of a by b (4 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…)>
    """
    sides = []
    for given, name in ((index, "row"), (columns, "col")):
        side = given if isinstance(given, list | tuple) else [given]
        if not side or not all(isinstance(each, PrivateSeries) for each in side):
            raise QueryError(
                "dp.crosstab takes private columns, or lists of them. Write dp.crosstab("
                f"{_column_of(index, 'a')}, {_column_of(columns, 'b')})."
            )
        sides.append([(f"{name}_{i}" if s.name is None else s.name, s) for i, s in enumerate(side)])
    named = [pair for side in sides for pair in side]
    if len({name for name, _ in named}) < len(named):
        raise QueryError("two of these columns have the same name. Rename one.")
    first = named[0][1]
    found = {name: first._other(column) for name, column in named}
    known = first._table.joining(each._table for _, each in named)
    table = first._frame(known, found, first._where)
    return table.crosstab(
        [name for name, _ in sides[0]], [name for name, _ in sides[1]],
        keys=keys, normalize=normalize, margins=margins, margins_name=margins_name,
        max_rows_per_key=max_rows_per_key, max_keys=max_keys,
        epsilon=epsilon, **more,
    )  # fmt: skip
