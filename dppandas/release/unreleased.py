"""Answers that have not been asked for yet."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Unpack

import numpy as np
import pandas as pd

from ..errors import (
    PrivateValueError,
    QueryError,
    UnsupportedVerb,
    hide_internals,
    quoted,
    warn_user,
)
from ..privacy.accounting.losses import LossOptions, ReleaseOptions, with_options_named
from ..rows.expressions import Expression
from ..statistics import Statistic
from .accuracy import expected
from .answers import results
from .answers.records import Record
from .blocks import split
from .private import Private, Table
from .request import Request
from .ways import Ways


class Unreleased(Private):
    """A question without a privacy loss. Nothing is computed or charged until one is given."""

    _request: Request

    _is_answer: ClassVar[bool] = True
    #: How many labels it selects; 0: it answers by numbers.
    _selects: ClassVar[int] = 0
    #: What to warn of with the answer, whatever it is.
    _warning: ClassVar[str] = ""

    #: Whether its δ was given with the keys, and can't be given again.
    _has_delta: ClassVar[bool] = False

    def __init__(self, request: Request) -> None:
        self._request = request

    @classmethod
    def _of(
        cls, table: Table, where: Expression | None, statistic: Statistic, what: str
    ) -> Request:
        """A question that waits as this kind."""
        return Request(table, where, statistic, what, cls, cls._selects)

    @classmethod
    def _ask(cls, request: Request, ways: Ways) -> Any:
        """The released answer if a loss is given, or is in a split; else what waits for one."""
        is_asked = ways.give_loss or split.answers_now()
        return cls._answered(request.record(ways)) if is_asked else cls(request)

    @classmethod
    def _answered(cls, record: Record) -> Any:
        answer = cls._shaped(record)
        if cls._warning:
            warn_user(cls._warning)
        return answer

    @staticmethod
    def _shaped(record: Record) -> Any:
        """The answer that a record holds, as a release gives it."""
        return results.released_value(record)

    @property
    def _statistic(self) -> Statistic:
        return self._request.statistic

    @property
    def _table(self) -> Table:
        return self._request.table

    @property
    def _what(self) -> str:
        return self._request.what

    def _refuse(self, what: str) -> NoReturn:
        raise PrivateValueError(
            f"{what} of an answer that is not released yet. Give epsilon=, as in "
            ".release(epsilon=0.1), and use the result."
        )

    def _no_operator(self, symbol: str) -> NoReturn:
        self._refuse(symbol)

    @hide_internals
    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise UnsupportedVerb(
            f"{name!r} of an answer that is not released yet. Give epsilon=, as in "
            f".release(epsilon=0.1).{name}: {self!r}."
        )

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Any:
        """The noisy answer, shaped as pandas would shape the exact one.

        *Guarantee*: epsilon-differential privacy of the source's unit, by the mechanism that
        the statistic asks for; noise is exact (docs/proofs/discrete_laplace.md).
        """
        return self._released(Ways.read(epsilon, more))

    def _released(self, ways: Ways) -> Any:
        return self._answered(self._request.record(ways))

    @with_options_named
    @hide_internals
    def expected_error(
        self,
        *,
        epsilon: object = None,
        confidence: float = expected.CONFIDENCE,
        expected_rows: float | None = None,
        **more: Unpack[LossOptions],
    ) -> Any:
        """The largest error that a release would have, free: public facts decide it.

        Of counts and sums in their own unit, of times how long it is, of quantiles in ranks, of a
        mode the gap; by keys that nobody declared, of each label by itself, given that it is told.
        Of a mean or variance to first order, and only with ``expected_rows``: about how many rows
        (for a weighted one, what total weight) it is taken over, from public knowledge; of several
        quantiles fewer ranks with it, if there are no more rows. Of other ratios only the answer
        knows: `QueryError`.

        *Guarantee*: no row is read and nothing is charged.

        >>> import pandas as pd
        >>> df = pd.DataFrame({"x": [1.0, 2.0]}).dp
        >>> df.count().expected_error(epsilon=0.1)
        30
        """
        confidence = expected.parse_confidence(confidence)
        rows = expected.parse_rows(expected_rows)
        ways = self._request.completed(Ways.read(epsilon, more))
        query = self._request.query(ways.loss_request())
        error = expected.error_before(query, confidence, rows)
        return expected.typed_error(query.statistic, error)

    @property
    def _can_select(self) -> bool:
        layout = self._statistic.layout
        one_label_each = not layout.is_scalar and layout.columns is None
        return one_label_each and self._statistic.selectable

    def _selecting(self, number: int, what: str) -> Request:
        """The same for the labels of the largest entries."""
        if not self._can_select:
            raise QueryError(
                f"{what} needs counts or sums under one label each: of several columns, or of one "
                f"column by keys: {self!r}."
            )
        return self._request.selecting(number, what)

    @with_options_named
    @hide_internals
    def idxmax(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Any:
        """The label of the largest entry, selected by permute-and-flip: no number is told.

        Surer than the largest of released numbers, and for overlapping columns its noise doesn't
        grow with their number. The result is a label with ``.error()``: how far its entry may lie
        below the largest.

        *Guarantee*: epsilon-differential privacy of the source's unit (McKenna and Sheldon,
        NeurIPS 2020; docs/proofs/permute_and_flip.md).
        """
        return UnreleasedLabel._shaped(
            self._selecting(1, "idxmax").record(Ways.read(epsilon, more))
        )

    @with_options_named
    @hide_internals
    def nlargest(
        self, n: int = 5, *, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """The n largest entries.

        Over disjoint keys the whole histogram costs no more than its top: a Series of the n
        largest noisy counts. Over overlapping columns: an Index of n labels, the largest first,
        by n rounds of permute-and-flip with epsilon/n each.

        *Guarantee*: epsilon-differential privacy of the source's unit.
        """
        statistic = self._statistic
        entries = statistic.size
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= entries:
            raise QueryError(f"n={quoted(n)} must be a whole number from 1 to {entries}.")
        if statistic.cells.keys is None:
            largest = self._selecting(int(n), f"nlargest({n})").record(Ways.read(epsilon, more))
            return pd.Index(largest.estimate())
        if statistic.layout.columns is not None:
            raise QueryError("nlargest needs a Series of entries; select one column first.")
        return self.release(epsilon=epsilon, **more).nlargest(int(n))

    @hide_internals
    def __repr__(self) -> str:
        where = self._request.where
        asked = self._what if where is None else f"{self._what} where {where}"
        return (
            f"<unreleased {asked}, from {self._table.source.name} ({self._table.source.lineage}): "
            f"nothing computed or charged; ask {', '.join(self._menu())}>"
        )

    def _menu(self) -> list[str]:
        more = [".idxmax(epsilon=…)", ".nlargest(n, epsilon=…)"] if self._can_select else []
        return [".release(epsilon=…)", *more]


class UnreleasedExtreme(Unreleased):
    """A quantile near an end of the values."""

    _warning: ClassVar[str] = (
        "the smallest or largest value is somebody's and can't be told: this answers with a "
        "quantile near it, or with a point beyond all values where bounds are wider than these. "
        ".error() says how many values may lie beyond."
    )


class UnreleasedMode(Unreleased):
    """The most frequent of some keys, not selected yet."""

    _selects: ClassVar[int] = 1

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Any:
        """The key selected, as a Series of one, like Series.mode.

        *Guarantee*: epsilon-differential privacy of the source's unit (McKenna and Sheldon,
        NeurIPS 2020; docs/proofs/permute_and_flip.md).
        """
        return super().release(epsilon=epsilon, **more)

    @staticmethod
    def _shaped(record: Record) -> Any:
        return results.selected(record)

    def _selecting(self, number: int, what: str) -> Request:
        raise QueryError(f"a mode is one label already: .release(epsilon=…). Not its {what}.")

    @with_options_named
    @hide_internals
    def nlargest(
        self, n: int = 5, *, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """Refused: a mode is one label."""
        self._selecting(n, "nlargest")

    def _menu(self) -> list[str]:
        return [".release(epsilon=…)"]


class UnreleasedLabel(UnreleasedMode):
    """A label that isn't selected yet."""

    @staticmethod
    def _shaped(record: Record) -> Any:
        return results.label(record, record.estimate()[0])


class UnreleasedKeys(Unreleased):
    """An answer by keys that nobody declared: which are told is part of the answer."""

    @property
    def _can_select(self) -> bool:
        return False

    def _selecting(self, number: int, what: str) -> Request:
        raise QueryError(
            f"{what} needs declared keys. Release the answer and take {what} of that, which costs "
            f"no more: {self!r}."
        )

    @with_options_named
    @hide_internals
    def nlargest(
        self, n: int = 5, *, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """Refused: release the answer, and take its nlargest."""
        self._selecting(n, "nlargest")


class UnreleasedGroups(UnreleasedKeys):
    """An answer by groups whose keys nobody declared."""

    _has_delta: ClassVar[bool] = True


class UnreleasedLabels(UnreleasedKeys):
    """The labels of a column, none of them told yet."""

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Any:
        """The labels told, as an Index of objects in the order of labels.

        *Guarantee*: (epsilon, delta)-differential privacy of the unit
        (docs/proofs/partition_selection.md).
        """
        return super().release(epsilon=epsilon, **more)

    @staticmethod
    def _shaped(record: Record) -> Any:
        return results.found(record)
