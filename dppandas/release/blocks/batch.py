"""Releases declared in advance, composed tightly by dp_accounting."""

from __future__ import annotations

import functools
import importlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Generic, NamedTuple, Unpack

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
from ...rows.sentences import ShownInSentences
from .. import context
from ..answers.records import Record
from ..answers.shapes import Answer
from ..query import Query
from ..release import Asked, release_all
from ..session import current
from ..unreleased import Unreleased
from ..ways import Ways
from . import split

#: Losses are multiples of this, rounded up.
STEP = Fraction(1, 10_000)
#: Below this, rounding errors of the accounting's floats could decide.
LEAST_DELTA = Fraction(1, 10**10)
#: The accounting rounds losses up to multiples of this.
GRID = 1e-4
#: With a larger sensitivity, a release is bounded by its loss alone.
MOST_MOVED = 1000


class PendingRelease(ShownInSentences, Generic[Answer]):
    """A release of a batch. ``.result()`` is the answer, once the block has ended."""

    def __init__(self, asked: Unreleased[Answer], ways: Ways) -> None:
        self._asked, self._ways = asked, ways
        self._record: Record | None = None

    @hide_internals
    def result(self) -> Answer:
        """The answer, as its ``.release()`` would have given it."""
        if self._record is None:
            raise SessionError(
                "a batch answers when its block has ended. Call .result() after it. If the block "
                "raised, nothing was asked."
            )
        return self._asked._shaped(self._record)  # type: ignore[no-any-return]

    def _sentences(self) -> list[str]:
        state = "promised" if self._record is None else "answered"
        return [f"<{state}: {self._asked._what}>"]


class Batch:
    """The releases of a `batch`."""

    def __init__(self, epsilon: Epsilon, delta: Delta) -> None:
        self._epsilon, self._delta = epsilon, delta
        self._promised: list[PendingRelease] = []
        self._is_open = False

    @with_options_named
    @hide_internals
    def add(
        self, asked: Unreleased[Answer], *, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> PendingRelease[Answer]:
        """Add an unreleased answer to the batch, maybe with its own ``epsilon=``.

        Give ``epsilon=`` to each release of the batch or to none. Without it all get the same ε,
        the largest that the batch can pay for.
        """
        if not isinstance(asked, Unreleased):
            raise QueryError(
                "a batch takes answers that are not released yet, such as df.dp.count(), not "
                f"{quoted(asked)}."
            )
        if not self._is_open:
            raise SessionError("this batch has ended. Start another: dp.batch(…).")
        ways = Ways.read(None if epsilon is None else parse_epsilon(epsilon), more)
        promised = PendingRelease(asked, ways)
        self._promised.append(promised)
        return promised

    def __enter__(self) -> Batch:
        self._is_open = True
        return self

    @hide_internals
    def __exit__(self, kind: object, *raised: object) -> None:
        self._is_open = False
        if kind is not None or not self._promised:
            return
        given = [each._ways.epsilon is not None for each in self._promised]
        if any(given) and not all(given):
            raise MissingArgument(
                "some releases of this batch have an epsilon=, and others don't. Give each its "
                "own, or none of them: then all get the same."
            )
        each = None if all(given) else self._largest()
        queries = [self._query(promised, each) for promised in self._promised]
        with context.within(program=context.program_of("batch")):
            records = release_all(queries, self._shares)
        for promised, record in zip(self._promised, records, strict=True):
            promised._record = record

    def _query(self, promised: PendingRelease, each: Epsilon | None) -> Asked:
        ways = promised._ways if each is None else replace(promised._ways, epsilon=each)
        request = promised._asked._request
        return request.asked(request.completed(ways).loss_request())

    def _largest(self) -> Epsilon:
        """The largest ε, in steps, that the batch can pay for each release."""
        low, high = 0, int(self._epsilon / STEP)
        while low < high:
            middle = (low + high + 1) // 2
            queries = [self._query(each, Epsilon(middle * STEP))[0] for each in self._promised]
            cost = composed([(query, query.mechanism()) for query in queries], self._delta)
            if cost.within(Loss(self._epsilon, self._delta)):
                low = middle
            else:
                high = middle - 1
        if not low:
            raise QueryError(
                f"{len(self._promised)} releases can't share ε = {self._epsilon} in steps of "
                f"{float(STEP):g}. Ask fewer, or give the batch a larger epsilon=."
            )
        return Epsilon(low * STEP)

    def _shares(self, asked: Sequence[tuple[Query, Mechanism]]) -> list[Loss]:
        """What the ledger is charged for each: the common cost, shared in proportion to losses."""
        whole = composed(asked, self._delta)
        if not whole.within(Loss(self._epsilon, self._delta)):
            raise QueryError(
                f"these {len(asked)} releases cost {whole} together, and the batch has ε = "
                f"{self._epsilon}. Lower their epsilon=, or give none: then all get the largest "
                "one that fits."
            )
        own = [query.loss(mechanism).epsilon for query, mechanism in asked]
        shared = SharedLoss(whole.epsilon, whole.delta)
        return [shared.fraction(each / sum(own) if each else Fraction(0)).loss for each in own]


@hide_internals
def batch(*, epsilon: object = None, delta: object = None) -> Batch:
    """Many releases, declared in advance and composed tightly: a block that collects them.

    epsilon, delta : the most that all releases may cost together. When the block ends, the ledger
        is charged what they really cost, for all of them or for none.

    The losses of a few releases add up. Many releases are hardly ever all at their worst together,
    so their joint cost grows with the root of their number only. This is proven for a list that is
    fixed in advance, but not for questions that follow from answers, so a session adds losses up
    (docs/asking.md). A batch needs a session with a δ, and dp_accounting: ``dppandas[batches]``.

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
        raise QueryError("a batch has a loss of its own. Start it outside of the split.")
    terms = current()._terms
    if terms.measure is not Measure.APPROXIMATE:
        way = "dp.session(epsilon=2, delta=1e-5)"
        raise QueryError(
            f"a batch needs a session that counts ε and δ: {way}. One that counts ρ composes "
            "tightly without a batch."
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


class _Law(NamedTuple):
    """What bounds a release: "laplace" or "gaussian" noise and a sensitivity, or its "loss"."""

    kind: str
    first: float
    second: float

    def distribution(self) -> Any:
        pld = _accounting()
        if self.kind == "loss":
            common = importlib.import_module("dp_accounting.pld.common")
            loss = common.DifferentialPrivacyParameters(self.first, self.second)
            return pld.from_privacy_parameters(loss, value_discretization_interval=GRID)
        make = getattr(pld, f"from_discrete_{self.kind}_mechanism")
        return make(self.first, sensitivity=int(self.second), value_discretization_interval=GRID)


def composed(asked: Sequence[tuple[Query, Mechanism]], delta: Delta) -> Loss:
    """The most that some releases cost together: the sum, or their composition at δ if smaller."""
    # a person may be in one of two sources or branches only, and would pay more than a share
    if len({(query.source.id, query.path) for query, _ in asked}) > 1:
        raise QueryError("a batch asks one source, in one part. Start a batch for each.")
    losses = [query.loss(mechanism) for query, mechanism in asked]
    added = sum(losses, Loss())
    laws = Counter(_law(query, mechanism) for query, mechanism in asked)
    each = (
        law.distribution().self_compose(number) if number > 1 else law.distribution()
        for law, number in laws.items()
    )
    whole = functools.reduce(lambda one, other: one.compose(other), each)
    # the accounting rounds up; a step is far larger than the errors of its floats
    found = whole.get_epsilon_for_delta(float(delta) * (1 - 1e-9))
    if not math.isfinite(found):  # the releases' own δ is more than the batch's
        return added
    steps = -(-(Fraction(found) + STEP / 100) // STEP)
    if added.epsilon <= steps * STEP and added.delta <= delta:
        return added
    return Loss(Epsilon(steps * STEP), delta)


def _law(query: Query, mechanism: Mechanism) -> _Law:
    """What bounds a release. Floats are rounded so that it costs more, not less."""
    sensitivity, loss = query.unit_sensitivity, query.loss(mechanism)
    if not loss.epsilon and not loss.delta:  # bounds=(0, 0) release nothing
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
