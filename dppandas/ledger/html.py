"""A ledger as HTML: one markup for the widget, for the copy that is saved, and for a still picture.

All styles are inline, and nothing is used that a front end's sanitiser removes: a notebook that
isn't trusted looks as it was saved (docs/adr/0036-two-faces.md). Text has the colour of the page
around it, or a ground of its own; marks are seen on light and on dark grounds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape
from itertools import cycle

from ..errors import unbroken
from ..privacy.accounting.losses import Epsilon
from ..rows.html_tables import LABEL, NUMBER, STRIP, Cell, Column, Markup, Table
from . import charts, words
from .charts import Steps
from .colours import COLOURS
from .snapshot import Snapshot
from .storage.store import Entry
from .words import Row

#: How many rows are seen at once.
PAGE = 10
#: How many charges are read for a page, and at most, where programs made many of them.
SHOWN, MOST = 25, 1000
#: How many releases of a program are listed.
LISTED = 20

#: White text on these is read easily, and these are seen on light and on dark pages.
NOTICE, ALARM, PLAIN = "#8f5f00", "#b83a3a", "#5f7182"
#: Behind what is filled, and around it.
TRACK, EDGE = "rgba(128,128,128,0.15)", "rgb(128,128,128)"
_SOFT = "opacity:0.8"


def html(ledger: Snapshot) -> str:
    """The ledger for a notebook: its head, a bar by source, a line by cell, the newest releases."""
    return still(ledger, Steps(), shown(ledger))


def shown(ledger: Snapshot, before: int | None = None) -> list[Entry]:
    """The newest charges below a number: enough for a page of rows, each of them whole."""
    last = SHOWN
    while True:
        charges = ledger.charges(last, before)
        if len(charges) < last or last >= MOST or len(words.rows(charges)) > PAGE:
            return charges
        last = min(4 * last, MOST)


def still(
    ledger: Snapshot, steps: Steps, charges: Sequence[Entry], state: str = "",
    states: Mapping[str, str] = words.AT_REST,
) -> str:  # fmt: skip
    """A ledger without controls.

    state : what else its head says.
    states : as for `table`.
    """
    told = head(ledger, state) + bar(ledger) + legend(ledger, steps)
    return framed(told + newest(ledger, charges, states))


def framed(part: str) -> str:
    """A piece of the ledger, as a block of its own."""
    return (
        '<div class="dppandas-ledger" style="font-size:13px;line-height:1.5;max-width:1000px">'
        f"{part}</div>"
    )


def head(ledger: Snapshot, state: str = "", is_live: bool = False) -> str:
    """What is left and spent, and the state. ``is_live``: screen readers tell when it changes."""
    said = [words.spent(ledger), *words.more(ledger)]
    parts = [f"<b>{escape(words.left(ledger))}</b>", *map(escape, said)]
    states = "".join(f" {notice(each)}" for each in (words.state(ledger), state) if each)
    role = ' role="status"' if is_live else ""
    exact = escape(f"exactly {ledger.spending.total} spent")
    return (
        f'<div class="dp-head"{role} title="{exact}" style="font-size:15px;margin:4px 0 8px 0">'
        f"{' · '.join(parts)}{states}</div>"
    )


def notice(said: str) -> str:
    """A state, as white text on a colour."""
    alarms = {"nearly spent": NOTICE, words.READ_ONLY: PLAIN, "session ended": PLAIN}
    colour = alarms.get(said, ALARM)
    return (
        f'<span class="dp-state" style="background-color:{colour};color:#ffffff;font-size:12px;'
        f'border-radius:9px;padding:1px 8px;display:inline-block">{escape(said)}</span>'
    )


# --- the bar ------------------------------------------------------------------------------------


def bar(ledger: Snapshot, ghost: Fraction | None = None) -> str:
    """All of the budget, or all that is spent: a segment for each source.

    ghost : what the next release would take; hatched, and red where it doesn't fit.
    """
    whole = ledger.budget or ledger.spent
    parts = [
        _segment("dp-part", share, f"background-color:{colour}", f"{name}: {spent}")
        for (name, spent), colour in _coloured(ledger)
        if (share := _share(spent, whole))
    ]
    if ghost is not None and whole:
        rest = _share(Epsilon(whole - ledger.spent), whole)
        fits = ghost <= whole - ledger.spent
        parts.append(_ghost(min(_share(ghost, whole), rest) if fits else rest or 100.0, fits))
    return (
        f'<div class="dp-bar" style="height:14px;background-color:{TRACK};border:1px solid {EDGE};'
        f'border-radius:7px;overflow:hidden">{"".join(parts)}</div>'
    )


def _coloured(ledger: Snapshot) -> list[tuple[tuple[str, Epsilon], str]]:
    """The sources in order of first use, with their colours; of many, the last ones are one."""
    sources = list(ledger.by_source().items())
    if len(sources) > len(COLOURS):
        kept, others = sources[: len(COLOURS) - 1], sources[len(COLOURS) - 1 :]
        rest = Epsilon(sum((spent for _, spent in others), Fraction(0)))
        sources = [*kept, (f"{len(others)} other sources", rest)]
    return list(zip(sources, cycle(COLOURS), strict=False))


def _share(spent: Fraction, whole: Fraction) -> float:
    return 100 * float(spent / whole) if whole else 0.0


def _segment(kind: str, share: float, style: str, title: str = "") -> str:
    """A part of the bar. The gap between two is a border, within its width."""
    said = f' title="{escape(title)}"' if title else ""
    return (
        f'<div class="{kind}"{said} style="float:left;height:14px;width:{share:.4g}%;'
        f'box-sizing:border-box;border-right:1px solid rgba(255,255,255,0.6);{style}"></div>'
    )


def _ghost(share: float, fits: bool) -> str:
    colour = COLOURS[0] if fits else ALARM
    hatched = f"repeating-linear-gradient(135deg,{colour} 0 3px,transparent 3px 6px)"
    return _segment(
        "dp-ghost", share, f"background:{hatched};outline:1px solid {colour};outline-offset:-1px"
    )


def legend(ledger: Snapshot, steps: Steps) -> str:
    """The labels beneath the bar, and what was spent cell by cell, of more than a few."""
    dot = "display:inline-block;width:9px;height:9px;border-radius:5px;margin-right:6px"
    labels = [
        f'<span style="margin-right:18px;white-space:nowrap"><span style="{dot};'
        f'background-color:{colour}"></span>{escape(name)} '
        f'<span title="{spent}">{words.short(spent)}</span>'
        f"{words.not_compared(ledger, name)}</span>"
        for (name, spent), colour in _coloured(ledger)
    ]
    drawn = charts.line(ledger, steps.follow(ledger))
    if drawn:
        caption = f"{ledger.terms.measure.symbol} spent, cell by cell"
        drawn = (
            f'<div class="dp-spending" style="margin:8px 0"><div style="{_SOFT};font-size:12px">'
            f"{caption}</div>{drawn}</div>"
        )
    return f'<div class="dp-legend" style="margin:6px 0">{" ".join(labels)}</div>{drawn}'


# --- releases -----------------------------------------------------------------------------------


def newest(
    ledger: Snapshot, charges: Sequence[Entry], states: Mapping[str, str] = words.AT_REST
) -> str:
    """The newest rows; those before them are folded."""
    rows = words.rows(charges)
    seen, before = rows[-PAGE:], rows[:-PAGE]
    parts = [table(ledger, seen, states=states)]
    if before:
        count = sum(len(row.entries) for row in before)
        said = f'<summary style="cursor:pointer">{count} earlier</summary>'
        states = words.with_others(ledger, charges, states)
        listed = "".join(_in_a_line(ledger, row, states) for row in reversed(before))
        parts.append(f'<details>{said}<ul style="{_LIST}">{listed}</ul></details>')
    if ledger.count > len(charges):
        parts.append(note(words.earlier(ledger.count - len(charges))))
    return "".join(parts)


def note(said: str) -> str:
    """A remark below a table."""
    return f'<div class="dp-note" style="{_SOFT};font-size:12px;margin:4px 0">{escape(said)}</div>'


_LIST = "margin:2px 0 2px 18px;padding:0;font-size:12px"
_MARK = f"border:1px solid {EDGE};border-radius:8px;padding:0 6px;font-size:12px"


def _columns(head: str) -> list[Column]:
    return [
        Column("question", LABEL, wraps=True, least=14), Column("source", wraps=True, least=4),
        Column(head, NUMBER), Column("", STRIP, least=7),
        Column(unbroken("error (95 %)"), wraps=True), Column("cell", wraps=True, least=4),
    ]  # fmt: skip


#: Styles that a page of rows repeats, and of what.
_REPEATED = {".dp-mark": _MARK, **Table(_columns("ε"), (), is_ruled=True).repeated()}
#: Where the widget's rows stack: so many em, and the class of what has them.
STACKS, _STACKED = Table(_columns("loss"), ()).sheet(42)
#: They are said once where a front end keeps a sheet: for the widget.
_RULES = "".join(f".dppandas-live .dp-sheet {of}{{{style}}}" for of, style in _REPEATED.items())
SHEET = f"<style>{_RULES}</style>{_STACKED}"


_STACKS = re.compile(r'<div class="dp-\w+"[^>]*><style>.*?</style>(.*?</table>)</div>', re.DOTALL)


def bare(part: str) -> str:
    """The same piece, shorter: for where `SHEET` is in force, and what is around it scrolls."""
    for style in _REPEATED.values():
        part = part.replace(f' style="{style}"', "")
    return _STACKS.sub(r"\1", part)


def _in_a_line(ledger: Snapshot, row: Row, states: Mapping[str, str]) -> str:
    """A row without a table."""
    loss = f"{words.counted(ledger)} {words.loss_in_words(ledger, row.loss)}"
    error = row.last.known_error if len(row.entries) == 1 else ""
    said = (row.question(states), row.last.source, words.mark(row.last), loss, error)
    told = " · ".join(filter(None, (*said, words.cell(ledger, row.last))))
    return f"<li>{escape(told)}</li>"


def table(
    ledger: Snapshot, rows: Sequence[Row], marks: bool = True, listed: bool | None = None,
    states: Mapping[str, str] = words.AT_REST,
) -> str:  # fmt: skip
    """Some rows, newest first. Replays stand in the row of the release.

    listed : whether the releases of programs are listed. None: their rows open by a click.
    states : by draw, what is told of the charges that are being answered; in a live ledger only.
    """
    if not rows:
        return note("no releases yet")
    entries = [entry for row in rows for entry in row.entries]
    states = words.with_others(ledger, entries, states)
    again = words.again(ledger, entries)
    most = max(ledger.terms.measure.first(row.loss) for row in rows)
    lines = [
        _row(ledger, row, again, most, listed, states, is_first=row is rows[-1])
        for row in reversed(rows)
    ]
    columns = _columns(words.counted(ledger))
    drawn = Table(columns, lines, is_ruled=True, title="releases").html()
    is_told = marks and not all(map(ledger.is_here, entries))
    return drawn + (note(words.ELSEWHERE) if is_told else "")


def _row(
    ledger: Snapshot, row: Row, again: dict[int, str], most: Fraction, listed: bool | None,
    states: Mapping[str, str], is_first: bool,
) -> list[str | Cell]:  # fmt: skip
    last = row.last
    single = len(row.entries) == 1
    if single:
        text, title = escape(words.title(last, states)), words.asked(last, states)
    else:
        text, title = _program(ledger, row, listed, states), ""
    if not single or last.status == "charged":
        text += _scan(next((s for e in row.entries if (s := states.get(e.draw_id))), ""))
    cells = [escape(words.cell(ledger, last))]
    told = {again[e.number] for e in row.entries if e.number in again}
    cells += [f'<span style="{_SOFT};font-size:12px">{escape(t)}</span>' for t in sorted(told)]
    share = _share(ledger.terms.measure.first(row.loss), most)
    return [
        Cell(Markup(text), title=title), Markup(_source(last)),
        Cell(words.loss_in_words(ledger, row.loss), title=str(row.loss)),
        Cell("", "min-width:88px;" * is_first + _bar(share)),
        unbroken(last.known_error) if single else "",
        Markup("<br>".join(filter(None, cells))),
    ]  # fmt: skip


def _bar(share: float) -> str:
    """A bar as long as a share of the largest loss that is shown."""
    painted = f"{charts.LINE} {max(1, round(share))}%,#0000 0"
    return f"background:linear-gradient(90deg,{painted})8px 10px/72px 4px no-repeat;"


def _source(entry: Entry) -> str:
    said = words.mark(entry)
    if not said:
        return escape(entry.source)
    return f'{escape(entry.source)} <span class="dp-mark" style="{_MARK}">{escape(said)}</span>'


def _scan(state: str) -> str:
    """How far an answer is, and how to end that."""
    if not state or state in words.OTHERS:
        return ""
    return (
        f'<div class="dp-scan" style="{_SOFT};font-size:12px">{escape(state)}<br>'
        "interrupt the kernel to cancel: the charge stays</div>"
    )


def _exact(entry: Entry, states: Mapping[str, str]) -> str:
    """A question in words, with all its terms on hover."""
    asked, title = words.asked(entry, states), words.title(entry, states)
    return f'<span title="{escape(asked)}">{escape(title)}</span>'


def _program(ledger: Snapshot, row: Row, listed: bool | None, states: Mapping[str, str]) -> str:
    """A program is one row that opens: its releases with what each cost."""
    name = escape(row.question(states))
    if listed is not None:
        return f"{name}{_releases(ledger, row, states) if listed else ''}"
    opens = f'<summary style="cursor:pointer">{name}</summary>'
    return f"<details>{opens}{_releases(ledger, row, states)}</details>"


def _releases(ledger: Snapshot, row: Row, states: Mapping[str, str]) -> str:
    listed = "".join(
        f'<li title="{escape(str(e.loss))}">{_exact(e, states)} · '
        f"{escape(words.counted(ledger))} {escape(words.loss_in_words(ledger, e.loss))}"
        f"{escape(' · ' + e.known_error if e.known_error else '')}</li>"
        for e in row.entries[:LISTED]
    )
    rest = len(row.entries) - LISTED
    listed += f"<li>and {rest:,} more</li>" if rest > 0 else ""
    return f'<ul style="{_LIST}">{listed}</ul>'
