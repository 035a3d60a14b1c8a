"""Learning from private rows, with scikit-learn's conventions: programs made of releases."""

from .base import Model

__all__ = ["Model"]
