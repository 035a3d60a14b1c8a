"""Privacy loss: its distribution between neighbours, and the δ that it means at every ε.

For neighbours with output distributions P and Q, the loss of an output y is L = ln P(y)/Q(y), where
y is drawn from P. A mechanism is (ε, δ)-private for δ(ε) = max over events S of P(S) - e^ε Q(S) =
E[max(0, 1 - e^(ε-L))]. That is not P[L > ε], which is never less; and P[L > ε'] ≤ δ(ε) / (1 -
e^(ε-ε')) for ε' > ε.

The neighbours are the worst ones, or a pair that bounds all (docs/proofs/privacy_loss.md); each law
says which. Everything follows from public facts; figures are enclosed by decimals and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..dataclasses import dataclass, field
from ..display.plots.looks import draw_alone, parse_look
from ..display.plots.style import ORANGE, TEAL, legend_above, shade, tidy
from ..errors import MissingArgument, QueryError, RecordError, hide_internals, quoted
from ..rows.sentences import ShownInSentences
from .dominating_pairs import ATOMS, ConcentratedLaw, Law, ResponseLaw, briefly

#: Points of a grid of ε.
POINTS = 121
#: How many ε are tried for a belief, down to which share of the risk; and more than all rounding.
FACTORS, RARE, ROUNDED = 65, 1e-4, 1 + 2.0**-40
#: How far from the first ε others are tried: where some answers tell all, no δ is so small.
FURTHER = 32
#: An exponential that no float exceeds, and by which no belief of a float differs from 0 or 1.
FARTHEST = 709


@dataclass(frozen=True, repr=False, eq=False)
class PrivacyLoss(ShownInSentences):
    """A privacy loss between neighbours, as data and as a plot: see `privacy_loss`.

    ``what`` has this loss, between ``neighbours``; ``exact`` says whether real neighbours attain it
    or it only bounds them all.
    """

    what: str
    neighbours: str
    exact: bool
    _law: Law = field(repr=False)

    @hide_internals
    def delta(self, epsilon: object) -> float:
        """δ(ε): the least δ for which (ε, δ)-differential privacy holds, rounded up."""
        return self._law.above(self._law.delta, real(epsilon, "epsilon"))

    @hide_internals
    def beyond(self, epsilon: object) -> float:
        """P[loss > ε], rounded up; never less than δ(ε). NaN where only δ is bounded."""
        at = real(epsilon, "epsilon")
        if isinstance(self._law, ConcentratedLaw):
            return math.nan
        return self._law.above(self._law.beyond, at)

    @hide_internals
    def epsilon(self, delta: object) -> float:
        """The least ε ≥ 0 with δ(ε) ≤ δ, to 12 digits and rounded up; infinite if there is none."""
        wanted = float(real(delta, "delta"))
        if not 0 <= wanted <= 1:
            raise QueryError(f"delta={quoted(delta)} must lie between 0 and 1.")
        if self.delta(0) <= wanted:
            return 0.0
        known = self._law.epsilon
        high = 1.0 if known is None else math.nextafter(float(known), math.inf)
        while self.delta(high) > wanted:
            if high > 2.0**16:
                return math.inf
            high *= 2
        low = 0.0
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            if not low < middle < high:
                break
            low, high = (low, middle) if self.delta(middle) <= wanted else (middle, high)
        return high

    @cached_property
    def curve(self) -> pd.DataFrame:
        """δ(ε) and P[loss > ε] over a grid of ε: columns delta and beyond, as in `over`."""
        return self.over(_grid(self._law))

    @hide_internals
    def over(self, epsilons: Iterable[Any]) -> pd.DataFrame:
        """δ(ε) and P[loss > ε] for each of these ε: a DataFrame with columns delta and beyond."""
        at = [float(real(e, "epsilon")) for e in epsilons]
        curve = {"delta": [self.delta(e) for e in at], "beyond": [self.beyond(e) for e in at]}
        return pd.DataFrame(curve, index=pd.Index(at, name="epsilon", dtype="float64"))

    @cached_property
    def distribution(self) -> pd.Series[float]:
        """The probability of each loss on one of the two neighbours: a Series, losses rising.

        If there are few losses, probabilities are exact to float precision, except that infinite
        tails are cut where they fall below 1e-15. Else losses are rounded up to a grid, so that no
        δ is smaller than the law's.
        """
        if isinstance(self._law, ConcentratedLaw):
            raise RecordError(
                "only δ is bounded here: for noise on several numbers at once, no pair of "
                "neighbours is proven to be the worst. Use .curve and .delta() instead."
            )
        found = self._law.atoms() or _lumped(self._law)
        series = pd.Series(found, dtype="float64", name="probability").sort_index()
        return series.rename_axis("loss")

    @hide_internals
    def belief(self, prior: Any, risk: object = 0) -> Any:
        """Bounds on what somebody believes of one unit after the answer, by what they believed
        before: (lower, upper), or for several priors a DataFrame with these columns.

        prior : their probability that the unit's rows are in the data, or several: public numbers
            from 0 to 1. Whatever else they believe of the data may be anything, as long as it is
            the same whether the unit is in them or not.
        risk : how often the bounds may fail, at most, over the noise, whether the unit is in the
            data or not. A loss without a largest value needs one: Gaussian noise, and all with a
            δ, which must be smaller than the risk.

        A loss of ε multiplies odds by e^-ε to e^ε. So a prior p becomes no less than
        p/(p + (1-p) e^ε) and no more than p e^ε/(1-p + p e^ε): by each answer, with ``risk=0``.
        With a risk this holds of an ε that follows from δ(ε), which is smaller than the loss where
        large losses are rare. Of two values that a unit's rows may have, in place of none, an ε is
        twice as large: a change is two steps.

        Raises `MissingArgument` for a loss without a largest value and no risk, and `QueryError`
        for a risk that δ doesn't allow.

        *Guarantee*: bounds for every neighbour and every function of the answer
        (docs/proofs/privacy_loss.md). A function of public facts; nothing is read or charged.

        >>> from dppandas import privacy_loss
        >>> low, high = privacy_loss("laplace", epsilon=1).belief(0.1)
        >>> round(low, 4), round(high, 4)
        (0.0393, 0.232)
        >>> privacy_loss("gaussian", sigma=10).belief([0.1, 0.5], risk=1e-6).round(3).T.to_dict()
        {0.1: {'lower': 0.063, 'upper': 0.156}, 0.5: {'lower': 0.375, 'upper': 0.625}}
        """
        priors = np.atleast_1d(_chances(prior, "prior"))
        if np.ndim(risk):  # type: ignore[arg-type]
            raise QueryError("risk= must be one number.")
        factor = self._odds(float(_chances(risk, "risk")))
        others = 1 - priors
        ends = {
            "lower": priors / (priors + others * factor),
            "upper": priors / (priors + others / factor),
        }
        if np.ndim(prior) == 0:
            return float(ends["lower"][0]), float(ends["upper"][0])
        return pd.DataFrame(ends, index=pd.Index(priors, name="prior"))

    def _odds(self, risk: float) -> float:
        """By which factor odds change, at most, except with a probability of ``risk``."""
        most = self._law.epsilon
        if most is None and not risk:
            raise MissingArgument(
                "this loss has no largest value, so any belief is possible, though hardly ever. "
                "Say how often the bounds may fail: risk=1e-6, for example."
            )
        found = math.inf if most is None else math.exp(min(float(most), FARTHEST))
        if risk:
            found = min(found, *self._factors(risk))
        if math.isinf(found):
            raise QueryError(
                f"risk={risk:g} must be larger than the δ of this loss: with that probability an "
                "answer may say everything."
            )
        return found * ROUNDED

    def _factors(self, risk: float) -> list[float]:
        """Factors that hold, each by the δ of another ε: with e the exponential of ε, a factor f
        fails with at most δ(1 + 1/f)/(1 - e/f), which is the risk for f = (δ + e·risk)/(risk - δ).
        """
        known = self._law.most if isinstance(self._law, ResponseLaw) else self._law.epsilon
        low = self.epsilon(risk)
        if math.isinf(low):
            return [math.inf]
        high = self.epsilon(risk * RARE) if known is None else float(known)
        high = max(low, min(high, low + FURTHER))
        tried = {e: self.delta(e) for e in np.linspace(low, high, FACTORS).tolist()}
        return [
            (delta + risk * math.exp(e)) / (risk - delta) if delta < risk else math.inf
            for e, delta in tried.items()
        ]

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
        """Plot δ(ε) and P[loss > ε], and shade the (ε, δ) that hold. Returns the Axes.

        ax : matplotlib Axes to draw on; else a new figure.
        title, caption, figsize, ground : as of `dppandas.plot`. Needs matplotlib:
            ``pip install dppandas[plots]``.

        The scale of δ is logarithmic unless the loss is bounded.

        *Guarantee*: a function of public facts; no row is read and nothing charged.
        """
        look = parse_look(ax, title, caption, figsize, ground)
        name, most = f"Privacy loss of {self.what}", self._law.epsilon
        if most is not None and "ε = " not in name:  # the axis of ε has many, and this is the asked
            name = f"{name}, ε = {briefly(most)}"
        return draw_alone(lambda axes: _draw(axes, self), name, (6.4, 4.0), look)

    def _sentences(self) -> list[str]:
        kind = "exact" if self.exact else "a bound"
        return [f"<privacy loss of {self.what}: {self.neighbours} ({kind})>"]


def _chances(value: Any, name: str) -> np.typing.NDArray[np.float64]:
    """Probabilities, as floats."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array(math.nan)
    if isinstance(value, str) or not ((found >= 0) & (found <= 1)).all():
        raise QueryError(f"{name}={quoted(value)} must be a probability, from 0 to 1.")
    return found


def real(value: object, name: str) -> Fraction:
    """A finite number as it prints: 0.1 is one tenth."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        raise QueryError(f"{name}={quoted(value)} must be a number.")
    if not math.isfinite(value):
        raise QueryError(f"{name}={quoted(value)} must be finite.")
    return Fraction(str(value))


def _grid(law: Law) -> list[float]:
    """From 0 to a little beyond the largest loss, or to where δ is about 1e-12."""
    known = law.most if isinstance(law, ResponseLaw) else law.epsilon
    if known is None:
        return list(map(float, np.linspace(0, law.reach(), POINTS)))
    end = math.nextafter(float(known), math.inf)
    beyond = np.linspace(end, 1.2 * end, 12)[1:]
    return list(map(float, [*np.linspace(0, end, POINTS - 11), *beyond]))


def _lumped(law: Law) -> dict[float, float]:
    """Losses rounded up to a grid from -reach to reach; beyond it they count as infinite."""
    reach = law.reach()
    losses = [float(x) for x in np.linspace(-reach, reach, ATOMS + 1)]
    tails = law.tails(losses)
    found = {losses[0]: 1.0 - tails[0], math.inf: tails[-1]}
    for loss, before, after in zip(losses[1:], tails, tails[1:], strict=False):
        found[loss] = max(0.0, before - after)
    return {loss: probability for loss, probability in found.items() if probability > 0}


def _draw(ax: Any, loss: PrivacyLoss) -> str:
    curve = loss.curve
    at, delta = curve.index.to_numpy(), curve["delta"].to_numpy()
    is_bounded = loss._law.epsilon is not None
    low = 0.0 if is_bounded else 1e-12
    top = 1.0 if not is_bounded else min(1.0, 1.25 * float(np.nanmax([*curve["beyond"], *delta])))
    ax.fill_between(at, np.maximum(delta, low), top, **shade(TEAL), label="(ε, δ) that hold")
    ax.plot(at, np.where(delta > 0, delta, low), color=TEAL, linewidth=2, label="δ(ε)", zorder=3)
    kind = "Exact for these neighbours" if loss.exact else "A bound for all neighbours"
    said = (
        f"{loss.neighbours[0].upper()}{loss.neighbours[1:]}. {kind}, rounded up. Shaded: "
        "(ε, δ)-differential privacy holds."
    )
    if not curve["beyond"].isna().all():
        said += (
            " P[loss > ε] is never less than δ(ε): (ε, δ)-differential privacy doesn't mean that "
            "the loss stays within ε except with probability δ."
        )
        beyond = curve["beyond"].to_numpy()
        style = "default" if loss._law.atoms() is None else "steps-post"  # it jumps at atoms alone
        ax.plot(at, np.where(beyond > 0, beyond, low), color=ORANGE, linestyle="--",
                linewidth=1.5, drawstyle=style, label="P[loss > ε]")  # fmt: skip
    if not is_bounded:
        ax.set_yscale("log")
    ax.set(ylim=(low, top), xlim=(0, at[-1]), xlabel="ε", ylabel="δ")
    tidy(ax, grid="both")
    legend_above(ax)
    return said
