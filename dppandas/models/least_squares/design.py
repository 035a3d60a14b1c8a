"""What a regression is of, as public facts: names, bounds, and how plain rows are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pandas as pd

from ...dataclasses import dataclass
from ...errors import LineageError, QueryError
from ...frames.frame import PrivateFrame
from ...frames.series import PrivateSeries
from ...rows.facts.bounds import Bounds
from ...rows.facts.keys import SOURCE_ATTR, some_names
from ..base import matrix_of
from ..points import Matrix
from .formulas import Formula, frame_lookup


@dataclass(frozen=True, eq=False, repr=False)
class OLSDesign:
    """The regressors and the target with their bounds, and how they come from columns: public facts
    alone."""

    names: tuple[str, ...]
    bounds: tuple[Bounds, ...]
    endog_names: str  # the name of the target
    target_bounds: Bounds
    constant: str | None
    labels: tuple[Any, ...] = ()  # of the columns of a frame, without a formula
    formula: Formula | None = None

    @property
    def _all_bounds(self) -> list[Bounds]:
        return [*self.bounds, self.target_bounds]

    @property
    def exog_names(self) -> list[str]:
        """The names of the coefficients, that of the constant first."""
        return [*([self.constant] if self.constant is not None else []), *self.names]

    def _weights(self) -> tuple[Matrix, Matrix]:
        """The regressors and the target as sums of 1 and of the columns in [-1, 1]: with a
        constant the columns themselves, else columns as parts of their largest size."""
        middle, half = self._middles()
        if self.constant is not None:
            every = np.eye(len(middle) + 1)
            return every[:-1], every[-1]
        lines = np.column_stack([middle, np.diag(half)]) / (np.abs(middle) + half)[:, None]
        return lines[:-1], lines[-1]

    def _in_units(self) -> tuple[Matrix, Matrix]:
        """P and r, with which coefficients of the regressors of `weights` are P·θ + r in the units
        of the columns."""
        middle, half = self._middles()
        if self.constant is None:
            reach = np.abs(middle) + half
            return np.diag(reach[-1] / reach[:-1]), np.zeros(len(reach) - 1)
        slopes = half[-1] / half[:-1]
        found = np.diag([half[-1], *slopes])
        found[0, 1:] = -slopes * middle[:-1]
        return found, np.array([middle[-1], *np.zeros(len(slopes))])

    def _plain(self, exog: Any) -> tuple[Matrix, Any]:
        """The regressors of plain rows, and the index of these."""
        if SOURCE_ATTR in getattr(exog, "attrs", ()):
            raise LineageError(
                "these rows come from a protected source, and answers about plain rows are exact. "
                "Give the private frame that dp.protect returned, or rows that are public."
            )
        if isinstance(exog, pd.Series):
            exog = exog.to_frame().T
        if isinstance(exog, Mapping):
            try:
                exog = pd.DataFrame(exog)
            except ValueError:  # of numbers alone
                exog = pd.DataFrame([exog])
        index: pd.Index | None
        if self.formula is not None:
            if not isinstance(exog, pd.DataFrame):
                raise QueryError("predictions by a formula need a DataFrame with its columns.")
            look = frame_lookup(exog)
            columns = [np.asarray(term.of(look), dtype=float) for term in self.formula.terms]
            found, index = np.column_stack(columns), exog.index
        else:
            if isinstance(exog, pd.DataFrame):
                look = frame_lookup(exog)
                exog = pd.concat([look(name) for name in self.labels], axis=1)
            index = exog.index if isinstance(exog, pd.DataFrame) else None
            found = matrix_of(exog, len(self.names), f": {some_names(self.names)}")
        if self.constant is not None:
            found = np.column_stack([np.ones(len(found)), found])
        return found, index

    def _private(self, exog: PrivateFrame, params: Matrix) -> PrivateSeries:
        """The regressors of private rows, weighted: a private column."""
        look = frame_lookup(exog)
        if self.formula is not None:
            columns = [term.of(look) for term in self.formula.terms]
        else:
            columns = [look(name) for name in self.labels]
        rest = params.tolist()
        total: Any = rest.pop(0) if self.constant is not None else 0.0
        for weight, column in zip(rest, columns, strict=True):
            total = column * weight + total
        return cast(PrivateSeries, total)

    def _middles(self) -> tuple[Matrix, Matrix]:
        """The middle and half the width of the bounds of each column."""
        middle = np.array([b.lower / 2 + b.upper / 2 for b in self._all_bounds])
        return middle, np.array([b.upper / 2 - b.lower / 2 for b in self._all_bounds])

    def __repr__(self) -> str:
        return f"{self.endog_names} ~ {' + '.join(self.exog_names)}"
