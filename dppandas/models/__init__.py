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
from .posterior import posterior
from .trees.classifier import DecisionTreeClassifier
from .trees.shown import export_text, plot_tree
from .theil_sen import TheilSenRegressor

__all__ = [
    "OLS",
    "PCA",
    "DecisionTreeClassifier",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "Perceptron",
    "posterior",
    "export_text",
    "plot_tree",
    "TheilSenRegressor",
    "sample_and_aggregate",
    "synthetic",
]


def __dir__() -> list[str]:
    return __all__
