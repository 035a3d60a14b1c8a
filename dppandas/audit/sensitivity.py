"""Sensitivity checks: how much one unit changes exact integers, against what a query declares."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import pandas as pd

from ..dataclasses import dataclass, field, fields, replace
from ..errors import QueryError, quoted
from ..frames.frame import PrivateFrame
from ..frames.protect import protect
from ..privacy.mechanisms.base import Mechanism
from ..privacy.sampling import entropy
from ..release.context import watching
from ..release.query import Query
from ..release.session import scratch
from ..rows.facts.domain import parse_domain
from ..rows.facts.kinds import Schema, of_columns, parse, undeclared
from ..rows.facts.units import Unit, whole_number
from ..statistics import Statistic
from ..statistics.callers import CallerFunction
from .pairs import described

#: Rows of a chunk; pairs take turns.
BLOCKS = (1, 3, 8, 2**18)

#: The most problems that a report lists.
MOST = 12

Operation = Callable[[PrivateFrame], Any]


@dataclass(frozen=True)
class SensitivityReport:
    """What `check_sensitivity` found: the largest distance, and every problem.

    `worst` is the distance that came nearest to its `declared` sensitivity, or exceeded it most;
    `query` had it. These are exact facts about the rows: keep the report of real data to yourself.
    """

    worst: int
    declared: int
    query: str
    pairs: int
    releases: int
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no pair has a problem. True doesn't prove it."""
        return not self.problems

    def __str__(self) -> str:
        head = f"{'ok' if self.ok else 'NOT OK'}: {self.pairs} pairs, {self.releases} releases"
        if self.query:
            share = f" ({self.worst / self.declared:.0%})" if self.declared else ""
            head += f"; moved {self.worst} of {self.declared} declared{share}, by '{self.query}'"
        if self.ok and self.declared and not self.worst:
            head += ". Nothing moved at all: does op ask the frame that it is given?"
        return "\n".join([head, *(f"- {problem}" for problem in self.problems)])


@dataclass(frozen=True)
class Release:
    """One release without noise, with the integers that the noise would have hidden."""

    query: Query
    mechanism: Mechanism
    exact: Any

    @property
    def asked(self) -> str:
        """Everything about it that must not depend on rows."""
        query = self.query
        return (
            f"'{query}' ({query.asked}, sensitivity {query.sensitivity}, {self.mechanism.name} of "
            f"scale {self.mechanism.scale}, {query.statistic.size} entries)"
        )


@dataclass(frozen=True)
class Run:
    """What an operation did with one frame: its releases, and what anybody can see."""

    releases: tuple[Release, ...]
    error: str
    result: str
    warnings: tuple[str, ...]


def check_sensitivity(
    op: Operation,
    df: pd.DataFrame,
    *,
    unit: Any = None,
    max_rows: int | None = None,
    domain: Any = None,
    kinds: Any = None,
    pairs: int = 200,
) -> SensitivityReport:
    """Compare how much one unit can change an operation with what the operation declares, on
    hostile neighbours.

    op : takes a private frame, makes one or more releases from it, and returns anything.
    df : a frame to model others on (see `neighbours`), with `unit`, `max_rows`, `domain` and
        `kinds` as in `dp.protect`. All frames have the kinds of its columns, whatever they hold.
    pairs : how many pairs of neighbours.

    Both frames of a pair are protected in a session that is thrown away, so nothing is charged to
    yours. Every answer is made of constants in place of noisy integers, so op sees nothing exact.
    The integers of both frames must be within `Query.sensitivity` of each other: in ℓ1 for numbers;
    in ℓ∞ for selections, and all in one direction if the mechanism relies on that. Everything else
    must be the same: releases, queries, scales, results with types and indexes, warnings and
    errors. So op must do the same whenever it gets the same answers.

    Returns a report, whatever it finds. Raises `QueryError` for wrong arguments only.

    >>> import pandas as pd
    >>> df = pd.DataFrame({"age": [20, 30, 40]})
    >>> print(check_sensitivity(lambda p: p.query("age > 25").count(epsilon=1), df, pairs=20))
    ok: 20 pairs, 20 releases; moved 1 of 1 declared (100%), by 'count where age > 25'
    """
    if not callable(op):
        raise QueryError(f"op={quoted(op)} must be a function of a private frame.")
    pairs = whole_number(pairs, "pairs", 1)
    neighbours = described(df, unit, pairs)  # checks df and its columns
    owner = Unit.parse(unit, max_rows, list(df.columns))
    parse_domain(domain, list(df.columns))
    terms = {"domain": domain, "kinds": kinds}
    schema = {**of_columns(df), **parse(kinds, list(df.columns))}
    findings = _Findings()
    for what, one, other in neighbours:
        key = entropy.key()  # the promise holds for every key, if both frames have the same
        block = BLOCKS[len(one) % len(BLOCKS)]  # small ones, so that there are several chunks
        runs = [_run(op, frame, owner, terms, schema, key, block) for frame in (one, other)]
        findings.compare(what, *runs)
    return findings.report(pairs)


def _run(
    op: Operation, frame: pd.DataFrame, unit: Unit, terms: dict[str, Any], schema: Schema,
    key: bytes, block: int,
) -> Run:  # fmt: skip
    """One run without noise, in a session that is thrown away."""
    releases: list[Release] = []

    def watch(query: Query, mechanism: Mechanism, exact: Any) -> Sequence[int]:
        releases.append(Release(query, mechanism, exact))
        return mechanism.dummy_output(query.statistic.size)

    error, result = "", ""
    with warnings.catch_warnings(record=True) as warned, scratch() as session, watching(watch):
        warnings.simplefilter("always")
        try:
            with warnings.catch_warnings():
                # by dtypes, which pandas inferred from these cells; the kinds below are public
                warnings.filterwarnings("ignore", "of the keys of ")
                people = protect(frame, "audited", unit.column, unit.max_rows, **terms)
            unknown = undeclared(schema, terms["kinds"] or ())
            source = replace(people._table.source, schema=schema, undeclared=unknown)
            people = PrivateFrame(replace(people._table, source=source), people._columns)
            # Which rows of a unit are kept is drawn once for a source: here once for a pair.
            engine: Any = session._sources["audited"].engine
            engine.key, engine.block = key, block
            result = _shown(op(people))
        except Exception as raised:
            error = _plain(f"{type(raised).__name__}: {raised}")
    told = tuple(_plain(f"{w.category.__name__}: {w.message}") for w in warned)
    return Run(tuple(releases), error, result, told)


def _plain(text: str) -> str:
    """A text without addresses in memory, which differ from run to run."""
    return re.sub(r"0x[0-9a-f]+", "0x…", text)


def _shown(result: Any) -> str:
    """Types, labels, and also values, because they are made of constants."""
    kind = type(result).__name__
    if isinstance(result, pd.DataFrame):
        columns = [_shown(result[column]) for column in result.columns]
        return f"{kind} {_shown(result.columns)}: {', '.join(columns)}"
    if isinstance(result, pd.Series):
        labels = f"{result.name!r} {result.dtype} {_shown(result.index)}"
        return f"{kind} {labels}: {result.tolist()!r}"
    if isinstance(result, pd.Index):
        return f"{kind} {list(result.names)!r} {result.dtype} {result.tolist()!r}"
    if isinstance(result, list | tuple):
        return f"{kind}({', '.join(map(_shown, result))})"
    if isinstance(result, dict):
        return f"{kind}({', '.join(f'{k!r}: {_shown(v)}' for k, v in result.items())})"
    return f"{kind} {result!r}" if isinstance(result, int | float | str | None) else kind


class _Findings:
    """What the pairs have shown so far."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}
        self.releases = 0
        self.errors: set[str] = set()
        self.worst: tuple[float, int, int, str] = (-1.0, 0, 0, "")

    def compare(self, what: str, one: Run, other: Run) -> None:
        """Note everything that differs between the runs of a pair but must not."""
        self.errors |= {one.error, other.error}
        self._same("another error", one.error, other.error, what)
        if not (one.error or other.error):
            self._same("another result", one.result, other.result, what)
            self._same("another warnings", one.warnings, other.warnings, what)
        counts = [str(len(each.releases)) for each in (one, other)]
        self._same("another number of releases", counts[0], counts[1], what)
        for a, b in zip_longest(one.releases, other.releases):
            if a and b:
                self.releases += 1
                self._same("another query", a.asked, b.asked, what)
                if _alike(a.query.statistic, b.query.statistic):
                    self._compare_distance(a, b, what)
                elif a.asked == b.asked:
                    text = f"another query: two of the name {a.asked}, for {what}"
                    self._problem("another query", text)

    def _compare_distance(self, a: Release, b: Release, what: str) -> None:
        query = a.query
        distance = query.statistic.exact_distance(a.exact, b.exact, bool(query.select))
        declared, norm = query.sensitivity, "ℓ∞" if query.select else "ℓ1"
        share = distance / declared if declared else float("inf" if distance else 0)
        self.worst = max(self.worst, (share, distance, declared, str(query)))
        if distance > declared:
            text = f"'{query}' moved {distance} in {norm}, more than {declared} declared, by {what}"
            self._problem(f"sensitivity of '{query}'", text)
        if query.select and query.statistic.monotone:
            moves = [y - x for x, y in zip(a.exact, b.exact, strict=True)]
            if min(moves) < 0 < max(moves):
                text = f"scores of '{query}' moved both ways, declared monotone, by {what}"
                self._problem(f"direction of '{query}'", text)

    def _same(self, kind: str, one: object, other: object, what: str) -> None:
        if one != other:
            text = f"{kind}: {_short(one)} on one, {_short(other)} on the other, for {what}"
            self._problem(kind, text)

    def _problem(self, kind: str, text: str) -> None:
        """Note a problem, unless there is one of this kind."""
        if len(self.problems) < MOST:
            self.problems.setdefault(kind, text)

    def report(self, pairs: int) -> SensitivityReport:
        """The report of everything that was noted."""
        if not self.releases:
            why = "; ".join(sorted(filter(None, self.errors))) or "it never asked"
            self._problem("nothing", f"no release was made on both frames of any pair: {why}")
        problems, (_, distance, declared, query) = list(self.problems.values()), self.worst
        return SensitivityReport(distance, declared, query, pairs, self.releases, problems)


def _alike(one: Statistic, other: Statistic) -> bool:
    """Whether two statistics are the same as far as can be told: op may make new functions in each
    run, and functions can't be compared."""
    if type(one) is not type(other):
        return False
    both = ((getattr(one, f.name), getattr(other, f.name)) for f in fields(one) if f.compare)
    return all(a == b or all(isinstance(x, CallerFunction) for x in (a, b)) for a, b in both)


def _short(value: object) -> str:
    text = str(value) if value else "none"
    text = text.encode("utf-8", "backslashreplace").decode()  # a label may hold a lone surrogate
    return text if len(text) <= 200 else f"{text[:200]} …"
