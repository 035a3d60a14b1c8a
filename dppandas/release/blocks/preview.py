"""What a block would release, and at which loss, without reading, charging or answering."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pandas as pd

from ...dataclasses import dataclass
from ...errors import BudgetExceeded, SessionError, hide_internals
from ...ledger import statement
from ...ledger.ledger import Ledger
from ...ledger.storage.store import Entry, StoredRelease
from ...privacy.accounting.composition import ParallelComposition
from ...privacy.accounting.losses import NO_DELTA, NO_EPSILON, NO_RHO, Epsilon, Loss
from ...privacy.mechanisms.base import Mechanism
from ...rows import html_tables
from ...rows.figures import short
from ...rows.html_tables import LABEL, NUMBER, TEXT
from ...rows.sentences import in_lines
from .. import context, limited
from ..accuracy import expected, reach
from ..answers.records import PREVIEW, Record
from ..query import Query
from ..session import current
from . import split

R = TypeVar("R")

#: What `preview` takes, for those who hand it a question.
_TAKES = "expected_rows= alone. Ask the questions in its block: with dp.preview() as plan: …"


@dataclass
class _Account:
    """A ledger as it was at the first release of a preview, and as the preview would leave it."""

    ledger: Ledger
    before: ParallelComposition
    after: ParallelComposition


class Preview:
    """The releases that a block would make: see `preview`."""

    def __init__(self, replays: bool = False, rows: float | None = None) -> None:
        self._replays = replays  # whether it returns stored answers
        self._rows = rows  # about how many rows each number is taken over
        self._is_blank = False  # whether it made an answer up
        self._entries: list[Entry] = []
        self._populations: list[str] = []  # of each release, the error for a population
        self._unlimited: list[str] = []  # and the error that it would have without a limit by key
        self._drowned: list[str] = []  # of each release, what to do if noise drowns it
        self._bought: Counter[str] = Counter()  # draws of each query that the block would pay for
        self._account: _Account | None = None
        self._outside: dict[str, object] | None = None  # the context around its block
        self._is_over = False

    @hide_internals
    def __enter__(self) -> Preview:
        if self._outside is not None:
            raise SessionError("a preview is for one block. Make another: dp.preview().")
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
        """Note a release, and make up a record that has its type and shape."""
        if self._is_over:
            raise SessionError("the preview that this runs in has ended. Start another.")
        account = self._account
        if account is None:
            spending = ledger._store.spending
            account = self._account = _Account(ledger, spending, spending)
        if account.ledger is not ledger:
            raise SessionError("a preview is of one session, and another one is running now.")
        before, draw = None, query.asked.draw
        if not self._replays:
            is_free = self._was_answered(ledger, draft.key, draw)
            stored = ledger._stored(draft.key, max(0, draw - self._bought[draft.key]))
        else:
            # Once an answer was made up, later questions may differ from what they will be: they
            # may look as if they had been answered before, or asked twice.
            if not self._is_blank:
                before = ledger._stored(draft.key, draw)
            is_free, stored = before is not None, before
        loss = Loss() if is_free else draft.loss
        self._bought[draft.key] += not is_free
        status = "replayed" if is_free else "new"
        error = expected.in_words(query.statistic, mechanism, self._rows)
        error = error or query.statistic.errors.later
        if is_free and stored is not None and draft.what.is_like(stored.entry.what):
            error = stored.entry.known_error or error  # which the answer told
        self._entries.append(draft.whole._replace(loss=loss, status=status, error=error))
        self._populations.append(self._for_population(query, mechanism))
        self._unlimited.append(limited.error_without(query, self._rows))
        self._drowned.append("" if is_free else reach.told_of(query, mechanism, self._rows))
        account.after = account.after.plus((place, loss) for place, _ in draft.charges)
        if before is not None:
            return record(before)
        self._is_blank = True
        dummy = mechanism.dummy_output(query.statistic.size)
        entry = draft._replace(loss=loss, status=PREVIEW)
        return record(StoredRelease(entry, dummy, draw or self._next(ledger, draft.key)))

    def _for_population(self, query: Query, mechanism: Mechanism) -> str:
        """What noise and sample make together, where units have one row each."""
        if self._rows is None or query.source.unit.max_rows * query.branches != 1:
            return ""
        of = query.statistic, mechanism, query.source
        return expected.over_population(*of, self._rows)

    def _next(self, ledger: Ledger, key: str) -> int:
        """The number of a fresh release among the draws of its query."""
        kept = 0
        while key and ledger._stored(key, kept + 1) is not None:
            kept += 1
        return kept + self._bought[key] if key else 0

    def _was_answered(self, ledger: Ledger, key: str, draw: int) -> bool:
        """Whether the ledger, or the block itself, would hold the answer already."""
        if not (key and draw):
            return False
        before = draw - self._bought[key]
        return before < 1 or ledger._stored(key, before) is not None

    @property
    def loss(self) -> Loss:
        """The exact loss of the whole block."""
        account = self._account
        return Loss() if account is None else account.after.total - account.before.total

    @property
    def total(self) -> Epsilon:
        """The ε of `loss`; in a session that counts ρ, its ρ."""
        loss = self.loss
        return loss.rho if self._counted()[0] == "rho" else loss.epsilon

    @property
    def left(self) -> Loss | None:
        """What the budget had left before the block; None without a limit."""
        account = self._account
        limit = None if account is None else account.ledger._terms.limit
        return None if account is None or limit is None else limit - account.before.total

    @property
    def missing(self) -> Loss:
        """How much more the block needs, for each of ε, δ and ρ; nothing if the budget can pay."""
        more = Loss() if self.left is None else self.loss - self.left
        each = max(NO_EPSILON, more.epsilon), max(NO_DELTA, more.delta), max(NO_RHO, more.rho)
        return Loss(*each)

    @property
    def fits(self) -> bool:
        """Whether the budget can pay for the whole block."""
        return self.missing == Loss()

    def to_frame(self) -> pd.DataFrame:
        """One row for each release: an ordinary DataFrame, with columns of `Ledger.to_frame`.

        ``error`` is what noise makes: "told by the answer" where only that decides it. With
        expected_rows, ``population`` is what noise and sample make together, for the population
        that the rows are a sample of; "" where an answer says nothing of one. Where a release
        limits the rows of a unit by key, ``without limits`` is the error that it would have
        without. ``status`` is "new" for a release that would be charged,
        and "replayed" for one that was answered before, which costs nothing.
        """
        columns = ["source", "lineage", "query", *self._counted(), "mechanism", "scale", "error"]
        table = statement.table(self._entries, self._counted())[[*columns, "status"]]
        if self._rows is not None:
            of_both = pd.Series(self._populations, table.index, dtype=object)
            table.insert(len(columns), "population", of_both)
        if any(self._unlimited):
            without = pd.Series(self._unlimited, table.index, dtype=object)
            table.insert(len(columns), "without limits", without)
        return table.set_axis(pd.RangeIndex(1, len(table) + 1, name="release"))

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
            return f"{head}; {self.left} is left"
        return f"{head}: {self.missing} more than is left, so the budget can't pay for all"

    @property
    def warnings(self) -> list[str]:
        """Of each release whose noise drowns it, as far as public facts say, how far one unit may
        move it, and what lowers the noise."""
        each = enumerate(self._drowned, 1)
        return [f"release {number}: {said}" for number, said in each if said]

    def __repr__(self) -> str:
        table = [self._shown().to_string()] if self._entries else []
        head, feet = in_lines(f"dppandas preview · {self._summary()}"), map(in_lines, self.warnings)
        return "\n".join([head, *table, *feet])

    def _shown(self) -> pd.DataFrame:
        """`to_frame` as people read it."""
        shown, counted = self.to_frame(), self._counted()
        return shown.assign(**{name: shown[name].map(short) for name in counted}).rename(
            columns=_SYMBOLS
        )

    def _repr_html_(self) -> str:
        table = ""
        if self._entries:
            shown = self._shown().reset_index()
            heads = [each for each in _ORDER if each in shown.columns]
            rows = shown[heads].astype(str).to_numpy().tolist()
            columns = [
                html_tables.Column(head, _KINDS.get(head, TEXT), head in _WRAPPED) for head in heads
            ]
            table = html_tables.Table(columns, rows).html()
        title = html_tables.title("Preview", self._summary())
        return html_tables.card("preview", title, table, *map(html_tables.foot, self.warnings))


#: The columns of the card, those whose lines may break, and those that are numbers.
_ORDER = (
    "release", "query", "ε", "δ", "ρ", "error", "population", "without limits",
    "mechanism", "scale", "source", "lineage", "status",
)  # fmt: skip
_WRAPPED = ("query", "error", "population", "without limits", "scale")
_KINDS = {"release": LABEL, **dict.fromkeys(("ε", "δ", "ρ", *_WRAPPED[1:]), NUMBER)}
_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


def running() -> Preview | None:
    """The preview that this runs in."""
    found: Preview | None = context.here().preview
    return found


def all_or_none(*roads: Callable[[], R]) -> R:
    """Run a program of releases if the budget can pay for all of them, and return its result.

    The program runs as a preview first, in which stored answers are returned. So a program whose
    questions depend on answers is priced as it will go, or higher: from the first new answer on,
    every release is priced as new. Whatever would be refused is refused before anything is charged.
    The releases must depend on nothing but the program's arguments and the answers. If somebody
    else is charged in between, the program can still stop half way; what it has released by then
    stays charged.

    roads : the program, once for each road that it may take where a new answer decides. They differ
        on dummy answers only. All are rehearsed, and the dearest one is the price.
    """
    outer = running()
    plans = [] if outer is not None and len(roads) == 1 else list(map(_rehearsed, roads))
    dearest = max(range(len(plans)), key=lambda i: (not plans[i].fits, plans[i].total), default=0)
    program = roads[dearest]
    if outer is not None:
        was = outer._replays, outer._is_blank
        outer._replays, outer._is_blank = True, all(was)  # an inner program starts afresh
        try:
            return program()
        finally:
            outer._replays, outer._is_blank = was
    plan = plans[dearest]
    if not plan.fits:
        left, missing = plan.left, plan.missing
        name = next(n for n in ("rho", "epsilon", "delta") if getattr(missing, n) > 0)
        asked, rest = getattr(plan.loss, name), getattr(left, name)
        count = len(plan._entries)
        what = "this release asks for" if count == 1 else f"its {count} releases ask for"
        raise BudgetExceeded(
            f"{what} {plan.loss}{' in all' * (count > 1)}, and {left} is left. Lower {name}= to at "
            f"most {rest}, or see dp.ledger().",
            requested=asked,
            remaining=rest,
            earlier=current()._advice(),
        )
    return program()


def _rehearsed(program: Callable[[], object]) -> Preview:
    plan = Preview(replays=True)
    with plan, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they come with the answers
        program()
    return plan


@partial(hide_internals, takes=_TAKES)
def preview(*, expected_rows: float | None = None) -> Preview:
    """Run code without releasing anything, and see what it would release.

    ``with dp.preview() as plan: ...`` checks every call in the block as usual and refuses what is
    wrong, but nothing is charged and no row is read. The plan has the scale, the expected error and
    the cost of each release: ``plan.to_frame()``, ``plan.total``, ``plan.fits``. A query that was
    answered before, or earlier in the block, costs nothing. ``plan.warnings`` names answers that
    noise will drown, by how far one unit may move them, and what lowers the noise.

    Results in the block have the type and shape of answers, so that the code can go on. Their
    values are made up and mean nothing: ``dp.record(result).preview`` is True. Answers by
    undeclared labels are empty. If the budget can't pay, nothing is raised: ``plan.missing`` says
    how much is missing.

    expected_rows : about how many rows each mean, variance, share or quantile is taken over (in a
        group: the rows of that group; for a weighted mean, the total weight), from public
        knowledge. Then the plan shows an error for all that has one: to first order for means and
        variances; for deviations, shares of keys, covariances and correlations, which depend on the
        answer, that of rows spread evenly over keys and between bounds. Without it such an error
        is "≈ 300/n", or missing. And a column ``population`` shows the error that noise and
        sample make together, as `intervals` with ``of="population"`` states it: of values spread
        evenly between their bounds, and of shares of ½. It is empty for what says nothing of a
        population, for quantiles, and for units of several rows. It changes no loss.

    A preview is for code of this thread (or async task); other threads release as ever. The outer
    of two nested previews lists nothing of the inner one. If questions are made from answers, two
    that would differ may be equal in a preview, and the second one looks free: preview such a block
    round by round. `dp.session` and `dp.protect` do in a block what they always do.

    Raises `QueryError` for an expected_rows that isn't a number above 0.

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
    ['± 20', '≈ 300/n']
    >>> with dp.preview(expected_rows=300) as plan:
    ...     mean = people["age"].mean(bounds=(0, 99), epsilon=1)
    >>> plan.to_frame()["error"].tolist()
    ['≈ 0.99 at n = 300']
    >>> plan.to_frame()["population"].tolist()
    ['≈ 5.9']
    >>> dp.reset()
    """
    return Preview(rows=expected.parse_rows(expected_rows))
