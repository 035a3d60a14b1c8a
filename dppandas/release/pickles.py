"""Pickles of answers and records, which name classes by a closed registry.

The only import path of ours in such a pickle is that of `restored`. Classes go by canonical names,
so a pickle can still be read after a class was moved or renamed, and can name no other class.
"""

from __future__ import annotations

import copyreg
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any

from ..errors import RecordError, quoted
from ..ledger.canonical import canonical_name
from ..ledger.questions import Question
from ..ledger.storage.store import Entry
from ..privacy.accounting.composition import Part
from ..privacy.accounting.losses import Delta, Epsilon, Loss
from ..privacy.accounting.measures import LossRequest, Measure
from ..privacy.mechanisms.base import Sensitivity
from ..privacy.record_parts import LISTENERS, RecordPart
from ..rows.expressions import Assumption, Expression, OwnRows
from ..rows.expressions.periods import Calendar
from ..rows.facts.bounds import Bounds, Grid
from ..rows.facts.keys import Keys
from ..rows.facts.spans import Ruler, Span
from ..rows.facts.steps import Step
from ..rows.facts.units import Unit
from ..statistics import Layout, every
from ..statistics.layout import GroupLabels
from .answers.record_bundle import RecordBundle
from .answers.records import Record
from .query import Query, Source, Token, token

#: The classes that records are made of, beside those of `RecordPart`: statistics and mechanisms,
#: which are first loaded when they are used, and enter as they are defined. Subclasses of those
#: here are included: of this room and of rooms below it here, and others where they are defined,
#: in the modules of `_LATER`.
_KEPT: tuple[type, ...] = (
    Record, RecordBundle, Query, Source, Entry, Loss, Epsilon, Delta, LossRequest, Measure, Part,
    Unit, Layout, GroupLabels, Expression, Calendar, Keys, Bounds, Grid, Span, Ruler, Assumption,
    Sensitivity, Step, OwnRows,
)  # fmt: skip
#: The modules with subclasses that are defined after this module was imported.
_LATER = (
    "columns.periods", "frames.groupby", "models.synthetic.fit_scores", "release.combining.looks",
    "release.combining.refinable", "stats.blockwise",
)  # fmt: skip
#: The functions that restore instances from a pickle, by canonical name of the class.
_makers: dict[str, Callable[..., Any]] = {}


def restored(name: str, *said: Any) -> Any:
    """An instance from a pickle, by the name of its class in the registry."""
    if name not in _makers:
        _import_all()
    if name not in _makers:
        raise RecordError(
            f"this pickle names {quoted(name)}, which is not part of any release record. Only "
            "load pickles of releases that dppandas wrote."
        )
    return _makers[name](*said)


@cache
def _import_all() -> None:
    every()
    for module in _LATER:
        import_module(f"...{module}", __name__)


def register(kind: type, make: Callable[..., Any]) -> None:
    """Enter a class, and the function that restores its instances."""
    _makers[canonical_name(kind)] = make
    copyreg.pickle(kind, _reduced)


def register_families(*kinds: type) -> None:
    """Enter classes and their subclasses."""
    for kind in _families(kinds):
        register(kind, partial(_made, kind))


def _families(kinds: Iterable[type]) -> Iterator[type]:
    """Ours: what a caller derives from them stays outside."""
    for kind in kinds:
        if kind.__module__.partition(".")[0] != __name__.partition(".")[0]:
            continue
        if not inspect.isabstract(kind):
            yield kind
        yield from _families(kind.__subclasses__())


def _reduced(value: Any) -> tuple[Any, ...]:
    """A dataclass as its fields, without cached values; others as their arguments."""
    kind = type(value)
    if isinstance(value, Question):  # in texts: its parts may be of any kind
        return restored, (canonical_name(kind), value.to_json())
    if is_dataclass(kind):
        said: tuple[Any, ...] = ({each.name: getattr(value, each.name) for each in fields(kind)},)
    elif isinstance(value, Enum):
        said = (value.name,)
    else:
        said = tuple(value) if hasattr(kind, "_fields") else value.__reduce__()[1]
    return restored, (canonical_name(kind), *said)


def _made(kind: Any, *said: Any) -> Any:
    """An instance of a class, which may not have been decorated yet when it was entered."""
    if issubclass(kind, Enum):
        return getattr(kind, *said)
    if is_dataclass(kind):
        return _filled(kind, *said)
    return _of_fields(kind, *said) if hasattr(kind, "_fields") else kind(*said)


def _filled(kind: Any, said: dict[str, Any]) -> Any:
    """An instance with its fields set, and nothing else that the pickle may hold."""
    needed = {e.name for e in fields(kind) if e.default is e.default_factory is MISSING}
    if needed - set(said):
        raise _other_version(kind, f"lacks {min(needed - set(said))!r}")
    if kind is Query and isinstance(said["what"], str):  # as of older versions
        said = {**said, "what": _earlier().earlier(said["what"])}
    if issubclass(kind, Record):
        said = {**said, "mechanism": _earlier().mechanism_in_words(said["mechanism"])}
    value = object.__new__(kind)
    for name in {each.name for each in fields(kind)} & set(said):
        object.__setattr__(value, name, said[name])
    return value


def _earlier() -> ModuleType:
    """What reads the forms of older versions."""
    return import_module("...ledger.earlier_questions", __name__)


def _of_fields(kind: Any, *said: Any) -> Any:
    """A named tuple. A part of older versions had neither columns nor a label of its own."""
    if kind is Part and len(said) == 3:
        said = (*said, *_earlier().part(*said[:2]))
    if len(said) != len(kind._fields):
        raise _other_version(kind, f"has {len(said)} fields in place of {len(kind._fields)}")
    return kind(*said)


def _other_version(kind: type, why: str) -> RecordError:
    return RecordError(
        f"this pickle is of another version of dppandas: its {kind.__name__} {why}. Load it with "
        "that version."
    )


register(Token, token)
register(Question, Question.from_json)
LISTENERS.append(register_families)
register_families(*_KEPT, *RecordPart.__subclasses__())
