"""The privacy loss of released answers, of unreleased ones, and of mechanisms by name.

The neighbours are the worst ones, or a pair that bounds all: docs/proofs/privacy_loss.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ..errors import MissingArgument, QueryError, RecordError, hide_internals, nearest, quoted
from ..privacy.accounting import gaussian
from ..privacy.accounting.losses import Delta, Loss, parse_delta, parse_epsilon, parse_rho
from ..privacy.accounting.measures import Measure
from ..privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from ..release.answers import results
from ..release.answers.records import Record
from ..release.query import Query
from ..release.unreleased import Unreleased
from ..release.ways import Ways
from ..rows.facts.units import whole_number
from . import dominating_pairs as laws
from .dominating_pairs import Law
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
    """The privacy loss of a mechanism: its distribution, and δ at every ε; also as a plot.

    of : a released answer or its `Record`; an answer that is not released yet, with the loss that a
        release would get (epsilon, delta, rho, mechanism); or a mechanism by name:

        - "laplace": epsilon or scale; sensitivity, a whole number, 1 by default;
        - "gaussian" (discrete): sigma, rho, or epsilon with delta; sensitivity;
        - "randomized response": epsilon; keys, the number of possible answers, 2 by default;
        - "permute-and-flip", "exponential": epsilon;
        - "any": epsilon and delta, or rho, for any mechanism with that loss;
        - "continuous laplace", "continuous gaussian": for comparison.

    The result has ``.delta(epsilon)``, ``.epsilon(delta)`` and ``.beyond(epsilon)``, which is
    P[loss > ε]; ``.curve`` and ``.distribution`` as a DataFrame and a Series; and ``.plot()``.

    The neighbours are the worst possible ones. With Laplace noise on several numbers, one number
    differs by all of the ℓ1 sensitivity; no other difference of that size has a larger loss. With
    Gaussian noise on several numbers only δ is bounded, by ρ. Selections, and everything else with
    a pure ε, are bounded by randomised response. ``.exact`` says whether it is more than a bound.

    Raises `QueryError` for other arguments, and `RecordError` for an object without a record.

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
        ways = of._request.completed(Ways(epsilon, rho, delta, mechanism))
        query = of._request.query(ways.loss_request())
        return _asked(query, query.mechanism())
    _only(said, (), "a released answer")
    record = of if isinstance(of, Record) else results.record_of_one(of)
    if len(record.components) > 1:
        return _bound(str(record.query), record.loss, "releases that were combined")
    return _asked(record._query, record._law)


def _only(said: dict[str, object], known: tuple[str, ...], what: str) -> None:
    for name in said:
        if name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no other argument"
            raise QueryError(f"{name}= means nothing here: {what} {takes}. Leave it out.")


def _asked(query: Query, mechanism: Any) -> PrivacyLoss:
    """The loss of a query with its mechanism."""
    sensitivity, what = query.unit_sensitivity, str(query)
    if isinstance(mechanism, DiscreteLaplace) and mechanism.scale and sensitivity.l1:
        law = laws.LaplaceLaw(mechanism.scale, sensitivity.l1)
        return _loss(what, law, sensitivity.l1 == sensitivity.linf)
    if isinstance(mechanism, DiscreteGaussian) and mechanism.sigma2 and sensitivity.l2_squared:
        if query.statistic.size == 1 or sensitivity.l2_squared == 1:
            shift = math.isqrt(sensitivity.l2_squared)
            return _loss(what, laws.GaussianLaw(mechanism.sigma2, shift), True)
        rho = mechanism.rho(sensitivity.l2_squared)
        said = f"discrete Gaussian noise on several numbers, ρ = {laws.briefly(rho)}"
        return _loss(what, laws.ConcentratedLaw(rho, said), False)
    return _bound(what, mechanism.cost(Measure.PURE, sensitivity), str(mechanism.name))


def _bound(what: str, loss: Loss, how: str) -> PrivacyLoss:
    if loss.rho:
        law: Law = laws.ConcentratedLaw(loss.rho, f"{how}, {loss}")
    elif loss.epsilon or loss.delta:
        said = f"{how}, {loss}, bounded by randomised response"
        law = laws.ResponseLaw(loss.epsilon, loss.delta, of=said)
    else:
        raise RecordError(f"{what} says nothing about the data, so it has no privacy loss.")
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
        near = nearest(key, _NAMES)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise QueryError(f"no mechanism is {quoted(name)}.{hint} There are {', '.join(_NAMES)}.")
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
    return _loss(key, laws.ResponseLaw(epsilon, keys=number), True)


def _laplace(key: str, said: dict[str, object]) -> PrivacyLoss:
    way = _one_of(said, ("epsilon", "scale"), key)
    is_discrete = key == "laplace"
    shift = _shift(said, is_discrete)
    scale = shift / parse_epsilon(said[way]) if way == "epsilon" else _positive(said[way], way)
    continuous = laws.ContinuousLaplaceLaw(shift / scale)
    law = laws.LaplaceLaw(scale, int(shift)) if is_discrete else continuous
    return _loss(law.said.split(",")[0], law, True)


def _gaussian(key: str, said: dict[str, object]) -> PrivacyLoss:
    is_discrete = key == "gaussian"
    way = _one_of(said, ("sigma", "rho", "epsilon") if is_discrete else ("sigma", "epsilon"), key)
    if ("delta" in said) != (way == "epsilon"):
        raise MissingArgument("epsilon= and delta= decide together: give both, or sigma=.")
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
    continuous = laws.ContinuousGaussianLaw(square / sigma2)
    law = laws.GaussianLaw(sigma2, int(shift)) if is_discrete else continuous
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
