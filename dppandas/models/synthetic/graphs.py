"""Graphical models of a domain: products of factors, their marginals, and rows that follow them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from .domains import Codes, Domain, Floats, Marginal

#: Columns, and the logarithms of a factor over their labels.
Factor = tuple[Marginal, Floats]

#: np.einsum knows no more letters.
MOST_COLUMNS = 50
#: The least sum of a product that can be scaled.
LEAST = 1e-250


def marginal(domain: Domain, factors: Sequence[Factor], wanted: Marginal, total: float) -> Floats:
    """Expected counts of some columns, in this order: the product of all factors, summed."""
    near = _connected(factors, wanted)
    found = _summed(domain, near, wanted, -math.inf)
    if found.sum() < LEAST:  # where noise drives factors apart, no cell is left by all of them
        found = _summed(domain, near, wanted, math.log(LEAST) / len(near))
    scaled: Floats = found * (total / found.sum())
    return scaled


def _summed(domain: Domain, near: Sequence[Factor], wanted: Marginal, least: float) -> Floats:
    """The product of some factors, each at least e^least of its largest cell, summed."""
    operands: list[object] = []
    for columns, logarithms in near:
        relative = np.maximum(logarithms - logarithms.max(), least)
        operands += [np.exp(relative), list(columns)]
    held = {i for columns, _ in near for i in columns}
    for i in wanted:
        if i not in held:
            operands += [np.ones(domain.shape[i]), [i]]
    found: Floats = np.einsum(*operands, list(wanted), optimize="greedy")  # type: ignore[call-overload]
    return found


def _connected(factors: Sequence[Factor], wanted: Marginal) -> list[Factor]:
    """The factors that are connected to some columns. Others only scale the sum."""
    reached, left, near = set(wanted), list(factors), list[Factor]()
    while True:
        more = [f for f in left if reached & set(f[0])]
        if not more:
            return near
        near += more
        left = [f for f in left if not reached & set(f[0])]
        reached |= {i for columns, _ in more for i in columns}


def size(domain: Domain, cliques: Iterable[Marginal]) -> int:
    """The number of cells of a model: those of the cliques that eliminating its columns makes."""
    order = _eliminated(domain, tuple(cliques))
    return sum(domain.cells((column, *neighbours)) for column, neighbours in order)


@functools.lru_cache(maxsize=8192)
def _eliminated(domain: Domain, cliques: tuple[Marginal, ...]) -> tuple[tuple[int, Marginal], ...]:
    """The columns in order of elimination, each with its remaining neighbours. The column whose
    clique has the fewest cells goes first; its neighbours become neighbours of each other."""
    near: dict[int, set[int]] = {i: set() for i in range(len(domain.names))}
    for clique in cliques:
        for i in clique:
            near[i] |= set(clique) - {i}
    order = []
    while near:
        column = min(near, key=lambda i: (math.prod(domain.shape[j] for j in near[i] | {i}), i))
        rest = near.pop(column)
        order.append((column, tuple(sorted(rest))))
        for other in rest:
            near[other] |= rest - {other}
            near[other].discard(column)
    return tuple(order)


def rows_of(domain: Domain, factors: Sequence[Factor], rows: int) -> list[Codes]:
    """Rows that follow a model: positions of labels, column by column, sorted.

    Each column follows its shares given its neighbours before it: with rows sorted by these
    neighbours, row i gets the label at share frac(i·α), for an irrational α. Such points are spread
    more evenly than random ones, both over all rows and over rows with equal neighbours. Nothing is
    random.
    """
    codes: dict[int, Codes] = {}
    order = _eliminated(domain, tuple(columns for columns, _ in factors))[::-1]
    for turn, (column, parents) in enumerate(order):
        shares = marginal(domain, factors, (*parents, column), 1.0)
        shares = shares.reshape(-1, domain.shape[column])
        passed = np.cumsum(shares, axis=1)
        group = np.zeros(rows, dtype=np.int64)
        for parent in parents:
            group = group * domain.shape[parent] + codes[parent]
        others = [codes[i] for i in reversed(list(codes)) if i not in parents]
        in_line = np.lexsort([*others, group]) if turn else np.arange(rows)
        at = np.empty(rows)
        at[in_line] = np.modf((np.arange(rows) + 0.5) * _irrational(turn))[0]
        ends = passed[group]
        found = (at[:, None] * ends[:, -1:] >= ends[:, :-1]).sum(axis=1)
        codes[column] = found.astype(np.int64)
    listed = [codes[i] for i in range(len(domain.names))]
    line = np.lexsort(listed[::-1])
    return [each[line] for each in listed]


def _irrational(turn: int) -> float:
    """From square roots of primes, none of which is a multiple of another."""
    primes = [5]
    while len(primes) <= turn:
        candidate = primes[-1] + 2
        while any(candidate % p == 0 for p in (3, *primes)):
            candidate += 2
        primes.append(candidate)
    return (math.sqrt(primes[turn]) + 1) / 2
