"""Sources and queries: frozen descriptions that name their data by id and hold no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..ledger import canonical
from ..privacy.accounting.composition import Path
from ..privacy.accounting.losses import Loss
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.selection import selecting
from ..rows.expressions import Expression, Facts
from ..rows.facts.domain import Declaration
from ..rows.facts.kinds import Schema
from ..rows.facts.units import Unit
from ..statistics import Statistic

UNNAMED = "unnamed"


class Token(str):
    """A short string in a frame's ``attrs`` that pandas may copy as it likes.

    It gives identity, never proof. Any object but a string breaks ``to_parquet``; being its own
    copy makes the deep copies that pandas takes of ``attrs`` cost nothing.
    """

    payload: Any = None

    def __copy__(self) -> Token:
        return self

    def __deepcopy__(self, memo: object) -> Token:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return token, (str(self), self.payload)


def token(text: str, payload: Any = None) -> Token:
    """A token, and what it holds."""
    made = Token(text)
    made.payload = payload
    return made


@dataclass(frozen=True)
class Source:
    """One protected dataset: public facts only."""

    id: str
    name: str = UNNAMED
    unit: Unit = field(default_factory=Unit)
    domain: Mapping[Any, Declaration] = field(default_factory=dict, compare=False)
    version: str | None = None
    verified: bool = False
    trusted: str = ""  # what else the caller vouches for
    made: str | None = ""  # of which table of the source: a name of how it was made; None: unknown
    schema: Schema = field(default_factory=dict, compare=False)

    @property
    def facts(self) -> Facts:
        """What is public about its columns."""
        return Facts(self.domain, self.schema)

    @property
    def lineage(self) -> str:
        return "verified" if self.verified else f"asserted{self.trusted}"


@dataclass(frozen=True)
class Query:
    """What is asked: of whom, of which rows, which statistic, at which privacy loss."""

    source: Source
    where: Expression | None
    statistic: Statistic
    asked: LossRequest
    what: str
    select: int = 0  # how many labels to select; 0: release the numbers
    branches: int = 1  # how many rows one row of the source becomes
    path: Path = ()  # the parts in which all rows asked lie: where it is charged

    @cached_property
    def text(self) -> str:
        """What is asked, in words."""
        return self.what if self.where is None else f"{self.what} where {self.where}"

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """Of which source, and what: for a list of queries."""
        asserted = "" if self.source.verified else f" ({self.source.lineage})"
        return f"{self.source.name}{asserted}: {self.text}"

    @cached_property
    def unit_sensitivity(self) -> Sensitivity:
        """What one unit moves, by all rows that it can have or become."""
        return self.statistic.sensitivity(self.source.unit.max_rows * self.branches)

    @property
    def sensitivity(self) -> int:
        """ℓ1 for numbers, ℓ∞ for a selection."""
        return self.unit_sensitivity.linf if self.select else self.unit_sensitivity.l1

    def mechanism(self) -> Mechanism:
        """The least noise for what is asked."""
        if self.select:
            return selecting(self.asked, self.unit_sensitivity, self.select)
        return self.statistic.mechanism(self.asked, self.unit_sensitivity)

    @property
    def key(self) -> str:
        """What equal queries share: of the same version of a source, the same rows, statistic,
        mechanism and loss, however they are written. "" for one that is always drawn anew: what
        the caller vouches for, dppandas can't know to be the same."""
        return self._named(self.asked)

    @property
    def question(self) -> str:
        """What queries share that are equal but for mechanism and loss: releases of them are of the
        same integers. "" where there is no key."""
        return self._named(None)

    @property
    def rows(self) -> str:
        """What queries share that ask something of the same rows, however these are written: of
        the same version and table of a source, used alike. "" where that can't be known."""
        return self._of_source(self.where, self.branches)

    def _named(self, asked: LossRequest | None) -> str:
        return self._of_source(self.where, self.branches, self.statistic, asked, self.select)

    def _of_source(self, *what: Any) -> str:
        source = self.source
        if not source.verified or source.trusted or source.made is None:
            return ""
        unit = (source.unit.column, source.unit.max_rows)
        try:
            return canonical.key(source.name, source.version, unit, source.made, *what)
        except canonical.NoCanonicalText:
            return ""

    def loss(self, mechanism: Mechanism) -> Loss:
        """The exact loss that the mechanism really has on this query."""
        return mechanism.cost(self.asked.measure, self.unit_sensitivity)
