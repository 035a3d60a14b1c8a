"""What a notebook waits for before it shows an answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd
from bench_measure import Result, alone

from dppandas.display.cards.card import card_of
from dppandas.release.answers.results import shown_in

LABELS = 1_000_000


def on_display() -> Iterator[Result]:
    """Answers of many labels: whether all that they show was released, and their cards."""
    for kind, keys in {
        "numbers": list(range(LABELS)),
        "texts": [f"key {i}" for i in range(LABELS)],
    }.items():
        counts = pd.Series(keys[:1000], name="k").dp.value_counts(keys=keys, epsilon=1)
        yield alone(f"match of 10^6 {kind}", partial(shown_in, counts), 50)
    yield alone("card of 10^6 labels", partial(card_of, counts), 3000, repeats=3)
