"""What is computed from the rows: vectors of integers with proven sensitivities.

One file a family. A statistic is a frozen description made of public facts; its kernel turns a
chunk into int64 partials, and its estimate and interval are functions of the noisy integers and
public facts only. The module of a statistic is loaded when it is first used, and `every` loads all.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base import REGISTRY
from .base import Statistic as Statistic
from .layout import Cells as Cells
from .layout import Layout as Layout
from .limits import KeyLimit as KeyLimit
from .limits import LimitedCells as LimitedCells
from .methods import Offered

if TYPE_CHECKING:
    from .counting.contingency import Contingency as Contingency
    from .counting.contingency import UnattributedHistogram as UnattributedHistogram
    from .counting.counts import Count as Count
    from .counting.distinct import Distinct as Distinct
    from .counting.distinct import Truncation as Truncation
    from .counting.distinct_values import DistinctValues as DistinctValues
    from .counting.labels_alone import Unique as Unique
    from .counting.labels_alone import WeightedUnique as WeightedUnique
    from .counting.occurring_keys import OccurringKeys as OccurringKeys
    from .counting.rows_per_unit import RowsPerUnit as RowsPerUnit
    from .counting.rows_per_unit import limits_up_to as limits_up_to
    from .counting.rows_per_unit import parse_keep as parse_keep
    from .counting.unknown_keys import Sparse as Sparse
    from .counting.unknown_keys import UndeclaredKeys as UndeclaredKeys
    from .counting.unknown_keys import WeightedKeys as WeightedKeys
    from .distances import Distance as Distance
    from .distances import Proposed as Proposed
    from .likelihoods import Likelihoods as Likelihoods
    from .moments.covariance import Covariance as Covariance
    from .moments.means import Mean as Mean
    from .moments.means import WeightedMean as WeightedMean
    from .moments.normed_moments import NormedMoments as NormedMoments
    from .moments.normed_moments import bounds_of_norm as bounds_of_norm
    from .moments.norms import NormedSum as NormedSum
    from .moments.norms import grids_of_norm as grids_of_norm
    from .moments.second_moments import SecondMoments as SecondMoments
    from .moments.several import FirstMoments as FirstMoments
    from .moments.several import Moments as Moments
    from .moments.several import Several as Several
    from .moments.sums import Sum as Sum
    from .moments.unit_totals import UnitTotals as UnitTotals
    from .moments.variances import Variance as Variance
    from .of_blocks.aggregates import BlockMean as BlockMean
    from .of_blocks.aggregates import BlockMedian as BlockMedian
    from .of_blocks.aggregates import MeasuredBlockMedian as MeasuredBlockMedian
    from .of_blocks.significant_blocks import SignificantBlocks as SignificantBlocks
    from .of_blocks.slopes import BlockSlopes as BlockSlopes
    from .quantile_intervals import MeasuredQuantiles as MeasuredQuantiles
    from .quantile_intervals import RankedQuantiles as RankedQuantiles
    from .quantiles import Quantiles as Quantiles
    from .scores import Scores as Scores
    from .smooth import SmoothQuantile as SmoothQuantile
    from .smooth import TrimmedMean as TrimmedMean
    from .splits import Splits as Splits
    from .splits import SplitsOfSums as SplitsOfSums
    from .suggested_bounds import BoundsHistogram as BoundsHistogram
    from .weighted_quantiles import WeightedQuantiles as WeightedQuantiles

#: The modules of the statistics, which are imported when they are first used.
_HOMES = {
    "BlockMean": "of_blocks.aggregates",
    "BlockMedian": "of_blocks.aggregates",
    "BlockSlopes": "of_blocks.slopes",
    "BoundsHistogram": "suggested_bounds",
    "Contingency": "counting.contingency",
    "Count": "counting.counts",
    "Covariance": "moments.covariance",
    "Distance": "distances",
    "Distinct": "counting.distinct",
    "DistinctValues": "counting.distinct_values",
    "FirstMoments": "moments.several",
    "Likelihoods": "likelihoods",
    "Mean": "moments.means",
    "MeasuredBlockMedian": "of_blocks.aggregates",
    "MeasuredQuantiles": "quantile_intervals",
    "Moments": "moments.several",
    "NormedMoments": "moments.normed_moments",
    "NormedSum": "moments.norms",
    "OccurringKeys": "counting.occurring_keys",
    "Proposed": "distances",
    "Quantiles": "quantiles",
    "RankedQuantiles": "quantile_intervals",
    "RowsPerUnit": "counting.rows_per_unit",
    "Scores": "scores",
    "SecondMoments": "moments.second_moments",
    "Several": "moments.several",
    "SignificantBlocks": "of_blocks.significant_blocks",
    "SmoothQuantile": "smooth",
    "Sparse": "counting.unknown_keys",
    "Splits": "splits",
    "SplitsOfSums": "splits",
    "Sum": "moments.sums",
    "TrimmedMean": "smooth",
    "Truncation": "counting.distinct",
    "UnitTotals": "moments.unit_totals",
    "UnattributedHistogram": "counting.contingency",
    "UndeclaredKeys": "counting.unknown_keys",
    "Unique": "counting.labels_alone",
    "Variance": "moments.variances",
    "WeightedKeys": "counting.unknown_keys",
    "WeightedMean": "moments.means",
    "WeightedQuantiles": "weighted_quantiles",
    "WeightedUnique": "counting.labels_alone",
    "bounds_of_norm": "moments.normed_moments",
    "grids_of_norm": "moments.norms",
    "limits_up_to": "counting.rows_per_unit",
    "parse_keep": "counting.rows_per_unit",
}


def every() -> list[type[Statistic]]:
    """All statistics, by name."""
    for home in _HOMES.values():
        import_module(f".{home}", __name__)
    return sorted(REGISTRY, key=lambda kind: kind.__name__)


@cache
def methods(where: Offered) -> tuple[str, ...]:
    """The methods that are offered there, by name."""
    each = (method for kind in every() for method in kind.methods if where in method.offered)
    return tuple(sorted({method.name for method in each}))


if not TYPE_CHECKING:  # or a type checker would believe in every name

    def __getattr__(name: str) -> Any:
        """A statistic, whose module is imported with its first use."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return value
