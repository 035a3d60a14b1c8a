"""What is computed from the rows: vectors of integers with proven sensitivities.

One file a family. A statistic is a frozen description made of public facts; its kernel turns a
chunk into int64 partials, and its estimate and interval are functions of the noisy integers and
public facts only. `REGISTRY` lists every statistic, so that the neighbour suite finds new ones.
"""

from .base import REGISTRY, Statistic
from .counting.contingency import Contingency, UnattributedHistogram
from .counting.counts import Count
from .counting.distinct import Distinct, Truncation
from .counting.occurring_keys import OccurringKeys
from .counting.unknown_keys import BY_LABEL, Sparse, UndeclaredKeys, Unique
from .distances import Distance, Proposed
from .layout import Cells, Layout
from .moments.covariance import Covariance
from .moments.means import Mean, WeightedMean
from .moments.norms import NormedSum, grids_of_norm
from .moments.second_moments import SecondMoments
from .moments.sums import Sum
from .moments.variances import Moments, Variance
from .quantiles import Quantiles
from .scores import Scores
from .smooth import SmoothQuantile, TrimmedMean
from .suggested_bounds import BoundsHistogram

__all__ = [
    "BY_LABEL",
    "REGISTRY",
    "BoundsHistogram",
    "Cells",
    "Contingency",
    "Count",
    "Covariance",
    "Distance",
    "Distinct",
    "Layout",
    "Mean",
    "Moments",
    "NormedSum",
    "OccurringKeys",
    "Proposed",
    "Quantiles",
    "Scores",
    "SecondMoments",
    "SmoothQuantile",
    "Sparse",
    "Statistic",
    "Sum",
    "TrimmedMean",
    "Truncation",
    "UnattributedHistogram",
    "UndeclaredKeys",
    "Unique",
    "Variance",
    "WeightedMean",
    "grids_of_norm",
]
