"""What a test finds: scipy's attributes, and what the noise added, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from ..dataclasses import dataclass
from ..errors import QueryError, hide_internals
from ..release.accuracy.expected import parse_confidence
from ..release.context import here
from ..rows.figures import format_error, format_interval, format_number
from ..rows.sentences import ShownInSentences

#: What an alternative says of a number and the one under the null hypothesis.
ALTERNATIVES = {"two-sided": "other than", "less": "less than", "greater": "greater than"}


class ConfidenceInterval(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


def parse_alternative(alternative: object) -> str:
    """Which values a test is to find."""
    named = {"smaller": "less", "larger": "greater"}.get(str(alternative), str(alternative))
    if named not in ALTERNATIVES:
        raise QueryError('alternative= must be "two-sided", "less" or "greater".')
    return named


@dataclass(frozen=True, repr=False, eq=False)
class SignificanceResult(ShownInSentences):
    """The result of a test: ``statistic, pvalue = result`` takes it apart as scipy's.

    exact : whether P[pvalue ≤ α] ≤ α holds for each α under the null hypothesis by theorem, given
        the assumptions in ``null``; else it holds approximately, as docs/inference.md measures.
    null : the null hypothesis and what is assumed, in words.
    noise : what the noise of the releases added, in words.
    source : which releases it rests on.
    """

    test: str
    statistic: float
    pvalue: float
    exact: bool
    null: str
    noise: str
    source: str
    alternative: str = "two-sided"
    notes: tuple[str, ...] = ()  # what else to know, each a sentence
    parameter: str = ""  # what `confidence_interval` is about
    _interval: Callable[[float], tuple[float, float]] | None = None

    #: What ``tuple(result)`` has, as that of scipy.
    _shown_as: ClassVar[str] = "test"
    _unpacked: ClassVar[tuple[str, ...]] = ("statistic", "pvalue")
    #: What is shown beside them.
    _beside: ClassVar[tuple[str, ...]] = ()

    @hide_internals
    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """The values of the parameter that the test doesn't reject; it counts noise and sample."""
        if self._interval is None:
            raise QueryError(f"{self.test} is about no single number, and so has no interval.")
        return ConfidenceInterval(*self._interval(parse_confidence(confidence_level)))

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, name) for name in self._unpacked])

    def _sentences(self) -> list[str]:
        shown = [("statistic", self.statistic), ("pvalue", self.pvalue)]
        shown += [(name, getattr(self, name)) for name in self._beside]
        numbers = ", ".join(f"{name}={_shown(value)}" for name, value in shown)
        kind = "exact" if self.exact else "approximate"
        interval = []
        if self._interval is not None and self.parameter:
            low, high = self._interval(0.95)
            interval = [f"95 % interval of {self.parameter}: {format_interval(low, high)}."]
        one_sided = self.alternative != "two-sided"
        tail = f' Alternative: "{self.alternative}".' if one_sided else ""
        null = f"Null hypothesis: {self.null}.{tail}"
        said = [null, *interval, f"{self.noise} ({self.source})."]
        return [f"{self.test}: {numbers} ({kind})", *said, *self.notes]


def _shown(value: Any) -> str:
    return format_number(value) if isinstance(value, float) else str(value)


def error_with_noise(deviation: float, sampled: float) -> str:
    """What noise makes of a standard error, in words."""
    noisy, plain = (format_error(error, digits=3) for error in (deviation, sampled))
    if noisy == plain:
        return f"The standard error is {noisy}, to which noise adds hardly anything"
    said = f"Noise makes the standard error {noisy} in place of {plain}"
    return said + (": it hides nearly all" if deviation > 3 * sampled else "")


def releases(records: Iterable[Any]) -> str:
    """Which releases a test rests on, in words."""
    numbers = sorted({part.number for each in records for part in each.components})
    one = len(numbers) == 1
    said = ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}" if not one else str(*numbers)
    return f"from release{'' if one else 's'} {said}"


def one_of_several(name: str, *told: object) -> tuple[str, ...]:
    """A sentence where other tests were made in this session: each finds something by chance."""
    session = here().slot.session
    if session is None:
        return ()
    made = session._tests.setdefault((name, *told), len(session._tests) + 1)
    if made == 1:
        return ()
    return (
        f"This is test {made} of this session: statsmodels.stats.multitest.multipletests corrects "
        "the p-values of several.",
    )
