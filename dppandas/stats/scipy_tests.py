"""The tests of scipy that run on blocks of protected rows: a written list, known by identity.

Each is handed arrays of the columns that a call names, and nothing else. It remembers nothing that
would show in the next block: a test calls each again, in another order.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ..dataclasses import dataclass
from ..errors import QueryError, quoted
from ..models.select import error_in_short
from ..rows.facts.keys import plain
from ..statistics.callers import unheard
from ..statistics.of_blocks.block_tests import (
    FOURFOLD,
    GROUPS,
    PAIRS,
    SAMPLE,
    SUCCESSES,
    TABLE,
    TWO,
    ScipyTest,
    Shown,
    held,
    pvalue_of,
)

#: How long a text option may be.
LONGEST_OPTION = 40
#: Options that would change what a test is given, or what it returns in place of a p-value.
_OF_SHAPES = ("axis", "nan_policy", "keepdims")
#: Options that would draw random numbers: a generator remembers the blocks before.
_OF_CHANCE = ("permutations", "random_state", "rng", "seed", "n_resamples", "batch")
#: What tests do without an option.
_DEFAULTS = {"equal_var": True, "trim": 0}


class Exactness(NamedTuple):
    """When a test's p-values are exact at any size: with which options, and if what is assumed."""

    options: Mapping[str, Any] = {}
    given: str = ""

    def holds(self, options: Mapping[str, Any]) -> bool:
        """Whether the options are those that it needs. One that isn't given has its default."""
        given = {**_DEFAULTS, **options}
        return all(given.get(name) == wanted for name, wanted in self.options.items())


@dataclass(frozen=True)
class Known:
    """A test of the list: its null hypothesis, what it may be handed, and when it is exact."""

    null: str
    handed: tuple[str, ...]
    exact: Exactness | None = None


_ALWAYS = Exactness()
_NO_TIES = Exactness({"method": "exact"}, "no two values are equal")
_BY_METHOD = Exactness({"method": "exact"})
_NORMAL = Exactness({}, "values are normal")

#: By name. In a null hypothesis {} is what the test is asked of. Barnard's and Boschloo's tests are
#: exact by their books; but scipy searches for the largest tail, and misses some: of two groups of
#: four it says .047 where tables have .070.
KNOWN: dict[str, Known] = {
    "alexandergovern": Known("the groups have one mean of {}", (GROUPS,)),
    "ansari": Known("{} is spread alike in both groups", (TWO,)),
    "barnard_exact": Known("{} is as frequent in both groups", (FOURFOLD,)),
    "bartlett": Known("the groups have one variance of {}", (GROUPS,)),
    "binomtest": Known("the share of {} is as stated", (SUCCESSES,), _ALWAYS),
    "boschloo_exact": Known("{} is as frequent in both groups", (FOURFOLD,)),
    "brunnermunzel": Known("of two values of {}, one of each group, either is as often larger",
                           (TWO,)),
    "chi2_contingency": Known("{} doesn't depend on the group", (TABLE,)),
    "cramervonmises_2samp": Known("{} has one distribution in both groups", (TWO,), _NO_TIES),
    "epps_singleton_2samp": Known("{} has one distribution in both groups", (TWO,)),
    "f_oneway": Known("the groups have one mean of {}", (GROUPS,),
                      Exactness({"equal_var": True}, "values are normal, and vary alike in all")),
    "fisher_exact": Known("{} is as frequent in both groups", (FOURFOLD,), _ALWAYS),
    "fligner": Known("the groups have one variance of {}", (GROUPS,)),
    "jarque_bera": Known("{} is normal", (SAMPLE,)),
    "kendalltau": Known("{} are independent", (PAIRS,), _NO_TIES),
    "kruskal": Known("{} has one distribution in all groups", (GROUPS,)),
    "ks_2samp": Known("{} has one distribution in both groups", (TWO,), _BY_METHOD),
    "kurtosistest": Known("{} has the kurtosis of a normal value", (SAMPLE,)),
    "levene": Known("the groups have one variance of {}", (GROUPS,)),
    "linregress": Known("the slope between {} is 0", (PAIRS,),
                        Exactness({}, "errors are normal, and vary alike")),
    "mannwhitneyu": Known("{} has one distribution in both groups", (TWO,), _NO_TIES),
    "median_test": Known("the groups have one median of {}", (GROUPS,)),
    "mood": Known("{} is spread alike in both groups", (TWO,)),
    "normaltest": Known("{} is normal", (SAMPLE,)),
    "pearsonr": Known("{} are independent", (PAIRS,), _NORMAL),
    "pointbiserialr": Known("{} are independent", (PAIRS,)),
    "quantile_test": Known("the quantile of {} is as stated", (SAMPLE,), _ALWAYS),
    "ranksums": Known("{} has one distribution in both groups", (TWO,)),
    "shapiro": Known("{} is normal", (SAMPLE,)),
    "skewtest": Known("{} has the skewness of a normal value", (SAMPLE,)),
    "somersd": Known("{} are independent", (PAIRS,)),
    "spearmanr": Known("{} are independent", (PAIRS,)),
    "ttest_1samp": Known("the mean of {} is as stated", (SAMPLE,), _NORMAL),
    "ttest_ind": Known("the groups have one mean of {}", (TWO,),
                       Exactness({"equal_var": True, "trim": 0},
                                 "values are normal, and vary alike in both")),
    "ttest_rel": Known("{} have one mean", (PAIRS,),
                       Exactness({}, "differences are normal")),
    "wilcoxon": Known("{}: values, or differences, lie symmetrically around 0", (SAMPLE, PAIRS),
                      Exactness({"method": "exact"}, "no two sizes are equal, and none is 0")),
}  # fmt: skip


def name_of(test: object) -> str | None:
    """The name of a test of the list, if it is the very function that scipy.stats holds."""
    if "scipy.stats" not in sys.modules or type(test) is not FunctionType:
        return None
    return next((name for name in KNOWN if held(name) is test), None)


def without_options(test: object) -> str | None:
    """The name of a test of the list that was given options before, by functools.partial."""
    return name_of(test.func) if type(test) is functools.partial else None


def parse_options(name: str, given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Options of a test: plain values, which can't remember what was seen before."""
    found = []
    for option, value in given.items():
        if option in _OF_SHAPES:
            raise QueryError(
                f"{option}= of scipy.stats.{name} isn't needed: it is handed rows without missing "
                "values, and one number comes back. Leave it out."
            )
        if option in _OF_CHANCE:
            raise QueryError(
                f"{option}= of scipy.stats.{name} is for random numbers, and a generator remembers "
                "the blocks before. Use a test without; or a function of your own, which sees the "
                "rows of a plain frame."
            )
        value = plain(value)
        is_short = not isinstance(value, str) or len(value) <= LONGEST_OPTION
        if type(value) not in (str, bool, int, float, type(None)) or not is_short:
            raise QueryError(
                f"{option}={quoted(value)} of scipy.stats.{name} must be a plain value: a number, "
                "a short text, True, False or None. Objects such as a PermutationMethod are for a "
                "function of your own, which sees the rows of a plain frame."
            )
        found.append((option, value))
    return tuple(sorted(found))


def check_exact(name: str, options: Mapping[str, Any], rows: int) -> str:
    """What must be given for a test to be exact, in words. Refuses one that never is."""
    rule = KNOWN[name].exact
    if rule is None:
        raise QueryError(
            f"the p-values of scipy.stats.{name} are approximate at any size, so exact=True can't "
            "hold. Leave it out; or choose a test whose are exact, as "
            + ", ".join(each for each, known in KNOWN.items() if known.exact is not None)
            + "."
        )
    if not rule.holds(options):
        wanted = ", ".join(f"{option}={value!r}" for option, value in rule.options.items())
        raise QueryError(f"scipy.stats.{name} is exact with {wanted} only. Give that, too.")
    if rows > 1:
        raise QueryError(
            f"a unit may have {rows} rows here, which aren't independent of each other, as "
            f"scipy.stats.{name} takes them to be. Make one row of each first: "
            "frame.per_unit().agg(total=('amount', 'sum'))."
        )
    return rule.given


def try_out(test: ScipyTest, columns: Sequence[Shown]) -> None:
    """Refuse options that a test doesn't take, by calling it with public numbers."""
    problem, found = "", None
    try:
        with unheard():
            found = test.of(_public(test.handed, columns), columns)
    except Exception as error:
        problem = error_in_short(error)
    if problem:
        raise QueryError(f"scipy.stats.{test.name} can't be called so. It said {problem}")
    if pvalue_of(found) != pvalue_of(found):
        raise QueryError(f"scipy.stats.{test.name} gives no p-value with these options.")


def _public(handed: str, columns: Sequence[Shown]) -> list[Any]:
    """Some public numbers, as the columns of a block: all labels occur together."""
    labels = [len(each.keys) for each in columns if each.keys is not None]
    cells = math.prod(labels)
    places = np.arange(12 * cells)
    numbers = places**1.5 % 7
    if handed == SUCCESSES:
        return [places % 3 > 0]
    if handed == PAIRS:
        return [numbers, np.roll(numbers, 5) + places / 9]
    cell = np.where(places % 11, places % cells, 0)
    found = [np.asarray(each) for each in np.unravel_index(cell, labels)] if labels else []
    return found if handed in (FOURFOLD, TABLE) else [numbers, *found]
