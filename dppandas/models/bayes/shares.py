"""What noisy counts of several categories say of their chances: which counts may be behind them."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...privacy.accuracy.laws import NoiseLaw
from .draws import gammas, uniforms
from .families import log_gamma

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Counts are taken together in blocks of this share of the noise's deviation.
OF_NOISE = 1 / 4
#: The number of rows of all other categories together is told in so many blocks.
OTHERS = 192
#: What is below e^-this of the likeliest is left out.
UNLIKELY = 40
#: So many draws are made at once.
AT_ONCE = 2**14


class Counts:
    """Which numbers of rows the categories may have, given noisy ones.

    The counts n have a chance ∝ N!/Γ(N + A) · Π Γ(n_i + a_i)/n_i! · P[noise = y_i - n_i], where N
    is their sum and A that of the prior's numbers a (docs/proofs/posterior.md). But for the first
    factor they are independent: sums of them are convolutions.
    """

    def __init__(
        self, noisy: Sequence[int], law: NoiseLaw, prior: Sequence[float], reach: float
    ) -> None:
        deviation = math.sqrt(law.variance)
        self._step, self._prior = max(1, math.floor(deviation * OF_NOISE)), prior
        least = -math.ceil(8 * deviation)
        made = [
            self._of_one(max(y, least), law, a, reach) for y, a in zip(noisy, prior, strict=True)
        ]
        #: The first block of each category, and the weights from there on.
        self._first = np.array([first for first, _ in made])
        self._weights = [weights for _, weights in made]

    def _of_one(self, noisy: int, law: NoiseLaw, a: float, reach: float) -> tuple[int, Floats]:
        step = self._step
        first = math.floor(max(0.0, noisy - reach) / step)
        last = math.floor(max(0.0, noisy + reach) / step)
        counts = np.arange(first * step, (last + 1) * step, dtype=np.float64)
        logs = log_gamma(counts + a) - log_gamma(counts + 1) + law.log_density(noisy - counts)
        weights = np.exp(logs - logs.max()).reshape(-1, step)
        return first, weights.sum(axis=1).astype(np.float64)

    def _sizes(self, blocks: npt.NDArray[np.int64], of: int) -> Floats:
        """The number of rows in the middle of blocks that are sums of so many."""
        middle = of * (self._step - 1) / 2
        return np.asarray(blocks * float(self._step) + middle, dtype=np.float64)

    def others(self) -> list[tuple[Floats, Floats]]:
        """For each category, how many rows all others may have, and the logarithms of the chances
        that take the place of a noise's in `Mixture`."""
        left = self._leaving_one_out(0, len(self._weights), np.ones(1))
        return [self._told(i, weights) for i, weights in enumerate(left)]

    def _leaving_one_out(self, start: int, end: int, around: Floats) -> list[Floats]:
        """For each category from start to end, the convolution of all others, halving by halving;
        ``around`` is that of those outside."""
        if end - start == 1:
            return [around]
        middle = (start + end) // 2
        found = []
        for begin, stop, other in ((start, middle, (middle, end)), (middle, end, (start, middle))):
            with_other = functools.reduce(_convolved, self._weights[slice(*other)], around)
            found += self._leaving_one_out(begin, stop, with_other)
        return found

    def _told(self, i: int, weights: Floats) -> tuple[Floats, Floats]:
        """The rows of the others than category i, in few blocks."""
        number, whole = len(self._weights) - 1, sum(self._prior)
        first = int(self._first.sum() - self._first[i])
        rows = self._sizes(first + np.arange(len(weights)), number)
        own = self._sizes(self._first[i] + np.arange(len(self._weights[i])), 1)
        with np.errstate(divide="ignore"):
            logs = np.log(weights)
        near = float(own @ self._weights[i] / self._weights[i].sum())
        likely = logs + log_gamma(rows + near + 1) - log_gamma(rows + near + whole)
        kept = np.flatnonzero(likely > likely.max() - UNLIKELY)
        rows, logs = rows[kept[0] : kept[-1] + 1], logs[kept[0] : kept[-1] + 1]
        rest = whole - self._prior[i]
        logs = logs + log_gamma(rows + 1) - log_gamma(rows + rest)
        starts = np.arange(0, len(rows), math.ceil(len(rows) / OTHERS))
        sizes = np.diff([*starts, len(rows)])
        top = logs.max()
        return (
            np.add.reduceat(rows, starts) / sizes,
            top + np.log(np.add.reduceat(np.exp(logs - top), starts)),
        )

    def drawn(self, n: int) -> Floats:
        """n draws of all chances together, (n, categories)."""
        found = [self._drawn(min(AT_ONCE, n - i)) for i in range(0, n, AT_ONCE)]
        return np.concatenate(found)

    def _drawn(self, n: int) -> Floats:
        """Counts one after the other, given the sum of those that are left; then their chances."""
        tails = [np.ones(1)]
        for weights in reversed(self._weights):
            tails.append(_convolved(tails[-1], weights))
        tails.reverse()
        number, whole = len(self._weights), sum(self._prior)
        rows = self._sizes(int(self._first.sum()) + np.arange(len(tails[0])), number)
        with np.errstate(divide="ignore"):
            logs = np.log(tails[0]) + log_gamma(rows + 1) - log_gamma(rows + whole)
        left = _choice(np.exp(logs - logs.max())[None, :].repeat(n, axis=0))
        drawn = []
        for i, (weights, tail) in enumerate(zip(self._weights, tails[1:], strict=True)):
            own = np.arange(len(weights))
            rest = left[:, None] - own
            possible = (rest >= 0) & (rest < len(tail))
            chosen = _choice(weights * np.where(possible, tail[rest.clip(0, len(tail) - 1)], 0))
            left = left - chosen
            inside = self._step * (self._first[i] + chosen) + np.floor(self._step * uniforms(n))
            drawn.append(gammas(inside + self._prior[i]))
        found: Floats = np.stack(drawn, axis=1)
        found /= found.sum(axis=1, keepdims=True)
        return found


def _convolved(one: Floats, other: Floats) -> Floats:
    found: Floats = np.convolve(one, other)
    found /= found.max()
    return found


def _choice(weights: Floats) -> Ints:
    """A place of each row, with a chance in proportion to its weight."""
    cumulated = weights.cumsum(axis=1)
    at = uniforms(len(weights)) * cumulated[:, -1]
    found: Ints = (cumulated <= at[:, None]).sum(axis=1)
    return found
