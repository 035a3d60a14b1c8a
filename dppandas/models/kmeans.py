"""k-means on private rows: by counts on a public grid, or by Lloyd's algorithm."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from statistics import NormalDist
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd

from ..dataclasses import dataclass, field
from ..engines import progress
from ..errors import QueryError, hide_internals, quoted
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..release.answers import results
from ..rows.facts.units import whole_number
from .base import MOST_ROUNDS, Box, Learnt, Model, ProgramAnswers, weighted_sums
from .points import Matrix, clustered, rounded, spread

#: Centres of a model.
MOST = 1000
#: Cells of a grid.
MOST_CELLS = 2**15
#: "auto" uses the grid for up to this many columns; with more, the grid would be too coarse.
GRID_COLUMNS = 6
#: Shares of the loss: for the number of rows, and for the counts of the cells.
SHARES = (1, 19)
#: How fine the grid is: Su et al. (2016), Section 4.1.
ROWS_A_CELL = 10


@dataclass(eq=False, repr=False)
class KMeans(Model):
    """k centres with a small mean squared distance to the rows, for epsilon (or rho) in total.

    n_clusters : how many centres, up to 1000.
    bounds : of the features: one (lower, upper), or a dict of them; else the declared domain's.
        Features are clipped to them and scaled to [-1, 1], where distances are measured.
    method : "grid" counts rows in the cells of a public grid and runs k-means on the cells. A
        twentieth of the loss pays for the number of rows, which decides how fine the grid is.
        "lloyd" runs rounds of Lloyd's algorithm on noisy counts and sums, from centres that are
        spread over the box. "auto" uses the grid up to 6 columns.
    rounds : of Lloyd's algorithm; more rounds share the same loss. If answers are replayed, it ends
        as soon as no centre moves.

    After `fit`: ``cluster_centers_`` in the units of the features, ``method_``, ``n_iter_`` (the
    passes over the rows that made centres), ``releases_``; of a grid also ``coreset_``, a DataFrame
    of the midpoints of its cells that stand out from the noise and their ``weight``, the released
    counts. Any clustering of these weighted points costs nothing more. There is no ``labels_``,
    which would show each person's cluster; `predict` makes a private column of them. There is no
    ``inertia_`` either, because scikit-learn's is exact; ask the column of labels for what you
    need.

    *Guarantee*: as for `fit`: differential privacy of the unit, with the sum of the losses of its
    releases (docs/proofs/programs.md). Source: Su, Cao, Li, Bertino and Jin, "Differentially
    private k-means clustering", CODASPY 2016; Blum, Dwork, McSherry and Nissim, "Practical privacy:
    the SuLQ framework", PODS 2005.

    >>> import numpy as np, pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=2)
    >>> df = pd.DataFrame({"x": [1.0, 9.0] * 2000, "y": [2.0, 7.0] * 2000})
    >>> people = dp.protect(df, name="two groups", domain={"x": (0, 10), "y": (0, 10)})
    >>> model = dp.models.KMeans(n_clusters=2, epsilon=1).fit(people)
    >>> near = np.abs(np.sort(model.cluster_centers_, axis=0) - [[1, 2], [9, 7]]) < 0.5
    >>> bool(near.all()), session.spent
    (True, 1)
    >>> model.predict(people).value_counts(epsilon=1).shape  # labels are a private column
    (2,)
    >>> dp.reset()
    """

    n_clusters: object = 8
    _: KW_ONLY
    method: object = "auto"
    rounds: object = 3

    cluster_centers_: Matrix = field(init=False)
    coreset_: pd.DataFrame | None = field(init=False)
    method_: str = field(init=False)
    n_iter_: int = field(init=False)
    _centres: Matrix = field(init=False)
    _kind: ClassVar[str | None] = "clusterer"

    def _program(self, scaled: PrivateFrame, box: Box, y: Any, answered: ProgramAnswers) -> Learnt:
        number, width = whole_number(self.n_clusters, "n_clusters", 1, MOST), len(box.names)
        rounds, method = whole_number(self.rounds, "rounds", 1, MOST_ROUNDS), self._method(width)
        points = None
        if method == "grid":
            middles, weights = self._weighed(scaled, number, width, answered)
            centres, passes = rounded(clustered(middles, weights, number)), 1
            points = _as_frame(box, middles, weights)
        else:
            centres, passes = self._by_rounds(scaled, number, width, rounds, answered)
        return {
            "coreset_": points,
            "cluster_centers_": box.back(centres),
            "method_": method,
            "n_iter_": passes,
            "_centres": centres,
        }

    def _method(self, width: int) -> str:
        if self.method not in ("auto", "grid", "lloyd"):
            raise QueryError(f'method={quoted(self.method)} must be "grid", "lloyd" or "auto".')
        if self.method == "auto":
            return "grid" if width <= GRID_COLUMNS else "lloyd"
        if self.method == "grid" and 2**width > MOST_CELLS:
            raise QueryError(
                f"a grid of {width} columns has more than {MOST_CELLS:,} cells. Select at most "
                f'{MOST_CELLS.bit_length() - 1} columns, or use method="lloyd".'
            )
        return str(self.method)

    @property
    def _by_rho(self) -> bool:
        """Whether its loss is a ρ, of its own or of the split that it runs in: Gaussian noise."""
        return self.rho is not None or getattr(self, "_loss", (None, None))[1] is not None

    # counts on a grid

    def _weighed(
        self, scaled: PrivateFrame, number: int, width: int, answered: ProgramAnswers
    ) -> tuple[Matrix, Matrix]:
        """The midpoints of cells, and their weights."""
        with self._shared(SHARES):
            rows = answered(scaled.dot([1.0] * width).rename("rows with all values").count())
            noise = results.record_of_one(rows).scale * self._ratio()
            a_side = self._cells_a_side(max(int(rows), 0), noise, number, width)
            inner = {
                name: ((scaled[name] + 1) * (a_side / 2) // 1).clip(0, a_side - 1)
                for name in scaled.columns
            }
            code = scaled.assign(**inner).dot([float(a_side**i) for i in range(width)])
            code, cells = code.rename("cell of a grid"), a_side**width
            counts = answered(code.value_counts(keys=range(cells), sort=False))
        found: Matrix = counts.to_numpy().astype(np.float64)
        kept = found > self._threshold(noise, cells)
        if kept.sum() < number:
            kept = np.zeros(cells, dtype=bool)
            kept[np.argsort(-found, kind="stable")[:number]] = True
        codes = np.flatnonzero(kept)
        sides = codes[:, None] // a_side ** np.arange(width) % a_side
        middles = (sides + 0.5) * (2 / a_side) - 1
        return middles.astype(np.float64), np.maximum(found[kept], 0.0)

    def _ratio(self) -> float:
        """The scale of the second release's noise, as a multiple of the first one's."""
        share = SHARES[0] / SHARES[1]
        return math.sqrt(share) if self._by_rho else share

    def _cells_a_side(self, rows: int, noise: float, number: int, width: int) -> int:
        """(n ε / 10)^(2/(2+d)), rounded up. 1/ε is the scale of Laplace noise, or of Laplace noise
        with the deviation of the Gaussian."""
        scale = noise / math.sqrt(2) if self._by_rho else noise
        wanted = math.ceil(math.pow(rows / scale / ROWS_A_CELL, 2 / (2 + width)))
        most = next(m for m in range(MOST_CELLS, 1, -1) if m**width <= MOST_CELLS)
        least = next(m for m in range(2, MOST + 1) if m**width >= number)
        return max(min(wanted, most), least)

    def _threshold(self, noise: float, cells: int) -> float:
        """What noise in an empty cell exceeds with probability 1/(2 √cells)."""
        if self._by_rho:
            return noise * NormalDist().inv_cdf(1 - 0.5 / math.sqrt(cells))
        return noise * math.log(cells) / 2

    # Lloyd's rounds

    def _by_rounds(
        self, scaled: PrivateFrame, number: int, width: int, rounds: int, answered: ProgramAnswers
    ) -> tuple[Matrix, int]:
        names, centres, passes = list(scaled.columns), spread(number, width), 0
        with self._shared(self._weights(width) * rounds):
            for _ in progress.rounds(rounds, "k-means"):
                table = scaled.assign(cluster=_nearest(scaled, centres))
                clusters = table.groupby("cluster", keys=range(number))
                counts = answered(clusters.size())
                sums = answered(clusters[names].sum(bounds=(-1, 1)))
                if answered.stands_still:
                    break
                centres = _moved(centres, counts.to_numpy(), sums.to_numpy())
                passes += 1
        return centres, passes

    def _weights(self, width: int) -> list[Any]:
        """The shares of the counts and the sums of a round. For a loss in ρ this is as good as
        noise on both at once: a row (√d/2, x) is at most √(d/4 + d) long."""
        if self._by_rho:
            return [1, 4]
        counts = (4 * width * 0.225**2) ** (1 / 3)  # Su et al., Section 3.2
        whole = round(100 * counts / (counts + width))  # so that shares are decimals
        return [max(whole, 1), 100 - max(whole, 1)]

    # labels

    @hide_internals
    def predict(self, X: Any) -> Any:
        """The number of the nearest centre of each row, counted from 0.

        X : plain rows (a DataFrame with the features, or an array) give an array of ints. A private
            frame gives a private column whose declared keys are the clusters; it is missing for
            rows with a missing feature. Rows are clipped to the bounds first.

        Raises `QueryError` for plain rows with a missing value.

        *Guarantee*: nothing is released; of private rows, row by row. *Stability*: 1.
        """
        rows = self._fitted().scaled(X)
        if isinstance(rows, np.ndarray) and np.isnan(rows).any():
            raise QueryError("a value is missing in these rows. Fill it, or drop the row.")
        return _nearest(rows, self._centres)

    @hide_internals
    def fit_predict(self, X: Any, y: Any = None) -> PrivateSeries:
        """`fit`, and the private column of labels of the same rows.

        *Guarantee*: as for `fit`; the labels are not released.
        """
        return cast(PrivateSeries, self.fit(X, y).predict(X))


def _nearest(rows: Any, centres: Matrix) -> Any:
    """The number of the nearest centre of each row: the one with the largest c·x - c·c/2."""
    sums = weighted_sums(rows, np.vstack([centres.T, -(centres**2).sum(axis=1) / 2]))
    if isinstance(sums, np.ndarray):
        return sums.argmax(axis=1).astype(np.int64)
    return sums.idxmax(axis=1)


def _as_frame(box: Box, middles: Matrix, weights: Matrix) -> pd.DataFrame:
    """Weighted points in the units of the features."""
    names = pd.Index(box.names, tupleize_cols=False)
    points = pd.DataFrame(box.back(middles), columns=names)
    weight = next(name for name in ("weight", "weight_", "weight__") if name not in names)
    points[weight] = weights
    return points


def _moved(centres: Matrix, counts: Matrix, sums: Matrix) -> Matrix:
    """The noisy means; a centre stays where it is if its noisy count is below one row."""
    means = sums / np.maximum(counts, 1)[:, None]
    return rounded(np.where(counts[:, None] < 1, centres, np.clip(means, -1.0, 1.0)))
