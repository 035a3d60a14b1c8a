"""Releases declared in advance, composed tightly by dp_accounting."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import TracebackType
from typing import Any, Unpack

from ...errors import MissingArgument, QueryError, SessionError, hide_internals, quoted
from ...privacy.accounting.losses import (
    Delta,
    Epsilon,
    Loss,
    ReleaseOptions,
    parse_delta,
    parse_epsilon,
    with_options_named,
)
from ...privacy.accounting.measures import Measure
from ...privacy.accounting.shares import SharedLoss
from ...privacy.mechanisms.base import Mechanism
from ...privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from ..answers.records import Record
from ..query import Query
from ..release import Asked, release_all
from ..session import current
from ..unreleased import Unreleased
from ..ways import Ways
from . import split

#: Losses are told in steps of this, and rounded up.
STEP = Fraction(1, 10_000)
#: Below, the floats of the accounting could decide.
LEAST_DELTA = Fraction(1, 10**10)
#: So far apart are the losses that are told apart; rounding is upwards.
GRID = 1e-4
#: Of a single whole number that one unit moves further, the law isn't written out.
MOST_MOVED = 1000


class PendingRelease:
    """What a batch will answer. ``.result()`` has it once the block has ended."""

    def __init__(self, asked: Unreleased, ways: Ways) -> None:
        self._asked, self._ways = asked, ways
        self._record: Record | None = None

    @hide_internals
    def result(self) -> Any:
        """The answer, as its ``.release()`` would have given it."""
        if self._record is None:
            raise SessionError(
                "a batch answers when its block has ended: ask .result() after it. If the block "
                "raised, nothing was asked."
            )
        return self._asked._shaped(self._record)

    def __repr__(self) -> str:
        state = "promised" if self._record is None else "answered"
        return f"<{state}: {self._asked._what}>"


class Batch:
    """The releases of a `batch`."""

    def __init__(self, epsilon: Epsilon, delta: Delta) -> None:
        self._epsilon, self._delta = epsilon, delta
        self._promised: list[PendingRelease] = []
        self._is_open = False

    @with_options_named
    @hide_internals
    def add(
        self, asked: Any, *, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> PendingRelease:
        """Ask in this batch: an unreleased answer, and its own ε (or that of Gaussian noise).

        Give each release of the batch its ``epsilon=``, or none of them: then all get the same, the
        largest that the batch can pay.
        """
        if not isinstance(asked, Unreleased):
            raise QueryError(
                "a batch takes answers that are not released yet, such as df.dp.count(), not "
                f"{quoted(asked)}."
            )
        if not self._is_open:
            raise SessionError("this batch has ended: start another.")
        ways = Ways.read(None if epsilon is None else parse_epsilon(epsilon), more)
        promised = PendingRelease(asked, ways)
        self._promised.append(promised)
        return promised

    def __enter__(self) -> Batch:
        self._is_open = True
        return self

    @hide_internals
    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        if kind is not None or not self._promised:
            return
        given = [each._ways.epsilon is not None for each in self._promised]
        if any(given) and not all(given):
            raise MissingArgument(
                "give each release of a batch its epsilon=, or none of them: then all get the same."
            )
        self._release(None if all(given) else self._largest())

    def _release(self, each: Epsilon | None) -> None:
        queries = [self._query(promised, each) for promised in self._promised]
        records = release_all(queries, self._shares)
        for promised, record in zip(self._promised, records, strict=True):
            promised._record = record

    def _query(self, promised: PendingRelease, each: Epsilon | None) -> Asked:
        ways = promised._ways if each is None else replace(promised._ways, epsilon=each)
        request = promised._asked._request
        return request.asked(request.completed(ways).loss_request())

    def _largest(self) -> Epsilon:
        """The largest ε of each that the batch can pay, in so many steps."""
        low, high = 0, int(self._epsilon / STEP)
        while low < high:
            middle = (low + high + 1) // 2
            if self._cost_at(Epsilon(middle * STEP)).within(Loss(self._epsilon, self._delta)):
                low = middle
            else:
                high = middle - 1
        if not low:
            raise QueryError(
                f"{len(self._promised)} releases can't share ε = {self._epsilon} in steps of "
                f"{float(STEP):g}: ask fewer, or give the batch more."
            )
        return Epsilon(low * STEP)

    def _cost_at(self, each: Epsilon) -> Loss:
        queries = [self._query(promised, each)[0] for promised in self._promised]
        return composed([(query, query.mechanism()) for query in queries], self._delta)

    def _shares(self, asked: Sequence[tuple[Query, Mechanism]]) -> list[Loss]:
        """What the ledger is charged for each: of what all cost together, by its own loss."""
        whole = composed(asked, self._delta)
        if not whole.within(Loss(self._epsilon, self._delta)):
            raise QueryError(
                f"these {len(asked)} releases cost {whole} together, and the batch has ε = "
                f"{self._epsilon}. Lower their epsilon=, or give none: then all get the largest "
                "that it can pay."
            )
        own = [query.loss(mechanism).epsilon for query, mechanism in asked]
        shared = SharedLoss(whole.epsilon, whole.delta)
        return [shared.fraction(each / sum(own) if each else Fraction(0)).loss for each in own]


@hide_internals
def batch(*, epsilon: object = None, delta: object = None) -> Batch:
    """Releases declared in advance, and composed tightly: a block that collects what is asked.

    epsilon, delta : the most that all of them may cost together. What they do cost, which is at
        most that, is charged when the block ends, for all of them or for none.

    For a few releases losses add up. For many they hardly ever are all at their worst together, and
    what they cost together grows with the root of their number. That is known for a list fixed in
    advance; where questions follow from answers it is not proven, so a session adds up
    (docs/ledger.md). It takes a session with a δ, and dp_accounting: ``dppandas[batches]``.

    *Guarantee*: (epsilon, delta)-differential privacy of the unit for all answers together. Each is
    bounded by a dominating pair; pure ε by that of randomised response (Kairouz, Oh and Viswanath,
    ICML 2015, Theorem 3.3; Zhu, Dong and Wang, AISTATS 2022, Theorem 10; docs/proofs/batches.md).

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); _ = dp.session(epsilon=2, delta=1e-5)
    >>> people = dp.protect(pd.DataFrame({"x": range(99)}), name="batch")
    >>> with dp.batch(epsilon=1, delta=1e-6) as asked:
    ...     counts = [asked.add(people.query(f"x > {i}").count()) for i in range(30)]
    >>> dp.record(counts[0].result()).epsilon < 1 / 20
    True
    """
    if split.running() is not None:
        raise QueryError("a batch has a loss of its own: start it outside of the split.")
    terms = current()._terms
    if terms.measure is not Measure.APPROXIMATE:
        way = "dp.session(epsilon=2, delta=1e-5)"
        raise QueryError(
            f"a batch needs a session that counts ε and δ: {way}. One that counts ρ composes "
            "tightly by itself, and whatever the answers are."
        )
    if epsilon is None or delta is None:
        raise MissingArgument("a batch takes epsilon= and delta=, as in dp.batch(epsilon=1, "
                              "delta=1e-6).")  # fmt: skip
    least = parse_delta(delta)
    if least < LEAST_DELTA:
        raise QueryError(f"delta={quoted(delta)} of a batch must be 1e-10 or more.")
    _accounting()
    return Batch(parse_epsilon(epsilon), least)


def _accounting() -> Any:
    try:
        return importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError:
        raise QueryError('a batch needs dp_accounting: pip install "dppandas[batches]".') from None


@dataclass(frozen=True)
class _Law:
    """What bounds a release: its noise on a number moved so far, or its loss."""

    kind: str
    first: float
    second: float

    def distribution(self) -> Any:
        pld = _accounting()
        if self.kind == "laplace":
            return pld.from_discrete_laplace_mechanism(
                self.first, sensitivity=int(self.second), value_discretization_interval=GRID
            )
        if self.kind == "gaussian":
            return pld.from_discrete_gaussian_mechanism(
                self.first, sensitivity=int(self.second), value_discretization_interval=GRID
            )
        common = importlib.import_module("dp_accounting.pld.common")
        loss = common.DifferentialPrivacyParameters(self.first, self.second)
        return pld.from_privacy_parameters(loss, value_discretization_interval=GRID)


def composed(asked: Sequence[tuple[Query, Mechanism]], delta: Delta) -> Loss:
    """What some releases cost together, at most: what they add up to, or their composition at δ."""
    _refuse_several_places([query for query, _ in asked])
    losses = [query.loss(mechanism) for query, mechanism in asked]
    added = sum(losses, Loss())
    laws = Counter(_law(query, mechanism) for query, mechanism in asked)
    whole = None
    for law, number in laws.items():
        one = law.distribution()
        several = one.self_compose(number) if number > 1 else one
        whole = several if whole is None else whole.compose(several)
    if whole is None:
        return added
    # the accounting rounds up what it can't hold; the steps are far above the errors of floats
    found = whole.get_epsilon_for_delta(float(delta) * (1 - 1e-9))
    if not math.isfinite(found):  # what δ they have by themselves is more than the batch's
        return added
    steps = -(-(Fraction(found) + STEP / 100) // STEP)
    if added.epsilon <= steps * STEP and added.delta <= delta:
        return added
    return Loss(Epsilon(steps * STEP), delta)


def _refuse_several_places(queries: Sequence[Query]) -> None:
    """Of two sources or parts a person may be in one only, and would pay more than a share."""
    if len({(query.source.id, query.path) for query in queries}) > 1:
        raise QueryError("a batch asks one source, in one part: start one for each.")


def _law(query: Query, mechanism: Mechanism) -> _Law:
    """What bounds a release; floats are rounded so that it costs more."""
    sensitivity, loss = query.unit_sensitivity, query.loss(mechanism)
    if not loss.epsilon and not loss.delta:  # of bounds (0, 0) nothing is told
        return _Law("loss", 0.0, 0.0)
    alone = query.statistic.size == 1 and not query.select
    if (alone or sensitivity.l1 == 1) and sensitivity.l1 <= MOST_MOVED:
        if isinstance(mechanism, DiscreteLaplace):
            return _Law("laplace", _up(1 / mechanism.scale), sensitivity.l1)
        if isinstance(mechanism, DiscreteGaussian):
            return _Law("gaussian", _up(mechanism.sigma2) ** 0.5 * (1 - 1e-12), sensitivity.l1)
    return _Law("loss", _up(loss.epsilon), _up(loss.delta))


def _up(value: Fraction) -> float:
    return float(value) * (1 + 1e-12)
