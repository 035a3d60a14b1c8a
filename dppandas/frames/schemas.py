"""What is public of private columns, and what they can be asked: the cards of frames, columns and
groups, in notebooks and as text.

They say only what was declared, and what follows from it and from expressions. The kind of a dtype
is not shown: pandas infers dtypes from rows, each version by its own rules.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from ..columns.private_rows import is_unit
from ..release.private import Table
from ..rows import expressions, html_tables
from ..rows.expressions import Declared, Expression, Facts
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds
from ..rows.facts.keys import Keys
from ..rows.facts.spans import Span
from ..rows.figures import format_fact, format_label

#: Longer lists of keys, and names, are cut.
LONGEST = 32
#: Kinds that have means and quantiles.
_MEASURED = kinds.NUMBERS | kinds.TIMES | {kinds.DURATION}
#: What a column of unknown kind can be asked by: the one if it holds numbers, the other if labels.
_EITHER = "mean(bounds=…) or value_counts(keys=…)"
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
    """What is public of a column, in the same words whatever its dtype is."""
    keys, declared = _keys(table, expression), table.declared(expression)
    kind, step = _kind(table, expression, keys), table.step(expression)
    label = _cut("" if name is None else format_label(name) if isinstance(name, str) else str(name))
    held = expression.held if isinstance(expression, Declared) else ""
    shown = held or ("" if kind == kinds.UNKNOWN else kind)
    if is_unit(expression, table) and declared is None:
        return Fact(label, shown, "the unit", "per_unit()")
    if keys is not None:
        said = keys_in_words(keys)
    else:
        said = bounds_in_words(declared) + (f", step {step}" if step else "")
    is_bounded = (
        kind == kinds.TRUTH
        or isinstance(declared, Span)
        or expression.bounds(table.source.domain) is not None
    )
    asks = ", ".join(_asks(kind, is_bounded, keys is not None))
    return Fact(label, shown, said or "not declared", asks)


def _keys(table: Table, expression: Expression) -> Keys | None:
    """The keys that are declared, or that follow from what is, and those of True and False."""
    facts = Facts(table.source.domain)  # without the schema, which holds the kinds of dtypes
    if (known := expression.known_keys(facts.domain, facts.schema)) is not None:
        return known
    return Keys((False, True)) if expressions.holds_truths(expression, facts) else None


def _kind(table: Table, expression: Expression, keys: Keys | None) -> kinds.Kind:
    """The kind that is declared, or follows from the expression, or is that of the declared keys
    or bounds; else unknown."""
    if (kind := expression.kind({})) != kinds.UNKNOWN or isinstance(expression, Declared):
        return kind
    if keys is not None:
        return kinds.joined(map(kinds.of_value, keys.labels))
    declared = table.declared(expression)
    if isinstance(declared, Span):
        return kinds.joined(map(kinds.of_value, declared.ends))
    return kinds.NUMBER if isinstance(declared, Bounds) else kind


def _asks(kind: str, is_bounded: bool, has_keys: bool) -> list[str]:
    """Methods that a column can be asked by, with the facts that they need."""
    asks = ["value_counts", "groupby"] if has_keys else []
    if kind not in kinds.LABELS and not kind.startswith(kinds.PERIOD):
        return [".str.len()", "explode"] if kind == kinds.LIST else []
    if kind == kinds.TRUTH:
        asks += ["mean"]
    elif kind in _MEASURED:
        asks += ["mean", "quantile", "std"] if is_bounded else ["mean(bounds=…)"]
    elif kind == kinds.UNKNOWN and not has_keys:
        asks.append(_EITHER)
    return asks or ["value_counts(keys=…)"]


def bounds_in_words(declared: Any) -> str:
    """Bounds as people read them: "0 to 90,000"; "" for none."""
    return format_fact(declared) if isinstance(declared, Span | Bounds) else ""


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
    kinds = [html_tables.LABEL, *[html_tables.TEXT] * 3]
    each = zip(_HEADS, kinds, (False, False, True, True), strict=True)
    table = html_tables.Table([html_tables.Column(*of) for of in each], facts).html()
    title = html_tables.title(head, rows_kept)
    return html_tables.card(kind, title, table, html_tables.foot(foot))


def in_a_line(fact: Fact) -> str:
    """A column without its name: what is declared, and what it can be asked."""
    said = " · ".join(filter(None, [fact.kind, fact.declared]))
    return f"{said} · ask {fact.asks}" if fact.asks else said


def _offered(asks: str, offered: Collection[str]) -> str:
    """What a column can be asked by, without the methods that groups don't have."""
    kept = (
        " or ".join(each for each in either.split(" or ") if each.partition("(")[0] in offered)
        for either in asks.split(", ")
    )
    return ", ".join(filter(None, kept))


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
        found.append(each._replace(asks=_offered(each.asks, offered)))
    return found
