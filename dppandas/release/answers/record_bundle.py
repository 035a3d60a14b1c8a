"""The record of an answer that is made of several releases."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ...dataclasses import dataclass
from ...errors import RecordError, hide_internals
from ...privacy.accounting.losses import Epsilon, Loss
from ...statistics.layout import between
from ..accuracy import units
from ..accuracy.expected import CONFIDENCE, parse_confidence
from . import shown
from .records import Record


@dataclass(frozen=True, eq=False, repr=False)
class RecordBundle:
    """The records of an answer that is made of several releases, as by `agg`, `describe` and
    `synthesize`.

    ``components`` has the `Record` of each release by what was asked: "mean", or "mean of age".
    """

    components: Mapping[str, Record]
    _places: Any  # in the shape of the answer: the position of each number, or None
    _answer: Any

    @property
    def loss(self) -> Loss:
        """The loss of all releases together."""
        return sum((each.loss for each in self.components.values()), Loss())

    @property
    def epsilon(self) -> Epsilon:
        """The ε of `loss`."""
        return self.loss.epsilon

    @property
    def loss_of_change(self) -> Loss:
        """What all releases together cost a unit whose rows become others: see `Record`."""
        return sum((each.loss_of_change for each in self.components.values()), Loss())

    @property
    def preview(self) -> bool:
        """Whether a `dppandas.preview` made it up, so that it isn't an answer."""
        return any(each.preview for each in self.components.values())

    @property
    def error_unit(self) -> str:
        """What errors are measured in, as in `Record.error_unit`; often several: "rows, income"."""
        return ", ".join(self._error_units)

    @property
    def _error_units(self) -> list[str]:
        each = (record._error_units for record in self.components.values())
        return list(dict.fromkeys(unit for found in each for unit in found))

    @hide_internals
    def error(self, confidence: float = CONFIDENCE) -> float:
        """The largest of `errors`, in `error_unit`. Raises `RecordError` if errors are in several
        units, or if one is unknown."""
        return units.largest(self._flat_errors(confidence), self._error_units)

    @hide_internals
    def errors(self, confidence: float = CONFIDENCE) -> Any:
        """How far each number may be off, under the labels of the answer; NaN if unknown. Errors of
        one release hold simultaneously with this confidence: see `Record.errors`. Those of
        `dppandas.intervals` hold simultaneously for all releases."""
        return self._placed(self._flat_errors(confidence))

    @hide_internals
    def intervals(self, confidence: float = CONFIDENCE) -> pd.DataFrame:
        """Bounds around the exact answer, under its labels: for a Series columns lower and upper,
        for a DataFrame both under each column; NaN for values without an interval, such as
        quantiles. Intervals of one release hold simultaneously: see `Record.intervals`. Those of
        `dppandas.intervals` hold simultaneously for all releases."""
        confidence = self._checked(confidence)
        lower: list[Any] = []
        upper: list[Any] = []
        for record in self.components.values():
            nothing = [math.nan] * len(record._values())
            has_none = record._statistic.errors.no_interval
            low, high = (nothing, nothing) if has_none else record._ends(confidence)
            lower += low
            upper += high
        return between(self._placed(lower), self._placed(upper))

    def _flat_errors(self, confidence: float) -> list[Any]:
        confidence = self._checked(confidence)
        each = (record._typed_errors(confidence) for record in self.components.values())
        return [error for errors in each for error in errors]

    def _checked(self, confidence: float) -> float:
        """The confidence. Refuses answers that have no numbers of their own, as `synthesize`'s."""
        confidence = parse_confidence(confidence)
        if self._places is None:
            raise RecordError(
                "these rows were made of several releases, and have no errors of their own. Call "
                ".errors() of each release: dp.record(rows).components."
            )
        return confidence

    def _placed(self, values: list[Any]) -> Any:
        """The numbers of all components, in order, under the labels of the answer."""

        def found(places: Any) -> list[Any]:
            return [math.nan if place != place else values[int(place)] for place in places]

        if isinstance(self._places, pd.Series):
            each = found(self._places)
            return pd.Series(each, index=self._places.index, name=self._places.name)
        columns = {i: found(places) for i, (_, places) in enumerate(self._places.items())}
        table = pd.DataFrame(columns, index=self._places.index)
        return table.set_axis(self._places.columns, axis=1)

    def __str__(self) -> str:
        parts = (f"{name}:\n{record}" for name, record in self.components.items())
        return "\n".join([shown.heading(self), *parts])

    def __repr__(self) -> str:
        return shown.short(shown.text_of_several(self))

    def _repr_html_(self) -> str:
        return shown.html_of_several(self)


def places_of(records: Mapping[Any, Record]) -> dict[Any, Any]:
    """The answer of each record, with the position of each number in its place. Positions count
    through all records."""
    found: dict[Any, Any] = {}
    first = 0
    for name, record in records.items():
        layout, values = record._layout, record._estimated
        numbers = range(first, first + len(values))
        found[name] = (
            first
            if layout.is_scalar
            else layout.table(numbers, layout.places(values), integer=True)
        )
        first += len(values)
    return found
