"""What released counts say of a parameter, by Bayes' rule: noise and sample are both known laws."""

from __future__ import annotations

import math
import numbers
import typing
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..columns.private_rows import keys_known
from ..dataclasses import dataclass
from ..errors import InternalError, QueryError, hide_internals, is_one_of, quoted
from ..frames.series import PrivateSeries
from ..privacy.accounting.losses import Loss
from ..privacy.accuracy.laws import NoiseLaw, noise_of
from ..privacy.sampling import entropy
from ..release.accuracy.expected import CONFIDENCE, parse_confidence
from ..release.blocks import split
from ..release.request import Request
from ..release.ways import Ways
from ..rows.facts.keys import Keys
from ..rows.facts.units import whole_number
from ..rows.figures import format_error, format_interval, written
from ..statistics import Layout, Likelihoods
from ..statistics.likelihoods import STEPS
from .base import LossOfAll, ProgramAnswers, Releases, of_whom, released
from .select import UnreleasedChoice

Floats = npt.NDArray[np.float64]

FAMILIES, METHODS = ("bernoulli",), ("noise-aware", "squashed")
#: Draws are of so many chances, of like distances.
CANDIDATES = 199
#: Of what a prior's largest weight is.
FINEST = 2**40
LEAST_CLIP, MOST_CLIP = 0.1, 20.0
#: What a parameter of the prior may be. Below 1/2 the density has no top.
LEAST_PRIOR, MOST_PRIOR = 0.5, 1e6
#: The chance of a noise that is further off than is looked at.
BEYOND = 1e-14
#: Counts are taken together in blocks of at most this share of the noise's deviation, and of
#: themselves. Up to a deviation of 8 nothing is taken together.
OF_NOISE, OF_COUNT = 1 / 4, 1 / 16
#: Pairs of counts whose chance is below e^-this times that of the likeliest are left out.
UNLIKELY = 32
#: Densities are integrated over so many points.
POINTS = 1025
#: The most draws.
MOST_DRAWN = 10**8


@dataclass(eq=False, repr=False)
class Posterior:
    """What released counts say of the chance of True: a distribution on [0, 1].

    It knows that the counts are noisy: it is the law of the chance given the *released* numbers,
    with the law of the noise, where each row is True by chance, whatever the others are. All that
    it tells is computed from the release, and costs nothing.

    family : "bernoulli".
    prior : (a, b) of the Beta law of the chance before the rows had a say.
    releases_ : the record of its release.

    *Guarantee*: of what `posterior` released; all else is computed from that
    (docs/proofs/posterior.md).
    """

    family: str
    prior: tuple[float, float]
    releases_: Releases
    _title: str

    @property
    def mean(self) -> float:
        """The mean of the chance."""
        return self._mixture.mean

    @property
    def std(self) -> float:
        """The standard deviation of the chance."""
        return self._mixture.std

    @property
    def loss(self) -> Loss:
        """What its release was charged."""
        return sum((each.loss for each in self.releases_), Loss())

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """(lower, upper), within which the chance lies with this probability, and on either side of
        which with the same: a credible interval."""
        rest = (1 - parse_confidence(confidence)) / 2
        low, high = self._mixture.quantiles(np.array([rest, 1 - rest])).tolist()
        return low, high

    @hide_internals
    def pdf(self, x: Any) -> Any:
        """The density of the chance, at a number or at each of an array; 0 outside of [0, 1]."""
        at = _numbers(x)
        inside = (at > 0) & (at < 1)
        found = np.zeros(at.shape)
        found[inside] = self._mixture.density(at[inside])
        return float(found) if found.ndim == 0 else found

    @hide_internals
    def cdf(self, x: Any) -> Any:
        """How likely the chance is at most x, a number or an array."""
        found = self._mixture.cumulated(np.clip(_numbers(x), 0.0, 1.0))
        return float(found) if found.ndim == 0 else found

    @hide_internals
    def sample(self, n: int = 1) -> Floats:
        """n independent draws of the chance, shape (n,), new ones each time. They cost nothing."""
        size = whole_number(n, "n", 1, MOST_DRAWN, ", the number of draws")
        mixture = self._mixture  # which may be refused
        return mixture.quantiles((entropy.SYSTEM.words(size) >> np.uint64(11)) / 2.0**53)

    @cached_property
    def _mixture(self) -> Mixture:
        record = self.releases_[0]
        if self._is_preview:
            raise QueryError(
                "this posterior was asked in a preview, of dummy answers. Ask it outside of the "
                "preview."
            )
        law = noise_of(record._law)
        if law is None:
            raise InternalError("counts have noise of a known law.")
        rest, hits = record._noisy
        return Mixture(hits, rest, law, *self.prior)

    @property
    def _is_preview(self) -> bool:
        return self.releases_[0].preview

    def __repr__(self) -> str:
        if self._is_preview:
            return f"<posterior of {self._title} in a preview: made up, and means nothing>"
        low, high = self.interval()
        return (
            f"<posterior of {self._title}: mean {written(self.mean, self.std).value}, "
            f"std {format_error(self.std)}, 95 % within {format_interval(low, high)} "
            f"(noise and sample), {self.loss.in_short}>"
        )


class Mixture:
    """The law of θ given noisy counts of True and False: for each pair of counts (n₁, n₀) its
    chance given the noisy ones, and the law Beta(n₁ + a, n₀ + b) of θ.

    Before the release each number of rows is as likely as any other. So a pair has a weight
    ∝ C(n₁+n₀, n₁) B(n₁+a, n₀+b) P[Z = y₁-n₁] P[Z = y₀-n₀] (docs/proofs/posterior.md).
    """

    def __init__(self, hits: int, rest: int, law: NoiseLaw, a: float, b: float) -> None:
        one, chance_of_one = _counts(hits, law)
        zero, chance_of_zero = _counts(rest, law)
        n1, n0 = (each.ravel() for each in np.meshgrid(one, zero, indexing="ij"))
        likely = np.add.outer(chance_of_one, chance_of_zero).ravel()
        likely += _log_gamma(n1 + n0 + 1)
        likely -= np.add.outer(_log_gamma(one + 1), _log_gamma(zero + 1)).ravel()
        beta = np.add.outer(_log_gamma(one + a), _log_gamma(zero + b)).ravel()
        beta -= _log_gamma(n1 + n0 + a + b)
        weights = likely + beta
        kept = weights > weights.max() - UNLIKELY
        self._a, self._b = n1[kept] + a, n0[kept] + b
        chances = np.exp(weights[kept] - weights.max())
        total = chances.sum()
        self._chances = chances / total
        #: The logarithm of what multiplies θ^(a-1) (1-θ)^(b-1).
        self._logs = likely[kept] - weights.max() - math.log(total)

    @property
    def mean(self) -> float:
        return float(self._chances @ (self._a / (self._a + self._b)))

    @property
    def std(self) -> float:
        whole = self._a + self._b
        middle = self._a / whole
        own = middle * (1 - middle) / (whole + 1)
        return math.sqrt(self._chances @ (own + (middle - self.mean) ** 2))

    def density(self, at: Floats) -> Floats:
        """At numbers between 0 and 1."""
        flat, found = at.ravel(), np.empty(at.size)
        for i, x in enumerate(flat.tolist()):
            logs = self._logs + (self._a - 1) * math.log(x) + (self._b - 1) * math.log1p(-x)
            found[i] = np.exp(logs).sum()
        return found.reshape(at.shape)

    def cumulated(self, at: Floats) -> Floats:
        angles, cumulated = self._cumulated
        found: Floats = np.interp(np.arcsin(np.sqrt(at)), angles, cumulated, left=0.0, right=1.0)
        return found

    def quantiles(self, chances: Floats) -> Floats:
        angles, cumulated = self._cumulated
        found: Floats = np.sin(np.interp(chances, cumulated, angles)) ** 2
        return found

    @cached_property
    def _cumulated(self) -> tuple[Floats, Floats]:
        """Angles φ, and the chance that θ ≤ sin²φ: in φ a Beta law's deviation is about 1/(2√n),
        wherever it lies."""
        middle, reach = np.arcsin(np.sqrt(self._a / (self._a + self._b))), self._a + self._b
        away = math.sqrt(UNLIKELY) / np.sqrt(reach)
        low = max(0.0, float((middle - away).min()))
        high = min(math.pi / 2, float((middle + away).max()))
        angles = np.linspace(low, high, POINTS)
        inner = np.clip(angles, 1e-9, math.pi / 2 - 1e-7)
        heights = self.density(np.sin(inner) ** 2) * np.sin(2 * inner)
        steps = (heights[1:] + heights[:-1]) / 2
        cumulated = np.concatenate([[0.0], np.cumsum(steps)])
        return angles, cumulated / cumulated[-1]


def _counts(noisy: int, law: NoiseLaw) -> tuple[Floats, Floats]:
    """Which counts a noisy one may be of, as the middles of blocks, and the logarithms of the
    chances of the noise, up to a constant."""
    deviation = math.sqrt(law.variance)
    # a count is 0 or more: Laplace noise says the same of counts from -1 or from -9 on
    noisy = max(noisy, -math.ceil(8 * deviation))
    reach = law.reach(BEYOND)
    edges = [max(0.0, noisy - reach)]
    last, widest = max(0.0, noisy + reach), max(1.0, math.floor(deviation * OF_NOISE))
    while edges[-1] <= last:
        edges.append(edges[-1] + max(1.0, min(widest, math.floor(edges[-1] * OF_COUNT))))
    ends = np.union1d(edges, [float(noisy)] if 0 < noisy < last else [])
    middles = (ends[:-1] + ends[1:] - 1) / 2
    return middles, np.log(np.diff(ends)) + law.log_density(noisy - middles)


_log_gamma_of_each = np.frompyfunc(math.lgamma, 1, 1)


def _log_gamma(at: Floats) -> Floats:
    return np.asarray(_log_gamma_of_each(at), dtype=np.float64)


def _numbers(x: Any) -> Floats:
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise QueryError(f"x={quoted(x)} must be a number, or an array of numbers.") from None


@typing.overload
def posterior(
    column: Any,
    family: str = "bernoulli",
    *,
    prior: object = (1, 1),
    method: Literal["noise-aware"] = "noise-aware",
    clip: object = 3,
    epsilon: object = None,
    rho: object = None,
) -> Posterior: ...
@typing.overload
def posterior(
    column: Any,
    family: str = "bernoulli",
    *,
    prior: object = (1, 1),
    method: Literal["squashed"],
    clip: object = 3,
    epsilon: object = None,
    rho: object = None,
) -> Any: ...
@hide_internals
def posterior(
    column: Any,
    family: str = "bernoulli",
    *,
    prior: object = (1, 1),
    method: str = "noise-aware",
    clip: object = 3,
    epsilon: object = None,
    rho: object = None,
) -> Any:
    """What the rows say of the parameter of a family, by Bayes' rule, from one release.

    column : a private column of True and False, or a mask such as ``people["income"] > 50_000``.
        Rows in which it is missing don't count.
    family : "bernoulli": each row is True with the same chance, whatever the others are.
    prior : (a, b) of the Beta law that the chance has before, from 1/2 to 10^6: (1, 1) for all
        chances alike, (1/2, 1/2) is Jeffreys'. Of the number of rows nothing is known before.
    method : "noise-aware"; or "squashed", for one private draw by the exponential mechanism, which
        is further off (docs/models.md has figures).
    clip : for the draw, how far a row's log-likelihood may lie below 0, from 0.1 to 20.
    epsilon, rho : the loss.

    The numbers of True and of False are released, and Bayes' rule is applied to what was released,
    with the exact law of the noise. So the posterior is wider than that of the exact counts, by as
    much as the noise hides; it is a law of the chance in the population that the rows are a sample
    of, and not of the share among these rows. Returns a `Posterior`, with ``mean``, ``std``,
    ``interval(0.95)``, ``pdf``, ``cdf``, ``sample(n)`` and ``releases_``.

    "squashed" returns a number: one of 0.005, 0.01, …, 0.995, with a chance ∝ prior · exp(epsilon ·
    log-likelihood/clip). Its error is how far its clipped log-likelihood may lie below the best.

    Raises `QueryError` for a column of anything else or a strange prior; nothing is charged then.

    *Guarantee*: epsilon-differential privacy of the unit, of the two counts; what is computed from
    them costs nothing (Bernstein and Sheldon, "Differentially private Bayesian inference for
    exponential families", NeurIPS 2018); or of the draw (McSherry and Talwar, FOCS 2007; Wang,
    Fienberg and Smola, "Privacy for free", ICML 2015, Theorem 1; docs/proofs/posterior.md).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"smokes": [True, False, False, False] * 100})
    >>> found = dp.models.posterior(df.dp["smokes"], "bernoulli", epsilon=1)
    >>> low, high = found.interval(0.999999)
    >>> low < 0.25 < high, found.pdf(0.25) > found.pdf(0.5), found.sample(3).shape
    (True, True, (3,))
    """
    _check(column, family, method)
    law, answered = _prior(prior), ProgramAnswers()
    if method == "squashed":
        return UnreleasedChoice._ask(_draw(column, law, clip), Ways(epsilon, rho))

    def program(loss: LossOfAll) -> Releases:
        with split.split(loss[0], rho=loss[1], shares=[1]):
            answered(column.value_counts(keys=[False, True]))
        return Releases(answered.records)

    title = of_whom(column).removeprefix(" of ")
    told, said = f"posterior of {title}", Ways(epsilon, rho)
    return Posterior(family, law, released("posterior", told, said, answered, program), title)


def _check(column: Any, family: object, method: object) -> None:
    """Refuse what has no posterior, by public facts."""
    if not isinstance(column, PrivateSeries):
        raise QueryError(
            f"posterior takes a private column, not a {type(column).__name__}. Write "
            'people["smokes"] for a frame of dp.protect(…), or df.dp["smokes"].'
        )
    if not is_one_of(family, FAMILIES):
        raise QueryError(f'family={quoted(family)} must be "bernoulli", for True and False.')
    known = keys_known(column._table, column._expression)
    if known is None or {*known.labels} != {False, True} or not _are_truths(known):
        raise QueryError(
            'the family "bernoulli" is of True and False. Give a column of these, or a mask such '
            'as people["income"] > 50_000.'
        )
    if not is_one_of(method, METHODS):
        raise QueryError(f"method={quoted(method)} must be 'noise-aware' or 'squashed'.")


def _draw(column: PrivateSeries, prior: tuple[float, float], clip: object) -> Request:
    """A draw from the squashed posterior, which isn't made yet."""
    deepest, (a, b) = _clip(clip), prior
    chances = np.arange(1, CANDIDATES + 1) / (CANDIDATES + 1)
    of_true, of_false = (
        np.rint(STEPS * np.log(each)).astype(int).clip(-deepest, 0) + deepest
        for each in (chances, 1 - chances)
    )
    logs = (a - 1) * np.log(chances) + (b - 1) * np.log1p(-chances)
    whole = np.maximum(np.rint(np.exp(logs - logs.max()) * FINEST), 1).astype(int)
    layout = Layout(integer=True, index=pd.Index(chances.tolist(), dtype=object))
    scores = tuple(of_false.tolist()), tuple(of_true.tolist())
    cells = column._cells([column.name], [False, True])
    statistic = Likelihoods(cells, layout, scores, tuple(whole.tolist()))
    options = ("clip", f"{deepest / STEPS:g}"), ("prior", f"({a:g}, {b:g})")
    what = column._asks("posterior draw", (), *options)
    return UnreleasedChoice._of(column._table, column._where, statistic, what)


def _clip(given: Any) -> int:
    """How far log-likelihoods may lie below 0, in steps."""
    is_number = isinstance(given, numbers.Real) and not isinstance(given, bool | np.bool_)
    if not is_number or not LEAST_CLIP <= float(given) <= MOST_CLIP:
        raise QueryError(f"clip={quoted(given)} must be a number from 0.1 to 20, such as 3.")
    return round(STEPS * float(given))


def _are_truths(keys: Keys) -> bool:
    """Not 0 and 1, which equal them."""
    return all(isinstance(each, bool | np.bool_) for each in keys.labels)


def _prior(given: Any) -> tuple[float, float]:
    """(a, b) of a Beta law."""
    if isinstance(given, list | tuple) and len(given) == 2 and all(map(_is_prior, given)):
        a, b = map(float, given)
        return a, b
    raise QueryError(
        f"prior={quoted(given)} must be (a, b) of a Beta law, two numbers from 0.5 to 1,000,000, "
        "such as (1, 1)."
    )


def _is_prior(value: Any) -> bool:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    return is_number and LEAST_PRIOR <= float(value) <= MOST_PRIOR
