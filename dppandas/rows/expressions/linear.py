"""Several numbers of a row in one value: their weighted sum, or the label of the extreme one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..facts import kinds
from ..facts.bounds import finite
from ..facts.domain import Declaration
from ..facts.keys import some_names
from ..values import vectors
from ..values.forms import Numbers, Vector
from .base import Chunk, Domain, Expression, Labelled, Remembered


@dataclass(frozen=True)
class Dot(Remembered):
    """A constant plus a weighted sum, added from left to right; missing if any number is.

    Not a matrix product: its order of addition may depend on an element's place.
    """

    operands: tuple[Expression, ...]
    weights: tuple[float, ...]
    constant: float = 0.0

    takes = kinds.NUMBERS
    makes = kinds.NUMBER

    def _made(self, chunk: Chunk) -> Vector:
        total = np.full(chunk.rows, self.constant)
        with np.errstate(all="ignore"):
            for weight, operand in zip(self.weights, self.operands, strict=True):
                total = total + weight * (vectors.as_numbers(operand.vector(chunk)) + 0.0)
        return Numbers(total)

    def declared(self, domain: Domain) -> Declaration | None:
        """By interval arithmetic in the same order: rounding to the nearest keeps order."""
        low = high = self.constant
        for weight, operand in zip(self.weights, self.operands, strict=True):
            bounds = operand.bounds(domain)
            if bounds is None:
                return None
            ends = (weight * bounds.lower, weight * bounds.upper)
            low, high = low + min(ends), high + max(ends)
        return finite(low, high)

    def __str__(self) -> str:
        terms = [f"{w:g} {o}" for w, o in zip(self.weights[:8], self.operands, strict=False)]
        terms += ["…"] if len(self.weights) > 8 else []
        terms += [f"{self.constant:g}"] if self.constant else []
        return f"dot({' + '.join(terms)})"


@dataclass(frozen=True)
class Extreme(Labelled):
    """The label of the least (or largest) of several numbers, the first if several are equal.
    Missing numbers are skipped; if all are missing, so is the label."""

    operands: tuple[Expression, ...]
    labels: tuple[Any, ...]
    largest: bool

    takes = kinds.NUMBERS

    def vector(self, chunk: Chunk) -> Vector:
        codes = np.full(chunk.rows, -1, dtype=np.intp)
        best = np.full(chunk.rows, -math.inf)
        for i, operand in enumerate(self.operands):
            numbers = vectors.as_numbers(operand.vector(chunk))
            numbers = numbers if self.largest else -numbers
            better = (numbers > best) | ((codes < 0) & ~np.isnan(numbers))
            codes[better] = i
            best[better] = numbers[better]
        return vectors.coded(self.labels, codes)

    def __str__(self) -> str:
        what = "largest" if self.largest else "least"
        return f"{what} of ({some_names(self.labels, 8)})"
