"""Numbers computed from released answers, whose errors are followed through the computation."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ..errors import QueryError, RecordError, hide_internals, quoted
from ..privacy.accuracy.combined import CombinedNoise, NoiseAtLook, is_additive
from ..privacy.mechanisms.selection import Selection
from ..release.accuracy.units import unit_of_each
from ..release.answers.figures import ShownFigures
from ..release.answers.records import Record
from ..release.answers.results import shown_in
from . import forms
from .answers import Derived, made_of
from .forms import Draw, Linear
from .quantities import EVERYTHING, Figure, Quantity, Unusable

#: The most numbers of an answer that are computed with.
MOST = 10**4


@hide_internals
def derive(f: Callable[..., Any], *answers: Any) -> Any:
    """A number, Series or DataFrame computed from released answers, with its error and interval.

    f : a function of as many arguments as there are answers. It gets them as they are shown, with
        the same labels, and computes with + - * /, sums, np.log, np.exp, np.sqrt, abs, and what
        pandas makes of these: ``sum``, ``cumsum``, ``diff``, ``pct_change``, ``div``, ``loc``,
        ``unstack``. pandas matches by label. It can't compare numbers, or sort by them.
    answers : released numbers, Series or DataFrames, or what is left of one after head, sort_index
        or a selection; or numbers that were derived before.

    The result is a float, Series or DataFrame that knows its error. ``.error()`` and
    ``.interval()``, and `dppandas.intervals`, are about what f gives of the exact numbers on the
    same rows, and all hold simultaneously. Sums and differences have the exact law of their noises;
    what cancels counts once, so ``a - a`` is 0 ± 0. Quotients of sums, and differences and ratios
    of two means or shares, have intervals that allow for all of their noise together. All else is
    bounded from the intervals of what it is computed from. An end may be infinite, where noise
    allows a divisor to be 0.

    Plain numbers that f has from elsewhere count as exact, so give it all answers that it uses. The
    intervals hold for what you had decided to compute, or what another release chose: its noise is
    independent. To choose by these answers themselves, such as the difference of the two largest,
    derive all that you would have chosen from, and then select: what holds simultaneously holds for
    any choice. A sum of the groups that came out small holds far less often than it states; add up
    the ends of `dppandas.intervals` instead.

    Raises `RecordError` for what has no error of its own, and `QueryError` for numbers without an
    interval, such as quantiles asked for without ``interval=True``.

    *Guarantee*: post-processing of released answers, which costs nothing (Dwork and Roth, "The
    Algorithmic Foundations of Differential Privacy", 2014, Proposition 2.1). Intervals: Fieller, J.
    R. Stat. Soc. B 16, 1954; Berger and Boos, JASA 1994; docs/proofs/derived.md.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"arm": ["A", "B"] * 2000, "bought": [1, 1, 0, 1, 0, 1, 0, 0] * 500})
    >>> p = dp.protect(df, name="shop", domain={"arm": ["A", "B"], "bought": (0, 1)})
    >>> bought = p.groupby("arm")["bought"].mean(epsilon=1)
    >>> lift = dp.derive(lambda rate: rate["B"] - rate["A"], bought)
    >>> low, high = lift.interval()
    >>> 0.35 < low < lift < high < 0.65
    True
    """
    if not callable(f):
        raise QueryError(f"dp.derive takes a function and its answers, and {quoted(f)} is none.")
    if not answers:
        raise QueryError("dp.derive takes the answers that the function computes with.")
    _refuse_others(f)
    given = [quantities_in(answer) for answer in answers]
    try:
        return made_of(f(*given))
    except TypeError as error:
        if "Could not convert" not in str(error):
            raise
    raise QueryError(
        "the function of dp.derive asked pandas for plain numbers. A mean is x.sum() / len(x)."
    )


def _refuse_others(f: Callable[..., Any]) -> None:
    """Refuse a function that uses answers which it isn't given: their noise would be left out."""
    try:
        used = inspect.getclosurevars(f)
    except TypeError:  # no function of Python's
        return
    for name, value in {**used.globals, **used.nonlocals}.items():
        if isinstance(value, Derived) or _has_record(value):
            raise QueryError(
                f"the function uses {name}, a released answer that dp.derive isn't given, so its "
                f"noise would be left out. Give it: dp.derive(lambda x, {name}: …, answer, {name})."
            )


def quantities_in(answer: Any) -> Any:
    """An answer with numbers to compute with in place of those shown."""
    if isinstance(answer, Derived):
        return answer._quantities_in()
    shown = shown_in(answer)
    if shown.places.size > MOST:
        raise QueryError(
            f"dp.derive computes with at most {MOST:,} numbers, and this answer has "
            f"{shown.places.size:,}. Select fewer."
        )
    each = [_quantity(shown, place) for place in shown.places.reshape(-1).tolist()]
    if shown.index is None:
        return each[0]
    table = np.empty(len(each), dtype=object)
    table[:] = each
    if shown.columns is None:
        return pd.Series(table, index=shown.index, name=getattr(answer, "name", None))
    return pd.DataFrame(table.reshape(shown.places.shape), shown.index, shown.columns)


def _quantity(shown: ShownFigures, place: float) -> Any:
    if place != place:
        return math.nan
    record, at = _release(shown, int(place))
    _check(record)
    if reason := record._statistic.errors.no_interval:
        return Unusable(f"'{record.query}' can't be computed with: {reason}")
    value = record._values()[at]
    model, schema = record._statistic.errors, record._query.source.schema
    low, high = model.possible(at) or EVERYTHING
    unit = unit_of_each(record._statistic, schema, at + 1)[at]
    form, span = _form(record, at), (float(low), float(high))
    if form is None:  # what covariances can be depends on how many rows there are
        span = (0.0, math.inf) if span[0] >= 0 else EVERYTHING
    if isinstance(form, forms.Quotient):
        form = forms.Quotient(form.part, form.whole, span)
    own = Figure(record, at)
    parameter = Linear({own: Fraction(1)}, Fraction(0), Fraction(value))
    return Quantity(float(value), form, span, unit, "", (), own, frozenset([record]), parameter)


def _release(shown: ShownFigures, place: int) -> tuple[Record, int]:
    """The release of a number, and its place there."""
    if isinstance(shown.record, Record):
        return shown.record, place
    for each in shown.record.components.values():
        if place < len(each._values()):
            return each, place
        place -= len(each._values())
    raise RecordError("this number belongs to no release.")


def _check(record: Record) -> None:
    if record.preview:
        raise QueryError(
            f"'{record.query}' was previewed and not answered. Derive from answers, outside of "
            "dp.preview()."
        )
    if isinstance(record._law, Selection) or record._statistic.labels_only:
        raise QueryError(
            f"'{record.query}' has labels and no numbers to compute with. Release the numbers."
        )
    if any(record._layout.rulers):
        raise QueryError(
            f"'{record.query}' has times, which dp.derive doesn't compute with. Release numbers, "
            "such as durations in hours."
        )


def _form(record: Record, at: int) -> forms.Form | None:
    """What a number is of the released integers; None where only its interval is known."""
    if isinstance(record._law, NoiseAtLook):  # its risk is divided among looks
        return None
    plain = is_additive(record._law) or isinstance(record._law, CombinedNoise)
    known_forms = record._forms if plain else ()
    form = known_forms[at] if known_forms else None
    if form is None:
        return None
    part = _linear(record, form.part)
    return part if form.whole is None else forms.quotient(part, _linear(record, form.whole))


def _linear(record: Record, weights: Any) -> Linear:
    """A sum of the integers of a release, or of the releases that were combined."""
    seen = sum((w * Fraction(record._noisy[i]) for i, w in weights.items()), Fraction(0))
    if not isinstance(record._law, CombinedNoise):
        name = record.ledger, record.number, record.time
        terms = {Draw(name, i, record._law): w for i, w in weights.items() if w}
        return Linear(terms, Fraction(0), seen)
    total, terms = sum(record._law.weights), {}
    for part, share in zip(record.components, record._law.weights, strict=True):
        name = part.ledger, part.number, part.time
        terms.update(
            {Draw(name, i, part._law): w * share / total for i, w in weights.items() if w and share}
        )
    rounded = Fraction(1, 2) if record._law.whole else Fraction(0)
    return Linear(terms, Fraction(0), seen, rounded * sum(map(abs, weights.values())))


@hide_internals
def difference(a: Any, b: Any = None, *against: Any) -> Any:
    """How much two released numbers differ, with an interval: a - b.

    a, b : two answers; of Series and DataFrames all numbers, matched by label. Or a Series and one
        of its labels, the baseline: how much each other number differs from it; or a Series and two
        labels, of which the second is taken off the first.

    See `derive`, which follows the noise of both. An interval that includes 0 says that noise may
    make all of the difference; one that doesn't says that the exact numbers differ. It covers the
    noise alone: whether people like these differ is another question, which
    ``.interval(of="population")`` and `compare` answer.

    *Guarantee*: post-processing, as `derive`.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"arm": ["A", "B"] * 2000, "bought": [1, 1, 0, 1, 0, 1, 0, 0] * 500})
    >>> p = dp.protect(df, name="arms", domain={"arm": ["A", "B"], "bought": (0, 1)})
    >>> rates = p.groupby("arm")["bought"].mean(epsilon=1)
    >>> 0.45 < dp.difference(rates, "B", "A") < 0.55
    True
    >>> dp.difference(rates, "A").index.tolist()
    ['B']
    """
    return compared(lambda x, y: x - y, a, b, against)


@hide_internals
def ratio(a: Any, b: Any = None, *against: Any) -> Any:
    """How many times one released number is another, with an interval: a / b.

    a, b : as for `difference`.

    An end of the interval is infinite, where noise allows b to be 0.

    *Guarantee*: post-processing, as `derive`.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"arm": ["A", "B", "B"] * 2000})
    >>> p = dp.protect(df, name="thirds", domain={"arm": ["A", "B"]})
    >>> sizes = p.groupby("arm").size(epsilon=1)
    >>> 1.9 < dp.ratio(sizes, "B", "A") < 2.1
    True
    """
    return compared(lambda x, y: x / y, a, b, against)


def compared(how: Callable[[Any, Any], Any], a: Any, b: Any, against: tuple[Any, ...]) -> Any:
    return made_of(how(*sides(a, b, against)))


def sides(a: Any, b: Any, against: tuple[Any, ...]) -> tuple[Any, Any]:
    """What is compared with what: two answers, two labels of one, or all others with a label."""
    values = quantities_in(a)
    if len(against) > 1:
        raise QueryError("give two answers, or one with one or two of its labels.")
    if not against and is_answer(b):
        return values, quantities_in(b)
    if not isinstance(values, pd.Series):
        raise QueryError(
            "give two answers, such as dp.difference(a, b), or a Series with labels of it, such as "
            "dp.difference(rates, 'B', 'A')."
        )
    for label in (b, *against):
        check_label(label, values.index)
    if against:
        return values.loc[b], values.loc[against[0]]
    others = values.drop(b)
    return others, others.map(lambda _: values.loc[b])


def check_label(label: Any, labels: pd.Index) -> None:
    if not isinstance(label, Hashable):
        raise QueryError(
            "what isn't a released answer has no error. Compute with plain numbers in a "
            "function: dp.derive(lambda answer: answer / population, answer)."
        )
    if label in labels:
        return
    if label is None:
        raise QueryError(
            "give two answers, or a label to compare the others with, such as "
            f"dp.difference(rates, {labels[0]!r})."
            if len(labels)
            else "this answer has no labels."
        )
    more = ", …" if len(labels) > 5 else ""
    raise QueryError(
        f"{quoted(label)} is neither a released answer nor a label of this one, whose "
        f"labels are {', '.join(map(repr, labels[:5]))}{more}."
    )


def is_answer(value: Any) -> bool:
    """Whether numbers can be computed from it with their errors."""
    return isinstance(value, Derived) or _has_record(value)


def _has_record(value: Any) -> bool:
    try:
        shown_in(value)
    except RecordError:
        return False
    return True
