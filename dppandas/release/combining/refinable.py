"""Records of answers as users have them: more of the answer can be bought."""

from __future__ import annotations

from typing import Any

from ..answers import records
from ..pickles import register_families


class Record(records.Record):
    """The release record of a result: what was asked, how it was answered, at which loss.

    It holds public facts and the noisy integers, never rows, and can be pickled.
    """

    def _refined(self, **said: Any) -> Any:
        from .combine import refine

        return refine(self, **said)


register_families(Record)
