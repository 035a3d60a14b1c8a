"""Tests of tables of counts: of independence, and of shares that are known."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Unpack

import numpy as np
import pandas as pd

from ..dataclasses import dataclass, field
from ..errors import QueryError, hide_internals, quoted
from ..findings.answers import Findings
from ..findings.derive import is_answer
from ..findings.simulation import Simulation
from ..privacy.accounting.losses import ReleaseOptions, with_options_named
from ..release.unreleased import Unreleased
from ..rows.facts.units import whole_number
from ..rows.figures import plus_minus
from ..statistics.samples import How
from .counts import Counts, series_of, table_of
from .counts_asked import question_of, released
from .inputs import previewed, ways_of
from .noisy_fourfold import Fourfold
from .resampling import resolution
from .results import SignificanceResult, one_of_several, parse_alternative, releases
from .simulated_tables import Fit, Hypothesis, Independence, pvalue

#: How many tables are simulated.
RESAMPLES, FEWEST, MOST = 9999, 99, 10**6
#: Below it an expected count is small; from which part of the scales of residuals on noise hides
#: most; and what is divided by at least.
SMALL, HIDES, TINY = 5, 0.5, 1e-300
#: How many tests were false alarms at .05 where counts are small, and where noise hides most:
#: docs/proofs/tests_of_tables.md.
FALSE_ALARMS = {
    "chi2_contingency": ("3 to 6", "1 to 7"),
    "fisher_exact": ("1 to 7", "3 to 8"),
    "chisquare": ("4 to 6", "4 to 6"),
}


@dataclass(frozen=True, repr=False, eq=False)
class Chi2ContingencyResult(SignificanceResult):
    """The result of `chi2_contingency`: ``statistic, pvalue, dof, expected_freq = result``.

    dof : the degrees of freedom, (rows - 1)·(columns - 1). No p-value was computed from them.
    expected_freq : the counts that independence would give, from the noisy sums of rows and
        columns: a DataFrame.
    """

    dof: int = 0
    expected_freq: pd.DataFrame = field(default_factory=pd.DataFrame)

    _unpacked: ClassVar = ("statistic", "pvalue", "dof", "expected_freq")
    _beside: ClassVar = ("dof",)


@dataclass(frozen=True, repr=False, eq=False)
class FisherExactResult(SignificanceResult):
    """The result of `fisher_exact`: ``statistic, pvalue = result``. The statistic is the odds
    ratio."""

    @hide_internals
    def confidence_interval(self, confidence_level: float = 0.95) -> Any:
        """An interval of the population's odds ratio: that of ``dp.derive`` with
        ``of="population"``. It bounds both odds at once, and so may include 1 where the test finds
        a difference.

        Raises `QueryError` where the rows of the table are of several releases.
        """
        return super().confidence_interval(confidence_level)


@dataclass(frozen=True)
class _IntervalOfNumber:
    """The interval of a derived number for the population."""

    number: Any

    def __call__(self, confidence: float) -> tuple[float, float]:
        ((low, high, _),) = Findings((self.number,)).of_population(confidence, How())
        return low, high


# --- independence ---------------------------------------------------------------------------------


@with_options_named
@hide_internals
@previewed(Chi2ContingencyResult)
def chi2_contingency(
    observed: Any,
    correction: bool = False,
    *,
    n_resamples: int = RESAMPLES,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> Chi2ContingencyResult:
    """The χ² test of independence of rows and columns of a table of noisy counts.

    observed : a released table of counts: that of crosstab; a Series of counts by two columns, or
        such a one unstacked; a part of these; a DataFrame from `dppandas.derive`; or a list of
        Series of the same labels, which are the rows. A last row or column that sums the others, as
        ``margins=True`` adds it, is left out. Or private rows and ``epsilon=``:
        ``p.groupby(["a", "b"])``, ``p.groupby("a")["b"]``, or a crosstab without an epsilon.
    correction : as in scipy, but False: Yates' correction is for p-values from the χ² distribution,
        and these are from tables that were simulated, of whole units.
    n_resamples : how many tables are simulated.
    epsilon, … : the loss of a release of private rows, and its other options, as for all answers.

    Null hypothesis: rows and columns are independent. Assumed: units are drawn at random, each lies
    in one cell, and no unit in two. Rows may have sizes that were chosen, as in a trial.

    The statistic is Σ d²/(e + v), with e the expected count, from the noisy sums of rows and
    columns; d the count's distance from it; and v the variance of its noise. Without noise it is
    Pearson's, as in scipy. With it, cells in which noise hides all don't drown the others. The
    p-value is by parametric Monte Carlo: tables of units at random in the fitted shares, with noise
    of the releases' law. It depends on the answers alone: asked again, it is the same. It is
    approximate, as the shares are fitted: docs/inference.md has measured sizes.

    Raises `RecordError` for plain tables, and `QueryError` for what isn't a table of counts of
    units: shares, several rows of a unit, labels that were found with a δ, cells with rows in
    common.

    *Guarantee*: post-processing of released answers; with ``epsilon=`` that of the release
    (docs/proofs/counts.md). Gaboardi, Lim, Rogers and Vadhan, "Differentially private chi-squared
    hypothesis testing", ICML 2016, Section 5; Kifer and Rogers, "A new class of private chi-square
    hypothesis tests", AISTATS 2017, for the scale; docs/proofs/tests_of_tables.md.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"arm": ["A", "B"] * 2000, "bought": [1, 1, 0, 1, 0, 1, 0, 0] * 500})
    >>> p = dp.protect(df, name="table", domain={"arm": ["A", "B"], "bought": [0, 1]})
    >>> table = p.crosstab("arm", "bought", epsilon=1)
    >>> found = dp.stats.chi2_contingency(table)
    >>> found.pvalue < 0.001, found.dof, found.exact
    (True, 1, False)
    """
    name = "chi2_contingency"
    _check_correction(correction)
    size = _parse_resamples(n_resamples)
    asked = question_of(observed, 2)
    counts = table_of(released(asked, name, ways_of(epsilon, more), 2), name)
    null = Independence(counts.variances)
    expected = null.expected(counts.seen)
    pvalue = _simulated(null, counts, name, size)
    rows, columns = counts.shape
    return Chi2ContingencyResult(
        name, float(null.statistic(counts.seen)), pvalue, False,
        null="rows and columns are independent; units are drawn at random, each in one cell",
        noise=_noise_of(counts, size), source=releases(counts.records),
        notes=(
            *_notes(null, counts, name), *resolution(pvalue, size),
            *one_of_several(name, counts.key),
        ),
        dof=(rows - 1) * (columns - 1),
        expected_freq=pd.DataFrame(expected, index=counts.index, columns=counts.columns),
    )  # fmt: skip


@with_options_named
@hide_internals
@previewed(FisherExactResult)
def fisher_exact(
    table: Any,
    alternative: str = "two-sided",
    *,
    n_resamples: int = RESAMPLES,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> FisherExactResult:
    """Fisher's test of a 2 × 2 table of noisy counts. With noise it is approximate.

    table : as for `chi2_contingency`, with two rows and two columns.
    alternative : "two-sided", "less" or "greater": which odds ratios are to be found.
    n_resamples : how many tables are simulated.
    epsilon, … : the loss of a release of private rows, and its other options, as for all answers.

    Null hypothesis: the odds of the columns are the same in both rows. Assumed: units are drawn at
    random, each lies in one cell, and no unit in two.

    The statistic is the odds ratio of the noisy counts. Given the sums of rows and columns, the
    first count is hypergeometric under the null hypothesis. The p-value is by parametric Monte
    Carlo: tables with the sums that were seen, and noise of the releases' law, which deviate as far
    as the table seen, or further, by the root of the statistic of `chi2_contingency`, with a sign.
    Without noise p-values are scipy's, exactly; "two-sided" are then tables that are no more
    probable than the one seen. With it the test isn't exact, as the sums are noisy:
    docs/inference.md has measured sizes.

    Raises what `chi2_contingency` raises.

    *Guarantee*: post-processing of released answers; with ``epsilon=`` that of the release
    (docs/proofs/counts.md). Fisher, "The logic of inductive inference", J. R. Stat. Soc. 98, 1935;
    docs/proofs/tests_of_tables.md.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"arm": ["A", "B"] * 200, "bought": [1, 1, 0, 1, 0, 1, 0, 0] * 50})
    >>> p = dp.protect(df, name="fourfold", domain={"arm": ["A", "B"], "bought": [0, 1]})
    >>> found = dp.stats.fisher_exact(p.groupby(["arm", "bought"]), "greater", epsilon=2)
    >>> found.pvalue < 0.01, found.exact
    (True, False)
    """
    name = "fisher_exact"
    side, size = parse_alternative(alternative), _parse_resamples(n_resamples)
    asked = question_of(table, 2)
    counts = table_of(released(asked, name, ways_of(epsilon, more), 2), name)
    test = Fourfold(counts.seen, counts.variances)
    simulation = Simulation(counts.records, name)
    noise = partial(counts.noise, simulation)
    found = test.pvalue(noise, simulation.generator, size, side)
    a, b, c, d = counts.numbers
    return FisherExactResult(
        name, test.odds_ratio, found, False,
        null="the odds are the same in both rows; units are drawn at random, each in one cell",
        noise=_noise_of(counts, size), source=releases(counts.records),
        alternative=side, _interval=_IntervalOfNumber((a / b) / (c / d)),
        notes=(
            *_notes(Independence(counts.variances), counts, name),
            *one_of_several(name, counts.key, side),
        ),
    )  # fmt: skip


# --- known shares ---------------------------------------------------------------------------------


@with_options_named
@hide_internals
@previewed()
def chisquare(
    f_obs: Any,
    f_exp: Any = None,
    *,
    n_resamples: int = RESAMPLES,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> SignificanceResult:
    """The χ² test of goodness of fit: whether noisy counts have shares that are known.

    f_obs : a released Series of counts: of value_counts, groupby(…).size, hist; a part of one, or a
        Series from `dppandas.derive`. Or private rows and ``epsilon=``: ``p["a"]``,
        ``p.groupby("a")``, or counts without an epsilon.
    f_exp : public shares, or counts, which are scaled to the noisy total; by default all are equal.
        A Series or dict is matched by label. A list is in the order of the answer, or for private
        rows of the keys; value_counts sorts by noisy counts, so give it labels there.
    n_resamples : how many tables are simulated.
    epsilon, … : the loss of a release of private rows, and its other options, as for all answers.

    Null hypothesis: units have these shares. Assumed: units are drawn at random, each in one cell.
    Only the labels counted are tested: units with others are left out.

    The statistic is Σ d²/(e + v): see `chi2_contingency`. Without noise it is scipy's. The p-value
    is by parametric Monte Carlo with noise of the release's law. It is approximate, as the number
    of units is known with noise only, but depends on it little: docs/inference.md has measured
    sizes.

    Raises what `chi2_contingency` raises, and `QueryError` for shares that aren't above 0.

    *Guarantee*: post-processing of released answers; with ``epsilon=`` that of the release
    (docs/proofs/counts.md). Gaboardi, Lim, Rogers and Vadhan, "Differentially private chi-squared
    hypothesis testing", ICML 2016, Section 4; docs/proofs/tests_of_tables.md.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"day": ["Mon", "Tue", "Tue"] * 1000})
    >>> p = dp.protect(df, name="days", domain={"day": ["Mon", "Tue"]})
    >>> days = p["day"].value_counts(epsilon=1)
    >>> dp.stats.chisquare(days).pvalue < 0.001
    True
    >>> dp.stats.chisquare(days, {"Mon": 1, "Tue": 2}).pvalue > 1e-6
    True
    """
    name = "chisquare"
    size = _parse_resamples(n_resamples)
    asked, known = question_of(f_obs, 1), None
    if isinstance(asked, Unreleased):  # before it is paid for
        known = _parse_expected(f_exp, asked._request.statistic.layout.index)
    counts = series_of(released(asked, name, ways_of(epsilon, more), 1), name)
    if known is None:
        _check_order(f_exp, counts)
        known = _parse_expected(f_exp, counts.index)
    shares = known.to_numpy()[known.index.get_indexer(counts.index)]
    null = Fit(counts.variances, shares / shares.sum())
    pvalue = _simulated(null, counts, name, size)
    said = "all labels have the same share" if f_exp is None else "labels have the shares of f_exp"
    return SignificanceResult(
        name, float(null.statistic(counts.seen)), pvalue, False,
        null=f"{said}; units are drawn at random, each in one cell",
        noise=_noise_of(counts, size), source=releases(counts.records),
        notes=(
            *_notes(null, counts, name), *resolution(pvalue, size),
            *one_of_several(name, counts.key, *shares.tolist()),
        ),
    )  # fmt: skip


def _parse_expected(f_exp: Any, labels: pd.Index | None) -> pd.Series[float]:
    """The expected share of each label, but for a factor."""
    labels = pd.Index([]) if labels is None else labels
    if f_exp is None:
        return pd.Series(1.0, index=labels)
    if is_answer(f_exp):
        raise QueryError(
            "f_exp= is public, and a released answer has noise. Whether two answers have the same "
            "shares is for dp.stats.chi2_contingency([a, b])."
        )
    if isinstance(f_exp, Mapping | pd.Series):
        given = pd.Series(f_exp, dtype=object)
        at = given.index.get_indexer(labels) if given.index.is_unique else [-1]
        if len(given) != len(labels) or min(at, default=-1) < 0:
            some = ", ".join(map(repr, labels[:5].tolist()))
            raise QueryError(
                "f_exp= needs a share for each label that was counted, and for no other: "
                f"{some}{', …' if len(labels) > 5 else ''}."
            )
        return pd.Series([_positive(given.iloc[i]) for i in at], index=labels)
    if isinstance(f_exp, str | bytes) or not np.iterable(f_exp):
        raise QueryError(f"f_exp={quoted(f_exp)} must be a Series, a dict or a list of shares.")
    shares = [_positive(share) for share in f_exp]
    if len(shares) != len(labels):
        raise QueryError(f"f_exp= has {len(shares)} shares, and there are {len(labels)} labels.")
    return pd.Series(shares, index=labels)


def _positive(value: Any) -> float:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) < np.inf:
        raise QueryError(
            f"f_exp= has {quoted(value)}, and shares are numbers above 0. A label that can't occur "
            "isn't for this test: select the others, as in counts.drop(label)."
        )
    return float(value)


def _check_order(f_exp: Any, counts: Counts) -> None:
    """Refuse shares without labels for counts whose order was decided by noise."""
    has_labels = f_exp is None or isinstance(f_exp, Mapping | pd.Series)
    if has_labels or not np.iterable(f_exp) or len({*map(repr, f_exp)}) == 1:
        return
    places = [each.figure.place for each in counts.numbers if each.figure is not None]
    if places != sorted(places):
        raise QueryError(
            "these counts aren't in the order of their keys, so a list of shares may be meant for "
            "others. Give f_exp= by label: f_exp={'a': 0.2, …}."
        )


# --- what all have in common ----------------------------------------------------------------------


def _check_correction(correction: object) -> None:
    if not isinstance(correction, bool | np.bool_):
        raise QueryError(f"correction={quoted(correction)} must be False.")
    if correction:
        raise QueryError(
            "correction=True is for p-values from the χ² distribution, and these are from "
            "simulated tables of whole units, which need none. Leave it out."
        )


def _parse_resamples(n_resamples: object) -> int:
    return whole_number(n_resamples, "n_resamples", FEWEST, MOST, ", how many are simulated")


def _simulated(null: Hypothesis, counts: Counts, name: str, size: int) -> float:
    simulation = Simulation(counts.records, name)
    noise = partial(counts.noise, simulation)
    return pvalue(null, counts.seen, noise, simulation.generator, size, counts.order)


def _noise_of(counts: Counts, size: int) -> str:
    """What noise added, in words."""
    wide = counts.half_width
    return (
        f"Noise of {plus_minus(wide)} on each count (95 %) is counted by {size:,} simulated tables"
    )


def _notes(null: Hypothesis, counts: Counts, name: str) -> tuple[str, ...]:
    """Where a test finds little, or holds less often than it says."""
    several = (
        ()
        if len(counts.records) == 1
        else ("That no unit is in two of these releases is your statement.",)
    )
    return (*several, *_rough(null, counts, name))


def _rough(null: Hypothesis, counts: Counts, name: str) -> tuple[str, ...]:
    expected = null.expected(counts.seen)
    of_noise = counts.variances / np.maximum(expected + counts.variances, TINY)
    few, hidden = FALSE_ALARMS[name]
    if float(of_noise.mean()) > HIDES:
        return (
            "In most cells noise is larger than the error of a sample, so only strong effects are "
            f"found. In simulations {hidden} % of such tests were false alarms at .05.",
        )
    if expected.min() < SMALL:
        return (
            f"The smallest expected count is {expected.min():.2g}. In simulations {few} % of tests "
            f"with less than {SMALL} were false alarms at .05.",
        )
    return ()
