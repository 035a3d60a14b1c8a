"""A ledger's public figures at one moment: all that views and statements use."""

from __future__ import annotations

from collections.abc import Callable

from ..dataclasses import dataclass
from ..privacy.accounting.composition import ParallelComposition
from ..privacy.accounting.losses import Epsilon
from ..privacy.accounting.measures import PrivacyBudget
from .storage.store import NO_CAVEATS, Caveats, Entry, Store


@dataclass(frozen=True)
class Snapshot:
    """How many charges a ledger has and what they cost, at one moment.

    The charges themselves stay in the store until they are needed: of 100,000, a view shows 200.
    """

    terms: PrivacyBudget
    store: Store
    count: int
    spending: ParallelComposition
    again: tuple[Entry, ...]  # the answers that this kernel replayed, oldest first
    closed: bool
    kernel: str  # a name of this process
    run_first: Callable[[int], int | None] | None  # see `attribute_to` in `cells`
    caveats: Caveats = NO_CAVEATS  # what the ledger says against these figures

    @property
    def budget(self) -> Epsilon | None:
        """The limit on Σε, or on Σρ; None without a limit."""
        limit = self.terms.limit
        return None if limit is None else self.terms.measure.first(limit)

    @property
    def spent(self) -> Epsilon:
        """Σε of all charges, or Σρ."""
        return self.terms.measure.first(self.spending.total)

    def by_source(self) -> dict[str, Epsilon]:
        """The ε (or ρ) that a unit of each source has spent, in order of first use."""
        first = self.terms.measure.first
        return {name: first(loss) for name, loss in self.spending.by_source().items()}

    def charges(
        self, last: int | None = None, before: int | None = None, whole: bool = True
    ) -> list[Entry]:
        """The charges below a number, or the `last` of these. Oldest first. Without ``whole`` they
        may lack their words, which take longer to find."""
        return self.store.entries(last, self.count + 1 if before is None else before, whole)

    def entries(self, last: int | None = None) -> list[Entry]:
        """The charges and the replayed answers; `last` limits both together. Oldest first."""
        found = self.with_replays(self.charges(last))
        return found if last is None else found[max(0, len(found) - last) :]

    def with_replays(self, charges: list[Entry]) -> list[Entry]:
        """Charges together with the answers that this kernel replayed. Oldest first."""
        both = [*charges, *self.again]
        return sorted(both, key=lambda entry: entry.time) if self.again else both

    def is_here(self, entry: Entry) -> bool:
        """Whether this process charged it, not another one, nor this kernel before a restart."""
        return entry.kernel == self.kernel

    def first_run(self, entry: Entry) -> int | None:
        """The number that its cell had when it ran first, if it ran more than once here."""
        if self.run_first is None or entry.cell is None or not self.is_here(entry):
            return None
        return self.run_first(entry.cell)
