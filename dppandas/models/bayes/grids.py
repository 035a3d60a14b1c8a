"""What noisy counts of cells say of the parameters of a family, on a grid that is drawn where it
matters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .draws import uniforms
from .families import TINY, UNLIKELY, Family, log_gamma
from .scales import Marginal, at_ends

Floats = npt.NDArray[np.float64]
#: The counts that a noisy one may be of, and the logarithms of the chances of the noise.
Possible = tuple[Floats, Floats]

#: Places of each parameter and of the number of rows while the grid is drawn closer, and then: of
#: one parameter, of each of two, and of the number of rows.
COARSE, ONE, EACH, OF_ROWS = 41, 1025, 97, 49
#: A grid is drawn closer until all of it matters, to half at most each time, so that it can't lose
#: what lies between its first places; and not more often than this.
CLOSER, ROUNDS = 1 / 2, 60
#: Points of the table of each cell's likelihood.
TABLE = 512


class Grid:
    """The law of the parameters given noisy counts of cells.

    If each number of rows is as likely as any other before, they may as well be of a Poisson law
    of which each mean t is as likely: then cells are independent, and the likelihood is the
    integral over t of the product of P[Poisson(t p) + noise = y] over all cells, with the chances p
    that the parameters give them (docs/proofs/posterior.md).
    """

    def __init__(self, family: Family, cells: Sequence[Possible]) -> None:
        self._family, self._cells = family, cells
        most = sum(float(counts[-1]) for counts, _ in cells)
        ends = [*family.ends, (0.0, math.sqrt(most + 10 * math.sqrt(most) + UNLIKELY))]
        whole, sizes = list(ends), [COARSE] * len(ends)
        for _ in range(ROUNDS):
            axes, before = _axes(ends, sizes), ends
            logs = self._logs(axes)
            ends = [_closer(axis, logs, i, whole[i]) for i, axis in enumerate(axes)]
            if ends == before:
                break
        number = len(family.names)
        self.axes = _axes(ends, [ONE if number == 1 else EACH] * number + [OF_ROWS])
        logs = self._logs(self.axes)
        weights = np.exp(logs - logs.max())
        #: For each place of each parameter, with all numbers of rows together.
        self.weights = (weights * at_ends(np.ones(OF_ROWS))).sum(axis=-1)

    def _logs(self, axes: Sequence[Floats]) -> Floats:
        """The logarithms of the densities on a grid: of the parameters and of √t."""
        *places, roots = axes
        flat = [each.ravel() for each in np.meshgrid(*places, indexing="ij")]
        scales = self._family.scales
        values = [scale.value(each) for scale, each in zip(scales, flat, strict=True)]
        found = self._family.log_prior(*flat)[:, None] + np.log(np.maximum(roots, TINY))
        for chances, possible in zip(self._family.chances(*values), self._cells, strict=True):
            each = np.sqrt(np.maximum(chances, 0.0))[:, None] * roots
            table = np.linspace(each.min(), each.max(), TABLE)
            found += np.interp(each, table, _log_likelihood(table**2, possible))
        return found.reshape([len(axis) for axis in axes])

    def marginals(self) -> list[Marginal]:
        """The law of each parameter."""
        found = []
        for i, scale in enumerate(self._family.scales):
            others = self.weights
            for j in range(others.ndim - 1, -1, -1):
                if j != i:
                    others = np.apply_along_axis(at_ends, j, others).sum(axis=j)
            found.append(Marginal(scale, self.axes[i], others))
        return found

    def drawn(self, n: int) -> Floats:
        """n draws of all parameters together, (n, parameters)."""
        cumulated = self.weights.cumsum()
        chosen = cumulated.searchsorted(uniforms(n) * cumulated[-1])
        at = np.unravel_index(chosen, self.weights.shape)
        found = []
        for scale, axis, place in zip(self._family.scales, self.axes[:-1], at, strict=True):
            step = axis[1] - axis[0]
            near = axis[place] + step * (uniforms(n) + uniforms(n) - 1)
            found.append(scale.value(np.clip(near, axis[0], axis[-1])))
        return np.stack(found, axis=1)


def _log_likelihood(means: Floats, possible: Possible) -> Floats:
    """ln P[Poisson(m) + noise = y] for each mean m."""
    counts, chances = possible
    logs = np.log(np.maximum(means, TINY))[:, None] * counts - means[:, None]
    logs += chances - log_gamma(counts + 1)
    top = logs.max(axis=1)
    found: Floats = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
    return found


def _axes(ends: Sequence[tuple[float, float]], sizes: Sequence[int]) -> list[Floats]:
    return [np.linspace(low, high, size) for (low, high), size in zip(ends, sizes, strict=True)]


def _closer(axis: Floats, logs: Floats, i: int, whole: tuple[float, float]) -> tuple[float, float]:
    """The part of an axis where the density isn't negligible, and a step beyond on either side; but
    half of it at least, around the best place. The same part, if hardly anything is left out."""
    best = logs.max(axis=tuple(j for j in range(logs.ndim) if j != i))
    kept = axis[best > best.max() - UNLIKELY]
    step, reach = axis[1] - axis[0], CLOSER / 2 * (axis[-1] - axis[0])
    middle = axis[best.argmax()]
    low = max(whole[0], min(kept[0] - step, middle - reach))
    high = min(whole[1], max(kept[-1] + step, middle + reach))
    is_same = low > axis[0] - step / 2 and high < axis[-1] + step / 2
    if is_same and low - axis[0] + axis[-1] - high < 8 * step:
        return float(axis[0]), float(axis[-1])
    return float(low), float(high)
