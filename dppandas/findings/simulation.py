"""Numbers drawn as a release's noise might have been, for p-values by simulation.

Nothing here is ever added to rows: what protects them is drawn in `privacy.sampling`, which takes
no seed. These draws start from the random id of a release, so that an answer has one p-value.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..privacy.accuracy.combined import CombinedNoise
from ..privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from .forms import Draw, Linear

Floats = npt.NDArray[np.float64]
Generator = np.random.Generator
#: Up to this scale noise is drawn from its table; and how many scales that goes to.
TABLE, FAR = 2**10, 40


class Simulation:
    """A generator that belongs to some releases and to what is asked of them.

    is_random : whether its seed is random: it was drawn with the releases, independently of their
        rows and noise. Records of older ledgers lack one, and then it is a hash of what they tell.
    """

    def __init__(self, records: Iterable[Any], what: str) -> None:
        parts = sorted(
            {(part._seed, part.ledger, part.number, part.query) for r in records
             for part in r.components}
        )  # fmt: skip
        self.is_random = bool(parts) and all(seed for seed, *_ in parts)
        named = [seed for seed, *_ in parts] if self.is_random else parts
        digest = hashlib.sha256(repr((what, named)).encode()).digest()
        self.generator = np.random.default_rng(int.from_bytes(digest, "big"))

    def uniform(self) -> float:
        """A number between 0 and 1."""
        return float(self.generator.random())

    def noise(self, law: Any, shape: int | tuple[int, ...]) -> Floats:
        """Independent draws of a law."""
        if isinstance(law, CombinedNoise):
            found = sum(share * self.noise(each, shape) for each, share in law.parts)
            return np.rint(found) if law.whole else np.asarray(found)
        if not law.scale:
            return np.zeros(shape)
        if isinstance(law, DiscreteLaplace):
            success = -math.expm1(-1 / float(law.scale))
            one, other = (self.generator.geometric(success, shape) for _ in range(2))
            return (one - other).astype(np.float64)
        return self._gaussian(law, shape)

    def _gaussian(self, law: DiscreteGaussian, shape: int | tuple[int, ...]) -> Floats:
        sigma = math.sqrt(law.sigma2)
        if sigma > TABLE:  # the whole numbers are as good as all
            return np.rint(self.generator.normal(0, sigma, shape))
        reach = math.ceil(FAR * max(sigma, 1 / FAR))
        values = np.arange(-reach, reach + 1)
        chances = np.cumsum(np.exp(-(values**2) / (2 * sigma**2)))
        at = np.searchsorted(chances / chances[-1], self.generator.random(shape), "right")
        return values[np.minimum(at, 2 * reach)].astype(np.float64)

    def noise_of(self, sums: Sequence[Linear], size: int) -> Floats:
        """The noise of sums of released integers, ``size`` times: a column for each sum. Integers
        that several sums share have one noise."""
        draws: dict[Draw, Floats] = {}
        for draw in dict.fromkeys(draw for each in sums for draw in each.terms):
            draws[draw] = self.noise(draw.law, size)
        found = np.zeros((size, len(sums)))
        for i, each in enumerate(sums):
            for draw, weight in each.terms.items():
                found[:, i] += float(weight) * draws[draw]
        return found
