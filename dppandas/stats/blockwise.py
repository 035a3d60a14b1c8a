"""A test of tests: in how many blocks of units a test of any kind is significant."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

from ..columns.private_rows import keys_known
from ..dataclasses import dataclass, field, replace
from ..errors import LineageError, MissingArgument, QueryError, hide_internals, quoted
from ..frames.frame import PrivateFrame
from ..frames.grouping import names_of
from ..models.aggregate import problem_of, try_out
from ..models.select import asked_by, private_frame, vouched
from ..privacy.accounting.losses import with_options_named
from ..privacy.accuracy.combined import CombinedNoise
from ..privacy.accuracy.significance import is_hopeless, pvalue
from ..release.answers import results
from ..release.answers.records import Record
from ..release.pickles import register
from ..release.private import Table
from ..release.request import Request
from ..release.unreleased import Unreleased
from ..release.ways import Ways
from ..release.wording import Later, Question, labels, operand, operands, told
from ..rows import expressions
from ..rows.facts import kinds
from ..rows.facts.keys import Keys
from ..rows.facts.units import whole_number
from ..statistics import Cells, Layout, SignificantBlocks
from ..statistics.of_blocks import block_tests as tests
from ..statistics.of_blocks.block_tests import BESIDE, BlockTest, CallerTest, ScipyTest, Shown
from . import scipy_tests
from .results import ALTERNATIVES, SignificanceResult, one_of_several

#: The most blocks: each is a call of a function.
MOST_BLOCKS = 10_000


@dataclass(frozen=True, repr=False, eq=False)
class BlockTestResult(SignificanceResult):
    """The result of a test of blocks: `SignificanceResult` with the number of ``blocks``, and
    ``alpha``, the level that each was tested at. The statistic is the noisy number of blocks that
    are significant at it. `dppandas.record` has its release."""

    blocks: int = 0
    alpha: float = math.nan
    _record: Record | None = field(default=None, repr=False)

    _beside: ClassVar[tuple[str, ...]] = ("blocks", "alpha")

    def _sentences(self) -> list[str]:
        if self._record is not None and self._record.preview:
            return [f"{self.test}: preview, no answer ({self._record.expected} blocks)"]
        return super()._sentences()


class UnreleasedBlockTest(Unreleased[BlockTestResult]):
    """A test of blocks that hasn't been made yet."""

    @classmethod
    def _ask(cls, request: Request, ways: Ways) -> Any:
        _check_reach(request, ways)
        return super()._ask(request, ways)

    def _released(self, ways: Ways) -> Any:
        _check_reach(self._request, ways)
        return super()._released(ways)


@with_options_named
@hide_internals
def blockwise(
    test: Callable[..., Any],
    frame: Any,
    *columns: Any,
    blocks: int | None = None,
    by: Any = None,
    groups: Any = None,
    alpha: float | None = None,
    exact: bool = False,
    epsilon: object = None,
    **more: Any,
) -> Any:
    """Test anything: units are dealt to blocks, a test is made of each block, and the noisy number
    of blocks in which it is significant is tested.

    test : a test of scipy.stats, which gets arrays of the named columns (docs/inference.md has the
        list); or a function of your own, which gets a DataFrame of one block, and returns a p-value
        or a result with ``.pvalue``.
    frame : a private frame, maybe filtered or with columns assigned; for a function of your own a
        plain DataFrame or its ``df.dp``.
    columns : the names of the columns that the test sees, in order. Rows where one is missing drop.
    blocks : how many, from 2 to 10,000: 10/epsilon to 20/epsilon, if blocks aren't too small then.
    by, groups : the column that says which group a row is of, and the labels to compare, in order,
        for tests of scipy that compare groups. Declared keys need no groups=.
    alpha : the level for each block; by default the best for this number of blocks and this noise,
        near 0.2: a test at 5 % then finds the smallest shift of normal values.
    exact : whether P[p ≤ α] ≤ α holds for the test at the size of a block: **your** statement.
    epsilon : the loss, with ``rho=``, ``mechanism=`` and so on. All other keywords are options of
        the test, as ``method="exact"``: plain values for scipy.

    Null hypothesis: that of the test in each block, of units that are independent draws. The
    statistic T is the number of blocks with p ≤ alpha, with noise of scale 1/epsilon whatever
    max_rows is; its p-value is the exact tail of a binomial number with this noise. So it is exact
    if the test is exact at the size of a block, as Mann and Whitney's with ``method="exact"``,
    Fisher's and permutation tests are. A t-test isn't: on 12 values of a skewed law it rejects 32 %
    at 10 %, and then the test of 20 such blocks 64 % at 5 %.

    A block without rows, or whose test fails or returns no number from 0 to 1, isn't significant.
    What a test warns, prints, logs or raises is discarded, but not what it writes elsewhere, and
    its time isn't protected. A function of your
    own must not remember one block in another. It sees numbers as float64, truth values as bool and
    all else as objects, with all rows of a unit, in no order. No test of scipy knows which rows are
    of one unit: make one row of each by `PrivateFrame.per_unit` first.

    Before the charge a function of your own is tried on made-up rows, few and many, of the declared
    kinds, bounds and labels: if it never returns a number from 0 to 1, it is refused.

    Returns a `BlockTestResult`. Raises `QueryError` for what can't be asked, and `LineageError` for
    functions of your own on verified frames and in strict sessions, before the charge.

    *Guarantee*: epsilon-differential privacy of the unit, which lies in one block; for a function
    of your own, if it is as said (docs/proofs/blockwise.md; Kazan, Shi, Groce and Bray, ICML 2023).

    >>> import numpy as np, pandas as pd, dppandas as dp, scipy.stats
    >>> minutes = np.random.default_rng(0).exponential(30, 4000) + [0, 15] * 2000
    >>> df = pd.DataFrame({"minutes": minutes, "arm": ["A", "B"] * 2000})
    >>> dp.stats.blockwise(scipy.stats.mannwhitneyu, df, "minutes", by="arm", groups=["B", "A"],
    ...                    blocks=40, epsilon=4, method="exact", exact=True).pvalue < 0.001
    True
    """
    asked = Asked.parse(frame, columns, by, groups, blocks, alpha, exact)
    ways, options = _parted(more)
    return UnreleasedBlockTest._ask(asked.of(test, options), Ways.read(epsilon, ways))


def _parted(more: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of the release, and those of the test."""
    of_release = Ways.__dataclass_fields__
    ways = {name: value for name, value in more.items() if name in of_release}
    return ways, {name: value for name, value in more.items() if name not in of_release}


def _parse_blocks(blocks: object) -> int:
    if blocks is None:
        raise MissingArgument(
            "blocks= is needed: into how many blocks units are dealt. Between 10/epsilon and "
            "20/epsilon is best where a block has enough rows to be tested: 20 at epsilon=1, say. "
            "dppandas never counts rows to choose it."
        )
    return whole_number(blocks, "blocks", 2, MOST_BLOCKS)


def _parse_level(alpha: object) -> float:
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha < 1:
        raise QueryError(
            f"alpha={quoted(alpha)} must be a number above 0 and below 1: the level at which each "
            "block is tested. Leave it out for the one that is best by blocks= and epsilon=."
        )
    return float(alpha)


@dataclass(frozen=True)
class Asked:
    """What a call asks, but for its test."""

    frame: PrivateFrame
    names: Sequence[Any]
    by: Any
    groups: Any
    blocks: int
    level: float | None
    exact: bool

    @classmethod
    def parse(
        cls, frame: Any, columns: Sequence[Any], by: Any, groups: Any, blocks: Any, alpha: Any,
        exact: Any,
    ) -> Self:  # fmt: skip
        """The arguments, of which each is public."""
        source = private_frame(frame, "stats.blockwise")
        number, level = _parse_blocks(blocks), None if alpha is None else _parse_level(alpha)
        if not isinstance(exact, bool):
            raise QueryError(
                f"exact={quoted(exact)} must be True or False: whether the test is exact at the "
                "size of a block."
            )
        names = names_of(list(columns))
        if not names:
            raise QueryError(
                "name the columns that the test sees, as in blockwise(test, frame, 'minutes', …)."
            )
        return cls(source, names, by, groups, number, level, exact)

    @property
    def table(self) -> Table:
        return self.frame._table

    def of(self, test: Any, options: Mapping[str, Any]) -> Request:
        """The request of a test."""
        name = scipy_tests.name_of(test)
        return self.of_own(test, options) if name is None else self.of_scipy(name, options)

    # tests of scipy

    def of_scipy(self, name: str, given: Mapping[str, Any]) -> Request:
        """The request of a test of the list."""
        options = scipy_tests.parse_options(name, given)
        handed = self._handed(name)
        shown = [self._shown(each, handed) for each in self.names]
        if self.by is not None:
            shown.append(self._group(handed))
        test = ScipyTest(name, handed, options)
        scipy_tests.try_out(test, shown)
        if self.exact:
            rows = self.table.source.unit.max_rows * self.table.branches
            scipy_tests.check_exact(name, given, rows)
        what = self._what(f"{name} in {self.blocks} blocks", shown)
        what = replace(what, verb=what.verb._replace(of=f"{what.verb.name} of")).beside(
            *((option, repr(value)) for option, value in options)
        )
        return self._request(self.table, shown, test, what)

    def _handed(self, name: str) -> str:
        """How the test is handed what is asked. Refuses what it isn't for."""
        ways, number = scipy_tests.KNOWN[name].handed, len(self.names)
        if is_grouped := ways[0] in tests.BY_GROUPS:
            fits = number == 1 and self.by is not None
        else:
            fits = self.by is None and self.groups is None
        wanted = [way for way in ways if number == (2 if way == tests.PAIRS else 1)]
        if fits and wanted:
            return wanted[0]
        if is_grouped:
            raise QueryError(
                f"scipy.stats.{name} compares groups: name one column, and the column that says "
                "which group a row is of, as in blockwise(test, frame, 'minutes', by='arm', "
                "groups=['B', 'A'], …)."
            )
        said = " or ".join("two columns" if way == tests.PAIRS else "one column" for way in ways)
        raise QueryError(f"scipy.stats.{name} is of {said}, without by= and groups=.")

    def _shown(self, name: Any, handed: str) -> Shown:
        """A column as the test sees it."""
        expression = self.frame._found_column(name)
        if handed == tests.SUCCESSES:
            return Shown(name, expression, tests.TRUTH)
        if handed not in (tests.FOURFOLD, tests.TABLE):
            return Shown(name, expression)
        keys = keys_known(self.table, expression)
        if keys is None:
            raise MissingArgument(
                f"which labels {quoted(name)} has must be known. Declare them first, as in "
                f"frame.declare({{{quoted(name)}: ['a', 'b']}}); or use True and False."
            )
        if keys.labels == (False, True):
            keys = Keys((True, False))
        self._check_number(handed, name, keys)
        return Shown(name, expression, tests.LABEL, keys)

    def _group(self, handed: str) -> Shown:
        """The column that says which group a row is of."""
        (by,) = names_of([self.by])
        expression = self.frame._found_column(by)
        if self.groups is not None:
            keys = Keys.parse(self.groups, [by], "groups=")
        elif (known := keys_known(self.table, expression)) is not None:
            keys = known
        else:
            raise MissingArgument(
                f"groups= is needed: which labels of {quoted(by)} are compared, as in "
                "groups=['B', 'A']. They are never read from the data."
            )
        facts = self.table.source.facts
        expressions.agree(expression, facts, keys.labels)
        expressions.times_once(expression, facts, keys.labels)
        self._check_number(handed, by, keys)
        return Shown(by, expression, tests.LABEL, keys)

    def _check_number(self, handed: str, name: Any, keys: Keys) -> None:
        """Refuse too many or too few labels."""
        is_two = handed in (tests.TWO, tests.FOURFOLD)
        if len(keys) < 2 or (is_two and len(keys) > 2):
            wanted = "two" if is_two else "two or more"
            raise QueryError(
                f"the test compares {wanted} labels of {quoted(name)}, and there are {len(keys)}. "
                "Give those to compare: groups=['B', 'A'], or a column of True and False."
            )

    # functions of the caller

    def of_own(self, test: Any, options: Mapping[str, Any]) -> Request:
        """The request of a function that isn't on the list."""
        _check_own(test)
        if self.table.source.verified:
            raise LineageError(
                "a verified frame never shows its rows, but your function would see them. Use a "
                f"test of scipy.stats from the list: {', '.join(scipy_tests.KNOWN)}. If you vouch "
                "for the function, start from the plain frame: dp.stats.blockwise(test, df, …)."
            )
        if self.by is not None or self.groups is not None:
            raise QueryError(
                "by= and groups= are for tests of scipy. A function of your own sees all columns "
                "that are named: name the one with the groups, too."
            )
        function = functools.partial(test, **options) if options else test
        schema = self.table.source.facts.schema
        shown = [Shown(name, found, _form(found.kind(schema)))
                 for name in self.names for found in [self.frame._found_column(name)]]  # fmt: skip
        own = CallerTest(function)
        try_out(
            lambda rows: problem_of(function, rows, _number_of, "number from 0 to 1"),
            self.frame, shown, "your function", "a number from 0 to 1 or a result with .pvalue",
            "Blocks in which it fails aren't significant, and nobody will be told how many do.",
        )  # fmt: skip
        said = asked_by(f"test in {self.blocks} blocks by the caller's function", test)
        what = replace(self._what("", shown), verb=said.verb).beside(*said.options)
        return self._request(vouched(self.frame), shown, own, what)

    # both

    def _what(self, said: str, shown: Sequence[Shown]) -> Question:
        """The question in words."""
        grouped = shown[-1] if self.by is not None else None
        asked = {each.name: each.expression for each in shown if each is not grouped}
        what = replace(told(said), columns=operands(asked))
        if grouped is not None and grouped.keys is not None:
            what = replace(what, keys=(operand(grouped.name, grouped.expression),))
            what = what.beside(("groups", Later(labels, grouped.keys)))
        return what if self.level is None else what.beside(("alpha", repr(self.level)))

    def _request(
        self, table: Table, shown: Sequence[Shown], test: BlockTest, what: Question
    ) -> Request:
        unit = table.source.unit.column
        read = frozenset().union(*(each.expression.columns() for each in shown))
        hashed = tuple(name for name in table.engine.columns if name in read)
        statistic = SignificantBlocks(
            Cells(), Layout(integer=True), tuple(shown), test, self.blocks, self.level,
            hashed if unit is None else (unit,), unit is not None, table.branches, self.exact,
        )  # fmt: skip
        return UnreleasedBlockTest._of(table, self.frame._where, statistic, what)


def _form(kind: str) -> str:
    """How a column is shown to a function, by the kind that is publicly known."""
    return {kinds.NUMBER: tests.NUMBER, kinds.TRUTH: tests.TRUTH}.get(kind, tests.OBJECT)


def _check_own(test: Any) -> None:
    """Refuse what isn't a function of a DataFrame, and say how to ask what was meant."""
    if (name := scipy_tests.without_options(test)) is not None:
        raise QueryError(
            f"give scipy.stats.{name} itself, and its options beside it: "
            f"blockwise(scipy.stats.{name}, frame, …, method='exact')."
        )
    if not callable(test):
        raise QueryError(
            "test must be a test of scipy.stats, such as scipy.stats.mannwhitneyu, or a function "
            f"of a DataFrame; not a {type(test).__name__}."
        )
    if str(getattr(test, "__module__", "")).startswith("scipy."):
        raise QueryError(
            "this test of scipy isn't on the list of those that are handed columns: "
            f"{', '.join(scipy_tests.KNOWN)}. Write a function of the rows, which needs a plain "
            "frame: lambda rows: scipy.stats.…(rows['minutes'])."
        )


def _number_of(returned: Any) -> float | None:
    found = tests.pvalue_of(returned)
    return None if math.isnan(found) else found


# --- the result -----------------------------------------------------------------------------------


def _check_reach(request: Request, ways: Ways) -> None:
    """Refuse a loss at which noise hides whatever blocks say."""
    if ways.epsilon is None and ways.rho is None:
        return
    query = request.query(request.completed(ways).loss_request())
    statistic: Any = query.statistic
    if is_hopeless(statistic.blocks, statistic.level, query.mechanism()):
        raise QueryError(
            f"with {statistic.blocks} blocks and this loss, noise would hide it if all of them "
            "were significant. Give more blocks, from 10/epsilon to 20/epsilon; a larger loss; or "
            "leave alpha= out, and the best is used."
        )


def result_of(record: Record) -> BlockTestResult:
    """What a noisy number of significant blocks says."""
    statistic: Any = record._statistic
    (noisy,), law, test = record._noisy, record._law, statistic.test
    blocks, level = statistic.blocks, statistic.level
    chance = pvalue(noisy, blocks, level * (1 + BESIDE), law)
    is_combined = isinstance(law, CombinedNoise)
    name = test.name if isinstance(test, ScipyTest) else "test"
    options = dict(test.options) if isinstance(test, ScipyTest) else {}
    said = options.get("alternative")
    return BlockTestResult(
        test=f"blockwise {name}",
        statistic=math.nan if record.preview else float(noisy),
        pvalue=math.nan if record.preview else chance,
        exact=statistic.is_exact and not is_combined,
        null=_null(statistic, options),
        noise=(
            f"Of {blocks} blocks of units about {float(noisy):g} have p ≤ {level:g}, with noise of "
            f"scale {float(law.scale):.3g} ({record.mechanism}), which the p-value counts"
        ),
        source=_source(record),
        alternative=said if said in ALTERNATIVES else "two-sided",
        notes=(
            *_notes(statistic, is_combined),
            *_of_units(record, statistic),
            *one_of_several("blockwise", record.ledger, record.number),
        ),
        blocks=blocks,
        alpha=level,
        _record=record,
    )


def _null(statistic: Any, options: Mapping[str, Any]) -> str:
    """The null hypothesis, and what is assumed."""
    test = statistic.test
    assumed = "units are independent draws from a population"
    if not isinstance(test, ScipyTest):
        is_stated = ", which its caller states to be exact" if statistic.is_exact else ""
        return f"that of the caller's function{is_stated}, in each block; {assumed}"
    known = scipy_tests.KNOWN[test.name]
    columns = [str(each.name) for each in statistic.columns_shown]
    grouped = statistic.columns_shown[-1]
    if grouped.form == tests.LABEL and len(columns) > 1:
        columns.pop()
        groups = f" ({grouped.name}: {labels(grouped.keys)})"
    else:
        groups = ""
    null = known.null.format(" and ".join(columns)) + groups
    given = known.exact.given if statistic.is_exact and known.exact is not None else ""
    return "; ".join(filter(None, [null, given, assumed]))


def _source(record: Record) -> str:
    numbers = sorted({part.number for part in record.components})
    cost = f"cost {record.loss.in_short}"
    if len(numbers) == 1:
        return f"from release {numbers[0]}, which {cost}"
    return f"from releases {', '.join(map(str, numbers))}, which {cost} in all"


def _notes(statistic: Any, is_combined: bool) -> list[str]:
    found = []
    if not statistic.is_exact:
        found.append(
            "It is as good as each block's test is at the size of a block: what is slightly wrong "
            "there is wrong in all blocks alike."
        )
    if isinstance(statistic.test, CallerTest):
        found.append("That the function remembers no block in another is its caller's statement.")
    if is_combined:
        found.append(
            "It holds if the releases and their losses were fixed before an answer was seen."
        )
    return found


def _of_units(record: Record, statistic: Any) -> list[str]:
    """What a test of scipy isn't told."""
    query = record._query
    if query.source.unit.max_rows * query.branches == 1 or not isinstance(
        statistic.test, ScipyTest
    ):
        return []
    return [
        "Units may have several rows, which the test takes for independent: rows of one unit that "
        "are alike make it find what isn't there. Make one row of each, by .per_unit().agg(…)."
    ]


def _restored(said: Mapping[str, Any]) -> BlockTestResult:
    """A result from a pickle: what its record says."""
    return result_of(said["_record"])


results.SHAPES[SignificantBlocks] = result_of
register(BlockTestResult, _restored)
