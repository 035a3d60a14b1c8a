"""What a limit on the rows of a unit does to a mean, beside the noise that the limit costs.

Proof: docs/proofs/clipping.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import pandas as pd

from ...errors import MissingArgument, QueryError, hide_internals
from ...findings.answers import made_of
from ...findings.curves import Curve
from ...findings.derive import is_answer, quantities_in
from ...privacy.accounting.losses import Number
from ...release.accuracy.expected import CONFIDENCE, parse_confidence, parse_rows
from ...release.answers.results import claimed
from ...release.private import Private
from ...rows.facts.bounds import Bounds
from ...rows.plain_values import refuse_private
from ...statistics.layout import format_number
from .clipping import Bias, half_width, sum_of, table
from .guesses import loss_of, number

#: The most rows of a unit that are told apart.
MOST = 100


@hide_internals
def truncation(
    rows: Any, *, bounds: Any = None, epsilon: Number | None = None, rho: Number | None = None,
    n: float | None = None, confidence: float = CONFIDENCE,
) -> Curve:  # fmt: skip
    """How far dropping rows beyond ``max_rows`` of a unit moves a mean, and how large its noise is,
    for each limit: a DataFrame by ``max_rows``, which ``.plot()`` and `dppandas.plot` draw.

    rows : how many units have 1 row, 2 rows and so on: released counts, with a key for each number
        from 1, or a public guess, as a Series or dict of counts or shares of units.
    bounds : those of the values.
    epsilon, rho : the loss of the mean that is planned.
    n : how many units there are; by default those of released counts.

    The columns: ``dropped``, the share of rows that the limit drops, of released counts at most;
    ``bias_low`` and ``bias_high``, between which the mean of the rows kept lies away from that of
    all rows counted; ``noise``, the half-width of the mean's noise at this confidence, over the
    rows that are kept; and ``total``, the most that noise and bias make. Dropped rows may all lie
    at a bound, so this is the worst case: a bias is usually far smaller. Of released counts all
    shares hold simultaneously with this confidence, and a limit may be chosen by them.

    Rows that weren't counted aren't seen: those of a unit beyond the last key, and beyond the
    ``max_rows`` with which the source was protected when they were counted. All rows are meant to
    have a value: where some are missing, others weigh more.

    Raises `QueryError` for released counts without a key for each number from 1: units with as many
    rows weren't counted.

    *Guarantee*: post-processing; nothing is read or charged. Source: docs/proofs/clipping.md.

    >>> import pandas as pd, dppandas as dp
    >>> visits = pd.DataFrame({"who": [i // 2 for i in range(4000)] + [*range(1000)]})
    >>> p = dp.protect(visits, name="visits", unit="who", max_rows=5)
    >>> number = p.per_unit().agg(number="size")["number"]
    >>> seen = number.value_counts(keys=[1, 2, 3, 4, 5], epsilon=1)
    >>> curve = dp.stats.truncation(seen, bounds=(0, 100), epsilon=1)
    >>> bool(curve.loc[1, "dropped"] > 0.5), bool(curve.loc[3, "dropped"] < 0.1)
    (True, True)
    """
    level, loss = parse_confidence(confidence), loss_of(epsilon, rho, "the mean that is planned")
    if bounds is None:
        raise MissingArgument("bounds= is needed: (lower, upper) of the values, which are public.")
    ends, units = Bounds.parse(bounds, "the values"), parse_rows(n)
    counts, is_released = _counts(rows)
    found = {k: counts.get(k, 0) for k in range(1, max(counts) + 1)}
    total = sum(_value(each) for each in found.values())
    if units is None and not is_released:
        raise MissingArgument("n= is needed: about how many units there are.")
    scale = 1.0 if units is None else units / max(total, 1e-300)
    kept = [scale * sum(_value(m) * min(j, k) for j, m in found.items()) for k in found]
    shares = _dropped(found, level) if is_released else _shares(found)
    width = ends.upper - ends.lower
    biases = [Bias(-share * width, share * width) for share in shares]
    noises = [
        width * half_width(loss, k, level) / max(rows_kept, 1.0)
        for k, rows_kept in zip(found, kept, strict=True)
    ]
    made = table(biases, noises).assign(dropped=shares)
    of = total if units is None else units
    known = "released counts: all hold simultaneously" if is_released else "a guess: no intervals"
    return Curve.of(
        made.set_axis(pd.Index([*found], name="max_rows"), axis=0),
        f"A mean of at most max_rows rows of each of {format_number(of)} units, in {ends}",
        (
            f"bias: at worst, of the rows kept less those of all rows counted. From {known}.",
            f"noise: {100 * level:.10g} % half-width, {loss}. total: noise and the larger bias.",
        ),
    )


def _value(count: Any) -> float:
    return max(float(getattr(count, "value", count)), 0.0)


def _counts(rows: Any) -> tuple[dict[int, Any], bool]:
    """How many units have each number of rows, and whether that was released."""
    if isinstance(rows, Private):
        raise QueryError(
            "max_rows is planned from released or public counts. Release them first: "
            "p.per_unit().agg(rows='size')['rows'].value_counts(keys=[1, 2, …], epsilon=0.1)."
        )
    is_released = is_answer(rows)
    if not is_released and claimed(rows) is not None:
        quantities_in(rows)  # says what became of its record
    refuse_private(rows, "the guess")
    given = quantities_in(rows) if is_released else rows
    if not isinstance(given, pd.Series | Mapping):
        raise QueryError("give counts of units by their number of rows, as a Series or a dict.")
    found = {}
    label: Any
    for label, count in given.items():
        is_whole = isinstance(label, Integral) and not isinstance(label, bool)
        if not is_whole or not 1 <= label <= MOST:
            raise QueryError(f"counts must be by numbers of rows, which are whole, 1 to {MOST}.")
        found[int(label)] = (
            count if is_released else number(count, "a count", -1e-300, float("inf"))
        )
    if is_released and set(found) != set(range(1, max(found, default=0) + 1)):
        raise QueryError(
            "released counts need a key for each number of rows from 1: units with as many as none "
            "weren't counted."
        )
    if not found or (not is_released and not any(map(_value, found.values()))):
        raise QueryError("counts that are guessed must add up to more than 0.")
    return found, is_released


def _shares(counts: Mapping[int, float]) -> list[float]:
    """Which share of all rows lies beyond each limit."""
    whole = sum(j * count for j, count in counts.items())
    return [sum(max(j - k, 0) * m for j, m in counts.items()) / whole for k in counts]


def _dropped(counts: Mapping[int, Any], confidence: float) -> list[float]:
    """At most which share of all rows lies beyond each limit: all hold simultaneously."""
    whole = sum_of([count * j for j, count in counts.items()])
    each = [sum_of([count * max(j - k, 0) for j, count in counts.items()]) / whole for k in counts]
    ends = made_of(pd.Series(each, dtype=object)).interval(confidence)["upper"]
    # of a unit with K rows at most K - k are beyond k
    last = max(counts)
    most = ((last - k) / last for k in counts)
    return [min(max(end, 0.0), share) for end, share in zip(ends.tolist(), most, strict=True)]
