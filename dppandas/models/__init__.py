"""Learning from private rows, with scikit-learn's conventions: programs made of releases."""

from .base import Model
from .linear import LinearRegression
from .logistic import LogisticRegression
from .perceptron import Perceptron

__all__ = ["LinearRegression", "LogisticRegression", "Model", "Perceptron"]
