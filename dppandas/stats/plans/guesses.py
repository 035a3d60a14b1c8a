"""What is guessed of rows that nobody has read: arguments of plans."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ...errors import QueryError, quoted
from ...privacy.accounting.losses import parse_epsilon, parse_rho
from ...rows.facts.bounds import Bounds
from ...rows.figures import format_exactly, format_fact, format_number
from ..results import parse_alternative
from .designs import Design
from .designs_of_counts import Binomial, OneShare, Table, TwoShares
from .designs_of_means import OneMean, SeveralMeans, TwoMeans
from .designs_of_pairs import Pairs
from .draws import Loss

#: The guesses that each test takes.
TAKEN = {
    "ttest_ind": ("bounds", "sd", "mean", "ratio"), "ttest_1samp": ("bounds", "sd", "mean"),
    "f_oneway": ("bounds", "sd", "mean", "groups"), "pearsonr": ("bounds", "sd", "mean"),
    "proportions_ztest": ("p", "groups", "ratio"), "binomtest": ("p",),
    "chi2_contingency": ("cells",), "chisquare": ("cells",),
}  # fmt: skip
#: Tests that aren't planned, and why, or as which other one.
REFUSED = {
    "fisher_exact": 'plan it as "chi2_contingency" with cells=(2, 2).',
    "proportion_confint": 'plan it as "proportions_ztest" with groups=1 and within=.',
    "blockwise": (
        "its power is that of its block test at the size of a block. Plan a test of the same "
        "numbers that is planned here, which needs fewer rows."
    ),
}
#: How many standard deviations bounds are wide if nothing is said.
WIDE = 8
#: The most groups, and the most cells of a table.
GROUPS, CELLS = 50, 400


def design_of(test: object, alpha: object, alternative: object, given: Mapping[str, Any]) -> Design:
    """The plan of a test, from what is guessed: None stands for what isn't."""
    name = _name(test)
    for other, value in given.items():
        if value is not None and other not in TAKEN[name]:
            raise QueryError(
                f"{name} takes no {other}=: it is planned by "
                f"{', '.join(f'{each}=' for each in TAKEN[name])}."
            )
    alpha, side = number(alpha, "alpha", 0, 0.5), parse_alternative(alternative)
    ratio = 1.0 if given["ratio"] is None else number(given["ratio"], "ratio", 0, math.inf)
    if name == "binomtest":
        return Binomial(alpha, side, _share(given["p"]))
    if name == "proportions_ztest":
        groups, p = whole_number(given["groups"], 2, "groups", 1, 2), _share(given["p"])
        if groups == 1 and given["ratio"] is not None:
            raise QueryError("ratio= is of two groups.")
        return OneShare(alpha, side, p) if groups == 1 else TwoShares(alpha, side, p, ratio)
    if name in ("chi2_contingency", "chisquare", "f_oneway") and side != "two-sided":
        raise QueryError(f"{name} has no sides: leave alternative= out.")
    if name in ("chi2_contingency", "chisquare"):
        return Table(alpha, side, _margins(given["cells"], 2 if name == "chi2_contingency" else 1))
    values = _values(given["bounds"], given["sd"], given["mean"])
    if name == "f_oneway":
        groups = whole_number(given["groups"], 3, "groups", 2, GROUPS)
        return SeveralMeans(alpha, side, *values, groups=groups)
    if name == "ttest_ind":
        return TwoMeans(alpha, side, *values, ratio=ratio)
    return (OneMean if name == "ttest_1samp" else Pairs)(alpha, side, *values)


def _name(test: object) -> str:
    name = test if isinstance(test, str) else getattr(test, "__name__", "")
    if name in REFUSED:
        raise QueryError(f"{name} isn't planned here: {REFUSED[name]}")
    if name not in TAKEN:
        raise QueryError(
            f"test={quoted(test)} must be one of {', '.join(TAKEN)}, by its name or as the "
            "function of dp.stats."
        )
    return str(name)


def number(value: object, name: str, above: float, below: float) -> float:
    """A number strictly between two others."""
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    found = float(value) if is_number else math.nan  # type: ignore[arg-type]
    if above < found < below:
        return found
    ends = "be finite" if above == -math.inf else f"lie above {format_exactly(above)}"
    ends += "" if below == math.inf else f" and below {format_exactly(below)}"
    raise QueryError(f"{name}={quoted(value)} must be a number, and {ends}.")


def whole_number(value: object, default: int, name: str, least: int, most: int) -> int:
    """A whole number, or what it is by default."""
    found = default if value is None else value
    is_whole = isinstance(found, Integral) and not isinstance(found, bool)
    if not is_whole or not least <= found <= most:  # type: ignore[operator]
        raise QueryError(
            f"{name}={quoted(value)} must be a whole number from {least:,} to {most:,}."
        )
    return int(found)  # type: ignore[call-overload, no-any-return]


def loss_of(epsilon: object, rho: object, what: str) -> Loss:
    """The loss of a release: exactly one of both."""
    if (epsilon is None) == (rho is None):
        raise QueryError(f"give either epsilon= or rho=, the loss of {what}.")
    if rho is not None:
        return Loss(rho=parse_rho(rho))
    return Loss(epsilon=parse_epsilon(epsilon))


def _share(p: object) -> float:
    return 0.5 if p is None else number(p, "p", 0, 1)


def _values(bounds: object, sd: object, mean: object) -> tuple[float, float, float, float]:
    """The bounds, the standard deviation and the mean of values."""
    if bounds is None:
        spread = 1.0 if sd is None else number(sd, "sd", 0, math.inf)
        middle = 0.0 if mean is None else number(mean, "mean", -math.inf, math.inf)
        return middle - WIDE / 2 * spread, middle + WIDE / 2 * spread, spread, middle
    ends = Bounds.parse(bounds, "the values")
    width = ends.upper - ends.lower
    spread = width / WIDE if sd is None else number(sd, "sd", 0, math.inf)
    middle = (ends.lower + ends.upper) / 2
    if mean is not None:
        middle = number(mean, "mean", ends.lower, ends.upper)
    most = math.sqrt((middle - ends.lower) * (ends.upper - middle))
    if not spread <= most:
        raise QueryError(
            f"sd={spread:g} is more than values from {format_fact(ends)} with a mean of "
            f"{format_exactly(middle)} can have, which is {format_number(most)}."
        )
    return ends.lower, ends.upper, spread, middle


def _margins(cells: object, sides: int) -> tuple[tuple[float, ...], ...]:
    """The shares of cells, or of rows and of columns."""
    if sides == 1:
        found = [_shares(2 if cells is None else cells)]
    else:
        both = (2, 2) if cells is None else cells
        if not isinstance(both, Sequence) or isinstance(both, str) or len(both) != 2:
            raise QueryError(
                "cells= of a table must be rows and columns: two whole numbers, as in (2, 3), or "
                "two lists of shares, as in ([.5, .5], [.6, .3, .1])."
            )
        found = [_shares(each) for each in both]
    if math.prod(map(len, found)) > CELLS:
        raise QueryError(f"cells= may be {CELLS} at most.")
    return tuple(found)


def _shares(given: object) -> tuple[float, ...]:
    if isinstance(given, Integral) and not isinstance(given, bool):
        number_of = whole_number(given, 2, "cells", 2, CELLS)
        return (1 / number_of,) * number_of
    try:
        found = [float(each) for each in given]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        found = []
    if len(found) < 2 or not min(found) > 0 or not abs(sum(found) - 1) < 1e-6:
        raise QueryError(
            "cells= must be a whole number from 2, or shares above 0 that add up to 1, as in "
            "[.5, .3, .2]."
        )
    return tuple(each / sum(found) for each in found)
