"""Student's and Welch's tests of means."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, ClassVar, NoReturn, Unpack

import pandas as pd

from ..dataclasses import dataclass
from ..errors import QueryError, hide_internals
from ..findings.derive import check_label, is_answer, quantities_in, sides
from ..findings.populations import Populations
from ..findings.quantities import Quantity
from ..privacy.accounting.losses import ReleaseOptions, with_options_named
from ..privacy.accuracy.nearly_normal import NearlyNormal
from ..rows.figures import format_exactly
from ..statistics.samples import ADDED_IN_TESTS, AT_RISK, How, Moments, SampleMean, SampleShare
from .inputs import (
    Foreseen,
    answer_of,
    both_of,
    is_private,
    number_of,
    one_of,
    previewed,
    records_of,
    ways_of,
)
from .results import (
    SignificanceResult,
    error_with_noise,
    one_of_several,
    parse_alternative,
    releases,
)

#: How a test looks at means: half a deviation of the noise is added to a variance.
TESTS = How(is_alone=False, added=ADDED_IN_TESTS)
#: With fewer rows, times their variance in terms of the bounds, skewed values are found too often.
FEW = 10


@dataclass(frozen=True)
class Around:
    """The interval of a number whose error has a law, towards the alternative."""

    value: float
    error: NearlyNormal
    alternative: str
    span: tuple[float, float] = (-math.inf, math.inf)  # what it can be, by its bounds
    part: float = 1.0  # of a risk that it may have: less at one look of several

    def __call__(self, confidence: float) -> tuple[float, float]:
        risk, (least, most) = (1 - confidence) * self.part, self.span
        if self.alternative == "two-sided":
            wide = self.error.half_width(risk)
            return max(self.value - wide, least), min(self.value + wide, most)
        wide = self.error.half_width(2 * risk) if risk < 0.5 else 0.0
        if self.alternative == "greater":
            return max(self.value - wide, least), math.inf
        return -math.inf, min(self.value + wide, most)


@dataclass(frozen=True, repr=False, eq=False)
class TtestResult(SignificanceResult):
    """The result of a t-test: `SignificanceResult` with the degrees of freedom ``df``, the number
    that was tested, ``estimate``, and its ``standard_error``, which counts noise and sample."""

    df: float = math.nan
    estimate: float = math.nan
    standard_error: float = math.nan

    _beside: ClassVar[tuple[str, ...]] = ("df",)


@with_options_named
@hide_internals
@previewed(TtestResult)
def ttest_1samp(
    a: Any, popmean: float, *, alternative: str = "two-sided", epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> TtestResult:  # fmt: skip
    """Student's t-test of whether the mean of a population is a given number.

    a : a released mean, best with ``inference=True``, which releases the variance, too; a share; or
        what was derived from such numbers, as by `dppandas.difference`; a Series of one number will
        do. Or a private column and ``epsilon=``: its ``mean(inference=True)`` is released first.
    popmean : the mean under the null hypothesis.
    alternative : "two-sided", "less" or "greater".

    Null hypothesis: values are drawn at random and independently, one from each unit, and the mean
    of what they are after clipping to the bounds is ``popmean``. The statistic is t with a variance
    of sample and noise, to which half a deviation of the noise of the sample's own variance is
    added. Differences of numbers that may be about the same units have the largest variance that
    their correlation allows, as before and after do: for more power compute the difference within
    each row, and take the mean of that.

    Approximate, as Student's test is: at α = .05 measured sizes are .04 to .05 from 100 rows on
    (docs/inference.md). Rows that are too few are told in ``notes``.

    Raises `QueryError` for rows of units with several, and for answers that aren't means; and
    `RecordError` for numbers without a record.

    *Guarantee*: of answers post-processing; of a private column that of its mean
    (docs/proofs/significance.md).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"hours": [6.0, 7.0, 8.0, 9.0] * 1000})
    >>> p = dp.protect(df, name="nights", domain={"hours": (0, 24)})
    >>> hours = p["hours"].mean(epsilon=1, inference=True)
    >>> dp.stats.ttest_1samp(hours, 8).pvalue < 0.001
    True
    """
    alternative = parse_alternative(alternative)
    popmean = number_of(popmean, "popmean")
    answer = answer_of(a, "ttest_1samp", ways_of(epsilon, more), _mean, OneNumber("ttest_1samp"))
    number = one_of(answer, "ttest_1samp")
    null = f"the mean of the population, clipped to the bounds, is {format_exactly(popmean)}"
    return _tested("ttest_1samp", number, popmean, alternative, null, "the mean")


@with_options_named
@hide_internals
@previewed(TtestResult)
def ttest_ind(
    a: Any, b: Any = None, *labels: Hashable, equal_var: bool = False,
    alternative: str = "two-sided", epsilon: object = None, **more: Unpack[ReleaseOptions],
) -> TtestResult:  # fmt: skip
    """Welch's t-test of whether two populations have the same mean.

    a, b : two released means, best with ``inference=True``; or a Series of means with two of its
        labels, ``ttest_ind(means, "B", "A")``, or with none if it has two. Or private rows and
        ``epsilon=``: ``p.groupby("arm")["x"]`` with two labels, whose ``mean(inference=True)`` is
        released; or two private columns, with half of the loss each.
    equal_var : False: the variances are not taken to be equal. Student's pooled test isn't offered,
        as noise makes errors of groups differ.
    alternative : "two-sided"; or whether the mean of the first is "less" or "greater".

    Null hypothesis: values are drawn at random and independently, one from each unit, and their
    means after clipping to the bounds are equal. The variances count sample and noise, and half a
    deviation of the noise of the sample's own variance; degrees of freedom are Satterthwaite's. Two
    groups of one release have different units. What else is compared may share some: its
    deviations are added up, which holds whatever the correlation is.

    Approximate: at α = .05 measured sizes are .039 to .050 from 100 rows a group on, and the power
    at 1,000 rows and ε = 1 is within .07 of Welch's on the rows (docs/inference.md). ``notes`` say
    where rows are too few.

    Raises `QueryError` for rows of units with several, and for answers that aren't means; and
    `RecordError` for numbers without a record.

    *Guarantee*: of answers post-processing; of private rows that of their means
    (docs/proofs/significance.md).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"arm": ["A", "B"] * 2000, "minutes": [1, 3, 2, 4] * 1000})
    >>> p = dp.protect(df, name="trial", domain={"arm": ["A", "B"], "minutes": (0, 10)})
    >>> means = p.groupby("arm")["minutes"].mean(epsilon=1, inference=True)
    >>> found = dp.stats.ttest_ind(means, "B", "A")
    >>> found.pvalue < 0.001, found.exact
    (True, False)
    """
    alternative = parse_alternative(alternative)
    if equal_var is not False:
        raise QueryError(
            "equal_var= must be False: noise makes the errors of groups differ, so this is Welch's "
            "test, which needs no equal variances."
        )
    first, second = two_of(a, b, labels, "ttest_ind", ways_of(epsilon, more), _mean)
    number = first - second
    null = "both populations have the same mean, of values clipped to the bounds"
    what = "the first less the second"
    if labels:
        what = f"{b} less {labels[0]}"
    return _tested("ttest_ind", number, 0.0, alternative, null, what)


def _mean(private: Any) -> Any:
    return private.mean(inference=True)


@dataclass(frozen=True)
class OneNumber:
    """Refuses a question whose answer isn't one number with a nearly normal error."""

    test: str

    def __call__(self, foreseen: Foreseen) -> None:
        if foreseen.labels is not None and len(foreseen.labels) != 1:
            raise QueryError(
                f"{self.test} is about one number, and this has {len(foreseen.labels)}. Select its "
                "rows first, by p.query(…), or release it and select one."
            )
        _check_moments(foreseen, self.test)


@dataclass(frozen=True)
class TwoLabels:
    """Refuses a question whose answer lacks the labels that are compared."""

    test: str
    labels: tuple[Any, ...]  # those that were given; none if the answer has two
    alone: bool  # whether another column is given beside it

    def __call__(self, foreseen: Foreseen) -> None:
        index = foreseen.labels
        if self.alone:
            return OneNumber(self.test)(foreseen)
        if index is None or len(self.labels) not in (0, 2) or (not self.labels and len(index) != 2):
            raise QueryError(
                f"{self.test} compares two numbers. Give two private columns; or groups and two of "
                f"their labels: {self.test}(p.groupby('arm')['x'], 'B', 'A', epsilon=1)."
            )
        for label in self.labels:
            check_label(label, index)
            if not isinstance(index.get_loc(label), int):
                raise QueryError(
                    f"{label!r} is the label of several groups. Name one: {index[0]!r}."
                )
        refuse_same(self.test, self.labels)
        return _check_moments(foreseen, self.test)


def _check_moments(foreseen: Foreseen, test: str) -> None:
    samples = foreseen.samples
    if not samples or not all(isinstance(each, SampleMean | SampleShare) for each in samples):
        _refuse_other(test)


def refuse_same(test: str, labels: tuple[Any, ...]) -> None:
    if len(labels) == 2 and labels[0] == labels[1]:
        raise QueryError(f"{test} compares two numbers, and both labels are {labels[0]!r}.")


def two_of(
    a: Any, b: Any, labels: tuple[Hashable, ...], test: str, ways: dict[str, Any], ask: Any
) -> tuple[Quantity, Quantity]:
    """The two numbers that are compared."""
    is_label = b is not None and not is_private(b) and not is_answer(b)
    named = (b, *labels) if is_label else labels
    a, b = both_of(a, b, test, ways, ask, TwoLabels(test, named, is_private(b)))
    if b is None and not labels:
        found = quantities_in(a)
        if not isinstance(found, pd.Series) or len(found) != 2:
            raise QueryError(
                f"{test} compares two numbers. Give two answers, or a Series and two of its "
                f"labels: {test}(means, 'B', 'A')."
            )
        one, other = found.tolist()
    else:
        refuse_same(test, named if is_label else ())
        one, other = sides(a, b, labels)
    one, other = (
        each.iloc[0] if isinstance(each, pd.Series) and len(each) == 1 else each
        for each in (one, other)
    )
    if not (isinstance(one, Quantity) and isinstance(other, Quantity)):
        raise QueryError(
            f"{test} compares two numbers. Name two labels: {test}(means, 'B', 'A'); f_oneway "
            "compares several means."
        )
    return one, other


def _tested(
    test: str, number: Quantity, expected: float, alternative: str, null: str, parameter: str
) -> TtestResult:
    found = moments_of(number, test, expected)
    records = records_of([number])
    told: dict[str, Any] = {
        "test": test, "exact": False, "source": releases(records), "alternative": alternative,
        "null": f"{null}; units were drawn at random",
    }  # fmt: skip
    if found is None or not 0 < found.error.variance < math.inf:
        return TtestResult(
            statistic=math.nan, pvalue=1.0, noise="Too few rows, as far as noise tells",
            parameter=parameter, **told,
            _interval=Around(0.0, NearlyNormal(math.inf), alternative, number.span),
        )  # fmt: skip
    error, off = found.error, found.value - expected
    deviation = error.deviation
    return TtestResult(
        statistic=off / deviation, df=error.freedom,
        pvalue=p_value(error, off, alternative, found.part),
        noise=error_with_noise(deviation, math.sqrt(error.sampled)),
        notes=(*_notes(found), *one_of_several(test, number.value, expected, alternative)),
        _interval=Around(found.value, error, alternative, number.span, found.part),
        estimate=number.value, standard_error=deviation, parameter=parameter, **told,
    )  # fmt: skip


def moments_of(number: Quantity, test: str, expected: float) -> Moments | None:
    """The error of a number of which one is expected; None if its rows are too few for one."""
    populations = Populations(AT_RISK, TESTS)
    if not populations.has_moments(number):
        _refuse_other(test)
    return populations.moments(number, expected)


def _refuse_other(test: str) -> NoReturn:
    raise QueryError(
        f"{test} takes means, shares, and sums and differences of them, whose error is nearly "
        "normal. Release means: .mean(inference=True)."
    )


def p_value(error: NearlyNormal, off: float, alternative: str, part: float = 1.0) -> float:
    """How probable it is for an error to be as far off towards the alternative; at one look of
    several, which has so much of the risk, that of all looks."""
    found = error.p_value(abs(off))
    if alternative != "two-sided":
        found = found / 2 if (off > 0) == (alternative == "greater") else 1 - found / 2
    return min(found / part, 1.0)


def _notes(found: Moments) -> list[str]:
    notes = []
    if found.rows < FEW and found.error.noise < found.error.sampled:
        notes.append(
            "Rows are few for bounds as wide as these: if values are skewed, up to 9 % of such "
            "tests find at 5 % what isn't there (docs/inference.md)."
        )
    if found.is_largest:
        notes.append(
            "Their variance wasn't released, so the largest one that the means allow is used, "
            "which hides differences: release means with inference=True."
        )
    return notes
