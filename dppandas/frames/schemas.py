"""What is public of private columns, and what they can be asked: the cards of frames, columns and
groups, in notebooks and as text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from ..columns.private_rows import is_unit, keys_known
from ..release.private import Table
from ..rows import html_tables
from ..rows.expressions import Declared, Expression
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds
from ..rows.facts.keys import Keys
from ..rows.facts.spans import Span
from ..rows.figures import short

#: Longer lists of keys, and names, are cut.
LONGEST = 32
#: Kinds that have means and quantiles. Nobody knows whether those of unknown kind have.
_MEASURED = kinds.NUMBERS | kinds.TIMES | {kinds.DURATION, kinds.UNKNOWN}
_HEADS = ("column", "kind", "declared", "ask")
#: What a frame answers of its rows.
OF_ROWS = "count, groupby, value_counts, crosstab, describe"


class Fact(NamedTuple):
    """A column: its name, its kind, what is declared, and methods that it can be asked by."""

    name: str
    kind: str
    declared: str
    asks: str


def fact(table: Table, name: Any, expression: Expression) -> Fact:
    """What is public of a column."""
    kind, keys = expression.kind(table.source.facts.schema), keys_known(table, expression)
    declared, step = table.declared(expression), table.step(expression)
    label = _cut("" if name is None else str(name))
    if is_unit(expression, table) and declared is None:
        return Fact(label, kind, "the unit", "per_unit()")
    if keys is not None:
        said = keys_in_words(keys)
    else:
        said = bounds_in_words(declared) + (f", step {step}" if step else "")
    held = expression.held if isinstance(expression, Declared) else ""
    is_bounded = (
        kind == kinds.TRUTH
        or isinstance(declared, Span)
        or expression.bounds(table.source.domain) is not None
    )
    return Fact(label, held or kind, said, ", ".join(_asks(kind, is_bounded, keys is not None)))


def _asks(kind: str, is_bounded: bool, has_keys: bool) -> list[str]:
    """Methods that a column can be asked by, with the facts that they need."""
    asks = ["value_counts", "groupby"] if has_keys else []
    if kind not in kinds.LABELS and not kind.startswith(kinds.PERIOD):
        return [".str.len()", "explode"] if kind == kinds.LIST else []
    if kind == kinds.TRUTH:
        asks += ["mean"]
    elif kind in _MEASURED and not (has_keys and kind == kinds.UNKNOWN):
        asks += ["mean", "quantile", "std"] if is_bounded else ["mean(bounds=…)"]
    if not asks or (kind == kinds.UNKNOWN and not has_keys):
        asks.append("value_counts(keys=…)")
    return asks


def bounds_in_words(declared: Any) -> str:
    """Bounds as people read them: "0 to 90,000"; "" for none."""
    if isinstance(declared, Span):
        ends = [str(end).removesuffix(" 00:00:00") for end in declared.ends]
    elif isinstance(declared, Bounds):
        ends = [_number(end) for end in (declared.lower, declared.upper)]
    else:
        return ""
    return " to ".join(ends)


def _number(end: float) -> str:
    return f"{int(end):,}" if end == int(end) and abs(end) < 1e15 else short(end)


def keys_in_words(keys: Keys) -> str:
    """How many keys, and the first of them: "6 keys: 9, 12, 14, …"."""
    number = "1 key" if len(keys) == 1 else f"{len(keys):,} keys"
    shown: list[str] = []
    for label in keys.labels[:20]:
        text = _cut(str(label))
        if len(", ".join([*shown, text])) > LONGEST:
            break
        shown.append(text)
    more = ["…"] if len(shown) < len(keys) else []
    return f"{number}: {', '.join([*shown, *more])}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def facts(table: Table, columns: Mapping[Any, Expression]) -> tuple[list[Fact], int]:
    """What is public of each column, and how many are left out: as many as pandas shows rows."""
    most = pd.get_option("display.max_rows") or len(columns)
    shown = list(columns.items())[:most]
    return [fact(table, *each) for each in shown], len(columns) - len(shown)


def text(facts: Sequence[Fact]) -> str:
    """The columns, a line for each."""
    lines = [_HEADS, *facts]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEADS))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def frame_html(head: str, rows_kept: str, facts: Sequence[Fact], more: int) -> str:
    """The card of a frame, with what its rows answer."""
    left_out = [f"… and {more:,} more columns"] if more else []
    foot = " · ".join([*left_out, f"ask the rows: {OF_ROWS}"])
    return _html("frame", head, rows_kept, facts, foot)


def column_html(head: str, rows_kept: str, fact: Fact) -> str:
    """The card of a column."""
    return _html("column", head, rows_kept, [fact])


def groups_html(head: str, rows_kept: str, facts: Sequence[Fact]) -> str:
    """The card of groups: what rows are grouped by, and what each group can be asked."""
    return _html("groups", head, rows_kept, facts, "ask the rows: size")


def _html(kind: str, head: str, rows_kept: str, facts: Sequence[Fact], foot: str = "") -> str:
    table = html_tables.table(_HEADS, facts, wrapped=[2, 3])
    title = html_tables.title(head, rows_kept)
    return html_tables.card(kind, title, table, html_tables.foot(foot))


def in_a_line(fact: Fact) -> str:
    """A column without its name: what is declared, and what it can be asked."""
    said = " · ".join(filter(None, [fact.kind, fact.declared]))
    return f"{said} · ask {fact.asks}" if fact.asks else said


def facts_of_groups(
    table: Table, by: Mapping[Any, Expression], keys: Keys | None,
    operands: Mapping[Any, Expression], offered: Collection[str],
) -> list[Fact]:  # fmt: skip
    """What rows are grouped by, and the columns that each group can be asked for.

    keys : of the groups; None for those that are found in the data.
    offered : the methods of groups.
    """
    found = []
    for place, (name, expression) in enumerate(by.items()):
        labels = None if keys is None else Keys(tuple(dict.fromkeys(keys.column(place))))
        said = "keys to be found" if labels is None else keys_in_words(labels)
        found.append(fact(table, name, expression)._replace(declared=said, asks="the groups"))
    for name, expression in operands.items():
        each = fact(table, name, expression)
        asks = [said for said in each.asks.split(", ") if said.partition("(")[0] in offered]
        found.append(each._replace(asks=", ".join(asks)))
    return found
