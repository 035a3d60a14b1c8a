"""A question about private rows, before a loss is given."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from ..dataclasses import dataclass, replace
from ..errors import BudgetExceeded, LineageError, QueryError
from ..ledger.questions import Question
from ..privacy.accounting.measures import LossRequest, PrivacyBudget
from ..rows import expressions
from ..rows.expressions import Expression
from ..statistics import Statistic
from . import limited
from .accuracy import target_error
from .answers.making import aimed
from .answers.records import Record
from .blocks import split
from .combining import refinable
from .private import Table
from .query import Query
from .release import Asked, release_all
from .ways import Ways
from .wording import described


@dataclass(frozen=True, eq=False)
class Request:
    """A statistic of some rows of a table. Making one checks all its arguments."""

    table: Table
    where: Expression | None
    statistic: Statistic
    what: Question
    kind: Any  # the subclass of `Unreleased` that waits for a loss
    select: int = 0  # how many labels to select; 0: release the numbers

    def __post_init__(self) -> None:
        facts = self.table.source.facts
        if self.where is not None:
            expressions.check(self.where, facts, truth=True)
        seen: dict[tuple[int, bool], Expression] = {}
        for expression in self.statistic.expressions():
            expressions.check(expression, facts, seen=seen)
        for operand, wanted in self.statistic.needed():
            expressions.need(operand, wanted, facts, self.what)
        if self.statistic.cells.limited:
            limited.refuse(self.statistic, self.what)

    def selecting(self, number: int, way: str) -> Request:
        """A request for the labels of the largest entries, instead of the numbers."""
        what = replace(self.what, options=(("select", way), *self.what.options))
        return replace(self, statistic=self.statistic.comparable(), what=what, select=number)

    def query(self, asked: LossRequest) -> Query:
        """The query, at a loss."""
        table = self.table
        if table.refusal:
            raise LineageError(table.refusal)
        rows = table.source.unit.max_rows * table.branches
        statistic = self.statistic.adapted_to(asked, rows)
        return Query(
            table.source, self.where, statistic, asked,
            described(self.what, table, self.where, self.statistic), self.select, table.branches,
            table.path,
        )  # fmt: skip

    def query_at(self, terms: PrivacyBudget, loss: Mapping[str, object]) -> Query:
        """The query at a loss by its name, as a session's terms allow it."""
        delta = getattr(self.statistic, "delta", None)
        return self.query(terms.asked(loss.get("epsilon"), rho=loss.get("rho"), delta=delta))

    def completed(self, ways: Ways) -> Ways:
        """The options, with the δ that the request was made with."""
        if ways.delta is not None and self.kind._has_delta:
            raise QueryError("delta= was given to groupby already. Leave it out here.")
        delta = getattr(self.statistic, "delta", None)
        return replace(ways, delta=delta) if delta and ways.delta is None else ways

    def record(self, ways: Ways) -> Record:
        """The record of the answer. In a split it takes the next share."""
        ways = self.completed(ways)
        with nullcontext(ways) if split.running() is None else split.share(ways) as shared:
            if shared.within is not None:
                return self._near_enough(shared)
            return release_all([self.asked(shared.loss_request())])[0]

    def asked(self, loss: LossRequest) -> Asked:
        """The query at a loss, the engine that reads its rows, and what its answer becomes."""
        query = self.query(loss)
        if self.statistic.cells.limited:
            limited.say_if_nothing_is_saved(query)
        return query, self.table.engine, self.table.row_level_declared, refinable.Record

    def _near_enough(self, ways: Ways) -> Record:
        """The record of an answer that keeps ``within=``."""
        schema = self.table.source.schema
        goal = target_error.parsed(ways, self.statistic, self.what, schema)
        asked = query, *_ = self.asked(goal.solved(self.query, ways))
        try:
            (record,) = release_all([asked], allowed=lambda loss: goal.check(query, loss))
        except BudgetExceeded as error:
            raise goal.cannot_afford(error, self.query, query.asked) from None
        return aimed(record, goal.rows, goal.shown)
