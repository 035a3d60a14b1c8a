"""The row-wise verbs: without noise they do as pandas does, one row at a time, or say why not."""

import collections
import copy
import datetime as dt
import math
import pickle
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sizes
from elements import ELEMENTS, HOSTILE, meanings, objects
from hypothesis import given, settings
from hypothesis import strategies as st
from notes import noted
from refusals import refusal
from sizes import size, third

import dppandas as dp
from dppandas.columns import refusals
from dppandas.columns.accessors import TextMethods
from dppandas.columns.time_methods import TimeMethods
from dppandas.engines.blocks import RowTable
from dppandas.engines.readers import Columns
from dppandas.errors import LineageError, PrivateValueError, QueryError, UnsupportedVerb
from dppandas.privacy.accounting.losses import Epsilon
from dppandas.release.private import Private
from dppandas.release.query import Query
from dppandas.rows import expressions, values
from dppandas.rows.expressions import AGGREGATES
from dppandas.rows.expressions.text.functions import MAPS, TESTS
from dppandas.rows.expressions.times import DURATIONS, ISO, PARTS
from dppandas.rows.values import MISSING, hashing, vectors

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

EPSILON = 8
Verb = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def _silence(recwarn: pytest.WarningsRecorder) -> Iterator[None]:
    """A warning would tell of the data, as an exception would; but of what nobody declared."""
    yield
    assert not [said for w in recwarn if "isn't declared" not in (said := str(w.message))]


def private(df: pd.DataFrame) -> Any:
    return dp.private(df, unit="row")


def table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


# --- every verb, on two columns c and d of anything -----------------------------------------------

PATTERN = r"(\d+)"
ZIPS = pd.DataFrame({"zip": ["a", "12", "0.1"], "city": ["Rome", None, "Oslo"], "n": [1, 2, 3]})
PAIRS = pd.DataFrame({"k": ["a", "a", 1], "l": [1, "a", 1], "word": ["x", "y", "z"]})


def written(arguments: str, *codes: str) -> dict[str, Verb]:
    """Functions of these arguments, each under what it returns."""
    return {code: eval(f"lambda {arguments}: {code}") for code in codes}


def verbs(columns: str, *codes: str) -> dict[str, Verb]:
    """Verbs of a frame `p` and its columns, which are called by their letters."""
    of_all = written(f"p, {', '.join(columns)}", *codes)
    return {k: lambda p, f=f: f(p, *(p[name] for name in columns)) for k, f in of_all.items()}


#: What `.str` offers, with arguments.
TEXT = written(
    "s", *(f"s.{name}()" for name in TESTS if name.startswith("is")),
    "s.lower()", "s.upper()", "s.title()", "s.capitalize()", "s.swapcase()", "s.casefold()",
    "s.len()", "s.strip()", "s.strip('a ')", "s.lstrip()", "s.rstrip('b')", "s.removeprefix('a')",
    "s.removesuffix('b')", "s.zfill(6)", "s.center(7, '*')", "s.ljust(7)", "s.rjust(7, '0')",
    "s.find('b')", "s.count(r'[ab]')", "s.slice(1, -1)", "s[::-1]", "s.get(1)", "s[-2]",
    "s.replace('a', 'é')", r"s.replace(r'(a)(b)?', r'<\1>', regex=True)",
    "s.split()", "s.split('-', n=1)", "s.startswith('a')", "s.startswith(('a', '1'))",
    "s.endswith('b')", r"s.contains(r'a|\d')", "s.contains('A', case=False)",
    "s.contains('.', regex=False)", r"s.match(r'\d')", r"s.fullmatch(r'\d+')",
    "s.pad(6)", "s.pad(6, side='both', fillchar='*')", "s.repeat(2)", "s.slice_replace(1, 2, 'x')",
    "s.slice_replace(stop=-1, repl='y')", "s.slice_replace(5, 2, 'z')", "s.normalize('NFKD')",
    "s.translate(str.maketrans('ab', 'xy', 'c'))", "s.rfind('b')", "s.findall('[ab]')",
    "s.split('-').str.join('+')", "s.rsplit('-', n=1)", "s.partition('-')[0]",
    "s.partition(' ')[2]", "s.rpartition('-')[1]", "s.partition('-', expand=False)",
    "s.split('-', n=2, expand=True)[1]", "s.rsplit('-', n=1, expand=True)[0]",
    "s.split(n=1, expand=True)[1]", r"s.extract(r'(?P<head>\w)(\d)?')['head']",
    r"s.extract(r'(?P<head>\w)(\d)?')[1]", r"s.extract(r'(\w)', expand=True)[0]",
    "s.replace('A', 'é', case=False)", "s.replace('a', 'b', n=1)",
    r"s.replace(r'[AB]', '', flags=re.I, regex=True)", "s.count('A', flags=re.I)",
    "s.contains('A', flags=re.I)", "s.contains('a', na=False)", "s.startswith('a', na=True)",
    "s.match('A', case=False, na=True)", "s.findall('[AB]', re.I).str.len()",
)  # fmt: skip
TIMES = written(
    "t", *(f"t.{name}" for name in PARTS if not name.startswith("isocalendar")),
    "t.isocalendar()['week']", "t.isocalendar()['year']", "t.isocalendar().day",
    "t.tz_localize(None)", "t.day_name()",
    "t.month_name()", "t.normalize()", "t.floor('h')", "t.ceil('15min')", "t.round('D')",
)  # fmt: skip
#: What pandas does otherwise, or refuses, without a zone: test_times.py compares these.
CONVERTED = written(
    "t", "t.tz_localize('UTC')", "t.tz_localize('Europe/Berlin')",
    "t.tz_convert('Europe/Berlin')", "t.tz_convert(None)", "t.to_period('M')",
    "t.strftime('%Y-%m-%d %H:%M:%S.%f %z %Z %U %j')",
)  # fmt: skip
LENGTHS = written(
    "t", *(f"t.{name}" for name in DURATIONS if name != "total_seconds"), "t.total_seconds()",
    "t.floor('h')", "t.ceil('min')", "t.round('D')",
)  # fmt: skip

#: Their last bits are those of Python's math, not of numpy.
LIBRARY = [
    f"np.{name}(c)"
    for name in (
        "exp", "expm1", "log", "log2", "log10", "log1p", "tanh", "sin", "cos", "tan", "arcsin",
        "arccos", "arctan", "sinh", "cosh", "arcsinh", "arccosh", "arctanh", "cbrt", "exp2")
] + ["np.hypot(c, d)", "np.arctan2(c, d)"]  # fmt: skip
#: Where a quotient near 0 has no bounds that could be declared.
STEEP = ["c / d", "1 / c", "2 ** c", "c.div(d)", "c.rtruediv(1)", "c.rpow(2)", "np.reciprocal(c)"]
#: What reads alike on a frame of numbers and on one of anything.
OF_NUMBERS = verbs(
    "cd", *LIBRARY, *STEEP, "c + d", "10 - c", "np.float64(1.5) * c", "c // 3", "10 // c",
    "c % 2.5", "7 % c", "c ** 2", "np.int64(7) // c", "-c", "+c", "abs(c)", "c.abs()",
    "c.round(1)", "round(c, -1)", "np.sqrt(c)", "np.floor(c)", "np.ceil(c)", "np.trunc(c)",
    "np.rint(c)", "np.absolute(c)", "c.clip(-1, 2.5)", "c.clip(lower=0.5)", "c.clip(upper=0.5)",
    "c.where(d > 0)", "c.where(d > 0, -1)", "c.where(d.notna(), d)", "c.fillna(0)", "c.fillna(d)",
    "c.astype(float)", "c.isin([1, 'a', 0.5, 2**53 + 1])", "c.between(0, 12)", "c.isna()",
    "c.between(d, 100, inclusive='neither')", "c.notna()", "c == d", "c < d",
    "(c == 1) ^ (d > 0)", "p.assign(e=5)['e']",
    # pandas' methods for operators
    "c.add(d)", "c.add(d, fill_value=1)", "c.radd(d, fill_value=2)", "c.sub(3)", "c.rsub(3)",
    "c.mul(d, fill_value=0)", "c.rmul(2)", "c.floordiv(3)", "c.rfloordiv(10)", "c.mod(2.5)",
    "c.rmod(7)", "c.pow(2)", "c.truediv(4)", "c.subtract(1)", "c.multiply(2)", "c.divide(4)",
    "c.gt(1)", "c.ge(d)", "c.lt(d, fill_value=1)", "c.le(7)", "c.eq(d)", "c.ne(1)",
    # numpy's functions of one row
    "np.where(c > 0, c, d)", "np.where(c > d, 1, np.nan)", "np.where(c.isna(), 0, c)",
    "np.select([c > 5, c > 0], [2, d], default=-1)", "np.select([c > 5], [1])",
    "np.minimum(c, d)", "np.maximum(0, c)", "np.fmin(c, d)", "np.fmax(c, 1.5)", "np.isnan(c)",
    "np.isfinite(c)", "np.isinf(c)", "np.clip(c, -1, 2.5)", "np.round(c, 1)", "np.around(c)",
    "np.abs(c)", "np.fabs(c)", "np.sign(c)", "np.square(c)", "np.negative(c)", "np.degrees(c)",
    "np.radians(c)", "np.rad2deg(c)", "np.deg2rad(c)", "np.fix(c)", "np.float_power(c, 2)",
    "np.logical_and(c > 0, d > 0)", "np.logical_or(c > 0, d > 0)", "np.logical_not(c > 0)",
    "np.logical_xor(c > 0, d > 0)", "np.isin(c, [1.5, 7])", "np.isin(c, [7], invert=True)",
    # frames, cell by cell
    "(p / 4)['c']", "(3 - p)['d']", "p.gt(1)['c']", "(p > 1)['d']", "(p == p)['c']",
    "(p * {'c': 2, 'd': 3})['d']", "(p + pd.Series({'d': 1, 'c': 5}))['c']", "(p - [1, 2])['d']",
    "p.sub(d, axis=0)['c']", "p.add(p, fill_value=0)['c']", "(-p)['c']", "(+p)['d']",
    "abs(p)['c']", "p.abs()['c']", "(~(p > 1))['c']", "((p > 1) | (p < 0))['c']",
    "((p > 1) & (p < 5))['d']", "p.isna()['c']", "p.notnull()['d']", "p.clip(0, 2)['c']",
    "p.clip({'c': 0, 'd': 1}, {'c': 2, 'd': 3})['d']", "p.where(p > 1)['c']",
    "p.where(p > 1, 0)['d']", "p.mask(p > 1, -p)['c']", "p.mask(lambda p: p < 1)['c']",
    "np.sqrt(p)['c']", "np.maximum(p, 1)['d']", "np.round(p, 1)['c']", "np.clip(p, 0, 2)['d']",
    # frames, row by row
    "p.sum(axis=1)", "p.sum(axis='columns', skipna=False)", "p.sum(1, min_count=2)",
    "p.mean(axis=1)", "p.mean(axis=1, skipna=False)", "p.min(axis=1)", "p.max(axis=1)",
    "p.max(axis=1, skipna=False)", "p.count(axis=1)", "p.median(axis=1)",
    "p.median(axis=1, skipna=False)", "p.var(axis=1)", "p.std(axis=1, ddof=0)",
    "p.var(axis=1, skipna=False)", "p.isna().any(axis=1)", "(p > 1).all(axis=1)",
    "p.assign(e=1).mean(axis=1)",
)  # fmt: skip

VERBS: dict[str, Verb] = {
    **OF_NUMBERS,
    **{f"str {name}": lambda p, f=f: f(p["c"].str) for name, f in TEXT.items()},
    **{
        f"dt {name}": lambda p, f=f: f(p["c"].dt)
        for name, f in (TIMES | LENGTHS | CONVERTED).items()},
    **verbs(
        "cd", "c + pd.Timedelta('1D')", "c - pd.Timestamp('2020-01-01')",
        "pd.Timestamp('2020-01-01', tz='UTC') - c", "c - d", "c * pd.Timedelta('1.5s')",
        "c / pd.Timedelta('1h')", "c.str.extract(PATTERN)", "c.str.split('-').str[1]", "c.dt.date",
        "c + '-' + d", "'x' + c.astype(str)", "c.str.cat(d, sep='-', na_rep='?')",
        "c.str.cat([d, c])", "c.dt.isocalendar_week", "c.where(lambda c: c == 'a', 'b')",
        "c.mask(c == 1, 'one')",
        "c.fillna('none')", "c.fillna(pd.Timestamp('2020-01-01'))", "c.astype('int64')",
        "c.astype(bool)", "c.astype(str)", "c.astype('datetime64[ns]')", "c.astype('category')",
        "c.dt.month.astype(str)", "p[['c', 'd']].dot([0.5, -2])",
        "p[['c', 'd']].dot(pd.DataFrame({'u': [1, 0], 'v': [1e300, 3]}, index=['d', 'c']))['v']",
        "p[['c', 'd']].idxmin(axis=1)", "p[['c', 'd']].idxmax(axis='columns')",
        "c.map({1: 'one', 'a': 2, 0.5: None, pd.Timestamp('2020-01-01'): 'day'})",
        "c.map({1: 10, 'a': 0.5, 2**53 + 1: True})", "c.map(pd.Series(['one', 2], index=[1, 'a']))",
        "c.case_when([(c == 1, 'one'), (d > 0, d), (c.isna(), 7)])", "c.combine_first(d)",
        "np.where(c == 'a', d, 'b')", "p[['c']].combine_first(p[['d']])['d']",
        "c.replace({1: 'one', 'a': None, '12': 12})",
        "c.replace('a', 'b')", "c.between('0', 'a', inclusive='left')", "c.cut([0, 1, 2.5, 100])",
        "c.cut([0, 1, 100], labels=['low', 'high'], right=False)",
        "c.cut([0, 1, 9], labels=False, include_lowest=True)",
        "dp.cut(c, [-math.inf, 0, math.inf], labels=[('-', 1), ('+', 2)])", "c >= '2020-01-01'",
        "True & ~(c == 1)", "p.assign(e='c + d * 2')['e']", "p.assign(e='c > 1 or d.isna()')['e']",
        "p.assign(e=lambda p: p['c'] + 1, f='e - 1')['f']", "p.assign(e=None)['e']",
        "p.assign(e=pd.Timestamp('2020-01-01'))['e']", "p.fillna({'c': 'x'})['c']",
        "p.astype({'c': str, 'd': float})['c']", "p.round(1)['c']", "p.replace({'c': {1: 2}})['c']",
        "p.merge(ZIPS, left_on='c', right_on='zip')['city']",
        "p.merge(ZIPS, left_on='c', right_on='zip')['n']",
        "p.merge(PAIRS, left_on=['c', 'd'], right_on=['k', 'l'])['word']",
        "p.explode('c', max_items=3)['c']",
        "dp.concat([p[['c']], p[['d']].rename(columns={'d': 'c'})])['c']",
        "p.melt('d')['value']", "p.melt('d', ['c', 'd'])['variable']",
        "p.join(ZIPS.set_index('zip'), on='c')['city']", "p.reindex(columns=['e'])['e']"),
}  # fmt: skip
FILTERS = verbs(
    "cd", "p.query(\"c == 'a' or d > 0\")", "p[c.str.contains('a')]", "p.dropna()",
    "p.dropna(how='all')", "p.dropna(subset=['c'])", "p.sample(frac=0.5)",
    "p.merge(ZIPS, 'inner', left_on='c', right_on='zip')", "p.explode('c', max_items=3)",
    "p.merge(PAIRS, 'inner', left_on=['c', 'd'], right_on=['k', 'l'])",
    "dp.concat([p.query('c > 0'), p.query('d > 0')])", "p.query('c > 0').melt('c', ['c', 'd'])",
)  # fmt: skip


def named(owner: str, codes: Iterable[str]) -> set[str]:
    return set(re.findall(rf"\b{owner}\.(\w+)", " ".join(codes)))


def test_every_text_method_and_time_part_is_tried() -> None:
    tried = named("s", TEXT) | named("str", TEXT) | {"cat"}
    assert {*MAPS, *TESTS} <= tried
    assert {n for n in vars(TextMethods) if not n.startswith("_")} <= tried
    parts = named("t", TIMES | LENGTHS | CONVERTED) | {"date", *ISO}
    assert parts >= {*PARTS, *DURATIONS}
    assert {n for n in vars(TimeMethods) if not n.startswith("_")} <= parts


# --- one row at a time ----------------------------------------------------------------------------


def results(df: pd.DataFrame, expression: Any, branches: int, part: slice) -> list[Any]:
    """The elements of an expression on some rows, for each branch."""
    first, last, _ = part.indices(len(df))
    block = RowTable(Columns(df), b"k" * 16).block(first, last)
    found = []
    with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        for branch in range(branches):
            block.branch = branch
            vector = expression.vector(block)
            truth = expression.truth(block)
            null = vectors.is_null(vector)
            assert len(vector) == len(truth) == len(null) == last - first
            cells = meanings(vector)
            assert [cell == MISSING for cell in cells] == null.tolist()
            found.append(list(zip(cells, truth.tolist(), strict=True)))
    assert not [str(each.message) for each in told]
    return list(zip(*found, strict=True))


def asked(name: str, p: Any) -> tuple[expressions.Expression, int]:
    if name.startswith("filter "):
        frame = FILTERS[name[7:]](p)
        return (expressions.EVERY if frame._where is None else frame._where), frame._table.branches
    column = VERBS[name](p)
    return column._expression, column._table.branches


NAMES = [*VERBS, *(f"filter {name}" for name in FILTERS)]
MORE = ["a b", "ab-cd-e", "é", "A1", "0.5", "-3", "x" * 40, "2020-02-30", "10:30", "13/01/2020",
        "2020Q1", "2020-01-01 10:00 XYZ", "20:15", "5pm", [1, None, "b"], [[1], 2], (), [], ("a",),
        np.array(["a", "b"]), np.array([], dtype=float), np.array(5), frozenset([7]), "1,5",
        dt.timedelta(days=-1, microseconds=1), pd.Timedelta(5, "ns"), 1e300, -2.5, 3, 1e-320,
        pd.Timestamp("2020-03-29 02:30", tz="UTC").tz_convert("Europe/Berlin"), pd.Timestamp.max,
        pd.Timestamp.min, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59)]  # fmt: skip
ANYTHING = [*ELEMENTS, *MORE, *HOSTILE]


@pytest.fixture(scope="module")
def hostile() -> pd.DataFrame:
    return pd.DataFrame({"c": objects(ANYTHING), "d": objects([*ANYTHING[40:], *ANYTHING[:40]])})


@pytest.mark.sized
@pytest.mark.parametrize("name", NAMES)
def test_a_row_means_the_same_alone_and_among_others(name: str, hostile: pd.DataFrame) -> None:
    expression, branches = asked(name, private(hostile))
    together = results(hostile, expression, branches, slice(None))
    n = len(hostile)
    assert len(together) == n
    for rows in (1, 7, 64) if sizes.is_deep else (7,):
        parts = [
            each
            for i in range(0, n, rows)
            for each in results(hostile, expression, branches, slice(i, i + rows))
        ]
        assert parts == together
    backwards = hostile.iloc[::-1].reset_index(drop=True)
    assert results(backwards, expression, branches, slice(None)) == together[::-1]
    step = size(quick=24, deep=4)  # which rows is another question for each operation
    for i in range(NAMES.index(name) % step, n, step):  # a frame of its own
        assert results(hostile.iloc[[i]], expression, branches, slice(None)) == [together[i]]


def test_many_texts_are_joined_row_by_row() -> None:
    """With more pairs than rows, each row is a pair of its own."""
    n = 2000
    df = table(c=[f"a{i}" for i in range(n)], d=[None if i % 7 == 0 else f"b{i}" for i in range(n)])
    p = private(df)
    expression = (p["c"] + "-" + p["d"])._expression
    found = [cell for ((cell, _),) in results(df, expression, 1, slice(None))]
    wanted = [MISSING if i % 7 == 0 else ("text", f"a{i}-b{i}") for i in range(n)]
    assert found == wanted
    assert results(df, expression, 1, slice(3, 5)) == results(df, expression, 1, slice(None))[3:5]


UNIT_NAMES = ["x", "y", 1, 1.0, True, 2**53 + 1, pd.Timestamp("2020-01-01"), None, [1], ("z",)]


@given(st.integers(0, 2**32), st.sampled_from([None, "c == 1 or d > 0"]))
def test_the_row_of_a_unit_is_made_from_its_rows_alone(seed: int, where: str | None) -> None:
    """In whatever order they stand, and whoever else is there: to the last bit."""
    draw = np.random.default_rng(seed)  # of data, not of noise
    n = 40
    reals = [0.1, 0.2, 0.3, 1e16, -1e16, 1.0, 1e-9, 1e308, None]
    df = pd.DataFrame({
        "u": objects([UNIT_NAMES[i] for i in draw.integers(0, len(UNIT_NAMES), n)]),
        "c": objects([ANYTHING[i] for i in draw.integers(0, len(ANYTHING), n)]),
        "d": objects([reals[i] for i in draw.integers(0, len(reals), n)]),
    })  # fmt: skip
    together = unit_rows(df, where)
    assert unit_rows(df.iloc[draw.permutation(n)], where) == together
    names = [hashing.name_of(u) for u in df["u"]]
    assert set(together) <= set(names) - {None}
    for name in set(names) - {None}:
        alone = df[[other == name for other in names]]
        assert unit_rows(alone, where) == {k: v for k, v in together.items() if k == name}


def unit_rows(df: pd.DataFrame, where: str | None) -> dict[Any, Any]:
    p = dp.private(df, unit="u", max_rows=1)
    p._table.engine.key = b"k" * 16  # by which "first" chooses
    kept = p if where is None else p.query(where)
    asked = {f"{how} {c}": (c, how) for c in "cd" for how in set(AGGREGATES) - {"last"}}
    with np.errstate(all="ignore"):
        made = kept.per_unit().agg(**asked)._table.engine.made().read
    found = {}
    for i, cell in enumerate(meanings(made["u"])):
        name = values.name(values.key(cell))
        assert name not in found
        found[name] = {each: meanings(made[each].take(slice(i, i + 1)))[0] for each in asked}
    return found


# --- whatever dtype holds the values --------------------------------------------------------------

FAMILIES: dict[str, tuple[list[Any], list[str]]] = {
    "whole": ([0, 1, -3, 12, 2, 100], ["int8", "float64", "float32", "Int16", "Float64",
              "int64[pyarrow]", "double[pyarrow]"]),
    "whole with missing": ([0, 1, None, 12, 2], ["float64", "Int64", "UInt8", "Float32",
                           "uint8[pyarrow]", "float[pyarrow]"]),
    "large": ([2**53 + 2, -(2**60), 2**40, 1], ["int64", "float64", "Int64", "int64[pyarrow]"]),
    "real": ([0.5, -1.25, None, math.inf, 1e300, 12.0], ["float64", "Float64", "double[pyarrow]"]),
    "truth": ([True, False, True], ["bool", "boolean", "bool[pyarrow]"]),
    "truth with missing": ([True, None, False], ["boolean", "bool[pyarrow]"]),
    "text": (["a", "ab-cd-e", None, "12", "", "É b", "2020-01-31", "-3"],
             ["string[python]", "string[pyarrow]", "large_string[pyarrow]"]),
    "times": ([pd.Timestamp("2020-02-29 13:14:15"), pd.Timestamp("1969-12-31"), None],
              ["datetime64[ns]", "datetime64[s]", "datetime64[us]", "timestamp[ms][pyarrow]"]),
    "zoned": ([pd.Timestamp("2020-03-29 03:30", tz="Europe/Berlin"), None],
              ["datetime64[ns, Europe/Berlin]", "datetime64[s, Europe/Berlin]"]),
    "durations": ([pd.Timedelta("1 day 02:03:04.5"), None, pd.Timedelta("-5s")],
                  ["timedelta64[ns]", "timedelta64[us]", "duration[ms][pyarrow]"]),
    "python times": ([dt.datetime(2020, 2, 29, 13), dt.datetime(2020, 1, 1)], ["datetime64[ns]"]),
    "python durations": ([dt.timedelta(1, 5), dt.timedelta(0, 1)], ["timedelta64[ns]"]),
}  # fmt: skip


@pytest.mark.sized
@pytest.mark.parametrize("family", FAMILIES)
def test_a_value_means_the_same_in_every_dtype(family: str) -> None:
    values, dtypes = FAMILIES[family]
    held = [objects(values), objects(values).astype("category")]
    held += [pd.Series(values, dtype="object").astype(dtype) for dtype in dtypes]
    held += [held[2].astype("category")]
    other = objects([1, 0, -1, None, 2.5, "a", "12", 3][: len(values)])
    first = pd.DataFrame({"c": held[0], "d": other})
    for name in third(NAMES, list(FAMILIES).index(family) % 3):
        if name == "filter p.sample(frac=0.5)":
            continue  # its seed is this frame's
        expression, branches = asked(name, private(first))
        wanted = results(first, expression, branches, slice(None))
        for column in held[1:]:
            df = pd.DataFrame({"c": column, "d": other})
            found = results(df, expression, branches, slice(None))
            assert plainly(found) == plainly(wanted), (name, column.dtype)


def plainly(found: list[Any]) -> list[Any]:
    """Without the names of zones, which have several spellings."""

    def plain(value: Any) -> Any:
        return (*value[:2], "") if value and value[0] == "time" else value

    return [[(plain(value), truth) for value, truth in row] for row in found]


# --- as pandas does -------------------------------------------------------------------------------


def number_of(answer: Any) -> Any:
    return answer.release(epsilon=EPSILON)


def agrees(found: Any, wanted: pd.Series, close: bool = False) -> None:
    """A private column has as many values as a plain one, of the same sum, each as often."""
    known = wanted.dropna().tolist()
    assert number_of(found.size()) == len(wanted)
    assert number_of(found.count()) == len(known)
    if not known:
        return
    if all(isinstance(x, bool | int | float) and math.isfinite(x) for x in known):
        most = max(1.0, *map(abs, map(float, known)))
        total = number_of(found.sum(bounds=(-most, most)))
        assert total == pytest.approx(math.fsum(known), abs=len(known) * most / 2**28)
    if not close:
        labels = list(dict.fromkeys(known))
        counts = number_of(found.value_counts(keys=labels, sort=False))
        assert counts.tolist() == [known.count(label) for label in labels]


def all_agree(found: Any, wanted: pd.DataFrame) -> None:
    """A private frame has the columns of a plain one, in their order."""
    assert list(found.columns) == list(wanted.columns)
    for name in wanted:
        agrees(found[name], wanted[name])


def passed(tests: pd.Series) -> pd.Series:
    """Tests of texts, which nothing but a text passes here."""
    return pd.Series([isinstance(x, bool | np.bool_) and bool(x) for x in tests])


NUMBERS = table(c=[1.5, -2.0, math.nan, 0.0, 7.0, 12.0, 2.5, -0.25],
                d=[2.0, 0.0, 1.0, 3.0, -4.0, math.nan, 0.5, 2.0])  # fmt: skip
ALIKE = OF_NUMBERS | verbs(
    "cd", "p.assign(e=pd.Timestamp('2020-01-01')).sum(axis=1, numeric_only=True)",
    "c.mask(c > 1)", "c.mask(d < 1, 5)", "c.mask(lambda c: c < 0, d)",
    "c.between(0, 2.5, inclusive='neither')", "c.between(0, 2.5, inclusive='right')",
    "p.dropna()['c']", "p.dropna(how='all')['c']", "p.dropna(subset=['d'])['c']", "c.dropna()",
    "p.rename(columns={'c': 'e', 'd': 'c'})['c']", "p.rename(columns=str.upper)['C']",
    "p.drop(columns=['d'])['c']", "p.drop(columns='d')['c']", "c.map({1.5: 'x', 0: 'y', 12: 'x'})",
    "c.map({1.5: 2, 0: 3})", "c.replace({1.5: 2.5, 0: -1})", "c.replace(7, 0)",
    "c.replace([7, 0], [0, 7])", "c.replace([7, 0], 1)",
    "p.replace({'c': {7: 0}, 'd': {0: 7}})['c']", "p.replace(2, 3)['c']", "p.fillna(-1)['c']",
    "p.fillna({'c': 9})['c']", "p.round(0)['c']", "p.round({'c': 1})['c']", "p.astype(float)['c']",
    "p.copy()['c'].copy()", "p.pipe(lambda q, n: q['c'] * n, 2).pipe(lambda c: c + 1)",
    "p.assign(e=lambda p: p['c'] + p['d']).dropna()['e'].clip(0, 5)",
)  # fmt: skip


def by_pandas(name: str, df: pd.DataFrame) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas': downcasting in 2, for one
        found = ALIKE[name](df)
    return found if isinstance(found, pd.Series) else pd.Series(found)  # numpy makes arrays


def sensible(x: float) -> float:
    """Not so near to 0 that a quotient has no bounds that could be declared."""
    return x if abs(x) > 1e-200 else 0.0


#: Lists, which can't be labels; and columns that pandas lacks where all texts are short.
UNALIKE = "isascii|split|findall\\('.ab|partition.*False"


@pytest.mark.usefixtures("exact")
class TestAsPandas:
    @pytest.mark.parametrize("name", ALIKE)
    def test_numbers(self, name: str) -> None:
        agrees(ALIKE[name](private(NUMBERS)), by_pandas(name, NUMBERS), close=name in LIBRARY)

    ANY = st.none() | st.floats(-1e6, 1e6).map(sensible) | st.integers(-50, 50)
    FEW = st.none() | st.sampled_from([0.0, -0.0, 1.0, -2.5, 3.0, 1e-3])

    @given(st.lists(st.tuples(ANY, FEW), min_size=1, max_size=12),
           st.sampled_from([n for n in ALIKE if n not in LIBRARY and n not in STEEP]))  # fmt: skip
    def test_any_numbers(self, pairs: list[tuple[Any, Any]], name: str) -> None:
        df = pd.DataFrame(pairs, columns=["c", "d"]).astype(float)
        dp.reset()
        agrees(ALIKE[name](private(df)), by_pandas(name, df))

    @pytest.mark.parametrize("power", [-1, 0, 0.5, 1, 2, 3, True])
    def test_powers_round_as_pandas_rounds_them(self, power: float) -> None:
        """This square is one that a general power rounds otherwise, on an older numpy."""
        df = table(c=[1.3530145588431932e-89, 1.1, 0.3, 7.0, -2.0, None], b=[2.0, 2, 2, 2, 2, 2])
        with np.errstate(all="ignore"):
            agrees(private(df)["c"] ** power, df["c"] ** power)
            agrees(private(df)["c"] ** private(df)["b"], df["c"] ** df["b"])

    @pytest.mark.parametrize("name", TEXT)
    def test_texts(self, name: str) -> None:
        texts = ["a b", "ab-cd-e", None, "", "12", "A1", "Éa", " x ", "abab", "-3", "a\tb\nb", "ǆ"]
        df = table(c=pd.Series(texts, dtype=object))
        if name == "s.isascii()" and not hasattr(df["c"].str, "isascii"):
            pytest.skip("pandas 2 has no isascii")
        wanted, found = TEXT[name](df["c"].str), TEXT[name](private(df)["c"].str)
        if found._expression.is_truth:
            agrees(found, passed(wanted))
        elif found._expression.kind({}) == "list":
            agrees(found.str.len(), wanted.str.len())
            agrees(found.str[1], wanted.str[1])
            agrees(found.str[-1], wanted.str[-1])
        else:
            agrees(found, wanted)

    @given(st.lists(st.none() | st.text("ab1 -Éß", max_size=5), min_size=1, max_size=8),
           st.sampled_from([n for n in TEXT if not re.search(UNALIKE, n)]))  # fmt: skip
    def test_any_texts(self, texts: list[Any], name: str) -> None:
        df = table(c=pd.Series(texts, dtype=object))
        if df["c"].isna().all():
            return  # pandas has no .str there
        dp.reset()
        wanted, found = TEXT[name](df["c"].str), TEXT[name](private(df)["c"].str)
        agrees(found, passed(wanted) if found._expression.is_truth else wanted)

    def test_extract_and_patterns(self) -> None:
        df = table(c=["a12b", "x", "7", None])
        found = private(df)["c"].str
        agrees(found.extract(PATTERN), df["c"].str.extract(PATTERN, expand=False))
        agrees(found.extract("(x)?"), df["c"].str.extract("(x)?", expand=False))
        for pattern in (r"\s+", ".", "b|c", "--"):
            df = table(c=["a  b.c", "d--e", "f"])
            found = private(df)["c"].str.split(pattern).str[1]
            agrees(found, df["c"].str.split(pattern).str[1])
        found = private(table(c=["a.+b"]))["c"].str.split(".+", regex=False).str[0]
        agrees(found, pd.Series(["a"]))

    @pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
    @pytest.mark.parametrize("name", TIMES)
    def test_times(self, name: str, zone: str | None) -> None:
        times = ["2020-02-29 13:44:15.000123456", None, "1999-12-31", "2021-01-01 00:07:30",
                 "2020-07-01"]  # fmt: skip
        df = table(c=pd.to_datetime(times, format="mixed").tz_localize(zone))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that pandas 3 deprecates
            wanted = TIMES[name](df["c"].dt)
        found = TIMES[name](private(df)["c"].dt)
        agrees(found, wanted)

    def test_days_and_weeks(self) -> None:
        df = table(c=pd.to_datetime(["2020-02-29 13:44", None, "2021-01-01"], format="mixed"))
        found = private(df)["c"].dt
        days = df["c"].dt.date.map(pd.Timestamp, na_action="ignore")
        agrees(found.date, days)  # times at midnight, not dates
        agrees(found.isocalendar_week, df["c"].dt.isocalendar().week)

    def test_clocks_that_are_set(self) -> None:
        """pandas raises for a time that a clock shows never, or twice; here it is missing."""
        times = ["2020-03-29 02:30", "2020-10-25 02:30", "2020-07-01 12:00", None]
        df = table(c=pd.to_datetime(times))
        options: Any = {"ambiguous": "NaT", "nonexistent": "NaT"}
        wanted = df["c"].dt.tz_localize("Europe/Berlin", **options)
        found = private(df)["c"].dt.tz_localize("Europe/Berlin")
        agrees(found, wanted)
        agrees(found.dt.tz_convert("UTC"), wanted.dt.tz_convert("UTC"))
        agrees(private(df)["c"].dt.tz_localize("UTC"), df["c"].dt.tz_localize("UTC"))
        refusal(lambda: found.dt.tz_localize("UTC").count(), "kind zoned time")

    @pytest.mark.parametrize("name", LENGTHS)
    def test_durations(self, name: str) -> None:
        least = "1us" if "total_seconds" in name else "1ns"  # pandas 2 sums up whole microseconds
        df = table(c=pd.Series(pd.to_timedelta(["1 day 02:03:04.5", None, "-5s", "36h", least])))
        agrees(LENGTHS[name](private(df)["c"].dt), LENGTHS[name](df["c"].dt))

    @pytest.mark.parametrize("right", [True, False])
    @pytest.mark.parametrize("include_lowest", [True, False])
    @pytest.mark.parametrize("labels", [None, False, ["low", "middle", "high"]])
    def test_cut(self, right: bool, include_lowest: bool, labels: Any) -> None:
        values = pd.Series([0, 0.5, 1, 2, 5, 5.5, -1, None, math.inf, 1e-9])
        edges, how = [0, 1, 2, 5], {"include_lowest": include_lowest, "labels": labels}
        wanted = pd.cut(values, edges, right=right, **how).astype(object)
        p = private(table(c=values))
        agrees(p["c"].cut(edges, labels, right, include_lowest), wanted)
        agrees(dp.cut(p["c"], np.array(edges), labels, right, include_lowest), wanted)
        cut = p["c"].cut(edges, labels, right, include_lowest)
        assert len(cut.value_counts(sort=False, epsilon=EPSILON)) == 3

    def test_cut_names_the_edge_that_it_includes_as_pandas_does(self) -> None:
        days = pd.Series(pd.date_range("2020-01-01", periods=60))
        edges = [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-02-01"), pd.Timestamp("2020-03-01")]
        for plain, bins in (
            (pd.Series([0, 9, 18, 65]), [0, 18, 65]), (pd.Series([0.25, 9]), [0.25, 1, 9]),
            (days, edges), (days.dt.tz_localize("UTC"), [e.tz_localize("UTC") for e in edges]),
            (days - edges[0], [e - edges[0] for e in edges]),
        ):  # fmt: skip
            cut = private(table(c=plain))["c"].cut(bins, include_lowest=True)
            found = cut.value_counts(sort=False, epsilon=EPSILON).index
            wanted = pd.cut(plain, bins, include_lowest=True).cat.categories
            assert list(map(str, found)) == list(map(str, wanted))

    def test_assign(self) -> None:
        df = table(c=[1.0, 2.0, None, 4.0], d=["a", "b", None, "d"])
        p = private(df)
        e = 10
        asked: dict[str, Any] = {
            "s": "c * 2 + @e", "t": "c > 1", "n": 5, "w": "'text'", "f": lambda q: q["c"] - 1,
            "m": None, "z": np.float32(0.5), "col": p["c"] * 3,
        }  # fmt: skip
        q = p.assign(**asked, again=lambda q: q["s"] + q["f"])
        wanted = {
            "s": df["c"] * 2 + e, "t": df["c"] > 1, "n": 5, "w": "text", "f": df["c"] - 1,
            "m": None, "z": 0.5, "col": df["c"] * 3, "again": df["c"] * 3 + 9,
        }  # fmt: skip
        all_agree(q, df.assign(**wanted))
        adults = p[p["c"] > 1]
        agrees(adults.assign(e=p["c"], f=adults["c"])["e"], df["c"][df["c"] > 1])

    def test_astype(self) -> None:
        df = table(n=[1.7, -1.7, None, 0.0, 1e18], t=["5", "x", "", None, " 2.5 "], b=[True] * 5,
                   w=["2020-01-31", "1/2/2020 10:30", "10:30", "2020Q1", None])  # fmt: skip
        p = private(df)
        whole = pd.Series([1, -1, None, 0, 1e18])  # no wrap-around
        agrees(p["n"].astype(int), whole)
        agrees(p["n"].astype("Int8"), whole)
        agrees(p.astype({"n": int, "t": "float"})["n"], whole)
        agrees(p["n"].astype(str), pd.Series(["1.7", "-1.7", None, "0", "1e+18"]))
        agrees(p["n"].astype(bool), pd.Series([True, True, None, False, True]))
        agrees(p["n"].astype("category"), df["n"])
        agrees(p["n"].astype(object), df["n"])
        agrees(p["t"].astype(np.float64), pd.Series([5, None, None, None, 2.5]))
        agrees(p["t"].astype("bool"), pd.Series([True, True, False, None, True]))
        agrees(p["b"].astype("string"), pd.Series(["True"] * 5))
        agrees(p["b"].astype(bool).astype(str), pd.Series(["True"] * 5))
        days = pd.to_datetime(["2020-01-31", "2020-01-02 10:30", None, None, None], format="mixed")
        agrees(p["w"].astype("datetime64[ns]"), pd.Series(days))

    def test_a_whole_becomes_text_without_a_point(self) -> None:
        """pandas says "1.0" of a float column, which one missing value makes of a whole one."""
        for column in ([1, 2], [1.0, 2.0]):
            agrees(private(table(c=column))["c"].astype(str), pd.Series(["1", "2"]))

    def test_whole_numbers_stay_exact(self) -> None:
        df = table(c=pd.array([2**53 + 1, None], dtype="Int64"))
        agrees(private(df)["c"].fillna(0), pd.Series([2**53 + 1, 0]))

    def test_comparisons_with_missing_values(self) -> None:
        p = private(table(c=[1.0, None], t=["a", None]))
        for mask in (p["c"] == 1, p["c"] > 0, p["t"] == "a", p["c"].isin([1])):
            agrees(mask, pd.Series([True, False]))
        for mask in (p["c"] != 1, p["t"] != "a", ~(p["c"] == 1)):
            agrees(mask, pd.Series([False, True]))
        agrees(p["t"] != "b", pd.Series([True, True]))

    @pytest.mark.parametrize("how", ["left", "inner"])
    def test_merge(self, how: str) -> None:
        df = table(zip=["10", "20", None, "30", "10"], n=[1, 2, 3, 4, 5])
        zips = table(zip=["10", "20", "99"], city=["Rome", None, "Bonn"], n=[7.5, 8.5, 9.5])
        all_agree(private(df).merge(zips, how, on="zip"), df.merge(zips, how, on="zip"))
        other = zips.rename(columns={"zip": "code"})
        asked: dict[str, Any] = {"left_on": "zip", "right_on": "code", "suffixes": (None, "_r")}
        all_agree(private(df).merge(other, how, **asked), df.merge(other, how, **asked))

    @pytest.mark.parametrize("how", ["left", "inner"])
    def test_merge_by_several_keys(self, how: str) -> None:
        df = table(k=["a", "a", "b", None], l=[1, 2, 1, 1], x=[1, 2, 3, 4])
        pairs = table(k=["a", "b", "a"], l=[1, 1, 3], y=[10, 20, 30], x=[0, 0, 0])
        asked: dict[str, Any] = {"on": ["k", "l"], "suffixes": ("_l", "_r")}
        all_agree(private(df).merge(pairs, how, **asked), df.merge(pairs, how, **asked))

    def test_merge_with_a_named_series(self) -> None:
        df = table(zip=["10", "20"])
        city = pd.Series(["Rome"], index=pd.Index(["10"], name="zip"), name="city")
        agrees(private(df).merge(city, "left", on="zip")["city"], pd.Series(["Rome", None]))

    def test_merge_matches_by_value(self) -> None:
        """pandas refuses to merge text with numbers; here they are never equal."""
        p = private(table(k=pd.Series([1, "1", 1.0, True], dtype=object)))
        found = p.merge(table(k=[1], v=["one"]), "left", on="k")["v"]
        agrees(found, pd.Series(["one", None, "one", "one"]))

    LISTS = st.lists(
        st.lists(st.sampled_from([1, 2.5, None, "a"]), max_size=3)
        | st.sampled_from([None, "a", 7]),
        min_size=1, max_size=6,
    )  # fmt: skip

    @given(LISTS)
    def test_explode(self, values: list[Any]) -> None:
        dp.reset()
        df = table(c=objects(values), n=range(len(values)))
        found, wanted = private(df).explode("c", max_items=3), df.explode("c")
        agrees(found["c"], wanted["c"])
        agrees(found["n"], wanted["n"].astype(int))
        agrees(found["n"] * 2, wanted["n"].astype(int) * 2)
        agrees(found.query("n > 1").explode("c", max_items=1)["c"], wanted.query("n > 1")["c"])

    def test_explode_of_other_lists(self) -> None:
        df = table(c=objects([("a", "b"), np.array([1, 2]), [], ["x", None]]))
        agrees(private(df).explode("c", max_items=2)["c"], df["c"].explode())
        arrow = table(c=pd.Series([[1, 2], None, [3]], dtype="object"))
        pa = pytest.importorskip("pyarrow")
        arrow["c"] = arrow["c"].astype(pd.ArrowDtype(pa.list_(pa.int64())))
        agrees(private(arrow).explode("c", max_items=2)["c"], pd.Series([1, 2, None, 3]))

    def test_later_elements_are_dropped(self) -> None:
        p = private(table(c=[["a", "b", "c"], ["c"]]))
        kept = p.explode("c", max_items=2)["c"]
        assert number_of(kept.value_counts(keys=list("abc"))).to_dict() == {"a": 1, "b": 1, "c": 1}

    def test_explode_of_parts_of_texts(self) -> None:
        df = table(c=["a,b", "b", None])
        found = private(df).assign(c=lambda p: p["c"].str.split(",")).explode("c", max_items=2)
        agrees(found["c"], df.assign(c=df["c"].str.split(",")).explode("c")["c"])

    def test_concat(self) -> None:
        df = table(a=[1.0, 2.0, None], b=[3.0, 4.0, 5.0])
        p = private(df)
        parts = [p[["a"]].rename(columns={"a": "x"}), p[["b"]].rename(columns={"b": "x"})]
        plain = [df[["a"]].rename(columns={"a": "x"}), df[["b"]].rename(columns={"b": "x"})]
        agrees(dp.concat(parts)["x"], pd.concat(plain)["x"])
        found, wanted = dp.concat([p.query("a > 1"), p[["b"]]]), [df.query("a > 1"), df[["b"]]]
        for name in "ab":
            agrees(found[name], pd.concat(wanted)[name])
        agrees(dp.concat([dp.concat(parts), parts[0]])["x"], pd.concat([*plain, plain[0]])["x"])
        long = dp.concat(parts)
        agrees(long[long["x"] > 2]["x"], pd.concat(plain).query("x > 2")["x"])

    def test_concat_of_two_inner_merges(self) -> None:
        df = table(k=["a", "b", "b"], n=[1, 2, 3])
        p = private(df)
        tables = [table(k=["a"]), table(k=["b"])]
        found = dp.concat([p.merge(each, "inner", on="k") for each in tables])
        agrees(found["n"], pd.concat([df.merge(each, on="k") for each in tables])["n"])

    VISITS = st.lists(
        st.tuples(
            st.sampled_from([1, 2, 3, None]),
            st.none() | st.integers(-20, 20).map(lambda n: n / 4),
            st.sampled_from(["a", "b", None]),
            st.booleans()),
        min_size=1, max_size=12,
    )  # fmt: skip

    @given(VISITS)
    def test_per_unit(self, visits: list[Any]) -> None:
        dp.reset()
        df = pd.DataFrame(visits, columns=["u", "x", "t", "b"])
        df = df.astype({"u": float, "x": float, "t": object, "b": bool})
        p = dp.private(df, unit="u", max_rows=1)
        hows = ("sum", "mean", "median", "min", "max", "count", "nunique")
        found = p.per_unit().agg(
            **{how: ("x", how) for how in hows}, n="size", words=("t", "nunique"),
            some=("b", "any"), every=("b", "all"), named=("t", "count"), size=("x", "size"),
        )  # fmt: skip
        units = df.groupby("u")
        for how in hows:
            agrees(found[how], getattr(units["x"], how)(), close=how in ("mean", "median"))
        for name, wanted in {
            "n": units.size(), "size": units["x"].size(), "words": units["t"].nunique(),
            "named": units["t"].count(), "some": units["b"].any(), "every": units["b"].all(),
        }.items():  # fmt: skip
            agrees(found[name], wanted)
        some = p.query("x > 0").per_unit().agg(s=("x", "sum"))["s"]
        agrees(some, df.query("x > 0").groupby("u")["x"].sum())
        agrees(dp.concat([p, p]).per_unit().agg(s=("x", "sum"))["s"], units["x"].sum() * 2)
        agrees(found.per_unit().agg(s=("sum", "max"))["s"], units["x"].sum())

    def test_missing_truth_values_count_for_nothing(self) -> None:
        df = table(u=[1, 1, 2, 2, 3], b=pd.array([True, None, False, None, None], dtype="boolean"))
        p = dp.private(df, unit="u", max_rows=1)
        found = p.per_unit().agg(some=("b", "any"), every=("b", "all"))
        units = df.groupby("u")["b"]
        agrees(found["some"], units.any().astype(bool))
        agrees(found["every"], units.all().astype(bool))

    def test_nunique_of_the_unit(self) -> None:
        df = table(u=["x", "y", "x", None, "z"], g=["a", "a", "b", "b", "c"], n=[1, 2, 3, 4, 5])
        p = dp.private(df, unit="u", max_rows=2)
        assert p["u"].nunique(epsilon=EPSILON) == df["u"].nunique()
        assert p.query("n < 3")["u"].nunique(epsilon=EPSILON) == df.query("n < 3")["u"].nunique()
        found = p.groupby("g", keys=["a", "b"])["u"].nunique(epsilon=EPSILON)
        assert found.to_dict() == df.groupby("g")["u"].nunique()[["a", "b"]].to_dict()
        assert p.rename(columns={"u": "who"})["who"].nunique(epsilon=EPSILON) == df["u"].nunique()
        assert dp.concat([p, p])["u"].nunique(epsilon=EPSILON) == 3


# --- refusals -------------------------------------------------------------------------------------


def people() -> pd.DataFrame:
    return table(
        who=["x", "y", "x", "z"], age=[15.0, 30.0, None, 60.0],
        city=["Rome", "Oslo", None, "Rome"], tags=[["a", "b", "c"], [], ["b"], None],
    )  # fmt: skip


@pytest.fixture
def p() -> Any:
    domain = {"age": (10, 80), "city": ["Rome", "Oslo"]}
    return dp.protect(people(), name="people", unit="who", max_rows=2, domain=domain)


KINDS: dict[str, Verb] = {
    "frame": lambda p: p, "column": lambda p: p["age"], "groups": lambda p: p.groupby("city"),
    "a column of groups": lambda p: p.groupby("city")["age"],
    "rows for each unit": lambda p: p.per_unit(), "texts": lambda p: p["city"].str,
    "times": lambda p: p["city"].dt,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_is_charged_for_a_refusal(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "refus" in request.node.name:
        assert dp.ledger()._entries() == []


@pytest.mark.parametrize("kind", ["frame", "column", "groups", "a column of groups"])
def test_refused_verbs_say_what_to_do_instead(p: Any, kind: str) -> None:
    private = KINDS[kind](p)
    reasons = {**refusals.VERBS, **(refusals.BY_GROUP if "groups" in kind else {})}
    for verb in refusals.VERBS:
        if hasattr(type(private), verb):
            assert getattr(private, verb) is not None, verb  # which it has, and the others don't
            continue
        refused = refusal(partial(getattr, private, verb), verb, UnsupportedVerb)
        assert all(each in refused for each in reasons[verb])
        assert not hasattr(private, verb)


#: What each table of refusals is for, and what offers its names.
TABLES: dict[str, tuple[refusals.Refusals, list[str]]] = {
    "of rows": (refusals.VERBS, ["frame", "column", "groups", "a column of groups"]),
    "of groups": (refusals.BY_GROUP, ["groups", "a column of groups"]),
    "of texts": (refusals.TEXTS, ["texts"]), "of times": (refusals.TIMES, ["times"]),
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_every_refused_name_is_missing_somewhere(p: Any, table: str) -> None:
    """A reason that nobody can see says what may not be true any more."""
    reasons, faces = TABLES[table]
    for name in reasons:
        with noted(name):
            lacking = [face for face in faces if name not in dir(KINDS[face](p))]
            if table == "of rows":  # groups have reasons of their own
                lacking = [f for f in lacking if "group" not in f or name not in refusals.BY_GROUP]
            assert lacking
            assert str(reasons[name]) in refusal(
                partial(getattr, KINDS[lacking[0]](p), name), error=UnsupportedVerb
            )


def test_what_is_refused_over_all_rows_can_be_asked_within_units() -> None:
    """The advice is code that runs, and in plain pandas nothing is advised but row by row."""
    frame = dp.private(
        table(
            person_id=[1, 2, 1], day=[1, 1, 2], x=[5.0, None, 2.0], when=[3, 2, 1],
            city=["a", "b", "a"],
        ), unit="person_id", max_rows=2,
    )  # fmt: skip
    seen = set()
    for reasons, _ in TABLES.values():
        for name, why in reasons.items():
            assert "plain pandas" not in why.why + why.instead, name
            assert why.beforehand in ("", refusals._ROW_WISE), name
            code = re.search(r"within each unit: (frame\..*?\))(?:, |; |\.? ?$)", str(why))
            if code is not None:
                seen.add(name)
                assert isinstance(eval(code[1], {"frame": frame}), Private), name
    assert {"rank", "cumsum", "diff", "drop_duplicates", "ffill", "first"} <= seen


def test_refused_misspelt_names_are_guessed(p: Any) -> None:
    for kind, name, meant in (
        ("frame", "meann", "'mean'"), ("frame", "citty", "the column 'city'"),
        ("column", "medain", "'median'"), ("groups", "coutn", "'count'"),
        ("texts", "uper", "'upper'"), ("times", "yaer", "'year'"),
        ("rows for each unit", "meen", "'mean'"),
    ):  # fmt: skip
        with noted(kind, name):
            refusal(
                partial(getattr, KINDS[kind](p), name), f"Did you mean {meant}", UnsupportedVerb
            )
    said = refusal(partial(getattr, p["age"].mean(), "relase"), error=UnsupportedVerb)
    assert "Did you mean 'release'" in said


def test_names_of_columns_are_public_and_iterated(p: Any) -> None:
    assert list(p) == list(p.columns) == ["who", "age", "city", "tags"]
    assert sorted(p[["city", "age"]]) == ["age", "city"]
    for wrong in ({"keys": p}, {"keys": {"city": p}}):
        refusal(lambda more=wrong: p["city"].value_counts(**more), "PrivateFrame")
    refusal(lambda: dp.protect(people(), "o", domain={"city": p}), "PrivateFrame")


def test_refused_idxmin_of_rows_says_what_to_do_instead(p: Any) -> None:
    assert p.idxmin(axis=1) is not None
    refusal(p.idxmin, "Negate the columns", UnsupportedVerb)


def test_a_column_named_like_a_refused_verb_is_not_refused_by_brackets() -> None:
    p = private(table(skew=[1.0, 2.0], index=[1, 2]))
    with pytest.raises(UnsupportedVerb):
        _ = p.skew
    assert repr(p["skew"]).startswith("<private column skew")
    assert repr(p.groupby("index", keys=[1])["skew"]).startswith("<private groups")


SHOWING = {
    show.__name__: show
    for show in (len, bool, iter, list, int, float, complex, sum, max, sorted, np.asarray, np.array,
                 np.mean, np.sort, pickle.dumps, copy.copy, copy.deepcopy)
} | written(
    "x", "5 in x if not hasattr(x, 'columns') else len(x)", "np.where(x)", "f'{x:>20}'",
    "x.__dataframe__()", "x.__array__()", "x.__arrow_c_stream__()", "format(x, '.2f')",
    "pd.DataFrame({'x': x})",
)  # fmt: skip


#: Whose names are public.
OF_NAMES = {"frame"}
#: What looks at the declared keys of groups alone: tests/test_habits_one_by_one.py.
OF_KEYS = {"len", "iter", "list", "sum", "max", "sorted"}


@pytest.mark.parametrize("kind", KINDS)
def test_refused_ways_to_show_private_values(p: Any, kind: str) -> None:
    private, words = KINDS[kind](p), r"epsilon=|Use one of its columns"
    for how, show in SHOWING.items():
        if (kind not in OF_NAMES or how not in OF_KEYS - {"len"}) and (
            "groups" not in kind or how not in OF_KEYS
        ):
            with noted(how):
                refusal(partial(show, private), words, PrivateValueError)


@pytest.mark.parametrize("kind", KINDS)
def test_refused_attributes_are_attribute_errors(p: Any, kind: str) -> None:
    private = KINDS[kind](p)
    for verb in ("to_csv", "plot", "boxplot", "nonsense", "_repr_png_", "to_pickle"):
        with pytest.raises(AttributeError) as refused:
            getattr(private, verb)
        if not verb.startswith("_"):
            assert isinstance(refused.value, UnsupportedVerb)
            assert "Nothing was computed or charged" in str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
def test_showing_an_object_shows_its_schema(p: Any, kind: str) -> None:
    shown = KINDS[kind](p)
    for text in (repr(shown), str(shown), f"{shown}", f"{shown!s}"):
        assert text.startswith("<")
        assert "60" not in text
        assert "private" in text
    assert dp.ledger()._entries() == []


def test_equality_is_a_private_mask(p: Any) -> None:
    for mask in (p["age"] == 30, p["age"] != p["age"], p["city"] == "Rome"):
        assert isinstance(mask, dp.types.PrivateSeries)
        assert mask._expression.is_truth
    refusal(lambda: hash(p["age"]), error=TypeError)


OTHER = {"k": [1, 2], "v": ["a", "b"]}

#: What is refused, what the message has to say, and what is raised if no `QueryError`.
REFUSED: dict[str, tuple[Any, ...]] = {
    "an unreleased mean": (lambda p: p["age"] - p["age"].mean(), "Release it"),
    "from an unreleased mean": (
        lambda p: p["age"].mean() - p["age"], "not released", PrivateValueError),
    "an unreleased mean to fill": (lambda p: p["age"].fillna(p["age"].mean()), "Release it"),
    "an unreleased mean to assign": (lambda p: p.assign(m=lambda p: p["age"].mean()), "Release it"),
    "an unreleased bound": (lambda p: p["age"].clip(0, p["age"].sum()), "number"),
    "a plain column to assign": (
        lambda p: p.assign(x=people()["age"]), "can't be matched", LineageError),
    "an array to assign": (lambda p: p.assign(x=np.arange(4)), "be matched", LineageError),
    "a list to assign": (lambda p: p.assign(x=[1, 2, 3, 4]), "be matched", LineageError),
    "a dict to assign": (lambda p: p.assign(x={}), "plain scalar"),
    "a frame to assign": (lambda p: p.assign(x=people()), "plain scalar"),
    "a function's plain column": (
        lambda p: p.assign(x=lambda p: people()["age"]), "be matched", LineageError),
    "another frame's column": (
        lambda p: p.assign(x=people().dp["age"]), "another frame", LineageError),
    "another frame's mask": (
        lambda p: p[private(people())["age"] > 3], "another frame", LineageError),
    "another frame's mask for where": (
        lambda p: p["age"].where(private(people())["age"] > 3), "different rows", LineageError),
    "another frame's values": (
        lambda p: p["age"].fillna(private(people())["age"]), "different rows", LineageError),
    "rows filtered otherwise": (lambda p: p.assign(x=p.query("age > 20")["age"]), "other rows"),
    "a column from before explode": (
        lambda p: p.explode("tags", max_items=2).assign(x=p["age"]), "another", LineageError),
    "a column from before concat": (
        lambda p: dp.concat([p, p])[p["age"] > 3], "another frame", LineageError),
    "a column from before per_unit": (
        lambda p: p.per_unit().agg(n="size")[p["age"] > 3], "another frame", LineageError),
    "a plain mask": (lambda p: p["age"].where([True] * 4), "mask"),
    "a number as a condition": (lambda p: p["age"].where(p["age"] + 1), "Compare"),
    "two private frames": (lambda p: p.merge(p, on="who"), "two private frames", LineageError),
    "a private column to merge": (
        lambda p: p.merge(p["age"], on="who"), "two private frames", LineageError),
    "a plain frame and a private one": (
        lambda p: table(**OTHER).merge(p), "pd.merge would read private values", PrivateValueError),
    "an outer merge": (lambda p: p.merge(table(age=[1]), "outer", on="age"), "belong to nobody"),
    "a key twice": (lambda p: p.merge(table(age=[1, 1]), on="age"), "unique"),
    "a missing key": (lambda p: p.merge(table(age=[1, None]), on="age"), "missing"),
    "no key": (lambda p: p.merge(table(ages=[1])), "on="),
    "no such key": (lambda p: p.merge(table(age=[1]), on="x"), "'x'", dp.errors.UnknownColumn),
    "no such key at home": (
        lambda p: p.merge(table(x=[1]), on="x"), "no column 'x'", dp.errors.UnknownColumn),
    "names twice": (
        lambda p: p.merge(table(age=[1], city=["a"]), on="age", suffixes=("", "")), "suffixes"),
    "a list of suffixes": (
        lambda p: p.merge(table(age=[1]), on="age", suffixes="ab"), "a pair of strings"),
    "a dict to merge": (lambda p: p.merge({"age": [1]}, on="age"), "public"),
    "a list in the table": (lambda p: p.merge(table(age=[1], v=[[1]]), on="age"), "plain scalar"),
    "an option of merge": (
        lambda p: p.merge(table(age=[1]), on="age", indicator=True), "no indicator="),
    "frames of two sources": (
        lambda p: dp.concat([p, dp.protect(people(), name="2", unit="who", max_rows=1)]),
        "different sources", LineageError),
    "frames of two tables": (
        lambda p: dp.concat([p, p.per_unit().agg(n="size")]), "different", LineageError),
    "plain frames": (lambda p: dp.concat([p, people()]), "private frames"),
    "no frames": (lambda p: dp.concat([]), "private frames"),
    "too many frames": (lambda p: dp.concat([p] * 1025), "at most 1024 are"),
    "pandas' concat": (lambda p: pd.concat([p, p]), "dp.concat", PrivateValueError),
    "the unit assigned": (lambda p: p.assign(who="age + 1"), "can't be redefined", LineageError),
    "the unit assigned to itself": (lambda p: p.assign(who=p["who"]), "redefined", LineageError),
    "another column named as the unit": (
        lambda p: p.rename(columns={"age": "who", "who": "age"}), "redefined", LineageError),
    "a name for a dropped unit": (
        lambda p: p.drop(columns="who").rename(columns={"age": "who"}), "redefined", LineageError),
    "the unit merged": (
        lambda p: p.drop(columns="who").merge(table(age=[1], who=["q"]), on="age"), "redefined",
        LineageError),
    "the unit exploded": (lambda p: p.explode("who", max_items=2), "redefined", LineageError),
    "the unit replaced": (lambda p: p.replace({"who": {"x": "y"}}), "redefined", LineageError),
    "the unit filled": (lambda p: p.fillna({"who": "q"}), "redefined", LineageError),
    "the unit cast": (lambda p: p.astype({"who": str}), "redefined", LineageError),
    "the unit aggregated": (
        lambda p: p.per_unit().agg(who=("age", "sum")), "redefined", LineageError),
    "units of single rows": (lambda p: private(people()).per_unit(), "each row is a unit"),
    "a function to map": (lambda p: p["age"].map(lambda x: "old"), "must make private values"),
    "a list to map": (lambda p: p["age"].map([1]), "isn't a dict"),
    "an empty dict": (lambda p: p["age"].map({}), "empty"),
    "a missing key to map": (lambda p: p["age"].map({None: 0}), "fillna"),
    "a missing value to replace": (lambda p: p["age"].replace(np.nan, 0), "fillna"),
    "two ways to replace": (lambda p: p["age"].replace({1: 2}, 3), "either a dict"),
    "one value for columns": (lambda p: p.replace({"age": {1: 2}}, 3), "a dict"),
    "a list too short": (lambda p: p["age"].replace([1, 2], [3]), "2 old values"),
    "a regular expression to replace": (
        lambda p: p["city"].replace("R.*", "x", regex=True), "'regex'"),
    "fillna with nothing": (lambda p: p["age"].fillna(None), "isn't missing"),
    "fillna by neighbours": (lambda p: p["age"].fillna(method="ffill"), "fill with a constant"),
    "half a bin": (lambda p: p["age"].cut(4.5), "list of edges"),
    "falling edges": (lambda p: p["age"].cut([3, 2, 1]), "each larger"),
    "too few labels": (lambda p: p["age"].cut([1, 2, 3], labels=["a"]), "one for"),
    "labels twice": (lambda p: p["age"].cut([1, 2, 3], labels=["a", "a"]), "twice"),
    "cut of a plain column": (lambda p: dp.cut(people()["age"], [1, 2]), "plain"),
    "a bound too large": (lambda p: p["age"].clip(0, 10**400), "too large"),
    "a bound that is missing": (lambda p: p["age"].clip(math.nan), "number"),
    "bounds crossed": (lambda p: p["age"].clip(5, 1), "above"),
    "a column as a bound": (lambda p: p["age"].clip(p["age"]), "number"),
    "decimals of data": (lambda p: p["age"].round(p["age"]), "whole number"),
    "another type": (lambda p: p["age"].astype("complex"), "isn't possible"),
    "an interval": (lambda p: p["age"].astype("interval[int64]"), "isn't possible"),
    "a zone": (lambda p: p["age"].astype("datetime64[ns, UTC]"), "zone"),
    "categories": (lambda p: p["age"].astype(pd.CategoricalDtype([1, 2])), "categories"),
    "no such column to fill": (lambda p: p.fillna({"x": 1}), "'x'", dp.errors.UnknownColumn),
    "no such column to drop": (lambda p: p.drop(columns=["x"]), "'x'", dp.errors.UnknownColumn),
    "rows to drop": (lambda p: p.drop([0]), "columns"),
    "rows to rename": (lambda p: p.rename({0: 1}), "columns"),
    "a list as a name": (lambda p: p.rename(columns={"age": [1]}), "name a column"),
    "one name twice": (lambda p: p.rename(columns={"age": "city"}), "two columns"),
    "dropna by a threshold": (lambda p: p.dropna(thresh=2), "'thresh'"),
    "dropna how": (lambda p: p.dropna(how="some"), "'any' or 'all'"),
    "in place": (lambda p: p.fillna(0, inplace=True), "no inplace="),
    "max_items missing": (lambda p: p.explode("tags"), "max_items"),
    "max_items of none": (lambda p: p.explode("tags", max_items=0), "1 to 1,024"),
    "max_items too many": (
        lambda p: p.explode("tags", max_items=32).explode("tags", max_items=33), "1 to 32"),
    "a size of a sample": (lambda p: p.sample(5), "frac"),
    "a seed of a sample": (lambda p: p.sample(frac=0.5, random_state=1), "no random_state="),
    "a share of none": (lambda p: p.sample(frac=0), "above 0"),
    "a share above one": (lambda p: p.sample(frac=1.5), "at most 1"),
    "a product of text": (lambda p: p["city"] * "a", "isn't a number"),
    "texts by their dtype": (
        lambda p: (q := private(table(a=pd.Series(["x"], dtype="string"))))["a"] + q["a"],
        r"str\.cat"),
    "text and a number": (lambda p: p["age"] + "a", "isn't a number"),
    "numpy's heaviside": (lambda p: np.heaviside(p["age"], 3), "heaviside", PrivateValueError),
    "numpy's where of a condition": (lambda p: np.where(p["age"] > 3), "places", PrivateValueError),
    "numpy's where of a frame": (lambda p: np.where(p, 1, 2), "names of col", PrivateValueError),
    "an option of numpy": (
        lambda p: np.add(p["age"], 1, where=True), "no where=", PrivateValueError),
    "an option of np.clip": (
        lambda p: np.clip(p["age"], 0, 1, out=np.zeros(4)), "no out=", PrivateValueError),
    "numpy's sum": (lambda p: np.sum(p["age"]), r"np\.sum would look at all", PrivateValueError),
    "numpy's reduce": (lambda p: np.add.reduce(p["age"]), r"np\.add\.reduce", PrivateValueError),
    "a plain condition": (lambda p: np.where([True] * 4, p["age"], 0), "mask"),
    "choices without conditions": (lambda p: np.select([p["age"] > 3], [1, 2]), "one choice"),
    "another private column to clip": (lambda p: np.clip(3, p["age"], 5), "public"),
    "a level": (lambda p: p["age"].add(1, level=0), "level="),
    "a fill value of data": (lambda p: p["age"].add(1, fill_value=p["age"]), "plain scalar"),
    "values of all rows beside a column": (lambda p: p["age"].gt([1, 2]), "can't be", LineageError),
    "a column beside a frame": (lambda p: p[["age"]] / p["age"], "axis=0"),
    "other columns beside a frame": (lambda p: p[["age"]] / p[["city"]], "the same columns"),
    "a dict of other columns": (lambda p: p[["age"]] * {"age": 1, "x": 2}, "the same columns"),
    "too few values for the columns": (lambda p: p[["age", "city"]] == [1], "can't be matched"),
    "a plain frame beside a frame": (lambda p: p[["age"]] + people()[["age"]], "plain frame"),
    "the rows of another frame": (
        lambda p: p[["age"]] + private(people())[["age"]], "another frame", LineageError),
    "a number as masks": (lambda p: p[["age"]].where(1), "frame of masks"),
    "any of a frame": (lambda p: p[["age"]].any(), "single row", UnsupportedVerb),
    "a loss for each row": (lambda p: p[["age"]].sum(axis=1, epsilon=1), "releases nothing"),
    "bounds for each row": (lambda p: p[["age"]].mean(axis=1, bounds=(0, 1)), "releases nothing"),
    "an axis": (lambda p: p.sum(axis=2), "axis=2"),
    "numbers of texts": (
        lambda p: p[["city"]].astype(str).sum(axis=1).mean(bounds=(0, 1)), "kind text"),
    "no numbers": (
        lambda p: p[["city"]].astype(str).sum(axis=1, numeric_only=True), "known to hold numbers"),
    "numpy's accumulate": (lambda p: np.add.accumulate(p["age"]), "epsilon=", PrivateValueError),
    "a text method": (lambda p: p["city"].str.encode(), "bytes stay", UnsupportedVerb),
    "all texts in one": (lambda p: p["city"].str.cat(), "all rows"),
    "a plain list of texts": (lambda p: p["city"].str.cat(["a", "b"]), "private columns"),
    "columns of an unknown number": (lambda p: p["city"].str.split(expand=True), "needs n="),
    "too many columns": (lambda p: p["city"].str.split(n=10**6, expand=True), "up to 100"),
    "no separator": (lambda p: p["city"].str.partition(""), "separates nothing"),
    "a side": (lambda p: p["city"].str.pad(5, side="top"), "'left', 'right' or 'both'"),
    "a form": (lambda p: p["city"].str.normalize("N"), "NFKD"),
    "a table of letters": (lambda p: p["city"].str.translate({"a": "b"}), "maketrans"),
    "flags": (lambda p: p["city"].str.contains("a", flags=re.DEBUG), "re.I"),
    "na of data": (lambda p: p["city"].str.contains("a", na="x"), "True or False"),
    "a dict with a default": (
        lambda p: p["city"].map(collections.defaultdict(str, a="b")), "a default"),
    "an index that isn't unique": (
        lambda p: p["city"].map(pd.Series(["a", "b"], index=["x", "x"])), "isn't unique"),
    "a column of data to map by": (lambda p: p["city"].map(people()["city"]), "numbers its rows"),
    "na_action": (lambda p: p["city"].map({"a": "b"}, na_action="drop"), "'ignore'"),
    "cases that are no pairs": (lambda p: p["age"].case_when([p["age"] > 3]), "pairs"),
    "a plain case": (lambda p: p["age"].case_when([([True] * 4, 1)]), "private mask"),
    "a plain column first": (lambda p: p["age"].combine_first(people()["age"]), "private column"),
    "no text method": (lambda p: p["city"].str.catch(), "They answer", UnsupportedVerb),
    "no part of times": (lambda p: p["city"].dt.tzinfo, "They answer", UnsupportedVerb),
    "a pattern": (lambda p: p["city"].str.contains("("), "regular expression"),
    "a group that is none": (
        lambda p: p["city"].str.replace("a", r"\2", regex=True), "doesn't fit"),
    "no group": (lambda p: p["city"].str.extract("a"), "must have a group"),
    "a width": (lambda p: p["city"].str.zfill(10**9), "1,000"),
    "a long fillchar": (lambda p: p["city"].str.center(5, "ab"), "one character"),
    "a step of 0": (lambda p: p["city"].str[::0], "step="),
    "a frequency": (lambda p: p["city"].dt.floor("ME"), "fixed frequency"),
    "an aggregate": (lambda p: p.per_unit().agg(x=("age", "lats")), "must be a pair"),
    "a function to aggregate": (
        lambda p: p.per_unit().agg(x=("age", lambda x: x.max())), "could keep what it sees"),
    "an aggregate of nothing": (lambda p: p.per_unit().agg(), "agg needs names"),
    "an attribute set": (lambda p: setattr(p, "age", 5), "can't be changed", AttributeError),
    "a column set": (lambda p: p.__setitem__("age", 5), "assign", PrivateValueError),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_is_wrong(p: Any, name: str) -> None:
    do, message, error = (*REFUSED[name], QueryError)[:3]
    refusal(lambda: do(p), message, error)


@pytest.mark.parametrize("made", ["frame", "slice", "column", "copy"])
def test_a_merge_with_the_token_of_a_source_is_refused(p: Any, made: str) -> None:
    held = table(age=[1.0, 2.0], z=[3, 4])
    dp.protect(held, name="held", unit="row")
    right: Any = {
        "frame": held, "slice": held[["age", "z"]], "copy": held.copy(),
        "column": held.set_index("age")["z"],
    }[made]  # fmt: skip
    refusal(lambda: p.merge(right, on="age"), "token", LineageError)


def test_weights_with_the_token_of_a_source_are_refused(p: Any) -> None:
    held = table(age=[1.0, 2.0], z=[3, 4])
    held.index = pd.Index(["age", "who"])
    dp.protect(held, name="held", unit="row")
    for weights in (held["z"], held, held[["age"]]):
        with pytest.raises(LineageError, match=r"token.*charged"):
            p[["age", "who"]].dot(weights)


def test_released_answers_may_be_used(p: Any, exact: None) -> None:
    mean = p["age"].mean(epsilon=EPSILON)
    centred = p.assign(off=p["age"] - mean, twice=mean * 2, filled=p["age"].fillna(mean))
    assert centred["off"].sum(bounds=(-70, 70), epsilon=EPSILON) == pytest.approx(0, abs=1e-5)
    counts = p["city"].value_counts(epsilon=EPSILON).rename_axis("city").reset_index()
    assert centred.merge(counts, on="city")["count"].sum(bounds=(0, 9), epsilon=EPSILON) == 5


# --- domains --------------------------------------------------------------------------------------

ALL = {"n": (-2, 10), "m": (1, 4), "k": [1, 2, 5], "t": ["a", "b"]}
DOMAINS: dict[str, Any] = {
    "n.clip(0, 5)": (0, 5), "n.clip(lower=3)": (3, 10), "n.clip(20, 30)": (20, 20),
    "x.clip(0, 5)": (0, 5), "x.clip(0)": None, "n.fillna(0)": (-2, 10), "n.fillna(99)": (-2, 99),
    "n.fillna('a')": None, "t.fillna('none')": ["none", "a", "b"], "x.fillna(0)": None,
    "n.fillna(m)": (-2, 10), "n.where(x > 0)": (-2, 10), "m.where(x > 0, -5)": (-5, 4),
    "k.where(x > 0, 7)": [1, 2, 5, 7], "m.mask(x > 0, n)": (-2, 10), "n + m": (-1, 14),
    "1 - n": (-9, 3), "n * m": (-8, 40), "n / m": (-2, 10), "1 / n": None, "n // m": (-2, 10),
    "x % m": None, "n % 3": (0, 3), "n ** 2": (0, 100), "m ** 3": (1, 64), "2 ** m": (2, 16),
    "n ** 3": None, "k * 2": (2, 10), "-m": (-4, -1), "+m": (1, 4), "n.abs()": (0, 10),
    "abs(-m)": (1, 4), "(m / 3).round(1)": (0.3, 1.3), "np.sqrt(m)": (1, 2), "np.sqrt(n)": None,
    "np.log(m)": (0, math.log(4)), "np.floor(m / 3)": (0, 1),
    "x.cut([0, 1, 2], labels=['low', 'high'])": ["low", "high"],
    "x.cut([0, 1, 2], labels=False)": [0, 1], "x.cut([0, 1])": [pd.Interval(0, 1)],
    "x > 3": [False, True], "x.isna()": [False, True], "x.str.contains('a')": [False, True],
    "x.map({1: 'a', 2: 'b', 3: 'a'})": ["a", "b"], "x.map({1: None})": None,
    "t.replace('b', 'c')": ["a", "c"], "t.replace({'a': 'b'})": ["b"],
    "t.replace({'a': 'x', 'b': 'y', 'q': 'z'})": ["x", "y"], "x.replace(1, 2)": None,
    "k.replace({5: 7, 1: None})": [2, 7], "t.str.upper()": ["A", "B"],
    "t.str.len()": [1], "t.str.contains('a')": [False, True], "t.str.replace('b', 'a')": ["a"],
    "t.str.split('a')": None, "x.str.upper()": None, "k.str.upper()": None,
    "(t + '-' + t)": ["a-a", "a-b", "b-a", "b-b"], "t.str.cat(t, sep='/').str.get(0)": ["a", "b"],
    "t + x.astype(str)": None, "t.str.partition('a')[0]": ["", "b"], "t.str.pad(2)": [" a", " b"],
    "np.where(n > 0, n, m)": (-2, 10), "np.where(n > 0, 'p', 'q')": ["p", "q"],
    "np.select([n > 0, m > 2], ['p', 'q'], default='r')": ["p", "q", "r"],
    "n.case_when([(n > 5, 5), (n < 0, 0)])": (-2, 10), "m.case_when([(m > 2, n)])": (-2, 10),
    "t.map(pd.Series({'a': 1, 'b': 2}))": [1, 2],
    "t.combine_first(t.str.upper())": ["A", "B", "a", "b"],
    "np.minimum(n, m)": (-2, 4), "np.maximum(n, m)": (1, 10), "np.fmin(n, m)": (-2, 10),
    "np.fmax(n, m)": (-2, 10), "np.clip(n, 0, 5)": (0, 5), "np.sin(x)": (-1, 1),
    "np.sign(n)": (-1, 1), "np.arctan(n)": (math.atan(-2), math.atan(10)),
    "np.arctan2(n, x)": (-math.pi, math.pi), "np.hypot(n, m)": (0, math.hypot(10, 4)),
    "p[['n', 'm']].sum(axis=1)": (-2, 14), "p[['n', 'm']].sum(axis=1, skipna=False)": (-1, 14),
    "p[['n', 'm']].mean(axis=1)": (-2, 10), "p[['n', 'm']].mean(axis=1, skipna=False)": (-2, 10),
    "p[['n', 'm']].max(axis=1)": (-2, 10), "p[['n', 'm']].min(axis=1, skipna=False)": (-2, 4),
    "p[['n', 'm']].median(axis=1)": (-2, 10), "p[['n', 'm']].std(axis=1)": None,
    "p[['n', 'x']].sum(axis=1)": None, "p[['n', 'x']].count(axis=1)": [0, 1, 2],
    "p[['n', 'x']].isna().any(axis=1)": [False, True], "(p[['n', 'm']] / 2)['m']": (0.5, 2),
    "p[['n', 'm']].clip(0, 3)['n']": (0, 3), "n.add(m, fill_value=0)": (-2, 14),
    "n.rsub(1)": (-9, 3), "x.dt.month": list(range(1, 13)),
    "x.dt.quarter": [1, 2, 3, 4], "x.dt.hour": list(range(24)),
    "x.dt.is_leap_year": [False, True], "x.dt.year": None, "x.astype(bool)": [False, True],
    "(n / 4).astype(int)": (0, 2), "k.astype(float)": [1, 2, 5], "k.astype(str)": ["1", "2", "5"],
    "k.astype('datetime64[ns]')": None, "t.astype('category')": ["a", "b"],
    "p.assign(n='x * 2')['n']": None, "p.assign(n='m * 2')['n']": (2, 8),
    "p.assign(n=5)['n']": [5],
    "p.merge(table(x=[1, 2], city=['Rome', 'Oslo']), on='x')['city']": ["Rome", "Oslo"],
    "p.rename(columns={'n': 'z'})['z']": (-2, 10),
    "p.rename(columns={'n': 'x', 'x': 'n'})['n']": None,
    "dp.concat([p[['n']], p[['m']].rename(columns={'m': 'n'})])['n']": (-2, 10),
    "dp.concat([p[['t']], p[['t']]])['t']": ["a", "b"],
    "dp.concat([p[['n']], p[['x']].rename(columns={'x': 'n'})])['n']": None,
    "p.explode('t', max_items=2)['t']": None, "p.explode('t', max_items=2)['n']": (-2, 10),
}  # fmt: skip
OF_ALL = verbs("nmktx", *DOMAINS)


@pytest.mark.parametrize("name", DOMAINS)
def test_what_a_domain_says_follows_the_verbs(name: str) -> None:
    wanted = DOMAINS[name]
    df = table(n=[1.0], m=[2.0], k=[1], t=["a"], x=[0.5]).astype(object)  # of no known kind
    column = OF_ALL[name](dp.protect(df, name="domains", domain=ALL))
    declared = column._table.declared(column._expression)
    if isinstance(wanted, tuple):
        assert (declared.lower, declared.upper) == pytest.approx(wanted)
        assert column.mean()._statistic.bounds[0] == declared
    elif wanted is None:
        assert declared is None
        refusal(lambda: column.mean(), r"bounds= is needed|kind (time|text|list)")
    else:
        assert list(declared.labels) == wanted
        assert len(column.value_counts()._statistic.cells) == len(wanted)
    assert dp.ledger()._entries() == []


def test_domains_of_large_numbers_are_left_unsaid() -> None:
    p = dp.protect(table(x=[1.0]), name="large", domain={"x": (-1e200, 1e200)})
    for column in (p["x"] ** 2, p["x"] * p["x"], p["x"] / 1e-300, np.exp(p["x"])):
        with pytest.raises(dp.errors.MissingArgument):
            column.mean()
    assert "x" in repr(p.assign(y="x ** 2"))


@pytest.mark.usefixtures("exact")
@settings(max_examples=size(quick=12, deep=30))
@given(st.lists(st.sampled_from([0.0, 7.5, -100.0, 1e9, None, math.inf, "a", "q", 3]), max_size=5))
def test_a_wrong_domain_can_only_bias(values: list[Any]) -> None:
    """Clipped to the bounds, or outside the keys: one row still moves an answer by so much."""
    dp.reset()
    df = pd.DataFrame(dict.fromkeys(("n", "m", "k", "t", "x"), objects(values)))
    p = dp.protect(df, name="wrong", domain=ALL)
    for name, wanted in DOMAINS.items():
        column = OF_ALL[name](p)
        rows_of = len(values) * column._table.branches
        if isinstance(wanted, tuple):
            total = number_of(column.sum())
            low, high = min(0, wanted[0]) * rows_of, max(0, wanted[1]) * rows_of
            assert low - 1e-6 <= total <= high + 1e-6, name
        elif wanted is not None:
            assert number_of(column.value_counts()).sum() <= rows_of, name


# --- stability ------------------------------------------------------------------------------------


def sensitivity(unreleased: Any, select: int = 0) -> int:
    table, where, statistic = unreleased._table, unreleased._request.where, unreleased._statistic
    asked = (table.source, where, statistic, Epsilon(1), "", select, table.branches)
    return Query(*asked).sensitivity


STABILITY: dict[str, tuple[Verb, int]] = {
    "nothing": (lambda p: p, 1),
    "query": (lambda p: p.query("age > 3").dropna(), 1),
    "assign": (lambda p: p.assign(x=1).fillna(0).rename(columns={"x": "y"}).drop(columns="y"), 1),
    "merge": (lambda p: p.merge(table(age=[1.0], z=[1]), on="age"), 1),
    "sample": (lambda p: p.sample(frac=0.1), 1),
    "explode": (lambda p: p.explode("tags", max_items=3), 3),
    "explode one": (lambda p: p.explode("tags", max_items=1), 1),
    "explode twice": (lambda p: p.explode("tags", max_items=3).explode("city", max_items=2), 6),
    "concat": (lambda p: dp.concat([p, p.query("age > 3")]), 2),
    "concat of one": (lambda p: dp.concat([p]), 1),
    "concat of exploded": (lambda p: dp.concat([p, p.explode("tags", max_items=3)]), 4),
    "explode of concat": (lambda p: dp.concat([p, p]).explode("tags", max_items=3), 6),
}


@pytest.mark.parametrize("name", STABILITY)
def test_sensitivities_grow_with_the_rows_that_a_row_becomes(p: Any, name: str) -> None:
    verb, factor = STABILITY[name]
    frame = verb(p)
    rows_of_a_unit = 2 * factor
    assert frame._table.branches == factor
    assert sensitivity(frame.count()) == rows_of_a_unit
    assert sensitivity(frame["city"].value_counts(keys=["Rome", "Oslo"])) == rows_of_a_unit
    assert sensitivity(frame[["age", "city"]].count()) == 2 * rows_of_a_unit
    total = frame["age"].sum(bounds=(0, 8))
    assert sensitivity(total) == sensitivity(p["age"].sum(bounds=(0, 8))) * factor
    assert sensitivity(frame.per_unit().agg(n="size")["n"].count()) == 1
    assert sensitivity(frame["who"].nunique()) == 1
    groups = frame.groupby("city", keys=["Rome", "Oslo", "Bonn"])["who"]
    assert sensitivity(groups.nunique()) == min(rows_of_a_unit, 3)
    assert sensitivity(groups.nunique(), select=1) == 1
    keys = list(range(100))
    many = frame.groupby("age", keys=keys)["who"].nunique()
    assert sensitivity(many) == min(rows_of_a_unit, 100)


def test_rows_for_each_unit_have_sensitivity_one_whatever_happened_before(p: Any) -> None:
    units = p.explode("tags", max_items=5).per_unit().agg(n="size", s=("age", "sum"))
    assert units._table.source.unit.max_rows == 1
    assert units._table.branches == 1
    assert sensitivity(units["n"].count()) == 1
    assert sensitivity(units["n"].value_counts(keys=range(9))) == 1
    assert sensitivity(units.explode("n", max_items=2)["n"].count()) == 2
    assert sensitivity(dp.concat([units, units]).count()) == 2
    assert units._table.source.domain == {}


# --- samples --------------------------------------------------------------------------------------

UNITS = 2000
#: Hoeffding: a share of 2,000 hashes is further away with a probability below 2·exp(−2·2000·0.07²)
#: = 6.2e-9, whatever it is. All assertions of this section together (below 50): 4e-7.
FAR = 0.07


def visitors() -> pd.DataFrame:
    who = np.repeat(np.arange(UNITS), 3)
    return table(who=who, visit=np.tile([0, 1, 2], UNITS), x=np.arange(3 * UNITS))


def chosen(frame: Any, column: str = "who") -> dict[int, int]:
    """How many rows of each unit are in."""
    counts = frame[column].value_counts(keys=range(UNITS), sort=False, epsilon=EPSILON)
    return {unit: n for unit, n in counts.to_dict().items() if n}


@pytest.mark.statistical
@pytest.mark.usefixtures("exact")
class TestSample:
    """The key is drawn anew for each source, and never seeded: see FAR for the false alarms."""

    def test_a_share_of_the_units_with_all_their_rows(self) -> None:
        p = dp.protect(visitors(), name="visitors", unit="who", max_rows=3)
        before: set[int] = set()
        for frac in (0.1, 0.3, 0.5, 0.9, 1):
            units = chosen(p.sample(frac=frac))
            assert set(units.values()) == {3}  # never some rows of a unit
            assert units == chosen(p.sample(frac=frac))  # the same ones again
            assert abs(len(units) / UNITS - frac) < FAR
            assert before <= set(units)
            before = set(units)
        assert len(before) == UNITS

    def test_who_is_in_depends_on_nothing_else(self) -> None:
        p = dp.protect(visitors(), name="visitors", unit="who", max_rows=3)
        units = chosen(p.sample(frac=0.5))
        filtered = chosen(p.query("visit == 1 and who < 1000").sample(frac=0.5))
        assert set(filtered) == {unit for unit in units if unit < 1000}
        assert set(filtered.values()) == {1}
        for later in (
            p.sample(frac=0.5).query("visit == 1 and who < 1000"),
            p.query("who < 1000").sample(frac=0.5).query("visit == 1"),
            p.assign(x=1).rename(columns={"x": "y"}).sample(frac=0.5).query(
                "visit == 1 and who < 1000"
            ),
        ):  # fmt: skip
            assert chosen(later) == filtered
        assert chosen(p.rename(columns={"who": "w"}).sample(frac=0.5), "w") == units
        assert set(chosen(p.per_unit().agg(n="size").sample(frac=0.5))) == set(units)
        assert chosen(p.explode("x", max_items=2).sample(frac=0.5)) == units

    def test_a_sample_of_a_sample_is_another_choice(self) -> None:
        p = dp.protect(visitors(), name="visitors", unit="who", max_rows=3)
        once = p.sample(frac=0.5)
        for twice in (
            once.sample(frac=0.5), once.query("visit >= 0").sample(frac=0.5),
            once.per_unit().agg(n="size").sample(frac=0.5), dp.concat([once]).sample(frac=0.5),
        ):  # fmt: skip
            assert set(chosen(twice)) < set(chosen(once))
            assert abs(len(chosen(twice)) / UNITS - 0.25) < FAR
        assert abs(len(chosen(once.sample(frac=0.5).sample(frac=0.5))) / UNITS - 0.125) < FAR

    def test_sources_choose_independently(self) -> None:
        one = dp.protect(visitors(), name="one", unit="who", max_rows=3)
        other = dp.protect(visitors(), name="other", unit="who", max_rows=3)
        both = set(chosen(one.sample(frac=0.5))) & set(chosen(other.sample(frac=0.5)))
        assert abs(len(both) / UNITS - 0.25) < FAR

    def test_rows_without_a_unit_are_chosen_by_their_contents(self) -> None:
        df = visitors()
        df = pd.concat([df, df])  # each row twice: both are in, or none
        p = dp.protect(df, name="rows", unit="row")
        counts = p.sample(frac=0.5)["x"].value_counts(keys=range(UNITS), epsilon=EPSILON)
        assert set(counts) == {0, 2}
        assert abs((counts > 0).mean() - 0.5) < FAR

    @pytest.mark.parametrize("dtype", ["int32", "float64", "object", "Int64", "category", "str"])
    def test_units_of_any_dtype(self, dtype: str) -> None:
        p = dp.protect(visitors().astype({"who": dtype}), name="visitors", unit="who", max_rows=3)
        found = p.sample(frac=0.3)
        keys = [str(i) if dtype == "str" else i for i in range(UNITS)]
        counts = found["who"].value_counts(keys=keys, epsilon=EPSILON)
        assert set(counts) == {0, 3}
        assert abs((counts > 0).mean() - 0.3) < FAR
