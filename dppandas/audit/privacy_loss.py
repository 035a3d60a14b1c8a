"""The privacy loss of what was released, of what is to be, and of mechanisms by name.

Here the neighbours are the worst ones, or bound all: docs/proofs/privacy_loss.md.
"""

from __future__ import annotations

import difflib
import math
from fractions import Fraction
from typing import Any

from ..errors import MissingArgument, QueryError, RecordError, hide_internals, quoted
from ..privacy.accounting import gaussian
from ..privacy.accounting.losses import Delta, Loss, parse_delta, parse_epsilon, parse_rho
from ..privacy.accounting.measures import Measure
from ..privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from ..release import results
from ..release.query import Query
from ..release.records import Record
from ..release.session import current
from ..release.unreleased import Unreleased
from ..rows.facts.units import whole_number
from .dominating_pairs import (  # fmt: skip
    ConcentratedLaw,
    ContinuousGaussianLaw,
    ContinuousLaplaceLaw,
    GaussianLaw,
    LaplaceLaw,
    Law,
    ResponseLaw,
    briefly,
)
from .loss_curve import PrivacyLoss, real


@hide_internals
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
        asked = current()._terms.asked(epsilon, **of._completed(more))
        query, _, _ = of._query(asked, of._selects)
        return _asked(query, query.mechanism())
    _only(said, (), "a released answer")
    record = of if isinstance(of, Record) else results.record_of_one(of)
    if len(record.components) > 1:
        return _bound(str(record.query), record.loss, "releases that were combined")
    return _asked(record._query, record._law)


def _only(said: dict[str, object], known: tuple[str, ...], what: str) -> None:
    for name in said:
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "has said all"
            raise QueryError(f"{name}= says nothing here: {what} {takes}.")


def _asked(query: Query, mechanism: Any) -> PrivacyLoss:
    """Of a query and what answers it."""
    sensitivity, what = query.unit_sensitivity, str(query)
    if isinstance(mechanism, DiscreteLaplace) and mechanism.scale and sensitivity.l1:
        return _loss(
            what, LaplaceLaw(mechanism.scale, sensitivity.l1), sensitivity.l1 == sensitivity.linf
        )
    if isinstance(mechanism, DiscreteGaussian) and mechanism.sigma2 and sensitivity.l2_squared:
        if query.statistic.size == 1 or sensitivity.l2_squared == 1:
            shift = math.isqrt(sensitivity.l2_squared)
            return _loss(what, GaussianLaw(mechanism.sigma2, shift), True)
        rho = mechanism.rho(sensitivity.l2_squared)
        said = f"discrete Gaussian noise on several numbers, ρ = {briefly(rho)}"
        return _loss(what, ConcentratedLaw(rho, said), False)
    loss = mechanism.cost(Measure.PURE, sensitivity)
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
            f"no mechanism is called {quoted(name)}.{hint} There are {', '.join(_NAMES)}."
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
            "epsilon= and delta= say together how much Gaussian noise: give both, or sigma=."
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
        raise MissingArgument(f"{what!r} takes one of {listed}.")
    return found[0]


def _positive(value: object, name: str) -> Fraction:
    found = real(value, name)
    if found <= 0:
        raise QueryError(f"{name}={quoted(value)} must be greater than 0.")
    return found


def _shift(said: dict[str, object], is_whole: bool) -> Fraction:
    value = said.get("sensitivity", 1)
    if is_whole:
        return Fraction(whole_number(value, "sensitivity", 1))
    return _positive(value, "sensitivity")
