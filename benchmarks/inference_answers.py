"""How often tests of released answers find what isn't there, and what is, beside tests of the rows.

Each draw is a sample of its own, and has noise of its own. Tests of scipy and statsmodels are given
the rows, and the same released numbers as those of `dppandas.stats`, as if these were exact.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import inference_workers as workers
import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportions_ztest

import dppandas as dp

ARMS, LEVELS = ["A", "B"], (0.05, 0.01)
#: Values have a deviation of 1 within these bounds.
BOUNDS = (0.0, 8.0)
#: That of lognormal values, clipped to them: E[X; X < 8] + 8·P[X > 8].
SKEWED_MEAN = math.exp(0.5) * stats.norm.cdf(math.log(8) - 1) + 8 * stats.norm.sf(math.log(8))
#: The shares of a table's rows and columns: no cell has less than 2 %.
TABLE = ([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1])
SHAPE = tuple(map(len, TABLE))
#: So many draws are released together, as groups, and so many a process does.
TOGETHER, CHUNK = 10, 2500
#: So many simulated tables tell .05 and .01.
RESAMPLES = 199
#: What each of three tests is given, and how a table says it.
SIDES = {"rows": "of the rows", "answers": "of answers", "noise": "with noise"}
Array = npt.NDArray[Any]
Sample = Callable[[Any, int, float], Array]
#: What tests of answers are given, and what those of `dppandas.stats` are.
Released = tuple[Any, Any]


@dataclass(frozen=True)
class Test:
    """One question: samples (a line each), their release, and three tests of each: of the rows, of
    the released numbers as if they were exact, and of these with their noise."""

    plain: str  # whose test is given the released numbers
    ours: str
    sample: Sample
    release: Callable[[Array, float], Released]
    of_rows: Callable[[Array], Array]
    of_answers: Callable[[Any], Array]
    with_noise: Callable[[Any], float]
    arms: int = 1


@dataclass(frozen=True)
class Setting:
    """A test, its rows (in each arm, where there are two) and ε, and the effect; 0 for none."""

    test: str
    rows: int
    epsilon: float
    effect: float = 0.0
    draws: int = 8_000


def _bought(rng: Any, rows: int, effect: float) -> Array:
    shares = np.array([0.1, 0.1 + effect]).reshape(2, 1)
    return np.asarray(rng.random((TOGETHER, 2, rows)) < shares)


def _values(rng: Any, rows: int, effect: float) -> Array:
    means = np.array([4.0, 4.0 + effect]).reshape(2, 1)
    return np.asarray(rng.normal(means, 1, (TOGETHER, 2, rows)).clip(*BOUNDS))


def _skewed(rng: Any, rows: int, effect: float) -> Array:
    """Lognormal."""
    return np.asarray(rng.lognormal(0, 1, (TOGETHER, 1, rows)).clip(*BOUNDS))


def _table(rng: Any, rows: int, effect: float) -> Array:
    """The cells of rows; with an effect, a share of them have the column of their row."""
    first, second = (rng.choice(len(each), (TOGETHER, rows), p=each) for each in TABLE)
    second = np.where(rng.random(first.shape) < effect, first, second)
    return np.asarray(len(TABLE[1]) * first + second)


def _halves(rng: Any, rows: int, effect: float) -> Array:
    return np.asarray(rng.random((TOGETHER, 1, rows)) < 0.5 + effect)


def _frame(samples: Array) -> pd.DataFrame:
    """A row for each value, with its draw and its arm."""
    draws, arms, rows = samples.shape
    draw, arm = np.arange(draws).repeat(arms * rows), np.tile(np.arange(arms).repeat(rows), draws)
    return pd.DataFrame({"draw": draw, "arm": np.array(ARMS)[arm], "y": samples.reshape(-1)})


def _groups(samples: Array) -> Any:
    """One group for each draw and arm: all have noise of the whole ε."""
    arms = ARMS[: samples.shape[1]]
    keys = {"draw": range(TOGETHER), "arm": arms}
    return _frame(samples).dp.groupby(["draw", "arm"], keys=keys)["y"]


def _shares(samples: Array, epsilon: float) -> Released:
    answer = _groups(samples).agg(["mean", "count"], epsilon=epsilon)
    return answer, answer["mean"]


def _means(samples: Array, epsilon: float) -> Released:
    figures = ["mean", "std", "count"]
    answer = _groups(samples).agg(figures, bounds=BOUNDS, epsilon=epsilon)
    return answer, answer["mean"]


def _counts(samples: Array, epsilon: float) -> Released:
    """A table for each draw, of which no row is in two."""
    found = []
    for cells in samples:
        frame = pd.DataFrame({"a": cells // SHAPE[1], "b": cells % SHAPE[1]})
        keys = {"a": range(SHAPE[0]), "b": range(SHAPE[1])}
        found.append(frame.dp.crosstab("a", "b", keys=keys, epsilon=epsilon))
    return found, found


def _of_draw(numbers: Any, i: int) -> Any:
    """What `dppandas.stats` is given of one draw."""
    if isinstance(numbers, list):
        return numbers[i]
    arms = len(numbers) // TOGETHER
    return numbers.iloc[i * arms : (i + 1) * arms]


def _pvalue(test: Test, numbers: Any) -> float:
    """A part of an answer that shows only 0 has no record, and tells no difference."""
    if not np.any(numbers):
        return 1.0
    return test.with_noise(numbers)


def _each(test: Callable[..., float], *numbers: Array) -> Array:
    """A p-value for each line; what can't be computed finds nothing."""
    found = np.array([test(*line) for line in zip(*numbers, strict=True)])
    return np.nan_to_num(found, nan=1.0)


def _z(true: Array, rows: Array) -> float:
    return float(proportions_ztest(true, rows)[1])


def _chi2(counts: Array) -> float:
    """Of what has an empty row or column there is no test."""
    if not (counts.sum(0).all() and counts.sum(1).all()):
        return 1.0
    return float(stats.chi2_contingency(counts).pvalue)


@lru_cache(None)
def _whole(true: int, rows: int) -> float:
    return float(stats.binomtest(true, rows, 0.5).pvalue)


def _binomial(true: float, rows: float) -> float:
    return _whole(round(true), round(rows))


def _true_and_rows(answer: pd.DataFrame, arms: int) -> tuple[Array, Array]:
    """How many are True, and of how many; at least one row."""
    rows = answer["count"].to_numpy().clip(1)
    true = (rows * answer["mean"].to_numpy()).clip(0, rows)
    shape = (TOGETHER, arms) if arms > 1 else (TOGETHER,)
    return true.reshape(shape), rows.reshape(shape)


def _t_of_answers(answer: pd.DataFrame) -> Array:
    a, b = np.moveaxis(answer.to_numpy().reshape(TOGETHER, 2, 3), 1, 0)
    return np.asarray(stats.ttest_ind_from_stats(*a.T, *b.T, equal_var=False).pvalue)


def _t_of_answer(answer: pd.DataFrame) -> Array:
    mean, deviation, rows = answer.to_numpy().T
    t = (mean - SKEWED_MEAN) / (deviation / np.sqrt(rows))
    return np.asarray(2 * stats.t.sf(np.abs(t), rows - 1))


def _tables(cells: Array) -> Array:
    size = SHAPE[0] * SHAPE[1]
    return np.array([np.bincount(each, minlength=size).reshape(SHAPE) for each in cells])


TESTS = {
    "two shares": Test(
        "proportions_ztest(sums, counts)", "proportions_ztest", _bought, _shares,
        lambda y: _each(_z, y.sum(2), np.full(y.shape[:2], y.shape[2])),
        lambda answer: _each(_z, *_true_and_rows(answer, 2)),
        lambda shares: dp.stats.proportions_ztest(shares).pvalue, arms=2,
    ),
    "two means": Test(
        "ttest_ind_from_stats(means, deviations, counts)", "ttest_ind", _values, _means,
        lambda y: np.asarray(stats.ttest_ind(y[:, 0], y[:, 1], axis=1, equal_var=False).pvalue),
        _t_of_answers,
        lambda means: dp.stats.ttest_ind(means).pvalue, arms=2,
    ),
    "a skewed mean": Test(
        "ttest_1samp, by its formula", "ttest_1samp", _skewed, _means,
        lambda y: np.asarray(stats.ttest_1samp(y[:, 0], SKEWED_MEAN, axis=1).pvalue),
        _t_of_answer, lambda mean: dp.stats.ttest_1samp(mean, SKEWED_MEAN).pvalue,
    ),
    "a table of 3 × 4": Test(
        "chi2_contingency(counts)", "chi2_contingency", _table, _counts,
        lambda cells: _each(_chi2, _tables(cells)),
        lambda answers: _each(_chi2, np.array([each.to_numpy().clip(0) for each in answers])),
        lambda table: dp.stats.chi2_contingency(table, n_resamples=RESAMPLES).pvalue,
    ),
    "a share of ½": Test(
        "binomtest(sum, count)", "binomtest", _halves, _shares,
        lambda y: _each(_binomial, y.sum((1, 2)), np.full(len(y), y.shape[2])),
        lambda answer: _each(_binomial, *_true_and_rows(answer, 1)),
        lambda share: dp.stats.binomtest(share).pvalue,
    ),
}  # fmt: skip

#: Draws for a test that is exact, such that a rate above .0573 or .0133 is one in a million.
EXACT = 20_000
#: Nothing differs.
NULLS = [
    Setting("two shares", 30, 1), Setting("two shares", 100, 1), Setting("two shares", 1000, 0.1),
    Setting("two shares", 1000, 1),
    Setting("two means", 100, 1), Setting("two means", 1000, 0.1), Setting("two means", 1000, 1),
    Setting("a skewed mean", 100, 4),
    Setting("a table of 3 × 4", 50, 1), Setting("a table of 3 × 4", 250, 1),
    Setting("a table of 3 × 4", 1000, 0.1), Setting("a table of 3 × 4", 1000, 1),
    Setting("a share of ½", 30, 1, draws=EXACT),
    Setting("a share of ½", 100, 0.2, draws=EXACT), Setting("a share of ½", 1000, 1, draws=EXACT),
]  # fmt: skip
#: Something does, such that a test of the rows finds it mostly.
EFFECTS = [
    Setting("two shares", 1000, 1, 0.04, 2000), Setting("two means", 1000, 1, 0.125, 2000),
    Setting("a table of 3 × 4", 1000, 1, 0.08, 2000), Setting("a share of ½", 1000, 1, 0.045, 2000),
]  # fmt: skip


#: All, in an order that processes know.
SETTINGS = [*NULLS, *EFFECTS]


def part(at: int, draws: int) -> list[list[int]]:
    """In how many draws each of the three tests is significant, at each level."""
    found = pvalues(SETTINGS[at], draws)
    return [[int((found[:, i] <= level).sum()) for level in LEVELS] for i in range(len(SIDES))]


def pvalues(setting: Setting, draws: int) -> Array:
    """Those of all three tests, a line for each draw."""
    warnings.simplefilter("ignore")
    test, rng, found = TESTS[setting.test], np.random.default_rng(), []
    for _ in range(math.ceil(draws / TOGETHER)):
        dp.reset()
        dp.session(epsilon=1000)
        samples = test.sample(rng, setting.rows, setting.effect)
        answer, numbers = test.release(samples, setting.epsilon)
        ours = np.array([_pvalue(test, _of_draw(numbers, i)) for i in range(TOGETHER)])
        found.append(np.column_stack([test.of_rows(samples), test.of_answers(answer), ours]))
    dp.reset()
    return np.concatenate(found)[:draws]


def measured(share: float) -> list[dict[str, Any]]:
    """How often each test is significant, for a share of the draws of each setting."""
    draws = [int(each.draws * share) for each in SETTINGS]
    parts = [
        workers.started(
            "inference_answers.part", [(i, min(CHUNK, n - done)) for done in range(0, n, CHUNK)]
        )
        for i, n in enumerate(draws)
    ]
    return [
        _line(setting, n, np.sum([each.result() for each in found], axis=0))
        for setting, n, found in zip(SETTINGS, draws, parts, strict=True)
    ]


def _line(setting: Setting, draws: int, significant: Array) -> dict[str, Any]:
    test = TESTS[setting.test]
    rates = dict(zip(SIDES, (significant / draws).tolist(), strict=True))
    return {
        "test": setting.test, "plain": test.plain, "ours": test.ours, "size": setting.rows,
        "arms": test.arms, "epsilon": setting.epsilon, "effect": setting.effect, "draws": draws,
        **rates,
    }  # fmt: skip
