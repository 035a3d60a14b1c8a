"""Estimates from randomised responses, and how far off they can be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..dataclasses import dataclass
from ..errors import QueryError, hide_internals, is_one_of, quoted
from ..release.accuracy.expected import CONFIDENCE, HELD, parse_confidence
from ..release.answers.intervals import relative_errors
from ..rows.figures import error_digits, written
from . import tails
from .designs import Design, Rate

Floats = npt.NDArray[np.float64]
EXACT, CHEBYSHEV, HOEFFDING = "exact", "chebyshev", "hoeffding"
METHODS = (EXACT, CHEBYSHEV, HOEFFDING)


@dataclass(frozen=True)
class Estimated:
    """The number of yeses to each key among all responses, and what follows from them."""

    design: Design
    respondents: int
    yeses: tuple[int, ...]

    def counts(self) -> Floats:
        """(yeses - n q) / (p - q) for each key: unbiased, so it may be below 0 or above n."""
        n = self.respondents
        pairs = zip(self.yeses, self.design.rates, strict=True)
        return np.array([(yes - n * rate.q) / rate.gain for yes, rate in pairs])

    def shares(self) -> Floats:
        return self.counts() / self.respondents

    def ends(self, confidence: object, method: object) -> tuple[Floats, Floats]:
        """Lower and upper bounds of all counts, which hold simultaneously."""
        risk = (1 - parse_confidence(confidence)) / self.design.events
        if not is_one_of(method, METHODS):
            raise QueryError(
                f"method={quoted(method)} must be one of {', '.join(map(repr, METHODS))}."
            )
        if method == EXACT:
            found = [
                tails.held(self.respondents, yes, rate, risk)
                for yes, rate in zip(self.yeses, self.design.rates, strict=True)
            ]
            both = np.array(found, dtype=np.float64)
            return both[:, 0], both[:, 1]
        n, bound = self.respondents, HALF_WIDTHS[str(method)]
        half = np.array([n * bound(n, rate, risk) for rate in self.design.rates])
        return np.clip(self.counts() - half, 0, n), np.clip(self.counts() + half, 0, n)

    def error(self, confidence: object, method: object, shares: bool) -> Floats:
        """The distance of each estimate from the further end of its interval."""
        low, high = self.ends(confidence, method)
        values = self.counts()
        errors: Floats = np.maximum(values - low, high - values)
        return errors / self.respondents if shares else errors


#: The half-width of a share's interval, by the number of responses, p - q and a risk. A variance is
#: at most 1/4.
HALF_WIDTHS: dict[str, Callable[[int, Rate, float], float]] = {
    CHEBYSHEV: lambda n, rate, risk: math.sqrt(1 / risk) / (2 * rate.gain * math.sqrt(n)),
    HOEFFDING: lambda n, rate, risk: math.sqrt(math.log(2 / risk) / (2 * n)) / rate.gain,
}


def _tidy(values: Any, errors: Any, ends: Any, index: pd.Index, shares: bool) -> pd.DataFrame:
    """The table of `dppandas.intervals`. The noise dominates what may be none."""
    unit = "share" if shares else "respondents"
    may_be_none = pd.array(np.asarray(ends[0]) <= 0, dtype="boolean")
    columns = {
        "value": values, "error": errors, "low": ends[0], "high": ends[1],
        "unit": unit, "noise_dominated": may_be_none, "may_be_empty": may_be_none,
        "relative": relative_errors(values, errors, [unit] * len(values)),
    }  # fmt: skip
    return pd.DataFrame(columns, index=index).astype({"unit": object})


class EstimatedSeries(pd.Series):  # type: ignore[misc,type-arg,unused-ignore]
    """Estimated counts or shares: a Series that knows its error. What pandas computes from it is a
    plain Series."""

    _metadata = ["_estimated", "_shares"]  # noqa: RUF012  (pandas' own name, and copied by it)

    _estimated: Estimated
    _shares: bool

    @property
    def _constructor(self) -> Any:
        return pd.Series

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE, method: str = EXACT) -> pd.DataFrame:
        """Bounds on the true numbers among the respondents, which hold simultaneously with this
        confidence: a DataFrame with a row for each key, and columns lower and upper.

        method : "exact" inverts the distribution of the responses, and holds at least as often as
            it says; "chebyshev" and "hoeffding" use these inequalities, which give wider bounds,
            cut at none and all.

        They cover the randomness of the responses only, not that respondents may be a sample of
        others, or lie. A respondent without an answer among the keys counts with the answer that
        was drawn for them.
        """
        low, high = self._estimated.ends(confidence, method)
        scale = self._estimated.respondents if self._shares else 1
        return pd.DataFrame({"lower": low / scale, "upper": high / scale}, index=self.index)

    @hide_internals
    def error(self, confidence: float = CONFIDENCE, method: str = EXACT) -> pd.Series:
        """How far each number may be from the true one, for all numbers together with this
        confidence: the distance to the further end of `interval`."""
        errors = self._estimated.error(confidence, method, self._shares)
        return pd.Series(errors, index=self.index, name="error")

    def _tidy_intervals(self, confidence: float, how: object = None) -> pd.DataFrame:
        _refuse_population(how)
        ends = self.interval(confidence)
        both = ends["lower"].to_numpy(), ends["upper"].to_numpy()
        errors = self.error(confidence).to_numpy()
        return _tidy(self.to_numpy(), errors, both, self.index, self._shares)


class EstimatedFloat(float):
    """An estimated share: a float that knows its error."""

    _estimated: Estimated

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE, method: str = EXACT) -> tuple[float, float]:
        """Bounds (lower, upper) on the true share of True among the respondents; see
        `EstimatedSeries.interval`."""
        low, high = self._estimated.ends(confidence, method)
        n = self._estimated.respondents
        return float(low[1]) / n, float(high[1]) / n

    @hide_internals
    def error(self, confidence: float = CONFIDENCE, method: str = EXACT) -> float:
        """The distance to the further end of `interval`."""
        return float(self._estimated.error(confidence, method, shares=True)[1])

    def _tidy_intervals(self, confidence: float, how: object = None) -> pd.DataFrame:
        _refuse_population(how)
        low, high = self.interval(confidence)
        one = [float(self)], [self.error(confidence)], ([low], [high])
        return _tidy(*one, pd.Index(["estimate"]), True)

    def __reduce__(self) -> tuple[Any, ...]:
        return mean_of, (self._estimated,)

    def __format__(self, spec: str) -> str:
        digits = error_digits(spec)
        if digits is None:
            return float.__format__(self, spec)
        return str(written(float(self), self.error(), digits=digits))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"{self:±} ({HELD})")


def _refuse_population(how: object) -> None:
    if how is not None:
        raise QueryError(
            "estimates from randomised responses are about the respondents: no interval is known "
            "for a population that they are a sample of."
        )


def table_of(estimated: Estimated, shares: bool, name: object) -> EstimatedSeries:
    """Counts or shares by key, in the order of the keys."""
    values = estimated.shares() if shares else estimated.counts()
    labels = estimated.design.labels.rename(name)
    table = EstimatedSeries(values, index=labels, name="proportion" if shares else "count")
    table._estimated, table._shares = estimated, shares
    return table


def mean_of(estimated: Estimated) -> EstimatedFloat:
    """The share of the second of two keys."""
    mean = EstimatedFloat(estimated.shares()[1])
    mean._estimated = estimated
    return mean
