"""What a regression by least squares found, with statsmodels' names."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...dataclasses import dataclass
from ...errors import QueryError, hide_internals, quoted
from ...frames.frame import PrivateFrame
from ...privacy.accounting.losses import Loss
from ...privacy.accuracy.nearly_normal import NearlyNormal
from ...release.answers import populations
from ...release.blocks import preview
from ...rows import html_tables
from ...rows.sentences import ShownInSentences
from ..base import Releases
from ..points import Matrix
from .design import OLSDesign
from .normal_equations import NormalEquations
from .summary import Summary, summary_of

#: What intervals may be of.
OF = "rows", "population"


@dataclass(eq=False, repr=False)
class OLSResults(ShownInSentences):
    """Coefficients of least squares, and how far they may be off: names as in statsmodels.

    ``params``, ``conf_int``, ``summary``, ``predict`` and ``get_prediction`` are about the rows
    within their bounds, whose own least squares the intervals contain: exactly, and all of them
    together. ``bse``, ``tvalues``, ``pvalues``, ``cov_params`` and ``conf_int(of="population")``
    are about the population that the units are a sample of: approximate, with the errors of sample
    and noise, for one row a unit. ``nobs``, ``ssr``, ``scale`` and ``rsquared`` are noisy, too.

    model : what it is of: ``endog_names``, ``exog_names`` and ``formula``. It holds no rows.
    cov_type : what `OLS.fit` was told.
    releases_ : the records of its releases.

    *Guarantee*: of what `OLS.fit` released; all else is computed from that
    (docs/proofs/least_squares.md).
    """

    model: OLSDesign
    cov_type: str
    releases_: Releases
    _equations: NormalEquations
    _meat: Matrix | None = None

    #: Where its intervals are, for those who ask elsewhere.
    _intervals_by: ClassVar[str] = ".conf_int()"

    @property
    def params(self) -> pd.Series:
        """The coefficients, that of the constant first."""
        return self._named(self._values)

    @cached_property
    def _values(self) -> Matrix:
        lines, constants = self.model._in_units()
        return np.asarray(lines @ self._equations.estimate + constants)

    @property
    def noise_dominated(self) -> bool:
        """Whether noise leaves the coefficients open, so that their 95 % intervals are all of the
        line. ``params`` are then pulled towards 0, and mean little."""
        return self._equations.is_open

    @property
    def nobs(self) -> float:
        """The number of rows in which nothing is missing, with noise."""
        return max(self._equations.rows, 0.0)

    @property
    def df_model(self) -> float:
        """The number of regressors beside the constant."""
        return float(len(self.model.names))

    @property
    def df_resid(self) -> float:
        """The noisy number of rows less that of coefficients."""
        return self.nobs - len(self._values)

    @property
    def _unit(self) -> float:
        """That of the target which the equations are about, in its own units."""
        design = self.model
        ends = design.target_bounds
        if design.constant is not None:
            return ends.upper / 2 - ends.lower / 2
        return max(abs(ends.lower), abs(ends.upper))

    @property
    def ssr(self) -> float:
        """The sum of squared residuals, with noise."""
        return self._equations.residual * self._unit**2

    @property
    def scale(self) -> float:
        """The variance of the residuals, with noise; NaN for too few rows."""
        return self._variance * self._unit**2

    @property
    def _variance(self) -> float:
        return self._equations.residual / self.df_resid if self.df_resid > 0 else float("nan")

    @property
    def rsquared(self) -> float:
        """The share of the target's variance that is explained, with noise; of its mean square,
        without a constant. NaN where noise hides it."""
        equations = self._equations
        if equations.is_open:
            return float("nan")
        total = equations.square
        if self.model.constant is not None and equations.rows > 0:
            total -= equations.right[0] ** 2 / equations.rows
        if total <= 0:
            return float("nan")
        return min(max(1 - float(equations.residual / total), 0.0), 1.0)

    # of the rows, and of the population

    @hide_internals
    def conf_int(self, alpha: float = 0.05, cols: Any = None, *, of: str = "rows") -> pd.DataFrame:
        """Intervals for the coefficients: a DataFrame with columns 0 and 1, as in statsmodels.

        alpha : how often they may fail.
        cols : positions of coefficients, all by default.
        of : "rows": for the least squares coefficients of these rows, clipped to their bounds. All
            intervals hold together, in at least 1 - alpha of releases, whatever the rows are; where
            noise leaves them open they are (-inf, inf), all of the line. "population": for the
            population that the units are a sample of, each by itself, by Student's t and the
            variance of sample and noise. Approximate: at 95 % they hold in 94 to 96 % if the
            variance of residuals is the same for all, and in about 90 % for the coefficient of a
            regressor that drives it, where ``fit(cov_type="HC0")`` does better.

        Raises `QueryError` for a population of units with several rows.

        *Guarantee*: nothing is released (docs/proofs/least_squares.md).
        """
        lines, constants = self.model._in_units()
        low, high = self._ends(lines, constants, _alpha(alpha), _of(of))
        found = self._named(low).to_frame(0).assign(**{"1": high}).set_axis([0, 1], axis=1)
        return found if cols is None else found.iloc[_positions(cols, len(found))]

    def _ends(
        self, lines: Matrix, constants: Matrix, alpha: float, of: str
    ) -> tuple[Matrix, Matrix]:
        """Intervals for `lines @ θ + constants`."""
        values = lines @ self._equations.estimate + constants
        if of == "population":
            wide = np.array([each.half_width(alpha) for each in self._errors(lines)])
            return values - wide, values + wide
        self._answered()
        widths, inverse = self._equations.score_widths(alpha), self._equations.inverse
        if widths is None or inverse is None:
            wide = np.full(len(lines), np.inf)
            return -wide, wide
        around = lines @ self._equations.solution + constants
        wide = np.abs(lines @ inverse) @ widths
        return np.minimum(around - wide, values), np.maximum(around + wide, values)

    def _errors(self, lines: Matrix, more: float = 0.0) -> list[NearlyNormal]:
        """The laws of the errors of `lines @ θ` as estimates of the population's, with a variance
        that is added."""
        found = self._equations.errors(lines, self._covariances_of_scores, self.df_resid)
        return [e.with_sample(e.sampled + more, e.freedom) for e in found] if more else found

    def _deviations(self, lines: Matrix) -> Matrix:
        """Standard errors of `lines @ θ` as estimates of the population's."""
        theta = self._equations.covariances(self._covariances_of_scores)
        if not np.isfinite(theta).all():
            return np.full(len(lines), np.inf)
        return np.asarray(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", lines, theta, lines), 0.0)))

    @property
    def _covariances_of_scores(self) -> Matrix:
        """Those of Σ xⱼ·(y - x·θ) in the sample; infinite where they aren't known."""
        self._answered()
        populations.check_units(self.releases_[0])
        gram = self._equations.gram
        if self.df_resid <= 0:
            return np.full_like(gram, np.inf)
        if self._meat is None:
            return np.asarray(gram * self._variance)
        values, vectors = np.linalg.eigh(self._meat)
        meat = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return np.asarray(meat * (self.nobs / self.df_resid if self.cov_type == "HC1" else 1.0))

    @hide_internals
    def cov_params(self) -> pd.DataFrame:
        """The covariances of the coefficients as estimates of a population's: of sample and noise.

        Raises `QueryError` for units of several rows.
        """
        lines, _ = self.model._in_units()
        names = self.model.exog_names
        found = self._equations.covariances(self._covariances_of_scores)
        if np.isfinite(found).all():
            found = lines @ found @ lines.T
        return pd.DataFrame(found, index=names, columns=names)

    @property
    def bse(self) -> pd.Series:
        """Standard errors for the population: of sample and noise."""
        return self._named(self._deviations(self.model._in_units()[0]))

    @property
    def tvalues(self) -> pd.Series:
        """Coefficients divided by their standard errors."""
        return self.params / self.bse

    @property
    def pvalues(self) -> pd.Series:
        """Of the tests whether the population's coefficients are 0; approximate."""
        pairs = zip(self.params.tolist(), self._errors(self.model._in_units()[0]), strict=True)
        found = [error.p_value(abs(value)) for value, error in pairs]
        return self._named(np.array(found if self.df_resid > 0 else [np.nan] * len(found)))

    # predictions

    @hide_internals
    def predict(self, exog: Any) -> Any:
        """What the line says of each row: a private column for a private frame (row by row,
        *Stability*: 1; nothing is charged), a Series for a plain DataFrame, an array for an array.

        Values aren't clipped: those beyond the bounds are extrapolated.
        """
        self._answered()
        design = self.model
        if isinstance(exog, PrivateFrame):
            return design._private(exog, self._values)
        rows, index = design._plain(exog)
        found = rows @ self._values
        return found if index is None else pd.Series(found, index=index)

    @hide_internals
    def get_prediction(self, exog: Any) -> PredictionResults:
        """What the line says of plain rows, with intervals: ``.summary_frame()``, ``.conf_int()``.

        exog : plain public rows, a DataFrame or an array; private rows have no intervals that one
            may see.
        """
        self._answered()
        if isinstance(exog, PrivateFrame):
            raise QueryError("get_prediction takes plain rows. Of private ones, ask predict.")
        rows, index = self.model._plain(exog)
        return PredictionResults(self, rows, pd.RangeIndex(len(rows)) if index is None else index)

    # how it is shown

    @hide_internals
    def summary(self, alpha: float = 0.05) -> Summary:
        """A table as statsmodels', as text and as HTML: the intervals of these rows, and beside
        them, for one row a unit, what the coefficients say of a population."""
        self._answered()
        return summary_of(self, _alpha(alpha))

    def _sentences(self) -> list[str]:
        return ["<OLS results of a preview: made up, and mean nothing>"]

    def __repr__(self) -> str:
        return super().__repr__() if self._is_preview else str(self.summary())

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self._is_preview else self.summary().as_html()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    @property
    def loss(self) -> Loss:
        """What its releases were charged together."""
        return self.releases_.loss

    @property
    def _is_preview(self) -> bool:
        return any(each.preview for each in self.releases_)

    @property
    def has_population(self) -> bool:
        """Whether units have one row each, so that they may be a sample of a population."""
        query = self.releases_[0]._query
        rows: int = query.source.unit.max_rows * query.branches
        return rows == 1

    def _answered(self) -> None:
        """Refuse what was made up."""
        if self._is_preview and preview.running() is None:
            raise QueryError(
                "these results were fitted in a preview, on dummy answers. Fit outside the preview."
            )

    def _named(self, values: Matrix) -> pd.Series:
        return pd.Series(values, index=self.model.exog_names)


@dataclass(frozen=True, eq=False, repr=False)
class PredictionResults:
    """What a fitted line says of plain rows, with intervals; names as in statsmodels."""

    results: OLSResults
    rows: Matrix
    index: pd.Index

    @property
    def predicted_mean(self) -> Matrix:
        """The line at each row."""
        return np.asarray(self.rows @ self.results._values)

    @property
    def se_mean(self) -> Matrix:
        """Standard errors of the line as an estimate of the population's."""
        return self.results._deviations(self._lines[0])

    @property
    def _lines(self) -> tuple[Matrix, Matrix]:
        lines, constants = self.results.model._in_units()
        return self.rows @ lines, self.rows @ constants

    @hide_internals
    def conf_int(self, obs: bool = False, alpha: float = 0.05, *, of: str = "rows") -> Matrix:
        """Intervals for the line at each row, an array with two columns.

        of : as in `OLSResults.conf_int`. Those of "rows" hold for all points and coefficients
            together, however many are asked.
        obs : of a population, whether intervals are for a new observation, if residuals are normal
            with one variance; statsmodels' ``obs``.
        """
        if obs and _of(of) == "rows":
            raise QueryError('obs=True is about new units: say of="population".')
        if not obs:
            return np.column_stack(self.results._ends(*self._lines, _alpha(alpha), _of(of)))
        errors = self.results._errors(self._lines[0], self.results.scale)
        wide = np.array([each.half_width(_alpha(alpha)) for each in errors])
        return np.column_stack([self.predicted_mean - wide, self.predicted_mean + wide])

    @hide_internals
    def summary_frame(self, alpha: float = 0.05, *, of: str = "rows") -> pd.DataFrame:
        """A row each: ``mean``, ``mean_ci_lower``, ``mean_ci_upper``; of a population also
        ``mean_se``, ``obs_ci_lower`` and ``obs_ci_upper``."""
        low, high = self.conf_int(alpha=alpha, of=of).T
        found = {"mean": self.predicted_mean, "mean_ci_lower": low, "mean_ci_upper": high}
        if of == "population":
            found = {"mean": found.pop("mean"), "mean_se": self.se_mean, **found}
            found["obs_ci_lower"], found["obs_ci_upper"] = self.conf_int(True, alpha, of=of).T
        return pd.DataFrame(found, index=self.index)

    def __repr__(self) -> str:
        return repr(self.summary_frame())

    def _repr_html_(self) -> str:
        return html_tables.card("predictions", html_tables.of_frame(self.summary_frame()).html())


def _positions(cols: Any, coefficients: int) -> list[int]:
    """Positions of coefficients."""
    found = [cols] if isinstance(cols, int) else cols
    known = range(-coefficients, coefficients)
    if not isinstance(found, list | tuple | range | np.ndarray) or any(
        x not in known for x in found
    ):
        raise QueryError(
            f"cols={quoted(cols)} must be positions of coefficients, from 0 to {coefficients - 1}."
        )
    return [int(each) for each in found]


def _alpha(alpha: object) -> float:
    is_number = isinstance(alpha, int | float | np.number) and not isinstance(alpha, bool)
    if not is_number or not 0 < float(alpha) < 1:  # type: ignore[arg-type]
        raise QueryError(f"alpha={quoted(alpha)} must be a number between 0 and 1, such as 0.05.")
    return float(alpha)  # type: ignore[arg-type]


def _of(of: object) -> str:
    if of not in OF:
        raise QueryError(f'of={quoted(of)} must be "rows" or "population".')
    return str(of)
