"""Writes docs/pandas.md: what became of every public name of pandas.

``python docs/pandas_table.py`` makes it anew from pandas' own dir(), from our classes, whose
docstrings state a *Guarantee* where they release, and from the reasons in columns/refusals.py.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.typing import DataFrameGroupBy, SeriesGroupBy

import dppandas as dp
from dppandas.columns import refusals

PAGE = Path(__file__).parent / "pandas.md"
#: How many of 1,762 public scripts and notebooks, the best liked of a site of competitions, use a
#: method of frames: counted by github.com/adgirish/kaggleScape in 2018, matching names in texts.
USED = Path(__file__).parent / "pandas_names.csv"
ANSWERED, ROW_WISE, RELEASED, REFUSED = "answered", "row-wise", "released", "refused"
UNKNOWN = "refused in general words"

INTRO = """\
# Every name of pandas

This page says which public names of pandas' frames, columns, groups, `.str` and `.dt` work here.
*Answered* names ask a question about all rows, and release its answer for a loss. *Row-wise* names
make other private rows, [row by row](verbs.md). *Released* names work on a released answer, which
is plain pandas. The rest is *refused*, each with a reason and the nearest thing that works.
(`python docs/pandas_table.py` writes this page from pandas' own `dir` and from our code.)
"""
#: How the lines begin that list names with their status; the page is read by them too.
_LISTED = {ANSWERED: "**Answered**", ROW_WISE: "**Row-wise**"}


@dataclass(frozen=True)
class Face:
    """A class of pandas, and ours that stands for it."""

    title: str
    theirs: Any
    ours: object
    known: refusals.Refusals

    def names(self) -> set[str]:
        """The public names of pandas' class, but for deprecated ones and our own accessor."""
        return {name for name in dir(self.theirs) if self._counts(name)}

    def _counts(self, name: str) -> bool:
        if name.startswith("_") or name == "dp":
            return False
        said = inspect.getdoc(inspect.getattr_static(self.theirs, name, None)) or ""
        return not re.search(r"^\.\. deprecated::", said, re.MULTILINE)

    def status(self, name: str) -> tuple[str, str, str]:
        """What became of a name: in a word, why, and what to do instead."""
        if self._offers(name):
            said = inspect.getdoc(inspect.getattr_static(type(self.ours), name, None)) or ""
            return ANSWERED if "*Guarantee*" in said else ROW_WISE, "", ""
        found = self.known.get(name)
        if found is None:
            return UNKNOWN, "", ""
        status = RELEASED if found == refusals.OF_RESULTS.get(name) else REFUSED
        return status, found.why, found.instead or found.beforehand

    def _offers(self, name: str) -> bool:
        return name in dir(self.ours)


ROWS = dp.private(pd.DataFrame({"_": [0]}), unit="row")
GROUPS = ROWS.groupby("_", keys=[0])
ALSO = refusals.BY_GROUP
FACES = (
    Face("DataFrame", pd.DataFrame, ROWS, refusals.VERBS),
    Face("Series", pd.Series, ROWS["_"], refusals.VERBS),
    Face("DataFrameGroupBy", DataFrameGroupBy, GROUPS, refusals.VERBS | ALSO),
    Face("SeriesGroupBy", SeriesGroupBy, GROUPS["_"], refusals.VERBS | ALSO),
    Face("Series.str", pd.Series.str, ROWS["_"].str, refusals.TEXTS),
    Face("Series.dt", pd.Series.dt, ROWS["_"].dt, refusals.TIMES),
)

#: Names of pandas 2.2 that pandas 3.1 lacks, or calls deprecated.
OLDER = {
    "Series": "values", "DataFrameGroupBy": "corrwith dtypes grouper nth",
    "SeriesGroupBy": "grouper nth", "Series.dt": "dayofweek dayofyear daysinmonth freq weekday",
}  # fmt: skip


def all_names() -> dict[str, set[str]]:
    """The names of each class, of the pandas that is installed and of the oldest one."""
    return {face.title: face.names() | set(OLDER.get(face.title, "").split()) for face in FACES}


def page(names: dict[str, set[str]]) -> str:
    """The text of the page for these names."""
    rows = {f.title: {name: f.status(name) for name in sorted(names[f.title])} for f in FACES}
    return "\n".join([INTRO, *_counts(rows), _used(names), *map(_section, rows, rows.values())])


def used(names: dict[str, set[str]]) -> tuple[float, float, float]:
    """Of the names that public scripts use, and that frames or columns still have: the share that
    is answered or row-wise, the same by uses, and by uses with those of released answers."""
    table = pd.read_csv(USED, index_col="name")["scripts"]
    table = table[[name in names["DataFrame"] | names["Series"] for name in table.index]]
    found = {name: {face.status(name)[0] for face in FACES[:2]} for name in table.index}
    good = pd.Series({name: bool(each & {ANSWERED, ROW_WISE}) for name, each in found.items()})
    also = good | pd.Series({name: RELEASED in each for name, each in found.items()})
    return good.mean(), table[good].sum() / table.sum(), table[also].sum() / table.sum()


def _used(names: dict[str, set[str]]) -> str:
    distinct, uses, also = (f"{100 * share:.0f} %" for share in used(names))
    return (
        "In 1,762 public scripts and notebooks, counted in 2018 "
        "([names and counts](pandas_names.csv)),\n"
        f"{uses} of the uses of frames' methods are of names that are answered or row-wise here, "
        f"and {also} with\nthose that a released answer has; by distinct names it is {distinct}.\n"
    )


Row = tuple[str, str, str]


def _counts(rows: dict[str, dict[str, Row]]) -> Iterable[str]:
    statuses = (ANSWERED, ROW_WISE, RELEASED, REFUSED)
    yield f"| | names | {' | '.join(statuses)} |"
    yield "|---|" + "---:|" * (len(statuses) + 1)
    every: Counter[str] = Counter()
    for title, of in rows.items():
        found = Counter(status for status, *_ in of.values())
        every += found
        yield _counted(f"`{title}`", found)
    yield _counted("all", every) + "\n"


def _counted(title: str, found: Counter[str]) -> str:
    each = (found[status] for status in (ANSWERED, ROW_WISE, RELEASED, REFUSED))
    return f"| {title} | {found.total()} | {' | '.join(map(str, each))} |"


def _section(title: str, rows: dict[str, Row]) -> str:
    lines = [f"## {title}\n"]
    for status, said in _LISTED.items():
        names = [name for name, (each, *_) in rows.items() if each == status]
        if names:
            lines.append(f"{said}: {_named(names)}.\n")
    lines += ["| name | | why | instead |", "|---|---|---|---|"]
    rest = [(row, name) for name, row in rows.items() if row[0] not in _LISTED]
    order = sorted(rest, key=lambda each: (each[0][0], each[0][1:], each[1]))
    for (status, why, instead), same in groupby(order, key=lambda each: each[0]):
        cells = _named([name for _, name in same]), status, _cell(why), _cell(instead)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _named(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("[", "\\[")


def named_on(text: str) -> dict[str, set[str]]:
    """The names that a page lists, by the class of pandas."""
    sections = text.split("\n## ")[1:]
    return {part.split("\n", 1)[0].strip(): set(_read(part)) for part in sections}


def _read(section: str) -> Iterable[str]:
    for line in section.splitlines():
        if line.startswith("| `"):
            line = line.split(" | ")[0]
        elif not line.startswith("**"):
            continue
        yield from re.findall(r"`(\w+)`", line)


if __name__ == "__main__":
    PAGE.write_text(page(all_names()), encoding="utf-8")
