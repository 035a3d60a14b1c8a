"""Fisher's flowers, with their kinds in words, as often as they are wanted."""

import pandas as pd
from sklearn import datasets

IRIS = datasets.load_iris(as_frame=True)
FEATURES = list(IRIS.data.columns)
ENDS = {name: (float(IRIS.data[name].min()), float(IRIS.data[name].max())) for name in FEATURES}
KINDS = ["setosa", "versicolor", "virginica"]


def flowers(times: int = 1) -> pd.DataFrame:
    kind = IRIS.target.map(dict(enumerate(KINDS)))
    return pd.concat([IRIS.data.assign(kind=kind)] * times, ignore_index=True)
