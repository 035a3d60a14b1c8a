"""The code that asks a question, for a user to paste. It is shown only where it is proven to ask
just that: the same call without a loss, which computes nothing, has the key of the question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from html import escape
from typing import Any

from ...errors import DPError
from ...frames.frame import PrivateFrame
from ...ledger.questions import Operand
from ...release.blocks import split
from ...release.query import Query
from ...release.unreleased import Unreleased
from ...rows.expressions import Column
from ...statistics import methods
from ...statistics.methods import COLUMN

_Ask = Callable[[PrivateFrame], Any]


def variables() -> dict[str, Any]:
    """The user's variables."""
    from IPython import get_ipython

    shell = get_ipython()
    return {} if shell is None else shell.user_ns


def code_of(query: Query, loss: str, names: Mapping[str, Any]) -> str:
    """The call, such as 'people.count(epsilon=0.1)'; "" if none is known.

    loss : as in "epsilon=0.1".
    names : the user's variables, one of which may hold the frame.
    """
    if not query.question:
        return ""
    for name, frame in list(names.items()):
        if name.startswith("_") or not isinstance(frame, PrivateFrame):
            continue
        if frame._table.source.id != query.source.id:
            continue
        for written, ask in _calls(query, frame):
            with suppress(DPError), split.inside():
                asked = ask(frame)
                if isinstance(asked, Unreleased) and _asks(asked, query):
                    return f"{name}{written}({loss})"
    return ""


def _asks(asked: Unreleased, query: Query) -> bool:
    return asked._request.query(query.asked).question == query.question


def _calls(query: Query, frame: PrivateFrame) -> Iterator[tuple[str, _Ask]]:
    """Calls that may ask the question, written and as functions of a frame."""
    where = None if query.where is None else str(query.where)
    before = "" if where is None else f".query({where!r})"

    def kept(frame: PrivateFrame) -> PrivateFrame:
        return frame if where is None else frame.query(where)

    what = query.what
    method = what.verb.name
    if method == "count" and not what.columns:
        yield f"{before}.count", lambda f: kept(f).count()
    if method not in methods(COLUMN) or len(what.columns) != 1:
        return
    for column in _named(frame, what.columns[0]):
        written = f"{before}[{column!r}].{method}"
        yield written, _of(lambda f, c: getattr(kept(f)[c], method)(), column)
        for key in _named(frame, *what.keys[:1]):
            grouped = f"{before}.groupby({key!r})[{column!r}].{method}"
            by_key = _of(lambda f, c, k: getattr(kept(f).groupby(k)[c], method)(), column, key)
            yield grouped, by_key


def _named(frame: PrivateFrame, *operands: Operand) -> list[str]:
    """The columns of a frame that have the name of an operand."""
    names = {str(each.name) for each in operands}
    return [c for c in frame.columns if isinstance(c, str) and str(Column(c)) in names]


def _of(ask: Callable[..., Any], *names: str) -> _Ask:
    return lambda frame: ask(frame, *names)


#: No kernel reaches a clipboard: the browser copies, or where that is forbidden selects the text.
_COPY = (
    "const b=this,c=b.closest('.dp-code').querySelector('code'),"
    "d=()=>{b.nextElementSibling.textContent='copied'},"
    "o=()=>{getSelection().selectAllChildren(c);document.execCommand('copy')&&d()};"
    "navigator.clipboard?navigator.clipboard.writeText(c.textContent).then(d,o):o()"
)

#: A button that copies the code beside it. It is never drawn again, or it would lose the focus.
BUTTON = (
    '<button type="button" class="jupyter-button widget-button" style="width:auto;'
    f'display:inline-block" onclick="{escape(_COPY)}">copy the code</button> '
    '<span role="status"></span>'
)


def written(code: str) -> str:
    """The code, as HTML."""
    return f'<code style="user-select:all;margin-left:12px">{escape(code)}</code>'
