"""Sources and queries: frozen descriptions, which name their data by id and hold no rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..dataclasses import dataclass, field, found_once
from ..engines.base import Need
from ..ledger import canonical
from ..ledger.questions import Question
from ..privacy.accounting.composition import Path, loss_of_group
from ..privacy.accounting.losses import Loss
from ..privacy.accounting.measures import LossRequest, Measure
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from ..rows.expressions import (
    Assumption,
    Expression,
    Facts,
    assumptions,
    histories,
    samples,
)
from ..rows.facts.domain import Declaration
from ..rows.facts.kinds import LIST, Schema
from ..rows.facts.steps import Steps
from ..rows.facts.units import Unit
from ..statistics import Statistic

UNNAMED = "unnamed"


class Token(str):
    """A short string in a frame's ``attrs`` that pandas may copy as it likes.

    It identifies, but proves nothing. It is a string because other objects break ``to_parquet``.
    It is its own copy because pandas makes deep copies of ``attrs``.
    """

    payload: Any = None

    def __copy__(self) -> Token:
        return self

    def __deepcopy__(self, memo: object) -> Token:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return token, (str(self), self.payload)


def token(text: str, payload: Any = None) -> Token:
    """A token with its payload."""
    made = Token(text)
    made.payload = payload
    return made


def same_value(one: Expression | None, other: Expression | None) -> bool:
    """Whether two expressions say the same, as the keys of queries have it. In Python's equality
    1 is True, and an instant is the same in any zone; but cells differ."""
    if one is other:
        return True
    try:
        return canonical.text(one) == canonical.text(other)
    except canonical.NoCanonicalText:  # such as a value beyond the limits of cells
        return one == other and repr(one) == repr(other)


@dataclass(frozen=True)
class Source:
    """One protected dataset: public facts only."""

    id: str
    name: str = UNNAMED
    unit: Unit = field(default_factory=Unit)
    domain: Mapping[Any, Declaration] = field(default_factory=dict, compare=False)
    version: str | None = None
    verified: bool = False
    trusted: str = ""  # what else the caller asserts
    made: str | None = ""  # how a table of the source was made, as a name; None: unknown
    told: str = field(default="", compare=False)  # and in words
    schema: Schema = field(default_factory=dict, compare=False)
    #: The columns of unknown kind that nobody declared, each with its name in the source.
    undeclared: Mapping[Any, Any] | None = field(default=None, compare=False)
    #: What was taken for granted of such columns when the table was made.
    assumed: tuple[Assumption, ...] = field(default=(), compare=False)
    #: Of which numbers or durations all values of a column are multiples.
    steps: Steps | None = field(default=None, compare=False)

    @found_once
    def facts(self) -> Facts:
        """The public facts about its columns."""
        return Facts(self.domain, self.schema, self.undeclared or {})

    @found_once
    def key_prefix(self) -> str:
        """What the keys of all its queries have in common; "" if they have none, because its rows
        can't be known to be the same."""
        if not self.verified or self.trusted or self.made is None:
            return ""
        unit = self.unit.column, self.unit.max_rows
        try:
            return canonical.prefix(self.name, self.version, unit, self.made)
        except canonical.NoCanonicalText:  # such as a unit column of a strange name
            return ""

    @property
    def lineage(self) -> str:
        return "verified" if self.verified else f"asserted{self.trusted}"


def need_of(statistic: Statistic, where: Expression | None) -> Need:
    """What is read for a statistic of the rows that pass a filter."""
    read = statistic.columns() if where is None else statistic.columns() | where.columns()
    each = where, *statistic.expressions()
    is_limited = bool(statistic.cells.limited)
    keyed = is_limited or statistic.keyed or any(map(samples, each))
    whole_units = is_limited or statistic.whole_units
    return Need(read, whole_units, keyed, statistic.plain, bool(histories(*each)))


#: How lists are read. Counted up when the limits of cells change.
_LISTS = "lists@2"


def lists_as_read(source: Source, need: Need) -> tuple[str, ...]:
    """How lists are read, where columns of them can change the answer; with a unit, all columns
    decide which of its rows are kept."""
    chooses = source.unit.column is not None or need.keyed
    read = source.schema if chooses else need.columns
    return (_LISTS,) if any(source.schema.get(name) == LIST for name in read) else ()


@dataclass(frozen=True)
class Query:
    """A statistic of some rows of a source, at a privacy loss."""

    source: Source
    where: Expression | None
    statistic: Statistic
    asked: LossRequest
    what: Question = field(compare=False)  # its words, which the other fields decide
    select: int = 0  # how many labels to select; 0: release the numbers
    branches: int = 1  # how many rows one row of the source becomes
    path: Path = ()  # the branches that hold all its rows, where it is charged

    @property
    def text(self) -> str:
        """The question in words."""
        return self.what.text

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """The source and the question, for a list of queries."""
        asserted = "" if self.source.verified else f" ({self.source.lineage})"
        return f"{self.source.name}{asserted}: {self.text}"

    @found_once
    def need(self) -> Need:
        """What is read for it."""
        return need_of(self.statistic, self.where)

    @found_once
    def assumed(self) -> tuple[Assumption, ...]:
        """What it takes for granted of columns whose kind nobody knows, by public facts alone."""
        statistic, facts = self.statistic, self.source.facts
        keys, by = statistic.cells.keys, statistic.cells.by
        counted = [] if keys is None else [(each, keys.column(i)) for i, each in enumerate(by)]
        if facts.are_sure and not counted and not facts.domain:
            return self.source.assumed
        asked = statistic.expressions(), statistic.needed()
        found = assumptions(self.where, *asked, facts, counted)
        return (*self.source.assumed, *found)

    @property
    def rows_of_unit(self) -> int:
        """How many rows one unit can have, or those become."""
        return self.source.unit.max_rows * self.branches

    @found_once
    def unit_sensitivity(self) -> Sensitivity:
        """How much one unit can change, with all rows that it can have or become."""
        return self.statistic.sensitivity(self.rows_of_unit)

    def loss_of_change(self, mechanism: Any, loss: Loss) -> Loss | None:
        """What a release by this mechanism costs a unit whose rows become others, if one that is
        added or left out costs `loss`: that of noise by how far the integers move then, else the
        loss of two steps; None where that isn't known (docs/proofs/changes.md)."""
        measure = self.asked.measure
        if isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
            changed = self.statistic.sensitivity_of_change(self.rows_of_unit)
            if isinstance(mechanism, DiscreteLaplace) or measure is Measure.ZCDP:
                return mechanism.cost(measure, changed)
            if changed.l2_squared == self.unit_sensitivity.l2_squared:
                return loss
        return loss_of_group(loss, 2)

    @property
    def sensitivity(self) -> int:
        """ℓ1 for numbers, ℓ∞ for a selection."""
        return self.unit_sensitivity.linf if self.select else self.unit_sensitivity.l1

    def mechanism(self) -> Mechanism:
        """The mechanism with the least noise for the loss; `QueryError` if the caller named
        another one."""
        if self.select:
            found = self.statistic.selection(self.asked, self.unit_sensitivity, self.select)
        else:
            found = self.statistic.mechanism(self.asked, self.unit_sensitivity)
        self.asked.check_named(found.word, found.name)
        return found

    @property
    def key(self) -> str:
        """A key that equal queries share, however they are written: of the same version of a
        source, with the same rows, statistic, mechanism and loss. "" for asserted lineage, where
        rows can't be known to be the same; such a query gets new noise each time."""
        return self._named(self.asked)

    @property
    def question(self) -> str:
        """A key that queries share if only their mechanism and loss differ, so that their releases
        are of the same integers. "" for a query without a key."""
        return self._named(None)

    @property
    def rows(self) -> str:
        """A key that queries of the same rows share, however these are written. "" if rows can't be
        known to be the same."""
        read = frozenset() if self.where is None else self.where.columns()
        cells = self.statistic.cells
        kept = Need(read, keyed=bool(cells.limited or samples(self.where)))
        # which rows a limit keeps follows from its cells
        limits = (cells,) if cells.limited else ()
        return self._of_source(kept, self.where, self.branches, *limits)

    def _named(self, asked: LossRequest | None) -> str:
        what = self.where, self.branches, self.statistic, asked, self.select
        return self._of_source(self.need, *what)

    def _of_source(self, need: Need, *what: Any) -> str:
        if not (prefix := self.source.key_prefix):
            return ""
        try:
            return canonical.key_after(prefix, *what, *lists_as_read(self.source, need))
        except canonical.NoCanonicalText:
            return ""

    def loss(self, mechanism: Mechanism) -> Loss:
        """The exact loss of the mechanism on this query."""
        return mechanism.cost(self.asked.measure, self.unit_sensitivity)
