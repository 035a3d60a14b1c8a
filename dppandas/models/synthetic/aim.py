"""Adaptive and iterative: marginals selected by what the model of a graph lacks most, AIM."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ...errors import QueryError
from ...frames.frame import PrivateFrame
from . import graphs
from .domains import Codes, Domain, Floats, Marginal, closure
from .mwem import counted
from .program_budget import ProgramBudget
from .worst_fit import clipped_expectations, worst_fit

#: Of the whole, so many parts a column has: a round spends one, and later ones more.
PARTS = {"rho": 8, "epsilon": 2}
#: What a selection gets of its round.
SELECTING = Fraction(1, 10)
#: Where a round taught little, the next ones spend so many times as much: half the noise.
MORE = {"rho": 4, "epsilon": 2}
#: Cells of a model; it may grow as the loss is spent.
MOST_MODEL = 500_000
#: Steps of one fit.
STEPS = 500


def check(domain: Domain, marginals: Sequence[Marginal]) -> None:
    """Refuse what is too large, or lacks the package."""
    if importlib.util.find_spec("mbi") is None:
        raise QueryError(
            'method="aim" needs the package mbi: pip install "dppandas[synthetic]". Without it, '
            'method="mwem" fits up to a million cells.'
        )
    if len(domain.names) > graphs.MOST_COLUMNS:
        raise QueryError(
            f"a graphical model has at most {graphs.MOST_COLUMNS} columns here, not "
            f"{len(domain.names)}: select some."
        )


def aim(
    frame: PrivateFrame,
    domain: Domain,
    marginals: Sequence[Marginal],
    budget: ProgramBudget,
    rows: int,
) -> list[Codes]:
    """Synthetic rows: all columns alone, and then rounds that select a marginal, measure it and fit
    a graphical model, until the loss is spent.

    *Source*: McKenna, Mullins, Sheldon and Miklau, "AIM: An Adaptive and Iterative Mechanism for
    Differentially Private Synthetic Data", VLDB 2022; by ε as by ρ, with Laplace noise and
    permute-and-flip. The model is fitted by mbi; selection and noise are ours.
    """
    kind = "rho" if budget.by_rho else "epsilon"
    may = closure(domain, marginals)
    part = budget.whole / (PARTS[kind] * max(len(domain.names), 2))
    budget.check(part * SELECTING)  # parts only grow
    model = Model(domain)
    for alone in [m for m in may if len(m) == 1]:
        price = part * (1 - SELECTING)
        counts = counted(frame, domain, alone, f"start: {domain.named(alone)}", price, budget)
        model.add(alone, counts, budget.deviation(price), price, is_start=True)
    model.fit()
    turn = 0
    while budget.left > 0:
        if budget.left < 2 * part:
            part = budget.left
        select, price = part * SELECTING, part * (1 - SELECTING)
        room = MOST_MODEL * float(1 - budget.left / budget.whole + part / budget.whole)
        open_ = [m for m in may if model.is_new(m, price) and model.size_with(m) <= room]
        open_ = open_ or [m for m in may if model.is_new(m, price) and model.has(m)]
        if not open_ and part < budget.left:  # all were measured at this price: once more, by all
            part = budget.left
            continue
        if not open_:
            break
        turn += 1
        noise = budget.noise(price)
        before = [model.marginal(m) for m in open_]
        asked = worst_fit(
            frame,
            [
                pd.Series(clipped_expectations(b), index=domain.index(m))
                for m, b in zip(open_, before, strict=True)
            ],
            weights=[may[m] for m in open_],
            offsets=clipped_expectations(
                [noise * may[m] * domain.cells(m) for m in open_]
            ).tolist(),
        )
        place = budget.spend(f"round {turn}: what fits worst", select, asked.release)
        chosen = open_[place]
        counts = counted(
            frame, domain, chosen, f"round {turn}: {domain.named(chosen)}", price, budget
        )
        model.add(chosen, counts, budget.deviation(price), price)
        model.fit()
        if np.abs(model.marginal(chosen) - before[place]).sum() <= noise * domain.cells(chosen):
            part = min(part * MORE[kind], budget.left) if budget.left else part
    return graphs.rows_of(domain, model.factors, rows)


class Model:
    """A graphical model, fitted by mbi to what was measured."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._counts: list[tuple[Marginal, Floats, float]] = []
        self._prices: set[tuple[Marginal, Fraction]] = set()
        self._fitted: Any = None
        self.factors: list[graphs.Factor] = []
        self.total = 1.0

    def add(
        self,
        marginal: Marginal,
        counts: Floats,
        deviation: float,
        price: Fraction,
        is_start: bool = False,
    ) -> None:
        """One more measurement; those of the start say how many rows there are."""
        self._counts.append((marginal, counts, deviation))
        self._prices.add((marginal, price))
        if is_start:
            sums = [(float(c.sum()), 1 / (d * d * len(c))) for _, c, d in self._counts]
            weighed = sum(s * w for s, w in sums) / sum(w for _, w in sums)
            self.total = max(1.0, weighed)

    def is_new(self, marginal: Marginal, price: Fraction) -> bool:
        """Whether it wasn't measured at this price: the same answer would be given again."""
        return (marginal, price) not in self._prices

    def has(self, marginal: Marginal) -> bool:
        """Whether the model has all of a marginal already."""
        return any(set(marginal) <= set(known) for known, _, _ in self._counts)

    def size_with(self, marginal: Marginal) -> int:
        """How many cells it would have with one more."""
        return graphs.size(self._domain, [*(m for m, _, _ in self._counts), marginal])

    def marginal(self, marginal: Marginal) -> Floats:
        """What it expects."""
        return graphs.marginal(self._domain, self.factors, marginal, self.total).reshape(-1)

    def fit(self) -> None:
        """Fit it to all measurements."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jax, mbi = importlib.import_module("jax"), importlib.import_module("mbi")
            with jax.enable_x64(True):
                names = [f"c{i}" for i in range(len(self._domain.names))]
                known = mbi.Domain(names, self._domain.shape)
                measurements = [
                    mbi.LinearMeasurement(
                        counts, tuple(names[i] for i in marginal), stddev=deviation
                    )
                    for marginal, counts, deviation in self._counts
                ]
                # of mbi's ways to marginals this one compiles soonest, which takes most of the time
                oracle = mbi.marginal_oracles.message_passing_hugin
                self._fitted = mbi.estimation.MirrorDescent(marginal_oracle=oracle).estimate(
                    known, measurements, known_total=self.total, iters=STEPS,
                    warm_start=self._fitted,
                )  # fmt: skip
                potentials = self._fitted.potentials
                self.factors = [
                    (
                        tuple(int(name[1:]) for name in potentials[clique].domain.attributes),
                        np.asarray(potentials[clique].values, dtype=np.float64),
                    )
                    for clique in potentials.cliques
                ]
