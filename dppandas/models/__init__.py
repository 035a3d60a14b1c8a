"""Learning from private rows, with scikit-learn's conventions: programs made of releases."""

from . import synthetic
from .aggregate import sample_and_aggregate
from .kmeans import KMeans
from .linear import LinearRegression
from .logistic import LogisticRegression
from .naive_bayes import GaussianNB
from .ols import OLS
from .pca import PCA
from .perceptron import Perceptron
from .theil_sen import TheilSenRegressor

__all__ = [
    "OLS",
    "PCA",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "Perceptron",
    "TheilSenRegressor",
    "sample_and_aggregate",
    "synthetic",
]


def __dir__() -> list[str]:
    return __all__
