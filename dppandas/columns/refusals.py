"""Methods of pandas that private data can't offer, and what to do instead.

Every public name of pandas' frames, columns, groups, ``.str`` and ``.dt`` is either offered here,
or has its own reason in this table: docs/pandas.md is made from both. A name that neither knows is
refused as well, in general words.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ..errors import UnsupportedVerb

_ORDER = "rows have no order, because which one comes first depends on other rows"
_OTHERS = "the result of each row would depend on other rows"
_SHOWS = "it would show private values"
_LABELS = "private rows have no labels, because which rows there are is private"
_INDEX = "private rows have no index, and frames never change in place"
_LACKING = "this version doesn't offer it"
_BY_COLUMN = "this version offers it for single columns"
_BY_ROW = "it changes rows one by one, which a frame does"
_RELEASE = "release an answer and use that, such as .count(epsilon=0.1)"
_FILTER = 'keep rows by their own values, as in query("age > 30")'
_SAMPLE = "keep a share of the units with sample(frac=0.1)"
_PUBLIC = "take the threshold from public knowledge or from a released answer"
_TIMES = 'make a column of it with .dt, such as assign(month=frame["when"].dt.to_period("M"))'
_NEW = "make a new frame with assign, rename or drop"

Refusals = dict[str, tuple[str, str]]


def _by_name(*refused: tuple[str, str, str]) -> Refusals:
    return {name: (why, instead) for names, why, instead in refused for name in names.split()}


#: What is asked of a released result, which is plain pandas.
OF_RESULTS = _by_name(
    ("head tail", _ORDER, f"{_SAMPLE}, or release an answer and show its first rows"),
    ("nlargest", _ORDER, "select among declared labels: value_counts(keys=[…]).nlargest(3)"),
    ("nsmallest sort_values sort_index argsort", _ORDER,
     "release an answer and sort that, such as value_counts(keys=[…], epsilon=0.1).sort_values()"),
    ("to_csv to_excel to_json to_html to_latex to_markdown to_parquet to_feather to_hdf to_sql "
     "to_pickle to_clipboard to_stata to_orc to_xml to_gbq to_iceberg to_dict to_list tolist "
     "to_numpy to_records to_string to_xarray to_arrow values item ravel view style "
     "compute collect",
     _SHOWS, _RELEASE + "; results can be written like any others"),
    ("plot boxplot", _SHOWS,
     "release an answer and plot that: dp.plot(answer), or its own .plot()"),
    ("unstack stack pivot", "the shape of the result would be read from the data",
     "group by declared keys, or use crosstab or pivot_table; their results can be reshaped"),
    ("set_index", _INDEX,
     'name the column where pandas would use the index: resample("W", on="when", range=…), '
     'groupby("city"), merge(…, left_on="city")'),
    ("reset_index reindex reindex_like", _INDEX,
     "release an answer and change its index: its labels are the declared keys"),
    ("T transpose swapaxes squeeze", "it would make columns of private rows",
     "release an answer and turn that, such as .describe(epsilon=0.1).T"),
)  # fmt: skip

#: For each other name of frames and columns: why not, and what to do instead.
VERBS: Refusals = OF_RESULTS | _by_name(
    ("first last nth truncate take", _ORDER, _SAMPLE),
    ("iloc at iat xs", "rows have neither positions nor public labels",
     'keep rows by their own values: query("age > 30"), or loc[mask, columns]'),
    ("rank cumsum cumprod cummax cummin cumcount ngroup", _OTHERS, _PUBLIC),
    ("shift diff pct_change rolling expanding ewm autocorr", _OTHERS,
     "ask for a value of each period, as in groupby(pd.Grouper(key='when', freq='MS'), range=…), "
     "and compare the released values"),
    ("interpolate ffill bfill pad backfill", _OTHERS, "fill with a constant: fillna(0)"),
    ("resample asfreq", "which periods have rows is private, so their range has to be public",
     'frame.resample("MS", on="when", range=("2024-01", "2024-12"))'),
    ("asof at_time between_time to_timestamp to_period tz_convert tz_localize",
     "private rows have no index of times",
     "use a column: its .dt, or query('9 <= when.dt.hour < 17')"),
    ("drop_duplicates duplicated", _OTHERS,
     "protect the source with unit= and max_rows=, or use per_unit()"),
    ("combine", "a function of your own could look at other rows",
     "use arithmetic, where, map with a dict, .str and .dt, agg with names, or per_unit().agg()"),
    ("applymap", "pandas calls it map", "frame.map(lambda x: x * 2)"),
    ("eval", "texts are read by frames, which know all columns",
     'frame.eval("age + 1"), or frame.assign(next="age + 1")'),
    ("filter", "labels of rows are private, and so is what a function finds in a group",
     "keep rows with query or a mask; keep columns with frame.filter(like=…)"),
    ("select_dtypes", "a single column is of one kind", "frame.select_dtypes(…)"),
    ("combine_first update", "private frames never change, and rows aren't matched",
     "fill with another column of the same rows: frame['a'].fillna(frame['b'])"),
    ("corrwith", "columns are compared in pairs of one frame",
     "frame['a'].corr(frame['b']), or frame.corr() for all pairs"),
    ("trimmed_mean", "it works on one column at a time, over all its rows",
     'select them, as in frame.query("age > 30")["income"].trimmed_mean(…)'),
    ("qcut", "its edges would be read from the data",
     "give public edges, as in cut([0, 18, 65, 120])"),
    ("sem skew kurt kurtosis mad prod product", _LACKING,
     "ask for count, sum, mean, var, std or value_counts"),
    ("argmax argmin searchsorted", "rows have no positions",
     "ask for max(bounds=…) or min(bounds=…), or cut at public edges"),
    ("idxmax idxmin", "it would name a row, and which rows exist is private",
     "ask for the most frequent label, as in value_counts(keys=[…]).idxmax(epsilon=0.1), or for "
     "max(bounds=…)"),
    ("any all", "a single row would decide it",
     "ask for the share of rows where it holds: (frame['age'] > 30).mean(epsilon=0.1)"),
    ("bool", "a single truth value would reveal it", _RELEASE),
    ("unique factorize", "which labels there are is private",
     "declare them: keys=[…]; or pay for common ones: frame['city'].unique(delta=…)"),
    ("get_dummies", "its columns would be read from the data",
     "compare with each public label, as in assign(f=frame['sex'] == 'f')"),
    ("info dtypes dtype memory_usage nbytes hasnans is_unique is_monotonic_increasing "
     "is_monotonic_decreasing first_valid_index last_valid_index flags attrs",
     "dtypes and what pandas knows of a column depend on its values",
     "describe() shows the declared kinds, bounds and keys"),
    ("shape empty array keys items iterrows itertuples equals", _SHOWS,
     "count rows with .count(epsilon=0.1) or .size(epsilon=0.1); the names of a frame's columns "
     "are its .columns"),
    ("index axes", _LABELS, "use columns: frame.columns are their names"),
    ("ndim", "libraries would take what has it for a plain table",
     "a frame has .columns, and a column a .name"),
    ("join merge_asof merge_ordered append align compare", _OTHERS,
     "merge with a public table on its unique key, or use dp.concat on frames of one source"),
    ("merge", "columns belong to one frame", "frame.merge(table, on=…) with a public table"),
    ("melt wide_to_long", "this version makes long tables in another way",
     "stack columns with dp.concat([frame[['a']].rename(columns={'a': 'x'}), …])"),
    ("insert pop isetitem swaplevel set_flags", _INDEX, _NEW),
    ("droplevel reorder_levels rename_axis set_axis add_prefix add_suffix", _LABELS,
     "rename columns: rename(columns=lambda name: 'x_' + name)"),
    ("drop", _LABELS, "drop columns of a frame; keep rows by their values with query or dropna"),
    ("convert_dtypes infer_objects", "types would be read from the data",
     "name them: astype(float), or kinds= of dp.protect"),
    ("cat", "which categories a column has is data", "declare labels: frame.declare(city=[…])"),
    ("list", "elements are taken by .str", ".str[0], .str.len() or frame.explode(…, max_items=3)"),
    ("struct sparse", "cells have no fields, and mean the same whatever holds them",
     "take them apart in the plain frame"),
    ("from_dict from_records from_arrow", "private rows come from dp.protect",
     "make a plain frame, and protect that"),
    ("abs clip isin isna isnull notna notnull map mask where", _BY_ROW,
     "use it before groupby, as in frame.assign(debt=frame['debt'].abs()).groupby(…)"),
    ("between", _BY_COLUMN, "keep rows by a column: frame[frame['age'].between(18, 65)]"),
    ("cut", _BY_COLUMN, "cut a column: assign(group=frame['age'].cut([0, 18, 120]))"),
    ("mode", _BY_COLUMN, "ask a column, as in frame['city'].mode(epsilon=0.1)"),
    ("nunique", _BY_COLUMN,
     "ask a column, as in frame['city'].nunique(keys=[…], epsilon=0.1), or for columns "
     "with declared keys agg(['nunique'])"),
    ("hist", _BY_COLUMN,
     "ask a column, as in frame['age'].hist(bins=10, range=(0, 100), epsilon=0.1)"),
    ("unattributed_histogram", _BY_COLUMN,
     "ask a column, as in frame['city'].unattributed_histogram(keys=[…], epsilon=0.1)"),
    ("add radd sub subtract rsub mul multiply rmul div divide rdiv truediv rtruediv floordiv "
     "rfloordiv mod rmod pow rpow eq ne lt le gt ge", _BY_COLUMN,
     "use the operator on a column, as in assign(total=frame['a'] + frame['b'])"),
    ("divmod rdivmod", "it makes two columns", "use // and %, one for each"),
    ("case_when", _LACKING, "chain where: frame['x'].where(mask, other)"),
    ("dot", "sums of products are asked of frames",
     "frame.assign(ab=frame['a'] * frame['b'])['ab'].sum(bounds=…)"),
    ("get select", "one column or several are selected by brackets",
     "frame['age'] or frame[['age', 'sex']]"),
    ("repeat", "a row would count several times", "weigh rows, as in mean(weights=frame['w'])"),
    ("explode", "the other columns of its rows would be lost",
     "explode a column of its frame: frame.explode('tags', max_items=3)"),
    ("sample", "units are sampled, with all their columns",
     "sample the frame first: frame.sample(frac=0.1)['age']"),
)  # fmt: skip

#: What groups lack besides these, or for other reasons.
BY_GROUP = _by_name(
    ("idxmax idxmin", "pandas answers with a row, and which rows exist is private",
     "ask for the group with the largest sum or size: sum(bounds=(0, 60)).idxmax(epsilon=0.1)"),
    ("first last nth", _ORDER, "with the unit column, first() is a value of each unit: "
     "frame.per_unit()['city'].first()"),
    ("transform", "the value of each row would depend on other rows",
     "release the means, then map them: means = frame.groupby('g')['x'].mean(epsilon=0.1), and "
     "frame['g'].map(means)"),
    ("apply", "a function of your own could look at all rows of a group",
     "ask for statistics by their names: agg(['count', 'mean']); compute columns before groupby"),
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
    ("ngroups groups indices keys level grouper", "which keys have rows is private",
     "the groups are the declared keys; size(epsilon=…) counts their rows"),
    ("ohlc", _ORDER, "ask for min(bounds=…) and max(bounds=…)"),
    ("fillna dropna assign query rename astype", "it would change rows, which a frame does",
     "change the frame before groupby, as in frame.fillna(0).groupby(…)"),
    ("resample", "periods are one of the keys",
     'groupby(["city", pd.Grouper(key="when", freq="MS")], range=("2024-01", "2024-12"))'),
    ("sample", "units are sampled, not rows of a group",
     "sample the frame before: frame.sample(frac=0.1).groupby(…)"),
    ("head tail", _ORDER, "ask for the largest groups: size().nlargest(3, epsilon=0.1)"),
)  # fmt: skip

#: What ``.str`` lacks.
TEXTS = _by_name(
    ("cat", "it joins the texts of all rows", "count labels, as in value_counts(keys=[…])"),
    ("decode encode", "bytes stay as they are, so that a cell has one meaning",
     "decode them in plain pandas beforehand"),
    ("extractall findall", "there may be several matches in one text",
     "use count(pat), extract(pat) for the first one, or split(pat) and frame.explode"),
    ("get_dummies", "its columns would be read from the data",
     "test each public label, as in contains('a')"),
    ("index rindex", "pandas raises where a text isn't found, which would tell of the data",
     "use find, which gives -1 there"),
    ("rfind", _LACKING, "use find, or turn the text around: s.str[::-1].str.find('a')"),
    ("join", "it is for lists", "join texts before, or explode lists into rows"),
    ("normalize translate", _LACKING, "replace texts: s.str.replace('é', 'e'), or map with a dict"),
    ("pad", _LACKING, "use ljust, rjust or center"),
    ("partition rpartition rsplit", _LACKING, "use split(pat).str[0], or extract(pattern)"),
    ("repeat", "texts could grow without limit", "compare lengths, or use zfill up to a width"),
    ("slice_replace", _LACKING, "use slice, or replace with regex=True"),
    ("wrap", "it is for showing texts, and private ones are not shown", "use slice(stop=20)"),
    ("isascii", _LACKING, r"use fullmatch(r'[\x00-\x7f]*')"),
)  # fmt: skip

#: What ``.dt`` lacks.
TIMES = _by_name(
    ("as_unit unit", "a time means the same in every unit", "leave it out"),
    ("freq", "it would be read from all rows", "round times to one: floor('h'), to_period('M')"),
    ("isocalendar", "it makes three columns", "use strftime('%G-%V')"),
    ("week weekofyear", "pandas has dropped it", 'use isocalendar()["week"]'),
    ("time timetz", "times of day are no values here", "use hour and minute, or strftime('%H:%M')"),
    ("to_pydatetime to_pytimedelta", _SHOWS, _RELEASE),
    ("tz", "the kind of a column says if it has zones", "describe() shows declared kinds"),
    ("tz_localize", "a local time may exist twice, or not at all, so pandas raises on the data",
     "localize in plain pandas beforehand; or drop a zone with tz_convert(None)"),
    ("components", "it makes seven columns", "use days, seconds or total_seconds()"),
    ("start_time end_time qyear asfreq to_timestamp", "periods answer for themselves only",
     "start from the times: floor('D'), year, quarter, or another to_period"),
)  # fmt: skip


def refuse(
    kind: str,
    name: str,
    answers: str,
    columns: Iterable[object] = (),
    more: Refusals | None = None,
    known: Refusals = VERBS,
) -> UnsupportedVerb:
    """The error for a method that private objects lack. ``more``: what this kind of object lacks
    besides `known`, or for other reasons."""
    found = (more or {}).get(name) or known.get(name)
    if found:
        why, instead = found
        beforehand = (
            ""
            if name in OF_RESULTS
            else (" Or do it in plain pandas beforehand; answers are then recorded as asserted.")
        )
        return UnsupportedVerb(f"{kind} have no {name!r}: {why}. Instead, {instead}.{beforehand}")
    near = difflib.get_close_matches(name, [str(column) for column in columns], n=1)
    hint = f" Did you mean the column {near[0]!r}?" if near else ""
    return UnsupportedVerb(f"{kind} have no {name!r}.{hint} They answer {answers}.")
