"""Synthetic rows: ordinary DataFrames drawn from what several releases tell of private rows."""

from .misfits import worst_fit
from .synthesize import synthesize

__all__ = ["synthesize", "worst_fit"]
