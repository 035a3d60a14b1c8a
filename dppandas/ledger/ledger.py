"""The append-only record of every charge. Nothing is released unless it agrees."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

import pandas as pd

from ..errors import BudgetExceeded, QueryError, SessionError, StoreError, hide_internals, quoted
from ..privacy.accounting import conversions
from ..privacy.accounting.composition import ParallelComposition
from ..privacy.accounting.losses import Delta, Epsilon, Loss, Rho
from ..privacy.accounting.measures import Measure, PrivacyBudget
from ..privacy.sampling import entropy
from ..rows.facts.units import whole_number
from .cells import Reruns, current_cell, first_run
from .snapshot import Snapshot
from .storage.leases import Claim
from .storage.store import Entry, FindError, MemoryStore, Store, StoredRelease

if TYPE_CHECKING:
    from .storage.verify import Verdict

Observer = Callable[["Ledger"], None]


class Ledger:
    """What a session has spent, on what, and what is left. All figures are exact.

    *Guarantee*: Σε and Σδ, or Σρ and Σδ, over the entries that any one unit can have a row in
    never exceed the budget, whatever threads do and however queries are chosen (privacy filters:
    basic composition, Rogers et al., NeurIPS 2016, Theorem 3.6; for ρ Feldman and Zrnic, NeurIPS
    2021, and Whitehouse et al., ICML 2023; for partitions docs/proofs/parallel.md). Entries are
    never removed, and their charges never change.

    >>> import dppandas as dp
    >>> dp.reset(); _ = dp.session(epsilon=2)
    >>> dp.ledger().remaining
    2
    """

    def __init__(self, terms: PrivacyBudget | None = None, store: Store | None = None) -> None:
        self._terms = terms or PrivacyBudget()
        self._store: Store = store or MemoryStore()
        self._replays: list[Entry] = []
        self._observers: dict[Observer, None] = {}  # in the order in which they came
        self._reruns = Reruns()
        self._closed = False

    @property
    def budget(self) -> Epsilon | None:
        """The limit on Σε, or on Σρ in a session that counts ρ; None without a limit."""
        limit = self._terms.limit
        return None if limit is None else self._terms.measure.first(limit)

    @property
    def spent(self) -> Epsilon:
        """The ε (or ρ) that a unit can have lost so far: the sum of all losses, of which those of a
        partition count as `PrivateFrame.partition` says."""
        return self._terms.measure.first(self.loss)

    @property
    def remaining(self) -> Epsilon | None:
        """What is left of the budget; None without a limit."""
        left = self._left
        return None if left is None else self._terms.measure.first(left)

    @property
    def loss(self) -> Loss:
        """All that a unit can have lost so far: `spent`, together with the δ."""
        return self._store.spending.total

    @property
    def _left(self) -> Loss | None:
        """All that is left, δ included; None without a limit."""
        return None if self._terms.limit is None else self._terms.limit - self.loss

    def _snapshot(self) -> Snapshot:
        """The ledger's public figures at this moment, for whatever draws them."""
        count, spending = self._store.counted()
        return Snapshot(
            self._terms, self._store, count, spending,
            tuple(each.whole for each in self._replays), self._closed, kernel(), first_run(),
            self._store.caveats,
        )  # fmt: skip

    def _entries(self, last: int | None = None) -> list[Entry]:
        """The charges, and the answers that this kernel replayed; `last` limits both together.
        Oldest first."""
        return self._snapshot().entries(last)

    def _charges(self, last: int | None = None, before: int | None = None) -> list[Entry]:
        """The charges alone: those below a number, or the `last` of these. Oldest first."""
        return self._store.entries(last, before)

    def _count(self) -> int:
        """How many entries there are."""
        return self._store.count() + len(self._replays)

    def by_source(self) -> dict[str, Epsilon]:
        """The ε (or ρ) that a unit of each source can have lost, in order of first use. For
        information only: the limit is on their sum."""
        return self._snapshot().by_source()

    def schema(self, source: str) -> pd.DataFrame:
        """What the columns of a source hold, as noted when the source was first protected: a
        DataFrame with a row for each column. Kinds that were not declared follow from the dtypes,
        which the caller of `dp.protect` asserts to be public. Only this table shows them.

        >>> import pandas as pd, dppandas as dp
        >>> dp.reset(); df = pd.DataFrame({"n": [1], "when": ["2020-01-31"]})
        >>> _ = dp.protect(df, name="visits", kinds={"when": "time"})
        >>> dp.ledger().schema("visits").loc["when"].tolist()
        ['time', 'declared']
        """
        known = self._store.registered(source) if isinstance(source, str) else None
        if known is None:
            raise QueryError(
                f"the ledger knows no source {quoted(source)}: see dp.ledger().by_source()."
            )
        rows = [(name, kind, "declared" if d else "asserted") for name, kind, d in known.kinds]
        heads = ["column", "kind", "said"]
        return pd.DataFrame(rows, columns=heads, dtype=object).set_index("column")

    def for_group(self, k: int) -> Loss:
        """The loss of all answers so far for a group of k units, such as a family or a team.

        k : how many units, a whole number, 1 or more.

        Returns a `Loss`. For ε: kε. For ε and δ: kε and δ(e^(kε) - 1)/(e^ε - 1), rounded up; a δ of
        1 promises nothing. For ρ: k²ρ. Where δ was spent besides ρ, no such rule covers both, and
        the ρ spent so far can't be converted to an ε, because the answers may have decided when to
        stop: then it is the (ε, δ) that the *whole budget* means, taken to groups as above.

        Raises `QueryError` for any other k.

        *Guarantee*: adding or removing k units changes the odds of all answers together by at most
        e^ε. For ε that holds wherever the session stops; δ and ρ are those of a plan that stops
        here whatever is answered (Vadhan, "The Complexity of Differential Privacy", 2017, Lemma
        2.2; for ρ Bun and Steinke, TCC 2016, Proposition 1.9; docs/proofs/parallel.md).

        >>> import pandas as pd, dppandas as dp
        >>> dp.reset(); _ = dp.session(epsilon=2)
        >>> n = pd.DataFrame({"x": [1, 2]}).dp.count(epsilon=0.1)
        >>> print(dp.ledger().for_group(3))
        ε = 0.3
        """
        k, spent, whole = whole_number(k, "k", 1), self.loss, self._terms.epsilon
        if self._terms.measure is Measure.ZCDP:
            if not spent.delta or whole is None:
                return Loss(rho=Rho(k * k * spent.rho))
            spent = Loss(whole, self._terms.all_delta)
        delta = conversions.delta_for_group(spent.epsilon, spent.delta, k)
        return Loss(Epsilon(k * spent.epsilon), Delta(delta))

    def to_frame(self) -> pd.DataFrame:
        """All releases as an ordinary DataFrame, one row each. The columns depend on the measure
        alone: what it doesn't count has no column.

        ``release`` (the index) : its number; repeated where it was replayed, which costs 0.
        ``cell`` : of the notebook. ``source``, ``version`` : "" for no version. ``part`` : the part
        of a partition, as "sex = f"; "" for the whole source. ``lineage``.
        ``query`` : in one line, in which long expressions and many keys are shortened.
        ``details`` : what the line leaves out.
        ``epsilon``, ``rho``, ``delta`` : what is counted, as floats; exact in `export`.
        ``mechanism``, ``scale`` : the distribution of the noise and its scale, in rows or ranks;
        for sums and means in the unit of the column (for a mean, that of the sum behind it).
        ``error`` : the error at 95 % as answered, as text: "± 30"; by group, from the smallest to
        the largest, "± 12 to 30"; of several columns "age ± 2, income ± 230"; of a selection
        "gap ≤ 43". Where there is no answer, and in ledgers of older versions, the error that
        public facts predicted: for a mean "≈ 211/n", to first order, of n values; "" where only
        the answer decides it.
        ``status`` : "released" or "replayed"; "failed", "interrupted", "recorded" or "charged" if
        there is no answer. ``unit`` : whom the promise protects. ``kernel`` : a name of the
        process. ``time`` : in UTC, without a zone, because spreadsheets have none:
        ``.to_excel(path)`` works, and ``["time"].dt.tz_localize("UTC")`` adds the zone.
        """
        from . import statement

        table = statement.table(self._entries(), self._terms.measure.counted)
        return table.assign(time=table["time"].dt.tz_localize(None))

    @hide_internals
    def export(
        self, path: str | os.PathLike[str], *, name: str | None = None, curator: str | None = None,
        purpose: str | None = None, description: str | None = None,
        justification: str | None = None, replace: bool | None = None,
    ) -> None:  # fmt: skip
        """Write a statement for publication, in the format that the file's name ends in.

        path : ".html": a self-contained page for readers, with what is promised and to whom, every
            release, what that rests on, and how to check it. ".json": the same for programs, losses
            as exact text (docs/adr/0013-audited.md has the keys). ".csv": `to_frame` with exact
            losses; a text that a spreadsheet would run as a formula begins with an apostrophe.
            ".yaml": a record for public registries of deployments (docs/ledger.md).
        name, curator, purpose, description, justification : in ".yaml" and ".json", what only you
            know: what the answers are called, who holds the data, what they are for, what was
            published, and why at this loss. What isn't given is null, with a comment.
        replace : True replaces an existing file. By default so for all but ".yaml".

        Raises `QueryError` for another ending or a wrong argument; `StoreError` for a folder, a
        ".yaml" file that is there, or a file that can't be written. The file is written whole or
        not at all. The statement is of one moment, even while others charge.

        *Guarantee*: nothing is charged and no row is read. The file has public facts only: what the
        ledger holds except the noisy answers, and what you say.

        >>> import tempfile, dppandas as dp
        >>> folder = tempfile.TemporaryDirectory()
        >>> dp.ledger().export(f"{folder.name}/deployment.yaml", purpose="Teaching")
        >>> dp.ledger().export("report.txt")
        Traceback (most recent call last):
        dppandas.errors.QueryError: path='report.txt' must end in .html (for readers), .json (for \
programs), .csv (a table) or .yaml (for registries). Nothing was computed or charged.
        """
        from . import export
        from .deployment.record import PublisherFacts

        facts = PublisherFacts(name, curator, purpose, description, justification)
        export.written(self._store, self._snapshot, path, facts, replace)

    @hide_internals
    def verify(self, head: str | None = None) -> Verdict:
        """Recompute the chain of hashes, the totals and the schema of the ledger's file, as
        ``dppandas verify`` does in a terminal.

        head : the ``head`` of an earlier verdict, as you noted it elsewhere. The ledger must
            continue from it.

        Returns a `Verdict`: ``.is_sound``, ``.deviations``, and ``.head`` to note. Raises
        `StoreError` for a ledger in memory.
        """
        if self._store.path is None:
            raise StoreError(
                "this ledger is in memory and has no file to verify. Keep it in one: "
                'dp.session(epsilon=2, store="my.ledger").'
            )
        from .storage.verify import verified

        return verified(self._store.path, head)

    def _limit(self, terms: PrivacyBudget) -> None:
        """Give an unlimited ledger a budget. What is spent already counts towards it."""

        def set_terms(spent: Loss) -> None:
            if self._terms.limit is not None:
                raise SessionError(f"this ledger has a budget of {self._terms} already.")
            if terms.measure is Measure.ZCDP and spent != Loss():
                raise SessionError(
                    f"{spent} is spent already, which a session that counts ρ can't count. End "
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
        """Append all charges, or raise and append none. Only `release` calls this. With a claim,
        raises `Taken` if an equal query is being answered, or was."""

        def check(before: Loss, after: Loss) -> None:
            self._refuse_if_closed()  # again, now that nobody else can write
            limit = self._terms.limit
            if limit is not None and not after.within(limit):
                self._refuse(drafts, after, limit)

        self._refuse_if_closed()
        entries = self._store.add(drafts, check, claim)
        self._notify()
        return entries

    def _settle(
        self, entry: Entry, status: str, noisy: Sequence[Any] | None = None, leased: bool = False,
        released_error: FindError | None = None,
    ) -> int | None:  # fmt: skip
        """Note the outcome of a charge. What was released is kept for equal queries, and the error
        as answered is shown from then on. Returns which draw of its query it is; 0 if it isn't
        kept. For a leased charge: None if another process took it over, and `StoreError` if its
        answer can't be kept, because then it may not be shown."""
        try:
            draw = self._store.settle(entry.number, status, noisy, leased, released_error)
        except StoreError as error:
            if leased and entry.key and noisy is not None:
                raise
            # the answer is paid for, and no equal query waits for it
            said = f"the answer could not be kept: {error.reason}"
            warnings.warn(said, RuntimeWarning, stacklevel=2)
            draw = 0
        self._notify()
        return draw

    def _is_taken(self, key: str, draw: int) -> bool:
        """Whether somebody is answering an equal query right now."""
        self._refuse_if_closed()
        return self._store.is_taken(key, draw)

    def _stored(self, key: str, draw: int) -> StoredRelease | None:
        """The answer that an equal query got before; None for none."""
        self._refuse_if_closed()
        return self._store.stored(key, draw) if key and draw else None

    def _replayed(self, answer: StoredRelease, asked: Entry, error: FindError) -> None:
        """Note that an answer was given again, to a question with its error. That costs nothing,
        and only this kernel notes it: a ledger's file stays as it is when a notebook is run again.
        """
        entry = answer.entry
        if not asked.what.is_like(entry.what):
            entry = asked.whole._replace(number=entry.number, released_error=error() or "")
        again = entry._replace(
            time=time.time(), cell=current_cell(), loss=Loss(), status="replayed",
            kernel=kernel(),
        )  # fmt: skip
        self._replays.append(again)
        self._notify()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise SessionError(
                "dp.reset() ended this ledger's session. Start another with dp.session(epsilon=…)."
            )

    def _refuse(self, drafts: Sequence[Entry], after: Loss, limit: Loss) -> NoReturn:
        charges = [charge for draft in drafts for charge in draft.charges]
        asked = ParallelComposition().plus(charges).total
        # The most that this could have asked for. If other parts of the source have spent more than
        # its own, that is more than the budget has left: only what exceeds theirs was added.
        rest = asked - (after - limit)
        symbols = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}
        name = next(n for n in symbols if getattr(asked, n) > getattr(rest, n))
        wanted, left, whole = (getattr(each, name) for each in (asked, rest, limit))
        count = self._store.count()
        way_out = f"Lower {name}= to at most {left}, or see dp.ledger()"
        if len({place for place, _ in charges}) > 1:  # the most for one depends on the others
            way_out = f"Lower {name}=, or ask for less at once; dp.ledger() shows what was spent"
        elif not left:
            way_out = "Nothing more can be released; dp.ledger() shows what the budget was spent on"
        raise BudgetExceeded(
            f"this release asks for {symbols[name]} = {wanted}; {left} of {whole} is left after "
            f"{count} release{'s' if count != 1 else ''}. {way_out}.",
            requested=wanted,
            remaining=left,
        )

    def _close(self) -> None:
        """End the ledger for good. It can still be read."""
        self._closed = True
        self._notify()
        self._store.close()

    def _poll(self) -> None:
        """Tell observers if another process has written meanwhile."""
        if not self._closed and self._store.has_changed():
            self._notify()

    def _observe(self, observer: Observer) -> None:
        """Call ``observer(ledger)`` after each change."""
        self._observers.setdefault(observer)

    def _unobserve(self, observer: Observer) -> None:
        """Stop calling it."""
        self._observers.pop(observer, None)

    def _notify(self) -> None:
        for observer in list(self._observers):
            try:
                observer(self)
            except Exception as error:  # a view that fails must not cost the answer paid for
                warnings.warn(f"showing the ledger failed: {error!r}", RuntimeWarning, stacklevel=2)

    def __reduce__(self) -> NoReturn:
        raise SessionError(
            "a ledger can't be copied or pickled, because each copy would grant the whole budget "
            "again. dp.ledger().to_frame() is a table of it."
        )

    def __repr__(self) -> str:
        from . import words

        return words.text(self._snapshot())

    def _repr_html_(self) -> str:
        from . import html

        return html.html(self._snapshot())


def kernel() -> str:
    """A name for this process, which tells its charges from those of others."""
    return _kernel(os.getpid())


@lru_cache(maxsize=1)
def _kernel(process: int) -> str:
    return entropy.identifier()
