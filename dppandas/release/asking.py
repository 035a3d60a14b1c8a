"""The decorator of methods that release; what a call says of its loss is read in `ways`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..errors import QueryError, hide_internals, parameters, quoted
from ..privacy.accounting.losses import ReleaseOptions, with_options_named
from .blocks import split
from .private import Private

P = ParamSpec("P")
R = TypeVar("R")

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

_NAMED = ". Named aggregation is not supported: ask agg({'x': 'mean'}), and rename what it returns"
_SHARES = (
    ". agg divides epsilon by shares={'mean': 2, 'count': 1}. Weights of rows are for a single "
    "statistic, as in mean(weights=frame['w'], weight_bounds=…)"
)


def release_method(method: Callable[P, R]) -> Callable[P, R]:
    """A public method of a private object: it says what to do about arguments that it doesn't take,
    as pandas' does, and answers what is asked in a split without a loss.

    Its signature names the ways to ask, which it takes as ``**more``.
    """
    code = method.__code__
    own = parameters(method)
    takes_ways = code.co_flags & inspect.CO_VARKEYWORDS
    ways = [way for way in ReleaseOptions.__annotations__ if takes_ways and way not in own]
    positional = code.co_varnames[1 : code.co_argcount]
    flags = [name for name in own if name in _FLAGS and method.__annotations__[name] == "bool"]
    by_name = " and ".join(name for name in ("epsilon", "keys", "bounds") if name in own)
    takes = ", ".join([*own, *ways]) + (f": {by_name} by name" if by_name else "")

    def prepare(args: Any, kwargs: dict[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
        given = {k: v for k, v in kwargs.items() if k in own or not _is_harmless(k, v)}
        for name in given:
            if ways and name not in own and name not in ways:
                advice = ""
                if "func" in own:
                    named = _NAMED if isinstance(given[name], tuple) else ""
                    advice = _SHARES if name == "weights" else named
                raise QueryError(
                    f"{method.__name__}: got an unexpected keyword argument {name!r}. It takes "
                    f"{takes}{advice}."
                )
        said = {**dict(zip(positional, args[1:], strict=False)), **given}
        for flag in flags:
            if flag in said and not isinstance(said[flag], bool | np.bool_):
                raise QueryError(
                    f"{flag}={quoted(said[flag])} must be True or False; labels are given by name, "
                    "as in keys=[…]."
                )
        return (method if split.running() is None else in_split), given

    def in_split(*args: P.args, **kwargs: P.kwargs) -> R:
        with split.inside() as is_outermost:
            answer: Any = method(*args, **kwargs)
        if is_outermost and isinstance(answer, Private) and answer._is_answer:
            # what is asked is said already
            return answer.release(**{k: v for k, v in kwargs.items() if k in ways})  # type: ignore[attr-defined, no-any-return]
        return answer  # type: ignore[no-any-return]

    return with_options_named(hide_internals(method, prepare, takes))


def _is_harmless(option: str, value: object) -> bool:
    default = _HARMLESS.get(option, ...)
    return type(value) is type(default) and value == default
