"""What must never get out, whatever happens: charges before rows, canaries, hostile queries, noise.

Each test plants something and looks for it where somebody else could: in tracebacks, notebooks,
pickles, ledgers, in the noise of another process.
"""

import contextlib
import decimal
import multiprocessing
import os
import pickle
import random
import re
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from effort import counting, peak
from ledgers import anew, hesitating
from refusals import chain, raising, refusal
from waiting import LIMIT

import dppandas as dp
from dppandas.engines.pandas import PandasEngine
from dppandas.errors import LineageError, QueryError, SessionError
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.rows.facts import keys

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

HOUSE = Path(dp.__file__).parent
CANARY = "CANARY_7f3a"
NUMBER = 987654321.125
#: So many rows that their exact number is as good as a canary.
ROWS = 1279


# --- A: the charge precedes the draw, wherever somebody presses Ctrl-C ----------------------------

#: The road from a question to its answer.
ROAD = {
    str(HOUSE / path)
    for path in [
        *(path.relative_to(HOUSE) for path in HOUSE.glob("engines/*.py")),
        "release/private.py", "release/release.py", "release/answers/results.py",
        "release/session.py", "release/unreleased.py", "ledger/ledger.py",
        "ledger/storage/store.py", "privacy/mechanisms/noise.py",
        "privacy/mechanisms/selection.py"]
}  # fmt: skip
assert all(map(os.path.exists, ROAD))


class Interrupts:
    """Presses Ctrl-C before the n-th line of the road is run; counts lines where n is 0."""

    def __init__(self, n: int, road: Collection[str] = ROAD) -> None:
        self.n, self.lines, self.where, self.road = n, 0, "", road

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename not in self.road:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.n:
                self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self

    def around(self, act: Callable[[], Any]) -> KeyboardInterrupt | None:
        before = sys.gettrace()
        sys.settrace(self)
        try:
            act()
        except KeyboardInterrupt as stopped:
            return stopped
        finally:
            sys.settrace(before)
        return None


def visits(rows: int = ROWS) -> pd.DataFrame:
    people = [f"{CANARY}-{i // 2}" for i in range(rows)]
    return pd.DataFrame({"person": people, "text": [CANARY] * rows, "number": [NUMBER] * rows})


#: What is asked of `visits`.
ASKED: dict[str, Callable[[Any], Any]] = {
    "count": lambda p: p.count(),
    "a mean": lambda p: p["number"].mean(bounds=(0, 10)),
    "a histogram": lambda p: p["text"].value_counts(keys=["a", "b"]),
    "a selection": lambda p: p["text"].mode(keys=["a", "b"]),
    "units": lambda p: p["person"].nunique(),
    "a sum for each unit": lambda p: (
        p.per_unit().agg(all=("number", "sum"))["all"].sum(bounds=(0, 10))
    ),
}


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # an object that the interrupt left half made
        return type(error).__name__


def _told(error: BaseException) -> str:
    """The locals of every frame of the package that an error leads to, as debuggers print them."""
    return "\n".join(
        f"{frame.f_code.co_name}.{name} = {_shown(value)}"
        for each in chain(error)
        for frame, _ in traceback.walk_tb(each.__traceback__)
        if frame.f_code.co_filename.startswith(str(HOUSE))
        for name, value in frame.f_locals.items()
    )


@pytest.mark.parametrize("asked", ASKED)
def test_an_interrupt_anywhere_leaves_all_sound(asked: str, frozen: Any, monkeypatch: Any) -> None:
    # A kill -9 or os._exit at these points is no case of its own: a ledger in memory dies with its
    # process, and what the process has not shown yet dies with it too.
    spent_when_read: list[Fraction] = []
    integers = PandasEngine.accumulate_rows

    def spy(self: PandasEngine, *args: Any) -> list[int]:
        spent_when_read.append(dp.ledger().spent)
        return integers(self, *args)

    monkeypatch.setattr(PandasEngine, "accumulate_rows", spy)
    frozen(-3)  # or a noise of 0 would make what may be seen of what may not
    data, quarter = visits(), Fraction(1, 4)

    def answer(unreleased: dp.types.Unreleased) -> Any:
        # below the face, which shows no frames whatever happens: see the next test
        release: Any = type(unreleased).release
        return release.__wrapped__(unreleased, epsilon=quarter, fresh=True)

    answer(ASKED[asked](dp.protect(data, "warm-up", unit="person", max_rows=2)))
    for n in range(1, 2000):
        dp.reset()
        spent_when_read.clear()
        session = dp.session(epsilon="0.5")
        asking = ASKED[asked](dp.protect(data, "visits", unit="person", max_rows=2))
        watch = Interrupts(n)
        stopped = watch.around(lambda: answer(asking))  # noqa: B023 (called at once)
        assert session.spent in (0, quarter), watch.where
        if spent_when_read:
            assert spent_when_read == [quarter], watch.where
            assert session.spent == quarter, watch.where
        if stopped is None:
            break
        told = _told(stopped)
        assert CANARY not in told, watch.where
        assert "987654321" not in told, watch.where
        assert not re.search(rf"(?<![\w.]){ROWS}(?!\w)", told), watch.where
        left = 1 if session.spent else 2
        # from another thread, which waits for ever where a lock was left behind
        granted: list[Any] = []

        def spend() -> None:
            for _ in range(3):
                try:
                    granted.append(answer(asking))  # noqa: B023
                except dp.BudgetExceeded:
                    return

        other = threading.Thread(target=spend, daemon=True)
        other.start()
        other.join(timeout=LIMIT)
        assert not other.is_alive(), f"the ledger is locked after {watch.where}"
        assert len(granted) == left, watch.where
        assert session.spent == session.budget
    else:
        pytest.fail("the release never completed")
    assert n > 60, "so few lines can't be the whole road"


@pytest.mark.parametrize("act", ["protect", "release"])
def test_an_interrupt_shows_no_frames_from_below_the_face(act: str) -> None:
    data = visits()
    acts: dict[str, Callable[[], Any]] = {
        "protect": lambda: dp.protect(data, "other", unit="person", max_rows=1),
        "release": lambda: data.dp.count(epsilon=1),
    }
    for n in range(1, 2000):
        dp.reset()
        stopped = Interrupts(n, {*ROAD, str(HOUSE / "frames" / "protect.py")}).around(acts[act])
        if stopped is None:
            break
        assert CANARY not in _told(stopped)
    assert n > 30


@pytest.mark.parametrize("ask", [
    lambda p, df: p[["number"]].agg(["mean"], bounds=(0, 1), shares=df, epsilon=1),
    lambda p, df: p.count(epsilon=df), lambda p, df: p.count(weights=df, epsilon=1),
])  # fmt: skip
def test_a_refused_argument_is_in_no_frame_and_no_text(ask: Any) -> None:
    with pytest.raises(QueryError) as refused:
        ask(visits().dp, visits())
    assert CANARY not in _told(refused.value) + str(refused.value)


# --- B: canaries ----------------------------------------------------------------------------------

#: What a notebook imports. Canaries are not spelled out: tracebacks show lines of source.
HELPERS = f"""
import contextlib, pickle
import numpy as np, pandas as pd, dppandas as dp

TEXT = bytes.fromhex({CANARY.encode().hex()!r}).decode()
NUMBER = 1975308642.25 / 2
DAY = pd.Timestamp(1987, 6, 1) + pd.Timedelta(days=4)

def data():
    rows = 50
    return pd.DataFrame({{
        "text": [TEXT] * rows,
        "number": [NUMBER] * rows,
        "cat": pd.Categorical([TEXT] * rows),
        "thing": [{{TEXT: NUMBER}}] * rows,
        "list": [[TEXT, NUMBER]] * rows,
        "when": [DAY] * rows,
        "person": [f"{{TEXT}}-{{i // 2}}" for i in range(rows)],
    }}, index=pd.Index([TEXT] * rows))

def numbered():
    return data().reset_index(drop=True).reset_index()

def things():
    return [{{TEXT: NUMBER}}]

def twice():
    return pd.concat([data(), data()], axis=1)

KEPT = data()

def tokened():
    return KEPT

def people():
    return dp.protect(KEPT, name="people", unit="person", max_rows=2)

@contextlib.contextmanager
def broken_reads():
    def quoting(self, chunk, keep):
        raise ValueError(f"can't read {{chunk.column('text').objects().tolist()}} or {{NUMBER}}")
    kinds = (dp.statistics.Count, dp.statistics.Mean, dp.statistics.Sum)
    kernels = [kind.kernel for kind in kinds]
    for kind in kinds:
        kind.kernel = quoting
    try:
        yield
    finally:
        for kind, kernel in zip(kinds, kernels):
            kind.kernel = kernel

def pickled(*objects):
    with open("results.pickle", "wb") as file:
        for each in objects:
            pickle.dump(each, file)
"""

SETUP = """
%load_ext dppandas
%xmode Verbose
import copy, inspect, logging, pickle, pprint, warnings
import numpy as np, pandas as pd, dppandas as dp
from helpers import broken_reads, data, numbered, people, pickled, things, tokened, twice
s = dp.session(epsilon=2)
p = people()
asserted = tokened().dp
text, number = p["text"], p["number"]
groups = p.groupby("text", keys=["a", "b"])
unreleased = groups.size()
mask = number > 1
"""

SHOWING = """
print(p, text, mask, groups, unreleased, p.per_unit(), s, dp.ledger())
display(p, text, mask, groups, unreleased, p.per_unit(), s, dp.ledger())
p
text
s
dp.ledger()
%dp
p._repr_html_(), s._repr_html_(), dp.ledger()._repr_html_()
f"{p} {text!r} {unreleased}"
p.describe(), p.columns
p.explode("list", max_items=2), dp.concat([p, p]), p.per_unit().agg(n="size")
p.merge(pd.DataFrame({"text": ["a"], "city": ["Oslo"]}), on="text")
dir(p), dir(text), dir(groups), dir(unreleased), dir(s), dir(dp)
vars(p), vars(text), vars(groups), vars(unreleased), vars(s), vars(dp.ledger())
asserted, asserted["text"], asserted.count(), vars(asserted), vars(asserted["text"] == "a")
pprint.pprint([vars(each) for each in (p, text, groups, unreleased, s)])
repr(dp.session()._sources), repr(s._sources), list(s._sources.values())
inspect.getmembers(text)
text.unique(), p.groupby("text", delta=1e-6), text.value_counts(delta=1e-6)
%whos
p?
text??
%pinfo unreleased
help(p)
logging.getLogger().warning("%s %r %s", p, text, unreleased)
warnings.warn(f"{p} {text}")
n = p.count(epsilon="0.1"); n
mean = number.mean(bounds=(0, 10), epsilon="0.1"); mean
table = groups[["number", "list"]].count(epsilon="0.1"); table
best = text.mode(keys=["a", "b"], epsilon="0.1"); best
lost = p.truncation_shares(epsilon="0.1"); lost
units = p["person"].nunique(epsilon="0.1"); print(units, units.error(), units.interval())
dp.record(n), dp.record(mean), dp.record(table), dp.record(best), dp.record(lost)
print(dp.record(table)); vars(dp.record(mean)); dir(dp.record(n))
dp.ledger().to_frame()
dp.ledger()._entries()
pickled(n, mean, table, best, lost, units, dp.record(n), dp.record(table), dp.ledger()._entries())
copy.deepcopy(table).attrs
%dp
"""

#: Every kind of error, on private objects and on rows in the place of public facts.
RAISING = """
UnsupportedVerb: p.txt
UnsupportedVerb: text.txt
UnsupportedVerb: groups.txt
UnsupportedVerb: unreleased.txt
UnknownColumn: p["txt"]
UnknownColumn: p[["text", "txt"]]
UnknownColumn: p.query("txt > 1")
UnsupportedExpression: p.query("number > number.mean()")
UnsupportedExpression: p.query("number > ")
MissingArgument: number.mean(epsilon=1)
MissingArgument: text.value_counts(epsilon=1)
MissingArgument: p.groupby("text")
MissingArgument: p.count().release()
BudgetExceeded: p.count(epsilon=50)
BudgetExceeded: text.mode(keys=["a", "b"], epsilon=50)
QueryError: p.count(epsilon=100)
QueryError: p.count(epsilon=data())
QueryError: p.count(data())
QueryError: p.query(data(), data())
UnsupportedExpression: p.query(data())
UnsupportedExpression: p.query(data()["text"])
UnsupportedVerb: p.head()
MissingArgument: text.unique(epsilon=1)
QueryError: text.value_counts(epsilon=1, delta=1e-6)
QueryError: dp.unique(data()["text"], epsilon=1, delta=1e-6)
UnsupportedVerb: p.iloc[0]
PrivateValueError: p.apply(len)
UnsupportedVerb: p.to_csv("out.csv")
PrivateValueError: len(p)
PrivateValueError: list(text)
PrivateValueError: bool(mask)
PrivateValueError: np.asarray(number)
PrivateValueError: np.mean(number)
PrivateValueError: float(number)
PrivateValueError: np.add(unreleased, 1)
PrivateValueError: p @ 1
QueryError: p + data()
QueryError: data() + p
QueryError: p > data()
QueryError: p * data()["number"]
QueryError: p.where(data())
PrivateValueError: np.where(number > 1)
LineageError: np.where(number > 1, data()["number"], 0)
LineageError: np.minimum(number, data()["number"])
QueryError: text.str.cat(data()["text"])
QueryError: number.map(lambda x: 1)
PrivateValueError: pickle.dumps(p)
PrivateValueError: copy.copy(text)
QueryError: number + "a"
LineageError: asserted["number"] + number
LineageError: asserted[mask]
BudgetExceeded: asserted.count(epsilon=50)
LineageError: number + data()["number"]
LineageError: data()["number"] + number
LineageError: data()["number"] > number
LineageError: number > data()["number"].to_numpy()
LineageError: number.between(data()["number"], 5)
QueryError: text.isin(data())
UnsupportedExpression: text.isin(things())
UnsupportedExpression: text == things()[0]
QueryError: p[data()["number"] > 1]
QueryError: p[data()]
UnknownColumn: p[[things()[0]]]
QueryError: number[data()["number"] > 1]
QueryError: text.map(data()["number"])
UnsupportedExpression: text.map({"a": data()})
UnsupportedExpression: text.replace({"a": things()[0]})
QueryError: text.where(data()["number"] > 1)
LineageError: number.where(mask, data()["number"])
LineageError: number.fillna(data()["number"])
QueryError: number.clip(data()["number"])
QueryError: number.round(data()["number"])
QueryError: number.cut(data()["number"])
QueryError: number.cut([0, 1], labels=data())
QueryError: number.astype(data())
QueryError: number.mean(bounds=data()["number"], epsilon=1)
QueryError: number.mean(bounds=data(), epsilon=1)
QueryError: number.sum(bounds=things(), epsilon=1)
QueryError: text.value_counts(keys=data()["list"], epsilon=1)
QueryError: text.value_counts(keys=things(), epsilon=1)
QueryError: text.value_counts(keys=["a"], normalize=data(), epsilon=1)
QueryError: text.mode(keys=data()["list"], epsilon=1)
QueryError: p.groupby("text", keys=data()["list"])
QueryError: p.groupby(data()["text"], keys=["a"])
QueryError: p.groupby("text", keys=["a"], sort=data())
QueryError: unreleased.nlargest(data(), epsilon=1)
QueryError: number.between(0, 1, inclusive=data())
QueryError: text.str.contains(data())
QueryError: text.str.slice(data())
QueryError: p["when"].dt.floor(data())
LineageError: p.assign(x=data()["number"])
LineageError: p.assign(x=lambda p: data()["number"])
UnsupportedExpression: p.assign(x=data())
UnsupportedExpression: p.assign(x=things()[0])
UnsupportedExpression: p.assign(x="text +")
LineageError: p.assign(person=1)
QueryError: p.rename(columns=5)
UnknownColumn: p.drop(columns=data())
QueryError: p.dropna(how=data())
QueryError: p.sample(frac=data())
QueryError: p.explode("list", max_items=data())
QueryError: p.per_unit().agg(x=data())
QueryError: p.per_unit().agg(x=("number", data()))
QueryError: p.truncation_shares(counted=data())
LineageError: p.merge(p, on="text")
LineageError: p.merge(tokened(), on="text")
QueryError: p.merge(data(), how="outer", on="text")
QueryError: p.merge(data(), how=data(), on="text")
UnknownColumn: p.merge(data(), on="txt")
QueryError: p.merge(data(), left_on="text", right_on=["text", "person"])
QueryError: p.merge(things(), on="text")
QueryError: p.merge(data(), on="text")
QueryError: p.merge(data(), on="thing")
UnsupportedExpression: p.merge(numbered(), left_on="text", right_on="index")
QueryError: dp.concat([data(), data()])
QueryError: dp.concat(data())
QueryError: dp.cut(data()["number"], [0, 1])
RecordError: dp.record(data())
RecordError: dp.record(data()["number"])
SourceError: dp.protect(data().iloc[:9], name="people", unit="person", max_rows=2)
SourceError: dp.protect(tokened(), name="people", unit="person", max_rows=3)
QueryError: dp.protect(data(), name="")
QueryError: dp.protect(data(), name=data())
QueryError: dp.protect(data(), name="x", unit="nope")
MissingArgument: dp.protect(data(), name="x", unit="person")
MissingArgument: dp.private(data(), unit="person")
QueryError: dp.protect(data(), name="x", unit="person", max_rows=data())
QueryError: dp.protect(data(), name="x", unit="person", max_rows=1, domain={"text": data()["list"]})
QueryError: dp.protect(data(), name="x", unit="person", max_rows=1, domain=data())
QueryError: dp.protect(data(), name="x", unit="person", max_rows=1, version=data())
QueryError: dp.protect(things(), name="x")
LineageError: dp.protect(data(), name="x")
LineageError: dp.protect(tokened(), name="x")
QueryError: dp.private(data(), unit="nope")
QueryError: dp.private(things())
QueryError: dp.private(data()["text"], unit="person")
LineageError: dp.private(tokened(), unit="text", max_rows=1)
QueryError: p.declare(text=data()["list"])
QueryError: p.declare(number=data())
QueryError: p.declare(data())
SourceError: p.declare(text=["a"]), p.declare(text=data()["text"].iloc[:1])
QueryError: twice().dp
QueryError: dp.protect(twice(), name="x")
LineageError: data().dp.count(epsilon="0.1")
LineageError: tokened()["text"].dp.count(epsilon="0.1")
SessionError: dp.session(epsilon=9)
QueryError: dp.session(epsilon=data())
SessionError: dp.session(strict=data())
QueryError: n.error(data())
QueryError: dp.record(n).intervals(data())
"""

#: What is told of a read that fails, to whoever asks; after these nothing is left to spend.
FAILING = """
p.count(epsilon="0.1", fresh=True)
number.mean(bounds=(0, 10), epsilon="0.1", fresh=True)
groups.size(epsilon="0.1", fresh=True)
text.mode(keys=["a", "b"], epsilon="0.1", fresh=True)
p.query("number > 1").count(epsilon="0.1", fresh=True)
p.per_unit().agg(all=("number", "sum"))["all"].sum(bounds=(0, 10), epsilon="0.1", fresh=True)
"""

MARKS = (CANARY, "987654321", "1987-06-05", "1987, 6, 5")


def _run(folder: Path, cells: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A notebook, run in a fresh kernel that imports the helpers from its folder."""
    nbformat: Any = pytest.importorskip("nbformat")
    nbclient: Any = pytest.importorskip("nbclient")
    (folder / "helpers.py").write_text(HELPERS, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(HOUSE.parent))
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(
        book, timeout=LIMIT, kernel_name="python3", allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    client.execute()
    nbformat.write(book, folder / "book.ipynb")
    return book


def _found(book: Any, folder: Path) -> list[str]:
    """Where a mark is shown: in outputs, with their cell; in the files of a folder."""
    nbconvert: Any = pytest.importorskip("nbconvert")
    page, _ = nbconvert.HTMLExporter().from_notebook_node(book)
    texts = {"the page": page, "the file": (folder / "book.ipynb").read_text("utf-8")}
    if (folder / "results.pickle").exists():
        texts["the pickles"] = (folder / "results.pickle").read_bytes().decode("latin-1")
        texts["the pickles"] += "987654321" * (struct.pack("<d", NUMBER).decode("latin-1")
                                               in texts["the pickles"])  # fmt: skip
    for cell in book.cells:
        shown = "\n".join(map(repr, cell.outputs))
        texts[cell.source] = re.sub(r"(\\x1b|\x1b)\[[0-9;]*m", "", shown)
    return [where for where, text in texts.items() if any(mark in text for mark in MARKS)]


def test_no_canary_gets_out_of_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    showing = SHOWING.strip().splitlines()
    raising = [line.split(": ", 1) for line in RAISING.strip().splitlines()]
    failing = FAILING.strip().splitlines()
    #: Each cell, and the error that it raises.
    cells: list[tuple[str, str | None]] = [
        *((cell, None) for cell in (SETUP, *showing)),
        *((source, name) for name, source in raising),
        ("s = dp.session(epsilon=2)", None),  # the last one was refused
        *((f"with broken_reads():\n    {source}", "ReleaseFailed") for source in failing),
        ("%dp\ndisplay(dp.ledger().to_frame())", None),
    ]
    book = _run(tmp_path, [source for source, _ in cells], monkeypatch)
    assert _found(book, tmp_path) == []
    assert (tmp_path / "results.pickle").stat().st_size > 1000
    for cell, (source, name) in zip(book.cells, cells, strict=True):
        errors = [output for output in cell.outputs if output.output_type == "error"]
        assert [error.ename for error in errors] == ([] if name is None else [name]), source
        for error in errors:  # what, why, and what to write
            (text,) = error.traceback
            assert text.count("\n") < 8, source
            assert max(map(len, text.split("\n"))) <= 72, source
            assert str(HOUSE) not in text, source


def test_a_canary_that_gets_out_of_a_notebook_is_found(tmp_path: Path, monkeypatch: Any) -> None:
    cells = [
        SETUP, "data().text.iloc[0]", "raw = data()\nraw.nope",
        "s._sources['people'].engine.read._frame", "display(data().when)",
        "1 / data().number.iloc[0] * 0", "pickled(data())",
    ]  # fmt: skip
    found = _found(_run(tmp_path, cells, monkeypatch), tmp_path)
    assert found == ["the page", "the file", "the pickles", *cells[1:5]]


# --- C: hostile queries, by both doors that take text ---------------------------------------------

DEEP = 2500
HOSTILE = [
    # other rows
    "income > income.mean()", "income.max()", "income.rank(pct=True) < 0.5",
    "income - income.min()", "income.shift(1) == income", "income.cumsum() > 9",
    "income.duplicated()", "index < 5", "ilevel_0 == 0", "income[0] > 1", "income[::-1] > 1",
    "income.iloc[-1]", "income.loc[0] == 1", "income.values", "income.isin(age)", "income in age",
    "income.between(income.min(), 9)", "income.eq(age.max())", "income.groupby(age).mean() > 1",
    "name.str.cat()", "name.str.contains(name)", "name.str[age]", "income.transform(abs)",
    "income.where(age > age.mean()) > 1", "income.fillna(income.mean()) > 1", "income.dropna() > 1",
    "income.quantile(0.5) > income", "df.income > 1", "income.index",
    # variables of the caller that are no scalars
    "@raw", "@raw.income > 1", "@raw['income'] > 1", "income > @raw.income", "income > @series",
    "income in @series", "income > @listed", "income + @listed > 1", "income.isin(@raw)",
    "income.isin(@series)", "income.where(@function) > 1", "income > @function", "@function()",
    "@module.path", "@private > 1", "income > @column", "income > @answer", "@nothing > 1",
    "income > @nan",
    "@listed[0] > 1", "@{income}", "@ raw", "@@income", "@__builtins__", "@self", "@raw.query('1')",
    # the interpreter
    "().__class__.__bases__[0].__subclasses__()", "income.__class__", "__import__('os')",
    "__name__", "open('/etc/passwd').read()", "eval('1')", "exec('income')", "globals()['x']",
    "print(income)", "getattr(income, 'mean')()", "'a'.upper()", "(1).bit_length()",
    "''.join(name)", "'{0.__class__}'.format(income)", "'%s' % income", "breakpoint()",
    "pd.eval('1')",
    # functions that aren't of one number, and those of numbers with other arguments
    "max(income, age) > 1", "sum([income])", "len(name)", "int(income)", "range(3)",
    "sin() > 0", "sqrt(*income)", "abs(x=income) > 1", "arctan2(income) > 0", "floor(income)()",
    "sin(@function) > 0", "abs(@column) > 1", "sqrt(@series) > 1", "sin.__class__", "sin",
    # syntax
    "lambda: income", "(lambda x: x)(income)", "[x for x in income]", "{x for x in income}",
    "{x: x for x in income}", "(x for x in income)", "(big := income) > 1", "big = income",
    "income > 1; age > 1", "import os", "f'{income}'", "f'{income.mean()}' == '1'", "await income",
    "(yield income)", "(yield from income)", "*income", "(*income, 1)", "income if age else 1",
    "{income}", "{'a': income}", "[income]", "income, age", "()", "...", "None", "income is None",
    "income in {1, 2}", "income @ age", "income << 2", "income ^ age", "~income > 1",
    "b'a' == name", "1j * income", "income == [1, age]", "income == [[1]]", "not",
    "income > 1 # or True", "#", "income > 1 \\\n and", "income\x00 > 1", "name == 'a\x00' 'b'.x",
    "\x00", "", " \t\n", "income > ", "'unclosed", "\"\"\"", "income >\u00a0\u200b1", "income => 1",
    "income && age", "!income", "income ? 1 : 2",
    # names
    "`income", "`inc` > 1", "``", "`income`.mean()", "`income``age`", "`@raw`",
    "`income > 1 or age`", "`__class__`", "inc\u043eme > 1", "INCOME > 1", "_dp0 > 1",
    "`age`_dp1 > 1", "\uff3fdp0", "incomе.mean()",
    # size and depth
    "(" * DEEP + "income" + ")" * DEEP, "not " * DEEP + "income", "-" * DEEP + "income",
    "income" + ".x" * DEEP, "income" + "[0]" * DEEP, "income" + "()" * DEEP,
    "[" * DEEP + "]" * DEEP, "income" + " ** income" * DEEP, "income" + " + 1" * DEEP,
    "1 < (" * 60 + "income" + " < 1) < 2" * 60, "income > " + "9" * 9000,
    "income" + ".between(0, 1)" * 900, "income > 1" + " " * 10_000,
    "income.isin([" * 200 + "])" * 200,
]  # fmt: skip


def test_hostile_queries_are_a_hundred_and_different() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 100


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[1:31])
@pytest.mark.parametrize("door", ["query", "assign"])
def test_a_hostile_query_is_refused_at_both_doors(text: str, door: str, monkeypatch: Any) -> None:
    raw = pd.DataFrame({"income": [1.0, 2.0], "age": [30, 40], "name": ["a", "b"]})
    private = dp.protect(raw, name="people")
    series, listed, nan, module = raw["income"], [1, 2], float("nan"), sys
    function, column, answer = sorted, private["income"], private.count()
    taken = (series, listed, nan, module, function, column, answer)  # by @, as any text could

    read = raising(AssertionError("rows were read"))
    monkeypatch.setattr(PandasEngine, "accumulate_rows", read)
    monkeypatch.setattr(PandasEngine, "_rows", read)
    with pytest.raises(dp.errors.DPError) as refused, counting() as counted:
        private.query(text) if door == "query" else private.assign(x=text)
    assert counted.number < 10**6
    assert len(str(refused.value)) < 12_000
    assert taken
    assert dp.ledger()._entries() == []


# --- D: noise is never repeated -------------------------------------------------------------------

#: Equal draws by chance: each is below 2^-21 likely, all sixteen below 1e-90.
NOISES = {
    "Laplace": DiscreteLaplace(Fraction(2**20)),
    "Gaussian": DiscreteGaussian(Fraction(2**40)),
}


def _seeded_draws(noise: str, entries: int = 16) -> list[int]:
    """Noise after all that a program could do to have the same again."""
    random.seed(7)
    np.random.seed(7)
    os.environ["PYTHONHASHSEED"] = "7"
    return NOISES[noise].release([0] * entries)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("entries", [16, 128])  # drawn one by one, and by tables
def test_seeds_repeat_no_noise(entries: int, noise: str) -> None:
    state, legacy = random.getstate(), np.random.get_state()
    draws = []
    for _ in range(4):
        random.setstate(state)
        np.random.set_state(legacy)
        draws.append(tuple(_seeded_draws(noise, entries)))
    assert len(set(draws)) == 4


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_worker_processes_repeat_no_noise(method: str) -> None:
    with multiprocessing.get_context(method).Pool(3) as pool:
        draws = pool.map(_seeded_draws, ["Laplace"] * 6, chunksize=1)
    draws.append(_seeded_draws("Laplace"))
    assert len(set(map(tuple, draws))) == 7


def _in_forks(do: Callable[[], Any], copies: int = 3) -> list[Any]:
    """What copies of this process, made by os.fork, say at once."""
    pipes, children = [], []
    for _ in range(copies):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writing, pickle.dumps(do()))
            finally:
                os._exit(0)
        os.close(writing)
        pipes.append(reading)
        children.append(child)
    said = []
    for reading, child in zip(pipes, children, strict=True):
        ready, _, _ = select.select([reading], [], [], 30)
        if not ready:
            os.kill(child, signal.SIGKILL)
        with os.fdopen(reading, "rb") as pipe:
            said.append(pickle.loads(pipe.read()) if ready else "hangs")
        os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("entries", [16, 128])
def test_copies_of_a_process_repeat_no_noise(entries: int, noise: str) -> None:
    draw = partial(_seeded_draws, noise, entries)
    draw()  # whatever is kept between draws is kept now, and copied
    draws = [*_in_forks(draw), draw()]
    assert len(set(map(tuple, draws))) == 4


@pytest.mark.parametrize("locked", [False, True])
def test_copies_of_a_process_are_granted_nothing(locked: bool) -> None:
    """Not even where another thread was in the middle of a charge, and its lock was copied too."""
    private = dp.protect(visits(20), "visits", unit="person", max_rows=2)
    session = dp.session(epsilon=1)
    private.count(epsilon="0.5")

    def spend() -> str:
        try:
            return str(private.count(epsilon="0.125", fresh=True))
        except dp.DPError as error:
            return type(error).__name__

    def forked(spent: Any = None) -> None:
        said.extend(_in_forks(spend))

    said: list[str] = []
    if locked:
        session.ledger._store.between_charges(forked)
    else:
        forked()
    assert said == ["WorkerProcessError"] * 3
    assert session.spent == Fraction(1, 2)
    private.count(epsilon="0.5", fresh=True)
    assert session.remaining == 0


# --- E: threads -----------------------------------------------------------------------------------


def test_mixed_threads_are_granted_what_is_there_and_no_more(monkeypatch: Any) -> None:
    hesitating(monkeypatch, lambda: time.sleep(0.0005))
    session = dp.session(epsilon=1)
    p = dp.protect(visits(60), "visits", unit="person", max_rows=2)
    each = p.per_unit().agg(spend=("number", "sum"), n="size")  # made once, by whoever is first
    groups = p.groupby("text", keys=["a", "b"])
    asks: list[Callable[..., Any]] = [
        p.count, p["person"].nunique, groups["person"].nunique, groups.size().idxmax,
        p.truncation_shares, each.query("n > 1").size, partial(p["number"].mean, bounds=(0, 9)),
        partial(each["spend"].sum, bounds=(0, 9)),
        partial(p["number"].clipping_shares, bounds=(0, 9)),
        partial(p["text"].mode, keys=["a", "b"]),
    ]  # fmt: skip
    start, seen = threading.Barrier(8), []

    def spend(first: int) -> int:
        start.wait()
        granted = 0
        for turn in range(20):
            with contextlib.suppress(dp.BudgetExceeded):
                asks[(first + turn) % len(asks)](epsilon=Fraction(1, 64), fresh=True)
                granted += 1
            seen.append(session.spent)
        return granted

    with ThreadPoolExecutor(8) as pool:
        granted = list(pool.map(spend, range(8)))
    assert sum(granted) == 64
    assert max(seen) == session.spent == 1
    entries = session.ledger._entries()
    assert [e.number for e in entries] == list(range(1, 65))
    assert {e.status for e in entries} == {"released"}
    assert sum(e.epsilon for e in entries) == 1


# --- F: sizes and keys that were seen are never public --------------------------------------------


def _person(name: Any, rows: int, **cells: Any) -> list[dict[str, Any]]:
    usual = {"person": name, "amount": 5.0, "kind": "a", "day": pd.Timestamp(2020, 1, 1)}
    return [{**usual, **cells}] * rows


def _table(*people: list[dict[str, Any]]) -> pd.DataFrame:
    rows = [row for each in people for row in each]
    return pd.DataFrame(rows, columns=["person", "amount", "kind", "day"])


BASE = [_person(f"p{i}", 1 + i % 3, kind="ab"[i % 2]) for i in range(8)]
#: One person beside others: tables differ in how many there are, what they are, what is seen.
ONE_MORE: dict[str, list[dict[str, Any]]] = {
    "a person more": _person("x", 2), "a person of far too many rows": _person("x", 3000),
    "the only one of a key": _person("x", 1, kind="c"),
    "one of a key that nobody declared": _person("x", 1, kind="z"),
    "one without any values": _person("x", 2, amount=None, kind=None, day=pd.NaT),
    "one who is missing": _person(None, 5), "an outlier": _person("x", 1, amount=-1e300),
    "an infinite one": _person("x", 1, amount=float("inf")),
    "text among numbers": _person("x", 1, amount="many"),
    "a list among texts": _person("x", 1, kind=["a"]), "a number among names": _person(7, 1),
}  # fmt: skip
PAIRS: dict[str, tuple[pd.DataFrame, pd.DataFrame]] = {
    "the only person": (_table(), _table(_person("x", 1))),
    "the only person, of many rows": (_table(), _table(_person("x", 500))),
    **{name: (_table(*BASE), _table(*BASE, one)) for name, one in ONE_MORE.items()},
}
KINDS = ["a", "b", "c"]
TOLD: dict[str, Callable[[Any], Any]] = {
    "mean": lambda p: p["amount"].mean(bounds=(0, 10)),
    "sum": lambda p: p["amount"].sum(bounds=(0, 10)),
    "group mean": lambda p: p.groupby("kind", keys=KINDS)["amount"].mean(bounds=(0, 10)),
    "group means": lambda p: p.groupby("kind", keys=KINDS)[["amount", "day"]].mean(bounds=(0, 1)),
    "group size": lambda p: p.groupby("kind", keys=KINDS).size(),
    "clipped": lambda p: p["amount"].clipping_shares(bounds=(0, 10)),
    "truncated": lambda p: p.truncation_shares(),
    "truncated of a query": lambda p: p.query("amount > 1").truncation_shares(counted=5),
    "nunique": lambda p: p["person"].nunique(),
    "group nunique": lambda p: p.groupby("kind", keys=KINDS)["person"].nunique(),
    "mean of each": lambda p: p.per_unit().agg(x=("amount", "sum"))["x"].mean(bounds=(0, 10)),
    "kinds of each": lambda p: p.per_unit().agg(x=("kind", "nunique"))["x"].value_counts(
        keys=[1, 2], sort=False),
}  # fmt: skip


def _facts(result: Any) -> tuple[Any, ...]:
    """All that a result shows."""
    record = dp.record(result)
    widths = [str(each) for each in np.ravel(record.errors())]  # NaN, too, is itself
    numbers = repr(result)
    shape = (type(result).__name__,)
    if isinstance(result, pd.DataFrame):
        shape += (result.index.tolist(), result.columns.tolist(), list(map(str, result.dtypes)))
    elif isinstance(result, pd.Series):
        shape += (result.index.tolist(), str(result.index.dtype), str(result.dtype), result.name)
    facts = (record.scale, record.mechanism, record.epsilon, record.query, record.unit)
    facts += (record.expected, record.error_unit, str(record.noise_dominated))
    return (*shape, *facts, numbers, widths, vars(record).keys(), len(record._noisy))


def _all_told(df: pd.DataFrame, lineage: str) -> tuple[Any, ...]:
    dp.reset()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        kinds = dict.fromkeys(df.columns, "unknown")  # which both have, whatever pandas makes of it
        if lineage == "verified":
            p = dp.protect(df, "visits", unit="person", max_rows=2, kinds=kinds)
        else:
            p = dp.private(df, unit="person", max_rows=2, kinds=kinds)
        asked = [ask(p) for ask in TOLD.values()]
        seen = [repr(p), *map(repr, asked), p._repr_html_(), str(p.describe()), sorted(dir(p))]
        facts = [_facts(each.release(epsilon="0.5")) for each in asked]
    ledger = dp.ledger().to_frame().drop(columns="time").to_dict("records")
    shown = [repr(dp.ledger()), dp.ledger()._repr_html_(), [str(w.message) for w in warned]]
    return seen, facts, ledger, shown


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("lineage", ["asserted", "verified"])
def test_neighbours_are_told_alike(pair: str, lineage: str, alike: None) -> None:
    first, second = (_all_told(df, lineage) for df in PAIRS[pair])
    for some, others in zip(first, second, strict=True):
        assert some == others
    assert first[3][2] == []  # and nobody is warned


# --- G: strict sessions ---------------------------------------------------------------------------


def _asserted_roads(df: pd.DataFrame) -> dict[str, Callable[[], Any]]:
    derived = df[1:]

    def owned() -> Any:
        return dp.private(visits(4), unit="person", max_rows=1)

    def again(frame: pd.DataFrame, rows: int = 1) -> Any:
        return dp.protect(frame, "again", unit="person", max_rows=rows)

    return {
        "df.dp": lambda: df.dp.count(epsilon="0.1"),
        "series.dp": lambda: pd.Series([1.0, 2.0]).dp.mean(bounds=(0, 1), epsilon="0.1"),
        "a column of df.dp": lambda: df.dp["number"].sum(bounds=(0, 1), epsilon="0.1"),
        "groups": lambda: df.dp.groupby("text", keys=["a"]).size(epsilon="0.1"),
        "a derived frame": lambda: derived.dp.count(epsilon="0.1"),
        "dp.private": lambda: dp.private(df).count(epsilon="0.1"),
        "rows": lambda: dp.private(visits(4), unit="row").count(epsilon="0.1"),
        "a unit": lambda: owned().count(epsilon="0.1"),
        "per_unit": lambda: owned().per_unit().agg(n="size").size(epsilon="0.1"),
        "nunique": lambda: owned()["person"].nunique(epsilon="0.1"),
        "truncated": lambda: df.dp.truncation_shares(epsilon="0.1"),
        "a selection": lambda: df.dp["text"].mode(keys=["a", "b"], epsilon="0.1"),
        "nlargest": lambda: df.dp["text"].value_counts(keys=["a", "b"]).nlargest(1, epsilon="0.1"),
        "concat": lambda: dp.concat([df.dp] * 1).count(epsilon="0.1"),
        "protected again": lambda: again(derived, 2).count(epsilon="0.1"),
        "a column changed": lambda: again(df.assign(number=0)).count(epsilon="0.1"),
        "per_unit of again": lambda: again(derived).per_unit().agg(n="size").count(epsilon="0.1"),
    }


@pytest.mark.parametrize("road", list(_asserted_roads(visits(4))))
def test_a_strict_session_refuses_every_asserted_road(road: str) -> None:
    session = dp.session(epsilon=1, strict=True)
    df = visits(8)
    private = dp.protect(df, "visits", unit="person", max_rows=2)
    refusal(lambda: _asserted_roads(df)[road](), "strict", LineageError)
    assert session.ledger._entries() == []
    private.count(epsilon=1)


def test_a_strict_session_answers_what_is_verified_and_says_so() -> None:
    session = dp.session(epsilon=2, strict=True)
    p = dp.protect(visits(8), "visits", unit="person", max_rows=2)
    again = dp.protect(visits(8), "again", unit="person", max_rows=1)  # the same data: no pandas
    again.count(epsilon="0.1")
    p.query("number > 1").assign(x="number * 2")["x"].mean(bounds=(0, 1), epsilon="0.1")
    p.per_unit().agg(n="size")["n"].sum(bounds=(0, 5), epsilon="0.1")
    p["person"].nunique(epsilon="0.1")
    p.merge(pd.DataFrame({"text": ["a"], "y": [1]}), on="text").count(epsilon="0.1")
    dp.concat([p, p.explode("text", max_items=2)]).sample(frac=0.5).count(epsilon="0.1")
    p["text"].mode(keys=["a", "b"], epsilon="0.1")
    p.truncation_shares(epsilon="0.1")
    table = session.ledger.to_frame()
    assert table["lineage"].tolist() == ["verified"] * 8
    assert table["source"].tolist() == ["again", *["visits"] * 7]
    assert "asserted" not in repr(session) + session._repr_html_()


def test_the_ledger_tells_asserted_from_verified() -> None:
    df = visits(8)
    p = dp.protect(df, "visits", unit="person", max_rows=2)
    answers = [p.count(epsilon=1), df.dp.count(epsilon=1)]
    answers += [dp.protect(df[:2], "derived", unit="person", max_rows=1).count(epsilon=1)]
    lineages = ["verified", "asserted", "asserted"]
    assert dp.ledger().to_frame()["lineage"].tolist() == lineages
    assert [dp.record(answer).lineage for answer in answers] == lineages


def test_strictness_is_set_once_and_outlives_nothing() -> None:
    df = visits(8)
    dp.protect(df, "visits", unit="person", max_rows=1)
    refusal(lambda: dp.session(epsilon=1, strict=True), "strict=False is running", SessionError)
    session = anew(epsilon=1, strict=True)
    assert dp.session() is dp.session(epsilon=1) is session
    refusal(lambda: dp.session(epsilon=1, strict=False), "strict=True is running", SessionError)
    dp.session(epsilon=1)  # after a refusal nothing is released before
    # a token of the session before tells that pandas was at work since
    with pytest.raises(LineageError, match="strict"):
        dp.protect(df[:2], "visits", unit="person", max_rows=1).count(epsilon=1)
    assert session.spent == 0


# --- H: plain values that would look at what they are compared with -----------------------------


class SpyText(str):
    seen: list[Any] = []  # noqa: RUF012

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        self.seen.append(other)
        return False


class SpyNumber(float):
    def __hash__(self) -> int:
        return hash(17017.25)

    def __eq__(self, other: object) -> bool:
        SpyText.seen.append(other)
        return False


class SpyWhole(int):
    __hash__, __eq__ = SpyNumber.__hash__, SpyNumber.__eq__  # type: ignore[assignment]


class SpyObject:
    __hash__, __eq__ = SpyNumber.__hash__, SpyNumber.__eq__  # type: ignore[assignment]


ROADS_OF_VALUES: dict[str, Callable[[Any, Any], Any]] = {
    "keys": lambda p, v: p["s"].value_counts(keys=[v, "b"]),
    "keys of several": lambda p, v: p[["s", "x"]].value_counts(keys={"s": [v], "x": [1]}),
    "tuples": lambda p, v: p[["s", "x"]].value_counts(keys=[(v, 1), ("b", v)]),
    "groups": lambda p, v: p.groupby("s", keys=[v]).size(),
    "mode": lambda p, v: p["s"].mode(keys=[v, "b"]),
    "isin": lambda p, v: p[p["s"].isin([v])].count(),
    "==": lambda p, v: p[p["s"] == v].count(),
    "where": lambda p, v: p["s"].where(p["s"] != v, v).value_counts(keys=["a"]),
    "fillna": lambda p, v: p["s"].fillna(v).value_counts(keys=["a", v]),
    "map": lambda p, v: p["s"].map({v: "z"}).value_counts(),
    "map to": lambda p, v: p["s"].map({"a": v}).value_counts(),
    "replace": lambda p, v: p["s"].replace({v: "z"}).value_counts(keys=["z"]),
    "query": lambda p, v: p.query("s == @v or x == @v").count(),
    "merge": lambda p, v: p.merge(
        pd.DataFrame({"s": pd.Series([v, "q"], dtype=object), "t": [1, 2]}), on="s"
    ).count(),
    "explode": lambda p, v: p.explode("l", max_items=2)["l"].value_counts(keys=[v]),
    "domain": lambda p, v: dp.protect(
        pd.DataFrame({"s": ["a", "b"], "x": [1.0, 17017.25]}), name="other", domain={"s": [v, "a"]}
    )["s"].value_counts(),
}


@pytest.mark.parametrize("road", ROADS_OF_VALUES)
@pytest.mark.parametrize("value", [SpyText("z"), SpyNumber(5), SpyWhole(5), SpyObject()])
def test_a_plain_value_is_never_shown_what_it_is_compared_with(road: str, value: Any) -> None:
    df = pd.DataFrame({"s": ["a", "b", None], "x": [1.0, 17017.25, 5], "l": [["a"], ["z"], []]})
    for each in (df, df.assign(s=pd.Series(["a", 17017.25, "CANARY"], dtype=object))):
        anew(epsilon=9, strict=True)
        private = dp.protect(each.copy(), name="people")
        SpyText.seen.clear()
        with contextlib.suppress(dp.DPError):
            ROADS_OF_VALUES[road](private, value).release(epsilon=1)
        assert not [x for x in SpyText.seen if x in ("a", "b", "CANARY", 17017.25, 1.0)]


@pytest.mark.parametrize(
    "epsilon", ["1e-3999999", "1e3999999", "-1e3999999", decimal.Decimal("1e-3999999")]
)
def test_a_number_too_large_to_work_with_is_never_made(epsilon: Any) -> None:
    private = pd.DataFrame({"x": [1.0, 2.0]}).dp
    assert peak(lambda: refusal(lambda: private.count(epsilon=epsilon))) < 10**6  # bytes


@pytest.mark.parametrize("listed", [range(10**6), {"x": range(300), "y": range(300)}], ids=type)
def test_a_list_too_long_to_work_with_is_never_made(listed: Any, monkeypatch: Any) -> None:
    assert keys.MOST_KEYS == 10**6
    monkeypatch.setattr(keys, "MOST_KEYS", 1000)
    private = pd.DataFrame({"x": [1.0, 2.0], "y": [1, 2]}).dp
    private = private["x"] if isinstance(listed, range) else private[["x", "y"]]
    asked = partial(private.value_counts, keys=listed)
    assert peak(lambda: refusal(asked, "more than 1,000")) < 10**6  # bytes


#: What shows rows where the first question can't be asked, for want of a module.
BROKEN = """
import sys, traceback
import pandas as pd
import dppandas

sys.modules["dppandas.frames.protect"] = None

def ask():
    return pd.DataFrame({"x": ["CANARY"]}).dp

try:
    ask()
except ImportError as error:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    assert len(frames) > 3
    assert "CANARY" not in repr([frame.f_locals for frame in frames[1:]])
else:
    raise AssertionError
"""


def test_a_first_import_that_fails_shows_no_rows() -> None:
    subprocess.run([sys.executable, "-c", BROKEN], check=True)
