"""Learning from private rows, with scikit-learn's conventions: programs made of releases."""

from .base import Model
from .kmeans import KMeans
from .linear import LinearRegression
from .logistic import LogisticRegression
from .pca import PCA
from .perceptron import Perceptron

__all__ = ["PCA", "KMeans", "LinearRegression", "LogisticRegression", "Model", "Perceptron"]
