"""Black-box audits: a lower bound on ε, from outcomes on two neighbouring data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dataclasses import dataclass
from ..errors import QueryError, quoted
from ..privacy.accounting.losses import parse_budget
from ..release.accuracy.expected import parse_confidence
from ..rows.facts.units import whole_number
from ..rows.sentences import ShownInSentences
from .events import ClopperPearson, Event, learn
from .outcomes import Sample


@dataclass(frozen=True)
class AuditResult(ShownInSentences):
    """What an audit found: with `confidence`, the ε of what was run is at least `lower_bound`.

    `event` describes the event that shows it, and how often it happened in the test phase; `runs`
    is the number of calls per phase and data set.
    """

    lower_bound: float
    epsilon: float
    confidence: float
    event: str
    runs: int
    delta: float = 0.0
    note: str = ""

    @property
    def violated(self) -> bool:
        """Whether the claimed ε is refuted. False proves nothing."""
        return self.lower_bound > self.epsilon

    def __str__(self) -> str:
        return "\n".join(self._sentences())

    def _sentences(self) -> list[str]:
        claim = f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" if self.delta else "")
        verdict = "VIOLATED" if self.violated else "not refuted"
        found = (
            f"{claim} is {verdict}: ε ≥ {self.lower_bound:.4g} with confidence "
            f"1 - {1 - self.confidence:.2g}, from {self.runs:,} runs a phase and data set."
        )
        return [found, f"event: {self.event}", *([f"note: {self.note}"] if self.note else [])]


def audit(
    release_fn: Callable[[Any], Any],
    D: Any,
    D_prime: Any,
    epsilon: object,
    *,
    runs: int = 20_000,
    confidence: float = 1 - 1e-6,
    delta: float = 0.0,
) -> AuditResult:
    """Refute a claim of (epsilon, delta)-differential privacy, or fail to.

    release_fn : what is audited, a function from a data set to what is published. Numbers, labels,
        None, NaN, lists, dicts, arrays, Series and DataFrames are compared in full; other objects
        only by type. An exception is an outcome too, named by its type.
    D, D_prime : two neighbouring data sets. Make them up, because every run is a real release.
    epsilon, delta : the claim.
    runs : calls in each of two phases, for each data set: 4 × runs in all.
    confidence : a true claim is not refuted with at least this probability.

    The first phase learns one event: a tail, a single value, a label or NaN, of a number or of sums
    and differences of numbers. The second phase tests that event, once, on fresh runs: with
    confidence 1 - α, ε ≥ ln((p_low - δ)/p'_high) by Clopper and Pearson's bounds at α/2 each,
    whatever release_fn does, as long as its runs are independent. Raises `QueryError` for wrong
    arguments, before the first run, and ImportError without scipy.

    >>> import pandas as pd, dppandas as dp
    >>> town = pd.DataFrame({"age": [20, 30, 40]})
    >>> audit(lambda df: df.dp.count(epsilon=1), town, town[1:], epsilon=1, runs=200).violated
    False
    >>> audit(len, town, town[1:], epsilon=1, runs=200).violated
    True
    """
    if not callable(release_fn):
        raise QueryError(f"release_fn={quoted(release_fn)} must be a function of a data set.")
    claim = float(parse_budget(epsilon))
    sure, slack = parse_confidence(confidence), _parse_delta(delta)
    runs = whole_number(runs, "runs", 1)
    _need_scipy()
    bounder = ClopperPearson(runs, (1 - sure) / 2)
    learning = _runs(release_fn, D, D_prime, runs)
    event, forward = learn(learning[0], learning[1], bounder, slack)
    test = _runs(release_fn, D, D_prime, runs)
    bound, text = _test(event, forward, test, bounder, slack)
    return AuditResult(bound, claim, sure, text, runs, slack, _note([*learning, *test]))


def _parse_delta(delta: object) -> float:
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 <= delta < 1:
        raise QueryError(f"delta={quoted(delta)} must be a number from 0 to less than 1.")
    return float(delta)


def _need_scipy() -> None:
    try:
        import scipy.special  # noqa: F401
    except ImportError as error:
        raise ImportError("dppandas.audit needs scipy: pip install 'dppandas[audit]'.") from error


def _runs(release_fn: Callable[[Any], Any], one: Any, other: Any, runs: int) -> list[Sample]:
    """Fresh outcomes of both data sets in turn, so that a drift over time affects both alike."""
    samples = [Sample(), Sample()]
    for _ in range(runs):
        samples[0].run(release_fn, one)
        samples[1].run(release_fn, other)
    return samples


def _test(
    event: Event, forward: bool, samples: list[Sample], bounder: ClopperPearson, delta: float
) -> tuple[float, str]:
    counts = [event.count(sample) for sample in samples]
    more, less = (np.array([count]) for count in (counts if forward else counts[::-1]))
    bound = float(bounder.epsilon(more, less, delta)[0])
    of_one, of_other = (f"{count / bounder.runs:.4g}" for count in counts)
    return max(0.0, bound), f"{event}: in {of_one} of the runs on D, {of_other} of those on D_prime"


def _note(samples: list[Sample]) -> str:
    raised, runs = (sum(getattr(each, name) for each in samples) for name in ("raised", "runs"))
    if 2 * raised <= runs:
        return ""
    return (
        f"{raised:,} of {runs:,} runs raised an error, which may not be what you meant to audit: "
        "for example, the session's budget may have been too small"
    )
