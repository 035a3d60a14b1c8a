"""AIM: marginals selected by what a graphical model lacks most, adaptively and iteratively."""

from __future__ import annotations

import importlib.util
import warnings
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import QueryError
from . import graphs
from .domains import Codes, Domain, Floats, Marginal, Marginals, closure
from .mwem import counted, worst_of
from .program_budget import ProgramBudget

#: The loss of a round is at first the whole, divided by this and by the number of columns.
PARTS = {"rho": 8, "epsilon": 2}
#: The share of a round for its selection.
SELECTING = Fraction(1, 10)
#: After a round that taught little, the next ones spend this many times as much: half the noise.
MORE = {"rho": 4, "epsilon": 2}
#: The most cells of a model, which may grow as the loss is spent.
MOST_MODEL = 500_000
#: Steps of one fit.
STEPS = 500


def check(domain: Domain) -> None:
    """Refuse domains that are too large, and runs without the package mbi."""
    if importlib.util.find_spec("mbi") is None:
        raise QueryError(
            'method="aim" needs the package mbi: pip install "dppandas[synthetic]". Or use '
            'method="mwem", which fits up to a million cells.'
        )
    if len(domain.names) > graphs.MOST_COLUMNS:
        raise QueryError(
            f"a graphical model has at most {graphs.MOST_COLUMNS} columns here, not "
            f"{len(domain.names)}. Select fewer."
        )


def aim(budget: ProgramBudget, domain: Domain, marginals: Marginals, rows: int) -> list[Codes]:
    """Synthetic rows: counts of each column, and then rounds that select a marginal, measure it and
    fit a graphical model, until the loss is spent.

    *Source*: McKenna, Mullins, Sheldon and Miklau, "AIM: An Adaptive and Iterative Mechanism for
    Differentially Private Synthetic Data", VLDB 2022; by ε as by ρ, with Laplace noise and
    permute-and-flip. The model is fitted by mbi; selection and noise are ours.
    """
    kind = "rho" if budget.by_rho else "epsilon"
    may = closure(domain, marginals)
    part = budget.whole / (PARTS[kind] * max(len(domain.names), 2))
    budget.check(part * SELECTING)  # later rounds spend more
    model = Model(domain, budget)
    for alone in [m for m in may if len(m) == 1]:
        model.measure(alone, "start", part * (1 - SELECTING))
    model.estimate_total()
    model.fit()
    turn = 0
    while budget.left > 0:
        if budget.left < 2 * part:
            part = budget.left
        select, price = part * SELECTING, part * (1 - SELECTING)
        room = MOST_MODEL * float(1 - budget.left / budget.whole + part / budget.whole)
        open_ = [m for m in may if model.is_new(m, price) and model.size_with(m) <= room]
        open_ = open_ or [m for m in may if model.is_new(m, price) and model.has(m)]
        if not open_ and part < budget.left:  # all were measured at this price: spend the rest
            part = budget.left
            continue
        if not open_:
            break
        turn += 1
        noise = budget.noise(price)
        before = [model.marginal(m) for m in open_]
        asked = worst_of(budget.frame, domain, open_, before, noise, [may[m] for m in open_])
        place = budget.spend(f"round {turn}: what fits worst", select, asked.release)
        chosen = open_[place]
        model.measure(chosen, f"round {turn}", price)
        model.fit()
        if np.abs(model.marginal(chosen) - before[place]).sum() <= noise * domain.cells(chosen):
            part = min(part * MORE[kind], budget.left) if budget.left else part
    return graphs.rows_of(domain, model.factors, rows)


class Model:
    """A graphical model, fitted by mbi to measurements."""

    def __init__(self, domain: Domain, budget: ProgramBudget) -> None:
        self._domain, self._budget = domain, budget
        self._counts: list[tuple[Marginal, Floats, float]] = []
        self._prices: set[tuple[Marginal, Fraction]] = set()
        self._fitted: Any = None
        self.factors: list[graphs.Factor] = []
        self.total = 1.0

    def measure(self, marginal: Marginal, step: str, price: Fraction) -> None:
        """Pay for the counts of a marginal, in a step of the program."""
        counts = counted(self._budget, self._domain, marginal, step, price)
        self._counts.append((marginal, counts, self._budget.deviation(price)))
        self._prices.add((marginal, price))

    def estimate_total(self) -> None:
        """Estimate from all measurements how many rows there are."""
        sums = [(float(c.sum()), 1 / (d * d * len(c))) for _, c, d in self._counts]
        self.total = max(1.0, sum(s * w for s, w in sums) / sum(w for _, w in sums))

    def is_new(self, marginal: Marginal, price: Fraction) -> bool:
        """Whether it wasn't measured at this price before, which would replay the same answer."""
        return (marginal, price) not in self._prices

    def has(self, marginal: Marginal) -> bool:
        """Whether a measured marginal includes this one."""
        return any(set(marginal) <= set(known) for known, _, _ in self._counts)

    def size_with(self, marginal: Marginal) -> int:
        """How many cells the model would have with one more marginal."""
        return graphs.size(self._domain, [*(m for m, _, _ in self._counts), marginal])

    def marginal(self, marginal: Marginal) -> Floats:
        """The counts that the model expects."""
        return graphs.marginal(self._domain, self.factors, marginal, self.total).reshape(-1)

    def fit(self) -> None:
        """Fit the model to all measurements."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jax, mbi = importlib.import_module("jax"), importlib.import_module("mbi")
            with jax.enable_x64(True):
                names = [f"c{i}" for i in range(len(self._domain.names))]
                known = mbi.Domain(names, self._domain.shape)
                measurements = [
                    mbi.LinearMeasurement(counts, tuple(names[i] for i in m), stddev=deviation)
                    for m, counts, deviation in self._counts
                ]
                # most of the time goes into compiling, and this oracle of mbi's compiles fastest
                oracle = mbi.marginal_oracles.message_passing_hugin
                self._fitted = mbi.estimation.MirrorDescent(marginal_oracle=oracle).estimate(
                    known, measurements, known_total=self.total, iters=STEPS,
                    warm_start=self._fitted,
                )  # fmt: skip
                potentials = self._fitted.potentials
                self.factors = []
                for factor in (potentials[clique] for clique in potentials.cliques):
                    columns = tuple(int(name[1:]) for name in factor.domain.attributes)
                    self.factors.append((columns, np.asarray(factor.values, dtype=np.float64)))
