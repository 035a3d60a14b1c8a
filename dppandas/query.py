"""Sources and queries: frozen descriptions that name their data by id and hold no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .budget import Epsilon
from .domain import Declaration, Unit
from .errors import QueryError
from .mechanisms import DiscreteLaplace, Mechanism, PermuteAndFlip
from .rows import Expression
from .statistics import Statistic

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
        return _token, (str(self), self.payload)


def _token(text: str, payload: Any = None) -> Token:
    token = Token(text)
    token.payload = payload
    return token


@dataclass(frozen=True)
class Source:
    """One protected dataset: public facts only."""

    id: str
    name: str = UNNAMED
    unit: Unit = field(default_factory=Unit)
    domain: Mapping[Any, Declaration] = field(default_factory=dict, compare=False)
    version: str | None = None
    verified: bool = False

    @property
    def lineage(self) -> str:
        return "verified" if self.verified else "asserted"


@dataclass(frozen=True)
class Query:
    """What is asked: of whom, of which rows, which statistic, at which privacy loss."""

    source: Source
    where: Expression | None
    statistic: Statistic
    epsilon: Epsilon
    what: str
    select: int = 0  # how many labels to select; 0: release the numbers
    branches: int = 1  # how many rows one row of the source becomes

    def __str__(self) -> str:
        return self.what if self.where is None else f"{self.what} where {self.where}"

    @property
    def sensitivity(self) -> int:
        """ℓ1 for numbers, ℓ∞ for a selection: of all rows that a unit can have or become."""
        rows = self.source.unit.max_rows * self.branches
        return self.statistic.moved_most(rows) if self.select else self.statistic.moved(rows)

    def mechanism(self) -> Mechanism:
        """The least noise for what is asked."""
        if not self.select:
            return DiscreteLaplace.calibrate(self.sensitivity, self.epsilon)
        if not self.sensitivity:
            raise QueryError("with bounds of 0 every score is 0: there is nothing to select.")
        return PermuteAndFlip.calibrate(
            self.sensitivity, self.epsilon, self.statistic.monotone, self.select
        )

    def loss(self, mechanism: Mechanism) -> Epsilon:
        """The exact loss that the mechanism really has on this query."""
        if isinstance(mechanism, PermuteAndFlip):
            return Epsilon(mechanism.loss(self.sensitivity, self.statistic.monotone))
        return Epsilon(mechanism.loss(self.sensitivity))
