"""The decorator of methods that release. `Ways` reads the options that a call gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from ..errors import QueryError, hide_internals, parameters, quoted
from ..privacy.accounting.losses import with_options_named
from ..rows.facts.keys import did_you_mean
from .blocks import split
from .private import Private
from .request import Request
from .ways import Ways

P = ParamSpec("P")
R = TypeVar("R")

#: Options of pandas' methods, with the value that asks for what we do anyway.
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

#: The reason is proven in docs/proofs/smooth.md.
_NO_SMOOTH = (
    "one row at the {} bound moves it there, so smooth sensitivity is never small. Leave it out, "
    "or ask for a quantile: frame['x'].quantile({}, method='smooth')"
)

#: What to do without other options of pandas, of some methods or of all.
_ADVICE = {
    "inplace": "private frames never change: use the result, as in frame = frame.{method}(…)",
    "skipna": "missing values are always left out, or a single one would decide the answer. To "
    "give them a value, use fillna(0) before; to count them, isna().sum(epsilon=0.1)",
    "ignore_index": "private rows have no labels: leave it out",
    "group_keys": "no function of yours is applied to groups: leave it out",
    "sort_values kind": "where rows are equal, a keyed hash decides: leave it out, or sort by one "
    "more column",
    "sort_values na_position": "missing values come last: leave it out",
    "sort_values key": "sort by a private column: sort_values(frame['name'].str.lower())",
    "level": "private rows have no index: name a column",
    "random_state": "the same share of a source gives the same units each time: leave it out",
    "fillna method": "rows have no order, so there is no row before: fill with a constant or a "
    "column",
    "max method": _NO_SMOOTH.format("upper", 0.99),
    "min method": _NO_SMOOTH.format("lower", 0.01),
    "indicator": "keep all rows with how='left', and see where a column of the table .isna()",
    "crosstab values": "frame.pivot_table('amount', 'a', 'b', aggfunc='mean') aggregates values",
    "crosstab aggfunc": "frame.pivot_table('amount', 'a', 'b', aggfunc='mean') aggregates values",
    "crosstab rownames": "name the columns: dp.crosstab(p['a'].rename('x'), p['b'])",
    "crosstab colnames": "name the columns: dp.crosstab(p['a'], p['b'].rename('x'))",
}

_FLAGS = {"normalize", "sort", "ascending", "dropna", "as_index", "observed"}

_SHARES = (
    ". agg divides epsilon by shares={'mean': 2, 'count': 1}. Weights of rows are for a single "
    "statistic, as in mean(weights=frame['w'], weight_bounds=…)"
)


def release_method(method: Callable[P, R]) -> Callable[P, R]:
    """Make a public method that asks a question, which is answered if the call gives a loss.

    The method returns its question: a `Request`, or an object that waits for a loss. Its ``**ways``
    are read here and never reach it. A method whose question depends on them declares ``said``; one
    that makes columns of other names, as named aggregation does, declares ``named``. Arguments that
    the method doesn't take, such as other options of pandas, are refused with advice.
    """
    code = method.__code__
    own = [name for name in parameters(method) if name not in ("said", "named")]
    wants_said, wants_named = ("said" in parameters(method)), ("named" in parameters(method))
    takes_ways = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    ways = [way for way in Ways.__dataclass_fields__ if takes_ways and way not in own]
    positional = code.co_varnames[1 : code.co_argcount]
    flags = [name for name in own if name in _FLAGS and method.__annotations__[name] == "bool"]
    by_name = " and ".join(n for n in ("epsilon", "keys", "bounds") if n in [*own, *ways])
    takes = ", ".join([*own, *ways]) + (f": {by_name} by name" if by_name else "")
    known = {*own, *ways}

    def prepare(args: Any, kwargs: dict[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
        given = {k: v for k, v in kwargs.items() if k in known or not _is_harmless(k, v)}
        of_numbers = given.pop("numeric_only", None) is True
        named = (
            _named(given, known) if wants_named and len(args) < 2 and "func" not in given else {}
        )
        if not given.keys() <= known:
            raise _unexpected(method.__name__, given, known, takes)
        said = {**dict(zip(positional, args[1:], strict=False)), **given}
        if flags:
            _check_flags({flag: said[flag] for flag in flags if flag in said})
        told = {way: given.pop(way) for way in ways if way in given}
        read = Ways.read(told.pop("epsilon", None), told)
        if wants_said:
            given["said"] = read
        if named:
            given["named"] = named

        def ask(*args: Any, **kwargs: Any) -> Any:
            if of_numbers:
                args = (args[0]._of_numbers(), *args[1:])
            is_asked = read.give_loss
            if split.running() is None:
                question: Any = method(*args, **kwargs)
            else:
                with split.inside() as is_outermost:
                    question = method(*args, **kwargs)
                is_asked = is_asked or is_outermost
            if not is_asked:
                read.check_idle(question.statistic if isinstance(question, Request) else None)
            if isinstance(question, Request):
                kind = question.kind
                return kind._answered(question.record(read)) if is_asked else kind(question)
            if is_asked and isinstance(question, Private) and question._is_answer:
                return question._released(read)  # type: ignore[attr-defined]
            return question  # such as a private column, which releases nothing

        return ask, given

    return with_options_named(hide_internals(method, prepare, takes))


def _unexpected(method: str, given: dict[str, Any], known: set[str], takes: str) -> QueryError:
    """The refusal of the first argument that a method doesn't take."""
    name = next(name for name in given if name not in known)
    instead = _ADVICE.get(f"{method} {name}", _ADVICE.get(name))
    if instead is not None:
        return QueryError(f"{method} has no {name}=: {instead.format(method=method)}.")
    advice = _SHARES if "func" in known and name == "weights" else ""
    return QueryError(
        f"{method}: got an unexpected keyword argument {name!r}.{did_you_mean(name, known)} "
        f"It takes {takes}{advice}."
    )


def _named(given: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """The columns that a call names by what they aggregate, taken out of its arguments."""
    for name, value in given.items():
        if name in known and _names_a_column(value):
            raise QueryError(
                f"{name}= is an option here, so no column can be called so. Use another name, and "
                "rename the column of the result."
            )
    said = (tuple, str, pd.NamedAgg)
    new = [(name, value) for name, value in given.items() if name not in known]
    named = [name for name, value in new if isinstance(value, said) or callable(value)]
    return {name: given.pop(name) for name in named}


def _names_a_column(value: object) -> bool:
    """Whether a value says what to aggregate, and how: ("delay", "mean")."""
    is_pair = isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str)
    return is_pair or isinstance(value, pd.NamedAgg)


def _check_flags(said: dict[str, object]) -> None:
    for flag, value in said.items():
        if not isinstance(value, bool | np.bool_):
            raise QueryError(
                f"{flag}={quoted(value)} must be True or False; labels are given by name, as in "
                "keys=[…]."
            )


def _is_harmless(option: str, value: object) -> bool:
    default = _HARMLESS.get(option, ...)
    return type(value) is type(default) and value == default
