"""Hypothesis tests on released answers, with the signatures of scipy.stats and statsmodels.

Each takes answers, and costs nothing; or private columns and ``epsilon=``, and releases what it
needs first. Its p-value counts the noise as well as the sample, and ``.exact`` says whether it is
one by theorem. docs/inference.md is an introduction.
"""

from .blockwise import blockwise

__all__ = ["blockwise"]


def __dir__() -> list[str]:
    return __all__
