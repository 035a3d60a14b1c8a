"""What is computed from the rows: vectors of integers with proven sensitivities.

One file a family. A statistic is a frozen description made of public facts; its kernel turns a
chunk into int64 partials, and its estimate and interval are functions of the noisy integers and
public facts only. `REGISTRY` lists every statistic, so that the neighbour suite finds new ones.
"""

from .base import REGISTRY, Cells, Layout, Statistic
from .counts import Count
from .covariance import Covariance
from .distances import Distance, Proposed
from .moments import Mean, Moments, Sum, Variance, WeightedMean
from .norms import NormedSum, grids_of_norm
from .presence import Present
from .quantiles import Quantiles
from .ranges import Magnitudes
from .scores import Scores
from .second_moments import SecondMoments
from .smooth import SmoothQuantile, TrimmedMean
from .tables import Contingency, Popularity
from .units import Distinct, Truncation
from .unknown import BY_LABEL, Sparse, Unique, Unknown

__all__ = [
    "BY_LABEL",
    "REGISTRY",
    "Cells",
    "Contingency",
    "Count",
    "Covariance",
    "Distance",
    "Distinct",
    "Layout",
    "Magnitudes",
    "Mean",
    "Moments",
    "NormedSum",
    "Popularity",
    "Present",
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
    "Unique",
    "Unknown",
    "Variance",
    "WeightedMean",
    "grids_of_norm",
]
