"""The number of blocks of units in which a test is significant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...dataclasses import dataclass, field, replace
from ...errors import InternalError
from ...privacy.accounting.measures import LossRequest
from ...privacy.accuracy.significance import best_level
from ..base import RowPass
from ..error_model import ErrorModel
from ..layout import Interval
from .block_tests import BlockTest, CallerTest, Shown
from .blocks import InBlocks


class BlocksErrors(ErrorModel):
    of: SignificantBlocks

    measured_in: ClassVar = ("blocks",)

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        most, w = self.of.blocks, half_width
        return [(min(max(0, t - w), most), max(0, min(most, t + w))) for t in noisy]

    def error(self, half_width: int) -> float | None:
        return half_width

    def possible(self, entry: int) -> Interval | None:
        return 0, self.of.blocks


@dataclass(frozen=True)
class SignificantBlocks(InBlocks):
    """In how many blocks of units a test has a p-value of at most a level.

    A unit lies in one block, whatever its rows hold: it moves the number by at most 1 (proof:
    docs/proofs/blockwise.md).

    columns_shown, by, branches : as in `InBlocks`. level : None for the best at the noise.
    """

    columns_shown: tuple[Shown, ...] = ()
    test: BlockTest = field(default_factory=lambda: CallerTest(None))
    blocks: int = 1
    level: float | None = None
    by: tuple[Any, ...] = ()
    is_by_unit: bool = False
    branches: int = 1
    is_exact: bool = False  # whether the caller states that the test is, at the size of a block

    not_asked: ClassVar = ("layout", "is_exact")
    proof: ClassVar[str] = "blockwise"
    error_model: ClassVar = BlocksErrors

    size = 1
    l1 = 1

    def adapted_to(self, asked: LossRequest, rows: int) -> SignificantBlocks:
        if self.level is not None:
            return self
        law: Any = self.mechanism(asked, self.sensitivity(rows))
        return replace(self, level=best_level(self.blocks, law))

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[int]:
        """Tests each block, one after the other: of an empty one nothing is asked."""
        if self.level is None:
            raise InternalError("a level is chosen before rows are read.")
        each = self.seen(row_pass)
        return [
            sum(self.test.is_significant(block, self.columns_shown, self.level) for block in each)
        ]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return list(noisy)
