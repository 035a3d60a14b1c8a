"""Ordinary least squares with statsmodels' conventions: coefficients that one can report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ...columns.private_rows import same_rows
from ...dataclasses import dataclass
from ...errors import QueryError, hide_internals, quoted, warn_user
from ...frames.frame import PrivateFrame
from ...frames.series import PrivateSeries
from ...release.answers import populations
from ...release.blocks import split
from ...release.ways import Ways
from ...rows.expressions import Column
from ...rows.facts.bounds import Bounds
from ...rows.facts.keys import some_names
from ...rows.sentences import ShownInSentences
from ..base import MOST_NAMED, Box, LossOfAll, ProgramAnswers, Releases, of_whom, released
from ..linear import target_range
from ..points import Matrix, floats, rounded
from .design import OLSDesign
from .formulas import Formula, private_lookup, ranges
from .normal_equations import NormalEquations
from .results import OLSResults

#: The most regressors, beside a constant.
MOST_TERMS = 20
#: What a covariance of coefficients may be; and the shares of the loss of the second moments and of
#: the squared residuals of a robust one.
COV_TYPES, SHARES = ("nonrobust", "HC0", "HC1"), [3, 1]
#: Residuals are clipped to so many of their deviations before they are squared, and to at least
#: this share of the target's range.
CLIPPED, LEAST = 4.0, 2.0**-10


@dataclass(frozen=True, eq=False)
class Columns:
    """The private columns of a regression."""

    regressors: tuple[PrivateSeries, ...]
    target: PrivateSeries
    frame: PrivateFrame

    def table(self, design: OLSDesign) -> tuple[PrivateFrame, dict[str, tuple[float, float]]]:
        """The regressors and the target as a frame, and its bounds."""
        titles: list[str] = []
        for name in [*design.names, design.endog_names]:
            titles.append(name + f" ({len(titles)})" * (name in titles))
        columns = dict(zip(titles, [*self.regressors, self.target], strict=True))
        ends = {t: (b.lower, b.upper) for t, b in zip(titles, design._all_bounds, strict=True)}
        return self.frame.assign(**columns)[titles], ends


class OLS(ShownInSentences):
    """Ordinary least squares on private rows: ``OLS(y, X, epsilon=1).fit()``, as in statsmodels.

    endog : the target, a private column.
    exog : the regressors: a private frame of the same rows, at most 20 columns, or one column.
    epsilon, rho : the loss of the whole fit.
    bounds : (lower, upper) for all regressors, or a dict; else the declared domain's. Values are
        clipped to them, and rows with a missing value don't count.
    target_bounds : (lower, upper) for the target; else the declared domain's.
    add_constant : whether there is a constant, "const", before the regressors. Unlike statsmodels'
        OLS this adds one by itself; ``add_constant=False`` is the line through the origin.

    Everything but robust errors comes from one release, the covariances of complete rows
    (``people[[…]].cov(dropna=True)``), and costs nothing more. Nothing is released before `fit`.

    *Guarantee*: differential privacy of the unit, with the loss of its releases, which is at most
    epsilon (docs/proofs/least_squares.md, docs/proofs/programs.md). Source: Blum, Dwork, McSherry
    and Nissim, "Practical privacy: the SuLQ framework", PODS 2005.

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=1)
    >>> df = pd.DataFrame({"educ": [9, 12, 16, 12] * 5000, "pay": [20, 25, 36, 27] * 5000})
    >>> people = dp.protect(df, name="pay", domain={"educ": (8, 18), "pay": (0, 60)})
    >>> results = dp.models.OLS(people["pay"], people[["educ"]], epsilon=1).fit()
    >>> results.params.index.tolist(), session.spent
    (['const', 'educ'], 1)
    >>> low, high = results.conf_int(1e-6).loc["educ"]
    >>> low < 2.303 < high
    True
    >>> dp.reset()
    """

    @hide_internals
    def __init__(
        self,
        endog: Any,
        exog: Any = None,
        *,
        epsilon: object = None,
        rho: object = None,
        bounds: object = None,
        target_bounds: object = None,
        add_constant: bool = True,
    ) -> None:
        if not isinstance(add_constant, bool):
            raise QueryError(f"add_constant={quoted(add_constant)} must be True or False.")
        self._said = Ways(epsilon, rho)
        made = _plain_design(endog, exog, bounds, target_bounds, add_constant)
        self._design, self._columns = made
        self._checked()

    @classmethod
    @hide_internals
    def from_formula(
        cls,
        formula: str,
        data: Any,
        *,
        epsilon: object = None,
        rho: object = None,
        bounds: object = None,
    ) -> Self:
        """A model by a formula: ``OLS.from_formula("pay ~ age + C(sex)", people, epsilon=1)``.

        formula : as in statsmodels, parsed by formulaic or else by patsy, one of which must be
            installed. Terms are made of columns, numbers, arithmetic, comparisons, ``C(…)``,
            ``I(…)``, ``:``, ``*`` and numpy's functions of one row, such as ``np.log``. The
            constant is "Intercept", unless the formula says ``- 1``.
        data : a private frame.
        bounds : of columns, a dict; else the declared domain's. Columns are clipped to them before
            terms are computed, and bounds of terms follow.

        Levels of ``C(sex)`` are the declared keys, ``C(sex, levels=["f", "m"])`` or True and False;
        the first is the reference, or that of ``C(sex, Treatment("m"))``. A row with another value
        doesn't count. What looks at all rows (``center``, ``scale``, ``bs``, …) is refused.

        *Guarantee*: as for `OLS`.

        >>> import pandas as pd, dppandas as dp
        >>> df = pd.DataFrame({"sex": ["f", "m"] * 5000, "pay": [30, 20] * 5000})
        >>> people = dp.protect(df, name="two", domain={"sex": ["f", "m"], "pay": (0, 60)})
        >>> model = dp.models.OLS.from_formula("pay ~ C(sex)", people, epsilon=1)
        >>> model.exog_names
        ['Intercept', 'C(sex)[T.m]']
        """
        if not isinstance(data, PrivateFrame):
            raise QueryError(_NOT_PRIVATE.format("data=", type(data).__name__))
        if bounds is not None and not isinstance(bounds, Mapping):
            raise QueryError('bounds= of a formula must be a dict, such as {"age": (17, 60)}.')
        model = cls.__new__(cls)
        model._said = Ways(epsilon, rho)
        made = _design_by_formula(Formula.of(formula, data), data, bounds or {})
        model._design, model._columns = made
        model._checked()
        return model

    def _checked(self) -> None:
        width = len(self._design.names)
        if width > MOST_TERMS:
            raise QueryError(
                f"{width} regressors are more than {MOST_TERMS}: noise grows with their number. "
                "Select fewer, or use LinearRegression."
            )

    @property
    def endog_names(self) -> str:
        """The name of the target."""
        return self._design.endog_names

    @property
    def exog_names(self) -> list[str]:
        """The names of the coefficients, that of the constant first."""
        return self._design.exog_names

    @property
    def formula(self) -> str | None:
        """The formula, if there is one."""
        return None if self._design.formula is None else self._design.formula.text

    def _sentences(self) -> list[str]:
        return [f"<OLS {self._design!r}: nothing computed or charged; ask .fit()>"]

    @hide_internals
    def fit(self, cov_type: str = "nonrobust") -> OLSResults:
        """Release the second moments, for all of the loss, and what follows from them.

        cov_type : how errors for a population are estimated: "nonrobust", from the same release,
            if the variance of residuals is the same for all; "HC0" or "HC1" for any variance, by a
            second release of clipped squared residuals times products of regressors, which takes a
            quarter of the loss. It takes one row a unit. Intervals of these rows need neither.

        If the rows are verified, fitting again gives the same results and costs nothing. In
        `dp.split` the fit takes one share, and in `dp.preview` nothing is released.

        Raises `QueryError` for units of several rows with a robust cov_type, and `BudgetExceeded`
        if the budget can't pay for all of the fit; nothing is charged then.

        *Guarantee*: as for `OLS`.
        """
        if cov_type not in COV_TYPES:
            raise QueryError(
                f"cov_type={quoted(cov_type)} must be one of {', '.join(COV_TYPES)}: others need "
                "figures of single rows."
            )
        design, columns, answered = self._design, self._columns, ProgramAnswers()
        is_robust = cov_type != "nonrobust"
        if is_robust:
            _check_one_row(columns.frame, cov_type)
        told = f"OLS{of_whom(columns.target)} from "
        told += some_names(list(map(Column, design.names)), MOST_NAMED)

        def program(loss: LossOfAll) -> tuple[NormalEquations, Matrix | None]:
            shares = SHARES if is_robust else [1]
            with split.split(loss[0], rho=loss[1], shares=shares):
                table, ends = columns.table(design)
                answered(table.cov(dropna=True, bounds=ends))
                equations = NormalEquations.of(answered.records[-1], *design._weights())
                meat = _squares(design, table, ends, equations, answered) if is_robust else None
            return equations, meat

        equations, meat = released("OLS", told, self._said, answered, program)
        records = Releases(answered.records)
        results = OLSResults(design, cov_type, records, equations, meat)
        if results.noise_dominated and not results._is_preview:
            warn_user(
                f"Noise leaves the coefficients {some_names(design.exog_names, MOST_NAMED)} open, "
                "so that even their signs mean nothing: a larger epsilon, more rows, fewer "
                "regressors or narrower bounds help."
            )
        return results


_NOT_PRIVATE = (
    "{} must be a private frame, not a {}. Write people[[…]] for a frame of dp.protect(…), or "
    "df.dp[[…]]."
)


def _check_one_row(frame: PrivateFrame, cov_type: str) -> None:
    table = frame._table
    rows = table.source.unit.max_rows * table.branches
    populations.check_rows(f"a fit with cov_type={cov_type!r}", rows)


def _plain_design(
    endog: Any, exog: Any, bounds: object, target_bounds: object, add_constant: bool
) -> tuple[OLSDesign, Columns]:
    """The columns as they are."""
    if isinstance(exog, PrivateSeries):
        exog = exog.to_frame()
    if not isinstance(exog, PrivateFrame):
        raise QueryError(_NOT_PRIVATE.format("exog", type(exog).__name__))
    if not isinstance(endog, PrivateSeries):
        raise QueryError(
            f"endog, the target, comes first and must be a private column, not a "
            f'{type(endog).__name__}: OLS(people["pay"], people[["age", "educ"]], epsilon=1).'
        )
    same_rows(exog, endog)
    box = Box.of(exog, bounds)
    names = tuple(map(str, box.names))
    if add_constant and "const" in names:
        raise QueryError(
            "exog has a column 'const', and OLS adds one. Leave it out, or say add_constant=False."
        )
    given = target_bounds
    if given is None and isinstance(bounds, Mapping) and not Bounds.is_named(bounds):
        given = bounds.get(endog.name)
    ends = target_range(endog, given)
    title = "y" if endog.name is None else str(endog.name)
    ends, constant = _not_a_point(ends, title), "const" if add_constant else None
    columns = Columns(tuple(exog[name] for name in box.names), endog, exog)
    return OLSDesign(names, box.bounds, title, ends, constant, box.names), columns


def _design_by_formula(
    formula: Formula, data: PrivateFrame, bounds: Mapping[Any, Any]
) -> tuple[OLSDesign, Columns]:
    """The terms of a formula as private columns."""
    strange = [name for name in bounds if name not in data.columns]
    if strange:
        raise QueryError(f"bounds= names {quoted(strange[0])}, which isn't a column.")
    look = private_lookup(data, bounds)
    names = tuple(term.name for term in formula.terms)
    columns = tuple(term.of(look) for term in formula.terms)
    target, title = formula.target.of(look), formula.target_name
    (ends,) = ranges([target], [title])
    known, constant = tuple(ranges(columns, names)), "Intercept" if formula.has_constant else None
    design = OLSDesign(names, known, title, ends, constant, (), formula)
    return design, Columns(columns, target, data)


def _not_a_point(ends: Bounds, name: str) -> Bounds:
    if ends.lower == ends.upper:
        raise QueryError(f"bounds {ends} of {name!r} are a single point. Give wider bounds.")
    return ends


def _squares(
    design: OLSDesign,
    table: PrivateFrame,
    ends: dict[str, tuple[float, float]],
    equations: NormalEquations,
    answered: ProgramAnswers,
) -> Matrix:
    """The released sums of squared residuals times products of each two regressors in [-1, 1].

    Residuals are of the released coefficients, so the sums are a question like any other.
    """
    middle, half = design._middles()
    scaled = []
    for (name, (low, high)), m, h in zip(ends.items(), middle, half, strict=True):
        scaled.append(((table[name].clip(low, high) - float(m)) / float(h)).clip(-1, 1))
    lines, target = design._weights()
    # rounded, so that machines whose last bits differ ask the same next
    theta = rounded(equations.estimate)
    rest = target - lines.T @ theta
    residual: Any = float(rest[0])
    for weight, column in zip(rest[1:].tolist(), scaled, strict=True):
        residual = column * weight + residual
    reach = _reach(equations, 1 + float(np.abs(theta).sum()))
    square = residual.clip(-reach, reach) ** 2
    regressors: list[Any] = []
    for line in lines:
        made: Any = float(line[0])
        for weight, column in zip(line[1:].tolist(), scaled, strict=True):
            made = made if weight == 0 else column * weight + made
        regressors.append(made)
    columns: dict[str, Any] = {}
    limits, most = {}, reach**2
    for i, x in enumerate(regressors):
        for j, y in enumerate(regressors[i:], i):
            name = f"squared residual times {design.exog_names[i]} and {design.exog_names[j]}"
            name += f" ({len(columns)})" * (name in columns)
            columns[name] = square * (x * y)
            limits[name] = (0.0 if i == j else -most, most)
    sums = floats(answered(table.assign(**columns)[list(columns)].sum(bounds=limits)))
    found = np.zeros_like(equations.gram)
    found[np.triu_indices(len(found))] = sums
    return found + np.triu(found, 1).T


def _reach(equations: NormalEquations, most: float) -> float:
    """How far residuals are let be, by what was released."""
    rows = max(equations.rows - len(equations.right), 1.0)
    deviation = float(np.sqrt(equations.residual / rows))
    return float(rounded(np.array(min(max(CLIPPED * deviation, LEAST), most))))
