"""A ledger as text, and as self-contained HTML.

Both are functions of the ledger's public figures. Neither shows clock times, ids or tokens, so
that a notebook that runs twice looks the same. Charges are in a table; answers that were given
again for free are listed below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from itertools import cycle

from ..privacy.accounting.losses import in_short
from ..privacy.accounting.measures import Measure
from . import charts
from .charts import Steps
from .snapshot import Snapshot
from .storage.store import Entry

#: How many of the newest entries are shown; dp.ledger().to_frame() has the rest.
SHOWN = 200


def summary(ledger: Snapshot) -> str:
    """What is spent of which budget, in one line."""
    ended = " · session ended" if ledger.closed else ""
    measure, limit, loss = ledger.terms.measure, ledger.terms.limit, ledger.spending.total
    spent = in_short(ledger.spent)
    if limit is None:
        return f"ε spent {spent} · no limit: set one with dp.session(epsilon=…){ended}"
    whole, left = in_short(measure.first(limit)), in_short(measure.first(limit - loss), down=True)
    said = [f"{measure.symbol} spent {spent} of {whole} · {left} left"]
    if limit.delta:
        said.append(f"δ spent {in_short(loss.delta)} of {in_short(limit.delta)}")
    if measure is Measure.ZCDP:
        epsilon, delta = ledger.terms.epsilon, ledger.terms.all_delta
        said.append(f"the whole budget means ε = {float(epsilon or 0):.4g} at δ = {delta}")
    return " · ".join(said) + ended


def text(ledger: Snapshot, last: int | None = SHOWN, charges: Sequence[Entry] | None = None) -> str:
    """The ledger for a terminal: its last charges, or all (None).

    charges : the last charges, if the caller has read them already.
    """
    charges = ledger.charges(last) if charges is None else charges
    lines = [f"dppandas ledger · {summary(ledger)}"]
    if ledger.budget is not None:
        filled = round(30 * float(ledger.spent / ledger.budget))
        lines.append("[" + "#" * filled + "." * (30 - filled) + "]")
    if not charges and last != 0:
        return "\n".join([*lines, "no releases yet"])
    sources = [f"{name} {in_short(spent)}" for name, spent in ledger.by_source().items()]
    lines.append(f"by source: {', '.join(sources)}")
    head = ("release", "cell", "source", _counted(ledger), "error (95 %)", "query")
    rows = [head, *(_row(ledger, entry) for entry in charges)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    lines += [_earlier(ledger, len(charges))] if ledger.count > len(charges) else []
    again = answered_again(ledger)
    lines += [f"answered again, free: {again}"] if again else []
    return "\n".join(lines + ([] if all(map(ledger.is_here, charges)) else [ELSEWHERE]))


#: What the mark means.
ELSEWHERE = "† charged by another kernel, or by this one before it was restarted"


def _earlier(ledger: Snapshot, shown: int) -> str:
    return f"and {ledger.count - shown} earlier: dp.ledger().to_frame()"


def _counted(ledger: Snapshot) -> str:
    """The head of the column of losses."""
    return "ε" if ledger.terms.measure is Measure.PURE else "loss"


def _row(ledger: Snapshot, entry: Entry) -> tuple[str, ...]:
    failed = "" if entry.status == "released" else f" ({entry.status}, no answer)"
    source = f"{entry.source} ({entry.lineage})"
    loss = in_short(entry.epsilon) if _counted(ledger) == "ε" else entry.loss.in_short
    number, cell = str(entry.number), _cell(ledger, entry)
    return number, cell, source, loss, entry.known_error, entry.what + failed


def _cell(ledger: Snapshot, entry: Entry) -> str:
    """The cell as [4]; as [4]† in another kernel; as [9] ([4] run again)."""
    first = ledger.first_run(entry)
    return charts.cell_of(ledger, entry) + (f" ([{first}] run again)" if first else "")


def answered_again(ledger: Snapshot) -> str:
    """The newest repeated answers of this kernel, in one line: release 3 in cells [5], [9]; …"""
    entries = ledger.again[-SHOWN:]
    times: dict[int, Counter[str]] = {}
    for entry in entries:
        cells = times.setdefault(entry.number, Counter())
        cells[_cell(ledger, entry)] += 1
    said = [f"release {number}{_times(cells)}" for number, cells in sorted(times.items())]
    earlier = len(ledger.again) - len(entries)
    return "; ".join(said + ([f"and {earlier} times before"] if earlier else []))


def _times(cells: Counter[str]) -> str:
    """In which cells, and how often if more than once."""
    if list(cells) == [""]:
        return f", {cells['']} times" if cells[""] > 1 else ""
    often = [cell + (f" {n} times" if n > 1 else "") for cell, n in cells.items()]
    return f" in cell{'s' if len(often) > 1 else ''} {', '.join(often)}"


_STYLE = """
.dppandas-ledger{font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:13px;
 color:var(--jp-ui-font-color1,inherit);max-width:64em;margin:.4em 0;line-height:1.4}
.dppandas-ledger .dp-sum{margin:0 0 .4em;font-size:14px}
.dppandas-ledger .dp-bar{height:12px;border-radius:6px;overflow:hidden;display:flex;
 background:rgba(128,128,128,.25)}
.dppandas-ledger .dp-part{height:100%;border-right:1px solid rgba(255,255,255,.6);
 box-sizing:border-box}
.dppandas-ledger .dp-legend{margin:.4em 0;display:flex;flex-wrap:wrap;gap:.2em 1.2em}
.dppandas-ledger .dp-dot{display:inline-block;width:9px;height:9px;border-radius:50%;
 margin-right:.4em}
.dppandas-ledger figure{margin:.6em 0}
.dppandas-ledger figcaption{font-size:12px}
.dppandas-ledger .dp-chart{display:block;max-width:100%;height:auto;overflow:visible}
.dppandas-ledger .dp-chart text{fill:currentColor;font-size:10px}
.dppandas-ledger .dp-own{fill:#1b7f79}
.dppandas-ledger .dp-sofar{fill:#1b7f79;fill-opacity:.35;stroke:#1b7f79}
.dppandas-ledger .dp-axis,.dppandas-ledger .dp-limit{stroke:currentColor;fill:none;opacity:.75}
.dppandas-ledger .dp-limit{stroke-dasharray:4 3}
.dppandas-ledger .dp-scroll{max-height:22em;overflow:auto}
.dppandas-ledger .dp-scroll:focus-visible{outline:2px solid #1b7f79}
.dppandas-ledger table{border-collapse:collapse;width:100%;margin:0;font-size:12px;
 color:inherit;table-layout:auto}
.dppandas-ledger th,.dppandas-ledger td{text-align:left!important;padding:3px 10px 3px 0;
 border-bottom:1px solid rgba(128,128,128,.3);vertical-align:top;white-space:normal}
.dppandas-ledger td.dp-num,.dppandas-ledger th.dp-num{text-align:right!important}
.dppandas-ledger .dp-note{opacity:.75;margin:.4em 0;font-size:12px}
"""
_COLOURS = ("#1b7f79", "#c2571a", "#5b5fc7", "#8a6d1d", "#ad3f75", "#3f7d2e", "#5f7182", "#c04040")


def html(ledger: Snapshot) -> str:
    """The ledger for a notebook: a bar, the sources, a chart and the newest releases."""
    charges = ledger.charges(SHOWN)
    return still(ledger, head(ledger, Steps()), releases(ledger, charges), len(charges))


def still(ledger: Snapshot, head: str, releases: str, shown: int) -> str:
    """A ledger without controls: its head, the newest releases, and how many more there are."""
    rest = _note(_earlier(ledger, shown)) if ledger.count > shown else ""
    return styled(head + releases + rest)


def framed(part: str) -> str:
    """A piece of HTML to which the ledger's style applies."""
    return f'<div class="dppandas-ledger">{part}</div>'


def styled(part: str) -> str:
    """A piece of HTML together with the style of all pieces."""
    return framed(f"<style>{_STYLE}</style>{part}")


def head(ledger: Snapshot, steps: Steps) -> str:
    """What is spent: in words, as a bar by source, and as a chart by cell."""
    chart = charts.svg(ledger, steps.follow(ledger))
    caption = f"<figcaption>{ledger.terms.measure.symbol} spent, cell by cell</figcaption>"
    return (
        f'<p class="dp-sum"><b>Privacy ledger</b> · {escape(summary(ledger))}</p>{_bar(ledger)}'
        + (f"<figure>{chart}{caption}</figure>" if chart else "")
    )


def releases(ledger: Snapshot, charges: Sequence[Entry]) -> str:
    """Some charges, newest first, the repeated answers, and what the mark means."""
    if not charges:
        return _note("no releases yet")
    rows = "".join(_html_row(ledger, entry) for entry in reversed(charges))
    table = (
        '<div class="dp-scroll" tabindex="0" role="region" aria-label="releases"><table><thead><tr>'
        '<th class="dp-num">release</th><th>cell</th><th>query</th><th>source</th>'
        f"<th>{_counted(ledger)}</th><th>error (95 %)</th></tr></thead><tbody>{rows}</tbody>"
        "</table></div>"
    )
    again = escape(answered_again(ledger))
    said = f'<p class="dp-again"><b>answered again, free:</b> {again}</p>' if again else ""
    return table + said + ("" if all(map(ledger.is_here, charges)) else _note(ELSEWHERE))


def _note(said: str) -> str:
    return f'<p class="dp-note">{escape(said)}</p>'


def _bar(ledger: Snapshot) -> str:
    sources = ledger.by_source()
    whole = ledger.budget or ledger.spent
    bars, legend = [], []
    for (name, spent), colour in zip(sources.items(), cycle(_COLOURS), strict=False):
        share = 100 * float(spent / whole) if whole else 0.0
        bars.append(
            f'<div class="dp-part" title="{escape(f"{name}: {spent}")}" '
            f'style="width:{share:.4g}%;background:{colour}"></div>'
        )
        legend.append(
            f'<span><span class="dp-dot" style="background:{colour}"></span>{escape(name)} '
            f'<span title="{spent}">{in_short(spent)}</span></span>'
        )
    label = escape(summary(ledger))
    return (
        f'<div class="dp-bar" role="img" aria-label="{label}">{"".join(bars)}</div>'
        f'<div class="dp-legend">{"".join(legend)}</div>'
    )


def _html_row(ledger: Snapshot, entry: Entry) -> str:
    """A release. The exact loss is in the tooltip of the rounded one."""
    number, cell, source, loss, error, what = map(escape, _row(ledger, entry))
    return (
        f'<tr><td class="dp-num">{number}</td><td>{cell}</td><td>{what}</td><td>{source}</td>'
        f'<td title="{escape(str(entry.loss))}">{loss}</td><td>{error}</td></tr>'
    )
