"""What trust is worth: the errors of the central, the shared and the local model at one ε."""

from __future__ import annotations

import math

import pandas as pd

from ..errors import QueryError, hide_internals, quoted
from ..privacy.accounting.losses import parse_epsilon
from ..rows.facts.units import whole_number
from . import designs
from .sharing import LEAST, MOST


@hide_internals
def compare(
    *,
    epsilon: object = None,
    respondents: int | None = None,
    keys: int = 2,
    share: float | None = None,
    parties: int = 3,
) -> pd.DataFrame:
    """The standard error of one estimated count, in each model at one ε.

    epsilon : the loss of each respondent, in every model.
    respondents : the number of respondents.
    keys : the number of possible answers.
    share : the share of respondents who hold the key that is counted, from public knowledge;
        without it, the share with the largest error. It matters to k-ary and OUE only.
    parties : among how many parties answers are split in the shared model.

    Returns a DataFrame with a row for each model: ``trusts`` (whom a respondent has to trust),
    ``count`` and ``proportion`` (the standard errors of a count, and of its share of the
    respondents) and ``to_central`` (the error divided by the central one).

    A central count with discrete Laplace noise has the variance 1/(2 sinh²(ε/2)), whatever n; one
    coin has n/(4 sinh²(ε/2)), so the local error is √(n/2) times as large. One count changes by at
    most 1, whether a respondent is left out or gives another answer, so ε means the same in all
    rows. (A whole table of counts costs ε centrally for the former, and 2ε for the latter.)

    No data are read and nothing is charged: these are formulas
    (docs/proofs/randomized_response.md).

    >>> from dppandas import local
    >>> table = local.compare(epsilon=1, respondents=20_000)
    >>> table["to_central"].round(1).to_dict()
    {'central': 1.0, 'shared by 3': 1.7, 'one coin': 100.0}
    """
    loss = parse_epsilon(epsilon)
    n = whole_number(respondents, "respondents", 1, 2**53)
    k = whole_number(keys, "keys", 2, 10**6)
    number = whole_number(parties, "parties", LEAST, MOST)
    if share is not None and (
        isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1
    ):
        raise QueryError(f"share={quoted(share)} must be a number from 0 to 1.")
    central = 1 / (math.sqrt(2) * math.sinh(float(loss) / 2))
    rows = [
        ("central", "who holds the data", central),
        (f"shared by {number}", f"one of {number} parties", central * math.sqrt(number)),
    ]
    words = (designs.ONE_COIN,) if k == 2 else (designs.K_ARY, designs.OUE)
    labels = range(k) if k > 2 else None
    for word in words:
        design = designs.of(word, loss, labels)
        rows.append((word, "nobody", n * math.sqrt(design.variance(n, share))))
    table = pd.DataFrame(rows, columns=["model", "trusts", "count"]).set_index("model")
    return table.assign(proportion=table["count"] / n, to_central=table["count"] / central)
