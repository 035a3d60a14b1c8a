"""Learning from private rows, with scikit-learn's conventions: programs made of releases."""

from . import synthetic
from .aggregate import sample_and_aggregate
from .kmeans import KMeans
from .least_squares.ols import OLS
from .linear import LinearRegression
from .logistic import LogisticRegression
from .naive_bayes import GaussianNB
from .pca import PCA
from .perceptron import Perceptron
from .posterior import posterior
from .scoring import confusion_matrix, roc_curve
from .theil_sen import TheilSenRegressor
from .trees.classifier import DecisionTreeClassifier
from .trees.regressor import DecisionTreeRegressor
from .trees.shown import export_text, plot_tree

__all__ = [
    "OLS",
    "PCA",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "Perceptron",
    "TheilSenRegressor",
    "confusion_matrix",
    "export_text",
    "plot_tree",
    "posterior",
    "roc_curve",
    "sample_and_aggregate",
    "synthetic",
]


def __dir__() -> list[str]:
    return __all__
