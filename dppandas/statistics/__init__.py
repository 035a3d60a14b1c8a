"""What is computed from the rows: vectors of integers with proven sensitivities.

One file a family. A statistic is a frozen description made of public facts; its kernel turns a
chunk into int64 partials, and its estimate and interval are functions of the noisy integers and
public facts only. `REGISTRY` lists every statistic, so that the neighbour suite finds new ones.
"""

from .base import REGISTRY, Cells, Layout, Statistic
from .counts import Count
from .covariance import Covariance
from .moments import Mean, Moments, Sum, Variance, WeightedMean
from .quantiles import Quantiles
from .scores import Scores
from .tables import Contingency, Popularity
from .units import Distinct, Truncation

__all__ = [
    "REGISTRY",
    "Cells",
    "Contingency",
    "Count",
    "Covariance",
    "Distinct",
    "Layout",
    "Mean",
    "Moments",
    "Popularity",
    "Quantiles",
    "Scores",
    "Statistic",
    "Sum",
    "Truncation",
    "Variance",
    "WeightedMean",
]
