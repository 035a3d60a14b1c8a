"""Principal components of private rows, from their noisy second moments."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass, field
from ..errors import QueryError, hide_internals
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..rows.facts.units import whole_number
from ..statistics.moments.covariance_tables import CovarianceTable
from .base import Box, Learnt, Model, ProgramAnswers, matrix_of, weighted_sums
from .points import Matrix, rounded


@dataclass(eq=False, repr=False)
class PCA(Model):
    """The directions in which rows vary most, for epsilon (or rho) in total.

    n_components : how many of them; None for as many as columns.
    bounds : of the features: one (lower, upper), or a dict of them; else the declared domain's.
        Values are clipped to them, here and in `transform`.

    After `fit`: ``components_`` (a row each, whose entry of largest size is positive),
    ``explained_variance_``, ``explained_variance_ratio_`` (of the variance of all columns),
    ``mean_``, ``n_components_``, ``releases_``. As in scikit-learn, features keep their own units:
    those with wide ranges have the most variance, unless you scale them first.

    Everything comes from one release, the covariances of complete rows. The means are computed from
    the same noisy integers.

    *Guarantee*: as for `fit`: differential privacy of the unit, with the loss of its one release
    (docs/proofs/programs.md, docs/proofs/covariances.md). Source: Blum, Dwork, McSherry and
    Nissim, "Practical privacy: the SuLQ framework", PODS 2005, Section 5.1.

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=1)
    >>> df = pd.DataFrame({"x": [1.0, 5.0, 9.0] * 2000, "y": [2.0, 4.0, 6.0] * 2000})
    >>> people = dp.protect(df, name="a line", domain={"x": (0, 10), "y": (0, 10)})
    >>> model = dp.models.PCA(n_components=1, epsilon=1).fit(people)
    >>> print(model.components_.round(1), session.spent)
    [[0.9 0.4]] 1
    >>> model.transform(people).columns.tolist()  # a private frame, row by row
    ['pca0']
    >>> dp.reset()
    """

    n_components: object = None

    components_: Matrix = field(init=False)
    explained_variance_: Matrix = field(init=False)
    explained_variance_ratio_: Matrix = field(init=False)
    mean_: Matrix = field(init=False)
    n_components_: int = field(init=False)

    def _program(self, scaled: PrivateFrame, box: Box, y: Any, answered: ProgramAnswers) -> Learnt:
        number = self._number(len(box.names))
        with self._shared([1]):
            spread = answered(scaled.cov(dropna=True, bounds=(-1, 1)))
        (record,) = answered.records
        statistic = cast(CovarianceTable, record._statistic)
        means = 2 * np.array(statistic.means(record._noisy)) - 1
        unit = box.half.max()  # whose square may be too large for a float
        half = box.half / unit
        values, vectors = np.linalg.eigh(spread.to_numpy() * half * half[:, None])
        values, vectors = np.maximum(values[::-1], 0.0), rounded(vectors.T[::-1])
        largest = np.abs(vectors).argmax(axis=1)
        vectors = vectors * np.where(vectors[range(len(vectors)), largest] < 0, -1.0, 1.0)[:, None]
        total = values.sum()
        ratios = values / total if total > 0 else np.zeros_like(values)
        with np.errstate(over="ignore"):
            variances = values[:number] * unit * unit
        return {
            "components_": vectors[:number],
            "explained_variance_": variances,
            "explained_variance_ratio_": ratios[:number],
            "mean_": box.back(means),
            "n_components_": number,
        }

    def _number(self, width: int) -> int:
        number = width if self.n_components is None else self.n_components
        why = ", the number of columns; or None for all"
        return whole_number(number, "n_components", 1, width, why)

    def _lines(self, box: Box) -> Matrix:
        """For each component, the weights of the features in [-1, 1], and a constant."""
        constants = (self.components_ * (box.middle - self.mean_)).sum(axis=1)
        return np.vstack([(self.components_ * box.half).T, constants])

    @hide_internals
    def transform(self, X: Any) -> Any:
        """The rows in the directions of the components, measured from the mean.

        X : plain rows (a DataFrame with the features, or an array) give an array. A private frame
            gives a private frame with columns pca0, pca1, …, whose bounds follow from those of the
            features; it has no values for rows with a missing feature. Rows are clipped to the
            bounds first.

        *Guarantee*: nothing is released; of private rows, row by row. *Stability*: 1.
        """
        box = self._fitted()
        return weighted_sums(box.scaled(X), self._lines(box), self.get_feature_names_out())

    @hide_internals
    def fit_transform(self, X: Any, y: Any = None) -> PrivateFrame:
        """`fit`, and the private frame of the same rows in the directions of the components.

        *Guarantee*: as for `fit`; the rows are not released.
        """
        return cast(PrivateFrame, self.fit(X, y).transform(X))

    @hide_internals
    def inverse_transform(self, X: Any) -> Matrix:
        """Plain rows of components in the units of the features: an array, a column for each.

        *Guarantee*: nothing is released.
        """
        self._fitted()
        if isinstance(X, PrivateFrame | PrivateSeries):
            raise QueryError("inverse_transform takes plain rows, such as released centres.")
        return matrix_of(X, self.n_components_) @ self.components_ + self.mean_

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """The names of the columns that `transform` makes: pca0, pca1, …"""
        self._fitted()
        return np.array([f"pca{i}" for i in range(self.n_components_)], dtype=object)
