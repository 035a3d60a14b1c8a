"""diffprivlib in the benchmark of models, run by accuracy_models.py in an environment of its own.

Its k-means changes one row and takes n for public: the number of rounds is computed from it. The
counts are noised as if a changed row moved one of them by 1, and it moves two.
"""

from __future__ import annotations

import warnings

from accuracy_models_tasks import Contenders, Rows, main
from diffprivlib.models import KMeans


def asks(epsilon: float) -> Contenders:
    def centres(d: Rows) -> object:
        model = KMeans(n_clusters=d.k, epsilon=epsilon, bounds=(d.low, d.high))
        return model.fit(d.rows).cluster_centers_

    return {"k-means of diffprivlib": centres}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(asks)
