"""Functions of a caller's own, which are run on exact rows: nothing that they say may be heard."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import QueryError
from ..privacy.record_parts import RecordPart


class _Nowhere(io.TextIOBase):
    """Where nothing is kept of what is written."""

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        return len(text)


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """A block in which what is printed, warned and logged is discarded: it could quote private
    values. What is written to a file, or to the process's own descriptors, isn't seen to."""
    nowhere, before = _Nowhere(), logging.root.manager.disable
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        warnings.simplefilter("ignore")
        logging.disable(sys.maxsize)
        try:
            yield
        finally:
            logging.disable(before)


class CallerFunction(RecordPart):
    """A caller's function. It may hold rows, so pickles leave it out."""

    def __init__(self, function: Callable[..., Any] | None) -> None:
        self._function = function

    def _said(self, *given: Any) -> Any:
        if self._function is None:
            raise QueryError("a pickle doesn't hold the caller's function. Write the query again.")
        try:
            with unheard():
                return self._function(*given)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:  # what exits would end the notebook, or not, by the rows
            raise RuntimeError("the function exits.") from error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None,)

    def __repr__(self) -> str:
        return "…"
