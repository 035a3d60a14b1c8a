"""Tables of counts that tests are given, each count with the noise that it has."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..dataclasses import dataclass
from ..errors import QueryError, quoted
from ..findings.derive import is_answer, quantities_in
from ..findings.forms import Draw, Linear
from ..findings.quantities import Quantity, is_nothing
from ..findings.simulation import Simulation
from ..privacy.accuracy.combined import variance
from ..release.query import same_value
from ..rows.figures import format_number
from .inputs import records_of, refuse

Floats = npt.NDArray[np.float64]

#: The statistics that count rows: all of them, or those where something is true.
COUNTED = ("Count", "Contingency", "FirstMoments", "Moments")
HALF = Fraction(1, 2)
#: A noise lies within so many of its deviations with 95 %, if it is a sum of many.
NORMAL = 1.96


@dataclass(frozen=True)
class Counts:
    """Noisy counts, of which no unit is in two: what each is, row by row, and their labels."""

    numbers: tuple[Quantity, ...]
    index: pd.Index
    columns: pd.Index | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(side) for side in (self.index, self.columns) if side is not None)

    @cached_property
    def forms(self) -> list[Linear]:
        return [_form(number) for number in self.numbers]

    @cached_property
    def seen(self) -> Floats:
        """The counts with their noise, as they were released: they may lie below 0."""
        return np.array([float(form.seen) for form in self.forms]).reshape(self.shape)

    @property
    def records(self) -> frozenset[Any]:
        return records_of(self.numbers)

    @cached_property
    def variances(self) -> Floats:
        """Those of the noises."""
        found = (
            sum(float(weight) ** 2 * variance(draw.law) for draw, weight in form.terms.items())
            for form in self.forms
        )
        return np.array(list(found)).reshape(self.shape)

    @property
    def key(self) -> tuple[object, ...]:
        """What a test of them is known by: of which releases, and which counts."""
        parts = {part for record in self.records for part in record.components}
        releases = sorted({(part.ledger, part.number) for part in parts})
        return (*releases, self.shape, *self.seen.reshape(-1).tolist())

    @cached_property
    def order(self) -> list[int]:
        """The counts in an order that is the same however the table is sorted or turned, so that
        its p-value is the same."""

        def draws(place: int) -> Any:
            terms = self.forms[place].terms.items()
            return sorted((draw.release, draw.place, weight) for draw, weight in terms)

        return sorted(range(len(self.numbers)), key=draws)

    def noise(self, simulation: Simulation, size: int) -> Floats:
        """``size`` draws of all noises, a row for each."""
        forms = [self.forms[place] for place in self.order]
        drawn = simulation.noise_of(forms, size)
        # a combined count is rounded to a whole number, and so is its noise, as the exact one is
        whole = [form.rounded == HALF for form in forms]
        drawn[:, whole] = np.rint(drawn[:, whole])
        found = np.empty_like(drawn)
        found[:, self.order] = drawn
        return found

    @property
    def half_width(self) -> float:
        """How far noise moves a count with 95 %: the one that it moves furthest."""
        return max(_half_width(form) for form in self.forms)


def _form(number: Quantity) -> Linear:
    if not isinstance(number.form, Linear):
        raise QueryError("this number is no count.")  # `_check_number` says what it is
    return number.form


def _half_width(form: Linear) -> float:
    if len(form.terms) == 1:
        ((draw, weight),) = form.terms.items()
        return float(abs(weight)) * float(draw.law.half_width(0.95))
    squares = sum(float(w) ** 2 * variance(draw.law) for draw, w in form.terms.items())
    return NORMAL * float(squares**0.5)


# --- from answers ---------------------------------------------------------------------------------


def table_of(given: Any, test: str) -> Counts:
    """The counts of a table: a DataFrame, a Series by two levels, or Series as rows."""
    if isinstance(given, list | tuple):
        table = _of_rows(given, test)
    else:
        table = _quantities(given, test)
        if isinstance(table, pd.Series) and table.index.nlevels == 2:
            table = table.unstack()
    if not isinstance(table, pd.DataFrame):
        raise other_shape(test, 2)
    table = _without_sums(_without_sums(table).T).T
    check_shape(table.shape, test)
    return _counts(table, test)


def series_of(given: Any, test: str) -> Counts:
    """The counts of a Series."""
    if isinstance(given, list | tuple):
        refuse(given, test)
    series = _quantities(given, test)
    if isinstance(series, pd.DataFrame) and 1 in series.shape:
        series = series.iloc[0] if len(series) == 1 else series.iloc[:, 0]
    if not isinstance(series, pd.Series):
        raise other_shape(test, 1)
    check_shape(series.shape, test)
    return _counts(series, test)


def _quantities(given: Any, test: str) -> Any:
    if not is_answer(given):
        refuse(given, test)
    return quantities_in(given)


def _of_rows(given: Sequence[Any], test: str) -> pd.DataFrame:
    """Series of the same labels as the rows of a table."""
    rows = [_quantities(each, test) for each in given]
    if len(rows) < 2 or not all(isinstance(row, pd.Series) for row in rows):
        raise QueryError(
            f"{test} takes a list of at least two released Series of counts, which are the rows of "
            "a table."
        )
    first = rows[0].index
    for row in rows:
        if not row.index.is_unique or set(row.index) != set(first):
            raise QueryError(
                "the rows of a table need the same labels. Release them with the same keys=."
            )
    names = [getattr(each, "name", None) for each in given]
    is_named = None not in names and len(set(names)) == len(names)
    return pd.DataFrame(
        [row.iloc[row.index.get_indexer(first)].to_numpy() for row in rows], columns=first,
        index=pd.Index(names if is_named else range(len(rows))),
    )  # fmt: skip


def _without_sums(table: pd.DataFrame) -> pd.DataFrame:
    """A table without a last row that is the sum of the others, as ``margins=True`` adds it."""
    if len(table) < 3:
        return table
    for _, column in table.items():
        forms = [number.form for number in column if isinstance(number, Quantity)]
        sums = [form for form in forms if isinstance(form, Linear)]
        if len(sums) < len(table) or reduce(add, sums[:-1]).terms != sums[-1].terms:
            return table
    return table.iloc[:-1]


def _counts(table: Any, test: str) -> Counts:
    """The numbers of a table, if they are counts of units of which none is in two."""
    numbers = tuple(np.asarray(table, dtype=object).reshape(-1))
    records = [r for each in numbers if isinstance(each, Quantity) for r in each.records]
    for record in dict.fromkeys(records):
        rows = record._query.source.unit.max_rows * record._query.branches
        check_counts(record._statistic, rows, record.query)
    for number in numbers:
        _check_number(number, test)
    _check_disjoint(numbers)
    columns = table.columns if isinstance(table, pd.DataFrame) else None
    return Counts(numbers, table.index, columns)


# --- what is refused ------------------------------------------------------------------------------


def check_shape(shape: Sequence[int], test: str) -> None:
    """Refuse a table of too few counts, or of too many for Fisher's test."""
    said = " × ".join(map(str, shape))
    if test == "fisher_exact" and tuple(shape) != (2, 2):
        raise QueryError(
            f"fisher_exact takes two rows and two columns, and this table has {said}. "
            "dp.stats.chi2_contingency takes any."
        )
    if len(shape) == 1 and shape[0] < 2:
        raise QueryError(f"{test} needs at least two counts, and this answer has {said}.")
    if min(shape) < 2:
        raise QueryError(
            f"{test} needs at least two rows and two columns, and this table has {said}. "
            "dp.stats.chisquare tests the counts of one row."
        )


def other_shape(test: str, sides: int) -> QueryError:
    wanted = {
        1: "a released Series of counts, such as p['a'].value_counts(epsilon=…)",
        2: "a released table of counts, such as p.crosstab('a', 'b', epsilon=…), a Series of "
        "counts by two columns, or a list of Series, which are its rows",
    }
    private = {1: "p['a']", 2: "p.groupby(['a', 'b'])"}
    return QueryError(f"{test} takes {wanted[sides]}; or {private[sides]} and epsilon=….")


def not_counts(query: str) -> QueryError:
    return QueryError(
        f"'{query}' has numbers that aren't counts of rows, and this is a test of counts. Release "
        "counts: value_counts, groupby(…).size, crosstab or hist, without normalize=."
    )


def check_counts(statistic: Any, rows: int, query: str) -> None:
    """Refuse what isn't made of counts of units: public facts decide."""
    if statistic.errors.each:
        raise QueryError(
            f"'{query}' has only the labels that were frequent enough to be shown, and a test "
            "would take them for all. Declare the labels: keys=[…], or the domain of dp.protect."
        )
    if type(statistic).__name__ not in COUNTED:
        raise not_counts(query)
    if rows != 1:
        raise QueryError(
            f"'{query}' may have {rows} rows of a unit, and a test is about units. Make a table "
            "with one row of each first, by .per_unit() of the private frame, and ask about that."
        )


def _check_number(number: Any, test: str) -> None:
    """Refuse what isn't a sum of counts, or a difference of them."""
    if is_nothing(number):
        raise QueryError(f"{test} needs a count in each cell, and here some have none.")
    if not isinstance(number, Quantity):
        raise QueryError(getattr(number, "reason", f"{quoted(number)} isn't a count."))
    form, of = number.form, number.parameter
    if form is None and (number.figure is not None or number.how == "all"):
        raise QueryError(
            "nobody knows the law of the noise of these counts: they were sorted, made to agree, "
            "or refined until they were near enough. Give the answers that they were made of."
        )
    is_sum = isinstance(form, Linear) and isinstance(of, Linear) and bool(of.terms)
    if not is_sum or number.unit != "rows":
        raise QueryError(
            f"{test} takes counts, and {format_number(number.value)} is none: shares, means and "
            "what they are made of have another law."
        )
    if of.const or any(abs(weight) != 1 for weight in of.terms.values()):  # type: ignore[union-attr]
        raise QueryError(
            f"{test} takes counts, and sums and differences of them: "
            f"{format_number(number.value)} was multiplied, or has a plain number added to it."
        )


class _Reading(NamedTuple):
    """Rows that a cell counts: those of a release, under one of its conditions."""

    record: Any
    condition: int


def _readings(number: Quantity, sign: int) -> set[_Reading]:
    of: Any = number.parameter
    return {
        _Reading(figure.record, _condition(figure))
        for figure, weight in of.terms.items()
        if sign * weight > 0
    }


def _condition(figure: Any) -> int:
    """Of several columns or conditions, each of which a row may meet, the one that is counted."""
    statistic = figure.record._statistic
    if getattr(statistic, "at_most", None) == 1:
        return 0
    several: Any = getattr(statistic, "tests", None) or getattr(statistic, "operands", None)
    return int(figure.place % len(several or (None,)))


def _check_disjoint(numbers: Sequence[Quantity]) -> None:
    """Refuse counts of which two are known to have units in common."""
    taken: set[Draw] = set()
    for number in numbers:
        mine = {draw for draw, weight in _form(number).terms.items() if weight > 0}
        if mine & taken:
            raise QueryError(
                "two cells of this table count the same rows, such as a sum beside what it sums. "
                "Leave sums out: table.drop(index='All', columns='All')."
            )
        taken |= mine
    each = [(_readings(number, 1), _readings(number, -1)) for number in numbers]
    kinds = dict.fromkeys((frozenset(plus), frozenset(minus)) for plus, minus in each)
    for (plus, minus), (others, without) in itertools.combinations(kinds, 2):
        for one, other in itertools.product(plus, others):
            if one != other and not (one in without or other in minus) and _overlap(one, other):
                raise QueryError(
                    f"'{one.record.query}' and '{other.record.query}' count the same units, some "
                    "of them in several cells, and the test would take them for others. Count each "
                    "unit once: p.crosstab('a', 'b'), for example."
                )


def _overlap(one: _Reading, other: _Reading) -> bool:
    """Whether two conditions of one release, or two releases, are about the same rows; or one about
    all rows, and so about those of the other."""
    if one.record is other.record:
        return True
    x, y = one.record._query, other.record._query
    if x.source.id != y.source.id or x.source.made != y.source.made:
        return False
    return None in (x.where, y.where) or same_value(x.where, y.where)
