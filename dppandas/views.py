"""How a ledger looks: as text, and as HTML that needs nothing from anywhere.

Both are functions of the ledger's public figures. Neither shows clock times, ids or tokens, so
that a notebook run twice shows the same.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .accounting import Measure

if TYPE_CHECKING:
    from .ledger import Ledger
    from .store import Entry

#: The newest entries that are shown; the rest is in dp.ledger().to_frame().
SHOWN = 200


def summary(ledger: Ledger) -> str:
    """One line: what is spent of what."""
    ended = " · session ended" if ledger.closed else ""
    symbol, limit = ledger.terms.measure.symbol, ledger.terms.limit
    if limit is None:
        return f"ε spent {ledger.spent} · no limit: set one with dp.session(epsilon=…){ended}"
    said = [f"{symbol} spent {ledger.spent} of {ledger.budget} · {ledger.remaining} left"]
    if limit.delta:
        said.append(f"δ spent {ledger.loss.delta} of {limit.delta}")
    if ledger.terms.measure is Measure.ZCDP:
        whole, delta = ledger.terms.epsilon, ledger.terms.all_delta
        said.append(f"the whole budget means ε = {float(whole or 0):.4g} at δ = {delta}")
    return " · ".join(said) + ended


def text(ledger: Ledger, last: int | None = SHOWN) -> str:
    """The ledger for a terminal: its last releases, or all (None)."""
    entries = ledger.entries(last)
    lines = [f"dppandas ledger · {summary(ledger)}"]
    if ledger.budget is not None:
        filled = round(30 * float(ledger.spent / ledger.budget))
        lines.append("[" + "#" * filled + "." * (30 - filled) + "]")
    if not entries and last != 0:
        return "\n".join([*lines, "no releases yet"])
    sources = ledger.by_source()
    lines.append("by source: " + ", ".join(f"{name} {spent}" for name, spent in sources.items()))
    head = ("release", "cell", "source", _counted(ledger), "error (95 %)", "query")
    rows = [head, *(_row(entry, head[3]) for entry in entries)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(lines + _earlier(ledger, ledger.count() if last is None else last))


def _counted(ledger: Ledger) -> str:
    """The head of the column of losses."""
    return "ε" if ledger.terms.measure is Measure.PURE else "loss"


def _row(entry: Entry, counted: str = "ε") -> tuple[str, ...]:
    cell = "" if entry.cell is None else f"[{entry.cell}]"
    failed = _NO_ANSWER.get(entry.status, f" ({entry.status}, no answer)")
    source = f"{entry.source} ({entry.lineage})"
    loss = str(entry.epsilon if counted == "ε" else entry.loss)
    return str(entry.number), cell, source, loss, entry.error, entry.what + failed


_NO_ANSWER = {"released": "", "replayed": " (replayed: free)"}


def _earlier(ledger: Ledger, last: int = SHOWN) -> list[str]:
    hidden = ledger.count() - last
    return [f"and {hidden} earlier: dp.ledger().to_frame()"] if hidden > 0 else []


_STYLE = """
.dppandas-ledger{font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:13px;
 color:var(--jp-ui-font-color1,inherit);max-width:64em;margin:.4em 0}
.dppandas-ledger .dp-sum{margin:0 0 .4em;font-size:14px}
.dppandas-ledger .dp-bar{height:12px;border-radius:6px;overflow:hidden;display:flex;
 background:rgba(128,128,128,.25)}
.dppandas-ledger .dp-part{height:100%;border-right:1px solid rgba(255,255,255,.6);
 box-sizing:border-box}
.dppandas-ledger .dp-legend{margin:.4em 0;display:flex;flex-wrap:wrap;gap:.2em 1.2em}
.dppandas-ledger .dp-dot{display:inline-block;width:9px;height:9px;border-radius:50%;
 margin-right:.4em}
.dppandas-ledger .dp-scroll{max-height:22em;overflow:auto}
.dppandas-ledger table{border-collapse:collapse;width:100%;margin:0;font-size:12px}
.dppandas-ledger th,.dppandas-ledger td{text-align:left!important;padding:3px 10px 3px 0;
 border-bottom:1px solid rgba(128,128,128,.3);vertical-align:top;white-space:normal}
.dppandas-ledger td.dp-num,.dppandas-ledger th.dp-num{text-align:right!important}
.dppandas-ledger .dp-note{opacity:.75}
"""
_COLOURS = ("#1b7f79", "#c2571a", "#5b5fc7", "#8a6d1d", "#a3386c", "#3f7d2e", "#5a6b7b", "#b03030")


def html(ledger: Ledger) -> str:
    """The ledger for a notebook: a bar, the sources and the newest releases."""
    entries = ledger.entries(SHOWN)
    parts = [
        f"<style>{_STYLE}</style>",
        f'<div class="dppandas-ledger"><p class="dp-sum"><b>Privacy ledger</b> · '
        f"{escape(summary(ledger))}</p>",
        _bar(ledger),
    ]
    if entries:
        counted = _counted(ledger)
        rows = "".join(_html_row(entry, counted) for entry in reversed(entries))
        parts.append(
            '<div class="dp-scroll"><table><thead><tr><th class="dp-num">release</th>'
            f"<th>cell</th><th>query</th><th>source</th><th>{counted}</th><th>error (95 %)</th>"
            f"</tr></thead><tbody>{rows}</tbody></table></div>"
        )
    else:
        parts.append('<p class="dp-note">no releases yet</p>')
    parts += [f'<p class="dp-note">{escape(line)}</p>' for line in _earlier(ledger)]
    return "".join([*parts, "</div>"])


def _bar(ledger: Ledger) -> str:
    sources = ledger.by_source()
    whole = ledger.budget or ledger.spent
    bars, legend = [], []
    for i, (name, spent) in enumerate(sources.items()):
        colour = _COLOURS[i % len(_COLOURS)]
        share = 100 * float(spent / whole) if whole else 0.0
        title = escape(f"{name}: {spent}", quote=True)
        bars.append(
            f'<div class="dp-part" title="{title}" '
            f'style="width:{share:.4g}%;background:{colour}"></div>'
        )
        legend.append(
            f'<span><span class="dp-dot" style="background:{colour}"></span>{escape(name)} '
            f"{spent}</span>"
        )
    label = escape(summary(ledger), quote=True)
    return (
        f'<div class="dp-bar" role="img" aria-label="{label}">{"".join(bars)}</div>'
        f'<div class="dp-legend">{"".join(legend)}</div>'
    )


def _html_row(entry: Entry, counted: str) -> str:
    number, cell, source, epsilon, error, what = map(escape, _row(entry, counted))
    return (
        f'<tr><td class="dp-num">{number}</td><td>{cell}</td><td>{what}</td><td>{source}</td>'
        f"<td>{epsilon}</td><td>{error}</td></tr>"
    )
