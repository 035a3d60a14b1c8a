"""Questions that wait for a privacy loss."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Unpack

import numpy as np

from ..errors import (
    PrivateValueError,
    QueryError,
    UnsupportedVerb,
    hide_internals,
    quoted,
    warn_user,
)
from ..ledger.questions import Question
from ..privacy.accounting.losses import LossOptions, ReleaseOptions, with_options_named
from ..rows.expressions import Expression
from ..rows.facts.keys import did_you_mean
from ..rows.sentences import ShownInSentences
from ..statistics import Statistic
from .accuracy import expected
from .answers import results
from .answers.records import Record
from .answers.shapes import Answer
from .blocks import split
from .private import Private, Table
from .request import Request
from .ways import Ways


class Unreleased(ShownInSentences, Private, Generic[Answer]):
    """A question without a privacy loss. Nothing is computed or charged until one is given."""

    _request: Request

    _shown_as: ClassVar[str] = "unreleased"
    _is_answer: ClassVar[bool] = True
    #: How many labels it selects; 0 if it answers with numbers.
    _selects: ClassVar[int] = 0
    #: A warning that comes with every answer.
    _warning: ClassVar[str] = ""

    #: Whether its δ was given to groupby, and can't be given again.
    _has_delta: ClassVar[bool] = False

    def __init__(self, request: Request) -> None:
        self._request = request

    @classmethod
    def _of(
        cls, table: Table, where: Expression | None, statistic: Statistic, what: Question
    ) -> Request:
        """A request that waits as this class."""
        return Request(table, where, statistic, what, cls, cls._selects)

    @classmethod
    def _ask(cls, request: Request, ways: Ways) -> Any:
        """The released answer if a loss is given or shared by a split, else the question."""
        is_asked = ways.give_loss or split.answers_now()
        if not is_asked:
            ways.check_idle(request.statistic)
        return cls._answered(request.record(ways)) if is_asked else cls(request)

    @classmethod
    def _answered(cls, record: Record) -> Any:
        answer = cls._shaped(record)
        if cls._warning:
            warn_user(cls._warning)
        return answer

    @staticmethod
    def _shaped(record: Record) -> Any:
        """The answer of a record, as a release returns it."""
        return results.released_value(record)

    @property
    def _statistic(self) -> Statistic:
        return self._request.statistic

    @property
    def _table(self) -> Table:
        return self._request.table

    @property
    def _what(self) -> str:
        return str(self._request.what)

    def _refuse(self, what: str) -> NoReturn:
        raise PrivateValueError(
            f"{what} of an answer that is not released yet. Give epsilon=, as in "
            ".release(epsilon=0.1), and use the result."
        )

    def _no_operator(self, symbol: str) -> NoReturn:
        self._refuse(symbol)

    @hide_internals
    def _refuse_name(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        own = [each for each in dir(type(self)) if not each.startswith("_")]
        if meant := did_you_mean(name, own):
            raise UnsupportedVerb(f"an answer that is not released yet has no {name!r}.{meant}")
        raise UnsupportedVerb(
            f"{name!r} of an answer that is not released yet. Give epsilon=, as in "
            f".release(epsilon=0.1).{name}: {self!r}."
        )

    if not TYPE_CHECKING:  # which would believe in every name
        __getattr__ = _refuse_name

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Answer:
        """The noisy answer, in the shape of pandas' exact one.

        Give one of epsilon, rho and within. All methods that answer take these options.

        epsilon : the loss of the answer: a positive number, or a text such as "1/3".
        rho : instead of epsilon, in a session that counts ρ.
        delta : how much of the session's δ the answer may spend, if it needs one.
        mechanism : "laplace" or "gaussian" noise, for numbers; Laplace for epsilon by default. What
            selects takes "exponential" or "permute_and_flip" where that is what it does.
        fresh : True draws and pays again. By default an equal query of the same version of a source
            gets its stored answer, at no cost.
        within : instead of a loss, the largest error allowed, in the unit of the answer: the
            smallest loss that keeps it is charged. For counts of rows and ranks also a share of
            expected_rows, such as "5%".
        confidence : with within, how surely the error holds: 0.95 by default.
        expected_rows : with within, a number of rows known publicly: about how many a mean is
            taken over, about how many "5%" refers to, or at most how many several quantiles have.
        at_most : with within, the most ε (or ρ) that the answer may cost.

        *Guarantee*: epsilon-differential privacy of the source's unit, by the statistic's
        mechanism; noise is exact (docs/proofs/discrete_laplace.md).
        """
        return self._released(Ways.read(epsilon, more))  # type: ignore[no-any-return]

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
        """The largest error that a release would have. It is free: public facts decide it.

        For counts and sums it is in their unit, for times a duration, for quantiles in ranks; for a
        mode it is how far its count may lie below the largest. For undeclared keys it
        holds for each label by itself, given that it is shown. For a mean or variance it is a
        first-order estimate, and needs
        ``expected_rows``: about how many rows there are (for a weighted mean, what total weight),
        from public knowledge. With it the error of several quantiles is smaller, if there are no
        more rows than that. Raises `QueryError` for deviations, correlations and other figures
        whose error only the answer decides.

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
        """A request for the labels of the largest entries."""
        if not self._can_select:
            raise QueryError(
                f"{what} needs counts or sums under one label each: of several columns, or of one "
                "column by keys. Of other answers release all, and take it from these: "
                f".release(epsilon=…).{what.partition('(')[0]}(). This is {self!r}."
            )
        return self._request.selecting(number, what)

    @with_options_named
    @hide_internals
    def idxmax(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Any:
        """The label of the largest entry, selected by permute-and-flip. No number is released.

        It is more reliable than the largest of released numbers, and for overlapping columns its
        noise doesn't grow with their number. The result is a label with ``.error()``: how far its
        entry may lie below the largest.

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

        For disjoint keys, a Series of the n largest noisy counts: the whole histogram costs no more
        than its top. For overlapping columns, an Index of n labels, the largest first, from n
        rounds of permute-and-flip with epsilon/n each.

        *Guarantee*: epsilon-differential privacy of the source's unit.
        """
        statistic = self._statistic
        entries = statistic.size
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= entries:
            raise QueryError(f"n={quoted(n)} must be a whole number from 1 to {entries}.")
        if statistic.cells.keys is None:
            asked = self._selecting(int(n), f"nlargest({n})")
            return results.largest(asked.record(Ways.read(epsilon, more)))
        if statistic.layout.columns is not None:
            raise QueryError("nlargest needs a Series of entries. Select one column first.")
        return self.release(epsilon=epsilon, **more).nlargest(int(n))  # type: ignore[attr-defined]

    def _sentences(self) -> list[str]:
        where = self._request.where
        limit = self._statistic.cells.limited
        what = self._request.what.beside(("limit", limit)) if limit else self._request.what
        asked = replace(what, where="" if where is None else where).text
        return [
            f"<unreleased {asked}, from {self._table.source.name} ({self._table.source.lineage}): "
            f"nothing computed or charged; ask {', '.join(self._menu())}>"
        ]

    def _more(self) -> list[str]:
        from .accuracy.forecast import forecasts

        return forecasts([("", self._request.query_at, Fraction(1))])

    def _menu(self) -> list[str]:
        more = [".idxmax(epsilon=…)", ".nlargest(n, epsilon=…)"] if self._can_select else []
        return [".release(epsilon=…)", *more]


class UnreleasedExtreme(Unreleased[Answer]):
    """A minimum or maximum that isn't released yet: a quantile near that end of the values."""

    _warning: ClassVar[str] = (
        "the smallest or largest value belongs to somebody and can't be released. This is a "
        "quantile near it, or a point beyond all values if the bounds are wider than these. "
        ".error() says how many values may lie beyond."
    )


class UnreleasedMode(Unreleased[Answer]):
    """The most frequent key, which isn't selected yet."""

    _selects: ClassVar[int] = 1

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Answer:
        """The selected key, as a Series with one entry, like Series.mode.

        *Guarantee*: epsilon-differential privacy of the source's unit (McKenna and Sheldon,
        NeurIPS 2020; docs/proofs/permute_and_flip.md).
        """
        return super().release(epsilon=epsilon, **more)

    @staticmethod
    def _shaped(record: Record) -> Any:
        return results.selected(record)

    def _selecting(self, number: int, what: str) -> Request:
        raise QueryError(f"{what} of one label: there are no others. Use .release(epsilon=…).")

    @with_options_named
    @hide_internals
    def nlargest(
        self, n: int = 5, *, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """Refused: the answer is a single label."""
        self._selecting(n, "nlargest")

    def _menu(self) -> list[str]:
        return [".release(epsilon=…)"]


class UnreleasedLabel(UnreleasedMode[Answer]):
    """A label that isn't selected yet: of `PrivateFrame.idxmax`."""

    @staticmethod
    def _shaped(record: Record) -> Any:
        return results.label(record, record.estimate()[0])


class UnreleasedKeys(Unreleased[Answer]):
    """An answer by undeclared keys. Which keys are shown is part of the answer."""

    @property
    def _can_select(self) -> bool:
        return False

    def _selecting(self, number: int, what: str) -> Request:
        raise QueryError(
            f"{what} needs declared keys. Release the answer and take its {what}, which costs no "
            f"more: {self!r}."
        )

    @with_options_named
    @hide_internals
    def nlargest(
        self, n: int = 5, *, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """Refused: release the answer, and take its nlargest."""
        self._selecting(n, "nlargest")


class UnreleasedGroups(UnreleasedKeys[Answer]):
    """An answer by groups with undeclared keys."""

    _has_delta: ClassVar[bool] = True


class UnreleasedLabels(UnreleasedKeys[Answer]):
    """The labels of a column that many units share, none of them released yet."""

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Answer:
        """The labels that are shown, as a sorted Index of objects.

        *Guarantee*: (epsilon, delta)-differential privacy of the unit
        (docs/proofs/partition_selection.md).
        """
        return super().release(epsilon=epsilon, **more)

    @staticmethod
    def _shaped(record: Record) -> Any:
        return results.found(record)
