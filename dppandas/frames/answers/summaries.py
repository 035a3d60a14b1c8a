"""Several statistics for one loss: agg and describe."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Unpack

from ...errors import QueryError, is_one_of, parameters, quoted
from ...privacy.accounting.losses import ReleaseOptions, gives_loss
from ...release.asking import release_method
from ...release.blocks.bundle import Name, bundle, shares_of
from ...release.unreleased import Unreleased
from ...statistics import Moments
from .aggregations import Aggregations
from .arguments import checked_ddof, with_levels
from .queryable import Queryable

#: What agg can be asked for: those of these that a face answers.
AGGREGATED = ("count", "sum", "mean", "var", "std", "median", "min", "max")

#: What describe releases, in the order in which it shows them: the rows of one release, the method
#: that answers it, and its part of the loss. So each row has one part in eight, and those of one
#: release have more of it.
DESCRIBED: tuple[tuple[tuple[str, ...], str, int], ...] = (
    (("count", "mean", "std"), "_moments", 3),
    (("min", "25%", "50%", "75%", "max"), "_five", 5),
)


class Summaries(Aggregations):
    """The statistics of numbers, one by one and several at once."""

    @release_method
    def agg(
        self,
        func: Any,
        *,
        bounds: object = None,
        shares: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """Several statistics for one loss, laid out as pandas' agg does.

        func : names such as ["count", "mean"], for each column; or a dict of a name or names for
            columns, as {"a": "mean", "b": ["sum", "count"]}. One name alone is that method.
        bounds : as in `mean`, for those that need them.
        shares : how the loss is divided: a dict of shares by name, or by (column, name), such as
            {"mean": 2, "count": 1}. Without it, evenly.

        Each part is a release with its own entry in the ledger; all are charged, or none.
        ``dp.record(result).components`` has their records.

        *Guarantee*: differential privacy of the unit with the sum of the parts' losses, which is
        exactly epsilon (sequential composition: Dwork and Roth, 2014, Theorem 3.16).

        >>> import pandas as pd
        >>> x = pd.Series([20, 30, 40] * 100, name="x").dp
        >>> x.agg(["count", "mean"], bounds=(0, 60), epsilon=1).index.tolist()
        ['count', 'mean']
        """
        if isinstance(func, str):
            if shares is not None:
                raise QueryError("shares= divides a loss among several statistics; this is one.")
            part = self._aggregated(self, func, bounds)
            return part.release(epsilon=epsilon, **more) if gives_loss(epsilon, more) else part
        wanted = self._wanted(func)
        parts = {
            (column, name): self._aggregated(
                self._each if column is None else self._column(column), name, bounds
            )
            for column, name in wanted
        }
        flat = isinstance(func, Mapping) and all(isinstance(how, str) for how in func.values())

        def combined(values: dict[Name, Any]) -> Any:
            found: dict[Name, Any] = {}
            for (column, name), value in values.items():
                one = {column: value} if column is not None else self._by_column(value)
                found.update({(each, name): entry for each, entry in one.items()})
            return self._gathered(found, flat)

        each = list(self._each._operands())
        columns = {name: each if name[0] is None else [name[0]] for name in wanted}
        return bundle(parts, shares_of(wanted, shares), combined, columns, epsilon, **more)

    def _wanted(self, func: Any) -> list[Name]:
        """The statistics that agg names, each with its column, or None for all columns."""
        pairs: list[Name] = []
        for column, names in func.items() if isinstance(func, Mapping) else [(None, func)]:
            named = [names] if isinstance(names, str) else names
            if not isinstance(named, list | tuple) or not named:
                raise QueryError(
                    "agg takes names such as 'mean', lists of them, or a dict of them by column; "
                    f"not {quoted(names)}: a function of your own could look at other rows."
                )
            pairs += [(column, name) for name in named]
        if not pairs or len({(c, str(n)) for c, n in pairs}) < len(pairs):
            raise QueryError("agg needs statistics, each of them once.")
        return pairs

    def _aggregated(self, face: Queryable, name: Any, bounds: object) -> Unreleased:
        known = [each for each in AGGREGATED if hasattr(type(face), each)]
        if not is_one_of(name, known):
            raise QueryError(f"agg can be asked for {', '.join(known)}; not {quoted(name)}.")
        return _asked(face, name, bounds)

    def _moments(self, *, bounds: object = None) -> Any:
        """Counts, means and deviations in one release."""
        operands, parsed, shape = self._measured(bounds)
        freedom = checked_ddof(1, parsed)
        if any(bound.lower == bound.upper for bound in parsed):
            raise QueryError("describe needs bounds with an upper above the lower.")
        rows = list(DESCRIBED[0][0])
        layout = with_levels(shape, rows, self._operands(), self._groups)
        statistic = Moments(self._groups, layout, operands, parsed, freedom, root=True)
        return self._answer(statistic, self._titled("count, mean, std", parsed))

    def _five(self, *, bounds: object = None) -> Any:
        """Quartiles and, near the ends, quantiles in one release."""
        shares = tuple(Fraction(i, 4) for i in range(5))
        labels = [float(share) for share in shares]
        return self._quantile("min, quartiles, max", shares, labels, bounds, None)

    def _described(self, bounds: object, epsilon: object, **more: Unpack[ReleaseOptions]) -> Any:
        """See `describe`."""
        whole = sum(share for *_, share in DESCRIBED)
        names: list[Name] = [(None, ", ".join(rows)) for rows, *_ in DESCRIBED]
        parts = {
            name: _asked(self, method, bounds)
            for name, (_, method, _) in zip(names, DESCRIBED, strict=True)
        }
        shares = {
            name: Fraction(share, whole) for name, (*_, share) in zip(names, DESCRIBED, strict=True)
        }

        def combined(values: dict[Name, Any]) -> Any:
            found: dict[Name, Any] = {}
            for (rows, *_), value in zip(DESCRIBED, values.values(), strict=True):
                for place, row in enumerate(rows):
                    entries = self._by_column(self._level(value, place, len(rows)))
                    found.update({(column, row): entry for column, entry in entries.items()})
            return self._gathered(found, False)

        asked = list(self._operands())
        columns = dict.fromkeys(names, asked)
        return bundle(parts, shares, combined, columns, epsilon, **more)


def _asked(face: Queryable, method: str, bounds: object) -> Unreleased:
    """An unreleased answer, given bounds where it takes them."""
    ask = getattr(face, method)
    asked: Unreleased = ask(bounds=bounds) if "bounds" in parameters(ask) else ask()
    return asked
