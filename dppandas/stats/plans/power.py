"""What a test will find, before anything is paid for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...dataclasses import dataclass, field
from ...errors import QueryError, hide_internals
from ...privacy.accounting.losses import Number
from ...privacy.accounting.measures import Measure
from ...release.session import running
from ...rows.figures import format_number, plus_minus
from ...rows.sentences import ShownInSentences
from .designs import Design
from .draws import Loss
from .guesses import design_of, loss_of, number, whole_number
from .solving import MOST, Enough, Plan, least_effect, least_loss, least_rows


@dataclass(frozen=True, repr=False)
class Power(ShownInSentences):
    """A plan of a test: all of its numbers, of which one was solved for. ``float(plan)`` is that
    one.

    n : how many rows there are in all, in groups of ``sizes``.
    effect : the effect that is there; None where only an interval was planned.
    epsilon, rho : what the release costs.
    power : how often the test finds the effect.
    within : the half-width of the test's confidence interval, in half of all releases at most; NaN
        for tests without one.
    without_noise : how often the same test would find it in the rows themselves.
    """

    test: str
    n: int
    sizes: tuple[int, ...]
    effect: float | None
    epsilon: Any
    rho: Any
    power: float | None
    within: float
    without_noise: float | None
    alpha: float
    alternative: str
    solved: str
    assumed: str = field(repr=False)

    _shown_as: ClassVar[str] = "power"

    def __float__(self) -> float:
        return float(getattr(self, self.solved))

    def _sentences(self) -> list[str]:
        loss = f"ε = {self.epsilon}" if self.rho is None else f"ρ = {self.rho}"
        several = f" in groups of {_listed(self.sizes)}" if len(self.sizes) > 1 else ""
        first = f"{self.test}: {self.n:,} rows{several}, {loss}"
        said = []
        if self.power is not None:
            first += f", effect {format_number(self.effect or 0.0)}, power {self.power:.2f}"
            said = [f"Without noise its power would be {self.without_noise:.2f}."]
        tail = "" if self.alternative == "two-sided" else f', alternative "{self.alternative}"'
        first += f" (solved for {self.solved}; α = {self.alpha:g}{tail})"
        if not math.isnan(self.within):
            level = f"{100 * (1 - self.alpha):.10g} %"
            said.append(f"Its {level} interval is about {plus_minus(self.within)}.")
        return [first, *said, f"Assumed: {self.assumed} One row a unit."]


def _listed(sizes: Sequence[int]) -> str:
    told = [f"{size:,}" for size in sizes]
    return told[0] if len({*told}) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


@hide_internals
def power(
    test: str | Callable[..., Any], *, n: int | None = None, effect: float | None = None,
    epsilon: Number | None = None, power: float | None = None, within: float | None = None,
    rho: Number | None = None, alpha: float = 0.05, alternative: str = "two-sided",
    bounds: Any = None, sd: float | None = None, mean: float | None = None,
    ratio: float | None = None, groups: int | None = None, p: float | None = None,
    cells: Any = None,
) -> Power:  # fmt: skip
    """How often a test of released answers will find an effect; or how many rows, which loss or how
    large an effect it takes.

    test : a test of `dppandas.stats`, or its name: "ttest_ind", "ttest_1samp", "f_oneway",
        "proportions_ztest", "binomtest", "chi2_contingency", "chisquare" or "pearsonr".
    n, effect, epsilon, power : give three, and the fourth is solved for, as by statsmodels'
        ``solve_power``. ``n`` counts the rows of all groups together, and ``epsilon`` is the loss
        of the one release that is tested.
    effect : of means Cohen's d, a difference in standard deviations; of several groups Cohen's f;
        of tables Cohen's w; of shares the difference from ``p``; or the correlation.
    within : in place of ``power``, half the width that the test's interval of confidence 1 - alpha
        is to have, in the column's unit. Then n or epsilon is solved for, with or without effect.
    rho : in place of epsilon, for Gaussian noise; solved for in a session that counts ρ.
    bounds, sd, mean : of numbers, guessed from public knowledge: noise grows with the bounds, which
        by default are 8 sd wide around the mean.
    ratio : how many times as large the second of two groups is.
    groups : how many ``f_oneway`` compares, by default 3; or of ``proportions_ztest`` 1.
    p : the share without the effect, by default ½.
    cells : of tables ``5``, or ``(2, 3)`` rows and columns, of equal shares; or their shares
        without the effect, ``[.5, .3, .2]``, ``([.5, .5], [.9, .1])``.

    Returns a `Power`, with all numbers as attributes; ``float(plan)`` is the one solved for. Losses
    and rows are rounded up to three digits. It simulates 20,000 releases of normal values, or of
    counts, with the law of their noise, and tests each: a power is good to ± 0.01. Beside the tests
    themselves, also of skewed values: docs/inference.md.

    Raises `QueryError` where not all but one of the four are given, and where nothing is enough.

    *Guarantee*: nothing is read, and nothing is charged. Source: Cohen, "Statistical Power Analysis
    for the Behavioral Sciences", 1988; laws: docs/proofs/means.md, docs/proofs/covariances.md.

    >>> import dppandas as dp
    >>> plan = dp.stats.power("ttest_ind", n=1000, effect=0.2, epsilon=1)
    >>> 0.78 < plan.power < plan.without_noise < 0.91
    True
    >>> 900 < dp.stats.power("ttest_ind", effect=0.2, epsilon=1, power=0.8, sd=2).n < 1100
    True
    """
    guesses = {"bounds": bounds, "sd": sd, "mean": mean, "ratio": ratio, "groups": groups, "p": p}
    design = design_of(test, alpha, alternative, {**guesses, "cells": cells})
    is_priced = epsilon is not None or rho is not None
    loss = loss_of(epsilon, rho, "the release") if is_priced else None
    return _solved(design, n, effect, loss, power, within)


def _solved(
    design: Design, n: Any, effect: Any, loss: Loss | None, power: Any, within: Any
) -> Power:
    missing = _missing(n, effect, loss, power, within)
    enough = _enough(design, power, within)
    rows = whole_number(n, design.fewest, "n", design.fewest, MOST)
    size = 0.0 if effect is None else _effect(effect, design)
    if missing in ("n", "epsilon") and within is None and not size:
        raise QueryError("an effect of 0 is found by chance alone. Give effect= another number.")
    if missing == "n" and loss is not None:
        rows = least_rows(design, size, loss, enough)
    elif missing == "epsilon":
        missing = _measure()
        loss = least_loss(design, rows, size, missing, enough)
    elif missing == "effect" and loss is not None:
        size = least_effect(design, rows, loss, enough)
    is_told = within is None or effect is not None
    return _plan(Plan(design, rows, size, loss or Loss()), missing, is_told)


def _measure() -> str:
    """What the running session counts."""
    session = running()
    counts_rho = session is not None and session.ledger._terms.measure is Measure.ZCDP
    return "rho" if counts_rho else "epsilon"


def _plan(found: Plan, solved: str, is_told: bool) -> Power:
    design, loss = found.design, found.loss
    free = Plan(design, found.rows, found.effect, Loss()).power if is_told else None
    return Power(
        design.test, found.rows, design.sizes(found.rows), found.effect if is_told else None,
        loss.epsilon, loss.rho, found.power if is_told else None, found.half_width, free,
        design.alpha, design.alternative, solved, design.assumed(),
    )  # fmt: skip


# what is given


def _missing(n: Any, effect: Any, loss: Any, power: Any, within: Any) -> str:
    """Which of the numbers is solved for."""
    given = {"n": n, "effect": effect, "epsilon": loss, "power": power}
    if within is not None:
        if power is not None:
            raise QueryError("give power= or within=, and not both: each says what is enough.")
        del given["power"], given["effect"]
    left_out = [name for name, each in given.items() if each is None]
    if len(left_out) == 1:
        return left_out[0]
    named = ", ".join(f"{name}=" for name in given)
    if within is not None:
        raise QueryError("with within=, give one of n= and epsilon=: the other one is solved for.")
    raise QueryError(
        f"give all but one of {named}, which is solved for: "
        + (f"{', '.join(left_out)} are missing." if left_out else "none is missing.")
    )


def _enough(design: Design, power: Any, within: Any) -> Enough:
    """What a plan has to reach."""
    if within is not None:
        width = number(within, "within", 0, math.inf)
        if not design.has_interval:
            raise QueryError(f"{design.test} has no interval. Give effect= and power=.")
        return lambda plan: plan.half_width <= width
    level = None if power is None else number(power, "power", design.alpha, 1)
    return lambda plan: level is not None and plan.power >= level


def _effect(effect: object, design: Design) -> float:
    found = number(effect, "effect", -math.inf, math.inf)
    if not design.has_sides and found < 0:
        raise QueryError(f"effect={found:g} must not be negative: {design.effect_is}.")
    design.check_effect(found)
    return found
