"""Which of two released numbers is larger, as far as noise and sample let one tell."""

from __future__ import annotations

import contextlib
import itertools
import math
from typing import Any

import numpy as np
import pandas as pd

from ..errors import QueryError, hide_internals
from ..release.accuracy.expected import CONFIDENCE, parse_confidence
from ..release.answers.populations import POPULATION, ROWS, parse_how
from ..rows import html_tables
from ..rows.figures import within
from ..rows.html_tables import ERROR, LABEL, NUMBER, Column, Table
from ..rows.sentences import in_lines
from ..statistics.samples import FEW, Estimate, How
from .answers import Derived, DerivedFrame, DerivedSeries, Findings, made_of
from .derive import is_answer, quantities_in, sides

#: What is said where an interval includes 0.
ALIKE = "can't be told apart"
#: What is shown of a comparison, each with its interval.
INTERVALS = {
    "difference": ("difference", "low", "high"), "ratio": ("ratio", "ratio_low", "ratio_high"),
}  # fmt: skip
SHOWN = {"conclusion", *itertools.chain(*INTERVALS.values())}
#: The most pairs of labels that are compared at once.
MOST = 300


class Comparison(pd.DataFrame):  # type: ignore[misc,unused-ignore]
    """How much numbers differ: a DataFrame that `dppandas.plot` draws. It is shown in short, by the
    difference and the ratio with their intervals; ``.T`` has all columns. What pandas computes from
    it is a plain DataFrame."""

    _metadata = ["_difference", "_confidence", "_how", "_said"]  # noqa: RUF012  (pandas' own name)

    _difference: Derived
    _confidence: float
    _how: How | None
    _said: str  # what is subtracted from what

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def __repr__(self) -> str:
        if not self._is_whole:
            return super().__repr__()
        return f"{self._short.to_string()}\n{in_lines(self._foot)}"

    def _repr_html_(self) -> str | None:
        if not self._is_whole:
            return super()._repr_html_()  # type: ignore[misc, no-any-return]
        columns = [Column("", LABEL)]
        columns += [Column(*of) for name in INTERVALS for of in ((name, NUMBER), ("", ERROR))]
        rows = [
            [str(label), *(part for each in said for part in (each.value, each.beside)), told]
            for label, *said, told in self._told
        ]
        table = Table([*columns, Column("conclusion", wraps=True)], rows).html()
        return html_tables.card("comparison", table, html_tables.foot(self._foot))

    @property
    def _is_whole(self) -> bool:
        return hasattr(self, "_difference") and {*self.columns} >= SHOWN

    @property
    def _told(self) -> list[tuple[Any, ...]]:
        """Of each pair its label, the difference and the ratio with their intervals, and what
        follows."""
        each = (map(within, *(self[of] for of in columns)) for columns in INTERVALS.values())
        return list(zip(self.index, *each, self["conclusion"], strict=True))

    @property
    def _short(self) -> pd.DataFrame:
        told = [[*map(str, said)] for _, *said in self._told]
        return pd.DataFrame(told, columns=[*INTERVALS, "conclusion"], index=self.index)

    @property
    def _foot(self) -> str:
        many = f", all {len(self)} hold simultaneously" if len(self) > 1 else ""
        about = "on these rows"
        if self._how is not None:
            ways = " or ".join(dict.fromkeys(self["method"]))
            about = f"for the population ({ways})"
        said = f"{100 * self._confidence:.10g} % intervals {about}{many}"
        return f"{self._said} {said}; .T shows all columns."


@hide_internals
def compare(
    a: Any, b: Any = None, *against: Any, confidence: float = CONFIDENCE, of: str | None = None,
    size: int | None = None, method: str | None = None,
) -> Comparison:  # fmt: skip
    """Whether two released numbers differ, and by how much: a row for each pair, with the columns
    first, second, difference, low, high, ratio, ratio_low, ratio_high, about, method and
    conclusion.

    a, b : as for `difference`: two answers, matched by label; or a Series and one of its labels,
        the baseline; or a Series and two labels, of which the second is the baseline. Or a Series
        alone: each label with each one after it.
    confidence : with which the intervals of all differences hold simultaneously, and those of all
        ratios.
    of : "population" asks whether those differ whom the rows are a sample of, and "rows" whether
        the exact numbers on these rows do. By default the first, where the answers say anything of
        a population: see `intervals`.
    size, method : as for `intervals`, about a population. A size makes no difference narrower: what
        one group has of a population another one lacks.

    ``low`` and ``high`` are the ends of the interval of the difference, first less second, and
    ``about`` says of what. ``conclusion`` is which of the two is larger, "on these rows" if it is
    about them alone, with a word where rows are too few for t; or "can't be told apart" if the
    interval includes 0: then nothing is shown, and neither is that they are equal. A difference on
    the rows may well be chance. `dppandas.plot` draws the differences.

    Raises what `difference` and `intervals` raise.

    *Guarantee*: post-processing, as `derive`. Intervals: docs/proofs/derived.md and
    docs/proofs/populations.md.

    >>> import pandas as pd, dppandas as dp
    >>> bought = [True, True, False, True, False, True, False, False]
    >>> df = pd.DataFrame({"arm": ["A", "B"] * 2000, "bought": bought * 500})
    >>> p = dp.protect(df, name="two arms", domain={"arm": ["A", "B"]})
    >>> found = dp.compare(p.groupby("arm")["bought"].mean(epsilon=1), "B", "A")
    >>> found.loc["B and A", ["about", "conclusion"]].tolist()
    ['population', 'B is larger']
    >>> low, high = found.loc["B and A", ["low", "high"]]
    >>> 0.4 < low < high < 0.6
    True
    """
    confidence = parse_confidence(confidence)
    first, second, names = _pairs(a, b, against)
    difference, ratio = made_of(first - second), made_of(first / second)
    if isinstance(difference, DerivedFrame):
        raise QueryError("dp.compare takes numbers and Series. Compare one column at a time.")
    found, about, how = _intervals(difference, confidence, of, size, method)
    of_ratio = ratio._findings.estimates(confidence, how)
    labels = pd.Index([f"{names[0][0]} and {names[0][1]}"])
    if isinstance(difference, DerivedSeries):
        labels = difference.index
    table = {
        "first": _values(first, difference, how), "second": _values(second, difference, how),
        "difference": difference._findings.values_for(how),
        "low": [low for low, *_ in found], "high": [high for _, high, _ in found],
        "ratio": ratio._findings.values_for(how), "ratio_low": [low for low, *_ in of_ratio],
        "ratio_high": [high for _, high, _ in of_ratio], "about": about,
    }  # fmt: skip
    if how is not None:
        table["method"] = [way for *_, way in found]
    each = zip(found, names, _chances(ratio, confidence, of, about), strict=True)
    table["conclusion"] = [_conclusion(*one, about) for one in each]
    made = Comparison(table, index=labels)
    made._difference, made._confidence, made._how = difference, confidence, how
    made._said = said_of(names)
    return made


def _pairs(a: Any, b: Any, against: tuple[Any, ...]) -> tuple[Any, Any, list[tuple[str, str]]]:
    """What is compared with what, and what the two numbers of each pair are called."""
    values = quantities_in(a) if b is None and not against else None
    if isinstance(values, pd.Series) and None not in values.index:
        return _all_pairs(values)
    first, second = sides(a, b, against)
    if against:
        return first, second, [(str(b), str(against[0]))]
    if not isinstance(first, pd.Series) and not isinstance(second, pd.Series):
        return first, second, [("first", "second")]
    if not is_answer(b):
        return first, second, [(str(label), str(b)) for label in first.index]
    named = getattr(a, "name", None), getattr(b, "name", None)
    is_told = None not in named and named[0] != named[1]
    pair = (str(named[0]), str(named[1])) if is_told else ("first", "second")
    if isinstance(first, pd.Series) and isinstance(second, pd.Series):
        first, second = first.align(second)
    return first, second, [pair] * max(np.size(first), np.size(second))


def _all_pairs(values: pd.Series[Any]) -> tuple[Any, Any, list[tuple[str, str]]]:
    pairs = list(itertools.combinations(range(len(values)), 2))
    if not 1 <= len(pairs) <= MOST:
        raise QueryError(
            f"dp.compare takes at most {MOST} pairs, and {len(values)} labels have {len(pairs)}. "
            "Select some, or name a baseline: dp.compare(rates, label)."
        )
    labels = [str(label) for label in values.index]
    names = [(labels[i], labels[j]) for i, j in pairs]
    index = pd.Index([" and ".join(pair) for pair in names])
    first, second = (
        pd.Series([values.iloc[pair[side]] for pair in pairs], index=index, name=values.name)
        for side in (0, 1)
    )
    return first, second, names


def said_of(names: list[tuple[str, str]]) -> str:
    """What is subtracted from what, in words."""
    ones, others = ({pair[side] for pair in names} for side in (0, 1))
    if len(others) > 1 or (ones | others) == {"first", "second"}:
        return "The first less the second."
    return f"{ones.pop() if len(ones) == 1 else 'Each'} less {others.pop()}."


def _intervals(
    difference: Derived, confidence: float, of: str | None, size: int | None, method: str | None
) -> tuple[list[Estimate], str, How | None]:
    """Of the population where that is asked for, or where nothing is and it can be told."""
    found = difference._findings
    if of is not None or size is not None or method is not None:
        how = parse_how(POPULATION if of is None else of, size, method)
        return found.estimates(confidence, how), ROWS if how is None else POPULATION, how
    try:
        return found.estimates(confidence, How()), POPULATION, How()
    except QueryError:
        return found.estimates(confidence, None), ROWS, None


def _chances(ratio: Derived, confidence: float, of: str | None, about: str) -> list[bool]:
    """Which differences on the rows may be chance, where the ratio tells more of a population than
    the difference, as for counts."""
    if of is None and about == ROWS:
        with contextlib.suppress(QueryError):
            found = ratio._findings.estimates(confidence, How())
            return [low <= 1 <= high for low, high, _ in found]
    return [False] * len(ratio._findings.numbers)


def _values(side: Any, difference: Derived, how: How | None) -> Any:
    """The numbers of one side, in the order of the differences."""
    of = Findings(tuple(side) if isinstance(side, pd.Series) else (side,))
    found = of.values_for(how)
    many = isinstance(difference, DerivedSeries) and not isinstance(side, pd.Series)
    return found * len(difference) if many else found  # type: ignore[arg-type]


def _conclusion(found: Estimate, names: tuple[str, str], may_be_chance: bool, about: str) -> str:
    low, high, way = found
    if math.isnan(low) or low <= 0 <= high:
        return "" if math.isnan(low) else ALIKE
    larger = f"{names[0] if low > 0 else names[1]} is larger"
    if about == ROWS:
        return f"{larger} on these rows{', which may be chance' if may_be_chance else ''}"
    return f"{larger} (too few rows to be sure)" if way.endswith(FEW) else larger
