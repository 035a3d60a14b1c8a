"""Posteriors of families of several cells, against sums over all counts that may be behind noisy
ones, and how often parameters lie in their intervals."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal
from scipy import special, stats

import dppandas as dp
from dppandas.models import posterior
from dppandas.models.bayes.families import Geometric, Normal, Poisson
from dppandas.models.bayes.grids import Grid
from dppandas.models.bayes.shares import Counts
from dppandas.models.posterior import BEYOND, Mixture, _counts
from dppandas.privacy.accuracy.laws import noise_of
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.rows.facts.bounds import Bounds
from dppandas.types import JointPosterior, Posterior

#: So much loss that no noise is seen.
ALL = 64
NOISES = {
    "one": DiscreteLaplace(Fraction(1)),
    "hardly any": DiscreteLaplace(Fraction(1, 5)),
    "Gaussian": DiscreteGaussian(Fraction(4)),
}
MOST = 32


def likelihoods(noisy: tuple[int, ...], law: Any, chances: Any) -> Any:
    """The chance of noisy counts for each column of chances of cells, with every number of rows
    alike, by a sum over all counts below `MOST`."""
    n = np.array(list(itertools.product(range(MOST), repeat=len(noisy)))).T
    logs = sum(law.log_density(y - each) for y, each in zip(noisy, n, strict=True))
    kept = logs > logs.max() - 32
    n, logs = n[:, kept], logs[kept] + special.gammaln(n[:, kept].sum(axis=0) + 1)
    logs -= special.gammaln(n[:, kept[kept]] + 1).sum(axis=0)
    return np.exp(n.T @ np.log(np.maximum(chances, 1e-300)) + logs[:, None]).sum(axis=0)


def trapezoid(y: Any, x: Any, axis: int = -1) -> Any:
    return np.trapezoid(y, x, axis=axis)


LAMBDAS = np.linspace(1e-3, 6, 1501) ** 2
CHANCES = np.sin(np.linspace(1e-4, math.pi / 2 - 1e-4, 1501)) ** 2


@pytest.mark.parametrize("noisy", [(3, 1, 2), (-3, 0, 9), (12, 5, -1)], ids=str)
@pytest.mark.parametrize("noise", NOISES)
def test_of_counts_it_is_the_sum_over_all_counts(noise: str, noisy: tuple[int, ...]) -> None:
    law: Any = noise_of(NOISES[noise])
    top = Bounds(0, 2)
    poisson: Any = Poisson.of(top, 32, (2, 0.5))
    p = np.stack([stats.poisson.pmf(k, LAMBDAS) for k in (0, 1)])
    heights = likelihoods(noisy, law, np.vstack([p, 1 - p.sum(axis=0)]))
    check(poisson, noisy, law, LAMBDAS, heights * stats.gamma.pdf(LAMBDAS, 2, scale=2))
    geometric: Any = Geometric.of(Bounds(1, 3), 32, (1, 2))
    p = np.stack([stats.geom.pmf(k, CHANCES) for k in (1, 2)])
    heights = likelihoods(noisy, law, np.vstack([p, 1 - p.sum(axis=0)]))
    check(geometric, noisy, law, CHANCES, heights * stats.beta.pdf(CHANCES, 1, 2))


def check(family: Any, noisy: tuple[int, ...], law: Any, x: Any, heights: Any) -> None:
    """That a grid has the mean, deviation and chances of a density that is given by heights."""
    (found,) = Grid(family, [_counts(y, law) for y in noisy]).marginals()
    density = heights / trapezoid(heights, x)
    mean = trapezoid(density * x, x)
    std = math.sqrt(trapezoid(density * (x - mean) ** 2, x))
    assert abs(found.mean - mean) < 1e-3 * std
    assert abs(found.std / std - 1) < 1e-3
    steps = np.diff(x) * (density[1:] + density[:-1]) / 2
    cumulated = np.concatenate([[0], np.cumsum(steps)])
    at = np.interp([0.05, 0.3, 0.8, 0.99], cumulated, x)
    chances = np.interp(at, x, cumulated)
    assert np.allclose(found.cumulated(at), chances, atol=2e-3)
    assert np.allclose(found.density(at), np.interp(at, x, density), rtol=5e-3)
    assert np.allclose(found.cumulated(found.quantiles(at * 0 + 0.3)), 0.3)


def test_of_numbers_it_is_the_sum_over_all_counts() -> None:
    law: Any = noise_of(NOISES["one"])
    family: Any = Normal.of(Bounds(0, 3), 3, {"loc": (1, 1), "scale": (0.2, 4)})
    noisy, mean, log = (
        (2, 7, 1),
        np.linspace(-5, 7, 121),
        np.linspace(math.log(0.2), math.log(4), 61),
    )
    m, s = (each.ravel() for each in np.meshgrid(mean, np.exp(log), indexing="ij"))
    below = np.stack([stats.norm.cdf(edge, m, s) for edge in (1, 2)])
    chances = np.diff(np.vstack([0 * m, below, 0 * m + 1]), axis=0)
    heights = (likelihoods(noisy, law, chances) * stats.norm.pdf(m, 1, 1)).reshape(121, 61)
    grid = Grid(family, [_counts(y, law) for y in noisy])
    for found, x, other, axis in ((0, mean, log, 1), (1, log, mean, 0)):
        density = trapezoid(heights, other, axis=axis)
        density = density / trapezoid(density, x)
        values, law_of_one = (np.exp(x) if found else x), grid.marginals()[found]
        middle = trapezoid(density * values, x)
        assert abs(law_of_one.mean - middle) < 3e-3
        deviation = math.sqrt(trapezoid(density * (values - middle) ** 2, x))
        assert abs(law_of_one.std / deviation - 1) < 5e-3


@pytest.mark.parametrize("prior", [(1, 1, 1), (0.5, 3, 8)], ids=str)
@pytest.mark.parametrize("noisy", [(3, 1, 2), (-3, 0, 9), (12, 5, -1)], ids=str)
@pytest.mark.parametrize("noise", NOISES)
def test_of_labels_it_is_the_sum_over_all_counts(
    noise: str, noisy: tuple[int, ...], prior: tuple[float, ...]
) -> None:
    law: Any = noise_of(NOISES[noise])
    n = np.stack([x.ravel() for x in np.meshgrid(*[np.arange(MOST)] * 3, indexing="ij")])
    logs = sum(law.log_density(y - each) for y, each in zip(noisy, n, strict=True))
    a = np.array(prior)[:, None]
    logs += special.gammaln(n.sum(axis=0) + 1) - special.gammaln(n + 1).sum(axis=0)
    logs += special.gammaln(n + a).sum(axis=0) - special.gammaln((n + a).sum(axis=0))
    kept = logs > logs.max() - 36
    weights, n = np.exp(logs[kept] - logs.max()), n[:, kept] + a
    weights /= weights.sum()
    others = Counts(noisy, law, prior, law.reach(BEYOND)).others()
    for i, rest in enumerate(others):
        found = Mixture(_counts(noisy[i], law), rest, prior[i], sum(prior) - prior[i])
        own, whole = n[i], n.sum(axis=0)
        mean = float(weights @ (own / whole))
        square = float(weights @ (own * (own + 1) / (whole * (whole + 1))))
        assert abs(found.mean - mean) < 1e-4
        assert abs(found.std / math.sqrt(square - mean**2) - 1) < 2e-3
        at = np.array([0.05, 0.2, 0.5, 0.8])
        chances = [weights @ special.betainc(own, whole - own, x) for x in at]
        assert np.allclose(found.cumulated(at), chances, atol=1e-3)


#: How often posteriors are made, and how many 90 % intervals then hold, with 1 - 3 · 10^-7.
TIMES = 120
LEAST = int(stats.binom.ppf(3e-7, TIMES, 0.9))
FAMILIES: dict[str, Any] = {
    "poisson": (Poisson.of(Bounds(0, 20), 32, None), lambda r: (r.gamma(1, 20),)),
    "geometric": (Geometric.of(Bounds(1, 20), 12, None), lambda r: (r.beta(1, 1),)),
    "normal": (
        Normal.of(Bounds(0, 100), 16, {"scale": (2, 100)}),
        lambda r: (r.normal(50, 50), math.exp(r.uniform(math.log(2), math.log(100)))),
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_parameters_lie_in_their_intervals_as_often_as_they_say(name: str) -> None:
    """120 parameters that the prior draws, with numbers of rows alike up to 150. Of 90 % intervals,
    `LEAST` or more hold, or a right program fails with a probability below 10^-6."""
    random, law = np.random.default_rng(7), DiscreteLaplace(Fraction(3))
    family, drawn = FAMILIES[name]
    noise: Any = noise_of(law)
    held = np.zeros(len(family.names))
    for _ in range(TIMES):
        parameters, n = drawn(random), int(random.integers(0, 150))
        x = getattr(random, name)(*parameters, n)
        cells = np.searchsorted(family.edges, x) - 1
        counts = np.bincount(cells, minlength=len(family.edges) - 1)
        noisy = law.release(counts.tolist())
        laws = Grid(family, [_counts(y, noise) for y in noisy]).marginals()
        for i, (each, parameter) in enumerate(zip(laws, parameters, strict=True)):
            held[i] += 0.05 <= each.cumulated(np.array([parameter]))[0] <= 0.95
    assert (held >= LEAST).all(), held


def test_chances_of_labels_lie_in_their_intervals_as_often_as_they_say() -> None:
    """120 times three chances, as above."""
    random, law, prior = np.random.default_rng(8), DiscreteLaplace(Fraction(3)), [1, 1, 1]
    noise: Any = noise_of(law)
    held = np.zeros(3)
    for _ in range(TIMES):
        chances, n = random.dirichlet(prior), int(random.integers(0, 150))
        noisy = law.release(random.multinomial(n, chances).tolist())
        others = Counts(noisy, noise, prior, noise.reach(BEYOND)).others()
        for i, rest in enumerate(others):
            found = Mixture(_counts(noisy[i], noise), rest, 1, 2)
            held[i] += 0.05 <= found.cumulated(chances[i : i + 1])[0] <= 0.95
    assert (held >= LEAST).all(), held


# --- as it is asked -------------------------------------------------------------------------------


def people(rows: int = 400, **how: Any) -> Any:
    """Rows whose figures are known: a label, a count, tries and a number."""
    i = np.arange(rows)
    frame = pd.DataFrame(
        {
            "city": np.array(["a", "b", "b", "c"])[i % 4],
            "visits": np.array([0, 1, 2, 5])[i % 4],
            "tries": np.array([1, 1, 2, 4])[i % 4],
            "size": 170 + 8 * stats.norm.ppf((i + 0.5) / rows),
        }
    )
    domain = {"city": ["a", "b", "c"], "visits": (0, 20), "tries": (1, 30), "size": (130, 210)}
    if how:
        frame["who"] = i // 2
    return dp.protect(frame, name="people", domain=domain, **how)


def test_without_noise_they_are_the_laws_of_textbooks() -> None:
    anew(epsilon=9 * ALL)
    p = people()
    found = posterior(p["visits"], "poisson", prior=(2, 3), epsilon=ALL)
    assert isinstance(found, Posterior)
    exact: Any = stats.gamma(2 + 800, scale=1 / 403)
    assert found.mean == pytest.approx(exact.mean(), rel=1e-5)
    assert found.std == pytest.approx(exact.std(), rel=1e-3)
    assert found.interval(0.9) == pytest.approx(exact.interval(0.9), abs=1e-4)
    assert found.pdf([2, 2.1]) == pytest.approx(exact.pdf([2, 2.1]), rel=1e-3)
    assert [found.pdf(-1), found.cdf(-1), found.cdf(0), found.cdf(99)] == [0, 0, 0, 1]
    found = posterior(p["tries"], "geometric", epsilon=ALL)
    exact = stats.beta(1 + 400, 1 + 400)
    assert found.mean == pytest.approx(exact.mean(), rel=1e-5)
    assert found.interval(0.9) == pytest.approx(exact.interval(0.9), abs=1e-4)
    assert [found.pdf(x) for x in (-1, 2)] == [0, 0]
    joint = posterior(p["city"], "categorical", prior={"a": 1, "c": 3, "b": 2}, epsilon=ALL)
    assert isinstance(joint, JointPosterior)
    assert joint.mean["b"] == pytest.approx(202 / 406)
    assert joint.interval(0.9).loc["c"].tolist() == pytest.approx(
        stats.beta(103, 303).interval(0.9), abs=1e-4
    )
    joint = posterior(p["size"], "normal", bins=256, epsilon=ALL)
    assert joint.mean["loc"] == pytest.approx(170, abs=0.1)
    assert joint.std["loc"] == pytest.approx(8 / 20, rel=0.03)
    assert joint.mean["scale"] == pytest.approx(8, abs=0.1)
    assert joint.std["scale"] == pytest.approx(8 / math.sqrt(800), rel=0.05)


def test_joint_ones_have_a_number_for_each_parameter() -> None:
    anew(epsilon=9)
    p = people()
    for column, family, labels in (
        ("city", "categorical", ["a", "b", "c"]),
        ("size", "normal", ["loc", "scale"]),
    ):
        found: Any = posterior(p[column], family, epsilon=1)
        for series in (found.mean, found.std, found.pdf(0.25), found.cdf(0.25)):
            assert series.index.tolist() == labels
        assert found.interval().columns.tolist() == ["lower", "upper"]
        assert found.to_frame().shape == (len(labels), 4)
        assert found.pdf([0.1, 0.2]).shape == found.cdf([0.1, 0.2]).shape == (2, len(labels))
        drawn = found.sample(20_000)  # five standard errors: below 10^-5 for all
        assert drawn.columns.tolist() == labels
        assert ((drawn.mean() - found.mean).abs() < 5 * found.std / math.sqrt(20_000)).all()
        assert np.allclose(drawn.std(), found.std, rtol=0.05)
        assert not drawn.equals(found.sample(20_000))
        assert "95 % intervals (noise and sample), ε = 1" in repr(found)
        assert labels[0] in found._repr_html_()
        assert "flat list" in refusal(lambda each=found: each.pdf([[1]]))
    assert np.allclose(posterior(p["city"], "categorical", epsilon=1).sample(9).sum(axis=1), 1)


def test_numbers_beyond_the_bounds_are_those_of_outer_cells() -> None:
    """A normal law whose mean lies at the end of the bounds: clipped numbers would move it by 3."""
    anew(epsilon=2 * ALL)
    found = posterior(people()["size"], "normal", bounds=(170, 250), epsilon=ALL)
    assert found.mean["loc"] == pytest.approx(170, abs=1.5)
    assert found.mean["scale"] == pytest.approx(8, abs=1.5)


@pytest.mark.parametrize(
    ("column", "family", "how", "told"),
    [
        ("city", "poisson", {}, "this needs numbers"),
        ("city", "bernoulli", {}, 'there is "categorical"'),
        ("size", "categorical", {}, "keys= is needed"),
        ("size", "normal", {"keys": ["a"]}, "has no keys="),
        ("city", "categorical", {"bins": 9}, "has no bins="),
        ("city", "categorical", {"keys": ["a"]}, "it takes 2 to 64"),
        ("city", "categorical", {"prior": [1, 1]}, "one for each of 3 labels"),
        ("city", "categorical", {"prior": {"a": 1, "b": 1, "d": 1}}, "one for each of 3 labels"),
        ("city", "categorical", {"method": "squashed"}, "needs a short list"),
        ("visits", "poisson", {"bounds": (0, 10**6)}, "must end between 1 and 10,000"),
        ("visits", "poisson", {"prior": (1, 0)}, "two numbers of a gamma law"),
        ("visits", "poisson", {"bins": 1000}, "bins"),
        ("tries", "geometric", {"prior": (0.1, 1)}, "two numbers of a Beta law"),
        ("tries", "geometric", {"bounds": (0, 1)}, "must end between 2"),
        ("size", "normal", {"prior": (1, 1)}, "must be a dict"),
        ("size", "normal", {"prior": {"mean": (1, 1)}}, "must be a dict"),
        ("size", "normal", {"prior": {"scale": (2, 1)}}, "the second limit above the first"),
        ("size", "normal", {"prior": {"loc": (2, -1)}}, "two numbers of loc"),
    ],
    ids=str,
)  # fmt: skip
def test_what_no_family_has_is_refused_free_of_charge(
    column: str, family: str, how: dict[str, Any], told: str
) -> None:
    session = anew(epsilon=1)
    ask: Any = posterior
    assert told in refusal(lambda: ask(people()[column], family, **{"epsilon": 1} | how))
    assert str(session.remaining) == "1"


@pytest.mark.parametrize("method", ["noise-aware", "squashed"])
@pytest.mark.parametrize("family", ["bernoulli", "categorical", "geometric", "normal", "poisson"])
def test_several_rows_of_a_unit_are_refused_free_of_charge(family: Any, method: Any) -> None:
    session, p = anew(epsilon=1), people(unit="who", max_rows=2)
    columns = {"categorical": "city", "geometric": "tries", "normal": "size", "poisson": "visits"}
    of: Any = p[columns[family]] if family in columns else p["visits"] < 2
    said = refusal(lambda: posterior(of, family, method=method, epsilon=1))
    assert "may have 2 rows of a unit" in said
    assert ".per_unit()" in said
    assert str(session.remaining) == "1"
    one: Any = p.per_unit().agg(size=("size", "mean"))
    assert posterior(one["size"], "normal", epsilon=1).loss.epsilon == 1


def test_cells_of_counts_grow_as_squares() -> None:
    starts = Poisson.of(Bounds(0, 1000), 32, None).starts
    assert starts[:4] == (0, 1, 4, 9)
    assert starts[-1] == 1000
    assert len(starts) <= 32
    assert Geometric.of(Bounds(0, 9), 32, None).starts == tuple(range(1, 10))


# --- a draw ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "family"), [("visits", "poisson"), ("tries", "geometric"), ("size", "normal")]
)
def test_a_row_moves_a_score_of_a_draw_by_the_clip_at_most(column: str, family: str) -> None:
    question: Any = posterior(people()[column], family, method="squashed", clip=2)
    statistic = question._request.statistic
    scores = np.array(statistic.scores)
    assert scores.min() >= 0
    assert scores.max() == statistic.linf == 2 * 1024
    assert (scores.max(axis=1) == 2048).all(), "each cell has a candidate that suits it best"


def test_a_draw_has_the_law_of_prior_and_clipped_likelihood() -> None:
    question: Any = posterior(
        people()["tries"], "geometric", method="squashed", prior=(3, 2), clip=4
    )
    statistic = question._request.statistic
    labels = np.array(statistic.layout.index.tolist())
    assert len(labels) == 199
    logs = np.stack([stats.geom.logpmf(k, labels) for k in range(1, 30)])
    logs = np.vstack([logs, stats.geom.logsf(29, labels)])
    exact = np.maximum(logs - logs.max(axis=1, keepdims=True), -4)
    assert len(statistic.scores) == 30
    # at ε where each row weighs as much as in the plain posterior, up to clipping
    assert np.allclose(np.array(statistic.scores) / 1024 - 4, exact, atol=2e-3)
    weights = stats.beta.pdf(labels, 3, 2)
    found = np.array(statistic.prior) / max(statistic.prior)
    assert np.allclose(found, weights / weights.max(), rtol=1e-3)


def test_a_draw_lies_near() -> None:
    """At ε = 3 it is nearly a draw from the posterior of the rows: 0.5 with a deviation of 0.02."""
    anew(epsilon=10**6)
    p = people()
    drawn = [
        float(posterior(p["tries"], "geometric", method="squashed", epsilon=3 + i / 99))
        for i in range(8)
    ]
    assert all(0.2 < each < 0.8 for each in drawn)
    pair = posterior(p["size"], "normal", method="squashed", clip=8, epsilon=8)
    assert abs(pair[0] - 170) < 10
    assert 2 < pair[1] < 25
