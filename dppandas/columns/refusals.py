"""Methods of pandas that private data can't offer, and what to do instead.

Every public name of pandas' frames, columns, groups, ``.str`` and ``.dt`` is either offered here,
or has its own reason in this table: docs/pandas.md is made from both. A name that neither knows is
refused as well, in general words.

No advice breaks the promise. Most of these verbs would let one person's rows change the results of
others: done in plain pandas, they would leave an answer with the noise of one row where all rows
move (docs/known_limits.md). So plain pandas is named only where the result of each row depends on
that row, or on the rows of its unit, alone.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Collection
from typing import NamedTuple

from ..errors import UnsupportedVerb, nearest
from ..release import foreign

#: So many letters of the names of what a private object answers.
MOST_LISTED = 140

_ORDER = "rows have no order"
_OTHERS = "each result would depend on other rows"
_SHOWS = "it would show private values"
_LABELS = "private rows have no labels, because which rows there are is private"
_INDEX = "private rows have no index, and frames never change"
_LACKING = "this version doesn't offer it"
_BY_COLUMN = "this version offers it for single columns"
_BY_ROW = "it works on rows, not on groups"
_RELEASE = "release an answer and use that, such as .count(epsilon=0.1)"
_FILTER = 'keep rows by their own values, as in query("age > 30")'
_SAMPLE = "keep a share of the units with sample(frac=0.1)"
_PUBLIC = "take the threshold from public knowledge or from a released answer"
_TIMES = 'make a column of it with .dt, such as assign(month=frame["when"].dt.to_period("M"))'
_NEW = "make a new frame with assign, rename or drop"


class Refusal(NamedTuple):
    """Why there is no such verb, what works in its place ("": nothing does), and whether plain
    pandas can do it before the rows are protected."""

    why: str
    instead: str
    beforehand: str = ""

    def __str__(self) -> str:
        instead = f"Instead, {self.instead}." if self.instead else "Nothing here does the same."
        return f"{self.why}. {instead}" + (f" {self.beforehand}" if self.beforehand else "")


Refusals = dict[str, Refusal]

#: Where each row's result depends on that row alone.
_ROW_WISE = "Plain pandas can do it before the first dp.protect, row by row."
#: An answer for each period, to compare what was released.
_PERIODS = "release a value of each period, groupby(pd.Grouper(key='when', freq='MS'), range=…)"


def _by_unit(code: str) -> str:
    """Where the result of each row can depend on the rows of its unit alone, and how."""
    return f"ask within each unit: {code}"


def _by_name(*refused: tuple[str, ...]) -> Refusals:
    return {name: Refusal(*said) for names, *said in refused for name in names.split()}


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
     'name the column where pandas would use the index, as in resample("W", on="when", …)'),
    ("reset_index reindex reindex_like", _INDEX,
     "release an answer and change its index: its labels are the declared keys"),
    ("T transpose swapaxes squeeze", "it would make columns of private rows",
     "release an answer and turn that, such as .describe(epsilon=0.1).T"),
)  # fmt: skip

#: For each other name of frames and columns: why not, and what to do instead.
VERBS: Refusals = OF_RESULTS | _by_name(
    ("first last nth", _ORDER,
     _by_unit("frame.sort_values('when').groupby('person_id').head(1), tail(1) or nth(1)")),
    ("truncate take", _ORDER, _SAMPLE),
    ("iloc at iat xs", "rows have neither positions nor public labels",
     'keep rows by their own values: query("age > 30"), or loc[mask, columns]'),
    ("rank", _OTHERS, _PUBLIC + "; or " + _by_unit("frame.groupby('person_id')['x'].rank()")),
    ("cumsum cummax cummin", _OTHERS,
     "take that of an answer; or "
     + _by_unit("frame.sort_values('when').groupby('person_id')['x'].cumsum()")),
    ("cumprod", _OTHERS,
     "take the .cumprod() of a released answer; or the .cumsum() of logarithms, within each unit"),
    ("cumcount", _OTHERS,
     _by_unit("frame.sort_values('when').groupby('person_id').cumcount()")),
    ("ngroup", "which groups there are is private", "number the declared keys: map({'a': 0, …})"),
    ("shift diff pct_change", _OTHERS,
     "compare released periods; or "
     + _by_unit("frame.sort_values('when').groupby('person_id')['x'].diff()")),
    ("rolling expanding ewm", _OTHERS,
     "use released values of periods; or add up, within each unit, "
     "frame.groupby('person_id')['x'].shift(1), .shift(2) …"),
    ("autocorr", _OTHERS,
     f"{_PERIODS}, and take its .autocorr()"),
    ("interpolate ffill bfill pad backfill", _OTHERS, "fill by fillna(0); or "
     + _by_unit("frame.sort_values('when').groupby('person_id')['x'].ffill()")),
    ("resample asfreq", "which periods have rows is private, so their range has to be public",
     'frame.resample("MS", on="when", range=("2024-01", "2024-12"))'),
    ("asof at_time between_time to_timestamp to_period tz_convert tz_localize",
     "private rows have no index of times",
     "use a column: its .dt, or query('9 <= when.dt.hour < 17')"),
    ("drop_duplicates duplicated", _OTHERS,
     _by_unit("frame.drop_duplicates(['person_id', 'day'])")),
    ("combine", "a function of your own could look at other rows",
     "use arithmetic, where, map with a dict, .str and .dt, agg with names, or per_unit().agg()"),
    ("applymap", "pandas calls it map", "frame.map(lambda x: x * 2)"),
    ("eval", "texts are read by frames, which know all columns",
     'frame.eval("age + 1"), or frame.assign(next="age + 1")'),
    ("filter", "labels of rows are private",
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
    ("skew kurt kurtosis", _LACKING,
     "release means of powers, as in (frame['x'] * frame['x']).mean(bounds=…), and compute it of "
     "these"),
    ("mad", _LACKING, "ask for std, or for quantiles"),
    ("prod product", _LACKING, "release the sum of logarithms: np.log(frame['x']).sum(bounds=…)"),
    ("argmax argmin searchsorted", "rows have no positions",
     "ask for max(bounds=…) or min(bounds=…), or cut at public edges"),
    ("idxmax idxmin", "it would name a row, and which rows exist is private",
     "ask for the most frequent label, as in value_counts(keys=[…]).idxmax(epsilon=0.1), or for "
     "max(bounds=…)"),
    ("any all", "a single row would decide it",
     "ask for the share of rows where it holds: (frame['age'] > 30).mean(epsilon=0.1)"),
    ("bool", "a single truth value would reveal what a row holds", _RELEASE),
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
    ("ndim", "libraries would mistake it for a plain table",
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
    ("struct sparse", "cells have no fields, and a sparse column is as a dense one", "",
     _ROW_WISE),
    ("from_dict from_records from_arrow", "private rows come from dp.protect",
     "make a plain frame, and protect that"),
    ("abs clip isin isna isnull notna notnull map mask where", _BY_ROW,
     "use it before groupby, as in frame.assign(debt=frame['debt'].abs()).groupby(…)"),
    ("between", _BY_COLUMN, "keep rows by a column: frame[frame['age'].between(18, 65)]"),
    ("cut", _BY_COLUMN, "cut a column: assign(group=frame['age'].cut([0, 18, 120]))"),
    ("mode", _BY_COLUMN, "ask a column, as in frame['city'].mode(epsilon=0.1)"),
    ("nunique", _BY_COLUMN,
     "ask a column, as in frame['city'].nunique(epsilon=0.1), or several with agg(['nunique'])"),
    ("hist", _BY_COLUMN,
     "ask a column, as in frame['age'].hist(bins=10, range=(0, 100), epsilon=0.1)"),
    ("unattributed_histogram", _BY_COLUMN,
     "ask a column, as in frame['city'].unattributed_histogram(keys=[…], epsilon=0.1)"),
    ("add radd sub subtract rsub mul multiply rmul div divide rdiv truediv rtruediv floordiv "
     "rfloordiv mod rmod pow rpow eq ne lt le gt ge", _BY_COLUMN,
     "use the operator on a column, as in assign(total=frame['a'] + frame['b'])"),
    ("divmod rdivmod", "it makes two columns", "use // and %, one for each"),
    ("case_when", _BY_COLUMN, "frame['x'].case_when([(mask, other), …])"),
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
    ("first last nth", _ORDER,
     _by_unit("frame.sort_values('when').groupby('person_id')['city'].first()")),
    ("cumcount cumsum cummax cummin rank shift diff pct_change ffill bfill", _OTHERS,
     _by_unit("frame.sort_values('when').groupby('person_id')['x'].shift()")),
    ("transform", _OTHERS,
     ".map(released) means; or "
     + _by_unit("frame.groupby('person_id')['x'].transform('mean')")),
    ("apply", "a function of your own could look at all rows of a group",
     "compute columns before groupby, with assign; name statistics: agg(['count', 'mean']); and "
     "weigh rows: mean(weights='w', …)"),
    ("filter", "whether a group stays would depend on other rows",
     "release size(epsilon=…), and keep the groups that you want of the answer; or keep rows by "
     "their own values before groupby, with query"),
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
    ("fillna dropna assign query rename astype", "it works on rows, not on groups",
     "change the frame before groupby, as in frame.fillna(0).groupby(…)"),
    ("resample", "periods are one of the keys",
     'groupby(["city", pd.Grouper(key="when", freq="MS")], range=("2024-01", "2024-12"))'),
    ("sample", "units are sampled, not rows of a group",
     "sample the frame before: frame.sample(frac=0.1).groupby(…)"),
    ("head tail", _ORDER, "take the largest groups, size().nlargest(3); or "
     + _by_unit("frame.sort_values('when').groupby('person_id').head(2)")),
)  # fmt: skip

GROUPS = VERBS | BY_GROUP

#: What rows of each unit lack, of which a value is made for each unit or for each row.
BY_UNIT = _by_name(
    ("apply pipe", "a function of your own could keep what it sees",
     "compute with named figures, agg(first=('x', 'min'), last=('x', 'max')), or with "
     "transform('mean')"),
    ("filter", "it takes a function of your own",
     "keep rows by a figure of their unit: "
     "frame[frame.groupby('person_id')['x'].transform('size') >= 5]"),
    ("idxmax idxmin", "it would name a row, and private rows have no labels",
     "take the row itself: frame.sort_values('x').groupby('person_id').tail(1)"),
    ("nlargest nsmallest", "it would show a unit's rows",
     "keep them: frame.sort_values('x', ascending=False).groupby('person_id').head(3)"),
    ("rolling expanding ewm resample", _LACKING,
     "add up .shift(1), .shift(2) …, or divide .cumsum() by .cumcount() + 1; for periods use "
     "per_unit(by='month')"),
    ("std var sem skew kurt quantile prod cumprod corr cov mode unique value_counts describe ohlc",
     _LACKING,
     "ask for sum, mean, median and the like of each unit; and statistics over units of these: "
     "per_unit().agg(x=('x', 'mean'))['x'].std(…)"),
    ("get_group groups indices ngroup ngroups keys", "which units there are is private",
     "count units: frame['person_id'].nunique(epsilon=0.1)"),
    ("unstack pivot stack", "a unit has one row, with a column for each figure",
     "make columns by their labels before: frame.assign(web=frame['place'] == 'web')"),
    ("hist plot boxplot", _SHOWS, "ask the result: "
     "frame.groupby('person_id').size().hist(bins=10, range=(0, 20), epsilon=0.1)"),
    ("fillna dropna assign query rename astype", _BY_ROW,
     "change the frame before, as in frame.fillna(0).groupby('person_id')"),
)  # fmt: skip

UNITS = GROUPS | BY_UNIT

#: What ``.str`` lacks.
TEXTS = _by_name(
    ("decode encode", "bytes stay as they are, so that a cell has one meaning", "", _ROW_WISE),
    ("extractall", "there may be several matches in one text",
     "use count(pat), extract(pat) for the first one, or split(pat) and frame.explode"),
    ("get_dummies", "its columns would be read from the data",
     "test each public label, as in contains('a')"),
    ("index rindex", "pandas raises where a text isn't found, which would tell of the data",
     "use find, which gives -1 there"),
    ("wrap", "it is for showing texts, and private ones are not shown", "use slice(stop=20)"),
)  # fmt: skip

#: What ``.dt`` lacks.
TIMES = _by_name(
    ("as_unit unit", "a time means the same in every unit", "leave it out"),
    ("freq", "it would be read from all rows", "round times to one: floor('h'), to_period('M')"),
    ("week weekofyear", "pandas has dropped it", 'use isocalendar()["week"]'),
    ("time timetz", "times of day aren't values here", "use hour and minute, or strftime('%H:%M')"),
    ("to_pydatetime to_pytimedelta", _SHOWS, _RELEASE),
    ("tz", "the kind of a column says if it has zones", "describe() shows declared kinds"),
    ("components", "it makes seven columns", "use days, seconds or total_seconds()"),
    ("start_time end_time qyear asfreq to_timestamp", "private periods don't offer it",
     "start from the times: floor('D'), year, quarter, or another to_period"),
)  # fmt: skip


def refuse(
    of: object,
    kind: str,
    answers: str,
    name: str,
    columns: Collection[object] = (),
    known: Refusals = VERBS,
) -> UnsupportedVerb:
    """The error for a method that a private object lacks.

    columns : its columns, which it may have in place of the name. Its own names are in ``dir``.
    known : why it lacks what pandas has.
    """
    found = known.get(name)
    function, instead = foreign.caller(sys._getframe())
    if function:  # such as one that asks for a shape
        return UnsupportedVerb(f"{function} would read private values. Instead, {instead}.")
    if found:
        return UnsupportedVerb(f"{kind} have no {name!r}: {found}")
    names = {str(column): f"the column {column!r}" for column in columns}
    names |= {each: repr(each) for each in dir(of) if each[0] != "_" and each not in names}
    near = nearest(name, names)
    hint = f" Did you mean {names[near[0]]}?" if near else ""
    some = textwrap.shorten(answers, MOST_LISTED, placeholder=" …")
    return UnsupportedVerb(f"{kind} have no {name!r}.{hint} They answer {some}.")
