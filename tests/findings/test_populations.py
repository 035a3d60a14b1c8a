"""Intervals of answers and derived numbers for the population that rows are a sample of."""

import functools
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from ledgers import anew
from scipy import stats

import dppandas as dp
from dppandas.errors import QueryError
from dppandas.findings import populations
from dppandas.findings.populations import _Part, _sum
from dppandas.privacy.accuracy import student
from dppandas.privacy.accuracy.nearly_normal import NearlyNormal
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.release.answers.figures import says_nothing
from dppandas.rows.facts.bounds import Bounds
from dppandas.statistics import samples as samples_of_t
from dppandas.statistics.samples import How, Moments, by_t
from dppandas.statistics.samples_of_spreads import SampleMeanOfThree

ARMS = ["A", "B"]
POPULATION = {"of": "population"}


def shop(rows: int = 4000, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "who": np.arange(rows), "arm": rng.choice(ARMS, rows), "bought": rng.random(rows) < 0.2,
        "paid": rng.gamma(2, 5, rows), "again": rng.gamma(2, 5, rows),
    })  # fmt: skip


DOMAIN: dict[str, Any] = {"arm": ARMS, "paid": (0, 60), "again": (0, 60)}


@pytest.fixture
def p() -> Any:
    anew(epsilon=10**5)
    return dp.protect(shop(), name="sample", domain=DOMAIN)


def test_equal_groups_differ_as_seldom_as_said() -> None:
    """Two arms of one population, 1,000 rows in all, drawn anew 150 times. Intervals of the rows
    miss 0 in about half of the draws; those of the population in at most 5.5 %, for which more than
    24 misses have a probability of 7e-7."""
    missed = {"rows": 0, "population": 0}
    anew(epsilon=10**5)
    for seed in range(150):
        frame = shop(1000, seed)
        table = dp.protect(frame, name=f"equal {seed}", domain=DOMAIN)
        rates = table.groupby("arm")["bought"].mean(epsilon=1)
        difference = dp.difference(rates, "B", "A")
        for of in missed:
            low, high = difference.interval(of=of)
            missed[of] += not low <= 0 <= high
    assert missed["population"] <= 24
    assert missed["rows"] > 40


def test_all_ways_hold_on_the_whole_road(p: Any) -> None:
    """At a confidence of 1 - 1e-7, with what the population is known to be."""
    sure = {**POPULATION, "confidence": 1 - 1e-7}
    by_arm = p.groupby("arm")
    rates = dp.intervals(by_arm["bought"].mean(epsilon=1), **sure)
    assert (rates["low"] < 0.2).all()
    assert (rates["high"] > 0.2).all()
    assert set(rates["method"]) == {"exact"}
    both = dp.intervals(by_arm["paid"].agg(["mean", "std"], epsilon=1), **sure)
    truth = np.tile([10, math.sqrt(50)], 2)  # of Γ(2, 5), which exceeds 60 once in 12,000 rows
    assert (both["low"] < truth).all()
    assert (both["high"] > truth).all()
    median = p["paid"].median(epsilon=1, interval=True).interval(**sure)
    assert median[0] < 8.392 < median[1]
    counts = dp.intervals(p["arm"].value_counts(epsilon=1), size=10**6, **sure)
    assert ((counts["low"] < 500_000) & (counts["high"] > 500_000)).all()
    bernstein = p["paid"].mean(epsilon=1, inference=True).interval(method="bernstein", **sure)
    assert bernstein[0] < 10 < bernstein[1]


def test_a_variance_beside_a_mean_makes_its_interval_narrow(p: Any) -> None:
    plain, informed = p["paid"].mean(epsilon=1), p["paid"].mean(epsilon=1, inference=True)
    wide, narrow = (each.interval(**POPULATION) for each in (plain, informed))
    assert narrow[1] - narrow[0] < 0.6 * (wide[1] - wide[0])
    spent = dp.ledger().spent
    p["paid"].agg(["count", "mean", "std"], epsilon=1)  # has the same sums
    assert dp.ledger().spent == spent
    shares = p.groupby("arm")["bought"].mean(epsilon=1, inference=True)
    assert (
        dp.record(shares)._statistic
        == dp.record(p.groupby("arm")["bought"].mean(epsilon=1))._statistic
    )  # of truth values nothing else is needed


def test_what_is_one_number_times_a_constant_has_its_interval(p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=1)
    ends = dp.intervals(rates, **POPULATION)
    percent = dp.derive(lambda r: 100 * r, rates)
    found = dp.intervals(percent, **POPULATION)
    assert found["low"].tolist() == pytest.approx((100 * ends["low"]).tolist())
    assert set(found["method"]) == {"exact"}
    odds = dp.intervals(dp.derive(lambda r: r["A"] / (1 - r["A"]), rates), **POPULATION)
    # it is the only one here, and so has all of the risk
    low, high = dp.intervals(dp.derive(lambda r: r["A"] + 0, rates), **POPULATION).iloc[0][
        ["low", "high"]
    ]
    assert odds["low"].iloc[0] == pytest.approx(low / (1 - low))
    assert odds["high"].iloc[0] == pytest.approx(high / (1 - high))
    assert odds["method"].iloc[0] == "exact"


def test_shares_computed_from_counts_are_shares(p: Any) -> None:
    counts = p["arm"].value_counts(epsilon=1)
    shares = p["arm"].value_counts(epsilon=1, normalize=True)
    computed = dp.intervals(dp.derive(lambda c: c / c.sum(), counts), **POPULATION)
    released = dp.intervals(shares, **POPULATION)
    assert computed.sort_index()["low"].tolist() == pytest.approx(
        released.sort_index()["low"].tolist(), abs=1e-3
    )
    assert set(computed["method"]) == {"exact"}
    ratio = dp.intervals(dp.ratio(counts, "A", "B"), **POPULATION)
    assert ratio["method"].iloc[0] == "exact"
    low, high = computed.loc["A", ["low", "high"]]
    assert ratio["low"].iloc[0] > low / (1 - low)  # half of the statements, so narrower
    assert ratio["high"].iloc[0] < high / (1 - high)


def test_differences_and_ratios_are_by_t(p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=1)
    n, q = 2000, 0.2
    deviation = math.sqrt(2 * (q * (1 - q) / n + 2 * (q**2 + (1 - q) ** 2) / n**2))
    low, high = dp.difference(rates, "B", "A").interval(**POPULATION)
    assert (high - low) / 2 == pytest.approx(1.96 * deviation, rel=0.15)
    ratio = dp.ratio(rates, "B", "A").interval(**POPULATION)
    assert (ratio[1] - ratio[0]) / 2 == pytest.approx(1.96 * deviation / q, rel=0.2)
    found = dp.intervals(dp.difference(rates, "A"), **POPULATION)
    assert found["method"].tolist() == ["t"]


def test_numbers_of_the_same_units_may_be_correlated(p: Any) -> None:
    """Deviations add up for two columns, and variances for two groups."""
    means = p[["paid", "again"]].mean(epsilon=1)
    by_arm = p.groupby("arm")["paid"].mean(epsilon=2)
    one = [
        m.interval(**POPULATION)
        for m in (p["paid"].mean(epsilon=0.5), p["again"].mean(epsilon=0.5))
    ]
    wide = dp.difference(means, "paid", "again").interval(**POPULATION)
    sums = sum(high - low for low, high in one)
    assert wide[1] - wide[0] == pytest.approx(sums, rel=0.1)
    each = dp.intervals(by_arm, **POPULATION)
    narrow = dp.difference(by_arm, "A", "B").interval(**POPULATION)
    # each of two has half of the risk: 2.27 deviations for 1.99
    assert narrow[1] - narrow[0] == pytest.approx(
        math.hypot(*(each["high"] - each["low"])) * 1.99 / 2.27, rel=0.05
    )
    apart = dp.difference(p["paid"].mean(epsilon=1), p["again"].mean(epsilon=1))
    assert apart.interval(**POPULATION)[1] > apart.interval()[1]


#: Draws of the law, and misses of which more have a probability of 5e-7. t is allowed .055.
FEW, MANY = 2000, 20_000


def missed(draws: int, correlation: float, sizes: tuple[int, int], as_one: bool) -> int:
    """How often a difference of two means, of different units or of the same, isn't held."""
    rng, misses = np.random.default_rng(17), 0
    release, law, row = object(), DiscreteLaplace(Fraction(2**30)), 2**30
    for _ in range(draws):
        normal = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], max(sizes))
        values = np.clip(0.5 + 0.15 * normal, 0, 1)
        parts = []
        for i, n in enumerate(sizes):
            x = values[:n, i]
            sums = np.array([((1 - x) ** 2).sum(), (2 * x * (1 - x)).sum(), (x**2).sum()])
            noisy = tuple(map(int, ((sums + rng.laplace(0, 1, 3)) * row).round()))
            cells = frozenset([i if as_one else 0])
            of = SampleMeanOfThree(cells, noisy, row, Bounds(0.0, 1.0), law).moments(How())
            assert of is not None
            parts.append(_Part(1.0 - 2 * i, of, release if as_one else object()))
        low, high, _ = by_t(_sum(parts, 0.0), 0.05)
        misses += not low <= 0 <= high
    return misses


@pytest.mark.parametrize("draws", [FEW, pytest.param(MANY, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("correlation", "sizes", "as_one"), [
    (0.0, (900, 1200), True), (-0.9, (900, 900), False), (0.9, (900, 900), False),
])  # fmt: skip
def test_differences_hold_as_often_as_said(
    draws: int, correlation: float, sizes: tuple[int, int], as_one: bool
) -> None:
    """By draws of the law, of groups and of the same units. False alarms below 1e-6. Deviations
    that don't add up miss in a sixth of draws, at a correlation of -0.9."""
    misses = missed(draws, correlation, sizes, as_one)
    assert misses <= stats.binom.isf(5e-7, draws, 0.055)
    if as_one:
        assert misses >= draws * 0.02


def moments(variance: float, cell: int) -> Moments:
    return Moments(1.0, NearlyNormal(variance, 50.0), 100.0, frozenset([cell]))


def test_deviations_add_up_unless_units_differ() -> None:
    one, other = object(), object()
    apart = _sum([_Part(1.0, moments(4, 0), one), _Part(-2.0, moments(9, 1), one)], 5.0)
    assert (apart.value, apart.error.variance) == pytest.approx((4.0, 4 + 36))
    freedom = 40**2 / (16 / 50 + 36**2 / 50)
    assert apart.error.freedom == pytest.approx(freedom)
    same = _sum([_Part(1.0, moments(4, 0), one), _Part(-2.0, moments(9, 0), one)], 0.0)
    assert same.error.variance == pytest.approx((2 + 6) ** 2)
    assert same.error.freedom == 50
    releases = _sum([_Part(1.0, moments(4, 0), one), _Part(-2.0, moments(9, 1), other)], 0.0)
    assert releases.error.variance == pytest.approx((2 + 6) ** 2)
    three = _sum([_Part(1.0, moments(4, 0), one), _Part(1.0, moments(9, 1), one),
                  _Part(1.0, moments(1, 1), other)], 0.0)  # fmt: skip
    assert three.error.variance == pytest.approx((math.sqrt(13) + 1) ** 2)


def test_quotients_are_those_of_fieller() -> None:
    """Against the roots of his quadratic."""
    x, y, v, w = 3.0, 2.0, 0.04, 0.09

    class Fixed(populations.Populations):
        def _moments(self, form: Any) -> Moments:
            a, b = (float(form.terms.get(name, 0)) for name in "xy")
            return Moments(a * x + b * y, NearlyNormal(a * a * v + b * b * w, 1e9), 1e9)

    from dppandas.findings.forms import Linear, Quotient

    one = {name: Linear({name: Fraction(1)}, Fraction(0), Fraction(0)) for name in "xy"}
    form, found = Quotient(one["x"], one["y"]), Fixed(0.05, How())
    part, whole = (found._moments(each) for each in one.values())
    low, high, _ = found._quotient(form, part, whole, 0.05)
    t = student.quantile(0.045, 1e9)
    a, b, c = y * y - t * t * w, -2 * x * y, x * x - t * t * v
    root = math.sqrt(b * b - 4 * a * c)
    assert (low, high) == pytest.approx(((-b - root) / (2 * a), (-b + root) / (2 * a)), rel=1e-5)
    near_0 = Moments(0.1, NearlyNormal(1.0, 1e9), 1e9)
    assert found._quotient(form, part, near_0, 0.05)[:2] == (-math.inf, math.inf)


def test_the_rest_is_bounded_by_boxes(p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=1)
    odds = dp.derive(lambda r: np.log(r["A"] / (1 - r["A"]) / (r["B"] / (1 - r["B"]))), rates)
    found = dp.intervals(odds, **POPULATION).iloc[0]
    assert found["method"] == "box of exact"
    ends = dp.intervals(rates, **POPULATION)
    logits = np.log(ends[["low", "high"]] / (1 - ends[["low", "high"]]))
    assert found["low"] == pytest.approx(logits.loc["A", "low"] - logits.loc["B", "high"])
    assert found["high"] == pytest.approx(logits.loc["A", "high"] - logits.loc["B", "low"])
    by_bernstein = dp.intervals(dp.difference(rates, "A", "B"), method="bernstein", **POPULATION)
    assert by_bernstein["method"].tolist() == ["box of exact"]
    variation = dp.derive(lambda m, s: s / m, p["paid"].mean(epsilon=1), p["paid"].std(epsilon=1))
    found = dp.intervals(variation, **POPULATION)
    assert found["method"].tolist() == ["box of t, largest variance"]
    assert dp.derive(lambda r: r["A"] * r["B"], rates).interval(**POPULATION)[0] > 0.02


def test_long_chains_of_products_are_followed(p: Any) -> None:
    """They nest deeper than Python calls."""
    mean = p["bought"].mean(epsilon=50)
    grown = dp.derive(
        lambda m: functools.reduce(lambda x, _: x * (1 + m / 10**4), range(3000), m), mean
    )
    low, high = grown.interval(**POPULATION)
    assert low < float(grown) < high
    assert dp.compare(grown, mean).iloc[0]["about"] == "population"


def test_what_cancels_is_0_for_the_population_too(p: Any) -> None:
    mean = p["paid"].mean(epsilon=1)
    assert (mean - mean).interval(**POPULATION) == (0.0, 0.0)


def test_intervals_stay_through_pickles(p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=1)
    for derived in (dp.difference(rates, "A", "B"), dp.ratio(rates, "A", "B")):
        again = pickle.loads(pickle.dumps(derived))
        assert again.interval(**POPULATION) == derived.interval(**POPULATION)
    series = dp.derive(lambda r: 2 * r, rates)
    again = pickle.loads(pickle.dumps(series))
    assert repr(again) == repr(series)
    assert again.name == "bought"
    pd.testing.assert_frame_equal(again.interval(**POPULATION), series.interval(**POPULATION))


def test_combined_answers_have_intervals(p: Any) -> None:
    for column in ("bought", "paid"):
        mean = p[column].mean(epsilon=0.5).refine(epsilon=0.5)
        low, high = mean.interval(**POPULATION)
        assert low < mean < high
    assert dp.intervals(p["bought"].mean(epsilon=0.3).refine(epsilon=0.3), **POPULATION)[
        "method"
    ].tolist() == ["Chernoff"]


def test_computed_counts_are_those_of_the_population(p: Any) -> None:
    """What is shown is on the scale of its interval; cells of one table add up to a share."""
    counts = p["arm"].value_counts(epsilon=1)
    sized = {**POPULATION, "size": 10**6}
    alone = dp.intervals(counts, **sized).sort_index()
    both = dp.intervals(dp.derive(lambda c: c["A"] + c["B"], counts), **sized).iloc[0]
    assert both[["value", "low", "high"]].tolist() == pytest.approx([10**6] * 3)
    doubled = dp.intervals(dp.derive(lambda c: 2 * c, counts), **sized).sort_index()
    assert doubled["value"].tolist() == pytest.approx((2 * alone["value"]).tolist())
    assert doubled["low"].tolist() == pytest.approx((2 * alone["low"]).tolist())
    found = dp.compare(counts, "A", "B", size=10**6).iloc[0]
    assert found["first"] == pytest.approx(alone.loc["A", "value"])
    assert found["difference"] == pytest.approx(found["first"] - found["second"])
    assert found["low"] < found["difference"] < found["high"]
    product = dp.intervals(dp.derive(lambda c: c["A"] * c["B"], counts), **sized).iloc[0]
    assert product["value"] == pytest.approx(found["first"] * found["second"])
    odds = dp.derive(lambda c: (c["A"] / c["B"]) / (c["B"] / c["A"]), counts)
    found = dp.intervals(odds, **POPULATION).iloc[0]
    assert found["value"] == pytest.approx(float(odds))
    assert 0.5 < found["low"] < float(odds) < found["high"] < 2
    assert found["method"] == "box of exact"


def test_less_risk_needs_more_rows_for_t() -> None:
    """The more numbers share the risk, the further out t is asked for, where it errs more."""
    assert samples_of_t.enough(0.05) == 20
    assert samples_of_t.enough(0.5) == 20
    assert samples_of_t.enough(0.05 / 20) == pytest.approx(114, abs=2)
    few = Moments(0.5, NearlyNormal(0.01, 100.0), 60.0)
    assert [by_t(few, risk).way for risk in (0.05, 0.001)] == ["t", "t, too few"]


#: Statistics that say anything of a population. A new one says nothing until it is named here.
OF_POPULATIONS = {
    "Contingency", "Count", "FirstMoments", "Mean", "MeasuredQuantiles", "Moments", "Variance",
}  # fmt: skip


def test_statistics_say_nothing_of_a_population_until_they_say_so() -> None:
    """No subclass does because its base does: distinct keys are no units, and weighted means are
    of no random sample."""
    said = set()
    anew(epsilon=10**6, delta="0.01")
    private = dp.protect(ops.SCHEMA.copy(), "one row each")
    for name in [*ops.OPERATIONS, *ops.UNKNOWN]:
        answer = ops.released(name, private)
        try:
            record = dp.record(answer)
        except dp.errors.RecordError:
            continue
        each = record.components
        for one in each.values() if isinstance(each, dict) else each:
            if not all(says_nothing(one, How(size=size)) for size in (None, 10**9)):
                said.add(type(one._statistic).__name__)
    assert said == OF_POPULATIONS


def test_gaussian_noise_has_intervals() -> None:
    anew(rho=10**4, delta=1e-6)
    p = dp.protect(shop(), name="by rho", domain=DOMAIN)
    rates = p.groupby("arm")["bought"].mean(rho=0.1)
    found = dp.intervals(rates, **POPULATION)
    assert set(found["method"]) == {"exact"}
    assert (found["high"] - found["low"]).max() < 0.1


def test_finite_populations_leave_less_to_chance(p: Any) -> None:
    mean = p["paid"].mean(epsilon=5, inference=True)
    wide, narrow = (mean.interval(size=size, **POPULATION) for size in (10**8, 4200))
    assert narrow[1] - narrow[0] < 0.5 * (wide[1] - wide[0])
    rates = p["bought"].mean(epsilon=5)
    wide, narrow = (rates.interval(size=size, **POPULATION) for size in (10**8, 4200))
    assert narrow[1] - narrow[0] < 0.5 * (wide[1] - wide[0])


def test_a_size_is_refused_where_nothing_is_proven(p: Any) -> None:
    """Of spreads and quantiles intervals rest on independent draws."""
    median = p["paid"].median(epsilon=1, interval=True)
    for answer in (p["paid"].std(epsilon=1), median, p["paid"].var(epsilon=1) * 2):
        with pytest.raises(QueryError, match="for large populations alone"):
            dp.intervals(answer, size=10**6, **POPULATION)
    both = p["paid"].agg(["mean", "std"], epsilon=1)
    found = dp.intervals(both, size=10**6, **POPULATION)
    assert found["low"].isna().tolist() == [False, True]


def test_arms_of_one_finite_population_may_be_opposed(p: Any) -> None:
    """At n = N each arm has what the other one lacks, if units were drawn by lot."""
    rates = p.groupby("arm")["bought"].mean(epsilon=5)
    difference = dp.difference(rates, "A", "B")
    assert difference.interval(size=4200, **POPULATION) == difference.interval(**POPULATION)


REFUSED = {
    "sum": (lambda p: p["paid"].sum(epsilon=1), "says nothing of a population"),
    "lone count": (lambda p: p[p["paid"] > 5].count(epsilon=1), "says nothing of a population"),
    "tables made to agree": (
        lambda p: dp.make_consistent(p["arm"].value_counts(epsilon=1), integers=True),
        "nothing is known of what they say",
    ),
    "count": (lambda p: p["paid"].count(epsilon=1), "says nothing of a population"),
    "counts": (lambda p: p["arm"].value_counts(epsilon=1), "give size="),
    "median": (lambda p: p["paid"].median(epsilon=1), "interval=True"),
    "ranks": (lambda p: p["paid"].median(epsilon=1, interval="ranks"), "interval=True"),
    "sem": (lambda p: p["paid"].sem(epsilon=1), "says nothing of a population"),
    "weights": (
        lambda p: p["paid"].mean(weights=p["again"], weight_bounds=(0, 60), epsilon=1),
        "says nothing of a population",
    ),
    "derived": (lambda p: p["paid"].sum(epsilon=1) * 2, "says nothing of a population"),
    "counts of several": (
        lambda p: dp.derive(lambda a, b: a / b, p[p["bought"]]["arm"].value_counts(epsilon=1),
                            p["arm"].value_counts(epsilon=1)),
        "shares of different rows",
    ),
    "derived counts": (lambda p: dp.derive(lambda c: c * 2, p["arm"].value_counts(epsilon=1)),
                       "give size="),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_says_nothing_of_a_population_says_what_does(p: Any, name: str) -> None:
    ask, said = REFUSED[name]
    answer = ask(p)
    with pytest.raises(QueryError, match=said):
        dp.intervals(answer, **POPULATION)


def test_several_rows_of_a_unit_are_no_sample() -> None:
    anew(epsilon=10)
    frame = shop(400).assign(who=np.arange(400) // 2)
    p = dp.protect(frame, name="twice", unit="who", max_rows=2, domain=DOMAIN)
    with pytest.raises(QueryError, match=r"per_unit\(\)"):
        dp.intervals(p["paid"].mean(epsilon=1), **POPULATION)
    assert p["paid"].mean(epsilon=1).interval()[0] < 60
    paid = p.per_unit()["paid"].mean()
    low, high = paid.mean(epsilon=1).interval(**POPULATION)
    assert low < high


WRONG = [
    ({"of": "people"}, "of= must be"), ({"of": "rows", "size": 5}, "are about"),
    ({"of": "rows", "method": "t"}, "are about"), (POPULATION | {"method": "z"}, "method= must be"),
    (POPULATION | {"size": 0}, "size= is how many"), (POPULATION | {"size": 2.5}, "size= is how"),
    (POPULATION | {"size": True}, "size= is how many"), (POPULATION | {"size": 17}, "is less than"),
    (POPULATION | {"size": 10**6, "method": "bernstein"}, "leave size= out"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "said"), WRONG)
def test_wrong_arguments_are_refused(p: Any, asked: dict[str, Any], said: str) -> None:
    rates = p["bought"].mean(epsilon=1)
    for ask in (rates.interval, lambda **a: dp.intervals(rates, **a), (1 - rates).interval):
        with pytest.raises(QueryError, match=said):
            ask(**asked)


def test_inference_is_true_or_false(p: Any) -> None:
    with pytest.raises(QueryError, match="must be True or False"):
        p["paid"].mean(epsilon=1, inference="yes")
    with pytest.raises(QueryError, match="with weights no variance"):
        p["paid"].mean(epsilon=1, inference=True, weights=p["again"], weight_bounds=(0, 60))


def test_describe_tells_of_what_it_can(p: Any) -> None:
    found = dp.intervals(p["paid"].describe(epsilon=5), **POPULATION)
    assert found.loc[["mean", "std"], "low"].notna().all()
    assert found.loc[["count", "50%"], "low"].isna().all()
    assert found.loc["mean", "method"] == "t"


def test_units_shares_and_statements_share_the_risk(p: Any) -> None:
    """Ten numbers of one call have a tenth of the risk each."""
    rates = p.groupby("arm")["paid"].mean(epsilon=1)
    one = dp.derive(lambda r: r["A"] - r["B"], rates).interval(**POPULATION)
    ten = dp.derive(lambda r: pd.Series([r["A"] - r["B"] + i for i in range(10)]), rates)
    ends = ten.interval(**POPULATION)
    share = (ends["upper"] - ends["lower"]).iloc[0] / (one[1] - one[0])
    expected = student.quantile(0.0045, 4000) / student.quantile(0.045, 4000)
    assert share == pytest.approx(expected, rel=1e-3)
