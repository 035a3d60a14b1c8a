"""A privacy statement as a page to publish: one self-contained file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from html import escape

from ..errors import unbroken
from ..privacy.accounting.losses import NO_EPSILON, Epsilon, Loss
from ..privacy.accounting.measures import Measure
from ..rows.figures import visible
from ..rows.html_tables import LABEL, NUMBER, Column, Markup, Table
from .statement import AskedSource, Statement, moment, part, version
from .storage.store import MISSING, NOT_COMPARED, Entry, lost_log

_SYMBOLS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}
_OUTCOMES = {
    "charged": "charged; no answer was known when this was written",
    "failed": "charged; failed without an answer",
    "interrupted": "charged; interrupted before there was an answer",
    "recorded": "charged; used in an audit, without an answer",
}


def html(said: Statement) -> str:
    """The page: what is promised, what was spent on what, and what that rests on."""
    sections = (_opening, _promise, _spent, _releases, _rests, _check)
    body = "\n".join(piece for section in sections for piece in section(said))
    title = "Privacy statement" + (f" of {escaped(said.file)}" if said.file else "")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">\n"
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="dppandas {version()}">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def escaped(text: object) -> str:
    """Text of any origin without markup, and without invisible characters, such as one that
    reverses the direction of the text after it."""
    return escape(visible(str(text)))


def _p(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{text}</p>' if kind else f"<p>{text}</p>"


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _opening(said: Statement) -> Iterator[str]:
    count = len(said.entries)
    answers = "one release" if count == 1 else f"{count} releases"
    when, ledger = "", f"The ledger {escaped(said.file)}" if said.file else "A ledger in memory"
    if said.entries:
        days = [moment(f(e.time for e in said.entries)).date().isoformat() for f in (min, max)]
        when = f", on {days[0]}" if days[0] == days[1] else f", from {days[0]} to {days[1]}"
    text = (
        f"{ledger} records {answers}{when}. Each is listed below with the privacy that it cost. "
        f"Dates are in UTC. Written by dppandas {version()}."
    )
    yield "<h1>Privacy statement</h1>"
    yield _p(text, "lead")


# --- what is promised -----------------------------------------------------------------------------


def _promise(said: Statement) -> Iterator[str]:
    yield '<h2 id="promise">What is promised</h2>'
    yield from _measure(said)
    yield _p(
        "<strong>Neighbours</strong> are two datasets that differ by one unit: all of its rows "
        "are added or removed. The table of sources gives the unit of each source. If a unit "
        "has “at most” so many rows, its other rows were left out before anything was computed."
    )
    yield _p(
        "The losses of all sources add up, so the promise also holds for a person who is a "
        "unit in each of them. Releases from different parts of one partition use different "
        "rows: of these only the costliest count that one unit can have rows in, not the sum."
    )


def _measure(said: Statement) -> Iterator[str]:
    terms, limit = said.terms, said.terms.limit
    if limit is None:
        yield _p(
            "<strong>No budget was fixed beforehand.</strong> The losses below add up to "
            f"{escaped(said.spent)}, and nothing kept them from growing."
        )
        return
    epsilon, delta = terms.epsilon or NO_EPSILON, terms.all_delta
    figure, groups = {
        Measure.PURE: (
            f"<strong>ε = {epsilon}</strong>, pure differential privacy.",
            f"For k units together, ε counts k times: for three it is {Epsilon(3 * epsilon)}.",
        ),
        Measure.APPROXIMATE: (
            f"<strong>ε = {epsilon}, δ = {delta}</strong>, approximate differential privacy.",
            "For k units together, these are k·ε and k·e<sup>(k−1)ε</sup>·δ.",
        ),
        Measure.ZCDP: (
            f"<strong>ρ = {limit.rho}</strong>, zero-concentrated differential privacy, which "
            f"means ε = {_up(epsilon)} at δ = {delta}.",
            "This ε is that of the whole budget, which was fixed beforehand. No ε is given for "
            "what is spent so far: at a moment that the answers chose, it would prove nothing. For "
            "k units together, ρ counts k² times.",
        ),
    }[terms.measure]
    is_pure = terms.measure is Measure.PURE
    slack = ", and at least one over that" if is_pure else f", plus {delta}"
    yield _p(figure, "figure")
    yield _p(
        "Whatever anybody concludes from all releases together, and whatever else they know, "
        f"its probability is at most {_factor(epsilon)} times what it would be if any one unit "
        f"had been left out of the data{slack}.{_meant(epsilon, is_pure)}"
    )
    yield _p(groups)


#: From this ε on, a factor of 22,000, a promise hardly protects anybody.
WEAK = 10
#: Larger factors are told by their digits, and those of more than so many digits by e^ε alone.
_LONG, _LONGEST = 30, 10**6


def _factor(epsilon: Fraction) -> str:
    """e^ε as a number, rounded up, and as a power."""
    power = f"e<sup>{_up(epsilon)}</sup>"
    if epsilon <= _LONG:
        return f"{_up(Fraction(math.exp(epsilon)), 3)} ({power})"
    digits = math.ceil(epsilon * Fraction(43_429_449, 10**8))  # no less than log₁₀ e
    return f"10<sup>{digits:,}</sup> ({power})" if digits <= _LONGEST else power


def _meant(epsilon: Fraction, is_pure: bool) -> str:
    """What the factor means for one person."""
    if epsilon >= WEAK:
        return " <strong>So large a factor is practically no protection.</strong>"
    if not is_pure:  # then only but for δ
        return ""
    sure = _up(100 / (1 + Fraction(math.exp(-epsilon))))
    return (
        " Who thought it as likely as not that somebody is in the data may afterwards be "
        f"{sure} % sure of it, at most."
    )


def _up(value: Fraction, digits: int = 4) -> str:
    """A number rounded up to `digits` digits: no promise may look stronger than it is."""
    context = Context(prec=digits, rounding=ROUND_CEILING)
    rounded = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    return f"{rounded:,f}" if -6 < rounded.adjusted() < 14 else str(rounded)


# --- figures --------------------------------------------------------------------------------------


def _table(caption: str, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are HTML, on a page that keeps its sheet."""
    cells = [[Markup(cell) for cell in row] for row in rows]
    return Table(columns, cells, is_ruled=True, caption=caption, has_sheet=True).html()


def _losses(said: Statement) -> list[Column]:
    return [Column(_SYMBOLS[name], NUMBER) for name in said.counted]


def _sums(said: Statement, loss: Loss) -> list[str]:
    """Exact figures; a fraction without a finite decimal also as an approximate one."""
    sums = [getattr(loss, name) for name in said.counted]
    return [f"{s} <small>≈ {float(s):.6g}</small>" if "/" in str(s) else str(s) for s in sums]


def _spent(said: Statement) -> Iterator[str]:
    limit, left = said.terms.limit, said.left
    rows = [["spent", *_sums(said, said.spent)]]
    yield '<h2 id="budget">What was spent</h2>'
    if limit is not None and left is not None:
        rows = [["budget", *_sums(said, limit)], *rows, ["left", *_sums(said, left)]]
        yield _bar(said, limit)
    yield _table("Budget", [Column("sum", LABEL), *_losses(said)], rows)
    for time in said.caveats.accepted:
        yield _p(f"<strong>{MISSING.capitalize()}</strong>: {lost_log(time)}.")
    if said.sources:
        columns = [Column("source", LABEL), *map(Column, ("unit", "version", "lineage"))]
        columns += [Column("releases", NUMBER), *_losses(said)]
        yield _table("Sources", columns, (_source(said, source) for source in said.sources))
        for source in said.sources:
            for version in source.not_compared:
                named = f"{escaped(source.name)}, version {escaped(version)}"
                yield _p(f"{named}: {NOT_COMPARED}.")
    if said.replays:
        again = "answer was" if said.replays == 1 else "answers were"
        yield _p(
            f"Besides, {said.replays} {again} repeated for the same question about the same data, "
            "or for one that the same noisy sums answer, such as a variance after a deviation. "
            "That reveals nothing new, costs nothing and is not counted."
        )


def _source(said: Statement, source: AskedSource) -> list[str]:
    facts = (", ".join(filter(None, f)) for f in (source.units, source.versions, source.lineages))
    texts = [escaped(source.name), *(escaped(text) or "none" for text in facts)]
    return [*texts, str(source.releases), *_sums(said, source.spent)]


def _bar(said: Statement, limit: Loss) -> str:
    name = said.counted[0]
    spent, whole = getattr(said.spent, name), getattr(limit, name)
    share = 100 * float(spent / whole)
    label = escaped(f"{_SYMBOLS[name]}: {spent} of {whole} is spent")
    bar = f'<div style="width:{share:.4g}%"></div>'
    return f'<div class="bar" role="img" aria-label="{label}">{bar}</div>'


def _releases(said: Statement) -> Iterator[str]:
    yield '<h2 id="releases">Releases</h2>'
    if not said.entries:
        yield _p("Nothing has been released.")
        return
    columns = [
        Column("release", LABEL), Column("date"), Column("query", wraps=True), Column("source"),
        Column("lineage"), *_losses(said), Column(unbroken("error (95 %)"), wraps=True),
        Column("mechanism", wraps=True), Column("outcome", wraps=True),
    ]  # fmt: skip
    rows = ([str(e.number), *_row(said, e)] for e in said.entries)
    yield _table("Every release, in the order of charges", columns, rows)
    yield _p("How to read the table:")
    yield _list(_WORDS)


def _row(said: Statement, entry: Entry) -> list[str]:
    where = f" <small>in the part {escaped(part(entry.path))}</small>" if entry.path else ""
    of = f" <small>version {escaped(entry.version)}</small>" if entry.version else ""
    return [
        moment(entry.time).date().isoformat(),
        escaped(entry.what.whole) + where,
        escaped(entry.source) + of,
        escaped(entry.lineage),
        *_sums(said, entry.loss),
        unbroken(escaped(entry.known_error)) or "—",
        f"{escaped(entry.mechanism_in_words)} <small>scale {escaped(entry.scale)}</small>",
        _OUTCOMES.get(entry.status, escaped(entry.status)),
    ]


_WORDS = (
    "<strong>Verified</strong> lineage: dppandas itself took every step from the protected data to "
    "the answer, so it knows that one unit changes no rows but its own.",
    "<strong>Asserted</strong> lineage: the analyst vouches for what was done to the data before "
    "the question; dppandas made only the answer itself. “Caller-scored” adds that the analyst "
    "vouches for how much one unit changes a score.",
    "<strong>Error</strong>: with 95 % confidence the answer is this close to the exact one on the "
    "same rows; for several numbers, “± 3 to 9” gives the smallest and the largest error. Only "
    "noise counts, not what clipping to public bounds changed. “n” is the number of rows; “gap” "
    "and “ranks” say how far the selected value may be from the best; “—” means that only the "
    "answer decides the error.",
    "<strong>Mechanism</strong>: the distribution of the noise, or of the selection, and its "
    "scale: in rows or ranks, or in the unit of the column.",
    "<strong>Outcome</strong>: a charge is written before any data are read and is never taken "
    "back, so a release without an answer counts as well.",
)


# --- what it rests on -----------------------------------------------------------------------------


def _rests(said: Statement) -> Iterator[str]:
    asserted = sum(not entry.lineage.startswith("verified") for entry in said.entries)
    lineage = "Every release has verified lineage."
    if asserted:
        lineage = (
            f"{asserted} of {len(said.entries)} releases have asserted lineage: before the "
            "question, no unit had changed the rows of others."
        )
    scored = [
        f"In {said.caller_scored} of {len(said.entries)} releases, one unit changes a score by no "
        "more than stated."
    ]
    yield '<h2 id="rests">What the promise rests on</h2>'
    yield _p("dppandas computes losses and noise. The publisher vouches for what it can't check:")
    yield _list((
        "Bounds, keys and other public facts in the queries were known without the data.",
        "The unit is right: all rows of one person belong to one unit.",
        lineage,
        *(scored if said.caller_scored else []),
        "Nothing else that was made of the same data was published, neither exactly nor under "
        "another budget.",
    ))  # fmt: skip


def _check(said: Statement) -> Iterator[str]:
    yield '<h2 id="check">How to check it</h2>'
    if not said.head:
        yield _p(
            "This ledger was kept in memory, so there is no file to compare this statement with. "
            "<code>dp.session(…, store=…)</code> keeps one."
        )
        return
    head = escaped(said.head)
    yield _p(
        "The entries of the ledger's file are chained: each carries the hash of the one before "
        f'it. At the time of this statement the last hash is <code class="hash">{head}</code>. '
        "Whoever has the file can compare it with"
    )
    yield f"<pre><code>dppandas verify {escaped(said.file)} --head {head}</code></pre>"
    yield _p(
        "which also computes all totals anew. That shows that the file continues from what is "
        "stated here. It can't show that the file was honest in the first place: whoever can "
        "write a whole file can write all of its hashes."
    )


_STYLE = """
:root{color-scheme:light dark;--ink:#1c2321;--soft:#56605c;--paper:#fff;--line:#d5dbd8;
 --band:#f3f6f5;--mark:#12685f}
@media (prefers-color-scheme:dark){:root{--ink:#e6ebe9;--soft:#a9b4b0;--paper:#141817;
 --line:#38413e;--band:#1d2321;--mark:#5cc4b6}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
 font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:76rem;margin:0 auto;padding:2rem 1.5rem 4rem}
h1{font-size:2rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.3rem;margin:2.2rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}
p,ul{max-width:46rem;margin:.5rem 0}
li{margin:.3rem 0}
.lead{color:var(--soft)}
.figure{font-size:1.15rem}
.figure strong{color:var(--mark)}
small{display:block;color:var(--soft);font-size:.85em}
[role=region]{margin:1rem 0}
caption{text-align:left;font-weight:600;padding:.3rem 8px}
.bar{height:.8rem;max-width:46rem;border-radius:.4rem;background:var(--line);overflow:hidden;
 margin:1rem 0}
.bar div{height:100%;background:var(--mark)}
code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.9em}
.hash{overflow-wrap:anywhere}
pre{max-width:100%;white-space:pre-wrap;overflow-wrap:anywhere;background:var(--band);
 padding:.6rem .8rem;border-radius:.3rem}
@media print{:root{color-scheme:light;--ink:#000;--soft:#333;--paper:#fff;--line:#999;
 --band:#fff;--mark:#000}
 body{font-size:10pt}main{max-width:none;padding:0}[role=region]{overflow:visible!important}
 [role=region],table,thead tr{font-size:7pt!important}
 td,th{padding:2px 5px!important;min-width:5em!important}
 thead{display:table-header-group}tr{break-inside:avoid}
 h2{break-after:avoid}.bar{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
