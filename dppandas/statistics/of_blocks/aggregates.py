"""Sample and aggregate: what a caller's function says of each block of units, put together.

Proof: docs/proofs/sample_and_aggregate.md.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...dataclasses import dataclass, field, replace
from ...errors import InternalError
from ...privacy.accounting.measures import LossRequest
from ...privacy.accuracy.combined import variance_of
from ...privacy.accuracy.nearly_normal import NearlyNormal
from ...privacy.mechanisms.ranks import Ranks
from ...rows.expressions import EVERY, Expression
from ...rows.facts.bounds import Bounds, Grid
from ...rows.facts.kinds import Schema
from ...rows.facts.steps import StepGrid
from ..base import RowPass
from ..callers import CallerFunction, unheard
from ..error_model import ErrorModel, RowLimit
from ..layout import Interval, around
from ..quantile_intervals import MeasuredErrors, MeasuredQuantiles
from ..quantiles import HALF, Quantiles, QuantilesErrors
from ..samples import Estimate, How, Moments, Sample, by_t, part_of
from .block_tests import Shown, frame_of
from .blocks import InBlocks

#: The most blocks: each is a call of a function.
MOST_BLOCKS = 10_000
#: The weight of the squares beside the numbers at which both together move no further than the
#: numbers alone: in ℓ1, and in ℓ2 on grids of so many points.
FREE, FREE_SQUARED, FINE = Fraction(1, 4), Fraction(13, 16), 2**10


class BlockFunction(CallerFunction):
    """A caller's function of the rows of one block, which returns a number."""

    def __call__(
        self, block: Sequence[Any], columns: Sequence[Shown], grid: Grid | StepGrid
    ) -> int:
        """The point of a grid that is next to its number, or the middle one if it has none: what it
        prints, warns or raises is seen by nobody. Only an interrupt passes on."""
        try:
            with unheard():
                found = number_of(self._said(frame_of(block, columns)))
                if found is not None:
                    return int(grid.integers(np.array([found]))[0])
        except KeyboardInterrupt:
            raise
        except BaseException:  # exits and panics as well
            pass  # nobody may know of which block
        return grid.high // 2


def number_of(returned: Any) -> float | None:
    """The finite number that a function returned; None for anything else."""
    if isinstance(returned, np.ndarray) and returned.ndim == 0:
        returned = returned[()]
    if not isinstance(returned, numbers.Real | np.bool_ | Decimal):
        return None
    found = float(returned)
    return found if math.isfinite(found) else None


class Aggregate(InBlocks, registered=False):
    """What a caller's function says of each block, on a grid.

    A unit replaces the number of one block by another one, whatever rows it has. Of a block without
    rows the function is asked as of any other.
    """

    value: BlockFunction

    drops_missing: ClassVar[bool] = False
    of_units: ClassVar[bool] = True

    @property
    def grid(self) -> Grid | StepGrid:
        """The points to which numbers are rounded."""
        raise NotImplementedError

    def points(self, row_pass: RowPass) -> list[int]:
        """One for each block, those without rows last."""
        columns, grid = self.columns_shown, self.grid
        nothing = self.value([each.shown(np.empty(0), []) for each in columns], columns, grid)
        found = [self.value(block, columns, grid) for block in self.seen(row_pass)]
        return found + [nothing] * (self.blocks - len(found))


def best_number(units: int, noise: float) -> int:
    """How many blocks suit so many units: √(units · noise), where noise is the deviation of what is
    added to the sum of all blocks, in widths of the bounds. There the noise of the answer,
    noise/blocks, is as large as a bias of 1/(units in a block)."""
    return min(max(round(math.sqrt(units * noise)), 2), max(units // 2, 2), MOST_BLOCKS)


class BlockMeanErrors(ErrorModel):
    of: BlockMean

    measured_in: ClassVar = ("column",)
    noise_in_columns: ClassVar[bool] = True

    @property
    def _step(self) -> float:
        return self.of.grid.step / max(self.of.blocks, 1)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        return (self._step,)

    def half_width(self, law: Any, confidence: float) -> int:
        """Of the two noises one counts."""
        found: int = law.half_width(confidence)
        return found

    def error(self, half_width: int) -> float | None:
        return half_width * self._step

    def possible(self, entry: int) -> Interval | None:
        return self.of.bounds.lower, self.of.bounds.upper

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        return self.intervals(noisy, self.half_width(law, confidence))

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        total = noisy[0]
        ends = self.of.mean_of(total - half_width), self.of.mean_of(total + half_width)
        return around(self.of.estimate(noisy), [ends])


@dataclass(frozen=True)
class BlockMean(Aggregate):
    """The mean of what a caller's function says of each block, and how far blocks lie apart.

    A block has a point t in 0, …, T. One sum adds up t, the other one ⌊weight·(2t-T)²/T⌋, which
    moves both together no further than t alone: by T in ℓ1 at a weight of 1/4, and in ℓ2 at 13/16.

    blocks : 0 for as many as suit the noise, by the public number of ``units``.
    """

    columns_shown: tuple[Shown, ...] = ()
    value: BlockFunction = field(default_factory=lambda: BlockFunction(None))
    bounds: Bounds = Bounds(0, 1)
    blocks: int = 0
    units: int = 0
    by: tuple[Any, ...] = ()
    is_by_unit: bool = False
    branches: int = 1
    weight: Fraction = FREE

    proof: ClassVar[str] = "sample_and_aggregate"
    error_model: ClassVar = BlockMeanErrors

    size = 2

    @property
    def grid(self) -> Grid:
        return self.bounds.grid

    @property
    def l1(self) -> int:
        """T at the weight 1/4; else the most of d + 4·weight·d(T-d)/T for numbers d apart, and 1
        for rounding."""
        if self.weight == FREE:
            return self.grid.high
        return 1 + math.ceil((1 + 4 * self.weight) ** 2 * self.grid.high / (16 * self.weight))

    @property
    def linf(self) -> int:
        return self.grid.high

    def l2_squared_sensitivity(self, rows: int) -> int:
        return (self.grid.high * self.moved(rows)) ** 2

    def adapted_to(self, asked: LossRequest, rows: int) -> BlockMean:
        is_fine = self.grid.high >= FINE
        weight = FREE_SQUARED if is_fine and asked.noise == "gaussian" else FREE
        adapted = replace(self, weight=weight)
        law = adapted.mechanism(asked, adapted.sensitivity(rows))
        noise = math.sqrt(variance_of(law)) / self.grid.high
        return replace(adapted, blocks=self.blocks or best_number(self.units, noise))

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[int]:
        points = self.points(row_pass)
        return [sum(points), sum(map(self.square, points))]

    def square(self, point: int) -> int:
        """What a block's point adds to the sum of squares about the middle of the bounds."""
        top, (part, whole) = self.grid.high, self.weight.as_integer_ratio()
        return (2 * point - top) ** 2 * part // (max(top, 1) * whole)

    def mean_of(self, total: int) -> float:
        """The mean of blocks whose points add up to a total, within the bounds."""
        low, step = Fraction(self.bounds.lower), Fraction(self.grid.step)
        mean = low + step * total / self.blocks
        found = self.grid.number(mean.numerator, mean.denominator)
        return min(max(found, self.bounds.lower), self.bounds.upper)

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [self.mean_of(noisy[0])]

    def samples(self, noisy: Sequence[int], law: Any, schema: Schema) -> Sequence[Sample | None]:
        own = frozenset([0])
        blocks = max(self.blocks, 2)  # none is chosen yet where this is asked before a release
        total, squares = noisy
        return [SampleBlockMean(own, total, squares, blocks, self.weight, self.bounds, law)]


@dataclass(frozen=True)
class SampleBlockMean(Sample):
    """The mean of what a function says of blocks: an estimate of what it says on average of as many
    units, drawn at random."""

    total: int
    squares: int
    blocks: int
    weight: Fraction
    bounds: Bounds
    law: Any

    takes_size: ClassVar[bool] = False

    @property
    def _whole(self) -> float:
        return float(self.blocks * self.bounds.grid.high)

    @property
    def _noise(self) -> NearlyNormal:
        """That of a sum, by the number of blocks and the grid's points."""
        return NearlyNormal.of_noise(self.law, [(1 / self._whole, 1)])

    def spread(self, added: float = 0.0) -> float:
        """The variance between blocks, in terms of the bounds, with so many deviations of its own
        noise."""
        middle, weight = 2 * self.total / self._whole - 1, float(self.weight)
        noise = self._noise.noise
        # the square of a noisy mean is too large by its noise, on average
        found = self.squares / self._whole / weight - middle**2 + 4 * noise
        middle = min(max(middle, -1.0), 1.0)
        deviation = math.sqrt(noise * (1 / weight**2 + 16 * middle**2))
        most = self.blocks / (self.blocks - 1)
        return min(max((found + added * deviation) / 4 * most, 0.0), most / 4)

    def moments(self, how: How) -> Moments | None:
        width = self.bounds.upper - self.bounds.lower
        value = self.bounds.lower + width * min(max(self.total / self._whole, 0.0), 1.0)
        error = self._noise.with_sample(self.spread(how.added) / self.blocks, self.blocks - 1)
        part = part_of(self.law)
        return Moments(value, error.times(width), self.blocks, self.cells, part=part)

    def estimate(self, risk: float, how: How) -> Estimate:
        found = self.moments(how)
        if found is None:
            raise InternalError("the mean of blocks has moments.")
        low, high, way = by_t(found, risk)
        return Estimate(max(low, self.bounds.lower), min(high, self.bounds.upper), way)


class BlockMedianErrors(QuantilesErrors):
    of: BlockMedian

    no_interval: ClassVar[str] = (
        "the median of blocks has no interval of values without one of its own. .error() tells by "
        "how many blocks it may be off. Ask with interval=True for one, which spends a part of the "
        "loss on it."
    )
    takes_rows: ClassVar[bool] = False

    def errors_among(self, law: Any, confidence: float, rows: RowLimit) -> list[float]:
        """How many blocks there are is public."""
        return super().errors_among(law, confidence, self.of.blocks)


class OfBlocks(Aggregate, registered=False):
    """A quantile of what a caller's function says of each block: one value is replaced, which is
    one removed and one added."""

    @property
    def grid(self) -> Grid | StepGrid:
        own: Any = self
        (grid,) = own.grids
        return grid  # type: ignore[no-any-return]

    @property
    def l1(self) -> int:
        return 2

    @property
    def linf(self) -> int:
        return 2

    def adapted_to(self, asked: LossRequest, rows: int) -> Any:
        own: Any = self
        if own.blocks:
            return own
        law: Any = own.mechanism(asked, own.sensitivity(rows))
        return replace(own, blocks=best_number(own.units, math.sqrt(2) * float(law.scale)))

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[Sequence[Ranks]]:
        values, counts = np.unique(np.array(self.points(row_pass), np.int64), return_counts=True)
        return [[Ranks(values, counts.astype(np.int64))]]


@dataclass(frozen=True)
class BlockMedian(OfBlocks, Quantiles):
    """The median of what a caller's function says of each block."""

    operands: tuple[Expression, ...] = (EVERY,)  # in place of a column
    quantiles: tuple[Fraction, ...] = (HALF,)
    columns_shown: tuple[Shown, ...] = ()
    value: BlockFunction = field(default_factory=lambda: BlockFunction(None))
    blocks: int = 0
    units: int = 0
    by: tuple[Any, ...] = ()
    is_by_unit: bool = False
    branches: int = 1

    methods: ClassVar = ()
    proof: ClassVar[str] = "sample_and_aggregate"
    error_model: ClassVar = BlockMedianErrors
    reading: ClassVar[int] = 1


class MeasuredBlockMedianErrors(MeasuredErrors):
    of: MeasuredBlockMedian


@dataclass(frozen=True)
class MeasuredBlockMedian(OfBlocks, MeasuredQuantiles):
    """The median of what a caller's function says of each block, points around it, and noisy counts
    of the blocks between these."""

    operands: tuple[Expression, ...] = (EVERY,)
    quantiles: tuple[Fraction, ...] = (HALF,)
    columns_shown: tuple[Shown, ...] = ()
    value: BlockFunction = field(default_factory=lambda: BlockFunction(None))
    blocks: int = 0
    units: int = 0
    by: tuple[Any, ...] = ()
    is_by_unit: bool = False
    branches: int = 1

    proof: ClassVar[str] = "sample_and_aggregate"
    error_model: ClassVar = MeasuredBlockMedianErrors
