"""Shows a record to people: as text, and in notebooks."""

from __future__ import annotations

from typing import Any

from ...privacy.accounting.losses import Loss
from ...privacy.accuracy.combined import CombinedNoise
from ...privacy.mechanisms.selection import Selection
from ...rows import html_tables
from ...rows.figures import CHOSEN, format_value, plus_minus, within
from ...rows.html_tables import ERROR, LABEL, NUMBER, Column
from ..accuracy import units
from ..accuracy.expected import CONFIDENCE, HELD

#: The class of numbers that are other ones in each run, for tests of notebooks.
NOISY = "dp-noisy"
#: The note beside a number that is mostly noise.
DROWNED = "noise-dominated"
#: And beside one of a group that may have no rows.
EMPTY = "may be empty"
#: The loss of what a preview finds answered.
FREE = "free, as asked before"
#: Longer questions are cut where releases are listed.
LONGEST = 60
#: Of the `repr` of a record.
MOST_LINES = 11
#: What an error says of a label, and what is told of one that won by its rows or its sum
#: (docs/inference.md).
NO_INTERVAL = (
    "a selected label has no interval. Call .error() for its gap; its record says which interval "
    "of its number would hold."
)
WINNER = (
    "an interval of the winner's number holds on these rows if that number has a release of its "
    "own, and in the population if it is one of those of all labels, which hold simultaneously"
)


def mark(is_dominated: bool | None, is_maybe_empty: bool | None) -> str:
    """The word for a number of a group that may be empty, or that noise dominates; else ""."""
    return EMPTY if is_maybe_empty else DROWNED if is_dominated else ""


def text(record: Any) -> str:
    """The facts, and a line for each number."""
    lines = (f"  {name}: {value} ({ends})" for name, value, ends in _lines(record))
    return "\n".join([*_facts(record), *lines])


def short(text: str) -> str:
    """The first lines of a record's text."""
    lines = text.split("\n")
    more = len(lines) - MOST_LINES + 1
    return (
        text
        if more <= 1
        else "\n".join([*lines[:-more], f"… and {more:,} more lines: print this record"])
    )


def heading(bundle: Any) -> str:
    """The first line of the text of several releases."""
    number = len(bundle.components)
    return f"{number} release{'s' * (number != 1)}, {bundle.loss.in_short}"


def text_of_several(bundle: Any) -> str:
    """What all cost, and a line for each release."""
    each = (f"  {name}: {_told(record)}" for name, record in bundle.components.items())
    return "\n".join([heading(bundle), *each])


def in_a_line(record: Any) -> str:
    """A release, its loss and its error: "Count of rows: ε = 0.1, ± 30 (95 %, noise only)"."""
    asked = record._question.title
    asked = asked if len(asked) < LONGEST else f"{asked[: LONGEST - 1]}…"
    return f"{asked}: {_told(record)}"


def _told(record: Any) -> str:
    error = f", {said} ({HELD})" if (said := record._answered) else ""
    is_free = record.preview and record.loss == Loss()
    return f"{FREE if is_free else record.loss.in_short}{error}"


def html(record: Any) -> str:
    """`text` as HTML: the numbers, and the facts, which unfold below them. Each number is marked,
    so that a notebook test can find it."""
    first, *details = _facts(record)
    each = " of each label" if record._statistic.errors.each else ""
    columns = [
        Column("", LABEL),
        Column("answer", NUMBER, mark=NOISY),
        Column(f"95 % interval{each}, noise only", ERROR, mark=NOISY),
    ]
    rows = _lines(record)
    table = html_tables.Table(columns, rows).html() if rows else ""
    title, foot = html_tables.title(first), html_tables.folded(_told(record), details)
    return html_tables.card("record", title, table, foot)


def html_of_several(bundle: Any) -> str:
    """What all cost, and the card of each release."""
    each = "".join(html(record) for record in bundle.components.values())
    return f'<div class="dppandas-records">{html_tables.title(heading(bundle))}{each}</div>'


def _facts(record: Any) -> list[str]:
    change = record._change
    return [
        f"{'preview, no answer: ' if record.preview else ''}{record.query}",
        f"source {record.source} ({record.lineage}), protecting {record.unit}",
        f"{record.mechanism}, scale {_scale(record)}, {_told(record)}",
        *([f"if a unit's rows change in place: {change.in_short}"] if change else []),
        *([record._law.holds] if isinstance(record._law, CombinedNoise) else []),
        *([WINNER] if _is_winner(record) else []),
    ]


def _is_winner(record: Any) -> bool:
    """Whether it selected a label by a number that could be released: a caller's score can't."""
    scores = "utility" in record._statistic.errors.measured_in
    return isinstance(record._law, Selection) and not scores


def _scale(record: Any) -> str:
    """The scale of the noise, with its unit."""
    unit = units.of_noise(record._statistic, record._law, record._query.source.schema)
    return f"{units.in_words(record.scale)} {unit}".rstrip()


def _lines(record: Any) -> list[tuple[str, str, str]]:
    """Name, answer and interval of each number, in declared order."""
    if record.preview:
        return []
    if isinstance(record._law, Selection):
        chosen = ", ".join(map(str, record.estimate()))
        return [("selected", chosen, ", ".join(filter(None, [CHOSEN, record.expected])))]
    names, values = record._layout.labels(), record._statistic.typed(record._values())
    told = zip(names, _bounds(record, values), record._marks(), strict=True)
    return [
        (name, value, f"{ends}, {said}" if said else ends) for name, (value, ends), said in told
    ]


def _bounds(record: Any, values: list[Any]) -> list[tuple[str, str]]:
    """Each number, and its interval or else its error."""
    if not record._statistic.errors.no_interval:
        each = map(within, values, *record._ends(CONFIDENCE))
        return [(found.value, found.said.strip("()")) for found in each]
    plain = [format_value(value) for value in values]
    if not record._statistic.errors.in_ranks:
        return [(value, record.expected) for value in plain]
    errors = [f"{plus_minus(error)} ranks" for error in record._errors(CONFIDENCE)]
    return list(zip(plain, errors, strict=True))
