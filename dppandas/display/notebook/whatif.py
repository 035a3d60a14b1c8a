"""The error and the cost that an operation would have at an ε, before any is spent.

Public facts decide both, as before every release: nothing is read, charged or noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from html import escape
from typing import Any

from ...errors import DPError
from ...frames.frame import PrivateFrame
from ...ledger import html
from ...ledger.ledger import Ledger
from ...privacy.accounting.losses import LARGEST, SMALLEST, Epsilon, Loss, parse_epsilon, parse_rho
from ...privacy.accounting.measures import Measure
from ...release.accuracy.expected import CONFIDENCE, in_words
from ...release.blocks import split
from ...release.private import Table
from ...release.query import Query
from ...release.session import Session, running
from ...release.unreleased import Unreleased
from ...rows.expressions import Column
from ...rows.facts.bounds import Bounds
from ...rows.facts.domain import Declaration
from ...rows.facts.keys import Keys
from ...statistics.layout import format_number

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
    """The values of a slider: 1, 1.5, 2, 3, 5 and 7 of each power of ten, up to the budget."""
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
    """The symbol of what the slider sets."""
    return "ε" if query.asked.rho is None else "ρ"


def takes_rows(query: Query) -> bool:
    """Whether the error is that of a ratio, and so depends on how many rows it is taken over."""
    return query.statistic.per_row(1) is not None and not query.statistic.layout.is_mixed


def forecast(ledger: Ledger, query: Query, value: object, rows: float) -> str:
    """As HTML: the error at 95 %, and how many such releases what is left pays for."""
    try:
        in_epsilon = query.asked.rho is None
        more: Any = {"epsilon": parse_epsilon(value)} if in_epsilon else {"rho": parse_rho(value)}
        asked = replace(query.asked, draw=1, **more)
        query = replace(query, asked=asked)
        mechanism = query.mechanism()
        cost = asked.charged(query.loss(mechanism))
        error = in_words(query.statistic, mechanism)
        if takes_rows(query):
            found = query.statistic.error_before(mechanism, CONFIDENCE, rows)
            error = f"about ± {query.statistic.in_short(found)} over {format_number(rows)} rows"
        is_free = ledger._stored(query.key, 1) is not None
    except DPError as refusal:
        return escape(str(refusal))
    said = f"<b>{escape(error)}</b> (95 %)" if error else "an error that only the answer decides"
    return f"{said} · {_affordable(ledger, query, cost, is_free)}"


def _affordable(ledger: Ledger, query: Query, cost: Loss, is_free: bool) -> str:
    if is_free:
        return "answered already: asking again is free"
    fit = how_many(ledger, query, cost)
    if fit is None:
        return f"costs {cost.in_short}, and there is no limit"
    if not fit:
        return f"costs {cost.in_short}: <b>more than is left</b>"
    return f"costs {cost.in_short} · {fit:,} such release{'s' if fit > 1 else ''} left"


def how_many(ledger: Ledger, query: Query, cost: Loss) -> int | None:
    """How many releases at this cost what is left pays for; None without a limit. In a part of a
    source that may be more than for the whole source, if other parts have spent more."""
    limit, spending = ledger._terms.limit, ledger._store.spending
    if limit is None:
        return None
    place = query.source.name, query.path
    fit = 0
    for step in (1 << bit for bit in reversed(range(40))):
        many = Loss(*(type(part)(part * (fit + step)) for part in vars(cost).values()))
        if spending.plus([(place, many)]).total.within(limit):
            fit += step
    return fit


class WhatIf:
    """A choice of operations, an ε to type or to slide to, and the forecast for both."""

    def __init__(self, ledger: Ledger) -> None:
        import ipywidgets

        self._ledger = ledger
        self._offers: dict[str, Query] = {}
        self._choice, self._rows = ipywidgets.Dropdown(), ipywidgets.BoundedFloatText()
        self._loss = ipywidgets.Text(continuous_update=True)
        self._slider = ipywidgets.SelectionSlider(options=_options(ledger), readout=False)
        self._answer = ipywidgets.HTML()
        _lay(self._choice, "What if", 28, "an operation: nothing is computed or charged here")
        _lay(self._loss, "ε", 9, "the privacy loss of one release")
        _lay(self._slider, "", 16, "the privacy loss of one release")
        _lay(self._rows, "rows", 12, "about how many it is taken over, from public knowledge")
        self._rows.min, self._rows.max, self._rows.value = 1, 1e12, 1000
        self._set_slider()
        self._loss.value = str(self._slider.value)
        controls = [self._choice, self._loss, self._slider, self._rows]
        row = ipywidgets.HBox(controls, layout={"flex_flow": "row wrap"})
        self.box = ipywidgets.VBox([row, self._answer])
        self._slider.observe(self._slid, "value")
        for each in (self._choice, self._loss, self._rows):
            each.observe(self._tell, "value")

    def _set_slider(self) -> None:
        """Let the slider reach up to the budget, and begin at a twentieth of it."""
        self._budget = self._ledger.budget
        self._slider.options = options = _options(self._ledger)
        middle = float(options[-1][1]) / 20
        self._slider.value = min((v for _, v in options), key=lambda v: abs(float(v) - middle))

    def _slid(self, change: Any) -> None:
        self._loss.value = str(self._slider.value)

    def update(self) -> None:
        """Bring the choices and the forecast up to date."""
        session = running()
        is_on = session is not None and session.ledger is self._ledger
        self._offers = offers(session) if session is not None and is_on else {}
        if self._budget != self._ledger.budget:
            self._set_slider()
        names = list(self._offers)
        if names != list(self._choice.options):
            chosen = self._choice.value
            self._choice.options = names
            self._choice.value = chosen if chosen in names else names[0] if names else None
        self._tell()

    def _tell(self, change: Any = None) -> None:
        query = self._offers.get(self._choice.value)
        self.box.layout.display = "none" if query is None else None
        if query is None:
            return
        self._loss.description = symbol(query)
        self._rows.layout.display = None if takes_rows(query) else "none"
        said = forecast(self._ledger, query, self._loss.value, self._rows.value)
        self._answer.value = html.framed(f'<p class="dp-told" role="status">{said}</p>')


def _options(ledger: Ledger) -> list[tuple[str, Epsilon]]:
    return [(str(value), value) for value in steps(ledger)]


def _lay(control: Any, label: str, width: int, tooltip: str) -> None:
    """Set the width of a control in em, and that of its label by its length."""
    control.description, control.tooltip = label, tooltip
    control.style.description_width = f"{len(label) * 0.6 + 0.6:.2g}em"
    control.layout.width, control.layout.max_width = f"{width}em", "100%"
