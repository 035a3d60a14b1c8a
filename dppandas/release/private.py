"""The base of all private objects, and the table that they start from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ..dataclasses import dataclass, field, replace
from ..engines.base import Engine, UnitTable
from ..errors import PrivateValueError, SourceError, UnsupportedVerb, hide_internals, quoted
from ..privacy.accounting.composition import Path
from ..rows.expressions import Expression, spanned
from ..rows.facts.declared import DeclaredFacts, Fact
from ..rows.facts.domain import Declaration, list_for_tuple
from ..rows.facts.keys import Keys
from ..rows.facts.steps import Step, Steps
from . import foreign
from .context import here
from .query import Source
from .session import running


@dataclass(frozen=True, eq=False)
class Table:
    """The table that private objects start from: its public facts, and the engine that reads it."""

    source: Source
    engine: Engine
    data: object = field(repr=False)
    row_level_declared: bool = False
    refusal: str = ""  # why nothing may be released from here
    levels: tuple[Any, ...] = ()  # what the index of the table is called
    times: Any = None  # the column that holds an index of times, which frames don't list
    branches: int = 1  # how many rows one row of the source becomes
    grown: tuple[Any, ...] = ()  # and how
    order: tuple[tuple[Expression, bool], ...] = ()  # by what a unit's rows are sorted, and falling
    #: The engine whose rows it was made of, and how.
    summary: tuple[Engine, UnitTable] | None = None
    path: Path = ()  # the branches that hold all its rows, where its releases are charged
    facts: DeclaredFacts = field(
        default_factory=DeclaredFacts, repr=False
    )  # what all frames of it declare

    def declared(self, expression: Expression) -> Declaration | None:
        """What the domain says about an expression, or implies for it."""
        return expression.declared(self.source.domain)

    def step(self, expression: Expression) -> Step | None:
        """The declared step of which all values of an expression are multiples."""
        return expression.step(self.source.steps or {})

    def list_for_tuple(self, expression: Expression) -> str:
        """What an error about missing bounds says of columns that were declared by two labels. Two
        numbers are bounds as well."""
        read = expression.columns()
        return "".join(
            list_for_tuple(column, fact)
            for column, fact in self.source.domain.items()
            if column in read and isinstance(fact, Keys) and spanned(fact) is None
        )

    def declaring(
        self, declared: Mapping[Any, Declaration], mends: bool = False, steps: Steps | None = None
    ) -> Table:
        """This table with more facts. Refuses those that contradict earlier ones, unless the call
        ``mends`` the facts of a source about which nothing is charged."""
        if here().preview is None:  # a preview may make up an answer, and so a fact
            advise = partial(_way_on, self.source, self.facts, mends)
            facts = chain[tuple[Any, Fact]](declared.items(), (steps or {}).items())
            self.facts.add(facts, self.source.name, advise)
        return self.knowing(declared, steps)

    def joining(self, others: Iterable[Table]) -> Table:
        """This table with the facts of others of it. Refuses those that contradict: one was made
        before `protect` was called again with another domain."""
        known, steps = dict(self.source.domain), dict(self.source.steps or {})
        for other in others:
            self._join(known, other.source.domain)
            self._join(steps, other.source.steps or {})
        return self.knowing(known, steps)

    def _join(self, known: dict[Any, Any], facts: Mapping[Any, Any]) -> None:
        for column, fact in facts.items():
            first = known.setdefault(column, fact)
            if repr(first) != repr(fact):
                raise SourceError(
                    f"these frames of source {self.source.name!r} declare column "
                    f"{quoted(column)} differently, because the domain was corrected after one of "
                    "them was made. Make both again from the frame that dp.protect returned last."
                )

    def knowing(self, declared: Mapping[Any, Declaration], steps: Steps | None = None) -> Table:
        """This table, with the facts of another of its frames added."""
        before = self.source.domain, self.source.steps or {}
        domain, steps = {**before[0], **declared}, {**before[1], **(steps or {})}
        if (domain, steps) == before:
            return self
        return replace(self, source=replace(self.source, domain=domain, steps=steps))


def _way_on(source: Source, facts: DeclaredFacts, mends: bool) -> str:
    """What to do about facts that contradict earlier ones; "" if they may replace these: the call
    ``mends`` them, and the ledger has no charge for the source, by any kernel.

    No lock spans the look and what follows. A charge in between is for a question that names the
    bounds that it uses, so it is right whichever facts hold now (ADR 48).
    """
    session = running()
    held = None if session is None else session._protected(source)
    if session is None or held is None or held.facts is not facts:
        return "make this frame again, and declare them of the new one."
    store = session.ledger._store
    if not store.charges_of(source.name, source.version):
        if mends:
            return ""
        return (
            "correct domain= in dp.protect, as nothing is charged yet, and go on with what it "
            "returns."
        )
    again = "call dp.reset(), dp.session("
    if store.identity:
        return f"{again}store={str(store.path)!r}) and protect it anew: only the frames are lost."
    return (
        f"{again}…) and protect it anew, which loses the ledger and its free answers. What was "
        "released stays released, and what is charged later adds to it."
    )


def _refusing(what: str, shows: bool = False) -> Callable[..., Any]:
    """A method that refuses an operator, or what ``shows`` private values."""

    @hide_internals
    def refuse(self: Private, *args: object, **kwargs: object) -> NoReturn:
        (self._refuse if shows else self._no_operator)(what)

    return refuse


#: What the refused calls would reveal.
_REVEALED = {"len()": "how many rows there are", "the truth value": "what the rows hold"}
_FUNCTIONS = (
    "For functions of other libraries there are .astype, .merge, dp.cut, dp.concat, "
    "dp.crosstab, dp.models and dp.plot."
)
_MASKS = (
    "To combine masks, write & | ~ in place of and, or, not, and parentheses: "
    "(p['a'] > 1) & (p['b'] < 2)."
)


def _assignment(key: object, value: object) -> str:
    """The line to write in place of ``frame[key] = value``."""
    plain = "…"
    if isinstance(value, str):
        plain = quoted(repr(value))  # assign reads a string as an expression
    elif value is None or isinstance(value, bool | int | float):
        plain = quoted(value)
    if isinstance(key, Private):
        return f"frame = frame.assign(x=frame['x'].mask(condition, {plain}))"
    given = key if isinstance(key, list) and key else [key]
    names = [name for name in given if isinstance(name, str)]
    if len(names) < len(given):
        return "frame = frame.assign(x=…), whose names are texts: rename columns first"
    if all(name.isidentifier() and not iskeyword(name) for name in names):
        return f"frame = frame.assign({', '.join(f'{name}={plain}' for name in names)})"
    pairs = ", ".join(f"{quoted(name)}: {plain}" for name in names)
    return f"frame = frame.assign(**{{{pairs}}})"


class Private:
    """Refuses what would turn private values into plain ones."""

    #: Higher than that of pandas' objects, so that their operators leave the refusal to us.
    __pandas_priority__ = 10_000

    #: Whether it has a `release` method that answers it.
    _is_answer: ClassVar[bool] = False

    def _refuse(self, what: str) -> NoReturn:
        function, instead = foreign.caller(sys._getframe())
        if function:
            raise PrivateValueError(f"{function} would read private values. Instead, {instead}.")
        raise PrivateValueError(
            f"{what} would reveal {_REVEALED.get(what, 'private values')}. Ask for a released "
            "answer, such as .count(epsilon=0.1). "
            f"{_MASKS if what == 'the truth value' else _FUNCTIONS}"
        )

    @hide_internals
    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_") or name == "name":
            object.__setattr__(self, name, value)
        else:
            instead = f"Make a new frame, as in frame.assign({name}=…)"
            if name == "columns":
                instead = "Make a new frame: rename(columns={…}) or set_axis([…], axis=1)"
            raise UnsupportedVerb(
                f"private objects can't be changed: {name} was not set. {instead}."
            )

    if not TYPE_CHECKING:  # type checkers refuse what isn't there
        __len__ = _refusing("len()", shows=True)
        __bool__ = _refusing("the truth value", shows=True)
        __iter__ = _refusing("looping over the values", shows=True)
        __array__ = _refusing("an array", shows=True)
        __dataframe__ = _refusing("an interchange object", shows=True)
        __arrow_c_stream__ = _refusing("an Arrow stream", shows=True)

        #: What pandas' functions ask for, to see if they were given a frame or a column of theirs.
        _typ = property(_refusing("a plain table", shows=True))

    @hide_internals
    def __dir__(self) -> list[str]:
        """Without what only pandas asks for: what lists an object's members would stop there."""
        return [name for name in super().__dir__() if name != "_typ"]

    @hide_internals
    def __array_ufunc__(self, ufunc: Any, method: str, *args: object, **kwargs: object) -> NoReturn:
        self._refuse(f"numpy's {ufunc.__name__}")

    @hide_internals
    def __array_function__(self, func: Any, *args: object) -> NoReturn:
        self._refuse(f"numpy's {func.__name__}")

    @hide_internals
    def __reduce__(self) -> NoReturn:
        self._refuse("pickling or copying")

    @hide_internals
    def __format__(self, spec: str) -> str:
        if spec:
            self._refuse("formatting")
        return repr(self)

    def _no_operator(self, symbol: str) -> NoReturn:
        instead = "Use one of its columns, as in frame['age'] > 30."
        if symbol == "del":
            instead = "Make a new frame with .drop(columns=…)."
        raise PrivateValueError(f"{symbol} of a private object isn't possible. {instead}")

    if not TYPE_CHECKING:
        # Without these, Python's own errors wouldn't say what to do, and == would be False.
        __hash__ = object.__hash__
        __eq__ = _refusing("==")
        __ne__ = _refusing("!=")
        __lt__ = _refusing("<")
        __le__ = _refusing("<=")
        __gt__ = _refusing(">")
        __ge__ = _refusing(">=")
        __add__ = __radd__ = _refusing("+")
        __sub__ = __rsub__ = _refusing("-")
        __mul__ = __rmul__ = _refusing("*")
        __truediv__ = __rtruediv__ = _refusing("/")
        __floordiv__ = __rfloordiv__ = _refusing("//")
        __mod__ = __rmod__ = _refusing("%")
        __pow__ = __rpow__ = _refusing("**")
        __and__ = __rand__ = _refusing("&")
        __or__ = __ror__ = _refusing("|")
        __xor__ = __rxor__ = _refusing("^")
        __invert__ = _refusing("~")
        __matmul__ = __rmatmul__ = _refusing("@")
        __getitem__ = _refusing("[…]")

        @hide_internals
        def __setitem__(self, key: object, value: object) -> NoReturn:
            raise PrivateValueError(
                f"private objects never change in place. Write {_assignment(key, value)}."
            )

        __delitem__ = _refusing("del")
        __contains__ = _refusing("in")
        __neg__ = _refusing("-…")
        __pos__ = _refusing("+…")
        __abs__ = _refusing("abs")
        __round__ = _refusing("round")
        __int__ = _refusing("int()", shows=True)
        __float__ = _refusing("float()", shows=True)
        __complex__ = _refusing("complex()", shows=True)
