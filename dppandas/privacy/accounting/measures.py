"""What a session promises and in which measure, what may be asked of it, and what that is charged.

There are three measures, and a session uses one of them: pure ε; ε with a δ, both added up (basic
composition); and zero-concentrated privacy, whose ρ add up even where each query depends on earlier
answers.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from ...dataclasses import dataclass, field
from ...errors import MissingArgument, QueryError, SessionError, is_one_of, quoted
from . import conversions, losses
from .losses import NO_DELTA, Delta, Epsilon, Loss, Rho

#: What ``mechanism=`` may be: noise that is added to numbers, and ways to select.
NOISES, SELECTIONS = ("laplace", "gaussian"), ("exponential", "permute_and_flip")


class Measure(Enum):
    """How losses are counted."""

    PURE = "pure"
    APPROXIMATE = "approximate"
    ZCDP = "zCDP"

    @property
    def symbol(self) -> str:
        """The letter of the main quantity."""
        return "ρ" if self is Measure.ZCDP else "ε"

    def first(self, loss: Loss) -> Epsilon:
        """The main quantity of a loss: its ε, or its ρ."""
        return loss.rho if self is Measure.ZCDP else loss.epsilon

    @property
    def counted(self) -> tuple[str, ...]:
        """The fields of a `Loss` that are counted."""
        if self is Measure.PURE:
            return ("epsilon",)
        return ("rho" if self is Measure.ZCDP else "epsilon"), "delta"


@dataclass(frozen=True)
class LossRequest:
    """The loss that a caller allows for one release, and the noise to use."""

    canonical_name: ClassVar[str] = "Asked"  # as keys and pickles call it

    measure: Measure = Measure.PURE
    epsilon: Epsilon | None = None
    delta: Delta = NO_DELTA
    rho: Rho | None = None
    noise: str = "laplace"
    draw: int = 1  # which of the answers to equal queries; 0 asks for a new one
    named: str = field(default="", compare=False)  # the mechanism, if the caller named it

    not_asked: ClassVar = ("draw", "named")  # equal queries may differ in these

    def allows(self, loss: Loss) -> bool:
        """Whether a release with this loss costs no more than was asked for."""
        if self.rho is not None:
            return loss.within(Loss(rho=self.rho, delta=self.delta))
        if self.measure is Measure.ZCDP:  # a pure loss, which is charged by its own ρ
            return loss.delta <= self.delta
        return self.epsilon is not None and loss.within(Loss(self.epsilon, self.delta))

    def charged(self, loss: Loss) -> Loss:
        """The loss charged for a release of this exact loss: no less, and no more than asked for.

        Calibration rounds an irrational ρ or δ, so the exact loss is a number of many digits a
        little below what was asked. The ledger gets the round number.
        """
        rho = self.rho if loss.rho and self.rho is not None else loss.rho
        return Loss(loss.epsilon, self.delta if loss.delta else loss.delta, rho)

    def laplace_epsilon(self, reason: str, give: str = "epsilon=") -> Epsilon:
        """The ε for a mechanism that knows nothing but Laplace noise and a pure ε, and why."""
        if self.epsilon is None or self.noise != "laplace":
            raise QueryError(f"{reason}. Give {give}, without rho= or mechanism=.")
        return self.epsilon

    def check_named(self, word: str, happens: str) -> None:
        """Refuse a release whose mechanism isn't the one that the caller named.

        word : what ``mechanism=`` calls the one that answers; "" if it can't be named.
        happens : its name in the ledger.
        """
        if self.named in ("", word):
            return
        way = f"comes by {happens}, which knows no other way"
        if word in NOISES:
            way = f"gets {word.capitalize()} noise, and isn't selected"
        elif word in SELECTIONS:
            way = f"is selected by {happens}, and gets no noise"
        instead = f", or write mechanism={word!r}" if word else ""
        raise QueryError(
            f"mechanism={self.named!r} isn't what happens here: the answer {way}. "
            f"Leave mechanism= out{instead}."
        )

    def __str__(self) -> str:
        return str(Loss(self.epsilon or Epsilon(0), self.delta, self.rho or Rho(0)))


@dataclass(frozen=True)
class PrivacyBudget:
    """The measure of a session, its limit (None: no limit), and the δ at which ρ is shown as ε."""

    measure: Measure = Measure.PURE
    limit: Loss | None = None
    delta: Delta = NO_DELTA

    @classmethod
    def parse(
        cls, epsilon: object, delta: object, rho: object, delta_releases: object, accounting: object
    ) -> PrivacyBudget | None:
        """The budget that the arguments of `dp.session` describe; None without any."""
        if accounting is not None and not is_one_of(accounting, ("basic", "zcdp")):
            raise SessionError(f"accounting={quoted(accounting)} must be 'basic' or 'zcdp'.")
        is_zcdp = rho is not None or accounting == "zcdp"
        if not is_zcdp:
            if delta_releases is not None:
                raise SessionError("delta_releases= is for sessions that count ρ. Give rho= too.")
            if epsilon is None:
                if delta is not None:
                    raise MissingArgument("epsilon= is needed beside delta=, such as epsilon=2.")
                return None
            limit = losses.parse_budget(epsilon)
            if delta is None:
                return cls(Measure.PURE, Loss(limit))
            return cls(Measure.APPROXIMATE, Loss(limit, losses.parse_delta(delta)))
        if accounting == "basic":
            raise SessionError("accounting='basic' can't count rho=. Leave accounting= out.")
        if (rho is None) == (epsilon is None):
            raise SessionError(
                "a session that counts ρ takes rho= and delta=, or the epsilon= and delta= of the "
                'whole budget with accounting="zcdp".'
            )
        if delta is None:
            raise MissingArgument("delta= is needed to state ρ as an ε. Write delta=1e-6.")
        at = losses.parse_delta(delta)
        known = delta_releases is not None
        spare = losses.parse_delta(delta_releases, "delta_releases") if known else NO_DELTA
        if epsilon is not None:
            rho = conversions.rho_for(losses.parse_budget(epsilon), at)
        return cls(Measure.ZCDP, Loss(rho=losses.parse_rho(rho), delta=spare), at)

    @property
    def epsilon(self) -> Epsilon | None:
        """The ε of the whole budget; for ρ, the ε that it gives at `delta`."""
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

    @property
    def call(self) -> str:
        """The code that asks for a session of this budget; if it has none, that gives it one."""
        if self.limit is None:
            return "dp.session(epsilon=…)"
        if self.measure is Measure.ZCDP:
            said = {"rho": self.limit.rho, "delta": self.delta, "delta_releases": self.limit.delta}
        else:
            said = {"epsilon": self.limit.epsilon, "delta": self.limit.delta}
        given = [f"{name}={losses.literal(value)}" for name, value in said.items() if value]
        return f"dp.session({', '.join(given)})"

    def asked(
        self,
        epsilon: object = None,
        *,
        rho: object = None,
        delta: object = None,
        mechanism: object = None,
        fresh: object = None,
    ) -> LossRequest:
        """The loss that a release asks for; QueryError where this session can't charge it."""
        if epsilon is not None and rho is not None:
            raise QueryError("epsilon= and rho= both say what the release may cost. Give one.")
        if mechanism is not None and not is_one_of(mechanism, (*NOISES, *SELECTIONS)):
            raise QueryError(
                f"mechanism={quoted(mechanism)} must be 'laplace' or 'gaussian', for noise, or "
                "'exponential' or 'permute_and_flip', for selections."
            )
        if rho is not None and self.measure is not Measure.ZCDP:
            raise QueryError(
                "this session counts ε, not rho=. Give epsilon=, or dp.session(rho=…, delta=…)."
            )
        if fresh is not None and not isinstance(fresh, bool):
            raise QueryError(f"fresh={quoted(fresh)} must be True or False.")
        share = NO_DELTA if delta is None else self._delta(delta)
        # The key of a query has the noise, and no selection: naming what happens anyway asks the
        # same. `check_named` compares the name with what happens.
        noise, named = "laplace" if rho is None else "gaussian", str(mechanism or "")
        noise, draw = named if named in NOISES else noise, 0 if fresh else 1
        if rho is not None:
            exact = losses.parse_rho(rho)
            return LossRequest(self.measure, None, share, exact, noise, draw, named)
        if noise == "gaussian":
            self._check_gaussian(share)
        loss = losses.parse_epsilon(epsilon)
        return LossRequest(self.measure, loss, share, None, noise, draw, named)

    def _delta(self, delta: object) -> Delta:
        parsed = losses.parse_delta(delta)
        is_audit = self.limit is None and self.measure is Measure.APPROXIMATE
        if not (is_audit or (self.limit and self.limit.delta)):
            is_zcdp = self.measure is Measure.ZCDP
            way = "rho=…, delta=…, delta_releases=1e-6" if is_zcdp else "epsilon=2, delta=1e-6"
            raise QueryError(
                f"this session has no δ to spend: its promise is {self.measure.value}, and "
                f"delta={quoted(delta)} would break it. To have one, end this session with "
                f"dp.reset() and start another, such as dp.session({way})."
            )
        return parsed

    def _check_gaussian(self, share: Delta) -> None:
        if self.measure is Measure.PURE:
            raise QueryError(
                "Gaussian noise is not private at any ε without a δ. Start a session that has one "
                "with dp.session(epsilon=2, delta=1e-6) or dp.session(rho=0.1, delta=1e-6)."
            )
        if self.measure is Measure.ZCDP:
            raise QueryError("Gaussian noise is counted by ρ in this session. Give rho= instead.")
        if not share:
            raise MissingArgument("delta= is needed for Gaussian noise, such as delta=1e-7.")
