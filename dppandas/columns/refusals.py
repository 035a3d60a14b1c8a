"""Methods of pandas that private data can't offer, and what to do instead.

A method that isn't listed here is refused as well: this table holds those that people try, and the
reasons.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ..errors import UnsupportedVerb

_ORDER = "rows have no order, because which one comes first depends on other rows"
_OTHERS = "the result of each row would depend on other rows"
_SHOWS = "it would show private values"
_RELEASE = "release an answer and use that, such as .count(epsilon=0.1)"
_FILTER = 'keep rows by their own values, as in query("age > 30")'
_SAMPLE = "keep a share of the units with sample(frac=0.1)"
_PUBLIC = "take the threshold from public knowledge or from a released answer"

Refusals = dict[str, tuple[str, str]]


def _by_name(*refused: tuple[str, str, str]) -> Refusals:
    return {name: (why, instead) for names, why, instead in refused for name in names.split()}


#: For each name: why not, and what to do instead.
VERBS = _by_name(
    ("head tail first last nth truncate", _ORDER, _SAMPLE),
    ("iloc loc at iat xs take get_group", _ORDER, _FILTER),
    ("nlargest", _ORDER, "select among declared labels: value_counts(keys=[…]).nlargest(3)"),
    ("nsmallest sort_values sort_index", _ORDER, _RELEASE),
    ("rank cumsum cumprod cummax cummin cumcount", _OTHERS, _PUBLIC),
    ("shift diff pct_change rolling expanding ewm resample asfreq interpolate ffill bfill pad "
     "backfill", _OTHERS, "fill with a constant: fillna(0); group times by their .dt parts"),
    ("drop_duplicates duplicated", _OTHERS,
     "protect the source with unit= and max_rows=, or use per_unit()"),
    ("transform apply applymap aggregate eval combine update filter corrwith",
     "a function of your own could look at other rows",
     "use arithmetic, where, map with a dict, .str and .dt, agg with names, or per_unit().agg()"),
    ("trimmed_mean", "it works on one column at a time, over all its rows",
     'select them, as in frame.query("age > 30")["income"].trimmed_mean(…)'),
    ("qcut", "its edges would be read from the data",
     "give public edges, as in cut([0, 18, 65, 120])"),
    ("sem skew kurt mad idxmin argmax argmin prod product", "this version doesn't offer it",
     "ask for count, sum, mean, var, std or value_counts"),
    ("unique factorize get_dummies select_dtypes info dtypes dtype memory_usage shape empty index "
     "axes T transpose hasnans is_unique is_monotonic_increasing nbytes first_valid_index "
     "last_valid_index array items iterrows itertuples equals",
     _SHOWS, _RELEASE + "; labels and ranges are declared: keys=, bounds="),
    ("to_csv to_excel to_json to_html to_latex to_markdown to_parquet to_feather to_hdf to_sql "
     "to_pickle to_clipboard to_stata to_orc to_xml to_gbq to_dict to_list tolist to_numpy "
     "to_records to_string to_frame to_xarray to_arrow values item plot boxplot style compute "
     "collect", _SHOWS, _RELEASE + "; results can be written and plotted like any others"),
    ("join merge_asof merge_ordered append align compare", _OTHERS,
     "merge with a public table on its unique key, or use dp.concat on frames of one source"),
    ("pivot melt stack unstack wide_to_long", "the shape of the result would be read from the data",
     "group by declared keys, or use crosstab or pivot_table"),
    ("set_index reset_index reindex insert pop swaplevel squeeze",
     "private rows have no index, and frames never change in place",
     "make a new frame with assign, rename or drop"),
)  # fmt: skip

#: What groups lack besides these.
BY_GROUP = _by_name(
    ("idxmax idxmin", "pandas answers with a row, and which rows exist is private",
     "ask for the group with the largest sum or size: sum(bounds=(0, 60)).idxmax(epsilon=0.1)"),
    ("mode", "each group would need a selection of its own",
     "release value_counts(keys=[…]) for the same loss, and take its largest by "
     ".groupby(level=0).idxmax()"),
    ("unattributed_histogram", "groups don't offer it",
     "release value_counts(keys=[…]) for the same loss, and sort the result"),
    ("clipping_shares suggest_bounds", "the bounds of a column hold for all groups",
     'ask the column instead, as in frame["age"], or query("…") first'),
    ("unique", "which labels a group has is private",
     "count by both columns: frame.value_counts([…], epsilon=…, delta=…)"),
    ("any all", "a single row would decide it", "count the rows: sum(bounds=(0, 1))"),
    ("ngroups groups indices", "which keys have rows is private",
     "the groups are the declared keys; size(epsilon=…) counts their rows"),
)  # fmt: skip


def refuse(
    kind: str, name: str, answers: str, columns: Iterable[object] = (), more: Refusals = VERBS
) -> UnsupportedVerb:
    """The error for a method that private objects lack. ``more``: what this kind of object lacks
    besides `VERBS`."""
    known = {**VERBS, **more}
    if name in known:
        why, instead = known[name]
        return UnsupportedVerb(
            f"{kind} have no {name!r}: {why}. Instead, {instead}. Or do it in plain pandas "
            "beforehand; answers are then recorded as asserted."
        )
    near = difflib.get_close_matches(name, [str(column) for column in columns], n=1)
    hint = f" Did you mean the column {near[0]!r}?" if near else ""
    return UnsupportedVerb(f"{kind} have no {name!r}.{hint} They answer {answers}.")
