"""What a session promises, and in which measure: what may be asked, and what it is charged.

Three measures, none mixed in a session: pure ε; ε with a δ, both added up (basic composition); and
zero-concentrated privacy, whose ρ add up while queries are chosen by what came before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from ...errors import MissingArgument, QueryError, SessionError, is_one_of, quoted
from . import conversions
from .losses import (
    NO_DELTA,
    Delta,
    Epsilon,
    Loss,
    Rho,
    parse_budget,
    parse_delta,
    parse_epsilon,
    parse_rho,
)


class Measure(Enum):
    """How losses are counted."""

    PURE = "pure"
    APPROXIMATE = "approximate"
    ZCDP = "zCDP"

    @property
    def symbol(self) -> str:
        """Of what is counted first."""
        return "ρ" if self is Measure.ZCDP else "ε"

    def first(self, loss: Loss) -> Epsilon:
        """What is counted first: the ε of a loss, or its ρ."""
        return loss.rho if self is Measure.ZCDP else loss.epsilon

    @property
    def counted(self) -> tuple[str, ...]:
        """The parts of a `Loss` that are counted."""
        return {
            Measure.PURE: ("epsilon",),
            Measure.APPROXIMATE: ("epsilon", "delta"),
            Measure.ZCDP: ("rho", "delta"),
        }[self]


@dataclass(frozen=True)
class LossRequest:
    """What one release may cost, and by which noise."""

    canonical_name: ClassVar[str] = "Asked"

    measure: Measure = Measure.PURE
    epsilon: Epsilon | None = None
    delta: Delta = NO_DELTA
    rho: Rho | None = None
    noise: str = "laplace"
    draw: int = 1  # which answer of equal queries; 0 for another than all that were given
    chosen: bool = field(default=False, compare=False)  # whether the caller said which noise

    not_asked: ClassVar = ("draw", "chosen")  # equal queries may differ in it

    def allows(self, loss: Loss) -> bool:
        """Whether a release that was calibrated for this costs no more."""
        if self.rho is not None:
            return loss.within(Loss(rho=self.rho, delta=self.delta))
        if self.measure is Measure.ZCDP:  # a pure loss, which is charged by its own ρ
            return loss.delta <= self.delta
        return self.epsilon is not None and loss.within(Loss(self.epsilon, self.delta))

    def charged(self, loss: Loss) -> Loss:
        """What is charged for a release that really costs this: no less, and no more than asked.

        An irrational ρ or δ was rounded when noise was calibrated for it, so that what it really
        costs is a little less and a number of many digits.
        """
        rho = self.rho if loss.rho and self.rho is not None else loss.rho
        return Loss(loss.epsilon, self.delta if loss.delta else loss.delta, rho)

    @property
    def misnames_noise(self) -> bool:
        """Whether the caller said of a choice, which has no noise, that it is Gaussian, or in ρ
        that it is anything."""
        return self.chosen and (self.noise == "gaussian" or self.rho is not None)

    def __str__(self) -> str:
        return str(Loss(self.epsilon or Epsilon(0), self.delta, self.rho or Rho(0)))


@dataclass(frozen=True)
class PrivacyBudget:
    """The measure of a session, its limit (None: no limit), and where ρ is told as an ε, its δ."""

    measure: Measure = Measure.PURE
    limit: Loss | None = None
    delta: Delta = NO_DELTA

    @classmethod
    def parse(
        cls,
        epsilon: object,
        delta: object,
        rho: object,
        delta_releases: object,
        accounting: object,
    ) -> PrivacyBudget | None:
        """What the arguments of `dp.session` say; None if they say nothing."""
        if accounting is not None and not is_one_of(accounting, ("basic", "zcdp")):
            raise SessionError(f"accounting={quoted(accounting)} must be 'basic' or 'zcdp'.")
        is_zcdp = rho is not None or accounting == "zcdp"
        if not is_zcdp:
            if delta_releases is not None:
                raise SessionError("delta_releases= is for sessions that count ρ: give rho= too.")
            return cls._of_epsilon(epsilon, delta)
        if accounting == "basic":
            raise SessionError('rho= is counted by accounting="zcdp".')
        if (rho is None) == (epsilon is None):
            raise SessionError(
                "a session that counts ρ takes rho= and delta=, or epsilon= and delta= of the "
                'whole budget with accounting="zcdp".'
            )
        if delta is None:
            raise MissingArgument("delta= is needed: at which the ρ of the session is told as ε.")
        at = parse_delta(delta)
        spare = (
            NO_DELTA if delta_releases is None else parse_delta(delta_releases, "delta_releases")
        )
        if rho is not None:
            return cls(Measure.ZCDP, Loss(rho=parse_rho(rho), delta=spare), at)
        found = conversions.rho_for(parse_budget(epsilon), at)
        return cls(Measure.ZCDP, Loss(rho=Rho(found), delta=spare), at)

    @classmethod
    def _of_epsilon(cls, epsilon: object, delta: object) -> PrivacyBudget | None:
        if epsilon is None:
            if delta is not None:
                raise MissingArgument("epsilon= is needed with delta=: dp.session(epsilon=2, …).")
            return None
        limit = parse_budget(epsilon)
        if delta is None:
            return cls(Measure.PURE, Loss(limit))
        return cls(Measure.APPROXIMATE, Loss(limit, parse_delta(delta)))

    @property
    def epsilon(self) -> Epsilon | None:
        """The ε of the whole budget; for ρ, the one that it means at `delta`."""
        if self.limit is None:
            return None
        if self.measure is not Measure.ZCDP:
            return self.limit.epsilon
        return Epsilon(conversions.epsilon_of(self.limit.rho, self.delta))

    @property
    def all_delta(self) -> Delta:
        """The δ of the whole budget, thresholds included."""
        return Delta(self.delta + (NO_DELTA if self.limit is None else self.limit.delta))

    def __str__(self) -> str:
        if self.limit is None:
            return "no limit"
        if self.measure is not Measure.ZCDP:
            return str(self.limit)
        return f"ρ = {self.limit.rho}, δ = {self.all_delta}"

    def asked(
        self,
        epsilon: object = None,
        *,
        rho: object = None,
        delta: object = None,
        mechanism: object = None,
        fresh: object = None,
    ) -> LossRequest:
        """What a release may cost in this session, or why it may not."""
        if epsilon is not None and rho is not None:
            raise QueryError("epsilon= and rho= are two ways to say one thing.")
        if mechanism is not None and not is_one_of(mechanism, ("laplace", "gaussian")):
            raise QueryError(f"mechanism={quoted(mechanism)} must be 'laplace' or 'gaussian'.")
        if rho is not None and self.measure is not Measure.ZCDP:
            raise QueryError(
                "this session counts ε, and can't count rho=. Give epsilon=, or start one with "
                "dp.session(rho=…, delta=…)."
            )
        if fresh is not None and not isinstance(fresh, bool):
            raise QueryError(f"fresh={quoted(fresh)} must be True or False.")
        share = NO_DELTA if delta is None else self._delta(delta)
        usual = "laplace" if rho is None else "gaussian"
        noise = usual if mechanism is None else str(mechanism)
        if rho is None and noise == "gaussian":
            self._check_gaussian(share)
        return LossRequest(
            self.measure,
            parse_epsilon(epsilon) if rho is None else None,
            share,
            None if rho is None else parse_rho(rho),
            noise,
            draw=0 if fresh else 1,
            chosen=mechanism is not None,
        )

    def _delta(self, delta: object) -> Delta:
        parsed = parse_delta(delta)
        is_free = self.measure is Measure.APPROXIMATE and self.limit is None  # in audits
        has_some = is_free or (self.limit is not None and self.limit.delta > 0)
        if not has_some:
            way = {
                Measure.PURE: "dp.session(epsilon=2, delta=1e-6)",
                Measure.APPROXIMATE: "dp.session(epsilon=2, delta=1e-6)",
                Measure.ZCDP: "dp.session(rho=…, delta=…, delta_releases=1e-6)",
            }[self.measure]
            raise QueryError(
                f"this session has no δ to spend: its promise is {self.measure.value}, and "
                f"delta={quoted(delta)} would break it. Start one that has: {way}."
            )
        return parsed

    def _check_gaussian(self, share: Delta) -> None:
        if self.measure is Measure.PURE:
            raise QueryError(
                "Gaussian noise is not private for any ε without a δ. Start a session with one: "
                "dp.session(epsilon=2, delta=1e-6) or dp.session(rho=0.1, delta=1e-6)."
            )
        if self.measure is Measure.ZCDP:
            raise QueryError("in a session that counts ρ give rho= for Gaussian noise.")
        if not share:
            raise MissingArgument("delta= is needed for Gaussian noise: delta=1e-7.")
