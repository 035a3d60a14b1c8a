"""The laws of noises: against decimals, sums of all values, scipy, and draws; and which a record
has."""

import math
import warnings
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from refusals import refusal
from scipy import integrate, stats

import dppandas as dp
from dppandas.errors import QueryError, RecordError
from dppandas.privacy.accounting import gaussian
from dppandas.privacy.accuracy.laws import noise_of
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.privacy.mechanisms.sensitivity_bounds import PARTS, BoundedSensitivity
from dppandas.release.answers.noise import Noise

SCALES = [Fraction(1, 50), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(40)]
LAWS = [
    *map(DiscreteLaplace, SCALES),
    *(DiscreteGaussian(scale**2) for scale in SCALES),
    DiscreteLaplace(Fraction(0)),
]


def law(mechanism: Any, step: float = 1.0) -> Noise:
    found = noise_of(mechanism)
    assert found is not None
    return Noise("", "rows", "the answer", step, found, float(mechanism.scale) * step)


def reach(mechanism: Any) -> Any:
    """Beyond which no float is left."""
    wide = math.ceil(60 * mechanism.scale) + 3
    return np.arange(-wide, wide + 1)


@pytest.mark.parametrize("mechanism", LAWS, ids=str)
def test_probabilities_and_tails_are_of_one_law(mechanism: Any) -> None:
    noise, z = law(mechanism), reach(mechanism)
    chances = noise.pmf(z)
    assert math.isclose(chances.sum(), 1, rel_tol=1e-12)
    assert np.allclose(noise.cdf(z), np.cumsum(chances), rtol=1e-9, atol=1e-15)
    assert np.allclose(noise.sf(z - 1), np.cumsum(chances[::-1])[::-1], rtol=1e-9, atol=1e-15)
    squares = (chances * z.astype(float) ** 2).sum()
    assert math.isclose(noise.var(), squares, rel_tol=1e-9, abs_tol=1e-270)
    assert math.isclose(noise.std() ** 2, noise.var(), rel_tol=1e-12)
    near = z[chances > 1e-300]
    assert np.allclose(noise.logpmf(near), np.log(noise.pmf(near)))
    assert noise.mean() == noise.median() == 0
    assert noise.pmf([0.5, math.inf, -0.25]).tolist() == [0, 0, 0]
    assert math.isnan(noise.cdf(math.nan))
    assert (noise.cdf(-math.inf), noise.cdf(math.inf), noise.sf(math.inf)) == (0, 1, 0)


@pytest.mark.parametrize("mechanism", LAWS, ids=str)
def test_quantiles_are_the_first_values_that_reach_them(mechanism: Any) -> None:
    noise, z = law(mechanism), reach(mechanism)
    down, above = noise.cdf(z), noise.sf(z)
    for q in (0.003, 0.1, 0.3, 0.5, 0.50001, 0.7, 0.95, 0.999):
        assert noise.ppf(q) == z[np.argmax(down >= q)]
        assert noise.isf(q) == z[np.argmax(above <= q)]
        low, high = noise.interval(q)
        assert low == -high
        assert noise.cdf(high) - noise.sf(high) >= q
        assert not high or noise.cdf(high - 1) - noise.sf(high - 1) < q
    told = z[(noise.cdf(z) > 1e-300) & (noise.sf(z) > 1e-3)]
    assert noise.ppf(noise.cdf(told)).tolist() == told.tolist()
    far = z[(noise.sf(z) > 1e-280) & (noise.cdf(z) > 1e-3)]
    assert noise.isf(noise.sf(far)).tolist() == far.tolist()
    ends = noise.ppf([0.0, 1.0, -0.1]).tolist()
    assert ends[:2] == [-math.inf, math.inf]
    assert math.isnan(ends[2])


def test_laplace_is_that_of_scipy() -> None:
    noise, other = law(DiscreteLaplace(Fraction(7, 2))), stats.dlaplace(2 / 7)
    z = np.arange(-60, 61)
    assert np.allclose(noise.pmf(z), other.pmf(z), rtol=1e-12)
    assert np.allclose(noise.sf(z), other.sf(z), rtol=1e-9)
    assert math.isclose(noise.std(), other.std())


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(20), Fraction(2**33)])
def test_tails_of_gaussian_noise_are_those_of_decimals(sigma: Fraction) -> None:
    noise = law(DiscreteGaussian(sigma**2))
    for x in (0, 0.3, 1, 3, 8):
        m = math.floor(x * sigma)
        exact = gaussian.discrete_gaussian_tail(sigma**2, m + 1, 100)
        assert math.isclose(noise.sf(m), float((exact.low + exact.high) / 2), rel_tol=1e-9)


def test_long_tails_are_those_of_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a σ above 1000 by an expansion, and by the sum that it stands for."""
    mechanism, z = DiscreteGaussian(Fraction(1001) ** 2), np.arange(0, 35_000, 777)
    expanded = law(mechanism).sf(z)
    monkeypatch.setattr("dppandas.privacy.accuracy.laws.SUMMED", 2000)
    assert np.allclose(expanded, law(mechanism).sf(z), rtol=1e-10, atol=0)


def test_the_law_is_in_the_unit_of_the_answer() -> None:
    whole, fine = law(DiscreteLaplace(Fraction(40))), law(DiscreteLaplace(Fraction(40)), 2.0**-10)
    z = np.arange(-100, 101)
    assert np.array_equal(whole.pmf(z), fine.pmf(z * 2.0**-10))
    assert np.array_equal(whole.sf(z + 0.5), fine.sf((z + 0.5) * 2.0**-10))
    assert fine.pmf(2.0**-11) == 0
    assert fine.std() == whole.std() * 2.0**-10
    assert fine.ppf(0.9) == whole.ppf(0.9) * 2.0**-10
    assert fine.pdf(0.03) == whole.pmf(31) * 2**10  # 30.72 steps
    assert math.isclose(integrate.trapezoid(fine.pdf(z := np.arange(-1, 1, 2.0**-10)), z), 1)


# --- of records -----------------------------------------------------------------------------------


def released(name: str) -> Any:
    dp.session(epsilon=10_000, delta="0.001", experimental=True)
    people = dp.protect(ops.SCHEMA.copy(), "noises", unit="owner", max_rows=3, version="1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ops.released(name, people)


@pytest.mark.parametrize("name", ops.ALL_ASKED)
def test_every_record_has_its_noise_or_says_why_not(name: str) -> None:
    """It has the scale that the record has, in seconds for times."""
    try:
        record = dp.record(released(name))
    except RecordError:  # pandas may keep no record, as in tests/test_surface.py
        return
    components = record.components
    for each in components.values() if isinstance(components, dict) else components:
        if isinstance(each._law, BoundedSensitivity):  # in units of what was released
            bound = each._noisy[0] / PARTS * each.noise.step
            assert math.isclose(each.noise.scale, each.scale * bound)
            continue
        if noise_of(each._law) is None:
            refusal(partial(getattr, each, "noise"), "no noise was added", RecordError)
            continue
        noise = each.noise
        for column, one in (noise if isinstance(noise, dict) else {None: noise}).items():
            if "smooth" in one.name:
                refusal(partial(getattr, one, "scale"), "this noise is private", RecordError)
                continue
            scale = each.scale[column] if isinstance(each.scale, dict) else each.scale
            scale = scale / pd.Timedelta("1s") if isinstance(scale, pd.Timedelta) else scale
            assert math.isclose(one.scale, scale, rel_tol=1e-9)
            assert one.pmf(0) > 0
            assert one.name in repr(one)
            assert one.of in repr(one)


def test_an_error_of_one_number_is_an_interval_of_its_noise() -> None:
    for name in ("count", "sum", "nunique"):
        record = dp.record(released(name))
        for confidence in (0.5, 0.95, 0.999999):
            assert record.noise.interval(confidence)[1] == record.error(confidence)
        assert record.noise.of == "the answer"


def test_what_noise_was_added_to() -> None:
    assert dp.record(released("group sum")).noise.of == "each number of the answer"
    for name in ("mean", "proportions", "popularity", "var"):
        assert dp.record(released(name)).noise.of.startswith("each noisy number")
    assert "before the threshold" in dp.record(released("group size found")).noise.of


def test_a_preview_has_the_law_and_combined_answers_those_of_their_parts() -> None:
    dp.session(epsilon=10)
    people = dp.protect(pd.DataFrame({"a": range(100)}), "noises of two")
    with dp.preview():
        planned = dp.record(people.count(epsilon=0.5)).noise
    count = people.count(epsilon=0.5)
    assert repr(dp.record(count).noise) == repr(planned)
    assert planned.scale == 2
    both = dp.record(count.refine(epsilon=1))
    refusal(lambda: both.noise, r"several releases were combined.*\.components", RecordError)
    assert [part.noise.scale for part in both.components] == [2, 1]


def test_noise_takes_numbers_only() -> None:
    noise = law(DiscreteLaplace(Fraction(1)))
    refusal(lambda: noise.pmf("far"), "must be a number", QueryError)


def test_draws_follow_the_law() -> None:
    """By chance fewer than 1 in 10⁶ fail: χ² of about 20 values."""
    dp.session(epsilon=10, delta=1e-6)
    nobody = dp.protect(pd.DataFrame({"a": [0]}).iloc[:0], "nobody")
    for options in ({"epsilon": 0.5}, {"epsilon": 0.5, "delta": 1e-7, "mechanism": "gaussian"}):
        counts = nobody["a"].value_counts(keys=range(1, 10_001), **options)
        noise = dp.record(counts).noise
        edges = [-math.inf, *noise.ppf(np.arange(0.05, 1, 0.05)), math.inf]
        edges = sorted(set(edges))
        expected = 10_000 * np.diff(noise.cdf(np.array(edges)))
        seen, _ = np.histogram(counts, np.array(edges) + 0.5)  # up to each edge
        chi2 = ((seen - expected) ** 2 / expected).sum()
        assert stats.chi2.sf(chi2, len(expected) - 1) > 4e-7


# --- smooth sensitivity ---------------------------------------------------------------------------


def test_of_smooth_sensitivity_only_the_shape_is_public() -> None:
    record = dp.record(released("smooth median"))
    noise = record.noise
    assert math.isclose(2 * integrate.quad(noise.pdf, 0, math.inf)[0], 1)
    assert math.isclose(2 * integrate.quad(lambda z: z**2 * noise.pdf(z), 0, math.inf)[0], 1)
    for z in (0.1, 1.0, 7.0):
        assert math.isclose(integrate.quad(noise.pdf, z, math.inf)[0], noise.sf(z))
        assert math.isclose(noise.cdf(-z), noise.sf(z))
        assert math.isclose(noise.ppf(noise.cdf(-z)), -z)
        assert math.isclose(noise.isf(noise.sf(z)), z)
    assert noise.std() == 1
    assert "private scale" in noise.unit
    refusal(lambda: noise.pmf(0), r"continuous.*\.pdf", RecordError)
    refusal(lambda: noise.scale, "smooth sensitivity, which depends on the rows", RecordError)
    assert "times the smooth sensitivity, which is private" in str(record)


def test_smooth_noise_has_one_shape_whatever_the_rows_and_the_loss() -> None:
    """Nothing of the rows, nor a scale that they decide, is in the law."""
    dp.session(epsilon=10, experimental=True)
    for rows, epsilon in ((3, 1), (500, 0.1)):
        near = dp.protect(pd.DataFrame({"a": range(rows)}), f"{rows} rows")
        found = dp.record(near["a"].median(method="smooth", bounds=(0, 1000), epsilon=epsilon))
        assert (found.noise.step, found.noise.sf(1), vars(found.noise._law)) == (1, 1 / 16, {})
        assert math.isnan(found.noise._scale)
