"""Learning from private rows, with scikit-learn's conventions: programs made of releases."""

from .base import Model
from .kmeans import KMeans
from .pca import PCA

__all__ = ["PCA", "KMeans", "Model"]
