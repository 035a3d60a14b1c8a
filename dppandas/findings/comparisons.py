"""Which of two released numbers is larger, as far as noise and sample let one tell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ..errors import QueryError, hide_internals
from ..release.accuracy.expected import CONFIDENCE, parse_confidence
from ..release.answers.populations import POPULATION, ROWS, parse_how
from ..statistics.samples import Estimate, How
from .answers import Derived, DerivedFrame, DerivedSeries
from .derive import compared

#: What is said where an interval includes 0.
ALIKE = "can't be told apart"


class Comparison(pd.DataFrame):  # type: ignore[misc,unused-ignore]
    """How much numbers differ: a DataFrame that `dppandas.plot` draws. What pandas computes from it
    is a plain DataFrame."""

    _metadata = ["_difference", "_confidence", "_how"]  # noqa: RUF012  (pandas' own name)

    _difference: Derived
    _confidence: float
    _how: How | None

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame


@hide_internals
def compare(
    a: Any, b: Any = None, *against: Any, confidence: float = CONFIDENCE, of: str | None = None,
    size: int | None = None, method: str | None = None,
) -> Comparison:  # fmt: skip
    """Whether two released numbers differ, and by how much: a row for each pair, with the columns
    first, second, difference, low, high, ratio, ratio_low, ratio_high, about, method and
    conclusion.

    a, b : as for `difference`: two answers, matched by label; or a Series and one of its labels,
        the baseline; or a Series and two labels, of which the second is the baseline.
    confidence : with which the intervals of all differences hold simultaneously, and those of all
        ratios.
    of : "population" asks whether those differ whom the rows are a sample of, and "rows" whether
        the exact numbers on these rows do. By default the first, where the answers say anything of
        a population: see `intervals`.
    size, method : as for `intervals`, about a population. Give no size for arms that were drawn by
        lot from one population: it would make their differences look too certain.

    ``low`` and ``high`` are the ends of the interval of the difference, first less second, and
    ``about`` says of what. ``conclusion`` is which of the two is larger, "on these rows" if it is
    about them alone; or "can't be told apart" if the interval includes 0: then nothing is shown,
    and neither is that they are equal. A difference on the rows may well be chance.
    `dppandas.plot` draws the differences.

    Raises what `difference` and `intervals` raise.

    *Guarantee*: post-processing, as `derive`. Intervals: docs/proofs/derived.md and
    docs/proofs/populations.md.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"arm": ["A", "B"] * 2000, "bought": [False, True, False, False] * 1000})
    >>> p = dp.protect(df, name="two arms", domain={"arm": ["A", "B"]})
    >>> found = dp.compare(p.groupby("arm")["bought"].mean(epsilon=1), "B", "A")
    >>> found.loc["B and A", ["about", "conclusion"]].tolist()
    ['population', 'B is larger']
    >>> low, high = found.loc["B and A", ["low", "high"]]
    >>> 0.4 < low < high < 0.6
    True
    """
    confidence = parse_confidence(confidence)
    difference = compared(lambda x, y: x - y, a, b, against)
    if isinstance(difference, DerivedFrame):
        raise QueryError("dp.compare takes numbers and Series. Compare one column at a time.")
    found, about, how = _intervals(difference, confidence, of, size, method)
    ratio = compared(lambda x, y: x / y, a, b, against)
    of_ratio = ratio._findings.estimates(confidence, how)
    sides = [compared(lambda *both, i=i: both[i], a, b, against) for i in (0, 1)]
    labels, names = _labels(difference, a, b, against)
    first, second = (_along(side, difference) for side in sides)
    table = {
        "first": first, "second": second, "difference": difference._findings.values,
        "low": [low for low, *_ in found], "high": [high for _, high, _ in found],
        "ratio": ratio._findings.values, "ratio_low": [low for low, *_ in of_ratio],
        "ratio_high": [high for _, high, _ in of_ratio], "about": about,
    }  # fmt: skip
    if how is not None:
        table["method"] = [way for *_, way in found]
    ends = zip(found, names, strict=True)
    table["conclusion"] = [_conclusion(low, high, pair, about) for (low, high, _), pair in ends]
    made = Comparison(table, index=labels)
    made._difference, made._confidence, made._how = difference, confidence, how
    return made


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


def _labels(
    difference: Derived, a: Any, b: Any, against: tuple[Any, ...]
) -> tuple[pd.Index, list[tuple[str, str]]]:
    """The labels of rows, and what the two numbers of each are called."""
    if not isinstance(difference, DerivedSeries):
        pair = (str(b), str(against[0])) if against else ("first", "second")
        return pd.Index([" and ".join(pair)]), [pair]
    labels = difference.index
    if isinstance(b, Derived | pd.Series | pd.DataFrame):
        named = getattr(a, "name", None), getattr(b, "name", None)
        is_told = None not in named and named[0] != named[1]
        return labels, [tuple(map(str, named)) if is_told else ("first", "second")] * len(labels)  # type: ignore[list-item]
    return labels, [(str(label), str(b)) for label in labels]


def _along(side: Any, difference: Derived) -> Any:
    if not isinstance(difference, DerivedSeries):
        return [float(side)]
    if not isinstance(side, pd.Series):
        return np.full(len(difference), float(side))
    return pd.Series(side.to_numpy(), side.index).reindex(difference.index).to_numpy()


def _conclusion(low: float, high: float, names: tuple[str, str], about: str) -> str:
    if math.isnan(low) or low <= 0 <= high:
        return "" if math.isnan(low) else ALIKE
    larger = f"{names[0] if low > 0 else names[1]} is larger"
    return larger if about == POPULATION else f"{larger} on these rows"
