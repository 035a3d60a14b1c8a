"""From arguments that pandas users know to row-wise expressions: casts, maps, edges, masks."""

from __future__ import annotations

import functools
import itertools
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..errors import MissingArgument, QueryError, quoted
from ..rows import expressions, query_string
from ..rows.expressions import Cast, Expression, Literal, Mapped
from ..rows.facts.keys import Keys, some_names
from ..rows.facts.spans import FURTHEST, TIMES, Span
from ..rows.plain_values import refuse_private
from ..rows.values.families import MOST_CHARACTERS
from ..rows.values.vectors import NUMBERS


def present(expression: Expression) -> Expression:
    """Whether a value is there."""
    return expressions.Not(expressions.IsMissing(expression))


def true(expression: Expression) -> Expression:
    """Whether a value equals True, whatever its dtype."""
    return expressions.Compare("==", expression, Literal(True))


def truth(expression: Expression) -> Expression:
    """The expression, if it is true or false, or a column that may be."""
    if expression.may_be_truth:
        return expression
    if isinstance(expression, Literal):
        raise QueryError(
            f"{expression} isn't true or false. & and | come before comparisons: put these in "
            "parentheses, as in (p['a'] == 1) & (p['b'] == 1)."
        )
    raise QueryError(f"{expression} isn't true or false. Compare it: p['age'] > 30, or == True.")


def computed(operation: str, left: Expression, right: Expression) -> Expression:
    """Arithmetic; plain values must be numbers, times or durations."""
    for side in (left, right):
        if not isinstance(side, Literal):
            continue
        if not isinstance(side.value, (*NUMBERS, *TIMES)):
            raise QueryError(
                f"{side} isn't a number, a time or a duration. Give one, such as 1, "
                "pd.Timestamp('2020-01-31') or pd.Timedelta('1D')."
            )
        query_string.operand(side)
    return expressions.Arithmetic(operation, left, right)


def by_place(
    symbol: str, left: Expression, right: Expression, domain: expressions.Domain
) -> tuple[Expression, Expression]:
    """Two sides of a comparison, as the places of their labels where these have an order of their
    own: that of their keys, which are declared, because the categories of a dtype are data."""
    if symbol in ("==", "!="):
        return left, right
    known = [side.declared(domain) for side in (left, right) if side.has_order]
    labels = [each.labels for each in known if isinstance(each, Keys)]
    if len(labels) < len(known):
        raise MissingArgument(
            f"{left} {symbol} {right}: the categories have an order, which is never read from the "
            "data. Declare the keys in that order, as in domain={'grade': ['C', 'B', 'A']}."
        )

    def place(side: Expression) -> Expression:
        if side.has_order and labels[0] == labels[-1]:
            return Mapped(side, labels[0], tuple(range(len(labels[0]))))
        if not isinstance(side, Literal) or side.value not in labels[0]:
            raise QueryError(
                f"{left} {symbol} {right}: {side} has no place among the ordered labels "
                f"{some_names(labels[0], 8)}. Compare with one of them, or with a column of them."
            )
        return Literal(labels[0].index(side.value))

    return place(left), place(right)


def filled(left: Expression, right: Expression, fill_value: Any) -> tuple[Expression, Expression]:
    """Two operands, of which a missing one is filled if the other is there: pandas' fill_value."""
    if expressions.plain_or_missing(fill_value) is None:
        return left, right
    fill = query_string.literal(fill_value)

    def one(side: Expression, other: Expression) -> Expression:
        if isinstance(side, Literal):
            return side
        gone: Expression = expressions.IsMissing(side)
        if not isinstance(other, Literal):
            gone = expressions.And(gone, present(other))
        return expressions.Where(gone, fill, side)

    return one(left, right), one(right, left)


def cast(expression: Expression, dtype: Any) -> Expression:
    """An expression as another type, named as `Series.astype` names types."""
    is_named = isinstance(dtype, str | np.dtype | pd.api.extensions.ExtensionDtype)
    named = str(dtype) if is_named else getattr(dtype, "__name__", "")
    lowered = named.lower().replace("interval", "an interval")
    has_zone = isinstance(dtype, pd.DatetimeTZDtype) or (lowered.startswith("dat") and "," in named)
    if has_zone or (isinstance(dtype, pd.CategoricalDtype) and dtype.categories is not None):
        raise QueryError(
            f"astype({quoted(named)}): private columns have no time zone and no categories of "
            "their own. Use 'datetime64[ns]' or 'category', and give labels as keys=."
        )
    if lowered in ("category", "object"):
        return expression
    for kind, starts in (
        ("int", ("int", "uint")), ("float", ("float",)), ("bool", ("bool",)),
        ("datetime", ("datetime", "<m8", "timestamp")), ("str", ("str", "object", "<u")),
    ):  # fmt: skip
        if lowered.startswith(starts):
            return Cast(expression, kind)
    raise QueryError(
        f"astype({quoted(named or dtype)}) isn't possible for private columns. Choose int, float, "
        "bool, str, datetime or category."
    )


def number(value: Any, name: str) -> float:
    """A plain number, finite or not."""
    if isinstance(value, bool) or not isinstance(value, NUMBERS) or value != value:
        raise QueryError(f"{name}={quoted(value)} must be a number.")
    try:
        return float(value)
    except OverflowError:
        raise QueryError(
            f"{name}={quoted(value)} is too large for a float. Give a smaller number."
        ) from None


def clipped_to(lower: Any, upper: Any) -> Span | None:
    """The range between two times or durations, open at an end that is None; None for numbers."""
    given = lower if upper is None else upper
    span = Span.parse((given if lower is None else lower, given), "clip")
    if span is None:
        return None
    least = -FURTHEST // 2 if lower is None else span.lower
    most = FURTHEST // 2 if upper is None else span.upper
    return replace(span, lower=least, upper=most)


def edges_of(bins: Any) -> tuple[float, ...]:
    if not isinstance(bins, list | tuple | range | np.ndarray | pd.Index):
        raise QueryError(
            f"bins={quoted(bins)} must be a list of edges, such as [0, 18, 65, 120], or a whole "
            "number of bins between declared bounds. Edges are never read from the data."
        )
    edges = tuple(number(edge, "bins") for edge in bins)
    if len(edges) < 2 or any(a >= b for a, b in itertools.pairwise(edges)):
        raise QueryError("bins= must hold at least two edges, each larger than the one before.")
    return edges


def mapped(expression: Expression, arg: Any, others_stay: bool) -> Mapped:
    """An expression with its values replaced by those of a dict; others stay, or are missing."""
    if not isinstance(arg, Mapping):
        raise QueryError(
            f"{quoted(arg)} isn't a dict. Give a dict or a Series of plain values, or use "
            "arithmetic, where, cut, .str or .dt."
        )
    if hasattr(arg, "__missing__"):
        raise QueryError(
            "a dict with a default isn't taken. Give the plain dict, and fill what it lacks, as in "
            ".map(dict(…)).fillna('other')."
        )
    if not arg:
        raise QueryError("the dict is empty. Give at least one value to replace.")
    if any(expressions.plain_or_missing(key) is None for key in arg):
        raise QueryError("a missing value can't be a key of the dict. Use fillna for them.")
    keys = Keys.parse(list(arg), ["map"]).labels
    return Mapped(expression, keys, query_string.operands(arg.values()), others_stay)


def as_dict(arg: Any) -> Any:
    """A public Series as a dict from its index to its values; anything else as it is."""
    if not isinstance(arg, pd.Series):
        return arg
    refuse_private(arg, "what maps the values")
    if isinstance(arg.index, pd.RangeIndex):
        raise QueryError(
            "the index of the Series only numbers its rows, as that of a column of data does. Give "
            "a dict, or a Series under the values that it maps, such as pd.Series({'f': 'female'})."
        )
    if not arg.index.is_unique:
        raise QueryError("the index of the Series isn't unique: a value could become several.")
    return dict(zip(arg.index.tolist(), arg.tolist(), strict=True))


def cases(caselist: Any) -> list[tuple[Any, Any]]:
    """Pairs of a condition and a value, as `Series.case_when` takes them."""
    are_pairs = isinstance(caselist, list | tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 for pair in caselist
    )
    if not are_pairs or not caselist:
        raise QueryError(
            "case_when takes a list of pairs of a condition and a value, such as "
            "[(p['age'] < 18, 'child'), (p['age'] < 65, 'adult')]."
        )
    return list(caselist)


def chosen(cases: Sequence[tuple[Expression, Expression]], default: Expression) -> Expression:
    """The value of the first condition that is true, else the default."""
    for condition, value in reversed(cases):
        default = expressions.Where(condition, value, default)
    return default


# --- arguments of .str and .dt --------------------------------------------------------------------


def whole(value: Any, name: str) -> int:
    """A whole number, or a refusal."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise QueryError(f"{name}={quoted(value)} must be a whole number.")


def width_of(value: Any, name: str = "width") -> int:
    """A width of at most 1,000."""
    if whole(value, name) > 1000:
        raise QueryError(f"{name}={quoted(value)} must be at most 1,000.")
    return int(value)


def separator(sep: Any) -> str:
    """A text that separates."""
    if text(sep, "sep"):
        return str(sep)
    raise QueryError("sep='' separates nothing. Give a text such as ' '.")


def text(value: Any, name: str) -> str:
    """A string that a cell can hold, or a refusal."""
    if isinstance(value, str) and len(value) <= MOST_CHARACTERS:
        return value
    if isinstance(value, str):
        raise QueryError(f"{name}= must have at most {MOST_CHARACTERS:,} characters.")
    raise QueryError(f"{name}={quoted(value)} must be a string.")


def pattern(value: Any) -> str:
    """A regular expression."""
    try:
        re.compile(text(value, "pat"))
    except re.error as error:
        raise QueryError(f"pat={quoted(value)} isn't a regular expression: {error}.") from None
    return str(value)


_LETTERS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x", re.ASCII: "a"}


def flagged(pat: Any, flags: Any) -> str:
    """A regular expression that says its flags itself."""
    given = re.RegexFlag(whole(flags, "flags")) & ~re.UNICODE
    letters = "".join(letter for flag, letter in _LETTERS.items() if given & flag)
    if given & ~functools.reduce(operator.or_, _LETTERS):
        raise QueryError(f"flags={quoted(flags)} may be re.I, re.M, re.S, re.X and re.A.")
    return pattern(f"(?{letters}){text(pat, 'pat')}" if letters else pat)


def texts(pat: Any) -> str | tuple[str, ...]:
    """A text, or several."""
    if isinstance(pat, tuple):
        return tuple(text(each, "pat") for each in pat)
    return text(pat, "pat")
