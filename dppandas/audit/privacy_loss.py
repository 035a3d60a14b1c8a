"""Privacy loss: its distribution between neighbours, and the δ that it means at every ε.

For neighbours with output laws P and Q the loss of an output y is L = ln P(y)/Q(y), with y drawn by
P. What (ε, δ) a mechanism has is δ(ε) = max over events S of P(S) - e^ε Q(S) = E[max(0, 1 -
e^(ε-L))]. Not P[L > ε]: that is never less, and P[L > ε'] ≤ δ(ε) / (1 - e^(ε-ε')) for ε' > ε.

Here the neighbours are the worst ones, or bound all (docs/proofs/privacy_loss.md): each law says
which. All is a function of public facts; figures are enclosed by decimals and rounded up.
"""

from __future__ import annotations

import difflib
import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..display.plots.base import FILL, plain, pyplot, write_below
from ..errors import MissingArgument, QueryError, RecordError, quiet, shown
from ..privacy.accounting import gaussian
from ..privacy.accounting.losses import Delta, Loss, parse_delta, parse_epsilon, parse_rho
from ..privacy.accounting.measures import NOTHING, Measure
from ..privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from ..release import results
from ..release.query import Query
from ..release.records import Record
from ..release.session import session
from ..release.unreleased import Unreleased
from ..rows.facts.units import whole_number
from .dominating_pairs import (  # fmt: skip
    ATOMS,
    ConcentratedLaw,
    ContinuousGaussianLaw,
    ContinuousLaplaceLaw,
    GaussianLaw,
    LaplaceLaw,
    Law,
    ResponseLaw,
    briefly,
)

#: A grid of ε has so many points.
POINTS = 121


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """A privacy loss between neighbours as data and as a picture: see `privacy_loss`.

    ``what`` says of what, ``neighbours`` between which; ``exact`` whether neighbours attain it that
    a unit can make, or it bounds them all.
    """

    what: str
    neighbours: str
    exact: bool
    _law: Law = field(repr=False)

    @quiet
    def delta(self, epsilon: object) -> float:
        """δ(ε): the least δ for which (ε, δ)-differential privacy holds, rounded up."""
        at = _real(epsilon, "epsilon")
        return self._law.above(self._law.delta, at)

    @quiet
    def beyond(self, epsilon: object) -> float:
        """P[loss > ε], rounded up; never less than δ(ε). NaN where only δ is bounded."""
        at = _real(epsilon, "epsilon")
        if isinstance(self._law, ConcentratedLaw):
            return math.nan
        return self._law.above(self._law.beyond, at)

    @quiet
    def epsilon(self, delta: object) -> float:
        """The least ε ≥ 0, to 12 digits and rounded up, with δ(ε) ≤ δ; infinite where none has."""
        wanted = float(_real(delta, "delta"))
        if not 0 <= wanted <= 1:
            raise QueryError(f"delta={shown(delta)} must lie between 0 and 1. {NOTHING}")
        if self.delta(0) <= wanted:
            return 0.0
        known = self._law.epsilon
        high = 1.0
        if known is not None:
            high = math.nextafter(float(known), math.inf)
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
        """δ(ε), and beside it P[loss > ε], over a grid of ε: as `over` gives them."""
        return self.over(_grid(self._law))

    @quiet
    def over(self, epsilons: Iterable[Any]) -> pd.DataFrame:
        """The same for an ε of the caller's own choice: columns delta and beyond."""
        at = [float(_real(each, "epsilon")) for each in epsilons]
        return pd.DataFrame(
            {"delta": [self.delta(e) for e in at], "beyond": [self.beyond(e) for e in at]},
            index=pd.Index(at, name="epsilon", dtype="float64"),
        )

    @cached_property
    def distribution(self) -> pd.Series[float]:
        """Probability by loss, under one of the two neighbours: a Series, losses rising.

        Its values are the law's own to float precision where they are few; of an endless tail what
        is below 1e-15 is left out. Else losses are rounded up to a grid, so that it has no smaller
        δ than the law.
        """
        if isinstance(self._law, ConcentratedLaw):
            raise RecordError(
                "only δ is bounded here: noise on several numbers at once has no one pair of "
                "neighbours that is proven to be the worst. .curve and .delta() say what is known."
            )
        atoms = self._law.atoms()
        found = atoms if atoms is not None else _lumped(self._law)
        series = pd.Series(found, dtype="float64", name="probability").sort_index()
        return series.rename_axis("loss")

    @quiet
    def plot(self, ax: Any = None) -> Any:
        """δ(ε) as a curve, the (ε, δ) that hold shaded, and P[loss > ε] beside it: the Axes.

        ax : matplotlib Axes to draw on; else a new figure. δ is on a logarithmic scale unless
        the loss has a bound. It takes matplotlib: ``dppandas[plots]``.

        *Guarantee*: a function of public facts; no row is read and nothing charged.
        """
        plt = pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
        elif not hasattr(ax, "fill_between"):
            raise QueryError(f"ax={shown(ax)} must be matplotlib Axes. {NOTHING}")
        _draw(ax, self)
        return ax

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "a bound"
        return f"<privacy loss of {self.what}: {self.neighbours} ({kind})>"


def _real(value: object, name: str) -> Fraction:
    """A finite number, as it prints: 0.1 is one tenth."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        raise QueryError(f"{name}={shown(value)} must be a number. {NOTHING}")
    if not math.isfinite(value):
        raise QueryError(f"{name}={shown(value)} must be finite. {NOTHING}")
    return Fraction(str(value))


def _grid(law: Law) -> list[float]:
    """From 0 to a little more than the largest loss, or to where δ is about 1e-12."""
    known = law.most if isinstance(law, ResponseLaw) else law.epsilon
    if known is None:
        return [float(x) for x in np.linspace(0, law.reach(), POINTS)]
    end = math.nextafter(float(known), math.inf)
    inside = [float(x) for x in np.linspace(0, end, POINTS - 11)]
    return inside + [float(x) for x in np.linspace(end, 1.2 * end, 12)[1:]]


def _lumped(law: Law) -> dict[float, float]:
    """Losses rounded up to a grid from -reach to reach; above it they count as infinite."""
    reach = law.reach()
    losses = [float(x) for x in np.linspace(-reach, reach, ATOMS + 1)]
    tails = law.tails(losses)
    found = {losses[0]: 1.0 - tails[0], math.inf: tails[-1]}
    for loss, before, after in zip(losses[1:], tails, tails[1:], strict=False):
        found[loss] = max(0.0, before - after)
    return {loss: probability for loss, probability in found.items() if probability > 0}


def _draw(ax: Any, loss: PrivacyLoss) -> None:
    curve = loss.curve
    at, delta = curve.index.to_numpy(), curve["delta"].to_numpy()
    is_bounded = loss._law.epsilon is not None
    low = 0.0 if is_bounded else 1e-12
    top = 1.0 if not is_bounded else min(1.0, 1.25 * float(np.nanmax([*curve["beyond"], *delta])))
    ax.fill_between(at, np.maximum(delta, low), top, color=FILL, alpha=0.16, linewidth=0,
                    label="(ε, δ) that hold")  # fmt: skip
    ax.plot(at, np.where(delta > 0, delta, low), color=FILL, linewidth=2, label="δ(ε)", zorder=3)
    if not curve["beyond"].isna().all():
        beyond = curve["beyond"].to_numpy()
        style = "default" if loss._law.atoms() is None else "steps-post"  # it jumps at atoms alone
        ax.plot(at, np.where(beyond > 0, beyond, low), color="#c2571a", linestyle="--",
                linewidth=1.5, drawstyle=style, label="P[loss > ε]")  # fmt: skip
    if not is_bounded:
        ax.set_yscale("log")
    ax.set_ylim(low, top)
    ax.set_xlim(0, at[-1])
    ax.set_xlabel("ε")
    ax.set_ylabel("δ")
    ax.grid(alpha=0.3)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=True, fontsize=9, loc="upper right")
    title = "\n".join(textwrap.wrap(f"privacy loss of {loss.what}", 70))
    ax.set_title(plain(title), fontsize="medium")
    kind = "Exact for these neighbours" if loss.exact else "A bound for all neighbours"
    more = (
        " P[loss > ε] is never less than δ(ε): that (ε, δ) holds doesn't say that the loss is "
        "within ε but for a probability of δ."
    )
    said = f"{loss.neighbours[0].upper()}{loss.neighbours[1:]}. {kind}, rounded up. Shaded: "
    told = "" if curve["beyond"].isna().all() else more
    write_below(ax, f"{said}(ε, δ)-differential privacy holds.{told}")


# --- of what --------------------------------------------------------------------------------------


@quiet
def privacy_loss(
    of: Any,
    *,
    epsilon: object = None,
    delta: object = None,
    rho: object = None,
    mechanism: object = None,
    sigma: object = None,
    scale: object = None,
    sensitivity: object = None,
    keys: object = None,
) -> PrivacyLoss:
    """The privacy loss of a mechanism: its distribution, and δ at every ε; also as a picture.

    of : what a release gave, or its `Record`; an answer that is not released yet, with the loss
        that a release would be given (epsilon, delta, rho, mechanism); or a mechanism by name:

        - "laplace": epsilon or scale; sensitivity, a whole number, 1 unless said;
        - "gaussian" (discrete): sigma, rho, or epsilon with delta; sensitivity;
        - "randomized response": epsilon; keys, how many answers there are, 2 unless said;
        - "permute-and-flip", "exponential": epsilon; and
        - "any": epsilon and delta, or rho: whatever has that loss;
        - "continuous laplace", "continuous gaussian": to compare with.

    The result has ``.delta(epsilon)``, ``.epsilon(delta)`` and ``.beyond(epsilon)``, which is
    P[loss > ε]; ``.curve`` and ``.distribution`` as a DataFrame and a Series; and ``.plot()``.

    Neighbours are the worst that there can be. For Laplace noise on several numbers it is one
    number moved by all of the ℓ1 sensitivity, which no other move of that size exceeds. For
    Gaussian noise on several numbers only δ is bounded, by ρ; a selection and whatever else has
    a pure ε is bounded by randomised response. ``.exact`` says whether it is more than a bound.

    Raises `QueryError` for other arguments, and `RecordError` where no record belongs.

    *Guarantee*: a function of public facts. No row is read and nothing charged
    (docs/proofs/privacy_loss.md).

    >>> import dppandas as dp
    >>> gaussian = dp.privacy_loss("gaussian", sigma=1)
    >>> round(gaussian.delta(1), 4), round(gaussian.beyond(1), 4)
    (0.1414, 0.3005)
    >>> dp.privacy_loss("randomized response", epsilon=1).distribution.round(3).to_dict()
    {-1.0: 0.269, 1.0: 0.731}
    """
    given = {"epsilon": epsilon, "delta": delta, "rho": rho, "mechanism": mechanism,
             "sigma": sigma, "scale": scale, "sensitivity": sensitivity, "keys": keys}  # fmt: skip
    said = {name: value for name, value in given.items() if value is not None}
    if isinstance(of, str) and not isinstance(of, results.ReleasedText):
        return _named(of, said)
    if isinstance(of, Unreleased):
        _only(said, ("epsilon", "delta", "rho", "mechanism"), "an answer that is not released yet")
        more: Any = {name: value for name, value in said.items() if name != "epsilon"}
        asked = session().terms.asked(epsilon, **of._completed(more))
        query, _, _ = of._query(asked, of._selects)
        return _asked(query, query.mechanism())
    _only(said, (), "a released answer")
    record = of if isinstance(of, Record) else results.record(of)
    if len(record.parts) > 1:
        return _bound(str(record.query), record.loss, "releases that were combined")
    return _asked(record._query, record._law)


def _only(said: dict[str, object], known: tuple[str, ...], what: str) -> None:
    for name in said:
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "has said all"
            raise QueryError(f"{name}= says nothing here: {what} {takes}. {NOTHING}")


def _asked(query: Query, mechanism: Any) -> PrivacyLoss:
    """Of a query and what answers it."""
    moved, what = query.moved, str(query)
    if isinstance(mechanism, DiscreteLaplace) and mechanism.scale and moved.l1:
        return _loss(what, LaplaceLaw(mechanism.scale, moved.l1), moved.l1 == moved.linf)
    if isinstance(mechanism, DiscreteGaussian) and mechanism.sigma2 and moved.l2squared:
        if query.statistic.size == 1 or moved.l2squared == 1:
            shift = math.isqrt(moved.l2squared)
            return _loss(what, GaussianLaw(mechanism.sigma2, shift), True)
        rho = mechanism.rho(moved.l2squared)
        said = f"discrete Gaussian noise on several numbers, ρ = {briefly(rho)}"
        return _loss(what, ConcentratedLaw(rho, said), False)
    loss = mechanism.cost(Measure.PURE, moved)
    return _bound(what, loss, str(mechanism.name))


def _bound(what: str, loss: Loss, how: str) -> PrivacyLoss:
    if loss.rho:
        law: Law = ConcentratedLaw(loss.rho, f"{how}, {loss}")
    elif loss.epsilon or loss.delta:
        said = f"{how}, {loss}, bounded by randomised response"
        law = ResponseLaw(loss.epsilon, loss.delta, of=said)
    else:
        raise RecordError(f"{what} tells nothing of the data: it has no loss.")
    return _loss(what, law, False)


def _loss(what: str, law: Law, exact: bool) -> PrivacyLoss:
    return PrivacyLoss(what, law.said, exact, law)


# --- mechanisms by name ---------------------------------------------------------------------------

_NAMES = {
    "laplace": ("epsilon", "scale", "sensitivity"),
    "gaussian": ("sigma", "rho", "epsilon", "delta", "sensitivity"),
    "randomized response": ("epsilon", "keys"),
    "permute-and-flip": ("epsilon",),
    "exponential": ("epsilon",),
    "any": ("epsilon", "delta", "rho"),
    "continuous laplace": ("epsilon", "scale", "sensitivity"),
    "continuous gaussian": ("sigma", "epsilon", "delta", "sensitivity"),
}
_ALSO = {"permute and flip": "permute-and-flip", "randomised response": "randomized response"}


def _named(name: str, said: dict[str, object]) -> PrivacyLoss:
    key = " ".join(name.lower().replace("_", " ").split()).removeprefix("discrete ")
    key = _ALSO.get(key, key)
    if key not in _NAMES:
        near = difflib.get_close_matches(key, _NAMES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise QueryError(
            f"no mechanism is called {shown(name)}.{hint} There are {', '.join(_NAMES)}. {NOTHING}"
        )
    _only(said, _NAMES[key], f"{key!r}")
    if key.endswith("laplace"):
        return _laplace(key, said)
    if key.endswith("gaussian"):
        return _gaussian(key, said)
    if key == "any":
        _one_of(said, ("epsilon", "rho"), key)
        if "rho" in said:
            _only(said, ("rho",), "ρ")
            loss = Loss(rho=parse_rho(said["rho"]))
        else:
            delta = parse_delta(said["delta"]) if "delta" in said else Delta(0)
            loss = Loss(parse_epsilon(said["epsilon"]), delta)
        return _bound("any mechanism", loss, "whatever has this loss")
    epsilon = parse_epsilon(said.get("epsilon"))
    if key != "randomized response":
        return _bound(key, Loss(epsilon), f"any {key} selection")
    number = whole_number(said.get("keys", 2), "keys", 2)
    return _loss(key, ResponseLaw(epsilon, keys=number), True)


def _laplace(key: str, said: dict[str, object]) -> PrivacyLoss:
    _one_of(said, ("epsilon", "scale"), key)
    is_discrete = key == "laplace"
    shift = _shift(said, is_discrete)
    if "scale" in said:
        scale: Fraction = _positive(said["scale"], "scale")
    else:
        scale = shift / parse_epsilon(said["epsilon"])
    law = LaplaceLaw(scale, int(shift)) if is_discrete else ContinuousLaplaceLaw(shift / scale)
    return _loss(law.said.split(",")[0], law, True)


def _gaussian(key: str, said: dict[str, object]) -> PrivacyLoss:
    is_discrete = key == "gaussian"
    ways = ("sigma", "rho", "epsilon") if is_discrete else ("sigma", "epsilon")
    way = _one_of(said, ways, key)
    if ("delta" in said) != (way == "epsilon"):
        raise MissingArgument(
            f"epsilon= and delta= say together how much Gaussian noise: give both, or sigma=. "
            f"{NOTHING}"
        )
    shift = _shift(said, is_discrete)
    square = shift * shift
    if way == "sigma":
        sigma2 = _positive(said["sigma"], "sigma") ** 2
    elif way == "rho":
        sigma2 = gaussian.gaussian_sigma2(parse_rho(said["rho"]), square)
    else:
        pair = parse_epsilon(said["epsilon"]), parse_delta(said["delta"])
        if is_discrete:
            sigma2 = gaussian.gaussian_sigma2_for(*pair, int(square), one_dimensional=True)
        else:
            sigma2 = gaussian.analytic_sigma2(*pair, square)
    law = GaussianLaw(sigma2, int(shift)) if is_discrete else ContinuousGaussianLaw(square / sigma2)
    return _loss(law.said.split(",")[0], law, True)


def _one_of(said: dict[str, object], names: tuple[str, ...], what: str) -> str:
    found = [name for name in names if name in said]
    if len(found) != 1:
        listed = " or ".join(f"{name}=" for name in names)
        raise MissingArgument(f"{what!r} takes one of {listed}. {NOTHING}")
    return found[0]


def _positive(value: object, name: str) -> Fraction:
    found = _real(value, name)
    if found <= 0:
        raise QueryError(f"{name}={shown(value)} must be greater than 0. {NOTHING}")
    return found


def _shift(said: dict[str, object], is_whole: bool) -> Fraction:
    value = said.get("sensitivity", 1)
    if is_whole:
        return Fraction(whole_number(value, "sensitivity", 1))
    return _positive(value, "sensitivity")
