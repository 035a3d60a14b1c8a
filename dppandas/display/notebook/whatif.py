"""The error and the cost that an operation would have at an ε, before any is spent.

Public facts decide both, as before every release: nothing is read, charged or noted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from html import escape
from typing import Any, NamedTuple

import pandas as pd

from ...errors import DPError, QueryError
from ...frames.frame import PrivateFrame
from ...ledger import html, words
from ...ledger.ledger import Ledger
from ...privacy.accounting.losses import (
    LARGEST,
    NO_EPSILON,
    SMALLEST,
    Epsilon,
    Loss,
    parse_budget,
    parse_epsilon,
    parse_rho,
)
from ...privacy.accounting.measures import Measure
from ...release.accuracy import reach, target_error
from ...release.accuracy.expected import CONFIDENCE, in_words
from ...release.blocks import split
from ...release.private import Table
from ...release.query import Query
from ...release.session import Session, running
from ...release.unreleased import Unreleased
from ...release.ways import Ways
from ...rows.expressions import Column
from ...rows.facts.bounds import Bounds
from ...rows.facts.domain import Declaration
from ...rows.facts.keys import Keys
from ...statistics.layout import format_number
from . import code

#: How many columns of a source are offered.
COLUMNS = 8


def offers(session: Session) -> dict[str, Query]:
    """Queries to choose from, by name: those asked in this kernel, then for each source its count,
    means of columns with declared bounds, and histograms of columns with keys."""
    found = dict(session._asked)
    in_rho = session._terms.measure is Measure.ZCDP
    one: Any = {"epsilon": None, "rho": 1} if in_rho else {"epsilon": 1}
    for held in list(session._sources.values()):
        source = replace(held.source, domain=held.facts.known)
        columns = {name: Column(name) for name in list(source.domain)[:COLUMNS]}
        frame = PrivateFrame(Table(source, held.engine, held.engine), columns)
        for each in _plain(frame, source.domain):
            query = each._request.query(session._terms.asked(**one))
            found.setdefault(query.name, query)
    return found


def _plain(frame: PrivateFrame, domain: Mapping[Any, Declaration]) -> list[Unreleased]:
    """Plain questions. This may run within a split, whose shares are for its own questions."""
    with split.inside():
        plain: list[Unreleased] = [frame.size()]
        for name in frame.columns:
            if isinstance(domain[name], Keys):
                plain.append(frame[name].value_counts())
            elif isinstance(domain[name], Bounds):
                plain.append(frame[name].mean())
    return plain


def steps(ledger: Ledger) -> list[Epsilon]:
    """The values that two buttons lead to: 1, 1.5, 2, 3, 5 and 7 of each power of ten, up to the
    budget."""
    most = min(ledger.budget or Epsilon(10), Epsilon(LARGEST))
    power = Fraction(1)
    while power > most:
        power /= 10
    while power * 10 <= most:
        power *= 10
    marks = [Fraction(m, 10) for m in (10, 15, 20, 30, 50, 70)]
    values = {power / 10**p * mark for p in range(4) for mark in marks} | {Fraction(most)}
    return [Epsilon(v) for v in sorted(values) if SMALLEST <= v <= most] or [most]


def symbol(query: Query) -> str:
    """The symbol of what is asked."""
    return "ε" if query.asked.rho is None else "ρ"


def takes_rows(query: Query) -> bool:
    """Whether the error is that of a ratio, and so depends on how many rows it is taken over."""
    return query.statistic.errors.per_row(1) is not None and not query.statistic.layout.is_mixed


class Forecast(NamedTuple):
    """What a release would give, as HTML, and what it would take."""

    said: str
    takes: Loss | None = None  # in all, beside what is spent; None where it isn't known, or nothing


def forecast(ledger: Ledger, query: Query, value: object, rows: float) -> Forecast:
    """The error at 95 %, what would be left, and how many more such releases that pays for."""
    try:
        query, cost = priced(query, value)
        mechanism = query.mechanism()
        error = in_words(query.statistic, mechanism)
        if takes_rows(query):
            found = query.statistic.errors.error_before(mechanism, CONFIDENCE, rows)
            said = query.statistic.errors.in_short(found)
            error = f"about ± {said} over {format_number(rows)} rows"
        drowned = reach.told_of(query, mechanism)
        is_free = ledger._stored(query.key, 1) is not None
    except DPError as refusal:
        return Forecast(escape(str(refusal)))
    gives = (
        f"gives <b>{escape(error)}</b> (95 %)" if error else "its error is known with the answer"
    )
    if is_free:
        return Forecast(f"{gives}; answered already: asking again is free")
    said, takes = _paid(ledger, query, cost)
    told = f"<br>{escape(drowned[0].upper() + drowned[1:])}" if drowned else ""
    return Forecast(f"{gives}, {said}{told}", takes)


def priced(query: Query, value: object) -> tuple[Query, Loss]:
    """The query at another loss, drawn once, and what is charged for it."""
    in_epsilon = query.asked.rho is None
    more: Any = {"epsilon": parse_epsilon(value)} if in_epsilon else {"rho": parse_rho(value)}
    asked = replace(query.asked, draw=1, **more)
    query = replace(query, asked=asked)
    return query, asked.charged(query.loss(query.mechanism()))


def _paid(ledger: Ledger, query: Query, cost: Loss) -> tuple[str, Loss]:
    """What the session pays for it, in words, and how much more is spent then."""
    spending, measure = ledger._store.spending, ledger._terms.measure
    after = spending.plus([((query.source.name, query.path), cost)]).total
    takes = after - spending.total
    fit = how_many(ledger, query, cost)
    asked = query.asked
    typed = Loss(asked.epsilon or NO_EPSILON) if asked.rho is None else Loss(rho=asked.rho)
    costs = "" if takes == cost == typed else f"costs {cost.in_short}, "
    if fit is None or ledger._terms.limit is None:
        return f"costs {cost.in_short}; there is no limit", takes
    if not fit:
        return f"costs {cost.in_short}: <b>more than is left</b>", takes
    rest = measure.first(ledger._terms.limit - after)
    more = f"{fit - 1:,} more like it" if fit > 1 else "no other like it"
    return f"{costs}leaves {words.short(rest, down=True)}: {more}", takes


def needed(query: Query, error: str, rows: float) -> str:
    """The least ε (or ρ) of three digits that keeps an error, as text. Raises `DPError`."""
    said: object = error
    if query.statistic.layout.ruler is not None and not query.statistic.errors.in_ranks:
        try:
            said = pd.Timedelta(error)
        except ValueError:
            raise QueryError("give a duration, such as 2 days.") from None
    asked = query.asked
    expected = rows if takes_rows(query) else None
    ways = Ways(
        delta=asked.delta or None,
        mechanism=asked.named or None,
        within=said,
        expected_rows=expected,
    )
    goal = target_error.parsed(ways, query.statistic, query.what, query.source.schema)
    way = "epsilon" if asked.rho is None else "rho"
    found = goal.solved(lambda loss: replace(query, asked=loss), ways, way)
    return str(found.epsilon if found.rho is None else found.rho)


def how_many(ledger: Ledger, query: Query, cost: Loss) -> int | None:
    """How many releases at this cost what is left pays for; None without a limit. In a part of a
    source that may be more than for the whole source, if other parts have spent more."""
    limit, spending = ledger._terms.limit, ledger._store.spending
    if limit is None:
        return None
    place = query.source.name, query.path
    pairs = zip(vars(limit).values(), vars(cost).values(), strict=True)
    most = min((int(whole // part) for whole, part in pairs if part), default=0)
    fit = 0
    for step in (1 << bit for bit in reversed(range(most.bit_length()))):
        many = Loss(*(type(part)(part * (fit + step)) for part in vars(cost).values()))
        if spending.plus([(place, many)]).total.within(limit):
            fit += step
    return fit


class WhatIf:
    """A sentence to fill in: a question of a source at an ε, and what it would give; and its
    inverse, an error that finds the ε."""

    def __init__(self, ledger: Ledger, tell: Callable[[Loss | None], None]) -> None:
        """``tell`` is called with what the next release would take, whenever that changes."""
        import ipywidgets

        self._ledger, self._report = ledger, tell
        self._offers: dict[str, dict[str, Query]] = {}
        self._is_moved, self._is_filling, self._is_solving = False, False, False
        self._question, self._source = ipywidgets.Dropdown(), ipywidgets.Dropdown()
        self._loss, self._error = ipywidgets.Text(), ipywidgets.Text(continuous_update=False)
        self._rows = ipywidgets.BoundedFloatText(min=1, max=1e12, value=1000)
        self._less = _button("minus", "a smaller ε")
        self._more = _button("plus", "a larger ε")
        self._answer, self._code = ipywidgets.HTML(), ipywidgets.HTML()
        row: Any = {"flex_flow": "row wrap", "align_items": "center", "max_width": "100%"}
        self._copy = ipywidgets.HBox([self._code, ipywidgets.HTML(code.BUTTON)], layout=row)
        self._copy.add_class("dp-code")
        _lay(self._question, "What if I ask", 23, "a question: nothing is computed or charged here")
        _lay(self._source, "of", 13, "the source that is asked")
        _lay(self._loss, "at ε", 8, "the privacy loss of one release")
        _lay(self._rows, "over rows", 14, "about how many, from public knowledge")
        _lay(self._error, "I need ±", 12, "an error, at 95 %: finds the ε for it")
        stepped = [self._loss, self._less, self._more]  # on one line, however narrow
        loss = ipywidgets.HBox(stepped, layout={"align_items": "center", "max_width": "100%"})
        first = [self._question, self._source, loss, self._rows]
        second = [self._error, self._copy]
        rows = [
            ipywidgets.HBox(first, layout=row),
            self._answer,
            ipywidgets.HBox(second, layout=row),
        ]
        self.box = ipywidgets.VBox(rows)
        self._budget = ledger.budget
        self._loss.value = self._usual()
        self._less.on_click(lambda _: self._step(-1))
        self._more.on_click(lambda _: self._step(1))
        self._source.observe(self._chosen, "value")
        self._loss.observe(self._moved, "value")
        for each in (self._question, self._rows):
            each.observe(self._changed, "value")
        self._error.observe(self._solve, "value")

    def _usual(self) -> str:
        """A twentieth of the budget, or about."""
        values = steps(self._ledger)
        return str(min(values, key=lambda value: abs(value - values[-1] / 20)))

    def _step(self, by: int) -> None:
        """Go to the next value up or down."""
        values = steps(self._ledger)
        with suppress(DPError):
            here = parse_budget(self._loss.value, "epsilon")
            beyond = [v for v in values if (v > here if by > 0 else v < here)]
            if beyond:
                self._loss.value = str(beyond[0] if by > 0 else beyond[-1])

    @property
    def _query(self) -> Query | None:
        return self._offers.get(self._source.value, {}).get(self._question.value)

    def update(self) -> None:
        """Bring the choices and the forecast up to date."""
        session = running()
        is_on = session is not None and session.ledger is self._ledger
        self._offers = {}
        for query in (offers(session) if session is not None and is_on else {}).values():
            source = query.name.removesuffix(f": {query.text}")
            self._offers.setdefault(source, {})[query.text] = query
        if self._budget != self._ledger.budget:
            self._budget = self._ledger.budget
            self._loss.value = self._usual()
        self._fill()
        self._tell()

    def _fill(self) -> None:
        """Offer what there is; what was chosen stays."""
        self._is_filling = True
        _offer(self._source, list(self._offers))
        _offer(self._question, list(self._offers.get(self._source.value, ())))
        self._is_filling = False

    def _chosen(self, change: Any) -> None:
        if not self._is_filling:
            self._fill()
            self._changed()

    def _changed(self, change: Any = None) -> None:
        """Another question, or about another number of rows: an error that is needed still is."""
        if not self._is_filling:
            self._is_moved = True
            self._tell()
            self._solve()

    def _moved(self, change: Any) -> None:
        """Another ε. One that a person gives takes the place of an error that is needed."""
        self._is_moved = True
        if not self._is_solving:
            self._error.value = ""
        self._tell()

    def _solve(self, change: Any = None) -> None:
        """Find the ε for an error."""
        query, error = self._query, self._error.value.strip().removeprefix("±").strip()
        if query is None or not error:
            return
        try:
            found = needed(query, error.replace(",", ""), self._rows.value)
        except DPError as refusal:
            self._say(Forecast(escape(str(refusal))))
            return
        self._is_solving = True
        self._loss.value = found
        self._is_solving = False

    def _tell(self) -> None:
        query = self._query
        self.box.layout.display = "none" if query is None else None
        if query is None:
            self._report(None)
            return
        name = symbol(query)
        self._loss.description = f"at {name}"
        self._rows.layout.display = None if takes_rows(query) else "none"
        self._say(forecast(self._ledger, query, self._loss.value, self._rows.value))
        asked = code.code_of(
            query, f"{_ARGUMENT[name]}={self._loss.value.strip()}", code.variables()
        )
        self._code.value = code.written(asked)
        self._copy.layout.display = None if asked else "none"

    def _say(self, found: Forecast) -> None:
        said = f'<div class="dp-told" role="status" style="margin:2px 0">{found.said}</div>'
        self._answer.value = html.framed(said)
        self._report(found.takes if self._is_moved else None)


_ARGUMENT = {"ε": "epsilon", "ρ": "rho"}


def _button(icon: str, says: str) -> Any:
    import ipywidgets

    return ipywidgets.Button(icon=icon, tooltip=says, layout={"width": "2.6em"})


def _offer(control: Any, names: list[str]) -> None:
    if names != list(control.options):
        chosen = control.value
        control.options = names
        control.value = chosen if chosen in names else names[0] if names else None


def _lay(control: Any, label: str, width: int, tooltip: str) -> None:
    """Set the width of a control in em, and that of its label by its length."""
    control.description, control.tooltip = label, tooltip
    control.style.description_width = f"{len(label) * 0.48 + 0.7:.2g}em"
    control.layout.width, control.layout.max_width = f"{width}em", "calc(100% - 4px)"
