"""Synthetic rows: ordinary DataFrames made from several releases about private rows."""

from .synthesize import synthesize
from .worst_fit import worst_fit

__all__ = ["synthesize", "worst_fit"]


def __dir__() -> list[str]:
    return __all__
