"""Hypothesis tests on released answers, with the signatures of scipy.stats and statsmodels.

Each takes answers, and costs nothing; or private columns and ``epsilon=``, and releases what it
needs first. Its p-value counts the noise as well as the sample, and ``.exact`` says whether it is
one by theorem. docs/inference.md is an introduction.
"""

from .binomial import binomtest
from .blockwise import blockwise
from .correlation import pearsonr
from .means import ttest_1samp, ttest_ind
from .plans.clipping import clipping
from .plans.power import power
from .plans.truncation import truncation
from .proportions import proportion_confint, proportions_ztest
from .tables import chi2_contingency, chisquare, fisher_exact
from .variance_analysis import f_oneway

__all__ = [
    "binomtest", "blockwise", "chi2_contingency", "chisquare", "clipping", "f_oneway",
    "fisher_exact", "pearsonr", "power", "proportion_confint", "proportions_ztest", "truncation",
    "ttest_1samp", "ttest_ind",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
