"""The append-only record of every charge, and the only thing that may say yes."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ..errors import BudgetExceeded, QueryError, SessionError, StoreError, hide_internals, quoted
from ..privacy.accounting import conversions
from ..privacy.accounting.composition import ParallelComposition
from ..privacy.accounting.losses import Delta, Epsilon, Loss, Rho
from ..privacy.accounting.measures import Measure, PrivacyBudget
from ..privacy.sampling import entropy
from . import export, html, statement
from .snapshot import Snapshot
from .storage.leases import Claim
from .storage.store import Entry, MemoryStore, Store, StoredRelease

Observer = Callable[["Ledger"], None]

CellFinder = Callable[[], int | None]
#: Of which earlier cell one is another run; None of none.
FirstRun = Callable[[int], int | None]


def _no_cell(cell: int | None = None) -> int | None:
    return None


_current_cell: CellFinder = _no_cell
_first_run: FirstRun = _no_cell


def attribute_to(finder: CellFinder | None, first_run: FirstRun | None = None) -> None:
    """Who tells which notebook cell is running, and which it was when it ran first: the notebook
    extension, or nobody (None)."""
    global _current_cell, _first_run
    _current_cell, _first_run = finder or _no_cell, first_run or _no_cell


def current_cell() -> int | None:
    """The notebook cell that is running, if anybody can tell."""
    return _current_cell()


class Ledger:
    """What a session has spent, on what, and what is left: all exact.

    *Guarantee*: Σε and Σδ, or Σρ and Σδ, over the entries that any one unit can have a row in
    never exceed the budget, whatever threads do and however queries are chosen (filters: basic
    composition, Rogers et al., NeurIPS 2016, Theorem 3.1; for ρ Feldman and Zrnic, NeurIPS 2021,
    and Whitehouse et al., ICML 2023; for parts docs/proofs/parallel.md). Entries
    are never removed and their charges never change.

    >>> import dppandas as dp
    >>> dp.reset(); _ = dp.session(epsilon=2)
    >>> dp.ledger().remaining
    2
    """

    def __init__(self, terms: PrivacyBudget | None = None, store: Store | None = None) -> None:
        self._terms = terms or PrivacyBudget()
        self._store: Store = store or MemoryStore()
        self._replays: list[Entry] = []
        self._observers: list[Observer] = []
        self._closed = False

    @property
    def budget(self) -> Epsilon | None:
        """The limit on Σε, or on Σρ in a session that counts ρ; None for no limit."""
        limit = self._terms.limit
        return None if limit is None else self._terms.measure.first(limit)

    @property
    def spent(self) -> Epsilon:
        """Σε of all entries, or Σρ."""
        return self._terms.measure.first(self.loss)

    @property
    def remaining(self) -> Epsilon | None:
        """What is left of the budget; None without one."""
        left = self._left
        return None if left is None else self._terms.measure.first(left)

    @property
    def loss(self) -> Loss:
        """All that is spent, with the δ."""
        return self._store.spending.total

    @property
    def _left(self) -> Loss | None:
        """All that is left, with the δ; None without a limit."""
        return None if self._terms.limit is None else self._terms.limit - self.loss

    def _snapshot(self) -> Snapshot:
        """Its public figures at this moment, for whatever draws it."""
        count, spending = self._store.counted()
        return Snapshot(
            self._terms, self._store, count, spending, tuple(self._replays), self._closed,
            kernel(), _first_run,
        )  # fmt: skip

    def _entries(self, last: int | None = None) -> list[Entry]:
        """The charges, and what this kernel was answered again for nothing, oldest first; or the
        last so many."""
        return self._snapshot().entries(last)

    def _charges(self, last: int | None = None, before: int | None = None) -> list[Entry]:
        """The charges alone, oldest first: those below a number, or the last so many of these."""
        return self._store.entries(last, before)

    def _count(self) -> int:
        """How many entries there are."""
        return self._store.count() + len(self._replays)

    def by_source(self) -> dict[str, Epsilon]:
        """What a unit of each source has spent of ε (or ρ), in order of first use: for the eye
        only, for the limit caps the sum."""
        return self._snapshot().by_source()

    def schema(self, source: str) -> pd.DataFrame:
        """What the columns of a source hold, as was noted when the ledger heard of it first: a
        DataFrame with a row a column. Kinds that nobody declared are those of the dtypes, which
        whoever protected it thereby asserted to be public. They are noted here and nowhere else.

        >>> import pandas as pd, dppandas as dp
        >>> dp.reset(); df = pd.DataFrame({"n": [1], "when": ["2020-01-31"]})
        >>> _ = dp.protect(df, name="visits", kinds={"when": "time"})
        >>> dp.ledger().schema("visits").loc["when"].tolist()
        ['time', 'declared']
        """
        known = self._store.registered(source) if isinstance(source, str) else None
        if known is None:
            raise QueryError(f"the ledger knows no source {quoted(source)}.")
        names = pd.Index([name for name, _, _ in known.kinds], name="column", dtype=object)
        said = ["declared" if declared else "asserted" for _, _, declared in known.kinds]
        kinds = [kind for _, kind, _ in known.kinds]
        return pd.DataFrame({"kind": kinds, "said": said}, index=names, dtype=object)

    def for_group(self, k: int) -> Loss:
        """What all that is spent promises to groups of k units: a family, a team.

        k : how many units, a whole number of at least 1.

        Returns a `Loss`. Of ε: kε. Of ε and δ: kε and δ(e^(kε) - 1)/(e^ε - 1), rounded up; a δ of 1
        promises nothing. Of ρ: k²ρ. Where δ was spent besides ρ, there is no such rule for both,
        and the ρ of what is spent may not be told as an ε, for the answers may have decided where
        it stopped: then it is the (ε, δ) that the *whole budget* means, taken to groups as above.

        Raises `QueryError` for a k that is no whole number of at least 1.

        *Guarantee*: adding or removing k units changes the odds of all answers together by at most
        e^ε. So much for ε wherever the session stops; δ and ρ are those of a plan that stops here
        whatever is answered (Vadhan, "The Complexity of Differential Privacy", 2017, Lemma 2.2; for
        ρ Bun and Steinke, TCC 2016, Proposition 1.9; docs/proofs/parallel.md).

        >>> import pandas as pd, dppandas as dp
        >>> dp.reset(); _ = dp.session(epsilon=2)
        >>> n = pd.DataFrame({"x": [1, 2]}).dp.count(epsilon=0.1)
        >>> print(dp.ledger().for_group(3))
        ε = 0.3
        """
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise QueryError(f"k={quoted(k)} must be a whole number of at least 1.")
        k, spent, whole = int(k), self.loss, self._terms.epsilon
        if self._terms.measure is Measure.ZCDP:
            if not spent.delta or whole is None:
                return Loss(rho=Rho(k * k * spent.rho))
            spent = Loss(whole, self._terms.all_delta)
        delta = conversions.delta_for_group(spent.epsilon, spent.delta, k)
        return Loss(Epsilon(k * spent.epsilon), Delta(delta))

    def to_frame(self) -> pd.DataFrame:
        """One row a release: an ordinary DataFrame, the same columns for one measure always. What
        is not counted has no column.

        ``release`` (the index) : its number; again where it was replayed, which costs 0.
        ``cell`` : of the notebook. ``source``, ``version`` : "" for no version. ``part`` : of a
        partition, "sex = f"; "" for the whole. ``lineage``, ``query``.
        ``epsilon``, ``rho``, ``delta`` : what is counted, as floats; exact in `export`.
        ``mechanism``, ``scale`` : the law of the noise and how wide it is, in rows or ranks, or of
        sums and means (for these of the sum that they are made of) in the unit of the column.
        ``error`` : at 95 %, as answered, as text: "± 30", by group from the smallest to the
        largest "± 12 to 30", of several columns "age ± 2, income ± 221"; "gap ≤ 43" for a
        selection. Where there is no answer, and in ledgers of older versions, as public facts
        decided it beforehand: for a mean "≈ 211/n", to first order, of n values; "" where only
        the answer can tell.
        ``status`` : "released"; "failed", "recorded" or "charged" where there is no answer;
        "replayed". ``unit`` : whom the promise protects. ``kernel`` : a name of the process.
        ``time`` : in UTC.
        """
        return statement.table(self._entries(), self._terms.measure.counted)

    @hide_internals
    def export(self, path: str | os.PathLike[str]) -> None:
        """Write a privacy statement for publication, by the ending of the file's name.

        ".html" : a page for readers, which needs nothing from anywhere: what is promised and to
        whom, the budget, every release with its loss, error, mechanism and lineage, what that
        rests on, and how to check it. ".json" : the same for programs, losses as exact text;
        docs/adr/0013-audited.md has the keys. ".csv" : `to_frame` with exact losses; a text that a
        spreadsheet would run as a formula, such as a source called "=1+1", begins with an
        apostrophe.

        A file that is there is replaced. Another ending raises `QueryError`; a folder, a missing
        one or one without permission `StoreError`. The statement is of one moment, also while
        others charge.

        *Guarantee*: it holds public facts only: what the ledger holds, but for the noisy answers.

        >>> import dppandas as dp
        >>> dp.ledger().export("report.txt")
        Traceback (most recent call last):
        dppandas.errors.QueryError: path='report.txt': its ending says what is written: .html for \
readers, .json for programs, .csv for a table. Nothing was computed or charged.
        """
        export.written(self._snapshot(), path)

    def _limit(self, terms: PrivacyBudget) -> None:
        """Give an unlimited ledger a budget; what is spent counts."""

        def set_terms(spent: Loss) -> None:
            if self._terms.limit is not None:
                raise SessionError(f"this ledger has a budget of {self._terms} already.")
            if terms.measure is Measure.ZCDP and spent != Loss():
                raise SessionError(
                    f"{spent} is spent already, and a session that counts ρ can't count that. End "
                    "this session with dp.reset()."
                )
            if terms.limit is not None and not spent.within(terms.limit):
                raise SessionError(
                    f"{spent} is spent already, more than the budget of {terms} asked for. "
                    "Set a larger one, or end this session with dp.reset()."
                )
            self._terms = terms

        self._store.between_charges(set_terms)
        self._notify()

    def _charge(self, *drafts: Entry, claim: Claim | None = None) -> list[Entry]:
        """Append charges, or raise and leave all as it was: all of them or none. Only `release`
        calls this. With a claim, `Taken` where an equal query is being answered, or was."""
        self._refuse_if_closed()
        entries = self._store.add(drafts, lambda _, after: self._check(drafts, after), claim)
        self._notify()
        return entries

    def _settle(
        self, entry: Entry, status: str, noisy: Sequence[Any] | None = None, leased: bool = False,
        released_error: str = "",
    ) -> int | None:  # fmt: skip
        """Note what became of a charge; what was released is kept for equal queries, and the error
        as answered is told from then on. Returns which draw of its query it is; 0 if it isn't
        kept. Of a leased one None where it was overtaken, and `StoreError` where its answer can't
        be kept: then nobody may see it."""
        released_error = "" if released_error == entry.error else released_error
        try:
            draw = self._store.settle(entry.number, status, noisy, leased, released_error)
        except StoreError as error:
            if leased and entry.key and noisy is not None:
                raise
            # nobody else will ask the same, and the answer is paid for
            warnings.warn(f"the answer could not be kept: {error}", RuntimeWarning, stacklevel=2)
            draw = 0
        self._notify()
        return draw

    def _is_taken(self, key: str, draw: int) -> bool:
        """Whether somebody is answering an equal query at this moment."""
        self._refuse_if_closed()
        return self._store.is_taken(key, draw)

    def _stored(self, key: str, draw: int) -> StoredRelease | None:
        """What an equal query was answered before."""
        self._refuse_if_closed()
        return self._store.stored(key, draw) if key and draw else None

    def _replayed(self, answer: StoredRelease) -> None:
        """Note that it was given again. That costs nothing, and is noted by this kernel alone: a
        ledger's file stays as it is when a notebook is run again."""
        again = replace(
            answer.entry, time=time.time(), cell=_current_cell(), loss=Loss(), status="replayed",
            kernel=kernel(),
        )  # fmt: skip
        self._replays.append(again)
        self._notify()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise SessionError(
                "the session of this ledger was ended by dp.reset(); nothing was computed or "
                "charged. Start again with dp.session(epsilon=…)."
            )

    def _check(self, drafts: Sequence[Entry], after: Loss) -> None:
        self._refuse_if_closed()
        limit = self._terms.limit
        if limit is not None and not after.within(limit):
            self._refuse(drafts, after, limit)

    def _refuse(self, drafts: Sequence[Entry], after: Loss, limit: Loss) -> NoReturn:
        charges = [((draft.source, draft.path), draft.loss) for draft in drafts]
        asked = ParallelComposition().plus(charges).total
        # What this could have asked at most. In a part of a source that is more than what is left
        # of the sum if other parts have spent more, for only what goes beyond theirs was added.
        rest = asked - (after - limit)
        parts = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}
        name = next(n for n in parts if getattr(asked, n) > getattr(rest, n))
        symbol = parts[name]
        wanted, left, whole = (getattr(each, name) for each in (asked, rest, limit))
        count = self._store.count()
        if len({place for place, _ in charges}) == 1:
            way_out = f"Lower {name}= to at most {left}" if left else "Nothing more can be released"
        else:  # of several places at once; how much of each depends on what of the others
            way_out = f"Lower {name}=, or ask for less at once"
        noun = "release" if count == 1 else "releases"
        raise BudgetExceeded(
            f"this release asks for {symbol} = {wanted}; {left} of {whole} is left after "
            f"{count} {noun}. {way_out}, or see dp.ledger().",
            requested=wanted,
            remaining=left,
        )

    def _close(self) -> None:
        """End the ledger for good; it can still be read."""
        self._closed = True
        self._notify()
        self._store.close()

    def _poll(self) -> None:
        """Tell observers if another process has written in the meantime."""
        if not self._closed and self._store.has_changed():
            self._notify()

    def _observe(self, observer: Observer) -> None:
        """Call ``observer(ledger)`` after each change."""
        if observer not in self._observers:
            self._observers.append(observer)

    def _unobserve(self, observer: Observer) -> None:
        """Stop calling it."""
        if observer in self._observers:
            self._observers.remove(observer)

    def _notify(self) -> None:
        for observer in list(self._observers):
            try:
                observer(self)
            except Exception as error:  # a view that fails must not cost the answer paid for
                warnings.warn(f"showing the ledger failed: {error!r}", RuntimeWarning, stacklevel=2)

    def __reduce__(self) -> NoReturn:
        raise SessionError(
            "a ledger can't be copied or pickled, for each copy would grant the whole budget. "
            "dp.ledger().to_frame() is a table of it."
        )

    def __repr__(self) -> str:
        return html.text(self._snapshot())

    def _repr_html_(self) -> str:
        return html.html(self._snapshot())


def kernel() -> str:
    """A name for this process, to tell its charges from those of others."""
    return _kernel(os.getpid())


@lru_cache(maxsize=1)
def _kernel(process: int) -> str:
    return entropy.identifier()
