"""How the methods of private objects take their arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..errors import QueryError, shown
from ..privacy.accounting.losses import More
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
        if split.running() is None:
            return method(*args, **given)  # type: ignore[arg-type]
        with split.inside() as is_outermost:
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
