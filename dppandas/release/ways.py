"""The options that a call gives for its loss. They are read here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping

from ..dataclasses import dataclass
from ..errors import QueryError, nearest
from ..privacy.accounting.measures import LossRequest
from .session import current


@dataclass(frozen=True)
class Ways:
    """The options of a release, as the caller wrote them: see `ReleaseOptions`."""

    epsilon: object = None
    rho: object = None
    delta: object = None
    mechanism: object = None
    fresh: object = None
    within: object = None
    confidence: object = None
    expected_rows: object = None
    at_most: object = None

    @classmethod
    def read(cls, epsilon: object, more: Mapping[str, object]) -> Ways:
        """Read a call's arguments. Misspelt names are refused, because they would do nothing while
        the release is charged."""
        known = list(cls.__dataclass_fields__)
        for name in more:
            if name not in known:
                near = nearest(name, known)
                hint = f" Did you mean {near[0]}=?" if near else ""
                raise QueryError(
                    f"got an unexpected keyword argument {name!r}.{hint} A release takes "
                    f"{', '.join(known)}. Arguments of the query itself, such as bounds= and "
                    "keys=, go where the query is written."
                )
        return cls(epsilon, **more)

    @property
    def give_loss(self) -> bool:
        """Whether they give a loss, so that the call is answered now."""
        return any(each is not None for each in (self.epsilon, self.rho, self.within))

    def check_idle(self, statistic: object) -> None:
        """Refuse what would be lost, because the call gives no loss; a statistic keeps its δ."""
        kept = {"delta"} if getattr(statistic, "delta", None) else set()
        for name in self.__dataclass_fields__:
            if getattr(self, name) is not None and name not in kept:
                loss = "epsilon=0.1" if name in ("delta", "mechanism", "fresh") else "within=10"
                raise QueryError(
                    f"{name}= says how to release, and this call releases nothing: it has no "
                    f"epsilon=. Give both at once, here or in .release({loss}, {name}=…)."
                )

    def loss_request(self) -> LossRequest:
        """The loss that the running session may charge. Refuses options that don't fit."""
        if self.within is not None:
            raise QueryError(
                "within= is for a single answer, which has a single error. Give epsilon=, or ask "
                "for each answer by itself."
            )
        for name in ("confidence", "expected_rows", "at_most"):
            if getattr(self, name) is not None:
                other = " A released answer has its error at any confidence: .error(0.9)."
                raise QueryError(
                    f"{name}= goes with within=, as in count(within=20, confidence=0.95)."
                    f"{other if name == 'confidence' else ''}"
                )
        return self.priced(self.epsilon, self.rho, self.delta)

    def priced(self, epsilon: object, rho: object, delta: object) -> LossRequest:
        """A request with these options, at another loss."""
        terms = current().ledger._terms
        return terms.asked(
            epsilon, rho=rho, delta=delta, mechanism=self.mechanism, fresh=self.fresh
        )


#: The options of a call that gives none.
UNSAID = Ways()
