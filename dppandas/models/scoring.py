"""How well a classifier does on private rows: a confusion table and a ROC curve, from released
counts."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..columns.private_rows import same_rows
from ..dataclasses import dataclass
from ..display.plots.base import made_by
from ..display.plots.looks import draw_alone, parse_look
from ..display.plots.style import INK, TEAL, legend_above, shade, tidy
from ..errors import InternalError, QueryError, hide_internals, is_one_of, quoted
from ..frames.crosstab import crosstab
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..privacy.accounting.losses import AskOptions, Loss
from ..privacy.accuracy.laws import GaussianLaw, LaplaceLaw, NoiseLaw, noise_of
from ..release.accuracy.expected import CONFIDENCE, parse_confidence
from ..release.blocks import split
from ..release.ways import Ways
from ..rows.facts.units import whole_number
from ..rows.sentences import ShownInSentences
from .base import LossOfAll, ProgramAnswers, Releases, of_whom, released
from .classes import Classifier

Floats = npt.NDArray[np.float64]

#: scikit-learn's words for what crosstab calls otherwise.
NORMALIZED = {"true": "index", "pred": "columns", "all": "all"}
FEWEST_BINS, MOST_BINS = 2, 1000
#: Chances and areas are tried at so many places.
PLACES = 1000
#: Rates of the bound on tails that are tried: the least bound of all is taken.
RATES = 48
#: Shares of the risk of an area's interval: of the linear parts, and of the products of noises.
LINEAR, OF_PRODUCTS = 0.45, 0.05


@hide_internals
def confusion_matrix(
    model: Any, X: Any, y: Any, *, normalize: str | None = None, **ways: Unpack[AskOptions]
) -> Any:
    """How many private rows of each class a fitted classifier predicts to be of each class.

    model : a fitted classifier of `dppandas.models`.
    X, y : private rows of the features, and the true class of the same rows. Rows in which one is
        missing, or of another class, don't count.
    normalize : None for counts; "true", "pred" or "all" for shares of a row, of a column or of all.

    Returns a DataFrame as `crosstab` does, with its errors: the true classes down, the predicted
    ones across, both as in ``model.classes_``. Without a loss nothing is released yet.

    Raises `QueryError` for anything but a fitted classifier and private rows.

    *Guarantee*: as for `PrivateFrame.crosstab`: a row's prediction is a function of that row and of
    the model, which was released (docs/proofs/scored_classifiers.md).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"x": [1, 2, 3, 7, 8, 9] * 500, "kind": list("aaabbb") * 500}).dp
    >>> model = dp.models.GaussianNB(epsilon=1, bounds=(0, 10), classes=["a", "b"])
    >>> model = model.fit(df[["x"]], df["kind"])
    >>> table = dp.models.confusion_matrix(model, df[["x"]], df["kind"], epsilon=1)
    >>> table.round(-2).to_numpy().tolist()
    [[1500, 0], [0, 1500]]
    """
    labels = _checked(model, X, y)
    if normalize is not None and not is_one_of(normalize, tuple(NORMALIZED)):
        raise QueryError(
            f"normalize={quoted(normalize)} must be None, 'true', 'pred' or 'all', as "
            "scikit-learn has it."
        )
    sides = y.rename("true"), model.predict(X).rename("predicted")
    keys = {"true": labels, "predicted": labels}
    share = False if normalize is None else NORMALIZED[normalize]
    return crosstab(*sides, keys=keys, normalize=share, **ways)


def _checked(model: Any, X: Any, y: Any) -> list[Any]:
    """The classes of a fitted classifier that private rows are given to."""
    if not isinstance(model, Classifier):
        raise QueryError(
            f"a {type(model).__name__} tells no classes apart. Give a fitted classifier, such as "
            "dp.models.GaussianNB(…).fit(X, y)."
        )
    model._fitted()
    if not (isinstance(X, PrivateFrame) and isinstance(y, PrivateSeries)):
        raise QueryError(
            "this scores private rows: give people[features] and people['y']. Of plain rows "
            "scikit-learn's metrics take model.predict(X), which is an array."
        )
    same_rows(X, y)
    found: list[Any] = model.classes_.tolist()
    return found


@dataclass(eq=False, repr=False)
class RocCurve(ShownInSentences):
    """How many rows of either class score at least each threshold, from released counts: see
    `roc_curve`.

    thresholds : from infinity, which no row reaches, down to 0, which all do.
    releases_ : the record of its release.

    *Guarantee*: of what `roc_curve` released; all else is computed from that
    (docs/proofs/scored_classifiers.md).
    """

    thresholds: Floats
    releases_: Releases
    _title: str

    #: Where its intervals are, for those who ask elsewhere.
    _intervals_by: ClassVar[str] = ".interval() and .intervals()"

    @property
    def tpr(self) -> Floats:
        """The share of the positive rows that score at least each threshold."""
        return _shares(self._counts[1])

    @property
    def fpr(self) -> Floats:
        """The share of the negative rows that score at least each threshold."""
        return _shares(self._counts[0])

    @property
    def auc(self) -> float:
        """The area under the curve: the chance that a positive row scores more than a negative one,
        where rows of one bin count as half; from 0 to 1."""
        return float(np.trapezoid(self.tpr, self.fpr))

    @property
    def loss(self) -> Loss:
        """What its release was charged."""
        return self.releases_.loss

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """(lower, upper) of the area that the exact counts of these rows have: it covers the noise,
        not the sample."""
        risk, noise = 1 - parse_confidence(confidence), self._noise
        none, some = self._counts
        areas = np.linspace(0, 1, PLACES + 1)
        wins = np.triu(np.ones((len(none), len(none))), 1) + np.eye(len(none)) / 2
        off = np.abs(some @ wins @ none - areas * some.sum() * none.sum())
        lines = (some @ wins)[None, :] - areas[:, None] * some.sum()
        more = (wins @ none)[None, :] - areas[:, None] * none.sum()
        reach = tail(lines, noise, LINEAR * risk) + tail(more, noise, LINEAR * risk)
        ones = np.ones((1, len(none)))
        each = tail(ones, noise, OF_PRODUCTS * risk / len(none))[0]
        product = tail(ones, noise, OF_PRODUCTS * risk)[0] * each
        between = abs(some.sum() * none.sum()) / (2 * PLACES)  # an area may lie between two places
        held = np.flatnonzero(off <= reach + product * np.maximum(areas, 1 - areas) + between)
        if not len(held):
            return 0.0, 1.0
        low, high = areas[max(held[0] - 1, 0)], areas[min(held[-1] + 1, PLACES)]
        return min(float(low), self.auc), max(float(high), self.auc)

    @hide_internals
    def intervals(self, confidence: float = CONFIDENCE) -> pd.DataFrame:
        """For each threshold, between what both rates of the exact counts of these rows lie: all of
        them together with this probability. They cover the noise, not the sample."""
        risk = (1 - parse_confidence(confidence)) / (2 * max(len(self.thresholds) - 2, 1))
        made = {}
        for name, counts in zip(("fpr", "tpr"), self._counts, strict=True):
            ends = np.array([_ends(counts, i, self._noise, risk) for i in range(len(counts) + 1)])
            made[f"{name} lower"] = np.maximum.accumulate(ends[:, 0])
            made[f"{name} upper"] = np.minimum.accumulate(ends[::-1, 1])[::-1]
        return pd.DataFrame(made, index=pd.Index(self.thresholds, name="threshold"))

    def to_frame(self) -> pd.DataFrame:
        """fpr, tpr and thresholds, as of scikit-learn's ``roc_curve``."""
        return pd.DataFrame({"fpr": self.fpr, "tpr": self.tpr, "thresholds": self.thresholds})

    @hide_internals
    def plot(
        self,
        ax: Any = None,
        *,
        title: str | None = None,
        caption: bool = True,
        figsize: tuple[float, float] | None = None,
        ground: str | None = None,
    ) -> Any:
        """Draw the curve and the band of 95 % that holds it everywhere. Returns the Axes.

        ax : matplotlib Axes to draw on; else a new figure.
        title, caption, figsize, ground : as of `dppandas.plot`. Needs matplotlib:
            ``pip install dppandas[plots]``.
        """
        self._counts  # noqa: B018  (which may be refused)
        look = parse_look(ax, title, caption, figsize, ground)
        name = f"ROC curve of {self._title}"
        return draw_alone(lambda axes: _draw(axes, self), name, (5.2, 4.4), look)

    @cached_property
    def _counts(self) -> tuple[Floats, Floats]:
        """The noisy counts of the negative and the positive rows, from the largest scores down."""
        record = self.releases_[0]
        if record.preview:
            raise QueryError(
                "this curve was asked in a preview, of dummy answers. Ask it outside of the "
                "preview."
            )
        none, some = np.array(record._noisy, dtype=np.float64).reshape(2, -1)[:, ::-1]
        return none, some

    @cached_property
    def _noise(self) -> NoiseLaw:
        law = noise_of(self.releases_[0]._law)
        if law is None:
            raise InternalError("counts have noise of a known law.")
        return law

    def _sentences(self) -> list[str]:
        if self.releases_[0].preview:
            return [f"<ROC curve of {self._title} in a preview: made up, and means nothing>"]
        low, high = self.interval()
        return [
            f"<ROC curve of {self._title}: area {self.auc:.3f}, 95 % within {low:.3f} to "
            f"{high:.3f} (noise only), {len(self.thresholds) - 1} thresholds, {self.loss.in_short}>"
        ]


@hide_internals
def roc_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    bins: object = 20,
    pos_label: object = None,
    epsilon: object = None,
    rho: object = None,
) -> RocCurve:
    """The ROC curve of a fitted classifier on private rows: which shares of the positive and of the
    negative rows score at least each of some public thresholds.

    model : a fitted classifier with ``predict_proba``.
    X, y : private rows of the features, and the true class of the same rows. Rows in which one is
        missing, or of another class, don't count.
    bins : thresholds are 0, 1/bins, …, 1 - 1/bins: from 2 to 1,000.
    pos_label : the positive class; needed if there are more than two, else by default the last.
        Rows of all other classes are negative.
    epsilon, rho : the loss.

    One release counts rows by class and by bin of the score. Returns a `RocCurve`, with ``fpr``,
    ``tpr``, ``thresholds``, ``auc``, its ``interval()``, ``intervals()`` of all rates together,
    ``to_frame()``, ``plot()`` and ``releases_``.

    Raises `QueryError` for anything but a fitted classifier and private rows; nothing is charged
    then.

    *Guarantee*: epsilon-differential privacy of the unit, of the counts: a row's score is a
    function of that row and of the model, which was released, and the row is in one cell; what is
    computed from the counts costs nothing (docs/proofs/scored_classifiers.md).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"x": [1, 2, 3, 7, 8, 9] * 500, "kind": list("aaabbb") * 500}).dp
    >>> model = dp.models.GaussianNB(epsilon=1, bounds=(0, 10), classes=["a", "b"])
    >>> model = model.fit(df[["x"]], df["kind"])
    >>> curve = dp.models.roc_curve(model, df[["x"]], df["kind"], epsilon=1)
    >>> curve.auc > 0.9, curve.interval()[0] > 0.9, curve.tpr[[0, -1]].tolist()
    (True, True, [0.0, 1.0])
    """
    labels, number = _checked(model, X, y), whole_number(bins, "bins", FEWEST_BINS, MOST_BINS)
    if not hasattr(model, "predict_proba"):
        raise QueryError(
            f"a {type(model).__name__} has no chances. A ROC curve needs predict_proba."
        )
    if pos_label is None and len(labels) == 2:
        pos_label = labels[1]
    if pos_label not in labels:
        raise QueryError(f"pos_label={quoted(pos_label)} must be one of the classes {labels}.")
    score = _score(model, X, labels.index(pos_label))
    edges = [-math.inf, *(np.arange(1, number) / number).tolist(), math.inf]
    sides = (
        y.map({label: int(label == pos_label) for label in labels}).rename("class"),
        score.cut(edges, labels=False, right=False).rename("bin"),
    )
    answered = ProgramAnswers()

    def program(loss: LossOfAll) -> Releases:
        with split.split(loss[0], rho=loss[1], shares=[1]):
            answered(crosstab(*sides, keys={"class": [0, 1], "bin": range(number)}))
        return Releases(answered.records)

    title = f"{type(model).__name__}{of_whom(y)}"
    told, said = f"ROC curve of {title}", Ways(epsilon, rho)
    found = released("roc_curve", told, said, answered, program)
    return RocCurve(np.append(np.inf, np.arange(number)[::-1] / number), found, title)


def _score(model: Any, X: Any, place: int) -> PrivateSeries:
    """The chance of a class for each private row. Some models of two classes tell the second's."""
    chances = model.predict_proba(X)
    if isinstance(chances, PrivateSeries):
        return chances if place else 1 - chances
    found: PrivateSeries = chances[chances.columns[place]]
    return found


def _shares(counts: Floats) -> Floats:
    """Which share the first counts have, for each number of them; noise below 0 counts as 0."""
    summed = np.append(0.0, np.cumsum(np.maximum(counts, 0.0)))
    return summed / summed[-1] if summed[-1] else np.linspace(0, 1, len(summed))


def _ends(counts: Floats, first: int, noise: NoiseLaw, risk: float) -> tuple[float, float]:
    """Between what the share of the first counts lies among exact ones, by the law of
    Σ (1[j < first] - share) · noise, which is all that is left if the share is right."""
    if not 0 < first < len(counts):
        return (0.0, 0.0) if not first else (1.0, 1.0)
    shares = np.linspace(0, 1, PLACES + 1)
    off = np.abs(counts[:first].sum() - shares * counts.sum())
    weights = np.where(np.arange(len(counts)) < first, 1.0, 0.0) - shares[:, None]
    held = np.flatnonzero(off <= tail(weights, noise, risk))
    if not len(held):
        return 0.0, 1.0
    return float(shares[max(held[0] - 1, 0)]), float(shares[min(held[-1] + 1, PLACES)])


def tail(weights: Floats, noise: NoiseLaw, risk: float) -> Floats:
    """What a weighted sum of independent noises exceeds, on either side, with at most this chance,
    for each row of weights: the least of Chernoff's bounds of some rates. It grows with weights."""
    largest = np.maximum(np.abs(weights).max(axis=1, keepdims=True), 1e-300)
    shares = np.abs(weights) / largest
    if not noise.variance:
        return np.zeros(len(weights))
    top = noise.rate if isinstance(noise, LaplaceLaw) else 12 / math.sqrt(noise.variance)
    found = np.full(len(weights), np.inf)
    for part in np.geomspace(1e-3, 0.999, RATES):
        rate = top * part
        logs = _log_moments(rate * shares, noise).sum(axis=1)
        found = np.minimum(found, (logs + math.log(2 / risk)) / rate)
    reach: Floats = found * largest[:, 0]
    return reach


def _log_moments(at: Floats, noise: NoiseLaw) -> Floats:
    """ln E exp(at · noise), or a bound: a discrete Gaussian's is below a continuous one's."""
    if isinstance(noise, GaussianLaw):
        return (at * noise.sigma) ** 2 / 2
    if not isinstance(noise, LaplaceLaw):
        raise InternalError("counts have Laplace or Gaussian noise.")
    a = math.exp(-noise.rate)
    return 2 * math.log1p(-a) - np.log1p(-a * np.exp(at)) - np.log1p(-a * np.exp(-at))


def _draw(ax: Any, found: RocCurve) -> str:
    """The curve, and between the corners of the rectangles of all rates what holds it everywhere:
    of two rising lines the one whose points lie further up and left is above the other."""
    ends = found.intervals()
    lower, upper = (ends["fpr upper"], ends["tpr lower"]), (ends["fpr lower"], ends["tpr upper"])
    at = np.unique(np.concatenate([lower[0], upper[0]]))
    between = np.interp(at, *lower), np.interp(at, *upper)
    ax.fill_between(at, *between, **shade(TEAL), label="95 %, noise only")
    ax.plot(found.fpr, found.tpr, color=TEAL, linewidth=1.8, label=f"area {found.auc:.3f}")
    ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, zorder=1)
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    ax.set(xlabel="share of negative rows", ylabel="share of positive rows")
    tidy(ax, grid="both")
    legend_above(ax)
    low, high = found.interval()
    return (
        f"Band: 95 %, the whole curve lies within. Area: 95 %, {low:.3f} to {high:.3f}. Both of "
        f"the noise only, not of the sample. {made_by(found.releases_[0])}"
    )
