"""What is computed from the rows: vectors of integers with proven sensitivities.

One file a family. A statistic is a frozen description made of public facts; its kernel turns a
chunk into int64 partials, and its estimate and interval are functions of the noisy integers and
public facts only. `REGISTRY` lists every statistic, so that the neighbour suite finds new ones.
"""

from .base import REGISTRY as REGISTRY
from .base import Statistic as Statistic
from .base import methods as methods
from .counting.contingency import Contingency as Contingency
from .counting.contingency import UnattributedHistogram as UnattributedHistogram
from .counting.counts import Count as Count
from .counting.distinct import Distinct as Distinct
from .counting.distinct import Truncation as Truncation
from .counting.distinct_values import DistinctValues as DistinctValues
from .counting.occurring_keys import OccurringKeys as OccurringKeys
from .counting.unknown_keys import Sparse as Sparse
from .counting.unknown_keys import UndeclaredKeys as UndeclaredKeys
from .counting.unknown_keys import Unique as Unique
from .distances import Distance as Distance
from .distances import Proposed as Proposed
from .layout import Cells as Cells
from .layout import Layout as Layout
from .moments.covariance import Covariance as Covariance
from .moments.means import Mean as Mean
from .moments.means import WeightedMean as WeightedMean
from .moments.norms import NormedSum as NormedSum
from .moments.norms import grids_of_norm as grids_of_norm
from .moments.second_moments import SecondMoments as SecondMoments
from .moments.sums import Sum as Sum
from .moments.variances import Moments as Moments
from .moments.variances import Variance as Variance
from .quantiles import Quantiles as Quantiles
from .scores import Scores as Scores
from .smooth import SmoothQuantile as SmoothQuantile
from .smooth import TrimmedMean as TrimmedMean
from .suggested_bounds import BoundsHistogram as BoundsHistogram
