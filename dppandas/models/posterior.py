"""What released counts say of a parameter, by Bayes' rule: noise and sample are both known laws."""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..columns.private_rows import declared_keys, keys_known
from ..columns.ranges import bounds_of
from ..dataclasses import dataclass
from ..errors import InternalError, QueryError, hide_internals, is_one_of, quoted
from ..frames.series import PrivateSeries
from ..privacy.accounting.losses import Loss
from ..privacy.accuracy.laws import NoiseLaw, noise_of
from ..privacy.sampling import entropy
from ..release.accuracy.expected import CONFIDENCE, parse_confidence
from ..release.answers.populations import check_rows
from ..release.blocks import split
from ..release.request import Request
from ..release.ways import Ways
from ..rows import html_tables
from ..rows.facts.keys import Keys
from ..rows.facts.units import whole_number
from ..rows.figures import format_error, within
from ..rows.sentences import ShownInSentences
from ..statistics import Layout, Likelihoods
from ..statistics.likelihoods import STEPS
from .base import LossOfAll, ProgramAnswers, Releases, of_whom, released
from .bayes import families
from .bayes.families import LEAST_PRIOR, MOST_PRIOR, OF_NUMBERS, Family, is_number
from .bayes.families import log_gamma as _log_gamma
from .bayes.grids import Grid
from .bayes.scales import Marginal
from .bayes.shares import Counts
from .select import UnreleasedChoice

Floats = npt.NDArray[np.float64]

FAMILIES, METHODS = ("bernoulli", "categorical", *OF_NUMBERS), ("noise-aware", "squashed")
#: The most categories.
MOST_CATEGORIES = 64
#: Of what a prior's largest weight is.
FINEST = 2**40
LEAST_CLIP, MOST_CLIP = 0.1, 20.0
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


class Found(ShownInSentences):
    """A law of parameters given what was released."""

    family: str
    prior: Any
    releases_: Releases
    _title: str

    #: Where its intervals are, for those who ask elsewhere.
    _intervals_by: ClassVar[str] = ".interval()"

    @property
    def loss(self) -> Loss:
        """What its release was charged."""
        return self.releases_.loss

    @property
    def _is_preview(self) -> bool:
        return self.releases_[0].preview

    @property
    def _told(self) -> str:
        """What was found, in words."""
        raise NotImplementedError

    def _sentences(self) -> list[str]:
        made_up = f"<posterior of {self._title} in a preview: made up, and means nothing>"
        return [made_up if self._is_preview else self._told]

    def _answer(self) -> tuple[Sequence[int], NoiseLaw]:
        """The noisy counts, and the law of their noise."""
        record = self.releases_[0]
        if self._is_preview:
            raise QueryError(
                "this posterior was asked in a preview, of dummy answers. Ask it outside of the "
                "preview."
            )
        law = noise_of(record._law)
        if law is None:
            raise InternalError("counts have noise of a known law.")
        return record._noisy, law


@dataclass(eq=False, repr=False)
class Posterior(Found):
    """What released counts say of one parameter: of the chance of True of the family "bernoulli",
    of the mean of "poisson", or of the chance of success of "geometric".

    It knows that the counts are noisy: it is the law of the parameter given the *released* numbers,
    with the law of the noise, where rows are of the family, each whatever the others are. All that
    it tells is computed from the release, and costs nothing.

    family : as it was asked.
    prior : the two numbers of the law of the parameter before the rows had a say.
    releases_ : the record of its release.

    *Guarantee*: of what `posterior` released; all else is computed from that
    (docs/proofs/posterior.md).
    """

    family: str
    prior: tuple[float, float]
    releases_: Releases
    _title: str
    _cells: Family | None = None  # of numbers

    @property
    def mean(self) -> float:
        """The mean of the parameter."""
        return self._law.mean

    @property
    def std(self) -> float:
        """The standard deviation of the parameter."""
        return self._law.std

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """(lower, upper), within which the parameter lies with this probability, and on either side
        of which with the same: a credible interval."""
        rest = (1 - parse_confidence(confidence)) / 2
        low, high = self._law.quantiles(np.array([rest, 1 - rest])).tolist()
        return low, high

    @hide_internals
    def pdf(self, x: Any) -> Any:
        """The density of the parameter, at a number or at each of an array; 0 where it can't be,
        and at the ends of where it can."""
        found = self._law.density(_numbers(x))
        return float(found) if found.ndim == 0 else found

    @hide_internals
    def cdf(self, x: Any) -> Any:
        """How likely the parameter is at most x, a number or an array."""
        found = self._law.cumulated(_numbers(x))
        return float(found) if found.ndim == 0 else found

    @hide_internals
    def sample(self, n: int = 1) -> Floats:
        """n independent draws of the parameter, shape (n,), new ones each time. They cost
        nothing."""
        size = whole_number(n, "n", 1, MOST_DRAWN, ", the number of draws")
        law = self._law  # which may be refused
        return law.quantiles((entropy.SYSTEM.words(size) >> np.uint64(11)) / 2.0**53)

    @cached_property
    def _law(self) -> Mixture | Marginal:
        noisy, law = self._answer()
        if self._cells is not None:
            return Grid(self._cells, [_counts(each, law) for each in noisy]).marginals()[0]
        rest, hits = noisy
        return of_two(hits, rest, law, *self.prior)

    @property
    def _told(self) -> str:
        mean = within(self.mean, *self.interval())
        return (
            f"<posterior of {self._title}: mean {mean.value}, std {format_error(self.std)}, "
            f"95 % within {mean.said.strip('()')} (noise and sample), {self.loss.in_short}>"
        )


@dataclass(eq=False, repr=False)
class JointPosterior(Found):
    """What released counts say of several parameters: of the chance of each category of the family
    "categorical", or of loc and scale, mean and deviation, of "normal".

    The prior of "normal": a normal law of loc, by default with the middle and half the width of the
    bounds, and a law of scale whose logarithm is as likely anywhere between two limits, by default
    width/200 and width. Numbers of a Dirichlet law are 1/2 or more.

    As `Posterior`, with a number for each parameter: `mean`, `std`, and `pdf` and `cdf` of a number
    are Series by parameter; `interval`, `sample`, and `pdf` and `cdf` of an array are DataFrames.

    family : as it was asked.
    prior : the numbers of the law of the parameters before the rows had a say.
    releases_ : the record of its release.

    *Guarantee*: of what `posterior` released; all else is computed from that
    (docs/proofs/posterior.md).
    """

    family: str
    prior: Any
    releases_: Releases
    _title: str
    _labels: pd.Index
    _cells: Family | None = None  # of numbers

    @property
    def mean(self) -> pd.Series[float]:
        """The mean of each parameter."""
        return self._each([law.mean for law in self._laws], "mean")

    @property
    def std(self) -> pd.Series[float]:
        """The standard deviation of each parameter."""
        return self._each([law.std for law in self._laws], "std")

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE) -> pd.DataFrame:
        """lower and upper of each parameter, within which it lies with this probability, and on
        either side of which with the same: credible intervals, each by itself."""
        rest = (1 - parse_confidence(confidence)) / 2
        ends = [law.quantiles(np.array([rest, 1 - rest])) for law in self._laws]
        return pd.DataFrame(np.stack(ends), index=self._labels, columns=["lower", "upper"])

    @hide_internals
    def pdf(self, x: Any) -> Any:
        """The density of each parameter, at a number (a Series) or at each of an array (a DataFrame
        with a row for each)."""
        at = _numbers(x)
        return self._at(at, [law.density(at) for law in self._laws], "pdf")

    @hide_internals
    def cdf(self, x: Any) -> Any:
        """How likely each parameter is at most x: a number (a Series) or an array (a DataFrame with
        a row for each)."""
        at = _numbers(x)
        return self._at(at, [law.cumulated(at) for law in self._laws], "cdf")

    @hide_internals
    def sample(self, n: int = 1) -> pd.DataFrame:
        """n independent draws of all parameters together, a row for each, new ones each time. They
        cost nothing."""
        size = whole_number(n, "n", 1, MOST_DRAWN // 100, ", the number of draws")
        source = self._source  # which may be refused
        return pd.DataFrame(source.drawn(size), columns=self._labels)

    @cached_property
    def _source(self) -> Grid | Counts:
        noisy, law = self._answer()
        if self._cells is not None:
            return Grid(self._cells, [_counts(each, law) for each in noisy])
        return Counts(noisy, law, list(self.prior.values()), law.reach(BEYOND))

    @cached_property
    def _laws(self) -> list[Any]:
        source = self._source
        if isinstance(source, Grid):
            return source.marginals()
        noisy, law = self._answer()
        prior, others = list(self.prior.values()), source.others()
        return [
            Mixture(_counts(y, law), rest, a, sum(prior) - a)
            for y, a, rest in zip(noisy, prior, others, strict=True)
        ]

    def _each(self, numbers: Sequence[Any], name: str) -> pd.Series[Any]:
        return pd.Series(numbers, index=self._labels, name=name)

    def _at(self, at: Floats, found: Sequence[Floats], name: str) -> Any:
        """By parameter, or by number and parameter."""
        if at.ndim > 1:
            raise QueryError("x= must be a number, or a flat list of numbers.")
        if not at.ndim:
            return self._each([float(each) for each in found], name)
        return pd.DataFrame(np.stack(found, axis=1), index=at, columns=self._labels)

    def to_frame(self) -> pd.DataFrame:
        """The mean, the deviation and a 95 % interval of each parameter."""
        return pd.concat([self.mean, self.std, self.interval()], axis=1)

    @property
    def _told(self) -> str:
        told = f"posterior of {self._title}, with 95 % intervals (noise and sample), "
        return told + self.loss.in_short

    def _sentences(self) -> list[str]:
        told = super()._sentences()
        return told if self._is_preview else [*told, *str(self.to_frame()).splitlines()]

    def _repr_html_(self) -> str:
        if self._is_preview:
            return super()._repr_html_()
        table = html_tables.of_frame(self.to_frame()).html()
        return html_tables.card("posterior", html_tables.title(self._told), table)


class Mixture:
    """The law of θ given noisy counts of True and False: for each pair of counts (n₁, n₀) its
    chance given the noisy ones, and the law Beta(n₁ + a, n₀ + b) of θ.

    Before the release each number of rows is as likely as any other. So a pair has a weight
    ∝ C(n₁+n₀, n₁) B(n₁+a, n₀+b) P[Z = y₁-n₁] P[Z = y₀-n₀] (docs/proofs/posterior.md).

    ones, zeros : the counts that may be, and the logarithms of the chances P[Z = y - n].
    """

    def __init__(
        self, ones: tuple[Floats, Floats], zeros: tuple[Floats, Floats], a: float, b: float
    ) -> None:
        (one, chance_of_one), (zero, chance_of_zero) = ones, zeros
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
        """At numbers, 0 outside of (0, 1)."""
        found, inside = np.zeros(at.shape), (at > 0) & (at < 1)
        found[inside] = self._density(at[inside])
        return found

    def _density(self, at: Floats) -> Floats:
        flat, found = at.ravel(), np.empty(at.size)
        for i, x in enumerate(flat.tolist()):
            logs = self._logs + (self._a - 1) * math.log(x) + (self._b - 1) * math.log1p(-x)
            found[i] = np.exp(logs).sum()
        return found.reshape(at.shape)

    def cumulated(self, at: Floats) -> Floats:
        angles, cumulated = self._cumulated
        at_angles = np.arcsin(np.sqrt(np.clip(at, 0.0, 1.0)))
        found: Floats = np.interp(at_angles, angles, cumulated, left=0.0, right=1.0)
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
        heights = self._density(np.sin(inner) ** 2) * np.sin(2 * inner)
        steps = (heights[1:] + heights[:-1]) / 2
        cumulated = np.concatenate([[0.0], np.cumsum(steps)])
        return angles, cumulated / cumulated[-1]


def of_two(hits: int, rest: int, law: NoiseLaw, a: float, b: float) -> Mixture:
    """That of noisy counts of True and False."""
    return Mixture(_counts(hits, law), _counts(rest, law), a, b)


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
        most = math.floor(min(edges[-1] * OF_COUNT, math.sqrt(edges[-1])))
        edges.append(edges[-1] + max(1.0, min(widest, most)))
    ends = np.union1d(edges, [float(noisy)] if 0 < noisy < last else [])
    middles = (ends[:-1] + ends[1:] - 1) / 2
    return middles, np.log(np.diff(ends)) + law.log_density(noisy - middles)


def _numbers(x: Any) -> Floats:
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise QueryError(f"x={quoted(x)} must be a number, or an array of numbers.") from None


@typing.overload
def posterior(
    column: Any,
    family: Literal["bernoulli", "geometric", "poisson"] = "bernoulli",
    *,
    prior: object = None,
    method: Literal["noise-aware"] = "noise-aware",
    clip: object = 3,
    keys: object = None,
    bounds: object = None,
    bins: object = None,
    epsilon: object = None,
    rho: object = None,
) -> Posterior: ...
@typing.overload
def posterior(
    column: Any,
    family: Literal["categorical", "normal"],
    *,
    prior: object = None,
    method: Literal["noise-aware"] = "noise-aware",
    clip: object = 3,
    keys: object = None,
    bounds: object = None,
    bins: object = None,
    epsilon: object = None,
    rho: object = None,
) -> JointPosterior: ...
@typing.overload
def posterior(
    column: Any,
    family: str = "bernoulli",
    *,
    prior: object = None,
    method: Literal["squashed"],
    clip: object = 3,
    keys: object = None,
    bounds: object = None,
    bins: object = None,
    epsilon: object = None,
    rho: object = None,
) -> Any: ...
@hide_internals
def posterior(
    column: Any,
    family: str = "bernoulli",
    *,
    prior: object = None,
    method: str = "noise-aware",
    clip: object = 3,
    keys: object = None,
    bounds: object = None,
    bins: object = None,
    epsilon: object = None,
    rho: object = None,
) -> Any:
    """What the rows say of the parameters of a family, by Bayes' rule, from one release.

    column : a private column: of True and False, or a mask such as ``people["income"] > 50_000``,
        for "bernoulli"; of labels for "categorical", of numbers for the others. Rows in which it is
        missing don't count.
    family : the law of each row, whatever the others are. "bernoulli": True with the same chance.
        "categorical": each label of ``keys`` has a chance. "poisson": a whole number from 0 on,
        with a mean. "geometric": how many tries it takes, from 1 on, if each succeeds with the same
        chance. "normal": a number with a mean (loc) and a deviation (scale).
    prior : the law of the parameters before. "bernoulli" and "geometric": (a, b) of a Beta law;
        (1, 1), the default, is for all chances alike. "poisson": shape and rate of a gamma law;
        (1, 1/upper). "categorical": a Dirichlet law's number, or one for each label; 1. "normal":
        {"loc": (mean, deviation), "scale": (low, high)}: see `JointPosterior`. Of the number of
        rows nothing is known before.
    method : "noise-aware"; or "squashed", for one private draw by the exponential mechanism, mostly
        further off (figures: docs/models.md). Not of "categorical".
    clip : for the draw, how far a row's log-likelihood may lie below 0 ("bernoulli"), or below that
        of the candidate that suits the row best, from 0.1 to 20.
    keys : the labels, if they aren't declared.
    bounds : of numbers, else the declared ones. Outer cells are open, so that nothing is clipped.
    bins : in how many cells numbers are counted, from 4 to 256; 32 by default.
    epsilon, rho : the loss.

    How many rows lie in each cell is released, and Bayes' rule is applied to what was released,
    with the exact law of the noise. So the posterior is wider than that of the exact counts, by as
    much as the noise hides; it is a law of the parameters in the population that the rows are a
    sample of, and not of figures of these rows. Returns a `Posterior`, with ``mean``, ``std``,
    ``interval(0.95)``, ``pdf``, ``cdf``, ``sample(n)`` and ``releases_``; for "categorical" and
    "normal" a `JointPosterior`, which has these of each parameter.

    "squashed" returns one of 199 public chances or means, or of 288 pairs (loc, scale), with a
    chance ∝ prior · exp(epsilon · log-likelihood/clip). Its error is how far that may be below the
    best.

    Raises `QueryError`, free of charge, for a wrong column or prior, or several rows of a unit.

    *Guarantee*: epsilon-differential privacy of the unit, of the counts; what is computed from them
    costs nothing (Bernstein and Sheldon, NeurIPS 2018); or of the draw (McSherry and Talwar, FOCS
    2007; Wang, Fienberg and Smola, ICML 2015, Theorem 1; docs/proofs/posterior.md).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"smokes": [True, False, False, False] * 100})
    >>> found = dp.models.posterior(df.dp["smokes"], "bernoulli", epsilon=1)
    >>> low, high = found.interval(0.999999)
    >>> low < 0.25 < high, found.pdf(0.25) > found.pdf(0.5), found.sample(3).shape
    (True, True, (3,))
    """
    if isinstance(column, PrivateSeries):
        _check_one_row(column)
    asked = _asked(column, family, method, prior, (keys, bounds, bins))
    if method == "squashed":
        return UnreleasedChoice._ask(_draw(column, asked, clip), Ways(epsilon, rho))
    title = of_whom(column).removeprefix(" of ")
    made = family, asked.prior, _counted(asked, title, Ways(epsilon, rho)), title
    if asked.labels is None:
        return Posterior(*made, asked.cells)
    return JointPosterior(*made, asked.labels, asked.cells)


@dataclass(frozen=True, eq=False)
class Asked:
    """What is counted for a family.

    column, keys : a private column of cells, and all of these.
    labels : of several parameters.
    cells : the family, if it is one of numbers.
    """

    column: PrivateSeries
    keys: list[Any]
    prior: Any
    labels: pd.Index | None = None
    cells: Any = None


def _counted(asked: Asked, title: str, said: Ways) -> Releases:
    """The record of the release of all counts."""
    answered = ProgramAnswers()

    def program(loss: LossOfAll) -> Releases:
        with split.split(loss[0], rho=loss[1], shares=[1]):
            answered(asked.column.value_counts(keys=asked.keys))
        return Releases(answered.records)

    return released("posterior", f"posterior of {title}", said, answered, program)


def _asked(column: Any, family: Any, method: Any, prior: Any, ways: tuple[Any, ...]) -> Asked:
    """Refuse what has no posterior, by public facts."""
    if not isinstance(column, PrivateSeries):
        raise QueryError(
            f"posterior takes a private column, not a {type(column).__name__}. Write "
            'people["smokes"] for a frame of dp.protect(…), or df.dp["smokes"].'
        )
    if not is_one_of(family, FAMILIES):
        raise QueryError(
            f'family={quoted(family)} must be "bernoulli", for True and False, or one of '
            f"{', '.join(map(repr, FAMILIES[1:]))}."
        )
    if not is_one_of(method, METHODS):
        raise QueryError(f"method={quoted(method)} must be 'noise-aware' or 'squashed'.")
    named = dict(zip(("keys", "bounds", "bins"), ways, strict=True))
    taken = {"bernoulli": (), "categorical": ("keys",)}.get(family, ("bounds", "bins"))
    for name, given in named.items():
        if given is not None and name not in taken:
            raise QueryError(f"the family {family!r} has no {name}=. Leave it out.")
    if family == "bernoulli":
        return _of_truths(column, prior)
    if family == "categorical":
        return _of_labels(column, prior, named["keys"], method)
    bounds = bounds_of(column._table, column.name, column._expression, named["bounds"])
    cells: Family = OF_NUMBERS[family].of(bounds, families.cells_of(named["bins"]), prior)
    cut_up = column.cut(list(cells.edges), labels=False)
    labels = pd.Index(cells.names) if len(cells.names) > 1 else None
    return Asked(cut_up, list(range(len(cells.edges) - 1)), cells.prior, labels, cells)


def _check_one_row(column: PrivateSeries) -> None:
    """Refuse several rows of a unit: each row's law is said to be independent of the others."""
    table = column._table
    check_rows(
        f"'{of_whom(column).removeprefix(' of ')}'", table.source.unit.max_rows * table.branches
    )


def _of_truths(column: PrivateSeries, prior: Any) -> Asked:
    known = keys_known(column._table, column._expression)
    if known is None or {*known.labels} != {False, True} or not _are_truths(known):
        raise QueryError(
            'the family "bernoulli" is of True and False. Give a column of these, or a mask such '
            'as people["income"] > 50_000; for labels there is "categorical".'
        )
    return Asked(column, [False, True], _prior((1, 1) if prior is None else prior))


def _of_labels(column: PrivateSeries, prior: Any, keys: Any, method: str) -> Asked:
    if method == "squashed":
        raise QueryError(
            'a draw (method="squashed") needs a short list of candidates, which chances of several '
            "labels have not. Leave method= out, and draw by sample(): that costs nothing."
        )
    if keys is None:
        labels = declared_keys(column._table, column.name, column._expression).labels
    else:
        labels = Keys.parse(keys, ["keys"]).labels
    if not 2 <= len(labels) <= MOST_CATEGORIES:
        raise QueryError(
            f"a posterior of {len(labels)} categories isn't offered: it takes 2 to "
            f"{MOST_CATEGORIES}. Join rare ones by .map({{…}})."
        )
    index = pd.Index(list(labels), name=column.name, tupleize_cols=False)
    return Asked(column, list(labels), _dirichlet(prior, list(labels)), index)


def _dirichlet(given: Any, labels: list[Any]) -> dict[Any, float]:
    """The number of each label in a Dirichlet law."""
    numbers = [1] * len(labels) if given is None else given
    if is_number(numbers, LEAST_PRIOR, MOST_PRIOR):
        numbers = [numbers] * len(labels)
    if isinstance(numbers, Mapping) and {*numbers} == {*labels}:
        numbers = [numbers[label] for label in labels]
    are_as_many = isinstance(numbers, list | tuple) and len(numbers) == len(labels)
    if are_as_many and all(map(_is_prior, numbers)):
        return dict(zip(labels, map(float, numbers), strict=True))
    raise QueryError(
        f"prior={quoted(given)} must be a number from 0.5 to 1,000,000, or one for each of "
        f"{len(labels)} labels, in a list or a dict."
    )


def _draw(column: PrivateSeries, asked: Asked, clip: object) -> Request:
    """A draw from the squashed posterior, which isn't made yet."""
    deepest = _clip(clip)
    chances, logs, candidates = _candidates(asked)
    scores = (np.rint(STEPS * np.log(chances)).clip(-deepest, 0) + deepest).astype(int)
    whole = np.maximum(np.rint(np.exp(logs - logs.max()) * FINEST), 1).astype(int)
    index = pd.Index(candidates, dtype=object, tupleize_cols=False)
    layout, cells = (
        Layout(integer=True, index=index),
        asked.column._cells([column.name], asked.keys),
    )
    table = tuple(map(tuple, scores.tolist()))
    statistic = Likelihoods(cells, layout, table, tuple(whole.tolist()))
    of, told = asked.cells, (("clip", f"{deepest / STEPS:g}"),)
    named = (("family", of.name), ("prior", of.said)) if of else (("prior", _said(asked.prior)),)
    what = column._asks("posterior draw", (), *told, *named)
    return UnreleasedChoice._of(column._table, column._where, statistic, what)


def _candidates(asked: Asked) -> tuple[Floats, Floats, list[Any]]:
    """The chance of each cell by candidate, as a share of the largest of a cell for numbers; the
    logarithms of the prior's weights; and the candidates."""
    of = asked.cells
    if of is None:
        one = families.EVENLY
        return np.stack([1 - one, one]), families.log_beta(one, asked.prior), one.tolist()
    values, logs = of.candidates
    chances = np.maximum(of.chances(*values), families.TINY)
    lists = [value.tolist() for value in values]
    candidates = lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))
    return chances / chances.max(axis=1, keepdims=True), logs, candidates


def _said(prior: tuple[float, float]) -> str:
    return f"({prior[0]:g}, {prior[1]:g})"


def _clip(given: Any) -> int:
    """How far log-likelihoods may lie below 0, in steps."""
    if not is_number(given, LEAST_CLIP, MOST_CLIP):
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
    return is_number(value, LEAST_PRIOR, MOST_PRIOR)
