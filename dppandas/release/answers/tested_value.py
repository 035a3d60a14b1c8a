"""What a test of a value answers, such as propose-test-release."""

from __future__ import annotations

from typing import Any

from ..pickles import register
from .records import Record


class TestedValue:
    """The outcome of a test: ``released`` says whether the value was released, and ``value`` is the
    value, or None. The outcome is true if the value was released.
    """

    released: bool
    value: Any
    _record: Record

    def __init__(self, released: bool, value: Any) -> None:
        self.released, self.value = released, value

    def __bool__(self) -> bool:
        return self.released

    def __repr__(self) -> str:
        return f"TestedValue(released={self.released}, value={self.value!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._record,)


def tested(record: Record) -> TestedValue:
    """The outcome of a test, with its record."""
    value = TestedValue(bool(record._noisy), record.estimate())
    value._record = record
    return value


register(TestedValue, tested)
