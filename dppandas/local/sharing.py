"""A simulation of sums of secret shares: what trust in one of several parties would gain.

Nothing here is secure. All parties are variables of one process, which has seen the answers.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd

from ..dataclasses import dataclass
from ..errors import MissingArgument, QueryError, hide_internals
from ..privacy.accounting.losses import Epsilon, parse_epsilon
from ..privacy.mechanisms.noise import DiscreteLaplace
from ..privacy.sampling.entropy import SYSTEM
from ..release.accuracy.expected import CONFIDENCE, HELD, parse_confidence
from ..rows.facts.bounds import Bounds, Grid
from ..rows.facts.units import whole_number
from ..rows.figures import written
from ..rows.sentences import ShownInSentences
from ..rows.values.reading import column
from ..rows.values.vectors import as_numbers
from .responses import _as_series, _refuse_private

MODULUS = 2**64
LEAST, MOST = 2, 100


@dataclass(frozen=True, repr=False)
class SimulatedSum(ShownInSentences):
    """The outcome of a SIMULATION of secret-shared sums. It is NOT SECURE.

    value : the sum, with the noise of every party.
    parties : a Series with what each party would publish: its shares and its noise, added up modulo
        2^64. Each alone says nothing.
    epsilon : what the sum would cost a respondent who trusts one of the parties.
    """

    value: float
    parties: pd.Series[Any]
    epsilon: Epsilon
    _grid: Grid
    _law: DiscreteLaplace

    @hide_internals
    def error(self, confidence: float = CONFIDENCE) -> float:
        """How far the value may be from the exact sum of the clipped answers, with this confidence:
        Chernoff's bound for the sum of all noises."""
        risk = 1 - parse_confidence(confidence)
        return self._law.half_width_of_sum(risk, len(self.parties)) * self._grid.step

    def _sentences(self) -> list[str]:
        said = f"{written(self.value, self.error())} ({HELD})"
        parties = len(self.parties)
        return [f"<SIMULATION, not secure: sum {said} of the shares of {parties} parties>"]


@hide_internals
def simulate_shared_sum(
    series: Any, *, epsilon: object = None, bounds: object = None, parties: int = 3
) -> SimulatedSum:
    """A SIMULATION, NOT SECURE: a sum of answers that no single party could have seen.

    series : the answers, one element for each respondent: a plain Series, list or array. What can't
        be read as a number counts as no answer.
    epsilon, bounds : the loss, and the public bounds that answers are clipped to.
    parties : among how many parties each answer is split, 2 to 100.

    Each respondent splits the answer, as an integer on a public grid, into random shares that add
    up to it modulo 2^64: any of them short of all are uniform, whatever the answer. Each party adds
    up its shares, and *all* the noise that the sum needs. So one honest party is enough, which
    keeps its shares secret and adds its noise: if all others collude, they know their own noise,
    but not the noise of that one. The price is the variance of one trusted holder times the number
    of parties; see `compare`.

    Here everything happens in one process, which sees every answer, share and noise: nothing is
    hidden from whoever runs it, so nothing is noted in any ledger or in `losses`.

    *Guarantee*: none. If parties who don't collude did this with shares sent in secret, the sum
    would be ε-differentially private towards all but the honest party; a neighbour is a table in
    which one respondent has no answer (docs/proofs/randomized_response.md).

    >>> from dppandas import local
    >>> total = local.simulate_shared_sum([1, 2, 3], epsilon=5, bounds=(0, 4))
    >>> repr(total).startswith("<SIMULATION, not secure: sum ")
    True
    """
    _refuse_private(series)
    loss = parse_epsilon(epsilon)
    if bounds is None:
        raise MissingArgument("bounds= is needed: public bounds of answers, such as bounds=(0, 1).")
    parties = whole_number(parties, "parties", LEAST, MOST, ": one alone would see all")
    answers = _as_series(series)
    grid = Grid.centred(Bounds.parse(bounds, "answer"))
    if len(answers) * grid.reach >= MODULUS // 4:
        raise QueryError(f"a sum of {len(answers):,} answers could exceed 2^64: ask for fewer.")
    law = DiscreteLaplace.calibrate(grid.reach, loss)
    shares = _split(_integers(answers, grid), parties)
    sums = [int(each.sum(dtype=np.uint64)) for each in shares]
    published = [law.release([each])[0] % MODULUS for each in sums]
    total = sum(published) % MODULUS
    signed = total - MODULUS if total >= MODULUS // 2 else total
    index = pd.RangeIndex(1, parties + 1, name="party")
    subtotals = pd.Series(published, index=index, dtype="uint64", name="published")
    return SimulatedSum(signed * grid.step, subtotals, loss, grid, law)


def _integers(answers: pd.Series[Any], grid: Grid) -> Any:
    """Each answer on the grid, modulo 2^64; 0 where there is none."""
    steps = grid.integers(as_numbers(column(answers)))
    return np.where(np.isnan(steps), 0, steps).astype(np.int64).view(np.uint64)


def _split(answers: Any, parties: int) -> list[Any]:
    """Shares for each party: random words, and a last one that makes them add up to the answers."""
    shares = [SYSTEM.words(len(answers)) for _ in range(parties - 1)]
    return [*shares, functools.reduce(np.subtract, shares, answers)]
