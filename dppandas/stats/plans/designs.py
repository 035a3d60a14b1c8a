"""What a plan has to know of a test: what it sees in many simulated releases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from ...dataclasses import dataclass
from ...errors import QueryError
from .draws import Draws, Floats, Truths


class Seen(NamedTuple):
    """What a test finds in simulated releases."""

    rejects: Truths
    half_width: Floats | None = None  # of its confidence intervals


@dataclass(frozen=True)
class Design(ABC):
    """A test, what is released for it, and what is guessed about the rows."""

    alpha: float
    alternative: str

    #: The test's name in `dppandas.stats`, and what its effect is.
    test: ClassVar[str]
    effect_is: ClassVar[str]
    #: Whether it looks for an effect of either sign.
    has_sides: ClassVar[bool] = True

    @property
    def has_interval(self) -> bool:
        """Whether it has a confidence interval of one number."""
        return self.has_sides

    @abstractmethod
    def seen(self, rows: int, effect: float, draws: Draws) -> Seen:
        """What the test finds where the effect is as large as this."""

    @abstractmethod
    def largest(self) -> float:
        """The largest effect, in size, that what is guessed allows."""

    @abstractmethod
    def assumed(self) -> str:
        """What is released and what is guessed, in words."""

    def sizes(self, rows: int) -> tuple[int, ...]:
        """How many of all rows are in each group."""
        return (rows,)

    @property
    def fewest(self) -> int:
        """So many rows it needs at least."""
        return 4

    def check_effect(self, effect: float) -> None:
        """Refuse one that what is guessed doesn't allow."""
        if abs(effect) > self.largest():
            raise QueryError(
                f"effect={effect:g} is more than there can be: {self.effect_is}, and the largest "
                f"is {self.largest():.4g} here. {self.assumed()}"
            )


def in_groups(rows: int, ratio: float) -> tuple[int, int]:
    """All rows in two groups, of which the second has ``ratio`` times as many as the first."""
    first = min(max(round(rows / (1 + ratio)), 1), rows - 1)
    return first, rows - first
