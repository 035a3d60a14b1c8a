"""Several figures of each column at once: describe."""

from __future__ import annotations

import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Generic, Literal, Unpack

from ... import statistics
from ...columns.ranges import summable
from ...dataclasses import dataclass, field
from ...errors import QueryError, quoted
from ...ledger.verbs import Verb, compound
from ...privacy.accounting.losses import AskOptions
from ...release.answers.shapes import Counted, Described, Listed, Measured
from ...release.asking import release_method
from ...release.blocks.bundle import Name, ReleaseBundle, ShownLabel
from ...release.request import Request
from ...release.wording import USUAL, verb_of
from ...rows.expressions import Expression
from ...rows.facts import kinds
from ...rows.facts.keys import Keys
from ...rows.plain_values import refuse_private
from ...statistics.methods import SPREADS
from . import several
from .aggregations import Aggregations
from .arguments import checked_ddof, quantiles_of, with_levels

#: The figures that come from one release of counts and moments.
MOMENTS = ("count", "mean", "std")
#: The figures of labels, with the share of each release.
LABELS = {"count": Fraction(1, 4), "unique": Fraction(1, 4), "top, freq": Fraction(1, 2)}
QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))

Values = Mapping[Name, Any]
#: The shares of quantiles, and their labels.
Quantiles = tuple[list[Fraction], list[str]]


@dataclass
class Parts:
    """The releases of a description, and what is read from them."""

    requests: dict[Name, Request] = field(default_factory=dict)
    shares: dict[Name, Fraction] = field(default_factory=dict)
    columns: dict[Name, list[Any]] = field(default_factory=dict)

    def add(self, name: Name, request: Request, share: Fraction, columns: list[Any]) -> None:
        """One more release."""
        self.requests[name], self.shares[name], self.columns[name] = request, share, columns


def rows_of(percentiles: object) -> Quantiles:
    """The shares of the quantiles, from the smallest value to the largest, and their labels."""
    inner = QUARTERS if percentiles is None else _checked(percentiles)
    said = [f"{float(100 * share):.6g}%" for share in inner]
    return [Fraction(0), *inner, Fraction(1)], ["min", *said, "max"]


def _checked(percentiles: object) -> tuple[Fraction, ...]:
    refuse_private(percentiles, "percentiles")
    if isinstance(percentiles, str) or not isinstance(percentiles, Iterable):
        raise QueryError(f"percentiles={quoted(percentiles)} must be a list such as [0.1, 0.9].")
    given = list(percentiles)
    inner = quantiles_of(given)[0] if given else ()
    if len(set(inner)) < len(inner) or not all(0 < share < 1 for share in inner):
        raise QueryError(
            f"percentiles={quoted(given)} must lie between 0 and 1, each once. Both ends are "
            "there as min and max."
        )
    return tuple(sorted(inner))


class Descriptions(
    Aggregations[Counted, Measured, Listed], Generic[Counted, Measured, Listed, Described]
):
    """The figures that pandas' describe shows."""

    @typing.overload
    def describe(
        self,
        percentiles: object = None,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
    ) -> ReleaseBundle[Described]: ...
    @typing.overload
    def describe(
        self,
        percentiles: object = None,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        **ways: Unpack[AskOptions],
    ) -> Described: ...
    @release_method
    def describe(
        self,
        percentiles: object = None,
        *,
        bounds: object = None,
        step: object = None,
        interval: bool | Literal["ranks"] = False,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """pandas' eight figures of the values, clipped to bounds: a Series for a column, a
        DataFrame by group (for several columns, with eight columns for each). Of a column of texts
        or of True and False four: count, unique, top and freq. Of times alone seven, without std.

        percentiles : shares between 0 and 1, instead of the quartiles.
        bounds, step, interval : as in `quantile`.

        Count, mean and deviation come from one release with three eighths of the loss. The other
        five come from a second release: the quartiles, and near the ends two quantiles as min and
        max. With other percentiles each figure has an equal share. Of labels a quarter pays for the
        count of values, a quarter for the number of declared keys that occur, and half for the
        counts of all keys, of which top is the largest and freq its count.
        ``dp.record(result).components`` has all records.

        *Guarantee*: differential privacy of the unit; the losses add up to exactly epsilon, and
        groups are disjoint (docs/proofs/variances.md, docs/proofs/quantiles.md,
        docs/proofs/counts.md, docs/proofs/presence.md).

        >>> import pandas as pd
        >>> pd.Series([20, 30, 40] * 99).dp.describe(bounds=(0, 60), epsilon=1).index.tolist()[:3]
        ['count', 'mean', 'std']
        >>> asked = pd.Series([20, 30, 40] * 99).dp.describe([0.1, 0.9], bounds=(0, 60))
        >>> asked.release(epsilon=1).index.tolist()[3:]
        ['min', '10%', '90%', 'max']
        """
        return self._described(percentiles, bounds, step, interval)

    def _described(
        self, percentiles: object, bounds: object, step: object, interval: object
    ) -> ReleaseBundle:
        """All columns, by their numbers."""
        parts, shares = Parts(), rows_of(percentiles)
        if self._is_single:
            self._can_show([*MOMENTS, *shares[1]])
        left_out = self._add_numbers(parts, shares, bounds, step, interval, Fraction(1))

        def combined(values: Values) -> Any:
            return self._gathered(self._of_numbers_in(values, shares[1], left_out))

        return ReleaseBundle(
            parts.requests, parts.shares, combined, parts.columns, self._by_labels
        )  # fmt: skip

    def _add_numbers(
        self,
        parts: Parts,
        shares: tuple[list[Fraction], list[str]],
        bounds: object,
        step: object,
        interval: object,
        whole: Fraction,
    ) -> frozenset[str]:
        """The two releases of columns of numbers; and the figures that aren't shown: pandas shows
        no deviation where all columns are of times."""
        quantiles, labels = shares
        is_usual = quantiles[1:-1] == list(QUARTERS)
        said = USUAL if is_usual else Verb(", ".join(labels))
        moments = self._from_sums(MOMENTS, bounds)
        if moments is None:
            raise QueryError("describe needs bounds whose upper end lies above the lower one.")
        found = (
            (MOMENTS, moments),
            (
                labels,
                self._quantile(
                    said, quantiles, [*map(float, quantiles)], bounds, step, interval=interval
                ),
            ),
        )
        figures = len(MOMENTS) + len(labels)
        for rows, request in found:
            share = whole * Fraction(len(rows), figures)
            parts.add((None, ", ".join(rows)), request, share, list(self._operands()))
        rulers = moments.statistic.layout.rulers
        are_times = rulers and all(ruler is not None and ruler.span.is_time for ruler in rulers)
        return frozenset(["std"]) if are_times else frozenset()

    def _of_numbers_in(
        self, values: Values, labels: Sequence[str], left_out: Collection[str]
    ) -> dict[Name, Any]:
        """The figures of both releases, by column and name."""
        found: dict[Name, Any] = {}
        for rows in (MOMENTS, labels):
            value = values[None, ", ".join(rows)]
            for place, row in enumerate(rows):
                entries = self._by_column(self._level(value, place, len(rows)))
                if row not in left_out:
                    found.update({(column, row): entry for column, entry in entries.items()})
        return found

    def _from_sums(self, figures: Sequence[str], bounds: object) -> Request | None:
        """Several figures of each column from the sums of one release; None where bounds leave no
        room, as sums don't tell the number of values then."""
        operands, parsed, shape = self._measured(bounds)
        names, ddof = several.with_ddof(figures)
        if "sum" in names:
            summable(parsed, None)
            if bounds is None and self._hold_truths():
                names = ["sum of True" if name == "sum" else name for name in names]
        if "var" in names:
            self._refuse_variance_of_times(shape)
        has_spread = any(name in SPREADS for name in names)
        freedom = checked_ddof(ddof, parsed) if has_spread else ddof
        if any(bound.lower == bound.upper for bound in parsed):
            return None
        layout = with_levels(shape, names, self._operands(), self._groups)
        of, shown = (self._groups, layout, operands, parsed), tuple(names)
        statistic: statistics.Statistic = (
            statistics.Moments(*of, freedom, root=True, shown=shown)
            if has_spread
            else statistics.FirstMoments(*of, shown=shown)
        )
        what = compound([verb_of(name) for name in names])
        return self._question(statistic, self._asks(what, parsed))

    def _is_labelled(self, expression: Expression, is_bounded: bool) -> bool:
        """Whether a column is described by its labels: texts, what has keys among which there is a
        text, and True and False, which are 0 and 1 between bounds."""
        declared = self._table.declared(expression)
        has_texts = isinstance(declared, Keys) and any(isinstance(k, str) for k in declared.labels)
        kind = expression.kind(self._table.source.facts.schema)
        return has_texts or kind == kinds.TEXT or (kind == kinds.TRUTH and not is_bounded)


def add_labels(parts: Parts, name: Any, column: Any, whole: Fraction) -> None:
    """The three releases of a column of labels."""
    asked = {
        "count": column.count(), "unique": column.nunique(), "top, freq": column.value_counts(),
    }  # fmt: skip
    for said, share in LABELS.items():
        parts.add((name, said), asked[said]._request, whole * share, [(said, name)])


def of_labels_in(values: Values, name: Any) -> dict[Name, Any]:
    """The figures of a column of labels. Its counts come with the largest first."""
    counts = values[name, "top, freq"]
    return {
        (name, "count"): values[name, "count"],
        (name, "unique"): values[name, "unique"],
        (name, "top"): ShownLabel(counts.index[0]),
        (name, "freq"): counts.iloc[0],
    }
