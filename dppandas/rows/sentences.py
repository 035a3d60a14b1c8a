"""What is told in sentences: as text whose lines break between words, and as HTML, because hosts
break the lines of plain text within words, or cut them off."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

from ..errors import hide_internals, wrapped
from . import html_tables

#: Longer lines take another one.
WIDTH = 100


def width() -> int | None:
    """The columns of the terminal that is written to; None for a file, a pipe or a notebook."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def in_lines(*said: str) -> str:
    """Sentences as text, each in as many lines as it takes."""
    most = min(WIDTH, width() or WIDTH)
    return "\n".join(line for each in said for line in wrapped(each, most))


def html_above(said: str, shown: Any) -> str:
    """A line, and below it what it is of."""
    return f"{html_tables.title(said)}{shown._repr_html_()}"


class ShownInSentences:
    """What is told in sentences, of which the first one says what it is."""

    #: What the HTML is of.
    _shown_as: ClassVar[str] = "sentences"

    def _sentences(self) -> Sequence[str]:
        raise NotImplementedError

    def _more(self) -> Sequence[str]:
        """What is told only where somebody looks: by IPython, and in notebooks."""
        return ()

    @hide_internals
    def __repr__(self) -> str:
        return "\n".join(self._sentences())  # in a list, or in a log, no width is known

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(in_lines(*repr(self).splitlines(), *self._more()))

    def _repr_html_(self) -> str:
        first, *others = self._sentences()
        first = first.removeprefix("<").removesuffix(">")
        return html_tables.sentences(self._shown_as, first, *others, *self._more())
