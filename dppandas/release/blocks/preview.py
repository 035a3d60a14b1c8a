"""What a block would release, and at what price: nothing is read, charged or answered."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from typing import TypeVar

import pandas as pd

from ...errors import BudgetExceeded, SessionError, hide_internals
from ...ledger.ledger import Ledger
from ...ledger.storage.store import Entry, StoredRelease
from ...privacy.accounting.composition import ParallelComposition
from ...privacy.accounting.losses import Delta, Epsilon, Loss, Rho
from ...privacy.mechanisms.base import Mechanism
from .. import context
from ..answers.records import PREVIEW, Record
from ..query import Query
from . import split

R = TypeVar("R")
_NONE = Fraction(0)


@dataclass
class _Account:
    """A ledger as it was at the first release of a preview, and as it would be."""

    ledger: Ledger
    before: ParallelComposition
    after: ParallelComposition


class Preview:
    """The releases that a block would make: see `preview`."""

    def __init__(self, replays: bool = False) -> None:
        self._replays = replays  # whether what was answered before is answered again
        self._is_blank = False  # whether an answer in it was made of nothing
        self._entries: list[Entry] = []
        self._bought: Counter[str] = Counter()  # draws of each query that the block would pay for
        self._account: _Account | None = None
        self._outside: dict[str, object] | None = None  # what was around its block
        self._is_over = False

    @hide_internals
    def __enter__(self) -> Preview:
        if self._outside is not None:
            raise SessionError("a preview is for one block; make another: dp.preview().")
        shared = split.running()
        own = None if shared is None else shared._copy()
        self._outside = context.put(preview=self, split=own)
        return self

    def __exit__(self, *raised: object) -> None:
        self._is_over = True
        context.put(**self._outside or {})

    def _add(
        self,
        ledger: Ledger,
        query: Query,
        mechanism: Mechanism,
        draft: Entry,
        record: Callable[[StoredRelease], Record],
    ) -> Record:
        """Note a release, and make a record of nothing that has its type and shape."""
        if self._is_over:
            raise SessionError("the preview that this runs in has ended.")
        account = self._account
        if account is None:
            spending = ledger._store.spending
            account = self._account = _Account(ledger, spending, spending)
        if account.ledger is not ledger:
            raise SessionError("a preview is of one session, and this is another.")
        before = None
        if self._replays:
            # Once an answer was made of nothing, what follows may come out as another question than
            # it will be: as one that was answered before, or that was asked twice.
            if not self._is_blank:
                before = ledger._stored(draft.key, query.asked.draw)
            is_free = before is not None
        else:
            is_free = self._was_answered(ledger, draft.key, query.asked.draw)
        loss = Loss() if is_free else draft.loss
        self._bought[draft.key] += not is_free
        status = "replayed" if is_free else "new"
        self._entries.append(replace(draft, loss=loss, status=status))
        account.after = account.after.plus([((draft.source, draft.path), loss)])
        if before is not None:
            return record(before)
        self._is_blank = True
        dummy = mechanism.dummy_output(query.statistic.size)
        entry = replace(draft, loss=loss, status=PREVIEW)
        draw = query.asked.draw or self._next(ledger, draft.key)
        return record(StoredRelease(entry, dummy, draw))

    def _next(self, ledger: Ledger, key: str) -> int:
        """Which draw of its query a fresh release is."""
        kept = 0
        while key and ledger._stored(key, kept + 1) is not None:
            kept += 1
        return kept + self._bought[key] if key else 0

    def _was_answered(self, ledger: Ledger, key: str, draw: int) -> bool:
        """Whether it would be given again: by what the ledger keeps, and what the block buys."""
        if not (key and draw):
            return False
        before = draw - self._bought[key]
        return before < 1 or ledger._stored(key, before) is not None

    @property
    def loss(self) -> Loss:
        """What the block would be charged in all, exactly."""
        account = self._account
        return Loss() if account is None else account.after.total - account.before.total

    @property
    def total(self) -> Epsilon:
        """The ε of that; the ρ in a session that counts ρ."""
        loss = self.loss
        return loss.rho if self._counted()[0] == "rho" else loss.epsilon

    @property
    def left(self) -> Loss | None:
        """What was left of the budget before the block; None without a limit."""
        account = self._account
        limit = None if account is None else account.ledger._terms.limit
        return None if account is None or limit is None else limit - account.before.total

    @property
    def missing(self) -> Loss:
        """By how much that is too little, part by part: nothing where the budget can pay."""
        left, loss = self.left, self.loss
        if left is None:
            return Loss()
        return Loss(
            Epsilon(max(_NONE, loss.epsilon - left.epsilon)),
            Delta(max(_NONE, loss.delta - left.delta)),
            Rho(max(_NONE, loss.rho - left.rho)),
        )

    @property
    def fits(self) -> bool:
        """Whether the budget can pay for all of it."""
        return self.missing == Loss()

    def to_frame(self) -> pd.DataFrame:
        """One row a release: an ordinary DataFrame, with columns as `Ledger.to_frame` has them.

        ``status`` is "new" for what would be charged, and "replayed" for what has been answered
        before and would be given again for nothing.
        """
        rows = [
            {
                "source": e.source,
                "lineage": e.lineage,
                "query": e.what,
                "epsilon": float(e.loss.epsilon),
                "rho": float(e.loss.rho),
                "delta": float(e.loss.delta),
                "mechanism": e.mechanism,
                "scale": e.scale,
                "error": e.error,
                "status": e.status,
            }
            for e in self._entries
        ]
        columns = ["source", "lineage", "query", *self._counted(), "mechanism", "scale", "error"]
        index = pd.RangeIndex(1, len(rows) + 1, name="release")
        return pd.DataFrame(rows, columns=[*columns, "status"], index=index)

    def _counted(self) -> tuple[str, ...]:
        account = self._account
        return ("epsilon",) if account is None else account.ledger._terms.measure.counted

    def _summary(self) -> str:
        count = len(self._entries)
        if not count:
            return "no releases"
        head = f"{count} {'release' if count == 1 else 'releases'} would cost {self.loss}"
        if self.left is None:
            return head
        if self.fits:
            return f"{head}, of which {self.left} is left"
        return f"{head}: {self.missing} more than is left, so the budget can't pay for all"

    def __repr__(self) -> str:
        head = f"dppandas preview · {self._summary()}"
        if not self._entries:
            return head
        return f"{head}\n{self.to_frame().to_string()}"

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(escape=True, border=0) if self._entries else ""
        return (
            f'<div class="dppandas-preview"><p><b>Preview</b> · {escape(self._summary())}</p>'
            f"{table}</div>"
        )


def running() -> Preview | None:
    """The preview that this runs in."""
    found: Preview | None = context.here().preview
    return found


def all_or_none(program: Callable[[], R]) -> R:
    """What a program of releases returns, if the budget can pay for all of them.

    It is run as a preview first, in which what was answered before is answered again, so that a
    program whose next question depends on the last answer is priced as it will go, or dearer: from
    the first answer that must be paid on, all is priced as new. Whatever it would refuse, it
    refuses before anything is charged. Its releases must not depend on anything but its arguments
    and the answers. A charge of somebody else in between can still stop it half way; what it then
    released stays charged, as it would by hand.
    """
    outer = running()
    if outer is not None:
        was = outer._replays, outer._is_blank
        outer._replays, outer._is_blank = True, all(was)  # a program within it begins anew
        try:
            return program()
        finally:
            outer._replays, outer._is_blank = was
    plan = Preview(replays=True)
    with plan, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they come with the answers
        program()
    if not plan.fits:
        left, missing = plan.left, plan.missing
        name = next(n for n in ("rho", "epsilon", "delta") if getattr(missing, n) > 0)
        asked, rest = getattr(plan.loss, name), getattr(left, name)
        count = len(plan._entries)
        raise BudgetExceeded(
            f"its {count} {'release asks' if count == 1 else 'releases ask'} for {plan.loss} in "
            f"all, and {left} is left. Lower {name}= to at most {rest}, or see "
            "dp.ledger().",
            requested=asked,
            remaining=rest,
        )
    return program()


def preview() -> Preview:
    """Run code without releasing anything, and see what it would release.

    ``with dp.preview() as plan: ...`` checks every call in the block as usual, and refuses what
    would be refused; but nothing is charged and no row is read. The plan has scale, expected error
    and cost of each release: ``plan.to_frame()``, ``plan.total``, ``plan.fits``. What has been
    answered before, or twice in the block, costs nothing the second time.

    The results in the block have the type and shape of answers, so that code goes on; their values
    are made of nothing, and mean nothing: ``dp.record(result).preview`` is True. Labels that nobody
    declared are none. A budget that can't pay raises nothing: ``plan.missing`` says by how much.

    It holds for code of this thread (or async task): other threads release as ever. Of a preview
    within a preview the outer one has nothing, for nothing would be charged. Where questions are
    made from answers, those made of nothing may make two alike that would differ, and the second
    look free: price such a block by its rounds. `dp.session` and `dp.protect` do in a block what
    they always do.

    *Guarantee*: no row is read for an answer, and nothing is charged.

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=1)
    >>> people = pd.DataFrame({"age": [20, 30, 40] * 100}).dp
    >>> with dp.preview() as plan:
    ...     n = people.count(within=20)
    ...     mean = people["age"].mean(bounds=(0, 99), epsilon=1)
    >>> plan.total, plan.fits, str(plan.missing), session.spent
    (1.147, False, 'ε = 0.147', 0)
    >>> plan.to_frame()["error"].tolist()
    ['± 20', '≈ 363.9/n']
    >>> dp.reset()
    """
    return Preview()
